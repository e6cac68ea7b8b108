//! State about the venue: its clock, request budgets, polls, scans of its lists.

pub(crate) mod budget;
pub(crate) mod clock;
pub(crate) mod depth_schedule;
pub(crate) mod polling;
pub(crate) mod scan_schedule;
pub(crate) mod trading_counters;
