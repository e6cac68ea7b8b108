//! What the venue's counters of orders and cancels hold by our own count ([`TradingCounter`]).
//!
//! An order is counted when it is approved and with every resend, an amend and a cancel with every request, by the shortest
//! time that its order can have existed. New orders wait for room beside the cancels that are decided, and one that lost its room to
//! cancels while it was stored is not sent. A cancel never waits if its order offers more, or a better
//! price, than is wanted. A cancel that only makes way for a better offer waits until both sides could still be cancelled
//! and offered again after it.

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::market::MarketId;
use crate::sorted_map::SortedMap;
use crate::time::Time;
use crate::venue::TradingCounter;
use crate::withheld::{Compared, Unit, Withheld};

/// Levels are kept in millionths of a hundredth, so that what falls within a microsecond is a whole number.
const PARTS: u64 = 1_000_000;

/// One counter at the time when it last changed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Level {
    parts: u64,
    at: Time,
}

/// The counters of all markets; none where the venue keeps none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TradingCounters {
    rule: Option<TradingCounter>,
    levels: SortedMap<MarketId, Level>,
}

impl TradingCounters {
    /// Empty counters.
    pub(crate) const fn new(rule: Option<TradingCounter>) -> Self {
        Self {
            rule,
            levels: SortedMap::new(),
        }
    }

    /// Fills the counters of these markets: a run that ended a moment ago may have raised them.
    pub(crate) fn fill_all(&mut self, now: Time, markets: impl Iterator<Item = MarketId>) {
        let Some(rule) = &self.rule else { return };
        let full = Level {
            parts: u64::from(rule.most) * PARTS,
            at: now,
        };
        self.levels = markets.map(|market| (market, full)).collect();
    }

    fn parts(&self, now: Time, market: MarketId) -> u64 {
        let level = self.levels.get(&market).copied().unwrap_or_default();
        let decay_per_s = self.rule.as_ref().map_or(0, |rule| rule.decay_per_s);
        let fallen = now
            .micros_since(level.at)
            .saturating_mul(decay_per_s.into());
        level.parts.saturating_sub(fallen)
    }

    /// What a counter holds, in hundredths, rounded up; and the most that it may.
    pub(crate) fn level(&self, now: Time, market: MarketId) -> Option<(u32, u32)> {
        let most = self.rule.as_ref()?.most;
        let held = self.parts(now, market).div_ceil(PARTS);
        Some((u32::try_from(held).unwrap_or(u32::MAX), most))
    }

    /// What a counter holds, and above which new orders wait; both in hundredths.
    pub(crate) fn used(&self, now: Time, market: MarketId) -> Option<(u32, u32)> {
        let rule = self.rule.as_ref()?;
        let (held, most) = self.level(now, market)?;
        Some((held, most.saturating_sub(rule.spare)))
    }

    fn raise(&mut self, now: Time, market: MarketId, adds: u32) {
        if adds > 0 {
            let parts = self.parts(now, market) + u64::from(adds) * PARTS;
            self.levels.insert(market, Level { parts, at: now });
        }
    }

    /// Whether there is room for so much beside what is left free: otherwise why not, and when there will be.
    fn room(&self, now: Time, market: MarketId, adds: u32) -> Result<(), (Withheld, Time)> {
        let Some(rule) = &self.rule else {
            return Ok(());
        };
        let limit = u64::from(rule.most.saturating_sub(rule.spare)) * PARTS;
        let after = self.parts(now, market) + u64::from(adds) * PARTS;
        let Some(over) = after.checked_sub(limit).filter(|over| *over > 0) else {
            return Ok(());
        };
        let compared = Compared::new(
            Unit::Count,
            "",
            after.div_ceil(PARTS * 100),
            limit / (PARTS * 100),
        );
        let waits_us = over.div_ceil(u64::from(rule.decay_per_s).max(1));
        let withheld = Withheld::compared(Control::TradingCounter, compared);
        Err((withheld, Time(now.0.saturating_add(waits_us))))
    }

    /// Whether an order has room beside what cancels that are decided will add.
    pub(crate) fn room_for_order(
        &self,
        now: Time,
        market: MarketId,
        cancels: u32,
    ) -> Result<(), (Withheld, Time)> {
        let adds = self.rule.as_ref().map_or(0, |rule| rule.order);
        self.room(now, market, adds + cancels)
    }

