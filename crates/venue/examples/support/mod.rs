//! Shared by the benchmarks: one market of two tokens, funded accounts, resting orders.

#![allow(dead_code, reason = "each example uses a part of it")]

use std::error::Error;

use cambist_core::order::FillBy;
use cambist_core::{Hash, OrderKind, TokenId, TokenSpec, VenueTime};
use cambist_venue::{
    AccountId, Caller, Limits, MarketConfig, NewOrder, Operator, PublicKey, Request, TokenConfig,
    TokenKind, Venue, VenueConfig,
};

/// One base token, which has eighteen decimals; a quote token has six.
pub const ONE: u128 = 1_000_000_000_000_000_000;
/// The exchange address in orders.
pub const EXCHANGE: [u8; 20] = [7; 20];

/// An exchange with the market AAA-QQQ; account ids start at 10.
pub fn config() -> VenueConfig {
    let token = |id: u16, decimals, minimum: u128| TokenConfig {
        spec: TokenSpec {
            id: TokenId(id),
            symbol: ["AAA", "QQQ"][usize::from(id)].to_owned(),
            decimals,
            precision: 6,
            minimum,
            maximum: minimum * 1_000_000,
            dust: minimum / 10,
            enabled: true,
        },
        name: "Token".to_owned(),
        address: [1; 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 0,
    };
    VenueConfig {
        exchange: EXCHANGE,
        tokens: vec![token(0, 18, ONE / 1_000), token(1, 6, 1_000)],
        markets: vec![MarketConfig {
            name: "AAA-QQQ".to_owned(),
            base: TokenId(0),
            quote: TokenId(1),
            price_decimals: 2,
            aggregation_levels: 3,
            enabled: true,
            maker_fee_bips: 2,
            taker_fee_bips: 10,
            price_band: None,
            fee_in: cambist_core::venue::FeeToken::Bought,
        }],
        limits: Limits {
            open_orders_max: 1_000_000,
            ..Limits::default()
        },
        first_account: AccountId(10),
        ..VenueConfig::default()
    }
}

/// The account with this number, from 0.
pub fn account(number: u64) -> AccountId {
    AccountId(10 + u32::try_from(number).unwrap_or(u32::MAX))
}

/// Opens `accounts` accounts with ample funds in both tokens.
pub fn open(venue: &mut Venue, accounts: u64) -> Result<(), Box<dyn Error>> {
    for account in (0..accounts).map(account) {
        let mut owner = [1; 20];
        owner[..4].copy_from_slice(&account.0.to_be_bytes());
        let mut public_key = PublicKey::default();
        public_key.x[..4].copy_from_slice(&account.0.to_be_bytes());
        let mut requests = vec![Operator::CreateAccount {
            id: Some(account),
            owner,
            public_key,
            api_key: None,
            internal: false,
        }];
        requests.extend([0, 1].map(|token| Operator::Deposit {
            account,
            token: TokenId(token),
            amount: 10_000_000 * ONE,
        }));
        for request in requests {
            venue.handle(VenueTime(0), &Caller::Operator, &Request::Operator(request))?;
        }
    }
    Ok(())
}

/// Parameters of an order.
pub struct Want {
    /// Number of its account.
    pub account: u64,
    pub storage_id: u64,
    pub sells: bool,
    /// Price in hundredths.
    pub cents: u64,
}

impl Want {
    /// The `number`th order, of a hundredth of a base token.
    pub fn order(&self, number: u64) -> NewOrder {
        let mut hash = [0; 32];
        // Hashes are distributed like real ones.
        hash[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let base = (TokenId(0), ONE / 100);
        let quote = (TokenId(1), u128::from(self.cents) * 100);
        let (sold, bought, fill_by) = if self.sells {
            (base, quote, FillBy::Sell)
        } else {
            (quote, base, FillBy::Buy)
        };
        NewOrder {
            hash: Hash(hash),
            exchange: EXCHANGE,
            account: account(self.account),
            storage_id: self.storage_id,
            sell_token: sold.0,
            sell_amount: sold.1,
            buy_token: bought.0,
            buy_amount: bought.1,
            fill_by,
            all_or_none: false,
            valid_until_s: 1_000_000,
            max_fee_bips: 63,
            taker: [0; 20],
            kind: OrderKind::Limit,
            pool: None,
            client_id: Some(format!("order-{number}")),
        }
    }
}

/// Resident memory of this process, if the system reports it.
pub fn memory_kib() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
        .unwrap_or(0)
}
