//! Profit and loss of one market by component, exactly.
//!
//! Equity is the base held at the mid, plus the quote that flowed, plus the amounts of both tokens due to shares of the
//! pool beside the market, at the mid. Profit and loss is the change of equity less external flows (deposits,
//! withdrawals: each at the mid when it was booked). It has four components:
//!
//! - **spread**: fill prices against the mid at that moment;
//! - **holdings**: price changes of what was held, including what was put into the pool as if it were still held;
//! - **fees** of fills, negative, at the mid when booked;
//! - **pool**: fee income, impermanent loss and the costs of joins and exits ([`crate::pool_pnl`]).
//!
//! They sum to the profit and loss, to the last digit: [`MarketPnl::attribution`] computes both and returns nothing if
//! they differ.
//!
//! The unit of all sums is `1 / denominator` quote base units. Base units times half ticks times the market's scale are
//! whole numbers of it, so nothing is rounded except the amounts that a pool owes for shares, which round down.

mod state;

use cambist_core::notification::{Fill, PoolTransactionSettlement};
use cambist_core::pool::PoolBalances;
use cambist_core::postings::{Postings, Traded};
use cambist_core::{Amount, MarketSpec, PoolSpec, TokenId};

pub use state::PnlState;

use crate::money::{Money, greatest_divisor};
use crate::pool_pnl::{PoolParts, PoolPosition, Terms};

/// Profit and loss by component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// Fill prices against the mid.
    pub spread: Money,
    /// Price changes of what was held, the opening holdings included.
    pub holdings: Money,
    /// Fees of fills; negative.
    pub fees: Money,
    /// The pool beside the market, if there is one.
    pub pool: Option<PoolAttribution>,
    /// Change of equity since the opening, less external flows.
    pub total: Money,
}

/// Profit and cost of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolAttribution {
    /// Our share of the fees that traders paid.
    pub fee_income: Money,
    /// Loss from the pool's rebalancing against holding both tokens; negative unless the pool's price
    /// is away from the mid.
    pub impermanent_loss: Money,
    /// Costs of joins and exits: fees and slippage.
    pub move_costs: Money,
}

impl PoolAttribution {
    /// The sum of all three.
    pub fn total(self) -> Option<Money> {
        self.fee_income
            .checked_add(self.impermanent_loss)?
            .checked_add(self.move_costs)
    }

    fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            fee_income: self.fee_income.checked_add(other.fee_income)?,
            impermanent_loss: self.impermanent_loss.checked_add(other.impermanent_loss)?,
            move_costs: self.move_costs.checked_add(other.move_costs)?,
        })
    }
}

impl Attribution {
    /// Component by component. `None` on overflow.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let pool = match (self.pool, other.pool) {
            (Some(one), Some(two)) => Some(one.checked_add(two)?),
            (one, two) => one.or(two),
        };
        Some(Self {
            spread: self.spread.checked_add(other.spread)?,
            holdings: self.holdings.checked_add(other.holdings)?,
            fees: self.fees.checked_add(other.fees)?,
            pool,
            total: self.total.checked_add(other.total)?,
        })
    }

    /// The change since an earlier attribution, component by component. `None` on overflow.
    pub fn since(self, before: Self) -> Option<Self> {
        let negative = |money: Money| money.negated();
        let pool = match before.pool {
            Some(pool) => Some(PoolAttribution {
                fee_income: negative(pool.fee_income)?,
                impermanent_loss: negative(pool.impermanent_loss)?,
                move_costs: negative(pool.move_costs)?,
            }),
            None => None,
        };
        self.checked_add(Self {
            spread: negative(before.spread)?,
            holdings: negative(before.holdings)?,
            fees: negative(before.fees)?,
            pool,
            total: negative(before.total)?,
        })
    }

    /// The sum of the components, which equals the total.
    pub fn sum(self) -> Option<Money> {
        let sum = self.spread.checked_add(self.holdings)?;
        let sum = sum.checked_add(self.fees)?;
        match self.pool {
            Some(pool) => sum.checked_add(pool.total()?),
            None => Some(sum),
        }
    }
}

