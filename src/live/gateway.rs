//! Requests beside the desk: each runs alone and answers with one event, whatever happens.

use std::sync::Arc;

use cambist_client::{Answered, Client};
use cambist_core::MarketSpec;
use cambist_core::event::Event;
use cambist_core::request::{Outcome, Query, RequestId};
use tokio::sync::mpsc;

use super::Heard;

/// Sends for the desk.
#[derive(Clone)]
pub struct Gateway {
    client: Arc<Client>,
    markets: Arc<[MarketSpec]>,
    desk: mpsc::Sender<Heard>,
}

impl Gateway {
    /// A gateway whose answers go to `desk`.
    pub fn new(client: Arc<Client>, markets: &[MarketSpec], desk: mpsc::Sender<Heard>) -> Self {
        Self {
            client,
            markets: markets.into(),
            desk,
        }
    }

    /// Sends a poll or a cancel.
    pub fn query(&self, request: RequestId, query: Query) {
        let here = self.clone();
        tokio::spawn(async move {
            let answered = here.client.query(&query, &here.markets).await;
            here.answer(request, answered).await;
        });
    }

    /// Sends the stored bytes of an order.
    pub fn submit(&self, request: RequestId, body: Arc<[u8]>) {
        let here = self.clone();
        tokio::spawn(async move {
            let answered = here.client.submit(&body).await;
            here.answer(request, answered).await;
        });
    }

    /// Answers for an order whose bytes are not there, so that provably none left.
    pub fn nothing_to_send(&self, request: RequestId) {
        let here = self.clone();
        tokio::spawn(async move {
            let outcome = Outcome::NotSent;
            let event = Event::Answer {
                request,
                outcome,
                venue_time: None,
            };
            let _ = here.desk.send(Heard::Event(event)).await;
        });
    }

    async fn answer(&self, request: RequestId, answered: Answered) {
        let Answered {
            outcome,
            venue_time,
            ..
        } = answered;
        let event = Event::Answer {
            request,
            outcome,
            venue_time,
        };
        // The desk is gone only when the program is ending.
        let _ = self.desk.send(Heard::Event(event)).await;
    }
}
