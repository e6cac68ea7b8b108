//! Losses, runaway prices and adverse fills: the effect of each, on both sides of its limit.

use cambist_core::books::{Baselines, Books};
use cambist_core::config::EngineConfig;
use cambist_core::event::{
    Command, Event, Filter, LossBaseline, Pause, Rate, Restrictions, TradingState,
};
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::{MarketId, Side};

use crate::desk::{BASE, Desk, ORIGIN, OTHER, QUOTE, config};

/// Low enough that no fall of the book here reaches it.
const BID: (Side, u64, u64) = (Side::Buy, 9_600, 10);

/// 500 000 000 units are held: a fall of the mid by one tick loses 5 000 000 quote units.
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
        Notification::Paused(Pause { filter, cause, .. }) => Some((*filter, cause.clone())),
        _ => None,
    });
    paused.collect()
}

fn falls(desk: &mut Desk, ticks: u64) {
    desk.depth = (desk.depth.0 - ticks, desk.depth.1 - ticks);
    desk.run_ms(1_600);
}

#[test]
fn a_loss_within_the_hour_pauses_the_market_for_its_time() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.hour_max = 10 * PER_TICK;
    let mut desk = desk(limit);
    falls(&mut desk, 10);
    assert_eq!(pauses(&desk), [], "exactly the limit");
    falls(&mut desk, 1);
    let cause = Control::LossHour.name().to_owned();
    assert_eq!(pauses(&desk), [(Filter::market(MarketId(0)), cause)]);
    assert_eq!(desk.cancels.len(), 1, "its orders are cancelled");
    desk.accept_cancel();
    assert_eq!(
        desk.levels.last(),
        Some(&TradingState::Active),
        "the level stays"
    );
}

#[test]
fn a_loss_that_paused_a_market_does_not_pause_it_again() {
    let mut desk = desk(|c| {
        c.markets[0].loss.hour_max = 10 * PER_TICK;
        c.risk.pause_ms = 20_000;
    });
    falls(&mut desk, 11);
    assert_eq!(pauses(&desk).len(), 1);
    desk.run_ms(60_000);
    assert_eq!(pauses(&desk).len(), 1, "it is done with");
    falls(&mut desk, 10);
    assert_eq!(pauses(&desk).len(), 1, "an hour may lose as much again");
    falls(&mut desk, 1);
    assert_eq!(pauses(&desk).len(), 2);
    falls(&mut desk, 11);
    assert_eq!(pauses(&desk).len(), 2, "it is paused");
    desk.run_ms(60_000);
    assert_eq!(pauses(&desk).len(), 3, "losses during the pause count");
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
        assert_eq!(desk.levels, [TradingState::CancelOnly]);
    }
}

#[test]
fn a_loss_since_the_start_halts() {
    let mut desk = desk(|c| c.markets[0].loss.total_max = 10 * PER_TICK);
    falls(&mut desk, 10);
    assert!(desk.levels.is_empty());
    falls(&mut desk, 1);
    assert_eq!(desk.levels, [TradingState::Halted]);
}

#[test]
fn one_wrong_snapshot_is_no_loss() {
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
    // Ten lots bought at 9 600, with a value of 10 000.
    let id = desk.sealed_ids()[0];
    desk.show(id, OrderStatus::Processed, 10);
    desk.run_ms(3_000);
    assert!(desk.levels.is_empty(), "a gain is no loss");
}

#[test]
fn a_runaway_price_pauses_its_market() {
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
    // A third bid is being sent, and in no book.
    desk.depth = (mid - 10, mid + 10);
    desk.run_ms(7_000);
    pauses(&desk)
        .iter()
        .any(|p| p.1 == Control::LossStreak.name())
}

#[test]
fn consecutive_losing_fills_pause_the_market() {
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
    assert_eq!(desk.levels.last(), Some(&TradingState::CancelOnly));
}

