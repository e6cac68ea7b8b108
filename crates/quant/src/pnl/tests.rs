//! Identities on random histories, in exact numbers and in floats.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::number::Exact;
use crate::simulation::Random;

fn exact(numerator: i64, denominator: i64) -> Exact {
    Exact::new(numerator.into(), denominator.into())
}

type History = (Vec<Fill<Exact>>, Vec<(i64, Exact)>);

fn history(random: &mut Random, fills: usize) -> History {
    let mut below = |n: u64| i64::try_from(random.bits() % n).unwrap();
    let mut mids = Vec::new();
    let (mut time, mut mid) = (0, 100_000);
    for _ in 0..60 {
        mids.push((time, exact(mid, 100)));
        time += below(2_000);
        mid += below(41) - 20;
    }
    let mut at: Vec<i64> = (0..fills).map(|_| below(time.cast_unsigned())).collect();
    at.sort_unstable();
    let fills = at.into_iter().map(|time| {
        let side = if below(2) == 0 { Side::Buy } else { Side::Sell };
        let fee = exact(below(50) - 10, 10_000);
        Fill {
            time,
            side,
            quantity: exact(1 + below(500), 100),
            price: exact(99_900 + below(200), 100),
            fee: if below(2) == 0 {
                Fee::Base(fee)
            } else {
                Fee::Quote(fee)
            },
        }
    });
    (fills.collect(), mids)
}

#[test]
fn three_ways_to_the_same_total() {
    let mut random = Random::new(77);
    for round in 0..60 {
        let (fills, mids) = history(&mut random, 1 + round % 25);
        let mids = Mids::new(&mids).unwrap();
        let made = account(&fills, &mids).unwrap();
        let split = &made.attribution;
        let sum = split.spread.clone() + split.inventory.clone() - split.fees.clone();
        assert_eq!(made.total, sum);
        let (mut fifo, mut average) = (Fifo::default(), AverageCost::default());
        for fill in &fills {
            fifo.push(fill);
            average.push(fill);
        }
        let last = mids.last();
        assert_eq!(made.total, fifo.realised.clone() + fifo.unrealised(last));
        assert_eq!(
            made.total,
            average.realised.clone() + average.unrealised(last)
        );
        assert_eq!(made.inventory, average.position);
        let open = crate::number::sum(fifo.lots.iter().map(|lot| lot.base.clone()));
        assert_eq!(made.inventory, open);
        assert!(made.max_drawdown >= Exact::whole(0));
        let marked = markouts(&fills, &mids, 1_000).unwrap();
        for markout in &marked {
            if let (Some(realised), Some(impact)) = (&markout.realised, &markout.impact) {
                assert_eq!(markout.effective, realised + impact);
            }
        }
        let effective = crate::number::sum(marked.iter().map(|m| m.effective.clone()));
        assert_eq!(effective, split.spread);
    }
}

#[test]
fn floats_agree_with_exact_numbers() {
    let mut random = Random::new(5);
    let (fills, mids) = history(&mut random, 40);
    let as_float = |fill: &Fill<Exact>| Fill {
        time: fill.time,
        side: fill.side,
        quantity: fill.quantity.to_f64(),
        price: fill.price.to_f64(),
        fee: match &fill.fee {
            Fee::Base(fee) => Fee::Base(fee.to_f64()),
            Fee::Quote(fee) => Fee::Quote(fee.to_f64()),
        },
    };
    let floats: Vec<Fill<f64>> = fills.iter().map(as_float).collect();
    let float_mids: Vec<(i64, f64)> = mids.iter().map(|(t, m)| (*t, m.to_f64())).collect();
    let exact = account(&fills, &Mids::new(&mids).unwrap()).unwrap();
    let float = account(&floats, &Mids::new(&float_mids).unwrap()).unwrap();
    assert!((exact.total.to_f64() - float.total).abs() < 1e-8);
    assert!((exact.max_drawdown.to_f64() - float.max_drawdown).abs() < 1e-8);
}

fn buy(time: i64, price: f64) -> Fill<f64> {
    Fill {
        time,
        side: Side::Buy,
        quantity: 2.0,
        price,
        fee: Fee::Quote(0.0),
    }
}

#[test]
fn a_mid_at_the_time_of_a_fill_applies_to_it() {
    let mids = [(0, 100.0), (10, 104.0), (20, 101.0)];
    let mids = Mids::new(&mids).unwrap();
    let made = account(&[buy(10, 103.0)], &mids).unwrap();
    assert!((made.attribution.spread - 2.0).abs() < 1e-12);
    assert!((made.attribution.inventory + 6.0).abs() < 1e-12);
    assert!((made.max_drawdown - 4.0).abs() < 1e-12);
    let marked = markouts(&[buy(10, 103.0)], &mids, 10).unwrap();
    assert_eq!(marked[0].realised, Some(-4.0));
    assert_eq!(
        markouts(&[buy(10, 103.0)], &mids, 11).unwrap()[0].realised,
        None
    );
    let totals = totals(&[buy(10, 103.0)], &marked).unwrap();
    assert!((totals.bps.unwrap() + 1e4 * 4.0 / 206.0).abs() < 1e-9);
    assert_eq!((totals.bps_error, totals.count), (None, 1));
}

/// The error is what many samples scatter by.
#[test]
fn the_error_of_a_markout_is_right() {
    let mut random = Random::new(31);
    let (mut inside, rounds) = (0, 300);
    for _ in 0..rounds {
        let fills: Vec<Fill<f64>> = (0..50).map(|i| buy(i, 100.0)).collect();
        let marked: Vec<Markout<f64>> = fills
            .iter()
            .map(|_| Markout {
                effective: 0.0,
                realised: Some(2.0 * (0.01 + 0.05 * random.normal())),
                impact: None,
            })
            .collect();
        let made = totals(&fills, &marked).unwrap();
        inside += i32::from((made.bps.unwrap() - 1.0).abs() < made.bps_error.unwrap());
    }
    assert!(
        (180..228).contains(&inside),
        "{inside} of {rounds} within one error"
    );
}

#[test]
fn bad_histories_are_refused() {
    let mids = [(5, 100.0), (10, 101.0)];
    let mids = Mids::new(&mids).unwrap();
    let good = buy(6, 100.0);
    for bad in [
        Fill {
            time: 4,
            ..good.clone()
        },
        Fill {
            quantity: 0.0,
            ..good.clone()
        },
        Fill {
            price: f64::NAN,
            ..good.clone()
        },
        Fill {
            fee: Fee::Base(2.0),
            ..good.clone()
        },
        Fill {
            fee: Fee::Quote(f64::INFINITY),
            ..good.clone()
        },
    ] {
        assert!(
            account(std::slice::from_ref(&bad), &mids).is_err(),
            "{bad:?}"
        );
        assert!(markouts(&[bad], &mids, 1).is_err());
    }
    assert!(account(&[buy(9, 1.0), buy(6, 1.0)], &mids).is_err());
    assert!(markouts(std::slice::from_ref(&good), &mids, -1).is_err());
    assert!(totals(&[good], &[]).is_err());
    assert!(Mids::<f64>::new(&[]).is_err());
    assert!(Mids::new(&[(1, 1.0), (0, 1.0)]).is_err());
    assert!(Mids::new(&[(1, f64::NAN)]).is_err());
}
