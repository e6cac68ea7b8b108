//! Losses, runaways and those who know better: what each does, and what does nothing yet.

use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event, Filter, Level, Levels, Lost, Pause};
use cambist_core::note::{Control, Note};
use cambist_core::order::OrderStatus;
use cambist_core::{MarketId, Side};

use crate::desk::{Desk, config};

/// Low enough that no fall of the book here crosses it.
const BID: (Side, u64, u64) = (Side::Buy, 9_600, 10);

/// Held are 500 000 000 units: a fall of the mid by one tick costs 5 000 000 quote units.
const PER_TICK: u128 = 5_000_000;

fn desk(change: impl Fn(&mut EngineConfig)) -> Desk {
    bidding(BID, change)
}

fn bidding(bid: (Side, u64, u64), change: impl Fn(&mut EngineConfig)) -> Desk {
    let mut config = config();
    config.risk.move_bps = 10_000;
    change(&mut config);
    let mut desk = Desk::with(&[bid], config, Vec::new());
    desk.until_a_submit_waits();
    desk.accept();
    desk.run_ms(1_000);
    desk
}

fn pauses(desk: &Desk) -> Vec<(Filter, String)> {
    let paused = desk.notes.iter().filter_map(|note| match note {
        Note::Paused(Pause { filter, cause, .. }) => Some((*filter, cause.clone())),
        _ => None,
    });
    paused.collect()
}

fn falls(desk: &mut Desk, ticks: u64) {
    desk.depth = (desk.depth.0 - ticks, desk.depth.1 - ticks);
    desk.run_ms(1_600);
}

#[test]
fn a_loss_within_the_hour_pauses_the_market_until_it_heals() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.hour_max = 10 * PER_TICK;
    let mut desk = desk(limit);
    falls(&mut desk, 10);
    assert_eq!(pauses(&desk), [], "exactly the limit");
    falls(&mut desk, 1);
    let cause = Control::LossHour.name().to_owned();
    assert_eq!(pauses(&desk), [(Filter::market(MarketId(0)), cause)]);
    assert_eq!(desk.cancels.len(), 1, "its orders are cancelled");
    desk.accept_cancel();
    assert_eq!(desk.levels.last(), Some(&Level::Trading), "the level stays");
}

#[test]
fn a_loss_of_the_day_and_a_drawdown_stop_new_orders_everywhere() {
    for drawdown in [false, true] {
        let limit = |c: &mut EngineConfig| {
            let loss = &mut c.markets[0].loss;
            *(if drawdown {
                &mut loss.drawdown_max
            } else {
                &mut loss.day_max
            }) = 10 * PER_TICK;
        };
        let mut desk = desk(limit);
        if drawdown {
            // From the peak, not from the start.
            desk.depth = (9_995, 10_015);
            desk.run_ms(1_600);
        }
        falls(&mut desk, 10);
        assert!(desk.levels.is_empty());
        falls(&mut desk, 1);
        assert_eq!(desk.levels, [Level::CancelOnly]);
    }
}

#[test]
fn a_loss_since_the_start_halts() {
    let mut desk = desk(|c| c.markets[0].loss.total_max = 10 * PER_TICK);
    falls(&mut desk, 10);
    assert!(desk.levels.is_empty());
    falls(&mut desk, 1);
    assert_eq!(desk.levels, [Level::Halted]);
}

#[test]
fn one_strange_snapshot_is_no_loss() {
    let mut desk = desk(|c| c.markets[0].loss.total_max = 10 * PER_TICK);
    desk.depth = (9_900, 9_920);
    desk.run_ms(501);
    desk.depth = (9_990, 10_010);
    desk.run_ms(3_000);
    assert!(desk.levels.is_empty());
}

