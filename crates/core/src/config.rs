//! The engine's checked configuration: integers with units in their names, and every value that matters is required;
//! and the table of its limits ([`limits`](crate::limits)). A number in the file is one row: the field, and after its
//! type the key, unit, default, range, and the direction in which it is looser.
//!
//! The program reads the file and reports errors in it.

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
    /// Intervals of polling, and the ages above which an answer is stale.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PollConfig in "poll" {
        /// Between depth polls of a market, on average over the markets.
        pub depth_ms: u64 = "depth_ms", Ms, Number(1_000), INTERVAL, Never;
        /// Between scans of the orders list.
        pub orders_ms: u64 = "orders_ms", Ms, Number(2_000), INTERVAL, Never;
        /// Between balance polls.
        pub balances_ms: u64 = "balances_ms", Ms, Number(3_000), INTERVAL, Never;
        /// Between polls of markets, tokens, account, and of everything that rests on the account.
        pub meta_ms: u64 = "meta_ms", Ms, Number(30_000), INTERVAL, Never;
        /// No order is placed on a depth older than this.
        pub depth_age_max_ms: u64 = "depth_age_max_ms", Ms, Number(5_000), AGE, Higher;
        /// No order is placed on balances older than this.
        pub balances_age_max_ms: u64 = "balances_age_max_ms", Ms, Number(15_000), AGE, Higher;
        /// No order is placed on a list of own orders older than this.
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
        /// Part of the burst that is reserved for cancels.
        pub cancel_reserve: u32 = "cancel_reserve", Count, Number(4), Some(0..=10_000), Lower;
        /// Requests per second on one endpoint.
        pub endpoint_per_s: u32 = "endpoint_per_s", Count, Number(3), RATE, Higher;
        /// Burst on one endpoint.
        pub endpoint_burst: u32 = "endpoint_burst", Count, Number(2), RATE, Higher;
        /// Pause of an endpoint after status 429.
        pub penalty_ms: u64 = "penalty_ms", Ms, Number(2_000), Some(0..=600_000), Lower;
    }
}

/// How an empty or one-sided book is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EmptyBook {
    /// Nothing is quoted.
    NoQuote,
    /// This price replaces the mid.
    Seed(Price),
}

impl EmptyBook {
    /// The text in the file, including the price.
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
        /// Largest value of one order.
        pub order_value_max: Amount = "order_value_max", Quote, Required, None, Higher;
        /// Largest quantity of one order.
        pub order_qty_max: Qty = "order_qty_max", Lots, Derived("what `order_value_max` buys at the floor"), None, Higher;
        /// Smallest balance of the base token after every fill of every order that may be alive, in any market.
        pub inventory_min: Amount = "inventory_min", Base, Required, None, Lower;
        /// Largest balance of the base token after every fill of every order that may be alive, in any market.
        pub inventory_max: Amount = "inventory_max", Base, Required, None, Higher;
        /// Largest signed and unexpired amount of a base token, in any market and on both sides, whatever the venue
        /// reports of these orders.
        pub signed_unexpired_max: Amount = in "risk" "signed_unexpired_max", Base, Derived("what may rest at once, signed again every 5 seconds"), None, Higher;
        /// Most orders that may be alive, per side.
        pub open_orders_max: u32 = "open_orders_max", Count, Number(4), Some(1..=1_000), Higher;
        /// A book wider than this is not fit for pricing.
        pub spread_max_bps: u32 = "spread_max_bps", Bps, Number(250), Some(1..=10_000), Higher;
        /// A book with less than this on a side (own orders removed) is not fit for pricing.
        pub depth_min: Qty = "depth_min", Lots, Number(0), None, Lower;
        /// A book whose content has not changed for this long is not fit for pricing.
        pub frozen_after_ms: u64 = "frozen_after_s", Seconds, Number(300), Some(0..=86_400), HigherOrZero;
        /// How an empty or one-sided book is treated.
        pub empty: EmptyBook;
        /// A working order stays if its price is within this of the target.
        pub price_tolerance_bps: u32 = "price_tolerance_bps", Bps, Number(5), Some(0..=1_000), Higher;
        /// A working order stays if its remaining quantity is within this of the target.
        pub qty_tolerance_bps: u32 = "qty_tolerance_bps", Bps, Number(1_000), Some(0..=9_999), Higher;
        /// Loss limits.
        pub loss: LossConfig;
    }
}

