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
        Ok(Self { latest, finalized })
    }

    /// A later view. `known` is the block that the node now has at the number of the finalized one of before.
    ///
    /// # Errors
    /// [`Unusable`]; the view of before remains.
    pub fn follow(
        &mut self,
        latest: Block,
        finalized: Block,
        known: &Block,
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
        if !links(&self.finalized, &finalized) || finalized.timestamp_s < self.finalized.timestamp_s
        {
            return Err(Unusable::Unlinked);
        }
        *self = next;
        Ok(())
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
        assert_eq!(view.follow(block(8, 1), block(5, 0), &block(5, 0)), Ok(()));
        assert_eq!(view.follow(block(10, 1), block(6, 0), &block(5, 0)), Ok(()));
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
            assert_eq!(view.follow(latest, finalized, &known), Err(why));
            assert_eq!(view, before);
        }
        assert_eq!(agree(&block(6, 0), &block(6, 0)), Ok(()));
        assert_eq!(agree(&block(6, 0), &block(6, 1)), Err(Unusable::Forked));
        assert_eq!(agree(&block(6, 0), &block(7, 0)), Err(Unusable::Forked));
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
