//! Warns about a price tolerance that keeps orders where the other side's replacement would be.
//!
//! An order within the tolerance keeps its old price. If the tolerance covers the whole distance between the innermost
//! bid and ask, a move of the book by that distance puts the other side's new order at or beyond the old one: the gate
//! withholds it while the old one is known, and the venue refuses a maker-only order that would cross (102120).

use cambist_core::strategy::Quote;
use cambist_core::{MarketSpec, Side};

/// A warning if the tolerance covers the distance from the innermost bid to the innermost ask of `quotes` at `mid`
/// (half ticks).
pub(super) fn crossing(
    spec: &MarketSpec,
    quotes: &[Quote],
    mid: u64,
    tolerance_bps: u32,
) -> Option<String> {
    let of = |side| {
        quotes
            .iter()
            .filter(move |q| q.side == side)
            .map(|q| q.price.0)
    };
    let (bid, ask) = of(Side::Buy).max().zip(of(Side::Sell).min())?;
    let apart = u128::from(ask.saturating_sub(bid)) * 20_000;
    if u128::from(tolerance_bps) * u128::from(mid) < apart {
        return None;
    }
    let apart_bps = apart / u128::from(mid.max(1));
    Some(format!(
        "market {}: price_tolerance_bps = {tolerance_bps} reaches over the {apart_bps} bps between the innermost bid and ask: an order left at its old price can stand where the other side's replacement belongs, which is then held back (self_cross) or refused by the venue as crossing (102120, maker-only); lower the tolerance or widen the quotes",
        spec.name
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_core::{MarketId, Price, Qty, TokenId, TokenSpec};

    #[test]
    fn a_tolerance_is_harmless_while_it_is_less_than_the_quotes_are_apart() {
        let token = |id| TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 6,
            precision: 6,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        };
        let spec = MarketSpec::new(MarketId(0), "A-B", token(0), token(1), 2, true).unwrap();
        let quote = |side, price| Quote {
            side,
            price: Price(price),
            qty: Qty(1),
            level: 0,
        };
        // The innermost quotes are 9 995 and 10 005: ten ticks of a mid of 10 000 are ten ten-thousandths.
        let quotes = [
            quote(Side::Buy, 9_900),
            quote(Side::Buy, 9_995),
            quote(Side::Sell, 10_005),
        ];
        let warned = |quotes: &[Quote], bps| crossing(&spec, quotes, 20_000, bps).is_some();
        assert!(!warned(&quotes, 9));
        assert!(warned(&quotes, 10));
        assert!(!warned(&quotes[..2], 1_000), "one side crosses nothing");
    }
}
