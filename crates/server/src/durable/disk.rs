//! The few things asked of a file system, so that tests can put one under the log that loses what was
//! not synced. The real one is a locked folder; what its files mean is not known here.

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
    /// All bytes of a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Makes a new file; one of that name must not exist.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file to change it.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file, over another one if there is one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes names durable: what was created, renamed, removed.
    fn sync_folder(&self) -> io::Result<()>;
    /// A folder inside, there or not. It is renamed like a file.
    fn inside(&self, name: &str) -> Box<dyn Disk>;
    /// Makes this folder, if need be.
    fn make(&self) -> io::Result<()>;
    /// Removes a folder inside with all its files, if it is there.
    fn remove_inside(&self, name: &str) -> io::Result<()>;
    /// How people call it.
    fn name(&self) -> String;
    /// How people call a file in it.
    fn path_of(&self, file: &str) -> String {
        format!("{}/{file}", self.name())
    }
}

/// A file that is written.
pub(crate) trait DiskFile: Send {
    /// Writes bytes at a place.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts it off.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Makes its bytes and its length durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A folder of the file system.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Held as long as this process works in it.
    _taken: Option<TakenFolder>,
}

impl Folder {
    /// A folder to read from, perhaps in use by another process.
    pub fn look(path: &Path) -> Result<Self, DataError> {
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

    /// Makes the folder (0700) if needed and takes it for this process.
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
