//! Ports that stay with one test while nothing listens there: below the ports that Linux gives to outgoing connections
//! and to listeners that ask for any (from 32768), so that no other program is given one. Processes that run these tests
//! at the same time have blocks of their own.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 16_384;
const BLOCKS: u16 = 16;
const BLOCK: u16 = 1_024;

/// The ports of this process, which no other one has until it ends.
struct Block {
    first: u16,
    _lock: File,
}

impl Block {
    fn take() -> Self {
        let mut blocks = 0..BLOCKS;
        let taken = blocks.find_map(|block| {
            let name = format!("cambist-e2e-ports-{block}.lock");
            // One of another user cannot be opened, and is that user's.
            let lock = File::create(std::env::temp_dir().join(name)).ok()?;
            lock.try_lock().ok()?;
            Some(Self {
                first: FIRST + block * BLOCK,
                _lock: lock,
            })
        });
        taken.expect("other test processes have every block of ports")
    }
}

/// A listener at a port that no earlier call of this process returned.
pub fn listener() -> TcpListener {
    static TAKEN: OnceLock<Block> = OnceLock::new();
    static CALLS: AtomicU16 = AtomicU16::new(0);
    let first = TAKEN.get_or_init(Block::take).first;
    let mut free = std::iter::repeat_with(|| {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        assert!(call < BLOCK, "no port is left");
        TcpListener::bind((Ipv4Addr::LOCALHOST, first + call)).ok()
    });
    free.find_map(|listener| listener).unwrap()
}

/// The address of a port where nothing listens.
pub fn address() -> SocketAddr {
    listener().local_addr().unwrap()
}
