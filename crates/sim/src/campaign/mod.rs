//! Campaigns: one seed as a run, its outcome, sums over many, and shrinking a failing one.

pub(crate) mod aggregate;
pub(crate) mod outcome;
pub(crate) mod seed_run;
pub(crate) mod shrink;
