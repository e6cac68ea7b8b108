//! Exit codes of this program. Service units and scripts rely on the numbers.

use std::process::ExitCode;

/// Result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success.
    Done,
    /// A check failed, or the job could not be done; a retry may help.
    CheckFailed,
    /// The command line is invalid.
    Usage,
    /// A bug: the program is in a state that it cannot explain.
    Bug,
    /// Another process holds the state folder.
    AnotherInstance,
    /// Configuration or keys were refused. Nothing was sent.
    Refused,
    /// Trading is latched; the operator must run `resume`.
    Latched,
    /// An invariant was violated; the operator must investigate.
    Invariant,
    /// The panic command could not prove that nothing rests.
    PanicNotProven,
}

impl Exit {
    /// All results.
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

    /// The exit code.
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

    /// Whether a service manager may restart the program automatically.
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

/// An error with an exit code that was determined where it occurred.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The message.
    pub message: String,
}

impl Failure {
    /// An error with an exit code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
        }
    }
}

/// A complete result with failures, which are added as the keys `error` and `exit`.
pub fn with_failures(mut result: serde_json::Value, failures: &[Failure]) -> serde_json::Value {
    if let (Some(object), Some(first)) = (result.as_object_mut(), failures.first()) {
        let all: Vec<_> = failures.iter().map(ToString::to_string).collect();
        object.insert("error".to_owned(), all.join("; ").into());
        object.insert("exit".to_owned(), first.exit.code().into());
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_documented_numbers_and_differ() {
        let codes = Exit::ALL.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 70, 75, 77, 78, 79, 80]);
    }
}
