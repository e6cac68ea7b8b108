//! The requests: method and parameters of each.
//!
//! Every request that the client sends is made here, except that an order is sent as it was sealed ([`crate::seal`]).
//! `tests/external/kraken` validates each of them against the published specification.

use cambist_core::request::{OrderList, OrdersPage};
use cambist_core::{Hash, VenueTime};
use cambist_kraken::parameters;

use crate::order_key::{cl_ord_id, txid};

/// Levels of each side of a depth.
pub const DEPTH_LEVELS: u32 = 100;

/// Most identifiers of one `QueryTrades`.
pub const TRADES_MAX: usize = 20;

macro_rules! methods {
    ($($method:ident $path:literal)*) => {
        /// A method that the client uses. Its name is the last part of the path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Method {
            $(#[doc = concat!("`", $path, "`")] $method,)*
        }

        impl Method {
            /// Every method, in a fixed order.
            pub const ALL: [Self; [$($path),*].len()] = [$(Self::$method),*];

            /// Path, which signatures cover.
            pub const fn path(self) -> &'static str {
                match self {
                    $(Self::$method => $path,)*
                }
            }
        }
    };
}

methods! {
    Time "/0/public/Time"
    SystemStatus "/0/public/SystemStatus"
    Assets "/0/public/Assets"
    AssetPairs "/0/public/AssetPairs"
    Depth "/0/public/Depth"
    Balance "/0/private/Balance"
    BalanceEx "/0/private/BalanceEx"
    OpenOrders "/0/private/OpenOrders"
    ClosedOrders "/0/private/ClosedOrders"
    QueryOrders "/0/private/QueryOrders"
    QueryTrades "/0/private/QueryTrades"
    Ledgers "/0/private/Ledgers"
    TradeVolume "/0/private/TradeVolume"
    WithdrawMethods "/0/private/WithdrawMethods"
    AddOrder "/0/private/AddOrder"
    AmendOrder "/0/private/AmendOrder"
    CancelOrder "/0/private/CancelOrder"
    CancelAll "/0/private/CancelAll"
    CancelAllOrdersAfter "/0/private/CancelAllOrdersAfter"
}

impl Method {
    /// Whether it needs a key.
    pub fn is_private(self) -> bool {
        self.path().starts_with("/0/private/")
    }

    /// The permission of an API key that it needs, as the service names it where keys are made; `None` without a key, and
    /// where it needs several.
    pub const fn permission(self) -> Option<&'static str> {
        Some(match self {
            Self::Balance | Self::BalanceEx | Self::TradeVolume => "Funds - Query",
            Self::OpenOrders => "Orders and trades - Query open orders & trades",
            Self::ClosedOrders | Self::QueryOrders | Self::QueryTrades => {
                "Orders and trades - Query closed orders & trades"
            }
            Self::Ledgers => "Data - Query ledger entries",
            Self::AddOrder => "Orders and trades - Create & modify orders",
            // A key that may create orders may amend them as well.
            Self::AmendOrder | Self::CancelOrder | Self::CancelAll | Self::CancelAllOrdersAfter => {
                "Orders and trades - Cancel & close orders"
            }
            Self::WithdrawMethods
            | Self::Time
            | Self::SystemStatus
            | Self::Assets
            | Self::AssetPairs
            | Self::Depth => return None,
        })
    }

    /// How many calls it adds to the counter of its key (specification, "Spot REST Rate Limits"). Orders, amends and cancels
    /// have a counter of their pair instead, and public data a pace of their own.
    pub const fn calls(self) -> u32 {
        match self {
            Self::Ledgers | Self::QueryTrades => 2,
            Self::Balance
            | Self::BalanceEx
            | Self::OpenOrders
            | Self::ClosedOrders
            | Self::QueryOrders
            | Self::TradeVolume
            | Self::WithdrawMethods => 1,
            Self::AddOrder
            | Self::AmendOrder
            | Self::CancelOrder
            | Self::CancelAll
            | Self::CancelAllOrdersAfter
            | Self::Time
            | Self::SystemStatus
            | Self::Assets
            | Self::AssetPairs
            | Self::Depth => 0,
        }
    }

    /// Whether it only cancels: such requests go before all others that wait for the same key.
    pub const fn cancels(self) -> bool {
        matches!(
            self,
            Self::CancelOrder | Self::CancelAll | Self::CancelAllOrdersAfter
        )
    }
}

