//! Faults of the network and of intermediaries as a table: the fault, the affected requests, and the counter that must
//! show it. Each module implements its faults.

use toml::Table;

use crate::support::proxy::Seen;
use crate::support::{Edit, Fault};

/// A fault of the network, and where it must have been counted.
pub struct Scenario {
    pub name: &'static str,
    /// What happens to a request that is spoiled.
    pub fault: fn(&Seen) -> Fault,
    /// Which requests are spoiled.
    pub spoiled: fn(&Seen) -> bool,
    /// The outcomes by which such faults are counted.
    pub counted: &'static [&'static str],
    /// What the daemon's configuration needs beside being quick.
    pub edit: fn(&mut Table),
}

/// What most scenarios have in common; a row names what is its own.
pub const USUAL: Scenario = Scenario {
    name: "",
    fault: |_| Fault::Pass,
    spoiled: every_third,
    counted: LOST,
    edit: |_| (),
};

/// No usable answer arrived.
pub const LOST: &[&str] = &["transport", "unknown"];
/// Something was refused, or nothing noticed.
pub const ANSWERED: &[&str] = &["ok", "reject"];
/// Any of them, depending on when it happens.
pub const ANY: &[&str] = &["transport", "unknown", "ok", "reject"];

pub const JSON: &str = "application/json";
pub const HTML: &str = "text/html";
pub const GATEWAY: &str = "<html><body><h1>502 Bad Gateway</h1></body></html>";

pub fn every_third(seen: &Seen) -> bool {
    seen.nth % 3 == 1
}

pub fn submits(seen: &Seen) -> bool {
    seen.is_submit() && seen.nth.is_multiple_of(2)
}

pub fn writes(seen: &Seen) -> bool {
    (seen.is_submit() || seen.is_cancel()) && seen.nth.is_multiple_of(2)
}

pub fn reads(seen: &Seen) -> bool {
    seen.method == "GET" && seen.nth % 3 == 1
}

pub fn depths(seen: &Seen) -> bool {
    seen.is_read_of("depth") && seen.nth % 3 == 1
}

pub fn lists(seen: &Seen) -> bool {
    seen.is_read_of("orders") && seen.nth % 3 == 1
}

/// Pages so small that every pass has several.
pub fn small_pages(file: &mut Table) {
    file.put("poll.orders_page", 3);
}

/// An answer of the proxy's own.
pub fn instead(handed_over: bool, status: &str, kind: &str, more: &str, body: &str) -> Fault {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    );
    Fault::Instead {
        handed_over,
        answer: answer.into_bytes(),
    }
}
