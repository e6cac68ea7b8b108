//! Profit and loss of pool shares in three components: fee income, impermanent loss, costs of joins and exits.
//!
//! Shares are valued at the amounts of both tokens that they are due by the pool's balances, rounded down, at the mid.
//! The tokens that were put in for them, at the pool's ratio of that moment, are their *reference*: its price changes
//! count as holdings, as if it were still held. Of the other changes of the shares' value, fee income is the part by
//! which the root of the product of both reserves has grown for each share (trades without fees leave it unchanged),
//! and impermanent loss is the rest. Of a range that product is one of virtual reserves, which fees do not change: its
//! fees are paid out by exits, and lower the costs of these.
//!
//! The unit of all sums is that of [`crate::pnl`].

use cambist_core::math::{mul_div_floor, root_of_product};
use cambist_core::notification::PoolTransactionSettlement;
use cambist_core::pool::PoolBalances;
use cambist_core::{Amount, TokenId, shares};

/// Most joins and exits that may wait until the pool's balances are known; these are polled within seconds.
const WAITING_MAX: usize = 1_024;

/// Values of base and quote in the unit of the sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Value of a base unit at a mid of one half tick.
    pub(crate) factor: i128,
    /// Parts of a quote base unit.
    pub(crate) denominator: u64,
}

impl Terms {
    /// Value of base at a mid in half ticks, and of quote.
    pub(crate) fn value(self, base: i128, quote: i128, mid: u64) -> Option<i128> {
        let base = base
            .checked_mul(self.factor)?
            .checked_mul(i128::from(mid))?;
        base.checked_add(quote.checked_mul(i128::from(self.denominator))?)
    }
}

/// The components so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolParts {
    pub(crate) fee_income: i128,
    pub(crate) impermanent_loss: i128,
    pub(crate) move_costs: i128,
}

/// Our position in one pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolPosition {
    /// Token of the shares.
    pub(crate) lp: TokenId,
    /// Index of the base token among the pooled ones.
    pub(crate) base_at: usize,
    /// Balances of the pool when last polled.
    pub(crate) balances: Option<PoolBalances>,
    pub(crate) shares: i128,
    /// Base and quote that were put in for them.
    pub(crate) reference: [i128; 2],
    pub(crate) parts: PoolParts,
    /// Shares, joins and exits that cannot be valued yet.
    pub(crate) waiting_shares: i128,
    pub(crate) waiting_moves: Vec<PoolTransactionSettlement>,
}

impl PoolPosition {
    pub(crate) const fn new(lp: TokenId, base_at: usize) -> Self {
        Self {
            lp,
            base_at,
            balances: None,
            shares: 0,
            reference: [0; 2],
            parts: PoolParts {
                fee_income: 0,
                impermanent_loss: 0,
                move_costs: 0,
            },
            waiting_shares: 0,
            waiting_moves: Vec::new(),
        }
    }

