//! Ports that stay with one test while nothing listens there: below the ports that Linux gives to outgoing connections
//! and to listeners that ask for any (from 32768), so that no other program is given one.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 16_384;
const COUNT: u16 = 16_384;

/// A listener at a port that no earlier call of this process returned.
pub fn listener() -> TcpListener {
    static CALLS: AtomicU16 = AtomicU16::new(0);
    // Processes that run beside this one begin elsewhere.
    let start = u16::try_from(std::process::id() % u32::from(COUNT / 64)).unwrap() * 64;
    let mut free = std::iter::repeat_with(|| {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        assert!(call < COUNT, "no port is left");
        let port = FIRST + (start + call) % COUNT;
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()
    });
    free.find_map(|listener| listener).unwrap()
}

/// The address of a port where nothing listens.
pub fn address() -> SocketAddr {
    listener().local_addr().unwrap()
}
