//! History as rows, newest first: fills, orders, pool transactions, explained flows and set parameters, read while a daemon is running
//! or from the folder of a stopped one. Rows are passed on one at a time.

use std::path::Path;

use cambist_core::math::mul_div_floor;
use cambist_core::{ClientOrderId, MarketSpec, Price, Qty, Side, StrategyId, TokenId};
use cambist_report::money::decimal_text;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Row as SqlRow, params_from_iter};

use super::StoreError;
use super::books::{self, Listing};
use super::recover::ReadError;
use super::results::{self, Names};
use super::view;
use cambist_host::times;

/// The kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Booked fills.
    Fills,
    /// Orders and their ends, as long as the store keeps them.
    Orders,
    /// Settled joins and exits.
    Pools,
    /// Deposits, withdrawals and other flows that were explained.
    Flows,
    /// Parameters of strategies that operators set.
    Parameters,
}

/// Filters of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// From this millisecond since the Unix epoch, inclusive.
    pub from_ms: Option<u64>,
    /// To this millisecond, exclusive.
    pub to_ms: Option<u64>,
    /// Market name.
    pub market: Option<String>,
    /// Strategy name.
    pub strategy: Option<String>,
    /// `buy` or `sell`.
    pub side: Option<String>,
    /// Most rows; the newest are returned.
    pub limit: Option<u64>,
}

/// What the cells of a column hold; an empty cell has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// A point in time, RFC 3339.
    Time,
    /// An exact decimal.
    Decimal,
    /// A text.
    Text,
}

impl RecordKind {
    /// What the cells of a column hold.
    pub fn kind(column: &str) -> CellKind {
        match column {
            "time" | "expires" => CellKind::Time,
            "price" | "base" | "quote" | "fee" | "mid" | "quantity" | "filled" | "filled_quote"
            | "first" | "second" | "shares" | "amount" => CellKind::Decimal,
            _ => CellKind::Text,
        }
    }

    /// Names of the columns.
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Fills => &[
                "time",
                "market",
                "strategy",
                "side",
                "kind",
                "price",
                "base",
                "quote",
                "fee",
                "fee_token",
                "mid",
                "order",
            ],
            Self::Orders => &[
                "time",
                "market",
                "strategy",
                "side",
                "kind",
                "price",
                "quantity",
                "state",
                "filled",
                "filled_quote",
                "fee",
                "expires",
                "order",
            ],
            Self::Pools => &[
                "time",
                "market",
                "strategy",
                "kind",
                "first",
                "first_token",
                "second",
                "second_token",
                "shares",
                "fee",
                "transaction",
            ],
            Self::Flows => &["time", "token", "amount", "reason"],
            Self::Parameters => &[
                "time",
                "market",
                "strategy",
                "parameter",
                "value",
                "operator",
                "reason",
            ],
        }
    }

    const fn query(self) -> &'static str {
        match self {
            Self::Fills => {
                "SELECT at_us AS t, fills.number, fills.market, fills.strategy, fills.side, base, quote, fee, mid,
                 intents.number IS NOT NULL AS is_kept, swap_most
                 FROM fills LEFT JOIN intents USING (number)"
            }
            Self::Orders => {
                "SELECT sealed_us AS t, intents.number, market, strategy, side, price, qty, rests_until_s, swap_most,
                 TRUE AS is_kept, ends.end, ends.base, ends.quote, ends.fee
                 FROM intents LEFT JOIN ends USING (number)"
            }
            Self::Pools => {
                "SELECT at_us AS t, number, market, strategy, kind, first, first_token, second, second_token,
                 lp, lp_token, fee FROM moved"
            }
            Self::Flows => "SELECT at_us AS t, token, symbol, amount, reason FROM flows",
            Self::Parameters => {
                "SELECT at_us AS t, market, strategy, key, value, operator, reason FROM parameters"
            }
        }
    }
}

/// Passes every matching row to a function, newest first; returns their number.
pub fn each<E: From<StoreError>>(
    dir: &Path,
    kind: RecordKind,
    filter: &Filter,
    mut show: impl FnMut(Vec<String>) -> Result<(), E>,
) -> Result<u64, E> {
    let file = dir.join(super::FILE);
    let database = view::open_current(&file)?;
    let mut refused = None;
    let rows_shown = each_from(&database, kind, filter, |row| {
        show(row).map_err(|error| {
            refused = Some(error);
            ReadError::Damage("not shown".to_owned())
        })
    });
    match refused {
        Some(error) => Err(error),
        None => Ok(rows_shown.map_err(|error| error.at(&file))?),
    }
}

