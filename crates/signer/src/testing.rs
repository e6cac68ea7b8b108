//! Shared by tests: rules of an account with a market and a pool, and requests that they allow.

use cambist_signing::{
    Address, CancelRequest, Hash32, OrderMessage, PoolExitMessage, PoolJoinMessage,
};

use crate::rules::{MarketRule, PoolRule, Ratio, Rules, TokenRule};

/// The time of tests.
pub const NOW_S: u64 = 1_700_000_000;
/// The pool.
pub const POOL: Address = Address([5; 20]);
/// One ETH and one share.
pub const ETH: u128 = 1_000_000_000_000_000_000;
/// One USDC.
pub const USDC: u128 = 1_000_000;

/// ETH (1), USDC (2) and shares (3); ETH is sold from 1,000 and bought up to 3,000.
pub fn rules() -> Rules {
    let ratio = |units, per| Ratio {
        units,
        per,
        text: "bound".to_owned(),
    };
    let token = |id, symbol: &str, decimals, one| TokenRule {
        id,
        symbol: symbol.to_owned(),
        decimals,
        unexpired_max: 10 * one,
        window_max: 100 * one,
    };
    Rules {
        account_id: 10_001,
        owner: Address([2; 20]),
        exchange: Address([1; 20]),
        chain_id: 1,
        base_url: "https://venue.example".to_owned(),
        ttl_max_s: 120,
        max_fee_bips: 20,
        window_s: 6_400,
        tokens: vec![
            token(1, "ETH", 18, ETH),
            token(2, "USDC", 6, 2_000 * USDC),
            token(3, "LP", 18, ETH),
        ],
        markets: vec![MarketRule {
            name: "ETH-USDC".to_owned(),
            base: 1,
            quote: 2,
            sell_min: ratio(1_000 * USDC, ETH),
            buy_max: ratio(3_000 * USDC, ETH),
        }],
        pools: vec![PoolRule {
            name: "AMM-ETH-USDC".to_owned(),
            address: POOL,
            tokens: [1, 2],
            share: 3,
            exit_min: [ratio(ETH / 2, ETH), ratio(1_000 * USDC, ETH)],
            join_max: [ratio(2 * ETH, ETH), ratio(4_000 * USDC, ETH)],
            fee_max: USDC,
        }],
    }
}

/// Sells one ETH at 2,000.
pub fn sale() -> OrderMessage {
    OrderMessage {
        exchange: Address([1; 20]),
        storage_id: 0,
        account_id: 10_001,
        sell_token: 1,
        buy_token: 2,
        sell_amount: ETH,
        buy_amount: 2_000 * USDC,
        valid_until: u32::try_from(NOW_S).unwrap_or(0) + 60,
        max_fee_bips: 20,
        fill_by_buy: false,
        taker: Address::ZERO,
    }
}

/// Buys one ETH at 2,000.
pub fn purchase() -> OrderMessage {
    OrderMessage {
        sell_token: 2,
        buy_token: 1,
        sell_amount: 2_000 * USDC,
        buy_amount: ETH,
        fill_by_buy: true,
        ..sale()
    }
}

/// Offers one ETH and 2,000 USDC for at least a share.
pub fn join() -> PoolJoinMessage {
    PoolJoinMessage {
        owner: Address([2; 20]),
        join_amounts: vec![ETH, 2_000 * USDC],
        join_storage_ids: vec![1, 3],
        mint_min_amount: ETH,
        fee: None,
        valid_until: sale().valid_until,
    }
}

/// Burns a share for at least one ETH and 2,000 USDC.
pub fn exit() -> PoolExitMessage {
    PoolExitMessage {
        owner: Address([2; 20]),
        burn_amount: ETH,
        burn_storage_id: 5,
        exit_min_amounts: vec![ETH, 2_000 * USDC],
        fee: 0,
        valid_until: sale().valid_until,
    }
}

/// Cancels something.
pub fn cancel() -> CancelRequest {
    CancelRequest {
        base_url: "https://venue.example".to_owned(),
        account_id: 10_001,
        order_hash: Hash32([9; 32]),
    }
}
