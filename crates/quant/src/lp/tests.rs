//! Identities, published examples and curves.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::band_arbitrage::Pool;
use super::curve::Curve;
use super::flow::Flow;
use super::hold::{Hysteresis, Outlook, net_rate};
use super::lvr::{log_fee, rates};
use super::path::{hedge, losses};
use super::profit::{Snapshot, split};
use super::value::{Position, impermanent_loss, value};
use crate::simulation::Random;

fn near(a: f64, b: f64, relative: f64) {
    assert!((a - b).abs() <= relative * b.abs(), "{a} {b}");
}

/// The table of Pintail's article.
#[test]
fn losses_against_holding() {
    for (ratio, percent) in [
        (1.25, 0.6),
        (1.5, 2.0),
        (1.75, 3.8),
        (2.0, 5.7),
        (3.0, 13.4),
        (4.0, 20.0),
        (5.0, 25.5),
    ] {
        let loss = -100.0 * impermanent_loss(ratio).unwrap();
        assert!((loss - percent).abs() < 0.05, "{ratio}: {loss}");
    }
    assert!(impermanent_loss(0.0).is_err() && impermanent_loss(f64::NAN).is_err());
    // A hundred-millionth off: the loss is r²/8, not a rounding error.
    near(impermanent_loss(1.0 + 1e-8).unwrap(), -1.25e-17, 1e-6);
}

#[test]
fn delta_and_gamma_are_derivatives() {
    let position = Position {
        reserve_base: 10.0,
        reserve_quote: 1_000.0,
        share: 0.1,
    };
    let at = |price| value(&position, price).unwrap();
    let slope = (at(200.001).value - at(199.999).value) / 0.002;
    near(at(200.0).delta, slope, 1e-8);
    let curvature = (at(200.01).delta - at(199.99).delta) / 0.02;
    near(at(200.0).gamma, curvature, 1e-6);
    near(at(200.0).value_if_held, 300.0, 1e-12);
    near(at(200.0).loss, at(200.0).loss_by_ratio, 1e-12);
    for bad in [
        Position {
            share: 1.1,
            ..position
        },
        Position {
            share: 0.0,
            ..position
        },
        Position {
            reserve_base: f64::NAN,
            ..position
        },
    ] {
        assert!(value(&bad, 1.0).is_err());
    }
}

/// Table 1 of arXiv 2305.14604 (5 % a day): shares of blocks with an arbitrage, percent.
#[test]
fn the_table_of_trade_probabilities() {
    let table = [
        (600.0, [96.7, 85.5, 74.7, 49.6, 22.8]),
        (120.0, [92.9, 72.5, 56.9, 30.5, 11.6]),
        (12.0, [80.7, 45.5, 29.4, 12.2, 4.0]),
        (2.0, [63.0, 25.4, 14.6, 5.4, 1.7]),
        (0.05, [21.2, 5.1, 2.6, 0.9, 0.3]),
    ];
    for (seconds, row) in table {
        for (bips, percent) in [1.0, 5.0, 10.0, 30.0, 100.0].into_iter().zip(row) {
            let fee = bips / 1e4;
            let made = rates(0.05, seconds / 86_400.0, fee).unwrap();
            assert!(
                (100.0 * made.trade_probability - percent).abs() <= 0.1,
                "{seconds} {bips}"
            );
        }
    }
}

/// Blocks at Poisson times, prices that diffuse in between, arbitrage to the edge of the fee.
#[test]
fn simulated_arbitrage_matches_the_formula() {
    let (sigma, interval, fee) = (0.05, 12.0 / 86_400.0, 0.003);
    let made = rates(sigma, interval, fee).unwrap();
    let mut random = Random::new(12);
    // z = ln(pool price/outside price); gains as fractions of the value, V = 2√P.
    let (mut z, mut taken, mut fees, mut trades) = (0.0_f64, 0.0, 0.0, 0.0);
    let blocks = 2_000_000;
    for _ in 0..blocks {
        let dt = interval * random.exponential();
        // The martingale measure of the value numeraire has no drift to first order in σ²dt.
        z += sigma * libm::sqrt(dt) * random.normal();
        let edge = fee * z.signum();
        if z.abs() > fee {
            let (from, to) = (libm::exp(z), libm::exp(edge));
            // Per unit of liquidity at outside price 1: quote and base moved, against V = 2.
            let quote = libm::sqrt(to) - libm::sqrt(from);
            let base = 1.0 / libm::sqrt(to) - 1.0 / libm::sqrt(from);
            let lost = -(quote + base);
            let paid = if base > 0.0 { base } else { quote } * libm::expm1(fee);
            taken += (lost - paid) / 2.0;
            fees += paid / 2.0;
            trades += 1.0;
            z = edge;
        }
    }
    let days = f64::from(blocks) * interval;
    near(trades / f64::from(blocks), made.trade_probability, 0.01);
    near(taken / days, made.arbitrage, 0.02);
    near(fees / days, made.arbitrage_fees, 0.01);
}

