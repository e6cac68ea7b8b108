//! Server-sent events: every trade, and the depth of a market whenever it has changed, at most ten times a second.
//!
//! Nothing is sent before it is durable. A stream ends after ten minutes, when the exchange stops, and when its client
//! does not read; browsers open it again with `Last-Event-ID` and then get the trades in between.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use cambist_core::{MarketId, Reason};
use cambist_protocol::encode::to_bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::query::{Query, refused};
use super::{Shown, market, shapes};
use crate::dispatch::Dispatch;
use crate::error_response::ErrorResponse;
use crate::responses;

/// Interval of reading a market.
const EVERY: Duration = Duration::from_millis(100);
/// A stream that is silent for so long sends a comment, so that proxies keep it open. Milliseconds.
const SILENT_MAX_MS: u64 = 10_000;
/// Life of a stream.
const LIFE: Duration = Duration::from_mins(10);
/// Levels of a depth per side.
const LEVELS: u64 = 50;
/// Frames that wait for a slow client.
const WAITING_MAX: usize = 4;

/// Bounds on streams, and their end.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most: usize,
    most_per_address: usize,
    /// Longest silence.
    silent_max: Duration,
    ended: watch::Sender<bool>,
}

/// A place among the streams, given back when it is dropped.
struct Place {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    address: IpAddr,
}

impl Streams {
    /// Streams within bounds. They are never silent for a third of `stall_ms`, by which a listener takes a connection
    /// for a dead one.
    pub fn new(most: usize, most_per_address: usize, stall_ms: u64) -> Self {
        Self {
            open: Arc::default(),
            most,
            most_per_address,
            silent_max: Duration::from_millis(SILENT_MAX_MS.min(stall_ms / 3)),
            ended: watch::Sender::new(false),
        }
    }

    /// Ends all streams; new ones end at once.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }

    fn take(&self, address: IpAddr) -> Result<Place, ErrorResponse> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.get(&address).copied().unwrap_or(0);
        if own >= self.most_per_address || open.values().sum::<usize>() >= self.most {
            let what = format!(
                "too many streams are open; an address may have {}",
                self.most_per_address
            );
            let error = ErrorResponse::new(Reason::RateLimited, what);
            return Err(ErrorResponse {
                retry_after_s: Some(1),
                ..error
            });
        }
        open.insert(address, own + 1);
        Ok(Place {
            open: Arc::clone(&self.open),
            address,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.remove(&self.address)),
        }
    }
}

/// What a client wants to see.
struct Wanted {
    id: MarketId,
    market: Shown,
    trades: bool,
    depth: bool,
    /// The last trade that the client has.
    after: u64,
}

/// Opens a stream. `last_event_id` is the header that browsers send when they connect again.
pub(crate) fn open(
    shell: &Arc<Dispatch>,
    address: IpAddr,
    query: &str,
    last_event_id: Option<&str>,
) -> Result<Body, ErrorResponse> {
    let Some(data) = &shell.machine.market_data else {
        return Err(ErrorResponse::internal());
    };
    let query = Query::parse(query)?;
    let name = query.need("market")?;
    let (id, market) = shell.machine.read(|venue| market(venue, name))??;
    let channels = query.get("channels").unwrap_or("trades,depth");
    let channels: Vec<_> = channels.split(',').collect();
    if let Some(unknown) = channels
        .iter()
        .find(|one| !["trades", "depth"].contains(one))
    {
        return Err(refused(format!(
            "channels: {unknown:?} is not trades or depth"
        )));
    }
    let after = match last_event_id {
        Some(text) => text.parse().map_err(|_| {
            refused(format!(
                "Last-Event-ID: {text:?} is not a number of a trade"
            ))
        })?,
        None => data.newest(),
    };
    let wanted = Wanted {
        id,
        market,
        trades: channels.contains(&"trades"),
        depth: channels.contains(&"depth"),
        after,
    };
    let place = data.streams.take(address)?;
    let ended = data.streams.ended.subscribe();
    let silent_max = data.streams.silent_max;
    let (frames, receiver) = mpsc::channel(WAITING_MAX);
    let shell = Arc::clone(shell);
    tokio::spawn(async move {
        feed(&shell, wanted, &frames, silent_max, ended).await;
        drop(place);
    });
    Ok(Body::new(Frames(receiver)))
}

/// Sends until the client, the exchange or the time ends it.
async fn feed(
    shell: &Dispatch,
    mut wanted: Wanted,
    frames: &mpsc::Sender<Bytes>,
    silent_max: Duration,
    mut ended: watch::Receiver<bool>,
) {
    // Times are those of the ticks. The first is at once.
    let (mut begun, mut sent_at) = (None, None);
    let mut version = None;
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = tokio::select! {
            now = tick.tick() => now,
            () = frames.closed() => return,
            _ = ended.wait_for(|ended| *ended) => return,
        };
        let lasted = now - *begun.get_or_insert(now);
        let Some(mut text) = events(shell, &mut wanted, &mut version) else {
            return;
        };
        if text.is_empty() && now - *sent_at.get_or_insert(now) < silent_max {
            continue;
        }
        if text.is_empty() {
            text.push_str(":\n\n");
        }
        sent_at = Some(now);
        let sent = async {
            shell.machine.settled().await.ok()?;
            frames.send(Bytes::from(text)).await.ok()
        };
        tokio::select! {
            sent = sent => if sent.is_none() || lasted > LIFE { return },
            _ = ended.wait_for(|ended| *ended) => return,
        }
    }
}

/// What happened since the last call; `None` after a failure of the exchange.
fn events(shell: &Dispatch, wanted: &mut Wanted, version: &mut Option<u64>) -> Option<String> {
    let mut text = String::new();
    let data = shell.machine.market_data.as_ref()?;
    if wanted.trades {
        let (trades, is_cut) = data.after(wanted.id, wanted.after);
        if is_cut {
            text.push_str("event: gap\ndata: {}\n\n");
        }
        for trade in trades {
            let shown = shapes::trade(&wanted.market, &trade);
            let _ = write!(text, "event: trade\nid: {}\ndata: {shown}\n\n", trade.id);
            wanted.after = trade.id;
        }
    }
    if wanted.depth {
        let name = &wanted.market.name;
        let known = *version;
        let depth = shell.machine.read(|venue| {
            let changed = venue.book_version(wanted.id) != known;
            changed.then(|| venue.depth(name, 0, Some(LEVELS)))
        });
        if let Some(Ok(depth)) = depth.ok()? {
            *version = Some(depth.version);
            let shown = to_bytes(&responses::depth(depth));
            let shown = String::from_utf8_lossy(&shown);
            let _ = write!(text, "event: depth\ndata: {shown}\n\n");
        }
    }
    Some(text)
}

/// Frames as a body.
struct Frames(mpsc::Receiver<Bytes>);

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let frame = self.0.poll_recv(context);
        frame.map(|bytes| bytes.map(|bytes| Ok(http_body::Frame::data(bytes))))
    }
}
