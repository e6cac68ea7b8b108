//! The state machine: its state, the entry for requests, and time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cambist_core::sorted_map::SortedMap;
use cambist_core::sorted_set::SortedSet;
use cambist_core::{Amount, Hash, MarketId, Price, Reason, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{Account, AccountId, Address, ApiKeyDigest, KeyEpoch};
use crate::band::Reference;
use crate::book::Book;
use crate::config::{ConfigError, MarketConfig, TokenConfig, VenueConfig};
use crate::fault::Fault;
use crate::kraken::Kraken;
use crate::mode::ExchangeMode;
use crate::offchain::Submission;
use crate::operator::LogEntry;
use crate::orders::{OrderKey, Orders};
use crate::pool::Pool;
use crate::random::Random;
use crate::request::{Caller, Request};
use crate::response::{Executed, Refusal, Response};
use crate::scale::Scale;
use crate::schedule::Due;

/// A listed market and its book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Market {
    pub config: MarketConfig,
    pub scale: Scale,
    pub book: Book,
    /// A delisted market is kept for its history.
    pub listed: bool,
    /// The reference of its price band; `None` before the first update and without a band.
    pub reference: Option<Reference>,
}

impl Market {
    /// Whether the market accepts orders.
    pub const fn takes_orders(&self) -> bool {
        self.listed && self.config.enabled
    }
}

/// Sums of deposits and withdrawals of one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Supply {
    pub deposited: Amount,
    pub withdrawn: Amount,
}

/// The exchange as a value: equal inputs give equal states and answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Venue {
    pub(crate) config: VenueConfig,
    pub(crate) now: VenueTime,
    pub(crate) tokens: SortedMap<TokenId, TokenConfig>,
    pub(crate) markets: Vec<Market>,
    pub(crate) accounts: BTreeMap<AccountId, Account>,
    pub(crate) owners: BTreeMap<Address, AccountId>,
    pub(crate) api_keys: BTreeMap<ApiKeyDigest, AccountId>,
    pub(crate) orders: Orders,
    pub(crate) by_hash: BTreeMap<Hash, OrderKey>,
    /// Open orders by expiry.
    pub(crate) expiries: BTreeSet<(u32, OrderKey)>,
    /// Number of the next order.
    pub(crate) sequence: u64,
    pub(crate) supply: SortedMap<TokenId, Supply>,
    /// Hashes approved on the chain, by account.
    pub(crate) approved: BTreeSet<(AccountId, Hash)>,
    pub(crate) pools: Vec<Pool>,
    /// Tokens that were listed before; balances stay.
    pub(crate) delisted: SortedSet<TokenId>,
    /// Submissions by number; numbers are shared with orders.
    pub(crate) submissions: BTreeMap<u64, Submission>,
    pub(crate) submission_hashes: BTreeMap<Hash, u64>,
    /// Timers, by time and number.
    pub(crate) due: BTreeMap<(VenueTime, u64), Due>,
    pub(crate) mode: ExchangeMode,
    /// Generator of late failures.
    pub(crate) draw: Random,
    pub(crate) faults: Vec<Fault>,
    pub(crate) log: VecDeque<LogEntry>,
    /// Number of the next entry of the log.
    pub(crate) logged: u64,
    /// What Kraken's interface adds.
    pub(crate) kraken: Kraken,
    /// Orders that [`Venue::reprice`] moved, which histories do not contain: they may have traded at several prices.
    #[serde(skip)]
    pub(crate) repriced: BTreeSet<Hash>,
    /// Trades since the last call of `take_executed`, if they are recorded. Not part of the state.
    #[serde(skip)]
    pub(crate) executed: Option<Vec<Executed>>,
}

