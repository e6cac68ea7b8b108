//! Campaigns of simulated worlds: the same trace in every process, results that add up, shards that are one machine's.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

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
        let mut command = Command::new(env!("CARGO_BIN_EXE_cambist-simulator"));
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
    // A world that failed decides; numbers that no campaign writes are refused.
    let failed = path("failed.jsonl");
    let text = std::fs::read_to_string(&one).unwrap();
    let again = path("merged-failed.jsonl");
    let changed = |changes: &[(&str, &str)]| {
        let change = |text: String, (from, to): &(&str, &str)| text.replacen(from, to, 1);
        let text = changes.iter().fold(text.clone(), change);
        std::fs::write(&failed, text).unwrap();
        simulator(&["merge", "--out", &again, &failed])
    };
    let counted = ("\"seeds_failed\":0", "\"seeds_failed\":1");
    let violation = ("\"violations\":0", "\"violations\":1");
    let listed = (
        "\"failed\":[]",
        "\"failed\":[{\"seed\":98,\"violation\":\"double_order\"}]",
    );
    for changes in [&[counted][..], &[violation], &[listed, violation]] {
        let output = changed(changes);
        assert_eq!(exit(&output), 1, "{}", stderr(&output));
        let place = format!("{failed}, line 1: ");
        assert!(stderr(&output).contains(&place), "{}", stderr(&output));
        assert!(!std::path::Path::new(&again).exists());
    }
    let output = changed(&[counted, violation, listed]);
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

/// Runs worlds of which there are always more, and interrupts them by a signal when the first have ended.
fn interrupted(signal: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cambist-simulator"));
    let mut child = command
        .args([
            "sim",
            "--seeds",
            "1000000",
            "--hours",
            "0.02",
            "--no-shrink",
        ])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first line of progress: worlds have ended.
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains(" of 1000000 seeds, ") {
        assert!(notes.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let kill = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    notes.read_to_string(&mut text).unwrap();
    let stderr = text.into_bytes();
    let output = child.wait_with_output().unwrap();
    Output { stderr, ..output }
}

#[test]
fn an_interrupted_campaign_sums_up_the_worlds_that_ended() {
    let folder = Folder::new("sim-interrupted");
    let output = interrupted("-INT", &[]);
    assert_eq!(exit(&output), 130, "{}", stderr(&output));
    let text = stdout(&output);
    let seeds = text
        .lines()
        .find(|line| line.starts_with("seeds "))
        .unwrap();
    assert!(
        seeds.ends_with(" of 1000000 (1 to 1000000), interrupted"),
        "{text}"
    );
    assert!(text.contains("violations  "), "{text}");
    let notes = stderr(&output);
    assert!(
        notes.contains("worlds have ended; nothing is kept"),
        "{notes}"
    );

    // With a file of results: every world that was counted is in it, and none is run again. Schedulers send SIGTERM.
    let file = folder.0.join("results.jsonl").display().to_string();
    let output = interrupted("-TERM", &["--json", "--results", &file]);
    assert_eq!(exit(&output), 143, "{}", stderr(&output));
    let value = json(&output);
    let (seeds, left) = (&value["seeds"], &value["seeds_left"]);
    assert_eq!(
        (&value["interrupted"], &value["exit"]),
        (&true.into(), &143.into())
    );
    let ended = seeds.as_u64().unwrap();
    assert!(ended > 0, "{value}");
    assert_eq!(left.as_u64(), Some(1_000_000 - ended));
    let lines = std::fs::read_to_string(&file).unwrap();
    let kept = lines.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["seeds"].as_u64().unwrap()
    });
    assert_eq!(kept.sum::<u64>(), ended, "{lines}");
}

#[test]
fn the_last_seed_is_run_and_one_behind_it_is_refused_for_that() {
    let folder = Folder::new("sim-last");
    let file = folder.0.join("results.jsonl").display().to_string();
    let last = u64::MAX.to_string();
    let run = |seeds: &str| {
        simulator(&[
            "sim",
            "--seeds",
            seeds,
            "--seed",
            &last,
            "--hours",
            "0.02",
            "--json",
            "--results",
            &file,
        ])
    };
    let (one, again) = (run("1"), run("1"));
    good(&one);
    good(&again);
    let value = json(&one);
    assert_eq!(
        (&value["seeds"], &value["first_seed"]),
        (&1.into(), &u64::MAX.into())
    );
    assert_eq!(
        json(&again)["steps"],
        value["steps"],
        "it was counted twice"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    let output = run("2");
    assert_eq!(exit(&output), 2);
    let what = format!("--seed {last} with --seeds 2 passes the last seed, {last}");
    assert!(stderr(&output).contains(&what), "{}", stderr(&output));
}

/// The table for programs: every row of the one for readers.
#[test]
fn invariants_are_a_table_or_json_and_nothing_is_run() {
    let (text, value) = (
        simulator(&["sim", "--invariants"]),
        simulator(&["sim", "--invariants", "--json"]),
    );
    good(&text);
    good(&value);
    let value = json(&value);
    let rows = value["invariants"].as_array().unwrap();
    assert_eq!(rows.len(), cambist_sim::Invariant::ALL.len());
    let text = stdout(&text);
    for row in rows {
        for part in ["name", "group", "statement"] {
            assert!(text.contains(row[part].as_str().unwrap()), "{row}");
        }
    }
    let output = simulator(&["--json", "sim", "--invariants", "--seeds", "3"]);
    assert_eq!(exit(&output), 2, "{}", stdout(&output));
}

#[test]
fn the_help_lists_every_family_of_faults_and_shows_ranges_of_seeds() {
    let output = simulator(&["sim", "--help"]);
    good(&output);
    let text = stdout(&output);
    for family in cambist_sim::Family::ALL {
        let line = format!("\n  {:<10}", family.name());
        assert!(text.contains(&line), "{family} in {text}");
    }
    assert!(text.contains("`--seed 101 --seeds 200`"), "{text}");
    assert!(text.contains("--without network,crash"), "{text}");
}

/// Failed worlds and traces are written to stderr: without a reader there the results are the same.
#[test]
fn a_closed_stderr_ends_no_campaign() {
    let folder = Folder::new("sim-stderr");
    let file = folder.0.join("results.jsonl");
    let path = file.display().to_string();
    let run = |more: &[&str], stderr: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cambist-simulator"));
        let few = ["sim", "--seeds", "1", "--hours", "0.02", "--json"];
        command
            .args(few)
            .args(more)
            .stderr(stderr)
            .output()
            .unwrap()
    };
    let kept = ["--results", &path, "--no-shrink"];
    good(&run(&kept, Stdio::piped()));
    // Its world failed, as far as its file knows.
    let failed = "\"failed\":[{\"seed\":1,\"violation\":\"double_order\"}]";
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replacen("\"seeds_failed\":0", "\"seeds_failed\":1", 1);
    let text = text.replacen("\"violations\":0", "\"violations\":1", 1);
    std::fs::write(&file, text.replacen("\"failed\":[]", failed, 1)).unwrap();
    for (more, code) in [(&kept[..], 1), (&["--trace"], 0)] {
        let (read, written) = std::io::pipe().unwrap();
        drop(read);
        let open = run(more, Stdio::piped());
        let closed = run(more, Stdio::from(written));
        assert!(!open.stderr.is_empty(), "nothing would be written");
        assert_eq!((exit(&open), exit(&closed)), (code, code), "{more:?}");
        assert_eq!(json(&closed)["steps"], json(&open)["steps"]);
    }
}
