//! The engine by the rules of another venue: numbers without a gap, a deadline of requests, orders that rest until
//! they are cancelled, fees on top of the price, and reasons of its own.

use cambist_core::event::Event;
use cambist_core::notification::{Control, End, Notification};
use cambist_core::order::ClientOrderId;
use cambist_core::request::{Endpoint, Outcome, Query, UnknownCause};
use cambist_core::strategy::Strategy;
use cambist_core::venue::{
    AmountRule, FeeRule, FeeToken, LifetimeRule, Refusal, RequestCosts, Resting, SlotRule,
    TradingCounter, VenueRules,
};
use cambist_core::{MarketId, MarketSpec, OrderStatus, Reason, Side, TokenId};

use crate::bench::{Always, BASE, BID, BOTH, Below, OTHER, TestBench, config, spec, token};

/// One ask.
const ASK: [(Side, u64, u64); 1] = [(Side::Sell, 10_005, 100)];
const LOST: Outcome = Outcome::Unknown(UnknownCause::Timeout);
const NONSENSE: Reason = Reason::Unlisted(1);
const USED: Reason = Reason::Unlisted(2);
const BUSY: Reason = Reason::Unlisted(3);

/// A deadline of eight seconds at most; the bench's grace is three.
fn rules() -> VenueRules {
    let mut rules = VenueRules {
        slots: SlotRule::Consecutive { row: TokenId(99) },
        lifetime: LifetimeRule {
            accepted_max_ms: Some(8_000),
            resting: Resting::UntilCancelled,
        },
        ..VenueRules::exchange()
    };
    rules.refusals.submits = vec![
        (Reason::RateLimited, Refusal::RateLimited),
        (NONSENSE, Refusal::KillsBytes),
        (USED, Refusal::KillsCopy),
        (BUSY, Refusal::RateLimited),
    ];
    rules
}

/// A bench past recovery on that venue, whose row of numbers is at 40.
fn bench(quotes: &[(cambist_core::Side, u64, u64)], rules: VenueRules) -> TestBench {
    let mut bench = TestBench::new(quotes);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue = rules;
        start.next_slots = [(TokenId(99), 40)].into();
    }
    bench.until_a_submit_waits();
    bench
}

fn slot(bench: &TestBench, id: ClientOrderId) -> u32 {
    bench.sealed[&id].1.slot
}

/// Lets time pass; every later submit provably does not leave.
fn run(bench: &mut TestBench, ms: u64) {
    let end = bench.now.plus_ms(ms);
    while bench.now < end {
        bench.run_ms(100);
        while !bench.submits.is_empty() {
            bench.answer_submit(Outcome::NotSent);
        }
    }
}

#[test]
fn numbers_are_given_out_in_turn_and_one_that_was_not_spent_is_used_again() {
    let mut bench = bench(&BOTH, rules());
    assert_eq!(bench.sealed.len(), 1, "the ask waits for the bid's answer");
    let first = bench.answer_submit(Outcome::Refused(NONSENSE));
    assert_eq!(slot(&bench, first), 40);
    assert_eq!(bench.end_of(first), Some(End::Refused));
    for number in [40, 41] {
        bench.until_a_submit_waits();
        assert_eq!(bench.submits.len(), 1, "one at a time, of both tokens");
        let waiting = bench.submits[0].1;
        assert_eq!(slot(&bench, waiting), number);
        bench.run_ms(500);
        assert_eq!(bench.submits.len(), 1, "it has no answer yet");
        bench.accept();
    }
    let sold: Vec<_> = bench.sealed.values().map(|(_, order)| order.side).collect();
    assert!(sold.contains(&cambist_core::Side::Buy) && sold.contains(&cambist_core::Side::Sell));
}

#[test]
fn a_number_that_the_venue_calls_used_is_not_used_again() {
    let mut bench = bench(&BID, rules());
    let id = bench.answer_submit(Outcome::Refused(USED));
    run(&mut bench, 15_000);
    assert_eq!(bench.end_of(id), Some(End::Fenced), "no list shows it");
    let numbers: Vec<_> = bench.sealed.values().map(|(_, order)| order.slot).collect();
    assert_eq!(numbers.iter().filter(|number| **number == 40).count(), 1);
}

/// Numbers that only rise, of which gaps are allowed.
fn rising() -> VenueRules {
    VenueRules {
        slots: SlotRule::Rising { row: TokenId(99) },
        ..rules()
    }
}

