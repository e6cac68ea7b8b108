//! The durable state: the venue and its simulated traders, and the inputs that change them. Equal inputs in the same
//! order lead to equal states, which is what recovery relies on.

use std::borrow::Cow;

use cambist_core::VenueTime;
use cambist_venue::agents::Agents;
use cambist_venue::{Caller, Refusal, Request, Response, Trade, Venue};
use serde::{Deserialize, Serialize};

/// Venue time between two steps of the simulated traders.
const STEP_MS: u64 = 100;

/// A request of a simulated trader.
pub(crate) type Act = (Caller, Request);

/// Receives every replayed request, its answer, and the venue after it.
pub(crate) type RequestObserver<'a> =
    dyn FnMut(VenueTime, &Caller, &Request, &Result<Response, Refusal>, &Venue) + 'a;

/// The state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub venue: Venue,
    pub agents: Vec<Agents>,
    stepped: Option<VenueTime>,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Entry<'a> {
    /// Time passed and a timer was due.
    Pass { now: VenueTime },
    /// A request that may change the state.
    Ask {
        now: VenueTime,
        caller: Caller,
        request: Cow<'a, Request>,
    },
    /// A step of all simulated traders, with their requests.
    Step {
        now: VenueTime,
        acts: Cow<'a, [Vec<Act>]>,
    },
}

/// A digest of the answers to inputs: which requests were accepted, and what they traded. It is stored with the log, so
/// that a program that would answer differently is detected before it contradicts what was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers(pub u32);

impl Answers {
    /// Extended by the next answer.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        let mut both = [0; 8];
        both[..4].copy_from_slice(&self.0.to_le_bytes());
        both[4..].copy_from_slice(&next.0.to_le_bytes());
        Self(crc32fast::hash(&both))
    }

    /// The digest of one answer. Covers nothing that a later version could present differently.
    fn of(answer: &Result<Response, Refusal>) -> Self {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&[u8::from(answer.is_ok())]);
        let mut traded = |trade: &Trade| {
            sum.update(&trade.base.to_le_bytes());
            sum.update(&trade.quote.to_le_bytes());
        };
        match answer {
            Ok(Response::Submitted(submitted)) => submitted.trades.iter().for_each(&mut traded),
            Ok(Response::Kraken(reply)) => reply.trades().for_each(&mut traded),
            Ok(_) | Err(_) => {}
        }
        Self(sum.finalize())
    }
}

/// Result of a replayed input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replayed {
    /// Whether the simulated traders of this version would have sent the same requests.
    pub same: bool,
    /// Digest of the answers.
    pub answers: Answers,
}

impl State {
    /// The initial state.
    pub const fn new(venue: Venue, agents: Vec<Agents>) -> Self {
        Self {
            venue,
            agents,
            stepped: None,
        }
    }

    /// Answers a request; `keep` receives the input and the digest of its answer if the request changed anything.
    pub fn ask(
        &mut self,
        now: VenueTime,
        caller: &Caller,
        request: &Request,
        keep: impl FnOnce(&Entry<'_>, Answers),
    ) -> Result<Response, Refusal> {
        let due = self.is_due(now);
        // A request that only reads can consume an injected fault.
        let changes = !is_read_only(request) || self.venue.has_faults();
        let response = self.venue.handle(now, caller, request);
        if changes {
            let entry = Entry::Ask {
                now,
                caller: *caller,
                request: Cow::Borrowed(request),
            };
            keep(&entry, Answers::of(&response));
        } else if due {
            keep(&Entry::Pass { now }, Answers::default());
        }
        response
    }

    /// Advances the time: timers that are due, then the simulated traders, at most once a step.
    pub fn pass(&mut self, now: VenueTime, keep: impl FnOnce(&Entry<'_>, Answers)) {
        let due = self.is_due(now);
        self.venue.advance(now);
        let rested = self
            .stepped
            .is_none_or(|stepped| now.ms_since(stepped) >= STEP_MS);
        if !self.agents.is_empty() && rested {
            self.stepped = Some(now);
            let mut acts = Vec::with_capacity(self.agents.len());
            let mut answers = Answers::default();
            for agents in &mut self.agents {
                let wanted = agents.step(now, &self.venue);
                let given = act(&mut self.venue, now, &wanted, &mut |_, _, _, _, _| ());
                answers = answers.and(given);
                acts.push(wanted);
            }
            let entry = Entry::Step {
                now,
                acts: Cow::Borrowed(&acts),
            };
            keep(&entry, answers);
        } else if due {
            keep(&Entry::Pass { now }, Answers::default());
        }
    }

    /// Replays an input. The recorded requests of simulated traders are executed, whatever this version would send.
    /// `on_request` is called with all requests and answers.
    pub fn replay(&mut self, entry: &Entry<'_>, on_request: &mut RequestObserver<'_>) -> Replayed {
        let mut replayed = Replayed {
            same: true,
            answers: Answers::default(),
        };
        match entry {
            Entry::Pass { now } => self.venue.advance(*now),
            Entry::Ask {
                now,
                caller,
                request,
            } => {
                // Refused then, refused now.
                let answer = self.venue.handle(*now, caller, request);
                replayed.answers = Answers::of(&answer);
                on_request(*now, caller, request, &answer, &self.venue);
            }
            Entry::Step { now, acts } => {
                self.stepped = Some(*now);
                self.venue.advance(*now);
                replayed.same = acts.len() == self.agents.len();
                for (index, asked) in acts.iter().enumerate() {
                    if let Some(agents) = self.agents.get_mut(index) {
                        replayed.same &= agents.step(*now, &self.venue) == *asked;
                    }
                    let given = act(&mut self.venue, *now, asked, on_request);
                    replayed.answers = replayed.answers.and(given);
                }
            }
        }
        replayed
    }

    fn is_due(&self, now: VenueTime) -> bool {
        self.venue.next_wakeup().is_some_and(|due| due <= now)
    }
}

fn act(
    venue: &mut Venue,
    now: VenueTime,
    acts: &[Act],
    on_request: &mut RequestObserver<'_>,
) -> Answers {
    let mut answers = Answers::default();
    for (caller, request) in acts {
        let answer = venue.handle(now, caller, request);
        answers = answers.and(Answers::of(&answer));
        on_request(now, caller, request, &answer, venue);
        // Simulated traders continue after a refusal.
        if let Err(refusal) = answer {
            tracing::trace!(%refusal, "request of a simulated trader refused");
        }
    }
    answers
}

/// Whether a request changes nothing but the time. Requests not listed here are written: an unnecessary entry costs
/// bytes, a missing one could lose an order.
const fn is_read_only(request: &Request) -> bool {
    matches!(
        request,
        Request::Order { .. }
            | Request::Orders(_)
            | Request::Depth { .. }
            | Request::Balances { .. }
            | Request::Account(_)
            | Request::NextStorageId { .. }
            | Request::ExchangeInfo
            | Request::Tokens
            | Request::Markets
            | Request::Pools
            | Request::PoolBalance { .. }
            | Request::PoolTransactions(_)
            | Request::Submission { .. }
            | Request::Log { .. }
    )
}
