//! Shares of a pool and base tokens of several markets: each is counted in one place, from the opening balances on.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;

use cambist_core::books::{Baselines, Booking, Books, Position};
use cambist_core::event::Rate;
use cambist_core::notification::{End, PoolTransactionSettlement};
use cambist_core::pool::{PoolBalances, PoolTransactionAmounts};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, MarketId, MarketSpec, PoolTransactionKind, StrategyId};
use tempfile::TempDir;

use super::period::{self, Hours};
use super::{ACCOUNT, CountState, rows};
use crate::books_tests::{BTC, ETH, SHARES, USDC, listing};
use crate::{Filled, Listing, Store, StoreEntry};

/// As in other tests, and a market of two tokens that are base tokens elsewhere.
fn markets() -> Listing {
    let mut listing = listing();
    let (eth, btc) = (listing.tokens[0].clone(), listing.tokens[2].clone());
    let third = MarketSpec::new(MarketId(2), "ETH-BTC", eth, btc, 2, true).unwrap();
    listing.markets.push(third);
    listing
}

fn strategies() -> Vec<String> {
    ["bands", "ladder"].map(str::to_owned).to_vec()
}

fn opened(shares: i128) -> (TempDir, Store) {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    let names: Vec<_> = markets()
        .markets
        .iter()
        .map(|market| market.name.clone())
        .collect();
    store.recover(&names).unwrap();
    let (books, _) = store.books(&markets()).unwrap();
    store
        .count_results(&markets(), &strategies(), &books)
        .unwrap();
    store.pools_hold(pools());
    store.book(&[], &opening(shares)).unwrap();
    (folder, store)
}

fn pools() -> SortedMap<MarketId, PoolBalances> {
    let balances = PoolBalances::constant_product([4 * 10_u128.pow(18), 10_000_000_000], 8_000);
    [(MarketId(0), balances)].into()
}

const BASES: [i128; 3] = [10_i128.pow(18), 230_000_000, 0];

/// What each market carries, at a mid of its own.
fn positions(bases: [i128; 3]) -> SortedMap<MarketId, Position> {
    let of_market = |(market, base): (&MarketSpec, i128)| {
        let mid = Rate {
            quote: market.quote_per_lot_tick * 500_000,
            base: market.lot * 2,
        };
        let position = Position {
            base,
            cash: 0,
            baselines: Some(Baselines {
                mid,
                ..Baselines::default()
            }),
        };
        (market.id, position)
    };
    markets().markets.iter().zip(bases).map(of_market).collect()
}

fn opening(shares: i128) -> Booking {
    let ledger = [
        (ETH, BASES[0]),
        (USDC, 5_000_000),
        (BTC, BASES[1]),
        (SHARES, shares),
    ];
    Booking {
        opens: true,
        ledger: ledger.into(),
        positions: positions(BASES),
        ..Booking::default()
    }
}

/// The newest counts of a market: series and state, by owner.
fn counts(store: &Store, market: &str) -> BTreeMap<String, (u32, CountState)> {
    let found = rows::newest(&store.database, market).map_err(|error| error.at(&store.file));
    let found = found.unwrap().into_iter();
    found
        .map(|(owner, series, state)| (owner, (series, state.unwrap())))
        .collect()
}

fn shares(state: &CountState) -> i128 {
    state.pnl.shares().unwrap().1
}

