//! The durable books: ledger, differences from the venue, positions by market, and the venue's listing at the last
//! start.
//!
//! Rows are replaced in the same transaction as the rows that change them, so that they always equal the opening
//! balances plus all fills, ends and flows in the store.

use std::collections::BTreeMap;
use std::fmt;

use cambist_core::books::{Baselines, Books, Difference, Position};
use cambist_core::event::{Rate, Totals};
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::ChargedAs;
use cambist_core::{MarketId, MarketSpec, PoolSpec, TokenId, TokenSpec, VenueTime};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use super::chain::{Row, Sum};
use super::recover::{ReadError, check};

/// The venue's listing at the last start: sufficient to format amounts and compute losses without the venue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Markets, in the order of the configuration.
    pub markets: Vec<MarketSpec>,
    /// Pools beside them.
    pub pools: Vec<PoolSpec>,
    /// Every token.
    pub tokens: Vec<TokenSpec>,
    /// What charges of the venue count as.
    #[serde(default)]
    pub charged_as: Option<ChargedAs>,
    /// The account, compared with the venue; none in a folder of a program before it was stored.
    #[serde(default)]
    pub account: Option<FolderAccount>,
}

/// The account that a state folder belongs to, as far as it is known without asking the venue. Its books and orders are
/// those of no other one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderAccount {
    /// Kind of venue, as in the configuration.
    pub kind: String,
    /// Which venue of this kind it is, if the file states it: the exchange's address, or the chain.
    pub venue: Option<String>,
    /// The account at the venue.
    pub account: String,
}

impl FolderAccount {
    /// Whether this is certainly another account.
    pub fn is_other(&self, than: &Self) -> bool {
        let venues = self.venue.as_ref().zip(than.venue.as_ref());
        (&self.kind, &self.account) != (&than.kind, &than.account)
            || venues.is_some_and(|(one, other)| one != other)
    }
}

impl fmt::Display for FolderAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            venue,
            account,
        } = self;
        write!(f, "account {account} at {kind}")?;
        venue.as_ref().map_or(Ok(()), |venue| write!(f, " {venue}"))
    }
}

impl Listing {
    /// The decimals of a token, or of the shares of a pool.
    pub fn decimals_of(&self, symbol: &str) -> Option<u8> {
        let shares = self.pools.iter().map(|pool| &pool.lp);
        let mut tokens = self.tokens.iter().chain(shares);
        let token = tokens.find(|token| token.symbol == symbol)?;
        Some(token.decimals)
    }
}

/// Stored form of loss baselines. Values are strings, because they may exceed JSON numbers.
#[derive(Debug, Serialize, Deserialize)]
struct BaselinesJson {
    day: u64,
    day_open: String,
    total: String,
    peak: String,
    /// Venue time in milliseconds, and the value.
    hour: Vec<(u64, String)>,
    /// Quote units, and base units that they are worth.
    mid: [String; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pooled: Option<String>,
}

impl BaselinesJson {
    fn of(baselines: &Baselines) -> Self {
        let hour = baselines.hour.iter();
        Self {
            day: baselines.day,
            day_open: baselines.day_open.to_string(),
            total: baselines.total.to_string(),
            peak: baselines.peak.to_string(),
            hour: hour.map(|(at, high)| (at.0, high.to_string())).collect(),
            mid: [baselines.mid.quote, baselines.mid.base].map(|units| units.to_string()),
            pooled: baselines.pooled.map(|pooled| pooled.to_string()),
        }
    }

    fn read(&self) -> Option<Baselines> {
        let hour = self.hour.iter();
        let hour = hour.map(|(at, high)| Some((VenueTime(*at), high.parse().ok()?)));
        let [quote, base] = &self.mid;
        Some(Baselines {
            day: self.day,
            day_open: self.day_open.parse().ok()?,
            total: self.total.parse().ok()?,
            peak: self.peak.parse().ok()?,
            hour: hour.collect::<Option<_>>()?,
            mid: Rate {
                quote: quote.parse().ok()?,
                base: base.parse().ok()?,
            },
            pooled: match &self.pooled {
                Some(pooled) => Some(pooled.parse().ok()?),
                None => None,
            },
        })
    }
}

/// The stored books, with positions by market name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) ledger: Option<Totals>,
    pub(super) differences: SortedMap<TokenId, Difference>,
    pub(super) positions: BTreeMap<String, Position>,
    pub(super) charged_below: u64,
}

impl Rows {
    /// The books for the configured markets.
    pub(super) fn books(&self, markets: &[String]) -> Books {
        let positions = (0..).map(MarketId).zip(markets);
        let positions = positions.filter_map(|(id, name)| Some((id, self.positions.get(name)?)));
        Books {
            ledger: self.ledger.clone(),
            differences: self.differences.clone(),
            positions: positions.map(|(id, p)| (id, p.clone())).collect(),
            charged_below: self.charged_below,
        }
    }
}

