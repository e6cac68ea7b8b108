//! Checks whether a configuration can quote at all: both sides of every market are tried in the engine, over prices of
//! the price band and holdings of the inventory band, with little and with much of the quote token.
//!
//! A side is refused only if no trial quotes it. If a trial fails in a comparison of prices, the price at which it
//! would succeed is computed and tried next, so that strategies with a narrow range of prices are found.

use std::collections::{BTreeSet, VecDeque};

use cambist_core::config::{EngineConfig, MarketConfig, RampConfig};
use cambist_core::notification::{Control, Withheld};
use cambist_core::reference::ReferenceSource;
use cambist_core::request::{Balance, Depth, DepthLevel, Listed, Query, Reply};
use cambist_core::strategy::Strategy;
use cambist_core::withheld::Unit;
use cambist_core::{Amount, MarketId, MarketSpec, Price, Qty, Side, VenueRules, VenueTime};

use cambist_config::money::{self, Money};
use cambist_strategies::Promise;

use super::daemon::Daemon;
use super::market::{Market, StrategyChoice};
use super::reader::{Place, Problem};
use crate::config::reads;
use crate::config::resolve;
use crate::config::resolve::Bound;
use crate::dry_run::{self, Answers, DryRun};
use crate::telemetry::withheld;

/// Most trials of one market.
const TRIALS_MAX: usize = 2_000;
/// Number of parts of the inventory band.
const PARTS: u128 = 32;
/// The venue's time in every trial.
const THEN: VenueTime = VenueTime(1_700_000_000_000);

/// Sides that cannot be quoted at any price around the price band with any holdings of the inventory band: one message
/// each.
pub fn never_quoted(daemon: &Daemon, bound: &Bound) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, market) in daemon.markets.iter().enumerate() {
        if market.strategies.iter().any(is_unknown) {
            continue;
        }
        let never = Trials::of(bound, index).never();
        let spec = &bound.markets[index];
        let sides: Vec<_> = Side::BOTH.into_iter().zip(never).collect();
        let both = match sides.as_slice() {
            [(_, Some(buy)), (_, Some(sell))] => buy.is_alike(sell),
            _ => false,
        };
        for (side, why) in sides {
            let Some(why) = why else { continue };
            // Trials have no pool, and a strategy that hedges pool shares has no price without one.
            if market.pool.is_some() && why.control == Control::NoFairPrice {
                continue;
            }
            if both && side == Side::Sell {
                continue;
            }
            let which = match (both, side) {
                (true, _) => "neither side",
                (false, Side::Buy) => "no bid",
                (false, Side::Sell) => "no ask",
            };
            problems.push(Problem {
                at: place(market, &why),
                what: format!(
                    "market {}: {which} would be quoted at any price around price_floor to price_ceiling, with any holdings from inventory_min to inventory_max: {} ({})",
                    market.name.value,
                    withheld::text(spec, &why),
                    why.control.name()
                ),
            });
        }
    }
    problems
}

/// The most that may be held in a market, beside its own limits.
#[derive(Clone, Copy, Debug)]
pub enum Tighter {
    /// The value of holdings and bids, in units of the quote token.
    Exposure(Amount),
    /// Units of the base token.
    Inventory(Amount),
}

/// Whether nothing would ever be bought in a market under this limit, whatever its price and holdings. False where that
/// is not known without a venue.
pub fn never_buys(daemon: &Daemon, bound: &Bound, index: usize, tighter: Tighter) -> bool {
    let (Some(market), Some(spec)) = (daemon.markets.get(index), bound.markets.get(index)) else {
        return false;
    };
    if !spec.book {
        return match tighter {
            Tighter::Exposure(most) => joins_add_more(market, spec, most),
            // What is joined was held before.
            Tighter::Inventory(_) => false,
        };
    }
    if market.strategies.iter().any(is_unknown) {
        return false;
    }
    let buys = |bound: &Bound| Trials::of(bound, index).never()[0].is_none();
    let mut limited = bound.clone();
    match tighter {
        Tighter::Exposure(most) => {
            let known = limited.engine.risk.gross_max.entry(spec.quote.id);
            let known = known.or_default();
            *known = most.min(*known);
        }
        Tighter::Inventory(most) => {
            let Some(limits) = limited.engine.markets.get_mut(index) else {
                return false;
            };
            limits.inventory_max = most.min(limits.inventory_max);
            limits.inventory_min = limits.inventory_min.min(limits.inventory_max);
        }
    }
    // What the market's own limits forbid is not this limit's.
    !buys(&limited) && buys(bound)
}

