//! The tape that a daemon records by default, and `cambist replay` of it: every action compared, and the state at any
//! moment.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cambist_core::event::Event;
use cambist_core::order::OrderReport;
use cambist_core::{Side, VenueTime};
use cambist_tape::{Entry, Reader, Writer};
use serde_json::Value;

use crate::support::process::run;
use crate::support::stage::{lively, quick};
use crate::support::{Books, Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// A daemon that quotes both sides, whose configuration has no `[tape]`.
fn trading(name: &str) -> (Stage, Program) {
    let stage = Stage::open(name, lively);
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        // Small orders: what is held lasts for the whole test.
        file.put("market.0.strategy.0.params.order_amount", 0.02);
        file.remove("tape").unwrap();
    });
    let mut daemon = stage.run("daemon");
    until(SOON, "both sides at the exchange", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let books = stage.books();
        let sides = [Side::Buy, Side::Sell];
        sides
            .iter()
            .all(|side| open(&books, *side) > 0)
            .then_some(())
    });
    (stage, daemon)
}

fn open(books: &Books, side: Side) -> usize {
    let open = books.orders.iter().filter(|order| !order.status.is_final());
    open.filter(|order| order.side == side).count()
}

/// A time of the exchange in the form of the command line.
fn iso(time: VenueTime) -> String {
    let whole =
        humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + Duration::from_secs(time.as_s()));
    let whole = whole.to_string();
    format!("{}.{:03}Z", whole.trim_end_matches('Z'), time.0 % 1_000)
}

fn at(stage: &Stage, time: VenueTime) -> Value {
    let (code, page, log) = stage.command(&format!("replay --at {}", iso(time)));
    assert_eq!(code, 0, "{page} {log}");
    // Times of one form are in order as texts are. The state is not later than it was asked for.
    for key in ["at", "last_event"] {
        let shown = page[key].as_str().unwrap();
        assert!(
            shown <= iso(time).as_str(),
            "{key}: {shown} at {}",
            iso(time)
        );
    }
    page
}

/// The order with this id in the output of the only market.
fn shown<'a>(page: &'a Value, order: &OrderReport) -> Option<&'a Value> {
    let id = order.client_id.unwrap().to_string();
    let orders = page["markets"][0]["orders"].as_array().unwrap();
    orders.iter().find(|shown| shown["id"] == id.as_str())
}

/// The first time within a second, in steps of a tenth, at which the condition holds.
fn first(
    stage: &Stage,
    second: VenueTime,
    mut is_so: impl FnMut(&Value) -> bool,
) -> (VenueTime, Value) {
    let mut last = Value::Null;
    for tenth in 0..10 {
        let time = second.plus_ms(tenth * 100);
        let page = at(stage, time);
        if is_so(&page) {
            return (time, page);
        }
        last = page;
    }
    panic!("not within a second of {}: {last}", iso(second));
}

