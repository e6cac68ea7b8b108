//! Every request that the client can send, as bytes: `tests/external/kraken/requests.txt` holds them, and is validated
//! there against the published specification, with the signatures computed a second time.
//!
//! After a change, `REWRITE=1 cargo test -p cambist-kraken-venue --test requests` writes the file.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::request::{OrderList, OrdersPage};
use cambist_core::{
    ClientOrderId, MarketId, MarketSpec, OrderKind, Price, Qty, Side, StrategyId, TokenId,
    VenueTime,
};
use cambist_kraken::sign::Secret;
use cambist_kraken_venue::Listing;
use cambist_kraken_venue::listing::{Asset, Pair};
use cambist_kraken_venue::order_key::{cl_ord_id, key_of, key_of_txid};
use cambist_kraken_venue::requests::{Method, Request};
use cambist_kraken_venue::seal::{VALIDATE, seal};

/// The documented example's.
const SECRET: &str =
    "kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg==";
const NONCE: u64 = 1_616_492_376_594_000;
const TXID: &str = "OQCLML-BW3P3-BUCMWZ";

const ID: ClientOrderId = ClientOrderId {
    instance: 0xdead_beef,
    strategy: StrategyId(7),
    number: 123_456,
};

fn listing() -> Listing {
    let asset = |name: &str, decimals| Asset {
        name: name.to_owned(),
        altname: name[1..].to_owned(),
        decimals,
        is_enabled: true,
    };
    let pair = Pair {
        name: "XXBTZUSD".to_owned(),
        altname: "XBTUSD".to_owned(),
        base: "XXBT".to_owned(),
        quote: "ZUSD".to_owned(),
        price_decimals: 1,
        lot_decimals: 8,
        order_min: "0.0001".to_owned(),
        cost_min: Some("0.5".to_owned()),
        tick_size: Some("0.1".to_owned()),
        is_online: true,
    };
    let ids = BTreeMap::from([
        ("XXBT".to_owned(), TokenId(0)),
        ("ZUSD".to_owned(), TokenId(1)),
    ]);
    Listing::new(&[asset("XXBT", 10), asset("ZUSD", 4)], &[pair], &ids).unwrap()
}

fn order(market: &MarketSpec, kind: OrderKind, side: Side) -> UnsignedOrder {
    let (price, qty) = (Price(375_000), Qty(1_250));
    let base = market.base_amount(qty).unwrap();
    let quote = market.quote_amount(price, qty).unwrap();
    let (sell_amount, buy_amount) = match side {
        Side::Buy => (quote, base),
        Side::Sell => (base, quote),
    };
    UnsignedOrder {
        client_id: ID,
        market: market.id,
        side,
        price,
        qty,
        kind,
        swap: None,
        sell_token: market.sell_token(side),
        sell_amount,
        buy_token: market.buy_token(side),
        buy_amount,
        fill_by: FillBy::Buy,
        slot: 1,
        accepted_until_s: 1_617_236_325,
        rests_until_s: Some(1_617_236_345),
        max_fee_bips: 40,
        made_at: VenueTime(1),
    }
}

/// Path, query or body, and the signature of a private request.
fn line(method: Method, text: &[u8]) -> String {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let secret = Secret::parse(SECRET).unwrap();
    let signature = if method.is_private() {
        secret.sign(method.path(), &NONCE.to_string(), text.as_bytes())
    } else {
        "-".to_owned()
    };
    let text = if text.is_empty() { "-" } else { &text };
    format!("{} {text} {signature}", method.path())
}

fn requests() -> Vec<Request> {
    let page = |list, from, to, offset| {
        Request::orders(&OrdersPage {
            list,
            from: VenueTime(from),
            to: VenueTime(to),
            offset,
            limit: 50,
        })
    };
    let name = cl_ord_id(key_of(ID).unwrap()).unwrap();
    let now = 1_617_236_325_897;
    vec![
        Request::time(),
        Request::system_status(),
        Request::assets([]),
        Request::assets(["XXBT", "ZUSD"]),
        Request::asset_pairs([]),
        Request::asset_pairs(["XBT/USD", "ETH/USD"]),
        Request::depth("XBTUSD"),
        Request::balance(),
        Request::balance_ex(),
        page(OrderList::Resting, 0, 0, 0),
        page(OrderList::Closed, 0, 0, 0),
        page(OrderList::Closed, now - 60_000, now, 50),
        Request::open_order(&name),
        Request::closed_order(&name),
        Request::order_of_others(TXID),
        Request::trades(["THVRQM-33VKH-UCI7BS", "TCWJEG-FL4SZ-3FKGH6"]),
        Request::ledgers(VenueTime(now), None, 0),
        Request::ledgers(VenueTime(now), Some(VenueTime(now)), 50),
        Request::fees(["XXBTZUSD", "XETHZUSD"]),
        Request::withdraw_methods(),
        Request::cancel(key_of(ID).unwrap()).unwrap(),
        Request::cancel(key_of_txid(TXID).unwrap()).unwrap(),
        Request::amend(key_of(ID).unwrap(), "37499.9".to_owned(), false).unwrap(),
        Request::amend(key_of(ID).unwrap(), "37499.9".to_owned(), true).unwrap(),
        Request::cancel_all(),
        Request::cancel_all_after(60),
        Request::cancel_all_after(0),
    ]
}

#[test]
fn every_request_is_the_one_that_is_validated() {
    let mut lines = Vec::new();
    let mut methods = BTreeSet::new();
    for request in requests() {
        methods.insert(request.method.path());
        let text = if request.method.is_private() {
            request.body(NONCE)
        } else {
            request.query().into_bytes()
        };
        lines.push(line(request.method, &text));
    }
    let listing = listing();
    let market = listing.market(MarketId(0), "XBT-USD").unwrap();
    for kind in [OrderKind::MakerOnly, OrderKind::Limit, OrderKind::TakerOnly] {
        for side in Side::BOTH {
            let sealed = seal(&order(&market, kind, side), &listing, &market, NONCE).unwrap();
            lines.push(line(Method::AddOrder, &sealed.body));
            let checked = [&sealed.body[..], VALIDATE].concat();
            lines.push(line(Method::AddOrder, &checked));
        }
    }
    methods.insert(Method::AddOrder.path());
    let all = Method::ALL.into_iter().map(Method::path).collect();
    assert_eq!(methods, all, "every method is there");
    let text = format!("{}\n", lines.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../tests/external/kraken/requests.txt");
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept, text, "REWRITE=1 writes the file");
}
