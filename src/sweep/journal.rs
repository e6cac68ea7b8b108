//! `runs.jsonl`: what a sweep is, on its first line, and a line for every run that is done. A sweep that was
//! interrupted goes on where its file ends. When it is complete, its lines are in the order of the runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_market_data::first_bytes::unread;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::run::Row;
use super::summary::Measure;
use crate::exit::{Exit, Failure};
use crate::shard::Shard;

/// The file's name in the folder of results.
pub const NAME: &str = "runs.jsonl";
/// The form that is written: returns and curves are of the excess over holding the initial balances, every row ends
/// with a check of itself, and has the trading state at its end.
const FORMAT: u32 = 4;
/// The first form whose rows have the trading state.
const WITH_STATE: u32 = 4;
/// The first form whose rows have a check.
const CHECKED: u32 = 3;
/// The first form, whose returns and curves are of equity. It is still read.
const OF_EQUITY: u32 = 1;

/// One file of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// The market it is of, if that was given.
    pub market: Option<String>,
    /// Its name, without folders: another machine may keep it elsewhere.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

/// What a sweep is: everything that its results depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The form of the file.
    pub format: u32,
    /// The program's version.
    pub program: String,
    /// The first half of the hash of the program file.
    pub build: String,
    /// The configuration, as it is written.
    pub config: String,
    /// The sweep file, as it is written.
    pub sweep: String,
    /// What was read.
    pub data: Vec<DataFile>,
    /// Assumptions and everything else that was given on the command line.
    pub settings: Value,
    /// Windows of walk-forward: begin, split and end.
    pub windows: Vec<[String; 3]>,
    /// Number of runs of all shards.
    pub runs: u64,
    /// Which of them are here; all without one.
    pub shard: Option<Shard>,
}

/// The verb for names of differences: one of them may be a plural.
pub fn differ(names: &[&str]) -> &'static str {
    match names {
        ["the data" | "the assumptions" | "the runs"] => "differ",
        [_] => "differs",
        _ => "differ",
    }
}

impl Header {
    /// The form that this program writes.
    pub const FORMAT: u32 = FORMAT;

    /// What its trials are compared by.
    pub const fn measure(&self) -> Measure {
        match self.format {
            OF_EQUITY => Measure::Equity,
            _ => Measure::ExcessOverHolding,
        }
    }

    /// Whether its rows have the trading state at their end.
    pub const fn has_trading_states(&self) -> bool {
        self.format >= WITH_STATE
    }

    /// What differs from another one, shards aside: names for display.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let mut found = Vec::new();
        let mut compare = |same: bool, name| {
            if !same {
                found.push(name);
            }
        };
        compare(
            self.build == other.build
                && self.program == other.program
                && self.format == other.format,
            "the program",
        );
        compare(self.config == other.config, "the configuration");
        compare(self.sweep == other.sweep, "the sweep file");
        compare(self.data == other.data, "the data");
        compare(self.settings == other.settings, "the assumptions");
        compare(
            self.windows == other.windows && self.runs == other.runs,
            "the runs",
        );
        found
    }

    /// The runs that belong here, in order.
    pub fn own_runs(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.runs).filter(|run| self.shard.is_none_or(|shard| shard.has(*run)))
    }
}

/// Rows of a sweep by their numbers.
pub type Rows = BTreeMap<u64, Row>;
/// The same as they are written. Floats may be read as their neighbours: what is written again is the text,
/// and what is computed is computed from what was read of it.
pub type Lines = BTreeMap<u64, String>;

/// The file, open for more rows and locked against other processes.
pub struct Journal {
    path: PathBuf,
    file: File,
    header: Header,
    rows: Rows,
    lines: Lines,
}

impl Journal {
    /// Opens or begins the file of a folder, which is made if it does not exist. What another sweep left
    /// there is replaced only if asked.
    pub fn open(folder: &Path, header: Header, overwrite: bool) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(NAME);
        let name = || path.display().to_string();
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .with_context(name)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = format!("{}: another process is running this sweep", path.display());
                return Err(Failure::new(Exit::AnotherInstance, what).into());
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(name),
        }
        let (mut rows, mut lines) = (Rows::new(), Lines::new());
        let found = if overwrite {
            None
        } else {
            read(&path, &mut file)?
        };
        if let Some(found) = found {
            check_same(&path, &found.header, &header)?;
            file.set_len(found.whole).with_context(name)?;
            (rows, lines) = (found.rows, found.lines);
        } else {
            file.set_len(0).with_context(name)?;
            write_line(&mut file, &header).with_context(name)?;
            file.sync_data().with_context(name)?;
        }
        Ok(Self {
            path,
            file,
            header,
            rows,
            lines,
        })
    }

    /// Rows so far.
    pub const fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Runs that are still to be done.
    pub fn missing(&self) -> Vec<u64> {
        let own = self.header.own_runs();
        own.filter(|run| !self.rows.contains_key(run)).collect()
    }

    /// Adds a row, durably.
    pub fn add(&mut self, row: &Row) -> anyhow::Result<()> {
        let line = checked(row)?;
        // In one piece, so that an interruption cuts the last line and no other.
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.file.sync_data())
            .with_context(|| self.path.display().to_string())?;
        self.rows.insert(row.run, serde_json::from_str(&line)?);
        self.lines.insert(row.run, line);
        Ok(())
    }

    /// Writes all rows in their order, when none is missing. The file is replaced at once.
    pub fn complete(self) -> anyhow::Result<(Header, Rows)> {
        write_all(&self.path, &self.header, &self.lines)?;
        Ok((self.header, self.rows))
    }
}

