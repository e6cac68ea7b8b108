//! What this engine publishes of its markets, for strategies of other venues.

use crate::elsewhere::{BookElsewhere, OtherHoldings, Published};
use crate::market::MarketId;
use crate::time::Time;

use crate::engine::intents::registry::Tracked;
use crate::engine::state::State;

impl State {
    /// The book of a market and what is held of its tokens.
    pub(crate) fn publish(&self, now: Time, id: MarketId) -> Published {
        let market = self.market(id);
        let prices = self.prices(id);
        let age_max_ms = self.config.poll.depth_age_max_ms;
        let book = self.readable_mid(now, id, &prices);
        // An account that is not read any more may have changed, while the pool in which it has shares is still read: a
        // hedge would trade against shares that may be gone.
        let balances_age_max_ms = self.config.poll.balances_age_max_ms;
        let balances_age_ms = self.ledger.age_ms(now);
        let are_young = balances_age_ms.is_some_and(|age_ms| age_ms <= balances_age_max_ms);
        let is_known = self.ready && are_young && self.books_withhold(id).is_none();
        Published {
            book: book.map(|mid| BookElsewhere {
                bids: prices.bids.clone(),
                asks: prices.asks.clone(),
                mid,
                age_ms: market.book.age_ms(now).unwrap_or(u64::MAX),
                age_max_ms,
            }),
            holdings: is_known.then(|| self.published_holdings(now, id)),
            taker_fee_bips: self.taker_fee_bips,
        }
    }

    fn published_holdings(&self, now: Time, id: MarketId) -> OtherHoldings {
        let spec = &self.market(id).spec;
        let pool = self.market(id).pool.as_ref();
        let is_fresh = pool.is_none_or(|pool| pool.fresh(now).is_some());
        let pooled = self.shares_due(id).filter(|_| is_fresh);
        let tokens = [spec.base.id, spec.quote.id];
        let trades = |order: &Tracked| {
            let [sold, bought] = [order.order.sell_token, order.order.buy_token];
            tokens.contains(&sold) || tokens.contains(&bought)
        };
        let foreign = |token| self.foreign.paying(token) > 0 || self.foreign.bringing(token) > 0;
        let undecided = self.orders.iter().any(trades)
            || !self.orders.pool_transactions.is_empty()
            || tokens.into_iter().any(foreign);
        OtherHoldings {
            base: self.ledger.total(spec.base.id),
            quote: self.ledger.total(spec.quote.id),
            pooled_base: pooled.map(|(base, _)| base),
            undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Balance;
    use crate::token::{Amount, TokenId};

    use crate::engine::account::foreign::Foreign;
    use crate::engine::account::ledger::OwnLocks;
    use crate::engine::testing::{AGE_MAX_MS, HELD, state};

    /// As old as new orders need them, and by a millisecond older.
    #[test]
    fn what_is_held_is_not_known_once_balances_are_too_old() {
        let asked = Time::from_ms(1_000);
        let mut state = state(asked);
        let held = |state: &State, now| {
            let holdings = state.publish(now, MarketId(0)).holdings;
            holdings.map(|held| held.base)
        };
        assert_eq!(held(&state, asked), None, "never read");
        let read = |state: &mut State, asked| {
            let balance = Balance {
                token: TokenId(0),
                total: HELD.unsigned_abs(),
                locked: 0,
            };
            let ledger = &mut state.ledger;
            ledger.balances(asked, asked, 0, OwnLocks::new(), &[balance]);
        };
        read(&mut state, asked);
        let known: Option<Amount> = Some(HELD.unsigned_abs());
        let oldest = asked.plus_ms(AGE_MAX_MS);
        assert_eq!(held(&state, oldest), known);
        let older = oldest.plus_ms(1);
        assert_eq!(held(&state, older), None);
        read(&mut state, older);
        assert_eq!(held(&state, older), known, "read again");
    }

    /// A managed order of others may still pay one token and bring the other.
    #[test]
    fn a_managed_order_makes_holdings_undecided() {
        let mut state = state(Time::from_ms(1_000));
        let is_undecided = |state: &State| {
            let holdings = state.published_holdings(Time::from_ms(1_000), MarketId(0));
            holdings.undecided
        };
        assert!(!is_undecided(&state));
        for (sold, bought, expected) in [(0, 9, true), (9, 1, true), (8, 9, false)] {
            state.foreign = Foreign::managing(TokenId(sold), TokenId(bought));
            assert_eq!(is_undecided(&state), expected, "{sold} for {bought}");
        }
    }
}
