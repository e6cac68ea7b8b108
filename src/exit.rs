//! The one place where outcomes become exit codes. Service units and scripts rely on the numbers.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use crate::config::ConfigError;
use crate::secrets::SecretError;
use crate::store::StoreError;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done.
    Done,
    /// A check failed, or the job could not be done; trying again may help.
    CheckFailed,
    /// The command line was not understood.
    Usage,
    /// A bug: the program cannot explain its own state.
    Bug,
    /// Another instance holds the state folder.
    AnotherInstance,
    /// Configuration or keys were refused. Nothing was sent.
    Refused,
    /// The level is latched; a person must lower it.
    Latched,
    /// A rule that must always hold did not; a person must look first.
    Invariant,
    /// The panic command could not prove that nothing rests.
    PanicNotProven,
}

impl Exit {
    /// Every exit.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::CheckFailed,
        Self::Usage,
        Self::Bug,
        Self::AnotherInstance,
        Self::Refused,
        Self::Latched,
        Self::Invariant,
        Self::PanicNotProven,
    ];

    /// The number given to the operating system.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CheckFailed => 1,
            Self::Usage => 2,
            Self::Bug => 70,
            Self::AnotherInstance => 75,
            Self::Refused => 77,
            Self::Latched => 78,
            Self::Invariant => 79,
            Self::PanicNotProven => 80,
        }
    }

    /// Whether a service manager may start the program again by itself.
    pub const fn restart_may_help(self) -> bool {
        match self {
            Self::CheckFailed | Self::Bug => true,
            Self::Done
            | Self::Usage
            | Self::AnotherInstance
            | Self::Refused
            | Self::Latched
            | Self::Invariant
            | Self::PanicNotProven => false,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error whose exit was decided where it was found.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit it leads to.
    pub exit: Exit,
    /// What happened, for people.
    pub message: String,
}

impl Failure {
    /// An error with a decided exit.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
        }
    }
}

/// The exit an error leads to. The first known error of the chain decides.
pub fn of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.exit;
        }
        if cause.is::<ConfigError>() || cause.is::<SecretError>() {
            return Exit::Refused;
        }
        if let Some(store) = cause.downcast_ref::<StoreError>() {
            return match store {
                StoreError::AnotherInstance { .. } => Exit::AnotherInstance,
                StoreError::Corrupt { .. } => Exit::Invariant,
                error if error.is_misconfigured() => Exit::Refused,
                StoreError::TooNew { .. } | StoreError::MarketGone { .. } => Exit::Refused,
                StoreError::Folder(_) | StoreError::Database { .. } => Exit::CheckFailed,
                StoreError::Broken | StoreError::Refused { .. } => Exit::Bug,
            };
        }
    }
    Exit::CheckFailed
}

/// What happened, then what led to it; a cause that the text above it names already is left out.
fn causes(error: &anyhow::Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !causes.iter().any(|told| told.contains(&text)) {
            causes.push(text);
        }
        // The store's texts say all that led to them.
        if cause.is::<StoreError>() {
            break;
        }
    }
    causes
}

/// An error as programs read it: what happened and the exit code.
pub fn as_json(error: &anyhow::Error) -> serde_json::Value {
    let causes = causes(error);
    serde_json::json!({"error": causes.join(": "), "exit": of(error).code()})
}

/// A result that is complete but not good, with the keys `error` and `exit` beside its own.
pub fn with_failures(mut result: serde_json::Value, failures: &[Failure]) -> serde_json::Value {
    if let (Some(object), Some(first)) = (result.as_object_mut(), failures.first()) {
        let all: Vec<_> = failures.iter().map(ToString::to_string).collect();
        object.insert("error".to_owned(), all.join("; ").into());
        object.insert("exit".to_owned(), first.exit.code().into());
    }
    result
}

/// An error for people on stderr: what happened, then what led to it, one line each.
pub fn tell_all(error: &anyhow::Error) {
    tell(error);
    let mut stderr = std::io::stderr().lock();
    for cause in causes(error).iter().skip(1) {
        let _ = writeln!(stderr, "  because: {cause}");
    }
    if of(error) == Exit::Bug {
        let _ = writeln!(stderr, "  this is a bug of the program");
    }
}

/// What happened, for people on stderr.
pub fn tell(what: &impl std::fmt::Display) {
    let mut stderr = std::io::stderr().lock();
    let label = if stderr.is_terminal() {
        "\u{1b}[31;1merror\u{1b}[0m"
    } else {
        "error"
    };
    let _ = writeln!(stderr, "{label}: {what}");
}

/// Makes a panic of any thread end the process with the code of a bug: half a program must not trade.
///
/// Orders that rest are found by the next start; the store needs no goodbye.
pub fn on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        std::process::exit(i32::from(Exit::Bug.code()));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_documented_numbers_and_differ() {
        let codes = Exit::ALL.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 70, 75, 77, 78, 79, 80]);
    }

    #[test]
    fn the_cause_decides_even_below_context() {
        let store = StoreError::AnotherInstance {
            dir: "state".into(),
        };
        let error = anyhow::Error::new(store).context("opening the store");
        assert_eq!(of(&error), Exit::AnotherInstance);
        let error = anyhow::Error::new(Failure::new(Exit::Latched, "latched")).context("start");
        assert_eq!(of(&error), Exit::Latched);
        assert_eq!(of(&anyhow::anyhow!("venue is away")), Exit::CheckFailed);
    }

    #[test]
    fn every_cause_is_told_once() {
        let error = anyhow::anyhow!("permission denied")
            .context("folder x: permission denied")
            .context("opening the store");
        let told = ["opening the store", "folder x: permission denied"];
        assert_eq!(causes(&error), told);
    }
}
