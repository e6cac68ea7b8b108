//! Trading, kills and faults: nothing doubled, nothing forgotten, books equal to the unit, nonces that only rise.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cambist_core::order::{OrderReport, OrderStatus};
use rustix::process::Signal;
use serde_json::Value;

use super::stage::{SOON, on_kraken, quiet, quotes, usual};
use crate::kraken::Client;
use crate::support::http::{body, metric};
use crate::support::keeping::Keeping;
use crate::support::{Books, Edit, Fault, Program, Proxy, Stage, until};

/// Fields of the body of an order.
fn fields(body: &str) -> BTreeMap<&str, &str> {
    body.split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect()
}

/// Bodies of one order are equal, and those of different orders have rising nonces in the order of their first arrival.
fn assert_nonces(submits: &[String]) {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut last = 0;
    for body in submits {
        let fields = fields(body);
        if fields.contains_key("validate") {
            // A question of a start, which creates nothing.
            continue;
        }
        let id = fields["cl_ord_id"];
        if let Some(known) = first.get(id) {
            assert_eq!(known, body, "one order, two texts");
            continue;
        }
        first.insert(id, body);
        let nonce: u64 = fields["nonce"].parse().unwrap();
        assert!(nonce > last, "{nonce} comes after {last}");
        last = nonce;
    }
}

/// Every order that the exchange has is in the store with its fills, once, and every intent that it does not have ended
/// as never arrived.
fn assert_accounted(books: &Books, state: &std::path::Path) {
    let keeping = Keeping::read(state);
    let mut never = 0;
    let mut stored: Vec<_> = Vec::new();
    for (id, intent) in &keeping.0 {
        let ending = intent.ending.as_ref();
        let ending = ending.unwrap_or_else(|| panic!("{id} has no end"));
        if ["never_sent", "fenced", "rejected"].contains(&ending.end.as_str()) {
            never += 1;
            assert_eq!((ending.base, ending.quote), (0, 0), "{id}");
        } else {
            stored.push((ending.base, ending.quote, ending.fee));
        }
    }
    let filled = |order: &OrderReport| (order.base_filled, order.quote_filled, order.fee);
    let mut at_exchange: Vec<_> = books.orders.iter().map(filled).collect();
    stored.sort_unstable();
    at_exchange.sort_unstable();
    assert_eq!(
        stored, at_exchange,
        "fills of all orders, in the store and at the exchange ({never} never arrived)"
    );
    assert!(at_exchange.len() > 3, "{at_exchange:?}");
}

/// Drains, and compares everything.
fn finish(stage: Stage, mut daemon: Program) {
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let books = stage.books();
    assert_eq!(books.open(), 0, "something rests after the end");
    books.assert_ledger(&daemon.stdout());
    assert_accounted(&books, &stage.path("daemon-state"));
    stage.close_audited(&daemon);
}

fn fills(stage: &Stage) -> usize {
    let books = stage.books();
    let filled = books.orders.iter().filter(|order| order.base_filled > 0);
    filled.count()
}

#[test]
fn it_trades_and_drains_with_books_equal_to_the_unit() {
    let stage = usual("kraken-trades");
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, on_kraken);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    until(SOON, "fills, and more orders than three", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (fills(&stage) >= 3 && stage.books().orders.len() > 3).then_some(())
    });
    // Both sides may just have been filled, or the counter of orders and cancels be full.
    let status = until(SOON, "quotes", || {
        let (code, status, log) = stage.command("status");
        assert_eq!(code, 0, "{log}");
        (status["state"] == "active").then_some(status)
    });
    // Whole calls, of which a key of this tier has one a second.
    let sent = status["requests"]["sent"].as_u64().unwrap();
    assert!((5..1_000).contains(&sent), "{status}");
    let age_ms = status["venue_age_ms"].as_u64().unwrap();
    assert!(age_ms < 60_000, "{status}");
    let counter = status["markets"][0]["trading_counter"].as_str().unwrap();
    assert!(counter.ends_with(" %"), "{status}");
    let address = stage.metrics("daemon", &mut daemon);
    let page = body(&address, "/metrics").unwrap();
    let used = "cambist_risk_limit_used_ratio{limit=\"trading_counter\",market=\"ETH-USDC\"}";
    assert!(page.contains(used), "{page}");
    assert_nonces(&proxy.submits());
    finish(stage, daemon);
}

