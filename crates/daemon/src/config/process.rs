//! A strategy that runs in a process: `kind = "process"` of a `[[market.strategy]]`.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cambist_sandbox::ProcessSpec;
use cambist_sandbox::launch::Launch;
use cambist_sandbox::supervisor::SEARCHED;
use cambist_strategy_process::{LINE_MAX, ProcessSettings, SettingsError};

use super::daemon::Daemon;
use super::market::StrategyChoice;
use super::reader::{At, Problem, Section};
use crate::real_path::real;

/// First argument with which this program is the launcher of a process.
pub const LAUNCHER: &str = "strategy-launcher";

/// Most quotes of a process strategy.
const ORDERS_MAX: u64 = 64;

/// A process and what it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessChoice {
    /// The program and its arguments.
    pub command: At<Vec<String>>,
    /// The folder it runs in and from which its paths count: that of the configuration.
    pub folder: PathBuf,
    /// An answer counts for so long, and the process has so long to give it, in milliseconds.
    pub timeout_ms: u64,
    /// Most quotes of an answer.
    pub orders_max: usize,
    /// Whether an answer may ask for a swap with the pool beside the market.
    pub swaps: bool,
    /// Names of the other markets that it is shown.
    pub markets: At<Vec<String>>,
    /// Most memory, in MiB.
    pub memory_mb: u64,
    /// Files and folders that it may read.
    pub read: At<Vec<String>>,
    /// Whether it is confined.
    pub confine: bool,
}

impl ProcessChoice {
    /// Its settings in the engine.
    pub fn settings(&self, params: &toml::Table) -> Result<ProcessSettings, SettingsError> {
        let settings = ProcessSettings::new(self.timeout_ms, self.orders_max, params)?;
        Ok(settings
            .with_swaps(self.swaps)
            .with_markets(&self.markets.value))
    }

    /// Its settings in the engine as a table, for tapes.
    pub fn recorded(&self, params: &toml::Table) -> toml::Table {
        ProcessSettings::write(
            self.timeout_ms,
            self.orders_max,
            self.swaps,
            &self.markets.value,
            params,
        )
    }

    /// What it may read: what is configured, its program, and arguments that name a file.
    pub fn readable(&self) -> Vec<PathBuf> {
        let program = self
            .command
            .value
            .iter()
            .take(1)
            .filter(|program| program.contains('/'));
        let named = self.command.value.iter().skip(1);
        let files = program
            .chain(named)
            .map(|argument| self.folder.join(argument))
            .filter(|path| path.is_file());
        let read = self.read.value.iter().map(|path| self.folder.join(path));
        read.chain(files).collect()
    }

    /// Why its program cannot be started: there is none, or none that may be run.
    fn program_missing(&self) -> Option<String> {
        let program = self.command.value.first()?;
        let runs = |path: &Path| {
            let found = path.metadata();
            found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        if program.contains('/') {
            let path = self.folder.join(program);
            let shown = path.display();
            return (!runs(&path)).then(|| format!("{shown} is no program that can be run"));
        }
        let mut folders = SEARCHED.split(':').map(Path::new);
        let missing = !folders.any(|folder| runs(&folder.join(program)));
        missing.then(|| format!("there is no program {program:?} in {SEARCHED}"))
    }

    /// Arguments that name a file, as a script does, and no file is there. An argument may have another meaning: this
    /// forbids nothing.
    fn files_missing(&self) -> impl Iterator<Item = PathBuf> {
        let arguments = &self.command.value;
        let each = arguments.windows(2).filter(|pair| {
            // What follows these is no file, but a module or a text.
            !matches!(pair[0].as_str(), "-m" | "-c" | "-e") && names_a_file(&pair[1])
        });
        let paths = each.map(|pair| self.folder.join(&pair[1]));
        paths.filter(|path| !path.exists())
    }

    /// How it is run.
    pub fn spec(&self) -> ProcessSpec {
        ProcessSpec {
            launcher: launcher(),
            launch: Launch {
                read: self.readable(),
                memory_mb: self.memory_mb,
                confine: self.confine,
                command: self.command.value.iter().map(OsString::from).collect(),
            },
            folder: self.folder.clone(),
            timeout: Duration::from_millis(self.timeout_ms),
            line_max: LINE_MAX,
        }
    }

    /// One of these files and folders that the process could read.
    fn reads<'a>(&self, private: &'a [PathBuf]) -> Option<&'a Path> {
        let readable: Vec<_> = self.readable().iter().map(|path| real(path)).collect();
        let open = |path: &&PathBuf| {
            let path = real(path);
            let mut readable = readable.iter();
            readable.any(|readable| path.starts_with(readable) || readable.starts_with(&path))
        };
        private.iter().find(open).map(PathBuf::as_path)
    }
}

