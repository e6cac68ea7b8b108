//! Two daemons with one account in two state folders, and orders left by a lost state folder: no new orders beside the
//! other instance, none of its orders cancelled, equal books at the end.

use std::time::Duration;

use cambist_core::OrderStatus;
use cambist_core::order::OrderReport;
use serde_json::Value;
use toml::Table;

use crate::support::process::run;
use crate::support::stage::quick;
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(30);

/// A command to the daemon of that name.
fn command(stage: &Stage, name: &str, line: &str, number: u32) -> (i32, Value, String) {
    let config = stage.path(&format!("{name}.toml")).display().to_string();
    let mut args: Vec<_> = line.split(' ').collect();
    args.extend(["--json", "--config", &config]);
    let file = format!("{name}-command-{number}");
    let (code, out, log) = run(stage.folder.path(), &file, &args, SOON);
    (code, serde_json::from_str(&out).unwrap_or(Value::Null), log)
}

/// Polls the page of a daemon until it meets the condition.
fn page(stage: &Stage, name: &str, from: u32, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut number = from;
    until(SOON, "the page", || {
        number += 1;
        let (_, page, _) = command(stage, name, "status", number);
        wanted(&page).then_some(page)
    })
}

fn reasons(page: &Value) -> [&Value; 2] {
    ["buy", "sell"].map(|side| &page["markets"][0]["withheld"][side]["reason"])
}

/// Orders of the account by the instance in their ids.
fn of(stage: &Stage, instance: &str) -> Vec<OrderReport> {
    from(stage.books().orders, instance)
}

fn from(orders: Vec<OrderReport>, instance: &str) -> Vec<OrderReport> {
    let ids = |order: &OrderReport| {
        let id = order.client_id.map(|id| format!("{:08x}", id.instance));
        id.as_deref() == Some(instance)
    };
    orders.into_iter().filter(ids).collect()
}

/// The instance of the only daemon that has traded so far.
fn instance(stage: &Stage) -> String {
    until(SOON, "an order", || {
        let orders = stage.books().orders;
        let open = orders.iter().find(|order| !order.status.is_final())?;
        Some(format!("{:08x}", open.client_id?.instance))
    })
}

/// Times to live that a test can wait for.
fn short(file: &mut Table) {
    quick(file);
    file.put("orders.ttl_s", 8)
        .put("orders.refresh_before_s", 4);
}

#[test]
fn of_two_daemons_the_second_orders_nothing_and_cancels_nothing_of_the_first() {
    let stage = Stage::open("instances", |_| {});
    stage.daemon("first", &stage.url(), short);
    let mut first = stage.run("first");
    stage.metrics("first", &mut first);
    let theirs = instance(&stage);
    stage.daemon("second", &stage.url(), |file| {
        short(file);
        // Whatever is configured for foreign orders.
        file["risk"]
            .as_table_mut()
            .unwrap()
            .insert("foreign_orders".to_owned(), "adopt".into());
    });
    let mut second = stage.run("second");
    stage.metrics("second", &mut second);
    // At first they may be left over; once the first daemon has renewed one, they cannot be.
    let shown = page(&stage, "second", 0, |page| {
        let is_named = page["other_instances"]
            .as_array()
            .is_some_and(|named| !named.is_empty());
        is_named
            && reasons(page) == [&Value::from("other_instance"); 2]
            && page["state"] == "cancel_only"
    });
    assert_eq!(shown["ready"], false);
    let named = shown["other_instances"].as_array().unwrap();
    assert_eq!(named[0]["instance"], theirs.as_str(), "{shown}");
    let shown = page(&stage, "second", 1_000, |page| {
        page["level"] == "cancel_only"
    });
    assert_eq!(shown["state"], "cancel_only");
    let words = second.stderr();
    assert!(
        words.contains("another cambist instance") && words.contains(&theirs),
        "{words}"
    );

    let (code, _, log) = command(
        &stage,
        "second",
        &format!("account adopt-orders --instance {theirs} --reason gone"),
        1,
    );
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("stop the other daemon first"), "{log}");
    // The first daemon is not affected.
    let before = of(&stage, &theirs).len();
    until(SOON, "more orders of the first", || {
        (of(&stage, &theirs).len() > before + 2).then_some(())
    });
    assert_eq!(command(&stage, "first", "status", 1).1["state"], "active");
    let orders = stage.books().orders;
    assert_eq!(
        orders.len(),
        from(orders.clone(), &theirs).len(),
        "the second ordered nothing"
    );

    assert_eq!(first.drain(SOON), 0, "{}", first.last_words());
    stage.books().assert_ledger(&first.stdout());
    let (code, _, log) = command(&stage, "second", "resume --reason first-is-stopped", 2);
    assert_eq!(code, 0, "{log}");
    page(&stage, "second", 2_000, |page| page["state"] == "active");
    assert_eq!(second.drain(SOON), 0, "{}", second.last_words());
    stage.books().assert_ledger(&second.stdout());
    assert_eq!(stage.books().open(), 0);
    stage.close();
}

