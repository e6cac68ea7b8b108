//! `cambist why`: why an own order was made, why it stayed and why it ended, from the recordings.

use std::fmt::Write as _;
use std::path::PathBuf;

use cambist_config::money::{price, quantity};
use cambist_core::inspection::{CancelCause, OrderDecision};
use cambist_core::notification::Notification;
use cambist_core::{ClientOrderId, MarketSpec, strategy::Quote};
use cambist_daemon::telemetry::withheld;
use clap::Args;
use serde_json::{Value, json};

use super::{columns, print_json, print_text, replay};
use crate::exit::Exit;
use crate::replay::order::{OrderLife, Step, What, life};
use crate::replay::{difference_page, is_own, iso_ms, mid_text, strategy_name};

/// Arguments of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Client order id, as in status, log and history
    #[arg(value_name = "ORDER", value_parser = order)]
    pub order: ClientOrderId,
    /// A recording, or a folder of recordings
    #[arg(value_name = "TAPE|DIR", required_unless_present = "config")]
    pub tape: Option<PathBuf>,
    /// Use the recordings of the daemon with this configuration file
    #[arg(long, value_name = "FILE", conflicts_with = "tape")]
    pub config: Option<PathBuf>,
}

fn order(text: &str) -> Result<ClientOrderId, String> {
    text.parse()
        .map_err(|_| "write a client order id, such as c8292274-0-17".to_owned())
}

/// Shows the life of an order.
pub fn run(args: &WhyArgs, json: bool) -> anyhow::Result<Exit> {
    let path = replay::path(args.config.as_deref(), args.tape.as_deref())?;
    let life = life(&path, args.order)?;
    if json {
        print_json(&page(&life))?;
    } else {
        print_text(&text(&life))?;
    }
    Ok(Exit::Done)
}

fn page(life: &OrderLife) -> Value {
    let (spec, order) = (&life.market, &life.order);
    json!({
        "order": order.client_id.to_string(),
        "market": spec.name,
        "strategy": strategy_name(&life.header, order.client_id.strategy.0),
        "side": order.side.name(),
        "price": price(spec, order.price),
        "quantity": quantity(spec, order.qty),
        "ended": life.has_ended,
        "recording": life.path.display().to_string(),
        "program": life.header.program,
        "same_build": is_own(&life.header.program),
        "first_difference": life.difference.as_ref().map(difference_page),
        "steps": life.steps.iter().map(|step| step_page(spec, step)).collect::<Vec<_>>(),
    })
}

fn step_page(spec: &MarketSpec, step: &Step) -> Value {
    let mut page = json!({
        "at": iso_ms(step.at[0]),
        "until": iso_ms(step.at[1]),
        "what": name(&step.what),
        "why": sentence(spec, step),
    });
    if let What::Decided(decision) = &step.what {
        let cause = decision.cause();
        page["cause"] = json!(cause.map(|cause| cause.name()));
        page["quotes"] = json!(step.quotes);
        page["wanted"] = json!(decision.wanted().map(|quote| json!({
            "price": price(spec, quote.price),
            "quantity": quantity(spec, quote.qty),
        })));
        if let Some(CancelCause::NotQuoted(why)) = cause {
            page["withheld"] = withheld::page(spec, &why);
        }
    }
    page
}

fn text(life: &OrderLife) -> String {
    let (spec, order) = (&life.market, &life.order);
    let mut text = format!(
        "{}: {} {} at {}, {}, {}\n\n",
        order.client_id,
        order.side.name(),
        quantity(spec, order.qty),
        price(spec, order.price),
        spec.name,
        strategy_name(&life.header, order.client_id.strategy.0),
    );
    let rows = life.steps.iter().map(|step| {
        let [from, to] = step.at.map(iso_ms);
        let until = if from == to {
            String::new()
        } else {
            // The day is that of the beginning.
            format!("to {}", to.split_once('T').map_or("", |(_, time)| time))
        };
        let what = name(&step.what).to_owned();
        vec![from, until, what, sentence(spec, step)]
    });
    text.push_str(&columns(&rows.collect::<Vec<_>>()));
    if !life.has_ended {
        text.push_str("\nIts end is not on the recordings.\n");
    }
    if let Some(found) = &life.difference {
        _ = writeln!(
            text,
            "\nRecorded by {}, which decided differently: the decisions above are those of {}. First difference:\n{found}",
            life.header.program,
            cambist_host::program::build().name
        );
    }
    text
}

