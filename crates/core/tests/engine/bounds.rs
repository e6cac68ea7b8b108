//! The stated worst case, computed by hand.

use cambist_core::bound::{KeptLoss, loss_bound, loss_bound_if_kept};
use cambist_core::config::PoolConfig;
use cambist_core::venue::{LifetimeRule, Resting};
use cambist_core::{Price, Qty};

use crate::bench::{config, spec};

/// Orders that rest as long as their bytes are accepted.
const LASTING: LifetimeRule = LifetimeRule {
    accepted_max_ms: None,
    resting: Resting::WhileAccepted,
};

#[test]
fn the_bound_is_band_and_fillable_times_gap_slip_and_fee() {
    let mut config = config();
    config.max_fee_bips = 10;
    let limits = &mut config.markets[0];
    limits.inventory_min = 0;
    limits.inventory_max = 10_000_000;
    limits.order_value_max = 1_000_000;
    limits.open_orders_max = 4;
    let limits = limits.clone();
    let bound = loss_bound(&spec(), (&config, &LASTING), &limits, Price(10_000), 1_000).unwrap();
    // Ten whole tokens at 100 have a value of 1 000 000 000; the jump loses a tenth.
    assert_eq!(bound.by_gap, 100_000_000);
    // Eight orders of 1 000 000 at the collar's 9 500: 105 lots each, 84 000 units.
    assert_eq!(bound.fillable, 84_000);
    // Half the widest book, 150 ten-thousandths of 8 400 000, and the fee's ten.
    assert_eq!((bound.by_fills, bound.by_fees), (126_000, 8_400));
    assert_eq!(bound.total(), 100_134_400);
    let mut narrow = limits.clone();
    narrow.inventory_min = narrow.inventory_max - 500;
    let bound = loss_bound(&spec(), (&config, &LASTING), &narrow, Price(10_000), 1_000).unwrap();
    assert_eq!(bound.fillable, 500, "no more than the band is wide");
    let mut small = limits;
    small.order_qty_max = Qty(1);
    let bound = loss_bound(&spec(), (&config, &LASTING), &small, Price(10_000), 1_000).unwrap();
    assert_eq!(bound.fillable, 800, "no more than the orders hold");
}

#[test]
fn a_pool_adds_the_loss_of_the_jump_and_of_an_undecided_transaction() {
    let config = config();
    let alone = loss_bound(
        &spec(),
        (&config, &LASTING),
        &config.markets[0],
        Price(10_000),
        1_900,
    )
    .unwrap();
    let pool = PoolConfig {
        poll_ms: 1_000,
        age_max_ms: 5_000,
        slippage_bps: 50,
        divergence_max_bps: 100,
        move_value_max: 1_001,
        value_max: 1_000_000,
        fee_max: 7,
        swap_value_max: 0,
        collect_value: 0,
        swaps_per_min: 6,
    };
    // The root of 0.81 is 0.9: 100 000 of a million; 5.005 of an undecided transaction, rounded up; the fee.
    let with = alone.with_pool(&pool, false, 200, 10).unwrap();
    assert_eq!(with.by_pool, 100_000 + 6 + 7);
    assert_eq!(with.total(), alone.total() + with.by_pool);
    assert_eq!(with.by_swap, 0, "no swaps");
    let swaps = PoolConfig {
        swap_value_max: 10_001,
        ..pool.clone()
    };
    // The collar and the fee of one swap: 2.1 % of 10,001, rounded up.
    let with = alone.with_pool(&swaps, false, 200, 10).unwrap();
    assert_eq!(with.by_swap, 211);
    assert_eq!(with.total(), alone.total() + with.by_pool + 211);
    let all = loss_bound(
        &spec(),
        (&config, &LASTING),
        &config.markets[0],
        Price(10_000),
        10_000,
    );
    let all = all.unwrap().with_pool(&pool, false, 200, 10).unwrap();
    assert_eq!(
        all.by_pool,
        1_000_000 + 13,
        "nothing is left of what is worth nothing"
    );
}

/// Others trade a pool to any price within the jump: the value of shares stays within the bound.
fn pool_of(value_max: u128) -> PoolConfig {
    PoolConfig {
        poll_ms: 1_000,
        age_max_ms: 5_000,
        slippage_bps: 0,
        divergence_max_bps: 100,
        move_value_max: 0,
        value_max,
        fee_max: 0,
        swap_value_max: 0,
        collect_value: 0,
        swaps_per_min: 6,
    }
}