#[test]
fn any_moment_of_a_run_is_shown_from_what_is_recorded_by_default() {
    let (stage, mut daemon) = trading("replay-moment");
    // Both sides are quoted for some time. The exchange's times are whole seconds.
    let early = until(SOON, "quotes for two seconds", || {
        let books = stage.books();
        let buys = books.orders.iter().filter(|order| order.side == Side::Buy);
        let times: Vec<_> = buys.map(|order| order.valid_since).collect();
        let (first, last) = (*times.iter().min()?, *times.iter().max()?);
        (last >= first.plus_ms(2_000)).then_some(first.plus_ms(1_000))
    });
    let (code, answer, _) = stage.command("pause --market ETH-USDC --side buy --reason news");
    assert_eq!(code, 0, "{answer}");
    // An order of the other side that was made when no order of this one was left.
    let late = until(SOON, "an order beside the pause", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let books = stage.books();
        let of = |side| books.orders.iter().filter(move |order| order.side == side);
        let last_buy = of(Side::Buy).map(|order| order.valid_since).max()?;
        let last_sell = of(Side::Sell).map(|order| order.valid_since).max()?;
        let is_late = |order: &&OrderReport| order.valid_since >= last_buy.plus_ms(1_000);
        let late = of(Side::Sell).filter(is_late);
        let late = late.min_by_key(|order| order.valid_since)?;
        let is_over = last_sell > late.valid_since && open(&books, Side::Buy) == 0;
        is_over.then_some(late.valid_since)
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());

    // Orders live for some tenths of a second here: one of the exchange's orders from then on is shown.
    let books = stage.books();
    let of = |side| books.orders.iter().filter(move |order| order.side == side);
    let any = |page: &Value, orders: &[&OrderReport]| {
        let ids = orders.iter().filter_map(|order| shown(page, order));
        ids.map(|order| order["side"].clone()).next()
    };
    let sells: Vec<_> = of(Side::Sell)
        .filter(|order| order.valid_since >= late)
        .collect();
    let (time, page) = first(&stage, late, |page| any(page, &sells).is_some());
    let market = &page["markets"][0];
    assert_eq!(market["withheld"]["buy"]["reason"], "paused", "{page}");
    assert_eq!(page["pauses"], 1);
    assert_eq!(any(&page, &sells).unwrap(), "sell");
    // The strategy's targets still have both sides; the pause is applied to them.
    let wanted = market["wanted"].as_array().unwrap();
    assert!(wanted.iter().any(|quote| quote["side"] == "buy"), "{page}");
    assert!(!market["bids"].as_array().unwrap().is_empty(), "{page}");
    assert!(market["depth_age_ms"].as_u64().unwrap() < 2_000, "{page}");
    let same = (&page["same_build"], &page["first_difference"]);
    assert_eq!(same, (&true.into(), &Value::Null));
    let used = &market["limits_used_bps"]["inventory_band"];
    assert!(used.is_u64(), "{page}");

    // Before the pause both sides had orders and no reason.
    let buys: Vec<_> = of(Side::Buy).collect();
    first(&stage, early, |page| {
        page["markets"][0]["withheld"]["buy"].is_null() && any(page, &buys).is_some()
    });

    let (code, text, log) = stage.prose(&format!("replay --at {}", iso(time)));
    assert_eq!(code, 0, "{log}");
    for words in [
        "ETH-USDC",
        "own order",
        "wanted",
        "limits used",
        "not quoted: ",
        "trading state",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The strategy wants quotes on both sides: nothing is missing in its targets.
    assert!(!text.contains(" nothing ("), "{text}");
    for (time, words) in [
        (VenueTime(1_000_000_000_000), "the recording begins at"),
        (time.plus_ms(3_600_000), "the recording ends at"),
    ] {
        let (code, answer, _) = stage.command(&format!("replay --at {}", iso(time)));
        assert_eq!(code, 1, "{answer}");
        assert!(
            answer["error"].as_str().unwrap().contains(words),
            "{answer}"
        );
    }
    let (code, whole, log) = stage.command("replay");
    assert_eq!((code, &whole["equal"]), (0, &true.into()), "{whole} {log}");
    stage.close();
}

/// The same recording as another program would have made it, less one action.
fn altered(from: &Path, to: &Path, program: Option<&str>) {
    let mut reader = Reader::open(BufReader::new(File::open(from).unwrap())).unwrap();
    let mut header = reader.header().clone();
    if let Some(program) = program {
        program.clone_into(&mut header.program);
    }
    let snapshot = reader.snapshot().map(<[u8]>::to_vec);
    let file = File::create(to).unwrap();
    let mut writer = Writer::new(file, &header, snapshot.as_deref()).unwrap();
    let mut dropped = false;
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry {
            Entry::Event { now, event } => writer.write_event(now, &event).unwrap(),
            Entry::Actions { mut actions } => {
                dropped |= !dropped && actions.pop().is_some();
                writer.write_actions(&actions).unwrap();
            }
        }
    }
    assert!(dropped);
    writer.finish().unwrap();
}

#[test]
fn a_difference_from_another_build_is_reported_and_no_failure() {
    let (stage, mut daemon) = trading("replay-builds");
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let tape = stage.path("daemon-state/tape/0000000001.tape");
    let replay = |path: &PathBuf| {
        let args = ["replay", "--json", &path.display().to_string()];
        let name = format!("replay-{}", path.file_stem().unwrap().display());
        let (code, out, log) = run(stage.folder.path(), &name, &args, SOON);
        (
            code,
            serde_json::from_str::<Value>(&out).unwrap_or_else(|_| panic!("{out} {log}")),
        )
    };
    let (code, page) = replay(&tape);
    assert_eq!((code, &page["equal"]), (0, &true.into()), "{page}");
    let (own, other) = (stage.path("own.tape"), stage.path("other.tape"));
    altered(&tape, &own, None);
    let (code, page) = replay(&own);
    assert_eq!((code, &page["same_build"]), (1, &true.into()), "{page}");
    altered(&tape, &other, Some("cambist 0.0.1 (another)"));
    let (code, page) = replay(&other);
    assert_eq!((code, &page["same_build"]), (0, &false.into()), "{page}");
    assert_eq!(page["equal"], false);
    assert_eq!(page["recorded_by"], "cambist 0.0.1 (another)");
    assert_eq!(page["first_difference"]["on_tape"], "nothing", "{page}");
    stage.close();
}

