//! The file of results: one line of JSON for each range of seeds that has been run. A campaign that was
//! interrupted goes on where its file ends; `cambist merge` joins the files of its shards. When a campaign is
//! complete, its lines are in the order of their seeds, and the same whichever process ran which part.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist::exit::{Exit, Failure};
use cambist_sim::Aggregate;
use serde::{Deserialize, Serialize};

use super::seeds::{BLOCK, Seeds};
use crate::results_file;

/// A seed whose world violated an invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The seed.
    pub seed: u64,
    /// The first violated invariant, with its detail.
    pub violation: String,
}

/// What a range of seeds came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which build ran it: the first half of the hash of the program file.
    pub build: String,
    /// The version of the program.
    pub version: String,
    /// All seeds of the campaign, of which these are a part; absent in files of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<Seeds>,
    /// Which seeds.
    #[serde(flatten)]
    pub range: Seeds,
    /// Market making of each world.
    pub duration_ms: u64,
    /// What they add up to.
    pub tally: Aggregate,
    /// Those that violated an invariant.
    pub failed: Vec<Failed>,
}

impl Entry {
    /// Refuses numbers that no worlds can add up to.
    fn check(&self) -> Result<(), String> {
        let (range, tally) = (self.range, &self.tally);
        if range.count == 0 || !range.exist() {
            return Err(format!(
                "{} seeds from {} are none that can be run",
                range.count, range.first
            ));
        }
        if let Some(campaign) = self.campaign
            && !(campaign.exist() && campaign.has(range.first) && campaign.has(range.last()))
        {
            return Err(format!(
                "seeds {range} are not of the campaign of seeds {campaign}"
            ));
        }
        let listed = self.failed.len() as u64;
        for (wrong, what) in [
            (
                tally.seeds != range.count,
                format!(
                    "its sums are of {} worlds, its seeds are {}",
                    tally.seeds, range.count
                ),
            ),
            (
                tally.seeds_failed != listed,
                format!(
                    "{} worlds failed, and {listed} are listed",
                    tally.seeds_failed
                ),
            ),
            (
                tally.violations < listed || listed == 0 && tally.violations > 0,
                format!(
                    "{} violations are not of {listed} failed worlds",
                    tally.violations
                ),
            ),
        ] {
            if wrong {
                return Err(what);
            }
        }
        for (part, of, names) in [
            (tally.crash_points, tally.faults, ["crash_points", "faults"]),
            (
                tally.rate_refused,
                tally.rate_counted,
                ["rate_refused", "rate_counted"],
            ),
            (tally.samples_both, tally.samples, ["looks_both", "looks"]),
        ] {
            if part > of {
                let [part_name, of_name] = names;
                return Err(format!(
                    "{part_name} {part} is a part of {of_name} {of}, and is greater"
                ));
            }
        }
        let mut seeds: Vec<_> = self.failed.iter().map(|failed| failed.seed).collect();
        seeds.sort_unstable();
        if let Some([twice, _]) = seeds.array_windows().find(|[one, two]| one == two) {
            return Err(format!("seed {twice} is listed as failed twice"));
        }
        let worst = [
            (tally.loss_ratio_ppm, tally.loss_ratio_seed),
            (tally.kept_ratio_ppm, tally.kept_ratio_seed),
        ];
        seeds.extend(
            worst
                .iter()
                .filter(|(ppm, _)| *ppm > 0)
                .map(|(_, seed)| seed),
        );
        match seeds.iter().find(|seed| !range.has(**seed)) {
            Some(other) => Err(format!("seed {other} is none of seeds {range}")),
            None => Ok(()),
        }
    }
}

/// A line of a file, to be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.path.display(), self.line)
    }
}

/// Adds the numbers of a line to a sum.
///
/// # Errors
/// The sum is too large: the line is not what a campaign wrote.
pub fn add_up(tally: &mut Aggregate, place: &Place, entry: &Entry) -> Result<(), Failure> {
    let added = tally.checked_merge(&entry.tally);
    added.map_err(|name| {
        let what = format!(
            "{place}: with its `{name}` the sum exceeds {}, the largest number of 64 bits: the line was changed",
            u64::MAX
        );
        Failure::new(Exit::CheckFailed, what)
    })
}

/// The file, open for more lines.
pub struct Results {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
}

