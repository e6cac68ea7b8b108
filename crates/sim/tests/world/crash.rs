//! The daemon crashes before any action: everything that it may have sent is known afterwards, and nothing is sent
//! twice.

use cambist_core::config::LossConfig;
use cambist_core::control::Control;
use cambist_core::event::Restrictions;
use cambist_core::{MarketId, Time, VenueTime};
use cambist_sim::{OWN_ACCOUNT, World, WorldConfig};
use cambist_venue::Random;

use crate::{assert_kept, assert_sound, minutes};

/// Crashes this often, before random actions, within steps and syncs.
fn crashed(config: WorldConfig, crashes: u64) -> World {
    // From within recovery to some time of quoting.
    crashed_within(config, crashes, 8_000)
}

/// The same, each crash within this many milliseconds.
fn crashed_within(config: WorldConfig, crashes: u64, most_ms: u64) -> World {
    let mut world = World::new(config).unwrap();
    crash(&mut world, crashes, most_ms);
    world
}

fn crash(world: &mut World, crashes: u64, most_ms: u64) {
    let mut random = Random::new(world.config().seed ^ 0xdead);
    for number in 1..=crashes {
        let pause = random.between(1, most_ms);
        world.run_until(world.now().plus_ms(pause));
        world.crash_after(random.below(40));
        while world.counts().crashes < number {
            assert!(world.step(), "the world goes on");
        }
    }
}

#[test]
fn thirty_crashes_duplicate_and_lose_nothing() {
    let (mut orders, mut crashes) = (0, 0);
    for seed in 0..8 {
        let config = minutes(10, WorldConfig::calm(seed, "ladder"));
        let config = if seed % 2 == 0 {
            config
        } else {
            config.lossy()
        };
        let mut world = crashed(config, 30);
        assert_kept(world.violations(), &format!("seed {seed}"));
        world.calm();
        world.run_until(world.now().plus_ms(60_000));
        let before = world.counts().taken;
        world.run_until(world.now().plus_ms(30_000));
        assert!(
            world.counts().taken > before,
            "seed {seed}: quoting comes back"
        );
        let proven = world.end();
        let outcome = world.outcome(proven);
        assert_sound(&outcome, &format!("seed {seed}"));
        orders += outcome.counts.taken;
        crashes += outcome.counts.crashes;
    }
    assert_eq!(crashes, 240);
    assert!(
        orders > 1_000,
        "{orders} orders: crashes hit a quoting daemon"
    );
}

/// Every start has positions that all booked trades explain exactly, and the loss baselines of the previous run: the
/// world checks both at every start.
#[test]
fn a_thousand_crashes_cost_nothing() {
    let mut config = minutes(600, WorldConfig::calm(5, "ladder"));
    // A sixteenth of each limit for every crash would have reached it after sixteen.
    let most = 50_000 * 1_000_000;
    config.engine.markets[0].loss = LossConfig {
        hour_max: most,
        day_max: most,
        total_max: most,
        drawdown_max: most,
    };
    let mut world = crashed_within(config, 1_000, 3_000);
    assert_kept(world.violations(), "a thousand crashes");
    world.calm();
    world.run_until(world.now().plus_ms(30_000));
    let proven = world.end();
    assert_sound(&world.outcome(proven), "a thousand crashes");
    let durable = world.disk().durable();
    assert_eq!(
        durable.levels,
        Restrictions::default(),
        "nothing was stopped"
    );
    assert!(world.counts().traded > 200, "{:?}", world.counts());
    let position = &durable.books.positions[&MarketId(0)];
    let lost = position.lost(VenueTime(0)).unwrap();
    // Our balances at the exchange, at the stored mid, compared with the value at the beginning.
    let baselines = position.baselines.as_ref().unwrap();
    let own = world.exchange().venue().account(OWN_ACCOUNT).unwrap();
    let spec = &world.specs()[0];
    let held = |token| i128::try_from(own.balance(token).total).unwrap();
    let funds = |token| i128::try_from(world.config().funds[&token]).unwrap();
    let (base, cash) = (
        held(spec.base.id),
        held(spec.quote.id) - funds(spec.quote.id),
    );
    assert_eq!((position.base, position.cash), (base, cash));
    let of = |units: u128| i128::try_from(units).unwrap();
    let worth = (base * of(baselines.mid.quote) + of(baselines.mid.base) - 1)
        .div_euclid(of(baselines.mid.base))
        + cash;
    let total = lost.iter().find(|(limit, _)| *limit == Control::LossTotal);
    assert_eq!(total.unwrap().1, baselines.total - worth);
}