    /// Whether it is the same pool, with its tokens in the same order.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.lp, self.base_at) == (other.lp, other.base_at)
    }

    pub(crate) const fn parts(&self) -> PoolParts {
        self.parts
    }

    pub(crate) const fn is_valued(&self) -> bool {
        self.balances.is_some()
    }

    /// Base that was put in for the shares held.
    pub(crate) const fn reference_base(&self) -> i128 {
        self.reference[0]
    }

    /// Sets the pool's balances before anything is valued. An empty pool gives shares no value.
    pub(crate) fn set_balances(&mut self, balances: PoolBalances) {
        if balances.supply > 0 {
            self.balances = Some(balances);
        }
    }

    /// Base and quote due to these shares; zero for none.
    fn due(&self, shares: i128) -> Option<[i128; 2]> {
        if shares <= 0 {
            return Some([0; 2]);
        }
        let due = shares::due(&self.balances?, shares.unsigned_abs())?;
        let signed = |amount: Amount| i128::try_from(amount).ok();
        Some([signed(due[self.base_at])?, signed(due[1 - self.base_at])?])
    }

    fn worth_of(&self, shares: i128, terms: Terms, mark: u64) -> Option<i128> {
        let [base, quote] = self.due(shares)?;
        terms.value(base, quote, mark)
    }

    /// Value of the shares without those that wait.
    pub(crate) fn worth(&self, terms: Terms, mark: u64) -> Option<i128> {
        self.worth_of(self.shares, terms, mark)
    }

    /// Whether shares, joins or exits wait to be valued.
    pub(crate) const fn has_waiting(&self) -> bool {
        self.waiting_shares != 0 || !self.waiting_moves.is_empty()
    }

    /// Adds shares that cannot be valued yet.
    pub(crate) fn add_waiting_shares(&mut self, shares: i128) -> Option<()> {
        self.waiting_shares = self.waiting_shares.checked_add(shares)?;
        Some(())
    }

    /// Adds a join or an exit that cannot be valued yet.
    pub(crate) fn add_waiting(&mut self, moved: &PoolTransactionSettlement) -> Option<()> {
        let fits = self.waiting_moves.len() < WAITING_MAX;
        fits.then(|| self.waiting_moves.push(moved.clone()))
    }

    /// Removes and returns what waited.
    pub(crate) fn take_waiting(&mut self) -> (i128, Vec<PoolTransactionSettlement>) {
        (
            std::mem::take(&mut self.waiting_shares),
            std::mem::take(&mut self.waiting_moves),
        )
    }

    /// The pool's balances changed. The effect on the shares at an unchanged mid is fee income as far as the root of
    /// the product has grown for each share.
    pub(crate) fn changes(
        &mut self,
        terms: Terms,
        mark: u64,
        balances: PoolBalances,
    ) -> Option<()> {
        let (Some(before), true) = (self.balances, balances.supply > 0) else {
            self.set_balances(balances);
            return Some(());
        };
        let then = self.worth(terms, mark)?;
        self.balances = Some(balances);
        let now = self.worth(terms, mark)?;
        let grown = growth(&before, &balances, now)?;
        let parts = &mut self.parts;
        parts.fee_income = parts.fee_income.checked_add(grown)?;
        self.rebalanced(now.checked_sub(then)?.checked_sub(grown)?)
    }

    /// Adds the change of the shares' value that is neither reference nor fee income.
    pub(crate) fn rebalanced(&mut self, gained: i128) -> Option<()> {
        let lost = &mut self.parts.impermanent_loss;
        *lost = lost.checked_add(gained)?;
        Some(())
    }

    /// Adds the gain or cost of a join or an exit.
    pub(crate) fn cost(&mut self, gained: i128) -> Option<()> {
        let costs = &mut self.parts.move_costs;
        *costs = costs.checked_add(gained)?;
        Some(())
    }

    /// Changes the number of shares; returns the change of their value.
    pub(crate) fn change(&mut self, terms: Terms, mark: u64, shares: i128) -> Option<i128> {
        let after = self.shares.checked_add(shares)?.max(0);
        let worth = self
            .worth_of(after, terms, mark)?
            .checked_sub(self.worth(terms, mark)?)?;
        let (due, due_after) = (self.due(self.shares)?, self.due(after)?);
        for (at, reference) in self.reference.iter_mut().enumerate() {
            *reference = if after >= self.shares {
                reference.checked_add(due_after[at].checked_sub(due[at])?)?
            } else {
                let part = mul_div_floor(
                    reference.unsigned_abs(),
                    after.unsigned_abs(),
                    self.shares.unsigned_abs(),
                );
                i128::try_from(part?).ok()?
            };
        }
        self.shares = after;
        Some(worth)
    }
}

/// The part of a value that the growth of the root of the product for each share explains, between two states of a
/// pool.
fn growth(before: &PoolBalances, now: &PoolBalances, worth: i128) -> Option<i128> {
    let root = |pool: &PoolBalances| root_of_product(pool.reserves[0], pool.reserves[1]);
    let (roots, supplies) = (
        shortened([root(before), root(now)]),
        shortened([before.supply, now.supply]),
    );
    // Root for each share now, and before.
    let (grown, was) = (roots[1] * supplies[0], roots[0] * supplies[1]);
    if grown == 0 {
        return Some(0);
    }
    let part = mul_div_floor(worth.unsigned_abs(), grown.abs_diff(was), grown)?;
    let part = i128::try_from(part).ok()?;
    Some(if grown < was { -part } else { part })
}

/// Two numbers shortened to at most 63 bits at the same ratio: their product with two others fits.
fn shortened(numbers: [u128; 2]) -> [u128; 2] {
    let most = numbers[0].max(numbers[1]);
    let beyond = (128 - most.leading_zeros()).saturating_sub(63);
    numbers.map(|number| number >> beyond)
}
