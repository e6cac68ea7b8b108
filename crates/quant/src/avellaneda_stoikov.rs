//! Quotes of Avellaneda and Stoikov, "High-frequency trading in a limit order book", Quantitative
//! Finance 8(3) 2008, 217–224 (equations 29 and 30), and of its preprint of 2006 (3.10–3.12).
//!
//! A benchmark rather than a rule to quote by: the skew grows with the time left, so that far from
//! the end it is many times the optimum ([`crate::glft`] has the limit), and quotes may cross the
//! mid. Callers that trade by them must limit prices to those that only make.

use crate::error::{Result, finite, non_negative, positive, solved};

/// The inputs of the quotes other than the inventory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Market {
    /// Mid price.
    pub mid: f64,
    /// Volatility of the mid, price/√s.
    pub sigma: f64,
    /// Time to the end T − t, s.
    pub time_left: f64,
    /// Decay of the fill intensity `A·e^(−kδ)` with the distance, 1/price.
    pub decay: f64,
    /// Risk aversion γ, 1/price for each lot; 0 is risk-neutral.
    pub risk_aversion: f64,
}

/// Which formula gives the half-spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// As published in 2008: `γσ²(T−t)/2 + ln(1+γ/k)/γ` (equation 30).
    Published2008,
    /// The preprint's constant one: `ln(1+γ/k)/γ` (3.10–3.12).
    Preprint2006,
}

/// The two quotes and their components. Prices.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quotes {
    /// The reservation price `s − qγσ²(T−t)` (equation 29).
    pub reservation: f64,
    /// Half of the distance between the quotes.
    pub half_spread: f64,
    /// The bid.
    pub bid: f64,
    /// The ask.
    pub ask: f64,
    /// Mid − bid; negative when the bid is above the mid.
    pub bid_distance: f64,
    /// Ask − mid; negative when the ask is below the mid.
    pub ask_distance: f64,
}

/// `ln(1+γ/k)/γ`, and its limit 1/k for γ = 0: the half-spread that maximises the expected utility
/// of one fill.
///
/// Avellaneda & Stoikov 2008, equation 30; all of its successors have this term.
pub fn intensity_spread(risk_aversion: f64, decay: f64) -> Result<f64> {
    let gamma = non_negative("risk aversion", risk_aversion)?;
    let k = positive("decay", decay)?;
    let spread = if gamma == 0.0 {
        1.0 / k
    } else {
        libm::log1p(gamma / k) / gamma
    };
    solved("spread", spread)
}

/// The quotes at an inventory, in lots (negative: short).
///
/// Avellaneda & Stoikov 2008, equations 29 and 30, or the preprint's spread.
pub fn quotes(market: &Market, inventory: f64, variant: Variant) -> Result<Quotes> {
    let mid = finite("mid", market.mid)?;
    let inventory = finite("inventory", inventory)?;
    let sigma = non_negative("sigma", market.sigma)?;
    let time_left = non_negative("time left", market.time_left)?;
    let spread = intensity_spread(market.risk_aversion, market.decay)?;
    let skew = market.risk_aversion * sigma * sigma * time_left;
    let half_spread = match variant {
        Variant::Published2008 => skew / 2.0 + spread,
        Variant::Preprint2006 => spread,
    };
    let shift = inventory * skew;
    let reservation = solved("reservation price", mid - shift)?;
    Ok(Quotes {
        reservation,
        half_spread: solved("half-spread", half_spread)?,
        bid: reservation - half_spread,
        ask: reservation + half_spread,
        bid_distance: half_spread + shift,
        ask_distance: half_spread - shift,
    })
}

/// An intensity `A·e^(−kδ)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TailIntensity {
    /// A, 1/s.
    pub scale: f64,
    /// k, 1/price.
    pub decay: f64,
}

/// The intensity that follows from the sizes of market orders: a power-law tail with exponent
/// `tail` (1.4 to 1.53 on the markets that the paper cites), an impact `ln(size)/impact` (impact K in
/// 1/price) and `orders_per_s` market orders a second: `A = Λ/α`, `k = αK`.
///
/// Avellaneda & Stoikov 2008, section 2.5.
pub fn intensity_from_sizes(tail: f64, impact: f64, orders_per_s: f64) -> Result<TailIntensity> {
    let tail = positive("tail exponent", tail)?;
    Ok(TailIntensity {
        scale: solved("scale", positive("orders per second", orders_per_s)? / tail)?,
        decay: solved("decay", tail * positive("impact", impact)?)?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    const MARKET: Market = Market {
        mid: 100.0,
        sigma: 2.0,
        time_left: 1.0,
        decay: 1.5,
        risk_aversion: 0.1,
    };

    #[test]
    fn spread_and_skew_match_the_paper() {
        let flat = quotes(&MARKET, 0.0, Variant::Published2008).unwrap();
        // Page 222: the average spread over the paper's grid is 1.49; at its start it is 1.69.
        assert!((flat.half_spread - 0.845_385_211_375_711_8).abs() < 1e-15);
        let long = quotes(&MARKET, 3.0, Variant::Published2008).unwrap();
        assert!((long.reservation - 98.8).abs() < 1e-12);
        assert!((long.bid_distance - flat.bid_distance - 1.2).abs() < 1e-12);
        let early = quotes(&MARKET, 3.0, Variant::Preprint2006).unwrap();
        assert!((early.half_spread - 0.645_385_211_375_711_8).abs() < 1e-15);
        assert!((early.reservation - long.reservation).abs() < 1e-12);
    }

    #[test]
    fn without_risk_aversion_quotes_are_the_limit() {
        let neutral = intensity_spread(0.0, 1.5).unwrap();
        let nearly = intensity_spread(1e-12, 1.5).unwrap();
        assert!((neutral - nearly).abs() < 1e-12);
    }

    #[test]
    fn invalid_numbers_are_errors() {
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(quotes(&Market { mid: bad, ..MARKET }, 0.0, Variant::Published2008).is_err());
            assert!(
                quotes(
                    &Market {
                        sigma: bad,
                        ..MARKET
                    },
                    0.0,
                    Variant::Published2008
                )
                .is_err()
            );
            assert!(quotes(&MARKET, bad, Variant::Published2008).is_err());
        }
        for (market, inventory) in [
            (
                Market {
                    sigma: -1.0,
                    ..MARKET
                },
                0.0,
            ),
            (
                Market {
                    decay: 0.0,
                    ..MARKET
                },
                0.0,
            ),
            (
                Market {
                    time_left: -1.0,
                    ..MARKET
                },
                0.0,
            ),
            (
                Market {
                    risk_aversion: -0.1,
                    ..MARKET
                },
                0.0,
            ),
            (
                Market {
                    sigma: 1e200,
                    ..MARKET
                },
                1.0,
            ),
        ] {
            assert!(quotes(&market, inventory, Variant::Published2008).is_err());
        }
    }

    #[test]
    fn the_tail_gives_the_paper_s_shape() {
        let intensity = intensity_from_sizes(1.4, 1.0, 196.0).unwrap();
        assert!((intensity.scale - 140.0).abs() < 1e-12);
        assert!((intensity.decay - 1.4).abs() < 1e-12);
    }
}
