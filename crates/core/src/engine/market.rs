//! One market's part of the state.

use serde::{Deserialize, Serialize};

use crate::market::MarketSpec;
use crate::notification::{Control, Withheld};
use crate::sorted_set::SortedSet;
use crate::time::Time;

use crate::engine::intents::unquoted::{Unquoted, waits};
use crate::engine::market_data::book::MarketBook;
use crate::engine::market_data::others::Shown;
use crate::engine::orders::decisions::Decisions;
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
    /// Lowest and highest recent mids.
    pub(crate) mid_extremes: Extremes,
    pub(crate) mid_range_bps: u64,
    /// The last mid that could be priced from.
    pub(crate) mid: Option<u64>,
    pub(crate) losses: LossMeter,
    pub(crate) listing_change: ListingChange,
    /// Sides whose order ended before its replacement was sent.
    pub(crate) break_before_make: [BreakBeforeMake; 2],
    /// Why a side has no quotes.
    pub(crate) unquoted: Unquoted,
    /// Controls that refused an intent in the last decision.
    pub(crate) refused_by: SortedSet<Control>,
    /// Both sides have live quotes.
    pub(crate) both_sides_quoted: bool,
    /// An input of decisions has changed since the last one.
    pub(crate) decision_due: bool,
    /// The last decision would be another one once an order in flight is accepted.
    pub(crate) awaits_acceptance: bool,
    /// When the venue's counter of orders and cancels has room for what waits for it.
    pub(crate) counter_frees_at: Option<Time>,
    /// What the strategies of other markets last saw of its book.
    pub(crate) shown: Shown,
    /// What the last decision meant for each order.
    #[serde(skip)]
    pub(crate) decisions: Decisions,
    /// Pause after refused orders.
    pub(crate) backoff: Backoff,
    /// The pool beside it.
    pub(crate) pool: Option<Pool>,
}

/// Differences of the venue's listing from that at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListingChange {
    /// The market itself.
    pub(crate) market: bool,
    /// One of its tokens.
    pub(crate) token: bool,
}

impl Market {
    /// A market without data, with the state that earlier runs left.
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
            refused_by: SortedSet::new(),
            both_sides_quoted: false,
            decision_due: false,
            awaits_acceptance: false,
            counter_frees_at: None,
            shown: Shown::default(),
            decisions: Decisions::default(),
            backoff: Backoff::default(),
            pool,
        }
    }

    /// Whether the listing of the market and its tokens is that of the start.
    pub(crate) fn is_as_listed(&self) -> bool {
        self.listing_change == ListingChange::default()
    }
}

/// Backoff: nothing new is sent for a time to a venue that refused.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Backoff {
    /// Refusals since the venue last accepted an order.
    refusals: u32,
    /// Nothing new is sent before this.
    until: Time,
    /// The last refusal was the signer's, not the venue's.
    by_signer: bool,
}

impl Backoff {
    /// Records a refusal; each one in a row doubles the pause. Refusals during a pause answer orders that were sent
    /// before it, and count once together with the one that started it.
    pub(crate) fn refused(&mut self, now: Time, pause_ms: u64) {
        self.by_signer = false;
        self.begin(now, pause_ms);
    }

    /// The same for a refusal of the signer, or its silence.
    pub(crate) fn refused_by_signer(&mut self, now: Time, pause_ms: u64) {
        self.by_signer = true;
        self.begin(now, pause_ms);
    }

    fn begin(&mut self, now: Time, pause_ms: u64) {
        if self.left(now).is_some() {
            return;
        }
        let doubled = pause_ms.saturating_mul(1 << self.refusals.min(6));
        self.until = now.plus_ms(doubled.min(REST_MAX_MS));
        self.refusals = self.refusals.saturating_add(1);
    }

    /// Records an acceptance.
    pub(crate) fn taken(&mut self) {
        self.refusals = 0;
    }

    /// Why nothing new is sent, if the pause is not over.
    pub(crate) fn withheld(&self, now: Time) -> Option<Withheld> {
        let control = if self.by_signer {
            Control::Signer
        } else {
            Control::VenueRefusal
        };
        Some(waits(control, self.left(now)?.ms_since(now)))
    }

    /// The end of the pause, if it is not over.
    pub(crate) fn left(&self, now: Time) -> Option<Time> {
        (now < self.until).then_some(self.until)
    }
}

/// State of a side whose order ended before its replacement was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BreakBeforeMake {
    /// Not so.
    No,
    /// The cancel is decided.
    Decided,
    /// The side has been empty since then.
    SideEmpty(Time),
}
