//! Files to be read past the page cache: random data that lies on the disk, no holes.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rand_pcg::rand_core::RngCore;
use sys::mapping::Mapping;

use crate::probe::Round;

/// Written at once.
const CHUNK: usize = 1 << 20;
/// Of a file system, this part is left free whatever happens.
const SPARED: u64 = 10;

/// A directory that a round may fill, within bounds.
pub struct Place<'a> {
    round: &'a Round,
    directory: PathBuf,
    pub kind: FileSystem,
}

/// Where a directory lies.
#[derive(Clone, Copy)]
pub struct FileSystem {
    magic: i64,
    free_bytes: u64,
    total_bytes: u64,
}

impl<'a> Place<'a> {
    fn new(round: &'a Round, directory: Option<&str>) -> Result<Self, String> {
        let directory = PathBuf::from(directory.ok_or("no directory was given: --directory DIR")?);
        let kind = FileSystem::of(&directory).map_err(|why| at(&directory, &why))?;
        Ok(Self {
            round,
            directory,
            kind,
        })
    }

    /// # Errors
    /// Where files lie in memory whatever is done.
    pub fn on_disk(round: &'a Round, directory: Option<&str>) -> Result<Self, String> {
        let place = Self::new(round, directory)?;
        if place.kind.is_memory() {
            return Err(place.lies_in_memory());
        }
        Ok(place)
    }

    /// Most bytes of a file, up to those, that the user and the disk have room for.
    pub fn fitting(&self, wanted: u64, least: u64) -> Result<u64, String> {
        self.fitting_within(wanted, least, self.round.job.file_bytes)
    }

    /// The same where another limit than the round's holds.
    pub fn fitting_within(&self, wanted: u64, least: u64, allowed: u64) -> Result<u64, String> {
        let kind = &self.kind;
        let room = kind.free_bytes.saturating_sub(kind.total_bytes / SPARED);
        let most = wanted.min(allowed).min(room);
        if most < least {
            return Err(format!(
                "{}: a file of {least} bytes is needed, but {allowed} may be written and {room} \
                 are free beside the tenth that is left alone",
                self.directory.display()
            ));
        }
        Ok(most)
    }

    fn lies_in_memory(&self) -> String {
        format!(
            "{} lies in memory ({}): give a --directory on a disk",
            self.directory.display(),
            self.kind.name()
        )
    }

    /// A file of this size, from an earlier round of the session where there is one. Whoever gave
    /// the directory removes it.
    pub fn file(&self, name: &str, bytes: u64) -> Result<PathBuf, String> {
        let path = self.directory.join(format!("tare-{name}-{bytes}"));
        if is_written(&path, bytes) {
            return Ok(path);
        }
        let half = self.directory.join(format!("tare-{name}-{bytes}.part"));
        let written = self.write(&half, bytes).and_then(|()| {
            fs::rename(&half, &path)?;
            Ok(path)
        });
        written.map_err(|why| {
            let _ = fs::remove_file(&half);
            at(&self.directory, &why)
        })
    }

    fn write(&self, path: &Path, bytes: u64) -> io::Result<()> {
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
        // Of random numbers; on other platforms root is another user, and reads the same file.
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
        let mut random = self.round.random();
        let mut chunk = vec![0; CHUNK.min(bytes as usize)];
        let mut left = bytes as usize;
        while left > 0 {
            // Data that compresses, or is all the same, is faked fast by some disks.
            random.fill_bytes(&mut chunk);
            let length = left.min(chunk.len());
            file.write_all(&chunk[..length])?;
            left -= length;
        }
        file.sync_all()?;
        forget(&file);
        Ok(())
    }
}

/// Takes a file's pages out of the cache, as far as they are written.
pub fn forget(file: &File) {
    // SAFETY: a plain call; it is advice.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// Whether it is whole and lies in blocks.
fn is_written(path: &Path, bytes: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_file() && about.size() == bytes)
}

impl FileSystem {
    pub fn of(path: &Path) -> io::Result<Self> {
        let text = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: writes one record; all of it is numbers.
        let about = unsafe {
            let mut about: libc::statfs64 = std::mem::zeroed();
            match libc::statfs64(text.as_ptr(), &mut about) {
                0 => about,
                _ => return Err(io::Error::last_os_error()),
            }
        };
        let block = about.f_bsize as u64;
        Ok(Self {
            magic: about.f_type as i64,
            free_bytes: about.f_bavail * block,
            total_bytes: about.f_blocks * block,
        })
    }

    /// Whether it has no disk at all.
    pub fn is_memory(self) -> bool {
        matches!(self.name(), "tmpfs" | "ramfs" | "hugetlbfs")
    }

    /// As `stat -f` names it.
    pub fn name(self) -> &'static str {
        // linux/magic.h, and those that are kept in their own headers.
        match self.magic & 0xffff_ffff {
            0x0102_1994 => "tmpfs",
            0x8584_58f6 => "ramfs",
            0x9584_58f6 => "hugetlbfs",
            0xef53 => "ext4",
            0x5846_5342 => "xfs",
            0x9123_683e => "btrfs",
            0xf2f5_2010 => "f2fs",
            0x794c_7630 => "overlayfs",
            0x2fc1_2fc1 => "zfs",
            0x6969 => "nfs",
            0xff53_4d42 | 0xfe53_4d42 => "cifs",
            0x6573_5546 => "fuse",
            0x0102_1997 => "9p",
            0x00c3_6400 => "ceph",
            0xca45_1a4e => "bcachefs",
            _ => "a file system that it does not know",
        }
    }
}

/// A file whose reads go past the page cache, if the file system lets them.
pub struct Direct {
    file: File,
    buffer: Mapping,
}

impl Direct {
    /// # Errors
    /// Says why reads would come from memory.
    pub fn open(path: &Path, largest: usize) -> Result<Self, String> {
        let kind = FileSystem::of(path).map_err(|why| at(path, &why))?;
        let mut options = File::options();
        let file = options.read(true).custom_flags(libc::O_DIRECT).open(path);
        let cannot = |error: &io::Error| match error.raw_os_error() {
            Some(libc::EINVAL) => format!(
                "{}: {} has no O_DIRECT, so that reads would come from memory",
                path.display(),
                kind.name()
            ),
            _ => at(path, error),
        };
        let mut direct = Self {
            file: file.map_err(|error| cannot(&error))?,
            // Whole pages, so that they are aligned for every disk.
            buffer: Mapping::own(largest).map_err(|error| at(path, &error))?,
        };
        // Some take the flag and refuse the reads.
        let first = direct.read(largest.min(4096), 0);
        first.map_err(|error| cannot(&error))?;
        Ok(direct)
    }

    /// Reads a whole block at an offset, both multiples of 4096.
    pub fn read(&mut self, block: usize, offset: u64) -> io::Result<()> {
        assert!(block <= self.buffer.length());
        // SAFETY: the range is ours, and nobody else borrows it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.buffer.start(), block) };
        match self.file.read_at(buffer, offset)? {
            length if length == block => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// What went wrong, where, and what would mend it.
pub fn at(path: &Path, error: &io::Error) -> String {
    let hint = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => ": make room, or give another --directory",
        Some(libc::EROFS | libc::EACCES | libc::EPERM) => ": give another --directory",
        _ => "",
    };
    format!("{}: {error}{hint}", path.display())
}
