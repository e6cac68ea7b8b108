//! File descriptors: bounds the connections so that enough descriptors remain for files and outgoing connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many of the `wanted` connections fit beside `reserve` descriptors for everything else in this process (files,
/// outgoing connections, other sockets), after raising the soft limit up to the hard limit. At least one. A result
/// below `wanted` is logged.
pub fn connections_fitting(wanted: usize, reserve: u64) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let (soft, hard) = (limit.current, limit.maximum);
    let needed = reserve.saturating_add(u64::try_from(wanted).unwrap_or(u64::MAX));
    let is_short = soft.is_some_and(|soft| soft < needed);
    let raised = Rlimit {
        current: Some(hard.map_or(needed, |hard| hard.min(needed))),
        maximum: hard,
    };
    let available = match is_short.then(|| setrlimit(Resource::Nofile, raised)) {
        Some(Ok(())) => raised.current,
        Some(Err(_)) | None => soft,
    };
    let fit = fitting(wanted, reserve, available);
    if fit < wanted {
        tracing::warn!(
            wanted,
            fit,
            "fewer connections than configured: the limit of file descriptors is too low; see ulimit -n"
        );
    }
    fit
}

fn fitting(wanted: usize, reserve: u64, available: Option<u64>) -> usize {
    let room = available.map_or(u64::MAX, |available| available.saturating_sub(reserve));
    wanted
        .min(usize::try_from(room).unwrap_or(usize::MAX))
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_the_reserve() {
        assert_eq!(fitting(1_024, 64, Some(1_024)), 960);
        assert_eq!(fitting(960, 64, Some(1_024)), 960);
        assert_eq!(fitting(1_024, 64, Some(1_088)), 1_024);
        assert_eq!(fitting(1_024, 64, None), 1_024);
        assert_eq!(fitting(5, 64, Some(10)), 1);
        // Either the soft limit was raised, or fewer connections are used.
        assert!(connections_fitting(32, 64) <= 32);
    }
}
