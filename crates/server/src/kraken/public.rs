//! Public methods.

use cambist_core::Side;
use cambist_kraken::parameters::Parameters;
use cambist_kraken::time::{rfc3339, seconds};
use cambist_venue::{Caller, DepthRow, ExchangeMode, Request, Response};
use serde_json::{Value, json};

use super::fault::Fault;
use super::methods::Public;
use super::names::{Asset, Pair, assets, pairs};
use crate::dispatch::Dispatch;
use crate::market_data::{Candle, MarketData, PublicTrade};

/// Levels of a depth by default and at most.
const LEVELS: [u64; 2] = [100, 500];
/// Trades of an answer by default and at most.
const TRADES_MAX: usize = 1_000;
/// Candles of an answer.
const CANDLES_MAX: usize = 720;
/// What can be asked of a pair, and the fields of each answer; all of them if none is named.
const INFO: [(&str, &[&str]); 4] = [
    ("info", &[]),
    ("leverage", &["leverage_buy", "leverage_sell"]),
    ("fees", &["fees", "fees_maker", "fee_volume_currency"]),
    ("margin", &["margin_call", "margin_stop"]),
];
/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;
/// Nanoseconds of a millisecond: `last` of trades is in nanoseconds.
const NS_PER_MS: u64 = 1_000_000;

/// Answers a public method.
pub(super) fn answer(
    shell: &Dispatch,
    method: Public,
    parameters: &Parameters,
) -> Result<Value, Fault> {
    match method {
        Public::Time => Ok(time(shell)),
        Public::SystemStatus => status(shell),
        Public::Assets => asset_list(shell, parameters),
        Public::AssetPairs => pair_list(shell, parameters),
        Public::Ticker => tickers(shell, parameters),
        Public::Ohlc => candles(shell, parameters),
        Public::Depth => depth(shell, parameters),
        Public::Trades => trades(shell, parameters),
        Public::Spread => spread(shell, parameters),
    }
}

fn time(shell: &Dispatch) -> Value {
    let now = shell.machine.now();
    let date = std::time::UNIX_EPOCH + std::time::Duration::from_secs(now.as_s());
    json!({"unixtime": now.as_s(), "rfc1123": httpdate::fmt_http_date(date)})
}

fn status(shell: &Dispatch) -> Result<Value, Fault> {
    let status = match mode(shell)? {
        ExchangeMode::Open => "online",
        ExchangeMode::PostOnly => "post_only",
        ExchangeMode::CancelOnly => "cancel_only",
        ExchangeMode::Halted => "maintenance",
    };
    Ok(json!({"status": status, "timestamp": rfc3339(shell.machine.now().0)}))
}

fn mode(shell: &Dispatch) -> Result<ExchangeMode, Fault> {
    match shell
        .machine
        .handle(&Caller::Public, &Request::ExchangeInfo)?
    {
        Response::Exchange(exchange) => Ok(exchange.mode),
        _ => Err(Fault::internal()),
    }
}

fn asset_list(shell: &Dispatch, parameters: &Parameters) -> Result<Value, Fault> {
    let mut shown = shell.machine.read(assets)?;
    if !is_currency(parameters.get("aclass"), "aclass")? {
        shown.clear();
    }
    if let Some(asked) = parameters.get("asset").filter(|asked| *asked != "all") {
        let is_asked = |asset: &Asset| asked.split(',').any(|name| asset.is_called(name.trim()));
        shown.retain(is_asked);
        if shown.is_empty() {
            return Err(Fault::new("EQuery:Unknown asset"));
        }
    }
    let rows = shown.into_iter().map(|asset| {
        let status = if asset.is_enabled {
            "enabled"
        } else {
            "disabled"
        };
        let row = json!({
            "aclass": "currency",
            "altname": asset.name,
            "decimals": asset.decimals,
            "display_decimals": asset.precision,
            "status": status,
        });
        (asset.id, row)
    });
    Ok(Value::Object(rows.collect()))
}

