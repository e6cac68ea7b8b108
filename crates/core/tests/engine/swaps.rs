//! Swaps happen exactly once, whatever is lost, repeated or forgotten, within every limit, and are on no book.

use cambist_core::config::{EngineConfig, MarketConfig, PoolConfig};
use cambist_core::event::{Command, Event, Filter};
use cambist_core::notification::{Control, End, Notification};
use cambist_core::order::{ClientOrderId, FillBy, OrderReport, OrderStatus};
use cambist_core::request::{Endpoint, Outcome, Reply, UnknownCause};
use cambist_core::strategy::{Strategy, Targets, View, WantedSwap};
use cambist_core::swap::paid_for;
use cambist_core::{Amount, MarketId, OrderKind, Price, Qty, Reason, Side};

use crate::bench::{Always, BID, QUOTE, TestBench};
use crate::pool_bench::{POOL, limits};

/// A whole base token.
const ONE: Amount = 1_000_000;
/// A hundred quote tokens, about the price of a base token.
const HUNDRED: Amount = 100_000_000;

/// Wants a swap whenever one is possible, and a bid that stays.
struct Swapper {
    wanted: WantedSwap,
    bid: bool,
    /// Asks although, by the view, no swap is possible.
    always: bool,
}

impl Strategy for Swapper {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        if self.bid {
            targets.quote(Side::Buy, Price(9_995), Qty(100), 0);
        }
        assert!(view.own.len() <= 1, "a swap is no order of the book");
        if self.always || view.pool.is_some_and(|pool| pool.swap.possible) {
            targets.swap(self.wanted);
        }
    }
}

fn sell() -> WantedSwap {
    let paid = paid_for(ONE, POOL.pooled[0], POOL.pooled[1], 20).unwrap();
    WantedSwap {
        side: Side::Sell,
        sell: ONE,
        least: paid,
    }
}

fn buy() -> WantedSwap {
    let paid = paid_for(HUNDRED, POOL.pooled[1], POOL.pooled[0], 20).unwrap();
    WantedSwap {
        side: Side::Buy,
        sell: HUNDRED,
        least: paid,
    }
}

fn config() -> EngineConfig {
    let mut config = limits();
    config.pools[0].swap_value_max = 200_000_000;
    config
}

fn bench_with(wanted: WantedSwap, config: EngineConfig) -> TestBench {
    let strategy = Swapper {
        wanted,
        bid: false,
        always: false,
    };
    TestBench::beside(Box::new(strategy), config)
}

fn sent(bench: &mut TestBench) -> ClientOrderId {
    bench.until_a_submit_waits();
    bench.submits[0].1
}

/// The venue executes a swap, or cancels it because the pool paid too little; its answer is not given yet.
fn execute(bench: &mut TestBench, id: ClientOrderId, got: Option<Amount>) {
    let (hash, order) = bench.sealed[&id].clone();
    if bench.list.iter().any(|known| known.hash == hash) {
        return;
    }
    let (status, paid, got) = match got {
        Some(got) => (OrderStatus::Processed, order.sell_amount, got),
        None => (OrderStatus::Cancelled, 0, 0),
    };
    let fee = got / 500;
    let (base_filled, quote_filled) = match order.side {
        Side::Buy => (got, paid),
        Side::Sell => (paid, got),
    };
    let (base_amount, quote_amount) = match order.side {
        Side::Buy => (order.buy_amount, order.sell_amount),
        Side::Sell => (order.sell_amount, order.buy_amount),
    };
    let (base, quote) = &mut bench.balances;
    match order.side {
        Side::Buy => (*base, *quote) = (*base + got - fee, *quote - paid),
        Side::Sell => (*base, *quote) = (*base - paid, *quote + got - fee),
    }
    bench.list.push(OrderReport {
        hash,
        client_id: Some(id),
        market: "AMM-T0-T1".into(),
        side: order.side,
        status,
        base_amount,
        quote_amount,
        base_filled,
        quote_filled,
        fee,
        valid_until_s: order.last_effect_s(),
        valid_since: order.made_at,
    });
}

/// Answers the oldest submit.
fn accept(bench: &mut TestBench) {
    let id = bench.submits[0].1;
    let hash = bench.sealed[&id].0;
    let status = OrderStatus::Processed;
    bench.answer_submit(Outcome::Reply(Reply::Submitted {
        hash,
        status,
        idempotent: false,
    }));
}

