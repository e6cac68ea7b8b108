//! The control socket: a Unix socket in the state folder, accessible to the same user and root only. A request is one
//! line of JSON, and so is its answer. The client side is in `control_client`.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cambist_host::folder::PrivateFolder;
use rustix::process::getuid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::sync::{RwLock, Semaphore, mpsc, oneshot, watch};

use crate::live::control_requests::RequestJson;
use crate::live::exit_report;
use crate::live::operator_commands::Request;
use crate::live::pending_replies::{done, ending, refused};
use cambist_store::StoreError;

/// Name of the socket in the state folder.
pub(super) const NAME: &str = "socket";
/// Most bytes of a request.
const LINE_MAX: u64 = 0x4000;
/// Most bytes of an answer.
pub(super) const ANSWER_MAX: u64 = 1 << 20;
/// Most connections at a time.
const CALLERS_MAX: usize = 8;
/// Timeout of receiving a request.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for the last answers when the daemon ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of an answer, including the time until it is durable.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlSocketError {
    /// The folder is not private.
    #[error("{0}")]
    Folder(#[from] StoreError),
    /// The socket failed.
    #[error("control socket: {0}")]
    Io(#[from] io::Error),
}

/// The listener; the socket is removed on drop.
pub struct ControlSocket {
    listener: UnixListener,
    file: PathBuf,
    callers: Connections,
    end: watch::Receiver<Option<Value>>,
}

/// Connections that are being answered.
#[derive(Clone, Default)]
pub struct Connections(Arc<RwLock<()>>);

impl Connections {
    /// Completes when all are answered, after a second at most, so that decisions are reported before the program ends.
    pub async fn answered(&self) {
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.0.write()).await;
    }
}

impl ControlSocket {
    /// Creates the socket in a locked state folder; a socket left by an earlier run is replaced.
    pub fn open(dir: &Path) -> Result<Self, ControlSocketError> {
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
        Ok(Self {
            listener,
            file,
            callers: Connections::default(),
            end: watch::channel(None).1,
        })
    }

    /// Takes the reply to those who wait for the end and ask when nothing is accepted any more: the process, and with
    /// it the socket, outlives a part of a portfolio. Dropped without one, there is none.
    pub fn end(&mut self) -> watch::Sender<Option<Value>> {
        let (sender, end) = watch::channel(None);
        self.end = end;
        sender
    }

    /// Connections that are being answered.
    pub fn callers(&self) -> Connections {
        self.callers.clone()
    }

    /// Passes requests on until the program ends.
    pub async fn serve(self, requests: mpsc::Sender<Request>) {
        let room = Arc::new(Semaphore::new(CALLERS_MAX));
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((mut caller, _)) = self.listener.accept().await else {
                tokio::time::sleep(REQUEST_TIMEOUT / 50).await;
                continue;
            };
            let (requests, callers) = (requests.clone(), Arc::clone(&self.callers.0));
            let end = self.end.clone();
            tokio::spawn(async move {
                let _place = place;
                let _answering = callers.read().await;
                let uid = caller.peer_cred().map(|peer| peer.uid());
                let answer = match operator(uid, getuid().as_raw()) {
                    Some(operator) => answer_request(&mut caller, &requests, end, operator).await,
                    None => refused("another user"),
                };
                let line = format!("{answer}\n");
                let write = caller.write_all(line.as_bytes());
                // The client may have disconnected.
                let _ = tokio::time::timeout(REQUEST_TIMEOUT, write).await;
            });
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // The next start would remove it too.
        let _ = fs::remove_file(&self.file);
    }
}

/// The user at the other end, for the record, if it is this one or root.
fn operator(uid: io::Result<u32>, own: u32) -> Option<String> {
    let uid = uid.ok()?;
    (uid == 0 || uid == own).then(|| user(uid))
}

/// A user for the record: the name, if the system has one, and the number.
fn user(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of_uid = |line: &&str| line.split(':').nth(2).and_then(|id| id.parse().ok()) == Some(uid);
    let name = users
        .lines()
        .find(of_uid)
        .and_then(|line| line.split(':').next());
    name.map_or_else(
        || format!("uid {uid}"),
        |name| format!("{name} (uid {uid})"),
    )
}

