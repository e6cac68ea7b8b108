//! The durable trading state and pauses: every change is kept with its cause, the newest applies. Versions before 5
//! stored losses in the same rows.
//!
//! Pauses are stored by market name, because the order in the configuration may change. A pause of a market that is no
//! longer configured is dropped.

use cambist_core::event::{Filter, LossBaseline, Pause, Rate, Restrictions, TradingState};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, Side, StrategyId, VenueTime};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::chain::{Row, Sum};
use crate::{Store, StoreError};

fn level_sum(id: u64, stored: &StoredState, at_us: u64) -> Sum {
    let row = Row::of("level")
        .number(id)
        .text(stored.level.name())
        .text(&stored.cause)
        .number(at_us);
    // Rows of the first version have no pauses.
    if stored.pauses.is_empty() {
        row.sum()
    } else {
        row.text(&stored.pauses).sum()
    }
}

/// A stored row.
#[derive(Debug)]
pub(super) struct StoredState {
    pub(super) level: TradingState,
    pub(super) cause: String,
    /// JSON, or empty.
    pauses: String,
}

/// Stored form of a pause.
#[derive(Debug, Serialize, Deserialize)]
struct PauseJson {
    market: Option<String>,
    side: Option<String>,
    strategy: Option<u8>,
    since_ms: u64,
    until_ms: Option<u64>,
    cause: String,
}

/// Stored form of a market's loss. Amounts are strings, because they may exceed JSON numbers.
#[derive(Debug, Serialize, Deserialize)]
struct LossJson {
    market: String,
    day: u64,
    today: String,
    total: String,
    drawdown: String,
    /// In rows that store the mid as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<LastMidJson>,
}

/// The loss of the hour before a time, and the mid used for all losses: quote units, and base units that they are
/// worth.
#[derive(Debug, Serialize, Deserialize)]
struct LastMidJson {
    hour: String,
    hour_at_ms: u64,
    mid: [String; 2],
}

impl LossJson {
    fn read(&self) -> Option<LossBaseline> {
        let mut lost = LossBaseline {
            day: self.day,
            today: self.today.parse().ok()?,
            total: self.total.parse().ok()?,
            drawdown: self.drawdown.parse().ok()?,
            ..LossBaseline::default()
        };
        if let Some(last) = &self.last {
            let [quote, base] = &last.mid;
            let (quote, base) = (quote.parse().ok()?, base.parse().ok()?);
            (lost.hour, lost.hour_at) = (last.hour.parse().ok()?, VenueTime(last.hour_at_ms));
            lost.mid = Some(Rate { quote, base }).filter(|_| base > 0);
        }
        Some(lost)
    }
}

/// Content of the column of pauses: the pauses alone if nothing was lost, as in the first versions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum PausesJson {
    Pauses(Vec<PauseJson>),
    Both {
        pauses: Vec<PauseJson>,
        lost: Vec<LossJson>,
    },
}

impl Store {
    /// Writes the trading state and pauses. A less restrictive state is refused unless the operator `lowers` it.
    pub fn set_restrictions(
        &mut self,
        restrictions: &Restrictions,
        cause: &str,
        lowers: bool,
    ) -> Result<(), StoreError> {
        let (stored, _) = self.level()?;
        let level = restrictions.state;
        if level < stored && !lowers {
            return Err(StoreError::Refused {
                what: format!(
                    "the trading state {} can only be changed to {} by the operator",
                    stored.name(),
                    level.name()
                ),
            });
        }
        self.append(level, cause, self.written(restrictions))
    }

    /// The operator's decision to trade again, with the reason: resets the trading state and lifts every pause.
    pub fn clear_level(&mut self, reason: &str) -> Result<(), StoreError> {
        self.append(TradingState::Active, reason, String::new())
    }

    /// The durable trading state and its cause.
    pub fn level(&self) -> Result<(TradingState, String), StoreError> {
        self.stored().map(|stored| (stored.level, stored.cause))
    }

