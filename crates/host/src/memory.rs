//! Protects memory that holds keys from core files and other processes.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Forbids core files and, on Linux, makes the process not dumpable: other processes of the same user cannot attach to
/// it or read its memory. Debuggers then need root.
pub fn protect() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_of_a_protected_process_is_dumped() {
        use rustix::process::{DumpableBehavior, dumpable_behavior, getrlimit};
        protect().unwrap();
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        let dumpable = dumpable_behavior().unwrap();
        assert_eq!(dumpable, DumpableBehavior::NotDumpable);
        // The process can still read its own `/proc` entries, which metrics and sockets need.
        assert!(std::fs::read_dir("/proc/self/fd").is_ok());
    }
}
