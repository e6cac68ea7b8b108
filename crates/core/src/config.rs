//! The engine's checked configuration: integers, units in the names, nothing optional that matters; and the
//! table of its limits ([`limits`](crate::limits)). A number of the file is one row here: the field, and after
//! its type key, unit, default, range, and the direction in which it is looser.
//!
//! How a file is read, and every message about a bad file, belongs to the program.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::event::Amounts;
use crate::limits::Usual::{Derived, Number, Required};
use crate::limits::declare::limits;
use crate::market::{MarketSpec, Price, Qty};
use crate::token::Amount;

/// The range of an interval between polls.
const INTERVAL: Option<RangeInclusive<u64>> = Some(50..=600_000);
/// The range of an age.
const AGE: Option<RangeInclusive<u64>> = Some(100..=3_600_000);
/// The range of a rate that the budget allows.
const RATE: Option<RangeInclusive<u64>> = Some(1..=10_000);
/// The range of a count within a minute.
const PER_MIN: Option<RangeInclusive<u64>> = Some(1..=10_000_000);

limits! {
    /// Intervals of polling, and the ages above which an answer no longer counts.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PollConfig in "poll" {
        /// Between depth polls of a market.
        pub depth_ms: u64 = "depth_ms", Ms, Number(1_000), INTERVAL, Never;
        /// Between scans of the orders list.
        pub orders_ms: u64 = "orders_ms", Ms, Number(2_000), INTERVAL, Never;
        /// Between balance polls.
        pub balances_ms: u64 = "balances_ms", Ms, Number(3_000), INTERVAL, Never;
        /// Between polls of markets, tokens, account, and of everything that rests on it.
        pub meta_ms: u64 = "meta_ms", Ms, Number(30_000), INTERVAL, Never;
        /// Nothing new is ordered on a depth older than this.
        pub depth_age_max_ms: u64 = "depth_age_max_ms", Ms, Number(5_000), AGE, Higher;
        /// Nothing new is ordered on balances older than this.
        pub balances_age_max_ms: u64 = "balances_age_max_ms", Ms, Number(15_000), AGE, Higher;
        /// Nothing new is ordered on a list of own orders older than this.
        pub orders_age_max_ms: u64 = "orders_age_max_ms", Ms, Number(30_000), AGE, Higher;
        /// Entries per page of the orders list.
        pub orders_page: u32 = "orders_page", Count, Number(50), Some(1..=1_000), Never;
    }
}

limits! {
    /// Token buckets.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct BudgetConfig in "budget" {
        /// Requests per second over all endpoints.
        pub per_s: u32 = "per_s", Count, Number(15), RATE, Higher;
        /// Burst over all endpoints.
        pub burst: u32 = "burst", Count, Number(15), RATE, Higher;
        /// Part of the burst that only cancels may take.
        pub cancel_reserve: u32 = "cancel_reserve", Count, Number(4), Some(0..=10_000), Lower;
        /// Requests per second on one endpoint.
        pub endpoint_per_s: u32 = "endpoint_per_s", Count, Number(3), RATE, Higher;
        /// Burst on one endpoint.
        pub endpoint_burst: u32 = "endpoint_burst", Count, Number(2), RATE, Higher;
        /// How long an endpoint gets no requests after a 429.
        pub penalty_ms: u64 = "penalty_ms", Ms, Number(2_000), Some(0..=600_000), Lower;
    }
}

/// What an empty or one-sided book means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EmptyBook {
    /// Nothing is quoted.
    NoQuote,
    /// This price stands in for the mid.
    Seed(Price),
}

impl EmptyBook {
    /// As the file has it, with the price.
    pub fn text(self, spec: &MarketSpec) -> String {
        match self {
            Self::NoQuote => "no-quote".to_owned(),
            Self::Seed(seed) => format!("seed-price {}", spec.price_text(seed)),
        }
    }
}

