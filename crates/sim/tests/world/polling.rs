//! Polling where it pays: with the same number of polls, what is read of two markets is less out of date, weighted by
//! how much each of them moves, than with polls that are divided evenly.

use std::cell::RefCell;
use std::rc::Rc;

use cambist_core::action::Action;
use cambist_core::notification::Notification;
use cambist_core::request::Query;
use cambist_core::{MarketId, Time};
use cambist_sim::{World, WorldConfig};

use crate::minutes;

/// The mids of one market and when they were read.
type Mids = Vec<(Time, u64)>;

/// What a daemon without strategies read of two markets, one of which moves fifteen times as much as the other.
#[derive(Default)]
struct Readings {
    mids: [Mids; 2],
    polls: usize,
}

const DEPTH_MS: u64 = 500;
/// The estimates exist by then.
const SETTLED: Time = Time::from_ms(120_000);

/// The same traders for every interval of polls, because nothing is traded with them.
fn readings(seed: u64, depth_ms: u64, depth_age_max_ms: u64) -> Readings {
    let mut config = minutes(20, WorldConfig::calm(seed, "ladder").twofold());
    config.seats.clear();
    for (agents, volatility) in config.agents.iter_mut().zip([15.0, 1.0]) {
        agents.volatility_bps_per_sqrt_s = volatility;
        agents.jumps_per_hour = 0.0;
        agents.noise_orders_per_minute = 1.0;
    }
    config.engine.poll.depth_ms = depth_ms;
    config.engine.poll.depth_age_max_ms = depth_age_max_ms;
    let budget = &mut config.engine.budget;
    (budget.per_s, budget.burst) = (200, 400);
    (budget.endpoint_per_s, budget.endpoint_burst) = (100, 200);
    let found = Rc::new(RefCell::new(Readings::default()));
    let tap = Rc::clone(&found);
    let mut world = World::new(config).unwrap();
    world.watch(Box::new(move |now, _, actions| {
        let mut found = tap.borrow_mut();
        for action in actions {
            match action {
                Action::Send {
                    query: Query::Depth(_),
                    ..
                } => found.polls += usize::from(now > SETTLED),
                Action::Notify(Notification::DepthAccepted {
                    market: MarketId(market),
                    mid: Some(mid),
                    ..
                }) => found.mids[usize::from(*market)].push((now, *mid)),
                _ => {}
            }
        }
    }));
    world.run_until(Time::from_ms(world.config().duration_ms));
    drop(world);
    Rc::into_inner(found).unwrap().into_inner()
}

/// Mean of the squared relative difference of what was read last from what was so, over both markets: what quotes of
/// equal value lose by it is proportional to that.
fn staleness(read: &Readings, real: &Readings) -> f64 {
    let mut sum = 0.0;
    let mut count = 0_u32;
    for (read, real) in read.mids.iter().zip(&real.mids) {
        for (at, mid) in real.iter().filter(|(at, _)| *at > SETTLED) {
            let last = read.partition_point(|(then, _)| then <= at);
            let known = read[last - 1].1;
            #[allow(clippy::cast_precision_loss, reason = "a mid has few digits")]
            let (mid, known) = (*mid as f64, known as f64);
            sum += ((mid - known) / mid).powi(2);
            count += 1;
        }
    }
    sum / f64::from(count)
}

#[test]
fn at_the_same_budget_quotes_are_a_quarter_less_stale_than_with_even_polls() {
    let (mut adaptive, mut even) = (0.0, 0.0);
    for seed in [1, 2, 3] {
        let real = readings(seed, 50, 5_000);
        let spread = readings(seed, DEPTH_MS, 5_000);
        // An age of two intervals leaves no room for a longer one.
        let uniform = readings(seed, DEPTH_MS, 2 * DEPTH_MS);
        let per_mille = spread.polls * 1_000 / uniform.polls;
        assert!(
            (950..=1_005).contains(&per_mille),
            "{per_mille} ‰ of the even polls"
        );
        adaptive += staleness(&spread, &real);
        even += staleness(&uniform, &real);
    }
    let ratio = adaptive / even;
    assert!(ratio <= 0.75, "{ratio} of the loss of even polls");
}
