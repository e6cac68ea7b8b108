//! Trading states and pauses as they are stored: what counts, what is full, what ends, and which write allows trading.

use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event, Filter, Pause, Restrictions, TradingState};
use cambist_core::notification::{Control, Notification};
use cambist_core::{MarketId, Side, StrategyId};

use crate::bench::{ORIGIN, TestBench, config, execute};

const HOUR_MS: u64 = 3_600_000;
/// Low enough that no fall of the book here reaches it.
const BID: (Side, u64, u64) = (Side::Buy, 9_600, 10);

/// A pause by a control, this long ago and over.
fn ended(hours: u64) -> Pause {
    let since = ORIGIN.minus_ms(hours * HOUR_MS);
    Pause {
        filter: Filter::market(MarketId(0)),
        since,
        until: Some(since.plus_ms(1_000)),
        cause: Control::LossHour.name().to_owned(),
    }
}

/// A pause by an operator of something that does not trade here.
fn held(number: u8) -> Pause {
    Pause {
        filter: Filter {
            strategy: Some(StrategyId(100 + number)),
            ..Filter::ALL
        },
        since: ORIGIN,
        until: None,
        cause: "test".to_owned(),
    }
}

/// The state and the number of pauses after a loss that pauses the market, over these stored pauses.
fn after_a_loss(pauses: Vec<Pause>, per_day: u32) -> (TradingState, usize) {
    let mut config: EngineConfig = config();
    (config.risk.move_bps, config.risk.pauses_per_day) = (10_000, per_day);
    config.markets[0].loss.hour_max = 50_000_000;
    let mut bench = TestBench::with(&[BID], config, Vec::new());
    bench.starts_with(Restrictions {
        pauses,
        ..Restrictions::default()
    });
    bench.until_a_submit_waits();
    bench.accept();
    bench.run_ms(1_000);
    bench.depth = (9_978, 9_998);
    bench.run_ms(1_600);
    (bench.stored.state, bench.stored.pauses.len())
}

#[test]
fn pauses_of_the_last_day_count_and_older_ones_do_not() {
    for (hours, found) in [
        (1, (TradingState::CancelOnly, 1)),
        (13, (TradingState::CancelOnly, 1)),
        (23, (TradingState::CancelOnly, 1)),
        (25, (TradingState::Active, 1)),
    ] {
        assert_eq!(
            after_a_loss(vec![ended(hours)], 1),
            found,
            "{hours} hours ago"
        );
    }
}

#[test]
fn without_room_for_another_pause_everything_stops() {
    let most = Restrictions::PAUSES_MAX;
    for (count, found) in [
        (most - 1, (TradingState::Active, most)),
        (most, (TradingState::CancelOnly, most)),
    ] {
        let pauses = (0..u8::try_from(count).unwrap()).map(held).collect();
        assert_eq!(after_a_loss(pauses, 100), found, "{count} pauses");
    }
}

#[test]
fn every_pause_ends_at_its_own_time_and_is_reported_then() {
    let until = |seconds: u64, side| Pause {
        filter: Filter {
            side: Some(side),
            ..Filter::ALL
        },
        since: ORIGIN,
        until: Some(ORIGIN.plus_ms(1_000 * seconds)),
        cause: "test".to_owned(),
    };
    let quotes = [(Side::Buy, 9_995, 10), (Side::Sell, 10_005, 10)];
    let mut bench = TestBench::new(&quotes);
    bench.starts_with(Restrictions {
        pauses: vec![until(20, Side::Buy), until(5, Side::Sell)],
        ..Restrictions::default()
    });
    bench.run_ms(0);
    let paused = |n: &Notification| matches!(n, Notification::Paused(_));
    assert_eq!(
        bench.count(paused),
        2,
        "what is in force is stated at a start"
    );
    for (ms, sides) in [
        (4_900, &[][..]),
        (200, &[Side::Sell]),
        (14_600, &[Side::Sell]),
        (500, &[Side::Sell, Side::Buy]),
        (20_000, &[Side::Sell, Side::Buy]),
    ] {
        bench.run_ms(ms);
        let over = bench.notifications.iter().filter_map(|n| match n {
            Notification::Unpaused { filter, .. } => filter.side,
            _ => None,
        });
        assert_eq!(over.collect::<Vec<_>>(), sides, "{:?}", bench.now);
        let mut quoted: Vec<_> = bench.sealed.values().map(|(_, order)| order.side).collect();
        quoted.dedup();
        assert_eq!(quoted.len().min(2), sides.len().min(2), "{quoted:?}");
    }
}

