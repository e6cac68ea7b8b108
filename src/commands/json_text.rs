//! Formats JSON pages as text: one line per name and value, durations and times in readable form. `--json` prints the
//! page itself.

use serde_json::{Map, Value};

use cambist_host::times;

/// The page as lines.
pub fn lines(page: &Value) -> String {
    indented(page, 0)
}

/// The page of `cambist status` as lines: as [`lines`], with symbols of amounts and prices, after what an operator has to
/// see first.
pub fn status(mut page: Value) -> String {
    let first = attention(&mut page);
    for books in ["ledger", "venue"] {
        for (symbol, amount) in page
            .get_mut(books)
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
        {
            in_symbol(amount, symbol);
        }
    }
    // The names of markets and pools end with the token of their prices and values.
    for (list, name, values) in [
        ("markets", "market", &["mid", "bid", "ask"][..]),
        ("pools", "name", &["value"][..]),
    ] {
        for item in page
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let named = item[name].as_str().and_then(|name| name.rsplit_once('-'));
            let Some(quote) = named.map(|(_, quote)| quote.to_owned()) else {
                continue;
            };
            for value in values {
                if let Some(value) = item.get_mut(*value) {
                    in_symbol(value, &quote);
                }
            }
            let owed = item.get_mut("fees_owed").and_then(Value::as_object_mut);
            for (symbol, amount) in owed.into_iter().flatten() {
                in_symbol(amount, symbol);
            }
            let symbol = item.get("shares_token").and_then(Value::as_str);
            let symbol = symbol.map(str::to_owned);
            if let (Some(symbol), Some(shares)) = (symbol, item.get_mut("shares")) {
                in_symbol(shares, &symbol);
            }
        }
    }
    first + &lines(&page)
}

/// Takes the sentences about a venue that does not answer, a drain, and an end out of a status.
fn attention(page: &mut Value) -> String {
    let sentences = ["outage", "drain", "end"].map(|name| {
        let of = page.get_mut(name).and_then(Value::as_object_mut);
        let text = of.and_then(|of| of.remove("text"));
        let text = text.as_ref().and_then(Value::as_str);
        text.map_or_else(String::new, |text| format!("{text}\n"))
    });
    sentences.concat()
}

fn in_symbol(amount: &mut Value, symbol: &str) {
    if let Value::String(number) = amount {
        number.push(' ');
        number.push_str(symbol);
    }
}

fn indented(page: &Value, depth: usize) -> String {
    match page {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !is_shown_beside(fields, name))
            .map(|(name, value)| line(name, value, depth))
            .collect(),
        Value::Array(items) => (1..)
            .zip(items)
            .map(|(number, item)| line(&format!("#{number}"), item, depth))
            .collect(),
        other => format!("{}{}\n", "  ".repeat(depth), plain(other)),
    }
}

fn line(name: &str, value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if fields.is_empty() => format!("{indent}{name}: none\n"),
        Value::Array(items) if items.is_empty() => format!("{indent}{name}: none\n"),
        Value::Object(_) | Value::Array(_) => {
            format!("{indent}{name}\n{}", indented(value, depth + 1))
        }
        other => {
            let (name, text) = timed(name, other);
            format!("{indent}{name}: {text}\n")
        }
    }
}

/// Whether a number has a readable text beside it: `until_s` beside `until`, `total` beside `total_amount`.
fn is_shown_beside(fields: &Map<String, Value>, name: &str) -> bool {
    let mut units = ["_s", "_ms", "Ms", "_units"].iter();
    let beside = units.find_map(|unit| name.strip_suffix(unit));
    beside.is_some_and(|beside| fields.contains_key(beside))
        || fields.contains_key(&format!("{name}_amount"))
}

fn in_ms(name: &str) -> Option<&str> {
    let bare = name.strip_suffix("_ms");
    bare.or_else(|| name.strip_suffix("Ms"))
}

