//! `defects`: builds the patched copy once and searches for every defect with simulated worlds.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::json;

use crate::cargo;
use crate::defects::{Defect, Defects, Worlds};
use crate::tree::{self, Tree};

/// Ten minutes and an hour, in ms.
const SHORT_MS: u64 = 600_000;
const LONG_MS: u64 = 3_600_000;

/// Arguments of `defects`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct DefectArgs {
    /// Only these; all of them if none is named.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Also those that take more worlds than the gate runs: up to 2,000 worlds of ten minutes each.
    #[arg(long)]
    pub rare: bool,
    /// Print the defects and their numbers and end.
    #[arg(long)]
    pub list: bool,
    /// Only apply the edits to the copy and build it.
    #[arg(long)]
    pub build: bool,
    /// Threads.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// How a search ended.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Seed, length in ms, and the violation that found it.
    by: Option<(u64, u64, String)>,
    tried: u64,
}

/// Runs the command; whether every defect that was searched for is found.
pub fn run(args: &DefectArgs) -> anyhow::Result<bool> {
    let root = tree::root();
    let defects = Defects::read(&root.join("crates/mutants/defects"))?;
    if args.list {
        for (number, defect) in (1..).zip(&defects.list) {
            println!("{number:>3}  {}: {}", defect.name, defect.sentence);
        }
        return Ok(true);
    }
    let wanted = wanted(&defects, args)?;
    let mut tree = Tree::read(&root)?;
    defects.apply(&mut tree)?;
    let folder = root.join("target/mutants/defects");
    tree.write(&folder)?;
    // The libraries are those of the usual build; the packages of the copy are others to cargo.
    let worlds = cargo::build_worlds(&folder, &root.join("target"))?;
    if args.build {
        println!("{}", worlds.display());
        return Ok(true);
    }
    let mut child = Command::new(worlds)
        .arg(args.jobs.max(1).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no standard input")?;
    // What is in no world with a defect must be in none without.
    writeln!(input, "0 20@{SHORT_MS} any all")?;
    for (worlds, kind) in [
        (Worlds::Sequenced, "sequenced"),
        (Worlds::Kraken, "kraken"),
        (Worlds::EvmPools, "evm-pools"),
        (Worlds::Portfolio, "portfolio"),
    ] {
        if wanted.iter().any(|(_, defect)| defect.worlds == worlds) {
            writeln!(input, "0 20@{SHORT_MS} any {kind}")?;
        }
    }
    for (number, defect) in &wanted {
        writeln!(input, "{}", search(*number, defect))?;
    }
    drop(input);
    let mut ended = BTreeMap::new();
    let output = child.stdout.take().context("no standard output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        let (number, found) = parse(&line).with_context(|| format!("{line:?}"))?;
        if let Some((_, defect)) = wanted.iter().find(|(n, _)| *n == number) {
            let state = if found.by.is_some() {
                "found"
            } else {
                "NOT FOUND"
            };
            eprintln!(
                "{}: {state} after {} worlds ({} of {})",
                defect.name,
                found.tried,
                ended.keys().filter(|ended| **ended > 0).count() + 1,
                wanted.len()
            );
        }
        ended.insert(number, found);
    }
    ensure!(child.wait()?.success(), "the worlds ended with an error");
    let sound = ended.remove(&0).context("the worlds without a defect")?;
    if let Some((seed, _, check)) = sound.by {
        bail!("seed {seed} finds {check} although no defect is on");
    }
    report(&wanted, &ended, args.json)
}

/// The defects to search for, with their numbers.
fn wanted<'a>(defects: &'a Defects, args: &DefectArgs) -> anyhow::Result<Vec<(u32, &'a Defect)>> {
    for name in &args.names {
        let known = defects.list.iter().any(|defect| defect.name == *name);
        ensure!(known, "{name} is no defect; --list prints them");
    }
    let all = (1..).zip(&defects.list);
    let wanted = all.filter(|(_, defect)| {
        if args.names.is_empty() {
            args.rare || !defect.is_rare
        } else {
            args.names.contains(&defect.name)
        }
    });
    Ok(wanted.collect())
}

