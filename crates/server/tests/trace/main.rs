//! The exchange under a tracer of system calls. Needs `strace`, so it is not among the tests that run
//! everywhere: `tests/external/run` runs it, or reports that it could not.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![allow(
    dead_code,
    unused_imports,
    reason = "the modules are shared with the tests over HTTP"
)]

#[path = "../http/crash.rs"]
mod crash;
#[path = "../http/support/mod.rs"]
mod support;
#[path = "../http/trace.rs"]
mod trace;
