//! Operator commands to a running engine: pauses, trading states, flows, other limits, leaving.

use cambist_core::books::Entry;
use cambist_core::event::{Command, Event, Filter, Pause, Rate, Restrictions, TradingState};
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::{MarketId, Price, Side, StrategyId};

use crate::bench::{BASE, BOTH, LOT, ORIGIN, OTHER, QUOTE, TestBench, config, execute};

fn bids() -> Filter {
    Filter {
        side: Some(Side::Buy),
        ..Filter::market(MarketId(0))
    }
}

fn reason() -> String {
    "because".to_owned()
}

fn raise(bench: &mut TestBench, level: TradingState) -> Result<String, String> {
    let reason = reason();
    execute(bench, Command::Raise { level, reason })
}

fn lower(bench: &mut TestBench, level: TradingState) -> Result<String, String> {
    let reason = reason();
    execute(
        bench,
        Command::Lower {
            level,
            reason,
            forget_losses: false,
        },
    )
}

fn quoting() -> TestBench {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    bench
}

/// What is on disk after a failed write is not known, so that this process orders nothing more, whatever is commanded.
#[test]
fn a_store_that_lost_writes_is_resumed_by_a_restart_only() {
    let mut bench = TestBench::new(&BOTH);
    bench.store_works = false;
    bench.run_ms(3_000);
    assert_eq!(bench.levels.last(), Some(&TradingState::CancelOnly));
    let refused = lower(&mut bench, TradingState::Active).unwrap_err();
    assert!(refused.contains("restart the daemon"), "{refused}");
    bench.store_works = true;
    assert!(lower(&mut bench, TradingState::Active).is_err());
}

#[test]
fn a_pause_needs_a_reason() {
    let mut bench = quoting();
    let pause = Command::Pause {
        filter: bids(),
        reason: " ".to_owned(),
    };
    assert!(execute(&mut bench, pause).is_err());
}

#[test]
fn one_side_is_paused_until_an_operator_lifts_it() {
    let mut bench = quoting();
    let (filter, reason) = (bids(), reason());
    execute(
        &mut bench,
        Command::Pause {
            filter,
            reason: reason.clone(),
        },
    )
    .unwrap();
    bench.run_ms(600);
    assert_eq!(bench.cancels.len(), 1);
    bench.accept_cancel();
    bench.run_ms(30_000);
    while !bench.submits.is_empty() {
        let id = bench.accept();
        assert_eq!(
            bench.sealed[&id].1.side,
            Side::Sell,
            "only asks are refreshed"
        );
    }
    assert!(
        execute(
            &mut bench,
            Command::Unpause {
                filter,
                reason: String::new()
            }
        )
        .is_err()
    );
    execute(&mut bench, Command::Unpause { filter, reason }).unwrap();
    bench.run_ms(1_000);
    let sides = |bench: &TestBench| bench.sealed[&bench.submits[0].1].1.side;
    assert_eq!(sides(&bench), Side::Buy);
}

#[test]
fn a_pause_forbids_before_it_is_stored_and_is_lifted_only_after() {
    let mut bench = quoting();
    bench.store_waits = true;
    let (filter, reason) = (Filter::ALL, reason());
    execute(
        &mut bench,
        Command::Pause {
            filter,
            reason: reason.clone(),
        },
    )
    .unwrap();
    bench.run_ms(600);
    assert_eq!(bench.cancels.len(), 2, "at once");
    let pause = Pause {
        filter,
        since: ORIGIN,
        until: None,
        cause: reason.clone(),
    };
    let held = Restrictions {
        state: TradingState::Active,
        pauses: vec![pause],
    };
    bench.handle_event(&Event::RestrictionsStored(held));
    bench.accept_cancel();
    bench.accept_cancel();
    bench.run_ms(2_000);
    let made = bench.sealed.len() + bench.sealing.len();
    execute(&mut bench, Command::Unpause { filter, reason }).unwrap();
    bench.run_ms(2_000);
    assert_eq!(
        bench.sealed.len() + bench.sealing.len(),
        made,
        "not stored yet"
    );
    bench.handle_event(&Event::RestrictionsStored(Restrictions::default()));
    bench.run_ms(1_000);
    assert!(!bench.sealing.is_empty(), "stored: it quotes again");
}

#[test]
fn changes_during_a_write_are_pending_until_written() {
    let mut bench = quoting();
    assert!(!bench.engine.restrictions_are_pending());
    bench.store_waits = true;
    let raise = |level| Command::Raise {
        level,
        reason: reason(),
    };
    let (filter, reason) = (Filter::ALL, reason());
    execute(&mut bench, Command::Pause { filter, reason }).unwrap();
    let paused = bench.writing.take().unwrap();
    execute(&mut bench, raise(TradingState::CancelOnly)).unwrap();
    assert!(bench.writing.is_none(), "one write at a time");
    bench.handle_event(&Event::RestrictionsStored(paused));
    assert!(
        bench.engine.restrictions_are_pending(),
        "the level is not written"
    );
    let raised = bench.writing.take().unwrap();
    bench.handle_event(&Event::RestrictionsStored(raised));
    assert!(!bench.engine.restrictions_are_pending());
}

