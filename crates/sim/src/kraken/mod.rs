//! Kraken's spot interface: the matching of the exchange behind its rules.
//!
//! Submits bear nonces that rise, of which gaps are allowed; one that was accepted is spent, whatever the answer.
//! Requests have a deadline, orders an expiry of their own. Orders are named by our id, refusals are those of the
//! interface, fees are always taken in the quote token, times are whole seconds, open and closed orders are two lists
//! whose pages name the next one, and a new order is in neither for a while. Calls of the key, and orders and young cancels
//! of each pair, are counted, and too many are refused. The engine knows all of that from
//! `cambist_kraken_venue::rules` and the fee token of the market alone.

mod counters;
pub(crate) mod gateway;

pub(crate) use counters::LedgerQuestions;
pub use gateway::Refused;
