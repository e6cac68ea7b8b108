//! `cambist resume`: allows trading again, for a running or a stopped daemon. Losses are reset only on request; nothing
//! is resumed while a loss limit is exceeded.

use anyhow::Context;
use cambist_core::books::Loss;
use cambist_core::config::LossConfig;
use cambist_core::event::TradingState;
use cambist_core::{Amount, MarketId, MarketSpec, VenueTime};
use clap::Args;
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::commands::daemon_control::{
    PartArgs, Which, ask_daemon, located, no_daemon, refuse_without_trading, send_request, shown,
};
use crate::exit::{Exit, Failure};
use cambist_daemon::config::{Bound, Daemon};
use cambist_daemon::live::control_requests::RequestJson;
use cambist_daemon::live::latch::Latch;
use cambist_host::clock::Clock;
use cambist_store::Store;
use cambist_store::offline::Offline;

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    part: PartArgs,
    /// Why trading may continue; stored in the store
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Reset losses to the current holdings. Otherwise they continue, and nothing is resumed while a limit is exceeded
    #[arg(long)]
    forget_losses: bool,
}

/// Lifts the pauses of a part; without a part also resets the trading state, adopts differing books and removes the
/// latch, for a stopped daemon too.
pub fn resume(args: &ResumeArgs, json: bool) -> anyhow::Result<Exit> {
    let located = located(&args.which.config)?;
    let reason = args.reason.trim().to_owned();
    let usage = |what: &str| Err(Failure::new(Exit::Usage, what).into());
    if reason.is_empty() {
        return usage("--reason must say why trading may continue");
    }
    let part = args.part.part();
    let unpause = RequestJson::Unpause {
        part: part.clone(),
        reason: reason.clone(),
    };
    if !part.is_everything() {
        if args.forget_losses {
            return usage(
                "--forget-losses applies to all markets; remove --market, --side and --strategy",
            );
        }
        return send_request(&args.which, &unpause, json);
    }
    let dir = &located.dir;
    let lower = RequestJson::Lower {
        reason: reason.clone(),
        forget_losses: args.forget_losses,
    };
    match ask_daemon(dir, &lower)? {
        None => {
            // The limits of losses are those of the file, which has to be right before the next start anyway.
            let daemon = Daemon::load_unpinned(&args.which.config)?;
            stopped(&daemon, &reason, args.forget_losses, json)
        }
        Some(answer) if answer["done"] != true => shown(&answer, json),
        Some(lowered) => {
            let lifted = ask_daemon(dir, &unpause)?.ok_or_else(|| no_daemon(dir))?;
            shown(&both(&lowered, lifted), json)
        }
    }
}

/// Merges two answers.
fn both(lowered: &Value, mut lifted: Value) -> Value {
    if lifted["done"] != true {
        return lifted;
    }
    let text = |answer: &Value| answer["detail"].as_str().unwrap_or_default().to_owned();
    let (of_level, of_pauses) = (text(lowered), text(&lifted));
    // A pause need not be in force where the trading state is lowered.
    let is_about_level = !of_level.starts_with("nothing") && of_pauses.starts_with("nothing");
    lifted["detail"] = json!(if is_about_level {
        of_level
    } else {
        format!("{of_level}; {of_pauses}")
    });
    lifted["durable"] = match (lowered["durable"].as_bool(), lifted["durable"].as_bool()) {
        (Some(one), Some(two)) => json!(one && two),
        (one, two) => json!(one.or(two)),
    };
    lifted
}