/// Whether a write allows trading again is stated for every write, and of one that joins such a change with others.
#[test]
fn a_write_states_whether_it_allows_trading_again() {
    let mut bench = TestBench::ready(&[BID]);
    bench.accept();
    let (state, reason) = (TradingState::CancelOnly, || "test".to_owned());
    let raise = || Command::Raise {
        level: state,
        reason: reason(),
    };
    let lower = || Command::Lower {
        level: TradingState::Active,
        reason: reason(),
        forget_losses: false,
    };
    let filter = Filter::ALL;
    let pause = Command::Pause {
        filter,
        reason: reason(),
    };
    let unpause = Command::Unpause {
        filter,
        reason: reason(),
    };
    for (command, lowers) in [
        (raise(), false),
        (lower(), true),
        (pause, false),
        (unpause, true),
    ] {
        execute(&mut bench, command.clone()).unwrap();
        assert_eq!(bench.lowers.pop(), Some(lowers), "{command:?}");
    }
    execute(&mut bench, raise()).unwrap();
    // While one write is under way, what comes is written after it, as one change.
    bench.store_waits = true;
    let half = Filter::market(MarketId(0));
    let pause = Command::Pause {
        filter: half,
        reason: reason(),
    };
    execute(&mut bench, pause.clone()).unwrap();
    execute(&mut bench, lower()).unwrap();
    let first = bench.writing.take().expect("a write is under way");
    assert_eq!(bench.lowers.pop(), Some(false));
    bench.handle_event(&Event::RestrictionsStored(first));
    assert_eq!(bench.lowers.pop(), Some(true));
    let second = bench.writing.take().expect("the next one");
    assert_eq!(second.state, TradingState::Active);
    bench.handle_event(&Event::RestrictionsStored(second));
    // A lowering that is not stored yet is still one with a pause beside it.
    execute(&mut bench, raise()).unwrap();
    let first = bench.writing.take().expect("a write is under way");
    execute(&mut bench, lower()).unwrap();
    let side = Filter {
        side: Some(Side::Buy),
        ..half
    };
    let pause = Command::Pause {
        filter: side,
        reason: reason(),
    };
    execute(&mut bench, pause).unwrap();
    bench.lowers.clear();
    bench.handle_event(&Event::RestrictionsStored(first));
    assert_eq!(bench.lowers, [true]);
}

fn pause(bench: &mut TestBench, filter: Filter) -> Result<String, String> {
    let reason = "test".to_owned();
    execute(bench, Command::Pause { filter, reason })
}

#[test]
fn a_pause_is_reported_as_over_when_it_is_lifted_and_not_when_another_begins() {
    let mut bench = TestBench::ready(&[BID]);
    let [bids, asks] = Side::BOTH.map(|side| Filter {
        side: Some(side),
        ..Filter::ALL
    });
    let over = |bench: &TestBench| {
        let notifications = bench.notifications.iter();
        let over = notifications.filter_map(|notification| match notification {
            Notification::Unpaused { filter, .. } => Some(*filter),
            _ => None,
        });
        over.collect::<Vec<_>>()
    };
    pause(&mut bench, bids).unwrap();
    pause(&mut bench, asks).unwrap();
    assert_eq!((bench.stored.pauses.len(), over(&bench)), (2, Vec::new()));
    let (filter, reason) = (bids, "test".to_owned());
    execute(&mut bench, Command::Unpause { filter, reason }).unwrap();
    assert_eq!((bench.stored.pauses.len(), over(&bench)), (1, vec![bids]));
}

#[test]
fn a_pause_for_which_there_is_no_room_is_refused_and_not_stored() {
    let most = u8::try_from(Restrictions::PAUSES_MAX).unwrap();
    for (count, is_stored) in [(most - 1, true), (most, false)] {
        let mut bench = TestBench::new(&[BID]);
        bench.starts_with(Restrictions {
            pauses: (0..count).map(held).collect(),
            ..Restrictions::default()
        });
        bench.run_ms(3_000);
        let answer = pause(&mut bench, Filter::ALL);
        assert_eq!(answer.is_ok(), is_stored, "{answer:?}");
        assert_eq!(bench.stored.pauses.len(), Restrictions::PAUSES_MAX);
    }
}
