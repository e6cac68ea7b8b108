//! Every order that may be alive, and what is known of it; the moves of pools stand beside them.
//!
//! An order enters when it is sealed and leaves only by proof of its end (`lifecycle`). Evidence moves one
//! way: fills never shrink, an end is never taken back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::BatchId;
use crate::market::{MarketId, Price, Side};
use crate::order::{ClientOrderId, Hash, OrderReport, StrategyId, UnsignedOrder};
use crate::request::Endpoint;
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};

use crate::engine::intents::lifecycle::Lifecycle;
use crate::engine::intents::pool_transactions::PoolTransactionRegistry;
use crate::engine::market_data::book::{OwnLevel, OwnLevels};

/// One order that may be alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tracked {
    pub(crate) order: UnsignedOrder,
    pub(crate) life: Lifecycle,
    /// Its report should be fetched by hash.
    pub(crate) read_wanted: bool,
    pub(crate) base_filled: Amount,
    pub(crate) quote_filled: Amount,
    pub(crate) fee: Amount,
}

impl Tracked {
    /// A new order on its way to the store.
    pub(crate) fn sealing(order: UnsignedOrder, batch: BatchId) -> Self {
        Self {
            life: Lifecycle::sealing(Endpoint::Submit, order.valid_until_s, order.made_at, batch),
            order,
            read_wanted: false,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
        }
    }

    /// Base units that may still be traded.
    pub(crate) fn base_left(&self, base_amount: Amount) -> Amount {
        base_amount.saturating_sub(self.base_filled)
    }

    /// Units of the sell token paid so far.
    fn paid(&self) -> Amount {
        match self.order.side {
            Side::Buy => self.quote_filled,
            Side::Sell => self.base_filled,
        }
    }

    /// Units of the sell token that may still be paid.
    pub(crate) fn reserved(&self) -> Amount {
        self.order.sell_amount.saturating_sub(self.paid())
    }

    /// Units of the bought token that may still come in at the limit price.
    fn incoming(&self) -> Amount {
        let got = match self.order.side {
            Side::Buy => self.base_filled,
            Side::Sell => self.quote_filled,
        };
        self.order.buy_amount.saturating_sub(got)
    }

    /// Whether more was traded or paid than was signed.
    pub(crate) fn is_overfilled(&self) -> bool {
        self.base_filled > self.base_amount() || self.paid() > self.order.sell_amount
    }

    /// The base amount asked for.
    pub(crate) fn base_amount(&self) -> Amount {
        match self.order.side {
            Side::Buy => self.order.buy_amount,
            Side::Sell => self.order.sell_amount,
        }
    }

    /// The last venue second at which it is valid, in milliseconds.
    pub(crate) fn valid_until(&self) -> VenueTime {
        self.life.valid_until
    }

    /// What a depth may show of it.
    pub(crate) fn level(&self) -> OwnLevel {
        OwnLevel {
            side: self.order.side,
            price: self.order.price,
            left: self.base_left(self.base_amount()),
        }
    }

    /// What a depth may show of it that was drawn up before any of its fills.
    pub(crate) fn level_whole(&self) -> OwnLevel {
        OwnLevel {
            left: self.base_amount(),
            ..self.level()
        }
    }

    /// Whether any byte of it may have left.
    pub(crate) fn may_have_left(&self) -> bool {
        self.life.may_have_left()
    }
}

/// What a report adds to what was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Increment {
    pub(crate) base: Amount,
    pub(crate) quote: Amount,
    pub(crate) fee: Amount,
}

impl Increment {
    /// The step from known totals to reported ones; `None` if nothing was added. A report that is
    /// behind on what was traded is older than what is known, and adds nothing. A fee that fell is no
    /// sign of age: the trade is booked, and the comparison of the books tells the rest.
    pub(crate) fn between(known: (Amount, Amount, Amount), report: &OrderReport) -> Option<Self> {
        let step = Self {
            base: report.base_filled.checked_sub(known.0)?,
            quote: report.quote_filled.checked_sub(known.1)?,
            fee: report.fee.saturating_sub(known.2),
        };
        (step.base > 0 || step.quote > 0 || step.fee > 0).then_some(step)
    }
}

