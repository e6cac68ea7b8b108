//! Whole runs: fills, exact accounts, and the effects of assumptions.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::cast_precision_loss, reason = "figures are compared as floats")]

mod common;

use std::collections::BTreeSet;

use cambist_backtest::{
    Assumptions, Backtest, BacktestError, ClockSteps, FeeBips, FillRow, LatencyRange, Progress,
    RateLimit, Report, SampleRow, Sink,
};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketId, MarketSpec, Price, Qty, Side, TokenId};
use cambist_fill_model::{Liquidity, QueueModel};
use cambist_market_data::{Event, Grid, Snapshot, Timestamp, Update, Visibility};
use common::{
    BASE, BEGIN, Kept, ONE, QUOTE, SECOND, UNIT, book, events, events_by, events_of, fast, market,
    opening, run, setup, setup_of, snapshots, swinging,
};

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// The holdings that must follow from opening balances and fills, in base units.
fn held_after(kept: &Kept) -> [Amount; 2] {
    let opening = opening();
    let [mut base, mut quote] = [opening[&BASE], opening[&QUOTE]];
    for fill in &kept.fills {
        match fill.side {
            Side::Buy => {
                base += fill.base - fill.fee;
                quote -= fill.quote;
            }
            Side::Sell => {
                base -= fill.base;
                quote += fill.quote - fill.fee;
            }
        }
    }
    [base, quote]
}

/// Units of 10^-18 whole tokens, which the amounts of tests are multiples of.
fn exact(text: &str) -> i128 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{part:0<18}");
    digits.parse().unwrap()
}

/// Markets add up to the profit and loss, fees by token to its fees and to those of the fills, and orders to those
/// placed.
fn check_parts(report: &Report, kept: &Kept) {
    let pnl = report.pnl.as_ref().unwrap();
    let (holding, excess) = (report.holding.as_ref(), report.excess_over_holding.as_ref());
    let totals = [
        &pnl.spread,
        &pnl.holdings,
        &pnl.fees,
        &pnl.total,
        holding.unwrap(),
        excess.unwrap(),
    ];
    let mut sums = [0; 6];
    for market in &report.markets {
        for (sum, amount) in sums.iter_mut().zip(market.amounts()) {
            *sum += exact(amount);
        }
    }
    assert_eq!(sums, totals.map(|total| exact(total)));
    let fills: u64 = report.markets.iter().map(|market| market.fills).sum();
    assert_eq!(fills, report.fills);
    let values = report
        .fees
        .iter()
        .map(|fee| exact(fee.value.as_ref().unwrap()));
    assert_eq!(values.sum::<i128>(), exact(&pnl.fees));
    if report.markets.len() == 1 {
        let charged = |side| {
            let fills = kept.fills.iter().filter(|fill| fill.side == side);
            fills.map(|fill| fill.fee).sum::<Amount>()
        };
        let paid = |token: &str| {
            let found = report.fees.iter().find(|fee| fee.token == token);
            found.map_or(0, |fee| exact(&fee.amount).unsigned_abs())
        };
        // Taken from what was bought.
        assert_eq!(paid("AAA"), charged(Side::Buy));
        assert_eq!(paid("QQQ"), charged(Side::Sell) * 1_000_000_000_000);
    }
    let by_end = &report.orders_by_end;
    let parts = by_end.parts().map(|(_, count)| count);
    assert_eq!(by_end.placed, parts.iter().sum::<u64>(), "{by_end:?}");
    assert_eq!(by_end.placed, report.orders.submitted);
}

/// Profit and loss is that of holding the initial balances and the excess over it, exactly.
fn check_holding(report: &Report, kept: &Kept) {
    let parts = [&report.holding, &report.excess_over_holding];
    let [holding, excess] = parts.map(|part| exact(part.as_ref().unwrap()));
    let total = exact(&report.pnl.as_ref().unwrap().total);
    assert_eq!(holding + excess, total);
    let mut each = kept.samples.iter().filter_map(|row| row.holding);
    let first = each.next().unwrap().cast_signed();
    let last = each.next_back().unwrap().cast_signed();
    // Both values are rounded down to a unit, which is a millionth.
    let unit = 1_000_000_000_000;
    let apart = ((last - first) * unit - holding).abs();
    assert!(apart <= unit, "{first} {last} {holding}");
}

/// Counts of fills: orders with fills, fills without a mid, and markouts, of all and of each side.
fn check_fills(report: &Report, kept: &Kept) {
    let fills = &kept.fills;
    let orders: BTreeSet<_> = fills.iter().map(|fill| fill.order).collect();
    let share = |count: usize| u32::try_from(count).map(f64::from).unwrap();
    let submitted = usize::try_from(report.orders.submitted).unwrap();
    let filled = share(orders.len()) / share(submitted);
    assert_eq!(report.ratios.filled, (submitted > 0).then_some(filled));
    let without_mid = fills.iter().filter(|fill| fill.mid.is_none()).count();
    let stated = format!("{without_mid} of the fills happened while a side");
    let is_stated = report.assumed.iter().any(|line| line.contains(&stated));
    assert_eq!(is_stated, without_mid > 0, "{:?}", report.assumed);
    for markout in &report.markouts {
        let of = |fill: &&FillRow| markout.side == "all" || markout.side == fill.side.name();
        let counted = fills.iter().filter(of).count() as u64;
        assert_eq!(markout.fills + markout.left_out, counted, "{markout:?}");
    }
}

