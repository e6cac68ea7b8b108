//! Client of a daemon's control socket. Distinguishes within seconds: an answer, no daemon, and a daemon that does not
//! answer. A frozen daemon, or one without free file descriptors, accepts connections and answers none.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use cambist_host::folder::{FolderError, PrivateFolder};
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde_json::Value;

use crate::live::control_requests::RequestJson;
use crate::live::control_socket::{ANSWER_MAX, ANSWER_TIMEOUT, NAME, REQUEST_TIMEOUT};
use cambist_store::StoreError;

/// Timeout of an answer; a daemon that takes longer is treated as frozen.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the end of a daemon is waited for.
#[derive(Clone, Copy)]
struct Waiting {
    /// Interval of asking for its status.
    poll: Duration,
    /// Timeout of an answer.
    silence: Duration,
    /// Statuses in a row without an answer after which waiting ends.
    silent_max: u32,
}

const WAITING: Waiting = Waiting {
    poll: Duration::from_secs(1),
    silence: SILENCE_TIMEOUT,
    silent_max: 10,
};

/// Why a request to a daemon failed.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The folder is not private.
    #[error("{0}")]
    Folder(#[from] StoreError),
    /// The daemon does not answer.
    #[error(
        "the daemon{} does not answer within {} s: it is frozen, overloaded, or out of file descriptors", of_process(*process), within.as_secs()
    )]
    Silent {
        /// Process id of the daemon, if known.
        process: Option<i32>,
        /// The timeout.
        within: Duration,
    },
    /// The daemon ended without an answer.
    #[error("the daemon ended without an answer: it was killed or failed; see its log")]
    Gone,
    /// The socket failed.
    #[error("the control socket of the daemon failed: {0}")]
    Io(#[from] io::Error),
}

fn of_process(process: Option<i32>) -> String {
    process.map_or_else(String::new, |id| format!(" (process {id})"))
}

/// Sends a request to the daemon of a state folder; `None` if none runs. Once the daemon has shown that it answers,
/// requests that must become durable get more time.
pub fn ask(dir: &Path, json: &RequestJson) -> Result<Option<Value>, AskError> {
    let (status_first, within) = timeout_of(json);
    if status_first && ask_within(dir, &RequestJson::Status, SILENCE_TIMEOUT)?.is_none() {
        return Ok(None);
    }
    ask_within(dir, json, within)
}

/// Whether the daemon has to show first that it answers, and the timeout of the answer.
fn timeout_of(json: &RequestJson) -> (bool, Duration) {
    match json {
        RequestJson::Status | RequestJson::Kill { .. } => (false, SILENCE_TIMEOUT),
        RequestJson::Pause { .. }
        | RequestJson::Unpause { .. }
        | RequestJson::Lower { .. }
        | RequestJson::Drain { .. }
        | RequestJson::Leave { .. }
        | RequestJson::Reload { .. }
        | RequestJson::Set { .. }
        | RequestJson::Adopt { .. }
        | RequestJson::TakeSlot { .. }
        | RequestJson::Expect { .. }
        | RequestJson::ExpectNoMore { .. }
        | RequestJson::AdoptOrders { .. } => (true, ANSWER_TIMEOUT + REQUEST_TIMEOUT),
    }
}

/// As `ask`, for requests that are answered at the end of the run: `on_status` is called about every second with the
/// daemon's status, or the reason why there is none.
pub fn ask_and_wait(
    dir: &Path,
    json: &RequestJson,
    on_status: impl FnMut(Result<&Value, &AskError>),
) -> Result<Option<Value>, AskError> {
    wait_for_end(dir, json, WAITING, on_status)
}

fn wait_for_end(
    dir: &Path,
    json: &RequestJson,
    waiting: Waiting,
    mut on_status: impl FnMut(Result<&Value, &AskError>),
) -> Result<Option<Value>, AskError> {
    let status = || ask_within(dir, &RequestJson::Status, waiting.silence);
    let (Some(folder), Some(_)) = (existing_folder(dir)?, status()?) else {
        return Ok(None);
    };
    let sent = send(&folder, json, waiting.silence);
    let Some((mut stream, _)) = unless_absent(sent, None, waiting.silence)? else {
        return Ok(None);
    };
    set_socket_timeout(&stream, Timeout::Recv, Some(waiting.poll)).map_err(io::Error::from)?;
    let mut answer = Vec::new();
    let mut part = [0; 0x1000];
    let mut silent = 0;
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match status() {
                    Ok(Some(page)) => {
                        silent = 0;
                        on_status(Ok(&page));
                    }
                    // Its end will be visible on the other connection.
                    Ok(None) => {}
                    Err(error) => {
                        silent += 1;
                        if silent > waiting.silent_max {
                            return Err(error);
                        }
                        on_status(Err(&error));
                    }
                }
            }
            Err(error) if is_reset(&error) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if answer.is_empty() {
        return Err(AskError::Gone);
    }
    let answer = serde_json::from_slice(&answer).map_err(io::Error::from)?;
    Ok(Some(answer))
}

