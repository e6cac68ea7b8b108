//! Operator requests, and invalid configurations.

use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Reason, Side, TokenId};

use crate::testing::*;
use crate::{AccountId, Caller, Operator, PublicKey, Request, Response, Venue, VenueConfig};

fn create(id: Option<u32>, owner: u8) -> Request {
    Request::Operator(Operator::CreateAccount {
        id: id.map(AccountId),
        owner: [owner; 20],
        public_key: PublicKey::default(),
        api_key: None,
        internal: false,
    })
}

fn operate_refused(world: &mut World, input: Operator) -> Reason {
    world.refused(&Caller::Operator, &Request::Operator(input))
}

/// R-OPR-01
#[test]
fn accounts_have_one_owner_and_one_number() {
    let mut world = World::new();
    assert_eq!(
        world.ask(&Caller::Operator, &create(None, 90)),
        Ok(Response::Done(Some(AccountId(13)))),
        "after the highest"
    );
    for request in [create(None, 90), create(None, 0), create(Some(10), 91)] {
        assert_eq!(
            world.refused(&Caller::Operator, &request),
            Reason::InvalidArgument
        );
    }
    assert_eq!(
        world.ask(&Caller::Operator, &create(Some(u32::MAX), 92)),
        Ok(Response::Done(Some(AccountId(u32::MAX))))
    );
    assert_eq!(
        world.refused(&Caller::Operator, &create(None, 93)),
        Reason::InvalidArgument,
        "no number is left"
    );
}

/// R-OPR-02
#[test]
fn the_supply_of_a_token_is_limited_to_96_bits() {
    let mut world = World::new();
    let deposit = |amount| Operator::Deposit {
        account: ALICE,
        token: LONELY,
        amount,
    };
    world.operate(deposit(AMOUNT_MAX));
    for amount in [1, u128::MAX] {
        assert_eq!(
            operate_refused(&mut world, deposit(amount)),
            Reason::InvalidArgument
        );
    }
    world.operate(Operator::Withdraw {
        account: ALICE,
        token: LONELY,
        amount: 5,
    });
    world.operate(deposit(5));
    assert_eq!(world.held(ALICE, LONELY), (AMOUNT_MAX, 0));
}

/// R-OPR-03
#[test]
fn only_free_funds_are_withdrawn() {
    let mut world = World::new();
    world.place(ALICE, Side::Sell, 100_000, 600 * ONE);
    let withdraw = |amount| Operator::Withdraw {
        account: ALICE,
        token: BASE,
        amount,
    };
    assert_eq!(
        operate_refused(&mut world, withdraw(400 * ONE + 1)),
        Reason::InsufficientBalance
    );
    world.operate(withdraw(400 * ONE));
    assert_eq!(world.held(ALICE, BASE), (600 * ONE, 600 * ONE));
}

/// R-OPR-04
#[test]
fn operator_requests_about_unknown_objects_are_refused() {
    let mut world = World::new();
    let unknown = AccountId(999);
    for (input, reason) in [
        (
            Operator::Freeze {
                account: unknown,
                frozen: true,
            },
            Reason::UserNotFound,
        ),
        (
            Operator::Deposit {
                account: unknown,
                token: BASE,
                amount: 1,
            },
            Reason::UserNotFound,
        ),
        (
            Operator::Deposit {
                account: ALICE,
                token: TokenId(99),
                amount: 1,
            },
            Reason::UnsupportedToken,
        ),
        (
            Operator::EnableToken {
                token: TokenId(99),
                enabled: true,
            },
            Reason::UnsupportedToken,
        ),
        (
            Operator::EnableMarket {
                market: "X".to_owned(),
                enabled: true,
            },
            Reason::UnsupportedMarket,
        ),
        (
            Operator::SetFees {
                market: "AAA-QQQ".to_owned(),
                maker_fee_bips: 1,
                taker_fee_bips: 64,
            },
            Reason::InvalidArgument,
        ),
    ] {
        assert_eq!(operate_refused(&mut world, input), reason);
    }
}

/// R-CFG-02
#[test]
fn an_inconsistent_configuration_is_refused() {
    assert!(Venue::new(config()).is_ok());
    let changes: [fn(&mut VenueConfig); 13] = [
        |config| config.tokens[1].spec.id = TokenId(0),
        |config| config.tokens[0].spec.decimals = 28,
        |config| config.tokens[0].spec.precision = 19,
        |config| config.tokens[0].spec.minimum = 0,
        |config| config.tokens[0].spec.maximum = 1,
        |config| config.tokens[0].spec.maximum = AMOUNT_MAX + 1,
        |config| config.tokens[0].spec.dust = ONE,
        |config| config.markets[0].quote = TokenId(99),
        |config| config.markets[0].quote = BASE,
        |config| config.markets[1] = config.markets[0].clone(),
        |config| config.markets[0].taker_fee_bips = 64,
        |config| config.markets[0].aggregation_levels = 19,
        |config| config.limits.history_orders_max = 0,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut wrong = config();
        change(&mut wrong);
        assert!(Venue::new(wrong).is_err(), "change {number}");
    }
}
