//! One mutant: the tests of its area, one executable after the other, then simulated worlds, until something finds it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::build::Built;
use super::child::{Ended, Tests, failed_tests, wait};
use super::sample::{Area, Drawn};
use crate::clock::Stopwatch;

/// A test that needs so many times what it needs without a mutant hangs,
const TIMES_MAX: u32 = 10;
/// but every one has so long: the machine may be busy.
const LEAST: Duration = Duration::from_mins(1);
/// Executables that need no longer run before the first worlds.
const SHORT: Duration = Duration::from_secs(8);
/// Venues whose worlds run beside those of the exchange, as `cambist-worlds` names them,
const VENUES: [&str; 3] = ["sequenced", "kraken", "evm-pools"];
/// and how many of which length, as the gate runs them.
const VENUE_WORLDS: &str = "50@3600000";
/// Worlds of one mutant have so long.
const WORLDS_MAX: Duration = Duration::from_mins(30);

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A test failed: the package and the test.
    Test(String, String),
    /// A test did not end: the package.
    Hung(String),
    /// A simulated world: which one in the row, and the violation.
    World(u64, String),
    /// Nothing found it.
    Survived,
}

/// What runs mutants.
#[derive(Debug)]
pub struct Runner<'a> {
    /// The patched copy.
    pub built: &'a Built,
    /// What each executable needs without a mutant.
    pub needs: BTreeMap<PathBuf, Duration>,
    /// Seeds and lengths of worlds, as `cambist-worlds` reads them; empty for none.
    pub worlds: String,
    /// Tests that fail now and then without a mutant too.
    pub unreliable: Vec<String>,
}

/// An executable without a mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Baseline {
    needed_ms: u64,
    /// Tests that fail.
    failed: Vec<String>,
}

impl Baseline {
    fn measure(package: &str, executable: &Path, folder: &Path) -> anyhow::Result<Self> {
        let watch = Stopwatch::begin();
        let ended = Tests::new(executable, folder).run(Duration::from_mins(30))?;
        let needed = watch.elapsed();
        eprintln!("{package}: {} ms without a mutant", needed.as_millis());
        let failed = match ended {
            Ended::Well => Vec::new(),
            Ended::Hung => anyhow::bail!("{package} hangs without a mutant"),
            Ended::Failed(output) => {
                let failed = failed_tests(&output);
                ensure!(!failed.is_empty(), "{package} ends early without a mutant");
                failed
            }
        };
        Ok(Self {
            needed_ms: u64::try_from(needed.as_millis())?,
            failed,
        })
    }
}

enum Search {
    Nothing,
    Found(String),
    Hung,
}

