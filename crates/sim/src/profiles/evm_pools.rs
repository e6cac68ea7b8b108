//! The same worlds on a chain with a Uniswap pool, V2 or V3 ([`chain`](crate::chain)).

use cambist_core::event::Amounts;
use cambist_core::venue::ChargedAs;
use cambist_core::{Amount, MarketId, TokenId};
use cambist_venue::{Random, TokenConfig};

use crate::chain::node::venue_rules;
use crate::chain::{COIN, coin};
use crate::config::{ChainConfig, ChainFaultsConfig, SeatConfig, WorldConfig};
use crate::faults::kinds::FaultKind;
use crate::profiles::control_loss::ControlLossConfig;
use crate::profiles::sampling::{choose, rate};
use crate::sealer::Sealer;

/// What does not exist on a chain: modes, frozen accounts and orders of an exchange, flows without a key.
const NOT_ON_A_CHAIN: [FaultKind; 18] = [
    FaultKind::ExchangeHalted,
    FaultKind::ExchangeCancelOnly,
    FaultKind::ExchangePostOnly,
    FaultKind::AccountFrozen,
    FaultKind::MarketClosed,
    FaultKind::ExchangeSlow,
    FaultKind::OrdersHidden,
    FaultKind::ListGaps,
    FaultKind::ListSkips,
    FaultKind::DepthFrozen,
    FaultKind::DepthOld,
    FaultKind::MarketCrash,
    FaultKind::MarketDeserted,
    FaultKind::FeesRaised,
    FaultKind::TimeWrong,
    FaultKind::Deposit,
    FaultKind::Withdrawal,
    FaultKind::ForeignOrder,
];

impl WorldConfig {
    /// The same world with a strategy that holds a share of what is outside of the pool in base, by swaps.
    fn with_rebalancing(mut self) -> Self {
        for pool in &mut self.engine.pools {
            pool.swap_value_max = 5_000 * 10u128.pow(6);
        }
        self.seats.push(SeatConfig {
            strategy: "rebalance".to_owned(),
            parameters: "target_share_bps = 2000\ntolerance_bps = 20\ntrade_amount_max = 1\n\
                         cost_max_bps = 500\nfee_bps = 0"
                .to_owned(),
            market: MarketId(0),
            order_base: 0,
            reads: Vec::new(),
        });
        self
    }

    /// The same world on a chain: one market, its pool, and a manager of shares.
    #[must_use]
    pub fn evm_pools(mut self) -> Self {
        let mut random = Random::new(self.seed.rotate_left(16) ^ 0x0065_766d);
        let has_faults = self.network != self.network.calm() || self.crash.mean_ms > 0;
        self.seats.clear();
        self.engine.pools.clear();
        self.venue.pools.clear();
        self.liquidity.clear();
        self.venue.tokens.retain(|token| token.spec.id.0 < 3);
        self.markets.truncate(1);
        self.engine.markets.truncate(1);
        self.agents.clear();
        self.funds.remove(&TokenId(2));
        self = self.with_pool();
        self.liquidity.clear();
        // More quote than base: the shares' part of everything then moves with the price, which crosses the target.
        self.funds = Amounts::from([
            (TokenId(0), 8 * 10u128.pow(18)),
            (TokenId(1), 100_000 * 10u128.pow(6)),
        ]);
        for pool in &mut self.venue.pools {
            pool.fee_bips = 30;
        }
        let of_shares = self
            .venue
            .pools
            .iter()
            .map(|pool| pool.lp)
            .collect::<Vec<_>>();
        for token in &mut self.venue.tokens {
            if of_shares.contains(&token.spec.id) {
                (token.spec.decimals, token.spec.precision) = (18, 18);
            }
        }
        let block_ms = *choose(&mut random, &[2_000, 4_000, 12_000]);
        let finality_blocks = *choose(&mut random, &[2, 4, 8]);
        let lag_ms = block_ms * finality_blocks;
        self.rules = venue_rules(block_ms);
        if self.seed.is_multiple_of(2) {
            let base = self
                .venue
                .tokens
                .iter()
                .find(|token| token.spec.id == TokenId(0));
            let counts_as = |base: &TokenConfig| ChargedAs::new(&coin(), &base.spec);
            self.rules.charged_as = base.and_then(counts_as);
        }
        self.sealer = Sealer::Digest;
        self.references.clear();
        self.falls = ControlLossConfig::default();
        self.tight = false;
        self.fault_kinds
            .kinds
            .retain(|kind| !NOT_ON_A_CHAIN.contains(kind));
        let engine = &mut self.engine;
        engine.ttl_ms = 60_000.max(8 * block_ms);
        engine.refresh_before_ms = engine.ttl_ms / 8;
        engine.grace_ms = lag_ms + 4 * block_ms + 20_000;
        engine.drain_deadline_ms = 2 * (engine.ttl_ms + engine.grace_ms) + 120_000;
        engine.max_fee_bips = 0;
        let poll = &mut engine.poll;
        poll.depth_ms = 2_000;
        poll.depth_age_max_ms = 10_000 + 4 * block_ms;
        (poll.balances_ms, poll.orders_ms) = (4_000, 4_000);
        (poll.balances_age_max_ms, poll.orders_age_max_ms) = (90_000, 90_000);
        engine.risk.mismatch_max.insert(COIN, 0);
        for pool in &mut engine.pools {
            pool.age_max_ms = poll.depth_age_max_ms;
            pool.slippage_bps = *choose(&mut random, &[50, 200]);
        }
        let faults = if has_faults {
            faults(&mut random)
        } else {
            ChainFaultsConfig::default()
        };
        self.chain = Some(ChainConfig {
            block_ms,
            finality_blocks,
            stall_blocks_max: *choose(&mut random, &[4, 30]),
            pays_protocol: random.chance(1, 2),
            fee_max: *choose(&mut random, &[200, 1_000]) * GWEI,
            coin: 10 * 10u128.pow(18),
            faults,
            range: None,
        });
        // Drawn last, so that what is drawn of the chain stays as it was.
        match random.below(4) {
            0 => self.with_swaps(),
            1 => self.with_rebalancing(),
            _ => self.with_drawn_range(),
        }
    }
}

/// Base units of the coin.
const GWEI: Amount = 1_000_000_000;

fn faults(random: &mut Random) -> ChainFaultsConfig {
    ChainFaultsConfig {
        withheld: 5 * rate(random),
        dropped: rate(random),
        missed: rate(random),
        reorganised: 3 * rate(random),
        finality_stalled: rate(random) / 4,
        dear: rate(random) / 2,
        lagging: rate(random),
        lag_blocks_max: *choose(random, &[1, 3, 20]),
        receipts_missing: rate(random),
        unanswered: rate(random) / 4,
        pool_full: rate(random),
        forked: *choose(random, &[0, 0, 15]),
    }
}