    /// The same for an order that is counted already.
    pub(crate) fn room_for_counted(
        &self,
        now: Time,
        market: MarketId,
        cancels: u32,
    ) -> Result<(), (Withheld, Time)> {
        self.room(now, market, cancels)
    }

    /// What a cancel adds of an order that has existed for at least so long.
    pub(crate) fn of_cancel(&self, age_ms: u64) -> u32 {
        self.rule.as_ref().map_or(0, |rule| rule.cancel(age_ms))
    }

    /// Whether an amend of an order that has existed for at least so long has room beside what cancels that are decided will
    /// add. One that offers a better price than before could wait: it leaves as much room as a cancel that could.
    pub(crate) fn room_for_amend(
        &self,
        now: Time,
        market: MarketId,
        (age_ms, is_better): (u64, bool),
        cancels: u32,
    ) -> Result<(), (Withheld, Time)> {
        let Some(rule) = &self.rule else {
            return Ok(());
        };
        let kept = if is_better {
            2 * (rule.dearest_cancel() + rule.order)
        } else {
            0
        };
        self.room(now, market, rule.amend(age_ms) + cancels + kept)
    }

    /// An amend is sent of an order that has existed for at least so long.
    pub(crate) fn count_amend(&mut self, now: Time, market: MarketId, age_ms: u64) {
        let adds = self.rule.as_ref().map_or(0, |rule| rule.amend(age_ms));
        self.raise(now, market, adds);
    }

    /// Whether a cancel that could wait has room beside `planned`, with its replacement if it has one, so that both
    /// sides could still be withdrawn and offered again. Adds to `planned` what it will raise the counter by.
    pub(crate) fn room_for_improvement(
        &self,
        now: Time,
        market: MarketId,
        (age_ms, is_replaced): (u64, bool),
        planned: &mut u32,
    ) -> Result<(), (Withheld, Time)> {
        let Some(rule) = &self.rule else {
            return Ok(());
        };
        let adds = rule.cancel(age_ms) + if is_replaced { rule.order } else { 0 };
        let kept = 2 * (rule.dearest_cancel() + rule.order);
        self.room(now, market, *planned + adds + kept)?;
        *planned += adds;
        Ok(())
    }

    /// An order is approved, or sent once more.
    pub(crate) fn count_order(&mut self, now: Time, market: MarketId) {
        let adds = self.rule.as_ref().map_or(0, |rule| rule.order);
        self.raise(now, market, adds);
    }

