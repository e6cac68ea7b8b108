//! One row of recorded ticks: a change of a market, its times, and its visibility.

use cambist_core::{Price, Qty, Side};

use crate::time::Timestamp;

/// An event with both of its times. Prices are in ticks, quantities in lots of the file's grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened at the exchange.
    pub exchange_time: Timestamp,
    /// When the recorder received it.
    pub local_time: Timestamp,
    /// The view that it belongs to.
    pub visibility: Visibility,
    /// What changed.
    pub update: Update,
}

impl Event {
    /// Placeholder before the first event.
    pub(crate) const NONE: Self = Self {
        exchange_time: Timestamp(0),
        local_time: Timestamp(0),
        visibility: Visibility::Both,
        update: Update::Cancel { order: 0 },
    };

    /// The time from the exchange to the recorder.
    #[inline]
    pub(crate) const fn delay_nanos(&self) -> i64 {
        self.local_time.nanos_since(self.exchange_time)
    }
}

/// The view that a row belongs to.
///
/// The exchange's view is in order of exchange time, the recorder's in order of local time. A row is in both views if
/// the orders agree; if messages overtook each other, it occurs twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The exchange's only.
    Exchange,
    /// The recorder's only.
    Local,
    /// In both.
    Both,
}

impl Visibility {
    /// Whether it is in the exchange's view, at its exchange time.
    #[inline]
    pub const fn at_exchange(self) -> bool {
        !matches!(self, Self::Local)
    }

    /// Whether it is in the recorder's view, at its local time.
    #[inline]
    pub const fn at_local(self) -> bool {
        !matches!(self, Self::Exchange)
    }
}

/// A change of a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// A price level has this quantity now; 0 removes it.
    Level {
        /// Buy for bids.
        side: Side,
        /// Its price.
        price: Price,
        /// The total resting quantity.
        qty: Qty,
    },
    /// A level of a complete book, usually after an [`Update::Clear`]; applied like [`Update::Level`].
    SnapshotLevel {
        /// Buy for bids.
        side: Side,
        /// Its price.
        price: Price,
        /// The total resting quantity.
        qty: Qty,
    },
    /// Levels are no longer known.
    Clear {
        /// This side, or both.
        side: Option<Side>,
        /// From the best level to this price, both included; the whole side if `None`.
        to: Option<Price>,
    },
    /// A trade.
    Trade {
        /// The side of the order that took.
        aggressor: Side,
        /// Its price.
        price: Price,
        /// The traded quantity.
        qty: Qty,
    },
    /// An order was added (order-by-order feeds).
    Add {
        /// The exchange's id of the order.
        order: u64,
        /// Its side.
        side: Side,
        /// Its price.
        price: Price,
        /// Its resting quantity.
        qty: Qty,
    },
    /// An order was removed.
    Cancel {
        /// The exchange's id of the order.
        order: u64,
    },
    /// An order was changed. It keeps its queue position only if nothing but its quantity decreased.
    Modify {
        /// The exchange's id of the order.
        order: u64,
        /// Its price now.
        price: Price,
        /// Its new resting quantity.
        qty: Qty,
    },
    /// A resting order traded; the rest stays until it is cancelled or modified.
    Fill {
        /// The exchange's id of the order.
        order: u64,
        /// The price.
        price: Price,
        /// The traded quantity.
        qty: Qty,
    },
}
