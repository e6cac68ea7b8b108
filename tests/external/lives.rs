//! Whole runs of a daemon, each interrupted at one system call: killed there, or with a full or broken disk. strace
//! does it to the program; the exchange is read afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cambist_core::event::TradingState;
use cambist_store::view::level;

use crate::cuts::{CUTS, Cut, KILL};
use crate::support::clock::within;
use crate::support::conditions::{assert_ends, assert_known, assert_same_bytes, assert_slots};
use crate::support::process::{CAMBIST, run};
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Fault, Keeping, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_mins(1);
/// A daemon that does not get as far as trading within this is stopped.
const TRADING: Duration = Duration::from_secs(12);

/// An exchange is replaced after this many runs: it must keep every order.
const LIVES_MAX: u64 = 100;

/// How far a daemon had come when it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It had sent no order.
    Start,
    /// It traded; the last that it sent was an order.
    Submit,
    /// It traded; the last that it sent was a cancel.
    Cancel,
    /// It had been requested to stop.
    Stop,
}

/// Result of a run.
pub struct Ran {
    /// How far it had come, if the call was reached.
    pub cut: Option<Phase>,
    /// Its exit code; -1 means that a signal ended it.
    pub code: i32,
}

/// Number of runs, by place.
pub struct Campaign {
    ground: Ground,
    pub runs: u64,
    pub cuts: u64,
    pub kills: u64,
    /// Submits after which a run is stopped, if there was a cancel too.
    pub submits: u64,
    /// Orders at exchanges that were closed.
    pub orders: usize,
}

/// An exchange and the requests that passed.
struct Ground {
    stage: Stage,
    proxy: Proxy,
    lives: u64,
    counts: Arc<[AtomicU64; 2]>,
    /// Whether the last request was a cancel.
    last_is_cancel: Arc<AtomicBool>,
}

impl Ground {
    fn open() -> Self {
        let stage = Stage::open_kept("boundaries", |file| {
            lively(file);
            file.put("traders.0.noise", 3).put("traders.0.passive", 2);
        });
        let proxy = Proxy::start(&stage.address);
        stage.daemon("daemon", &proxy.url, |file| {
            quick(file);
            // The simulated market may cause any loss; that is not the subject.
            for limit in [
                "loss_hour_max",
                "loss_day_max",
                "loss_total_max",
                "drawdown_max",
            ] {
                file.put(&format!("market.0.{limit}"), "1000000000 USDC");
            }
        });
        let counts: Arc<[AtomicU64; 2]> = Arc::default();
        let last_is_cancel: Arc<AtomicBool> = Arc::default();
        let (seen_here, last) = (Arc::clone(&counts), Arc::clone(&last_is_cancel));
        proxy.plan(move |seen| {
            if seen.is_submit() {
                seen_here[0].fetch_add(1, Ordering::Relaxed);
                last.store(false, Ordering::Relaxed);
            } else if seen.is_cancel() {
                seen_here[1].fetch_add(1, Ordering::Relaxed);
                last.store(true, Ordering::Relaxed);
            }
            Fault::Pass
        });
        Self {
            stage,
            proxy,
            lives: 0,
            counts,
            last_is_cancel,
        }
    }

    fn traded(&self) -> [u64; 2] {
        [0, 1].map(|kind| self.counts[kind].load(Ordering::Relaxed))
    }
}

impl Campaign {
    pub fn open() -> Self {
        Self {
            ground: Ground::open(),
            runs: 0,
            cuts: 0,
            kills: 0,
            submits: 4,
            orders: 0,
        }
    }

