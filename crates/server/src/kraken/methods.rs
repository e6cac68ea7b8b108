//! The methods: name, permission, cost.

use super::config::Permission;

/// A public method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Public {
    Time,
    SystemStatus,
    Assets,
    AssetPairs,
    Ticker,
    Ohlc,
    Depth,
    Trades,
    Spread,
}

const PUBLIC: [(&str, Public); 9] = [
    ("Time", Public::Time),
    ("SystemStatus", Public::SystemStatus),
    ("Assets", Public::Assets),
    ("AssetPairs", Public::AssetPairs),
    ("Ticker", Public::Ticker),
    ("OHLC", Public::Ohlc),
    ("Depth", Public::Depth),
    ("Trades", Public::Trades),
    ("Spread", Public::Spread),
];

impl Public {
    pub fn parse(name: &str) -> Option<Self> {
        find(&PUBLIC, name)
    }
}

/// A private method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Private {
    Balance,
    BalanceEx,
    TradeVolume,
    OpenOrders,
    ClosedOrders,
    QueryOrders,
    TradesHistory,
    QueryTrades,
    Ledgers,
    QueryLedgers,
    AddOrder,
    AddOrderBatch,
    AmendOrder,
    CancelOrder,
    CancelOrderBatch,
    CancelAll,
    CancelAllOrdersAfter,
    WithdrawMethods,
}

const PRIVATE: [(&str, Private); 18] = [
    ("Balance", Private::Balance),
    ("BalanceEx", Private::BalanceEx),
    ("TradeVolume", Private::TradeVolume),
    ("OpenOrders", Private::OpenOrders),
    ("ClosedOrders", Private::ClosedOrders),
    ("QueryOrders", Private::QueryOrders),
    ("TradesHistory", Private::TradesHistory),
    ("QueryTrades", Private::QueryTrades),
    ("Ledgers", Private::Ledgers),
    ("QueryLedgers", Private::QueryLedgers),
    ("AddOrder", Private::AddOrder),
    ("AddOrderBatch", Private::AddOrderBatch),
    ("AmendOrder", Private::AmendOrder),
    ("CancelOrder", Private::CancelOrder),
    ("CancelOrderBatch", Private::CancelOrderBatch),
    ("CancelAll", Private::CancelAll),
    ("CancelAllOrdersAfter", Private::CancelAllOrdersAfter),
    ("WithdrawMethods", Private::WithdrawMethods),
];

impl Private {
    pub fn parse(name: &str) -> Option<Self> {
        find(&PRIVATE, name)
    }

    /// Sets of permissions, of which a key needs one whole.
    pub const fn permissions(self) -> &'static [&'static [Permission]] {
        use Permission::{
            FundsQuery, FundsWithdraw, LedgerQuery, OrdersCancel, OrdersModify, OrdersQueryClosed,
            OrdersQueryOpen,
        };
        match self {
            Self::Balance | Self::BalanceEx | Self::TradeVolume => &[&[FundsQuery]],
            Self::OpenOrders => &[&[OrdersQueryOpen]],
            Self::ClosedOrders | Self::TradesHistory | Self::QueryTrades => &[&[OrdersQueryClosed]],
            Self::QueryOrders => &[&[OrdersQueryOpen], &[OrdersQueryClosed]],
            Self::Ledgers | Self::QueryLedgers => &[&[LedgerQuery]],
            Self::AddOrder => &[&[OrdersModify]],
            Self::AddOrderBatch => &[&[OrdersModify, OrdersCancel]],
            Self::AmendOrder
            | Self::CancelOrder
            | Self::CancelOrderBatch
            | Self::CancelAll
            | Self::CancelAllOrdersAfter => &[&[OrdersModify], &[OrdersCancel]],
            Self::WithdrawMethods => &[&[FundsQuery, FundsWithdraw]],
        }
    }

    /// What it adds to the counter of its key. Orders and cancels count for their pair instead.
    pub const fn cost(self) -> u32 {
        match self {
            Self::AddOrder
            | Self::AddOrderBatch
            | Self::AmendOrder
            | Self::CancelOrder
            | Self::CancelOrderBatch
            | Self::CancelAll
            | Self::CancelAllOrdersAfter => 0,
            Self::TradesHistory | Self::QueryTrades | Self::Ledgers | Self::QueryLedgers => 2,
            Self::Balance
            | Self::BalanceEx
            | Self::TradeVolume
            | Self::OpenOrders
            | Self::ClosedOrders
            | Self::QueryOrders
            | Self::WithdrawMethods => 1,
        }
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let mut rows = table.iter();
    rows.find_map(|(known, method)| (*known == name).then_some(*method))
}
