//! File systems of a guest, and its way from the initramfs into its root.

use std::ffi::CString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{symlink, DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

/// A block device with a file system.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its serial number, since the kernel's names depend on the order of the devices on the bus.
    pub serial: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is seen; at the root with memory above it for what is written.
    pub at: String,
}

impl Disk {
    fn is_root(&self) -> bool {
        self.at == "/"
    }
}

/// How long a disk may take to appear.
const APPEAR: Duration = Duration::from_secs(10);
/// Made in the initramfs, which nobody sees later.
const ROOT: &str = "/.root";
const DISK: &str = "/.disk";
const LAYER: &str = "/.layer";

/// What the kernel tells and offers.
const KERNELS: [(&str, &str); 3] = [("/dev", "devtmpfs"), ("/proc", "proc"), ("/sys", "sysfs")];

/// Mounts them below a root.
pub fn kernels(root: &str) -> Result<(), String> {
    for (path, kind) in KERNELS {
        let path = format!("{root}{path}");
        folder(&path)?;
        mount(kind, &path, Some(kind), 0, "")?;
    }
    for (name, target) in [
        ("fd", ""),
        ("stdin", "/0"),
        ("stdout", "/1"),
        ("stderr", "/2"),
    ] {
        let _ = symlink(
            format!("/proc/self/fd{target}"),
            format!("{root}/dev/{name}"),
        );
    }
    // Terminals are of no matter to most.
    let _ = folder(&format!("{root}/dev/pts"));
    let _ = mount(
        "devpts",
        &format!("{root}/dev/pts"),
        Some("devpts"),
        0,
        "ptmxmode=0666",
    );
    Ok(())
}

/// Memory that everybody may write to, and the control groups.
pub fn memory() -> Result<(), String> {
    for path in ["/tmp", "/run", "/dev/shm"] {
        folder(path)?;
        // What was packed below it is to be seen; there it is memory as well.
        if fs::read_dir(path).is_ok_and(|mut within| within.next().is_some()) {
            continue;
        }
        let mode = if path == "/run" {
            "mode=0755"
        } else {
            "mode=1777"
        };
        mount("tmpfs", path, Some("tmpfs"), 0, mode)?;
    }
    // A kernel without them serves those who need none.
    let _ = mount("cgroup2", "/sys/fs/cgroup", Some("cgroup2"), 0, "");
    Ok(())
}

/// Makes a disk, or the initramfs itself, the root of everything. The initramfs is entered anew
/// too: what is mounted can be left by pivot_root, as containers do, what the kernel began with
/// can not.
pub fn enter_root(disk: Option<&Disk>, binds: &[String]) -> Result<(), String> {
    folder(ROOT)?;
    match disk {
        None => mount("/", ROOT, None, libc::MS_BIND, "")?,
        Some(disk) if !disk.is_root() => {
            mount("/", ROOT, None, libc::MS_BIND, "")?;
            let at = format!("{ROOT}{}", disk.at);
            folder(&at)?;
            attach(disk, &at)?;
        }
        Some(disk) => {
            show(disk)?;
            for path in binds.iter().map(String::as_str).chain(["/tare"]) {
                bind(path)?;
            }
        }
    }
    for (path, _) in KERNELS {
        let inside = format!("{ROOT}{path}");
        folder(&inside)?;
        mount(path, &inside, None, libc::MS_MOVE, "")?;
    }
    let moved = std::env::set_current_dir(ROOT)
        .map_err(|error| error.to_string())
        .and_then(|()| mount(".", "/", None, libc::MS_MOVE, ""))
        .and_then(|()| std::os::unix::fs::chroot(".").map_err(|error| error.to_string()))
        .and_then(|()| std::env::set_current_dir("/").map_err(|error| error.to_string()));
    moved.map_err(|error| format!("cannot enter the root file system: {error}"))
}

/// Mounts a disk read-only.
fn attach(disk: &Disk, at: &str) -> Result<(), String> {
    mount(&device(disk)?, at, Some(&disk.kind), libc::MS_RDONLY, "")
}

