//! Every control of the gate, on both sides of its limit.

use cambist_core::config::EngineConfig;
use cambist_core::notification::{Control, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::Query;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{MarketId, MarketSpec, Price, Qty, Side};

use crate::bench::{Always, BASE, Below, OTHER, TestBench, config, spec, token};

/// The control that refuses one quote under a changed configuration; `None` if it is sent.
fn judge(quote: (Side, u64, u64), change: impl Fn(&mut EngineConfig)) -> Option<Control> {
    judge_funded(quote, (500_000_000, 100_000_000_000), change)
}

fn judge_funded(
    quote: (Side, u64, u64),
    balances: (u128, u128),
    change: impl Fn(&mut EngineConfig),
) -> Option<Control> {
    let mut config = config();
    change(&mut config);
    let mut bench = TestBench::with(&[quote], config, Vec::new());
    bench.balances = balances;
    bench.run_ms(3_000);
    let refused = bench
        .notifications
        .iter()
        .find_map(|notification| match notification {
            Notification::RiskRefused { control, .. } => Some(*control),
            _ => None,
        });
    assert_eq!(
        refused.is_none(),
        !bench.submits.is_empty(),
        "sent if and only if not refused"
    );
    refused
}

#[test]
fn price_collar() {
    // The mid is 10 000: 500 bps are 500 ticks, exactly allowed.
    assert_eq!(judge((Side::Buy, 9_500, 10), |_| {}), None);
    assert_eq!(
        judge((Side::Buy, 9_499, 10), |_| {}),
        Some(Control::PriceCollar)
    );
    assert_eq!(judge((Side::Sell, 10_500, 10), |_| {}), None);
    assert_eq!(
        judge((Side::Sell, 10_501, 10), |_| {}),
        Some(Control::PriceCollar)
    );
}

#[test]
fn price_band() {
    let floor = |c: &mut EngineConfig| c.markets[0].price_min = Price(9_990);
    assert_eq!(judge((Side::Buy, 9_990, 10), floor), None);
    assert_eq!(
        judge((Side::Buy, 9_989, 10), floor),
        Some(Control::PriceBand)
    );
    let ceiling = |c: &mut EngineConfig| c.markets[0].price_max = Price(10_010);
    assert_eq!(judge((Side::Sell, 10_010, 10), ceiling), None);
    assert_eq!(
        judge((Side::Sell, 10_011, 10), ceiling),
        Some(Control::PriceBand)
    );
}

#[test]
fn order_value() {
    let cap = |c: &mut EngineConfig| c.markets[0].order_value_max = 999_500;
    assert_eq!(judge((Side::Buy, 9_995, 100), cap), None);
    assert_eq!(
        judge((Side::Buy, 9_996, 100), cap),
        Some(Control::OrderValue)
    );
}

#[test]
fn inventory_band() {
    // 500 000 000 units are held; 100 lots are 10 000 units.
    let top = |c: &mut EngineConfig| c.markets[0].inventory_max = 500_010_000;
    assert_eq!(judge((Side::Buy, 9_995, 100), top), None);
    assert_eq!(
        judge((Side::Buy, 9_995, 101), top),
        Some(Control::InventoryBand)
    );
    let bottom = |c: &mut EngineConfig| c.markets[0].inventory_min = 499_990_000;
    assert_eq!(judge((Side::Sell, 10_005, 100), bottom), None);
    assert_eq!(
        judge((Side::Sell, 10_005, 101), bottom),
        Some(Control::InventoryBand)
    );
}

#[test]
fn balance() {
    assert_eq!(
        judge_funded((Side::Buy, 9_995, 100), (0, 999_500), |_| {}),
        None
    );
    let short = judge_funded((Side::Buy, 9_995, 100), (0, 999_499), |_| {});
    assert_eq!(short, Some(Control::Balance));
    assert_eq!(
        judge_funded((Side::Sell, 10_005, 100), (10_000, 0), |_| {}),
        None
    );
    let short = judge_funded((Side::Sell, 10_005, 100), (9_999, 0), |_| {});
    assert_eq!(
        short,
        Some(Control::InventoryBand),
        "selling more than is held leaves any band"
    );
}

#[test]
fn open_orders() {
    let quotes = [(Side::Buy, 9_995, 10), (Side::Buy, 9_990, 10)];
    for (max, sent) in [(2, 2), (1, 1)] {
        let mut config = config();
        config.markets[0].open_orders_max = max;
        let mut bench = TestBench::with(&quotes, config, Vec::new());
        bench.run_ms(3_000);
        assert_eq!(bench.submits.len(), sent);
    }
}

#[test]
fn self_cross() {
    for (ask, sent) in [(9_996, 2), (9_995, 1), (9_994, 1)] {
        let mut bench = TestBench::new(&[(Side::Buy, 9_995, 10), (Side::Sell, ask, 10)]);
        bench.run_ms(3_000);
        assert_eq!(bench.submits.len(), sent, "ask at {ask}");
    }
}

#[test]
fn stale_depth() {
    let mut bench = TestBench::ready(&[(Side::Buy, 9_995, 10)]);
    bench.accept();
    // The book crosses: every later snapshot is refused, and the accepted one becomes old.
    bench.depth = (10_010, 9_990);
    bench.run_ms(2_900);
    assert_eq!(bench.cancels.len(), 0);
    bench.run_ms(1_200);
    assert_eq!(
        bench.cancels.len(),
        1,
        "no quote on a price older than three seconds"
    );
}

#[test]
fn thin_book() {
    let deep = |c: &mut EngineConfig| c.markets[0].depth_min = Qty(1_000);
    assert_eq!(judge((Side::Buy, 9_995, 10), deep), None);
    let mut config = config();
    config.markets[0].depth_min = Qty(1_001);
    let mut bench = TestBench::with(&[(Side::Buy, 9_995, 10)], config, Vec::new());
    bench.run_ms(3_000);
    assert!(bench.submits.is_empty());
}

#[test]
fn budget() {
    let quotes = [
        (Side::Buy, 9_995, 10),
        (Side::Buy, 9_990, 10),
        (Side::Sell, 10_005, 10),
    ];
    let mut config = config();
    (config.budget.endpoint_per_s, config.budget.endpoint_burst) = (1, 2);
    let mut bench = TestBench::with(&quotes, config, Vec::new());
    bench.run_ms(4_000);
    assert!(bench.notifications.iter().any(|n| matches!(
        n,
        Notification::RiskRefused {
            control: Control::Budget,
            ..
        }
    )));
    bench.run_ms(4_000);
    assert_eq!(
        bench.submits.len(),
        3,
        "a target without a token is decided again"
    );
}

#[test]
fn the_inventory_band_uses_the_worse_of_both_balances() {
    let mut config = config();
    config.markets[0].inventory_max = 600_000_000;
    let mut bench = TestBench::with(&[(Side::Buy, 9_995, 10)], config, Vec::new());
    bench.run_ms(3_000);
    let id = bench.accept();
    // The venue holds more than the ledger: an unknown fill, or an external flow.
    bench.balances.0 = 600_000_000;
    bench.run_ms(2_000);
    bench.show(id, OrderStatus::Cancelled, 0);
    bench.run_ms(3_000);
    assert!(bench.submits.is_empty());
    assert!(bench.notifications.iter().any(|n| matches!(
        n,
        Notification::RiskRefused {
            control: Control::InventoryBand,
            ..
        }
    )));
}

#[test]
fn the_inventory_band_counts_orders_of_every_market_with_the_token() {
    let mut config = config();
    // 500 000 000 units are held; there is room for 100 lots, once.
    config.markets[0].inventory_max = 500_010_000;
    config.markets.push(config.markets[0].clone());
    let other = (token(BASE, 6), token(OTHER, 6));
    let other = MarketSpec::new(MarketId(1), "T0-T2", other.0, other.1, 2, true).unwrap();
    let bid = || -> Box<dyn Strategy> { Box::new(Always(vec![(Side::Buy, 9_995, 100)])) };
    let mut bench = TestBench::at(vec![spec(), other], vec![bid(), bid()], config, Vec::new());
    bench.run_ms(4_000);
    assert_eq!(bench.submits.len(), 1);
}

/// Every input that decisions need is fresh enough or nothing is placed: the book, the list of orders, the balances.
#[test]
fn nothing_is_placed_on_an_input_that_is_too_old() {
    type Which = fn(&Query) -> bool;
    let inputs: [(Which, &str); 3] = [
        (
            |query| matches!(query, Query::Depth(_)),
            "poll.depth_age_max_ms",
        ),
        (
            |query| matches!(query, Query::Orders(_)),
            "poll.orders_age_max_ms",
        ),
        (
            |query| matches!(query, Query::Balances),
            "poll.balances_age_max_ms",
        ),
    ];
    for (unanswered, key) in inputs {
        let mut config = config();
        let poll = &mut config.poll;
        (poll.depth_age_max_ms, poll.orders_age_max_ms) = (4_000, 4_000);
        poll.balances_age_max_ms = 4_000;
        let mut bench = TestBench::of(Box::new(Below(5)), config, Vec::new());
        bench.until_a_submit_waits();
        bench.accept();
        bench.run_ms(1_000);
        bench.unanswered = unanswered;
        // Within the age, a moved book is quoted; a depth that does not come moves nothing.
        bench.depth = (10_010, 10_030);
        bench.run_ms(2_500);
        let is_depth = unanswered(&Query::Depth(MarketId(0)));
        assert_eq!(bench.sealed.len(), if is_depth { 1 } else { 2 }, "{key}");
        bench.accept_all();
        bench.run_ms(2_600);
        let before = bench.sealed.len();
        bench.depth = (10_030, 10_050);
        bench.run_ms(3_000);
        assert_eq!(bench.sealed.len(), before, "{key}");
        let named = bench.count(|n| {
            matches!(n, Notification::Withheld { withheld: Some(why), .. }
                if why.control == Control::StaleData && why.key() == Some(key))
        });
        assert!(named > 0, "{key}: {:?}", bench.notifications.last());
    }
}

/// Closes a leg of so many lots, or a part of it, as `hedge` does: orders that are there stay.
struct Closes {
    side: Side,
    lots: u64,
    in_part: bool,
}

impl Strategy for Closes {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        if self.in_part {
            targets.take_in_part(self.side);
        }
        let mut left = self.lots;
        for (level, order) in (0..).zip(view.own) {
            targets.quote(self.side, order.price, order.remaining, level);
            left -= order.remaining.0;
        }
        targets.quote(self.side, Price(10_000), Qty(left), 9);
    }
}

