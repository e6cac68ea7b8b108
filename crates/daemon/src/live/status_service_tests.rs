//! The status of a run that does not trade, asked for as that of a daemon.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use cambist_host::exit::{Exit, Failure};

use super::{Shown, StatusService, take_folder};
use crate::config::Daemon;
use crate::live::control_client::ask;
use crate::live::control_requests::RequestJson;
use crate::telemetry::Telemetry;
use crate::telemetry::tests::about;
use cambist_host::clock::Clock;

fn daemon(dir: &Path) -> Daemon {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    let mut daemon = Daemon::load(Path::new(example)).unwrap();
    daemon.store.dir = dir.to_owned();
    daemon.metrics.set_port(0);
    daemon
}

#[test]
fn the_status_is_served_until_the_run_ends_and_nothing_else_is_done() {
    let folder = crate::testing::private_folder();
    let daemon = daemon(folder.path());
    let taken = take_folder(&daemon).unwrap();
    assert!(take_folder(&daemon).is_err(), "another process has it");
    let telemetry = Arc::new(Telemetry::new(about(), Clock::new()).unwrap());
    let service = StatusService::start(&daemon, Shown::Running(Arc::clone(&telemetry))).unwrap();
    let status = ask(folder.path(), &RequestJson::Status).unwrap().unwrap();
    assert_eq!(status["config"], telemetry.status()["config"], "{status}");
    let refused = ask(folder.path(), &RequestJson::Drain { wait: false });
    let refused = refused.unwrap().unwrap();
    assert_eq!(refused["done"], false);
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("it sends no orders"),
        "{refused}"
    );
    let address = std::fs::read_to_string(daemon.metrics_address_file()).unwrap();
    assert!(std::net::TcpStream::connect(address.trim()).is_ok());
    drop(service);
    assert_eq!(ask(folder.path(), &RequestJson::Status).unwrap(), None);
    drop(taken);
    take_folder(&daemon).unwrap();
}

/// A folder with a store belongs to a daemon that trades.
#[test]
fn the_folder_of_a_daemon_that_trades_is_refused() {
    let folder = crate::testing::private_folder();
    let daemon = daemon(folder.path());
    std::fs::write(folder.path().join(cambist_store::FILE), "").unwrap();
    let error = take_folder(&daemon).err().unwrap();
    assert_eq!(error.downcast_ref::<Failure>().unwrap().exit, Exit::Refused);
    assert!(
        error.to_string().contains("needs a folder of its own"),
        "{error}"
    );
}