#[test]
fn killed_in_the_middle_of_a_submit_it_doubles_and_forgets_nothing() {
    let stage = usual("kraken-killed");
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, on_kraken);
    let arrived = Arc::new(AtomicBool::new(false));
    let seen_by_plan = Arc::clone(&arrived);
    // Delivered, and the answer comes after the kill.
    proxy.plan(move |seen| {
        if seen.is_submit() && seen.nth >= 5 {
            seen_by_plan.store(true, Ordering::Release);
            Fault::HoldAnswer
        } else {
            Fault::Pass
        }
    });
    let mut daemon = stage.run("daemon");
    until(SOON, "a submit without an answer", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        arrived.load(Ordering::Acquire).then_some(())
    });
    daemon.kill();
    // No nonce that left is above what was on disk.
    let reserved = std::fs::read_to_string(stage.path("daemon-state/nonces-orders")).unwrap();
    let reserved: u64 = reserved.trim().parse().unwrap();
    for body in proxy.submits() {
        let nonce: u64 = fields(&body)["nonce"].parse().unwrap();
        assert!(
            nonce < reserved,
            "{nonce} left before {reserved} was on disk"
        );
    }
    proxy.plan(|_| Fault::Pass);
    let before = proxy.submits().len();
    let mut daemon = stage.run("daemon");
    // Orders of the first run may rest on both sides; the question of a start is one submit.
    until(SOON, "orders of the second run", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (proxy.submits().len() > before + 1).then_some(())
    });
    quotes(&stage, &mut daemon);
    assert_nonces(&proxy.submits());
    finish(stage, daemon);
}

#[test]
fn an_exchange_that_was_killed_is_traded_on_again() {
    let mut stage = usual("kraken-venue-killed");
    stage.daemon("daemon", &stage.url(), on_kraken);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    stage.restart_venue();
    let before = stage.books().orders.len();
    until(SOON, "orders after the restart", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.books().orders.len() > before + 1).then_some(())
    });
    finish(stage, daemon);
}

/// A price of a body, in hundredths.
fn price(fields: &BTreeMap<&str, &str>, name: &str) -> f64 {
    fields[name].parse::<f64>().unwrap() * 100.0
}

/// No amend offers a better price than the order that was signed. Returns how many there were.
fn assert_within_signed(submits: &[String], amends: &[String]) -> usize {
    let signed: BTreeMap<_, _> = submits
        .iter()
        .map(|body| fields(body))
        .filter(|fields| fields.contains_key("cl_ord_id"))
        .map(|fields| (fields["cl_ord_id"], fields))
        .collect();
    for amend in amends {
        let amend = fields(amend);
        let order = &signed[amend["cl_ord_id"]];
        let (to, limit) = (price(&amend, "limit_price"), price(order, "price"));
        match order["type"] {
            "buy" => assert!(to <= limit, "{amend:?} of {order:?}"),
            _ => assert!(to >= limit, "{amend:?} of {order:?}"),
        }
        assert!(!amend.contains_key("order_qty"), "{amend:?}");
    }
    amends.len()
}

