//! The venue that this daemon is built for: the one place that says which description the engine, the limits that are
//! derived from it, the store and dry runs use.

use cambist_core::VenueRules;

/// What the venue guarantees. The client, the seal worker and the start's questions are those of this venue.
pub fn rules() -> VenueRules {
    VenueRules::exchange()
}
