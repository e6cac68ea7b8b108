//! Builds the exchange from its checked file, with its accounts and simulated traders.

use anyhow::Context;
use cambist_core::VenueTime;
use cambist_signing::Address;
use cambist_venue::agents::{Agents, AgentsConfig, PoolSeat, found};
use cambist_venue::{
    AccountId, Caller, Compat, Delays, FeeSchedule, MarketConfig, Operator, PoolConfig, PoolStatus,
    PublicKey, Request, TokenConfig, TokenKind, Venue, VenueConfig,
};

use super::keys::MakerKeys;
use crate::config::Exchange;

/// The account that receives fees.
const FEE_COLLECTOR: u32 = 1;
/// First account id of simulated traders, one each.
const FIRST_TRADER: u32 = 1_000_000;
/// Account ids per market for simulated traders.
const TRADERS_MAX: u32 = 10_000;
/// First account id of pool founders, one per pool in the order of the file.
pub const FIRST_FOUNDER: u32 = 900_000;
/// First account id for clients.
const FIRST_ACCOUNT: u32 = 20_000;

/// Builds the exchange: tokens, markets, the maker's account with its funds, simulated traders.
pub fn venue(exchange: &Exchange, maker: &MakerKeys) -> anyhow::Result<(Venue, Vec<Agents>)> {
    let mut venue = Venue::new(config(exchange)?).context("the exchange's configuration")?;
    let public = maker.secret.public();
    let account = AccountId(exchange.maker.account_id);
    let mut requests = vec![Request::Operator(Operator::CreateAccount {
        id: Some(account),
        owner: address(&exchange.maker.owner)?.0,
        public_key: PublicKey {
            x: public.x.to_be_bytes(),
            y: public.y.to_be_bytes(),
        },
        api_key: Some(cambist_server::api_key_digest(&maker.api_key)),
        internal: false,
    })];
    for (token, amount) in &exchange.maker.funds {
        let (token, amount) = (*token, *amount);
        requests.push(Request::Operator(Operator::Deposit {
            account,
            token,
            amount,
        }));
    }
    for (index, pool) in (0..).zip(&exchange.pools) {
        if let Some(amounts) = pool.liquidity {
            let listed = &venue.config().pools[index as usize];
            requests.extend(found(AccountId(FIRST_FOUNDER + index), listed, amounts));
        }
    }
    let mut agents = Vec::new();
    for (index, traders) in (0..).zip(&exchange.traders) {
        let pools = (FIRST_FOUNDER..).map(AccountId).zip(&exchange.pools);
        let pool = pools
            .filter(|(_, pool)| pool.market == traders.market)
            .map(|(founder, pool)| anyhow::Ok((founder, address(&pool.address)?.0)))
            .next()
            .transpose()?;
        let config = AgentsConfig {
            pool: pool.map(|(founder, pool)| PoolSeat { pool, founder }),
            ..traders.clone()
        };
        let first = FIRST_TRADER + index * TRADERS_MAX;
        let accounts: Vec<_> = (first..).take(config.accounts()).map(AccountId).collect();
        requests.extend(Agents::setup(&config, &accounts, &venue));
        agents.push(Agents::new(config, &accounts));
    }
    for request in &requests {
        // Before the first request there is no time.
        venue
            .handle(VenueTime(0), &Caller::Operator, request)
            .context("opening the exchange's accounts")?;
    }
    Ok((venue, agents))
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
    let shown = exchange
        .aggregation_levels
        .iter()
        .zip(&exchange.price_bands);
    let markets = exchange.markets.iter().zip(shown);
    let markets = markets.map(|(spec, (levels, band))| MarketConfig {
        name: spec.name.clone(),
        base: spec.base.id,
        quote: spec.quote.id,
        price_decimals: spec.price_decimals,
        aggregation_levels: *levels,
        enabled: spec.enabled,
        maker_fee_bips: bips(exchange.fee_bips[0]),
        taker_fee_bips: bips(exchange.fee_bips[1]),
        price_band: *band,
        fee_in: cambist_core::venue::FeeToken::Bought,
    });
    let mut pools = Vec::new();
    for pool in &exchange.pools {
        let market = &exchange.markets[usize::from(pool.market.0)];
        pools.push(PoolConfig {
            name: pool.name.clone(),
            address: address(&pool.address)?.0,
            pooled: [market.base.id, market.quote.id],
            lp: pool.lp,
            fee_bips: pool.fee_bips,
            price_precision: pool.price_precision,
            amount_precision: pool.amount_precision,
            status: PoolStatus::OPEN,
            join_fee: pool.fees[0],
            exit_fee: pool.fees[1],
        });
    }
    let (fees, delays) = (&exchange.service_fees, &exchange.delays);
    Ok(VenueConfig {
        chain_id: exchange.chain_id,
        exchange: address(&exchange.address)?.0,
        deposit: address(&exchange.deposit_address)?.0,
        tokens,
        markets: markets.collect(),
        pools,
        fees: FeeSchedule {
            transfer: fees.transfer.clone(),
            withdrawal: fees.withdrawal.clone(),
            update: fees.update.clone(),
            same_token: fees.same_token,
            ..FeeSchedule::default()
        },
        opening: exchange.opening.clone(),
        delays: Delays {
            order_ms: delays.order_ms,
            cancel_ms: delays.cancel_ms,
            received_ms: delays.received_ms,
            processing_ms: delays.processing_ms,
            late_failures_permille: delays.late_failures_permille,
            seed: delays.seed,
        },
        limits: exchange.bounds.limits.clone(),
        fee_collector: AccountId(FEE_COLLECTOR),
        fee_collector_owner: [0xfe; 20],
        first_account: AccountId(FIRST_ACCOUNT),
        compat: if exchange.strict {
            Compat::Strict
        } else {
            Compat::Both
        },
    })
}

