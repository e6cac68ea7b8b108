#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "tests stop at the first surprise"
)]
//! The simulated traders together: they trade with any seed, keep trading, and stay bounded.

use super::*;
use crate::Response;
use crate::testing::{self, ALICE, MARKET, ONE, World};
use cambist_core::{Hash, OrderKind};

const PRICE: Price = Price(250_000);

struct Market {
    world: World,
    agents: Agents,
    takes: u32,
    refusals: u32,
    own_fills: usize,
}

impl Market {
    fn new(seed: u64) -> Self {
        let config = AgentsConfig::calm(seed, MARKET, PRICE, ONE / 2);
        let accounts: Vec<_> = (100..).take(config.accounts()).map(AccountId).collect();
        let mut world = World::with(testing::config());
        for request in Agents::setup(&config, &accounts, &world.venue) {
            world.ask(&Caller::Operator, &request).unwrap();
        }
        Self {
            world,
            agents: Agents::new(config, &accounts),
            takes: 0,
            refusals: 0,
            own_fills: 0,
        }
    }

    /// Runs for `ms`, stepping when the traders have something to do.
    fn run(&mut self, ms: u64) {
        let end = self.world.now.plus_ms(ms);
        while let Some(next) = self.agents.next_wakeup().filter(|next| *next <= end) {
            self.world.now = self.world.now.max(next);
            let requests = self.agents.step(self.world.now, &self.world.venue);
            assert!(requests.len() <= REQUESTS_MAX);
            for (caller, request) in requests {
                match self.world.venue.handle(self.world.now, &caller, &request) {
                    Ok(Response::Submitted(made)) => {
                        let own = |trade: &&crate::Trade| trade.maker_account == ALICE;
                        self.takes += u32::from(!made.trades.is_empty());
                        self.own_fills += made.trades.iter().filter(own).count();
                    }
                    Ok(_) => {}
                    Err(_) => self.refusals += 1,
                }
            }
        }
        self.world.now = end;
        assert_eq!(self.world.venue.audit(), Ok(()));
    }

    fn spread_bps(&self) -> Option<u64> {
        let bid = self.world.venue.best(MARKET, Side::Buy)?.0;
        let ask = self.world.venue.best(MARKET, Side::Sell)?.0;
        Some((ask - bid) * 20_000 / (ask + bid))
    }
}

/// R-AGT-01
#[test]
fn the_same_seed_makes_the_same_market_and_another_seed_another() {
    let run = |seed| {
        let mut market = Market::new(seed);
        market.run(20_000);
        (market.world.venue, market.agents)
    };
    let (venue, agents) = run(5);
    assert!(run(5) == (venue.clone(), agents));
    assert!(run(6).0 != venue);
}

/// R-AGT-02
#[test]
fn any_seed_has_two_sides_and_a_likely_spread() {
    for seed in 0..30 {
        let mut market = Market::new(seed);
        market.run(500);
        let (mut sum, mut seen) = (0, 0);
        for _ in 0..60 {
            market.run(500);
            if let Some(spread) = market.spread_bps() {
                sum += spread;
                seen += 1;
            }
        }
        let mean = sum / seen.max(1);
        assert!(seen >= 55, "seed {seed}: two-sided {seen} of 60");
        assert!((20..=70).contains(&mean), "seed {seed}: spread {mean} bps");
    }
}

/// Fills per second of a maker that quotes `bps` from the mid of the others' book and requotes every second.
fn maker_fills(seed: u64, bps: u64, seconds: u32) -> Vec<u32> {
    let mut market = Market::new(seed);
    market.run(1_000);
    let mut live: Vec<Hash> = Vec::new();
    let mut fills = Vec::new();
    for _ in 0..seconds {
        let before = market.own_fills;
        for hash in live.drain(..) {
            let _ = market.world.cancel(ALICE, hash);
        }
        let mid = match market.spread_bps() {
            Some(_) => {
                market.world.venue.best(MARKET, Side::Buy).unwrap().0
                    + market.world.venue.best(MARKET, Side::Sell).unwrap().0
            }
            None => 2 * market.agents.fair_price().0,
        };
        for side in Side::BOTH {
            let ticks = match side {
                Side::Buy => mid * (10_000 - bps) / 20_000,
                Side::Sell => mid * (10_000 + bps) / 20_000 + 1,
            };
            let mut order = market.world.order(ALICE, side, ticks, ONE / 5);
            order.kind = OrderKind::MakerOnly;
            live.push(market.world.submit(&order).hash);
        }
        market.run(1_000);
        fills.push(u32::from(market.own_fills > before));
    }
    fills
}

