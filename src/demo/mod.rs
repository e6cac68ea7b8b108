//! The demo: a venue and a daemon as two child processes, monitored by this one, which also serves the page with its
//! faults. The venue is one value ([`venue`]): an exchange ([`on_exchange`]), through its own interface or Kraken's
//! ([`on_kraken`]), or a chain with a pool ([`on_chain`]).
//!
//! After two thirds of its time it kills the daemon in the middle of a submit and starts it again. The outcome is
//! verified independently of the daemon: its orders and balances are read from the venue, and its tapes are
//! replayed.

pub mod audit;
pub mod child;
pub mod crash_test;
pub mod deduplicate;
pub mod end_checks;
pub mod expectations;
pub mod faults;
pub mod files;
pub mod http_answer;
pub mod injector;
pub mod on_chain;
pub mod on_exchange;
pub mod on_kraken;
pub mod page;
pub mod progress_line;
pub mod recording_proxy;
pub mod scenario_player;
pub mod stage;
pub mod status;
pub mod venue;
