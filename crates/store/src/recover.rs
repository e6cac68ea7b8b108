//! Reads the store back and verifies it.

use std::collections::BTreeMap;
use std::path::Path;

use cambist_core::event::RecoveredOrder;
use cambist_core::intent::RecoveredPoolTransaction;
use cambist_core::order::UnsignedOrder;
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::SlotRule;
use cambist_core::{Amount, Intent, MarketId, TokenId, VenueTime};
use rusqlite::Connection;

use super::chain::Sum;
use super::intents::{end_sum, fill_sum};
use super::rows;
use super::schema::{anchor_sum, counter_sum, meta_sum};
use super::{
    Filled, OpenIntent, OpenPoolTransaction, Recovered, Store, StoreError, database_error,
};
use super::{books, flows, parameters};
use crate::restrictions;

/// Result of a verification.
pub(super) struct Verified {
    pub(super) head: Sum,
    pub(super) instance: u32,
    pub(super) next_number: u64,
    pub(super) newest_number: u64,
}

/// Errors while reading: the database's, or damage.
pub(super) enum ReadError {
    Database(rusqlite::Error),
    Damage(String),
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            // A value of the wrong type or range in a strict table was not written by this program.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::QueryReturnedNoRows => Self::Damage(error.to_string()),
            other => Self::Database(other),
        }
    }
}

impl ReadError {
    pub(super) fn at(self, file: &Path) -> StoreError {
        match self {
            Self::Database(error) => database_error(file, error),
            Self::Damage(what) => StoreError::Corrupt {
                file: file.to_owned(),
                what,
            },
        }
    }
}

/// Verifies every row that a start relies on.
pub(super) fn verify(
    database: &Connection,
    slots: SlotRule,
    file: &Path,
) -> Result<Verified, StoreError> {
    verified(database, slots).map_err(|error| error.at(file))
}

