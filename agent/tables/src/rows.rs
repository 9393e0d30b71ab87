//! Rows of delimited text by RFC 4180, cell by cell.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use crate::columns::{Column, Header};
use crate::specification::{Kind, Table, Wanted};

/// The columns of a block, whose memory is used again for the next one.
#[derive(Default)]
pub struct Parsed {
    rows: usize,
    /// For each row the line of the block that it begins with, from 0; 4 bytes each. None as long as
    /// these are 0, 1, 2, …
    lines: Vec<u8>,
    columns: Vec<Column>,
}

/// The first row with more or fewer cells than there are columns, or with a quotation mark that
/// is never closed.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Ragged {
    line: u32,
    cells: usize,
    is_open: bool,
}

#[derive(Serialize)]
struct Description {
    rows: usize,
    /// Bytes of the lines of the rows; none if these are consecutive.
    lines: usize,
    columns: Vec<Header>,
}

impl Parsed {
    /// Convert the wanted columns, in their order; those that do not hold what is wanted a second
    /// time.
    pub fn parse(&mut self, table: &Table, text: &str) -> Result<(), Ragged> {
        let kinds: Vec<_> = table.wanted.iter().map(|one| Some(one.kind)).collect();
        self.pass(table, text, &kinds)?;
        let kinds: Vec<_> = self.columns.iter().map(Column::fallback).collect();
        if kinds.iter().any(Option::is_some) {
            self.pass(table, text, &kinds)?;
        }
        Ok(())
    }

    /// Convert columns to these kinds. Those with None stay as they are.
    fn pass(&mut self, table: &Table, text: &str, kinds: &[Option<Kind>]) -> Result<(), Ragged> {
        let mut places = vec![None; table.width];
        self.columns.resize_with(kinds.len(), Column::default);
        for (at, &Wanted { index, .. }) in table.wanted.iter().enumerate() {
            if let (Some(place), Some(kind)) = (places.get_mut(index), kinds[at]) {
                *place = Some(at);
                self.columns[at].clear(kind);
            }
        }
        self.rows = 0;
        self.lines.clear();
        let mut cells = Cells {
            text,
            at: 0,
            line: 0,
            separator: table.separator as u8,
            is_open: false,
        };
        while cells.skip_empty_lines() {
            let line = cells.line;
            self.add_line(line);
            let mut width = 0;
            loop {
                let (cell, is_last) = cells.next();
                if let Some(&Some(at)) = places.get(width) {
                    self.columns[at].push(&table.wanted[at], &cell);
                }
                width += 1;
                if is_last {
                    break;
                }
            }
            if width != table.width || cells.is_open {
                return Err(Ragged {
                    line,
                    cells: width,
                    is_open: cells.is_open,
                });
            }
        }
        Ok(())
    }

    fn add_line(&mut self, line: u32) {
        if self.lines.is_empty() && line as usize != self.rows {
            self.lines
                .extend((0..self.rows as u32).flat_map(u32::to_ne_bytes));
        }
        if !self.lines.is_empty() || line as usize != self.rows {
            self.lines.extend(line.to_ne_bytes());
        }
        self.rows += 1;
    }

    /// Write a line of JSON that describes the columns, and then their bytes.
    pub fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let columns = self.columns.iter().map(Column::header).collect();
        let description = Description {
            rows: self.rows,
            lines: self.lines.len(),
            columns,
        };
        serde_json::to_writer(&mut *output, &description)?;
        output.write_all(b"\n")?;
        output.write_all(&self.lines)?;
        self.columns
            .iter()
            .try_for_each(|column| column.write(output))
    }
}

/// Goes through the cells of a text.
struct Cells<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    separator: u8,
    /// Whether the text ended between quotation marks.
    is_open: bool,
}

impl<'t> Cells<'t> {
    /// Go to the next row; false if there is none.
    fn skip_empty_lines(&mut self) -> bool {
        while self.text.as_bytes().get(self.at) == Some(&b'\n') {
            self.at += 1;
            self.line += 1;
        }
        self.at < self.text.len()
    }

