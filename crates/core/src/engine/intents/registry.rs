//! Every order that may be alive, with its state; joins and exits are beside them.
//!
//! An order is added when it is sealed and removed only when its end is proven (`lifecycle`). Evidence is monotonic:
//! fills never shrink, an end is never revoked.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use crate::by_hash::ByHash;
use crate::event::BatchId;
use crate::market::{MarketId, Price, Side};
use crate::order::{ClientOrderId, Hash, OrderReport, StrategyId, UnsignedOrder};
use crate::request::Endpoint;
use crate::sorted_map::SortedMap;
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};
use crate::venue::{AmountRule, FeeToken, SlotRule, Spent};

use crate::engine::intents::amends::Amends;
use crate::engine::intents::lifecycle::Lifecycle;
use crate::engine::intents::outline::Outline;
use crate::engine::intents::pool_transactions::PoolTransactionRegistry;
use crate::engine::market_data::book::OwnLevel;

/// One order that may be alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tracked {
    pub(crate) order: UnsignedOrder,
    #[serde(rename = "life")]
    pub(crate) lifecycle: Lifecycle,
    /// Whether its report should be fetched by hash.
    pub(crate) read_wanted: bool,
    pub(crate) base_filled: Amount,
    pub(crate) quote_filled: Amount,
    pub(crate) fee: Amount,
    /// The most that fees take of the sold token on top of what is sold; 0 where they reduce what is received.
    pub(crate) fee_on_top: Amount,
    /// How exact the amounts of its fills are.
    pub(crate) amounts: AmountRule,
    /// Where it rests, if it was moved.
    pub(crate) amends: Amends,
}

impl Tracked {
    /// A new order being sealed.
    pub(crate) fn sealing(
        order: UnsignedOrder,
        (fee_in, amounts): (FeeToken, AmountRule),
        batch: BatchId,
    ) -> Self {
        let fee_on_top = fee_in.on_top(order.side, order.sell_amount, order.max_fee_bips);
        Self {
            lifecycle: Lifecycle::sealing(Endpoint::Submit, order.lifetime(), order.made_at, batch),
            order,
            read_wanted: false,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            fee_on_top,
            amounts,
            amends: Amends::default(),
        }
    }

    /// The price at which it rests, by what is known.
    pub(crate) fn price(&self) -> Price {
        self.amends.price(self.order.price)
    }

    /// The best price for the other side at which it may rest.
    pub(crate) fn best_price(&self) -> Price {
        self.amends.best(self.order.side, self.order.price)
    }

    /// Base units that may still be traded.
    pub(crate) fn base_left(&self, base_amount: Amount) -> Amount {
        base_amount.saturating_sub(self.base_filled)
    }

    /// Amount of the sell token paid so far.
    fn paid(&self) -> Amount {
        match self.order.side {
            Side::Buy => self.quote_filled,
            Side::Sell => self.base_filled,
        }
    }

    /// Amount of the sell token that may still be paid, with the fees and the rounding that come on top of it.
    pub(crate) fn reserved(&self) -> Amount {
        let fees = match self.fee_on_top {
            0 => 0,
            most => most.saturating_sub(self.fee),
        };
        let left = self.order.sell_amount.saturating_sub(self.paid());
        let rounding = self.amounts.on_top(self.order.side);
        left.saturating_add(fees).saturating_add(rounding)
    }

    /// Amount of the bought token that may still be received at the limit price.
    fn incoming(&self) -> Amount {
        self.order.incoming(self.base_filled, self.quote_filled)
    }

    /// Whether what was traded contradicts what was signed.
    pub(crate) fn is_overfilled(&self) -> bool {
        let (base, quote) = (self.base_filled, self.quote_filled);
        !self.order.allows(base, quote, self.amounts)
    }

    /// Whether it is a swap: it trades with a pool, and is on no book.
    pub(crate) fn is_swap(&self) -> bool {
        self.order.is_swap()
    }

    /// Base amount of the order.
    pub(crate) fn base_amount(&self) -> Amount {
        self.order.base().1
    }

    /// The last moment at which it can fill; the end of time if only a fill or a cancel ends it.
    pub(crate) fn rests_until(&self) -> VenueTime {
        self.lifecycle.lifetime.last_effect()
    }

    /// The order as a depth may contain it.
    pub(crate) fn level(&self) -> OwnLevel {
        OwnLevel {
            side: self.order.side,
            price: self.price(),
            also: self.amends.may_be_at(),
            left: self.base_left(self.base_amount()),
        }
    }

    /// The order as a depth from before any of its fills may contain it.
    pub(crate) fn level_whole(&self) -> OwnLevel {
        OwnLevel {
            left: self.base_amount(),
            ..self.level()
        }
    }

