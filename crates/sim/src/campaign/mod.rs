//! Campaigns: one seed as a run, its outcome, aggregates, and shrinking of a failing run.

pub(crate) mod aggregate;
pub(crate) mod outcome;
pub(crate) mod seed_run;
pub(crate) mod shrink;