/// Amends are lost, answered never, delivered twice and late, and the daemon is killed while one is on its way.
#[test]
fn orders_are_moved_within_what_was_signed_whatever_becomes_of_amends() {
    let stage = quiet("kraken-amends");
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        on_kraken(file);
        file.put("orders.ttl_s", 25);
        // Orders far from the traders, which follow their prices: they are moved rather than filled.
        file.put("market.0.strategy.0.params.bid_spread_bps", 60)
            .put("market.0.strategy.0.params.ask_spread_bps", 60)
            .put("market.0.strategy.0.params.order_levels", 1);
        let market = file["market"].as_array_mut().unwrap()[0]
            .as_table_mut()
            .unwrap();
        market.remove("empty_book");
        market.remove("seed_price");
    });
    let amends = Arc::new(Mutex::new(Vec::new()));
    let (seen_by_plan, mut daemon) = (Arc::clone(&amends), stage.run("daemon"));
    proxy.plan(move |seen| {
        if !seen.is_amend() {
            return Fault::Pass;
        }
        seen_by_plan.lock().unwrap().push(seen.body.clone());
        match seen.nth % 7 {
            2 => Fault::LoseAnswer,
            3 => Fault::LoseRequest,
            4 => Fault::Twice,
            5 => Fault::Late(Duration::from_millis(800)),
            _ => Fault::Pass,
        }
    });
    let many = |least: usize, daemon: &mut Program| {
        until(SOON, "amends", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            (amends.lock().unwrap().len() >= least).then_some(())
        });
    };
    many(8, &mut daemon);
    daemon.kill();
    let before = amends.lock().unwrap().len();
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    many(before + 2, &mut daemon);
    let address = stage.metrics("daemon", &mut daemon);
    let page = body(&address, "/metrics").unwrap();
    let labels = ["event=\"sent\"", "market=\"ETH-USDC\""];
    let sent = metric(&page, "cambist_order_amends_total", &labels);
    assert!(sent >= 2.0, "{page}");
    let passed = amends.lock().unwrap().clone();
    let count = assert_within_signed(&proxy.submits(), &passed);
    assert!(count >= before + 2, "{count}");
    assert_nonces(&proxy.submits());
    finish(stage, daemon);
}

/// An amend of what is left of an order: the daemon's books and the account's history have one order with all of its fills.
#[test]
fn an_order_that_was_filled_in_part_and_moved_is_one_order() {
    let stage = usual("kraken-moved-rest");
    stage.daemon("daemon", &stage.url(), |file| {
        on_kraken(file);
        file.put("orders.ttl_s", 40);
    });
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    let mut client = Client::of(&stage, 1);
    let decimal = |value: &Value| -> f64 {
        let text = value.as_str().unwrap();
        text.parse().unwrap()
    };
    let moved = until(SOON * 3, "an order that is filled in part", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let is_part = |order: &OrderReport| {
            !order.status.is_final()
                && order.base_filled > 0
                && order.base_filled < order.base_amount
        };
        if !stage.books().orders.iter().any(is_part) {
            return None;
        }
        daemon.signal(Signal::STOP);
        let open = client.good("OpenOrders", "");
        let orders = open["open"].as_object().unwrap();
        let part = orders.iter().find(|(_, order)| {
            let filled = decimal(&order["vol_exec"]);
            order["status"] == "open" && filled > 0.0 && filled < decimal(&order["vol"])
        });
        let moved = part.and_then(|(_, order)| {
            let id = order["cl_ord_id"].as_str().unwrap();
            let price = decimal(&order["descr"]["price"]);
            // Away from the market, as the daemon moves orders.
            let away = if order["descr"]["type"] == "buy" {
                0.99
            } else {
                1.01
            };
            let price = (price * away * 100.0).round() / 100.0;
            let form = format!("cl_ord_id={id}&limit_price={price:.2}&post_only=true");
            // What is left need not be a quantity that the exchange accepts at another price.
            let answer = client.answer("AmendOrder", &form);
            (answer["error"] == serde_json::json!([])).then(|| id.to_owned())
        });
        daemon.signal(Signal::CONT);
        moved
    });
    assert!(moved.contains('-'), "{moved}");
    // It is cancelled or filled where it is now, and another one is made.
    quotes(&stage, &mut daemon);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close_audited(&daemon);
}

/// Lost requests and answers, repetitions and delays, and refusals and delays of the exchange itself.
#[test]
fn under_faults_nothing_is_doubled_or_forgotten() {
    let stage = usual("kraken-faults");
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, on_kraken);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    proxy.plan(|seen| {
        match (
            seen.is_submit() || seen.is_cancel() || seen.is_amend(),
            seen.nth % 9,
        ) {
            (true, 1) | (false, 5) => Fault::LoseAnswer,
            (true, 3) => Fault::LoseRequest,
            (true, 4) => Fault::Twice,
            (true, 6) => Fault::Slow(Duration::from_millis(500)),
            (true, 8) => Fault::Late(Duration::from_millis(800)),
            _ => Fault::Pass,
        }
    });
    until(SOON, "faults", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (proxy.faults() >= 25).then_some(())
    });
    proxy.plan(|_| Fault::Pass);
    quotes(&stage, &mut daemon);
    assert_nonces(&proxy.submits());
    finish(stage, daemon);
}

