//! `mutation`: how many small changes of the sources tests and simulated worlds find.

mod build;
mod child;
mod operators;
mod patch;
mod results;
mod runs;
mod sample;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Context, ensure};
use clap::Args;

use self::results::{Equivalents, Results};
use self::runs::{Outcome, Runner};
use self::sample::Drawn;
use crate::tree::{self, Tree};

/// Instead of worlds.
const NONE: &str = "none";

/// Arguments of `mutation`.
#[derive(Debug, Args)]
pub struct MutationArgs {
    /// How many mutants are drawn.
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub count: usize,
    /// The seed of the sample.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
    /// Only these areas: core, venue, client, store, shell, strategies.
    #[arg(long, value_name = "AREA", value_delimiter = ',')]
    pub area: Vec<String>,
    /// Only this part of the sample, such as 1/4.
    #[arg(long, value_name = "I/N", value_parser = shard, default_value = "1/1")]
    pub shard: (u32, u32),
    /// Run at most so many in this call.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Worlds for what tests do not find: how many of which length in milliseconds; none skips them. The first run
    /// before tests that take long; with more than one, 50 worlds of an hour of each other venue run as well.
    #[arg(
        long,
        value_name = "SEEDS@MS,…",
        default_value = "100@600000,300@3600000"
    )]
    pub worlds: String,
    /// Run the tests of these packages only; those of every package that tests the area if none is named.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    pub tests: Vec<String>,
    /// Run those again that nothing found.
    #[arg(long)]
    pub again: bool,
    /// Only draw, and print the sample.
    #[arg(long)]
    pub list: bool,
    /// Only report what is known.
    #[arg(long)]
    pub report: bool,
    /// Tests not to count: what fails now and then on a busy machine.
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub unreliable: Vec<String>,
    /// Results, which an interrupted campaign continues.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/mutants/mutation.jsonl"
    )]
    pub results: PathBuf,
    /// Where the copy is built.
    #[arg(long, value_name = "FOLDER", default_value = "target/mutants/build")]
    pub build: PathBuf,
    /// The sources to change; those that this program was built from if not stated.
    #[arg(long, value_name = "FOLDER")]
    pub sources: Option<PathBuf>,
    /// Threads.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
}

impl MutationArgs {
    fn root(&self) -> PathBuf {
        self.sources.clone().unwrap_or_else(tree::root)
    }
}

fn shard(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    let parts = parts.filter(|(part, of)| (1..=*of).contains(part));
    parts.ok_or_else(|| format!("{text:?} is no part such as 1/4"))
}

/// Runs the command; whether every mutant that was run is found or equivalent.
pub fn run(args: &MutationArgs) -> anyhow::Result<bool> {
    for name in &args.area {
        ensure!(sample::area(name).is_some(), "{name:?} is no area");
    }
    let root = args.root();
    let tree = Tree::read(&root)?;
    let drawn = sample::draw(&tree, args.seed, args.count, &args.area)?;
    if args.list {
        for one in &drawn {
            println!(
                "{:>4} {:<10} line {}: {}",
                one.number,
                one.area,
                one.mutant.line,
                one.key()
            );
        }
        return Ok(true);
    }
    let results_path = root.join(&args.results);
    if let Some(folder) = results_path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut results = Results::open(&results_path)?;
    let equivalents = Equivalents::read(&root.join("crates/mutants/equivalent.txt"))?;
    if args.again {
        results.forget_survivors();
    }
    let results = Mutex::new(results);
    let dropped_path = results_path.with_extension("dropped");
    // By their keys, which stay when another sample is drawn.
    let known = std::fs::read_to_string(&dropped_path).unwrap_or_default();
    let known: BTreeSet<_> = known.lines().collect();
    let is_known = |one: &&Drawn| known.contains(one.key().as_str());
    let mut dropped: BTreeSet<_> = drawn
        .iter()
        .filter(is_known)
        .map(|one| one.number)
        .collect();
    if !args.report {
        let built = built(args, &tree, &drawn, dropped)?;
        let keys = drawn
            .iter()
            .filter(|one| built.dropped.contains(&one.number));
        let lines: BTreeSet<_> = keys.map(|one| one.key() + "\n").collect();
        let earlier = known.iter().map(|key| format!("{key}\n"));
        let lines: BTreeSet<_> = lines.into_iter().chain(earlier).collect();
        std::fs::write(&dropped_path, lines.into_iter().collect::<String>())?;
        execute(args, &drawn, &built, &results)?;
        dropped = built.dropped;
    }
    let results = results.into_inner().ok().context("a thread panicked")?;
    let shown: Vec<_> = drawn
        .iter()
        .filter(|one| in_shard(args, one))
        .cloned()
        .collect();
    print!(
        "{}",
        results::report(&shown, &dropped, &results, &equivalents)
    );
    Ok(shown
        .iter()
        .all(|one| results.of(one) != Some(&Outcome::Survived)))
}

