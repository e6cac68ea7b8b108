//! Secrets from files: opened once, checked on the open descriptor, read once, wiped on drop.
//!
//! Messages contain the path, the problem and the remedy, never the content. Environment variables and arguments are
//! not used, because other programs can read them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use zeroize::Zeroizing;

/// Most bytes of a secret file.
const BYTES_MAX: usize = 4_096;

/// Locations of the secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Files of the user.
    Files {
        /// File with the API key.
        api_key: PathBuf,
        /// File with the EdDSA secret key in hexadecimal.
        eddsa_key: PathBuf,
    },
    /// `$CREDENTIALS_DIRECTORY/{api_key,eddsa_key}`, as provided by the service manager.
    Credentials,
    /// A process of its own holds the EdDSA key.
    Signer {
        /// File with the API key; `None` for `$CREDENTIALS_DIRECTORY/api_key`.
        api_key: Option<PathBuf>,
        /// Its Unix socket.
        socket: PathBuf,
    },
    /// None: the mode does not trade.
    None,
}

impl Keys {
    /// Names of the files with the API key and the EdDSA key in messages.
    pub fn names(&self) -> [String; 2] {
        match self {
            Self::Files { api_key, eddsa_key } => {
                [api_key, eddsa_key].map(|file| file.display().to_string())
            }
            Self::Credentials => {
                ["api_key", "eddsa_key"].map(|name| format!("the credential {name}"))
            }
            Self::Signer { api_key, socket } => {
                let file = api_key.as_ref().map(|file| file.display().to_string());
                let file = file.unwrap_or_else(|| "the credential api_key".to_owned());
                [file, format!("the signer at {}", socket.display())]
            }
            Self::None => ["api_key", "eddsa_key"].map(|name| format!("no {name}")),
        }
    }
}

/// Where an API key of Kraken's interface is: a pair of files, `api_key` and `secret`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFolder {
    /// A folder of the user.
    Dir(PathBuf),
    /// `$CREDENTIALS_DIRECTORY/{NAME_api_key,NAME_secret}`, as provided by the service manager.
    Credentials(&'static str),
}

/// Where the API keys of an account at Kraken are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFolders {
    /// The key that places orders.
    pub orders: KeyFolder,
    /// The key that reads and cancels.
    pub account: KeyFolder,
    /// The key of commands that run beside a daemon, if there is one.
    pub panic: Option<KeyFolder>,
}

impl KeyFolders {
    /// The folders that are named.
    pub fn dirs(&self) -> impl Iterator<Item = &Path> {
        let each = [&self.orders, &self.account].into_iter().chain(&self.panic);
        each.filter_map(|folder| match folder {
            KeyFolder::Dir(dir) => Some(dir.as_path()),
            KeyFolder::Credentials(_) => None,
        })
    }
}

/// An API key and its secret, as in their files.
pub struct KeyPair {
    /// The API key.
    pub api_key: Zeroizing<String>,
    /// What signs its requests, in base64.
    pub secret: Zeroizing<String>,
}

impl KeyFolder {
    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Dir(dir) => dir.display().to_string(),
            Self::Credentials(name) => format!("the credentials {name}_api_key and {name}_secret"),
        }
    }

    /// Reads both files.
    pub fn load(&self) -> Result<KeyPair, SecretError> {
        let (files, is_credential) = match self {
            Self::Dir(dir) => ([dir.join("api_key"), dir.join("secret")], false),
            Self::Credentials(name) => {
                let folder = credentials()?;
                let file = |what| folder.join(format!("{name}_{what}"));
                ([file("api_key"), file("secret")], true)
            }
        };
        let [api_key, secret] = files;
        Ok(KeyPair {
            api_key: read(&api_key, is_credential)?,
            secret: read(&secret, is_credential)?,
        })
    }
}

/// Both secrets of an account, as in their files.
pub struct Secrets {
    /// The API key.
    pub api_key: Zeroizing<String>,
    /// The EdDSA secret key in hexadecimal; `None` if a signer holds it.
    pub eddsa_key: Option<Zeroizing<String>>,
}

