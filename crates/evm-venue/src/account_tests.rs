//! The account as a plain value: what is signed, settled, asked again and stopped.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::chain::tests::{COIN, FIRST, SECOND, chain, token};
use crate::finality::tests::block;
use crate::seal::tests::{FEES, exit, join, swap};
use crate::settle::tests::{joined, left, receipt, reverted, sold};
use cambist_core::order::UnsignedOrder;
use cambist_evm::{Address, Hash32};

fn key() -> EthKey {
    EthKey::from_hex("0x5").unwrap()
}

fn account() -> Account {
    let mut of = chain();
    of.account = key().address();
    let market = MarketSpec::new(MarketId(0), "T1-T2", token(FIRST), token(SECOND), 2, true);
    Account::new(of, vec![market.unwrap()], 40_000, 1_000, 7)
}

/// With block 9 as the newest and block 5 as the finalized one.
fn seen() -> Account {
    let mut account = account();
    account.follow(block(9, 0), block(5, 0), None).unwrap();
    account
}

fn burnt(account: &Account, hash: Hash) -> Receipt {
    Receipt {
        transaction: Hash32(hash.0),
        block_number: 4,
        block_hash: block(4, 0).hash,
        from: account.chain.account,
        to: Some(account.chain.account),
        created: None,
        succeeded: true,
        gas_used: 21_000,
        gas_price: 3,
        logs: Vec::new(),
    }
}

fn all() -> OrdersPage {
    OrdersPage {
        list: OrderList::All,
        from: VenueTime(0),
        to: VenueTime(0),
        offset: 0,
        limit: 9,
    }
}

#[test]
fn nothing_is_signed_while_a_node_does_not_confirm_the_other() {
    let mut account = seen();
    for token in [FIRST, SECOND] {
        account.allows(token, U256::ZERO);
    }
    let join = Intent::PoolTransaction(join());
    let sealed = |account: &mut Account| account.seal_intent(&join, FEES, &key()).map(drop);
    // What is not repeated leaves no doubt: its answer might not be asked for again.
    account.doubts(Endpoint::Order, true);
    account.doubts(Endpoint::Depth, true);
    account.doubts(Endpoint::Balances, true);
    account.doubts(Endpoint::Depth, false);
    assert_eq!(sealed(&mut account), Err(AccountError::Doubt));
    account.doubts(Endpoint::Balances, false);
    assert_eq!(sealed(&mut account), Ok(()));
}

#[test]
fn a_deadline_far_behind_the_newest_block_is_not_signed() {
    // The newest block is of second 1,090; grace is 40 s.
    let wanted = UnsignedPoolTransaction {
        valid_until_s: 1_190,
        ..join()
    };
    let ahead_ms = 100_000;
    for (ttl_ms, expected) in [
        (ahead_ms - 40_000, None),
        (ahead_ms - 40_001, Some(AccountError::Deadline)),
    ] {
        let mut account = seen().with_ttl_ms(ttl_ms);
        for token in [FIRST, SECOND] {
            account.allows(token, U256::ZERO);
        }
        let intent = Intent::PoolTransaction(wanted.clone());
        let sealed = account.seal_intent(&intent, FEES, &key());
        assert_eq!(sealed.err(), expected, "{ttl_ms}");
    }
}

