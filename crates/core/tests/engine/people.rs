//! Operator commands to a running engine: pauses, trading states, flows, other limits, leaving.

use cambist_core::event::{Command, Event, Filter, Pause, Restrictions, TradingState};
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::{MarketId, Price, Side, StrategyId};

use crate::desk::{BASE, BOTH, Desk, ORIGIN, OTHER, QUOTE, config};

fn tell(desk: &mut Desk, command: Command) -> Result<String, String> {
    desk.hear(&Event::Operator(command));
    let answer = desk.notes.iter().rev().find_map(|note| match note {
        Notification::CommandTaken { detail, .. } => Some(Ok(detail.clone())),
        Notification::CommandRefused { why, .. } => Some(Err(why.clone())),
        _ => None,
    });
    answer.expect("every command is answered")
}

fn bids() -> Filter {
    Filter {
        side: Some(Side::Buy),
        ..Filter::market(MarketId(0))
    }
}

fn reason() -> String {
    "because".to_owned()
}

fn raise(desk: &mut Desk, level: TradingState) -> Result<String, String> {
    let reason = reason();
    tell(desk, Command::Raise { level, reason })
}

fn lower(desk: &mut Desk, level: TradingState) -> Result<String, String> {
    let reason = reason();
    tell(
        desk,
        Command::Lower {
            level,
            reason,
            forget_losses: false,
        },
    )
}

fn quoting() -> Desk {
    let mut desk = Desk::ready(&BOTH);
    desk.accept_all();
    desk
}

#[test]
fn one_side_is_paused_until_an_operator_lifts_it() {
    let mut desk = quoting();
    let (filter, reason) = (bids(), reason());
    tell(
        &mut desk,
        Command::Pause {
            filter,
            reason: reason.clone(),
        },
    )
    .unwrap();
    desk.run_ms(600);
    assert_eq!(desk.cancels.len(), 1);
    desk.accept_cancel();
    desk.run_ms(30_000);
    while !desk.submits.is_empty() {
        let id = desk.accept();
        assert_eq!(
            desk.sealed[&id].1.side,
            Side::Sell,
            "only asks are refreshed"
        );
    }
    assert!(
        tell(
            &mut desk,
            Command::Unpause {
                filter,
                reason: String::new()
            }
        )
        .is_err()
    );
    tell(&mut desk, Command::Unpause { filter, reason }).unwrap();
    desk.run_ms(1_000);
    let sides = |desk: &Desk| desk.sealed[&desk.submits[0].1].1.side;
    assert_eq!(sides(&desk), Side::Buy);
}

#[test]
fn a_pause_forbids_before_it_is_stored_and_is_lifted_only_after() {
    let mut desk = quoting();
    desk.store_waits = true;
    let (filter, reason) = (Filter::ALL, reason());
    tell(
        &mut desk,
        Command::Pause {
            filter,
            reason: reason.clone(),
        },
    )
    .unwrap();
    desk.run_ms(600);
    assert_eq!(desk.cancels.len(), 2, "at once");
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
    desk.hear(&Event::RestrictionsStored(held));
    desk.accept_cancel();
    desk.accept_cancel();
    desk.run_ms(2_000);
    let made = desk.sealed.len() + desk.sealing.len();
    tell(&mut desk, Command::Unpause { filter, reason }).unwrap();
    desk.run_ms(2_000);
    assert_eq!(
        desk.sealed.len() + desk.sealing.len(),
        made,
        "not stored yet"
    );
    desk.hear(&Event::RestrictionsStored(Restrictions::default()));
    desk.run_ms(1_000);
    assert!(!desk.sealing.is_empty(), "stored: it quotes again");
}

#[test]
fn changes_during_a_write_are_pending_until_written() {
    let mut desk = quoting();
    assert!(!desk.engine.levels_are_pending());
    desk.store_waits = true;
    let raise = |level| Command::Raise {
        level,
        reason: reason(),
    };
    let (filter, reason) = (Filter::ALL, reason());
    tell(&mut desk, Command::Pause { filter, reason }).unwrap();
    let paused = desk.writing.take().unwrap();
    tell(&mut desk, raise(TradingState::CancelOnly)).unwrap();
    assert!(desk.writing.is_none(), "one write at a time");
    desk.hear(&Event::RestrictionsStored(paused));
    assert!(desk.engine.levels_are_pending(), "the level is not written");
    let raised = desk.writing.take().unwrap();
    desk.hear(&Event::RestrictionsStored(raised));
    assert!(!desk.engine.levels_are_pending());
}

