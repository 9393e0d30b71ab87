//! The files of an image in the place of the machine's, for this process and what it starts.
//!
//! The root is memory in which every entry of the image's directory is mounted by itself, read-only,
//! so that mount points can be made that the image lacks. What is mounted is open before, and no
//! link of the image is ever followed: where one is in the way of a mount point, that is an error.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    fstat, fstatvfs, mkdirat, open, openat, readlinkat, symlinkat, Dir, FileType, Mode, OFlags,
    StatVfsMountFlags,
};
use rustix::io::Errno;
use rustix::mount::{
    mount, mount_bind, mount_bind_recursive, mount_change, mount_remount, unmount, MountFlags,
    MountPropagationFlags, UnmountFlags,
};
use rustix::path::Arg;
use rustix::process::{chdir, fchdir, getgid, getuid, pivot_root, umask};
use rustix::thread::{unshare_unsafe, UnshareFlags};

use crate::identity;

/// What the machine has for itself, whatever an image has there.
const OWN: [&str; 6] = ["dev", "proc", "run", "sys", "tare", "tmp"];
const MACHINE: [&str; 3] = ["dev", "proc", "sys"];
const MEMORY: [(&str, &CStr); 2] = [("run", c"mode=1777"), ("tmp", c"mode=1777")];
const FOLDER: Mode = Mode::from_raw_mode(0o755);
const AGENT: &str = "/tare/tare-agent";

/// An image, and what else is seen beside it.
#[derive(Debug, Default)]
pub struct Root {
    pub path: PathBuf,
    pub shown: Vec<Shown>,
}

/// A file or directory of the machine that is seen inside.
#[derive(Debug, PartialEq)]
pub struct Shown {
    inside: PathBuf,
    outside: PathBuf,
    writable: bool,
}

impl Shown {
    /// Reads `INSIDE=OUTSIDE`.
    pub fn parse(text: OsString, writable: bool) -> Result<Self, String> {
        let bytes = text.into_vec();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let wrong = || format!("{shown:?} is not INSIDE=OUTSIDE, two absolute paths");
        let at = bytes
            .iter()
            .position(|byte| *byte == b'=')
            .ok_or_else(wrong)?;
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        let (inside, outside) = (path(&bytes[..at]), path(&bytes[at + 1..]));
        let mut parts = inside.components();
        let rooted = parts.next() == Some(Component::RootDir);
        let plain = parts
            .clone()
            .all(|part| matches!(part, Component::Normal(_)));
        if !rooted || !plain || parts.next().is_none() || !outside.is_absolute() {
            return Err(wrong());
        }
        Ok(Self {
            inside,
            outside,
            writable,
        })
    }
}

/// Makes the image the root of this process, or says which step failed and why.
pub fn enter(root: &Root) -> Result<(), String> {
    separate()?;
    let before = umask(Mode::from_raw_mode(0o022));
    let done = Tree::new(root).and_then(|mut tree| {
        tree.fill(root)?;
        tree.pivot()
            .map_err(|error| format!("cannot make {} the root: {error}", root.path.display()))
    });
    umask(before);
    done?;
    identity::name_machine();
    identity::raise_loopback();
    Ok(())
}

/// Goes into a mount and a UTS namespace; who may not, does so in a user namespace where he is
/// himself.
fn separate() -> Result<(), String> {
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWUTS;
    // SAFETY: the descriptors stay shared with nobody, as there is one thread.
    match unsafe { unshare_unsafe(own) } {
        Err(Errno::PERM) => {
            let (user, group) = (getuid().as_raw(), getgid().as_raw());
            // SAFETY: as above.
            unsafe { unshare_unsafe(own | UnshareFlags::NEWUSER) }
                .map_err(|error| format!("cannot make a user namespace: {error}"))?;
            for (file, text) in [
                ("setgroups", "deny".to_string()),
                ("uid_map", format!("{user} {user} 1")),
                ("gid_map", format!("{group} {group} 1")),
            ] {
                std::fs::write(format!("/proc/self/{file}"), text)
                    .map_err(|error| format!("cannot set {file} of a user namespace: {error}"))?;
            }
        }
        done => done.map_err(|error| format!("cannot make a mount namespace: {error}"))?,
    }
    let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|error| format!("cannot keep mounts to itself: {error}"))
}