limits! {
    /// Limits of one market.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct MarketConfig in "market" {
        /// No order price differs from the mid by more than this.
        pub collar_bps: u32 = "collar_bps", Bps, Number(200), Some(1..=10_000), Higher;
        /// No order below this price; a mid below it stops quoting.
        pub price_min: Price = "price_floor", Price, Required, None, Lower;
        /// No order above this price; a mid above it stops quoting.
        pub price_max: Price = "price_ceiling", Price, Required, None, Higher;
        /// Most that one order may be worth.
        pub order_value_max: Amount = "order_value_max", Quote, Required, None, Higher;
        /// Largest quantity of one order.
        pub order_qty_max: Qty = "order_qty_max", Lots, Derived("what `order_value_max` buys at the floor"), None, Higher;
        /// Least held of the base token after every fill of every order that may be alive, in whatever market.
        pub inventory_min: Amount = "inventory_min", Base, Required, None, Lower;
        /// Most held of the base token after every fill of every order that may be alive, in whatever market.
        pub inventory_max: Amount = "inventory_max", Base, Required, None, Higher;
        /// Most of a base token that may be signed and unexpired, in whatever market and on both sides, whatever
        /// the venue reports of these orders.
        pub signed_unexpired_max: Amount = in "risk" "signed_unexpired_max", Base, Derived("what may rest at once, signed again every 5 seconds"), None, Higher;
        /// Most orders that may be alive, per side.
        pub open_orders_max: u32 = "open_orders_max", Count, Number(4), Some(1..=1_000), Higher;
        /// A book wider than this is not fit for pricing.
        pub spread_max_bps: u32 = "spread_max_bps", Bps, Number(500), Some(1..=10_000), Higher;
        /// A book with less than this on a side (own orders removed) is not fit for pricing.
        pub depth_min: Qty = "depth_min", Lots, Number(0), None, Lower;
        /// A book whose content has not changed for this long is not fit for pricing.
        pub frozen_after_ms: u64 = "frozen_after_s", Seconds, Number(300), Some(0..=86_400), HigherOrZero;
        /// What an empty or one-sided book means.
        pub empty: EmptyBook;
        /// A working order stays if its price is within this of the wanted one.
        pub price_tolerance_bps: u32 = "price_tolerance_bps", Bps, Number(5), Some(0..=1_000), Never;
        /// A working order stays if its remaining quantity is within this of the wanted one.
        pub qty_tolerance_bps: u32 = "qty_tolerance_bps", Bps, Number(1_000), Some(0..=9_999), Never;
        /// What it may lose.
        pub loss: LossConfig;
    }
}

limits! {
    /// Losses in quote units, of the value at the mid of everything held and traded. Reaching one acts:
    /// within the hour it pauses the market, within the day and from the peak it stops new orders
    /// everywhere, since the start it halts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct LossConfig in "market" {
        /// Most lost within an hour; more pauses the market.
        pub hour_max: Amount = "loss_hour_max", Quote, Derived("a quarter of the market's stated loss"), None, Higher;
        /// Most lost within a day of venue time; more allows only cancels, everywhere.
        pub day_max: Amount = "loss_day_max", Quote, Derived("half of the market's stated loss"), None, Higher;
        /// Most lost since the start; more halts trading.
        pub total_max: Amount = "loss_total_max", Quote, Derived("the market's stated loss"), None, Higher;
        /// Furthest below the highest value since the start; more allows only cancels, everywhere.
        pub drawdown_max: Amount = "drawdown_max", Quote, Derived("half of the market's stated loss"), None, Higher;
    }
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

/// What an order on our account means that this daemon did not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForeignOrders {
    /// No new orders until an operator lifts that.
    Alarm,
    /// Reported and left alone; what it locks is not ours to use.
    #[default]
    Tolerate,
    /// Managed like an own order that no strategy wants: it counts at its worst, and is cancelled.
    Adopt,
}

impl ForeignOrders {
    /// Every policy, the looser the later.
    pub const ALL: [Self; 3] = [Self::Alarm, Self::Adopt, Self::Tolerate];

    /// As the file has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alarm => "alarm",
            Self::Adopt => "adopt",
            Self::Tolerate => "tolerate",
        }
    }
}

