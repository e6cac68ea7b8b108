//! The account: ledger, reconciliation with the venue, announced flows, slot numbers, foreign orders.

pub(crate) mod booked_since;
pub(crate) mod booking;
pub(crate) mod charges;
pub(crate) mod expected_flows;
pub(crate) mod foreign;
pub(crate) mod instances;
pub(crate) mod ledger;
pub(crate) mod reconciliation;
pub(crate) mod slot_numbers;
pub(crate) mod unaccounted;