    /// Whether any byte of it may have been sent.
    pub(crate) fn may_have_left(&self) -> bool {
        self.lifecycle.may_have_left()
    }
}

/// The increments of a report over the known amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Increment {
    pub(crate) base: Amount,
    pub(crate) quote: Amount,
    pub(crate) fee: Amount,
}

impl Increment {
    /// The difference between known totals and reported ones; `None` if nothing was added. A report with less traded
    /// than known is older than the known state, and adds nothing. A lower fee is no sign of age: the trade is booked,
    /// and the comparison of the books detects the rest.
    pub(crate) fn between(known: (Amount, Amount, Amount), report: &OrderReport) -> Option<Self> {
        let step = Self {
            base: report.base_filled.checked_sub(known.0)?,
            quote: report.quote_filled.checked_sub(known.1)?,
            fee: report.fee.saturating_sub(known.2),
        };
        (step.base > 0 || step.quote > 0 || step.fee > 0).then_some(step)
    }
}

/// An order whose end is proven, remembered for a while so that a late fill is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedOrder {
    pub(crate) id: ClientOrderId,
    pub(crate) market: MarketId,
    pub(crate) side: Side,
    pub(crate) base_filled: Amount,
    pub(crate) quote_filled: Amount,
    pub(crate) fee: Amount,
    /// Whether the end was concluded, without a report of the venue.
    pub(crate) concluded: bool,
    /// When its end became known.
    pub(crate) at: Time,
}

/// Number of ended orders that are remembered.
const ENDED_KEPT: usize = 1_024;

/// All orders that may be alive, by number, and the last ones that ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Orders {
    active: SortedMap<ClientOrderId, Tracked>,
    /// What holds of them, from the first time it is asked for after one of them may have changed.
    #[serde(skip)]
    outline: OnceCell<Outline>,
    /// Joins and exits that may be undecided: their amounts are reserved as well.
    pub(crate) pool_transactions: PoolTransactionRegistry,
    by_hash: ByHash<ClientOrderId>,
    ended: ByHash<EndedOrder>,
    /// Ended hashes, oldest first.
    ended_order: std::collections::VecDeque<Hash>,
}

impl Orders {
    /// What holds of all orders; joins and exits are not in it.
    pub(crate) fn outline(&self) -> Outline {
        let found = || Outline::of(self.iter());
        let outline = *self.outline.get_or_init(found);
        debug_assert_eq!(outline, found(), "an order changed unnoticed");
        outline
    }

    /// The orders, to change them.
    fn active_mut(&mut self) -> &mut SortedMap<ClientOrderId, Tracked> {
        self.outline.take();
        &mut self.active
    }

    pub(crate) fn insert(&mut self, tracked: Tracked) {
        if let Some(hash) = tracked.lifecycle.hash {
            self.by_hash.insert(hash, tracked.order.client_id);
        }
        self.active_mut().insert(tracked.order.client_id, tracked);
    }

    pub(crate) fn get(&self, id: ClientOrderId) -> Option<&Tracked> {
        self.active.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ClientOrderId) -> Option<&mut Tracked> {
        self.active_mut().get_mut(&id)
    }

    pub(crate) fn set_hash(&mut self, id: ClientOrderId, hash: Hash) {
        if let Some(tracked) = self.active_mut().get_mut(&id) {
            tracked.lifecycle.hash = Some(hash);
            self.by_hash.insert(hash, id);
        } else if let Some(tracked) = self.pool_transactions.get_mut(id) {
            tracked.lifecycle.hash = Some(hash);
        }
    }

    /// The lifecycle of an intent.
    pub(crate) fn lifecycle(&self, id: ClientOrderId) -> Option<&Lifecycle> {
        let order = self.active.get(&id).map(|tracked| &tracked.lifecycle);
        order.or_else(|| {
            self.pool_transactions
                .get(id)
                .map(|tracked| &tracked.lifecycle)
        })
    }

    /// The same, mutable.
    pub(crate) fn lifecycle_mut(&mut self, id: ClientOrderId) -> Option<&mut Lifecycle> {
        self.outline.take();
        match self.active.get_mut(&id) {
            Some(tracked) => Some(&mut tracked.lifecycle),
            None => self
                .pool_transactions
                .get_mut(id)
                .map(|tracked| &mut tracked.lifecycle),
        }
    }

    /// Every intent that may be alive: orders, then joins and exits, each by number.
    pub(crate) fn lives(&self) -> impl Iterator<Item = (ClientOrderId, &Lifecycle)> {
        let orders = self
            .active
            .iter()
            .map(|(id, tracked)| (*id, &tracked.lifecycle));
        orders.chain(
            self.pool_transactions
                .iter()
                .map(|t| (t.wanted.client_id, &t.lifecycle)),
        )
    }

