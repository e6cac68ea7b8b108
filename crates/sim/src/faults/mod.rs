//! Fault injection: what goes wrong in a world, how often, and what it does to messages and files.

pub(crate) mod active;
pub(crate) mod disk;
pub(crate) mod family;
pub(crate) mod kinds;
pub(crate) mod network;