/// The orders that close a leg of so many lots, in lots, and the controls that refuse the rest.
fn closing(
    (side, lots): (Side, u64),
    in_part: bool,
    balances: (u128, u128),
    change: impl Fn(&mut EngineConfig),
) -> (Vec<u64>, Vec<Control>) {
    let mut config = config();
    config.maker_only = false;
    change(&mut config);
    let strategy = Closes {
        side,
        lots,
        in_part,
    };
    let mut bench = TestBench::of(Box::new(strategy), config, Vec::new());
    bench.balances = balances;
    bench.run_ms(5_000);
    let refused = bench.notifications.iter().filter_map(|n| match n {
        Notification::RiskRefused { control, .. } => Some(*control),
        _ => None,
    });
    let refused = refused.collect();
    let made = bench.sealed.values().map(|(_, order)| order.qty.0);
    (made.collect(), refused)
}

/// What closes a leg is worth having in part: as much of it as band and balance allow, to the lot.
#[test]
fn where_less_is_held_than_a_leg_a_part_is_traded() {
    let rich = (500_000_000, 100_000_000_000);
    let bottom = |c: &mut EngineConfig| c.markets[0].inventory_min = 499_990_000;
    let top = |c: &mut EngineConfig| c.markets[0].inventory_max = 500_010_099;
    let band = vec![Control::InventoryBand];
    let sell = |lots, in_part| closing((Side::Sell, lots), in_part, rich, bottom);
    assert_eq!(sell(100, true), (vec![100], vec![]));
    assert_eq!(sell(101, true), (vec![100], band.clone()));
    assert_eq!(sell(1_000, true), (vec![100], band.clone()));
    assert_eq!(
        sell(101, false),
        (vec![], band.clone()),
        "the whole or nothing"
    );
    let buy = |lots| closing((Side::Buy, lots), true, rich, top);
    assert_eq!(buy(100), (vec![100], vec![]));
    assert_eq!(buy(1_000), (vec![100], band.clone()));
    // A lot at 100.00 costs 10 000 quote units.
    let funded = |quote| closing((Side::Buy, 100), true, (0, quote), |_| {});
    assert_eq!(funded(1_000_000), (vec![100], vec![]));
    assert_eq!(funded(999_999), (vec![99], vec![Control::Balance]));
    assert_eq!(funded(10_000), (vec![1], vec![Control::Balance]));
    assert_eq!(funded(9_999), (vec![], vec![Control::Balance]));
}

