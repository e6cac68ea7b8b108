//! What only the operator may ask, as data.

use cambist_core::{Amount, Hash, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKeyDigest, PublicKey};
use crate::band::PriceBand;
use crate::config::{Limits, MarketConfig, TokenConfig};
use crate::fault::Fault;
use crate::mode::{AccountOpening, Delays, ExchangeMode, FeeSchedule};
use crate::pool::{PoolListing, PoolStatus};

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
        /// Digest of its API key.
        api_key: Option<ApiKeyDigest>,
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
    /// Announce a deposit that is not confirmed yet.
    AnnounceDeposit {
        /// To whom.
        account: AccountId,
        /// What.
        token: TokenId,
        /// How much.
        amount: Amount,
    },
    /// Book announced deposits.
    ConfirmDeposit {
        /// To whom.
        account: AccountId,
        /// What.
        token: TokenId,
        /// How much of what was announced.
        amount: Amount,
    },
    /// Settle a pending withdrawal: it has arrived on layer 1.
    SettleWithdrawal {
        /// Its hash.
        hash: Hash,
    },
    /// Settle every pending withdrawal.
    SettleWithdrawals,
    /// Give a pending withdrawal back to its account.
    ReturnWithdrawal {
        /// Its hash.
        hash: Hash,
    },
    /// Register a hash that an owner approved on the chain; it authorises one request.
    ApproveHash {
        /// Whose.
        account: AccountId,
        /// The hash.
        hash: Hash,
    },
    /// List a token, or list a delisted one again with the same decimals.
    ListToken(Box<TokenConfig>),
    /// Delist a token that no market and no pool uses. Balances stay and can be withdrawn.
    DelistToken {
        /// Which.
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
    /// Delist a pool: it leaves the list and takes exits only.
    DelistPool {
        /// Which.
        pool: Address,
    },
    /// Change what may be done with a pool and what it costs.
    SetPool {
        /// Which.
        pool: Address,
        /// What may be done with it.
        status: PoolStatus,
        /// Fee inside the curve in ten-thousandths.
        fee_bips: u16,
        /// Fee of a join.
        join_fee: Amount,
        /// Fee of an exit.
        exit_fee: Amount,
    },
    /// Book a join that came from the chain, all amounts taken in the pool's ratio.
    JoinPool {
        /// Its hash.
        hash: Hash,
        /// Whose.
        account: AccountId,
        /// Which pool.
        pool: Address,
        /// Most of each pooled token.
        amounts: [Amount; 2],
    },
    /// Replace the fees of transfers, withdrawals and key updates.
    SetServiceFees(Box<FeeSchedule>),
    /// Change what a transfer that opens an account must bring.
    SetAccountOpening(Box<AccountOpening>),
    /// Give a market a price band, or take it away.
    SetPriceBand {
        /// Market name.
        market: String,
        /// How far from its reference orders may be willing to trade; anywhere when absent.
        band: Option<PriceBand>,
    },
    /// Replace the limits.
    SetLimits(Box<Limits>),
    /// Change how long things take.
    SetDelays(Delays),
    /// Open, restrict or halt the exchange.
    SetMode(ExchangeMode),
    /// Make something go wrong.
    InjectFault(Fault),
}

/// One entry of the operator's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Number of the entry; never repeats.
    pub number: u64,
    /// When.
    pub at: VenueTime,
    /// What was done; API keys are left out.
    pub wish: Operator,
}
