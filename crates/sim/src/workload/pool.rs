//! Pools in a world: requests to the venue about them, and outcomes for the engine.

use cambist_core::config::PoolConfig as Limits;
use cambist_core::pool::{
    PoolBalances, PoolListed, PoolSpec, PoolTransactionAmounts, PoolTransactionKind,
    PoolTransactionReport, PoolTransactionStatus, UnsignedPoolTransaction,
};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, Hash, MarketId, MarketSpec, OrderStatus, TokenId, TokenSpec};
use cambist_venue::{
    AccountId, KeyEpoch, NewExit, NewJoin, PoolConfig, PoolStatus, PoolTransactionView,
    PoolTransactionsQuery, PoolTxKind, PoolTxStatus, Proof, Refusal, Request, Response,
    SubmissionStatus, TokenAmount, TokenConfig, TokenKind, Venue,
};

use crate::config::{SeatConfig, WorldConfig};
use crate::exchange::OWN_OWNER;
use crate::workload::swapper::SWAPPER;

/// The pools of the venue beside the world's markets.
pub(crate) fn specs(markets: &[MarketSpec], venue: &Venue) -> Vec<PoolSpec> {
    let pools = venue.config().pools.iter();
    let spec = |pool: &PoolConfig| {
        let [base, quote] = pool.pooled;
        let mut markets = markets.iter();
        let market = markets.find(|m| m.base.id == base && m.quote.id == quote)?;
        Some(PoolSpec {
            market: market.id,
            name: pool.name.clone(),
            address: pool.address,
            pooled: pool.pooled,
            lp: venue.token(pool.lp)?.spec.clone(),
            joins: pool.status.has(PoolStatus::JOIN),
            exits: pool.status.has(PoolStatus::EXIT),
            swaps: pool.status.has(PoolStatus::SWAP),
            fee_bips: pool.fee_bips,
            in_range: false,
        })
    };
    pools.filter_map(spec).collect()
}

/// The venue's request for a query about pools.
pub(crate) fn request(account: AccountId, pools: &[PoolSpec], query: &Query) -> Option<Request> {
    Some(match query {
        Query::Pools => Request::Pools,
        Query::PoolBalance(market) => Request::PoolBalance {
            pool: pools.iter().find(|pool| pool.market == *market)?.address,
        },
        Query::PoolTransactions(page) => Request::PoolTransactions(PoolTransactionsQuery {
            start: page.from,
            end: page.to,
            limit: Some(u64::from(page.limit)),
            offset: u64::from(page.offset),
            ..PoolTransactionsQuery::all(account)
        }),
        _ => return None,
    })
}

/// The venue's request for a sealed join or exit.
pub(crate) fn submit(
    pools: &[PoolSpec],
    wanted: &UnsignedPoolTransaction,
    hash: Hash,
) -> Option<Request> {
    let pool = pools.iter().find(|pool| pool.market == wanted.market)?;
    let parts = wanted.pooled.into_iter().zip(wanted.amounts);
    let parts: Vec<_> = parts
        .map(|(token, amount)| TokenAmount::new(token, amount))
        .collect();
    let mut ids = wanted.storage_ids.iter().map(|id| u64::from(*id));
    let proof = Proof {
        eddsa: Some(KeyEpoch(0)),
        ..Proof::default()
    };
    let valid_until_s = u64::from(wanted.valid_until_s);
    Some(match wanted.kind {
        PoolTransactionKind::Join => Request::Join(Box::new(NewJoin {
            hash,
            owner: OWN_OWNER,
            pool: pool.address,
            joined: parts,
            minimum_lp: wanted.lp_amount,
            max_fee: (wanted.fee_max > 0).then_some(wanted.fee_max),
            storage_ids: ids.collect(),
            valid_until_s,
            proof,
        })),
        PoolTransactionKind::Exit => Request::Exit(Box::new(NewExit {
            hash,
            owner: OWN_OWNER,
            pool: pool.address,
            minimums: parts,
            burned: wanted.lp_amount,
            storage_id: ids.next()?,
            max_fee: wanted.fee_max,
            valid_until_s,
            proof,
        })),
    })
}

/// The engine's outcome of an answer about pools; `None` for other answers.
pub(crate) fn outcome(pools: &[PoolSpec], answer: &Result<Response, Refusal>) -> Option<Outcome> {
    let reply = match answer.as_ref().ok()? {
        Response::Submission(taken) => Reply::Submitted {
            hash: taken.hash,
            status: match taken.status {
                SubmissionStatus::Received | SubmissionStatus::Processing => {
                    OrderStatus::Processing
                }
                SubmissionStatus::Processed => OrderStatus::Processed,
                SubmissionStatus::Failed => OrderStatus::Failed,
            },
            idempotent: taken.idempotent,
        },
        Response::Pools(listed) => Reply::Pools(
            pools
                .iter()
                .filter_map(|spec| {
                    let found = listed.iter().find(|pool| pool.address == spec.address)?;
                    Some(PoolListed {
                        market: spec.market,
                        joins: found.status.has(PoolStatus::JOIN),
                        exits: found.status.has(PoolStatus::EXIT),
                        swaps: found.status.has(PoolStatus::SWAP),
                        fee_bips: found.fee_bips,
                    })
                })
                .collect(),
        ),
        Response::PoolBalance(view) => Reply::PoolBalance(PoolBalances::constant_product(
            [view.pooled[0].amount, view.pooled[1].amount],
            view.lp.amount,
        )),
        Response::PoolTransactions(page) => Reply::PoolTransactions {
            moves: page.transactions.iter().map(report).collect(),
            total: u32::try_from(page.total).ok()?,
        },
        _ => return None,
    };
    Some(Outcome::Reply(reply))
}