fn check_books(report: &Report, kept: &Kept) {
    check_fills(report, kept);
    let [base, quote] = held_after(kept);
    let last = kept.samples.last().unwrap();
    assert_eq!((last.base, last.quote), (base, quote));
    assert_eq!(report.fills, kept.fills.len() as u64);
    assert_eq!(report.maker_fills + report.taker_fills, report.fills);
    let pnl = report.pnl.as_ref().unwrap();
    let parts = [&pnl.spread, &pnl.holdings, &pnl.fees].map(|part| number(part));
    assert!((parts.iter().sum::<f64>() - number(&pnl.total)).abs() < 1e-9);
    let equity = |value: &Option<String>| number(value.as_ref().unwrap());
    let change = equity(&report.equity.closing) - equity(&report.equity.opening);
    assert!(
        (change - number(&pnl.total)).abs() < 1e-5,
        "{change} {pnl:?}"
    );
    // What the curves of the page end with.
    let ends = [
        (&report.equity.closing, last.equity),
        (&report.equity.holding, last.holding),
    ];
    for (stated, drawn) in ends {
        let units = drawn.unwrap().cast_signed();
        assert_eq!(exact(stated.as_ref().unwrap()), units * 1_000_000_000_000);
    }
    check_holding(report, kept);
    check_parts(report, kept);
    assert_eq!(report.invariants, [""; 0]);
    assert_eq!(report.mismatches, 0);
    assert_eq!(report.level, "trading", "{:?}", report.levels);
}

/// A fill moves both quotes of glft away from the side that filled: with high risk aversion holdings stay smaller than
/// with nearly none, in the same market.
#[test]
fn glft_fills_and_skews_against_inventory() {
    let assumptions = Assumptions {
        maker_fee: FeeBips::from_bips(2),
        ..fast()
    };
    let held = |risk_aversion: &str| {
        let table = format!(
            "order_amount = 0.5\norder_levels = 2\nvolatility_bps = 2\nintensity_per_s = 0.1\n\
             decay_per_bps = 0.3\nfee_bps = 2\nimpact_bps = 0\nestimate_range = 1\n\
             risk_aversion = {risk_aversion}\n"
        );
        // Every second the mid is up to 10 bps from the same price.
        let mid = |n: i64| 250_000_u64.wrapping_add_signed(n * n * 7_919 % 503 - 251);
        let data = snapshots((0..1_800).map(|n| book(n * 1_000, mid(n))).collect());
        let (report, kept) = run(setup_of("glft", &table, data, assumptions));
        assert!(report.fills > 30, "{risk_aversion}: {}", report.fills);
        check_books(&report, &kept);
        let base = |row: &cambist_backtest::SampleRow| row.base.abs_diff(opening()[&BASE]);
        kept.samples.iter().map(base).sum::<Amount>()
    };
    let (bold, cautious) = (held("0.0001"), held("0.02"));
    assert!(cautious < bold, "{cautious} {bold}");
}

#[test]
fn a_swinging_market_fills_and_the_accounts_are_correct() {
    let assumptions = Assumptions {
        maker_fee: FeeBips::from_bips(2),
        ..fast()
    };
    let (report, kept) = run(setup(snapshots(swinging(1_800, 3_000)), assumptions));
    assert!(report.fills > 50, "{}", report.fills);
    check_books(&report, &kept);
    let pnl = report.pnl.as_ref().unwrap();
    assert!(
        number(&pnl.fees) < 0.0 && number(&pnl.spread) < 0.0,
        "{pnl:?}"
    );
    assert!(
        kept.fills
            .iter()
            .all(|fill| fill.liquidity == Liquidity::Maker)
    );
    // A fill is at the price of a quote, where the market was.
    for fill in &kept.fills {
        let mid = fill.mid.unwrap();
        let against = match fill.side {
            Side::Buy => 2 * fill.price.0 > mid,
            Side::Sell => 2 * fill.price.0 < mid,
        };
        assert!(against, "the market has traded through it: {fill:?}");
    }
    // With one poll a second the mean delay is half a second, and the maximum two polls and the latency.
    let late = &report.detection;
    assert!(
        late.p50_ms.unwrap() > 50.0 && late.max_ms.unwrap() < 5_000.0,
        "{late:?}"
    );
}

#[test]
fn markouts_that_are_due_at_the_last_row_have_its_mid() {
    let mut at_last = 0;
    let mid = |n: i64| 250_000 + 500 * u64::from(n / 10 % 2 == 1);
    for seconds in 310..322 {
        let rows = (0..seconds).map(|n| book(n * 1_000, mid(n)));
        let (report, kept) = run(setup(snapshots(rows.collect()), fast()));
        let last = kept.samples.last().unwrap().time;
        for markout in report.markouts.iter().filter(|row| row.side == "all") {
            let nanos = i64::from(markout.horizon_s) * 1_000_000_000;
            let due = kept.fills.iter().map(|fill| fill.time.plus_nanos(nanos));
            let beyond = due.clone().filter(|due| *due > last).count() as u64;
            assert_eq!(markout.left_out, beyond, "{markout:?}");
            at_last += due.filter(|due| *due == last).count();
        }
    }
    assert!(at_last >= 4, "{at_last}");
}

/// A book without one of its sides has no mid: what is held then counts at the last one, in equity as in profit and loss.
#[test]
fn a_market_without_a_mid_at_its_ends_has_one_profit() {
    for (from, to) in [(0, 1_785), (7, 1_800), (7, 1_786), (3, 1_771), (0, 1_800)] {
        let mut rows = swinging(1_800, 3_000);
        for (n, row) in rows.iter_mut().enumerate() {
            // While one side is absent the other goes on.
            if n < from {
                row.bids.clear();
            } else if n >= to {
                row.asks.clear();
            }
        }
        let (report, kept) = run(setup(snapshots(rows), fast()));
        assert!(report.fills > 50, "{}", report.fills);
        check_books(&report, &kept);
        let stated = report
            .assumed
            .iter()
            .any(|line| line.contains("at the mid of"));
        assert_eq!(stated, to < 1_800, "{:?}", report.assumed);
        let last = kept.samples.last().unwrap();
        assert_eq!(last.mid.is_none(), to < 1_800);
        let closing = number(report.equity.closing.as_ref().unwrap());
        let equity = last.equity.unwrap() as f64 / 1e6;
        assert!((equity - closing).abs() < 1e-9, "{equity} {closing}");
    }
}