#[test]
fn rising_numbers_are_given_out_one_at_a_time_and_never_again() {
    let mut bench = bench(&BOTH, rising());
    assert_eq!(bench.sealed.len(), 1, "the ask waits for the bid's answer");
    let first = bench.answer_submit(Outcome::Refused(NONSENSE));
    assert_eq!(
        (slot(&bench, first), bench.end_of(first)),
        (40, Some(End::Refused))
    );
    for number in [41, 42] {
        bench.until_a_submit_waits();
        assert_eq!(bench.submits.len(), 1, "one at a time, of both tokens");
        let waiting = bench.submits[0].1;
        assert_eq!(slot(&bench, waiting), number);
        bench.run_ms(500);
        assert_eq!(bench.submits.len(), 1, "it has no answer yet");
        bench.accept();
    }
}

/// Unlike one of a row without gaps, it may have reached the venue or not: later numbers are taken either way.
#[test]
fn a_rising_number_of_unknown_outcome_holds_nothing_back_and_its_bytes_are_not_sent_again() {
    let mut bench = bench(&BOTH, rising());
    let lost = bench.answer_submit(LOST);
    bench.until_a_submit_waits();
    let next = bench.submits[0].1;
    assert_ne!(next, lost);
    assert_eq!(slot(&bench, next), 41);
    bench.accept();
    // A later number has left: the bytes of the lost one would be refused, which proves nothing.
    run(&mut bench, 7_000);
    assert_eq!(bench.transmissions(lost), 1);
    assert_eq!(
        bench.end_of(lost),
        None,
        "deadline and grace are eleven seconds"
    );
    run(&mut bench, 7_000);
    assert_eq!(bench.end_of(lost), Some(End::Fenced));
}

#[test]
fn bytes_of_the_last_rising_number_are_sent_again() {
    let mut bench = bench(&BID, rising());
    let lost = bench.answer_submit(LOST);
    bench.run_ms(6_000);
    assert!(bench.transmissions(lost) > 1, "nothing has passed it");
}

/// A purchase may pay more than its amount by what the venue rounds: it is reserved, and booked without an alarm.
#[test]
fn what_rounding_may_take_is_covered_and_allowed() {
    let with = |quote_balance: u128, quote_rounding| {
        let mut bench = TestBench::new(&BID);
        bench.balances.1 = quote_balance;
        if let Some(Event::Start(start)) = &mut bench.start {
            start.venue.amounts = AmountRule { quote_rounding };
        }
        bench.run_ms(5_000);
        let order = bench.sealed.values().next().map(|(_, order)| order.clone());
        (bench, order)
    };
    let (_, order) = with(100_000_000_000, 0);
    let sold = order.unwrap().sell_amount;
    assert!(with(sold, 0).1.is_some());
    assert!(with(sold + 5, 5).1.is_some());
    assert_eq!(with(sold + 4, 5).1, None);
    for (paid_more, is_alarm) in [(0, false), (5, false), (6, true)] {
        let (mut bench, _) = with(100_000_000_000, 5);
        bench.accept();
        let report = &mut bench.list[0];
        report.base_filled = report.base_amount;
        report.quote_filled = sold + paid_more;
        report.status = OrderStatus::Processed;
        bench.run_ms(5_000);
        let alarms = bench.count(|note| matches!(note, Notification::InvariantFailed { .. }));
        assert_eq!(alarms > 0, is_alarm, "{paid_more}");
        assert_eq!(bench.fills().len(), 1);
    }
}

#[test]
fn what_was_never_seen_ends_behind_its_deadline_though_it_could_rest_for_ever() {
    let mut bench = bench(&BID, rules());
    let id = bench.answer_submit(LOST);
    let order = bench.sealed[&id].1.clone();
    let venue_s = u32::try_from(bench.venue_now().as_s()).unwrap();
    assert!((venue_s + 6..=venue_s + 8).contains(&order.accepted_until_s));
    assert_eq!(order.rests_until_s, None);
    run(&mut bench, 9_000);
    assert_eq!(
        bench.end_of(id),
        None,
        "deadline and grace are eleven seconds"
    );
    run(&mut bench, 5_000);
    assert_eq!(bench.end_of(id), Some(End::Fenced));
}

#[test]
fn what_the_venue_has_taken_is_neither_replaced_nor_taken_for_dead() {
    let mut bench = bench(&BID, rules());
    let id = bench.accept();
    bench.run_ms(120_000);
    assert_eq!(
        bench.sealed.len(),
        1,
        "there is no end to replace it before"
    );
    assert_eq!(bench.end_of(id), None);
    // Neither lists nor reports know it any more: only the venue's word ends it.
    bench.list.clear();
    bench.run_ms(120_000);
    assert_eq!(bench.end_of(id), None);
    assert!(bench.reads.len() > 1, "it is asked for");
}

