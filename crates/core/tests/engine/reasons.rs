//! Why a side has no quotes: one reason with its numbers and key, and none while a quote rests.

use cambist_core::config::{EngineConfig, RampConfig};
use cambist_core::event::{Command, Event, Filter, TradingState};
use cambist_core::notification::{Control, Notification, Status, Withheld};
use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit};
use cambist_core::{MarketId, Price, Qty, Reason, Side};

use crate::bench::{Always, BOTH, TestBench, config};

/// The reasons in the last status.
fn reasons(bench: &TestBench) -> [Option<Withheld>; 2] {
    let shown = bench
        .notifications
        .iter()
        .rev()
        .find_map(|notification| match notification {
            Notification::Status(status) => Some(status.markets[0].withheld),
            _ => None,
        });
    shown.expect("a status was emitted")
}

fn controls(bench: &TestBench) -> [Option<Control>; 2] {
    reasons(bench).map(|why| why.map(|why| why.control))
}

fn bench(quotes: &[(Side, u64, u64)], change: impl FnOnce(&mut EngineConfig)) -> TestBench {
    let mut config = config();
    config.status_ms = 10;
    change(&mut config);
    TestBench::with(quotes, config, Vec::new())
}

/// Reasons of both sides of a bench that never quotes.
fn never(change: impl FnOnce(&mut EngineConfig)) -> [Withheld; 2] {
    let mut bench = bench(&BOTH, change);
    bench.run_ms(5_000);
    assert!(bench.submits.is_empty());
    reasons(&bench).map(|why| why.expect("a side without quotes has a reason"))
}

fn numbers_of(why: Withheld) -> (Control, Option<i128>, Option<i128>, Option<&'static str>) {
    (why.control, why.value, why.limit, why.key())
}

#[test]
fn common_mistakes_are_reported_with_numbers_and_key() {
    // The value of a hundred lots at 9 995 and 10 005 is 999 500 and 1 000 500 quote units.
    let [buy, sell] = never(|c| c.markets[0].order_value_max = 5);
    let key = Some("market.order_value_max");
    assert_eq!(
        numbers_of(buy),
        (Control::OrderValue, Some(999_500), Some(5), key)
    );
    assert_eq!(
        numbers_of(sell),
        (Control::OrderValue, Some(1_000_500), Some(5), key)
    );
    assert_eq!(buy.unit, Unit::Quote);
    // The mid is below the floor.
    let [buy, sell] = never(|c| c.markets[0].price_min = Price(12_000));
    let key = Some("market.price_floor");
    assert_eq!(
        numbers_of(buy),
        (Control::PriceBand, Some(9_995), Some(12_000), key)
    );
    assert_eq!(
        numbers_of(sell),
        (Control::PriceBand, Some(10_005), Some(12_000), key)
    );
    let [buy, _] = never(|c| c.markets[0].price_max = Price(9_000));
    let key = Some("market.price_ceiling");
    assert_eq!(
        numbers_of(buy),
        (Control::PriceBand, Some(9_995), Some(9_000), key)
    );
    // 500 000 000 base units are held.
    let mut outside = bench(&BOTH, |c| c.markets[0].inventory_max = 400_000_000);
    outside.run_ms(3_000);
    outside.accept_all();
    let [buy, sell] = reasons(&outside);
    let key = Some("market.inventory_max");
    let (held, limit) = (Some(500_010_000), Some(400_000_000));
    assert_eq!(
        numbers_of(buy.unwrap()),
        (Control::InventoryBand, held, limit, key)
    );
    assert_eq!(sell, None, "what leads back into the band is quoted");
    let [_, sell] = {
        let mut outside = bench(&BOTH, |c| {
            c.markets[0].inventory_min = 600_000_000;
            c.markets[0].inventory_max = 700_000_000;
        });
        outside.run_ms(3_000);
        outside.accept_all();
        reasons(&outside)
    };
    let (left, limit) = (Some(499_990_000), Some(600_000_000));
    let key = Some("market.inventory_min");
    assert_eq!(
        numbers_of(sell.unwrap()),
        (Control::InventoryBand, left, limit, key)
    );
}

