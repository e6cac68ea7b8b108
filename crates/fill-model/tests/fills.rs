//! Fills: which, when, how much, at which price, and their reports.

#![allow(clippy::expect_used, reason = "tests")]

mod common;

use cambist_core::{Qty, Side};
use cambist_fill_model::{
    Fee, FeeRate, Fees, FillRule, Liquidity, Options, Outcome, QueueModel, RejectReason,
    TimeInForce,
};
use cambist_quant::queue::Model;
use common::{Market, Observed, maker, order};

fn whole() -> Options {
    Options {
        rule: FillRule::WholeOrder,
        ..Options::careful()
    }
}

/// Bids 3 at 100 and 5 at 99, asks 4 at 101 and 6 at 103.
fn market(options: Options) -> Market {
    let mut market = Market::of_events(options);
    market.level(Side::Buy, 100, 3);
    market.level(Side::Buy, 99, 5);
    market.level(Side::Sell, 101, 4);
    market.level(Side::Sell, 103, 6);
    market
}

#[test]
fn trades_through_a_price_fill_without_a_queue_up_to_their_size() {
    let mut market = market(Options::careful());
    market.submit(maker(1, Side::Buy, 100, 5));
    market.submit(maker(2, Side::Buy, 99, 5));
    assert_eq!(
        market.trade(Side::Sell, 98, 7),
        [Observed::Filled(1, 100, 5), Observed::Filled(2, 99, 2),]
    );
    assert_eq!(market.trade(Side::Buy, 99, 9), [], "the other side's trade");
    assert_eq!(market.trade(Side::Sell, 101, 9), [], "above our price");
}

#[test]
fn an_opposite_level_that_reaches_a_price_fills_by_its_quantity() {
    let mut market = market(Options::careful());
    market.submit(maker(1, Side::Buy, 100, 5));
    market.level(Side::Buy, 100, 0);
    assert_eq!(market.level(Side::Sell, 101, 9), [], "not reached");
    assert_eq!(
        market.level(Side::Sell, 100, 2),
        [Observed::Filled(1, 100, 2)]
    );
    assert_eq!(market.level(Side::Sell, 100, 1), [], "less is nothing new");
    assert_eq!(
        market.level(Side::Sell, 99, 4),
        [Observed::Filled(1, 100, 3)]
    );
    assert_eq!(market.simulator.open_orders(), 0);
}

#[test]
fn whole_orders_fill_at_any_traded_quantity() {
    let mut market = market(whole());
    market.submit(maker(1, Side::Buy, 100, 50));
    assert_eq!(market.trade(Side::Sell, 100, 3), [], "in front of us");
    assert_eq!(
        market.trade(Side::Sell, 100, 1),
        [Observed::Filled(1, 100, 50)]
    );
    market.submit(maker(2, Side::Sell, 101, 50));
    assert_eq!(
        market.level(Side::Buy, 101, 1),
        [Observed::Filled(2, 101, 50)]
    );
}

#[test]
fn post_only_orders_that_would_take_are_rejected() {
    let mut market = market(Options::careful());
    let rejected = |id, reason| [Observed::Other(id, Outcome::Rejected(reason))];
    assert_eq!(
        market.submit(maker(1, Side::Buy, 101, 1)),
        rejected(1, RejectReason::WouldTake)
    );
    assert_eq!(
        market.submit(maker(1, Side::Buy, 100, 1)),
        [Observed::Resting(1)]
    );
    assert_eq!(
        market.submit(maker(1, Side::Buy, 99, 1)),
        rejected(1, RejectReason::DuplicateId)
    );
    assert_eq!(
        market.submit(maker(2, Side::Buy, 99, 0)),
        rejected(2, RejectReason::Malformed)
    );
    assert_eq!(
        market.submit(maker(2, Side::Buy, 0, 1)),
        rejected(2, RejectReason::Malformed)
    );
    // The order would meet our own bid once the recorded bids at that price are gone.
    market.level(Side::Buy, 100, 0);
    assert_eq!(
        market.submit(maker(2, Side::Sell, 100, 1)),
        rejected(2, RejectReason::WouldTradeWithOwn)
    );
    assert_eq!(
        market.cancel(1),
        [Observed::Other(1, Outcome::Canceled(Qty(1)))]
    );
    assert_eq!(
        market.cancel(1),
        [Observed::Other(1, Outcome::CancelRejected)]
    );
    assert_eq!(
        market.submit(maker(2, Side::Sell, 100, 1)),
        [Observed::Resting(2)]
    );
}