#[test]
fn each_base_token_is_opened_in_the_first_market_that_trades_it() {
    let (_folder, mut store) = opened(1_000);
    for (market, base) in [
        ("ETH-USDC", BASES[0]),
        ("BTC-USDC", BASES[1]),
        ("ETH-BTC", 0),
    ] {
        let counts = counts(&store, market);
        assert_eq!(counts.keys().collect::<Vec<_>>(), [ACCOUNT], "{market}");
        let (series, state) = &counts[ACCOUNT];
        assert_eq!(
            (*series, state.pnl.base(), state.came),
            (0, base, [0, 0]),
            "{market}"
        );
        assert_eq!(
            (state.fills, state.base_volume, state.quote_volume),
            (0, 0, 0)
        );
    }
    assert_eq!(shares(&counts(&store, "ETH-USDC")[ACCOUNT].1), 1_000);
    assert_eq!(counts(&store, "BTC-USDC")[ACCOUNT].1.pnl.shares(), None);
    // What comes without an entry is a flow of the market that carries the token.
    let mut ledger = opening(1_500).ledger;
    ledger.insert(BTC, BASES[1] + 7);
    let booking = Booking {
        ledger,
        positions: positions([BASES[0] - 5, BASES[1] + 7, 3]),
        ..Booking::default()
    };
    store.book(&[], &booking).unwrap();
    let came = |market: &str| counts(&store, market)[ACCOUNT].1.came;
    assert_eq!(came("ETH-USDC"), [-5, 500]);
    assert_eq!(came("BTC-USDC"), [7, 0]);
    assert_eq!(came("ETH-BTC"), [3, 0]);
    assert_eq!(shares(&counts(&store, "ETH-USDC")[ACCOUNT].1), 1_500);
}

/// A market without a position in the opening booking is opened too.
#[test]
fn every_market_is_opened_at_once() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    store.recover(&[]).unwrap();
    store
        .count_results(&markets(), &strategies(), &Books::default())
        .unwrap();
    assert_eq!(store.profit_and_loss().count(), 0);
    let booking = Booking {
        positions: SortedMap::new(),
        ..opening(0)
    };
    store.book(&[], &booking).unwrap();
    let owners: Vec<_> = store
        .profit_and_loss()
        .map(|(market, owner, _)| (market, owner))
        .collect();
    assert_eq!(
        owners,
        [
            ("ETH-USDC", ACCOUNT),
            ("BTC-USDC", ACCOUNT),
            ("ETH-BTC", ACCOUNT)
        ]
    );
}

/// ETH is traded for USDC and for BTC: what a trade of one market moves, the other one does not count in its own token.
#[test]
fn a_token_of_several_quote_tokens_is_named_and_no_difference_is_stated() {
    let (folder, _store) = opened(0);
    let report = period::read(folder.path(), Hours::default()).unwrap();
    assert!(!report.quotes.is_empty());
    for quote in &report.quotes {
        assert_eq!(quote.unattributed, None, "{quote:?}");
    }
    let named = |note: &String| note.contains("is traded at markets of several quote tokens");
    assert!(report.notes.iter().any(named), "{:?}", report.notes);
    assert!(!report.differs);
}

fn moved(store: &Store, number: u64, strategy: u8, kind: PoolTransactionKind) -> StoreEntry {
    let order = ClientOrderId {
        instance: store.instance(),
        strategy: StrategyId(strategy),
        number,
    };
    let amounts = PoolTransactionAmounts {
        pooled: [10_u128.pow(15), 2_500_000],
        lp: 700,
        fee: 3,
    };
    StoreEntry::End {
        order,
        end: End::Filled,
        filled: Filled::default(),
        moved: Some(PoolTransactionSettlement {
            order,
            market: MarketId(0),
            kind,
            pooled: [ETH, USDC],
            lp: SHARES,
            amounts,
            mid: Some(500_000),
        }),
    }
}

