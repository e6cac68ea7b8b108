//! Runs simulated worlds with one edit of a patched copy on, until a world finds it.
//!
//! Reads searches from standard input, one a line: `NUMBER SEEDS@MILLISECONDS,… CHECKS KIND`. CHECKS are the names of
//! violations that count, joined by commas, or `any`; KIND is `all`, `falls` for worlds whose price falls while
//! everything is filled, `sequenced` for worlds of the second venue, `kraken` for those of Kraken's interface,
//! `evm-pools` for those of a chain, or `portfolio` for those of two venues at once. Writes one line for each search that ends:
//! `NUMBER found SEED MILLISECONDS TRIED CHECK` or `NUMBER missed TRIED`. A world that panics has found the edit, by the check `panic`.

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, mpsc};

use cambist_sim::{SeedRun, SimulatedVenue};

/// One search.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Search {
    number: u32,
    /// Seeds from 1 on, and the length of their worlds in ms, one after the other.
    lengths: Vec<(u64, u64)>,
    /// Names of violations that count; none for any.
    checks: Vec<String>,
    kind: Kind,
}

/// Which worlds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All,
    Falls,
    Sequenced,
    Kraken,
    EvmPools,
    Portfolio,
}

impl Search {
    fn parse(line: &str) -> Option<Self> {
        let [number, lengths, checks, kind] = line.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let length = |text: &str| {
            let (seeds, ms) = text.split_once('@')?;
            Some((seeds.parse().ok()?, ms.parse().ok()?))
        };
        Some(Self {
            number: number.parse().ok()?,
            lengths: lengths.split(',').map(length).collect::<Option<_>>()?,
            checks: match checks {
                "any" => Vec::new(),
                checks => checks.split(',').map(str::to_owned).collect(),
            },
            kind: match kind {
                "all" => Kind::All,
                "falls" => Kind::Falls,
                "sequenced" => Kind::Sequenced,
                "kraken" => Kind::Kraken,
                "evm-pools" => Kind::EvmPools,
                "portfolio" => Kind::Portfolio,
                _ => return None,
            },
        })
    }

    /// Its line of output.
    fn run(&self) -> String {
        cambist_switch::set(self.number);
        let mut tried = 0;
        for (seeds, ms) in &self.lengths {
            for seed in 1..=*seeds {
                let mut run = SeedRun::new(seed, *ms);
                run.venue = match self.kind {
                    Kind::All | Kind::Falls => SimulatedVenue::Exchange,
                    Kind::Sequenced => SimulatedVenue::Sequenced,
                    Kind::Kraken => SimulatedVenue::Kraken,
                    Kind::EvmPools => SimulatedVenue::EvmPools,
                    Kind::Portfolio => SimulatedVenue::Portfolio,
                };
                if self.kind == Kind::Falls && run.config().falls.mean_ms == 0 {
                    continue;
                }
                tried += 1;
                if let Some(check) = self.check(&run) {
                    return format!("{} found {seed} {ms} {tried} {check}", self.number);
                }
            }
        }
        format!("{} missed {tried}", self.number)
    }

    /// The first violation that counts.
    fn check(&self, run: &SeedRun) -> Option<String> {
        let counts = |check: &str| self.checks.is_empty() || self.checks.iter().any(|c| c == check);
        let checks = match catch_unwind(AssertUnwindSafe(|| run.run())) {
            Ok(Ok(outcome)) => outcome.violations.into_iter().map(|v| v.check).collect(),
            Ok(Err(_)) => vec!["no_world".to_owned()],
            Err(_) => vec!["panic".to_owned()],
        };
        checks.into_iter().find(|check| counts(check))
    }
}

fn main() -> ExitCode {
    let jobs: usize = match std::env::args().nth(1).map(|jobs| jobs.parse()) {
        Some(Ok(jobs)) if jobs > 0 => jobs,
        _ => {
            eprintln!("usage: cambist-worlds THREADS < SEARCHES");
            return ExitCode::from(2);
        }
    };
    let mut searches = VecDeque::new();
    for line in std::io::stdin().lock().lines() {
        let search = line.ok().and_then(|line| Search::parse(&line));
        let Some(search) = search else {
            eprintln!("a line is no search: NUMBER SEEDS@MILLISECONDS CHECKS KIND");
            return ExitCode::from(2);
        };
        searches.push_back(search);
    }
    // A panic is a finding and not an end.
    std::panic::set_hook(Box::new(|_| {}));
    let queue = Mutex::new(searches);
    let (done, lines) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (queue, done) = (&queue, done.clone());
            scope.spawn(move || {
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
                    let Some(search) = next else { return };
                    if done.send(search.run()).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let mut out = std::io::stdout().lock();
        for line in lines {
            if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    });
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_search() {
        let search = Search::parse("7 60@600000,300@3600000 oracle_fee,panic falls");
        let expected = Search {
            number: 7,
            lengths: vec![(60, 600_000), (300, 3_600_000)],
            checks: vec!["oracle_fee".to_owned(), "panic".to_owned()],
            kind: Kind::Falls,
        };
        assert_eq!(search, Some(expected));
        let sequenced = Search::parse("7 1@1 any sequenced");
        assert_eq!(sequenced.map(|search| search.kind), Some(Kind::Sequenced));
        for bad in ["", "7", "x 1@1 any all", "7 1 any all", "7 1@1 any some"] {
            assert_eq!(Search::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn an_unpatched_build_finds_nothing() {
        let search = Search::parse("7 3@60000 any all");
        assert_eq!(search.map(|s| s.run()).as_deref(), Some("7 missed 3"));
    }
}
