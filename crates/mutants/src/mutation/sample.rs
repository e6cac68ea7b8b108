//! A seeded sample of mutants, so many from each area.

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
        format!(
            "{} | {function} | {operator} | {was} => {became}",
            self.file
        )
    }
}

/// The area of a name.
pub fn area(name: &str) -> Option<&'static Area> {
    AREAS.iter().find(|area| area.name == name)
}

/// Draws `count` mutants, and where an area has too few, all of it.
pub fn draw(tree: &Tree, seed: u64, count: usize, only: &[String]) -> anyhow::Result<Vec<Drawn>> {
    let mut random = Random(seed);
    let mut drawn = Vec::new();
    let areas = AREAS
        .iter()
        .filter(|area| only.is_empty() || only.iter().any(|o| o == area.name));
    let shares: usize = areas.clone().map(|area| area.share).sum();
    for area in areas {
        let mut all = Vec::new();
        for file in tree.files.keys().filter(|file| is_source(file, area)) {
            let found = mutants(tree.text(file)?).with_context(|| file.clone())?;
            all.extend(found.into_iter().map(|mutant| (file.clone(), mutant)));
        }
        random.shuffle(&mut all);
        let wanted = (count * area.share).div_ceil(shares);
        // Left out after the shuffle: what else is drawn is the same with and without them.
        let tested = all.into_iter().filter(|(file, _)| !is_test_support(file));
        drawn.extend(tested.take(wanted).map(|(file, mutant)| Drawn {
            number: 0,
            area: area.name,
            file,
            mutant,
        }));
    }
    // A campaign that is interrupted has run a sample of every area.
    random.shuffle(&mut drawn);
    for (number, drawn) in (1..).zip(&mut drawn) {
        drawn.number = number;
    }
    Ok(drawn)
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

/// `SplitMix64` (Steele, Lea, Flood 2014): as good as a sample needs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let below = u128::from(self.next()) * (last as u128 + 1);
            list.swap(last, usize::try_from(below >> 64).unwrap_or(last));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

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
        for area in &AREAS {
            let count = drawn.iter().filter(|d| d.area == area.name).count();
            assert!(count >= area.share, "{}: {count}", area.name);
        }
        assert!(drawn.iter().all(|d| !d.file.ends_with("/testing.rs")));
    }
}
