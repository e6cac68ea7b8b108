//! Rows of the history: every kind with every cell, filters with both sides of their bounds, the newest first.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::books::Books;
use cambist_core::notification::{End, Fill, PoolTransactionSettlement};
use cambist_core::order::{FillBy, Swap, UnsignedOrder};
use cambist_core::pool::PoolTransactionAmounts;
use cambist_core::venue::FeeToken;
use cambist_core::{
    ClientOrderId, Hash, Intent, MarketId, OrderKind, PoolTransactionKind, Price, Qty, Side,
    StrategyId, TokenId, VenueTime,
};
use tempfile::TempDir;

use crate::books_tests::{BTC, ETH, SHARES, USDC, listing};
use crate::flows::{self, Flow};
use crate::history::{self, CellKind, Filter, RecordKind};
use crate::tests::{end, names};
use crate::{Filled, Listing, SealedIntent, SetParameter, Store, StoreError, intents};

/// 2026-01-01T00:00:00Z.
const START_S: u64 = 1_767_225_600;

fn at_us(seconds: u64) -> u64 {
    (START_S + seconds) * 1_000_000
}

/// A store with a listing and the names of two strategies.
fn store(listing: &Listing) -> (TempDir, Store) {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    store.recover(&names()).unwrap();
    store.books(listing).unwrap();
    let strategies = ["bands".to_owned(), "ladder".to_owned()];
    store
        .count_results(listing, &strategies, &Books::default())
        .unwrap();
    (folder, store)
}

fn rows(folder: &TempDir, kind: RecordKind, filter: &Filter) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let number = history::each(folder.path(), kind, filter, |row| {
        assert_eq!(row.len(), kind.columns().len());
        rows.push(row);
        Ok::<_, StoreError>(())
    });
    assert_eq!(number.unwrap(), rows.len() as u64);
    rows
}

fn id(store: &Store, strategy: u8, number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: store.instance(),
        strategy: StrategyId(strategy),
        number,
    }
}

/// Three fills, one in every second from the third on.
fn fills() -> (TempDir, Store) {
    fills_of(&listing())
}

fn fills_of(listing: &Listing) -> (TempDir, Store) {
    let (folder, mut store) = store(listing);
    let fills = [
        (
            0,
            0,
            Side::Buy,
            10_u128.pow(18),
            2_499_800_000,
            10_u128.pow(15),
            Some(500_001),
        ),
        (1, 1, Side::Sell, 250_000_000, 160_000_123_456, 777, None),
        (
            0,
            1,
            Side::Sell,
            5 * 10_u128.pow(17),
            1_250_000_000,
            12,
            Some(7),
        ),
    ];
    let orders: Vec<_> = (101..).zip(fills).collect();
    let ids: Vec<_> = orders
        .iter()
        .map(|(number, fill)| id(&store, fill.1, *number))
        .collect();
    let change = store.database.transaction().unwrap();
    for ((at, (_, fill)), order) in (3..).zip(&orders).zip(ids) {
        let (market, _, side, base, quote, fee, mid) = *fill;
        let fill = Fill {
            order,
            market: MarketId(market),
            side,
            base,
            quote,
            fee,
            mid,
        };
        let market = ["ETH-USDC", "BTC-USDC"][usize::from(market)];
        intents::insert_fill(&change, &fill, market, at_us(at)).unwrap();
    }
    change.commit().unwrap();
    (folder, store)
}