#[test]
fn losses_count_fills_and_fees_as_they_were() {
    let mut desk = desk(|c| c.markets[0].loss.total_max = 1_000);
    // Ten lots bought at 9 600 and worth 10 000.
    let id = desk.sealed_ids()[0];
    desk.show(id, OrderStatus::Processed, 10);
    desk.run_ms(3_000);
    assert!(desk.levels.is_empty(), "a gain is no loss");
}

#[test]
fn a_reference_that_runs_away_pauses_its_market() {
    let mut desk = desk(|c| c.risk.move_bps = 100);
    // The window's lowest mid is 9 900: 100 ticks are a little more than 100 bps of it.
    falls(&mut desk, 99);
    assert_eq!(pauses(&desk), []);
    falls(&mut desk, 1);
    assert_eq!(pauses(&desk).len(), 1);
    assert_eq!(pauses(&desk)[0].1, Control::PriceMove.name());
}

/// Two bids at 9 995 fill; the mid is `mid` when their markout is taken.
fn two_fills_and_a_mid(mid: u64, fills: u32) -> bool {
    let mut desk = bidding((Side::Buy, 9_995, 10), |c| {
        c.risk.streak_fills = fills;
        c.risk.streak_bps = 20;
        c.risk.streak_ms = 5_000;
        c.risk.duplicate_ms = 1;
    });
    for _ in 0..2 {
        desk.accept_all();
        let id = *desk.sealed_ids().last().unwrap();
        desk.show(id, OrderStatus::Processed, 10);
        desk.run_ms(1_200);
    }
    assert_eq!(desk.fills().len(), 2);
    // A third bid is on its way, and in no book.
    desk.depth = (mid - 10, mid + 10);
    desk.run_ms(7_000);
    pauses(&desk)
        .iter()
        .any(|p| p.1 == Control::LossStreak.name())
}

#[test]
fn fills_that_go_against_us_in_a_row_pause_the_market() {
    // 9 975 is 20.01 ten-thousandths below the price paid, 9 976 is 19.01.
    assert!(two_fills_and_a_mid(9_975, 2));
    assert!(!two_fills_and_a_mid(9_976, 2), "not far enough");
    assert!(!two_fills_and_a_mid(9_975, 3), "not often enough");
    assert!(!two_fills_and_a_mid(9_975, 0), "switched off");
}

#[test]
fn pauses_too_often_within_a_day_stop_everything() {
    let mut desk = desk(|c| {
        c.markets[0].loss.hour_max = 5 * PER_TICK;
        c.risk.pauses_per_day = 2;
        c.risk.pause_ms = 3_000;
    });
    for _ in 0..12 {
        falls(&mut desk, 3);
        desk.run_ms(2_000);
        while !desk.cancels.is_empty() {
            desk.accept_cancel();
        }
        desk.accept_all();
    }
    assert_eq!(pauses(&desk).len(), 2, "{:?}", desk.levels);
    assert_eq!(desk.levels.last(), Some(&Level::CancelOnly));
}

/// A run of what the store holds: lost are so many ticks, then it is cut off. Returns what is stored.
fn crashes_after(stored: Levels, ticks: u64, change: impl Fn(&mut EngineConfig)) -> Desk {
    let mut config = config();
    config.risk.move_bps = 10_000;
    change(&mut config);
    let mut desk = Desk::with(&[BID], config, Vec::new());
    desk.starts_with(stored);
    desk.until_a_submit_waits();
    desk.accept();
    desk.run_ms(1_000);
    for _ in 0..ticks {
        falls(&mut desk, 1);
    }
    desk
}

#[test]
fn losses_add_up_over_runs_that_are_cut_off() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.total_max = 16 * PER_TICK;
    let first = crashes_after(Levels::default(), 5, limit);
    let bound = first.stored.lost[&MarketId(0)].total;
    assert!((5 * PER_TICK..=6 * PER_TICK).contains(&bound), "{bound}");
    let second = crashes_after(first.stored, 5, limit);
    assert!(second.levels.is_empty(), "ten ticks and what was ahead");
    let third = crashes_after(second.stored, 7, limit);
    assert_eq!(
        third.levels,
        [Level::Halted],
        "seventeen ticks in three runs"
    );
    let alone = crashes_after(Levels::default(), 7, limit);
    assert!(alone.levels.is_empty());
}

