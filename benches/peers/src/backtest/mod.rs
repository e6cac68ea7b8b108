//! Backtests beside hftbacktest: the same strategy on the same rows, the same fills, CPU time.
//!
//! Scenario S1: every 100 ms join both touches with post-only orders, replace them when the touch has moved, hold less
//! than a limit; a millisecond of latency each way. Without arguments the rows come from a seed
//! (`backtest [ROWS [SEED]]`); `backtest FILE TICK LOT` takes a recording in hftbacktest's format and compares the
//! fills of every queue model.

mod engine;
mod ours;
mod peer;
mod workload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cambist_market_data::npy::{TickOptions, TickReader};
use cambist_market_data::segment::{EventSegments, ReadOptions};
use cambist_market_data::{Event, EventSource, Grid, Recording, Update};
use cambist_quant::queue;
use cpu_time::ProcessTime;
use ours::{Delayed, InMemory, Received};
use peer::{Depth, Rows};

use crate::measure::{self, Spent, Subject};

const ROUNDS: usize = 9;
const COLD_ROUNDS: usize = 5;
/// The price window of hftbacktest's vector, in ticks.
const BOUNDS: Depth = Depth::Vector(90_000, 110_000);

/// How queues are known.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    Estimated(queue::Model),
    #[allow(
        dead_code,
        reason = "rows of orders are compared by the fill model's own tests"
    )]
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
        [file, tick, lot] => compare_file(
            Path::new(file),
            Grid::parse(tick, lot).expect("tick and lot"),
        ),
        _ => {
            let number = |at: usize, default| {
                arguments
                    .get(at)
                    .map_or(default, |word| word.parse().expect("a number"))
            };
            measure(
                usize::try_from(number(0, 1_000_000)).expect("rows"),
                number(1, 7),
            );
        }
    }
}

/// Rows of the workload, shared by everything that reads them.
struct Workload {
    grid: Grid,
    events: Rc<[Event]>,
    recording: PathBuf,
    npy: PathBuf,
    _folder: workload::Folder,
}

impl Workload {
    fn new(count: usize, seed: u64) -> Self {
        let grid = workload::grid();
        let events: Rc<[Event]> = workload::events(count, seed).into();
        let folder = workload::Folder::new();
        let (recording, npy) = (folder.file("recording"), folder.file("rows.npy"));
        workload::write_recording(&recording, grid, &events);
        peer::write_npy(&npy, grid, &events);
        Self {
            grid,
            events,
            recording,
            npy,
            _folder: folder,
        }
    }

    fn shared(&self) -> Recording {
        Recording::Events(Box::new(InMemory::new(Rc::clone(&self.events), self.grid)))
    }
}

fn open_recording(path: &Path) -> EventSegments {
    EventSegments::open(path, ReadOptions::default()).expect("a recording")
}

fn open_npy(path: &Path) -> TickReader {
    TickReader::open(path, &TickOptions::new(workload::grid())).expect("rows")
}

