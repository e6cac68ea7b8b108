//! `[[traders]]`: the simulated traders of one market, in the exchange's configuration and in scenario files.

use cambist_core::{Amount, MarketSpec};
use cambist_venue::agents::{AgentsConfig, Regime, Regimes};

use crate::money::Money;
use crate::reader::{At, Section};
use crate::value::small;

/// Names of the regimes.
pub(crate) const REGIMES: &[(&str, Regime)] = &[
    ("calm", Regime::Calm),
    ("trending", Regime::Trending),
    ("volatile", Regime::Volatile),
];

/// Reads the simulated traders of one market. Their pool is left unset. If `seed` is given, the section must not have a
/// key `seed`.
pub fn traders(
    section: &mut Section<'_, '_>,
    markets: &[MarketSpec],
    seed: Option<u64>,
) -> Option<AgentsConfig> {
    let name = section.req::<String>("market");
    let seed = seed.unwrap_or_else(|| section.number("seed", 1, 0..=u64::MAX).value);
    let counts = Counts::read(section);
    let fair_price = section.req::<Money>("fair_price");
    let order_size = section.req::<Money>("order_size");
    let mut per = |key, default, most| {
        let found = section.number(key, default, 0..=most).value;
        f64::from(small::<u32>(found))
    };
    let volatility = per("volatility_centi_bps_per_sqrt_s", 200, 10_000) / 100.0;
    let jumps_per_hour = per("jumps_per_hour", 6, 3_600);
    let jump_bps = per("jump_bps", 30, 5_000);
    let noise_orders_per_minute = per("noise_orders_per_minute", 16, 600);
    let informed_looks_per_minute = per("informed_looks_per_minute", 40, 600);
    let informed_threshold_bps = per("informed_threshold_bps", 8, 1_000);
    let passive_half_spread_bps = per("passive_half_spread_bps", 22, 1_000);
    let passive_step_bps = per("passive_step_bps", 11, 1_000);
    let passive_skew_bps = per("passive_skew_bps", 0, 1_000);
    let momentum_looks_per_minute = per("momentum_looks_per_minute", 30, 600);
    let momentum_threshold_bps = per("momentum_threshold_bps", 12, 1_000);
    let momentum_window_s = per("momentum_window_s", 20, 86_400);
    let arbitrage_looks_per_minute = per("arbitrage_looks_per_minute", 60, 600);
    let swaps_per_minute = per("swaps_per_minute", 6, 600);
    let trend_bps_per_minute = per("trend_bps_per_minute", 15, 10_000);
    let volatile_factor = per("volatile_factor_percent", 400, 10_000) / 100.0;
    let stay_s =
        ["calm_stay_s", "trending_stay_s", "volatile_stay_s"].map(|key| per(key, 0, 86_400));
    let noise_taker_percent = section.number("noise_taker_percent", 70, 0..=100);
    let passive_refresh_ms = section.number("passive_refresh_ms", 2_000, 100..=600_000);
    let first = section.word("regime", REGIMES, Regime::Calm);

    let name = name?;
    let Some(market) = markets.iter().find(|market| market.name == name.value) else {
        section.problem(name.at, "traders.market must be one of the listed markets");
        return None;
    };
    let fair_price = above_zero(section, fair_price, "fair_price").and_then(|money| {
        let price = money.value.price(market);
        price
            .map_err(|error| section.problem(money.at, format!("this price: {error}")))
            .ok()
    });
    let order_size = above_zero(section, order_size, "order_size");
    let order_size = amount(section, market, order_size);
    Some(AgentsConfig {
        volatility_bps_per_sqrt_s: volatility,
        jumps_per_hour,
        jump_bps,
        regimes: Regimes {
            first: first.value,
            stay_s,
            trend_bps_per_minute,
            volatile_factor,
        },
        noise_traders: counts.noise,
        noise_orders_per_minute,
        noise_taker_percent: small(noise_taker_percent.value),
        informed_traders: counts.informed,
        informed_looks_per_minute,
        informed_threshold_bps,
        passive_traders: counts.passive,
        passive_half_spread_bps,
        passive_step_bps,
        passive_refresh_ms: passive_refresh_ms.value,
        passive_skew_bps,
        momentum_traders: counts.momentum,
        momentum_looks_per_minute,
        momentum_threshold_bps,
        momentum_window_s,
        arbitrageurs: counts.arbitrageurs,
        arbitrage_looks_per_minute,
        swappers: counts.swappers,
        swaps_per_minute,
        ..AgentsConfig::calm(seed, market.id, fair_price?, order_size?)
    })
}

/// Number of traders of each kind.
struct Counts {
    noise: u32,
    informed: u32,
    passive: u32,
    momentum: u32,
    arbitrageurs: u32,
    swappers: u32,
}

impl Counts {
    fn read(section: &mut Section<'_, '_>) -> Self {
        let mut count = |key, default| small(section.number(key, default, 0..=1_000).value);
        Self {
            noise: count("noise", 6),
            informed: count("informed", 2),
            passive: count("passive", 4),
            momentum: count("momentum", 0),
            arbitrageurs: count("arbitrageurs", 0),
            swappers: count("swappers", 0),
        }
    }
}

fn above_zero(section: &Section<'_, '_>, money: Option<At<Money>>, key: &str) -> Option<At<Money>> {
    let money = money?;
    if money.value.number.is_zero() {
        section.problem(money.at, format!("traders.{key} must be above 0"));
        return None;
    }
    Some(money)
}

/// An amount of a market's base token, in base units.
pub(crate) fn amount(
    section: &Section<'_, '_>,
    market: &MarketSpec,
    money: Option<At<Money>>,
) -> Option<Amount> {
    let money = money?;
    let units = money.value.units(&market.base);
    units
        .map_err(|error| section.problem(money.at, format!("this amount: {error}")))
        .ok()
}
