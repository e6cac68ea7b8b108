//! Two times of an order: until when its bytes can create something, and until when what they created can fill.

use serde::{Deserialize, Serialize};

use crate::time::VenueTime;

/// What ends an order that rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resting {
    /// The time until which its bytes are accepted: one time for both.
    WhileAccepted,
    /// A time of its own.
    UntilExpiry,
    /// Only a fill or a cancel. No bound of time can be stated for what was left behind.
    UntilCancelled,
}

/// How long the venue accepts bytes, and how long it keeps what they created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifetimeRule {
    /// The furthest that a time of acceptance may lie ahead; `None` if the venue has no such limit.
    pub accepted_max_ms: Option<u64>,
    /// What ends an order that rests.
    pub resting: Resting,
}

impl LifetimeRule {
    /// The times of an order that is made now and wanted for `ttl_ms`, in whole seconds, rounded down.
    pub fn of_order(&self, venue_now: VenueTime, ttl_ms: u64) -> (u32, Option<u32>) {
        let second = |ms: u64| u32::try_from(venue_now.plus_ms(ms).as_s()).unwrap_or(u32::MAX);
        let accepted_ms = self.accepted_max_ms.map_or(ttl_ms, |most| most.min(ttl_ms));
        let accepted_until_s = second(accepted_ms);
        let rests_until_s = match self.resting {
            Resting::WhileAccepted => Some(accepted_until_s),
            Resting::UntilExpiry => Some(second(ttl_ms)),
            Resting::UntilCancelled => None,
        };
        (accepted_until_s, rests_until_s)
    }

    /// How long after it was made an order wanted for `ttl_ms` can have an effect or be listed for the first time;
    /// `None` if nothing but a fill or a cancel ends it.
    pub fn dead_after_ms(&self, ttl_ms: u64, grace_ms: u64) -> Option<u64> {
        let lives_ms = match self.resting {
            Resting::WhileAccepted => self.accepted_max_ms.map_or(ttl_ms, |most| most.min(ttl_ms)),
            Resting::UntilExpiry => ttl_ms,
            Resting::UntilCancelled => return None,
        };
        Some(lives_ms.saturating_add(grace_ms))
    }
}

/// The times of one intent, as the venue's clock shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lifetime {
    /// After it the bytes cannot create anything.
    pub accepted_until: VenueTime,
    /// After it nothing of it can fill; `None` if only a fill or a cancel ends what rests.
    pub rests_until: Option<VenueTime>,
}

impl Lifetime {
    /// One time for both.
    pub const fn one(valid_until: VenueTime) -> Self {
        Self {
            accepted_until: valid_until,
            rests_until: Some(valid_until),
        }
    }

    /// From whole seconds.
    pub fn from_s(accepted_until_s: u32, rests_until_s: Option<u32>) -> Self {
        let time = |s: u32| VenueTime::from_s(u64::from(s));
        Self {
            accepted_until: time(accepted_until_s),
            rests_until: rests_until_s.map(time),
        }
    }

    /// Until when what was signed is of use by itself: the end of rest, or of acceptance where rest has none.
    pub fn of_signature(&self) -> VenueTime {
        let rests_until = self.rests_until.unwrap_or(self.accepted_until);
        self.accepted_until.max(rests_until)
    }

    /// The last moment at which it can have an effect; the end of time if nothing but the venue's word ends it.
    pub fn last_effect(&self) -> VenueTime {
        let rests_until = self.rests_until.unwrap_or(VenueTime(u64::MAX));
        self.accepted_until.max(rests_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: VenueTime = VenueTime(100_900);

    #[test]
    fn one_time_serves_for_both_where_the_venue_has_one() {
        let rule = LifetimeRule {
            accepted_max_ms: None,
            resting: Resting::WhileAccepted,
        };
        assert_eq!(rule.of_order(NOW, 20_000), (120, Some(120)));
        assert_eq!(rule.dead_after_ms(20_000, 3_000), Some(23_000));
    }

    #[test]
    fn bytes_are_accepted_for_no_longer_than_the_venue_allows() {
        let with = |resting| LifetimeRule {
            accepted_max_ms: Some(6_000),
            resting,
        };
        let times = |resting, ttl_ms| with(resting).of_order(NOW, ttl_ms);
        assert_eq!(times(Resting::UntilExpiry, 20_000), (106, Some(120)));
        assert_eq!(times(Resting::UntilCancelled, 20_000), (106, None));
        assert_eq!(times(Resting::UntilCancelled, 5_000), (105, None));
        let dead_after = |resting| with(resting).dead_after_ms(20_000, 3_000);
        assert_eq!(dead_after(Resting::WhileAccepted), Some(9_000));
        assert_eq!(dead_after(Resting::UntilExpiry), Some(23_000));
        assert_eq!(dead_after(Resting::UntilCancelled), None);
        let endless = Lifetime::from_s(106, None);
        assert_eq!(endless.last_effect(), VenueTime(u64::MAX));
        assert_eq!(Lifetime::from_s(106, Some(120)).last_effect().as_s(), 120);
    }
}
