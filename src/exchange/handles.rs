//! File handles: every connection is one, and the log of the exchange must never lack any.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Handles for everything that is no customer's connection: log, snapshots, listeners, the operator.
const OWN: u64 = 64;

/// How many of the connections that are wanted fit below the handles of this process, after asking the
/// system for all that it allows.
pub fn connections_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // No limit is more than any.
    let (now, allowed) = (limit.current, limit.maximum);
    let needed = OWN.saturating_add(u64::try_from(wanted).unwrap_or(u64::MAX));
    let short = now.is_some_and(|now| now < needed);
    let more = Rlimit {
        current: Some(allowed.map_or(needed, |allowed| allowed.min(needed))),
        maximum: allowed,
    };
    let got = match short.then(|| setrlimit(Resource::Nofile, more)) {
        Some(Ok(())) => more.current,
        Some(Err(_)) | None => now,
    };
    let fit = fitting(wanted, got);
    if fit < wanted {
        tracing::warn!(
            wanted,
            fit,
            "connections are limited by the file handles that the system allows this process; see ulimit -n"
        );
    }
    fit
}

/// At least one connection, and never the handles that the exchange itself needs.
fn fitting(wanted: usize, handles: Option<u64>) -> usize {
    let room = handles.map_or(u64::MAX, |handles| handles.saturating_sub(OWN));
    wanted
        .min(usize::try_from(room).unwrap_or(usize::MAX))
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_the_log() {
        assert_eq!(fitting(1_024, Some(1_024)), 960);
        assert_eq!(fitting(960, Some(1_024)), 960);
        assert_eq!(fitting(1_024, Some(1_088)), 1_024);
        assert_eq!(fitting(1_024, None), 1_024);
        assert_eq!(fitting(5, Some(10)), 1);
        // What is asked for is there afterwards, or less is used.
        assert!(connections_max(32) <= 32);
    }
}
