//! Troubles: what goes wrong for a while around the daemon, beside the network and its own death.

use serde::{Deserialize, Serialize};

use crate::faults::family::Family;

/// One kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The exchange answers reads only.
    ExchangeHalted,
    /// The exchange takes cancels only.
    ExchangeCancelOnly,
    /// The exchange takes no order that would trade at once.
    ExchangePostOnly,
    /// Our account is frozen.
    AccountFrozen,
    /// The first market is closed.
    MarketClosed,
    /// The exchange is away: nobody listens.
    ExchangeDown,
    /// Orders and cancels take effect late, and some orders fail late.
    ExchangeSlow,
    /// Orders are shown late.
    OrdersHidden,
    /// Lists leave out orders that the daemon knows; asked for by hash they are there, or cannot be read.
    ListGaps,
    /// Lists leave out orders that the daemon does not know yet; closed windows leave out each once.
    ListSkips,
    /// What is submitted arrives just before it expires, or just after.
    SubmitsLate,
    /// Requests of one kind get no answer, or a refusal that says nothing; all others are served.
    OneAway,
    /// The depth stands still under fresh timestamps.
    DepthFrozen,
    /// Depths of the past are shown again, from a cache.
    DepthOld,
    /// The price leaps, and most who make the market step back.
    MarketCrash,
    /// Nobody else makes the market any more.
    MarketDeserted,
    /// Fees rise.
    FeesRaised,
    /// The API key is refused.
    KeyRefused,
    /// The store cannot write any more, in this process.
    StoreFailed,
    /// Signing fails.
    SigningFailed,
    /// The disk takes seconds.
    StoreSlow,
    /// The host sleeps, and the daemon's clock with it.
    Suspended,
    /// The machine is held, and the daemon's clock goes on.
    Held,
    /// Some answers carry a wrong time.
    TimeWrong,
    /// The operator allows cancels only.
    LevelRaised,
    /// The operator halts.
    LevelHalted,
    /// The operator ends the daemon in order.
    Drained,
    /// Somebody deposits.
    Deposit,
    /// Somebody withdraws.
    Withdrawal,
    /// Somebody else's order is on our account.
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

    /// Whether a person waits for its end before starting a daemon again that stands still.
    pub(crate) const fn keeps_people(self) -> bool {
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
