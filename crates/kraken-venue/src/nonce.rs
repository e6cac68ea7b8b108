//! Nonces: each request of a key bears one, and the venue takes it only if it is above every one it took before
//! (specification, "Authentication"; the key's nonce window has to be 0).

use std::fmt;

/// Why there is no nonce: the request is not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no nonce: {0}")]
pub struct NonceError(pub String);

/// Where the nonces of one key come from.
pub trait NonceSource: fmt::Debug + Send + Sync {
    /// A nonce above every other that was given out for the key, by this process or an earlier one. No later process can
    /// give it out again, whatever the clock does.
    fn next(&self) -> Result<u64, NonceError>;

    /// A request is about to be sent that adds so many calls to the counter of the key. They are kept where a
    /// later process has to know what the counter holds.
    fn adds_calls(&self, _calls: u32) {}
}

/// Rising numbers near the clock in microseconds, whose use is made durable in blocks, so that a file is written once for
/// many requests. What does that is an argument. They follow the clock, so that a key that something else used with
/// nonces of its own is of use again.
#[derive(Debug, PartialEq, Eq)]
pub struct NonceBlocks {
    next: u64,
    /// All below may be used.
    reserved: u64,
}

/// Nonces of a block: those of ten seconds of the clock.
const BLOCK: u64 = 10_000_000;

impl NonceBlocks {
    /// Goes on behind what earlier processes reserved, and not below the clock in microseconds: a key whose file was lost
    /// is used again behind its last nonce, unless the clock was set back.
    pub const fn new(reserved_before: u64, now_us: u64) -> Self {
        let next = if reserved_before > now_us {
            reserved_before
        } else {
            now_us
        };
        Self {
            next,
            reserved: next,
        }
    }

    /// The next number: the clock, or the one after the last. `reserve` makes durable that all below its argument may have
    /// been used; while it fails, there is none.
    pub fn next(
        &mut self,
        now_us: u64,
        reserve: impl FnOnce(u64) -> Result<(), NonceError>,
    ) -> Result<u64, NonceError> {
        let nonce = self.next.max(now_us);
        let after = nonce.checked_add(BLOCK);
        let after = after.ok_or_else(|| NonceError("all numbers are used".to_owned()))?;
        if nonce >= self.reserved {
            reserve(after)?;
            self.reserved = after;
        }
        self.next = nonce + 1;
        Ok(nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_over_restarts_whatever_the_clock_does() {
        let mut durable = 0;
        let mut last = None;
        for (now_us, count) in [(5_000, 2_500), (4_000, 1), (0, 1_000), (90_000_000, 1)] {
            let mut nonces = NonceBlocks::new(durable, now_us);
            for _ in 0..count {
                let mut written = durable;
                let nonce = nonces.next(now_us, |to| {
                    written = to;
                    Ok(())
                });
                durable = written;
                let nonce = nonce.ok();
                assert!(nonce > last, "{nonce:?} {last:?}");
                assert!(nonce < Some(durable), "reserved before it is used");
                last = nonce;
            }
        }
        assert_eq!(last, Some(90_000_000), "not below the clock");
    }

    #[test]
    fn a_block_is_reserved_once_and_nothing_is_given_out_without() {
        let mut nonces = NonceBlocks::new(10, 0);
        let failed = NonceError("disk full".to_owned());
        assert_eq!(nonces.next(0, |_| Err(failed.clone())), Err(failed));
        let mut reserved = Vec::new();
        for now_us in [0, BLOCK + 9, BLOCK + 9, BLOCK + 10, 0] {
            let next = nonces.next(now_us, |to| {
                reserved.push(to);
                Ok(())
            });
            assert!(next.is_ok());
        }
        assert_eq!(reserved, [BLOCK + 10, 2 * BLOCK + 10]);
    }

    #[test]
    fn they_follow_the_clock_and_do_not_wait_for_it() {
        let mut nonces = NonceBlocks::new(0, 100);
        let each = [100, 100, 500, 400, 501].map(|now_us| nonces.next(now_us, |_| Ok(())));
        assert_eq!(each, [100, 101, 500, 501, 502].map(Ok));
    }

    #[test]
    fn the_last_numbers_are_an_error() {
        let mut nonces = NonceBlocks::new(u64::MAX - BLOCK, 0);
        assert_eq!(nonces.next(0, |_| Ok(())), Ok(u64::MAX - BLOCK));
        assert!(nonces.next(0, |_| Ok(())).is_err());
    }
}
