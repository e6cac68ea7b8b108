#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
use super::*;
use crate::chain::tests::{ACCOUNT, PAIR, ROUTER, TOKENS};
use crate::finality::tests::block;
use crate::range::tests::range_of;
use crate::seal::tests::{exit, join};
use crate::settle::tests::receipt;
use cambist_core::MarketId;
use cambist_core::pool::{PoolTransactionReport, PoolTransactionStatus};
use cambist_evm::abi::signed;
use cambist_evm::log::Log;
use cambist_evm::{Hash32, keccak256};

const OTHER: Address = Address([0xdd; 20]);
const POSITION: u64 = 77;

const MINT: &str = "Mint(address,address,int24,int24,uint128,uint256,uint256)";
const BURN: &str = "Burn(address,int24,int24,uint128,uint256,uint256)";
const COLLECT: &str = "Collect(address,address,int24,int24,uint128,uint128)";
const INCREASED: &str = "IncreaseLiquidity(uint256,uint128,uint256,uint256)";
const DECREASED: &str = "DecreaseLiquidity(uint256,uint128,uint256,uint256)";
const COLLECTED: &str = "Collect(uint256,address,uint256,uint256)";
const TRANSFER: &str = "Transfer(address,address,uint256)";

fn n(number: u64) -> U256 {
    U256::from(number)
}

fn of(address: Address) -> U256 {
    U256::from_be_slice(&address.0)
}

fn log(contract: Address, signature: &str, indexed: &[U256], data: &[U256]) -> Log {
    let word = |number: &U256| number.to_be_bytes::<32>();
    Log {
        address: contract,
        topics: std::iter::once(Hash32(keccak256(&[signature.as_bytes()])))
            .chain(indexed.iter().map(|topic| Hash32(word(topic))))
            .collect(),
        data: data.iter().flat_map(word).collect(),
        index: 0,
    }
}

fn chain() -> Chain {
    let mut chain = crate::chain::tests::chain();
    chain.pools[0].in_range = true;
    chain.ranges.insert(MarketId(0), range_of(-60, 120));
    chain
}

fn transfer(token: Address, from: Address, to: Address, amount: u64) -> Log {
    log(token, TRANSFER, &[of(from), of(to)], &[n(amount)])
}

fn ticks() -> [U256; 2] {
    [signed(-60), signed(120)]
}

/// A first join, which pays 100 and 301 for 99 of liquidity.
fn minted() -> Vec<Log> {
    let [lower, upper] = ticks();
    vec![
        transfer(TOKENS[0], ACCOUNT, PAIR, 100),
        transfer(TOKENS[1], ACCOUNT, PAIR, 301),
        log(
            PAIR,
            MINT,
            &[of(ROUTER), lower, upper],
            &[of(ROUTER), n(99), n(100), n(301)],
        ),
        log(ROUTER, TRANSFER, &[n(0), of(ACCOUNT), n(POSITION)], &[]),
        log(ROUTER, INCREASED, &[n(POSITION)], &[n(99), n(100), n(301)]),
    ]
}

/// An exit of 95 that is due 90 and 280, and pays 4 and 5 of fees; liquidity is left.
fn left() -> Vec<Log> {
    let [lower, upper] = ticks();
    let range = [of(ROUTER), lower, upper];
    vec![
        log(PAIR, BURN, &range, &[n(95), n(90), n(280)]),
        log(ROUTER, DECREASED, &[n(POSITION)], &[n(95), n(90), n(280)]),
        log(PAIR, BURN, &range, &[n(0), n(0), n(0)]),
        transfer(TOKENS[0], PAIR, ACCOUNT, 94),
        transfer(TOKENS[1], PAIR, ACCOUNT, 285),
        log(PAIR, COLLECT, &range, &[of(ACCOUNT), n(94), n(285)]),
        log(
            ROUTER,
            COLLECTED,
            &[n(POSITION)],
            &[of(ACCOUNT), n(94), n(286)],
        ),
    ]
}

fn settled(
    intent: &UnsignedPoolTransaction,
    logs: Vec<Log>,
) -> Result<PoolTransactionReport, Unsettled> {
    let settled = chain().settle_pool_transaction(intent, &receipt(logs), &block(4, 0));
    settled.map(|settled| {
        assert_eq!(settled.gas, 900_000);
        settled.report
    })
}

#[test]
fn a_join_and_an_exit_are_what_moved() {
    let joined = settled(&join(), minted()).unwrap();
    assert_eq!(joined.status, PoolTransactionStatus::Processed);
    assert_eq!((joined.amounts.pooled, joined.amounts.lp), ([100, 301], 99));
    assert!(join().allows(&joined.amounts));
    // More liquidity for the same position has no transfer of it.
    let mut more = minted();
    more.remove(3);
    assert_eq!(settled(&join(), more).unwrap().amounts, joined.amounts);
    let exited = settled(&exit(), left()).unwrap();
    assert_eq!((exited.amounts.pooled, exited.amounts.lp), ([94, 285], 95));
    assert!(
        exit().allows(&exited.amounts),
        "fees are more than the least"
    );
    // All of the liquidity: no second count of fees.
    let mut all = left();
    all.remove(2);
    assert_eq!(settled(&exit(), all).unwrap().amounts, exited.amounts);
    let chain = chain();
    let position = |logs| chain.position_of(&receipt(logs));
    assert_eq!(position(minted()), Some(n(POSITION)));
    assert_eq!(position(left()), None);
}