#[test]
fn a_second_pause_keeps_both_reasons() {
    let mut desk = quoting();
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
        tell(&mut desk, pause("news"))
            .unwrap()
            .contains("until cambist resume")
    );
    let second = tell(&mut desk, pause("lunch")).unwrap();
    assert!(
        second.contains("already (news)") && second.contains("recorded as well"),
        "{second}"
    );
    let third = tell(&mut desk, pause("news")).unwrap();
    assert_eq!(third, "paused already (news; lunch)");
    let held = desk.stored.pauses.iter();
    let reasons: Vec<_> = held.map(|pause| pause.cause.as_str()).collect();
    assert_eq!(reasons, ["news", "lunch"]);
    let wider = tell(&mut desk, lift(Filter::ALL)).unwrap();
    assert!(wider.starts_with("2 pauses end"), "{wider}");
    assert!(desk.stored.pauses.is_empty());
    let nothing = tell(&mut desk, lift(filter)).unwrap();
    assert!(nothing.starts_with("nothing to lift"), "{nothing}");
    let writes = desk.levels.len();
    let lower = Command::Lower {
        level: TradingState::Active,
        reason: reason(),
        forget_losses: false,
    };
    let nothing = tell(&mut desk, lower).unwrap();
    assert_eq!(nothing, "nothing to lower: the trading state is trading");
    assert_eq!(desk.levels.len(), writes, "nothing is written");
}

#[test]
fn a_drain_replies_what_it_cancels() {
    let mut desk = quoting();
    let begun = tell(&mut desk, Command::Drain).unwrap();
    assert!(begun.contains("2 orders may be alive"), "{begun}");
    assert!(begun.contains("0 joins and exits"), "{begun}");
}

#[test]
fn a_filter_with_an_unknown_name_is_refused() {
    let mut desk = quoting();
    for filter in [
        Filter::market(MarketId(7)),
        Filter {
            strategy: Some(StrategyId(9)),
            ..Filter::ALL
        },
    ] {
        assert!(
            tell(
                &mut desk,
                Command::Pause {
                    filter,
                    reason: reason()
                }
            )
            .is_err()
        );
    }
    assert!(desk.levels.is_empty());
}

#[test]
fn a_trading_state_is_raised_without_and_lowered_with_a_reason() {
    let mut desk = quoting();
    let level = TradingState::CancelOnly;
    raise(&mut desk, level).unwrap();
    raise(&mut desk, level).unwrap();
    assert_eq!(desk.levels, [level], "requested twice, stored once");
    let back = TradingState::Active;
    assert!(raise(&mut desk, back).is_err());
    assert!(
        tell(
            &mut desk,
            Command::Lower {
                level: back,
                reason: " ".into(),
                forget_losses: false,
            }
        )
        .is_err()
    );
    desk.run_ms(600);
    desk.accept_cancel();
    desk.accept_cancel();
    desk.run_ms(3_000);
    assert!(desk.submits.is_empty());
    lower(&mut desk, back).unwrap();
    desk.run_ms(1_000);
    assert_eq!(desk.submits.len(), 2, "it quotes again");
}

#[test]
fn a_halted_engine_ends_and_is_not_lowered() {
    let mut desk = quoting();
    let level = TradingState::Halted;
    raise(&mut desk, level).unwrap();
    let back = TradingState::Active;
    assert!(lower(&mut desk, back).is_err());
}

#[test]
fn a_trading_state_whose_write_fails_restricts_and_is_written_again() {
    let mut desk = quoting();
    desk.store_works = false;
    let level = TradingState::CancelOnly;
    raise(&mut desk, level).unwrap();
    desk.run_ms(600);
    assert_eq!(desk.cancels.len(), 2);
    desk.run_ms(4_000);
    assert!(desk.levels.len() >= 3, "{:?}", desk.levels);
    desk.store_works = true;
    desk.run_ms(10_000);
    let tried = desk.levels.len();
    desk.run_ms(120_000);
    assert_eq!(desk.levels.len(), tried, "stored: no more tries");
}

