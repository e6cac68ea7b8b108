//! `cambist sim` and `cambist tournament`: the simulator beside this program takes its place, or it is clear how to get
//! it. The simulator and cargo are scripts here.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Folder, exit, json, stderr, stdout};

/// A folder with this program in it.
fn installed(name: &str) -> (Folder, String) {
    let folder = Folder::new(name);
    let program = folder.0.join("target/debug/cambist");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let built = env!("CARGO_BIN_EXE_cambist");
    std::fs::hard_link(built, &program)
        .or_else(|_| std::fs::copy(built, &program).map(|_| ()))
        .unwrap();
    let program = program.display().to_string();
    (folder, program)
}

fn script(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A simulator of this version that prints its arguments and ends with 79.
fn stand_in(version: &str) -> String {
    format!(
        "[ \"$1\" != --version ] || {{ echo \"{version}\"; exit 0; }}\n\
         printf '<%s>' \"$@\"; echo; echo progress >&2; exit 79"
    )
}

fn own_version(program: &str) -> String {
    let output = Command::new(program).arg("--version").output().unwrap();
    stdout(&output)
        .trim()
        .replacen("cambist ", "cambist-simulator ", 1)
}

/// Runs it as a shell would, without the variables that cargo sets for this test.
fn run(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_remove("CARGO")
        .output()
        .unwrap()
}

#[test]
fn the_simulator_beside_the_program_takes_its_place() {
    let (folder, program) = installed("simulator");
    let beside = folder.0.join("target/debug/cambist-simulator");
    script(&beside, &stand_in(&own_version(&program)));
    for (arguments, passed) in [
        (
            &["sim", "--seeds", "3", "--venue", "kraken"][..],
            "<sim><--seeds><3><--venue><kraken>",
        ),
        (
            &["--json", "tournament", "--scenario", "a b"],
            "<--json><tournament><--scenario><a b>",
        ),
        (
            &["merge", "part.jsonl", "--out", "all.jsonl"],
            "<merge><part.jsonl><--out><all.jsonl>",
        ),
    ] {
        let mut command = Command::new(&program);
        command.args(arguments).env_remove("CARGO");
        std::fs::write(folder.0.join("part.jsonl"), "").unwrap();
        let output = command.current_dir(&folder.0).output().unwrap();
        assert_eq!(exit(&output), 79, "{}", stderr(&output));
        assert_eq!(stdout(&output).trim(), passed);
        assert_eq!(stderr(&output), "progress\n");
    }
    // What can be refused here is: nothing was started.
    let output = run(&program, &["sim", "--seeds", "x"]);
    assert_eq!(exit(&output), 2);
    assert_eq!(stdout(&output), "");
}

#[test]
fn without_a_simulator_of_this_version_the_message_states_how_to_get_one() {
    let (folder, program) = installed("simulator-absent");
    let output = run(&program, &["tournament", "--json"]);
    assert_eq!(exit(&output), 1);
    let text = stderr(&output);
    let beside = folder.0.join("target/debug/cambist-simulator");
    assert!(text.contains(&beside.display().to_string()), "{text}");
    assert!(
        text.contains("cargo build --release --bin cambist-simulator"),
        "{text}"
    );
    assert_eq!(json(&output)["exit"], 1);

    script(&beside, &stand_in("cambist-simulator 0.0.1 (abc)"));
    let output = run(&program, &["sim"]);
    assert_eq!((exit(&output), stdout(&output).as_str()), (1, ""));
    let text = stderr(&output);
    assert!(text.contains("\"cambist-simulator 0.0.1 (abc)\""), "{text}");
    assert!(text.contains(&own_version(&program)), "{text}");
}

/// As `cargo run -- sim` runs it: cargo built the program, and not the one beside it.
#[test]
fn in_the_sources_cargo_builds_the_simulator_first() {
    let (folder, program) = installed("simulator-built");
    let sources = folder.0.join("crates/simulator");
    std::fs::create_dir_all(&sources).unwrap();
    std::fs::write(sources.join("Cargo.toml"), "").unwrap();
    let beside = folder.0.join("target/debug/cambist-simulator");
    let (ready, cargo) = (folder.0.join("ready"), folder.0.join("cargo"));
    script(&ready, &stand_in(&own_version(&program)));
    let build = format!(
        "pwd >&2; echo \"$*\" >&2; echo noise; cp {} {}",
        ready.display(),
        beside.display()
    );
    let with_cargo = || {
        let mut command = Command::new(&program);
        command
            .args(["sim", "--seeds", "1"])
            .env("CARGO", &cargo)
            .env("CARGO_MANIFEST_DIR", &folder.0);
        command.output().unwrap()
    };
    script(&cargo, &build);
    let output = with_cargo();
    assert_eq!(exit(&output), 79, "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "<sim><--seeds><1>");
    let expected = format!(
        "{}\nbuild --locked --bin cambist-simulator --profile dev --target-dir {}\n",
        folder.0.display(),
        folder.0.join("target").display()
    );
    assert!(
        stderr(&output).starts_with(&expected),
        "{}",
        stderr(&output)
    );

    // What an earlier build left is not used.
    script(&cargo, "exit 101");
    let output = with_cargo();
    assert_eq!((exit(&output), stdout(&output).as_str()), (1, ""));
    let text = stderr(&output);
    assert!(
        text.contains("building cambist-simulator with cargo failed"),
        "{text}"
    );
}