#[test]
fn the_time_with_both_sides_is_that_at_the_exchange() {
    // Every ten seconds the mid jumps through the quotes of one side, more than half a second before the next poll.
    let mid = |n: i64| 250_000 + 500 * u64::from(n / 10 % 2 == 1);
    let at = |n: i64| n * 1_000 + if n > 0 { 400 } else { 0 };
    let data = snapshots((0..1_800).map(|n| book(at(n), mid(n))).collect());
    let exact = Assumptions {
        timer_lateness_us: 0,
        ..fast()
    };
    let mut often = setup(data, exact);
    often.sample_ms = 100;
    let (report, kept) = run(often);
    check_books(&report, &kept);
    // The engine counts filled orders as quotes until its next poll; at the exchange they are gone. The rows of a
    // sample show the same share.
    let both = |row: &&cambist_backtest::SampleRow| row.quotes.iter().all(Option::is_some);
    let share = |count: usize| f64::from(u32::try_from(count).unwrap());
    let sampled = share(kept.samples.iter().filter(both).count()) / share(kept.samples.len());
    let (ratio, polled) = (
        report.quoted_both_sides_ratio,
        report.quoted_both_sides_as_polled_ratio,
    );
    assert!((ratio - sampled).abs() < 0.01, "{ratio} {sampled}");
    assert!(ratio < polled - 0.01, "{ratio} {polled}");
    for side in &report.sides {
        assert!(side.quoted_s < side.quoted_as_polled_s, "{side:?}");
    }
}

#[test]
fn a_wall_clock_that_was_set_is_the_first_advice() {
    let (mut report, _) = run(setup(snapshots(swinging(400, 100)), fast()));
    assert_eq!(report.clock_steps, None);
    let before = report.advice.clone();
    let steps = ClockSteps {
        count: 2,
        first: "2026-09-13T00:00:00Z".to_owned(),
        largest_ms: -3_600_500,
        sum_ms: 20,
    };
    report.set_clock_steps(steps.clone());
    assert_eq!(report.clock_steps, Some(steps));
    assert_eq!(report.advice[1..], before);
    let stated =
        "2 times, first at 2026-09-13T00:00:00Z, at most by -3600.500 s and in all by +0.020 s";
    assert!(report.advice[0].contains(stated), "{:?}", report.advice[0]);
}

#[test]
fn a_quiet_market_fills_nothing_and_the_result_comes_from_holdings() {
    let (report, kept) = run(setup(snapshots(swinging(400, 100)), fast()));
    assert_eq!(report.fills, 0);
    check_books(&report, &kept);
    assert!(report.quoted_both_sides_ratio > 0.95);
    let pnl = report.pnl.unwrap();
    assert_eq!((pnl.spread.as_str(), pnl.fees.as_str()), ("0", "0"));
}

fn level(ms: i64, side: Side, price: u64, qty: u64) -> Event {
    let (price, qty) = (Price(price), Qty(qty));
    event(ms, Update::Level { side, price, qty })
}

fn event(ms: i64, update: Update) -> Event {
    let time = Timestamp(BEGIN + ms * 1_000_000);
    Event {
        exchange_time: time,
        local_time: time,
        visibility: Visibility::Both,
        update,
    }
}

/// A book that does not move, and once a second a trade far through one side, alternating.
fn ticks(seconds: i64) -> Vec<Event> {
    let snapshot = book(0, 250_000);
    let mut rows: Vec<_> = Side::BOTH
        .into_iter()
        .flat_map(|side| {
            let levels = snapshot.side(side).iter();
            levels.map(move |l| level(0, side, l.price.0, l.qty.0))
        })
        .collect();
    for n in 1..seconds {
        let (aggressor, price) = if n % 2 == 0 {
            (Side::Buy, 250_200)
        } else {
            (Side::Sell, 249_800)
        };
        let (price, qty) = (Price(price), Qty(3_000));
        let trade = Update::Trade {
            aggressor,
            price,
            qty,
        };
        rows.push(event(n * 1_000 + 500, trade));
    }
    rows
}

#[test]
fn recorded_trades_fill_at_our_prices_and_earn_the_spread() {
    let (report, kept) = run(setup(events(ticks(600)), fast()));
    assert!(report.fills > 50, "{}", report.fills);
    check_books(&report, &kept);
    let pnl = report.pnl.unwrap();
    assert!(number(&pnl.spread) > 0.0, "{pnl:?}");
    assert_eq!(pnl.holdings, "0", "the mid never moved");
    for fill in &kept.fills {
        assert!(fill.lots <= 3_000, "at most the traded quantity: {fill:?}");
        assert_eq!(fill.mid, Some(500_000));
    }
}

/// A fee in the quote token comes on top of what a buy pays, and is a share of that.
#[test]
fn fees_in_the_quote_token_are_shares_of_it() {
    let assumptions = Assumptions {
        maker_fee: FeeBips::from_bips(25),
        ..fast()
    };
    let mut setup = setup(events(ticks(600)), assumptions);
    for spec in &mut setup.markets {
        spec.fee_in = FeeToken::Quote;
    }
    let (report, kept) = run(setup);
    let [mut base, mut quote] = [opening()[&BASE], opening()[&QUOTE]];
    let mut fees = 0;
    for fill in &kept.fills {
        assert_eq!(fill.fee, fill.quote * 25 / 10_000, "{fill:?}");
        fees += fill.fee;
        match fill.side {
            Side::Buy => (base, quote) = (base + fill.base, quote - fill.quote - fill.fee),
            Side::Sell => (base, quote) = (base - fill.base, quote + fill.quote - fill.fee),
        }
    }
    let bought = kept.fills.iter().filter(|fill| fill.side == Side::Buy);
    assert!(bought.count() > 20);
    let last = kept.samples.last().unwrap();
    assert_eq!((last.base, last.quote), (base, quote));
    let pnl = report.pnl.as_ref().unwrap();
    assert!(
        (number(&pnl.fees) + fees as f64 / 1e6).abs() < 1e-9,
        "{pnl:?}"
    );
    let in_quote = |line: &String| line.contains("in the quote token");
    assert!(report.assumed.iter().any(in_quote), "{:?}", report.assumed);
    assert_eq!((report.mismatches, report.invariants), (0, Vec::new()));
}