fn ask_within(dir: &Path, json: &RequestJson, within: Duration) -> Result<Option<Value>, AskError> {
    let Some(folder) = existing_folder(dir)? else {
        return Ok(None);
    };
    let Some((stream, process)) = unless_absent(send(&folder, json, within), None, within)? else {
        return Ok(None);
    };
    let mut answer = String::new();
    let read = stream.take(ANSWER_MAX).read_to_string(&mut answer);
    if answer.is_empty() && read.as_ref().map_or_else(is_reset, |_| true) {
        return Err(AskError::Gone);
    }
    let read = read.and_then(|_| Ok(serde_json::from_str(&answer)?));
    unless_absent(read, process, within)
}

/// Whether the daemon ended before it had read the request.
fn is_reset(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionReset
}

/// The folder, if it exists.
fn existing_folder(dir: &Path) -> Result<Option<PrivateFolder>, AskError> {
    match PrivateFolder::visit(dir) {
        Err(FolderError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        found => Ok(Some(found.map_err(StoreError::Folder)?)),
    }
}

/// Sends a request; also returns the process that has the socket.
fn send(
    folder: &PrivateFolder,
    json: &RequestJson,
    within: Duration,
) -> io::Result<(UnixStream, Option<i32>)> {
    let mut stream = connected(&folder.short_name(NAME), within)?;
    let peer = socket_peercred(&stream).ok();
    let line = serde_json::to_string(json)? + "\n";
    stream.write_all(line.as_bytes())?;
    Ok((stream, peer.map(|peer| peer.pid.as_raw_pid())))
}

/// The answer; `None` if no daemon runs.
fn unless_absent<T>(
    result: io::Result<T>,
    process: Option<i32>,
    within: Duration,
) -> Result<Option<T>, AskError> {
    match result {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Err(AskError::Silent { process, within })
            }
            // It ended after the connection was made and before the request was written.
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Err(AskError::Gone),
            _ => Err(error.into()),
        },
    }
}

/// A connection with the timeout `within` for every step, connecting included.
fn connected(path: &Path, within: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_socket_timeout(&socket, Timeout::Send, Some(within))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(within))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

#[cfg(test)]
#[path = "control_client_tests.rs"]
mod end_tests;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::os::unix::net::UnixListener;

    use rustix::net::{bind, listen};

    use super::*;
    use crate::live::control_requests::ScopeJson;

    /// A listener with a backlog of two.
    fn listener(path: &Path) -> UnixListener {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        listen(&socket, 1).unwrap();
        UnixListener::from(socket)
    }

    /// What must become durable may take long: that the daemon answers at all is asked before, and found out soon.
    #[test]
    fn a_request_that_may_take_long_follows_a_status() {
        use std::io::{BufRead as _, BufReader, Write as _};
        let folder = crate::testing::private_folder();
        let listener = listener(&folder.path().join(NAME));
        let asked = std::thread::spawn(move || {
            [(); 2].map(|()| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                stream.write_all(b"{\"done\":true}\n").unwrap();
                line.contains("status")
            })
        });
        let request = RequestJson::Pause {
            part: ScopeJson::default(),
            reason: "test".to_owned(),
        };
        let answer = ask(folder.path(), &request);
        assert_eq!(answer.unwrap().unwrap()["done"], true);
        assert_eq!(asked.join().unwrap(), [true, false]);
    }

    #[test]
    fn a_process_that_accepts_connections_and_answers_none_is_reported_with_its_id() {
        let folder = crate::testing::private_folder();
        let socket = folder.path().join(NAME);
        let listener = listener(&socket);
        let within = Duration::from_millis(50);
        let error = ask_within(folder.path(), &RequestJson::Status, within).unwrap_err();
        let AskError::Silent { process, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*process, i32::try_from(std::process::id()).ok());
        assert!(error.to_string().contains("frozen"), "{error}");
        // With a full backlog connecting times out as well.
        let mut waiting = Vec::new();
        while let Ok(stream) = connected(&socket, within) {
            waiting.push(stream);
        }
        let error = ask_within(folder.path(), &RequestJson::Status, within).unwrap_err();
        assert!(
            matches!(error, AskError::Silent { process: None, .. }),
            "{error}"
        );
        drop(listener);
        assert_eq!(
            ask_within(folder.path(), &RequestJson::Status, within).unwrap(),
            None
        );
    }
}
