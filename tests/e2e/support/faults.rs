//! What can become of one request, and how the proxy does it.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::message::Message;
use super::proxy::{Seen, State, WAIT_MAX};

/// Called by the proxy at a stage of a request, which is held meanwhile.
pub type Hook = Arc<dyn Fn() + Send + Sync>;

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The request continues.
    Kept,
    /// The request ends normally.
    Closed,
    /// It is reset; what was sent may be lost.
    Reset,
    /// Silence.
    Held,
}

/// Which other answer is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// The first answer to this method and path: old, or about another order.
    First,
    /// The last answer to another path.
    Elses,
}

/// What becomes of a request.
#[derive(Clone)]
pub enum Fault {
    /// Nothing bad.
    Pass,
    /// As `Pass`, and the hook is called when the request has arrived, before it is handed over.
    OnArrival(Hook),
    /// As `Pass`, and the hook is called when the exchange has answered, before the answer is passed on.
    OnAnswer(Hook),
    /// Never handed over; the connection is closed.
    LoseRequest,
    /// Never handed over; the connection is reset.
    Reset,
    /// Never handed over; silence.
    HoldRequest,
    /// Handed over; the connection is closed instead of an answer.
    LoseAnswer,
    /// Handed over; silence instead of an answer.
    HoldAnswer,
    /// Closed at once, and handed over only after this.
    Late(Duration),
    /// Handed over, and the answer passed on after this.
    Slow(Duration),
    /// Handed over twice; the second answer is passed on.
    Twice,
    /// Handed over twice; the first answer is passed on.
    TwiceFirst,
    /// Handed over; half of the answer's body, then the end of the connection.
    Truncate,
    /// Handed over; one byte of the answer at a time.
    Drip,
    /// Handed over; the answer's body is changed.
    Mangle(fn(&str) -> String),
    /// Handed over; the answer is changed.
    Edit(fn(&mut Message)),
    /// Handed over; the bytes of the answer are changed, and the connection ends like this.
    Bytes(fn(Vec<u8>) -> Vec<u8>, After),
    /// Delivered; another answer is passed on, if there is one already.
    Another(Other),
    /// Handed over or not; these bytes are the answer.
    Instead { handed_over: bool, answer: Vec<u8> },
    /// Handed over; a body without end is the answer.
    Endless,
}

/// Does it; false ends the connection.
pub(super) fn act(
    fault: &Fault,
    seen: &Seen,
    request: &Message,
    client: &mut BufReader<TcpStream>,
    upstream: &mut Option<BufReader<TcpStream>>,
    state: &State,
) -> std::io::Result<bool> {
    let mut ask = || {
        let answer = ask(request, upstream, &state.upstream)?;
        state.remember(seen, &answer);
        Ok::<_, std::io::Error>(answer)
    };
    match fault {
        Fault::Pass => client.get_mut().write_all(&ask()?.bytes())?,
        Fault::OnArrival(hook) => {
            hook();
            let answer = ask()?;
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::OnAnswer(hook) => {
            let answer = ask()?;
            hook();
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::LoseRequest => return Ok(false),
        Fault::Reset => return end(client, After::Reset),
        Fault::HoldRequest => return end(client, After::Held),
        Fault::LoseAnswer => {
            ask()?;
            return Ok(false);
        }
        Fault::HoldAnswer => {
            ask()?;
            return end(client, After::Held);
        }
        Fault::Late(pause) => {
            client.get_mut().shutdown(Shutdown::Both)?;
            std::thread::sleep(*pause);
            ask()?;
            return Ok(false);
        }
        Fault::Slow(pause) => {
            let answer = ask()?;
            std::thread::sleep(*pause);
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::Twice => {
            ask()?;
            let second = ask()?;
            client.get_mut().write_all(&second.bytes())?;
        }
        Fault::TwiceFirst => {
            let first = ask()?;
            ask()?;
            client.get_mut().write_all(&first.bytes())?;
        }
        Fault::Truncate => {
            let bytes = ask()?.bytes();
            let head = head_length(&bytes);
            client
                .get_mut()
                .write_all(&bytes[..head + (bytes.len() - head) / 2])?;
            return Ok(false);
        }
        Fault::Drip => {
            let bytes = ask()?.bytes();
            drip(client, &bytes)?;
        }
        Fault::Mangle(change) => {
            let mut answer = ask()?;
            answer.put_body(change(&String::from_utf8_lossy(&answer.body)));
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::Edit(change) => {
            let mut answer = ask()?;
            change(&mut answer);
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::Bytes(change, after) => {
            let bytes = change(ask()?.bytes());
            client.get_mut().write_all(&bytes)?;
            return end(client, *after);
        }
        Fault::Another(other) => {
            let answer = ask()?;
            let bytes = state
                .another(seen, *other)
                .unwrap_or_else(|| answer.bytes());
            client.get_mut().write_all(&bytes)?;
        }
        Fault::Instead {
            handed_over,
            answer,
        } => {
            if *handed_over {
                ask()?;
            }
            client.get_mut().write_all(answer)?;
            return Ok(false);
        }
        Fault::Endless => {
            ask()?;
            return endless(client);
        }
    }
    Ok(true)
}

/// Offset of an answer's body.
pub fn head_length(bytes: &[u8]) -> usize {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    end.map_or(0, |at| at + 4)
}

fn drip(client: &mut BufReader<TcpStream>, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        client.get_mut().write_all(&[*byte])?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn endless(client: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n[";
    client.get_mut().write_all(head)?;
    let spaces = [b' '; 0x1000];
    while client.get_mut().write_all(&spaces).is_ok() {}
    Ok(false)
}

fn end(client: &mut BufReader<TcpStream>, after: After) -> std::io::Result<bool> {
    match after {
        After::Kept => Ok(true),
        After::Closed => Ok(false),
        After::Reset => {
            // No time to linger: the system resets instead of closing.
            set_socket_linger(client.get_ref(), Some(Duration::ZERO))?;
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
        // Until the client has closed.
        After::Held => client.read(&mut [0]).map(|_| false),
    }
}

/// Hands a request over and reads the answer. A kept connection that the exchange has closed is
/// replaced before anything was sent on it, or the caller sees an error.
fn ask(
    request: &Message,
    kept: &mut Option<BufReader<TcpStream>>,
    address: &str,
) -> std::io::Result<Message> {
    let mut upstream = if let Some(upstream) = kept.take() {
        upstream
    } else {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(WAIT_MAX))?;
        stream.set_nodelay(true)?;
        BufReader::new(stream)
    };
    upstream.get_mut().write_all(&request.bytes())?;
    let answer = Message::read(&mut upstream)?;
    *kept = Some(upstream);
    answer.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}
