//! The live shell: around the engine, what a process needs to trade with it.
//!
//! A start asks the venue for as long as it takes ([`start`], [`startup`]); [`daemon`] puts everything together.
//! One task owns the engine and hears events in order ([`desk`]); requests run beside it ([`gateway`]);
//! one thread signs and stores, in order ([`keeper`]). People are heard over signals, a latch file and a socket ([`people`], [`door`]). There is no decision here: an `if` about
//! prices, orders or balances in this folder is a bug.

pub mod access;
pub mod answers;
pub mod control_client;
pub mod daemon;
pub mod desk;
pub mod door;
pub mod earlier;
pub mod gateway;
pub mod keeper;
pub mod latch;
pub mod patience;
pub mod people;
pub mod recorder;
pub mod reload;
pub mod signals;
pub mod start;
pub mod startup;
pub mod verdict;
pub mod wishes;

use cambist_core::event::Event;
use cambist_core::{ClientOrderId, Hash};

use keeper::Bodies;

/// Something the desk hears.
#[derive(Debug)]
pub enum Heard {
    /// An event as the engine knows it.
    Event(Event),
    /// A batch is durable; its bytes may be sent.
    Sealed {
        /// Which batch.
        batch: cambist_core::event::BatchId,
        /// Hash of every order in it.
        hashes: Vec<(ClientOrderId, Hash)>,
        /// Bytes of every order in it.
        bodies: Bodies,
    },
    /// The oldest booking that a person waits for, and that the keeper has not answered for, is stored or
    /// could not be.
    Booked {
        /// It is on disk.
        durable: bool,
    },
}

/// How many events may wait for the desk. The engine's budget bounds what can be under way far below.
pub const INBOX: usize = 1_024;
