//! The summary of a session, in the format for scripts.
//!
//! Serialised, it has the fields of the demo's `--json` and four more that texts need; fields that are not serialised
//! (rows by market, exact amounts) are for later reports.

use std::collections::BTreeMap;

use cambist_core::TokenId;
use cambist_core::sorted_map::SortedMap;
use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::pnl::{Attribution, PoolAttribution};

/// Facts that only the program knows at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Closing {
    /// Seed of the world, where there is one.
    pub seed: Option<u64>,
    /// Duration.
    pub duration_s: f64,
    /// Own orders that the venue still lists, if it was queried.
    pub resting_after: Option<u64>,
    /// Ledger less the venue's books by token, in base units.
    pub residual_units: SortedMap<TokenId, i128>,
    /// Whether the tape replayed to the same actions, if it was replayed.
    pub replay_equal: Option<bool>,
}

/// Which balances of the venue a ledger is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VenueBalances {
    /// Those at the end.
    #[default]
    Current,
    /// The last that the venue stated. It did not confirm them at the end.
    LastRead,
    /// None were read.
    Unread,
}

impl VenueBalances {
    /// Whether they are those at the end.
    pub const fn are_current(&self) -> bool {
        matches!(self, Self::Current)
    }
}

/// Counts of orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// First transmissions.
    pub submitted: u64,
    /// Accepted by the venue.
    pub acknowledged: u64,
    /// Ended by a cancel.
    pub cancelled: u64,
    /// Ended by a complete fill.
    pub filled: u64,
    /// Refused submits by the venue's code.
    pub refused: BTreeMap<String, u64>,
    /// Orders that are not proven gone: they may be alive.
    pub unknown_left: u64,
}

/// Counts by end of an order. `recovered + submitted` is the sum of all ends and of `unknown_left`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Found in the store at the start, perhaps alive.
    pub recovered: u64,
    /// Completely filled.
    pub filled: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// Reached their expiry.
    pub expired: u64,
    /// Refused by the venue, proven dead.
    pub rejected: u64,
    /// Failed after acceptance.
    pub failed_late: u64,
    /// Never listed by the venue until after the fence.
    pub fenced: u64,
    /// No transmission left, provably. An order that was sealed and not tried is not counted.
    pub never_sent: u64,
    /// Of all but `filled`: those that were filled in part.
    pub partly_filled: u64,
}

/// Profit and loss in whole quote tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PnlQuote {
    /// Fill prices against the mid.
    pub spread: f64,
    /// Price changes of what was held.
    pub inventory: f64,
    /// Fees; negative.
    pub fees: f64,
    /// The pools beside the markets; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<f64>,
    /// The sum: the change of equity less external flows.
    pub total: f64,
}

/// Profit and cost of pools, whole quote tokens as decimal text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolPnl {
    /// Our part of the fees that traders paid.
    pub fee_income: String,
    /// Change of the shares' value by the pool's rebalancing, against holding both tokens: negative where it is a loss.
    pub impermanent_loss: String,
    /// Fees and slippage of joins and exits.
    pub move_costs: String,
    /// The sum of all three.
    pub total: String,
}

impl PoolPnl {
    fn new(exact: PoolAttribution) -> Option<Self> {
        Some(Self {
            fee_income: exact.fee_income.to_string(),
            impermanent_loss: exact.impermanent_loss.to_string(),
            move_costs: exact.move_costs.to_string(),
            total: exact.total()?.to_string(),
        })
    }
}

/// Profit and loss over the markets of one quote token, exactly: whole tokens as decimal text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PnlRow {
    /// Symbol of the quote token.
    pub quote: String,
    /// Fill prices against the mid.
    pub spread: String,
    /// Price changes of what was held.
    pub holdings: String,
    /// Fees; negative.
    pub fees: String,
    /// The pools beside the markets; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolPnl>,
    /// All of it.
    pub total: String,
}

impl PnlRow {
    pub(crate) fn new(quote: String, exact: &Attribution) -> Self {
        Self {
            quote,
            spread: exact.spread.to_string(),
            holdings: exact.holdings.to_string(),
            fees: exact.fees.to_string(),
            pool: exact.pool.and_then(PoolPnl::new),
            total: exact.total.to_string(),
        }
    }
}

