//! Strategies read the books of other markets: without own orders, with their age, and with a reason where one is
//! missing. They decide again when such a book changes or lapses.

use std::sync::{Arc, Mutex};

use cambist_core::event::{Command, Event, StrategyParameters};
use cambist_core::notification::Control;
use cambist_core::order::OrderStatus;
use cambist_core::request::Query;
use cambist_core::strategy::{Replacement, Strategy, Targets, View};
use cambist_core::{Engine, MarketId, MarketSpec, Side, StrategyId};

use crate::bench::{Always, BASE, OTHER, TestBench, config, execute, spec, token};

/// The other market as a view showed it: best bid, best ask and mid, or why there is none; and its age.
type Seen = (Result<(u64, u64, u64), Control>, Option<u64>);

/// Wants nothing, and writes down what it is shown of the other market.
struct Reader {
    reads: Vec<String>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Strategy for Reader {
    fn decide(&mut self, view: &View<'_>, _: &mut Targets) {
        assert_eq!(view.markets.len(), self.reads.len());
        let other = view.markets.first();
        let seen = other.map(|other| {
            assert_eq!(other.market.name, self.reads[0]);
            let book = other.book.map_err(|why| why.control);
            let shown = book.and_then(|book| {
                let mid = book.mid.map_err(|why| why.control)?;
                Ok((book.bids[0].price.0, book.asks[0].price.0, mid))
            });
            (shown, other.age_ms)
        });
        let nothing = (Err(Control::NotWanted), None);
        self.seen.lock().unwrap().push(seen.unwrap_or(nothing));
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

fn other() -> MarketSpec {
    let tokens = (token(BASE, 6), token(OTHER, 6));
    MarketSpec::new(MarketId(1), "T0-T2", tokens.0, tokens.1, 2, true).unwrap()
}

/// Two markets: a reader at the first, and a bid of our own at the second.
fn bench(reads: &[&str]) -> (TestBench, Arc<Mutex<Vec<Seen>>>) {
    let mut config = config();
    config.markets.push(config.markets[0].clone());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let reader = Reader {
        reads: reads.iter().map(|name| (*name).to_owned()).collect(),
        seen: Arc::clone(&seen),
    };
    let bid = Always(vec![(Side::Buy, 9_995, 10)]);
    let strategies: Vec<Box<dyn Strategy>> = vec![Box::new(reader), Box::new(bid)];
    let bench = TestBench::at(vec![spec(), other()], strategies, config, Vec::new());
    (bench, seen)
}

fn last(seen: &Arc<Mutex<Vec<Seen>>>) -> Seen {
    *seen.lock().unwrap().last().unwrap()
}

#[test]
fn the_book_of_another_market_is_shown_without_own_orders_and_up_to_its_age() {
    let (mut bench, seen) = bench(&["T0-T2"]);
    bench.until_a_submit_waits();
    let id = bench.accept();
    bench.show(id, OrderStatus::Processing, 0);
    bench.run_ms(2_000);
    let (shown, age_ms) = last(&seen);
    assert_eq!(
        shown,
        Ok((9_990, 10_010, 20_000)),
        "without the own bid at 9995"
    );
    assert!(age_ms.is_some_and(|age_ms| age_ms < 600), "{age_ms:?}");
    bench.unanswered = |query| matches!(query, Query::Depth(MarketId(1)));
    bench.run_ms(2_000);
    assert_eq!(last(&seen).0, Ok((9_990, 10_010, 20_000)));
    bench.run_ms(2_000);
    let (shown, age_ms) = last(&seen);
    assert_eq!(shown, Err(Control::StaleData));
    assert!(age_ms.is_some_and(|age_ms| age_ms > 3_000), "{age_ms:?}");
    let Some(status) = bench.engine.watch(bench.now) else {
        panic!("it runs");
    };
    let [source] = status.status.references.as_slice() else {
        panic!("{:?}", status.status.references);
    };
    assert_eq!(
        (source.market, source.other),
        (MarketId(0), Some(MarketId(1)))
    );
    assert_eq!((source.name.as_str(), source.stale), ("T0-T2", true));
    assert_eq!(source.last.map(|(mid, _)| mid), Some(20_000));
    bench.unanswered = |_| false;
    bench.run_ms(12_000);
    assert!(last(&seen).0.is_ok(), "it is back");
}

#[test]
fn a_book_that_never_came_is_missing_and_one_that_is_too_wide_has_no_mid() {
    let (mut bench, seen) = bench(&["T0-T2"]);
    bench.unanswered = |query| matches!(query, Query::Depth(MarketId(1)));
    bench.run_ms(3_000);
    assert_eq!(last(&seen), (Err(Control::StaleData), None));
    let (mut bench, seen) = self::bench(&["T0-T2"]);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.config.markets[1].spread_max_bps = 10;
    }
    bench.run_ms(3_000);
    assert_eq!(last(&seen).0, Err(Control::Spread));
}

/// The own book does not come for a while: only the other one can be a reason to decide.
#[test]
fn a_reader_decides_again_when_the_other_book_changes_and_others_do_not() {
    let decisions = |reads: &[&str]| {
        let (mut bench, seen) = bench(reads);
        bench.run_ms(3_000);
        bench.unanswered = |query| matches!(query, Query::Depth(MarketId(0)));
        bench.run_ms(600);
        let before = seen.lock().unwrap().len();
        bench.depth = (9_991, 10_011);
        bench.run_ms(1_200);
        let after = seen.lock().unwrap().len();
        (after - before, last(&seen).0)
    };
    let (asked, shown) = decisions(&["T0-T2"]);
    assert!(asked >= 2, "{asked}");
    assert_eq!(shown, Ok((9_991, 10_011, 20_002)));
    let (asked, _) = decisions(&[]);
    assert_eq!(asked, 0);
}

/// A replay that begins with a snapshot decides as the run did.
#[test]
fn a_snapshot_knows_what_was_shown() {
    let (mut bench, _) = bench(&["T0-T2"]);
    bench.run_ms(3_000);
    let saved = postcard::to_stdvec(&bench.engine.save()).unwrap();
    let (fresh, seen) = self::bench(&["T0-T2"]);
    drop(fresh);
    let reader = Reader {
        reads: vec!["T0-T2".to_owned()],
        seen: Arc::clone(&seen),
    };
    let strategies: Vec<Box<dyn Strategy>> = vec![Box::new(reader), Box::new(Always(Vec::new()))];
    let saved = postcard::from_bytes(&saved).unwrap();
    let mut restored = Engine::restore(strategies, saved).ok().unwrap();
    let asked = |seen: &Arc<Mutex<Vec<Seen>>>| seen.lock().unwrap().len();
    let before = asked(&seen);
    restored.on_event(bench.now, &Event::Wake, &mut Vec::new());
    assert_eq!(asked(&seen), before, "nothing changed since");
}

#[test]
fn unknown_markets_the_own_one_and_one_twice_are_refused_in_words() {
    let markets = [spec(), other()];
    let check = |reads: &[&str]| {
        let reader = Reader {
            reads: reads.iter().map(|name| (*name).to_owned()).collect(),
            seen: Arc::default(),
        };
        cambist_core::reads::check(&reader, &markets[0], &markets)
    };
    assert_eq!(check(&["T0-T2"]), Ok(()));
    assert_eq!(check(&[]), Ok(()));
    for (reads, part) in [
        (&["T0-T1"][..], "T0-T1, which is its own"),
        (
            &["T0-T9"],
            "T0-T9, which is no configured [[market]]; the other ones are T0-T2",
        ),
        (&["T0-T2", "T0-T2"], "T0-T2 twice"),
    ] {
        let refused = check(reads).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    let alone = [spec()];
    let reader = Reader {
        reads: vec!["T0-T2".to_owned()],
        seen: Arc::default(),
    };
    let refused = cambist_core::reads::check(&reader, &alone[0], &alone).unwrap_err();
    assert!(
        refused.contains("there is no other [[market]]"),
        "{refused}"
    );
}

#[test]
fn a_strategy_is_shown_the_market_that_its_new_parameters_name() {
    let (mut bench, seen) = bench(&[]);
    bench.run_ms(3_000);
    assert_eq!(last(&seen), (Err(Control::NotWanted), None), "none");
    let mut config = config();
    config.markets.push(config.markets[0].clone());
    let command = Command::Reconfigure {
        config: Box::new(config),
        parameters: vec![StrategyParameters {
            strategy: StrategyId(0),
            text: "T0-T2".to_owned(),
        }],
        reason: "because".to_owned(),
        allow_loosening: true,
    };
    execute(&mut bench, command).unwrap();
    assert_eq!(last(&seen).0, Ok((9_990, 10_010, 20_000)));
}
