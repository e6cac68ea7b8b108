//! The documents: every page is reachable, every link leads somewhere, every command is one that the program knows,
//! and what is stated in two places agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cambist_host::exit::Exit;
use cambist_messages::KINDS;

use super::support::{cambist, exit, stderr};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "md")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Pages of `docs`, and those beside the sources that users read.
fn pages() -> BTreeSet<String> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let docs = docs.filter(|name| is_page(name));
    let mut pages: BTreeSet<_> = docs.map(|name| format!("docs/{name}")).collect();
    assert!(pages.len() >= 15, "{pages:?}");
    let others = [
        "README.md",
        "SECURITY.md",
        "ARCHITECTURE.md",
        "strategies/README.md",
    ];
    pages.extend(others.map(str::to_owned));
    pages
}

/// Text outside of code blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Targets of the relative links of a page: file from the root, and anchor.
fn links(page: &str) -> Vec<(String, String)> {
    let text = prose(&read(page));
    let folder = Path::new(page).parent().unwrap();
    let mut found = Vec::new();
    for piece in text.split("](").skip(1) {
        let target = piece.split(')').next().unwrap();
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = if file.is_empty() {
            PathBuf::from(page)
        } else {
            folder.join(file)
        };
        let mut plain: Vec<String> = Vec::new();
        for part in path.components() {
            match part.as_os_str().to_str().unwrap() {
                ".." => drop(plain.pop()),
                "." => {}
                part => plain.push(part.to_owned()),
            }
        }
        found.push((plain.join("/"), anchor.to_owned()));
    }
    found
}

/// The anchors of a page, as they are made of its headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let text = prose(&read(page));
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

#[test]
fn every_page_is_reachable_from_the_readme_within_two_steps() {
    let mut reached = BTreeSet::from(["README.md".to_owned()]);
    for _ in 0..2 {
        let pages: Vec<_> = reached
            .iter()
            .filter(|page| is_page(page))
            .cloned()
            .collect();
        reached.extend(
            pages
                .iter()
                .flat_map(|page| links(page))
                .map(|(file, _)| file),
        );
    }
    let lost: Vec<_> = pages()
        .into_iter()
        .filter(|page| !reached.contains(page))
        .collect();
    assert!(lost.is_empty(), "not within two steps: {lost:?}");
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        for (file, anchor) in links(&page) {
            let has_anchor = || !is_page(&file) || anchors(&file).contains(&anchor);
            let is_there = root().join(&file).exists();
            if !is_there || !anchor.is_empty() && !has_anchor() {
                wrong.push(format!("{page}: {file}#{anchor}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_kind_of_defect_is_in_the_table_of_backtests() {
    let text = read("docs/backtest.md");
    for kind in cambist_market_data::DefectKind::ALL {
        let row = format!("\n| `{}` |", kind.name());
        assert!(text.contains(&row), "{}", kind.name());
    }
}

/// Command lines of the shell blocks of a page, without comments.
fn commands(page: &str) -> Vec<String> {
    let text = read(page).replace("\\\n", " ");
    let mut found = Vec::new();
    let mut is_shell = false;
    for line in text.lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            is_shell = !is_shell && kind == "sh";
            continue;
        }
        let command = line.split(" #").next().unwrap().trim();
        if is_shell && !command.is_empty() && !command.starts_with('#') {
            found.push(command.to_owned());
        }
    }
    found
}

/// Words of a command line; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let (mut quote, mut is_word) = (None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, is_word) = (Some(c), true),
            (None, ' ') => {
                if std::mem::take(&mut is_word) {
                    found.push(std::mem::take(&mut word));
                }
            }
            (_, c) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        found.push(word);
    }
    found
}

/// What is run besides the program itself, by operators.
const OTHERS: [&str; 25] = [
    "apt-get",
    "bash",
    "cargo",
    "cat",
    "cd",
    "cp",
    "curl",
    "diff",
    "dpkg",
    "git",
    "install",
    "journalctl",
    "jq",
    "less",
    "npm",
    "mkdir",
    "openssl",
    "podman",
    "python3",
    "rm",
    "rustup",
    "ssh",
    "ssh-keygen",
    "systemctl",
    "systemd-creds",
];

/// The program that holds a key for it.
const SIGNER: &str = env!("CARGO_BIN_EXE_cambist-signer");

/// The arguments that a line gives to one of the two programs, if it runs it.
fn arguments(line: &str) -> Option<(bool, Vec<String>)> {
    let before_pipe = line.split(['|', '>', '<', '&']).next().unwrap();
    let mut words = words(before_pipe);
    if words.first().is_some_and(|word| word == "sudo") {
        words.drain(..3);
    }
    let first = words.first()?.rsplit('/').next()?.to_owned();
    if first == "cambist" || first == "cambist-signer" {
        return Some((first == "cambist-signer", words.split_off(1)));
    }
    let at = words.iter().position(|word| word == "--")?;
    let is_run = first == "cargo" && words.get(1).is_some_and(|word| word == "run");
    is_run.then(|| (false, words.split_off(at + 1)))
}

