//! Starts of the daemon, the first and those after crashes, from the durable state.

use std::collections::BTreeMap;

use cambist_core::event::{Event, Start};
use cambist_core::market::{MarketError, MarketSpec};
use cambist_core::portfolio::VenueEngine;
use cambist_core::sorted_map::SortedMap;
use cambist_core::strategy::Strategy;
use cambist_core::venue::SlotRule;
use cambist_core::{Engine, MarketId, StrategyId, Time, TokenId};
use cambist_profit_check::Profit;
use cambist_report::Session;

use crate::config::{WorldConfig, WorldError};
use crate::daemon::{Daemon, Monotonic};
use crate::exchange::{Exchange, INSTANCE};
use crate::faults::kinds::FaultKind;
use crate::gateway::Gateway;
use crate::invariants::books::Ledger;
use crate::invariants::limits::StrategyCalls;
use crate::portfolio::Part;

use super::World;
use super::processes::{self, PROCESS};
pub(super) use super::wire::header_time;
use crate::workload::reader::Reader;
use crate::workload::swapper::{SWAPPER, Swapper};

impl World {
    /// Starts the daemon from the durable state.
    pub(super) fn start(&mut self) {
        self.starts += 1;
        self.read_configuration();
        let engine =
            strategies(&self.config, &self.specs).expect("checked when the world was made");
        let (strategy_calls, engine) = StrategyCalls::record(engine);
        let origin = Time(self.config.clock.engine_origin_us + self.random.below(1 << 40));
        let drift_ppm = self.config.clock.engine_drift_ppm;
        let clock = match self.part {
            Some(_) => Part::clock(),
            None => Monotonic::new(self.now, origin, drift_ppm),
        };
        let engine = Engine::new(engine);
        let engine = match &self.part {
            Some(part) => part.start(&self.config, &self.specs, engine),
            None => VenueEngine::alone(engine),
        };
        let mut start = self.start_event();
        start.budget_left = self.exchange.starts(self.now);
        let reported = start.venue_time;
        self.begin_limits(strategy_calls, &start);
        self.ledger = Some(Ledger::begin(&start));
        if let Some(link) = &mut self.chain {
            link.start(&start);
        }
        let start = Event::Start(Box::new(start));
        let durable = self.disk.durable();
        self.daemon = Some(Daemon {
            engine,
            incarnation: self.starts,
            waiting: BTreeMap::new(),
            sealed: durable
                .recovered()
                .into_iter()
                .map(|open| (open.order.client_id, (open.order, open.hash)))
                .collect(),
            moves: durable
                .moves
                .iter()
                .map(|(id, open)| (*id, (open.transaction.clone(), open.hash)))
                .collect(),
            wake: None,
            clock,
            level: durable.levels.state,
            replica: None,
            store_failed: self.active_faults.is(FaultKind::StoreFailed),
            hold: None,
            at_least: false,
        });
        self.active_faults
            .others
            .values_mut()
            .for_each(|reported| *reported = false);
        let level = self.disk.durable().levels.state;
        self.checks.starts_at(level);
        let is_first = self.disk.durable().next_number <= 1;
        self.sending_rules = self.sending_rules.begin(level, is_first);
        self.sending_rules
            .data_age
            .time(clock.at(self.now), reported);
        self.session = Session::new(&self.specs).with_pools(&self.pools);
        self.profit = Profit::begin(&self.specs, &self.pools);
        self.handle_event(&start);
        self.start_portfolio();
        self.start_processes();
        self.start_references();
    }