fn lose(bench: &mut TestBench) {
    bench.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
}

fn violations(bench: &TestBench) -> Vec<String> {
    let name = |n: &Notification| match n {
        Notification::InvariantFailed { name, .. } => Some(name.clone()),
        _ => None,
    };
    bench.notifications.iter().filter_map(name).collect()
}

fn refused(bench: &TestBench, wanted: Control) -> bool {
    bench
        .notifications
        .iter()
        .any(|n| matches!(n, Notification::RiskRefused { control, .. } if *control == wanted))
}

#[test]
fn a_swap_is_sent_once_and_booked_from_its_report() {
    let mut bench = bench_with(sell(), config());
    let id = sent(&mut bench);
    let order = bench.sealed[&id].1.clone();
    assert_eq!((order.sell_amount, order.buy_amount), (ONE, sell().least));
    assert_eq!(
        (order.fill_by, order.kind),
        (FillBy::Sell, OrderKind::TakerOnly)
    );
    assert_eq!(order.rests_until_s, Some(order.accepted_until_s));
    let most = order.swap.unwrap().most;
    assert_eq!(most, (sell().least * 101).div_ceil(100), "with slippage");
    execute(&mut bench, id, Some(sell().least));
    accept(&mut bench);
    bench.run_ms(100);
    let fills = bench.fills();
    assert_eq!(fills.len(), 1);
    let (base, quote, fee) = (fills[0].base, fills[0].quote, fills[0].fee);
    assert_eq!((base, quote), (ONE, sell().least));
    assert_eq!(fee, sell().least / 500);
    assert_eq!(bench.end_of(id), Some(End::Filled));
    bench.run_ms(5_000);
    assert_eq!(
        bench.fills().len(),
        1,
        "booked once, however often it is listed"
    );
    assert_eq!(violations(&bench), [""; 0]);
    assert!(bench.cancels.is_empty());
}

/// Of swaps that follow each other, each is undecided for almost all the time until the next one: books and venue are
/// compared by balances that are read between the two.
#[test]
fn balances_are_read_when_a_swap_has_ended() {
    let mut config = config();
    config.poll.balances_ms = 60_000;
    config.poll.balances_age_max_ms = 120_000;
    let mut bench = bench_with(sell(), config);
    let id = sent(&mut bench);
    bench.run_ms(1_000);
    let before = bench.asked_at(Endpoint::Balances).len();
    execute(&mut bench, id, Some(sell().least));
    accept(&mut bench);
    bench.run_ms(100);
    assert_eq!(bench.end_of(id), Some(End::Filled));
    assert_eq!(bench.asked_at(Endpoint::Balances).len(), before + 1);
    bench.run_ms(1_000);
    assert_eq!(bench.asked_at(Endpoint::Balances).len(), before + 1, "once");
}

/// Only what was traded with the pool changes it.
#[test]
fn the_pool_is_not_read_again_when_an_order_of_the_book_has_ended() {
    let mut config = config();
    config.pools[0].poll_ms = 5_000;
    config.pools[0].age_max_ms = 20_000;
    config.poll.balances_ms = 5_000;
    let mut bench = TestBench::beside(Box::new(Always(BID.to_vec())), config);
    bench.until_a_submit_waits();
    let id = bench.accept();
    let before = bench.asked_at(Endpoint::PoolBalance).len();
    bench.show(id, OrderStatus::Cancelled, 0);
    bench.run_ms(2_000);
    assert_eq!(bench.end_of(id), Some(End::Cancelled));
    assert_eq!(bench.asked_at(Endpoint::PoolBalance).len(), before);
}

#[test]
fn the_next_swap_is_decided_on_balances_that_were_read_after_the_last() {
    let mut bench = bench_with(sell(), config());
    let first = sent(&mut bench);
    bench.run_ms(2_000);
    assert_eq!(bench.submits.len(), 1, "one at a time");
    execute(&mut bench, first, None);
    bench.pool = None;
    accept(&mut bench);
    bench.run_ms(2_000);
    assert_eq!(bench.end_of(first), Some(End::Cancelled));
    assert!(bench.submits.is_empty(), "the pool was not read again");
    assert!(bench.fills().is_empty());
    bench.pool = Some((POOL, true));
    let second = sent(&mut bench);
    assert_ne!(first, second);
}

