//! Deliberate defects: their list, and the edits that put them into a copy of the sources.
//!
//! The files are `defects/*.txt`, read line by line; empty lines and those that begin with `#` are comments:
//!
//! - `defect NAME: SENTENCE` declares one; `rare` instead of `defect` means that finding it takes more worlds than the
//!   gate runs;
//! - `found CHECK… [in worlds with falls]` after a declaration: the names of violations that must find it, or `any`,
//!   and if stated only in worlds whose price falls while everything is filled, `in worlds of the sequenced venue`,
//!   `in worlds of kraken`, `in worlds of a chain`, or `in worlds of a portfolio`;
//! - `edit FILE` begins an edit of a source: the lines that follow stand in it exactly once, those that begin with a
//!   space stay, those with `-` go, those with `+` come (indentation does not count);
//! - `add FILE` adds the file of that name below `defects/added`.
//!
//! New lines ask `planted!(NAME)` whether a defect is on. Only the copy can be built with defects.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::edits::{Edit, Line};
use crate::tree::Tree;

/// One deliberate defect. Its number is its place in the list, from 1.
#[derive(Debug)]
pub struct Defect {
    /// Its name.
    pub name: String,
    /// What it does.
    pub sentence: String,
    /// Whether it takes more worlds than the gate runs.
    pub is_rare: bool,
    /// Violations that must find it; empty: any.
    pub checks: Vec<String>,
    /// Which worlds count.
    pub worlds: Worlds,
}

/// Which worlds count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Worlds {
    /// Those of the exchange.
    #[default]
    All,
    /// Those whose price falls while everything is filled.
    Falls,
    /// Those of the second venue.
    Sequenced,
    /// Those of Kraken's interface.
    Kraken,
    /// Those of a chain.
    EvmPools,
    /// Those of two venues at once.
    Portfolio,
}

/// How a declaration names worlds other than all.
const IN_WORLDS: [(&str, Worlds); 5] = [
    (" in worlds with falls", Worlds::Falls),
    (" in worlds of the sequenced venue", Worlds::Sequenced),
    (" in worlds of kraken", Worlds::Kraken),
    (" in worlds of a chain", Worlds::EvmPools),
    (" in worlds of a portfolio", Worlds::Portfolio),
];

/// All defects and their edits.
#[derive(Debug, Default)]
pub struct Defects {
    /// In the order of the files.
    pub list: Vec<Defect>,
    edits: Vec<Edit>,
    added: Vec<(String, String)>,
}

/// The text in new lines before and after the name of a defect.
const ASKED: [&str; 2] = ["planted!(", ")"];

impl Defects {
    /// Reads the files of `folder`.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut defects = Self::default();
        for path in crate::tree::files(folder)? {
            if path.extension().is_some_and(|kind| kind == "txt") {
                let path = folder.join(&path);
                let text = std::fs::read_to_string(&path)?;
                let added = |name: &str| std::fs::read_to_string(folder.join("added").join(name));
                let parsed = defects.parse(&text, added);
                parsed.with_context(|| path.display().to_string())?;
            }
        }
        defects.resolve()?;
        Ok(defects)
    }

    fn parse(
        &mut self,
        text: &str,
        added: impl Fn(&str) -> std::io::Result<String>,
    ) -> anyhow::Result<()> {
        for (number, line) in (1..).zip(text.lines()) {
            self.line(line, &added)
                .with_context(|| format!("line {number}: {line}"))?;
        }
        Ok(())
    }

    fn line(
        &mut self,
        line: &str,
        added: impl Fn(&str) -> std::io::Result<String>,
    ) -> anyhow::Result<()> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "defect" | "rare" => {
                let (name, sentence) = rest.split_once(": ").context("NAME: SENTENCE expected")?;
                self.list.push(Defect {
                    name: name.to_owned(),
                    sentence: sentence.to_owned(),
                    is_rare: first == "rare",
                    checks: Vec::new(),
                    worlds: Worlds::All,
                });
            }
            "found" => {
                let defect = self.list.last_mut().context("no defect before it")?;
                let mut checks = rest;
                for (suffix, worlds) in IN_WORLDS {
                    if let Some(named) = rest.strip_suffix(suffix) {
                        (checks, defect.worlds) = (named, worlds);
                    }
                }
                let checks = checks.split(' ').filter(|check| *check != "any");
                defect.checks.extend(checks.map(str::to_owned));
            }
            "edit" => self.edits.push(Edit::new(rest)),
            "add" => {
                let text = added(rest).with_context(|| format!("defects/added/{rest}"))?;
                self.added.push((rest.to_owned(), text));
            }
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => {
                let line = Line::parse(line).context("neither a keyword nor a line of an edit")?;
                let edit = self.edits.last_mut().context("no edit before it")?;
                edit.lines.push(line);
            }
        }
        Ok(())
    }

    /// Replaces the names in new lines by numbers: every name is declared once, and asked about.
    fn resolve(&mut self) -> anyhow::Result<()> {
        let mut asked = BTreeMap::new();
        for (number, defect) in (1_u32..).zip(&self.list) {
            let known = asked.insert(defect.name.clone(), (number, false));
            ensure!(known.is_none(), "{} is declared twice", defect.name);
        }
        let new = self.edits.iter_mut().flat_map(|edit| &mut edit.lines);
        let new = new.filter_map(|line| match line {
            Line::New(text) => Some(text),
            Line::Kept(_) | Line::Old(_) => None,
        });
        for text in new.chain(self.added.iter_mut().map(|(_, text)| text)) {
            *text = numbered(text, &mut asked)?;
        }
        if let Some((name, _)) = asked.iter().find(|(_, (_, asked))| !asked) {
            bail!("no edit asks for {name}");
        }
        Ok(())
    }

    /// Applies every edit to a tree; fails with all anchors that are gone or not unique.
    pub fn apply(&self, tree: &mut Tree) -> anyhow::Result<()> {
        crate::edits::apply(&self.edits, tree)?;
        for (name, text) in &self.added {
            ensure!(!tree.files.contains_key(name), "{name} exists already");
            tree.files.insert(name.clone(), text.clone().into_bytes());
        }
        let edited = self.edits.iter().map(|edit| edit.file.as_str());
        let edited = edited.chain(self.added.iter().map(|(name, _)| name.as_str()));
        tree.depend_on_switch(edited)
    }
}

