//! Ctrl-C while worlds or games are run: what has begun is finished, and what has ended is reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// The exit code of a program that Ctrl-C ended, as shells state it.
pub const CODE: i32 = 130;

/// Whether Ctrl-C was pressed.
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Interrupt {
    /// Waits for interrupts from now on. The first one prints that what has begun, `what`, is finished; the second one
    /// ends the program.
    ///
    /// # Errors
    /// Signals cannot be waited for.
    pub fn wait(what: &'static str) -> anyhow::Result<Self> {
        let interrupt = Self {
            asked: Arc::default(),
            over: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("waiting for signals")?;
        let (asked, over) = (Arc::clone(&interrupt.asked), Arc::clone(&interrupt.over));
        std::thread::spawn(move || {
            while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                if over.load(Ordering::Relaxed) || asked.swap(true, Ordering::Relaxed) {
                    std::process::exit(CODE);
                }
                note!(
                    "\ninterrupted: {what} that have begun are finished; Ctrl-C again ends at once"
                );
            }
        });
        Ok(interrupt)
    }

    /// Set by the first interrupt.
    pub fn asked(&self) -> &AtomicBool {
        &self.asked
    }

    /// Nothing is left that an interrupt would have to let finish: the next one ends the program.
    pub fn is_over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
