//! Where the money of one market came from, exactly.
//!
//! Equity is the base held, valued at the mid, plus the quote that flowed. Every change of it is one of
//! three: **spread**, what a fill's price was better than the mid at that moment; **inventory**, what
//! the mid's moves did to what was held; **fees**, negative, valued at the mid when booked. Their sum
//! is the change of equity, to the last digit.
//!
//! The unit of all sums is `1 / denominator` quote base units: base units times half ticks times the
//! market's scale are whole numbers of it, so nothing is ever rounded here.

use cambist_core::note::Fill;
use cambist_core::{Amount, MarketSpec, Side};

use crate::money::{Money, greatest_divisor};

/// Profit and loss by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// Fill prices against the mid.
    pub spread: Money,
    /// Moves of the mid against what was held, the opening holding included.
    pub inventory: Money,
    /// Fees; negative.
    pub fees: Money,
    /// Equity now less equity at the opening.
    pub total: Money,
}

impl Attribution {
    /// Part by part. `None` when it cannot be counted.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            spread: self.spread.checked_add(other.spread)?,
            inventory: self.inventory.checked_add(other.inventory)?,
            fees: self.fees.checked_add(other.fees)?,
            total: self.total.checked_add(other.total)?,
        })
    }
}

/// Signed flows that wait for the first mid.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    base: i128,
    quote: i128,
    fee_base: i128,
    fee_quote: i128,
}

impl Flow {
    fn of(fill: &Fill) -> Option<Self> {
        let signed = |amount: Amount| i128::try_from(amount).ok();
        let (base, quote, fee) = (signed(fill.base)?, signed(fill.quote)?, signed(fill.fee)?);
        Some(match fill.side {
            Side::Buy => Self {
                base,
                quote: -quote,
                fee_base: fee,
                fee_quote: 0,
            },
            Side::Sell => Self {
                base: -base,
                quote,
                fee_base: 0,
                fee_quote: fee,
            },
        })
    }

    fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            base: self.base.checked_add(other.base)?,
            quote: self.quote.checked_add(other.quote)?,
            fee_base: self.fee_base.checked_add(other.fee_base)?,
            fee_quote: self.fee_quote.checked_add(other.fee_quote)?,
        })
    }
}

/// The books of one market.
#[derive(Clone, Debug)]
pub struct MarketPnl {
    /// Value of a base unit at a mid of one half tick, in the unit of the sums.
    factor: i128,
    /// Parts of a quote base unit in the sums.
    denominator: u64,
    decimals: u8,
    open: bool,
    mark: Option<u64>,
    /// Fills before the first mid.
    waiting: Flow,
    base: i128,
    quote: i128,
    start: i128,
    spread: i128,
    inventory: i128,
    fees: i128,
    counted: bool,
}

impl MarketPnl {
    /// Empty books.
    pub fn new(market: &MarketSpec) -> Self {
        let scale = scale(market);
        let (factor, denominator) = scale.unwrap_or((0, 1));
        Self {
            factor,
            denominator,
            decimals: market.quote.decimals,
            open: false,
            mark: None,
            waiting: Flow::default(),
            base: 0,
            quote: 0,
            start: 0,
            spread: 0,
            inventory: 0,
            fees: 0,
            counted: scale.is_some(),
        }
    }

    /// Begins with this much base. What flowed before is part of the opening.
    pub fn open(&mut self, base: Amount) {
        if !self.open {
            self.open = true;
            self.counted &= self.try_open(base).is_some();
        }
    }

    /// The mid moved, or was seen for the first time.
    pub fn mid(&mut self, mid: u64) {
        self.counted &= self.try_mid(mid).is_some();
    }

    /// A fill was booked. One without a mid is measured against the last one, or the first to come.
    pub fn fill(&mut self, fill: &Fill) {
        if self.open {
            self.counted &= self.try_fill(fill).is_some();
        }
    }

    /// Base went into a pool or came out of one, and quote with it. That changes what the mid's moves are
    /// worth from now on, and is neither profit nor loss.
    pub fn transfer(&mut self, base: i128) {
        if self.open {
            self.counted &= self.try_transfer(base).is_some();
        }
    }

