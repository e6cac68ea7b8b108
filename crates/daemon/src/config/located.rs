//! The parts of a file that find a running daemon, or the account that it trades on, and nothing else.
//!
//! An error elsewhere in the file must not keep an operator from stopping a daemon: it runs with what it read at its
//! start, whatever the file states now. A command that starts or changes trading reads the whole file ([`Daemon`]).

use std::path::{Path, PathBuf};

use cambist_config::log::{LogConfig, read_log};
use cambist_core::config::EngineConfig;

use super::daemon::{
    Daemon, VenueUse, metrics_address_file, read_store, read_tape, refuse_others, usual_state,
};
use super::limits;
use super::messages::{self, Destination};
use super::mode::Mode;
use super::reader::{ConfigError, KnownKeys, Problem, Section, Source};
use super::sections::version;
use super::venue;

/// Where a daemon is.
#[derive(Debug)]
pub struct Located {
    /// The file.
    pub source: Source,
    /// What it runs as; of a mode that has errors, a daemon that trades.
    pub mode: Mode,
    /// State folder.
    pub dir: PathBuf,
    /// Folder of the recordings, unless disabled.
    pub tape: Option<PathBuf>,
    /// Logging of the command.
    pub log: LogConfig,
    /// What is usable of the whole file; nothing if it has errors in what every command reads.
    pub daemon: Option<Daemon>,
    /// The errors of the file, in parts that were not needed.
    pub errors: Option<ConfigError>,
}

impl Located {
    /// Reads what finds the daemon.
    ///
    /// # Errors
    /// [`ConfigError`]: the file is no TOML, or does not state the state folder. All errors of the file are in it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let source = Source::read(path)?;
        let errors = match whole(&source) {
            Ok(daemon) => return Ok(daemon.into()),
            Err(errors) => errors,
        };
        refuse_others(&source)?;
        let folder = folder(&source);
        let mode = mode(&source);
        let (found, problems) = source.read_any(|mut root| {
            version(&mut root);
            read_store(&mut root.section("store"), usual_state(mode), &folder)
        })?;
        // How long the store keeps what has ended is of no concern here.
        let is_needed = |problem: &Problem| !problem.what.starts_with("store.keep_days");
        let Some(store) = found.filter(|_| !problems.iter().any(is_needed)) else {
            return Err(errors);
        };
        let tape = |mut root: Section<'_, '_>| {
            let tape = read_tape(&mut root.section("tape"), Some(&store), &folder);
            Some(tape.map(|tape| tape.dir))
        };
        let tape = source.read_any(tape)?.0.flatten();
        let log = source.read_any(|mut root| Some(read_log(root.section("log"))))?;
        let Some(log) = log.0 else {
            return Err(errors);
        };
        Ok(Self {
            mode,
            tape,
            dir: store.dir,
            log,
            daemon: Daemon::usable(&source),
            errors: Some(errors),
            source,
        })
    }

    /// The destinations of messages.
    ///
    /// # Errors
    /// [`ConfigError`] of one of them.
    pub fn messages(&self) -> Result<Vec<Destination>, ConfigError> {
        let folder = folder(&self.source);
        self.source.read_with(|_, mut root| {
            let written = root.sections("messages").into_iter();
            written.map(|one| messages::read(one, &folder)).collect()
        })
    }

    /// The file in which a running daemon writes the address of its metrics.
    pub fn metrics_address_file(&self) -> PathBuf {
        metrics_address_file(&self.dir)
    }
}

impl From<Daemon> for Located {
    fn from(daemon: Daemon) -> Self {
        Self {
            source: daemon.source.clone(),
            mode: daemon.mode,
            dir: daemon.store.dir.clone(),
            tape: daemon.tape.as_ref().map(|tape| tape.dir.clone()),
            log: daemon.log,
            daemon: Some(daemon),
            errors: None,
        }
    }
}

/// The account of a file and its keys, for a command that cancels without the daemon.
#[derive(Debug)]
pub struct OfAccount {
    /// What is usable of the file: venue, keys and state folder are right.
    pub daemon: Daemon,
    /// Whether the times that orders live are those of the file. If errors may concern them, they are the longest possible.
    pub lifetimes_known: bool,
    /// The errors of the file, in parts that were not needed.
    pub errors: Option<ConfigError>,
}

