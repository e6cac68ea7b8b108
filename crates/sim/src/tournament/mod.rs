//! The tournament: market makers that play the same market, one after the other, over the same faulty network.
//!
//! A game is one contestant, one market with its simulated traders, and one seed. The engine plays in a
//! [`World`](crate::World), so that every invariant of the worlds is checked in every game. The maker that it is
//! compared with is a program of its own ([`ConstantSpread`]), before the same exchange and the same network. Equal
//! seeds give equal traders; because traders react to orders, their later actions may differ between contestants.

mod constant_spread;
mod game;
mod maker_world;
mod measures;
mod statistics;

pub use constant_spread::ConstantSpread;
pub use game::{Contestant, Game, GameError, play};
pub use measures::{Flows, Played};
pub use statistics::{
    Estimate, Ranking, TAIL, mean, paired_difference, ranking_of, ranking_of_tails, tail,
};

#[cfg(test)]
mod tests;
