//! What holds of all orders that may be alive, so that a step in which nothing of theirs is due need not go through
//! them.

use crate::time::VenueTime;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::intents::registry::Tracked;

/// Found in one pass, and kept until an order may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own about all orders"
)]
pub(crate) struct Outline {
    /// One is being sealed.
    pub(crate) sealing: bool,
    /// One is sealed and not in flight, or of unknown state: it may be sent again, or dropped.
    pub(crate) unresolved: bool,
    /// One that may rest is to be cancelled, and no cancel of it is in flight.
    pub(crate) cancel_wanted: bool,
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
            unresolved: false,
            cancel_wanted: false,
            read_wanted: false,
            rests_until: VenueTime(u64::MAX),
            last_effect: VenueTime(u64::MAX),
        };
        for tracked in orders {
            let lifecycle = &tracked.lifecycle;
            match lifecycle.phase {
                Phase::Sealing => outline.sealing = true,
                Phase::Sealed | Phase::Unknown { .. } => outline.unresolved = true,
                Phase::InFlight | Phase::Live => {}
            }
            outline.read_wanted |= tracked.read_wanted;
            match lifecycle.cancel {
                Some(_) => outline.cancel_wanted |= lifecycle.may_be_cancelled(),
                None => outline.rests_until = outline.rests_until.min(tracked.rests_until()),
            }
            if lifecycle.may_have_left() {
                outline.last_effect = outline.last_effect.min(lifecycle.last_effect());
            }
        }
        outline
    }
}
