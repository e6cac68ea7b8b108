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

impl QueueModel {
    /// Reads a model as it is written in files and arguments: `risk-averse`, `power:3`, `fifo`. The error names what
    /// there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, exponent) = match text.split_once(':') {
            Some((name, exponent)) => (name, Some(exponent)),
            None => (text, None),
        };
        let power = |default: f64| {
            let exponent = exponent.map_or(Ok(default), str::parse);
            exponent
                .ok()
                .filter(|n| n.is_finite() && *n > 0.0)
                .ok_or_else(|| {
                    format!("{text:?}: the exponent must be a number above 0, such as power:3")
                })
        };
        let model = match name {
            "power" => Model::Power(power(3.0)?),
            "power2" => Model::Power2(power(3.0)?),
            "power3" => Model::Power3(power(3.0)?),
            "risk-averse" if exponent.is_none() => Model::RiskAverse,
            "log" if exponent.is_none() => Model::Log,
            "log2" if exponent.is_none() => Model::Log2,
            "fifo" if exponent.is_none() => return Ok(Self::Fifo),
            _ => {
                return Err(format!(
                    "{text:?} is no queue model; there are risk-averse, power:N, power2:N, power3:N, log, log2 and fifo"
                ));
            }
        };
        Ok(Self::Estimated(model))
    }
}

/// How much of a resting order fills when the market reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FillRule {
    /// All of it, whatever quantity was traded or listed, as hftbacktest's exchange without partial fills. A taking
    /// order fills completely at the best price.
    WholeOrder,
    /// At most the quantity that was traded or newly listed at its price or beyond: all fills of one trade together are
    /// at most the trade, those of one level at most the level. A taking order walks the book; of a level that it took
    /// from, only what the recording adds later is available.
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
    /// Lots of the smallest fill: those of one lot of the recording. Estimated queue positions are no whole lots, and
    /// what fills of an order is.
    pub fill_lots: u64,
    /// Snapshots only: millionths of a decrease of the best level that count as traded; the rest counts as cancelled.
    /// With 0 an order fills only when the other side reaches its price.
    pub traded_share: u32,
}

impl Options {
    /// The most conservative assumptions: an order moves forward by trades alone and fills by the available quantity;
    /// no fees; no decrease of a snapshot's levels counts as a trade.
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
            fill_lots: 1,
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
    #[error("the lot, and the lots of a fill, must be a number above 0")]
    Lot,
    /// Invalid share of decreases that count as trades.
    #[error("the share that counts as traded must be at most 1,000,000 millionths")]
    TradedShare,
    /// Exact queues with snapshots.
    #[error(
        "exact queue positions need a recording that names every order: choose another queue model"
    )]
    FifoNeedsOrders,
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        if let QueueModel::Estimated(model) = self.queue {
            Position::new(model, 0.0).map_err(|_| OptionsError::Exponent)?;
        }
        if !(self.lot.is_finite() && self.lot > 0.0) || self.fill_lots == 0 {
            return Err(OptionsError::Lot);
        }
        if self.traded_share > 1_000_000 {
            return Err(OptionsError::TradedShare);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_models_have_words() {
        assert_eq!(QueueModel::parse("fifo"), Ok(QueueModel::Fifo));
        let power = QueueModel::Estimated(Model::Power2(1.5));
        assert_eq!(QueueModel::parse("power2:1.5"), Ok(power));
        for bad in ["power:0", "power:x", "power:nan", "log:2", "fast", ""] {
            assert!(QueueModel::parse(bad).is_err(), "{bad}");
        }
    }
}