impl StrategyChoice {
    /// The first of these files and folders that its process could read although it is confined.
    pub fn exposes(&self, private: &[PathBuf]) -> Option<Problem> {
        let process = self.process.as_ref().filter(|process| process.confine)?;
        let path = process.reads(private)?;
        Some(Problem {
            at: process.read.at,
            what: format!(
                "strategy {} could read {}, which it must not: name other files in market.strategy.read and market.strategy.command",
                self.name.value,
                path.display()
            ),
        })
    }
}

/// Whether an argument looks like the path of a file: its last part has an extension that is no number. Options,
/// addresses and assignments do not.
fn names_a_file(argument: &str) -> bool {
    let is_other = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '*' | ',' | '{');
    if argument.starts_with('-') || argument.ends_with('/') || argument.contains(is_other) {
        return false;
    }
    let extension = Path::new(argument).extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| {
        extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// What is probably a mistake in the commands of processes: an argument that names a file which is not there.
pub fn warnings(daemon: &Daemon) -> Vec<String> {
    let choices = daemon.markets.iter().flat_map(|market| &market.strategies);
    let processes = choices.filter_map(|choice| Some((choice, choice.process.as_ref()?)));
    let missing = processes.flat_map(|(choice, process)| {
        let name = &choice.name.value;
        process.files_missing().map(move |path| {
            format!(
                "strategy {name}: market.strategy.command names {}, and there is no such file: its process would end at once",
                path.display()
            )
        })
    });
    missing.collect()
}

/// The folder whatever the working directory is by then.
fn absolute(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// What forbids starting the processes of a configuration: one could read keys or state, or cannot be
/// confined here.
pub fn problems(daemon: &Daemon) -> Vec<Problem> {
    let private = daemon.private_paths();
    let choices = daemon.markets.iter().flat_map(|market| &market.strategies);
    let processes = choices.filter_map(|choice| Some((choice, choice.process.as_ref()?)));
    let mut problems = Vec::new();
    for (choice, process) in processes.clone() {
        if let Some(what) = process.program_missing() {
            let what = format!("strategy {}: {what}", choice.name.value);
            let at = process.command.at;
            problems.push(Problem { at, what });
        }
    }
    for (choice, process) in processes.filter(|(_, process)| process.confine) {
        let name = &choice.name.value;
        if let Some(exposed) = choice.exposes(&private) {
            problems.push(exposed);
        } else if problems.is_empty()
            && let Err(error) = cambist_sandbox::supervisor::check(&launcher())
        {
            let what = format!(
                "strategy {name} runs in a process, and {error}. market.strategy.confine = false runs it with all that this daemon may do"
            );
            problems.push(Problem {
                at: process.command.at,
                what,
            });
        }
    }
    problems
}

/// This program as the launcher of processes.
pub fn launcher() -> Vec<OsString> {
    vec!["/proc/self/exe".into(), LAUNCHER.into()]
}

/// The keys of a process strategy, beside `name` and `params`.
pub(super) fn read(section: &mut Section<'_, '_>, folder: &Path) -> Option<ProcessChoice> {
    let command = section.req::<Vec<String>>("command");
    let timeout_ms = section.number("timeout_ms", 3_000, 200..=60_000);
    let orders_max = section.number("orders_max", 4, 1..=ORDERS_MAX);
    let swaps = section.or("swaps", false);
    let markets = section.or("markets", Vec::<String>::new());
    let memory_mb = section.number("memory_mb", 256, 16..=65_536);
    let read = section.or("read", Vec::<String>::new());
    let confine = section.or("confine", true);
    let command = command?;
    if command.value.first().is_none_or(String::is_empty) {
        let what =
            "market.strategy.command must name a program, such as [\"python3\", \"mine.py\"]";
        section.problem(command.at, what);
        return None;
    }
    Some(ProcessChoice {
        command,
        folder: absolute(folder),
        timeout_ms: timeout_ms.value,
        orders_max: usize::try_from(orders_max.value).unwrap_or(usize::MAX),
        swaps: swaps.value,
        markets,
        memory_mb: memory_mb.value,
        read,
        confine: confine.value,
    })
}
