//! Results of a campaign: a file of JSON lines that grows, and the score.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::runs::Outcome;
use super::sample::{AREAS, Drawn};

/// What is known of mutants, by their keys.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    known: BTreeMap<String, Outcome>,
}

fn to_json(key: &str, outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Test(package, test) => {
            json!({"mutant": key, "by": "test", "package": package, "test": test})
        }
        Outcome::Hung(package) => json!({"mutant": key, "by": "timeout", "package": package}),
        Outcome::World(worlds, check) => {
            json!({"mutant": key, "by": "world", "worlds": worlds, "check": check})
        }
        Outcome::Survived => json!({"mutant": key, "by": "nothing"}),
    }
}

fn from_json(value: &Value) -> Option<(String, Outcome)> {
    let text = |name: &str| Some(value[name].as_str()?.to_owned());
    let outcome = match value["by"].as_str()? {
        "test" => Outcome::Test(text("package")?, text("test")?),
        "timeout" => Outcome::Hung(text("package")?),
        "world" => Outcome::World(value["worlds"].as_u64()?, text("check")?),
        "nothing" => Outcome::Survived,
        _ => return None,
    };
    Some((text("mutant")?, outcome))
}

impl Results {
    /// Opens a file of results, which may be new.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let mut known = BTreeMap::new();
        if path.exists() {
            let text = std::fs::read_to_string(path)?;
            for line in text.lines() {
                let value = serde_json::from_str(line)
                    .with_context(|| format!("{}: {line}", path.display()))?;
                let (key, outcome) =
                    from_json(&value).with_context(|| format!("{}: {line}", path.display()))?;
                known.insert(key, outcome);
            }
        }
        Ok(Self {
            path: path.to_owned(),
            known,
        })
    }

    /// What became of a mutant, if it was run.
    pub fn of(&self, drawn: &Drawn) -> Option<&Outcome> {
        self.known.get(&drawn.key())
    }

    /// Forgets those that nothing found, so that they are run again.
    pub fn forget_survivors(&mut self) {
        self.known
            .retain(|_, outcome| *outcome != Outcome::Survived);
    }

    /// Adds a result, on disk before it counts.
    pub fn add(&mut self, drawn: &Drawn, outcome: Outcome) -> anyhow::Result<()> {
        let key = drawn.key();
        let line = format!("{}\n", to_json(&key, &outcome));
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        file.write_all(line.as_bytes())?;
        self.known.insert(key, outcome);
        Ok(())
    }
}

/// Mutants that change nothing anybody can observe, with reasons: `KEY # REASON` a line.
#[derive(Debug, Default)]
pub struct Equivalents(BTreeMap<String, String>);

impl Equivalents {
    /// Reads the file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let mut reasons = BTreeMap::new();
        for line in std::fs::read_to_string(path)?.lines() {
            if line.is_empty() || line.starts_with("# ") {
                continue;
            }
            let (key, reason) = line
                .split_once(" # ")
                .with_context(|| format!("{}: no reason: {line}", path.display()))?;
            reasons.insert(key.to_owned(), reason.to_owned());
        }
        Ok(Self(reasons))
    }
}

/// The interval that holds a share with a probability of 95 %, by Wilson (1927), in percent.
#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub fn wilson(found: usize, all: usize) -> Option<(f64, f64)> {
    if all == 0 {
        return None;
    }
    let z = 1.959_963_985_f64;
    let (n, share) = (all as f64, found as f64 / all as f64);
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    Some((
        100.0 * (middle - half) / scale,
        100.0 * (middle + half) / scale,
    ))
}

#[derive(Default)]
struct Counts {
    tests: usize,
    hung: usize,
    worlds: Vec<u64>,
    equivalent: usize,
    survived: usize,
}

impl Counts {
    const fn found(&self) -> usize {
        self.tests + self.hung + self.worlds.len()
    }

    const fn counted(&self) -> usize {
        self.found() + self.survived
    }