fn measure(count: usize, seed: u64) {
    let work = Workload::new(count, seed);
    let (grid, events) = (work.grid, Rc::clone(&work.events));
    let last = events.last().expect("rows").exchange_time;
    let rows: Vec<_> = events.iter().map(|event| peer::row(grid, event)).collect();
    let scenario = Scenario::S1;

    // The same fills before anything is measured, for every way of reading.
    let delayed = || Delayed::new(workload::FEED_NANOS, last);
    let in_memory = || InMemory::new(Rc::clone(&events), grid);
    let model = ours::run(&mut in_memory(), delayed(), &scenario);
    assert_eq!(
        ours::run(&mut open_recording(&work.recording), delayed(), &scenario),
        model
    );
    assert_eq!(
        ours::run(&mut open_npy(&work.npy), delayed(), &scenario),
        model
    );
    assert_eq!(
        ours::run(&mut in_memory(), Received::new(in_memory()), &scenario),
        model
    );
    let own = engine::run(work.shared(), &scenario);
    assert_eq!(
        engine::run(
            Recording::Events(Box::new(open_recording(&work.recording))),
            &scenario
        ),
        own
    );
    let peer_rows = Rows::InMemory(&rows);
    let theirs = peer::run(&peer_rows, grid, BOUNDS, &scenario, true, |run| run());

    let each = |time: std::time::Duration| time.as_secs_f64() * 1e9 / count as f64;
    let ours = |run: &dyn Fn() -> Outcomes, fills: usize| {
        let start = ProcessTime::now();
        let outcomes = run();
        let time = each(start.elapsed());
        assert_eq!(outcomes.fills.len(), fills);
        time
    };
    let theirs_timed = |rows: &Rows<'_>, depth, with_file: bool| {
        let mut time = 0.0;
        let start = ProcessTime::now();
        peer::run(rows, grid, depth, &scenario, false, |run| {
            let start = ProcessTime::now();
            let outcomes = run();
            time = each(start.elapsed());
            outcomes
        });
        if with_file {
            each(start.elapsed())
        } else {
            time
        }
    };
    let by_engine = own.fills.len();
    let recorded = || Recording::Events(Box::new(open_recording(&work.recording)));
    let ticks = || Recording::Events(Box::new(open_npy(&work.npy)));
    let mut subjects = [
        Subject::new("hftbacktest, vector, rows in memory", || {
            theirs_timed(&peer_rows, BOUNDS, false)
        }),
        Subject::new("hftbacktest, hash map, rows in memory", || {
            theirs_timed(&peer_rows, Depth::Map, false)
        }),
        Subject::new("hftbacktest, vector, from `.npy`", || {
            theirs_timed(&Rows::File(&work.npy), BOUNDS, true)
        }),
        Subject::new("cambist, engine, rows in memory", || {
            ours(&|| engine::run(work.shared(), &scenario), by_engine)
        }),
        Subject::new("cambist, engine, from its recording", || {
            ours(&|| engine::run(recorded(), &scenario), by_engine)
        }),
        Subject::new("cambist, engine, from `.npy`", || {
            ours(&|| engine::run(ticks(), &scenario), by_engine)
        }),
        Subject::new(
            "cambist, fill model without engine, from its recording",
            || {
                let run = || ours::run(&mut open_recording(&work.recording), delayed(), &scenario);
                ours(&run, model.fills.len())
            },
        ),
    ];
    measure::rounds(&mut subjects, ROUNDS);
    println!(
        "{count} rows, seed {seed}; CPU time of the process, median of {ROUNDS} rounds in turns.\n"
    );
    println!("| | a row | hftbacktest's fastest takes |\n|---|---|---|");
    let fastest = subjects[0].median();
    for subject in &subjects {
        let ns = subject.median();
        println!(
            "| {} | {ns:.1} ns | {:.2} × that |",
            subject.name,
            fastest / ns
        );
    }
    println!("\n| | orders | cancels | fills | position |\n|---|---|---|---|---|");
    for (name, outcomes) in [
        ("hftbacktest", &theirs),
        ("cambist, fill model without engine", &model),
        ("cambist, engine", &own),
    ] {
        println!("| {name} | {} |", outcomes.summary());
    }
    println!(
        "\nFill model and hftbacktest: {}.",
        difference(&model, &theirs)
    );
    println!("Engine and hftbacktest: {}.", agreement(&own, &theirs));
    let by_engine = subjects[4].median();
    drop(subjects);
    let [cold_ms, peak_ratio] = processes(&work);
    measure::aims(&[
        (
            "a row through the engine, beside hftbacktest's fastest",
            by_engine,
            fastest,
            "ns",
        ),
        (
            "peak memory, as a share of hftbacktest's",
            peak_ratio * 100.0,
            25.0,
            "%",
        ),
        (
            "a process from its start to its end, wall time",
            cold_ms,
            250.0,
            "ms",
        ),
    ]);
}