/// An order whose end is proven, remembered for a while so that a late fill is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedOrder {
    pub(crate) id: ClientOrderId,
    pub(crate) market: MarketId,
    pub(crate) side: Side,
    pub(crate) base_filled: Amount,
    pub(crate) quote_filled: Amount,
    pub(crate) fee: Amount,
    /// The venue never said that it ended: we concluded it.
    pub(crate) concluded: bool,
    /// When its end was known.
    pub(crate) at: Time,
}

/// How many ended orders are remembered.
const ENDED_KEPT: usize = 1_024;

/// All orders that may be alive, by number, and the last ones that ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Orders {
    active: BTreeMap<ClientOrderId, Tracked>,
    /// Joins and exits that may be undecided: what they bind is bound as well.
    pub(crate) pool_transactions: PoolTransactionRegistry,
    by_hash: BTreeMap<Hash, ClientOrderId>,
    ended: BTreeMap<Hash, EndedOrder>,
    /// Ended hashes, oldest first.
    ended_order: std::collections::VecDeque<Hash>,
}

impl Orders {
    pub(crate) fn insert(&mut self, tracked: Tracked) {
        if let Some(hash) = tracked.life.hash {
            self.by_hash.insert(hash, tracked.order.client_id);
        }
        self.active.insert(tracked.order.client_id, tracked);
    }

    pub(crate) fn get(&self, id: ClientOrderId) -> Option<&Tracked> {
        self.active.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ClientOrderId) -> Option<&mut Tracked> {
        self.active.get_mut(&id)
    }

    pub(crate) fn set_hash(&mut self, id: ClientOrderId, hash: Hash) {
        if let Some(tracked) = self.active.get_mut(&id) {
            tracked.life.hash = Some(hash);
            self.by_hash.insert(hash, id);
        } else if let Some(tracked) = self.pool_transactions.get_mut(id) {
            tracked.life.hash = Some(hash);
        }
    }

    /// The life of an order or a move.
    pub(crate) fn life(&self, id: ClientOrderId) -> Option<&Lifecycle> {
        let order = self.active.get(&id).map(|tracked| &tracked.life);
        order.or_else(|| self.pool_transactions.get(id).map(|tracked| &tracked.life))
    }

    /// As above, to be changed.
    pub(crate) fn life_mut(&mut self, id: ClientOrderId) -> Option<&mut Lifecycle> {
        match self.active.get_mut(&id) {
            Some(tracked) => Some(&mut tracked.life),
            None => self
                .pool_transactions
                .get_mut(id)
                .map(|tracked| &mut tracked.life),
        }
    }

    /// Every intent that may be alive: orders, then moves, each by number.
    pub(crate) fn lives(&self) -> impl Iterator<Item = (ClientOrderId, &Lifecycle)> {
        let orders = self.active.iter().map(|(id, tracked)| (*id, &tracked.life));
        orders.chain(
            self.pool_transactions
                .iter()
                .map(|t| (t.wanted.client_id, &t.life)),
        )
    }

    /// The market that an order or a move belongs to.
    pub(crate) fn market_of(&self, id: ClientOrderId) -> Option<MarketId> {
        let order = self.active.get(&id).map(|tracked| tracked.order.market);
        order.or_else(|| {
            self.pool_transactions
                .get(id)
                .map(|tracked| tracked.wanted.market)
        })
    }

    pub(crate) fn id_of(&self, hash: Hash) -> Option<ClientOrderId> {
        self.by_hash.get(&hash).copied()
    }

    /// Whether an order of ours bears this hash, alive or ended not long ago.
    pub(crate) fn remembers(&self, hash: Hash) -> bool {
        self.by_hash.contains_key(&hash) || self.ended.contains_key(&hash)
    }

    /// Whether its end was known at that time or later.
    pub(crate) fn ended_since(&self, hash: Hash, time: Time) -> bool {
        self.ended.get(&hash).is_some_and(|ended| ended.at >= time)
    }