    /// Whether the trading state was ever changed for exactly this cause.
    pub fn had_cause(&self, cause: &str) -> Result<bool, StoreError> {
        let found = self.database.query_row(
            "SELECT EXISTS (SELECT 1 FROM levels WHERE cause = ?1)",
            [cause],
            |row| row.get(0),
        );
        found.map_err(|error| crate::database_error(&self.file, error))
    }

    /// Whether the newest change contains pauses, ended or not.
    pub fn is_paused(&self) -> Result<bool, StoreError> {
        let written = self.parse_pauses(&self.stored()?.pauses)?;
        Ok(match written {
            PausesJson::Pauses(pauses) | PausesJson::Both { pauses, .. } => !pauses.is_empty(),
        })
    }

    /// The durable trading state, pauses and their cause. Requires the markets of `recover`.
    pub(super) fn restrictions(&self) -> Result<(Restrictions, String), StoreError> {
        let stored = self.stored()?;
        let (PausesJson::Pauses(pauses) | PausesJson::Both { pauses, .. }) =
            self.parse_pauses(&stored.pauses)?;
        let pauses = self.pauses(pauses).ok_or_else(|| self.garbled())?;
        let level = stored.level;
        Ok((
            Restrictions {
                state: level,
                pauses,
            },
            stored.cause,
        ))
    }

    /// Losses of markets from an earlier version, unless the operator reset them.
    pub(super) fn carried_losses(&self) -> Result<SortedMap<MarketId, LossBaseline>, StoreError> {
        let failed = |error| crate::database_error(&self.file, error);
        let row = self
            .database
            .query_row("SELECT level FROM carried", [], |row| row.get(0));
        let row: Option<i64> = row.optional().map_err(failed)?;
        let found = row
            .map(|id| at(&self.database, id))
            .transpose()
            .map_err(failed)?;
        let Some(found) = found.flatten() else {
            return Ok(SortedMap::new());
        };
        let stored = found.map_err(|what| StoreError::Corrupt {
            file: self.file.clone(),
            what,
        })?;
        match self.parse_pauses(&stored.pauses)? {
            PausesJson::Pauses(_) => Ok(SortedMap::new()),
            PausesJson::Both { lost, .. } => self.lost(lost).ok_or_else(|| self.garbled()),
        }
    }

    fn garbled(&self) -> StoreError {
        StoreError::Corrupt {
            file: self.file.clone(),
            what: "the pauses or losses cannot be decoded".to_owned(),
        }
    }

    fn parse_pauses(&self, text: &str) -> Result<PausesJson, StoreError> {
        if text.is_empty() {
            return Ok(PausesJson::Pauses(Vec::new()));
        }
        serde_json::from_str(text).map_err(|_| self.garbled())
    }

    fn place(&self, name: &str) -> Option<MarketId> {
        let index = self.market_names.iter().position(|known| known == name)?;
        u16::try_from(index).ok().map(MarketId)
    }

    fn lost(&self, rows: Vec<LossJson>) -> Option<SortedMap<MarketId, LossBaseline>> {
        let mut all = SortedMap::new();
        for row in rows {
            let lost = row.read()?;
            // As with pauses, markets that are no longer configured are dropped.
            all.extend(self.place(&row.market).map(|market| (market, lost)));
        }
        Some(all)
    }

    fn written(&self, restrictions: &Restrictions) -> String {
        let name = |market: MarketId| self.market_names.get(usize::from(market.0)).cloned();
        let pauses: Vec<_> = restrictions
            .pauses
            .iter()
            .map(|pause| PauseJson {
                market: pause.filter.market.and_then(name),
                side: pause.filter.side.map(|side| side.name().to_owned()),
                strategy: pause.filter.strategy.map(|id| id.0),
                since_ms: pause.since.0,
                until_ms: pause.until.map(|until| until.0),
                cause: pause.cause.clone(),
            })
            .collect();
        if pauses.is_empty() {
            return String::new();
        }
        serde_json::to_string(&PausesJson::Pauses(pauses)).unwrap_or_default()
    }

