//! Guarantees of the store: nothing is lost or reused, and damage is detected.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use cambist_core::books::{Booking, Difference};
use cambist_core::event::{Filter, Pause, Restrictions, TradingState};
use cambist_core::notification::{End, Fill, PoolTransactionSettlement};
use cambist_core::order::{FillBy, Swap, UnsignedOrder};
use cambist_core::{
    ClientOrderId, Hash, Intent, MarketId, OrderKind, Price, Qty, Side, StrategyId, TokenId,
    VenueTime,
};

use super::books::Listing;
use super::{FILE, Filled, SealedIntent, Store, StoreEntry, StoreError};
use tempfile::TempDir;

pub(super) fn names() -> Vec<String> {
    vec!["ETH-USDC".to_owned(), "BTC-USDC".to_owned()]
}

/// The name of an order of this store.
pub(super) fn client_id(store: &Store, number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: store.instance(),
        strategy: StrategyId(2),
        number,
    }
}

fn open(dir: &Path) -> Store {
    let mut store = Store::open(dir).unwrap();
    store.recover(&names()).unwrap();
    store
}

fn intent(store: &Store, number: u64, storage_id: u32) -> SealedIntent {
    SealedIntent {
        intent: Intent::Order(UnsignedOrder {
            client_id: client_id(store, number),
            market: MarketId(1),
            side: Side::Sell,
            price: Price(u64::MAX),
            qty: Qty(7),
            kind: OrderKind::MakerOnly,
            swap: None,
            sell_token: TokenId(3),
            sell_amount: (1 << 96) - 1,
            buy_token: TokenId(1),
            buy_amount: 12,
            fill_by: FillBy::Sell,
            slot: storage_id,
            accepted_until_s: 1_800_000_000,
            rests_until_s: Some(1_800_000_000),
            max_fee_bips: 63,
            made_at: VenueTime(1_799_999_990_000),
        }),
        hash: Hash([u8::try_from(number % 251).unwrap(); 32]),
        body: format!("{{\"order\":{number}}}").into_bytes(),
    }
}

fn order(sealed: &SealedIntent) -> &UnsignedOrder {
    match &sealed.intent {
        Intent::Order(order) => order,
        Intent::PoolTransaction(_) => panic!("a move"),
    }
}

/// Records the end of an order or pool transaction.
pub(super) fn end(
    store: &mut Store,
    order: ClientOrderId,
    end: End,
    filled: Filled,
    moved: Option<&PoolTransactionSettlement>,
) -> Result<(), StoreError> {
    let entry = StoreEntry::End {
        order,
        end,
        filled,
        moved: moved.cloned(),
    };
    store.book(&[entry], &Booking::default())
}

/// Seals one order under the next number and storage id.
pub(super) fn seal_one(store: &mut Store) -> SealedIntent {
    let found = store.recover(&names()).unwrap();
    let storage = found.next_storage.get(&TokenId(3)).copied().unwrap_or(0);
    let intent = intent(store, found.next_number, storage);
    store.seal(std::slice::from_ref(&intent)).unwrap();
    intent
}

#[test]
fn sealed_intents_are_recovered_byte_for_byte() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let instance = store.instance();
    let first = seal_one(&mut store);
    let second = seal_one(&mut store);
    let done = Filled {
        base: 1,
        quote: 2,
        fee: 3,
    };
    end(&mut store, first.intent.id(), End::Cancelled, done, None).unwrap();
    let fill = Fill {
        order: second.intent.id(),
        market: MarketId(1),
        side: Side::Sell,
        base: 5,
        quote: 6,
        fee: 1,
        mid: Some(9),
    };
    let fills = [StoreEntry::Fill(fill.clone()), StoreEntry::Fill(fill)];
    store.book(&fills, &Booking::default()).unwrap();
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    let found = store.recover(&names()).unwrap();
    assert_eq!(found.instance, instance);
    assert_eq!(found.open.len(), 1, "the ended one is gone");
    let each = order(&first).sell_amount;
    let signed = vec![(TokenId(3), 1_800_000_000, 2 * each)];
    assert_eq!(
        found.signed, signed,
        "but it is signed, and has not expired"
    );
    let open = &found.open[0];
    assert_eq!(open.body, second.body);
    assert_eq!(&open.recovered.order, order(&second));
    assert_eq!(open.recovered.hash, second.hash);
    let booked = [
        open.recovered.base_filled,
        open.recovered.quote_filled,
        open.recovered.fee,
    ];
    assert_eq!(booked, [10, 12, 2], "a restart does not book them again");
    assert_eq!(found.restrictions.state, TradingState::Active);
}