#[test]
fn a_nonce_is_settled_once_and_lists_wait_for_it() {
    let mut account = seen();
    assert_eq!(account.due(7), Ok(None));
    let sealed = account.seal(Wanted::Burn, 7, FEES, &key()).unwrap();
    assert_eq!(account.next_nonce(), 8);
    let due = account.due(8).unwrap().unwrap();
    assert_eq!((due.nonce, due.hashes), (7, vec![sealed.hash]));
    assert_eq!(account.orders(8, &all()), None, "not everything is settled");
    let mined = [(sealed.hash, Some(burnt(&account, sealed.hash)))];
    assert_eq!(account.settle(8, &mined, None), Err(AccountError::Block));
    assert_eq!(account.venue_time(), Some(VenueTime::from_s(1_090)));
    assert_eq!(account.known_number(), Some(5));
    // The finalized block is of second 1,050.
    let younger = Block {
        timestamp_s: 1_051,
        ..block(4, 0)
    };
    let unlinked = Err(AccountError::Unusable(Unusable::Unlinked));
    assert_eq!(account.settle(8, &mined, Some(&younger)), unlinked);
    assert_eq!(account.settle(8, &mined, Some(&block(4, 0))), Ok(()));
    let charge = Charge {
        number: 7,
        token: COIN,
        amount: 63_000,
        cause: sealed.hash,
    };
    assert!(account.charges().eq([&charge]));
    assert_eq!((account.settled_below(), account.due(8)), (8, Ok(None)));
    let behind = AccountError::Unusable(Unusable::Behind);
    assert_eq!(account.due(7), Err(behind), "the charge is booked");
    let none = Reply::Orders {
        orders: Vec::new(),
        total: 0,
    };
    assert_eq!(account.orders(8, &all()), Some(none));
    assert!(account.pool_transactions(8, &all()).is_some());
    let late = OrdersPage {
        to: VenueTime::from_s(1_091),
        ..all()
    };
    assert_eq!(account.orders(8, &late), None, "finality lags");
}

/// Books the receipt of an intent; how many reports are kept, or why there is none.
fn booked(intent: Intent, receipt: &Receipt) -> Result<usize, Unsettled> {
    let [first, second] = [FIRST, SECOND].map(token);
    let (base, quote) = match &intent {
        Intent::Order(of) if of.side == Side::Buy => (second, first),
        _ => (first, second),
    };
    let market = MarketSpec::new(MarketId(0), "T1-T2", base, quote, 2, true);
    let mut account = Account::new(chain(), vec![market.unwrap()], 40_000, 1_000, 7);
    let hash = Hash([1; 32]);
    account.wanted.insert(hash, Wanted::Intent(intent));
    account.book(hash, receipt, &block(4, 0))?;
    Ok(account.orders.kept.len() + account.pool_transactions.kept.len())
}

#[test]
fn a_settled_order_is_found_until_it_is_not_kept() {
    let market = MarketSpec::new(MarketId(0), "T1-T2", token(FIRST), token(SECOND), 2, true);
    let mut account = Account::new(chain(), vec![market.unwrap()], 40_000, 1_000, 7);
    let hash = Hash([1; 32]);
    assert_eq!(account.order(hash), Ok(None));
    let wanted = Wanted::Intent(Intent::Order(swap()));
    account.wanted.insert(hash, wanted);
    account.book(hash, &receipt(sold()), &block(4, 0)).unwrap();
    let found = account.order(hash).unwrap().unwrap();
    let created = list::Created::created(found);
    assert_eq!((found.hash, created), (hash, VenueTime::from_s(1_040)));
    for _ in 0..REPORTS_KEPT {
        let later = cambist_core::order::OrderReport {
            hash: Hash([2; 32]),
            ..account.orders.kept[0].clone()
        };
        account.orders.push(later);
    }
    assert_eq!(account.order(hash), Err(Forgotten));
}

/// The contracts execute nothing else: a receipt that states it is not that of the intent.
#[test]
fn what_is_beyond_the_signed_amounts_is_not_booked() {
    let beyond = Err(Unsettled::Amounts);
    let joins = |amounts, receipt: &Receipt| {
        let intent = UnsignedPoolTransaction { amounts, ..join() };
        booked(Intent::PoolTransaction(intent), receipt)
    };
    // Pays 99 and 300.
    assert_eq!(joins([99, 300], &receipt(joined())), Ok(1));
    assert_eq!(joins([98, 300], &receipt(joined())), beyond);
    assert_eq!(joins([99, 299], &receipt(joined())), beyond);
    let leaves = |amounts, receipt: &Receipt| {
        let intent = UnsignedPoolTransaction { amounts, ..exit() };
        booked(Intent::PoolTransaction(intent), receipt)
    };
    // Pays out 94 and 285.
    assert_eq!(leaves([94, 285], &receipt(left())), Ok(1));
    assert_eq!(leaves([95, 285], &receipt(left())), beyond);
    assert_eq!(leaves([94, 286], &receipt(left())), beyond);
    assert_eq!(leaves([94, 285], &reverted()), Ok(1), "nothing moved");
    for side in Side::BOTH {
        let swaps = |sell_amount, buy_amount, receipt: &Receipt| {
            let intent = UnsignedOrder {
                side,
                sell_amount,
                buy_amount,
                ..swap()
            };
            booked(Intent::Order(intent), receipt)
        };
        // Sells 50 for 142.
        assert_eq!(swaps(50, 142, &receipt(sold())), Ok(1), "{side:?}");
        assert_eq!(swaps(51, 141, &receipt(sold())), Ok(1), "{side:?}");
        assert_eq!(swaps(49, 142, &receipt(sold())), beyond, "{side:?}");
        assert_eq!(swaps(50, 143, &receipt(sold())), beyond, "{side:?}");
        assert_eq!(swaps(50, 142, &reverted()), Ok(1), "{side:?}");
    }
}

