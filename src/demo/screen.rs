//! The line that is seen while the demo runs: one that refreshes on a terminal, one a second otherwise.

use std::io::{IsTerminal, Write};

/// Writes to standard error: standard output is for data.
pub struct Screen {
    terminal: bool,
    open: bool,
}

impl Screen {
    /// A screen that knows whether somebody looks at it.
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            open: false,
        }
    }

    /// Shows what is now, in place of what was.
    pub fn line(&mut self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        if self.terminal {
            let _ = write!(stderr, "\r\x1b[2K{text}");
            let _ = stderr.flush();
            self.open = true;
        } else {
            let _ = writeln!(stderr, "{text}");
        }
    }

    /// Says something that stays.
    pub fn say(&mut self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        if self.open {
            let _ = writeln!(stderr);
            self.open = false;
        }
        let _ = writeln!(stderr, "{text}");
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}
