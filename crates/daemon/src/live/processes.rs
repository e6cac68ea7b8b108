//! The processes of strategies in a daemon: they start with it, get views, and their lines become events of the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use cambist_core::StrategyId;
use cambist_core::event::Event;
use cambist_core::strategy::ProcessMessage;
use cambist_sandbox::supervisor::{ProcessEvent, Supervisor};
use tokio::sync::mpsc;

use super::LoopMessage;
use crate::config::Bound;

/// Every process of the daemon, by its strategy.
#[derive(Default)]
pub struct Processes(BTreeMap<StrategyId, Supervisor>);

impl Processes {
    /// Starts the process of every strategy that has one. What happens to them is sent to `inbox`.
    pub fn start(bound: &Bound, inbox: &mpsc::Sender<LoopMessage>) -> std::io::Result<Self> {
        let mut all = BTreeMap::new();
        for (id, market, choice) in &bound.strategies {
            let Some(process) = &choice.process else {
                continue;
            };
            let (strategy, name) = (*id, choice.name.value.clone());
            let market = bound.markets.get(usize::from(market.0));
            let market = market.map(|spec| spec.name.clone()).unwrap_or_default();
            if !process.confine {
                tracing::warn!(
                    strategy = name,
                    market,
                    "runs unconfined: it can read what this daemon can, its keys included (market.strategy.confine)"
                );
            }
            let inbox = inbox.clone();
            let sink = move |event: ProcessEvent| {
                let Some(message) = engine_message(&name, &market, event) else {
                    return;
                };
                let event = Event::Process { strategy, message };
                // The receiver is gone when the daemon ends.
                let _ = inbox.blocking_send(LoopMessage::Event(event));
            };
            all.insert(strategy, Supervisor::start(process.spec(), Arc::new(sink))?);
        }
        Ok(Self(all))
    }

    /// Gives a process its newest view.
    pub fn send(&self, strategy: StrategyId, view: String) {
        if let Some(process) = self.0.get(&strategy) {
            process.send(view);
        }
    }
}

/// Logs what happens to a process; what the engine has to know of it.
fn engine_message(strategy: &str, market: &str, event: ProcessEvent) -> Option<ProcessMessage> {
    match event {
        ProcessEvent::Started => {
            tracing::info!(strategy, market, "process of the strategy started");
            Some(ProcessMessage::Started)
        }
        ProcessEvent::Line(line) => Some(ProcessMessage::Line(line)),
        ProcessEvent::Ended { why, pause } => {
            let again_ms = pause.as_millis();
            tracing::warn!(
                strategy,
                market,
                why,
                again_ms,
                "process of the strategy ended; its quotes are cancelled"
            );
            Some(ProcessMessage::Ended)
        }
        ProcessEvent::Log(line) => {
            tracing::info!(strategy, market, "output of the process: {line}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_engine_gets_lines_beginnings_and_ends() {
        let message = |event| engine_message("bands", "ETH-USDC", event);
        assert_eq!(
            message(ProcessEvent::Started),
            Some(ProcessMessage::Started)
        );
        let line = || b"{}".to_vec();
        assert_eq!(
            message(ProcessEvent::Line(line())),
            Some(ProcessMessage::Line(line()))
        );
        let ended = ProcessEvent::Ended {
            why: "it was killed".to_owned(),
            pause: Duration::from_secs(1),
        };
        assert_eq!(message(ended), Some(ProcessMessage::Ended));
        assert_eq!(message(ProcessEvent::Log("a text".to_owned())), None);
    }
}
