//! Hanging orders, as in hummingbot: after a fill, the nearest order of the other side stays until it fills or the mid
//! is far from it, while the ladder moves.

use std::collections::VecDeque;

use cambist_core::order::ClientOrderId;
use cambist_core::strategy::{OwnOrder, View};
use cambist_core::{Price, Qty, Side};
use serde::{Deserialize, Serialize};

use crate::sizing::{BPS, passive};

/// Most hanging orders; beyond that a fill leaves no further order hanging.
const HANGING_MAX: usize = 16;
/// Filled orders that are remembered, so that several fills of one order leave one order hanging.
const FILLED_MAX: usize = 64;

/// The hanging orders, by price: an order that expires is replaced at its price.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hanging {
    places: Vec<(Side, Price)>,
    filled: VecDeque<ClientOrderId>,
}

impl Hanging {
    /// Handles the fills since the last decision, and drops orders that no longer rest or are `cancel_bps` from the
    /// mid.
    pub fn observe(&mut self, view: &View<'_>, cancel_bps: u32) {
        if cancel_bps == 0 {
            return;
        }
        let stays = |side, price: Price| {
            let away = (2 * u128::from(price.0)).abs_diff(view.mid.into());
            away * u128::from(BPS) <= u128::from(view.mid) * u128::from(cancel_bps)
                && rests(view, side, price).is_some()
        };
        self.places.retain(|&(side, price)| stays(side, price));
        for fill in view.fills {
            if self.filled.contains(&fill.order) {
                continue;
            }
            if self.filled.len() == FILLED_MAX {
                self.filled.pop_front();
            }
            self.filled.push_back(fill.order);
            let other = fill.side.opposite();
            let others = view.own.iter().filter(|own| own.side == other);
            let free = others
                .filter(|own| !self.contains(other, own.price))
                .filter(|own| stays(other, own.price));
            let nearest = free.min_by_key(|own| (2 * own.price.0).abs_diff(view.mid));
            if let Some(own) = nearest
                && self.places.len() < HANGING_MAX
            {
                self.places.push((other, own.price));
            }
        }
    }

    /// Drops the order at the price of a level: it is the level's order.
    pub fn release(&mut self, side: Side, levels: &[Price]) {
        self.places
            .retain(|place| place.0 != side || !levels.contains(&place.1));
    }

    /// Whether an order hangs at a price.
    pub fn contains(&self, side: Side, price: Price) -> bool {
        self.places.contains(&(side, price))
    }

    /// Prices and remainders of the hanging orders of a side.
    pub fn of_side(&self, view: &View<'_>, side: Side) -> Vec<(Price, Qty)> {
        let places = self.places.iter().filter(|place| place.0 == side);
        places
            .filter_map(|&(_, price)| Some((price, rests(view, side, price)?)))
            .collect()
    }
}

/// The remainder of the order at a price, or of its replacement if it is close to its expiry.
fn rests(view: &View<'_>, side: Side, price: Price) -> Option<Qty> {
    let here = |own: &&OwnOrder| own.side == side && own.price == price && !own.cancelling;
    let newest = view.own.iter().filter(here).min_by_key(|own| own.expiring);
    newest
        .filter(|_| passive(view, side, price) == price)
        .map(|own| own.remaining)
}
