//! Taking over another configuration while running: what changes, and what becomes looser.
//!
//! A pure comparison of two checked configurations. Which file they came from is the program's.

use std::fmt::Display;

use crate::config::{EmptyBook, EngineConfig, ForeignOrders, MarketConfig, PoolConfig};
use crate::token::Amount;

/// Says what changes, or why the new configuration is not taken over.
pub fn judge(
    old: &EngineConfig,
    new: &EngineConfig,
    allow_loosening: bool,
) -> Result<String, String> {
    if old.markets.len() != new.markets.len() {
        return Err(format!(
            "there are {} markets now and {} in the new configuration; markets change with a restart",
            old.markets.len(),
            new.markets.len()
        ));
    }
    if old.pools.len() != new.pools.len() {
        return Err(format!(
            "there are {} pools now and {} in the new configuration; pools change with a restart",
            old.pools.len(),
            new.pools.len()
        ));
    }
    let looser = loosens(old, new);
    if !looser.is_empty() && !allow_loosening {
        return Err(format!(
            "{} would become looser, which has to be allowed explicitly",
            looser.join(", ")
        ));
    }
    Ok(match (old == new, looser.is_empty()) {
        (true, _) => "nothing changes".to_owned(),
        (false, true) => "taken over; no limit became looser".to_owned(),
        (false, false) => format!("taken over; looser: {}", looser.join(", ")),
    })
}

/// Every limit that the new configuration makes looser, by the name of its key, with both values.
pub fn loosens(old: &EngineConfig, new: &EngineConfig) -> Vec<String> {
    let mut found = Looser(Vec::new());
    found.wider("orders.ttl_ms", old.ttl_ms, new.ttl_ms);
    found.wider("orders.max_fee_bips", old.max_fee_bips, new.max_fee_bips);
    found.tighter("orders.grace_ms", old.grace_ms, new.grace_ms);
    let margins = (old.resend_margin_ms, new.resend_margin_ms);
    found.tighter("orders.resend_margin_ms", margins.0, margins.1);
    found.wider("orders.attempts_max", old.attempts_max, new.attempts_max);
    found.wider("orders.may_take", !old.maker_only, !new.maker_only);
    let (a, b) = (&old.poll, &new.poll);
    found.wider(
        "poll.depth_age_max_ms",
        a.depth_age_max_ms,
        b.depth_age_max_ms,
    );
    let ages = (a.balances_age_max_ms, b.balances_age_max_ms);
    found.wider("poll.balances_age_max_ms", ages.0, ages.1);
    found.wider(
        "poll.orders_age_max_ms",
        a.orders_age_max_ms,
        b.orders_age_max_ms,
    );
    let (a, b) = (&old.budget, &new.budget);
    found.wider("budget.per_s", a.per_s, b.per_s);
    found.wider("budget.burst", a.burst, b.burst);
    found.wider("budget.endpoint_per_s", a.endpoint_per_s, b.endpoint_per_s);
    found.wider("budget.endpoint_burst", a.endpoint_burst, b.endpoint_burst);
    found.tighter("budget.cancel_reserve", a.cancel_reserve, b.cancel_reserve);
    found.tighter("budget.penalty_ms", a.penalty_ms, b.penalty_ms);
    found.risk(old, new);
    for (index, (old, new)) in old.markets.iter().zip(&new.markets).enumerate() {
        found.market(index, old, new);
    }
    for (index, (old, new)) in old.pools.iter().zip(&new.pools).enumerate() {
        found.pool(index, old, new);
    }
    found.0
}

struct Looser(Vec<String>);

impl Looser {
    /// A limit from above.
    fn wider<T: PartialOrd + Display + Copy>(&mut self, name: impl AsRef<str>, old: T, new: T) {
        if new > old {
            self.0.push(format!("{} {old} → {new}", name.as_ref()));
        }
    }

    /// A limit from below.
    fn tighter<T: PartialOrd + Display + Copy>(&mut self, name: impl AsRef<str>, old: T, new: T) {
        if new < old {
            self.0.push(format!("{} {old} → {new}", name.as_ref()));
        }
    }

    /// A limit from above that 0 switches off.
    fn unless_off(&mut self, name: impl AsRef<str>, old: u64, new: u64) {
        let limit = |n: u64| if n == 0 { u64::MAX } else { n };
        if limit(new) > limit(old) {
            self.0.push(format!("{} {old} → {new}", name.as_ref()));
        }
    }

