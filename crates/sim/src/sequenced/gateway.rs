//! What is in front of the matching: numbers, deadlines, and orders that have no end of their own.

use cambist_core::sorted_map::SortedMap;
use cambist_core::{TokenId, VenueTime};
use cambist_venue::{NewOrder, Refusal};

use crate::sequenced::{FAR, FEE, FEE_BIPS_MAX, GAP, LAPSED, USED};

/// Slots of the matching that orders of ours use in turn; above them are those of other hands.
const SLOTS: u64 = 7_000;
/// Slots of the matching in all.
const TURN: u64 = 16_384;

/// Orders rest until the last second that the matching knows.
const ENDLESS_S: u64 = u32::MAX as u64;

/// The venue accepts deadlines further ahead than its rules state, by as much as an engine's bound of the venue's clock
/// may be ahead of it.
const CLOCK_AHEAD_MS: u64 = 5_000;

/// How often something was refused here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Numbers that were spent.
    pub used: u64,
    /// Numbers above the next one.
    pub gap: u64,
    /// Requests behind their deadline.
    pub lapsed: u64,
}

/// The row of numbers of our account.
#[derive(Debug)]
pub(crate) struct Gateway {
    /// The furthest that a deadline may lie ahead, in ms.
    accepted_max_ms: u64,
    /// The next number that is accepted.
    next: u64,
    /// Orders that the matching took, by sold token.
    taken: SortedMap<TokenId, u64>,
    refused: Refused,
}

impl Gateway {
    /// No order so far; deadlines lie at most so far ahead by the rules.
    pub(crate) fn new(accepted_max_ms: u64) -> Self {
        Self {
            accepted_max_ms: accepted_max_ms.saturating_add(CLOCK_AHEAD_MS),
            next: 0,
            taken: SortedMap::new(),
            refused: Refused::default(),
        }
    }

    /// The next number that is accepted.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// How often something was refused.
    pub(crate) const fn refused(&self) -> Refused {
        self.refused
    }

    /// What the matching gets of a submit, if it gets any of it.
    pub(crate) fn admit(&mut self, now: VenueTime, order: &NewOrder) -> Result<NewOrder, Refusal> {
        let number = order.storage_id;
        if number < self.next {
            self.refused.used += 1;
            let words = format!("number {number} is spent, {} is next", self.next);
            return Err(Refusal::new(USED, words));
        }
        if order.max_fee_bips > u64::from(FEE_BIPS_MAX) {
            return Err(Refusal::new(FEE, "the stated fee is too high"));
        }
        if VenueTime::from_s(order.valid_until_s) <= now {
            self.refused.lapsed += 1;
            return Err(Refusal::new(LAPSED, "the deadline has passed"));
        }
        if VenueTime::from_s(order.valid_until_s) > now.plus_ms(self.accepted_max_ms) {
            return Err(Refusal::new(FAR, "the deadline is too far ahead"));
        }
        if number > self.next {
            self.refused.gap += 1;
            let words = format!("{} comes before number {number}", self.next);
            return Err(Refusal::new(GAP, words));
        }
        let before = self.taken.get(&order.sell_token).copied().unwrap_or(0);
        Ok(NewOrder {
            storage_id: before / SLOTS * TURN + 2 * (before % SLOTS),
            valid_until_s: ENDLESS_S,
            ..order.clone()
        })
    }

    /// The matching took what was admitted.
    pub(crate) fn taken(&mut self, sold: TokenId) {
        self.next += 1;
        *self.taken.entry(sold).or_default() += 1;
    }
}
