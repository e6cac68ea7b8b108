//! Replacing the configuration of a running engine: what changes, and which limits become looser.
//!
//! A pure comparison of two checked configurations by the table of limits, with the keys and units of the file. The
//! program reads the file.

use std::collections::BTreeSet;

use crate::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    PoolConfig, RampConfig, RiskConfig,
};
use crate::event::Amounts;
use crate::limits::{self, ByToken, Limit};
use crate::market::MarketSpec;
use crate::token::Amount;

/// Units of the configuration's amounts and prices.
#[derive(Debug)]
pub struct Units<'a> {
    /// Markets, in the order of the configuration.
    pub markets: Vec<&'a MarketSpec>,
    /// The market beside each pool, in the order of the configuration.
    pub pools: Vec<&'a MarketSpec>,
}

/// Parameters of strategies that differ, named by market and strategy, with both values.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// All of them.
    pub all: Vec<String>,
    /// Those that bear more risk than before.
    pub looser: Vec<String>,
}

/// The changes, or why the new configuration is refused. `parameters` are the changes of strategies that come with it.
pub fn judge(
    old: &EngineConfig,
    new: &EngineConfig,
    parameters: Changes,
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
    let mut looser = loosens(old, new, units);
    looser.extend(parameters.looser);
    if !looser.is_empty() && !allow_loosening {
        return Err(format!(
            "{} would become looser, which needs --allow-loosening",
            looser.join(", ")
        ));
    }
    let mut parts = Vec::new();
    if old != new {
        parts.push("configuration reloaded".to_owned());
    }
    if !parameters.all.is_empty() {
        parts.push(format!("parameters changed: {}", parameters.all.join(", ")));
    }
    if parts.is_empty() {
        return Ok("nothing changes".to_owned());
    }
    parts.push(if !looser.is_empty() {
        format!("looser: {}", looser.join(", "))
    } else if parameters.all.is_empty() {
        "no limit became looser".to_owned()
    } else {
        "nothing became looser".to_owned()
    });
    Ok(parts.join("; "))
}

/// Every limit that the new configuration loosens, by its key, with both values.
pub fn loosens(old: &EngineConfig, new: &EngineConfig, units: &Units<'_>) -> Vec<String> {
    let mut found = Looser(Vec::new());
    found.limits("", EngineConfig::LIMITS, [old, new], None);
    found.limits("", PollConfig::LIMITS, [&old.poll, &new.poll], None);
    found.limits("", BudgetConfig::LIMITS, [&old.budget, &new.budget], None);
    for limit in limits::BY_QUOTE_TOKEN {
        found.by_token(limit, [&old.risk, &new.risk], units);
    }
    found.limits("", RiskConfig::LIMITS, [&old.risk, &new.risk], None);
    found.foreign_orders(old.foreign, new.foreign);
    found.limits("", RampConfig::LIMITS, [&old.ramp, &new.ramp], None);
    for ((old, new), spec) in old.markets.iter().zip(&new.markets).zip(&units.markets) {
        let market = Some(*spec);
        found.limits("market.", MarketConfig::LIMITS, [old, new], market);
        found.empty_book(spec, old.empty, new.empty);
        found.limits(
            "market.",
            LossConfig::LIMITS,
            [&old.loss, &new.loss],
            market,
        );
    }
    for ((old, new), spec) in old.pools.iter().zip(&new.pools).zip(&units.pools) {
        found.limits("market.", PoolConfig::LIMITS, [old, new], Some(*spec));
    }
    found.0
}

struct Looser(Vec<String>);

impl Looser {
    /// Compares every limit of one part of both configurations. Limits of a market are named by the market, without the
    /// `prefix` of the file's section.
    fn limits<C>(
        &mut self,
        prefix: &str,
        limits: &[Limit<C>],
        [old, new]: [&C; 2],
        market: Option<&MarketSpec>,
    ) {
        for Limit { about, get, .. } in limits {
            let (before, after) = (get(old), get(new));
            if about.looser.loosens(before, after) {
                let key = about.name.strip_prefix(prefix).unwrap_or(about.key);
                let name = market.map_or_else(
                    || about.name.to_owned(),
                    |spec| format!("{} {key}", spec.name),
                );
                let text = |value| about.unit.text(value, market);
                self.changed(&name, &text(before), &text(after));
            }
        }
    }

    /// Compares the amounts for every token.
    fn by_token(&mut self, limit: &ByToken, [old, new]: [&RiskConfig; 2], units: &Units<'_>) {
        let (old, new) = ((limit.get)(old), (limit.get)(new));
        let tokens: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for token in tokens {
            let of = |amounts: &Amounts| amounts.get(token).copied().unwrap_or(limit.absent);
            let (before, after) = (of(old), of(new));
            if limit.about.looser.loosens(before, after) {
                let mut quotes = units.markets.iter().map(|spec| &spec.quote);
                let quote = quotes.find(|spec| spec.id == *token);
                let text = |amount: Amount| match quote {
                    _ if amount == Amount::MAX => "no limit".to_owned(),
                    Some(spec) => spec.text(amount),
                    None => amount.to_string(),
                };
                self.changed(limit.about.name, &text(before), &text(after));
            }
        }
    }

    fn foreign_orders(&mut self, old: ForeignOrders, new: ForeignOrders) {
        let rank = |policy| ForeignOrders::ALL.iter().position(|each| *each == policy);
        if rank(new) > rank(old) {
            self.changed(limits::FOREIGN_ORDERS.name, old.name(), new.name());
        }
    }

    fn empty_book(&mut self, spec: &MarketSpec, old: EmptyBook, new: EmptyBook) {
        if old != new && new != EmptyBook::NoQuote {
            let name = format!("{} {}", spec.name, limits::EMPTY_BOOK.key);
            self.changed(&name, &old.text(spec), &new.text(spec));
        }
    }

    fn changed(&mut self, name: &str, old: &str, new: &str) {
        self.0.push(format!("{name} {old} → {new}"));
    }
}

#[cfg(test)]
#[path = "reload_tests.rs"]
mod tests;