/// The next run starts with the stored state, at a price `above` ticks from the last one (below if negative), loses
/// `ticks`, and is killed.
fn runs_on(last: &Desk, above: i64, ticks: u64, change: impl Fn(&mut EngineConfig)) -> Desk {
    let depth = (last.depth.0, last.depth.1);
    let at = |price: u64| price.checked_add_signed(above).unwrap();
    begins(
        (at(depth.0), at(depth.1)),
        (last.stored.clone(), last.books.clone()),
        ticks,
        change,
    )
}

fn first_run(ticks: u64, change: impl Fn(&mut EngineConfig)) -> Desk {
    let nothing = (Restrictions::default(), Books::default());
    begins((9_990, 10_010), nothing, ticks, change)
}

fn begins(
    depth: (u64, u64),
    stored: (Restrictions, Books),
    ticks: u64,
    change: impl Fn(&mut EngineConfig),
) -> Desk {
    let mut desk = begun(depth, stored, change);
    desk.run_ms(2_500);
    desk.accept_all();
    desk.run_ms(1_000);
    for _ in 0..ticks {
        falls(&mut desk, 1);
    }
    desk
}

/// A run before its first event.
fn begun(
    depth: (u64, u64),
    (levels, books): (Restrictions, Books),
    change: impl Fn(&mut EngineConfig),
) -> Desk {
    let mut config = config();
    config.risk.move_bps = 10_000;
    change(&mut config);
    let mut desk = Desk::with(&[BID], config, Vec::new());
    desk.depth = depth;
    if let Some(held) = &books.ledger {
        let held = |token| u128::try_from(held[token]).unwrap();
        desk.balances = (held(&BASE), held(&QUOTE));
        desk.other = Some(held(&OTHER));
    }
    desk.starts_with(levels);
    desk.starts_with_books(books);
    desk
}

/// Stored baselines of the only market.
fn baselines(desk: &mut Desk) -> &mut Baselines {
    let position = desk.books.positions.get_mut(&MarketId(0)).unwrap();
    position.baselines.as_mut().unwrap()
}

/// Losses by the stored state at a start now: within the hour, today, in total, from the peak.
fn lost(desk: &Desk) -> [i128; 4] {
    let position = &desk.books.positions[&MarketId(0)];
    position.lost(ORIGIN).unwrap().map(|(_, lost)| lost)
}

fn ticks(count: i64) -> i128 {
    i128::from(count) * i128::try_from(PER_TICK).unwrap()
}

#[test]
fn losses_add_up_over_killed_runs() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.total_max = 16 * PER_TICK;
    let first = first_run(5, limit);
    let second = runs_on(&first, 0, 5, limit);
    assert!(second.levels.is_empty(), "ten ticks");
    let third = runs_on(&second, 0, 6, limit);
    assert!(third.levels.is_empty(), "sixteen are the limit");
    let third = runs_on(&second, 0, 7, limit);
    assert_eq!(
        third.levels,
        [TradingState::Halted],
        "seventeen, in three runs"
    );
    assert!(first_run(7, limit).levels.is_empty(), "alone");
}

#[test]
fn price_changes_between_two_runs_count_as_if_a_daemon_had_run() {
    type Limit = fn(&mut EngineConfig);
    let limits: [(Limit, TradingState); 3] = [
        (
            |c| c.markets[0].loss.total_max = 16 * PER_TICK,
            TradingState::Halted,
        ),
        (
            |c| c.markets[0].loss.day_max = 16 * PER_TICK,
            TradingState::CancelOnly,
        ),
        (
            |c| c.markets[0].loss.drawdown_max = 16 * PER_TICK,
            TradingState::CancelOnly,
        ),
    ];
    for (limit, stopped) in limits {
        let first = first_run(9, limit);
        let within = runs_on(&first, -7, 0, limit);
        assert!(within.levels.is_empty(), "sixteen ticks");
        let beyond = runs_on(&first, -8, 0, limit);
        assert_eq!(beyond.levels, [stopped], "seventeen ticks");
        let back = runs_on(&first, 9, 16, limit);
        assert!(
            back.levels.is_empty(),
            "what it gained meanwhile counts too"
        );
    }
}