/// Why a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file does not exist.
    #[error("secret file {} does not exist; create it with mode 0600, or name another one in the configuration", .0.display())]
    Missing(PathBuf),
    /// A symbolic link, whose target others could change.
    #[error("secret file {} is a symbolic link; name the file itself", .0.display())]
    SymbolicLink(PathBuf),
    /// A folder, pipe, device or socket.
    #[error("secret file {} is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// Other users have access.
    #[error("secret file {path} has mode {mode:04o}; others must have no access: chmod 600 {path}", path = path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another user owns it.
    #[error("secret file {path} belongs to user {owner}, but this process runs as user {us}: chown {us} {path}", path = path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        us: u32,
    },
    /// It has several hard links.
    #[error("secret file {} has {links} names (hard links); keep one", path.display())]
    HardLinks {
        /// The file.
        path: PathBuf,
        /// Number of links.
        links: u64,
    },
    /// It is empty.
    #[error("secret file {} is empty", .0.display())]
    Empty(PathBuf),
    /// It is too long.
    #[error("secret file {} is longer than {BYTES_MAX} bytes", .0.display())]
    TooLong(PathBuf),
    /// It is not one line of printable ASCII.
    #[error("secret file {} must hold one line of printable ASCII without spaces", .0.display())]
    NotText(PathBuf),
    /// The service manager provided no folder.
    #[error(
        "keys.credentials = true, but CREDENTIALS_DIRECTORY is not set: start through the service manager, or name files in [keys]"
    )]
    NoCredentials,
    /// The mode uses no keys.
    #[error("the configuration has no keys, because its mode does not trade")]
    NoKeys,
    /// An I/O error.
    #[error("secret file {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Reads both secrets of an account.
pub fn load(keys: &Keys) -> Result<Secrets, SecretError> {
    let (api_key, eddsa_key, is_credential) = match keys {
        Keys::Files { api_key, eddsa_key } => (api_key.clone(), eddsa_key.clone(), false),
        Keys::Signer { api_key, .. } => {
            let (file, is_credential) = match api_key {
                Some(file) => (file.clone(), false),
                None => (credentials()?.join("api_key"), true),
            };
            return Ok(Secrets {
                api_key: read(&file, is_credential)?,
                eddsa_key: None,
            });
        }
        Keys::Credentials => {
            let folder = credentials()?;
            (folder.join("api_key"), folder.join("eddsa_key"), true)
        }
        Keys::None => return Err(SecretError::NoKeys),
    };
    Ok(Secrets {
        api_key: read(&api_key, is_credential)?,
        eddsa_key: Some(read(&eddsa_key, is_credential)?),
    })
}

/// The folder of credentials. Only its name comes from the environment, as the service manager defines it.
pub fn credentials() -> Result<PathBuf, SecretError> {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_absolute());
    folder.ok_or(SecretError::NoCredentials)
}

/// Reads one secret. `credential` also allows mode 0440, which newer service managers use.
pub fn read(path: &Path, credential: bool) -> Result<Zeroizing<String>, SecretError> {
    let io = |source: Errno| SecretError::Io {
        path: path.to_owned(),
        source: source.into(),
    };
    // NONBLOCK: opening a pipe must not wait for a writer. All checks use this descriptor, so that the file cannot be
    // exchanged between check and use.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let descriptor = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT => SecretError::Missing(path.to_owned()),
        Errno::LOOP => SecretError::SymbolicLink(path.to_owned()),
        Errno::NXIO => SecretError::NotRegular(path.to_owned()),
        other => io(other),
    })?;
    let found = rustix::fs::fstat(&descriptor).map_err(io)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(SecretError::NotRegular(path.to_owned()));
    }
    let us = rustix::process::geteuid().as_raw();
    if found.st_uid != us && found.st_uid != 0 {
        return Err(SecretError::Owner {
            path: path.to_owned(),
            owner: found.st_uid,
            us,
        });
    }
    let mode = found.st_mode & 0o7777;
    if !(matches!(mode, 0o400 | 0o600) || (credential && mode == 0o440)) {
        return Err(SecretError::Mode {
            path: path.to_owned(),
            mode,
        });
    }
    if found.st_nlink > 1 {
        return Err(SecretError::HardLinks {
            path: path.to_owned(),
            #[allow(
                clippy::useless_conversion,
                reason = "the width differs between platforms"
            )]
            links: u64::from(found.st_nlink),
        });
    }
    content(File::from(descriptor), path)
}

