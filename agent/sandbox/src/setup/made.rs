//! Folders, files and links, and their end.

use std::ffi::CString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{lchown, symlink, DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::mounts;
use super::spec::{File, Spec};

/// What has been made so far, in this order.
#[derive(Debug, Default)]
pub struct Made(Vec<Thing>);

#[derive(Debug)]
enum Thing {
    Folder(PathBuf),
    Entry(PathBuf),
}

/// Of a folder in which everything else is: users of a sandbox pass through it, and others of the
/// machine are to find nothing there.
const UNLISTED: u32 = 0o711;

impl Made {
    /// Makes all of it, or says what it could not; what it did make is known then as well.
    pub fn make(&mut self, spec: &Spec) -> Result<(), String> {
        for folder in &spec.folders {
            let within = spec.folders.iter().any(|other| is_below(folder, other));
            folder_of(folder, if within { 0o755 } else { UNLISTED })
                .map_err(|error| format!("cannot make {folder}: {error}"))?;
            self.0.push(Thing::Folder(folder.into()));
        }
        for (folder, user) in &spec.owners {
            lchown(folder, Some(*user), Some(*user))
                .map_err(|error| format!("cannot give {folder} to {user}: {error}"))?;
        }
        for file in &spec.files {
            let path = &file.path;
            let mut made = create(file).map_err(|error| format!("cannot make {path}: {error}"))?;
            self.0.push(Thing::Entry(path.into()));
            let written = made.write_all(file.text.as_bytes());
            // What the mask of modes took away is given back.
            let mode = fs::Permissions::from_mode(file.mode);
            written
                .and_then(|()| made.set_permissions(mode))
                .map_err(|error| format!("cannot write {path}: {error}"))?;
        }
        for (path, target) in &spec.links {
            symlink(target, path)
                .map_err(|error| format!("cannot make the link {path}: {error}"))?;
            self.0.push(Thing::Entry(path.into()));
        }
        for (source, path) in &spec.binds {
            mounts::point(source, path)
                .map_err(|error| format!("cannot show {source}: {error}"))?;
        }
        Ok(())
    }

    /// Removes it, last first; returns what stays, and why.
    pub fn remove(self) -> Vec<String> {
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let stays = self.0.into_iter().rev().filter_map(|thing| {
            let (path, removed) = match thing {
                Thing::Entry(path) => (path.clone(), fs::remove_file(path)),
                Thing::Folder(path) => (path.clone(), empty(&path)),
            };
            let error = removed.err().filter(|error| !gone(error))?;
            Some(format!("cannot remove {}: {error}", path.display()))
        });
        stays.collect()
    }
}

fn folder_of(path: &str, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn is_below(path: &str, folder: &str) -> bool {
    path != folder && Path::new(path).starts_with(folder)
}

fn create(file: &File) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(file.mode);
    options.open(&file.path)
}

/// Removes a folder with all in it, but nothing of what is only mounted there.
fn empty(folder: &Path) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else {
        // What is mounted cannot be told from what is its own.
        return fs::remove_dir(folder);
    };
    for point in below(&mounts, &folder) {
        let path = CString::new(point.as_os_str().as_bytes())?;
        // SAFETY: a string that ends.
        if unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    fs::remove_dir_all(folder)
}

/// What is mounted in a folder, last first.
fn below(mountinfo: &str, folder: &Path) -> Vec<PathBuf> {
    let points = mountinfo.lines().filter_map(|line| line.split(' ').nth(4));
    let points = points.map(|point| PathBuf::from(unescaped(point)));
    let mut below: Vec<_> = points.filter(|point| point.starts_with(folder)).collect();
    below.reverse();
    below
}

/// The kernel writes blanks and backslashes of paths as octal numbers.
fn unescaped(point: &str) -> String {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    escapes
        .iter()
        .fold(point.to_string(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(root: &Path) -> Spec {
        let at = |name: &str| root.join(name).to_str().unwrap().to_string();
        Spec {
            folders: vec![at(""), at("sub")],
            files: vec![File {
                path: at("sub/file"),
                text: "text".to_string(),
                mode: 0o755,
            }],
            links: vec![(at("link"), "sub/file".to_string())],
            ..Spec::default()
        }
    }

    #[test]
    fn what_was_made_is_removed_with_all_in_it() {
        let root = std::env::temp_dir().join(format!("tare-made-{}", std::process::id()));
        let spec = spec(&root);
        let mut made = Made::default();
        made.make(&spec).unwrap();
        assert_eq!(fs::read_to_string(root.join("link")).unwrap(), "text");
        let mode = fs::metadata(root.join("sub/file")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o755);
        fs::write(root.join("sub/more"), "").unwrap();
        // An existing object of the same name is neither used nor removed.
        let mut again = Made::default();
        let why = again.make(&spec).unwrap_err();
        assert!(
            why.contains("cannot make") && why.contains("exists"),
            "{why}"
        );
        assert!(again.remove().is_empty() && root.exists());
        assert!(made.remove().is_empty());
        assert!(!root.exists());
    }

    #[test]
    fn mounts_are_found_last_first() {
        let mountinfo = "\
1 0 0:1 / / rw - ext4 a rw
2 1 0:2 / /x/y rw - tmpfs a rw
3 2 0:3 / /x/y/a\\040b rw - tmpfs a rw
4 1 0:4 / /x/yes rw - tmpfs a rw
";
        let found = below(mountinfo, Path::new("/x/y"));
        assert_eq!(found, [Path::new("/x/y/a b"), Path::new("/x/y")]);
    }
}