    /// Base units held, if they can be counted.
    pub fn base(&self) -> Option<i128> {
        self.counted.then_some(self.base)
    }

    /// Profit and loss so far. `None` if anything could not be counted, which no sane amounts cause.
    pub fn attribution(&self) -> Option<Attribution> {
        let total = if self.open && self.mark.is_some() {
            self.equity()?.checked_sub(self.start)?
        } else {
            0
        };
        let money = |numerator| Money {
            numerator,
            denominator: self.denominator,
            decimals: self.decimals,
        };
        self.counted.then(|| Attribution {
            spread: money(self.spread),
            inventory: money(self.inventory),
            fees: money(self.fees),
            total: money(total),
        })
    }

    /// Value of the base held at the mark, plus the quote that flowed.
    fn equity(&self) -> Option<i128> {
        self.value(self.base, self.mark?)?
            .checked_add(self.quote_value(self.quote)?)
    }

    fn value(&self, base: i128, mid: u64) -> Option<i128> {
        base.checked_mul(self.factor)?.checked_mul(i128::from(mid))
    }

    fn quote_value(&self, quote: i128) -> Option<i128> {
        quote.checked_mul(i128::from(self.denominator))
    }

    fn try_open(&mut self, base: Amount) -> Option<()> {
        self.base = i128::try_from(base).ok()?;
        if self.mark.is_some() {
            self.start = self.equity()?;
        }
        Some(())
    }

    fn try_mid(&mut self, mid: u64) -> Option<()> {
        let before = self.mark.replace(mid);
        if !self.open {
            return Some(());
        }
        if let Some(before) = before {
            let moved = self.value(self.base, mid)? - self.value(self.base, before)?;
            self.inventory = self.inventory.checked_add(moved)?;
            Some(())
        } else {
            self.start = self.equity()?;
            let waiting = std::mem::take(&mut self.waiting);
            self.book(waiting, mid)
        }
    }

    fn try_fill(&mut self, fill: &Fill) -> Option<()> {
        if let Some(mid) = fill.mid {
            self.try_mid(mid)?;
        }
        let flow = Flow::of(fill)?;
        if let Some(mid) = self.mark {
            return self.book(flow, mid);
        }
        self.waiting = self.waiting.plus(flow)?;
        Some(())
    }

    fn try_transfer(&mut self, base: i128) -> Option<()> {
        self.base = self.base.checked_add(base)?;
        if let Some(mid) = self.mark {
            self.start = self.start.checked_add(self.value(base, mid)?)?;
        }
        Some(())
    }

    fn book(&mut self, flow: Flow, mid: u64) -> Option<()> {
        let gained = self
            .value(flow.base, mid)?
            .checked_add(self.quote_value(flow.quote)?)?;
        let paid = self
            .value(flow.fee_base, mid)?
            .checked_add(self.quote_value(flow.fee_quote)?)?;
        self.spread = self.spread.checked_add(gained)?;
        self.fees = self.fees.checked_sub(paid)?;
        self.base = self
            .base
            .checked_add(flow.base)?
            .checked_sub(flow.fee_base)?;
        self.quote = self
            .quote
            .checked_add(flow.quote)?
            .checked_sub(flow.fee_quote)?;
        Some(())
    }
}

