//! The newest and the finalized block: the venue's clock, when a list is complete, and a chain that forks.
//!
//! The clock is the time of the newest block, because the router compares a deadline with the next one: a clock that
//! lags by finality would have deadlines signed that have passed. A reorganisation may put bytes into a block that is
//! older than the newest one was; therefore nothing is concluded from that clock alone, but from the time of the
//! finalized block, which no reorganisation passes.

use cambist_core::VenueTime;
use cambist_evm::block::Block;

/// The two ends of what is known of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    latest: Block,
    finalized: Block,
    /// Another time of this finalized block than before.
    restated: Option<Restated>,
}

/// A time of a known block that is not the one of before, although the block has the same hash: one of both is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Restated {
    timestamp_s: u64,
    /// The time of the finalized block since which that is stated, in seconds.
    since_s: u64,
}

/// Why blocks are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The finalized block is newer than the newest one. The node changed its mind between two requests.
    #[error("the finalized block is ahead of the newest one")]
    Order,
    /// The finalized block went back. The node lags, or is another one than before.
    #[error("the finalized block is older than one seen before")]
    Behind,
    /// Blocks next to each other that are not of one chain. The answers are of different moments or copies of a node.
    #[error("the finalized block does not follow the one before it")]
    Unlinked,
    /// Another time of a block than before: nothing is concluded from either.
    #[error(
        "a node states another time of block {number} than before: {before_s} s, now {now_s} s; one of both is false"
    )]
    Time {
        /// The block.
        number: u64,
        /// Its time as it was stated before.
        before_s: u64,
        /// Its time as it is stated now.
        now_s: u64,
    },
    /// A finalized block was taken back, or two nodes have different ones. Nothing is signed until an operator decides.
    #[error("a finalized block was replaced by another: the node follows another chain")]
    Forked,
}

impl View {
    /// The first view of a chain.
    ///
    /// # Errors
    /// [`Unusable::Order`], [`Unusable::Unlinked`].
    pub fn new(latest: Block, finalized: Block) -> Result<Self, Unusable> {
        if finalized.number > latest.number || finalized.timestamp_s > latest.timestamp_s {
            return Err(Unusable::Order);
        }
        if !links(&finalized, &latest) {
            return Err(Unusable::Unlinked);
        }
        Ok(Self {
            latest,
            finalized,
            restated: None,
        })
    }

    /// A later view. `known` is the block that the node now has at the number of the finalized one of before. Its hash
    /// never changes. Its time may have been false, now or before: another one counts if the blocks agree with it for
    /// `grace_ms` of finalized time, and an earlier one, from which less follows, as soon as another finalized block does.
    ///
    /// # Errors
    /// [`Unusable`]; the blocks of before remain.
    pub fn follow(
        &mut self,
        latest: Block,
        finalized: Block,
        known: &Block,
        grace_ms: u64,
    ) -> Result<(), Unusable> {
        let next = Self::new(latest, finalized)?;
        if finalized.number < self.finalized.number {
            return Err(Unusable::Behind);
        }
        let same_number = known.number == self.finalized.number;
        if !same_number || known.hash != self.finalized.hash {
            return Err(Unusable::Forked);
        }
        if finalized.number == known.number && finalized.hash != known.hash {
            return Err(Unusable::Forked);
        }
        if !links(known, &finalized) || finalized.timestamp_s < known.timestamp_s {
            return Err(Unusable::Unlinked);
        }
        if known.timestamp_s != self.finalized.timestamp_s {
            self.restate(known, &finalized, grace_ms)?;
        }
        *self = next;
        Ok(())
    }

