//! Which part of the work this process does: given on the command line, or by the scheduler that started it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};

/// Most parts of one work.
const PARTS_MAX: u64 = 10_000;

/// One part of several, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    part: u64,
    parts: u64,
}

/// A text that names no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a shard; write its number and the number of parts, such as 1/4, with at most {PARTS_MAX} parts"
)]
pub struct NoShard(String);

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let wrong = || NoShard(text.to_owned());
        let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| wrong());
        let (part, parts) = (number(part)?, number(parts)?);
        Self::new(part, parts).ok_or_else(wrong)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

impl Shard {
    /// A part of several; `None` if there is no such part.
    pub fn new(part: u64, parts: u64) -> Option<Self> {
        let there = part > 0 && part <= parts && parts <= PARTS_MAX;
        there.then_some(Self { part, parts })
    }

    /// Number of this part, from 1.
    pub const fn part(self) -> u64 {
        self.part
    }

    /// Number of parts.
    pub const fn parts(self) -> u64 {
        self.parts
    }

    /// Whether an item, counted from 0, belongs to this part: the items go to the parts in turn.
    pub const fn has(self, item: u64) -> bool {
        item % self.parts == self.part - 1
    }

    /// A name for files and folders: `shard-0003-of-0008`.
    pub fn file_name(self) -> String {
        format!("shard-{:04}-of-{:04}", self.part, self.parts)
    }

    /// Which part this process does: as requested, else as the scheduler set it, else all. `total` is the number of
    /// parts where the scheduler does not say it.
    pub fn choose(chosen: Option<Self>, total: Option<u64>) -> Result<Option<Self>, Failure> {
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let found = match chosen {
            Some(shard) => return Ok(whole(shard)),
            None => of_scheduler(&environment, total),
        };
        found
            .map(|found| found.and_then(whole))
            .map_err(|what| Failure::new(Exit::Usage, what))
    }
}

/// One part of one is all of it.
fn whole(shard: Shard) -> Option<Shard> {
    (shard.parts > 1).then_some(shard)
}

/// The remedy for wrong variables of a scheduler.
const REMEDY: &str = "say which part this is with --shard I/N; --shard 1/1 does all of it";

