//! Rows of sealed intents: orders and pool transactions have tables of their own, and one chain.

use std::cmp::Ordering;

use cambist_core::{Hash, Intent, MarketId};
use rusqlite::{Connection, Row as SqlRow, Statement, Transaction};

use super::SealedIntent;
use super::chain::Sum;
use super::orders::OrderRow;
use super::recover::ReadError;
use crate::pool_transactions::PoolTransactionRow;

/// A row of either table.
pub(super) enum Sealed {
    Order(OrderRow),
    Move(PoolTransactionRow),
}

impl Sealed {
    pub(super) fn new(sealed: &SealedIntent, market: String, sealed_us: u64) -> Self {
        let SealedIntent { intent, hash, body } = sealed;
        match intent {
            Intent::Order(order) => {
                Self::Order(OrderRow::new(order, *hash, body, market, sealed_us))
            }
            Intent::PoolTransaction(transaction) => Self::Move(PoolTransactionRow::new(
                transaction,
                *hash,
                body,
                market,
                sealed_us,
            )),
        }
    }

    pub(super) const fn number(&self) -> u64 {
        match self {
            Self::Order(row) => row.number,
            Self::Move(row) => row.number,
        }
    }

    pub(super) fn market(&self) -> &str {
        match self {
            Self::Order(row) => &row.market,
            Self::Move(row) => &row.market,
        }
    }

    pub(super) const fn hash(&self) -> Hash {
        match self {
            Self::Order(row) => row.hash,
            Self::Move(row) => row.hash,
        }
    }

    pub(super) const fn body_sum(&self) -> &Sum {
        match self {
            Self::Order(row) => &row.body_sum,
            Self::Move(row) => &row.body_sum,
        }
    }

    /// The chain value of this row after the given one.
    pub(super) fn chained(&self, before: &Sum) -> Sum {
        match self {
            Self::Order(row) => row.chained(before),
            Self::Move(row) => row.chained(before),
        }
    }

    pub(super) fn insert(&self, change: &Transaction<'_>, chain: &Sum) -> rusqlite::Result<()> {
        match self {
            Self::Order(row) => row.insert(change, chain),
            Self::Move(row) => row.insert(change, chain),
        }
    }

    /// The sealed intent.
    pub(super) fn rebuild(&self, instance: u32, market: MarketId) -> Result<Intent, ReadError> {
        let intent = match self {
            Self::Order(row) => row.rebuild(instance, market).map(Intent::Order),
            Self::Move(row) => row.rebuild(instance, market).map(Intent::PoolTransaction),
        };
        let number = self.number();
        intent.ok_or_else(|| ReadError::Damage(format!("intent {number} cannot be decoded")))
    }
}

/// A row with its bytes.
pub(super) struct Found {
    pub(super) row: Sealed,
    pub(super) chain: Vec<u8>,
    /// Its bytes, if they are still stored.
    pub(super) body: Option<Vec<u8>>,
    /// Whether its end is recorded.
    pub(super) has_ended: bool,
}

impl Found {
    fn read(sql: &SqlRow<'_>, row: Sealed) -> rusqlite::Result<Self> {
        Ok(Self {
            row,
            chain: sql.get("chain")?,
            body: sql.get("body")?,
            has_ended: sql.get("has_ended")?,
        })
    }
}

/// Passes every row of both tables to a function, by number. At most two are in memory.
pub(super) fn each(
    database: &Connection,
    mut show: impl FnMut(Found) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let query = |table: &str| {
        database.prepare(&format!(
            "SELECT {table}.*, bodies.body, ends.number IS NOT NULL AS has_ended FROM {table}
             LEFT JOIN bodies USING (number) LEFT JOIN ends USING (number) ORDER BY {table}.number"
        ))
    };
    let (mut orders, mut moves) = (query("intents")?, query("moves")?);
    let mut orders = rows(&mut orders, |sql| Ok(Sealed::Order(OrderRow::read(sql)?)))?;
    let mut moves = rows(&mut moves, |sql| {
        Ok(Sealed::Move(PoolTransactionRow::read(sql)?))
    })?;
    let (mut order, mut movement) = (orders.next().transpose()?, moves.next().transpose()?);
    loop {
        let first = match (&order, &movement) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(order), Some(movement)) => order.row.number().cmp(&movement.row.number()),
        };
        let next = if first == Ordering::Greater {
            std::mem::replace(&mut movement, moves.next().transpose()?)
        } else {
            std::mem::replace(&mut order, orders.next().transpose()?)
        };
        next.map_or(Ok(()), &mut show)?;
    }
}

type Read = fn(&SqlRow<'_>) -> rusqlite::Result<Sealed>;

fn rows<'a>(
    query: &'a mut Statement<'_>,
    read: Read,
) -> rusqlite::Result<impl Iterator<Item = rusqlite::Result<Found>> + 'a> {
    query.query_map([], move |sql| Found::read(sql, read(sql)?))
}
