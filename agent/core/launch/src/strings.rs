//! Strings as system calls take them.

use std::ffi::CString;
use std::ptr;

/// C strings and the list of pointers to them, ended by a null.
pub struct Strings {
    _owned: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Strings {
    pub fn pointers(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }

    pub fn new<'a>(strings: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let owned: Vec<CString> = strings
            .into_iter()
            .map(c_string)
            .collect::<Result<_, _>>()?;
        let mut pointers: Vec<_> = owned.iter().map(|string| string.as_ptr()).collect();
        pointers.push(ptr::null());
        Ok(Self {
            _owned: owned,
            pointers,
        })
    }
}

pub fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("{text:?} contains a zero byte"))
}
