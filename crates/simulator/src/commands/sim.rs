//! `sim`: seeded worlds of engine, exchange, network, disk, clock and operator, checked after
//! every step.

use std::collections::BTreeSet;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use cambist::commands::sim::{SimArgs, VenueArg};
use cambist::commands::{columns, print_json, print_text};
use cambist::exit::{self, Exit, Failure};
use cambist::shard::Shard;
use cambist_host::clock::Clock;
use cambist_sim::{Aggregate, Family, Invariant, SeedRun, SimulatedVenue, shrink};
use serde_json::json;

use crate::campaign::results::{Entry, Failed, Results};
use crate::campaign::seeds::Seeds;
use crate::campaign::trace;
use crate::campaign::worker_pool;
use crate::campaign::worker_pool::{Piece, Ran};
use cambist::interrupt::{Interrupt, finishing};

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

/// Percentage of healthy time with both sides quoted that a campaign must reach.
const fn quoted_min_percent(venue: VenueArg) -> u64 {
    match venue {
        VenueArg::Exchange | VenueArg::Sequenced => QUOTED_MIN_PERCENT,
        VenueArg::Kraken => QUOTED_MIN_PERCENT_COUNTED,
        // Nothing rests at a pool; and limits over two venues are near what is held all the time.
        VenueArg::EvmPools | VenueArg::Portfolio => 0,
    }
}

const fn simulated(venue: VenueArg) -> SimulatedVenue {
    match venue {
        VenueArg::Exchange => SimulatedVenue::Exchange,
        VenueArg::Sequenced => SimulatedVenue::Sequenced,
        VenueArg::Kraken => SimulatedVenue::Kraken,
        VenueArg::EvmPools => SimulatedVenue::EvmPools,
        VenueArg::Portfolio => SimulatedVenue::Portfolio,
    }
}

/// The arguments, and the families of faults that they name.
struct Request<'a> {
    args: &'a SimArgs,
    without: BTreeSet<Family>,
}

impl<'a> Request<'a> {
    fn new(args: &'a SimArgs) -> Result<Self, Failure> {
        let family = |name: &String| {
            let parsed: Result<Family, _> = name.parse();
            parsed.map_err(|error| Failure::new(Exit::Usage, format!("--without {name}: {error}")))
        };
        let without = args.without.iter().map(family).collect::<Result<_, _>>()?;
        Ok(Self { args, without })
    }

    fn trial(&self, seed: u64) -> SeedRun {
        SeedRun {
            seed,
            duration_ms: self.args.hours,
            without: self.without.clone(),
            seats_max: self.args.strategies,
            venue: simulated(self.args.venue),
        }
    }