#[test]
fn the_engine_itself_refuses_a_swap_on_balances_from_before_the_last() {
    let strategy = Swapper {
        wanted: sell(),
        bid: false,
        always: true,
    };
    let mut bench = TestBench::beside(Box::new(strategy), config());
    let first = sent(&mut bench);
    execute(&mut bench, first, None);
    bench.pool = None;
    accept(&mut bench);
    bench.run_ms(1_000);
    assert!(bench.submits.is_empty());
    assert!(refused(&bench, Control::StaleData));
}

#[test]
fn an_answer_lost_after_execution_is_found_on_the_list() {
    let mut bench = bench_with(buy(), config());
    let id = sent(&mut bench);
    execute(&mut bench, id, Some(buy().least));
    lose(&mut bench);
    bench.run_ms(3_000);
    assert_eq!(bench.end_of(id), Some(End::Filled));
    assert_eq!(bench.fills().len(), 1);
    assert_eq!(bench.transmissions(id), 1, "nothing is sent again");
    assert_eq!(violations(&bench), [""; 0]);
}

#[test]
fn an_answer_lost_before_execution_leads_to_the_same_bytes_again() {
    let mut bench = bench_with(buy(), config());
    let first = sent(&mut bench);
    lose(&mut bench);
    let again = sent(&mut bench);
    assert_eq!((again, bench.sealed.len()), (first, 1), "the same intent");
    execute(&mut bench, again, Some(buy().least));
    // The first copy arrives late: the venue has used its slot.
    execute(&mut bench, first, Some(buy().least));
    bench.answer_submit(Outcome::Refused(Reason::InvalidNonce));
    bench.run_ms(3_000);
    assert_eq!(bench.fills().len(), 1);
    assert_eq!(bench.end_of(first), Some(End::Filled));
    assert_eq!(violations(&bench), [""; 0]);
}

#[test]
fn an_unknown_swap_holds_its_funds_and_the_pool_until_its_fence() {
    let mut bench = bench_with(buy(), config());
    let first = sent(&mut bench);
    // Expiry is 20 s, grace 3 s; every copy is lost.
    for _ in 0..22 {
        while let Some((_, id)) = bench.submits.front() {
            assert_eq!(*id, first, "nothing else before the fence");
            lose(&mut bench);
        }
        bench.run_ms(1_000);
    }
    assert_eq!(bench.ends(), []);
    bench.run_ms(4_000);
    assert_eq!(bench.end_of(first), Some(End::Fenced));
    assert_ne!(sent(&mut bench), first);
}

#[test]
fn what_an_undecided_swap_pays_is_not_spent_on_quotes() {
    let mut config = config();
    config.pools[0].swap_value_max = 1 << 90;
    config.markets[0].inventory_max = 1 << 90;
    let all = 99_995_000_000;
    let wanted = WantedSwap {
        side: Side::Buy,
        sell: all,
        least: paid_for(all, POOL.pooled[1], POOL.pooled[0], 20).unwrap(),
    };
    // Half the pool's reserve: far outside a collar, so the collar is taken away.
    config.markets[0].collar_bps = 20_000;
    config.markets[0].price_max = Price(1_000_000);
    let strategy = Swapper {
        wanted,
        bid: true,
        always: false,
    };
    let mut bench = TestBench::beside(Box::new(strategy), config);
    // The bid is worth 0.9995; what is free beside the swap is five.
    let id = sent(&mut bench);
    bench.run_ms(500);
    let swaps = bench.sealed.values().filter(|(_, order)| order.is_swap());
    assert_eq!(swaps.count(), 1);
    let reserved: Amount = bench
        .sealed
        .values()
        .filter(|(_, order)| order.sell_token == QUOTE)
        .map(|(_, order)| order.sell_amount)
        .sum();
    assert!(reserved <= 100_000_000_000, "{id}: {reserved}");
    assert_eq!(bench.sealed.len(), 2, "what is left pays the bid");
    assert_eq!(violations(&bench), [""; 0]);
}

/// Runs with a changed configuration: whether a swap was sent, and whether this control refused one.
fn limited(
    wanted: WantedSwap,
    change: impl Fn(&mut PoolConfig, &mut MarketConfig),
    control: Control,
) -> (bool, bool) {
    let mut config = config();
    let (pool, market) = (&mut config.pools[0], &mut config.markets[0]);
    change(pool, market);
    let strategy = Swapper {
        wanted,
        bid: false,
        always: true,
    };
    let mut bench = TestBench::beside(Box::new(strategy), config);
    bench.run_ms(3_000);
    (!bench.submits.is_empty(), refused(&bench, control))
}

