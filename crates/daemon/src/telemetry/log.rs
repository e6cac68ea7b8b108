//! The log: text on a terminal, JSON otherwise, always on stderr. Lines are counted by level.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use cambist_config::log::{LogConfig, LogFormat};

/// Lines by level: error, warn, info. The log is global, so its counters are too.
static LINES: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Whether the configuration asks for lines of JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

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
        base.with(json_lines(stderr)).try_init()
    };
    if started.is_err() {
        tracing::debug!("the log is already initialised");
        return;
    }
    IS_JSON.store(config.format == LogFormat::Json, Ordering::Relaxed);
}

/// Whether the log was started with `log.format = "json"`: errors and warnings on stderr are lines of JSON from
/// then on, the error that ends the process included. Before that, and with `auto`, they are text.
pub fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Lines of JSON. Fields are keys beside those of the format, and have none of their names.
fn json_lines<S, W>(writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true);
    lines.with_writer(writer)
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

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
    use tracing::Instrument;

    use super::*;

    /// Keys of a line that are the format's own.
    const KEYS: [&str; 6] = ["timestamp", "level", "message", "target", "span", "spans"];

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is logged by this thread meanwhile, as lines of JSON.
    pub(crate) fn logged(what: impl FnOnce()) -> Vec<String> {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::registry().with(json_lines(move || writer.clone()));
        tracing::subscriber::with_default(log, what);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The keys of a line, with repetitions, which a map would hide.
    struct Keys(Vec<String>);

    impl<'de> Deserialize<'de> for Keys {
        fn deserialize<D: Deserializer<'de>>(line: D) -> Result<Self, D::Error> {
            struct OfMap;
            impl<'de> Visitor<'de> for OfMap {
                type Value = Keys;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a line of the log")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                    let mut keys = Vec::new();
                    while let Some((key, IgnoredAny)) = map.next_entry()? {
                        keys.push(key);
                    }
                    Ok(Keys(keys))
                }
            }
            line.deserialize_map(OfMap)
        }
    }

    /// The first key that a line has twice.
    pub(crate) fn key_twice(line: &str) -> Option<String> {
        let Keys(keys) = serde_json::from_str(line).unwrap();
        let mut seen = BTreeSet::new();
        keys.into_iter().find(|key| !seen.insert(key.clone()))
    }

    #[test]
    fn a_line_has_the_keys_of_the_format_and_the_fields_beside_them() {
        let lines = logged(|| tracing::error!(state = "halted", cause = "x", "trading stopped"));
        let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(
            (&line["level"], &line["state"]),
            (&"ERROR".into(), &"halted".into())
        );
        assert_eq!(key_twice(&lines[0]), None);
        // What this test would find.
        let lines = logged(|| tracing::error!(level = "halted", "trading stopped"));
        assert_eq!(key_twice(&lines[0]).as_deref(), Some("level"));
    }

    /// Tasks of a venue's part log with the venue, also at the level of errors alone.
    #[tokio::test]
    async fn a_task_that_keeps_its_span_names_the_venue() {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::registry()
            .with(LevelFilter::ERROR)
            .with(json_lines(move || writer.clone()));
        let guard = tracing::subscriber::set_default(log);
        let span = crate::portfolio::run::span("kraken");
        let part = async {
            let task = async { tracing::error!("of a task") };
            tokio::spawn(task.in_current_span()).await.unwrap();
        };
        part.instrument(span).await;
        drop(guard);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["span"]["venue"], "kraken", "{text}");
    }

    /// All sources of the program below a folder.
    fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    /// The fields of a call of a logging macro, whose arguments begin here: what comes before its message.
    fn fields(arguments: &str) -> Vec<String> {
        let (mut fields, mut field, mut depth) = (Vec::new(), String::new(), 0_u32);
        let mut is_text = false;
        for character in arguments.chars() {
            match character {
                // The message.
                '"' if field.trim().is_empty() => break,
                '"' => is_text = !is_text,
                _ if is_text => {}
                ')' if depth == 0 => break,
                ',' if depth == 0 => fields.push(std::mem::take(&mut field)),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ if depth == 0 => field.push(character),
                _ => {}
            }
        }
        fields.push(field);
        let name = |field: &String| {
            let name = field.split('=').next().unwrap_or_default();
            name.trim().trim_start_matches(['%', '?']).to_owned()
        };
        fields.iter().map(name).collect()
    }

    #[test]
    fn no_field_in_the_sources_has_a_name_of_the_format() {
        assert_eq!(
            fields("%error, level = a(b, c), \"text {level}\")"),
            ["error", "level", ""]
        );
        assert_eq!(fields("\"text\", level)"), [""]);
        assert_eq!(
            fields("a = \"b, c)\", level, \"text\")"),
            ["a", "level", ""]
        );
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        for folder in ["crates", "src"] {
            sources(&root.join(folder), &mut files);
        }
        let mut calls = 0;
        for file in files
            .iter()
            .filter(|file| !file.ends_with("telemetry/log.rs"))
        {
            let text = std::fs::read_to_string(file).unwrap();
            for name in ["error!(", "warn!(", "info!(", "debug!(", "trace!("] {
                for (at, _) in text.match_indices(name) {
                    calls += 1;
                    let fields = fields(&text[at + name.len()..]);
                    let own = fields.iter().find(|field| KEYS.contains(&field.as_str()));
                    let call: String = text[at..].chars().take(80).collect();
                    assert_eq!(own, None, "{call} in {}", file.display());
                }
            }
        }
        assert!(calls > 100, "{calls}");
    }
}