#[test]
fn a_second_pause_keeps_both_reasons() {
    let mut bench = quoting();
    let filter = bids();
    let pause = |reason: &str| Command::Pause {
        filter,
        reason: reason.to_owned(),
    };
    let lift = |filter| Command::Unpause {
        filter,
        reason: reason(),
    };
    assert!(
        execute(&mut bench, pause("news"))
            .unwrap()
            .contains("until cambist resume")
    );
    let second = execute(&mut bench, pause("lunch")).unwrap();
    assert!(
        second.contains("already (news)") && second.contains("recorded as well"),
        "{second}"
    );
    let third = execute(&mut bench, pause("news")).unwrap();
    assert_eq!(third, "paused already (news; lunch)");
    let held = bench.stored.pauses.iter();
    let reasons: Vec<_> = held.map(|pause| pause.cause.as_str()).collect();
    assert_eq!(reasons, ["news", "lunch"]);
    let wider = execute(&mut bench, lift(Filter::ALL)).unwrap();
    assert!(wider.starts_with("2 pauses end"), "{wider}");
    assert!(bench.stored.pauses.is_empty());
    let nothing = execute(&mut bench, lift(filter)).unwrap();
    assert!(nothing.starts_with("nothing to lift"), "{nothing}");
    let writes = bench.levels.len();
    let lower = Command::Lower {
        level: TradingState::Active,
        reason: reason(),
        forget_losses: false,
    };
    let nothing = execute(&mut bench, lower).unwrap();
    assert_eq!(nothing, "nothing to lower: the trading state is trading");
    assert_eq!(bench.levels.len(), writes, "nothing is written");
}

#[test]
fn a_drain_replies_what_it_cancels() {
    let mut bench = quoting();
    let begun = execute(&mut bench, Command::Drain).unwrap();
    assert!(begun.contains("2 orders may be alive"), "{begun}");
    assert!(begun.contains("0 joins and exits"), "{begun}");
}

#[test]
fn a_filter_with_an_unknown_name_is_refused() {
    let mut bench = quoting();
    for filter in [
        Filter::market(MarketId(7)),
        Filter {
            strategy: Some(StrategyId(9)),
            ..Filter::ALL
        },
    ] {
        assert!(
            execute(
                &mut bench,
                Command::Pause {
                    filter,
                    reason: reason()
                }
            )
            .is_err()
        );
    }
    assert!(bench.levels.is_empty());
}

#[test]
fn a_trading_state_is_raised_without_and_lowered_with_a_reason() {
    let mut bench = quoting();
    let level = TradingState::CancelOnly;
    raise(&mut bench, level).unwrap();
    raise(&mut bench, level).unwrap();
    assert_eq!(bench.levels, [level], "requested twice, stored once");
    let back = TradingState::Active;
    assert!(raise(&mut bench, back).is_err());
    assert!(
        execute(
            &mut bench,
            Command::Lower {
                level: back,
                reason: " ".into(),
                forget_losses: false,
            }
        )
        .is_err()
    );
    bench.run_ms(600);
    bench.accept_cancel();
    bench.accept_cancel();
    bench.run_ms(3_000);
    assert!(bench.submits.is_empty());
    lower(&mut bench, back).unwrap();
    bench.run_ms(1_000);
    assert_eq!(bench.submits.len(), 2, "it quotes again");
}

#[test]
fn a_halted_engine_ends_and_is_not_lowered() {
    let mut bench = quoting();
    let level = TradingState::Halted;
    raise(&mut bench, level).unwrap();
    let back = TradingState::Active;
    assert!(lower(&mut bench, back).is_err());
}

#[test]
fn a_trading_state_whose_write_fails_restricts_and_is_written_again() {
    let mut bench = quoting();
    bench.store_works = false;
    let level = TradingState::CancelOnly;
    raise(&mut bench, level).unwrap();
    bench.run_ms(600);
    assert_eq!(bench.cancels.len(), 2);
    bench.run_ms(4_000);
    assert!(bench.levels.len() >= 3, "{:?}", bench.levels);
    bench.store_works = true;
    bench.run_ms(10_000);
    let tried = bench.levels.len();
    bench.run_ms(120_000);
    assert_eq!(bench.levels.len(), tried, "stored: no more tries");
}