const PASSES: (bool, bool) = (true, false);
const REFUSED: (bool, bool) = (false, true);

#[test]
fn every_limit_of_a_swap_on_both_sides() {
    let most = (sell().least * 101).div_ceil(100);
    let value = |most: Amount| {
        let set = move |pool: &mut PoolConfig, _: &mut MarketConfig| pool.swap_value_max = most;
        limited(sell(), set, Control::OrderValue)
    };
    assert_eq!(value(most), PASSES);
    assert_eq!(value(most - 1), REFUSED);
    assert_eq!(value(0), REFUSED, "no swaps");

    let paid = sell().least;
    let least = (paid * 99).div_ceil(100);
    let accepts = |least| {
        let wanted = WantedSwap { least, ..sell() };
        limited(wanted, |_, _| {}, Control::PoolSlippage)
    };
    assert_eq!(accepts(least), PASSES);
    assert_eq!(accepts(least - 1), REFUSED);

    // It sells at 99.70 at worst, 30 below a mid of 100.00; a buy pays at most 100.31.
    let collar = |wanted, bps| {
        let set = move |_: &mut PoolConfig, market: &mut MarketConfig| market.collar_bps = bps;
        limited(wanted, set, Control::PriceCollar)
    };
    assert_eq!((collar(sell(), 30), collar(sell(), 29)), (PASSES, REFUSED));
    assert_eq!((collar(buy(), 31), collar(buy(), 30)), (PASSES, REFUSED));

    let paid = buy().least;
    let most = (paid * 101).div_ceil(100);
    let band = |max| {
        let set = move |_: &mut PoolConfig, market: &mut MarketConfig| market.inventory_max = max;
        limited(buy(), set, Control::InventoryBand)
    };
    assert_eq!(band(500_000_000 + most), PASSES);
    assert_eq!(band(500_000_000 + most - 1), REFUSED, "at its most");
    let band = |min| {
        let set = move |_: &mut PoolConfig, market: &mut MarketConfig| market.inventory_min = min;
        limited(sell(), set, Control::InventoryBand)
    };
    assert_eq!(band(499_000_000), PASSES);
    assert_eq!(band(499_000_001), REFUSED);

    let signed = |cap| {
        let set = move |_: &mut PoolConfig, market: &mut MarketConfig| {
            market.signed_unexpired_max = cap;
        };
        limited(buy(), set, Control::SignedUnexpired)
    };
    assert_eq!((signed(most), signed(most - 1)), (PASSES, REFUSED));
}

#[test]
fn a_swap_beyond_the_balance_or_of_nothing_is_not_made() {
    let quote = |sell| {
        let mut config = config();
        config.pools[0].swap_value_max = 1 << 90;
        config.markets[0].collar_bps = 10_000;
        config.markets[0].price_max = Price(1_000_000);
        config.markets[0].inventory_max = 1 << 90;
        let least = paid_for(sell, POOL.pooled[1], POOL.pooled[0], 20).unwrap();
        let wanted = WantedSwap {
            side: Side::Buy,
            sell,
            least,
        };
        let mut bench = bench_with(wanted, config);
        bench.balances.1 = HUNDRED;
        bench.run_ms(3_000);
        (!bench.submits.is_empty(), refused(&bench, Control::Balance))
    };
    assert_eq!((quote(HUNDRED), quote(HUNDRED + 1)), (PASSES, REFUSED));
    let mut targets = Targets::default();
    targets.swap(WantedSwap { sell: 0, ..sell() });
    targets.swap(WantedSwap { least: 0, ..sell() });
    assert_eq!(targets.wanted_swap(), None);
}

#[test]
fn no_more_swaps_a_minute_than_the_limit() {
    let mut bench = bench_with(sell(), config());
    for _ in 0..6 {
        let id = sent(&mut bench);
        execute(&mut bench, id, None);
        accept(&mut bench);
        bench.run_ms(10);
    }
    bench.run_ms(3_000);
    assert!(bench.submits.is_empty());
    assert!(refused(&bench, Control::MessageRate));
    bench.run_ms(60_000);
    assert!(!bench.submits.is_empty(), "a minute later");
}