/// The rows of one time are one message: results do not depend on the order in which it names the sides.
#[test]
fn the_order_of_rows_of_one_time_changes_nothing() {
    let rows = |sells_first: bool| {
        let mut rows = Vec::new();
        let mut before: Option<Snapshot> = None;
        for snapshot in swinging(400, 3_000) {
            let ms = snapshot.exchange_time.nanos_since(Timestamp(BEGIN)) / 1_000_000;
            let mut sides = Side::BOTH;
            if sells_first {
                sides.reverse();
            }
            for side in sides {
                let gone = before.iter().flat_map(|before| before.side(side));
                let gone = gone.map(|old| level(ms, side, old.price.0, 0));
                let new = snapshot.side(side).iter();
                rows.extend(gone.chain(new.map(|new| level(ms, side, new.price.0, new.qty.0))));
            }
            before = Some(snapshot);
        }
        rows
    };
    let [one, other] = [false, true].map(|sells_first| {
        let (report, kept) = run(setup(events(rows(sells_first)), fast()));
        assert!(report.fills > 10, "{}", report.fills);
        check_books(&report, &kept);
        let mids: Vec<_> = kept.fills.iter().map(|fill| fill.mid).collect();
        (mids, report.pnl)
    });
    assert_eq!(one, other);
}

/// However many events are read at once: books, fills, their mids, samples and what the engine did are the same. Of two
/// markets, the rows of the other one come in between.
#[test]
fn events_that_are_read_by_the_block_make_the_same_run() {
    let mut rows = ticks(300);
    let mut before: Option<Snapshot> = None;
    for snapshot in swinging(300, 3_000) {
        let ms = snapshot.exchange_time.nanos_since(Timestamp(BEGIN)) / 1_000_000;
        for side in Side::BOTH {
            let gone = before.iter().flat_map(|before| before.side(side));
            let gone = gone.map(|old| level(ms, side, old.price.0, 0));
            let new = snapshot.side(side).iter();
            rows.extend(gone.chain(new.map(|new| level(ms, side, new.price.0, new.qty.0))));
        }
        before = Some(snapshot);
    }
    // Of the recorder's view alone, and of one message with fills of several orders.
    for ms in [10_000, 20_500, 20_600] {
        let late = event(ms, Update::Cancel { order: 1 });
        rows.push(Event {
            visibility: Visibility::Local,
            ..late
        });
    }
    rows.sort_by_key(|row| row.exchange_time);
    let shifted = |ms: i64| {
        let mut rows = rows.clone();
        for row in &mut rows {
            row.exchange_time = row.exchange_time.plus_nanos(ms * 1_000_000);
            row.local_time = row.exchange_time;
        }
        rows
    };
    let of = |blocks: [usize; 2], shift_ms: Option<i64>| {
        let one = events_by(blocks[0], rows.clone());
        let setup = match shift_ms {
            None => setup(one, fast()),
            Some(ms) => {
                let mut setup = setup(one, fast());
                let (other, _) = second_market();
                let info = cambist_strategies::find("ladder").unwrap();
                let strategy = info.build_from(&common::LADDER.parse().unwrap(), &other);
                let market = setup.engine.markets[0].clone();
                setup.engine.markets.push(market);
                setup.tokens.push(other.base.clone());
                setup.opening.insert(other.base.id, 10 * ONE);
                setup
                    .strategies
                    .push((cambist_core::StrategyId(1), other.id, strategy.unwrap()));
                setup.markets.push(other);
                setup.data.push(events_by(blocks[1], shifted(ms)));
                setup
            }
        };
        let (report, kept) = run(setup);
        assert!(report.fills > 10, "{}", report.fills);
        let rows = serde_json::to_value(&report).unwrap();
        (
            rows,
            format!("{:?}", kept.fills),
            format!("{:?}", kept.samples),
        )
    };
    for shift_ms in [None, Some(0), Some(250), Some(-500)] {
        let expected = of([1, 1], shift_ms);
        for blocks in [[2, 3], [7, 1], [1, 256], [10_000, 10_000]] {
            let found = of(blocks, shift_ms);
            assert!(found.1 == expected.1, "fills: {blocks:?} {shift_ms:?}");
            assert!(found.2 == expected.2, "samples: {blocks:?} {shift_ms:?}");
            for part in ["orders_by_end", "requests", "markouts", "pnl", "markets"] {
                assert_eq!(found.0[part], expected.0[part], "{blocks:?} {shift_ms:?}");
            }
        }
    }
}

/// Progress is due at whole numbers of rows, wherever the blocks end that the rows are read by.
#[test]
fn progress_is_reported_of_every_so_many_rows() {
    struct Reported(Vec<u64>);
    impl Sink for Reported {
        fn fill(&mut self, _: &FillRow) -> std::io::Result<()> {
            Ok(())
        }
        fn sample(&mut self, _: &SampleRow) -> std::io::Result<()> {
            Ok(())
        }
        fn progress(&mut self, progress: Progress) {
            self.0.push(progress.rows);
        }
    }
    const EVERY: u64 = 1 << 18;
    let row = |n: i64| {
        let side = if n % 2 == 0 { Side::Buy } else { Side::Sell };
        let price = 250_000_u64.wrapping_add_signed(if n % 2 == 0 { -10 } else { 10 });
        // Many rows of one time are applied at once.
        level(n / 100_000, side, price, 20_000 + n.unsigned_abs() % 7)
    };
    let count = i64::try_from(2 * EVERY + 700).unwrap();
    let data = events_by(1_000, (0..count).map(row).collect());
    let mut reported = Reported(Vec::new());
    let run = Backtest::new(setup(data, fast())).unwrap();
    assert!(run.run(&mut reported).is_ok());
    assert_eq!(reported.0, [EVERY, 2 * EVERY]);
}

