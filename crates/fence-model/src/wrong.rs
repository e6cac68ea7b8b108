//! Rules that are wrong, one at a time in place of the right one.

/// A wrong rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wrong {
    /// Not found by hash three times in a row: failed.
    NotFoundThrice,
    /// Whatever refuses a resend ends the order.
    RefusedResendIsDeath,
    /// Any refusal of a submit ends the order.
    AnyRefusalIsDeath,
    /// One definitive refusal ends the order, whatever became of its other transmissions.
    OneRefusalIsEnough,
    /// A transmission that provably never left ends the order, whatever became of the others.
    NotSentIsDeath,
    /// "No orders to cancel" ends the order.
    NothingToCancelIsDeath,
    /// An acknowledged cancel frees the reservation.
    CancelTakenFrees,
    /// A time-out is answered with a new order under a new id.
    NewIdOnRetry,
    /// What was not found in a complete list is dead, whatever the time.
    AbsenceIsEnough,
    /// The fence stands at the expiry: no grace.
    NoGrace,
    /// The fence is judged by the machine's own clock.
    WallClock,
    /// The first page of a list is the list.
    FirstPageOnly,
    /// One round of a list is enough.
    OneRound,
    /// Bytes leave before they are on disk.
    SyncSkipped,
    /// A restart does not look for what was open.
    OpenIsNotRead,
    /// Storage ids begin anew after a restart.
    IdsBeginAnew,
}

impl Wrong {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::NotFoundThrice,
        Self::RefusedResendIsDeath,
        Self::AnyRefusalIsDeath,
        Self::OneRefusalIsEnough,
        Self::NotSentIsDeath,
        Self::NothingToCancelIsDeath,
        Self::CancelTakenFrees,
        Self::NewIdOnRetry,
        Self::AbsenceIsEnough,
        Self::NoGrace,
        Self::WallClock,
        Self::FirstPageOnly,
        Self::OneRound,
        Self::SyncSkipped,
        Self::OpenIsNotRead,
        Self::IdsBeginAnew,
    ];
}
