//! Scans of a list: of orders, or of joins and exits.
//!
//! A scan for *presence* reads the list once, open-ended: an entry is evidence, a missing one is not. A scan for
//! *absence* reads a closed creation window until two rounds in a row name the same entries: only then, and only for
//! entries that must be in the window, is absence evidence.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::hashes::Hashes;
use crate::order::{Hash, OrderReport};
use crate::pool::{PoolTransactionReport, PoolTransactionStatus};
use crate::request::{OrderList, OrdersPage, RequestId};
use crate::time::{Time, VenueTime};

/// A list with more pages proves nothing, and its scan is abandoned.
const PAGES_MAX: u32 = 200;
/// Requests for one page before its scan is abandoned.
const PAGE_ATTEMPTS: u32 = 4;
/// Rounds of one scan for absence before it is abandoned.
const ROUNDS_MAX: u32 = 6;

/// An entry of a list in a scan.
pub trait Listed {
    /// Its hash, and whether it can change nothing any more.
    fn entry(&self) -> (Hash, bool);
}

impl Listed for OrderReport {
    fn entry(&self) -> (Hash, bool) {
        (self.hash, self.status.is_final())
    }
}

impl Listed for PoolTransactionReport {
    fn entry(&self) -> (Hash, bool) {
        (self.hash, self.status != PoolTransactionStatus::Processing)
    }
}

/// Purpose of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScanPurpose {
    /// Evidence of presence.
    Presence,
    /// Evidence of absence as well.
    Absence,
    /// Evidence of everything that rests, however old: foreign orders may be older than any window of creation
    /// times.
    Resting,
}

/// A scan in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ListScan {
    pub(crate) purpose: ScanPurpose,
    from: VenueTime,
    to: VenueTime,
    /// When the current round began.
    pub(crate) begun: Time,
    /// Lower bound of the venue's clock then.
    pub(crate) begun_venue: VenueTime,
    offset: u32,
    pages: u32,
    rounds: u32,
    limit: u32,
    /// What one round reads, one list after the other, and how many of them it has read.
    lists: Vec<OrderList>,
    lists_read: u8,
    /// Every list of this round so far was as long as the venue counted.
    whole: bool,
    /// Hashes of this round.
    pub(crate) seen: Hashes,
    /// Hashes of this round in a state that is not final.
    pub(crate) open: BTreeSet<Hash>,
    previous: Option<Hashes>,
    /// The request in flight.
    pub(crate) request: Option<RequestId>,
    /// Requests for the next page without an answer.
    unanswered: u32,
}

/// The result of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another page is needed.
    More,
    /// The scan is complete for its purpose.
    Complete,
    /// It cannot be completed: too long, or no two equal rounds.
    Abandoned,
}

impl ListScan {
    /// A single open-ended round of everything created from `from` on.
    pub(crate) fn look(now: Time, venue_now: VenueTime, from: VenueTime, limit: u32) -> Self {
        Self::new(
            ScanPurpose::Presence,
            now,
            venue_now,
            (from, VenueTime(0)),
            limit,
        )
    }

    /// A single round of everything that may still trade.
    pub(crate) fn standing(now: Time, venue_now: VenueTime, limit: u32) -> Self {
        let window = (VenueTime(0), VenueTime(0));
        Self::new(ScanPurpose::Resting, now, venue_now, window, limit).over(&[OrderList::Resting])
    }

    /// The same over these lists, one after the other, instead of the one of all entries.
    #[must_use]
    pub fn over(mut self, lists: &[OrderList]) -> Self {
        lists.clone_into(&mut self.lists);
        self
    }

    /// The list that is read now.
    fn list(&self) -> OrderList {
        let list = self.lists.get(usize::from(self.lists_read));
        list.copied().unwrap_or(OrderList::All)
    }

    /// Rounds over the window from `from` to now until two agree.
    pub fn proof(now: Time, venue_now: VenueTime, from: VenueTime, limit: u32) -> Self {
        Self::new(
            ScanPurpose::Absence,
            now,
            venue_now,
            (from, venue_now),
            limit,
        )
    }

    fn new(
        purpose: ScanPurpose,
        now: Time,
        venue_now: VenueTime,
        (from, to): (VenueTime, VenueTime),
        limit: u32,
    ) -> Self {
        Self {
            purpose,
            from,
            to,
            begun: now,
            begun_venue: venue_now,
            offset: 0,
            pages: 0,
            rounds: 0,
            limit: limit.max(1),
            lists: vec![OrderList::All],
            lists_read: 0,
            whole: true,
            seen: Hashes::default(),
            open: BTreeSet::new(),
            previous: None,
            request: None,
            unanswered: 0,
        }
    }

    /// Creation time of the oldest orders that it lists.
    pub(crate) const fn from(&self) -> VenueTime {
        self.from
    }

    /// Lower bound of the venue's clock when it began.
    pub const fn begun_venue(&self) -> VenueTime {
        self.begun_venue
    }

    /// Whether an order is in the current round.
    pub fn shows(&self, hash: Hash) -> bool {
        self.seen.contains(hash)
    }

