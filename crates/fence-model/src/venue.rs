//! The venue's side, and the network in front of it: what was sent may arrive at any time, any number of
//! times, in any order, or never.

use cambist_core::order::OrderReport;
use cambist_core::{Hash, OrderStatus, Reason, Side, VenueTime};

use crate::{COPIES, GRACE, ORDERS, TICK_MS};

/// One transmission's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Copy {
    /// Never left.
    #[default]
    Unsent,
    /// May arrive.
    Sent,
    /// May arrive again, and is refused again for the same definitive reason.
    Refused,
}

/// How an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Filled.
    Filled,
    /// Cancelled, expired or failed after it was taken: nothing of it moved.
    Over,
}

/// What became of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Never taken.
    #[default]
    Absent,
    /// Taken, may fill; also while a cancel was taken and has not taken effect.
    Open,
    /// Over.
    Done(End),
}

/// An order as the venue has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Order {
    /// Its bytes on their way.
    pub copies: [Copy; COPIES],
    /// What became of it.
    pub fate: Fate,
    /// It is in lists and found by hash.
    pub shown: bool,
    /// When it was taken.
    pub created: u8,
    /// Expiry in its bytes.
    pub until: u8,
    /// Storage id in its bytes.
    pub storage_id: u8,
}

impl Order {
    /// Whether it can fill.
    pub const fn is_open(&self) -> bool {
        matches!(self.fate, Fate::Open)
    }

    /// Whether any byte of it ever left.
    pub fn has_left(&self) -> bool {
        self.copies.iter().any(|copy| *copy != Copy::Unsent)
    }

    /// Whether nothing can become of it any more.
    pub fn is_settled(&self, clock: u8) -> bool {
        match self.fate {
            Fate::Absent => clock > self.until || !self.has_left(),
            Fate::Open => false,
            Fate::Done(_) => self.shown,
        }
    }

    /// Leaves out what can make no difference any more: it is settled, and nobody waits for an answer.
    pub fn settle(&mut self, clock: u8) {
        if self.is_settled(clock) && self.has_left() {
            *self = Self {
                copies: [Copy::Sent, Copy::Unsent],
                fate: self.fate,
                shown: self.shown,
                storage_id: self.storage_id,
                ..Self::default()
            };
        }
    }

    /// Whether the clock may go past `clock`: behind expiry and grace nothing is open or hidden.
    fn lets_pass(self, clock: u8) -> bool {
        let settled = match self.fate {
            Fate::Absent => true,
            Fate::Open => false,
            Fate::Done(_) => self.shown,
        };
        settled || clock < self.until + GRACE
    }
}

/// What the venue does with bytes it could take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Takes them.
    Take,
    /// Refuses them for a reason that is about the bytes.
    RefuseBytes,
    /// Refuses them for a reason of the moment.
    RefuseNow,
}

/// The answer to a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Taken.
    Taken,
    /// Refused.
    Refused(Reason),
}

/// All orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Venue {
    /// By number.
    pub orders: [Order; ORDERS],
}

impl Venue {
    /// Whether the clock may go on.
    pub fn lets_pass(&self, clock: u8) -> bool {
        self.orders.iter().all(|order| order.lets_pass(clock))
    }

    /// Bytes arrive.
    pub fn deliver(&mut self, number: usize, copy: usize, verdict: Verdict, clock: u8) -> Answer {
        let order = &mut self.orders[number];
        if order.copies[copy] == Copy::Refused {
            return Answer::Refused(Reason::InvalidArgument);
        }
        if order.fate != Fate::Absent {
            // Its twin has frozen the balance.
            return Answer::Refused(Reason::InsufficientBalance);
        }
        if clock > order.until {
            return Answer::Refused(Reason::OrderExpired);
        }
        match verdict {
            Verdict::Take => {
                order.fate = Fate::Open;
                order.created = clock;
                Answer::Taken
            }
            Verdict::RefuseBytes => {
                order.copies[copy] = Copy::Refused;
                Answer::Refused(Reason::InvalidArgument)
            }
            // As bad as they come: the market is listed again when the same copy arrives once more.
            Verdict::RefuseNow => Answer::Refused(Reason::UnsupportedMarket),
        }
    }

    /// A cancel arrives; true if it is taken. When it takes effect, and whether a fill comes before, is
    /// another matter.
    pub const fn cancel(&self, number: usize) -> bool {
        self.orders[number].is_open()
    }

    /// What it reports about an order that it shows.
    pub fn report(&self, number: usize) -> Option<OrderReport> {
        let order = self.orders[number];
        if !order.shown {
            return None;
        }
        let (status, filled) = match order.fate {
            Fate::Absent => return None,
            Fate::Open => (OrderStatus::Processing, 0),
            Fate::Done(End::Filled) => (OrderStatus::Processed, 1),
            Fate::Done(End::Over) => (OrderStatus::Cancelled, 0),
        };
        Some(OrderReport {
            hash: hash(number),
            client_id: None,
            market: String::new(),
            side: Side::Buy,
            status,
            base_amount: 1,
            quote_amount: 1,
            base_filled: filled,
            quote_filled: filled,
            fee: 0,
            valid_until_s: u32::from(order.until),
            valid_since: ticks(order.created),
        })
    }

    /// A page of the list, newest first, and how many entries the list has.
    pub fn page(
        &self,
        (from, to): (VenueTime, VenueTime),
        offset: u32,
        limit: u32,
    ) -> (Vec<OrderReport>, u32) {
        let mut found: Vec<_> = (0..ORDERS)
            .rev()
            .filter_map(|number| self.report(number))
            .filter(|report| report.valid_since >= from && report.valid_since <= to)
            .collect();
        found.sort_by_key(|report| std::cmp::Reverse(report.valid_since));
        let total = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let from = (offset as usize).min(found.len());
        let to = (from + limit as usize).min(found.len());
        (found[from..to].to_vec(), total)
    }
}

/// The hash of an order.
pub fn hash(number: usize) -> Hash {
    Hash([u8::try_from(number).unwrap_or(u8::MAX); 32])
}

/// A tick as the venue's time.
pub fn ticks(tick: u8) -> VenueTime {
    VenueTime(u64::from(tick) * TICK_MS)
}