#[test]
fn a_swap_is_recovered_with_what_limits_reckon_with() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let next_number = store.recover(&names()).unwrap().next_number;
    let mut swap = intent(&store, next_number, 0);
    if let Intent::Order(order) = &mut swap.intent {
        (order.kind, order.swap) = (OrderKind::TakerOnly, Some(Swap { most: 13 }));
    }
    store.seal(std::slice::from_ref(&swap)).unwrap();
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    let found = store.recover(&names()).unwrap();
    assert_eq!(&found.open[0].recovered.order, order(&swap));
    drop(store);
    // It is part of the chain: a change of it is detected, and so is its removal.
    for change in ["'14'", "NULL"] {
        let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
        let change = format!("UPDATE intents SET swap_most = {change}");
        assert_eq!(database.execute(&change, []).unwrap(), 1);
        drop(database);
        assert!(damaged(folder.path()), "{change}");
    }
}

#[test]
fn numbers_and_storage_ids_are_never_used_twice() {
    let folder = crate::testing::private_folder();
    let mut highest = (0, 0);
    for _ in 0..4 {
        let mut store = open(folder.path());
        let found = store.recover(&names()).unwrap();
        let storage = found.next_storage.get(&TokenId(3)).copied().unwrap_or(0);
        assert!(found.next_number >= highest.0 && storage >= highest.1);
        assert_eq!(storage % 2, 0, "orders have even ids");
        let sealed = seal_one(&mut store);
        highest = (sealed.intent.id().number + 1, order(&sealed).slot + 2);
        let again = store.seal(std::slice::from_ref(&sealed));
        assert!(matches!(again, Err(StoreError::Refused { .. })));
        let used = intent(&store, highest.0, order(&sealed).slot);
        assert!(matches!(
            store.seal(&[used]),
            Err(StoreError::Refused { .. })
        ));
        seal_one(&mut store);
        highest = (highest.0 + 1, highest.1 + 2);
    }
}

/// Numbers rise, and may leave some out; those of another store are refused.
#[test]
fn an_intent_is_newer_than_all_before() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let next = store.next_number;
    let refused = |store: &mut Store, sealed: SealedIntent| match store.seal(&[sealed]) {
        Err(StoreError::Refused { what }) => what,
        other => panic!("{other:?}"),
    };
    let early = intent(&store, next - 1, 0);
    assert!(refused(&mut store, early).contains("is not newer than number"));
    let later = intent(&store, next + 7, 0);
    store.seal(&[later]).unwrap();
    assert_eq!(store.next_number, next + 8);
    let between = intent(&store, next + 7, 2);
    assert!(refused(&mut store, between).contains("is not newer than number"));
    let mut foreign = intent(&store, next + 9, 2);
    if let Intent::Order(order) = &mut foreign.intent {
        order.client_id.instance = order.client_id.instance.wrapping_add(1);
    }
    assert!(refused(&mut store, foreign).contains("is not newer than number"));
    let unknown = {
        let mut sealed = intent(&store, next + 9, 2);
        if let Intent::Order(order) = &mut sealed.intent {
            order.market = MarketId(5);
        }
        sealed
    };
    assert!(refused(&mut store, unknown).contains("refers to market 5"));
}

#[test]
fn a_batch_is_whole_or_absent() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let next = store.recover(&names()).unwrap().next_number;
    let batch = [intent(&store, next, 0), intent(&store, next + 1, 0)];
    assert!(
        matches!(store.seal(&batch), Err(StoreError::Refused { .. })),
        "one id twice"
    );
    assert!(store.recover(&names()).unwrap().open.is_empty());
    let batch = [intent(&store, next, 0), intent(&store, next + 1, 2)];
    store.seal(&batch).unwrap();
    assert_eq!(store.recover(&names()).unwrap().open.len(), 2);
}

