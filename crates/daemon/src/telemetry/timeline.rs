//! What happened recently, for the page: decisions about orders, requests, answers, fills, missing quotes, stops. Bounded in
//! number and in time; nothing is kept before the page can be served, and keeping an entry allocates nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_core::inspection::OrderDecision;
use cambist_core::notification::{Notification, Withheld};
use cambist_core::{ClientOrderId, MarketId, Side, Time};

/// Most entries. The oldest are forgotten first.
pub(super) const ENTRIES_MAX: usize = 8_192;
/// Entries older than this are forgotten, milliseconds.
pub(super) const AGE_MAX_MS: u64 = 3_600_000;

/// One entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its number, rising by one.
    pub number: u64,
    /// Milliseconds since the Unix epoch.
    pub unix_ms: u64,
    /// Its market, and the side if it is of one.
    pub place: Option<Place>,
    /// What is known of the market's book at this time.
    pub view: View,
    /// What happened.
    pub what: What,
}

/// A market, or one side of it.
pub(super) type Place = (MarketId, Option<Side>);

/// The last accepted book of a market.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// The middle in half ticks without own orders, if there was one.
    pub mid: Option<u64>,
    /// How long ago it was accepted, milliseconds; `None` before the first.
    pub age_ms: Option<u64>,
}

/// What happened.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The engine decided about an order.
    Decided(ClientOrderId, OrderDecision),
    /// A notification.
    Notified(Notification),
}

impl Entry {
    /// The order that it is about.
    pub fn order(&self) -> Option<ClientOrderId> {
        match &self.what {
            What::Decided(order, _) => Some(*order),
            What::Notified(notification) => notification.order(),
        }
    }
}

/// What a notification concerns.
enum Concern {
    /// It is not kept.
    Nothing,
    /// The order that it names.
    Order,
    Place(Place),
    /// All markets.
    Everything,
}

/// The entries of a process.
#[derive(Debug, Default)]
pub(super) struct Timeline(Mutex<Option<Ring>>);

#[derive(Debug, Default)]
struct Ring {
    kept: VecDeque<Entry>,
    next: u64,
    /// Last accepted book by market: its middle, and when.
    books: Vec<Option<(Option<u64>, Time)>>,
    /// Last reason by market, buy then sell.
    withheld: Vec<[Option<Withheld>; 2]>,
}

impl Timeline {
    /// Keeps entries from now on, of so many markets.
    pub fn begin(&self, markets: usize) {
        let mut ring = self.lock();
        if ring.is_none() {
            *ring = Some(Ring {
                kept: VecDeque::with_capacity(ENTRIES_MAX),
                next: 0,
                books: vec![None; markets],
                withheld: vec![[None; 2]; markets],
            });
        }
    }

    /// Takes in a notification; `place` finds the place of an open order.
    pub fn observe(
        &self,
        (now, unix_s): (Time, f64),
        notification: &Notification,
        place: impl FnOnce(ClientOrderId) -> Option<(MarketId, Side)>,
    ) {
        let mut ring = self.lock();
        let Some(ring) = ring.as_mut() else {
            return;
        };
        let found = || {
            let (market, side) = place(notification.order()?)?;
            Some((market, Some(side)))
        };
        let place = match ring.concerns(now, notification) {
            Concern::Nothing => return,
            Concern::Everything => None,
            Concern::Order => found(),
            Concern::Place(place) => Some(place),
        };
        ring.push((now, unix_s), place, What::Notified(notification.clone()));
    }

    /// Takes in a decision about an order.
    pub fn decided(
        &self,
        times: (Time, f64),
        (order, place): (ClientOrderId, Option<Place>),
        decision: OrderDecision,
    ) {
        if let Some(ring) = self.lock().as_mut() {
            ring.push(times, place, What::Decided(order, decision));
        }
    }

    /// Copies of the entries from a number on, and the number of the next.
    pub fn since(&self, number: u64, chosen: impl Fn(&Entry) -> bool) -> (Vec<Entry>, u64) {
        let ring = self.lock();
        let Some(ring) = ring.as_ref() else {
            return (Vec::new(), 0);
        };
        let first = ring.kept.front().map_or(0, |entry| entry.number);
        let skipped = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let wanted = ring.kept.iter().skip(skipped);
        (
            wanted.filter(|entry| chosen(entry)).cloned().collect(),
            ring.next,
        )
    }