type Change = fn(&mut Receipt);

/// Grace counts from when this was stated first, whatever was stated before.
#[test]
fn another_reason_is_given_grace_of_its_own() {
    let failed: Change = |receipt| receipt.succeeded = false;
    let elsewhere: Change = |receipt| receipt.block_hash = block(4, 1).hash;
    let mut other = seen();
    let sealed = other.seal(Wanted::Burn, 7, FEES, &key()).unwrap();
    for (finalized, change, why) in [
        (5, failed, Unsettled::Logs),
        (9, elsewhere, Unsettled::Receipt),
    ] {
        let known = other.view().unwrap().finalized().to_owned();
        other
            .follow(block(12, 0), block(finalized, 0), Some(&known))
            .unwrap();
        let mut wrong = burnt(&other, sealed.hash);
        change(&mut wrong);
        let settled = other.settle(8, &[(sealed.hash, Some(wrong))], Some(&block(4, 0)));
        assert_eq!(settled, Err(AccountError::Unsettled { nonce: 7, why }));
    }
}

#[test]
fn what_cannot_be_explained_stops_everything() {
    // One answer may be wrong: a second finalized block has to have it spent as well.
    let mut foreign = seen();
    for _ in 0..2 {
        let doubted = foreign.settle(8, &[], None);
        assert_eq!(doubted, Err(NonceError::Contradiction.into()));
    }
    foreign
        .follow(block(9, 0), block(6, 0), Some(&block(5, 0)))
        .unwrap();
    let stopped = foreign.settle(8, &[], None);
    let why = Stopped::Foreign { nonce: 7 };
    assert_eq!(stopped, Err(why.into()));
    assert_eq!(foreign.stopped(), Some(why));
    let refused = foreign.seal(Wanted::Burn, 8, FEES, &key());
    assert_eq!(refused, Err(why.into()));
    assert_eq!(foreign.orders(7, &all()), None);
    assert!(
        foreign
            .follow(block(9, 0), block(5, 0), Some(&block(5, 0)))
            .is_err()
    );

    // A node that does not know a receipt yet is asked again, for grace of finalized time: 40 s.
    let mut unsure = seen();
    let sealed = unsure.seal(Wanted::Burn, 7, FEES, &key()).unwrap();
    let unknown = [(sealed.hash, None)];
    for (finalized, stops) in [(5, false), (8, false), (9, true)] {
        let [latest, block] = [block(12, 0), block(finalized, 0)];
        let known = unsure.view().unwrap().finalized().to_owned();
        unsure.follow(latest, block, Some(&known)).unwrap();
        let settled = unsure.settle(8, &unknown, None);
        let expected = if stops {
            AccountError::from(Stopped::Foreign { nonce: 7 })
        } else {
            NonceError::Contradiction.into()
        };
        assert_eq!(settled, Err(expected), "{finalized}");
    }

    // A receipt that cannot be booked is asked for again, for grace as well: whatever is wrong with it.
    let changes: [(Change, Unsettled); 4] = [
        (|receipt| receipt.succeeded = false, Unsettled::Logs),
        (
            |receipt| receipt.block_hash = block(4, 1).hash,
            Unsettled::Receipt,
        ),
        (|receipt| receipt.gas_price = FEES.max + 1, Unsettled::Gas),
        (|receipt| receipt.gas_used = 21_001, Unsettled::Gas),
    ];
    for (change, why) in changes {
        let mut unbooked = seen();
        let sealed = unbooked.seal(Wanted::Burn, 7, FEES, &key()).unwrap();
        let mut wrong = burnt(&unbooked, sealed.hash);
        change(&mut wrong);
        let right = burnt(&unbooked, sealed.hash);
        for (finalized, stops) in [(5, false), (8, false), (9, true)] {
            let known = unbooked.view().unwrap().finalized().to_owned();
            unbooked
                .follow(block(12, 0), block(finalized, 0), Some(&known))
                .unwrap();
            let mined = [(sealed.hash, Some(wrong.clone()))];
            let settled = unbooked.settle(8, &mined, Some(&block(4, 0)));
            let expected = if stops {
                Stopped::Unsettled { nonce: 7, why }.into()
            } else {
                AccountError::Unsettled { nonce: 7, why }
            };
            assert_eq!(settled, Err(expected), "{finalized}");
        }
        assert_eq!(unbooked.charges().count(), 0);

        let mut answered = seen();
        let again = answered.seal(Wanted::Burn, 7, FEES, &key()).unwrap();
        for (receipt, is_settled) in [(wrong, false), (right, true)] {
            let mined = [(again.hash, Some(receipt))];
            let settled = answered.settle(8, &mined, Some(&block(4, 0)));
            assert_eq!(settled.is_ok(), is_settled);
        }
    }

    let mut forked = seen();
    let followed = forked.follow(block(10, 1), block(6, 1), Some(&block(5, 1)));
    assert!(matches!(
        followed,
        Err(AccountError::Stopped(Stopped::Forked(_)))
    ));
    assert!(forked.stopped().is_some());
    let mut behind = seen();
    let followed = behind.follow(block(9, 0), block(4, 0), Some(&block(5, 0)));
    assert_eq!(followed, Err(AccountError::Unusable(Unusable::Behind)));
    assert_eq!(behind.stopped(), None, "the next answer may be right");
    assert!(behind.follow(block(9, 0), block(5, 0), None).is_err());

    // The first view after a start, of a node that lags behind what the run before it saw.
    let mut started = account().with_final(6);
    let followed = started.follow(block(9, 0), block(5, 0), None);
    assert_eq!(followed, Err(AccountError::Unusable(Unusable::Behind)));
    assert_eq!(started.follow(block(9, 0), block(6, 0), None), Ok(()));
}

