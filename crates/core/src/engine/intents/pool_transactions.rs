//! Every join and exit that may be undecided, and the last ones that ended.
//!
//! At most one for each pool. A pool transaction is added when it is sealed and removed only when its end is proven
//! (`lifecycle`); its changes are booked in the same step.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::event::BatchId;
use crate::market::MarketId;
use crate::order::{ClientOrderId, Hash};
use crate::pool::{PoolTransactionKind, UnsignedPoolTransaction};
use crate::request::Endpoint;
use crate::sorted_map::SortedMap;
use crate::token::{Amount, TokenId};

use crate::engine::intents::lifecycle::Lifecycle;

/// Number of ended pool transactions that are remembered.
const ENDED_KEPT: usize = 256;

/// A join or an exit that may be undecided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrackedPoolTransaction {
    pub(crate) wanted: UnsignedPoolTransaction,
    #[serde(rename = "life")]
    pub(crate) lifecycle: Lifecycle,
    /// Upper bound of what an exit may receive of each pooled token, for limits on incoming amounts.
    pub(crate) incoming: [Amount; 2],
}

impl TrackedPoolTransaction {
    /// A new join or exit being sealed.
    pub(crate) fn sealing(
        wanted: UnsignedPoolTransaction,
        incoming: [Amount; 2],
        batch: BatchId,
    ) -> Self {
        let endpoint = match wanted.kind {
            PoolTransactionKind::Join => Endpoint::Join,
            PoolTransactionKind::Exit => Endpoint::Exit,
        };
        Self {
            lifecycle: Lifecycle::sealing(endpoint, wanted.lifetime(), wanted.made_at, batch),
            wanted,
            incoming,
        }
    }
}

/// A join or an exit whose end is proven, remembered for a while so that a contradiction is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedPoolTransaction {
    pub(crate) id: ClientOrderId,
    /// Whether the end was concluded, without a report of the venue.
    pub(crate) concluded: bool,
}

/// All joins and exits that may be undecided, by number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PoolTransactionRegistry {
    active: SortedMap<ClientOrderId, TrackedPoolTransaction>,
    ended: BTreeMap<Hash, EndedPoolTransaction>,
    /// Ended hashes, oldest first.
    ended_order: VecDeque<Hash>,
}

impl PoolTransactionRegistry {
    pub(crate) fn insert(&mut self, tracked: TrackedPoolTransaction) {
        self.active.insert(tracked.wanted.client_id, tracked);
    }

    pub(crate) fn get(&self, id: ClientOrderId) -> Option<&TrackedPoolTransaction> {
        self.active.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ClientOrderId) -> Option<&mut TrackedPoolTransaction> {
        self.active.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TrackedPoolTransaction> {
        self.active.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut TrackedPoolTransaction> {
        self.active.values_mut()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    pub(crate) fn id_of(&self, hash: Hash) -> Option<ClientOrderId> {
        let found = self.iter().find(|t| t.lifecycle.hash == Some(hash))?;
        Some(found.wanted.client_id)
    }

    /// The undecided join or exit at the pool of a market.
    pub(crate) fn of_market(&self, market: MarketId) -> Option<&TrackedPoolTransaction> {
        self.iter().find(|t| t.wanted.market == market)
    }

    pub(crate) fn ended_mut(&mut self, hash: Hash) -> Option<&mut EndedPoolTransaction> {
        self.ended.get_mut(&hash)
    }

    /// Removes a join or an exit: its end is proven, by a report of the venue or by conclusion.
    pub(crate) fn end(
        &mut self,
        id: ClientOrderId,
        concluded: bool,
    ) -> Option<TrackedPoolTransaction> {
        let tracked = self.active.remove(&id)?;
        if let Some(hash) = tracked.lifecycle.hash {
            self.ended
                .insert(hash, EndedPoolTransaction { id, concluded });
            self.ended_order.push_back(hash);
            if self.ended_order.len() > ENDED_KEPT
                && let Some(oldest) = self.ended_order.pop_front()
            {
                self.ended.remove(&oldest);
            }
        }
        Some(tracked)
    }

    /// Amount of `token` reserved by every join and exit that may be undecided.
    pub(crate) fn reserved(&self, token: TokenId) -> Amount {
        let each = self.iter().map(|t| t.wanted.reserved(token));
        each.fold(0, Amount::saturating_add)
    }

    /// Amount of `token` that joins and exits may still receive.
    pub(crate) fn incoming(&self, token: TokenId) -> Amount {
        let exits = self
            .iter()
            .filter(|t| t.wanted.kind == PoolTransactionKind::Exit);
        let parts = exits.flat_map(|t| t.wanted.pooled.into_iter().zip(t.incoming));
        parts
            .filter(|(of, _)| *of == token)
            .fold(0, |sum, (_, amount)| sum.saturating_add(amount))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{hash, id};
    use crate::time::VenueTime;

    fn exit(number: u64) -> TrackedPoolTransaction {
        let wanted = UnsignedPoolTransaction {
            client_id: id(number),
            market: MarketId(0),
            kind: PoolTransactionKind::Exit,
            pooled: [TokenId(0), TokenId(1)],
            amounts: [10, 20],
            lp: TokenId(9),
            lp_amount: 5,
            storage_ids: vec![1],
            fee_max: 0,
            valid_until_s: 0,
            made_at: VenueTime(0),
        };
        let mut tracked = TrackedPoolTransaction::sealing(wanted, [10, 20], BatchId(1));
        tracked.lifecycle.hash = Some(hash(number));
        tracked
    }

    #[test]
    fn of_more_ended_ones_than_are_kept_the_first_is_forgotten() {
        let mut registry = PoolTransactionRegistry::default();
        let kept = ENDED_KEPT as u64;
        for number in 1..=kept + 1 {
            registry.insert(exit(number));
            assert!(registry.end(id(number), true).is_some());
            let is_first_kept = registry.ended_mut(hash(1)).is_some();
            assert_eq!(is_first_kept, number <= kept, "{number}");
            assert!(registry.ended_mut(hash(number)).is_some(), "{number}");
        }
        assert_eq!(registry.ended.len(), ENDED_KEPT);
        assert_eq!(registry.ended_order.len(), ENDED_KEPT);
    }
}
