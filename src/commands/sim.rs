//! `cambist sim`: seeded worlds of engine, exchange, network, disk, clock and operator, checked after
//! every step.

use std::collections::BTreeSet;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use cambist_sim::{Aggregate, Family, Invariant, SeedRun, SimulatedVenue, shrink};
use clap::Args;
use serde_json::json;

use super::{columns, print_json, print_text};
use crate::exit::{self, Exit, Failure};
use crate::shard::Shard;
use crate::simulation::results::{self, Entry, Failed, Results};
use crate::simulation::seeds::Seeds;
use crate::simulation::trace;
use crate::simulation::worker_pool;
use crate::simulation::worker_pool::{Piece, Ran};
use cambist_host::clock::Clock;

/// Shortest time between two lines of progress, milliseconds.
const PROGRESS_MS: u64 = 2_000;
/// Trace lines shown before a violation.
const TAIL: usize = 40;
/// Percentage of healthy time with both sides quoted that a campaign must reach,
const QUOTED_MIN_PERCENT: u64 = 95;
/// the same where the venue counts orders and young cancels, which these markets move too fast for,
const QUOTED_MIN_PERCENT_COUNTED: u64 = 40;
/// if it has at least this many seeds: a few worlds may all be difficult.
const QUOTED_SEEDS_MIN: u64 = 100;
/// Most failed seeds listed on the terminal.
const NAMED: usize = 10;

/// Arguments of `sim`.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub seeds: u64,
    /// First seed
    #[arg(long, value_name = "FIRST", default_value_t = 1)]
    pub seed: u64,
    /// Run only this part of the seeds, such as 1/4; by default the part that a Slurm array or a Kubernetes indexed
    /// job assigns
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Number of shards, if the scheduler does not state it (Kubernetes); also $CAMBIST_SHARDS
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    pub shards: Option<u64>,
    /// Simulated hours of market making per world
    #[arg(long, value_name = "H", default_value = "1", value_parser = duration_ms)]
    pub hours: u64,
    /// Families of faults to turn off
    #[arg(long, value_name = "FAMILY", value_delimiter = ',')]
    pub without: Vec<Family>,
    /// Most strategies of each world
    #[arg(long, value_name = "N")]
    pub strategies: Option<usize>,
    /// Venue that the worlds trade on
    #[arg(long, value_name = "VENUE", value_enum, default_value = "exchange")]
    pub venue: VenueArg,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
    /// Print all events and actions; for one seed only
    #[arg(long)]
    pub trace: bool,
    /// Keep results in this file, and do not run finished seeds again. Every shard has its own file, with the shard in
    /// its name (sim.shard-0001-of-0004.jsonl); `cambist merge` joins them
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    pub results: Option<PathBuf>,
    /// Do not search for the smallest world that fails
    #[arg(long)]
    pub no_shrink: bool,
    /// Print what is checked after every step, and run nothing.
    #[arg(long, exclusive = true)]
    pub invariants: bool,
}

/// The venue of the worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum VenueArg {
    /// The exchange that this program serves
    #[default]
    Exchange,
    /// Its matching behind consecutive numbers, deadlines, and orders that rest until they are cancelled
    Sequenced,
    /// Its matching behind the rules of Kraken's interface: rising nonces, deadlines, expiries, counters
    Kraken,
    /// A model of an EVM chain with a Uniswap pool, V2 or V3, behind the adapter's own account
    EvmPools,
    /// Two of these at once, with limits over both
    Portfolio,
}

impl VenueArg {
    /// Percentage of healthy time with both sides quoted that a campaign must reach.
    const fn quoted_min_percent(self) -> u64 {
        match self {
            Self::Exchange | Self::Sequenced => QUOTED_MIN_PERCENT,
            Self::Kraken => QUOTED_MIN_PERCENT_COUNTED,
            // Nothing rests at a pool; and limits over two venues are near what is held all the time.
            Self::EvmPools | Self::Portfolio => 0,
        }
    }
}

