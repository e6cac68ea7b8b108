//! The state of one market's profit and loss between runs: everything that the next run continues from, and the results
//! so far.
//!
//! All amounts are numerators in the unit of [`crate::pnl`], whose terms are part of the state: it can be read without
//! the market's listing, and is continued only if the listing still has the same terms.

use cambist_core::notification::PoolTransactionSettlement;
use cambist_core::pool::PoolBalances;
use cambist_core::postings::Postings;
use cambist_core::{MarketSpec, PoolSpec, TokenId};
use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::pnl::{Attribution, Flow, MarketPnl, PoolAttribution};
use crate::pool_pnl::{PoolParts, PoolPosition, Terms};

/// Results of profit and loss so far, and the state to continue from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PnlState {
    /// Value of a base unit at a mid of one half tick, in `1 / denominator` quote units.
    factor: i128,
    denominator: u64,
    /// Decimals of the quote token.
    decimals: u8,
    tokens: [TokenId; 2],
    mark: Option<u64>,
    /// Fills before the first mid: base, quote, fee in base, fee in quote.
    waiting: [i128; 4],
    base: i128,
    quote: i128,
    start: i128,
    equity: Option<i128>,
    spread: i128,
    holdings: i128,
    fees: i128,
    pool: Option<PoolState>,
}

/// The part of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PoolState {
    lp: TokenId,
    base_at: usize,
    balances: Option<PoolBalances>,
    shares: i128,
    reference: [i128; 2],
    /// Fee income, impermanent loss, costs of joins and exits.
    parts: [i128; 3],
    waiting_shares: i128,
    waiting: Vec<PoolTransactionSettlement>,
}

impl PnlState {
    const fn money(&self, numerator: i128) -> Money {
        Money {
            numerator,
            denominator: self.denominator,
            decimals: self.decimals,
        }
    }

    /// Base and quote token.
    pub const fn tokens(&self) -> [TokenId; 2] {
        self.tokens
    }

    /// The last mid in half ticks.
    pub const fn mark(&self) -> Option<u64> {
        self.mark
    }

    /// Base units held, including those that wait for a price.
    pub fn base(&self) -> i128 {
        let [base, _, fee, _] = self.waiting;
        let base = self.base.saturating_add(base).saturating_sub(fee);
        base.saturating_add(self.waiting_moves(self.tokens[0]))
    }

    /// Quote units that flowed by fills, joins and exits, including those that wait for a price.
    pub fn quote(&self) -> i128 {
        let [_, quote, _, fee] = self.waiting;
        let quote = self.quote.saturating_add(quote).saturating_sub(fee);
        quote.saturating_add(self.waiting_moves(self.tokens[1]))
    }

    /// Shares of the pool, if there is one, and their token, including those that wait for a price.
    pub fn shares(&self) -> Option<(TokenId, i128)> {
        let pool = self.pool.as_ref()?;
        let shares = pool.shares.checked_add(pool.waiting_shares)?;
        Some((pool.lp, shares.checked_add(self.waiting_moves(pool.lp))?))
    }

    fn waiting_moves(&self, token: TokenId) -> i128 {
        let waiting = self.pool.iter().flat_map(|pool| &pool.waiting);
        waiting.fold(0, |sum, moved| {
            sum.saturating_add(Postings::of_move(moved).of(token))
        })
    }

    /// Equity at the start of the count plus the value of all external flows since; `None` before the first mid.
    pub fn brought(&self) -> Option<Money> {
        self.mark.map(|_| self.money(self.start))
    }

    /// Value of base units at the last mid.
    pub fn value(&self, base: i128) -> Option<Money> {
        let terms = Terms {
            factor: self.factor,
            denominator: self.denominator,
        };
        terms.value(base, 0, self.mark?).map(|all| self.money(all))
    }

    /// Value of all shares of the pool at the last mid.
    pub fn pool_value(&self) -> Option<Money> {
        let terms = Terms {
            factor: self.factor,
            denominator: self.denominator,
        };
        let held = terms.value(self.base, self.quote, self.mark?)?;
        Some(self.money(self.equity?.checked_sub(held)?))
    }

