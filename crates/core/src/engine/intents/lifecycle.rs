//! The lifecycle of an intent and the evidence that ends it: the rules of `fence` applied in one place, for orders and
//! for joins and exits.
//!
//! It uses no prices and no tokens: only whether bytes may have been sent, what the venue reported about them, and how
//! long they can still have an effect. Evidence is monotonic: an end is never revoked.

use serde::{Deserialize, Serialize};

use crate::event::BatchId;
use crate::fence::{self, ListScan, VenueEvidence};
use crate::order::Hash;
use crate::request::{Endpoint, Outcome, Reply, RequestId};
use crate::time::{Time, VenueTime};
use crate::venue::{Lifetime, Refusal, RefusalRules};

use crate::venue::Spent;

/// Phase of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Handed to the shell for sealing; no byte was sent.
    Sealing,
    /// Durable, never transmitted.
    Sealed,
    /// A transmission is in flight.
    InFlight,
    /// Transmitted, with unknown result.
    Unknown {
        /// Since when.
        since: Time,
        /// Whether the venue answered with a refusal that proves nothing.
        answered: bool,
    },
    /// Accepted by the venue or listed there.
    Live,
}

/// A cancel in progress. Joins and exits cannot be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CancelState {
    /// When it was decided.
    pub(crate) decided: Time,
    /// The last cancel request.
    pub(crate) last_sent: Option<Time>,
    /// A cancel request in flight.
    pub(crate) in_flight: Option<RequestId>,
    /// When the venue last answered that it accepted the cancel, or that there is nothing to cancel.
    pub(crate) answered: Option<Time>,
    /// Number of requests.
    pub(crate) attempts: u32,
}

/// The effect of the answer to a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransmissionOutcome {
    /// The venue accepted it; `newly` if that was not known.
    Accepted { hash: Hash, newly: bool },
    /// The answer belongs to something else.
    Contradicted,
    /// Every transmission was refused for a reason that proves it: the intent is dead.
    ProvenDead,
    /// Nothing is proven; the list should be read.
    ScanNeeded,
    /// No effect.
    Nothing,
}

/// State and evidence of one intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lifecycle {
    /// The endpoint of its transmissions.
    pub(crate) endpoint: Endpoint,
    /// Until when its bytes are accepted, and until when it rests.
    pub(crate) lifetime: Lifetime,
    /// Lower bound of the venue's clock when it was created.
    pub(crate) made_at: VenueTime,
    /// The batch it was sealed in; batch 0 for recovered ones.
    pub(crate) batch: BatchId,
    /// Known from the moment it is sealed.
    pub(crate) hash: Option<Hash>,
    pub(crate) phase: Phase,
    /// Number of transmissions.
    pub(crate) attempts: u8,
    /// Transmissions refused for a reason that proves the copy dead, or that provably never left.
    pub(crate) disproved: u8,
    pub(crate) first_sent: Option<Time>,
    pub(crate) last_sent: Option<Time>,
    /// A scan that began after the last transmission did not list it.
    pub(crate) missed: bool,
    pub(crate) evidence: VenueEvidence,
    /// The venue reported that the number of its slot is used.
    pub(crate) slot_spent: bool,
    pub(crate) cancel: Option<CancelState>,
    /// Since when it is known that the venue has it.
    pub(crate) live_since: Option<Time>,
}

impl Lifecycle {
    /// A new intent being sealed.
    pub(crate) fn sealing(
        endpoint: Endpoint,
        lifetime: Lifetime,
        made_at: VenueTime,
        batch: BatchId,
    ) -> Self {
        Self {
            endpoint,
            lifetime,
            made_at,
            batch,
            hash: None,
            phase: Phase::Sealing,
            attempts: 0,
            disproved: 0,
            first_sent: None,
            last_sent: None,
            missed: false,
            evidence: VenueEvidence::None,
            slot_spent: false,
            cancel: None,
            live_since: None,
        }
    }

    /// Makes it an intent of an earlier run, which may have used all its transmissions: this run adds none.
    pub(crate) fn recover(&mut self, now: Time, hash: Hash, attempts_max: u8) {
        self.hash = Some(hash);
        self.phase = Phase::Unknown {
            since: now,
            answered: false,
        };
        self.attempts = attempts_max;
    }

    /// Whether any byte of it may have been sent.
    pub(crate) fn may_have_left(&self) -> bool {
        match self.phase {
            Phase::Sealing | Phase::Sealed => false,
            Phase::InFlight | Phase::Unknown { .. } | Phase::Live => true,
        }
    }

    /// Whether a cancel that was decided may be sent: it may rest, and no cancel of it is in flight. An order in flight
    /// is not cancelled before its answer, because a cancel that overtakes it would find nothing.
    pub(crate) fn may_be_cancelled(&self) -> bool {
        let reachable = matches!(self.phase, Phase::Live | Phase::Unknown { .. });
        reachable && self.cancel.is_some_and(|cancel| cancel.in_flight.is_none())
    }

