//! Rows of results: states by hour, balances by hour, names of strategies.

use std::collections::BTreeMap;

use cambist_core::TokenId;
use cambist_core::event::Totals;
use cambist_core::sorted_map::SortedMap;
use rusqlite::types::{FromSql, ToSql};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{ACCOUNT, CountState, Names};
use crate::chain::{Row, Sum};
use crate::recover::{ReadError, check};

/// Key of a state.
pub(super) struct Key<'a> {
    pub(super) market: &'a str,
    pub(super) owner: &'a str,
    /// Hours since the Unix epoch.
    pub(super) hour: u64,
    pub(super) series: u32,
}

/// A stored state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) series: u32,
    pub(super) at_us: u64,
    /// `None` if amounts overflowed.
    pub(super) state: Option<CountState>,
}

/// A stored balance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Balance {
    pub(super) units: i128,
    /// Id of the newest flow that it includes.
    pub(super) flows: i64,
    pub(super) at_us: u64,
}

fn state_sum(key: &Key<'_>, newest: bool, state: &str, at_us: u64) -> Sum {
    let row = Row::of("result").text(key.market).text(key.owner);
    let row = row.number(key.hour).number(key.series.into());
    row.number(newest.into()).text(state).number(at_us).sum()
}

fn balance_sum(token: u16, (hour, newest): (u64, bool), units: &str, at_us: u64) -> Sum {
    let row = Row::of("balance").number(token.into()).number(hour);
    row.number(newest.into()).text(units).number(at_us).sum()
}

/// Writes a state: the first one of its series, or the newest of its hour.
pub(super) fn set(
    transaction: &Transaction<'_>,
    key: &Key<'_>,
    newest: bool,
    state: Option<&CountState>,
    at_us: u64,
) -> rusqlite::Result<()> {
    // Numbers and field names always serialise.
    let state = state.and_then(|state| serde_json::to_string(state).ok());
    let state = state.unwrap_or_default();
    let sum = state_sum(key, newest, &state, at_us);
    let mut insert = transaction.prepare(
        "INSERT OR REPLACE INTO results (market, owner, hour, series, newest, state, at_us, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let written = insert.execute(params![
        key.market,
        key.owner,
        key.hour.cast_signed(),
        key.series,
        newest,
        state,
        at_us.cast_signed(),
        sum.bytes()
    ]);
    written.map(|_| ())
}

/// Writes the balances of these tokens; `opens` also as opening balances.
pub(super) fn set_balances(
    transaction: &Transaction<'_>,
    ledger: &Totals,
    opens: bool,
    (hour, at_us): (u64, u64),
) -> rusqlite::Result<()> {
    if ledger.is_empty() {
        return Ok(());
    }
    let flows: i64 =
        transaction.query_row("SELECT coalesce(max(id), 0) FROM flows", [], |row| {
            row.get(0)
        })?;
    let mut insert = transaction.prepare(
        "INSERT OR REPLACE INTO balances (token, hour, newest, units, flows, at_us, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (token, units) in ledger {
        let units = units.to_string();
        for newest in [false, true] {
            if newest || opens {
                let sum = balance_sum(token.0, (hour, newest), &units, at_us);
                insert.execute(params![
                    token.0,
                    hour.cast_signed(),
                    newest,
                    units,
                    flows,
                    at_us.cast_signed(),
                    sum.bytes()
                ])?;
            }
        }
    }
    Ok(())
}

/// Whether counting has not begun yet.
pub(super) fn has_no_balances(database: &Connection) -> rusqlite::Result<bool> {
    let any = database
        .query_row("SELECT 1 FROM balances LIMIT 1", [], |_| Ok(()))
        .optional()?;
    Ok(any.is_none())
}

/// The newest hour of any state or balance; 0 if there is none.
pub(super) fn newest_hour(database: &Connection) -> Result<u64, ReadError> {
    let mut newest = 0;
    let mut last = |query: &str, values: &[&dyn ToSql]| {
        let mut query = database.prepare(query)?;
        let hour: Option<i64> = query.query_row(values, |row| row.get(0)).optional()?;
        newest = newest.max(hour.unwrap_or(0));
        Ok::<_, ReadError>(())
    };
    for token in tokens(database)? {
        let query = "SELECT hour FROM balances WHERE token = ?1 ORDER BY hour DESC LIMIT 1";
        last(query, &[&token])?;
    }
    for market in markets(database)? {
        for owner in owners(database, &market)? {
            let query = "SELECT hour FROM results WHERE market = ?1 AND owner = ?2
                         ORDER BY hour DESC LIMIT 1";
            last(query, &[&market, &owner])?;
        }
    }
    Ok(newest.cast_unsigned())
}