fn content(mut file: File, path: &Path) -> Result<Zeroizing<String>, SecretError> {
    // A buffer of fixed size: reallocation would leave a copy.
    let mut buffer = Zeroizing::new([0_u8; BYTES_MAX + 1]);
    let mut length = 0;
    loop {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(SecretError::Io {
                    path: path.to_owned(),
                    source,
                });
            }
        }
    }
    if length > BYTES_MAX {
        return Err(SecretError::TooLong(path.to_owned()));
    }
    let text = &buffer[..length];
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.is_empty() {
        return Err(SecretError::Empty(path.to_owned()));
    }
    if !text.iter().all(u8::is_ascii_graphic) {
        return Err(SecretError::NotText(path.to_owned()));
    }
    let mut secret = Zeroizing::new(String::with_capacity(text.len()));
    secret.extend(text.iter().map(|byte| char::from(*byte)));
    Ok(secret)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use tempfile::TempDir;

    fn write(folder: &TempDir, name: &str, content: &[u8], mode: u32) -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn refusal(path: &Path) -> String {
        read(path, false).unwrap_err().to_string()
    }

    #[test]
    fn a_private_file_is_read_without_its_line_end() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("a", 0o400), ("b", 0o600)] {
            let path = write(&folder, name, b"hunter2\n", mode);
            assert_eq!(read(&path, false).unwrap().as_str(), "hunter2");
        }
        let path = write(&folder, "c", b"hunter2\r\n", 0o440);
        assert_eq!(read(&path, true).unwrap().as_str(), "hunter2");
        assert!(matches!(read(&path, false), Err(SecretError::Mode { .. })));
    }

    #[test]
    fn open_modes_name_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o644, 0o640, 0o604, 0o660, 0o700, 0o4600] {
            let path = write(&folder, "key", b"hunter2", mode);
            let text = refusal(&path);
            assert!(
                text.contains(&format!("chmod 600 {}", path.display())),
                "{text}"
            );
            assert!(
                text.contains(&format!("{mode:04o}")) && !text.contains("hunter2"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_pair_is_read_from_a_folder_and_each_file_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let pair = KeyFolder::Dir(folder.path().to_owned());
        write(&folder, "api_key", b"the-key\n", 0o600);
        assert!(matches!(pair.load(), Err(SecretError::Missing(_))));
        let secret = write(&folder, "secret", b"hunter2\n", 0o644);
        assert!(matches!(pair.load(), Err(SecretError::Mode { .. })));
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let read = pair.load().unwrap();
        assert_eq!(
            (read.api_key.as_str(), read.secret.as_str()),
            ("the-key", "hunter2")
        );
    }

    #[test]
    fn links_pipes_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "key", b"hunter2", 0o600);
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(
            read(&link, false),
            Err(SecretError::SymbolicLink(_))
        ));
        let link = folder.path().join("hard-link");
        fs::hard_link(&path, &link).unwrap();
        assert!(matches!(
            read(&path, false),
            Err(SecretError::HardLinks { links: 2, .. })
        ));
        assert!(matches!(
            read(folder.path(), false),
            Err(SecretError::NotRegular(_))
        ));
        let pipe = folder.path().join("pipe");
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
        assert!(matches!(
            read(&pipe, false),
            Err(SecretError::NotRegular(_))
        ));
        let none = folder.path().join("none");
        assert!(matches!(read(&none, false), Err(SecretError::Missing(_))));
    }

    #[test]
    fn invalid_content_is_refused_and_never_part_of_a_message() {
        let folder = tempfile::tempdir().unwrap();
        let empty = write(&folder, "empty", b"\n", 0o600);
        assert!(matches!(read(&empty, false), Err(SecretError::Empty(_))));
        let long = write(&folder, "long", &[b'x'; BYTES_MAX + 1], 0o600);
        assert!(matches!(read(&long, false), Err(SecretError::TooLong(_))));
        let most = write(&folder, "most", &[b'x'; BYTES_MAX], 0o600);
        assert_eq!(read(&most, false).unwrap().len(), BYTES_MAX);
        for bad in [
            &b"hunter2\nmore"[..],
            b"hunter2 ",
            b"h\xffnter2",
            b"hunter2\0",
        ] {
            let path = write(&folder, "bad", bad, 0o600);
            let text = refusal(&path);
            assert!(
                text.contains("printable") && !text.contains("unter2"),
                "{text}"
            );
        }
    }
}
