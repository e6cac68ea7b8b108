//! Sources of reference prices in a daemon: each is polled on its own, and its prices become events of the engine.

use cambist_core::event::Event;
use cambist_core::reference::ReferenceId;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tracing::Instrument;

use super::LoopMessage;
use crate::config::{Bound, Daemon};
use crate::feeds::{Poller, ReferenceReader};
use crate::telemetry::feeds::FeedMetrics;
use cambist_host::clock::Clock;

/// Starts polling every source. It ends with the runtime, or when the event loop has ended.
pub fn start(
    daemon: &Daemon,
    bound: &Bound,
    clock: Clock,
    inbox: &mpsc::Sender<LoopMessage>,
    metrics: &FeedMetrics,
) -> anyhow::Result<()> {
    for (id, (source, feed)) in (0..).map(ReferenceId).zip(&bound.references) {
        let Some(market) = bound.markets.get(usize::from(source.market.0)) else {
            continue;
        };
        let name = format!("{} {}", market.name, source.name);
        let timeout_ms = daemon.request_timeout_ms;
        let poller = Poller::new(name.clone(), market, feed.clone(), clock, timeout_ms)?;
        let series = metrics.reference(&market.name, &source.name);
        let (inbox, mut reader) = (inbox.clone(), ReferenceReader::new(id, name, series));
        let polls = poller.run(move |arrival| {
            let Some(reading) = reader.read(&arrival) else {
                return !inbox.is_closed();
            };
            let price = reading.received(arrival.received);
            let message = LoopMessage::Event(Event::Reference(price));
            // A loop that is behind gets the next price, which is newer.
            !matches!(inbox.try_send(message), Err(TrySendError::Closed(_)))
        });
        tokio::spawn(polls.in_current_span());
    }
    Ok(())
}