#[test]
fn every_command_of_the_documents_is_one_that_the_program_knows() {
    let mut checked = 0;
    for page in pages() {
        for line in commands(&page) {
            if let Some((of_signer, mut arguments)) = arguments(&line) {
                // Flags and subcommands before it are checked; nothing is done.
                arguments.push("--help".to_owned());
                let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
                let output = if of_signer {
                    let mut signer = std::process::Command::new(SIGNER);
                    signer.args(&arguments).output().unwrap()
                } else {
                    cambist(&arguments)
                };
                assert_eq!(exit(&output), 0, "{page}: {line}\n{}", stderr(&output));
                checked += 1;
                continue;
            }
            let first = words(&line).remove(0);
            let first = if first == "sudo" {
                words(&line).remove(1)
            } else {
                first
            };
            let is_script = first.contains('/') && root().join(&first).is_file();
            let is_setting = first.contains('=') || first.starts_with('$');
            assert!(
                is_script || is_setting || OTHERS.contains(&first.as_str()),
                "{page}: {line}: unknown program"
            );
        }
    }
    assert!(checked >= 30, "{checked}");
}

/// The section of a page below a heading.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let at = text.find(&format!("\n{heading}\n"));
    let at = at.unwrap_or_else(|| panic!("no {heading:?}"));
    let rest = &text[at + heading.len() + 2..];
    rest.split("\n#").next().unwrap()
}

/// Names of the alert rules with their severities.
fn alerts() -> BTreeMap<String, String> {
    let text = read("config/monitoring/alerts.yml");
    let mut alerts = BTreeMap::new();
    for rule in text.split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap().trim().to_owned();
        let severity = rule.split("severity: ").nth(1).unwrap();
        alerts.insert(name, severity.split('}').next().unwrap().to_owned());
    }
    assert!(alerts.len() >= 20, "{alerts:?}");
    alerts
}

#[test]
fn every_alert_has_a_runbook_entry_a_case_that_fires_and_one_that_does_not() {
    let runbook = read("docs/runbook.md");
    let cases = read("config/monitoring/alerts_test.yml");
    for (name, severity) in alerts() {
        let entry = section(&runbook, &format!("### {name}"));
        assert!(entry.trim().starts_with(&severity), "{name}: {severity}");
        assert!(entry.len() > 80, "{name}: {entry}");
        for (what, value) in [("fires", 1), ("is silent", 0)] {
            let case = cases
                .split("  # ")
                .find(|case| case.starts_with(&format!("{name} {what}.")));
            let case = case.unwrap_or_else(|| panic!("no case in which {name} {what}"));
            assert!(case.contains(&format!("alertname=\"{name}\"")), "{case}");
            assert!(case.contains(&format!("value: {value}}}")), "{case}");
        }
    }
    for line in runbook
        .lines()
        .filter(|line| line.starts_with("### Cambist"))
    {
        assert!(alerts().contains_key(&line[4..]), "{line} is no alert");
    }
}

#[test]
fn every_exit_code_has_a_runbook_entry() {
    let runbook = read("docs/runbook.md");
    for exit in Exit::ALL {
        let entry = section(&runbook, &format!("### Exit {}", exit.code()));
        assert!(entry.len() > 30, "{exit:?}: {entry}");
    }
}

/// A message has the name and the severity of the alert rule for the same condition.
#[test]
fn messages_are_documented_and_named_as_alerts() {
    let alerts = alerts();
    let page = read("docs/messages.md");
    for kind in KINDS {
        let severity = kind.severity.name();
        assert_eq!(
            alerts.get(kind.name).map(String::as_str),
            Some(severity),
            "{kind:?}"
        );
        let after = match kind.after_s {
            0 => "at once".to_owned(),
            seconds => format!("{seconds} s"),
        };
        let row = format!("| `{}` | {severity} | {after} |", kind.name);
        assert!(page.contains(&row), "{row}");
    }
}

/// The parameters that the table of another bot's settings names are ours.
#[test]
fn the_table_of_another_bots_settings_names_what_there_is() {
    let page = read("docs/from-hummingbot.md");
    let reference = read("docs/configuration.md");
    for (heading, strategy) in [
        ("## pure_market_making → `ladder`", "ladder"),
        ("## avellaneda_market_making → `glft`", "glft"),
        ("## The client's settings", "bands"),
    ] {
        let info = cambist_strategies::find(strategy).unwrap();
        let rows = section(&page, heading)
            .lines()
            .filter(|line| line.starts_with("| `"));
        for row in rows {
            let ours = row.split('|').nth(2).unwrap();
            for name in ours.split('`').skip(1).step_by(2) {
                let key = name.split(" = ").next().unwrap();
                let is_parameter = info.parameters.iter().any(|one| one.name == key);
                let last = key.rsplit('.').next().unwrap();
                let is_key = reference.contains(&format!("| `{last}` |"));
                let is_command = key.starts_with("cambist ") || key.starts_with("[[");
                assert!(is_parameter || is_key || is_command, "{row}: {key}");
            }
        }
    }
}

#[test]
fn the_signer_s_page_has_a_valid_file_and_every_word() {
    let text = read("docs/signer.md");
    let blocks = text.split("```toml\n").skip(1);
    let file = blocks
        .map(|block| block.split("```").next().unwrap())
        .find(|block| block.contains("[account]"))
        .unwrap();
    // The user exists where the package is installed.
    let source = cambist_config::Source {
        path: "docs/signer.md".into(),
        text: file.replace("\"cambist\"", "\"0\""),
    };
    let config = cambist_signer::config::parse(&source, Path::new("/")).unwrap();
    assert_eq!(config.rules.markets.len(), 1);
    let table = section(&text, "## While it runs");
    let rows: String = table.lines().filter(|line| line.starts_with('|')).collect();
    for word in cambist_signer::wire::Word::ALL {
        let name = format!("`{}`", word.name());
        assert!(rows.contains(&name), "{name}");
    }
}