impl Venue {
    /// An empty exchange with open markets and its fee account.
    pub fn new(config: VenueConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let tokens: SortedMap<_, _> = config
            .tokens
            .iter()
            .map(|token| (token.spec.id, token.clone()))
            .collect();
        let decimals = |id| tokens.get(&id).map_or(0, |token| token.spec.decimals);
        let markets = config
            .markets
            .iter()
            .filter_map(|market| {
                let scale = Scale::new(
                    decimals(market.base),
                    decimals(market.quote),
                    market.price_decimals,
                )?;
                Some(Market {
                    config: market.clone(),
                    scale,
                    book: Book::default(),
                    listed: true,
                    reference: None,
                })
            })
            .collect();
        let mut collector = Account::new(config.fee_collector, config.fee_collector_owner);
        collector.internal = true;
        Ok(Self {
            now: VenueTime(0),
            tokens,
            markets,
            owners: BTreeMap::from([(collector.owner, collector.id)]),
            accounts: BTreeMap::from([(collector.id, collector)]),
            api_keys: BTreeMap::new(),
            orders: Orders::default(),
            by_hash: BTreeMap::new(),
            expiries: BTreeSet::new(),
            sequence: 0,
            supply: SortedMap::new(),
            approved: BTreeSet::new(),
            pools: config.pools.iter().cloned().map(Pool::new).collect(),
            delisted: SortedSet::new(),
            submissions: BTreeMap::new(),
            submission_hashes: BTreeMap::new(),
            due: BTreeMap::new(),
            mode: ExchangeMode::Open,
            draw: Random::new(config.delays.seed),
            faults: Vec::new(),
            log: VecDeque::new(),
            logged: 0,
            kraken: Kraken::default(),
            repriced: BTreeSet::new(),
            executed: None,
            config,
        })
    }

    /// Answers one request. If `now` is before the latest time, the latest time is used.
    pub fn handle(
        &mut self,
        now: VenueTime,
        caller: &Caller,
        request: &Request,
    ) -> Result<Response, Refusal> {
        self.advance(now);
        self.check_faults(caller, request.kind())?;
        match request {
            Request::Submit(order) => self.submit(caller, order).map(Response::Submitted),
            Request::Cancel {
                account,
                hash,
                client_id,
            } => self
                .cancel(caller, *account, *hash, client_id.as_deref())
                .map(Response::Cancelled),
            Request::Order { account, hash } => self
                .order_of(caller, *account, *hash)
                .map(|order| Response::Order(Box::new(order))),
            Request::Orders(query) => self.list_orders(caller, query).map(Response::Orders),
            Request::Depth {
                market,
                level,
                limit,
            } => self.depth(market, *level, *limit).map(Response::Depth),
            Request::Balances { account, tokens } => self
                .list_balances(caller, *account, tokens.as_deref())
                .map(Response::Balances),
            Request::Account(query) => self.find_account(*query).map(Response::Account),
            Request::ApiKey { account, fresh } => {
                self.api_key(caller, *account, fresh).map(Response::ApiKey)
            }
            Request::RotateApiKey { account, fresh } => self
                .rotate_api_key(caller, *account, fresh)
                .map(Response::ApiKey),
            Request::NextStorageId {
                account,
                sell_token,
            } => self.next_storage_id(caller, *account, *sell_token),
            Request::ExchangeInfo => Ok(Response::Exchange(self.exchange_info())),
            Request::Tokens => Ok(Response::Tokens(
                self.tokens
                    .values()
                    .filter(|token| self.is_listed_token(token.spec.id))
                    .cloned()
                    .collect(),
            )),
            Request::Markets => Ok(Response::Markets(
                self.markets
                    .iter()
                    .filter(|market| market.listed)
                    .map(|market| market.config.clone())
                    .collect(),
            )),
            Request::Operator(input) => self.operate(caller, input).map(Response::Done),
            Request::Transfer(transfer) => {
                self.transfer(caller, transfer).map(Response::Submission)
            }
            Request::Withdraw(withdrawal) => {
                self.withdraw(caller, withdrawal).map(Response::Submission)
            }
            Request::UpdateKey(key) => self.update_key(caller, key).map(Response::Submission),
            Request::Pools => Ok(Response::Pools(self.shown_pools())),
            Request::PoolBalance { pool } => self.pool_balance(pool).map(Response::PoolBalance),
            Request::Join(join) => self.join(caller, join).map(Response::Submission),
            Request::Exit(exit) => self.exit(caller, exit).map(Response::Submission),
            Request::PoolTransactions(query) => self
                .list_pool_transactions(caller, query)
                .map(Response::PoolTransactions),
            Request::Submission { account, hash } => self
                .submission_of(caller, *account, hash)
                .map(Response::Submission),
            Request::Log { limit, offset } => {
                self.read_log(caller, *limit, *offset).map(Response::Log)
            }
            Request::Kraken(call) => {
                self.check_owner(caller, call.account)?;
                Ok(Response::Kraken(Box::new(self.kraken(call))))
            }
        }
    }