/// Mounts a disk for everybody to write to.
pub fn attach_written(disk: &Disk) -> Result<(), String> {
    folder(&disk.at)?;
    mount(&device(disk)?, &disk.at, Some(&disk.kind), 0, "")?;
    open_folder(&disk.at)
}

/// Waits for a disk, and returns the path of its device.
fn device(disk: &Disk) -> Result<String, String> {
    let deadline = Instant::now() + APPEAR;
    loop {
        let names = fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_it = |name: &String| {
            let serial = fs::read_to_string(format!("/sys/block/{name}/serial"));
            serial.is_ok_and(|serial| serial.trim_end() == disk.serial)
        };
        let found = names.find(is_it).map(|name| format!("/dev/{name}"));
        match found.filter(|path| Path::new(path).exists()) {
            Some(path) => return Ok(path),
            None if Instant::now() > deadline => {
                return Err(format!("there is no disk {} for {}", disk.serial, disk.at));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// A disk at the place of the root, with memory above it where the kernel can.
fn show(disk: &Disk) -> Result<(), String> {
    folder(DISK)?;
    attach(disk, DISK)?;
    folder(LAYER)?;
    mount("tmpfs", LAYER, Some("tmpfs"), 0, "mode=0755")?;
    let (upper, work) = (format!("{LAYER}/upper"), format!("{LAYER}/work"));
    folder(&upper)?;
    folder(&work)?;
    let layers = format!("lowerdir={DISK},upperdir={upper},workdir={work}");
    mount("overlay", ROOT, Some("overlay"), 0, &layers)
        .or_else(|_| mount(DISK, ROOT, None, libc::MS_MOVE, ""))
}

/// Shows something of the initramfs in the root.
fn bind(path: &str) -> Result<(), String> {
    let inside = format!("{ROOT}{path}");
    let inside_path = Path::new(&inside);
    let made = if Path::new(path).is_dir() {
        fs::create_dir_all(inside_path)
    } else {
        let parent = inside_path.parent().map_or(Ok(()), fs::create_dir_all);
        parent.and_then(|()| match inside_path.exists() {
            true => Ok(()),
            false => fs::File::create(inside_path).map(drop),
        })
    };
    made.map_err(|error| {
        format!("the root file system has no {path}, nor room above it: {error}")
    })?;
    mount(path, &inside, None, libc::MS_BIND | libc::MS_REC, "")
}

/// Takes from the root alone that it can be written to; what is mounted on it stays as it is.
pub fn make_read_only() -> Result<(), String> {
    let flags = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
    mount("none", "/", None, flags, "")
}

/// A folder for everybody.
pub fn open_folder(path: &str) -> Result<(), String> {
    let made = fs::create_dir_all(path);
    made.and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o1777)))
        .map_err(|error| format!("cannot make {path}: {error}"))
}

fn folder(path: &str) -> Result<(), String> {
    match DirBuilder::new().mode(0o755).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("cannot make {path}: {error}"))
        }
        _ => Ok(()),
    }
}

fn mount(
    source: &str,
    target: &str,
    kind: Option<&str>,
    flags: libc::c_ulong,
    data: &str,
) -> Result<(), String> {
    let string = |text: &str| CString::new(text).map_err(|error| format!("{text:?}: {error}"));
    let (from, to, data) = (string(source)?, string(target)?, string(data)?);
    let kind = kind.map(string).transpose()?;
    let kind_pointer = kind.as_ref().map_or(std::ptr::null(), |kind| kind.as_ptr());
    // SAFETY: strings that end, or null where the kernel reads none.
    let done = unsafe {
        libc::mount(
            from.as_ptr(),
            to.as_ptr(),
            kind_pointer,
            flags,
            data.as_ptr().cast(),
        )
    };
    match (done, io::Error::last_os_error()) {
        (0, _) => Ok(()),
        // The kernel may have done so itself.
        (_, error) if kind.is_some() && error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
        (_, error) => Err(format!("cannot mount {source} at {target}: {error}")),
    }
}
