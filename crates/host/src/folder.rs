//! A folder for one user and one process: no symbolic link, owned by this user, inaccessible to others, locked while in
//! use.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// Name of the lock file.
pub const LOCK: &str = "lock";

/// Bytes that this user may still write on the file system of a path.
///
/// # Errors
///
/// The path cannot be read.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Why a folder is not used. The texts begin with the folder's path.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process holds the lock.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// A symbolic link, whose target others could change.
    #[error("{} is a symbolic link; name the folder itself", .0.display())]
    SymbolicLink(PathBuf),
    /// It is a file, pipe, device or socket.
    #[error("{} is not a folder", .0.display())]
    NotFolder(PathBuf),
    /// Other users have access.
    #[error("{path} has mode {mode:04o}; others must have no access: chmod 700 {path}", path = path.display())]
    Mode {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another user owns it.
    #[error("{path} belongs to user {owner}, but this process runs as user {us}: run it as user {owner}, or chown {us} {path}", path = path.display())]
    Owner {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        us: u32,
    },
    /// It is not there, and this user may not create it.
    #[error("{path} is not there, and user {us}, who runs this process, may not write in {above}: as root, install -d -m 700 -o {us} {path}", path = path.display(), above = above.display())]
    NotCreated {
        /// The folder.
        path: PathBuf,
        /// The nearest folder above it that exists.
        above: PathBuf,
        /// The user of this process.
        us: u32,
    },
    /// An error of the operating system.
    #[error("{} cannot be used: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl FolderError {
    /// Whether the folder itself is wrong, so that a retry cannot help, as opposed to a folder in use or an I/O error.
    pub fn is_misconfigured(&self) -> bool {
        match self {
            Self::SymbolicLink(_)
            | Self::NotFolder(_)
            | Self::Mode { .. }
            | Self::Owner { .. }
            | Self::NotCreated { .. } => true,
            Self::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::InvalidFilename
                    | io::ErrorKind::InvalidInput
            ),
            Self::InUse(_) => false,
        }
    }
}

/// A folder whose owner and mode were checked. Files in it are opened relative to its descriptor.
#[derive(Debug)]
pub struct PrivateFolder {
    descriptor: File,
    path: PathBuf,
}

/// A private folder that this process has locked. The operating system releases the lock when the process ends.
#[derive(Debug)]
pub struct TakenFolder {
    _lock: File,
}

impl PrivateFolder {
    /// Whether a folder that is not there could be created by this user; creates nothing.
    ///
    /// # Errors
    /// [`FolderError::NotCreated`].
    pub fn could_create(path: &Path) -> Result<(), FolderError> {
        let mut above = path.ancestors().skip(1);
        let above = above.find(|above| above.as_os_str().is_empty() || above.exists());
        let above = above.filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        // The effective user is the one that would create it.
        match rustix::fs::accessat(CWD, above, wanted, AtFlags::EACCESS) {
            Ok(()) => Ok(()),
            Err(_) => Err(FolderError::NotCreated {
                path: path.to_owned(),
                above: above.to_owned(),
                us: rustix::process::geteuid().as_raw(),
            }),
        }
    }

