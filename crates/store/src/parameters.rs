//! Parameters of strategies that operators set while a daemon ran: every change is kept with who made it and why, the
//! newest of a parameter applies in place of the configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, params};

use super::chain::{Row, Sum};
use super::recover::ReadError;
use super::{Store, StoreError};

/// One parameter as it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetParameter {
    /// Market name.
    pub market: String,
    /// Strategy name.
    pub strategy: String,
    /// Key of the parameter, without a path inside it.
    pub key: String,
    /// The value in TOML spelling; `None` if the file's applies again.
    pub value: Option<String>,
    /// Who set it.
    pub operator: String,
    /// Why.
    pub reason: String,
    /// When, microseconds since the Unix epoch.
    pub at_us: u64,
}

impl SetParameter {
    fn sum(&self, id: u64) -> Sum {
        let row = Row::of("parameter")
            .number(id)
            .text(&self.market)
            .text(&self.strategy)
            .text(&self.key)
            .number(self.value.is_some().into());
        row.text(self.value.as_deref().unwrap_or_default())
            .text(&self.operator)
            .text(&self.reason)
            .number(self.at_us)
            .sum()
    }
}

impl Store {
    /// Writes parameters, all of them or none.
    pub fn set_parameters(&mut self, set: &[SetParameter]) -> Result<(), StoreError> {
        let written = (|| {
            let transaction = self.database.transaction()?;
            let newest = "SELECT coalesce(max(id), 0) FROM parameters";
            let newest: i64 = transaction.query_row(newest, [], |row| row.get(0))?;
            for (id, one) in (newest + 1..).zip(set) {
                transaction.execute(
                    "INSERT INTO parameters (id, market, strategy, key, value, operator, reason, at_us, sum)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    params![
                        id,
                        one.market,
                        one.strategy,
                        one.key,
                        one.value,
                        one.operator,
                        one.reason,
                        one.at_us.cast_signed(),
                        one.sum(id.cast_unsigned()).bytes()
                    ],
                )?;
            }
            transaction.commit()
        })();
        written.map_err(|error| self.fail(error))
    }
}

/// Every change, oldest first. A row with a wrong checksum is damage.
pub(super) fn read(database: &Connection) -> Result<Vec<SetParameter>, ReadError> {
    let mut query = database.prepare("SELECT * FROM parameters ORDER BY id")?;
    let mut rows = query.query([])?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get::<_, i64>("id")?.cast_unsigned();
        let change = SetParameter {
            market: row.get("market")?,
            strategy: row.get("strategy")?,
            key: row.get("key")?,
            value: row.get("value")?,
            operator: row.get("operator")?,
            reason: row.get("reason")?,
            at_us: row.get::<_, i64>("at_us")?.cast_unsigned(),
        };
        let sum: Vec<u8> = row.get("sum")?;
        if Sum::read(&sum) != Some(change.sum(id)) {
            let what = format!("row {id} of the table parameters does not match its checksum");
            return Err(ReadError::Damage(what));
        }
        changes.push(change);
    }
    Ok(changes)
}

/// The newest change of every parameter, if it is a value.
pub(super) fn in_force(database: &Connection) -> Result<Vec<SetParameter>, ReadError> {
    let mut newest = BTreeMap::new();
    for one in read(database)? {
        let name = (one.market.clone(), one.strategy.clone(), one.key.clone());
        newest.insert(name, one);
    }
    let mut set: Vec<_> = newest.into_values().collect();
    set.retain(|one| one.value.is_some());
    Ok(set)
}

/// Every change of a folder, oldest first, also while a daemon is running. A store of an earlier version has none.
pub fn changes(dir: &Path) -> Result<Vec<SetParameter>, StoreError> {
    of_folder(dir, read)
}

/// The parameters of a folder that apply in place of the file's, also while a daemon is running.
pub fn set(dir: &Path) -> Result<Vec<SetParameter>, StoreError> {
    of_folder(dir, in_force)
}

fn of_folder(
    dir: &Path,
    read: fn(&Connection) -> Result<Vec<SetParameter>, ReadError>,
) -> Result<Vec<SetParameter>, StoreError> {
    let file = dir.join(super::FILE);
    let database = super::view::open(&file)?;
    if database
        .prepare("SELECT 1 FROM parameters LIMIT 1")
        .is_err()
    {
        return Ok(Vec::new());
    }
    read(&database).map_err(|error| error.at(&file))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn one(key: &str, value: Option<&str>) -> SetParameter {
        SetParameter {
            market: "ETH-USDC".to_owned(),
            strategy: "ladder".to_owned(),
            key: key.to_owned(),
            value: value.map(ToOwned::to_owned),
            operator: "alice (1000)".to_owned(),
            reason: "volatile".to_owned(),
            at_us: 7,
        }
    }

    fn values(set: &[SetParameter]) -> Vec<(&str, Option<&str>)> {
        let each = set.iter();
        each.map(|one| (one.key.as_str(), one.value.as_deref()))
            .collect()
    }

    #[test]
    fn the_newest_value_applies_until_the_file_does_again_and_every_change_is_kept() {
        let folder = crate::testing::private_folder();
        let mut store = Store::open(folder.path()).unwrap();
        let both = [
            one("bid_spread_bps", Some("25")),
            one("order_levels", Some("2")),
        ];
        store.set_parameters(&both).unwrap();
        store
            .set_parameters(&[one("bid_spread_bps", Some("30"))])
            .unwrap();
        let now = set(folder.path()).unwrap();
        assert_eq!(
            values(&now),
            [("bid_spread_bps", Some("30")), ("order_levels", Some("2"))]
        );
        assert!(
            now.iter()
                .all(|one| one.at_us == 7 && one.reason == "volatile")
        );
        store
            .set_parameters(&[one("bid_spread_bps", None)])
            .unwrap();
        drop(store);
        let recovered = Store::open(folder.path()).unwrap().recover(&[]).unwrap();
        assert_eq!(values(&recovered.parameters), [("order_levels", Some("2"))]);
        assert_eq!(changes(folder.path()).unwrap().len(), 4);
    }

    #[test]
    fn a_row_that_was_altered_is_damage() {
        for altered in ["value = NULL", "value = '1'", "reason = ''", "market = 'X'"] {
            let folder = crate::testing::private_folder();
            let mut store = Store::open(folder.path()).unwrap();
            store
                .set_parameters(&[one("bid_spread_bps", Some("25"))])
                .unwrap();
            drop(store);
            let database = Connection::open(folder.path().join(crate::FILE)).unwrap();
            let change = format!("UPDATE parameters SET {altered}");
            database.execute_batch(&change).unwrap();
            drop(database);
            for found in [
                set(folder.path()).map(|_| ()),
                Store::open(folder.path()).map(|_| ()),
            ] {
                assert!(
                    matches!(found, Err(StoreError::Corrupt { .. })),
                    "{altered}"
                );
            }
        }
    }
}