fn ledger_sum(token: u16, units: &str, at_us: u64) -> Sum {
    let row = Row::of("ledger").number(token.into()).text(units);
    row.number(at_us).sum()
}

fn opening_sum(at_us: u64) -> Sum {
    Row::of("opening").number(at_us).sum()
}

fn difference_sum(token: u16, ledger: &str, venue: &str, at_us: u64) -> Sum {
    let row = Row::of("difference").number(token.into());
    row.text(ledger).text(venue).number(at_us).sum()
}

fn position_sum(market: &str, [base, cash, baselines]: [&str; 3], at_us: u64) -> Sum {
    let row = Row::of("position").text(market).text(base).text(cash);
    row.text(baselines).number(at_us).sum()
}

fn charged_sum(below: u64, at_us: u64) -> Sum {
    Row::of("charged").number(below).number(at_us).sum()
}

fn listing_sum(listing: &str, at_us: u64) -> Sum {
    Row::of("listing").text(listing).number(at_us).sum()
}

/// Records when the opening balances were taken.
pub(super) fn set_opened(transaction: &Transaction<'_>, at_us: u64) -> rusqlite::Result<()> {
    transaction
        .execute(
            "INSERT INTO opening (id, at_us, sum) VALUES (1, ?1, ?2) ON CONFLICT DO NOTHING",
            params![at_us.cast_signed(), opening_sum(at_us).bytes()],
        )
        .map(|_| ())
}

/// Sets the ledger's balance of a token.
pub(super) fn set_ledger(
    transaction: &Transaction<'_>,
    (token, units): (TokenId, i128),
    at_us: u64,
) -> rusqlite::Result<()> {
    let units = units.to_string();
    let sum = ledger_sum(token.0, &units, at_us);
    transaction
        .execute(
            "INSERT OR REPLACE INTO ledger (token, units, at_us, sum) VALUES (?1, ?2, ?3, ?4)",
            params![token.0, units, at_us.cast_signed(), sum.bytes()],
        )
        .map(|_| ())
}

/// Replaces all differences.
pub(super) fn set_differences(
    transaction: &Transaction<'_>,
    differences: &SortedMap<TokenId, Difference>,
    at_us: u64,
) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM differences", [])?;
    for (token, difference) in differences {
        let (ledger, venue) = (difference.ledger.to_string(), difference.venue.to_string());
        let sum = difference_sum(token.0, &ledger, &venue, at_us);
        transaction.execute(
            "INSERT INTO differences (token, ledger, venue, at_us, sum) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![token.0, ledger, venue, at_us.cast_signed(), sum.bytes()],
        )?;
    }
    Ok(())
}

/// Sets the number of the next charge to book.
pub(super) fn set_charged(
    transaction: &Transaction<'_>,
    below: u64,
    at_us: u64,
) -> rusqlite::Result<()> {
    let sum = charged_sum(below, at_us);
    transaction
        .execute(
            "INSERT OR REPLACE INTO charged (id, below, at_us, sum) VALUES (1, ?1, ?2, ?3)",
            params![below.cast_signed(), at_us.cast_signed(), sum.bytes()],
        )
        .map(|_| ())
}

/// Sets the position of a market.
pub(super) fn set_position(
    transaction: &Transaction<'_>,
    market: &str,
    position: &Position,
    at_us: u64,
) -> rusqlite::Result<()> {
    let baselines = position.baselines.as_ref().map(BaselinesJson::of);
    // Strings and numbers always serialise.
    let baselines = baselines.and_then(|json| serde_json::to_string(&json).ok());
    let baselines = baselines.unwrap_or_default();
    let [base, cash] = [position.base, position.cash].map(|units| units.to_string());
    let sum = position_sum(market, [&base, &cash, &baselines], at_us);
    transaction
        .execute(
            "INSERT OR REPLACE INTO positions (market, base, cash, baselines, at_us, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                market,
                base,
                cash,
                baselines,
                at_us.cast_signed(),
                sum.bytes()
            ],
        )
        .map(|_| ())
}

/// Sets the listing of the last start.
pub(super) fn set_listing(
    transaction: &Transaction<'_>,
    listing: &Listing,
    at_us: u64,
) -> rusqlite::Result<()> {
    let text = serde_json::to_string(listing).unwrap_or_default();
    transaction
        .execute(
            "INSERT OR REPLACE INTO listing (id, listing, at_us, sum) VALUES (1, ?1, ?2, ?3)",
            params![text, at_us.cast_signed(), listing_sum(&text, at_us).bytes()],
        )
        .map(|_| ())
}

