//! What a daemon's database holds, read from a copy, so that the daemon's own recovery is what the next
//! start does.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::Folder;

/// How an intent ended, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub end: String,
    pub base: u128,
    pub quote: u128,
    pub fee: u128,
}

#[derive(Clone, Debug)]
pub struct Intent {
    pub hash: [u8; 32],
    pub sell_token: u16,
    pub storage_id: u32,
    pub ending: Option<Ending>,
}

/// Intents by client order id.
pub struct Keeping(pub BTreeMap<String, Intent>);

impl Keeping {
    /// Reads a state folder whose daemon is not running.
    pub fn read(state: &Path) -> Self {
        let copy = Folder::new("copy");
        for name in ["cambist.db", "cambist.db-wal"] {
            let from = state.join(name);
            if from.exists() {
                std::fs::copy(from, copy.path().join(name)).unwrap();
            }
        }
        let database = Connection::open(copy.path().join("cambist.db")).unwrap();
        let count: i64 = database
            .query_row(
                "SELECT count(*) FROM sqlite_master WHERE name = 'intents'",
                [],
                |r| r.get(0),
            )
            .unwrap();
        if count == 0 {
            // Killed before its first transaction.
            return Self(BTreeMap::new());
        }
        let instance: u32 = database
            .query_row("SELECT instance FROM meta", [], |row| row.get(0))
            .unwrap();
        let mut query = database
            .prepare(
                "SELECT intents.number, strategy, hash, sell_token, storage_id, end, base, quote, fee
                 FROM intents LEFT JOIN ends USING (number)",
            )
            .unwrap();
        let rows = query.query_map([], |row| {
            let (number, strategy): (i64, u8) = (row.get(0)?, row.get(1)?);
            let ending = row.get::<_, Option<String>>(5)?.map(|end| {
                let units = |column| row.get::<_, String>(column).unwrap().parse().unwrap();
                Ending {
                    end,
                    base: units(6),
                    quote: units(7),
                    fee: units(8),
                }
            });
            let intent = Intent {
                hash: row.get(2)?,
                sell_token: row.get(3)?,
                storage_id: row.get(4)?,
                ending,
            };
            Ok((format!("c{instance:08x}-{strategy}-{number}"), intent))
        });
        Self(rows.unwrap().map(Result::unwrap).collect())
    }
}
