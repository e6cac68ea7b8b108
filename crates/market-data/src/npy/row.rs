//! One row: its fields, and the event that it encodes.

use cambist_core::{Price, Qty, Side};

use super::header::{FIELDS, Fields, Layout, ROW_BYTES};
use crate::defect::Defect;
use crate::event::{Event, Update, Visibility};
use crate::grid::{Grid, Step};
use crate::time::Timestamp;

const AT_EXCHANGE: u64 = 1 << 31;
const AT_LOCAL: u64 = 1 << 30;
const BUY: u64 = 1 << 29;
const SELL: u64 = 1 << 28;

/// From this kind on, events are the recorder's own.
const OWN_KINDS: u64 = 100;

/// The fields of a row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    ev: u64,
    exch_ts: i64,
    local_ts: i64,
    px: f64,
    qty: f64,
    order_id: u64,
}

/// What a row is.
#[derive(Clone, Copy, Debug)]
pub enum Read {
    /// An event.
    Event(Event),
    /// A level or a clear of a snapshot without a time.
    Untimed(Event),
    /// A best bid or ask, which the levels have as well.
    BestPrice,
    /// It belongs to no view, or is the recorder's own.
    Ignored,
}

/// The fault of a row; the complete [`Defect`] is built only if needed.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    Price,
    Quantity,
    /// A trade of nothing.
    NoQuantity,
    NoSide,
    Kind,
    Time,
}

impl Row {
    /// Reads the row at the beginning of a slice, which must be long enough.
    #[inline]
    pub fn read(bytes: &[u8], layout: &Layout) -> Self {
        match bytes.first_chunk::<ROW_BYTES>() {
            Some(row) if layout.row_bytes == ROW_BYTES && layout.fields == FIELDS => {
                Self::of(row, &FIELDS)
            }
            _ => Self::of(bytes, &layout.fields),
        }
    }

    #[inline]
    fn of(row: &[u8], fields: &Fields) -> Self {
        let eight = |at: usize| -> [u8; 8] {
            row[at..at + 8]
                .try_into()
                .unwrap_or_else(|_| unreachable!("eight bytes"))
        };
        Self {
            ev: u64::from_le_bytes(eight(fields.ev)),
            exch_ts: i64::from_le_bytes(eight(fields.exch_ts)),
            local_ts: i64::from_le_bytes(eight(fields.local_ts)),
            px: f64::from_le_bytes(eight(fields.px)),
            qty: f64::from_le_bytes(eight(fields.qty)),
            order_id: u64::from_le_bytes(eight(fields.order_id)),
        }
    }

    /// Price and quantity of a row that has both.
    pub const fn price_and_quantity(&self) -> Option<(f64, f64)> {
        match self.ev & 0xff {
            1 | 2 | 4 | 10 | 12 | 13 => Some((self.px, self.qty)),
            _ => None,
        }
    }

    /// The event of the row, if it is one.
    #[inline]
    pub fn event(&self, grid: Grid) -> Result<Read, Fault> {
        let kind = self.ev & 0xff;
        let visibility = match (self.ev & AT_EXCHANGE != 0, self.ev & AT_LOCAL != 0) {
            (true, true) => Visibility::Both,
            (true, false) => Visibility::Exchange,
            (false, true) => Visibility::Local,
            (false, false) => return Ok(Read::Ignored),
        };
        let update = match kind {
            1 | 2 | 4 => {
                let side = self.side()?;
                let price = self.price(grid)?;
                let qty = self.quantity(grid)?;
                match kind {
                    1 => Update::Level { side, price, qty },
                    2 if qty.0 == 0 => return Err(Fault::NoQuantity),
                    2 => Update::Trade {
                        aggressor: side,
                        price,
                        qty,
                    },
                    _ => Update::SnapshotLevel { side, price, qty },
                }
            }
            3 | 10..=13 => self.rare(kind, grid)?,
            5 => return Ok(Read::BestPrice),
            OWN_KINDS.. => return Ok(Read::Ignored),
            _ => return Err(Fault::Kind),
        };
        if self.exch_ts < 0 || self.local_ts < 0 {
            return Err(Fault::Time);
        }
        let event = Event {
            exchange_time: Timestamp(self.exch_ts),
            local_time: Timestamp(self.local_ts),
            visibility,
            update,
        };
        // The snapshots that hftbacktest's tools make of the end of a day have none.
        if matches!(kind, 3 | 4) && (self.exch_ts == 0 || self.local_ts == 0) {
            return Ok(Read::Untimed(event));
        }
        Ok(Read::Event(event))
    }

