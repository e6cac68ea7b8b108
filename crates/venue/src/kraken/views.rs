//! Orders, trades and ledger entries as shown.

use std::collections::BTreeMap;

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketId, OrderKind, OrderStatus, Price, Side, VenueTime};

use super::order::NEVER_S;
use super::{Amended, Ended, KrakenTrade, LedgerEntry};
use crate::account::AccountId;
use crate::orders::{Order, OrderKey};
use crate::venue::Venue;

/// Status of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KrakenStatus {
    /// Accepted and not matched yet.
    Pending,
    /// On the book.
    Open,
    /// Filled.
    Closed,
    /// Cancelled, or ended by the exchange.
    Canceled,
    /// Expired.
    Expired,
}

/// An order as shown to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KrakenOrderView {
    /// Its number.
    pub number: u64,
    /// Its market.
    pub market: MarketId,
    /// Side.
    pub side: Side,
    /// Whether it is a market order.
    pub is_market_order: bool,
    /// Whether its volume or its price was changed.
    pub is_amended: bool,
    /// Whether it only rests, takes and rests, or only takes.
    pub kind: OrderKind,
    /// Its limit in ticks.
    pub price: Price,
    /// Its volume in base units.
    pub volume: Amount,
    /// Base units traded.
    pub base_filled: Amount,
    /// Quote units traded.
    pub quote_filled: Amount,
    /// Fee in base units of its token.
    pub fee: Amount,
    /// Which token fees are taken in.
    pub fee_in: FeeToken,
    /// Status.
    pub status: KrakenStatus,
    /// Why it ended otherwise than filled.
    pub reason: Option<&'static str>,
    /// Time of acceptance.
    pub opened: VenueTime,
    /// Time of the end.
    pub closed: Option<VenueTime>,
    /// Expiry.
    pub expires: Option<VenueTime>,
    /// Time of the last change of the order of the book.
    pub updated: VenueTime,
    /// Client order id.
    pub client_id: Option<String>,
    /// The client's number.
    pub user_ref: Option<i32>,
}

impl Venue {
    /// An order by its number.
    pub fn kraken_order(&self, account: AccountId, number: u64) -> Option<KrakenOrderView> {
        let key = self.key_of_number(account, number)?;
        let order = self.orders.get(key);
        // The number of an order of the book that continues another is not known to clients.
        (self.kraken.shown_number(order.sequence) == number).then(|| self.kraken_view(order))
    }

    /// Orders of an account that are kept, newest first. An amended order keeps its place among them.
    pub fn kraken_orders(&self, account: AccountId) -> impl Iterator<Item = KrakenOrderView> + '_ {
        let orders = self.accounts.get(&account).map(|account| &account.orders);
        let keys = orders.into_iter().flat_map(|orders| orders.values());
        let shown = keys.filter_map(|key: &OrderKey| {
            let order = self.orders.get(*key);
            let fields = self.kraken.orders.get(&order.sequence);
            let is_continued = fields.is_some_and(|fields| fields.is_continued);
            let is_shown = !is_continued && order.pool.is_none();
            is_shown.then(|| (self.kraken.shown_number(order.sequence), order))
        });
        let by_number: BTreeMap<_, _> = shown.collect();
        let newest_first = by_number.into_values().rev();
        newest_first.map(|order| self.kraken_view(order))
    }

    /// The open orders of an account: market, and since when.
    pub fn kraken_all_open_since(&self, account: AccountId) -> Vec<(MarketId, VenueTime)> {
        self.since(&self.open_keys(account))
    }

    /// Whether an order is open, and since when: for the charge of its cancel.
    pub fn kraken_open_since(
        &self,
        account: AccountId,
        order: &super::OrderRef,
    ) -> Vec<(MarketId, VenueTime)> {
        self.since(&self.open_orders_named(account, order))
    }

    /// Market and time of acceptance of orders; an amended one was accepted when it was new.
    fn since(&self, keys: &[OrderKey]) -> Vec<(MarketId, VenueTime)> {
        let orders = keys.iter().map(|key| self.orders.get(*key));
        let since = orders.map(|order| (order.market, self.opened(order)));
        since.collect()
    }

    fn opened(&self, order: &Order) -> VenueTime {
        let fields = self.kraken.orders.get(&order.sequence);
        let opened = fields.and_then(|fields| fields.opened);
        opened.unwrap_or(order.created)
    }

    /// Trades of an account that are kept, newest first.
    pub fn kraken_trades(&self, account: AccountId) -> impl Iterator<Item = &KrakenTrade> {
        let statement = self.kraken.statements.get(&account);
        statement
            .into_iter()
            .flat_map(|kept| kept.trades.iter().rev())
    }

    /// Ledger entries of an account that are kept, newest first.
    pub fn kraken_ledger(&self, account: AccountId) -> impl Iterator<Item = &LedgerEntry> {
        let statement = self.kraken.statements.get(&account);
        statement
            .into_iter()
            .flat_map(|kept| kept.entries.iter().rev())
    }

    fn kraken_view(&self, order: &Order) -> KrakenOrderView {
        let fields = self.kraken.orders.get(&order.sequence);
        let [base, quote, fee] = self.filled_before(order.sequence);
        let (status, reason) = match order.status {
            OrderStatus::Waiting => (KrakenStatus::Pending, None),
            OrderStatus::Processing | OrderStatus::Cancelling | OrderStatus::Other => {
                (KrakenStatus::Open, None)
            }
            OrderStatus::Processed => (KrakenStatus::Closed, None),
            OrderStatus::Cancelled => {
                let noted = fields.and_then(|fields| fields.ended);
                let why = match (noted, order.kind) {
                    (Some(Ended::SelfTrade), _) => "Self trade",
                    (Some(Ended::NoLiquidity), _) | (None, OrderKind::TakerOnly) => {
                        "Insufficient liquidity"
                    }
                    (Some(Ended::Requested) | None, _) => "User requested",
                };
                (KrakenStatus::Canceled, Some(why))
            }
            OrderStatus::Failed => (KrakenStatus::Canceled, Some("Rejected by the matching")),
            OrderStatus::Expired => (KrakenStatus::Expired, Some("Order expired")),
        };
        let expires =
            (order.valid_until_s != NEVER_S).then(|| VenueTime::from_s(order.valid_until_s.into()));
        KrakenOrderView {
            number: self.kraken.shown_number(order.sequence),
            market: order.market,
            side: order.side,
            is_market_order: self.kraken.is_market_order(order.sequence),
            is_amended: fields
                .is_some_and(|fields| fields.amended != Amended::Never || fields.number.is_some()),
            kind: order.kind,
            price: order.level,
            volume: base + order.base,
            base_filled: base + order.base_filled,
            quote_filled: quote + order.quote_filled,
            fee: fee + order.fee,
            fee_in: order.fee_in,
            status,
            reason,
            opened: self.opened(order),
            closed: order.status.is_final().then_some(order.updated),
            expires,
            updated: order.updated,
            client_id: order.client_id.clone(),
            user_ref: fields.and_then(|fields| fields.user_ref),
        }
    }
}
