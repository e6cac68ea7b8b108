//! `cambist strategy new`: adds a strategy that compiles, with a test that passes, to the sources of this program.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;

use super::{print_json, print_text};
use crate::exit::{Exit, Failure};

/// The template. It is compiled and tested with its package, so that copies compile too.
const TEMPLATE: &str = include_str!("../../strategies/src/template.rs");
/// Markers of the list of strategies.
const LIST: &str = "strategies! {\n";
const LIST_END: &str = "}\n";
/// Prefix of module declarations, which are in one block.
const MODULE: &str = "pub mod ";
/// Keywords, which cannot name a module.
const RESERVED: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// Files of the package that are not strategies.
const TAKEN: [&str; 4] = ["lib", "main", "template", "testing"];

/// Writes `strategies/src/NAME.rs` and adds its name to the list in `lib.rs`, or neither.
pub fn run(name: &str, sources: &Path, json: bool) -> anyhow::Result<Exit> {
    let refuse = |why: String| anyhow::Error::from(Failure::new(Exit::Usage, why));
    check_name(name).map_err(refuse)?;
    let folder = sources.join("strategies/src");
    let lib = folder.join("lib.rs");
    let listing = fs::read_to_string(&lib).map_err(|error| {
        refuse(format!(
            "{}: {error}; set the folder of cambist's sources with --sources DIR",
            lib.display()
        ))
    })?;
    let listed =
        with_name(&listing, name).map_err(|why| refuse(format!("{}: {why}", lib.display())))?;
    let file = folder.join(format!("{name}.rs"));
    create(&file, &source(name))
        .map_err(|error| refuse(format!("{}: {error}; choose another name", file.display())))?;
    if let Err(error) = replace(&lib, &listed) {
        // The file alone would not compile.
        fs::remove_file(&file).with_context(|| file.display().to_string())?;
        return Err(error).with_context(|| lib.display().to_string());
    }
    report(name, &file, &lib, json)?;
    Ok(Exit::Done)
}

fn report(name: &str, file: &Path, lib: &Path, json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(&json!({
            "name": name,
            "file": file.display().to_string(),
            "listed_in": lib.display().to_string(),
        }));
    }
    print_text(&format!(
        "wrote {}, and added its name to {}

Next:
  cargo test -p cambist-strategies {name}
  cargo run --release -- strategy show {name}
  cargo run --release -- demo --strategy {name}

strategies/README.md has the rules.
",
        file.display(),
        lib.display()
    ))
}

/// The name is used as a module, a metric label and a configuration value.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let first = name.bytes().next();
    if !first.is_some_and(|byte| byte.is_ascii_lowercase())
        || !name.bytes().all(plain)
        || name.len() > 32
        || name.contains("__")
        || name.ends_with('_')
    {
        return Err(format!(
            "{name:?} is not a valid name: use lower-case letters, digits and single underscores, up \
             to 32, the first a letter"
        ));
    }
    if RESERVED.contains(&name) || TAKEN.contains(&name) {
        return Err(format!(
            "{name:?} is a keyword or already used in the sources; choose another name"
        ));
    }
    Ok(())
}

/// The template with another name.
fn source(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    let camel: String = words.collect();
    TEMPLATE
        .replace("template", name)
        .replace("Template", &camel)
}

/// The file with the module declared and the name in the list, both in alphabetical order.
fn with_name(file: &str, name: &str) -> Result<String, String> {
    let list = file
        .find(LIST)
        .map(|at| at + LIST.len())
        .ok_or("no list of strategies, `strategies! {`, in it")?;
    let (head, rest) = file.split_at(list);
    let end = rest
        .find(LIST_END)
        .ok_or("the list of strategies does not end")?;
    let (names, tail) = rest.split_at(end);
    let mut names: Vec<&str> = names.split_whitespace().collect();
    if names.contains(&name) {
        return Err(format!("there is a strategy {name} already"));
    }
    names.push(name);
    names.sort_unstable();
    let lines: Vec<String> = names.iter().map(|name| format!("    {name}")).collect();
    let lines = lines.join("\n");

    let begin = head
        .find(MODULE)
        .ok_or("no module, `pub mod`, before the list")?;
    let (above, modules) = head.split_at(begin);
    let own = format!("{MODULE}{name};");
    let count = modules
        .lines()
        .take_while(|line| line.starts_with(MODULE))
        .count();
    let mut declared: Vec<&str> = modules.lines().take(count).collect();
    declared.push(&own);
    declared.sort_unstable();
    let below = modules.lines().skip(count);
    declared.extend(below);
    let head = declared.join("\n");
    Ok(format!("{above}{head}\n{lines}\n{tail}"))
}

/// Creates a file; an existing one is not changed.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// Replaces a file atomically.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let beside: PathBuf = path.with_extension("rs.new");
    create(&beside, text)?;
    fs::rename(&beside, path).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_modules() {
        for name in ["grid", "my_grid_2", "a"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "a".repeat(33);
        for name in [
            "", "Grid", "2grid", "_grid", "grid_", "my__grid", "gr-id", "../x", "größe", "match",
            "lib", "template", &long,
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_list_is_kept_in_order_and_a_name_is_added_once() {
        let lib = "//! A.\n\npub mod bands;\npub mod ladder;\npub mod registry;\n\nmod a;\n\n\
                   strategies! {\n    bands\n    ladder\n}\nmod b;\n";
        let with = with_name(lib, "grid").unwrap_or_default();
        assert_eq!(
            with,
            "//! A.\n\npub mod bands;\npub mod grid;\npub mod ladder;\npub mod registry;\n\nmod a;\n\n\
             strategies! {\n    bands\n    grid\n    ladder\n}\nmod b;\n"
        );
        assert!(with_name(&with, "grid").is_err());
        assert!(with_name("mod a;\n", "grid").is_err());
    }
}
