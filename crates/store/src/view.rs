//! Reads a state folder without its lock and without changing anything, for checks after the daemon has ended or was
//! killed.

use std::collections::BTreeMap;
use std::path::Path;

use cambist_core::books::Books;
use cambist_core::event::TradingState;
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::{Amount, ClientOrderId, Hash, MarketId, StrategyId, TokenId, VenueTime};
use rusqlite::{Connection, OpenFlags};

use super::books::{FolderAccount, Listing};
use super::orders::{OrderRow, rests_until};
use super::recover::{ReadError, booked};
use super::{Filled, StoreError, database_error, schema};
use crate::pool_transactions::PoolTransactionRow;

/// An order that was sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Client order id.
    pub client_id: ClientOrderId,
    /// Its hash.
    pub hash: Hash,
    /// Market name.
    pub market: String,
    /// `buy` or `sell`.
    pub side: String,
    /// Limit in ticks.
    pub price: u64,
    /// Sold token.
    pub sell_token: TokenId,
    /// Most base units to sell.
    pub sell_amount: Amount,
    /// Storage id of the sold token.
    pub storage_id: u32,
    /// Until when its bytes are accepted, seconds of venue time.
    pub valid_until_s: u32,
    /// Lower bound of its creation at the venue.
    pub made_at: VenueTime,
    /// How its end was proven, if it has ended.
    pub end: Option<String>,
    /// Sum of its booked fills.
    pub filled: Filled,
}

/// A join or exit that was sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedPoolTransaction {
    /// The sealed transaction; its market is not set.
    pub transaction: UnsignedPoolTransaction,
    /// Its hash.
    pub hash: Hash,
    /// How its end was proven, if it has ended.
    pub end: Option<String>,
}

/// All joins and exits of a folder, by number.
pub fn remembered_moves(dir: &Path) -> Result<Vec<RememberedPoolTransaction>, StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    read_moves(&database).map_err(|error| error.at(&file))
}

/// All orders of a folder, by number.
pub fn remembered(dir: &Path) -> Result<BTreeMap<u64, Remembered>, StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    read(&database).map_err(|error| error.at(&file))
}

/// An order or pool transaction without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Whether it is a join or exit.
    pub is_move: bool,
    /// Until when its bytes are accepted, seconds of venue time.
    pub accepted_until_s: u32,
    /// Until when what they created can fill; `None` if only a fill or a cancel ends it.
    pub rests_until_s: Option<u32>,
}

/// The orders and pool transactions of a folder that have no end.
pub fn without_end(dir: &Path) -> Result<Vec<Open>, StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    read_open(&database).map_err(|error| database_error(&file, error))
}

/// The durable trading state of a folder and its cause.
pub fn level(dir: &Path) -> Result<(TradingState, String), StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    let held =
        crate::restrictions::newest(&database).map_err(|error| database_error(&file, error))?;
    let held = held.map_err(|what| StoreError::Corrupt { file, what })?;
    Ok((held.level, held.cause))
}

pub(super) fn open(file: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags).map_err(|error| database_error(file, error))
}

/// As [`open`]; refuses a store that no daemon of this version has opened.
pub(super) fn open_current(file: &Path) -> Result<Connection, StoreError> {
    let database = open(file)?;
    let found = schema::pragma(&database, "user_version");
    let found = found.map_err(|error| database_error(file, error))?;
    if found < schema::SCHEMA {
        return Err(StoreError::Refused {
            what: format!(
                "{} was written by an earlier version and has no results; start the daemon of this version once",
                file.display()
            ),
        });
    }
    if found > schema::SCHEMA {
        return Err(StoreError::TooNew {
            file: file.to_owned(),
            found,
            known: schema::SCHEMA,
            copy: None,
        });
    }
    Ok(database)
}

