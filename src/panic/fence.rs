//! The time after which nothing that was signed before the latch can be alive.

use cambist_core::{Time, VenueTime};

/// Times of answers have a resolution of one second.
const SECOND_MS: u64 = 1_000;

/// The time after which an empty list is a proof.
#[derive(Clone, Copy, Debug)]
pub struct Fence {
    /// When the latch was set.
    latched: Time,
    /// Longest time to live of an order, plus the grace.
    life_ms: u64,
    grace_ms: u64,
    /// Upper bound of the venue's clock when the latch was set.
    start: Option<VenueTime>,
    /// The last expiry of an observed or stored order.
    expiry: VenueTime,
}

impl Fence {
    /// A fence for orders signed until `latched` with a time to live of at most `ttl_ms`.
    pub const fn new(latched: Time, ttl_ms: u64, grace_ms: u64) -> Self {
        Self {
            latched,
            life_ms: ttl_ms.saturating_add(grace_ms),
            grace_ms,
            start: None,
            expiry: VenueTime(0),
        }
    }

    /// Takes in the time `venue_time` in the answer to a request sent at `sent`. The earliest time counts: a single wrong
    /// clock moves the fence too far into the future, and the second condition of `is_passed` keeps it from being too
    /// early.
    pub fn answered(&mut self, sent: Time, venue_time: VenueTime) {
        let before = sent.ms_since(self.latched);
        let start = venue_time.plus_ms(SECOND_MS).minus_ms(before);
        self.start = Some(self.start.map_or(start, |known| known.min(start)));
    }

    /// Takes in an order that may be alive until this time.
    pub fn expires(&mut self, valid_until_s: u32) {
        let expiry = VenueTime::from_s(valid_until_s.into());
        self.expiry = self.expiry.max(expiry);
    }

    /// Everything signed before the latch has ended when the venue's clock has passed this; `None` before the venue's
    /// first time.
    pub fn end(&self) -> Option<VenueTime> {
        let start = self.start?.plus_ms(self.life_ms);
        Some(start.max(self.expiry.plus_ms(self.grace_ms)))
    }

    /// Whether a request sent at `sent`, which the venue answered at `venue_time`, was sent after the fence: by the venue's
    /// clock, and by our monotonic clock, which cannot be set.
    pub fn is_passed(&self, sent: Time, venue_time: VenueTime) -> bool {
        let ours = sent.ms_since(self.latched) > self.life_ms;
        ours && self.end().is_some_and(|end| venue_time > end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: VenueTime = VenueTime::from_s(1_000);

    fn at(ms: u64) -> Time {
        Time::from_ms(5_000 + ms)
    }

    fn venue_time(ms: u64) -> VenueTime {
        T0.plus_ms(ms)
    }

    #[test]
    fn both_clocks_must_have_passed_life_and_grace() {
        let mut fence = Fence::new(at(0), 10_000, 3_000);
        assert!(
            !fence.is_passed(at(60_000), venue_time(60_000)),
            "no time known"
        );
        fence.answered(at(100), venue_time(0));
        assert!(
            !fence.is_passed(at(13_000), venue_time(60_000)),
            "our clock"
        );
        assert!(
            !fence.is_passed(at(60_000), venue_time(13_900)),
            "the venue's"
        );
        assert!(fence.is_passed(at(13_001), venue_time(14_000)));
    }

    #[test]
    fn an_order_that_lives_longer_moves_the_fence() {
        let mut fence = Fence::new(at(0), 10_000, 3_000);
        fence.answered(at(0), venue_time(0));
        fence.expires(1_100);
        assert!(!fence.is_passed(at(200_000), venue_time(103_000)));
        assert!(fence.is_passed(at(200_000), venue_time(103_001)));
    }

    #[test]
    fn a_wrong_clock_cannot_bring_the_fence_nearer_than_our_own() {
        let mut fence = Fence::new(at(0), 10_000, 3_000);
        fence.answered(at(0), venue_time(0));
        fence.answered(at(10), VenueTime(0));
        assert!(!fence.is_passed(at(12_000), venue_time(12_000)));
        // A clock far ahead does not move the fence out of reach.
        let mut fence = Fence::new(at(0), 10_000, 3_000);
        fence.answered(at(0), venue_time(1_000_000_000));
        fence.answered(at(10), venue_time(0));
        assert!(fence.is_passed(at(15_000), venue_time(15_000)));
    }
}