/// Resumes a stopped daemon: its next start trades again.
fn stopped(daemon: &Daemon, reason: &str, forget: bool, json: bool) -> anyhow::Result<Exit> {
    refuse_without_trading((daemon.mode, &daemon.store.dir), "resume")?;
    let mut store = Store::open(&daemon.store.dir)?;
    let (level, cause) = store.level()?;
    let latch = Latch::of(&daemon.store.dir);
    let latched = latch.raised();
    let was_paused = store.is_paused()?;
    let mut done = Vec::new();
    let mut flows = Vec::new();
    let mut forgotten = Vec::new();
    if let Some(mut offline) = store.offline()? {
        let losses = losses(daemon, &offline);
        if !forget && let Some(exceeded) = losses.iter().find(|loss| loss.is_exceeded()) {
            return Err(exceeded.refusal().into());
        }
        if forget {
            let lost = losses.iter().filter(|loss| loss.lost > 0);
            forgotten = lost.map(Measured::text).collect();
        }
        for (token, amount) in store.settle(&mut offline, forget, reason)? {
            let text = offline.token(token).map_or_else(
                || format!("{amount} base units of token {}", token.0),
                |spec| spec.show(amount),
            );
            flows.push(text);
        }
    }
    if level > TradingState::Active || was_paused || latched.is_some() {
        store.clear_level(reason)?;
    }
    // Last: if anything before fails, trading stays off.
    latch
        .lower()
        .with_context(|| latch.file().display().to_string())?;
    if json {
        print_json(&json!({
            "was": level.name(),
            "cause": cause,
            "paused": was_paused,
            "latch": latched,
            "flows": flows,
            "losses_forgotten": forgotten,
            "now": TradingState::Active.name(),
        }))?;
        return Ok(Exit::Done);
    }
    if let Some(latched) = &latched {
        done.push(format!("the latch ({latched}) was removed"));
    }
    if level > TradingState::Active {
        let name = level.name();
        done.push(format!(
            "the trading state was {name} ({cause}); trading is allowed again"
        ));
    } else if was_paused {
        done.push("all pauses were lifted".to_owned());
    }
    if !flows.is_empty() {
        done.push(format!(
            "the venue's balances were adopted, {} booked as explained",
            flows.join(", ")
        ));
    }
    if forget {
        done.push(match forgotten.join(", ") {
            none if none.is_empty() => "losses were reset; there were none".to_owned(),
            some => format!("losses were reset: {some}"),
        });
    }
    if done.is_empty() {
        done.push(
            "nothing to resume: trading is allowed, nothing is paused, and there is no latch"
                .to_owned(),
        );
    }
    print_text(&(done.join("\n") + "\n"))?;
    Ok(Exit::Done)
}

/// A loss of a market and its limit.
struct Measured {
    market: MarketSpec,
    loss: Loss,
    lost: i128,
    /// `None` if the file and the stored listing do not give it.
    most: Option<Amount>,
}

impl Measured {
    fn is_exceeded(&self) -> bool {
        let most = self
            .most
            .map(|most| i128::try_from(most).unwrap_or(i128::MAX));
        most.is_some_and(|most| self.lost > most)
    }

    fn text(&self) -> String {
        let (control, lost) = (self.loss.0.name(), self.market.quote.show(self.lost));
        format!("{} {control} {lost}", self.market.name)
    }

    fn refusal(&self) -> Failure {
        let control = self.loss.0;
        let key = control.keys().first().copied().unwrap_or(control.name());
        let most = i128::try_from(self.most.unwrap_or(0)).unwrap_or(i128::MAX);
        let (market, quote) = (&self.market.name, &self.market.quote);
        let (lost, most) = (quote.show(self.lost), quote.show(most));
        let what = format!(
            "{market} has lost {lost}, {key} is {most}: trading would stop again immediately; raise the key, or resume with --forget-losses, which resets the losses"
        );
        Failure::new(Exit::CheckFailed, what)
    }
}

/// All known losses with the limits in the file.
fn losses(daemon: &Daemon, offline: &Offline) -> Vec<Measured> {
    let listing = &offline.listing;
    let listed = listing.markets.iter().map(|spec| &spec.name);
    let configured = daemon.markets.iter().map(|market| &market.name.value);
    let bound: Option<Bound> = listed
        .eq(configured)
        .then(|| daemon.bind_specs(listing.markets.clone(), listing.pools.clone()))
        .and_then(Result::ok);
    let limits = |id: MarketId| -> Option<LossConfig> {
        let markets = bound.as_ref().map(|bound| &bound.engine.markets)?;
        markets.get(usize::from(id.0)).map(|market| market.loss)
    };
    let now = VenueTime(Clock::new().unix_micros() / 1_000);
    let mut all = Vec::new();
    for (id, found) in offline.losses(now) {
        let Some(market) = listing.markets.get(usize::from(id.0)) else {
            continue;
        };
        for loss in found {
            let most = limits(id).and_then(|limits| limits.of(loss.0));
            all.push(Measured {
                market: market.clone(),
                loss,
                lost: loss.1,
                most,
            });
        }
    }
    all
}