impl Results {
    /// Opens or begins a file, locked against other processes. A last line that an interruption cut short is left out and
    /// removed.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let name = || format!("results file {}", path.display());
        let file = results_file::open(path)?;
        let (lines, whole) = Self::entries_of(path, &file)?;
        file.set_len(whole).with_context(name)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            entries: lines.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    /// The whole lines of a file, and how many bytes they are. Every line is possible, and so is the sum of all.
    fn entries_of(path: &Path, file: &File) -> anyhow::Result<(Vec<(Place, Entry)>, u64)> {
        let name = || format!("results file {}", path.display());
        let mut entries = Vec::new();
        let mut reader = BufReader::new(file);
        let (mut whole, mut number) = (0, 0_u64);
        let mut sum = Aggregate::default();
        loop {
            let mut line = String::new();
            let read = reader.read_line(&mut line).with_context(name)?;
            number += 1;
            if read == 0 || !line.ends_with('\n') {
                break;
            }
            whole += read as u64;
            let place = Place {
                path: path.to_owned(),
                line: number,
            };
            let entry: Entry = serde_json::from_str(&line).with_context(|| place.to_string())?;
            entry.check().map_err(|what| {
                let what =
                    format!("{place}: {what}: the line was changed, or is of another program");
                Failure::new(Exit::CheckFailed, what)
            })?;
            add_up(&mut sum, &place, &entry)?;
            entries.push((place, entry));
        }
        Ok((entries, whole))
    }

    /// Reads the lines of a file and changes nothing.
    pub fn read(path: &Path) -> anyhow::Result<Vec<(Place, Entry)>> {
        let name = || format!("results file {}", path.display());
        let file = cambist_market_data::open_file(path).with_context(name)?;
        Ok(Self::entries_of(path, &file)?.0)
    }

    /// Lines belong to a campaign from now on.
    pub fn belong(&mut self, campaign: Seeds, is_own: impl Fn(&Entry) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| is_own(entry)) {
            entry.campaign = Some(campaign);
        }
    }

    /// Rewrites the lines of a complete campaign: joined, in the order of their seeds, behind all others.
    pub fn complete(self, is_own: impl Fn(&Entry) -> bool) -> anyhow::Result<()> {
        let (own, mut all): (Vec<_>, Vec<_>) = self.entries.into_iter().partition(is_own);
        all.extend(joined(own));
        write(&self.path, &all)
    }

    /// Every line, whatever build it is from.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds a line.
    pub fn add(&mut self, entry: Entry) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("results file {}", self.path.display()))?;
        self.entries.push(entry);
        Ok(())
    }
}

/// The same results in as few lines as there are blocks of seeds, in the order of the seeds.
pub fn joined(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by_key(|entry| entry.range.first);
    let mut joined: Vec<Entry> = Vec::new();
    for mut entry in entries {
        let before = joined.last_mut().filter(|before| {
            before.range.last().checked_add(1) == Some(entry.range.first)
                && before.range.first / BLOCK == entry.range.last() / BLOCK
        });
        match before {
            Some(before) => {
                before.range.count += entry.range.count;
                before.tally.merge(&entry.tally);
                before.failed.append(&mut entry.failed);
            }
            None => joined.push(entry),
        }
    }
    for entry in &mut joined {
        entry.failed.sort_by_key(|failed| failed.seed);
    }
    joined
}

