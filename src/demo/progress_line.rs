//! The progress line of the demo: refreshed on a terminal, one line per second otherwise.
//!
//! Libraries of progress bars print nothing where there is no terminal; this line is also the log of a demo in a pipe.

use std::io::{IsTerminal, Write};

use cambist_report::text::{SEPARATOR, WIDTH};

/// A narrower terminal is treated as this wide.
const NARROWEST: usize = 20;
/// Gap between parts in one row.
const GAP: &str = "  ";

/// Writes to standard error; standard output is for results.
pub struct ProgressLine {
    terminal: bool,
    /// Number of rows of the current line, which will be replaced.
    rows: usize,
}

impl ProgressLine {
    /// Detects whether standard error is a terminal.
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            rows: 0,
        }
    }

    /// Replaces the current line.
    pub fn line(&mut self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        if !self.terminal {
            let _ = writeln!(stderr, "{text}");
            return;
        }
        if self.rows > 1 {
            let _ = write!(stderr, "\x1b[{}A", self.rows - 1);
        }
        let rows = rows(text, width());
        let _ = write!(stderr, "\r\x1b[J{}", rows.join("\n"));
        let _ = stderr.flush();
        self.rows = rows.len();
    }

    /// Prints a line that stays.
    pub fn say(&mut self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        if self.rows > 0 {
            let _ = writeln!(stderr);
            self.rows = 0;
        }
        let _ = writeln!(stderr, "{text}");
    }
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self::new()
    }
}

/// Current width of the terminal; it may be resized at any time.
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 {
        WIDTH
    } else {
        columns.max(NARROWEST)
    }
}

/// Distributes parts to as few rows as possible; a part that is wider than a row is cut.
fn rows(text: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for part in text.split(SEPARATOR) {
        let wide = part.chars().count();
        match rows.last_mut() {
            Some(row) if row.chars().count() + GAP.len() + wide <= width => {
                row.push_str(GAP);
                row.push_str(part);
            }
            Some(_) | None => rows.push(part.chars().take(width).collect()),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_nothing_is_too_wide() {
        let parts = ["  12 s", "ETH-USDC 2500.00", "quotes 1 / 2", "fills    3"];
        let text = parts.join(SEPARATOR);
        for width in NARROWEST..70 {
            let rows = rows(&text, width);
            assert!(rows.iter().all(|row| row.chars().count() <= width));
            let shown = rows.join(" ");
            assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
        }
        assert_eq!(rows(&text, 200).len(), 1);
        assert_eq!(rows(&"x".repeat(50), 20), ["x".repeat(20)]);
    }
}
