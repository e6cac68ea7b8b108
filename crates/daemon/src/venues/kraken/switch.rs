//! The dead man's switch (`venue.cancel_all_after_s`): the venue cancels every order of the account when the time of
//! the last request is over. Refreshed at a quarter of it while the daemon runs; after a proven end it is off.

use std::sync::Arc;
use std::time::Duration;

use cambist_client::KrakenClient;
use tokio::task::JoinHandle;
use tracing::Instrument;

use crate::telemetry::Telemetry;

/// Attempts to switch it off.
const ATTEMPTS: u32 = 5;
/// Pause before another attempt to refresh it: the venue may answer again, take orders, and cancel them a moment later.
const RETRY: Duration = Duration::from_secs(2);
/// Pause between attempts to switch it off.
const PAUSE: Duration = Duration::from_secs(1);

/// The switch of a running daemon. Dropping it ends the refreshing, so that the venue cancels.
pub struct DeadManSwitch {
    client: KrakenClient,
    seconds: u32,
    task: Option<JoinHandle<()>>,
    telemetry: Option<Arc<Telemetry>>,
}

impl DeadManSwitch {
    /// A switch that the start has set.
    pub const fn new(client: KrakenClient, seconds: u32) -> Self {
        Self {
            client,
            seconds,
            task: None,
            telemetry: None,
        }
    }

    /// Begins to refresh it.
    pub fn keep(&mut self, telemetry: Arc<Telemetry>) {
        let (client, seconds) = (self.client.clone(), self.seconds);
        telemetry.switch_set(Some(seconds));
        self.telemetry = Some(Arc::clone(&telemetry));
        let every = Duration::from_secs(u64::from(seconds)) / 4;
        let refresh = async move {
            let mut fails = false;
            loop {
                tokio::time::sleep(if fails { RETRY.min(every) } else { every }).await;
                let refreshed = client.cancel_all_after(seconds).await;
                match &refreshed {
                    Ok(()) => telemetry.switch_set(Some(seconds)),
                    Err(_) => telemetry.switch_not_refreshed(),
                }
                match &refreshed {
                    Ok(()) if fails => tracing::info!("the dead man's switch is refreshed again"),
                    Err(error) if !fails => {
                        tracing::warn!(%error, seconds, "the dead man's switch was not refreshed; the venue cancels everything when its time is over");
                    }
                    Ok(()) | Err(_) => {}
                }
                fails = refreshed.is_err();
            }
        };
        self.task = Some(tokio::spawn(refresh.in_current_span()));
    }

    /// Ends: off after a proven end, or where the operator left orders to rest. Otherwise the venue cancels what may
    /// rest when the time is over.
    pub async fn end(mut self, off: bool) {
        if let Some(task) = self.task.take() {
            task.abort();
            // A refresh in flight must not arrive behind what switches it off.
            let _ = task.await;
        }
        if !off {
            let seconds = self.seconds;
            tracing::warn!(
                seconds,
                "the dead man's switch stays on: the venue cancels every order of the account when its time is over"
            );
            return;
        }
        for attempt in 1..=ATTEMPTS {
            match self.client.cancel_all_after(0).await {
                Ok(()) => {
                    if let Some(telemetry) = &self.telemetry {
                        telemetry.switch_set(None);
                    }
                    return;
                }
                Err(error) if attempt == ATTEMPTS => {
                    tracing::warn!(%error, "the dead man's switch could not be switched off; the venue cancels every order of the account, also those of others, when its time is over");
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

impl Drop for DeadManSwitch {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