#[test]
fn a_second_program_on_one_folder_is_refused() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    seal_one(&mut store);
    let before = fs::read(folder.path().join(FILE)).unwrap();
    let second = Store::open(folder.path()).unwrap_err();
    assert!(
        matches!(second, StoreError::AnotherInstance { .. }),
        "{second}"
    );
    assert_eq!(
        fs::read(folder.path().join(FILE)).unwrap(),
        before,
        "nothing was touched"
    );
    seal_one(&mut store);
    drop(store);
    assert!(Store::open(folder.path()).is_ok());
}

#[test]
fn an_order_ends_once_and_an_open_market_must_stay() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let sealed = seal_one(&mut store);
    let gone = store.recover(&["ETH-USDC".to_owned()]).unwrap_err();
    assert!(
        matches!(&gone, StoreError::MarketGone { market } if market == "BTC-USDC"),
        "{gone}"
    );
    store.recover(&names()).unwrap();
    let id = sealed.intent.id();
    end(&mut store, id, End::Fenced, Filled::default(), None).unwrap();
    let twice = end(&mut store, id, End::Filled, Filled::default(), None);
    assert!(matches!(twice, Err(StoreError::Refused { .. })));
    let never = ClientOrderId {
        number: id.number + 5,
        ..id
    };
    assert!(end(&mut store, never, End::Filled, Filled::default(), None).is_err());
    store.recover(&["ETH-USDC".to_owned()]).unwrap();
}

#[test]
fn the_trading_state_is_restricted_by_the_daemon_and_reset_by_the_operator() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    store
        .set_restrictions(
            &Restrictions::of(TradingState::Halted),
            "keys refused",
            false,
        )
        .unwrap();
    assert!(
        store
            .set_restrictions(&Restrictions::of(TradingState::CancelOnly), "no", false)
            .is_err()
    );
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    let found = store.recover(&names()).unwrap();
    assert_eq!(
        (found.restrictions.state, found.cause.as_str()),
        (TradingState::Halted, "keys refused")
    );
    store.clear_level("new keys are in place").unwrap();
    assert_eq!(store.level().unwrap().0, TradingState::Active);
}

/// A kill between the pages of a list may leave a sale booked while the purchase of the sold amount is not.
#[test]
fn a_ledger_below_zero_is_read_as_it_was_written() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    store.recover(&names()).unwrap();
    let apart = Difference {
        ledger: -7,
        venue: 1,
    };
    let booking = Booking {
        opens: true,
        ledger: [(TokenId(3), -7), (TokenId(4), 9)].into(),
        differences: Some([(TokenId(3), apart)].into()),
        ..Booking::default()
    };
    store.book(&[], &booking).unwrap();
    drop(store);
    let mut store = open(folder.path());
    store.recover(&names()).unwrap();
    let (books, _) = store.books(&Listing::default()).unwrap();
    assert_eq!(books.ledger, Some(booking.ledger));
    assert_eq!(Some(books.differences), booking.differences);
}

#[test]
fn pauses_are_stored_with_the_trading_state() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let mut restrictions = Restrictions::of(TradingState::CancelOnly);
    store
        .set_restrictions(&restrictions, "drawdown", false)
        .unwrap();
    assert!(!store.is_paused().unwrap());
    restrictions.pauses.push(Pause {
        filter: Filter::market(MarketId(0)),
        since: VenueTime(1),
        until: None,
        cause: "by hand".to_owned(),
    });
    store
        .set_restrictions(&restrictions, "by hand", false)
        .unwrap();
    drop(store);
    let mut store = open(folder.path());
    assert_eq!(store.recover(&names()).unwrap().restrictions, restrictions);
    assert!(store.is_paused().unwrap());
    store.clear_level("checked").unwrap();
    assert_eq!(
        store.recover(&names()).unwrap().restrictions,
        Restrictions::default()
    );
}

