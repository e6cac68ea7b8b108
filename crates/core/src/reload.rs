//! Taking over another configuration while running: what changes, and what becomes looser.
//!
//! A pure comparison of two checked configurations, told in the words and units of the file. Which file they
//! came from is the program's.

use std::fmt::Display;

use crate::config::{EmptyBook, EngineConfig, ForeignOrders, MarketConfig, PoolConfig};
use crate::market::MarketSpec;
use crate::token::Amount;

/// What amounts and prices of a configuration are in.
#[derive(Debug)]
pub struct Units<'a> {
    /// Markets, in the order of the configuration.
    pub markets: Vec<&'a MarketSpec>,
    /// The market beside each pool, in the order of the configuration.
    pub pools: Vec<&'a MarketSpec>,
}

/// Says what changes, or why the new configuration is not taken over.
pub fn judge(
    old: &EngineConfig,
    new: &EngineConfig,
    allow_loosening: bool,
    units: &Units<'_>,
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
    let looser = loosens(old, new, units);
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
pub fn loosens(old: &EngineConfig, new: &EngineConfig, units: &Units<'_>) -> Vec<String> {
    let mut found = Looser(Vec::new());
    found.wider_as("orders.ttl_s", old.ttl_ms, new.ttl_ms, seconds);
    found.wider("orders.max_fee_bips", old.max_fee_bips, new.max_fee_bips);
    found.tighter_as("orders.grace_s", old.grace_ms, new.grace_ms, seconds);
    let margins = (old.resend_margin_ms, new.resend_margin_ms);
    found.tighter("orders.resend_margin_ms", margins.0, margins.1);
    found.wider("orders.attempts_max", old.attempts_max, new.attempts_max);
    found.tighter("orders.maker_only", old.maker_only, new.maker_only);
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
    found.risk(old, new, units);
    for ((old, new), spec) in old.markets.iter().zip(&new.markets).zip(&units.markets) {
        found.market(spec, old, new);
    }
    for ((old, new), spec) in old.pools.iter().zip(&new.pools).zip(&units.pools) {
        found.pool(spec, old, new);
    }
    found.0
}

/// Milliseconds as the file has them: seconds.
fn seconds(ms: u64) -> String {
    crate::math::decimal(ms.into(), 3)
}

struct Looser(Vec<String>);

impl Looser {
    /// A limit from above.
    fn wider<T: PartialOrd + Display + Copy>(&mut self, name: impl AsRef<str>, old: T, new: T) {
        self.wider_as(name, old, new, |value| value.to_string());
    }

    /// A limit from below.
    fn tighter<T: PartialOrd + Display + Copy>(&mut self, name: impl AsRef<str>, old: T, new: T) {
        self.tighter_as(name, old, new, |value| value.to_string());
    }

    /// A limit from above, with its own way of being told.
    fn wider_as<T: PartialOrd + Copy>(
        &mut self,
        name: impl AsRef<str>,
        old: T,
        new: T,
        text: impl Fn(T) -> String,
    ) {
        if new > old {
            self.changed(name, &text(old), &text(new));
        }
    }

    /// A limit from below, with its own way of being told.
    fn tighter_as<T: PartialOrd + Copy>(
        &mut self,
        name: impl AsRef<str>,
        old: T,
        new: T,
        text: impl Fn(T) -> String,
    ) {
        if new < old {
            self.changed(name, &text(old), &text(new));
        }
    }

    /// A limit from above that 0 switches off.
    fn unless_off(
        &mut self,
        name: impl AsRef<str>,
        old: u64,
        new: u64,
        text: impl Fn(u64) -> String,
    ) {
        let limit = |n: u64| if n == 0 { u64::MAX } else { n };
        if limit(new) > limit(old) {
            self.changed(name, &text(old), &text(new));
        }
    }

    fn changed(&mut self, name: impl AsRef<str>, old: &str, new: &str) {
        self.0.push(format!("{} {old} → {new}", name.as_ref()));
    }

    fn risk(&mut self, old: &EngineConfig, new: &EngineConfig, units: &Units<'_>) {
        let (a, b) = (&old.risk, &new.risk);
        let quote = |token| {
            let quotes = units.markets.iter().map(|spec| &spec.quote);
            quotes.into_iter().find(move |spec| spec.id == token)
        };
        let text = |token, amount: Amount| {
            quote(token).map_or_else(|| amount.to_string(), |spec| spec.text(amount))
        };
        for (token, most) in &b.gross_max {
            let before = a.gross_max.get(token).copied().unwrap_or(Amount::MAX);
            let name = "risk.gross_max_bps: most in one token";
            self.wider_as(name, before, *most, |amount| text(*token, amount));
        }
        for (token, most) in a
            .gross_max
            .iter()
            .filter(|(t, _)| !b.gross_max.contains_key(t))
        {
            self.changed(
                "risk.gross_max_bps: most in one token",
                &text(*token, *most),
                "no limit",
            );
        }
        for (token, most) in &b.mismatch_max {
            let before = a.mismatch_max.get(token).copied().unwrap_or(0);
            self.wider_as("risk.mismatch_max", before, *most, |amount| {
                text(*token, amount)
            });
        }
        self.wider("risk.move_bps", a.move_bps, b.move_bps);
        self.tighter_as("risk.move_s", a.move_ms, b.move_ms, seconds);
        self.wider("risk.orders_per_min", a.orders_per_min, b.orders_per_min);
        self.wider("risk.cancels_per_min", a.cancels_per_min, b.cancels_per_min);
        let messages = [a, b].map(|risk| u64::from(risk.messages_per_fill));
        self.unless_off("risk.messages_per_fill", messages[0], messages[1], number);
        let most = (a.executions_per_min, b.executions_per_min);
        self.wider("risk.executions_per_min", most.0, most.1);
        self.tighter("risk.duplicate_ms", a.duplicate_ms, b.duplicate_ms);
        let fills = (u64::from(a.streak_fills), u64::from(b.streak_fills));
        self.unless_off("risk.streak_fills", fills.0, fills.1, number);
        self.wider("risk.streak_bps", a.streak_bps, b.streak_bps);
        self.wider_as("risk.ttl_max_s", a.ttl_max_ms, b.ttl_max_ms, seconds);
        self.wider("risk.fee_max_bips", a.fee_max_bips, b.fee_max_bips);
        self.tighter_as("risk.pause_s", a.pause_ms, b.pause_ms, seconds);
        self.wider("risk.pauses_per_day", a.pauses_per_day, b.pauses_per_day);
        let (a, b) = (&old.ramp, &new.ramp);
        self.wider("ramp.start_bps", a.start_bps, b.start_bps);
        self.wider("ramp.step_bps", a.step_bps, b.step_bps);
        self.tighter_as("ramp.step_s", a.step_ms, b.step_ms, seconds);
        let rank = |policy: ForeignOrders| match policy {
            ForeignOrders::Alarm => 0,
            ForeignOrders::Adopt => 1,
            ForeignOrders::Tolerate => 2,
        };
        let word = |rank: usize| ["alarm", "adopt", "tolerate"][rank].to_owned();
        self.wider_as(
            "risk.foreign_orders",
            rank(old.foreign),
            rank(new.foreign),
            word,
        );
    }

    fn market(&mut self, spec: &MarketSpec, old: &MarketConfig, new: &MarketConfig) {
        let name = |key: &str| format!("{} {key}", spec.name);
        let price = |price| spec.price_text(price);
        let qty = |qty| spec.qty_text(qty);
        let base = |amount| spec.base.text(amount);
        let quote = |amount| spec.quote.text(amount);
        self.wider(name("collar_bps"), old.collar_bps, new.collar_bps);
        self.tighter_as(name("price_floor"), old.price_min, new.price_min, price);
        self.wider_as(name("price_ceiling"), old.price_max, new.price_max, price);
        let most = (old.order_value_max, new.order_value_max);
        self.wider_as(name("order_value_max"), most.0, most.1, quote);
        self.wider_as(
            name("order_qty_max"),
            old.order_qty_max,
            new.order_qty_max,
            qty,
        );
        let least = (old.inventory_min, new.inventory_min);
        self.tighter_as(name("inventory_min"), least.0, least.1, base);
        let most = (old.inventory_max, new.inventory_max);
        self.wider_as(name("inventory_max"), most.0, most.1, base);
        let most = (old.signed_unexpired_max, new.signed_unexpired_max);
        self.wider_as(name("signed_unexpired_max"), most.0, most.1, base);
        let most = (old.open_orders_max, new.open_orders_max);
        self.wider(name("open_orders_max"), most.0, most.1);
        let most = (old.spread_max_bps, new.spread_max_bps);
        self.wider(name("spread_max_bps"), most.0, most.1);
        self.tighter_as(name("depth_min"), old.depth_min, new.depth_min, qty);
        let frozen = (old.frozen_after_ms, new.frozen_after_ms);
        self.unless_off(name("frozen_after_s"), frozen.0, frozen.1, seconds);
        if old.empty != new.empty && new.empty != EmptyBook::NoQuote {
            let text = |empty: &EmptyBook| match empty {
                EmptyBook::NoQuote => "no-quote".to_owned(),
                EmptyBook::Seed(seed) => format!("seed-price {}", spec.price_text(*seed)),
            };
            self.changed(name("empty_book"), &text(&old.empty), &text(&new.empty));
        }
        let (a, b) = (&old.loss, &new.loss);
        self.wider_as(name("loss_hour_max"), a.hour_max, b.hour_max, quote);
        self.wider_as(name("loss_day_max"), a.day_max, b.day_max, quote);
        self.wider_as(name("loss_total_max"), a.total_max, b.total_max, quote);
        self.wider_as(name("drawdown_max"), a.drawdown_max, b.drawdown_max, quote);
    }

    fn pool(&mut self, spec: &MarketSpec, old: &PoolConfig, new: &PoolConfig) {
        let name = |key: &str| format!("{} pool.{key}", spec.name);
        let quote = |amount| spec.quote.text(amount);
        let ages = (old.age_max_ms, new.age_max_ms);
        self.wider(name("age_max_ms"), ages.0, ages.1);
        self.wider(name("slippage_bps"), old.slippage_bps, new.slippage_bps);
        let apart = (old.divergence_max_bps, new.divergence_max_bps);
        self.wider(name("divergence_max_bps"), apart.0, apart.1);
        let worth = (old.move_value_max, new.move_value_max);
        self.wider_as(name("move_value_max"), worth.0, worth.1, quote);
        self.wider_as(name("value_max"), old.value_max, new.value_max, quote);
        self.wider_as(name("max_fee"), old.fee_max, new.fee_max, quote);
    }
}

fn number(value: u64) -> String {
    value.to_string()
}
