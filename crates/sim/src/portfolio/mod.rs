//! Two venues of one daemon: a world for each, with its own exchange, network, disk and faults, and one engine value over
//! both ([`PortfolioEngine`]). The events of both are processed in the order of time. The process is one: a crash at one
//! venue is one at the other, and both engines read the same clock.

mod hedging;

use std::cell::RefCell;
use std::rc::Rc;

use cambist_core::portfolio::rules::{
    ListedMarket, MemberRules, PortfolioRules, TokenLimit, VenueNames, WholeTokens,
};
use cambist_core::portfolio::{PortfolioEngine, VenueEngine};
use cambist_core::{Amount, Engine, MarketSpec, Time};
use cambist_venue::Random;

use crate::campaign::outcome::Outcome;
use crate::config::{WorldConfig, WorldError};
use crate::daemon::Monotonic;
use crate::faults::kinds::FaultKind;
use crate::invariants::table::Invariant;
use crate::profiles::base::PRICE;
use crate::profiles::sampling::choose;
use crate::world::World;

use hedging::Target;

/// What the clock of a process reads at its start: that of the daemon's engines.
const CLOCK_BEGINS: Time = Time(24 * 3_600 * 1_000_000);
/// Names of the venues.
pub(crate) const VENUES: [&str; 2] = ["one", "two"];
/// Units in a whole one of the reporting currency.
const WHOLE: Amount = 1_000_000;

/// The engine value that the worlds of a portfolio share, and the place of one of them in it.
pub(crate) struct Part {
    engine: Rc<RefCell<PortfolioEngine>>,
    venue: usize,
    /// Quotes have to return after the faults: the limits are never reached.
    quotes: bool,
}

impl Part {
    /// The engine of this venue begins.
    pub(crate) fn start(
        &self,
        config: &WorldConfig,
        markets: &[MarketSpec],
        engine: Engine,
    ) -> VenueEngine {
        let reads = hedging::reads(config, markets);
        self.engine
            .borrow_mut()
            .begin(self.venue, markets, &reads)
            .expect("both venues have the market");
        VenueEngine::start(Rc::clone(&self.engine), self.venue, engine)
    }

    /// Whether quotes have to return after the faults.
    pub(crate) const fn quotes(&self) -> bool {
        self.quotes
    }

    /// The clock that both engines read: it goes on over starts, so that times of both are comparable.
    pub(crate) const fn clock() -> Monotonic {
        Monotonic::new(Time(0), CLOCK_BEGINS, 0)
    }
}

/// Two worlds that trade on their venues as one portfolio.
pub struct PortfolioWorld {
    worlds: [Box<World>; 2],
    rules: PortfolioRules,
    engine: Rc<RefCell<PortfolioEngine>>,
    seed: u64,
    /// What both are to hold.
    target: Option<Target>,
}

impl PortfolioWorld {
    /// The worlds of these configurations, before their first event, with limits over both drawn from the seed.
    ///
    /// # Errors
    /// [`WorldError`] of either.
    pub fn new(seed: u64, configs: [WorldConfig; 2]) -> Result<Self, WorldError> {
        let mut configs = configs;
        for config in &mut configs {
            // What the others hold is stated by their engines here, and not drawn. One host is suspended as a whole.
            config.portfolio = false;
            let kinds = &mut config.fault_kinds.kinds;
            kinds.retain(|kind| *kind != FaultKind::Suspended);
        }
        let mut random = Random::new(seed ^ 0x7477_6f76_656e);
        let is_wide = random.chance(1, 2);
        let target = if is_wide && random.chance(2, 3) {
            hedging::hedged(&mut configs)
        } else {
            None
        };
        let rules = drawn(&mut random, is_wide, &configs);
        let engine = Rc::new(RefCell::new(PortfolioEngine::new(rules.clone())));
        let [first, second] = configs;
        let mut worlds = [Box::new(World::new(first)?), Box::new(World::new(second)?)];
        for (venue, world) in worlds.iter_mut().enumerate() {
            let engine = Rc::clone(&engine);
            world.join_portfolio(Part {
                engine,
                venue,
                quotes: is_wide && (venue > 0 || target.is_none()),
            });
        }
        Ok(Self {
            worlds,
            rules,
            engine,
            seed,
            target,
        })
    }

    /// Its worlds.
    pub const fn worlds(&mut self) -> &mut [Box<World>; 2] {
        &mut self.worlds
    }

