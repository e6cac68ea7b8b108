#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
use super::*;

fn n(number: u128) -> U256 {
    U256::from(number)
}

fn range(lower: i32, upper: i32) -> Range {
    Range::new(Tick::new(lower).unwrap(), Tick::new(upper).unwrap()).unwrap()
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // Numerical Recipes' linear congruential generator.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn tick(&mut self, away: i32) -> i32 {
        i32::try_from(self.below(2 * u64::from(away.unsigned_abs()) + 1)).unwrap() - away
    }
}

#[test]
fn amounts_are_those_of_the_published_tests() {
    // SqrtPriceMath.spec.ts of v3-core: liquidity of 10¹⁸ between the prices 1 and 1.21.
    let root = |token1, token0| sqrt_price_of(n(token1), n(token0)).unwrap();
    let between = [root(1, 1), root(121, 100)];
    let liquidity = 10_u128.pow(18);
    let of0 = |rounding| amount0(between, liquidity, rounding).unwrap();
    assert_eq!(of0(Rounding::Up), n(90_909_090_909_090_910));
    assert_eq!(of0(Rounding::Down), n(90_909_090_909_090_909));
    let of1 = |rounding| amount1(between, liquidity, rounding).unwrap();
    assert_eq!(of1(Rounding::Up), n(100_000_000_000_000_000));
    assert_eq!(of1(Rounding::Down), n(99_999_999_999_999_999));
}

#[test]
fn liquidity_is_that_of_the_published_tests() {
    // LiquidityAmounts.spec.ts of v3-periphery: 100 and 200 between the prices 100/110 and 110/100.
    let root = |token1, token0| sqrt_price_of(n(token1), n(token0)).unwrap();
    let [lower, upper] = [root(100, 110), root(110, 100)];
    let amounts = [n(100), n(200)];
    let price = root(1, 1);
    let both = [
        liquidity0([price, upper], amounts[0]).unwrap(),
        liquidity1([lower, price], amounts[1]).unwrap(),
    ];
    assert_eq!(both[0].min(both[1]), 2_148);
    assert_eq!(liquidity0([lower, upper], amounts[0]), Ok(1_048));
    assert_eq!(liquidity1([lower, upper], amounts[1]), Ok(2_097));
}

#[test]
fn outside_of_the_range_all_is_one_token() {
    let range = range(-600, 1_200);
    let [lower, upper] = range.ends();
    let of = |price: U256| range.amounts(price, 1 << 80, Rounding::Down).unwrap();
    for price in [lower, lower - n(1), crate::v3::tick::MIN.sqrt_price()] {
        let [first, second] = of(price);
        assert!(first > U256::ZERO && second == U256::ZERO, "{price}");
        assert_eq!(of(price), of(lower), "it does not change any more");
    }
    for price in [upper, upper + n(1)] {
        let [first, second] = of(price);
        assert!(first == U256::ZERO && second > U256::ZERO, "{price}");
        assert_eq!(of(price), of(upper));
    }
    let [first, second] = of(lower + n(1_000_000_000_000_000_000));
    assert!(first > U256::ZERO && second > U256::ZERO);
    // One-sided liquidity needs the one token only, and none is minted for the other.
    assert!(range.liquidity(lower, [n(1_000_000), U256::ZERO]).unwrap() > 0);
    assert_eq!(range.liquidity(upper, [n(1_000_000), U256::ZERO]), Ok(0));
    assert_eq!(range.liquidity(lower, [U256::ZERO, n(1_000_000)]), Ok(0));
    assert!(range.liquidity(upper, [U256::ZERO, n(1_000_000)]).unwrap() > 0);
}

/// What liquidity costs is enough for it, what it is due never is more than it cost, and both are within a unit of the
/// exact amounts.
#[test]
fn roundings_are_against_the_provider() {
    let mut numbers = Numbers(7);
    for _ in 0..2_000 {
        let (lower, width) = (numbers.tick(300_000), numbers.below(40_000) + 1);
        let upper = lower + i32::try_from(width).unwrap();
        let range = range(lower, upper);
        let near = lower + numbers.tick(50_000);
        let price = Tick::new(near).unwrap().sqrt_price() + n(numbers.below(1 << 20).into());
        let liquidity = u128::from(numbers.next()) << numbers.below(40);
        let cost = range.amounts(price, liquidity, Rounding::Up).unwrap();
        let due = range.amounts(price, liquidity, Rounding::Down).unwrap();
        for at in 0..2 {
            let above = cost[at] - due[at];
            assert!(above <= n(1), "{lower} {upper} {near} {liquidity}");
        }
        // The contract's own rounding mints less by less than a part in 2³¹ of the exact liquidity, and one.
        let minted = range.liquidity(price, cost).unwrap();
        let lost = liquidity.saturating_sub(minted);
        assert!(lost <= (liquidity >> 31) + 1, "{liquidity} {minted}");
        // Nothing that is minted costs more than was given for it.
        let paid = range.amounts(price, minted, Rounding::Up).unwrap();
        assert!(paid[0] <= cost[0] && paid[1] <= cost[1]);
    }
}

