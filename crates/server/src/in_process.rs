//! The way to the venue from inside the process: for its program, the demo and tests.
//!
//! It goes the same way as requests do: under the lock, audited, durable before it is told, and
//! refused when broken. With a log it blocks the calling thread for a sync.

use std::sync::Arc;

use cambist_core::{Amount, TokenId, VenueTime};
use cambist_venue::{
    AccountId, Address, Balance, Caller, Operator, PublicKey, Request, Response, Venue,
};

use crate::api_keys::api_key_digest;
use crate::dispatch::Dispatch;
use crate::state_machine::MachineError;

/// A handle; copies are for the same venue.
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

    /// Does what only the operator may.
    pub fn operate(&self, wish: Operator) -> Result<Option<AccountId>, MachineError> {
        let request = Request::Operator(wish);
        let answer = self.shell.machine.handle(&Caller::Operator, &request);
        self.shell.machine.settled_blocking()?;
        match answer? {
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

    /// Tells the shell the text of an account's API key, which the venue does not keep, so that it can be
    /// shown to who asks with the signing key. Without effect if it is not the account's.
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

    /// What an account holds of a token; nothing if there is no such account.
    pub fn balance(&self, account: AccountId, token: TokenId) -> Result<Balance, MachineError> {
        self.read(|venue| {
            venue
                .account(account)
                .map(|account| account.balance(token))
                .unwrap_or_default()
        })
    }

    /// Looks at the venue; requests wait meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&Venue) -> T) -> Result<T, MachineError> {
        let seen = self.shell.machine.read(look)?;
        self.shell.machine.settled_blocking()?;
        Ok(seen)
    }

    /// Batches and bytes of inputs that were written since the start; zero in memory.
    pub fn log_written(&self) -> (u64, u64) {
        self.shell.machine.log_written()
    }

    /// Lets the venue's time pass now: expiries and background traders.
    pub fn tick(&self) -> Result<(), MachineError> {
        self.shell.machine.tick()
    }

    /// Checks conservation of every token and everything else that must hold.
    pub fn audit(&self) -> Result<(), MachineError> {
        self.shell.machine.audit()
    }

    /// Audits that failed so far, after requests or on demand.
    pub fn audit_failures(&self) -> u64 {
        self.shell.machine.audit_failures()
    }
}