fn address(text: &str) -> anyhow::Result<Address> {
    Address::from_hex(text).with_context(|| format!("address {text}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;
    use cambist_config::reader::Source;

    fn made(edit: impl FnOnce(String) -> String) -> Venue {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/venue.toml");
        let mut source = Source::read(path.as_ref()).unwrap();
        source.text = edit(source.text);
        let exchange = Exchange::parse(&source).unwrap();
        let key = cambist_signing::SecretKey::from_hex("0x0b").unwrap();
        let maker = MakerKeys {
            api_key: zeroize::Zeroizing::new("k".repeat(64)),
            secret: key,
        };
        venue(&exchange, &maker).unwrap().0
    }

    #[test]
    fn a_pool_of_the_file_is_listed_with_its_liquidity() {
        let venue = made(|text| text);
        let pool = address("0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e004").unwrap();
        let (reserves, supply) = venue.pool_reserves(&pool.0).unwrap();
        assert_eq!(reserves, [200 * 10u128.pow(18), 500_000 * 10u128.pow(6)]);
        assert!(supply > 0);
        assert_eq!(venue.audit(), Ok(()));
        let empty = made(|text| {
            text.replace("base_liquidity = \"200 ETH\"", "")
                .replace("quote_liquidity = \"500000 USDC\"", "")
        });
        assert_eq!(empty.pool_reserves(&pool.0), Some(([0, 0], 0)));
    }

    #[test]
    fn bounds_on_openings_and_prices_of_the_file_are_the_exchanges() {
        let venue = made(|text| {
            text.replace("# USDC = \"1\"", "USDC = \"1\"")
                .replace("price_band_bips = 0", "price_band_bips = 500")
                .replace("# price_band_reference", "price_band_reference")
                .replace("# accounts_max = 100000", "accounts_max = 5000")
        });
        let opening = &venue.config().opening;
        assert_eq!(opening.fee, [(cambist_core::TokenId(1), 1_000_000)].into());
        assert_eq!(opening.reserved, 500, "a tenth of accounts_max");
        let market = venue.market(cambist_core::MarketId(0)).unwrap();
        let band = cambist_venue::PriceBand {
            bips: 500,
            window_s: 300,
            reference: cambist_core::Price(250_000),
        };
        assert_eq!(market.price_band, Some(band));
        assert_eq!(
            made(|text| text)
                .market(cambist_core::MarketId(0))
                .unwrap()
                .price_band,
            None
        );
    }

    #[test]
    fn fees_and_delays_of_the_file_are_the_exchanges() {
        let venue = made(|text| {
            text.replace("# ETH = \"0.001\"", "ETH = \"0.001\"")
                .replace("cancel_ms = 0", "cancel_ms = 70")
                .replace("same_token = false", "same_token = true")
        });
        let config = venue.config();
        let fee = (cambist_core::TokenId(0), 10u128.pow(15));
        assert_eq!(config.fees.withdrawal, [fee].into());
        assert!(config.fees.transfer.is_empty() && config.fees.same_token);
        assert_eq!((config.delays.order_ms, config.delays.cancel_ms), (0, 70));
    }
}
