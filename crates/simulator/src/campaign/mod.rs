//! Campaigns of simulated worlds: who runs which seed, what is kept of it, what is shown.
//!
//! What a world is, and what must hold in it, is in `crates/sim`; threads, files and output are here.

pub mod merge;
pub mod results;
pub mod seeds;
pub mod trace;
pub mod worker_pool;
