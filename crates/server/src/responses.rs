//! Converts the venue's responses to the interface's types: ticks to decimals, milliseconds to seconds.

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, OrderKind, TokenId};
use cambist_protocol::Address;
use cambist_protocol::number::decimal;
use cambist_protocol::wire::{
    Account, Balance, DepthSnapshot, ExchangeInfo, FeeInfo, Level, Market, OffFeeInfo,
    OrderAmounts, OrderDetail, OrderType, OrderValidity, OrderVolumes, PendingBalance, Pool,
    PoolBalance, PoolPrecisions, PoolTokens, PoolTransaction, PoolTransactionKind, PoolTransfer,
    Token, TokenVolume,
};
use cambist_signing::{Field, PublicKey};
use cambist_venue::{
    AccountId, AccountView, BalanceView, DepthRow, DepthView, ExchangeView, Layer, MarketConfig,
    OrderView, POOL_VERSION, PoolBalanceView, PoolConfig, PoolTransactionView, PoolTransferView,
    PoolTxKind, PoolTxStatus, TokenAmount, TokenConfig, TokenKind,
};

/// An order.
pub(crate) fn order(view: OrderView) -> OrderDetail {
    OrderDetail {
        hash: view.hash,
        client_order_id: view.client_id,
        side: view.side,
        market: view.market,
        price: decimal(u128::from(view.price.0), view.price_decimals),
        volumes: OrderVolumes {
            base_amount: view.base_amount,
            quote_amount: view.quote_amount,
            base_filled: view.base_filled,
            quote_filled: view.quote_filled,
            fee: view.fee,
        },
        validity: OrderValidity {
            start: view.created.as_s(),
            end: u64::from(view.valid_until_s),
        },
        order_type: match view.kind {
            OrderKind::Limit => OrderType::Limit,
            OrderKind::TakerOnly => OrderType::TakerOnly,
            OrderKind::MakerOnly => OrderType::MakerOnly,
        }
        .word()
        .to_owned(),
        status: view.status,
    }
}

/// An account, without tags.
pub(crate) fn account(view: &AccountView) -> Account {
    Account {
        account_id: view.id.0,
        owner: Address(view.owner),
        frozen: view.frozen,
        public_key: PublicKey {
            x: Field::from_be_bytes(view.public_key.x),
            y: Field::from_be_bytes(view.public_key.y),
        },
        tags: String::new(),
        nonce: view.nonce,
        key_nonce: view.key_nonce,
        key_seed: String::new(),
    }
}

/// A balance.
pub(crate) fn balance(account: AccountId, view: &BalanceView) -> Balance {
    Balance {
        account_id: Some(account.0),
        token: view.token,
        total: view.total,
        locked: view.locked,
        pending: PendingBalance {
            withdraw: view.pending_withdraw,
            deposit: view.pending_deposit,
        },
    }
}

/// A depth.
pub(crate) fn depth(view: DepthView) -> DepthSnapshot {
    let levels = |rows: &[DepthRow]| {
        rows.iter()
            .map(|row| Level {
                price: decimal(u128::from(row.price.0), view.price_decimals),
                size: row.size,
                volume: row.volume,
                count: u64::from(row.count),
            })
            .collect()
    };
    DepthSnapshot {
        version: view.version,
        timestamp: view.timestamp.0,
        bids: levels(&view.bids),
        asks: levels(&view.asks),
        market: Some(view.market),
    }
}

/// The exchange's information. Fees are listed by the symbols of `tokens`.
pub(crate) fn exchange(view: &ExchangeView, tokens: &[TokenConfig]) -> ExchangeInfo {
    ExchangeInfo {
        chain_id: view.chain_id,
        exchange_address: Address(view.exchange),
        deposit_address: Address(view.deposit),
        onchain_fees: view
            .fees
            .onchain
            .iter()
            .map(|(kind, fee)| FeeInfo {
                kind: kind.clone(),
                fee: *fee,
            })
            .collect(),
        update_fees: fees(&view.fees.update, tokens),
        transfer_fees: fees(&view.fees.transfer, tokens),
        withdrawal_fees: fees(&view.fees.withdrawal, tokens),
    }
}

