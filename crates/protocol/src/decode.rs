//! Decodes successful answers into the engine's types.
//!
//! Everything is checked against the request: a depth of another market, a price off the tick, an order with another
//! hash or a time in an impossible unit is an error. Whether a book is plausible (crossed, frozen, thin) is decided by
//! the engine.

use cambist_core::market::Price;
use cambist_core::order::OrderReport;
use cambist_core::request::{self, Depth, DepthLevel, Listed, Query, Reply};
use cambist_core::{MarketSpec, PoolSpec, Side, VenueTime};

use crate::decode_pool;
use crate::depth_scan;
use crate::json::{self, FromWire, Json, WireError};
use crate::number;
use crate::wire::{
    Account, Balance, DepthSnapshot, Level, Markets, OrderAck, OrderDetail, OrdersPage, Token,
    tokens,
};

/// Times from here on are in milliseconds, below in seconds: 10^11 s is the year 5138, 10^11 ms is 1973.
const MILLISECONDS_FROM: u64 = 100_000_000_000;

/// The expected values that answers are checked against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Markets by `MarketId`.
    pub markets: &'a [MarketSpec],
    /// Pools beside them.
    pub pools: &'a [PoolSpec],
    /// The account of the requests.
    pub account_id: u32,
}

/// Decodes the success answer to a query.
pub fn reply(query: &Query, json: &Json, context: Context<'_>) -> Result<Reply, WireError> {
    match query {
        Query::Depth(market) => {
            let spec = context
                .markets
                .iter()
                .find(|spec| spec.id == *market)
                .ok_or_else(|| WireError::new(format!("market {} is not configured", market.0)))?;
            depth(json, spec).map(Reply::Depth)
        }
        Query::Balances => balances(json, context.account_id).map(Reply::Balances),
        Query::Orders(_) => orders(json),
        Query::Order(hash) => {
            let report = order(json)?;
            if report.hash != *hash {
                return Err(other_hash(report.hash, *hash));
            }
            Ok(Reply::Order(report))
        }
        Query::Cancel(hash) => cancelled(json, *hash),
        Query::Amend(_) => Err(WireError::new("the interface has no amends".to_owned())),
        Query::Markets => markets(json),
        Query::Tokens => {
            let listed = tokens(json)?;
            Ok(Reply::Tokens(listed.iter().map(Token::spec).collect()))
        }
        Query::Account => account(json, context.account_id),
        Query::Pools => decode_pool::pools(json, context.pools),
        Query::PoolBalance(market) => {
            let mut pools = context.pools.iter();
            let spec = pools
                .find(|spec| spec.market == *market)
                .ok_or_else(|| WireError::new(format!("market {} has no pool here", market.0)))?;
            decode_pool::pool_balance(json, spec)
        }
        Query::PoolTransactions(_) => decode_pool::moves(json, context.pools),
    }
}

/// The answer to a submit.
pub fn submitted(json: &Json) -> Result<Reply, WireError> {
    let ack = OrderAck::read(json)?;
    Ok(Reply::Submitted {
        hash: ack.hash,
        status: ack.status,
        idempotent: ack.is_idempotent,
    })
}

/// The answer to a cancel of the order with this hash.
pub fn cancelled(json: &Json, hash: cambist_core::Hash) -> Result<Reply, WireError> {
    let ack = OrderAck::read(json)?;
    if ack.hash != hash {
        return Err(other_hash(ack.hash, hash));
    }
    Ok(Reply::CancelTaken { status: ack.status })
}

/// A depth in ticks of its market.
pub fn depth(json: &Json, spec: &MarketSpec) -> Result<Depth, WireError> {
    let snapshot = DepthSnapshot::read(json)?;
    if let Some(market) = snapshot.market.filter(|market| *market != spec.name) {
        return Err(WireError::new(format!(
            "is {} instead of {}",
            number::quoted(&market, 48),
            spec.name
        ))
        .within("market"));
    }
    Ok(Depth {
        market: spec.id,
        version: snapshot.version,
        timestamp: moment(snapshot.timestamp).map_err(|error| error.within("timestamp"))?,
        bids: levels(&snapshot.bids, Side::Buy, spec).map_err(|error| error.within("bids"))?,
        asks: levels(&snapshot.asks, Side::Sell, spec).map_err(|error| error.within("asks"))?,
    })
}

/// A depth from its bytes, in one pass: a form of a success that needs no tree of values. `None` for everything else,
/// which [`parse`] and [`depth`] then accept, or refuse with an error that names the field.
pub fn plain_depth(bytes: &[u8], spec: &MarketSpec) -> Option<Depth> {
    depth_scan::depth(bytes, spec)
}

/// Balances of the account; a repeated token is an error.
pub fn balances(json: &Json, account_id: u32) -> Result<Vec<request::Balance>, WireError> {
    let mut out: Vec<request::Balance> = Vec::new();
    for entry in Balance::read_all(json)? {
        if entry.account_id.is_some_and(|id| id != account_id) {
            return Err(WireError::new(format!(
                "token {}: balance of another account",
                entry.token.0
            )));
        }
        if out.iter().any(|seen| seen.token == entry.token) {
            return Err(WireError::new(format!(
                "token {} occurs twice",
                entry.token.0
            )));
        }
        out.push(request::Balance {
            token: entry.token,
            total: entry.total,
            locked: entry.locked,
        });
    }
    Ok(out)
}