/// The part that Slurm (`sbatch --array`) or Kubernetes (`completionMode: Indexed`) gave this process.
fn of_scheduler(
    environment: &dyn Fn(&str) -> Option<String>,
    total: Option<u64>,
) -> Result<Option<Shard>, String> {
    let number = |name: &str| {
        let text = environment(name);
        let read = text.map(|text| {
            text.parse::<u64>()
                .map_err(|_| format!("{name} is {text:?} and no whole number: {REMEDY}"))
        });
        read.transpose()
    };
    let stated = match (total, number("CAMBIST_SHARDS")?) {
        (Some(total), _) | (None, Some(total)) => Some(total),
        (None, None) => None,
    };
    if let Some(id) = number("SLURM_ARRAY_TASK_ID")? {
        let all =
            ["COUNT", "MIN", "MAX", "STEP"].map(|end| number(&format!("SLURM_ARRAY_TASK_{end}")));
        let [count, min, max, step] = all;
        let Some(count) = count? else {
            return Err(format!(
                "SLURM_ARRAY_TASK_ID is set and SLURM_ARRAY_TASK_COUNT is not: {REMEDY}"
            ));
        };
        let (min, step) = (min?.unwrap_or(0), step?.unwrap_or(1).max(1));
        let max = max?
            .unwrap_or_else(|| min.saturating_add(count.saturating_sub(1).saturating_mul(step)));
        let is_even = max
            .checked_sub(min)
            .is_some_and(|span| span / step + 1 == count && span % step == 0);
        if !is_even {
            return Err(format!(
                "the Slurm array has {count} tasks from {min} to {max} in steps of {step}: number them without gaps, such as --array=1-{count}, or {REMEDY}"
            ));
        }
        if stated.is_some_and(|stated| stated != count) {
            return Err(format!(
                "--shards or CAMBIST_SHARDS asks for {} parts, and the Slurm array has {count}: {REMEDY}",
                stated.unwrap_or_default()
            ));
        }
        let part = id
            .checked_sub(min)
            .filter(|offset| offset % step == 0)
            .map(|offset| offset / step + 1);
        let shard = part.and_then(|part| Shard::new(part, count));
        return shard.map(Some).ok_or_else(|| {
            format!("Slurm array task {id} of {count} from {min} is no part of at most {PARTS_MAX}: {REMEDY}")
        });
    }
    if let Some(index) = number("JOB_COMPLETION_INDEX")? {
        let Some(parts) = stated else {
            return Err(format!(
                "JOB_COMPLETION_INDEX is {index}, and Kubernetes does not say of how many: state the job's completions with --shards N or CAMBIST_SHARDS, or {REMEDY}"
            ));
        };
        let shard = Shard::new(index.saturating_add(1), parts);
        return shard.map(Some).ok_or_else(|| {
            format!("JOB_COMPLETION_INDEX {index} is no part of {parts}, counted from 0 (at most {PARTS_MAX}): {REMEDY}")
        });
    }
    if total.is_some() {
        return Err(format!(
            "--shards gives the number of parts, and neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX gives the part: {REMEDY}"
        ));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn chosen(pairs: &[(&str, &str)], total: Option<u64>) -> Result<Option<String>, String> {
        let environment = |name: &str| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        of_scheduler(&environment, total).map(|shard| shard.map(|shard| shard.to_string()))
    }

    #[test]
    fn texts_are_strict() {
        assert_eq!("2/4".parse(), Ok(Shard { part: 2, parts: 4 }));
        for bad in ["", "1", "0/2", "3/2", "a/b", "1/0", "1/2/3", "1/10001"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_item_belongs_to_one_shard() {
        for item in 0..100 {
            let owners = (1..=7).filter(|part| Shard::new(*part, 7).unwrap().has(item));
            assert_eq!(owners.count(), 1, "{item}");
        }
    }

    #[test]
    fn slurm_arrays_may_begin_anywhere_and_have_steps_and_no_gaps() {
        let slurm = |id, count, min, max, step| {
            chosen(
                &[
                    ("SLURM_ARRAY_TASK_ID", id),
                    ("SLURM_ARRAY_TASK_COUNT", count),
                    ("SLURM_ARRAY_TASK_MIN", min),
                    ("SLURM_ARRAY_TASK_MAX", max),
                    ("SLURM_ARRAY_TASK_STEP", step),
                ],
                None,
            )
        };
        assert_eq!(slurm("0", "4", "0", "3", "1"), Ok(Some("1/4".to_owned())));
        assert_eq!(slurm("4", "4", "1", "4", "1"), Ok(Some("4/4".to_owned())));
        assert_eq!(
            slurm("14", "3", "10", "14", "2"),
            Ok(Some("3/3".to_owned()))
        );
        // --array=1,3,7
        assert!(
            slurm("3", "3", "1", "7", "1")
                .unwrap_err()
                .contains("without gaps")
        );
        assert!(
            slurm("x", "3", "1", "3", "1")
                .unwrap_err()
                .contains("no whole number")
        );
        let few = [("SLURM_ARRAY_TASK_ID", "1")];
        assert!(
            chosen(&few, None)
                .unwrap_err()
                .contains("TASK_COUNT is not")
        );
        let pair = [
            ("SLURM_ARRAY_TASK_ID", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "5"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
        ];
        assert_eq!(chosen(&pair, None), Ok(Some("2/5".to_owned())));
        assert!(
            chosen(&pair, Some(4))
                .unwrap_err()
                .contains("asks for 4 parts")
        );
    }

    #[test]
    fn kubernetes_gives_the_part_and_an_argument_their_number() {
        let index = [("JOB_COMPLETION_INDEX", "0")];
        assert!(chosen(&index, None).unwrap_err().contains("--shards"));
        assert_eq!(chosen(&index, Some(4)), Ok(Some("1/4".to_owned())));
        let both = [("JOB_COMPLETION_INDEX", "3"), ("CAMBIST_SHARDS", "4")];
        assert_eq!(chosen(&both, None), Ok(Some("4/4".to_owned())));
        let beyond = [("JOB_COMPLETION_INDEX", "4"), ("CAMBIST_SHARDS", "4")];
        assert!(chosen(&beyond, None).unwrap_err().contains("no part of 4"));
    }

    #[test]
    fn without_a_scheduler_it_is_all_of_it() {
        assert_eq!(chosen(&[], None), Ok(None));
        assert!(chosen(&[], Some(4)).unwrap_err().contains("gives the part"));
        assert_eq!(whole("1/1".parse().unwrap()), None);
    }
}
