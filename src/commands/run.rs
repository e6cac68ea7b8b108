//! `cambist run`: runs the daemon, or one of the modes that do not trade.

use std::time::Duration;

use cambist_core::{Reason, Time};
use cambist_report::{Closing, Summary, text};
use cambist_strategies::Promise;

use super::{portfolio, print_json, print_text};
use crate::cli::{RecordArgs, RunArgs};
use crate::demo::expectations;
use crate::exit::{self, Exit, Failure};
use crate::{observe, paper, shadow};
use cambist_daemon::config::{Daemon, Mode};
use cambist_daemon::live::daemon::{self, Run};
use cambist_daemon::live::earlier_runs::EarlierRuns;
use cambist_daemon::live::exit_report;
use cambist_daemon::portfolio::is_portfolio;
use cambist_daemon::telemetry;
use cambist_host::times;

/// Runs until stopped; exit 0 only if it is proven that no own order rests.
pub fn run(args: &RunArgs, json: bool) -> anyhow::Result<Exit> {
    if is_portfolio(&args.service.config) {
        return portfolio::run_all(args, json);
    }
    let config = Daemon::load_for(&args.service.config, args.mode)?;
    telemetry::log::start(config.log);
    if args.beside.is_some() && config.mode != Mode::Shadow {
        let what = "--beside applies to the mode shadow only";
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let limit = args.limit_s.map(Duration::from_secs);
    let until_stdin_closes = args.service.until_stdin_closes;
    match config.mode {
        Mode::Live if limit.is_some() => {
            let what = "--for applies to modes that do not trade; use 'cambist drain' to stop a daemon that trades";
            Err(Failure::new(Exit::Usage, what).into())
        }
        Mode::Live => live(&config, until_stdin_closes, json),
        Mode::Paper => paper::run(&config, until_stdin_closes, limit, json),
        Mode::Record | Mode::Observe => observe::run(&config, until_stdin_closes, limit, json),
        Mode::Shadow => shadow::run(
            &config,
            args.beside.as_deref(),
            until_stdin_closes,
            limit,
            json,
        ),
    }
}

/// Records until stopped.
pub fn record(args: &RecordArgs, json: bool) -> anyhow::Result<Exit> {
    let config = Daemon::load_for(&args.service.config, Some(Mode::Record))?;
    telemetry::log::start(config.log);
    let limit = args.limit_s.map(Duration::from_secs);
    observe::run(&config, args.service.until_stdin_closes, limit, json)
}

/// Runs the live mode.
fn live(config: &Daemon, until_stdin_closes: bool, json: bool) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let traded = runtime.block_on(daemon::run(config, None, until_stdin_closes));
    // A blocked read of standard input cannot be cancelled.
    runtime.shutdown_background();
    let reported = report(config, traded?, json)?;
    if let Some(shape) = &reported.shape {
        print_json(shape)?;
    }
    Ok(reported.exit)
}

/// What a run came to.
pub(super) struct Reported {
    /// For `--json`; without it the text is printed.
    pub shape: Option<serde_json::Value>,
    /// Its exit.
    pub exit: Exit,
}

/// Reports the end of a run: prints it, or returns it with `json`.
pub(super) fn report(config: &Daemon, run: Run, json: bool) -> anyhow::Result<Reported> {
    let (ended, session, clock) = match run {
        Run::Traded(ended, session, clock) => (ended, session, clock),
        Run::Stopped(earlier) => return stopped(earlier, json),
    };
    let closing = Closing {
        duration_s: seconds(clock.elapsed()),
        resting_after: ended.proven.then_some(0),
        residual_units: session.residual(),
        ..Closing::default()
    };
    let summary = Summary {
        venue_balances: session.venue_balances(ended.proven),
        ..session.summary(clock.now(), &closing, code)
    };
    let failures = exit_report::failures(&ended, &session, config);
    let shape = if json {
        let mut shape = serde_json::to_value(&summary)?;
        if let Some(left) = ended.left {
            shape["left"] = serde_json::json!({
                "orders": left.orders,
                "unknown": left.unknown,
                "until": times::iso(left.until.as_s()),
                "until_s": left.until.as_s(),
            });
        }
        Some(exit::with_failures(shape, &failures))
    } else {
        let quotes = expectations::of(config) == Promise::Quotes;
        print_text(&text::summary(&summary, quotes))?;
        if ended.proven {
            print_text("\nProven: none of our orders rests at the venue.\n")?;
        }
        if let Some(left) = ended.left {
            print_text(&format!("\nLeft: {}.\n", exit_report::left(left)))?;
        }
        None
    };
    let exit = failures.first().map_or(Exit::Done, |failure| failure.exit);
    for failure in failures {
        exit::print_all_errors(&failure.into());
    }
    Ok(Reported { shape, exit })
}

/// Nothing was sent; orders of earlier runs may still be alive.
fn stopped(earlier: EarlierRuns, json: bool) -> anyhow::Result<Reported> {
    let what = "stopped before the venue answered; nothing was sent";
    if let Some(earlier) = earlier.text() {
        return Err(Failure::new(Exit::CheckFailed, format!("{what}; {earlier}")).into());
    }
    if !json {
        print_text(&format!("{what}\n"))?;
    }
    Ok(Reported {
        shape: json.then(|| serde_json::json!({"started": false, "detail": what})),
        exit: Exit::Done,
    })
}

/// The venue's code of a refusal.
pub(crate) fn code(reason: Reason) -> String {
    cambist_protocol::code::number(reason).to_string()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of a run fit 53 bits for 285 years"
)]
fn seconds(time: Time) -> f64 {
    time.0 as f64 / 1e6
}