    fn row(&self, name: &str) -> [String; 9] {
        let most = self
            .worlds
            .iter()
            .max()
            .map_or(String::new(), u64::to_string);
        [
            name.to_owned(),
            (self.counted() + self.equivalent).to_string(),
            self.tests.to_string(),
            self.hung.to_string(),
            self.worlds.len().to_string(),
            most,
            self.equivalent.to_string(),
            self.survived.to_string(),
            score(self.found(), self.counted()),
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
fn score(found: usize, all: usize) -> String {
    wilson(found, all).map_or_else(String::new, |(low, high)| {
        let share = 100.0 * found as f64 / all as f64;
        format!("{share:.1} % ({low:.1} to {high:.1})")
    })
}

/// The report: counts by area, who found what, survivors.
pub fn report(
    drawn: &[Drawn],
    dropped: &BTreeSet<u32>,
    results: &Results,
    equivalents: &Equivalents,
) -> String {
    let mut areas: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut all = Counts::default();
    let (mut lines, mut equal) = (String::new(), String::new());
    let mut open = 0;
    for one in drawn.iter().filter(|one| !dropped.contains(&one.number)) {
        let Some(outcome) = results.of(one) else {
            open += 1;
            continue;
        };
        let key = one.key();
        let reason = equivalents.0.get(&key);
        for counts in [areas.entry(one.area).or_default(), &mut all] {
            match outcome {
                Outcome::Test(..) => counts.tests += 1,
                Outcome::Hung(_) => counts.hung += 1,
                Outcome::World(worlds, _) => counts.worlds.push(*worlds),
                Outcome::Survived if reason.is_some() => counts.equivalent += 1,
                Outcome::Survived => counts.survived += 1,
            }
        }
        match (outcome, reason) {
            (Outcome::Survived, Some(reason)) => {
                let _ = writeln!(equal, "  {key}\n    {reason}");
            }
            (Outcome::Survived, None) => {
                let _ = writeln!(lines, "  line {}: {key}", one.mutant.line);
            }
            _ => {}
        }
    }
    let head = [
        "area",
        "mutants",
        "by tests",
        "by time-out",
        "by worlds",
        "most worlds",
        "equivalent",
        "survived",
        "score (95 %)",
    ]
    .map(str::to_owned);
    let rows = AREAS
        .iter()
        .filter_map(|area| Some(areas.get(area.name)?.row(area.name)));
    let rows = std::iter::once(head).chain(rows).chain([all.row("all")]);
    let mut report = crate::text::columns(rows);
    let _ = writeln!(
        report,
        "\n{} mutants drawn, {} do not compile as switches and are left out, {open} not run",
        drawn.len(),
        dropped.len()
    );
    if !lines.is_empty() {
        let _ = writeln!(report, "\nsurvived:\n{lines}");
    }
    if !equal.is_empty() {
        let _ = writeln!(report, "\nequivalent:\n{equal}");
    }
    report
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_back() {
        for outcome in [
            Outcome::Test("p".to_owned(), "a::b".to_owned()),
            Outcome::Hung("p".to_owned()),
            Outcome::World(7, "late".to_owned()),
            Outcome::Survived,
        ] {
            let value = to_json("key", &outcome);
            assert_eq!(from_json(&value), Some(("key".to_owned(), outcome)));
        }
        assert_eq!(from_json(&json!({"mutant": "key", "by": "luck"})), None);
    }

    /// Figures of the formula for 81 of 263 (Newcombe 1998, table I, method 3).
    #[test]
    fn the_interval_is_wilsons() {
        let (low, high) = wilson(81, 263).unwrap();
        assert!(
            (low - 25.53).abs() < 0.01 && (high - 36.62).abs() < 0.01,
            "{low} {high}"
        );
        assert_eq!(wilson(0, 0), None);
        let (low, high) = wilson(0, 20).unwrap();
        assert!(low.abs() < 0.01 && (high - 16.11).abs() < 0.01);
    }
}
