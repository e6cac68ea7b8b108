//! Backtests beside hftbacktest: the same strategy on the same rows, the same fills, CPU time.
//!
//! Scenario S1: every 100 ms join both touches with post-only orders, replace them when the touch has moved, hold less
//! than a limit; a millisecond of latency each way. Without arguments the rows come from a seed
//! (`backtest [ROWS [SEED]]`); `backtest FILE TICK LOT` takes a recording in hftbacktest's format and compares the
//! fills of every queue model.

mod ours;
mod peer;
mod workload;

use std::path::Path;

use cambist_market_data::npy::{TickOptions, TickReader};
use cambist_market_data::segment::{EventSegments, ReadOptions};
use cambist_market_data::{Event, EventSource, Grid, Update};
use cambist_quant::queue;
use cpu_time::ProcessTime;
use ours::{Delayed, InMemory, Received};
use peer::{Depth, Rows};

const ROUNDS: usize = 9;

/// How queues are known.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    Estimated(queue::Model),
    #[allow(dead_code, reason = "rows of orders are compared by the fill model's own tests")]
    Fifo,
}

/// What the strategy does. Times in nanoseconds, quantities in lots.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub step: i64,
    pub latency: i64,
    pub qty: i64,
    pub limit: i64,
    pub model: Model,
}

impl Scenario {
    const S1: Self = Self {
        step: 100_000_000,
        latency: 1_000_000,
        qty: 5,
        limit: 100,
        model: Model::Estimated(queue::Model::RiskAverse),
    };
}

/// One fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    pub order: u64,
    pub time: i64,
    pub buys: bool,
    pub price: u64,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    pub submits: u64,
    pub cancels: u64,
    pub fills: Vec<Fill>,
    pub position: i64,
    pub crossings: u64,
}

/// Measures S1, or compares a recording.
pub fn run(arguments: &[String]) {
    match arguments {
        [file, tick, lot] => compare_file(Path::new(file), Grid::parse(tick, lot).expect("tick and lot")),
        _ => {
            let number = |at: usize, default| arguments.get(at).map_or(default, |word| word.parse().expect("a number"));
            measure(usize::try_from(number(0, 1_000_000)).expect("rows"), number(1, 7));
        }
    }
}

struct Subject<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> f64 + 'a>,
    rounds: Vec<f64>,
}

fn measure(count: usize, seed: u64) {
    let grid = workload::grid();
    let events = workload::events(count, seed);
    let last = events.last().expect("rows").exchange_time;
    let rows: Vec<_> = events.iter().map(|event| peer::row(grid, event)).collect();
    let folder = workload::Folder::new();
    let (recording, npy) = (folder.file("recording"), folder.file("rows.npy"));
    workload::write_recording(&recording, grid, &events);
    workload::write_npy(&npy, grid, &events);
    let scenario = Scenario::S1;
    let bounds = Depth::Vector(90_000, 110_000);

    // The same fills before anything is measured, for every way of reading.
    let delayed = || Delayed::new(workload::FEED_NANOS, last);
    let open_recording = || EventSegments::open(&recording, ReadOptions::default()).expect("a recording");
    let open_npy = || TickReader::open(&npy, &TickOptions::new(grid)).expect("rows");
    let own = ours::run(&mut InMemory::new(&events, grid), delayed(), &scenario);
    assert_eq!(ours::run(&mut open_recording(), delayed(), &scenario), own);
    assert_eq!(ours::run(&mut open_npy(), delayed(), &scenario), own);
    let received = Received::new(InMemory::new(&events, grid));
    assert_eq!(ours::run(&mut InMemory::new(&events, grid), received, &scenario), own);
    let in_memory = Rows::InMemory(&rows);
    let theirs = peer::run(&in_memory, grid, bounds, &scenario, true, |run| run());
    println!("{count} rows, seed {seed}, {ROUNDS} rounds");
    println!("cambist:     {}", own.summary());
    println!("hftbacktest: {}", theirs.summary());
    println!("{}", difference(&own, &theirs));

    let each = |time: std::time::Duration| time.as_secs_f64() * 1e9 / count as f64;
    let ours = |run: &mut dyn FnMut() -> Outcomes| {
        let start = ProcessTime::now();
        let outcomes = run();
        let time = each(start.elapsed());
        assert_eq!(outcomes.fills.len(), own.fills.len());
        time
    };
    let theirs = |rows: &Rows<'_>, depth, with_file: bool| {
        let mut time = 0.0;
        let start = ProcessTime::now();
        peer::run(rows, grid, depth, &scenario, false, |run| {
            let start = ProcessTime::now();
            let outcomes = run();
            time = each(start.elapsed());
            outcomes
        });
        if with_file { each(start.elapsed()) } else { time }
    };
    let mut subjects = [
        Subject {
            name: "cambist, rows in memory",
            run: Box::new(|| ours(&mut || ours::run(&mut InMemory::new(&events, grid), delayed(), &scenario))),
            rounds: vec![],
        },
        Subject {
            name: "cambist, from its recording",
            run: Box::new(|| ours(&mut || ours::run(&mut open_recording(), delayed(), &scenario))),
            rounds: vec![],
        },
        Subject {
            name: "cambist, from .npy",
            run: Box::new(|| ours(&mut || ours::run(&mut open_npy(), delayed(), &scenario))),
            rounds: vec![],
        },
        Subject {
            name: "hftbacktest, vector, rows in memory",
            run: Box::new(|| theirs(&in_memory, bounds, false)),
            rounds: vec![],
        },
        Subject {
            name: "hftbacktest, map, rows in memory",
            run: Box::new(|| theirs(&in_memory, Depth::Map, false)),
            rounds: vec![],
        },
        Subject {
            name: "hftbacktest, vector, from .npy",
            run: Box::new(|| theirs(&Rows::File(&npy), bounds, true)),
            rounds: vec![],
        },
    ];
    for _ in 0..ROUNDS {
        for subject in &mut subjects {
            let time = (subject.run)();
            subject.rounds.push(time);
        }
    }
    let median = |subject: &mut Subject<'_>| {
        subject.rounds.sort_by(f64::total_cmp);
        subject.rounds[ROUNDS / 2]
    };
    let fastest = median(&mut subjects[1]);
    println!("{:<36} {:>9}", "median, CPU time", "a row");
    for subject in &mut subjects {
        let ns = median(subject);
        println!("{:<36} {ns:>6.1} ns {:>7.2}×", subject.name, ns / fastest);
    }
}

