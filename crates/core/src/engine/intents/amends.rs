//! Where an order rests that is moved to other prices, at a venue that can do that.
//!
//! An amend never offers more, or a better price, than the order that was signed. Whatever becomes of it, reservations and
//! limits that count the signed order hold, so that an amend is neither signed nor stored, like a cancel. After one without
//! a confirmed result the order is cancelled.

use serde::{Deserialize, Serialize};

use crate::market::{Price, Side};
use crate::request::{Outcome, Reply, RequestId};
use crate::time::Time;
use crate::venue::{Refusal, RefusalRules};

/// For how long after an amend reports of the order may be from before it.
const SETTLES_MS: u64 = 10_000;

/// The amends of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Amends {
    /// The price that the venue confirmed or listed; `None` for the signed one.
    price: Option<Price>,
    /// Another price at which it may rest: of an amend whose result is not known.
    may_be_at: Option<Price>,
    /// An amend in flight.
    in_flight: Option<RequestId>,
    /// One was not confirmed: there are no more.
    failed: bool,
    /// When the last one was answered.
    answered_at: Option<Time>,
    /// An earlier run may have moved it, and no report has stated its price since.
    unlocated: bool,
}

/// The effect of the answer to an amend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AmendOutcome {
    /// It left this price for that one.
    Moved { from: Price, to: Price },
    /// It was not moved, or that is not known.
    NotMoved,
}

impl Amends {
    /// Those of an order of an earlier run at a venue that amends.
    pub(crate) fn of_earlier_run() -> Self {
        Self {
            unlocated: true,
            ..Self::default()
        }
    }

    /// Whether it may rest at a price that is not known.
    pub(crate) const fn is_unlocated(&self) -> bool {
        self.unlocated
    }

    /// Where it rests by what is known.
    pub(crate) fn price(&self, signed: Price) -> Price {
        self.price.unwrap_or(signed)
    }

    /// The other price at which it may rest.
    pub(crate) const fn may_be_at(&self) -> Option<Price> {
        self.may_be_at
    }

    /// The price that it is being moved to.
    pub(crate) const fn moving_to(&self) -> Option<Price> {
        if self.in_flight.is_some() {
            self.may_be_at
        } else {
            None
        }
    }

    /// The best price for the other side at which it may rest.
    pub(crate) fn best(&self, side: Side, signed: Price) -> Price {
        let price = self.price(signed);
        let other = self.may_be_at.unwrap_or(price);
        match side {
            Side::Buy => price.max(other),
            Side::Sell => price.min(other),
        }
    }

    /// Whether a depth that was generated then shows it where it is now.
    pub(crate) fn is_settled_at(&self, generated_at: Time) -> bool {
        self.in_flight.is_none() && self.answered_at.is_none_or(|at| at < generated_at)
    }

    /// Whether it may be moved: none is in flight, and none failed.
    pub(crate) const fn may_begin(&self) -> bool {
        self.in_flight.is_none() && !self.failed
    }

    /// An amend is sent.
    pub(crate) fn begin(&mut self, request: RequestId, to: Price) {
        self.in_flight = Some(request);
        self.may_be_at = Some(to);
    }