limits! {
    /// Loss limits in quote units, of the value of all holdings at the mid. Reaching the limit of the hour pauses the
    /// market; that of the day or the drawdown stops new orders everywhere; that of the total halts trading.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct LossConfig in "market" {
        /// Largest loss within an hour; above it the market is paused.
        pub hour_max: Amount = "loss_hour_max", Quote, Derived("a quarter of the market's stated loss"), None, Higher;
        /// Largest loss within a day of venue time; above it only cancels are sent, everywhere.
        pub day_max: Amount = "loss_day_max", Quote, Derived("half of the market's stated loss"), None, Higher;
        /// Largest loss since the start; above it trading is halted.
        pub total_max: Amount = "loss_total_max", Quote, Derived("the market's stated loss"), None, Higher;
        /// Largest distance below the highest value since the start; above it only cancels are sent, everywhere.
        pub drawdown_max: Amount = "drawdown_max", Quote, Derived("half of the market's stated loss"), None, Higher;
    }
}

impl LossConfig {
    /// The limit of a loss control; `None` for another control.
    pub const fn of(&self, control: Control) -> Option<Amount> {
        match control {
            Control::LossHour => Some(self.hour_max),
            Control::LossDay => Some(self.day_max),
            Control::LossTotal => Some(self.total_max),
            Control::Drawdown => Some(self.drawdown_max),
            _ => None,
        }
    }

    /// Limits that no amount reaches: for simulated worlds that measure losses without stopping.
    pub const UNLIMITED: Self = Self {
        hour_max: Amount::MAX,
        day_max: Amount::MAX,
        total_max: Amount::MAX,
        drawdown_max: Amount::MAX,
    };
}

/// How orders on the account that this daemon did not make are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForeignOrders {
    /// No new orders until an operator lifts that.
    Alarm,
    /// Reported only; the amounts they lock are not used.
    #[default]
    Tolerate,
    /// Managed like an own order without a target: it counts at its worst, and is cancelled.
    Adopt,
}

impl ForeignOrders {
    /// All policies, stricter ones first.
    pub const ALL: [Self; 3] = [Self::Alarm, Self::Adopt, Self::Tolerate];

    /// The text in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alarm => "alarm",
            Self::Adopt => "adopt",
            Self::Tolerate => "tolerate",
        }
    }
}

limits! {
    /// A start below full size.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RampConfig in "ramp" {
        /// Initial share of full size; 10000 means no ramp.
        pub start_bps: u32 = "start_bps", Bps, Number(10_000), Some(1..=10_000), Higher;
        /// Increase after every healthy step.
        pub step_bps: u32 = "step_bps", Bps, Number(2_500), Some(1..=10_000), Higher;
        /// Length of a step; a fault restarts it.
        pub step_ms: u64 = "step_s", Seconds, Number(3_600), Some(1..=86_400), Lower;
    }
}

impl RampConfig {
    /// Full size from the first order.
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
        /// Largest value at the mid, by quote token, of all holdings and bids in all its markets; a token that is
        /// absent has no market.
        pub gross_max: Amounts;
        /// Largest difference between ledger and venue, by quote token, before trading stops at once; for a token that
        /// is absent any difference does.
        pub mismatch_max: Amounts;
        /// A mid that moves further than this within `move_s` pauses its market.
        pub move_bps: u32 = "move_bps", Bps, Number(500), Some(1..=10_000), Higher;
        /// The window of `move_bps`.
        pub move_ms: u64 = "move_s", Seconds, Number(60), Some(1..=3_600), Lower;
        /// Most orders created within a minute, over all markets.
        pub orders_per_min: u32 = "orders_per_min", Count, Derived("what the budget allows"), PER_MIN, Higher;
        /// With this many cancels within a minute no new order is created; cancels are never withheld.
        pub cancels_per_min: u32 = "cancels_per_min", Count, Derived("twice what the budget allows"), PER_MIN, Higher;
        /// Most orders and cancels sent per fill of the last minute, which counts as at least one fill.
        pub messages_per_fill: u32 = "messages_per_fill", Count, Number(0), Some(0..=1_000_000), HigherOrZero;
        /// Most transmissions of orders, and most completely filled orders, within a minute: more than any budget
        /// allows. At the limit only cancels are sent until an operator resumes.
        pub executions_per_min: u32 = "executions_per_min", Count, Derived("one and a half times what the budget allows, which is also the least"), PER_MIN, Higher;
        /// An equal order is created again only after this time, unless there are as many equal targets.
        pub duplicate_ms: u64 = "duplicate_ms", Ms, Number(250), Some(0..=60_000), Lower;
        /// Number of consecutive fills of a market against us after which it is paused.
        pub streak_fills: u32 = "streak_fills", Count, Number(20), Some(0..=10_000), HigherOrZero;
        /// A fill is against us if the mid is worse than its price by this after `streak_s`.
        pub streak_bps: u32 = "streak_bps", Bps, Number(50), Some(1..=10_000), Higher;
        /// Time after the detection of a fill at which its price is compared with the mid.
        pub streak_ms: u64 = "streak_s", Seconds, Number(10), Some(1..=3_600), Never;
        /// Longest time to live of a signed order.
        pub ttl_max_ms: u64 = "ttl_max_s", Seconds, Derived("twice `orders.ttl_s`"), Some(5..=86_400), Higher;
        /// Highest fee of a signed order.
        pub fee_max_bips: u8 = "fee_max_bips", Bps, Derived("`orders.max_fee_bips`"), Some(1..=63), Higher;
        /// Length of a pause that a control engages.
        pub pause_ms: u64 = "pause_s", Seconds, Number(300), Some(1..=86_400), Lower;
        /// Most such pauses of a market within a day; one more stops new orders everywhere.
        pub pauses_per_day: u32 = "pauses_per_day", Count, Number(5), Some(0..=60), Higher;
        /// The jump of the price that the stated loss is computed for; unstated loss limits follow from it.
        pub gap_bps: u32 = "gap_bps", Bps, Number(1_000), Some(1..=10_000), Never;
    }
}

