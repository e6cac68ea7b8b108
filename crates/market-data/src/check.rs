//! Checks between consecutive rows: times, versions, gaps, units, order of levels.

use cambist_core::Price;

use cambist_core::Side;

use crate::book::{Book, CrossedRows};
use crate::defect::Defect;
use crate::event::{Event, Update};
use crate::grid::Step;
use crate::time::Timestamp;

/// Default of the longest time without a row: one minute.
pub const DEFAULT_MAX_GAP_NANOS: i64 = 60_000_000_000;

/// The longest gap: three months. All time between two rows is simulated, and a time that is further away, such as one
/// of another year, is probably a wrong one.
const GAP_MAX_NANOS: i64 = 92 * 86_400 * 1_000_000_000;

/// Default of the factor from which on a price is implausible: twice or half of the book, or of the snapshot before.
pub const DEFAULT_PRICE_FACTOR: u32 = 2;

/// 2000-01-01T00:00:00Z. No market recorded before that: the first time of a recording that is earlier has another unit
/// than is stated.
pub(crate) const EARLIEST: Timestamp = Timestamp(946_684_800_000_000_000);

/// What to do with a row.
#[derive(Debug)]
pub(crate) enum EventCheckResult {
    /// It has no defect.
    Good,
    /// It has a defect that does not remove it.
    Keep(Defect),
    /// It has a defect and is left out.
    Drop(Defect),
}

/// Checks events: the exchange's view in order of exchange time, the recorder's in order of local time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventCheck {
    exchange: Timestamp,
    local: Timestamp,
    max_gap: i64,
}

impl EventCheck {
    pub const fn new(max_gap: i64) -> Self {
        Self {
            exchange: EARLIEST,
            local: EARLIEST,
            max_gap,
        }
    }

    /// The times of the newest row of each view; `None` before the first.
    pub fn newest(&self) -> Option<(Timestamp, Timestamp)> {
        let any = self.exchange > EARLIEST || self.local > EARLIEST;
        any.then_some((self.exchange, self.local.max(self.exchange)))
    }

    #[inline]
    pub fn check(&mut self, event: &Event) -> EventCheckResult {
        if self.passes(event) {
            EventCheckResult::Good
        } else {
            self.explain(event)
        }
    }

    /// Whether an event has no defect for certain, in few comparisons. What [`Self::check`] finds of any other has to be
    /// asked of it.
    #[inline]
    pub fn passes(&mut self, event: &Event) -> bool {
        let (exchange, local) = (event.exchange_time, event.local_time);
        let (at_exchange, at_local) = (event.visibility.at_exchange(), event.visibility.at_local());
        // A time that goes back is further away than every gap, as a number without a sign.
        let since = exchange.0.wrapping_sub(self.exchange.0).cast_unsigned();
        if (at_exchange && since > self.max_gap.cast_unsigned())
            || (at_local && local < self.local)
            || local < exchange
        {
            return false;
        }
        self.take_over(event);
        true
    }

    /// The times of an event that is not left out.
    #[inline]
    const fn take_over(&mut self, event: &Event) {
        if event.visibility.at_local() {
            self.local = event.local_time;
        }
        if event.visibility.at_exchange() {
            self.exchange = event.exchange_time;
        }
    }

    #[cold]
    fn explain(&mut self, event: &Event) -> EventCheckResult {
        if let Some(defect) = self.wrong_time(event) {
            return EventCheckResult::Drop(defect);
        }
        let (since, time) = (self.exchange, event.exchange_time);
        self.take_over(event);
        if since == EARLIEST {
            EventCheckResult::Good
        } else {
            EventCheckResult::Keep(gap(since, time, self.max_gap))
        }
    }

