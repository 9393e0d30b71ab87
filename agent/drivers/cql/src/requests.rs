//! What became of operations, and the file of it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const HEADER: &str = "intended_ns,start_ns,duration_ns,label,error";

/// One operation that was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// By CLOCK_MONOTONIC, as its start.
    pub intended_ns: u64,
    pub start_ns: u64,
    /// From its start.
    pub duration_ns: u64,
    pub writes: bool,
    /// Why it failed: a text of this program, never one of the server.
    pub error: Option<&'static str>,
}

/// Writes all of them to a file.
pub fn write(path: &Path, requests: &[Request]) -> Result<(), String> {
    File::create(path)
        .and_then(|file| {
            let mut file = BufWriter::new(file);
            rows(&mut file, requests)?;
            file.flush()
        })
        .map_err(|error| {
            let path = path.display();
            format!("cannot write {path}: {error}; choose another --out, or make room there")
        })
}

fn rows(to: &mut impl Write, requests: &[Request]) -> io::Result<()> {
    writeln!(to, "{HEADER}")?;
    for one in requests {
        let label = if one.writes { "write" } else { "read" };
        let (intended, start, duration) = (one.intended_ns, one.start_ns, one.duration_ns);
        let error = one.error.unwrap_or_default();
        writeln!(to, "{intended},{start},{duration},{label},{error}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Request = Request {
        intended_ns: 1,
        start_ns: 2,
        duration_ns: 30,
        writes: false,
        error: None,
    };

    #[test]
    fn a_row_is_written_for_each() {
        let failed = Request {
            writes: true,
            error: Some("timeout"),
            ..READ
        };
        let mut found = Vec::new();
        rows(&mut found, &[READ, failed]).unwrap();
        assert_eq!(
            String::from_utf8(found).unwrap(),
            format!("{HEADER}\n1,2,30,read,\n1,2,30,write,timeout\n")
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let error = write(Path::new("/nowhere/requests.csv"), &[READ]).unwrap_err();
        assert!(
            error.starts_with("cannot write /nowhere/requests.csv: "),
            "{error}"
        );
        assert!(write(Path::new("/dev/full"), &[READ])
            .unwrap_err()
            .contains("make room"));
    }
}
