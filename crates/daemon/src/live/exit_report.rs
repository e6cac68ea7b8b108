//! The result of a run: every reason why it did not end well, as text and as an exit code.

use cambist_core::event::TradingState;
use cambist_report::Session;
use serde_json::{Value, json};

use crate::config::Daemon;
use crate::error_exit;
use crate::live::earlier_runs;
use crate::live::event_loop::{Ended, Left};
use cambist_host::exit::{Exit, Failure, with_failures};
use cambist_host::times;

/// All failures, the one that decides the exit code first. None means: it is proven that nothing rests, and the books
/// equal the venue's.
pub fn failures(ended: &Ended, session: &Session, daemon: &Daemon) -> Vec<Failure> {
    failures_at(ended, session, daemon, earlier_runs::now_s())
}

/// As [`failures`], at this Unix time.
fn failures_at(ended: &Ended, session: &Session, daemon: &Daemon, now_s: u64) -> Vec<Failure> {
    let mut failures = Vec::new();
    if ended.invariant_failed {
        let what = "an invariant was violated; its name is in the log";
        failures.push(Failure::new(Exit::Invariant, what));
    }
    if ended.level == TradingState::Halted {
        let path = daemon.source.path.display();
        let what = format!(
            "trading was halted; find the cause, then allow trading again: cambist resume --config {path} --reason TEXT"
        );
        failures.push(Failure::new(Exit::Latched, what));
    }
    if !ended.proven && ended.left.is_none() {
        failures.push(Failure::new(
            Exit::CheckFailed,
            unproven(session.left(), session.last_expiry_s(), daemon, now_s),
        ));
    }
    if !session.differences().is_empty() {
        failures.push(Failure::new(Exit::CheckFailed, different(session)));
    } else if ended.proven
        && let Some(what) = residual(session)
    {
        failures.push(Failure::new(Exit::CheckFailed, what));
    }
    if ended.store_lost {
        let what =
            "the store failed or was too slow; the next start reads what is missing from the venue";
        failures.push(Failure::new(Exit::CheckFailed, what));
    }
    failures
}

/// The result of a run, for clients that waited for its end.
pub fn reply(ended: &Ended, session: &Session, daemon: &Daemon) -> Value {
    let failures = failures(ended, session, daemon);
    let detail = match ended.left {
        Some(what) => left(what),
        None if ended.proven => "proven: none of our orders rests".to_owned(),
        None => String::new(),
    };
    let exit = failures.first().map_or(Exit::Done, |failure| failure.exit);
    let reply = json!({
        "done": failures.is_empty(),
        "detail": detail,
        "proven": ended.proven,
        "durable": null,
        "exit": exit.code(),
    });
    with_failures(reply, &failures)
}

/// The result of a run that ended with an error, for clients that ask for it.
pub fn failed(error: &anyhow::Error) -> Value {
    json!({
        "done": false,
        "detail": "",
        "proven": false,
        "durable": null,
        "error": format!("{error:#}"),
        "exit": error_exit::of(error).code(),
    })
}

/// The status of a run that has ended with this result, while its process goes on for other venues.
pub fn status_of_end(reply: &Value) -> Value {
    let outcome = ["error", "detail"].map(|key| reply[key].as_str().unwrap_or_default());
    let outcome = outcome.into_iter().find(|text| !text.is_empty());
    let text = format!(
        "the part of this venue has ended: {}",
        outcome.unwrap_or("its result is not known")
    );
    let exit = reply["exit"].as_u64().unwrap_or(0);
    json!({
        "state": "ended",
        "done": false,
        "ending": true,
        "error": text,
        "end": {
            "done": reply["done"],
            "proven": reply["proven"],
            "exit": exit,
            "text": text,
        },
    })
}

/// Describes orders left at the venue on purpose.
pub fn left(left: Left) -> String {
    let until = times::iso(left.until.as_s());
    match (left.orders, left.unknown) {
        (0, _) => "no own order is known to rest".to_owned(),
        (orders, 0) => format!("{orders} orders were left and may fill until {until}"),
        (orders, unknown) => format!(
            "{orders} orders were left and may fill until {until}; {unknown} of them are in an unknown state"
        ),
    }
}

fn unproven(left: u64, last_expiry_s: Option<u32>, daemon: &Daemon, now_s: u64) -> String {
    let within_s = daemon.drain_deadline_ms / 1_000;
    let orders = match left {
        0 => {
            return format!(
                "not proven within {within_s} s that nothing rests and that the books agree: the venue's lists of orders, or its balances, could not be read completely"
            );
        }
        1 => "1 order may be alive".to_owned(),
        many => format!("{many} orders may be alive"),
    };
    let until = match (left, last_expiry_s) {
        (0, _) | (_, None) => String::new(),
        (_, Some(expiry_s)) => {
            let dead_s = u64::from(expiry_s) + daemon.orders.grace_s;
            format!(", {}", earlier_runs::alive_until(dead_s, now_s, left > 1))
        }
    };
    format!("not proven within {within_s} s that nothing rests: {orders}{until}")
}

