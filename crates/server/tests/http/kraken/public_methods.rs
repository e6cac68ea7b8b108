//! Public methods.

use serde_json::json;

use super::{Client, offers, opened, public, settings, shown};
use crate::support::START_S;

#[test]
fn public_methods_show_the_exchange() {
    let (exchange, mut other) = opened(settings());
    assert_eq!(shown(&exchange, "Time")["unixtime"], START_S);
    assert_eq!(shown(&exchange, "SystemStatus")["status"], "online");
    let assets = shown(&exchange, "Assets?asset=AAA");
    assert_eq!(assets["AAA"]["decimals"], 18);
    assert!(assets.get("QQQ").is_none());
    assert_eq!(
        public(&exchange, "Assets?asset=ZZZ")["error"][0],
        "EQuery:Unknown asset"
    );
    let pair = &shown(&exchange, "AssetPairs?pair=AAA/QQQ")["AAAQQQ"];
    assert_eq!(pair["pair_decimals"], 2);
    // 6 decimals of the quote less 2 of the price.
    assert_eq!(pair["lot_decimals"], 4);
    assert_eq!(pair["ordermin"], "0.0010");
    assert_eq!(pair["costmin"], "1.000000");
    assert_eq!(pair["tick_size"], "0.01");
    assert_eq!(pair["fees"], json!([[0, 0.1]]));
    assert_eq!(pair["fees_maker"], json!([[0, 0.02]]));
    offers(&exchange, &mut other, 10_050, 2);
    let depth = shown(&exchange, "Depth?pair=AAAQQQ&count=1");
    assert_eq!(
        depth["AAAQQQ"]["asks"],
        json!([["100.50", "2.0000", START_S]])
    );
    let client = Client::new(&exchange, "trader");
    client.add("buy", "100.50", "0.5", "");
    let trades = shown(&exchange, "Trades?pair=AAAQQQ");
    let trade = &trades["AAAQQQ"][0];
    assert_eq!(
        (&trade[0], &trade[1], &trade[3]),
        (&json!("100.50"), &json!("0.5000"), &json!("b"))
    );
    let last = trades["last"].as_str().unwrap();
    let later = shown(&exchange, &format!("Trades?pair=AAAQQQ&since={last}"));
    assert_eq!(
        (&later["AAAQQQ"], &later["last"]),
        (&json!([]), &json!(last))
    );
    let ticker = &shown(&exchange, "Ticker?pair=AAAQQQ")["AAAQQQ"];
    assert_eq!(ticker["a"], json!(["100.50", "1", "1.5000"]));
    assert_eq!(ticker["b"][0], "0.00");
    assert_eq!(
        (&ticker["c"], &ticker["t"]),
        (&json!(["100.50", "0.5000"]), &json!([1, 1]))
    );
    let candles = shown(&exchange, "OHLC?pair=AAAQQQ&interval=60");
    assert_eq!(candles["AAAQQQ"][0][5], "100.50", "the average price");
    for minutes in [1, 5, 15, 30, 60, 240, 1_440, 10_080, 21_600] {
        let candles = shown(&exchange, &format!("OHLC?pair=AAAQQQ&interval={minutes}"));
        let start_s = candles["AAAQQQ"][0][0].as_u64().unwrap();
        assert_eq!(start_s % (minutes * 60), 0, "{minutes}");
    }
    for (target, error) in [
        ("Depth?pair=NONE", "EQuery:Unknown asset pair"),
        ("Depth", "EGeneral:Invalid arguments:pair"),
        (
            "Depth?pair=AAAQQQ&count=501",
            "EGeneral:Invalid arguments:count",
        ),
        (
            "OHLC?pair=AAAQQQ&interval=7",
            "EGeneral:Invalid arguments:interval",
        ),
        ("Nothing", "EGeneral:Unknown method"),
    ] {
        assert_eq!(public(&exchange, target)["error"][0], error, "{target}");
    }
}

#[test]
fn the_candle_of_now_is_always_there() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let candles = |since: u64| {
        let shown = shown(&exchange, &format!("OHLC?pair=AAAQQQ&since={since}"));
        let starts: Vec<_> = shown["AAAQQQ"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[0].as_u64().unwrap())
            .collect();
        (starts, shown["last"].clone(), shown["AAAQQQ"].clone())
    };
    assert_eq!(candles(0).0, Vec::<u64>::new(), "no price yet");
    offers(&exchange, &mut other, 10_050, 2);
    client.add("buy", "100.50", "0.5", "");
    let first = START_S - START_S % 60;
    assert_eq!(candles(START_S + 500).0, [first]);
    exchange.clock.pass_ms(120_000);
    let (starts, last, rows) = candles(first + 1);
    assert_eq!((starts, last), (vec![first + 120], json!(first)));
    let price = "100.50";
    let empty = json!([first + 120, price, price, price, price, "0.00", "0.0000", 0]);
    assert_eq!(rows[0], empty);
    assert_eq!(candles(0).0, [first, first + 120]);
}

#[test]
fn public_lists_answer_what_is_asked() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    offers(&exchange, &mut other, 10_050, 2);
    client.add("buy", "100.50", "0.5", "");
    client.good(
        "AddOrder",
        "pair=AAAQQQ&type=buy&ordertype=market&volume=0.5",
    );
    let trades = shown(&exchange, "Trades?pair=AAAQQQ");
    assert_eq!(
        [&trades["AAAQQQ"][0][4], &trades["AAAQQQ"][1][4]],
        ["l", "m"]
    );
    let fields = |info: &str| {
        let pair = shown(&exchange, &format!("AssetPairs?pair=AAAQQQ&info={info}"));
        let fields = pair["AAAQQQ"].as_object().unwrap().keys().cloned();
        fields.collect::<Vec<_>>()
    };
    assert_eq!(fields("leverage"), ["leverage_buy", "leverage_sell"]);
    assert_eq!(
        fields("fees"),
        ["fee_volume_currency", "fees", "fees_maker"]
    );
    assert_eq!(fields("margin"), ["margin_call", "margin_stop"]);
    assert!(fields("info").len() > 20);
    for (target, error) in [
        ("AssetPairs?info=all", "EGeneral:Invalid arguments:info"),
        (
            "AssetPairs?aclass_base=x",
            "EGeneral:Invalid arguments:aclass_base",
        ),
        ("Assets?aclass=x", "EGeneral:Invalid arguments:aclass"),
        (
            "Assets?aclass=tokenized_asset&asset=AAA",
            "EQuery:Unknown asset",
        ),
    ] {
        assert_eq!(public(&exchange, target)["error"][0], error, "{target}");
    }
    assert_eq!(shown(&exchange, "Assets?aclass=tokenized_asset"), json!({}));
    assert_eq!(
        shown(&exchange, "AssetPairs?aclass_base=tokenized_asset"),
        json!({})
    );
    assert_ne!(client.good("Ledgers", "aclass=currency")["count"], 0);
    assert_eq!(client.good("Ledgers", "aclass=tokenized_asset")["count"], 0);
    for (method, form, name) in [
        ("Ledgers", "aclass=x", "aclass"),
        ("Ledgers", "type=x", "type"),
        ("TradesHistory", "type=x", "type"),
    ] {
        let error = format!("EGeneral:Invalid arguments:{name}");
        assert_eq!(client.error(method, form), error);
    }
}
