//! The stored books come back as they were written, altered ones are damage, and operations beside a daemon change
//! exactly what they say.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::books::{Baselines, Booking, Difference, Position};
use cambist_core::control::Control;
use cambist_core::event::{LossBaseline, Rate, TradingState};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, MarketSpec, PoolSpec, TokenId, TokenSpec, VenueTime};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::offline::NotExplained;
use crate::tests::names;
use crate::{FILE, FolderAccount, Listing, Store, StoreEntry, StoreError, flows, view};

pub(crate) const ETH: TokenId = TokenId(0);
pub(crate) const USDC: TokenId = TokenId(1);
pub(crate) const BTC: TokenId = TokenId(3);
pub(crate) const SHARES: TokenId = TokenId(9);

pub(crate) fn token(id: TokenId, symbol: &str, decimals: u8) -> TokenSpec {
    TokenSpec {
        id,
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    }
}

/// ETH-USDC with a pool beside it, and BTC-USDC.
pub(crate) fn listing() -> Listing {
    let (eth, usdc, btc) = (
        token(ETH, "ETH", 18),
        token(USDC, "USDC", 6),
        token(BTC, "BTC", 8),
    );
    let market = |id, name: &str, base: &TokenSpec, price_decimals| {
        let (base, quote) = (base.clone(), usdc.clone());
        MarketSpec::new(MarketId(id), name, base, quote, price_decimals, true).unwrap()
    };
    Listing {
        charged_as: None,
        account: None,
        markets: vec![
            market(0, "ETH-USDC", &eth, 2),
            market(1, "BTC-USDC", &btc, 1),
        ],
        pools: vec![PoolSpec {
            market: MarketId(0),
            name: "AMM-ETH-USDC".to_owned(),
            address: [7; 20],
            pooled: [ETH, USDC],
            lp: token(SHARES, "LP", 8),
            joins: true,
            exits: false,
            swaps: true,
            fee_bips: 30,
            in_range: false,
        }],
        tokens: vec![eth, usdc, btc],
    }
}

/// Numbers beyond 64 bits and below zero.
const LARGE: i128 = 1 << 100;

pub(crate) fn baselines() -> Baselines {
    Baselines {
        day: 20_454,
        day_open: -11,
        total: LARGE + 12,
        peak: LARGE + 13,
        hour: vec![
            (VenueTime(1_767_225_600_014), LARGE + 15),
            (VenueTime(1_767_225_600_016), -17),
        ],
        mid: Rate {
            quote: 250_018,
            base: 200_000_000_000_019,
        },
        pooled: Some(-20),
    }
}

/// The first reconciliation of an account that holds every token of the listing.
pub(crate) fn opening() -> Booking {
    let position = |base, cash, baselines| Position {
        base,
        cash,
        baselines,
    };
    Booking {
        opens: true,
        ledger: [(ETH, LARGE + 21), (USDC, -22), (BTC, 23), (SHARES, 24)].into(),
        positions: [
            (MarketId(0), position(LARGE + 21, -25, Some(baselines()))),
            (MarketId(1), position(23, 26, None)),
        ]
        .into(),
        differences: Some(
            [
                (
                    USDC,
                    Difference {
                        ledger: -22,
                        venue: 28,
                    },
                ),
                (
                    BTC,
                    Difference {
                        ledger: 23,
                        venue: 30,
                    },
                ),
            ]
            .into(),
        ),
        charged_below: Some(u64::MAX / 3),
        ..Booking::default()
    }
}

fn open(folder: &TempDir) -> Store {
    let mut store = Store::open(folder.path()).unwrap();
    store.recover(&names()).unwrap();
    store
}

/// A folder with these books, and its store.
fn stored(booking: &Booking) -> (TempDir, Store) {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let (before, lost) = store.books(&listing()).unwrap();
    assert_eq!((before.ledger, lost), (None, SortedMap::new()));
    store.book(&[], booking).unwrap();
    (folder, store)
}