    /// A whole run: start, some submits and cancels, stop; the `nth` call of each thread is interrupted.
    pub fn play(&mut self, cut: Cut, nth: u32) -> Ran {
        if self.ground.lives >= LIVES_MAX {
            self.renew();
        }
        self.runs += 1;
        self.ground.lives += 1;
        let name = format!("life{}", self.runs);
        let trace = self.ground.stage.path(&format!("{name}.trace"));
        let config = self.ground.stage.path("daemon.toml").display().to_string();
        let inject = format!("inject={}:{}:when={nth}", cut.call, cut.effect);
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-e"])
            .arg(format!("trace={}", cut.call))
            .args(["-e", &inject, "-o"])
            .arg(&trace);
        if cut.of_tape {
            command.arg("-P").arg(self.next_tape());
        }
        command
            .arg(CAMBIST)
            .args(["run", "--json", "--config", &config, "--until-stdin-closes"]);
        let before = self.ground.traded();
        let mut daemon = Program::spawn(self.ground.stage.folder.path(), &name, command);
        within(TRADING, || {
            let now = self.ground.traded();
            let enough = now[0] >= before[0] + self.submits && now[1] > before[1];
            (daemon.ended().is_some() || enough).then_some(())
        });
        let reached = |file: &Path| {
            let traced = std::fs::read_to_string(file).unwrap_or_default();
            traced.contains("INJECTED")
        };
        let phase = if daemon.ended().is_none() && !reached(&trace) {
            Phase::Stop
        } else if self.ground.traded()[0] == before[0] {
            Phase::Start
        } else if self.ground.last_is_cancel.load(Ordering::Relaxed) {
            Phase::Cancel
        } else {
            Phase::Submit
        };
        daemon.close_stdin();
        let code = daemon.end(SOON);
        let log = daemon.stderr();
        assert!(
            !log.contains("panicked"),
            "{cut:?} {nth}: a panic:\n{}",
            daemon.last_words()
        );
        // strace ends with the program's status.
        let was_cut = reached(&trace) || cut.effect == KILL && code == -1;
        let killed = cut.effect == KILL && was_cut;
        let known: &[i32] = if killed {
            &[-1]
        } else if was_cut {
            // 127: the system could not load the program.
            &[0, 1, 77, 79, 127]
        } else {
            &[0]
        };
        assert!(
            known.contains(&code),
            "{cut:?} {nth}: exit {code}:\n{}",
            daemon.last_words()
        );
        if was_cut && !killed && code != 0 && code != 127 {
            assert!(
                log.contains("ERROR") || log.contains("error"),
                "{cut:?} {nth}: exit {code} without a word:\n{log}"
            );
        }
        if was_cut && cut.of_tape && cut.call == "write" {
            assert_eq!(code, 0, "{cut:?} {nth}: the tape is no reason:\n{log}");
            assert!(
                log.contains("writing the tape failed"),
                "{cut:?} {nth}: {log}"
            );
        }
        let store_failed = [
            "storing intents failed",
            "a write to the store failed",
            "storing the trading state failed",
        ];
        assert!(
            code != 0 || !store_failed.iter().any(|words| log.contains(words)),
            "{cut:?} {nth}: a good end without its store:\n{log}"
        );
        self.cuts += u64::from(was_cut);
        self.kills += u64::from(killed);
        let when = format!("after {cut:?}, call {nth}");
        assert_known(&self.ground.stage.books(), &self.keeping(), &when);
        let _ = std::fs::remove_file(&trace);
        // A run that was killed early may have left no store.
        let level = level(&self.ground.stage.path("daemon-state"));
        if level.is_ok_and(|(level, _)| level != TradingState::Active) {
            self.resume(&when);
        }
        Ran {
            cut: was_cut.then_some(phase),
            code,
        }
    }