#[test]
fn the_first_run_of_a_day_counts_price_changes_since_the_last_run() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.day_max = 16 * PER_TICK;
    let mut first = first_run(10, limit);
    baselines(&mut first).day -= 1;
    let price = |above: i64, ticks: u64| {
        // The last stored mid is that of the first measurement.
        runs_on(&first, above, ticks, limit).stored.state
    };
    assert_eq!(price(0, 6), TradingState::Active);
    assert_eq!(
        price(-7, 0),
        TradingState::CancelOnly,
        "seventeen ticks below what is stored"
    );
    assert_eq!(
        price(20, 16),
        TradingState::Active,
        "a gain over night is no room for today"
    );
    assert_eq!(price(20, 17), TradingState::CancelOnly);
}

#[test]
fn losses_of_a_store_without_books_are_continued() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.total_max = 16 * PER_TICK;
    let run = |lost: LossBaseline, fallen| {
        let nothing = (Restrictions::default(), Books::default());
        let mut desk = begun((9_000, 9_020), nothing, limit);
        desk.starts_with_lost([(MarketId(0), lost)].into());
        desk.run_ms(2_500);
        desk.accept_all();
        desk.run_ms(1_000);
        for _ in 0..fallen {
            falls(&mut desk, 1);
        }
        desk
    };
    let total = ticks(10);
    let unpriced = LossBaseline {
        total,
        ..LossBaseline::default()
    };
    for (fallen, level) in [(6, TradingState::Active), (7, TradingState::Halted)] {
        assert_eq!(run(unpriced, fallen).stored.state, level);
    }
    // Five ticks above: they were lost since.
    let mid = Some(Rate {
        quote: 9_015 * 2,
        base: 200,
    });
    let priced = LossBaseline { mid, ..unpriced };
    for (fallen, level) in [(1, TradingState::Active), (2, TradingState::Halted)] {
        assert_eq!(run(priced, fallen).stored.state, level);
    }
    // From then on they are stored with the books.
    let next = runs_on(&run(priced, 0), 0, 1, limit);
    assert_eq!(next.stored.state, TradingState::Active);
    let next = runs_on(&run(priced, 0), 0, 2, limit);
    assert_eq!(next.stored.state, TradingState::Halted);
}

#[test]
fn losses_within_the_hour_outlive_a_restart_until_the_hour_is_over() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.hour_max = 16 * PER_TICK;
    let first = first_run(9, limit);
    assert_eq!(pauses(&runs_on(&first, 0, 7, limit)).len(), 0);
    assert_eq!(pauses(&runs_on(&first, 0, 8, limit)).len(), 1);
    assert_eq!(
        pauses(&runs_on(&first, -8, 0, limit)).len(),
        1,
        "between the runs"
    );
    // Killed every ten minutes: a high value of an hour ago is not kept by that.
    let mut desk = first;
    for (minutes, paused) in (1..=7).map(|n| (10 * n, usize::from(n < 7))) {
        for (seen, _) in &mut baselines(&mut desk).hour {
            *seen = seen.minus_ms(10 * 60_000);
        }
        desk = runs_on(&desk, 0, 0, limit);
        let then = pauses(&runs_on(&desk, 0, 8, limit)).len();
        assert_eq!(then, paused, "after {minutes} minutes");
    }
}

#[test]
fn restarts_without_a_loss_lose_nothing() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.drawdown_max = 16 * PER_TICK;
    let first = first_run(14, limit);
    let mut desk = runs_on(&first, 0, 0, limit);
    for _ in 0..20 {
        desk = runs_on(&desk, 0, 0, limit);
    }
    let kept = |desk: &mut Desk| {
        let Baselines {
            day_open,
            total,
            peak,
            ..
        } = baselines(desk).clone();
        (day_open, total, peak)
    };
    assert_eq!(kept(&mut desk), kept(&mut { first }));
    assert_eq!(desk.stored.state, TradingState::Active);
    assert_eq!(lost(&desk), [ticks(14); 4]);
}