/// Fills on a recording by every queue model, ours and theirs.
fn compare_file(path: &Path, grid: Grid) {
    let open = || TickReader::open(path, &TickOptions::new(grid)).expect("rows");
    let events: Vec<Event> = open().map(|event| event.expect("a sound recording")).collect();
    let rows: Vec<_> = events.iter().map(|event| peer::row(grid, event)).collect();
    println!("{} rows, {:?}", events.len(), open().report());
    let (low, high) = events.iter().fold((u64::MAX, 0), |(low, high), event| match event.update {
        Update::Level { price, .. } | Update::SnapshotLevel { price, .. } | Update::Trade { price, .. } => {
            (low.min(price.0), high.max(price.0))
        }
        _ => (low, high),
    });
    for model in [
        queue::Model::RiskAverse,
        queue::Model::Power(2.0),
        queue::Model::Power2(3.0),
        queue::Model::Power3(3.0),
        queue::Model::Log,
        queue::Model::Log2,
    ] {
        let scenario = Scenario {
            qty: 100,
            limit: 10_000,
            model: Model::Estimated(model),
            ..Scenario::S1
        };
        let own = ours::run(&mut open(), Received::new(open()), &scenario);
        let rows = Rows::InMemory(&rows);
        for (name, depth) in [("vector", Depth::Vector(low, high)), ("map", Depth::Map)] {
            let theirs = peer::run(&rows, grid, depth, &scenario, true, |run| run());
            println!("{model:?}, {name}");
            println!("  cambist:     {}", own.summary());
            println!("  hftbacktest: {}", theirs.summary());
            println!("  {}", difference(&own, &theirs));
        }
    }
}

impl Outcomes {
    fn summary(&self) -> String {
        format!(
            "{} orders, {} cancels, {} fills, position {}",
            self.submits,
            self.cancels,
            self.fills.len(),
            self.position
        )
    }
}

/// Where two runs part.
fn difference(own: &Outcomes, theirs: &Outcomes) -> String {
    let sorted = |outcomes: &Outcomes| {
        let mut fills = outcomes.fills.clone();
        fills.sort_by_key(|fill| (fill.time, fill.order));
        fills
    };
    let (own, theirs) = (sorted(own), sorted(theirs));
    let same = own.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    if same == own.len() && same == theirs.len() {
        return format!("the same {same} fills, one by one");
    }
    format!(
        "the first {same} fills are the same; then {:?} here and {:?} there",
        own.get(same),
        theirs.get(same)
    )
}
