//! Strategies read markets of other venues: books with their age, holdings, and nothing that was not published. What this
//! engine publishes is what the ledger holds, and whether it may change.

use std::sync::{Arc, Mutex};

use cambist_core::elsewhere::{BookElsewhere, MarketElsewhere, OtherHoldings};
use cambist_core::event::{Command, Event, StrategyParameters};
use cambist_core::notification::Control;
use cambist_core::order::OrderStatus;
use cambist_core::request::Query;
use cambist_core::strategy::{BookLevel, Replacement, Strategy, Targets, View};
use cambist_core::{Engine, MarketId, MarketSpec, Price, Qty, Side, StrategyId};

use crate::bench::{Always, TestBench, config, execute, spec};
use crate::pool_bench::{Beside, LP, limits};

/// Best bid and mid of the book elsewhere or why it is missing, its age, and the base held there.
type Seen = (Result<(u64, u64), Control>, Option<u64>, Option<u128>);

/// Reads a market of another venue, and writes down what it is shown of it.
struct Reader {
    reads: Vec<String>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

const THERE: &str = "there:T0-T1";

impl Strategy for Reader {
    fn decide(&mut self, view: &View<'_>, _: &mut Targets) {
        assert_eq!(view.markets.len(), self.reads.len());
        let Some(other) = view.markets.first() else {
            return;
        };
        assert_eq!(other.market.name, self.reads[0]);
        let book = other.book.map_err(|why| why.control);
        let shown = book.and_then(|book| {
            let mid = book.mid.map_err(|why| why.control)?;
            Ok((book.bids[0].price.0, mid))
        });
        let held = other.holdings.map(|held| held.base);
        self.seen.lock().unwrap().push((shown, other.age_ms, held));
    }

    fn reads(&self) -> &[String] {
        &self.reads
    }

