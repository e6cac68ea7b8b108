//! `cambist doctor`: checks everything that must be right before a daemon trades unattended; one finding per line, each
//! with a remedy. Changes nothing and sends no order.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cambist_client::CallError;
use cambist_core::VenueTime;
use cambist_host::folder::{FolderError, PrivateFolder};
use serde::Serialize;
use serde_json::{Value, json};

use super::check_online::{self, Answered, Online};
use super::signer_limits::compare;
use super::{columns, print_json, print_text};
use crate::commands::daemon_control::Which;
use crate::commands::stated_loss::losses;
use crate::exit::{Exit, Failure};
use cambist_daemon::config::{Bound, Daemon, feasible};
use cambist_daemon::live::latch::Latch;
use cambist_daemon::live::start::refuse_other_account;
use cambist_daemon::live::start_retry::StartRetry;
use cambist_daemon::portfolio::Observed;
use cambist_daemon::venues::Access;
use cambist_host::secrets;
use cambist_store::{self, view};

/// Largest accepted difference between the system clock and the venue's time, which has whole seconds.
const CLOCK_MAX_S: u64 = 3;
/// Free space required in addition to the recordings.
const FREE_MIN_MB: u64 = 512;
/// Where systemd looks for the unit.
const UNITS: [&str; 4] = [
    "/etc/systemd/system/cambist@.service",
    "/run/systemd/system/cambist@.service",
    "/usr/local/lib/systemd/system/cambist@.service",
    "/usr/lib/systemd/system/cambist@.service",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    Good,
    Warning,
    Wrong,
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    check: &'static str,
    #[serde(rename = "verdict")]
    severity: Severity,
    found: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    fn has_wrong(&self, check: &str) -> bool {
        let mut found = self.0.iter();
        found.any(|found| found.check == check && found.severity == Severity::Wrong)
    }

    pub(super) fn good(&mut self, check: &'static str, found: impl Into<String>) {
        self.add(check, Severity::Good, found.into(), None);
    }

    pub(super) fn warn(
        &mut self,
        check: &'static str,
        found: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(check, Severity::Warning, found.into(), Some(fix.into()));
    }

    pub(super) fn wrong(
        &mut self,
        check: &'static str,
        found: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(check, Severity::Wrong, found.into(), Some(fix.into()));
    }

    /// Prints all findings unless they are wanted as JSON. Exit 1 if there is a problem.
    pub(super) fn shown(&self, config: &Path, json: bool) -> anyhow::Result<(Exit, Value)> {
        let mut findings = self.0.iter();
        let wrong = findings.any(|finding| finding.severity == Severity::Wrong);
        if !json {
            print_text(&text(&self.0))?;
        }
        let shape = json!({"ok": !wrong, "file": config, "findings": self.0});
        let exit = if wrong { Exit::CheckFailed } else { Exit::Done };
        Ok((exit, shape))
    }

    fn add(&mut self, check: &'static str, severity: Severity, found: String, fix: Option<String>) {
        self.0.push(Finding {
            check,
            severity,
            found,
            fix,
        });
    }
}

/// Prints all findings. Exit 1 if there is a problem, and 75 if the venue could not be asked beside a daemon.
pub fn run(which: &Which, json: bool) -> anyhow::Result<Exit> {
    let (exit, shape, _) = of_file(&which.config, json)?;
    if json {
        print_json(&shape)?;
    }
    Ok(exit)
}

/// As [`run`], for one file: prints the findings unless they are wanted as JSON, and returns what the account holds if the
/// venue answered.
pub(super) fn of_file(
    config: &Path,
    json: bool,
) -> anyhow::Result<(Exit, Value, Option<Observed>)> {
    let mut all = Findings::default();
    // An invalid file is reported in its own words, as by `check`.
    let daemon = Daemon::load(config)?;
    all.good("configuration", config.display().to_string());
    local(&daemon, config, &mut all);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut observed = None;
    let refused = if daemon.mode.trades() {
        runtime.block_on(venue(&daemon, &mut all, &mut observed))
    } else {
        None
    };
    let (exit, shape) = all.shown(config, json)?;
    Ok((refused.unwrap_or(exit), shape, observed))
}