    pub(crate) fn ended_mut(&mut self, hash: Hash) -> Option<&mut EndedOrder> {
        self.ended.get_mut(&hash)
    }

    /// Takes an order out: its end is proven, by the venue's word or by our conclusion.
    pub(crate) fn end(&mut self, at: Time, id: ClientOrderId, concluded: bool) -> Option<Tracked> {
        let tracked = self.active.remove(&id)?;
        if let Some(hash) = tracked.life.hash {
            self.by_hash.remove(&hash);
            self.ended.insert(
                hash,
                EndedOrder {
                    id,
                    market: tracked.order.market,
                    side: tracked.order.side,
                    base_filled: tracked.base_filled,
                    quote_filled: tracked.quote_filled,
                    fee: tracked.fee,
                    concluded,
                    at,
                },
            );
            self.ended_order.push_back(hash);
            if self.ended_order.len() > ENDED_KEPT
                && let Some(oldest) = self.ended_order.pop_front()
            {
                self.ended.remove(&oldest);
            }
        }
        Some(tracked)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tracked> {
        self.active.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Tracked> {
        self.active.values_mut()
    }

    /// Whether no order and no move may be alive.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.pool_transactions.is_empty()
    }

    pub(crate) fn of_market(&self, market: MarketId) -> impl Iterator<Item = &Tracked> {
        self.iter()
            .filter(move |tracked| tracked.order.market == market)
    }

    /// The orders of a market that a depth may show.
    pub(crate) fn levels(&self, market: MarketId) -> OwnLevels {
        self.of_market(market)
            .filter(|t| t.may_have_left())
            .map(|t| (t.order.client_id, t.level()))
            .collect()
    }

    pub(crate) fn of_strategy(
        &self,
        market: MarketId,
        strategy: StrategyId,
    ) -> impl Iterator<Item = &Tracked> {
        self.of_market(market)
            .filter(move |t| t.order.client_id.strategy == strategy)
    }

    /// Units of `token` bound by all orders and moves that may be alive.
    pub(crate) fn reserved(&self, token: TokenId) -> Amount {
        let orders: Amount = self
            .iter()
            .filter(|t| t.order.sell_token == token)
            .map(Tracked::reserved)
            .sum();
        orders.saturating_add(self.pool_transactions.reserved(token))
    }

    /// Units of `token` bound by one order or move; 0 once it has ended.
    pub(crate) fn reserved_of(&self, id: ClientOrderId, token: TokenId) -> Amount {
        let order = self.get(id).filter(|t| t.order.sell_token == token);
        let wanted = self
            .pool_transactions
            .get(id)
            .map(|t| t.wanted.reserved(token));
        order.map(Tracked::reserved).or(wanted).unwrap_or(0)
    }

    /// Units of `token` that all orders and moves that may be alive, of whatever market, may still
    /// bring in.
    pub(crate) fn incoming(&self, token: TokenId) -> Amount {
        let orders: Amount = self
            .iter()
            .filter(|t| t.order.buy_token == token)
            .map(Tracked::incoming)
            .sum();
        orders.saturating_add(self.pool_transactions.incoming(token))
    }

    pub(crate) fn count(&self, market: MarketId, side: Side) -> u32 {
        let n = self
            .of_market(market)
            .filter(|t| t.order.side == side)
            .count();
        u32::try_from(n).unwrap_or(u32::MAX)
    }

    /// The own price nearest to the other side: highest bid or lowest ask.
    pub(crate) fn best_price(&self, market: MarketId, side: Side) -> Option<Price> {
        let prices = self
            .of_market(market)
            .filter(|t| t.order.side == side)
            .map(|t| t.order.price);
        match side {
            Side::Buy => prices.max(),
            Side::Sell => prices.min(),
        }
    }

    /// When the oldest order that may be alive was made.
    pub(crate) fn oldest_made(&self) -> Option<VenueTime> {
        self.iter().map(|t| t.order.made_at).min()
    }
}