    fn lock(&self) -> MutexGuard<'_, Option<Ring>> {
        // A panic ends the process, so a poisoned lock occurs in tests only.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// What a notification concerns. Keeps books and reasons.
    fn concerns(&mut self, now: Time, notification: &Notification) -> Concern {
        match notification {
            Notification::DepthAccepted { market, mid, .. } => {
                if let Some(book) = self.books.get_mut(usize::from(market.0)) {
                    *book = Some((*mid, now));
                }
                Concern::Nothing
            }
            Notification::Slept { .. } => {
                self.books.fill(None);
                Concern::Everything
            }
            Notification::Withheld {
                market,
                side,
                withheld,
            } => {
                let Some(known) = self.withheld.get_mut(usize::from(market.0)) else {
                    return Concern::Nothing;
                };
                let before = std::mem::replace(&mut known[*side as usize], *withheld);
                let same = match (before, withheld) {
                    (None, None) => true,
                    (Some(before), Some(now)) => before.is_alike(now),
                    (None, Some(_)) | (Some(_), None) => false,
                };
                if same {
                    Concern::Nothing
                } else {
                    Concern::Place((*market, Some(*side)))
                }
            }
            Notification::Submitted { market, side, .. }
            | Notification::SideEmpty { market, side, .. } => {
                Concern::Place((*market, Some(*side)))
            }
            Notification::Filled(fill) => Concern::Place((fill.market, Some(fill.side))),
            Notification::RiskRefused { market, .. }
            | Notification::DepthRefused { market, .. } => Concern::Place((*market, None)),
            Notification::Refused { order: None, .. }
            | Notification::Unknown { order: None, .. } => Concern::Nothing,
            Notification::Resent { .. }
            | Notification::Acknowledged { .. }
            | Notification::Refused { .. }
            | Notification::Unknown { .. }
            | Notification::CancelSent { .. }
            | Notification::AmendSent { .. }
            | Notification::AmendEnded { .. }
            | Notification::Resolved { .. }
            | Notification::Ended { .. } => Concern::Order,
            Notification::TradingStateChanged { .. }
            | Notification::Paused(_)
            | Notification::Unpaused { .. }
            | Notification::InvariantFailed { .. }
            | Notification::Draining
            | Notification::Ready { .. } => Concern::Everything,
            _ => Concern::Nothing,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times since the Unix epoch are positive and fit 64 bits"
    )]
    fn push(&mut self, (now, unix_s): (Time, f64), place: Option<Place>, what: What) {
        let unix_ms = (unix_s * 1_000.0) as u64;
        let is_old = |entry: &Entry| entry.unix_ms.saturating_add(AGE_MAX_MS) < unix_ms;
        while self.kept.len() >= ENTRIES_MAX || self.kept.front().is_some_and(is_old) {
            self.kept.pop_front();
        }
        let book = place.and_then(|(market, _)| *self.books.get(usize::from(market.0))?);
        let view = book.map_or_else(View::default, |(mid, at)| View {
            mid,
            age_ms: Some(now.ms_since(at)),
        });
        self.kept.push_back(Entry {
            number: self.next,
            unix_ms,
            place,
            view,
            what,
        });
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use cambist_core::notification::Control;

    use super::*;

    fn at(s: u32) -> (Time, f64) {
        (Time(u64::from(s) * 1_000_000), f64::from(s))
    }

    fn order(number: u64) -> ClientOrderId {
        ClientOrderId {
            instance: 1,
            strategy: cambist_core::StrategyId(0),
            number,
        }
    }

    fn all(timeline: &Timeline) -> Vec<Entry> {
        timeline.since(0, |_| true).0
    }

    #[test]
    fn nothing_is_kept_before_the_page_is_served() {
        let timeline = Timeline::default();
        let note = Notification::CancelSent { order: order(1) };
        timeline.observe(at(1), &note, |_| None);
        assert!(all(&timeline).is_empty());
        timeline.begin(1);
        timeline.observe(at(1), &note, |_| Some((MarketId(0), Side::Buy)));
        let kept = all(&timeline);
        assert_eq!(kept[0].place, Some((MarketId(0), Some(Side::Buy))));
        assert_eq!((kept.len(), kept[0].unix_ms), (1, 1_000));
    }

    #[test]
    fn entries_are_bounded_in_number_time_and_size() {
        assert!(size_of::<Entry>() <= 400, "{}", size_of::<Entry>());
        let timeline = Timeline::default();
        timeline.begin(1);
        let note = |number| Notification::CancelSent {
            order: order(number),
        };
        for number in 0..ENTRIES_MAX as u64 + 10 {
            timeline.observe(at(1), &note(number), |_| None);
        }
        assert_eq!(all(&timeline).len(), ENTRIES_MAX);
        let (newest, next) = timeline.since(ENTRIES_MAX as u64 + 5, |_| true);
        assert_eq!((newest.len(), next), (5, ENTRIES_MAX as u64 + 10));
        assert_eq!(newest[0].order(), Some(order(ENTRIES_MAX as u64 + 5)));
        // An hour later only the new one is left.
        timeline.observe(at(3_602), &note(0), |_| None);
        assert_eq!(all(&timeline).len(), 1);
    }

    #[test]
    fn a_reason_is_one_entry_however_often_its_numbers_change() {
        let timeline = Timeline::default();
        timeline.begin(1);
        let observe = |s, withheld| {
            let note = Notification::Withheld {
                market: MarketId(0),
                side: Side::Sell,
                withheld,
            };
            timeline.observe(at(s), &note, |_| None);
        };
        let book = Notification::DepthAccepted {
            market: MarketId(0),
            mid: Some(501),
            timestamp: cambist_core::VenueTime(0),
        };
        timeline.observe(at(1), &book, |_| None);
        observe(2, None);
        observe(3, Some(Withheld::plain(Control::StaleData)));
        observe(4, Some(Withheld::plain(Control::StaleData)));
        observe(5, Some(Withheld::plain(Control::EmptyBook)));
        observe(6, None);
        let kept = all(&timeline);
        let times: Vec<_> = kept.iter().map(|entry| entry.unix_ms / 1_000).collect();
        assert_eq!(times, [3, 5, 6]);
        let view = View {
            mid: Some(501),
            age_ms: Some(2_000),
        };
        assert_eq!(kept[0].view, view);
    }
}
