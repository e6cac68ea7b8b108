//! A client made of a socket and a string: what was sent and what came back, byte for byte.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A request as text.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub method: &'static str,
    pub target: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Call {
    pub fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self {
            method,
            target: target.into(),
            ..Self::default()
        }
    }

    pub fn get(target: impl Into<String>) -> Self {
        Self::new("GET", target)
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    fn bytes(&self, host: &str) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.headers.iter().any(|(name, _)| *name == "Host") {
            let _ = write!(text, "Host: {host}\r\n");
        }
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        if !self.body.is_empty() {
            if !self.headers.iter().any(|(name, _)| *name == "Content-Type") {
                text += "Content-Type: application/json\r\n";
            }
            let _ = write!(text, "Content-Length: {}\r\n", self.body.len());
        }
        text += "\r\n";
        text += &self.body;
        text.into_bytes()
    }
}

/// An answer, its body as JSON.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub text: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body of a success.
    #[track_caller]
    pub fn good(&self) -> &Value {
        assert_eq!(self.status, 200, "{}", self.text);
        assert!(self.body.get("resultInfo").is_none(), "{}", self.text);
        &self.body
    }

    /// The code of a refusal: HTTP 400 and `resultInfo`.
    #[track_caller]
    pub fn code(&self) -> u64 {
        assert_eq!(self.status, 400, "{}", self.text);
        self.any_code()
    }

    /// As `code`, for any HTTP status.
    #[track_caller]
    pub fn any_code(&self) -> u64 {
        let info = &self.body["resultInfo"];
        assert!(info["message"].is_string(), "{}", self.text);
        info["code"].as_u64().unwrap()
    }

    pub fn message(&self) -> &str {
        self.body["resultInfo"]["message"]
            .as_str()
            .unwrap_or_default()
    }
}

/// A connection that is kept open.
pub struct Connection {
    pub stream: BufReader<TcpStream>,
    host: String,
}

impl Connection {
    /// Waits at most 20 s for anything.
    pub fn open(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap(), address)
    }

    fn over(stream: TcpStream, address: SocketAddr) -> Self {
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Self {
            stream: BufReader::new(stream),
            host: address.to_string(),
        }
    }

    /// The same from another address of this machine.
    pub fn open_from(source: [u8; 4], address: SocketAddr) -> Self {
        let connected = async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind((source, 0).into()).unwrap();
            socket.connect(address).await.unwrap().into_std().unwrap()
        };
        let stream = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap()
            .block_on(connected);
        stream.set_nonblocking(false).unwrap();
        Self::over(stream, address)
    }

    pub fn ask(&mut self, call: &Call) -> Reply {
        let bytes = call.bytes(&self.host);
        self.send(&bytes);
        self.reply().unwrap()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// As `ask`; `None` if the connection closes before the answer is complete.
    pub fn try_ask(&mut self, call: &Call) -> Option<Reply> {
        let bytes = call.bytes(&self.host);
        self.stream.get_mut().write_all(&bytes).ok()?;
        self.reply()
    }

    /// The next answer; `None` when the connection was closed instead.
    pub fn reply(&mut self) -> Option<Reply> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let length = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, value)| value.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        let text = String::from_utf8(body).unwrap();
        Some(Reply {
            status,
            headers,
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        })
    }

    /// A whole line.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        line.ends_with('\n').then_some(line)
    }

    /// Whether the other end has closed; waits for it.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0) | Err(_))
    }
}
