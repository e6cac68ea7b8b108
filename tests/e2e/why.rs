//! `cambist why`: every order that was made has a reason for its beginning and for its end, from the recording.

use std::collections::BTreeSet;
use std::time::Duration;

use cambist_core::Side;
use serde_json::Value;

use crate::support::stage::{lively, quick};
use crate::support::{Edit, Stage, until};

const SOON: Duration = Duration::from_secs(40);

#[test]
fn every_order_has_its_reasons_while_the_daemon_runs_and_after() {
    let stage = Stage::open("why", lively);
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        file.put("market.0.price_tolerance_bps", 10);
    });
    let mut daemon = stage.run("daemon");
    let sides = |side: Side| {
        let books = stage.books();
        let of_side = books.orders.into_iter().filter(|order| order.side == side);
        of_side.collect::<Vec<_>>()
    };
    let open = |side| {
        let orders = sides(side);
        orders
            .iter()
            .filter(|order| !order.status.is_final())
            .count()
    };
    // Quotes move with the market: some orders have been replaced.
    until(SOON, "orders on both sides, and earlier ones", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let both = [Side::Buy, Side::Sell];
        both.iter()
            .all(|side| sides(*side).len() >= 4 && open(*side) > 0)
            .then_some(())
    });
    let made = |side| -> Vec<String> {
        let ids = sides(side).into_iter().filter_map(|order| order.client_id);
        let mut ids: Vec<_> = ids.collect();
        ids.sort_by_key(|id| id.number);
        ids.iter().map(ToString::to_string).collect()
    };
    let why = |id: &str| {
        let (code, page, log) = stage.command(&format!("why {id}"));
        assert_eq!(code, 0, "{id}: {page} {log}");
        assert_eq!(page["order"], id);
        let same = (&page["same_build"], &page["first_difference"]);
        assert_eq!(same, (&true.into(), &Value::Null), "{page}");
        page
    };
    let names = |page: &Value| -> Vec<String> {
        let steps = page["steps"].as_array().unwrap().iter();
        // A decision may come before what it decided was stored.
        let made = steps.filter(|step| step["what"] != "kept");
        made.map(|step| step["what"].as_str().unwrap().to_owned())
            .collect()
    };
    // While the daemon runs: what it made first is on the recording.
    let page = why(&made(Side::Buy)[0]);
    let steps = page["steps"].as_array().unwrap();
    let of = |what: &str| steps.iter().find(|step| step["what"] == what);
    assert_eq!(names(&page)[..2], ["placed", "stored"], "{page}");
    let placed = of("placed").unwrap();
    assert!(placed["why"].as_str().unwrap().contains("mid "), "{placed}");
    assert_eq!(placed["wanted"]["price"], page["price"], "{page}");
    // More than once, because the market may have moved all bids at the moment of a pause.
    for pause in 0..3 {
        let part = "--market ETH-USDC --side buy --reason news";
        if pause > 0 {
            let (code, answer, _) = stage.command(&format!("resume {part}"));
            assert_eq!(code, 0, "{answer}");
            until(SOON, "bids", || (open(Side::Buy) > 0).then_some(()));
        }
        let (code, answer, _) = stage.command(&format!("pause {part}"));
        assert_eq!(code, 0, "{answer}");
        until(SOON, "no bids", || (open(Side::Buy) == 0).then_some(()));
    }
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let mut causes = BTreeSet::new();
    for id in [made(Side::Buy), made(Side::Sell)].concat() {
        let page = why(&id);
        assert_eq!(page["ended"], true, "{page}");
        let names = names(&page);
        assert_eq!(names[0], "placed", "{page}");
        assert_eq!(names.last().unwrap(), "ended", "{page}");
        // Whatever was cancelled was decided to be, with a cause, before.
        let sent = names.iter().position(|name| name == "cancel sent");
        let decided = names.iter().position(|name| name == "cancelled");
        if let Some(sent) = sent {
            assert!(decided.is_some_and(|decided| decided < sent), "{page}");
        }
        for step in page["steps"].as_array().unwrap() {
            causes.extend(step["cause"].as_str().map(ToOwned::to_owned));
            let why = step["withheld"]["reason"].as_str();
            causes.extend(why.map(ToOwned::to_owned));
        }
    }
    for cause in ["moved", "not_quoted", "paused", "ending"] {
        assert!(causes.contains(cause), "no {cause} in {causes:?}");
    }
    texts_and_mistakes(&stage, &made(Side::Sell)[0]);
    stage.close();
}

fn texts_and_mistakes(stage: &Stage, id: &str) {
    let (code, text, log) = stage.prose(&format!("why {id}"));
    assert_eq!(code, 0, "{log}");
    for words in ["ETH-USDC, ladder", "placed", "acknowledged", "ended"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    for (order, exit, words) in [
        ("c00000001-0-1", 1, "the recordings have no order"),
        ("17", 2, "write a client order id"),
    ] {
        let (code, _, log) = stage.prose(&format!("why {order}"));
        assert_eq!(code, exit, "{log}");
        assert!(log.contains(words), "{log}");
    }
}
