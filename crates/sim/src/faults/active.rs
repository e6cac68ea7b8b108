//! What is wrong at present around the daemon, and since when nothing was.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::request::Endpoint;
use cambist_core::{Hash, Reason, Time, TokenId};
use cambist_venue::{DepthView, Random};

use crate::faults::kinds::FaultKind;

/// Where orders are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// In lists.
    Lists,
    /// Their reports are refused as well.
    Reports,
}

/// The present weather.
#[derive(Debug)]
pub(crate) struct ActiveFaults {
    pub(crate) random: Random,
    /// Faults happen.
    pub(crate) stormy: bool,
    /// Faults have ended for good.
    pub(crate) over: bool,
    /// Troubles under way.
    pub(crate) active: BTreeSet<FaultKind>,
    /// Troubles begun.
    pub(crate) begun: u64,
    /// Until then something was wrong, as far as is known.
    pub(crate) disturbed: Time,
    /// Until then the daemon could not do at the exchange what it wanted, as far as is known.
    pub(crate) obstructed: Time,
    /// The daemon gets nothing to hear before.
    pub(crate) held_until: Time,
    /// Where orders are missing while lists have gaps.
    pub(crate) gaps: Gaps,
    /// Orders younger than this are not shown.
    pub(crate) hidden_ms: u64,
    /// What a closed window has left out once.
    pub(crate) left_out: BTreeSet<Hash>,
    /// What requests of one kind get while it is away: no answer, or a refusal that says nothing.
    pub(crate) away: Option<(Endpoint, Option<Reason>)>,
    /// Wrong times told.
    pub(crate) wrong_times: u64,
    /// How often a cache takes a new depth in; otherwise old ones come between new ones.
    pub(crate) renewed_ms: Option<u64>,
    /// Depths by market: an old one, and the newest.
    pub(crate) depths: BTreeMap<String, (DepthView, DepthView)>,
    /// Money moved that nobody has explained to the daemon: tokens and signed amounts.
    pub(crate) unexplained: Vec<(TokenId, i128)>,
    /// Until then the daemon need not have heard that somebody else touched the account.
    pub(crate) unheard_until: Time,
    /// Somebody else's order.
    pub(crate) foreign: Option<Hash>,
    /// Orders of somebody else so far.
    pub(crate) foreign_made: u32,
    /// Those of another cambist instance, and whether this start of the daemon has told of them.
    pub(crate) others: BTreeMap<Hash, bool>,
}

impl ActiveFaults {
    pub(crate) const fn new(random: Random) -> Self {
        Self {
            random,
            stormy: true,
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
            unheard_until: Time(0),
            foreign: None,
            foreign_made: 0,
            others: BTreeMap::new(),
        }
    }

    pub(crate) fn is(&self, kind: FaultKind) -> bool {
        self.active.contains(&kind)
    }

    /// Something is wrong until then at least.
    pub(crate) fn disturb(&mut self, until: Time) {
        self.disturbed = self.disturbed.max(until);
    }

    /// As that, and it keeps the daemon from doing what it wants.
    pub(crate) fn obstruct(&mut self, until: Time) {
        self.disturb(until);
        self.obstructed = self.obstructed.max(until);
    }

    /// A wrong time, in milliseconds off the true one: each is far from the one before, as a claim of
    /// one broken answer is; two that agree would be a clock.
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
