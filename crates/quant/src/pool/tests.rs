//! Published cases, and optima compared with exhaustive search.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::arbitrage::to_price;
use super::ladder::{BookSide, Level, Market};
use super::route::{Route, leg_risk};
use super::shares::{exit, join, least_accepted, slippage};
use super::*;
use crate::number::Number;
use crate::simulation::Random;

fn units(value: u128) -> Amount {
    Amount::from(value)
}

fn swap(reserve_in: u128, reserve_out: u128, fee: Fee, convention: Convention) -> Swap {
    Swap::new(units(reserve_in), units(reserve_out), fee, convention).unwrap()
}

/// Uniswap v2-core, test/UniswapV2Pair.spec.ts, getInputPrice.
#[test]
fn cases_of_the_contract() {
    const E: u128 = 1_000_000_000_000_000_000;
    for (amount, reserve_in, reserve_out, out) in [
        (1, 5, 10, 1_662_497_915_624_478_906_u128),
        (1, 10, 5, 453_305_446_940_074_565),
        (2, 5, 10, 2_851_015_155_847_869_602),
        (2, 10, 5, 831_248_957_812_239_453),
        (1, 10, 10, 906_610_893_880_149_131),
        (1, 100, 100, 987_158_034_397_061_298),
        (1, 1_000, 1_000, 996_006_981_039_903_216),
    ] {
        let fee = Fee::new(3, 1_000).unwrap();
        let pool = swap(reserve_in * E, reserve_out * E, fee, Convention::Floor);
        assert_eq!(pool.out(&units(amount * E)), units(out));
    }
}

/// Loopring/protocols, MatchingTests.cpp, RequireAMMFills.
#[test]
fn cases_of_the_circuit() {
    let fee = Fee::bips(10).unwrap();
    let pool = swap(1_000, 1_000, fee, Convention::Circuit);
    assert!(!pool.accepts(&units(1), &units(1)));
    assert!(pool.accepts(&units(2), &units(1)));
    assert!(!pool.accepts(&units(2), &units(1_000)));
}

#[test]
fn the_least_input_is_the_least() {
    let mut random = Random::new(2);
    for _ in 0..2_000 {
        let x = 1 + random.bits() % 100_000;
        let y = 1 + random.bits() % 100_000;
        let fee = Fee::bips(random.bits() % 1_000).unwrap();
        for convention in [Convention::Floor, Convention::Circuit] {
            let pool = swap(x.into(), y.into(), fee, convention);
            let output_min = units(1 + u128::from(random.bits() % y));
            if let Some(least) = pool.least_input(&output_min) {
                assert!(pool.out(&least) >= output_min);
                assert!(pool.out(&(least - 1_u8)) < output_min);
            } else {
                let beyond = pool.out(&units(1_u128 << 100)) < output_min;
                assert!(beyond || output_min >= units(y.into()));
            }
        }
    }
}

/// Uniswap v2-periphery, ExampleComputeLiquidityValue and computeProfitMaximizingTrade.
#[test]
fn arbitrage_to_one_price() {
    const E: u128 = 1_000_000_000_000_000_000;
    let fee = Fee::new(3, 1_000).unwrap();
    let made = |a: u128, b: u128| {
        to_price(
            [units(10 * E), units(1_000 * E)],
            fee,
            &[units(a), units(b)],
        )
        .unwrap()
    };
    let sold = made(1, 90);
    assert!(sold.first_in);
    assert_eq!(sold.amount_in, units(526_682_316_179_835_569));
    assert_eq!(sold.amount_out, units(49_890_467_170_695_440_744));
    let bought = made(1, 110);
    assert!(!bought.first_in);
    assert_eq!(bought.amount_in, units(47_376_582_963_642_643_588));
    assert_eq!(bought.amount_out, units(451_039_908_682_851_138));
    assert!(to_price([units(1), units(0)], fee, &[units(1), units(1)]).is_err());
    assert!(to_price([units(1), units(1)], fee, &[units(0), units(1)]).is_err());
    assert_eq!(made(1, 100).amount_in, units(0), "inside the fee");
}

