//! The event loop with a store that takes nothing: what the engine gets in place of the store's answers.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cambist_client::{Client, ClientConfig};
use cambist_core::Engine;
use cambist_core::driver::Store;
use cambist_core::event::{BatchId, Command, Event, Restrictions, SealFailure, TradingState};
use cambist_host::clock::Clock;
use cambist_report::Session;
use tokio::sync::mpsc;

use super::{Ended, EventLoop, Routine};
use crate::config::Daemon;
use crate::live::control_requests::Names;
use crate::live::memories::Memories;
use crate::live::operator_commands::OperatorCommands;
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
        engine: Engine::new(Vec::new()),
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
