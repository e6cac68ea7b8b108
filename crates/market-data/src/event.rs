//! One row of recorded ticks: what changed in a market, when, and who could see it.

use cambist_core::{Price, Qty, Side};

use crate::time::Timestamp;

/// What happened, with both of its times. Prices are ticks, quantities lots of the file's grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened at the exchange.
    pub exchange_time: Timestamp,
    /// When the recorder received it.
    pub local_time: Timestamp,
    /// Whose view it belongs to.
    pub visibility: Visibility,
    /// What changed.
    pub update: Update,
}

impl Event {
    /// What stands where there is no event yet.
    pub(crate) const NONE: Self = Self {
        exchange_time: Timestamp(0),
        local_time: Timestamp(0),
        visibility: Visibility::Both,
        update: Update::Cancel { order: 0 },
    };
}

/// Whose view of the market a row belongs to.
///
/// The exchange's events are in order of exchange time, the recorder's in order of local time. Where
/// both orders agree a row is in both views; where messages overtook each other it stands twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// At the exchange only.
    Exchange,
    /// At the recorder only.
    Local,
    /// In both.
    Both,
}

impl Visibility {
    /// Whether the exchange processes it, at its exchange time.
    #[inline]
    pub const fn at_exchange(self) -> bool {
        !matches!(self, Self::Local)
    }

    /// Whether the recorder sees it, at its local time.
    #[inline]
    pub const fn at_local(self) -> bool {
        !matches!(self, Self::Exchange)
    }
}

/// A change of a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// A price level now holds this much; 0 if it is gone.
    Level {
        /// Buy for bids.
        side: Side,
        /// Its price.
        price: Price,
        /// All that rests there now.
        qty: Qty,
    },
    /// A level of a whole book, usually after a [`Update::Clear`]; applied like [`Update::Level`].
    SnapshotLevel {
        /// Buy for bids.
        side: Side,
        /// Its price.
        price: Price,
        /// All that rests there.
        qty: Qty,
    },
    /// Levels are no longer known.
    Clear {
        /// Of this side, or of both.
        side: Option<Side>,
        /// From the best level to this price, both included; all of the side if `None`.
        to: Option<Price>,
    },
    /// A trade.
    Trade {
        /// The side of the order that took.
        aggressor: Side,
        /// Its price.
        price: Price,
        /// How much.
        qty: Qty,
    },
    /// An order began to rest (order-by-order feeds).
    Add {
        /// The exchange's id of the order.
        order: u64,
        /// Its side.
        side: Side,
        /// Its price.
        price: Price,
        /// What rests of it.
        qty: Qty,
    },
    /// An order no longer rests.
    Cancel {
        /// The exchange's id of the order.
        order: u64,
    },
    /// An order was changed. It loses its place unless only its quantity fell.
    Modify {
        /// The exchange's id of the order.
        order: u64,
        /// Its price now.
        price: Price,
        /// What rests of it now.
        qty: Qty,
    },
    /// A resting order traded; it rests on with what is left until it is cancelled or modified.
    Fill {
        /// The exchange's id of the order.
        order: u64,
        /// The price.
        price: Price,
        /// How much of it traded.
        qty: Qty,
    },
}
