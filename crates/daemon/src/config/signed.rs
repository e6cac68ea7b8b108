//! `risk.signed_unexpired_max`: largest signed and unexpired amounts, as written or derived, and the loss with a venue
//! that keeps ended orders. Also limits that are one amount per token.

use std::collections::BTreeSet;

use cambist_core::bound::{KeptLoss, LossBound, loss_bound, loss_bound_if_kept};
use cambist_core::config::{EngineConfig, MarketConfig, PoolConfig};
use cambist_core::event::Amounts;
use cambist_core::pool::PoolSpec;
use cambist_core::venue::LifetimeRule;
use cambist_core::{Amount, MarketSpec, TokenSpec};

use super::money::Money;
use super::reader::{At, Problem};
use super::risk::{Risk, beside};

/// Default of the largest signed and unexpired amount of a market's base token: everything that its orders may hold, or
/// one swap if that is more, once every [`RESIGNED_EVERY_MS`], for the lifetime of a signature.
fn signed_derived(engine: &EngineConfig, bound: Option<&LossBound>, swap: Amount) -> Amount {
    let lives_ms = engine.ttl_ms.saturating_add(engine.grace_ms);
    let times = Amount::from(lives_ms.div_ceil(RESIGNED_EVERY_MS)) + 1;
    let fillable = bound.map_or(0, |bound| bound.fillable);
    fillable.max(swap).saturating_mul(times)
}

/// The most base of one swap with the pool beside a market: its value at the lowest price.
fn largest_swap(
    spec: &MarketSpec,
    limits: &MarketConfig,
    pools: &[PoolSpec],
    configs: &[PoolConfig],
) -> Amount {
    let mut beside = pools.iter().zip(configs);
    let config = beside.find(|(pool, _)| pool.market == spec.id);
    config.map_or(0, |(_, config)| {
        let lots = spec.lots_affordable(config.swap_value_max, limits.price_min);
        spec.base_amount(lots).unwrap_or(Amount::MAX)
    })
}

/// Interval at which everything may be signed again by default.
const RESIGNED_EVERY_MS: u64 = 5_000;

impl Risk {
    /// Sets the largest signed and unexpired amounts: as written, or derived. A token's limit applies to all its
    /// markets.
    pub(super) fn limit_signed(
        &self,
        (engine, lifetime): (&mut EngineConfig, &LifetimeRule),
        markets: &[MarketSpec],
        pools: &[PoolSpec],
        problems: &mut Vec<Problem>,
    ) {
        let mut most = Amounts::new();
        for (spec, limits) in markets.iter().zip(&engine.markets) {
            let terms = (&*engine, lifetime);
            let bound = loss_bound(spec, terms, limits, limits.price_max, engine.risk.gap_bps);
            let sum = most.entry(spec.base.id).or_default();
            let swap = largest_swap(spec, limits, pools, &engine.pools);
            *sum = sum.saturating_add(signed_derived(engine, bound.as_ref(), swap));
        }
        if let Some(written) = &self.signed_unexpired_max {
            let bases: Vec<_> = markets.iter().map(|spec| &spec.base).collect();
            by_token("signed_unexpired_max", written, &bases, &mut most, problems);
        }
        for (spec, limits) in markets.iter().zip(&mut engine.markets) {
            limits.signed_unexpired_max = most.get(&spec.base.id).copied().unwrap_or(0);
        }
    }
}

/// The loss of every market at its ceiling with a venue that keeps ended orders, for the stated jump.
pub fn bounds_if_kept(
    (engine, lifetime): (&EngineConfig, &LifetimeRule),
    markets: &[MarketSpec],
    pools: &[PoolSpec],
) -> Vec<Option<KeptLoss>> {
    let each = markets.iter().zip(&engine.markets);
    each.map(|(spec, limits)| {
        let gap_bps = engine.risk.gap_bps;
        let terms = (engine, lifetime);
        match loss_bound_if_kept(spec, terms, limits, limits.price_max, gap_bps)? {
            KeptLoss::Bounded(bound) => beside(bound, spec, engine, pools).map(KeptLoss::Bounded),
            KeptLoss::Holdings => Some(KeptLoss::Holdings),
        }
    })
    .collect()
}

/// Applies the amounts in the file below `risk`, one per token, over the derived ones.
pub(super) fn by_token(
    key: &str,
    written: &At<Vec<Money>>,
    tokens: &[&TokenSpec],
    most: &mut Amounts,
    problems: &mut Vec<Problem>,
) {
    let mut named = BTreeSet::new();
    for money in &written.value {
        let mut each = tokens.iter().copied();
        let found = match &money.symbol {
            Some(symbol) => each.find(|token| token.symbol == *symbol),
            None => each.next().filter(|_| most.len() == 1),
        };
        let what = match found.map(|token| (token, money.units(token))) {
            Some((token, Ok(units))) if named.insert(token.id) => {
                most.insert(token.id, units);
                continue;
            }
            Some((token, Ok(_))) => format!("{} occurs twice", token.symbol),
            Some((_, Err(error))) => error.to_string(),
            None => {
                let known: BTreeSet<_> = tokens.iter().map(|token| token.symbol.as_str()).collect();
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                money.symbol.as_ref().map_or_else(
                    || format!("add the token, as in \"50 USDC\"; known tokens are {known}"),
                    |symbol| format!("{symbol} is not one of {known}"),
                )
            }
        };
        problems.push(Problem {
            at: written.at,
            what: format!("risk.{key}: {what}"),
        });
    }
}
