//! Reads a list completely: all pages, in two rounds in a row with the same entries.
//!
//! The engine's scan (`core/src/list_scan.rs`) is not used, although it has the same rule. It is a part of the engine's
//! state and of its snapshots, reads closed windows of creation time and gives up after six rounds; this reads everything
//! of whatever age, keeps the entries in order to cancel them, and goes on until its deadline. And `panic` is what is
//! left when the daemon is not trusted: a defect of the engine's reading must not be a defect of the proof.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::order::OrderReport;
use cambist_core::pool::{PoolTransactionReport, PoolTransactionStatus};
use cambist_core::{Hash, Time};

/// A list with more pages proves nothing.
pub const PAGES_MAX: u32 = 1_000;

/// An entry of a list.
pub trait Entry: Clone {
    /// Its hash.
    fn hash(&self) -> Hash;
    /// Whether it has ended.
    fn is_over(&self) -> bool;
}

impl Entry for OrderReport {
    fn hash(&self) -> Hash {
        self.hash
    }

    fn is_over(&self) -> bool {
        self.status.is_final()
    }
}

impl Entry for PoolTransactionReport {
    fn hash(&self) -> Hash {
        self.hash
    }

    fn is_over(&self) -> bool {
        match self.status {
            PoolTransactionStatus::Processing => false,
            PoolTransactionStatus::Processed | PoolTransactionStatus::Cancelled => true,
        }
    }
}

/// Result of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// Another page of this round is needed, from this offset.
    More,
    /// The round is complete; the next one must have the same entries.
    Again,
    /// Complete.
    Complete,
    /// Too long to be read.
    TooLong,
}

/// What a page states of the pages after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The number of entries of all pages.
    Total(u32),
    /// Where the next page begins, if there is one.
    Next(Option<u32>),
}

/// A list being read.
#[derive(Clone, Debug)]
pub struct List<T> {
    /// When the first page of the newest round was requested.
    begun: Time,
    offset: u32,
    pages: u32,
    is_begun: bool,
    hashes: BTreeSet<Hash>,
    open: BTreeMap<Hash, T>,
    previous: Option<BTreeSet<Hash>>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            begun: Time::default(),
            offset: 0,
            pages: 0,
            is_begun: false,
            hashes: BTreeSet::new(),
            open: BTreeMap::new(),
            previous: None,
        }
    }
}

impl<T: Entry> List<T> {
    /// Offset of the next page.
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Whether a page was read.
    pub const fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// When the newest round began.
    pub const fn begun(&self) -> Time {
        self.begun
    }

    /// Entries of the newest round that have not ended.
    pub const fn open(&self) -> &BTreeMap<Hash, T> {
        &self.open
    }

    /// Takes in the page that was requested at `sent`.
    pub fn take(&mut self, sent: Time, page: &[T], rest: Rest) -> Read {
        if self.pages == 0 {
            self.begun = sent;
            self.hashes.clear();
            self.open.clear();
        }
        self.pages += 1;
        self.is_begun = true;
        for entry in page {
            self.hashes.insert(entry.hash());
            if entry.is_over() {
                self.open.remove(&entry.hash());
            } else {
                self.open.insert(entry.hash(), entry.clone());
            }
        }
        let count = u32::try_from(page.len()).unwrap_or(u32::MAX);
        let (next, moves_on) = match rest {
            Rest::Total(total) => {
                let read = self.offset.saturating_add(count);
                ((read < total).then_some(read), count > 0)
            }
            Rest::Next(next) => (next, next > Some(self.offset)),
        };
        if let Some(next) = next {
            if self.pages >= PAGES_MAX {
                return Read::TooLong;
            }
            if moves_on {
                self.offset = next;
                return Read::More;
            }
            // Fewer entries than the total: the list changed during the round, which proves nothing.
            self.restart(None);
            return Read::Again;
        }
        let hashes = std::mem::take(&mut self.hashes);
        if self.previous.as_ref() == Some(&hashes) {
            return Read::Complete;
        }
        self.restart(Some(hashes));
        Read::Again
    }

    fn restart(&mut self, previous: Option<BTreeSet<Hash>>) {
        self.previous = previous;
        self.offset = 0;
        self.pages = 0;
    }
}

#[cfg(test)]
mod tests {
    use cambist_core::{OrderStatus, Side, VenueTime};

    use super::*;

    fn order(number: u8, status: OrderStatus) -> OrderReport {
        OrderReport {
            hash: Hash([number; 32]),
            client_id: None,
            market: "ETH-USDC".into(),
            side: Side::Buy,
            status,
            base_amount: 1,
            quote_amount: 1,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            valid_until_s: 0,
            valid_since: VenueTime(0),
        }
    }

    #[test]
    fn complete_is_every_page_twice_with_the_same_orders() {
        let (a, b) = (
            order(1, OrderStatus::Cancelled),
            order(2, OrderStatus::Processing),
        );
        let mut list = List::default();
        assert_eq!(
            list.take(Time(1), std::slice::from_ref(&a), Rest::Total(2)),
            Read::More
        );
        assert_eq!(list.offset(), 1);
        assert_eq!(
            list.take(Time(2), std::slice::from_ref(&b), Rest::Total(2)),
            Read::Again
        );
        assert_eq!(list.open().len(), 1);
        assert_eq!(
            list.take(Time(3), &[a.clone(), b.clone()], Rest::Total(2)),
            Read::Complete
        );
        assert_eq!(list.begun(), Time(3));
        // Another order in between: not complete.
        let mut list = List::default();
        assert_eq!(
            list.take(Time(1), std::slice::from_ref(&a), Rest::Total(1)),
            Read::Again
        );
        assert_eq!(
            list.take(Time(2), &[b.clone(), a.clone()], Rest::Total(2)),
            Read::Again
        );
        assert_eq!(list.take(Time(3), &[b, a], Rest::Total(2)), Read::Complete);
    }

    #[test]
    fn a_list_that_shows_fewer_than_it_counts_is_not_complete() {
        let a = order(1, OrderStatus::Cancelled);
        let mut list = List::default();
        for _ in 0..5 {
            assert_eq!(
                list.take(Time(1), std::slice::from_ref(&a), Rest::Total(2)),
                Read::More
            );
            assert_eq!(list.take(Time(1), &[], Rest::Total(2)), Read::Again);
        }
        assert_eq!(list.take(Time(2), &[], Rest::Total(0)), Read::Again);
        assert_eq!(list.take(Time(2), &[], Rest::Total(0)), Read::Complete);
    }

    #[test]
    fn pages_may_name_the_next_one() {
        let (a, b) = (
            order(1, OrderStatus::Cancelled),
            order(2, OrderStatus::Processing),
        );
        let mut list = List::default();
        let [first, second] = [[a], [b]];
        for read in [Read::Again, Read::Complete] {
            let next = Rest::Next(Some(50));
            assert_eq!(list.take(Time(1), &first, next), Read::More);
            assert_eq!(list.offset(), 50);
            assert_eq!(list.take(Time(1), &second, Rest::Next(None)), read);
        }
        // One that does not move on proves nothing.
        let mut list = List::default();
        assert_eq!(list.take(Time(1), &first, Rest::Next(Some(0))), Read::Again);
    }

    #[test]
    fn a_list_without_end_is_given_up() {
        let a = order(1, OrderStatus::Cancelled);
        let mut list = List::default();
        let read = (0..PAGES_MAX)
            .map(|_| list.take(Time(1), std::slice::from_ref(&a), Rest::Total(u32::MAX)));
        assert_eq!(read.last(), Some(Read::TooLong));
    }
}