    /// What is wrong with the times of an event, beside a gap before it.
    fn wrong_time(&self, event: &Event) -> Option<Defect> {
        let (exchange, local) = (event.exchange_time, event.local_time);
        let (at_exchange, at_local) = (event.visibility.at_exchange(), event.visibility.at_local());
        let backward = |clock, time, previous| Defect::BackwardTime {
            clock,
            time,
            previous,
        };
        let of_nanos = true;
        if at_exchange && exchange < EARLIEST && self.exchange == EARLIEST {
            return Some(Defect::TooEarly {
                clock: "exchange",
                time: exchange,
                of_nanos,
            });
        }
        if at_local && local < EARLIEST && self.local == EARLIEST {
            return Some(Defect::TooEarly {
                clock: "local",
                time: local,
                of_nanos,
            });
        }
        if at_exchange && exchange < self.exchange {
            let units = units_of_time(exchange, self.exchange);
            Some(units.unwrap_or_else(|| backward("exchange", exchange, self.exchange)))
        } else if at_local && local < self.local {
            let units = units_of_time(local, self.local);
            Some(units.unwrap_or_else(|| backward("local", local, self.local)))
        } else if local < exchange {
            Some(Defect::NegativeLatency { exchange, local })
        } else if self.exchange == EARLIEST {
            None
        } else {
            too_late("exchange", self.exchange, exchange)
        }
    }
}

/// The defect of a time that is too long after that of the row before it for a gap.
#[cold]
pub(crate) fn too_late(clock: &'static str, since: Timestamp, time: Timestamp) -> Option<Defect> {
    let is_wrong = time.nanos_since(since) > GAP_MAX_NANOS;
    units_of_time(time, since)
        .or_else(|| is_wrong.then_some(Defect::TooLate { clock, time, since }))
}

#[cold]
pub(crate) const fn gap(since: Timestamp, time: Timestamp, limit: i64) -> Defect {
    Defect::Gap {
        since,
        nanos: time.nanos_since(since),
        limit,
    }
}

/// The exchange's book according to the events. Its bids must be below its asks whenever its time advances; within one
/// message the sides change one after the other.
#[derive(Clone, Debug)]
pub(crate) struct BookCheck {
    book: Book,
    tick: Step,
    time: Timestamp,
    crossed: CrossedRows,
    /// The row of the last change.
    row: u64,
    /// The largest plausible factor between prices; `None` if every price is plausible.
    factor: Option<u32>,
    /// Best bid and best ask of the last message after which both were there.
    touch: Option<(Price, Price)>,
    /// The last trade.
    trade: Option<Price>,
}

/// What the end of a message showed: the row of its last change, and the defect.
pub(crate) type Settled = Option<(u64, Defect)>;

impl BookCheck {
    pub fn new(tick: Step, factor: Option<u32>) -> Self {
        Self {
            factor,
            touch: None,
            trade: None,
            book: Book::new(),
            tick,
            time: Timestamp(i64::MIN),
            crossed: CrossedRows::default(),
            row: 0,
        }
    }

    /// Ends the message before an event, if the event begins another one. Returns the row whose change left the book
    /// crossed, if it is; the older levels are then removed. Then the row after which the best of a side was
    /// implausibly far away from the one before.
    #[inline]
    pub fn begin(&mut self, event: &Event) -> [Settled; 2] {
        if event.visibility.at_exchange() && event.exchange_time > self.time {
            self.time = event.exchange_time;
            [self.settle(), self.moved()]
        } else {
            [None, None]
        }
    }

    /// Prices after a gap are compared with each other alone.
    pub const fn forget(&mut self) {
        (self.touch, self.trade) = (None, None);
    }

    /// Whether a price is a factor away from the book: a trade outside of it, or a level that crosses it. A level far
    /// behind the best of its side is plausible, and so is the end of any level.
    #[inline]
    pub fn implausible(&self, event: &Event) -> Option<Defect> {
        let factor = self.factor?;
        let above = |price: Price, limit: Price| times(limit, factor) < u128::from(price.0);
        let below = |price: Price, limit: Price| times(price, factor) < u128::from(limit.0);
        let (what, price, is_far) = match (event.update, self.touch) {
            (Update::Trade { price, .. } | Update::Fill { price, .. }, touch) => {
                let (bid, ask) = touch.or(self.trade.map(|last| (last, last)))?;
                (
                    "the trade at",
                    price,
                    above(price, ask) || below(price, bid),
                )
            }
            (
                Update::Level { side, price, qty } | Update::SnapshotLevel { side, price, qty },
                Some((bid, ask)),
            ) if qty.0 > 0 => match side {
                Side::Buy => ("the bid", price, above(price, ask)),
                Side::Sell => ("the ask", price, below(price, bid)),
            },
            _ => return None,
        };
        is_far.then(|| self.far(what, price, factor))
    }

