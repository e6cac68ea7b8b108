//! Kinds of faults that last for some time, besides the network and crashes.

use serde::{Deserialize, Serialize};

use crate::faults::family::Family;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The exchange answers reads only.
    ExchangeHalted,
    /// The exchange accepts cancels only.
    ExchangeCancelOnly,
    /// The exchange accepts no order that would trade at once.
    ExchangePostOnly,
    /// Our account is frozen.
    AccountFrozen,
    /// The first market is closed.
    MarketClosed,
    /// The exchange is unreachable.
    ExchangeDown,
    /// Orders and cancels take effect late, and some orders fail late.
    ExchangeSlow,
    /// Orders appear in lists late.
    OrdersHidden,
    /// Lists leave out orders that the daemon knows; by hash they are found, or cannot be read.
    ListGaps,
    /// Lists leave out orders that the daemon does not know yet; closed windows leave out each once.
    ListSkips,
    /// Submits arrive immediately before they expire, or after.
    SubmitsLate,
    /// Requests to one endpoint get no answer, or a refusal without information; all others are served.
    OneAway,
    /// The depth does not change, under new timestamps.
    DepthFrozen,
    /// Old depths are sent again, from a cache.
    DepthOld,
    /// The price jumps, and most market makers stop quoting.
    MarketCrash,
    /// No other market maker quotes.
    MarketDeserted,
    /// Fees increase.
    FeesRaised,
    /// The API key is refused.
    KeyRefused,
    /// The store cannot write any more in this process.
    StoreFailed,
    /// Signing fails.
    SigningFailed,
    /// The disk takes seconds.
    StoreSlow,
    /// The host is suspended, and the daemon's clock stops.
    Suspended,
    /// The process is stopped, and the daemon's clock continues.
    Held,
    /// Some answers carry a wrong time.
    TimeWrong,
    /// An operator sets cancel-only.
    LevelRaised,
    /// An operator halts trading.
    LevelHalted,
    /// An operator drains the daemon.
    Drained,
    /// An external deposit.
    Deposit,
    /// An external withdrawal.
    Withdrawal,
    /// A foreign order on our account.
    ForeignOrder,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 30] = [
        Self::ExchangeHalted,
        Self::ExchangeCancelOnly,
        Self::ExchangePostOnly,
        Self::AccountFrozen,
        Self::MarketClosed,
        Self::ExchangeDown,
        Self::ExchangeSlow,
        Self::OrdersHidden,
        Self::ListGaps,
        Self::ListSkips,
        Self::SubmitsLate,
        Self::OneAway,
        Self::DepthFrozen,
        Self::DepthOld,
        Self::MarketCrash,
        Self::MarketDeserted,
        Self::FeesRaised,
        Self::KeyRefused,
        Self::StoreFailed,
        Self::SigningFailed,
        Self::StoreSlow,
        Self::Suspended,
        Self::Held,
        Self::TimeWrong,
        Self::LevelRaised,
        Self::LevelHalted,
        Self::Drained,
        Self::Deposit,
        Self::Withdrawal,
        Self::ForeignOrder,
    ];

    /// The family it belongs to.
    pub const fn family(self) -> Family {
        match self {
            Self::ExchangeHalted
            | Self::ExchangeCancelOnly
            | Self::ExchangePostOnly
            | Self::AccountFrozen
            | Self::MarketClosed
            | Self::ExchangeDown
            | Self::ExchangeSlow
            | Self::OrdersHidden
            | Self::ListGaps
            | Self::ListSkips
            | Self::OneAway
            | Self::DepthFrozen
            | Self::DepthOld
            | Self::MarketCrash
            | Self::MarketDeserted
            | Self::FeesRaised
            | Self::KeyRefused => Family::Venue,
            Self::SubmitsLate => Family::Network,
            Self::StoreFailed | Self::SigningFailed | Self::StoreSlow => Family::Disk,
            Self::Suspended | Self::Held | Self::TimeWrong => Family::Clock,
            Self::LevelRaised
            | Self::LevelHalted
            | Self::Drained
            | Self::Deposit
            | Self::Withdrawal
            | Self::ForeignOrder => Family::Operator,
        }
    }

    /// Whether the operator waits for its end before restarting a stopped daemon.
    pub(crate) const fn blocks_operator(self) -> bool {
        match self {
            Self::KeyRefused
            | Self::StoreFailed
            | Self::SigningFailed
            | Self::LevelRaised
            | Self::LevelHalted
            | Self::Drained
            | Self::Deposit
            | Self::Withdrawal => true,
            Self::ExchangeHalted
            | Self::ExchangeCancelOnly
            | Self::ExchangePostOnly
            | Self::AccountFrozen
            | Self::MarketClosed
            | Self::ExchangeDown
            | Self::ExchangeSlow
            | Self::OrdersHidden
            | Self::ListGaps
            | Self::ListSkips
            | Self::SubmitsLate
            | Self::OneAway
            | Self::DepthFrozen
            | Self::DepthOld
            | Self::MarketCrash
            | Self::MarketDeserted
            | Self::FeesRaised
            | Self::StoreSlow
            | Self::Suspended
            | Self::Held
            | Self::TimeWrong
            | Self::ForeignOrder => false,
        }
    }
}
