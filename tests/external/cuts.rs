//! What can be done to a system call of the daemon.

use std::fmt;

/// What is done to a call.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The call.
    pub call: &'static str,
    /// As strace writes it.
    pub effect: &'static str,
    /// Only where it is about the tape.
    pub of_tape: bool,
}

pub const KILL: &str = "signal=SIGKILL";
const FULL: &str = "error=ENOSPC";
const BROKEN: &str = "error=EIO";

/// `fsync` or `fdatasync`, `writev` or `sendto`: which one it is depends on how libraries were built.
pub const CUTS: [Cut; 20] = [
    cut("fsync", KILL),
    cut("writev", KILL),
    cut("pwrite64", KILL),
    cut("fsync", BROKEN),
    cut("recvfrom", KILL),
    cut("pwrite64", FULL),
    cut("write", KILL),
    cut("openat", KILL),
    cut("pwrite64", BROKEN),
    cut("sendto", KILL),
    cut("connect", KILL),
    cut("openat", FULL),
    cut("ftruncate", FULL),
    cut("unlink", KILL),
    cut("ftruncate", KILL),
    cut("fdatasync", KILL),
    cut("fdatasync", BROKEN),
    of_tape("write", BROKEN),
    of_tape("write", FULL),
    of_tape("openat", FULL),
];

const fn cut(call: &'static str, effect: &'static str) -> Cut {
    Cut {
        call,
        effect,
        of_tape: false,
    }
}

const fn of_tape(call: &'static str, effect: &'static str) -> Cut {
    Cut {
        of_tape: true,
        ..cut(call, effect)
    }
}

impl Cut {
    /// The highest number of a call in a run, if its busiest thread makes so many.
    pub fn most(self, made: u32) -> u32 {
        if self.of_tape && self.call == "openat" {
            1
        } else {
            made
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_tape = if self.of_tape { " of the tape" } else { "" };
        write!(f, "{}{of_tape} {}", self.call, self.effect)
    }
}
