//! The process of a strategy in a run without real time: each view waits for its answer, so that equal
//! processes give equal runs.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
            command: process.command.value.join(" "),
            ends: 0,
            answers: 0,
            printed: VecDeque::new(),
        };
        all.insert(*id, Box::new(blocking));
    }
    Ok(all)
}

/// So many ends of a process end the run, if it did not answer [`HEALTHY_ANSWERS`] views in a row in between: each is
/// followed by a longer pause, in which the run waits.
const ENDS_MAX: u32 = 5;
const HEALTHY_ANSWERS: u32 = 20;
/// Lines of the standard error that an error contains.
const PRINTED_MAX: usize = 10;
/// What was printed before the end may come after it.
const PRINTED_AFTER: Duration = Duration::from_millis(200);

/// One process and its output.
struct Blocking {
    supervisor: Supervisor,
    events: Receiver<ProcessEvent>,
    runs: bool,
    name: String,
    command: String,
    /// Ends since it last answered for long.
    ends: u32,
    /// Answers since its start.
    answers: u32,
    /// Its last lines on the standard error.
    printed: VecDeque<String>,
}

impl Blocking {
    fn keep(&mut self, line: String) {
        tracing::info!(strategy = self.name, "output of the process: {line}");
        if self.printed.len() == PRINTED_MAX {
            self.printed.pop_front();
        }
        self.printed.push_back(line);
    }

    /// The error after the last end, with what the process printed.
    fn too_often(&mut self, why: &str) -> String {
        while let Ok(event) = self.events.recv_timeout(PRINTED_AFTER) {
            if let ProcessEvent::Log(line) = event {
                self.keep(line);
            }
        }
        let Self { name, command, .. } = self;
        let lines: Vec<_> = self
            .printed
            .iter()
            .map(|line| format!("\n  {line}"))
            .collect();
        let printed = if lines.is_empty() {
            "it printed nothing on its standard error".to_owned()
        } else {
            format!("the last lines of its standard error:{}", lines.concat())
        };
        format!("strategy {name}: its process ({command}) ended {ENDS_MAX} times: {why}; {printed}")
    }
}

impl ViewAnswerer for Blocking {
    fn answer(&mut self, view: &str) -> Result<Option<Vec<u8>>, String> {
        if self.runs {
            self.supervisor.send(view.to_owned());
        }
        loop {
            // One that does not answer in time is ended by its supervisor.
            let Ok(event) = self.events.recv() else {
                return Err(self.too_often("it is not run any more"));
            };
            match event {
                ProcessEvent::Started => {
                    self.runs = true;
                    self.answers = 0;
                    self.supervisor.send(view.to_owned());
                }
                ProcessEvent::Line(line) => {
                    self.answers += 1;
                    if self.answers >= HEALTHY_ANSWERS {
                        self.ends = 0;
                    }
                    return Ok(Some(line));
                }
                ProcessEvent::Ended { why, .. } => {
                    self.runs = false;
                    self.ends += 1;
                    tracing::warn!(strategy = self.name, why, "process of the strategy ended");
                    if self.ends >= ENDS_MAX {
                        return Err(self.too_often(&why));
                    }
                    return Ok(None);
                }
                ProcessEvent::Log(line) => self.keep(line),
            }
        }
    }
}