    fn risk(&mut self, old: &EngineConfig, new: &EngineConfig) {
        let (a, b) = (&old.risk, &new.risk);
        for (token, most) in &b.gross_max {
            let before = a.gross_max.get(token).copied().unwrap_or(Amount::MAX);
            self.wider(
                format!("risk.gross_max of token {}", token.0),
                before,
                *most,
            );
        }
        for token in a.gross_max.keys().filter(|t| !b.gross_max.contains_key(t)) {
            self.0
                .push(format!("risk.gross_max of token {} gone", token.0));
        }
        self.wider("risk.move_bps", a.move_bps, b.move_bps);
        self.tighter("risk.move_ms", a.move_ms, b.move_ms);
        self.wider("risk.orders_per_min", a.orders_per_min, b.orders_per_min);
        self.wider("risk.cancels_per_min", a.cancels_per_min, b.cancels_per_min);
        let messages = [a, b].map(|risk| u64::from(risk.messages_per_fill));
        self.unless_off("risk.messages_per_fill", messages[0], messages[1]);
        let most = (a.executions_per_min, b.executions_per_min);
        self.wider("risk.executions_per_min", most.0, most.1);
        self.tighter("risk.duplicate_ms", a.duplicate_ms, b.duplicate_ms);
        let fills = (u64::from(a.streak_fills), u64::from(b.streak_fills));
        self.unless_off("risk.streak_fills", fills.0, fills.1);
        self.wider("risk.streak_bps", a.streak_bps, b.streak_bps);
        self.wider("risk.ttl_max_ms", a.ttl_max_ms, b.ttl_max_ms);
        self.wider("risk.fee_max_bips", a.fee_max_bips, b.fee_max_bips);
        self.tighter("risk.pause_ms", a.pause_ms, b.pause_ms);
        self.wider("risk.pauses_per_day", a.pauses_per_day, b.pauses_per_day);
        let (a, b) = (&old.ramp, &new.ramp);
        self.wider("ramp.start_bps", a.start_bps, b.start_bps);
        self.wider("ramp.step_bps", a.step_bps, b.step_bps);
        self.tighter("ramp.step_ms", a.step_ms, b.step_ms);
        let rank = |policy: ForeignOrders| match policy {
            ForeignOrders::Alarm => 0,
            ForeignOrders::Adopt => 1,
            ForeignOrders::Tolerate => 2,
        };
        self.wider("risk.foreign_orders", rank(old.foreign), rank(new.foreign));
    }

    fn market(&mut self, index: usize, old: &MarketConfig, new: &MarketConfig) {
        let name = |key: &str| format!("market {index} {key}");
        self.wider(name("collar_bps"), old.collar_bps, new.collar_bps);
        self.tighter(name("price_floor"), old.price_min.0, new.price_min.0);
        self.wider(name("price_ceiling"), old.price_max.0, new.price_max.0);
        self.wider(
            name("order_value_max"),
            old.order_value_max,
            new.order_value_max,
        );
        self.wider(
            name("order_qty_max"),
            old.order_qty_max.0,
            new.order_qty_max.0,
        );
        self.tighter(name("inventory_min"), old.inventory_min, new.inventory_min);
        self.wider(name("inventory_max"), old.inventory_max, new.inventory_max);
        self.wider(
            name("open_orders_max"),
            old.open_orders_max,
            new.open_orders_max,
        );
        self.wider(
            name("spread_max_bps"),
            old.spread_max_bps,
            new.spread_max_bps,
        );
        self.tighter(name("depth_min"), old.depth_min.0, new.depth_min.0);
        self.unless_off(
            name("frozen_after_ms"),
            old.frozen_after_ms,
            new.frozen_after_ms,
        );
        if old.empty != new.empty && new.empty != EmptyBook::NoQuote {
            self.0.push(name("empty_book"));
        }
        let (a, b) = (&old.loss, &new.loss);
        self.wider(name("loss_hour_max"), a.hour_max, b.hour_max);
        self.wider(name("loss_day_max"), a.day_max, b.day_max);
        self.wider(name("loss_total_max"), a.total_max, b.total_max);
        self.wider(name("drawdown_max"), a.drawdown_max, b.drawdown_max);
    }

    fn pool(&mut self, index: usize, old: &PoolConfig, new: &PoolConfig) {
        let name = |key: &str| format!("pool {index} {key}");
        let ages = (old.age_max_ms, new.age_max_ms);
        self.wider(name("age_max_ms"), ages.0, ages.1);
        self.wider(name("slippage_bps"), old.slippage_bps, new.slippage_bps);
        let apart = (old.divergence_max_bps, new.divergence_max_bps);
        self.wider(name("divergence_max_bps"), apart.0, apart.1);
        let worth = (old.move_value_max, new.move_value_max);
        self.wider(name("move_value_max"), worth.0, worth.1);
        self.wider(name("value_max"), old.value_max, new.value_max);
        self.wider(name("fee_max"), old.fee_max, new.fee_max);
    }
}
