//! Column names of tables of snapshots, in CSV and Parquet.
//!
//! **Wide**: a row is a snapshot with its levels side by side, best first, numbered from 1 without gaps: `time_ms,
//! exchange_time_ms, sequence, bid_px_1, bid_qty_1, …, ask_px_1, ask_qty_1, …`.
//! **Long**: a row is a level, best first, with the rows of one snapshot in succession: `time_ms, exchange_time_ms,
//! sequence, side, px, qty`, where `side` is `bid` or `ask`.
//!
//! `time` is when the snapshot was received, `exchange_time` its time at the exchange (default: the same); the suffix
//! `_s`, `_ms`, `_us` or `_ns` is the unit. `sequence` is the exchange's version of the book; it and `exchange_time`
//! are optional.

use cambist_core::Side;

use crate::time::TimeUnit;

/// Most levels of a snapshot.
pub const LEVELS_MAX: usize = 1_000;

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Local time, with the unit of its name.
    Time(Option<TimeUnit>),
    /// Exchange time, with the unit of its name.
    ExchangeTime(Option<TimeUnit>),
    /// Version of the book.
    Sequence,
    /// Price of a level, counted from 0.
    Price(Side, usize),
    /// Quantity of a level, counted from 0.
    Quantity(Side, usize),
    /// Side of a row (long form).
    LongSide,
    /// Price of a row (long form).
    LongPrice,
    /// Quantity of a row (long form).
    LongQuantity,
}

impl Column {
    /// The column of a name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "sequence" => return Some(Self::Sequence),
            "side" => return Some(Self::LongSide),
            "px" => return Some(Self::LongPrice),
            "qty" => return Some(Self::LongQuantity),
            _ => {}
        }
        for (begin, column) in [
            ("time", Self::Time as fn(_) -> _),
            ("exchange_time", Self::ExchangeTime),
        ] {
            match name.strip_prefix(begin) {
                Some("") => return Some(column(None)),
                Some(end) => {
                    let unit = end.strip_prefix('_').and_then(TimeUnit::from_name)?;
                    return Some(column(Some(unit)));
                }
                None => {}
            }
        }
        for (begin, side) in [("bid", Side::Buy), ("ask", Side::Sell)] {
            for (middle, column) in [
                ("_px_", Self::Price as fn(_, _) -> _),
                ("_qty_", Self::Quantity),
            ] {
                let number = name
                    .strip_prefix(begin)
                    .and_then(|rest| rest.strip_prefix(middle));
                if let Some(number) = number {
                    let level: usize = number.parse().ok()?;
                    let sound =
                        (1..=LEVELS_MAX).contains(&level) && !number.starts_with(['0', '+']);
                    return sound.then(|| column(side, level - 1));
                }
            }
        }
        None
    }
}

/// Positions of the columns among those of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Position and unit of the local time.
    pub time: (usize, Option<TimeUnit>),
    /// Position and unit of the exchange time.
    pub exchange_time: Option<(usize, Option<TimeUnit>)>,
    /// Position of the version.
    pub sequence: Option<usize>,
    /// Positions of the levels.
    pub levels: Levels,
}

/// Positions of the levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Levels {
    /// Positions of price and quantity of every level, best first.
    Wide {
        /// Of bids.
        bids: Vec<(usize, usize)>,
        /// Of asks.
        asks: Vec<(usize, usize)>,
    },
    /// Positions of side, price and quantity of a row's level.
    Long {
        /// Of the side.
        side: usize,
        /// Of the price.
        price: usize,
        /// Of the quantity.
        quantity: usize,
    },
}

