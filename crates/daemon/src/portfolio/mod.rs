//! Several venues in one process: a file that names the file of each, an engine with its own store, clock, budgets and
//! fence for each, and limits over all of them.
//!
//! All engines run on one thread. After every step an engine states what it may hold at most on a common board, and
//! before every step it reads what the others stated: no two of them can use the same room. A venue that does not answer,
//! or whose engine has ended, counts with what it stated last. What a strategy reads of a market of another venue goes the
//! same way.

mod board;
mod file;
mod observed;
mod readings;
mod run;
mod stored;
mod usage;

pub use board::{Board, Membership};
pub use file::{PortfolioFile, TokenLimit, VenueFile, is_portfolio};
pub use observed::{Observed, held_of_limits};
pub use readings::ListedMarket;
pub use run::{MemberEnd, run};
pub use usage::{HedgeOf, TokenPrice};