/// The listing of the last start; `None` before the first one, or if another version wrote it in another form. The next
/// start writes it again.
pub(super) fn listing(database: &Connection) -> Result<Option<Listing>, ReadError> {
    let row = database
        .query_row("SELECT listing, at_us, sum FROM listing", [], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, i64>(1)?.cast_unsigned(),
                row.get::<_, Vec<u8>>(2)?,
            ))
        })
        .optional()?;
    let Some((text, at_us, sum)) = row else {
        return Ok(None);
    };
    check(&sum, &listing_sum(&text, at_us), "the listing")?;
    Ok(serde_json::from_str(&text).ok())
}

/// Reads all rows, or reports damage.
pub(super) fn read(database: &Connection) -> Result<Rows, ReadError> {
    let mut rows = Rows {
        ledger: opened(database)?.then(SortedMap::new),
        ..Rows::default()
    };
    let damage = |what: String| move || ReadError::Damage(what);
    each(
        database,
        "SELECT token, units, at_us, sum FROM ledger",
        |row| {
            let (token, units): (u16, String) = (row.get(0)?, row.get(1)?);
            let (at_us, sum) = stamp(row, 2)?;
            let what = format!("the ledger of token {token}");
            check(&sum, &ledger_sum(token, &units, at_us), &what)?;
            let units = units.parse().map_err(|_| ReadError::Damage(what))?;
            let ledger = rows.ledger.as_mut();
            let ledger = ledger.ok_or_else(damage("a ledger without an opening".to_owned()))?;
            ledger.insert(TokenId(token), units);
            Ok(())
        },
    )?;
    let differences = "SELECT token, ledger, venue, at_us, sum FROM differences";
    each(database, differences, |row| {
        let token: u16 = row.get(0)?;
        let (ledger, venue): (String, String) = (row.get(1)?, row.get(2)?);
        let (at_us, sum) = stamp(row, 3)?;
        let what = format!("the difference of token {token}");
        check(&sum, &difference_sum(token, &ledger, &venue, at_us), &what)?;
        let damaged = || ReadError::Damage(what.clone());
        let ledger = ledger.parse().map_err(|_| damaged())?;
        let venue = venue.parse().map_err(|_| damaged())?;
        let difference = Difference { ledger, venue };
        rows.differences.insert(TokenId(token), difference);
        Ok(())
    })?;
    each(database, "SELECT below, at_us, sum FROM charged", |row| {
        let below = row.get::<_, i64>(0)?.cast_unsigned();
        let (at_us, sum) = stamp(row, 1)?;
        check(&sum, &charged_sum(below, at_us), "the number of charges")?;
        rows.charged_below = below;
        Ok(())
    })?;
    let positions = "SELECT market, base, cash, baselines, at_us, sum FROM positions";
    each(database, positions, |row| {
        let market: String = row.get(0)?;
        let [base, cash, baselines]: [String; 3] = [row.get(1)?, row.get(2)?, row.get(3)?];
        let (at_us, sum) = stamp(row, 4)?;
        let what = format!("the position of {market}");
        let expected = position_sum(&market, [&base, &cash, &baselines], at_us);
        check(&sum, &expected, &what)?;
        let position = position([&base, &cash, &baselines]);
        let position = position.ok_or_else(damage(what))?;
        rows.positions.insert(market, position);
        Ok(())
    })?;
    Ok(rows)
}

fn position([base, cash, baselines]: [&str; 3]) -> Option<Position> {
    let baselines = if baselines.is_empty() {
        None
    } else {
        Some(
            serde_json::from_str::<BaselinesJson>(baselines)
                .ok()?
                .read()?,
        )
    };
    Some(Position {
        base: base.parse().ok()?,
        cash: cash.parse().ok()?,
        baselines,
    })
}

fn opened(database: &Connection) -> Result<bool, ReadError> {
    let row = database
        .query_row("SELECT at_us, sum FROM opening", [], |row| {
            Ok((
                row.get::<_, i64>(0)?.cast_unsigned(),
                row.get::<_, Vec<u8>>(1)?,
            ))
        })
        .optional()?;
    let Some((at_us, sum)) = row else {
        return Ok(false);
    };
    check(&sum, &opening_sum(at_us), "the opening")?;
    Ok(true)
}

/// Time and checksum of a row, in this column and the next.
fn stamp(row: &rusqlite::Row<'_>, at: usize) -> Result<(u64, Vec<u8>), ReadError> {
    Ok((row.get::<_, i64>(at)?.cast_unsigned(), row.get(at + 1)?))
}

fn each(
    database: &Connection,
    query: &str,
    mut take: impl FnMut(&rusqlite::Row<'_>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut query = database.prepare(query)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}