    /// The checks that need no signature: account and fields. `handle` repeats them.
    pub fn precheck(&self, caller: &Caller, request: &Request) -> Result<(), Refusal> {
        match request {
            Request::Submit(order) => {
                self.check_submitter(caller, order.account)?;
                self.place(order).map(|_| ())
            }
            Request::Cancel {
                account,
                hash,
                client_id,
            } => {
                self.check_owner(caller, *account)?;
                self.check_cancel_fields(*hash, client_id.as_deref())
            }
            Request::Order { account, .. }
            | Request::Balances { account, .. }
            | Request::ApiKey { account, .. }
            | Request::RotateApiKey { account, .. }
            | Request::Submission { account, .. }
            | Request::NextStorageId { account, .. } => self.check_owner(caller, *account),
            Request::Orders(query) => self.check_owner(caller, query.account),
            Request::PoolTransactions(query) => self.check_owner(caller, query.account),
            Request::Transfer(transfer) => self.read_transfer(caller, transfer).map(drop),
            Request::Withdraw(withdrawal) => self.read_withdrawal(caller, withdrawal).map(drop),
            Request::UpdateKey(key) => self.read_key(caller, key).map(drop),
            Request::Join(join) => self.read_join(caller, join).map(drop),
            Request::Exit(exit) => self.read_exit(caller, exit).map(drop),
            Request::Depth { .. }
            | Request::Account(_)
            | Request::ExchangeInfo
            | Request::Tokens
            | Request::Markets
            | Request::Pools
            | Request::PoolBalance { .. }
            | Request::Operator(_)
            | Request::Log { .. } => Ok(()),
            Request::Kraken(call) => self.check_owner(caller, call.account),
        }
    }

    /// Records every trade from now on for [`Venue::take_executed`].
    pub fn write_executed(&mut self) {
        self.executed.get_or_insert_default();
    }

