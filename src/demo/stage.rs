//! The running demo: its daemon, the venue's events, the planned kill, and the faults of its page.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cambist_report::text::SEPARATOR;
use cambist_strategies::Promise;
use tokio::time::Instant;

use crate::demo::child::{Child, POLL_INTERVAL};
use crate::demo::crash_test::{self, Crash, Way};
use crate::demo::faults::{EndedBy, Fault};
use crate::demo::files::{self, Folder};
use crate::demo::page::{Page, Press, Shared};
use crate::demo::progress_line::ProgressLine;
use crate::demo::recording_proxy::RecordingProxy;
use crate::demo::status;
use crate::demo::venue::Venue;
use cambist_daemon::config::Daemon;

/// Time between two observations of the quotes while a fault is in effect.
const OBSERVE_EVERY: Duration = Duration::from_millis(200);
/// Additional time that the quotes may take to return after a fault.
const BACK: Duration = Duration::from_secs(30);
/// Additional time for the recovery from a kill that was requested: other faults may have ended just before.
const AFTER_FAULTS: Duration = Duration::from_secs(15);
/// Why no button works.
const RESTARTING: &str = "the daemon is being started again";
const CRASH_TEST: &str = "the crash test is running";

/// State while the demo runs.
pub struct Stage<'p, V> {
    /// When the daemon began to trade.
    pub begun: Instant,
    /// The venue.
    pub venue: &'p mut V,
    /// The daemon's current process.
    pub daemon: Child,
    /// The proxy between daemon and venue.
    pub wire: &'p RecordingProxy,
    /// The demo's page.
    pub page: Page,
    /// What it shows.
    pub shared: Shared,
    /// Configuration of the daemon.
    pub config: &'p Daemon,
    /// The demo's folder.
    pub folder: &'p Folder,
    /// Progress.
    pub screen: &'p mut ProgressLine,
    /// The results of the planned kill.
    pub crash: Option<Crash>,
    /// What the strategies promise.
    pub promise: Promise,
    /// Address of the daemon's metrics.
    pub metrics: String,
    /// The file with which a killed daemon starts again.
    pub file: PathBuf,
    /// Number of processes of the daemon so far.
    pub runs: u32,
    /// Whether the demo has ended the daemon's process, and not yet started it again.
    pub is_down: bool,
}

/// Starts the daemon; its output goes to files with this name.
pub fn start(folder: &Folder, file: &Path, files: &str) -> anyhow::Result<Child> {
    let file = file.display().to_string();
    let args = ["run", "--config", &file, "--json", "--until-stdin-closes"];
    Child::start_as("daemon", files, folder.path(), &args)
}

/// Why the loop ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    TimeIsOver,
    /// The daemon has ended by itself.
    Ended,
}

