//! Joins the results of the shards of one campaign.

use std::path::{Path, PathBuf};

use cambist::commands::{print_json, print_text};
use cambist::exit::{Exit, Failure};
use serde_json::json;

use super::results::{Entry, Place, Results, add_up, write};
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
    let mut entries: Vec<(Place, Entry)> = Vec::new();
    let mut tally = cambist_sim::Aggregate::default();
    for part in parts {
        for (place, entry) in Results::read(part)? {
            add_up(&mut tally, &place, &entry)?;
            entries.push((place, entry));
        }
    }
    let campaign = check(&mut entries).map_err(|what| Failure::new(Exit::CheckFailed, what))?;
    let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
    let joined = super::results::joined(entries);
    write(out, &joined)?;
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
fn check(entries: &mut [(Place, Entry)]) -> Result<Seeds, String> {
    entries.sort_by_key(|(_, entry)| (entry.range.first, entry.range.count));
    let Some((place, first)) = entries.first() else {
        return Err("there are no results in these files".to_owned());
    };
    let Some(campaign) = first.campaign else {
        return Err(format!(
            "{}: its results do not say of which campaign they are: they are of a program before shards could be merged",
            place.path.display()
        ));
    };
    // `None` behind the last number of 64 bits.
    let mut next = Some(campaign.first);
    for (at, entry) in entries.iter() {
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
                "{at}: seeds {} are of {what} than those in {place}",
                entry.range
            ));
        }
        if let Some(next) = next
            && entry.range.first > next
        {
            let gap = Seeds {
                first: next,
                count: entry.range.first - next,
            };
            return Err(missing(gap));
        }
        if next != Some(entry.range.first) {
            return Err(format!(
                "{at}: seeds {} are in another part as well",
                entry.range
            ));
        }
        next = entry.range.after();
    }
    if let Some(next) = next
        && next <= campaign.last()
    {
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

    fn entry(first: u64, count: u64) -> (Place, Entry) {
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
        let path = format!("{first}.jsonl").into();
        (Place { path, line: 1 }, entry)
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
        let wrong = |mut entries: Vec<(Place, Entry)>, words: &str| {
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
        let mut last = entry(u64::MAX - 1, 2);
        last.1.campaign = Some(last.1.range);
        assert_eq!(check(&mut [last.clone()]), Ok(last.1.range));
        let mut again = last.clone();
        again.1.range.first = u64::MAX;
        wrong(vec![last, again], "in another part as well");
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
