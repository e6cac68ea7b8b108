//! Limits over several venues: on both sides of each, with what is not known, for orders and joins; and what an engine
//! reports to the others.

use cambist_core::Side;
use cambist_core::event::Event;
use cambist_core::notification::Control;
use cambist_core::portfolio::{ExposureElsewhere, LostToday, Portfolio, TokenElsewhere, WorthRate};
use cambist_core::token::Amount;

use crate::bench::{BASE, OTHER, QUOTE, TestBench, config};

/// Held at first, base units.
const HELD: Amount = 500_000_000;
/// The base of the bid: ten lots.
const BID_BASE: Amount = 1_000;
/// The value of what is held, and of the bid, at the mid, quote units.
const WORTH: Amount = 50_000_000_000;
const BID_WORTH: Amount = 100_000;

fn tokens(elsewhere: Option<Amount>, most: Amount) -> Portfolio {
    Portfolio {
        tokens: vec![TokenElsewhere {
            token: BASE,
            elsewhere,
            most,
        }],
        exposure: None,
    }
}

/// A unit of quote is worth three halves of a unit of the reporting currency.
fn exposure(elsewhere: Option<Amount>, most: Amount) -> Portfolio {
    let rate = WorthRate { worth: 3, per: 2 };
    Portfolio {
        tokens: Vec::new(),
        exposure: Some(ExposureElsewhere {
            elsewhere,
            most,
            whole: 1_000_000,
            rates: vec![(QUOTE, rate)],
        }),
    }
}

/// The start, and what counts beside the venue before anything is decided.
fn begins_with(bench: &mut TestBench, portfolio: Portfolio) {
    let start = bench.start.take().unwrap();
    bench.queries_lost = true;
    bench.handle_event(&start);
    bench.handle_event(&Event::Portfolio(portfolio));
    answers(bench);
}

/// The queries so far are answered.
fn answers(bench: &mut TestBench) {
    bench.queries_lost = false;
    for (request, query) in std::mem::take(&mut bench.lost_queries) {
        bench.answer_query(request, &query);
    }
}

/// The control that refuses a quote beside this portfolio; `None` if it is sent.
fn judge(side: Side, portfolio: Portfolio) -> Option<Control> {
    let price = if side == Side::Buy { 9_995 } else { 10_005 };
    let mut config = config();
    config.risk.move_bps = 10_000;
    let mut bench = TestBench::with(&[(side, price, 10)], config, Vec::new());
    begins_with(&mut bench, portfolio);
    bench.run_ms(3_000);
    let control = bench.first_refusal();
    assert_eq!(control.is_none(), bench.submits.len() == 1);
    control
}

#[test]
fn a_token_is_limited_over_all_venues() {
    let most = HELD + BID_BASE + 70;
    assert_eq!(judge(Side::Buy, tokens(Some(70), most)), None);
    let refused = Some(Control::PortfolioInventory);
    assert_eq!(judge(Side::Buy, tokens(Some(71), most)), refused);
    assert_eq!(judge(Side::Buy, tokens(Some(Amount::MAX), most)), refused);
    // What another venue holds is not known: nothing is added, whatever the limit.
    assert_eq!(judge(Side::Buy, tokens(None, Amount::MAX)), refused);
    // A sale only reduces it.
    assert_eq!(judge(Side::Sell, tokens(None, 0)), None);
    // A limit of another token is not this market's.
    let mut other = tokens(None, 0);
    other.tokens[0].token = OTHER;
    assert_eq!(judge(Side::Buy, other), None);
}

#[test]
fn exposure_is_limited_over_all_venues_in_one_currency() {
    let own = (WORTH + BID_WORTH) * 3 / 2;
    assert_eq!(judge(Side::Buy, exposure(Some(7), own + 7)), None);
    let refused = Some(Control::PortfolioExposure);
    assert_eq!(judge(Side::Buy, exposure(Some(8), own + 7)), refused);
    assert_eq!(judge(Side::Buy, exposure(Some(Amount::MAX), own)), refused);
    assert_eq!(judge(Side::Buy, exposure(None, Amount::MAX)), refused);
    assert_eq!(judge(Side::Sell, exposure(None, 0)), None);
}

#[test]
fn a_token_without_a_price_stops_what_would_add_to_it() {
    let without = |rates| {
        let mut portfolio = exposure(Some(0), Amount::MAX);
        portfolio.exposure.as_mut().unwrap().rates = rates;
        portfolio
    };
    let refused = Some(Control::PortfolioExposure);
    assert_eq!(judge(Side::Buy, without(Vec::new())), refused);
    assert_eq!(judge(Side::Sell, without(Vec::new())), None);
    // A price per nothing is none.
    let nothing = WorthRate { worth: 1, per: 0 };
    assert_eq!(judge(Side::Buy, without(vec![(QUOTE, nothing)])), refused);
}

#[test]
fn quotes_return_when_there_is_room_again() {
    let mut bench = TestBench::with(&[(Side::Buy, 9_995, 10)], config(), Vec::new());
    begins_with(&mut bench, tokens(None, Amount::MAX));
    bench.run_ms(3_000);
    assert!(bench.submits.is_empty());
    bench.handle_event(&Event::Portfolio(tokens(Some(0), Amount::MAX)));
    bench.run_ms(3_000);
    assert_eq!(bench.submits.len(), 1);
}

#[test]
fn an_engine_reports_what_it_may_hold_at_most() {
    let mut bench = TestBench::with(&[(Side::Buy, 9_995, 10)], config(), Vec::new());
    bench.queries_lost = true;
    bench.run_ms(1);
    assert_eq!(
        bench.engine.exposure(),
        None,
        "not before the books were compared"
    );
    answers(&mut bench);
    bench.run_ms(3_000);
    let exposure = bench.engine.exposure().unwrap();
    // The bid counts as bought before it is even acknowledged.
    assert_eq!(exposure.tokens[&BASE], Some(HELD + BID_BASE));
    assert_eq!(exposure.gross[&QUOTE], Some(WORTH + BID_WORTH));
    assert_eq!(exposure.lost_today[&QUOTE], LostToday::NOTHING);
    let (mid, age_ms) = exposure.mids.values().next().copied().flatten().unwrap();
    assert_eq!(mid, 20_000);
    assert!(age_ms <= 5_000);
}