/// Whole processes: start, file, run. Returns the milliseconds of ours and its share of the peer's memory.
fn processes(work: &Workload) -> [f64; 2] {
    let path = |path: &Path| path.display().to_string();
    let commands = [
        ("hftbacktest, vector, from `.npy`", "peer", path(&work.npy)),
        ("cambist, engine, from `.npy`", "npy", path(&work.npy)),
        (
            "cambist, engine, from its recording",
            "recording",
            path(&work.recording),
        ),
    ];
    let mut spent = [const { Vec::new() }; 3];
    for _ in 0..COLD_ROUNDS {
        for (index, (_, how, path)) in commands.iter().enumerate() {
            spent[index].push(measure::process(&["backtest-process", how, path]).0);
        }
    }
    println!(
        "\n| a process: start, file, run | wall | CPU | peak memory | hftbacktest's peak is |\n|---|---|---|---|---|"
    );
    let of = |index: usize, of: fn(&Spent) -> f64| {
        measure::median(&spent[index].iter().map(of).collect::<Vec<_>>())
    };
    for (index, (name, _, _)) in commands.iter().enumerate() {
        let peak = of(index, |spent| spent.peak_mb);
        println!(
            "| {name} | {:.0} ms | {:.0} ms | {peak:.1} MB | {:.1} × that |",
            of(index, |spent| spent.wall_s) * 1e3,
            of(index, |spent| spent.cpu_s) * 1e3,
            of(0, |spent| spent.peak_mb) / peak,
        );
    }
    [
        of(2, |spent| spent.wall_s) * 1e3,
        of(2, |spent| spent.peak_mb) / of(0, |spent| spent.peak_mb),
    ]
}

/// One backtest in a process of its own.
pub fn process(arguments: &[String]) {
    let [how, path] = arguments else {
        panic!("backtest-process HOW FILE");
    };
    let path = Path::new(path);
    let outcomes = match how.as_str() {
        "peer" => {
            let rows = Rows::File(path);
            peer::run(
                &rows,
                workload::grid(),
                BOUNDS,
                &Scenario::S1,
                false,
                |run| run(),
            )
        }
        "npy" => engine::run(Recording::Events(Box::new(open_npy(path))), &Scenario::S1),
        "recording" => engine::run(
            Recording::Events(Box::new(open_recording(path))),
            &Scenario::S1,
        ),
        other => panic!("{other}: peer, npy or recording"),
    };
    println!("{} orders", outcomes.submits);
    measure::conclude();
}

/// Fills on a recording by every queue model, ours and theirs.
fn compare_file(path: &Path, grid: Grid) {
    let open = || TickReader::open(path, &TickOptions::new(grid)).expect("rows");
    let events: Vec<Event> = open()
        .map(|event| event.expect("a sound recording"))
        .collect();
    let rows: Vec<_> = events.iter().map(|event| peer::row(grid, event)).collect();
    println!("{} rows, {:?}", events.len(), open().report());
    let (low, high) = events
        .iter()
        .fold((u64::MAX, 0), |(low, high), event| match event.update {
            Update::Level { price, .. }
            | Update::SnapshotLevel { price, .. }
            | Update::Trade { price, .. } => (low.min(price.0), high.max(price.0)),
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
            "{} | {} | {} | {}",
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

/// How many fills two runs have in common, whatever their orders are called: side, price and time.
fn agreement(own: &Outcomes, theirs: &Outcomes) -> String {
    let key = |fill: &Fill| (fill.time, fill.buys, fill.price);
    let mut left: BTreeMap<_, u32> = BTreeMap::new();
    for fill in &theirs.fills {
        *left.entry(key(fill)).or_default() += 1;
    }
    let mut both = 0;
    for fill in &own.fills {
        if let Some(count) = left.get_mut(&key(fill)).filter(|count| **count > 0) {
            *count -= 1;
            both += 1;
        }
    }
    format!(
        "{both} fills are the same in side, price and time, of {} here and {} there",
        own.fills.len(),
        theirs.fills.len()
    )
}
