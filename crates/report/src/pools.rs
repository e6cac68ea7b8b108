//! Counts of the joins and exits of one pool.

use cambist_core::notification::{End, PoolStatus, PoolTransactionSettlement};
use cambist_core::{Amount, MarketId, PoolSpec, PoolTransactionKind};

/// The counts of one pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolCounts {
    pub(crate) spec: PoolSpec,
    pub(crate) joins: u64,
    pub(crate) exits: u64,
    /// Joins and exits whose end is proven and that changed no balance.
    pub(crate) failed: u64,
    pub(crate) held: Amount,
}

impl PoolCounts {
    pub(crate) fn new(spec: &PoolSpec) -> Self {
        Self {
            spec: spec.clone(),
            joins: 0,
            exits: 0,
            failed: 0,
            held: 0,
        }
    }

    pub(crate) fn is_of(&self, market: MarketId) -> bool {
        self.spec.market == market
    }

    pub(crate) const fn moved(&mut self, moved: &PoolTransactionSettlement) {
        match moved.kind {
            PoolTransactionKind::Join => self.joins += 1,
            PoolTransactionKind::Exit => self.exits += 1,
        }
    }

    pub(crate) fn ended(&mut self, end: End) {
        self.failed += u64::from(end != End::Filled && end != End::NeverSent);
    }

    pub(crate) const fn status(&mut self, status: &PoolStatus) {
        self.held = status.held;
    }
}
