//! `[market.pool]`: the pool of a market, and its limits.
//!
//! Strategies set targets; the limits here apply to all of them.

use cambist_core::config::{MarketConfig, PoolConfig};
use cambist_core::math::mul_div_ceil;
use cambist_core::pool::PoolSpec;
use cambist_core::{Amount, MarketSpec, Side, TokenId, TokenSpec};
use cambist_evm::v3::liquidity::Range;
use cambist_evm::v3::tick::Tick;
use cambist_strategies::{FirstLeg, OpenLeg};
use rust_decimal::Decimal;

use super::limits::{self, Written, nothing_derived};
use super::market::{Market, StrategyChoice};
use super::reader::{At, Problem, Section};
use super::sections::{require_pins, small};

/// Bits of a listed pool's status: it may be left.
pub const EXITS: u32 = 1;
/// It may be joined.
pub const JOINS: u32 = 2;
/// It may be swapped with.
pub const SWAPS: u32 = 4;

/// Decimals of an LP token in checks without the venue.
const LP_DECIMALS: u8 = 8;

/// The pool of a market, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// The venue's name.
    pub name: At<String>,
    /// The range of prices that its shares are liquidity in, of a V3 pool.
    pub range: Option<At<PoolRange>>,
    /// Expected units of the LP token: decimals, and accepted decimals.
    pub lp_units: [Option<At<u8>>; 2],
    /// The limits that are numbers; its amounts are unset until decimals are known.
    pub limits: PoolConfig,
    /// The limits that are amounts.
    pub amounts: Written,
}

/// A range of a V3 pool, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRange {
    /// The pool's fee, in millionths of what is sold to it: whole ten-thousandths.
    pub fee_tier: u32,
    /// The range.
    pub range: Range,
}

/// A pool as the venue lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPool {
    /// Name.
    pub name: String,
    /// Address.
    pub address: [u8; 20],
    /// Pooled tokens in the order that requests must use.
    pub pooled: Vec<TokenId>,
    /// LP token.
    pub lp: TokenId,
    /// Bits: 1 exit, 2 join, 4 swap.
    pub status: u32,
    /// Fee of swaps in ten-thousandths.
    pub fee_bips: u16,
    /// Whether its shares are liquidity in a range of prices.
    pub in_range: bool,
}

/// Reads `[market.pool.range]`.
fn read_range(mut section: Section<'_, '_>) -> Option<At<PoolRange>> {
    let at = section.at();
    let fee = section.req_number("fee_tier", 100..=100_000);
    if let Some(fee) = fee.as_ref().filter(|fee| fee.value % 100 != 0) {
        let what = "market.pool.range.fee_tier must be whole hundreds: the pool's fee in millionths, as 500, 3000 or 10000";
        section.problem(fee.at, what);
    }
    let ends = ["lower_tick", "upper_tick"].map(|key| {
        let written = section.req::<i64>(key)?;
        let number = i32::try_from(written.value).ok();
        let tick = number.and_then(|number| Tick::new(number).ok());
        if tick.is_none() {
            let what = format!("market.pool.range.{key} must be a tick, -887272 to 887272");
            section.problem(written.at, what);
        }
        Some((tick?, written.at))
    });
    let [lower, upper] = ends;
    let (lower, (upper, upper_at)) = (lower?.0, upper?);
    let range = Range::new(lower, upper).ok();
    if range.is_none() {
        let what = "market.pool.range.upper_tick must be above lower_tick";
        section.problem(upper_at, what);
    }
    section.finish();
    let value = PoolRange {
        fee_tier: small(fee?.value),
        range: range?,
    };
    Some(At { value, at })
}

