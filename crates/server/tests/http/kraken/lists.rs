//! Lists and the ledger: pages, lag, sums, restarts.

use std::path::Path;

use cambist_server::Durable;
use cambist_venue::Compat;
use serde_json::{Value, json};

use super::{CUSTOMER, Client, offers, opened, server, settings};
use crate::crash::Folder;
use crate::support::{Exchange, Want, taken, venue};

#[test]
fn ledgers_add_up_to_balances_and_name_trades() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    client.good("Balance", "");
    offers(&exchange, &mut other, 10_033, 1);
    client.add("buy", "100.40", "0.7003", "&oflags=fcib");
    client.add("sell", "100.90", "0.1234", "&oflags=post");
    let call = exchange.customer(3).submit(Want::Buy, 10_090, 2);
    exchange.ask(&call).good();
    let trades = client.good("TradesHistory", "ledgers=true");
    assert_eq!(trades["count"], 2);
    let first = trades["trades"].as_object().unwrap().values();
    let taker = first
        .clone()
        .find(|trade| trade["maker"] == json!(false))
        .unwrap();
    assert_eq!(taker["cost"], "70.261099");
    assert_eq!(
        taker["fee"], "0.000700300000000000",
        "ten-thousandths of what was bought"
    );
    let entries = client.good("Ledgers", "");
    assert_eq!(
        entries["count"], 6,
        "two openings and two trades of two entries"
    );
    let entries = entries["ledger"].as_object().unwrap();
    let balance = client.good("Balance", "");
    for (asset, decimals) in [("AAA", 18), ("QQQ", 6)] {
        let units = |text: &Value| -> i128 {
            let text = text.as_str().unwrap().replace('.', "");
            assert!(!text.is_empty() && decimals > 0);
            text.parse().unwrap()
        };
        let of_asset = entries.values().filter(|entry| entry["asset"] == asset);
        let sum: i128 = of_asset
            .map(|entry| units(&entry["amount"]) - units(&entry["fee"]))
            .sum();
        assert_eq!(sum, units(&balance[asset]), "{asset}");
    }
    for ledger in taker["ledgers"].as_array().unwrap() {
        let id = ledger.as_str().unwrap();
        let entry = &client.good("QueryLedgers", &format!("id={id}"))[id];
        let trade = entry["refid"].as_str().unwrap();
        let found = client.good("QueryTrades", &format!("txid={trade}"));
        assert_eq!(found[trade]["cost"], "70.261099");
    }
    let only = client.good("Ledgers", "type=trade&asset=QQQ&without_count=true");
    assert_eq!(only["ledger"].as_object().unwrap().len(), 2);
    assert!(only.get("count").is_none());
    let volume = client.good("TradeVolume", "pair=AAAQQQ");
    assert_eq!(volume["fees_maker"]["AAAQQQ"]["fee"], "0.0200");
}

#[test]
fn lists_are_paged_and_newest_first() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let mut made = Vec::new();
    for number in 0..60 {
        made.push(client.add("buy", "90", "1", &format!("&userref={}", 1 + number % 2)));
        exchange.clock.pass_ms(1_000);
    }
    assert_eq!(client.good("CancelAll", ""), json!({"count": 60}));
    client.nonce.set(client.nonce.get() + 1);
    let reply = exchange.ask(&client.signed("ClosedOrders", client.nonce.get(), "ofs=50"));
    assert_eq!(reply.body["result"]["count"], 60);
    // As text, because the order of the entries counts.
    let places: Vec<_> = made[..10]
        .iter()
        .map(|txid| reply.text.find(txid.as_str()).unwrap())
        .collect();
    assert!(
        places.is_sorted_by(|a, b| a > b),
        "the oldest is last: {places:?}"
    );
    assert!(!reply.text.contains(&made[10]));
    let by_ref = client.good("ClosedOrders", "userref=1");
    assert_eq!(by_ref["count"], 30);
    let until = client.good("ClosedOrders", &format!("end={}&closetime=open", made[3]));
    assert_eq!(
        until["count"], 4,
        "an identifier names the time of its order"
    );
}

#[test]
fn a_new_order_is_absent_from_lists_for_the_lag() {
    let mut kraken = settings();
    kraken.list_lag_ms = 2_000;
    let (exchange, _other) = opened(kraken);
    let client = Client::new(&exchange, "trader");
    let txid = client.add("buy", "90", "1", "");
    let shown = || client.good("OpenOrders", "")["open"].get(&txid).is_some();
    assert!(!shown());
    exchange.clock.pass_ms(1_999);
    assert!(!shown());
    exchange.clock.pass_ms(1);
    assert!(shown());
}

#[test]
fn a_new_entry_is_absent_from_the_ledger_for_the_lag() {
    let mut kraken = settings();
    kraken.list_lag_ms = 2_000;
    let (exchange, mut other) = opened(kraken);
    let client = Client::new(&exchange, "trader");
    client.good("Balance", "");
    exchange.clock.pass_ms(2_000);
    offers(&exchange, &mut other, 10_050, 1);
    client.add("buy", "100.50", "1", "");
    let shown = || client.good("Ledgers", "type=trade")["count"].clone();
    for (passed_ms, count) in [(0, 0), (1_999, 0), (1, 2)] {
        exchange.clock.pass_ms(passed_ms);
        assert_eq!(shown(), count, "{passed_ms}");
    }
}

fn durable(folder: &Path) -> Durable {
    let data = taken(folder);
    let recovered = data.recover().unwrap();
    recovered.unwrap_or_else(|| data.begin(venue(Compat::Both), Vec::new()).unwrap())
}

#[test]
fn nonces_orders_and_ledgers_survive_a_restart() {
    let folder = Folder::new("kraken-restart");
    std::fs::create_dir_all(folder.path()).unwrap();
    let config = server(settings());
    let mut exchange = Exchange::durable_by(&config, durable(&folder.path().join("data")));
    exchange.customer(CUSTOMER);
    let mut other = exchange.customer(2);
    offers(&exchange, &mut other, 10_050, 1);
    let (txid, nonce, before) = {
        let client = Client::new(&exchange, "trader");
        let txid = client.add("buy", "100.50", "1.5", "&cl_ord_id=mine&userref=0");
        client.good("CancelAllOrdersAfter", "timeout=60");
        let ledger = client.good("Ledgers", "");
        (txid, client.nonce.get(), ledger)
    };
    exchange.stop().unwrap();
    drop(exchange);
    let again = Exchange::durable_by(&config, durable(&folder.path().join("data")));
    let client = Client::new(&again, "trader");
    let replayed = again.ask(&client.signed("OpenOrders", nonce, "")).body;
    assert_eq!(replayed["error"][0], "EAPI:Invalid nonce");
    client.nonce.set(nonce);
    let order = client.good("OpenOrders", "")["open"][&txid].clone();
    assert_eq!(
        (&order["vol_exec"], &order["cl_ord_id"]),
        (&json!("1.0000"), &json!("mine"))
    );
    assert_eq!(client.good("Ledgers", ""), before);
    again.clock.pass_ms(60_000);
    assert_eq!(
        client.good("OpenOrders", "")["open"],
        json!({}),
        "the timer goes on"
    );
    let quote = client.good("BalanceEx", "")["QQQ"].clone();
    assert_eq!(quote["hold_trade"], "0.000000");
    // 1,000,000 less 100.50 and its fee of 0.1005.
    assert_eq!(quote["balance"], "999899.399500");
}
