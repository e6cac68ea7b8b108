//! Everything that can be asked of the machine, as data. Signatures were checked before; where the
//! machine must know that, the caller says with which key.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, OrderStatus, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKey, KeyEpoch, PublicKey};

/// Who asks, as far as it is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caller {
    /// Nobody in particular.
    Public,
    /// The holder of an account's API key.
    Account {
        /// The key's account.
        account: AccountId,
        /// The signing key with which this request's signature was verified, if it was.
        signed: Option<KeyEpoch>,
    },
    /// A background trader of the venue itself.
    Internal {
        /// Its account.
        account: AccountId,
    },
    /// The operator of the venue.
    Operator,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Submit an order.
    Submit(Box<NewOrder>),
    /// Cancel an order by hash, client order id or both.
    Cancel {
        /// Whose order.
        account: AccountId,
        /// Its hash.
        hash: Option<Hash>,
        /// Its client order id.
        client_id: Option<String>,
    },
    /// One order.
    Order {
        /// Whose order.
        account: AccountId,
        /// Its hash.
        hash: Hash,
    },
    /// A page of the orders list.
    Orders(OrdersQuery),
    /// Depth of a market.
    Depth {
        /// Market name.
        market: String,
        /// Aggregation level, 0 is full precision.
        level: u64,
        /// Most levels per side.
        limit: Option<u64>,
    },
    /// Balances of an account.
    Balances {
        /// Whose.
        account: AccountId,
        /// Only these tokens, zero ones included; every non-zero balance when absent.
        tokens: Option<Vec<TokenId>>,
    },
    /// Account data.
    Account(AccountQuery),
    /// The API key of an account; outside the interface.
    ApiKey {
        /// Whose.
        account: AccountId,
        /// The key it gets if it has none yet.
        fresh: ApiKey,
    },
    /// Replace the API key.
    RotateApiKey {
        /// Whose.
        account: AccountId,
        /// The new key.
        fresh: ApiKey,
    },
    /// The next storage ids of a sell token; outside the interface.
    NextStorageId {
        /// Whose.
        account: AccountId,
        /// Which token.
        sell_token: TokenId,
    },
    /// Exchange configuration.
    ExchangeInfo,
    /// Token configuration.
    Tokens,
    /// Market configuration.
    Markets,
    /// An operator's wish.
    Operator(Operator),
}

/// An order as it arrives, with the hash that its shell computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOrder {
    /// Its hash.
    pub hash: Hash,
    /// The exchange it names.
    pub exchange: Address,
    /// Whose order.
    pub account: AccountId,
    /// Storage id as given; beyond 32 bits is refused here.
    pub storage_id: u64,
    /// Token given.
    pub sell_token: TokenId,
    /// Most of it.
    pub sell_amount: Amount,
    /// Token wanted.
    pub buy_token: TokenId,
    /// Least of it, before the fee.
    pub buy_amount: Amount,
    /// Which amount ends the order.
    pub fill_by: FillBy,
    /// Must be false.
    pub all_or_none: bool,
    /// Expiry in seconds as given; beyond 32 bits is refused here.
    pub valid_until_s: u64,
    /// Highest fee accepted.
    pub max_fee_bips: u64,
    /// Must be zero.
    pub taker: Address,
    /// How it may meet the book.
    pub kind: OrderKind,
    /// The client's id for it; empty means absent.
    pub client_id: Option<String>,
}

/// Whose account data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountQuery {
    /// By owner address.
    Owner(Address),
    /// By number.
    Id(AccountId),
}

/// Filters and bounds of the orders list. Empty filters let everything through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersQuery {
    /// Whose orders.
    pub account: AccountId,
    /// Market name.
    pub market: Option<String>,
    /// Created at or after; 0 for no bound.
    pub start: VenueTime,
    /// Created at or before; 0 for no bound.
    pub end: VenueTime,
    /// Sides.
    pub sides: Vec<Side>,
    /// States.
    pub statuses: Vec<OrderStatus>,
    /// Kinds; `None` when the filter named only kinds that rest in no book.
    pub kinds: Option<Vec<OrderKind>>,
    /// Entries wanted.
    pub limit: Option<u64>,
    /// Entries skipped.
    pub offset: u64,
}

impl OrdersQuery {
    /// Every order of an account, first page.
    pub const fn all(account: AccountId) -> Self {
        Self {
            account,
            market: None,
            start: VenueTime(0),
            end: VenueTime(0),
            sides: Vec::new(),
            statuses: Vec::new(),
            kinds: Some(Vec::new()),
            limit: None,
            offset: 0,
        }
    }
}

/// What only the operator may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// Open an account.
    CreateAccount {
        /// Its number; the next free one when absent.
        id: Option<AccountId>,
        /// Its owner; one account per owner.
        owner: Address,
        /// Its signing key.
        public_key: PublicKey,
        /// Its API key.
        api_key: Option<ApiKey>,
        /// A background trader: short history.
        internal: bool,
    },
    /// Book a deposit.
    Deposit {
        /// To whom.
        account: AccountId,
        /// What.
        token: TokenId,
        /// How much.
        amount: Amount,
    },
    /// Book a withdrawal of free funds.
    Withdraw {
        /// From whom.
        account: AccountId,
        /// What.
        token: TokenId,
        /// How much.
        amount: Amount,
    },
    /// Freeze or thaw an account.
    Freeze {
        /// Which.
        account: AccountId,
        /// Frozen from now on?
        frozen: bool,
    },
    /// Open or close a market for new orders.
    EnableMarket {
        /// Market name.
        market: String,
        /// Open from now on?
        enabled: bool,
    },
    /// Open or close a token for new orders.
    EnableToken {
        /// Which.
        token: TokenId,
        /// Open from now on?
        enabled: bool,
    },
    /// Change the fees of a market; orders never pay more than they signed.
    SetFees {
        /// Market name.
        market: String,
        /// Fee of the resting side in ten-thousandths.
        maker_fee_bips: u8,
        /// Fee of the incoming side in ten-thousandths.
        taker_fee_bips: u8,
    },
}