/// Checks of this machine.
fn local(daemon: &Daemon, config: &Path, all: &mut Findings) {
    if daemon.mode.trades() {
        keys(daemon, all);
    } else {
        all.good(
            "mode",
            format!(
                "{}: no keys, no account, no orders; cambist check shows the details",
                daemon.mode.name()
            ),
        );
    }
    let dir = &daemon.store.dir;
    match PrivateFolder::visit(dir) {
        Ok(_) => all.good("state folder", dir.display().to_string()),
        Err(FolderError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            match PrivateFolder::could_create(dir) {
                Ok(()) => all.good(
                    "state folder",
                    format!("{}: the first start creates it", dir.display()),
                ),
                Err(error) => all.wrong(
                    "state folder",
                    error.to_string(),
                    "create it for the daemon's user, or set another store.dir",
                ),
            }
        }
        Err(error) => all.wrong(
            "state folder",
            error.to_string(),
            "store.dir must belong to the daemon's user alone",
        ),
    }
    if let Err(other) = refuse_other_account(daemon) {
        let fix = "set another store.dir for this account, or correct [venue] and [keys]";
        all.wrong("state folder", other.to_string(), fix);
    }
    let resume = format!("cambist resume --config {} --reason TEXT", config.display());
    if let Some(reason) = Latch::of(dir).raised() {
        all.wrong("latch", format!("raised: {reason}"), resume.clone());
    }
    if dir.join(cambist_store::FILE).exists() {
        match view::level(dir) {
            Ok((state, cause)) if state != cambist_core::event::TradingState::Active => {
                all.wrong(
                    "trading state",
                    format!("{}: {cause}", state.name()),
                    resume,
                );
            }
            Ok((state, _)) => all.good("trading state", state.name()),
            Err(error) => all.wrong("store", error.to_string(), "cambist status shows details"),
        }
    }
    disk(daemon, all);
    unit(daemon, all);
}

fn keys(daemon: &Daemon, all: &mut Findings) {
    match Access::check_keys(daemon) {
        Ok(()) => {
            let found = match &daemon.keys {
                secrets::Keys::Signer { .. } => {
                    "the file of the API key exists, and only this user can read it"
                }
                _ => daemon.venue.kind().description().keys_found,
            };
            all.good("keys", found);
        }
        Err(error) => all.wrong(
            "keys",
            error.to_string(),
            daemon.venue.kind().description().keys_help,
        ),
    }
}

/// The signer's limits beside those of the file. That it answers, and for which account, was checked with the keys.
fn signer(daemon: &Daemon, bound: &Bound, all: &mut Findings) {
    let Some(compared) = compare(daemon, Some(bound)) else {
        return;
    };
    match compared.problems {
        Ok(problems) if problems.is_empty() => {
            let found = format!("{} signs what the file allows", compared.socket);
            all.good("signer", found);
        }
        Ok(problems) => {
            for problem in problems {
                let fix = "loosen the signer's file, or tighten the daemon's; docs/signer.md";
                all.warn("signer", problem, fix);
            }
        }
        Err(error) => all.wrong("signer", error, "systemctl status cambist-signer@NAME"),
    }
}

fn disk(daemon: &Daemon, all: &mut Findings) {
    let tape = daemon.tape.as_ref();
    let needed_mb = FREE_MIN_MB + tape.map_or(0, |tape| tape.max_mb);
    let folders = std::iter::once(&daemon.store.dir).chain(tape.map(|tape| &tape.dir));
    for folder in folders {
        // The first start creates the folder in its existing parent.
        let Some(there) = folder.ancestors().find(|folder| folder.exists()) else {
            continue;
        };
        match cambist_host::folder::free_bytes(there) {
            Ok(free) => {
                let free_mb = free / 1_000_000;
                let found_text = format!("{} MB free for {}", free_mb, folder.display());
                if free_mb < needed_mb {
                    all.warn(
                        "disk",
                        found_text,
                        format!("free {needed_mb} MB, or lower tape.max_mb"),
                    );
                } else {
                    all.good("disk", found_text);
                }
            }
            Err(error) => all.warn(
                "disk",
                format!("{}: {error}", there.display()),
                "check that the folder can be read",
            ),
        }
    }
}

