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
        let is_known = self.ready && self.books_withhold(id).is_none();
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
