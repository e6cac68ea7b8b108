//! Engine and venue in one seeded world.