#[test]
fn a_taking_order_walks_the_book_and_removes_what_it_took() {
    let mut market = market(Options::careful());
    let take = |id, price, qty, tif| order(id, Side::Buy, price, qty, tif);
    let ioc = TimeInForce::ImmediateOrCancel;
    assert_eq!(
        market.submit(take(1, 103, 6, ioc)),
        [Observed::Filled(1, 101, 4), Observed::Filled(1, 103, 2),]
    );
    assert_eq!(
        market.submit(take(2, 103, 9, ioc)),
        [
            Observed::Filled(2, 103, 4),
            Observed::Other(2, Outcome::Expired(Qty(5))),
        ]
    );
    let fok = TimeInForce::FillOrKill;
    // The recording adds 3 at 101: they are available.
    market.level(Side::Sell, 101, 7);
    assert_eq!(
        market.submit(take(3, 103, 4, fok)),
        [Observed::Other(3, Outcome::Expired(Qty(4)))]
    );
    assert_eq!(
        market.submit(take(4, 103, 3, fok)),
        [Observed::Filled(4, 101, 3)]
    );
    // Of what is left at 101 we have taken everything; of what is added to it, nothing.
    market.level(Side::Sell, 101, 1);
    market.level(Side::Sell, 101, 2);
    assert_eq!(
        market.submit(take(5, 101, 2, TimeInForce::GoodTillCancel)),
        [Observed::Filled(5, 101, 1), Observed::Resting(5)],
        "the rest rests"
    );
}

#[test]
fn taken_quantity_is_hidden_but_not_what_is_added_to_its_level() {
    let mut market = market(Options::careful());
    let shown = |market: &Market| {
        let mut snapshot = cambist_market_data::Snapshot::default();
        market.simulator.write_snapshot(5, &mut snapshot);
        let asks = snapshot.asks.iter();
        asks.map(|level| (level.price.0, level.qty.0))
            .collect::<Vec<_>>()
    };
    market.submit(order(1, Side::Buy, 103, 6, TimeInForce::ImmediateOrCancel));
    assert_eq!(shown(&market), [(103, 4)]);
    market.level(Side::Sell, 101, 6);
    assert_eq!(shown(&market), [(101, 2), (103, 4)]);
    market.level(Side::Sell, 101, 3);
    assert_eq!(shown(&market), [(103, 4)], "a decrease adds nothing");
    market.level(Side::Sell, 101, 0);
    market.level(Side::Sell, 101, 3);
    assert_eq!(shown(&market), [(101, 3), (103, 4)], "a new level");
}

/// A level that flickers is not there to be taken again and again.
#[test]
fn a_level_of_snapshots_is_taken_once_and_what_is_added_to_it_as_well() {
    let mut market = Market::of_snapshots(Options::careful());
    let mut taken = |ask: u64| {
        market.snapshot(&[(99, 5)], &[(101, ask), (102, 50)]);
        let ioc = TimeInForce::ImmediateOrCancel;
        let reports = market.submit(order(ask, Side::Buy, 101, 1_000, ioc));
        let filled = reports.iter().filter_map(|report| match report {
            Observed::Filled(_, 101, lots) => Some(*lots),
            _ => None,
        });
        filled.sum::<u64>()
    };
    assert_eq!([100, 101, 100, 100, 103].map(&mut taken), [100, 1, 0, 0, 3]);
}