/// Reads the section; `None` also if there is none.
pub(super) fn read(mut section: Section<'_, '_>, pinned: bool) -> Option<Pool> {
    if !section.is_written() {
        section.finish();
        return None;
    }
    let name = section.req::<String>("name");
    let lp_units = ["lp_decimals", "lp_precision"].map(|key| {
        let at = section.at();
        let found = section.number(key, 0, 0..=27);
        (found.at != at).then(|| found.map(small))
    });
    if pinned {
        require_pins(&section, &["lp_decimals", "lp_precision"]);
    }
    let mut limits = PoolConfig::unset();
    let numbers = limits::numbers(
        &mut section,
        PoolConfig::LIMITS,
        &mut limits,
        nothing_derived,
    );
    let mut amounts = Written::default();
    let complete = amounts.read(&mut section, PoolConfig::LIMITS);
    let [age, poll] = ["age_max_ms", "poll_ms"].map(|key| &numbers[key]);
    if age.value <= poll.value {
        let what = "market.pool.age_max_ms must be longer than market.pool.poll_ms";
        section.problem(age.at, what);
    }
    // Only files of pools on chains have it; in others it is no key.
    let has_range = section.has("range");
    let range = if has_range {
        read_range(section.section("range"))
    } else {
        None
    };
    let collects = amounts.of("collect_value").filter(|_| !has_range);
    if let Some(value) = collects.filter(|value| !value.value.number.is_zero()) {
        let what = "market.pool.collect_value must be 0: fees of this pool stay in it, and are in what its shares are due; only those of a market.pool.range are collected";
        section.problem(value.at, what);
    }
    section.finish();
    complete?;
    if has_range && range.is_none() {
        return None;
    }
    Some(Pool {
        name: name?,
        range,
        lp_units,
        limits,
        amounts,
    })
}

impl Pool {
    /// All values without positions, as comparable text.
    pub fn values(&self) -> String {
        let (numbers, amounts) = (&self.limits, self.amounts.values());
        let name = &self.name.value;
        let units = self
            .lp_units
            .each_ref()
            .map(|at| at.as_ref().map(|at| at.value));
        let range = self.range.as_ref().map(|range| &range.value);
        format!("{name} {range:?} {units:?} {numbers:?} {amounts}")
    }

    /// The pool as the venue lists it, which must have exactly the market's tokens.
    pub(super) fn listed(
        &self,
        market: &MarketSpec,
        tokens: &[TokenSpec],
        listed: &[ListedPool],
    ) -> Result<PoolSpec, Problem> {
        let problem = |what: String| Problem {
            at: self.name.at,
            what,
        };
        let name = &self.name.value;
        let Some(found) = listed.iter().find(|pool| pool.name == *name) else {
            let names = listed.iter().map(|pool| pool.name.as_str());
            let near = super::reader::nearest(name, names);
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return Err(problem(format!("the venue has no pool {name}{near}")));
        };
        let [base, quote] = [market.base.id, market.quote.id];
        let pooled = match found.pooled[..] {
            [first, second]
                if [first, second] == [base, quote] || [first, second] == [quote, base] =>
            {
                [first, second]
            }
            _ => {
                let what = format!("pool {name} has other tokens than {}", market.name);
                return Err(problem(what));
            }
        };
        let lp = tokens.iter().find(|token| token.id == found.lp);
        let lp = lp.ok_or_else(|| {
            problem(format!(
                "the venue publishes no token {} of pool {name}",
                found.lp.0
            ))
        })?;
        let published = [lp.decimals, lp.precision];
        let keys = ["lp_decimals", "lp_precision"];
        for ((expected, found), key) in self.lp_units.iter().zip(published).zip(keys) {
            if let Some(expected) = expected.as_ref().filter(|expected| expected.value != found) {
                return Err(Problem {
                    at: expected.at,
                    what: format!(
                        "market.pool.{key} = {} but the venue publishes {found} for {name}",
                        expected.value
                    ),
                });
            }
        }
        if self.amounts["max_fee"] > Decimal::ZERO && pooled[1] != quote {
            let what = format!("pool {name} takes its fees in {}", market.base.symbol);
            return Err(problem(format!("{what}: market.pool.max_fee must be 0")));
        }
        Ok(PoolSpec {
            market: market.id,
            name: name.clone(),
            address: found.address,
            pooled,
            lp: lp.clone(),
            joins: found.status & JOINS != 0,
            exits: found.status & EXITS != 0,
            swaps: found.status & SWAPS != 0,
            fee_bips: found.fee_bips,
            in_range: found.in_range,
        })
    }

