//! `[risk]` and `[ramp]`: limits of the account, and the ramp; also the derived limits of every market. The engine
//! applies them.

use cambist_core::bound::{LossBound, loss_bound};
use cambist_core::config::{
    BudgetConfig, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PoolConfig, RampConfig,
    RiskConfig,
};
use cambist_core::event::Amounts;
use cambist_core::limits::{self, About};
use cambist_core::pool::PoolSpec;
use cambist_core::venue::LifetimeRule;
use cambist_core::{Amount, MarketSpec};

use super::daemon::Orders;
use super::limits::{self as config_limits, nothing_derived};
use super::money::Money;
use super::reader::{At, Problem, Section};
use super::sections::small;
use super::signed::by_token;

/// Both sections, checked. Token amounts are derived when decimals are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// Limits, without the exposure.
    pub limits: RiskConfig,
    /// Exposure of all markets with one quote token, in ten-thousandths of their bands at the ceiling.
    pub gross_max_bps: u32,
    /// Largest difference between ledger and venue, one amount per quote token; default: a share of the markets' bands.
    pub mismatch_max: Option<At<Vec<Money>>>,
    /// Largest signed and unexpired amount of each base token; the default is derived from its markets.
    pub signed_unexpired_max: Option<At<Vec<Money>>>,
    /// The start.
    pub ramp: RampConfig,
    /// Treatment of foreign orders.
    pub foreign: ForeignOrders,
}

/// Default of the allowed difference, as a fraction of the bands.
const BAND_PART: Amount = 1_000;

/// Order transmissions per minute that the budget allows.
pub fn allowed_per_min(budget: &BudgetConfig) -> u32 {
    let of = |per_s: u32, burst: u32| per_s.saturating_mul(60).saturating_add(burst);
    of(budget.endpoint_per_s, budget.endpoint_burst).min(of(budget.per_s, budget.burst))
}

/// The smallest value for which normal quoting never reaches the latch of repeated executions.
pub fn executions_least(budget: &BudgetConfig) -> u32 {
    allowed_per_min(budget).saturating_mul(3).div_ceil(2)
}

pub(super) fn read(
    root: &mut Section<'_, '_>,
    orders: &Orders,
    budget: &BudgetConfig,
    depth_ms: u64,
) -> Risk {
    let mut section = root.section("risk");
    let gross = config_limits::number(&mut section, &limits::GROSS_MAX.about, 10_000);
    let mismatch = section.opt::<Vec<Money>>(limits::MISMATCH_MAX.about.key);
    let signed = section.opt::<Vec<Money>>("signed_unexpired_max");
    let words = ForeignOrders::ALL.map(|policy| (policy.name(), policy));
    let key = limits::FOREIGN_ORDERS.key;
    let foreign = section.word(key, &words, ForeignOrders::default());
    let allowed = u64::from(allowed_per_min(budget));
    let least = u64::from(executions_least(budget));
    let mut limits = RiskConfig::unset();
    let derived = |about: &About| match about.key {
        "orders_per_min" => allowed,
        "cancels_per_min" => 2 * allowed,
        "executions_per_min" => least,
        "ttl_max_s" => (orders.ttl_s * 2).min(86_400),
        "fee_max_bips" => orders.max_fee_bips.into(),
        _ => 0,
    };
    let found = config_limits::numbers(&mut section, RiskConfig::LIMITS, &mut limits, derived);
    let executed = &found["executions_per_min"];
    let [ttl_max, fee_max] = ["ttl_max_s", "fee_max_bips"].map(|key| &found[key]);
    let duplicate = &found["duplicate_ms"];
    if executed.value < least {
        let what = format!(
            "risk.executions_per_min = {} must be at least {least}, one and a half times the {allowed} that the budget allows: reaching it latches, and normal quoting must never reach it",
            executed.value
        );
        section.problem(executed.at, what);
    }
    if ttl_max.value < orders.ttl_s {
        let what = format!(
            "risk.ttl_max_s = {} is less than orders.ttl_s = {}: every order would be refused",
            ttl_max.value, orders.ttl_s
        );
        section.problem(ttl_max.at, what);
    }
    if fee_max.value < u64::from(orders.max_fee_bips) {
        let what = format!(
            "risk.fee_max_bips = {} is less than orders.max_fee_bips = {}: every order would be refused",
            fee_max.value, orders.max_fee_bips
        );
        section.problem(fee_max.at, what);
    }
    if duplicate.value >= depth_ms {
        let what = format!(
            "risk.duplicate_ms = {} must be less than poll.depth_ms = {depth_ms}: an order that has just filled could not be made again at the next look",
            duplicate.value
        );
        section.problem(duplicate.at, what);
    }
    section.finish();

    let mut section = root.section("ramp");
    let mut ramp = RampConfig::unset();
    config_limits::numbers(&mut section, RampConfig::LIMITS, &mut ramp, nothing_derived);
    section.finish();
    Risk {
        limits,
        gross_max_bps: small(gross.value),
        mismatch_max: mismatch,
        signed_unexpired_max: signed,
        ramp,
        foreign: foreign.value,
    }
}

