#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::{Side, Time};

use super::constant_spread::ConstantSpread;
use super::game::{Contestant, Game, play};
use super::maker_world::MakerWorld;
use super::measures::{Flows, Played};
use super::statistics::{Ranking, paired_difference, ranking_of};
use crate::config::WorldConfig;
use crate::world::World;

/// One base token of the profile.
const ONE: u128 = 1_000_000_000_000_000_000;

fn reference() -> ConstantSpread {
    ConstantSpread::documented(ONE)
}

fn config(seed: u64, minutes: u64) -> WorldConfig {
    let mut config = WorldConfig::calm(seed, "ladder");
    config.duration_ms = minutes * 60_000;
    config
}

fn played(world: WorldConfig, contestant: Contestant) -> Played {
    play(&Game { world, contestant }).unwrap()
}

fn engine(world: WorldConfig) -> Played {
    played(world, Contestant::Engine)
}

fn maker(world: WorldConfig, rules: ConstantSpread) -> Played {
    played(world, Contestant::ConstantSpread(rules))
}

#[test]
fn equal_games_have_equal_results_and_other_seeds_others() {
    for seed in [1, 2] {
        assert_eq!(engine(config(seed, 3)), engine(config(seed, 3)));
        let twice = [(); 2].map(|()| maker(config(seed, 3), reference()));
        assert_eq!(twice[0], twice[1]);
    }
    assert_ne!(engine(config(1, 3)), engine(config(2, 3)));
    assert_ne!(
        maker(config(1, 3), reference()),
        maker(config(2, 3), reference())
    );
}

/// Until the first order the traders of a seed do the same, whichever contestant plays.
#[test]
fn contestants_meet_the_same_market() {
    for seed in 1..=5 {
        let config = config(seed, 3);
        let before = Time::from_ms(config.start_ms - 1);
        let mut world = World::new(config.clone()).unwrap();
        let mut maker = MakerWorld::new(&config, reference()).unwrap();
        world.run_until(before);
        maker.run_until(before);
        let (ours, theirs) = (world.exchange(), maker.exchange());
        assert_eq!(ours.fair_price(), theirs.fair_price());
        let depth =
            |exchange: &crate::Exchange| exchange.venue().depth("AAA-QQQ", 0, None).unwrap();
        let (ours, theirs) = (depth(ours), depth(theirs));
        assert_eq!((&ours.bids, &ours.asks), (&theirs.bids, &theirs.asks));
        assert!(!ours.bids.is_empty() && !ours.asks.is_empty());
    }
}

/// The profit is what the trades earned: their flows at the last fair price, and nothing else.
#[test]
fn the_books_of_a_game_add_up() {
    for seed in 1..=3 {
        let config = config(seed, 5);
        let end = Time::from_ms(config.duration_ms);
        let mut world = World::new(config.clone()).unwrap();
        // As a game does: a trade is due when the exchange has advanced.
        world.run_until(end);
        world.rests_on_both();
        let result = engine(config.clone());
        explains(
            world.flows(),
            world.exchange().fair_price().unwrap().0,
            &result,
        );

        let near = ConstantSpread {
            spread_bps: 15,
            after_fill_ms: 1_000,
            ..reference()
        };
        let mut world = MakerWorld::new(&config, near.clone()).unwrap();
        world.run_until(end);
        world.rests_on_both();
        let result = maker(config, near);
        explains(
            world.flows(),
            world.exchange().fair_price().unwrap().0,
            &result,
        );
    }
}

fn explains(flows: Flows, fair: u64, result: &Played) {
    assert!(result.fills > 0 && result.volume > 0 && flows.volume == result.volume);
    // Two decimals of the price, eighteen of the base token, six of the quote token.
    let base = flows.base * i128::from(fair) / 100_000_000_000_000;
    let difference = result.profit() - (base + flows.quote);
    assert!(
        difference.abs() <= 2,
        "{difference} units of {}",
        result.profit()
    );
    assert_eq!(
        result.profit(),
        i128::try_from(result.equity_last).unwrap()
            - i128::try_from(result.unchanged_last).unwrap()
    );
}

#[test]
fn flows_that_miss_a_trade_are_found() {
    let mut flows = Flows::default();
    flows.add(Side::Buy, (1_000, 50, 3));
    flows.add(Side::Sell, (400, 21, 1));
    assert_eq!((flows.base, flows.quote, flows.volume), (597, -30, 71));
    let config = config(1, 1);
    let world = World::new(config).unwrap();
    let spec = &world.specs()[0];
    let of = |base: u128, quote: u128| [(spec.base.id, base), (spec.quote.id, quote)].into();
    assert!(flows.lead(spec, &of(1_000, 100), &of(1_597, 70)));
    assert!(!flows.lead(spec, &of(1_000, 100), &of(1_596, 70)));
    assert!(!flows.lead(spec, &of(1_000, 100), &of(1_597, 71)));
}

/// An order whose answer was lost has failed, by the rules of the bot, and rests; the engine's unknown orders are resolved.
#[test]
fn lost_answers_leave_orphans_of_the_reference_and_none_of_the_engine() {
    let lossy = |seed| {
        let mut config = config(seed, 8);
        config.network.loss_after = 1_500;
        config
    };
    let (mut theirs, mut unharmed) = (0, 0);
    for seed in 1..=4 {
        let ours = engine(lossy(seed));
        assert_eq!((ours.orphans, ours.violations), (0, 0), "seed {seed}");
        assert!(ours.orders > 10, "{ours:?}");
        theirs += maker(lossy(seed), reference()).orphans;
        unharmed += maker(config(seed, 8), reference()).orphans;
    }
    assert!(theirs >= 4, "{theirs}");
    assert_eq!(unharmed, 0, "nothing was lost");
}

/// A maker at the mid itself trades with everyone who knows better.
#[test]
fn a_maker_that_gives_its_money_away_is_ranked_worse() {
    let bad = ConstantSpread {
        spread_bps: 0,
        after_fill_ms: 0,
        refresh_ms: 60_000,
        tick_ms: 250,
        status_ms: 250,
        ..reference()
    };
    let profits = |rules: &ConstantSpread| -> Vec<f64> {
        let games = (1..=12).map(|seed| maker(config(seed, 10), rules.clone()));
        games.map(|game| game.profit_bps()).collect()
    };
    let difference = paired_difference(&profits(&bad), &profits(&reference())).unwrap();
    assert_eq!(
        ranking_of(&difference, true),
        Ranking::Worse,
        "{difference:?}"
    );
}

#[test]
fn the_reference_quotes_both_sides_and_spends_few_requests() {
    let game = maker(config(7, 10), reference());
    assert!(game.uptime() > 0.5, "{game:?}");
    // A refresh has two reads, two cancels, two orders and four questions about states.
    assert!((50..250).contains(&game.requests), "{game:?}");
    assert_eq!(game.violations, 0);
}