#[test]
fn a_pool_traded_to_the_new_price_loses_at_most_the_stated_loss() {
    let config = config();
    let (base, quote) = (1_000_000_u128, 100_000_000_u128);
    let mut least = u128::MAX;
    for gap_bps in (100..=9_900).step_by(100) {
        let bound = loss_bound(
            &spec(),
            (&config, &LASTING),
            &config.markets[0],
            Price(10_000),
            gap_bps,
        )
        .unwrap();
        let pool = pool_of(2 * quote);
        let stated = bound.with_pool(&pool, false, 200, 10).unwrap().by_pool;
        // A price of 100 falls to 100 · (1 − g): base is added until the pool has that price.
        let left = u128::from(10_000 - gap_bps);
        let there = (base * quote * 10_000 / (100 * left)).isqrt();
        let worth = there * 100 * left / 10_000 + (base * quote).div_ceil(there);
        let lost = 2 * quote - worth;
        assert!(lost <= stated, "{gap_bps}: {lost} > {stated}");
        least = least.min(lost * 100 / stated);
    }
    assert!(least >= 99, "a bound, not a scare figure: {least} per cent");
}

/// Of a range: where it is at or below its lower end it is base alone, and loses what base loses.
#[test]
fn a_range_loses_at_most_what_base_loses() {
    let config = config();
    let (lower, upper) = (81.0_f64, 121.0_f64);
    let worth = |price: f64| {
        let within = price.clamp(lower, upper);
        let base = 1.0 / within.sqrt() - 1.0 / upper.sqrt();
        base * price + within.sqrt() - lower.sqrt()
    };
    for gap_bps in (100..=9_900).step_by(700) {
        let alone = loss_bound(
            &spec(),
            (&config, &LASTING),
            &config.markets[0],
            Price(10_000),
            gap_bps,
        )
        .unwrap();
        let pool = pool_of(1_000_000_000);
        let stated = |in_range| alone.with_pool(&pool, in_range, 200, 10).unwrap().by_pool;
        assert_eq!(stated(true), 100_000 * u128::from(gap_bps));
        let part = f64::from(gap_bps) / 10_000.0;
        let mut most = 0.0_f64;
        for price in [40.0, 81.0, 90.0, 100.0, 121.0, 200.0] {
            let lost = 1.0 - worth(price * (1.0 - part)) / worth(price);
            assert!(lost <= part + 1e-9, "{gap_bps} {price}: {lost}");
            most = most.max(lost);
        }
        assert!(most >= part - 1e-9, "it is reached below the range");
        assert!(stated(false) < stated(true), "other pools lose less");
    }
}

#[test]
fn with_kept_orders_everything_signed_fills_at_the_collar() {
    let mut config = config();
    config.max_fee_bips = 10;
    let limits = &mut config.markets[0];
    (limits.inventory_max, limits.signed_unexpired_max) = (10_000_000, 2_000_000);
    let limits = limits.clone();
    let found = loss_bound_if_kept(&spec(), (&config, &LASTING), &limits, Price(10_000), 1_000);
    let bound = *found.unwrap().bound().unwrap();
    // Twelve whole tokens at 100 lose a tenth; two of them fill 500 ten-thousandths off, with a fee of ten.
    assert_eq!((bound.held, bound.fillable), (12_000_000, 2_000_000));
    assert_eq!(bound.by_gap, 120_000_000);
    assert_eq!((bound.by_fills, bound.by_fees), (10_000_000, 200_000));
    let more = loss_bound_if_kept(&spec(), (&config, &LASTING), &limits, Price(10_001), 1_000);
    assert!(more.unwrap().bound().unwrap().total() > bound.total());
    assert_eq!(bound.dead_after_ms, Some(config.ttl_ms + config.grace_ms));
    let mut endless = limits;
    endless.signed_unexpired_max = u128::MAX;
    let none = loss_bound_if_kept(&spec(), (&config, &LASTING), &endless, Price(10_000), 1_000);
    assert_eq!(none, None, "no limit is no bound");
}

#[test]
fn where_orders_have_no_end_a_venue_that_keeps_them_costs_what_is_held() {
    let config = config();
    let limits = &config.markets[0];
    let until = |resting| LifetimeRule {
        accepted_max_ms: Some(6_000),
        resting,
    };
    let of = |resting| {
        let terms = (&config, &until(resting));
        let kept = loss_bound_if_kept(&spec(), terms, limits, Price(10_000), 1_000).unwrap();
        let truthful = loss_bound(&spec(), terms, limits, Price(10_000), 1_000).unwrap();
        (kept, truthful.dead_after_ms)
    };
    assert_eq!(
        of(Resting::UntilCancelled),
        (KeptLoss::Holdings, None),
        "no cap on what was signed bounds it, and no time ends it"
    );
    let (kept, dead_after_ms) = of(Resting::UntilExpiry);
    assert!(kept.bound().is_some());
    assert_eq!(dead_after_ms, Some(config.ttl_ms + config.grace_ms));
}

#[test]
fn a_collar_as_wide_as_the_price_leaves_orders_at_one_tick() {
    let config = config();
    let mut limits = config.markets[0].clone();
    (limits.collar_bps, limits.price_min) = (10_000, Price(0));
    (limits.order_value_max, limits.open_orders_max) = (1_000, 4);
    let terms = (&config, &LASTING);
    let bound = loss_bound(&spec(), terms, &limits, Price(10_000), 1_000).unwrap();
    assert_eq!(bound.fillable, 800_000, "eight orders of a thousand lots");
}
