//! Stamps of one launched process by events on itself: where nobody watches the CPUs.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use launch::{Image, Program};
use record::User;
use sys::perf::{self, Event, Happening, Target, What};

/// Enough for a process that makes some hundred others.
const PAGES: usize = 16;

/// Events on a process that has not begun yet.
pub struct Followed {
    pid: libc::pid_t,
    events: Vec<Event>,
}

/// When the kernel saw it begin and end.
pub struct Stamps {
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Followed {
    pub fn new(pid: libc::pid_t) -> io::Result<Self> {
        let mut events = Vec::new();
        for cpu in perf::cpus() {
            match Event::open(Target::Task { pid, cpu }, PAGES) {
                Ok(event) => events.push(event),
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { pid, events })
    }

    /// Nothing where a record was lost, or the end was not seen.
    pub fn stamps(&self) -> Option<Stamps> {
        let mut happenings = Vec::new();
        for event in &self.events {
            event.drain(|happening| happenings.push(happening));
        }
        let lost = self
            .events
            .iter()
            .filter_map(Event::lost)
            .any(|lost| lost > 0);
        if lost {
            return None;
        }
        between(self.pid, &happenings)
    }
}

fn between(pid: libc::pid_t, happenings: &[Happening]) -> Option<Stamps> {
    if happenings
        .iter()
        .any(|one| matches!(one.what, What::Lost(_)))
    {
        return None;
    }
    let own = || happenings.iter().filter(|one| one.pid == pid);
    let execs = own().filter(|one| matches!(one.what, What::Named { by_exec: true, .. }));
    let ends = own().filter(|one| one.what == What::Ended);
    Some(Stamps {
        start_ns: execs.map(|one| one.time_ns).min()?,
        end_ns: ends.map(|one| one.time_ns).max()?,
    })
}

/// Why the kernel would take the events off the process at its exec, where it would: it then
/// becomes what its user may not look into.
pub fn hidden(program: &Program, user: Option<&User>) -> Option<String> {
    // SAFETY: no preconditions.
    let own = unsafe { libc::geteuid() };
    let uid = user.map_or(own, |user| user.uid);
    let Image::Paths(paths) = &program.image else {
        return None;
    };
    let mut paths = paths
        .iter()
        .map(|path| Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())));
    let (path, status) = paths.find_map(|path| Some((path, fs::metadata(path).ok()?)))?;
    let shown = path.display();
    if uid == 0 {
        None
    } else if status.mode() & 0o6000 != 0 {
        Some(format!("{shown} changes its user when it starts (set-uid)"))
    } else if !readable(&status, uid, user) {
        Some(format!("{shown} may not be read by who runs it"))
    } else {
        None
    }
}

fn readable(status: &Metadata, uid: u32, user: Option<&User>) -> bool {
    let in_group = |gid| match user {
        Some(user) => user.gid == gid || user.groups.contains(&gid),
        // SAFETY: no preconditions. Who is in more groups gets the lesser source, not a wrong one.
        None => unsafe { libc::getegid() == gid },
    };
    let shift = if status.uid() == uid {
        6
    } else if in_group(status.gid()) {
        3
    } else {
        0
    };
    status.mode() >> shift & 4 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happening(time_ns: i64, what: What) -> Happening {
        Happening {
            time_ns,
            pid: 7,
            tid: 7,
            what,
        }
    }

    #[test]
    fn a_course_needs_its_exec_its_end_and_every_record() {
        let exec = |time_ns| {
            let name = [0; 16];
            happening(
                time_ns,
                What::Named {
                    name,
                    by_exec: true,
                },
            )
        };
        // A thread ends after the leader; CPUs are drained one after the other.
        let all = [
            exec(20),
            happening(90, What::Ended),
            exec(10),
            happening(50, What::Ended),
        ];
        let stamps = between(7, &all).unwrap();
        assert_eq!((stamps.start_ns, stamps.end_ns), (10, 90));
        assert!(between(8, &all).is_none());
        assert!(between(7, &all[..1]).is_none());
        assert!(between(
            7,
            &[
                exec(10),
                happening(20, What::Ended),
                happening(30, What::Lost(1))
            ]
        )
        .is_none());
    }
}