/// Signed flows before the first mid.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    base: i128,
    quote: i128,
    fee_base: i128,
    fee_quote: i128,
}

impl Flow {
    /// The flows before fees, and the fees.
    fn of(market: &MarketSpec, fill: &Fill) -> Self {
        let fee = i128::try_from(fill.fee).unwrap_or(i128::MAX);
        let gross = Traded {
            base: fill.base,
            quote: fill.quote,
            fee: 0,
        };
        let gross = Postings::of_trade(market, fill.side, gross);
        let in_base = market.fee_in.is_base(fill.side);
        Self {
            base: gross.of(market.base.id),
            quote: gross.of(market.quote.id),
            fee_base: if in_base { fee } else { 0 },
            fee_quote: if in_base { 0 } else { fee },
        }
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

/// The accounts of one market.
#[derive(Clone, Debug)]
pub struct MarketPnl {
    market: MarketSpec,
    terms: Terms,
    open: bool,
    mark: Option<u64>,
    /// Fills before the first mid.
    waiting: Flow,
    base: i128,
    quote: i128,
    /// Equity at the first mid, plus all external flows since.
    start: i128,
    spread: i128,
    holdings: i128,
    fees: i128,
    pool: Option<PoolPosition>,
    counted: bool,
}

impl MarketPnl {
    /// Empty accounts.
    pub fn new(market: &MarketSpec) -> Self {
        let scale = scale(market);
        let (factor, denominator) = scale.unwrap_or((0, 1));
        Self {
            market: market.clone(),
            terms: Terms {
                factor,
                denominator,
            },
            open: false,
            mark: None,
            waiting: Flow::default(),
            base: 0,
            quote: 0,
            start: 0,
            spread: 0,
            holdings: 0,
            fees: 0,
            pool: None,
            counted: scale.is_some(),
        }
    }

    /// Adds the pool beside the market.
    pub fn add_pool(&mut self, pool: &PoolSpec) {
        let base_at = usize::from(pool.pooled[0] != self.market.base.id);
        self.pool = Some(PoolPosition::new(pool.lp.id, base_at));
    }

    /// Sets the opening: base and shares of the pool. Earlier flows are part of it.
    pub fn open(&mut self, base: Amount, shares: Amount) {
        if !self.open {
            self.open = true;
            self.counted &= self.try_open(base, shares).is_some();
        }
    }

    /// Sets the mid.
    pub fn mid(&mut self, mid: u64) {
        self.counted &= self.try_mid(mid).is_some();
    }

    /// A fill was booked. One without a mid is measured against the last one, or the first later one.
    pub fn fill(&mut self, fill: &Fill) {
        if self.open {
            self.counted &= self.try_fill(fill).is_some();
        }
    }

    /// A join or an exit was booked.
    pub fn moved(&mut self, moved: &PoolTransactionSettlement) {
        if self.open {
            self.counted &= self.try_pool_transaction(moved).is_some();
        }
    }

    /// Sets the balances of the pool beside the market.
    pub fn pool_holds(&mut self, balances: PoolBalances) {
        self.counted &= self.try_pool(balances).is_some();
    }

    /// Books an external flow of base or shares, which is neither profit nor loss.
    pub fn explain(&mut self, token: TokenId, amount: i128) {
        if self.open {
            self.counted &= self.try_explain(token, amount).is_some();
        }
    }

    /// Base units held. `None` on overflow.
    pub fn base(&self) -> Option<i128> {
        self.counted.then_some(self.base)
    }

    /// The mid at which everything is valued, in half ticks.
    pub const fn mark(&self) -> Option<u64> {
        self.mark
    }

    /// Value of our shares of the pool at the mark, in whole quote units; `None` if it is not known.
    pub fn pool_worth(&self) -> Option<Amount> {
        let pool = self.pool.as_ref().filter(|pool| !pool.has_waiting())?;
        let worth = pool.worth(self.terms, self.mark?)?;
        u128::try_from(worth.div_euclid(i128::from(self.terms.denominator))).ok()
    }

    /// Profit and loss so far. `None` after an overflow, which no realistic amounts cause.
    pub fn attribution(&self) -> Option<Attribution> {
        let total = if self.open && self.mark.is_some() {
            self.equity()?.checked_sub(self.start)?
        } else {
            0
        };
        let parts = self.pool.as_ref().map(PoolPosition::parts);
        let made = Attribution {
            spread: self.money(self.spread),
            holdings: self.money(self.holdings),
            fees: self.money(self.fees),
            pool: parts.map(|parts| self.pool_parts(parts)),
            total: self.money(total),
        };
        let fits = self.counted && made.sum() == Some(made.total);
        debug_assert!(fits || !self.counted, "the causes do not add up: {made:?}");
        fits.then_some(made)
    }

    fn pool_parts(&self, parts: PoolParts) -> PoolAttribution {
        PoolAttribution {
            fee_income: self.money(parts.fee_income),
            impermanent_loss: self.money(parts.impermanent_loss),
            move_costs: self.money(parts.move_costs),
        }
    }

    const fn money(&self, numerator: i128) -> Money {
        Money {
            numerator,
            denominator: self.terms.denominator,
            decimals: self.market.quote.decimals,
        }
    }

    /// Value of all holdings at the mark.
    fn equity(&self) -> Option<i128> {
        let mark = self.mark?;
        let pool = match &self.pool {
            Some(pool) => pool.worth(self.terms, mark)?,
            None => 0,
        };
        self.terms
            .value(self.base, self.quote, mark)?
            .checked_add(pool)
    }

    fn try_open(&mut self, base: Amount, shares: Amount) -> Option<()> {
        self.base = i128::try_from(base).ok()?;
        if self.mark.is_some() {
            self.start = self.equity()?;
        }
        self.add_external_shares(i128::try_from(shares).ok()?)
    }

    fn try_mid(&mut self, mid: u64) -> Option<()> {
        let before = self.mark.replace(mid);
        if !self.open {
            return Some(());
        }
        let Some(before) = before else {
            self.start = self.equity()?;
            let waiting = std::mem::take(&mut self.waiting);
            self.book(waiting, mid)?;
            return self.value_waiting();
        };
        let terms = self.terms;
        let by_the_move = |base| {
            let then = terms.value(base, 0, before)?;
            terms.value(base, 0, mid)?.checked_sub(then)
        };
        let mut moved = by_the_move(self.base)?;
        if let Some(pool) = &mut self.pool {
            let as_held = by_the_move(pool.reference_base())?;
            moved = moved.checked_add(as_held)?;
            let gained = pool
                .worth(terms, mid)?
                .checked_sub(pool.worth(terms, before)?)?;
            pool.rebalanced(gained.checked_sub(as_held)?)?;
        }
        self.holdings = self.holdings.checked_add(moved)?;
        Some(())
    }

    fn try_fill(&mut self, fill: &Fill) -> Option<()> {
        if let Some(mid) = fill.mid {
            self.try_mid(mid)?;
        }
        let flow = Flow::of(&self.market, fill);
        if let Some(mid) = self.mark {
            return self.book(flow, mid);
        }
        self.waiting = self.waiting.plus(flow)?;
        Some(())
    }

    fn try_pool_transaction(&mut self, moved: &PoolTransactionSettlement) -> Option<()> {
        if let Some(mid) = moved.mid {
            self.try_mid(mid)?;
        }
        let pool = self.pool.as_mut()?;
        if self.mark.is_none() || !pool.is_valued() {
            // Its value is not known yet. It is booked once it is, and until then it is left out.
            return pool.add_waiting(moved);
        }
        self.book_transaction(moved)
    }

    fn try_pool(&mut self, balances: PoolBalances) -> Option<()> {
        let (mark, open) = (self.mark, self.open);
        let pool = self.pool.as_mut()?;
        match mark.filter(|_| open) {
            Some(mark) => pool.changes(self.terms, mark, balances)?,
            None => pool.set_balances(balances),
        }
        if open { self.value_waiting() } else { Some(()) }
    }

    /// Books the waiting flows at current values, once mid and pool balances are known.
    fn value_waiting(&mut self) -> Option<()> {
        let Some(pool) = self.pool.as_mut().filter(|pool| pool.is_valued()) else {
            return Some(());
        };
        if self.mark.is_none() {
            return Some(());
        }
        let (shares, moves) = pool.take_waiting();
        self.add_external_shares(shares)?;
        moves
            .iter()
            .try_for_each(|moved| self.book_transaction(moved))
    }

    /// Adds shares that were not bought: their value is neither profit nor loss.
    fn add_external_shares(&mut self, shares: i128) -> Option<()> {
        let Some(pool) = &mut self.pool else {
            return Some(());
        };
        match self.mark.filter(|_| pool.is_valued()) {
            Some(mark) => {
                let worth = pool.change(self.terms, mark, shares)?;
                self.start = self.start.checked_add(worth)?;
            }
            None => pool.add_waiting_shares(shares)?,
        }
        Some(())
    }

    fn try_explain(&mut self, token: TokenId, amount: i128) -> Option<()> {
        if self.pool.as_ref().is_some_and(|pool| pool.lp == token) {
            return self.add_external_shares(amount);
        }
        if token == self.market.base.id {
            self.base = self.base.checked_add(amount)?;
            if let Some(mid) = self.mark {
                let worth = self.terms.value(amount, 0, mid)?;
                self.start = self.start.checked_add(worth)?;
            }
        }
        Some(())
    }

    fn book(&mut self, flow: Flow, mid: u64) -> Option<()> {
        let gained = self.terms.value(flow.base, flow.quote, mid)?;
        let paid = self.terms.value(flow.fee_base, flow.fee_quote, mid)?;
        self.spread = self.spread.checked_add(gained)?;
        self.fees = self.fees.checked_sub(paid)?;
        let (base, quote) = (
            flow.base.checked_sub(flow.fee_base)?,
            flow.quote.checked_sub(flow.fee_quote)?,
        );
        self.hold(base, quote)
    }

    /// Books a join or an exit whose shares can be valued.
    fn book_transaction(&mut self, moved: &PoolTransactionSettlement) -> Option<()> {
        let (mark, postings) = (self.mark?, Postings::of_move(moved));
        let pool = self.pool.as_mut()?;
        let worth = pool.change(self.terms, mark, postings.of(pool.lp))?;
        let (base, quote) = (
            postings.of(self.market.base.id),
            postings.of(self.market.quote.id),
        );
        let brought = self.terms.value(base, quote, mark)?;
        pool.cost(brought.checked_add(worth)?)?;
        self.hold(base, quote)
    }

    fn hold(&mut self, base: i128, quote: i128) -> Option<()> {
        self.base = self.base.checked_add(base)?;
        self.quote = self.quote.checked_add(quote)?;
        Some(())
    }
}

/// `quote_per_lot_tick / (2 · lot)`, reduced: the value of a base unit at a mid of one half tick.
fn scale(market: &MarketSpec) -> Option<(i128, u64)> {
    let one = market.quote_per_lot_tick;
    let two = market.lot.checked_mul(2)?;
    let divisor = greatest_divisor(one, two);
    let factor = i128::try_from(one / divisor).ok()?;
    let denominator = u64::try_from(two / divisor).ok()?;
    Some((factor, denominator))
}

#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod tests;
