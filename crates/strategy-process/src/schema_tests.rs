#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
//! The published JSON Schema against what this program writes and accepts.

use cambist_core::control::Control;
use cambist_core::elsewhere::OtherHoldings;
use cambist_core::notification::Fill;
use cambist_core::reference::Reference;
use cambist_core::strategy::{BookLevel, Holdings, OtherBook, OtherMarket, OwnOrder, Traded, View};
use cambist_core::{ClientOrderId, MarketId, Price, Qty, Side, StrategyId, Time};
use serde_json::{Value, json};

use crate::tests::{market, pool, settings};
use crate::view::ViewLine;
use crate::{FILLS_MAX, LEVELS_MAX, VERSION, target};

const SCHEMA: &str = include_str!("../../../docs/process-strategy.schema.json");

/// The words of JSON Schema that the file uses; any other fails the test.
fn conforms(schema: &Value, root: &Value, value: &Value) -> Result<(), String> {
    let Some(schema) = schema.as_object() else {
        return if schema == &json!(true) {
            Ok(())
        } else {
            Err("forbidden".to_owned())
        };
    };
    let size = || value.as_array().map_or(0, Vec::len) as u64;
    for (word, rule) in schema {
        let holds = match word.as_str() {
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                conforms(&root["$defs"][name], root, value)?;
                true
            }
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "null" => value.is_null(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_u64() || value.is_i64(),
                other => panic!("type {other}"),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minItems" => size() >= rule.as_u64().unwrap(),
            "maxItems" => size() <= rule.as_u64().unwrap(),
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .all(|key| value.get(key.as_str().unwrap()).is_some()),
            "additionalProperties" => {
                assert_eq!(rule, false);
                let known = schema["properties"].as_object().unwrap();
                value
                    .as_object()
                    .is_none_or(|value| value.keys().all(|key| known.contains_key(key)))
            }
            "properties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    if let Some(rule) = rule.get(key) {
                        conforms(rule, root, inner).map_err(|why| format!("{key}: {why}"))?;
                    }
                }
                true
            }
            "items" => {
                for inner in value.as_array().into_iter().flatten() {
                    conforms(rule, root, inner)?;
                }
                true
            }
            "pattern" => {
                assert_eq!(rule, r"^[0-9]+(\.[0-9]+)?$");
                let digits =
                    |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let is_decimal = |text: &str| {
                    text.split_once('.')
                        .map_or(digits(text), |(a, b)| digits(a) && digits(b))
                };
                value.as_str().is_none_or(is_decimal)
            }
            "oneOf" => {
                let each = rule.as_array().unwrap().iter();
                each.filter(|rule| conforms(rule, root, value).is_ok())
                    .count()
                    == 1
            }
            other => panic!("the test does not know {other}"),
        };
        if !holds {
            return Err(format!("{word} {rule} does not hold for {value}"));
        }
    }
    Ok(())
}

fn check(name: &str, value: &Value) -> Result<(), String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    conforms(&schema["$defs"][name], &schema, value)
}