    fn with_parameters(&self, _: &MarketSpec, text: &str) -> Result<Replacement, String> {
        Ok(Replacement {
            strategy: Box::new(Self {
                reads: vec![text.to_owned()],
                seen: Arc::clone(&self.seen),
            }),
            changed: Vec::new(),
            looser: Vec::new(),
        })
    }
}

fn bench() -> (TestBench, Arc<Mutex<Vec<Seen>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let reader = Reader {
        reads: vec![THERE.to_owned()],
        seen: Arc::clone(&seen),
    };
    let strategies: Vec<Box<dyn Strategy>> = vec![Box::new(reader)];
    (
        TestBench::at(vec![spec()], strategies, config(), Vec::new()),
        seen,
    )
}

fn last(seen: &Arc<Mutex<Vec<Seen>>>) -> Seen {
    *seen.lock().unwrap().last().unwrap()
}

/// The market elsewhere with a bid at this price, drawn so long ago.
fn there(bid: u64, age_ms: u64) -> MarketElsewhere {
    let level = |price| BookLevel {
        price: Price(price),
        qty: Qty(5),
    };
    MarketElsewhere {
        reader: MarketId(0),
        market: MarketSpec {
            name: THERE.to_owned(),
            ..spec()
        },
        book: Ok(BookElsewhere {
            bids: vec![level(bid)],
            asks: vec![level(bid + 10)],
            mid: Ok(2 * bid + 10),
            age_ms,
            age_max_ms: 5_000,
        }),
        holdings: Some(OtherHoldings {
            base: 77,
            quote: 0,
            pooled_base: Some(0),
            undecided: false,
        }),
        taker_fee_bips: 26,
    }
}

#[test]
fn a_market_elsewhere_is_missing_until_it_is_published_and_when_it_is_too_old() {
    let (mut bench, seen) = bench();
    bench.run_ms(2_000);
    assert_eq!(last(&seen), (Err(Control::StaleData), None, None));
    let asked = seen.lock().unwrap().len();
    bench.handle_event(&Event::Elsewhere(vec![there(9_000, 1_000)]));
    assert!(
        seen.lock().unwrap().len() > asked,
        "it decides again at once"
    );
    assert_eq!(last(&seen), (Ok((9_000, 18_010)), Some(1_000), Some(77)));
    // Up to the other venue's age, whatever this one allows.
    bench.run_ms(4_000);
    let (shown, age_ms, _) = last(&seen);
    assert!(
        shown.is_ok() && age_ms.is_some_and(|age| age <= 5_000),
        "{age_ms:?}"
    );
    bench.run_ms(2_000);
    let (shown, age_ms, held) = last(&seen);
    assert_eq!(shown, Err(Control::StaleData));
    assert!(age_ms.is_some_and(|age| age > 5_000), "{age_ms:?}");
    assert_eq!(held, Some(77), "holdings do not age");
    let status = bench.engine.watch(bench.now).unwrap().status;
    let [source] = status.references.as_slice() else {
        panic!("{:?}", status.references);
    };
    assert_eq!(
        (source.name.as_str(), source.other, source.stale),
        (THERE, None, true)
    );
    bench.handle_event(&Event::Elsewhere(vec![there(9_100, 0)]));
    assert_eq!(last(&seen).0, Ok((9_100, 18_210)));
}

#[test]
fn a_missing_book_keeps_its_reason_and_an_unknown_market_changes_nothing() {
    let (mut bench, seen) = bench();
    bench.run_ms(2_000);
    let mut closed = there(9_000, 0);
    closed.book = Err(Control::Listing.into());
    bench.handle_event(&Event::Elsewhere(vec![closed]));
    assert_eq!(last(&seen), (Err(Control::Listing), None, Some(77)));
    let asked = seen.lock().unwrap().len();
    let mut other = there(1, 0);
    other.market.name = "there:T0-T9".to_owned();
    bench.handle_event(&Event::Elsewhere(vec![other]));
    assert_eq!(seen.lock().unwrap().len(), asked);
}

#[test]
fn a_snapshot_continues_with_what_was_published() {
    let (mut bench, seen) = bench();
    bench.run_ms(2_000);
    bench.handle_event(&Event::Elsewhere(vec![there(9_000, 0)]));
    let before = last(&seen);
    let bytes = postcard::to_allocvec(&bench.engine.save()).unwrap();
    let reader = Reader {
        reads: vec![THERE.to_owned()],
        seen: Arc::clone(&seen),
    };
    let snapshot = postcard::from_bytes(&bytes).unwrap();
    let mut copy = Engine::restore(vec![Box::new(reader)], snapshot).unwrap();
    seen.lock().unwrap().clear();
    let book = there(9_000, 0);
    copy.on_event(bench.now, &Event::Elsewhere(vec![book]), &mut Vec::new());
    assert_eq!(last(&seen), before);
}

#[test]
fn a_market_that_was_not_read_at_the_start_needs_a_restart() {
    let (mut bench, _) = bench();
    bench.run_ms(2_000);
    let mut reconfigure = |market: &str| {
        let parameters = StrategyParameters {
            strategy: StrategyId(0),
            text: market.to_owned(),
        };
        let command = Command::Reconfigure {
            config: Box::new(config()),
            parameters: vec![parameters],
            reason: "because".to_owned(),
            allow_loosening: true,
        };
        execute(&mut bench, command)
    };
    let refused = reconfigure("there:T0-T9").unwrap_err();
    assert!(refused.contains("needs a restart"), "{refused}");
    assert!(reconfigure(THERE).is_ok());
}

/// What is held is published with whether it may change.
#[test]
fn what_is_published_is_what_the_ledger_holds() {
    let bid = Always(vec![(Side::Buy, 9_995, 10)]);
    let strategies: Vec<Box<dyn Strategy>> = vec![Box::new(bid)];
    let mut bench = TestBench::at(vec![spec()], strategies, config(), Vec::new());
    let published = |bench: &TestBench| bench.engine.publish(MarketId(0)).unwrap();
    let start = bench.start.take().unwrap();
    bench.queries_lost = true;
    bench.handle_event(&start);
    assert_eq!(published(&bench).holdings, None, "nothing was compared yet");
    bench.queries_lost = false;
    for (request, query) in std::mem::take(&mut bench.lost_queries) {
        bench.answer_query(request, &query);
    }
    bench.until_a_submit_waits();
    let held = published(&bench).holdings.unwrap();
    assert!(held.undecided, "an order is on its way");
    let total = bench.engine.watch(bench.now).unwrap();
    let total = total.status.ledger[&spec().base.id];
    assert_eq!(held.base, total);
    let id = bench.accept();
    bench.show(id, OrderStatus::Processing, 0);
    bench.run_ms(1_000);
    let now = published(&bench);
    assert!(now.holdings.unwrap().undecided, "and rests");
    let book = now.book.unwrap();
    assert_eq!(book.bids[0].price, Price(9_990), "without the own bid");
    assert_eq!(book.age_max_ms, config().poll.depth_age_max_ms);
    assert_eq!(bench.engine.publish(MarketId(9)), None);
}

/// A hedge reads it: nothing is in a pool that is not there, and what is due to shares is not known from an old reading.
#[test]
fn base_in_a_pool_is_published_while_the_pool_is_read() {
    let pooled = |engine: &Engine| {
        let published = engine.publish(MarketId(0)).unwrap();
        published.holdings.expect("they are known").pooled_base
    };
    let mut alone = TestBench::new(&[]);
    alone.run_ms(3_000);
    assert_eq!(pooled(&alone.engine), Some(0));
    let mut beside = Beside::new(1_000, limits(), Vec::new());
    beside.held.insert(LP, 1_000);
    beside.run_ms(3_000);
    assert_eq!(pooled(&beside.engine), Some(1_000_000));
    beside.unanswered = |query| matches!(query, Query::PoolBalance(_));
    beside.run_ms(5_000);
    assert_eq!(pooled(&beside.engine), None);
}
