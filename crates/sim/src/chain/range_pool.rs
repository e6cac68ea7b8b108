//! A Uniswap V3 pool, as its contracts compute: a second implementation, which shares nothing with the arithmetic of
//! `cambist-evm` and of the adapter. Each amount is one fraction of 512 bits that is rounded once, roots of prices are
//! powers of 1.0001 with 240 bits, and each range counts its own fees. Sources: `UniswapV3Pool.sol`, `SwapMath.sol`,
//! `SqrtPriceMath.sol`, `TickMath.sol`, `LiquidityAmounts.sol`.
//!
//! The first token has 18 decimals and the second 6, so that ticks of this pool are below 0.

use std::sync::LazyLock;

use cambist_evm::{U256, U512 as Wide};

/// Bits behind the point of powers.
const POWER_BITS: usize = 240;
/// Bits behind the point of roots of prices.
const ROOT_BITS: usize = 96;
/// Bits behind the point of fees for one of liquidity.
const GROWTH_BITS: usize = 128;
/// Fees are in millionths.
const WHOLE: u32 = 1_000_000;
/// Ticks of this pool.
const TICKS: [i32; 2] = [-300_000, -1];
/// Most ranges with liquidity.
const RANGES_MAX: usize = 10;

/// 10,000 / 10,001 to the power of 1, 2, 4 and so on.
static POWERS: LazyLock<[Wide; 20]> = LazyLock::new(|| {
    let one: Wide = Wide::from(1) << POWER_BITS;
    let mut power: Wide = one * Wide::from(10_000) / Wide::from(10_001);
    std::array::from_fn(|_| {
        let this = power;
        power = (power * power) >> POWER_BITS;
        this
    })
});

