//! `cambist why`: why an own order was made, why it stayed and why it ended, from the recordings.

use std::fmt::Write as _;
use std::path::PathBuf;

use cambist_config::money::{price, quantity};
use cambist_core::inspection::CancelCause;
use cambist_core::{ClientOrderId, MarketSpec};
use cambist_daemon::telemetry::{order_text, withheld};
use clap::Args;
use serde_json::{Value, json};

use super::daemon_control::located;
use super::{columns, print_json, print_text, replay};
use crate::exit::Exit;
use crate::replay::order::{OrderLife, Step, What, life};
use crate::replay::{difference_page, is_own, iso_ms, refuse_folder, refuse_mode, strategy_name};

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
        .map_err(|_| "write a client order id, such as cc8292274-0-17".to_owned())
}

/// Shows the life of an order.
pub fn run(args: &WhyArgs, json: bool) -> anyhow::Result<Exit> {
    let path = recordings(args)?;
    let life = life(&path, args.order)?;
    if json {
        print_json(&page(&life))?;
    } else {
        print_text(&text(&life))?;
    }
    Ok(Exit::Done)
}

/// The recordings of a daemon, or the named ones.
fn recordings(args: &WhyArgs) -> anyhow::Result<PathBuf> {
    let Some(config) = &args.config else {
        return Ok(args.tape.clone().unwrap_or_default());
    };
    let found = located(config)?;
    if let Some(daemon) = &found.daemon {
        refuse_mode(daemon)?;
    }
    if found.tape.as_ref().is_some_and(|dir| !dir.exists()) {
        refuse_folder(&found.dir)?;
    }
    let Some(tape) = found.tape else {
        // The refusal is that of the other commands about recordings.
        return replay::path(Some(config), None);
    };
    Ok(tape)
}

fn page(life: &OrderLife) -> Value {
    let (spec, order) = (&life.market, &life.order);
    json!({
        "order": order.client_id.to_string(),
        "market": spec.name,
        "strategy": strategy_name(&life.header, order.client_id.strategy.0),
        "side": order.side.name(),
        "kind": if order.is_swap() { "swap" } else { "book" },
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
        "{}: {}, {}, {}\n\n",
        order.client_id,
        order_text::order(spec, order),
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
        What::Notified(notification) => order_text::notification_name(notification),
    }
}

fn sentence(spec: &MarketSpec, step: &Step) -> String {
    match &step.what {
        What::Decided(decision) => order_text::decision(spec, decision, step.quotes),
        What::Sealed => "signed, verified and on disk".to_owned(),
        What::Notified(notification) => order_text::notification(spec, notification),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_id_of_the_examples_is_one() {
        let example = "cc8292274-0-17";
        assert!(super::order(example).is_ok());
        let refused = super::order("c8292274-0-17");
        assert!(refused.is_err_and(|what| what.contains(example)));
    }
}
