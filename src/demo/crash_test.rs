//! The crash test: the demo kills its daemon with SIGKILL while a submit has no answer, starts it again, and measures
//! the time until its quotes meet the bounds of its strategies again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Context;
use cambist_core::{ClientOrderId, Hash, VenueTime};
use cambist_report::text::LABEL;
use cambist_strategies::Promise;
use serde::Serialize;
use tokio::time::Instant;

use crate::cli::DemoArgs;
use crate::demo::audit;
use crate::demo::audit::Findings;
use crate::demo::child::{Child, POLL_INTERVAL};
use crate::demo::end_checks::{Books, ReplayedTapes};
use crate::demo::recording_proxy::{RecordingProxy, Unanswered};
use crate::demo::status;
use crate::demo::venue::{Shown, Venue};
use cambist_daemon::config::Daemon;
use cambist_store::view;
use cambist_store::view::{Remembered, RememberedPoolTransaction};

/// A shorter demo has no time for two runs.
pub const SHORTEST_S: u64 = 20;
/// Longest wait for a submit; without one the daemon is killed between two submits.
const CATCH: Duration = Duration::from_secs(8);
/// Time between the return of the quotes and the query of resting orders.
const AFTERWARDS: Duration = Duration::from_millis(1_500);
/// The exchange's clock may be behind ours by this much.
const MARGIN_MS: u64 = 1_000;
/// Additional time before the demo gives up.
const TIMEOUT: Duration = Duration::from_secs(20);

/// When the daemon is killed, or why it is not.
pub fn when(args: &DemoArgs) -> Result<Duration, &'static str> {
    if args.no_crash {
        Err("--no-crash")
    } else if args.forever {
        Err("without an end there are no two thirds of the time")
    } else if args.duration < SHORTEST_S {
        Err("shorter than 20 s: no time for two lives")
    } else {
        Ok(Duration::from_secs(args.duration) * 2 / 3)
    }
}

/// An order, join or exit that was in an unknown state when the daemon was killed.
#[derive(Clone, Debug, Serialize)]
pub struct Unknown {
    /// The client order id.
    pub client_order_id: String,
    /// `buy` or `sell`, `join` or `exit`.
    pub side: String,
    /// `submit unanswered`: it was sent. `sealed`: on disk, never sent.
    pub why: &'static str,
    /// The status in the answer that the daemon did not receive.
    pub exchange_had_answered: Option<String>,
    /// The evidence that ended the unknown state, found by the restarted daemon.
    pub evidence: Option<String>,
    /// When that was, seconds since the restart.
    pub evidence_after_s: Option<f64>,
    /// The exchange's status at the end.
    #[serde(rename = "exchange_says")]
    pub exchange_status: Option<String>,
    #[serde(skip)]
    id: ClientOrderId,
    #[serde(skip)]
    hash: Hash,
}

/// Results, in the form of the demo's JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Crash {
    /// Time of the kill, seconds since the beginning of the demo.
    pub at_s: f64,
    /// Whether at least one submit had no answer.
    pub mid_submit: bool,
    /// Number of orders that may have been alive.
    pub open: u64,
    /// Those in an unknown state.
    pub unknown: Vec<Unknown>,
    /// Time from the kill until quotes rested on both sides again, or until the pool was known again.
    pub recovery_s: f64,
    /// The allowed time: 3 s, and what the fence requires if an order has to wait for it.
    pub recovery_max_s: f64,
    /// Time after that in which a side was withheld because the start still compared orders and balances: a venue of
    /// few requests may show both sides before.
    #[serde(skip)]
    pub recovering: Duration,
    /// Number of orders that exist twice.
    pub doubled: u64,
    /// Number of orders, or fills of them, that the daemon does not know.
    pub forgotten: u64,
    #[serde(skip)]
    findings: Findings,
    #[serde(skip)]
    promise: Promise,
}

/// How the daemon's process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// SIGKILL while a submit has no answer.
    KillMidSubmit,
    /// SIGABRT at any time, as if a check of the program had failed.
    Abort,
}

/// A daemon whose process has ended, and what it left in its store and with the exchange.
pub struct Killed {
    at: Instant,
    mid_submit: bool,
    unanswered: Vec<Unanswered>,
    answered: BTreeSet<String>,
    known: BTreeMap<u64, Remembered>,
    moves: Vec<RememberedPoolTransaction>,
}

/// Ends the daemon's process.
pub async fn kill(
    wire: &RecordingProxy,
    daemon: &mut Child,
    config: &Daemon,
    way: Way,
) -> anyhow::Result<Killed> {
    let mid_submit = match way {
        Way::KillMidSubmit => {
            let caught = wire.catch(CATCH).await;
            daemon.kill()?;
            caught
        }
        Way::Abort => {
            // Answers from here on do not count as received.
            wire.catch(Duration::ZERO).await;
            daemon.abort()?;
            false
        }
    };
    let at = Instant::now();
    let (unanswered, answered) = wire.release();
    let known = view::remembered(&config.store.dir)?;
    let moves = view::remembered_moves(&config.store.dir)?;
    let address_file = config.metrics_address_file();
    // A file of the killed daemon would have an old port.
    std::fs::remove_file(&address_file).with_context(|| address_file.display().to_string())?;
    Ok(Killed {
        at,
        mid_submit,
        unanswered,
        answered,
        known,
        moves,
    })
}

