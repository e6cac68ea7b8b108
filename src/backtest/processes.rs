//! The process of a strategy in a run without real time: each view waits for its answer, so that equal
//! processes give equal runs.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use cambist_backtest::{Processes, ViewAnswerer};
use cambist_sandbox::supervisor::{ProcessEvent, Supervisor};

use cambist_daemon::config::Bound;

/// Starts the process of every strategy that has one.
pub fn start(bound: &Bound) -> anyhow::Result<Processes> {
    let mut all = Processes::new();
    for (id, _, choice) in &bound.strategies {
        let Some(process) = &choice.process else {
            continue;
        };
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let sink = move |event| {
            let sender = sender.lock().unwrap_or_else(PoisonError::into_inner);
            // The receiver is gone when the run has ended.
            let _ = sender.send(event);
        };
        let blocking = Blocking {
            supervisor: Supervisor::start(process.spec(), Arc::new(sink))?,
            events,
            runs: false,
            name: choice.name.value.clone(),
        };
        all.insert(*id, Box::new(blocking));
    }
    Ok(all)
}

/// One process and its output.
struct Blocking {
    supervisor: Supervisor,
    events: Receiver<ProcessEvent>,
    runs: bool,
    name: String,
}

impl ViewAnswerer for Blocking {
    fn answer(&mut self, view: &str) -> Option<Vec<u8>> {
        if self.runs {
            self.supervisor.send(view.to_owned());
        }
        loop {
            match self.events.recv().ok()? {
                ProcessEvent::Started => {
                    self.runs = true;
                    self.supervisor.send(view.to_owned());
                }
                ProcessEvent::Line(line) => return Some(line),
                ProcessEvent::Ended { why, .. } => {
                    self.runs = false;
                    tracing::warn!(strategy = self.name, why, "process of the strategy ended");
                    return None;
                }
                ProcessEvent::Log(line) => {
                    tracing::info!(strategy = self.name, "output of the process: {line}");
                }
            }
        }
    }
}
