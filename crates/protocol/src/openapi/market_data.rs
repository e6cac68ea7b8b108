//! Operations of the market data beside the interface.

use serde_json::{Map, Value, json};

use super::{content, examples, schemas};
use crate::code;

/// Paths with their operations.
pub(super) fn paths() -> Map<String, Value> {
    let market = |required| {
        parameter(
            "market",
            required,
            &json!({"type": "string"}),
            "name of a market",
        )
    };
    let integer = json!({"type": "integer", "minimum": 0});
    let limit = |most: u32| {
        let schema = json!({"type": "integer", "minimum": 1, "maximum": most});
        parameter(
            "limit",
            false,
            &schema,
            "most entries; the newest are shown",
        )
    };
    let all = [
        (
            "/api/ext/v1/trades",
            get(
                "PublicTrades",
                "trades of a book, newest first; kept in memory since the exchange started, at most 10000 for each market",
                &[
                    market(true),
                    limit(1_000),
                    parameter(
                        "before",
                        false,
                        &integer,
                        "only trades with lower numbers: the last one of the page before",
                    ),
                ],
                &trades(),
                &json!({"market": "ETH-USDC", "trades": [trade_example()]}),
            ),
        ),
        (
            "/api/ext/v1/ticker",
            get(
                "Ticker",
                "best prices, and the trades of the last 24 hours to the minute, of one market or of all",
                &[market(false)],
                &tickers(),
                &json!({"tickers": [{
                    "market": "ETH-USDC", "time": 1_700_000_000_000_u64, "bid": "2499.9", "ask": "2500.1",
                    "last": "2500", "open": "2450", "high": "2510", "low": "2440",
                    "base": "500000000000000000", "quote": "1250000000", "trades": 1,
                }]}),
            ),
        ),
        (
            "/api/ext/v1/candles",
            get(
                "Candles",
                "candles, oldest first; intervals without trades have none",
                &[
                    market(true),
                    parameter(
                        "interval",
                        false,
                        &interval(),
                        "length of a candle; 1m if absent",
                    ),
                    limit(1_500),
                    parameter(
                        "from",
                        false,
                        &integer,
                        "only candles that begin then or later, milliseconds",
                    ),
                    parameter(
                        "to",
                        false,
                        &integer,
                        "only candles that begin before, milliseconds",
                    ),
                ],
                &candles(),
                &json!({"market": "ETH-USDC", "interval": "1m", "candles": [{
                    "time": 1_700_000_000_000_u64 / 60_000 * 60_000, "open": "2500", "high": "2500",
                    "low": "2500", "close": "2500", "base": "500000000000000000",
                    "quote": "1250000000", "trades": 1,
                }]}),
            ),
        ),
        ("/api/ext/v1/stream", stream(&market(true))),
    ];
    all.into_iter()
        .map(|(path, operation)| (path.to_owned(), json!({"get": operation})))
        .collect()
}

fn get(id: &str, summary: &str, parameters: &[Value], schema: &Value, example: &Value) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "parameters": parameters,
        "security": [],
        "x-outside-interface": true,
        "responses": responses(&content(schema, example)),
    })
}

/// The stream's events are not JSON as a whole.
fn stream(market: &Value) -> Value {
    let channels =
        json!({"type": "string", "enum": ["trades", "depth", "trades,depth", "depth,trades"]});
    let last = json!({
        "name": "Last-Event-ID",
        "in": "header",
        "required": false,
        "description": "number of the last trade received; later ones are sent first",
        "schema": {"type": "string"},
    });
    // Without a schema: readers of the document disagree whether it would be one of the body or of each event.
    let events = json!({"text/event-stream": {
        "example": format!("event: trade\nid: 1\ndata: {}\n\n", trade_example()),
    }});
    json!({
        "operationId": "Stream",
        "summary": "server-sent events of a market: trade (as in trades), depth (as in GET depth, whenever it changed, at most ten times a second), gap (trades are missing, because the client was too slow)",
        "parameters": [market, parameter("channels", false, &channels, "both if absent"), last],
        "security": [],
        "x-outside-interface": true,
        "responses": responses(&events),
    })
}

fn responses(good: &Value) -> Value {
    let refusal = |what: &str, code: u32| {
        let example = examples::refusal(Some(code));
        json!({"description": what, "content": content(&schemas::named("Refusal"), &example)})
    };
    let mut limited = refusal("too many requests, or too many streams", code::RATE_LIMITED);
    limited["headers"] = json!({"Retry-After": {"schema": {"type": "integer"}}});
    json!({
        "200": {"description": "done", "content": good},
        "400": refusal("a parameter is missing or wrong", 100_001),
        "429": limited,
        "500": refusal("the exchange failed", 100_000),
    })
}

fn parameter(name: &str, required: bool, schema: &Value, description: &str) -> Value {
    json!({
        "name": name,
        "in": "query",
        "required": required,
        "description": description,
        "schema": schema,
    })
}

fn interval() -> Value {
    json!({"type": "string", "enum": ["1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w", "15d"]})
}

fn object(properties: &Value) -> Value {
    let required: Vec<_> = properties
        .as_object()
        .map(|members| members.keys().cloned().collect())
        .unwrap_or_default();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn digits() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+$"})
}

fn price() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+([.][0-9]+)?$"})
}

fn price_or_none() -> Value {
    json!({"anyOf": [price(), {"type": "null"}]})
}

fn time() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn trade_example() -> Value {
    json!({
        "id": "1700000000000000", "time": 1_700_000_000_000_u64, "side": "buy", "price": "2500",
        "base": "500000000000000000", "quote": "1250000000",
    })
}

fn trades() -> Value {
    let trade = object(&json!({
        "id": digits(),
        "time": time(),
        "side": {"type": "string", "enum": ["buy", "sell"]},
        "price": price(),
        "base": digits(),
        "quote": digits(),
    }));
    object(&json!({"market": {"type": "string"}, "trades": {"type": "array", "items": trade}}))
}

fn tickers() -> Value {
    let ticker = object(&json!({
        "market": {"type": "string"},
        "time": time(),
        "bid": price_or_none(),
        "ask": price_or_none(),
        "last": price_or_none(),
        "open": price_or_none(),
        "high": price_or_none(),
        "low": price_or_none(),
        "base": digits(),
        "quote": digits(),
        "trades": {"type": "integer", "minimum": 0},
    }));
    object(&json!({"tickers": {"type": "array", "items": ticker}}))
}

fn candles() -> Value {
    let candle = object(&json!({
        "time": time(),
        "open": price(),
        "high": price(),
        "low": price(),
        "close": price(),
        "base": digits(),
        "quote": digits(),
        "trades": {"type": "integer", "minimum": 1},
    }));
    object(&json!({
        "market": {"type": "string"},
        "interval": interval(),
        "candles": {"type": "array", "items": candle},
    }))
}
