//! Simulated traders on a served exchange: visible over HTTP, driven by the clock, audited at every step.

use cambist_core::{MarketId, Price, VenueTime};
use cambist_venue::agents::{Agents, AgentsConfig};
use cambist_venue::{AccountId, Caller, Compat};
use serde_json::Value;

use crate::support::{Call, Exchange, ONE, START_S, config, venue};

/// The public data after ten minutes in steps of a second.
fn run(seed: u64) -> Value {
    let mut venue = venue(Compat::Both);
    let population = AgentsConfig::calm(seed, MarketId(0), Price(200_000), ONE / 10);
    let accounts: Vec<_> = (0u32..)
        .take(population.accounts())
        .map(|n| AccountId(100 + n))
        .collect();
    for request in Agents::setup(&population, &accounts, &venue) {
        venue
            .handle(VenueTime::from_s(START_S), &Caller::Operator, &request)
            .unwrap();
    }
    let agents = Agents::new(population, &accounts);
    let exchange = Exchange::run(&config(), venue, vec![agents]);
    // The first step sets the traders' clock; its time must be fixed.
    exchange.handle.tick().unwrap();
    for _ in 0..600 {
        exchange.clock.pass_ms(1_000);
        exchange.handle.tick().unwrap();
    }
    let depth = exchange.ask(&Call::get("/api/v3/depth?market=AAA-QQQ&level=0"));
    depth.good().clone()
}

#[test]
fn simulated_traders_make_a_two_sided_market_without_losing_a_unit() {
    let depth = run(7);
    for side in ["bids", "asks"] {
        assert!(!depth[side].as_array().unwrap().is_empty(), "{depth}");
    }
    assert!(depth["version"].as_u64().unwrap() > 500);
    assert_eq!(depth, run(7), "same seed, same market");
    assert_ne!(depth["bids"], run(8)["bids"]);
}
