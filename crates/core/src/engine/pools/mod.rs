//! Pool positions: joins and exits as intents, and the venue's reports about them.

pub(crate) mod positions;
pub(crate) mod swaps;
pub(crate) mod transaction_reports;