fn second_market() -> (MarketSpec, TokenId) {
    let base = common::token(TokenId(2), "BBB", 18);
    let quote = common::token(QUOTE, "QQQ", 6);
    let id = base.id;
    let spec = MarketSpec::new(MarketId(1), "BBB-QQQ", base, quote, 2, true).unwrap();
    (spec, id)
}

/// A level far away that a feed shows for a moment removes what it crosses, and gives nothing a value.
#[test]
fn a_crossed_book_has_no_mid() {
    let mut rows = ticks(60);
    rows.push(level(60_000, Side::Buy, 1_000_000_000, 5));
    rows.push(level(60_500, Side::Buy, 1_000_000_000, 0));
    rows.push(event(90_000, rows[20].update));
    let (report, kept) = run(setup(events(rows), fast()));
    check_books(&report, &kept);
    let pnl = number(&report.pnl.as_ref().unwrap().total);
    assert!(pnl.abs() < 100.0, "{pnl}");
    assert_eq!(report.data[0].crossings, 1);
    assert!(kept.samples.last().unwrap().mid.is_none());
    let stated = report
        .assumed
        .iter()
        .any(|line| line.contains("at the mid of"));
    assert!(stated, "{:?}", report.assumed);
}

#[test]
fn data_that_cannot_be_judged_are_refused() {
    let refusal = |data, assumptions| {
        let outcome = Backtest::new(setup(data, assumptions)).unwrap();
        let refused = outcome.run(&mut ()).err().expect("it is refused");
        refused.to_string()
    };
    let fifo = Assumptions {
        queue: QueueModel::Fifo,
        ..fast()
    };
    let what = refusal(events(ticks(60)), fifo);
    assert!(what.contains("names every order"), "{what}");
    // Nor is a level that has no orders in front of ours.
    let mut both = ticks(60);
    let (side, price, qty) = (Side::Buy, Price(249_900), Qty(5));
    both.insert(
        0,
        event(
            0,
            Update::Add {
                order: 1,
                side,
                price,
                qty,
            },
        ),
    );
    let what = refusal(events(both), fifo);
    assert!(what.contains("names every order"), "{what}");
    let trades = ticks(60).split_off(10);
    let what = refusal(events(trades), fast());
    assert!(what.contains("never had a bid below an ask"), "{what}");
    let none = Backtest::new(setup(events(Vec::new()), fast()));
    let what = none.err().expect("it is refused").to_string();
    assert!(what.contains("have no rows that"), "{what}");
}

/// What makes results doubtful without a defect of a row is among the first advice.
#[test]
fn doubtful_data_are_advised_about() {
    let advised = |rows: Vec<Event>, assumptions, words: &str| {
        let (report, _) = run(setup(events(rows), assumptions));
        let found = report.advice.iter().any(|advice| advice.contains(words));
        (found, report.fills)
    };
    let snapshot = |rows: Vec<Event>| -> Vec<Event> {
        let whole = |mut row: Event| {
            if let Update::Level { side, price, qty } = row.update {
                row.update = Update::SnapshotLevel { side, price, qty };
            }
            row
        };
        rows.into_iter().map(whole).collect()
    };
    let from_changes = "without a snapshot";
    assert!(advised(ticks(60), fast(), from_changes).0);
    assert!(!advised(snapshot(ticks(60)), fast(), from_changes).0);
    let no_trades = "have no trades";
    assert!(!advised(ticks(60), fast(), no_trades).0);
    let mut levels = ticks(1);
    levels.push(level(60_000, Side::Buy, 249_000, 1));
    assert!(advised(levels, fast(), no_trades).0);
    let fifo = Assumptions {
        queue: QueueModel::Fifo,
        ..fast()
    };
    let (qty, order) = (Qty(5), 1);
    let add = |order, side, price| {
        let price = Price(price);
        let (qty, side) = (qty, side);
        event(
            0,
            Update::Add {
                order,
                side,
                price,
                qty,
            },
        )
    };
    let mut by_order = vec![add(1, Side::Buy, 249_900), add(2, Side::Sell, 250_100)];
    by_order.extend(ticks(60).split_off(10));
    let no_fills = "no fills of single orders";
    assert_eq!(advised(by_order.clone(), fifo, no_fills), (true, 0));
    let price = Price(249_900);
    by_order.push(event(60_000, Update::Fill { order, price, qty }));
    assert!(!advised(by_order.clone(), fifo, no_fills).0);
    assert!(!advised(by_order, fast(), no_fills).0);
}

/// Quotes on both sides some ticks within the book, at multiples of so many.
struct AtMultiples(u64);

impl Strategy for AtMultiples {
    fn decide(&mut self, _: &View<'_>, targets: &mut Targets) {
        let prices = [249_960, 250_040].map(|price| Price(price / self.0 * self.0));
        for (side, price) in Side::BOTH.into_iter().zip(prices) {
            targets.quote(side, price, Qty(1_000), 0);
        }
    }
}