#[test]
fn restarts_without_a_loss_lose_nothing() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.drawdown_max = 16 * PER_TICK;
    let mut stored = crashes_after(Levels::default(), 14, limit).stored;
    let bound = stored.lost[&MarketId(0)];
    for _ in 0..20 {
        stored = crashes_after(stored, 0, limit).stored;
    }
    assert_eq!(stored.lost[&MarketId(0)], bound);
    assert_eq!(stored.level, Level::Trading);
}

#[test]
fn an_end_in_order_keeps_what_was_lost_exactly_and_a_new_day_begins_with_nothing() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.day_max = 10 * PER_TICK;
    let mut desk = crashes_after(Levels::default(), 9, limit);
    desk.hear(&Event::Operator(Command::Drain));
    let lost = desk.stored.lost[&MarketId(0)];
    assert_eq!(lost.today, 9 * PER_TICK);
    for (day, stopped) in [(lost.day, true), (lost.day - 1, false)] {
        let mut stored = desk.stored.clone();
        stored.lost.insert(MarketId(0), Lost { day, ..lost });
        let next = crashes_after(stored, 2, limit);
        assert_eq!(next.stored.level == Level::CancelOnly, stopped);
    }
}

fn lower(desk: &mut Desk) {
    let (level, reason) = (Level::Trading, "looked into".to_owned());
    desk.hear(&Event::Operator(Command::Lower { level, reason }));
}

#[test]
fn what_a_person_lowered_is_not_raised_again_by_what_was_lost_before() {
    for drawdown in [false, true] {
        let mut desk = desk(|c| {
            let loss = &mut c.markets[0].loss;
            let limit = if drawdown {
                &mut loss.drawdown_max
            } else {
                &mut loss.day_max
            };
            *limit = 10 * PER_TICK;
        });
        falls(&mut desk, 11);
        assert_eq!(desk.levels, [Level::CancelOnly]);
        lower(&mut desk);
        assert_eq!(
            desk.stored,
            Levels::default(),
            "durable: nothing is lost any more"
        );
        falls(&mut desk, 9);
        assert_eq!(
            desk.levels,
            [Level::CancelOnly, Level::Trading],
            "counted anew"
        );
        falls(&mut desk, 2);
        assert_eq!(desk.levels.len(), 3, "and reached anew");
        assert_eq!(desk.stored.level, Level::CancelOnly);
    }
}

#[test]
fn a_level_that_is_being_lowered_holds_until_that_is_stored() {
    let mut desk = desk(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut desk, 11);
    while !desk.cancels.is_empty() {
        desk.accept_cancel();
    }
    desk.store_waits = true;
    lower(&mut desk);
    desk.hear(&Event::LevelFailed(Levels::default()));
    desk.run_ms(5_000);
    assert_eq!(desk.stored, Levels::default(), "asked for again");
    assert!(desk.submits.is_empty(), "not stored yet");
    desk.store_waits = false;
    desk.hear(&Event::LevelStored(Levels::default()));
    desk.until_a_submit_waits();
}

#[test]
fn a_level_that_is_being_lowered_can_be_raised_meanwhile() {
    let mut desk = desk(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut desk, 11);
    desk.store_waits = true;
    lower(&mut desk);
    let (level, reason) = (Level::CancelOnly, "no".to_owned());
    desk.hear(&Event::Operator(Command::Raise { level, reason }));
    desk.store_waits = false;
    desk.hear(&Event::LevelStored(Levels::default()));
    assert_eq!(desk.stored.level, Level::CancelOnly);
    desk.run_ms(5_000);
    assert!(desk.submits.is_empty());
}
