//! Losses, runaway prices and adverse fills: the effect of each, on both sides of its limit.

use cambist_core::books::{Baselines, Books};
use cambist_core::config::EngineConfig;
use cambist_core::event::{
    Command, Event, Filter, LossBaseline, Pause, Rate, Restrictions, TradingState,
};
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::{MarketId, Side, VenueTime};

use crate::bench::{BASE, ORIGIN, OTHER, QUOTE, TestBench, config};

/// Low enough that no fall of the book here reaches it.
const BID: (Side, u64, u64) = (Side::Buy, 9_600, 10);

/// 500 000 000 units are held: a fall of the mid by one tick loses 5 000 000 quote units.
const PER_TICK: u128 = 5_000_000;

fn bench(change: impl Fn(&mut EngineConfig)) -> TestBench {
    bidding(BID, change)
}

fn bidding(bid: (Side, u64, u64), change: impl Fn(&mut EngineConfig)) -> TestBench {
    let mut config = config();
    config.risk.move_bps = 10_000;
    change(&mut config);
    let mut bench = TestBench::with(&[bid], config, Vec::new());
    bench.until_a_submit_waits();
    bench.accept();
    bench.run_ms(1_000);
    bench
}

fn pauses(bench: &TestBench) -> Vec<(Filter, String)> {
    let paused = bench
        .notifications
        .iter()
        .filter_map(|notification| match notification {
            Notification::Paused(Pause { filter, cause, .. }) => Some((*filter, cause.clone())),
            _ => None,
        });
    paused.collect()
}

fn falls(bench: &mut TestBench, ticks: u64) {
    bench.depth = (bench.depth.0 - ticks, bench.depth.1 - ticks);
    bench.run_ms(1_600);
}

#[test]
fn a_loss_within_the_hour_pauses_the_market_for_its_time() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.hour_max = 10 * PER_TICK;
    let mut bench = bench(limit);
    falls(&mut bench, 10);
    assert_eq!(pauses(&bench), [], "exactly the limit");
    falls(&mut bench, 1);
    let cause = Control::LossHour.name().to_owned();
    assert_eq!(pauses(&bench), [(Filter::market(MarketId(0)), cause)]);
    assert_eq!(bench.cancels.len(), 1, "its orders are cancelled");
    bench.accept_cancel();
    assert_eq!(
        bench.levels.last(),
        Some(&TradingState::Active),
        "the level stays"
    );
}

#[test]
fn a_loss_that_paused_a_market_does_not_pause_it_again() {
    let mut bench = bench(|c| {
        c.markets[0].loss.hour_max = 10 * PER_TICK;
        c.risk.pause_ms = 20_000;
    });
    falls(&mut bench, 11);
    assert_eq!(pauses(&bench).len(), 1);
    bench.run_ms(60_000);
    assert_eq!(pauses(&bench).len(), 1, "it is done with");
    falls(&mut bench, 10);
    assert_eq!(pauses(&bench).len(), 1, "an hour may lose as much again");
    falls(&mut bench, 1);
    assert_eq!(pauses(&bench).len(), 2);
    falls(&mut bench, 11);
    assert_eq!(pauses(&bench).len(), 2, "it is paused");
    bench.run_ms(60_000);
    assert_eq!(pauses(&bench).len(), 3, "losses during the pause count");
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
        let mut bench = bench(limit);
        if drawdown {
            // From the peak, not from the start.
            bench.depth = (9_995, 10_015);
            bench.run_ms(1_600);
        }
        falls(&mut bench, 10);
        assert!(bench.levels.is_empty());
        falls(&mut bench, 1);
        assert_eq!(bench.levels, [TradingState::CancelOnly]);
    }
}

#[test]
fn a_loss_since_the_start_halts() {
    let mut bench = bench(|c| c.markets[0].loss.total_max = 10 * PER_TICK);
    falls(&mut bench, 10);
    assert!(bench.levels.is_empty());
    falls(&mut bench, 1);
    assert_eq!(bench.levels, [TradingState::Halted]);
}

