//! Ledger and venue: a difference is reported, stops new orders if it is large, lasts or was found at a start, and ends
//! when an operator explains it or both agree. The store holds exactly the known state.

use std::collections::BTreeMap;

use cambist_core::books::{Books, Difference, Entry};
use cambist_core::config::EngineConfig;
use cambist_core::event::{Command, Event, TradingState};
use cambist_core::notification::{BooksHold, BooksStatus, Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::{Endpoint, Query, RequestId};
use cambist_core::{Amount, ClientOrderId, MarketId, Side, TokenId};

use crate::bench::{BASE, BOTH, OTHER, QUOTE, TestBench, config, execute};
use crate::pool_bench::{Beside, LP, POOL, limits};
use cambist_core::sorted_map::SortedMap;

/// At the mid of 10 000 the value of a base unit is a hundred quote units.
const MOST: Amount = 100_000;

fn signed(units: Amount) -> i128 {
    i128::try_from(units).unwrap()
}

fn limited(config: &mut EngineConfig) {
    config.risk.mismatch_max = SortedMap::from([(QUOTE, MOST), (OTHER, MOST)]);
}

fn quoting() -> TestBench {
    let mut config = config();
    limited(&mut config);
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    bench.other = Some(1);
    bench.until_a_submit_waits();
    trade(&mut bench, 5);
    bench
}

/// A venue that accepts everything for `seconds`.
fn trade(bench: &mut TestBench, seconds: u32) {
    for _ in 0..seconds {
        bench.run_ms(1_000);
        bench.accept_all();
        while !bench.cancels.is_empty() {
            bench.accept_cancel();
        }
    }
}

/// A run that starts with the state of another one, at a venue with these balances.
fn next(last: &TestBench, balances: (Amount, Amount)) -> TestBench {
    let mut config = config();
    limited(&mut config);
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    bench.other = last.other;
    bench.balances = balances;
    bench.starts_with(last.stored.clone());
    bench.starts_with_books(last.books.clone());
    bench
}

/// The last reported comparison of the books.
fn books(bench: &TestBench) -> BooksStatus {
    let notifications = bench.notifications.iter().rev();
    let mut reported = notifications.filter_map(|notification| match notification {
        Notification::Books(books) => Some((**books).clone()),
        _ => None,
    });
    reported.next().unwrap_or_default()
}

/// Number of our open orders at the venue.
fn resting(bench: &TestBench) -> usize {
    let open = bench.list.iter().filter(|order| !order.status.is_final());
    open.count()
}

fn adopt(bench: &mut TestBench, token: TokenId, amount: i128) -> Result<String, String> {
    let reason = "seen".to_owned();
    execute(
        bench,
        Command::Adopt {
            token,
            amount,
            reason,
        },
    )
}

fn resume(bench: &mut TestBench) -> Result<String, String> {
    let (level, reason) = (TradingState::Active, "checked".to_owned());
    execute(
        bench,
        Command::Lower {
            level,
            reason,
            forget_losses: false,
        },
    )
}

/// Lists take longer than balances, and both are due at the same time: the balances that a list will confirm are not
/// replaced before its end.
#[test]
fn books_are_compared_although_lists_are_slow_and_due_with_balances() {
    let mut bench = quoting();
    bench.notifications.clear();
    bench.unanswered = |query| matches!(query, Query::Balances | Query::Orders(_));
    for step in 0..100 {
        bench.run_ms(100);
        let waiting = std::mem::take(&mut bench.lost_queries);
        for (request, query) in waiting {
            let is_late = matches!(query, Query::Orders(_)) && step % 3 != 0;
            if is_late {
                bench.lost_queries.push((request, query));
            } else {
                bench.answer_query(request, &query);
            }
        }
    }
    let compared = bench.count(|notification| *notification == Notification::Balanced);
    assert!(compared >= 9, "{compared} comparisons in 10 s");
}

/// Not with the next depth: in the step that finds the difference.
#[test]
fn a_difference_above_the_limit_cancels_at_once() {
    let mut bench = quoting();
    bench.balances.0 -= 1_001;
    assert!(bench.cancels.is_empty());
    for _ in 0..10_000 {
        if books(&bench).hold.is_some() {
            break;
        }
        bench.run_ms(1);
    }
    assert_eq!(books(&bench).hold, Some(BooksHold::Limit));
    assert!(!bench.cancels.is_empty());
}

#[test]
fn a_difference_above_the_limit_stops_orders_at_the_first_reconciliation() {
    for (token, within, beyond) in [(BASE, 1_000, 1_001), (QUOTE, MOST, MOST + 1)] {
        for leaves in [false, true] {
            let change = |size: Amount| {
                let mut bench = quoting();
                let held = if token == BASE {
                    &mut bench.balances.0
                } else {
                    &mut bench.balances.1
                };
                *held = if leaves { *held - size } else { *held + size };
                trade(&mut bench, 5);
                bench
            };
            let small = change(within);
            assert_eq!((books(&small).hold, resting(&small)), (None, 2));
            assert_eq!(books(&small).differences.len(), 1, "it is reported");
            assert_eq!(books(&small).worth, SortedMap::from([(QUOTE, MOST)]));
            let large = change(beyond);
            assert_eq!(books(&large).hold, Some(BooksHold::Limit));
            assert_eq!(resting(&large), 0, "everything is cancelled");
            assert!(large.levels.is_empty(), "no level is raised");
            let withheld =
                large
                    .notifications
                    .iter()
                    .rev()
                    .find_map(|notification| match notification {
                        Notification::Withheld { withheld, .. } => *withheld,
                        _ => None,
                    });
            let withheld = withheld.unwrap();
            assert_eq!(withheld.control, Control::BooksDiffer);
            assert_eq!(withheld.key(), Some("risk.mismatch_max"));
            assert_eq!(withheld.limit, i128::try_from(MOST).ok());
            assert!(withheld.value > withheld.limit);
        }
    }
}

#[test]
fn a_small_difference_stops_orders_after_five_minutes() {
    let mut bench = quoting();
    bench.balances.0 += 1;
    trade(&mut bench, 290);
    assert_eq!((books(&bench).hold, resting(&bench)), (None, 2));
    trade(&mut bench, 20);
    assert_eq!(books(&bench).hold, Some(BooksHold::Lasting));
    assert_eq!(resting(&bench), 0);
    adopt(&mut bench, BASE, 1).unwrap();
    trade(&mut bench, 3);
    assert_eq!((books(&bench).hold, resting(&bench)), (None, 2));
}

#[test]
fn books_that_agree_again_stop_nothing() {
    let mut bench = quoting();
    for change in [1, -1, 1] {
        trade(&mut bench, 200);
        bench.balances.0 = bench.balances.0.saturating_add_signed(change);
    }
    trade(&mut bench, 200);
    assert_eq!((books(&bench).hold, resting(&bench)), (None, 2));
    // So are large ones.
    bench.balances.0 += 1_000_000;
    trade(&mut bench, 5);
    assert_eq!(resting(&bench), 0);
    bench.balances.0 -= 1_000_001;
    trade(&mut bench, 5);
    assert_eq!((books(&bench), resting(&bench)), (agreed(), 2));
}

/// Not with the next depth.
#[test]
fn quotes_are_decided_in_the_step_in_which_the_books_agree_again() {
    let mut config = config();
    limited(&mut config);
    config.poll.depth_ms = 2_700;
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    bench.until_a_submit_waits();
    trade(&mut bench, 5);
    bench.balances.0 += 1_000_000;
    trade(&mut bench, 10);
    assert_eq!(
        (books(&bench).hold, resting(&bench)),
        (Some(BooksHold::Limit), 0)
    );
    bench.balances.0 -= 1_000_000;
    bench.until_a_submit_waits();
    assert_eq!(books(&bench), agreed());
    let is_books = |note: &Notification| matches!(note, Notification::Books(_));
    let at = bench.notifications.iter().rposition(is_books).unwrap();
    assert_eq!(bench.noted_at[at], bench.now);
}

fn agreed() -> BooksStatus {
    BooksStatus {
        confirmed: true,
        ..BooksStatus::default()
    }
}

#[test]
fn an_operator_explains_in_parts_or_adopts_the_venues_balances() {
    let mut bench = quoting();
    bench.balances.0 -= 300_000;
    bench.balances.1 += 7;
    trade(&mut bench, 5);
    let reported = adopt(&mut bench, BASE, -200_000).unwrap();
    assert!(
        reported.contains("-0.1 T0 is not explained yet"),
        "{reported}"
    );
    trade(&mut bench, 5);
    assert_eq!(resting(&bench), 0, "a part is no explanation of all");
    let reported = resume(&mut bench).unwrap();
    assert!(
        reported.contains("-0.1 T0") && reported.contains("+0.000007 T1"),
        "{reported}"
    );
    assert_eq!(books(&bench), agreed());
    let flows = bench.bookings.iter().flat_map(|booking| &booking.entries);
    let flows: Vec<_> = flows
        .filter_map(|entry| match entry {
            Entry::Flow { token, amount, .. } => Some((*token, *amount)),
            _ => None,
        })
        .collect();
    assert_eq!(flows, [(BASE, -200_000), (BASE, -100_000), (QUOTE, 7)]);
    trade(&mut bench, 3);
    assert_eq!(resting(&bench), 2);
    // A small difference stops nothing, and resuming for another reason does not adopt it.
    bench.balances.1 += 1;
    trade(&mut bench, 5);
    resume(&mut bench).unwrap();
    assert_eq!(books(&bench).differences.len(), 1);
}

#[test]
fn a_difference_found_at_a_start_trades_nothing_however_small() {
    let bench = quoting();
    let (base, quote) = bench.balances;
    let mut bench = next(&bench, (base - 1, quote));
    trade(&mut bench, 5);
    let apart = Difference {
        ledger: signed(base),
        venue: base - 1,
    };
    let expected = BooksStatus {
        confirmed: true,
        differences: SortedMap::from([(BASE, apart)]),
        at_least: false,
        since: books(&bench).since,
        worth: SortedMap::from([(QUOTE, 100)]),
        hold: Some(BooksHold::Start),
    };
    assert_eq!(books(&bench), expected);
    let mut reasons =
        bench
            .notifications
            .iter()
            .rev()
            .filter_map(|notification| match notification {
                Notification::Withheld { withheld, .. } => *withheld,
                _ => None,
            });
    let withheld = reasons
        .find(|why| why.control == Control::BooksDiffer)
        .unwrap();
    let found = (
        withheld.control,
        withheld.value,
        withheld.limit,
        withheld.key(),
    );
    assert_eq!(
        found,
        (Control::BooksDiffer, Some(100), None, None),
        "no key would change it"
    );
    drop(reasons);
    assert!(bench.sealed.is_empty(), "nothing was even made");
    assert_eq!(bench.books.differences, expected.differences, "durable");
    assert_eq!(
        bench.books.ledger.as_ref().unwrap()[&BASE],
        signed(base),
        "not guessed"
    );
    // Another start finds the same difference.
    let again = |how: &dyn Fn(&mut TestBench)| {
        let mut again = next(&bench, (base - 1, quote));
        trade(&mut again, 5);
        assert!(again.sealed.is_empty());
        how(&mut again);
        trade(&mut again, 5);
        assert_eq!((books(&again), resting(&again)), (agreed(), 2));
        assert!(again.books.differences.is_empty());
        let losses = again.books.positions[&MarketId(0)].lost(crate::bench::ORIGIN);
        assert_eq!(losses.unwrap().map(|(_, lost)| lost), [0; 4], "no loss");
    };
    again(&|bench| drop(adopt(bench, BASE, -1).unwrap()));
    again(&|bench| drop(resume(bench).unwrap()));
    again(&|bench| bench.balances.0 += 1);
}

#[test]
fn flows_explained_before_the_first_reconciliation_are_in_the_ledger() {
    let bench = quoting();
    let (base, quote) = bench.balances;
    let mut bench = next(&bench, (base - 1_000_000, quote));
    bench.queries_lost = true;
    bench.run_ms(100);
    adopt(&mut bench, BASE, -1_000_000).unwrap();
    let held = bench.books.ledger.as_ref().unwrap()[&BASE];
    assert_eq!(held, signed(base) - 1_000_000);
    let mut bench = next(&bench, (base - 1_000_000, quote));
    trade(&mut bench, 5);
    assert_eq!((books(&bench).hold, resting(&bench)), (None, 2));
    // A first start takes the opening balances as they are, and there is nothing to explain.
    let mut first = TestBench::new(&BOTH);
    first.queries_lost = true;
    first.run_ms(100);
    let why = adopt(&mut first, BASE, 1).unwrap_err();
    assert!(why.contains("opening balances"), "{why}");
}

/// Balances that were requested before an operator stated a flow may not contain it: whether their answer has come or is
/// on its way, the opening balances are later ones.
#[test]
fn the_opening_balances_contain_the_flows_that_were_stated_before_them() {
    for has_answer in [true, false] {
        let mut bench = TestBench::new(&BOTH);
        bench.queries_lost = true;
        bench.run_ms(100);
        let is_balances = |(_, query): &(RequestId, Query)| query.endpoint() == Endpoint::Balances;
        let asked: Vec<_> = bench
            .lost_queries
            .extract_if(.., |asked| is_balances(asked))
            .collect();
        let answer = |bench: &mut TestBench| {
            for (request, query) in &asked {
                bench.answer_query(*request, query);
            }
        };
        if has_answer {
            answer(&mut bench);
        }
        let old = bench.balances;
        adopt(&mut bench, BASE, 1_000_000).unwrap_err();
        if !has_answer {
            answer(&mut bench);
        }
        bench.balances.0 += 1_000_000;
        bench.queries_lost = false;
        for (request, query) in std::mem::take(&mut bench.lost_queries) {
            bench.answer_query(request, &query);
        }
        trade(&mut bench, 5);
        let opening = bench.books.ledger.as_ref().unwrap()[&BASE];
        assert_eq!(opening, signed(old.0) + 1_000_000, "{has_answer}");
        assert_eq!((books(&bench).hold, resting(&bench)), (None, 2));
        assert_eq!(
            books(&bench),
            BooksStatus::default(),
            "nothing ever differed"
        );
    }
}

#[test]
fn fills_since_the_last_run_explain_the_change() {
    let mut last = quoting();
    let bought = *last
        .sealed
        .iter()
        .find(|(_, (_, order))| order.side == Side::Buy)
        .unwrap()
        .0;
    // The bid filled while no daemon ran; the ask beside it still rests.
    last.show(bought, OrderStatus::Processed, 100);
    let (base, quote) = last.balances;
    let traded = (base + 10_000, quote - 999_500);
    let run = |balances| {
        let mut bench = next(&last, balances);
        for (hash, order) in last.sealed.values() {
            bench.add_recovered(order.clone(), *hash);
        }
        bench.list.clone_from(&last.list);
        trade(&mut bench, 5);
        bench
    };
    let bench = run(traded);
    assert_eq!((books(&bench).differences.len(), resting(&bench)), (0, 2));
    let ledger = bench.books.ledger.as_ref().unwrap();
    let expected = (signed(traded.0), signed(traded.1));
    assert_eq!((ledger[&BASE], ledger[&QUOTE]), expected);
    // One unit more was not a fill.
    let bench = run((traded.0 + 1, traded.1));
    assert_eq!(books(&bench).hold, Some(BooksHold::Start));
    assert_eq!(books(&bench).differences[&BASE].unexplained(), 1);
}

/// A venue whose newest bid fills a lot every tenth of a second, so that no balances and no list describe the same
/// instant.
fn filling(bench: &mut TestBench, lots: &mut BTreeMap<ClientOrderId, u64>, seconds: u64) {
    for _ in 0..10 * seconds {
        filling_once(bench, lots);
    }
}

fn filling_once(bench: &mut TestBench, lots: &mut BTreeMap<ClientOrderId, u64>) {
    let bids = bench.sealed_ids().into_iter();
    let bid = bids.filter(|id| bench.sealed[id].1.side == Side::Buy).max();
    let lots = lots.entry(bid.unwrap()).or_default();
    let listed = bench.list.iter().find(|report| report.client_id == bid);
    if listed.is_some_and(|report| !report.status.is_final()) {
        *lots += 1;
        bench.show(bid.unwrap(), OrderStatus::Processing, *lots);
        bench.balances = (bench.balances.0 + 100, bench.balances.1 - 9_995);
    }
    bench.run_ms(100);
    bench.accept_all();
    while !bench.cancels.is_empty() {
        bench.accept_cancel();
    }
}

/// An account that trades all the time had no cut: 12 000 USDC were missing for eight minutes.
#[test]
fn while_fills_continue_an_unexplained_difference_stops_orders() {
    for (moved, hold) in [(-50_000, Some(BooksHold::Limit)), (0, None)] {
        let (mut bench, mut lots) = (quoting(), BTreeMap::new());
        let reconciled = bench.notifications.len();
        filling(&mut bench, &mut lots, 3);
        assert_eq!(books(&bench).hold, None);
        bench.balances.0 = bench.balances.0.checked_add_signed(moved).unwrap();
        let mut bounds = 0;
        for _ in 0..6 {
            filling(&mut bench, &mut lots, 1);
            if books(&bench).at_least {
                let why = resume(&mut bench).unwrap_err();
                assert!(why.contains("the exact amount is not known yet"), "{why}");
                bounds += 1;
            }
        }
        assert_eq!(bounds > 0, moved < 0, "{bounds}");
        let cut = |notification: &Notification| matches!(notification, Notification::Balanced);
        assert!(!bench.notifications[reconciled..].iter().any(cut), "no cut");
        assert_eq!(books(&bench).hold, hold);
        let difference = books(&bench)
            .differences
            .get(&BASE)
            .map(|d| d.unexplained());
        assert!(
            difference.is_none_or(|least| (moved..0).contains(&least)),
            "{difference:?}"
        );
        assert_eq!(difference.is_some(), moved < 0);
        // The fills cease: the difference is exact.
        trade(&mut bench, 6);
        let difference = books(&bench)
            .differences
            .get(&BASE)
            .map(|d| d.unexplained());
        assert_eq!(
            (difference.unwrap_or(0), books(&bench).at_least),
            (moved, false)
        );
        if moved < 0 {
            resume(&mut bench).unwrap();
            assert_eq!(books(&bench).hold, None);
        }
    }
}

#[test]
fn a_small_difference_is_reported_while_fills_do_not_explain_it() {
    let (mut bench, mut lots) = (quoting(), BTreeMap::new());
    filling(&mut bench, &mut lots, 3);
    bench.balances.0 += 200;
    let (mut shown, mut gone) = (0, 0);
    for _ in 0..120 {
        bench.run_ms(50);
        let reported = books(&bench);
        assert_eq!(reported.hold, None, "within the limit");
        assert_eq!(reported.since.is_some(), !reported.differences.is_empty());
        assert_eq!(reported.worth.is_empty(), reported.differences.is_empty());
        shown += u32::from(reported.at_least);
        gone += u32::from(shown > 0 && !reported.at_least);
        filling_once(&mut bench, &mut lots);
    }
    assert!(shown > 0 && gone > 0, "{shown} {gone}");
    assert_eq!(resting(&bench), 2, "it trades on");
}

/// A venue with constant fills at which an unexplained change of the base balance is known as a lower bound.
fn bounded(moved: i128) -> (TestBench, i128) {
    let (mut bench, mut lots) = (quoting(), BTreeMap::new());
    filling(&mut bench, &mut lots, 3);
    bench.balances.0 = bench.balances.0.checked_add_signed(moved).unwrap();
    for _ in 0..120 {
        bench.run_ms(50);
        if books(&bench).at_least {
            let known = books(&bench).differences[&BASE].unexplained();
            return (bench, known);
        }
        filling_once(&mut bench, &mut lots);
    }
    panic!("no lower bound");
}

/// The balance may contain more fills than the bound assumes, and the flow may have come after it.
#[test]
fn an_explained_flow_leaves_of_a_lower_bound_what_it_cannot_have_caused() {
    for (sign, moved) in [(1, 900), (-1, -900)] {
        let left = |explained: fn(i128) -> i128| {
            let (mut bench, known) = bounded(moved);
            assert_eq!(books(&bench).hold, None, "within the limit");
            assert!(known.signum() == sign && known.abs() > 1, "{known}");
            adopt(&mut bench, BASE, sign * explained(known.abs())).unwrap();
            (books(&bench), known)
        };
        let (part, _) = left(|known| known - 1);
        assert_eq!(part.differences[&BASE].unexplained(), sign);
        assert_eq!(part.worth, SortedMap::from([(QUOTE, 100)]));
        assert!(part.at_least && part.since.is_some());
        let other: [fn(i128) -> i128; 2] = [|known| known, |known| known + 1];
        for explained in other {
            assert_eq!(left(explained).0, agreed());
        }
        let (other_way, known) = left(|_| -1);
        assert_eq!(other_way.differences[&BASE].unexplained(), known);
        assert!(other_way.at_least);
    }
}

#[test]
fn a_lower_bound_that_stops_orders_does_so_until_the_next_cut() {
    let (mut bench, known) = bounded(-50_000);
    assert_eq!(books(&bench).hold, Some(BooksHold::Limit));
    for (explained, left) in [(-1, known + 1), (-49_999, known + 1)] {
        adopt(&mut bench, BASE, explained).unwrap();
        let reported = books(&bench);
        assert_eq!(reported.differences[&BASE].unexplained(), left);
        assert_eq!(reported.hold, Some(BooksHold::Limit));
        assert!(reported.at_least);
    }
    trade(&mut bench, 6);
    assert_eq!((books(&bench), resting(&bench)), (agreed(), 2));
}

/// A venue that lists no order any more may have filled each of them until its fence, and nothing beyond: an exchange that
/// came back with other data was traded on for as long as orders live.
#[test]
fn what_unlisted_orders_cannot_have_filled_is_a_difference_before_their_fence() {
    for side in Side::BOTH {
        for (beyond, hold) in [(0, None), (50_000, Some(BooksHold::Limit))] {
            let mut bench = quoting();
            let open = bench.list.iter().filter(|order| !order.status.is_final());
            let ids: Vec<_> = open.filter_map(|order| order.client_id).collect();
            let orders = ids.iter().map(|id| &bench.sealed[id].1);
            let of_side = orders.filter(|order| order.side == side);
            let filled: Amount = of_side.map(|order| order.base().1).sum();
            assert!(filled > 0 && filled < 50_000, "{filled}");
            bench.list.clear();
            let base = bench.balances.0;
            bench.balances.0 = match side {
                Side::Buy => base + filled + beyond,
                Side::Sell => base - filled - beyond,
            };
            // It knows none of the orders, so that it cancels none.
            bench.run_ms(6_000);
            let reported = books(&bench);
            assert_eq!(reported.hold, hold, "{side:?} {beyond}");
            assert_eq!(reported.at_least, hold.is_some(), "{side:?} {beyond}");
            let difference = reported.differences.get(&BASE).map(|d| d.size());
            assert_eq!(difference, hold.map(|_| beyond), "{side:?}");
            if hold.is_some() {
                let why = resume(&mut bench).unwrap_err();
                assert!(why.contains("the exact amount is not known yet"), "{why}");
            }
            // Past their fence nothing is explained by them.
            bench.run_ms(config().ttl_ms + config().grace_ms);
            trade(&mut bench, 6);
            let reported = books(&bench);
            assert!(!reported.at_least, "{side:?} {beyond}");
            let exact = reported.differences.get(&BASE).map(|d| d.size());
            assert_eq!(exact, Some(filled + beyond), "{side:?} {beyond}");
        }
    }
}

/// A bid and an ask of the bench.
fn both_sides(bench: &TestBench) -> [ClientOrderId; 2] {
    let of = |side| {
        let sealed = bench.sealed.iter();
        let found = sealed.filter(|(_, (_, order))| order.side == side);
        *found.map(|(id, _)| id).next().unwrap()
    };
    [of(Side::Buy), of(Side::Sell)]
}

/// A run that ended with a bid and an ask open, and 4 000 base units held, less than the ask sells.
fn with_little_base() -> (TestBench, [ClientOrderId; 2]) {
    let mut bench = quoting();
    let orders = both_sides(&bench);
    let ledger = bench.books.ledger.as_mut().unwrap();
    ledger.insert(BASE, 4_000);
    bench.balances.0 = 4_000;
    (bench, orders)
}

/// A run after it that recovers these orders.
fn recovering(last: &TestBench, orders: &[ClientOrderId], balances: (Amount, Amount)) -> TestBench {
    let mut bench = next(last, balances);
    for id in orders {
        let (hash, order) = last.sealed[id].clone();
        bench.add_recovered(order, hash);
    }
    bench.list.clone_from(&last.list);
    bench
}

fn failed_invariants(bench: &TestBench) -> Vec<&str> {
    let notifications = bench.notifications.iter();
    let failed = notifications.filter_map(|notification| match notification {
        Notification::InvariantFailed { name, .. } => Some(name.as_str()),
        _ => None,
    });
    failed.collect()
}

/// Lists are newest first: a sale is found before the purchase of what it sold.
#[test]
fn a_sale_found_before_its_purchase_is_booked_exactly() {
    let (mut last, [bid, ask]) = with_little_base();
    let quote = last.balances.1;
    last.show(ask, OrderStatus::Processed, 100);
    // A kill between two pages: the sale is booked, the purchase is not.
    let mut first = recovering(&last, &[bid, ask], (4_000, quote + 1_000));
    first.run_ms(1_500);
    let booked = first.books.ledger.as_ref().unwrap()[&BASE];
    assert_eq!(booked, 4_000 - 10_000, "durable below zero");
    assert!(first.sealed_ids().iter().all(|id| [bid, ask].contains(id)));
    first.show(bid, OrderStatus::Processed, 100);
    for (last, open) in [(&first, &[bid][..]), (&last, &[bid, ask])] {
        let mut bench = recovering(last, open, (4_000, quote + 1_000));
        bench.list.clone_from(&first.list);
        trade(&mut bench, 5);
        assert_eq!(failed_invariants(&bench), [""; 0]);
        assert_eq!(
            (books(&bench).hold, books(&bench).differences.len()),
            (None, 0)
        );
        let ledger = bench.books.ledger.as_ref().unwrap();
        let expected = (4_000, signed(quote) + 1_000);
        assert_eq!((ledger[&BASE], ledger[&QUOTE]), expected);
    }
}

#[test]
fn a_ledger_below_zero_stops_a_run_at_its_next_comparison() {
    let (mut last, orders @ [_, ask]) = with_little_base();
    last.show(ask, OrderStatus::Processed, 100);
    let mut bench = recovering(&last, &orders, (0, last.balances.1));
    trade(&mut bench, 5);
    assert_eq!(failed_invariants(&bench), ["ledger_negative"]);
    let apart = Difference {
        ledger: -6_000,
        venue: 0,
    };
    assert_eq!(books(&bench).differences[&BASE], apart);
    assert_eq!(apart.unexplained(), 6_000);
    assert_eq!(books(&bench).hold, Some(BooksHold::Start));

    for (left, failed) in [(10_000, &[][..]), (9_999, &["ledger_negative"])] {
        let mut bench = quoting();
        let [_, ask] = both_sides(&bench);
        let held = signed(bench.balances.0);
        adopt(&mut bench, BASE, left - held).unwrap();
        bench.show(ask, OrderStatus::Processed, 100);
        bench.balances.0 = 0;
        trade(&mut bench, 30);
        assert_eq!(failed_invariants(&bench), failed, "{left}");
        assert!(bench.status().level > TradingState::Active || failed.is_empty());
    }
}

/// An outflow was paid from a sale that no list had shown yet, and the list shows what the rest bought before that
/// sale.
#[test]
fn a_purchase_found_before_the_sale_that_paid_for_an_outflow_is_booked_exactly() {
    for token in [BASE, QUOTE] {
        let mut bench = quoting();
        let [bid, ask] = both_sides(&bench);
        let amount = |id: ClientOrderId| {
            let order = &bench.sealed[&id].1;
            signed(order.sell_amount)
        };
        let needed = amount(if token == BASE { ask } else { bid });
        let held = if token == BASE {
            &mut bench.balances.0
        } else {
            &mut bench.balances.1
        };
        let flow = needed - 1 - signed(*held);
        *held = held.checked_add_signed(flow).unwrap();
        bench.balances.1 += 1_000;
        adopt(&mut bench, token, flow).unwrap();
        bench.show(ask, OrderStatus::Processed, 100);
        bench.show(bid, OrderStatus::Processed, 100);
        trade(&mut bench, 30);
        assert_eq!(failed_invariants(&bench), [""; 0], "{token:?}");
        assert!(books(&bench).differences.is_empty());
    }
}

#[test]
fn bookings_are_durable_as_a_whole_at_every_event() {
    let mut bench = quoting();
    let id = *bench
        .sealed
        .iter()
        .find(|(_, (_, o))| o.side == Side::Buy)
        .unwrap()
        .0;
    bench.show(id, OrderStatus::Cancelled, 40);
    bench.balances = (bench.balances.0 + 4_000, bench.balances.1 - 399_800);
    bench.bookings.clear();
    bench.run_ms(1_200);
    let booking = bench
        .bookings
        .iter()
        .find(|booking| !booking.entries.is_empty())
        .unwrap();
    let names: Vec<_> = booking
        .entries
        .iter()
        .map(|entry| match entry {
            Entry::Fill(fill) => format!("fill {}", fill.base),
            Entry::Ended(_, end) => end.name().to_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["fill 4000", "cancelled"]);
    let (base, quote) = bench.balances;
    let ledger = SortedMap::from([(BASE, signed(base)), (QUOTE, signed(quote))]);
    assert_eq!(booking.ledger, ledger);
    let position = &booking.positions[&MarketId(0)];
    assert_eq!((position.base, position.cash), (500_004_000, -399_800));
    // A step that changes nothing stores nothing.
    bench.bookings.clear();
    bench.handle_event(&Event::Wake);
    bench.run_ms(10);
    assert!(bench.bookings.is_empty(), "{:?}", bench.bookings);
    // Everything was stored: a kill now leaves the engine's state.
    let mut all = Books::default();
    let mut again = quoting();
    again.bookings.iter().for_each(|booking| all.book(booking));
    assert_eq!(all, again.books);
    again.handle_event(&Event::Operator(Command::Drain));
    again.run_ms(100);
    assert_eq!(again.books.ledger.as_ref().unwrap()[&OTHER], 1);
}

#[test]
fn a_difference_in_an_untraded_token_stops_nothing_at_once() {
    let mut bench = quoting();
    bench.other = Some(1 << 80);
    trade(&mut bench, 290);
    assert_eq!((books(&bench).hold, resting(&bench)), (None, 2));
    assert_eq!(books(&bench).differences.len(), 1);
    assert!(books(&bench).worth.is_empty());
    trade(&mut bench, 20);
    assert_eq!(books(&bench).hold, Some(BooksHold::Lasting));
}

/// A thousand shares have a value of 200 000 000.
fn beside(most: Amount, known: bool) -> (Beside, BooksStatus) {
    let mut config = limits();
    config.risk.mismatch_max = SortedMap::from([(QUOTE, most)]);
    let mut bench = Beside::new(0, config, Vec::new());
    if !known {
        bench.pool.supply = 0;
    }
    bench.run_ms(3_000);
    bench.held.insert(LP, 1_000);
    bench.run_ms(3_000);
    let reported = bench
        .notifications
        .iter()
        .rev()
        .find_map(|notification| match notification {
            Notification::Books(books) => Some((**books).clone()),
            _ => None,
        });
    (bench, reported.unwrap())
}

#[test]
fn shares_are_valued_at_their_cost() {
    let worth = 200_000_000;
    assert_eq!(POOL.supply, 1_000_000);
    let (_, reported) = beside(worth, true);
    assert_eq!(
        (reported.hold, &reported.worth),
        (None, &SortedMap::from([(QUOTE, worth)]))
    );
    assert_eq!(beside(worth - 1, true).1.hold, Some(BooksHold::Limit));
    let (_, reported) = beside(Amount::MAX, false);
    assert_eq!(
        reported.hold,
        Some(BooksHold::Limit),
        "without a known value"
    );
}

#[test]
fn nothing_is_quoted_while_held_shares_have_no_value() {
    let run = |supply| {
        let mut bench = Beside::new(1_000, limits(), Vec::new());
        bench.held.insert(LP, 500);
        bench.pool.supply = supply;
        bench.run_ms(4_000);
        bench
    };
    assert!(!run(POOL.supply).sent.is_empty());
    let blind = run(0);
    assert!(blind.sent.is_empty());
    let barred = blind.notifications.iter().any(|notification| {
        matches!(notification, Notification::Withheld { withheld: Some(why), .. } if why.control == Control::StaleData)
    });
    assert!(barred);
}

/// A difference is reported when it changes and when it begins to stop orders, not at every comparison.
#[test]
fn a_difference_is_reported_once_and_again_when_it_stops_orders() {
    let mut bench = quoting();
    let reported = |bench: &TestBench| bench.count(|n| matches!(n, Notification::Books(_)));
    let before = reported(&bench);
    bench.balances.0 += 7;
    trade(&mut bench, 20);
    assert_eq!(reported(&bench) - before, 1);
    assert_eq!(books(&bench).hold, None);
    bench.balances.0 += 1;
    trade(&mut bench, 20);
    assert_eq!(reported(&bench) - before, 2);
    trade(&mut bench, 300);
    assert_eq!(books(&bench).hold, Some(BooksHold::Lasting));
    assert_eq!(reported(&bench) - before, 3);
}

/// A fee up to the configured rate is expected; a unit more is reported, and booked all the same.
#[test]
fn a_fee_above_the_rate_is_reported() {
    // 100 lots are 10 000 base units, and the rate is 20 ten-thousandths.
    for (fee, reported) in [(0, 0), (20, 0), (21, 1)] {
        let mut bench = TestBench::ready(&BOTH);
        let id = bench.accept();
        bench.accept();
        assert_eq!(bench.sealed[&id].1.side, Side::Buy);
        bench.show(id, OrderStatus::Processed, 100);
        bench.list.last_mut().unwrap().fee = fee;
        bench.run_ms(2_000);
        let above = bench.count(|n| matches!(n, Notification::FeeAbove { expected: 20, .. }));
        assert_eq!((above, bench.fills()[0].fee), (reported, fee));
    }
}