#[test]
fn the_account_of_the_last_start_is_read_without_the_lock() {
    let account = |venue: Option<&str>, account: &str| FolderAccount {
        kind: "exchange".to_owned(),
        venue: venue.map(str::to_owned),
        account: account.to_owned(),
    };
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    assert_eq!(view::account(folder.path()).unwrap(), None);
    let own = account(Some("0xa"), "7");
    let listed = Listing {
        account: Some(own.clone()),
        ..listing()
    };
    store.books(&listed).unwrap();
    assert_eq!(view::account(folder.path()).unwrap(), Some(own.clone()));
    for (other, is_other) in [
        (account(Some("0xa"), "7"), false),
        (account(None, "7"), false),
        (account(Some("0xa"), "8"), true),
        (account(Some("0xb"), "7"), true),
    ] {
        assert_eq!(own.is_other(&other), is_other, "{other}");
        assert_eq!(other.is_other(&own), is_other, "{other}");
    }
}

#[test]
fn books_come_back_as_they_were_written() {
    let written = opening();
    let (folder, store) = stored(&written);
    drop(store);
    let mut store = open(&folder);
    let (books, lost) = store.books(&listing()).unwrap();
    assert_eq!(books.ledger.as_ref(), Some(&written.ledger));
    assert_eq!(Some(&books.differences), written.differences.as_ref());
    assert_eq!(books.positions, written.positions);
    assert_eq!(Some(books.charged_below), written.charged_below);
    assert!(lost.is_empty());
    // The same without the lock.
    let (seen, listed) = view::books(folder.path()).unwrap().unwrap();
    assert_eq!((&seen, &listed), (&books, &listing()));
    // Positions belong to markets by name: the order of the configuration may change.
    let mut turned = names();
    turned.reverse();
    store.recover(&turned).unwrap();
    let (turned, _) = store.books(&Listing::default()).unwrap();
    assert_eq!(
        turned.positions[&MarketId(1)],
        books.positions[&MarketId(0)]
    );
    assert_eq!(
        turned.positions[&MarketId(0)],
        books.positions[&MarketId(1)]
    );
}

#[test]
fn later_bookings_replace_what_they_name_and_nothing_else() {
    let (folder, mut store) = stored(&opening());
    let mut position = opening().positions[&MarketId(0)].clone();
    position.cash = 31;
    position.baselines.as_mut().unwrap().pooled = None;
    let booking = Booking {
        ledger: [(BTC, 32)].into(),
        positions: [(MarketId(0), position.clone())].into(),
        ..Booking::default()
    };
    store.book(&[], &booking).unwrap();
    let (books, _) = view::books(folder.path()).unwrap().unwrap();
    let mut ledger = opening().ledger;
    ledger.insert(BTC, 32);
    assert_eq!(books.ledger, Some(ledger));
    assert_eq!(books.positions[&MarketId(0)], position);
    assert_eq!(
        books.positions[&MarketId(1)],
        opening().positions[&MarketId(1)]
    );
    assert_eq!(Some(books.differences), opening().differences);
    // Differences are replaced together.
    let one = Difference {
        ledger: 33,
        venue: 34,
    };
    let booking = Booking {
        differences: Some([(ETH, one)].into()),
        ..Booking::default()
    };
    store.book(&[], &booking).unwrap();
    let (books, _) = view::books(folder.path()).unwrap().unwrap();
    assert_eq!(books.differences, [(ETH, one)].into());
    assert_eq!(Some(books.charged_below), opening().charged_below);
    let booking = Booking {
        charged_below: Some(7),
        ..Booking::default()
    };
    store.book(&[], &booking).unwrap();
    let (books, _) = view::books(folder.path()).unwrap().unwrap();
    assert_eq!(books.charged_below, 7);
}

/// A start moves base that no market carries any more; what it moved is stored.
#[test]
fn positions_that_a_start_changes_are_stored() {
    let mut booking = opening();
    booking.positions.get_mut(&MarketId(1)).unwrap().base = 3;
    let (folder, mut store) = stored(&booking);
    let (books, _) = store.books(&listing()).unwrap();
    assert_eq!(
        books.positions[&MarketId(1)].base,
        23,
        "as the ledger has it"
    );
    drop(store);
    let (seen, _) = view::books(folder.path()).unwrap().unwrap();
    assert_eq!(seen.positions, books.positions);
}

