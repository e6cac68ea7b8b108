//! Market data as JSON. Prices are decimals in text as in a depth, amounts base units in text, times milliseconds
//! since the Unix epoch.

use cambist_core::{Price, VenueTime};
use serde_json::{Value, json};

use super::candles::{Candle, Interval};
use super::{PublicTrade, Shown};
use cambist_protocol::number::decimal;

fn price(market: &Shown, price: Price) -> String {
    decimal(u128::from(price.0), market.price_decimals)
}

pub(super) fn trade(market: &Shown, trade: &PublicTrade) -> Value {
    json!({
        "id": trade.id.to_string(),
        "time": trade.at.0,
        "side": trade.taker_side.name(),
        "price": price(market, trade.price),
        "base": trade.base.to_string(),
        "quote": trade.quote.to_string(),
    })
}

pub(super) fn trades<'a>(market: &Shown, trades: impl Iterator<Item = &'a PublicTrade>) -> Value {
    let trades: Vec<_> = trades.map(|one| trade(market, one)).collect();
    json!({"market": market.name, "trades": trades})
}

pub(super) fn ticker(
    market: &Shown,
    now: VenueTime,
    [bid, ask]: [Option<Price>; 2],
    last: Option<&PublicTrade>,
    day: Option<&Candle>,
) -> Value {
    let shown = |value: Option<Price>| value.map(|value| price(market, value));
    let of_day = |read: fn(&Candle) -> Price| shown(day.map(read));
    let amount = |read: fn(&Candle) -> u128| day.map_or(0, read).to_string();
    json!({
        "market": market.name,
        "time": now.0,
        "bid": shown(bid),
        "ask": shown(ask),
        "last": shown(last.map(|trade| trade.price)),
        "open": of_day(|day| day.open),
        "high": of_day(|day| day.high),
        "low": of_day(|day| day.low),
        "base": amount(|day| day.base),
        "quote": amount(|day| day.quote),
        "trades": day.map_or(0, |day| day.trades),
    })
}

pub(super) fn candles<'a>(
    market: &Shown,
    interval: Interval,
    candles: impl Iterator<Item = &'a Candle>,
) -> Value {
    let one = |candle: &Candle| {
        json!({
            "time": candle.start_ms,
            "open": price(market, candle.open),
            "high": price(market, candle.high),
            "low": price(market, candle.low),
            "close": price(market, candle.close),
            "base": candle.base.to_string(),
            "quote": candle.quote.to_string(),
            "trades": candle.trades,
        })
    };
    let candles: Vec<_> = candles.map(one).collect();
    json!({"market": market.name, "interval": interval.name(), "candles": candles})
}
