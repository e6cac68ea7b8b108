//! What the processes of this program share around their work: a folder that is theirs alone ([`folder`]),
//! memory that no core file and no other process of the same user gets to see ([`memory`]), secrets from files
//! ([`secrets`]), the clocks ([`clock`]), times as text ([`times`]), exit codes ([`exit`]), and which build they are
//! ([`program`]).

pub mod clock;
pub mod exit;
pub mod folder;
pub mod memory;
pub mod program;
pub mod secrets;
pub mod times;