#[test]
fn a_deposit_is_a_difference_until_it_is_adopted() {
    let mut bench = quoting();
    bench.balances.1 += 1_234;
    bench.run_ms(3_000);
    let differs = |bench: &TestBench| {
        let last = bench.notifications.iter().rev();
        last.clone()
            .find(|n| matches!(n, Notification::Mismatch { .. } | Notification::Balanced))
            .is_some_and(|n| matches!(n, Notification::Mismatch { .. }))
    };
    assert!(differs(&bench));
    // The same amount is paid into the other token.
    let (token, amount) = (OTHER, 1_234);
    let given = reason();
    execute(
        &mut bench,
        Command::Adopt {
            token,
            amount,
            reason: given,
        },
    )
    .unwrap();
    bench.run_ms(3_000);
    assert!(differs(&bench), "one of two is explained");
    let (token, amount) = (QUOTE, 1_234);
    assert!(
        execute(
            &mut bench,
            Command::Adopt {
                token,
                amount,
                reason: String::new()
            }
        )
        .is_err()
    );
    execute(
        &mut bench,
        Command::Adopt {
            token,
            amount,
            reason: reason(),
        },
    )
    .unwrap();
    bench.run_ms(3_000);
    assert!(!differs(&bench), "the residual is zero again");
    let (token, amount) = (BASE, -500_000_001);
    assert!(
        execute(
            &mut bench,
            Command::Adopt {
                token,
                amount,
                reason: reason()
            }
        )
        .is_err()
    );
}

#[test]
fn an_adopted_withdrawal_is_no_loss() {
    let mut config = config();
    config.markets[0].loss.total_max = 0;
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    bench.until_a_submit_waits();
    bench.accept_all();
    bench.run_ms(2_000);
    bench.balances.0 -= 1_000_000;
    let (token, amount) = (BASE, -1_000_000);
    execute(
        &mut bench,
        Command::Adopt {
            token,
            amount,
            reason: reason(),
        },
    )
    .unwrap();
    bench.run_ms(3_000);
    assert!(bench.levels.is_empty());
}

#[test]
fn an_announced_flow_is_booked_once_and_stops_nothing() {
    let mut bench = quoting();
    bench.accept_all();
    bench.run_ms(2_000);
    let adopted = |bench: &TestBench| {
        let notifications = bench.notifications.iter();
        notifications
            .filter(|n| matches!(n, Notification::Adopted { .. }))
            .count()
    };
    let mismatches = |bench: &TestBench| {
        let notifications = bench.notifications.iter();
        notifications
            .filter(|n| matches!(n, Notification::Mismatch { .. }))
            .count()
    };
    let expect = |amount| Command::Expect {
        token: BASE,
        amount,
        reason: "withdrawal".to_owned(),
    };
    for _ in 0..2 {
        execute(&mut bench, expect(-1_000_000)).unwrap();
    }
    assert!(execute(&mut bench, expect(-1_000_001)).is_err());
    // It is not booked before it happens.
    bench.run_ms(3_000);
    assert_eq!((adopted(&bench), mismatches(&bench)), (0, 0));
    bench.balances.0 -= 1_000_000;
    bench.run_ms(3_000);
    assert_eq!((adopted(&bench), mismatches(&bench)), (1, 0));
    // The same amount again was not announced.
    bench.balances.0 -= 1_000_000;
    bench.run_ms(3_000);
    assert_eq!(adopted(&bench), 1);
    assert!(mismatches(&bench) > 0);
    // An announcement explains a difference that was found before it.
    execute(&mut bench, expect(-1_000_000)).unwrap();
    bench.run_ms(3_000);
    assert_eq!(adopted(&bench), 2);
    let gone = Command::ExpectNoMore {
        reason: "withdrawal".to_owned(),
    };
    execute(&mut bench, expect(-1_000_000)).unwrap();
    execute(&mut bench, gone).unwrap();
    bench.balances.0 -= 1_000_000;
    bench.run_ms(3_000);
    assert_eq!(adopted(&bench), 2);
}

#[test]
fn slot_numbers_taken_beside_the_engine_are_odd_and_durable() {
    let mut bench = quoting();
    let mut take = || {
        let take = Command::TakeSlot { token: BASE };
        let number: u32 = execute(&mut bench, take).unwrap().parse().unwrap();
        let booked = bench.bookings.iter().flat_map(|booking| &booking.entries);
        let taken = Entry::SlotTaken {
            token: BASE,
            number,
        };
        assert_eq!(booked.filter(|entry| **entry == taken).count(), 1);
        number
    };
    let (first, second) = (take(), take());
    assert!(first % 2 == 1 && second % 2 == 1 && second > first);
}