    /// Where the next run writes its tape.
    fn next_tape(&self) -> PathBuf {
        let folder = self.ground.stage.path("daemon-tape");
        let numbers = std::fs::read_dir(&folder).into_iter().flatten();
        let numbers = numbers.filter_map(|file| {
            let name = file.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".tape")?.parse().ok()
        });
        let next = numbers.max().unwrap_or(0_u64) + 1;
        folder.join(format!("{next:010}.tape"))
    }

    /// Number of each of the calls in a run without faults, in the thread that makes most.
    pub fn counts(&mut self) -> BTreeMap<&'static str, u32> {
        self.runs += 1;
        let trace = self.ground.stage.path("calls.trace");
        let config = self.ground.stage.path("daemon.toml").display().to_string();
        let calls: BTreeSet<_> = CUTS.iter().map(|cut| cut.call).collect();
        let wanted = calls.iter().copied().collect::<Vec<_>>().join(",");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-e", &format!("trace={wanted}"), "-o"])
            .arg(&trace)
            .arg(CAMBIST)
            .args(["run", "--json", "--config", &config, "--until-stdin-closes"]);
        let before = self.ground.traded();
        let mut daemon = Program::spawn(self.ground.stage.folder.path(), "calls", command);
        until(SOON, "orders and a cancel", || {
            let now = self.ground.traded();
            (now[0] >= before[0] + self.submits && now[1] > before[1]).then_some(())
        });
        daemon.close_stdin();
        assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());
        let text = std::fs::read_to_string(&trace).unwrap();
        let mut made: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for line in text.lines() {
            let (thread, rest) = line.split_once(' ').unwrap();
            if let Some((call, _)) = rest.trim_start().split_once('(') {
                *made.entry((call, thread)).or_default() += 1;
            }
        }
        let most = |call: &'static str| {
            let threads = made.iter().filter(|((made, _), _)| *made == call);
            (call, threads.map(|(_, count)| *count).max().unwrap_or(0))
        };
        calls.into_iter().map(most).collect()
    }

    fn keeping(&self) -> Keeping {
        Keeping::read(&self.ground.stage.path("daemon-state"))
    }

    /// A failed store stops trading permanently: as if an operator had repaired the disk.
    fn resume(&self, when: &str) {
        let config = self.ground.stage.path("daemon.toml").display().to_string();
        let args = [
            "resume",
            "--config",
            &config,
            "--reason",
            "the disk is well again",
        ];
        let (code, _, log) = run(self.ground.stage.folder.path(), "resume", &args, SOON);
        assert_eq!(code, 0, "{when}: {log}");
    }

    /// A run without faults: it starts, trades, and ends with equal books.
    pub fn recover(&mut self, when: &str) -> Program {
        let mut daemon = self.ground.stage.run("daemon");
        let before = self.ground.traded()[0];
        until(SOON, "orders of a daemon that is left alone", || {
            assert!(
                daemon.ended().is_none(),
                "{when}: it does not start again: {}",
                daemon.last_words()
            );
            (self.ground.traded()[0] > before).then_some(())
        });
        assert_eq!(daemon.drain(SOON), 0, "{when}: {}", daemon.last_words());
        let (books, keeping) = (self.ground.stage.books(), self.keeping());
        assert_eq!(books.open(), 0, "{when}: something rests");
        assert_known(&books, &keeping, when);
        assert_ends(&books, &keeping);
        assert_slots(&keeping);
        books.assert_ledger(&daemon.stdout());
        daemon
    }

    /// Orders of all runs.
    pub fn orders(&self) -> usize {
        self.orders + self.ground.stage.books().orders.len()
    }

    fn renew(&mut self) {
        self.orders = self.orders();
        let last = self.recover("before another exchange");
        std::mem::replace(&mut self.ground, Ground::open()).close(&last);
    }

    /// Ends everything and keeps the folder for inspection.
    pub fn abandon(self) {
        let Stage { venue, folder, .. } = self.ground.stage;
        drop(venue);
        println!("kept: {}", folder.path().display());
        std::mem::forget(folder);
    }

    /// A last run without faults; then the exchange's audit and the auditor.
    pub fn close(mut self) {
        let last = self.recover("at the end");
        self.ground.close(&last);
    }
}

impl Ground {
    fn close(self, last: &Program) {
        assert_same_bytes(&self.proxy.submits());
        self.stage.close_audited(last);
    }
}
