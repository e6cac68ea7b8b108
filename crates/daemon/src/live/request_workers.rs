//! Request workers: each request runs in a task of its own and produces exactly one event, whatever happens.

use std::sync::Arc;

use cambist_client::{Answered, VenueClient};
use cambist_core::MarketSpec;
use cambist_core::event::Event;
use cambist_core::request::{Endpoint, Outcome, Query, RequestId, UnknownCause};
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::live::LoopMessage;
use crate::telemetry::Telemetry;

/// Sends requests for the event loop.
#[derive(Clone)]
pub struct RequestWorkers {
    client: Arc<VenueClient>,
    markets: Arc<[MarketSpec]>,
    telemetry: Arc<Telemetry>,
    event_loop: mpsc::Sender<LoopMessage>,
}

impl RequestWorkers {
    /// Workers whose answers go to `event_loop`.
    pub fn new(
        client: Arc<VenueClient>,
        markets: &[MarketSpec],
        telemetry: Arc<Telemetry>,
        event_loop: mpsc::Sender<LoopMessage>,
    ) -> Self {
        Self {
            client,
            markets: markets.into(),
            telemetry,
            event_loop,
        }
    }

    /// Sends a poll or a cancel.
    pub fn query(&self, request: RequestId, query: Query) {
        let here = self.clone();
        let asked = async move {
            let answered = here.client.query(&query, &here.markets).await;
            here.answer(request, query.endpoint(), answered).await;
        };
        tokio::spawn(asked.in_current_span());
    }

    /// Sends the stored bytes of an order, a join or an exit.
    pub fn submit(&self, request: RequestId, endpoint: Endpoint, body: Arc<[u8]>) {
        let here = self.clone();
        let asked = async move {
            let answered = here.client.submit_to(endpoint, &body).await;
            here.answer(request, endpoint, answered).await;
        };
        tokio::spawn(asked.in_current_span());
    }

    /// Reports an intent without bytes as not sent, because provably none left.
    pub fn nothing_to_send(&self, request: RequestId) {
        let here = self.clone();
        tokio::spawn(async move {
            let outcome = Outcome::NotSent;
            let event = Event::Answer {
                request,
                outcome,
                venue_time: None,
                retry_after_ms: None,
                cost_beyond: 0,
            };
            let _ = here.event_loop.send(LoopMessage::Event(event)).await;
        });
    }

    async fn answer(&self, request: RequestId, endpoint: Endpoint, answered: Answered) {
        let detail = answered.detail.as_deref().unwrap_or_default();
        if let Some(why) = answered.not_signed() {
            self.telemetry.not_signed(endpoint, why);
        } else if is_silence(&answered) {
            self.telemetry.venue_silent(endpoint, detail);
        } else {
            self.telemetry.venue_answered();
        }
        if matches!(answered.outcome, Outcome::Refused(_)) {
            let is_numbered = matches!(*self.client, VenueClient::Exchange(_));
            self.telemetry.venue_refused(endpoint, is_numbered, detail);
        }
        let Answered {
            outcome,
            venue_time,
            retry_after_ms,
            cost_beyond,
            ..
        } = answered;
        let event = Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms,
            cost_beyond,
        };
        // The event loop has ended only if the program is ending.
        let _ = self.event_loop.send(LoopMessage::Event(event)).await;
    }
}

/// Whether nothing was received from the venue: an unusable answer is an answer.
fn is_silence(answered: &Answered) -> bool {
    match &answered.outcome {
        Outcome::NotSent => true,
        Outcome::Unknown(UnknownCause::Transport | UnknownCause::Timeout) => {
            answered.http_status.is_none()
        }
        Outcome::Unknown(_) | Outcome::Reply(_) | Outcome::Refused(_) => false,
    }
}

#[cfg(test)]
#[path = "request_workers_tests.rs"]
pub(crate) mod tests;
