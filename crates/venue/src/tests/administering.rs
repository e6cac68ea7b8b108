//! Listing, delisting, fees, limits, modes, faults and the operator's log.

use cambist_core::{Hash, OrderKind, OrderStatus, Reason, Side};

use super::support::*;
use crate::testing::*;
use crate::{
    Caller, Delays, ExchangeMode, FAULTS_MAX, Fault, FeeSchedule, Limits, MarketConfig, Operator,
    PoolListing, PoolStatus, Request, RequestKind, Response, SubmissionStatus, VenueConfig,
};

fn refused(world: &mut World, request: Operator) -> Reason {
    world.refused(&Caller::Operator, &Request::Operator(request))
}

fn market(name: &str) -> MarketConfig {
    MarketConfig {
        name: name.to_owned(),
        base: LONELY,
        quote: QUOTE,
        ..config().markets[0].clone()
    }
}

/// R-MOD-01
#[test]
fn modes_close_the_exchange_step_by_step() {
    let mut world = filled(with_pool());
    let (bid, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
    let (second, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
    world.place(BOB, Side::Sell, 260_000, ONE);
    let resting = world.order(ALICE, Side::Buy, 250_000, ONE);
    let mut maker = world.order(ALICE, Side::Buy, 250_000, ONE);
    maker.kind = OrderKind::MakerOnly;
    let taking = world.order(ALICE, Side::Buy, 260_000, ONE);
    let mut taker = world.order(ALICE, Side::Buy, 250_000, ONE);
    taker.kind = OrderKind::TakerOnly;
    let swap = world.swap_order(ALICE, Side::Sell, ONE, UNIT);
    let (join, exit) = (world.join(), world.exit());

    world.operate(Operator::SetMode(ExchangeMode::PostOnly));
    for order in [&taking, &taker, &swap] {
        assert_eq!(world.submit_refused(order), Reason::SubmitFailed);
    }
    world.submit(&resting);
    world.submit(&maker);
    assert_eq!(world.sent(join), SubmissionStatus::Processed);

    world.operate(Operator::SetMode(ExchangeMode::CancelOnly));
    let order = world.order(ALICE, Side::Buy, 250_000, ONE);
    assert_eq!(world.submit_refused(&order), Reason::SubmitFailed);
    let join = world.join();
    assert_eq!(world.not_sent(join), Reason::InvalidReceiver);
    world.cancel(ALICE, bid).unwrap();
    let transfer = world.transfer();
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
    assert_eq!(world.sent(exit), SubmissionStatus::Processed);

    world.operate(Operator::SetMode(ExchangeMode::Halted));
    assert_eq!(world.submit_refused(&order), Reason::SubmitFailed);
    let cancel = Request::Cancel {
        account: ALICE,
        hash: Some(second),
        client_id: None,
    };
    assert_eq!(world.refused(&signed(ALICE), &cancel), Reason::CancelFailed);
    let (transfer, withdrawal, key) = (world.transfer(), world.withdrawal(), world.new_key());
    let exit = world.exit();
    assert_eq!(world.not_sent(transfer), Reason::UnknownError);
    assert_eq!(world.not_sent(withdrawal), Reason::UnknownError);
    assert_eq!(world.not_sent(key), Reason::UnknownError);
    assert_eq!(world.not_sent(exit), Reason::UnknownError);
    assert_eq!(
        world.depth(0, None).bids.len(),
        2,
        "reads are still answered"
    );
    match world.ask(&Caller::Public, &Request::ExchangeInfo) {
        Ok(Response::Exchange(view)) => assert_eq!(view.mode, ExchangeMode::Halted),
        other => panic!("{other:?}"),
    }
    world.operate(Operator::SetMode(ExchangeMode::Open));
    assert_eq!(world.submit(&order).status, OrderStatus::Processing);
}

/// R-MOD-02
#[test]
fn delayed_requests_fail_if_the_mode_no_longer_allows_them() {
    let mut config = with_pool();
    config.delays.order_ms = 10;
    let mut world = filled(config);
    for (mode, kind, status) in [
        (
            ExchangeMode::PostOnly,
            OrderKind::Limit,
            OrderStatus::Processing,
        ),
        (
            ExchangeMode::PostOnly,
            OrderKind::TakerOnly,
            OrderStatus::Failed,
        ),
        (
            ExchangeMode::CancelOnly,
            OrderKind::Limit,
            OrderStatus::Failed,
        ),
        (
            ExchangeMode::Halted,
            OrderKind::MakerOnly,
            OrderStatus::Failed,
        ),
    ] {
        let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
        order.kind = kind;
        world.submit(&order);
        world.operate(Operator::SetMode(mode));
        world.pass(10);
        assert_eq!(world.status(ALICE, order.hash), status, "{mode:?}");
        world.operate(Operator::SetMode(ExchangeMode::Open));
    }
}

/// R-LIS-01
#[test]
fn unused_tokens_can_be_listed_and_delisted() {
    let mut world = World::with(with_pool());
    let shown = |world: &mut World| match world.ask(&Caller::Public, &Request::Tokens) {
        Ok(Response::Tokens(tokens)) => tokens.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(&mut world), 5);
    let new = token(cambist_core::TokenId(9), "NEW", 6, 1);
    world.operate(Operator::ListToken(Box::new(new.clone())));
    assert_eq!(shown(&mut world), 6);
    assert_eq!(
        refused(&mut world, Operator::ListToken(Box::new(new.clone()))),
        Reason::InvalidArgument
    );
    for used in [BASE, QUOTE, LP] {
        let request = Operator::DelistToken { token: used };
        assert_eq!(refused(&mut world, request), Reason::InvalidArgument);
    }
    let gone = Operator::DelistToken { token: new.spec.id };
    world.operate(gone.clone());
    assert_eq!(shown(&mut world), 5);
    assert_eq!(refused(&mut world, gone), Reason::UnsupportedToken);
    let deposit = Operator::Deposit {
        account: ALICE,
        token: new.spec.id,
        amount: 1,
    };
    assert_eq!(refused(&mut world, deposit), Reason::UnsupportedToken);
    let mut other = new.clone();
    other.spec.decimals = 7;
    assert_eq!(
        refused(&mut world, Operator::ListToken(Box::new(other.clone()))),
        Reason::InvalidArgument
    );
    other.spec = new.spec;
    other.spec.minimum = 0;
    assert_eq!(
        refused(&mut world, Operator::ListToken(Box::new(other.clone()))),
        Reason::InvalidArgument,
        "a token that a configuration could not have"
    );
    other.spec.minimum = 5;
    world.operate(Operator::ListToken(Box::new(other)));
    assert_eq!(shown(&mut world), 6);
}

#[test]
fn a_numbered_deposit_is_booked_once() {
    let mut world = World::with(with_pool());
    let before = world.held(ALICE, BASE).0;
    let numbered = |number, amount| Operator::DepositOnce {
        account: ALICE,
        token: BASE,
        amount,
        number,
    };
    assert_eq!(refused(&mut world, numbered(0, 5)), Reason::InvalidArgument);
    world.operate(numbered(7, 5));
    assert_eq!(world.held(ALICE, BASE).0, before + 5);
    // A repetition, and one that is out of order.
    for number in [7, 6] {
        let detail = world
            .ask(&Caller::Operator, &Request::Operator(numbered(number, 5)))
            .unwrap_err()
            .detail;
        assert!(detail.contains("booked for account"), "{detail}");
        assert_eq!(world.held(ALICE, BASE).0, before + 5);
    }
    // What was refused for another reason has no number.
    let too_much = numbered(8, cambist_core::token::AMOUNT_MAX);
    assert_eq!(refused(&mut world, too_much), Reason::InvalidArgument);
    world.operate(numbered(8, 1));
    assert_eq!(world.held(ALICE, BASE).0, before + 6);
}

/// R-LIS-02
#[test]
fn markets_can_be_listed_and_delisted_which_cancels_their_orders() {
    let mut world = World::with(with_pool());
    world.operate(Operator::ListMarket(Box::new(market("LLL-QQQ"))));
    assert_eq!(
        refused(
            &mut world,
            Operator::ListMarket(Box::new(market("LLL-QQQ")))
        ),
        Reason::InvalidArgument
    );
    assert_eq!(
        refused(
            &mut world,
            Operator::ListMarket(Box::new(market("LLL-QQQ-2")))
        ),
        Reason::InvalidArgument,
        "the pair is listed"
    );
    world.operate(Operator::Deposit {
        account: ALICE,
        token: LONELY,
        amount: 10 * ONE,
    });
    let mut order = world.order(ALICE, Side::Sell, 250_000, 2 * ONE);
    order.sell_token = LONELY;
    world.submit(&order);
    assert_eq!(world.held(ALICE, LONELY), (10 * ONE, 2 * ONE));
    let gone = Operator::DelistMarket {
        market: "LLL-QQQ".to_owned(),
    };
    world.operate(gone.clone());
    assert_eq!(world.held(ALICE, LONELY), (10 * ONE, 0));
    let view = world.view(ALICE, order.hash);
    assert_eq!(
        (view.status, view.market.as_str()),
        (OrderStatus::Cancelled, "LLL-QQQ")
    );
    assert_eq!(refused(&mut world, gone), Reason::UnsupportedMarket);
    let mut order = world.order(ALICE, Side::Sell, 250_000, 2 * ONE);
    order.sell_token = LONELY;
    assert_eq!(world.submit_refused(&order), Reason::UnsupportedMarket);
    let depth = Request::Depth {
        market: "LLL-QQQ".to_owned(),
        level: 0,
        limit: None,
    };
    assert_eq!(
        world.refused(&Caller::Public, &depth),
        Reason::UnsupportedDepthMarket
    );
    let pooled = Operator::DelistMarket {
        market: "AAA-QQQ".to_owned(),
    };
    assert_eq!(refused(&mut world, pooled), Reason::InvalidArgument);
    world.operate(Operator::ListMarket(Box::new(market("LLL-QQQ"))));
    world.submit(&order);
}

/// R-LIS-03
#[test]
fn a_pool_is_listed_with_its_lp_token_and_delisted_to_exits() {
    let mut world = World::new();
    let mut listing = PoolListing {
        pool: pool(),
        lp: None,
    };
    assert_eq!(
        refused(&mut world, Operator::ListPool(Box::new(listing.clone()))),
        Reason::InvalidArgument,
        "its lp token is unknown"
    );
    listing.lp = Some(with_pool().tokens[4].clone());
    let mut wrong = listing.clone();
    wrong.pool.pooled = [QUOTE, BASE];
    assert_eq!(
        refused(&mut world, Operator::ListPool(Box::new(wrong))),
        Reason::UnsupportedMarket
    );
    world.operate(Operator::ListPool(Box::new(listing.clone())));
    assert_eq!(
        refused(&mut world, Operator::ListPool(Box::new(listing.clone()))),
        Reason::InvalidArgument
    );
    world.operate(Operator::JoinPool {
        hash: Hash([0xc0; 32]),
        account: CAROL,
        pool: POOL,
        amounts: SEED,
    });
    world.operate(Operator::DelistPool { pool: POOL });
    assert_eq!(
        refused(&mut world, Operator::DelistPool { pool: POOL }),
        Reason::InvalidArgument,
        "it is not listed any more"
    );
    let swap = world.swap_order(ALICE, Side::Sell, ONE, UNIT);
    assert_eq!(world.submit_refused(&swap), Reason::UnsupportedMarket);
    let join = world.join();
    assert_eq!(world.not_sent(join), Reason::InvalidReceiver);
    let exit = world.exit();
    assert_eq!(world.sent(exit), SubmissionStatus::Processed);
    let lp = Operator::DelistToken { token: LP };
    assert_eq!(
        refused(&mut world, lp),
        Reason::InvalidArgument,
        "the pool has shares"
    );
    world.operate(Operator::ListPool(Box::new(listing)));
    assert_eq!(world.submit(&swap).status, OrderStatus::Processed);
}

/// R-LIS-04, R-CFG-02
#[test]
fn pools_fees_and_limits_that_do_not_fit_are_refused() {
    let changes: [fn(&mut VenueConfig); 10] = [
        |config| config.pools[0].name = "AAA-QQQ".to_owned(),
        |config| config.pools[0].pooled = [QUOTE, BASE],
        |config| config.pools[0].lp = cambist_core::TokenId(99),
        |config| config.pools[0].lp = OTHER,
        |config| config.pools[0].fee_bips = 10_000,
        |config| config.pools[0].exit_fee = 1 << 96,
        |config| config.pools.push(pool()),
        |config| config.delays.late_failures_permille = 1_001,
        |config| config.limits.log_max = 0,
        |config| {
            config.fees.transfer.insert(cambist_core::TokenId(99), 1);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut wrong = with_pool();
        change(&mut wrong);
        assert!(crate::Venue::new(wrong).is_err(), "change {number}");
    }
    let mut world = World::with(with_pool());
    let fees = FeeSchedule {
        update: [(cambist_core::TokenId(99), 1)].into(),
        ..FeeSchedule::default()
    };
    let limits = Limits {
        open_orders_max: 0,
        ..Limits::default()
    };
    let delays = Delays {
        late_failures_permille: 1_001,
        ..Delays::default()
    };
    for request in [
        Operator::SetServiceFees(Box::new(fees)),
        Operator::SetLimits(Box::new(limits)),
        Operator::SetDelays(delays),
        Operator::SetPool {
            pool: POOL,
            status: PoolStatus::OPEN,
            fee_bips: 10_000,
            join_fee: 0,
            exit_fee: 0,
        },
        Operator::DelistPool { pool: [1; 20] },
        Operator::JoinPool {
            hash: Hash([1; 32]),
            account: ALICE,
            pool: POOL,
            amounts: [0, 1],
        },
    ] {
        assert_eq!(refused(&mut world, request), Reason::InvalidArgument);
    }
    // A join is booked out of free funds, of each token.
    let [base, quote] = [BASE, QUOTE].map(|token| {
        let (total, locked) = world.held(ALICE, token);
        total - locked
    });
    for amounts in [[base + 1, quote], [base, quote + 1]] {
        let request = Operator::JoinPool {
            hash: Hash([2; 32]),
            account: ALICE,
            pool: POOL,
            amounts,
        };
        assert_eq!(refused(&mut world, request), Reason::InsufficientBalance);
    }
    let most = world.venue.config().limits.approved_hashes_max;
    world.operate(Operator::SetLimits(Box::new(Limits {
        approved_hashes_max: 1,
        ..Limits::default()
    })));
    assert!(most > 1);
    let approve = |byte| Operator::ApproveHash {
        account: ALICE,
        hash: Hash([byte; 32]),
    };
    world.operate(approve(1));
    assert_eq!(refused(&mut world, approve(2)), Reason::InvalidArgument);
}

/// R-FLT-01
#[test]
fn injected_refusals_occur_as_often_as_requested_and_change_nothing_else() {
    let mut world = filled(with_pool());
    world.operate(Operator::InjectFault(Fault::Answer {
        kind: RequestKind::Submit,
        reason: Reason::FreezeFailed,
        count: 2,
    }));
    world.operate(Operator::InjectFault(Fault::Answer {
        kind: RequestKind::Markets,
        reason: Reason::UnknownError,
        count: 1,
    }));
    let order = world.order(ALICE, Side::Buy, 250_000, ONE);
    let submit = Request::Submit(Box::new(order.clone()));
    let internal = Caller::Internal { account: ALICE };
    let refusal = |world: &mut World, caller: &Caller, request: &Request| {
        world
            .ask(caller, request)
            .map_err(|refusal| refusal.reason)
            .err()
    };
    assert_eq!(
        refusal(&mut world, &signed(ALICE), &submit),
        Some(Reason::FreezeFailed)
    );
    assert_eq!(
        refusal(&mut world, &Caller::Public, &Request::Markets),
        Some(Reason::UnknownError)
    );
    assert_eq!(
        refusal(&mut world, &signed(ALICE), &submit),
        Some(Reason::FreezeFailed)
    );
    assert_eq!(
        refusal(&mut world, &Caller::Public, &Request::Markets),
        None
    );
    assert_eq!(world.held(ALICE, QUOTE).1, 0);
    world.operate(Operator::InjectFault(Fault::Answer {
        kind: RequestKind::Submit,
        reason: Reason::FreezeFailed,
        count: 2,
    }));
    assert_eq!(
        refusal(&mut world, &internal, &submit),
        None,
        "simulated traders are not affected"
    );
    world.operate(Operator::InjectFault(Fault::Clear));
    let order = world.order(ALICE, Side::Buy, 250_000, ONE);
    world.submit(&order);
    for _ in 0..FAULTS_MAX {
        world.operate(Operator::InjectFault(Fault::Answer {
            kind: RequestKind::Submit,
            reason: Reason::FreezeFailed,
            count: 1,
        }));
    }
    let more = Operator::InjectFault(Fault::FailLate {
        kind: RequestKind::Join,
        after_ms: 0,
        count: 1,
    });
    assert_eq!(refused(&mut world, more), Reason::InvalidArgument);
}

/// R-FLT-02
#[test]
fn submissions_fail_late_as_requested_and_release_everything() {
    let mut world = filled(with_pool());
    for (kind, after_ms) in [
        (RequestKind::Transfer, 0),
        (RequestKind::Withdraw, 40),
        (RequestKind::Join, 40),
        (RequestKind::Exit, 40),
    ] {
        world.operate(Operator::InjectFault(Fault::FailLate {
            kind,
            after_ms,
            count: 1,
        }));
    }
    let (transfer, withdrawal) = (world.transfer(), world.withdrawal());
    let (join, exit) = (world.join(), world.exit());
    assert_eq!(world.sent(transfer), SubmissionStatus::Failed);
    assert_eq!(world.sent(withdrawal.clone()), SubmissionStatus::Received);
    assert_eq!(world.sent(join.clone()), SubmissionStatus::Received);
    assert_eq!(world.sent(exit.clone()), SubmissionStatus::Received);
    world.pass(40);
    for (account, hash) in [
        (ALICE, withdrawal.hash),
        (ALICE, join.hash),
        (CAROL, exit.hash),
    ] {
        assert_eq!(world.submission(account, hash), SubmissionStatus::Failed);
    }
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 0));
    assert_eq!(world.held(CAROL, LP), (10_000_000_000, 0));
    let transfer = world.transfer();
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
}

/// R-LOG-01
#[test]
fn operator_requests_are_in_the_log_without_keys() {
    let mut config = with_pool();
    config.limits.log_max = 5;
    let mut world = World::with(config);
    world.operate(Operator::CreateAccount {
        id: None,
        owner: [0x55; 20],
        public_key: crate::PublicKey::default(),
        api_key: Some(api_key("opensesame")),
        internal: false,
    });
    world.operate(Operator::SetMode(ExchangeMode::CancelOnly));
    refused(&mut world, Operator::DelistPool { pool: [1; 20] });
    let read = |world: &mut World, limit, offset| match world
        .ask(&Caller::Operator, &Request::Log { limit, offset })
    {
        Ok(Response::Log(entries)) => entries,
        other => panic!("{other:?}"),
    };
    let log = read(&mut world, 100, 0);
    assert_eq!(log.len(), 5, "bounded");
    assert_eq!(log[0].request, Operator::SetMode(ExchangeMode::CancelOnly));
    assert_eq!(log[0].at, world.now);
    assert!(matches!(
        &log[1].request,
        Operator::CreateAccount { api_key: None, .. }
    ));
    assert!(
        log.windows(2)
            .all(|pair| pair[0].number == pair[1].number + 1)
    );
    assert_eq!(read(&mut world, 1, 1), log[1..2]);
    let request = Request::Log {
        limit: 1,
        offset: 0,
    };
    assert_eq!(
        world.refused(&signed(ALICE), &request),
        Reason::InvalidApiKey
    );
}