/// Shares belong to the owner of the first share, whichever strategy moves them later.
#[test]
fn shares_are_counted_by_one_owner() {
    let (folder, mut store) = opened(0);
    let next = store.next_number;
    let book = |store: &mut Store, entries: &[StoreEntry], shares: i128, joins: i128| {
        let base = BASES[0] - joins * 10_i128.pow(15);
        let booking = Booking {
            ledger: [
                (ETH, base),
                (USDC, 5_000_000 - joins * 2_500_003),
                (SHARES, shares),
            ]
            .into(),
            positions: positions([base, BASES[1], 0]),
            ..Booking::default()
        };
        // The orders themselves are not in this store.
        let refused = store.book(entries, &booking);
        assert_eq!(refused.is_ok(), entries.is_empty());
    };
    let join = |store: &Store, number, strategy| {
        [moved(store, number, strategy, PoolTransactionKind::Join)]
    };
    let first = join(&store, next, 0);
    book(&mut store, &first, 700, 1);
    let of = |store: &Store, owner: &str| {
        let counts = counts(store, "ETH-USDC");
        counts
            .get(owner)
            .map(|(_, state)| (shares(state), state.came))
    };
    assert_eq!(of(&store, "bands"), Some((700, [0, 0])));
    assert_eq!(of(&store, ACCOUNT), Some((0, [0, 0])));
    let second = join(&store, next + 1, 1);
    book(&mut store, &second, 1_400, 2);
    assert_eq!(of(&store, "bands"), Some((1_400, [0, 0])));
    assert_eq!(of(&store, "ladder"), None);
    // A deposit of shares is one of their owner.
    book(&mut store, &[], 1_450, 2);
    assert_eq!(of(&store, "bands"), Some((1_450, [0, 50])));
    let report = period::read(folder.path(), Hours::default()).unwrap();
    assert_eq!(report.tokens[&SHARES].units, [0, 1_450]);
    assert_eq!(report.tokens[&SHARES].traded, 1_400);
    assert_eq!(report.tokens[&ETH].traded, -2 * 10_i128.pow(15));
    // Its flow is not explained by a row.
    assert_eq!(report.tokens[&SHARES].unexplained(), 50);
    assert!(report.differs);
    let known = store
        .profit_and_loss()
        .filter(|(market, ..)| *market == "ETH-USDC");
    for (_, owner, pnl) in known {
        assert!(pnl.unwrap().pool.is_some(), "{owner}");
    }
}

/// A restart continues the series, also with shares, and counts nothing twice.
#[test]
fn counts_continue_after_a_restart() {
    let (folder, store) = opened(1_000);
    let before = counts(&store, "ETH-USDC");
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    let names: Vec<_> = markets()
        .markets
        .iter()
        .map(|market| market.name.clone())
        .collect();
    store.recover(&names).unwrap();
    let (books, _) = store.books(&markets()).unwrap();
    store
        .count_results(&markets(), &strategies(), &books)
        .unwrap();
    let after = counts(&store, "ETH-USDC");
    assert_eq!(after, before);
    assert_eq!(after[ACCOUNT].0, 0, "no new series");
    // Other units cannot be continued.
    let mut other = markets();
    let [base, quote] = [0, 1].map(|at: usize| other.tokens[at].clone());
    other.markets[0] = MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, 3, true).unwrap();
    store.count_results(&other, &strategies(), &books).unwrap();
    assert_eq!(counts(&store, "ETH-USDC")[ACCOUNT].0, 1);
    assert_eq!(counts(&store, "BTC-USDC")[ACCOUNT].0, 0);
}

/// Names that are set again before an order was made replace those before them.
#[test]
fn names_are_those_of_the_last_start_before_an_order() {
    let (folder, mut store) = opened(0);
    let books = Books::default();
    store
        .count_results(&markets(), &["one".to_owned()], &books)
        .unwrap();
    let names = |store: &Store| {
        let names = rows::names(&store.database).map_err(|error| error.at(&store.file));
        names.unwrap()
    };
    let number = store.next_number;
    assert_eq!(names(&store).of(number, 0), "one");
    assert_eq!(names(&store).of(number, 1), "strategy 1");
    store.skip_past(number + 9).unwrap();
    store
        .count_results(&markets(), &strategies(), &books)
        .unwrap();
    for (at, name) in [
        (0, "one"),
        (number, "one"),
        (number + 9, "one"),
        (number + 10, "bands"),
    ] {
        assert_eq!(names(&store).of(at, 0), name, "{at}");
    }
    assert_eq!(names(&store).of(number + 10, 1), "ladder");
    drop((store, folder));
}

#[test]
fn a_store_without_bookings_has_no_results() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    store.books(&markets()).unwrap();
    let report = period::read(folder.path(), Hours::default()).unwrap();
    assert_eq!(report.notes.len(), 1);
    assert!(
        report.notes[0].starts_with("there are no results yet"),
        "{:?}",
        report.notes
    );
    assert_eq!((report.attributed_us, report.differs), (None, false));
    assert_eq!(report.token(BTC).unwrap().symbol, "BTC");
    assert_eq!(report.token(SHARES), None);
}
