//! Lots: realised and unrealised profit by two methods, which agree on the total only.
//!
//! Sources: FIFO and weighted average cost as in IAS 2, with fees in either token.

use std::collections::VecDeque;

use super::Fill;
use crate::number::{Number, least};

/// Base at a unit cost; negative when sold short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lot<N> {
    /// Base, signed.
    pub base: N,
    /// Quote for each base, fees included.
    pub unit_cost: N,
}

/// Base change and unit price of a fill, fees included: a buy with its fee in base is a lot of
/// `q − f` at `q·p/(q − f)`.
fn lot<N: Number>(fill: &Fill<N>) -> Lot<N> {
    let (base, quote) = fill.changes();
    Lot {
        unit_cost: -(quote / base.clone()),
        base,
    }
}

fn absolute<N: Number>(value: &N) -> N {
    if *value < N::zero() {
        -value.clone()
    } else {
        value.clone()
    }
}

fn is_opposite<N: Number>(a: &N, b: &N) -> bool {
    (*a > N::zero() && *b < N::zero()) || (*a < N::zero() && *b > N::zero())
}

/// First in, first out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fifo<N> {
    /// The open lots, oldest first; all of one sign.
    pub lots: VecDeque<Lot<N>>,
    /// Quote realised by closed lots.
    pub realised: N,
}

impl<N: Number> Default for Fifo<N> {
    fn default() -> Self {
        Self {
            lots: VecDeque::new(),
            realised: N::zero(),
        }
    }
}

impl<N: Number> Fifo<N> {
    /// Adds a fill. It closes the oldest lots of the opposite sign; the rest opens a new lot.
    ///
    /// FIFO (IAS 2); a fee in base makes the lot smaller and its unit cost higher.
    pub fn push(&mut self, fill: &Fill<N>) {
        let Lot {
            mut base,
            unit_cost: price,
        } = lot(fill);
        while let Some(oldest) = self.lots.front_mut() {
            if !is_opposite(&oldest.base, &base) {
                break;
            }
            let size = least(absolute(&oldest.base), absolute(&base));
            let closed = if oldest.base < N::zero() { -size } else { size };
            self.realised =
                self.realised.clone() + closed.clone() * (price.clone() - oldest.unit_cost.clone());
            base = base + closed.clone();
            oldest.base = oldest.base.clone() - closed;
            if oldest.base.is_zero() {
                self.lots.pop_front();
            }
        }
        if !base.is_zero() {
            self.lots.push_back(Lot {
                base,
                unit_cost: price,
            });
        }
    }

    /// The profit of the open lots at a mid, quote.
    pub fn unrealised(&self, mid: &N) -> N {
        crate::number::sum(
            self.lots
                .iter()
                .map(|lot| lot.base.clone() * (mid.clone() - lot.unit_cost.clone())),
        )
    }
}

/// The position at its average cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AverageCost<N> {
    /// Base held, signed.
    pub position: N,
    /// Its average cost, quote for each base; 0 when nothing is held.
    pub unit_cost: N,
    /// Quote realised by closed lots.
    pub realised: N,
}

impl<N: Number> Default for AverageCost<N> {
    fn default() -> Self {
        Self {
            position: N::zero(),
            unit_cost: N::zero(),
            realised: N::zero(),
        }
    }
}

impl<N: Number> AverageCost<N> {
    /// Adds a fill. A fill in the direction of the position changes the average; one against it
    /// realises the difference from it. The digits of an exact average grow with every fill: use
    /// floats for long histories.
    ///
    /// Weighted average cost (IAS 2).
    pub fn push(&mut self, fill: &Fill<N>) {
        let Lot {
            base,
            unit_cost: price,
        } = lot(fill);
        if is_opposite(&self.position, &base) {
            let size = least(absolute(&self.position), absolute(&base));
            let closed = if self.position < N::zero() {
                -size
            } else {
                size
            };
            self.realised =
                self.realised.clone() + closed * (price.clone() - self.unit_cost.clone());
            let before = core::mem::replace(&mut self.position, N::zero());
            self.position = before.clone() + base;
            if self.position.is_zero() {
                self.unit_cost = N::zero();
            } else if is_opposite(&before, &self.position) {
                self.unit_cost = price;
            }
        } else {
            let position = self.position.clone() + base.clone();
            self.unit_cost =
                (self.unit_cost.clone() * self.position.clone() + price * base) / position.clone();
            self.position = position;
        }
    }

    /// The profit of the position at a mid, quote.
    pub fn unrealised(&self, mid: &N) -> N {
        self.position.clone() * (mid.clone() - self.unit_cost.clone())
    }
}
