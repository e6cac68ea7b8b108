//! The live shell: what a process needs around the engine to trade with it.
//!
//! A start queries the venue for as long as it takes ([`start`], [`start_service`]); [`daemon`] assembles everything.
//! One task owns the engine and handles events in order ([`event_loop`]); requests run beside it ([`request_workers`]);
//! one thread signs and stores, in order ([`seal_worker`]). Operators use signals, the latch file and the control
//! socket ([`operator_commands`], [`control_socket`]). There is no decision here: an `if` about prices, orders or
//! balances in this folder is a bug.

pub mod account_requests;
pub mod control_client;
pub mod control_requests;
pub mod control_socket;
pub mod daemon;
pub mod earlier_runs;
pub mod event_loop;
pub mod exit_report;
pub mod interval;
pub mod latch;
pub mod memories;
pub mod operator_commands;
pub mod pending_replies;
pub mod processes;
pub mod recorder;
mod reference_feeds;
pub mod reload;
pub mod request_folder;
pub mod request_workers;
pub mod seal_worker;
pub mod signals;
pub mod start;
pub mod start_retry;
pub mod start_service;
pub mod status_service;
pub mod store_loss;
mod task_thread;

use cambist_core::event::Event;
use cambist_core::{ClientOrderId, Hash};

use crate::live::seal_worker::Bodies;

/// A message to the event loop.
#[derive(Debug)]
pub enum LoopMessage {
    /// An event of the engine.
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
    /// Parameters that an operator set were stored, or could not be.
    ParametersStored {
        /// Whether they are on disk.
        durable: bool,
    },
    /// The oldest booking that an operator waits for and that is not confirmed yet was stored, or could not be.
    Booked {
        /// Whether it is on disk.
        durable: bool,
    },
}

/// Most events that may wait. The engine's budget keeps the number of requests in flight far below.
pub const INBOX: usize = 1_024;