/// A limit of one order is not a shortage: a target beyond it is a mistake. What is less than the venue takes is not made.
#[test]
fn a_part_is_made_of_what_is_short_only_and_not_below_the_smallest_order() {
    let rich = (500_000_000, 100_000_000_000);
    let value = |c: &mut EngineConfig| c.markets[0].order_value_max = 999_999;
    let refused = closing((Side::Sell, 100), true, rich, value);
    assert_eq!(refused, (vec![], vec![Control::OrderValue]));
    let room = |lots: u128| {
        move |c: &mut EngineConfig| {
            c.markets[0].inventory_min = 500_000_000 - 100 * lots;
        }
    };
    for (lots, made) in [(50, vec![50]), (49, vec![])] {
        let mut bench = smallest(50, room(lots));
        bench.run_ms(5_000);
        let sealed = bench.sealed.values().map(|(_, order)| order.qty.0);
        assert_eq!(sealed.collect::<Vec<_>>(), made, "room for {lots}");
        assert_eq!(bench.first_refusal(), Some(Control::InventoryBand));
    }
}

/// A leg of 1 000 lots at a venue whose smallest order has so many.
fn smallest(lots: u128, change: impl Fn(&mut EngineConfig)) -> TestBench {
    let mut config = config();
    config.maker_only = false;
    change(&mut config);
    let mut market = spec();
    market.base.minimum = 100 * lots;
    let strategy = Closes {
        side: Side::Sell,
        lots: 1_000,
        in_part: true,
    };
    let mut bench = TestBench::at(vec![market], vec![Box::new(strategy)], config, Vec::new());
    bench.tokens[0].minimum = 100 * lots;
    bench
}
