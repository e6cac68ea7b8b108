//! Orders, joins and exits that may be alive, from the decision to the proven end, and why a side has none. The values
//! are used by every other folder.

pub(crate) mod amends;
pub(crate) mod lifecycle;
pub(crate) mod outline;
pub(crate) mod pool_transactions;
pub(crate) mod registry;
pub(crate) mod unquoted;