/// All values of the first column of a query that returns the smallest one above its parameter: one index search for
/// each value instead of a scan.
fn each_of<T: FromSql + ToSql + Clone>(
    database: &Connection,
    query: &str,
    within: &[&dyn ToSql],
    below: &T,
) -> Result<Vec<T>, ReadError> {
    let mut query = database.prepare(query)?;
    let mut found: Vec<T> = Vec::new();
    loop {
        let last = found.last().cloned().unwrap_or_else(|| below.clone());
        let mut values = within.to_vec();
        values.push(&last);
        match query
            .query_row(values.as_slice(), |row| row.get(0))
            .optional()?
        {
            Some(next) => found.push(next),
            None => return Ok(found),
        }
    }
}

fn tokens(database: &Connection) -> Result<Vec<i64>, ReadError> {
    let query = "SELECT token FROM balances WHERE token > ?1 ORDER BY token LIMIT 1";
    each_of(database, query, &[], &-1)
}

/// Writes the names of strategies from this number on, if they have changed.
pub(super) fn set_names(
    transaction: &Transaction<'_>,
    since: u64,
    strategies: &[String],
) -> Result<(), ReadError> {
    let configured: BTreeMap<u8, String> = (0..=u8::MAX).zip(strategies.iter().cloned()).collect();
    let known = names(transaction)?;
    if known.0.last().map(|(_, names)| names) == Some(&configured) {
        return Ok(());
    }
    transaction.execute(
        "DELETE FROM strategies WHERE since = ?1",
        [since.cast_signed()],
    )?;
    for (strategy, name) in &configured {
        transaction.execute(
            "INSERT INTO strategies (since, strategy, name) VALUES (?1, ?2, ?3)",
            params![since.cast_signed(), strategy, name],
        )?;
    }
    Ok(())
}

/// Names of strategies, oldest first.
pub(crate) fn names(database: &Connection) -> Result<Names, ReadError> {
    let mut query =
        database.prepare("SELECT since, strategy, name FROM strategies ORDER BY since")?;
    let mut rows = query.query([])?;
    let mut names: Vec<(u64, BTreeMap<u8, String>)> = Vec::new();
    while let Some(row) = rows.next()? {
        let since = row.get::<_, i64>(0)?.cast_unsigned();
        let (strategy, name) = (row.get(1)?, row.get(2)?);
        match names.last_mut().filter(|(last, _)| *last == since) {
            Some((_, of)) => {
                of.insert(strategy, name);
            }
            None => names.push((since, BTreeMap::from([(strategy, name)]))),
        }
    }
    Ok(Names(names))
}

/// Owners of counts in a market.
pub(super) fn owners(database: &Connection, market: &str) -> Result<Vec<String>, ReadError> {
    let query = "SELECT owner FROM results WHERE market = ?1 AND owner > ?2 ORDER BY owner LIMIT 1";
    each_of(database, query, &[&market], &String::new())
}

/// The newest state of every owner in a market, with its series.
pub(super) fn newest(
    database: &Connection,
    market: &str,
) -> Result<Vec<(String, u32, Option<CountState>)>, ReadError> {
    let mut all = Vec::new();
    for owner in owners(database, market)? {
        if let Some(found) = before(database, market, &owner, u64::MAX)? {
            all.push((owner, found.series, found.state));
        }
    }
    Ok(all)
}

const STATE: &str = "SELECT hour, series, newest, state, at_us, sum FROM results";

/// The newest state before an hour.
pub(super) fn before(
    database: &Connection,
    market: &str,
    owner: &str,
    hour: u64,
) -> Result<Option<Found>, ReadError> {
    let mut query = database.prepare(&format!(
        "{STATE} WHERE market = ?1 AND owner = ?2 AND hour < ?3
         ORDER BY hour DESC, series DESC, newest DESC LIMIT 1"
    ))?;
    let mut rows = query.query(params![market, owner, bounded(hour)])?;
    rows.next()?
        .map(|row| found(row, market, owner))
        .transpose()
}