impl OfAccount {
    /// Reads `[venue]`, `[keys]` and the state folder; of the rest what is usable.
    ///
    /// # Errors
    /// [`ConfigError`]: the file is no TOML, or one of these parts has an error. All errors of the file are in it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let source = Source::read(path)?;
        let errors = match whole(&source) {
            Ok(daemon) => {
                return Ok(Self {
                    daemon,
                    lifetimes_known: true,
                    errors: None,
                });
            }
            Err(errors) => errors,
        };
        refuse_others(&source)?;
        let folder = folder(&source);
        let mode = mode(&source);
        let (needed, problems) = source.read_any(|mut root| {
            version(&mut root);
            let mut section = root.section("venue");
            let kind = venue::kind(&mut section)?;
            let mut venue = venue::read(&mut section, &kind, (mode, VenueUse::Unpinned), &folder);
            venue.read_secrets(&mut root.section("keys"), &folder, mode)?;
            read_store(&mut root.section("store"), usual_state(mode), &folder).map(drop)
        })?;
        let is_needed = |problem: &Problem| !problem.what.starts_with("store.keep_days");
        let is_known = needed.is_some() && !problems.iter().any(is_needed);
        let Some(mut daemon) = Daemon::usable(&source).filter(|_| is_known) else {
            return Err(errors);
        };
        let lifetimes_known = lifetimes_known(&source, &errors);
        if !lifetimes_known {
            let [ttl_s, grace_s] = ["ttl_s", "grace_s"].map(longest);
            daemon.orders.ttl_s = ttl_s;
            daemon.orders.grace_s = grace_s;
        }
        Ok(Self {
            daemon,
            lifetimes_known,
            errors: Some(errors),
        })
    }
}

fn whole(source: &Source) -> Result<Daemon, ConfigError> {
    Daemon::read(source, VenueUse::Unpinned, None, &mut KnownKeys::default())
}

fn folder(source: &Source) -> PathBuf {
    source.path.parent().unwrap_or(Path::new("")).to_owned()
}

/// The mode; of one that has an error, that of a daemon that trades, which needs most of the file.
fn mode(source: &Source) -> Mode {
    let read = source.read_any(|mut root| Some(root.word("mode", &Mode::WORDS, Mode::Live).value));
    read.ok().and_then(|(mode, _)| mode).unwrap_or(Mode::Live)
}

/// The largest value of a time in `[orders]`.
fn longest(key: &str) -> u64 {
    let mut limits = EngineConfig::LIMITS.iter().map(|limit| &limit.about);
    let about = limits.find(|about| about.section == "orders" && about.key == key);
    let range = about.and_then(|about| about.range.clone());
    range.map_or(0, |range| *range.end())
}

/// Whether the time to live and the grace of orders are read rightly: a value with an error, or a key with another name, may
/// mean longer ones, and a proof made too early would be none.
fn lifetimes_known(source: &Source, errors: &ConfigError) -> bool {
    let read = source.read_any(|mut root| {
        let mut section = root.section("orders");
        let times = EngineConfig::LIMITS.iter().map(|limit| &limit.about);
        let times = times.filter(|about| matches!(about.key, "ttl_s" | "grace_s"));
        for about in times.filter(|about| about.section == "orders") {
            limits::number(&mut section, about, 0);
        }
        Some(["ttl_s", "grace_s"].iter().all(|key| section.has(key)))
    });
    let Ok((Some(are_written), problems)) = read else {
        return false;
    };
    let is_elsewhere = |problem: &Problem| {
        let unknown = problem.what.strip_prefix("unknown key ");
        let key = unknown.and_then(|unknown| unknown.split(';').next());
        key.is_none_or(|key| key.contains('.') && !key.starts_with("orders."))
    };
    let ConfigError::Invalid { problems: all, .. } = errors else {
        return false;
    };
    // A default of 0 is out of range, which is no error of the file.
    let is_written = |problem: &Problem| all.contains(problem);
    !problems.iter().any(is_written) && (are_written || all.iter().all(is_elsewhere))
}

#[cfg(test)]
#[path = "located_tests.rs"]
mod tests;
