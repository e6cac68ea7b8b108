//! The engine's checked configuration: integers, units in the names, nothing optional that matters.
//!
//! How it is written in a file, and every message about a bad file, belongs to the program.

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::event::Amounts;
use crate::market::{Price, Qty};
use crate::token::Amount;

/// When what is asked, and how old an answer may be before nothing may be decided on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollConfig {
    /// Between depth polls of a market.
    pub depth_ms: u64,
    /// Between passes over the orders list.
    pub orders_ms: u64,
    /// Between balance polls.
    pub balances_ms: u64,
    /// Between polls of markets, tokens, account, and of what rests on it.
    pub meta_ms: u64,
    /// A depth older than this is no price.
    pub depth_age_max_ms: u64,
    /// Balances older than this are no funds.
    pub balances_age_max_ms: u64,
    /// A pass older than this is no knowledge of own orders.
    pub orders_age_max_ms: u64,
    /// Entries per page of the orders list.
    pub orders_page: u32,
}

/// Token buckets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetConfig {
    /// Requests per second over everything.
    pub per_s: u32,
    /// Burst over everything.
    pub burst: u32,
    /// Tokens of the common bucket that only cancels may take.
    pub cancel_reserve: u32,
    /// Requests per second and endpoint.
    pub endpoint_per_s: u32,
    /// Burst per endpoint.
    pub endpoint_burst: u32,
    /// How long an endpoint rests after a 429.
    pub penalty_ms: u64,
}

/// What an empty or one-sided book means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EmptyBook {
    /// Nothing is quoted.
    NoQuote,
    /// This price stands in for the mid.
    Seed(Price),
}

/// Limits of one market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketConfig {
    /// Order prices may differ from the mid by at most this.
    pub collar_bps: u32,
    /// No order below this price.
    pub price_min: Price,
    /// No order above this price.
    pub price_max: Price,
    /// Most quote units one order may be worth.
    pub order_value_max: Amount,
    /// Most lots of one order.
    pub order_qty_max: Qty,
    /// Least base units held after every fill of every order that may be alive, in whatever market.
    pub inventory_min: Amount,
    /// Most base units held after every fill of every order that may be alive, in whatever market.
    pub inventory_max: Amount,
    /// Most base units signed and not behind their fence, in whatever market and on both sides, whatever the
    /// venue says became of them.
    pub signed_unexpired_max: Amount,
    /// Most orders that may be alive, per side.
    pub open_orders_max: u32,
    /// A wider book is dead.
    pub spread_max_bps: u32,
    /// A side with fewer lots (own orders removed) is dead.
    pub depth_min: Qty,
    /// A book whose content has not changed for this long is dead; 0 switches the check off.
    pub frozen_after_ms: u64,
    /// What an empty or one-sided book means.
    pub empty: EmptyBook,
    /// A working order stays if its price is within this of the wanted one.
    pub price_tolerance_bps: u32,
    /// A working order stays if its remaining quantity is within this of the wanted one.
    pub qty_tolerance_bps: u32,
    /// What it may lose.
    pub loss: LossConfig,
}

/// Losses in quote units, of the value at the mid of everything held and traded. Reaching one acts:
/// within the hour it pauses the market, within the day and from the peak it stops new orders
/// everywhere, since the start it halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossConfig {
    /// Most lost within an hour.
    pub hour_max: Amount,
    /// Most lost within a day of venue time.
    pub day_max: Amount,
    /// Most lost since the start.
    pub total_max: Amount,
    /// Furthest below the highest value since the start.
    pub drawdown_max: Amount,
}

impl LossConfig {
    /// The limit that a control stands for, if it is one of these.
    pub const fn of(&self, control: Control) -> Option<Amount> {
        match control {
            Control::LossHour => Some(self.hour_max),
            Control::LossDay => Some(self.day_max),
            Control::LossTotal => Some(self.total_max),
            Control::Drawdown => Some(self.drawdown_max),
            _ => None,
        }
    }

    /// No limit that any amount reaches: for worlds that measure losses instead of stopping at them.
    pub const UNLIMITED: Self = Self {
        hour_max: Amount::MAX,
        day_max: Amount::MAX,
        total_max: Amount::MAX,
        drawdown_max: Amount::MAX,
    };
}

/// What an order of somebody else on our account means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForeignOrders {
    /// Somebody is where nobody should be: no new orders until a person has looked.
    Alarm,
    /// Told and left alone; what it locks is not ours to use.
    #[default]
    Tolerate,
    /// Managed like an own order that nobody wants: it counts at its worst, and is cancelled.
    Adopt,
}

/// A start with less than full size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampConfig {
    /// Share of full size at first, in ten-thousandths; 10 000 is no ramp.
    pub start_bps: u32,
    /// Added after every healthy step.
    pub step_bps: u32,
    /// Length of a step; something unhealthy begins it anew.
    pub step_ms: u64,
}

