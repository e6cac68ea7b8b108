//! Amounts and books of a market in the units of another venue.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::control::Control;
use crate::market::Price;
use crate::token::TokenId;

fn token(id: u16, symbol: &str, decimals: u8) -> TokenSpec {
    TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: decimals.min(8),
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    }
}

/// ETH-USDC with 10 and 8 decimals, prices with 2.
fn market() -> MarketSpec {
    let (base, quote) = (token(7, "ETH", 10), token(9, "USDC", 8));
    MarketSpec::new(MarketId(3), "ETH-USDC", base, quote, 2, true).unwrap()
}

fn published(bids: &[(u64, u64)]) -> Published {
    let level = |(price, qty): &(u64, u64)| BookLevel {
        price: Price(*price),
        qty: Qty(*qty),
    };
    Published {
        book: Ok(BookElsewhere {
            bids: bids.iter().map(level).collect(),
            asks: vec![level(&(250_100, 3))],
            mid: Ok(500_000),
            age_ms: 5,
            age_max_ms: 3_000,
        }),
        holdings: Some(OtherHoldings {
            base: 15_000_000_001,
            quote: 250_000_000_099,
            pooled_base: None,
            undecided: true,
        }),
        taker_fee_bips: 26,
    }
}

fn units(decimals: [u8; 2]) -> Option<Units> {
    let [base, quote] = decimals;
    let tokens = [token(1, "WETH", base), token(2, "USDC", quote)];
    let [base, quote] = &tokens;
    Units::new(
        join("kraken", "ETH-USDC"),
        &market(),
        MarketId(0),
        [base, quote],
    )
}

/// What a lot costs at a tick, in whole quote tokens for a whole base token: the price of a tick.
fn tick(market: &MarketSpec) -> (u128, u128) {
    let power = |decimals: u8| 10_u128.pow(decimals.into());
    let above = market.quote_per_lot_tick * power(market.base.decimals);
    let below = market.lot * power(market.quote.decimals);
    let common = gcd(above, below);
    (above / common, below / common)
}

#[test]
fn a_market_keeps_its_prices_in_other_units() {
    let there = market();
    for decimals in [[18, 6], [10, 8], [8, 8], [0, 0], [2, 18], [18, 0]] {
        let units = units(decimals).unwrap();
        let market = &units.translated(&published(&[(249_900, 7)]), 0).market;
        assert_eq!(market.name, "kraken:ETH-USDC");
        assert_eq!((market.base.id, market.quote.id), (TokenId(1), TokenId(2)));
        assert_eq!((market.id, market.price_decimals), (MarketId(0), 2));
        assert_eq!(tick(market), tick(&there), "{decimals:?}");
    }
    assert_eq!(units([60, 6]), None, "no amount has as many digits");
}

/// The smallest and the largest order are those of the venue there, whatever the venue here takes.
#[test]
fn orders_are_bounded_by_the_venue_of_the_market() {
    let mut there = market();
    (there.base.minimum, there.base.maximum, there.base.dust) = (1_000_001, 5_000_099, 101);
    (there.quote.minimum, there.quote.maximum) = (100_000_000, 900_000_000);
    let [mut base, mut quote] = [token(1, "WETH", 8), token(2, "USDC", 10)];
    (base.minimum, quote.minimum, quote.dust) = (7, 7, 7);
    let name = join("kraken", "ETH-USDC");
    let units = Units::new(name, &there, MarketId(0), [&base, &quote]).unwrap();
    let market = units.translated(&published(&[]), 0).market;
    let bounds = |token: &TokenSpec| (token.minimum, token.maximum, token.dust);
    assert_eq!(bounds(&market.base), (10_001, 50_000, 2));
    assert_eq!(bounds(&market.quote), (10_000_000_000, 90_000_000_000, 0));
    let here = |token: &TokenSpec| (token.id, token.decimals, token.precision);
    assert_eq!(here(&market.base), here(&base));
    assert_eq!(here(&market.quote), here(&quote));
}

#[test]
fn amounts_are_rounded_down_and_ages_grow() {
    let units = units([8, 6]).unwrap();
    // 1.5000000001 ETH and 2,500.00000099 USDC.
    let translated = units.translated(&published(&[(249_900, 7)]), 11);
    let held = translated.holdings.unwrap();
    assert_eq!((held.base, held.quote), (150_000_000, 2_500_000_000));
    assert_eq!((held.pooled_base, held.undecided), (None, true));
    assert_eq!(translated.taker_fee_bips, 26);
    let book = translated.book.unwrap();
    assert_eq!((book.age_ms, book.age_max_ms), (16, 3_000));
    assert_eq!(book.mid, Ok(500_000));
}

/// A lot that is no whole amount here becomes several: what is less than one of those is not shown.
#[test]
fn quantities_are_rounded_down_to_lots_that_are_whole_amounts() {
    let there = market();
    let units = units([0, 6]).unwrap();
    let many = u64::try_from(10_u128.pow(10) / there.lot).unwrap();
    let bids = [
        (249_900, 2 * many + 1),
        (249_800, many - 1),
        (249_700, many),
    ];
    let translated = units.translated(&published(&bids), 0);
    assert_eq!(translated.market.lot, 1);
    let book = translated.book.unwrap();
    let shown: Vec<_> = book
        .bids
        .iter()
        .map(|level| (level.price.0, level.qty.0))
        .collect();
    assert_eq!(shown, [(249_900, 2), (249_700, 1)]);
    assert!(book.asks.is_empty(), "3 lots there are less than one here");
}

#[test]
fn a_missing_book_keeps_its_reason() {
    let why: Withheld = Control::StaleData.into();
    let missing = Published {
        book: Err(why),
        holdings: None,
        taker_fee_bips: 0,
    };
    let translated = units([18, 6]).unwrap().translated(&missing, 9);
    assert_eq!((translated.book, translated.holdings), (Err(why), None));
}

#[test]
fn names_state_venue_and_market() {
    assert_eq!(split("kraken:ETH-USDC"), Some(("kraken", "ETH-USDC")));
    assert_eq!(split("ETH-USDC"), None);
    assert_eq!(split(&join("a", "B-C")), Some(("a", "B-C")));
}
