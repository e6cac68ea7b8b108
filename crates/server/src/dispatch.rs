//! Dispatches a request: authentication, rate limits, endpoint.
//!
//! The order of checks is the same for all endpoints: address, key, rate, account, fields, signature, business rules.
//! The last are the venue's.

use std::net::IpAddr;

use cambist_core::Reason;
use cambist_listener::Peer;
use cambist_protocol::Endpoint;
use cambist_protocol::endpoint::KeyRule;
use cambist_venue::{AccountId, Caller, Compat, Request, Response};

use crate::api_keys::{KnownKeys, api_key_digest};
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::durable::{FreeSpace, Log};
use crate::error_response::ErrorResponse;
use crate::key_requests::KeyRequests;
use crate::keys::PreparedKeys;
use crate::limits::{Limiter, Use};
use crate::market_data::{MarketData, Streams};
use crate::state::State;
use crate::state_machine::{Machine, MachineError};
use crate::{accounts, funds, orders, pools, public};

/// One request as received.
pub(crate) struct Call {
    pub endpoint: Endpoint,
    pub peer: Peer,
    /// `None` for an empty header.
    pub api_key: Option<String>,
    pub signature: Option<String>,
    pub host: Option<String>,
    pub query: String,
    pub body: Vec<u8>,
}

/// Body of a success.
pub(crate) type Answer = Result<Vec<u8>, ErrorResponse>;

/// Shared state of all endpoints.
pub(crate) struct Dispatch {
    pub machine: Machine,
    pub keys: PreparedKeys,
    pub limiter: Limiter,
    pub clock: Clock,
    /// Of the data folder, if there is one.
    pub free_space: Option<FreeSpace>,
    pub public_url: Option<String>,
    /// The URLs that request signatures may cover, if a public one is configured.
    pub urls: Vec<String>,
    pub key_requests: KeyRequests,
    pub known_keys: KnownKeys,
    pub require_api_key_signature: bool,
    pub require_wallet_for_funds: bool,
    /// Chain id, which is part of what wallets sign.
    pub chain_id: u64,
    /// Whether the interface's text is applied strictly; otherwise fields that public clients omit may be missing.
    pub strict: bool,
}

impl Dispatch {
    pub fn new(
        config: &ServerConfig,
        state: State,
        log: Option<Log>,
        free_space: Option<FreeSpace>,
    ) -> Self {
        let (chain_id, strict) = {
            let config = state.venue.config();
            (config.chain_id, config.compat == Compat::Strict)
        };
        let bare = |url: &String| url.trim_end_matches('/').to_owned();
        let public_url = config.public_url.as_ref().map(bare);
        let urls = public_url.iter().cloned();
        let urls = urls.chain(config.further_urls.iter().map(bare)).collect();
        let market_data = config.market_data.then(|| {
            let bounds = config.connections;
            let stall_ms = bounds.listener().stall_timeout_ms;
            let streams =
                Streams::new(bounds.streams_max, bounds.streams_per_address_max, stall_ms);
            MarketData::new(config.clock.now().max(state.venue.now()), streams)
        });
        let clock = config.clock.clone();
        let machine = Machine::new(state, log, clock, config.audit_every_request, market_data);
        Self {
            machine,
            keys: PreparedKeys::new(config.prepared_keys_max),
            limiter: Limiter::new(config.rates),
            clock: config.clock.clone(),
            free_space,
            public_url,
            urls,
            key_requests: KeyRequests::new(config.clock.now()),
            known_keys: KnownKeys::default(),
            require_api_key_signature: config.require_api_key_signature,
            require_wallet_for_funds: config.require_wallet_for_funds,
            chain_id,
            strict,
        }
    }

    /// Checks the address' rate limit, before the body is read.
    pub fn check_address_rate(&self, peer: IpAddr) -> Result<(), ErrorResponse> {
        self.limiter
            .take(Use::Address(peer.into()), self.clock.monotonic_ms())
            .map_err(ErrorResponse::from)
    }

