//! Units of the columns of a table of snapshots, from the file or the caller.

use crate::grid::{Grid, Step};
use crate::time::TimeUnit;

/// How prices or quantities are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As decimals in quote per base, or in base.
    Decimal,
    /// As whole ticks, or whole lots.
    Steps,
}

/// The units of the columns, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Units {
    /// Tick of the prices.
    pub tick: Option<Step>,
    /// Lot of the quantities.
    pub lot: Option<Step>,
    /// Unit of times whose column name has none.
    pub time: Option<TimeUnit>,
    /// How prices are written; the default is decimals.
    pub price: Option<Unit>,
    /// How quantities are written; the default is decimals.
    pub qty: Option<Unit>,
}

impl Units {
    /// Tick and lot, if both are known.
    pub fn grid(&self) -> Option<Grid> {
        let steps = self.tick.zip(self.lot);
        steps.map(|(tick, lot)| Grid { tick, lot })
    }

    /// Tick and lot, with a default for each that is not known.
    pub(crate) fn grid_or(&self, default: Option<Grid>) -> Option<Grid> {
        let tick = self.tick.or(default.map(|grid| grid.tick));
        let lot = self.lot.or(default.map(|grid| grid.lot));
        tick.zip(lot).map(|(tick, lot)| Grid { tick, lot })
    }

    /// Reads a comment: words of the form `key=value`; others are ignored.
    pub(crate) fn comment(&mut self, text: &str) -> Result<(), String> {
        let words = text.split([' ', ',', '\t']);
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            self.property(key, value)
                .map_err(|must| format!("{key}={value} in its comment: {key} must be {must}"))?;
        }
        Ok(())
    }

    /// Reads one property if its key is known; an error describes a valid value.
    pub(crate) fn property(&mut self, key: &str, value: &str) -> Result<(), String> {
        let step = || Step::parse(value).map_err(|_| "a number such as 0.01".to_owned());
        let unit = |steps: &str| match value {
            "decimal" => Ok(Some(Unit::Decimal)),
            _ if value == steps => Ok(Some(Unit::Steps)),
            _ => Err(format!("decimal or {steps}")),
        };
        match key {
            "tick" => self.tick = Some(step()?),
            "lot" => self.lot = Some(step()?),
            "time" => {
                let unit = TimeUnit::from_name(value);
                self.time = Some(unit.ok_or("s, ms, us or ns")?);
            }
            "price" => self.price = unit("ticks")?,
            "qty" => self.qty = unit("lots")?,
            _ => {}
        }
        Ok(())
    }

    /// These units completed by others; an error if both are set and differ.
    pub(crate) fn and(self, other: Self) -> Result<Self, String> {
        fn same<T: PartialEq>(name: &str, a: Option<T>, b: Option<T>) -> Result<Option<T>, String> {
            match (a, b) {
                (Some(a), Some(b)) if a != b => {
                    Err(format!("the file states another {name} than the options"))
                }
                (a, b) => Ok(a.or(b)),
            }
        }
        Ok(Self {
            tick: same("tick", self.tick, other.tick)?,
            lot: same("lot", self.lot, other.lot)?,
            time: same("unit of time", self.time, other.time)?,
            price: same("unit of prices", self.price, other.price)?,
            qty: same("unit of quantities", self.qty, other.qty)?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    #[test]
    fn comments_can_hold_units_and_other_text() {
        let mut units = Units::default();
        units
            .comment(" ETH-USDC, polled: tick=0.01 lot=0.001")
            .unwrap();
        units
            .comment("time=us price=ticks qty=decimal source=us")
            .unwrap();
        assert_eq!(units.grid(), Grid::parse("0.01", "0.001").ok());
        assert_eq!(units.time, Some(TimeUnit::Microseconds));
        assert_eq!(
            (units.price, units.qty),
            (Some(Unit::Steps), Some(Unit::Decimal))
        );
        for bad in ["tick=0", "lot=x", "time=minutes", "price=lots", "qty=ticks"] {
            assert!(units.comment(bad).unwrap_err().contains(bad), "{bad}");
        }
    }

    #[test]
    fn file_and_options_may_not_differ() {
        let mut file = Units::default();
        file.comment("tick=0.01 time=ms").unwrap();
        let mut options = Units::default();
        options.comment("tick=0.010 lot=1").unwrap();
        let both = file.and(options).unwrap();
        assert_eq!(both.grid(), Grid::parse("0.01", "1").ok());
        assert_eq!(both.time, Some(TimeUnit::Milliseconds));
        options.comment("tick=0.02").unwrap();
        assert!(file.and(options).unwrap_err().contains("another tick"));
    }
}
