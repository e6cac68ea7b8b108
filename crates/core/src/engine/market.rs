//! One market's part of the state.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::market::MarketSpec;
use crate::notification::Control;
use crate::time::Time;

use crate::engine::intents::unquoted::Unquoted;
use crate::engine::market_data::book::MarketBook;
use crate::engine::pools::positions::Pool;
use crate::engine::risk::loss_meter::LossMeter;
use crate::engine::risk::sliding_window::Extremes;

/// Longest pause after refusals in a row.
const REST_MAX_MS: u64 = 60_000;

/// One market's part of the state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Market {
    pub(crate) spec: MarketSpec,
    pub(crate) book: MarketBook,
    /// Mids of lately, and how far they lie apart.
    pub(crate) mid_extremes: Extremes,
    pub(crate) mid_range_bps: u64,
    /// The last mid that might be priced from.
    pub(crate) mid: Option<u64>,
    pub(crate) losses: LossMeter,
    pub(crate) listing_change: ListingChange,
    /// A side that was broken before it is made again.
    pub(crate) break_before_make: [BreakBeforeMake; 2],
    /// Why a side is not quoted.
    pub(crate) unquoted: Unquoted,
    /// Controls that refused something in the last decision.
    pub(crate) refused_by: BTreeSet<Control>,
    /// Both sides live.
    pub(crate) both_sides_quoted: bool,
    /// Something changed since the last decision.
    pub(crate) decision_due: bool,
    /// After refused orders.
    pub(crate) backoff: Backoff,
    /// The pool beside it.
    pub(crate) pool: Option<Pool>,
}

/// What the venue lists differently than at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListingChange {
    /// The market itself.
    pub(crate) market: bool,
    /// One of its tokens.
    pub(crate) token: bool,
}

impl Market {
    /// A market of which nothing is known but what earlier runs left.
    pub(crate) fn new(spec: MarketSpec, meter: LossMeter, pool: Option<Pool>) -> Self {
        Self {
            spec,
            book: MarketBook::default(),
            mid_extremes: Extremes::default(),
            mid_range_bps: 0,
            mid: None,
            losses: meter,
            listing_change: ListingChange::default(),
            break_before_make: [BreakBeforeMake::No; 2],
            unquoted: Unquoted::default(),
            refused_by: BTreeSet::new(),
            both_sides_quoted: false,
            decision_due: false,
            backoff: Backoff::default(),
            pool,
        }
    }

    /// The venue lists it and its tokens as it did at the start.
    pub(crate) fn is_as_listed(&self) -> bool {
        self.listing_change == ListingChange::default()
    }
}

/// A venue that refuses is not asked again at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Backoff {
    /// Refusals since the venue last took one.
    refusals: u32,
    /// Nothing new is sent before.
    until: Time,
}

impl Backoff {
    /// The venue refused; each refusal in a row doubles the pause. Refusals during a pause answer what was sent
    /// before it, together with what began it, and count once.
    pub(crate) fn refused(&mut self, now: Time, pause_ms: u64) {
        if self.left(now).is_some() {
            return;
        }
        let doubled = pause_ms.saturating_mul(1 << self.refusals.min(6));
        self.until = now.plus_ms(doubled.min(REST_MAX_MS));
        self.refusals = self.refusals.saturating_add(1);
    }

    /// The venue took one.
    pub(crate) fn taken(&mut self) {
        self.refusals = 0;
    }

    /// Until when, if it is not over.
    pub(crate) fn left(&self, now: Time) -> Option<Time> {
        (now < self.until).then_some(self.until)
    }
}

/// A side whose order went before its replacement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BreakBeforeMake {
    /// It did not.
    No,
    /// That is decided.
    Decided,
    /// Nothing of the side rests since then.
    SideEmpty(Time),
}
