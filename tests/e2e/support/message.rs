//! HTTP/1.1 as bytes with a length: what the proxy reads from either side and passes on.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

/// A request or an answer.
#[derive(Clone)]
pub struct Message {
    pub head: Vec<String>,
    pub body: Vec<u8>,
}

impl Message {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.join("\r\n").into_bytes();
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Replaces a header; an empty value removes it.
    pub fn set(&mut self, name: &str, value: &str) {
        let same = |line: &String| {
            line.split_once(':')
                .is_some_and(|(found, _)| found.eq_ignore_ascii_case(name))
        };
        self.head.retain(|line| !same(line));
        if !value.is_empty() {
            self.head.push(format!("{name}: {value}"));
        }
    }

    /// Replaces the body and its length.
    pub fn put_body(&mut self, body: impl Into<Vec<u8>>) {
        self.body = body.into();
        let length = self.body.len().to_string();
        self.set("content-length", &length);
    }

    /// The next message of a connection; nothing when the connection has ended.
    pub fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Self>> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            head.push(line.to_owned());
        }
        if head.is_empty() {
            return Ok(None);
        }
        let length = head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body)?;
        Ok(Some(Self { head, body }))
    }
}
