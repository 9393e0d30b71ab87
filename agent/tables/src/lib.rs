//! `columns`: converts blocks of delimited text on standard input to typed columns on standard output.
//!
//! The front decodes a file to UTF-8 and sends blocks of whole lines. This process opens no file, has
//! no capabilities, and holds one block and its columns at a time.
#![forbid(unsafe_code)]

mod cells;
mod columns;
mod rows;
mod specification;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use rustix::process::{setrlimit, Resource, Rlimit};
use rustix::thread::{set_capabilities, set_no_new_privs, CapabilitySet, CapabilitySets};

use rows::Parsed;
use specification::Table;

/// Run `columns`. Standard input has the specification as JSON, then blocks of text, each after its
/// length: 4 bytes in native order.
pub fn run() -> ExitCode {
    match confine().and_then(|()| serve(io::stdin().lock(), io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tare-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Give up the right to open files, to start processes and all capabilities.
fn confine() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    for resource in [
        Resource::Nofile,
        Resource::Nproc,
        Resource::Fsize,
        Resource::Core,
    ] {
        setrlimit(resource, none)?;
    }
    set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    Ok(set_capabilities(None, sets)?)
}

fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let (mut block, mut parsed) = (Vec::new(), Parsed::default());
    if !next_block(&mut input, &mut block)? {
        return Ok(());
    }
    let table: Table = serde_json::from_slice(&block)?;
    if !table.separator.is_ascii() {
        return Err(io::Error::other("the separator is not an ASCII character"));
    }
    while next_block(&mut input, &mut block)? {
        let text = std::str::from_utf8(&block).map_err(io::Error::other)?;
        match parsed.parse(&table, text) {
            Ok(()) => parsed.write(&mut output)?,
            Err(ragged) => {
                let header = serde_json::json!({ "ragged": ragged });
                serde_json::to_writer(&mut output, &header)?;
                output.write_all(b"\n")?;
            }
        }
        output.flush()?;
    }
    Ok(())
}

/// Read a length and as many bytes; false at the end of the input.
fn next_block(input: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 4];
    if !filled(input, &mut length)? {
        return Ok(false);
    }
    block.resize(u32::from_ne_bytes(length) as usize, 0);
    input.read_exact(block)?;
    Ok(true)
}

/// Fill a buffer; false at the end of the input.
fn filled(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Convert blocks; each answer is its header and its bytes.
    fn served(specification: &str, blocks: &[&str]) -> Vec<(serde_json::Value, Vec<u8>)> {
        let mut input = Vec::new();
        for block in std::iter::once(&specification).chain(blocks) {
            input.extend((block.len() as u32).to_ne_bytes());
            input.extend(block.as_bytes());
        }
        let mut output = Vec::new();
        serve(input.as_slice(), &mut output).expect("the blocks are converted");
        let mut answers = Vec::new();
        let mut rest = output.as_slice();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let header: serde_json::Value = serde_json::from_slice(&rest[..end]).expect("JSON");
            let columns = header["columns"].as_array().into_iter().flatten();
            let sizes = columns.flat_map(|column| column["sizes"].as_array().expect("sizes"));
            let size: u64 = sizes
                .chain(header.get("lines"))
                .filter_map(|size| size.as_u64())
                .sum();
            let last = end + 1 + size as usize;
            answers.push((header, rest[end + 1..last].to_vec()));
            rest = &rest[last..];
        }
        answers
    }

    fn bytes<const N: usize>(values: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
        values.into_iter().flatten().collect()
    }

    #[test]
    fn numbers_have_codes_only_where_a_text_is_behind_them() {
        let specification =
            r#"{"separator": ",", "width": 1, "wanted": [{"index": 0, "kind": "number"}]}"#;
        let answers = served(specification, &["1\n2.5\n", "1\n2 ms\n3\nNA\n"]);
        let (header, data) = &answers[0];
        assert_eq!(header["columns"][0]["sizes"], serde_json::json!([16, 0, 1]));
        assert_eq!(
            data,
            &[&bytes([1.0, 2.5].map(f64::to_ne_bytes))[..], b"\0"].concat()
        );
        let (header, data) = &answers[1];
        assert_eq!(
            header["columns"][0]["sizes"],
            serde_json::json!([32, 16, 7])
        );
        let codes = bytes([0_u32, 1, 0, 2].map(u32::to_ne_bytes));
        let texts = b"\0ms\0NA\0";
        assert_eq!(data[32..], [&codes[..], texts].concat());
        assert!(data[24..32] == f64::NAN.to_ne_bytes());
    }

    #[test]
    fn columns_that_hold_something_else_are_converted_to_their_fallback() {
        let specification = r#"{"separator": ";", "width": 3, "wanted": [
            {"index": 2, "kind": "time", "decimal_comma": true}, {"index": 0, "kind": "integer"},
            {"index": 1, "kind": "level", "decimal_comma": true, "thousands": "."}]}"#;
        let kinds = |block| {
            let (header, data) = served(specification, &[block]).remove(0);
            let kinds: Vec<_> = header["columns"]
                .as_array()
                .expect("columns")
                .iter()
                .map(|c| c["kind"].clone())
                .collect();
            (kinds, data)
        };
        let (kinds_of_numbers, data) = kinds("7;x;1,5\n8;x;\n");
        assert_eq!(kinds_of_numbers, ["time", "integer", "level"]);
        let expected = [
            bytes([1.5, f64::NAN].map(f64::to_ne_bytes)),
            bytes([7_i64, 8].map(i64::to_ne_bytes)),
            bytes([0_u32, 0].map(u32::to_ne_bytes)),
            b"x\0".to_vec(),
        ];
        assert_eq!(data, expected.concat());
        let (kinds_of_texts, data) = kinds("7;1.100;noon\na;1,5;1,5\n");
        assert_eq!(kinds_of_texts, ["text", "level", "level"]);
        assert!(data.starts_with(b"noon\x001.5\0"));
        // A level keeps its text as written: no decimal comma is replaced in it.
        assert!(data.ends_with(b"1.100\x001,5\0"));
    }

    #[test]
    fn a_specification_that_is_none_and_blocks_that_are_no_text_are_refused() {
        let refused = |specification: &str, input: &[u8]| {
            let length = (specification.len() as u32).to_ne_bytes();
            let all = [&length[..], specification.as_bytes(), input].concat();
            serve(all.as_slice(), io::sink()).is_err()
        };
        assert!(refused("{", b""));
        assert!(refused(
            r#"{"separator": "é", "width": 1, "wanted": []}"#,
            b""
        ));
        let good = r#"{"separator": ",", "width": 1, "wanted": []}"#;
        assert!(!refused(good, b""));
        assert!(refused(
            good,
            &[&3_u32.to_ne_bytes()[..], b"a\xff\n"].concat()
        ));
        assert!(refused(good, &[&9_u32.to_ne_bytes()[..], b"cut"].concat()));
    }
}
