//! Sweeps: one backtest for every choice of parameters, on all cores and on several machines, and what may be
//! believed of the best of them.
//!
//! Every run is independent of every other one and is named by its number, so that a sweep can be cut into
//! shards, stopped, continued and merged, and its results are the same bytes whoever ran which part.

pub mod journal;
pub mod merge;
pub mod outputs;
mod page;
pub mod plan;
pub mod prepare;
pub mod run;
pub mod space;
mod statements;
pub mod summary;
mod values;
pub mod windows;
pub mod worker_pool;