#[test]
fn the_position_of_a_range_is_what_was_read_last() {
    let mut of = chain();
    let range = crate::range::tests::range_of(-60, 60);
    of.ranges.insert(MarketId(0), range);
    let mut account = Account::new(of, Vec::new(), 40_000, 1_000, 7);
    let held = Held::Position(U256::from(9));
    account.holds(MarketId(0), held);
    assert_eq!(account.chain().ranges[&MarketId(0)].held, held);
}

#[test]
fn an_account_that_only_reads_settles_nothing() {
    let seen = seen();
    let account = Account::new(seen.chain().clone(), Vec::new(), 40_000, 0, READS_ONLY);
    assert_eq!(account.due(7), Ok(None));
}

#[derive(Clone, Debug, PartialEq)]
struct At(u64);

impl list::Created for At {
    fn created(&self) -> VenueTime {
        VenueTime::from_s(self.0)
    }
}

#[test]
fn a_window_of_reports_that_are_not_kept_is_not_answered() {
    let account = seen();
    let view = account.view().unwrap();
    let kept = REPORTS_KEPT as u64;
    let mut reports = Reports::default();
    (1..=kept).for_each(|at| reports.push(At(at)));
    let page = |reports: &Reports<At>, from, list| {
        let from = VenueTime::from_s(from);
        let asked = OrdersPage {
            from,
            list,
            ..all()
        };
        reports.page(view, 40_000, &asked)
    };
    let total = |found: Option<(Vec<At>, u32)>| found.map(|(_, total)| total);
    assert_eq!(total(page(&reports, 0, OrderList::All)), Some(1_024));
    (kept + 1..=kept + 3).for_each(|at| reports.push(At(at)));
    assert_eq!(reports.kept.len(), REPORTS_KEPT);
    for from in 0..=3 {
        assert_eq!(page(&reports, from, OrderList::All), None, "{from}");
    }
    assert_eq!(total(page(&reports, 4, OrderList::All)), Some(1_024));
    assert_eq!(total(page(&reports, 0, OrderList::Resting)), Some(0));
}