#[test]
fn a_closed_pool_takes_no_swap_even_if_it_is_sealed() {
    let mut bench = bench_with(sell(), config());
    bench.pool = Some((POOL, false));
    bench.run_ms(3_000);
    // The start lists it open; the first list of pools closes it.
    let before = bench.sealed.len();
    bench.run_ms(5_000);
    assert_eq!(bench.sealed.len(), before);
    let mut bench = bench_with(sell(), config());
    bench.store_waits = true;
    for _ in 0..3_000 {
        bench.run_ms(1);
        if !bench.sealing.is_empty() {
            break;
        }
    }
    assert!(!bench.sealing.is_empty());
    bench.pool = None;
    bench.run_ms(4_000);
    bench.store_answers();
    bench.run_ms(10);
    let id = bench.sealed_ids()[0];
    assert_eq!(
        bench.end_of(id),
        Some(End::NeverSent),
        "the pool's data are too old"
    );
    assert_eq!(bench.first_refusal(), Some(Control::StaleData));
    assert!(bench.submits.is_empty());
}

#[test]
fn a_refusal_pauses_swaps_and_not_quotes() {
    let strategy = Swapper {
        wanted: sell(),
        bid: true,
        always: false,
    };
    let mut bench = TestBench::beside(Box::new(strategy), config());
    bench.run_ms(2_000);
    let swap = |bench: &TestBench| {
        let is_swap = |id: &ClientOrderId| bench.sealed[id].1.is_swap();
        bench.submits.iter().position(|(_, id)| is_swap(id))
    };
    let at = swap(&bench).unwrap();
    let (request, id) = bench.submits.remove(at).unwrap();
    bench.answer(request, Outcome::Refused(Reason::InvalidArgument));
    assert_eq!(bench.end_of(id), Some(End::Refused));
    bench.accept_all();
    bench.run_ms(500);
    assert_eq!(swap(&bench), None, "a second's pause");
    bench.run_ms(2_000);
    assert!(swap(&bench).is_some());
    assert!(bench.cancels.is_empty(), "the bid stays");
}

#[test]
fn a_pool_may_pay_more_than_limits_reckon_with_and_never_less_than_the_least() {
    for (got, failed) in [(buy().least * 2, false), (buy().least - 1, true)] {
        let mut bench = bench_with(buy(), config());
        let id = sent(&mut bench);
        execute(&mut bench, id, Some(got));
        accept(&mut bench);
        bench.run_ms(1_000);
        assert_eq!(bench.fills()[0].base, got, "booked in any case");
        assert_eq!(!violations(&bench).is_empty(), failed, "{got}");
    }
}

#[test]
fn a_drain_cancels_no_swap_and_ends_when_it_is_decided() {
    let mut bench = bench_with(sell(), config());
    let id = sent(&mut bench);
    lose(&mut bench);
    bench.handle_event(&Event::Operator(Command::Drain));
    bench.run_ms(5_000);
    assert!(bench.cancels.is_empty(), "there is nothing to cancel");
    assert_eq!((bench.finished, bench.transmissions(id)), (None, 1));
    execute(&mut bench, id, Some(sell().least));
    bench.run_ms(10_000);
    assert_eq!(bench.fills().len(), 1);
    assert_eq!(bench.finished, Some(true));
}

#[test]
fn a_swap_of_an_earlier_run_is_recovered_and_booked_once() {
    let mut before = bench_with(sell(), config());
    let id = sent(&mut before);
    let (hash, order) = before.sealed[&id].clone();
    let mut bench = bench_with(sell(), config());
    bench.add_recovered(order, hash);
    execute(&mut bench, id, Some(sell().least));
    bench.run_ms(3_000);
    assert_eq!(bench.fills().len(), 1);
    assert_eq!(bench.end_of(id), Some(End::Filled));
    assert_eq!(violations(&bench), [""; 0]);
    let next = sent(&mut bench);
    assert!(next.number > id.number);
}

#[test]
fn a_pause_of_the_market_or_a_side_of_it_holds_swaps_back() {
    let market = Filter::market(MarketId(0));
    for side in [None, Some(Side::Sell), Some(Side::Buy)] {
        let mut bench = bench_with(sell(), config());
        let first = sent(&mut bench);
        execute(&mut bench, first, None);
        let filter = Filter { side, ..market };
        let reason = "a test".to_owned();
        crate::bench::execute(&mut bench, Command::Pause { filter, reason }).unwrap();
        accept(&mut bench);
        bench.run_ms(30_000);
        assert!(bench.submits.is_empty(), "{side:?}");
        assert!(refused(&bench, Control::Paused), "{side:?}");
    }
}
