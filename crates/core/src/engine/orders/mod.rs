//! Orders: from target quotes to sealed intents, their transmissions, and the venue's reports about them.

pub(crate) mod amendments;
pub(crate) mod builder;
pub(crate) mod decide;
pub(crate) mod decisions;
pub(crate) mod diff;
pub(crate) mod evidence;
pub(crate) mod execution_reports;
pub(crate) mod replacements;
pub(crate) mod transmission;
pub(crate) mod turns;
