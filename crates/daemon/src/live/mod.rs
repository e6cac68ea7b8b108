//! The live shell: around the engine, what a process needs to trade with it.
//!
//! A start asks the venue for as long as it takes ([`start`], [`startup`]); [`daemon`] puts everything together.
//! One task owns the engine and hears events in order ([`desk`]); requests run beside it ([`gateway`]);
//! one thread signs and stores, in order ([`keeper`]). People are heard over signals, a latch file and a socket ([`people`], [`door`]). There is no decision here: an `if` about
//! prices, orders or balances in this folder is a bug.

pub mod account_access;
pub mod control_client;
pub mod control_requests;
pub mod control_socket;
pub mod daemon;
pub mod earlier_runs;
pub mod event_loop;
pub mod exit_report;
pub mod latch;
pub mod operator_commands;
pub mod pending_replies;
pub mod recorder;
pub mod reload;
pub mod request_workers;
pub mod seal_worker;
pub mod signals;
pub mod start;
pub mod start_retry;
pub mod start_service;

use cambist_core::event::Event;
use cambist_core::{ClientOrderId, Hash};

use crate::live::seal_worker::Bodies;

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