/// A text with `cambist_switch::on(NUMBER)` for every defect that it asks about.
fn numbered(text: &str, asked: &mut BTreeMap<String, (u32, bool)>) -> anyhow::Result<String> {
    let mut pieces = text.split(ASKED[0]);
    let mut done = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once(ASKED[1]).context("planted!(NAME)")?;
        let Some((number, is_asked)) = asked.get_mut(name) else {
            bail!("{name} is asked about and not declared");
        };
        *is_asked = true;
        let _ = write!(done, "cambist_switch::on({number})");
        done.push_str(rest);
    }
    Ok(done)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    fn parsed(text: &str) -> anyhow::Result<Defects> {
        let mut defects = Defects::default();
        defects.parse(text, |_| Err(std::io::ErrorKind::NotFound.into()))?;
        defects.resolve()?;
        Ok(defects)
    }

    const TWO: &str = "# a comment\n\ndefect one: does harm\nfound a b in worlds with falls\n\
         rare two: does more\nedit src/x.rs\n-    a\n+    planted!(two) || planted!(one)\n";

    #[test]
    fn a_list_is_read() {
        let defects = parsed(TWO).unwrap();
        let [one, two] = &defects.list[..] else {
            panic!()
        };
        assert_eq!((one.name.as_str(), one.checks.len()), ("one", 2));
        assert!(one.worlds == Worlds::Falls && !one.is_rare && two.is_rare);
        assert_eq!(two.worlds, Worlds::All);
        let new = Line::New("    cambist_switch::on(2) || cambist_switch::on(1)".to_owned());
        assert_eq!(defects.edits[0].lines[1], new);
    }

    #[test]
    fn a_defect_may_need_worlds_of_the_second_venue() {
        let found = "found any in worlds of the sequenced venue";
        let defects = parsed(&TWO.replace("found a b in worlds with falls", found)).unwrap();
        let one = &defects.list[0];
        assert_eq!((one.worlds, one.checks.len()), (Worlds::Sequenced, 0));
    }

    #[test]
    fn a_list_without_an_edit_of_a_defect_is_refused() {
        for (bad, why) in [
            ("defect one: harm\n", "no edit asks for one"),
            ("edit x\n+planted!(one)\n", "not declared"),
            ("+a\n", "line 1"),
            ("found a\n", "line 1"),
            ("defect one\n", "line 1"),
            ("edit x\nrubbish\n", "line 2"),
        ] {
            let error = format!("{:#}", parsed(bad).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
        let twice = format!("{TWO}defect one: again\n");
        assert!(parsed(&twice).is_err());
    }

    /// What a change of the sources may break: every anchor is there, once.
    #[test]
    fn every_edit_fits_the_sources() {
        let root = crate::tree::root();
        let defects = Defects::read(&root.join("crates/mutants/defects")).unwrap();
        assert!(defects.list.len() >= 77, "{}", defects.list.len());
        let mut tree = Tree::read(&root).unwrap();
        defects.apply(&mut tree).unwrap();
    }
}