/// The line that asks for a defect. What ten minutes do not show in any of sixty worlds is searched for in hours:
/// which worlds show a defect changes with everything that is drawn for them.
fn search(number: u32, defect: &Defect) -> String {
    let lengths = if defect.is_rare {
        format!("2000@{SHORT_MS},600@{LONG_MS}")
    } else {
        format!("60@{SHORT_MS},600@{LONG_MS}")
    };
    let checks = match &defect.checks[..] {
        [] => "any".to_owned(),
        checks => checks.join(","),
    };
    let kind = match defect.worlds {
        Worlds::All => "all",
        Worlds::Falls => "falls",
        Worlds::Sequenced => "sequenced",
        Worlds::Kraken => "kraken",
        Worlds::EvmPools => "evm-pools",
        Worlds::Portfolio => "portfolio",
    };
    format!("{number} {lengths} {checks} {kind}")
}

fn parse(line: &str) -> Option<(u32, Found)> {
    let words: Vec<_> = line.split(' ').collect();
    let (number, by, tried) = match words[..] {
        [number, "missed", tried] => (number, None, tried),
        [number, "found", seed, ms, tried, check] => {
            let by = (seed.parse().ok()?, ms.parse().ok()?, check.to_owned());
            (number, Some(by), tried)
        }
        _ => return None,
    };
    let tried = tried.parse().ok()?;
    Some((number.parse().ok()?, Found { by, tried }))
}

fn report(
    wanted: &[(u32, &Defect)],
    ended: &BTreeMap<u32, Found>,
    json: bool,
) -> anyhow::Result<bool> {
    let mut rows = Vec::new();
    let mut list = Vec::new();
    let mut missed = 0;
    for (number, defect) in wanted {
        let found = ended.get(number);
        let found = found.with_context(|| format!("{} was not searched for", defect.name))?;
        let (worlds, check, again) = match &found.by {
            None => {
                missed += 1;
                (format!("not found in {}", found.tried), "", None)
            }
            Some((seed, ms, check)) => {
                #[expect(clippy::cast_precision_loss, reason = "hours of a command line")]
                let hours = *ms as f64 / 3_600_000.0;
                let venue = match defect.worlds {
                    Worlds::Sequenced => " --venue sequenced",
                    Worlds::Kraken => " --venue kraken",
                    Worlds::EvmPools => " --venue evm-pools",
                    Worlds::Portfolio => " --venue portfolio",
                    Worlds::All | Worlds::Falls => "",
                };
                let again = format!(
                    "CAMBIST_SWITCH={number} cargo run --release -- sim --seeds 1 --seed {seed} --hours {hours}{venue} --trace"
                );
                (found.tried.to_string(), check.as_str(), Some(again))
            }
        };
        list.push(json!({
            "defect": defect.name, "what": defect.sentence, "found": found.by.is_some(), "worlds": found.tried,
            "check": check, "again": again,
        }));
        rows.push([&defect.name, worlds.as_str(), check, &defect.sentence].map(str::to_owned));
    }
    let total = wanted.len();
    if json {
        let all = json!({"defects": list, "searched": total, "found": total - missed});
        println!("{all:#}");
    } else {
        let head = ["defect", "worlds", "found by", "what it does"].map(str::to_owned);
        print!(
            "{}",
            crate::text::columns(std::iter::once(head).chain(rows))
        );
        println!("\n{} of {total} found", total - missed);
    }
    Ok(missed == 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_worlds_is_read() {
        let found = Found {
            by: Some((3, 600_000, "late".to_owned())),
            tried: 2,
        };
        assert_eq!(parse("7 found 3 600000 2 late"), Some((7, found)));
        let missed = Found { by: None, tried: 9 };
        assert_eq!(parse("7 missed 9"), Some((7, missed)));
        assert_eq!(parse("7 lost"), None);
    }

    #[test]
    fn rare_defects_are_searched_for_in_more_worlds() {
        let mut defect = Defect {
            name: "x".to_owned(),
            sentence: String::new(),
            is_rare: false,
            checks: vec!["a".to_owned(), "b".to_owned()],
            worlds: Worlds::Falls,
        };
        assert_eq!(search(4, &defect), "4 60@600000,600@3600000 a,b falls");
        (defect.is_rare, defect.worlds) = (true, Worlds::All);
        defect.checks.clear();
        assert_eq!(search(4, &defect), "4 2000@600000,600@3600000 any all");
    }
}