impl<V: Venue> Stage<'_, V> {
    /// Shows the daemon until the time is over, and kills it in between if that is planned.
    pub async fn play(
        &mut self,
        crash_at: Option<Duration>,
        length: Option<Duration>,
    ) -> anyhow::Result<()> {
        if crash_at.is_some() {
            if self.show(crash_at).await? == Shown::Ended {
                return Ok(());
            }
            // The bound on the recovery is that of a daemon without other faults.
            self.end_faults().await?;
            self.set_busy(Some(CRASH_TEST));
            if self.promise == Promise::PoolShares {
                self.screen
                    .say("after the restart the daemon's target is no pool shares");
                self.file = files::write_leaving(self.folder.path())?;
            }
            let recovery_max = self.recovery_max();
            let crash = self
                .restart(Way::KillMidSubmit, Duration::ZERO, recovery_max)
                .await?;
            self.crash = Some(crash);
            self.set_busy(None);
        }
        self.show(length).await.map(|_| ())
    }

    /// Ends all faults, waits until their effects are over, and starts a daemon that was killed for one. Afterwards no
    /// button works.
    pub async fn finish(&mut self) -> anyhow::Result<()> {
        if self.is_down {
            if self.daemon.exited()?.is_some() {
                self.daemon = self.start_again()?;
            }
            let file = self.config.metrics_address_file();
            self.metrics = self.daemon.address(&file, BACK).await?;
            self.daemon.begun(&self.metrics, BACK).await?;
            self.is_down = false;
        }
        self.end_faults().await?;
        self.set_busy(Some("the demo is ending"));
        Ok(())
    }

    /// Shows the daemon's line until `until`, or until the daemon ends.
    async fn show(&mut self, until: Option<Duration>) -> anyhow::Result<Shown> {
        let mut next = self.begun.elapsed() + Duration::from_secs(1);
        let mut observed = Instant::now();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let now = self.begun.elapsed();
            for text in self.venue.due_events() {
                self.say(&text);
            }
            if let Some(status) = self.daemon.exited()? {
                // Killed by a signal: it has printed nothing; its next start recovers.
                if status.code().is_none() {
                    anyhow::bail!(self.daemon.how(status));
                }
                return Ok(Shown::Ended);
            }
            if until.is_some_and(|until| now >= until) {
                return Ok(Shown::TimeIsOver);
            }
            if let Ok(press) = self.page.presses.try_recv() {
                self.pressed(press).await?;
            }
            for fault in self.shared.faults(|faults| faults.due(Instant::now())) {
                self.end_fault(fault, EndedBy::Time).await?;
            }
            if observed.elapsed() >= OBSERVE_EVERY {
                let since = std::mem::replace(&mut observed, Instant::now());
                self.observe().await;
                self.count_recovery(observed - since).await;
            }
            if now >= next {
                next = now + Duration::from_secs(1);
                if let Some(line) = status::line(&self.metrics).await {
                    let s = now.as_secs();
                    self.screen.line(&format!("{s:>4} s{SEPARATOR}{line}"));
                }
            }
        }
    }

    /// After the kill: whether the start of the daemon went on in the time that has passed.
    async fn count_recovery(&mut self, passed: Duration) {
        if let Some(crash) = &mut self.crash
            && status::is_recovering(&self.metrics).await
        {
            crash.recovering += passed;
        }
    }

    async fn observe(&self) {
        if self.shared.faults(|faults| faults.are_awaited()) {
            let quoted = status::does(&self.metrics, self.promise, self.venue).await;
            self.shared
                .faults(|faults| faults.observe(quoted, Instant::now()));
        }
    }

    /// A button was pressed.
    async fn pressed(&mut self, press: Press) -> anyhow::Result<()> {
        let Press { fault, answer } = press;
        // The page may have gone.
        let answer = |result| drop(answer.send(result));
        let active = self.shared.faults(|faults| faults.active());
        if active.contains(&fault) {
            self.end_fault(fault, EndedBy::Press).await?;
            answer(Ok(()));
        } else if !fault.ends_the_process() {
            let begun = self.venue.begin(fault, self.wire).await;
            if begun.is_ok() {
                self.say(&format!("fault begins: {}", fault.button().title));
                self.shared
                    .faults(|faults| faults.begin(fault, Instant::now()));
            }
            answer(begun.map_err(|error| format!("{error:#}")));
        } else if self.shared.faults(|faults| faults.are_awaited()) {
            answer(Err(
                "wait until the other faults have ended and the quotes are back".to_owned(),
            ));
        } else {
            self.say(&format!("fault begins: {}", fault.button().title));
            self.shared.faults(|faults| {
                faults.begin(fault, Instant::now());
                faults.busy = (fault == Fault::Kill).then_some(RESTARTING);
            });
            answer(Ok(()));
            let way = match fault {
                Fault::Crash => Way::Abort,
                _ => Way::KillMidSubmit,
            };
            let down = fault.button().lasts_s.unwrap_or(0);
            let recovery_max = self.recovery_max() + AFTER_FAULTS;
            let crash = self
                .restart(way, Duration::from_secs(down), recovery_max)
                .await?;
            self.shared.faults(|faults| faults.restarted(fault, crash));
            self.set_busy(None);
        }
        Ok(())
    }

    async fn end_fault(&mut self, fault: Fault, by: EndedBy) -> anyhow::Result<()> {
        self.observe().await;
        self.venue.end(fault, self.wire).await?;
        self.shared
            .faults(|faults| faults.end(fault, by, Instant::now()));
        self.say(&format!("fault ends: {}", fault.button().title));
        Ok(())
    }

    /// Ends all faults and waits until the quotes are back.
    async fn end_faults(&mut self) -> anyhow::Result<()> {
        for fault in self.shared.faults(|faults| faults.active()) {
            self.end_fault(fault, EndedBy::Demo).await?;
        }
        let fence = Duration::from_secs(self.config.dead_after_s());
        let longest = self.recovery_max() + fence + BACK;
        let since = Instant::now();
        while self.shared.faults(|faults| faults.are_awaited()) && since.elapsed() < longest {
            if self.daemon.exited()?.is_some() {
                break;
            }
            self.observe().await;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Ends the daemon's process and starts it again after a time, or when the button is pressed again.
    async fn restart(
        &mut self,
        way: Way,
        down: Duration,
        recovery_max: Duration,
    ) -> anyhow::Result<Crash> {
        self.is_down = true;
        let killed = crash_test::kill(self.wire, &mut self.daemon, self.config, way).await?;
        if way == Way::KillMidSubmit {
            self.screen.say(killed.line());
        }
        self.shared.set_daemon(None);
        let mut started = killed.at();
        if down > Duration::ZERO {
            let by = self.stay_down(killed.at() + down).await;
            self.shared.faults(|faults| {
                faults.end(Fault::Crash, by, Instant::now());
                faults.busy = Some(RESTARTING);
            });
            started = Instant::now();
        }
        self.daemon = self.start_again()?;
        let what = (&mut *self.venue, self.config, self.promise);
        let recovered = killed.recover((self.begun, started), &mut self.daemon, what, recovery_max);
        let (metrics, crash) = recovered.await?;
        self.shared.set_daemon(Some(metrics.clone()));
        self.metrics = metrics;
        self.is_down = false;
        self.screen.say(&crash.recovery_line());
        self.screen
            .say("the line counts from this start; the summary counts the whole demo");
        Ok(crash)
    }

    /// Waits without a daemon.
    async fn stay_down(&mut self, until: Instant) -> EndedBy {
        while Instant::now() < until {
            tokio::time::sleep(POLL_INTERVAL).await;
            let Ok(press) = self.page.presses.try_recv() else {
                continue;
            };
            let is_end = press.fault == Fault::Crash;
            let why = || "no daemon runs now: press crash again to start it".to_owned();
            drop(press.answer.send(if is_end { Ok(()) } else { Err(why()) }));
            if is_end {
                return EndedBy::Press;
            }
        }
        EndedBy::Time
    }

    /// Time within which a killed daemon is expected to quote again, in addition to what the fence requires.
    fn recovery_max(&self) -> Duration {
        self.venue.recovery_max()
    }

    fn start_again(&mut self) -> anyhow::Result<Child> {
        self.runs += 1;
        start(self.folder, &self.file, &format!("daemon-{}", self.runs))
    }

    fn set_busy(&self, why: Option<&'static str>) {
        self.shared.faults(|faults| faults.busy = why);
    }

    /// A line with the time that stays.
    fn say(&mut self, text: &str) {
        let s = self.begun.elapsed().as_secs();
        self.screen.say(&format!("{s:>4} s{SEPARATOR}{text}"));
    }
}
