//! The operator's requests as data.

use cambist_core::{Amount, Hash, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKeyDigest, PublicKey};
use crate::band::PriceBand;
use crate::config::{Limits, MarketConfig, TokenConfig};
use crate::fault::Fault;
use crate::mode::{AccountOpening, Delays, ExchangeMode, FeeSchedule};
use crate::pool::{PoolListing, PoolStatus};

/// An operator request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// Open an account.
    CreateAccount {
        /// Its number; the next free one if absent.
        id: Option<AccountId>,
        /// Its owner; one account per owner.
        owner: Address,
        /// Its signing key.
        public_key: PublicKey,
        /// Digest of its API key.
        api_key: Option<ApiKeyDigest>,
        /// A simulated trader: shorter history.
        internal: bool,
    },
    /// Book a deposit.
    Deposit {
        /// The account.
        account: AccountId,
        /// The token.
        token: TokenId,
        /// The amount in base units.
        amount: Amount,
    },
    /// Book a withdrawal of free funds.
    Withdraw {
        /// The account.
        account: AccountId,
        /// The token.
        token: TokenId,
        /// The amount in base units.
        amount: Amount,
    },
    /// Freeze or unfreeze an account.
    Freeze {
        /// The account.
        account: AccountId,
        /// Whether it is frozen from now on.
        frozen: bool,
    },
    /// Open or close a market for new orders.
    EnableMarket {
        /// Market name.
        market: String,
        /// Whether it is open from now on.
        enabled: bool,
    },
    /// Open or close a token for new orders.
    EnableToken {
        /// The token.
        token: TokenId,
        /// Whether it is open from now on.
        enabled: bool,
    },
    /// Change the fees of a market; orders never pay more than they signed.
    SetFees {
        /// Market name.
        market: String,
        /// Maker fee in ten-thousandths.
        maker_fee_bips: u8,
        /// Taker fee in ten-thousandths.
        taker_fee_bips: u8,
    },
    /// Announce a deposit that is not confirmed yet.
    AnnounceDeposit {
        /// The account.
        account: AccountId,
        /// The token.
        token: TokenId,
        /// The amount in base units.
        amount: Amount,
    },
    /// Book announced deposits.
    ConfirmDeposit {
        /// The account.
        account: AccountId,
        /// The token.
        token: TokenId,
        /// The amount in base units, at most what was announced.
        amount: Amount,
    },
    /// Settle a pending withdrawal: it has arrived on layer 1.
    SettleWithdrawal {
        /// Its hash.
        hash: Hash,
    },
    /// Settle every pending withdrawal.
    SettleWithdrawals,
    /// Return a pending withdrawal to its account.
    ReturnWithdrawal {
        /// Its hash.
        hash: Hash,
    },
    /// Register a hash that an owner approved on the chain; it authorises one request.
    ApproveHash {
        /// The account.
        account: AccountId,
        /// The hash.
        hash: Hash,
    },
    /// List a token, or list a delisted one again with the same decimals.
    ListToken(Box<TokenConfig>),
    /// Delist a token that no market and no pool uses. Balances stay and can be withdrawn.
    DelistToken {
        /// The token.
        token: TokenId,
    },
    /// List a market, or list a delisted one again with the same tokens and decimals.
    ListMarket(Box<MarketConfig>),
    /// Delist a market that no pool uses: its orders are cancelled.
    DelistMarket {
        /// Market name.
        market: String,
    },
    /// List a pool.
    ListPool(Box<PoolListing>),
    /// Delist a pool: it leaves the list and accepts exits only.
    DelistPool {
        /// Address of the pool.
        pool: Address,
    },
    /// Change what a pool accepts, and its fees.
    SetPool {
        /// Address of the pool.
        pool: Address,
        /// What it accepts.
        status: PoolStatus,
        /// Swap fee in ten-thousandths.
        fee_bips: u16,
        /// Fee of a join.
        join_fee: Amount,
        /// Fee of an exit.
        exit_fee: Amount,
    },
    /// Book a join that was made on the chain; all amounts are taken in the pool's ratio.
    JoinPool {
        /// Its hash.
        hash: Hash,
        /// The account.
        account: AccountId,
        /// Address of the pool.
        pool: Address,
        /// Most of each pooled token.
        amounts: [Amount; 2],
    },
    /// Replace the fees of transfers, withdrawals and key updates.
    SetServiceFees(Box<FeeSchedule>),
    /// Change the minimum of transfers that open an account.
    SetAccountOpening(Box<AccountOpening>),
    /// Set or remove a market's price band.
    SetPriceBand {
        /// Market name.
        market: String,
        /// The band; `None` removes it.
        band: Option<PriceBand>,
        /// Whether its reference counts as updated now, so that it stays for a window.
        holds: bool,
    },
    /// Replace the limits.
    SetLimits(Box<Limits>),
    /// Change the delays.
    SetDelays(Delays),
    /// Open, restrict or halt the exchange.
    SetMode(ExchangeMode),
    /// Inject a fault.
    InjectFault(Fault),
    /// Book a deposit, unless one with this number or a higher one was booked for the account: it can be repeated after
    /// an answer was lost.
    DepositOnce {
        /// The account.
        account: AccountId,
        /// The token.
        token: TokenId,
        /// The amount in base units.
        amount: Amount,
        /// Above 0; the account's rise.
        number: u64,
    },
}

/// One entry of the operator's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Number of the entry, never reused.
    pub number: u64,
    /// The venue's time.
    pub at: VenueTime,
    /// The executed request, without API keys.
    #[serde(rename = "wish")]
    pub request: Operator,
}
