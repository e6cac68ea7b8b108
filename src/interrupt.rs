//! Ctrl-C and SIGTERM while many computations are made (runs of a sweep, worlds, games): what has begun is finished, and
//! what has ended is reported.

use std::future::poll_fn;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::task::Poll;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// Signals that interrupt, and the exit code of a program that each one ended, as shells state it.
const CODES: [(SignalKind, i32); 2] = [
    (SignalKind::interrupt(), 130),
    (SignalKind::terminate(), 143),
];

/// What the first interrupt prints where nothing else is to be stated; `what` is what has begun, in the plural.
pub fn finishing(what: &str) -> String {
    format!(
        "interrupted: {what} that have begun are finished; Ctrl-C or SIGTERM again ends at once"
    )
}

/// Whether Ctrl-C was pressed, or SIGTERM sent.
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    code: Arc<AtomicI32>,
}

impl Interrupt {
    /// Waits for interrupts from now on. The first one prints `message` on stderr; the second one ends the program.
    ///
    /// # Errors
    /// Signals cannot be waited for.
    pub fn wait(message: impl Fn() -> String + Send + 'static) -> anyhow::Result<Self> {
        let interrupt = Self {
            asked: Arc::default(),
            over: Arc::default(),
            code: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("waiting for signals")?;
        let entered = runtime.enter();
        let mut signals = Vec::new();
        for (kind, code) in CODES {
            signals.push((signal(kind).context("waiting for signals")?, code));
        }
        drop(entered);
        let (asked, over) = (Arc::clone(&interrupt.asked), Arc::clone(&interrupt.over));
        let first = Arc::clone(&interrupt.code);
        std::thread::spawn(move || {
            loop {
                let code = runtime.block_on(poll_fn(|context| {
                    let received = signals.iter_mut().find_map(|(signal, code)| {
                        signal.poll_recv(context).is_ready().then_some(*code)
                    });
                    received.map_or(Poll::Pending, Poll::Ready)
                }));
                if over.load(Ordering::Relaxed) || asked.load(Ordering::Relaxed) {
                    std::process::exit(code);
                }
                first.store(code, Ordering::Relaxed);
                asked.store(true, Ordering::Release);
                // A reader that is gone, or a full disk, ends nothing.
                let _ = writeln!(std::io::stderr(), "\n{}", message());
            }
        });
        Ok(interrupt)
    }

    /// Set by the first interrupt.
    pub fn asked(&self) -> &AtomicBool {
        &self.asked
    }

    /// The exit code of the first interrupt; 0 before it.
    pub fn code(&self) -> i32 {
        if self.asked.load(Ordering::Acquire) {
            self.code.load(Ordering::Relaxed)
        } else {
            0
        }
    }

    /// Nothing is left that an interrupt would have to let finish: the next one ends the program.
    pub fn is_over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