#[test]
fn fees_and_roles_are_reported_with_every_fill() {
    let fees = Fees {
        maker: FeeRate(-25),
        taker: FeeRate::from_bips(4),
        ..Fees::default()
    };
    let mut market = market(Options {
        fees,
        ..Options::careful()
    });
    let fill = |report: &cambist_fill_model::ExecutionReport| match report.outcome {
        Outcome::Filled(fill) => (fill.liquidity, fill.fee, fill.remaining),
        other => panic!("{other:?}"),
    };
    let taken = market.reports_of(order(1, Side::Buy, 101, 2, TimeInForce::FillOrKill));
    assert_eq!(
        fill(&taken[0]),
        (Liquidity::Taker, Fee::Quote(101 * 2 * 40_000), Qty(0))
    );
    market.submit(maker(2, Side::Sell, 102, 5));
    let mut reports = Vec::new();
    let event = cambist_market_data::Event {
        exchange_time: cambist_market_data::Timestamp(100),
        local_time: cambist_market_data::Timestamp(100),
        visibility: cambist_market_data::Visibility::Exchange,
        update: cambist_market_data::Update::Trade {
            aggressor: Side::Buy,
            price: cambist_core::Price(103),
            qty: Qty(4),
        },
    };
    market.simulator.apply_event(&event, &mut reports);
    assert_eq!(
        fill(&reports[0]),
        (Liquidity::Maker, Fee::Quote(-25 * 102 * 4), Qty(1))
    );
    // Events of the recorder's view are not events at the exchange.
    let late = cambist_market_data::Event {
        visibility: cambist_market_data::Visibility::Local,
        ..event
    };
    market.simulator.apply_event(&late, &mut reports);
    assert_eq!(reports.len(), 1);
}

#[test]
fn levels_crossed_by_newer_ones_are_removed() {
    let mut market = market(Options::careful());
    market.level(Side::Buy, 102, 1);
    assert_eq!(
        market.simulator.crossings(),
        0,
        "it may still be repaired at that time"
    );
    market.level(Side::Buy, 98, 1);
    assert_eq!(market.simulator.crossings(), 1);
    assert_eq!(
        market.simulator.best(Side::Sell).map(|price| price.0),
        Some(103)
    );
}

#[test]
fn snapshots_fill_only_orders_that_the_other_side_reached() {
    let mut market = Market::of_snapshots(Options::careful());
    market.snapshot(&[(100, 5), (99, 5)], &[(102, 5)]);
    assert_eq!(
        market.submit(maker(1, Side::Buy, 101, 4)),
        [Observed::Resting(1)]
    );
    market.submit(maker(2, Side::Buy, 100, 4));
    assert_eq!(
        market.snapshot(&[(100, 1)], &[(102, 5)]),
        [],
        "cancelled or traded: not known"
    );
    assert_eq!(
        market.snapshot(&[(99, 9)], &[(101, 3)]),
        [Observed::Filled(1, 101, 3)]
    );
    assert_eq!(market.snapshot(&[(99, 9)], &[(101, 3)]), [], "nothing new");
    assert_eq!(
        market.snapshot(&[(98, 9)], &[(99, 9), (100, 2)]),
        [Observed::Filled(1, 101, 1), Observed::Filled(2, 100, 4),]
    );
}

#[test]
fn a_share_of_decreases_counts_as_traded_if_configured() {
    for (share, fills) in [(0, 0), (499_999, 0), (500_000, 1), (1_000_000, 6)] {
        let mut market = Market::of_snapshots(Options {
            traded_share: share,
            ..Options::careful()
        });
        market.snapshot(&[(100, 4)], &[(102, 5)]);
        market.submit(maker(1, Side::Buy, 100, 9));
        // 10 of 14 are gone: half is 5, one more than the 4 in front of us.
        market.snapshot(&[(100, 14)], &[(102, 5)]);
        let observed = market.snapshot(&[(100, 4)], &[(102, 5)]);
        let expected: &[Observed] = if fills == 0 {
            &[]
        } else {
            &[Observed::Filled(1, 100, fills)]
        };
        assert_eq!(observed, expected, "{share}");
    }
}

#[test]
fn a_position_beyond_the_last_level_is_unknown_until_a_snapshot_covers_it() {
    let mut market = Market::of_snapshots(Options {
        queue: QueueModel::Estimated(Model::Power(3.0)),
        ..Options::careful()
    });
    market.snapshot(&[(100, 4), (99, 4)], &[(102, 5)]);
    market.submit(maker(1, Side::Buy, 98, 1));
    market.submit(maker(2, Side::Sell, 104, 1));
    assert_eq!((market.in_front(1), market.in_front(2)), (None, None));
    // A level of others at our price is in front of us, and none where prices beyond are listed.
    market.snapshot(&[(99, 4), (98, 7)], &[(102, 5), (105, 1)]);
    assert_eq!((market.in_front(1), market.in_front(2)), (Some(7), Some(0)));
}