#[test]
fn a_side_without_a_quote_has_a_reason_at_every_step() {
    let mut bench = bench(&BOTH, |_| {});
    bench.run_ms(1);
    let recovering = Some(Control::Recovering);
    assert_eq!(controls(&bench), [recovering; 2], "from the first step on");
    bench.until_a_submit_waits();
    bench.run_ms(20);
    assert_eq!(controls(&bench), [None; 2], "on the way");
    bench.accept_all();
    bench.run_ms(1_000);
    assert_eq!(controls(&bench), [None; 2]);
}

#[test]
fn reasons_of_the_book_have_their_numbers() {
    let numbers = |depth, change: fn(&mut EngineConfig)| {
        let mut bench = bench(&BOTH, change);
        bench.depth = depth;
        bench.run_ms(5_000);
        let [buy, sell] = reasons(&bench).map(|why| why.map(numbers_of));
        assert_eq!(buy, sell);
        buy.unwrap()
    };
    // 401 ticks of a mid of 10 000 are 401 ten-thousandths.
    let spread = numbers((9_800, 10_201), |_| {});
    let key = Some("market.spread_max_bps");
    assert_eq!(spread, (Control::Spread, Some(401), Some(300), key));
    // The book has a thousand lots a side.
    let thin = numbers((9_990, 10_010), |c| c.markets[0].depth_min = Qty(1_001));
    let key = Some("market.depth_min");
    assert_eq!(thin, (Control::ThinBook, Some(1_000), Some(1_001), key));
    let missing = numbers((10_010, 9_990), |_| {});
    let key = Some("poll.depth_age_max_ms");
    assert_eq!(missing, (Control::StaleData, None, Some(3_000), key));
}

#[test]
fn pauses_trading_states_and_draining_are_reasons() {
    let mut bench = bench(&BOTH, |_| {});
    bench.until_a_submit_waits();
    bench.accept_all();
    let reason = "lunch".to_owned();
    let filter = Filter {
        side: Some(Side::Sell),
        ..Filter::market(MarketId(0))
    };
    bench.handle_event(&Event::Operator(Command::Pause {
        filter,
        reason: reason.clone(),
    }));
    bench.run_ms(1_000);
    assert_eq!(controls(&bench), [None, Some(Control::Paused)]);
    bench.handle_event(&Event::Operator(Command::Raise {
        level: TradingState::CancelOnly,
        reason: reason.clone(),
    }));
    bench.run_ms(1_000);
    assert_eq!(controls(&bench), [Some(Control::Level); 2]);
    let level = TradingState::Active;
    bench.handle_event(&Event::Operator(Command::Lower {
        level,
        reason,
        forget_losses: false,
    }));
    bench.handle_event(&Event::Operator(Command::Drain));
    bench.run_ms(1_000);
    assert_eq!(controls(&bench), [Some(Control::Ending); 2]);
}

#[test]
fn a_venue_that_refuses_every_order_is_reported_once() {
    let bid = [(Side::Buy, 9_995, 100)];
    let mut bench = bench(&bid, |c| c.markets[0].open_orders_max = 100);
    for refusals in 0..6 {
        bench.until_a_submit_waits();
        bench.answer_submit(Outcome::Refused(Reason::InvalidOrder));
        // Nearly to the end of the pause, which doubles with each refusal in a row.
        bench.run_ms((1_000 << refusals) - 500);
        assert!(bench.submits.is_empty(), "within the pause");
    }
    assert_eq!(controls(&bench)[0], Some(Control::VenueRefusal));
    let reported = bench
        .notifications
        .iter()
        .filter(|notification| match notification {
            Notification::Withheld { side, withheld, .. } => {
                *side == Side::Buy && withheld.is_some_and(|w| w.control == Control::VenueRefusal)
            }
            _ => false,
        });
    assert_eq!(reported.count(), 1, "the next attempt is no end of it");
    bench.run_ms(60_000);
    bench.accept_all();
    bench.run_ms(1_000);
    assert_eq!(controls(&bench)[0], None, "a quote rests");
}

