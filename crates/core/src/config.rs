//! The engine's checked configuration: integers, units in the names, nothing optional that matters.
//!
//! How it is written in a file, and every message about a bad file, belongs to the program.

use serde::{Deserialize, Serialize};

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
    /// Between polls of markets and account.
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
    /// Least base units held after every fill of every order that may be alive, in whatever market.
    pub inventory_min: Amount,
    /// Most base units held after every fill of every order that may be alive, in whatever market.
    pub inventory_max: Amount,
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
    /// One per market, in the order of `Start::markets`.
    pub markets: Vec<MarketConfig>,
}
