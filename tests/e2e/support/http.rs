//! Pages of this machine over HTTP/1.0, where an answer ends with its connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Head and body of a page, or nothing if it cannot be had now.
pub fn page(address: &str, path: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.to_owned(), body.to_owned()))
}

/// Status and body of the answer to a request with these headers; `host` replaces that of the address.
pub fn send(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    send_body(address, method, path, headers, "")
}

/// As `send`, with a body.
pub fn send_body(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let longest = Some(Duration::from_secs(30));
    stream.set_read_timeout(longest).unwrap();
    let mut headers = headers.to_vec();
    if !headers.iter().any(|(name, _)| *name == "host") {
        headers.push(("host", address));
    }
    let lines = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n");
    let head = lines.fold(head, |head, line| head + &line);
    stream.write_all((head + "\r\n" + body).as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.parse().unwrap(), body.to_owned())
}

/// The body of a page that was answered with 200.
pub fn body(address: &str, path: &str) -> Option<String> {
    let (head, body) = page(address, path)?;
    head.split(' ')
        .nth(1)
        .is_some_and(|status| status == "200")
        .then_some(body)
}

/// Sum of all series of a metric that have all of these labels; zero if there is none.
pub fn metric(page: &str, name: &str, labels: &[&str]) -> f64 {
    page.lines()
        .filter(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']))
        })
        .filter(|line| labels.iter().all(|label| line.contains(label)))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}