impl Risk {
    /// The limits with the exposure: a share of what all markets with one quote token may hold at their ceilings, pools
    /// included.
    pub(super) fn bound<'a>(
        &self,
        markets: &[MarketSpec],
        configs: &[MarketConfig],
        pools: impl Iterator<Item = (&'a PoolSpec, &'a PoolConfig)>,
        problems: &mut Vec<Problem>,
    ) -> RiskConfig {
        let mut gross_max = Amounts::new();
        let share = |value: Amount| value / 10_000 * Amount::from(self.gross_max_bps);
        for (spec, config) in markets.iter().zip(configs) {
            let lots = cambist_core::Qty(spec.lots_floor(config.inventory_max).0.saturating_add(1));
            let value = spec.quote_amount(config.price_max, lots);
            let sum = gross_max.entry(spec.quote.id).or_default();
            *sum = Amount::saturating_add(*sum, value.map_or(Amount::MAX, share));
        }
        for (spec, config) in pools {
            let quote = markets.get(usize::from(spec.market.0)).map(|m| m.quote.id);
            if let Some(sum) = quote.and_then(|quote| gross_max.get_mut(&quote)) {
                *sum = Amount::saturating_add(*sum, share(config.value_max));
            }
        }
        RiskConfig {
            gross_max,
            mismatch_max: self.mismatch_max(markets, configs, problems),
            ..self.limits.clone()
        }
    }

    /// Allowed difference of each quote token: as written, or a share of the bands at the ceilings.
    fn mismatch_max(
        &self,
        markets: &[MarketSpec],
        configs: &[MarketConfig],
        problems: &mut Vec<Problem>,
    ) -> Amounts {
        let mut most = Amounts::new();
        for (spec, config) in markets.iter().zip(configs) {
            let band = config.inventory_max.saturating_sub(config.inventory_min);
            let value = spec.quote_amount(config.price_max, spec.lots_floor(band));
            let sum = most.entry(spec.quote.id).or_default();
            *sum = Amount::saturating_add(*sum, value.unwrap_or(0) / BAND_PART);
        }
        if let Some(written) = &self.mismatch_max {
            let quotes: Vec<_> = markets.iter().map(|spec| &spec.quote).collect();
            by_token("mismatch_max", written, &quotes, &mut most, problems);
        }
        most
    }
}

/// With the market's pool, if there is one.
pub(super) fn beside(
    bound: LossBound,
    spec: &MarketSpec,
    engine: &EngineConfig,
    pools: &[PoolSpec],
) -> Option<LossBound> {
    let mut pools = pools.iter().zip(&engine.pools);
    match pools.find(|(pool, _)| pool.market == spec.id) {
        Some((pool, limits)) => {
            let market = engine.markets.get(usize::from(spec.id.0))?;
            bound.with_pool(
                limits,
                pool.in_range,
                market.collar_bps,
                engine.max_fee_bips,
            )
        }
        None => Some(bound),
    }
}

/// The bound of every market at its ceiling, its pool included, for the stated jump.
pub fn bounds(
    (engine, lifetime): (&EngineConfig, &LifetimeRule),
    markets: &[MarketSpec],
    pools: &[PoolSpec],
) -> Vec<Option<LossBound>> {
    let each = markets.iter().zip(&engine.markets);
    each.map(|(spec, limits)| {
        let terms = (engine, lifetime);
        let bound = loss_bound(spec, terms, limits, limits.price_max, engine.risk.gap_bps)?;
        beside(bound, spec, engine, pools)
    })
    .collect()
}

/// Derived loss limits of a market: shares of its bound.
pub(super) fn derived(bound: Option<&LossBound>) -> LossConfig {
    let whole = bound.map_or(Amount::MAX, LossBound::total);
    LossConfig {
        hour_max: whole / 4,
        day_max: whole / 2,
        total_max: whole,
        drawdown_max: whole / 2,
    }
}