impl Default for RiskConfig {
    /// The defaults of the table; where a default follows from other keys, a value far above anything that a healthy
    /// run does. `gross_max` must be set, and `mismatch_max` wherever the books may differ for a while.
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
        /// Between polls of the pool's balances.
        pub poll_ms: u64 = "poll_ms", Ms, Number(2_000), INTERVAL, Never;
        /// Nothing is decided on pool balances older than this.
        pub age_max_ms: u64 = "age_max_ms", Ms, Number(10_000), AGE, Higher;
        /// A join, an exit or a swap may yield at most this much less than the pool's last polled balances give.
        pub slippage_bps: u32 = "slippage_bps", Bps, Number(50), Some(0..=5_000), Higher;
        /// No join and no exit while the pool's price and the mid differ by more than this.
        pub divergence_max_bps: u32 = "divergence_max_bps", Bps, Number(100), Some(1..=5_000), Higher;
        /// Largest value of one join or exit.
        pub move_value_max: Amount = "move_value_max", Quote, Required, None, Higher;
        /// Largest value of all shares after a join.
        pub value_max: Amount = "value_max", Quote, Required, None, Higher;
        /// Highest fee of a join or an exit. With 0 a join signs the form without a fee.
        pub fee_max: Amount = "max_fee", Quote, Number(0), None, Higher;
        /// Largest value of one swap with the pool. With 0 there are no swaps.
        pub swap_value_max: Amount = "swap_value_max", Quote, Number(0), None, Higher;
        /// Fees that are owed to the shares are collected once they are worth this. With 0 they are paid out by exits
        /// only.
        pub collect_value: Amount = "collect_value", Quote, Number(0), None, Never;
        /// Most swaps created within a minute.
        pub swaps_per_min: u32 = "swaps_per_min", Count, Number(6), Some(1..=600), Higher;
    }
}

limits! {
    /// The configuration of the engine.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct EngineConfig in "orders" {
        /// Time to live of an order.
        pub ttl_ms: u64 = "ttl_s", Seconds, Number(120), Some(5..=86_400), Higher;
        /// An order is replaced this long before its expiry.
        pub refresh_before_ms: u64 = "refresh_before_s", Seconds, Number(20), Some(1..=86_399), Never;
        /// Time after expiry in which the venue may still show or fill an order.
        pub grace_ms: u64 = "grace_s", Seconds, Number(30), Some(1..=3_600), Lower;
        /// No transmission starts later than this before expiry.
        pub resend_margin_ms: u64 = "resend_margin_ms", Ms, Number(3_000), Some(100..=600_000), Lower;
        /// Pause between transmissions of the same bytes, and of a market after the venue refused an order; doubled with each refusal in a row.
        pub resend_after_ms: u64 = "resend_after_ms", Ms, Number(1_500), Some(100..=60_000), Never;
        /// Most transmissions of one order, always the same bytes.
        pub attempts_max: u8 = "attempts_max", Count, Number(3), Some(1..=10), Higher;
        /// Time-out of a request in the shell. The engine waits for several time-outs.
        pub request_timeout_ms: u64;
        /// Draining ends after this even without proof.
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
        /// Limits over all markets.
        pub risk: RiskConfig;
        /// A start below full size.
        pub ramp: RampConfig;
        /// How orders on the account that this daemon did not make are treated.
        pub foreign: ForeignOrders;
        /// One per market, in the order of `Start::markets`.
        pub markets: Vec<MarketConfig>;
        /// One per pool, in the order of `Start::pools`.
        pub pools: Vec<PoolConfig>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_control_has_its_own_limit_and_no_other_has_one() {
        let limits = LossConfig {
            hour_max: 1,
            day_max: 2,
            total_max: 3,
            drawdown_max: 4,
        };
        for control in Control::ALL {
            let most = match control {
                Control::LossHour => Some(1),
                Control::LossDay => Some(2),
                Control::LossTotal => Some(3),
                Control::Drawdown => Some(4),
                _ => None,
            };
            assert_eq!(limits.of(control), most, "{control:?}");
        }
    }
}
