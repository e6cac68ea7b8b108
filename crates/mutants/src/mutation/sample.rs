//! A seeded sample of mutants, so many from each area.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use super::operators::{Mutant, mutants};
use crate::tree::Tree;

/// An area of the sources, and what tests it.
#[derive(Debug)]
pub struct Area {
    /// Its name.
    pub name: &'static str,
    /// Folders of its sources.
    folders: &'static [&'static str],
    /// Its share of the sample, in percent.
    share: usize,
    /// Packages whose tests run, in this order.
    pub tests: &'static [&'static str],
    /// Whether simulated worlds run it.
    pub in_worlds: bool,
}

/// Every area.
pub const AREAS: [Area; 6] = [
    Area {
        name: "core",
        folders: &["crates/core/src"],
        share: 50,
        tests: &[
            "cambist-core",
            "cambist-fence-model",
            "cambist-sim",
            "cambist-strategies",
        ],
        in_worlds: true,
    },
    Area {
        name: "venue",
        folders: &["crates/venue/src"],
        share: 14,
        tests: &["cambist-venue", "cambist-sim", "cambist-server"],
        in_worlds: true,
    },
    Area {
        name: "client",
        folders: &["crates/client/src"],
        share: 6,
        tests: &["cambist-client"],
        in_worlds: false,
    },
    Area {
        name: "store",
        folders: &["crates/store/src"],
        share: 10,
        tests: &["cambist-store", "cambist-daemon"],
        in_worlds: false,
    },
    Area {
        name: "shell",
        folders: &["crates/daemon/src/live"],
        share: 10,
        tests: &["cambist-daemon", "cambist"],
        in_worlds: false,
    },
    Area {
        name: "strategies",
        folders: &["strategies/src"],
        share: 10,
        tests: &["cambist-strategies", "cambist-backtest", "cambist-sim"],
        in_worlds: true,
    },
];

/// A mutant of the sample.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Its number, from 1.
    pub number: u32,
    /// The name of its area.
    pub area: &'static str,
    /// Its source.
    pub file: String,
    /// Which of the changes with the same words in its function it is, from 1.
    pub occurrence: u32,
    /// The change.
    pub mutant: Mutant,
}

impl Drawn {
    /// What names it as long as its function stays: without line and number.
    pub fn key(&self) -> String {
        let Mutant {
            function,
            operator,
            was,
            became,
            ..
        } = &self.mutant;
        let file = &self.file;
        let key = format!("{file} | {function} | {operator} | {was} => {became}");
        match self.occurrence {
            1 => key,
            later => format!("{key} ({later})"),
        }
    }
}

/// The area of a name.
pub fn area(name: &str) -> Option<&'static Area> {
    AREAS.iter().find(|area| area.name == name)
}

/// Draws `count` mutants, and where an area has too few, all of it.
///
/// Each mutant has a rank by the seed and its key, and the lowest ranks are drawn. So what is drawn stays the same when
/// other code changes, and the results of a campaign stay useful.
pub fn draw(tree: &Tree, seed: u64, count: usize, only: &[String]) -> anyhow::Result<Vec<Drawn>> {
    let mut drawn = Vec::new();
    let areas = AREAS
        .iter()
        .filter(|area| only.is_empty() || only.iter().any(|o| o == area.name));
    let shares: usize = areas.clone().map(|area| area.share).sum();
    for area in areas {
        let wanted = (count * area.share).div_ceil(shares);
        let mut all = ranked(tree, seed, area)?;
        all.truncate(wanted);
        drawn.extend(all);
    }
    // Areas are mixed: a campaign that is interrupted has run a sample of each.
    drawn.sort_by_key(|(rank, _)| *rank);
    Ok((1..)
        .zip(drawn)
        .map(|(number, (_, one))| Drawn { number, ..one })
        .collect())
}

/// Every mutant of an area, by rank.
fn ranked(tree: &Tree, seed: u64, area: &'static Area) -> anyhow::Result<Vec<(u64, Drawn)>> {
    let mut all = Vec::new();
    let is_tested = |file: &&String| is_source(file, area) && !is_test_support(file);
    for file in tree.files.keys().filter(is_tested) {
        let mut seen = BTreeMap::new();
        for mutant in mutants(tree.text(file)?).with_context(|| file.clone())? {
            let mut one = Drawn {
                number: 0,
                area: area.name,
                file: file.clone(),
                occurrence: 1,
                mutant,
            };
            let count = seen.entry(one.key()).or_insert(0_u32);
            *count += 1;
            one.occurrence = *count;
            all.push((rank(seed, &one.key()), one));
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    Ok(all)
}

/// Whether a source is compiled for tests only, though it holds none.
fn is_test_support(file: &str) -> bool {
    file_name(file) == "testing.rs"
}

fn file_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

fn is_source(file: &str, area: &Area) -> bool {
    let name = file_name(file);
    let below = |folder: &str| {
        let rest = file.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    area.folders.iter().any(|folder| below(folder))
        && Path::new(name).extension().is_some_and(|kind| kind == "rs")
        && name != "tests.rs"
        && !name.ends_with("_tests.rs")
        && !file.contains("/tests/")
}

/// A number that depends on every bit of the seed and the key: FNV-1a (Fowler, Noll, Vo), then the last steps of
/// `SplitMix64` (Steele, Lea, Flood 2014).
fn rank(seed: u64, key: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in seed.to_le_bytes().iter().chain(key.as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut mixed: u64 = hash;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    /// A file is left out: what was drawn of the others stays, in its order.
    #[test]
    fn what_is_drawn_stays_when_other_code_changes() {
        let mut tree = Tree::read(&crate::tree::root()).unwrap();
        let client = ["client".to_owned()];
        let before = draw(&tree, 1, 100, &client).unwrap();
        let without = before[0].file.clone();
        tree.files.remove(&without);
        let after = draw(&tree, 1, 100, &client).unwrap();
        let keys = |drawn: &[Drawn]| drawn.iter().map(Drawn::key).collect::<Vec<_>>();
        let mut kept = keys(&before);
        kept.retain(|key| !key.starts_with(&without));
        assert!(!kept.is_empty() && kept.len() < before.len());
        assert_eq!(keys(&after)[..kept.len()], kept);
    }

    #[test]
    fn a_seed_draws_the_same_mutants_and_every_area_has_its_share() {
        let tree = Tree::read(&crate::tree::root()).unwrap();
        let client = ["client".to_owned()];
        let keys = |seed| {
            let drawn = draw(&tree, seed, 100, &client).unwrap();
            drawn.iter().map(Drawn::key).collect::<Vec<_>>()
        };
        assert_eq!(keys(1), keys(1));
        assert_ne!(keys(1), keys(2));
        let drawn = draw(&tree, 1, 100, &[]).unwrap();
        let different: BTreeSet<_> = drawn.iter().map(Drawn::key).collect();
        assert_eq!(different.len(), drawn.len());
        for area in &AREAS {
            let count = drawn.iter().filter(|d| d.area == area.name).count();
            assert!(count >= area.share, "{}: {count}", area.name);
        }
        assert!(drawn.iter().all(|d| !d.file.ends_with("/testing.rs")));
    }
}
