//! The size of a round: what a number of lots earns between the levels of a book and a pool, and the number that earns
//! the most. Integers throughout; every rounding is against us.
//!
//! A round swaps with the pool and trades the same base on the book. What it earns is concave in the lots (the pool's
//! price gets worse with every unit, and so does the book's), so that the best number is found level by level: within
//! a level by bisection over what one more lot earns.
//!
//! Source: `cambist_quant::pool::ladder` has the closed form for divisible amounts.

use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{BookLevel, PoolView, WantedSwap};
use cambist_core::swap::{cost_of, least, paid_for};
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketSpec, Qty, Side};

use crate::sizing::quote_of;

const WHOLE: Amount = 10_000;

/// The book of a round: beside the pool, or of another venue, in the units of its market.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundBook<'a> {
    pub(super) market: &'a MarketSpec,
    pub(super) bids: &'a [BookLevel],
    pub(super) asks: &'a [BookLevel],
    /// What its venue takes of a taking order, ten-thousandths.
    pub(super) fee_bips: u16,
}

/// A direction of a round, its book and its costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round<'a> {
    book: RoundBook<'a>,
    pool: &'a PoolView,
    /// The side of the swap: `Buy` buys from the pool and sells to the bids, `Sell` the other way.
    pub(super) side: Side,
    levels: &'a [BookLevel],
}

/// What a number of lots moves and earns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Lots traded on the book.
    pub(super) lots: u64,
    /// Sold to the pool, and paid by it before the venue's fee.
    pub(super) sold: Amount,
    pub(super) paid: Amount,
    /// Quote paid and received in both legs, after all fees.
    pub(super) cost: Amount,
    pub(super) revenue: Amount,
}

impl Outcome {
    /// Revenue less cost in quote units; `None` for a loss.
    pub(super) const fn profit(&self) -> Option<Amount> {
        self.revenue.checked_sub(self.cost)
    }
}

impl<'a> Round<'a> {
    pub(super) fn new(book: RoundBook<'a>, pool: &'a PoolView, side: Side) -> Self {
        Self {
            book,
            pool,
            side,
            levels: match side {
                Side::Buy => book.bids,
                Side::Sell => book.asks,
            },
        }
    }

    /// What the pool's venue keeps of a bought amount, rounded up.
    fn swap_fee(&self, bought: Amount) -> Option<Amount> {
        mul_div_ceil(bought, self.pool.swap.taker_fee_bips.into(), WHOLE)
    }

    /// What the book's venue takes of an amount, rounded up.
    fn book_fee(&self, amount: Amount) -> Option<Amount> {
        mul_div_ceil(amount, self.book.fee_bips.into(), WHOLE)
    }

    /// A round of this many lots on the book. `None` if the book or the pool does not hold it.
    pub(super) fn of(&self, lots: u64) -> Option<Outcome> {
        let (base, quote) = (self.pool.base, self.pool.quote);
        let bips = self.pool.swap.fee_bips;
        let traded = self.book.market.base_amount(Qty(lots))?;
        let on_book = quote_of(self.book.market, self.levels, Qty(lots))?;
        match self.side {
            Side::Buy => {
                // So much base that what is left after the fee is what the bids take.
                let kept = WHOLE.checked_sub(self.pool.swap.taker_fee_bips.into())?;
                let wanted = mul_div_ceil(traded, WHOLE, kept)?;
                let sold = cost_of(wanted, quote, base, bips)?;
                Some(Outcome {
                    lots,
                    sold,
                    paid: paid_for(sold, quote, base, bips)?,
                    cost: sold,
                    revenue: on_book.checked_sub(self.book_fee(on_book)?)?,
                })
            }
            Side::Sell => {
                // So much base as the asks bring after the fee.
                let (sold, cost) = match self.book.market.fee_in {
                    FeeToken::Bought => (traded.checked_sub(self.book_fee(traded)?)?, on_book),
                    FeeToken::Quote => (traded, on_book.checked_add(self.book_fee(on_book)?)?),
                };
                let paid = paid_for(sold, base, quote, bips)?;
                Some(Outcome {
                    lots,
                    sold,
                    paid,
                    cost,
                    revenue: paid.checked_sub(self.swap_fee(paid)?)?,
                })
            }
        }
    }

    /// Whether the last of so many lots adds to what a round earns.
    fn pays(&self, lots: u64) -> bool {
        let before = match lots - 1 {
            0 => Some((0, 0)),
            fewer => self.of(fewer).map(|round| (round.revenue, round.cost)),
        };
        let more = |(revenue, cost): (Amount, Amount), round: Outcome| {
            let earned = round.revenue.saturating_sub(revenue);
            earned > round.cost.saturating_sub(cost)
        };
        before
            .zip(self.of(lots))
            .is_some_and(|(before, round)| more(before, round))
    }

    /// The round of at most `most` lots that earns the most; `None` if none earns anything.
    pub(super) fn best(&self, most: u64) -> Option<Outcome> {
        let mut best = 0;
        let mut end = 0_u64;
        for level in self.levels {
            let begin = end;
            end = end.saturating_add(level.qty.0).min(most);
            if begin == end {
                break;
            }
            // The greatest number in the level whose last lot still pays.
            if !self.pays(begin + 1) {
                break;
            }
            let (mut low, mut high) = (begin + 1, end);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                if self.pays(middle) {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            best = low;
            if low < end {
                break;
            }
        }
        (best > 0).then(|| self.of(best)).flatten()
    }

    /// The swap of a round, which leaves at least `keep` of its profit: what the pool may pay less is what the round
    /// earns beyond that, and at most what the engine accepts.
    pub(super) fn swap(&self, outcome: &Outcome, keep: Amount) -> Option<WantedSwap> {
        let spare = outcome.profit()?.checked_sub(keep)?;
        let given = match self.side {
            Side::Sell => spare,
            // Base that is not bought is not sold to the bids either, of which the best pays the most.
            Side::Buy => {
                let price = self.levels.first()?.price;
                let lot = self.book.market.quote_amount(price, Qty(1))?;
                mul_div_floor(spare, self.book.market.lot, lot)?
            }
        };
        let lowest = least(outcome.paid, self.pool.swap.slippage_bps)?;
        Some(WantedSwap {
            side: self.side,
            sell: outcome.sold,
            least: outcome.paid.saturating_sub(given).max(lowest).max(1),
        })
    }
}
