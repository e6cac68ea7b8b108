//! The section about logging, the same in every file.

use crate::reader::Section;

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Human on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Human.
    Human,
    /// JSON.
    Json,
}

/// Logging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// Least important line printed.
    pub level: tracing::Level,
    /// Form of the lines.
    pub format: LogFormat,
}

/// Reads the section.
pub fn read_log(mut section: Section<'_, '_>) -> LogConfig {
    let level = section.word("level", LEVELS, tracing::Level::INFO);
    let format = section.word("format", FORMATS, LogFormat::Auto);
    section.finish();
    LogConfig {
        level: level.value,
        format: format.value,
    }
}

const LEVELS: &[(&str, tracing::Level)] = &[
    ("error", tracing::Level::ERROR),
    ("warn", tracing::Level::WARN),
    ("info", tracing::Level::INFO),
    ("debug", tracing::Level::DEBUG),
    ("trace", tracing::Level::TRACE),
];

const FORMATS: &[(&str, LogFormat)] = &[
    ("auto", LogFormat::Auto),
    ("human", LogFormat::Human),
    ("json", LogFormat::Json),
];