/// Its signature is of no use behind the deadline, but what rests counts against the cap as long as it does.
#[test]
fn what_rests_without_an_end_counts_as_signed_until_it_ends() {
    let mut bench = TestBench::new(&[
        (cambist_core::Side::Buy, 9_995, 100),
        (cambist_core::Side::Buy, 9_994, 100),
    ]);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue = rules();
        // A hundred lots of a hundred units, and no second order beside the first.
        start.config.markets[0].signed_unexpired_max = 15_000;
    }
    bench.until_a_submit_waits();
    bench.accept();
    run(&mut bench, 60_000);
    assert_eq!(bench.sealed.len(), 1);
}

#[test]
fn a_reason_of_its_own_lets_the_endpoint_rest_and_requests_cost_what_it_counts() {
    let expensive = VenueRules {
        costs: RequestCosts {
            each: vec![(Endpoint::Depth, 90)],
            new_fills: 0,
            left_to_start: 0,
        },
        ..rules()
    };
    let mut bench = bench(&BID, expensive);
    let id = bench.answer_submit(Outcome::Refused(BUSY));
    assert_eq!(bench.end_of(id), None);
    let before = bench.version;
    bench.run_ms(10_000);
    let polled = bench.version - before;
    // A hundred tokens a second pay for one of them; without a cost of its own there is one every half second.
    assert!((4..=13).contains(&polled), "{polled} depths");
}

/// The venue counts the questions about new trades before the answer that reports them arrives.
#[test]
fn what_an_awaited_list_may_cost_is_not_spent_on_balances() {
    let begun = |unanswered: fn(&Query) -> bool, fails: fn(&Query) -> bool| {
        let mut config = config();
        config.budget.per_s = 1;
        config.budget.burst = 3;
        config.budget.cancel_reserve = 0;
        let mut bench = TestBench::with(&BID, config, Vec::new());
        if let Some(Event::Start(start)) = &mut bench.start {
            let cost =
                |endpoint| u32::from(matches!(endpoint, Endpoint::Orders | Endpoint::Balances));
            start.venue.costs = RequestCosts {
                each: Endpoint::ALL.map(|of| (of, cost(of))).into(),
                new_fills: 2,
                left_to_start: 0,
            };
        }
        (bench.unanswered, bench.fails) = (unanswered, fails);
        bench.run_ms(3_000);
        [Endpoint::Orders, Endpoint::Balances].map(|of| bench.asked_at(of)[0])
    };
    let [list, balances] = begun(|_| false, |_| false);
    assert_eq!(balances, list, "nothing was traded");
    let is_list = |query: &Query| query.endpoint() == Endpoint::Orders;
    let [list, balances] = begun(is_list, |_| false);
    assert_eq!(balances, list.plus_ms(1_000), "two tokens are left for it");
    let [list, balances] = begun(|_| false, is_list);
    assert_eq!(balances, list.plus_ms(1_000), "it may have cost them");
}

/// No order states a higher fee than the venue reads.
#[test]
fn the_stated_fee_is_at_most_what_the_venue_reads() {
    let stated = |stated_max_bips| {
        let mut bench = TestBench::new(&BID);
        if let Some(Event::Start(start)) = &mut bench.start {
            start.venue.fees = FeeRule { stated_max_bips };
        }
        bench.run_ms(5_000);
        let order = bench.sealed.values().next().unwrap();
        order.1.max_fee_bips
    };
    let configured = stated(63);
    assert!(configured > 1);
    assert_eq!(stated(configured - 1), configured - 1);
}

/// A purchase whose fee comes on top is made only if the balance covers price and fee.
#[test]
fn fees_on_top_of_the_price_have_to_be_covered() {
    let sealed = |quote_balance| {
        let mut bench = TestBench::new(&BID);
        bench.balances.1 = quote_balance;
        if let Some(Event::Start(start)) = &mut bench.start {
            for spec in &mut start.markets {
                spec.fee_in = FeeToken::Quote;
            }
        }
        bench.run_ms(5_000);
        let mut orders = bench.sealed.values().map(|(_, order)| order.clone());
        orders.next()
    };
    let order = sealed(100_000_000_000).unwrap();
    let fees = (order.sell_amount * u128::from(order.max_fee_bips)).div_ceil(10_000);
    assert!(fees > 0);
    let whole = order.sell_amount + fees;
    assert!(sealed(whole).is_some());
    assert_eq!(sealed(whole - 1), None);
}

