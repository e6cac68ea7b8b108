//! `[[pool]]` of the exchange's file: a pool of a listed market, its LP token, and its initial liquidity.
//!
//! The exchange defines the rules of pools; here are positions, units and ranges only.

use cambist_core::{Amount, MarketId, MarketSpec, TokenId, TokenSpec};

use super::{address, units};
use cambist_config::money::Money;
use cambist_config::reader::{At, Section};
use cambist_config::small;

/// Decimals of every LP token: the first join of a pool mints a hundred of them.
const LP_DECIMALS: u8 = 8;

/// A pool of a listed market.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// `AMM-BASE-QUOTE`.
    pub name: String,
    /// Its contract, lower case.
    pub address: String,
    /// Index into the markets.
    pub market: MarketId,
    /// Its LP token; listed among the tokens, after those of the file.
    pub lp: TokenId,
    /// Swap fee in ten-thousandths of the sold amount.
    pub fee_bips: u16,
    /// Decimals of displayed prices.
    pub price_precision: u8,
    /// Decimals of displayed amounts.
    pub amount_precision: u8,
    /// Fees of a join and an exit, base units of the quote token.
    pub fees: [Amount; 2],
    /// Initial liquidity in base and quote units; `None` for an empty pool.
    pub liquidity: Option<[Amount; 2]>,
}

/// Reads the pools and their LP tokens; `listed` are symbol and id of the previous tokens.
pub(super) fn pools(
    sections: Vec<Section<'_, '_>>,
    markets: &[MarketSpec],
    mut listed: Vec<(String, u64)>,
) -> Option<(Vec<Pool>, Vec<TokenSpec>)> {
    let pools: Option<Vec<_>> = sections
        .into_iter()
        .map(|section| pool(section, markets, &mut listed))
        .collect();
    Some(pools?.into_iter().unzip())
}

fn pool(
    mut section: Section<'_, '_>,
    markets: &[MarketSpec],
    listed: &mut Vec<(String, u64)>,
) -> Option<(Pool, TokenSpec)> {
    let name = section.req::<String>("name");
    let contract = address(&mut section, "address");
    let lp_id = section.req_number("lp_id", 0..=32_767);
    let lp_symbol = section.opt::<String>("lp_symbol");
    let fee_bips = section.number("fee_bips", 20, 0..=9_999);
    let price_precision = section.number("price_precision", 6, 0..=18);
    let amount_precision = section.number("amount_precision", 6, 0..=18);
    let fees = ["join_fee", "exit_fee"].map(|key| section.opt::<Money>(key));
    let liquidity = ["base_liquidity", "quote_liquidity"].map(|key| section.opt::<Money>(key));
    let (name, lp_id) = (name?, lp_id?);
    let pair = name.value.strip_prefix("AMM-");
    let Some(market) = markets
        .iter()
        .find(|market| Some(market.name.as_str()) == pair)
    else {
        let what = format!(
            "pool.name = {:?} must be AMM- and the name of a listed market",
            name.value
        );
        section.problem(name.at, what);
        return None;
    };
    let symbol = lp_symbol.map_or_else(|| format!("LP-{}", market.name), |symbol| symbol.value);
    let is_duplicate = |(other, number): &(String, u64)| *other == symbol || *number == lp_id.value;
    if listed.iter().any(is_duplicate) {
        let what = format!(
            "lp token {symbol} (id {}): a listed token has this symbol or id",
            lp_id.value
        );
        section.problem(lp_id.at, what);
        return None;
    }
    listed.push((symbol.clone(), lp_id.value));
    let quote = |money| units(&section, &market.quote, money);
    let [join_fee, exit_fee] = fees.map(|fee| fee.map_or(Some(0), |fee| quote(Some(fee))));
    let liquidity = opening(&section, market, liquidity)?;
    section.finish();
    let lp = TokenId(small(lp_id.value));
    let pool = Pool {
        name: name.value,
        address: contract?,
        market: market.id,
        lp,
        fee_bips: small(fee_bips.value),
        price_precision: small(price_precision.value),
        amount_precision: small(amount_precision.value),
        fees: [join_fee?, exit_fee?],
        liquidity,
    };
    let token = TokenSpec {
        id: lp,
        symbol,
        decimals: LP_DECIMALS,
        precision: LP_DECIMALS,
        minimum: 1,
        maximum: cambist_core::token::AMOUNT_MAX,
        dust: 0,
        enabled: true,
    };
    Some((pool, token))
}

/// Both amounts above 0, or neither.
#[expect(
    clippy::option_option,
    reason = "a mistake, no liquidity, or some of it"
)]
fn opening(
    section: &Section<'_, '_>,
    market: &MarketSpec,
    written: [Option<At<Money>>; 2],
) -> Option<Option<[Amount; 2]>> {
    let place = written.iter().flatten().map(|money| money.at).next();
    let [base, quote] = written;
    let Some(at) = place else {
        return Some(None);
    };
    let (Some(base), Some(quote)) = (base, quote) else {
        let what = "pool.base_liquidity and pool.quote_liquidity are given together or not at all";
        section.problem(at, what);
        return None;
    };
    let amounts = [
        units(section, &market.base, Some(base))?,
        units(section, &market.quote, Some(quote))?,
    ];
    if amounts.contains(&0) {
        section.problem(at, "a pool's liquidity must be above 0 on both sides");
        return None;
    }
    Some(Some(amounts))
}