#[test]
fn one_wrong_snapshot_is_no_loss() {
    let mut bench = bench(|c| c.markets[0].loss.total_max = 10 * PER_TICK);
    bench.depth = (9_900, 9_920);
    bench.run_ms(501);
    bench.depth = (9_990, 10_010);
    bench.run_ms(3_000);
    assert!(bench.levels.is_empty());
}

#[test]
fn losses_count_fills_and_fees_as_they_were() {
    let mut bench = bench(|c| c.markets[0].loss.total_max = 1_000);
    // Ten lots bought at 9 600, with a value of 10 000.
    let id = bench.sealed_ids()[0];
    bench.show(id, OrderStatus::Processed, 10);
    bench.run_ms(3_000);
    assert!(bench.levels.is_empty(), "a gain is no loss");
}

#[test]
fn a_runaway_price_pauses_its_market() {
    let mut bench = bench(|c| c.risk.move_bps = 100);
    // The window's lowest mid is 9 900: 100 ticks are a little more than 100 bps of it.
    falls(&mut bench, 99);
    assert_eq!(pauses(&bench), []);
    falls(&mut bench, 1);
    assert_eq!(pauses(&bench).len(), 1);
    assert_eq!(pauses(&bench)[0].1, Control::PriceMove.name());
}

/// Two bids at 9 995 fill; the mid is `mid` when their markout is taken.
fn two_fills_and_a_mid(mid: u64, fills: u32) -> bool {
    let mut bench = bidding((Side::Buy, 9_995, 10), |c| {
        c.risk.streak_fills = fills;
        c.risk.streak_bps = 20;
        c.risk.streak_ms = 5_000;
        c.risk.duplicate_ms = 1;
    });
    for _ in 0..2 {
        bench.accept_all();
        let id = *bench.sealed_ids().last().unwrap();
        bench.show(id, OrderStatus::Processed, 10);
        bench.run_ms(1_200);
    }
    assert_eq!(bench.fills().len(), 2);
    // A third bid is being sent, and in no book.
    bench.depth = (mid - 10, mid + 10);
    bench.run_ms(7_000);
    pauses(&bench)
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
    let mut bench = bench(|c| {
        c.markets[0].loss.hour_max = 5 * PER_TICK;
        c.risk.pauses_per_day = 2;
        c.risk.pause_ms = 3_000;
    });
    for _ in 0..12 {
        falls(&mut bench, 3);
        bench.run_ms(2_000);
        while !bench.cancels.is_empty() {
            bench.accept_cancel();
        }
        bench.accept_all();
    }
    assert_eq!(pauses(&bench).len(), 2, "{:?}", bench.levels);
    assert_eq!(bench.levels.last(), Some(&TradingState::CancelOnly));
}

/// The next run starts with the stored state, at a price `above` ticks from the last one (below if negative), loses
/// `ticks`, and is killed.
fn runs_on(
    last: &TestBench,
    above: i64,
    ticks: u64,
    change: impl Fn(&mut EngineConfig),
) -> TestBench {
    let depth = (last.depth.0, last.depth.1);
    let at = |price: u64| price.checked_add_signed(above).unwrap();
    begins(
        (at(depth.0), at(depth.1)),
        (last.stored.clone(), last.books.clone()),
        ticks,
        change,
    )
}

fn first_run(ticks: u64, change: impl Fn(&mut EngineConfig)) -> TestBench {
    let nothing = (Restrictions::default(), Books::default());
    begins((9_990, 10_010), nothing, ticks, change)
}

fn begins(
    depth: (u64, u64),
    stored: (Restrictions, Books),
    ticks: u64,
    change: impl Fn(&mut EngineConfig),
) -> TestBench {
    let mut bench = begun(depth, stored, change);
    bench.run_ms(2_500);
    bench.accept_all();
    bench.run_ms(1_000);
    for _ in 0..ticks {
        falls(&mut bench, 1);
    }
    bench
}

