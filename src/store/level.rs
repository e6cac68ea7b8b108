//! The durable level: every change is kept with its cause, the newest one holds.

use cambist_core::event::Level;
use rusqlite::{Connection, OptionalExtension, params};

use super::chain::{Row, Sum};
use super::{Store, StoreError};

pub(super) const LEVELS: [Level; 3] = [Level::Trading, Level::CancelOnly, Level::Halted];

pub(super) fn level_sum(id: u64, level: &str, cause: &str, at_us: u64) -> Sum {
    Row::of("level")
        .number(id)
        .text(level)
        .text(cause)
        .number(at_us)
        .sum()
}

impl Store {
    /// Makes a level durable. Lowering it is refused: only `clear_level` does that.
    pub fn set_level(&mut self, level: Level, cause: &str) -> Result<(), StoreError> {
        let (held, _) = self.level()?;
        if level < held {
            return Err(StoreError::Refused {
                what: format!(
                    "the level {} may only be lowered by a person, not to {}",
                    held.name(),
                    level.name()
                ),
            });
        }
        self.append(level, cause)
    }

    /// A person's decision to trade again, with the reason.
    pub fn clear_level(&mut self, reason: &str) -> Result<(), StoreError> {
        self.append(Level::Trading, reason)
    }

    /// The durable level and its cause.
    pub fn level(&self) -> Result<(Level, String), StoreError> {
        newest(&self.database)
            .map_err(|error| super::database_error(&self.file, error))?
            .map_err(|what| StoreError::Corrupt {
                file: self.file.clone(),
                what,
            })
    }

    fn append(&mut self, level: Level, cause: &str) -> Result<(), StoreError> {
        let at_us = self.clock.unix_micros();
        let written = (|| {
            let change = self.database.transaction()?;
            let id: i64 =
                change.query_row("SELECT coalesce(max(id), 0) + 1 FROM levels", [], |row| {
                    row.get(0)
                })?;
            let sum = level_sum(id.cast_unsigned(), level.name(), cause, at_us);
            change.execute(
                "INSERT INTO levels (id, level, cause, at_us, sum) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, level.name(), cause, at_us.cast_signed(), sum.bytes()],
            )?;
            change.commit()
        })();
        written.map_err(|error| self.fail(error))
    }
}

/// The newest level, or what is wrong with its row.
pub(super) fn newest(database: &Connection) -> rusqlite::Result<Result<(Level, String), String>> {
    let row = database
        .query_row(
            "SELECT id, level, cause, at_us, sum FROM levels ORDER BY id DESC LIMIT 1",
            [],
            |row| {
                Ok((
                    row.get::<_, i64>(0)?.cast_unsigned(),
                    row.get::<_, String>(1)?,
                    row.get::<_, String>(2)?,
                    row.get::<_, i64>(3)?.cast_unsigned(),
                    row.get::<_, Vec<u8>>(4)?,
                ))
            },
        )
        .optional()?;
    let Some((id, name, cause, at_us, sum)) = row else {
        return Ok(Ok((Level::Trading, String::new())));
    };
    let level = LEVELS.into_iter().find(|level| level.name() == name);
    let whole = Sum::read(&sum) == Some(level_sum(id, &name, &cause, at_us));
    Ok(match level {
        Some(level) if whole => Ok((level, cause)),
        Some(_) | None => Err(format!(
            "row {id} of the levels does not match its checksum"
        )),
    })
}
