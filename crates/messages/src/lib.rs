//! Messages to operators: which conditions of a daemon deserve one ([`conditions`]), when each is sent
//! ([`schedule`]), how fast a destination is written to ([`delivery`]), and what its service expects
//! ([`template`], [`service`]).
//!
//! Pure: the time is an argument, and sending is the caller's. Absent on purpose: HTTP, files, clocks, secrets.

pub mod conditions;
pub mod delivery;
pub mod schedule;
pub mod service;
pub mod template;

pub use conditions::{Condition, KINDS, Kind, Severity, TEST};
pub use delivery::Delivery;
pub use schedule::{Change, Message, Schedule};
pub use service::Service;
pub use template::{Template, TemplateError};