impl RampConfig {
    /// Full size from the first order on.
    pub const OFF: Self = Self {
        start_bps: 10_000,
        step_bps: 10_000,
        step_ms: 1,
    };
}

/// Limits that belong to no single market. What one reaches is told by its name in
/// [`Control`](crate::control::Control).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskConfig {
    /// Most value at the mid, by quote token, of everything held and bid for in all its markets; a
    /// token that is absent has no market.
    pub gross_max: Amounts,
    /// Most that ledger and venue may differ by, by quote token, before everything is held back at once; of
    /// a token that is absent nothing may differ.
    pub mismatch_max: Amounts,
    /// A mid that moves further than this within `move_ms` pauses its market.
    pub move_bps: u32,
    /// The window of that.
    pub move_ms: u64,
    /// Most orders made within a minute, over all markets.
    pub orders_per_min: u32,
    /// So many cancels within a minute, and no new order is made; cancels are never held back.
    pub cancels_per_min: u32,
    /// Most orders and cancels sent for each fill of the last minute, one fill at least; 0 switches the
    /// check off.
    pub messages_per_fill: u32,
    /// Most transmissions, and most fills, within a minute: more than any budget allows. Latches.
    pub executions_per_min: u32,
    /// Equal orders are made no faster than this.
    pub duplicate_ms: u64,
    /// So many fills of a market in a row against us pause it; 0 switches the check off.
    pub streak_fills: u32,
    /// Against us is a mid that is worse than the price by this ...
    pub streak_bps: u32,
    /// ... so long after the fill was learnt.
    pub streak_ms: u64,
    /// No order is signed for longer than this.
    pub ttl_max_ms: u64,
    /// No order is signed with a higher fee than this.
    pub fee_max_bips: u8,
    /// How long a pause lasts that a control engages.
    pub pause_ms: u64,
    /// So many of them per market within a day; one more stops new orders everywhere.
    pub pauses_per_day: u32,
    /// The jump of the price that the worst case is stated for.
    pub gap_bps: u32,
}

impl Default for RiskConfig {
    /// Wide of everything that a healthy run does; `gross_max` has to be filled in, and `mismatch_max` where
    /// a difference of the books may last for a while.
    fn default() -> Self {
        Self {
            gross_max: Amounts::new(),
            mismatch_max: Amounts::new(),
            move_bps: 500,
            move_ms: 60_000,
            orders_per_min: 600,
            cancels_per_min: 600,
            messages_per_fill: 0,
            executions_per_min: 2_000,
            duplicate_ms: 250,
            streak_fills: 20,
            streak_bps: 50,
            streak_ms: 10_000,
            ttl_max_ms: 86_400_000,
            fee_max_bips: 63,
            pause_ms: 300_000,
            pauses_per_day: 5,
            gap_bps: 1_000,
        }
    }
}

/// Limits of the pool beside a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolConfig {
    /// Between polls of what the pool holds.
    pub poll_ms: u64,
    /// What the pool held longer ago than this is no knowledge of it.
    pub age_max_ms: u64,
    /// A move may bring at most this much less than what the pool held when last asked promises.
    pub slippage_bps: u32,
    /// No move while the pool's price and the book's mid differ by more than this.
    pub divergence_max_bps: u32,
    /// Most quote units one move may be worth.
    pub move_value_max: Amount,
    /// Most quote units our shares may be worth after a join.
    pub value_max: Amount,
    /// Highest fee of a join or an exit, in base units of the last pooled token. With 0 a join signs
    /// the form that knows no fee.
    pub fee_max: Amount,
}

/// Everything the engine is told once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// Life of an order.
    pub ttl_ms: u64,
    /// An order is replaced this long before its expiry.
    pub refresh_before_ms: u64,
    /// How long after expiry the venue may still show or fill an order.
    pub grace_ms: u64,
    /// No transmission starts later than this before expiry.
    pub resend_margin_ms: u64,
    /// Pause between transmissions of the same bytes, and after an order was refused.
    pub resend_after_ms: u64,
    /// Most transmissions of one order.
    pub attempts_max: u8,
    /// A request is given up after this (the shell's deadline). The engine waits for several of them.
    pub request_timeout_ms: u64,
    /// Draining gives up after this.
    pub drain_deadline_ms: u64,
    /// Highest fee signed into an order, 1 to 63.
    pub max_fee_bips: u8,
    /// Orders are sent as maker-only.
    pub maker_only: bool,
    /// Between status notes.
    pub status_ms: u64,
    /// Polling.
    pub poll: PollConfig,
    /// Rate budget.
    pub budget: BudgetConfig,
    /// Limits over everything.
    pub risk: RiskConfig,
    /// A start with less than full size.
    pub ramp: RampConfig,
    /// What an order of somebody else on our account means.
    pub foreign: ForeignOrders,
    /// One per market, in the order of `Start::markets`.
    pub markets: Vec<MarketConfig>,
    /// One per pool, in the order of `Start::pools`.
    pub pools: Vec<PoolConfig>,
}