/// Whether a full step of the pool's only strategy adds more to the exposure than this: half of it is quote, which counts
/// from the join on.
fn joins_add_more(market: &Market, spec: &MarketSpec, most: Amount) -> bool {
    let [only] = market.strategies.as_slice() else {
        return false;
    };
    let step = (only.name.value == cambist_strategies::LP_MANAGER)
        .then(|| only.params.get("step_value"))
        .flatten();
    let step = step.and_then(|step| money::decimal(step.to_string().trim_matches('"')));
    let step = step.and_then(|number| {
        let symbol = None;
        Money { number, symbol }.units(&spec.quote).ok()
    });
    step.is_some_and(|step| step / 2 > most)
}

/// What a process will want is not known before it runs, a strategy of rounds orders only what a swap left, and one that
/// holds a share trades only outside its band.
fn is_unknown(choice: &StrategyChoice) -> bool {
    let info = cambist_strategies::find(&choice.name.value);
    let is_idle = |promise| matches!(promise, Promise::Swaps | Promise::Weight);
    choice.process.is_some() || info.is_some_and(|info| is_idle(info.promise))
}

/// The position in the file that decides it.
fn place(market: &Market, why: &Withheld) -> Place {
    let key = why.key().unwrap_or_default();
    if let Some(parameter) = key.strip_prefix("market.strategy.params") {
        let parameter = parameter.trim_start_matches('.');
        let mut choices = market.strategies.iter();
        let choice = choices
            .find(|choice| choice.params.contains_key(parameter))
            .or_else(|| market.strategies.first());
        return choice.map_or(market.name.at, |choice| choice.place(parameter));
    }
    market.place(key.strip_prefix("market.").unwrap_or(key))
}

/// Amount of the quote token, relative to the value of the largest inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Funds {
    Plenty,
    AsMuch,
    Less,
    Little,
}

impl Funds {
    const ALL: [Self; 4] = [Self::Plenty, Self::AsMuch, Self::Less, Self::Little];

    const fn of(self, worth: Amount) -> Amount {
        match self {
            Self::Plenty => worth.saturating_mul(8),
            Self::AsMuch => worth,
            Self::Less => worth / 4,
            Self::Little => worth / 64,
        }
    }
}

/// A price and holdings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Trial {
    /// In half ticks, odd: the book is one tick wide.
    mid: u64,
    base: Amount,
    quote: Amount,
    funds: Funds,
}

/// Trials of one market.
struct Trials<'a> {
    engine: EngineConfig,
    venue: VenueRules,
    spec: MarketSpec,
    /// Other markets that its strategies read, numbered behind it; in every trial they agree with it.
    others: Vec<MarketSpec>,
    choices: Vec<&'a StrategyChoice>,
    references: Vec<ReferenceSource>,
    waiting: VecDeque<Trial>,
    tried: BTreeSet<Trial>,
}

impl<'a> Trials<'a> {
    fn of(bound: &'a Bound, index: usize) -> Self {
        let id = bound.markets[index].id;
        let choices = bound.strategies.iter();
        let choices = choices.filter(|(_, market, _)| *market == id);
        let choices: Vec<_> = choices.map(|(_, _, choice)| choice).collect();
        let own = &bound.markets[index];
        let built = choices
            .iter()
            .filter_map(|choice| resolve::build(choice, own).ok());
        let read: BTreeSet<_> = built.flat_map(|built| built.reads().to_vec()).collect();
        let each = bound.markets.iter().zip(&bound.engine.markets);
        let read = each.filter(|(market, _)| read.contains(&market.name));
        let (mut others, mut configs) = (Vec::new(), vec![bound.engine.markets[index].clone()]);
        for (id, (market, config)) in (1..).map(MarketId).zip(read) {
            others.push(MarketSpec {
                id,
                enabled: true,
                ..market.clone()
            });
            // Their books are one tick wide and hold a lot, whatever they are quoted with.
            configs.push(MarketConfig {
                spread_max_bps: u32::MAX,
                depth_min: Qty(0),
                ..config.clone()
            });
        }
        let engine = EngineConfig {
            markets: configs,
            pools: Vec::new(),
            // At full size, as after the ramp.
            ramp: RampConfig::OFF,
            ..bound.engine.clone()
        };
        let mut trials = Self {
            engine,
            venue: bound.venue.clone(),
            spec: MarketSpec {
                id: MarketId(0),
                enabled: true,
                ..own.clone()
            },
            others,
            choices,
            references: bound
                .references
                .iter()
                .filter(|(source, _)| source.market == id)
                .map(|(source, _)| ReferenceSource {
                    market: MarketId(0),
                    ..source.clone()
                })
                .collect(),
            waiting: VecDeque::new(),
            tried: BTreeSet::new(),
        };
        trials.plan_grid();
        trials
    }

    fn limits(&self) -> &MarketConfig {
        &self.engine.markets[0]
    }