#[test]
fn a_panic_without_the_store_ends_everything_with_its_own_key() {
    let stage = usual("kraken-panic");
    stage.daemon("daemon", &stage.url(), on_kraken);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    // An order of others that never expires is cancelled too, and does not keep the proof away.
    let endless = "pair=ETHUSDC&type=buy&ordertype=limit&price=1500&volume=0.5&oflags=post";
    Client::of(&stage, 1).good("AddOrder", endless);
    // Beside the daemon, whose state folder is gone, at a time when it replaces none of its orders.
    let resting = until(SOON, "three orders that rest", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        daemon.signal(Signal::STOP);
        let orders = stage.books().orders.into_iter();
        let open = orders.filter(|order| !order.status.is_final());
        let open: Vec<_> = open.map(|order| order.hash).collect();
        if open.len() < 3 {
            daemon.signal(Signal::CONT);
        }
        (open.len() >= 3).then_some(open)
    });
    std::fs::rename(stage.path("daemon-state"), stage.path("lost")).unwrap();
    let (code, object, log) = std::thread::scope(|scope| {
        // It goes on while the panic proves that nothing is left, and not before its cancels.
        scope.spawn(|| {
            until(SOON, "an end of all orders", || {
                (stage.books().open() == 0).then_some(())
            });
            daemon.signal(Signal::CONT);
        });
        panic(&stage)
    });
    assert_eq!(code, 0, "{object} {log}");
    assert_eq!(object["proven"], true, "{object}");
    // By one request all of them that traders had not filled before, the endless one among them.
    let mut orders = stage.books().orders;
    orders.retain(|order| resting.contains(&order.hash));
    assert_eq!(orders.len(), resting.len());
    orders.retain(|order| order.status == OrderStatus::Cancelled);
    assert!(orders.iter().any(|order| order.valid_until_s == u32::MAX));
    let cancelled = orders.len();
    assert_eq!(object["cancels"], cancelled, "{object}");
    assert_eq!(object["cancelled_at_once"], cancelled, "{object}");
    assert!(object["cancel_all_failure"].is_null(), "{object}");
    assert!(
        log.contains(&format!("{cancelled} of them by one request")),
        "{log}"
    );
    daemon.kill();
    let (code, again, log) = panic(&stage);
    assert_eq!((code, &again["found"]), (0, &0.into()), "{log}");
    assert_eq!(stage.books().open(), 0);
    stage.close();
}

/// One request cancels everything, and needs nothing that has to be read before it.
#[test]
fn a_panic_cancels_although_the_assets_cannot_be_read() {
    let stage = usual("kraken-unlisted");
    stage.daemon("daemon", &stage.url(), on_kraken);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    daemon.kill();
    let proxy = Proxy::start(&stage.address);
    proxy.plan(|seen| {
        if seen.path == "/0/public/Assets" {
            Fault::LoseRequest
        } else {
            Fault::Pass
        }
    });
    stage.daemon("unlisted", &proxy.url, on_kraken);
    let config = stage.path("unlisted.toml").display().to_string();
    let args = [
        "panic", "--yes", "--json", "--within", "3s", "--config", &config,
    ];
    let (code, out, log) = crate::support::process::run(stage.folder.path(), "panic", &args, SOON);
    assert_eq!(code, 80, "{log}");
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["proven"], false, "{object}");
    assert!(
        object["cancelled_at_once"].as_u64().unwrap() > 0,
        "{object}"
    );
    assert!(
        log.contains("without a list anything may be alive until"),
        "{log}"
    );
    assert_eq!(stage.books().open(), 0);
    stage.close();
}

