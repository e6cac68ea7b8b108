//! The outputs of the engine. The shell executes them and reports back with events.

use serde::{Deserialize, Serialize};

use crate::books::Booking;
use crate::event::{BatchId, Restrictions};
use crate::intent::Intent;
use crate::notification::Notification;
use crate::order::{ClientOrderId, StrategyId};
use crate::request::{Endpoint, Query, RequestId};

/// One output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Send a query or a cancel; answered by `Event::Answer`.
    Send {
        /// Number of the request, for the answer.
        request: RequestId,
        /// The query.
        query: Query,
    },
    /// Hash, sign, verify and store every intent in one synced transaction; answered by `Sealed` or `SealFailed`.
    /// Nothing of the batch may be sent before that.
    Seal {
        /// Number of the batch, for the answer.
        batch: BatchId,
        /// Complete unsigned orders, joins and exits.
        intents: Vec<Intent>,
    },
    /// Send the stored bytes of a sealed intent, the same bytes every time.
    Transmit {
        /// Number of the request, for the answer.
        request: RequestId,
        /// Client order id of the sealed intent.
        order: ClientOrderId,
        /// The endpoint: submit of an order, join or exit.
        endpoint: Endpoint,
    },
    /// Make trading state and pauses durable; answered by `RestrictionsStored` or `RestrictionsFailed` with the same
    /// value.
    StoreRestrictions {
        /// The value to store.
        levels: Restrictions,
        /// Cause, for logs.
        cause: String,
        /// An operator allows trading again. Without this the store refuses a lower trading state.
        lowers: bool,
    },
    /// Make all changes of orders and books by one event durable, as a whole or not at all; not answered. After a
    /// booking that could not be made durable, nothing more is.
    Book(Box<Booking>),
    /// Give the process behind a strategy its newest view, which `Engine::take_view` holds: views are large,
    /// and the recording holds what they are made from. It may be answered by `Event::Process`.
    SendView {
        /// Which strategy.
        strategy: StrategyId,
        /// Number of the view, from 1.
        view_seq: u64,
    },
    /// A notification for logs, metrics and reports.
    Notify(Notification),
    /// Draining has ended; the shell may stop. No action follows.
    Finished {
        /// Whether it is proven that no own order rests.
        proven: bool,
    },
}