    /// The assumed pool in a check without the venue.
    pub(super) fn expected(&self, market: &MarketSpec) -> PoolSpec {
        PoolSpec {
            market: market.id,
            name: self.name.value.clone(),
            address: [0; 20],
            pooled: [market.base.id, market.quote.id],
            lp: TokenSpec {
                id: TokenId(u16::MAX - market.id.0),
                symbol: format!("LP-{}", market.name),
                decimals: LP_DECIMALS,
                precision: LP_DECIMALS,
                minimum: 1,
                maximum: cambist_core::token::AMOUNT_MAX,
                dust: 0,
                enabled: true,
            },
            joins: true,
            exits: true,
            swaps: self.range.is_none(),
            fee_bips: 0,
            in_range: self.range.is_some(),
        }
    }

    /// Its limits in integers.
    pub(super) fn config(
        &self,
        market: &MarketSpec,
        problems: &mut Vec<Problem>,
    ) -> Option<PoolConfig> {
        let before = problems.len();
        let mut config = self.limits.clone();
        let limits = PoolConfig::LIMITS;
        self.amounts.set(limits, market, &mut config, problems);
        (problems.len() == before).then_some(config)
    }
}

/// A strategy that takes from the book, in a file whose orders only make.
fn takers_needed(choice: &StrategyChoice) -> Problem {
    let name = &choice.name.value;
    let what = format!(
        "{name} takes from the book: it needs orders.maker_only = false, and fees.taker_bips as the venue charges"
    );
    let at = choice.name.at;
    Problem { at, what }
}

/// A strategy of two legs needs a pool that may be swapped with and a market of its own, because what it holds beyond
/// its target is an open leg of its own; orders that may take, if the book closes its legs; a target that the market may
/// hold; and an unwinding that the market's collar allows. A process that may swap needs that pool as well. `config` is
/// the market's, if it is valid.
pub(super) fn check_two_legs(
    (market, spec): (&Market, &MarketSpec),
    config: Option<&MarketConfig>,
    (maker_only, taker_bips): (bool, u16),
    problems: &mut Vec<Problem>,
) {
    let allowed = |pool: &Pool| {
        let most = pool.amounts.of("swap_value_max");
        most.is_some_and(|most| most.value.number > Decimal::ZERO)
    };
    let is_allowed = market.pool.as_ref().is_some_and(allowed);
    let asks = |choice: &&StrategyChoice| choice.process.as_ref().is_some_and(|p| p.swaps);
    if let Some(asks) = market.strategies.iter().find(asks).filter(|_| !is_allowed) {
        let name = &asks.name.value;
        let what = format!(
            "{name} has swaps = true, which needs a [market.pool] with a swap_value_max above 0"
        );
        let at = asks.name.at;
        problems.push(Problem { at, what });
    }
    let find = |choice: &StrategyChoice| cambist_strategies::find(&choice.name.value);
    let takes =
        |choice: &&StrategyChoice| find(choice).is_some_and(|info| info.takes(&choice.params));
    match market.strategies.iter().find(takes) {
        Some(taker) if !spec.book && !is_allowed => {
            let what = format!(
                "{} trades by swaps here, because there is no order book: it needs a [market.pool] with a swap_value_max above 0",
                taker.name.value
            );
            let at = taker.name.at;
            problems.push(Problem { at, what });
        }
        Some(taker) if spec.book && maker_only => problems.push(takers_needed(taker)),
        _ => {}
    }
    let legs = |choice: &StrategyChoice| find(choice)?.two_legs;
    let mut choices = market.strategies.iter();
    let Some((choice, legs)) = choices.find_map(|choice| Some((choice, legs(choice)?))) else {
        return;
    };
    let name = &choice.name.value;
    let mut problem = |at, what: String| problems.push(Problem { at, what });
    if legs.first.needs_pool() && !is_allowed {
        let what = format!("{name} needs a [market.pool] with a swap_value_max above 0");
        problem(choice.name.at, what);
    }
    let mut others = market.strategies.iter();
    if let Some(other) = others.find(|other| other.name.at != choice.name.at) {
        let what = format!(
            "{name} must be the only strategy of its market: it trades every difference from its base_target"
        );
        problem(other.name.at, what);
    }
    let leg = find(choice).and_then(|info| info.open_leg(&choice.params, spec));
    let Some((leg, config)) = leg.zip(config) else {
        return;
    };
    let target = target_not_held(spec, config, taker_bips, (&leg, legs.first));
    if let Some(what) = target {
        problem(choice.place("base_target"), what);
    }
    if leg.unwind_bps > config.collar_bps {
        let what = format!(
            "unwind_bps is {}, and orders further than market.collar_bps ({}) from the mid are refused: a leg beyond \
             that would never be closed",
            leg.unwind_bps, config.collar_bps
        );
        problem(choice.place("unwind_bps"), what);
    }
    if legs.first == FirstLeg::Elsewhere {
        let lots = spec.lots_floor(leg.base);
        let value = spec.quote_amount(config.price_max, lots);
        if value.is_none_or(|value| value > config.order_value_max) || lots > config.order_qty_max {
            let what = format!(
                "open_amount_max is {}, and it is traded by one order, of which market.order_value_max or order_qty_max \
                 allow less at market.price_ceiling: a larger distance would never be closed",
                spec.base.text(leg.base)
            );
            problem(choice.place("open_amount_max"), what);
        }
    }
    let kept_bps = config.price_tolerance_bps;
    if let Some(most) = leg.drift_max_bps.filter(|most| kept_bps > *most) {
        let what = format!(
            "market.price_tolerance_bps is {kept_bps}, and profit_min_bps and order_refresh_tolerance_bps are {most} \
             together: an order that is kept that far from its target price could lose with its hedge; lower the \
             tolerance, or raise one of the two"
        );
        problem(choice.place("profit_min_bps"), what);
    }
}