#[test]
fn a_deposit_is_a_difference_until_it_is_adopted() {
    let mut desk = quoting();
    desk.balances.1 += 1_234;
    desk.run_ms(3_000);
    let differs = |desk: &Desk| {
        let last = desk.notes.iter().rev();
        last.clone()
            .find(|n| matches!(n, Notification::Mismatch { .. } | Notification::Balanced))
            .is_some_and(|n| matches!(n, Notification::Mismatch { .. }))
    };
    assert!(differs(&desk));
    // The same amount is paid into the other token.
    let (token, amount) = (OTHER, 1_234);
    let given = reason();
    tell(
        &mut desk,
        Command::Adopt {
            token,
            amount,
            reason: given,
        },
    )
    .unwrap();
    desk.run_ms(3_000);
    assert!(differs(&desk), "one of two is explained");
    let (token, amount) = (QUOTE, 1_234);
    assert!(
        tell(
            &mut desk,
            Command::Adopt {
                token,
                amount,
                reason: String::new()
            }
        )
        .is_err()
    );
    tell(
        &mut desk,
        Command::Adopt {
            token,
            amount,
            reason: reason(),
        },
    )
    .unwrap();
    desk.run_ms(3_000);
    assert!(!differs(&desk), "the residual is zero again");
    let (token, amount) = (BASE, -500_000_001);
    assert!(
        tell(
            &mut desk,
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
    let mut desk = Desk::with(&BOTH, config, Vec::new());
    desk.until_a_submit_waits();
    desk.accept_all();
    desk.run_ms(2_000);
    desk.balances.0 -= 1_000_000;
    let (token, amount) = (BASE, -1_000_000);
    tell(
        &mut desk,
        Command::Adopt {
            token,
            amount,
            reason: reason(),
        },
    )
    .unwrap();
    desk.run_ms(3_000);
    assert!(desk.levels.is_empty());
}

#[test]
fn tighter_limits_are_applied_and_looser_ones_need_permission() {
    let mut desk = quoting();
    let mut tight = config();
    tight.markets[0].collar_bps = 400;
    tight.poll.depth_ms = 250;
    let reload = |config: &cambist_core::config::EngineConfig, allow_loosening| {
        let config = Box::new(config.clone());
        Command::Reconfigure {
            config,
            allow_loosening,
        }
    };
    tell(&mut desk, reload(&tight, false)).unwrap();
    let mut loose = tight.clone();
    loose.markets[0].collar_bps = 401;
    loose.markets[0].order_value_max += 1_500_000;
    loose.markets[0].price_min = Price(loose.markets[0].price_min.0 - 1);
    loose.ttl_ms += 1_500;
    let why = tell(&mut desk, reload(&loose, false)).unwrap_err();
    // With the names and units of the file.
    for told in [
        "T0-T1 collar_bps 400 → 401",
        "T0-T1 price_floor 50 T1 → 49.99 T1",
        "T0-T1 order_value_max 10000 T1 → 10001.5 T1",
        "orders.ttl_s 20 → 21.5",
    ] {
        assert!(why.contains(told), "no {told} in {why}");
    }
    tell(&mut desk, reload(&loose, true)).unwrap();
    loose.markets.push(loose.markets[0].clone());
    assert!(
        tell(&mut desk, reload(&loose, true)).is_err(),
        "markets stay"
    );
}

#[test]
fn leaving_cancels_nothing_and_reports_what_may_rest() {
    let mut desk = Desk::ready(&BOTH);
    desk.accept();
    let (request, unknown) = desk.submits.pop_front().unwrap();
    tell(&mut desk, Command::Leave).unwrap();
    desk.run_ms(500);
    assert_eq!(desk.finished, None, "an answer is outstanding");
    desk.answer(request, Outcome::Unknown(UnknownCause::Timeout));
    assert_eq!(desk.finished, Some(false));
    assert!(desk.cancels.is_empty());
    let dead = u64::from(desk.sealed[&unknown].1.accepted_until_s) * 1_000 + 3_000;
    assert!(desk.notes.iter().any(|note| matches!(
        note,
        Notification::Left { orders: 2, unknown: 1, until } if until.0 == dead
    )));
}

#[test]
fn stored_pauses_apply_after_a_restart() {
    let mut desk = quoting();
    let (filter, reason) = (bids(), reason());
    tell(
        &mut desk,
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
    let mut again = Desk::new(&BOTH);
    again.starts_with(Restrictions {
        state: TradingState::Active,
        pauses: vec![pause],
    });
    again.run_ms(3_000);
    assert_eq!(again.submits.len(), 1);
    let id = again.accept();
    assert_eq!(again.sealed[&id].1.side, Side::Sell);
    assert!(again.notes.iter().any(|n| matches!(
        n,
        Notification::RiskRefused {
            control: Control::Paused,
            ..
        }
    )));
    again.show(id, OrderStatus::Processing, 0);
}
