//! What holds of all orders that may be alive, so that a step in which nothing of theirs is due need not go through
//! them.

use crate::time::VenueTime;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::intents::registry::Tracked;

/// Found in one pass, and kept until an order may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// One is being sealed.
    pub(crate) sealing: bool,
    /// One is sealed and not in flight, of unknown state, or being cancelled.
    pub(crate) unsettled: bool,
    /// The report of one should be fetched by hash.
    pub(crate) read_wanted: bool,
    /// When the first that is not being cancelled stops to rest; the end of time if there is none.
    pub(crate) rests_until: VenueTime,
    /// The first last effect of those that may have been sent; the end of time if there is none.
    pub(crate) last_effect: VenueTime,
}

impl Outline {
    /// Of these orders.
    pub(crate) fn of<'a>(orders: impl Iterator<Item = &'a Tracked>) -> Self {
        let mut outline = Self {
            sealing: false,
            unsettled: false,
            read_wanted: false,
            rests_until: VenueTime(u64::MAX),
            last_effect: VenueTime(u64::MAX),
        };
        for tracked in orders {
            let lifecycle = &tracked.lifecycle;
            match lifecycle.phase {
                Phase::Sealing => outline.sealing = true,
                Phase::Sealed | Phase::Unknown { .. } => outline.unsettled = true,
                Phase::InFlight | Phase::Live => {}
            }
            outline.read_wanted |= tracked.read_wanted;
            if lifecycle.cancel.is_some() {
                outline.unsettled = true;
            } else {
                outline.rests_until = outline.rests_until.min(tracked.rests_until());
            }
            if lifecycle.may_have_left() {
                outline.last_effect = outline.last_effect.min(lifecycle.last_effect());
            }
        }
        outline
    }
}