    /// The middle of both bands first, then their ends, then a finer and finer grid.
    fn plan_grid(&mut self) {
        let limits = self.limits();
        let (low, high) = (
            limits.price_min.0.saturating_mul(2),
            limits.price_max.0.saturating_mul(2),
        );
        let (least, most) = (limits.inventory_min, limits.inventory_max);
        let at = |eighth: u64| low + high.saturating_sub(low) / 8 * eighth;
        let geometric = u128::from(low).saturating_mul(high.into()).isqrt();
        let geometric = u64::try_from(geometric).unwrap_or(high);
        let mids = [at(4), geometric, at(1), at(7), at(2), at(6), low, high];
        let held = |part: u128| least + most.saturating_sub(least) / PARTS * part;
        // If the side is never quoted, the reason of this trial is reported.
        self.plan(at(4), held(PARTS / 2), Funds::Plenty);
        for step in [PARTS / 2, PARTS / 4, PARTS / 8, 1] {
            // The finest steps are tried at fewer prices.
            let mids = if step > 1 { &mids[..] } else { &mids[..4] };
            for part in (0..=PARTS).step_by(usize::try_from(step).unwrap_or(1)) {
                for mid in mids {
                    for funds in Funds::ALL {
                        self.plan(*mid, held(part), funds);
                    }
                }
            }
        }
    }

    fn plan(&mut self, mid: u64, base: Amount, funds: Funds) {
        let limits = self.limits();
        // The mid may be outside the band while an order is inside.
        let (low, high) = (
            limits.price_min.0.max(3),
            limits.price_max.0.saturating_mul(4),
        );
        let mid = mid.clamp(low, high.max(low)) | 1;
        let lots = self.spec.lots_floor(limits.inventory_max);
        let worth = self.spec.quote_amount(Price(mid / 2), lots);
        let trial = Trial {
            mid,
            base,
            quote: funds.of(worth.unwrap_or(Amount::MAX >> 32)),
            funds,
        };
        if self.tried.len() < TRIALS_MAX && self.tried.insert(trial) {
            self.waiting.push_back(trial);
        }
    }

    /// Why each side is never quoted; `None` for a side that is quoted in some trial, or that no strategy quotes.
    fn never(mut self) -> [Option<Withheld>; 2] {
        let mut first = [None; 2];
        let mut quoted = [false; 2];
        // What is held at another venue is not known in a trial.
        let reads_elsewhere = self.reads_elsewhere();
        let lacks = |why: &Withheld| reads_elsewhere && why.control == Control::NoFairPrice;
        while let Some(trial) = self.waiting.pop_front() {
            let found = self.judge(trial);
            for (at, why) in found.into_iter().enumerate() {
                match why {
                    // A strategy without a quote may have reasons that no trial has.
                    None => quoted[at] = true,
                    Some(why)
                        if is_no_mistake(why.control) || depends_on_data(&why) || lacks(&why) =>
                    {
                        quoted[at] = true;
                    }
                    Some(why) => {
                        first[at] = first[at].or(Some(why));
                        if !quoted[at] {
                            self.refine(trial, &why);
                        }
                    }
                }
            }
            if quoted == [true; 2] {
                break;
            }
        }
        [0, 1].map(|at| first[at].filter(|_| !quoted[at]))
    }

    /// Whether a strategy of the market reads a market of another venue.
    fn reads_elsewhere(&self) -> bool {
        self.choices.iter().any(|choice| {
            let built = resolve::build(choice, &self.spec);
            built.is_ok_and(|strategy| !reads::elsewhere(strategy.as_ref(), &self.spec).is_empty())
        })
    }

    fn judge(&self, trial: Trial) -> [Option<Withheld>; 2] {
        let built = (0..).zip(&self.choices).filter_map(|(id, choice)| {
            let strategy = resolve::build(choice, &self.spec).ok()?;
            Some((cambist_core::StrategyId(id), MarketId(0), strategy))
        });
        let strategies: Vec<(_, _, Box<dyn Strategy>)> = built.collect();
        let mut others: Vec<(MarketSpec, u64)> = Vec::new();
        for (_, _, strategy) in &strategies {
            let agreeing =
                reads::agreeing(strategy.as_ref(), &self.spec, trial.mid, &self.others, &[]);
            for (market, mid) in agreeing {
                if others.iter().all(|(known, _)| known.id != market.id) {
                    others.push((market.clone(), mid));
                }
            }
        }
        let all = [&self.spec].into_iter().chain(&self.others);
        let run = DryRun {
            config: self.engine.clone(),
            markets: all.cloned().collect(),
            references: self.references.clone(),
            strategies,
            instance: 1,
            venue: self.venue.clone(),
            venue_time: THEN,
        };
        let mut venue = Quiet {
            spec: &self.spec,
            others,
            depth_min: self.limits().depth_min,
            trial,
        };
        let found = dry_run::reasons(run, &mut venue);
        found.first().copied().unwrap_or_default()
    }