    fn pauses(&self, rows: Vec<PauseJson>) -> Option<Vec<Pause>> {
        let mut pauses = Vec::with_capacity(rows.len());
        for row in rows {
            let market = row.market.as_deref().map(|name| self.place(name));
            if market == Some(None) {
                continue;
            }
            let named = |name: String| Side::BOTH.into_iter().find(|side| side.name() == name);
            let side = row.side.map(named);
            if side == Some(None) {
                return None;
            }
            pauses.push(Pause {
                filter: Filter {
                    market: market.flatten(),
                    side: side.flatten(),
                    strategy: row.strategy.map(StrategyId),
                },
                since: VenueTime(row.since_ms),
                until: row.until_ms.map(VenueTime),
                cause: row.cause,
            });
        }
        Some(pauses)
    }

    fn stored(&self) -> Result<StoredState, StoreError> {
        newest(&self.database)
            .map_err(|error| crate::database_error(&self.file, error))?
            .map_err(|what| StoreError::Corrupt {
                file: self.file.clone(),
                what,
            })
    }

    pub(super) fn append(
        &mut self,
        level: TradingState,
        cause: &str,
        pauses: String,
    ) -> Result<(), StoreError> {
        let stored = StoredState {
            level,
            cause: cause.to_owned(),
            pauses,
        };
        let at_us = self.clock.unix_micros();
        let written = (|| {
            let transaction = self.database.transaction()?;
            let id: i64 = transaction.query_row(
                "SELECT coalesce(max(id), 0) + 1 FROM levels",
                [],
                |row| row.get(0),
            )?;
            let sum = level_sum(id.cast_unsigned(), &stored, at_us);
            transaction.execute(
                "INSERT INTO levels (id, level, cause, pauses, at_us, sum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    id,
                    level.name(),
                    cause,
                    stored.pauses,
                    at_us.cast_signed(),
                    sum.bytes()
                ],
            )?;
            transaction.commit()
        })();
        written.map_err(|error| self.fail(error))
    }
}

/// Marks losses of an earlier version as void.
pub(super) fn forget_carried(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction
        .execute("UPDATE carried SET level = 0", [])
        .map(|_| ())
}

/// The newest row, or the damage.
pub(super) fn newest(database: &Connection) -> rusqlite::Result<Result<StoredState, String>> {
    let newest = "SELECT max(id) FROM levels";
    let id: Option<i64> = database.query_row(newest, [], |row| row.get(0))?;
    let found = id.map(|id| at(database, id)).transpose()?.flatten();
    Ok(found.unwrap_or_else(|| {
        Ok(StoredState {
            level: TradingState::Active,
            cause: String::new(),
            pauses: String::new(),
        })
    }))
}

/// One row, or the damage; `None` if it does not exist.
fn at(database: &Connection, id: i64) -> rusqlite::Result<Option<Result<StoredState, String>>> {
    let row = database
        .query_row(
            "SELECT level, cause, pauses, at_us, sum FROM levels WHERE id = ?1",
            [id],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, String>(2)?,
                    row.get::<_, i64>(3)?.cast_unsigned(),
                    row.get::<_, Vec<u8>>(4)?,
                ))
            },
        )
        .optional()?;
    let Some((name, cause, pauses, at_us, sum)) = row else {
        return Ok(None);
    };
    let id = id.cast_unsigned();
    let level = TradingState::ALL
        .into_iter()
        .find(|level| level.name() == name);
    let stored = level.map(|level| StoredState {
        level,
        cause,
        pauses,
    });
    let whole = |stored: &StoredState| Sum::read(&sum) == Some(level_sum(id, stored, at_us));
    Ok(Some(stored.filter(whole).ok_or_else(|| {
        format!("row {id} of the table levels does not match its checksum")
    })))
}