/// As [`each`], from an open database.
pub(super) fn each_from(
    database: &Connection,
    kind: RecordKind,
    filter: &Filter,
    mut show: impl FnMut(Vec<String>) -> Result<(), ReadError>,
) -> Result<u64, ReadError> {
    let reading = Reading::new(database)?;
    let (query, values) = Reading::query(kind, filter);
    let mut query = database.prepare(&query)?;
    let mut rows = query.query(params_from_iter(values))?;
    let mut rows_shown = 0;
    while let Some(row) = rows.next()? {
        let Some(cells) = reading.cells(kind, filter, row)? else {
            continue;
        };
        show(cells)?;
        rows_shown += 1;
        if filter.limit.is_some_and(|limit| rows_shown >= limit) {
            break;
        }
    }
    Ok(rows_shown)
}

/// The most decimal places that a cell of any row can have, by the listing of the last start.
pub fn decimal_places(dir: &Path) -> Result<u8, StoreError> {
    let file = dir.join(super::FILE);
    let database = view::open_current(&file)?;
    let reading = Reading::new(&database).map_err(|error| error.at(&file))?;
    let listing = &reading.listing;
    let shares = listing.pools.iter().map(|pool| &pool.lp);
    let tokens = listing.tokens.iter().chain(shares);
    let amounts = tokens.map(|token| token.decimals);
    let prices = listing.markets.iter();
    let prices = prices.map(|market| market.price_decimals.saturating_add(PRICE_PLACES));
    Ok(amounts.chain(prices).max().unwrap_or(0))
}

struct Reading {
    instance: u32,
    listing: Listing,
    names: Names,
}

impl Reading {
    fn new(database: &Connection) -> Result<Self, ReadError> {
        Ok(Self {
            instance: database.query_row("SELECT instance FROM meta", [], |row| row.get(0))?,
            listing: books::listing(database)?.unwrap_or_default(),
            names: results::names(database)?,
        })
    }

    fn query(kind: RecordKind, filter: &Filter) -> (String, Vec<Sql>) {
        // Orders in the order in which they were sealed, which the primary key has.
        let (time, order) = match kind {
            RecordKind::Orders => ("sealed_us", "intents.number DESC"),
            RecordKind::Fills => ("at_us", "at_us DESC, fills.number DESC"),
            RecordKind::Pools => ("at_us", "at_us DESC, number DESC"),
            RecordKind::Flows | RecordKind::Parameters => ("at_us", "at_us DESC, id DESC"),
        };
        // Intents have columns of the same names.
        let table = if kind == RecordKind::Fills {
            "fills."
        } else {
            ""
        };
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        let mut add = |condition: String, value: Sql| {
            conditions.push(condition);
            values.push(value);
        };
        let micros = |ms: u64| {
            let ms = i64::try_from(ms).unwrap_or(i64::MAX);
            Sql::Integer(ms.saturating_mul(1_000))
        };
        if let Some(from_ms) = filter.from_ms {
            add(format!("{time} >= ?"), micros(from_ms));
        }
        if let Some(to_ms) = filter.to_ms {
            add(format!("{time} < ?"), micros(to_ms));
        }
        if let Some(market) = &filter.market {
            add(format!("{table}market = ?"), Sql::Text(market.clone()));
        }
        if let Some(side) = &filter.side {
            add(format!("{table}side = ?"), Sql::Text(side.clone()));
        }
        let conditions = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        let query = kind.query();
        (format!("{query}{conditions} ORDER BY {order}"), values)
    }