    /// Answers a request.
    pub fn answer(&self, call: &Call) -> Answer {
        let holder = self.admit(call)?;
        match call.endpoint {
            Endpoint::SubmitOrder => orders::submit(self, call, holder),
            Endpoint::GetOrder => orders::get(self, call, holder),
            Endpoint::CancelOrder => orders::cancel(self, call, holder),
            Endpoint::ListOrders => orders::list(self, call, holder),
            Endpoint::GetAccount => accounts::account(self, call),
            Endpoint::ReplaceApiKey => accounts::replace_api_key(self, call, holder),
            Endpoint::GetApiKey => accounts::get_api_key(self, call),
            Endpoint::StorageId => accounts::storage_id(self, call, holder),
            Endpoint::Balances => accounts::balances(self, call, holder),
            Endpoint::Depth => public::depth(self, call),
            Endpoint::ExchangeInfo => public::exchange_info(self),
            Endpoint::Tokens => public::tokens(self),
            Endpoint::Markets => public::markets(self),
            Endpoint::Timestamp => Ok(public::timestamp(self)),
            Endpoint::OffchainFee => public::offchain_fee(self, call, holder),
            Endpoint::Transfer => funds::transfer(self, call, holder),
            Endpoint::Withdraw => funds::withdraw(self, call, holder),
            Endpoint::UpdateAccount => funds::update_account(self, call, holder),
            Endpoint::Pools => pools::pools(self),
            Endpoint::PoolBalance => pools::balance(self, call),
            Endpoint::JoinPool => pools::join(self, call, holder),
            Endpoint::ExitPool => pools::exit(self, call, holder),
            Endpoint::PoolTransactions => pools::transactions(self, call, holder),
        }
    }

    /// The account of the API key, if one was sent; an error if one is missing or unknown.
    fn admit(&self, call: &Call) -> Result<Option<AccountId>, ErrorResponse> {
        let rule = call.endpoint.row().key;
        let key = match rule {
            KeyRule::Required | KeyRule::Relaxed => call.api_key.as_deref(),
            // This endpoint returns lost keys: an old key in the header is ignored.
            KeyRule::None => None,
        };
        let holder = match key {
            Some(key) => {
                let digest = api_key_digest(key);
                let holder = self
                    .machine
                    .read(|venue| venue.account_of_api_key(&digest))?;
                if let Some(account) = holder {
                    self.known_keys.learn(account, digest, key);
                }
                holder
            }
            None => None,
        };
        let bucket = match holder {
            Some(account) => Use::Key(account, call.endpoint),
            None => Use::Keyless(call.peer.address().into(), call.endpoint),
        };
        if holder.is_some() {
            // Authenticated connections are evicted last.
            call.peer.mark_authenticated();
        }
        self.limiter.take(bucket, self.clock.monotonic_ms())?;
        match (rule, key) {
            (_, Some(_)) if holder.is_none() => {
                Err(ErrorResponse::new(Reason::InvalidApiKey, "unknown API key"))
            }
            (_, Some(_)) | (KeyRule::None, None) => Ok(holder),
            (KeyRule::Relaxed, None) if !self.strict => Ok(None),
            (KeyRule::Required | KeyRule::Relaxed, None) => Err(ErrorResponse::new(
                Reason::EmptyApiKey,
                "the header X-API-KEY is missing",
            )),
        }
    }

    /// The account as a caller of the venue.
    pub fn caller(holder: Option<AccountId>) -> Caller {
        match holder {
            Some(account) => Caller::Account {
                account,
                signed: None,
            },
            None => Caller::Public,
        }
    }

    /// Checks that the holder of the key may act for `account`.
    pub fn check_owner(
        &self,
        holder: Option<AccountId>,
        account: AccountId,
    ) -> Result<(), ErrorResponse> {
        let asked = Request::Balances {
            account,
            tokens: None,
        };
        self.precheck(&Self::caller(holder), &asked)
    }

    /// Runs the venue's checks of account and fields.
    pub fn precheck(&self, caller: &Caller, request: &Request) -> Result<(), ErrorResponse> {
        let checked = self.machine.read(|venue| venue.precheck(caller, request))?;
        checked.map_err(ErrorResponse::from)
    }

    /// Passes a request to the venue.
    pub fn ask(&self, caller: &Caller, request: &Request) -> Result<Response, ErrorResponse> {
        self.machine
            .handle(caller, request)
            .map_err(ErrorResponse::from)
    }
}

/// The venue's response does not match the request: an internal failure.
pub(crate) fn mismatch(endpoint: Endpoint) -> ErrorResponse {
    let (method, path) = (endpoint.method().name(), endpoint.path());
    tracing::error!(
        method,
        path,
        "internal error: the venue's response does not match the request"
    );
    ErrorResponse::internal()
}

impl From<MachineError> for ErrorResponse {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Refused(refusal) => refusal.into(),
            MachineError::Busy => Self {
                status: 503,
                ..Self::new(Reason::UnknownError, error.to_string())
            },
            MachineError::Broken | MachineError::NotDurable | MachineError::Audit(_) => {
                Self::internal()
            }
        }
    }
}
