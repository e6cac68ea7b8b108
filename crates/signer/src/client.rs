//! The daemon's side: a [`RequestSigner`] that asks a signer. One connection, opened when it is needed and again after it
//! broke.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cambist_signing::eip712::Domain;
use cambist_signing::{
    CancelRequest, OrderMessage, PoolExitMessage, PoolJoinMessage, PublicKey, RequestSigner,
    Signature, SignerError,
};

use crate::wire::{
    ANSWER_MAX, Answer, Identity, Request, WireError, Word, read_frame, write_frame,
};

/// Longest wait for an answer; a signer that has to sync a record takes some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A signer behind a socket.
#[derive(Debug)]
pub struct RemoteSigner {
    path: PathBuf,
    connection: Mutex<Option<BufReader<UnixStream>>>,
}

impl RemoteSigner {
    /// A signer; nothing is opened yet.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            connection: Mutex::new(None),
        }
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The account that the signer signs for.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn identity(&self) -> Result<Identity, SignerError> {
        match self.ask(&Request::Identity)? {
            Answer::Identity(identity) => Ok(identity),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Limits and usage, as JSON.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn limits(&self) -> Result<String, SignerError> {
        match self.ask(&Request::Limits)? {
            Answer::Limits(json) => Ok(json),
            other => Err(self.unexpected(&other)),
        }
    }

    fn signature(&self, request: &Request) -> Result<Signature, SignerError> {
        match self.ask(request)? {
            Answer::Signature(signature) => Ok(signature),
            other => Err(self.unexpected(&other)),
        }
    }

    fn unavailable(&self, what: &str) -> SignerError {
        SignerError::Unavailable(format!("{}: {what}", self.path.display()))
    }

    fn unexpected(&self, answer: &Answer) -> SignerError {
        match answer {
            Answer::Refused(refusal) if refusal.word == Word::Busy => {
                self.unavailable(&refusal.to_string())
            }
            Answer::Refused(refusal) => SignerError::Refused(refusal.to_string()),
            Answer::Identity(_) | Answer::Limits(_) | Answer::Signature(_) => {
                self.unavailable("it answers something else than was asked")
            }
        }
    }

    /// Asks, on a new connection if the open one has ended: the same request signed twice is the same signature and
    /// counts once.
    fn ask(&self, request: &Request) -> Result<Answer, SignerError> {
        let frame = request.encode();
        let mut open = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(mut connection) = open.take()
            && let Ok(answer) = exchange(&mut connection, &frame)
        {
            *open = Some(connection);
            return Ok(answer);
        }
        let connect = || -> io::Result<_> {
            let stream = UnixStream::connect(&self.path)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            Ok(BufReader::new(stream))
        };
        let connected = connect();
        let mut connection = connected.map_err(|error| self.unavailable(&error.to_string()))?;
        let answer = exchange(&mut connection, &frame)
            .map_err(|error| self.unavailable(&error.to_string()))?;
        *open = Some(connection);
        Ok(answer)
    }
}

fn exchange(connection: &mut BufReader<UnixStream>, frame: &[u8]) -> Result<Answer, WireError> {
    // A refusal before the request (a user, too many connections) can be there when the write fails.
    let written = write_frame(connection.get_mut(), frame);
    let answer = read_frame(connection, ANSWER_MAX);
    if matches!(answer, Err(WireError::Closed)) {
        written?;
    }
    Answer::decode(&answer?)
}

impl RequestSigner for RemoteSigner {
    fn public(&self) -> Result<PublicKey, SignerError> {
        Ok(self.identity()?.public_key)
    }

    fn order(&self, message: &OrderMessage) -> Result<Signature, SignerError> {
        self.signature(&Request::Order(*message))
    }

    fn join(&self, pool: &Domain, message: &PoolJoinMessage) -> Result<Signature, SignerError> {
        self.signature(&Request::Join(pool.verifying_contract, message.clone()))
    }

    fn exit(&self, pool: &Domain, message: &PoolExitMessage) -> Result<Signature, SignerError> {
        self.signature(&Request::Exit(pool.verifying_contract, message.clone()))
    }

    fn cancel(&self, request: &CancelRequest) -> Result<Signature, SignerError> {
        self.signature(&Request::Cancel(request.clone()))
    }

    fn header(&self, _canonical: &str) -> Result<Signature, SignerError> {
        Err(SignerError::Refused(
            "cambist-signer signs orders, joins, exits and cancels only; this request needs the key file".to_owned(),
        ))
    }

    fn blocks(&self) -> bool {
        true
    }
}
