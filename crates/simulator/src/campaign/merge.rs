//! Joins the results of the shards of one campaign.

use std::path::{Path, PathBuf};

use cambist::commands::{print_json, print_text};
use cambist::exit::{Exit, Failure};
use serde_json::json;

use super::results::{Entry, Results, write};
use super::seeds::Seeds;

/// Joins files of results into one: the same bytes as one machine's. Gaps, overlaps, and results of another
/// program or of other worlds are refused.
pub fn merge(
    parts: &[PathBuf],
    out: &Path,
    overwrite: bool,
    as_json: bool,
) -> anyhow::Result<Exit> {
    if out.exists() && !overwrite {
        let what = format!(
            "{} is there already: name another file with --out, or replace it with --overwrite",
            out.display()
        );
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let mut entries: Vec<(PathBuf, Entry)> = Vec::new();
    for part in parts {
        let read = Results::read(part)?;
        entries.extend(read.into_iter().map(|entry| (part.clone(), entry)));
    }
    let campaign = check(&mut entries).map_err(|what| Failure::new(Exit::CheckFailed, what))?;
    let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
    let joined = super::results::joined(entries);
    write(out, &joined)?;
    let mut tally = cambist_sim::Aggregate::default();
    for entry in &joined {
        tally.merge(&entry.tally);
    }
    if as_json {
        print_json(&json!({
            "seeds": campaign.count,
            "first_seed": campaign.first,
            "seeds_failed": tally.seeds_failed,
            "violations": tally.violations,
            "simulated_hours": tally.simulated_hours(),
            "results": out.display().to_string(),
        }))?;
    } else {
        print_text(&format!(
            "seeds {campaign}: {} failed, {} violations, {:.1} simulated hours\n",
            tally.seeds_failed,
            tally.violations,
            tally.simulated_hours()
        ))?;
    }
    Ok(if tally.violations == 0 && tally.seeds_failed == 0 {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

/// Sorts entries, and returns the seeds of the campaign that they are.
fn check(entries: &mut [(PathBuf, Entry)]) -> Result<Seeds, String> {
    entries.sort_by_key(|(_, entry)| (entry.range.first, entry.range.count));
    let Some((file, first)) = entries.first() else {
        return Err("there are no results in these files".to_owned());
    };
    let Some(campaign) = first.campaign else {
        return Err(format!(
            "{}: its results do not say of which campaign they are: they are of a program before shards could be merged",
            file.display()
        ));
    };
    let mut next = campaign.first;
    for (path, entry) in entries.iter() {
        let path = path.display();
        let differs = [
            (
                entry.build != first.build || entry.version != first.version,
                "another program",
            ),
            (
                entry.duration_ms != first.duration_ms,
                "worlds of another length",
            ),
            (entry.campaign != Some(campaign), "another campaign"),
        ];
        if let Some((_, what)) = differs.iter().find(|(differs, _)| *differs) {
            return Err(format!(
                "{path}: seeds {} are of {what} than those in {}",
                entry.range,
                file.display()
            ));
        }
        if entry.range.first > next {
            let gap = Seeds {
                first: next,
                count: entry.range.first - next,
            };
            return Err(missing(gap));
        }
        if entry.range.first < next {
            return Err(format!(
                "{path}: seeds {} are in another part as well",
                entry.range
            ));
        }
        next = entry.range.last().saturating_add(1);
    }
    if next <= campaign.last() {
        return Err(missing(Seeds {
            first: next,
            count: campaign.last() - next + 1,
        }));
    }
    Ok(campaign)
}

fn missing(gap: Seeds) -> String {
    format!(
        "seeds {gap} are missing: run their shards, or run them again, which goes on where they ended"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_sim::Aggregate;

    use super::*;

    fn entry(first: u64, count: u64) -> (PathBuf, Entry) {
        let entry = Entry {
            build: "b".to_owned(),
            version: "0".to_owned(),
            campaign: Some(Seeds {
                first: 1,
                count: 20,
            }),
            range: Seeds { first, count },
            duration_ms: 60_000,
            tally: Aggregate::default(),
            failed: Vec::new(),
        };
        (format!("{first}.jsonl").into(), entry)
    }

    #[test]
    fn gaps_overlaps_and_other_campaigns_are_refused() {
        let mut good = [entry(11, 10), entry(1, 4), entry(5, 6)];
        assert_eq!(
            check(&mut good),
            Ok(Seeds {
                first: 1,
                count: 20
            })
        );
        let wrong = |mut entries: Vec<(PathBuf, Entry)>, words: &str| {
            let error = check(&mut entries).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        wrong(
            vec![entry(1, 4), entry(11, 10)],
            "seeds 5 to 10 are missing",
        );
        wrong(vec![entry(2, 19)], "seeds 1 to 1 are missing");
        wrong(vec![entry(1, 19)], "seeds 20 to 20 are missing");
        wrong(vec![entry(1, 10), entry(10, 11)], "in another part as well");
        wrong(vec![], "no results");
        let changed = |change: fn(&mut Entry)| {
            let mut second = entry(11, 10);
            change(&mut second.1);
            vec![entry(1, 10), second]
        };
        wrong(changed(|e| e.build = "c".to_owned()), "another program");
        wrong(changed(|e| e.duration_ms = 1), "another length");
        wrong(changed(|e| e.campaign = None), "another campaign");
        let mut old = entry(1, 20);
        old.1.campaign = None;
        wrong(vec![old], "do not say of which campaign");
    }
}
