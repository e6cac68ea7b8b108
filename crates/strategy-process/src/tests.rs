#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::control::Control;
use cambist_core::notification::Fill;
use cambist_core::strategy::{
    BookLevel, Holdings, OwnOrder, PoolView, ProcessMessage, Strategy, SwapTerms, Targets, Traded,
    View, WantedSwap,
};
use cambist_core::{
    ClientOrderId, MarketId, MarketSpec, Price, Qty, Side, StrategyId, Time, TokenId, TokenSpec,
};

use crate::model::{Behaviour, Model, Nonsense};
use crate::view::ViewLine;
use crate::{ProcessSettings, ProcessStrategy, VIEW_INTERVAL_MS};

const TIMEOUT_MS: u64 = 2_000;

pub(crate) fn market() -> MarketSpec {
    let token = |id, symbol: &str, decimals| TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    };
    let (base, quote) = (token(0, "ETH", 18), token(1, "USDC", 6));
    MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, 2, true).unwrap()
}

/// Settings with so many quotes, and with or without swaps.
pub(crate) fn settings(orders_max: usize, swaps: bool) -> ProcessSettings {
    let settings = ProcessSettings::new(TIMEOUT_MS, orders_max, &toml::Table::new());
    settings.unwrap().with_swaps(swaps)
}

pub(crate) fn strategy() -> ProcessStrategy {
    let params = "qty = 7\nnote = \"a\"\nlist = [1, 2.5]".parse().unwrap();
    let settings = ProcessSettings::new(TIMEOUT_MS, 4, &params).unwrap();
    ProcessStrategy::new(settings, &market())
}

fn id(number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number,
    }
}

/// A strategy, its market, and what it was last asked with.
struct Scene {
    strategy: ProcessStrategy,
    market: MarketSpec,
    now: Time,
    own: Vec<OwnOrder>,
    fills: Vec<Fill>,
    bid: u64,
    pool: Option<PoolView>,
}

impl Scene {
    fn new() -> Self {
        Self {
            strategy: strategy(),
            market: market(),
            now: Time::from_ms(1_000),
            own: Vec::new(),
            fills: Vec::new(),
            bid: 200_000,
            pool: None,
        }
    }

    /// A scene whose process has answered its first view with `quotes`.
    fn answered(quotes: &str) -> Self {
        let mut scene = Self::new();
        scene.handle(&ProcessMessage::Started).unwrap();
        scene.decide();
        let view = scene.view().unwrap();
        scene.answer(&view, quotes).unwrap();
        scene
    }

    fn handle(&mut self, message: &ProcessMessage) -> Result<(), String> {
        self.strategy.receive(self.now, message)
    }

    fn answer(&mut self, view: &ViewLine, quotes: &str) -> Result<(), String> {
        let line = format!(
            r#"{{"v":1,"view_seq":{},"quotes":[{quotes}]}}"#,
            view.view_seq
        );
        self.handle(&ProcessMessage::Line(line.into_bytes()))
    }

    fn decide(&mut self) -> Targets {
        let level = |price| {
            [BookLevel {
                price: Price(price),
                qty: Qty(5),
            }]
        };
        let mut targets = Targets::default();
        let view = View {
            now: self.now,
            market: &self.market,
            bids: &level(self.bid),
            asks: &level(self.bid + 2),
            mid: 2 * self.bid + 2,
            holdings: Holdings {
                base: 1_500_000_000_000_000_000,
                quote: 2_000_000_000,
            },
            pool: self.pool,
            references: &[],
            markets: &[],
            own: &self.own,
            fills: &std::mem::take(&mut self.fills),
            traded: Traded::default(),
            unknown: [0; 2],
            taker_fee_bips: 0,
        };
        self.strategy.decide(&view, &mut targets);
        targets
    }

