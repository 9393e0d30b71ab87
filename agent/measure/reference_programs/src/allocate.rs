//! Peak memory.

use std::fs;

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;
use crate::touch::{page_bytes, Fresh};

pub const PROGRAM: Program = Program {
    name: "allocate",
    title: "touches so much memory, page by page",
    unit: "MiB",
    tells: true,
    run,
};

fn run(opening: &Opening, mebibytes: i64) -> Result<Never, String> {
    let bytes = mebibytes << 20;
    // What it has before: all of it is in its resident set, but pages of files are not charged
    // to the group of who reads them.
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = resident(&text).unwrap_or_default();
    let memory = Fresh::new(bytes as usize / page_bytes())?;
    memory.touch();
    opening.tell_until(
        &Stamp::last(),
        &[
            ("memory_bytes", bytes + resident.own),
            ("memory_bytes.rusage", bytes + resident.all),
        ],
    )
}

#[derive(Default)]
struct Resident {
    all: i64,
    own: i64,
}

/// Reads /proc/self/statm: pages in all, resident, and of files.
fn resident(text: &str) -> Option<Resident> {
    let mut fields = text
        .split(' ')
        .skip(1)
        .map(|field| field.parse::<i64>().ok());
    let (all, files) = (fields.next()??, fields.next()??);
    let page = page_bytes() as i64;
    Some(Resident {
        all: all * page,
        own: (all - files) * page,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_files_are_not_its_own() {
        let found = resident("900 100 30 1 0 50 0\n").unwrap();
        let page = page_bytes() as i64;
        assert_eq!((found.all, found.own), (100 * page, 70 * page));
        assert!(resident("").is_none());
    }
}
