//! Sweeps: one backtest for every choice of parameters, on all cores and on several machines, and how far
//! the result of the best one can be trusted.
//!
//! Every run is independent of every other one and is named by its number, so that a sweep can be cut into
//! shards, stopped, continued and merged, and its results are the same bytes whichever process ran which part.

mod draws;
mod heat;
pub mod interruption;
pub mod journal;
pub mod merge;
pub mod outputs;
mod page;
mod pauses;
pub mod plan;
pub mod prepare;
pub mod run;
pub mod space;
pub mod statements;
mod stops;
pub mod summary;
mod values;
pub mod windows;
