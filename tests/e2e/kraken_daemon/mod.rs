//! A daemon that trades on Kraken's interface of the exchange: the program, HTTP, kills. What became of its orders is read
//! through the exchange's first interface, which the daemon does not use.

pub mod guide;
pub mod stage;
mod starts;
mod trading;