/// Writes a file of results whole, or leaves the one that is there.
pub fn write(path: &Path, entries: &[Entry]) -> anyhow::Result<()> {
    let mut text = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut text, entry)?;
        text.push(b'\n');
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = (|| {
        let mut file = File::create(&beside)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    })();
    written.with_context(|| format!("results file {}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    type Change = fn(&mut Entry);

    fn entry(first: u64) -> Entry {
        Entry {
            build: "b".to_owned(),
            version: "0".to_owned(),
            campaign: Some(Seeds {
                first: 1,
                count: 10,
            }),
            range: Seeds { first, count: 5 },
            duration_ms: 60_000,
            tally: Aggregate {
                seeds: 5,
                seeds_failed: 1,
                violations: 2,
                orders: 17,
                ..Aggregate::default()
            },
            failed: vec![Failed {
                seed: first,
                violation: "double_order".to_owned(),
            }],
        }
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_a_wrong_one_is_named() {
        let folder = crate::testing::private_folder();
        let path = folder.path().join("r.jsonl");
        let mut results = Results::open(&path).unwrap();
        results.add(entry(1)).unwrap();
        results.add(entry(6)).unwrap();
        drop(results);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut results = Results::open(&path).unwrap();
        assert_eq!(results.entries(), [entry(1)]);
        results.add(entry(6)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        drop(results);
        std::fs::write(&path, "nonsense\n").unwrap();
        let error = format!("{:#}", Results::open(&path).err().unwrap());
        assert!(error.contains("line 1"), "{error}");
    }

    /// What a campaign cannot have written is named by file and line, and changes no sum.
    #[test]
    fn a_line_that_is_not_possible_is_refused_by_file_and_line() {
        let folder = crate::testing::private_folder();
        let path = folder.path().join("r.jsonl");
        let refused = |second: &Entry| {
            write(&path, &[entry(1), second.clone()]).unwrap();
            let error = format!("{:#}", Results::open(&path).err().unwrap());
            let again = format!("{:#}", Results::read(&path).unwrap_err());
            assert_eq!(error, again);
            assert!(error.contains("r.jsonl, line 2"), "{error}");
            error
        };
        let changes: [(Change, &str); 13] = [
            (|e| e.tally.orders = u64::MAX, "`orders`"),
            (|e| e.tally.steps = u64::MAX, ""),
            (|e| e.tally.seeds = 6, "of 6 worlds, its seeds are 5"),
            (
                |e| e.tally.seeds_failed = 0,
                "0 worlds failed, and 1 are listed",
            ),
            (|e| e.tally.violations = 0, "0 violations"),
            (|e| e.tally.crash_points = 1, "crash_points 1"),
            (|e| e.tally.rate_refused = 1, "rate_refused 1"),
            (|e| e.tally.samples_both = 1, "looks_both 1"),
            (|e| e.range.count = 0, "0 seeds from 6"),
            (
                |e| e.range.first = u64::MAX - 1,
                "5 seeds from 18446744073709551614",
            ),
            (
                |e| e.range.first = 7,
                "not of the campaign of seeds 1 to 10",
            ),
            (
                |e| e.failed[0].seed = 11,
                "seed 11 is none of seeds 6 to 10",
            ),
            (
                |e| {
                    e.failed.push(e.failed[0].clone());
                    e.tally.seeds_failed = 2;
                },
                "seed 6 is listed as failed twice",
            ),
        ];
        for (change, words) in changes {
            let mut second = entry(6);
            change(&mut second);
            if words.is_empty() {
                // Alone it is possible.
                write(&path, &[second]).unwrap();
                assert_eq!(Results::read(&path).unwrap().len(), 1);
                continue;
            }
            let error = refused(&second);
            assert!(error.contains(words), "{error}");
        }
        let mut second = entry(6);
        (second.tally.loss_ratio_ppm, second.tally.loss_ratio_seed) = (1, 5);
        assert!(refused(&second).contains("seed 5 is none"));
        let mut second = entry(6);
        (second.failed, second.tally.seeds_failed) = (Vec::new(), 0);
        assert!(refused(&second).contains("2 violations are not of 0"));
        write(&path, &[entry(1), entry(6)]).unwrap();
        assert_eq!(Results::read(&path).unwrap().len(), 2);
    }

    /// The same lines, however seeds were divided and whichever process ran them.
    #[test]
    fn a_complete_file_is_the_same_however_it_was_cut() {
        let file = |pieces: &[(u64, u64)]| {
            let entries = pieces.iter().map(|(first, count)| {
                let mut entry = entry(*first);
                entry.range.count = *count;
                entry.tally = Aggregate {
                    seeds: *count,
                    orders: 3 * count,
                    ..Aggregate::default()
                };
                let is_own = |seed: &u64| (*first..first + count).contains(seed);
                let failed = [149, 7, 120].into_iter().filter(is_own);
                let violation = "double_order".to_owned();
                entry.failed = failed
                    .map(|seed| Failed {
                        seed,
                        violation: violation.clone(),
                    })
                    .collect();
                entry
            });
            joined(entries.collect())
        };
        let one = file(&[(1, 99), (100, 100), (200, 11)]);
        assert_eq!(one.len(), 3);
        assert_eq!(
            file(&[(200, 1), (50, 50), (201, 10), (1, 49), (150, 50), (100, 50)]),
            one
        );
        assert_eq!(one.iter().map(|entry| entry.tally.seeds).sum::<u64>(), 210);
        let failed = one.iter().flat_map(|entry| &entry.failed);
        assert_eq!(
            failed.map(|failed| failed.seed).collect::<Vec<_>>(),
            [7, 120, 149]
        );
    }
}