    /// The venue has answered that it does not rest, as to a cancel. What it traded is not known yet.
    pub(crate) fn not_there(&mut self, now: Time) {
        self.cancel.get_or_insert(CancelState {
            decided: now,
            last_sent: Some(now),
            in_flight: None,
            answered: Some(now),
            attempts: 1,
        });
    }

    /// Since when its state has been unknown, if it is.
    pub(crate) fn unknown_since(&self) -> Option<Time> {
        match self.phase {
            Phase::Unknown { since, .. } => Some(since),
            Phase::Sealing | Phase::Sealed | Phase::InFlight | Phase::Live => None,
        }
    }

    /// A transmission starts.
    pub(crate) fn leaves(&mut self, now: Time) {
        self.phase = Phase::InFlight;
        self.attempts = self.attempts.saturating_add(1);
        self.first_sent.get_or_insert(now);
        self.last_sent = Some(now);
        self.missed = false;
    }

    /// Handles the answer to a transmission. A refusal ends the intent only for reasons that a delivered copy cannot
    /// cause, and only if every transmission got such a refusal.
    pub(crate) fn handle_outcome(
        &mut self,
        now: Time,
        outcome: &Outcome,
        refusals: &RefusalRules,
    ) -> TransmissionOutcome {
        let waiting = self.phase == Phase::InFlight;
        let unknown = |answered| Phase::Unknown {
            since: now,
            answered,
        };
        match outcome {
            Outcome::Reply(Reply::Submitted { hash, .. }) if self.hash == Some(*hash) => {
                let newly = self.phase != Phase::Live;
                self.phase = Phase::Live;
                self.evidence = VenueEvidence::Seen;
                self.live_since.get_or_insert(now);
                return TransmissionOutcome::Accepted { hash: *hash, newly };
            }
            Outcome::Reply(_) => {
                if waiting {
                    self.phase = unknown(false);
                }
                return TransmissionOutcome::Contradicted;
            }
            Outcome::Refused(reason) if refusals.of(*reason) == Refusal::KillsBytes => {
                self.disproved = self.disproved.saturating_add(1);
                if waiting && fence::are_all_disproved(self.attempts, self.disproved) {
                    return TransmissionOutcome::ProvenDead;
                }
                if waiting {
                    self.phase = unknown(true);
                }
                return TransmissionOutcome::Nothing;
            }
            Outcome::Refused(reason) => {
                let refusal = refusals.of(*reason);
                self.slot_spent |= refusal == Refusal::KillsCopy;
                if waiting {
                    // These do not contradict it: it still occupies its quote.
                    let open = matches!(
                        refusal,
                        Refusal::KillsCopy | Refusal::NotProcessed | Refusal::RateLimited
                    );
                    self.phase = unknown(!open);
                }
            }
            Outcome::NotSent => {
                self.disproved = self.disproved.saturating_add(1);
                if waiting {
                    let never_left = fence::are_all_disproved(self.attempts, self.disproved);
                    self.phase = if never_left {
                        Phase::Sealed
                    } else {
                        unknown(false)
                    };
                }
                return TransmissionOutcome::Nothing;
            }
            Outcome::Unknown(_) => {
                if waiting {
                    self.phase = unknown(false);
                }
            }
        }
        TransmissionOutcome::ScanNeeded
    }

    /// The venue lists it. True if its state was unknown.
    pub(crate) fn shown(&mut self, now: Time) -> bool {
        let unknown = self.unknown_since().is_some();
        self.evidence = VenueEvidence::Seen;
        self.missed = false;
        self.live_since.get_or_insert(now);
        self.phase = Phase::Live;
        unknown
    }

    /// Handles a scan: whether it should have listed the intent, and did not.
    pub(crate) fn passed(&mut self, pass: &ListScan) -> bool {
        let had_to = self.last_sent.is_none_or(|sent| sent < pass.begun);
        let missed = had_to && !self.is_in(pass);
        self.missed |= missed;
        missed
    }

    /// Whether a scan listed it.
    pub(crate) fn is_in(&self, pass: &ListScan) -> bool {
        self.hash.is_some_and(|hash| pass.shows(hash))
    }

    /// Whether it cannot have changed balances that arrived at `arrived`, or was listed by a scan begun after that, so
    /// that its changes are booked.
    pub(crate) fn is_accounted(&self, arrived: Time, pass: Option<&ListScan>) -> bool {
        !self.may_have_left()
            || self.first_sent.is_some_and(|sent| sent >= arrived)
            || pass.is_some_and(|pass| self.is_in(pass))
    }

    /// The last moment at which it can have an effect, by what is known of it.
    pub(crate) fn last_effect(&self) -> VenueTime {
        fence::last_effect(self.lifetime, self.evidence)
    }

    /// Whether the number of its slot was used up at the venue.
    pub(crate) fn spent(&self) -> Spent {
        if self.slot_spent || self.evidence != VenueEvidence::None {
            Spent::Yes
        } else {
            Spent::No
        }
    }

    /// Whether the venue's clock has passed its last effect and grace.
    pub(crate) fn is_past_fence(&self, venue_now: VenueTime, grace_ms: u64) -> bool {
        self.may_have_left() && fence::is_behind(venue_now, self.last_effect(), grace_ms)
    }