fn read_open(database: &Connection) -> rusqlite::Result<Vec<Open>> {
    let database = database.unchecked_transaction()?;
    let mut all = Vec::new();
    for (table, is_move) in [("intents", false), ("moves", true)] {
        // A store of an older version that was not upgraded has no table of pool transactions.
        let there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
        if database.query_row(there, [table], |row| row.get::<_, u32>(0))? == 0 {
            continue;
        }
        let mut query = database.prepare(&format!(
            "SELECT * FROM {table} WHERE number NOT IN (SELECT number FROM ends)"
        ))?;
        let open = query.query_map([], |row| {
            let accepted_until_s = row.get("valid_until_s")?;
            Ok(Open {
                is_move,
                accepted_until_s,
                rests_until_s: rests_until(row, accepted_until_s)?,
            })
        })?;
        for one in open {
            all.push(one?);
        }
    }
    Ok(all)
}

fn read_moves(database: &Connection) -> Result<Vec<RememberedPoolTransaction>, ReadError> {
    // One read transaction, so that all tables are consistent while a daemon writes.
    let database = database.unchecked_transaction()?;
    let instance: u32 = database.query_row("SELECT instance FROM meta", [], |row| row.get(0))?;
    let mut query = database.prepare(
        "SELECT moves.*, ends.end AS proven FROM moves LEFT JOIN ends USING (number) ORDER BY number",
    )?;
    let mut rows = query.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let end: Option<String> = row.get("proven")?;
        let row = PoolTransactionRow::read(row)?;
        let unreadable =
            || ReadError::Damage(format!("pool transaction {} cannot be decoded", row.number));
        let transaction = row.rebuild(instance, MarketId(0));
        all.push(RememberedPoolTransaction {
            transaction: transaction.ok_or_else(unreadable)?,
            hash: row.hash,
            end,
        });
    }
    Ok(all)
}

fn read(database: &Connection) -> Result<BTreeMap<u64, Remembered>, ReadError> {
    // One read transaction, so that all tables are consistent while a daemon writes.
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
        let row = OrderRow::read(row)?;
        let unreadable = || ReadError::Damage(format!("intent {} cannot be decoded", row.number));
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

/// When ledger or positions of a folder were written last, Unix seconds; `None` before the opening balances.
pub fn books_written_s(dir: &Path) -> Result<Option<u64>, StoreError> {
    let file = dir.join(schema::FILE);
    let database = open_current(&file)?;
    let newest =
        "SELECT max(at_us) FROM (SELECT at_us FROM ledger UNION ALL SELECT at_us FROM positions)";
    let newest: rusqlite::Result<Option<i64>> = database.query_row(newest, [], |row| row.get(0));
    let newest = newest.map_err(|error| database_error(&file, error))?;
    Ok(newest.map(|at_us| at_us.cast_unsigned() / 1_000_000))
}

/// The account that a folder belongs to; `None` if no start has stored one.
pub fn account(dir: &Path) -> Result<Option<FolderAccount>, StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    if database.prepare("SELECT 1 FROM listing LIMIT 1").is_err() {
        return Ok(None);
    }
    let listing = super::books::listing(&database).map_err(|error| error.at(&file))?;
    Ok(listing.and_then(|listing| listing.account))
}

/// The durable books of a folder and its listing; `None` before the first start that stores them.
pub fn books(dir: &Path) -> Result<Option<(Books, Listing)>, StoreError> {
    let file = dir.join(schema::FILE);
    let database = open(&file)?;
    let known = database.prepare("SELECT 1 FROM listing LIMIT 1").is_ok();
    if !known {
        return Ok(None);
    }
    let read = || {
        // One read transaction, so that all tables are consistent while a daemon writes.
        let database = database.unchecked_transaction()?;
        let Some(listing) = super::books::listing(&database)? else {
            return Ok(None);
        };
        let names: Vec<_> = listing.markets.iter().map(|m| m.name.clone()).collect();
        let books = super::books::read(&database)?.books(&names);
        Ok(Some((books, listing)))
    };
    read().map_err(|error: ReadError| error.at(&file))
}