#[test]
fn old_ends_are_pruned_and_the_rest_stays_verifiable() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let sealed: Vec<_> = (0..6).map(|_| seal_one(&mut store)).collect();
    for index in [0, 1, 2, 4, 5] {
        let id = sealed[index].intent.id();
        end(&mut store, id, End::Expired, Filled::default(), None).unwrap();
    }
    assert_eq!(store.prune(1).unwrap(), 0, "nothing is a day old");
    assert_eq!(
        store.prune(0).unwrap(),
        3,
        "an open intent keeps everything after it"
    );
    drop(store);
    let mut store = open(folder.path());
    let open = store.recover(&names()).unwrap().open;
    assert_eq!(open.len(), 1);
    assert_eq!(&open[0].recovered.order, order(&sealed[3]));
    end(
        &mut store,
        sealed[3].intent.id(),
        End::Expired,
        Filled::default(),
        None,
    )
    .unwrap();
    assert_eq!(store.prune(0).unwrap(), 3);
    seal_one(&mut store);
    drop(store);
    open_ok(folder.path());
}

fn open_ok(dir: &Path) {
    drop(open(dir));
}

/// A closed store with content in its main file.
fn filled() -> TempDir {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    for _ in 0..5 {
        seal_one(&mut store);
    }
    let first = seal_one(&mut store);
    end(
        &mut store,
        first.intent.id(),
        End::Filled,
        Filled::default(),
        None,
    )
    .unwrap();
    store
        .set_restrictions(&Restrictions::of(TradingState::CancelOnly), "test", false)
        .unwrap();
    drop(store);
    open_ok(folder.path());
    folder
}

fn damaged(dir: &Path) -> bool {
    match Store::open(dir).and_then(|mut store| store.recover(&names())) {
        Ok(_) => false,
        Err(StoreError::Corrupt { what, .. }) => !what.is_empty(),
        Err(other) => panic!("damage must be called damage: {other}"),
    }
}

#[test]
fn every_altered_row_is_detected() {
    let changes = [
        "UPDATE intents SET sell_amount = '1' WHERE number % 2 = 0",
        "UPDATE intents SET storage_id = storage_id + 2",
        "UPDATE intents SET made_at_ms = 0",
        "DELETE FROM intents WHERE number = (SELECT min(number) FROM intents)",
        "DELETE FROM intents WHERE number = (SELECT max(number) - 2 FROM intents)",
        "DELETE FROM intents WHERE number = (SELECT max(number) FROM intents)",
        "UPDATE bodies SET body = x'00' WHERE number = (SELECT min(number) FROM bodies)",
        "DELETE FROM bodies WHERE number = (SELECT min(number) FROM bodies)",
        "UPDATE counters SET next_storage = 0",
        "DELETE FROM counters",
        "UPDATE meta SET next_number = 0",
        "UPDATE meta SET instance = instance + 1",
        "UPDATE ends SET end = 'fenced'",
        "UPDATE ends SET number = number - 1",
        "UPDATE levels SET level = 'trading'",
        "UPDATE anchor SET number = 1",
        "DELETE FROM anchor",
    ];
    for change in &changes {
        let folder = filled();
        let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
        assert!(database.execute(change, []).unwrap() > 0, "{change}");
        drop(database);
        assert!(damaged(folder.path()), "{change}");
    }
}

/// The first slot of a token is behind no counter.
#[test]
fn a_missing_counter_of_a_first_slot_is_detected() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let next = store.next_number;
    let first = intent(&store, next, 0);
    store.seal(&[first]).unwrap();
    store
        .database
        .execute_batch("DELETE FROM counters")
        .unwrap();
    drop(store);
    assert!(damaged(folder.path()));
}

/// What no checksum of a row covers: the pages themselves are checked at every start.
#[test]
fn damage_between_the_rows_is_detected() {
    let folder = filled();
    let file = folder.path().join(FILE);
    let handle = fs::OpenOptions::new().write(true).open(&file).unwrap();
    // The number of free pages, in the header of the file.
    handle.write_all_at(&[0, 0, 0, 9], 36).unwrap();
    drop(handle);
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
}

