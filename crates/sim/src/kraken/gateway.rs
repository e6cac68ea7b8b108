//! What is in front of the matching: nonces, deadlines, expiries, and lists that show orders late.

use std::collections::BTreeMap;

use cambist_core::request::RequestId;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, Reason, TokenId, VenueTime};
use cambist_venue::{NewOrder, OrderView, Refusal, Request, Response};

use crate::config::KrakenConfig;
use crate::kraken::counters::{Counters, LedgerQuestions};

/// Slots of the matching that orders of ours use in turn; above them are those of other hands.
const SLOTS: u64 = 7_000;
/// Slots of the matching in all.
const TURN: u64 = 16_384;

/// A deadline is at most so far ahead.
const DEADLINE_MAX_MS: u64 = 60_000;
/// An expiry is at least so far ahead.
const EXPIRY_MIN_MS: u64 = 5_000;

/// The highest fee that the matching reads. An order states none: what it reserves is the account's.
const FEE_BIPS_MAX: u64 = 63;

/// How often something was refused here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Nonces that were not above every one before.
    pub nonce: u64,
    /// Requests behind their deadline.
    pub deadline: u64,
    /// Orders whose expiry was too near, or whose deadline too far.
    pub times: u64,
    /// Post-only orders that would have taken.
    pub post_only: u64,
    /// Requests and orders above the maximum of a counter.
    pub rate: u64,
}

/// The state of our key and our orders beside the matching.
#[derive(Debug)]
pub(crate) struct Gateway {
    /// How long after its creation an order is in no list and known by no name, in ms.
    list_lag_ms: u64,
    /// The lowest nonce that is accepted.
    next: u64,
    /// When each order expires: bytes have a field for it that the matching's own request has not.
    expiries: BTreeMap<Hash, u32>,
    counters: Counters,
    /// The last amend: later ones have higher nonces.
    last_amend: Option<(u32, RequestId)>,
    /// The quote amounts of orders at the prices that they were moved to, all of their base at it.
    moved: BTreeMap<Hash, Amount>,
    /// Orders that the matching took, by sold token.
    taken: SortedMap<TokenId, u64>,
    refused: Refused,
}

impl Gateway {
    /// An account whose key was never used.
    pub(crate) fn new(account: KrakenConfig) -> Self {
        Self {
            list_lag_ms: account.list_lag_ms,
            counters: Counters::new(account),
            next: 0,
            expiries: BTreeMap::new(),
            last_amend: None,
            moved: BTreeMap::new(),
            taken: SortedMap::new(),
            refused: Refused::default(),
        }
    }

    /// How often something was refused.
    pub(crate) const fn refused(&self) -> Refused {
        self.refused
    }

    /// Since when the counter that refused last had counted.
    pub(crate) const fn refused_since(&self) -> VenueTime {
        self.counters.refused_since()
    }

    /// The bytes of an order name this expiry.
    pub(crate) fn bears_expiry(&mut self, order: Hash, rests_until_s: u32) {
        self.expiries.insert(order, rests_until_s);
    }

    /// What the matching gets of a submit, if it gets any of it. A nonce above the last is spent, whatever follows.
    pub(crate) fn admit(&mut self, now: VenueTime, order: &NewOrder) -> Result<NewOrder, Refusal> {
        let nonce = order.storage_id;
        if nonce < self.next {
            self.refused.nonce += 1;
            let words = format!("EAPI:Invalid nonce: {nonce}, {} is the next", self.next);
            return Err(Refusal::new(Reason::InvalidNonce, words));
        }
        self.next = nonce + 1;
        let deadline = VenueTime::from_s(order.valid_until_s);
        if deadline > now.plus_ms(DEADLINE_MAX_MS) {
            return Err(self.refuse_times("deadline"));
        }
        let Some(rests_until_s) = self.expiries.get(&order.hash).copied() else {
            return Err(self.refuse_times("expiretm"));
        };
        if VenueTime::from_s(rests_until_s.into()) < now.plus_ms(EXPIRY_MIN_MS) {
            return Err(self.refuse_times("expiretm"));
        }
        if deadline <= now {
            self.refused.deadline += 1;
            let words = "EService:Deadline elapsed";
            return Err(Refusal::new(Reason::OrderExpired, words));
        }
        if !self.counters.order(now, order) {
            self.refused.rate += 1;
            let words = "EOrder:Rate limit exceeded";
            return Err(Refusal::new(Reason::SubmitFailed, words));
        }
        let before = self.taken.get(&order.sell_token).copied().unwrap_or(0);
        Ok(NewOrder {
            storage_id: before / SLOTS * TURN + 2 * (before % SLOTS),
            valid_until_s: rests_until_s.into(),
            max_fee_bips: order.max_fee_bips.min(FEE_BIPS_MAX),
            ..order.clone()
        })
    }

    /// Whether an amend of an order, which rests or not, reaches the matching. A copy of an earlier one has a nonce that was
    /// used.
    pub(crate) fn admit_amend(
        &mut self,
        now: VenueTime,
        from: (u32, RequestId),
        (order, rests): (Hash, bool),
    ) -> Result<(), Refusal> {
        if self.last_amend.is_some_and(|last| from <= last) {
            let words = "EAPI:Invalid nonce";
            return Err(Refusal::new(Reason::InvalidNonce, words));
        }
        self.last_amend = Some(from);
        if !rests {
            let words = "EOrder:Unknown order";
            return Err(Refusal::new(Reason::NothingToCancel, words));
        }
        if !self.counters.amend(now, order) {
            self.refused.rate += 1;
            let words = "EOrder:Rate limit exceeded";
            return Err(Refusal::new(Reason::SubmitFailed, words));
        }
        Ok(())
    }