    /// The mid at which the failed comparison would succeed: prices and values follow the mid, and an order that keeps
    /// its price is within the collar of a mid at that price.
    fn refine(&mut self, trial: Trial, why: &Withheld) {
        if let (Control::PriceCollar, Unit::Bps, Some(away)) = (why.control, why.unit, why.value) {
            let away = u64::try_from(away).unwrap_or(u64::MAX);
            let part = trial.mid / 10_000;
            let moved = part.saturating_mul(away);
            self.plan(trial.mid.saturating_sub(moved), trial.base, trial.funds);
            self.plan(trial.mid.saturating_add(moved), trial.base, trial.funds);
        }
        let follows = matches!(why.unit, Unit::Ticks | Unit::HalfTicks | Unit::Quote);
        let follows = follows && why.control != Control::StrategyFunds;
        let (Some(value), Some(limit), true) = (why.value, why.limit, follows) else {
            return;
        };
        let (value, limit) = (value.max(1).unsigned_abs(), limit.max(0).unsigned_abs());
        let scaled = u128::from(trial.mid).saturating_mul(limit) / value;
        let scaled = u64::try_from(scaled).unwrap_or(u64::MAX / 200);
        for bps in [0, 1, 10, 100] {
            let away = scaled / 10_000 * bps + 2;
            for mid in [scaled.saturating_sub(away), scaled.saturating_add(away)] {
                self.plan(mid, trial.base, trial.funds);
            }
        }
    }
}

/// Whether the result depends on market data: trials have no pool, and sources of a reference price may agree in the
/// market though they agree in no trial.
fn depends_on_data(why: &Withheld) -> bool {
    let key = why.key().unwrap_or_default();
    why.control == Control::NoFairPrice && key.starts_with("market.strategy.params.reference")
}

/// Reasons that are not caused by the file.
const fn is_no_mistake(control: Control) -> bool {
    control.is_by_design() || matches!(control, Control::NotWanted | Control::FillDelay)
}

/// A venue with one quiet market, and others that agree with it.
struct Quiet<'a> {
    spec: &'a MarketSpec,
    /// The others with their mids in half ticks.
    others: Vec<(MarketSpec, u64)>,
    depth_min: Qty,
    trial: Trial,
}

impl Answers for Quiet<'_> {
    fn answer(&mut self, query: &Query, venue_time: VenueTime) -> Option<Reply> {
        let (spec, trial) = (self.spec, self.trial);
        let level = |price: u64| DepthLevel {
            price: Price(price),
            size: spec
                .base_amount(Qty(self.depth_min.0.saturating_add(1)))
                .unwrap_or(spec.lot),
        };
        let held = |token, total| Balance {
            token,
            total,
            locked: 0,
        };
        let all = self.others.iter().map(|(market, _)| market);
        let all = [spec].into_iter().chain(all);
        Some(match query {
            Query::Depth(other) if *other != spec.id => {
                let mut others = self.others.iter();
                let (market, mid) = others.find(|(market, _)| market.id == *other)?;
                let level = |price: u64| DepthLevel {
                    price: Price(price),
                    size: market.lot,
                };
                let bid = (mid / 2).max(1);
                Reply::Depth(Depth {
                    market: *other,
                    version: 1,
                    timestamp: venue_time,
                    bids: vec![level(bid)],
                    asks: vec![level(bid.saturating_add(1))],
                })
            }
            Query::Depth(market) => Reply::Depth(Depth {
                market: *market,
                version: 1,
                timestamp: venue_time,
                bids: vec![level(trial.mid / 2)],
                asks: vec![level(trial.mid / 2 + 1)],
            }),
            Query::Balances => Reply::Balances(vec![
                held(spec.base.id, trial.base),
                held(spec.quote.id, trial.quote),
            ]),
            Query::Orders(_) => Reply::Orders {
                orders: Vec::new(),
                total: 0,
            },
            Query::Markets => Reply::Markets {
                listed: all
                    .map(|spec| Listed {
                        name: spec.name.clone(),
                        base: spec.base.id,
                        quote: spec.quote.id,
                        price_decimals: spec.price_decimals,
                        enabled: true,
                    })
                    .collect(),
            },
            Query::Account => Reply::Account { frozen: false },
            Query::Tokens => {
                let tokens = all.flat_map(|spec| [spec.base.clone(), spec.quote.clone()]);
                Reply::Tokens(tokens.collect())
            }
            Query::Order(_)
            | Query::Cancel(_)
            | Query::Amend(_)
            | Query::Pools
            | Query::PoolBalance(_)
            | Query::PoolTransactions(_) => return None,
        })
    }
}

#[cfg(test)]
#[path = "feasible_tests.rs"]
mod tests;