/// A run before its first event.
fn begun(
    depth: (u64, u64),
    (levels, books): (Restrictions, Books),
    change: impl Fn(&mut EngineConfig),
) -> TestBench {
    let mut config = config();
    config.risk.move_bps = 10_000;
    change(&mut config);
    let mut bench = TestBench::with(&[BID], config, Vec::new());
    bench.depth = depth;
    if let Some(held) = &books.ledger {
        let held = |token| u128::try_from(held[token]).unwrap();
        bench.balances = (held(&BASE), held(&QUOTE));
        bench.other = Some(held(&OTHER));
    }
    bench.starts_with(levels);
    bench.starts_with_books(books);
    bench
}

/// Stored baselines of the only market.
fn baselines(bench: &mut TestBench) -> &mut Baselines {
    let position = bench.books.positions.get_mut(&MarketId(0)).unwrap();
    position.baselines.as_mut().unwrap()
}

/// Losses by the stored state at a start now: within the hour, today, in total, from the peak.
fn lost(bench: &TestBench) -> [i128; 4] {
    let position = &bench.books.positions[&MarketId(0)];
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

/// The hour's loss of such a store counts until an hour after it was measured.
#[test]
fn the_hours_loss_of_a_store_without_books_counts_for_an_hour() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.hour_max = 16 * PER_TICK;
    let paused = |minutes_ago: u64, fallen| {
        let nothing = (Restrictions::default(), Books::default());
        let mut bench = begun((9_000, 9_020), nothing, limit);
        let lost = LossBaseline {
            hour: ticks(10),
            hour_at: VenueTime(ORIGIN.0 - minutes_ago * 60_000),
            ..LossBaseline::default()
        };
        bench.starts_with_lost([(MarketId(0), lost)].into());
        bench.run_ms(2_500);
        bench.accept_all();
        bench.run_ms(1_000);
        for _ in 0..fallen {
            falls(&mut bench, 1);
        }
        pauses(&bench).len()
    };
    assert_eq!(paused(10, 6), 0);
    assert_eq!(paused(10, 7), 1);
    assert_eq!(paused(80, 7), 0, "longer ago than an hour");
}

#[test]
fn losses_of_a_store_without_books_are_continued() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.total_max = 16 * PER_TICK;
    let run = |lost: LossBaseline, fallen| {
        let nothing = (Restrictions::default(), Books::default());
        let mut bench = begun((9_000, 9_020), nothing, limit);
        bench.starts_with_lost([(MarketId(0), lost)].into());
        bench.run_ms(2_500);
        bench.accept_all();
        bench.run_ms(1_000);
        for _ in 0..fallen {
            falls(&mut bench, 1);
        }
        bench
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
    let mut bench = first;
    for (minutes, paused) in (1..=7).map(|n| (10 * n, usize::from(n < 7))) {
        for (seen, _) in &mut baselines(&mut bench).hour {
            *seen = seen.minus_ms(10 * 60_000);
        }
        bench = runs_on(&bench, 0, 0, limit);
        let then = pauses(&runs_on(&bench, 0, 8, limit)).len();
        assert_eq!(then, paused, "after {minutes} minutes");
    }
}

#[test]
fn restarts_without_a_loss_lose_nothing() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.drawdown_max = 16 * PER_TICK;
    let first = first_run(14, limit);
    let mut bench = runs_on(&first, 0, 0, limit);
    for _ in 0..20 {
        bench = runs_on(&bench, 0, 0, limit);
    }
    let kept = |bench: &mut TestBench| {
        let Baselines {
            day_open,
            total,
            peak,
            ..
        } = baselines(bench).clone();
        (day_open, total, peak)
    };
    assert_eq!(kept(&mut bench), kept(&mut { first }));
    assert_eq!(bench.stored.state, TradingState::Active);
    assert_eq!(lost(&bench), [ticks(14); 4]);
}

