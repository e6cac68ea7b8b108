//! What shares of a pool earned and cost, in three parts: fee income, impermanent loss, costs of joins and
//! exits.
//!
//! Shares are worth what they are due of both tokens by what the pool holds, rounded down, at the mid. The
//! tokens that were put in for them, at the pool's ratio of that moment, are their *reference*: what the
//! mid's moves do to it counts as holdings, as if it were still held. Whatever else happens to the worth of
//! shares is fee income, as far as the root of the product of both reserves for each share has grown
//! (trades without fees leave it unchanged), and impermanent loss for the rest.
//!
//! The unit of all sums is that of [`crate::pnl`].

use cambist_core::math::{mul_div_floor, root_of_product};
use cambist_core::notification::PoolTransactionSettlement;
use cambist_core::pool::PoolBalances;
use cambist_core::{Amount, TokenId, shares};

/// Moves that may wait until the pool is known; it is asked within seconds.
const WAITING_MAX: usize = 1_024;

/// What base and quote are worth in the unit of the sums.
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

/// The parts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolParts {
    pub(crate) fee_income: i128,
    pub(crate) impermanent_loss: i128,
    pub(crate) move_costs: i128,
}

/// Our part of one pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolPosition {
    /// Token of the shares.
    pub(crate) lp: TokenId,
    /// Where the base token stands among the pooled ones.
    pub(crate) base_at: usize,
    /// What the pool held when last asked.
    pub(crate) balances: Option<PoolBalances>,
    pub(crate) shares: i128,
    /// Base and quote that were put in for them.
    pub(crate) reference: [i128; 2],
    pub(crate) parts: PoolParts,
    /// Shares and moves whose worth is not known yet.
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

    /// Whether it is the same pool, its tokens in the same order.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.lp, self.base_at) == (other.lp, other.base_at)
    }

    pub(crate) const fn parts(&self) -> PoolParts {
        self.parts
    }

    pub(crate) const fn is_known(&self) -> bool {
        self.balances.is_some()
    }

    /// Base that was put in for the shares held.
    pub(crate) const fn reference_base(&self) -> i128 {
        self.reference[0]
    }

    /// What the pool holds, before anything is valued. An empty pool says nothing about shares.
    pub(crate) fn learn(&mut self, balances: PoolBalances) {
        if balances.supply > 0 {
            self.balances = Some(balances);
        }
    }

    /// Base and quote that so many shares are due; nothing of none.
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

    /// What the shares are worth. Those that wait are not among them.
    pub(crate) fn worth(&self, terms: Terms, mark: u64) -> Option<i128> {
        self.worth_of(self.shares, terms, mark)
    }

    /// Whether shares or moves wait to be valued.
    pub(crate) const fn waits(&self) -> bool {
        self.waiting_shares != 0 || !self.waiting_moves.is_empty()
    }

    /// Shares that cannot be valued yet.
    pub(crate) fn wait_for(&mut self, shares: i128) -> Option<()> {
        self.waiting_shares = self.waiting_shares.checked_add(shares)?;
        Some(())
    }

    /// A move that cannot be valued yet.
    pub(crate) fn wait(&mut self, moved: &PoolTransactionSettlement) -> Option<()> {
        let fits = self.waiting_moves.len() < WAITING_MAX;
        fits.then(|| self.waiting_moves.push(moved.clone()))
    }

    /// What waited.
    pub(crate) fn take_waiting(&mut self) -> (i128, Vec<PoolTransactionSettlement>) {
        (
            std::mem::take(&mut self.waiting_shares),
            std::mem::take(&mut self.waiting_moves),
        )
    }

    /// The pool holds something else than before: what that did to the shares at an unchanged mid is fee
    /// income as far as every share's root of the product has grown.
    pub(crate) fn changes(
        &mut self,
        terms: Terms,
        mark: u64,
        balances: PoolBalances,
    ) -> Option<()> {
        let (Some(before), true) = (self.balances, balances.supply > 0) else {
            self.learn(balances);
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

    /// What the worth of shares did besides the reference and fee income.
    pub(crate) fn rebalanced(&mut self, gained: i128) -> Option<()> {
        let lost = &mut self.parts.impermanent_loss;
        *lost = lost.checked_add(gained)?;
        Some(())
    }

    /// What a join or an exit brought more than it gave.
    pub(crate) fn cost(&mut self, gained: i128) -> Option<()> {
        let costs = &mut self.parts.move_costs;
        *costs = costs.checked_add(gained)?;
        Some(())
    }

    /// Shares come or go; the answer is what their worth changes by.
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

/// The part of a worth that the growth of a share's root of the product explains, between two states of a
/// pool.
fn growth(before: &PoolBalances, now: &PoolBalances, worth: i128) -> Option<i128> {
    let root = |pool: &PoolBalances| root_of_product(pool.pooled[0], pool.pooled[1]);
    let (roots, supplies) = (
        shortened([root(before), root(now)]),
        shortened([before.supply, now.supply]),
    );
    // root of now for each share, against that of before
    let (grown, was) = (roots[1] * supplies[0], roots[0] * supplies[1]);
    if grown == 0 {
        return Some(0);
    }
    let part = mul_div_floor(worth.unsigned_abs(), grown.abs_diff(was), grown)?;
    let part = i128::try_from(part).ok()?;
    Some(if grown < was { -part } else { part })
}

/// Two numbers in their ratio, with at most 63 bits: their product with two others fits.
fn shortened(numbers: [u128; 2]) -> [u128; 2] {
    let most = numbers[0].max(numbers[1]);
    let beyond = (128 - most.leading_zeros()).saturating_sub(63);
    numbers.map(|number| number >> beyond)
}