/// All prices are multiples of 0.10, and the market has ticks of 0.01: orders that are filled between were in queues that
/// do not exist. Orders at multiples are not.
#[test]
fn fills_between_the_prices_of_the_data_are_advised_about() {
    let advised = |rows: Vec<Event>, factor: u64| {
        let mut setup = setup(events(rows), fast());
        setup.strategies[0].2 = Box::new(AtMultiples(factor));
        let (report, _) = run(setup);
        assert!(report.fills > 0);
        let found = report
            .advice
            .iter()
            .find(|advice| advice.contains("multiple of"));
        found.cloned()
    };
    let coarse = ticks(1_200);
    let stated = advised(coarse.clone(), 7).unwrap();
    assert!(stated.contains("multiple of 0.1,"), "{stated}");
    assert!(stated.contains("price_decimals = 1"), "{stated}");
    assert_eq!(advised(coarse.clone(), 10), None);
    let mut fine = coarse;
    fine.push(level(1_200_000, Side::Buy, 249_001, 1));
    assert_eq!(advised(fine, 7), None);
    // Few rows may have a common step by chance; a stated tick is known.
    assert_eq!(advised(ticks(600), 7), None);
    let coarse = |row: &Event| {
        let mut row = *row;
        if let Update::Level { price, .. } | Update::Trade { price, .. } = &mut row.update {
            price.0 /= 10;
        }
        row
    };
    let rows: Vec<_> = ticks(600).iter().map(coarse).collect();
    let mut setup = setup(
        events_of(rows, Grid::parse("0.1", "0.0001").unwrap()),
        fast(),
    );
    setup.strategies[0].2 = Box::new(AtMultiples(7));
    let (report, _) = run(setup);
    assert!(
        report
            .advice
            .iter()
            .any(|advice| advice.contains("multiple of 0.1,"))
    );
}

#[test]
fn equal_inputs_give_equal_results_and_other_seeds_others() {
    let of = |seed| {
        let latency = LatencyRange {
            min_us: 1_000,
            max_us: 400_000,
        };
        let assumptions = Assumptions {
            request_latency: latency,
            response_latency: latency,
            seed,
            ..fast()
        };
        let (report, kept) = run(setup(snapshots(swinging(600, 3_000)), assumptions));
        check_books(&report, &kept);
        let mut report = report;
        report.assumptions.seed = 0;
        (serde_json::to_string(&report).unwrap(), kept.fills)
    };
    let one = of(1);
    assert_eq!(one, of(1));
    assert_ne!(one, of(2));
}

/// A side that is empty when an order fills: the fill counts at the mid before, and the report states how many did.
#[test]
fn fills_without_a_mid_are_stated() {
    let mut rows = swinging(1_800, 3_000);
    let mut before = rows[0].clone();
    for row in &mut rows {
        let rose = row.bids[0].price > before.bids[0].price;
        before = row.clone();
        if rose {
            row.asks.clear();
        }
    }
    let (report, kept) = run(setup(snapshots(rows), fast()));
    check_books(&report, &kept);
    assert!(kept.fills.iter().any(|fill| fill.mid.is_none()));
}

#[test]
fn a_visibility_lag_delays_detection_only() {
    let lagging = Assumptions {
        visibility_lag_us: 3_000_000,
        ..fast()
    };
    let (report, kept) = run(setup(snapshots(swinging(600, 3_000)), lagging));
    check_books(&report, &kept);
    let late = report.detection;
    assert!(late.p50_ms.unwrap() >= 3_000.0, "{late:?}");
    // The book of the data is never empty, and no order that has filled empties it.
    for side in &report.sides {
        let empty_s = side
            .withheld_s
            .iter()
            .find(|(reason, _)| *reason == "empty_book");
        assert_eq!(empty_s, None, "{side:?}");
    }
}

#[test]
fn timers_that_fire_late_poll_less_often() {
    let sent = |timer_lateness_us| {
        let assumptions = Assumptions {
            timer_lateness_us,
            ..fast()
        };
        let (report, kept) = run(setup(snapshots(swinging(600, 3_000)), assumptions));
        check_books(&report, &kept);
        report.requests.sent
    };
    let [exact, late] = [0, 200_000].map(sent);
    assert!(
        (exact * 4 / 5..exact * 49 / 50).contains(&late),
        "{late} of {exact}"
    );
}

#[test]
fn late_answers_leave_the_accounts_correct() {
    // The engine's time-out is three seconds; some answers take longer.
    let slow = Assumptions {
        response_latency: LatencyRange {
            min_us: 1_000_000,
            max_us: 3_200_000,
        },
        ..fast()
    };
    let (report, kept) = run(setup(snapshots(swinging(1_200, 3_000)), slow));
    check_books(&report, &kept);
    assert!(report.orders.submitted > report.orders.acknowledged);
}

#[test]
fn the_exchange_refuses_requests_beyond_its_limit() {
    let limited = |per_s, burst| {
        let assumptions = Assumptions {
            rate_limit: Some(RateLimit { per_s, burst }),
            ..fast()
        };
        let (report, kept) = run(setup(snapshots(swinging(300, 3_000)), assumptions));
        check_books(&report, &kept);
        (report.rate_limited, report.requests.http_429)
    };
    let (refused, estimate) = limited(1, 1);
    assert!(
        refused > 0 && estimate > 0 && estimate <= refused,
        "{refused} {estimate}"
    );
    assert_eq!(limited(100, 100), (0, 0));
}

#[test]
fn a_run_has_the_configured_start_and_end() {
    let at = |second: i64| Timestamp(BEGIN + second * SECOND);
    let mut part = setup(snapshots(swinging(600, 3_000)), fast());
    (part.from, part.to) = (Some(at(100)), Some(at(300)));
    let (report, kept) = run(part);
    check_books(&report, &kept);
    assert_eq!(
        (report.from.as_str(), report.to.as_str()),
        ("2024-08-08T00:01:40Z", "2024-08-08T00:05:00Z")
    );
    let times = || kept.samples.iter().map(|sample| sample.time);
    assert_eq!(
        (times().min(), times().max()),
        (Some(at(100)), Some(at(300)))
    );
    // The end is a sample too, and is there once: a second one would be a return of zero.
    let all: Vec<_> = times().collect();
    assert_eq!(all.len(), 201);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    let mut beyond = setup(snapshots(swinging(60, 0)), fast());
    beyond.to = Some(at(9_999));
    assert_eq!(run(beyond).0.to, "2024-08-08T00:00:59Z", "with the data");
    let mut outside = setup(snapshots(swinging(600, 3_000)), fast());
    outside.from = Some(at(700));
    let Err(error) = Backtest::new(outside).unwrap().run(&mut ()) else {
        panic!("there are no rows");
    };
    assert!(matches!(error, BacktestError::Empty { .. }), "{error}");
}

