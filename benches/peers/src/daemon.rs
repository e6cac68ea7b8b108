//! The daemon as the demo runs it: CPU until both sides are quoted, memory, and the time from a kill to quotes.
//! Simulated worlds: hours a second.
//!
//! `daemon PROGRAM [SECONDS]`, `worlds PROGRAM [SEEDS]`. The program is `cambist`; processes are looked up in /proc.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::measure;

/// What a process took so far.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    cpu_ms: f64,
    peak_mb: f64,
}

/// The daemon that a demo has started.
fn daemon_of(demo: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{demo}/task/{demo}/children")).ok()?;
    let mut pids = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    pids.find(|pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"run")
    })
}

fn usage(pid: u32) -> Option<Usage> {
    let folder = format!("/proc/{pid}");
    let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    let mut nanos = 0.0;
    for thread in std::fs::read_dir(Path::new(&folder).join("task")).ok()? {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        nanos += text.split(' ').next()?.parse::<f64>().ok()?;
    }
    Some(Usage {
        cpu_ms: nanos / 1e6,
        peak_mb: kib * 1_024.0 / 1e6,
    })
}

/// Runs the demo and prints what its daemon took.
pub fn demo(arguments: &[String]) {
    let (program, seconds) = match arguments {
        [program] => (program, "60"),
        [program, seconds] => (program, seconds.as_str()),
        _ => panic!("daemon PROGRAM [SECONDS]"),
    };
    let mut demo = Command::new(program)
        .args([
            "demo",
            "--json",
            "--seed",
            "7",
            "--duration",
            &format!("{seconds}s"),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let lines = BufReader::new(demo.stderr.take().expect("piped")).lines();
    let (mut quoted, mut last) = (None, Usage::default());
    for line in lines {
        let line = line.expect("text");
        let Some(now) = daemon_of(demo.id()).and_then(usage) else {
            continue;
        };
        let quotes = line
            .split('|')
            .find(|part| part.trim_start().starts_with("quotes"));
        if quoted.is_none() && quotes.is_some_and(|quotes| !quotes.contains(" - ")) {
            quoted = Some(now);
        }
        last.peak_mb = last.peak_mb.max(now.peak_mb);
        last.cpu_ms = now.cpu_ms;
    }
    let mut text = String::new();
    demo.stdout
        .take()
        .expect("piped")
        .read_to_string(&mut text)
        .expect("text");
    assert!(
        demo.wait().expect("ended").success(),
        "the demo failed: {text}"
    );
    let result: Value = serde_json::from_str(&text).expect("JSON");
    println!("A demo of {seconds} s, seed 7, with a SIGKILL in the middle of a submit.\n");
    let quoted = quoted.expect("both sides were quoted");
    println!(
        "The first quotes are those of the demo's line of each second, so that the CPU until then is an upper bound."
    );
    let mut aims = vec![
        (
            "CPU of the daemon from its start to quotes on both sides",
            quoted.cpu_ms,
            100.0,
            "ms",
        ),
        (
            "largest resident memory of the daemon",
            last.peak_mb,
            20.0,
            "MB",
        ),
    ];
    let crash = &result["crash"];
    if let (Some(took), Some(most)) = (
        crash["recovery_s"].as_f64(),
        crash["recovery_max_s"].as_f64(),
    ) {
        aims.push((
            "from the new start after a kill to quotes on both sides, wall time",
            took,
            most,
            "s",
        ));
    }
    measure::aims(&aims);
}

/// Runs worlds and prints their speed.
pub fn worlds(arguments: &[String]) {
    let (program, seeds) = match arguments {
        [program] => (program, 10),
        [program, seeds] => (program, seeds.parse().expect("a number")),
        _ => panic!("worlds PROGRAM [SEEDS]"),
    };
    let before = children_cpu_s();
    let output = Command::new(program)
        .args(["sim", "--json", "--seeds", &seeds.to_string()])
        .stderr(Stdio::null())
        .output()
        .expect("started");
    let cpu = children_cpu_s() - before;
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        output.status.success(),
        "a world violated something: {text}"
    );
    let result: Value = serde_json::from_str(&text).expect("JSON");
    let hours = result["simulated_hours"].as_f64().expect("hours");
    println!("| worlds | simulated hours | CPU | hours a second of one core |\n|---|---|---|---|");
    println!("| {seeds} | {hours:.1} | {cpu:.1} s | {:.1} |", hours / cpu);
}

/// CPU seconds of the processes that have ended, from /proc: a tick is a hundredth of a second.
fn children_cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("/proc");
    let (_, fields) = text.rsplit_once(") ").expect("a name");
    let ticks = fields.split(' ').skip(13).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().expect("a number") / 100.0)
        .sum()
}
