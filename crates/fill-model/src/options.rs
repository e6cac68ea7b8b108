//! Assumptions about an exchange of which only a recording is known.

use cambist_quant::queue::{Model, Position};
use serde::{Deserialize, Serialize};

use crate::fees::Fees;

/// How the queue position of a resting order is determined.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum QueueModel {
    /// From the quantities of levels: see [`cambist_quant::queue`].
    Estimated(Model),
    /// Exact, first in, first out: the recording must name every order.
    Fifo,
}

/// How much of a resting order fills when the market reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FillRule {
    /// All of it, whatever quantity was traded or listed, as hftbacktest's exchange without partial fills. A taking
    /// order fills completely at the best price.
    WholeOrder,
    /// At most the quantity that was traded or newly listed at its price or beyond: all fills of one trade together are
    /// at most the trade, those of one level at most the level. A taking order walks the book; the quantity it took is
    /// gone until the recording has a new quantity for the level.
    Available,
}

/// The assumptions of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// How queue positions are determined.
    pub queue: QueueModel,
    /// How much fills.
    pub rule: FillRule,
    /// The fees.
    pub fees: Fees,
    /// One lot in the unit of the logarithmic queue models: only they depend on it. hftbacktest uses quantities in
    /// base, so there it is the lot of the recording.
    pub lot: f64,
    /// Levels a side that the exchange's snapshots have: a side with fewer levels is complete.
    pub snapshot_depth: usize,
    /// Snapshots only: millionths of a decrease of the best level that count as traded; the rest counts as cancelled.
    /// With 0 an order fills only when the other side reaches its price.
    pub traded_share: u32,
}

impl Options {
    /// The most conservative assumptions: an order moves forward by trades alone and fills by the available quantity;
    /// no fees; snapshots of 20 levels, of whose decreases none counts as a trade.
    pub const fn careful() -> Self {
        Self {
            queue: QueueModel::Estimated(Model::RiskAverse),
            rule: FillRule::Available,
            fees: Fees {
                maker: crate::fees::FeeRate(0),
                taker: crate::fees::FeeRate(0),
                paid_in: crate::fees::FeeAsset::Quote,
            },
            lot: 1.0,
            snapshot_depth: 20,
            traded_share: 0,
        }
    }
}

/// Why a simulation cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Invalid exponent of a power model.
    #[error("the exponent of the queue model must be a number above 0")]
    Exponent,
    /// Invalid lot.
    #[error("the lot must be a number above 0")]
    Lot,
    /// Invalid share of decreases that count as trades.
    #[error("the share that counts as traded must be at most 1,000,000 millionths")]
    TradedShare,
    /// Exact queues with snapshots.
    #[error(
        "queues are known exactly only where a recording names every order: choose another queue model"
    )]
    FifoNeedsOrders,
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        if let QueueModel::Estimated(model) = self.queue {
            Position::new(model, 0.0).map_err(|_| OptionsError::Exponent)?;
        }
        if !(self.lot.is_finite() && self.lot > 0.0) {
            return Err(OptionsError::Lot);
        }
        if self.traded_share > 1_000_000 {
            return Err(OptionsError::TradedShare);
        }
        Ok(())
    }
}
