//! Edits of sources: lines that stand in a file exactly once, and what replaces them.

use std::collections::BTreeMap;

use anyhow::{Context, bail};

use crate::tree::Tree;

/// A line of an edit, without its first character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Is in the source and stays.
    Kept(String),
    /// Is in the source and is removed.
    Old(String),
    /// Comes.
    New(String),
}

impl Line {
    /// Reads a line that begins with a space, `-` or `+`.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.get(1..)?.to_owned();
        match text.as_bytes()[0] {
            b' ' => Some(Self::Kept(rest)),
            b'-' => Some(Self::Old(rest)),
            b'+' => Some(Self::New(rest)),
            _ => None,
        }
    }

    /// As it is in the source, if it is there.
    fn anchor(&self) -> Option<&str> {
        match self {
            Self::Kept(text) | Self::Old(text) => Some(text),
            Self::New(_) => None,
        }
    }
}

/// One edit of one file.
#[derive(Debug)]
pub struct Edit {
    /// The file, relative to the root of the sources.
    pub file: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Edit {
    /// An edit without lines.
    pub fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            lines: Vec::new(),
        }
    }

    /// The first line of the anchor in a source, counted from 0.
    fn place(&self, source: &[&str]) -> anyhow::Result<usize> {
        let anchor: Vec<_> = self.lines.iter().filter_map(Line::anchor).collect();
        let first = anchor.first().context("an edit without an anchor")?;
        let fits = |lines: &&[&str]| {
            let mut pairs = lines.iter().zip(&anchor);
            pairs.all(|(line, wanted)| line.trim() == wanted.trim())
        };
        let windows = source.windows(anchor.len()).enumerate();
        let found: Vec<_> = windows.filter(|(_, lines)| fits(lines)).collect();
        match found[..] {
            [(at, _)] => Ok(at),
            [] => bail!("{}: the anchor is gone: {}", self.file, first.trim()),
            _ => bail!(
                "{}: the anchor occurs in {} places: {}",
                self.file,
                found.len(),
                first.trim()
            ),
        }
    }
}

/// Applies edits, which find their anchors in the sources as they were, and may not touch the same lines. Fails with
/// everything that is wrong.
pub fn apply(edits: &[Edit], tree: &mut Tree) -> anyhow::Result<()> {
    let mut files: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    for edit in edits {
        files.entry(&edit.file).or_default().push(edit);
    }
    let mut wrong = Vec::new();
    for (file, edits) in files {
        let edited = tree.text(file).and_then(|text| edited(text, &edits));
        match edited {
            Ok(text) => drop(tree.files.insert(file.to_owned(), text.into_bytes())),
            Err(errors) => wrong.push(format!("{errors:#}")),
        }
    }
    if !wrong.is_empty() {
        bail!(
            "the sources have changed; adapt the edits:\n{}",
            wrong.join("\n")
        );
    }
    Ok(())
}

fn edited(text: &str, edits: &[&Edit]) -> anyhow::Result<String> {
    let source: Vec<_> = text.lines().collect();
    let mut wrong = Vec::new();
    let mut places = BTreeMap::new();
    for edit in edits {
        match edit.place(&source) {
            Ok(at) => {
                if places.insert(at, *edit).is_some() {
                    wrong.push(format!("{}: two edits begin at line {}", edit.file, at + 1));
                }
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    let mut done = String::with_capacity(text.len() * 2);
    let mut next = 0;
    for (at, edit) in places {
        if at < next {
            wrong.push(format!("{}: two edits touch line {}", edit.file, at + 1));
            continue;
        }
        source[next..at]
            .iter()
            .for_each(|line| push(&mut done, line));
        for line in &edit.lines {
            match line {
                Line::Kept(text) | Line::New(text) => push(&mut done, text),
                Line::Old(_) => {}
            }
        }
        next = at + edit.lines.iter().filter_map(Line::anchor).count();
    }
    source[next..].iter().for_each(|line| push(&mut done, line));
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(done)
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    fn edit(lines: &[&str]) -> Edit {
        Edit {
            file: "x.rs".to_owned(),
            lines: lines
                .iter()
                .map(|line| Line::parse(line).unwrap())
                .collect(),
        }
    }

    const SOURCE: &str = "a\n    b\nc\nb\nd\n";

    #[test]
    fn lines_are_replaced_where_they_stand_once() {
        let first = edit(&[" a", "-b", "+B"]);
        let second = edit(&["+before", " d"]);
        let text = edited(SOURCE, &[&second, &first]).unwrap();
        assert_eq!(text, "a\nB\nc\nb\nbefore\nd\n");
    }

    #[test]
    fn an_anchor_that_is_gone_or_not_unique_fails() {
        let error = |lines: &[&str]| edited(SOURCE, &[&edit(lines)]).unwrap_err().to_string();
        assert!(error(&["-x"]).contains("the anchor is gone: x"));
        assert!(error(&["-b"]).contains("occurs in 2 places: b"));
        assert!(error(&["+b"]).contains("without an anchor"));
    }

    #[test]
    fn two_edits_of_the_same_lines_fail() {
        for second in [&[" a", "+y"][..], &["-b", " c", "+z"]] {
            let wrong = edited(SOURCE, &[&edit(&[" a", "-b", "+x"]), &edit(second)]);
            assert!(wrong.unwrap_err().to_string().contains("two edits"));
        }
    }
}
