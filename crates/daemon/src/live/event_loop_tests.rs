//! The event loop with a store that takes nothing: what the engine gets in place of the store's answers, what the end of a
//! run depends on, and what an operator's request leads to.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cambist_client::{Client, ClientConfig};
use cambist_core::Engine;
use cambist_core::books::Difference;
use cambist_core::driver::Store;
use cambist_core::event::{BatchId, Command, Event, Restrictions, SealFailure, TradingState};
use cambist_core::notification::{BooksStatus, Notification};
use cambist_core::portfolio::VenueEngine;
use cambist_core::sorted_map::SortedMap;
use cambist_host::clock::Clock;
use cambist_report::Session;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{Ended, EventLoop, Routine};
use crate::config::Daemon;
use crate::live::control_requests::Names;
use crate::live::memories::Memories;
use crate::live::operator_commands::{Begun, ControlRequest, OperatorCommands, PendingRequest};
use crate::live::processes::Processes;
use crate::live::recorder::Recorder;
use crate::live::reload::Reload;
use crate::live::request_workers::RequestWorkers;
use crate::live::seal_worker::SealWorker;
use crate::live::signals::Signals;
use crate::live::store_loss::StoreLoss;
use crate::notify::Notifier;
use crate::recording;
use crate::telemetry::Telemetry;
use crate::telemetry::tests::about;

/// The loop of the demo's configuration, whose store takes nothing. Files are in `folder`.
fn without_store(folder: &Path) -> EventLoop {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    let daemon = Daemon::load(Path::new(example)).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    let header = recording::header(&bound, daemon.source.text.clone(), daemon.source.hash());
    let clock = Clock::new();
    let telemetry = Arc::new(Telemetry::new(about(), clock).unwrap());
    let client = Client::new(&ClientConfig::new("http://127.0.0.1:1"), None).unwrap();
    let (messages, inbox) = mpsc::channel(1);
    EventLoop {
        engine: VenueEngine::alone(Engine::new(Vec::new())),
        clock,
        request_workers: RequestWorkers::new(
            Arc::new(client.into()),
            &bound.markets,
            Arc::clone(&telemetry),
            messages,
        ),
        seal_worker: SealWorker::ended(),
        processes: Processes::default(),
        memories: Memories::begin(folder, &bound).unwrap(),
        recorder: Recorder::begin(None, header, &bound.markets, clock).unwrap(),
        telemetry,
        session: Session::new(&bound.markets),
        bodies: BTreeMap::new(),
        in_flight: BTreeMap::new(),
        notifier: Notifier::alone(),
        drain: Duration::ZERO,
        store_loss: StoreLoss::default(),
        inbox,
        operator_commands: OperatorCommands::new(
            Signals::listen(false).unwrap(),
            mpsc::channel(1).1,
            Names::of(&bound),
            Reload::new(&daemon, Vec::new(), &bound.markets),
            BTreeSet::new(),
        ),
        ended: Ended {
            proven: false,
            level: TradingState::Active,
            invariant_failed: false,
            store_lost: false,
            left: None,
        },
        is_ready: false,
        routine: Routine::default(),
        actions: Vec::new(),
        finished: false,
        portfolio: None,
    }
}

/// Without an answer a batch would count as being sealed until the end, and its orders with it.
#[tokio::test]
async fn what_a_lost_store_does_not_take_fails_and_the_first_failure_drains() {
    let folder = crate::testing::private_folder();
    let mut event_loop = without_store(folder.path());
    let restrictions = Restrictions::default();
    event_loop.seal(BatchId(5), Vec::new());
    event_loop.store_restrictions(restrictions.clone(), "test".to_owned(), false);
    let events: Vec<_> = std::iter::from_fn(|| event_loop.store_loss.next_event()).collect();
    let (batch, cause) = (BatchId(5), SealFailure::Store);
    assert_eq!(
        events,
        [
            Event::Operator(Command::Drain),
            Event::SealFailed { batch, cause },
            Event::RestrictionsFailed(restrictions),
        ]
    );
}

