//! What the processes of this program need of their host: a folder for one process ([`folder`]), memory that core files
//! and other processes of the same user cannot read ([`memory`]), secrets from files ([`secrets`]), the clocks
//! ([`clock`]), times as text ([`times`]), exit codes ([`exit`]), and the identity of the build ([`program`]).

pub mod clock;
pub mod exit;
pub mod folder;
pub mod memory;
pub mod program;
pub mod secrets;
pub mod times;