/// The root while it is made: memory, on the image's own directory.
struct Tree {
    image: OwnedFd,
    base: OwnedFd,
    machine: Vec<(&'static str, OwnedFd)>,
    agent: OwnedFd,
    outside: Vec<OwnedFd>,
    /// Memory above directories of the image that lacked a mount point.
    mirrors: Vec<OwnedFd>,
}

impl Tree {
    /// Opens everything that is to be mounted: afterwards paths may lead elsewhere.
    fn new(root: &Root) -> Result<Self, String> {
        let opened = |path: &Path| {
            let failed = |error| format!("cannot open {}: {error}", path.display());
            open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed)
        };
        let image = opened(&root.path)?;
        let own = std::env::current_exe().map_err(|error| format!("the agent's own: {error}"))?;
        let agent = opened(&own)?;
        let machine = MACHINE.into_iter().map(|name| {
            let file = opened(&Path::new("/").join(name))?;
            Ok((name, file))
        });
        let machine = machine.collect::<Result<_, String>>()?;
        let outside = root.shown.iter().map(|shown| opened(&shown.outside));
        let outside = outside.collect::<Result<_, _>>()?;
        memory(&image, c"mode=0755")
            .map_err(|error| format!("cannot mount memory on {}: {error}", root.path.display()))?;
        let base = opened(&root.path)?;
        Ok(Self {
            image,
            base,
            machine,
            agent,
            outside,
            mirrors: Vec::new(),
        })
    }

    fn fill(&mut self, root: &Root) -> Result<(), String> {
        mirror(&self.image, &self.base, &OWN, true)
            .map_err(|why| format!("cannot show {}: {why}", root.path.display()))?;
        for name in OWN {
            mkdirat(&self.base, name, FOLDER)
                .map_err(|error| format!("cannot make /{name}: {error}"))?;
        }
        for (name, file) in &self.machine {
            step(&self.base, *name)
                .and_then(|point| mount_bind_recursive(at(file), at(&point)))
                .map_err(|error| format!("cannot show /{name} of the machine: {error}"))?;
        }
        for (name, options) in MEMORY {
            step(&self.base, name)
                .and_then(|point| memory(&point, options))
                .map_err(|error| format!("cannot mount memory on /{name}: {error}"))?;
        }
        let agent = Shown {
            inside: AGENT.into(),
            outside: PathBuf::new(),
            writable: false,
        };
        self.show(
            &agent,
            &self.agent.try_clone().map_err(|error| error.to_string())?,
        )?;
        let outside = std::mem::take(&mut self.outside);
        let mut pairs = root.shown.iter().zip(&outside);
        pairs.try_for_each(|(shown, source)| self.show(shown, source))
    }

    fn show(&mut self, shown: &Shown, source: &OwnedFd) -> Result<(), String> {
        self.mount(shown, source).map_err(|error| {
            let path = shown.inside.display();
            match error {
                Errno::LOOP => format!("cannot show {path}: the image has a symbolic link there"),
                error => format!("cannot show {path}: {error}"),
            }
        })
    }

    /// Mounts something at a path, which is made where it is missing.
    fn mount(&mut self, shown: &Shown, source: &OwnedFd) -> Result<(), Errno> {
        let is_folder = kind(source)? == FileType::Directory;
        let parts: Vec<_> = shown.inside.components().skip(1).collect();
        for number in 1..=parts.len() {
            let path = &parts[..number];
            if self.walk(path).err() == Some(Errno::NOENT) {
                let above = self.with_room(&path[..number - 1])?;
                let name = path[number - 1].as_os_str();
                match is_folder || number < parts.len() {
                    true => mkdirat(above, name, FOLDER)?,
                    false => make_file(&above, name)?,
                }
            }
        }
        mount_bind(at(source), at(&self.walk(&parts)?))?;
        restrict(&self.walk(&parts)?, shown.writable)
    }