    /// The page to request next.
    pub fn page(&self) -> OrdersPage {
        let list = self.list();
        let (from, to) = match list {
            OrderList::All | OrderList::Closed => (self.from, self.to),
            // However old it is.
            OrderList::Resting => (VenueTime(0), VenueTime(0)),
        };
        OrdersPage {
            list,
            from,
            to,
            offset: self.offset,
            limit: self.limit,
        }
    }

    /// The requested page got no answer: the same one again, or false when that was tried often enough. Pages read
    /// before are kept. A scan for resting orders does not delay others.
    pub fn ask_again(&mut self) -> bool {
        self.request = None;
        self.unanswered += 1;
        self.purpose != ScanPurpose::Resting && self.unanswered < PAGE_ATTEMPTS
    }

    /// Adds the requested page of a list of which the venue counts so many entries.
    pub fn take<T: Listed>(&mut self, entries: &[T], total: u32) -> Progress {
        self.note(entries);
        let read = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        self.offset = self.offset.saturating_add(read);
        let short = self.offset < total;
        if short && read > 0 {
            return self.more();
        }
        // The end of the list, with as many different entries as the venue counts.
        let whole = self.seen.len() >= total as usize;
        self.list_ended(short, whole)
    }

    /// Takes in the page that was asked for, of a list that states where its next page begins.
    pub fn take_until<T: Listed>(&mut self, entries: &[T], next: Option<u32>) -> Progress {
        self.note(entries);
        match next {
            Some(next) => {
                self.offset = next;
                self.more()
            }
            None => self.list_ended(false, true),
        }
    }

    fn note<T: Listed>(&mut self, entries: &[T]) {
        self.request = None;
        self.unanswered = 0;
        self.pages += 1;
        let before = self.seen.len();
        self.seen
            .extend(entries.iter().map(|entry| entry.entry().0));
        // An entry that this round shows for the first time was not open in it.
        let all_are_new = self.seen.len() == before + entries.len();
        for (hash, is_final) in entries.iter().map(Listed::entry) {
            if !is_final {
                self.open.insert(hash);
            } else if !all_are_new {
                self.open.remove(&hash);
            }
        }
    }

    const fn more(&self) -> Progress {
        if self.pages < PAGES_MAX {
            Progress::More
        } else {
            Progress::Abandoned
        }
    }

    /// The last page of a list was read: the next list, or the end of the round.
    fn list_ended(&mut self, short: bool, whole: bool) -> Progress {
        self.whole &= whole;
        let whole = self.whole;
        let others = usize::from(self.lists_read) + 1 < self.lists.len();
        if others && !short {
            self.lists_read += 1;
            self.offset = 0;
            return Progress::More;
        }
        match self.purpose {
            // An empty page before the end that the venue counts: the entries read are not a consistent list.
            ScanPurpose::Presence | ScanPurpose::Resting if short => Progress::Abandoned,
            ScanPurpose::Presence | ScanPurpose::Resting => Progress::Complete,
            ScanPurpose::Absence => {
                let same = self.previous.as_ref() == Some(&self.seen);
                if whole && same {
                    Progress::Complete
                } else {
                    self.again(whole)
                }
            }
        }
    }

    /// Starts another round of a scan for absence.
    fn again(&mut self, whole: bool) -> Progress {
        self.rounds += 1;
        if self.rounds >= ROUNDS_MAX {
            return Progress::Abandoned;
        }
        let seen = std::mem::take(&mut self.seen);
        self.previous = whole.then_some(seen);
        self.open.clear();
        (self.offset, self.pages) = (0, 0);
        (self.lists_read, self.whole) = (0, true);
        Progress::More
    }
}