    /// All trades of all markets since the last call, in order.
    pub fn take_executed(&mut self) -> Vec<Executed> {
        self.executed
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The latest time.
    pub const fn now(&self) -> VenueTime {
        self.now
    }

    /// The current configuration.
    pub const fn config(&self) -> &VenueConfig {
        &self.config
    }

    /// The account whose API key has this digest.
    pub fn account_of_api_key(&self, key: &ApiKeyDigest) -> Option<AccountId> {
        self.api_keys.get(key).copied()
    }

    /// Whether an account has an API key.
    pub fn has_api_key(&self, id: AccountId) -> bool {
        let account = self.accounts.get(&id);
        account.is_some_and(|account| account.api_key.is_some())
    }

    /// An account.
    pub fn account(&self, id: AccountId) -> Option<&Account> {
        self.accounts.get(&id)
    }

    /// The account of an owner address.
    pub fn account_of_owner(&self, owner: &Address) -> Option<&Account> {
        self.accounts.get(self.owners.get(owner)?)
    }

    /// Number of a market by its name.
    pub fn market_id(&self, name: &str) -> Option<MarketId> {
        let index = self
            .markets
            .iter()
            .position(|market| market.config.name == name)?;
        u16::try_from(index).ok().map(MarketId)
    }

    /// A listed market.
    pub fn market(&self, id: MarketId) -> Option<&MarketConfig> {
        self.markets
            .get(usize::from(id.0))
            .map(|market| &market.config)
    }

    /// A listed token.
    pub fn token(&self, id: TokenId) -> Option<&TokenConfig> {
        self.tokens.get(&id)
    }

    /// A pool by its address, listed or not.
    pub fn pool(&self, address: &Address) -> Option<&crate::pool::PoolConfig> {
        self.pools
            .iter()
            .map(|pool| &pool.config)
            .find(|pool| pool.address == *address)
    }

    /// All listed tokens.
    pub fn listed_tokens(&self) -> impl Iterator<Item = &TokenConfig> {
        let tokens = self.tokens.values();
        tokens.filter(|token| self.is_listed_token(token.spec.id))
    }

    /// All listed markets.
    pub fn listed_markets(&self) -> impl Iterator<Item = (MarketId, &MarketConfig)> {
        let markets = self.markets.iter().enumerate();
        let listed = markets.filter(|(_, market)| market.listed);
        listed.filter_map(|(index, market)| {
            let id = u16::try_from(index).ok().map(MarketId)?;
            Some((id, &market.config))
        })
    }

    /// The best price of a side and the base units offered there.
    pub fn best_level(&self, market: MarketId, side: Side) -> Option<(Price, Amount)> {
        self.best_levels(market, side, 1).first().copied()
    }

    /// The best price of a side.
    pub fn best(&self, market: MarketId, side: Side) -> Option<Price> {
        self.markets.get(usize::from(market.0))?.book.best(side)
    }

    /// The best levels of a side and the base units offered at each.
    pub(crate) fn best_levels(
        &self,
        market: MarketId,
        side: Side,
        most: usize,
    ) -> Vec<(Price, Amount)> {
        let Some(market) = self.markets.get(usize::from(market.0)) else {
            return Vec::new();
        };
        let levels = market.book.levels(side).take(most);
        levels.map(|(price, level)| (price, level.size)).collect()
    }

    /// A market's conversion between ticks and amounts.
    pub fn scale(&self, market: MarketId) -> Option<&Scale> {
        self.markets
            .get(usize::from(market.0))
            .map(|market| &market.scale)
    }

    /// Number of open orders in all markets.
    pub fn open_orders(&self) -> usize {
        self.expiries.len()
    }

    /// Whether an order is open.
    pub fn is_open(&self, hash: &Hash) -> bool {
        self.by_hash
            .get(hash)
            .is_some_and(|key| self.orders.get(*key).is_open())
    }

    /// Base, quote and fee that an order has traded, while the venue still has it.
    pub fn filled(&self, hash: &Hash) -> Option<(Amount, Amount, Amount)> {
        let order = self.orders.get(*self.by_hash.get(hash)?);
        Some((order.base_filled, order.quote_filled, order.fee))
    }

    /// The next storage id for an order of `account` that sells `token`.
    pub fn next_order_storage_id(&self, account: AccountId, token: TokenId) -> Option<u32> {
        self.next_storage_id_of(account, token, 0)
    }

    /// The next storage id of a parity: 0 for orders, 1 for everything else.
    pub(crate) fn next_storage_id_of(
        &self,
        account: AccountId,
        token: TokenId,
        parity: u32,
    ) -> Option<u32> {
        let table = self.accounts.get(&account)?.slots.get(&token);
        table.map_or(Some(parity), |table| table.next(parity))
    }

    /// Whether the caller may act for `account`.
    pub(crate) fn check_owner(&self, caller: &Caller, account: AccountId) -> Result<(), Refusal> {
        let own = match caller {
            Caller::Public => return Err(Refusal::new(Reason::EmptyApiKey, "no API key was sent")),
            Caller::Account { account: own, .. } | Caller::Internal { account: own } => *own,
            Caller::Operator => account,
        };
        if own == account && self.accounts.contains_key(&account) {
            Ok(())
        } else {
            Err(Refusal::new(
                Reason::InvalidAccount,
                format!("the API key is not that of account {}", account.0),
            ))
        }
    }

    /// Checks that the caller's signature was verified with the account's current key. `missing` is the code if there
    /// is no signature.
    pub(crate) fn check_signature(
        &self,
        caller: &Caller,
        account: AccountId,
        missing: Option<Reason>,
    ) -> Result<(), Refusal> {
        let signed: Option<KeyEpoch> = match caller {
            Caller::Public => None,
            Caller::Account { signed, .. } => *signed,
            Caller::Internal { .. } | Caller::Operator => return Ok(()),
        };
        let present = self.accounts.get(&account).map(|account| account.key_epoch);
        match (signed, missing) {
            (Some(epoch), _) if Some(epoch) == present => Ok(()),
            (Some(_), _) => Err(Refusal::new(
                Reason::WrongSignature,
                "signed with a key that was replaced",
            )),
            (None, Some(reason)) => Err(Refusal::new(reason, "a signature is required")),
            (None, None) => Ok(()),
        }
    }
}