/// R-AGT-03
#[test]
fn takers_reach_quotes_10_to_40_bps_from_the_mid() {
    for seed in 0..12 {
        for bps in [10, 25, 40] {
            let fills = maker_fills(seed, bps, 50);
            let total: u32 = fills.iter().sum();
            let worst: u32 = fills
                .chunks(25)
                .map(|part| part.iter().sum())
                .min()
                .unwrap();
            assert!(
                total >= 5 && worst >= 1,
                "seed {seed}, {bps} bps: {total} busy seconds of 50, {worst} in the worst half"
            );
        }
    }
}

/// R-AGT-03
#[test]
fn several_taking_orders_trade_in_any_ten_seconds() {
    for seed in 0..20 {
        let mut market = Market::new(seed);
        market.run(2_000);
        for window in 0..6 {
            let before = market.takes;
            market.run(10_000);
            let takes = market.takes - before;
            assert!(takes >= 3, "seed {seed}, window {window}: {takes} takes");
        }
    }
}

/// R-AGT-04
#[test]
fn hours_of_trading_neither_starve_nor_grow() {
    let mut market = Market::new(9);
    market.run(600_000);
    let kept = market.world.venue.orders.iter().count();
    market.run(4 * 3_600_000);
    assert!(market.world.venue.orders.iter().count() < kept + 400);
    let before = market.takes;
    market.run(60_000);
    assert!(market.takes - before >= 18, "still lively");
    let orders = market.agents.made;
    assert!(u64::from(market.refusals) * 20 < orders, "few refusals");
    for account in market.world.venue.accounts.values() {
        if account.internal && account.id != testing::FEES {
            let scene = MarketView::new(
                &market.agents.config,
                market.agents.fair.price,
                market.world.now,
                &market.world.venue,
            )
            .unwrap();
            let share = base_share(account, &scene);
            assert!((0.1..0.9).contains(&share), "{share} of {}", account.id.0);
        }
    }
}

/// R-AGT-05
#[test]
fn a_pause_causes_neither_a_burst_nor_a_jump() {
    let mut market = Market::new(3);
    market.run(5_000);
    let fair = market.agents.fair.price;
    market.world.now = market.world.now.plus_ms(24 * 3_600_000);
    let requests = market.agents.step(market.world.now, &market.world.venue);
    assert!(requests.len() <= REQUESTS_MAX);
    assert!((market.agents.fair.price / fair - 1.0).abs() < 0.02);
}

/// R-AGT-01
#[test]
fn synthetic_hashes_are_not_field_elements_and_setup_happens_once() {
    let mut market = Market::new(1);
    market.run(3_000);
    let internal = |order: &crate::orders::Order| order.account.0 >= 100;
    assert!(
        market
            .world
            .venue
            .orders
            .iter()
            .filter(|(_, order)| internal(order))
            .all(|(_, order)| order.hash.0[0] == 0xff)
    );
    let accounts: Vec<_> = (100..112).map(AccountId).collect();
    assert_eq!(
        Agents::setup(&market.agents.config, &accounts, &market.world.venue),
        Vec::new()
    );
}

/// R-AGT-01
#[test]
fn a_synthetic_hash_depends_on_account_time_count_and_chance() {
    let hash = |account, now, made, seed| {
        let mut random = Random::new(seed);
        trader::synthetic_hash(AccountId(account), VenueTime(now), made, &mut random)
    };
    let first = hash(1, 2, 3, 4);
    assert_eq!(hash(1, 2, 3, 4), first);
    for other in [
        hash(9, 2, 3, 4),
        hash(1, 9, 3, 4),
        hash(1, 2, 9, 4),
        hash(1, 2, 3, 9),
    ] {
        assert_ne!(other, first);
    }
}
