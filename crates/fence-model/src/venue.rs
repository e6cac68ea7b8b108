//! The venue, and the network in front of it: a sent message may arrive at any time, any number of times, in any order,
//! or never.

use cambist_core::order::OrderReport;
use cambist_core::{Hash, MarketName, OrderStatus, Reason, Side, VenueTime};

use crate::{COPIES, GRACE, Numbers, ORDERS, TICK_MS};

/// The state of the bytes of one transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Copy {
    /// Not sent.
    #[default]
    Unsent,
    /// May arrive.
    Sent,
    /// May arrive again, and is refused again for the same reason, which follows from the bytes.
    Refused,
}

/// How an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Filled.
    Filled,
    /// Cancelled, expired or failed after acceptance: no balance changed.
    Ended,
}

/// The state of an order at the venue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OrderState {
    /// Never accepted.
    #[default]
    Absent,
    /// Accepted and may fill, also between the acknowledgement of a cancel and its effect.
    Open,
    /// Ended.
    Done(End),
}

/// The venue's record of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Order {
    /// The bytes in transit.
    pub copies: [Copy; COPIES],
    /// State.
    pub state: OrderState,
    /// Listed, and found by hash.
    pub listed: bool,
    /// Time of acceptance.
    pub created: u8,
    /// Until when its bytes are accepted.
    pub until: u8,
    /// Until when it rests, if anything but a fill or a cancel ends that.
    pub rests_until: Option<u8>,
    /// Storage id in its bytes.
    pub storage_id: u8,
}

impl Order {
    /// Whether it can fill.
    pub const fn is_open(&self) -> bool {
        matches!(self.state, OrderState::Open)
    }

    /// Whether any of its bytes were ever sent.
    pub fn has_left(&self) -> bool {
        self.copies.iter().any(|copy| *copy != Copy::Unsent)
    }

    /// Whether nothing about the order can change any more.
    pub fn is_settled(&self, clock: u8) -> bool {
        match self.state {
            OrderState::Absent => clock > self.until || !self.has_left(),
            OrderState::Open => false,
            OrderState::Done(_) => self.listed,
        }
    }

    /// Drops state that cannot make a difference any more: the order is settled and no answer is outstanding.
    pub fn settle(&mut self, clock: u8) {
        if self.is_settled(clock) && self.has_left() {
            *self = Self {
                copies: [Copy::Sent, Copy::Unsent],
                state: self.state,
                listed: self.listed,
                storage_id: self.storage_id,
                ..Self::default()
            };
        }
    }

    /// Whether the clock may advance past `clock`: after the end of acceptance and grace nothing is hidden, after the
    /// end of rest and grace nothing is open.
    fn allows_tick(self, clock: u8) -> bool {
        let hidden = self.state != OrderState::Absent && !self.listed;
        let rests = self.rests_until.is_none_or(|rests| clock < rests + GRACE);
        (!hidden || clock < self.until + GRACE) && (!self.is_open() || rests)
    }
}

/// The venue's decision about bytes that it could accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Accepts them.
    Accept,
    /// Refuses them for a reason that follows from the bytes.
    RefuseBytes,
    /// Refuses them for a temporary reason.
    RefuseNow,
}

/// The answer to a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Accepted.
    Accepted,
    /// Refused.
    Refused(Reason),
}

/// All orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Venue {
    /// By number.
    pub orders: [Order; ORDERS],
    /// The lowest number that is accepted next, where numbers have to rise.
    pub next: u8,
}

impl Venue {
    /// Whether the clock may advance.
    pub fn allows_tick(&self, clock: u8) -> bool {
        self.orders.iter().all(|order| order.allows_tick(clock))
    }

    /// Delivers bytes.
    pub fn deliver(
        &mut self,
        number: usize,
        copy: usize,
        decision: Decision,
        clock: u8,
        numbers: Numbers,
    ) -> Answer {
        if numbers == Numbers::Rising {
            let id = self.orders[number].storage_id;
            if id < self.next {
                return Answer::Refused(Reason::OrderExists);
            }
            self.next = id + 1;
        }
        let order = &mut self.orders[number];
        if order.copies[copy] == Copy::Refused {
            return Answer::Refused(Reason::InvalidArgument);
        }
        if order.state != OrderState::Absent {
            // The first copy of this order has locked the balance.
            return Answer::Refused(Reason::InsufficientBalance);
        }
        if clock > order.until {
            return Answer::Refused(Reason::OrderExpired);
        }
        match decision {
            Decision::Accept => {
                order.state = OrderState::Open;
                order.created = clock;
                Answer::Accepted
            }
            Decision::RefuseBytes => {
                order.copies[copy] = Copy::Refused;
                Answer::Refused(Reason::InvalidArgument)
            }
            // The worst case: the market is listed again when the same copy arrives once more.
            Decision::RefuseNow => Answer::Refused(Reason::UnsupportedMarket),
        }
    }

    /// Delivers a cancel; true if it is accepted. When it takes effect, and whether a fill comes before, is
    /// independent.
    pub const fn cancel(&self, number: usize) -> bool {
        self.orders[number].is_open()
    }

    /// The report of a listed order.
    pub fn report(&self, number: usize) -> Option<OrderReport> {
        let order = self.orders[number];
        if !order.listed {
            return None;
        }
        let (status, filled) = match order.state {
            OrderState::Absent => return None,
            OrderState::Open => (OrderStatus::Processing, 0),
            OrderState::Done(End::Filled) => (OrderStatus::Processed, 1),
            OrderState::Done(End::Ended) => (OrderStatus::Cancelled, 0),
        };
        Some(OrderReport {
            hash: hash(number),
            client_id: None,
            market: MarketName::default(),
            side: Side::Buy,
            status,
            base_amount: 1,
            quote_amount: 1,
            base_filled: filled,
            quote_filled: filled,
            fee: 0,
            valid_until_s: order.rests_until.map_or(u32::MAX, u32::from),
            valid_since: ticks(order.created),
        })
    }

    /// A page of the list, newest first, and the number of entries of the list.
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
