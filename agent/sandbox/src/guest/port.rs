//! The guest's ways out: the port to the host, and its own loopback.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const PORTS: &str = "/sys/class/virtio-ports";
/// How long the host may take to offer it.
const APPEAR: Duration = Duration::from_secs(10);

/// Opens the port of this name once the host is there.
pub fn open(name: &str) -> Result<File, String> {
    let deadline = Instant::now() + APPEAR;
    let late = |what: &str| {
        let seconds = APPEAR.as_secs();
        (Instant::now() > deadline).then(|| format!("the port {name} {what} within {seconds} s"))
    };
    let path = loop {
        match find(name) {
            Some(path) => break path,
            None => late("was not there").map_or(Ok(()), Err)?,
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let file = file.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    while is_alone(&file) {
        late("was not connected").map_or(Ok(()), Err)?;
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(file)
}

fn find(name: &str) -> Option<PathBuf> {
    let ports = fs::read_dir(PORTS).into_iter().flatten().flatten();
    let mut named = ports.filter(|port| {
        let text = fs::read_to_string(port.path().join("name"));
        text.is_ok_and(|text| text.trim() == name)
    });
    let path = PathBuf::from("/dev").join(named.next()?.file_name());
    path.exists().then_some(path)
}

/// Whether the host's end is not connected: reading would seem to be at its end.
fn is_alone(file: &File) -> bool {
    let mut asked = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one record.
    unsafe { libc::poll(&mut asked, 1, 0) };
    asked.revents & libc::POLLHUP != 0
}