    /// Return a cell, and whether it is the last of its row.
    fn next(&mut self) -> (Cow<'t, str>, bool) {
        let mut cell = Cow::Borrowed("");
        if self.text.as_bytes().get(self.at) == Some(&b'"') {
            cell = self.quoted();
        }
        // What follows a closing quotation mark belongs to the cell as it is.
        let rest = &self.text[self.at..];
        let is_end = |&byte: &u8| byte == self.separator || byte == b'\n';
        let length = rest
            .as_bytes()
            .iter()
            .position(is_end)
            .unwrap_or(rest.len());
        let is_last = rest.as_bytes().get(length) != Some(&self.separator);
        self.line += u32::from(rest.as_bytes().get(length) == Some(&b'\n'));
        self.at = (self.at + length + 1).min(self.text.len());
        if length > 0 {
            cell = if cell.is_empty() {
                rest[..length].into()
            } else {
                cell + &rest[..length]
            };
        }
        (cell, is_last)
    }

    /// Return what quotation marks enclose, up to the end of the text if they are not closed.
    fn quoted(&mut self) -> Cow<'t, str> {
        let mut cell = Cow::Borrowed("");
        loop {
            let rest = &self.text[self.at + 1..];
            let length = rest.find('"').unwrap_or(rest.len());
            let part = &rest[..length];
            self.line += part.bytes().filter(|&byte| byte == b'\n').count() as u32;
            cell = if cell.is_empty() {
                part.into()
            } else {
                cell + part
            };
            self.is_open = length == rest.len();
            self.at = (self.at + length + 2).min(self.text.len());
            if self.text.as_bytes().get(self.at) != Some(&b'"') || self.is_open {
                return cell;
            }
            cell += "\"";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(u32, Vec<String>)> {
        let mut cells = Cells {
            text,
            at: 0,
            line: 0,
            separator: b',',
            is_open: false,
        };
        let mut rows = Vec::new();
        while cells.skip_empty_lines() {
            let line = cells.line;
            let mut row = Vec::new();
            loop {
                let (cell, is_last) = cells.next();
                row.push(cell.into_owned());
                if is_last {
                    break;
                }
            }
            rows.push((line, row));
        }
        rows
    }

    #[test]
    fn cells_are_those_of_rfc_4180() {
        for (text, expected) in [
            ("a,b\nc,d\n", vec![(0, vec!["a", "b"]), (1, vec!["c", "d"])]),
            ("a,", vec![(0, vec!["a", ""])]),
            (",\n\n\n,\n", vec![(0, vec!["", ""]), (3, vec!["", ""])]),
            (
                "\"a,b\",\"c \"\"d\"\"\"\n",
                vec![(0, vec!["a,b", "c \"d\""])],
            ),
            (
                "\"two\nlines\",x\ny,z",
                vec![(0, vec!["two\nlines", "x"]), (2, vec!["y", "z"])],
            ),
            ("\"\"\n\"\"\"\"", vec![(0, vec![""]), (1, vec!["\""])]),
            (
                "5\" disk,\"ab\"cd\"\n",
                vec![(0, vec!["5\" disk", "abcd\""])],
            ),
            ("a,\"b\nc", vec![(0, vec!["a", "b\nc"])]),
            ("a,\"", vec![(0, vec!["a", ""])]),
            ("ü,\"ö\"µ\n", vec![(0, vec!["ü", "öµ"])]),
            ("", vec![]),
            ("\n", vec![]),
        ] {
            let found = rows(text);
            let found: Vec<_> = found
                .iter()
                .map(|(at, row)| (*at, row.iter().map(String::as_str).collect()))
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_row_of_another_width_is_reported_with_its_line() {
        let table = Table {
            separator: ';',
            width: 2,
            ..Table::default()
        };
        let error = |text| Parsed::default().parse(&table, text).err();
        assert_eq!(
            error("a;b\n\"c\n\";d\n\n1;2;3\n"),
            Some(Ragged {
                line: 4,
                cells: 3,
                is_open: false
            })
        );
        assert_eq!(
            error("a\n"),
            Some(Ragged {
                line: 0,
                cells: 1,
                is_open: false
            })
        );
        assert_eq!(
            error("a;b\nc;\"d\n"),
            Some(Ragged {
                line: 1,
                cells: 2,
                is_open: true
            })
        );
        assert_eq!(error("a;b\n"), None);
    }
}