/// Reads a request, passes it on, and returns the answer.
async fn answer_request(
    caller: &mut tokio::net::UnixStream,
    requests: &mpsc::Sender<Request>,
    end: watch::Receiver<Option<Value>>,
    operator: String,
) -> Value {
    let mut line = String::new();
    let mut reader = BufReader::new(caller.take(LINE_MAX));
    match tokio::time::timeout(REQUEST_TIMEOUT, reader.read_line(&mut line)).await {
        Ok(Ok(1..)) if line.ends_with('\n') => {}
        Ok(_) | Err(_) => return refused("no complete line was received"),
    }
    let json = match serde_json::from_str::<RequestJson>(&line) {
        Ok(json) => json,
        Err(error) => return refused(&error.to_string()),
    };
    let waits_for_the_end = json.waits_for_the_end();
    let is_drain = matches!(json, RequestJson::Drain { .. });
    let is_status = json == RequestJson::Status;
    let (answer, answered) = oneshot::channel();
    if requests
        .send(Request {
            json,
            answer,
            operator,
        })
        .await
        .is_err()
    {
        if waits_for_the_end {
            return end_of(end, "the daemon is ending").await;
        }
        if is_status && let Some(reply) = end.borrow().as_ref() {
            return exit_report::status_of_end(reply);
        }
        // What it asks for is being done, or was.
        return if is_drain {
            done("the daemon is ending", None)
        } else {
            ending("the daemon is ending")
        };
    }
    // The end has a deadline of its own.
    let answered = if waits_for_the_end {
        Ok(answered.await)
    } else {
        tokio::time::timeout(ANSWER_TIMEOUT, answered).await
    };
    match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) if waits_for_the_end => {
            end_of(end, "the daemon ended before it could answer").await
        }
        Ok(Err(_)) => ending("the daemon ended before it could answer"),
        Err(_) => refused("the daemon did not answer in time; it may still execute the request"),
    }
}

/// The result of a run that accepts nothing any more; `otherwise` of one that failed.
async fn end_of(mut end: watch::Receiver<Option<Value>>, otherwise: &str) -> Value {
    let reply = end.wait_for(Option::is_some).await.ok();
    let reply = reply.and_then(|reply| reply.clone());
    reply.unwrap_or_else(|| ending(otherwise))
}

#[cfg(test)]
#[path = "control_socket_tests.rs"]
mod time_tests;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::live::control_client::ask;

    #[tokio::test]
    async fn a_line_asks_and_a_line_answers_also_in_a_folder_with_a_long_name() {
        let folder = crate::testing::private_folder();
        let dir = folder.path().join("x".repeat(150));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
        let send = |request: RequestJson| {
            let dir = dir.clone();
            tokio::task::spawn_blocking(move || ask(&dir, &request).unwrap())
        };
        assert_eq!(
            send(RequestJson::Status).await.unwrap(),
            None,
            "no daemon runs"
        );
        // Left by a killed run.
        fs::write(dir.join(NAME), "").unwrap();
        let socket = ControlSocket::open(&dir).unwrap();
        let mode = fs::metadata(dir.join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (sender, mut requests) = mpsc::channel(1);
        let serving = tokio::spawn(socket.serve(sender));
        let answer = send(RequestJson::Status);
        let request = requests.recv().await.unwrap();
        assert_eq!(request.json, RequestJson::Status);
        request.answer.send(Value::from(7)).unwrap();
        assert_eq!(answer.await.unwrap(), Some(Value::from(7)));
        // Dropped without an answer: the daemon has ended.
        let answer = send(RequestJson::Status);
        drop(requests.recv().await.unwrap());
        assert_eq!(answer.await.unwrap().unwrap()["done"], false);
        serving.abort();
        assert!(serving.await.is_err());
        assert_eq!(send(RequestJson::Status).await.unwrap(), None);
    }

    #[tokio::test]
    async fn invalid_requests_are_refused() {
        let folder = crate::testing::private_folder();
        let socket = ControlSocket::open(folder.path()).unwrap();
        let (sender, mut requests) = mpsc::channel(1);
        let serving = tokio::spawn(socket.serve(sender));
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
        assert!(requests.try_recv().is_err());
        serving.abort();
    }

    /// The process of a portfolio, and its sockets, outlive the part of a venue.
    #[tokio::test]
    async fn a_second_drain_gets_the_result_of_a_part_that_has_ended() {
        let folder = crate::testing::private_folder();
        let send = |request: RequestJson| {
            let dir = folder.path().to_owned();
            tokio::task::spawn_blocking(move || ask(&dir, &request).unwrap().unwrap())
        };
        let mut socket = ControlSocket::open(folder.path()).unwrap();
        let end = socket.end();
        let (sender, requests) = mpsc::channel(1);
        let serving = tokio::spawn(socket.serve(sender));
        drop(requests);
        let waiting = send(RequestJson::Drain { wait: true });
        let drained = send(RequestJson::Drain { wait: false }).await.unwrap();
        assert_eq!(drained["done"], true, "{drained}");
        let status = send(RequestJson::Status).await.unwrap();
        assert_eq!(
            (&status["done"], &status["ending"]),
            (&false.into(), &true.into())
        );
        let proven = done("proven: none of our orders rests", None);
        end.send_replace(Some(proven.clone()));
        assert_eq!(waiting.await.unwrap(), proven);
        let later = send(RequestJson::Drain { wait: true }).await.unwrap();
        assert_eq!(later, proven, "as often as it is asked");
        let status = send(RequestJson::Status).await.unwrap();
        assert_eq!(status, exit_report::status_of_end(&proven));
        serving.abort();
        drop(serving.await);

        // A part that failed has no result.
        let mut socket = ControlSocket::open(folder.path()).unwrap();
        let end = socket.end();
        let (sender, requests) = mpsc::channel(1);
        let serving = tokio::spawn(socket.serve(sender));
        drop((requests, end));
        let refused = send(RequestJson::Drain { wait: true }).await.unwrap();
        assert_eq!(refused["error"], "the daemon is ending", "{refused}");
        serving.abort();
    }
}