#[test]
fn data_of_two_markets_without_a_common_time_are_named() {
    let mut two = setup(snapshots(swinging(60, 0)), fast());
    let mut second = market();
    (second.id, second.name) = (cambist_core::MarketId(1), "BBB-QQQ".to_owned());
    let limits = two.engine.markets[0].clone();
    two.engine.markets.push(limits);
    two.markets.push(second);
    let later = (100..160).map(|second| book(second * 1_000, 250_000));
    two.data.push(snapshots(later.collect()));
    let Err(error) = Backtest::new(two).unwrap().run(&mut ()) else {
        panic!("it runs");
    };
    assert_eq!(
        error.to_string(),
        "the data of AAA-QQQ end at 2024-08-08T00:00:59Z, before those of BBB-QQQ begin at \
         2024-08-08T00:01:40Z: a run needs the data of all its markets at once"
    );
}

/// Data of two markets of which one begins later and the other ends earlier: what is left out of each is stated.
#[test]
fn what_is_outside_of_the_common_time_is_stated() {
    let mut two = setup(snapshots(swinging(300, 0)), fast());
    let mut second = market();
    (second.id, second.name) = (cambist_core::MarketId(1), "BBB-QQQ".to_owned());
    let limits = two.engine.markets[0].clone();
    two.engine.markets.push(limits);
    two.markets.push(second);
    let later = (75..400).map(|second| book(second * 1_000, 250_000));
    two.data.push(snapshots(later.collect()));
    let (report, _) = run(two);
    assert_eq!(
        report.data[0].unused,
        ["the first 75.0 s, until 2024-08-08T00:01:15Z, when the data of all markets have begun"]
    );
    assert_eq!(
        report.data[1].unused,
        ["everything after 2024-08-08T00:04:59Z, when the data of AAA-QQQ end"]
    );
    let (report, _) = run(setup(snapshots(swinging(60, 0)), fast()));
    assert!(report.data[0].unused.is_empty());
}

#[test]
fn unsupported_setups_are_refused_at_once() {
    let refused = |setup| match Backtest::new(setup) {
        Ok(_) => panic!("it must be refused"),
        Err(error) => error.to_string(),
    };
    let data = || snapshots(swinging(10, 0));
    let assuming = |assumptions| refused(setup(data(), assumptions));
    let fifo = Assumptions {
        queue: QueueModel::Fifo,
        ..fast()
    };
    assert!(assuming(fifo).contains("names every order"));
    let backward = Assumptions {
        request_latency: LatencyRange {
            min_us: 2,
            max_us: 1,
        },
        ..fast()
    };
    assert!(assuming(backward).contains("request latency"));
    let closed = Assumptions {
        rate_limit: Some(RateLimit { per_s: 0, burst: 1 }),
        ..fast()
    };
    assert!(assuming(closed).contains("rate limit"));
    assert!(refused(setup(snapshots(Vec::new()), fast())).contains("AAA-QQQ"));
    let mut missing = setup(data(), fast());
    missing.data.clear();
    assert!(refused(missing).contains("its own data"));
    // The data have ticks of 0.01; a market with whole units cannot represent them.
    let mut coarse = setup(data(), fast());
    let spec = market();
    coarse.markets[0] =
        cambist_core::MarketSpec::new(spec.id, &spec.name, spec.base, spec.quote, 0, true).unwrap();
    assert!(refused(coarse).contains("the data's tick 0.01 is not a multiple of the market's 1"));
}

#[test]
fn orders_never_cost_more_than_the_balance() {
    let mut poor = setup(snapshots(swinging(600, 3_000)), fast());
    poor.opening = [(BASE, ONE / 2), (QUOTE, 1_000 * UNIT)].into();
    let (report, kept) = run(poor);
    assert_eq!(report.invariants, [""; 0]);
    let held = kept
        .samples
        .iter()
        .all(|s| s.base < 2 * ONE && s.quote < 4_000 * UNIT);
    assert!(held && report.mismatches == 0);
}

#[test]
fn the_page_is_complete_and_escapes_text() {
    let outcome = Backtest::new(setup(snapshots(swinging(1_800, 1_000)), fast()))
        .unwrap()
        .run(&mut ())
        .unwrap();
    let report = &outcome.report;
    let page = outcome.html("Backtest", "name = \"<b>&\"", "cambist <test>", None);
    assert!(
        page.contains("name = &quot;&lt;b&gt;&amp;&quot;") && page.contains("cambist &lt;test&gt;")
    );
    assert!(
        !page.contains("<script") && !page.contains("http"),
        "the page must not load external resources"
    );
    assert_eq!(page.matches("<svg").count(), 4);
    assert_eq!(page.matches(">UTC</text>").count(), 4);
    assert!(page.contains("value of the initial balances") && page.contains("Excess over holding"));
    assert!(!page.contains("class=\"shade\"") && report.data[0].outages.count == 0);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert_eq!(page.matches("<circle").count() as u64, report.fills);
    assert!(!page.contains("NaN") && !page.contains("inf\""));
    let total = &report.pnl.as_ref().unwrap().total;
    assert!(page.contains(total.as_str()));
    let (orders, ends, ratios) = (&report.orders, &report.ends, report.ratios);
    let filled = ratios.filled.unwrap() * f64::from(u32::try_from(orders.submitted).unwrap());
    let counted = f64::from(u32::try_from(ends.filled + ends.partly_filled).unwrap());
    assert!(
        counted > 0.0 && (filled - counted).abs() < 1e-6,
        "{ratios:?}"
    );
    assert!(ratios.cancelled.unwrap() > 0.0 && ratios.budget_used.unwrap() < 1.0);
    let shown = format!(
        "<td>orders with fills</td><td>{:.1} %</td>",
        ratios.filled.unwrap() * 100.0
    );
    assert!(page.contains(&shown), "{shown}");
    for sentence in report.advice.iter().chain(&report.assumed) {
        assert!(page.contains(&sentence.replace('&', "&amp;")), "{sentence}");
    }
    // The mid returns after it has traded through our quotes, or continues: stated with its error.
    let ten = report
        .markouts
        .iter()
        .find(|m| m.horizon_s == 10 && m.side == "all")
        .unwrap();
    assert!(ten.low_bps < ten.mean_bps && ten.mean_bps < ten.high_bps);
    assert!(
        report
            .advice
            .iter()
            .any(|advises| advises.contains("10 s markout")),
        "{:?}",
        report.advice
    );
}

