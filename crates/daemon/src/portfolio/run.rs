//! Runs the venues of a portfolio until all of them have ended.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use cambist_host::clock::Clock;
use tokio::task::{JoinSet, LocalSet};
use tracing::Instrument;

use super::{Board, PortfolioFile};
use crate::config::Daemon;
use crate::live::daemon::{self, Run};

/// How often the reason is logged why a part has failed.
const REPEATED: Duration = Duration::from_mins(10);

/// How the part of one venue ended.
pub struct MemberEnd {
    /// The venue's name.
    pub name: String,
    /// As of a daemon of its own.
    pub run: anyhow::Result<Run>,
}

/// Runs all venues on the calling thread. One that is refused, or that ends by itself, does not end the others: its
/// reason is logged at once, and what it stated last keeps counting. In the order in which they ended.
pub async fn run(
    file: PortfolioFile,
    daemons: Vec<Daemon>,
    until_stdin_closes: bool,
) -> Vec<MemberEnd> {
    let names: Vec<_> = file
        .venues
        .iter()
        .map(|venue| venue.names.venue.clone())
        .collect();
    let board = Board::new(file, &daemons, Clock::of_engine());
    let local = LocalSet::new();
    let mut running = JoinSet::new();
    let running_parts = Rc::new(Cell::new(daemons.len()));
    for (index, (name, config)) in names.into_iter().zip(daemons).enumerate() {
        let member = board.member(index);
        let config = Rc::new(config);
        let still_running = Rc::clone(&running_parts);
        let notifier = member.notifier();
        let span = span(&name);
        let part = async move {
            let run = Box::pin(daemon::run(&config, Some(member), until_stdin_closes)).await;
            if let Err(error) = &run {
                log_end(&name, error, "has ended", still_running.get());
            }
            still_running.set(still_running.get().saturating_sub(1));
            let ended = |error| format!("ended: {error:#}");
            notifier.ended(&run.as_ref().err().map_or("ended".to_owned(), ended));
            MemberEnd { name, run }
        };
        running.spawn_local_on(part.instrument(span), &local);
    }
    local.run_until(all_ended(running)).await
}

/// What the log lines of a venue's part have in common. Of the level of errors, so that a log of errors alone has it.
/// Tasks and threads that are started have to take it with them.
pub fn span(venue: &str) -> tracing::Span {
    tracing::error_span!("portfolio", venue)
}

/// Waits until all parts have ended. While others go on, the reason of one that failed is logged again at times.
async fn all_ended(mut running: JoinSet<MemberEnd>) -> Vec<MemberEnd> {
    let mut ended: Vec<MemberEnd> = Vec::new();
    // The first tick is at once, when none has ended.
    let mut repeat = tokio::time::interval(REPEATED);
    loop {
        tokio::select! {
            joined = running.join_next() => match joined {
                Some(Ok(end)) => ended.push(end),
                // A panic in one part leaves the state of the process unknown to the others.
                Some(Err(error)) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(error) => tracing::error!(%error, "a part of the portfolio was cancelled"),
                },
                None => return ended,
            },
            _ = repeat.tick() => {
                for MemberEnd { name, run } in &ended {
                    if let Err(error) = run {
                        log_end(name, error, "has ended before", running.len() + 1);
                    }
                }
            }
        }
    }
}

/// Logs why the part of a venue ended. `running` parts run, this one included.
fn log_end(venue: &str, error: &anyhow::Error, when: &str, running: usize) {
    let error = format!("{error:#}");
    let follows = consequence(running);
    tracing::error!(venue, error, "the part of this venue {when}; {follows}");
}

/// What the end of one of so many running parts means for the others.
const fn consequence(running: usize) -> &'static str {
    match running {
        0 | 1 => "no other is left, and the program ends",
        _ => "the others go on, and add nothing that a limit of the portfolio bounds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_that_ends_has_no_others() {
        assert!(consequence(1).starts_with("no other is left"));
        assert!(consequence(2).starts_with("the others go on"));
    }
}