#[test]
fn fills_of_orders_that_are_kept_say_whether_they_were_swaps() {
    let (folder, mut store) = store(&listing());
    let next = store.recover(&names()).unwrap().next_number;
    let mut swap = order(&store, next + 1, 0, Side::Sell, Some(60));
    (swap.kind, swap.swap) = (OrderKind::TakerOnly, Some(Swap { most: 13 }));
    let all = [order(&store, next, 0, Side::Sell, Some(60)), swap];
    for order in &all {
        let intent = SealedIntent {
            intent: Intent::Order(order.clone()),
            hash: Hash([3; 32]),
            body: Vec::new(),
        };
        store.seal(&[intent]).unwrap();
    }
    let change = store.database.transaction().unwrap();
    for (order, at) in all.iter().zip([1, 2]) {
        let fill = Fill {
            order: order.client_id,
            market: MarketId(0),
            side: Side::Sell,
            base: 1,
            quote: 1,
            fee: 1,
            mid: None,
        };
        intents::insert_fill(&change, &fill, "ETH-USDC", at_us(at)).unwrap();
    }
    change.commit().unwrap();
    for kind in [RecordKind::Fills, RecordKind::Orders] {
        let column = kind.columns().iter().position(|name| *name == "kind");
        let found = rows(&folder, kind, &Filter::default());
        let found: Vec<_> = found.iter().map(|row| &row[column.unwrap()]).collect();
        assert_eq!(found, ["swap", "book"], "{kind:?}");
    }
}

#[test]
fn the_fee_of_a_purchase_is_in_the_token_that_its_market_takes_it_in() {
    let mut quote = listing();
    quote.markets[0].fee_in = FeeToken::Quote;
    for (listing, fee) in [
        (listing(), ["0.001", "ETH"]),
        (quote, ["1000000000", "USDC"]),
    ] {
        let (folder, _store) = fills_of(&listing);
        let found = rows(&folder, RecordKind::Fills, &Filter::default());
        let purchase = found.iter().find(|row| row[3] == "buy").unwrap();
        assert_eq!([&purchase[8], &purchase[9]], fee);
    }
}

#[test]
fn fills_have_prices_and_the_token_of_their_fee() {
    let (folder, store) = fills();
    let id = |strategy, number| id(&store, strategy, number).to_string();
    let row = |cells: [&str; 11], id: String| {
        let cells = cells.into_iter().map(str::to_owned);
        cells.chain([id]).collect::<Vec<_>>()
    };
    let expected = [
        row(
            [
                "2026-01-01T00:00:05.000Z",
                "ETH-USDC",
                "ladder",
                "sell",
                "",
                "2500",
                "0.5",
                "1250",
                "0.000012",
                "USDC",
                "0.035",
            ],
            id(1, 103),
        ),
        row(
            [
                "2026-01-01T00:00:04.000Z",
                "BTC-USDC",
                "ladder",
                "sell",
                "",
                "64000.049",
                "2.5",
                "160000.123456",
                "0.000777",
                "USDC",
                "",
            ],
            id(1, 102),
        ),
        row(
            [
                "2026-01-01T00:00:03.000Z",
                "ETH-USDC",
                "bands",
                "buy",
                "",
                "2499.8",
                "1",
                "2499.8",
                "0.001",
                "ETH",
                "2500.005",
            ],
            id(0, 101),
        ),
    ];
    assert_eq!(
        rows(&folder, RecordKind::Fills, &Filter::default()),
        expected
    );
}

fn filter(edit: impl FnOnce(&mut Filter)) -> Filter {
    let mut filter = Filter::default();
    edit(&mut filter);
    filter
}

/// The numbers of the rows that a filter leaves.
fn left_by(folder: &TempDir, edit: impl FnOnce(&mut Filter)) -> Vec<u64> {
    let rows = rows(folder, RecordKind::Fills, &filter(edit));
    let number = |row: &Vec<String>| row[11].rsplit('-').next().unwrap().parse().unwrap();
    rows.iter().map(number).collect()
}

#[test]
fn filters_by_time_include_their_beginning_and_exclude_their_end() {
    let (folder, _store) = fills();
    for (from, to, expected) in [
        (None, None, &[103, 102, 101][..]),
        (Some(4), None, &[103, 102]),
        (Some(5), None, &[103]),
        (Some(6), None, &[]),
        (None, Some(5), &[102, 101]),
        (None, Some(4), &[101]),
        (None, Some(u64::MAX - START_S), &[103, 102, 101]),
        (Some(4), Some(5), &[102]),
    ] {
        let left = left_by(&folder, |filter| {
            filter.from_ms = from.map(|at| (START_S + at).saturating_mul(1_000));
            filter.to_ms = to.map(|at| (START_S + at).saturating_mul(1_000));
        });
        assert_eq!(left, expected, "{from:?} {to:?}");
    }
    // Times are printed with milliseconds.
    let left = |from_ms, to_ms| {
        left_by(&folder, |filter| {
            (filter.from_ms, filter.to_ms) = (
                Some(START_S * 1_000 + from_ms),
                Some(START_S * 1_000 + to_ms),
            );
        })
    };
    assert_eq!(left(4_000, 4_001), [102]);
    assert_eq!(left(4_001, 5_001), [103]);
    assert!(left(3_001, 4_000).is_empty());
}