    /// The best of a side after a message, if it is a factor worse than it was.
    fn moved(&mut self) -> Settled {
        let touch = self.book.best_bid().zip(self.book.best_ask())?;
        let before = self.touch.replace(touch);
        let (factor, (bid, ask)) = self.factor.zip(before)?;
        let found = if times(touch.0, factor) < u128::from(bid.0) {
            ("the best bid", touch.0)
        } else if times(ask, factor) < u128::from(touch.1.0) {
            ("the best ask", touch.1)
        } else {
            return None;
        };
        self.touch = before;
        let defect = self.far(found.0, found.1, factor);
        self.touch = Some(touch);
        Some((self.row, defect))
    }

    #[cold]
    fn far(&self, what: &'static str, price: Price, factor: u32) -> Defect {
        let text = |price| price_text(self.tick, price);
        let beside = match (self.touch, self.trade) {
            (Some((bid, ask)), _) => format!("a book of {} bid and {} ask", text(bid), text(ask)),
            (None, Some(last)) => format!("the trade before it at {}", text(last)),
            (None, None) => "nothing".to_owned(),
        };
        Defect::ImplausiblePrice {
            what,
            price: text(price),
            beside,
            factor,
        }
    }

    /// Applies the event of a row.
    #[inline]
    pub fn apply(&mut self, event: &Event, row: u64) {
        if !event.visibility.at_exchange() {
            return;
        }
        if let Update::Trade { price, .. } | Update::Fill { price, .. } = event.update {
            self.trade = Some(price);
        }
        self.book.apply(&event.update);
        if let Update::Level { side, price, qty } | Update::SnapshotLevel { side, price, qty } =
            event.update
        {
            self.row = row;
            let book = &mut self.book;
            self.crossed.level_set(book, side, price, qty);
        } else if let Update::Clear { .. } = event.update {
            self.row = row;
        }
    }

    /// The end of the data: what [`Self::begin`] returns.
    pub fn end(&mut self) -> [Settled; 2] {
        [self.settle(), self.moved()]
    }

    fn settle(&mut self) -> Settled {
        let (bid, ask) = self.crossed.settle(&mut self.book)?;
        Some((self.row, crossed(self.tick, bid, ask)))
    }
}

/// A crossed book, with its prices as the file has them.
#[cold]
pub(crate) fn crossed(tick: Step, bid: Price, ask: Price) -> Defect {
    Defect::Crossed {
        bid: price_text(tick, bid),
        ask: price_text(tick, ask),
    }
}

/// A price as the file has it.
pub(crate) fn price_text(tick: Step, price: Price) -> String {
    let value = tick.value(price.0);
    value.map_or_else(|| format!("{} ticks", price.0), |value| value.to_string())
}

#[inline]
fn times(price: Price, factor: u32) -> u128 {
    u128::from(price.0) * u128::from(factor)
}

