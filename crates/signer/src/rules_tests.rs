#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;
use crate::testing::{ETH, NOW_S, POOL, USDC, cancel, exit, join, purchase, rules, sale};

fn word<T: std::fmt::Debug>(judged: Result<T, Refusal>) -> Word {
    judged.unwrap_err().word
}

/// Whether an order passes, or by which rule it is refused.
fn order(change: impl FnOnce(&mut OrderMessage)) -> Option<Word> {
    let mut order = sale();
    change(&mut order);
    rules()
        .order(&order, NOW_S)
        .err()
        .map(|refusal| refusal.word)
}

#[test]
fn an_order_of_the_account_gives_away_what_it_sells() {
    let [outflow] = rules().order(&sale(), NOW_S).unwrap();
    assert_eq!((outflow.token, outflow.amount), (1, ETH));
    let [outflow] = rules().order(&purchase(), NOW_S).unwrap();
    assert_eq!((outflow.token, outflow.amount), (2, 2_000 * USDC));
}

#[test]
fn orders_of_other_accounts_exchanges_and_counterparties_are_refused() {
    assert_eq!(order(|o| o.account_id += 1), Some(Word::Account));
    assert_eq!(order(|o| o.exchange.0[19] ^= 1), Some(Word::Account));
    assert_eq!(order(|o| o.taker.0[0] = 1), Some(Word::Taker));
    assert_eq!(order(|o| o.sell_amount = 0), Some(Word::Amount));
    assert_eq!(order(|o| o.buy_amount = 0), Some(Word::Amount));
    assert_eq!(order(|o| o.sell_token = 3), Some(Word::Market));
    assert_eq!(order(|o| o.buy_token = 3), Some(Word::Market));
    assert_eq!(order(|o| o.buy_token = 1), Some(Word::Market));
}

#[test]
fn prices_are_judged_to_the_unit_on_both_sides() {
    assert_eq!(order(|o| o.buy_amount = 1_000 * USDC), None);
    assert_eq!(
        order(|o| o.buy_amount = 1_000 * USDC - 1),
        Some(Word::Price)
    );
    assert_eq!(order(|o| o.sell_amount = 2 * ETH), None);
    assert_eq!(order(|o| o.sell_amount = 2 * ETH + 1), Some(Word::Price));
    // An order that sells for much or buys for little gives nothing away.
    assert_eq!(order(|o| o.buy_amount = 1_000_000 * USDC), None);
    let buy = |change: fn(&mut OrderMessage)| {
        let mut order = purchase();
        change(&mut order);
        rules()
            .order(&order, NOW_S)
            .err()
            .map(|refusal| refusal.word)
    };
    assert_eq!(buy(|o| o.sell_amount = 3_000 * USDC), None);
    assert_eq!(buy(|o| o.sell_amount = 3_000 * USDC + 1), Some(Word::Price));
    assert_eq!(buy(|o| o.sell_amount = 1), None);
    // Amounts of 96 bits do not overflow.
    assert_eq!(
        order(|o| o.sell_amount = cambist_signing::MAX_AMOUNT),
        Some(Word::Price)
    );
    assert_eq!(
        buy(|o| o.sell_amount = cambist_signing::MAX_AMOUNT),
        Some(Word::Price)
    );
}

#[test]
fn fees_and_times_are_judged_on_both_sides() {
    assert_eq!(order(|o| o.max_fee_bips = 20), None);
    assert_eq!(order(|o| o.max_fee_bips = 21), Some(Word::Fee));
    let now = u32::try_from(NOW_S).unwrap();
    assert_eq!(order(|o| o.valid_until = now), Some(Word::Ttl));
    assert_eq!(order(|o| o.valid_until = now + 1), None);
    assert_eq!(order(|o| o.valid_until = now + 120), None);
    assert_eq!(order(|o| o.valid_until = now + 121), Some(Word::Ttl));
    assert_eq!(order(|o| o.valid_until = 0), Some(Word::Ttl));
    assert_eq!(order(|o| o.valid_until = u32::MAX), Some(Word::Ttl));
}