    /// Every number of what may be alive, with its row, and whether the venue has used it up.
    pub(crate) fn numbers(&self, rule: SlotRule) -> impl Iterator<Item = ((TokenId, u32), Spent)> {
        let orders = self.active.values().map(move |tracked| {
            let order = &tracked.order;
            let number = (rule.row(order.sell_token), order.slot);
            (number, tracked.lifecycle.spent())
        });
        let pools = self.pool_transactions.iter().flat_map(move |tracked| {
            let numbers = tracked.wanted.slots();
            numbers
                .map(move |(token, number)| ((rule.row(token), number), tracked.lifecycle.spent()))
        });
        orders.chain(pools)
    }

    /// The market of an intent.
    pub(crate) fn market_of(&self, id: ClientOrderId) -> Option<MarketId> {
        let order = self.active.get(&id).map(|tracked| tracked.order.market);
        order.or_else(|| {
            self.pool_transactions
                .get(id)
                .map(|tracked| tracked.wanted.market)
        })
    }

    pub(crate) fn id_of(&self, hash: Hash) -> Option<ClientOrderId> {
        self.by_hash.get(hash).copied()
    }

    /// Whether an order of ours has this hash, alive or recently ended.
    pub(crate) fn knows_hash(&self, hash: Hash) -> bool {
        self.by_hash.contains(hash) || self.ended.contains(hash)
    }

    /// Whether its end became known at that time or later.
    pub(crate) fn ended_since(&self, hash: Hash, time: Time) -> bool {
        self.ended.get(hash).is_some_and(|ended| ended.at >= time)
    }

    pub(crate) fn ended_mut(&mut self, hash: Hash) -> Option<&mut EndedOrder> {
        self.ended.get_mut(hash)
    }

    /// Whether a report is about an order that ended as it says: it adds nothing. Most entries of a list are.
    #[inline]
    pub(crate) fn is_settled(&self, report: &OrderReport) -> bool {
        self.ended.get(report.hash).is_some_and(|ended| {
            report.status.is_final()
                && report.base_filled == ended.base_filled
                && report.quote_filled == ended.quote_filled
                && report.fee == ended.fee
        })
    }

    /// Removes an order: its end is proven, by a report of the venue or by conclusion.
    pub(crate) fn end(&mut self, at: Time, id: ClientOrderId, concluded: bool) -> Option<Tracked> {
        let tracked = self.active_mut().remove(&id)?;
        if let Some(hash) = tracked.lifecycle.hash {
            self.by_hash.remove(hash);
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
                self.ended.remove(oldest);
            }
        }
        Some(tracked)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tracked> {
        self.active.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Tracked> {
        self.active_mut().values_mut()
    }

    /// Number of orders that may be alive.
    pub(crate) fn len(&self) -> usize {
        self.active.len()
    }

    /// Whether anything may be sent again or dropped: an intent is sealed and not in flight, or of unknown state; or
    /// there are joins and exits.
    pub(crate) fn has_unresolved(&self) -> bool {
        self.outline().unresolved || !self.pool_transactions.is_empty()
    }

    /// Whether no intent may be alive.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.pool_transactions.is_empty()
    }

    /// The orders of a market that rest on its book or may come to rest there: all but swaps.
    pub(crate) fn of_market(&self, market: MarketId) -> impl Iterator<Item = &Tracked> {
        self.iter()
            .filter(move |tracked| tracked.order.market == market && !tracked.is_swap())
    }

    /// The swap with the pool beside a market that may be undecided; there is at most one.
    pub(crate) fn swap_of(&self, market: MarketId) -> Option<&Tracked> {
        self.iter()
            .find(|tracked| tracked.order.market == market && tracked.is_swap())
    }

    /// Whether an order of an earlier run may rest at a price that is not known. One that a list has left out does not rest.
    pub(crate) fn is_unlocated_at(&self, market: MarketId) -> bool {
        let unlocated = |t: &Tracked| t.amends.is_unlocated() && !t.lifecycle.missed;
        self.of_market(market).any(unlocated)
    }

    /// The orders of a market that a depth may contain, by id.
    pub(crate) fn levels(
        &self,
        market: MarketId,
    ) -> impl Iterator<Item = (ClientOrderId, OwnLevel)> {
        self.of_market(market)
            .filter(|t| t.may_have_left())
            .map(|t| (t.order.client_id, t.level()))
    }

    pub(crate) fn of_strategy(
        &self,
        market: MarketId,
        strategy: StrategyId,
    ) -> impl Iterator<Item = &Tracked> {
        self.of_market(market)
            .filter(move |t| t.order.client_id.strategy == strategy)
    }

