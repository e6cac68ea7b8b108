//! Swaps, joins and exits as requests.

use cambist_core::order::FillBy;
use cambist_core::{Hash, OrderKind, OrderStatus, Reason, Side, TokenId, VenueTime};

use super::support::*;
use crate::testing::*;
use crate::{
    Caller, Compat, Layer, Operator, OrdersQuery, PoolStatus, PoolTransactionsQuery, PoolTxKind,
    PoolTxStatus, Request, Response, SubmissionStatus, TokenAmount,
};

fn set_status(world: &mut World, status: u8) {
    world.operate(Operator::SetPool {
        pool: POOL,
        status: PoolStatus(status),
        fee_bips: 20,
        join_fee: 0,
        exit_fee: 0,
    });
}

/// R-SWP-01, R-SWP-02
#[test]
fn a_swap_names_a_pool_of_its_tokens_and_what_it_sells() {
    let mut world = filled(with_pool());
    let mut order = world.swap_order(ALICE, Side::Sell, ONE, UNIT);
    order.pool = Some([1; 20]);
    assert_eq!(world.submit_refused(&order), Reason::UnsupportedMarket);
    order.pool = Some(POOL);
    order.sell_token = OTHER;
    assert_eq!(world.submit_refused(&order), Reason::UnsupportedMarket);
    order.sell_token = BASE;
    order.fill_by = FillBy::Buy;
    assert_eq!(world.submit_refused(&order), Reason::InvalidOrder);
    order.fill_by = FillBy::Sell;
    assert_eq!(world.submit(&order).status, OrderStatus::Processed);
}

/// R-SWP-03, R-SWP-04
#[test]
fn a_swap_sells_all_of_it_at_once_and_pays_both_fees() {
    let mut world = filled(with_pool());
    // 100 and 250,000, 20 bips: 1 base brings 250,000 · 0.998 / 100.998 quote.
    let bought = 250_000_000_000 * 9_980 / (1_000_000 + 9_980);
    let order = world.swap_order(ALICE, Side::Sell, ONE, bought);
    let made = world.submit(&order);
    assert_eq!(made.status, OrderStatus::Processed);
    let fee = bought / 1_000;
    assert_eq!(made.trades.len(), 1);
    assert_eq!(
        (made.trades[0].quote, made.trades[0].taker_fee),
        (bought, fee)
    );
    assert_eq!(world.held(ALICE, QUOTE).0, 1_000_000 * UNIT + bought - fee);
    assert_eq!(world.held(ALICE, BASE), (999 * ONE, 0));
    assert_eq!(world.held(FEES, QUOTE).0, fee);
    let balance = world.pool_balance();
    assert_eq!(
        balance.pooled,
        [
            TokenAmount::new(BASE, 101 * ONE),
            TokenAmount::new(QUOTE, SEED[1] - bought)
        ]
    );
    // The other way, with a limit.
    let order = world.swap_order(BOB, Side::Buy, 2_500 * UNIT, ONE);
    let made = world.submit(&order);
    assert_eq!(made.status, OrderStatus::Processed);
    let view = world.view(BOB, order.hash);
    assert_eq!(view.quote_filled, 2_500 * UNIT);
    assert!(view.base_filled >= ONE && view.fee == view.base_filled / 1_000);
}

/// R-SWP-03
#[test]
fn a_swap_below_its_minimum_is_cancelled() {
    let mut world = filled(with_pool());
    let bought = 250_000_000_000 * 9_980 / (1_000_000 + 9_980);
    let order = world.swap_order(ALICE, Side::Sell, ONE, bought + 1);
    let before = world.pool_balance();
    let made = world.submit(&order);
    assert_eq!(
        (made.status, made.trades.len()),
        (OrderStatus::Cancelled, 0)
    );
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 0));
    assert_eq!(world.pool_balance(), before);
    assert_eq!(world.submit_refused(&order), Reason::OrderExists);
    // An empty pool pays nothing.
    let mut world = World::with(with_pool());
    let order = world.swap_order(ALICE, Side::Sell, ONE, UNIT);
    assert_eq!(world.submit(&order).status, OrderStatus::Cancelled);
}

/// R-SWP-05, R-ORD-21
#[test]
fn a_swap_needs_an_open_pool_and_accepts_the_taker_fee() {
    let mut world = filled(with_pool());
    let mut order = world.swap_order(ALICE, Side::Sell, ONE, UNIT);
    order.max_fee_bips = 9;
    assert_eq!(world.submit_refused(&order), Reason::IllegalRate);
    order.max_fee_bips = 10;
    world.operate(Operator::EnableMarket {
        market: "AAA-QQQ".to_owned(),
        enabled: false,
    });
    set_status(&mut world, PoolStatus::JOIN | PoolStatus::EXIT);
    assert_eq!(world.submit_refused(&order), Reason::UnsupportedMarket);
    set_status(&mut world, PoolStatus::SWAP);
    assert_eq!(world.submit(&order).status, OrderStatus::Processed);
}