fn pair_list(shell: &Dispatch, parameters: &Parameters) -> Result<Value, Fault> {
    let mut shown = asked_pairs(shell, parameters)?;
    if !is_currency(parameters.get("aclass_base"), "aclass_base")? {
        shown.clear();
    }
    let asked = parameters.get("info").unwrap_or("info");
    let asked = INFO.iter().find(|(name, _)| *name == asked);
    let (_, kept) = asked.ok_or_else(|| Fault::argument("info"))?;
    let mode = mode(shell)?;
    let rows = shown.into_iter().map(|pair| {
        let config = &pair.config;
        let status = match mode {
            _ if !pair.is_open() => "cancel_only",
            ExchangeMode::Open => "online",
            ExchangeMode::PostOnly => "post_only",
            ExchangeMode::CancelOnly | ExchangeMode::Halted => "cancel_only",
        };
        let percent = |bips: u8| f64::from(bips) / 100.0;
        let mut row = json!({
            "altname": pair.altname,
            "wsname": pair.wsname,
            "aclass_base": "currency",
            "base": pair.base.id,
            "aclass_quote": "currency",
            "quote": pair.quote.id,
            "lot": "unit",
            "cost_decimals": pair.cost_decimals(),
            "pair_decimals": config.price_decimals,
            "lot_decimals": pair.lot_decimals,
            "lot_multiplier": 1,
            "leverage_buy": [],
            "leverage_sell": [],
            "fees": [[0, percent(config.taker_fee_bips)]],
            "fees_maker": [[0, percent(config.maker_fee_bips)]],
            "fee_volume_currency": pair.quote.id,
            "margin_call": 80,
            "margin_stop": 40,
            "ordermin": pair.volume(pair.least_volume()),
            "costmin": pair.quote.amount(pair.quote.minimum),
            "tick_size": pair.price(cambist_core::Price(1)),
            "status": status,
        });
        if let Some(row) = row.as_object_mut() {
            row.retain(|name, _| kept.is_empty() || kept.contains(&name.as_str()));
        }
        (pair.id, row)
    });
    Ok(Value::Object(rows.collect()))
}

/// Whether a class of assets is that of all assets here. The other one exists and has none.
pub(super) fn is_currency(class: Option<&str>, name: &str) -> Result<bool, Fault> {
    match class {
        None | Some("currency") => Ok(true),
        Some("tokenized_asset") => Ok(false),
        Some(_) => Err(Fault::argument(name)),
    }
}

/// The pairs that `pair` names, all if it is absent.
fn asked_pairs(shell: &Dispatch, parameters: &Parameters) -> Result<Vec<Pair>, Fault> {
    let all = shell.machine.read(pairs)?;
    let Some(asked) = parameters.get("pair") else {
        return Ok(all);
    };
    let unknown = || Fault::new("EQuery:Unknown asset pair");
    let named = asked.split(',').map(|name| {
        let pair = all.iter().find(|pair| pair.is_called(name.trim()));
        pair.cloned().ok_or_else(unknown)
    });
    named.collect()
}

/// The one pair that `pair` names.
fn asked_pair(shell: &Dispatch, parameters: &Parameters) -> Result<Pair, Fault> {
    let name = parameters
        .get("pair")
        .ok_or_else(|| Fault::argument("pair"))?;
    let all = shell.machine.read(pairs)?;
    let pair = all.into_iter().find(|pair| pair.is_called(name));
    pair.ok_or(Fault::new("EQuery:Unknown asset pair"))
}

/// A whole number within bounds.
fn number(parameters: &Parameters, name: &str) -> Result<Option<u64>, Fault> {
    let text = parameters.get(name);
    let read = |text: &str| text.parse().map_err(|_| Fault::argument(name));
    text.map(read).transpose()
}