fn name(what: &What) -> &'static str {
    match what {
        What::Decided(decision) => decision.name(),
        What::Sealed => "stored",
        What::Notified(notification) => match &**notification {
            Notification::Submitted { .. } => "sent",
            Notification::Resent { .. } => "sent again",
            Notification::Acknowledged { .. } => "acknowledged",
            Notification::Refused { .. } => "refused",
            Notification::Unknown { .. } => "unknown",
            Notification::CancelSent { .. } => "cancel sent",
            Notification::Resolved { .. } => "resolved",
            Notification::Filled(_) => "filled",
            Notification::FeeAbove { .. } => "fee above",
            Notification::Ended { .. } => "ended",
            _ => "reported",
        },
    }
}

fn sentence(spec: &MarketSpec, step: &Step) -> String {
    let quote = |quote: &Quote| {
        let (qty, at) = (quantity(spec, quote.qty), price(spec, quote.price));
        format!("{} {qty} at {at}", quote.side.name())
    };
    match &step.what {
        What::Decided(decision) => match decision {
            OrderDecision::Placed {
                wanted,
                mid,
                replaces,
            } => {
                let mid =
                    mid.map_or_else(String::new, |mid| format!(", mid {}", mid_text(spec, mid)));
                let replaces = replaces.map_or_else(String::new, |order| {
                    format!("; replaces {order}, which is close to its expiry")
                });
                format!("wanted {}, without an order{mid}{replaces}", quote(wanted))
            }
            OrderDecision::Kept { wanted } if step.quotes > 1 => format!(
                "within tolerance of {} quotes in a row, the last {}",
                step.quotes,
                quote(wanted)
            ),
            OrderDecision::Kept { wanted } => format!("within tolerance of {}", quote(wanted)),
            OrderDecision::Expiring { wanted } => format!(
                "close to its expiry; rests until its replacement does, for {}",
                quote(wanted)
            ),
            OrderDecision::Awaited(cause) => format!(
                "to be cancelled when its transmission is answered: {}",
                cause_text(spec, cause, quote)
            ),
            OrderDecision::Cancelled(cause) => cause_text(spec, cause, quote),
        },
        What::Sealed => "signed, verified and on disk".to_owned(),
        What::Notified(notification) => match &**notification {
            Notification::Resent { attempt, .. } => format!("the same bytes, attempt {attempt}"),
            Notification::Acknowledged { micros, .. } => format!("after {micros} µs"),
            Notification::Refused {
                endpoint, reason, ..
            } => format!("{}: {reason:?}", endpoint.name()),
            Notification::Unknown {
                endpoint, cause, ..
            } => format!("{}: {}", endpoint.name(), cause.name()),
            Notification::Resolved { status, .. } => {
                format!("the venue shows it as {}", status.name())
            }
            Notification::Filled(fill) => format!(
                "{} for {}",
                spec.base.text(fill.base),
                spec.quote.text(fill.quote)
            ),
            Notification::Ended { end, .. } => end.name().to_owned(),
            _ => String::new(),
        },
    }
}

fn cause_text(spec: &MarketSpec, cause: &CancelCause, quote: impl Fn(&Quote) -> String) -> String {
    match cause {
        CancelCause::NotQuoted(why) => format!("not quoted: {}", withheld::text(spec, why)),
        CancelCause::Moved { wanted } => format!("moved: the nearest quote is {}", quote(wanted)),
        CancelCause::Replaced => "close to its expiry, and its replacement rests".to_owned(),
        CancelCause::Surplus => "the quotes of its side have other orders".to_owned(),
        CancelCause::NoStrategy => "no strategy of the configuration made it".to_owned(),
        CancelCause::NoRoom(control) => {
            format!("no room beside its replacement: {}", control.sentence())
        }
    }
}