    /// Whether another time of the known block counts by now.
    fn restate(&mut self, known: &Block, finalized: &Block, grace_ms: u64) -> Result<(), Unusable> {
        let now = Restated {
            timestamp_s: known.timestamp_s,
            since_s: finalized.timestamp_s,
        };
        let before = self
            .restated
            .filter(|of| of.timestamp_s == known.timestamp_s && of.since_s <= now.since_s);
        let since_s = before.unwrap_or(now).since_s;
        let stated_s = now.since_s - since_s;
        let is_earlier = known.timestamp_s < self.finalized.timestamp_s;
        let counts = before.is_some()
            && (stated_s.saturating_mul(1_000) >= grace_ms || (is_earlier && stated_s > 0));
        if counts {
            return Ok(());
        }
        self.restated = Some(Restated { since_s, ..now });
        Err(Unusable::Time {
            number: known.number,
            before_s: self.finalized.timestamp_s,
            now_s: known.timestamp_s,
        })
    }

    /// The newest block.
    pub const fn latest(&self) -> &Block {
        &self.latest
    }

    /// The finalized block.
    pub const fn finalized(&self) -> &Block {
        &self.finalized
    }

    /// The venue's time in answers.
    pub const fn venue_time(&self) -> VenueTime {
        VenueTime::from_s(self.latest.timestamp_s)
    }

    /// Whether a list drawn up now leaves nothing out that is dead by the end of its window: the finalized block is at
    /// most grace older than it. A deadline by grace before that end has then passed in finalized blocks.
    pub fn proves_until(&self, window_end: VenueTime, grace_ms: u64) -> bool {
        VenueTime::from_s(self.finalized.timestamp_s).plus_ms(grace_ms) >= window_end
    }
}

/// Whether two blocks may be of one chain, as far as their numbers let it be seen.
fn links(older: &Block, newer: &Block) -> bool {
    match newer.number.checked_sub(older.number) {
        Some(0) => newer.hash == older.hash,
        Some(1) => newer.parent == older.hash,
        _ => true,
    }
}

