//! What a process strategy keeps between decisions: the part of the engine's snapshots that is its own.

use cambist_core::notification::Fill;
use cambist_core::strategy::{OwnOrder, Quote};
use cambist_core::{ClientOrderId, MarketSpec, Price, Qty, Side, Time};
use serde::{Deserialize, Serialize};

use crate::FILLS_MAX;

/// The memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// The process runs.
    pub(crate) runs: bool,
    /// Number of the newest view.
    pub(crate) view_seq: u64,
    /// When that was made, and what it showed; `None` before the first of this process.
    pub(crate) newest_view: Option<(Time, u64)>,
    /// It is not answered yet.
    pub(crate) is_unanswered: bool,
    /// The answer that counts.
    pub(crate) target: Option<Accepted>,
    /// The last answer was refused.
    pub(crate) is_refused: bool,
    /// Fills that no answered view has shown.
    pub(crate) fills: Vec<NewFill>,
    /// Own orders at the last decision.
    pub(crate) own: Vec<(ClientOrderId, Side, Price)>,
    /// What is kept for the process, as JSON.
    pub(crate) state: Option<String>,
}

/// An answer that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Accepted {
    /// When its view was made.
    pub(crate) made: Time,
    /// Its quotes: side, price, quantity, rank.
    pub(crate) quotes: Vec<(Side, Price, Qty, u16)>,
}

/// A fill that no answered view has shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewFill {
    /// The fill.
    pub(crate) fill: Fill,
    /// Price of its order, if that is known.
    pub(crate) price: Option<Price>,
    /// The view that is not answered yet shows it.
    pub(crate) is_shown: bool,
}

impl Accepted {
    pub(crate) fn new(made: Time, quotes: &[Quote]) -> Self {
        let each = quotes.iter();
        let quotes = each.map(|quote| (quote.side, quote.price, quote.qty, quote.level));
        Self {
            made,
            quotes: quotes.collect(),
        }
    }

    /// What was filled is not wanted again: the process did not know of the fill. A fill of an order whose
    /// price is not known ends the quotes of its side, until the process has seen it.
    fn reduce(&mut self, new: &NewFill, market: &MarketSpec) {
        let side = new.fill.side;
        let Some(price) = new.price else {
            self.quotes.retain(|quote| quote.0 != side);
            return;
        };
        let mut lots = u64::try_from(new.fill.base.div_ceil(market.lot)).unwrap_or(u64::MAX);
        for (_, _, qty, _) in self
            .quotes
            .iter_mut()
            .filter(|quote| (quote.0, quote.1) == (side, price))
        {
            let taken = lots.min(qty.0);
            (qty.0, lots) = (qty.0 - taken, lots - taken);
        }
        self.quotes.retain(|quote| quote.2.0 > 0);
    }
}

impl Remembered {
    /// Takes fills in, and own orders as they are now.
    pub(crate) fn observe(&mut self, fills: &[Fill], own: &[OwnOrder], market: &MarketSpec) {
        let known = |id: ClientOrderId| {
            let before = self.own.iter().find(|order| order.0 == id);
            let now = own.iter().find(|order| order.id == id);
            now.map(|order| order.price).or(before.map(|order| order.2))
        };
        let new: Vec<_> = fills
            .iter()
            .map(|fill| NewFill {
                price: known(fill.order),
                fill: fill.clone(),
                is_shown: false,
            })
            .collect();
        for new in &new {
            if let Some(target) = &mut self.target {
                target.reduce(new, market);
            }
        }
        self.fills.extend(new);
        let over = self.fills.len().saturating_sub(FILLS_MAX);
        self.fills.drain(..over);
        self.own.clear();
        let own = own.iter().map(|order| (order.id, order.side, order.price));
        self.own.extend(own);
    }

    /// The process answered: fills that its view showed are known to it, and later ones are not.
    pub(crate) fn accept(&mut self, mut target: Accepted, market: &MarketSpec) {
        self.fills.retain(|new| !new.is_shown);
        for new in &self.fills {
            target.reduce(new, market);
        }
        self.target = Some(target);
        self.is_refused = false;
    }
}