impl Columns {
    /// Finds the columns by their names; those in `ignored` are skipped. An error describes wrong columns.
    pub fn find<'a>(
        names: impl IntoIterator<Item = &'a str>,
        ignored: &[String],
    ) -> Result<Self, String> {
        let (mut time, mut exchange_time, mut sequence) = (None, None, None);
        let mut long = [None; 3];
        let mut wide: [Vec<Option<usize>>; 4] = Default::default();
        for (at, name) in names.into_iter().map(str::trim).enumerate() {
            if ignored.iter().any(|ignored| ignored == name) {
                continue;
            }
            let column = Column::parse(name).ok_or_else(|| {
                format!(
                    "wrong columns: {name:?} is unknown; known columns are time_ms, exchange_time_ms \
                     (or _s, _us, _ns), sequence, and bid_px_1, bid_qty_1, ask_px_1, ask_qty_1, … \
                     or side, px, qty"
                )
            })?;
            let twice = match column {
                Column::Time(unit) => time.replace((at, unit)).is_some(),
                Column::ExchangeTime(unit) => exchange_time.replace((at, unit)).is_some(),
                Column::Sequence => sequence.replace(at).is_some(),
                Column::LongSide => long[0].replace(at).is_some(),
                Column::LongPrice => long[1].replace(at).is_some(),
                Column::LongQuantity => long[2].replace(at).is_some(),
                Column::Price(side, level) => put(&mut wide[index(side)], level, at),
                Column::Quantity(side, level) => put(&mut wide[index(side) + 1], level, at),
            };
            if twice {
                return Err(format!("wrong columns: {name:?} occurs twice"));
            }
        }
        let levels = match (long, wide.iter().all(Vec::is_empty)) {
            ([Some(side), Some(price), Some(quantity)], true) => Levels::Long {
                side,
                price,
                quantity,
            },
            ([None, None, None], false) => Levels::Wide {
                bids: pairs("bid", &wide[0], &wide[1])?,
                asks: pairs("ask", &wide[2], &wide[3])?,
            },
            _ => {
                return Err("wrong columns: expected bid_px_1, bid_qty_1, ask_px_1, \
                     ask_qty_1, … (one snapshot per row) or side, px and qty (one level per row)"
                    .to_owned());
            }
        };
        Ok(Self {
            time: time.ok_or("wrong columns: a time column is missing, such as time_ms")?,
            exchange_time,
            sequence,
            levels,
        })
    }
}

const fn index(side: Side) -> usize {
    match side {
        Side::Buy => 0,
        Side::Sell => 2,
    }
}

/// Whether the place was already taken.
fn put(places: &mut Vec<Option<usize>>, level: usize, at: usize) -> bool {
    if places.len() <= level {
        places.resize(level + 1, None);
    }
    places[level].replace(at).is_some()
}

fn pairs(
    side: &str,
    prices: &[Option<usize>],
    quantities: &[Option<usize>],
) -> Result<Vec<(usize, usize)>, String> {
    (0..prices.len().max(quantities.len()))
        .map(|level| {
            let at = |places: &[Option<usize>]| places.get(level).copied().flatten();
            at(prices).zip(at(quantities)).ok_or_else(|| {
                let number = level + 1;
                format!("wrong columns: {side}_px_{number} or {side}_qty_{number} is missing")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    fn find(names: &str) -> Result<Columns, String> {
        Columns::find(names.split(','), &["note".to_owned()])
    }

    #[test]
    fn both_forms_are_found_in_any_order() {
        let wide = find("ask_qty_1,ask_px_1,bid_px_2,bid_qty_2,bid_px_1,bid_qty_1,note,time_ms");
        assert_eq!(
            wide.unwrap(),
            Columns {
                time: (7, Some(TimeUnit::Milliseconds)),
                exchange_time: None,
                sequence: None,
                levels: Levels::Wide {
                    bids: vec![(4, 5), (2, 3)],
                    asks: vec![(1, 0)]
                },
            }
        );
        let long = find("time,exchange_time_us,sequence,side,px,qty").unwrap();
        assert_eq!(long.time, (0, None));
        assert_eq!(long.exchange_time, Some((1, Some(TimeUnit::Microseconds))));
        assert_eq!(long.sequence, Some(2));
    }

    #[test]
    fn wrong_columns_are_named() {
        for (names, text) in [
            ("bid_px_1,bid_qty_1", "a time column is missing"),
            ("time_ms", "expected bid_px_1"),
            ("time_ms,side,px", "expected bid_px_1"),
            (
                "time_ms,side,px,qty,bid_px_1,bid_qty_1",
                "expected bid_px_1",
            ),
            ("time_ms,bid_px_1", "bid_qty_1 is missing"),
            (
                "time_ms,ask_px_1,ask_qty_1,ask_px_3,ask_qty_3",
                "ask_px_2 or",
            ),
            ("time_ms,time_s,side,px,qty", "\"time_s\" occurs twice"),
            ("time_ms,bid_px_1,bid_px_1", "twice"),
            ("time_minutes,side,px,qty", "\"time_minutes\" is unknown"),
            ("time_ms,bid_px_01,bid_qty_1", "\"bid_px_01\" is unknown"),
            ("time_ms,bid_px_0,bid_qty_0", "is unknown"),
            ("time_ms,bid_px_1001,bid_qty_1", "is unknown"),
            ("time_ms,volume,side,px,qty", "\"volume\" is unknown"),
        ] {
            let error = find(names).unwrap_err();
            assert!(error.contains(text), "{names}: {error}");
        }
    }
}