#[test]
fn every_altered_row_of_the_books_is_damage() {
    for change in [
        "UPDATE ledger SET units = '5' WHERE token = 3",
        "UPDATE ledger SET at_us = at_us + 1 WHERE token = 3",
        "UPDATE ledger SET token = 5 WHERE token = 3",
        "UPDATE differences SET ledger = '5' WHERE token = 3",
        "UPDATE differences SET venue = '5' WHERE token = 3",
        "UPDATE differences SET at_us = at_us + 1",
        "UPDATE differences SET token = 5 WHERE token = 3",
        "UPDATE positions SET base = '5' WHERE market = 'BTC-USDC'",
        "UPDATE positions SET cash = '5' WHERE market = 'BTC-USDC'",
        "UPDATE positions SET baselines = '' WHERE market = 'ETH-USDC'",
        "UPDATE positions SET market = 'X' WHERE market = 'BTC-USDC'",
        "UPDATE positions SET at_us = at_us + 1",
        "UPDATE listing SET listing = '{}'",
        "UPDATE listing SET at_us = at_us + 1",
        "UPDATE opening SET at_us = at_us + 1",
        "DELETE FROM opening",
    ] {
        let (folder, store) = stored(&opening());
        drop(store);
        let database = Connection::open(folder.path().join(FILE)).unwrap();
        assert!(database.execute(change, []).unwrap() > 0, "{change}");
        drop(database);
        for refused in [
            view::books(folder.path()).err(),
            Store::open(folder.path()).err(),
        ] {
            assert!(
                matches!(refused, Some(StoreError::Corrupt { .. })),
                "{change}: {refused:?}"
            );
        }
    }
}

/// A row that was written with a checksum, and that this program cannot read.
#[test]
fn a_listing_in_another_form_is_written_again_by_the_next_start() {
    let (folder, mut store) = stored(&opening());
    let change = store.database.transaction().unwrap();
    let text = "{\"markets\":7}";
    let sum = crate::chain::Row::of("listing").text(text).number(5).sum();
    let set = "UPDATE listing SET listing = ?1, at_us = 5, sum = ?2";
    change
        .execute(set, rusqlite::params![text, sum.bytes()])
        .unwrap();
    change.commit().unwrap();
    assert!(view::books(folder.path()).unwrap().is_none());
    assert!(store.offline().unwrap().is_none());
    drop(store);
    open(&folder).books(&listing()).unwrap();
    assert_eq!(view::books(folder.path()).unwrap().unwrap().1, listing());
}

#[test]
fn a_folder_without_a_start_has_no_books() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    assert!(view::books(folder.path()).unwrap().is_none());
    assert!(store.offline().unwrap().is_none());
}

#[test]
fn the_books_of_a_stopped_daemon_are_shown() {
    let (folder, store) = stored(&opening());
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    let offline = store.offline().unwrap().unwrap();
    assert_eq!(offline.listing, listing());
    assert_eq!(Some(offline.differences()), opening().differences.as_ref());
    let held = [ETH, USDC, BTC, SHARES, TokenId(5)].map(|token| offline.held(token));
    // A debt is nothing that is held.
    assert_eq!(held, [(1 << 100) + 21, 0, 23, 24, 0]);
    assert_eq!(offline.token(BTC).unwrap().symbol, "BTC");
    assert_eq!(offline.token(TokenId(5)), None);
    let position = &opening().positions[&MarketId(0)];
    let now = VenueTime(1_767_225_600_030);
    let expected = [(MarketId(0), position.lost(now).unwrap())];
    assert_eq!(offline.losses(now), expected);
}

#[test]
fn an_explained_flow_changes_ledger_position_and_difference() {
    let (folder, store) = stored(&opening());
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    let mut offline = store.offline().unwrap().unwrap();
    let refused = store.explain(&mut offline, BTC, -24, "too much");
    assert!(matches!(refused, Err(NotExplained::NotCovered(_))));
    assert!(flows::explained(folder.path()).unwrap().is_empty());
    store.explain(&mut offline, BTC, 4, "brought").unwrap();
    store.explain(&mut offline, SHARES, 5, "shares").unwrap();
    assert_eq!(offline.held(BTC), 27);
    drop(store);
    let (books, _) = view::books(folder.path()).unwrap().unwrap();
    let ledger = books.ledger.unwrap();
    assert_eq!(
        (ledger[&BTC], ledger[&SHARES], ledger[&ETH]),
        (27, 29, (1 << 100) + 21)
    );
    assert_eq!(books.positions[&MarketId(1)].base, 27);
    assert_eq!(books.differences[&BTC].ledger, 27);
    let rows: Vec<_> = flows::explained(folder.path())
        .unwrap()
        .into_iter()
        .map(|flow| (flow.token, flow.symbol, flow.amount, flow.reason))
        .collect();
    let row = |token, symbol: &str, amount, reason: &str| {
        (token, symbol.to_owned(), amount, reason.to_owned())
    };
    // A token that is not listed as one is named by its number.
    let expected = [row(BTC, "BTC", 4, "brought"), row(SHARES, "9", 5, "shares")];
    assert_eq!(rows, expected);
}

