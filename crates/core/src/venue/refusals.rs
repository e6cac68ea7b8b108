//! What a venue's refusals prove.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;

/// What follows from a refusal of a submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// The bytes alone cause it: every copy of them, whenever it arrives, is refused as well.
    KillsBytes,
    /// This copy created nothing because its slot or its name is used, perhaps by a copy that arrived before.
    KillsCopy,
    /// The request was not looked at, and may be sent again.
    NotProcessed,
    /// As above, because there were too many: the endpoint gets no requests for a while.
    RateLimited,
    /// Nothing. What the venue compared may have been caused by a delivered copy, or may have changed before a
    /// delayed one arrives.
    ProvesNothing,
    /// Our keys are not accepted, so that going on is pointless. Of the order it proves nothing.
    KeysRefused,
}

/// The reasons of a venue by what they prove. One that is not named proves nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalRules {
    /// Reasons in rising order, and what each proves of a submit.
    pub submits: Vec<(Reason, Refusal)>,
    /// Reasons with which a cancel is refused because nothing of the order rests, as far as the venue knows.
    pub nothing_to_cancel: Vec<Reason>,
    /// Reasons with which the report of an order is refused because the venue does not know the order.
    pub not_found: Vec<Reason>,
}

impl RefusalRules {
    /// The exchange interface's status codes.
    pub fn exchange() -> Self {
        let listed = Reason::LISTED.into_iter().chain([Reason::RateLimited]);
        let named = listed.map(|reason| (reason, reason.refusal()));
        let mut submits: Vec<_> = named
            .filter(|(_, refusal)| *refusal != Refusal::ProvesNothing)
            .collect();
        submits.sort_unstable();
        Self {
            submits,
            nothing_to_cancel: vec![Reason::NothingToCancel],
            not_found: vec![Reason::OrderNotFound],
        }
    }

    /// What a refusal with this reason proves.
    pub fn of(&self, reason: Reason) -> Refusal {
        let place = self.submits.binary_search_by_key(&reason, |(of, _)| *of);
        place.map_or(Refusal::ProvesNothing, |at| self.submits[at].1)
    }

    /// Whether a cancel was refused because nothing rests.
    pub fn is_nothing_to_cancel(&self, reason: Reason) -> bool {
        self.nothing_to_cancel.contains(&reason)
    }

    /// Whether a report was refused because the order is not known.
    pub fn is_not_found(&self, reason: Reason) -> bool {
        self.not_found.contains(&reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_the_exchange_proves_what_its_table_says_and_no_other_proves_anything() {
        let rules = RefusalRules::exchange();
        for reason in Reason::LISTED {
            assert_eq!(rules.of(reason), reason.refusal(), "{reason:?}");
        }
        assert_eq!(rules.of(Reason::RateLimited), Refusal::RateLimited);
        assert_eq!(rules.of(Reason::Unlisted(7)), Refusal::ProvesNothing);
        assert!(rules.is_not_found(Reason::OrderNotFound));
        assert!(!rules.is_not_found(Reason::NothingToCancel));
        assert!(rules.is_nothing_to_cancel(Reason::NothingToCancel));
    }
}
