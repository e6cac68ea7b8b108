//! Charges: what a venue takes for requests is booked once, by its number, with balances that contain it.

use cambist_core::books::Entry;
use cambist_core::event::Event;
use cambist_core::notification::{BooksHold, BooksStatus, Notification};
use cambist_core::order::Hash;
use cambist_core::request::{Charge, Endpoint, Query, UnknownCause};
use cambist_core::strategy::Strategy;
use cambist_core::venue::ChargedAs;
use cambist_core::{Amount, MarketId, MarketSpec, TokenId};

use crate::bench::{
    Always, BASE, BOTH, COIN, ORIGIN, OTHER, QUOTE, TestBench, config, spec, token,
};

fn charge(number: u64, token: TokenId, amount: Amount) -> Charge {
    Charge {
        number,
        token,
        amount,
        cause: Hash([u8::try_from(number).unwrap(); 32]),
    }
}

/// A coin of 1,000 from which charges were taken, with these of them reported.
fn taken(bench: &mut TestBench, held: Amount, charges: &[Charge], below: u64) {
    bench.charged = Some((held, charges.to_vec(), below));
    trade(bench);
}

fn trade(bench: &mut TestBench) {
    for _ in 0..5 {
        bench.run_ms(1_000);
        bench.accept_all();
        while !bench.cancels.is_empty() {
            bench.accept_cancel();
        }
    }
}

/// A first run at a venue that took charges before it.
fn quoting() -> TestBench {
    quoting_by(|_| ())
}

fn quoting_by(rules: impl Fn(&mut TestBench)) -> TestBench {
    let mut bench = TestBench::with(&BOTH, config(), Vec::new());
    rules(&mut bench);
    bench.other = Some(1);
    bench.charged = Some((1_000, vec![charge(4, COIN, 9)], 5));
    bench.until_a_submit_waits();
    trade(&mut bench);
    bench
}

fn next(last: &TestBench) -> TestBench {
    let mut bench = TestBench::with(&BOTH, config(), Vec::new());
    bench.other = last.other;
    bench.balances = last.balances;
    bench.starts_with(last.stored.clone());
    bench.starts_with_books(last.books.clone());
    bench
}

fn books(bench: &TestBench) -> BooksStatus {
    let mut reported = bench.notifications.iter().rev();
    let last = reported.find_map(|notification| match notification {
        Notification::Books(books) => Some((**books).clone()),
        _ => None,
    });
    last.unwrap_or_default()
}

fn held(bench: &TestBench, token: TokenId) -> i128 {
    bench.books.ledger.as_ref().unwrap()[&token]
}

fn flows(bench: &TestBench) -> Vec<(TokenId, i128)> {
    let entries = bench.bookings.iter().flat_map(|booking| &booking.entries);
    let flows = entries.filter_map(|entry| match entry {
        Entry::Flow { token, amount, .. } => Some((*token, *amount)),
        _ => None,
    });
    flows.collect()
}

#[test]
fn each_is_booked_once_and_explains_the_balance() {
    let mut bench = quoting();
    assert_eq!((held(&bench, COIN), bench.books.charged_below), (1_000, 5));
    assert_eq!(flows(&bench), [], "the opening balances contain them");
    let all = [charge(4, COIN, 9), charge(5, COIN, 30), charge(6, COIN, 1)];
    taken(&mut bench, 970, &all[..2], 6);
    taken(&mut bench, 970, &all[..2], 6);
    taken(&mut bench, 969, &all, 7);
    assert_eq!(flows(&bench), [(COIN, -30), (COIN, -1)]);
    assert_eq!((held(&bench, COIN), bench.books.charged_below), (969, 7));
    assert!(books(&bench).differences.is_empty());
    // A later run gets them again, with one that was taken while nothing ran.
    let mut later = next(&bench);
    let again = [charge(6, COIN, 1), charge(7, COIN, 60)];
    taken(&mut later, 909, &again, 8);
    assert_eq!(flows(&later), [(COIN, -60)]);
    assert_eq!((held(&later, COIN), later.books.charged_below), (909, 8));
    assert!(books(&later).differences.is_empty());
    assert!(!later.sealed.is_empty(), "it trades");
}

/// A charge of another amount than what left is no explanation of the rest.
#[test]
fn what_left_beside_a_charge_is_a_difference() {
    let mut bench = quoting();
    taken(&mut bench, 969, &[charge(5, COIN, 30)], 6);
    let apart = books(&bench).differences;
    assert_eq!(apart[&COIN].unexplained(), -1);
    let mut later = next(&bench);
    taken(&mut later, 969, &[], 6);
    assert_eq!(books(&later).hold, Some(BooksHold::Start));
}