#[test]
fn shares_by_the_contract_s_ratio() {
    let balances = [units(3_000_000), units(7_000_001)];
    let made = join(&balances, &units(1_000_000), &[units(300), units(900)]).unwrap();
    assert_eq!(made.minted, units(100));
    assert_eq!(made.taken, [units(300), units(700)]);
    let first = join(&[], &units(0), &[units(5), units(6)]).unwrap();
    assert_eq!(
        (first.minted, first.taken),
        (units(10_000_000_000), vec![units(5), units(6)])
    );
    let none = exit(&balances, &units(100_000_000_000), &units(9)).unwrap();
    assert_eq!(none.paid, [units(0), units(0)], "too few vanish");
    assert!(exit(&balances, &units(0), &units(1)).is_err());
    assert!(join(&[units(0), units(1)], &units(1), &[units(1), units(1)]).is_err());
    let slip = slippage(3.0, 1e-4, 4.0).unwrap();
    assert!((slip - 4e-4).abs() < 1e-15);
    assert_eq!(
        least_accepted(&units(1_000_000), slip).unwrap(),
        units(999_600)
    );
    assert!(slippage(1e9, 1.0, 1.0).is_err() && least_accepted(&units(1), 1.0).is_err());
}

fn random_market(random: &mut Random, scale: u64) -> Market {
    let mut draw = |from: u64, to: u64| from + random.bits() % (to - from + 1);
    let reserve_base = draw(2 * scale, 5 * scale);
    let reserve_quote = draw(scale, 9 * scale);
    let side = if draw(0, 1) == 0 {
        BookSide::Bids
    } else {
        BookSide::Asks
    };
    let spot = Exact::new(reserve_quote.into(), reserve_base.into());
    let better = Exact::new((1_000 + draw(2, 25)).into(), 1_000.into());
    let mut price = match side {
        BookSide::Bids => spot * better,
        BookSide::Asks => spot / better,
    };
    let levels = (0..draw(1, 5)).map(|_| {
        let worse = Exact::new((1_000 + draw(0, 3)).into(), 1_000.into());
        price = match side {
            BookSide::Bids => price.clone() / worse,
            BookSide::Asks => price.clone() * worse,
        };
        Level {
            price: price.clone(),
            quantity: draw(scale / 500, scale / 60).into(),
        }
    });
    let levels = levels.collect();
    Market {
        side,
        reserve_base: reserve_base.into(),
        reserve_quote: reserve_quote.into(),
        pool_fee: Fee::bips(draw(0, 40)).unwrap(),
        convention: if draw(0, 1) == 0 {
            Convention::Floor
        } else {
            Convention::Circuit
        },
        levels,
        book_fee: Fee::bips(draw(0, 10)).unwrap(),
        order_fee: Fee::bips(draw(0, 3)).unwrap(),
    }
}

#[test]
fn the_whole_optimum_is_what_exhaustion_finds() {
    let mut random = Random::new(41);
    let (mut proven, mut earning) = (0, 0);
    for _ in 0..120 {
        let market = random_market(&mut random, 10_000);
        let found = market.whole_optimum(&units(1), 2_000).unwrap();
        let total: Amount = market.levels.iter().map(|level| &level.quantity).sum();
        let (mut best, mut amount, mut at) = (units(0), units(0), units(1));
        while at <= total {
            let profit = market.legs(&at).and_then(|legs| legs.profit());
            if let Some(profit) = profit.filter(|profit| *profit > best) {
                (best, amount) = (profit, at.clone());
            }
            at += 1_u8;
        }
        assert!(found.is_proven);
        assert_eq!(found.legs.profit().unwrap_or_default(), best, "{market:?}");
        assert_eq!(found.legs.base_on_book, amount, "{market:?}");
        proven += 1;
        earning += u32::from(best > units(0));
    }
    assert!(proven == 120 && earning > 40, "{earning}");
}

/// Large amounts cannot be searched exhaustively; the stated shortfall is small compared with the
/// turnover.
#[test]
fn large_amounts_state_their_shortfall() {
    let mut random = Random::new(42);
    let mut earning = 0;
    for _ in 0..60 {
        let market = random_market(&mut random, 10_u64.pow(18));
        let divisible = market.optimum().unwrap();
        let found = market.whole_optimum(&units(1), 64).unwrap();
        let profit = exact(&found.legs.profit().unwrap_or_default()).to_f64();
        let off = divisible.profit().max(0.0) - profit;
        assert!(
            off.abs() <= 1e-9 * divisible.cost.max(1e3) + 1e3,
            "{off} {divisible:?}"
        );
        assert!(off <= found.shortfall);
        earning += u32::from(profit > 0.0);
        // Lots: every amount is a multiple of the lot.
        let lot = units(10_u128.pow(13));
        let in_lots = market.whole_optimum(&lot, 64).unwrap().legs;
        assert_eq!(&in_lots.base_on_book % &lot, units(0));
        let in_lots = exact(&in_lots.profit().unwrap_or_default()).to_f64();
        assert!(in_lots <= profit + 1e6);
    }
    assert!(earning > 20, "{earning}");
}

