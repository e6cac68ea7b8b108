//! Other rules in front of the matching: which venue a world trades on beside the exchange itself.

use cambist_core::venue::SlotRule;
use cambist_core::{Hash, VenueTime};
use cambist_venue::{NewOrder, Refusal, Request, Response};

use crate::config::WorldConfig;
use crate::kraken::LedgerQuestions;
use crate::kraken::gateway as kraken;
use crate::sequenced::gateway as sequenced;

/// The rules of one of the other venues.
#[derive(Debug)]
pub(crate) enum Gateway {
    /// [`sequenced`](crate::sequenced).
    Sequenced(sequenced::Gateway),
    /// [`kraken`](crate::kraken).
    Kraken(Box<kraken::Gateway>),
}

impl Gateway {
    /// What a world has in front of the matching; nothing where that is the venue.
    pub(crate) fn of(config: &WorldConfig) -> Option<Self> {
        let accepted_max_ms = config.rules.lifetime.accepted_max_ms;
        match config.rules.slots {
            SlotRule::Strided { .. } => None,
            SlotRule::Consecutive { .. } => {
                let most = accepted_max_ms.unwrap_or(u64::MAX);
                Some(Self::Sequenced(sequenced::Gateway::new(most)))
            }
            SlotRule::Rising { .. } => {
                let account = config.kraken.unwrap_or_default();
                Some(Self::Kraken(Box::new(kraken::Gateway::new(account))))
            }
        }
    }

    /// Notes the expiry that the bytes of an order state: the matching's own request has no field for it. Whole seconds
    /// of venue time.
    pub(crate) fn bears_expiry(&mut self, order: Hash, rests_until_s: Option<u32>) {
        if let (Self::Kraken(gateway), Some(rests_until_s)) = (self, rests_until_s) {
            gateway.bears_expiry(order, rests_until_s);
        }
    }

    /// Counts a request. The error is the venue's refusal of one request too many.
    pub(crate) fn count(&mut self, now: VenueTime, asked: &Request) -> Result<(), Refusal> {
        match self {
            Self::Sequenced(_) => Ok(()),
            Self::Kraken(gateway) => gateway.count(now, asked),
        }
    }

    /// A daemon begins: what its questions leave of the budget, in tokens, if that is known.
    pub(crate) fn starts(&mut self, now: VenueTime) -> Option<u32> {
        match self {
            Self::Sequenced(_) => None,
            Self::Kraken(gateway) => Some(gateway.starts(now)),
        }
    }

    /// What the client asked the ledger beside the last requests.
    pub(crate) fn take_ledger(&mut self) -> LedgerQuestions {
        match self {
            Self::Sequenced(_) => LedgerQuestions::default(),
            Self::Kraken(gateway) => gateway.take_ledger(),
        }
    }

    /// How many requests were refused because there were too many; `None` of a venue without counters.
    pub(crate) fn refused_for_rate(&self) -> Option<u64> {
        match self {
            Self::Sequenced(_) => None,
            Self::Kraken(gateway) => Some(gateway.refused().rate),
        }
    }

    /// Since when the counter that refused last had counted; what was before it had forgotten.
    pub(crate) fn refused_since(&self) -> VenueTime {
        match self {
            Self::Sequenced(_) => VenueTime(0),
            Self::Kraken(gateway) => gateway.refused_since(),
        }
    }

    /// What the matching gets of a submit, if it gets any of it.
    pub(crate) fn admit(&mut self, now: VenueTime, order: &NewOrder) -> Result<NewOrder, Refusal> {
        match self {
            Self::Sequenced(gateway) => gateway.admit(now, order),
            Self::Kraken(gateway) => gateway.admit(now, order),
        }
    }

    /// The part of this venue that amends orders, if it does.
    pub(crate) fn amends(&mut self) -> Option<&mut kraken::Gateway> {
        match self {
            Self::Sequenced(_) => None,
            Self::Kraken(gateway) => Some(gateway),
        }
    }

    /// The answer of this venue to what the matching answered.
    pub(crate) fn answer(
        &mut self,
        now: VenueTime,
        asked: &Request,
        answer: Result<Response, Refusal>,
    ) -> Result<Response, Refusal> {
        match self {
            Self::Sequenced(gateway) => {
                if let (Request::Submit(order), Ok(_)) = (asked, &answer) {
                    gateway.taken(order.sell_token);
                }
                answer
            }
            Self::Kraken(gateway) => gateway.answer(now, asked, answer),
        }
    }

    /// What its answers round times by, in ms.
    pub(crate) const fn resolution_ms(&self) -> u64 {
        match self {
            Self::Sequenced(_) => 1,
            Self::Kraken(_) => 1_000,
        }
    }

    /// The sequenced venue, if it is that.
    pub(crate) const fn sequenced(&self) -> Option<&sequenced::Gateway> {
        match self {
            Self::Sequenced(gateway) => Some(gateway),
            Self::Kraken(_) => None,
        }
    }

    /// Kraken's interface, if it is that.
    pub(crate) fn kraken(&self) -> Option<&kraken::Gateway> {
        match self {
            Self::Kraken(gateway) => Some(gateway),
            Self::Sequenced(_) => None,
        }
    }
}