#[test]
fn tighter_limits_are_applied_and_looser_ones_need_permission() {
    let mut bench = quoting();
    let mut tight = config();
    tight.markets[0].collar_bps = 400;
    tight.poll.depth_ms = 250;
    let reload = |config: &cambist_core::config::EngineConfig, allow_loosening| {
        let config = Box::new(config.clone());
        Command::Reconfigure {
            config,
            parameters: Vec::new(),
            reason: String::new(),
            allow_loosening,
        }
    };
    execute(&mut bench, reload(&tight, false)).unwrap();
    let mut loose = tight.clone();
    loose.markets[0].collar_bps = 401;
    loose.markets[0].order_value_max += 1_500_000;
    loose.markets[0].price_min = Price(loose.markets[0].price_min.0 - 1);
    loose.ttl_ms += 1_500;
    let why = execute(&mut bench, reload(&loose, false)).unwrap_err();
    // With the names and units of the file.
    for reported in [
        "T0-T1 collar_bps 400 → 401",
        "T0-T1 price_floor 50 T1 → 49.99 T1",
        "T0-T1 order_value_max 10000 T1 → 10001.5 T1",
        "orders.ttl_s 20 → 21.5",
    ] {
        assert!(why.contains(reported), "no {reported} in {why}");
    }
    execute(&mut bench, reload(&loose, true)).unwrap();
    loose.markets.push(loose.markets[0].clone());
    assert!(
        execute(&mut bench, reload(&loose, true)).is_err(),
        "markets stay"
    );
}

#[test]
fn leaving_cancels_nothing_and_reports_what_may_rest() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept();
    let (request, unknown) = bench.submits.pop_front().unwrap();
    execute(&mut bench, Command::Leave).unwrap();
    bench.run_ms(500);
    assert_eq!(bench.finished, None, "an answer is outstanding");
    bench.answer(request, Outcome::Unknown(UnknownCause::Timeout));
    assert_eq!(bench.finished, Some(false));
    assert!(bench.cancels.is_empty());
    let last = bench.bookings.last().expect("positions are stored");
    assert!(last.positions.contains_key(&MarketId(0)), "{last:?}");
    let dead = u64::from(bench.sealed[&unknown].1.accepted_until_s) * 1_000 + 3_000;
    assert!(bench.notifications.iter().any(|notification| matches!(
        notification,
        Notification::Left { orders: 2, unknown: 1, until } if until.0 == dead
    )));
}

/// The next run measures losses from there.
#[test]
fn a_daemon_that_leaves_stores_the_price_of_its_end() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept();
    let (request, _) = bench.submits.pop_front().unwrap();
    bench.run_ms(3_000);
    execute(&mut bench, Command::Leave).unwrap();
    bench.depth = (9_980, 10_000);
    bench.run_ms(1_000);
    assert_eq!(bench.finished, None, "an answer is outstanding");
    bench.answer(request, Outcome::Unknown(UnknownCause::Timeout));
    assert_eq!(bench.finished, Some(false));
    let position = &bench.books.positions[&MarketId(0)];
    let mid = position.baselines.as_ref().map(|of| of.mid);
    let (quote, base) = (19_980, 2 * LOT);
    assert_eq!(mid, Some(Rate { quote, base }));
}

#[test]
fn stored_pauses_apply_after_a_restart() {
    let mut bench = quoting();
    let (filter, reason) = (bids(), reason());
    execute(
        &mut bench,
        Command::Pause {
            filter,
            reason: reason.clone(),
        },
    )
    .unwrap();
    let pause = Pause {
        filter,
        since: ORIGIN,
        until: None,
        cause: reason,
    };
    let mut again = TestBench::new(&BOTH);
    again.starts_with(Restrictions {
        state: TradingState::Active,
        pauses: vec![pause],
    });
    again.run_ms(3_000);
    assert_eq!(again.submits.len(), 1);
    let id = again.accept();
    assert_eq!(again.sealed[&id].1.side, Side::Sell);
    assert!(again.notifications.iter().any(|n| matches!(
        n,
        Notification::RiskRefused {
            control: Control::Paused,
            ..
        }
    )));
    again.show(id, OrderStatus::Processing, 0);
}

/// A pause that a loss has set ends by itself: with the same filter, the operator's is another one, and stays.
#[test]
fn a_pause_that_ends_by_itself_is_none_of_the_operator() {
    let mut bench = TestBench::new(&BOTH);
    let (filter, reason) = (bids(), reason());
    bench.starts_with(Restrictions {
        pauses: vec![Pause {
            filter,
            since: ORIGIN,
            until: Some(ORIGIN.plus_ms(10_000)),
            cause: "loss".to_owned(),
        }],
        ..Restrictions::default()
    });
    bench.run_ms(1_000);
    let reply = execute(&mut bench, Command::Pause { filter, reason });
    assert_eq!(
        reply.as_deref(),
        Ok("paused until cambist resume lifts the pause")
    );
    bench.run_ms(20_000);
    let mut sides = bench.sealed.values().map(|(_, order)| order.side);
    assert!(sides.all(|side| side == Side::Sell));
}