/// `quote_per_lot_tick / (2 · lot)`, reduced: what a base unit is worth at a mid of one half tick.
fn scale(market: &MarketSpec) -> Option<(i128, u64)> {
    let one = market.quote_per_lot_tick;
    let two = market.lot.checked_mul(2)?;
    let divisor = greatest_divisor(one, two);
    let factor = i128::try_from(one / divisor).ok()?;
    let denominator = u64::try_from(two / divisor).ok()?;
    Some((factor, denominator))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::{MarketId, Price, Qty};

    use super::*;
    use crate::testing::{Random, fill, market, order};

    #[test]
    fn a_round_trip_by_hand() {
        let market = market();
        let mut pnl = MarketPnl::new(&market);
        pnl.open(10u128.pow(18));
        pnl.mid(500_000); // 2500.00
        // Buys 1 ETH at 2499, fee 0.001 ETH; the mid falls to 2490; sells 1 ETH at 2491, fee 2.491 USDC.
        pnl.fill(&fill(
            Side::Buy,
            249_900,
            10_000,
            10u128.pow(15),
            Some(500_000),
        ));
        pnl.mid(498_000);
        pnl.fill(&fill(Side::Sell, 249_100, 10_000, 2_491_000, None));
        let made = pnl.attribution().unwrap();
        assert_eq!(
            made.spread.to_string(),
            "2",
            "1 below the mid, then 1 above"
        );
        assert_eq!(made.inventory.to_string(), "-19.99", "1.999 ETH times -10");
        assert_eq!(
            made.fees.to_string(),
            "-4.991",
            "0.001 ETH at 2500 and 2.491"
        );
        assert_eq!(made.total.to_string(), "-22.981");
        assert_eq!(pnl.base(), Some(999 * 10i128.pow(15)));
    }

    #[test]
    fn the_parts_add_up_on_every_path() {
        let mut valued = 0;
        for seed in 0..300 {
            let mut random = Random(seed);
            let market = market();
            let mut pnl = MarketPnl::new(&market);
            let opening = u128::from(random.below(1_000_000)) * 10u128.pow(13);
            // Independent books: plain balances in base units, first and last mid.
            let (mut base, mut quote) = (i128::try_from(opening).unwrap(), 0i128);
            let mut mid = None;
            let mut first_mid = None;
            pnl.open(opening);
            for _ in 0..random.below(60) {
                let next = 400_000 + random.below(200_000);
                if random.below(3) == 0 {
                    pnl.mid(next);
                    mid = Some(next);
                } else {
                    let side = if random.below(2) == 0 {
                        Side::Buy
                    } else {
                        Side::Sell
                    };
                    let seen = (random.below(2) == 0).then_some(next);
                    let fill = Fill {
                        order: order(1),
                        market: MarketId(0),
                        side,
                        base: u128::from(random.below(1 << 60)),
                        quote: u128::from(random.below(1 << 40)),
                        fee: u128::from(random.below(1 << 20)),
                        mid: seen,
                    };
                    let sign = if side == Side::Buy { 1 } else { -1 };
                    base += sign * i128::try_from(fill.base).unwrap();
                    quote -= sign * i128::try_from(fill.quote).unwrap();
                    match side {
                        Side::Buy => base -= i128::try_from(fill.fee).unwrap(),
                        Side::Sell => quote -= i128::try_from(fill.fee).unwrap(),
                    }
                    pnl.fill(&fill);
                    mid = seen.or(mid);
                }
                first_mid = first_mid.or(mid);
            }
            let made = pnl.attribution().unwrap();
            let parts = [made.spread, made.inventory, made.fees];
            let sum: i128 = parts.iter().map(|part| part.numerator).sum();
            assert_eq!(sum, made.total.numerator, "seed {seed}");
            let (Some(first), Some(last)) = (first_mid, mid) else {
                continue;
            };
            // One half tick of one base unit is 1/(2·10^14) quote unit, here times 2·10^14.
            let start = i128::try_from(opening).unwrap() * i128::from(first);
            let end = base * i128::from(last) + quote * 2 * 10i128.pow(14);
            assert_eq!(made.total.denominator, 2 * 10u64.pow(14));
            assert_eq!(made.total.numerator, end - start, "seed {seed}");
            valued += 1;
        }
        assert!(valued > 200, "only {valued} paths had a mid");
    }

    #[test]
    fn what_cannot_be_counted_is_said() {
        let mut pnl = MarketPnl::new(&market());
        pnl.open(u128::MAX);
        pnl.mid(500_000);
        assert_eq!(pnl.attribution(), None);
    }

    #[test]
    fn fills_before_the_opening_belong_to_it() {
        let mut pnl = MarketPnl::new(&market());
        pnl.fill(&fill(Side::Buy, 249_900, 10_000, 0, Some(500_000)));
        pnl.open(5);
        pnl.mid(500_000);
        assert_eq!(pnl.base(), Some(5));
        assert_eq!(pnl.attribution().unwrap().total.numerator, 0);
        let market = market();
        assert_eq!(
            market.quote_amount(Price(249_900), Qty(10_000)),
            Some(2_499_000_000)
        );
    }
}