/// The first state with a mid of one series, which only the account has, and the newest before an hour.
pub(super) fn of_series(
    database: &Connection,
    (market, owner): (&str, &str),
    series: u32,
    hour: u64,
) -> Result<[Option<Found>; 2], ReadError> {
    let one = |which: &str| {
        let mut query = database.prepare(&format!(
            "{STATE} WHERE market = ?1 AND owner = ?2 AND hour < ?3 AND series = ?4 {which} LIMIT 1"
        ))?;
        let mut rows = query.query(params![market, owner, bounded(hour), series])?;
        rows.next()?
            .map(|row| found(row, market, owner))
            .transpose()
    };
    // Without this condition, the search for a row that does not exist would read every hour.
    let opening = if owner == ACCOUNT {
        one("AND newest = 0")?
    } else {
        None
    };
    Ok([opening, one("ORDER BY hour DESC, newest DESC")?])
}

/// When counting began, in microseconds since the Unix epoch.
pub(super) fn begun_us(database: &Connection) -> Result<Option<u64>, ReadError> {
    let mut first = None;
    for token in tokens(database)? {
        let query =
            "SELECT at_us FROM balances WHERE token = ?1 AND newest = 0 ORDER BY hour LIMIT 1";
        let mut query = database.prepare(query)?;
        let at_us: Option<i64> = query.query_row([token], |row| row.get(0)).optional()?;
        first = first.into_iter().chain(at_us).min();
    }
    Ok(first.map(i64::cast_unsigned))
}

/// All markets with results.
pub(super) fn markets(database: &Connection) -> Result<Vec<String>, ReadError> {
    let query = "SELECT market FROM results WHERE market > ?1 ORDER BY market LIMIT 1";
    each_of(database, query, &[], &String::new())
}

fn bounded(hour: u64) -> i64 {
    i64::try_from(hour).unwrap_or(i64::MAX)
}

fn found(row: &rusqlite::Row<'_>, market: &str, owner: &str) -> Result<Found, ReadError> {
    let hour = row.get::<_, i64>(0)?.cast_unsigned();
    let (series, newest, text): (u32, bool, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
    let at_us = row.get::<_, i64>(4)?.cast_unsigned();
    let sum: Vec<u8> = row.get(5)?;
    let key = Key {
        market,
        owner,
        hour,
        series,
    };
    let what = || format!("the profit and loss of {owner} at {market} in hour {hour}");
    check(&sum, &state_sum(&key, newest, &text, at_us), &what())?;
    let state = if text.is_empty() {
        None
    } else {
        let read = serde_json::from_str(&text);
        Some(read.map_err(|error| ReadError::Damage(format!("{}: {error}", what())))?)
    };
    Ok(Found {
        series,
        at_us,
        state,
    })
}

/// The newest balance of every token before an hour, or else the first.
pub(super) fn balances(
    database: &Connection,
    hour: u64,
) -> Result<SortedMap<TokenId, Balance>, ReadError> {
    let mut all = SortedMap::new();
    let mut query = database.prepare(
        "SELECT hour, newest, units, flows, at_us, sum FROM balances WHERE token = ?1 AND hour < ?2
         ORDER BY hour DESC, newest DESC LIMIT 1",
    )?;
    let mut first = database.prepare(
        "SELECT hour, newest, units, flows, at_us, sum FROM balances WHERE token = ?1 AND newest = 0
         ORDER BY hour LIMIT 1",
    )?;
    for token in tokens(database)? {
        let token = u16::try_from(token)
            .map_err(|_| ReadError::Damage(format!("{token} is not a token id")))?;
        let mut rows = query.query(params![token, bounded(hour)])?;
        let mut balance = rows.next()?.map(|row| balance(row, token)).transpose()?;
        if balance.is_none() {
            let mut rows = first.query([token])?;
            balance = rows
                .next()?
                .map(|row| self::balance(row, token))
                .transpose()?;
        }
        // A token without an opening balance.
        all.insert(TokenId(token), balance.unwrap_or_default());
    }
    Ok(all)
}

fn balance(row: &rusqlite::Row<'_>, token: u16) -> Result<Balance, ReadError> {
    let hour = row.get::<_, i64>(0)?.cast_unsigned();
    let (newest, units, flows): (bool, String, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
    let at_us = row.get::<_, i64>(4)?.cast_unsigned();
    let sum: Vec<u8> = row.get(5)?;
    let what = format!("the balance of token {token} in hour {hour}");
    let expected = balance_sum(token, (hour, newest), &units, at_us);
    check(&sum, &expected, &what)?;
    Ok(Balance {
        units: units.parse().map_err(|_| ReadError::Damage(what))?,
        flows,
        at_us,
    })
}
