//! Decoded answers are exact and match the request, or are refused.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::market::Price;
use cambist_core::order::ClientOrderId;
use cambist_core::request::{Query, Reply};
use cambist_core::{
    Hash, MarketId, MarketSpec, OrderStatus, StrategyId, TokenId, TokenSpec, VenueTime,
};
use cambist_protocol::decode::{self, Context};
use cambist_protocol::{WireError, json};

const HASH: &str = "0x00000000000000000000000000000000000000000000000000000000000000ff";

fn hash() -> Hash {
    let mut bytes = [0; 32];
    bytes[31] = 0xff;
    Hash(bytes)
}

fn market() -> MarketSpec {
    let token = |id| TokenSpec {
        id: TokenId(id),
        symbol: format!("T{id}"),
        decimals: 18,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    };
    MarketSpec::new(MarketId(3), "ONE-TWO", token(1), token(2), 3, true).unwrap()
}

fn reply(query: &Query, text: &str) -> Result<Reply, WireError> {
    let markets = [market()];
    let context = Context {
        markets: &markets,
        pools: &[],
        account_id: 7,
    };
    decode::reply(query, &json::parse(text.as_bytes()).unwrap(), context)
}

fn depth(bids: &str, asks: &str, timestamp: u64) -> Result<Reply, WireError> {
    let text = format!(
        r#"{{"version":9,"timestamp":{timestamp},"market":"ONE-TWO","bids":{bids},"asks":{asks}}}"#
    );
    reply(&Query::Depth(MarketId(3)), &text)
}

const MS: u64 = 1_700_000_000_123;

#[test]
fn prices_become_ticks_exactly() {
    let read = depth(
        r#"[["2.5","10","25","1"],["2.499","7","17","2"]]"#,
        r#"[["2.5010","3","7","1"],["3","4","12","1"]]"#,
        MS,
    );
    let Ok(Reply::Depth(depth)) = read else {
        panic!("{read:?}");
    };
    assert_eq!((depth.market, depth.version), (MarketId(3), 9));
    assert_eq!(depth.timestamp, VenueTime(MS));
    let prices = |levels: &[cambist_core::request::DepthLevel]| {
        levels.iter().map(|level| level.price).collect::<Vec<_>>()
    };
    assert_eq!(prices(&depth.bids), [Price(2_500), Price(2_499)]);
    assert_eq!(prices(&depth.asks), [Price(2_501), Price(3_000)]);
    assert_eq!(depth.bids[1].size, 7);
}

