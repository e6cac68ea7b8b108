//! A daemon that is killed in the middle of a submit and started again, at each kind of venue: the time until it quotes
//! both sides again or knows its pool, and what became of its orders.
//!
//! `recovery PROGRAM [KILLS [FOLDER]]`. The program is `cambist`; the folder is that of the packages for a chain
//! (`cambist demo --venue evm` names them). Without it the chain is stated as not measured.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::measure;

/// Seconds of a demo: the kill comes after two thirds.
const SECONDS: [(&str, &str); 3] = [("exchange", "30s"), ("kraken", "45s"), ("evm", "45s")];

/// What one kill led to.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    took_s: f64,
    /// 3 s, with what the venue adds: a fence that an order had to wait for, and calls that Kraken counts.
    most_s: f64,
    unknown: usize,
    doubled: u64,
    forgotten: u64,
}

fn recovery(program: &str, demo: &[&str]) -> Recovery {
    let output = Command::new(program)
        .args(["demo", "--json"])
        .args(demo)
        .stderr(Stdio::null())
        .output()
        .expect("started");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "the demo failed: {text}");
    let result: Value = serde_json::from_str(&text).expect("JSON");
    let crash = &result["crash"];
    let count = |name: &str| crash[name].as_u64().expect("a count");
    let seconds = |name: &str| crash[name].as_f64().expect("seconds");
    Recovery {
        took_s: seconds("recovery_s"),
        most_s: seconds("recovery_max_s"),
        unknown: crash["unknown"].as_array().expect("orders").len(),
        doubled: count("doubled"),
        forgotten: count("forgotten"),
    }
}

/// Kills daemons and prints how they came back.
pub fn run(arguments: &[String]) {
    let program = arguments
        .first()
        .expect("recovery PROGRAM [KILLS [FOLDER]]");
    let kills = arguments
        .get(1)
        .map_or(3, |kills| kills.parse().expect("a number"));
    let packages = arguments.get(2);
    println!(
        "Each kill is a SIGKILL in the middle of a submit of `cambist demo`, seeds 1 to {kills}; wall time from the kill \
         to quotes on both sides, on a chain until the pool is known and data are complete.\n"
    );
    println!(
        "| venue | kills | unknown then | doubled | forgotten | back after, median | longest | allowed |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for (venue, seconds) in SECONDS {
        if venue == "evm" && packages.is_none() {
            println!("| {venue} | not measured: no packages of a node | | | | | | |");
            continue;
        }
        let all: Vec<_> = (1..=kills)
            .map(|seed: u64| {
                let seed = seed.to_string();
                let mut demo = vec!["--venue", venue, "--duration", seconds, "--seed", &seed];
                if let Some(folder) = packages.filter(|_| venue == "evm") {
                    demo.extend(["--node-modules", folder]);
                }
                recovery(program, &demo)
            })
            .collect();
        let took: Vec<_> = all.iter().map(|one| one.took_s).collect();
        let longest = took.iter().copied().fold(0.0, f64::max);
        let most = all.iter().map(|one| one.most_s).fold(0.0, f64::max);
        println!(
            "| {venue} | {kills} | {} | {} | {} | {:.1} s | {longest:.1} s | {most:.1} s |",
            all.iter().map(|one| one.unknown).sum::<usize>(),
            all.iter().map(|one| one.doubled).sum::<u64>(),
            all.iter().map(|one| one.forgotten).sum::<u64>(),
            measure::median(&took),
        );
    }
}
