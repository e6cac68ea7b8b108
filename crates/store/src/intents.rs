//! Writes intents, fills and ends; removes old rows.

use cambist_core::notification::{End, Fill, PoolTransactionSettlement};
use cambist_core::venue::SlotRule;
use cambist_core::{ClientOrderId, MarketId, TokenId};
use rusqlite::{Transaction, params};

use super::chain::{Row, Sum};
use super::rows::Sealed;
use super::schema::{set_anchor, set_counter, set_meta};
use super::{Filled, SealedIntent, Store, StoreError};
use crate::pool_transactions::insert_moved;

pub(super) fn end_sum(number: u64, end: &str, amounts: [&str; 3], at_us: u64) -> Sum {
    let row = Row::of("end").number(number).text(end);
    let row = amounts.into_iter().fold(row, Row::text);
    row.number(at_us).sum()
}

pub(super) fn fill_sum(number: u64, amounts: [&str; 3], at_us: u64) -> Sum {
    let row = amounts
        .into_iter()
        .fold(Row::of("fill").number(number), Row::text);
    row.number(at_us).sum()
}

impl Store {
    /// Writes a batch in one synced transaction: every intent, its bytes and the counters. After `Ok` the batch
    /// survives everything except the loss of the disk; after an error none of it may be sent.
    pub fn seal(&mut self, batch: &[SealedIntent]) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::Broken);
        }
        let now_us = self.clock.unix_micros();
        let mut head = self.head;
        let mut next_number = self.next_number;
        let mut rows = Vec::with_capacity(batch.len());
        for intent in batch {
            let id = intent.intent.id();
            if id.instance != self.instance || id.number < next_number {
                return Err(StoreError::Refused {
                    what: format!(
                        "intent {id} is not newer than number {next_number} of instance {:08x}",
                        self.instance
                    ),
                });
            }
            next_number = id.number.saturating_add(1);
            let market = self.market_name(id, intent.intent.market())?;
            let row = Sealed::new(intent, market, now_us);
            head = row.chained(&head);
            rows.push(Writing {
                row,
                chain: head,
                slots: intent.intent.slots(self.slots),
                body: &intent.body,
            });
        }
        match write(
            &mut self.database,
            self.slots,
            (self.instance, next_number),
            &head,
            &rows,
        ) {
            Ok(true) => {
                self.head = head;
                self.next_number = next_number;
                Ok(())
            }
            Ok(false) => Err(StoreError::Refused {
                what: "a storage id of the batch was used before".to_owned(),
            }),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn market_name(&self, id: ClientOrderId, market: MarketId) -> Result<String, StoreError> {
        let name = self.market_names.get(usize::from(market.0));
        name.cloned().ok_or_else(|| StoreError::Refused {
            what: format!(
                "intent {id} refers to market {}, which was not given to recover()",
                market.0
            ),
        })
    }

    /// Removes ended intents sealed more than `keep_days` ago; rows of fills and moved amounts stay. Only the beginning
    /// of the chain is removed, and its last value becomes the anchor, so that the rest remains verifiable. Returns the
    /// number of removed intents.
    pub fn prune(&mut self, keep_days: u32) -> Result<usize, StoreError> {
        let age_us = u64::from(keep_days) * 86_400_000_000;
        let cutoff = self
            .clock
            .unix_micros()
            .saturating_sub(age_us)
            .cast_signed();
        let pruned = (|| {
            let transaction = self.database.transaction()?;
            let last = {
                let mut query = transaction.prepare(
                    "WITH sealed AS (SELECT number, sealed_us FROM intents
                         UNION ALL SELECT number, sealed_us FROM moves)
                     SELECT max(number) FROM sealed WHERE number < coalesce((SELECT min(number)
                     FROM sealed LEFT JOIN ends USING (number)
                     WHERE ends.number IS NULL OR sealed_us >= ?1), 9223372036854775807)",
                )?;
                query.query_row([cutoff], |row| row.get::<_, Option<i64>>(0))?
            };
            let Some(last) = last else { return Ok(0) };
            let chain: Vec<u8> = transaction.query_row(
                "SELECT chain FROM intents WHERE number = ?1
                 UNION ALL SELECT chain FROM moves WHERE number = ?1",
                [last],
                |row| row.get(0),
            )?;
            let chain = Sum::read(&chain).unwrap_or(Sum::ORIGIN);
            set_anchor(&transaction, last.cast_unsigned(), &chain)?;
            for table in ["ends", "bodies"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE number <= ?1"), [last])?;
            }
            let mut gone = 0;
            for table in ["intents", "moves"] {
                gone += transaction
                    .execute(&format!("DELETE FROM {table} WHERE number <= ?1"), [last])?;
            }
            transaction.commit()?;
            Ok(gone)
        })();
        pruned.map_err(|error| self.fail(error))
    }
}