/// The root, rounded down, of a number below 2^194.
fn root(number: Wide) -> Wide {
    let (mut low, mut high): (Wide, Wide) = (Wide::ZERO, Wide::from(1) << 97);
    while high - low > Wide::from(1) {
        let middle: Wide = (low + high) >> 1;
        if middle * middle <= number {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn narrow(number: Wide) -> U256 {
    U256::from_limbs_slice(&number.as_limbs()[..4])
}

fn wide(number: U256) -> Wide {
    Wide::from(number)
}

fn small(number: U256) -> Option<u128> {
    u128::try_from(number).ok()
}

/// The root of the price at a tick that is not above 0, rounded up.
pub(crate) fn root_at(tick: i32) -> U256 {
    let steps = tick.unsigned_abs();
    let mut price: Wide = Wide::from(1) << POWER_BITS;
    for (bit, power) in POWERS.iter().enumerate() {
        if (steps >> bit) & 1 == 1 {
            price = (price * *power) >> POWER_BITS;
        }
    }
    let square: Wide = price >> (POWER_BITS - 2 * ROOT_BITS);
    let below = root(square);
    let is_exact = below * below == square;
    narrow(if is_exact {
        below
    } else {
        below + Wide::from(1)
    })
}

/// The root of the price at which these amounts are worth the same.
pub(crate) fn root_of([first, second]: [u128; 2]) -> U256 {
    let price: Wide = (Wide::from(second) << (2 * ROOT_BITS)) / Wide::from(first);
    narrow(root(price))
}

/// A root whose price is `parts` of `whole` of that of another.
pub(crate) fn part_of(of: U256, parts: u128, whole: u128) -> U256 {
    let price = wide(of) * wide(of) * Wide::from(parts) / Wide::from(whole);
    narrow(root(price))
}

/// The highest tick whose root is not above this one.
pub(crate) fn tick_at(sqrt_price: U256) -> i32 {
    let [mut low, mut high] = TICKS;
    while high - low > 1 {
        let middle = low.midpoint(high);
        if root_at(middle) <= sqrt_price {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// A number as a fraction.
#[derive(Clone, Copy)]
struct Fraction {
    above: Wide,
    below: Wide,
}

impl Fraction {
    fn floor(self) -> U256 {
        narrow(self.above / self.below)
    }

    fn ceil(self) -> U256 {
        narrow((self.above + self.below - Wide::from(1)) / self.below)
    }
}

/// Both tokens of liquidity between two roots, the lower one first.
fn between([low, high]: [U256; 2], liquidity: u128) -> [Fraction; 2] {
    let liquidity = Wide::from(liquidity);
    let width = wide(high - low);
    [
        Fraction {
            above: (liquidity << ROOT_BITS) * width,
            below: wide(high) * wide(low),
        },
        Fraction {
            above: liquidity * width,
            below: Wide::from(1) << ROOT_BITS,
        },
    ]
}

/// Liquidity of one owner in one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Provided {
    ticks: [i32; 2],
    /// Roots of the prices at both ends.
    roots: [U256; 2],
    /// Whether it is the position manager's: one for all of its positions in the range.
    is_managed: bool,
    liquidity: u128,
    /// Fees for one of liquidity while the price was in the range.
    growth: [U256; 2],
    /// Of them, those that are in `owed`.
    counted: [U256; 2],
    owed: [u128; 2],
}

impl Provided {
    const fn is_at(&self, tick: i32) -> bool {
        self.ticks[0] <= tick && tick < self.ticks[1]
    }

    fn count(&mut self) -> Option<()> {
        let earned = earned(self.liquidity, self.growth, self.counted)?;
        self.owed = sum(self.owed, earned)?;
        self.counted = self.growth;
        Some(())
    }
}

/// What liquidity has earned of both tokens since `before`, rounded down.
pub(crate) fn earned(liquidity: u128, growth: [U256; 2], before: [U256; 2]) -> Option<[u128; 2]> {
    let of = |at: usize| {
        let grown = wide(growth[at] - before[at]) * Wide::from(liquidity);
        small(narrow(grown >> GROWTH_BITS))
    };
    Some([of(0)?, of(1)?])
}

/// The sum by token.
pub(crate) fn sum(one: [u128; 2], other: [u128; 2]) -> Option<[u128; 2]> {
    Some([one[0].checked_add(other[0])?, one[1].checked_add(other[1])?])
}

/// The pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangePool {
    /// The root of the price, with 96 bits behind the point.
    pub sqrt_price: U256,
    /// Its tick: one less at an end of a range that the price came down to.
    pub tick: i32,
    /// In millionths of what is sold to it.
    pub fee: u32,
    /// Ends of ranges are multiples of this.
    pub spacing: i32,
    provided: [Option<Provided>; RANGES_MAX],
}

impl RangePool {
    /// A pool without liquidity.
    pub(crate) fn new(sqrt_price: U256, fee: u32, spacing: i32) -> Self {
        Self {
            sqrt_price,
            tick: tick_at(sqrt_price),
            fee,
            spacing,
            provided: [None; RANGES_MAX],
        }
    }

    fn all(&self) -> impl Iterator<Item = &Provided> {
        self.provided.iter().flatten()
    }

    fn of(&mut self, ticks: [i32; 2], is_managed: bool) -> Option<&mut Provided> {
        let mut all = self.provided.iter_mut().flatten();
        all.find(|of| (of.ticks, of.is_managed) == (ticks, is_managed))
    }

    /// Liquidity at the price.
    pub(crate) fn active(&self) -> u128 {
        let inside = self.all().filter(|of| of.is_at(self.tick));
        inside.map(|of| of.liquidity).sum()
    }

    /// Ends of ranges with liquidity.
    pub(crate) fn ends(&self) -> impl Iterator<Item = i32> {
        let filled = self.all().filter(|of| of.liquidity > 0);
        filled.flat_map(|of| of.ticks)
    }

    /// The liquidity that begins and the liquidity that ends at a tick.
    pub(crate) fn changes_at(&self, tick: i32) -> [u128; 2] {
        [0, 1].map(|end| {
            let there = self.all().filter(|of| of.ticks[end] == tick);
            there.map(|of| of.liquidity).sum()
        })
    }

    /// Fees for one of the position manager's liquidity in a range.
    pub(crate) fn growth(&self, ticks: [i32; 2]) -> [U256; 2] {
        let mut all = self.all();
        let of = all.find(|of| of.ticks == ticks && of.is_managed);
        of.map_or([U256::ZERO; 2], |of| of.growth)
    }

    /// What the virtual reserves of the liquidity at the price are, rounded down.
    pub(crate) fn virtual_reserves(&self) -> [U256; 2] {
        let liquidity: U256 = U256::from(self.active());
        [
            (liquidity << ROOT_BITS) / self.sqrt_price,
            narrow((wide(liquidity) * wide(self.sqrt_price)) >> ROOT_BITS),
        ]
    }

    /// Where the price is within a range, as the end of what is below it and the beginning of what is above it.
    fn sides(&self, [lower, upper]: [U256; 2]) -> [[U256; 2]; 2] {
        let at = self.sqrt_price.clamp(lower, upper);
        [[at, upper], [lower, at]]
    }

    fn due(&self, roots: [U256; 2], liquidity: u128) -> [Fraction; 2] {
        let [above, below] = self.sides(roots);
        [between(above, liquidity)[0], between(below, liquidity)[1]]
    }

    /// The most liquidity in a range for these amounts.
    pub(crate) fn liquidity_for(&self, ticks: [i32; 2], most: [U256; 2]) -> Option<u128> {
        let roots = ticks.map(root_at);
        let [above, below] = self.sides(roots);
        let of_first = |[low, high]: [U256; 2]| {
            // The contract rounds here as well.
            let product: Wide = (wide(low) * wide(high)) >> ROOT_BITS;
            wide(most[0]) * product / wide(high - low)
        };
        let of_second = |[low, high]: [U256; 2]| (wide(most[1]) << ROOT_BITS) / wide(high - low);
        let first = (above[0] < above[1]).then(|| of_first(above));
        let second = (below[0] < below[1]).then(|| of_second(below));
        let least = [first, second].into_iter().flatten().min()?;
        u128::try_from(least).ok()
    }

    /// Whether these may be the ends of a range.
    pub(crate) fn takes(&self, ticks: [i32; 2]) -> bool {
        let [lowest, highest] = TICKS;
        let fits = |tick: &i32| tick % self.spacing == 0 && (lowest..=highest).contains(tick);
        ticks[0] < ticks[1] && ticks.iter().all(fits)
    }

    /// Liquidity is paid in: what it costs, rounded up. `None`: reverted.
    pub(crate) fn mint(
        &mut self,
        ticks: [i32; 2],
        is_managed: bool,
        liquidity: u128,
    ) -> Option<[u128; 2]> {
        if liquidity == 0 || !self.takes(ticks) {
            return None;
        }
        let roots = ticks.map(root_at);
        if self.of(ticks, is_managed).is_none() {
            let place = self.provided.iter_mut().find(|place| place.is_none())?;
            *place = Some(Provided {
                ticks,
                roots,
                is_managed,
                liquidity: 0,
                growth: [U256::ZERO; 2],
                counted: [U256::ZERO; 2],
                owed: [0; 2],
            });
        }
        let [first, second] = self.due(roots, liquidity).map(Fraction::ceil);
        let of = self.of(ticks, is_managed)?;
        of.count()?;
        of.liquidity = of.liquidity.checked_add(liquidity)?;
        Some([small(first)?, small(second)?])
    }

    /// Liquidity of the position manager is taken out, and with 0 only fees are counted: what it is due, rounded down,
    /// which is owed from then on. `None`: reverted.
    pub(crate) fn burn(&mut self, ticks: [i32; 2], liquidity: u128) -> Option<[u128; 2]> {
        let roots = self.of(ticks, true)?.roots;
        let [first, second] = self.due(roots, liquidity).map(Fraction::floor);
        let due = [small(first)?, small(second)?];
        let of = self.of(ticks, true)?;
        if of.liquidity == 0 {
            return None;
        }
        of.count()?;
        of.liquidity = of.liquidity.checked_sub(liquidity)?;
        of.owed = sum(of.owed, due)?;
        Some(due)
    }

    /// What is owed to the position manager in a range is paid out, and at most this.
    pub(crate) fn collect(&mut self, ticks: [i32; 2], most: [u128; 2]) -> Option<[u128; 2]> {
        let of = self.of(ticks, true)?;
        let paid = [0, 1].map(|at| of.owed[at].min(most[at]));
        for (owed, paid) in of.owed.iter_mut().zip(paid) {
            *owed -= paid;
        }
        Some(paid)
    }

    /// The next end of a range in the direction of a price that falls or rises.
    fn next_end(&self, falls: bool) -> Option<i32> {
        if falls {
            self.ends().filter(|end| *end <= self.tick).max()
        } else {
            self.ends().filter(|end| *end > self.tick).min()
        }
    }

    /// The root of the price after so much of a token was sold to this liquidity.
    fn after(&self, sold_at: usize, sold: U256, liquidity: u128) -> U256 {
        let (from, liquidity) = (wide(self.sqrt_price), Wide::from(liquidity));
        if sold_at == 1 {
            let more = (wide(sold) << ROOT_BITS) / liquidity;
            return self.sqrt_price + narrow(more);
        }
        let shifted: Wide = liquidity << ROOT_BITS;
        let price = Fraction {
            above: shifted * from,
            below: shifted + wide(sold) * from,
        };
        price.ceil()
    }

    /// Others sell so much of a token, until the root of the price is this one.
    pub(crate) fn swap(&mut self, sold_at: usize, sold: U256, limit: U256) {
        let falls = sold_at == 0;
        let is_open = |price: U256| if falls { price > limit } else { price < limit };
        let mut left = sold;
        let kept = U256::from(WHOLE - self.fee);
        while left > U256::ZERO && is_open(self.sqrt_price) {
            let end = self.next_end(falls).map(|tick| (tick, root_at(tick)));
            let target = match end {
                Some((_, root)) if is_open(root) => root,
                _ => limit,
            };
            let active = self.active();
            let paid_until = |to: U256| {
                let (low, high) = (self.sqrt_price.min(to), self.sqrt_price.max(to));
                between([low, high], active)[sold_at].ceil()
            };
            let (all, after_fee) = (paid_until(target), left * kept / U256::from(WHOLE));
            let (to, paid, fee) = if after_fee >= all {
                let fee = (all * U256::from(self.fee)).div_ceil(kept);
                (target, all, fee)
            } else {
                let to = self.after(sold_at, after_fee, active);
                let paid = paid_until(to);
                (to, paid, left - paid)
            };
            left = left.saturating_sub(paid + fee);
            self.earn(sold_at, fee, active);
            let is_moved = to != self.sqrt_price;
            self.sqrt_price = to;
            match end {
                Some((tick, root)) if to == root => self.tick = tick - i32::from(falls),
                _ if is_moved => self.tick = tick_at(to),
                _ => {}
            }
        }
    }

    /// A fee is shared by the liquidity at the price.
    fn earn(&mut self, token: usize, fee: U256, active: u128) {
        if active == 0 {
            return;
        }
        let grown = narrow((wide(fee) << GROWTH_BITS) / Wide::from(active));
        let tick = self.tick;
        let inside = self.provided.iter_mut().flatten();
        for of in inside.filter(|of| of.is_at(tick)) {
            of.growth[token] += grown;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use cambist_evm::v3::liquidity::{Range, Rounding};
    use cambist_evm::v3::tick::Tick;

    /// What both implementations compute is what the contracts do.
    #[test]
    fn roots_are_those_of_the_contracts() {
        for tick in (-300_000..=0).step_by(997).chain([-198_080, -60, -1]) {
            let root = Tick::new(tick).unwrap().sqrt_price();
            assert_eq!(root_at(tick), root, "{tick}");
            if tick < TICKS[1] && tick > TICKS[0] {
                assert_eq!(tick_at(root), tick);
                assert_eq!(tick_at(root - U256::from(1)), tick - 1);
            }
        }
        assert_eq!(part_of(root_at(0), 1, 4), root_at(0) >> 1);
        assert_eq!(root_of([4, 1]), root_at(0) >> 1);
    }

    fn pool() -> RangePool {
        let mut pool = RangePool::new(root_at(-198_080), 3_000, 60);
        pool.mint([-228_000, -168_000], false, 40_000_000_000_000_000)
            .unwrap();
        pool
    }

    #[test]
    fn liquidity_and_its_cost_are_those_of_the_contracts() {
        let range = |[lower, upper]: [i32; 2]| {
            Range::new(Tick::new(lower).unwrap(), Tick::new(upper).unwrap()).unwrap()
        };
        for (ticks, price) in [
            ([-198_120, -198_060], -198_080),
            ([-198_120, -198_060], -198_060),
            ([-198_120, -198_060], -198_120),
            ([-198_120, -198_060], -199_000),
            ([-198_120, -198_060], -197_000),
            ([-203_160, -193_020], -198_080),
        ] {
            let mut pool = pool();
            pool.sqrt_price = root_at(price);
            pool.tick = price;
            let most = [3_000_000_000_000_000_001, 7_000_000_001].map(U256::from::<u64>);
            let range = range(ticks);
            let liquidity = pool.liquidity_for(ticks, most).unwrap();
            assert_eq!(range.liquidity(pool.sqrt_price, most), Ok(liquidity));
            let cost = pool.mint(ticks, true, liquidity).unwrap().map(U256::from);
            let expected = range.amounts(pool.sqrt_price, liquidity, Rounding::Up);
            assert_eq!(Ok(cost), expected);
            let due = pool.burn(ticks, liquidity).unwrap().map(U256::from);
            let expected = range.amounts(pool.sqrt_price, liquidity, Rounding::Down);
            assert_eq!(Ok(due), expected);
            assert_eq!(pool.burn(ticks, 0), None, "nothing is left");
        }
    }

    #[test]
    fn a_range_earns_while_the_price_is_in_it_and_is_due_one_token_outside() {
        let mut pool = pool();
        let ticks = [-198_120, -198_060];
        let liquidity = 40_000_000_000_000_000;
        pool.mint(ticks, true, liquidity).unwrap();
        assert_eq!(pool.active(), 2 * liquidity);
        assert_eq!(pool.changes_at(-198_060), [0, liquidity]);
        // Base is sold until the price is below the range.
        pool.swap(0, U256::from(10_u128.pow(20)), root_at(-198_300));
        assert_eq!((pool.sqrt_price, pool.tick), (root_at(-198_300), -198_300));
        assert_eq!(pool.active(), liquidity);
        assert_eq!(pool.burn(ticks, liquidity / 2).unwrap()[1], 0);
        let first = pool.collect(ticks, [u128::MAX; 2]).unwrap();
        assert_eq!(first[1], 0, "only base was sold");
        let due = between(ticks.map(root_at), liquidity / 2)[0].floor();
        let fee = first[0] - small(due).unwrap();
        let sold = between([root_at(-198_120), root_at(-198_080)], liquidity)[0].ceil();
        // 0.3 % on top of what was sold, within a unit of each rounding.
        let expected = small(sold * U256::from(3) / U256::from(997)).unwrap();
        assert!(fee.abs_diff(expected) <= 3, "{fee} {expected}");
        // And back through it, to the other side.
        pool.swap(1, U256::from(10_u128.pow(13)), root_at(-197_000));
        assert_eq!(pool.tick, -197_000);
        assert_eq!(pool.burn(ticks, liquidity / 2).unwrap()[0], 0);
        let second = pool.collect(ticks, [u128::MAX; 2]).unwrap();
        assert!(second[1] > 0 && second[0] == 0, "{second:?}");
        assert_eq!(pool.collect(ticks, [u128::MAX; 2]), Some([0, 0]));
    }

    #[test]
    fn the_tick_of_an_end_that_the_price_came_down_to_is_one_less() {
        let mut pool = pool();
        pool.mint([-198_120, -198_060], true, 1_000_000).unwrap();
        pool.swap(0, U256::from(10_u128.pow(20)), root_at(-198_120));
        assert_eq!((pool.sqrt_price, pool.tick), (root_at(-198_120), -198_121));
        pool.swap(1, U256::from(1_000), root_at(-197_000));
        assert!(pool.tick >= -198_121 && pool.sqrt_price >= root_at(-198_120));
        let held = pool;
        pool.swap(1, U256::from(1_000), root_at(-198_200));
        assert_eq!(pool, held, "a limit on the other side");
    }
}
