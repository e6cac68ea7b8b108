//! What a game of the tournament reads of a world.

use cambist_core::{ClientOrderId, Hash, MarketSpec};

use crate::tournament::Flows;
use crate::world::World;

impl World {
    /// The daemon has ended an order: it is an orphan if the exchange still has it.
    pub(super) fn forget(&mut self, hash: Hash) {
        if self.exchange.venue().is_open(&hash) {
            let filled = self.ground_truth.traded_base(&hash);
            self.forgotten.insert(hash, filled);
        }
    }

    /// The exchange has taken an order: it is an orphan if a running daemon has ended it before.
    pub(super) fn taken_unclaimed(&mut self, id: ClientOrderId, hash: Hash) {
        let mut daemon = self.daemon.iter();
        if daemon.any(|daemon| !daemon.sealed.contains_key(&id)) {
            self.forgotten.insert(hash, 0);
        }
    }

    /// Orders that rest although the daemon has ended them, and those that filled after that.
    pub(crate) fn orphans(&self) -> u64 {
        let is_orphan = |(hash, filled): &(&Hash, &u128)| {
            self.exchange.venue().is_open(hash) || self.ground_truth.traded_base(hash) > **filled
        };
        self.forgotten.iter().filter(is_orphan).count() as u64
    }

    /// Whether own orders rest on both sides of every market.
    pub(crate) fn rests_on_both(&mut self) -> bool {
        self.exchange.advance(self.now);
        self.take_trades();
        self.ground_truth.prune(self.exchange.venue());
        let mut markets = self.specs.iter().map(|spec: &MarketSpec| spec.id);
        markets.all(|market| self.ground_truth.rests_on_both(market))
    }

    /// What the orders have traded.
    pub(crate) fn flows(&self) -> Flows {
        let mut flows = Flows::default();
        for (_, taken) in self.ground_truth.iter() {
            flows.add(taken.side, taken.filled);
        }
        flows
    }
}