#[test]
fn before_the_opening_balances_no_flow_is_explained() {
    let (_folder, mut store) = stored(&Booking::default());
    let mut offline = store.offline().unwrap().unwrap();
    let refused = store.explain(&mut offline, BTC, 4, "brought");
    assert!(matches!(refused, Err(NotExplained::NotOpen)));
}

#[test]
fn settling_adopts_differences_and_forgets_losses_if_asked() {
    for forget in [false, true] {
        let (folder, store) = stored(&opening());
        drop(store);
        let mut store = Store::open(folder.path()).unwrap();
        let mut offline = store.offline().unwrap().unwrap();
        let adopted = store.settle(&mut offline, forget, "counted").unwrap();
        assert_eq!(adopted, [(USDC, 50), (BTC, 7)].into());
        let now = VenueTime(1_767_225_600_030);
        assert_eq!(offline.losses(now).is_empty(), forget);
        drop(store);
        let (books, _) = view::books(folder.path()).unwrap().unwrap();
        let ledger = books.ledger.unwrap();
        assert_eq!((ledger[&USDC], ledger[&BTC]), (28, 30));
        assert_eq!(books.differences, SortedMap::new());
        let measured = books.positions[&MarketId(0)].baselines.is_some();
        assert_eq!(measured, !forget);
        let flows = flows::explained(folder.path()).unwrap();
        let amounts: Vec<_> = flows.iter().map(|flow| (flow.token, flow.amount)).collect();
        assert_eq!(amounts, [(USDC, 50), (BTC, 7)]);
        // Once everything agrees, nothing is written.
        let mut store = Store::open(folder.path()).unwrap();
        let mut offline = store.offline().unwrap().unwrap();
        assert!(
            store
                .settle(&mut offline, false, "again")
                .unwrap()
                .is_empty()
        );
        assert_eq!(flows::explained(folder.path()).unwrap().len(), 2);
    }
}

/// Losses in the rows of versions before 5 apply to markets that were not measured since.
#[test]
fn losses_of_an_earlier_version_end_with_the_first_measurement() {
    let lost = |base: &str| {
        format!(
            r#"{{"pauses":[],"lost":[{{"market":"ETH-USDC","day":20454,"today":"-3","total":"{}","drawdown":"5","last":{{"hour":"6","hour_at_ms":7,"mid":["8","{base}"]}}}},{{"market":"BTC-USDC","day":20455,"today":"9","total":"10","drawdown":"11"}},{{"market":"GONE-USDC","day":1,"today":"1","total":"1","drawdown":"1"}}]}}"#,
            (1_i128 << 100) + 4
        )
    };
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let carried = |store: &mut Store, text: String| {
        store.append(TradingState::Active, "earlier", text).unwrap();
        let newest = "UPDATE carried SET level = (SELECT max(id) FROM levels)";
        store.database.execute(newest, []).unwrap();
    };
    carried(&mut store, lost("1"));
    let (_, found) = store.books(&listing()).unwrap();
    let first = LossBaseline {
        day: 20_454,
        today: -3,
        total: (1 << 100) + 4,
        drawdown: 5,
        hour: 6,
        hour_at: VenueTime(7),
        mid: Some(Rate { quote: 8, base: 1 }),
    };
    let second = LossBaseline {
        day: 20_455,
        today: 9,
        total: 10,
        drawdown: 11,
        ..LossBaseline::default()
    };
    assert_eq!(found, [(MarketId(0), first), (MarketId(1), second)].into());
    let offline = store.offline().unwrap().unwrap();
    let expected = [
        (Control::LossHour, 6),
        (Control::LossDay, -3),
        (Control::LossTotal, (1 << 100) + 4),
        (Control::Drawdown, 5),
    ];
    let losses = offline.losses(VenueTime(7));
    assert_eq!((losses.len(), losses[0]), (2, (MarketId(0), expected)));
    // A mid of nothing is none.
    carried(&mut store, lost("0"));
    assert_eq!(store.books(&listing()).unwrap().1[&MarketId(0)].mid, None);
    // The first market is measured.
    store.book(&[], &opening()).unwrap();
    let (_, left) = store.books(&listing()).unwrap();
    assert_eq!(left, [(MarketId(1), second)].into());
    let losses = store.offline().unwrap().unwrap().losses(VenueTime(7));
    let of_markets: Vec<_> = losses.iter().map(|(market, _)| market.0).collect();
    assert_eq!(of_markets, [0, 1], "measured, then carried");
    // Numbers that cannot be read are damage.
    carried(&mut store, lost("0").replace("\"-3\"", "\"three\""));
    let refused = store.books(&listing());
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })));
    // A row that is gone has none, and neither have rows of pauses alone.
    for change in ["UPDATE carried SET level = 99", "DELETE FROM carried"] {
        store.database.execute(change, []).unwrap();
        assert!(store.books(&listing()).unwrap().1.is_empty(), "{change}");
    }
}

