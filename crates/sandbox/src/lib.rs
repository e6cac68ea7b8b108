//! Processes of strategies: confined, supervised and started again.
//!
//! [`Supervisor`] runs one process, hands it one line at a time, and reports lines and ends. It knows
//! neither what the lines mean nor the engine. The process is started through a launcher, a small program
//! around [`launch`], which gives up everything that a strategy does not need ([`confine`]) and then
//! becomes the process. What a process may still do is in `docs/process-strategies.md`.

pub mod launch;
pub mod supervisor;

#[cfg(target_os = "linux")]
pub mod confine;
#[cfg(target_os = "linux")]
mod syscalls;

mod streams;

pub use supervisor::{ProcessEvent, ProcessSpec, Supervisor};