    /// Makes markets with faults for the configured time, ends all faults, waits until quotes rest again, and drains.
    pub fn play(&mut self) -> Outcome {
        let until = Time::from_ms(self.worlds[0].config().duration_ms);
        self.step_while(|at, _| at <= until);
        self.worlds.iter_mut().for_each(|world| world.calm());
        // Nothing is bought at one venue before the other has compared its books.
        let [first, second] = self.worlds.each_ref().map(|world| world.begin_recovery());
        let recoveries = [first.after(second), second.after(first)];
        self.step_while(|at, worlds| {
            let mut each = worlds.iter().zip(&recoveries);
            each.any(|(world, recovery)| at <= recovery.limit && !world.is_recovered(recovery))
        });
        let each = self.worlds.iter_mut().zip(&recoveries);
        each.for_each(|(world, recovery)| world.check_recovered(recovery));
        let proven = self.worlds[1].end();
        let second = self.worlds[1].outcome(proven);
        self.check_hedged();
        let proven = self.worlds[0].end();
        let mut outcome = self.worlds[0].outcome(proven);
        outcome.seed = self.seed;
        outcome.add(second);
        outcome
    }

    /// The second venue has ended, so that nothing opens the leg any more: it is closed at the first.
    fn check_hedged(&mut self) {
        let Some(target) = self.target.clone() else {
            return;
        };
        let is_open = |worlds: &[Box<World>; 2]| {
            let held = worlds.each_ref().map(|world| world.held_of(&target.token));
            let held = held.iter().sum::<Amount>();
            held.abs_diff(target.units) > target.least
        };
        let until = self.worlds[0].now().plus_ms(hedging::CLOSED_WITHIN_MS);
        while is_open(&self.worlds) && self.worlds[0].next_at().is_some_and(|at| at <= until) {
            self.worlds[0].step();
        }
        if is_open(&self.worlds) {
            let held = self
                .worlds
                .each_ref()
                .map(|world| world.held_of(&target.token));
            let detail = format!("{held:?} base units held, {} wanted", target.units);
            self.worlds[0].fail(Invariant::OpenLeg, detail);
        }
    }

    /// Processes events of both worlds in the order of time, while `goes_on` at the time of the next one.
    fn step_while(&mut self, mut goes_on: impl FnMut(Time, &[Box<World>; 2]) -> bool) {
        loop {
            let next = self.worlds.each_ref().map(|world| world.next_at());
            let Some((venue, at)) = earliest(next) else {
                return;
            };
            if !goes_on(at, &self.worlds) {
                return;
            }
            self.step(venue);
        }
    }

    fn step(&mut self, venue: usize) {
        let was_up = self.worlds[venue].is_up();
        let purchases = |world: &World, limit: &TokenLimit| world.purchases(&limit.name);
        let limits = self.rules.tokens.iter();
        let before: Vec<_> = limits
            .map(|limit| purchases(&self.worlds[venue], limit))
            .collect();
        let all_before = self.worlds[venue].all_purchases();
        self.worlds[venue].step();
        let [world, other] = self.beside(venue);
        if was_up && !world.is_up() && world.finished().is_none() {
            other.crash();
            *self.engine.borrow_mut() = PortfolioEngine::new(self.rules.clone());
            return;
        }
        let limits = self.rules.tokens.iter().zip(before);
        let world = &self.worlds[venue];
        let bought = limits.filter(|(limit, before)| purchases(world, limit) > *before);
        let bought: Vec<_> = bought.map(|(limit, _)| limit.clone()).collect();
        let has_bought = world.all_purchases() > all_before;
        for limit in bought {
            self.check_inventory(venue, &limit);
        }
        if has_bought {
            self.check_exposure(venue);
        }
    }

    /// A world, and the other one.
    fn beside(&mut self, venue: usize) -> [&mut World; 2] {
        let [first, second] = &mut self.worlds;
        if venue == 0 {
            [first, second]
        } else {
            [second, first]
        }
    }

    /// A purchase was handed over for sealing: what both accounts hold and what may still fill there, by their venues, is
    /// within the limit.
    fn check_inventory(&mut self, venue: usize, limit: &TokenLimit) {
        let held = self.worlds.each_ref();
        let held = held.map(|world| world.most_of_token(&limit.name));
        let [Some(first), Some(second)] = held else {
            return;
        };
        let most = limit.most.units;
        if first.saturating_add(second) > most {
            let detail = format!(
                "{}: {first} and {second} base units possible at both venues, of {most}",
                limit.name
            );
            self.worlds[venue].fail(Invariant::PortfolioInventory, detail);
        }
    }