#[tokio::test]
async fn what_the_end_of_a_run_depends_on_is_remembered() {
    let folder = crate::testing::private_folder();
    let mut event_loop = without_store(folder.path());
    let now = event_loop.clock.now();
    let level = TradingState::CancelOnly;
    for notification in [
        Notification::InvariantFailed {
            name: "test".to_owned(),
            detail: String::new(),
        },
        Notification::TradingStateChanged {
            level,
            cause: "test".to_owned(),
        },
    ] {
        event_loop.handle_notification(now, &notification);
    }
    let ended = &event_loop.ended;
    assert_eq!((ended.invariant_failed, ended.level), (true, level));
    assert!(!event_loop.is_ready);
    assert_eq!(event_loop.notifier.line(), "starting");
    let ready = Notification::Ready {
        opening: SortedMap::new(),
        recovered: 0,
    };
    event_loop.handle_notification(now, &ready);
    assert!(event_loop.is_ready);
    assert_eq!(event_loop.notifier.line(), "trading");
}

/// Begins a request: the command for the engine, and the answer that does not wait for it.
fn begin(event_loop: &mut EventLoop, what: ControlRequest) -> (Option<Command>, Option<Value>) {
    let (answer, mut answered) = oneshot::channel();
    let pending = PendingRequest {
        what,
        answer: Some(answer),
        at_end: false,
        operator: "test".to_owned(),
    };
    let EventLoop {
        operator_commands,
        telemetry,
        ..
    } = event_loop;
    let command = match operator_commands.begin(pending, telemetry) {
        Begun::Command(command) => Some(command),
        Begun::Answered | Begun::Parameters(_) => None,
    };
    (command, answered.try_recv().ok())
}

/// Until then nothing is known that a flow could explain.
#[tokio::test]
async fn a_flow_is_adopted_once_ledger_and_venue_were_compared() {
    let folder = crate::testing::private_folder();
    let mut event_loop = without_store(folder.path());
    let token = about().markets[0].base.id;
    let adopt = |force| ControlRequest::Adopt {
        token,
        amount: 5,
        reason: "test".to_owned(),
        force,
    };
    let (command, answer) = begin(&mut event_loop, adopt(false));
    let answer = answer.unwrap().to_string();
    assert!(answer.contains("have not been compared yet"), "{answer}");
    assert_eq!(command, None);
    let expected = Command::Adopt {
        token,
        amount: 5,
        reason: "test".to_owned(),
    };
    let forced = begin(&mut event_loop, adopt(true));
    assert_eq!(forced, (Some(expected.clone()), None));
    let difference = Difference {
        ledger: 0,
        venue: 5,
    };
    let books = BooksStatus {
        confirmed: true,
        differences: [(token, difference)].into(),
        ..BooksStatus::default()
    };
    let compared = Notification::Books(Box::new(books));
    event_loop.telemetry.observe(&compared);
    let explained = begin(&mut event_loop, adopt(false));
    assert_eq!(explained, (Some(expected), None));
}

#[tokio::test]
async fn a_stop_is_the_operators_if_the_operator_raised_the_trading_state() {
    let level = TradingState::CancelOnly;
    let raise = Command::Raise {
        level,
        reason: "test".to_owned(),
    };
    for (command, cause) in [(raise, "operator"), (Command::Drain, "engine")] {
        let folder = crate::testing::private_folder();
        let mut event_loop = without_store(folder.path());
        let _ = begin(&mut event_loop, ControlRequest::Command(command));
        let changed = Notification::TradingStateChanged {
            level,
            cause: "test".to_owned(),
        };
        event_loop.telemetry.observe(&changed);
        let metrics = event_loop.telemetry.render().unwrap();
        let counted = format!("cause=\"{cause}\"");
        let mut lines = metrics.lines().filter(|line| line.contains(&counted));
        assert!(lines.any(|line| line.ends_with(" 1")), "{cause}");
    }
}
