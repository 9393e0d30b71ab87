//! Who came, what they measured, what was refused: a line each, on standard error and in a file.
//!
//! Nothing of a peer's own stands in it but its address, so that it can neither hold a key nor what a
//! terminal would act upon. Those without the key and those with it are each told of so often and no
//! more: what is beyond is counted, and the count is a line. So nobody can fill a disk with it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sys::clock;

/// What a file holds at most: years, unless somebody floods it.
const FILE_MOST: u64 = 64 << 20;
/// Lines at once, and how often another, of those without the key and of those with it.
const STRANGERS: Rate = Rate {
    most: 5,
    every_ns: 30_000_000_000,
};
const GUESTS: Rate = Rate {
    most: 60,
    every_ns: 2_000_000_000,
};
/// What was counted is told so long after the first of it.
const COUNT_NS: i64 = 10_000_000_000;

struct Rate {
    most: u64,
    every_ns: i64,
}

/// Who a line is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// This end itself.
    End,
    /// Somebody who did not prove that it has the key.
    Stranger(IpAddr),
    /// Somebody who did.
    Guest(IpAddr),
}

#[derive(Default)]
pub struct Log(Mutex<State>);

#[derive(Default)]
struct State {
    file: Option<File>,
    strangers: Budget,
    guests: Budget,
}

/// How much may be told of some, and what was not.
#[derive(Default)]
struct Budget {
    /// Lines that were written, of those that time has not given back.
    spent: u64,
    since_ns: i64,
    hidden: u64,
    hidden_since_ns: i64,
    last: Option<IpAddr>,
}

impl Budget {
    /// Whether a line may be written now; counts it otherwise.
    fn takes(&mut self, rate: &Rate, from: IpAddr, now_ns: i64) -> bool {
        let back = ((now_ns - self.since_ns) / rate.every_ns).max(0);
        let back = u64::try_from(back).unwrap_or(0);
        self.since_ns = if back >= self.spent {
            now_ns
        } else {
            self.since_ns + back as i64 * rate.every_ns
        };
        self.spent = self.spent.saturating_sub(back);
        if self.spent < rate.most {
            self.spent += 1;
            return true;
        }
        if self.hidden == 0 {
            self.hidden_since_ns = now_ns;
        }
        self.hidden += 1;
        self.last = Some(from);
        false
    }

    /// How many were not told, and who came last; once.
    fn counted(&mut self, now_ns: i64) -> Option<(u64, IpAddr)> {
        if self.hidden == 0 || now_ns < self.hidden_since_ns.saturating_add(COUNT_NS) {
            return None;
        }
        let last = self.last?;
        Some((std::mem::take(&mut self.hidden), last))
    }

    fn next_ns(&self) -> Option<i64> {
        (self.hidden > 0).then(|| self.hidden_since_ns.saturating_add(COUNT_NS))
    }
}

impl Log {
    /// # Errors
    /// If the file is none, belongs to another name as well, or cannot be written.
    pub fn new(path: Option<&Path>) -> io::Result<Self> {
        let state = State {
            file: path.map(open).transpose()?,
            ..State::default()
        };
        Ok(Self(Mutex::new(state)))
    }

    pub fn say(&self, who: Who, what: &str) {
        let now_ns = clock::monotonic();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.count(now_ns);
        let line = match who {
            Who::End => what.to_string(),
            Who::Stranger(from) if state.strangers.takes(&STRANGERS, from, now_ns) => {
                format!("{from} {what}")
            }
            Who::Guest(from) if state.guests.takes(&GUESTS, from, now_ns) => {
                format!("{from} {what}")
            }
            Who::Stranger(_) | Who::Guest(_) => return,
        };
        state.write(&line);
    }

    /// Tells what was only counted, if it is time; when to call it again.
    pub fn settle(&self, now_ns: i64) -> Option<i64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.count(now_ns);
        let times = [state.strangers.next_ns(), state.guests.next_ns()];
        times.into_iter().flatten().min()
    }
}

impl State {
    fn count(&mut self, now_ns: i64) {
        if let Some((count, last)) = self.strangers.counted(now_ns) {
            self.write(&format!(
                "{count} more connections without the key, the last from {last}"
            ));
        }
        if let Some((count, last)) = self.guests.counted(now_ns) {
            self.write(&format!("{count} more lines, the last about {last}"));
        }
    }

    fn write(&mut self, line: &str) {
        let line = format!("{} {line}\n", utc(clock::realtime() / 1_000_000_000));
        // Where nobody can read it, the end serves all the same.
        let _ = io::stderr().lock().write_all(line.as_bytes());
        let Some(file) = &mut self.file else { return };
        let size = file.metadata().map_or(0, |about| about.len());
        let result = if size + line.len() as u64 > FILE_MOST {
            Err(io::Error::other("it is full (64 MiB)"))
        } else {
            file.write_all(line.as_bytes())
        };
        if let Err(error) = result {
            self.file = None;
            let why = format!("no more is written to the log file: {error}\n");
            let _ = io::stderr().lock().write_all(why.as_bytes());
        }
    }
}

/// The file, to be written at its end: a regular one that has this name alone.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    let file = options.append(true).create(true).mode(0o600);
    let file = file.custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.nlink() != 1 {
        return Err(io::Error::other("it is no plain file, or has another name"));
    }
    Ok(file)
}

/// Seconds since 1970 as people write them: 2026-01-31T12:00:00Z.
fn utc(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Of years that begin in March, in eras of 400: H. Hinnant, "chrono-compatible low-level date
    // algorithms".
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + 400 * era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const FROM: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn times_are_as_people_write_them() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(utc(1_798_761_599), "2026-12-31T23:59:59Z");
    }

    #[test]
    fn a_flood_is_a_few_lines_and_its_count() {
        let mut budget = Budget::default();
        let told = (0..10_000).filter(|n| budget.takes(&STRANGERS, FROM, 1 << 40 | n));
        assert_eq!(told.count(), 5);
        let now = (1 << 40) + COUNT_NS + 10_000;
        assert_eq!(budget.counted(1 << 40), None);
        assert_eq!(budget.counted(now), Some((9995, FROM)));
        assert_eq!(budget.counted(now), None);
        // Time gives back what was spent, and no more.
        let later = (1 << 40) + 2 * STRANGERS.every_ns + 10_000;
        assert!(budget.takes(&STRANGERS, FROM, later) && budget.takes(&STRANGERS, FROM, later));
        assert!(!budget.takes(&STRANGERS, FROM, later));
        let told = (0..100).filter(|_| budget.takes(&STRANGERS, FROM, 1 << 60));
        assert_eq!(told.count(), 5);
    }

    #[test]
    fn only_a_plain_file_of_one_name_is_written_and_only_at_its_end() {
        let folder = std::env::temp_dir().join(format!("tare-log-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        std::fs::write(path("log"), "before\n").unwrap();
        let log = Log::new(Some(&path("log"))).unwrap();
        log.say(Who::Guest(FROM), "measured");
        let text = std::fs::read_to_string(path("log")).unwrap();
        assert!(text.starts_with("before\n2") && text.ends_with("Z 127.0.0.1 measured\n"));
        std::os::unix::fs::symlink(path("log"), path("link")).unwrap();
        assert!(Log::new(Some(&path("link"))).is_err());
        std::fs::hard_link(path("log"), path("second")).unwrap();
        assert!(Log::new(Some(&path("log"))).is_err());
        assert!(Log::new(Some(&folder)).is_err());
        let made = path("new");
        assert!(Log::new(Some(&made)).is_ok());
        assert_eq!(std::fs::metadata(made).unwrap().mode() & 0o777, 0o600);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
