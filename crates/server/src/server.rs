//! The server: bind, accept, advance the venue's time, stop.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use cambist_listener::{BindError, Listener};
use cambist_venue::Venue;
use cambist_venue::agents::Agents;

use crate::browsers::Browsers;
use crate::clock_watch::ClockWatch;
use crate::config::{ConnectionLimits, ServerConfig};
use crate::dispatch::Dispatch;
use crate::durable::{Durable, FreeSpace, Log};
use crate::in_process::InProcess;
use crate::kraken::Kraken;
use crate::router::router;
use crate::state::State;
use crate::state_machine::MachineError;

/// Longest pause between two time steps of the venue: the step of the simulated traders.
const TICK_MS: u64 = 100;

/// Why a server ended without a shutdown.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A request panicked inside the state machine: its books can no longer be trusted.
    #[error("the exchange stopped after an internal failure; the log has the cause")]
    Broken,
    /// The log cannot be written: what is answered now could be lost.
    #[error(
        "the exchange stopped because its log cannot be written; check the disk, then start again"
    )]
    NotDurable,
    /// The listening socket could not be used.
    #[error("the listening socket failed: {0}")]
    Listener(#[from] io::Error),
}

impl From<MachineError> for RunError {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::NotDurable => Self::NotDurable,
            MachineError::Broken
            | MachineError::Busy
            | MachineError::Refused(_)
            | MachineError::Audit(_) => Self::Broken,
        }
    }
}

/// A bound server, not serving yet.
pub struct Server {
    listener: Listener,
    limits: ConnectionLimits,
    browsers: Browsers,
    kraken: Option<Kraken>,
    shell: Arc<Dispatch>,
}

impl Server {
    /// Binds the address. Connections wait until [`Server::run`]. `agents` are simulated traders; open their accounts
    /// before (`Agents::setup`).
    pub fn bind(
        config: &ServerConfig,
        venue: Venue,
        agents: Vec<Agents>,
    ) -> Result<Self, BindError> {
        Self::bind_state(config, State::new(venue, agents), None, None)
    }

    /// As [`Server::bind`], for an exchange that writes every input before it is answered.
    pub fn bind_durable(config: &ServerConfig, exchange: Durable) -> Result<Self, BindError> {
        let Durable {
            state,
            log,
            free_space,
            ..
        } = exchange;
        Self::bind_state(config, state, Some(log), free_space)
    }

    fn bind_state(
        config: &ServerConfig,
        state: State,
        log: Option<Log>,
        free_space: Option<FreeSpace>,
    ) -> Result<Self, BindError> {
        let listener = Listener::bind(config.listen, config.connections.listener())?
            .with_trusted_proxies(config.trusted_proxies.clone());
        Ok(Self {
            listener,
            limits: config.connections,
            browsers: Browsers::new(config.cors_origin.as_deref()),
            kraken: config.kraken.clone().map(Kraken::new),
            shell: Arc::new(Dispatch::new(config, state, log, free_space)),
        })
    }

    /// The bound address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Access to the venue from this process.
    pub fn handle(&self) -> InProcess {
        InProcess::new(Arc::clone(&self.shell))
    }

    /// Serves until `shutdown` completes, then finishes requests in progress within the deadline.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let router = router(
            Arc::clone(&self.shell),
            self.limits,
            self.browsers,
            self.kraken,
        );
        tracing::info!(address = %self.listener.address(), "listening");
        let mut watch = ClockWatch::default();
        watch.look(self.shell.clock.reading());
        let mut ended = Ok(());
        let stop = async {
            ended = tokio::select! {
                () = shutdown => Ok(()),
                why = self.shell.machine.broken() => Err(why.into()),
                never = watch_free_space(&self.shell) => match never {},
                () = let_time_pass(&self.shell, watch) => Err(self.shell.machine.why_broken().into()),
            };
            if let Some(data) = &self.shell.machine.market_data {
                data.streams.end();
            }
        };
        self.listener.serve(router, stop).await?;
        ended
    }
}

/// Reports little free space of the data folder, if there is one; never completes.
async fn watch_free_space(shell: &Dispatch) -> Infallible {
    match &shell.free_space {
        Some(space) => space.watch(&shell.clock).await,
        None => std::future::pending().await,
    }
}

/// Advances the venue whenever something is due; completes only after a failure.
async fn let_time_pass(shell: &Dispatch, mut watch: ClockWatch) {
    loop {
        watch.look(shell.clock.reading());
        let ticked = catch_unwind(AssertUnwindSafe(|| shell.machine.tick()));
        if ticked.is_err() || shell.machine.is_broken() {
            tracing::error!("the state machine failed while time advanced; the exchange stops");
            return;
        }
        let pause_ms = shell
            .machine
            .next_wakeup_ms()
            .map_or(TICK_MS, |ms| ms.clamp(1, TICK_MS));
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
}
