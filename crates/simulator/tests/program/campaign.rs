//! Campaigns of simulated worlds: the same trace in every process, results that add up, shards that are one machine's.

use crate::support::{Folder, exit, good, json, simulator, stderr, stdout};

#[test]
fn a_seed_leaves_the_same_trace_in_two_processes() {
    let trace = || {
        simulator(&[
            "sim", "--seeds", "1", "--seed", "3", "--hours", "0.1", "--trace",
        ])
    };
    let (one, two) = (trace(), trace());
    assert_eq!(exit(&one), 0, "{}", stderr(&one));
    let text = stdout(&one);
    assert!(
        text.lines().count() > 1_000 && text.contains("Transmit"),
        "{} bytes",
        text.len()
    );
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("trace hash ") && last.len() == 75,
        "{last}"
    );
    assert!(one.stdout == two.stdout, "two processes differ");
}

#[test]
fn a_campaign_adds_up_and_goes_on_where_it_was_interrupted() {
    let folder = Folder::new("sim");
    let file = folder.0.join("results.jsonl").display().to_string();
    let run = |seeds: &str| {
        let output = simulator(&[
            "sim",
            "--json",
            "--hours",
            "0.02",
            "--seeds",
            seeds,
            "--results",
            &file,
        ]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        json(&output)
    };
    let (few, more, again) = (run("2"), run("4"), run("4"));
    assert_eq!(few["seeds"], 2);
    assert_eq!(more["seeds"], 4);
    assert!(more["faults"].as_u64() > few["faults"].as_u64());
    assert_eq!(more["violations"], 0);
    assert_eq!(again["steps"], more["steps"], "nothing is counted twice");
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.lines().count() <= 4, "{lines}");
    for bad in [
        &["sim", "--seeds", "2", "--trace"][..],
        &["sim", "--shard", "3/2"],
        &["sim", "--without", "unknown"],
        &["sim", "--without", "crash", "--results", "nowhere.jsonl"],
        &["sim", "--seeds", "0"],
        &["sim", "--results", "/dev/full"],
    ] {
        assert_eq!(exit(&simulator(bad)), 2, "{bad:?}");
    }
}

/// Seeds 3 and 4 have two markets, of which the second has no strategy then.
#[test]
fn worlds_with_fewer_strategies_than_markets_hold() {
    let one = [
        "sim",
        "--seeds",
        "4",
        "--hours",
        "0.05",
        "--strategies",
        "1",
        "--json",
    ];
    let output = simulator(&one);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)["violations"], 0);
}

/// Seeds are divided and merged like runs, and by the variables of a scheduler.
#[test]
fn simulated_worlds_of_shards_are_the_bytes_of_one_machine() {
    let folder = Folder::new("sim-shards");
    let path = |name: &str| folder.0.join(name).display().to_string();
    let results = path("sim.jsonl");
    let fixed = [
        "sim",
        "--seeds",
        "7",
        "--seed",
        "98",
        "--hours",
        "0.02",
        "--no-shrink",
    ];
    let one = path("one.jsonl");
    good(&simulator(
        &[&fixed[..], &["--results", &one, "--jobs", "1"]].concat(),
    ));
    let ran = |variables: &[(&str, &str)], more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cambist-simulator"));
        let all = [&fixed[..], &["--results", &results], more].concat();
        command
            .args(all)
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    };
    let slurm = [
        ("SLURM_ARRAY_TASK_ID", "4"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
        ("SLURM_ARRAY_TASK_MIN", "4"),
        ("SLURM_ARRAY_TASK_MAX", "6"),
        ("SLURM_ARRAY_TASK_STEP", "1"),
    ];
    good(&ran(&slurm, &[]));
    let kubernetes = [("JOB_COMPLETION_INDEX", "1")];
    assert_eq!(exit(&ran(&kubernetes, &[])), 2, "of how many?");
    good(&ran(&kubernetes, &["--shards", "3"]));
    let parts = |of: &[&str]| -> Vec<String> {
        of.iter()
            .map(|part| path(&format!("sim.shard-000{part}-of-0003.jsonl")))
            .collect()
    };
    let merged = path("merged.jsonl");
    let merge = |parts: &[String]| {
        let mut all = vec!["merge", "--out", &merged];
        all.extend(parts.iter().map(String::as_str));
        simulator(&all)
    };
    let output = merge(&parts(&["1", "2"]));
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("seeds 102 to 104 are missing"),
        "{}",
        stderr(&output)
    );
    good(&ran(&[], &["--shard", "3/3"]));
    let output = merge(&parts(&["1", "3", "2", "2"]));
    assert!(
        stderr(&output).contains("in another part as well"),
        "{}",
        stderr(&output)
    );
    good(&merge(&parts(&["3", "1", "2"])));
    // A world that failed decides, whatever the sum of violations is.
    let failed = path("failed.jsonl");
    let text = std::fs::read_to_string(&one).unwrap();
    let text = text.replacen("\"seeds_failed\":0", "\"seeds_failed\":1", 1);
    std::fs::write(&failed, text).unwrap();
    let again = path("merged-failed.jsonl");
    let output = simulator(&["merge", "--out", &again, &failed]);
    assert_eq!(exit(&output), 1, "{}", stderr(&output));
    assert!(stdout(&output).contains("1 failed"), "{}", stdout(&output));
    let [one, merged] = [one, merged].map(|path| std::fs::read(path).unwrap());
    assert_eq!(merged, one);
    assert_eq!(
        one.split(|byte| *byte == b'\n').count() - 1,
        2,
        "a line for each hundred"
    );
}
