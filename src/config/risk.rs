//! `[risk]` and `[ramp]`: limits over everything, and a start with less than full size; and the derived
//! limits of every market. What a limit does when it is reached is the engine's.

use cambist_core::bound::{LossBound, loss_bound};
use cambist_core::config::{
    BudgetConfig, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PoolConfig, RampConfig,
    RiskConfig,
};
use cambist_core::event::Amounts;
use cambist_core::pool::PoolSpec;
use cambist_core::{Amount, MarketSpec};

use super::daemon::Orders;
use super::money::Money;
use super::reader::{At, Problem, Section};
use super::sections::small;
use super::signed::by_token;

/// Both sections as checked. What is counted in tokens is derived when decimals are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// Limits, without the exposure.
    pub limits: RiskConfig,
    /// Exposure over all markets of a quote token, in ten-thousandths of their bands at the ceiling.
    pub gross_max_bps: u32,
    /// Most that ledger and venue may differ by, an amount for each quote token; those left out have a part of
    /// their markets' bands.
    pub mismatch_max: Option<At<Vec<Money>>>,
    /// Most of each base token that may be signed and unexpired; those left out have what follows from their
    /// markets.
    pub signed_unexpired_max: Option<At<Vec<Money>>>,
    /// The start.
    pub ramp: RampConfig,
    /// What somebody else's orders mean.
    pub foreign: ForeignOrders,
}

/// Ledger and venue may differ by such a part of the bands where the file does not say.
const BAND_PART: Amount = 1_000;

/// Transmissions of orders that the budget allows within a minute.
pub fn allowed_per_min(budget: &BudgetConfig) -> u32 {
    let of = |per_s: u32, burst: u32| per_s.saturating_mul(60).saturating_add(burst);
    of(budget.endpoint_per_s, budget.endpoint_burst).min(of(budget.per_s, budget.burst))
}

/// The least number at which the latch of repeated executions never meets normal quoting.
pub fn executions_least(budget: &BudgetConfig) -> u32 {
    allowed_per_min(budget).saturating_mul(3).div_ceil(2)
}

pub(super) fn read(
    root: &mut Section<'_, '_>,
    orders: &Orders,
    budget: &BudgetConfig,
    depth_ms: u64,
) -> Risk {
    let usual = RiskConfig::default();
    let mut section = root.section("risk");
    let gap = section.number("gap_bps", u64::from(usual.gap_bps), 1..=10_000);
    let gross = section.number("gross_max_bps", 10_000, 1..=10_000);
    let mismatch = section.opt::<Vec<Money>>("mismatch_max");
    let signed = section.opt::<Vec<Money>>("signed_unexpired_max");
    let moved = section.number("move_bps", u64::from(usual.move_bps), 1..=10_000);
    let move_s = section.number("move_s", usual.move_ms / 1_000, 1..=3_600);
    let allowed = u64::from(allowed_per_min(budget));
    let per_min = 1..=10_000_000;
    let made = section.number("orders_per_min", allowed, per_min.clone());
    let cancelled = section.number("cancels_per_min", 2 * allowed, per_min.clone());
    let ratio = section.number("messages_per_fill", 0, 0..=1_000_000);
    let least = u64::from(executions_least(budget));
    let executed = section.number("executions_per_min", least, per_min);
    let duplicate = section.number("duplicate_ms", usual.duplicate_ms, 0..=60_000);
    let fills = section.number("streak_fills", u64::from(usual.streak_fills), 0..=10_000);
    let streak = section.number("streak_bps", u64::from(usual.streak_bps), 1..=10_000);
    let streak_s = section.number("streak_s", usual.streak_ms / 1_000, 1..=3_600);
    let ttl_max = section.number("ttl_max_s", (orders.ttl_s * 2).min(86_400), 5..=86_400);
    let fee_max = section.number("fee_max_bips", u64::from(orders.max_fee_bips), 1..=63);
    let pause = section.number("pause_s", usual.pause_ms / 1_000, 1..=86_400);
    let pauses = section.number("pauses_per_day", u64::from(usual.pauses_per_day), 0..=60);
    let foreign = section.word("foreign_orders", FOREIGN, ForeignOrders::default());
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
    let limits = RiskConfig {
        gross_max: Amounts::new(),
        mismatch_max: Amounts::new(),
        move_bps: small(moved.value),
        move_ms: move_s.value * 1_000,
        orders_per_min: small(made.value),
        cancels_per_min: small(cancelled.value),
        messages_per_fill: small(ratio.value),
        executions_per_min: small(executed.value),
        duplicate_ms: duplicate.value,
        streak_fills: small(fills.value),
        streak_bps: small(streak.value),
        streak_ms: streak_s.value * 1_000,
        ttl_max_ms: ttl_max.value * 1_000,
        fee_max_bips: small(fee_max.value),
        pause_ms: pause.value * 1_000,
        pauses_per_day: small(pauses.value),
        gap_bps: small(gap.value),
    };

    let mut section = root.section("ramp");
    let start = section.number("start_bps", 10_000, 1..=10_000);
    let step = section.number("step_bps", 2_500, 1..=10_000);
    let step_s = section.number("step_s", 3_600, 1..=86_400);
    section.finish();
    Risk {
        limits,
        gross_max_bps: small(gross.value),
        mismatch_max: mismatch,
        signed_unexpired_max: signed,
        ramp: RampConfig {
            start_bps: small(start.value),
            step_bps: small(step.value),
            step_ms: step_s.value * 1_000,
        },
        foreign: foreign.value,
    }
}

const FOREIGN: &[(&str, ForeignOrders)] = &[
    ("alarm", ForeignOrders::Alarm),
    ("tolerate", ForeignOrders::Tolerate),
    ("adopt", ForeignOrders::Adopt),
];

impl Risk {
    /// The limits with the exposure: a share of what all markets of a quote token may hold together at
    /// their ceilings, their pools included.
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

    /// What may differ of each quote token: as written, or a part of the bands of its markets at the ceilings.
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

/// With the pool beside the market, if there is one.
pub(super) fn beside(
    bound: LossBound,
    spec: &MarketSpec,
    engine: &EngineConfig,
    pools: &[PoolSpec],
) -> Option<LossBound> {
    let mut pools = pools.iter().zip(&engine.pools);
    match pools.find(|(pool, _)| pool.market == spec.id) {
        Some((_, limits)) => bound.with_pool(limits),
        None => Some(bound),
    }
}

/// The bound of every market at its ceiling with the pool beside it, for the stated jump.
pub fn bounds(
    engine: &EngineConfig,
    markets: &[MarketSpec],
    pools: &[PoolSpec],
) -> Vec<Option<LossBound>> {
    let each = markets.iter().zip(&engine.markets);
    each.map(|(spec, limits)| {
        let bound = loss_bound(spec, engine, limits, limits.price_max, engine.risk.gap_bps)?;
        beside(bound, spec, engine, pools)
    })
    .collect()
}

/// What a market may lose where the file does not say: parts of its bound.
pub(super) fn derived(bound: Option<&LossBound>) -> LossConfig {
    let whole = bound.map_or(Amount::MAX, LossBound::total);
    LossConfig {
        hour_max: whole / 4,
        day_max: whole / 2,
        total_max: whole,
        drawdown_max: whole / 2,
    }
}