limits! {
    /// A start with less than full size.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RampConfig in "ramp" {
        /// Share of full size at first; 10000 is no ramp.
        pub start_bps: u32 = "start_bps", Bps, Number(10_000), Some(1..=10_000), Higher;
        /// Added after every healthy step.
        pub step_bps: u32 = "step_bps", Bps, Number(2_500), Some(1..=10_000), Higher;
        /// Length of a step; something unhealthy begins it anew.
        pub step_ms: u64 = "step_s", Seconds, Number(3_600), Some(1..=86_400), Lower;
    }
}

impl RampConfig {
    /// Full size from the first order on.
    pub const OFF: Self = Self {
        start_bps: 10_000,
        step_bps: 10_000,
        step_ms: 1,
    };
}

limits! {
    /// Limits that belong to no single market. The control that compares one is in
    /// [`Control`](crate::control::Control).
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RiskConfig in "risk" {
        /// Most value at the mid, by quote token, of everything held and bid for in all its markets; a
        /// token that is absent has no market.
        pub gross_max: Amounts;
        /// Most that ledger and venue may differ by, by quote token, before trading stops at once; of a token
        /// that is absent nothing may differ.
        pub mismatch_max: Amounts;
        /// A mid that moves further than this within `move_s` pauses its market.
        pub move_bps: u32 = "move_bps", Bps, Number(500), Some(1..=10_000), Higher;
        /// The window of `move_bps`.
        pub move_ms: u64 = "move_s", Seconds, Number(60), Some(1..=3_600), Lower;
        /// Most orders made within a minute, over all markets.
        pub orders_per_min: u32 = "orders_per_min", Count, Derived("what the budget allows"), PER_MIN, Higher;
        /// With so many cancels within a minute no new order is made; cancels are never held back.
        pub cancels_per_min: u32 = "cancels_per_min", Count, Derived("twice what the budget allows"), PER_MIN, Higher;
        /// Most orders and cancels sent for each fill of the last minute, one fill at least.
        pub messages_per_fill: u32 = "messages_per_fill", Count, Number(0), Some(0..=1_000_000), HigherOrZero;
        /// Most transmissions of orders, and most completely filled orders, within a minute: more than any budget allows. Reaching it allows only cancels, until an operator lifts that.
        pub executions_per_min: u32 = "executions_per_min", Count, Derived("one and a half times what the budget allows, which is also the least"), PER_MIN, Higher;
        /// An equal order is made again only after this, unless as many are wanted.
        pub duplicate_ms: u64 = "duplicate_ms", Ms, Number(250), Some(0..=60_000), Lower;
        /// So many fills of a market in a row against us pause it.
        pub streak_fills: u32 = "streak_fills", Count, Number(20), Some(0..=10_000), HigherOrZero;
        /// A fill is against us if the mid is worse than its price by this after `streak_s`.
        pub streak_bps: u32 = "streak_bps", Bps, Number(50), Some(1..=10_000), Higher;
        /// How long after a fill was learnt its price is compared with the mid.
        pub streak_ms: u64 = "streak_s", Seconds, Number(10), Some(1..=3_600), Never;
        /// No order is signed for longer than this.
        pub ttl_max_ms: u64 = "ttl_max_s", Seconds, Derived("twice `orders.ttl_s`"), Some(5..=86_400), Higher;
        /// No order is signed with a higher fee than this.
        pub fee_max_bips: u8 = "fee_max_bips", Bps, Derived("`orders.max_fee_bips`"), Some(1..=63), Higher;
        /// How long a pause lasts that a control engages.
        pub pause_ms: u64 = "pause_s", Seconds, Number(300), Some(1..=86_400), Lower;
        /// Most such pauses of a market within a day; one more stops new orders everywhere.
        pub pauses_per_day: u32 = "pauses_per_day", Count, Number(5), Some(0..=60), Higher;
        /// The jump of the price that the stated loss is computed for; unstated loss limits follow from it.
        pub gap_bps: u32 = "gap_bps", Bps, Number(1_000), Some(1..=10_000), Never;
    }
}