/// An exit of one of liquidity that is due nothing pays out what is owed, of one token alone as well.
#[test]
fn what_is_collected_is_what_an_exit_of_one_received() {
    let [lower, upper] = ticks();
    let range = [of(ROUTER), lower, upper];
    let least = UnsignedPoolTransaction {
        amounts: [0, 0],
        lp_amount: 1,
        ..exit()
    };
    let collected = |first: u64, second: u64| {
        let mut logs = vec![
            log(PAIR, BURN, &range, &[n(1), n(0), n(0)]),
            log(ROUTER, DECREASED, &[n(POSITION)], &[n(1), n(0), n(0)]),
            log(PAIR, BURN, &range, &[n(0), n(0), n(0)]),
        ];
        for (token, amount) in TOKENS.into_iter().zip([first, second]) {
            if amount > 0 {
                logs.push(transfer(token, PAIR, ACCOUNT, amount));
            }
        }
        let data = [of(ACCOUNT), n(first), n(second)];
        logs.push(log(PAIR, COLLECT, &range, &data));
        logs.push(log(ROUTER, COLLECTED, &[n(POSITION)], &data));
        logs
    };
    for (first, second) in [(4, 5), (0, 5), (4, 0), (0, 0)] {
        let report = settled(&least, collected(first, second)).unwrap();
        assert_eq!(report.status, PoolTransactionStatus::Processed);
        let amounts = report.amounts;
        assert_eq!(
            (amounts.pooled, amounts.lp),
            ([first.into(), second.into()], 1)
        );
        assert!(least.allows(&amounts));
    }
    let short = with(collected(4, 5), 3, transfer(TOKENS[0], PAIR, ACCOUNT, 3));
    assert_eq!(
        settled(&least, short).unwrap_err(),
        Unsettled::FeeOnTransfer
    );
    let more = with(
        collected(4, 5),
        0,
        log(PAIR, BURN, &range, &[n(2), n(0), n(0)]),
    );
    assert_eq!(settled(&least, more).unwrap_err(), Unsettled::Logs);
}

#[test]
fn one_token_alone_is_no_fault() {
    let [lower, upper] = ticks();
    let one = vec![
        transfer(TOKENS[1], ACCOUNT, PAIR, 301),
        log(
            PAIR,
            MINT,
            &[of(ROUTER), lower, upper],
            &[of(ROUTER), n(99), n(0), n(301)],
        ),
        log(ROUTER, INCREASED, &[n(POSITION)], &[n(99), n(0), n(301)]),
    ];
    let report = settled(&join(), one).unwrap();
    assert_eq!((report.amounts.pooled, report.amounts.lp), ([0, 301], 99));
}

/// Coins that lie in the position manager pay for the wrapped coin: the account pays nothing of it, and the liquidity is
/// its own.
#[test]
fn what_the_manager_paid_is_not_what_the_account_paid() {
    let report = settled(
        &join(),
        with(minted(), 0, transfer(TOKENS[0], ROUTER, PAIR, 100)),
    );
    let amounts = report.unwrap().amounts;
    assert_eq!((amounts.pooled, amounts.lp), ([0, 301], 99));
    assert!(join().allows(&amounts));
    for other in [99, 101] {
        let logs = with(minted(), 0, transfer(TOKENS[0], ROUTER, PAIR, other));
        assert_eq!(
            settled(&join(), logs).unwrap_err(),
            Unsettled::FeeOnTransfer
        );
    }
    // Beside what the account paid it would be a second payment, and an exit pays nothing in.
    let twice = and(minted(), transfer(TOKENS[0], ROUTER, PAIR, 1));
    assert_eq!(
        settled(&join(), twice).unwrap_err(),
        Unsettled::FeeOnTransfer
    );
    let paid = and(left(), transfer(TOKENS[0], ROUTER, PAIR, 1));
    assert_eq!(settled(&exit(), paid).unwrap_err(), Unsettled::Logs);
}

fn with(mut logs: Vec<Log>, at: usize, edit: Log) -> Vec<Log> {
    logs[at] = edit;
    logs
}

fn without(mut logs: Vec<Log>, at: usize) -> Vec<Log> {
    logs.remove(at);
    logs
}

fn and(mut logs: Vec<Log>, more: Log) -> Vec<Log> {
    logs.push(more);
    logs
}