    /// A cancel is sent of an order that has existed for at least so long.
    pub(crate) fn count_cancel(&mut self, now: Time, market: MarketId, age_ms: u64) {
        let adds = self.of_cancel(age_ms);
        self.raise(now, market, adds);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    const HERE: MarketId = MarketId(0);
    const THERE: MarketId = MarketId(1);

    fn counters() -> TradingCounters {
        TradingCounters::new(Some(TradingCounter {
            most: 1_000,
            decay_per_s: 100,
            spare: 100,
            order: 100,
            cancels: vec![(5_000, 300)],
            amends: vec![(5_000, 200)],
        }))
    }

    /// Of the 1,200 that may be used an amend of a young order needs 200, and one that offers a better price leaves 800.
    #[test]
    fn an_amend_needs_room_and_a_better_offer_leaves_some() {
        let (mut counters, now) = (counters(), Time::from_ms(1_000));
        counters.rule.as_mut().unwrap().most = 1_300;
        for (of, fits_beside) in [
            ((4_999, false), 1_000),
            ((5_000, false), 1_100),
            ((4_999, true), 200),
            ((5_000, true), 300),
        ] {
            let room = |cancels| counters.room_for_amend(now, HERE, of, cancels);
            assert!(room(fits_beside).is_ok(), "{of:?}");
            assert!(room(fits_beside + 1).is_err(), "{of:?}");
        }
        counters.count_amend(now, HERE, 4_999);
        counters.count_amend(now, HERE, 5_000);
        assert_eq!(counters.level(now, HERE), Some((300, 1_300)));
    }

    /// A cancel and its replacement are planned with what they add, and beside them room is kept to withdraw and offer
    /// both sides: 800 of the 1,200 that may be used.
    #[test]
    fn an_improvement_is_planned_with_what_it_adds() {
        let (mut counters, now) = (counters(), Time::from_ms(1_000));
        counters.rule.as_mut().unwrap().most = 1_300;
        for (age_ms, is_replaced, adds) in [
            (4_999, true, 400),
            (4_999, false, 300),
            (5_000, true, 100),
            (5_000, false, 0),
        ] {
            for (before, has_room) in [(400 - adds, true), (401 - adds, false)] {
                let mut planned = before;
                let room =
                    counters.room_for_improvement(now, HERE, (age_ms, is_replaced), &mut planned);
                assert_eq!(room.is_ok(), has_room, "{age_ms} {is_replaced} {before}");
                let expected = if has_room { before + adds } else { before };
                assert_eq!(planned, expected, "{age_ms} {is_replaced} {before}");
            }
        }
    }

    #[test]
    fn orders_wait_for_room_and_learn_when_there_is_some() {
        let mut counters = counters();
        let now = Time::from_ms(1_000);
        for _ in 0..9 {
            assert!(counters.room_for_order(now, HERE, 0).is_ok());
            counters.count_order(now, HERE);
        }
        let (why, at) = counters.room_for_order(now, HERE, 0).unwrap_err();
        assert_eq!(why.control, Control::TradingCounter);
        assert_eq!((why.value, why.limit), (Some(10), Some(9)));
        assert_eq!(at, Time::from_ms(2_000));
        assert!(counters.room_for_order(at, HERE, 0).is_ok());
        assert!(counters.room_for_order(Time(at.0 - 1), HERE, 0).is_err());
        assert!(
            counters.room_for_order(now, THERE, 0).is_ok(),
            "each for itself"
        );
        assert_eq!(counters.level(now, HERE), Some((900, 1_000)));
        assert_eq!(counters.used(now, HERE), Some((900, 900)));
    }

    #[test]
    fn cancels_are_counted_by_age_and_above_the_maximum() {
        let mut counters = counters();
        let now = Time::from_ms(1_000);
        for _ in 0..4 {
            counters.count_cancel(now, HERE, 4_999);
        }
        counters.count_cancel(now, HERE, 5_000);
        assert_eq!(counters.level(now, HERE), Some((1_200, 1_000)));
        let later = now.plus_ms(2_005);
        assert_eq!(
            counters.level(later, HERE),
            Some((1_000, 1_000)),
            "rounded up"
        );
    }

    /// Eight hundred are for both sides once more, and a hundred are spare.
    #[test]
    fn what_can_wait_leaves_room_for_both_sides() {
        let counters = counters();
        let (now, mut planned) = (Time::from_ms(1_000), 0);
        let fits = |counters: &TradingCounters, age_ms, planned: &mut u32| {
            let of = (age_ms, true);
            counters
                .room_for_improvement(now, HERE, of, planned)
                .is_ok()
        };
        assert!(
            fits(&counters, 5_000, &mut planned),
            "an old order's cancel adds nothing"
        );
        assert_eq!(planned, 100);
        assert!(!fits(&counters, 5_000, &mut planned));
        assert!(!fits(&counters, 0, &mut 0), "four hundred do not fit");
        assert_eq!(planned, 100);
    }

    #[test]
    fn counters_of_an_earlier_run_are_full_and_a_venue_without_them_counts_nothing() {
        let mut counters = counters();
        counters.fill_all(Time(0), [HERE].into_iter());
        assert_eq!(counters.level(Time(0), HERE), Some((1_000, 1_000)));
        assert!(
            counters
                .room_for_order(Time::from_ms(1_999), HERE, 0)
                .is_err()
        );
        assert!(
            counters
                .room_for_order(Time::from_ms(2_000), HERE, 0)
                .is_ok()
        );
        let mut none = TradingCounters::new(None);
        none.fill_all(Time(0), [HERE].into_iter());
        none.count_cancel(Time(0), HERE, 0);
        assert!(none.room_for_order(Time(0), HERE, 0).is_ok());
        assert_eq!(none.level(Time(0), HERE), None);
        assert_eq!(none.used(Time(0), HERE), None);
    }
}
