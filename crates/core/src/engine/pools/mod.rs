//! Pool positions: joins and exits as intents, and what the venue reports of them.

pub(crate) mod positions;
pub(crate) mod transaction_reports;
