//! One mutant: the tests of its area, one executable after the other, then simulated worlds, until something finds it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::build::Built;
use super::sample::{Area, Drawn};
use crate::clock::Stopwatch;

/// Interval of polling a running child.
const STEP: Duration = Duration::from_millis(20);
/// A test that needs so many times what it needs without a mutant hangs,
const TIMES_MAX: u32 = 10;
/// but every one has so long: the machine may be busy.
const LEAST: Duration = Duration::from_mins(1);
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
        let ended = run(executable, folder, 0, &[], Duration::from_mins(30))?;
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

enum Ended {
    Well,
    Failed(String),
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

    /// Runs one mutant to its end.
    pub fn run(&self, drawn: &Drawn, area: &Area) -> anyhow::Result<Outcome> {
        for package in area.tests {
            let Some(tests) = self.built.tests.get(*package) else {
                continue;
            };
            let mut tests: Vec<_> = tests.iter().collect();
            let need = |executable: &Path| self.needs.get(executable).copied().unwrap_or_default();
            tests.sort_by_key(|(executable, _)| need(executable));
            for (executable, folder) in tests {
                let most = (need(executable) * TIMES_MAX).max(LEAST);
                match run(executable, folder, drawn.number, &[], most)? {
                    Ended::Well => {}
                    Ended::Hung => return Ok(Outcome::Hung((*package).to_owned())),
                    Ended::Failed(output) => {
                        if let Some(test) = self.real(executable, folder, &output)? {
                            return Ok(Outcome::Test((*package).to_owned(), test));
                        }
                    }
                }
            }
        }
        if area.in_worlds && !self.worlds.is_empty() {
            return self.run_worlds(drawn.number);
        }
        Ok(Outcome::Survived)
    }

    /// The first test that fails with the mutant and passes without it: one that fails on a busy machine finds nothing.
    fn real(
        &self,
        executable: &Path,
        folder: &Path,
        output: &str,
    ) -> anyhow::Result<Option<String>> {
        let failed = failed_tests(output);
        if failed.is_empty() {
            // It ended without a word: the whole process died.
            return Ok(Some("(the process died)".to_owned()));
        }
        for test in failed {
            if self.unreliable.contains(&test) {
                continue;
            }
            let alone = ["--exact", test.as_str()];
            if matches!(run(executable, folder, 0, &alone, LEAST * 5)?, Ended::Well) {
                return Ok(Some(test));
            }
        }
        Ok(None)
    }

    fn run_worlds(&self, number: u32) -> anyhow::Result<Outcome> {
        let mut child = Command::new(&self.built.worlds)
            .arg("1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().context("no standard input")?;
        writeln!(input, "{number} {} any all", self.worlds)?;
        drop(input);
        let Some(status) = wait(&mut child, WORLDS_MAX)? else {
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
                Ok(Outcome::World(tried.parse()?, check.to_owned()))
            }
            _ => anyhow::bail!("unexpected output of worlds: {line:?}"),
        }
    }
}

/// Runs an executable of tests with one mutant on.
fn run(
    executable: &Path,
    folder: &Path,
    number: u32,
    arguments: &[&str],
    most: Duration,
) -> anyhow::Result<Ended> {
    let output = tempfile::tempfile()?;
    let mut child = Command::new(executable)
        .args(arguments)
        .current_dir(folder)
        .env("CAMBIST_SWITCH", number.to_string())
        .env("CARGO_MANIFEST_DIR", folder)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| executable.display().to_string())?;
    let Some(status) = wait(&mut child, most)? else {
        return Ok(Ended::Hung);
    };
    if status.success() {
        return Ok(Ended::Well);
    }
    let mut text = Vec::new();
    let mut output = output;
    std::io::Seek::rewind(&mut output)?;
    output.read_to_end(&mut text)?;
    Ok(Ended::Failed(String::from_utf8_lossy(&text).into_owned()))
}

/// Waits for a child, and kills it if it takes too long.
fn wait(
    child: &mut std::process::Child,
    most: Duration,
) -> anyhow::Result<Option<std::process::ExitStatus>> {
    let watch = Stopwatch::begin();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if watch.elapsed() > most {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
}

/// Names of tests that failed.
fn failed_tests(output: &str) -> Vec<String> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("test "));
    let failed = lines.filter_map(|line| line.strip_suffix(" ... FAILED"));
    failed
        .map(|name| name.split(" - ").next().unwrap_or(name).to_owned())
        .collect()
}

/// Fails if the copy's worlds find something without a mutant.
pub fn check_worlds(runner: &Runner<'_>) -> anyhow::Result<()> {
    let quiet = Runner {
        worlds: "5@600000".to_owned(),
        built: runner.built,
        needs: BTreeMap::new(),
        unreliable: Vec::new(),
    };
    let outcome = quiet.run_worlds(0)?;
    ensure!(
        outcome == Outcome::Survived,
        "worlds find {outcome:?} without a mutant"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_read_from_what_the_harness_writes() {
        let output = "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest d - should panic ... FAILED\n";
        assert_eq!(failed_tests(output), ["a::c", "d"]);
    }
}