/// Writes the proven end of an order or pool transaction; `false` if it is not open. Its bytes are removed. The amounts
/// of a pool transaction are written in the same transaction.
pub(super) fn insert_end(
    transaction: &Transaction<'_>,
    (order, end): (ClientOrderId, End),
    filled: &Filled,
    moved: Option<(&PoolTransactionSettlement, &str)>,
    at_us: u64,
) -> rusqlite::Result<bool> {
    let amounts = [filled.base, filled.quote, filled.fee].map(|amount| amount.to_string());
    let [base, quote, fee] = &amounts;
    let sum = end_sum(order.number, end.name(), [base, quote, fee], at_us);
    let known = transaction.execute(
        "INSERT INTO ends SELECT number, ?2, ?3, ?4, ?5, ?6, ?7 FROM
         (SELECT number FROM intents UNION ALL SELECT number FROM moves) WHERE number = ?1
         ON CONFLICT DO NOTHING",
        params![
            order.number.cast_signed(),
            end.name(),
            base,
            quote,
            fee,
            at_us.cast_signed(),
            sum.bytes()
        ],
    )?;
    if let Some((moved, market)) = moved.filter(|_| known == 1) {
        insert_moved(transaction, moved, market, at_us)?;
    }
    transaction.execute(
        "DELETE FROM bodies WHERE number = ?1",
        [order.number.cast_signed()],
    )?;
    Ok(known == 1)
}

/// Writes a booked fill, so that a restart does not book it again.
pub(super) fn insert_fill(
    transaction: &Transaction<'_>,
    fill: &Fill,
    market: &str,
    at_us: u64,
) -> rusqlite::Result<()> {
    let number = fill.order.number;
    let amounts = [fill.base, fill.quote, fill.fee].map(|amount| amount.to_string());
    let [base, quote, fee] = &amounts;
    let sum = fill_sum(number, [base, quote, fee], at_us);
    transaction
        .execute(
            "INSERT INTO fills (number, market, side, base, quote, fee, mid, at_us, sum, strategy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                number.cast_signed(),
                market,
                fill.side.name(),
                base,
                quote,
                fee,
                fill.mid.map(|mid| mid.to_string()),
                at_us.cast_signed(),
                sum.bytes(),
                fill.order.strategy.0,
            ],
        )
        .map(|_| ())
}

/// One intent of a batch being written.
struct Writing<'a> {
    row: Sealed,
    chain: Sum,
    slots: Vec<(TokenId, u32)>,
    body: &'a [u8],
}

/// Returns `false` if a number that may be used once is not above the highest one ever used.
fn write(
    database: &mut rusqlite::Connection,
    rule: SlotRule,
    (instance, next_number): (u32, u64),
    head: &Sum,
    rows: &[Writing<'_>],
) -> rusqlite::Result<bool> {
    let transaction = database.transaction()?;
    for Writing {
        row,
        chain,
        slots,
        body,
    } in rows
    {
        for (token, id) in slots {
            let used: Option<u32> = transaction.query_row(
                "SELECT max(next_storage) FROM counters WHERE token = ?1",
                [token.0],
                |found| found.get(0),
            )?;
            let next = match rule {
                SlotRule::Strided { .. } | SlotRule::Rising { .. }
                    if used.is_some_and(|next| *id < next) =>
                {
                    return Ok(false);
                }
                // The next even id: pool transactions use the odd one before it.
                SlotRule::Strided { .. } => (*id | 1).saturating_add(1),
                SlotRule::Rising { .. } => id.saturating_add(1),
                // A number that was never spent is used again.
                SlotRule::Consecutive { .. } => id.saturating_add(1).max(used.unwrap_or_default()),
            };
            set_counter(&transaction, token.0, next)?;
        }
        row.insert(&transaction, chain)?;
        transaction.execute(
            "INSERT INTO bodies (number, body) VALUES (?1, ?2)",
            params![row.number().cast_signed(), body],
        )?;
    }
    set_meta(&transaction, instance, next_number, head)?;
    transaction.commit()?;
    Ok(true)
}
