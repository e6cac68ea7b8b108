//! Joins and exits in the store: recovered, chained with the orders, ended once, upgraded.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::notification::{End, PoolTransactionSettlement};
use cambist_core::pool::{PoolTransactionAmounts, UnsignedPoolTransaction};
use cambist_core::{
    ClientOrderId, Hash, Intent, MarketId, PoolTransactionKind, StrategyId, TokenId, VenueTime,
};

use crate::tests::{end, names, seal_one};
use crate::view::{Open, without_end};
use crate::{FILE, Filled, SealedIntent, Store, StoreError};
use tempfile::TempDir;

fn open(folder: &TempDir) -> Store {
    let mut store = Store::open(folder.path()).unwrap();
    store.recover(&names()).unwrap();
    store
}

fn transaction(store: &mut Store, kind: PoolTransactionKind) -> UnsignedPoolTransaction {
    let found = store.recover(&names()).unwrap();
    let next = |token| {
        found
            .next_storage
            .get(&TokenId(token))
            .copied()
            .unwrap_or(0)
            + 1
    };
    UnsignedPoolTransaction {
        client_id: ClientOrderId {
            instance: store.instance(),
            strategy: StrategyId(1),
            number: found.next_number,
        },
        market: MarketId(0),
        kind,
        pooled: [TokenId(0), TokenId(1)],
        amounts: [(1 << 96) - 1, 7],
        lp: TokenId(2),
        lp_amount: 5,
        storage_ids: match kind {
            PoolTransactionKind::Join => vec![next(0), next(1)],
            PoolTransactionKind::Exit => vec![next(2)],
        },
        fee_max: 3,
        valid_until_s: 1_800_000_000,
        made_at: VenueTime(1_799_999_990_000),
    }
}

fn seal(store: &mut Store, kind: PoolTransactionKind) -> (UnsignedPoolTransaction, Vec<u8>) {
    let transaction = transaction(store, kind);
    let body = format!("{{\"move\":{}}}", transaction.client_id.number).into_bytes();
    let sealed = SealedIntent {
        intent: Intent::PoolTransaction(transaction.clone()),
        hash: Hash([9; 32]),
        body: body.clone(),
    };
    store.seal(&[sealed]).unwrap();
    (transaction, body)
}

#[test]
fn orders_and_pool_transactions_are_one_chain_and_have_the_same_ends() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let (join, _) = seal(&mut store, PoolTransactionKind::Join);
    let order = seal_one(&mut store);
    let (exit, _) = seal(&mut store, PoolTransactionKind::Exit);
    let open_at = |is_move| Open {
        is_move,
        accepted_until_s: 1_800_000_000,
        rests_until_s: Some(1_800_000_000),
    };
    assert_eq!(
        without_end(folder.path()).unwrap(),
        [open_at(false), open_at(true), open_at(true)]
    );
    end(
        &mut store,
        join.client_id,
        End::Fenced,
        Filled::default(),
        None,
    )
    .unwrap();
    assert_eq!(
        without_end(folder.path()).unwrap(),
        [open_at(false), open_at(true)]
    );
    drop(store);
    let found = open(&folder).recover(&names()).unwrap();
    assert_eq!((found.open.len(), found.open_moves.len()), (1, 1));
    assert_eq!(found.open[0].body, order.body);
    assert_eq!(found.open_moves[0].recovered.transaction, exit);
}