    /// Amount of `token` reserved by all intents that may be alive.
    pub(crate) fn reserved(&self, token: TokenId) -> Amount {
        let orders: Amount = self
            .iter()
            .filter(|t| t.order.sell_token == token)
            .map(Tracked::reserved)
            .sum();
        orders.saturating_add(self.pool_transactions.reserved(token))
    }

    /// Amount of `token` reserved by one intent; 0 once it has ended.
    pub(crate) fn reserved_of(&self, id: ClientOrderId, token: TokenId) -> Amount {
        let order = self.get(id).filter(|t| t.order.sell_token == token);
        let wanted = self
            .pool_transactions
            .get(id)
            .map(|t| t.wanted.reserved(token));
        order.map(Tracked::reserved).or(wanted).unwrap_or(0)
    }

    /// Amount of `token` that all intents that may be alive, of any market, may still receive.
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
            .map(Tracked::best_price);
        match side {
            Side::Buy => prices.max(),
            Side::Sell => prices.min(),
        }
    }

    /// Creation time of the oldest order that may be alive.
    pub(crate) fn oldest_made(&self) -> Option<VenueTime> {
        self.iter().map(|t| t.order.made_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::engine::testing::hash;
    use crate::market_name::MarketName;
    use crate::order::{FillBy, OrderKind, OrderStatus};

    fn order(number: u64, side: Side, price: u64) -> Tracked {
        let (sell_token, buy_token) = match side {
            Side::Buy => (TokenId(1), TokenId(0)),
            Side::Sell => (TokenId(0), TokenId(1)),
        };
        let order = UnsignedOrder {
            client_id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number,
            },
            market: MarketId(0),
            side,
            price: Price(price),
            qty: crate::Qty(1),
            swap: None,
            kind: OrderKind::MakerOnly,
            sell_token,
            sell_amount: 5,
            buy_token,
            buy_amount: 7,
            fill_by: FillBy::Buy,
            slot: 0,
            accepted_until_s: 10,
            rests_until_s: Some(10),
            max_fee_bips: 1,
            made_at: VenueTime(0),
        };
        let mut tracked = Tracked::sealing(order, Default::default(), BatchId(1));
        tracked.lifecycle.hash = Some(hash(number));
        tracked
    }

    #[test]
    fn of_more_ended_orders_than_are_kept_the_first_is_forgotten() {
        let mut orders = Orders::default();
        let kept = ENDED_KEPT as u64;
        for number in 1..=kept + 1 {
            let tracked = order(number, Side::Buy, 10);
            let id = tracked.order.client_id;
            orders.insert(tracked);
            assert!(orders.end(Time(number), id, true).is_some());
            assert!(orders.knows_hash(hash(1)) == (number <= kept), "{number}");
            assert!(orders.knows_hash(hash(number)));
        }
        assert_eq!(orders.ended.len(), ENDED_KEPT);
        assert_eq!(orders.ended_order.len(), ENDED_KEPT);
    }

    #[test]
    fn the_best_price_is_the_one_nearest_to_the_other_side() {
        let mut orders = Orders::default();
        assert_eq!(orders.best_price(MarketId(0), Side::Buy), None);
        for (number, side, price) in [
            (1, Side::Buy, 9),
            (2, Side::Buy, 10),
            (3, Side::Buy, 8),
            (4, Side::Sell, 12),
            (5, Side::Sell, 11),
            (6, Side::Sell, 13),
        ] {
            orders.insert(order(number, side, price));
        }
        let best = Side::BOTH.map(|side| orders.best_price(MarketId(0), side));
        assert_eq!(best, [Some(Price(10)), Some(Price(11))]);
        assert_eq!(orders.best_price(MarketId(1), Side::Buy), None);
    }

    #[test]
    fn one_unit_of_anything_is_an_increment_and_less_than_known_is_none() {
        let known = (10, 20, 3);
        for (base, quote, fee, found) in [
            (10, 20, 3, None),
            (11, 20, 3, Some((1, 0, 0))),
            (10, 21, 3, Some((0, 1, 0))),
            (10, 20, 4, Some((0, 0, 1))),
            (9, 21, 3, None),
            (11, 19, 3, None),
            (11, 21, 2, Some((1, 1, 0))),
        ] {
            let report = OrderReport {
                hash: hash(1),
                client_id: None,
                market: MarketName::default(),
                side: Side::Buy,
                status: OrderStatus::Processing,
                base_amount: 100,
                quote_amount: 200,
                base_filled: base,
                quote_filled: quote,
                fee,
                valid_until_s: 10,
                valid_since: VenueTime(0),
            };
            let step = Increment::between(known, &report);
            let step = step.map(|step| (step.base, step.quote, step.fee));
            assert_eq!(step, found, "{base} {quote} {fee}");
        }
    }
}
