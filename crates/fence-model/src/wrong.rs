//! Wrong rules. The model replaces one right rule at a time by one of these.

/// A wrong rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wrong {
    /// Three "not found" answers by hash in a row end the order as failed.
    NotFoundThreeTimes,
    /// Any refusal of a resend ends the order.
    RefusedResendEnds,
    /// Any refusal of a submit ends the order.
    AnyRefusalEnds,
    /// One definitive refusal ends the order, whatever the result of its other transmissions.
    OneRefusalEnds,
    /// A transmission that provably never left ends the order, whatever the result of the others.
    NotSentEnds,
    /// "No orders to cancel" ends the order.
    NothingToCancelEnds,
    /// An acknowledged cancel releases the reservation.
    AcceptedCancelReleases,
    /// After a time-out a new order with a new id is sent.
    NewIdOnRetry,
    /// An order that a complete list leaves out is dead at any time.
    AbsenceEnds,
    /// The fence is at the expiry: no grace.
    NoGrace,
    /// The fence is compared with the local clock.
    WallClock,
    /// The first page of a list counts as the whole list.
    FirstPageOnly,
    /// One round of a list counts as complete.
    OneRound,
    /// Bytes are sent before they are synced.
    SyncSkipped,
    /// A restart does not read which orders were open.
    OpenOrdersNotRead,
    /// Storage ids start again after a restart.
    IdsRestart,
    /// An order is over when its bytes have lapsed, though it may rest longer.
    LapseEnds,
    /// An unknown order is over when the venue has taken a later number: no copy of it can be taken any more, but one may
    /// have been taken before.
    LaterTakenEnds,
}

impl Wrong {
    /// All wrong rules.
    pub const ALL: [Self; 18] = [
        Self::NotFoundThreeTimes,
        Self::RefusedResendEnds,
        Self::AnyRefusalEnds,
        Self::OneRefusalEnds,
        Self::NotSentEnds,
        Self::NothingToCancelEnds,
        Self::AcceptedCancelReleases,
        Self::NewIdOnRetry,
        Self::AbsenceEnds,
        Self::NoGrace,
        Self::WallClock,
        Self::FirstPageOnly,
        Self::OneRound,
        Self::SyncSkipped,
        Self::OpenOrdersNotRead,
        Self::IdsRestart,
        Self::LapseEnds,
        Self::LaterTakenEnds,
    ];
}