    pub(crate) fn start_event(&self) -> Start {
        let durable = self.disk.durable();
        let fees = self.config.markets.iter().filter_map(|name| {
            let mut listed = self.config.venue.markets.iter();
            listed.find(|market| market.name == *name)
        });
        let [maker, taker] = fees.fold([0, 0], |[maker, taker], market| {
            [
                market.maker_fee_bips.max(maker),
                market.taker_fee_bips.max(taker),
            ]
        });
        Start {
            config: self.config.engine.clone(),
            markets: self.specs.clone(),
            pools: self.pools.clone(),
            strategies: (0..)
                .zip(&self.config.seats)
                .map(|(id, seat)| (StrategyId(id), seat.market))
                .collect(),
            seed: self.config.seed,
            instance: INSTANCE,
            next_number: durable.next_number.max(1),
            budget_left: None,
            next_slots: self.next_slots(),
            open: durable.recovered(),
            open_pool_transactions: durable.moves.values().cloned().collect(),
            signed: durable.signed(self.exchange.clock(self.now), self.config.engine.grace_ms),
            restrictions: durable.levels.clone(),
            books: durable.books.clone(),
            memories: Vec::new(),
            traded: (0..)
                .map(StrategyId)
                .zip(&self.config.seats)
                .map(|(id, seat)| durable.traded(id, seat.market))
                .collect(),
            lost: SortedMap::new(),
            venue_time: self.passed_time(),
            maker_fee_bips: u16::from(maker),
            taker_fee_bips: u16::from(taker),
            venue: self.config.rules.clone(),
            references: self.config.references.clone(),
        }
    }
}

impl World {
    /// The numbers that a start goes on with: what is durable, or what the venue states of a row without gaps.
    fn next_slots(&self) -> SortedMap<TokenId, u32> {
        let sequenced = self.exchange.gateway().and_then(Gateway::sequenced);
        let rule = self.config.rules.slots;
        match (rule, sequenced) {
            // The numbers of the engine count intents; nonces are the adapter's.
            _ if self.chain.is_some() => self.disk.durable().next_slots(rule),
            (SlotRule::Consecutive { row }, Some(gateway)) => {
                let next = u32::try_from(gateway.next()).unwrap_or(u32::MAX);
                SortedMap::from([(row, next)])
            }
            _ => self.disk.durable().next_slots(rule),
        }
    }
}

/// The markets as the engine trades them, from the venue's listing.
pub(crate) fn specs(
    config: &WorldConfig,
    exchange: &Exchange,
) -> Result<Vec<MarketSpec>, WorldError> {
    let venue = exchange.venue();
    (0..)
        .zip(&config.markets)
        .map(|(id, name)| {
            let unlisted = || WorldError::Unlisted(name.clone());
            let listed = venue
                .market_id(name)
                .and_then(|id| venue.market(id))
                .ok_or_else(unlisted)?;
            let token = |id| venue.token(id).map(|token| token.spec.clone());
            let (base, quote) = token(listed.base)
                .zip(token(listed.quote))
                .ok_or_else(unlisted)?;
            let id = MarketId(id);
            let spec =
                MarketSpec::new(id, name, base, quote, listed.price_decimals, listed.enabled);
            let spec = spec.map_err(|error: MarketError| WorldError::from(error))?;
            Ok(spec
                .with_fee_in(listed.fee_in)
                .with_book(config.chain.is_none()))
        })
        .collect()
}

/// New strategies for the seats.
pub(super) fn strategies(
    config: &WorldConfig,
    specs: &[MarketSpec],
) -> Result<Vec<Box<dyn Strategy>>, WorldError> {
    config
        .seats
        .iter()
        .map(|seat| {
            let market = &specs[usize::from(seat.market.0)];
            if seat.strategy == PROCESS {
                let mut pools = config.engine.pools.iter();
                let swaps = pools.any(|pool| pool.swap_value_max > 0);
                return processes::strategy(seat, market, swaps);
            }
            if seat.strategy == SWAPPER {
                return Ok(Box::new(Swapper::default()) as Box<dyn Strategy>);
            }
            let name = || seat.strategy.clone();
            let info = cambist_strategies::find(&seat.strategy)
                .ok_or_else(|| WorldError::Strategy(name()))?;
            let table: toml::Table =
                seat.parameters
                    .parse()
                    .map_err(|error: toml::de::Error| WorldError::Table {
                        name: name(),
                        problem: error.to_string(),
                    })?;
            let built = info.build_from(&table, market);
            let inner = built.map_err(|problem| WorldError::Parameters {
                name: name(),
                problem,
            })?;
            let needs = seat.reads.clone();
            Ok(if needs.is_empty() {
                inner
            } else {
                Box::new(Reader { inner, needs })
            })
        })
        .collect()
}