/// A value of a parameter, as it is written.
struct Value(String);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self(number.to_string())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self(flag.to_string())
    }
}

/// A request without its nonce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Method.
    pub method: Method,
    parameters: Vec<(&'static str, String)>,
}

impl Request {
    fn new(method: Method) -> Self {
        Self {
            method,
            parameters: Vec::new(),
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.parameters.push((name, value.into().0));
        self
    }

    /// The query of a public method; empty without parameters.
    pub fn query(&self) -> String {
        let form = parameters::form(self.pairs());
        String::from_utf8(form).unwrap_or_default()
    }

    /// The body of a private method, with its nonce.
    pub fn body(&self, nonce: u64) -> Vec<u8> {
        let nonce = nonce.to_string();
        let first = std::iter::once(("nonce", nonce.as_str()));
        parameters::form(first.chain(self.pairs()))
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.parameters.iter();
        pairs.map(|(name, value)| (*name, value.as_str()))
    }

    /// The service's time.
    pub fn time() -> Self {
        Self::new(Method::Time)
    }

    /// What the service accepts now.
    pub fn system_status() -> Self {
        Self::new(Method::SystemStatus)
    }

    /// These assets; all of them if there is none.
    pub fn assets<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::Assets).list("asset", names)
    }

    /// These pairs; all of them if there is none.
    pub fn asset_pairs<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::AssetPairs).list("pair", names)
    }

    fn list<'a>(self, name: &'static str, of: impl IntoIterator<Item = &'a str>) -> Self {
        let joined = of.into_iter().collect::<Vec<_>>().join(",");
        if joined.is_empty() {
            self
        } else {
            self.with(name, joined)
        }
    }

    /// The book of a pair.
    pub fn depth(pair: &str) -> Self {
        let request = Self::new(Method::Depth).with("pair", pair);
        request.with("count", DEPTH_LEVELS)
    }

    /// Balances, which a key that may query funds can read.
    pub fn balance() -> Self {
        Self::new(Method::Balance)
    }

    /// Balances with what orders hold of them.
    pub fn balance_ex() -> Self {
        Self::new(Method::BalanceEx)
    }

    /// One page of a list of orders. What is open has one page; what is closed is chosen by the time of opening, in
    /// whole seconds: the service leaves `start` out, so that it is one second before the first one wanted.
    pub fn orders(page: &OrdersPage) -> Self {
        match page.list {
            OrderList::All | OrderList::Resting => {
                Self::new(Method::OpenOrders).with("trades", true)
            }
            OrderList::Closed => {
                let mut request = Self::new(Method::ClosedOrders).with("trades", true);
                if page.from > VenueTime(0) {
                    request = request.with("start", before(page.from));
                }
                if page.to > VenueTime(0) {
                    request = request.with("end", page.to.0.div_ceil(1_000));
                }
                request.with("ofs", page.offset).with("closetime", "open")
            }
        }
    }

    /// An order among those that are open; by `cl_ord_id`.
    pub fn open_order(cl_ord_id: &str) -> Self {
        let request = Self::new(Method::OpenOrders).with("trades", true);
        request.with("cl_ord_id", cl_ord_id)
    }

    /// An order among those that are closed; by `cl_ord_id`.
    pub fn closed_order(cl_ord_id: &str) -> Self {
        let request = Self::new(Method::ClosedOrders).with("trades", true);
        request.with("cl_ord_id", cl_ord_id)
    }

    /// An order of others, by its identifier.
    pub fn order_of_others(txid: &str) -> Self {
        let request = Self::new(Method::QueryOrders).with("trades", true);
        request.with("txid", txid)
    }

    /// Ledger entries of trades, newest first, behind `from` and, if there is an end, not behind it. `offset` are
    /// skipped.
    pub fn ledgers(from: VenueTime, to: Option<VenueTime>, offset: u64) -> Self {
        let mut request = Self::new(Method::Ledgers).with("type", "trade");
        request = request.with("start", before(from));
        if let Some(to) = to {
            request = request.with("end", to.0.div_ceil(1_000).saturating_add(1));
        }
        request.with("ofs", offset)
    }

    /// Trades by their identifiers, at most [`TRADES_MAX`].
    pub fn trades<'a>(ids: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::QueryTrades).list("txid", ids.into_iter().take(TRADES_MAX))
    }

    /// The fees of these pairs.
    pub fn fees<'a>(pairs: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::TradeVolume).list("pair", pairs)
    }

    /// How the account can withdraw, which only a key that may withdraw is answered.
    pub fn withdraw_methods() -> Self {
        Self::new(Method::WithdrawMethods)
    }

    /// Cancels one order; `None` for a key that is neither an own order's nor one of others.
    pub fn cancel(order: Hash) -> Option<Self> {
        let request = Self::new(Method::CancelOrder);
        Some(match (txid(order), cl_ord_id(order)) {
            (Some(txid), _) => request.with("txid", txid),
            (None, Some(name)) => request.with("cl_ord_id", name),
            (None, None) => return None,
        })
    }

    /// Moves an own order to another price; `None` for a key that is none of an own order. `post_only` concerns the amend: a
    /// price that would take is refused.
    pub fn amend(order: Hash, price: String, post_only: bool) -> Option<Self> {
        let request = Self::new(Method::AmendOrder).with("cl_ord_id", cl_ord_id(order)?);
        let request = request.with("limit_price", price);
        Some(if post_only {
            request.with("post_only", true)
        } else {
            request
        })
    }

    /// Cancels every order of the account.
    pub fn cancel_all() -> Self {
        Self::new(Method::CancelAll)
    }

    /// Has the service cancel every order of the account in so many seconds; 0 ends that.
    pub fn cancel_all_after(seconds: u32) -> Self {
        Self::new(Method::CancelAllOrdersAfter).with("timeout", seconds)
    }
}

