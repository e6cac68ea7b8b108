//! Draws a world from its seed: which faults occur and how often, all latencies, and the daemon's configuration. It is
//! determined by the seed alone, so that one number reproduces a run.

use cambist_core::config::ForeignOrders;
use cambist_core::reference::ReferenceSource;
use cambist_core::{MarketId, VenueTime};
use cambist_venue::Random;

use crate::config::{CrashConfig, FaultKindConfig, FaultScheduleConfig, WorldConfig};
use crate::faults::kinds::FaultKind;
use crate::sealer::Sealer;
use crate::world::processes::PROCESS;

fn strategy(seed: u64, random: &mut Random) -> &'static str {
    let quoter = *choose(random, &["ladder", "bands"]);
    match seed {
        _ if seed % 16 == 9 => PROCESS,
        _ if seed % 5 == 4 => "glft",
        _ => quoter,
    }
}

const REFERENCES: &str = "
reference = [
    { source = \"mid\", weight = 8 },
    { source = \"feed\", feed = \"near\" },
    { source = \"feed\", feed = \"far\" },
]
reference_rule = \"weighted\"
reference_sources_min = 1
reference_divergence_bps = 9999
";

impl WorldConfig {
    /// The world of a seed. Every fault family is on in about half of all worlds, at its own rate.
    pub fn drawn(seed: u64) -> Self {
        // Another random stream than that of the world itself.
        let mut random = Random::new(seed.rotate_left(32) ^ 0x0063_616d_6269_7374);
        let mut config = Self::calm(seed, strategy(seed, &mut random));
        config = match random.below(4) {
            0 => config.shared(),
            1 => config.twofold(),
            _ => config,
        };

        let network = &mut config.network;
        network.latency_min_ms = *choose(&mut random, &[1, 5, 15, 30]);
        network.latency_max_ms = network.latency_min_ms * random.between(2, 4);
        network.not_sent = rate(&mut random);
        network.loss_before = rate(&mut random);
        network.loss_after = rate(&mut random);
        network.garbled = rate(&mut random);
        network.duplicate = rate(&mut random);
        network.reorder = rate(&mut random);
        network.reorder_ms = *choose(&mut random, &[200, 2_000, 8_000, 40_000]);

        let store = &mut config.store;
        store.seal_max_ms = *choose(&mut random, &[2, 10, 30, 60]);
        store.flush_ms = *choose(&mut random, &[1, 100, 2_000]);
        store.restart_ms = *choose(&mut random, &[50, 1_000, 20_000, 90_000]);

        if random.chance(1, 2) {
            config.crash = CrashConfig {
                mean_ms: *choose(&mut random, &[10_000, 60_000, 300_000]),
                actions_max: 60,
            };
        }

        network.limited = rate(&mut random);
        network.server_error = rate(&mut random);
        network.redirect = rate(&mut random);
        config.fault_schedule = fault_schedule(&mut random);
        config.fault_kinds = fault_kinds(&mut random);

        let clock = &mut config.clock;
        clock.venue_origin = VenueTime(clock.venue_origin.0 + random.below(1_000_000));
        let drift = i32::try_from(random.below(1_001)).unwrap_or(0);
        clock.engine_drift_ppm = drift - 500;

        // Funds and bands that are scarce, so that reservations matter.
        let scarcity = *choose(&mut random, &[1, 1, 8, 20]);
        for amount in config.funds.values_mut() {
            *amount /= scarcity;
        }
        for (spec, limits) in config.markets.iter().zip(&mut config.engine.markets) {
            let base = config
                .venue
                .markets
                .iter()
                .find(|m| m.name == *spec)
                .map(|m| m.base);
            let held = base
                .and_then(|base| config.funds.get(&base))
                .copied()
                .unwrap_or(0);
            if random.chance(1, 3) {
                limits.inventory_min = held / 2;
                limits.inventory_max = held + held / 2;
            }
            limits.frozen_after_ms = *choose(&mut random, &[0, 10_000, 60_000]);
            limits.open_orders_max = *choose(&mut random, &[6, 8, 16]);
        }

        let engine = &mut config.engine;
        engine.ttl_ms = *choose(&mut random, &[15_000, 30_000, 120_000, 600_000]);
        engine.refresh_before_ms = engine.ttl_ms / 4;
        engine.grace_ms = *choose(&mut random, &[1_000, 3_000, 30_000]);
        // Healthy answers arrive in time; otherwise nothing can be expected of the daemon.
        let round_trip_ms = 2 * config.network.latency_max_ms;
        engine.request_timeout_ms =
            (*choose(&mut random, &[1_000, 3_000, 10_000])).max(2 * round_trip_ms);
        engine.poll.depth_age_max_ms = *choose(&mut random, &[2_000, 5_000]);
        let age_max_ms = *choose(&mut random, &[6_000, 15_000]);
        engine.poll.balances_age_max_ms = age_max_ms;
        engine.poll.orders_age_max_ms = age_max_ms;
        engine.attempts_max = *choose(&mut random, &[1, 2, 3, 5]);
        engine.poll.orders_page = *choose(&mut random, &[10, 50, 200]);
        // Enough for the polls of every market and the replacements of every strategy: `check` refuses less, and
        // quoting without it depends on chance.
        let seats = u32::try_from(config.seats.len()).unwrap_or(1);
        engine.budget.per_s = *choose(&mut random, &[15, 25, 100]) * seats;
        engine.maker_only = random.chance(3, 4);
        if random.chance(1, 100) {
            config.sealer = Sealer::Wire;
        }
        if random.chance(1, 8) {
            config = config.uncertain(&mut random);
        }
        let engine = &mut config.engine;
        engine.drain_deadline_ms = 2 * (engine.ttl_ms + engine.grace_ms) + 120_000;
        if random.chance(1, 5) {
            config = config.with_pool().with_drawn_swaps(seed);
        }
        // From a stream of its own: what is drawn for a seed otherwise stays as it is.
        let mut random_of_fees = Random::new(seed.rotate_left(16) ^ 0x0066_6565);
        config.draw_fees_and_policy(&mut random_of_fees);
        config = config
            .with_references(seed % 6 == 2)
            .with_other_markets(seed % 3 == 1)
            .among_drawn_traders(&mut random);
        if random.chance(1, 12) {
            config = config.falling(&mut random);
        }
        config.tight = random.chance(1, 5);
        config.portfolio = seed % 7 == 5;
        config
    }
}

impl WorldConfig {
    /// In some worlds, two sources of reference prices at every market, which the quoters combine with the book. Without them they quote
    /// by the book alone, so that a world's expectations of quoting stay.
    fn with_references(mut self, is_one: bool) -> Self {
        if !is_one {
            return self;
        }
        for market in (0..).map(MarketId).take(self.markets.len()) {
            for (name, age_max_ms) in [("near", 2_500), ("far", 8_000)] {
                self.references.push(ReferenceSource {
                    market,
                    name: name.to_owned(),
                    age_max_ms,
                });
            }
        }
        for seat in &mut self.seats {
            if ["ladder", "bands", "glft"].contains(&seat.strategy.as_str()) {
                let parameters = format!("{REFERENCES}{}", seat.parameters);
                seat.parameters = parameters;
            }
        }
        self
    }

    /// In some worlds of two markets, the quoters of the first read the second, and quote nothing without its mid.
    fn with_other_markets(mut self, is_one: bool) -> Self {
        let Some(second) = self.markets.get(1).filter(|_| is_one) else {
            return self;
        };
        for seat in &mut self.seats {
            if seat.market == MarketId(0)
                && ["ladder", "bands", "glft"].contains(&seat.strategy.as_str())
            {
                seat.reads = vec![second.clone()];
            }
        }
        self
    }

    /// In half of the worlds a strategy swaps with the pool. From a stream of its own: worlds without a pool stay as
    /// they are.
    fn with_drawn_swaps(self, seed: u64) -> Self {
        let mut random = Random::new(seed.rotate_left(24) ^ 0x7377_6170);
        if !random.chance(1, 2) {
            return self;
        }
        let mut config = self.with_swaps();
        config.draw_limits_of_swaps(&mut random);
        config
    }

    /// Limits of swaps, of which a swap is refused by some; one is worth about 125.
    fn draw_limits_of_swaps(&mut self, random: &mut Random) {
        for pool in &mut self.engine.pools {
            let whole = 10u128.pow(6);
            pool.swap_value_max = *choose(random, &[125, 128, 500]) * whole;
            pool.swaps_per_min = *choose(random, &[4, 20, 20]);
            pool.slippage_bps = *choose(random, &[5, 50, 50]);
        }
    }

    /// What joins and exits cost beside the pool, and what orders mean that this daemon did not make.
    fn draw_fees_and_policy(&mut self, random: &mut Random) {
        for pool in &mut self.venue.pools {
            pool.join_fee = *choose(random, &[0, 1, 10_000]);
            pool.exit_fee = *choose(random, &[0, 1, 10_000]);
        }
        for limits in &mut self.engine.pools {
            limits.fee_max = 10_000;
        }
        if random.chance(1, 3) {
            self.engine.foreign = ForeignOrders::Adopt;
        }
    }
}

pub(crate) fn choose<'a, T>(random: &mut Random, choices: &'a [T]) -> &'a T {
    let index = random.below(choices.len() as u64);
    &choices[usize::try_from(index).unwrap_or(0)]
}

/// One long period with faults in a quarter of all worlds; otherwise periods with enough time between them for health
/// checks.
fn fault_schedule(random: &mut Random) -> FaultScheduleConfig {
    if random.chance(1, 4) {
        return FaultScheduleConfig::default();
    }
    FaultScheduleConfig {
        fault_free_ms: *choose(random, &[60_000, 300_000, 900_000]),
        fault_period_ms: *choose(random, &[30_000, 120_000, 400_000]),
    }
}

/// Every kind in about a third of all worlds.
fn fault_kinds(random: &mut Random) -> FaultKindConfig {
    let kinds = FaultKind::ALL
        .into_iter()
        .filter(|_| random.chance(1, 3))
        .collect();
    FaultKindConfig {
        kinds,
        mean_ms: *choose(random, &[5_000, 30_000, 120_000]),
        length_max_ms: *choose(random, &[5_000, 30_000, 120_000]),
    }
}

/// Off in half of all worlds, else up to one in ten.
pub(crate) fn rate(random: &mut Random) -> u32 {
    if random.chance(1, 2) {
        *choose(random, &[10, 100, 300, 1_000])
    } else {
        0
    }
}
