//! Invariants: the checks after every step, each with its own data.

pub(crate) mod books;
pub(crate) mod checks;
pub(crate) mod data_age;
pub(crate) mod ground_truth;
pub(crate) mod limits;
pub(crate) mod sending;
pub(crate) mod stated_loss;
pub mod table;
pub(crate) mod unquoted;