    /// The amend in flight was answered, or got no answer.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        signed: Price,
        outcome: &Outcome,
        refusals: &RefusalRules,
    ) -> AmendOutcome {
        self.in_flight = None;
        self.answered_at = Some(now);
        let from = self.price(signed);
        if let (Outcome::Reply(Reply::Amended), Some(to)) = (outcome, self.may_be_at) {
            self.may_be_at = None;
            self.price = Some(to);
            return AmendOutcome::Moved { from, to };
        }
        self.failed = true;
        // Otherwise a copy that a network made may have moved it.
        let is_unmoved = match outcome {
            Outcome::Refused(reason) => refusals.of(*reason) == Refusal::KillsBytes,
            Outcome::NotSent => true,
            Outcome::Reply(_) | Outcome::Unknown(_) => false,
        };
        if is_unmoved {
            self.may_be_at = None;
        }
        AmendOutcome::NotMoved
    }

    /// A report states the price at which it rests. One that may be from before the last amend is no news.
    pub(crate) fn listed(&mut self, now: Time, signed: Price, price: Price) {
        let has_settled = |at| now.ms_since(at) >= SETTLES_MS;
        if self.in_flight.is_none() && self.answered_at.is_none_or(has_settled) {
            self.may_be_at = None;
            self.unlocated = false;
            self.price = Some(price).filter(|price| *price != signed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;
    use crate::request::UnknownCause;

    const SIGNED: Price = Price(100);
    const ASKED: RequestId = RequestId(7);

    fn moving(to: u64) -> Amends {
        let mut amends = Amends::default();
        amends.begin(ASKED, Price(to));
        amends
    }

    fn answer(amends: &mut Amends, at: Time, outcome: &Outcome) -> AmendOutcome {
        amends.answer(at, SIGNED, outcome, &RefusalRules::exchange())
    }

    #[test]
    fn an_order_is_where_the_venue_confirmed_it() {
        let mut amends = moving(90);
        assert_eq!(
            (amends.price(SIGNED), amends.moving_to()),
            (SIGNED, Some(Price(90)))
        );
        assert!(!amends.may_begin(), "one at a time");
        let moved = AmendOutcome::Moved {
            from: SIGNED,
            to: Price(90),
        };
        let confirmed = Outcome::Reply(Reply::Amended);
        assert_eq!(answer(&mut amends, Time(5), &confirmed), moved);
        assert_eq!(
            (amends.price(SIGNED), amends.may_be_at()),
            (Price(90), None)
        );
        assert!(amends.may_begin());
    }

    #[test]
    fn without_a_confirmation_there_are_no_further_ones() {
        let unknown = Outcome::Unknown(UnknownCause::Timeout);
        let contradiction = Outcome::Reply(Reply::Tokens(Vec::new()));
        for (outcome, may_be_at) in [
            (Outcome::Refused(Reason::InvalidArgument), None),
            (Outcome::Refused(Reason::Unlisted(1)), Some(Price(90))),
            // A copy was taken before, or may be.
            (Outcome::Refused(Reason::OrderExists), Some(Price(90))),
            (Outcome::Refused(Reason::RateLimited), Some(Price(90))),
            (Outcome::NotSent, None),
            (unknown, Some(Price(90))),
            (contradiction, Some(Price(90))),
        ] {
            let mut amends = moving(90);
            let effect = answer(&mut amends, Time(5), &outcome);
            assert_eq!(effect, AmendOutcome::NotMoved, "{outcome:?}");
            assert_eq!(amends.price(SIGNED), SIGNED, "{outcome:?}");
            assert_eq!(amends.may_be_at(), may_be_at, "{outcome:?}");
            assert!(!amends.may_begin(), "{outcome:?}");
            assert_eq!(amends.moving_to(), None, "{outcome:?}");
        }
    }

    #[test]
    fn what_may_meet_another_order_is_the_better_price() {
        let amends = moving(90);
        assert_eq!(amends.best(Side::Buy, SIGNED), SIGNED);
        assert_eq!(amends.best(Side::Sell, SIGNED), Price(90));
        assert_eq!(Amends::default().best(Side::Sell, SIGNED), SIGNED);
    }

    /// After a start the list shows where an order rests. During a run it may be older than an amend.
    #[test]
    fn lists_state_the_price_when_the_last_amend_has_settled() {
        let mut amends = Amends::of_earlier_run();
        assert!(amends.is_unlocated());
        amends.listed(Time(0), SIGNED, Price(80));
        assert!(!amends.is_unlocated());
        assert_eq!(amends.price(SIGNED), Price(80), "an earlier run moved it");
        amends.begin(ASKED, Price(70));
        amends.listed(Time(0), SIGNED, SIGNED);
        assert_eq!(amends.price(SIGNED), Price(80), "one is in flight");
        answer(
            &mut amends,
            Time(0),
            &Outcome::Unknown(UnknownCause::Timeout),
        );
        for (ms, price, may_be_at) in [
            (SETTLES_MS - 1, 80, Some(Price(70))),
            (SETTLES_MS, 70, None),
        ] {
            amends.listed(Time::from_ms(ms), SIGNED, Price(70));
            assert_eq!(amends.price(SIGNED), Price(price), "{ms}");
            assert_eq!(amends.may_be_at(), may_be_at, "{ms}");
        }
        amends.listed(Time::from_ms(SETTLES_MS), SIGNED, SIGNED);
        assert_eq!(amends.price(SIGNED), SIGNED);
    }
}
