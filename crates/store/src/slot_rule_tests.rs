//! Two times of an order, and slot numbers by the venue's rule: stored, upgraded and refused.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::venue::{EXCHANGE_SLOTS, SlotRule};
use cambist_core::{
    ClientOrderId, Hash, Intent, MarketId, OrderKind, Price, Qty, Side, StrategyId, TokenId,
    VenueTime,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{FILE, SealedIntent, Store, StoreError, view};

const ACCEPTED_S: u32 = 1_800_000_000;
const ROW: TokenId = TokenId(77);
const STRIDED: SlotRule = SlotRule::Strided {
    slots: EXCHANGE_SLOTS,
};
const CONSECUTIVE: SlotRule = SlotRule::Consecutive { row: ROW };
const RISING: SlotRule = SlotRule::Rising { row: ROW };

fn names() -> [String; 1] {
    ["ETH-USDC".to_owned()]
}

/// Seals an order with the next client order number.
fn seal(
    store: &mut Store,
    slot: u32,
    rests_until_s: Option<u32>,
) -> Result<UnsignedOrder, StoreError> {
    let number = store.recover(&names()).unwrap().next_number;
    let order = UnsignedOrder {
        client_id: ClientOrderId {
            instance: store.instance(),
            strategy: StrategyId(0),
            number,
        },
        market: MarketId(0),
        side: Side::Buy,
        price: Price(5),
        qty: Qty(7),
        kind: OrderKind::MakerOnly,
        swap: None,
        sell_token: TokenId(1),
        sell_amount: 35,
        buy_token: TokenId(0),
        buy_amount: 7,
        fill_by: FillBy::Buy,
        slot,
        accepted_until_s: ACCEPTED_S,
        rests_until_s,
        max_fee_bips: 63,
        made_at: VenueTime(1_799_999_990_000),
    };
    let sealed = SealedIntent {
        intent: Intent::Order(order.clone()),
        hash: Hash([3; 32]),
        body: b"{}".to_vec(),
    };
    store.seal(&[sealed]).map(|()| order)
}

fn open_orders(folder: &TempDir) -> Vec<UnsignedOrder> {
    let mut store = Store::open(folder.path()).unwrap();
    let found = store.recover(&names()).unwrap();
    let orders = found.open.into_iter().map(|open| open.recovered.order);
    orders.collect()
}

fn change(folder: &TempDir, sql: &str) {
    let database = Connection::open(folder.path().join(FILE)).unwrap();
    database.execute_batch(sql).unwrap();
}

#[test]
fn both_times_of_an_order_are_stored() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    let rests = [Some(ACCEPTED_S), Some(ACCEPTED_S + 60), None];
    let sealed: Vec<_> = (0..)
        .zip(rests)
        .map(|(n, rests_until_s)| seal(&mut store, 2 * n, rests_until_s).unwrap())
        .collect();
    drop(store);
    assert_eq!(open_orders(&folder), sealed);
    let shown = view::without_end(folder.path()).unwrap();
    let shown: Vec<_> = shown.iter().map(|one| one.rests_until_s).collect();
    assert_eq!(shown, rests);
}

#[test]
fn a_changed_end_of_rest_is_detected() {
    for (stored, altered) in [
        (Some(ACCEPTED_S), "NULL"),
        (Some(ACCEPTED_S), "1800000001"),
        (None, "1800000000"),
    ] {
        let folder = crate::testing::private_folder();
        let mut store = Store::open(folder.path()).unwrap();
        seal(&mut store, 0, stored).unwrap();
        drop(store);
        change(
            &folder,
            &format!("UPDATE intents SET rests_until_s = {altered}"),
        );
        let refused = Store::open(folder.path()).unwrap_err();
        assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    }
}

/// Before version 7 there was one time for both, and no stored rule.
#[test]
fn a_store_of_version_6_is_opened_with_one_time_for_both() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    let sealed = seal(&mut store, 0, Some(ACCEPTED_S)).unwrap();
    drop(store);
    let back = "ALTER TABLE intents DROP COLUMN rests_until_s; ALTER TABLE intents DROP COLUMN swap_most; DROP TABLE slot_rule; DROP TABLE parameters; DROP TABLE charged; PRAGMA user_version = 6;";
    change(&folder, back);
    let listed = view::without_end(folder.path()).unwrap();
    assert_eq!(listed[0].rests_until_s, Some(ACCEPTED_S), "read as it is");
    assert_eq!(open_orders(&folder), [sealed]);
    drop(Store::open_for(folder.path(), STRIDED).unwrap());
    let refused = Store::open_for(folder.path(), CONSECUTIVE).unwrap_err();
    assert!(
        matches!(refused, StoreError::OtherVenue { .. }),
        "{refused}"
    );
    let folder_name = folder.path().display().to_string();
    assert!(refused.to_string().contains(&folder_name), "{refused}");
}

#[test]
fn consecutive_numbers_are_neither_skipped_by_a_start_nor_refused_again() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open_for(folder.path(), CONSECUTIVE).unwrap();
    for slot in [40, 41, 40] {
        seal(&mut store, slot, None).unwrap();
    }
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    let next = store.recover(&names()).unwrap().next_storage;
    assert_eq!(next, [(ROW, 42)].into());
    seal(&mut store, 41, None).unwrap();
    drop(store);
    // A folder belongs to one rule.
    let refused = Store::open_for(folder.path(), STRIDED).unwrap_err();
    assert!(refused.to_string().contains("another venue"), "{refused}");
    assert_eq!(open_orders(&folder).len(), 4);
}

#[test]
fn rising_numbers_are_refused_the_second_time_and_go_on_behind_a_gap_at_a_start() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open_for(folder.path(), RISING).unwrap();
    for slot in [40, 41, 45] {
        seal(&mut store, slot, None).unwrap();
    }
    drop(store);
    let mut store = Store::open_for(folder.path(), RISING).unwrap();
    let next = store.recover(&names()).unwrap().next_storage[&ROW];
    assert!(
        next > 46,
        "an earlier copy of this folder may have used some"
    );
    seal(&mut store, next, None).unwrap();
    assert!(seal(&mut store, next, None).is_err());
    drop(store);
    for other in [STRIDED, CONSECUTIVE] {
        let refused = Store::open_for(folder.path(), other).unwrap_err();
        assert!(refused.to_string().contains("another venue"), "{refused}");
    }
}

#[test]
fn a_number_that_counts_once_is_refused_the_second_time() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open_for(folder.path(), STRIDED).unwrap();
    seal(&mut store, 4, Some(ACCEPTED_S)).unwrap();
    assert!(seal(&mut store, 4, Some(ACCEPTED_S)).is_err());
    seal(&mut store, 6, Some(ACCEPTED_S)).unwrap();
    drop(store);
    change(&folder, "UPDATE slot_rule SET number = 8");
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
}