fn verified(database: &Connection, rule: SlotRule) -> Result<Verified, ReadError> {
    let (instance, next_number, newest, sum): (u32, i64, Vec<u8>, Vec<u8>) = database.query_row(
        "SELECT instance, next_number, head, sum FROM meta",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    let next_number = next_number.cast_unsigned();
    let newest = Sum::read(&newest)
        .ok_or_else(|| ReadError::Damage("the head of the chain is not a checksum".to_owned()))?;
    check(
        &sum,
        &meta_sum(instance, next_number, &newest),
        "the meta row",
    )?;
    let counters = counters(database)?;
    let (mut number, mut head) = anchor(database)?;
    rows::each(database, |found| {
        let row = &found.row;
        let expected = row.chained(&head);
        let what = format!(
            "the chain of intents at number {} (after {number})",
            row.number()
        );
        check(&found.chain, &expected, &what)?;
        // The index of the market does not affect these checks.
        let slots = row.rebuild(instance, MarketId(0))?.slots(rule);
        let behind = |(token, id): (TokenId, u32)| id >= counters.get(&token).copied().unwrap_or(0);
        if slots.into_iter().any(behind) || row.number() >= next_number {
            let what = format!("the counters are lower than intent {}", row.number());
            return Err(ReadError::Damage(what));
        }
        number = row.number();
        head = expected;
        Ok(())
    })?;
    if head != newest {
        return Err(ReadError::Damage(format!(
            "the intents after number {number} are missing"
        )));
    }
    ends(database)?;
    flows::read(database)?;
    parameters::read(database)?;
    books::read(database)?;
    books::listing(database)?;
    match restrictions::newest(database)? {
        Ok(_) => {}
        Err(what) => return Err(ReadError::Damage(what)),
    }
    Ok(Verified {
        head,
        instance,
        next_number,
        newest_number: number,
    })
}

pub(super) fn check(found: &[u8], expected: &Sum, what: &str) -> Result<(), ReadError> {
    if Sum::read(found) == Some(*expected) {
        Ok(())
    } else {
        Err(ReadError::Damage(format!(
            "{what} does not match its checksum"
        )))
    }
}

fn anchor(database: &Connection) -> Result<(u64, Sum), ReadError> {
    let (number, chain, sum): (i64, Vec<u8>, Vec<u8>) =
        database.query_row("SELECT number, chain, sum FROM anchor", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let number = number.cast_unsigned();
    let chain = Sum::read(&chain)
        .ok_or_else(|| ReadError::Damage("the anchor is not a checksum".to_owned()))?;
    check(&sum, &anchor_sum(number, &chain), "the anchor")?;
    Ok((number, chain))
}

fn counters(database: &Connection) -> Result<SortedMap<TokenId, u32>, ReadError> {
    let mut query = database.prepare("SELECT token, next_storage, sum FROM counters")?;
    let mut rows = query.query([])?;
    let mut counters = SortedMap::new();
    while let Some(row) = rows.next()? {
        let (token, next): (u16, u32) = (row.get(0)?, row.get(1)?);
        let sum: Vec<u8> = row.get(2)?;
        check(
            &sum,
            &counter_sum(token, next),
            &format!("the counter of token {token}"),
        )?;
        counters.insert(TokenId(token), next);
    }
    Ok(counters)
}

fn ends(database: &Connection) -> Result<(), ReadError> {
    let mut query = database.prepare("SELECT * FROM ends")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let number = row.get::<_, i64>("number")?.cast_unsigned();
        let text = |name: &str| row.get::<_, String>(name);
        let (end, base, quote, fee) = (text("end")?, text("base")?, text("quote")?, text("fee")?);
        let at_us = row.get::<_, i64>("at_us")?.cast_unsigned();
        let sum: Vec<u8> = row.get("sum")?;
        let expected = end_sum(number, &end, [&base, &quote, &fee], at_us);
        check(&sum, &expected, &format!("the end of intent {number}"))?;
    }
    Ok(())
}

impl Store {
    /// The state of earlier runs. `markets` are the names in the order of the configuration. An open intent of a market
    /// that is not configured is an error, because it could not be tracked.
    pub fn recover(&mut self, markets: &[String]) -> Result<Recovered, StoreError> {
        self.market_names = markets.to_vec();
        let (restrictions, cause) = self.restrictions()?;
        let at = |error: ReadError| error.at(&self.file);
        let mut rows = Vec::new();
        let mut signed = Unexpired::default();
        let found = rows::each(&self.database, |found| {
            // The index of the market is not part of what is signed.
            if let Intent::Order(order) = found.row.rebuild(self.instance, MarketId(0))? {
                signed.add(&order);
            }
            if !found.has_ended {
                let body = whole(found.body, found.row.body_sum(), found.row.number())?;
                rows.push((found.row, body));
            }
            Ok(())
        });
        found.map_err(at)?;
        let (mut open, mut open_moves) = (Vec::new(), Vec::new());
        for (row, body) in rows {
            let market = place(markets, row.market())?;
            let hash = row.hash();
            match row.rebuild(self.instance, market).map_err(at)? {
                Intent::Order(order) => {
                    let filled = booked(&self.database, row.number()).map_err(at)?;
                    let recovered = RecoveredOrder {
                        order,
                        hash,
                        base_filled: filled.base,
                        quote_filled: filled.quote,
                        fee: filled.fee,
                    };
                    open.push(OpenIntent { recovered, body });
                }
                Intent::PoolTransaction(transaction) => {
                    let recovered = RecoveredPoolTransaction { transaction, hash };
                    open_moves.push(OpenPoolTransaction { recovered, body });
                }
            }
        }
        Ok(Recovered {
            instance: self.instance,
            next_number: self.next_number,
            next_storage: counters(&self.database).map_err(at)?,
            open,
            signed: signed.all(),
            open_moves,
            restrictions,
            cause,
            parameters: parameters::in_force(&self.database).map_err(at)?,
        })
    }
}

/// The longest configurable grace.
const GRACE_MAX_S: u64 = 3_600;

/// Signed orders that may still be accepted.
#[derive(Default)]
struct Unexpired {
    by_expiry: BTreeMap<(u32, TokenId), Amount>,
    newest: VenueTime,
}

impl Unexpired {
    /// Adds an order, and drops those that had expired long before it was made: they can no longer be accepted.
    fn add(&mut self, order: &UnsignedOrder) {
        let (token, base) = order.base();
        let sum = self
            .by_expiry
            .entry((order.signature_until_s(), token))
            .or_default();
        *sum = sum.saturating_add(base);
        self.newest = self.newest.max(order.made_at);
        while let Some(first) = self.by_expiry.first_entry()
            && u64::from(first.key().0) + GRACE_MAX_S < self.newest.as_s()
        {
            first.remove();
        }
    }

    fn all(self) -> Vec<(TokenId, u32, Amount)> {
        let each = self.by_expiry.into_iter();
        each.map(|((until_s, token), base)| (token, until_s, base))
            .collect()
    }
}

/// The index of a market in the configuration.
fn place(markets: &[String], market: &str) -> Result<MarketId, StoreError> {
    let index = markets.iter().position(|name| name == market);
    let index = index.ok_or_else(|| StoreError::MarketGone {
        market: market.to_owned(),
    })?;
    Ok(MarketId(u16::try_from(index).unwrap_or(u16::MAX)))
}

/// The bytes of an open intent, verified.
fn whole(body: Option<Vec<u8>>, sum: &Sum, number: u64) -> Result<Vec<u8>, ReadError> {
    body.filter(|body| Sum::over(body) == *sum).ok_or_else(|| {
        ReadError::Damage(format!("the bytes of open intent {number} are incomplete"))
    })
}

/// The sum of the fills booked for an order.
pub(super) fn booked(database: &Connection, number: u64) -> Result<Filled, ReadError> {
    let mut query =
        database.prepare("SELECT base, quote, fee, at_us, sum FROM fills WHERE number = ?1")?;
    let mut rows = query.query([number.cast_signed()])?;
    let mut total = Filled::default();
    while let Some(row) = rows.next()? {
        let [base, quote, fee]: [String; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        let at_us = row.get::<_, i64>(3)?.cast_unsigned();
        let sum: Vec<u8> = row.get(4)?;
        let what = format!("a fill of intent {number}");
        check(&sum, &fill_sum(number, [&base, &quote, &fee], at_us), &what)?;
        let add =
            |total: Amount, part: &str| part.parse().ok().and_then(|part| total.checked_add(part));
        total = (|| {
            Some(Filled {
                base: add(total.base, &base)?,
                quote: add(total.quote, &quote)?,
                fee: add(total.fee, &fee)?,
            })
        })()
        .ok_or(ReadError::Damage(what))?;
    }
    Ok(total)
}
