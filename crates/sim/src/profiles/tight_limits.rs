//! Tight limits, drawn for some worlds: a limit that is never reached is never tested.
//!
//! Until the faults end, an operator reloads tight and usual limits at intervals. Few limits are tight at once, so that
//! there is trading to limit.

use cambist_core::config::{EngineConfig, LossConfig, MarketConfig, RampConfig};
use cambist_core::{Amount, Price, Qty, TokenId};
use cambist_venue::Random;

use crate::config::WorldConfig;
use crate::profiles::sampling::choose;

/// Ratio of a usual loss limit to a tight one.
const FAR: Amount = 1_000;
/// One whole quote token.
const UNIT: Amount = 1_000_000;

/// Limits under construction.
struct Tight {
    random: Random,
    engine: EngineConfig,
    /// Value of the base held at the start, in quote units.
    worth: Amount,
}

impl Tight {
    fn one<T: Copy>(&mut self, some: &[T]) -> T {
        *choose(&mut self.random, some)
    }

    /// A fraction of that value.
    fn part(&mut self, divisors: &[Amount]) -> Amount {
        self.worth / self.one(divisors)
    }

    fn markets(&mut self, set: impl FnMut(&mut MarketConfig)) {
        self.engine.markets.iter_mut().for_each(set);
    }
}

/// Each function makes one limit tight. Prices start at 2,500 and vary by some percent an hour; orders are for 0.4 to 1
/// base token.
const LIMITS: [fn(&mut Tight); 24] = [
    |t| {
        t.engine.risk.move_bps = t.one(&[25, 50, 100]);
        t.engine.risk.move_ms = t.one(&[60_000, 120_000, 600_000]);
        t.engine.risk.pause_ms = t.one(&[10_000, 20_000, 60_000]);
    },
    |t| {
        t.engine.risk.move_bps = t.one(&[25, 50]);
        t.engine.risk.pauses_per_day = t.one(&[1, 2, 10]);
    },
    |t| t.engine.risk.orders_per_min = t.one(&[5, 15, 40]),
    |t| t.engine.risk.cancels_per_min = t.one(&[3, 10, 30]),
    |t| t.engine.risk.messages_per_fill = t.one(&[10, 20, 60]),
    |t| t.engine.risk.executions_per_min = t.one(&[10, 30, 60]),
    |t| t.engine.risk.duplicate_ms = t.one(&[5_000, 60_000]),
    |t| t.engine.risk.ttl_max_ms = t.engine.ttl_ms - t.one(&[0, 0, 1]),
    |t| t.engine.risk.fee_max_bips = t.engine.max_fee_bips - t.one(&[0, 0, 1]),
    |t| {
        t.engine.ramp = RampConfig {
            start_bps: t.one(&[1_000, 5_000]),
            step_bps: t.one(&[500, 1_000]),
            step_ms: t.one(&[20_000, 60_000]),
        };
    },
    |t| {
        let most = t.worth + t.one(&[0, 2_000 * UNIT, 5_000 * UNIT]);
        t.engine.risk.gross_max.values_mut().for_each(|m| *m = most);
    },
    |t| {
        let price = t.one(&[Price(247_500), Price(249_500)]);
        t.markets(|m| m.price_min = price);
    },
    |t| {
        let price = t.one(&[Price(250_500), Price(252_500)]);
        t.markets(|m| m.price_max = price);
    },
    |t| {
        let most = t.one(&[Qty(6_000), Qty(10_000)]);
        t.markets(|m| m.order_qty_max = most);
    },
    |t| {
        let most = t.one(&[1_000 * UNIT, 1_800 * UNIT, 2_505 * UNIT]);
        t.markets(|m| m.order_value_max = most);
    },
    |t| {
        let most = t.one(&[12, 18, 30]);
        t.markets(|m| m.collar_bps = most);
    },
    |t| {
        let most = t.one(&[30, 45, 60]);
        t.markets(|m| m.spread_max_bps = most);
    },
    |t| {
        let least = t.one(&[Qty(10_000), Qty(100_000)]);
        t.markets(|m| m.depth_min = least);
    },
    |t| {
        let most = t.one(&[1, 2, 4]);
        t.markets(|m| m.open_orders_max = most);
    },
    |t| {
        let most = t.one(&[6, 15, 40]) * 1_000_000_000_000_000_000;
        t.markets(|m| m.signed_unexpired_max = most);
    },
    |t| {
        let most = t.part(&[1_000, 400, 150]);
        t.markets(|m| m.loss.hour_max = most);
    },
    |t| {
        let most = t.part(&[400, 150]);
        t.markets(|m| m.loss.day_max = most);
    },
    |t| {
        let most = t.part(&[400, 150]);
        t.markets(|m| m.loss.total_max = most);
    },
    |t| {
        let most = t.part(&[400, 150]);
        t.markets(|m| m.loss.drawdown_max = most);
    },
];