impl Runner<'_> {
    /// Runs every executable without a mutant, or takes from the file what an earlier call measured of the same one. A
    /// test that fails finds nothing; it is named, and does not count: in the copy that is no repository, the ones that
    /// need one fail.
    pub fn measure(&mut self, file: &Path) -> anyhow::Result<()> {
        let text = std::fs::read(file).unwrap_or_else(|_| b"{}".to_vec());
        let mut known: BTreeMap<String, Baseline> = serde_json::from_slice(&text)
            .with_context(|| format!("{}: remove it", file.display()))?;
        for (package, tests) in &self.built.tests {
            for (executable, folder) in tests {
                let built = std::fs::metadata(executable)?.modified()?;
                let built = built.duration_since(std::time::UNIX_EPOCH)?.as_nanos();
                let key = format!("{} {built}", executable.display());
                let baseline = match known.get(&key) {
                    Some(baseline) => baseline.clone(),
                    None => Baseline::measure(package, executable, folder)?,
                };
                if !baseline.failed.is_empty() {
                    let names = baseline.failed.join(", ");
                    eprintln!("{package}: not counted, because it fails without a mutant: {names}");
                }
                self.unreliable.extend(baseline.failed.iter().cloned());
                let needed = Duration::from_millis(baseline.needed_ms);
                self.needs.insert(executable.clone(), needed);
                known.insert(key, baseline);
                std::fs::write(file, serde_json::to_vec(&known)?)?;
            }
        }
        Ok(())
    }

    /// Runs one mutant to its end: what needs little time first.
    pub fn run(&self, drawn: &Drawn, area: &Area) -> anyhow::Result<Outcome> {
        let need = |executable: &Path| self.needs.get(executable).copied().unwrap_or_default();
        let mut tests: Vec<_> = area
            .tests
            .iter()
            .filter_map(|package| Some((*package, self.built.tests.get(*package)?)))
            .flat_map(|(package, tests)| tests.iter().map(move |test| (package, test)))
            .collect();
        tests.sort_by_key(|(_, (executable, _))| need(executable));
        let is_short = |(_, (executable, _)): &(_, &(PathBuf, _))| need(executable) <= SHORT;
        let (short, long): (Vec<_>, Vec<_>) = tests.into_iter().partition(is_short);
        let in_worlds = area.in_worlds && !self.worlds.is_empty();
        let (first, rest) = self.worlds.split_once(',').unwrap_or((&self.worlds, ""));
        if let Some(found) = self.run_tests(drawn.number, &short)? {
            return Ok(found);
        }
        if in_worlds {
            let found = self.run_worlds(drawn.number, first, "all")?;
            if found != Outcome::Survived {
                return Ok(found);
            }
        }
        if let Some(found) = self.run_tests(drawn.number, &long)? {
            return Ok(found);
        }
        if in_worlds && !rest.is_empty() {
            let others = VENUES.map(|venue| (VENUE_WORLDS, venue));
            for (lengths, kind) in [(rest, "all")].into_iter().chain(others) {
                let found = self.run_worlds(drawn.number, lengths, kind)?;
                if found != Outcome::Survived {
                    return Ok(found);
                }
            }
        }
        Ok(Outcome::Survived)
    }

    fn run_tests(
        &self,
        number: u32,
        tests: &[(&str, &(PathBuf, PathBuf))],
    ) -> anyhow::Result<Option<Outcome>> {
        for (package, (executable, folder)) in tests {
            let need = self.needs.get(executable).copied().unwrap_or_default();
            let most = (need * TIMES_MAX).max(LEAST);
            match self.search(executable, folder, number, most)? {
                Search::Nothing => {}
                Search::Hung => return Ok(Some(Outcome::Hung((*package).to_owned()))),
                Search::Found(test) => {
                    return Ok(Some(Outcome::Test((*package).to_owned(), test)));
                }
            }
        }
        Ok(None)
    }

    /// Runs one executable up to the first test that fails with the mutant and passes without it: one that fails on a
    /// busy machine finds nothing.
    fn search(
        &self,
        executable: &Path,
        folder: &Path,
        number: u32,
        most: Duration,
    ) -> anyhow::Result<Search> {
        let mut ignored: BTreeSet<_> = self.unreliable.iter().cloned().collect();
        loop {
            let mut tests = Tests::new(executable, folder);
            tests.switch = number;
            tests.ignored = Some(&ignored);
            let output = match tests.run(most)? {
                Ended::Well => return Ok(Search::Nothing),
                Ended::Hung => return Ok(Search::Hung),
                Ended::Failed(output) => output,
            };
            let failed = failed_tests(&output);
            if failed.is_empty() {
                return Ok(Search::Found("(the process died)".to_owned()));
            }
            let Some(test) = failed.into_iter().find(|test| !ignored.contains(test)) else {
                return Ok(Search::Nothing);
            };
            let mut alone = Tests::new(executable, folder);
            let exact = ["--exact", test.as_str()];
            alone.arguments = &exact;
            if matches!(alone.run(LEAST * 5)?, Ended::Well) {
                return Ok(Search::Found(test));
            }
            ignored.insert(test);
        }
    }

    fn run_worlds(&self, number: u32, lengths: &str, kind: &str) -> anyhow::Result<Outcome> {
        let mut child = Command::new(&self.built.worlds)
            .arg("1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().context("no standard input")?;
        writeln!(input, "{number} {lengths} any {kind}")?;
        drop(input);
        let Some(status) = wait(&mut child, WORLDS_MAX, &|| false)? else {
            return Ok(Outcome::Hung("worlds".to_owned()));
        };
        let mut line = String::new();
        if let Some(mut output) = child.stdout.take() {
            output.read_to_string(&mut line)?;
        }
        if !status.success() {
            return Ok(Outcome::World(1, "(the process died)".to_owned()));
        }
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [_, "missed", _] => Ok(Outcome::Survived),
            [_, "found", _, _, tried, check] => {
                let check = match kind {
                    "all" => check.to_owned(),
                    venue => format!("{check} ({venue})"),
                };
                Ok(Outcome::World(tried.parse()?, check))
            }
            _ => anyhow::bail!("unexpected output of worlds: {line:?}"),
        }
    }
}

/// Fails if the copy's worlds find something without a mutant.
pub fn check_worlds(runner: &Runner<'_>) -> anyhow::Result<()> {
    for kind in ["all"].into_iter().chain(VENUES) {
        let outcome = runner.run_worlds(0, "5@600000", kind)?;
        ensure!(
            outcome == Outcome::Survived,
            "worlds find {outcome:?} without a mutant"
        );
    }
    Ok(())
}