/// No nearby amount has a higher profit than the divisible optimum.
#[test]
fn the_divisible_optimum_is_a_maximum() {
    let mut random = Random::new(43);
    for _ in 0..200 {
        let market = random_market(&mut random, 1_000_000);
        let best = market.optimum().unwrap();
        for factor in [0.0, 0.9, 0.999, 1.001, 1.1] {
            let total: Amount = market.levels.iter().map(|level| &level.quantity).sum();
            let other = market.of(best.base * factor);
            if other.base <= exact(&total).to_f64() * 0.99 {
                assert!(
                    other.profit() <= best.profit() + 1e-6,
                    "{market:?} {factor}"
                );
            }
        }
    }
}

#[test]
fn invalid_markets_are_refused() {
    let mut random = Random::new(44);
    let good = random_market(&mut random, 10_000);
    let mut empty = good.clone();
    empty.reserve_base = units(0);
    let mut free = good.clone();
    free.levels[0].price = Exact::zero();
    let mut unordered = good.clone();
    let first = unordered.levels[0].clone();
    unordered.levels.push(Level {
        price: &first.price * Exact::new(2.into(), 1.into()),
        ..first.clone()
    });
    unordered.levels.push(Level {
        price: &first.price / Exact::new(2.into(), 1.into()),
        ..first
    });
    for bad in [empty, free, unordered] {
        assert!(bad.optimum().is_err() && bad.whole_optimum(&units(1), 64).is_err());
    }
    assert!(
        good.whole_optimum(&units(0), 64).is_err() && good.whole_optimum(&units(1), 2).is_err()
    );
    assert!(Fee::bips(10_000).is_err());
    let none = Market {
        levels: Vec::new(),
        ..good
    };
    assert_eq!(
        none.whole_optimum(&units(1), 64).unwrap().legs,
        optimum::Legs::default()
    );
}

/// Every amount on the book is tried.
fn exhausted(market: &Market, base: u128) -> Option<Amount> {
    let all = (0..=base + 50).filter_map(|q| {
        let book = market.book_leg(&units(q))?;
        let quote = match market.side {
            BookSide::Asks if book.base >= units(base) => book.quote,
            BookSide::Asks => book.quote + market.buy_from_pool(&(units(base) - book.base))?.0,
            BookSide::Bids if q > base => return None,
            BookSide::Bids => book.quote + market.sell_to_pool(&units(base - q))?.1,
        };
        Some(quote)
    });
    match market.side {
        BookSide::Asks => all.min(),
        BookSide::Bids => all.max(),
    }
}

#[test]
fn a_route_is_within_roundings_of_the_best_and_never_worse_than_one_venue() {
    let mut random = Random::new(45);
    let mut split = 0;
    for _ in 0..60 {
        let market = random_market(&mut random, 10_000);
        let base = 50 + u128::from(random.bits() % 600);
        let found = market.route(&units(base), &units(1)).unwrap().unwrap();
        let best = exhausted(&market, base).unwrap();
        let off = exact(&found.quote).to_f64() - exact(&best).to_f64();
        assert!(off.abs() <= 12.0, "{off} {market:?}");
        let Route {
            base_on_book,
            base_in_pool,
            ..
        } = &found;
        split += u32::from(*base_on_book > units(0) && *base_in_pool > units(0));
        let pool = match market.side {
            BookSide::Asks => market.buy_from_pool(&units(base)).unwrap().0,
            BookSide::Bids => market.sell_to_pool(&units(base)).unwrap().1,
        };
        let alone = market.book_leg(&units(base)).map(|leg| leg.quote);
        match market.side {
            BookSide::Asks => assert!(found.quote <= pool),
            BookSide::Bids => {
                assert!(found.quote >= pool && alone.is_none_or(|alone| found.quote >= alone));
            }
        }
    }
    assert!(split > 10, "{split}");
}

#[test]
fn an_amount_beyond_both_venues_has_no_route_and_leg_risk_is_positive() {
    let mut random = Random::new(46);
    let market = Market {
        side: BookSide::Asks,
        ..random_market(&mut random, 10_000)
    };
    let market = Market {
        levels: Vec::new(),
        ..market
    };
    let all = &market.reserve_base + 1_u8;
    assert_eq!(market.route(&all, &units(1)).unwrap(), None);
    assert!(market.route(&units(0), &units(1)).is_err());
    assert!(market.route(&units(1), &units(0)).is_err());
    let risk = leg_risk(&units(1_000), 2.0, 0.001, 4.0, 2.5).unwrap();
    assert!((risk - 10.0).abs() < 1e-12);
    assert!(leg_risk(&units(1), f64::NAN, 0.1, 1.0, 1.0).is_err());
}