/// What is wrong with a target that the market may not hold: itself, or with the fee that a bid which closes the largest leg
/// buys as well.
fn target_not_held(
    spec: &MarketSpec,
    config: &MarketConfig,
    taker_bips: u16,
    (leg, first): (&OpenLeg, FirstLeg),
) -> Option<String> {
    if !first.needs_pool() {
        return None;
    }
    let (least, most) = (config.inventory_min, config.inventory_max);
    if leg.target < least || leg.target > most {
        let texts = [leg.target, least, most].map(|units| spec.base.text(units));
        return Some(format!(
            "base_target is {}, and inventory_min to inventory_max is {} to {}: it would trade towards what the market \
             may not hold",
            texts[0], texts[1], texts[2]
        ));
    }
    if !first.is_closed_by_taking() || !spec.fee_in.is_base(Side::Buy) {
        return None;
    }
    let bips = u128::from(taker_bips);
    let fee = mul_div_ceil(leg.base, bips, 10_000_u128.saturating_sub(bips));
    let fee = fee.unwrap_or(Amount::MAX);
    (leg.target.saturating_add(fee) > most).then(|| {
        let texts = [leg.target, most, fee].map(|units| spec.base.text(units));
        format!(
            "base_target is {}, and inventory_max {}: a bid that closes the largest leg buys its fee of {} as well, and \
             would be refused",
            texts[0], texts[1], texts[2]
        )
    })
}

/// At most one strategy of a market may hold shares, and only if there is a pool.
pub(super) fn check_holders(market: &Market, problems: &mut Vec<Problem>) {
    let mut holders = market
        .strategies
        .iter()
        .filter(|choice| choice.name.value == cambist_strategies::LP_MANAGER);
    let Some(first) = holders.next() else { return };
    if market.pool.is_none() {
        problems.push(Problem {
            at: first.name.at,
            what: "lp_manager needs a [market.pool]".to_owned(),
        });
    }
    problems.extend(step_too_large(market, first));
    for second in holders {
        problems.push(Problem {
            at: second.name.at,
            what: "a pool has one lp_manager".to_owned(),
        });
    }
}

/// A step of lp_manager that no join or exit may have.
fn step_too_large(market: &Market, manager: &StrategyChoice) -> Option<Problem> {
    const STEP: &str = "step_value";
    let step = match manager.params.get(STEP)? {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // What is no number is refused with the parameter.
    let step = Decimal::from_str_exact(&step).ok()?;
    let most = market.pool.as_ref()?.amounts.of("move_value_max")?;
    (step > most.value.number).then(|| Problem {
        at: manager.place(STEP),
        what: format!(
            "lp_manager's {STEP} is {step}, and market.pool.move_value_max allows {} per join or exit: every full step would be withheld (order_value); lower {STEP}, or raise move_value_max",
            most.value.number
        ),
    })
}