/// One page of orders.
pub fn orders(json: &Json) -> Result<Reply, WireError> {
    let page = OrdersPage::read(json)?;
    let total = u32::try_from(page.total_num)
        .map_err(|_| WireError::new("is too large").within("totalNum"))?;
    let orders = page
        .orders
        .into_iter()
        .enumerate()
        .map(|(at, detail)| report(detail).map_err(|error| error.within(&format!("orders[{at}]"))))
        .collect::<Result<_, _>>()?;
    Ok(Reply::Orders { orders, total })
}

/// One order.
pub fn order(json: &Json) -> Result<OrderReport, WireError> {
    report(OrderDetail::read(json)?)
}

/// All listed markets.
pub fn markets(json: &Json) -> Result<Reply, WireError> {
    let listed = Markets::read(json)?
        .markets
        .into_iter()
        .map(|market| Listed {
            name: market.market,
            base: market.base_token_id,
            quote: market.quote_token_id,
            price_decimals: market.precision_for_price,
            enabled: market.enabled,
        })
        .collect();
    Ok(Reply::Markets { listed })
}

/// The account record.
pub fn account(json: &Json, account_id: u32) -> Result<Reply, WireError> {
    let account = Account::read(json)?;
    if account.account_id != account_id {
        return Err(
            WireError::new(format!("is {} instead of {account_id}", account.account_id))
                .within("accountId"),
        );
    }
    Ok(Reply::Account {
        frozen: account.frozen,
    })
}

/// A time in seconds or milliseconds, distinguished by magnitude; an error for implausible values, because a wrong unit
/// would make stale data look fresh.
pub fn moment(value: u64) -> Result<VenueTime, WireError> {
    match value {
        1_000_000_000..MILLISECONDS_FROM => Ok(VenueTime::from_s(value)),
        1_000_000_000_000..100_000_000_000_000 => Ok(VenueTime(value)),
        _ => Err(WireError::new(format!(
            "{value} is not a plausible time in seconds or milliseconds"
        ))),
    }
}

/// Parses the body of a success, for the functions above.
pub fn parse(bytes: &[u8]) -> Result<Json, WireError> {
    json::parse(bytes)
}

fn report(detail: OrderDetail) -> Result<OrderReport, WireError> {
    let validity = detail.validity;
    let end_s = if validity.end < MILLISECONDS_FROM {
        validity.end
    } else {
        // Rounded up: an order must not look expired too early.
        validity.end.div_ceil(1_000)
    };
    let start = if validity.start < MILLISECONDS_FROM {
        VenueTime::from_s(validity.start)
    } else {
        VenueTime(validity.start)
    };
    Ok(OrderReport {
        hash: detail.hash,
        client_id: detail.client_order_id.parse().ok(),
        market: detail.market.into(),
        side: detail.side,
        status: detail.status,
        base_amount: detail.volumes.base_amount,
        quote_amount: detail.volumes.quote_amount,
        base_filled: detail.volumes.base_filled,
        quote_filled: detail.volumes.quote_filled,
        fee: detail.volumes.fee,
        valid_until_s: u32::try_from(end_s).map_err(|_| {
            WireError::new(format!("{} is not a valid expiry", validity.end)).within("validity.end")
        })?,
        valid_since: start,
    })
}

/// Prices in ticks, positive and strictly ordered from best to worst.
fn levels(levels: &[Level], side: Side, spec: &MarketSpec) -> Result<Vec<DepthLevel>, WireError> {
    let mut out: Vec<DepthLevel> = Vec::with_capacity(levels.len());
    for (at, level) in levels.iter().enumerate() {
        let bad = |problem: String| WireError::new(problem).within(&format!("[{at}]"));
        let shown = || number::quoted(&level.price, 48);
        let ticks = number::scaled(&level.price, spec.price_decimals)
            .map_err(|error| bad(format!("price \"{}\" {error}", shown())))?;
        let price = u64::try_from(ticks)
            .ok()
            .filter(|ticks| *ticks > 0)
            .map(Price)
            .ok_or_else(|| bad(format!("price \"{}\" is out of range", shown())))?;
        if level.size == 0 {
            return Err(bad("size is zero".to_owned()));
        }
        if let Some(better) = out.last() {
            let sorted = match side {
                Side::Buy => better.price > price,
                Side::Sell => better.price < price,
            };
            if !sorted {
                return Err(bad(format!("price \"{}\" is not in order", shown())));
            }
        }
        out.push(DepthLevel {
            price,
            size: level.size,
        });
    }
    Ok(out)
}

fn other_hash(got: cambist_core::Hash, wanted: cambist_core::Hash) -> WireError {
    WireError::new(format!("is {got} instead of {wanted}")).within("hash")
}