impl Default for RiskConfig {
    /// The defaults of the table, and far above everything that a healthy run does where a default follows from
    /// other keys. `gross_max` has to be set, and `mismatch_max` where a difference of the books may last for a
    /// while.
    fn default() -> Self {
        let mut risk = Self {
            orders_per_min: 600,
            cancels_per_min: 600,
            executions_per_min: 2_000,
            ttl_max_ms: 86_400_000,
            fee_max_bips: 63,
            ..Self::unset()
        };
        for limit in Self::LIMITS {
            if let Number(number) = limit.about.usual {
                limit.set_number(&mut risk, number);
            }
        }
        risk
    }
}

limits! {
    /// Limits of the pool beside a market.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PoolConfig in "market.pool" {
        /// Between polls of what the pool holds.
        pub poll_ms: u64 = "poll_ms", Ms, Number(2_000), INTERVAL, Never;
        /// Nothing is decided on pool balances older than this.
        pub age_max_ms: u64 = "age_max_ms", Ms, Number(10_000), AGE, Higher;
        /// A join or an exit may bring at most this much less than the pool promised when last polled.
        pub slippage_bps: u32 = "slippage_bps", Bps, Number(50), Some(0..=5_000), Higher;
        /// No join and no exit while the pool's price and the mid differ by more than this.
        pub divergence_max_bps: u32 = "divergence_max_bps", Bps, Number(100), Some(1..=5_000), Higher;
        /// Most that one join or exit may be worth.
        pub move_value_max: Amount = "move_value_max", Quote, Required, None, Higher;
        /// Most that all shares may be worth after a join.
        pub value_max: Amount = "value_max", Quote, Required, None, Higher;
        /// Highest fee of a join or an exit. With 0 a join signs the form without a fee.
        pub fee_max: Amount = "max_fee", Quote, Number(0), None, Higher;
    }
}

limits! {
    /// Everything that the engine is configured with.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct EngineConfig in "orders" {
        /// Life of an order.
        pub ttl_ms: u64 = "ttl_s", Seconds, Number(120), Some(5..=86_400), Higher;
        /// An order is replaced this long before its expiry.
        pub refresh_before_ms: u64 = "refresh_before_s", Seconds, Number(20), Some(1..=86_399), Never;
        /// How long after expiry the venue may still show or fill an order.
        pub grace_ms: u64 = "grace_s", Seconds, Number(30), Some(1..=3_600), Lower;
        /// No transmission starts later than this before expiry.
        pub resend_margin_ms: u64 = "resend_margin_ms", Ms, Number(3_000), Some(100..=600_000), Lower;
        /// Pause between transmissions of the same bytes, and of a market after the venue refused an order; doubled with each refusal in a row.
        pub resend_after_ms: u64 = "resend_after_ms", Ms, Number(1_500), Some(100..=60_000), Never;
        /// Most transmissions of one order, always the same bytes.
        pub attempts_max: u8 = "attempts_max", Count, Number(3), Some(1..=10), Higher;
        /// A request is given up after this (the shell's deadline). The engine waits for several of them.
        pub request_timeout_ms: u64;
        /// Draining gives up after this.
        pub drain_deadline_ms: u64;
        /// Highest fee signed into an order.
        pub max_fee_bips: u8 = "max_fee_bips", Bps, Number(63), Some(1..=63), Higher;
        /// Whether orders may only rest (true) or also take (false).
        pub maker_only: bool = "maker_only", Flag, Number(1), Some(0..=1), Lower;
        /// Between status notifications.
        pub status_ms: u64 = in "poll" "status_ms", Ms, Number(1_000), INTERVAL, Never;
        /// Polling.
        pub poll: PollConfig;
        /// Rate budget.
        pub budget: BudgetConfig;
        /// Limits over everything.
        pub risk: RiskConfig;
        /// A start with less than full size.
        pub ramp: RampConfig;
        /// What an order on our account means that this daemon did not make.
        pub foreign: ForeignOrders;
        /// One per market, in the order of `Start::markets`.
        pub markets: Vec<MarketConfig>;
        /// One per pool, in the order of `Start::pools`.
        pub pools: Vec<PoolConfig>;
    }
}