    /// Opens what is at a path now, whatever was mounted there meanwhile.
    fn walk(&self, path: &[Component]) -> Result<OwnedFd, Errno> {
        let mut found = step(&self.base, ".")?;
        for part in path {
            found = step(&found, part.as_os_str())?;
        }
        Ok(found)
    }

    /// Opens a directory in which entries can be made: where it is read-only, that is memory above
    /// it with all that it has.
    fn with_room(&mut self, path: &[Component]) -> Result<OwnedFd, Errno> {
        let folder = self.walk(path)?;
        if !fstatvfs(&folder)?
            .f_flag
            .contains(StatVfsMountFlags::RDONLY)
        {
            return Ok(folder);
        }
        let mode = format!("mode={:o}", fstat(&folder)?.st_mode & 0o7777);
        memory(&folder, &CString::new(mode).map_err(|_| Errno::INVAL)?)?;
        mirror(&folder, &self.walk(path)?, &[], false).map_err(|_| Errno::IO)?;
        self.mirrors.push(self.walk(path)?);
        self.walk(path)
    }

    /// Makes it the root, read-only, of which nothing else is in reach.
    fn pivot(&self) -> Result<(), Errno> {
        fchdir(&self.base)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        for memory in self.mirrors.iter().chain([&self.base]) {
            restrict(memory, false)?;
        }
        Ok(())
    }
}

/// Shows every entry of a directory in another one, which is memory: links are made anew, what is
/// neither file nor directory is left out. Read-only, or else as each is.
fn mirror(from: &OwnedFd, to: &OwnedFd, without: &[&str], read_only: bool) -> Result<(), String> {
    let told = |error: Errno| error.to_string();
    let listed = openat(
        from,
        ".",
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    for entry in Dir::new(listed.map_err(told)?).map_err(told)? {
        let entry = entry.map_err(told)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || without.iter().any(|own| name == *own) {
            continue;
        }
        copy(from, to, name, read_only)
            .map_err(|error| format!("{}: {error}", Path::new(name).display()))?;
    }
    Ok(())
}

fn copy(from: &OwnedFd, to: &OwnedFd, name: &OsStr, read_only: bool) -> Result<(), Errno> {
    let source = entry(from, name)?;
    match kind(&source)? {
        FileType::Symlink => return symlinkat(readlinkat(from, name, Vec::new())?, to, name),
        FileType::Directory => mkdirat(to, name, FOLDER)?,
        FileType::RegularFile => make_file(to, name)?,
        _ => return Ok(()),
    }
    mount_bind(at(&source), at(&step(to, name)?))?;
    match read_only {
        true => restrict(&step(to, name)?, false),
        false => Ok(()),
    }
}

/// Makes a mount read-only, if it is to be, and takes from its files what they could give to who
/// starts them. What a mount was denied before it stays denied: the kernel insists on it.
fn restrict(point: &OwnedFd, writable: bool) -> Result<(), Errno> {
    let before = fstatvfs(point)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::NOSUID | MountFlags::NODEV;
    for (had, kept) in [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        flags.set(kept, before.contains(had));
    }
    flags.set(
        MountFlags::RDONLY,
        !writable || flags.contains(MountFlags::RDONLY),
    );
    mount_remount(at(point), flags, c"")
}

fn memory(point: &OwnedFd, options: &CStr) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at(point), "tmpfs", flags, options)
}

/// Opens an entry of a directory, with what is mounted there; of a link, itself.
fn entry(folder: &OwnedFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::empty())
}

/// Opens an entry that is no link.
fn step(folder: &OwnedFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let found = entry(folder, name)?;
    match kind(&found)? {
        FileType::Symlink => Err(Errno::LOOP),
        _ => Ok(found),
    }
}

fn make_file(folder: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::from_raw_mode(0o644)).map(drop)
}

fn kind(file: &OwnedFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode))
}

/// A path of what is open, for calls that take no descriptor.
fn at(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
