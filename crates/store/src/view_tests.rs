//! What is read without the lock: orders, joins and exits, the trading state, also of stores of other versions.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::books::Booking;
use cambist_core::event::{Filter, Pause, Restrictions, TradingState};
use cambist_core::notification::{End, Fill};
use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::{
    Hash, Intent, MarketId, OrderKind, PoolTransactionKind, Price, Qty, Side, StrategyId, TokenId,
    VenueTime,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::tests::{client_id, end, names};
use crate::view::{self, Remembered, RememberedPoolTransaction};
use crate::{FILE, Filled, SealedIntent, Store, StoreEntry, StoreError, history, parameters};

fn open(folder: &TempDir) -> Store {
    let mut store = Store::open(folder.path()).unwrap();
    store.recover(&names()).unwrap();
    store
}

/// Two orders that differ in every field.
fn orders(store: &mut Store) -> [UnsignedOrder; 2] {
    let next = store.recover(&names()).unwrap().next_number;
    let first = UnsignedOrder {
        client_id: client_id(store, next),
        market: MarketId(1),
        side: Side::Sell,
        price: Price(11),
        qty: Qty(12),
        kind: OrderKind::TakerOnly,
        swap: None,
        sell_token: TokenId(3),
        sell_amount: 13,
        buy_token: TokenId(1),
        buy_amount: 14,
        fill_by: FillBy::Sell,
        slot: 16,
        accepted_until_s: 1_800_000_017,
        rests_until_s: None,
        max_fee_bips: 18,
        made_at: VenueTime(1_799_999_990_019),
    };
    let second = UnsignedOrder {
        client_id: client_id(store, next + 1),
        market: MarketId(0),
        side: Side::Buy,
        price: Price(21),
        qty: Qty(22),
        kind: OrderKind::Limit,
        swap: None,
        sell_token: TokenId(1),
        sell_amount: 23,
        buy_token: TokenId(0),
        buy_amount: 24,
        fill_by: FillBy::Buy,
        slot: 26,
        accepted_until_s: 1_800_000_027,
        rests_until_s: Some(1_800_000_127),
        max_fee_bips: 28,
        made_at: VenueTime(1_799_999_990_029),
    };
    [first, second]
}

fn sealed(order: &UnsignedOrder, byte: u8) -> SealedIntent {
    SealedIntent {
        intent: Intent::Order(order.clone()),
        hash: Hash([byte; 32]),
        body: vec![byte; 3],
    }
}

#[test]
fn orders_are_remembered_with_their_fills_and_ends() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let [first, second] = orders(&mut store);
    store
        .seal(&[sealed(&first, 5), sealed(&second, 6)])
        .unwrap();
    let fill = |base, quote, fee| {
        StoreEntry::Fill(Fill {
            order: second.client_id,
            market: second.market,
            side: second.side,
            base,
            quote,
            fee,
            mid: None,
        })
    };
    store
        .book(&[fill(31, 32, 33), fill(34, 35, 36)], &Booking::default())
        .unwrap();
    let filled = Filled {
        base: 65,
        quote: 67,
        fee: 69,
    };
    end(&mut store, second.client_id, End::Cancelled, filled, None).unwrap();
    let remembered = view::remembered(folder.path()).unwrap();
    let expected =
        |order: &UnsignedOrder, byte, market: &str, end: Option<&str>, filled| Remembered {
            client_id: order.client_id,
            hash: Hash([byte; 32]),
            market: market.to_owned(),
            side: order.side.name().to_owned(),
            price: order.price.0,
            sell_token: order.sell_token,
            sell_amount: order.sell_amount,
            storage_id: order.slot,
            valid_until_s: order.accepted_until_s,
            made_at: order.made_at,
            end: end.map(str::to_owned),
            filled,
        };
    let all = [
        (
            first.client_id.number,
            expected(&first, 5, "BTC-USDC", None, Filled::default()),
        ),
        (
            second.client_id.number,
            expected(&second, 6, "ETH-USDC", Some("cancelled"), filled),
        ),
    ];
    assert_eq!(remembered, all.into());
    // Recovered with every field, the ended one not.
    drop(store);
    let found = open(&folder).recover(&names()).unwrap();
    assert_eq!(found.open.len(), 1);
    assert_eq!(found.open[0].recovered.order, first);
    let open = view::without_end(folder.path()).unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].accepted_until_s, 1_800_000_017);
    assert_eq!(open[0].rests_until_s, None);
    assert!(!open[0].is_move);
    // What cannot be decoded is damage.
    for change in ["price = 'x'", "sell_amount = 'x'"] {
        let database = Connection::open(folder.path().join(FILE)).unwrap();
        let change = format!("UPDATE intents SET {change}");
        database.execute_batch(&change).unwrap();
        let refused = view::remembered(folder.path());
        assert!(
            matches!(refused, Err(StoreError::Corrupt { .. })),
            "{change}"
        );
    }
}