fn view() -> Value {
    let id = ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number: 9,
    };
    let fill = Fill {
        order: id,
        market: MarketId(0),
        side: Side::Sell,
        base: 10_u128.pow(14),
        quote: 1,
        fee: 0,
        mid: None,
    };
    let level = BookLevel {
        price: Price(u64::MAX),
        qty: Qty(0),
    };
    let market = market();
    let (bids, asks) = ([level; LEVELS_MAX + 1], [level]);
    let book = |mid| OtherBook {
        bids: &bids,
        asks: &asks,
        mid,
    };
    let other = |age_ms, book, holdings| OtherMarket {
        market: &market,
        age_ms,
        book,
        holdings,
        taker_fee_bips: 0,
    };
    let held = |pooled_base| {
        Some(OtherHoldings {
            base: 1,
            quote: 2,
            pooled_base,
            undecided: false,
        })
    };
    let view = View {
        now: Time::from_ms(5),
        market: &market,
        bids: &[level; LEVELS_MAX + 9],
        asks: &[],
        mid: 3,
        holdings: Holdings::default(),
        pool: Some(pool(true)),
        references: &[
            Reference {
                name: "old",
                mid: None,
            },
            Reference {
                name: "elsewhere",
                mid: Some(5),
            },
        ],
        markets: &[
            other(Some(3), Ok(book(Ok(4))), held(Some(3))),
            other(
                Some(3),
                Ok(book(Err(Control::EmptyBook.into()))),
                held(None),
            ),
            other(None, Err(Control::StaleData.into()), None),
        ],
        own: &[OwnOrder {
            id,
            side: Side::Buy,
            price: Price(1),
            remaining: Qty(1),
            expiring: false,
            cancelling: true,
        }],
        fills: &[],
        traded: Traded::default(),
        unknown: [0; 2],
        taker_fee_bips: 0,
    };
    let fills = vec![fill; FILLS_MAX];
    let mut line = ViewLine::new(&view, fills.iter(), &settings(64, true));
    line.number(1, Some(r#"{"a":1}"#));
    serde_json::from_str(&line.text()).unwrap()
}

/// Every field that is written is in the schema, every one that the schema requires is written, and each is
/// of its type.
#[test]
fn what_is_written_conforms_to_the_published_schema() {
    let view = view();
    check("view", &view).unwrap();
    // There is not always a pool.
    for key in view
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| *key != "pool")
    {
        let mut less = view.clone();
        less.as_object_mut().unwrap().remove(key);
        assert!(check("view", &less).is_err(), "{key} is required");
    }
    let mut more = view;
    more["more"] = json!(1);
    assert!(check("view", &more).is_err());
}

/// A line is accepted if and only if the schema accepts it, as far as a schema can say.
#[test]
fn what_is_accepted_is_what_the_published_schema_accepts() {
    let quote = json!({"side": "buy", "price": 10, "qty": 1});
    let target = |quote: &Value| json!({"v": VERSION, "view_seq": 1, "quotes": [quote]});
    let with = |at: &mut Value, key: &str, value: Value| {
        let mut changed = at.clone();
        changed[key] = value;
        changed
    };
    let whole = target(&quote);
    let mut lines = vec![whole.clone()];
    for value in [
        json!(null),
        json!(-1),
        json!(0),
        json!(2.5),
        json!("1"),
        json!([]),
        json!(true),
    ] {
        for key in ["side", "price", "qty", "more"] {
            lines.push(target(&with(&mut quote.clone(), key, value.clone())));
        }
        for key in ["v", "quotes", "more"] {
            lines.push(with(&mut whole.clone(), key, value.clone()));
        }
    }
    for (line, key) in [(&whole, "v"), (&whole, "view_seq"), (&whole, "quotes")] {
        let mut less = line.clone();
        less.as_object_mut().unwrap().remove(key);
        lines.push(less);
    }
    for key in ["side", "price", "qty"] {
        let mut less = quote.clone();
        less.as_object_mut().unwrap().remove(key);
        lines.push(target(&less));
    }
    lines.push(with(&mut whole.clone(), "state", json!({"any": [1, null]})));
    let swap = json!({"side": "buy", "sell": "1", "least": "0.5"});
    lines.push(with(&mut whole.clone(), "swap", swap.clone()));
    lines.push(with(&mut whole.clone(), "swap", json!(null)));
    for value in [json!(null), json!(1), json!("1e2"), json!("-1"), json!([])] {
        for key in ["side", "sell", "least", "more"] {
            let changed = with(&mut swap.clone(), key, value.clone());
            lines.push(with(&mut whole.clone(), "swap", changed));
        }
    }
    let mut accepted = 0;
    for line in &lines {
        let read = target::read(
            line.to_string().as_bytes(),
            1,
            &settings(64, true),
            &market(),
        );
        let schema = check("target", line);
        assert_eq!(read.is_ok(), schema.is_ok(), "{line}: {read:?} {schema:?}");
        accepted += u32::from(read.is_ok());
    }
    // The target itself, one without quotes, one with a state, one with a swap, and one with none.
    assert_eq!(accepted, 5);
}