/// Whole seconds that are surely before a time.
const fn before(time: VenueTime) -> u64 {
    time.as_s().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_key::{key_of, key_of_txid};
    use cambist_core::{ClientOrderId, StrategyId};

    fn page(list: OrderList, from: u64, to: u64) -> OrdersPage {
        OrdersPage {
            list,
            from: VenueTime(from),
            to: VenueTime(to),
            offset: 50,
            limit: 100,
        }
    }

    #[test]
    fn windows_are_wide_enough_in_whole_seconds() {
        let query = |list, from, to| Request::orders(&page(list, from, to)).query();
        assert_eq!(query(OrderList::Resting, 0, 0), "trades=true");
        assert_eq!(
            query(OrderList::Closed, 1_700_000_000_000, 1_700_000_000_001),
            "trades=true&start=1699999999&end=1700000001&ofs=50&closetime=open"
        );
        assert_eq!(
            query(OrderList::Closed, 0, 0),
            "trades=true&ofs=50&closetime=open"
        );
        let ledgers = |to| Request::ledgers(VenueTime(5_999), to, 0).query();
        assert_eq!(ledgers(None), "type=trade&start=4&ofs=0");
        assert_eq!(
            ledgers(Some(VenueTime(5_999))),
            "type=trade&start=4&end=7&ofs=0"
        );
    }

    #[test]
    fn orders_are_cancelled_by_the_name_that_their_key_holds() {
        let id = ClientOrderId {
            instance: 1,
            strategy: StrategyId(2),
            number: 3,
        };
        let body = |key: Option<Hash>| {
            let body = key.and_then(Request::cancel).map(|request| request.body(7));
            body.map(|body| String::from_utf8_lossy(&body).into_owned())
        };
        assert_eq!(
            body(key_of(id)).as_deref(),
            Some("nonce=7&cl_ord_id=00000001-b28e-4c02-8000-000000000003")
        );
        assert_eq!(
            body(key_of_txid("OQCLML-BW3P3-BUCMWZ")).as_deref(),
            Some("nonce=7&txid=OQCLML-BW3P3-BUCMWZ")
        );
        assert_eq!(body(Some(Hash([9; 32]))), None);
    }

    #[test]
    fn methods_are_public_or_private_and_some_cancel() {
        let private = Method::ALL.into_iter().filter(|method| method.is_private());
        assert_eq!(private.count(), 14);
        let cancels: Vec<_> = Method::ALL
            .into_iter()
            .filter(|method| method.cancels())
            .collect();
        assert_eq!(
            cancels,
            [
                Method::CancelOrder,
                Method::CancelAll,
                Method::CancelAllOrdersAfter
            ]
        );
        let many: Vec<_> = (0..30).map(|n| format!("T{n}")).collect();
        let trades = Request::trades(many.iter().map(String::as_str)).query();
        assert_eq!(trades.matches('T').count(), TRADES_MAX);
    }
}