fn report(view: &PoolTransactionView) -> PoolTransactionReport {
    PoolTransactionReport {
        hash: view.hash,
        kind: match view.kind {
            PoolTxKind::Join => PoolTransactionKind::Join,
            PoolTxKind::Exit => PoolTransactionKind::Exit,
        },
        status: match view.status {
            PoolTxStatus::Processing => PoolTransactionStatus::Processing,
            PoolTxStatus::Processed => PoolTransactionStatus::Processed,
            PoolTxStatus::Cancelled => PoolTransactionStatus::Cancelled,
        },
        amounts: PoolTransactionAmounts {
            pooled: [view.pooled[0].actual, view.pooled[1].actual],
            lp: view.lp.actual,
            fee: view.pooled[1].fee,
        },
        created: view.created,
    }
}

/// A digest of a join or an exit, sufficient to distinguish them.
pub(crate) fn hash(wanted: &UnsignedPoolTransaction) -> Hash {
    let mut hash = [0xa5; 32];
    hash[..4].copy_from_slice(&wanted.client_id.instance.to_be_bytes());
    hash[4..12].copy_from_slice(&wanted.client_id.number.to_be_bytes());
    hash[12..28].copy_from_slice(&wanted.lp_amount.to_be_bytes());
    Hash(hash)
}

/// First number of the accounts that hold the opening shares.
pub(crate) const FIRST_FOUNDER: u32 = 900;

/// Opening balances of every pool: a hundred base, and quote at the profile's price.
pub(crate) const LIQUIDITY: [Amount; 2] = [100 * 10u128.pow(18), 250_000 * 10u128.pow(6)];

/// Address of the pool that [`WorldConfig::with_pool`] lists.
pub(crate) const POOL: [u8; 20] = [41; 20];

/// LP token of the pool that [`WorldConfig::with_pool`] lists.
const LP: TokenId = TokenId(40);

impl WorldConfig {
    /// The same world with a pool beside its first market and an LP manager; unchanged if there is one already.
    #[must_use]
    pub fn with_pool(mut self) -> Self {
        if !self.engine.pools.is_empty() {
            return self;
        }
        let listed = self.venue.markets.iter();
        let first = listed
            .clone()
            .find(|listed| Some(&listed.name) == self.markets.first());
        let Some(market) = first.cloned() else {
            return self;
        };
        self.venue.tokens.push(TokenConfig {
            spec: TokenSpec {
                id: LP,
                symbol: format!("LP-{}", market.name),
                decimals: 8,
                precision: 8,
                minimum: 1,
                maximum: AMOUNT_MAX,
                dust: 0,
                enabled: true,
            },
            name: String::new(),
            address: [40; 20],
            kind: TokenKind::Erc20,
            fast_withdraw_limit: 0,
        });
        self.venue.pools.push(PoolConfig {
            name: format!("AMM-{}", market.name),
            address: POOL,
            pooled: [market.base, market.quote],
            lp: LP,
            fee_bips: 20,
            price_precision: 6,
            amount_precision: 6,
            status: PoolStatus::OPEN,
            join_fee: 0,
            exit_fee: 0,
        });
        self.liquidity.push(Some(LIQUIDITY));
        self.engine.pools.push(Limits {
            poll_ms: 2_000,
            age_max_ms: 10_000,
            slippage_bps: 50,
            divergence_max_bps: 5_000,
            move_value_max: 1 << 80,
            value_max: 1 << 80,
            fee_max: 0,
            swap_value_max: 0,
            collect_value: 0,
            swaps_per_min: 20,
        });
        self.seats.push(SeatConfig {
            strategy: cambist_strategies::LP_MANAGER.to_owned(),
            // A target that the other holdings cross again and again: joins and exits.
            parameters: "target_share_bps = 1000\nenter_below_bps = 999\nleave_above_bps = 1001\n\
                         cool_down_s = 5\npause_above_bps = 5000"
                .to_owned(),
            market: MarketId(0),
            order_base: 0,
            reads: Vec::new(),
        });
        self
    }

    /// The same world with a pool, and with a strategy that swaps with it; unchanged if there is one already.
    #[must_use]
    pub fn with_swaps(self) -> Self {
        let mut config = self.with_pool();
        if config.seats.iter().any(|seat| seat.strategy == SWAPPER) {
            return config;
        }
        let Some(pool) = config.engine.pools.first_mut() else {
            return config;
        };
        // A two-thousandth of the pool is worth 125 at the profile's price.
        pool.swap_value_max = 500 * 10u128.pow(6);
        config.seats.push(SeatConfig {
            strategy: SWAPPER.to_owned(),
            parameters: String::new(),
            market: MarketId(0),
            order_base: 0,
            reads: Vec::new(),
        });
        config
    }
}