/// The number is free with the answer of the one before, and every market that waited for it is decided at once.
#[test]
fn another_market_gets_the_next_number_at_once() {
    let mut config = config();
    config.markets.push(config.markets[0].clone());
    let other = (token(BASE, 6), token(OTHER, 6));
    let other = MarketSpec::new(MarketId(1), "T0-T2", other.0, other.1, 2, true).unwrap();
    let bid = || -> Box<dyn Strategy> { Box::new(Always(BID.to_vec())) };
    let mut bench = TestBench::at(vec![spec(), other], vec![bid(), bid()], config, Vec::new());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue = rules();
        start.next_slots = [(TokenId(99), 40)].into();
    }
    bench.until_a_submit_waits();
    let first = bench.submits[0].1;
    assert_eq!(
        (bench.submits.len(), bench.sealed[&first].1.market.0),
        (1, 0)
    );
    bench.accept();
    assert_eq!(bench.submits.len(), 1);
    let next = bench.submits[0].1;
    assert_eq!(
        (slot(&bench, next), bench.sealed[&next].1.market.0),
        (41, 1)
    );
}

/// A counter of one and a half orders that forgets a tenth of one each second.
#[test]
fn orders_wait_for_room_in_the_venues_counter() {
    let mut bench = TestBench::new(&BOTH);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue.trading = Some(TradingCounter {
            most: 150,
            decay_per_s: 10,
            spare: 0,
            order: 100,
            cancels: Vec::new(),
            amends: Vec::new(),
        });
        start.next_number = 1;
    }
    bench.until_a_submit_waits();
    bench.accept();
    bench.run_ms(4_500);
    assert_eq!(bench.sealed.len(), 1, "the other side has no room");
    let withheld = |note: &Notification| matches!(note, Notification::RiskRefused { control, .. } if *control == Control::TradingCounter);
    assert!(bench.count(withheld) > 0);
    bench.run_ms(1_000);
    assert_eq!(bench.sealed.len(), 2, "half an order is forgotten");
}

/// What a run that ended a moment ago has counted at the venue is not known.
#[test]
fn a_later_run_begins_with_a_full_counter() {
    let mut bench = TestBench::new(&BID);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue.trading = Some(TradingCounter {
            most: 150,
            decay_per_s: 10,
            spare: 0,
            order: 100,
            cancels: Vec::new(),
            amends: Vec::new(),
        });
        start.next_number = 2;
    }
    bench.run_ms(9_500);
    assert_eq!(bench.sealed.len(), 0);
    bench.run_ms(1_500);
    assert_eq!(bench.sealed.len(), 1);
}

/// A counter that forgets nothing, in which a young cancel adds eight orders.
fn counter_of(most: u32) -> TradingCounter {
    TradingCounter {
        most,
        decay_per_s: 0,
        spare: 0,
        order: 100,
        cancels: vec![(60_000, 800)],
        amends: Vec::new(),
    }
}

/// Bids below the mid, and asks at a price.
fn moving_bid(most: u32) -> TestBench {
    let strategies: Vec<Box<dyn Strategy>> =
        vec![Box::new(Below(10)), Box::new(Always(ASK.to_vec()))];
    let mut bench = TestBench::shared(strategies, config());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue.trading = Some(counter_of(most));
        start.next_number = 1;
    }
    bench.until_a_submit_waits();
    bench.accept_all();
    bench.run_ms(500);
    assert_eq!(bench.sealed.len(), 2);
    bench
}

/// The cancel of an order that offers too much is sent in the step that makes the next order, and reaches the venue first.
#[test]
fn an_order_waits_for_room_beside_the_cancels_of_its_step() {
    for (most, replaced) in [(1_100, true), (1_099, false)] {
        let mut bench = moving_bid(most);
        bench.depth = (9_985, 9_995);
        while bench.cancels.is_empty() {
            bench.run_ms(10);
        }
        assert_eq!(bench.sealed.len(), 2 + usize::from(replaced), "{most}");
        assert_eq!(bench.submits.len(), usize::from(replaced), "{most}");
    }
}

/// A cancel does not wait for an order that is being stored.
#[test]
fn a_stored_order_without_room_is_not_sent() {
    for (most, is_sent) in [(1_100, true), (1_099, false)] {
        let mut bench = moving_bid(most);
        bench.store_waits = true;
        let ask = bench.sealed_ids()[1];
        bench.show(ask, OrderStatus::Processed, 100);
        while bench.sealing.is_empty() {
            bench.run_ms(10);
        }
        bench.depth = (9_985, 9_995);
        while bench.cancels.is_empty() {
            bench.run_ms(10);
        }
        bench.store_answers();
        assert_eq!(bench.submits.len(), usize::from(is_sent), "{most}");
        let next = bench.sealed_ids()[2];
        let end = (!is_sent).then_some(End::NeverSent);
        assert_eq!(bench.end_of(next), end, "{most}");
    }
}