    /// The results so far; `None` if the components do not sum to the total.
    pub fn attribution(&self) -> Option<Attribution> {
        let total = match self.equity {
            Some(equity) => equity.checked_sub(self.start)?,
            None => 0,
        };
        let pool = self.pool.as_ref().map(|pool| {
            let [fee_income, impermanent_loss, move_costs] = pool.parts;
            PoolAttribution {
                fee_income: self.money(fee_income),
                impermanent_loss: self.money(impermanent_loss),
                move_costs: self.money(move_costs),
            }
        });
        let counted = Attribution {
            spread: self.money(self.spread),
            holdings: self.money(self.holdings),
            fees: self.money(self.fees),
            pool,
            total: self.money(total),
        };
        (counted.sum() == Some(counted.total)).then_some(counted)
    }
}

impl MarketPnl {
    /// The state that another run continues from; `None` after an overflow.
    pub fn state(&self) -> Option<PnlState> {
        self.attribution()?;
        let Flow {
            base,
            quote,
            fee_base,
            fee_quote,
        } = self.waiting;
        Some(PnlState {
            factor: self.terms.factor,
            denominator: self.terms.denominator,
            decimals: self.market.quote.decimals,
            tokens: [self.market.base.id, self.market.quote.id],
            mark: self.mark,
            waiting: [base, quote, fee_base, fee_quote],
            base: self.base,
            quote: self.quote,
            start: self.start,
            equity: match self.mark {
                Some(_) => Some(self.equity()?),
                None => None,
            },
            spread: self.spread,
            holdings: self.holdings,
            fees: self.fees,
            pool: self.pool.as_ref().map(PoolState::of),
        })
    }

    /// Continues from a state. `None` if the market's tokens or units, or the pool beside it, differ from those of the
    /// state.
    pub fn resume(market: &MarketSpec, pool: Option<&PoolSpec>, state: PnlState) -> Option<Self> {
        let mut pnl = Self::new(market);
        let terms = (pnl.terms.factor, pnl.terms.denominator);
        let same = terms == (state.factor, state.denominator)
            && state.decimals == market.quote.decimals
            && state.tokens == [market.base.id, market.quote.id];
        if !same || !pnl.counted || state.attribution().is_none() {
            return None;
        }
        if let Some(pool) = pool {
            pnl.add_pool(pool);
        }
        if let Some(kept) = state.pool {
            let kept = kept.position();
            if pnl.pool.as_ref().is_some_and(|pool| !pool.is_like(&kept)) {
                return None;
            }
            pnl.pool = Some(kept);
        }
        let [base, quote, fee_base, fee_quote] = state.waiting;
        pnl.open = true;
        pnl.mark = state.mark;
        pnl.waiting = Flow {
            base,
            quote,
            fee_base,
            fee_quote,
        };
        (pnl.base, pnl.quote, pnl.start) = (state.base, state.quote, state.start);
        (pnl.spread, pnl.holdings, pnl.fees) = (state.spread, state.holdings, state.fees);
        Some(pnl)
    }
}

impl PoolState {
    fn of(pool: &PoolPosition) -> Self {
        let parts = pool.parts();
        Self {
            lp: pool.lp,
            base_at: pool.base_at,
            balances: pool.balances,
            shares: pool.shares,
            reference: pool.reference,
            parts: [parts.fee_income, parts.impermanent_loss, parts.move_costs],
            waiting_shares: pool.waiting_shares,
            waiting: pool.waiting_moves.clone(),
        }
    }

