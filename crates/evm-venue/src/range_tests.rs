#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
use super::*;
use cambist_core::shares;
use cambist_evm::v3::tick::Tick;

pub(crate) fn range_of(lower: i32, upper: i32) -> PoolRange {
    let tick = |number| Tick::new(number).unwrap();
    PoolRange {
        fee: 3_000,
        spacing: 60,
        range: Range::new(tick(lower), tick(upper)).unwrap(),
        held: Held::Nothing,
    }
}

fn at(tick: i32) -> U256 {
    Tick::new(tick).unwrap().sqrt_price()
}

#[test]
fn shares_are_due_and_cost_what_the_contract_computes() {
    let mut number = 5_u64;
    let mut next = || {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        number >> 16
    };
    // Tokens of equal decimals, and of 18 and 6.
    for (lower, upper) in [
        (-600, 1_200),
        (-198_000, -194_400),
        (-60, 60),
        (180_000, 260_040),
    ] {
        let range = range_of(lower, upper);
        for _ in 0..500 {
            let width = u64::try_from(upper - lower).unwrap();
            let tick = lower - 2_000 + i32::try_from(next() % (width + 4_000)).unwrap();
            let price = at(tick) + U256::from(next() % (1 << 20));
            let liquidity = Amount::from(next()) << (next() % 24);
            let balances = range.balances(price).unwrap();
            let due = shares::due(&balances, liquidity).unwrap();
            let contract = range
                .range
                .amounts(price, liquidity, Rounding::Down)
                .unwrap();
            assert_eq!(due.map(U256::from), contract, "{tick} {liquidity}");
            let cost = shares::join(&balances, liquidity, 0).unwrap().amounts;
            let contract = range.range.amounts(price, liquidity, Rounding::Up).unwrap();
            assert_eq!(cost.map(U256::from), contract, "{tick} {liquidity}");
        }
    }
}

/// A range over all prices: its virtual reserves are fine enough for a price within 2⁻⁶⁴ and 2⁶⁴, and not far beyond.
#[test]
fn a_range_over_all_prices_states_those_of_cheap_tokens() {
    let range = range_of(-887_220, 887_220);
    let root = |bits: usize| U256::from(1) << bits;
    for bits in [96 - 32, 96, 96 + 32] {
        let balances = range.balances(root(bits)).unwrap();
        assert!(balances.reserves.iter().all(|reserve| *reserve >= 1 << 19));
    }
    for bits in [96 - 34, 96 + 34] {
        assert_eq!(range.balances(root(bits)), Err(Malformed::Range));
    }
}

#[test]
fn outside_of_the_range_one_token_is_due_and_the_price_is_known() {
    let range = range_of(-600, 600);
    let below = range.balances(at(-601)).unwrap();
    assert!(below.pooled[0] > 0 && below.pooled[1] == 0);
    let above = range.balances(at(600)).unwrap();
    assert!(above.pooled[0] == 0 && above.pooled[1] > 0);
    for (balances, tick) in [(below, -601), (above, 600)] {
        let [first, second] = balances.reserves.map(number);
        let price = second / first / 1.0001_f64.powi(tick);
        assert!((price - 1.0).abs() < 1e-9, "{tick}: {price}");
    }
    // At the ends themselves.
    assert_eq!(range.balances(at(-600)).unwrap().pooled[1], 0);
    assert!(
        range
            .balances(at(-600) + (U256::from(1) << 60))
            .unwrap()
            .pooled[1]
            > 0
    );
    assert!(range.balances(at(599)).unwrap().pooled[0] > 0);
    // So far away that a price would be a coarse one.
    assert!(range.balances(at(-887_271)).is_err());
    assert!(range.balances(at(800_000)).is_err());
    assert_eq!(
        below.supply, above.supply,
        "it does not change with the price"
    );
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a price needs no more than 53 bits"
)]
fn number(amount: Amount) -> f64 {
    amount as f64
}

/// What the position manager does with a join: the liquidity for the most that may be paid, and what it costs.
fn executed(range: &PoolRange, price: U256, most: [Amount; 2]) -> ([U256; 2], Amount) {
    let liquidity = range.range.liquidity(price, most.map(U256::from)).unwrap();
    let paid = range.range.amounts(price, liquidity, Rounding::Up).unwrap();
    (paid, liquidity)
}

/// The least payments hold for the prices at which the least liquidity is minted, and for no other.
#[test]
fn least_payments_are_the_least_liquidity() {
    let range = range_of(-6_000, 12_000);
    let (wanted, tokens) = (10_u128.pow(18), [-9_000, -6_000, 1_500, 11_000, 12_000]);
    for tick in tokens {
        let most = shares::join(&range.balances(at(tick)).unwrap(), wanted, 100).unwrap();
        let least = range.least_payments(most.amounts, most.lp).unwrap();
        let (paid, minted) = executed(&range, at(tick), most.amounts);
        assert!(paid[0] >= least[0] && paid[1] >= least[1], "{tick}");
        assert!(minted >= most.lp, "{tick}");
        let (mut kept, mut missed) = (0, 0);
        for away in -300..=300 {
            let (paid, minted) = executed(&range, at(tick + away), most.amounts);
            let is_taken = minted > 0 && paid[0] >= least[0] && paid[1] >= least[1];
            assert_eq!(is_taken, minted >= most.lp, "{tick} {away}: {minted}");
            kept += u32::from(is_taken);
            missed += u32::from(!is_taken);
        }
        assert!(kept > 0, "{tick}");
        let is_inside = (-6_000..12_000).contains(&tick);
        assert!(missed > 0 || !is_inside, "{tick}");
    }
    assert!(range.least_payments([1, 1], 0).is_err());
}