#[test]
fn kills_lose_nothing() {
    // A sixteenth of the limit was once booked for each kill.
    let limit = |c: &mut EngineConfig| {
        c.markets[0].loss.total_max = 16 * PER_TICK;
        c.markets[0].loss.drawdown_max = 16 * PER_TICK;
        c.markets[0].loss.day_max = 16 * PER_TICK;
    };
    let mut desk = first_run(2, limit);
    let mut worth = ticks(-2);
    for kill in 0..1_000_u64 {
        // Killed as soon as a fill is booked; half of them before the fill is detected.
        let id = *desk.sealed_ids().last().unwrap();
        let lots = 1 + kill % 3;
        let (base, quote) = (u128::from(lots) * 100, u128::from(lots) * 9_600);
        desk.show(id, OrderStatus::Cancelled, lots);
        desk.balances.0 += base;
        desk.balances.1 -= quote;
        // Bought at 9 600, with a value of 9 998 each.
        worth += i128::from(lots) * 398;
        let open = if kill % 2 == 0 {
            desk.run_ms(1_100);
            Vec::new()
        } else {
            let (hash, order) = desk.sealed[&id].clone();
            vec![(order, hash, desk.list.clone())]
        };
        let (depth, balances) = (desk.depth, desk.balances);
        let mut next = begun(depth, (desk.stored.clone(), desk.books.clone()), limit);
        next.balances = balances;
        for (order, hash, list) in open {
            next.recovers(order, hash);
            next.list = list;
        }
        desk = next;
        desk.until_a_submit_waits();
        desk.accept_all();
        desk.run_ms(600);
    }
    assert!(desk.levels.is_empty(), "{:?}", desk.levels);
    let [_, _, total, below_peak] = lost(&desk);
    assert_eq!((total, below_peak), (-worth, -worth), "to the unit");
}

#[test]
fn a_losing_fill_is_in_the_state_after_a_crash() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.total_max = 16 * PER_TICK;
    let mut desk = first_run(0, limit);
    assert_eq!(lost(&desk)[2], 0, "nothing is lost");
    let id = desk.sealed_ids()[0];
    // Ten lots bought at 9 600, with a value of 9 990: 3 900 quote units are gained, and lost when the price is 9 000,
    // together with 6 000 more.
    desk.show(id, OrderStatus::Processed, 10);
    desk.run_ms(3_000);
    desk.depth = (8_990, 9_010);
    desk.run_ms(61_000);
    assert_eq!(
        baselines(&mut desk).mid,
        Rate {
            quote: 18_000,
            base: 200
        }
    );
    assert_eq!(lost(&desk)[2], ticks(1_000) + 6_000);
}

#[test]
fn a_regular_end_keeps_losses_exactly() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.day_max = 10 * PER_TICK;
    let mut desk = first_run(9, limit);
    desk.hear(&Event::Operator(Command::Drain));
    assert_eq!(lost(&desk)[1], ticks(9));
    let next = runs_on(&desk, 0, 1, limit);
    assert!(next.levels.is_empty());
    let next = runs_on(&desk, 0, 2, limit);
    assert_eq!(next.levels, [TradingState::CancelOnly]);
}

/// Lowers the trading state; returns the engine's reply.
fn lower(desk: &mut Desk, forget_losses: bool) -> Result<String, String> {
    let (level, reason) = (TradingState::Active, "checked".to_owned());
    desk.hear(&Event::Operator(Command::Lower {
        level,
        reason,
        forget_losses,
    }));
    let answers = desk.notes.iter().rev().find_map(|note| match note {
        Notification::CommandTaken { detail, .. } => Some(Ok(detail.clone())),
        Notification::CommandRefused { why, .. } => Some(Err(why.clone())),
        _ => None,
    });
    answers.unwrap()
}

