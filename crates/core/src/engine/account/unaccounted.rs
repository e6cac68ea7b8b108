//! What orders may have changed of the venue's balances that no list has shown since the balances arrived.
//!
//! An order that a complete list leaves out may be unknown to the venue, or have been filled a moment ago. Until its fence
//! its part of the balances is unknown, but not more than what was signed: what differs beyond that is no fill.

use crate::market::Side;
use crate::sorted_map::SortedMap;
use crate::token::{Amount, TokenId};

use crate::engine::intents::registry::Tracked;

/// By token, base units: the most that may have been paid, and that may have been received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unaccounted(SortedMap<TokenId, (Amount, Amount)>);

#[cfg(test)]
impl<const N: usize> From<[(TokenId, (Amount, Amount)); N]> for Unaccounted {
    fn from(of: [(TokenId, (Amount, Amount)); N]) -> Self {
        Self(of.into())
    }
}

impl Unaccounted {
    /// Every order is accounted for.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self(SortedMap::new());

    /// Of orders of which everything that is left may have been filled.
    pub(crate) fn of<'a>(orders: impl Iterator<Item = &'a Tracked>) -> Self {
        let mut all = Self::default();
        for tracked in orders {
            let order = &tracked.order;
            let received = match order.side {
                Side::Buy if !tracked.is_swap() => tracked.base_left(tracked.base_amount()),
                // At which price above its limit something is sold is not bounded.
                Side::Buy | Side::Sell => Amount::MAX,
            };
            all.add(order.sell_token, tracked.reserved(), 0);
            all.add(order.buy_token, 0, received);
        }
        all
    }

    fn add(&mut self, token: TokenId, paid: Amount, received: Amount) {
        let sums = self.0.entry(token).or_default();
        sums.0 = sums.0.saturating_add(paid);
        sums.1 = sums.1.saturating_add(received);
    }

    /// Whether every order is accounted for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The most of a token that may have been paid, and that may have been received.
    pub(crate) fn of_token(&self, token: TokenId) -> (Amount, Amount) {
        self.0.get(&token).copied().unwrap_or_default()
    }
}
