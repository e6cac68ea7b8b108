//! A configuration file's text, positions in it, and the error that lists every problem.

use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toml::de::DeTable;

use crate::reader::{Reader, Section};

/// Most bytes of a configuration file.
const FILE_MAX: u64 = 1 << 20;

/// A position in the file, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column in characters.
    pub column: usize,
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its position, or its section's if the value is a default.
    pub at: Place,
}

impl<T> At<T> {
    /// The same position with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> At<U> {
        At {
            value: change(self.value),
            at: self.at,
        }
    }
}

/// One error in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Position of the error.
    pub at: Place,
    /// What is wrong, and what would be valid.
    pub what: String,
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{}: {what}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// The file has at least one error.
    #[error("{}", Lines(path, problems))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Every error found, in the order of the file.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    /// What is wrong, without places: for a text that was made of a file, whose places are not those of the file.
    pub fn reasons(&self) -> String {
        match self {
            Self::Invalid { problems, .. } => {
                let all: Vec<_> = problems
                    .iter()
                    .map(|problem| problem.what.as_str())
                    .collect();
                all.join("; ")
            }
            Self::Unreadable { what, .. } => what.clone(),
        }
    }
}

/// Formats one `path:line:column: message` for each error.
struct Lines<'a>(&'a Path, &'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.1.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            let Place { line, column } = problem.at;
            write!(
                f,
                "{separator}{}:{line}:{column}: {}",
                self.0.display(),
                problem.what
            )?;
        }
        Ok(())
    }
}

/// The program that a file configures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The daemon's.
    Daemon,
    /// The exchange's.
    Exchange,
}

/// The text of a configuration file and its name.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's name as given, for messages.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// The first 12 hexadecimal digits of a text's SHA-256.
pub fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.iter().take(6);
    first.fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

impl Source {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |what: String| ConfigError::Unreadable {
            path: path.to_owned(),
            what,
        };
        let found = std::fs::metadata(path).map_err(|error| {
            unreadable(match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".to_owned(),
                _ => error.to_string(),
            })
        })?;
        if !found.is_file() {
            return Err(unreadable("not a regular file".to_owned()));
        }
        if found.len() > FILE_MAX {
            return Err(unreadable(format!("larger than {FILE_MAX} bytes")));
        }
        let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes)
            .map_err(|error| unreadable(format!("not UTF-8: {}", error.utf8_error())))?;
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    /// The program that the file configures, determined by sections that only one of them has; `None` if there are
    /// none.
    pub fn kind(&self) -> Option<Kind> {
        let root = DeTable::parse(&self.text).ok()?;
        let has = |keys: &[&str]| keys.iter().any(|key| root.get_ref().get(*key).is_some());
        let daemon = has(&["venue", "keys", "store", "orders"]);
        let exchange = has(&["token", "exchange", "maker", "traders"]);
        match (daemon, exchange) {
            (true, false) => Some(Kind::Daemon),
            (false, true) => Some(Kind::Exchange),
            (true, true) | (false, false) => None,
        }
    }

    /// Whether the file names the files of several venues: `[[venue]]` instead of `[venue]`. False for one that cannot be
    /// parsed, which its reader reports.
    pub fn names_venues(&self) -> bool {
        let root = DeTable::parse(&self.text);
        root.is_ok_and(|root| {
            let venue = root.get_ref().get("venue");
            venue.is_some_and(|venue| venue.get_ref().is_array())
        })
    }

    /// Refuses a file of the other kind and names the command that reads it, instead of reporting every key as unknown.
    pub fn refuse_other(&self, other: Kind) -> Result<(), ConfigError> {
        if self.kind() != Some(other) {
            return Ok(());
        }
        let (whose, command) = match other {
            Kind::Daemon => ("a daemon's", "run"),
            Kind::Exchange => ("an exchange's", "venue"),
        };
        let path = self.path.display();
        let what = format!("this is {whose} file: cambist {command} --config {path}");
        Err(self.invalid(vec![Problem {
            at: Place { line: 1, column: 1 },
            what,
        }]))
    }

    /// The first 12 hexadecimal digits of the text's SHA-256, which identify a configuration.
    pub fn hash(&self) -> String {
        short_digest(&self.text)
    }

    /// Runs `read` over the file's root section. Any error refuses the whole file.
    pub fn read_with<T>(
        &self,
        read: impl FnOnce(&Reader<'_>, Section<'_, '_>) -> Option<T>,
    ) -> Result<T, ConfigError> {
        match self.read_noting(read)? {
            (Some(value), problems) if problems.is_empty() => Ok(value),
            (_, problems) => Err(self.invalid(problems)),
        }
    }

    /// Runs `read` over the file's root section: what it returns, and the errors that it found on its way. For a command
    /// that needs parts of a file only.
    ///
    /// # Errors
    /// The file is no TOML.
    pub fn read_any<T>(
        &self,
        read: impl FnOnce(Section<'_, '_>) -> Option<T>,
    ) -> Result<(Option<T>, Vec<Problem>), ConfigError> {
        self.read_noting(|_, root| read(root))
    }

    fn read_noting<T>(
        &self,
        read: impl FnOnce(&Reader<'_>, Section<'_, '_>) -> Option<T>,
    ) -> Result<(Option<T>, Vec<Problem>), ConfigError> {
        let reader = Reader::new(&self.text);
        let root = match DeTable::parse(&self.text) {
            Ok(root) => root,
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                // Only the message: the parser's own rendering would repeat the line, which may hold a secret.
                reader.problem(reader.place(start), error.message().to_owned());
                return Err(self.invalid(reader.into_problems()));
            }
        };
        let value = read(&reader, Section::root(&reader, root.get_ref()));
        Ok((value, reader.into_problems()))
    }

    /// The error for problems in this file.
    pub fn invalid(&self, mut problems: Vec<Problem>) -> ConfigError {
        problems.sort();
        problems.dedup();
        ConfigError::Invalid {
            path: self.path.clone(),
            problems,
        }
    }
}