/// What two nodes agree on: the finalized block of the one that is behind, which the other has as well.
///
/// # Errors
/// [`Unusable::Forked`] if they have different blocks of that number.
pub fn agree(behind: &Block, at_same_number: &Block) -> Result<(), Unusable> {
    let same = behind.number == at_same_number.number && behind.hash == at_same_number.hash;
    if same { Ok(()) } else { Err(Unusable::Forked) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cambist_evm::Hash32;

    const GRACE_MS: u64 = 40_000;

    /// A block every ten seconds from second 1,000; `branch` distinguishes blocks of one number.
    pub(crate) fn block(number: u8, branch: u8) -> Block {
        Block {
            number: number.into(),
            hash: Hash32([number ^ (branch << 7); 32]),
            parent: Hash32([number.wrapping_sub(1) ^ (branch << 7); 32]),
            timestamp_s: 1_000 + 10 * u64::from(number),
            base_fee: 7,
        }
    }

    #[test]
    fn a_finalized_block_is_never_replaced() {
        let mut view = View::new(block(9, 0), block(5, 0)).expect("a view");
        assert_eq!(view.venue_time(), VenueTime::from_s(1_090));
        // The newest blocks are reorganised: nothing happens.
        assert_eq!(
            view.follow(block(8, 1), block(5, 0), &block(5, 0), GRACE_MS),
            Ok(())
        );
        assert_eq!(
            view.follow(block(10, 1), block(6, 0), &block(5, 0), GRACE_MS),
            Ok(())
        );
        let before = view;
        let earlier = Block {
            timestamp_s: 1_059,
            ..block(8, 0)
        };
        for (latest, finalized, known, why) in [
            (block(11, 0), block(7, 0), block(6, 1), Unusable::Forked),
            (block(11, 0), block(6, 1), block(6, 0), Unusable::Forked),
            (block(11, 0), block(7, 0), block(7, 0), Unusable::Forked),
            (block(11, 0), block(5, 0), block(6, 0), Unusable::Behind),
            (block(6, 0), block(7, 0), block(6, 0), Unusable::Order),
            (block(7, 1), block(7, 0), block(6, 0), Unusable::Unlinked),
            (block(8, 1), block(7, 0), block(6, 0), Unusable::Unlinked),
            (block(11, 1), block(7, 1), block(6, 0), Unusable::Unlinked),
            (block(11, 0), earlier, block(6, 0), Unusable::Unlinked),
        ] {
            assert_eq!(view.follow(latest, finalized, &known, GRACE_MS), Err(why));
            assert_eq!(view, before);
        }
        assert_eq!(agree(&block(6, 0), &block(6, 0)), Ok(()));
        assert_eq!(agree(&block(6, 0), &block(6, 1)), Err(Unusable::Forked));
        assert_eq!(agree(&block(6, 0), &block(7, 0)), Err(Unusable::Forked));
    }

    /// The block of this number with a time that is false by so many seconds.
    fn shifted(number: u8, by_s: i64) -> Block {
        let block = block(number, 0);
        let timestamp_s = block.timestamp_s.saturating_add_signed(by_s);
        Block {
            timestamp_s,
            ..block
        }
    }

    #[test]
    fn a_node_that_states_other_times_for_a_while_changes_nothing() {
        for by_s in [3_600, -900] {
            let mut view = View::new(block(9, 0), block(5, 0)).expect("a view");
            // Grace is 40 s: blocks 6 to 9 are within it.
            for number in [6, 6, 8] {
                let read = [number + 3, number, 5].map(|number| shifted(number, by_s));
                let followed = view.follow(read[0], read[1], &read[2], GRACE_MS);
                let is_earlier = by_s < 0 && number == 8;
                assert_eq!(followed.is_ok(), is_earlier, "{by_s} {number}");
                if is_earlier {
                    break;
                }
                let now_s = read[2].timestamp_s;
                let time = Unusable::Time {
                    number: 5,
                    before_s: 1_050,
                    now_s,
                };
                assert_eq!(followed, Err(time));
                assert_eq!(view.finalized(), &block(5, 0), "from the times of before");
            }
            if by_s > 0 {
                let followed = view.follow(block(12, 0), block(9, 0), &block(5, 0), GRACE_MS);
                assert_eq!(followed, Ok(()), "the times of before again");
            }
        }
    }

    #[test]
    fn a_time_that_was_false_is_replaced_once_the_blocks_agree() {
        // An earlier time counts with the next finalized block, whether the known block is still the finalized one.
        let mut late = View::new(shifted(9, 3_600), shifted(5, 3_600)).expect("a view");
        for (finalized, counts) in [(5, false), (5, false), (6, true), (7, true)] {
            let known = block(if finalized == 7 { 6 } else { 5 }, 0);
            let followed = late.follow(block(11, 0), block(finalized, 0), &known, GRACE_MS);
            assert_eq!(followed.is_ok(), counts, "{finalized}: {followed:?}");
        }
        assert_eq!(late.finalized(), &block(7, 0));
        // A later one after grace, stated alike all the time.
        let mut early = View::new(shifted(9, -900), shifted(5, -900)).expect("a view");
        for (by_s, finalized, counts) in [
            (0, 6, false),
            (0, 9, false),
            (1, 10, false),
            (0, 11, false),
            (0, 14, false),
            (0, 15, true),
        ] {
            let read = [finalized, 5].map(|number| shifted(number, by_s));
            let followed = early.follow(block(20, 0), read[0], &read[1], GRACE_MS);
            assert_eq!(followed.is_ok(), counts, "{finalized}: {followed:?}");
        }
        // Whatever its time is: another block is a fork.
        let mut forked = View::new(shifted(9, 3_600), shifted(5, 3_600)).expect("a view");
        let followed = forked.follow(block(11, 0), block(6, 0), &block(5, 1), GRACE_MS);
        assert_eq!(followed, Err(Unusable::Forked));
    }

    #[test]
    fn a_list_proves_nothing_while_finality_lags() {
        // The finalized block is of second 1,050.
        let view = View::new(block(9, 0), block(5, 0)).expect("a view");
        assert!(view.proves_until(VenueTime::from_s(1_090), 40_000));
        assert!(!view.proves_until(VenueTime::from_s(1_090), 39_999));
        assert!(
            !view.proves_until(VenueTime::from_s(9_999), 40_000),
            "a stalled chain"
        );
    }
}
