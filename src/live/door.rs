//! The operator's door of a daemon: a Unix socket in the state folder, for the same user and root only.
//! One line of JSON asks, one line answers. Also the other side of it, for the commands.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cambist_host::folder::{FolderError, PrivateFolder};
use rustix::process::getuid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::answers::refused;
use super::people::Wish;
use super::wishes::{Names, Written};
use crate::store::StoreError;

/// Name of the socket in the state folder.
const NAME: &str = "socket";
/// Longest wish.
const LINE_MAX: u64 = 0x4000;
/// Longest answer.
const ANSWER_MAX: u64 = 1 << 20;
/// Callers at a time.
const CALLERS_MAX: usize = 8;
/// A caller has this long to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);
/// And waits this long for the answer: until it is durable.
const ANSWER: Duration = Duration::from_secs(20);

/// Why a daemon could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The folder is not ours alone.
    #[error("{0}")]
    Folder(#[from] StoreError),
    /// The socket failed.
    #[error("asking the daemon: {0}")]
    Io(#[from] io::Error),
}

/// The listener. The socket goes with it.
pub struct Door {
    listener: UnixListener,
    file: PathBuf,
}

impl Door {
    /// Opens the door of a state folder that this process has locked: what is left there of an earlier
    /// life is nobody's.
    pub fn open(dir: &Path) -> Result<Self, AskError> {
        let file = dir.join(NAME);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(
            PrivateFolder::open(dir)
                .map_err(StoreError::Folder)?
                .short_name(NAME),
        )?;
        fs::set_permissions(&file, Permissions::from_mode(0o600))?;
        Ok(Self { listener, file })
    }

    /// Hands wishes on until the program ends.
    pub async fn serve(self, names: Names, wishes: mpsc::Sender<Wish>) {
        let names = Arc::new(names);
        let room = Arc::new(Semaphore::new(CALLERS_MAX));
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((mut caller, _)) = self.listener.accept().await else {
                tokio::time::sleep(PATIENCE / 50).await;
                continue;
            };
            let (names, wishes) = (Arc::clone(&names), wishes.clone());
            tokio::spawn(async move {
                let _place = place;
                let uid = caller.peer_cred().map(|peer| peer.uid());
                let answer = match uid {
                    Ok(uid) if uid == 0 || uid == getuid().as_raw() => {
                        heard(&mut caller, &names, &wishes).await
                    }
                    Ok(_) | Err(_) => refused("another user"),
                };
                let line = format!("{answer}\n");
                let told = caller.write_all(line.as_bytes());
                // A caller that is gone does not need it.
                let _ = tokio::time::timeout(PATIENCE, told).await;
            });
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // The next start takes it away too.
        let _ = fs::remove_file(&self.file);
    }
}

/// Reads a wish, has it obeyed, and gives back the answer.
async fn heard(
    caller: &mut tokio::net::UnixStream,
    names: &Names,
    wishes: &mpsc::Sender<Wish>,
) -> Value {
    let mut line = String::new();
    let mut reader = BufReader::new(caller.take(LINE_MAX));
    match tokio::time::timeout(PATIENCE, reader.read_line(&mut line)).await {
        Ok(Ok(1..)) if line.ends_with('\n') => {}
        Ok(_) | Err(_) => return refused("no whole line came"),
    }
    let written = serde_json::from_str::<Written>(&line).map_err(|error| error.to_string());
    let what = match written.and_then(|written| names.meaning(written)) {
        Ok(what) => what,
        Err(why) => return refused(&why),
    };
    let (answer, answered) = oneshot::channel();
    let wish = Wish {
        what,
        answer: Some(answer),
    };
    if wishes.send(wish).await.is_err() {
        return refused("the daemon is ending");
    }
    match tokio::time::timeout(ANSWER, answered).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => refused("the daemon ended before it could answer"),
        Err(_) => refused("the daemon did not answer in time; it may still do it"),
    }
}

/// Asks the daemon of a state folder; nothing if none listens there.
pub fn ask(dir: &Path, wish: &Written) -> Result<Option<Value>, AskError> {
    let folder = match PrivateFolder::visit(dir) {
        Err(FolderError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        found => found.map_err(StoreError::Folder)?,
    };
    let mut stream = match UnixStream::connect(folder.short_name(NAME)) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    stream.set_read_timeout(Some(ANSWER + PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(
        format!(
            "{}\n",
            serde_json::to_string(wish).map_err(io::Error::from)?
        )
        .as_bytes(),
    )?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    let answer = serde_json::from_str(&answer).map_err(io::Error::from)?;
    Ok(Some(answer))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::config::Daemon;
    use crate::live::people::What;
    use crate::testing::Folder;

    fn names() -> Names {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/demo.toml");
        let bound = Daemon::load(Path::new(path)).unwrap().bind_expected();
        Names::of(&bound.unwrap().unwrap())
    }

    #[tokio::test]
    async fn a_line_asks_and_a_line_answers_also_in_a_folder_with_a_long_name() {
        let folder = Folder::new("door");
        let dir = folder.path().join("x".repeat(150));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
        let asked = |wish: Written| {
            let dir = dir.clone();
            tokio::task::spawn_blocking(move || ask(&dir, &wish).unwrap())
        };
        assert_eq!(
            asked(Written::Drain).await.unwrap(),
            None,
            "nobody is there"
        );
        // Left by a life that was killed.
        fs::write(dir.join(NAME), "").unwrap();
        let door = Door::open(&dir).unwrap();
        let mode = fs::metadata(dir.join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (sender, mut wishes) = mpsc::channel(1);
        let serving = tokio::spawn(door.serve(names(), sender));
        let answer = asked(Written::Status);
        let wish = wishes.recv().await.unwrap();
        assert!(matches!(wish.what, What::Status));
        wish.answer.unwrap().send(Value::from(7)).unwrap();
        assert_eq!(answer.await.unwrap(), Some(Value::from(7)));
        let wrong = Written::Adopt {
            token: "DAI".to_owned(),
            amount: "1".to_owned(),
            reason: "x".to_owned(),
        };
        assert_eq!(asked(wrong).await.unwrap().unwrap()["done"], false);
        // Dropped without an answer: the daemon has ended.
        let answer = asked(Written::Drain);
        drop(wishes.recv().await.unwrap());
        assert_eq!(answer.await.unwrap().unwrap()["done"], false);
        serving.abort();
        assert!(serving.await.is_err());
        assert_eq!(asked(Written::Drain).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_is_no_wish_is_refused() {
        let folder = Folder::new("door-hostile");
        let door = Door::open(folder.path()).unwrap();
        let (sender, mut wishes) = mpsc::channel(1);
        let serving = tokio::spawn(door.serve(names(), sender));
        for bytes in [
            &b"\n"[..],
            b"{}\n",
            b"[[[[\n",
            b"\xff\xfe\n",
            &vec![b' '; 0x5000],
        ] {
            let path = folder.path().join(NAME);
            let mut caller = tokio::net::UnixStream::connect(path).await.unwrap();
            // Refused while it is still being sent.
            let _ = caller.write_all(bytes).await;
            let _ = caller.shutdown().await;
            let mut answer = String::new();
            if caller.read_to_string(&mut answer).await.is_ok() {
                assert!(answer.contains("\"done\":false"), "{answer}");
            }
        }
        assert!(wishes.try_recv().is_err());
        serving.abort();
    }
}