/// Amounts are whole base units: a quote amount that was rounded down is no lower price.
#[test]
fn prices_of_fills_are_rounded_to_the_nearest() {
    let spec = &listing().markets[0];
    let price = |base: &str, quote: &str| history::price(spec, base, quote).unwrap();
    // 0.123456789012345678 ETH at 2492.96 are 307.7728367... USDC.
    assert_eq!(price("123456789012345678", "307772836"), "2492.96");
    assert_eq!(price("1000000000000000000", "2492964950"), "2492.965");
    assert_eq!(price("1000000000000000000", "2492964949"), "2492.9649");
}

#[test]
fn filters_by_name_and_number_leave_the_newest_that_match() {
    let (folder, _store) = fills();
    let text = |text: &str| Some(text.to_owned());
    let left = |edit: &dyn Fn(&mut Filter)| left_by(&folder, edit);
    assert_eq!(left(&|f| f.market = text("ETH-USDC")), [103, 101]);
    assert!(left(&|f| f.market = text("XRP-USDC")).is_empty());
    assert_eq!(left(&|f| f.strategy = text("ladder")), [103, 102]);
    assert_eq!(left(&|f| f.strategy = text("bands")), [101]);
    assert_eq!(left(&|f| f.side = text("sell")), [103, 102]);
    let all = |f: &mut Filter| {
        (f.side, f.market, f.strategy) = (text("sell"), text("ETH-USDC"), text("ladder"));
    };
    assert_eq!(left(&all), [103]);
    for (limit, expected) in [
        (1, &[103][..]),
        (2, &[103, 102]),
        (3, &[103, 102, 101]),
        (4, &[103, 102, 101]),
    ] {
        assert_eq!(left(&|f| f.limit = Some(limit)), expected);
    }
    // Of the rows that are shown.
    let one = |f: &mut Filter| (f.limit, f.strategy) = (Some(1), text("bands"));
    assert_eq!(left(&one), [101]);
}

/// The reader of rows may end reading.
#[test]
fn an_error_of_the_reader_ends_reading() {
    let (folder, _store) = fills();
    let mut seen = 0;
    let ended = history::each(folder.path(), RecordKind::Fills, &Filter::default(), |_| {
        seen += 1;
        Err(StoreError::Broken)
    });
    assert!(matches!(ended, Err(StoreError::Broken)));
    assert_eq!(seen, 1);
}

#[test]
fn amounts_of_a_market_that_is_not_configured_are_in_base_units() {
    let (folder, mut store) = fills();
    let fewer = Listing {
        charged_as: None,
        account: None,
        markets: vec![listing().markets[0].clone()],
        ..listing()
    };
    store.recover(&["ETH-USDC".to_owned()]).unwrap();
    store.books(&fewer).unwrap();
    let filter = Filter {
        market: Some("BTC-USDC".to_owned()),
        ..Filter::default()
    };
    let found = rows(&folder, RecordKind::Fills, &filter);
    let cells = ["sell", "", "", "250000000", "160000123456", "777", "", ""];
    assert_eq!(found[0][3..11], cells);
    // A row of a version that stored no strategy.
    let change = "UPDATE fills SET strategy = NULL WHERE number = 102";
    store.database.execute(change, []).unwrap();
    let found = rows(&folder, RecordKind::Fills, &filter);
    assert_eq!(
        (found[0][2].as_str(), found[0][11].as_str()),
        ("unknown", "102")
    );
}