fn unit(daemon: &Daemon, all: &mut Findings) {
    let found = UNITS.iter().map(PathBuf::from).find(|path| path.exists());
    let Some(found) = found else {
        return all.warn(
            "unit",
            "no cambist@.service is installed: nothing starts the daemon again",
            "install the package or systemd/*.service, and run systemctl enable --now cambist@NAME for /etc/cambist/NAME.toml",
        );
    };
    let deadline_s = daemon.drain_deadline_ms / 1_000;
    let text = std::fs::read_to_string(&found).unwrap_or_default();
    let stop = text
        .lines()
        .find_map(|line| line.strip_prefix("TimeoutStopSec="));
    let stop_s = stop.and_then(|text| text.trim().parse::<u64>().ok());
    if stop_s.is_some_and(|stop_s| stop_s <= deadline_s) {
        all.warn(
            "unit",
            format!(
                "{}: TimeoutStopSec={} kills the daemon before the drain's deadline of {deadline_s} s",
                found.display(),
                stop.unwrap_or_default()
            ),
            format!("TimeoutStopSec={}", deadline_s + 15),
        );
    } else {
        all.good("unit", found.display().to_string());
    }
}

/// Checks at the venue. Every query is sent once, because venues may limit requests. Returns the exit code if the venue
/// could not be asked, because a daemon uses what is needed for that.
async fn venue(
    daemon: &Daemon,
    all: &mut Findings,
    observed: &mut Option<Observed>,
) -> Option<Exit> {
    let access = match Access::of_command(daemon, daemon.request_timeout_ms) {
        Ok(access) => access,
        Err(error) => {
            let exit = error.downcast_ref::<Failure>().map(|failure| failure.exit);
            let is_in_use = exit == Some(Exit::AnotherInstance);
            if is_in_use {
                let fix = "set keys.panic_dir, or stop the daemon";
                all.wrong("venue", error.to_string(), fix);
            } else if !all.has_wrong("keys") {
                // Unusable keys were reported above.
                let fix = "a daemon does not start before this is mended";
                all.wrong("venue", format!("{error:#}"), fix);
            }
            return exit.filter(|_| is_in_use);
        }
    };
    *observed = with_access(daemon, access, all).await;
    None
}

/// What the account holds, if everything was answered.
async fn with_access(daemon: &Daemon, access: Access, all: &mut Findings) -> Option<Observed> {
    let once = StartRetry::none();
    if let Some(Err(error)) = compare(daemon, None).map(|compared| compared.problems) {
        all.wrong("signer", error, "systemctl status cambist-signer@NAME");
        return None;
    }
    let mut session = match access.open(daemon, once).await {
        Ok(session) => session,
        Err(error) => {
            let is_unreached = matches!(
                error.downcast_ref::<CallError>(),
                Some(CallError::NotSent { .. } | CallError::Unknown { .. })
            );
            let description = daemon.venue.kind().description();
            all.wrong(
                "venue",
                format!("{error:#}"),
                if is_unreached {
                    description.unreached_help
                } else {
                    description.start_help
                },
            );
            return None;
        }
    };
    all.good("venue", daemon.venue.found());
    let bound = match session.bind(daemon, once).await {
        Ok(bound) => bound,
        Err(error) => {
            all.wrong(
                "precision",
                format!("{error:#}"),
                "compare the file with the output of cambist check --pin",
            );
            return None;
        }
    };
    all.good(
        "precision",
        "tokens and markets are listed as the file expects",
    );
    signer(daemon, &bound, all);
    amounts(daemon, &bound, all);
    match check_online::of(daemon, &session, &bound).await {
        Ok(online) => {
            let block_s = daemon.venue.evm().map_or(0, |link| link.block_s);
            clock(online.venue_time, online.answered, block_s, all);
            quotes(&online, all);
            Some(online.observed)
        }
        Err(error) => {
            all.wrong(
                "quotes",
                format!("{error:#}"),
                "cambist check --online shows details",
            );
            None
        }
    }
}

