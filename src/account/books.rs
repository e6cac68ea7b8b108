//! Storage ids and books: those of the running daemon, or of its state folder while none runs.

use std::path::Path;

use anyhow::{Context, bail};
use cambist_client::CallError;
use cambist_core::TokenId;
use cambist_daemon::config::Daemon;
use cambist_daemon::live::account_requests::AccountRequest;
use cambist_daemon::live::control_client;
use cambist_daemon::live::control_requests::RequestJson;
use cambist_daemon::live::start::refuse_other_account;
use cambist_store::Store;
use serde_json::Value;

use super::session::Session;
use crate::exit::{Exit, Failure};

/// Where storage ids come from and flows are booked.
pub enum BooksAccess {
    /// A running daemon.
    Running,
    /// Its store, locked for this command.
    Stopped(Box<Store>),
}

impl BooksAccess {
    /// The daemon of a configuration, or its locked store.
    pub fn open(daemon: &Daemon) -> anyhow::Result<Self> {
        let dir = &daemon.store.dir;
        refuse_other_account(daemon)?;
        if control_client::ask(dir, &RequestJson::Status)?.is_some() {
            return Ok(Self::Running);
        }
        let store = Store::open_for(dir, daemon.venue.rules().slots)?;
        Ok(Self::Stopped(Box::new(store)))
    }

    /// Whether a daemon runs.
    pub const fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// A storage id that nothing else gets; durable.
    pub async fn take_slot(&mut self, session: &Session, token: TokenId) -> anyhow::Result<u32> {
        match self {
            Self::Running => {
                let token = token.0.to_string();
                let request = RequestJson::TakeSlot { token };
                let answer = ask(&session.daemon.store.dir, &request)?;
                if answer["durable"] != true {
                    bail!("the daemon's store could not be written, so no storage id is safe");
                }
                let number = answer["detail"].as_str().and_then(|text| text.parse().ok());
                number.context("the daemon's answer is not a storage id")
            }
            Self::Stopped(store) => {
                // Ids of a lost state folder are known to the venue only.
                let next = match session.client.storage_id(token, true).await {
                    Ok(ids) => ids.offchain_id,
                    Err(CallError::Refused { .. }) => 0,
                    Err(error) => return Err(error.into()),
                };
                Ok(store.take_slot(token, next)?)
            }
        }
    }

    /// Announces the flows of a request to a running daemon; the next start of a stopped one reads the request's file.
    pub fn announce(&self, dir: &Path, request: &AccountRequest) -> anyhow::Result<()> {
        if !self.is_running() {
            return Ok(());
        }
        let flows = request.flows.iter().filter(|_| request.state.may_flow());
        for flow in flows {
            let expect = RequestJson::Expect {
                token: flow.token.to_string(),
                units: flow.units.to_string(),
                reason: flow.reason.clone(),
            };
            ask(dir, &expect)?;
        }
        Ok(())
    }

    /// Withdraws the announcements of a request that had no effect.
    pub fn withdraw(&self, dir: &Path, request: &AccountRequest) -> anyhow::Result<()> {
        if !self.is_running() || request.state.may_flow() {
            return Ok(());
        }
        for flow in &request.flows {
            let reason = flow.reason.clone();
            ask(dir, &RequestJson::ExpectNoMore { reason })?;
        }
        Ok(())
    }
}

/// Sends a request to a daemon that must run, and be willing.
fn ask(dir: &Path, request: &RequestJson) -> anyhow::Result<Value> {
    let answer = control_client::ask(dir, request)?;
    let gone = || {
        Failure::new(
            Exit::CheckFailed,
            "the daemon has ended meanwhile; try again",
        )
    };
    let answer = answer.ok_or_else(gone)?;
    if answer["done"] == true {
        return Ok(answer);
    }
    let why = answer["error"].as_str().unwrap_or("no reason was given");
    Err(Failure::new(Exit::CheckFailed, format!("the daemon refused: {why}")).into())
}