    /// The row as text; `None` if it belongs to another strategy.
    fn cells(
        &self,
        kind: RecordKind,
        filter: &Filter,
        row: &SqlRow<'_>,
    ) -> Result<Option<Vec<String>>, ReadError> {
        let time = times::iso_ms(row.get::<_, i64>("t")?.cast_unsigned() / 1_000);
        if kind == RecordKind::Flows {
            let token = TokenId(row.get("token")?);
            let symbol: String = row.get("symbol")?;
            let (amount, reason): (String, String) = (row.get("amount")?, row.get("reason")?);
            return Ok(Some(vec![
                time,
                symbol,
                self.amount(token, &amount)?,
                reason,
            ]));
        }
        if kind == RecordKind::Parameters {
            return Ok(Self::parameter(time, filter, row)?);
        }
        let number = row.get::<_, i64>("number")?.cast_unsigned();
        let strategy: Option<u8> = row.get("strategy")?;
        let (name, id) = match strategy {
            Some(strategy) => (self.names.of(number, strategy), self.id(number, strategy)),
            // A row of a version that did not store the strategy, and its order was removed.
            None => ("unknown".to_owned(), number.to_string()),
        };
        if filter
            .strategy
            .as_ref()
            .is_some_and(|requested| *requested != name)
        {
            return Ok(None);
        }
        let market: Option<String> = row.get("market")?;
        let market = market.unwrap_or_default();
        let spec = self.listing.markets.iter().find(|spec| spec.name == market);
        let mut cells = vec![time, market, name];
        match kind {
            RecordKind::Fills => cells.extend(self.fill(row, spec)?),
            RecordKind::Orders => cells.extend(order(row, spec)?),
            RecordKind::Pools | RecordKind::Flows | RecordKind::Parameters => {
                cells.extend(self.pool(row)?);
            }
        }
        cells.push(id);
        Ok(Some(cells))
    }

    fn id(&self, number: u64, strategy: u8) -> String {
        let id = ClientOrderId {
            instance: self.instance,
            strategy: StrategyId(strategy),
            number,
        };
        id.to_string()
    }

    fn fill(&self, row: &SqlRow<'_>, spec: Option<&MarketSpec>) -> Result<Vec<String>, ReadError> {
        let text = |name: &str| row.get::<_, String>(name);
        let (side, base, quote, fee) = (text("side")?, text("base")?, text("quote")?, text("fee")?);
        let kind = order_kind(row)?;
        let Some(spec) = spec else {
            // A market that is no longer configured: base units.
            return Ok(vec![
                side,
                kind,
                String::new(),
                base,
                quote,
                fee,
                String::new(),
                String::new(),
            ]);
        };
        let fee_token = spec.fee_token(if side == "buy" { Side::Buy } else { Side::Sell });
        let mid: Option<String> = row.get("mid")?;
        let mid = mid.and_then(|mid| mid.parse::<u64>().ok());
        let decimals = usize::from(spec.price_decimals) + 1;
        // Half ticks: five tenths of a tick each.
        let mid = mid.map(|mid| decimal_text(u128::from(mid) * 5, decimals, decimals));
        Ok(vec![
            side,
            kind,
            price(spec, &base, &quote).unwrap_or_default(),
            self.amount(spec.base.id, &base)?,
            self.amount(spec.quote.id, &quote)?,
            self.amount(fee_token.id, &fee)?,
            fee_token.symbol.clone(),
            mid.unwrap_or_default(),
        ])
    }

    fn pool(&self, row: &SqlRow<'_>) -> Result<Vec<String>, ReadError> {
        let token = |name: &str| row.get::<_, Option<u16>>(name).map(|id| id.map(TokenId));
        let tokens = [
            token("first_token")?,
            token("second_token")?,
            token("lp_token")?,
        ];
        let text = |name: &str| row.get::<_, String>(name);
        let kind: Option<String> = row.get("kind")?;
        let amount = |token: Option<TokenId>, units: String| match token {
            Some(token) => self.amount(token, &units),
            None => Ok(units),
        };
        let symbol = |token: Option<TokenId>| token.map_or_else(String::new, |id| self.symbol(id));
        Ok(vec![
            kind.unwrap_or_default(),
            amount(tokens[0], text("first")?)?,
            symbol(tokens[0]),
            amount(tokens[1], text("second")?)?,
            symbol(tokens[1]),
            amount(tokens[2], text("lp")?)?,
            amount(tokens[1], text("fee")?)?,
        ])
    }

    fn symbol(&self, token: TokenId) -> String {
        let spec = self.listing.tokens.iter().find(|spec| spec.id == token);
        let pools = self.listing.pools.iter().map(|pool| &pool.lp);
        let shares = pools.clone().find(|spec| spec.id == token);
        let found = spec.or(shares);
        found.map_or_else(|| format!("token {}", token.0), |spec| spec.symbol.clone())
    }