/// A file as it was read.
pub struct Found {
    /// Its first line.
    pub header: Header,
    /// Its rows.
    pub rows: Rows,
    /// The same as they are written.
    pub lines: Lines,
    /// Bytes of whole lines.
    whole: u64,
}

/// Reads a file of results; `None` if not even its first line is whole. A last line that an interruption cut
/// short is left out.
fn read(path: &Path, file: &mut File) -> anyhow::Result<Option<Found>> {
    let name = || path.display().to_string();
    if let Some(what) = unread(path) {
        anyhow::bail!("{}: {what}", path.display());
    }
    file.rewind().with_context(name)?;
    let mut reader = BufReader::new(file);
    let mut line = String::new();
    let mut next = |line: &mut String| -> anyhow::Result<bool> {
        line.clear();
        let read = reader.read_line(line).with_context(name)?;
        Ok(read > 0 && line.ends_with('\n'))
    };
    if !next(&mut line)? {
        return Ok(None);
    }
    let header: Header = serde_json::from_str(&line).with_context(|| {
        format!(
            "{}: line 1 is not the first line of a sweep's results: restore the file, name another folder with --out, or begin again with --overwrite",
            path.display()
        )
    })?;
    if !(OF_EQUITY..=FORMAT).contains(&header.format) {
        anyhow::bail!(
            "{}: format {} is not known to this program",
            path.display(),
            header.format
        );
    }
    let (mut rows, mut lines) = (Rows::new(), Lines::new());
    let (mut whole, mut number) = (line.len() as u64, 1);
    while next(&mut line)? {
        number += 1;
        let at = || format!("{}: line {number}", path.display());
        let damaged = |what: &str| {
            format!(
                "{} is damaged{what}: restore the file, or delete this line, whose run the same sweep then makes again",
                at()
            )
        };
        let row: Row = serde_json::from_str(&line).with_context(|| damaged(""))?;
        if header.format >= CHECKED && !is_as_written(line.trim_end_matches('\n')) {
            anyhow::bail!(damaged(" (it does not agree with its check)"));
        }
        let belongs = row.run < header.runs && header.shard.is_none_or(|shard| shard.has(row.run));
        if !belongs {
            anyhow::bail!("{}: run {} does not belong here", at(), row.run);
        }
        whole += line.len() as u64;
        lines.insert(row.run, line.trim_end_matches('\n').to_owned());
        if rows.insert(row.run, row).is_some() {
            anyhow::bail!(
                "{}: its run is in the file already: delete one of its lines",
                at()
            );
        }
    }
    Ok(Some(Found {
        header,
        rows,
        lines,
        whole,
    }))
}

/// Begins the check at the end of a row.
const CHECK: &str = ",\"check\":\"";

/// A row as a line with a check of its text, so that figures that were changed later are not taken for results.
fn checked(row: &Row) -> serde_json::Result<String> {
    let mut line = serde_json::to_string(row)?;
    // The check comes before the brace that ends the row.
    line.pop();
    let check = check(&line);
    line.push_str(CHECK);
    line.push_str(&check);
    line.push_str("\"}");
    Ok(line)
}

/// Whether the text of a row agrees with its check.
fn is_as_written(line: &str) -> bool {
    let parts = line
        .strip_suffix("\"}")
        .and_then(|line| line.rsplit_once(CHECK));
    parts.is_some_and(|(row, found)| check(row) == found)
}

/// The first eight bytes of the SHA-256 of a text.
fn check(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest[..8].iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads the results in a folder.
pub fn load(folder: &Path) -> anyhow::Result<Found> {
    let path = folder.join(NAME);
    let file = cambist_market_data::open_file(&path);
    let mut file = file.with_context(|| path.display().to_string())?;
    read(&path, &mut file)?
        .ok_or_else(|| anyhow::anyhow!("{}: it holds no part of a sweep", path.display()))
}

/// Writes a complete file of results into a folder.
pub fn write(folder: &Path, header: &Header, lines: &Lines) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    write_all(&folder.join(NAME), header, lines)
}

fn write_all(path: &Path, header: &Header, lines: &Lines) -> anyhow::Result<()> {
    let beside = path.with_extension("jsonl.new");
    let written = (|| {
        let mut file = BufWriter::new(File::create(&beside)?);
        write_line(&mut file, header)?;
        for line in lines.values() {
            writeln!(file, "{line}")?;
        }
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&beside, path)
    })();
    written.with_context(|| path.display().to_string())
}

fn write_line(to: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)
}

fn check_same(path: &Path, found: &Header, expected: &Header) -> Result<(), Failure> {
    let mut differences = found.differences(expected);
    if found.shard != expected.shard {
        differences.push("the shard");
    }
    if differences.is_empty() {
        return Ok(());
    }
    let what = format!(
        "{} holds the results of another sweep: {} {}. Name another folder with --out, or replace it with --overwrite",
        path.display(),
        differences.join(", "),
        differ(&differences)
    );
    Err(Failure::new(Exit::Usage, what))
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