/// A daemon that was killed while it had an open order, and whose state folder was removed; returns its instance. If
/// none was open (between a cancel and its replacement), it is started and killed again.
fn lost(stage: &Stage) -> String {
    let theirs = until(SOON, "an order that is left", || {
        let mut first: Program = stage.run("first");
        stage.metrics("first", &mut first);
        let theirs = instance(stage);
        first.kill();
        let mut left = of(stage, &theirs).into_iter();
        if left.any(|order| !order.status.is_final()) {
            return Some(theirs);
        }
        // The next one would wait for what was sealed and never sent.
        std::fs::remove_dir_all(stage.path("first-state")).unwrap();
        None
    });
    std::fs::rename(stage.path("first-state"), stage.path("lost-state")).unwrap();
    theirs
}

#[test]
fn what_a_lost_state_folder_left_is_named_and_waited_out() {
    let stage = Stage::open("instances-left", |_| {});
    stage.daemon("first", &stage.url(), short);
    let theirs = lost(&stage);
    let left: Vec<_> = of(&stage, &theirs)
        .into_iter()
        .filter(|o| !o.status.is_final())
        .collect();
    let mut again = stage.run("first");
    stage.metrics("first", &mut again);
    let shown = page(&stage, "first", 0, |page| {
        reasons(page) == [&Value::from("other_instance"); 2]
    });
    assert_eq!(
        (&shown["state"], &shown["level"]),
        (&"cancel_only".into(), &"trading".into())
    );
    let named: Vec<_> = shown["other_instances"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert!(
        named.iter().all(|one| one["instance"] == theirs.as_str()),
        "{shown}"
    );
    assert!(
        again.stderr().contains("account adopt-orders"),
        "{}",
        again.stderr()
    );
    // It quotes once the last of them has certainly expired, and has cancelled none.
    page(&stage, "first", 1_000, |page| page["state"] == "active");
    let ended = of(&stage, &theirs);
    for order in left {
        let now = ended.iter().find(|known| known.hash == order.hash).unwrap();
        assert_ne!(now.status, OrderStatus::Cancelled, "{now:?}");
        assert!(now.status.is_final(), "{now:?}");
    }
    assert_eq!(again.drain(SOON), 0, "{}", again.last_words());
    stage.books().assert_ledger(&again.stdout());
    stage.close();
}

#[test]
fn what_a_lost_state_folder_left_is_adopted_at_once() {
    let stage = Stage::open("instances-adopted", |_| {});
    let long = |file: &mut Table| {
        quick(file);
        // Without waiting for an hour.
        file.put("orders.ttl_s", 3_600)
            .put("orders.refresh_before_s", 60)
            .put("shutdown.deadline_s", 4_000);
        file["risk"]
            .as_table_mut()
            .unwrap()
            .insert("ttl_max_s".to_owned(), 7_200.into());
    };
    stage.daemon("first", &stage.url(), long);
    let theirs = lost(&stage);
    let mut again = stage.run("first");
    stage.metrics("first", &mut again);
    page(&stage, "first", 0, |page| {
        reasons(page) == [&Value::from("other_instance"); 2]
    });
    let line = format!("account adopt-orders --instance {theirs} --reason folder-lost");
    let (code, answer, log) = command(&stage, "first", &line, 1);
    assert_eq!(code, 0, "{answer} {log}");
    page(&stage, "first", 1_000, |page| page["state"] == "active");
    let left = of(&stage, &theirs).into_iter();
    assert_eq!(left.filter(|order| !order.status.is_final()).count(), 0);
    assert_eq!(again.drain(SOON), 0, "{}", again.last_words());
    stage.books().assert_ledger(&again.stdout());
    stage.close();
}
