//! Several venues in one process: a file that names the file of each, an engine with its own store, clock, budgets and
//! fence for each, and limits over all of them ([`cambist_core::portfolio::PortfolioEngine`]). All event loops run on one
//! thread.

mod board;
mod file;
mod observed;
pub(crate) mod run;
mod stored;
mod usage;

pub use board::{Board, Membership};
pub use file::{PortfolioFile, TokenLimit, VenueFile, is_portfolio};
pub use observed::{Observed, held_of_limits};
pub use run::{MemberEnd, run, span};
pub use usage::{HedgeOf, TokenPrice};
