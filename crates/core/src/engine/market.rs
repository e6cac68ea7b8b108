//! One market's part of the state.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::market::MarketSpec;
use crate::note::Control;
use crate::time::Time;

use super::book::MarketBook;
use super::meter::Meter;
use super::pools::Pool;
use super::unquoted::Unquoted;
use super::window::Extremes;

/// Longest pause after refusals in a row.
const REST_MAX_MS: u64 = 60_000;

/// One market's part of the state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Market {
    pub(crate) spec: MarketSpec,
    pub(crate) book: MarketBook,
    /// Mids of lately, and how far they lie apart.
    pub(crate) moves: Extremes,
    pub(crate) moved_bps: u64,
    /// The last mid that might be priced from.
    pub(crate) mid: Option<u64>,
    pub(crate) meter: Meter,
    pub(crate) misfit: Misfit,
    /// A side that was broken before it is made again.
    pub(crate) broken: [Broken; 2],
    /// Why a side is not quoted.
    pub(crate) unquoted: Unquoted,
    /// Controls that refused something in the last decision.
    pub(crate) refused: BTreeSet<Control>,
    /// Both sides live.
    pub(crate) both: bool,
    /// Something changed since the last decision.
    pub(crate) dirty: bool,
    /// After refused orders.
    pub(crate) rest: Rest,
    /// The pool beside it.
    pub(crate) pool: Option<Pool>,
}

/// What the venue lists differently than at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Misfit {
    /// The market itself.
    pub(crate) market: bool,
    /// One of its tokens.
    pub(crate) token: bool,
}

impl Market {
    /// A market of which nothing is known but what earlier runs left.
    pub(crate) fn new(spec: MarketSpec, meter: Meter, pool: Option<Pool>) -> Self {
        Self {
            spec,
            book: MarketBook::default(),
            moves: Extremes::default(),
            moved_bps: 0,
            mid: None,
            meter,
            misfit: Misfit::default(),
            broken: [Broken::No; 2],
            unquoted: Unquoted::default(),
            refused: BTreeSet::new(),
            both: false,
            dirty: false,
            rest: Rest::default(),
            pool,
        }
    }

    /// The venue lists it and its tokens as it did at the start.
    pub(crate) fn is_as_listed(&self) -> bool {
        self.misfit == Misfit::default()
    }
}

/// A venue that refuses is not asked again at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rest {
    /// Refusals since the venue last took one.
    refusals: u32,
    /// Nothing new is sent before.
    until: Time,
}

impl Rest {
    /// The venue refused; each refusal in a row doubles the pause.
    pub(crate) fn refused(&mut self, now: Time, pause_ms: u64) {
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
pub(crate) enum Broken {
    /// It did not.
    No,
    /// That is decided.
    Decided,
    /// Nothing of the side rests since then.
    Dark(Time),
}
