//! Killed, or told that the disk is full or broken, at one system call after another: of a start, of
//! submits and cancels, of a stop. strace does it to the real program; what is true is asked at the
//! exchange.
//!
//! `CAMBIST_BOUNDARIES=all` tries every call until a whole run needs no more of them; a list of names
//! (`fdatasync,pwrite64`) tries these. Otherwise it is a sample.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::clock::{Since, within};
use crate::support::process::{CAMBIST, run};
use crate::support::stage::{lively, quick};
use crate::support::verdict::{assert_ends, assert_known, assert_same_bytes, assert_slots};
use crate::support::{Edit, Fault, Keeping, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_mins(1);
/// A daemon that does not get as far as trading within this is stopped.
const TRADING: Duration = Duration::from_secs(12);
/// A sample ends after this.
const SAMPLE: Duration = Duration::from_secs(90);
/// No run of this test needs more calls of one kind in one thread.
const CALLS_MAX: u32 = 4_000;
/// After so many runs that were cut, one that is left alone must end well.
const BETWEEN: u64 = 8;

/// What is done to a call.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The call.
    call: &'static str,
    /// As strace writes it.
    effect: &'static str,
}

const KILL: &str = "signal=SIGKILL";
const FULL: &str = "error=ENOSPC";
const BROKEN: &str = "error=EIO";

/// `fsync` or `fdatasync`, `writev` or `sendto`: which one it is depends on how libraries were built.
const CUTS: [Cut; 17] = [
    cut("fsync", KILL),
    cut("writev", KILL),
    cut("pwrite64", KILL),
    cut("fsync", BROKEN),
    cut("recvfrom", KILL),
    cut("pwrite64", FULL),
    cut("write", KILL),
    cut("openat", KILL),
    cut("pwrite64", BROKEN),
    cut("sendto", KILL),
    cut("connect", KILL),
    cut("openat", FULL),
    cut("ftruncate", FULL),
    cut("unlink", KILL),
    cut("ftruncate", KILL),
    cut("fdatasync", KILL),
    cut("fdatasync", BROKEN),
];

const fn cut(call: &'static str, effect: &'static str) -> Cut {
    Cut { call, effect }
}

/// Which calls are cut, counted in each thread.
const SAMPLED: [u32; 9] = [1, 2, 3, 5, 8, 13, 24, 45, 90];

/// What came of a run.
struct Ran {
    /// The call was reached.
    cut: bool,
    code: i32,
}

struct Campaign {
    stage: Stage,
    proxy: Proxy,
    runs: u64,
    cuts: u64,
    kills: u64,
    counts: Arc<[AtomicU64; 2]>,
}

impl Campaign {
    fn open() -> Self {
        let stage = Stage::open_kept("boundaries", |file| {
            lively(file);
            file.put("traders.0.noise", 3).put("traders.0.passive", 2);
        });
        let proxy = Proxy::start(&stage.address);
        stage.daemon("daemon", &proxy.url, quick);
        let counts: Arc<[AtomicU64; 2]> = Arc::default();
        let seen_here = Arc::clone(&counts);
        proxy.plan(move |seen| {
            if seen.is_submit() {
                seen_here[0].fetch_add(1, Ordering::Relaxed);
            } else if seen.is_cancel() {
                seen_here[1].fetch_add(1, Ordering::Relaxed);
            }
            Fault::Pass
        });
        Self {
            stage,
            proxy,
            runs: 0,
            cuts: 0,
            kills: 0,
            counts,
        }
    }

    fn traded(&self) -> [u64; 2] {
        [0, 1].map(|kind| self.counts[kind].load(Ordering::Relaxed))
    }

    /// A whole life: start, some submits and cancels, stop; the `nth` call of each thread is cut.
    fn play(&mut self, cut: Cut, nth: u32) -> Ran {
        self.runs += 1;
        let name = format!("life{}", self.runs);
        let trace = self.stage.path(&format!("{name}.trace"));
        let config = self.stage.path("daemon.toml").display().to_string();
        let inject = format!("inject={}:{}:when={nth}", cut.call, cut.effect);
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-e"])
            .arg(format!("trace={}", cut.call))
            .args(["-e", &inject, "-o"])
            .arg(&trace)
            .arg(CAMBIST)
            .args(["run", "--json", "--config", &config, "--until-stdin-closes"]);
        let before = self.traded();
        let mut daemon = Program::spawn(self.stage.folder.path(), &name, command);
        within(TRADING, || {
            let now = self.traded();
            let enough = now[0] >= before[0] + 4 && now[1] > before[1];
            (daemon.ended().is_some() || enough).then_some(())
        });
        daemon.close_stdin();
        let code = daemon.end(SOON);
        let log = daemon.stderr();
        assert!(
            !log.contains("panicked"),
            "{cut:?} {nth}: a panic:\n{}",
            daemon.last_words()
        );
        let traced = std::fs::read_to_string(&trace).unwrap_or_default();
        // strace dies as the program did.
        let was_cut = traced.contains("INJECTED") || cut.effect == KILL && code == -1;
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
        let store_failed = [
            "intents not stored",
            "store write failed",
            "level not stored",
        ];
        assert!(
            code != 0 || !store_failed.iter().any(|words| log.contains(words)),
            "{cut:?} {nth}: a good end without its store:\n{log}"
        );
        self.cuts += u64::from(was_cut);
        self.kills += u64::from(killed);
        let when = format!("after {cut:?}, call {nth}");
        assert_known(&self.stage.books(), &self.keeping(), &when);
        let _ = std::fs::remove_file(&trace);
        if log.contains("trading is stopped") {
            self.resume(&when);
        }
        Ran { cut: was_cut, code }
    }

