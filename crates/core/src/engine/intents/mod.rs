//! Orders, joins and exits that may be alive, from the decision to the proven end, and why a side has none. Values
//! that every other folder knows.

pub(crate) mod lifecycle;
pub(crate) mod pool_transactions;
pub(crate) mod registry;
pub(crate) mod unquoted;
