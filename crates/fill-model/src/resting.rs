//! Our resting orders on one side, best price first, with their queue positions.

use cambist_core::{Price, Qty, Side};
use cambist_market_data::Timestamp;
use cambist_market_data::book::priority;
use cambist_quant::queue::{Model, Position};

use crate::options::{Options, QueueModel};
use crate::order::OrderId;

/// The queue position of an order at its price.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Moved forward by trades alone, in whole lots: exactly the model [`Model::RiskAverse`].
    Careful(i64),
    /// Estimated, in the unit of the options.
    Estimated(Position),
    /// Exact: behind all orders that arrived before it. Lots in front.
    Exact(u64),
    /// Not known: the level is beyond the last one of a snapshot.
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
    /// Its place by the trades so far of a time, before the changes of its level at that time: of the rows of one time,
    /// trades count first.
    pub by_trades: Option<(Timestamp, Place)>,
}

/// The resting orders of a side.
#[derive(Clone, Debug)]
pub struct Orders {
    side: Side,
    /// Best price first, then by arrival.
    list: Vec<Resting>,
    /// Priorities of the best and the worst price among the orders: 0 and the highest value if there are none.
    best: u64,
    worst: u64,
    /// Their difference; 0 if there are no orders.
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

    /// Whether an order may rest at a price: may be true without one, never false with one.
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

    /// Removes the orders that are completely filled.
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

    /// Its level has a new quantity at a time.
    #[inline]
    pub fn level_changed(&mut self, time: Timestamp, level: u64, model: QueueModel, lot: f64) {
        if self.by_trades.is_none_or(|(at, _)| at != time) {
            self.by_trades = Some((time, self.place));
        }
        self.place.depth(level, model, lot);
    }

    /// A trade at its price, as [`Place::trade`]. What the level lost at the same time was lost to this trade first: the
    /// change of the level, which is `level` lots now, is applied again after it.
    #[inline]
    pub fn traded(
        &mut self,
        time: Timestamp,
        level: Option<u64>,
        amounts: (u64, u64),
        options: &Options,
    ) -> u64 {
        let &Options { queue, lot, .. } = options;
        let Some((_, before)) = self.by_trades.filter(|(at, _)| *at == time) else {
            return self.place.trade(amounts, options);
        };
        self.place = before;
        let filled = self.place.trade(amounts, options);
        self.by_trades = Some((time, self.place));
        if let Some(level) = level {
            self.place.depth(level, queue, lot);
        }
        filled
    }
}

impl Place {
    /// The position of an order that arrives at a level with this many lots; `None` if that is not known.
    pub fn new(model: QueueModel, level: Option<u64>, lot: f64) -> Self {
        match (model, level) {
            (_, None) => Self::Unknown,
            (QueueModel::Fifo, Some(level)) => Self::Exact(level),
            (QueueModel::Estimated(Model::RiskAverse), Some(level)) => Self::Careful(signed(level)),
            (QueueModel::Estimated(model), Some(level)) => {
                // Refuses exponents and quantities that are not finite numbers above 0.
                Position::new(model, float(level) * lot).map_or(Self::Unknown, Self::Estimated)
            }
        }
    }

    /// Applies the new quantity of the level.
    #[inline]
    pub fn depth(&mut self, level: u64, model: QueueModel, lot: f64) {
        match self {
            Self::Careful(front) => *front = (*front).min(signed(level)),
            Self::Estimated(position) => _ = position.depth(float(level) * lot),
            Self::Exact(_) => {}
            Self::Unknown => *self = Self::new(model, Some(level), lot),
        }
    }

    /// Applies a trade of `traded` lots at the price, of which our orders in front of this one have left `left`.
    /// Returns the lots that this order may fill.
    #[inline]
    pub fn trade(&mut self, (traded, left): (u64, u64), options: &Options) -> u64 {
        let lot = options.lot;
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
                    .and_then(|()| position.take_filled(lot * float(options.fill_lots)));
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a whole number from 0 to the lots traded"
                )]
                let steps = filled.map_or(0, |steps| steps as u64);
                steps.saturating_mul(options.fill_lots)
            }
            Self::Exact(_) | Self::Unknown => 0,
        }
    }

    /// Lots in front, rounded down, if exact or estimated.
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

/// Lots as the float of the models: exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a model's quantity, not money")]
const fn float(lots: u64) -> f64 {
    lots as f64
}

/// Lots as a signed number; saturates.
#[inline]
fn signed(lots: u64) -> i64 {
    i64::try_from(lots).unwrap_or(i64::MAX)
}