/// Tight limits for a world that has them, and its usual ones.
pub(crate) fn tightened(world: &WorldConfig) -> Option<[EngineConfig; 2]> {
    if !world.tight {
        return None;
    }
    let mut usual = world.engine.clone();
    let base = world.funds.get(&TokenId(0)).copied().unwrap_or(0);
    let mut tight = Tight {
        random: Random::new(world.seed.rotate_left(17) ^ 0x7469_6768_7400),
        engine: usual.clone(),
        worth: base / 1_000_000_000_000_000 * 2_500 * UNIT / 1_000,
    };
    for _ in 0..tight.random.between(1, 3) {
        let limit = tight.one(&LIMITS);
        limit(&mut tight);
    }
    // A loss without a limit is not remembered: between two tight periods it has a distant limit.
    for (usual, tight) in usual.markets.iter_mut().zip(&tight.engine.markets) {
        let far = |most: Amount| most.saturating_mul(FAR);
        usual.loss = LossConfig {
            hour_max: far(tight.loss.hour_max),
            day_max: far(tight.loss.day_max),
            total_max: far(tight.loss.total_max),
            drawdown_max: far(tight.loss.drawdown_max),
        };
    }
    Some([tight.engine, usual]).filter(|[tight, usual]| tight != usual)
}

#[cfg(test)]
mod tests {
    use cambist_core::reload::{Units, loosens};
    use cambist_core::{MarketId, MarketSpec};

    use super::*;

    /// The markets of a world, in its order.
    #[expect(clippy::unwrap_used, reason = "the world's own")]
    fn specs(world: &WorldConfig) -> Vec<MarketSpec> {
        let token = |id| {
            let mut tokens = world.venue.tokens.iter();
            tokens
                .find(|token| token.spec.id == id)
                .unwrap()
                .spec
                .clone()
        };
        let spec = |(at, name): (u16, &String)| {
            let mut listed = world.venue.markets.iter();
            let listed = listed.find(|market| market.name == *name).unwrap();
            let (base, quote) = (token(listed.base), token(listed.quote));
            MarketSpec::new(MarketId(at), name, base, quote, listed.price_decimals, true).unwrap()
        };
        (0..).zip(&world.markets).map(spec).collect()
    }

    /// Limits that no world makes tight, with the reason.
    const NEVER_TIGHT: &[(&str, &str)] = &[
        ("orders.", "drawn with the world itself"),
        ("poll.", "drawn with the world itself"),
        ("budget.", "drawn with the world itself"),
        ("market.pool.", "drawn with the pool"),
        ("risk.mismatch_max", "differences are drawn as faults"),
        ("risk.foreign_orders", "drawn with the world itself"),
        ("risk.streak", "the markout pauses worlds in its own tests"),
        ("market.frozen_after_s", "frozen books are drawn as faults"),
        ("market.inventory_", "the band is drawn with the funds"),
        ("market.empty_book", "empty books are drawn as faults"),
        (
            "market.price_tolerance_bps",
            "it keeps orders and refuses none",
        ),
        (
            "market.qty_tolerance_bps",
            "it keeps orders and refuses none",
        ),
    ];

    /// A new limit is made tight in some worlds, or is in the list above.
    #[test]
    fn every_limit_is_tight_in_some_world() {
        let world = (1..=1_000)
            .map(WorldConfig::drawn)
            .find(|world| world.tight);
        let world = world.expect("some world has tight limits");
        let specs = specs(&world);
        let values = |engine: &EngineConfig| {
            let found = cambist_core::limits::in_force(engine, &specs, &[]);
            found
                .into_iter()
                .map(|limit| (limit.about.name, limit.value))
        };
        let mut tightened = std::collections::BTreeSet::new();
        for limit in LIMITS {
            for seed in 0..8 {
                let mut tight = Tight {
                    random: Random::new(seed),
                    engine: world.engine.clone(),
                    worth: 1_000_000 * UNIT,
                };
                limit(&mut tight);
                let changed = values(&world.engine).zip(values(&tight.engine));
                let changed = changed.filter(|(usual, tight)| usual != tight);
                tightened.extend(changed.map(|((name, _), _)| name));
            }
        }
        for about in cambist_core::limits::all() {
            let exempt = NEVER_TIGHT
                .iter()
                .any(|(prefix, _)| about.name.starts_with(prefix));
            let is_tight = tightened.contains(about.name);
            assert!(is_tight != exempt || !about.is_limit(), "{}", about.name);
        }
    }

    #[test]
    fn tightening_limits_needs_no_permission_and_loosening_does() {
        let drawn = (1..=1_000).map(WorldConfig::drawn);
        let both = drawn.filter_map(|world| Some((tightened(&world)?, world)));
        let checked = both.inspect(|([tight, usual], world)| {
            let specs = specs(world);
            let units = Units {
                markets: specs.iter().collect(),
                pools: specs.iter().take(usual.pools.len()).collect(),
            };
            assert_eq!(loosens(usual, tight, &units), [""; 0]);
            assert_ne!(loosens(tight, usual, &units), [""; 0]);
        });
        let count = checked.count();
        assert!((150..250).contains(&count), "{count} worlds");
    }
}