impl Killed {
    /// One line when a daemon was killed with SIGKILL.
    pub const fn line(&self) -> &'static str {
        if self.mid_submit {
            "killing the daemon with SIGKILL in the middle of a submit"
        } else {
            "killing the daemon with SIGKILL between two submits: none came for 8 s"
        }
    }

    /// Waits for the recovery of a daemon that was started again at `started`. It may take `recovery_max` in addition to
    /// what the fence requires. Returns the address of its metrics, and the results.
    pub async fn recover(
        &self,
        (begun, started): (Instant, Instant),
        again: &mut Child,
        (venue, config, promise): (&mut impl Venue, &Daemon, Promise),
        recovery_max: Duration,
    ) -> anyhow::Result<(String, Crash)> {
        let open: Vec<_> = self
            .known
            .values()
            .filter(|one| one.end.is_none())
            .collect();
        let on_wire: Vec<_> = self
            .unanswered
            .iter()
            .filter_map(|submit| Some((submit.client_order_id.clone()?, submit.answered.clone())))
            .collect();
        let mut unknown: Vec<_> = open
            .iter()
            .filter_map(|one| unknown(one, &on_wire, &self.answered))
            .collect();
        let open_moves: Vec<_> = self.moves.iter().filter(|one| one.end.is_none()).collect();
        // At most one request per pool is in flight: the one in the proxy.
        let on_wire = self.unanswered.iter().find(|submit| submit.is_move);
        let under_way = open_moves.first().zip(on_wire);
        unknown.extend(under_way.map(|(one, submit)| unknown_move(one, submit)));

        let address_file = config.metrics_address_file();
        let metrics = again.address(&address_file, TIMEOUT).await?;
        let fence = Duration::from_secs(config.dead_after_s());
        let longest = recovery_max + fence + TIMEOUT;
        while !status::does(&metrics, promise, venue).await {
            if let Some(status) = again.exited()? {
                anyhow::bail!("{}:\n{}", again.how(status), again.last_words());
            }
            if started.elapsed() > longest {
                anyhow::bail!(
                    "no {} {} s after the start:\n{}",
                    what_is_back(promise),
                    longest.as_secs(),
                    again.last_words()
                );
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let recovery = started.elapsed();
        // The exchange limits requests per key: the daemon's recovery has priority.
        tokio::time::sleep(AFTERWARDS).await;
        let since = open.iter().map(|one| one.made_at).min();
        let since = VenueTime(since.unwrap_or(VenueTime(0)).0.saturating_sub(MARGIN_MS));
        let Shown {
            orders,
            pool_transactions,
        } = venue.shown_since(config, since).await?;
        let taken = orders.iter().map(|order| order.hash);
        let taken: BTreeSet<_> = taken
            .chain(pool_transactions.iter().map(|m| m.hash))
            .collect();
        // An order that the exchange does not show has to wait until the exchange's clock passes expiry and grace.
        let is_fenced = unknown.iter().any(|one| !taken.contains(&one.hash));
        let recovery_max = recovery_max + if is_fenced { fence } else { Duration::ZERO };
        let before: BTreeSet<_> = self.known.values().map(|one| one.hash).collect();
        let unknown_before: BTreeSet<_> = unknown.iter().map(|one| one.hash).collect();
        let crash = Crash {
            at_s: (self.at - begun).as_secs_f64(),
            mid_submit: self.mid_submit,
            open: (open.len() + open_moves.len()) as u64,
            unknown,
            recovery_s: recovery.as_secs_f64(),
            recovery_max_s: recovery_max.as_secs_f64(),
            recovering: Duration::ZERO,
            doubled: 0,
            forgotten: 0,
            findings: Findings {
                doubled: audit::duplicates(&orders, &unknown_before, &before),
                forgotten: Vec::new(),
            },
            promise,
        };
        Ok((metrics, crash))
    }

    /// When the process ended.
    pub const fn at(&self) -> Instant {
        self.at
    }
}

/// Whether an order that may be alive is in an unknown state: its answer was in flight, or it may have been sent.
fn unknown(
    one: &Remembered,
    on_wire: &[(String, Option<String>)],
    answered: &BTreeSet<String>,
) -> Option<Unknown> {
    let id = one.client_id.to_string();
    let submit = on_wire.iter().find(|(submitted, _)| *submitted == id);
    let why = match submit {
        Some(_) => "submit unanswered",
        None if !answered.contains(&id) => "sealed",
        None => return None,
    };
    Some(Unknown {
        client_order_id: id,
        side: one.side.clone(),
        why,
        exchange_had_answered: submit.and_then(|(_, answer)| answer.clone()),
        evidence: None,
        evidence_after_s: None,
        exchange_status: None,
        id: one.client_id,
        hash: one.hash,
    })
}

/// A join or an exit whose answer was in flight.
fn unknown_move(one: &RememberedPoolTransaction, submit: &Unanswered) -> Unknown {
    Unknown {
        client_order_id: one.transaction.client_id.to_string(),
        side: one.transaction.kind.name().to_owned(),
        why: "submit unanswered",
        exchange_had_answered: submit.answered.clone(),
        evidence: None,
        evidence_after_s: None,
        exchange_status: None,
        id: one.transaction.client_id,
        hash: one.hash,
    }
}

/// What a recovered daemon does again.
pub const fn what_is_back(promise: Promise) -> &'static str {
    match promise {
        Promise::Quotes => "quotes on both sides",
        Promise::PoolShares => "knowledge of the pool",
        Promise::Total | Promise::Swaps | Promise::Weight | Promise::Hedge => "readiness",
    }
}

