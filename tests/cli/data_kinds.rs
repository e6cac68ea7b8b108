//! Backtests on a daemon's recording and on simulated traders.

use std::path::Path;

use crate::backtest::config;
use crate::support::{Folder, cambist, exit, json, stderr};

/// What a daemon recorded on the demo's exchange.
fn tape() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/tape-4fb51ac/start.tape");
    std::fs::read(path).unwrap()
}

fn run(folder: &Folder, data: &str, more: &[&str]) -> std::process::Output {
    let out = folder.0.join("out").display().to_string();
    let config = config(folder);
    let fixed = [
        "backtest",
        "--config",
        &config,
        "--data",
        data,
        "--out",
        &out,
        "--overwrite",
        "--json",
    ];
    cambist(&[&fixed[..], more].concat())
}

#[test]
fn the_depth_on_a_tape_is_data_by_its_name_or_its_content() {
    let folder = Folder::new("data-tape");
    let tapes = folder.0.join("tapes");
    std::fs::create_dir(&tapes).unwrap();
    let path = tapes.join("0000000001.tape");
    std::fs::write(&path, tape()).unwrap();
    let mut found = Vec::new();
    for data in [
        path.display().to_string(),
        tapes.display().to_string(),
        format!("tape:{}", tapes.display()),
        format!("ETH-USDC=tape:{}", path.display()),
    ] {
        let output = run(&folder, &data, &[]);
        assert_eq!(exit(&output), 0, "{data}: {}", stderr(&output));
        found.push(json(&output)["report"].clone());
    }
    let data = &found[0]["data"][0];
    assert_eq!(data["kind"], "snapshots");
    assert!(data["kept"].as_u64().unwrap() > 5, "{data}");
    assert_eq!(data["rows"], data["kept"]);
    assert!(found.iter().all(|one| *one == found[0]));

    // A byte of an entry is another one.
    let mut damaged = tape();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    let output = run(&folder, &path.display().to_string(), &[]);
    let printed = stderr(&output);
    assert_eq!(exit(&output), 1);
    assert!(
        printed.contains("0000000001.tape: row") && printed.contains("damaged"),
        "{printed}"
    );
    let output = run(&folder, &path.display().to_string(), &["--skip", "damaged"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert_eq!(
        json(&output)["report"]["data"][0]["skipped"][0]["kind"],
        "damaged"
    );

    std::fs::write(&path, "no tape").unwrap();
    let output = run(&folder, &path.display().to_string(), &[]);
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("0000000001.tape"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_scenario_is_data_and_its_seed_is_its_market() {
    let folder = Folder::new("data-scenario");
    let played = |name: &str, seed: &str| {
        let output = run(
            &folder,
            name,
            &["--scenario-duration", "3m", "--seed", seed],
        );
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        json(&output)["report"].clone()
    };
    let calm = played("scenario:calm", "1");
    let data = &calm["data"][0];
    assert_eq!(
        (&data["kind"], &data["rows"]),
        (&"snapshots".into(), &721.into())
    );
    assert!(
        calm["quoted_both_sides_ratio"].as_f64().unwrap() > 0.5,
        "{calm:#}"
    );
    assert_eq!(played("scenario:calm", "1"), calm);
    assert_ne!(played("scenario:calm", "2")["equity"], calm["equity"]);
    for (name, more, code, words) in [
        ("scenario:clam", &[][..], 2, "calm, trending"),
        (
            "scenario:calm",
            &["--data", "scenario:crash"][..],
            2,
            "name it once",
        ),
        (
            "scenario:calm",
            &["--scenario-duration", "0s"][..],
            2,
            "outside 1s",
        ),
    ] {
        let output = run(&folder, name, more);
        assert_eq!(exit(&output), code, "{}", stderr(&output));
        assert!(
            stderr(&output).contains(words),
            "{words}: {}",
            stderr(&output)
        );
    }
}
