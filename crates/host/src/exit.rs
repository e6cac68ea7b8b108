//! How processes of this program end. Service units and scripts rely on the numbers.

use std::process::ExitCode;

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

/// A result that is complete but not good, with the keys `error` and `exit` beside its own.
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
