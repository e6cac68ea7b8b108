//! Counts of orders and requests, and acknowledgement times. No amounts.

use std::collections::BTreeMap;

use cambist_core::notification::End;
use cambist_core::request::Endpoint;
use cambist_core::{ClientOrderId, Reason};
use hdrhistogram::Histogram;

use crate::summary::{AckMs, Ends, Orders};

/// Most kinds of refusal that are counted separately; a hostile venue could invent codes without end.
pub(super) const REASONS_MAX: usize = 64;

/// The longest acknowledgement time that is distinguished: one hour.
const ACK_MAX_US: u64 = 3_600_000_000;

/// State of an order that may be alive.
#[derive(Clone, Copy, Debug, Default)]
struct OpenOrder {
    valid_until_s: u32,
    has_filled: bool,
}

/// Counts of one session.
#[derive(Debug)]
pub(super) struct Counts {
    orders: Orders,
    pub(super) ends: Ends,
    /// Orders whose end is not proven; the engine bounds how many there are.
    open: BTreeMap<ClientOrderId, OpenOrder>,
    refused: BTreeMap<Reason, u64>,
    refused_other: u64,
    pub(super) http_429: u64,
    ack: Histogram<u64>,
}

impl Counts {
    pub(super) fn new() -> Self {
        Self {
            orders: Orders::default(),
            ends: Ends::default(),
            open: BTreeMap::new(),
            refused: BTreeMap::new(),
            refused_other: 0,
            http_429: 0,
            ack: Histogram::new_with_bounds(1, ACK_MAX_US, 3)
                .expect("one to an hour in microseconds at three digits is a valid range"),
        }
    }

    /// An order of an earlier run that may be alive.
    pub(super) fn recovered(&mut self, order: ClientOrderId, valid_until_s: u32, has_filled: bool) {
        if self.open.contains_key(&order) {
            return;
        }
        self.ends.recovered += 1;
        let open = OpenOrder {
            valid_until_s,
            has_filled,
        };
        self.open.insert(order, open);
    }

    pub(super) fn submitted(&mut self, order: ClientOrderId, valid_until_s: u32) {
        self.orders.submitted += 1;
        self.open.entry(order).or_default().valid_until_s = valid_until_s;
    }

    pub(super) fn acknowledged(&mut self, micros: u64) {
        self.orders.acknowledged += 1;
        self.ack.saturating_record(micros);
    }

    pub(super) fn filled(&mut self, order: ClientOrderId) {
        if let Some(open) = self.open.get_mut(&order) {
            open.has_filled = true;
        }
    }

    pub(super) fn refused(&mut self, endpoint: Endpoint, reason: Reason) {
        if reason == Reason::RateLimited {
            self.http_429 += 1;
        }
        if endpoint != Endpoint::Submit {
            return;
        }
        if self.refused.len() < REASONS_MAX || self.refused.contains_key(&reason) {
            *self.refused.entry(reason).or_default() += 1;
        } else {
            self.refused_other += 1;
        }
    }

    pub(super) fn ended(&mut self, order: ClientOrderId, end: End) {
        let open = self.open.remove(&order);
        let was_tried = open.is_some();
        let open = open.unwrap_or_default();
        self.ends.partly_filled += u64::from(open.has_filled && end != End::Filled);
        let count = match end {
            End::Filled => {
                self.orders.filled += 1;
                &mut self.ends.filled
            }
            End::Cancelled => {
                self.orders.cancelled += 1;
                &mut self.ends.cancelled
            }
            End::Expired => &mut self.ends.expired,
            End::FailedLate => &mut self.ends.failed_late,
            End::Refused => &mut self.ends.rejected,
            End::NeverSent if !was_tried => return,
            End::NeverSent => &mut self.ends.never_sent,
            End::Fenced => &mut self.ends.fenced,
        };
        *count += 1;
    }

    /// Counts of orders by end; `code` gives the venue's code of a refusal.
    pub(super) fn orders(&self, unknown_left: u64, code: impl Fn(Reason) -> String) -> Orders {
        let mut orders = self.orders.clone();
        orders.unknown_left = unknown_left;
        for (reason, count) in &self.refused {
            *orders.refused.entry(code(*reason)).or_default() += count;
        }
        if self.refused_other > 0 {
            orders
                .refused
                .insert("other".to_owned(), self.refused_other);
        }
        orders
    }

    /// Expiries of orders whose end is not proven.
    pub(super) fn expiries_s(&self) -> impl Iterator<Item = u32> + '_ {
        self.open.values().map(|open| open.valid_until_s)
    }

    /// Acknowledgement times.
    pub(super) fn ack(&self) -> AckMs {
        AckMs {
            p50: self.ack_ms(0.50),
            p99: self.ack_ms(0.99),
        }
    }

    fn ack_ms(&self, quantile: f64) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "microseconds of at most an hour"
        )]
        let ms = |us: u64| us as f64 / 1_000.0;
        (!self.ack.is_empty()).then(|| ms(self.ack.value_at_quantile(quantile)))
    }
}
