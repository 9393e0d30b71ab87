//! Output.

use std::io::{self, Write};

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;

pub const PROGRAM: Program = Program {
    name: "write",
    title: "writes so many bytes to each stream",
    unit: "bytes",
    tells: true,
    run,
};

fn run(opening: &Opening, bytes: i64) -> Result<Never, String> {
    pour(&mut io::stdout().lock(), b'o', bytes)?;
    pour(&mut io::stderr().lock(), b'e', bytes)?;
    let told = [
        ("output_bytes.stdout", bytes),
        ("output_bytes.stderr", bytes),
    ];
    opening.tell_until(&Stamp::last(), &told)
}

/// So many bytes, the last of them a line's end.
fn pour(stream: &mut impl Write, letter: u8, bytes: i64) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot write: {error}");
    let chunk = [letter; 4096];
    let mut left = bytes - 1;
    while left > 0 {
        let length = left.min(chunk.len() as i64);
        stream
            .write_all(&chunk[..length as usize])
            .map_err(failed)?;
        left -= length;
    }
    if bytes > 0 {
        stream.write_all(b"\n").map_err(failed)?;
    }
    stream.flush().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_so_many_bytes_are_written() {
        for bytes in [0, 1, 2, 4096, 4097, 10_000] {
            let mut written = Vec::new();
            pour(&mut written, b'o', bytes).unwrap();
            assert_eq!(written.len() as i64, bytes);
            assert_eq!(written.ends_with(b"\n"), bytes > 0);
        }
    }
}