#[test]
fn strategies_have_the_names_that_they_had() {
    let (folder, mut store) = store(&listing());
    let first = store.recover(&names()).unwrap().next_number;
    store.skip_past(first + 500).unwrap();
    let later = ["third".to_owned()];
    store
        .count_results(&listing(), &later, &Books::default())
        .unwrap();
    let second = store.recover(&names()).unwrap().next_number;
    let change = store.database.transaction().unwrap();
    let instance = 7;
    for (number, strategy) in [(1, 0), (second - 1, 1), (second, 0), (second + 1, 1)] {
        let fill = Fill {
            order: ClientOrderId {
                instance,
                strategy: StrategyId(strategy),
                number,
            },
            market: MarketId(0),
            side: Side::Buy,
            base: 1,
            quote: 1,
            fee: 1,
            mid: None,
        };
        intents::insert_fill(&change, &fill, "ETH-USDC", at_us(number)).unwrap();
    }
    change.commit().unwrap();
    let found = rows(&folder, RecordKind::Fills, &Filter::default());
    let found: Vec<_> = found.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(found, ["strategy 1", "third", "ladder", "bands"]);
}

fn order(store: &Store, number: u64, market: u16, side: Side, rests: Option<u64>) -> UnsignedOrder {
    let at_s = |seconds: u64| u32::try_from(START_S + seconds).unwrap();
    UnsignedOrder {
        client_id: id(store, 1, number),
        market: MarketId(market),
        side,
        price: Price(250_012),
        qty: Qty(15_000),
        kind: OrderKind::MakerOnly,
        swap: None,
        sell_token: USDC,
        sell_amount: 5,
        buy_token: ETH,
        buy_amount: 6,
        fill_by: FillBy::Buy,
        slot: u32::try_from(number).unwrap() * 2,
        accepted_until_s: at_s(5_000),
        rests_until_s: rests.map(at_s),
        max_fee_bips: 9,
        made_at: VenueTime(START_S * 1_000),
    }
}

/// A purchase that was filled, a sale that was cancelled, and a sale that is open.
fn orders() -> (TempDir, Store, [String; 3]) {
    let (folder, mut store) = store(&listing());
    let next = store.recover(&names()).unwrap().next_number;
    let orders = [
        order(&store, next, 0, Side::Buy, Some(61)),
        order(&store, next + 1, 1, Side::Sell, None),
        order(&store, next + 2, 0, Side::Sell, Some(62)),
    ];
    for order in &orders {
        let intent = SealedIntent {
            intent: Intent::Order(order.clone()),
            hash: Hash([3; 32]),
            body: Vec::new(),
        };
        store.seal(&[intent]).unwrap();
    }
    let filled = Filled {
        base: 10_u128.pow(18),
        quote: 2_500_120_000,
        fee: 2_000_000,
    };
    end(&mut store, orders[0].client_id, End::Filled, filled, None).unwrap();
    let less = Filled {
        base: 150_000_000,
        ..filled
    };
    end(&mut store, orders[1].client_id, End::Cancelled, less, None).unwrap();
    let sealed = "UPDATE intents SET sealed_us = ?1 + number";
    let at = at_us(7).cast_signed();
    store.database.execute(sealed, [at]).unwrap();
    let ids = orders.map(|order| order.client_id.to_string());
    (folder, store, ids)
}

