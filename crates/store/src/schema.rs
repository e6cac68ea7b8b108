//! Tables, versions and opening of the database.

use std::path::Path;

use cambist_core::venue::SlotRule;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::chain::{Row, Sum};
use super::{StoreError, copies, database_error, slot_rule};
use cambist_host::program;

/// Name of the database file inside the state folder.
pub const FILE: &str = "cambist.db";

/// Version of the tables below.
pub(super) const SCHEMA: i64 = 10;

/// Marks the file as ours ("cmbt").
const APPLICATION_ID: i64 = 0x636d_6274;

/// Client order numbers skipped at every start: more than one log of the database can contain.
pub(super) const NUMBER_JUMP: u64 = 1_024;

/// Storage ids skipped at every start, for the same reason; even, because orders have even ids.
pub(super) const STORAGE_JUMP: u32 = 2 * 1_024;

/// Rows are only added, except for counters, the anchor, and what retention removes.
const TABLES: &str = "
CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), instance INTEGER NOT NULL,
    next_number INTEGER NOT NULL, head BLOB NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE anchor (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL,
    chain BLOB NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE counters (token INTEGER PRIMARY KEY, next_storage INTEGER NOT NULL,
    sum BLOB NOT NULL) STRICT;
CREATE TABLE intents (number INTEGER PRIMARY KEY, strategy INTEGER NOT NULL, market TEXT NOT NULL,
    side TEXT NOT NULL, price TEXT NOT NULL, qty TEXT NOT NULL, kind TEXT NOT NULL,
    sell_token INTEGER NOT NULL, sell_amount TEXT NOT NULL, buy_token INTEGER NOT NULL,
    buy_amount TEXT NOT NULL, fill_by TEXT NOT NULL, storage_id INTEGER NOT NULL,
    valid_until_s INTEGER NOT NULL, max_fee_bips INTEGER NOT NULL, made_at_ms INTEGER NOT NULL, hash BLOB NOT NULL,
    body_sum BLOB NOT NULL, sealed_us INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE bodies (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE ends (number INTEGER PRIMARY KEY, end TEXT NOT NULL, base TEXT NOT NULL,
    quote TEXT NOT NULL, fee TEXT NOT NULL, at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE fills (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, market TEXT NOT NULL,
    side TEXT NOT NULL, base TEXT NOT NULL, quote TEXT NOT NULL, fee TEXT NOT NULL,
    mid TEXT, at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE INDEX fills_of ON fills (number);
CREATE TABLE levels (id INTEGER PRIMARY KEY, level TEXT NOT NULL, cause TEXT NOT NULL,
    at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE runs (id INTEGER PRIMARY KEY, started_us INTEGER NOT NULL, version TEXT NOT NULL)
    STRICT;
";

/// Since version 3: joins and exits, in one chain with the orders.
const MOVES: &str = "
CREATE TABLE moves (number INTEGER PRIMARY KEY, strategy INTEGER NOT NULL, market TEXT NOT NULL,
    kind TEXT NOT NULL, first_token INTEGER NOT NULL, first_amount TEXT NOT NULL,
    second_token INTEGER NOT NULL, second_amount TEXT NOT NULL, lp_token INTEGER NOT NULL,
    lp_amount TEXT NOT NULL, storage_ids TEXT NOT NULL, fee_max TEXT NOT NULL,
    valid_until_s INTEGER NOT NULL, made_at_ms INTEGER NOT NULL, hash BLOB NOT NULL,
    body_sum BLOB NOT NULL, sealed_us INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE moved (number INTEGER PRIMARY KEY, first TEXT NOT NULL, second TEXT NOT NULL,
    lp TEXT NOT NULL, fee TEXT NOT NULL, at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
";

/// Since version 4: explained flows.
const FLOWS: &str = "
CREATE TABLE flows (id INTEGER PRIMARY KEY, token INTEGER NOT NULL, symbol TEXT NOT NULL,
    amount TEXT NOT NULL, reason TEXT NOT NULL, at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
";

/// Since version 5: the books, the listing, and the row of `levels` of an earlier version whose losses still apply.
const BOOKS: &str = "
CREATE TABLE opening (id INTEGER PRIMARY KEY CHECK (id = 1), at_us INTEGER NOT NULL,
    sum BLOB NOT NULL) STRICT;
CREATE TABLE ledger (token INTEGER PRIMARY KEY, units TEXT NOT NULL, at_us INTEGER NOT NULL,
    sum BLOB NOT NULL) STRICT;
CREATE TABLE differences (token INTEGER PRIMARY KEY, ledger TEXT NOT NULL, venue TEXT NOT NULL,
    at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE positions (market TEXT PRIMARY KEY, base TEXT NOT NULL, cash TEXT NOT NULL,
    baselines TEXT NOT NULL, at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE listing (id INTEGER PRIMARY KEY CHECK (id = 1), listing TEXT NOT NULL,
    at_us INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE carried (id INTEGER PRIMARY KEY CHECK (id = 1), level INTEGER NOT NULL) STRICT;
INSERT INTO carried SELECT 1, coalesce(max(id), 0) FROM levels;
";

/// Since version 6: profit and loss by hour, names of strategies, and all fields that make rows of fills, joins and
/// exits independent of their intents.
const RESULTS: &str = "
CREATE TABLE strategies (since INTEGER NOT NULL, strategy INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (since, strategy)) STRICT, WITHOUT ROWID;
CREATE TABLE results (market TEXT NOT NULL, owner TEXT NOT NULL, hour INTEGER NOT NULL,
    series INTEGER NOT NULL, newest INTEGER NOT NULL, state TEXT NOT NULL, at_us INTEGER NOT NULL,
    sum BLOB NOT NULL, PRIMARY KEY (market, owner, hour, series, newest)) STRICT, WITHOUT ROWID;
CREATE TABLE balances (token INTEGER NOT NULL, hour INTEGER NOT NULL, newest INTEGER NOT NULL,
    units TEXT NOT NULL, flows INTEGER NOT NULL, at_us INTEGER NOT NULL, sum BLOB NOT NULL,
    PRIMARY KEY (token, hour, newest)) STRICT, WITHOUT ROWID;
ALTER TABLE fills ADD COLUMN strategy INTEGER;
UPDATE fills SET strategy = (SELECT strategy FROM intents WHERE intents.number = fills.number);
CREATE INDEX fills_at ON fills (at_us);
ALTER TABLE moved ADD COLUMN strategy INTEGER;
ALTER TABLE moved ADD COLUMN market TEXT;
ALTER TABLE moved ADD COLUMN kind TEXT;
ALTER TABLE moved ADD COLUMN first_token INTEGER;
ALTER TABLE moved ADD COLUMN second_token INTEGER;
ALTER TABLE moved ADD COLUMN lp_token INTEGER;
ALTER TABLE moved ADD COLUMN mid TEXT;
UPDATE moved SET (strategy, market, kind, first_token, second_token, lp_token) =
    (SELECT strategy, market, kind, first_token, second_token, lp_token FROM moves
     WHERE moves.number = moved.number);
";

/// Since version 7: until when an order rests, beside until when its bytes are accepted (`valid_until_s`), which were
/// the same before; NULL where only a fill or a cancel ends it. And the rule of the slot numbers, written by the next
/// start.
const LIFETIMES: &str = "
ALTER TABLE intents ADD COLUMN rests_until_s INTEGER;
UPDATE intents SET rests_until_s = valid_until_s;
CREATE TABLE slot_rule (id INTEGER PRIMARY KEY CHECK (id = 1), rule TEXT NOT NULL, number INTEGER NOT NULL,
    sum BLOB NOT NULL) STRICT;
";

/// Since version 8: parameters that operators set. The newest row of a parameter applies; one without a value restores
/// the configuration file's.
const PARAMETERS: &str = "
CREATE TABLE parameters (id INTEGER PRIMARY KEY, market TEXT NOT NULL, strategy TEXT NOT NULL,
    key TEXT NOT NULL, value TEXT, operator TEXT NOT NULL, reason TEXT NOT NULL, at_us INTEGER NOT NULL,
    sum BLOB NOT NULL) STRICT;
";

/// Since version 9: most of the bought token of a swap that limits reckon with; NULL for every other order.
const SWAPS: &str = "
ALTER TABLE intents ADD COLUMN swap_most TEXT;
";

/// Since version 10: the number of the next charge to book; without a row it is 0.
const CHARGES: &str = "
CREATE TABLE charged (id INTEGER PRIMARY KEY CHECK (id = 1), below INTEGER NOT NULL, at_us INTEGER NOT NULL,
    sum BLOB NOT NULL) STRICT;
";

/// The changes of each later version; a new file goes through all of them.
const MIGRATIONS: &[&str] = &[
    "ALTER TABLE levels ADD COLUMN pauses TEXT NOT NULL DEFAULT '';",
    MOVES,
    FLOWS,
    BOOKS,
    RESULTS,
    LIFETIMES,
    PARAMETERS,
    SWAPS,
    CHARGES,
];

/// Opens the file, creating the tables in a new one.
pub(super) fn open(file: &Path) -> Result<Connection, StoreError> {
    let failed = |error| database_error(file, error);
    let mut database = Connection::open(file).map_err(failed)?;
    let found: i64 = pragma(&database, "user_version").map_err(failed)?;
    if found > SCHEMA {
        return Err(StoreError::TooNew {
            file: file.to_owned(),
            found,
            known: SCHEMA,
            copy: copies::newest(file),
        });
    }
    // WAL with FULL: the log is synced at every commit, and an incomplete end is recognised by its checksums.
    let mode: String = database
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        return Err(StoreError::Refused {
            what: format!(
                "the file system of {} does not support SQLite's write-ahead log; use a local file system",
                file.display()
            ),
        });
    }
    database
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
        )
        .map_err(failed)?;
    if found == 0 {
        create(&mut database).map_err(failed)?;
    }
    // Before anything is changed in a foreign or damaged file.
    check_ours(&database, file)?;
    if (1..SCHEMA).contains(&found) {
        let copy = copies::make(&database, file, SCHEMA)?;
        tracing::warn!(
            from_version = found,
            to_version = SCHEMA,
            copy = %copy.display(),
            "the store was written by an earlier version and is upgraded; earlier versions can read the copy only"
        );
    }
    migrate(&mut database, found).map_err(failed)?;
    Ok(database)
}

fn create(database: &mut Connection) -> rusqlite::Result<()> {
    let transaction = database.transaction()?;
    transaction.execute_batch(TABLES)?;
    let mut random = [0_u8; 4];
    getrandom::fill(&mut random)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.to_string().into()))?;
    set_meta(&transaction, u32::from_be_bytes(random), 0, &Sum::ORIGIN)?;
    set_anchor(&transaction, 0, &Sum::ORIGIN)?;
    transaction.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;"
    ))?;
    transaction.commit()
}

/// Upgrades the tables from version `found` (0 is a new file with those of the first), one transaction for each version.
fn migrate(database: &mut Connection, found: i64) -> rusqlite::Result<()> {
    for (version, tables) in (2..).zip(MIGRATIONS) {
        if version > found {
            let transaction = database.transaction()?;
            transaction.execute_batch(tables)?;
            transaction.execute_batch(&format!("PRAGMA user_version = {version};"))?;
            transaction.commit()?;
        }
    }
    Ok(())
}

fn check_ours(database: &Connection, file: &Path) -> Result<(), StoreError> {
    let failed = |error| database_error(file, error);
    let corrupt = |what: String| StoreError::Corrupt {
        file: file.to_owned(),
        what,
    };
    let id: i64 = pragma(database, "application_id").map_err(failed)?;
    if id != APPLICATION_ID {
        return Err(corrupt("it is not a store of this program".to_owned()));
    }
    let answer: String = database
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(failed)?;
    if answer == "ok" {
        Ok(())
    } else {
        Err(corrupt(answer))
    }
}

pub(super) fn pragma(database: &Connection, name: &str) -> rusqlite::Result<i64> {
    database.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// Records the start of a run and the rule of its slot numbers, and advances every counter, in one transaction.
/// Consecutive numbers are not advanced: a gap would hold back what comes after it, and the venue states the next one.
pub(super) fn begin_run(
    database: &mut Connection,
    slots: SlotRule,
    head: &Sum,
    now_us: u64,
) -> rusqlite::Result<()> {
    let transaction = database.transaction()?;
    transaction.execute(
        "INSERT INTO runs (started_us, version) VALUES (?1, ?2)",
        params![now_us.cast_signed(), program::build().version],
    )?;
    let (instance, next): (u32, u64) =
        transaction.query_row("SELECT instance, next_number FROM meta", [], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        })?;
    set_meta(
        &transaction,
        instance,
        next.saturating_add(NUMBER_JUMP),
        head,
    )?;
    slot_rule::write(&transaction, slots)?;
    if !matches!(slots, SlotRule::Consecutive { .. }) {
        let counters = {
            let mut query = transaction.prepare("SELECT token, next_storage FROM counters")?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(u16, u32)>>>()?
        };
        for (token, next) in counters {
            set_counter(&transaction, token, next.saturating_add(STORAGE_JUMP))?;
        }
    }
    transaction.commit()?;
    // Content of the old log becomes part of the database, which is verified row by row.
    database
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .optional()
        .map(|_| ())
}

pub(super) fn meta_sum(instance: u32, next_number: u64, head: &Sum) -> Sum {
    let row = Row::of("meta").number(instance.into()).number(next_number);
    row.bytes(head.bytes()).sum()
}

/// `head` is the newest value of the chain, so that a missing last intent is detected.
pub(super) fn set_meta(
    transaction: &Transaction<'_>,
    instance: u32,
    next: u64,
    head: &Sum,
) -> rusqlite::Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO meta (id, instance, next_number, head, sum)
             VALUES (1, ?1, ?2, ?3, ?4)",
            params![
                instance,
                next.cast_signed(),
                head.bytes(),
                meta_sum(instance, next, head).bytes()
            ],
        )
        .map(|_| ())
}

pub(super) fn counter_sum(token: u16, next: u32) -> Sum {
    Row::of("counter")
        .number(token.into())
        .number(next.into())
        .sum()
}

pub(super) fn set_counter(
    transaction: &Transaction<'_>,
    token: u16,
    next: u32,
) -> rusqlite::Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO counters (token, next_storage, sum) VALUES (?1, ?2, ?3)",
            params![token, next, counter_sum(token, next).bytes()],
        )
        .map(|_| ())
}

pub(super) fn anchor_sum(number: u64, chain: &Sum) -> Sum {
    Row::of("anchor").number(number).bytes(chain.bytes()).sum()
}

pub(super) fn set_anchor(
    transaction: &Transaction<'_>,
    number: u64,
    chain: &Sum,
) -> rusqlite::Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO anchor (id, number, chain, sum) VALUES (1, ?1, ?2, ?3)",
            params![
                number.cast_signed(),
                chain.bytes(),
                anchor_sum(number, chain).bytes()
            ],
        )
        .map(|_| ())
}
