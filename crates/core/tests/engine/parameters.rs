//! Other parameters of a running strategy: as a whole or not at all, looser ones with permission, and part of snapshots.

use cambist_core::event::{Command, Event, StrategyParameters};
use cambist_core::strategy::{Replacement, Strategy, Targets, View};
use cambist_core::{Engine, MarketSpec, Price, Qty, Side, StrategyId};

use crate::bench::{TestBench, config, execute};

/// A bid at a price in ticks, the only parameter; a higher one bears more risk. Counts its decisions.
struct Bid {
    price: u64,
    decisions: u64,
}

impl Bid {
    fn boxed(price: u64) -> Box<dyn Strategy> {
        let decisions = 0;
        Box::new(Self { price, decisions })
    }
}

impl Strategy for Bid {
    fn decide(&mut self, _: &View<'_>, targets: &mut Targets) {
        self.decisions += 1;
        targets.quote(Side::Buy, Price(self.price), Qty(100), 0);
    }

    fn save(&self) -> Vec<u8> {
        self.decisions.to_le_bytes().to_vec()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        let decisions = saved.try_into().map(u64::from_le_bytes);
        self.decisions = decisions.unwrap_or_default();
        decisions.is_ok()
    }

    fn with_parameters(&self, _: &MarketSpec, text: &str) -> Result<Replacement, String> {
        let price = text
            .parse()
            .map_err(|_| format!("bid.price: {text:?} is no price"))?;
        let change = format!("bid.price {} → {price}", self.price);
        Ok(Replacement {
            changed: vec![change.clone()],
            looser: (price > self.price).then_some(change).into_iter().collect(),
            strategy: Box::new(Self {
                price,
                decisions: self.decisions,
            }),
        })
    }
}

fn set(strategy: u8, text: &str, allow_loosening: bool) -> Command {
    Command::Reconfigure {
        config: Box::new(config()),
        parameters: vec![StrategyParameters {
            strategy: StrategyId(strategy),
            text: text.to_owned(),
        }],
        reason: "because".to_owned(),
        allow_loosening,
    }
}

fn quoting() -> TestBench {
    let mut bench = TestBench::of(Bid::boxed(9_900), config(), Vec::new());
    bench.until_a_submit_waits();
    bench.accept_all();
    bench
}

/// The price that the strategy wants now.
fn wanted(bench: &TestBench) -> u64 {
    let (now, _) = bench.engine.last_event_at().unwrap();
    // With the parameters of the start: the engine knows the others.
    let seen = bench.engine.inspect(now, vec![Bid::boxed(9_900)]);
    let seen = seen.unwrap().unwrap();
    seen.markets[0].strategies[0].quotes[0].price.0
}

#[test]
fn parameters_take_effect_at_once_and_looser_ones_need_permission() {
    let mut bench = quoting();
    assert_eq!(wanted(&bench), 9_900);
    let done = execute(&mut bench, set(0, "9850", false)).unwrap();
    assert_eq!(
        done,
        "parameters changed: T0-T1 bid.price 9900 → 9850; nothing became looser"
    );
    assert_eq!(wanted(&bench), 9_850);
    // The order at the old price is replaced.
    bench.run_ms(500);
    assert_eq!(bench.cancels.len(), 1);
    let why = execute(&mut bench, set(0, "9851", false)).unwrap_err();
    assert_eq!(
        why,
        "T0-T1 bid.price 9850 → 9851 would become looser, which needs --allow-loosening"
    );
    assert_eq!(wanted(&bench), 9_850);
    execute(&mut bench, set(0, "9851", true)).unwrap();
    assert_eq!(wanted(&bench), 9_851);
}

#[test]
fn what_is_refused_changes_neither_limits_nor_parameters() {
    let mut bench = quoting();
    let both = |strategy, text: &str, collar_bps| {
        let Command::Reconfigure {
            mut config,
            mut parameters,
            reason,
            allow_loosening,
        } = set(strategy, text, false)
        else {
            unreachable!()
        };
        config.markets[0].collar_bps = collar_bps;
        parameters.push(StrategyParameters {
            strategy: StrategyId(0),
            text: "9800".to_owned(),
        });
        Command::Reconfigure {
            config,
            parameters,
            reason,
            allow_loosening,
        }
    };
    let usual = config().markets[0].collar_bps;
    for (command, reported) in [
        (
            both(0, "much", usual - 1),
            "bid.price: \"much\" is no price",
        ),
        (both(1, "9850", usual - 1), "there is no strategy 1"),
        (both(0, "9850", usual + 1), "collar_bps"),
        (both(0, "9950", usual - 1), "bid.price 9900 → 9950 would"),
    ] {
        let judged = bench.engine.judge(&command).unwrap_err();
        let why = execute(&mut bench, command).unwrap_err();
        assert!(why.contains(reported), "{why}");
        assert_eq!(judged, why);
        assert_eq!(wanted(&bench), 9_900);
    }
    // The tighter collar was not taken over either: the old one is still no change.
    assert!(bench.engine.judge(&set(0, "9900", false)).is_ok());
    let done = bench.engine.judge(&both(0, "9850", usual)).unwrap();
    assert!(done.starts_with("parameters changed"), "{done}");
    assert_eq!(wanted(&bench), 9_900, "judging changes nothing");
}

#[test]
fn a_snapshot_continues_with_the_parameters_of_its_moment() {
    let mut original = quoting();
    execute(&mut original, set(0, "9850", false)).unwrap();
    original.run_ms(300);
    let bytes = postcard::to_allocvec(&original.engine.save()).unwrap();
    let snapshot = postcard::from_bytes(&bytes).unwrap();
    let mut copy = Engine::restore(vec![Bid::boxed(9_900)], snapshot).unwrap();
    for _ in 0..20 {
        let at = original.engine.next_wakeup().unwrap();
        assert_eq!(copy.next_wakeup(), Some(at));
        let (mut a, mut b) = (Vec::new(), Vec::new());
        copy.on_event(at, &Event::Wake, &mut a);
        original.engine.on_event(at, &Event::Wake, &mut b);
        assert_eq!(a, b);
        let states = [&copy, &original.engine];
        let [a, b] = states.map(|engine| postcard::to_allocvec(&engine.save()).unwrap());
        assert_eq!(a, b, "the state of the strategy is part of it");
    }
}

#[test]
fn a_strategy_without_parameters_refuses_them() {
    let mut bench = TestBench::ready(&crate::bench::BOTH);
    let why = execute(&mut bench, set(0, "1", true)).unwrap_err();
    assert_eq!(why, "its parameters are fixed");
}
