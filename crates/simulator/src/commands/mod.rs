//! One file per command. Their arguments are those of the program `cambist` (`cambist::commands`).

pub mod sim;
pub mod tournament;
