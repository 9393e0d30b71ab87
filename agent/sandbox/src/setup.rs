//! What a layer needs around the command inside: made before it, undone after it, without a shell.
//!
//! Everything happens inside the layer around: on this machine, in a guest, on another host. The
//! command has this process's standard streams; as their end is an end for what it runs, nothing
//! stays when the front is killed. Only this process itself must not be killed: then what it made
//! stays until somebody cleans up by its name.

mod family;
mod limits;
mod made;
mod mounts;
mod spec;
mod users;

use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use stream::STDIN;
use sys::tree::Status;

use family::{Family, Started};
use limits::Limits;
use made::Made;
use mounts::Binds;
use spec::Spec;

/// For commands where the environment has none.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What was asked to end is killed after so long.
const GRACE: Duration = Duration::from_secs(2);
/// No command that cleans up may take longer.
const CLEANING: Duration = Duration::from_secs(30);

/// Run `nest`.
pub fn run(name: &str, spec: &str, argv: &[String]) -> ExitCode {
    if std::env::var_os("PATH").is_none() {
        std::env::set_var("PATH", PATH);
    }
    let spec: Spec = match serde_json::from_str(spec) {
        Ok(spec) => spec,
        Err(error) => {
            eprintln!("tare-agent: --spec cannot be read: {error}");
            return ExitCode::from(2);
        }
    };
    let mut nest = match Nest::new() {
        Ok(nest) => nest,
        Err(error) => {
            eprintln!("tare-agent: cannot hear of signals: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = nest
        .make(name, &spec)
        .and_then(|()| nest.conduct(argv, &spec));
    if let Err(why) = &outcome {
        // Before what cleaning up may say.
        tell(why);
    }
    nest.undo(&spec);
    match outcome {
        Ok(Status::Exited(code)) => ExitCode::from(code as u8),
        Ok(Status::Killed(signal)) => ExitCode::from(128 + signal as u8),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Says it to whoever still listens: of a front that was killed nobody does.
fn tell(words: &str) {
    let _ = writeln!(io::stderr(), "tare-agent: {words}");
}

struct Nest {
    family: Family,
    made: Made,
    limits: Limits,
    /// What the command inside has open beside its streams.
    users: Option<OwnedFd>,
    daemons: Vec<Started>,
}

impl Nest {
    fn new() -> io::Result<Self> {
        Ok(Self {
            family: Family::new()?,
            made: Made::default(),
            limits: Limits::default(),
            users: None,
            daemons: Vec::new(),
        })
    }

    fn make(&mut self, name: &str, spec: &Spec) -> Result<(), String> {
        self.made.make(spec)?;
        if let Some(users) = &spec.users {
            self.users = Some(users::make(users)?);
        }
        if let Some(group) = &spec.group {
            self.limits.make(name, group)?;
        }
        for argv in &spec.daemons {
            self.daemons.push(self.family.start(argv)?);
        }
        self.await_all(spec)?;
        for argv in &spec.before {
            let command = self.family.start(argv)?;
            match self.family.wait_outside(&command) {
                Some(Status::Exited(0)) => {}
                Some(status) => return Err(command.told(status)),
                None => {
                    self.family.end(&command, GRACE);
                    let why = self.family.asked.take().unwrap_or_default();
                    return Err(format!("{} was ended: {why}", command.shown()));
                }
            }
        }
        Ok(())
    }

    /// Waits for what daemons make.
    fn await_all(&mut self, spec: &Spec) -> Result<(), String> {
        let limit = Duration::try_from_secs_f64(spec.awaited_s.0)
            .map_err(|error| format!("awaited_s: {error}"))?;
        let deadline = Instant::now() + limit;
        for path in &spec.awaited {
            while !is_there(Path::new(path)) {
                if self.family.is_to_end() {
                    let why = self.family.asked.take().unwrap_or_default();
                    return Err(format!("waited for {path} in vain: {why}"));
                }
                for daemon in &self.daemons {
                    if let Some(status) = self.family.has_ended(daemon) {
                        let how = daemon.told(status);
                        return Err(format!("{how} before {path} was there"));
                    }
                }
                if Instant::now() > deadline {
                    return Err(format!("{path} was not there after {} s", spec.awaited_s.0));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// Runs the command inside to its end.
    fn conduct(&mut self, argv: &[String], spec: &Spec) -> Result<Status, String> {
        let doors = self.limits.doors()?;
        let binds = Binds::new(&spec.binds).map_err(|error| format!("binds: {error}"))?;
        let directory = spec.directory.as_deref();
        let inside = self.family.start_inside(argv, directory, doors, binds)?;
        self.users = None;
        give_up_input();
        if let Some(status) = self.family.wait(&inside, None) {
            let short_of_memory = self.limits.ran_out_of_memory();
            // Nobody asked for it, and it could not say so itself.
            let was_killed = matches!(status, Status::Killed(_));
            if was_killed || (short_of_memory && status != Status::Exited(0)) {
                let memory = match short_of_memory {
                    true => ": its control group has too little memory",
                    false => "",
                };
                eprintln!("tare-agent: {}{memory}", inside.told(status));
            }
            return Ok(status);
        }
        self.family.end(&inside, GRACE);
        let unknown = Status::Killed(libc::SIGKILL);
        Ok(self.family.has_ended(&inside).unwrap_or(unknown))
    }

    /// Undoes everything, in reverse; what cannot be undone is told.
    fn undo(&mut self, spec: &Spec) {
        for argv in &spec.after {
            let told = match self.family.start(argv) {
                Err(why) => Some(why),
                Ok(command) => self.clean_by(&command),
            };
            if let Some(told) = told {
                tell(&told);
            }
        }
        for daemon in std::mem::take(&mut self.daemons).iter().rev() {
            self.family.end(daemon, GRACE);
        }
        self.family.end_all();
        let stays = std::mem::take(&mut self.limits).remove();
        for stays in stays
            .into_iter()
            .chain(std::mem::take(&mut self.made).remove())
        {
            tell(&stays);
        }
    }

    /// Waits for a command that cleans up, whatever else may be asked meanwhile.
    fn clean_by(&mut self, command: &Started) -> Option<String> {
        let deadline = Instant::now() + CLEANING;
        loop {
            self.family.asked = None;
            let left = deadline.saturating_duration_since(Instant::now());
            match self.family.wait(command, Some(left)) {
                Some(Status::Exited(0)) => return None,
                Some(status) => return Some(command.told(status)),
                None if left.is_zero() => {
                    self.family.end(command, GRACE);
                    let limit = CLEANING.as_secs();
                    return Some(format!("{} took longer than {limit} s", command.shown()));
                }
                None => {}
            }
        }
    }
}

/// Whether a file is there; of a socket, whether somebody answers.
fn is_there(path: &Path) -> bool {
    match path.metadata() {
        Ok(file) if file.file_type().is_socket() => UnixStream::connect(path).is_ok(),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Only the command inside reads what the front writes, and its end is to be felt there.
fn give_up_input() {
    if let Ok(null) = std::fs::File::open("/dev/null") {
        // SAFETY: both descriptors are open.
        unsafe { libc::dup2(null.as_raw_fd(), STDIN) };
    }
}
