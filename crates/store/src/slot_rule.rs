//! The rule of the venue's slot numbers, kept with the orders that bear them: a folder belongs to one rule, because
//! numbers that were given out by another prove nothing.

use cambist_core::TokenId;
use cambist_core::venue::{EXCHANGE_SLOTS, SlotRule};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::chain::{Row, Sum};
use super::recover::{ReadError, check};

/// The rule of folders that were written before it was stored: that of the exchange interface.
const UNSTATED: SlotRule = SlotRule::Strided {
    slots: EXCHANGE_SLOTS,
};

/// The rule of a folder, if a start has stored one.
pub(super) fn stored(database: &Connection) -> Result<Option<SlotRule>, ReadError> {
    let row = database
        .query_row("SELECT rule, number, sum FROM slot_rule", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((rule, number, sum)): Option<(String, u32, Vec<u8>)> = row else {
        return Ok(None);
    };
    check(&sum, &sum_of(&rule, number), "the rule of slot numbers")?;
    decode(&rule, number)
        .map(Some)
        .ok_or_else(|| ReadError::Damage(format!("{rule:?} is no rule of slot numbers")))
}

/// The rule of a folder that holds intents, or that is opened for this one. The error is the rule of its intents, if
/// another one is wanted.
pub(super) fn of(
    database: &Connection,
    wanted: Option<SlotRule>,
) -> Result<Result<SlotRule, SlotRule>, ReadError> {
    let used = "SELECT EXISTS (SELECT 1 FROM counters)";
    let is_used: bool = database.query_row(used, [], |row| row.get(0))?;
    let stored = stored(database)?;
    // Without intents there is nothing that another rule gave out.
    let held = is_used.then(|| stored.unwrap_or(UNSTATED));
    Ok(match (held, wanted) {
        (Some(held), Some(wanted)) if held != wanted => Err(held),
        (Some(held), _) => Ok(held),
        (None, wanted) => Ok(wanted.or(stored).unwrap_or(UNSTATED)),
    })
}

/// A rule in words, as a part of a sentence.
pub(super) fn in_words(rule: SlotRule) -> String {
    match rule {
        SlotRule::Strided { slots } => format!("storage ids, {slots} of each token"),
        SlotRule::Consecutive { .. } => "numbers without gaps".to_owned(),
        SlotRule::Rising { .. } => "numbers that only rise".to_owned(),
    }
}

/// Stores the rule.
pub(super) fn write(transaction: &Transaction<'_>, rule: SlotRule) -> rusqlite::Result<()> {
    let (name, number) = encode(rule);
    transaction
        .execute(
            "INSERT OR REPLACE INTO slot_rule (id, rule, number, sum) VALUES (1, ?1, ?2, ?3)",
            params![name, number, sum_of(name, number).bytes()],
        )
        .map(|_| ())
}

fn sum_of(rule: &str, number: u32) -> Sum {
    Row::of("slot_rule").text(rule).number(number.into()).sum()
}

fn encode(rule: SlotRule) -> (&'static str, u32) {
    match rule {
        SlotRule::Strided { slots } => ("strided", slots),
        SlotRule::Consecutive { row } => ("consecutive", row.0.into()),
        SlotRule::Rising { row } => ("rising", row.0.into()),
    }
}

fn decode(rule: &str, number: u32) -> Option<SlotRule> {
    let row = || u16::try_from(number).ok().map(TokenId);
    match rule {
        "strided" if number > 0 => Some(SlotRule::Strided { slots: number }),
        "consecutive" => row().map(|row| SlotRule::Consecutive { row }),
        "rising" => row().map(|row| SlotRule::Rising { row }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_stored_as_its_name_and_its_number() {
        let consecutive = |row| SlotRule::Consecutive { row: TokenId(row) };
        let rising = |row| SlotRule::Rising { row: TokenId(row) };
        for (rule, name, number) in [
            (SlotRule::Strided { slots: 1 }, "strided", 1),
            (SlotRule::Strided { slots: 16_384 }, "strided", 16_384),
            (consecutive(0), "consecutive", 0),
            (consecutive(65_535), "consecutive", 65_535),
            (rising(0), "rising", 0),
            (rising(65_535), "rising", 65_535),
        ] {
            assert_eq!(encode(rule), (name, number));
            assert_eq!(decode(name, number), Some(rule));
        }
        for (name, number) in [
            ("strided", 0),
            ("consecutive", 65_536),
            ("rising", 65_536),
            ("other", 1),
        ] {
            assert_eq!(decode(name, number), None, "{name} {number}");
        }
    }
}