#[test]
fn orders_have_their_ends_and_amounts() {
    let (folder, mut store, [bought, sold, open]) = orders();
    let found = rows(&folder, RecordKind::Orders, &Filter::default());
    let qty = listing().markets[1].qty_text(Qty(15_000));
    let expected = [
        "ETH-USDC ladder sell|book|2500.12 USDC|1.5 ETH|open||||2026-01-01T00:01:02Z|".to_owned() + &open,
        format!("BTC-USDC ladder sell|book|25001.2 USDC|{qty}|cancelled|1.5|2500.12|2||{sold}"),
        "ETH-USDC ladder buy|book|2500.12 USDC|1.5 ETH|filled|1|2500.12|0.000000000002|2026-01-01T00:01:01Z|"
            .to_owned()
            + &bought,
    ];
    let text = |row: &Vec<String>| format!("{}|{}", row[1..4].join(" "), row[4..].join("|"));
    assert_eq!(found.iter().map(text).collect::<Vec<_>>(), expected);
    let sealed = "2026-01-01T00:00:07.";
    assert!(found.iter().all(|row| row[0].starts_with(sealed)));
    // Without the market's units: ticks, lots, base units.
    store.books(&Listing::default()).unwrap();
    let found = rows(&folder, RecordKind::Orders, &Filter::default());
    assert_eq!(found[2][5..7], ["250012", "15000"]);
    let units = ["1000000000000000000", "2500120000", "2000000"];
    assert_eq!(found[2][8..11], units);
}

fn settlement(store: &Store, number: u64, kind: PoolTransactionKind) -> PoolTransactionSettlement {
    PoolTransactionSettlement {
        order: id(store, 1, number),
        market: MarketId(0),
        kind,
        pooled: [ETH, USDC],
        lp: SHARES,
        amounts: PoolTransactionAmounts {
            pooled: [2 * 10_u128.pow(18), 5_000_000_000],
            lp: 123_000_000,
            fee: 70_000,
        },
        mid: Some(500_000),
    }
}

#[test]
fn joins_and_exits_have_amounts_of_three_tokens() {
    let (folder, mut store) = store(&listing());
    let join = settlement(&store, 201, PoolTransactionKind::Join);
    let exit = settlement(&store, 202, PoolTransactionKind::Exit);
    let change = store.database.transaction().unwrap();
    for (at, moved) in [(8, &join), (9, &exit)] {
        crate::pool_transactions::insert_moved(&change, moved, "ETH-USDC", at_us(at)).unwrap();
    }
    change.commit().unwrap();
    let row = |time: &str, kind: &str, number| {
        let cells = [
            time, "ETH-USDC", "ladder", kind, "2", "ETH", "5000", "USDC", "1.23", "0.07",
        ];
        let id = id(&store, 1, number).to_string();
        cells
            .into_iter()
            .map(str::to_owned)
            .chain([id])
            .collect::<Vec<_>>()
    };
    let expected = [
        row("2026-01-01T00:00:09.000Z", "exit", 202),
        row("2026-01-01T00:00:08.000Z", "join", 201),
    ];
    assert_eq!(
        rows(&folder, RecordKind::Pools, &Filter::default()),
        expected
    );
    // A row of a version that stored amounts alone.
    let change = "UPDATE moved SET kind = NULL, first_token = NULL, second_token = NULL, lp_token = NULL, market = NULL WHERE number = 202";
    store.database.execute(change, []).unwrap();
    let found = rows(&folder, RecordKind::Pools, &Filter::default());
    let cells = [
        "",
        "ladder",
        "",
        "2000000000000000000",
        "",
        "5000000000",
        "",
        "123000000",
        "70000",
    ];
    assert_eq!(found[0][1..10], cells);
    // A token that is not listed any more has its number, and units.
    let change = "UPDATE moved SET first_token = 77 WHERE number = 201";
    store.database.execute(change, []).unwrap();
    let found = rows(&folder, RecordKind::Pools, &Filter::default());
    assert_eq!(found[1][4..6], ["2000000000000000000", "token 77"]);
    let change = "UPDATE moved SET first = 'x'";
    store.database.execute(change, []).unwrap();
    let refused = history::each(folder.path(), RecordKind::Pools, &Filter::default(), |_| {
        Ok::<_, StoreError>(())
    });
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })));
}