/// The chart would go on with the last values, as if the market had not moved.
#[test]
fn a_time_without_data_is_counted_and_shaded() {
    let mut rows = swinging(600, 100);
    rows.drain(301..340);
    let outcome = Backtest::new(setup(snapshots(rows), fast())).unwrap();
    let outcome = outcome.run(&mut ()).unwrap();
    let outages = &outcome.report.data[0].outages;
    assert_eq!(outages.count, 1);
    assert!((outages.total_s - 40.0).abs() < 1e-9 && (outages.longest_s - 40.0).abs() < 1e-9);
    let page = outcome.html("Backtest", "", "cambist", None);
    assert_eq!(page.matches("<rect class=\"shade\"").count(), 4);
    assert_eq!(page.matches("no data</span>").count(), 4);
    let text = outages.text(outcome.report.duration_s).unwrap();
    assert!(page.contains(&text), "{text}");
}

#[test]
fn few_fills_give_no_conclusion() {
    let (report, _) = run(setup(snapshots(swinging(100, 100)), fast()));
    let advises = |words: &str| report.advice.iter().any(|advises| advises.contains(words));
    assert!(
        advises("too few for a conclusion") && advises("covers 0.0 hours"),
        "{:?}",
        report.advice
    );
    assert!(
        report
            .markouts
            .iter()
            .all(|markout| markout.mean_bps.is_none())
    );
}

#[test]
fn bands_keep_their_orders_while_the_start_is_below_full_size() {
    let bands = "
        buy_bands = [{ min_margin_bps = 10, avg_margin_bps = 20, max_margin_bps = 40, min_amount = 0.4, avg_amount = 0.6, max_amount = 1.0 }]
        sell_bands = [{ min_margin_bps = 10, avg_margin_bps = 20, max_margin_bps = 40, min_amount = 0.4, avg_amount = 0.6, max_amount = 1.0 }]
    ";
    let mut ramped = setup(snapshots(swinging(600, 0)), fast());
    (ramped.engine.ramp.start_bps, ramped.engine.ramp.step_bps) = (2_500, 0);
    let info = cambist_strategies::find("bands").unwrap();
    ramped.strategies[0].2 = info.build_from(&bands.parse().unwrap(), &market()).unwrap();
    let (report, _) = run(ramped);
    // One order per side, replaced before it expires after a minute.
    let submitted = report.orders.submitted;
    assert!((20..=30).contains(&submitted), "{submitted}");
    assert!(report.quoted_both_sides_ratio > 0.99);
}

/// Without a fill the profit and loss is that of the initial balances, and the report states it.
#[test]
fn an_account_that_only_holds_has_no_excess() {
    let rising = (0..900).map(|n| book(n * 1_000, 250_000 + n.unsigned_abs()));
    let (report, kept) = run(setup(snapshots(rising.collect()), fast()));
    assert_eq!(report.fills, 0);
    check_books(&report, &kept);
    // Ten tokens rise by 8.99 each.
    assert_eq!(report.holding.as_deref(), Some("89.9"));
    assert_eq!(report.excess_over_holding.as_deref(), Some("0"));
    assert!(
        report.advice[0].starts_with("Nothing was traded"),
        "{:?}",
        report.advice
    );
    // There is no quoting that price changes could hide.
    let advice = report.advice.join(" ");
    assert!(!advice.contains("Most of the result"), "{advice}");
}

/// Two markets of one quote token: each has its own profit and loss, and they add up exactly, as do the fees.
#[test]
fn profit_of_two_markets_adds_up() {
    let assumptions = Assumptions {
        maker_fee: FeeBips::from_bips(3),
        ..fast()
    };
    let mut two = setup(snapshots(swinging(1_800, 3_000)), assumptions);
    let mut second = market();
    (second.id, second.name) = (cambist_core::MarketId(1), "BBB-QQQ".to_owned());
    let base = cambist_core::TokenId(2);
    second.base = common::token(base, "BBB", 18);
    two.tokens.push(second.base.clone());
    two.opening.insert(base, 7 * ONE);
    let limits = two.engine.markets[0].clone();
    two.engine.markets.push(limits);
    let strategy = cambist_strategies::find("ladder").unwrap();
    let strategy = strategy
        .build_from(&common::LADDER.parse().unwrap(), &second)
        .unwrap();
    two.strategies
        .push((cambist_core::StrategyId(1), second.id, strategy));
    two.markets.push(second);
    let rising = swinging(1_800, 2_000).into_iter().zip(0..);
    let rising = rising.map(|(mut row, n): (Snapshot, u64)| {
        for level in row.bids.iter_mut().chain(&mut row.asks) {
            level.price.0 += n;
        }
        row
    });
    two.data.push(snapshots(rising.collect()));
    let (report, kept) = run(two);
    check_holding(&report, &kept);
    check_parts(&report, &kept);
    assert_eq!(report.markets.len(), 2);
    assert!(
        report.markets.iter().all(|market| market.fills > 20),
        "{:?}",
        report.markets
    );
    let tokens: Vec<_> = report.fees.iter().map(|fee| fee.token.as_str()).collect();
    assert_eq!(tokens, ["AAA", "QQQ", "BBB"]);
    assert_ne!(report.markets[0].total, report.markets[1].total);
}
