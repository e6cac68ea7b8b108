//! What the demo's driver asks of a venue. The driver and the daemon's side are the same at every venue: what starts, is
//! shown, killed, ended and compared. A demo of another venue is another value of this kind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cambist_core::VenueTime;
use cambist_core::order::OrderReport;
use cambist_core::pool::PoolTransactionReport;
use cambist_daemon::config::Daemon;
use serde_json::{Map, Value};

use crate::cli::DemoArgs;
use crate::demo::child::Child;
use crate::demo::end_checks::Books;
use crate::demo::faults::{Button, Fault};
use crate::demo::files::Folder;
use crate::demo::progress_line::ProgressLine;
use crate::demo::recording_proxy::{Interface, RecordingProxy};

/// A venue whose process runs.
pub struct Opened {
    /// Its process.
    pub process: Child,
    /// Its address, `HOST:PORT`.
    pub address: String,
}

/// What the venue shows of the daemon's account.
pub struct Shown {
    /// Orders that were created at or after a time, at least.
    pub orders: Vec<OrderReport>,
    /// All joins and exits.
    pub pool_transactions: Vec<PoolTransactionReport>,
}

/// A venue of the demo, with what trades on it beside the daemon.
#[allow(
    async_fn_in_trait,
    reason = "the driver runs on one thread, and no other crate implements it"
)]
pub trait Venue {
    /// What messages call it: the books are "the exchange's".
    const NAME: &'static str;

    /// Starts its process and everything on it but the daemon, and prints what that is. The folder is kept from the
    /// first process on.
    async fn open(
        &mut self,
        args: &DemoArgs,
        folder: &mut Folder,
        screen: &mut ProgressLine,
    ) -> anyhow::Result<Opened>;

    /// How requests that submit and requests for books look, for the proxy in front of it.
    fn interface(&self) -> &'static Interface;

    /// Writes the daemon's configuration for the venue behind this URL. Returns the file.
    fn write_daemon(&self, folder: &Path, base_url: &str) -> anyhow::Result<PathBuf>;

    /// The faults that can be injected, in the order of their buttons.
    fn buttons(&self) -> &'static [Button];

    /// Begins a fault that needs no new process of the daemon.
    async fn begin(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()>;

    /// Ends it.
    async fn end(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()>;

    /// What happened at the venue since the last call, one line each.
    fn due_events(&mut self) -> Vec<String>;

    /// Whether the daemon's status page states that it has finished its recovery; the live quotes are counted elsewhere.
    fn is_recovered(&self, page: &Value) -> bool;

    /// Time within which a killed daemon is expected to be back, in addition to what the fence requires.
    fn recovery_max(&self) -> Duration;

    /// Time without quotes at the beginning that is no fault.
    fn before_quotes(&self) -> Duration;

    /// Where the share of time with quotes on both sides is less than expected.
    fn quotes_problem(&self, both_sides_ratio: f64, duration_s: f64) -> Option<String>;

    /// The daemon's orders and pool transactions while it runs.
    async fn shown_since(&mut self, daemon: &Daemon, from: VenueTime) -> anyhow::Result<Shown>;

    /// The venue's books of the daemon's account, after its end.
    async fn books(&mut self, daemon: &Daemon) -> anyhow::Result<Books>;

    /// What else was wrong at the venue, after `books`: one sentence each.
    fn problems(&self) -> Vec<String>;

    /// Lines above the summary.
    fn title_text(&self) -> String;

    /// Lines at the end of the summary.
    fn text(&self) -> String;

    /// Its part of the demo's JSON.
    fn add_json(&self, object: &mut Map<String, Value>);

    /// What was proven, and suggestions for further commands. `program` is the command line prefix that runs this program.
    fn closing(&self, args: &DemoArgs, program: &str) -> String;
}
