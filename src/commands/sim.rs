//! `cambist sim`: seeded worlds of engine, exchange, network, disk, clock and operator, checked after
//! every step.

use std::collections::BTreeSet;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use cambist_sim::{Family, Tally, Trial, World};
use clap::Args;
use serde_json::json;

use super::{columns, print_json, print_text};
use crate::clock::Clock;
use crate::exit::{self, Exit, Failure};
use crate::simulation::crew::{self, Piece};
use crate::simulation::results::{self, Entry, Failed, Results};
use crate::simulation::seeds::{Seeds, Shard};
use crate::simulation::trace;

/// Lines of progress at most every so often.
const PROGRESS_MS: u64 = 2_000;
/// Failed seeds named on the terminal.
const NAMED: usize = 10;

/// Arguments of `sim`.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// How many seeds.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub seeds: u64,
    /// The first one.
    #[arg(long, value_name = "FIRST", default_value_t = 1)]
    pub seed: u64,
    /// Only this part of the seeds, such as 1/4.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Market making of each world, in hours.
    #[arg(long, value_name = "H", default_value = "1", value_parser = duration_ms)]
    pub hours: u64,
    /// Turn families of faults off.
    #[arg(long, value_name = "FAMILY", value_delimiter = ',')]
    pub without: Vec<Family>,
    /// Only so many of a world's strategies.
    #[arg(long, value_name = "N")]
    pub strategies: Option<usize>,
    /// Threads.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
    /// Print everything the engine hears and does; one seed only.
    #[arg(long)]
    pub trace: bool,
    /// Keep what was run in this file and do not run it again.
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    pub results: Option<PathBuf>,
}

impl SimArgs {
    fn trial(&self, seed: u64) -> Trial {
        Trial {
            seed,
            duration_ms: self.hours,
            without: self.without.iter().copied().collect::<BTreeSet<_>>(),
            seats_max: self.strategies,
        }
    }

    /// Whether every world is whole, as a file of results wants it.
    fn is_whole(&self) -> bool {
        self.without.is_empty() && self.strategies.is_none()
    }
}

/// Runs the worlds; exit 1 when a promise was broken.
pub fn run(args: &SimArgs, json: bool) -> anyhow::Result<Exit> {
    let mut seeds = Seeds {
        first: args.seed,
        count: args.seeds,
    };
    if let Some(shard) = args.shard {
        seeds = seeds.shard(shard);
    }
    let usage = |what: &str| Err(Failure::new(Exit::Usage, what).into());
    if args.jobs == 0 || args.jobs > 1_024 {
        return usage("--jobs must be 1 to 1024");
    }
    if args.seed.checked_add(args.seeds).is_none() {
        return usage("--seed and --seeds lead beyond the last seed, 18446744073709551615");
    }
    if args.trace {
        if seeds.count != 1 {
            return usage("--trace shows one world: add --seeds 1 --seed N");
        }
        return traced(args, json);
    }
    if args.results.is_some() && !args.is_whole() {
        return usage("--results keeps whole worlds only: leave --without and --strategies away");
    }
    crew::catch_panics();
    let clock = Clock::new();
    let campaign = Campaign::open(args, seeds)?.run(args, &clock)?;
    report(args, &campaign, &clock, json)
}

/// Everything one call adds up.
struct Campaign {
    build: String,
    results: Option<Results>,
    seeds: Seeds,
    /// What an earlier call with the same file has run already.
    earlier: Tally,
    tally: Tally,
    failed: Vec<Failed>,
    left: Vec<Seeds>,
}

impl Campaign {
    fn open(args: &SimArgs, seeds: Seeds) -> anyhow::Result<Self> {
        let mut campaign = Self {
            build: results::build()?,
            results: args.results.as_deref().map(Results::open).transpose()?,
            seeds,
            earlier: Tally::default(),
            tally: Tally::default(),
            failed: Vec::new(),
            left: vec![seeds],
        };
        if let Some(results) = &campaign.results {
            let same = |entry: &&Entry| {
                entry.build == campaign.build
                    && entry.duration_ms == args.hours
                    && entry.range.first >= seeds.first
                    && entry.range.last() <= seeds.last()
            };
            let known: Vec<_> = results.entries().iter().filter(same).collect();
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
        let mut told = clock.now();
        let trial = |seed| args.trial(seed);
        crew::work(&left, args.jobs, trial, |piece| {
            self.take(piece, args.hours)?;
            if clock.now().ms_since(told) >= PROGRESS_MS {
                told = clock.now();
                self.progress(clock);
            }
            Ok(())
        })?;
        Ok(self)
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
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn speed(&self, clock: &Clock) -> f64 {
        let hours = self.tally.simulated_hours() - self.earlier.simulated_hours();
        hours / (clock.now().0.max(1) as f64 / 1e6)
    }
}

fn report(args: &SimArgs, done: &Campaign, clock: &Clock, json: bool) -> anyhow::Result<Exit> {
    let tally = &done.tally;
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
            "fills": tally.fills,
            "resent": tally.resent,
            "steps": tally.steps,
            "build": done.build,
            "seconds": clock.now().as_ms() / 1_000,
            "failed": seeds,
        });
        if !failed.is_empty() {
            let failure = Failure::new(Exit::CheckFailed, format!("{} seeds failed", failed.len()));
            value = exit::with_failures(value, &[failure]);
        }
        print_json(&value)?;
    } else {
        print_text(&table(done, clock))?;
    }
    for failed in failed.iter().take(NAMED) {
        eprintln!("\nseed {}: {}", failed.seed, failed.violation);
        eprintln!("  again: {}", again(failed.seed));
    }
    if failed.len() > NAMED {
        eprintln!("\nand {} more seeds", failed.len() - NAMED);
    }
    Ok(if tally.violations == 0 {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

fn table(done: &Campaign, clock: &Clock) -> String {
    let tally = &done.tally;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let quoted = tally.quoted_ratio().map_or_else(
        || "no healthy time".to_owned(),
        |ratio| format!("{:.2} % of healthy time", ratio * 100.0),
    );
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
        row("violations", tally.violations.to_string()),
    ];
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

/// One world with everything it does.
fn traced(args: &SimArgs, json: bool) -> anyhow::Result<Exit> {
    let trial = args.trial(args.seed);
    let mut world = World::new(trial.config())?;
    let out: Box<dyn Write> = if json {
        Box::new(BufWriter::new(std::io::stderr()))
    } else {
        Box::new(BufWriter::new(std::io::stdout()))
    };
    world.watch(trace::every(out));
    let proven = world.play();
    let outcome = world.outcome(proven);
    // The trace is written before what it came to.
    drop(world);
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

/// Reads hours, such as 1 or 0.125, as milliseconds.
fn duration_ms(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no number of hours from 0.01 to 1000");
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
}
