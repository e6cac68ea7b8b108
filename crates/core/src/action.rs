//! Everything the engine can want done. The shell does it and reports back as an event.

use serde::{Deserialize, Serialize};

use crate::books::Booking;
use crate::event::{BatchId, Restrictions};
use crate::intent::Intent;
use crate::notification::Notification;
use crate::order::ClientOrderId;
use crate::request::{Endpoint, Query, RequestId};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Send a poll or a cancel; answer with `Event::Answer`.
    Send {
        /// Number to answer with.
        request: RequestId,
        /// What to ask.
        query: Query,
    },
    /// Hash, sign, verify and store every intent in one synced transaction; answer with `Sealed` or
    /// `SealFailed`. Nothing of the batch may leave before that.
    Seal {
        /// Number to answer with.
        batch: BatchId,
        /// Complete unsigned orders and moves.
        intents: Vec<Intent>,
    },
    /// Send the stored bytes of a sealed intent, the same bytes every time.
    Transmit {
        /// Number to answer with.
        request: RequestId,
        /// Which sealed intent.
        order: ClientOrderId,
        /// Where it goes: the submit of an order, a join or an exit.
        endpoint: Endpoint,
    },
    /// Make level and pauses durable; answer with `RestrictionsStored` or `RestrictionsFailed`, naming the same value.
    StoreRestrictions {
        /// What to store.
        levels: Restrictions,
        /// Why, for people.
        cause: String,
        /// A person allows something again. Without this the store refuses a lower level.
        lowers: bool,
    },
    /// Make everything durable that one event changed of orders and books, as a whole or not at all; there
    /// is no answer. Nothing is made durable after a booking that could not be.
    Book(Box<Booking>),
    /// Something to tell; fans out to logs, metrics and reports.
    Notify(Notification),
    /// Draining ended; the shell may stop. Nothing follows.
    Finished {
        /// Whether it is proven that no own order rests.
        proven: bool,
    },
}
