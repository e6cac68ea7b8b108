//! The venue's answers in the interface's shapes: ticks become decimals, milliseconds seconds.

use cambist_core::OrderKind;
use cambist_protocol::Address;
use cambist_protocol::number::decimal;
use cambist_protocol::wire::{
    Account, Balance, DepthSnapshot, ExchangeInfo, Level, Market, OrderAmounts, OrderDetail,
    OrderType, OrderValidity, OrderVolumes, PendingBalance, Token,
};
use cambist_signing::{Field, PublicKey};
use cambist_venue::{
    AccountId, AccountView, BalanceView, DepthRow, DepthView, ExchangeView, MarketConfig,
    OrderView, TokenConfig, TokenKind,
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

/// An account. There are no tags.
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

/// A balance. Nothing is between the layers.
pub(crate) fn balance(account: AccountId, view: &BalanceView) -> Balance {
    Balance {
        account_id: Some(account.0),
        token: view.token,
        total: view.total,
        locked: view.locked,
        pending: PendingBalance::default(),
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

/// The exchange. It takes no fees for what it does not do yet.
pub(crate) fn exchange(view: &ExchangeView) -> ExchangeInfo {
    ExchangeInfo {
        chain_id: view.chain_id,
        exchange_address: Address(view.exchange),
        deposit_address: Address(view.deposit),
        onchain_fees: Vec::new(),
        update_fees: Vec::new(),
        transfer_fees: Vec::new(),
        withdrawal_fees: Vec::new(),
    }
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
