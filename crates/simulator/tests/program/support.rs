//! Runs the program to its end and collects its output; folders for single tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A fresh folder, removed after the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("simulator-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn simulator(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cambist-simulator"));
    command.args(args).output().unwrap()
}

pub fn exit(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

/// Stops at a failure.
pub fn good(output: &Output) {
    assert_eq!(exit(output), 0, "{}", stderr(output));
}
