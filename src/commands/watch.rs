//! `cambist watch`: asks a daemon for its status every few seconds and sends messages to chat services when something
//! is wrong.
//!
//! A process of its own: it also reports that the daemon is gone, a slow service holds up no decision, and the
//! daemon does not hold the services' tokens. Decisions are `cambist_messages`'.

use std::time::Duration;

use anyhow::Context;
use cambist_client::{Webhook, WebhookError};
use cambist_host::clock::Clock;
use cambist_host::secrets;
use cambist_messages::conditions::conditions;
use cambist_messages::{
    Change, Condition, Delivery, Message, Schedule, Service, Severity, TEST, Template,
};
use clap::Args;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::daemon_control::{Which, located, status_page};
use super::{print_json, print_text};
use crate::exit::{Exit, Failure};
use cambist_daemon::config::Located;
use cambist_daemon::config::messages::{Destination, ServiceName};
use cambist_daemon::live::signals::Signals;
use cambist_daemon::telemetry;

/// Interval of status requests.
const EVERY: Duration = Duration::from_secs(5);

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    which: Which,
    /// Send one test message to every destination and end. Exit 1 if one did not arrive.
    #[arg(long)]
    test: bool,
}

/// A destination with its queue.
struct Channel {
    /// `messages[0] (slack)`: how it is called in logs.
    name: String,
    webhook: Webhook,
    service: Service,
    least: Severity,
    template: Template,
    schedule: Schedule,
    delivery: Delivery,
}

/// Watches until SIGTERM or SIGINT.
pub fn run(args: &WatchArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = located(&args.which.config)?;
    let messages = daemon.messages()?;
    if messages.is_empty() {
        let what = format!(
            "{} has no [[messages]]: add a destination (docs/messages.md)",
            daemon.source.path.display()
        );
        return Err(Failure::new(Exit::Refused, what).into());
    }
    let written = messages.iter().enumerate();
    let channels: Vec<_> = written
        .map(|(at, one)| channel(at, one))
        .collect::<anyhow::Result<_>>()?;
    telemetry::log::start(daemon.log);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if args.test {
        return runtime.block_on(test(&daemon, channels, json));
    }
    runtime.block_on(watch(&daemon, channels))
}

/// Opens a destination. Its URL is in no message of an error.
fn channel(at: usize, written: &Destination) -> anyhow::Result<Channel> {
    let name = format!("messages[{at}] ({})", written.service.name());
    let refused = |what: String| Failure::new(Exit::Refused, format!("{name}: {what}"));
    let url =
        secrets::read(&written.url_file, false).map_err(|error| refused(error.to_string()))?;
    let file = written.url_file.display();
    let mut webhook =
        Webhook::new(&url).map_err(|error| refused(format!("the URL in {file}: {error}")))?;
    let service = match written.service {
        ServiceName::Slack => Service::Slack,
        ServiceName::Discord => Service::Discord,
        ServiceName::Telegram => Service::Telegram {
            chat_id: written.chat_id.clone().unwrap_or_default(),
        },
        ServiceName::Ntfy => {
            let split = webhook.split_topic();
            let split =
                split.ok_or_else(|| refused(format!("the URL in {file} names no topic")))?;
            webhook = split.0;
            Service::Ntfy { topic: split.1 }
        }
        ServiceName::Json => Service::Json,
    };
    Ok(Channel {
        name,
        webhook,
        service,
        least: written.least,
        template: written.template.clone(),
        schedule: Schedule::new(written.repeat_s),
        delivery: Delivery::default(),
    })
}

/// What messages call a daemon: its file's name, as its unit does.
fn name_of(daemon: &Located) -> String {
    let stem = daemon.source.path.file_stem();
    stem.map_or_else(
        || "cambist".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

async fn watch(daemon: &Located, mut channels: Vec<Channel>) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen(false).context("listening to signals")?;
    let clock = Clock::new();
    let name = name_of(daemon);
    tracing::info!("watching {name}: {} destinations", channels.len());
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = signals.end() => return Ok(Exit::Done),
        }
        let found = observe(daemon);
        let now_s = clock.now().0 / 1_000_000;
        for channel in &mut channels {
            let least = channel.least;
            let wanted = found.iter().filter(|one| one.kind.severity >= least);
            let messages = channel.schedule.observe(now_s, wanted.cloned().collect());
            for message in messages {
                let what = channel.template.render(&message, &name);
                tracing::info!(destination = channel.name, "{what}");
                channel.delivery.push(message);
            }
        }
        tokio::select! {
            () = deliver(&mut channels, &name, now_s) => {}
            () = signals.end() => return Ok(Exit::Done),
        }
    }
}

/// What holds now. A daemon that cannot be asked for another reason than its absence is one that does not answer.
fn observe(daemon: &Located) -> Vec<Condition> {
    match status_page(daemon) {
        Ok((_, page)) => conditions(Some(&page)),
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the daemon cannot be asked");
            conditions(Some(&json!({"state": "silent"})))
        }
    }
}

/// Sends what is due, to all destinations at once.
async fn deliver(channels: &mut [Channel], name: &str, now_s: u64) {
    let mut sending = JoinSet::new();
    for (at, channel) in channels.iter_mut().enumerate() {
        let Some((message, dropped)) = channel.delivery.due(now_s) else {
            continue;
        };
        let text = channel.template.render(message, name);
        let body = channel.service.body(message, &text, name, dropped);
        let webhook = channel.webhook.clone();
        sending.spawn(async move { (at, webhook.post(body.to_string().into_bytes()).await) });
    }
    while let Some(Ok((at, sent))) = sending.join_next().await {
        let channel = &mut channels[at];
        let Err(error) = sent else {
            channel.delivery.sent(now_s);
            continue;
        };
        let retry_after_s = match &error {
            WebhookError::Status { retry_after_ms, .. } => {
                retry_after_ms.map(|ms| ms.div_ceil(1_000))
            }
            WebhookError::Failed(_) => None,
        };
        let again = channel.delivery.failed(now_s, retry_after_s);
        let what = if again {
            "is sent again later"
        } else {
            "is dropped"
        };
        tracing::warn!(destination = channel.name, %error, "a message did not arrive and {what}");
    }
}

/// One message to each destination, now.
async fn test(daemon: &Located, channels: Vec<Channel>, json: bool) -> anyhow::Result<Exit> {
    let name = name_of(daemon);
    let message = Message {
        change: Change::Raised,
        condition: Condition {
            kind: &TEST,
            subject: String::new(),
            summary: "this is a test: nothing is wrong".to_owned(),
        },
        lasts_s: 0,
    };
    let mut results = Vec::new();
    for channel in channels {
        let text = channel.template.render(&message, &name);
        let body = channel.service.body(&message, &text, &name, 0);
        let sent = channel.webhook.post(body.to_string().into_bytes()).await;
        results.push((channel.name, sent.err().map(|error| error.to_string())));
    }
    let all = results.iter().all(|(_, error)| error.is_none());
    if json {
        let shape =
            |(name, error): &(String, Option<String>)| json!({"destination": name, "error": error});
        print_json(
            &json!({"arrived": all, "destinations": results.iter().map(shape).collect::<Vec<_>>()}),
        )?;
    } else {
        for (name, error) in &results {
            let what = error.as_deref().unwrap_or("arrived");
            print_text(&format!("{name}: {what}\n"))?;
        }
    }
    Ok(if all { Exit::Done } else { Exit::CheckFailed })
}
