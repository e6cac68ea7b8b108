//! A line of progress with the time that is left, on stderr: rewritten on a terminal, repeated in a file.

use std::io::{IsTerminal, Write};

use cambist_host::clock::Clock;

/// Lines at most every so often: on a terminal, and in a file.
const EVERY_MS: [u64; 2] = [500, 10_000];

/// The line.
pub struct Progress {
    clock: Clock,
    /// What is counted, in the plural.
    what: &'static str,
    is_terminal: bool,
    shown_ms: Option<u64>,
    earlier: usize,
    total: usize,
    done: usize,
    weight_done: f64,
    weight_total: f64,
}

impl Progress {
    /// Of what remains beside the `earlier` ones, each with what it takes in any unit.
    pub fn new(
        clock: Clock,
        what: &'static str,
        earlier: usize,
        weights: impl Iterator<Item = f64>,
    ) -> Self {
        let (mut total, mut weight_total) = (0, 0.0);
        for weight in weights {
            total += 1;
            weight_total += weight;
        }
        if earlier > 0 && total > 0 {
            eprintln!("{earlier} {what} are there already, {total} are left");
        }
        Self {
            clock,
            what,
            is_terminal: std::io::stderr().is_terminal(),
            shown_ms: None,
            earlier,
            total,
            done: 0,
            weight_done: 0.0,
            weight_total,
        }
    }

    /// One is done.
    pub fn done(&mut self, weight: f64) {
        self.done += 1;
        self.weight_done += weight;
        let now = self.clock.now().as_ms();
        let every = EVERY_MS[usize::from(!self.is_terminal)];
        if self.shown_ms.is_some_and(|shown| now < shown + every) && self.done < self.total {
            return;
        }
        self.shown_ms = Some(now);
        let line = format!(
            "{} of {} {}, {} left",
            self.earlier + self.done,
            self.earlier + self.total,
            self.what,
            time_left(now, self.weight_done, self.weight_total)
        );
        let mut stderr = std::io::stderr().lock();
        _ = if self.is_terminal {
            write!(stderr, "\r\x1b[K{line}")
        } else {
            writeln!(stderr, "{line}")
        };
    }

    /// Takes the line off a terminal.
    pub fn end(&self) {
        if self.is_terminal && self.shown_ms.is_some() {
            _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// The time that is left, by what was done so far.
fn time_left(passed_ms: u64, done: f64, total: f64) -> String {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    let seconds = (passed_ms as f64 / 1_000.0 * (total - done).max(0.0)
        / done.max(f64::MIN_POSITIVE))
    .round() as u64;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_in_proportion() {
        assert_eq!(time_left(10_000, 1.0, 4.0), "30 s");
        assert_eq!(time_left(60_000, 1.0, 11.0), "10 min");
        assert_eq!(time_left(600_000, 1.0, 25.5), "4 h 5 min");
        assert_eq!(time_left(1_000, 5.0, 5.0), "0 s");
    }
}