#[test]
fn a_sealed_pool_transaction_is_recovered_byte_for_byte_until_its_end() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    let (join, body) = seal(&mut store, PoolTransactionKind::Join);
    let (exit, _) = seal(&mut store, PoolTransactionKind::Exit);
    drop(store);
    let mut store = open(&folder);
    let found = store.recover(&names()).unwrap();
    assert_eq!(found.open, [], "pool transactions are not orders");
    assert_eq!(found.open_moves.len(), 2);
    assert_eq!(found.open_moves[0].recovered.transaction, join);
    assert_eq!(found.open_moves[0].body, body);
    assert_eq!(found.open_moves[1].recovered.transaction, exit);
    for (token, used) in [(0, 0), (1, 1), (2, 0)] {
        let ids = if token == 2 {
            &exit.storage_ids
        } else {
            &join.storage_ids
        };
        let next = found.next_storage[&TokenId(token)];
        assert!(
            next > ids[used] && next.is_multiple_of(2),
            "{token}: {next}"
        );
    }
    let moved = PoolTransactionSettlement {
        order: join.client_id,
        market: MarketId(0),
        kind: PoolTransactionKind::Join,
        pooled: join.pooled,
        lp: join.lp,
        amounts: PoolTransactionAmounts {
            pooled: [10, 7],
            lp: 5,
            fee: 1,
        },
        mid: None,
    };
    let end = |store: &mut Store| {
        end(
            store,
            join.client_id,
            End::Filled,
            Filled::default(),
            Some(&moved),
        )
    };
    end(&mut store).unwrap();
    assert!(
        matches!(end(&mut store), Err(StoreError::Refused { .. })),
        "ends once"
    );
    drop(store);
    let found = open(&folder).recover(&names()).unwrap();
    assert_eq!(found.open_moves.len(), 1);
    assert_eq!(found.open_moves[0].recovered.transaction, exit);
}

#[test]
fn a_used_storage_id_of_any_token_is_refused() {
    let folder = crate::testing::private_folder();
    let mut store = open(&folder);
    seal(&mut store, PoolTransactionKind::Join);
    let mut again = transaction(&mut store, PoolTransactionKind::Join);
    again.storage_ids[1] -= 2;
    let sealed = SealedIntent {
        intent: Intent::PoolTransaction(again),
        hash: Hash([8; 32]),
        body: Vec::new(),
    };
    let refused = store.seal(&[sealed]);
    assert!(matches!(refused, Err(StoreError::Refused { .. })));
}

#[test]
fn a_changed_or_missing_pool_transaction_is_detected() {
    for change in [
        "UPDATE moves SET lp_amount = '6'",
        "UPDATE moves SET storage_ids = '1'",
        "DELETE FROM moves",
        "UPDATE bodies SET body = x'00'",
    ] {
        let folder = crate::testing::private_folder();
        let mut store = open(&folder);
        seal(&mut store, PoolTransactionKind::Join);
        drop(store);
        let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
        database.execute(change, []).unwrap();
        drop(database);
        let opened = Store::open(folder.path()).and_then(|mut store| store.recover(&names()));
        assert!(
            matches!(opened, Err(StoreError::Corrupt { .. })),
            "{change}"
        );
    }
}

#[test]
fn a_store_of_the_first_version_opens_and_keeps_what_it_has() {
    let folder = crate::testing::private_folder();
    let store = open(&folder);
    let instance = store.instance();
    drop(store);
    let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    let back = "DROP INDEX fills_at; ALTER TABLE fills DROP COLUMN strategy; DROP TABLE strategies;
        DROP TABLE results; DROP TABLE balances; DROP TABLE opening; DROP TABLE ledger; DROP TABLE differences; DROP TABLE positions;
        DROP TABLE listing; DROP TABLE carried; DROP TABLE flows; DROP TABLE moves; DROP TABLE moved;
        ALTER TABLE levels DROP COLUMN pauses; DROP TABLE slot_rule; DROP TABLE parameters; DROP TABLE charged; ALTER TABLE intents DROP COLUMN rests_until_s; ALTER TABLE intents DROP COLUMN swap_most;
        PRAGMA user_version = 1;";
    database.execute_batch(back).unwrap();
    drop(database);
    let mut store = open(&folder);
    assert_eq!(store.instance(), instance);
    seal(&mut store, PoolTransactionKind::Join);
    drop(store);
    assert_eq!(open(&folder).recover(&names()).unwrap().open_moves.len(), 1);
}
