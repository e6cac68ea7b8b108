//! Signed orders whose fence has not passed, whatever the venue reported of them.
//!
//! Limits on orders that may be alive trust the venue about the end of an order: cancelled, filled, refused. A venue
//! that acknowledges a cancel and keeps the order has more than that. Until expiry and grace have passed on its clock,
//! no report makes a signature worthless, so every signed order counts here in full from its creation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fence;
use crate::notification::Control;
use crate::order::UnsignedOrder;
use crate::sorted_map::SortedMap;
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};

use crate::engine::state::State;

/// Base units signed, by base token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signed(SortedMap<TokenId, Expiring>);

/// Base units of one token. Every new order is compared with their sum, which changes with orders and with seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BySecond", into = "BySecond")]
struct Expiring {
    by_second: BySecond,
    sum: Amount,
}

/// By second of expiry.
type BySecond = BTreeMap<u32, Amount>;

impl Expiring {
    fn add(&mut self, base: Amount, valid_until_s: u32) {
        let of_second = self.by_second.entry(valid_until_s).or_default();
        *of_second = of_second.saturating_add(base);
        self.sum = self.sum.saturating_add(base);
    }

    /// The sum of what is not dead.
    fn total(&self, venue_now: VenueTime, grace_ms: u64) -> Amount {
        let alive = |until_s: u32| !is_dead(until_s, venue_now, grace_ms);
        match self.by_second.first_key_value() {
            Some((first_s, _)) if alive(*first_s) => self.sum,
            _ => {
                let alive = self
                    .by_second
                    .iter()
                    .filter(|(until_s, _)| alive(**until_s));
                sum(alive.map(|(_, base)| *base))
            }
        }
    }

    /// Removes what is dead; returns whether there was any.
    fn maintain(&mut self, venue_now: VenueTime, grace_ms: u64) -> bool {
        let mut freed = None;
        while let Some(first) = self.by_second.first_entry()
            && is_dead(*first.key(), venue_now, grace_ms)
        {
            let dead: Amount = first.remove();
            freed = Some(freed.unwrap_or(Amount::default()).saturating_add(dead));
        }
        let Some(freed) = freed else {
            return false;
        };
        // A sum that was not cut off is exact, and so is what is left of it.
        self.sum = match self.sum {
            Amount::MAX => sum(self.by_second.values().copied()),
            exact => exact.saturating_sub(freed),
        };
        true
    }
}

impl From<BySecond> for Expiring {
    fn from(by_second: BySecond) -> Self {
        let sum = sum(by_second.values().copied());
        Self { by_second, sum }
    }
}

impl From<Expiring> for BySecond {
    fn from(expiring: Expiring) -> Self {
        expiring.by_second
    }
}

fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(0, Amount::saturating_add)
}

impl Signed {
    /// Amounts signed by earlier runs.
    pub(crate) fn of(before: &[(TokenId, u32, Amount)]) -> Self {
        let mut signed = Self::default();
        for (token, valid_until_s, base) in before {
            signed.add(*token, *base, *valid_until_s);
        }
        signed
    }

    /// Adds an order that is about to be signed, or was signed by an earlier run.
    pub(crate) fn add(&mut self, token: TokenId, base: Amount, valid_until_s: u32) {
        self.0.entry(token).or_default().add(base, valid_until_s);
    }

    /// As [`Signed::add`], for an order.
    pub(crate) fn add_order(&mut self, order: &UnsignedOrder) {
        let (token, base) = order.base();
        self.add(token, base, order.signature_until_s());
    }

    /// Base units of a token that the venue could still fill, both sides together.
    pub(crate) fn total(&self, token: TokenId, venue_now: VenueTime, grace_ms: u64) -> Amount {
        let expiring = self.0.get(&token);
        expiring.map_or(0, |expiring| expiring.total(venue_now, grace_ms))
    }

    /// When the first of them is dead, so that more may be signed.
    pub(crate) fn frees_at(&self, token: TokenId, grace_ms: u64) -> Option<VenueTime> {
        let (first_s, _) = self.0.get(&token)?.by_second.first_key_value()?;
        Some(VenueTime::from_s((*first_s).into()).plus_ms(grace_ms))
    }

    /// Removes dead ones; returns whether there were any.
    pub(crate) fn maintain(&mut self, venue_now: VenueTime, grace_ms: u64) -> bool {
        let mut freed = false;
        for expiring in self.0.values_mut() {
            freed |= expiring.maintain(venue_now, grace_ms);
        }
        freed
    }
}

impl State {
    /// Removes dead ones, and has quotes that waited for them decided again.
    pub(crate) fn maintain_signed(&mut self, now: Time) {
        let venue_now = self.clock.at_least(now);
        if self.signed.maintain(venue_now, self.config.grace_ms) {
            for market in &mut self.markets {
                market.decision_due |= market.refused_by.contains(&Control::SignedUnexpired);
            }
        }
    }

    /// When quotes that wait for expiries are next decided again.
    pub(crate) fn signed_frees_at(&self) -> Option<VenueTime> {
        let waiting = self.markets.iter();
        waiting
            .filter(|market| market.refused_by.contains(&Control::SignedUnexpired))
            .filter_map(|market| {
                let token = market.spec.base.id;
                self.signed.frees_at(token, self.config.grace_ms)
            })
            .min()
    }
}

fn is_dead(valid_until_s: u32, venue_now: VenueTime, grace_ms: u64) -> bool {
    let valid_until = VenueTime::from_s(valid_until_s.into());
    fence::is_behind(venue_now, valid_until, grace_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: TokenId = TokenId(3);
    const GRACE_MS: u64 = 3_000;

    #[test]
    fn signed_orders_count_until_their_fence() {
        let mut signed = Signed::default();
        signed.add(TOKEN, 5, 10);
        signed.add(TOKEN, 7, 10);
        signed.add(TOKEN, 11, 12);
        signed.add(TokenId(4), 100, 10);
        let total = |signed: &Signed, ms| signed.total(TOKEN, VenueTime(ms), GRACE_MS);
        assert_eq!(total(&signed, 0), 23);
        assert_eq!(total(&signed, 13_000), 23);
        assert_eq!(total(&signed, 13_001), 11);
        assert_eq!(signed.frees_at(TOKEN, GRACE_MS), Some(VenueTime(13_000)));
        assert!(!signed.maintain(VenueTime(13_000), GRACE_MS));
        assert_eq!(total(&signed, 0), 23, "nothing is dead yet");
        assert!(signed.maintain(VenueTime(13_001), GRACE_MS));
        assert_eq!(total(&signed, 0), 11, "dropped");
        assert_eq!(signed.frees_at(TOKEN, GRACE_MS), Some(VenueTime(15_000)));
        assert_eq!(signed.frees_at(TokenId(9), GRACE_MS), None);
    }
}
