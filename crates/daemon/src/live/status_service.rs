//! Status of a run that does not trade: control socket, metrics and pages, from a thread of their own. The only request
//! that is answered is the one for the status, because there is nothing to stop, cancel or resume.

use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context;
use cambist_host::exit::{Exit, Failure};
use cambist_host::folder::{PrivateFolder, TakenFolder};
use cambist_store::StoreError;
use tokio::sync::{Notify, mpsc};

use crate::address;
use crate::config::Daemon;
use crate::live::control_requests::RequestJson;
use crate::live::control_socket::ControlSocket;
use crate::live::operator_commands::{REQUESTS_MAX, Request};
use crate::live::pending_replies::refused;
use crate::telemetry::http::{Listener, Pages, Shown};

/// File descriptors reserved for everything except connections to the pages.
const DESCRIPTORS: u64 = 64;

/// Takes the folder of a run that does not trade. Refused for the state folder of a daemon that trades, and while
/// another process uses it.
pub fn take_folder(daemon: &Daemon) -> anyhow::Result<TakenFolder> {
    let dir = &daemon.store.dir;
    if dir.join(cambist_store::FILE).exists() {
        let what = format!(
            "store.dir = {} is the state folder of a daemon that trades; mode = \"{}\" needs a folder of its own",
            dir.display(),
            daemon.mode.name()
        );
        return Err(Failure::new(Exit::Refused, what).into());
    }
    let folder = PrivateFolder::open_or_create(dir).map_err(StoreError::from)?;
    Ok(folder.take().map_err(StoreError::from)?)
}

/// The service; it ends when this is dropped.
pub struct StatusService {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl StatusService {
    /// Serves the status of a run in a folder that was taken.
    pub fn start(daemon: &Daemon, shown: Shown) -> anyhow::Result<Self> {
        let listener = Listener::bind(daemon.metrics, DESCRIPTORS)?;
        let metrics = listener.address();
        listener.spawn(Pages::new(shown.clone()))?;
        address::write(&daemon.metrics_address_file(), metrics)?;
        tracing::info!("page http://{metrics}/, metrics at /metrics");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let socket = {
            let _inside = runtime.enter();
            ControlSocket::open(&daemon.store.dir)?
        };
        let mode = daemon.mode.name();
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let serve = move || {
            runtime.block_on(async move {
                let (sender, requests) = mpsc::channel(REQUESTS_MAX);
                let callers = socket.callers();
                tokio::select! {
                    () = socket.serve(sender) => {}
                    () = answer(requests, &shown, mode) => {}
                    () = stopped.notified() => {}
                }
                callers.answered().await;
            });
        };
        let thread = std::thread::Builder::new().name("status".to_owned());
        let thread = thread.spawn(serve).context("thread of the status")?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for StatusService {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has already ended the process.
            let _ = thread.join();
        }
    }
}

async fn answer(mut requests: mpsc::Receiver<Request>, shown: &Shown, mode: &str) {
    while let Some(Request { json, answer, .. }) = requests.recv().await {
        let page = if json == RequestJson::Status {
            shown.status()
        } else {
            refused(&format!(
                "this run has mode = \"{mode}\": it sends no orders, so there is nothing to stop, cancel or resume; end it with Ctrl-C or SIGTERM"
            ))
        };
        // The client may have disconnected.
        let _ = answer.send(page);
    }
}

#[cfg(test)]
#[path = "status_service_tests.rs"]
mod tests;
