//! The log: text on a terminal, JSON otherwise, always on stderr. Lines are counted by level.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use cambist_config::log::{LogConfig, LogFormat};

/// Lines by level: error, warn, info. The log is global, so its counters are too.
static LINES: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Starts the log of this process. Further calls have no effect.
pub fn start(config: LogConfig) {
    let stderr = std::io::stderr;
    let terminal = stderr().is_terminal();
    let human = match config.format {
        LogFormat::Auto => terminal,
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let base = tracing_subscriber::registry()
        .with(LevelFilter::from_level(config.level))
        .with(Counter);
    // Text from the venue is logged in fields only, which both formats escape.
    let started = if human {
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(terminal)
            .with_target(false);
        base.with(lines.with_writer(stderr)).try_init()
    } else {
        let lines = tracing_subscriber::fmt::layer().json().flatten_event(true);
        base.with(lines.with_writer(stderr)).try_init()
    };
    if started.is_err() {
        tracing::debug!("the log is already initialised");
    }
}

/// Lines so far, by the levels of the metrics.
pub(super) fn lines() -> [(&'static str, u64); 3] {
    let count = |index: usize| LINES[index].load(Ordering::Relaxed);
    [("error", count(0)), ("warn", count(1)), ("info", count(2))]
}

struct Counter;

impl<S: Subscriber> Layer<S> for Counter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let index = match *event.metadata().level() {
            Level::ERROR => 0,
            Level::WARN => 1,
            Level::INFO => 2,
            Level::DEBUG | Level::TRACE => return,
        };
        LINES[index].fetch_add(1, Ordering::Relaxed);
    }
}