    /// Whether a complete list, begun after its fence, leaves it out.
    pub(crate) fn is_absent_from(&self, pass: &ListScan, grace_ms: u64) -> bool {
        self.is_past_fence(pass.begun_venue, grace_ms) && !self.is_in(pass)
    }

    /// Whether that list ends it.
    pub(crate) fn is_dead_by(&self, pass: &ListScan, grace_ms: u64) -> bool {
        let (begun, shown) = (pass.begun_venue, self.is_in(pass));
        self.may_have_left()
            && fence::is_proven_dead(begun, self.lifetime, grace_ms, shown, self.evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::request::UnknownCause;
    use crate::{OrderStatus, Reason};

    const NOW: Time = Time(7);
    const HASH: Hash = Hash([3; 32]);
    const UNANSWERED: Phase = Phase::Unknown {
        since: NOW,
        answered: false,
    };
    const ANSWERED: Phase = Phase::Unknown {
        since: NOW,
        answered: true,
    };

    /// An intent in this phase after so many transmissions.
    fn intent(phase: Phase, attempts: u8) -> Lifecycle {
        let lifetime = Lifetime::one(VenueTime(9_000));
        let batch = BatchId(1);
        let mut lifecycle = Lifecycle::sealing(Endpoint::Submit, lifetime, VenueTime(0), batch);
        (lifecycle.hash, lifecycle.phase) = (Some(HASH), phase);
        lifecycle.attempts = attempts;
        lifecycle
    }

    fn submitted(hash: Hash) -> Outcome {
        Outcome::Reply(Reply::Submitted {
            hash,
            status: OrderStatus::Processing,
            idempotent: false,
        })
    }

    /// Every kind of answer to the first and to the second transmission, and what it proves.
    #[test]
    fn every_answer_to_a_transmission() {
        use TransmissionOutcome::{Accepted, Contradicted, Nothing, ProvenDead, ScanNeeded};
        let accepted = Accepted {
            hash: HASH,
            newly: true,
        };
        let other = Hash([4; 32]);
        let refused = Outcome::Refused;
        for (outcome, first, second, effect) in [
            (submitted(HASH), Phase::Live, Phase::Live, accepted),
            (submitted(other), UNANSWERED, UNANSWERED, Contradicted),
            (
                Outcome::Reply(Reply::Tokens(Vec::new())),
                UNANSWERED,
                UNANSWERED,
                Contradicted,
            ),
            (
                refused(Reason::InvalidArgument),
                Phase::InFlight,
                ANSWERED,
                ProvenDead,
            ),
            (
                refused(Reason::RateLimited),
                UNANSWERED,
                UNANSWERED,
                ScanNeeded,
            ),
            (refused(Reason::Unlisted(1)), ANSWERED, ANSWERED, ScanNeeded),
            (Outcome::NotSent, Phase::Sealed, UNANSWERED, Nothing),
            (
                Outcome::Unknown(UnknownCause::Timeout),
                UNANSWERED,
                UNANSWERED,
                ScanNeeded,
            ),
        ] {
            let judge = |lifecycle: &mut Lifecycle| {
                lifecycle.handle_outcome(NOW, &outcome, &RefusalRules::exchange())
            };
            let mut once = intent(Phase::InFlight, 1);
            assert_eq!(judge(&mut once), effect, "{outcome:?}");
            assert_eq!(once.phase, first, "{outcome:?}");
            let mut again = intent(Phase::InFlight, 2);
            let after = judge(&mut again);
            assert_ne!(after, ProvenDead, "{outcome:?}: the first copy may live");
            assert_eq!(again.phase, second, "{outcome:?} to the second");
            // What is known to rest is not made unknown by an answer.
            let mut resting = intent(Phase::Live, 2);
            let after = judge(&mut resting);
            assert_eq!(resting.phase, Phase::Live, "{outcome:?}");
            let newly = matches!(after, Accepted { newly: true, .. });
            assert!(!newly, "{outcome:?}: that was known");
        }
    }

    #[test]
    fn the_first_transmission_decides_what_balances_may_contain_and_the_last_when_it_is_resent() {
        let mut lifecycle = intent(Phase::Sealed, 0);
        assert!(lifecycle.is_accounted(Time(1), None), "nothing has left");
        lifecycle.leaves(Time(10));
        lifecycle.missed = true;
        lifecycle.leaves(Time(20));
        assert_eq!(lifecycle.attempts, 2);
        assert_eq!(lifecycle.last_sent, Some(Time(20)));
        assert!(!lifecycle.missed, "no list has left this copy out");
        for (arrived, accounted) in [(10, true), (11, false), (20, false), (21, false)] {
            let found = lifecycle.is_accounted(Time(arrived), None);
            assert_eq!(found, accounted, "balances of {arrived}");
        }
    }

    #[test]
    fn what_is_listed_after_a_scan_missed_it_is_missed_no_longer() {
        let mut intent = intent(UNANSWERED, 1);
        intent.missed = true;
        assert!(intent.shown(NOW), "its state was unknown");
        assert_eq!((intent.missed, intent.phase), (false, Phase::Live));
        assert!(!intent.shown(NOW), "and is known");
    }
}
