//! Examples load and explain every key; errors are reported at their lines.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod evm;
mod examples;
mod kraken;
mod limits;
mod meant;
mod mistakes;
mod modes;
mod reads;
mod swaps;
mod venues;

use std::path::PathBuf;

use super::Daemon;
use super::reader::Source;

fn example(name: &str) -> Source {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../config", name]
        .iter()
        .collect();
    Source::read(&path).unwrap()
}

/// The errors of the demo's file with the line of one key changed, and that line.
fn refused(key: &str, to: &str) -> (usize, String) {
    let mut source = example("demo.toml");
    let mut lines: Vec<_> = source.text.lines().map(str::to_owned).collect();
    let is_key = |line: &String| line.split(" = ").next() == Some(key) && line.contains(" = ");
    let at = lines.iter().position(is_key);
    let at = at.unwrap_or_else(|| panic!("{key} is not in the example"));
    to.clone_into(&mut lines[at]);
    source.text = lines.join("\n");
    source.path = "f.toml".into();
    let error = match Daemon::parse(&source) {
        Err(error) => error,
        Ok(daemon) => daemon.bind_expected().unwrap().expect_err(to),
    };
    (at + 1, error.to_string())
}