#[test]
fn the_discrete_identity_holds_on_every_path() {
    let mut random = Random::new(1);
    for _ in 0..50 {
        let mut price = 10.0;
        let prices: Vec<f64> = (0..200)
            .map(|_| {
                price *= libm::exp(0.02 * random.normal());
                price
            })
            .collect();
        let made = losses(500.0, &prices).unwrap();
        let hedged = hedge(500.0, &prices, 0.0, 0.0).unwrap();
        near(hedged.total, -made.total, 1e-9);
        near(made.by_volatility, made.total, 0.02);
        assert_eq!(hedged.trades, 199);
        let banded = hedge(500.0, &prices, 0.001, 2.0).unwrap();
        assert!(banded.trades < 199 && banded.cost > 0.0);
    }
    assert!(losses(1.0, &[1.0]).is_err() && losses(1.0, &[1.0, 0.0]).is_err());
    assert!(hedge(1.0, &[1.0, 2.0], -0.1, 0.0).is_err());
}

/// Printed by simple_examples.py, run unmodified.
#[test]
fn a_pool_between_two_prices() {
    let mut pool = Pool::new(5e8, 3_000.0, 0.0005, 10.0).unwrap();
    assert!(pool.outside(3_003.0).unwrap());
    assert!((pool.price() - 3_001.498_5).abs() < 1e-4);
    assert!((pool.fees - 62.46).abs() < 5e-3 && (pool.lvr - 93.66).abs() < 5e-3);
    let mut far = Pool::new(5e8, 3_000.0, 0.0005, 10.0).unwrap();
    assert!(far.outside(3_030.0).unwrap());
    assert!((far.price() - 3_028.485).abs() < 1e-4);
    assert!((far.fees - 1_184.66).abs() < 5e-3 && (far.lvr - 12_406.47).abs() < 5e-3);
    let before = far;
    assert!(!far.outside(3_029.0).unwrap(), "inside the fee");
    assert_eq!(far, before);
    assert!(far.outside(f64::NAN).is_err() && Pool::new(1.0, 1.0, 1.0, 0.0).is_err());
}

#[test]
fn holding_needs_a_positive_net_rate_and_joining_a_higher_one_than_staying() {
    let outlook = Outlook {
        sigma: 0.05,
        interval: 12.0 / 86_400.0,
        log_fee: log_fee(0.003).unwrap(),
        noise_volume: 0.02,
        hedge_cost: 0.0,
    };
    let needed = rates(0.05, outlook.interval, outlook.log_fee)
        .unwrap()
        .break_even_volume;
    let even = Outlook {
        noise_volume: needed.unwrap(),
        ..outlook
    };
    assert!(net_rate(&even).unwrap().abs() < 1e-15);
    assert!(net_rate(&outlook).unwrap() > 0.0);
    let rule = Hysteresis::new(1e-5, 2e-5, 2e-4, 10.0).unwrap();
    assert!(rule.holds(true, 0.0, 1e-5).unwrap() && !rule.holds(false, 0.0, 1e-5).unwrap());
    assert!(!rule.holds(true, 0.0, 3e-5).unwrap() && rule.holds(false, 3e-5, 1e-5).unwrap());
    assert!(Hysteresis::new(1e-6, 1e-6, 2e-4, 10.0).is_err());
    assert!(rule.holds(true, f64::NAN, 0.0).is_err());
    assert!(
        net_rate(&Outlook {
            sigma: 0.0,
            ..outlook
        })
        .is_err()
    );
    assert!(rates(2.0, 3.0, 0.001).is_err(), "no mean beyond 8/σ²");
}

#[test]
fn orders_sum_to_the_curve_and_are_never_better() {
    let curve = Curve::whole(10_000.0).unwrap();
    let asks = curve.asks(400.0, 10, 5, 0.003).unwrap();
    let sold: f64 = asks.iter().map(|rung| rung.quantity).sum();
    near(sold, 10_000.0 / 20.0 - 10_000.0 / libm::sqrt(450.0), 1e-12);
    assert_eq!(asks[0].price, 412);
    let bids = curve.bids(400.0, 10, 5, 0.003).unwrap();
    assert_eq!(bids[0].price, 388);
    // The orders receive at least what the curve charges for the same base.
    let asked: f64 = asks
        .iter()
        .map(|rung| rung.quantity * rung.price as f64)
        .sum();
    let curve_asks = 10_000.0 * (libm::sqrt(450.0) - 20.0) / 0.997;
    assert!(asked >= curve_asks);
    let range = Curve::between(10_000.0, 395.0, 415.0).unwrap();
    assert_eq!(range.asks(400.0, 10, 5, 0.0).unwrap().len(), 2);
    assert_eq!(range.bids(400.0, 10, 5, 0.0).unwrap().len(), 1);
    assert_eq!(range.bids(500.0, 10, 5, 0.0).unwrap().len(), 0);
    near(
        range.delta(300.0).unwrap(),
        range.due(395.0).unwrap().base,
        1e-12,
    );
    assert!(range.delta(500.0).unwrap().abs() < 1e-12);
    assert_eq!(curve.bids(4.0, 2, 100, 0.0).unwrap().len(), 1);
    assert!(curve.asks(f64::NAN, 1, 1, 0.0).is_err() && curve.asks(1.0, 0, 1, 0.0).is_err());
    assert!(curve.asks(1.0, 1, 1, 1.0).is_err() && Curve::between(1.0, 2.0, 2.0).is_err());
    assert!(Curve::whole(0.0).is_err());
}

