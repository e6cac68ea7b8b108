//! An operator's trading state: in force at once, durable, and never lowered by a restart.

use cambist_core::Time;
use cambist_core::event::{Command, TradingState};
use cambist_sim::{World, WorldConfig};

use crate::{assert_kept, minutes};

#[test]
fn a_raised_trading_state_cancels_everything_and_survives_a_crash() {
    let mut world = World::new(minutes(5, WorldConfig::calm(6, "ladder"))).unwrap();
    world.run_until(Time::from_ms(60_000));
    let own = |world: &World| {
        let venue = world.exchange().venue();
        venue
            .account(cambist_sim::OWN_ACCOUNT)
            .unwrap()
            .open_orders()
    };
    assert!(own(&world) >= 2, "quotes rest");
    world.command(Command::Raise {
        level: TradingState::CancelOnly,
        reason: "test".to_owned(),
    });
    world.run_until(Time::from_ms(65_000));
    assert_eq!(own(&world), 0, "everything is cancelled");
    assert_eq!(
        world.disk().durable().levels.state,
        TradingState::CancelOnly
    );
    let before = world.counts().orders;
    world.crash();
    world.run_until(Time::from_ms(120_000));
    assert_eq!(
        world.counts().orders,
        before,
        "a restart does not lower a level"
    );
    assert!(world.end());
    assert_kept(world.violations(), "raised level");
}

#[test]
fn halting_ends_the_daemon_with_proof() {
    let mut world = World::new(minutes(5, WorldConfig::calm(7, "bands"))).unwrap();
    world.run_until(Time::from_ms(60_000));
    world.command(Command::Raise {
        level: TradingState::Halted,
        reason: "test".to_owned(),
    });
    world.run_until(Time::from_ms(120_000));
    assert_eq!(world.finished(), Some(true));
    assert_eq!(world.disk().durable().levels.state, TradingState::Halted);
    assert_kept(world.violations(), "halted");
}