#[test]
fn an_answer_that_leaves_one_out_or_is_older_counts_as_unread() {
    let unread = |bench: &TestBench| {
        let lost = |notification: &&Notification| {
            matches!(
                notification,
                Notification::Unknown {
                    endpoint: Endpoint::Balances,
                    cause: UnknownCause::Undecodable,
                    ..
                }
            )
        };
        bench.notifications.iter().filter(lost).count()
    };
    let mut bench = quoting();
    for (charges, below) in [
        (vec![charge(6, COIN, 30)], 7),
        (vec![charge(5, COIN, 30), charge(7, COIN, 30)], 8),
        (vec![charge(5, COIN, 30)], 7),
        (vec![], 4),
    ] {
        let before = unread(&bench);
        taken(&mut bench, 900, &charges, below);
        assert!(unread(&bench) > before, "{charges:?} {below}");
        assert_eq!((held(&bench, COIN), bench.books.charged_below), (1_000, 5));
        assert!(books(&bench).differences.is_empty(), "{charges:?} {below}");
    }
    let before = unread(&bench);
    let all = [charge(5, COIN, 30), charge(6, COIN, 70)];
    taken(&mut bench, 900, &all, 7);
    assert_eq!((unread(&bench), held(&bench, COIN)), (before, 900));
}

/// In a token of a market it is a loss there, because it is not what a trade paid.
#[test]
fn a_charge_in_a_traded_token_is_a_loss() {
    let mut bench = quoting();
    let lost = |bench: &TestBench| {
        let lost = bench.books.positions[&MarketId(0)].lost(ORIGIN);
        lost.unwrap()[2].1
    };
    let before = lost(&bench);
    bench.balances.1 -= 25;
    taken(&mut bench, 1_000, &[charge(5, QUOTE, 25)], 6);
    assert_eq!(lost(&bench) - before, 25);
    assert!(books(&bench).differences.is_empty());
}

/// The coin, of so many decimals, counts as the base token.
fn counts_as_base(bench: &mut TestBench, decimals: u8) {
    let Some(Event::Start(start)) = &mut bench.start else {
        unreachable!()
    };
    let charged = token(COIN, decimals);
    start.venue.charged_as = ChargedAs::new(&charged, &token(BASE, 6));
}

/// A market that never had a mid takes no charge: none of its limits would count it.
#[test]
fn a_charge_is_a_loss_of_a_market_with_a_mid() {
    let mut config = config();
    config.markets.push(config.markets[0].clone());
    let tokens = (token(BASE, 6), token(OTHER, 6));
    let second = MarketSpec::new(MarketId(1), "T0-T2", tokens.0, tokens.1, 2, true).unwrap();
    let quotes = || -> Box<dyn Strategy> { Box::new(Always(BOTH.to_vec())) };
    for (dark, counts) in [(0, 1), (1, 0)] {
        let markets = vec![spec(), second.clone()];
        let strategies = vec![quotes(), quotes()];
        let mut bench = TestBench::at(markets, strategies, config.clone(), Vec::new());
        counts_as_base(&mut bench, 6);
        bench.unanswered = match dark {
            0 => |query| matches!(query, Query::Depth(MarketId(0))),
            _ => |query| matches!(query, Query::Depth(MarketId(1))),
        };
        bench.other = Some(1);
        bench.charged = Some((1_000, vec![charge(4, COIN, 9)], 5));
        bench.until_a_submit_waits();
        trade(&mut bench);
        let cash = |bench: &TestBench, market| {
            let position = bench.books.positions.get(&MarketId(market));
            position.map_or(0, |position| position.cash)
        };
        let before = [dark, counts].map(|market| cash(&bench, market));
        taken(&mut bench, 969, &[charge(5, COIN, 31)], 6);
        let after = [dark, counts].map(|market| cash(&bench, market));
        assert_eq!(after, [before[0], before[1] - 3_100], "{dark}");
    }
}

/// The coin counts as the base token, of which no amount moves: a loss at the mid, rounded up, over restarts as well.
#[test]
fn a_charge_counts_as_the_token_that_it_is_worth() {
    let lost = |bench: &TestBench| {
        let lost = bench.books.positions[&MarketId(0)].lost(ORIGIN);
        lost.unwrap()[2].1
    };
    // 100.00 quote for one base, both of 6 decimals.
    for (decimals, first, second) in [(6, 3_100, 900), (8, 100, 100), (5, 31_000, 9_000)] {
        let rules = |bench: &mut TestBench| counts_as_base(bench, decimals);
        let mut bench = quoting_by(rules);
        let (before, was) = (lost(&bench), bench.books.positions[&MarketId(0)].clone());
        taken(&mut bench, 969, &[charge(5, COIN, 31)], 6);
        let position = &bench.books.positions[&MarketId(0)];
        assert_eq!(was.cash - position.cash, first, "{decimals}");
        assert_eq!(lost(&bench) - before, first, "{decimals}");
        assert_eq!((position.base, held(&bench, BASE)), (was.base, was.base));
        assert_eq!(held(&bench, COIN), 969);
        assert!(books(&bench).differences.is_empty());
        let mut later = next(&bench);
        rules(&mut later);
        taken(&mut later, 960, &[charge(6, COIN, 9)], 7);
        let all = first + second;
        assert_eq!(lost(&later) - before, all, "{decimals}");
    }
}