#[test]
fn impossible_levels_are_refused() {
    for (bids, what) in [
        (r#"[["2.5001","10","25","1"]]"#, "decimals"),
        (r#"[["0.000","10","25","1"]]"#, "out of range"),
        (
            r#"[["99999999999999999999","10","25","1"]]"#,
            "out of range",
        ),
        (r#"[["2.5","0","25","1"]]"#, "size is zero"),
        (
            r#"[["2.5","10","25","1"],["2.5","10","25","1"]]"#,
            "not in order",
        ),
        (
            r#"[["2.5","10","25","1"],["2.6","10","25","1"]]"#,
            "not in order",
        ),
        (r#"[["2.5","10","25"]]"#, "3 items"),
        (r#"[{"price":"2.5"}]"#, "expected a list"),
        (r#"[["+2.5","10","25","1"]]"#, "plain decimal"),
        (r#"[["2.5e0","10","25","1"]]"#, "plain decimal"),
        (r#"[[2.5,"10","25","1"]]"#, "expected a string"),
    ] {
        let error = depth(bids, "[]", MS).unwrap_err();
        assert!(error.to_string().contains(what), "{bids}: {error}");
        assert!(
            error.field.starts_with("bids[") || error.field == "bids",
            "{error}"
        );
    }
    let other = r#"{"version":9,"timestamp":1700000000123,"market":"TWO-ONE","bids":[],"asks":[]}"#;
    assert!(reply(&Query::Depth(MarketId(3)), other).is_err());
    assert!(
        reply(&Query::Depth(MarketId(0)), other).is_err(),
        "not configured"
    );
}

#[test]
fn times_are_read_by_magnitude_or_not_at_all() {
    for (written, read) in [
        (MS, VenueTime(MS)),
        (1_700_000_000, VenueTime(1_700_000_000_000)),
    ] {
        let Ok(Reply::Depth(depth)) = depth("[]", "[]", written) else {
            panic!("{written}");
        };
        assert_eq!(depth.timestamp, read);
    }
    for bad in [
        0,
        1,
        999_999_999,
        100_000_000_000,
        1_700_000_000_123_456,
        u64::MAX,
    ] {
        let error = depth("[]", "[]", bad).unwrap_err();
        assert_eq!(error.field, "timestamp");
    }
}

fn detail(start: u64, end: u64, status: &str, client: &str) -> String {
    format!(
        r#"{{"hash":"{HASH}","clientOrderId":"{client}","side":"BUY","market":"ONE-TWO","price":"1","volumes":{{"baseAmount":"10","quoteAmount":"20","baseFilled":"5","quoteFilled":"9","fee":"1"}},"validity":{{"start":{start},"end":{end}}},"orderType":"MAKER_ONLY","status":"{status}","tradeChannel":"MIXED"}}"#
    )
}

#[test]
fn orders_are_reported_with_our_id_and_the_venues_times() {
    let ours = detail(1_600_000_000, 1_700_000_000, "expired", "c000000ab-1-7");
    let Ok(Reply::Order(report)) = reply(&Query::Order(hash()), &ours) else {
        panic!("{ours}");
    };
    assert_eq!(
        report.client_id,
        Some(ClientOrderId {
            instance: 0xab,
            strategy: StrategyId(1),
            number: 7
        })
    );
    assert_eq!(report.valid_since, VenueTime(1_600_000_000_000));
    assert_eq!(report.valid_until_s, 1_700_000_000);
    assert_eq!(
        (report.base_filled, report.quote_filled, report.fee),
        (5, 9, 1)
    );
    // In milliseconds the end is rounded up: an order must not look expired too early.
    let page = format!(
        r#"{{"totalNum":1,"orders":[{}]}}"#,
        detail(
            1_600_000_000_001,
            1_700_000_000_001,
            "sleeping",
            "someone else"
        )
    );
    let Ok(Reply::Orders { orders, total }) = reply(
        &Query::Orders(cambist_core::request::OrdersPage {
            from: VenueTime(0),
            to: VenueTime(1),
            offset: 0,
            limit: 50,
            list: cambist_core::request::OrderList::All,
        }),
        &page,
    ) else {
        panic!("{page}");
    };
    assert_eq!(total, 1);
    assert_eq!(orders[0].valid_since, VenueTime(1_600_000_000_001));
    assert_eq!(orders[0].valid_until_s, 1_700_000_001);
    assert_eq!(
        (orders[0].client_id, orders[0].status),
        (None, OrderStatus::Other)
    );
    let far = detail(1, 99_999_999_999, "expired", "x");
    assert_eq!(
        reply(&Query::Order(hash()), &far).unwrap_err().field,
        "validity.end"
    );
}

#[test]
fn answers_about_another_object_are_refused() {
    let other = Hash([1; 32]);
    let order = detail(1, 2, "expired", "x");
    assert_eq!(
        reply(&Query::Order(other), &order).unwrap_err().field,
        "hash"
    );
    let ack = format!(
        r#"{{"hash":"{HASH}","clientOrderId":"x","status":"cancelling","isIdempotent":false}}"#
    );
    assert_eq!(
        reply(&Query::Cancel(other), &ack).unwrap_err().field,
        "hash"
    );
    assert_eq!(
        reply(&Query::Cancel(hash()), &ack),
        Ok(Reply::CancelTaken {
            status: OrderStatus::Cancelling
        })
    );
    let balance = |id: u32, account: u32| {
        format!(
            r#"{{"accountId":{account},"tokenId":{id},"total":"5","locked":"1","pending":{{"withdraw":"0","deposit":"0"}}}}"#
        )
    };
    let balances = |text: String| reply(&Query::Balances, &text);
    assert!(balances(format!("[{},{}]", balance(1, 7), balance(2, 7))).is_ok());
    assert!(
        balances(format!("[{},{}]", balance(1, 7), balance(1, 7))).is_err(),
        "twice"
    );
    assert!(
        balances(format!("[{}]", balance(1, 8))).is_err(),
        "another account"
    );
}

#[test]
fn only_open_markets_are_listed() {
    let market = |name: &str, enabled: bool| {
        format!(
            r#"{{"market":"{name}","baseTokenId":1,"quoteTokenId":2,"precisionForPrice":3,"orderbookAggLevels":2,"enabled":{enabled}}}"#
        )
    };
    let text = format!(
        r#"{{"markets":[{},{}]}}"#,
        market("A-B", true),
        market("C-D", false)
    );
    let Ok(Reply::Markets { listed }) = reply(&Query::Markets, &text) else {
        panic!("a list of markets");
    };
    let shown: Vec<_> = listed
        .iter()
        .map(|m| (m.name.as_str(), m.enabled))
        .collect();
    assert_eq!(shown, [("A-B", true), ("C-D", false)]);
}