/// The same recording by a clock of the exchange that was an hour behind at its start.
fn an_hour_earlier(from: &Path, to: &Path) -> VenueTime {
    let mut reader = Reader::open(BufReader::new(File::open(from).unwrap())).unwrap();
    let header = reader.header().clone();
    let mut writer = Writer::new(File::create(to).unwrap(), &header, None).unwrap();
    let mut opens_at = None;
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry {
            Entry::Event { now, mut event } => {
                match &mut event {
                    Event::Start(start) => {
                        start.venue_time.0 -= 3_600_000;
                        opens_at = Some(start.venue_time);
                    }
                    Event::Answer {
                        venue_time: Some(time),
                        ..
                    } => time.0 -= 3_600_000,
                    _ => {}
                }
                writer.write_event(now, &event).unwrap();
            }
            Entry::Actions { actions } => writer.write_actions(&actions).unwrap(),
        }
    }
    writer.finish().unwrap();
    opens_at.unwrap()
}

#[test]
fn a_moment_is_found_in_recordings_whose_times_do_not_rise() {
    let (stage, mut daemon) = trading("replay-set-back");
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let first = stage.path("daemon-state/tape/0000000001.tape");
    let folder = stage.path("set-back");
    std::fs::create_dir(&folder).unwrap();
    let file = |number: u32| folder.join(format!("{number:010}.tape"));
    std::fs::copy(&first, file(1)).unwrap();
    let early = an_hour_earlier(&first, &file(2));
    let late = VenueTime(early.0 + 3_600_000);
    let mut number = 0;
    let mut replay = |time: VenueTime| {
        number += 1;
        let name = format!("replay-set-back-{number}");
        let folder = folder.display().to_string();
        let args = ["replay", "--json", &folder, "--at", &iso(time)];
        let (code, out, log) = run(stage.folder.path(), &name, &args, SOON);
        let page = serde_json::from_str::<Value>(&out);
        (code, page.unwrap_or_else(|_| panic!("{out} {log}")))
    };
    let shown = |page: &Value| {
        let path = page["recording"].as_str().unwrap().to_owned();
        (PathBuf::from(path), page["also_in"].clone())
    };
    let none = serde_json::json!([]);
    // The later file has the earlier times.
    let (code, page) = replay(early);
    assert_eq!(code, 0, "{page}");
    assert_eq!(shown(&page), (file(2), none.clone()), "{page}");
    let (code, page) = replay(late);
    assert_eq!(code, 0, "{page}");
    assert_eq!(shown(&page), (file(1), none), "{page}");
    // Before both, and between them.
    let (code, page) = replay(VenueTime(early.0 - 60_000));
    assert_eq!(code, 1, "{page}");
    let error = page["error"].as_str().unwrap();
    let begins = format!("the recording begins at {}", iso(early));
    assert!(error.contains(&begins), "{error}");
    let (code, page) = replay(VenueTime(late.0 - 60_000));
    assert_eq!(code, 1, "{page}");
    let error = page["error"].as_str().unwrap();
    let next = format!("the next one begins at {}", iso(late));
    assert!(
        error.contains("0000000002.tape") && error.contains(&next),
        "{error}"
    );

    // Two recordings contain the moment: the newest one is shown, and the other one named.
    std::fs::copy(&first, file(3)).unwrap();
    let (code, page) = replay(late);
    assert_eq!(code, 0, "{page}");
    let also = serde_json::json!([file(1).display().to_string()]);
    assert_eq!(shown(&page), (file(3), also), "{page}");
    // One that cannot be read hides no other.
    std::fs::write(file(4), "no tape").unwrap();
    let (code, page) = replay(early);
    assert_eq!(code, 0, "{page}");
    assert_eq!(shown(&page).0, file(2), "{page}");
    stage.close();
}
