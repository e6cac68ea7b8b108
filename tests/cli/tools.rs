//! Commands that need no venue: strategies, vectors, replay, simulated worlds.

use std::path::Path;

use crate::support::{Folder, cambist, example, exit, json, stderr, stdout};

#[test]
fn strategies_are_listed_and_shown() {
    let list = json(&cambist(&["strategy", "list", "--json"]));
    let names: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].clone())
        .collect();
    assert!(
        names.contains(&"bands".into()) && names.contains(&"ladder".into()),
        "{names:?}"
    );
    for name in names {
        let name = name.as_str().unwrap();
        let shown = json(&cambist(&["strategy", "show", name, "--json"]));
        for parameter in shown["parameters"].as_array().unwrap() {
            for field in ["name", "kind", "range", "meaning"] {
                assert!(
                    !parameter[field].as_str().unwrap().is_empty(),
                    "{name}: {parameter}"
                );
            }
        }
        let text = stdout(&cambist(&["strategy", "show", name]));
        assert!(text.contains(shown["example"].as_str().unwrap()), "{text}");
        for parameter in shown["parameters"].as_array().unwrap() {
            assert!(text.contains(parameter["name"].as_str().unwrap()));
        }
    }
    let unknown = cambist(&["strategy", "show", "laddr"]);
    assert_eq!(exit(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean ladder?"));
}

#[test]
fn vectors_pass_and_a_corrupted_file_fails() {
    let folder = Folder::new("vectors");
    let orders = format!(
        "{}/crates/signing/tests/vectors/orders.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let output = cambist(&["vectors", "--json", &orders]);
    assert_eq!(exit(&output), 0, "{}", stdout(&output));
    let report = json(&output);
    assert_eq!(report["files"][0]["passed"], report["files"][0]["cases"]);
    let footnote = "reported: left to the implementation, not counted";
    assert!(!stdout(&cambist(&["vectors", &orders])).contains(footnote));
    let negative = orders.replace("orders.json", "negative.json");
    assert!(stdout(&cambist(&["vectors", &negative])).contains(footnote));
    let text = std::fs::read_to_string(&orders).unwrap();
    let at = text.find("\"hash\"").unwrap();
    let digit = at
        + 6
        + text[at + 6..]
            .find(|c: char| c.is_ascii_digit() && c != '0')
            .unwrap();
    let mut corrupted = text.into_bytes();
    corrupted[digit] = if corrupted[digit] == b'9' {
        b'8'
    } else {
        corrupted[digit] + 1
    };
    let corrupted = folder.write("orders.json", &String::from_utf8(corrupted).unwrap());
    let output = cambist(&["vectors", &orders, &corrupted]);
    assert_eq!(exit(&output), 1);
    let garbage = folder.write("garbage.json", "{]");
    assert_eq!(exit(&cambist(&["vectors", &garbage])), 1);
    assert_eq!(exit(&cambist(&["vectors", "/nowhere.json"])), 1);
}

/// A file without vectors is no success, and beside others it is named.
#[test]
fn a_report_alone_is_refused_and_unknown_tolerances_are() {
    let folder = Folder::new("vectors-reports");
    let orders = format!(
        "{}/crates/signing/tests/vectors/orders.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let report = orders.replace("orders.json", "crosscheck_python.json");
    let named = format!("{report}: a report, without vectors");
    for (files, code) in [(&[&report][..], 1), (&[&report, &orders], 0)] {
        let files = files.iter().map(|file| file.as_str());
        let arguments: Vec<_> = ["vectors", "--json"].into_iter().chain(files).collect();
        let output = cambist(&arguments);
        assert_eq!(exit(&output), code, "{}", stdout(&output));
        assert_eq!(json(&output)["ok"], code == 0);
        assert!(stderr(&output).contains(&named), "{}", stderr(&output));
    }
    let text = include_str!("../vectors/cpmm_swap.json");
    let tolerance = "\"tolerance\":\"exact";
    let known = folder.write("known.json", text);
    assert_eq!(exit(&cambist(&["vectors", &known])), 0);
    let unknown = folder.write(
        "unknown.json",
        &text.replacen(tolerance, &format!("{tolerance} to 5 percent"), 1),
    );
    let output = cambist(&["vectors", "--json", &unknown]);
    assert_eq!(exit(&output), 1);
    let file = &json(&output)["files"][0];
    assert_eq!(file["file"], unknown.as_str());
    let error = file["error"].as_str().unwrap();
    assert!(
        error.contains("tolerance") && error.contains("a known sentence"),
        "{error}"
    );
}

#[test]
fn vectors_of_families_report_their_worst_error_and_add_up() {
    let folder = Folder::new("families");
    let file = |name: &str| format!("{}/tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let (exact, quotes) = (file("glft_exact"), file("as_quotes"));
    let output = cambist(&["vectors", "--json", &exact, &quotes, &exact]);
    assert_eq!(exit(&output), 0, "{}", stdout(&output));
    let report = json(&output);
    let worst = &report["files"][0]["worst_error"];
    assert!(worst["error"].as_f64().unwrap() <= worst["allowed"].as_f64().unwrap());
    let families = report["families"].as_array().unwrap();
    let of = |name| {
        families
            .iter()
            .find(|entry| entry["family"] == name)
            .unwrap()
    };
    assert_eq!(
        (&of("glft_exact")["files"], &of("glft_exact")["cases"]),
        (&2.into(), &32.into())
    );
    assert_eq!(of("as_quotes")["passed"], 120);
    let text = stdout(&cambist(&[
        "vectors",
        &exact,
        &exact,
        &file("pnl_attribution"),
    ]));
    assert!(
        text.contains("all 2 files") && text.contains("exact"),
        "{text}"
    );
    // A wrong digit, an unknown family, and an unknown member.
    let good = std::fs::read_to_string(&quotes).unwrap();
    for (name, from, to) in [
        ("wrong", "\"ask\":1", "\"ask\":2"),
        ("family", "as_quotes", "as_guesses"),
        ("member", "\"variant\":", "\"more\":1,\"variant\":"),
    ] {
        assert!(good.contains(from));
        let bad = folder.write(&format!("{name}.json"), &good.replacen(from, to, 1));
        let output = cambist(&["vectors", &quotes, &bad]);
        assert_eq!(exit(&output), 1, "{name}: {}", stdout(&output));
    }
}

#[test]
fn a_file_that_is_no_tape_is_refused() {
    let folder = Folder::new("tape");
    let path = folder.write("x.tape", "not a tape at all");
    let output = cambist(&["replay", &path]);
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("not a tape"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_tape_whose_header_a_kill_cut_off_holds_nothing_and_the_others_are_read() {
    let folder = Folder::new("empty-tapes");
    let tapes = folder.0.join("tapes");
    std::fs::create_dir(&tapes).unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/tape-4fb51ac/start.tape");
    let whole = std::fs::read(kept).unwrap();
    let put = |number: u8, bytes: &[u8]| {
        std::fs::write(tapes.join(format!("00000000{number:02}.tape")), bytes).unwrap();
    };
    let tapes = tapes.display().to_string();
    put(1, &[]);
    put(2, &whole);
    put(3, &whole[..40]);
    put(4, &[]);
    let output = cambist(&["replay", &tapes, "--json"]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let page = json(&output);
    assert_eq!(page["recordings"], 1, "{page}");
    // An earlier build recorded it, which decided otherwise.
    assert_eq!(page["same_build"], false, "{page}");
    let empty = page["empty"].as_array().unwrap();
    let at: Vec<_> = empty
        .iter()
        .map(|end| end["at"].as_u64().unwrap())
        .collect();
    assert_eq!(at, [0, 10, 0], "{page}");
    let output = cambist(&["replay", &tapes]);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    let note = "0000000001.tape ends before its header is complete, at byte 0: it holds nothing and is left out";
    assert!(stdout(&output).contains(note), "{}", stdout(&output));
    // Searches for a moment and for an order pass over it as well.
    let output = cambist(&["replay", &tapes, "--at", "2001-09-09T00:00:00Z"]);
    assert_eq!(exit(&output), 1);
    assert!(stderr(&output).contains(note), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("nothing was recorded at"),
        "{}",
        stderr(&output)
    );
    let output = cambist(&["why", "cc8292274-0-17", &tapes]);
    assert!(
        stderr(&output).contains("the recordings have no order"),
        "{}",
        stderr(&output)
    );
    let table = folder.0.join("depth.csv").display().to_string();
    let args = ["depth", &tapes, "--market", "ETH-USDC", "--out", &table];
    let output = cambist(&args);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains(" files end within a record"),
        "{}",
        stderr(&output)
    );

    // A complete header that is damaged is an error, and so is a folder in which none is complete.
    let mut damaged = whole;
    damaged[30] ^= 1;
    put(1, &damaged);
    let output = cambist(&["replay", &tapes]);
    assert_eq!(exit(&output), 1);
    assert!(stderr(&output).contains("damaged"), "{}", stderr(&output));
    put(1, &[]);
    put(2, &[]);
    put(3, &[]);
    let output = cambist(&["replay", &tapes]);
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("no recording in this folder has a complete header"),
        "{}",
        stderr(&output)
    );
}

/// A folder of recorded depth looks like one of recordings to an operator, and is refused with what reads it.
#[test]
fn a_replay_of_recorded_depth_names_the_commands_that_read_it() {
    let folder = Folder::new("replay-depth");
    let config = std::fs::read_to_string(example("paper.toml")).unwrap();
    let config = config.replacen("mode = \"paper\"", "mode = \"record\"", 1);
    let config = folder.write(
        "record.toml",
        &config.replace("../target/paper", "recorded depth"),
    );
    let market = folder.0.join("recorded depth/ETH-USDC");
    std::fs::create_dir_all(&market).unwrap();
    let segment = market.join("0000000001.mkt");
    std::fs::write(&segment, "").unwrap();
    let state = folder.0.join("recorded depth");
    for (path, data) in [(&state, &market), (&market, &market), (&segment, &segment)] {
        for more in [&[][..], &["--at", "5m"]] {
            let path = path.display().to_string();
            let output = cambist(&[&["replay", &path], more].concat());
            let text = stderr(&output);
            assert_eq!(exit(&output), 1, "{text}");
            let data = data.display();
            for words in [
                "that `cambist record` recorded".to_owned(),
                "no inputs of an engine".to_owned(),
                format!("`cambist depth '{data}' --out depth.csv`"),
                format!("`cambist backtest` and `cambist sweep` read it with --data '{data}'"),
            ] {
                assert!(text.contains(&words), "{words}: {text}");
            }
        }
    }
    let why = ["why", "cc8292274-0-17", &market.display().to_string()].map(str::to_owned);
    let why: Vec<_> = why.iter().map(String::as_str).collect();
    let text = stderr(&cambist(&why));
    assert!(text.contains("no inputs of an engine"), "{text}");
    let output = cambist(&["replay", "--config", &config]);
    let text = stderr(&output);
    assert_eq!(exit(&output), 1, "{text}");
    assert!(
        text.contains("mode = \"record\" records depth alone"),
        "{text}"
    );
    assert!(text.contains("recorded depth/ETH-USDC' --out"), "{text}");
    let text = stderr(&cambist(&["why", "cc8292274-0-17", "--config", &config]));
    assert!(text.contains("records depth alone"), "{text}");
    // Recorded with a file of another mode.
    let text = std::fs::read_to_string(&config).unwrap();
    let paper = folder.write("paper.toml", &text.replacen("\"record\"", "\"paper\"", 1));
    let text = stderr(&cambist(&["replay", "--config", &paper]));
    assert!(text.contains("no inputs of an engine"), "{text}");
    // A folder without anything is not taken for one.
    let empty = folder.0.join("empty");
    std::fs::create_dir(&empty).unwrap();
    let text = stderr(&cambist(&["replay", empty.to_str().unwrap()]));
    assert!(text.contains("this folder has no recordings"), "{text}");
}
