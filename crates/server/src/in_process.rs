//! Access to the venue from the same process, for the program, the demo and tests.
//!
//! Requests take the same path as HTTP requests: under the lock, audited, durable before the result is returned,
//! refused after a failure. With a log, calls block the thread for a sync.

use std::sync::Arc;

use cambist_core::{Amount, TokenId, VenueTime};
use cambist_venue::{
    AccountId, Address, Balance, Caller, Operator, PublicKey, Request, Response, Venue,
};

use crate::api_keys::api_key_digest;
use crate::dispatch::Dispatch;
use crate::state_machine::MachineError;

/// A handle; clones access the same venue.
#[derive(Clone)]
pub struct InProcess {
    shell: Arc<Dispatch>,
}

impl InProcess {
    pub(crate) fn new(shell: Arc<Dispatch>) -> Self {
        Self { shell }
    }

    pub(crate) fn shell(&self) -> Arc<Dispatch> {
        Arc::clone(&self.shell)
    }

    /// The venue's time.
    pub fn now(&self) -> VenueTime {
        self.shell.clock.now()
    }

    /// Executes a request as if it had come from a caller over HTTP.
    pub fn execute(&self, caller: &Caller, request: &Request) -> Result<Response, MachineError> {
        let answer = self.shell.machine.handle(caller, request);
        self.shell.machine.settled_blocking()?;
        answer
    }

    /// Executes an operator input.
    pub fn operate(&self, input: Operator) -> Result<Option<AccountId>, MachineError> {
        match self.execute(&Caller::Operator, &Request::Operator(input))? {
            Response::Done(account) => Ok(account),
            _ => Ok(None),
        }
    }

    /// Opens an account with the next free number.
    pub fn create_account(
        &self,
        owner: Address,
        public_key: PublicKey,
        api_key: Option<&str>,
    ) -> Result<AccountId, MachineError> {
        let made = self.operate(Operator::CreateAccount {
            id: None,
            owner,
            public_key,
            api_key: api_key.map(api_key_digest),
            internal: false,
        })?;
        let account = made.ok_or(MachineError::Broken)?;
        if let Some(key) = api_key {
            self.learn_api_key(account, key)?;
        }
        Ok(account)
    }

    /// Supplies the text of an account's API key, of which the venue keeps only the digest, so that GET apiKey can
    /// return it. No effect if it is not the account's key.
    pub fn learn_api_key(&self, account: AccountId, key: &str) -> Result<(), MachineError> {
        let digest = api_key_digest(key);
        let holder = self.read(|venue| venue.account_of_api_key(&digest))?;
        if holder == Some(account) {
            self.shell.known_keys.learn(account, digest, key);
        }
        Ok(())
    }

    /// Books a deposit.
    pub fn deposit(
        &self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), MachineError> {
        self.operate(Operator::Deposit {
            account,
            token,
            amount,
        })
        .map(|_| ())
    }

    /// The account's balance of a token; zero if there is no such account.
    pub fn balance(&self, account: AccountId, token: TokenId) -> Result<Balance, MachineError> {
        self.read(|venue| {
            venue
                .account(account)
                .map(|account| account.balance(token))
                .unwrap_or_default()
        })
    }

    /// Reads the venue's state; requests wait meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&Venue) -> T) -> Result<T, MachineError> {
        let seen = self.shell.machine.read(look)?;
        self.shell.machine.settled_blocking()?;
        Ok(seen)
    }

    /// Batches and bytes written since the start; zero without a data folder.
    pub fn log_written(&self) -> (u64, u64) {
        self.shell.machine.log_written()
    }

    /// Advances the venue to the current time: expiries and simulated traders.
    pub fn tick(&self) -> Result<(), MachineError> {
        self.shell.machine.tick()
    }

    /// Audits the books: conservation of every token and all other invariants.
    pub fn audit(&self) -> Result<(), MachineError> {
        self.shell.machine.audit()
    }

    /// Number of failed audits so far, after requests or on demand.
    pub fn audit_failures(&self) -> u64 {
        self.shell.machine.audit_failures()
    }
}