/// What the ledger and the last balances of the venue differ by, where they were not compared: a run that ends before it has
/// accounted for the orders of earlier runs.
fn residual(session: &Session) -> Option<String> {
    let residual = session.residual();
    let each = residual.iter().filter(|(_, units)| **units != 0);
    let each = each.map(|(token, units)| {
        let symbol = session.symbol(*token);
        let less = if *units > 0 { "less" } else { "more" };
        format!(
            "{} {symbol} {less}",
            session.whole(*token, units.saturating_abs(), 30)
        )
    });
    let each: Vec<_> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "the run ended before our books were compared with the venue's, which has {} than they: the next start compares them",
            each.join(", ")
        )
    })
}

fn different(session: &Session) -> String {
    let each = session.differences().iter().map(|(token, difference)| {
        let whole = |units| session.whole(*token, units, 30);
        let signed = |units: u128| whole(i128::try_from(units).unwrap_or(i128::MAX));
        let symbol = session.symbol(*token);
        let less = difference.unexplained() < 0;
        format!(
            "the venue has {} {symbol} {} ({} against {} here)",
            signed(difference.size()),
            if less { "less" } else { "more" },
            signed(difference.venue),
            whole(difference.ledger)
        )
    });
    let each: Vec<_> = each.collect();
    format!("our books differ from the venue's: {}", each.join("; "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use cambist_core::notification::{MarketStatus, Notification, Status};
    use cambist_core::{ClientOrderId, MarketId, MarketSpec, StrategyId, Time, TokenId, TokenSpec};

    use super::*;

    fn daemon() -> Daemon {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        Daemon::load(Path::new(path)).unwrap()
    }

    fn session() -> Session {
        let token = |id, symbol: &str, decimals| TokenSpec {
            id: TokenId(id),
            symbol: symbol.to_owned(),
            decimals,
            precision: 6,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        };
        let (eth, usdc) = (token(0, "ETH", 18), token(1, "USDC", 6));
        let market = MarketSpec::new(MarketId(0), "ETH-USDC", eth, usdc, 2, true);
        Session::new(&[market.unwrap()])
    }

    const GOOD: Ended = Ended {
        proven: true,
        level: TradingState::Active,
        invariant_failed: false,
        store_lost: false,
        left: None,
    };

    #[test]
    fn a_good_end_has_no_failure() {
        assert!(failures(&GOOD, &session(), &daemon()).is_empty());
    }

    #[test]
    fn an_end_without_proof_reports_how_many_orders_may_be_alive_until_when() {
        let mut session = session();
        let order = ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number: 1,
        };
        // 12:00:30, and three seconds of grace.
        session.recovered(order, 43_230, false);
        let market = MarketStatus {
            live: [2, 1],
            in_flight: 1,
            unknown: 2,
            cancelling: 1,
            ..MarketStatus::default()
        };
        let status = Status {
            markets: vec![market],
            ..Status::default()
        };
        session.observe(Time(0), &Notification::Status(Box::new(status)));
        let ended = Ended {
            proven: false,
            ..GOOD
        };
        let failures = failures_at(&ended, &session, &daemon(), 43_232);
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].exit, Exit::CheckFailed);
        assert_eq!(
            failures[0].message,
            "not proven within 25 s that nothing rests: 7 orders may be alive, \
             the last until 1970-01-01T12:00:33Z (expiry plus grace)"
        );
        // A time that is past is not the end: the venue did not prove it.
        let failures = failures_at(&ended, &session, &daemon(), 43_233);
        assert_eq!(
            failures[0].message,
            "not proven within 25 s that nothing rests: 7 orders may be alive, because the venue has not proven their end, \
             which the clock passed at 1970-01-01T12:00:33Z (expiry plus grace)"
        );
    }

    #[test]
    fn orders_left_on_purpose_are_reported_and_no_failure() {
        let ended = Ended {
            proven: false,
            left: Some(Left {
                orders: 3,
                unknown: 1,
                until: cambist_core::VenueTime::from_s(43_233),
            }),
            ..GOOD
        };
        assert!(failures(&ended, &session(), &daemon()).is_empty());
        assert_eq!(
            left(ended.left.unwrap()),
            "3 orders were left and may fill until 1970-01-01T12:00:33Z; 1 of them are in an unknown state"
        );
    }

    #[test]
    fn clients_that_waited_get_the_result() {
        let good = reply(&GOOD, &session(), &daemon());
        assert_eq!(good["detail"], "proven: none of our orders rests");
        assert_eq!(
            (&good["done"], &good["proven"], &good["exit"]),
            (&true.into(), &true.into(), &0.into())
        );
        let lost = Ended {
            proven: false,
            store_lost: true,
            ..GOOD
        };
        let bad = reply(&lost, &session(), &daemon());
        assert_eq!((&bad["done"], &bad["detail"]), (&false.into(), &"".into()));
        assert_eq!(bad["exit"], Exit::CheckFailed.code());
        let of = |orders, unknown| Left {
            orders,
            unknown,
            until: cambist_core::VenueTime::from_s(43_233),
        };
        let kept = Ended {
            proven: false,
            left: Some(of(2, 0)),
            ..GOOD
        };
        let text = "2 orders were left and may fill until 1970-01-01T12:00:33Z";
        assert_eq!(reply(&kept, &session(), &daemon())["detail"], text);
        assert_eq!(left(of(0, 0)), "no own order is known to rest");
    }

    #[test]
    fn the_status_of_an_end_has_its_outcome() {
        let good = status_of_end(&reply(&GOOD, &session(), &daemon()));
        let text = "the part of this venue has ended: proven: none of our orders rests";
        assert_eq!(
            good,
            json!({"state": "ended", "done": false, "ending": true, "error": text,
                "end": {"done": true, "proven": true, "exit": 0, "text": text}})
        );
        let lost = Ended {
            store_lost: true,
            ..GOOD
        };
        let lost = status_of_end(&reply(&lost, &session(), &daemon()));
        assert_eq!(
            (&lost["end"]["done"], &lost["end"]["exit"]),
            (&json!(false), &json!(1))
        );
        let why = lost["error"].as_str().unwrap();
        assert!(why.contains("ended: the store failed"), "{why}");
        let error = anyhow::Error::new(Failure::new(Exit::Refused, "a key was refused"));
        let refused = status_of_end(&failed(&error.context("the start")));
        assert_eq!(refused["end"]["exit"], 77);
        let why = refused["end"]["text"].as_str().unwrap();
        assert!(
            why.ends_with("ended: the start: a key was refused"),
            "{why}"
        );
        let unknown = status_of_end(&json!({}));
        assert!(unknown["error"].as_str().unwrap().ends_with("not known"));
    }

    #[test]
    fn an_end_whose_orders_are_not_known_is_unproven() {
        let ended = Ended {
            proven: false,
            ..GOOD
        };
        let text = |session: &Session| {
            failures_at(&ended, session, &daemon(), 0)[0]
                .message
                .clone()
        };
        let none = text(&session());
        assert!(
            none.ends_with(
                "the venue's lists of orders, or its balances, could not be read completely"
            ),
            "{none}"
        );
        let mut one = session();
        let order = ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number: 1,
        };
        one.recovered(order, 43_230, false);
        let one = text(&one);
        assert!(
            one.ends_with("nothing rests: 1 order may be alive, until 1970-01-01T12:00:33Z (expiry plus grace)")
                || one.ends_with("could not be read completely"),
            "{one}"
        );
    }

    /// A run that was drained before it was ready has compared nothing; what it has read decides.
    #[test]
    fn a_ledger_that_is_not_the_venues_is_a_failed_check_without_a_comparison() {
        let found = |venue: u128| {
            let mut session = session();
            let status = Status {
                ledger: [(TokenId(1), 2_500_000)].into(),
                venue: [(TokenId(1), venue)].into(),
                ..Status::default()
            };
            session.observe(Time(0), &Notification::Status(Box::new(status)));
            failures(&GOOD, &session, &daemon())
        };
        assert!(found(2_500_000).is_empty());
        let found = found(1_000_000);
        assert_eq!(found[0].exit, Exit::CheckFailed);
        assert_eq!(
            found[0].message,
            "the run ended before our books were compared with the venue's, which has 1.5 USDC less than they: the next start compares them"
        );
    }

    #[test]
    fn books_that_differ_are_a_failed_check_with_the_difference() {
        let mut session = session();
        let note = Notification::Mismatch {
            token: TokenId(1),
            ledger: 2_500_000,
            venue: 1_000_000,
        };
        session.observe(Time(0), &note);
        let found = failures(&GOOD, &session, &daemon());
        assert_eq!(found[0].exit, Exit::CheckFailed);
        assert_eq!(
            found[0].message,
            "our books differ from the venue's: the venue has 1.5 USDC less (1 against 2.5 here)"
        );
        let broken = Ended {
            invariant_failed: true,
            level: TradingState::Halted,
            ..GOOD
        };
        let found = failures(&broken, &session, &daemon());
        let exits: Vec<_> = found.iter().map(|failure| failure.exit).collect();
        let expected = [Exit::Invariant, Exit::Latched, Exit::CheckFailed];
        assert_eq!(exits, expected);
    }
}