#[test]
fn a_join_that_does_not_add_up_is_an_error() {
    let [lower, upper] = ticks();
    let join_of = |logs| settled(&join(), logs);
    for (logs, why) in [
        // The token kept one, or took one more.
        (
            with(minted(), 0, transfer(TOKENS[0], ACCOUNT, PAIR, 101)),
            Unsettled::FeeOnTransfer,
        ),
        (
            with(minted(), 0, transfer(TOKENS[0], ACCOUNT, PAIR, 99)),
            Unsettled::FeeOnTransfer,
        ),
        (
            and(minted(), transfer(TOKENS[0], ACCOUNT, OTHER, 1)),
            Unsettled::FeeOnTransfer,
        ),
        (
            and(minted(), transfer(TOKENS[0], OTHER, ACCOUNT, 1)),
            Unsettled::Logs,
        ),
        (
            and(minted(), transfer(TOKENS[0], PAIR, ACCOUNT, 1)),
            Unsettled::Logs,
        ),
        (without(minted(), 2), Unsettled::Logs),
        (without(minted(), 4), Unsettled::Logs),
        (and(minted(), minted()[2].clone()), Unsettled::Logs),
        // Another range, another owner, another liquidity in the two contracts.
        (
            with(
                minted(),
                2,
                log(
                    PAIR,
                    MINT,
                    &[of(ROUTER), lower, signed(180)],
                    &[of(ROUTER), n(99), n(100), n(301)],
                ),
            ),
            Unsettled::Logs,
        ),
        (
            with(
                minted(),
                2,
                log(
                    PAIR,
                    MINT,
                    &[of(OTHER), lower, upper],
                    &[of(ROUTER), n(99), n(100), n(301)],
                ),
            ),
            Unsettled::Logs,
        ),
        (
            with(
                minted(),
                4,
                log(ROUTER, INCREASED, &[n(POSITION)], &[n(98), n(100), n(301)]),
            ),
            Unsettled::Logs,
        ),
        // The position went to another account, or is another one.
        (
            with(
                minted(),
                3,
                log(ROUTER, TRANSFER, &[n(0), of(OTHER), n(POSITION)], &[]),
            ),
            Unsettled::Logs,
        ),
        (
            with(
                minted(),
                3,
                log(ROUTER, TRANSFER, &[n(0), of(ACCOUNT), n(POSITION + 1)], &[]),
            ),
            Unsettled::Logs,
        ),
        (left(), Unsettled::Logs),
    ] {
        assert_eq!(join_of(logs.clone()), Err(why), "{logs:?}");
    }
}

#[test]
fn an_exit_that_does_not_add_up_is_an_error() {
    let [lower, upper] = ticks();
    let range = [of(ROUTER), lower, upper];
    let collected = |to: Address, first: u64, second: u64| {
        let data = [of(to), n(first), n(second)];
        log(ROUTER, COLLECTED, &[n(POSITION)], &data)
    };
    for (logs, why) in [
        (
            with(left(), 3, transfer(TOKENS[0], PAIR, ACCOUNT, 93)),
            Unsettled::FeeOnTransfer,
        ),
        (without(left(), 3), Unsettled::FeeOnTransfer),
        (
            and(left(), transfer(TOKENS[0], ACCOUNT, PAIR, 1)),
            Unsettled::Logs,
        ),
        // Paid to another account, or more than was asked for.
        (
            with(
                left(),
                5,
                log(PAIR, COLLECT, &range, &[of(OTHER), n(94), n(285)]),
            ),
            Unsettled::Logs,
        ),
        (with(left(), 6, collected(OTHER, 94, 286)), Unsettled::Logs),
        (
            with(left(), 6, collected(ACCOUNT, 93, 286)),
            Unsettled::Logs,
        ),
        (
            with(
                left(),
                1,
                log(
                    ROUTER,
                    DECREASED,
                    &[n(POSITION + 1)],
                    &[n(95), n(90), n(280)],
                ),
            ),
            Unsettled::Logs,
        ),
        (
            with(
                left(),
                1,
                log(ROUTER, DECREASED, &[n(POSITION)], &[n(96), n(90), n(280)]),
            ),
            Unsettled::Logs,
        ),
        (
            with(left(), 2, log(PAIR, BURN, &range, &[n(1), n(0), n(0)])),
            Unsettled::Logs,
        ),
        (without(left(), 0), Unsettled::Logs),
        (without(left(), 5), Unsettled::Logs),
        (without(left(), 6), Unsettled::Logs),
        (minted(), Unsettled::Logs),
    ] {
        assert_eq!(settled(&exit(), logs.clone()), Err(why), "{logs:?}");
    }
}

#[test]
fn what_was_reverted_moved_nothing() {
    let reverted = Receipt {
        succeeded: false,
        ..receipt(Vec::new())
    };
    let report = chain().settle_pool_transaction(&join(), &reverted, &block(4, 0));
    let report = report.unwrap().report;
    assert_eq!(report.status, PoolTransactionStatus::Cancelled);
    assert_eq!(report.amounts, PoolTransactionAmounts::default());
}