impl Crash {
    /// Ids of the orders that were in an unknown state.
    pub fn unknown_ids(&self) -> Vec<ClientOrderId> {
        self.unknown.iter().map(|one| one.id).collect()
    }

    /// One line when the daemon has recovered.
    pub fn recovery_line(&self) -> String {
        let (back, open) = match self.promise {
            Promise::Quotes => ("both sides quoted", "open orders"),
            Promise::PoolShares => ("its pool known", "joins and exits under way"),
            Promise::Total | Promise::Swaps | Promise::Weight | Promise::Hedge => {
                ("ready", "open orders")
            }
        };
        format!(
            "daemon is back: {back} {:.2} s after the kill, {} of {} {open} had been unknown",
            self.recovery_s,
            self.unknown.len(),
            self.open
        )
    }

    /// Adds the results at the end: from the tapes, the exchange's books and the store.
    pub fn conclude(
        &mut self,
        played: &ReplayedTapes,
        books: &Books,
        config: &Daemon,
    ) -> anyhow::Result<()> {
        for one in &mut self.unknown {
            if let Some((after_ms, what)) = played.evidence.get(&one.id) {
                one.evidence = Some(what.clone());
                one.evidence_after_s = Some(Duration::from_millis(*after_ms).as_secs_f64());
            }
            let shown = books.orders.iter().find(|order| order.hash == one.hash);
            let moved = books.moves.iter().find(|moved| moved.hash == one.hash);
            one.exchange_status = shown
                .map(|order| order.status.name().to_owned())
                .or_else(|| moved.map(|moved| format!("{:?}", moved.status).to_lowercase()));
        }
        let known = view::remembered(&config.store.dir)?;
        let found = audit::compare(&books.orders, &known);
        self.findings.doubled.extend(found.doubled);
        self.findings.forgotten.extend(found.forgotten);
        let known = view::remembered_moves(&config.store.dir)?;
        let found = audit::compare_moves(&books.moves, &known, books.numbers_return);
        self.findings.doubled.extend(found.doubled);
        self.findings.forgotten.extend(found.forgotten);
        self.doubled = self.findings.doubled.len() as u64;
        self.forgotten = self.findings.forgotten.len() as u64;
        Ok(())
    }

    /// Duplicate orders, lost orders, and failed checks, one sentence each; empty if there are none.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.findings.problems();
        if self.recovery_s > self.recovery_max_s {
            problems.push(format!(
                "{} came back after {:.2} s, not within {:.0} s",
                what_is_back(self.promise),
                self.recovery_s,
                self.recovery_max_s
            ));
        }
        for one in self.unknown.iter().filter(|one| one.evidence.is_none()) {
            let id = &one.client_order_id;
            problems.push(format!("there is no evidence of what became of order {id}"));
        }
        problems
    }

    /// The results as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut put = |label: &str, what: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{label:<LABEL$}{what}");
        };
        let moment = if self.mid_submit {
            "while a submit had no answer"
        } else {
            "between two submits: none came"
        };
        put(
            "killed",
            &format!("after {:.1} s with SIGKILL, {moment}", self.at_s),
        );
        put(
            "then",
            &format!(
                "{} orders may have been alive, {} in an unknown state",
                self.open,
                self.unknown.len()
            ),
        );
        for one in &self.unknown {
            let truth = one.exchange_had_answered.as_deref();
            let truth = truth.map_or_else(
                || one.why.to_owned(),
                |state| format!("accepted ({state}), answer not received"),
            );
            put(
                "  unknown",
                &format!("{} {}: {truth}", one.side, one.client_order_id),
            );
            let evidence = one.evidence.as_deref().unwrap_or("none");
            put("  evidence", evidence);
            let status = one.exchange_status.as_deref().unwrap_or("never shown");
            let after = one
                .evidence_after_s
                .map_or_else(String::new, |s| format!("{s:.2} s after the start; "));
            put("", &format!("{after}in the end: {status}"));
        }
        let back = match self.promise {
            Promise::Quotes => "both sides again",
            Promise::PoolShares => "pool known again",
            Promise::Total | Promise::Swaps | Promise::Weight | Promise::Hedge => "ready again",
        };
        put(
            back,
            &format!(
                "{:.2} s after the kill, of {:.0} s allowed",
                self.recovery_s, self.recovery_max_s
            ),
        );
        put("doubled", &self.doubled.to_string());
        put("forgotten", &self.forgotten.to_string());
        text
    }
}
