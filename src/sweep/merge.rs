//! Joins the shards of a sweep. What is joined is what one machine would have written, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::journal::{self, Found, Header, Lines, NAME, Rows, differ};
use crate::exit::{Exit, Failure};
use crate::shard::Shard;

/// Runs named in a message.
const NAMED: usize = 5;

/// What was joined.
pub struct Merged {
    /// The first line, without a shard.
    pub header: Header,
    /// All rows.
    pub rows: Rows,
    lines: Lines,
}

/// Reads the shards in folders, or below one folder, and joins them.
pub fn merge(parts: &[PathBuf]) -> anyhow::Result<Merged> {
    let folders = folders(parts)?;
    let mut shards: BTreeMap<u64, (PathBuf, Found)> = BTreeMap::new();
    let mut first: Option<(PathBuf, Header)> = None;
    for folder in folders {
        let found = journal::load(&folder)?;
        let shown = folder.display().to_string();
        let Some(shard) = found.header.shard else {
            return Err(refuse(format!(
                "{shown} is no shard: it holds all of a sweep"
            )));
        };
        match &first {
            None => first = Some((folder.clone(), found.header.clone())),
            Some((other, header)) => {
                let mut differences = header.differences(&found.header);
                if header.shard.map(Shard::parts) != Some(shard.parts()) {
                    differences.push("the number of shards");
                }
                if !differences.is_empty() {
                    return Err(refuse(format!(
                        "{} and {shown} are no parts of one sweep: {} {}",
                        other.display(),
                        differences.join(", "),
                        differ(&differences)
                    )));
                }
            }
        }
        if let Some((other, _)) = shards.get(&shard.part()) {
            return Err(refuse(format!(
                "{} and {shown} are both shard {shard}",
                other.display()
            )));
        }
        complete(&shown, &found)?;
        shards.insert(shard.part(), (folder, found));
    }
    let Some((_, header)) = first else {
        return Err(refuse("there is no shard in it".to_owned()));
    };
    let parts = header.shard.map_or(1, Shard::parts);
    let missing: Vec<_> = (1..=parts)
        .filter(|part| !shards.contains_key(part))
        .collect();
    if let Some(one) = missing.first() {
        return Err(refuse(format!(
            "{} of {parts} shards are missing, the first is {one}/{parts}: run it with --shard {one}/{parts}",
            missing.len()
        )));
    }
    let mut merged = Merged {
        header: Header {
            shard: None,
            ..header
        },
        rows: Rows::new(),
        lines: Lines::new(),
    };
    for (_, mut found) in shards.into_values() {
        merged.rows.append(&mut found.rows);
        merged.lines.append(&mut found.lines);
    }
    Ok(merged)
}

/// The shards themselves, and those in folders that hold them.
fn folders(parts: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for part in parts {
        let mut below = Vec::new();
        for entry in fs::read_dir(part).with_context(|| part.display().to_string())? {
            let path = entry?.path();
            let is_shard = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("shard-"));
            if is_shard && path.join(NAME).is_file() {
                below.push(path);
            }
        }
        below.sort();
        if below.is_empty() {
            found.push(part.clone());
        }
        found.extend(below);
    }
    Ok(found)
}

fn complete(shown: &str, found: &Found) -> anyhow::Result<()> {
    let own = found.header.own_runs();
    let missing: Vec<_> = own.filter(|run| !found.rows.contains_key(run)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = missing.iter().take(NAMED).map(u64::to_string).collect();
    let shard = found
        .header
        .shard
        .map(|shard| shard.to_string())
        .unwrap_or_default();
    Err(refuse(format!(
        "{shown}: {} of its runs are missing ({}{}): run shard {shard} again, which goes on where it ended",
        missing.len(),
        named.join(", "),
        if missing.len() > NAMED { ", …" } else { "" }
    )))
}

/// Writes what was joined as one machine would have.
pub fn write(out: &Path, merged: &Merged, overwrite: bool) -> anyhow::Result<()> {
    if out.join(NAME).exists() && !overwrite {
        let what = format!(
            "{} is there already: name another folder with --out, or replace it with --overwrite",
            out.join(NAME).display()
        );
        return Err(Failure::new(Exit::Usage, what).into());
    }
    journal::write(out, &merged.header, &merged.lines)
}

fn refuse(what: String) -> anyhow::Error {
    Failure::new(Exit::CheckFailed, what).into()
}