impl From<Attribution> for PnlQuote {
    fn from(exact: Attribution) -> Self {
        Self {
            spread: exact.spread.to_f64(),
            inventory: exact.holdings.to_f64(),
            fees: exact.fees.to_f64(),
            pool: exact
                .pool
                .and_then(PoolAttribution::total)
                .map(Money::to_f64),
            total: exact.total.to_f64(),
        }
    }
}

/// Time from a submit's transmission to its acknowledgement, exact to 0.1 %; null without any.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AckMs {
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// Requests against their budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Sent.
    pub sent: u64,
    /// Number that the budget would have allowed.
    pub allowed: u64,
    /// Answers with HTTP status 429.
    pub http_429: u64,
}

/// One market.
#[derive(Clone, Debug, PartialEq)]
pub struct MarketRow {
    /// The venue's name.
    pub name: String,
    /// Symbol of the quote token.
    pub quote: String,
    /// Fill increments.
    pub fills: u64,
    /// Base traded, base units.
    pub base_volume: u128,
    /// Quote traded, base units.
    pub quote_volume: u128,
    /// Share of time with both sides live.
    pub both_sides_ratio: f64,
    /// Exact profit and loss, in the market's quote token.
    pub pnl: Option<Attribution>,
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolRow {
    /// The venue's name.
    pub name: String,
    /// Joins that were processed.
    pub joins: u64,
    /// Exits that were processed.
    pub exits: u64,
    /// Joins and exits that ended without moving anything.
    pub failed: u64,
    /// Shares held at the end, whole LP tokens.
    pub shares: String,
    /// Their value in quote tokens at the mid; null if the pool or the mid was not known.
    pub value_quote: Option<String>,
    /// Our part of the fees that traders paid, in quote tokens.
    pub fee_income_quote: Option<String>,
    /// Change of the shares' value by the pool's rebalancing, against holding both tokens, in quote tokens: negative where
    /// it is a loss.
    pub impermanent_loss_quote: Option<String>,
    /// Fees and slippage of joins and exits, in quote tokens.
    pub move_costs_quote: Option<String>,
}

/// A whole session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Seed of the world.
    pub seed: Option<u64>,
    /// Seconds.
    pub duration_s: f64,
    /// Orders.
    pub orders: Orders,
    /// Counts by end of an order; for texts.
    #[serde(default)]
    pub ends: Ends,
    /// Fill increments booked.
    pub fills: u64,
    /// Those of them that are swaps with pools.
    #[serde(default)]
    pub swaps: u64,
    /// Share of time with both sides live, of the market where it was lowest.
    pub quoted_both_sides_ratio: f64,
    /// Held at the end by token symbol: integers in base units, as text.
    pub inventory: BTreeMap<String, String>,
    /// Profit and loss over the markets that share the first market's quote token.
    pub pnl_quote: Option<PnlQuote>,
    /// Profit and loss by quote token, exactly; the first is `pnl_quote`.
    #[serde(default)]
    pub pnl: Vec<PnlRow>,
    /// Acknowledgement times.
    pub ack_ms: AckMs,
    /// Requests.
    pub requests: Requests,
    /// Own orders that the venue still lists.
    pub resting_after: Option<u64>,
    /// Ledger less the venue's balances for every token held: integers in base units, as text. Empty if the venue's were
    /// not read.
    pub residual_units: BTreeMap<String, String>,
    /// Which balances of the venue those are; absent if they are the current ones.
    #[serde(default, skip_serializing_if = "VenueBalances::are_current")]
    pub venue_balances: VenueBalances,
    /// Whether the tape replayed to the same actions.
    pub replay_equal: Option<bool>,
    /// Symbol of the token that `pnl_quote` is in.
    pub quote: String,
    /// `pnl_quote`, exactly.
    #[serde(skip)]
    pub pnl_exact: Option<Attribution>,
    /// `inventory` in whole tokens, for texts.
    pub inventory_tokens: BTreeMap<String, String>,
    /// `residual_units` in whole tokens, for texts.
    pub residual_tokens: BTreeMap<String, String>,
    /// By market.
    #[serde(skip)]
    pub markets: Vec<MarketRow>,
    /// By pool; absent without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolRow>,
}