impl From<VenueArg> for SimulatedVenue {
    fn from(venue: VenueArg) -> Self {
        match venue {
            VenueArg::Exchange => Self::Exchange,
            VenueArg::Sequenced => Self::Sequenced,
            VenueArg::Kraken => Self::Kraken,
            VenueArg::EvmPools => Self::EvmPools,
            VenueArg::Portfolio => Self::Portfolio,
        }
    }
}

impl SimArgs {
    fn trial(&self, seed: u64) -> SeedRun {
        SeedRun {
            seed,
            duration_ms: self.hours,
            without: self.without.iter().copied().collect::<BTreeSet<_>>(),
            seats_max: self.strategies,
            venue: self.venue.into(),
        }
    }

    /// Whether worlds are complete, as a file of results requires.
    fn is_whole(&self) -> bool {
        self.without.is_empty() && self.strategies.is_none() && self.venue == VenueArg::Exchange
    }
}

/// Prints the table of what is checked.
fn invariants(json: bool) -> anyhow::Result<Exit> {
    if json {
        let rows = Invariant::ALL.iter().map(
            |one| json!({ "name": one.name(), "group": one.group(), "statement": one.statement() }),
        );
        print_json(&json!({ "invariants": rows.collect::<Vec<_>>() }))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for rows in Invariant::ALL.chunk_by(|one, other| one.group() == other.group()) {
        let row = |one: &Invariant| vec![format!("  {one}"), one.statement().to_owned()];
        let group = rows.first().map_or("", |one| one.group());
        let lines = columns(&rows.iter().map(row).collect::<Vec<_>>());
        text.extend([group, "\n", &lines, "\n"]);
    }
    print_text(&text)?;
    Ok(Exit::Done)
}

/// Runs the worlds; exit 1 if an invariant was violated, or too little was quoted.
pub fn run(args: &SimArgs, json: bool) -> anyhow::Result<Exit> {
    if args.invariants {
        return invariants(json);
    }
    let all = Seeds {
        first: args.seed,
        count: args.seeds,
    };
    let shard = Shard::choose(args.shard, args.shards)?;
    let seeds = shard.map_or(all, |shard| all.shard(shard));
    let usage = |what: &str| Err(Failure::new(Exit::Usage, what).into());
    if args.jobs == 0 || args.jobs > 1_024 {
        return usage("--jobs must be 1 to 1024");
    }
    if args.seed.checked_add(seeds.count).is_none() {
        return usage("--seed plus --seeds exceeds the last seed, 18446744073709551615");
    }
    if args.trace {
        if seeds.count != 1 {
            return usage("--trace shows one world: add --seeds 1 --seed N");
        }
        return traced(args, json);
    }
    if args.results.is_some() && !args.is_whole() {
        return usage(
            "--results requires complete worlds of the exchange: remove --without, --strategies and --venue",
        );
    }
    worker_pool::catch_panics();
    let clock = Clock::new();
    let campaign = Campaign::open(args, all, shard)?.run(args, &clock)?;
    report(args, &campaign, &clock, json)
}

/// The results of one call.
struct Campaign {
    build: String,
    results: Option<Results>,
    /// Of all shards.
    all: Seeds,
    /// Of this one.
    seeds: Seeds,
    /// Results of earlier calls with the same file.
    earlier: Aggregate,
    tally: Aggregate,
    failed: Vec<Failed>,
    left: Vec<Seeds>,
}

impl Campaign {
    fn open(args: &SimArgs, all: Seeds, shard: Option<Shard>) -> anyhow::Result<Self> {
        let seeds = shard.map_or(all, |shard| all.shard(shard));
        let path = args.results.as_deref().map(|path| match shard {
            None => path.to_owned(),
            Some(shard) => of_shard(path, shard),
        });
        let mut campaign = Self {
            build: results::build()?,
            results: path.as_deref().map(Results::open).transpose()?,
            all,
            seeds,
            earlier: Aggregate::default(),
            tally: Aggregate::default(),
            failed: Vec::new(),
            left: vec![seeds],
        };
        if let Some(results) = &campaign.results {
            let mut known: Vec<_> = results
                .entries()
                .iter()
                .filter(|entry| campaign.has(entry, args.hours))
                .collect();
            // A seed counts once, even if it was run again for a campaign of other seeds.
            known.sort_by_key(|entry| (entry.range.first, std::cmp::Reverse(entry.range.count)));
            let mut next = 0;
            known.retain(|entry| {
                let fresh = entry.range.first >= next;
                if fresh {
                    next = entry.range.last().saturating_add(1);
                }
                fresh
            });
            let ranges: Vec<_> = known.iter().map(|entry| entry.range).collect();
            campaign.left = seeds.without(&ranges);
            for entry in known {
                campaign.earlier.merge(&entry.tally);
                campaign.failed.extend(entry.failed.iter().cloned());
            }
            campaign.tally = campaign.earlier;
        }
        Ok(campaign)
    }

    fn run(mut self, args: &SimArgs, clock: &Clock) -> anyhow::Result<Self> {
        let left = std::mem::take(&mut self.left);
        let mut reported_at = clock.now();
        let trial = |seed| args.trial(seed);
        worker_pool::work(&left, args.jobs, trial, |piece| {
            self.take(piece, args.hours)?;
            if clock.now().ms_since(reported_at) >= PROGRESS_MS {
                reported_at = clock.now();
                self.progress(clock);
            }
            Ok(())
        })?;
        if let Some(mut results) = self.results.take() {
            // Lines that an earlier, smaller campaign left belong to this one.
            results.belong(self.all, |entry| self.has(entry, args.hours));
            results.complete(|entry| self.has(entry, args.hours))?;
        }
        Ok(self)
    }

    /// Whether a line of results is of this campaign.
    fn has(&self, entry: &Entry, duration_ms: u64) -> bool {
        entry.build == self.build
            && entry.duration_ms == duration_ms
            && entry.range.first >= self.seeds.first
            && entry.range.last() <= self.seeds.last()
    }

    fn take(&mut self, piece: Piece, duration_ms: u64) -> anyhow::Result<()> {
        self.tally.merge(&piece.tally);
        for failed in &piece.failed {
            eprintln!("seed {}: {}", failed.seed, failed.violation);
        }
        self.failed.extend(piece.failed.iter().cloned());
        if let Some(results) = &mut self.results {
            results.add(Entry {
                build: self.build.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                campaign: Some(self.all),
                range: piece.range,
                duration_ms,
                tally: piece.tally,
                failed: piece.failed,
            })?;
        }
        Ok(())
    }

    fn progress(&self, clock: &Clock) {
        let tally = &self.tally;
        let line = format!(
            "{} of {} seeds, {:.0} simulated hours, {} faults, {} violations, {:.1} hours a second",
            tally.seeds,
            self.seeds.count,
            tally.simulated_hours(),
            tally.faults,
            tally.violations,
            self.speed(clock),
        );
        let mut stderr = std::io::stderr().lock();
        let _ = if stderr.is_terminal() {
            write!(stderr, "\r\u{1b}[K{line}")
        } else {
            writeln!(stderr, "{line}")
        };
    }

    /// Simulated hours per second of this call.
    #[expect(clippy::cast_precision_loss, reason = "a figure for display")]
    fn speed(&self, clock: &Clock) -> f64 {
        let hours = self.tally.simulated_hours() - self.earlier.simulated_hours();
        hours / (clock.now().0.max(1) as f64 / 1e6)
    }
}

fn report(args: &SimArgs, done: &Campaign, clock: &Clock, json: bool) -> anyhow::Result<Exit> {
    let tally = &done.tally;
    let least = args.venue.quoted_min_percent();
    if std::io::stderr().is_terminal() {
        eprint!("\r\u{1b}[K");
    }
    let mut failed: Vec<_> = done.failed.iter().collect();
    failed.sort_by_key(|failed| failed.seed);
    let again = |seed| format!("cambist sim {} --trace", args.trial(seed));
    if json {
        let seeds: Vec<_> = failed
            .iter()
            .map(|f| json!({"seed": f.seed, "violation": f.violation, "again": again(f.seed)}))
            .collect();
        let mut value = json!({
            "seeds": tally.seeds,
            "first_seed": done.seeds.first,
            "simulated_hours": tally.simulated_hours(),
            "faults": tally.faults,
            "crash_points": tally.crash_points,
            "orders": tally.orders,
            "violations": tally.violations,
            "quoted_ratio": tally.quoted_ratio(),
            "loss_spans": tally.loss_spans,
            "loss_ratio_max": tally.loss_ratio(),
            "loss_ratio_seed": tally.loss_ratio().map(|_| tally.loss_ratio_seed),
            "kept_ratio_max": tally.kept_ratio(),
            "kept_ratio_seed": tally.kept_ratio().map(|_| tally.kept_ratio_seed),
            "fills": tally.fills,
            "requests_counted": tally.rate_counted,
            "requests_refused_for_rate": tally.rate_refused,
            "resent": tally.resent,
            "steps": tally.steps,
            "build": done.build,
            "seconds": clock.now().as_ms() / 1_000,
            "failed": seeds,
        });
        let mut failures = Vec::new();
        if !failed.is_empty() {
            let what = format!("{} seeds failed", failed.len());
            failures.push(Failure::new(Exit::CheckFailed, what));
        }
        if !quotes_enough(tally, least) {
            let what = format!("both sides quoted for less than {least} % of healthy time");
            failures.push(Failure::new(Exit::CheckFailed, what));
        }
        if !failures.is_empty() {
            value = exit::with_failures(value, &failures);
        }
        print_json(&value)?;
    } else {
        print_text(&table(done, clock))?;
    }
    for failed in failed.iter().take(NAMED) {
        eprintln!("\nseed {}: {}", failed.seed, failed.violation);
        eprintln!("  again: {}", again(failed.seed));
    }
    if let Some(first) = failed.first()
        && !args.no_shrink
    {
        smallest(&args.trial(first.seed))?;
    }
    if failed.len() > NAMED {
        eprintln!("\nand {} more seeds", failed.len() - NAMED);
    }
    let quoted = quotes_enough(tally, least);
    if !quoted {
        eprintln!("\nboth sides were quoted for less than {least} % of healthy time");
    }
    Ok(if tally.violations == 0 && quoted {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

/// Whether a campaign quoted for the required share of the healthy time.
const fn quotes_enough(tally: &Aggregate, least_percent: u64) -> bool {
    tally.seeds < QUOTED_SEEDS_MIN || tally.samples_both * 100 >= tally.samples * least_percent
}

fn table(done: &Campaign, clock: &Clock) -> String {
    let tally = &done.tally;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let quoted = tally.quoted_ratio().map_or_else(
        || "no healthy time".to_owned(),
        |ratio| format!("{:.2} % of healthy time", ratio * 100.0),
    );
    let share = |ratio: Option<f64>, seed: u64| {
        ratio.map_or_else(
            || "none measured".to_owned(),
            |ratio| {
                let (spans, percent) = (tally.loss_spans, ratio * 100.0);
                format!("{percent:.1} % of what check states (seed {seed}, {spans} measured)")
            },
        )
    };
    let worst = share(tally.loss_ratio(), tally.loss_ratio_seed);
    let worst_if_kept = share(tally.kept_ratio(), tally.kept_ratio_seed);
    let mut rows = vec![
        row("seeds", format!("{} ({})", tally.seeds, done.seeds)),
        row("simulated hours", format!("{:.1}", tally.simulated_hours())),
        row("faults", tally.faults.to_string()),
        row("crash points", tally.crash_points.to_string()),
        row(
            "orders",
            format!("{}, {} resent", tally.orders, tally.resent),
        ),
        row("fills", tally.fills.to_string()),
        row("both sides quoted", quoted),
        row("worst loss of control", worst),
        row("... if orders are kept", worst_if_kept),
        row("violations", tally.violations.to_string()),
    ];
    if tally.rate_counted > 0 {
        let (asked, refused) = (tally.rate_counted, tally.rate_refused);
        let text = format!("{asked} reached the venue, {refused} refused for rate");
        rows.push(row("requests", text));
    }
    rows.push(row(
        "took",
        format!(
            "{} s, {:.1} simulated hours a second",
            clock.now().as_ms() / 1_000,
            done.speed(clock)
        ),
    ));
    columns(&rows)
}

/// Finds the smallest world that fails in the same way, and shows its trace.
fn smallest(trial: &SeedRun) -> anyhow::Result<()> {
    let whole = worker_pool::run(trial)?;
    let Some(check) = whole.check().map(str::to_owned) else {
        return Ok(());
    };
    let failed_ms = match &whole {
        Ran::Ended(outcome) => outcome.violations.first().map_or(0, |v| v.at_ms),
        Ran::Panicked(_) => trial.duration_ms,
    };
    eprintln!(
        "\nsearching for the smallest world that fails like seed {}",
        trial.seed
    );
    let small = shrink(trial, failed_ms, |smaller| {
        worker_pool::run(smaller).is_ok_and(|ran| ran.check() == Some(&check))
    });
    let last = trace::Last::default();
    let ran = worker_pool::guarded(|| small.run_watched(&last.watch(TAIL)))?;
    for line in last.lines() {
        eprintln!("  {line}");
    }
    eprintln!("  {}", ran.violation().unwrap_or_default());
    eprintln!("smallest: cambist sim {small} --trace");
    Ok(())
}

/// One world with a trace.
fn traced(args: &SimArgs, json: bool) -> anyhow::Result<Exit> {
    let out: Box<dyn Write> = if json {
        Box::new(BufWriter::new(std::io::stderr()))
    } else {
        Box::new(BufWriter::new(std::io::stdout()))
    };
    // The trace is written before the result.
    let outcome = args.trial(args.seed).run_watched(&trace::every(out))?;
    for violation in &outcome.violations {
        eprintln!("{violation}");
    }
    if json {
        print_json(&outcome)?;
    } else {
        print_text(&format!("trace hash {}\n", outcome.trace_hash))?;
    }
    Ok(if outcome.violations.is_empty() {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

/// The file of a shard: its name is inserted before the extension.
fn of_shard(path: &Path, shard: Shard) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map_or_else(String::new, |ending| {
        format!(".{}", ending.to_string_lossy())
    });
    path.with_file_name(format!("{stem}.{}{ending}", shard.file_name()))
}

/// Parses hours, such as 1 or 0.125, into milliseconds.
fn duration_ms(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a number of hours from 0.01 to 1000");
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.len() <= 16;
    let hours: f64 = text.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    if !(0.01..=1_000.0).contains(&hours) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be small and positive"
    )]
    Ok((hours * 3_600_000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_exact_to_the_millisecond_and_strict() {
        assert_eq!(duration_ms("1"), Ok(3_600_000));
        assert_eq!(duration_ms("0.125"), Ok(450_000));
        assert_eq!(duration_ms("0.016666666"), Ok(60_000));
        for bad in ["", "0", "-1", "1e3", "1001", "x", "0.001", "inf"] {
            assert!(duration_ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_campaign_that_quotes_too_little_fails_and_a_few_seeds_do_not() {
        let tally = |seeds, samples_both| Aggregate {
            seeds,
            samples: 1_000,
            samples_both,
            ..Aggregate::default()
        };
        for (least, enough) in [(QUOTED_MIN_PERCENT, 950), (QUOTED_MIN_PERCENT_COUNTED, 400)] {
            assert!(quotes_enough(&tally(QUOTED_SEEDS_MIN, enough), least));
            assert!(!quotes_enough(&tally(QUOTED_SEEDS_MIN, enough - 1), least));
            assert!(quotes_enough(&tally(QUOTED_SEEDS_MIN - 1, 0), least));
        }
    }
}