const fn in_shard(args: &MutationArgs, one: &Drawn) -> bool {
    one.number % args.shard.1 == args.shard.0 - 1
}

fn built(
    args: &MutationArgs,
    tree: &Tree,
    drawn: &[Drawn],
    dropped: BTreeSet<u32>,
) -> anyhow::Result<build::Built> {
    let exists = |package: &&&str| {
        let line = format!("name = \"{package}\"");
        tree.files.iter().any(|(file, content)| {
            file.ends_with("Cargo.toml")
                && String::from_utf8_lossy(content).lines().any(|l| l == line)
        })
    };
    let areas: BTreeSet<_> = drawn.iter().map(|one| one.area).collect();
    let areas = areas.into_iter().filter_map(sample::area);
    let meant =
        |package: &&&str| args.tests.is_empty() || args.tests.iter().any(|t| t == **package);
    let packages = areas
        .flat_map(|area| area.tests)
        .filter(exists)
        .filter(meant);
    let mut packages: BTreeSet<_> = packages.copied().collect();
    if args.worlds != NONE {
        packages.insert(build::WORLDS);
    }
    let root = tree::root();
    let folder = root.join("target/mutants/mutation");
    build::build(
        tree,
        drawn,
        &packages,
        &folder,
        &root.join(&args.build),
        dropped,
    )
}

fn execute(
    args: &MutationArgs,
    drawn: &[Drawn],
    built: &build::Built,
    results: &Mutex<Results>,
) -> anyhow::Result<()> {
    let mut runner = Runner {
        built,
        needs: BTreeMap::new(),
        worlds: if args.worlds == NONE {
            String::new()
        } else {
            args.worlds.clone()
        },
        unreliable: args.unreliable.clone(),
    };
    runner.measure(&tree::root().join(&args.build).join("baseline.json"))?;
    if !runner.worlds.is_empty() {
        runs::check_worlds(&runner)?;
    }
    let known = |one: &Drawn| {
        results
            .lock()
            .is_ok_and(|results| results.of(one).is_some())
    };
    let left = drawn
        .iter()
        .filter(|one| in_shard(args, one) && !built.dropped.contains(&one.number));
    let mut left: VecDeque<_> = left.filter(|one| !known(one)).collect();
    // Areas are mixed, so that an interrupted campaign is a sample of all of them.
    left.make_contiguous()
        .sort_by_key(|one| (one.number.wrapping_mul(0x9e37_79b9), one.number));
    left.truncate(args.limit.unwrap_or(usize::MAX));
    let total = left.len();
    let queue = Mutex::new(left);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs.max(1))
            .map(|_| {
                scope.spawn(|| -> anyhow::Result<()> {
                    loop {
                        let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
                        let Some(one) = next else { return Ok(()) };
                        let area = sample::area(one.area).context("no area")?;
                        let outcome = runner.run(one, area)?;
                        let waiting = queue.lock().map_or(0, |queue| queue.len());
                        eprintln!("{} of {total} left: {outcome:?}: {}", waiting, one.key());
                        let mut results = results.lock().ok().context("a thread panicked")?;
                        results.add(one, outcome)?;
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().ok().context("a thread panicked")??;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_of_some() {
        assert_eq!(shard("2/4"), Ok((2, 4)));
        for bad in ["0/4", "5/4", "1", "a/b", "1/0"] {
            assert!(shard(bad).is_err(), "{bad}");
        }
    }
}