/// A table of fees.
pub(crate) fn fees(table: &SortedMap<TokenId, Amount>, tokens: &[TokenConfig]) -> Vec<OffFeeInfo> {
    table
        .iter()
        .map(|(token, fee)| OffFeeInfo {
            token: tokens
                .iter()
                .find(|listed| listed.spec.id == *token)
                .map_or_else(|| token.0.to_string(), |listed| listed.spec.symbol.clone()),
            fee: *fee,
        })
        .collect()
}

/// A token.
pub(crate) fn token(token: TokenConfig) -> Token {
    Token {
        kind: match token.kind {
            TokenKind::Eth => "ETH",
            TokenKind::Erc20 => "ERC20",
        }
        .to_owned(),
        token_id: token.spec.id,
        symbol: token.spec.symbol,
        name: token.name,
        address: Address(token.address),
        decimals: token.spec.decimals,
        precision: token.spec.precision,
        order_amounts: OrderAmounts {
            minimum: token.spec.minimum,
            maximum: token.spec.maximum,
            dust: token.spec.dust,
        },
        fast_withdraw_limit: token.fast_withdraw_limit,
        enabled: token.spec.enabled,
    }
}

/// A market.
pub(crate) fn market(market: MarketConfig) -> Market {
    Market {
        market: market.name,
        base_token_id: market.base,
        quote_token_id: market.quote,
        precision_for_price: market.price_decimals,
        orderbook_agg_levels: market.aggregation_levels,
        enabled: market.enabled,
    }
}

/// A pool.
pub(crate) fn pool(pool: PoolConfig) -> Pool {
    Pool {
        market: pool.name.clone(),
        name: pool.name,
        address: Address(pool.address),
        version: POOL_VERSION.to_owned(),
        tokens: PoolTokens {
            pooled: pool.pooled.to_vec(),
            lp: pool.lp,
        },
        fee_bips: pool.fee_bips,
        precisions: PoolPrecisions {
            price: pool.price_precision,
            amount: pool.amount_precision,
        },
        status: u32::from(pool.status.0),
    }
}

/// A pool's balances.
pub(crate) fn pool_balance(view: &PoolBalanceView) -> PoolBalance {
    PoolBalance {
        pooled: view.pooled.iter().copied().map(volume).collect(),
        lp: volume(view.lp),
    }
}

const fn volume(amount: TokenAmount) -> TokenVolume {
    TokenVolume {
        token: amount.token,
        volume: amount.amount,
    }
}

/// A join or exit.
pub(crate) fn pool_transaction(view: &PoolTransactionView) -> PoolTransaction {
    PoolTransaction {
        hash: view.hash,
        tx_type: match view.kind {
            PoolTxKind::Join => PoolTransactionKind::Join,
            PoolTxKind::Exit => PoolTransactionKind::Exit,
        },
        tx_status: match view.status {
            PoolTxStatus::Processing => "processing",
            PoolTxStatus::Cancelled => "cancelled",
            PoolTxStatus::Processed => "processed",
        }
        .to_owned(),
        amm_pool_address: Address(view.pool),
        amm_layer_type: match view.layer {
            Layer::One => "layer_1",
            Layer::Two => "layer_2",
        }
        .to_owned(),
        pool_tokens: view.pooled.iter().map(pool_transfer).collect(),
        lp_token: pool_transfer(&view.lp),
        created_at: view.created.0,
        updated_at: view.updated.0,
    }
}

const fn pool_transfer(view: &PoolTransferView) -> PoolTransfer {
    PoolTransfer {
        token_id: view.token,
        amount: view.amount,
        actual_amount: view.actual,
        fee_amount: view.fee,
    }
}
