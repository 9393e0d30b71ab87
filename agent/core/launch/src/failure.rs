//! Why a process could not be launched, in words.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use crate::program::{Image, Program};
use crate::shared_block::{Head, Step};

/// What a child that has ended noted of its failure; nothing if it reached its exec.
pub fn told(head: &Head, program: &Program, command: &str) -> Option<String> {
    let number = head.failed_step.load(Relaxed);
    let step = Step::numbered(number)?;
    let error = io::Error::from_raw_os_error(head.failed_errno.load(Relaxed) as i32);
    Some(match step {
        Step::Group => format!("cannot give {command} a process group: {error}"),
        Step::Streams => format!("cannot connect the standard streams of {command}: {error}"),
        Step::Affinity => format!("cannot put {command} on the CPUs that it is given: {error}"),
        Step::Limit => format!("cannot limit what {command} writes: {error}"),
        Step::User => format!("cannot run {command} as that user: {error}"),
        Step::Input => {
            let input = program.input.as_deref().unwrap_or_default();
            format!("cannot read the input {}: {error}", input.to_string_lossy())
        }
        Step::Directory => {
            let directory = program.directory.as_deref().unwrap_or_default();
            format!(
                "cannot go to the directory {}: {error}",
                directory.to_string_lossy()
            )
        }
        Step::Gate => format!("{command} waited for its launcher in vain"),
        Step::Exec => match &program.image {
            Image::Own(_) => format!("cannot execute the agent itself for {command}: {error}"),
            Image::Paths(paths) => {
                let number = head.failed_candidate.load(Relaxed) as usize;
                let path = &paths[number.min(paths.len() - 1)];
                refused(command, path, program, paths.len(), &error)
            }
        },
    })
}

fn refused(
    command: &str,
    path: &CString,
    program: &Program,
    tried: usize,
    error: &io::Error,
) -> String {
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let shown = path.display();
    let directory = program.directory.as_deref().unwrap_or_default();
    let path = &Path::new(OsStr::from_bytes(directory.to_bytes())).join(path);
    match error.raw_os_error() {
        Some(libc::ENOENT) if path.exists() => {
            let missing = interpreter(path).unwrap_or_else(|| "its loader".to_string());
            match missing.strip_suffix('\r') {
                Some(name) => format!(
                    "{shown} cannot start: its first line, {name}, ends with a carriage return \
                     (sed -i 's/\\r$//'?)"
                ),
                None => format!("{shown} cannot start: no interpreter {missing} here"),
            }
        }
        Some(libc::ENOENT | libc::ENOTDIR) if tried > 1 || !command.contains('/') => {
            format!("{command}: not found in the PATH of its environment")
        }
        Some(libc::ENOENT | libc::ENOTDIR) => format!("{shown}: not found"),
        Some(libc::EACCES) if path.is_dir() => format!("{shown} is a directory, not a program"),
        Some(libc::EACCES) => match path.metadata().map(|file| file.mode() & 0o111) {
            Ok(0) => format!("{shown} is not executable (chmod +x?)"),
            _ => format!("{shown} is not executable for the user who runs it here (chmod a+rx?)"),
        },
        Some(libc::ENOEXEC) => {
            format!("{shown} is no program: neither a binary for this machine nor begins with #!")
        }
        _ => format!("{shown} cannot be executed: {error}"),
    }
}

/// What a script's first line names, with a carriage return after it: to the kernel that is part
/// of the name.
fn interpreter(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(path)
        .ok()?
        .take(256)
        .read_to_end(&mut start)
        .ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line);
    line.split([' ', '\t'])
        .find(|word| !word.is_empty())
        .map(str::to_string)
}
