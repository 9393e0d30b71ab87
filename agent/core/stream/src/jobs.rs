//! What is asked for, one JSON object a line.

use std::collections::VecDeque;
use std::io::{self, Read};

use serde::de::DeserializeOwned;

/// Longer than any job of a trial; bounds what a peer can make us hold.
const LINE_LIMIT: usize = 1 << 22;

/// Jobs, as far as they have come.
pub struct Jobs {
    line_limit: usize,
    partial: Vec<u8>,
    whole: VecDeque<Vec<u8>>,
    overlong: bool,
    pub ended: bool,
}

impl Default for Jobs {
    fn default() -> Self {
        Self::of(LINE_LIMIT)
    }
}

impl Jobs {
    /// Where a line may have so many bytes.
    pub fn of(line_limit: usize) -> Self {
        Self {
            line_limit,
            partial: Vec::new(),
            whole: VecDeque::new(),
            overlong: false,
            ended: false,
        }
    }

    /// Takes what has come on standard input; call when it is readable.
    pub fn feed(&mut self) {
        let mut chunk = [0; 8192];
        match io::stdin().lock().read(&mut chunk) {
            Ok(0) | Err(_) => self.ended = true,
            Ok(length) => self.add(&chunk[..length]),
        }
    }

    /// The next line that is whole: a job, or an order of another stream; or why it is none.
    pub fn take_next<T: DeserializeOwned>(&mut self) -> Option<Result<T, String>> {
        let line = self.whole.pop_front()?;
        Some(serde_json::from_slice(&line).map_err(|error| {
            let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            format!("this line is no job: {error}: {shown:?}")
        }))
    }

    fn add(&mut self, data: &[u8]) {
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            if self.partial.len() + piece.len() > self.line_limit {
                self.overlong = true;
                self.partial.truncate(80);
            }
            if !self.overlong {
                self.partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.overlong = false;
                self.whole.push_back(std::mem::take(&mut self.partial));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use record::Job;

    use super::*;

    #[test]
    fn lines_may_come_in_pieces_and_at_once() {
        let mut jobs = Jobs::default();
        jobs.add(b"{\"job\":\"measure_");
        assert!(jobs.take_next::<Job>().is_none());
        jobs.add(b"self\",\"id\":7}\ngarbage\n{");
        assert!(matches!(
            jobs.take_next(),
            Some(Ok(Job::MeasureSelf { id: 7 }))
        ));
        let why = jobs.take_next::<Job>().unwrap().unwrap_err();
        assert!(why.contains("garbage"), "{why}");
        assert!(jobs.take_next::<Job>().is_none());
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut jobs = Jobs::default();
        for _ in 0..3 * LINE_LIMIT / 65536 {
            jobs.add(&[b'x'; 65536]);
        }
        assert!(jobs.partial.len() < LINE_LIMIT);
        jobs.add(b"\n");
        assert!(jobs.take_next::<Job>().unwrap().is_err());
        jobs.add(b"{\"job\":\"measure_self\",\"id\":7}\n");
        assert!(jobs.take_next::<Job>().unwrap().is_ok());
    }
}