/// Slot numbers taken beside the engine are odd, rise, and are behind every number that an intent used.
#[test]
fn a_slot_taken_beside_the_engine_is_not_given_out_again() {
    let (_folder, mut store) = stored(&opening());
    let next = |store: &mut Store, token| {
        let found = store.recover(&names()).unwrap();
        found.next_storage.get(&token).copied()
    };
    assert_eq!(next(&mut store, BTC), None);
    assert_eq!(store.take_slot(BTC, 0).unwrap(), 1);
    assert_eq!(next(&mut store, BTC), Some(2));
    assert_eq!(store.take_slot(BTC, 6).unwrap(), 7);
    assert_eq!(next(&mut store, BTC), Some(8));
    assert_eq!(
        store.take_slot(BTC, 3).unwrap(),
        9,
        "behind all that were used"
    );
    assert_eq!(
        store.take_slot(ETH, 4).unwrap(),
        5,
        "each token has its own"
    );
    // An engine that took a lower one while intents were stored.
    let low = StoreEntry::SlotTaken {
        token: BTC,
        number: 3,
    };
    store.book(&[low], &Booking::default()).unwrap();
    assert_eq!(next(&mut store, BTC), Some(10));
}

/// Whatever part of a booking cannot be written, nothing of it is, and nothing more is written.
#[test]
fn a_booking_that_fails_is_reported_and_ends_writing() {
    for table in [
        "opening",
        "ledger",
        "positions",
        "differences",
        "flows",
        "fills",
    ] {
        let folder = crate::testing::private_folder();
        let mut store = open(&folder);
        store.books(&listing()).unwrap();
        let removed = format!("DROP TABLE {table}");
        store.database.execute_batch(&removed).unwrap();
        let flow = StoreEntry::Flow {
            token: ETH,
            symbol: "ETH".to_owned(),
            amount: 1,
            reason: "x".to_owned(),
        };
        let fill = StoreEntry::Fill(cambist_core::notification::Fill {
            order: crate::tests::client_id(&store, 1),
            market: MarketId(0),
            side: cambist_core::Side::Buy,
            base: 2,
            quote: 3,
            fee: 4,
            mid: None,
        });
        let failed = store.book(&[flow, fill], &opening());
        assert!(
            matches!(failed, Err(StoreError::Database { .. })),
            "{table}: {failed:?}"
        );
        assert!(store.has_failed());
        let after = store.book(&[], &Booking::default());
        assert!(matches!(after, Err(StoreError::Broken)), "{table}");
        let rows = "SELECT (SELECT count(*) FROM sqlite_schema WHERE name = 'ledger')";
        let kept: u32 = store
            .database
            .query_row(rows, [], |row| row.get(0))
            .unwrap();
        if kept == 1 {
            let ledger = "SELECT count(*) FROM ledger";
            let written: u32 = store
                .database
                .query_row(ledger, [], |row| row.get(0))
                .unwrap();
            assert_eq!(written, 0, "{table}");
        }
    }
}

#[test]
fn the_listing_has_the_decimals_of_tokens_and_shares() {
    let listing = listing();
    let decimals = |symbol: &str| listing.decimals_of(symbol);
    assert_eq!(decimals("LP"), Some(8));
    assert_eq!(decimals("ETH"), Some(listing.markets[0].base.decimals));
    assert_eq!(decimals("DOGE"), None);
}
