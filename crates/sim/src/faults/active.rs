//! The faults that are active around the daemon, and the time since the last one.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::books::Entry;
use cambist_core::request::Endpoint;
use cambist_core::{Hash, Reason, Time, TokenId};
use cambist_venue::{DepthView, Random};

use crate::faults::disk::Write;
use crate::faults::kinds::FaultKind;

/// Reason for adopting the venue's balances.
pub(crate) const AS_THE_VENUE_HAS_IT: &str = "as the venue has it";
/// Reason for a flow that an operator knows.
pub(crate) const MOVED_BY_HAND: &str = "moved by hand";
const REASONS: [&str; 2] = [AS_THE_VENUE_HAS_IT, MOVED_BY_HAND];

/// Where orders are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// In lists.
    Lists,
    /// Their reports are refused as well.
    Reports,
}

/// State of the faults.
#[derive(Debug)]
pub(crate) struct ActiveFaults {
    pub(crate) random: Random,
    /// Whether this is a period with faults.
    pub(crate) in_fault_period: bool,
    /// Whether faults have ended for good.
    pub(crate) over: bool,
    /// Active faults.
    pub(crate) active: BTreeSet<FaultKind>,
    /// Number of faults started.
    pub(crate) begun: u64,
    /// Time until which a fault was active, as far as is known.
    pub(crate) disturbed: Time,
    /// Time until which the daemon was prevented from acting at the exchange, as far as is known.
    pub(crate) obstructed: Time,
    /// Time before which no event reaches the daemon.
    pub(crate) held_until: Time,
    /// Where orders are left out while lists have gaps.
    pub(crate) gaps: Gaps,
    /// Orders younger than this are hidden.
    pub(crate) hidden_ms: u64,
    /// Entries that a closed window has left out once.
    pub(crate) left_out: BTreeSet<Hash>,
    /// The endpoint without service: no answer, or a refusal without information.
    pub(crate) away: Option<(Endpoint, Option<Reason>)>,
    /// Number of wrong times in answers.
    pub(crate) wrong_times: u64,
    /// Interval at which a cache renews a depth; `None`: old ones alternate with new ones.
    pub(crate) renewed_ms: Option<u64>,
    /// Depths by market: an old one, and the newest.
    pub(crate) depths: BTreeMap<String, (DepthView, DepthView)>,
    /// External flows that were not explained to the daemon: tokens and signed amounts.
    pub(crate) unexplained: Vec<(TokenId, i128)>,
    /// Flows whose explanation this run of the daemon has, and no later one: the store lost it.
    pub(crate) unstored: Vec<(TokenId, i128)>,
    /// Time until which the daemon may not have detected an external change of the account.
    pub(crate) undetected_until: Time,
    /// A foreign order.
    pub(crate) foreign: Option<Hash>,
    /// Number of foreign orders so far.
    pub(crate) foreign_made: u32,
    /// Orders of another instance, and whether this start of the daemon has reported them.
    pub(crate) others: BTreeMap<Hash, bool>,
}

impl ActiveFaults {
    pub(crate) const fn new(random: Random) -> Self {
        Self {
            random,
            in_fault_period: true,
            over: false,
            active: BTreeSet::new(),
            begun: 0,
            disturbed: Time(0),
            obstructed: Time(0),
            held_until: Time(0),
            gaps: Gaps::Lists,
            hidden_ms: 0,
            left_out: BTreeSet::new(),
            away: None,
            wrong_times: 0,
            renewed_ms: None,
            depths: BTreeMap::new(),
            unexplained: Vec::new(),
            unstored: Vec::new(),
            undetected_until: Time(0),
            foreign: None,
            foreign_made: 0,
            others: BTreeMap::new(),
        }
    }

    pub(crate) fn is(&self, kind: FaultKind) -> bool {
        self.active.contains(&kind)
    }

    /// Records that a fault is active until then at least.
    pub(crate) fn disturb(&mut self, until: Time) {
        self.disturbed = self.disturbed.max(until);
    }

    /// The same, for a fault that prevents the daemon from acting.
    pub(crate) fn obstruct(&mut self, until: Time) {
        self.disturb(until);
        self.obstructed = self.obstructed.max(until);
    }

    /// A write is lost: what an operator explained with it. The daemon confirms an explanation when it is durable.
    pub(crate) fn explained_in_vain(&mut self, write: &Write) {
        let Write::Booked(booking) = write else {
            return;
        };
        let flows = booking.entries.iter().filter_map(|entry| match entry {
            Entry::Flow {
                token,
                amount,
                reason,
            } => REASONS
                .contains(&reason.as_str())
                .then_some((*token, *amount)),
            _ => None,
        });
        self.unstored.extend(flows);
    }

    /// A wrong time as an offset in milliseconds. Each is far from the one before: two wrong answers that agreed would
    /// be a clock.
    pub(crate) const fn wrong_ms(&mut self) -> i64 {
        self.wrong_times += 1;
        let step = (self.wrong_times % 37).cast_signed();
        let away = 60_000 + step * 97_000;
        if self.wrong_times.is_multiple_of(3) {
            -away
        } else {
            away
        }
    }
}