    /// Opens a folder without following a link, and checks owner and mode.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        Self::open_of(path, rustix::process::geteuid().as_raw())
    }

    /// As [`PrivateFolder::open`], for reading; root may read folders of other users.
    pub fn visit(path: &Path) -> Result<Self, FolderError> {
        match Self::open(path) {
            Err(FolderError::Owner { owner, us: 0, .. }) => Self::open_of(path, owner),
            result => result,
        }
    }

    /// A path of `name` that stays short whatever the length of the folder's path. Valid as long as this value lives.
    pub fn short_name(&self, name: &str) -> PathBuf {
        PathBuf::from(format!(
            "/proc/self/fd/{}/{name}",
            self.descriptor.as_raw_fd()
        ))
    }

    fn open_of(path: &Path, us: u32) -> Result<Self, FolderError> {
        let io = |error: Errno| FolderError::Io {
            path: path.to_owned(),
            source: error.into(),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| {
            let is_link = path
                .symlink_metadata()
                .is_ok_and(|found| found.is_symlink());
            match error {
                Errno::LOOP | Errno::NOTDIR if is_link => {
                    FolderError::SymbolicLink(path.to_owned())
                }
                Errno::NOTDIR if path.symlink_metadata().is_ok() => {
                    FolderError::NotFolder(path.to_owned())
                }
                other => io(other),
            }
        })?;
        let found = rustix::fs::fstat(&descriptor).map_err(io)?;
        if found.st_uid != us {
            return Err(FolderError::Owner {
                path: path.to_owned(),
                owner: found.st_uid,
                us,
            });
        }
        let mode = found.st_mode & 0o7777;
        if mode & 0o077 != 0 {
            return Err(FolderError::Mode {
                path: path.to_owned(),
                mode,
            });
        }
        Ok(Self {
            descriptor: descriptor.into(),
            path: path.to_owned(),
        })
    }

    /// As [`PrivateFolder::open`], after creating the folder (mode 0700) and its missing parents.
    pub fn open_or_create(path: &Path) -> Result<Self, FolderError> {
        match DirBuilder::new().recursive(true).mode(0o700).create(path) {
            // If the path exists and is not a folder, `open` below reports it.
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                if source.kind() == io::ErrorKind::PermissionDenied {
                    Self::could_create(path)?;
                }
                Err(FolderError::Io {
                    path: path.to_owned(),
                    source,
                })
            }
            Ok(()) | Err(_) => Self::open(path),
        }
    }

    /// Locks the folder for this process and syncs its directory entries.
    pub fn take(&self) -> Result<TakenFolder, FolderError> {
        let io = |source| FolderError::Io {
            path: self.path.clone(),
            source,
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let lock = rustix::fs::openat(&self.descriptor, LOCK, flags, mode);
        let lock = lock.map_err(|error| io(error.into()))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(FolderError::InUse(self.path.clone())),
            Err(error) => return Err(io(error.into())),
        }
        self.sync()?;
        Ok(TakenFolder { _lock: lock.into() })
    }

    /// Syncs the entries of the folder, and the folder's own entry in its parent.
    pub fn sync(&self) -> Result<(), FolderError> {
        let parent = self.path.parent();
        let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
        self.descriptor
            .sync_all()
            .and_then(|()| File::open(parent.unwrap_or(Path::new(".")))?.sync_all())
            .map_err(|source| FolderError::Io {
                path: self.path.clone(),
                source,
            })
    }
}

/// The process that holds the lock of a folder; `None` if it is not known: no process does, or the system does not
/// show it.
pub fn holder(path: &Path) -> Option<u32> {
    let lock = rustix::fs::stat(path.join(LOCK)).ok()?;
    let (major, minor) = (
        rustix::fs::major(lock.st_dev),
        rustix::fs::minor(lock.st_dev),
    );
    let file = format!("{major:02x}:{minor:02x}:{}", lock.st_ino);
    holder_in(&fs::read_to_string("/proc/locks").ok()?, &file)
}

/// The same in the text of `/proc/locks`: `1: FLOCK  ADVISORY  WRITE 4711 fd:00:131 0 EOF`.
fn holder_in(locks: &str, file: &str) -> Option<u32> {
    let mut each = locks.lines().map(|line| line.split_whitespace());
    each.find_map(|mut words| {
        let (kind, of) = (words.nth(1)?, words.nth(2)?);
        let is_it = kind == "FLOCK" && words.next()? == file;
        of.parse().ok().filter(|pid| is_it && *pid > 0)
    })
}

