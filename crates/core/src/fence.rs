//! The fence: the evidence that ends an order of unknown state.
//!
//! Every rule is a pure function, used by the engine and by a model that tries every order of loss, repetition, delay
//! and crash (`crates/fence-model`). What a refusal proves is a rule of the venue (`venue::Refusal`). The durations (time to live, grace,
//! margin) are configuration; times are the venue's.

use serde::{Deserialize, Serialize};

use crate::time::VenueTime;
use crate::venue::Lifetime;

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

/// The last moment at which an order can come into existence or fill, by what the venue has reported of it: one that it
/// never accepted or listed cannot come into existence after its bytes have lapsed, and one that it did may rest on.
pub fn last_effect(lifetime: Lifetime, evidence: VenueEvidence) -> VenueTime {
    match evidence {
        VenueEvidence::None => lifetime.accepted_until,
        VenueEvidence::Seen | VenueEvidence::Denied => lifetime.last_effect(),
    }
}

/// Whether `venue_time`, which the venue's clock has passed, is after the fence of an order with this last effect: no
/// copy of it can come into existence or be listed for the first time any more.
pub fn is_behind(venue_time: VenueTime, last_effect: VenueTime, grace_ms: u64) -> bool {
    venue_time > last_effect.plus_ms(grace_ms)
}

/// Whether a complete list of a closed window, begun when the venue's clock had passed `list_begun`, ends an order that
/// may have been sent.
pub fn is_proven_dead(
    list_begun: VenueTime,
    lifetime: Lifetime,
    grace_ms: u64,
    shown: bool,
    evidence: VenueEvidence,
) -> bool {
    let contradicted = match evidence {
        VenueEvidence::Seen => true,
        VenueEvidence::None | VenueEvidence::Denied => false,
    };
    is_behind(list_begun, last_effect(lifetime, evidence), grace_ms) && !shown && !contradicted
}

/// Whether bytes that are sent now arrive before they lapse; the margin covers their latency.
pub fn is_in_time(venue_now: VenueTime, accepted_until: VenueTime, margin_ms: u64) -> bool {
    venue_now < accepted_until.minus_ms(margin_ms)
}

/// Whether the same bytes may be sent once more: not after a cancel was decided, and not so late that they would arrive
/// after they have lapsed.
pub fn may_be_resent(
    venue_now: VenueTime,
    accepted_until: VenueTime,
    margin_ms: u64,
    cancel_decided: bool,
) -> bool {
    is_in_time(venue_now, accepted_until, margin_ms) && !cancel_decided
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
        let dead = |begun, shown, evidence| {
            is_proven_dead(
                VenueTime(begun),
                Lifetime::one(UNTIL),
                3_000,
                shown,
                evidence,
            )
        };
        assert!(dead(13_001, false, VenueEvidence::None));
        assert!(dead(13_001, false, VenueEvidence::Denied));
        assert!(!dead(13_000, false, VenueEvidence::None));
        assert!(!dead(13_001, true, VenueEvidence::None));
        assert!(!dead(13_001, false, VenueEvidence::Seen));
    }

    #[test]
    fn what_was_never_seen_is_judged_by_the_end_of_acceptance_and_what_was_by_the_end_of_rest() {
        let rests = |rests_until| Lifetime {
            accepted_until: UNTIL,
            rests_until,
        };
        let dead = |begun, lifetime, evidence| {
            is_proven_dead(VenueTime(begun), lifetime, 3_000, false, evidence)
        };
        let longer = rests(Some(VenueTime(50_000)));
        assert!(dead(13_001, longer, VenueEvidence::None));
        assert!(!dead(13_000, longer, VenueEvidence::None));
        assert!(!dead(53_000, longer, VenueEvidence::Denied));
        assert!(dead(53_001, longer, VenueEvidence::Denied));
        let endless = rests(None);
        assert!(dead(13_001, endless, VenueEvidence::None));
        assert!(
            !dead(1 << 50, endless, VenueEvidence::Denied),
            "the venue has shown it"
        );
    }

    #[test]
    fn bytes_are_resent_only_in_time_and_without_a_cancel() {
        assert!(may_be_resent(VenueTime(8_999), UNTIL, 1_000, false));
        assert!(!may_be_resent(VenueTime(9_000), UNTIL, 1_000, false));
        assert!(!may_be_resent(VenueTime(8_999), UNTIL, 1_000, true));
    }
}