/// R-SWP-06
#[test]
fn a_swap_is_shown_as_taker_only_under_its_pools_name() {
    let mut world = filled(with_pool());
    let order = world.swap_order(ALICE, Side::Sell, ONE, UNIT);
    world.submit(&order);
    let (bid, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
    let view = world.view(ALICE, order.hash);
    assert_eq!(
        (view.kind, view.market.as_str(), view.pool),
        (OrderKind::TakerOnly, "AMM-AAA-QQQ", Some(POOL))
    );
    let found = |world: &mut World, change: &dyn Fn(&mut OrdersQuery)| {
        let mut query = OrdersQuery::all(ALICE);
        change(&mut query);
        match world.ask(&signed(ALICE), &Request::Orders(query)) {
            Ok(Response::Orders(page)) => page
                .orders
                .iter()
                .map(|order| order.hash)
                .collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(found(&mut world, &|_| {}), [bid, order.hash]);
    assert_eq!(
        found(&mut world, &|q| (q.kinds, q.swaps) = (None, true)),
        [order.hash]
    );
    assert_eq!(
        found(&mut world, &|q| q.kinds = Some(vec![OrderKind::TakerOnly])),
        [order.hash]
    );
    assert_eq!(
        found(&mut world, &|q| (q.kinds, q.swaps) =
            (Some(vec![OrderKind::Limit]), true)),
        [bid, order.hash]
    );
    assert_eq!(
        found(&mut world, &|q| q.market = Some("AMM-AAA-QQQ".to_owned())),
        [order.hash]
    );
    assert_eq!(
        found(&mut world, &|q| q.market = Some("AAA-QQQ".to_owned())),
        [bid]
    );
}

/// R-PTX-01, R-PTX-02, R-PTX-03, R-PTX-04
#[test]
fn joins_and_exits_have_their_codes() {
    let mut config = with_pool();
    config.pools[0].join_fee = 3;
    config.pools[0].exit_fee = 4;
    let mut world = filled(config);
    let mut join = world.join();
    join.max_fee = Some(3);
    let mut exit = world.exit();
    exit.max_fee = 4;
    let mut stranger = join.clone();
    stranger.owner = [0x99; 20];
    let request = Request::from(stranger);
    assert_eq!(
        world.refused(&signed(ALICE), &request),
        Reason::InvalidSender
    );
    assert_eq!(
        world.refused(&Caller::Public, &request),
        Reason::EmptyApiKey
    );
    let foreign = Request::from(join.clone());
    assert_eq!(
        world.refused(&signed(BOB), &foreign),
        Reason::InvalidAccount
    );
    let (mut a, mut b) = (join.clone(), exit.clone());
    (a.pool, b.pool) = ([1; 20], [1; 20]);
    assert_eq!(world.not_sent(a), Reason::WrongExchange);
    assert_eq!(world.not_sent(b), Reason::WrongExchange);
    let (mut a, mut b) = (join.clone(), exit.clone());
    a.joined.reverse();
    b.minimums.pop();
    assert_eq!(world.not_sent(a), Reason::FeeTokenMismatch);
    assert_eq!(world.not_sent(b), Reason::FeeTokenMismatch);
    let (mut a, mut b) = (join.clone(), exit.clone());
    (a.max_fee, b.max_fee) = (None, 3);
    assert_eq!(world.not_sent(a), Reason::FeeTokenMismatch);
    assert_eq!(world.not_sent(b), Reason::FeeTokenMismatch);
    let mut one_id = join.clone();
    one_id.storage_ids.pop();
    assert_eq!(world.not_sent(one_id), Reason::InvalidNonce);
    world.operate(Operator::EnableToken {
        token: QUOTE,
        enabled: false,
    });
    assert_eq!(world.not_sent(join.clone()), Reason::UnsupportedFeeToken);
    assert_eq!(world.not_sent(exit.clone()), Reason::UnsupportedFeeToken);
    world.operate(Operator::EnableToken {
        token: QUOTE,
        enabled: true,
    });
    set_status(&mut world, PoolStatus::SWAP);
    assert_eq!(world.not_sent(join), Reason::InvalidReceiver);
    assert_eq!(world.not_sent(exit), Reason::InvalidReceiver);
}

/// R-POL-02, R-PTX-05, R-PTX-07
#[test]
fn a_join_takes_exactly_the_value_of_its_lp_units() {
    let mut world = filled(with_pool());
    let mut join = world.join();
    // One quote unit too many: Alice keeps it.
    join.joined[1].amount += 1;
    join.minimum_lp = 1_000_000_000;
    assert_eq!(world.sent(join.clone()), SubmissionStatus::Processed);
    assert_eq!(world.held(ALICE, LP), (1_000_000_000, 0));
    assert_eq!(world.held(ALICE, BASE), (990 * ONE, 0));
    assert_eq!(world.held(ALICE, QUOTE), (975_000 * UNIT, 0));
    assert_eq!(
        world.pool_balance().lp,
        TokenAmount::new(LP, 11_000_000_000)
    );
    assert_eq!(world.not_sent(join.clone()), Reason::InvalidNonce);
    // A new id for one of the two tokens is not enough.
    let mut again = world.join();
    again.storage_ids[1] = join.storage_ids[1];
    assert_eq!(world.not_sent(again), Reason::InvalidNonce);
    // More LP units than the amounts are worth: accepted, failed, the ids are used.
    let mut greedy = world.join();
    greedy.minimum_lp = 1_000_000_001;
    assert_eq!(world.sent(greedy.clone()), SubmissionStatus::Failed);
    assert_eq!(world.held(ALICE, BASE), (990 * ONE, 0));
    greedy.hash = Hash([0xdd; 32]);
    assert_eq!(world.not_sent(greedy), Reason::InvalidNonce);
}

/// R-POL-02
#[test]
fn the_first_join_mints_a_fixed_number() {
    let mut world = World::with(with_pool());
    let join = world.join();
    assert_eq!(world.sent(join), SubmissionStatus::Processed);
    assert_eq!(world.held(ALICE, LP), (10_000_000_000, 0));
    let mut zero = world.join();
    zero.joined[0].amount = 0;
    assert_eq!(world.not_sent(zero), Reason::AmountTooSmall);
}

/// R-POL-03, R-PTX-06
#[test]
fn an_exit_pays_its_share_less_the_fee_from_the_last_token() {
    let mut config = with_pool();
    config.pools[0].exit_fee = 7;
    let mut world = filled(config);
    let mut exit = world.exit();
    exit.max_fee = 9;
    exit.minimums[0].amount = 10 * ONE;
    exit.minimums[1].amount = 25_000 * UNIT;
    assert_eq!(world.sent(exit), SubmissionStatus::Processed);
    assert_eq!(world.held(CAROL, LP), (9_000_000_000, 0));
    assert_eq!(world.held(CAROL, BASE), (910 * ONE, 0));
    assert_eq!(world.held(CAROL, QUOTE), (775_000 * UNIT - 7, 0));
    assert_eq!(world.held(FEES, QUOTE).0, 7);
    let mut exit = world.exit();
    exit.max_fee = 7;
    exit.minimums[1].amount = 25_000 * UNIT + 1;
    assert_eq!(world.sent(exit), SubmissionStatus::Failed);
    assert_eq!(world.held(CAROL, LP), (9_000_000_000, 0));
    let mut exit = world.exit();
    exit.max_fee = 7;
    exit.burned = 9_000_000_001;
    assert_eq!(world.not_sent(exit.clone()), Reason::InsufficientBalance);
    exit.burned = 9_000_000_000;
    assert_eq!(world.sent(exit), SubmissionStatus::Processed);
    assert_eq!(
        world.pool_balance().pooled.map(|pooled| pooled.amount),
        [0, 0]
    );
    assert_eq!(world.pool_balance().lp.amount, 0);
}

/// A change of a query.
type Change<'a> = &'a dyn Fn(&mut PoolTransactionsQuery);

/// R-PTX-08, R-PTX-09
#[test]
fn joins_and_exits_are_listed_newest_first_with_filters_and_both_layers() {
    let mut world = filled(with_pool());
    let carol_join = Hash([0xc0; 32]);
    world.pass(10);
    let exit = world.exit();
    world.sent(exit.clone());
    world.pass(10);
    let mut failed = world.exit();
    failed.minimums[0].amount = 1_000 * ONE;
    world.sent(failed.clone());
    let all = world.transactions(PoolTransactionsQuery::all(CAROL));
    assert_eq!(all.total, 3);
    let hashes: Vec<_> = all.transactions.iter().map(|entry| entry.hash).collect();
    assert_eq!(hashes, [failed.hash, exit.hash, carol_join]);
    let [last, paid, first] = [0, 1, 2].map(|index| &all.transactions[index]);
    assert_eq!((first.layer, first.kind), (Layer::One, PoolTxKind::Join));
    assert_eq!((paid.layer, paid.kind), (Layer::Two, PoolTxKind::Exit));
    assert_eq!(
        paid.pooled.map(|part| part.actual),
        [10 * ONE, 25_000 * UNIT]
    );
    assert_eq!(
        (paid.lp.token, paid.lp.amount, paid.lp.actual),
        (LP, exit.burned, exit.burned)
    );
    assert_eq!(
        (last.status, last.pooled[0].actual),
        (PoolTxStatus::Cancelled, 0)
    );
    assert_eq!(last.pooled[0].amount, 1_000 * ONE);
    let start = START_S * 1_000;
    let found = |world: &mut World, change: &dyn Fn(&mut PoolTransactionsQuery)| {
        let mut query = PoolTransactionsQuery::all(CAROL);
        change(&mut query);
        let found = world.transactions(query);
        (
            found.total,
            found
                .transactions
                .iter()
                .map(|entry| entry.hash)
                .collect::<Vec<_>>(),
        )
    };
    let cases: [(Change<'_>, u64, Vec<Hash>); 9] = [
        (
            &|q| q.start = VenueTime(start + 10),
            2,
            vec![failed.hash, exit.hash],
        ),
        (
            &|q| q.end = VenueTime(start + 10),
            2,
            vec![exit.hash, carol_join],
        ),
        (
            &|q| q.kinds = Some(vec![PoolTxKind::Join]),
            1,
            vec![carol_join],
        ),
        (&|q| q.kinds = None, 0, vec![]),
        (
            &|q| q.statuses = Some(vec![PoolTxStatus::Cancelled]),
            1,
            vec![failed.hash],
        ),
        (&|q| q.statuses = None, 0, vec![]),
        (&|q| q.pool = Some([1; 20]), 0, vec![]),
        (&|q| q.limit = Some(1), 3, vec![failed.hash]),
        (&|q| q.offset = 2, 3, vec![carol_join]),
    ];
    for (index, (change, total, hashes)) in cases.into_iter().enumerate() {
        assert_eq!(found(&mut world, change), (total, hashes), "case {index}");
    }
    assert_eq!(
        world.transactions(PoolTransactionsQuery::all(ALICE)).total,
        0
    );
    let foreign = Request::PoolTransactions(PoolTransactionsQuery::all(CAROL));
    assert_eq!(
        world.refused(&signed(ALICE), &foreign),
        Reason::InvalidAccount
    );
}

/// R-PTX-10
#[test]
fn pools_are_listed_with_current_values_and_unknown_ones_have_no_balance() {
    let mut world = filled(with_pool());
    let list = |world: &mut World| match world.ask(&Caller::Public, &Request::Pools) {
        Ok(Response::Pools(pools)) => pools,
        other => panic!("{other:?}"),
    };
    assert_eq!(list(&mut world), [pool()]);
    set_status(&mut world, 7);
    assert_eq!(list(&mut world), []);
    for (compat, reason) in [
        (Compat::Both, Reason::InvalidArgument),
        (Compat::Strict, Reason::UnknownError),
    ] {
        let mut config = with_pool();
        config.compat = compat;
        let mut world = World::with(config);
        let unknown = Request::PoolBalance { pool: [1; 20] };
        assert_eq!(world.refused(&Caller::Public, &unknown), reason);
        assert_eq!(world.pool_balance().lp, TokenAmount::new(LP, 0));
    }
}

/// R-PTX-11
#[test]
fn lp_units_are_ordinary_tokens_but_cannot_be_newly_deposited() {
    let mut world = filled(with_pool());
    let mut transfer = world.transfer();
    (transfer.payer, transfer.payer_owner) = (CAROL, owner(CAROL));
    transfer.sent = TokenAmount::new(LP, 4_000_000_000);
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
    assert_eq!(world.held(BOB, LP), (4_000_000_000, 0));
    let mut withdrawal = world.withdrawal();
    (withdrawal.account, withdrawal.owner) = (CAROL, owner(CAROL));
    withdrawal.withdrawn = TokenAmount::new(LP, 5);
    assert_eq!(world.sent(withdrawal), SubmissionStatus::Processed);
    world.operate(Operator::SettleWithdrawals);
    let deposit = |amount| {
        Request::Operator(Operator::Deposit {
            account: CAROL,
            token: TokenId(4),
            amount,
        })
    };
    assert_eq!(
        world.refused(&Caller::Operator, &deposit(6)),
        Reason::InvalidArgument
    );
    world.ask(&Caller::Operator, &deposit(5)).unwrap();
    assert_eq!(world.held(CAROL, LP), (6_000_000_000, 0));
}