/// A jump between two times that suggests mixed units (seconds, milliseconds, microseconds, nanoseconds).
pub(crate) fn units_of_time(time: Timestamp, previous: Timestamp) -> Option<Defect> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    let ratio = time.0 as f64 / previous.0 as f64;
    let near = |power: f64| (ratio / power - 1.0).abs() < 0.01;
    let factor = [1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9]
        .into_iter()
        .find(|p| near(*p))?;
    Some(Defect::MixedUnits {
        what: "time",
        factor: factor.to_string(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::{Qty, Side};

    use super::*;
    use crate::defect::DefectKind;
    use crate::event::{Update, Visibility};

    fn event(exchange: i64, local: i64, visibility: Visibility) -> Event {
        Event {
            exchange_time: EARLIEST.plus_nanos(exchange),
            local_time: EARLIEST.plus_nanos(local),
            visibility,
            update: Update::Level {
                side: Side::Buy,
                price: Price(1),
                qty: Qty(1),
            },
        }
    }

    fn kind(result: &EventCheckResult) -> Option<(DefectKind, bool)> {
        match result {
            EventCheckResult::Good => None,
            EventCheckResult::Keep(defect) => defect.kind().map(|kind| (kind, true)),
            EventCheckResult::Drop(defect) => defect.kind().map(|kind| (kind, false)),
        }
    }

    #[test]
    fn each_view_has_an_order_of_its_own() {
        use Visibility::{Both, Exchange, Local};
        let mut check = EventCheck::new(100);
        let mut see = |e, l, v| kind(&check.check(&event(e, l, v)));
        assert_eq!(see(10, 15, Both), None);
        // Messages that overtook each other: one row in each view.
        assert_eq!(see(12, 30, Exchange), None);
        assert_eq!(see(14, 20, Both), None);
        assert_eq!(see(12, 30, Local), None);
        assert_eq!(see(13, 31, Both), Some((DefectKind::Backward, false)));
        assert_eq!(see(13, 29, Local), Some((DefectKind::Backward, false)));
        assert_eq!(
            see(40, 39, Both),
            Some((DefectKind::NegativeLatency, false))
        );
        assert_eq!(see(114, 115, Both), None, "exactly the allowed gap");
        assert_eq!(see(215, 216, Both), Some((DefectKind::Gap, true)));
        assert_eq!(see(216, 217, Both), None);
    }

    #[test]
    fn a_time_more_than_three_months_later_is_no_gap() {
        use Visibility::{Both, Exchange};
        let mut check = EventCheck::new(100);
        let mut see = |e, l, v| kind(&check.check(&event(e, l, v)));
        assert_eq!(see(10, 15, Both), None);
        let far = GAP_MAX_NANOS + 11;
        assert_eq!(see(far, far + 5, Both), Some((DefectKind::BadValue, false)));
        assert_eq!(
            see(far, far + 5, Exchange),
            Some((DefectKind::BadValue, false))
        );
        // It is left out, and what follows is compared with the row before it.
        assert_eq!(see(11, 16, Both), None);
        assert_eq!(see(far, far + 5, Both), Some((DefectKind::Gap, true)));
        assert_eq!(see(far + 1, far + 6, Both), None);
    }

    #[test]
    fn the_first_time_must_be_after_1999() {
        let check = |nanos: i64| {
            let mut first = event(0, 0, Visibility::Both);
            (first.exchange_time, first.local_time) = (Timestamp(nanos), Timestamp(nanos));
            match EventCheck::new(100).check(&first) {
                EventCheckResult::Drop(defect) => defect.to_string(),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(check(1_723_161_256_000_000_000), "Good");
        for (nanos, unit) in [
            (1_723_161_256_000_000, "microseconds"),
            (1_723_161_256_000, "milliseconds"),
            (1_723_161_256, "seconds"),
        ] {
            let text = check(nanos);
            let expected = format!("these are probably {unit}, 2024-08-08T");
            assert!(text.contains(&expected), "{text}");
        }
        assert!(
            check(0).ends_with("is before the year 2000"),
            "{}",
            check(0)
        );
    }

    #[test]
    fn a_book_may_be_crossed_within_a_message_only() {
        let mut check = BookCheck::new(Step::new(1, 2).unwrap(), None);
        let mut see = |time, side, price, qty| {
            let mut event = event(time, time, Visibility::Both);
            event.update = Update::Level {
                side,
                price: Price(price),
                qty: Qty(qty),
            };
            let [found, _] = check.begin(&event);
            check.apply(&event, u64::try_from(time).unwrap_or(0));
            found.map(|(row, defect)| (row, defect.to_string()))
        };
        assert_eq!(see(1, Side::Sell, 101, 1), None);
        assert_eq!(see(2, Side::Buy, 102, 1), None);
        assert_eq!(see(2, Side::Sell, 101, 0), None, "the message is over now");
        assert_eq!(see(3, Side::Sell, 103, 1), None);
        assert_eq!(see(4, Side::Buy, 103, 1), None);
        let (row, text) = see(5, Side::Sell, 104, 1).unwrap_or_default();
        assert_eq!(
            (row, text.contains("best bid 1.03, best ask 1.03")),
            (4, true)
        );
        // The ask at 103 was removed, so the book is valid again.
        assert_eq!(see(6, Side::Buy, 102, 2), None);
        assert!(check.end()[0].is_none());
    }
}
