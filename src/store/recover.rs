//! Reading everything back, and refusing what is not whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cambist_core::event::RecoveredOrder;
use cambist_core::order::{FillBy, OrderKind, UnsignedOrder};
use cambist_core::{
    Amount, ClientOrderId, Hash, MarketId, Price, Qty, Side, StrategyId, TokenId, VenueTime,
};
use rusqlite::{Connection, Row as SqlRow};

use super::chain::Sum;
use super::intents::{IntentRow, end_sum, fill_by_name, fill_sum, kind_name};
use super::moves::MoveRow;
use super::schema::{anchor_sum, counter_sum, meta_sum};
use super::{Filled, OpenIntent, OpenMove, Recovered, Store, StoreError, database_error, level};

/// What a verification found.
pub(super) struct Verified {
    pub(super) head: Sum,
    pub(super) instance: u32,
    pub(super) next_number: u64,
    pub(super) newest_number: u64,
}

/// Trouble while reading: the database's, or ours.
pub(super) enum Trouble {
    Database(rusqlite::Error),
    Damage(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            // A value of the wrong type or range in a strict table was not written by us.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::QueryReturnedNoRows => Self::Damage(error.to_string()),
            other => Self::Database(other),
        }
    }
}

impl Trouble {
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

/// Checks every row that a start relies on.
pub(super) fn verify(database: &Connection, file: &Path) -> Result<Verified, StoreError> {
    verified(database).map_err(|trouble| trouble.at(file))
}

fn verified(database: &Connection) -> Result<Verified, Trouble> {
    let (instance, next_number, newest, sum): (u32, i64, Vec<u8>, Vec<u8>) = database.query_row(
        "SELECT instance, next_number, head, sum FROM meta",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    let next_number = next_number.cast_unsigned();
    let newest = Sum::read(&newest)
        .ok_or_else(|| Trouble::Damage("the head of the chain is no checksum".to_owned()))?;
    check(
        &sum,
        &meta_sum(instance, next_number, &newest),
        "the meta row",
    )?;
    let counters = counters(database)?;
    let (mut number, mut head) = anchor(database)?;
    let mut moves = moves(database)?.into_iter().peekable();
    let mut query = database.prepare("SELECT * FROM intents ORDER BY number")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let intent = read_intent(row)?;
        while let Some((between, chain)) = moves.next_if(|(m, _)| m.number < intent.number) {
            head = check_move(&between, &chain, &head, &counters, next_number)?;
            number = between.number;
        }
        let chain: Vec<u8> = row.get("chain")?;
        let expected = intent.chained(&head);
        let what = format!(
            "the chain of intents at number {} (after {number})",
            intent.number
        );
        check(&chain, &expected, &what)?;
        let next = counters
            .get(&TokenId(intent.sell_token))
            .copied()
            .unwrap_or(0);
        if intent.storage_id >= next || intent.number >= next_number {
            return Err(Trouble::Damage(format!(
                "counters lie behind intent {}",
                intent.number
            )));
        }
        number = intent.number;
        head = expected;
    }
    for (after, chain) in moves {
        head = check_move(&after, &chain, &head, &counters, next_number)?;
        number = after.number;
    }
    if head != newest {
        return Err(Trouble::Damage(format!(
            "the intents after number {number} are missing"
        )));
    }
    ends(database)?;
    match level::newest(database)? {
        Ok(_) => {}
        Err(what) => return Err(Trouble::Damage(what)),
    }
    Ok(Verified {
        head,
        instance,
        next_number,
        newest_number: number,
    })
}

/// Every move with its chain value, by number.
fn moves(database: &Connection) -> Result<Vec<(MoveRow, Vec<u8>)>, Trouble> {
    let mut query = database.prepare("SELECT * FROM moves ORDER BY number")?;
    let rows = query.query_map([], |row| Ok((MoveRow::read(row)?, row.get("chain")?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The chain after a move, if the move and the counters fit it.
fn check_move(
    row: &MoveRow,
    chain: &[u8],
    before: &Sum,
    counters: &BTreeMap<TokenId, u32>,
    next_number: u64,
) -> Result<Sum, Trouble> {
    let expected = row.chained(before);
    let what = format!("the chain of intents at number {}", row.number);
    check(chain, &expected, &what)?;
    let behind = |(token, id): (TokenId, u32)| id >= counters.get(&token).copied().unwrap_or(0);
    // The market's place does not matter to what is checked here.
    let rebuilt = row.rebuild(0, MarketId(0));
    let rebuilt = rebuilt
        .ok_or_else(|| Trouble::Damage(format!("move {} cannot be understood", row.number)))?;
    if rebuilt.wanted.slots().any(behind) || row.number >= next_number {
        let what = format!("counters lie behind intent {}", row.number);
        return Err(Trouble::Damage(what));
    }
    Ok(expected)
}

fn check(found: &[u8], expected: &Sum, what: &str) -> Result<(), Trouble> {
    if Sum::read(found) == Some(*expected) {
        Ok(())
    } else {
        Err(Trouble::Damage(format!(
            "{what} does not match its checksum"
        )))
    }
}

fn anchor(database: &Connection) -> Result<(u64, Sum), Trouble> {
    let (number, chain, sum): (i64, Vec<u8>, Vec<u8>) =
        database.query_row("SELECT number, chain, sum FROM anchor", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let number = number.cast_unsigned();
    let chain =
        Sum::read(&chain).ok_or_else(|| Trouble::Damage("the anchor is no checksum".to_owned()))?;
    check(&sum, &anchor_sum(number, &chain), "the anchor")?;
    Ok((number, chain))
}

fn counters(database: &Connection) -> Result<BTreeMap<TokenId, u32>, Trouble> {
    let mut query = database.prepare("SELECT token, next_storage, sum FROM counters")?;
    let mut rows = query.query([])?;
    let mut counters = BTreeMap::new();
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

fn ends(database: &Connection) -> Result<(), Trouble> {
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

pub(super) fn read_intent(row: &SqlRow<'_>) -> Result<IntentRow, Trouble> {
    let number = row.get::<_, i64>("number")?.cast_unsigned();
    let body_sum: Vec<u8> = row.get("body_sum")?;
    let body_sum = Sum::read(&body_sum)
        .ok_or_else(|| Trouble::Damage(format!("intent {number} has no checksum of its bytes")))?;
    Ok(IntentRow {
        number,
        strategy: row.get("strategy")?,
        market: row.get("market")?,
        side: row.get("side")?,
        price: row.get("price")?,
        qty: row.get("qty")?,
        kind: row.get("kind")?,
        sell_token: row.get("sell_token")?,
        sell_amount: row.get("sell_amount")?,
        buy_token: row.get("buy_token")?,
        buy_amount: row.get("buy_amount")?,
        fill_by: row.get("fill_by")?,
        storage_id: row.get("storage_id")?,
        valid_until_s: row.get("valid_until_s")?,
        max_fee_bips: row.get("max_fee_bips")?,
        made_at_ms: row.get::<_, i64>("made_at_ms")?.cast_unsigned(),
        hash: Hash(row.get("hash")?),
        body_sum,
        sealed_us: row.get::<_, i64>("sealed_us")?.cast_unsigned(),
    })
}

impl Store {
    /// What earlier runs left. `markets` are the names in the order of the configuration; an open
    /// intent of a market that is no longer configured is refused, because nobody would watch it.
    pub fn recover(&mut self, markets: &[String]) -> Result<Recovered, StoreError> {
        self.market_names = markets.to_vec();
        let (levels, cause) = self.levels()?;
        let at = |trouble: Trouble| trouble.at(&self.file);
        let mut open_moves = Vec::new();
        for (row, body) in self.open_move_rows().map_err(at)? {
            let market = place(markets, &row.market)?;
            let recovered = row.rebuild(self.instance, market).ok_or_else(|| {
                let what = format!("move {} cannot be understood", row.number);
                at(Trouble::Damage(what))
            })?;
            open_moves.push(OpenMove { recovered, body });
        }
        let open = self.open_rows().map_err(at)?;
        let mut intents = Vec::with_capacity(open.len());
        for (row, body) in open {
            let market = place(markets, &row.market)?;
            let recovered = self.rebuild(&row, market).map_err(at)?;
            intents.push(OpenIntent { recovered, body });
        }
        Ok(Recovered {
            instance: self.instance,
            next_number: self.next_number,
            next_storage: counters(&self.database).map_err(at)?,
            open: intents,
            open_moves,
            levels,
            cause,
        })
    }

    fn ended(&self) -> Result<BTreeSet<u64>, Trouble> {
        let mut query = self.database.prepare("SELECT number FROM ends")?;
        let numbers = query.query_map([], |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))?;
        Ok(numbers.collect::<rusqlite::Result<_>>()?)
    }

    fn open_move_rows(&self) -> Result<Vec<(MoveRow, Vec<u8>)>, Trouble> {
        let ended = self.ended()?;
        let mut query = self.database.prepare(
            "SELECT moves.*, body FROM moves LEFT JOIN bodies USING (number) ORDER BY number",
        )?;
        let mut rows = query.query([])?;
        let mut open = Vec::new();
        while let Some(row) = rows.next()? {
            let found = MoveRow::read(row)?;
            if !ended.contains(&found.number) {
                let body = whole(row.get("body")?, &found.body_sum, found.number)?;
                open.push((found, body));
            }
        }
        Ok(open)
    }

    fn open_rows(&self) -> Result<Vec<(IntentRow, Vec<u8>)>, Trouble> {
        let ended = self.ended()?;
        let mut query = self.database.prepare(
            "SELECT intents.*, body FROM intents LEFT JOIN bodies USING (number) ORDER BY number",
        )?;
        let mut rows = query.query([])?;
        let mut open = Vec::new();
        while let Some(row) = rows.next()? {
            let intent = read_intent(row)?;
            if ended.contains(&intent.number) {
                continue;
            }
            let body = whole(row.get("body")?, &intent.body_sum, intent.number)?;
            open.push((intent, body));
        }
        Ok(open)
    }

    fn rebuild(&self, row: &IntentRow, market: MarketId) -> Result<RecoveredOrder, Trouble> {
        let order = order(row, self.instance, market).ok_or_else(|| {
            Trouble::Damage(format!("intent {} cannot be understood", row.number))
        })?;
        let filled = booked(&self.database, row.number)?;
        Ok(RecoveredOrder {
            order,
            hash: row.hash,
            base_filled: filled.base,
            quote_filled: filled.quote,
            fee: filled.fee,
        })
    }
}

/// The place of a market in the configuration.
fn place(markets: &[String], market: &str) -> Result<MarketId, StoreError> {
    let index = markets.iter().position(|name| name == market);
    let index = index.ok_or_else(|| StoreError::MarketGone {
        market: market.to_owned(),
    })?;
    Ok(MarketId(u16::try_from(index).unwrap_or(u16::MAX)))
}

/// The bytes of an open intent, if they are all there.
fn whole(body: Option<Vec<u8>>, sum: &Sum, number: u64) -> Result<Vec<u8>, Trouble> {
    body.filter(|body| Sum::over(body) == *sum)
        .ok_or_else(|| Trouble::Damage(format!("the bytes of open intent {number} are not whole")))
}

fn order(row: &IntentRow, instance: u32, market: MarketId) -> Option<UnsignedOrder> {
    let kinds = [OrderKind::Limit, OrderKind::MakerOnly, OrderKind::TakerOnly];
    let fill_bys = [FillBy::Buy, FillBy::Sell];
    Some(UnsignedOrder {
        client_id: ClientOrderId {
            instance,
            strategy: StrategyId(row.strategy),
            number: row.number,
        },
        market,
        side: Side::BOTH
            .into_iter()
            .find(|side| side.name() == row.side)?,
        price: Price(row.price.parse().ok()?),
        qty: Qty(row.qty.parse().ok()?),
        kind: kinds
            .into_iter()
            .find(|kind| kind_name(*kind) == row.kind)?,
        sell_token: TokenId(row.sell_token),
        sell_amount: row.sell_amount.parse().ok()?,
        buy_token: TokenId(row.buy_token),
        buy_amount: row.buy_amount.parse().ok()?,
        fill_by: fill_bys
            .into_iter()
            .find(|by| fill_by_name(*by) == row.fill_by)?,
        storage_id: row.storage_id,
        valid_until_s: row.valid_until_s,
        max_fee_bips: row.max_fee_bips,
        made_at: VenueTime(row.made_at_ms),
    })
}

/// What was booked for an order so far.
pub(super) fn booked(database: &Connection, number: u64) -> Result<Filled, Trouble> {
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
        .ok_or(Trouble::Damage(what))?;
    }
    Ok(total)
}
