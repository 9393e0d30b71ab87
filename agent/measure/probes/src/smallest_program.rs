//! The smallest program: one page that ends at once, so that its start is the kernel's work alone.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;

#[cfg(target_arch = "x86_64")]
mod machine {
    pub const ID: u16 = 62;
    /// `xor edi, edi; mov eax, 231 (exit_group); syscall`
    pub const CODE: [u8; 9] = [0x31, 0xff, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05];
}
#[cfg(target_arch = "aarch64")]
mod machine {
    pub const ID: u16 = 183;
    /// `mov x0, 0; mov x8, 94 (exit_group); svc 0`
    pub const CODE: [u8; 12] = [0, 0, 0x80, 0xd2, 0xc8, 0x0b, 0x80, 0xd2, 1, 0, 0, 0xd4];
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod machine {
    pub const ID: u16 = 0;
    pub const CODE: [u8; 0] = [];
}

/// Sizes of the headers of an ELF file of 64 bits: of the file, of a segment, of a section.
const HEADER: u16 = 64;
const SEGMENT: u16 = 56;
const SECTION: u16 = 64;
/// Where the file is mapped, and a multiple of every page size.
const ADDRESS: u64 = 0x40_0000;
const ALIGNMENT: u64 = 0x1_0000;

/// Makes the program in a file of memory, which can be executed by its descriptor.
pub fn file() -> io::Result<File> {
    if machine::CODE.is_empty() {
        return Err(io::Error::other("there is none for this architecture"));
    }
    // SAFETY: the name ends with a null; the descriptor is owned here alone.
    let mut file = unsafe {
        let file = libc::memfd_create(c"tare-smallest".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(file)
    };
    file.write_all(&bytes())?;
    Ok(file)
}

/// elf(5): a file header, one readable and executable segment that is the whole file, the code.
fn bytes() -> Vec<u8> {
    let headers = u64::from(HEADER + SEGMENT);
    let length = headers + machine::CODE.len() as u64;
    let mut made = b"\x7fELF\x02\x01\x01".to_vec();
    made.resize(16, 0);
    let mut put = |bytes: &[u8]| made.extend_from_slice(bytes);
    let (executable, version, sections) = (2_u16, 1_u32, 0_u64);
    put(&executable.to_le_bytes());
    put(&machine::ID.to_le_bytes());
    put(&version.to_le_bytes());
    for word in [ADDRESS + headers, u64::from(HEADER), sections] {
        put(&word.to_le_bytes());
    }
    let flags = 0_u32;
    put(&flags.to_le_bytes());
    for word in [HEADER, SEGMENT, 1, SECTION, 0, 0] {
        put(&word.to_le_bytes());
    }
    let (load, read_and_execute, offset) = (1_u32, 5_u32, 0_u64);
    put(&load.to_le_bytes());
    put(&read_and_execute.to_le_bytes());
    for word in [offset, ADDRESS, ADDRESS, length, length, ALIGNMENT] {
        put(&word.to_le_bytes());
    }
    put(&machine::CODE);
    made
}
