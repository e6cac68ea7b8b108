//! Orders, trades and ledger entries as shown.

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketId, OrderKind, OrderStatus, Price, Side, VenueTime};

use super::order::NEVER_S;
use super::{KrakenTrade, LedgerEntry};
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

    /// Orders of an account that are kept, newest first.
    pub fn kraken_orders(&self, account: AccountId) -> impl Iterator<Item = KrakenOrderView> + '_ {
        let orders = self.accounts.get(&account).map(|account| &account.orders);
        let keys = orders.into_iter().flat_map(|orders| orders.values().rev());
        keys.filter_map(|key: &OrderKey| {
            let order = self.orders.get(*key);
            let fields = self.kraken.orders.get(&order.sequence);
            let is_continued = fields.is_some_and(|fields| fields.is_continued);
            (!is_continued && order.pool.is_none()).then(|| self.kraken_view(order))
        })
    }

    /// Whether an order is open, and since when: for the charge of its cancel.
    pub fn kraken_open_since(
        &self,
        account: AccountId,
        order: &super::OrderRef,
    ) -> Vec<(MarketId, VenueTime)> {
        let keys = self.open_orders_named(account, order);
        let orders = keys.iter().map(|key| self.orders.get(*key));
        orders.map(|order| (order.market, order.created)).collect()
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
            OrderStatus::Cancelled if order.kind == OrderKind::TakerOnly => {
                (KrakenStatus::Canceled, Some("Insufficient liquidity"))
            }
            OrderStatus::Cancelled => (KrakenStatus::Canceled, Some("User requested")),
            OrderStatus::Failed => (KrakenStatus::Canceled, Some("Rejected by the matching")),
            OrderStatus::Expired => (KrakenStatus::Expired, Some("Order expired")),
        };
        let expires =
            (order.valid_until_s != NEVER_S).then(|| VenueTime::from_s(order.valid_until_s.into()));
        KrakenOrderView {
            number: self.kraken.shown_number(order.sequence),
            market: order.market,
            side: order.side,
            is_market_order: fields.is_some_and(|fields| fields.is_market_order),
            kind: order.kind,
            price: order.level,
            volume: base + order.base,
            base_filled: base + order.base_filled,
            quote_filled: quote + order.quote_filled,
            fee: fee + order.fee,
            fee_in: order.fee_in,
            status,
            reason,
            opened: fields
                .and_then(|fields| fields.opened)
                .unwrap_or(order.created),
            closed: order.status.is_final().then_some(order.updated),
            expires,
            updated: order.updated,
            client_id: order.client_id.clone(),
            user_ref: fields.and_then(|fields| fields.user_ref),
        }
    }
}