    #[cold]
    fn rare(&self, kind: u64, grid: Grid) -> Result<Update, Fault> {
        let order = self.order_id;
        Ok(match kind {
            3 => match self.side() {
                // Without a side both sides are cleared, whatever the price.
                Err(_) if self.ev & (BUY | SELL) == 0 => Update::Clear {
                    side: None,
                    to: None,
                },
                side => Update::Clear {
                    side: Some(side?),
                    to: if self.px.is_finite() && self.px != 0.0 {
                        Some(self.price(grid)?)
                    } else {
                        None
                    },
                },
            },
            10 => Update::Add {
                order,
                side: self.side()?,
                price: self.price(grid)?,
                qty: self.quantity(grid)?,
            },
            11 => Update::Cancel { order },
            12 => Update::Modify {
                order,
                price: self.price(grid)?,
                qty: self.quantity(grid)?,
            },
            _ => Update::Fill {
                order,
                price: self.price(grid)?,
                qty: self.quantity(grid)?,
            },
        })
    }

    #[inline]
    const fn side(&self) -> Result<Side, Fault> {
        match (self.ev & BUY != 0, self.ev & SELL != 0) {
            (true, false) => Ok(Side::Buy),
            (false, true) => Ok(Side::Sell),
            _ => Err(Fault::NoSide),
        }
    }

    #[inline]
    fn price(&self, grid: Grid) -> Result<Price, Fault> {
        match grid.tick.count_float(self.px) {
            Some(ticks) if ticks > 0 => Ok(Price(ticks)),
            _ => Err(Fault::Price),
        }
    }

    #[inline]
    fn quantity(&self, grid: Grid) -> Result<Qty, Fault> {
        grid.lot
            .count_float(self.qty)
            .map(Qty)
            .ok_or(Fault::Quantity)
    }

    /// The defect of a fault.
    #[cold]
    pub fn defect(&self, fault: Fault, grid: Grid) -> Defect {
        let number = |column: &str, value: f64, step: Step, name: &str, least: f64| {
            let column = column.to_owned();
            if step.is_beyond_float(value) {
                return Defect::BadValue {
                    column,
                    value: value.to_string(),
                    must: "in range: below 2^52 ticks or lots",
                };
            }
            if value.is_finite() && value > least {
                Defect::OffGrid {
                    column,
                    value: value.to_string(),
                    step: format!("the {name} {step}"),
                }
            } else {
                Defect::BadValue {
                    column,
                    value: value.to_string(),
                    must: if least < 0.0 {
                        "a number from 0"
                    } else {
                        "a number above 0"
                    },
                }
            }
        };
        match fault {
            Fault::Price => number("px", self.px, grid.tick, "tick", 0.0),
            Fault::Quantity => number("qty", self.qty, grid.lot, "lot", -f64::MIN_POSITIVE),
            Fault::NoQuantity => number("qty", self.qty, grid.lot, "lot", 0.0),
            Fault::NoSide => Defect::UnknownEvent {
                code: self.ev,
                what: "it must have one side, bit 29 or bit 28",
            },
            Fault::Kind => Defect::UnknownEvent {
                code: self.ev,
                what: "its low byte is not a known kind",
            },
            Fault::Time => Defect::BadValue {
                column: "exch_ts, local_ts".to_owned(),
                value: format!("{}, {}", self.exch_ts, self.local_ts),
                must: "nanoseconds since 1970",
            },
        }
    }
}