/// Compares the system clock with the venue's time when that was answered. The answer is as old as it was waited for, and
/// on a chain by up to the interval between blocks: a venue that is behind by that much shows no wrong clock.
fn clock(venue: VenueTime, answered: Answered, block_s: u64, all: &mut Findings) {
    let ours_s = answered.unix_s;
    let apart_s = ours_s.abs_diff(venue.as_s());
    let took_ms = answered.took.as_millis();
    let mut explained_s = 0;
    if ours_s > venue.as_s() {
        explained_s = block_s + u64::try_from(took_ms.div_ceil(1_000)).unwrap_or(u64::MAX);
    }
    let mut found_text = format!("{apart_s} s from the venue's time, which has whole seconds");
    if apart_s > CLOCK_MAX_S && explained_s > 0 {
        let of_block = if block_s > 0 {
            format!(", and a new block comes every {block_s} s")
        } else {
            String::new()
        };
        let _ = write!(found_text, "; the answer took {took_ms} ms{of_block}");
    }
    if apart_s > CLOCK_MAX_S.saturating_add(explained_s) {
        all.warn(
            "clock",
            found_text,
            "timedatectl set-ntp true, or another time service",
        );
    } else {
        all.good("clock", found_text);
    }
}

/// Limits, fees, and possible losses.
fn amounts(daemon: &Daemon, bound: &Bound, all: &mut Findings) {
    let never = feasible::never_quoted(daemon, bound);
    if never.is_empty() {
        all.good("limits", "every side can be quoted within the limits");
    }
    for problem in never {
        all.wrong(
            "limits",
            problem.what,
            format!("line {} of the file", problem.at.line),
        );
    }
    for warning in &bound.warnings {
        all.warn(
            "limits",
            warning.clone(),
            "see the comments of these keys in config/cambist.toml",
        );
    }
    let [maker, taker] = daemon.fee_bips;
    let signed = daemon.orders.max_fee_bips;
    all.good(
        "fees",
        format!("maker {maker}, taker {taker} of at most {signed} ten-thousandths signed; every fill is compared"),
    );
    let stated = losses(bound);
    let lost = stated.together();
    let lost: Vec<_> = lost
        .iter()
        .map(|(quote, lost)| format!("{lost} {quote}"))
        .collect();
    if lost.is_empty() {
        all.warn(
            "money at risk",
            "too large to compute",
            "cambist check shows which value is too large",
        );
    } else {
        all.good(
            "money at risk",
            format!("at most {} from losing all control, for the jump in risk.gap_bps; cambist check has the parts", lost.join(", ")),
        );
    }
}

fn quotes(online: &Online, all: &mut Findings) {
    for (text, fix) in online.sides() {
        match fix {
            None => all.good("quotes", text),
            Some(fix) => all.warn("quotes", text, *fix),
        }
    }
}

fn text(findings: &[Finding]) -> String {
    let mut rows = Vec::new();
    for finding in findings {
        let severity = match finding.severity {
            Severity::Good => "ok",
            Severity::Warning => "WARNING",
            Severity::Wrong => "WRONG",
        };
        rows.push(
            [severity, finding.check, &finding.found]
                .map(str::to_owned)
                .to_vec(),
        );
        if let Some(fix) = &finding.fix {
            rows.push(vec![String::new(), String::new(), format!("-> {fix}")]);
        }
    }
    let wrong = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Wrong)
        .count();
    let warnings = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Warning)
        .count();
    let mut text = columns(&rows);
    let _ = writeln!(text, "\n{wrong} problems, {warnings} warnings");
    text
}