#[test]
fn kills_lose_nothing() {
    // A sixteenth of the limit was once booked for each kill.
    let limit = |c: &mut EngineConfig| {
        c.markets[0].loss.total_max = 16 * PER_TICK;
        c.markets[0].loss.drawdown_max = 16 * PER_TICK;
        c.markets[0].loss.day_max = 16 * PER_TICK;
    };
    let mut bench = first_run(2, limit);
    let mut worth = ticks(-2);
    for kill in 0..1_000_u64 {
        // Killed as soon as a fill is booked; half of them before the fill is detected.
        let id = *bench.sealed_ids().last().unwrap();
        let lots = 1 + kill % 3;
        let (base, quote) = (u128::from(lots) * 100, u128::from(lots) * 9_600);
        bench.show(id, OrderStatus::Cancelled, lots);
        bench.balances.0 += base;
        bench.balances.1 -= quote;
        // Bought at 9 600, with a value of 9 998 each.
        worth += i128::from(lots) * 398;
        let open = if kill % 2 == 0 {
            bench.run_ms(1_100);
            Vec::new()
        } else {
            let (hash, order) = bench.sealed[&id].clone();
            vec![(order, hash, bench.list.clone())]
        };
        let (depth, balances) = (bench.depth, bench.balances);
        let mut next = begun(depth, (bench.stored.clone(), bench.books.clone()), limit);
        next.balances = balances;
        for (order, hash, list) in open {
            next.add_recovered(order, hash);
            next.list = list;
        }
        bench = next;
        bench.until_a_submit_waits();
        bench.accept_all();
        bench.run_ms(600);
    }
    assert!(bench.levels.is_empty(), "{:?}", bench.levels);
    let [_, _, total, below_peak] = lost(&bench);
    assert_eq!((total, below_peak), (-worth, -worth), "to the unit");
}

#[test]
fn a_losing_fill_is_in_the_state_after_a_crash() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.total_max = 16 * PER_TICK;
    let mut bench = first_run(0, limit);
    assert_eq!(lost(&bench)[2], 0, "nothing is lost");
    let id = bench.sealed_ids()[0];
    // Ten lots bought at 9 600, with a value of 9 990: 3 900 quote units are gained, and lost when the price is 9 000,
    // together with 6 000 more.
    bench.show(id, OrderStatus::Processed, 10);
    bench.run_ms(3_000);
    bench.depth = (8_990, 9_010);
    bench.run_ms(61_000);
    assert_eq!(
        baselines(&mut bench).mid,
        Rate {
            quote: 18_000,
            base: 200
        }
    );
    assert_eq!(lost(&bench)[2], ticks(1_000) + 6_000);
}

#[test]
fn a_regular_end_keeps_losses_exactly() {
    let limit = |c: &mut EngineConfig| c.markets[0].loss.day_max = 10 * PER_TICK;
    let mut bench = first_run(9, limit);
    bench.handle_event(&Event::Operator(Command::Drain));
    assert_eq!(lost(&bench)[1], ticks(9));
    let next = runs_on(&bench, 0, 1, limit);
    assert!(next.levels.is_empty());
    let next = runs_on(&bench, 0, 2, limit);
    assert_eq!(next.levels, [TradingState::CancelOnly]);
}

/// Lowers the trading state; returns the engine's reply.
fn lower(bench: &mut TestBench, forget_losses: bool) -> Result<String, String> {
    let (level, reason) = (TradingState::Active, "checked".to_owned());
    bench.handle_event(&Event::Operator(Command::Lower {
        level,
        reason,
        forget_losses,
    }));
    let answers = bench
        .notifications
        .iter()
        .rev()
        .find_map(|notification| match notification {
            Notification::CommandAccepted { detail, .. } => Some(Ok(detail.clone())),
            Notification::CommandRefused { why, .. } => Some(Err(why.clone())),
            _ => None,
        });
    answers.unwrap()
}