fn depth(shell: &Dispatch, parameters: &Parameters) -> Result<Value, Fault> {
    let pair = asked_pair(shell, parameters)?;
    let count = number(parameters, "count")?.unwrap_or(LEVELS[0]);
    if count == 0 || count > LEVELS[1] {
        return Err(Fault::argument("count"));
    }
    let request = Request::Depth {
        market: pair.config.name.clone(),
        level: 0,
        limit: Some(count),
    };
    let Response::Depth(depth) = shell.machine.handle(&Caller::Public, &request)? else {
        return Err(Fault::internal());
    };
    let changed_s = depth.changed.as_s();
    let rows = |rows: &[DepthRow]| {
        let shown = rows
            .iter()
            .map(|row| json!([pair.price(row.price), pair.volume(row.size), changed_s]));
        shown.collect::<Vec<_>>()
    };
    let book = json!({"asks": rows(&depth.asks), "bids": rows(&depth.bids)});
    Ok(json!({pair.id.clone(): book}))
}

fn market_data(shell: &Dispatch) -> Result<&MarketData, Fault> {
    let data = shell.machine.market_data.as_ref();
    data.ok_or(Fault::new("EService:Unavailable"))
}

/// Position of a trade in time, in nanoseconds, different for every trade of a millisecond.
fn position_ns(trade: &PublicTrade) -> u64 {
    let within = trade.id % NS_PER_MS;
    trade.at.0.saturating_mul(NS_PER_MS).saturating_add(within)
}

fn trades(shell: &Dispatch, parameters: &Parameters) -> Result<Value, Fault> {
    let pair = asked_pair(shell, parameters)?;
    let count = number(parameters, "count")?.map_or(Some(TRADES_MAX), |count| {
        let count = usize::try_from(count).ok();
        count.filter(|count| (1..=TRADES_MAX).contains(count))
    });
    let count = count.ok_or_else(|| Fault::argument("count"))?;
    // Nanoseconds, as in `last`, or seconds.
    let since = number(parameters, "since")?.map(|since| {
        if since < NS_PER_MS * NS_PER_MS {
            since.saturating_mul(1_000 * NS_PER_MS)
        } else {
            since
        }
    });
    let recent = market_data(shell)?.recent(pair.market);
    let shown: Vec<_> = if let Some(since) = since {
        let later = recent
            .into_iter()
            .filter(|trade| position_ns(trade) > since);
        later.take(count).collect()
    } else {
        let skipped = recent.len().saturating_sub(count);
        recent.into_iter().skip(skipped).collect()
    };
    let last = shown.last().map(position_ns).or(since).unwrap_or(0);
    let rows = shown.into_iter().map(|trade| {
        let side = match trade.taker_side {
            Side::Buy => "b",
            Side::Sell => "s",
        };
        let kind = if trade.is_market_order { "m" } else { "l" };
        let (price, volume) = (pair.price(trade.price), pair.volume(trade.base));
        json!([price, volume, seconds(trade.at.0), side, kind, "", trade.id])
    });
    let rows: Vec<_> = rows.collect();
    Ok(json!({pair.id.clone(): rows, "last": last.to_string()}))
}

fn candles(shell: &Dispatch, parameters: &Parameters) -> Result<Value, Fault> {
    let pair = asked_pair(shell, parameters)?;
    let minutes = number(parameters, "interval")?.unwrap_or(1);
    let since_s = number(parameters, "since")?.unwrap_or(0);
    let data = market_data(shell)?;
    let kept = data.candles_of(pair.market, minutes);
    let mut kept = kept.ok_or_else(|| Fault::argument("interval"))?;
    // The candle of now is always there, also before its first trade.
    let current_ms = shell.machine.now().0 / (minutes * 60_000) * (minutes * 60_000);
    if let Some(last) = kept.last()
        && last.start_ms < current_ms
    {
        kept.push(Candle::without_trades(current_ms, last.close));
    }
    let skipped = kept.len().saturating_sub(CANDLES_MAX);
    let kept = &kept[skipped..];
    let newest_ms = kept.last().map_or(0, |candle| candle.start_ms);
    let rows = kept
        .iter()
        .filter(|candle| candle.start_ms / 1_000 >= since_s || candle.start_ms == newest_ms);
    let rows = rows.map(|candle| {
        let price = |price| pair.price(price);
        json!([
            candle.start_ms / 1_000,
            price(candle.open),
            price(candle.high),
            price(candle.low),
            price(candle.close),
            pair.average(candle.base, candle.quote),
            pair.volume(candle.base),
            candle.trades,
        ])
    });
    // The newest candle is not finished.
    let finished = kept.len().checked_sub(2).and_then(|at| kept.get(at));
    let last = finished.map_or(0, |candle| candle.start_ms / 1_000);
    let rows: Vec<_> = rows.collect();
    Ok(json!({pair.id.clone(): rows, "last": last}))
}