/// A listing is the first that it reads here: without one it ends as without any other list.
#[test]
fn a_panic_that_does_not_reach_the_venue_proves_nothing_and_states_until_when_orders_may_rest() {
    let stage = usual("kraken-unreached");
    stage.daemon("unreached", "http://127.0.0.1:1", on_kraken);
    let config = stage.path("unreached.toml").display().to_string();
    let args = ["panic", "--yes", "--json", "--within", "2s", "--config"];
    let args = [&args[..], &[&config]].concat();
    let (code, out, log) = crate::support::process::run(stage.folder.path(), "panic", &args, SOON);
    assert_eq!(code, 80, "{log}");
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&object["proven"], &object["lists"]),
        (&false.into(), &0.into())
    );
    assert!(
        object["dead_at_s"].as_u64().unwrap() > 1_700_000_000,
        "{object}"
    );
    assert!(log.contains("http://127.0.0.1:1: "), "{log}");
    stage.close();
}

/// Another program with the key of orders, and nonces of the clock in nanoseconds: every order would be refused from then
/// on, so that trading stops with the key and what to do.
#[test]
fn a_key_that_something_else_uses_stops_trading_with_what_to_do() {
    for name in ["orders", "account"] {
        let stage = usual(&format!("kraken-foreign-use-{name}"));
        stage.daemon("daemon", &stage.url(), on_kraken);
        let mut daemon = stage.run("daemon");
        quotes(&stage, &mut daemon);
        let refused = |daemon: &mut Program| {
            let address = stage.metrics("daemon", daemon);
            let page = body(&address, "/metrics").unwrap();
            metric(
                &page,
                "cambist_nonces_refused_total",
                &[&format!("key=\"{name}\"")],
            )
        };
        assert!(refused(&mut daemon) < 0.5);
        let nanoseconds = 2_000_000_000_000_000_000;
        Client::of_key(&stage, name, nanoseconds).good("Balance", "");
        until(SOON, "cancel-only", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let (_, status, _) = stage.command("status");
            (status["state"] == "cancel_only").then_some(())
        });
        assert!(refused(&mut daemon) > 3.5);
        let (_, status, _) = stage.command("status");
        let folder = stage.path("kraken").join(name).display().to_string();
        let reason = format!("something else uses the API key in {folder}");
        assert!(daemon.stderr().contains(&reason), "{}", daemon.last_words());
        let cause = status["level_cause"].as_str().unwrap();
        assert!(cause.contains(&reason), "{status}");
        daemon.kill();
        stage.close();
    }
}

fn panic(stage: &Stage) -> (i32, Value, String) {
    let config = stage.path("daemon.toml").display().to_string();
    let args = ["panic", "--yes", "--json", "--config", &config];
    let name = "panic";
    let (code, out, log) = crate::support::process::run(stage.folder.path(), name, &args, SOON);
    let objects = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
    (code, objects.last().unwrap().unwrap(), log)
}

#[test]
fn the_dead_mans_switch_fires_after_a_kill_and_is_off_after_a_drain() {
    let stage = usual("kraken-switch");
    stage.daemon("daemon", &stage.url(), |file| {
        on_kraken(file);
        file.put("venue.cancel_all_after_s", 20)
            // Longer than the switch, so that nothing else ends the orders.
            .put("orders.ttl_s", 120)
            .put("orders.refresh_before_s", 20)
            .put("shutdown.deadline_s", 140);
    });
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    let address = stage.metrics("daemon", &mut daemon);
    let page = body(&address, "/metrics").unwrap();
    let expiry = "cambist_dead_mans_switch_expiry_timestamp_seconds";
    assert!(metric(&page, expiry, &[]) > 1.7e9, "{page}");
    daemon.kill();
    let killed = crate::support::clock::Since::now();
    until(Duration::from_secs(40), "the switch", || {
        (stage.books().open() == 0).then_some(())
    });
    let fired = killed.elapsed();
    assert!(fired < Duration::from_secs(30), "{fired:?}");
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    assert_eq!(
        daemon.drain(Duration::from_secs(160)),
        0,
        "{}",
        daemon.last_words()
    );
    // What others place now is left alone.
    let by_hand = stage.place_by_hand(16_000, "by-hand", 300);
    std::thread::sleep(Duration::from_secs(25));
    let books = stage.books();
    let order = books.orders.iter().find(|order| order.hash == by_hand);
    assert!(!order.unwrap().status.is_final(), "{order:?}");
    stage.close();
}