#[test]
fn an_order_of_unknown_state_is_the_reason_while_it_may_be_alive() {
    let mut bench = bench(&[(Side::Buy, 9_995, 100)], |c| c.attempts_max = 10);
    bench.until_a_submit_waits();
    bench.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
    bench.run_ms(100);
    let why = reasons(&bench)[0].unwrap();
    assert_eq!(why.control, Control::UnknownOrder);
    let left = why.value.unwrap();
    // 20 s of life and 3 s of grace, less the time passed.
    assert!((20_000..=23_000).contains(&left), "{left}");
}

#[test]
fn a_ramp_that_leaves_less_than_a_lot_is_a_reason() {
    let mut bench = bench(&[(Side::Buy, 9_995, 3), (Side::Sell, 10_005, 100)], |c| {
        c.ramp = RampConfig {
            start_bps: 2_500,
            step_bps: 2_500,
            step_ms: 3_600_000,
        };
    });
    bench.run_ms(3_000);
    bench.accept_all();
    let [buy, sell] = reasons(&bench);
    let key = Some("ramp.start_bps");
    assert_eq!(
        numbers_of(buy.unwrap()),
        (Control::Ramp, Some(2_500), Some(10_000), key)
    );
    assert_eq!(sell, None);
}

/// States why it has no target, or states nothing.
struct Silent(Option<Withheld>);

impl Strategy for Silent {
    fn decide(&mut self, _: &View<'_>, targets: &mut Targets) {
        targets.quote(Side::Sell, Price(10_005), Qty(10), 0);
        for side in Side::BOTH {
            if let Some(why) = self.0 {
                targets.withhold(side, why);
            }
        }
    }
}

#[test]
fn a_strategy_states_reasons_only_for_sides_without_quotes() {
    let below = Compared::new(
        Unit::HalfTicks,
        "market.strategy.params.price_floor",
        20_000,
        21_000,
    );
    let below = Withheld::compared(Control::StrategyPrice, below);
    for (stated, shown) in [(Some(below), below), (None, Control::NotWanted.into())] {
        let mut config = config();
        config.status_ms = 10;
        let mut bench = TestBench::of(Box::new(Silent(stated)), config, Vec::new());
        bench.run_ms(3_000);
        bench.accept_all();
        bench.run_ms(100);
        assert_eq!(reasons(&bench), [Some(shown), None]);
    }
}

#[test]
fn of_two_strategies_the_one_with_a_target_gives_the_reason() {
    let tight = Always(vec![(Side::Buy, 9_995, 100), (Side::Buy, 9_990, 100)]);
    let idle = Silent(Some(Control::NotConfigured.into()));
    let mut config = config();
    config.status_ms = 10;
    config.markets[0].order_value_max = 999_000;
    let mut bench = TestBench::shared(vec![Box::new(idle), Box::new(tight)], config);
    bench.run_ms(3_000);
    bench.accept_all();
    // The order nearest to the mid is too large, the further one has exactly the largest value.
    assert_eq!(controls(&bench), [None, None], "the further one rests");
    let (last, _) = bench
        .sealed
        .values()
        .map(|(_, o)| (o.price, o.side))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    assert!(last.contains(&Price(9_990)));
}

#[test]
fn a_status_has_the_current_age() {
    let mut bench = bench(&BOTH, |_| {});
    bench.until_a_submit_waits();
    bench.accept_all();
    bench.depth = (10_010, 9_990);
    bench.run_ms(9_000);
    let ages: Vec<_> = bench.notifications.iter().filter_map(status_age).collect();
    assert!(ages.last() > ages.first(), "{ages:?}");
}

fn status_age(notification: &Notification) -> Option<i128> {
    let Notification::Status(status) = notification else {
        return None;
    };
    let Status { markets, .. } = &**status;
    let why = markets[0].withheld[0].filter(|why| why.control == Control::StaleData)?;
    why.value
}