#[test]
fn flows_have_signs_and_reasons() {
    let (folder, mut store) = store(&listing());
    let change = store.database.transaction().unwrap();
    for (at, token, symbol, amount) in [
        (10, ETH, "ETH", -15 * 10_i128.pow(17)),
        (11, BTC, "BTC", 2_500_000),
        (12, SHARES, "LP", 1),
        (13, TokenId(77), "OLD", -9),
    ] {
        let flow = Flow {
            at_us: at_us(at),
            token,
            symbol: symbol.to_owned(),
            amount,
            reason: format!("reason {at}"),
        };
        flows::insert(&change, &flow).unwrap();
    }
    change.commit().unwrap();
    let found = rows(&folder, RecordKind::Flows, &Filter::default());
    let row = |second: u64, symbol: &str, amount: &str| {
        let time = format!("2026-01-01T00:00:{second}.000Z");
        vec![
            time,
            symbol.to_owned(),
            amount.to_owned(),
            format!("reason {second}"),
        ]
    };
    let expected = [
        row(13, "OLD", "-9"),
        row(12, "LP", "0.00000001"),
        row(11, "BTC", "0.025"),
        row(10, "ETH", "-1.5"),
    ];
    assert_eq!(found, expected);
    let filter = Filter {
        from_ms: Some((START_S + 12) * 1_000),
        limit: Some(1),
        ..Filter::default()
    };
    assert_eq!(
        rows(&folder, RecordKind::Flows, &filter),
        [row(13, "OLD", "-9")]
    );
}

#[test]
fn parameters_have_who_and_why() {
    let (folder, mut store) = store(&listing());
    let set = |at, strategy: &str, value: Option<&str>| SetParameter {
        market: "ETH-USDC".to_owned(),
        strategy: strategy.to_owned(),
        key: format!("key {at}"),
        value: value.map(str::to_owned),
        operator: format!("operator {at}"),
        reason: format!("reason {at}"),
        at_us: at_us(at),
    };
    store
        .set_parameters(&[set(14, "bands", Some("25")), set(15, "ladder", None)])
        .unwrap();
    let row = |at: u64, strategy: &str, value: &str| {
        let time = format!("2026-01-01T00:00:{at}.000Z");
        let cells = ["ETH-USDC", strategy].map(str::to_owned);
        let mut row = vec![time];
        row.extend(cells);
        row.push(format!("key {at}"));
        row.push(value.to_owned());
        row.extend([format!("operator {at}"), format!("reason {at}")]);
        row
    };
    let (bands, ladder) = (row(14, "bands", "25"), row(15, "ladder", "as in the file"));
    let all = rows(&folder, RecordKind::Parameters, &Filter::default());
    assert_eq!(all, [ladder, bands.clone()]);
    let filter = Filter {
        strategy: Some("bands".to_owned()),
        ..Filter::default()
    };
    assert_eq!(rows(&folder, RecordKind::Parameters, &filter), [bands]);
}

/// As many as the longest cell: a token's, a share's, or two more than a tick's for average prices.
#[test]
fn columns_have_as_many_places_as_their_cells_need() {
    let places = |listing: &Listing| {
        let (folder, _store) = store(listing);
        history::decimal_places(folder.path()).unwrap()
    };
    let all = listing();
    assert_eq!(places(&all), 18, "of ETH");
    let mut shares = all.clone();
    shares.pools[0].lp.decimals = 19;
    assert_eq!(places(&shares), 19);
    let mut prices = all.clone();
    prices.pools.clear();
    prices.tokens.retain(|token| token.id == USDC);
    prices.markets.truncate(1);
    prices.markets[0].price_decimals = 5;
    assert_eq!(places(&prices), 7);
    prices.markets[0].price_decimals = 3;
    assert_eq!(places(&prices), 6, "of USDC");
    assert_eq!(places(&Listing::default()), 0);
}

#[test]
fn columns_of_numbers_and_times_are_known() {
    for (kind, names) in [
        (CellKind::Time, &["time", "expires"][..]),
        (
            CellKind::Decimal,
            &[
                "price",
                "base",
                "quote",
                "fee",
                "mid",
                "quantity",
                "filled",
                "filled_quote",
                "first",
                "second",
                "shares",
                "amount",
            ],
        ),
        (
            CellKind::Text,
            &[
                "market",
                "strategy",
                "order",
                "reason",
                "value",
                "fee_token",
            ],
        ),
    ] {
        for name in names {
            assert_eq!(RecordKind::kind(name), kind, "{name}");
        }
    }
}
