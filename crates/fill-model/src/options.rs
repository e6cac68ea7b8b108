//! What is assumed about an exchange that is only known from a recording.

use cambist_quant::queue::{Model, Position};
use serde::{Deserialize, Serialize};

use crate::fees::Fees;

/// How it is told which place a resting order has in the queue of its price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum QueueModel {
    /// From the quantities of levels: see [`cambist_quant::queue`].
    Estimated(Model),
    /// Exactly, first in first out: the recording has to name every order.
    Fifo,
}

/// How much of a resting order fills when the market reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FillRule {
    /// All of it, whatever was traded or shown: that of hftbacktest's exchange without partial fills. An
    /// order that takes fills whole at the best price.
    WholeOrder,
    /// No more than was traded or newly shown at its price or beyond: all fills of one trade together are
    /// no larger than the trade, those of one level no larger than the level. An order that takes walks
    /// the book; what it took is gone until the recording says something new about the level.
    Available,
}

/// The assumptions of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// How places in queues are estimated.
    pub queue: QueueModel,
    /// How much fills.
    pub rule: FillRule,
    /// What it costs.
    pub fees: Fees,
    /// One lot in the unit of the logarithmic queue models: they depend on it, all others do not.
    /// hftbacktest has quantities in base: the lot of the recording there.
    pub lot: f64,
    /// Levels a side that the exchange's snapshots have: where a side has fewer, there are no others.
    pub snapshot_depth: usize,
    /// Snapshots only: millionths of a decrease of the best level that count as traded; the rest was
    /// cancelled. 0: an order fills only when the other side reaches its price.
    pub traded_share: u32,
}

impl Options {
    /// The most careful assumptions: an order moves forward by trades alone and fills by what was
    /// available; no fees; snapshots of 20 levels, in which nothing is taken for a trade.
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

/// Why a simulation cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The exponent of a power model.
    #[error("the exponent of the queue model must be a number above 0")]
    Exponent,
    /// The lot.
    #[error("the lot must be a number above 0")]
    Lot,
    /// The share of decreases that are trades.
    #[error("the share that counts as traded must be at most 1,000,000 millionths")]
    TradedShare,
    /// Exact queues of snapshots.
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