    fn view(&mut self) -> Option<ViewLine> {
        let line = self.strategy.take_view()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    fn quotes(&mut self) -> Vec<(Side, u64, u64)> {
        let targets = self.decide();
        let each = targets.quotes().iter();
        each.map(|quote| (quote.side, quote.price.0, quote.qty.0))
            .collect()
    }

    /// Nothing is wanted, and why.
    fn barred(&mut self) -> Option<Control> {
        let targets = self.decide();
        assert!(targets.quotes().is_empty(), "{targets:?}");
        let why = Side::BOTH.map(|side| targets.withheld(side).map(|why| why.control));
        assert_eq!(why[0], why[1]);
        why[0]
    }

    fn fill(&mut self, number: u64, side: Side, lots: u64) {
        self.fills.push(Fill {
            order: id(number),
            market: MarketId(0),
            side,
            base: self.market.base_amount(Qty(lots)).unwrap(),
            quote: 1,
            fee: 0,
            mid: None,
        });
    }
}

const BID: &str = r#"{"side":"buy","price":199900,"qty":5}"#;
const ASK: &str = r#"{"side":"sell","price":200100,"qty":5}"#;

#[test]
fn the_last_answer_counts_until_it_is_too_old() {
    let mut scene = Scene::new();
    assert_eq!(scene.barred(), Some(Control::ProcessDown));
    assert!(scene.view().is_none(), "it would not be read");
    scene.handle(&ProcessMessage::Started).unwrap();
    assert_eq!(scene.barred(), Some(Control::ProcessStale));
    let view = scene.view().unwrap();
    assert_eq!((view.v, view.view_seq), (1, 1));
    scene.answer(&view, BID).unwrap();
    assert_eq!(scene.quotes(), [(Side::Buy, 199_900, 5)]);
    let stale = scene.now.plus_ms(TIMEOUT_MS);
    scene.now = scene.now.plus_ms(TIMEOUT_MS - 1);
    assert_eq!(scene.quotes().len(), 1);
    assert!(
        scene.view().is_some(),
        "a new view before that, so that it stays fresh"
    );
    assert_eq!(scene.strategy.next_decision(), Some(stale));
    scene.now = stale;
    assert_eq!(scene.barred(), Some(Control::ProcessStale));
    let targets = scene.decide();
    let why = targets.withheld(Side::Buy).unwrap();
    assert_eq!(
        (why.value, why.limit, why.key()),
        (Some(2_000), Some(2_000), Some("market.strategy.timeout_ms"))
    );
}

/// The process is not slow if it was not asked: while nothing may be quoted, or while the daemon is stopped.
#[test]
fn a_process_that_was_not_asked_has_its_whole_time_from_the_next_view_on() {
    let value = |scene: &mut Scene| {
        let why = scene.decide().withheld(Side::Buy).unwrap();
        assert_eq!(why.control, Control::ProcessStale);
        (why.value, why.is_awaited())
    };
    // A view that was made a moment before the last answer was too old: that is the time of the process.
    let mut scene = Scene::answered(BID);
    let begun = scene.now;
    scene.now = begun.plus_ms(TIMEOUT_MS - 1);
    assert_eq!(scene.quotes().len(), 1);
    scene.now = begun.plus_ms(TIMEOUT_MS);
    assert_eq!(value(&mut scene), (Some(2_000), false));

    let mut scene = Scene::answered(BID);
    let late = scene.now.plus_ms(TIMEOUT_MS);
    scene.now = late;
    assert_eq!(value(&mut scene), (None, true));
    let view = scene.view().unwrap();
    scene.now = late.plus_ms(TIMEOUT_MS - 1);
    assert_eq!(value(&mut scene), (None, true));
    scene.now = late.plus_ms(TIMEOUT_MS);
    assert_eq!(value(&mut scene), (Some(2_000), false));
    scene.now = late.plus_ms(1);
    scene.answer(&view, BID).unwrap();
    assert_eq!(scene.quotes().len(), 1);

    // So has one that was started.
    let mut scene = Scene::new();
    scene.handle(&ProcessMessage::Started).unwrap();
    assert_eq!(value(&mut scene), (None, true));
    scene.now = scene.now.plus_ms(TIMEOUT_MS);
    assert_eq!(value(&mut scene), (Some(2_000), false));
}

#[test]
fn a_view_is_made_for_something_new_and_never_beside_one_that_is_unanswered() {
    let mut scene = Scene::answered(BID);
    scene.decide();
    assert!(scene.view().is_none(), "nothing is new");
    scene.bid += 1;
    scene.decide();
    assert!(scene.view().is_none(), "too soon");
    scene.now = scene.strategy.next_decision().unwrap();
    assert_eq!(scene.now, Time::from_ms(1_000 + VIEW_INTERVAL_MS));
    scene.decide();
    let view = scene.view().unwrap();
    assert_eq!(view.bids, [(200_001, 5)]);
    scene.bid += 1;
    scene.now = scene.now.plus_ms(VIEW_INTERVAL_MS);
    scene.decide();
    assert!(scene.view().is_none(), "the one before is unanswered");
    scene.answer(&view, BID).unwrap();
    scene.decide();
    assert_eq!(scene.view().unwrap().view_seq, 3);
}

#[test]
fn a_view_holds_units_parameters_and_amounts_exactly() {
    let mut scene = Scene::answered(BID);
    scene.own.push(OwnOrder {
        id: id(3),
        side: Side::Buy,
        price: Price(199_900),
        remaining: Qty(5),
        expiring: true,
        cancelling: false,
    });
    scene.fill(3, Side::Buy, 2);
    scene.now = scene.now.plus_ms(VIEW_INTERVAL_MS);
    scene.decide();
    let text = scene.strategy.take_view().unwrap();
    let view: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(view["market"]["tick"], "0.01");
    assert_eq!(view["market"]["lot"], "0.0001");
    assert_eq!(view["holdings"]["base"], "1.5");
    assert_eq!(view["holdings"]["base_lots"], 15_000);
    assert_eq!(view["holdings"]["quote"], "2000");
    assert_eq!(view["own"][0]["id"], "c00000001-0-3");
    assert_eq!(view["fills"][0]["base"], "0.0002");
    assert_eq!(view["params"]["list"][1], 2.5);
    assert_eq!(view["state"], serde_json::Value::Null);
    assert!(!text.contains('\n'));
}

#[test]
fn a_dead_process_quotes_nothing_and_its_next_life_begins_with_a_view() {
    let mut scene = Scene::answered(BID);
    scene.handle(&ProcessMessage::Ended).unwrap();
    assert_eq!(scene.barred(), Some(Control::ProcessDown));
    assert!(scene.view().is_none());
    scene.handle(&ProcessMessage::Started).unwrap();
    assert_eq!(
        scene.barred(),
        Some(Control::ProcessStale),
        "not the answer of its earlier life"
    );
    let view = scene.view().unwrap();
    assert_eq!(view.view_seq, 2);
    scene.answer(&view, ASK).unwrap();
    assert_eq!(scene.quotes(), [(Side::Sell, 200_100, 5)]);
}

#[test]
fn nonsense_quotes_nothing_until_there_is_a_target_again() {
    for kind in Nonsense::ALL {
        let mut scene = Scene::answered(BID);
        scene.bid += 1;
        scene.now = scene.now.plus_ms(VIEW_INTERVAL_MS);
        assert_eq!(scene.quotes().len(), 1, "the answer before still counts");
        let view = scene.view().unwrap();
        let model = Model {
            margin_bps: 10,
            qty: 3,
        };
        let line = model
            .answer(&view.text(), Behaviour::Nonsense(kind))
            .unwrap();
        let refused = scene.handle(&ProcessMessage::Line(line.into_bytes()));
        assert!(refused.is_err(), "{kind:?}");
        assert_eq!(scene.barred(), Some(Control::ProcessAnswer), "{kind:?}");
        // Another try comes by itself.
        scene.now = scene.strategy.next_decision().unwrap();
        scene.decide();
        let view = scene.view().unwrap();
        let line = model.answer(&view.text(), Behaviour::Answers).unwrap();
        scene
            .handle(&ProcessMessage::Line(line.into_bytes()))
            .unwrap();
        let quotes = scene.quotes();
        assert_eq!(quotes, [(Side::Buy, 199_801, 3), (Side::Sell, 200_203, 3)]);
    }
}

#[test]
fn an_answer_to_nothing_is_refused() {
    let mut scene = Scene::answered(BID);
    scene.decide();
    let line = br#"{"v":1,"view_seq":1,"quotes":[]}"#.to_vec();
    assert!(scene.handle(&ProcessMessage::Line(line)).is_err());
    assert_eq!(scene.barred(), Some(Control::ProcessAnswer));
}

#[test]
fn what_an_answer_may_hold_is_bounded() {
    let refused = |line: &str| {
        crate::target::read(line.as_bytes(), 1, &settings(2, false), &market())
            .unwrap_err()
            .to_string()
    };
    let with = |quotes: &str| format!(r#"{{"v":1,"view_seq":1,"quotes":[{quotes}]}}"#);
    let quote = |price: &str, qty: &str| format!(r#"{{"side":"buy","price":{price},"qty":{qty}}}"#);
    for (line, why) in [
        (with(&[BID, BID, ASK].join(",")), "3 quotes, allowed are 2"),
        (with(&quote("0", "1")), "above 0"),
        (with(&quote("1", "0")), "above 0"),
        (with(&quote("-1", "1")), "expected u64"),
        (with(&quote("1.5", "1")), "expected u64"),
        (with(&quote("\"1\"", "1")), "expected u64"),
        (with(&quote("18446744073709551616", "1")), "expected u64"),
        (
            with(&quote("18446744073709551615", "18446744073709551615")),
            "too large",
        ),
        (with(&BID.replace("buy", "bid")), "unknown variant"),
        (
            with(&BID.replace('}', ",\"ttl\":1}")),
            "unknown field `ttl`",
        ),
        (
            with(&format!(
                "{BID},{{\"side\":\"sell\",\"price\":199900,\"qty\":1}}"
            )),
            "not below",
        ),
        (
            with("").replace(":1,", ":2,"),
            "version 2, this program has version 1",
        ),
        (format!("{} {}", with(""), with("")), "trailing"),
        (String::new(), "EOF"),
        (
            with("").replace("]}", &format!("],\"state\":\"{}\"}}", "x".repeat(20_000))),
            "state takes",
        ),
        (format!("{}{}", with(""), " ".repeat(70_000)), "line has"),
    ] {
        let refused = refused(&line);
        assert!(refused.contains(why), "{line:.100}: {refused}");
    }
    let read = crate::target::read(
        with(&[BID, ASK].join(",")).as_bytes(),
        1,
        &settings(2, false),
        &market(),
    );
    assert_eq!(read.unwrap().quotes.len(), 2);
}

#[test]
fn what_was_filled_since_the_view_is_not_wanted_again() {
    let mut scene = Scene::answered(&[BID, ASK].join(","));
    let order = |number, side, price| OwnOrder {
        id: id(number),
        side,
        price: Price(price),
        remaining: Qty(5),
        expiring: false,
        cancelling: false,
    };
    scene.own = vec![order(1, Side::Buy, 199_900), order(2, Side::Sell, 200_100)];
    assert_eq!(scene.quotes().len(), 2);
    // Part of the bid: less of it is wanted.
    scene.own[0].remaining = Qty(3);
    scene.fill(1, Side::Buy, 2);
    assert_eq!(scene.quotes()[0], (Side::Buy, 199_900, 3));
    // The rest: nothing is wanted, until the process has seen it.
    scene.own.remove(0);
    scene.fill(1, Side::Buy, 3);
    assert_eq!(scene.quotes(), [(Side::Sell, 200_100, 5)]);
    scene.now = scene.now.plus_ms(VIEW_INTERVAL_MS);
    scene.decide();
    let view = scene.view().unwrap();
    assert_eq!(view.fills.len(), 2);
    // Another fill while it thinks: its answer cannot know of that.
    scene.own.clear();
    scene.fill(2, Side::Sell, 5);
    scene.decide();
    scene.answer(&view, &[BID, ASK].join(",")).unwrap();
    assert_eq!(scene.quotes(), [(Side::Buy, 199_900, 5)]);
    scene.now = scene.now.plus_ms(VIEW_INTERVAL_MS);
    scene.decide();
    let view = scene.view().unwrap();
    assert_eq!(
        view.fills.len(),
        1,
        "a fill is shown until a view with it is answered"
    );
    // A fill of an order that was never seen: its side waits.
    scene.answer(&view, &[BID, ASK].join(",")).unwrap();
    scene.fill(9, Side::Buy, 1);
    assert_eq!(scene.quotes(), [(Side::Sell, 200_100, 5)]);
}

#[test]
fn the_state_comes_back_in_the_next_view_and_after_a_restart() {
    let mut scene = Scene::answered(BID);
    scene.bid += 1;
    scene.now = scene.now.plus_ms(VIEW_INTERVAL_MS);
    scene.decide();
    let view = scene.view().unwrap();
    let model = Model {
        margin_bps: 10,
        qty: 3,
    };
    let line = model.answer(&view.text(), Behaviour::Answers).unwrap();
    scene
        .handle(&ProcessMessage::Line(line.into_bytes()))
        .unwrap();
    let durable = scene.strategy.save_durable();
    let mut later = Scene::new();
    assert!(later.strategy.resume(&durable));
    later.handle(&ProcessMessage::Started).unwrap();
    assert_eq!(
        later.barred(),
        Some(Control::ProcessStale),
        "an answer of another run counts not"
    );
    assert_eq!(later.view().unwrap().state["answered"], 1);
    assert!(!later.strategy.resume(b"\xff\xff"));
    assert!(later.strategy.resume(b""));
}

#[test]
fn a_snapshot_goes_on_as_the_original() {
    let mut scene = Scene::answered(BID);
    scene.fill(9, Side::Sell, 1);
    scene.decide();
    let mut copy = Scene::new();
    assert!(copy.strategy.restore(&scene.strategy.save()));
    for scene in [&mut scene, &mut copy] {
        scene.now = Time::from_ms(1_600);
        scene.bid += 7;
    }
    assert_eq!(scene.decide(), copy.decide());
    assert_eq!(scene.view(), copy.view());
    assert_eq!(scene.strategy.save(), copy.strategy.save());
    assert!(!copy.strategy.restore(b"\xff"));
}

#[test]
fn parameters_that_json_cannot_express_are_refused() {
    for (table, key) in [
        ("a = nan", "a"),
        ("[b]\nc = [1, inf]", "b.c[1]"),
        ("d = 2026-01-01", "d"),
    ] {
        let refused = ProcessSettings::new(1, 1, &table.parse().unwrap()).unwrap_err();
        assert!(
            refused.to_string().starts_with(&format!("{key}: ")),
            "{refused}"
        );
    }
    let params = "qty = 7\n[inner]\nlist = [true]".parse().unwrap();
    let markets = ["A-B".to_owned(), "C-D".to_owned()];
    let written = ProcessSettings::write(5, 6, true, &markets, &params);
    let read = ProcessSettings::read(&written.to_string().parse().unwrap()).unwrap();
    assert_eq!(
        read,
        ProcessSettings::new(5, 6, &params)
            .unwrap()
            .with_swaps(true)
            .with_markets(&markets)
    );
}

/// A pool that a swap is possible with, or not now.
pub(crate) fn pool(possible: bool) -> PoolView {
    PoolView {
        base: 20 * 10_u128.pow(18),
        quote: 40_000_000_000,
        supply: 1,
        range: None,
        owed: None,
        held: 0,
        moving: !possible,
        moved: None,
        swap: SwapTerms {
            possible,
            fee_bips: 20,
            taker_fee_bips: 10,
            slippage_bps: 50,
            value_max: 500_000_000,
        },
    }
}

const SWAP: &str = r#"{"side":"sell","sell":"0.25","least":"499.5"}"#;

/// A scene with a pool, whose process asked for a swap in its first answer.
fn swapping() -> Scene {
    let mut scene = Scene::new();
    scene.strategy = ProcessStrategy::new(settings(4, true), &market());
    scene.pool = Some(pool(true));
    scene.handle(&ProcessMessage::Started).unwrap();
    scene.decide();
    let view = scene.view().unwrap();
    let seen = view.pool.as_ref().unwrap();
    assert_eq!(
        (seen.base.as_str(), seen.quote.as_str(), seen.possible),
        ("20", "40000", true)
    );
    scene.ask(&view, SWAP).unwrap();
    scene
}

impl Scene {
    fn ask(&mut self, view: &ViewLine, swap: &str) -> Result<(), String> {
        let line = format!(
            r#"{{"v":1,"view_seq":{},"quotes":[],"swap":{swap}}}"#,
            view.view_seq
        );
        self.handle(&ProcessMessage::Line(line.into_bytes()))
    }
}

#[test]
fn a_swap_is_asked_for_once_however_often_its_answer_is_decided_on() {
    let mut scene = swapping();
    let wanted = WantedSwap {
        side: Side::Sell,
        sell: 250_000_000_000_000_000,
        least: 499_500_000,
    };
    assert_eq!(scene.decide().wanted_swap(), Some(wanted));
    assert_eq!(scene.decide().wanted_swap(), None);
    // Read again after the swap, the pool takes another one: that needs another answer.
    scene.now = scene.now.plus_ms(VIEW_INTERVAL_MS);
    scene.pool = Some(pool(false));
    assert_eq!(scene.decide().wanted_swap(), None);
    let view = scene.view().unwrap();
    assert!(!view.pool.as_ref().unwrap().possible);
    scene.pool = Some(pool(true));
    assert_eq!(scene.decide().wanted_swap(), None);
    scene.ask(&view, SWAP).unwrap();
    assert_eq!(scene.decide().wanted_swap(), Some(wanted));
}

#[test]
fn a_swap_that_is_not_possible_when_it_is_decided_is_dropped() {
    let mut scene = swapping();
    scene.pool = Some(pool(false));
    assert_eq!(scene.decide().wanted_swap(), None);
    scene.pool = Some(pool(true));
    assert_eq!(scene.decide().wanted_swap(), None, "not later either");
    // Nor is one asked for whose answer is too old, or whose process ended.
    let mut late = swapping();
    late.now = late.now.plus_ms(TIMEOUT_MS);
    assert_eq!(late.decide().wanted_swap(), None);
    let mut ended = swapping();
    ended.handle(&ProcessMessage::Ended).unwrap();
    ended.handle(&ProcessMessage::Started).unwrap();
    assert_eq!(ended.decide().wanted_swap(), None);
}

#[test]
fn a_snapshot_keeps_a_swap_that_was_not_asked_for_and_a_start_of_the_daemon_does_not() {
    let scene = swapping();
    let mut restored = Scene::new();
    restored.pool = Some(pool(true));
    restored.now = scene.now;
    restored.strategy = ProcessStrategy::new(settings(4, true), &market());
    assert!(restored.strategy.restore(&scene.strategy.save()));
    assert!(restored.decide().wanted_swap().is_some());
    assert_eq!(restored.decide().wanted_swap(), None);
    let mut resumed = Scene::new();
    resumed.pool = Some(pool(true));
    resumed.strategy = ProcessStrategy::new(settings(4, true), &market());
    assert!(resumed.strategy.resume(&scene.strategy.save_durable()));
    resumed.handle(&ProcessMessage::Started).unwrap();
    assert_eq!(resumed.decide().wanted_swap(), None);
}

#[test]
fn swaps_need_the_key_and_exact_amounts_of_their_tokens() {
    let mut scene = Scene::new();
    scene.pool = Some(pool(true));
    scene.handle(&ProcessMessage::Started).unwrap();
    scene.decide();
    let view = scene.view().unwrap();
    assert_eq!(view.pool, None, "it may not swap");
    let refused = scene.ask(&view, SWAP).unwrap_err();
    assert!(refused.contains("market.strategy.swaps"), "{refused}");
    let read = |swap: &str| {
        let line = format!(r#"{{"v":1,"view_seq":1,"quotes":[],"swap":{swap}}}"#);
        crate::target::read(line.as_bytes(), 1, &settings(0, true), &market())
    };
    let amounts = |sell: &str, least: &str| {
        let swap = format!(r#"{{"side":"sell","sell":"{sell}","least":"{least}"}}"#);
        let swap = read(&swap).map(|target| target.swap.unwrap());
        swap.map(|swap| (swap.sell, swap.least))
    };
    let unit = 10_u128.pow(18);
    assert_eq!(amounts("1", "0.000001"), Ok((unit, 1)));
    assert_eq!(amounts("0.000001", "2"), Ok((unit / 1_000_000, 2_000_000)));
    for (sell, least) in [
        ("0", "1"),
        ("1", "0"),
        ("1", "0.0000001"),
        ("0.0000001", "1"),
        ("-1", "1"),
        ("+1", "1"),
        ("1e3", "1"),
        (".5", "1"),
        ("1.", "1"),
        ("", "1"),
        ("1", " 1"),
        ("99999999999999999999999999999999999999999", "1"),
        ("1", "999999999999999999999999999999999"),
    ] {
        assert!(amounts(sell, least).is_err(), "{sell:?} {least:?}");
    }
    for swap in [
        r#"{"side":"sell","sell":1,"least":"1"}"#,
        r#"{"side":"sell","sell":"1"}"#,
        r#"{"side":"both","sell":"1","least":"1"}"#,
        r#"{"side":"buy","sell":"1","least":"1","more":1}"#,
        "[]",
    ] {
        assert!(read(swap).is_err(), "{swap}");
    }
    assert_eq!(read("null").unwrap().swap, None);
}

#[test]
fn a_snapshot_of_an_earlier_version_is_restored() {
    let memory = crate::remembered::Remembered {
        view_seq: 7,
        ..Default::default()
    };
    let saved = postcard::to_stdvec(&(&memory, None::<Time>)).unwrap();
    let mut strategy = strategy();
    assert!(strategy.restore(&saved));
    assert_eq!(strategy.view_seq(), 7);
    assert!(!strategy.restore(&saved[..2]));
}