    /// A parameter that was set; `None` if it belongs to another strategy.
    fn parameter(
        time: String,
        filter: &Filter,
        row: &SqlRow<'_>,
    ) -> rusqlite::Result<Option<Vec<String>>> {
        let strategy: String = row.get("strategy")?;
        if filter.strategy.as_ref().is_some_and(|one| *one != strategy) {
            return Ok(None);
        }
        let value: Option<String> = row.get("value")?;
        let value = value.unwrap_or_else(|| "as in the file".to_owned());
        Ok(Some(vec![
            time,
            row.get("market")?,
            strategy,
            row.get("key")?,
            value,
            row.get("operator")?,
            row.get("reason")?,
        ]))
    }

    /// Whole tokens of an amount in base units.
    fn amount(&self, token: TokenId, units: &str) -> Result<String, ReadError> {
        let tokens = self.listing.tokens.iter();
        let mut all = tokens.chain(self.listing.pools.iter().map(|pool| &pool.lp));
        let decimals = all
            .find(|spec| spec.id == token)
            .map_or(0, |spec| usize::from(spec.decimals));
        let wrong = || ReadError::Damage(format!("{units:?} is not an amount"));
        let units: i128 = units.parse().map_err(|_| wrong())?;
        let sign = if units < 0 { "-" } else { "" };
        let text = decimal_text(units.unsigned_abs(), decimals, decimals);
        Ok(format!("{sign}{text}"))
    }
}

fn order(row: &SqlRow<'_>, spec: Option<&MarketSpec>) -> Result<Vec<String>, ReadError> {
    let text = |name: &str| row.get::<_, String>(name);
    let optional = |name: &str| row.get::<_, Option<String>>(name);
    let (price, qty) = (text("price")?, text("qty")?);
    // Empty if only a fill or a cancel ends it.
    let expires: Option<u32> = row.get("rests_until_s")?;
    let expires = expires.map_or_else(String::new, |until_s| times::iso(until_s.into()));
    let state = optional("end")?.unwrap_or_else(|| "open".to_owned());
    let filled = [optional("base")?, optional("quote")?, optional("fee")?];
    let side = text("side")?;
    let fee_token = |spec: &MarketSpec| {
        let side = if side == "buy" { Side::Buy } else { Side::Sell };
        spec.fee_token(side).decimals
    };
    let whole = |units: &Option<String>, decimals: Option<u8>| {
        let decimals = decimals.map_or(0, usize::from);
        let units = units.as_ref().and_then(|units| units.parse().ok());
        units.map_or_else(String::new, |units| decimal_text(units, decimals, decimals))
    };
    let rows_shown = spec.and_then(|spec| {
        let (price, qty) = (price.parse().ok()?, qty.parse().ok()?);
        Some((spec.price_text(Price(price)), spec.qty_text(Qty(qty))))
    });
    let (price, qty) = rows_shown.unwrap_or((price, qty));
    Ok(vec![
        side.clone(),
        order_kind(row)?,
        price,
        qty,
        state,
        whole(&filled[0], spec.map(|spec| spec.base.decimals)),
        whole(&filled[1], spec.map(|spec| spec.quote.decimals)),
        whole(&filled[2], spec.map(fee_token)),
        expires,
    ])
}

/// Whether an order was one of the book or a swap with a pool; empty if the store does not keep the order any more.
fn order_kind(row: &SqlRow<'_>) -> Result<String, ReadError> {
    let is_kept: bool = row.get("is_kept")?;
    let is_swap = row.get::<_, Option<String>>("swap_most")?.is_some();
    let kind = match (is_kept, is_swap) {
        (false, _) => "",
        (true, false) => "book",
        (true, true) => "swap",
    };
    Ok(kind.to_owned())
}

/// Decimals of an average price, beyond those of a tick.
const PRICE_PLACES: u8 = 2;

/// Quote per base in whole tokens, rounded to two decimals more than a tick: amounts are whole base units, so that one
/// unit less than the price is worth would show as a lower price.
pub(crate) fn price(spec: &MarketSpec, base: &str, quote: &str) -> Option<String> {
    let (base, quote): (u128, u128) = (base.parse().ok()?, quote.parse().ok()?);
    let places = usize::from(spec.price_decimals) + usize::from(PRICE_PLACES);
    // One decimal more, by which it is rounded.
    let up =
        10_u128.checked_pow(u32::from(spec.base.decimals) + u32::try_from(places).ok()? + 1)?;
    let down = base.checked_mul(10_u128.checked_pow(u32::from(spec.quote.decimals))?)?;
    let price = mul_div_floor(quote, up, down)?.checked_add(5)? / 10;
    Some(decimal_text(price, places, places))
}