#[test]
fn a_lowered_state_is_not_raised_again_by_earlier_losses() {
    for drawdown in [false, true] {
        let mut bench = bench(|c| {
            let loss = &mut c.markets[0].loss;
            let limit = if drawdown {
                &mut loss.drawdown_max
            } else {
                &mut loss.day_max
            };
            *limit = 10 * PER_TICK;
        });
        falls(&mut bench, 11);
        assert_eq!(bench.levels, [TradingState::CancelOnly]);
        let why = lower(&mut bench, false).unwrap_err();
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
            bench.stored.state,
            TradingState::CancelOnly,
            "nothing is lowered"
        );
        assert_eq!(lost(&bench)[if drawdown { 3 } else { 1 }], ticks(11));
        let done = lower(&mut bench, true).unwrap();
        assert!(
            done.contains("losses are reset") && done.contains("55 T1"),
            "{done}"
        );
        assert_eq!(bench.stored, Restrictions::default());
        assert_eq!(lost(&bench), [0; 4], "durable: nothing is lost any more");
        falls(&mut bench, 9);
        assert_eq!(
            bench.levels,
            [TradingState::CancelOnly, TradingState::Active],
            "counted from zero"
        );
        falls(&mut bench, 2);
        assert_eq!(bench.levels.len(), 3, "and reached again");
        assert_eq!(bench.stored.state, TradingState::CancelOnly);
    }
}

#[test]
fn losses_within_their_limits_are_kept_at_a_resume() {
    let mut bench = bench(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut bench, 9);
    let (level, reason) = (TradingState::CancelOnly, "a look".to_owned());
    bench.handle_event(&Event::Operator(Command::Raise { level, reason }));
    let done = lower(&mut bench, false).unwrap();
    assert!(!done.contains("losses"), "{done}");
    assert_eq!(bench.stored.state, TradingState::Active);
    falls(&mut bench, 2);
    assert_eq!(bench.stored.state, TradingState::CancelOnly, "eleven");
    // Losses from while the limit was exceeded are gone when the price is back.
    bench.depth = (9_990, 10_010);
    bench.run_ms(1_600);
    lower(&mut bench, false).unwrap();
    assert_eq!(bench.stored.state, TradingState::Active);
}

#[test]
fn a_trading_state_being_lowered_applies_until_that_is_stored() {
    let mut bench = bench(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut bench, 11);
    while !bench.cancels.is_empty() {
        bench.accept_cancel();
    }
    bench.store_waits = true;
    lower(&mut bench, true).unwrap();
    bench.handle_event(&Event::RestrictionsFailed(Restrictions::default()));
    bench.run_ms(5_000);
    assert_eq!(bench.stored, Restrictions::default(), "asked for again");
    assert!(bench.submits.is_empty(), "not stored yet");
    bench.store_waits = false;
    bench.handle_event(&Event::RestrictionsStored(Restrictions::default()));
    bench.until_a_submit_waits();
}

#[test]
fn a_trading_state_being_lowered_can_be_raised_meanwhile() {
    let mut bench = bench(|c| c.markets[0].loss.day_max = 10 * PER_TICK);
    falls(&mut bench, 11);
    bench.store_waits = true;
    lower(&mut bench, true).unwrap();
    let (level, reason) = (TradingState::CancelOnly, "no".to_owned());
    bench.handle_event(&Event::Operator(Command::Raise { level, reason }));
    bench.store_waits = false;
    bench.handle_event(&Event::RestrictionsStored(Restrictions::default()));
    assert_eq!(bench.stored.state, TradingState::CancelOnly);
    bench.run_ms(5_000);
    assert!(bench.submits.is_empty());
}

#[test]
fn pauses_that_ended_days_ago_are_removed() {
    let ended_pause = Pause {
        filter: Filter::market(MarketId(0)),
        since: ORIGIN.minus_ms(30 * 86_400_000),
        until: Some(ORIGIN.minus_ms(30 * 86_400_000 - 1_000)),
        cause: Control::LossHour.name().to_owned(),
    };
    let stored = Restrictions {
        pauses: vec![ended_pause; Restrictions::PAUSES_MAX],
        ..Restrictions::default()
    };
    let limit = |c: &mut EngineConfig| c.markets[0].loss.hour_max = 10 * PER_TICK;
    let mut config = config();
    config.risk.move_bps = 10_000;
    limit(&mut config);
    let mut bench = TestBench::with(&[BID], config, Vec::new());
    bench.starts_with(stored);
    bench.until_a_submit_waits();
    bench.accept();
    bench.run_ms(1_000);
    falls(&mut bench, 12);
    assert_eq!(
        bench.stored.state,
        TradingState::Active,
        "a pause, and no more"
    );
    assert_eq!(bench.stored.pauses.len(), 1);
}