    /// The answer to an amend by the matching's: lists state the order's whole base at its new price.
    pub(crate) fn answer_amend(
        &mut self,
        (order, quote): (Hash, Amount),
        answer: Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        match answer {
            Ok(()) => {
                self.moved.insert(order, quote);
                Ok(())
            }
            Err(refusal) => Err(Refusal {
                reason: of_amend(refusal.reason),
                ..refusal
            }),
        }
    }

    fn state_moved(&self, order: &mut OrderView) {
        if let Some(quote) = self.moved.get(&order.hash) {
            order.quote_amount = *quote;
        }
    }

    /// A daemon begins, and knows from its file what the key's counter holds: the tokens that its questions leave.
    pub(crate) fn starts(&mut self, now: VenueTime) -> u32 {
        self.counters.starts(now)
    }

    /// What the client asked the ledger since the last call.
    pub(crate) fn take_ledger(&mut self) -> LedgerQuestions {
        self.counters.take_ledger()
    }

    /// Counts a call of the key; an order or a cancel is none.
    pub(crate) fn count(&mut self, now: VenueTime, asked: &Request) -> Result<(), Refusal> {
        if self.counters.call(now, asked) {
            return Ok(());
        }
        self.refused.rate += 1;
        let words = "EAPI:Rate limit exceeded";
        Err(Refusal::new(Reason::RateLimited, words))
    }

    fn refuse_times(&mut self, field: &str) -> Refusal {
        self.refused.times += 1;
        let words = format!("EGeneral:Invalid arguments:{field}");
        Refusal::new(Reason::InvalidArgument, words)
    }

    /// The answer to a request as this venue gives it: its own reasons, and nothing of what is too young to be shown.
    pub(crate) fn answer(
        &mut self,
        now: VenueTime,
        asked: &Request,
        answer: Result<Response, Refusal>,
    ) -> Result<Response, Refusal> {
        let shown = |created: VenueTime| created.plus_ms(self.list_lag_ms) <= now;
        match (asked, answer) {
            (Request::Submit(order), Ok(response)) => {
                *self.taken.entry(order.sell_token).or_default() += 1;
                self.counters.taken(now, order);
                Ok(response)
            }
            (Request::Submit(_), Err(refusal)) => {
                let reason = of_submit(refusal.reason);
                self.refused.post_only += u64::from(reason == Reason::InvalidOrder);
                Err(Refusal { reason, ..refusal })
            }
            (Request::Cancel { hash, .. }, Ok(response)) => {
                self.counters.cancelled(now, *hash);
                Ok(response)
            }
            (Request::Cancel { .. }, Err(refusal)) => Err(Refusal {
                reason: of_cancel(refusal.reason),
                ..refusal
            }),
            (_, Ok(Response::Orders(mut page))) => {
                page.orders.retain(|order| shown(order.created));
                page.orders
                    .iter_mut()
                    .for_each(|order| self.state_moved(order));
                self.counters.shows(now, page.orders.iter().map(fills));
                Ok(Response::Orders(page))
            }
            (_, Ok(Response::Order(view))) if !shown(view.created) => {
                let words = "in no list yet";
                Err(Refusal::new(Reason::OrderNotFound, words))
            }
            (_, Ok(Response::Order(mut view))) => {
                self.state_moved(&mut view);
                self.counters.shows(now, [fills(&view)]);
                Ok(Response::Order(view))
            }
            (_, answer) => answer,
        }
    }
}

/// What an order bought or sold of the base token.
const fn fills(view: &OrderView) -> (Hash, Amount) {
    (view.hash, view.base_filled)
}

/// The reason of this venue for what the matching refuses of an order.
const fn of_submit(reason: Reason) -> Reason {
    match reason {
        // EOrder:Post only order; that its price, amounts or funds are wrong.
        Reason::InvalidOrder
        | Reason::IllegalRate
        | Reason::AmountTooSmall
        | Reason::InsufficientBalance => reason,
        // EGeneral:Invalid arguments.
        Reason::AmountTooLarge
        | Reason::InvalidArgument
        | Reason::InvalidOrderId
        | Reason::OrderExists => Reason::InvalidArgument,
        // EQuery:Unknown asset pair.
        Reason::UnsupportedMarket | Reason::UnsupportedToken => Reason::UnsupportedMarket,
        // EOrder:Rate limit exceeded is given above. EService:Deadline elapsed.
        Reason::OrderExpired => Reason::OrderExpired,
        // EService:Unavailable and its like.
        _ => Reason::UnknownError,
    }
}

/// The same for an amend.
const fn of_amend(reason: Reason) -> Reason {
    match reason {
        Reason::NothingToCancel
        | Reason::InvalidOrder
        | Reason::IllegalRate
        | Reason::AmountTooSmall
        | Reason::InsufficientBalance => reason,
        // EService:Unavailable and its like.
        _ => Reason::UnknownError,
    }
}

/// The same for a cancel.
const fn of_cancel(reason: Reason) -> Reason {
    match reason {
        // EOrder:Unknown order.
        Reason::NothingToCancel | Reason::InvalidArgument | Reason::OrderNotFound => {
            Reason::NothingToCancel
        }
        // EService:Unavailable and its like.
        _ => Reason::UnknownError,
    }
}
