//! Orders of ours that rest on one side, best price first, and their places in the queues.

use cambist_core::{Price, Qty, Side};
use cambist_market_data::book::priority;
use cambist_quant::queue::{Model, Position};

use crate::options::QueueModel;
use crate::order::OrderId;

/// The place of an order in the queue of its price.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Moved forward by trades alone, in whole lots: the model [`Model::RiskAverse`], exactly.
    Careful(i64),
    /// Estimated, in the unit of the options.
    Estimated(Position),
    /// Known: behind all orders that arrived before it. Lots in front.
    Exact(u64),
    /// Not known: the level is beyond what snapshots show.
    Unknown,
}

/// A resting order.
#[derive(Clone, Copy, Debug)]
pub struct Resting {
    pub id: OrderId,
    pub price: u64,
    pub remaining: u64,
    /// Position among all arrivals at the exchange, recorded orders included.
    pub arrival: u64,
    pub place: Place,
}

/// The resting orders of a side.
#[derive(Clone, Debug)]
pub struct Orders {
    side: Side,
    /// Best price first, then by arrival.
    list: Vec<Resting>,
    /// Priorities of the best and the worst price among them: 0 and the highest if there is none.
    best: u64,
    worst: u64,
    /// Their difference, 0 if there is none.
    span: u64,
}

impl Orders {
    pub const fn new(side: Side) -> Self {
        Self {
            side,
            list: Vec::new(),
            best: 0,
            worst: u64::MAX,
            span: 0,
        }
    }

    pub fn list(&self) -> &[Resting] {
        &self.list
    }

    pub fn list_mut(&mut self) -> &mut [Resting] {
        &mut self.list
    }

    /// Whether some order may rest at a price; rarely wrong, never when it says no.
    #[inline]
    pub const fn may_rest_at(&self, price: Price) -> bool {
        priority(self.side, price.0).wrapping_sub(self.worst) <= self.span
    }

    /// Whether an order on the other side with this price reaches one of these.
    #[inline]
    pub const fn is_reached_by(&self, price: Price) -> bool {
        priority(self.side, price.0) <= self.best
    }

    pub fn insert(&mut self, order: Resting) {
        let new = priority(self.side, order.price);
        let at = self
            .list
            .partition_point(|other| priority(self.side, other.price) >= new);
        self.list.insert(at, order);
        self.measure();
    }

    pub fn position(&self, id: OrderId) -> Option<usize> {
        self.list.iter().position(|order| order.id == id)
    }

    pub fn remove(&mut self, at: usize) -> Resting {
        let order = self.list.remove(at);
        self.measure();
        order
    }

    /// Removes the orders of which nothing is left.
    pub fn remove_filled(&mut self) {
        self.list.retain(|order| order.remaining > 0);
        self.measure();
    }

    fn measure(&mut self) {
        let of = |order: Option<&Resting>| order.map(|order| priority(self.side, order.price));
        let (best, worst) = (of(self.list.first()), of(self.list.last()));
        (self.best, self.worst) = (best.unwrap_or(0), worst.unwrap_or(u64::MAX));
        self.span = self.best.saturating_sub(self.worst);
    }
}

impl Resting {
    pub const fn price(&self) -> Price {
        Price(self.price)
    }

    pub const fn remaining(&self) -> Qty {
        Qty(self.remaining)
    }
}

impl Place {
    /// The place of an order that arrives at a level with so many lots; `None` if nobody knows how many.
    pub fn new(model: QueueModel, level: Option<u64>, lot: f64) -> Self {
        match (model, level) {
            (_, None) => Self::Unknown,
            (QueueModel::Fifo, Some(level)) => Self::Exact(level),
            (QueueModel::Estimated(Model::RiskAverse), Some(level)) => Self::Careful(signed(level)),
            (QueueModel::Estimated(model), Some(level)) => {
                // Refused are exponents and quantities that are no finite numbers above 0.
                Position::new(model, float(level) * lot).map_or(Self::Unknown, Self::Estimated)
            }
        }
    }

    /// The level now holds so many lots.
    #[inline]
    pub fn depth(&mut self, level: u64, model: QueueModel, lot: f64) {
        match self {
            Self::Careful(front) => *front = (*front).min(signed(level)),
            Self::Estimated(position) => _ = position.depth(float(level) * lot),
            Self::Exact(_) => {}
            Self::Unknown => *self = Self::new(model, Some(level), lot),
        }
    }

    /// So many lots traded at the price; `left` of them are left for others, as orders of ours in front
    /// of this one took the rest. Lots that this order may fill.
    #[inline]
    pub fn trade(&mut self, traded: u64, left: u64, lot: f64) -> u64 {
        match self {
            Self::Careful(front) => {
                *front = front.saturating_sub_unsigned(left);
                let beyond = (*front).min(0).unsigned_abs();
                *front = (*front).max(0);
                beyond
            }
            Self::Estimated(position) => {
                let filled = position
                    .trade(float(traded) * lot)
                    .and_then(|()| position.give_back(float(traded - left) * lot))
                    .and_then(|()| position.take_filled(lot));
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a whole number from 0 to the lots traded"
                )]
                filled.map_or(0, |lots| lots as u64)
            }
            Self::Exact(_) | Self::Unknown => 0,
        }
    }

    /// Lots in front, rounded down, where they are known or estimated.
    pub fn in_front(&self, lot: f64) -> Option<u64> {
        match self {
            Self::Careful(front) => Some(front.unsigned_abs()),
            Self::Estimated(position) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a finite number from 0"
                )]
                let lots = (position.front() / lot).max(0.0) as u64;
                Some(lots)
            }
            Self::Exact(front) => Some(*front),
            Self::Unknown => None,
        }
    }
}

/// Lots as the models count them: exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a model's quantity, not money")]
const fn float(lots: u64) -> f64 {
    lots as f64
}

/// Lots with a sign; more than there can be are as many as fit.
#[inline]
fn signed(lots: u64) -> i64 {
    i64::try_from(lots).unwrap_or(i64::MAX)
}