/// A folder and the process that holds its lock, if that is known: `/var/lib/x (process 4711)`.
pub fn with_holder(path: &Path, holder: Option<u32>) -> String {
    let of = holder.map_or_else(String::new, |pid| format!(" (process {pid})"));
    format!("{}{of}", path.display())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("cambist-host-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn refusal(path: &Path) -> FolderError {
        PrivateFolder::open_or_create(path).unwrap_err()
    }

    #[test]
    fn the_holder_of_a_lock_is_found_by_device_and_number_of_its_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:00:131 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 8 fd:00:131 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 9 fd:01:131 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 0 fd:00:131 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 4711 fd:00:131 0 EOF\n";
        assert_eq!(holder_in(locks, "fd:00:131"), Some(4_711));
        assert_eq!(holder_in(locks, "fd:00:13"), None);
        assert_eq!(holder_in("", "fd:00:131"), None);
        let text = with_holder(Path::new("/x"), Some(4_711));
        assert_eq!(text, "/x (process 4711)");
        assert_eq!(with_holder(Path::new("/x"), None), "/x");

        let folder = Folder::new("holder");
        let taken = PrivateFolder::open_or_create(&folder.0.join("state")).unwrap();
        let dir = folder.0.join("state");
        assert_eq!(holder(&dir), None, "there is no lock yet");
        let held = taken.take().unwrap();
        // Some file systems show another device here than in the file's status: then it is not known.
        assert!(holder(&dir).is_none_or(|pid| pid == std::process::id()));
        drop(held);
        assert_eq!(holder(&dir), None);
    }

    #[test]
    fn a_folder_is_created_private_and_locked_once() {
        let folder = Folder::new("made");
        let path = folder.0.join("above/state");
        let made = PrivateFolder::open_or_create(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let taken = made.take().unwrap();
        let second = PrivateFolder::open_or_create(&path).unwrap();
        let refused = second.take().unwrap_err();
        assert!(matches!(refused, FolderError::InUse(_)) && !refused.is_misconfigured());
        drop(taken);
        second.take().unwrap();
    }

    #[test]
    fn open_modes_name_the_remedy() {
        let folder = Folder::new("mode");
        for mode in [0o755, 0o750, 0o701, 0o770, 0o702] {
            fs::set_permissions(&folder.0, Permissions::from_mode(mode)).unwrap();
            let refused = refusal(&folder.0);
            let text = refused.to_string();
            let remedy = format!("chmod 700 {}", folder.0.display());
            assert!(text.contains(&remedy), "{text}");
            assert!(text.contains(&format!("{mode:04o}")) && refused.is_misconfigured());
        }
    }

    #[test]
    fn links_and_files_are_no_folders() {
        let folder = Folder::new("kind");
        fs::set_permissions(&folder.0, Permissions::from_mode(0o700)).unwrap();
        let link = folder.0.join("link");
        symlink(&folder.0, &link).unwrap();
        assert!(matches!(refusal(&link), FolderError::SymbolicLink(_)));
        let dangling = folder.0.join("dangling");
        symlink(folder.0.join("nowhere"), &dangling).unwrap();
        assert!(matches!(refusal(&dangling), FolderError::SymbolicLink(_)));
        let file = folder.0.join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(refusal(&file), FolderError::NotFolder(_)));
        assert!(refusal(&file.join("below")).is_misconfigured());
        // A symbolic link in the place of the lock file is refused as well.
        symlink(folder.0.join("elsewhere"), folder.0.join(LOCK)).unwrap();
        let opened = PrivateFolder::open(&folder.0).unwrap();
        assert!(opened.take().is_err() && !folder.0.join("elsewhere").exists());
    }

    /// Root may write everywhere.
    #[test]
    fn a_folder_that_cannot_be_created_names_user_and_remedy() {
        let us = rustix::process::geteuid().as_raw();
        let path = Path::new("/cambist-nowhere/state");
        if us == 0 {
            PrivateFolder::could_create(path).unwrap();
            return;
        }
        for refused in [
            PrivateFolder::could_create(path).unwrap_err(),
            refusal(path),
        ] {
            let text = refused.to_string();
            let remedy = format!("install -d -m 700 -o {us} /cambist-nowhere/state");
            assert!(
                refused.is_misconfigured() && text.contains(&remedy),
                "{text}"
            );
        }
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let us = rustix::process::geteuid().as_raw();
        // Root can change the owner of a folder; other users test with a folder of root's.
        let folder = Folder::new("owner");
        let path = if us == 0 {
            std::os::unix::fs::chown(&folder.0, Some(65_534), None).unwrap();
            folder.0.clone()
        } else {
            PathBuf::from("/")
        };
        let refused = PrivateFolder::open(&path).unwrap_err();
        assert!(matches!(refused, FolderError::Owner { .. }), "{refused}");
        assert!(refused.to_string().contains(&us.to_string()));
        if us == 0 {
            std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
            PrivateFolder::visit(&path).unwrap();
        }
    }
}
