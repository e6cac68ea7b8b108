//! What every strategy has traded at each market: the sums of its fills over all runs.

use std::collections::BTreeMap;
use std::path::Path;

use cambist_core::{Amount, Side, strategy::Traded};
use rusqlite::Connection;

use super::intents::fill_sum;
use super::recover::{ReadError, check};
use super::{Store, StoreError, results};

/// Totals by market and strategy name.
pub type TradedTotals = BTreeMap<(String, String), Traded>;

impl Store {
    /// What every strategy has traded at each market, by names; strategies of one name at one market have one total.
    pub fn traded(&self) -> Result<TradedTotals, StoreError> {
        read(&self.database).map_err(|error| error.at(&self.file))
    }
}

/// As [`Store::traded`], also while a daemon is running.
pub fn traded(dir: &Path) -> Result<TradedTotals, StoreError> {
    let file = dir.join(super::FILE);
    let database = super::view::open_current(&file)?;
    read(&database).map_err(|error| error.at(&file))
}

fn read(database: &Connection) -> Result<TradedTotals, ReadError> {
    let names = results::names(database)?;
    let mut query = database.prepare(
        "SELECT number, market, strategy, side, base, quote, fee, at_us, sum FROM fills",
    )?;
    let mut rows = query.query([])?;
    let mut totals = TradedTotals::new();
    while let Some(row) = rows.next()? {
        let number = row.get::<_, i64>(0)?.cast_unsigned();
        let damage = || ReadError::Damage(format!("a fill of intent {number} cannot be decoded"));
        // A fill of an intent that an early version removed has no strategy.
        let Some(strategy) = row.get::<_, Option<u8>>(2)? else {
            continue;
        };
        let [base, quote, fee]: [String; 3] = [row.get(4)?, row.get(5)?, row.get(6)?];
        let at_us = row.get::<_, i64>(7)?.cast_unsigned();
        let sum: Vec<u8> = row.get(8)?;
        let what = format!("a fill of intent {number}");
        check(&sum, &fill_sum(number, [&base, &quote, &fee], at_us), &what)?;
        let amount: Amount = base.parse().map_err(|_| damage())?;
        let side: String = row.get(3)?;
        let mut sides = Side::BOTH.into_iter();
        let side = sides
            .find(|known| known.name() == side)
            .ok_or_else(damage)?;
        let name = (row.get(1)?, names.of(number, strategy));
        totals.entry(name).or_default().add(side, amount);
    }
    Ok(totals)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::MarketId;
    use cambist_core::books::Booking;
    use cambist_core::notification::Fill;

    use super::*;
    use crate::StoreEntry;
    use crate::tests::seal_one;

    #[test]
    fn fills_of_all_runs_are_added_up_and_an_altered_one_is_detected() {
        let folder = crate::testing::private_folder();
        let fill = |store: &mut Store, side, base| {
            let fill = Fill {
                order: seal_one(store).intent.id(),
                market: MarketId(1),
                side,
                base,
                quote: 6,
                fee: 1,
                mid: None,
            };
            let entries = [StoreEntry::Fill(fill)];
            store.book(&entries, &Booking::default()).unwrap();
        };
        let large = 1 << 100;
        for (side, base) in [(Side::Sell, 5), (Side::Buy, large), (Side::Sell, 7)] {
            let mut store = Store::open(folder.path()).unwrap();
            fill(&mut store, side, base);
        }
        let totals = traded(folder.path()).unwrap();
        let expected = Traded {
            bought: large,
            sold: 12,
        };
        assert_eq!(totals.values().collect::<Vec<_>>(), [&expected]);
        let database = Connection::open(folder.path().join(crate::FILE)).unwrap();
        let altered = "UPDATE fills SET base = '6' WHERE base = '5'";
        database.execute_batch(altered).unwrap();
        let refused = traded(folder.path()).unwrap_err();
        assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    }
}