    /// Whether worlds are complete, as a file of results requires.
    fn is_whole(&self) -> bool {
        let args = self.args;
        self.without.is_empty() && args.strategies.is_none() && args.venue == VenueArg::Exchange
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
    let request = Request::new(args)?;
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
    if args.seeds == 0 {
        return usage("--seeds must be at least 1");
    }
    if !all.exist() {
        return usage(&format!(
            "--seed {} with --seeds {} passes the last seed, {}",
            args.seed,
            args.seeds,
            u64::MAX
        ));
    }
    if args.trace {
        if seeds.count != 1 {
            return usage("--trace shows one world: add --seeds 1 --seed N");
        }
        return traced(&request, json);
    }
    if args.results.is_some() && !request.is_whole() {
        return usage(
            "--results requires complete worlds of the exchange: remove --without, --strategies and --venue",
        );
    }
    worker_pool::catch_panics();
    let clock = Clock::new();
    let campaign = Campaign::open(&request, all, shard)?;
    let interrupt = Interrupt::wait(|| finishing("worlds"))?;
    let campaign = campaign.run(&request, &clock, &interrupt)?;
    interrupt.is_over();
    let code = interrupt.code();
    let exit = report(&request, &campaign, &clock, code, json)?;
    if campaign.is_interrupted() {
        std::process::exit(code);
    }
    Ok(exit)
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
    fn open(request: &Request<'_>, all: Seeds, shard: Option<Shard>) -> anyhow::Result<Self> {
        let args = request.args;
        let seeds = shard.map_or(all, |shard| all.shard(shard));
        let path = args.results.as_deref().map(|path| match shard {
            None => path.to_owned(),
            Some(shard) => of_shard(path, shard),
        });
        let mut campaign = Self {
            build: cambist::revision::program_hash()?,
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
            // `None` behind the last number of 64 bits.
            let mut next = Some(0);
            known.retain(|entry| {
                let fresh = next.is_some_and(|next| entry.range.first >= next);
                if fresh {
                    next = entry.range.after();
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

    fn run(
        mut self,
        request: &Request<'_>,
        clock: &Clock,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Self> {
        let args = request.args;
        let left = std::mem::take(&mut self.left);
        let mut reported_at = clock.now();
        let trial = |seed| request.trial(seed);
        worker_pool::work(&left, args.jobs, interrupt.asked(), trial, |piece| {
            self.take(piece, args.hours)?;
            if clock.now().ms_since(reported_at) >= PROGRESS_MS {
                reported_at = clock.now();
                self.progress(clock);
            }
            Ok(())
        })?;
        if let Some(mut results) = self.results.take()
            && !self.is_interrupted()
        {
            // Lines that an earlier, smaller campaign left belong to this one.
            results.belong(self.all, |entry| self.has(entry, args.hours));
            results.complete(|entry| self.has(entry, args.hours))?;
        }
        Ok(self)
    }

    /// Whether worlds of it are left that were not run.
    const fn is_interrupted(&self) -> bool {
        self.tally.seeds < self.seeds.count
    }

    /// Whether a line of results is of this campaign.
    fn has(&self, entry: &Entry, duration_ms: u64) -> bool {
        entry.build == self.build
            && entry.duration_ms == duration_ms
            && entry.range.first >= self.seeds.first
            && entry.range.last() <= self.seeds.last()
    }

    fn take(&mut self, piece: Piece, duration_ms: u64) -> anyhow::Result<()> {
        // Those of an earlier file may be any numbers.
        self.tally.checked_merge(&piece.tally).map_err(|name| {
            let what = format!("the sum of `{name}` with earlier results exceeds 64 bits");
            Failure::new(Exit::CheckFailed, what)
        })?;
        for failed in &piece.failed {
            note!("seed {}: {}", failed.seed, failed.violation);
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

    /// What an interruption left, and how it is run.
    fn interruption(&self, args: &SimArgs) -> String {
        let next = if args.results.is_some() {
            "the same command goes on with its file of results"
        } else {
            "nothing is kept without --results"
        };
        let (ended, all) = (self.tally.seeds, self.seeds.count);
        format!("interrupted: {ended} of {all} worlds have ended; {next}")
    }

    /// Simulated hours per second of this call.
    #[expect(clippy::cast_precision_loss, reason = "a figure for display")]
    fn speed(&self, clock: &Clock) -> f64 {
        let hours = self.tally.simulated_hours() - self.earlier.simulated_hours();
        hours / (clock.now().0.max(1) as f64 / 1e6)
    }
}

/// Prints the results; `code` is the exit code of an interrupted campaign.
fn report(
    request: &Request<'_>,
    done: &Campaign,
    clock: &Clock,
    code: i32,
    json: bool,
) -> anyhow::Result<Exit> {
    let tally = &done.tally;
    let least = quoted_min_percent(request.args.venue);
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "\r\u{1b}[K");
    }
    let mut failed: Vec<_> = done.failed.iter().collect();
    failed.sort_by_key(|failed| failed.seed);
    let again = |seed| format!("cambist sim {} --trace", request.trial(seed));
    if json {
        let seeds: Vec<_> = failed
            .iter()
            .map(|f| json!({"seed": f.seed, "violation": f.violation, "again": again(f.seed)}))
            .collect();
        let mut value = json!({
            "seeds": tally.seeds,
            "first_seed": done.seeds.first,
            "interrupted": done.is_interrupted(),
            "seeds_left": done.seeds.count - tally.seeds,
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
        if done.is_interrupted() {
            value["error"] = done.interruption(request.args).into();
            value["exit"] = code.into();
        } else if !failed.is_empty() {
            let what = format!("{} seeds failed", failed.len());
            failures.push(Failure::new(Exit::CheckFailed, what));
        }
        if !done.is_interrupted() && !quotes_enough(tally, least) {
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
        note!("\nseed {}: {}", failed.seed, failed.violation);
        note!("  again: {}", again(failed.seed));
    }
    if let Some(first) = failed.first()
        && !request.args.no_shrink
        && !done.is_interrupted()
    {
        smallest(&request.trial(first.seed))?;
    }
    if failed.len() > NAMED {
        note!("\nand {} more seeds", failed.len() - NAMED);
    }
    if done.is_interrupted() {
        note!("\n{}", done.interruption(request.args));
    }
    let quoted = quotes_enough(tally, least);
    if !quoted && !done.is_interrupted() {
        note!("\nboth sides were quoted for less than {least} % of healthy time");
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
    let seeds = if done.is_interrupted() {
        format!(
            "{} of {} ({}), interrupted",
            tally.seeds, done.seeds.count, done.seeds
        )
    } else {
        format!("{} ({})", tally.seeds, done.seeds)
    };
    let mut rows = vec![
        row("seeds", seeds),
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
    note!(
        "\nsearching for the smallest world that fails like seed {}",
        trial.seed
    );
    let small = shrink(trial, failed_ms, |smaller| {
        worker_pool::run(smaller).is_ok_and(|ran| ran.check() == Some(&check))
    });
    let last = trace::Last::default();
    let ran = worker_pool::guarded(|| small.run_watched(&last.watch(TAIL)))?;
    for line in last.lines() {
        note!("  {line}");
    }
    note!("  {}", ran.violation().unwrap_or_default());
    note!("smallest: cambist sim {small} --trace");
    Ok(())
}

/// One world with a trace.
fn traced(request: &Request<'_>, json: bool) -> anyhow::Result<Exit> {
    let out: Box<dyn Write> = if json {
        Box::new(BufWriter::new(std::io::stderr()))
    } else {
        Box::new(BufWriter::new(std::io::stdout()))
    };
    // The trace is written before the result.
    let outcome = request
        .trial(request.args.seed)
        .run_watched(&trace::every(out))?;
    for violation in &outcome.violations {
        note!("{violation}");
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

#[cfg(test)]
mod tests {
    use super::*;

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
