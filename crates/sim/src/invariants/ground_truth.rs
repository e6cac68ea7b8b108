//! Ground truth: the states of our orders, recorded from the venue's acceptances and trades. It shares no code with the
//! engine's books or the venue's.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::order::UnsignedOrder;
use cambist_core::{Amount, ClientOrderId, Hash, MarketId, Price, Side, Time};
use cambist_venue::{Executed, Venue};

use crate::exchange::OWN_ACCOUNT;
use crate::invariants::stated_loss::Meter;

/// One of our orders that the venue accepted.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) id: ClientOrderId,
    /// Time of acceptance.
    pub(crate) at: Time,
    pub(crate) market: MarketId,
    pub(crate) side: Side,
    pub(crate) price: Price,
    /// Base units of the order.
    pub(crate) base: Amount,
    /// Whether it trades with a pool, and is on no book.
    pub(crate) is_swap: bool,
    /// Base units, quote units and fee traded.
    pub(crate) filled: (Amount, Amount, Amount),
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct GroundTruth {
    orders: BTreeMap<Hash, Taken>,
    /// Orders that may be open.
    open: BTreeSet<Hash>,
    /// Swaps that a pool has not executed yet, as far as is recorded.
    swaps: BTreeSet<Hash>,
    fills: u64,
}

impl GroundTruth {
    /// An order was moved to another price.
    pub(crate) fn moved(&mut self, hash: &Hash, price: Price) {
        if let Some(taken) = self.orders.get_mut(hash) {
            taken.price = price;
        }
    }

    /// Records an accepted order.
    pub(crate) fn take(&mut self, at: Time, hash: Hash, order: &UnsignedOrder) {
        let (_, base) = order.base();
        let taken = Taken {
            id: order.client_id,
            at,
            market: order.market,
            side: order.side,
            price: order.price,
            base,
            is_swap: order.is_swap(),
            filled: (0, 0, 0),
        };
        self.orders.insert(hash, taken);
        if order.is_swap() {
            self.swaps.insert(hash);
        }
        self.open.insert(hash);
    }

    /// Records a trade; ours may be the resting or the incoming order.
    pub(crate) fn trade(&mut self, executed: &Executed, loss: &mut Meter) {
        let trade = &executed.trade;
        let maker = (trade.maker_account == OWN_ACCOUNT).then_some((trade.maker, trade.maker_fee));
        let own_taker = executed.taker_account == OWN_ACCOUNT;
        let taker = own_taker.then_some((executed.taker, trade.taker_fee));
        for (hash, fee) in maker.into_iter().chain(taker) {
            if let Some(order) = self.orders.get_mut(&hash) {
                order.filled.0 += trade.base;
                order.filled.1 += trade.quote;
                order.filled.2 += fee;
                self.fills += 1;
                let part = (trade.base, trade.quote, fee);
                loss.traded(order.id.number, (order.market, order.side), part);
            }
        }
    }

    /// Records what pools have executed: the whole of a swap at once, or nothing of it.
    pub(crate) fn swap(&mut self, venue: &Venue, loss: &mut Meter) {
        let (orders, fills) = (&mut self.orders, &mut self.fills);
        self.swaps.retain(|hash| {
            let filled = venue.filled(hash).unwrap_or_default();
            let order = orders.get_mut(hash).filter(|_| filled != (0, 0, 0));
            if let Some(order) = order {
                order.filled = filled;
                *fills += 1;
                loss.traded(order.id.number, (order.market, order.side), filled);
                return false;
            }
            venue.is_open(hash)
        });
    }

    /// Records a swap that a chain has executed, with what it moved of base and quote. It was never open.
    pub(crate) fn swap_on_chain(
        &mut self,
        at: Time,
        hash: Hash,
        order: &UnsignedOrder,
        (base, quote): (Amount, Amount),
        loss: &mut Meter,
    ) {
        self.take(at, hash, order);
        self.open.remove(&hash);
        self.swaps.remove(&hash);
        if let Some(taken) = self.orders.get_mut(&hash) {
            taken.filled = (base, quote, 0);
            self.fills += 1;
            let part = (base, quote, 0);
            loss.traded(taken.id.number, (taken.market, taken.side), part);
        }
    }

    /// Removes orders that the venue has closed from the open ones.
    pub(crate) fn prune(&mut self, venue: &Venue) {
        self.open.retain(|hash| venue.is_open(hash));
    }

    /// Orders that may be open on the book, as of the last pruning.
    pub(crate) fn open(&self) -> impl Iterator<Item = (&Hash, &Taken)> {
        self.alive().filter(|(_, taken)| !taken.is_swap)
    }

    /// Orders that may be open, and swaps that may be undecided, as of the last pruning.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (&Hash, &Taken)> {
        self.open
            .iter()
            .filter_map(|hash| self.orders.get_key_value(hash))
    }

    /// Whether a bid and an ask of ours were open at a market at the last pruning.
    pub(crate) fn rests_on_both(&self, market: MarketId) -> bool {
        Side::BOTH.iter().all(|side| {
            self.open()
                .any(|(_, t)| t.market == market && t.side == *side)
        })
    }

    pub(crate) fn get(&self, hash: &Hash) -> Option<&Taken> {
        self.orders.get(hash)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Hash, &Taken)> {
        self.orders.iter()
    }

    /// What an order has traded, base units.
    pub(crate) fn traded_base(&self, hash: &Hash) -> Amount {
        self.orders.get(hash).map_or(0, |taken| taken.filled.0)
    }

    /// Number of accepted orders.
    pub(crate) fn count(&self) -> u64 {
        self.orders.len() as u64
    }

    /// Base bought less its fees, less base sold, over all orders: where the fee is taken out of what is bought.
    pub(crate) fn base_open(&self) -> i128 {
        let signed = |units: Amount| i128::try_from(units).unwrap_or(i128::MAX);
        let each = self.orders.values().map(|taken| match taken.side {
            Side::Buy => signed(taken.filled.0.saturating_sub(taken.filled.2)),
            Side::Sell => -signed(taken.filled.0),
        });
        each.sum()
    }

    /// Number of trades.
    pub(crate) const fn fills(&self) -> u64 {
        self.fills
    }
}
