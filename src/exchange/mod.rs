//! The exchange as this program runs it: from its file to a machine with accounts, keys and a crowd.

pub mod account_export;
pub mod data;
pub mod keys;
pub mod setup;