#[test]
fn what_is_settled_long_ago_takes_no_memory() {
    let mut account = seen();
    let charged = CHARGES_KEPT as u64 + 5;
    for nonce in 7..7 + charged {
        let sealed = account.seal(Wanted::Burn, nonce, FEES, &key()).unwrap();
        let mined = [(sealed.hash, Some(burnt(&account, sealed.hash)))];
        let settled = account.settle(nonce + 1, &mined, Some(&block(4, 0)));
        assert_eq!(settled, Ok(()));
    }
    let numbers: Vec<_> = account.charges().map(|charge| charge.number).collect();
    assert_eq!(numbers, (12..7 + charged).collect::<Vec<_>>(), "the newest");
    let last = account.settled_below();
    assert_eq!(account.wanted.len() as u64, NONCES_KEPT);
    assert_eq!(account.signed_for(last - NONCES_KEPT).len(), 1);
    assert_eq!(account.signed_for(last - NONCES_KEPT - 1), []);
    assert_eq!(account.next_nonce(), last);
}

fn kinds(bundle: &Bundle) -> Vec<(u64, Option<Amount>)> {
    let each = bundle.parts().iter();
    let kind = |part: &Part| match part.wanted {
        Wanted::Approval { amount, .. } => Some(amount),
        Wanted::Intent(_) | Wanted::Burn => None,
    };
    each.map(|part| (part.sealed.nonce, kind(part))).collect()
}

#[test]
fn an_intent_is_sealed_with_exact_approvals_and_replaces_what_is_dead() {
    let mut account = seen();
    let joins = Intent::PoolTransaction(join());
    let unread = account.seal_intent(&joins, FEES, &key());
    assert_eq!(
        unread,
        Err(AccountError::Unseen),
        "what is allowed is not known"
    );
    account.allows(FIRST, U256::from(1));
    account.allows(SECOND, U256::ZERO);
    account.allows(join().lp, U256::from(95));
    let first = account.seal_intent(&joins, FEES, &key()).unwrap();
    // 100 and 301 at most; 1 of the first token was left.
    let expected = [(7, Some(0)), (8, Some(100)), (9, Some(301)), (10, None)];
    assert_eq!(kinds(&first), expected);
    assert_eq!(first.hash(), first.parts()[3].sealed.hash);
    // Nonce 7 is spent by its first approval, and the join was never mined. An exit needs one transaction only, and
    // three nonces are left.
    let receipt = Receipt {
        to: Some(account.chain.tokens[&FIRST]),
        logs: vec![approval_log(&account, 0)],
        ..burnt(&account, first.parts()[0].sealed.hash)
    };
    let mined = [(first.parts()[0].sealed.hash, Some(receipt))];
    account.settle(8, &mined, Some(&block(4, 0))).unwrap();
    let leaves = Intent::PoolTransaction(exit());
    let stale = account.seal_intent(&leaves, FEES, &key());
    assert_eq!(stale, Err(AccountError::Unseen), "read before it");
    for token in [FIRST, SECOND] {
        account.allows(token, U256::ZERO);
    }
    account.allows(join().lp, U256::from(95));
    let second = account.seal_intent(&leaves, FEES, &key()).unwrap();
    assert_eq!(kinds(&second), [(8, None), (9, None), (10, None)]);
    let [burns, intent] = [&second.parts()[..2], &second.parts()[2..]];
    assert!(burns.iter().all(|part| part.wanted == Wanted::Burn));
    assert_eq!(intent[0].wanted, Wanted::Intent(leaves));
    let pairs = second.parts().iter().zip(&first.parts()[1..]);
    for (later, earlier) in pairs {
        assert!(later.sealed.fees.replaces(earlier.sealed.fees));
    }
    // The cap is reached in the end, and nothing of what is refused is kept.
    let before = account.signed_for(8).to_vec();
    let mut last = Ok(second);
    for _ in 0..40 {
        last = account.seal_intent(&joins, FEES, &key());
    }
    assert!(matches!(last, Err(AccountError::Nonce(_))), "{last:?}");
    assert!(account.signed_for(8).len() > before.len());
    let kept = account.signed_for(8).to_vec();
    assert!(account.seal_intent(&joins, FEES, &key()).is_err());
    assert_eq!(account.signed_for(8), kept);
}