    fn keeping(&self) -> Keeping {
        Keeping::read(&self.stage.path("daemon-state"))
    }

    /// A store that failed stops trading for good: a person has looked at the disk.
    fn resume(&self, when: &str) {
        let config = self.stage.path("daemon.toml").display().to_string();
        let args = [
            "resume",
            "--config",
            &config,
            "--reason",
            "the disk is well again",
        ];
        let (code, _, log) = run(self.stage.folder.path(), "resume", &args, SOON);
        assert_eq!(code, 0, "{when}: {log}");
    }

    /// A life that nothing is done to: it starts, trades, and ends with equal books.
    fn recover(&mut self, when: &str) -> Program {
        let mut daemon = self.stage.run("daemon");
        let before = self.traded()[0];
        until(SOON, "orders of a daemon that is left alone", || {
            assert!(
                daemon.ended().is_none(),
                "{when}: it does not start again: {}",
                daemon.last_words()
            );
            (self.traded()[0] > before).then_some(())
        });
        assert_eq!(daemon.drain(SOON), 0, "{when}: {}", daemon.last_words());
        let (books, keeping) = (self.stage.books(), self.keeping());
        assert_eq!(books.open(), 0, "{when}: something rests");
        assert_known(&books, &keeping, when);
        assert_ends(&books, &keeping);
        assert_slots(&keeping);
        books.assert_ledger(&daemon.stdout());
        daemon
    }
}

/// Needs strace that injects (4.22 or later). Not with --seccomp-bpf: signals are then not injected.
#[test]
fn every_system_call_may_be_the_last() {
    let wanted = std::env::var("CAMBIST_BOUNDARIES").unwrap_or_default();
    let all = !wanted.is_empty();
    let cuts: Vec<Cut> = CUTS
        .into_iter()
        .filter(|cut| !all || wanted == "all" || wanted.split(',').any(|name| name == cut.call))
        .collect();
    let begun = Since::now();
    let mut campaign = Campaign::open();
    // Lives in a row that needed no such call: three are taken for proof that there is none.
    let mut spared = vec![0_u32; cuts.len()];
    let mut done = vec![false; cuts.len()];
    let mut rounds = 0_u32;
    while done.contains(&false) && rounds < CALLS_MAX {
        for (index, cut) in cuts.iter().enumerate() {
            let nth = match (all, SAMPLED.get(rounds as usize)) {
                (true, _) => rounds + 1,
                (false, Some(nth)) => *nth,
                (false, None) => {
                    done[index] = true;
                    continue;
                }
            };
            if done[index] || !all && begun.elapsed() > SAMPLE {
                done[index] = true;
                continue;
            }
            let ran = campaign.play(*cut, nth);
            spared[index] = if ran.cut { 0 } else { spared[index] + 1 };
            done[index] |= spared[index] >= if all { 3 } else { 1 };
            if all {
                eprintln!("{} {} {nth}: exit {}", cut.call, cut.effect, ran.code);
            }
            if campaign.runs.is_multiple_of(BETWEEN) {
                campaign.recover(&format!("after {cut:?}, call {nth}"));
            }
        }
        rounds += 1;
    }
    let last = campaign.recover("at the end");
    assert_same_bytes(&campaign.proxy.submits());
    println!(
        "{} lives, {} cut at a system call, {} of them killed, {} orders, {:.0} s",
        campaign.runs,
        campaign.cuts,
        campaign.kills,
        campaign.stage.books().orders.len(),
        begun.elapsed().as_secs_f32()
    );
    if all && wanted != "all" {
        return campaign.stage.close_audited(&last);
    }
    assert!(campaign.cuts >= 20, "only {} lives were cut", campaign.cuts);
    assert!(campaign.kills >= 8, "only {} were killed", campaign.kills);
    campaign.stage.close_audited(&last);
}

/// Whether the machine can do it at all, said by the runner before.
#[test]
fn strace_can_inject() {
    let folder = crate::support::Folder::new("inject");
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "inject=fsync:error=EIO", "true"]);
    let mut tried = Program::spawn(folder.path(), "tried", command);
    assert_eq!(tried.end(SOON), 0, "{}", tried.last_words());
    let (code, _, _) = run(folder.path(), "version", &["--version"], SOON);
    assert_eq!(code, 0);
}