#[test]
fn a_join_offers_no_more_for_a_share_than_the_bounds() {
    let judge = |change: &dyn Fn(&mut PoolJoinMessage)| {
        let mut join = join();
        change(&mut join);
        rules()
            .join(POOL, &join, NOW_S)
            .err()
            .map(|refusal| refusal.word)
    };
    let (domain, [first, second]) = rules().join(POOL, &join(), NOW_S).unwrap();
    assert_eq!((domain.name.as_str(), domain.chain_id), ("AMM-ETH-USDC", 1));
    assert_eq!(domain.verifying_contract, POOL);
    assert_eq!((first.token, first.amount), (1, ETH));
    assert_eq!((second.token, second.amount), (2, 2_000 * USDC));
    assert_eq!(judge(&|j| j.join_amounts[0] = 2 * ETH), None);
    assert_eq!(
        judge(&|j| j.join_amounts[0] = 2 * ETH + 1),
        Some(Word::Price)
    );
    assert_eq!(judge(&|j| j.join_amounts[1] = 4_000 * USDC), None);
    assert_eq!(
        judge(&|j| j.join_amounts[1] = 4_000 * USDC + 1),
        Some(Word::Price)
    );
    assert_eq!(judge(&|j| j.mint_min_amount = ETH / 2), None);
    assert_eq!(
        judge(&|j| j.mint_min_amount = ETH / 2 - 1),
        Some(Word::Price)
    );
    for zero in [
        &(|j: &mut PoolJoinMessage| j.mint_min_amount = 0) as &dyn Fn(&mut PoolJoinMessage),
        &|j| j.join_amounts[0] = 0,
        &|j| j.join_amounts[1] = 0,
    ] {
        assert_eq!(judge(zero), Some(Word::Amount));
    }
    assert_eq!(judge(&|j| j.join_amounts.truncate(1)), Some(Word::Pool));
    assert_eq!(judge(&|j| j.join_storage_ids.truncate(1)), Some(Word::Pool));
    assert_eq!(judge(&|j| j.owner.0[0] ^= 1), Some(Word::Account));
    assert_eq!(judge(&|j| j.fee = Some(USDC)), None);
    assert_eq!(judge(&|j| j.fee = Some(USDC + 1)), Some(Word::Fee));
    assert_eq!(judge(&|j| j.valid_until += 61), Some(Word::Ttl));
    assert_eq!(
        word(rules().join(Address([6; 20]), &join(), NOW_S)),
        Word::Pool
    );
    let paid = PoolJoinMessage {
        fee: Some(7),
        ..join()
    };
    let (_, [_, second]) = rules().join(POOL, &paid, NOW_S).unwrap();
    assert_eq!(second.amount, 2_000 * USDC + 7, "the fee is given away too");
}

#[test]
fn an_exit_brings_no_less_for_a_share_than_the_bounds() {
    let judge = |change: &dyn Fn(&mut PoolExitMessage)| {
        let mut exit = exit();
        change(&mut exit);
        rules()
            .exit(POOL, &exit, NOW_S)
            .err()
            .map(|refusal| refusal.word)
    };
    let (_, [burned]) = rules().exit(POOL, &exit(), NOW_S).unwrap();
    assert_eq!((burned.token, burned.amount), (3, ETH));
    assert_eq!(judge(&|e| e.exit_min_amounts[0] = ETH / 2), None);
    assert_eq!(
        judge(&|e| e.exit_min_amounts[0] = ETH / 2 - 1),
        Some(Word::Price)
    );
    assert_eq!(judge(&|e| e.exit_min_amounts[1] = 1_000 * USDC), None);
    assert_eq!(
        judge(&|e| e.exit_min_amounts[1] = 1_000 * USDC - 1),
        Some(Word::Price)
    );
    assert_eq!(judge(&|e| e.burn_amount = 2 * ETH), None);
    assert_eq!(judge(&|e| e.burn_amount = 2 * ETH + 2), Some(Word::Price));
    assert_eq!(judge(&|e| e.burn_amount = 0), Some(Word::Amount));
    assert_eq!(judge(&|e| e.fee = USDC), None);
    assert_eq!(judge(&|e| e.fee = USDC + 1), Some(Word::Fee));
    // The fee is taken from the second amount.
    let least = |e: &mut PoolExitMessage, fee| {
        e.exit_min_amounts[1] = 1_000 * USDC + 5;
        e.fee = fee;
    };
    assert_eq!(judge(&|e| least(e, 5)), None);
    assert_eq!(judge(&|e| least(e, 6)), Some(Word::Price));
    assert_eq!(judge(&|e| e.exit_min_amounts.truncate(1)), Some(Word::Pool));
    assert_eq!(judge(&|e| e.owner.0[0] ^= 1), Some(Word::Account));
    assert_eq!(judge(&|e| e.valid_until += 61), Some(Word::Ttl));
    assert_eq!(judge(&|e| e.valid_until -= 60), Some(Word::Ttl));
    assert_eq!(
        word(rules().exit(Address([6; 20]), &exit(), NOW_S)),
        Word::Pool
    );
}

#[test]
fn a_cancel_is_of_the_account_at_its_venue() {
    let judge = |change: &dyn Fn(&mut CancelRequest)| {
        let mut cancel = cancel();
        change(&mut cancel);
        rules().cancel(&cancel).err().map(|refusal| refusal.word)
    };
    assert_eq!(judge(&|_| {}), None);
    assert_eq!(judge(&|c| c.account_id += 1), Some(Word::Account));
    assert_eq!(judge(&|c| c.base_url.push('x')), Some(Word::Account));
}
