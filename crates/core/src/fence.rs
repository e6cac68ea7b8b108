//! The fence: the evidence that ends an order of unknown state.
//!
//! Every rule is a pure function, used by the engine and by a model that tries every order of loss, repetition, delay
//! and crash (`crates/fence-model`). What a refusal proves is defined by `Reason`. The durations (time to live, grace,
//! margin) are configuration; times are the venue's.

use serde::{Deserialize, Serialize};

use crate::time::VenueTime;

pub use crate::list_scan::{ListScan, Progress, ScanPurpose};

/// What the venue itself reported about an order's existence.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum VenueEvidence {
    /// Nothing yet.
    #[default]
    None,
    /// It accepted or listed the order. A list that leaves it out is then not enough: its report is queried.
    Seen,
    /// Queried by hash after the fence, it did not know the order.
    Denied,
}

/// Whether no copy of an order can rest: each of its transmissions was refused for a reason that a delivered copy
/// cannot cause, or provably was never sent.
pub fn are_all_disproved(transmissions: u8, disproved: u8) -> bool {
    disproved == transmissions
}

/// Whether `venue_time`, which the venue's clock has passed, is after the fence of an order: no copy of it can come
/// into existence or be listed for the first time any more.
pub fn is_behind(venue_time: VenueTime, valid_until: VenueTime, grace_ms: u64) -> bool {
    venue_time > valid_until.plus_ms(grace_ms)
}

/// Whether a complete list of a closed window, begun when the venue's clock had passed `list_begun`, ends an order that
/// may have been sent.
pub fn is_proven_dead(
    list_begun: VenueTime,
    valid_until: VenueTime,
    grace_ms: u64,
    shown: bool,
    word: VenueEvidence,
) -> bool {
    let contradicted = match word {
        VenueEvidence::Seen => true,
        VenueEvidence::None | VenueEvidence::Denied => false,
    };
    is_behind(list_begun, valid_until, grace_ms) && !shown && !contradicted
}

/// Whether bytes that are sent now arrive before they expire; the margin covers their latency.
pub fn is_in_time(venue_now: VenueTime, valid_until: VenueTime, margin_ms: u64) -> bool {
    venue_now < valid_until.minus_ms(margin_ms)
}

/// Whether the same bytes may be sent once more: not after a cancel was decided, and not so late that they would arrive
/// after their expiry.
pub fn may_be_resent(
    venue_now: VenueTime,
    valid_until: VenueTime,
    margin_ms: u64,
    cancel_decided: bool,
) -> bool {
    is_in_time(venue_now, valid_until, margin_ms) && !cancel_decided
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTIL: VenueTime = VenueTime(10_000);

    #[test]
    fn only_every_transmission_disproved_is_proof() {
        assert!(are_all_disproved(2, 2));
        assert!(!are_all_disproved(2, 1));
    }

    #[test]
    fn the_fence_has_passed_after_expiry_and_grace() {
        assert!(!is_behind(VenueTime(13_000), UNTIL, 3_000));
        assert!(is_behind(VenueTime(13_001), UNTIL, 3_000));
    }

    #[test]
    fn a_list_ends_an_order_only_after_the_fence_and_without_contradiction() {
        let dead = |begun, shown, word| is_proven_dead(VenueTime(begun), UNTIL, 3_000, shown, word);
        assert!(dead(13_001, false, VenueEvidence::None));
        assert!(dead(13_001, false, VenueEvidence::Denied));
        assert!(!dead(13_000, false, VenueEvidence::None));
        assert!(!dead(13_001, true, VenueEvidence::None));
        assert!(!dead(13_001, false, VenueEvidence::Seen));
    }

    #[test]
    fn bytes_are_resent_only_in_time_and_without_a_cancel() {
        assert!(may_be_resent(VenueTime(8_999), UNTIL, 1_000, false));
        assert!(!may_be_resent(VenueTime(9_000), UNTIL, 1_000, false));
        assert!(!may_be_resent(VenueTime(8_999), UNTIL, 1_000, true));
    }
}
