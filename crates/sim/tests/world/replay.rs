//! The engine has no hidden inputs: the same events give the same actions, through faults and restarts.

use std::cell::RefCell;
use std::rc::Rc;

use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::{Engine, Time};
use cambist_sim::{World, WorldConfig};

use crate::minutes;

type Steps = Vec<(Time, Event, Vec<Action>)>;

/// All events and actions of the engine in a world.
fn recorded(config: WorldConfig) -> Steps {
    let steps = Rc::new(RefCell::new(Steps::new()));
    let tape = Rc::clone(&steps);
    let mut world = World::new(config).unwrap();
    world.watch(Box::new(move |now, event, actions| {
        tape.borrow_mut()
            .push((now, event.clone(), actions.to_vec()));
    }));
    world.run_until(Time::from_ms(world.config().duration_ms));
    drop(world);
    Rc::into_inner(steps).unwrap().into_inner()
}

#[test]
fn equal_events_give_equal_actions() {
    let mut config = minutes(6, WorldConfig::calm(11, "ladder").lossy());
    config.crash.mean_ms = 60_000;
    config.crash.actions_max = 40;
    let seat = config.seats[0].clone();
    let table: toml::Table = seat.parameters.parse().unwrap();
    let steps = recorded(config);
    let mut engine = Engine::new(Vec::new());
    let mut starts = 0;
    for (now, event, expected) in &steps {
        if let Event::Start(start) = event {
            let info = cambist_strategies::find(&seat.strategy).unwrap();
            let strategy = info.build_from(&table, &start.markets[0]).unwrap();
            engine = Engine::new(vec![strategy]);
            starts += 1;
        }
        let mut actions = Vec::new();
        engine.on_event(*now, event, &mut actions);
        assert_eq!(&actions, expected, "at {now:?} after {event:?}");
    }
    assert!(starts > 2, "{starts} starts");
    assert!(steps.len() > 2_000, "{} steps", steps.len());
}
