//! Operator commands, draining, timers, status.

pub(crate) mod commands;
pub(crate) mod drain;
pub(crate) mod inspect;
pub(crate) mod publish;
pub(crate) mod reconfigure;
pub(crate) mod resume;
pub(crate) mod status;
pub(crate) mod timers;
