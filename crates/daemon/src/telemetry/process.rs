//! The five standard process metrics, read on request.
//!
//! `prometheus` has them with its feature `process`, which brings a parser of all of `/proc` for these three files.

use prometheus::{Counter, Gauge, IntCounterVec, IntGauge};

use super::metrics::{Made, Maker};

/// Gauges of the process.
pub(super) struct Process {
    memory: IntGauge,
    fds: IntGauge,
    fds_max: IntGauge,
    cpu: Counter,
    start: Gauge,
    log_lines: IntCounterVec,
}

impl Process {
    pub(super) fn new(m: &Maker) -> Made<Self> {
        let process = Self {
            memory: m.whole(
                "process_resident_memory_bytes",
                "Resident memory size in bytes.",
            )?,
            fds: m.whole("process_open_fds", "Open file descriptors.")?,
            fds_max: m.whole("process_max_fds", "File descriptor limit.")?,
            cpu: m.keep(Counter::new("process_cpu_seconds_total", "CPU time used."))?,
            start: m.gauge(
                "process_start_time_seconds",
                "Start time since the epoch in seconds.",
            )?,
            log_lines: m.counters(
                "cambist_log_messages_total",
                "Log lines by level.",
                &["level"],
            )?,
        };
        for (level, _) in super::log::lines() {
            process.log_lines.with_label_values(&[level]);
        }
        Ok(process)
    }

    /// Reads the values; at most one thread may call it at a time. Values that cannot be read keep their last value.
    pub(super) fn update(&self, unix_s: f64) {
        for (level, lines) in super::log::lines() {
            let counter = self.log_lines.with_label_values(&[level]);
            counter.inc_by(lines.saturating_sub(counter.get()));
        }
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).ok();
        let page = i64::try_from(rustix::param::page_size()).unwrap_or(4_096);
        let pages = read("statm").and_then(|text| text.split(' ').nth(1)?.parse::<i64>().ok());
        if let Some(pages) = pages {
            self.memory.set(pages.saturating_mul(page));
        }
        if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
            self.fds
                .set(i64::try_from(entries.count()).unwrap_or(i64::MAX));
        }
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        self.fds_max.set(limit.map_or(i64::MAX, u64::cast_signed));
        if let Some((cpu_s, up_s)) = read("stat").and_then(|stat| times(&stat)) {
            self.cpu.inc_by((cpu_s - self.cpu.get()).max(0.0));
            self.start.set(unix_s - up_s);
        }
    }
}

/// Seconds of CPU time, and seconds since the start, from `/proc/self/stat`.
fn times(stat: &str) -> Option<(f64, f64)> {
    // The name in parentheses may contain anything, so fields are counted after its end.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<f64> = rest
        .split_whitespace()
        .skip(1)
        .map_while(|field| field.parse().ok())
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "about a hundred")]
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    let used = fields.get(10)? + fields.get(11)?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
    Some((used / ticks_per_s, uptime - fields.get(18)? / ticks_per_s))
}