/// Formats a value whose name marks it as a duration or time.
fn timed<'a>(name: &'a str, value: &Value) -> (&'a str, String) {
    let Some(number) = value.as_u64() else {
        let bare = in_ms(name).or_else(|| name.strip_suffix("_s"));
        return (
            bare.filter(|_| value.is_null()).unwrap_or(name),
            plain(value),
        );
    };
    if let Some(name) = in_ms(name) {
        return (name, times::span_ms(number));
    }
    match name.strip_suffix("_s") {
        Some(name)
            if ["until", "expiry", "at"]
                .iter()
                .any(|word| name.ends_with(word)) =>
        {
            (name, times::iso(number))
        }
        Some(name) => (name, times::span(number)),
        None => (name, plain(value)),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_and_prices_of_a_status_have_their_symbols() {
        let page = json!({
            "state": "active",
            "ledger": {"ETH": "1.5", "USDC": "-"},
            "markets": [{"market": "ETH-USDC", "mid": "2500.005", "bid": null, "live_buy": 2}],
            "pools": [{"name": "AMM-ETH-USDC", "shares": "3.5", "shares_token": "LP-ETH-USDC", "value": "10.25",
                       "fees_owed": {"ETH": "0.01", "USDC": "0"}}],
        });
        let text = status(page);
        for line in [
            "  ETH: 1.5 ETH\n",
            "    mid: 2500.005 USDC\n",
            "    bid: -\n",
            "    live_buy: 2\n",
            "    value: 10.25 USDC\n",
            "    fees_owed\n      ETH: 0.01 ETH\n      USDC: 0 USDC\n",
            "    shares: 3.5 LP-ETH-USDC\n",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        assert_eq!(status(json!({"state": "stopped"})), "state: stopped\n");
    }

    #[test]
    fn a_venue_that_does_not_answer_is_the_first_line_of_a_status() {
        let page = json!({
            "alive": true,
            "outage": {"venue": "kraken", "for_ms": 12_500, "text": "the venue kraken has not answered for 12s"},
        });
        assert_eq!(
            status(page),
            "the venue kraken has not answered for 12s\nalive: true\noutage\n  for: 12s 500ms\n  venue: kraken\n"
        );
        let page = json!({
            "alive": true, "drain": {"text": "draining: waits", "until_s": 33}, "outage": {"text": "no answer"},
            "end": {"text": "it has ended", "exit": 77},
        });
        assert_eq!(
            status(page),
            "no answer\ndraining: waits\nit has ended\nalive: true\ndrain\n  until: 1970-01-01T00:00:33Z\nend\n  exit: 77\noutage: none\n"
        );
        let page = json!({"alive": true, "outage": null});
        assert_eq!(status(page), "alive: true\noutage: -\n");
    }

    #[test]
    fn spans_and_times_are_read_without_counting() {
        let page = json!({
            "state": "active",
            "up_ms": 3_723_250,
            "for_s": 125,
            "last_expiry_s": 43_233,
            "latch": null,
            "unknown_for_ms": null,
            "paused": [{"why": "news", "until": "1970-01-01T12:00:33Z", "until_s": 43_233}],
            "pools": [],
            "at": "1970-01-01T12:00:34Z",
            "at_ms": 43_234_000,
            "time": "1970-01-01T12:00:35Z",
            "timeMs": 43_235_000,
            "clockAheadMs": 1_500,
            "balances": [{"total": "1500", "total_amount": "0.0015 ETH"}],
        });
        let text = lines(&page);
        for line in [
            "state: active\n",
            "up: 1h 2m 3s 250ms\n",
            "for: 2m 5s\n",
            "last_expiry: 1970-01-01T12:00:33Z\n",
            "latch: -\n",
            "unknown_for: -\n",
            "paused\n  #1\n",
            "    until: 1970-01-01T12:00:33Z\n",
            "pools: none\n",
            "at: 1970-01-01T12:00:34Z\n",
            "clockAhead: 1s 500ms\n",
            "    total_amount: 0.0015 ETH\n",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        for number in ["43233", "4323", "1500"] {
            assert!(!text.contains(number), "{text}");
        }
    }
}