fn tickers(shell: &Dispatch, parameters: &Parameters) -> Result<Value, Fault> {
    let shown = asked_pairs(shell, parameters)?;
    let data = market_data(shell)?;
    let now = shell.machine.now();
    let mut rows = serde_json::Map::new();
    for pair in shown {
        let (best, sizes) = shell.machine.read(|venue| {
            let best = Side::BOTH.map(|side| venue.best_level(pair.market, side));
            let sizes = best.map(|level| level.map_or(0, |(_, size)| size));
            (best.map(|level| level.map(|(price, _)| price)), sizes)
        })?;
        let quoted = |side: usize| {
            // Without an order on a side its price is 0, as the service shows it.
            let price = best[side].unwrap_or(cambist_core::Price(0));
            let (size, whole) = (pair.volume(sizes[side]), sizes[side] / pair.one_base());
            json!([pair.price(price), whole.to_string(), size])
        };
        let [buy, sell] = match Side::BOTH {
            [Side::Buy, _] => [0, 1],
            [Side::Sell, _] => [1, 0],
        };
        let periods = [now.0 % DAY_MS, DAY_MS].map(|ms| data.period(pair.market, now, ms));
        let last = data.recent(pair.market).pop();
        let each = |value: &dyn Fn(&Candle) -> String, none: String| {
            let shown = periods
                .iter()
                .map(|period| period.as_ref().map_or(none.clone(), value));
            json!(shown.collect::<Vec<_>>())
        };
        let zero = || pair.price(cambist_core::Price(0));
        let counts: Vec<_> = periods
            .iter()
            .map(|period| period.as_ref().map_or(0, |candle| candle.trades))
            .collect();
        let opening = periods[0].as_ref().map(|candle| pair.price(candle.open));
        let closing = last.as_ref().map_or_else(
            || json!([zero(), pair.volume(0)]),
            |trade| json!([pair.price(trade.price), pair.volume(trade.base)]),
        );
        let row = json!({
            "a": quoted(sell),
            "b": quoted(buy),
            "c": closing,
            "v": each(&|candle| pair.volume(candle.base), pair.volume(0)),
            "p": each(&|candle| pair.average(candle.base, candle.quote), zero()),
            "t": counts,
            "l": each(&|candle| pair.price(candle.low), zero()),
            "h": each(&|candle| pair.price(candle.high), zero()),
            "o": opening.unwrap_or_else(zero),
        });
        rows.insert(pair.id.clone(), row);
    }
    Ok(Value::Object(rows))
}

/// The spread of now: earlier ones are not kept.
fn spread(shell: &Dispatch, parameters: &Parameters) -> Result<Value, Fault> {
    let pair = asked_pair(shell, parameters)?;
    let now_s = shell.machine.now().as_s();
    let best = shell
        .machine
        .read(|venue| [Side::Buy, Side::Sell].map(|side| venue.best(pair.market, side)))?;
    let rows = match best {
        [Some(bid), Some(ask)] => vec![json!([now_s, pair.price(bid), pair.price(ask)])],
        _ => Vec::new(),
    };
    Ok(json!({pair.id.clone(): rows, "last": now_s}))
}
