//! From the exchange's checked file to a machine with its accounts and its crowd.

use anyhow::Context;
use cambist_core::VenueTime;
use cambist_signing::Address;
use cambist_venue::agents::{Agents, AgentsConfig};
use cambist_venue::{
    AccountId, ApiKey, Caller, Compat, Limits, MarketConfig, Operator, PublicKey, Request,
    TokenConfig, TokenKind, Venue, VenueConfig,
};

use super::keys::MakerKeys;
use crate::config::Exchange;
use crate::config::venue::Traders;

/// The account that receives fees.
const FEE_COLLECTOR: u32 = 1;
/// Account ids of background traders begin here; a trader each.
const FIRST_TRADER: u32 = 1_000_000;
/// Room between the crowds of two markets.
const CROWD: u32 = 10_000;
/// Account ids that clients open begin here.
const FIRST_ACCOUNT: u32 = 20_000;

/// Builds the exchange: tokens, markets, the maker's account with its funds, the crowds.
pub fn venue(exchange: &Exchange, maker: &MakerKeys) -> anyhow::Result<(Venue, Vec<Agents>)> {
    let mut venue = Venue::new(config(exchange)?).context("the exchange's configuration")?;
    let public = maker.secret.public();
    let account = AccountId(exchange.maker.account_id);
    let mut wishes = vec![Request::Operator(Operator::CreateAccount {
        id: Some(account),
        owner: address(&exchange.maker.owner)?.0,
        public_key: PublicKey {
            x: public.x.to_be_bytes(),
            y: public.y.to_be_bytes(),
        },
        api_key: Some(ApiKey(maker.api_key.as_str().to_owned())),
        internal: false,
    })];
    for (token, amount) in &exchange.maker.funds {
        let (token, amount) = (*token, *amount);
        wishes.push(Request::Operator(Operator::Deposit {
            account,
            token,
            amount,
        }));
    }
    let mut crowds = Vec::new();
    for (index, traders) in (0..).zip(&exchange.traders) {
        let config = crowd(traders);
        let first = FIRST_TRADER + index * CROWD;
        let accounts: Vec<_> = (first..).take(config.accounts()).map(AccountId).collect();
        wishes.extend(Agents::setup(&config, &accounts, &venue));
        crowds.push(Agents::new(config, &accounts));
    }
    for wish in &wishes {
        // Before the first request there is no time yet.
        venue
            .handle(VenueTime(0), &Caller::Operator, wish)
            .context("opening the exchange's accounts")?;
    }
    Ok((venue, crowds))
}

/// The exchange's configuration in its own types.
pub fn config(exchange: &Exchange) -> anyhow::Result<VenueConfig> {
    let mut tokens = Vec::new();
    for (spec, contract) in exchange.tokens.iter().zip(&exchange.token_addresses) {
        let contract = address(contract)?;
        tokens.push(TokenConfig {
            spec: spec.clone(),
            name: spec.symbol.clone(),
            address: contract.0,
            kind: if contract == Address::ZERO {
                TokenKind::Eth
            } else {
                TokenKind::Erc20
            },
            fast_withdraw_limit: spec.maximum,
        });
    }
    let bips = |bips: u16| u8::try_from(bips).unwrap_or(u8::MAX);
    let markets = exchange.markets.iter().zip(&exchange.aggregation_levels);
    let markets = markets.map(|(spec, levels)| MarketConfig {
        name: spec.name.clone(),
        base: spec.base.id,
        quote: spec.quote.id,
        price_decimals: spec.price_decimals,
        aggregation_levels: *levels,
        enabled: spec.enabled,
        maker_fee_bips: bips(exchange.fee_bips[0]),
        taker_fee_bips: bips(exchange.fee_bips[1]),
    });
    Ok(VenueConfig {
        chain_id: exchange.chain_id,
        exchange: address(&exchange.address)?.0,
        deposit: address(&exchange.deposit_address)?.0,
        tokens,
        markets: markets.collect(),
        limits: Limits::default(),
        fee_collector: AccountId(FEE_COLLECTOR),
        fee_collector_owner: [0xfe; 20],
        first_account: AccountId(FIRST_ACCOUNT),
        compat: if exchange.strict {
            Compat::Strict
        } else {
            Compat::Both
        },
        ..VenueConfig::default()
    })
}

fn crowd(traders: &Traders) -> AgentsConfig {
    AgentsConfig {
        volatility_bps_per_sqrt_s: f64::from(traders.volatility_centi_bps_per_sqrt_s) / 100.0,
        noise_traders: traders.noise,
        noise_orders_per_minute: f64::from(traders.noise_orders_per_minute),
        informed_traders: traders.informed,
        informed_threshold_bps: f64::from(traders.informed_threshold_bps),
        passive_traders: traders.passive,
        passive_half_spread_bps: f64::from(traders.passive_half_spread_bps),
        ..AgentsConfig::calm(
            traders.seed,
            traders.market,
            traders.fair_price,
            traders.order_size,
        )
    }
}

fn address(text: &str) -> anyhow::Result<Address> {
    Address::from_hex(text).with_context(|| format!("address {text}"))
}