#[test]
fn torn_and_foreign_files_are_refused() {
    let folder = filled();
    let file = folder.path().join(FILE);
    let whole = fs::read(&file).unwrap();
    for keep in [100, whole.len() / 3, whole.len() / 2, whole.len() - 4_096] {
        fs::write(&file, &whole[..keep]).unwrap();
        assert!(damaged(folder.path()), "cut at {keep}");
    }
    fs::write(
        &file,
        b"this is not a database, but another file".repeat(100),
    )
    .unwrap();
    assert!(damaged(folder.path()));
    fs::write(&file, &whole).unwrap();
    assert!(!damaged(folder.path()));
}

#[test]
fn a_flipped_bit_never_changes_what_is_recovered() {
    let folder = filled();
    let file = folder.path().join(FILE);
    let whole = fs::read(&file).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let expected = store.recover(&names()).unwrap();
    drop(store);
    let (mut noticed, mut harmless) = (0, 0);
    // Steps of a prime, so that every part of the pages is covered.
    for at in (0..whole.len()).step_by(607) {
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(folder.path().join(format!("{FILE}{suffix}")));
        }
        fs::write(&file, &whole).unwrap();
        let flipped = whole[at] ^ (1 << (at % 8));
        let handle = fs::OpenOptions::new().write(true).open(&file).unwrap();
        handle.write_all_at(&[flipped], at as u64).unwrap();
        drop(handle);
        match Store::open(folder.path()).and_then(|mut store| store.recover(&names())) {
            Ok(found) => {
                assert_eq!(found.open, expected.open, "byte {at}");
                assert_eq!(
                    found.restrictions.state, expected.restrictions.state,
                    "byte {at}"
                );
                assert!(found.next_number >= expected.next_number, "byte {at}");
                harmless += 1;
            }
            Err(_) => noticed += 1,
        }
    }
    assert!(
        noticed > 0 && harmless > 0,
        "{noticed} noticed, {harmless} harmless"
    );
}

#[test]
fn a_newer_schema_is_left_alone() {
    let folder = filled();
    let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    database.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(database);
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::TooNew {
                found: 99,
                known: super::schema::SCHEMA,
                ..
            }
        ),
        "{refused}"
    );
}

#[test]
fn after_a_failed_write_nothing_more_is_sealed() {
    let folder = crate::testing::private_folder();
    let mut store = open(folder.path());
    let id = seal_one(&mut store).intent.id();
    store
        .database
        .execute_batch("PRAGMA query_only = ON")
        .unwrap();
    let next = store.next_number;
    let order = intent(&store, next, 4_096);
    assert!(matches!(
        store.seal(std::slice::from_ref(&order)),
        Err(StoreError::Database { .. })
    ));
    store
        .database
        .execute_batch("PRAGMA query_only = OFF")
        .unwrap();
    assert!(matches!(store.seal(&[order]), Err(StoreError::Broken)));
    // An end must not be recorded if a fill before it may be missing.
    let ended = end(&mut store, id, End::Cancelled, Filled::default(), None);
    assert!(matches!(ended, Err(StoreError::Broken)));
    assert!(store.has_failed());
}

#[test]
fn every_table_and_column_is_in_the_page_about_the_store() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, page) = page.split_once("## The daemon's store").unwrap();
    let version = format!("`user_version` {}", super::schema::SCHEMA);
    assert!(page.contains(&version), "the page does not say {version}");
    let folder = crate::testing::private_folder();
    drop(open(folder.path()));
    let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    let mut tables = database
        .prepare("SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'")
        .unwrap();
    let columns = tables.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    let mut missing = Vec::new();
    for column in columns.unwrap() {
        let (table, column) = column.unwrap();
        let named = |line: &&str| {
            let first = line.split('|').nth(1).unwrap_or_default();
            first.contains(&format!("`{table}`"))
        };
        let row = page.lines().find(named).unwrap_or_default();
        let is_own = ["id", "sum", "chain"].contains(&column.as_str());
        if !is_own && !row.contains(&format!("`{column}`")) {
            missing.push(format!("{table}.{column}"));
        }
    }
    assert!(
        missing.is_empty(),
        "docs/audit.md does not name {missing:?}"
    );
}
