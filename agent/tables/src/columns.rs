//! Typed columns of one block, and how they are written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::cells;
use crate::specification::{Kind, Wanted};

/// A column that grows row by row, whose memory is used again for the next block.
#[derive(Default)]
pub struct Column {
    kind: Kind,
    rows: usize,
    /// Values, or texts that end with NUL.
    data: Vec<u8>,
    /// Index of each row's text; for numbers, empty until one has a text behind it.
    codes: Vec<u8>,
    texts: Texts,
    /// Whether a cell was found that is not of the column's kind.
    is_unfit: bool,
}

#[derive(Serialize)]
pub struct Header {
    kind: Kind,
    /// Bytes of values, of codes, and of distinct texts, which end with NUL.
    sizes: [usize; 3],
}

impl Column {
    /// Remove all rows, and expect cells of a kind.
    pub fn clear(&mut self, kind: Kind) {
        (self.kind, self.rows, self.is_unfit) = (kind, 0, false);
        self.data.clear();
        self.codes.clear();
        self.texts.clear();
        if kind == Kind::Number {
            self.texts.code("");
        }
    }

    /// The kind to convert the same cells to instead; None if all are of the column's kind.
    pub fn fallback(&self) -> Option<Kind> {
        self.is_unfit.then(|| self.kind.fallback())
    }

    pub fn push(&mut self, wanted: &Wanted, cell: &str) {
        let is_number = self.kind != Kind::Level;
        let cell = match wanted.thousands {
            Some(mark) if is_number => cells::without_thousands(cell, mark),
            _ => Cow::Borrowed(cell),
        };
        let cell = match wanted.decimal_comma && is_number {
            true => cells::with_point(&cell),
            false => Cow::Borrowed(&*cell),
        };
        match self.kind {
            Kind::Number => self.push_number(&cell),
            Kind::Time => {
                let (number, rest) = cells::split(&cell);
                self.is_unfit |= !rest.is_empty();
                self.data.extend(number.to_ne_bytes());
            }
            Kind::Integer => match cells::integer(&cell) {
                Some(number) => self.data.extend(number.to_ne_bytes()),
                None => self.is_unfit = true,
            },
            Kind::Level => self.codes.extend(self.texts.code(&cell).to_ne_bytes()),
            Kind::Text => {
                self.data.extend(cell.as_bytes());
                self.data.push(0);
            }
        }
        self.rows += 1;
    }

    fn push_number(&mut self, cell: &str) {
        let (number, rest) = cells::split(cell);
        self.data.extend(number.to_ne_bytes());
        if !rest.is_empty() || !self.codes.is_empty() {
            self.codes.resize(size_of::<u32>() * self.rows, 0);
            self.codes.extend(self.texts.code(rest).to_ne_bytes());
        }
    }

    pub fn header(&self) -> Header {
        let sizes = [self.data.len(), self.codes.len(), self.texts.joined.len()];
        Header {
            kind: self.kind,
            sizes,
        }
    }

    pub fn write(&self, output: &mut impl Write) -> io::Result<()> {
        output.write_all(&self.data)?;
        output.write_all(&self.codes)?;
        output.write_all(self.texts.joined.as_bytes())
    }
}

/// Distinct texts in order of appearance.
#[derive(Default)]
struct Texts {
    /// Each ends with NUL.
    joined: String,
    codes: HashMap<Box<str>, u32>,
    /// By code: the text's place in `joined`, and the code that followed it last.
    places: Vec<(usize, usize, u32)>,
    last: u32,
}

impl Texts {
    fn clear(&mut self) {
        self.joined.clear();
        self.codes.clear();
        self.places.clear();
        self.last = 0;
    }

    /// Return a text's code, with the next free number for a new text.
    fn code(&mut self, text: &str) -> u32 {
        let Some(&(_, _, expected)) = self.places.get(self.last as usize) else {
            return self.add(text);
        };
        // Most columns repeat one text, or several in turn.
        let (begin, end, _) = self.places[expected as usize];
        if &self.joined[begin..end] == text {
            self.last = expected;
            return expected;
        }
        let code = match self.codes.get(text) {
            Some(&code) => code,
            None => self.add(text),
        };
        self.places[self.last as usize].2 = code;
        self.last = code;
        code
    }

    fn add(&mut self, text: &str) -> u32 {
        // A block of at most 4 GiB has no more cells.
        let code = self.places.len() as u32;
        self.places
            .push((self.joined.len(), self.joined.len() + text.len(), code));
        self.joined.push_str(text);
        self.joined.push('\0');
        self.codes.insert(text.into(), code);
        code
    }
}