    /// A purchase was handed over for sealing: what both accounts may hold is worth no more than the limit. Quote tokens
    /// are at par, and have the decimals of the reporting currency.
    fn check_exposure(&mut self, venue: usize) {
        let Some(most) = self.rules.exposure_max else {
            return;
        };
        let values = self.worlds.each_ref().map(|world| world.most_value());
        if let [Some(first), Some(second)] = values
            && first.saturating_add(second) > most
        {
            let detail = format!("{first} and {second} of {most} possible at both venues");
            self.worlds[venue].fail(Invariant::PortfolioExposure, detail);
        }
    }
}

/// Which of two comes first; the first of equal times.
fn earliest([first, second]: [Option<Time>; 2]) -> Option<(usize, Time)> {
    match (first, second) {
        (Some(one), Some(other)) if other < one => Some((1, other)),
        (Some(one), _) => Some((0, one)),
        (None, other) => other.map(|at| (1, at)),
    }
}

/// Limits that leave room for a few orders of what both accounts begin with, or that are never reached.
fn drawn(random: &mut Random, is_wide: bool, configs: &[WorldConfig; 2]) -> PortfolioRules {
    let venues = configs.iter().zip(VENUES).map(|(config, name)| {
        let markets = config.markets.iter().filter_map(|market| {
            let (base, quote) = market.split_once('-')?;
            Some(ListedMarket {
                name: market.clone(),
                tokens: [base.to_owned(), quote.to_owned()],
            })
        });
        MemberRules {
            names: VenueNames {
                venue: name.to_owned(),
                ..VenueNames::default()
            },
            markets: markets.collect(),
        }
    });
    let venues: Vec<_> = venues.collect();
    let mut rules = PortfolioRules {
        at_par: ["QQQ".to_owned()].into(),
        price_age_max_ms: 60_000,
        whole: WHOLE,
        venues,
        ..PortfolioRules::default()
    };
    let mut funded: Amount = 0;
    for (name, units) in funds(configs) {
        let room = *choose(random, &[ONE / 2, 3 * ONE, 10 * ONE, 40 * ONE]);
        let room = if is_wide { WIDE * ONE } else { room };
        funded = funded.saturating_add(units);
        if random.chance(2, 3) {
            rules.tokens.push(TokenLimit {
                name,
                most: WholeTokens {
                    units: units.saturating_add(room),
                    scale: DECIMALS,
                },
            });
        }
    }
    if rules.tokens.is_empty() || random.chance(1, 2) {
        let worth = funded / ONE * Amount::from(PRICE.0) * (WHOLE / 100);
        let part = *choose(random, &[100, 20, 5, 1]);
        let room = if is_wide {
            WIDE * WHOLE * WHOLE
        } else {
            worth / part
        };
        rules.exposure_max = Some(worth + room);
    }
    rules
}

/// Whole tokens that no world ever holds.
const WIDE: Amount = 1_000_000;
/// Decimals of base tokens in these worlds, and a whole one.
const DECIMALS: u8 = 18;
const ONE: Amount = 1_000_000_000_000_000_000;

/// What both accounts begin with, by symbol of the base token.
fn funds(configs: &[WorldConfig; 2]) -> std::collections::BTreeMap<String, Amount> {
    let mut funds = std::collections::BTreeMap::new();
    for config in configs {
        let bases = config
            .markets
            .iter()
            .filter_map(|name| name.split_once('-'));
        for (base, _) in bases {
            let mut tokens = config.venue.tokens.iter();
            let token = tokens.find(|token| token.spec.symbol == base);
            let units = token.and_then(|token| config.funds.get(&token.spec.id));
            let sum = funds.entry(base.to_owned()).or_insert(0);
            *sum += units.copied().unwrap_or(0);
        }
    }
    funds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_event_comes_first() {
        let at = |us| Some(Time(us));
        assert_eq!(earliest([at(1), at(2)]), Some((0, Time(1))));
        assert_eq!(earliest([at(2), at(1)]), Some((1, Time(1))));
        assert_eq!(earliest([at(2), at(2)]), Some((0, Time(2))));
        assert_eq!(earliest([None, at(2)]), Some((1, Time(2))));
        assert_eq!(earliest([at(2), None]), Some((0, Time(2))));
        assert_eq!(earliest([None, None]), None);
    }
}
