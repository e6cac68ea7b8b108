//! Matching beside published crates: one stream of operations, the same trades from everybody, CPU time.
//!
//! What is measured here is the venue's own book with a slab of small orders: price levels in a tree, a queue a
//! level, a report of every fill. Accounts, funds, storage ids and histories are the venue's business, as they are not
//! the other crates'; what they cost is told by `crates/venue/examples/flat.rs`. The engines take turns, a fresh one
//! each round; a row is the median of the rounds.

mod ours;
mod peers;
mod workload;

use std::hint::black_box;

use cpu_time::ProcessTime;
use workload::{Op, Totals, WARM_UP};

const TIMED: usize = 1_000_000;
const SEED: u64 = 42;
const ROUNDS: usize = 7;

/// Something that matches. It counts what it was told of fills.
pub trait Engine {
    fn apply(&mut self, op: &Op, totals: &mut Totals);
}

/// What an engine is called, how one is made, and whether it reports its fills.
struct Subject {
    name: &'static str,
    make: fn() -> Box<dyn Engine>,
    reports: bool,
    rounds: Vec<f64>,
    totals: Totals,
}

/// Measures and prints the table.
pub fn run() {
    let ops = workload::ops(TIMED, SEED);
    let subject = |name, reports, make| Subject {
        name,
        make,
        reports,
        rounds: vec![],
        totals: Totals::default(),
    };
    let mut subjects = [
        subject("cambist, book", true, || Box::<ours::Engine>::default()),
        subject("rust-order-book 0.0.2", false, || {
            Box::new(peers::RustOrderBook::new())
        }),
        subject("lobster 0.7.0", true, || Box::new(peers::Lobster::new())),
        subject("orderbook-rs 0.15.3", true, || {
            Box::new(peers::OrderbookRs::new())
        }),
    ];
    for _ in 0..ROUNDS {
        for subject in &mut subjects {
            let (ns, totals) = round((subject.make)(), &ops);
            subject.rounds.push(ns);
            subject.totals = totals;
        }
    }
    let own = subjects[0].totals.clone();
    let mine = median(&mut subjects[0].rounds);
    println!(
        "{TIMED} operations after {WARM_UP}, seed {SEED}; CPU time, medians of {ROUNDS} rounds in turns: {own}.\n"
    );
    println!("| | an operation | × cambist | trades |\n|---|---|---|---|");
    for subject in &mut subjects {
        let ns = median(&mut subject.rounds);
        let same = if subject.reports {
            assert_eq!(subject.totals, own, "{} trades otherwise", subject.name);
            "equal, one by one"
        } else {
            assert_eq!(
                subject.totals.qty, own.qty,
                "{} trades otherwise",
                subject.name
            );
            "volume equal; reports no fills"
        };
        println!(
            "| {} | {ns:.1} ns | {:.2} | {same} |",
            subject.name,
            ns / mine
        );
    }
}

fn round(mut engine: Box<dyn Engine>, ops: &[Op]) -> (f64, Totals) {
    let mut totals = Totals::default();
    let (warm_up, timed) = ops.split_at(WARM_UP);
    for op in warm_up {
        engine.apply(op, &mut totals);
    }
    let start = ProcessTime::now();
    for op in timed {
        engine.apply(black_box(op), &mut totals);
    }
    let ns = start.elapsed().as_secs_f64() * 1e9 / timed.len() as f64;
    (ns, totals)
}

fn median(rounds: &mut [f64]) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}