fn approval_log(account: &Account, amount: u64) -> cambist_evm::log::Log {
    let topic = |of: Address| {
        let mut topic = [0; 32];
        topic[12..].copy_from_slice(&of.0);
        Hash32(topic)
    };
    let signature = b"Approval(address,address,uint256)";
    cambist_evm::log::Log {
        address: account.chain.tokens[&FIRST],
        topics: vec![
            Hash32(cambist_evm::keccak256(&[signature])),
            topic(account.chain.account),
            topic(account.chain.router),
        ],
        data: U256::from(amount).to_be_bytes::<32>().to_vec(),
        index: 0,
    }
}

#[test]
fn what_an_earlier_run_sealed_is_taken_up_by_its_bytes() {
    let mut before = seen();
    let intent = Wanted::Intent(Intent::Order(swap()));
    let sealed = before.seal(intent.clone(), 7, FEES, &key()).unwrap();
    let mut after = seen();
    assert_eq!(
        after.recover(intent.clone(), &sealed.bytes),
        Ok(sealed.clone())
    );
    assert_eq!(after.next_nonce(), 8);
    assert_eq!(after.due(8).unwrap().unwrap().hashes, [sealed.hash]);
    // What takes the number again offers more.
    let burn = after.seal(Wanted::Burn, 7, FEES, &key()).unwrap();
    assert!(burn.fees.replaces(sealed.fees));
    let mut others = seen();
    others.chain.account = Address([9; 20]);
    assert!(others.recover(intent.clone(), &sealed.bytes).is_err());
    let mut elsewhere = seen();
    elsewhere.chain.id = 1;
    assert!(elsewhere.recover(intent, &sealed.bytes).is_err());
}

#[test]
fn every_kind_is_sealed_with_its_own_number_only() {
    let mut account = seen();
    for (wanted, nonce) in [
        (Wanted::Intent(Intent::PoolTransaction(join())), 7),
        (Wanted::Intent(Intent::PoolTransaction(exit())), 7),
        (Wanted::Intent(Intent::Order(swap())), 7),
        (
            Wanted::Approval {
                token: FIRST,
                amount: 5,
            },
            8,
        ),
        (Wanted::Burn, 9),
    ] {
        let sealed = account.seal(wanted, nonce, FEES, &key()).unwrap();
        assert_eq!(sealed.nonce, nonce);
    }
    assert_eq!(account.signed_for(7).len(), 3);
    let other = account.seal(Wanted::Intent(Intent::Order(swap())), 10, FEES, &key());
    assert_eq!(other.map(|sealed| sealed.nonce), Ok(10));
    let coin = Wanted::Approval {
        token: COIN,
        amount: 5,
    };
    assert!(account.seal(coin, 10, FEES, &key()).is_err());
    let dear = Fees {
        priority_max: 1,
        max: 1_001,
    };
    let capped = account.seal(Wanted::Burn, 12, dear, &key());
    assert!(matches!(
        capped,
        Err(AccountError::Nonce(NonceError::Cap(_)))
    ));
    // Finalized is second 1,050, which is in time; all of nonce 7 can only revert later.
    assert_eq!(account.to_burn(7), None);
    account
        .follow(block(11, 0), block(6, 0), Some(&block(5, 0)))
        .unwrap();
    assert_eq!(account.to_burn(7), Some(7));
}