#[test]
fn a_lowered_state_is_not_raised_again_by_earlier_losses() {
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
        assert_eq!(desk.levels, [TradingState::CancelOnly]);
        let why = lower(&mut desk, false).unwrap_err();
        let key = if drawdown {
            "drawdown_max"
        } else {
            "loss_day_max"
        };
        assert!(why.contains(key) && why.contains("55 T1"), "{why}");
        assert!(
            why.contains("50 T1") && why.contains("--forget-losses"),
            "{why}"
        );
        assert_eq!(
            desk.stored.state,
            TradingState::CancelOnly,
            "nothing is lowered"
        );
        assert_eq!(lost(&desk)[if drawdown { 3 } else { 1 }], ticks(11));
        let done = lower(&mut desk, true).unwrap();
        assert!(
            done.contains("losses are reset") && done.contains("55 T1"),
            "{done}"
        );
        assert_eq!(desk.stored, Restrictions::default());
        assert_eq!(lost(&desk), [0; 4], "durable: nothing is lost any more");
        falls(&mut desk, 9);
        assert_eq!(
            desk.levels,
            [TradingState::CancelOnly, TradingState::Active],
            "counted from zero"
        );
        falls(&mut desk, 2);
        assert_eq!(desk.levels.len(), 3, "and reached again");
        assert_eq!(desk.stored.state, TradingState::CancelOnly);
    }
}

#[test]
fn losses_within_their_limits_are_kept_at_a_resume() {
    let mut desk = desk(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut desk, 9);
    let (level, reason) = (TradingState::CancelOnly, "a look".to_owned());
    desk.hear(&Event::Operator(Command::Raise { level, reason }));
    let done = lower(&mut desk, false).unwrap();
    assert!(!done.contains("losses"), "{done}");
    assert_eq!(desk.stored.state, TradingState::Active);
    falls(&mut desk, 2);
    assert_eq!(desk.stored.state, TradingState::CancelOnly, "eleven");
    // Losses from while the limit was exceeded are gone when the price is back.
    desk.depth = (9_990, 10_010);
    desk.run_ms(1_600);
    lower(&mut desk, false).unwrap();
    assert_eq!(desk.stored.state, TradingState::Active);
}

#[test]
fn a_trading_state_being_lowered_applies_until_that_is_stored() {
    let mut desk = desk(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut desk, 11);
    while !desk.cancels.is_empty() {
        desk.accept_cancel();
    }
    desk.store_waits = true;
    lower(&mut desk, true).unwrap();
    desk.hear(&Event::RestrictionsFailed(Restrictions::default()));
    desk.run_ms(5_000);
    assert_eq!(desk.stored, Restrictions::default(), "asked for again");
    assert!(desk.submits.is_empty(), "not stored yet");
    desk.store_waits = false;
    desk.hear(&Event::RestrictionsStored(Restrictions::default()));
    desk.until_a_submit_waits();
}

#[test]
fn a_trading_state_being_lowered_can_be_raised_meanwhile() {
    let mut desk = desk(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut desk, 11);
    desk.store_waits = true;
    lower(&mut desk, true).unwrap();
    let (level, reason) = (TradingState::CancelOnly, "no".to_owned());
    desk.hear(&Event::Operator(Command::Raise { level, reason }));
    desk.store_waits = false;
    desk.hear(&Event::RestrictionsStored(Restrictions::default()));
    assert_eq!(desk.stored.state, TradingState::CancelOnly);
    desk.run_ms(5_000);
    assert!(desk.submits.is_empty());
}

#[test]
fn pauses_that_ended_days_ago_are_removed() {
    let healed = Pause {
        filter: Filter::market(MarketId(0)),
        since: ORIGIN.minus_ms(30 * 86_400_000),
        until: Some(ORIGIN.minus_ms(30 * 86_400_000 - 1_000)),
        cause: Control::LossHour.name().to_owned(),
    };
    let stored = Restrictions {
        pauses: vec![healed; Restrictions::PAUSES_MAX],
        ..Restrictions::default()
    };
    let limit = |c: &mut EngineConfig| c.markets[0].loss.hour_max = 10 * PER_TICK;
    let mut config = config();
    config.risk.move_bps = 10_000;
    limit(&mut config);
    let mut desk = Desk::with(&[BID], config, Vec::new());
    desk.starts_with(stored);
    desk.until_a_submit_waits();
    desk.accept();
    desk.run_ms(1_000);
    falls(&mut desk, 12);
    assert_eq!(
        desk.stored.state,
        TradingState::Active,
        "a pause, and no more"
    );
    assert_eq!(desk.stored.pauses.len(), 1);
}
