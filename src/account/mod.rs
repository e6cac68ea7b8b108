//! Requests of an operator about the account: transfers, withdrawals, joins and exits of pools, new keys.
//!
//! They run in the command's own process with the daemon's configuration, beside a running daemon (which gives out the
//! storage ids and books the flows) or on its locked state folder. The owner's wallet key is read here, used for one
//! signature and dropped; the daemon never gets it.

pub mod books;
pub mod funds;
pub mod key_files;
pub mod keys;
pub mod open;
pub mod pools;
pub mod send;
pub mod session;
