//! What a state folder remembers, read without its lock and without changing anything: for checks by
//! others than the daemon, after it was killed or has ended.

use std::collections::BTreeMap;
use std::path::Path;

use cambist_core::event::Level;
use cambist_core::{Amount, ClientOrderId, Hash, StrategyId, TokenId, VenueTime};
use rusqlite::{Connection, OpenFlags};

use super::recover::{Trouble, booked, read_intent};
use super::{Filled, StoreError, database_error, schema};

/// One order that was made durable before it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Our id.
    pub client_id: ClientOrderId,
    /// Its hash.
    pub hash: Hash,
    /// Market name.
    pub market: String,
    /// `buy` or `sell`.
    pub side: String,
    /// Limit in ticks.
    pub price: u64,
    /// Token paid.
    pub sell_token: TokenId,
    /// Base units paid at most.
    pub sell_amount: Amount,
    /// Storage id of that token.
    pub storage_id: u32,
    /// Expiry, seconds of venue time.
    pub valid_until_s: u32,
    /// It cannot have been created before.
    pub made_at: VenueTime,
    /// How its end was proven, if it was.
    pub end: Option<String>,
    /// Fills booked for it.
    pub filled: Filled,
}

/// Every order that a folder remembers, by the number it was given.
pub fn remembered(dir: &Path) -> Result<BTreeMap<u64, Remembered>, StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    read(&database).map_err(|trouble| trouble.at(&file))
}

/// The durable level of a folder and its cause.
pub fn level(dir: &Path) -> Result<(Level, String), StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    let held = super::level::newest(&database).map_err(|error| database_error(&file, error))?;
    let held = held.map_err(|what| StoreError::Corrupt { file, what })?;
    Ok((held.level, held.cause))
}

fn open(file: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags).map_err(|error| database_error(file, error))
}

fn read(database: &Connection) -> Result<BTreeMap<u64, Remembered>, Trouble> {
    // One instant for all three tables, also beside a running daemon.
    let database = database.unchecked_transaction()?;
    let instance: u32 = database.query_row("SELECT instance FROM meta", [], |row| row.get(0))?;
    let mut ends: BTreeMap<u64, String> = BTreeMap::new();
    {
        let mut query = database.prepare("SELECT number, end FROM ends")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            ends.insert(row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?);
        }
    }
    let mut query = database.prepare("SELECT * FROM intents ORDER BY number")?;
    let mut rows = query.query([])?;
    let mut all = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let row = read_intent(row)?;
        let unreadable = || Trouble::Damage(format!("intent {} cannot be understood", row.number));
        let remembered = Remembered {
            client_id: ClientOrderId {
                instance,
                strategy: StrategyId(row.strategy),
                number: row.number,
            },
            hash: row.hash,
            price: row.price.parse().map_err(|_| unreadable())?,
            sell_token: TokenId(row.sell_token),
            sell_amount: row.sell_amount.parse().map_err(|_| unreadable())?,
            storage_id: row.storage_id,
            valid_until_s: row.valid_until_s,
            made_at: VenueTime(row.made_at_ms),
            end: ends.remove(&row.number),
            filled: booked(&database, row.number)?,
            market: row.market,
            side: row.side,
        };
        all.insert(row.number, remembered);
    }
    Ok(all)
}
