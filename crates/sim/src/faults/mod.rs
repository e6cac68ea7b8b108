//! Fault injection: kinds of faults, their schedule, and their effects on messages and files.

pub(crate) mod active;
pub(crate) mod disk;
pub(crate) mod family;
pub(crate) mod kinds;
pub(crate) mod network;
