//! `enter`: goes into a network, or to the files of an image, and becomes a command there.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sandbox::root::{self, Root};

/// As shells say that a command was not found, or could not be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Where it goes; the network first, as its descriptor is a file of the machine.
#[derive(Debug, Default)]
pub struct Places {
    pub network: Option<PathBuf>,
    /// Whether the loopback of the network that it is in then is brought up.
    pub loopback: bool,
    /// Lists files, one a line, in whose place an empty one is seen.
    pub hidden: Option<PathBuf>,
    pub root: Option<Root>,
}

/// Run `enter`; returns only what went wrong.
pub fn run(places: &Places, argv: &[OsString]) -> ExitCode {
    let Some((program, rest)) = argv.split_first() else {
        eprintln!("tare-agent: no command: tare-agent enter --network PATH -- COMMAND…");
        return ExitCode::from(2);
    };
    if let Err(why) = go(places) {
        eprintln!("tare-agent: {why}");
        return ExitCode::from(NOT_EXECUTABLE);
    }
    let error = Command::new(program).args(rest).exec();
    let program = Path::new(program).display();
    if error.kind() == io::ErrorKind::NotFound {
        eprintln!("tare-agent: {program}: not found");
        return ExitCode::from(NOT_FOUND);
    }
    eprintln!("tare-agent: {program} cannot be executed: {error}");
    ExitCode::from(NOT_EXECUTABLE)
}

fn go(places: &Places) -> Result<(), String> {
    let network = places.network.as_deref();
    network.map_or(Ok(()), emulation::enter::enter)?;
    if places.loopback {
        sandbox::identity::raise_loopback();
    }
    let hidden = places.hidden.as_deref();
    hidden.map_or(Ok(()), sandbox::hidden::hide)?;
    places.root.as_ref().map_or(Ok(()), root::enter)
}