/// A pool with fees, traded to random prices: the components add up, and the fees are those the
/// trades paid.
#[test]
fn components_of_a_position_sum_to_its_change() {
    let mut random = Random::new(23);
    for _ in 0..200 {
        let start = Snapshot {
            reserve_base: 100.0,
            reserve_quote: 10_000.0,
            supply: 50.0,
            mid: 101.0,
        };
        let (mut x, mut y) = (start.reserve_base, start.reserve_quote);
        for _ in 0..20 {
            let paid = 5.0 * random.unit();
            let worked = paid * 0.997;
            if random.unit() < 0.5 {
                y -= y * worked / (x + worked);
                x += paid;
            } else {
                x -= x * worked / (y / 100.0 + worked);
                y += paid * 100.0;
            }
        }
        let end = Snapshot {
            reserve_base: x,
            reserve_quote: y,
            supply: 50.0,
            mid: y / x * (1.0 + 0.01 * (random.unit() - 0.5)),
        };
        let made = split(5.0, &start, &end).unwrap();
        near(
            made.price + made.impermanent + made.fees,
            made.total(),
            1e-9,
        );
        assert!(made.fees > 0.0);
        // Where the pool ends at the mid, impermanent loss follows from the prices alone.
        let follows = Snapshot { mid: y / x, ..end };
        let exact = Snapshot {
            mid: 100.0,
            ..start
        };
        let made = split(5.0, &exact, &follows).unwrap();
        let loss = impermanent_loss(y / x / 100.0).unwrap();
        near(made.impermanent, loss * 5.0 * (2.0 * y / x + 200.0), 1e-6);
    }
    let pool = Snapshot {
        reserve_base: 1.0,
        reserve_quote: 1.0,
        supply: 1.0,
        mid: 1.0,
    };
    assert!(split(1.1, &pool, &pool).is_err() && split(0.0, &pool, &pool).is_err());
    assert!(
        split(
            0.5,
            &pool,
            &Snapshot {
                mid: f64::NAN,
                ..pool
            }
        )
        .is_err()
    );
}

/// Arbitrage every twelve seconds, and other volume that is known.
#[test]
fn flow_separates_arbitrage_from_other_volume() {
    let mut random = Random::new(29);
    let fee = log_fee(0.003).unwrap();
    let mut flow = Flow::new(fee, 86_400.0).unwrap();
    let (mut x, mut y, mut mid) = (1_000.0, 100_000.0, 100.0);
    flow.push(x, y, mid, 0.0).unwrap();
    assert_eq!(
        (flow.arbitrage_interval_s(), flow.noise_volume_per_s()),
        (None, None)
    );
    let (mut noise, mut arbitrages, polls) = (0.0, 0.0, 20_000);
    for _ in 0..polls {
        mid *= libm::exp(0.001 * random.normal());
        let liquidity = libm::sqrt(x * y);
        let off = libm::log(y / x / mid);
        if off.abs() > fee {
            let price = mid * libm::exp(fee * off.signum());
            (x, y) = (liquidity / libm::sqrt(price), liquidity * libm::sqrt(price));
            arbitrages += 1.0;
        } else if random.unit() < 0.2 {
            let paid = 20.0 * (random.unit() - 0.5);
            noise += paid.abs() / (2.0 * y);
            y += paid;
            x = liquidity * liquidity / y;
        }
        flow.push(x, y, mid, 12.0).unwrap();
    }
    let seconds = f64::from(polls) * 12.0;
    near(
        flow.arbitrage_interval_s().unwrap(),
        seconds / arbitrages,
        0.1,
    );
    near(flow.noise_volume_per_s().unwrap(), noise / seconds, 0.1);
    // A join moves both: no trade. Bad input changes nothing.
    let before = flow.clone();
    assert_eq!(
        flow.push(x * 1.1, y * 1.1, mid, 1.0)
            .unwrap()
            .noise
            .to_bits(),
        0
    );
    let mut flow = before.clone();
    assert!(flow.push(f64::NAN, y, mid, 1.0).is_err() && flow.push(x, y, mid, 0.0).is_err());
    assert_eq!(flow, before);
}
