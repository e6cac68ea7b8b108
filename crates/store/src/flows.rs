//! Explained flows: deposits, withdrawals, manual trades. The ledger contains them; these rows say what they were.

use std::path::Path;

use cambist_core::TokenId;
use cambist_core::request::Charge;
use rusqlite::{Connection, Transaction, params};

use super::StoreError;
use super::chain::{Row, Sum};
use super::recover::ReadError;

/// One explained flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Time of the explanation, microseconds since the Unix epoch.
    pub at_us: u64,
    /// The token.
    pub token: TokenId,
    /// Its symbol at that time.
    pub symbol: String,
    /// Base units, negative for outflows.
    pub amount: i128,
    /// The operator's reason.
    pub reason: String,
}

impl Flow {
    fn sum(&self, id: u64) -> Sum {
        Row::of("flow")
            .number(id)
            .number(self.token.0.into())
            .text(&self.symbol)
            .text(&self.amount.to_string())
            .text(&self.reason)
            .number(self.at_us)
            .sum()
    }
}

/// Writes an explained flow.
pub(super) fn insert(transaction: &Transaction<'_>, flow: &Flow) -> rusqlite::Result<()> {
    let id: i64 =
        transaction.query_row("SELECT coalesce(max(id), 0) + 1 FROM flows", [], |row| {
            row.get(0)
        })?;
    transaction
        .execute(
            "INSERT INTO flows (id, token, symbol, amount, reason, at_us, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                id,
                flow.token.0,
                flow.symbol,
                flow.amount.to_string(),
                flow.reason,
                flow.at_us.cast_signed(),
                flow.sum(id.cast_unsigned()).bytes()
            ],
        )
        .map(|_| ())
}

impl Flow {
    /// Whether it is a charge of the venue, such as gas: the engine names each by its number and what it was for.
    pub fn is_charge(&self) -> bool {
        Charge::is_reason(&self.reason)
    }
}

/// All explained flows, oldest first. A row with a wrong checksum is damage.
pub(super) fn read(database: &Connection) -> Result<Vec<Flow>, ReadError> {
    let numbered = numbered(database)?.into_iter();
    Ok(numbered.map(|(_, flow)| flow).collect())
}

/// As [`read`], with the numbers of the rows.
pub(super) fn numbered(database: &Connection) -> Result<Vec<(i64, Flow)>, ReadError> {
    let mut query = database.prepare("SELECT * FROM flows ORDER BY id")?;
    let mut rows = query.query([])?;
    let mut flows = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get::<_, i64>("id")?.cast_unsigned();
        let damage = || ReadError::Damage(format!("flow {id} does not match its checksum"));
        let amount: String = row.get("amount")?;
        let flow = Flow {
            at_us: row.get::<_, i64>("at_us")?.cast_unsigned(),
            token: TokenId(row.get("token")?),
            symbol: row.get("symbol")?,
            amount: amount.parse().map_err(|_| damage())?,
            reason: row.get("reason")?,
        };
        let sum: Vec<u8> = row.get("sum")?;
        if Sum::read(&sum) != Some(flow.sum(id)) {
            return Err(damage());
        }
        flows.push((id.cast_signed(), flow));
    }
    Ok(flows)
}

/// All explained flows of a folder, oldest first, also while a daemon is running. A store of an earlier version has
/// none.
pub fn explained(dir: &Path) -> Result<Vec<Flow>, StoreError> {
    let file = dir.join(super::FILE);
    let database = super::view::open(&file)?;
    let known = database.prepare("SELECT 1 FROM flows LIMIT 1").is_ok();
    if !known {
        return Ok(Vec::new());
    }
    read(&database).map_err(|error| error.at(&file))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_core::books::Booking;

    use crate::{Store, StoreEntry};

    #[test]
    fn a_charge_is_known_by_its_reason() {
        let hash = cambist_core::Hash([0xab; 32]);
        let flow = |reason: String| Flow {
            at_us: 0,
            token: TokenId(0),
            symbol: "ETH".to_owned(),
            amount: -1,
            reason,
        };
        assert!(flow(format!("charge 7 for {hash}")).is_charge());
        for reason in [
            format!("charge for {hash}"),
            format!("charge x for {hash}"),
            format!("charge 7 for {hash}0"),
            "charge 7 for the month".to_owned(),
            "withdrawn".to_owned(),
            String::new(),
        ] {
            assert!(!flow(reason.clone()).is_charge(), "{reason}");
        }
    }

    #[test]
    fn flows_survive_a_restart_and_damage_is_detected() {
        let folder = crate::testing::private_folder();
        let mut store = Store::open(folder.path()).unwrap();
        let large = (1_i128 << 100) + 1;
        let flow = |token, symbol: &str, amount, reason: &str| StoreEntry::Flow {
            token: TokenId(token),
            symbol: symbol.to_owned(),
            amount,
            reason: reason.to_owned(),
        };
        let both = [
            flow(0, "ETH", -25, "taken out"),
            flow(1, "USDC", large, "brought"),
        ];
        store.book(&both, &Booking::default()).unwrap();
        let flows = explained(folder.path()).unwrap();
        let booked: Vec<_> = flows
            .iter()
            .map(|flow| (flow.amount, flow.reason.as_str()))
            .collect();
        assert_eq!(booked, [(-25, "taken out"), (large, "brought")]);
        drop(store);
        drop(Store::open(folder.path()).unwrap());
        assert_eq!(explained(folder.path()).unwrap(), flows);
        let database = Connection::open(folder.path().join(super::super::FILE)).unwrap();
        database
            .execute_batch("UPDATE flows SET amount = '-24' WHERE id = 1")
            .unwrap();
        drop(database);
        assert!(matches!(
            explained(folder.path()),
            Err(StoreError::Corrupt { .. })
        ));
        assert!(matches!(
            Store::open(folder.path()),
            Err(StoreError::Corrupt { .. })
        ));
    }
}
