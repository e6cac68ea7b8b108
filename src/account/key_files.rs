//! Replaces secrets in their files: written beside, synced, then renamed, so that a file is always one whole secret.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_daemon::config::Daemon;
use cambist_host::secrets::Keys;

use crate::exit::{Exit, Failure};

/// The files with the API key and the signing key, which must be files that this program may replace.
pub fn of(daemon: &Daemon) -> anyhow::Result<[&Path; 2]> {
    match &daemon.keys {
        Keys::Files { api_key, eddsa_key } => Ok([api_key, eddsa_key]),
        Keys::Signer { .. } => {
            let what = "a signer holds the signing key and signs no request about keys; run the command with a configuration whose keys.eddsa_key_file names the key (docs/signer.md)";
            Err(Failure::new(Exit::Refused, what).into())
        }
        Keys::Credentials | Keys::None => {
            let what = "the keys are not files of this configuration; run the command with a configuration whose [keys] name files, and install the new ones as credentials afterwards";
            Err(Failure::new(Exit::Refused, what).into())
        }
    }
}

/// The name under which a secret waits for its turn.
pub fn next(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Writes a secret in place of another one.
pub fn replace(file: &Path, secret: &str) -> anyhow::Result<()> {
    let new = next(file);
    let write = || -> io::Result<()> {
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut options = OpenOptions::new();
        let mut made = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        made.write_all(secret.as_bytes())?;
        made.write_all(b"\n")?;
        made.sync_all()
    };
    write().with_context(|| format!("key file {}", new.display()))?;
    promote(file)
}

/// Makes the waiting secret the current one.
pub fn promote(file: &Path) -> anyhow::Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let rename = || -> io::Result<()> {
        fs::rename(next(file), file)?;
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    };
    rename().with_context(|| format!("key file {}", file.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_replaced_as_a_whole_and_stays_private() {
        let folder = crate::testing::private_folder();
        let file = folder.path().join("api_key");
        fs::write(&file, "old\n").unwrap();
        // Left by a killed command.
        fs::write(next(&file), "half").unwrap();
        replace(&file, "fresh").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "fresh\n");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(!next(&file).exists());
    }
}