#[test]
fn joins_and_exits_are_remembered() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let next = store.recover(&names()).unwrap().next_number;
    let transaction = |number, kind, storage_ids: &[u32], add: u128| UnsignedPoolTransaction {
        client_id: client_id(&store, number),
        market: MarketId(0),
        kind,
        pooled: [TokenId(4), TokenId(5)],
        amounts: [41 + add, 42 + add],
        lp: TokenId(6),
        lp_amount: 43 + add,
        storage_ids: storage_ids.to_vec(),
        fee_max: 44 + add,
        valid_until_s: 1_800_000_045,
        made_at: VenueTime(1_799_999_990_046),
    };
    let join = transaction(next, PoolTransactionKind::Join, &[1, 3], 0);
    let exit = transaction(next + 1, PoolTransactionKind::Exit, &[5], 10);
    let sealed = |transaction: &UnsignedPoolTransaction, byte| SealedIntent {
        intent: Intent::PoolTransaction(transaction.clone()),
        hash: Hash([byte; 32]),
        body: Vec::new(),
    };
    store.seal(&[sealed(&join, 7), sealed(&exit, 8)]).unwrap();
    end(
        &mut store,
        join.client_id,
        End::Filled,
        Filled::default(),
        None,
    )
    .unwrap();
    let remembered = view::remembered_moves(folder.path()).unwrap();
    let row = |transaction, byte, end: Option<&str>| RememberedPoolTransaction {
        transaction,
        hash: Hash([byte; 32]),
        end: end.map(str::to_owned),
    };
    assert_eq!(
        remembered,
        [row(join, 7, Some("filled")), row(exit, 8, None)]
    );
    let database = Connection::open(folder.path().join(FILE)).unwrap();
    database
        .execute_batch("UPDATE moves SET lp_amount = 'x'")
        .unwrap();
    let refused = view::remembered_moves(folder.path());
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })));
}

#[test]
fn the_trading_state_is_read_beside_a_daemon() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let level = || view::level(folder.path()).unwrap();
    assert_eq!(level(), (TradingState::Active, String::new()));
    for state in TradingState::ALL {
        let cause = format!("so it is {}", state.name());
        let lowers = true;
        store
            .set_restrictions(&Restrictions::of(state), &cause, lowers)
            .unwrap();
        assert_eq!(level(), (state, cause.clone()));
        assert_eq!(store.level().unwrap(), (state, cause.clone()));
        assert!(store.had_cause(&cause).unwrap());
    }
    assert!(!store.had_cause("so it").unwrap());
    for change in [
        "cause = 'none'",
        "level = 'unknown'",
        "at_us = at_us + 1",
        "pauses = '[]'",
        "id = id + 1",
    ] {
        let database = Connection::open(folder.path().join(FILE)).unwrap();
        let change = format!("UPDATE levels SET {change} WHERE id = (SELECT max(id) FROM levels)");
        database.execute_batch(&change).unwrap();
        let refused = view::level(folder.path());
        assert!(
            matches!(refused, Err(StoreError::Corrupt { .. })),
            "{change}"
        );
    }
}

/// The daemon only restricts; the operator decides about less.
#[test]
fn only_a_lowering_makes_the_trading_state_less_restrictive() {
    for (stored, wanted) in TradingState::ALL
        .into_iter()
        .flat_map(|stored| TradingState::ALL.map(|wanted| (stored, wanted)))
    {
        let folder = crate::testing::private_folder();
        let mut store = open(&folder);
        store
            .set_restrictions(&Restrictions::of(stored), "first", true)
            .unwrap();
        let second = store.set_restrictions(&Restrictions::of(wanted), "second", false);
        assert_eq!(second.is_ok(), wanted >= stored, "{stored:?} {wanted:?}");
        let kept = if wanted >= stored { wanted } else { stored };
        assert_eq!(store.level().unwrap().0, kept);
    }
}

