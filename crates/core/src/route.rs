//! The price of a market's base in its quote from the books of one or two other markets (triangulation).
//!
//! Exact rational arithmetic over integers; the one rounding is the last step, down to a half tick.

use crate::market::{MarketSpec, Side};
use crate::math::{gcd, mul_div_floor};

/// A way from the base token of a market to its quote token over other markets. `Sell` gives the base token of a
/// market for its quote token; `Buy` passes it the other way, at the inverse of its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    market: &'a MarketSpec,
    legs: Vec<(&'a MarketSpec, Side)>,
}

impl<'a> Route<'a> {
    /// The route over one or two markets, in either order. The error is a sentence that names the tokens that they
    /// connect.
    pub fn new(market: &'a MarketSpec, over: &[&'a MarketSpec]) -> Result<Self, String> {
        let wanted = format!("{} in {}", market.base.symbol, market.quote.symbol);
        let (first, second) = match over {
            [only] => (*only, None),
            [first, second] => (*first, Some(*second)),
            _ => return Err(format!("the price of {wanted} needs one or two markets")),
        };
        let legs = match second {
            None => walk(market, &[first]),
            Some(second) => {
                walk(market, &[first, second]).or_else(|| walk(market, &[second, first]))
            }
        };
        if let Some(legs) = legs {
            return Ok(Self { market, legs });
        }
        let connected = second.map_or_else(
            || Some([&first.base, &first.quote]),
            |second| {
                let ends = [&first.base, &first.quote, &second.base, &second.quote];
                let shared = |token: &crate::token::TokenSpec| {
                    ends.iter().filter(|end| end.id == token.id).count() > 1
                };
                let free: Vec<_> = ends.iter().copied().filter(|end| !shared(end)).collect();
                <[_; 2]>::try_from(free).ok()
            },
        );
        let names: Vec<_> = over.iter().map(|spec| spec.name.as_str()).collect();
        let names = names.join(" and ");
        let connect = if over.len() == 1 {
            "connects"
        } else {
            "connect"
        };
        Err(match connected {
            Some([one, other]) => format!(
                "{names} {connect} {} and {}, and not the tokens of this market: the price wanted is that of {wanted}",
                one.symbol, other.symbol
            ),
            None => format!(
                "{names} connect no two tokens over one that they share: the price wanted is that of {wanted}"
            ),
        })
    }

    /// The price in half ticks of the market, rounded down, from the mids of the markets in the order given to
    /// [`Route::new`], each in half ticks of its market. `None` for a mid of zero, for a price below half a tick, and
    /// on overflow.
    ///
    /// A mid of `m` half ticks is worth `m · q / (2 · l)` quote units for one base unit, with `l` base units in a lot
    /// and `q` quote units for a lot and tick ([`MarketSpec`]).
    pub fn half_ticks(&self, over: &[&MarketSpec], mids: &[u64]) -> Option<u64> {
        let (mut above, mut below) = (
            vec![2, self.market.lot],
            vec![self.market.quote_per_lot_tick],
        );
        for (leg, side) in &self.legs {
            let at = over.iter().position(|market| market.id == leg.id)?;
            let mid = u128::from(*mids.get(at)?);
            if mid == 0 {
                return None;
            }
            let price = [mid, leg.quote_per_lot_tick];
            let unit = [2, leg.lot];
            let (gains, costs) = match side {
                Side::Sell => (price, unit),
                Side::Buy => (unit, price),
            };
            above.extend(gains);
            below.extend(costs);
        }
        let price = quotient(above, below)?;
        u64::try_from(price).ok().filter(|price| *price > 0)
    }
}

/// From the base token to the quote token over these markets in this order.
fn walk<'a>(market: &MarketSpec, over: &[&'a MarketSpec]) -> Option<Vec<(&'a MarketSpec, Side)>> {
    let mut token = market.base.id;
    let mut legs = Vec::new();
    for leg in over {
        let side = if leg.base.id == token {
            Side::Sell
        } else if leg.quote.id == token {
            Side::Buy
        } else {
            return None;
        };
        token = leg.buy_token(side);
        legs.push((*leg, side));
    }
    (token == market.quote.id).then_some(legs)
}

/// The product of `above` over that of `below`, rounded down; what both have in common is divided out first, so that
/// powers of ten of any decimals fit.
fn quotient(mut above: Vec<u128>, mut below: Vec<u128>) -> Option<u128> {
    for up in &mut above {
        for down in &mut below {
            let common = gcd(*up, *down);
            *up = up.checked_div(common)?;
            *down = down.checked_div(common)?;
        }
    }
    let product = |factors: &[u128]| {
        let mut factors = factors.iter();
        factors.try_fold(1_u128, |product, factor| product.checked_mul(*factor))
    };
    let divisor = product(&below)?;
    // The largest factor is multiplied in twice the width.
    above.sort_unstable();
    let largest = above.pop()?;
    mul_div_floor(product(&above)?, largest, divisor)
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