#[test]
fn a_range_has_a_width() {
    let tick = |number| Tick::new(number).unwrap();
    assert_eq!(Range::new(tick(5), tick(5)), Err(Malformed::Range));
    assert_eq!(Range::new(tick(6), tick(5)), Err(Malformed::Range));
    assert!(Range::new(tick(4), tick(5)).is_ok());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let [low, high] = range(-887_272, 887_272).ends();
    assert_eq!(
        amount0([U256::ZERO, high], 1, Rounding::Down),
        Err(Malformed::Range)
    );
    assert_eq!(
        amount0([high, low], 1, Rounding::Down),
        Err(Malformed::Range)
    );
    assert_eq!(
        amount1([high, low], 1, Rounding::Down),
        Err(Malformed::Range)
    );
    assert_eq!(
        mul_div(U256::MAX, n(2), n(1), Rounding::Down),
        Err(Malformed::Range)
    );
    assert_eq!(
        mul_div(n(1), n(1), n(0), Rounding::Up),
        Err(Malformed::Range)
    );
    assert_eq!(mul_div(U256::MAX, n(2), n(2), Rounding::Up), Ok(U256::MAX));
    assert_eq!(
        liquidity1([low, low + n(1)], U256::MAX),
        Err(Malformed::Range)
    );
    assert_eq!(virtual_reserves(U256::ZERO, 1), Err(Malformed::Range));
    assert!(amount0([low, high], u128::MAX, Rounding::Up).is_ok());
}

#[test]
fn virtual_reserves_have_the_price_and_the_product() {
    let price = Tick::new(-196_000).unwrap().sqrt_price();
    let liquidity = 1_u128 << 90;
    let [first, second] = virtual_reserves(price, liquidity).unwrap();
    let product = U512::from(first) * U512::from(second);
    let square = U512::from(liquidity) * U512::from(liquidity);
    assert!(product <= square);
    // Each is rounded down by less than one.
    let upper = (U512::from(first) + U512::from(1)) * (U512::from(second) + U512::from(1));
    assert!(upper > square);
}

#[test]
fn roots_of_prices_are_rounded_down() {
    assert_eq!(sqrt_price_of(n(1), n(1)), Ok(n(1 << 96)));
    assert_eq!(sqrt_price_of(n(4), n(1)), Ok(n(1 << 97)));
    // SqrtPriceMath.spec.ts of v3-core: encodePriceSqrt(121, 100).
    let found = sqrt_price_of(n(121), n(100));
    assert_eq!(found, Ok(n(87_150_978_765_690_771_352_898_345_369)));
    assert_eq!(sqrt_price_of(n(0), n(1)), Ok(U256::ZERO));
    assert_eq!(sqrt_price_of(n(1), n(0)), Err(Malformed::Range));
    assert!(sqrt_price_of(U256::MAX, n(1)).is_ok());
    for number in (0..3_000_u64).chain([u64::MAX]) {
        let (root, number) = (root_of(U512::from(number)), U512::from(number));
        let next = root + U512::from(1);
        assert!(root * root <= number && next * next > number);
    }
}

#[test]
fn prices_after_a_trade_are_those_of_the_published_tests() {
    // SqrtPriceMath.spec.ts of v3-core: 0.1 of a token into liquidity of 1, at the price 1.
    let (one, tenth) = (10_u128.pow(18), 10_u128.pow(17));
    let from = n(1 << 96);
    let after = price_after_amount1(from, one, tenth);
    assert_eq!(after, Ok(n(87_150_978_765_690_771_352_898_345_369)));
    let after = price_after_amount0(from, one, tenth);
    assert_eq!(after, Ok(n(72_025_602_285_694_852_357_767_227_579)));
    // The amount takes the price to where the liquidity is due just that amount.
    let taken = amount0([after.unwrap(), from], one, Rounding::Up);
    assert_eq!(taken, Ok(n(tenth)));
    assert_eq!(price_after_amount0(from, 0, 1), Err(Malformed::Range));
    assert_eq!(price_after_amount1(from, 0, 1), Err(Malformed::Range));
    assert_eq!(price_after_amount0(from, 1, 0), Ok(from));
    assert_eq!(price_after_amount1(U256::MAX, 1, 1), Err(Malformed::Range));
    assert!(price_after_amount0(U256::from(1) << 160, u128::MAX, u128::MAX).is_ok());
}
