//! Transfers, withdrawals, key updates, joins and exits.

mod requests;

pub use requests::{NewExit, NewJoin, NewKey, NewTransfer, NewWithdrawal, TokenAmount};
