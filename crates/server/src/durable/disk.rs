//! The file system operations that the log needs, so that tests can substitute a disk that loses unsynced data. The
//! real one is a locked folder.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cambist_host::folder::{LOCK, PrivateFolder, TakenFolder};

use super::DataError;

/// A folder.
pub(crate) trait Disk: Send + Sync {
    /// Names of its files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// The bytes of a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Creates a file; it must not exist.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file for writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file, replacing an existing one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Syncs the folder's entries: created, renamed and removed names.
    fn sync_folder(&self) -> io::Result<()>;
    /// A subfolder, which may not exist. It is renamed like a file.
    fn inside(&self, name: &str) -> Box<dyn Disk>;
    /// Creates this folder if necessary.
    fn make(&self) -> io::Result<()>;
    /// Removes a subfolder with all its files, if it exists.
    fn remove_inside(&self, name: &str) -> io::Result<()>;
    /// The folder's path, for messages.
    fn name(&self) -> String;
    /// The path of a file in it, for messages.
    fn path_of(&self, file: &str) -> String {
        format!("{}/{file}", self.name())
    }
}

/// A file open for writing.
pub(crate) trait DiskFile: Send {
    /// Writes bytes at an offset.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Syncs content and length.
    fn sync(&mut self) -> io::Result<()>;
}

/// A folder of the file system.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The lock, held as long as this process uses the folder.
    _taken: Option<TakenFolder>,
}

impl Folder {
    /// Opens a folder for reading; another process may use it.
    pub fn open_for_reading(path: &Path) -> Result<Self, DataError> {
        if path.is_dir() {
            Ok(Self {
                path: path.to_owned(),
                _taken: None,
            })
        } else {
            Err(DataError::Empty {
                folder: path.display().to_string(),
            })
        }
    }

    /// Creates the folder (mode 0700) if necessary and locks it for this process.
    pub fn take(path: &Path) -> Result<Self, DataError> {
        let folder = PrivateFolder::open_or_create(path)?;
        let taken = folder.take()?;
        Ok(Self {
            path: path.to_owned(),
            _taken: Some(taken),
        })
    }
}

impl Disk for Folder {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            if let Ok(name) = entry?.file_name().into_string()
                && name != LOCK
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.path.join(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        Ok(Box::new(RealFile(options.open(self.path.join(name))?)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().write(true).open(self.path.join(name))?;
        Ok(Box::new(RealFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn inside(&self, name: &str) -> Box<dyn Disk> {
        let path = self.path.join(name);
        Box::new(Self { path, _taken: None })
    }

    fn make(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn remove_inside(&self, name: &str) -> io::Result<()> {
        match std::fs::remove_dir_all(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