/// Removes the scan that a page belongs to.
pub(crate) fn answered(slot: &mut Option<ListScan>, request: RequestId) -> Option<ListScan> {
    slot.take_if(|pass| pass.request == Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Side;
    use crate::order::OrderStatus;

    fn report(n: u8) -> OrderReport {
        OrderReport {
            hash: Hash([n; 32]),
            client_id: None,
            market: "A-B".into(),
            side: Side::Buy,
            status: OrderStatus::Processing,
            base_amount: 1,
            quote_amount: 1,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            valid_until_s: 0,
            valid_since: VenueTime(0),
        }
    }

    fn proof() -> ListScan {
        ListScan::proof(Time(0), VenueTime(1_000), VenueTime(0), 2)
    }

    /// What rests and what has closed are two lists, each read to the end that it names.
    #[test]
    fn a_round_reads_every_list_of_the_venue() {
        let lists = [OrderList::Resting, OrderList::Closed];
        let mut pass = proof().over(&lists);
        let mut pages = Vec::new();
        let mut take = |entries: &[OrderReport], next| {
            let page = pass.page();
            pages.push((page.list, page.from, page.to, page.offset));
            pass.take_until(entries, next)
        };
        for round in 1..=2 {
            assert_eq!(take(&[report(1)], Some(7)), Progress::More);
            assert_eq!(
                take(&[], None),
                Progress::More,
                "what has closed comes after"
            );
            let end = take(&[report(2)], None);
            let complete = round == 2;
            assert_eq!(end == Progress::Complete, complete, "{end:?}");
        }
        let none = VenueTime(0);
        let round = [
            (OrderList::Resting, none, none, 0),
            (OrderList::Resting, none, none, 7),
            (OrderList::Closed, none, VenueTime(1_000), 0),
        ];
        assert_eq!(pages, [round, round].concat());
        assert!(pass.shows(Hash([1; 32])) && pass.shows(Hash([2; 32])));
    }

    /// The second list is whole, and does not make up for the first.
    #[test]
    fn a_list_that_lost_entries_spoils_the_round_of_all_lists() {
        let mut pass = proof().over(&[OrderList::Resting, OrderList::Closed]);
        assert_eq!(pass.take(&[report(1), report(2)], 3), Progress::More);
        assert_eq!(pass.take(&[report(2)], 3), Progress::More, "one is missing");
        assert_eq!(pass.page().list, OrderList::Closed);
        assert_eq!(pass.take(&[report(3)], 1), Progress::More);
        for round in 2..=3 {
            assert_eq!(pass.take(&[report(1), report(2)], 2), Progress::More);
            let end = pass.take(&[report(3)], 1);
            assert_eq!(end == Progress::Complete, round == 3, "{round}");
        }
    }

    #[test]
    fn an_order_that_closes_between_two_lists_is_not_missed() {
        let mut pass = ListScan::look(Time(0), VenueTime(1_000), VenueTime(0), 2)
            .over(&[OrderList::Resting, OrderList::Closed]);
        assert_eq!(pass.take_until(&[report(1)], None), Progress::More);
        let closed = OrderReport {
            status: OrderStatus::Cancelled,
            ..report(1)
        };
        assert_eq!(pass.take_until(&[closed], None), Progress::Complete);
        assert!(pass.shows(Hash([1; 32])) && pass.open.is_empty());
    }

    #[test]
    fn a_list_that_never_ends_is_given_up() {
        let mut pass = proof();
        let mut next = 0;
        let ends = (0..1_000).map(|_| {
            next += 1;
            pass.take_until(&[report(1)], Some(next))
        });
        let ended = ends
            .take_while(|progress| *progress == Progress::More)
            .count();
        assert_eq!(ended, 199);
    }

    #[test]
    fn a_scan_for_presence_ends_with_its_last_page() {
        let mut pass = ListScan::look(Time(0), VenueTime(1_000), VenueTime(0), 2);
        assert_eq!(pass.take(&[report(1), report(2)], 3), Progress::More);
        assert_eq!(pass.page().offset, 2);
        assert_eq!(pass.take(&[report(3)], 3), Progress::Complete);
    }

    #[test]
    fn a_scan_for_absence_needs_two_equal_rounds() {
        let mut pass = proof();
        assert_eq!(pass.take(&[report(1)], 1), Progress::More);
        assert_eq!(pass.page().offset, 0, "begins again");
        assert_eq!(pass.take(&[report(1)], 1), Progress::Complete);
        let mut moving = proof();
        assert_eq!(moving.take(&[report(1)], 1), Progress::More);
        assert_eq!(
            moving.take(&[report(2)], 1),
            Progress::More,
            "another order: not equal"
        );
        assert_eq!(moving.take(&[report(2)], 1), Progress::Complete);
    }

    #[test]
    fn a_round_that_lost_entries_between_pages_does_not_count() {
        let mut pass = proof();
        // Total 3, but the second page repeats an entry: one order was left out.
        assert_eq!(pass.take(&[report(1), report(2)], 3), Progress::More);
        assert_eq!(pass.take(&[report(2)], 3), Progress::More);
        assert_eq!(
            pass.take(&[report(1), report(2)], 2),
            Progress::More,
            "first whole round"
        );
        assert_eq!(pass.take(&[report(1), report(2)], 2), Progress::Complete);
    }

    #[test]
    fn a_page_without_an_answer_is_requested_again_a_few_times() {
        let mut pass = proof();
        assert_eq!(pass.take(&[report(1), report(2)], 3), Progress::More);
        assert!(pass.ask_again());
        assert_eq!(pass.page().offset, 2, "the same page");
        assert_eq!(
            pass.take(&[report(3)], 3),
            Progress::More,
            "an answer ends the count"
        );
        let asked = (0..20).take_while(|_| pass.ask_again()).count();
        assert_eq!(asked, 3);
    }

    #[test]
    fn a_list_without_two_equal_rounds_is_abandoned() {
        let mut pass = proof();
        let ends = (1..=20)
            .map(|n| pass.take(&[report(n)], 1))
            .find(|p| *p != Progress::More);
        assert_eq!(ends, Some(Progress::Abandoned));
    }

    #[test]
    fn an_empty_page_before_the_total_proves_nothing() {
        let mut look = ListScan::look(Time(0), VenueTime(1_000), VenueTime(0), 2);
        assert_eq!(look.take::<OrderReport>(&[], 5), Progress::Abandoned);
        let mut pass = proof();
        let ends = (0..20)
            .map(|_| pass.take::<OrderReport>(&[], 5))
            .find(|p| *p != Progress::More);
        assert_eq!(ends, Some(Progress::Abandoned));
    }
}
