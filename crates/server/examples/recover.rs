//! How long a durable exchange takes to come back:
//! `cargo run --release -p cambist-server --example recover -- FOLDER [ORDERS]`.
//!
//! A folder that is new or empty is first filled with an exchange of so many resting orders (1000000),
//! over 1000 prices and 200 accounts; one that holds an exchange (of the example `load`, say) is only
//! recovered. Memory is what the system says the process holds (from /proc, where there is one).
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use cambist_core::order::FillBy;
use cambist_core::{Hash, OrderKind, TokenId, TokenSpec, VenueTime};
use cambist_server::DataFolder;
use cambist_venue::{
    AccountId, Caller, Limits, MarketConfig, NewOrder, Operator, PublicKey, Request, TokenConfig,
    TokenKind, Venue, VenueConfig,
};

const ONE: u128 = 1_000_000_000_000_000_000;
const ACCOUNTS: u32 = 200;
const PRICES: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("name a folder")?;
    let orders: u64 = words.next().map_or(Ok(1_000_000), |word| word.parse())?;
    let data = DataFolder::take(Path::new(&folder))?;
    if data.recover()?.is_none() {
        let before_kib = memory_kib();
        let begun = Instant::now();
        let venue = filled(orders)?;
        println!(
            "{orders} orders taken in {:?}, {} bytes of memory each",
            begun.elapsed(),
            1_024 * memory_kib().saturating_sub(before_kib) / orders.max(1)
        );
        let begun = Instant::now();
        drop(data.begin(venue, Vec::new())?);
        println!("snapshot made in {:?}", begun.elapsed());
    }
    for _ in 0..3 {
        let begun = Instant::now();
        let durable = data.recover()?.ok_or("nothing was recovered")?;
        let recovered = begun.elapsed();
        let begun = Instant::now();
        durable.venue().audit()?;
        println!(
            "recovered in {recovered:?} (an audit would take {:?} more): {} orders open, {} inputs replayed from {} bytes of log",
            begun.elapsed(),
            durable.venue().open_orders(),
            durable.facts().replayed,
            durable.facts().log_bytes,
        );
    }
    Ok(())
}

fn filled(orders: u64) -> Result<Venue, Box<dyn Error>> {
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
    let mut venue = Venue::new(VenueConfig {
        exchange: [7; 20],
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
        }],
        limits: Limits {
            open_orders_max: 1_000_000,
            ..Limits::default()
        },
        first_account: AccountId(10),
        ..VenueConfig::default()
    })?;
    for number in 0..ACCOUNTS {
        let account = AccountId(10 + number);
        let mut owner = [1; 20];
        owner[..4].copy_from_slice(&number.to_be_bytes());
        let mut public_key = PublicKey::default();
        public_key.x[..4].copy_from_slice(&number.to_be_bytes());
        for wish in [
            Operator::CreateAccount {
                id: Some(account),
                owner,
                public_key,
                api_key: None,
                internal: false,
            },
            Operator::Deposit {
                account,
                token: TokenId(0),
                amount: 10_000_000 * ONE,
            },
        ] {
            venue.handle(VenueTime(0), &Caller::Operator, &Request::Operator(wish))?;
        }
    }
    for number in 0..orders {
        let account = AccountId(10 + u32::try_from(number % u64::from(ACCOUNTS))?);
        let mut hash = [0; 32];
        // As scattered as real ones.
        hash[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let cents = 250_000 + u128::from(number % PRICES);
        let order = NewOrder {
            hash: Hash(hash),
            exchange: [7; 20],
            account,
            storage_id: 2 * (number / u64::from(ACCOUNTS)),
            sell_token: TokenId(0),
            sell_amount: ONE / 100,
            buy_token: TokenId(1),
            buy_amount: cents * 100,
            fill_by: FillBy::Sell,
            all_or_none: false,
            valid_until_s: 1_000_000,
            max_fee_bips: 63,
            taker: [0; 20],
            kind: OrderKind::Limit,
            pool: None,
            client_id: Some(format!("order-{number}")),
        };
        let caller = Caller::Internal { account };
        venue.handle(VenueTime(1_000), &caller, &Request::Submit(Box::new(order)))?;
    }
    Ok(venue)
}

fn memory_kib() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
        .unwrap_or(0)
}