#[test]
fn pauses_are_stored_with_every_field_and_by_market_name() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let pause = |filter, since, until: Option<u64>, cause: &str| Pause {
        filter,
        since: VenueTime(since),
        until: until.map(VenueTime),
        cause: cause.to_owned(),
    };
    let filter = |market: Option<u16>, side, strategy: Option<u8>| Filter {
        market: market.map(MarketId),
        side,
        strategy: strategy.map(StrategyId),
    };
    let pauses = vec![
        pause(
            filter(Some(1), Some(Side::Sell), Some(7)),
            51,
            Some(52),
            "all of it",
        ),
        pause(filter(Some(0), Some(Side::Buy), None), 53, None, "one side"),
        pause(filter(None, None, Some(3)), 54, Some(55), "a strategy"),
    ];
    let restrictions = Restrictions {
        state: TradingState::CancelOnly,
        pauses: pauses.clone(),
    };
    store.set_restrictions(&restrictions, "why", false).unwrap();
    assert!(store.is_paused().unwrap());
    drop(store);
    let mut store = open(&folder);
    let found = store.recover(&names()).unwrap();
    assert_eq!(
        (found.restrictions, found.cause.as_str()),
        (restrictions, "why")
    );
    // Another order of the configuration, and a market less.
    let found = store
        .recover(&["BTC-USDC".to_owned()])
        .unwrap()
        .restrictions;
    let moved = pause(
        filter(Some(0), Some(Side::Sell), Some(7)),
        51,
        Some(52),
        "all of it",
    );
    assert_eq!(found.pauses, [moved, pauses[2].clone()]);
    // What cannot be decoded is damage.
    for text in ["{", "[{}]", r#"[{"side":"up","since_ms":1,"cause":"x"}]"#] {
        store
            .append(TradingState::Active, "x", text.to_owned())
            .unwrap();
        let refused = store.recover(&names());
        assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{text}");
    }
}

#[test]
fn rows_of_another_version_are_not_read() {
    let folder = crate::testing::private_folder();
    drop(open(&folder));
    let read = || history::decimal_places(folder.path());
    assert!(read().is_ok());
    let known = crate::schema::SCHEMA;
    for (version, newer) in [(known - 1, false), (known + 1, true)] {
        let database = Connection::open(folder.path().join(FILE)).unwrap();
        let change = format!("PRAGMA user_version = {version}");
        database.execute_batch(&change).unwrap();
        drop(database);
        let error = read().unwrap_err();
        if newer {
            let refused = matches!(error, StoreError::TooNew { found, known: of, .. } if (found, of) == (version, known));
            assert!(refused, "{error}");
        } else {
            let text = error.to_string();
            assert!(text.contains("written by an earlier version"), "{text}");
        }
    }
}

/// Stores of versions without a table have nothing in it.
#[test]
fn what_a_version_did_not_have_is_empty() {
    let folder = crate::testing::private_folder();
    drop(open(&folder));
    let database = Connection::open(folder.path().join(FILE)).unwrap();
    let older = "DROP TABLE flows; DROP TABLE parameters; DROP TABLE moves; DROP TABLE listing;";
    database.execute_batch(older).unwrap();
    drop(database);
    let dir = folder.path();
    assert_eq!(crate::flows::explained(dir).unwrap(), []);
    assert_eq!(parameters::changes(dir).unwrap(), []);
    assert_eq!(view::without_end(dir).unwrap(), []);
    assert!(view::books(dir).unwrap().is_none());
    // A folder without a store is an error, not an empty one.
    let other = crate::testing::private_folder();
    assert!(crate::flows::explained(other.path()).is_err());
    assert!(view::remembered(other.path()).is_err());
    assert!(!other.path().join(FILE).exists(), "nothing was created");
}

const HOUR_US: i64 = 3_600_000_000;

/// Intents are kept for whole days after they were sealed, to the hour.
#[test]
fn ended_intents_are_kept_for_days() {
    for (age_hours, is_kept) in [(71, true), (73, false)] {
        let folder = crate::testing::private_folder();
        let mut store = open(&folder);
        let [first, _] = orders(&mut store);
        store.seal(&[sealed(&first, 5)]).unwrap();
        end(
            &mut store,
            first.client_id,
            End::Expired,
            Filled::default(),
            None,
        )
        .unwrap();
        let earlier = "UPDATE intents SET sealed_us = sealed_us - ?1";
        store
            .database
            .execute(earlier, [age_hours * HOUR_US])
            .unwrap();
        assert_eq!(
            store.prune(3).unwrap(),
            usize::from(!is_kept),
            "{age_hours} hours"
        );
        let left = view::remembered(folder.path()).unwrap();
        assert_eq!(left.len(), usize::from(is_kept));
        for table in ["ends", "bodies"] {
            let count = format!("SELECT count(*) FROM {table}");
            let rows: u32 = store
                .database
                .query_row(&count, [], |row| row.get(0))
                .unwrap();
            assert_eq!(rows, u32::from(is_kept && table == "ends"), "{table}");
        }
    }
}

#[test]
fn a_failed_removal_is_reported_and_ends_writing() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    store.database.execute_batch("DROP TABLE moves").unwrap();
    assert!(matches!(store.prune(0), Err(StoreError::Database { .. })));
    assert!(store.has_failed());
}
