//! The socket: who may connect, how many, for how long; one thread for each connection.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cambist_core::Time;
use cambist_host::clock::Clock;

use crate::service::Service;
use crate::wire::{
    Answer, REQUEST_MAX, Refusal, Request, WireError, Word, read_frame, write_frame,
};

/// Most connections at a time.
pub const CONNECTIONS_MAX: usize = 16;
/// A connection without a request for this long is closed; its client opens another one.
const IDLE: Duration = Duration::from_mins(1);
/// Timeout of writing an answer to a caller that does not read.
const WRITE: Duration = Duration::from_secs(2);

/// The listener; the socket is removed on drop.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Creates the socket, which its owner and group may connect to. A socket that an earlier run left is replaced; one
    /// that answers is not.
    ///
    /// # Errors
    /// Another process listens there, or the path cannot be used.
    pub fn bind(path: &Path) -> io::Result<Self> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another process listens there",
            ));
        }
        match fs::symlink_metadata(path) {
            Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => {
                fs::remove_file(path)?;
            }
            Ok(_) => return Err(io::Error::other("there is something that is no socket")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o660))?;
        let path = path.to_owned();
        Ok(Self { listener, path })
    }

    /// Answers until the process ends.
    pub fn serve(&self, service: &Arc<Service>, users: &[u32]) -> ! {
        let open = Arc::new(AtomicUsize::new(0));
        let log = Arc::new(Log::new());
        loop {
            let Ok((stream, _)) = self.listener.accept() else {
                // Too many open files: connections end by themselves.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            let _ = stream.set_read_timeout(Some(IDLE));
            let _ = stream.set_write_timeout(Some(WRITE));
            if !is_allowed(&stream, users) {
                refuse(&stream, Word::Caller, "this user is not in signer.users");
                continue;
            }
            let place = Place(Arc::clone(&open));
            if place.0.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS_MAX {
                refuse(&stream, Word::Busy, "too many connections");
                continue;
            }
            let (service, log) = (Arc::clone(service), Arc::clone(&log));
            let spawned = std::thread::Builder::new()
                .name("connection".to_owned())
                .spawn(move || {
                    let _place = place;
                    converse(&stream, &service, &log);
                });
            drop(spawned);
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The next start would replace it too.
        let _ = fs::remove_file(&self.path);
    }
}

/// A connection that is counted.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the user at the other end is one of the file, root, or the signer's own.
fn is_allowed(stream: &UnixStream, users: &[u32]) -> bool {
    let us = rustix::process::geteuid().as_raw();
    peer(stream).is_some_and(|uid| uid == 0 || uid == us || users.contains(&uid))
}

/// The user at the other end, as the kernel has it.
#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.uid.as_raw())
}

#[cfg(not(target_os = "linux"))]
fn peer(_stream: &UnixStream) -> Option<u32> {
    None
}

fn refuse(stream: &UnixStream, word: Word, text: &str) {
    let text = text.to_owned();
    let answer = Answer::Refused(Refusal { word, text });
    // The caller may be gone.
    let _ = write_frame(&mut &*stream, &answer.encode());
}

/// Answers requests until the caller leaves, is silent for too long, or sends what is no frame.
fn converse(stream: &UnixStream, service: &Service, log: &Log) {
    let mut reader = BufReader::with_capacity(2 * REQUEST_MAX, stream);
    loop {
        let request =
            read_frame(&mut reader, REQUEST_MAX).and_then(|frame| Request::decode(&frame));
        let answer = match request {
            Ok(request) => service.answer(&request),
            // The frame was read to its end.
            Err(error @ WireError::Kind(_)) => Answer::Refused(Refusal {
                word: Word::Kind,
                text: error.to_string(),
            }),
            Err(WireError::Closed | WireError::Io(_)) => return,
            Err(error @ (WireError::TooLong(_) | WireError::Malformed(_))) => {
                return refuse(stream, Word::Frame, &error.to_string());
            }
        };
        if let Answer::Refused(refusal) = &answer {
            log.refused(refusal);
        }
        if write_frame(&mut &*stream, &answer.encode()).is_err() {
            return;
        }
    }
}

/// Refusals on stderr, at most one for each word in ten seconds: a caller must not fill a disk.
struct Log {
    clock: Clock,
    last: Mutex<BTreeMap<Word, (Time, u64)>>,
}

impl Log {
    const PAUSE_US: u64 = 10_000_000;

    fn new() -> Self {
        Self {
            clock: Clock::new(),
            last: Mutex::default(),
        }
    }

    fn refused(&self, refusal: &Refusal) {
        let now = self.clock.now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = last.get(&refusal.word).copied();
        if let Some((at, left_out)) = entry
            && now.micros_since(at) < Self::PAUSE_US
        {
            last.insert(refusal.word, (at, left_out + 1));
            return;
        }
        last.insert(refusal.word, (now, 0));
        let more = match entry {
            Some((_, left_out @ 1..)) => format!(" ({left_out} like it were left out)"),
            Some(_) | None => String::new(),
        };
        eprintln!("refused: {refusal}{more}");
    }
}