#[test]
fn an_intent_ends_after_a_crash_between_seal_and_transmission() {
    let config = minutes(5, WorldConfig::calm(4, "bands"));
    let mut world = World::new(config).unwrap();
    // Crash the moment an intent is durable that has not reached the venue.
    while world.disk().durable().intents.len() as u64 <= world.counts().taken {
        assert!(world.step());
    }
    world.crash();
    let open = world.disk().durable().open.len();
    assert!(open > 0);
    world.run_until(Time::from_ms(240_000));
    let proven = world.end();
    assert_sound(&world.outcome(proven), "an intent that never left");
}

#[test]
fn the_same_crashes_leave_the_same_trace() {
    let run = || crashed(minutes(5, WorldConfig::calm(9, "ladder").lossy()), 5).trace_hash();
    assert_eq!(run(), run());
}

/// A world with this strategy alone, over a network that loses answers, that has crashed thirty times. The opening
/// balances are stored by then: what is traded before that is part of them.
fn crashed_alone(seed: u64, strategy: &str, parameters: &str) -> World {
    let mut config = minutes(15, WorldConfig::calm(seed, "ladder")).lossy();
    strategy.clone_into(&mut config.seats[0].strategy);
    parameters.clone_into(&mut config.seats[0].parameters);
    config.seats[0].order_base = 0;
    let mut world = World::new(config).unwrap();
    world.run_until(Time::from_ms(20_000));
    crash(&mut world, 30, 6_000);
    world
}

/// Base units that the account holds at the exchange.
fn base_held(world: &World) -> u128 {
    let own = world.exchange().venue().account(OWN_ACCOUNT).unwrap();
    own.balance(world.specs()[0].base.id).total
}

const WHOLE: u128 = 10_u128.pow(18);

/// What a schedule sells is its total and not a unit more, although each crash loses the last bookings, and orders of
/// unknown state may still fill.
#[test]
fn a_schedule_sells_its_total_through_thirty_crashes() {
    let sells = "side = \"sell\"\ntotal = 5\nduration_s = 120\nslice_s = 10\nspread_bps = 2\nprice_limit = 1500";
    for seed in 0..6 {
        let mut world = crashed_alone(seed, "twap", sells);
        let before = base_held(&world);
        assert!(before >= 35 * WHOLE, "seed {seed}: {before}");
        world.calm();
        world.run_until(world.now().plus_ms(600_000));
        // All of it, but for less than the exchange takes as an order.
        let left = base_held(&world) - 35 * WHOLE;
        assert!(left < WHOLE / 1_000, "seed {seed}: {left} left");
        let proven = world.end();
        assert_sound(&world.outcome(proven), &format!("seed {seed}"));
    }
}

/// A grid follows from what was traded: through crashes it buys and sells at the same lines as before. Each line below the
/// start is only bought, and sold again one line above, so that at the price of the start a grid has gained; one that began
/// again at another price would have bought above it, or sold below.
#[test]
fn a_grid_is_the_same_after_thirty_crashes() {
    let lines = "price_low = 2400\nprice_high = 2600\ngrid_lines = 81\nstart_price = 2500\norder_amount = 0.4\n\
                 order_levels = 3\nfee_bps = 2";
    let mut fills = 0;
    for seed in 0..6 {
        let mut world = crashed_alone(seed, "grid", lines);
        world.calm();
        world.run_until(world.now().plus_ms(120_000));
        fills += world.counts().fills;
        let proven = world.end();
        assert_sound(&world.outcome(proven), &format!("seed {seed}"));
        let spec = &world.specs()[0];
        let own = world.exchange().venue().account(OWN_ACCOUNT).unwrap();
        let gained = |token| {
            let held = i128::try_from(own.balance(token).total).unwrap();
            held - i128::try_from(world.config().funds[&token]).unwrap()
        };
        let whole = i128::try_from(WHOLE).unwrap();
        let base_at_start = gained(spec.base.id) * 2_500_000_000 / whole;
        let gained = base_at_start + gained(spec.quote.id);
        assert!(gained > 0, "seed {seed}: {gained}");
    }
    assert!(fills > 100, "{fills} fills");
}