    fn position(self) -> PoolPosition {
        let [fee_income, impermanent_loss, move_costs] = self.parts;
        PoolPosition {
            lp: self.lp,
            base_at: self.base_at,
            balances: self.balances,
            shares: self.shares,
            reference: self.reference,
            parts: PoolParts {
                fee_income,
                impermanent_loss,
                move_costs,
            },
            waiting_shares: self.waiting_shares,
            waiting_moves: self.waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use cambist_core::Side;
    use cambist_core::notification::Fill;

    use crate::testing;

    fn fill(side: Side, base: u128, quote: u128, mid: Option<u64>) -> Fill {
        Fill {
            order: testing::order(1),
            market: testing::market().id,
            side,
            base,
            quote,
            fee: 3,
            mid,
        }
    }

    /// Counting that is stopped and continued at every step gives the same result as counting without a stop.
    #[test]
    fn counting_continues_from_its_state() {
        let market = testing::market();
        let steps: [fn(&mut MarketPnl); 6] = [
            |pnl| pnl.open(5_000, 0),
            |pnl| pnl.fill(&fill(Side::Buy, 100, 250, None)),
            |pnl| pnl.mid(5_002),
            |pnl| pnl.fill(&fill(Side::Sell, 300, 760, Some(5_011))),
            |pnl| pnl.explain(TokenId(0), -40),
            |pnl| pnl.mid(4_990),
        ];
        let (mut whole, mut parted) = (MarketPnl::new(&market), MarketPnl::new(&market));
        for (at, step) in steps.iter().enumerate() {
            step(&mut whole);
            step(&mut parted);
            if at > 0 {
                let text = serde_json::to_string(&parted.state().unwrap()).unwrap();
                let state: PnlState = serde_json::from_str(&text).unwrap();
                assert_eq!(state.attribution(), whole.attribution(), "{at}");
                parted = MarketPnl::resume(&market, None, state).unwrap();
            }
            assert_eq!(parted.state(), whole.state(), "{at}");
        }
        let state = whole.state().unwrap();
        assert_ne!(state.attribution().unwrap().total.numerator, 0);
        assert_eq!(state.base(), 5_000 + 97 - 300 - 40);
        assert_eq!(state.quote(), -250 + 760 - 3);
        assert_eq!(state.mark(), Some(4_990));
        let terms = (state.factor, i128::from(state.denominator));
        let worth = state.value(7).unwrap();
        assert_eq!(worth.numerator, 7 * 4_990 * terms.0);
        assert_eq!(i128::from(worth.denominator), terms.1);
        // A state in other units is not continued.
        let mut other = market.clone();
        other.lot *= 10;
        assert!(MarketPnl::resume(&other, None, state.clone()).is_none());
        let mut wrong = state;
        wrong.spread += 1;
        assert!(wrong.attribution().is_none());
        assert!(MarketPnl::resume(&market, None, wrong).is_none());
    }

    /// Before the first mid nothing is valued, and everything is held.
    #[test]
    fn what_waits_for_a_price_is_held() {
        use cambist_core::PoolTransactionKind;
        use cambist_core::pool::PoolTransactionAmounts;

        let (market, pool) = (testing::market(), testing::pool());
        let mut pnl = MarketPnl::new(&market);
        pnl.add_pool(&pool);
        pnl.open(5_000, 40);
        pnl.fill(&fill(Side::Buy, 100, 250, None));
        pnl.fill(&fill(Side::Sell, 30, 76, None));
        pnl.moved(&PoolTransactionSettlement {
            order: testing::order(2),
            market: market.id,
            kind: PoolTransactionKind::Join,
            pooled: pool.pooled,
            lp: pool.lp.id,
            amounts: PoolTransactionAmounts {
                pooled: [400, 900],
                lp: 19,
                fee: 0,
            },
            mid: None,
        });
        let state = pnl.state().unwrap();
        assert_eq!(state.base(), 5_000 + 100 - 3 - 30 - 400);
        assert_eq!(state.quote(), -250 + 76 - 3 - 900);
        assert_eq!(state.shares(), Some((pool.lp.id, 40 + 19)));
        assert_eq!((state.mark(), state.value(1)), (None, None));
        let resumed = MarketPnl::resume(&market, Some(&pool), state.clone()).unwrap();
        assert_eq!(resumed.state(), Some(state.clone()));
        // The shares are those of one pool, whose tokens have an order.
        let mut other = pool.clone();
        other.lp.id = TokenId(8);
        assert!(MarketPnl::resume(&market, Some(&other), state.clone()).is_none());
        let mut turned = pool;
        turned.pooled.reverse();
        assert!(MarketPnl::resume(&market, Some(&turned), state).is_none());
    }
}
