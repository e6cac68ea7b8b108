//! Adjusting to an inventory: order sizes by a target share, and when crossing is better than
//! waiting.

use crate::error::{Result, finite, non_negative, positive, require, solved};
use crate::number::{Number, least, most};

/// Multipliers of the order sizes, each from 0 to 2; they sum to 2 or are both 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratios<N> {
    /// Of bids.
    pub bid: N,
    /// Of asks.
    pub ask: N,
}

/// Current holdings and the target.
#[derive(Clone, PartialEq, Debug)]
pub struct Holdings<N> {
    /// Base held, from 0.
    pub base: N,
    /// Quote held, from 0.
    pub quote: N,
    /// Price, quote for each base, above 0.
    pub price: N,
    /// Target share of the value in base, 0 to 1.
    pub target: N,
    /// Base on either side of the target over which sizes change, from 0.
    pub range: N,
}

/// Sizes that lead back to a target share: with `V = base·price + quote` and a half-width
/// `min(range·price, V/2)`, the bid's ratio falls linearly from 2 below the range over 1 at the target
/// to 0 above it; the ask's is 2 minus that. Both are 0 without value or range.
///
/// hummingbot, pure market making, `inventory_skew_calculator`.
pub fn size_skew<N: Number>(held: &Holdings<N>) -> Result<Ratios<N>> {
    for (name, value) in [
        ("base", &held.base),
        ("quote", &held.quote),
        ("range", &held.range),
    ] {
        require(
            value.is_finite() && *value >= N::zero(),
            name,
            "a finite number from 0",
        )?;
    }
    require(
        held.price.is_finite() && held.price > N::zero(),
        "price",
        "a finite number above 0",
    )?;
    require(
        held.target.is_finite() && held.target >= N::zero() && held.target <= N::one(),
        "target share",
        "from 0 to 1",
    )?;
    let in_base = held.base.clone() * held.price.clone();
    let value = in_base.clone() + held.quote.clone();
    let half = least(
        held.range.clone() * held.price.clone(),
        value.clone() / N::whole(2),
    );
    if half <= N::zero() {
        return Ok(Ratios {
            bid: N::zero(),
            ask: N::zero(),
        });
    }
    let target = value * held.target.clone();
    let low = most(target.clone() - half.clone(), N::zero());
    let high = target.clone() + half.clone();
    let two = N::whole(2);
    let bid = if in_base < low {
        two.clone()
    } else if in_base > high {
        N::zero()
    } else if in_base >= target {
        (high - in_base) / half
    } else {
        two.clone() - (in_base - low.clone()) / (target - low)
    };
    Ok(Ratios {
        ask: two - bid.clone(),
        bid,
    })
}

/// Whether to close a position by crossing instead of working limit orders: the risk of holding it,
/// `γσ²·|q|·time`, is more than the half-spread and the fee of crossing.
///
/// Derived here from the risk term of Guéant, Lehalle & Fernandez-Tapia 2012. `sigma` price/√s,
/// `risk_aversion` 1/price for each lot, `time_left` s, costs in price for each lot.
pub fn is_worth_crossing(
    position: f64,
    sigma: f64,
    risk_aversion: f64,
    time_left: f64,
    half_spread: f64,
    fee: f64,
) -> Result<bool> {
    let sigma = non_negative("sigma", sigma)?;
    let gamma = non_negative("risk aversion", risk_aversion)?;
    let time = non_negative("time left", time_left)?;
    let risk = solved(
        "risk",
        gamma * sigma * sigma * finite("position", position)?.abs() * time,
    )?;
    Ok(risk > positive("half-spread", half_spread)? + finite("fee", fee)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    fn held(base: f64, quote: f64, price: f64, target: f64, range: f64) -> Holdings<f64> {
        Holdings {
            base,
            quote,
            price,
            target,
            range,
        }
    }

    /// hummingbot's `test_inventory_skew_calculator.py`, to its seven places.
    #[test]
    fn the_ratios_of_hummingbot_s_tests() {
        for (held, bid, ask) in [
            (
                held(85_000.0, 10_000.0, 0.0036, 0.03, 20_000.0),
                1.044_166_66,
                0.955_833_33,
            ),
            (
                held(70_000.0, 10_000.0, 0.0036, 0.03, 20_000.0),
                1.771_666_66,
                0.228_333_33,
            ),
            (held(10.0, 100.0, 1.0, 0.75, 200.0), 2.0, 0.0),
            (held(200_000.0, 10_000.0, 0.0036, 0.03, 20_000.0), 0.0, 2.0),
        ] {
            let made = size_skew(&held).unwrap();
            assert!(
                (made.bid - bid).abs() < 5e-8 && (made.ask - ask).abs() < 5e-8,
                "{held:?}"
            );
        }
    }

    #[test]
    fn without_value_or_range_nothing_is_quoted_and_bad_input_is_refused() {
        for held in [held(0.0, 0.0, 1.0, 0.5, 1.0), held(1.0, 1.0, 1.0, 0.5, 0.0)] {
            let made = size_skew(&held).unwrap();
            assert!(made.bid.abs() + made.ask.abs() < 1e-300);
        }
        for bad in [
            held(f64::NAN, 1.0, 1.0, 0.5, 1.0),
            held(-1.0, 1.0, 1.0, 0.5, 1.0),
            held(1.0, 1.0, 0.0, 0.5, 1.0),
            held(1.0, 1.0, 1.0, 1.1, 1.0),
            held(1.0, 1.0, 1.0, 0.5, f64::INFINITY),
        ] {
            assert!(size_skew(&bad).is_err());
        }
    }

    #[test]
    fn crossing_is_better_when_the_risk_of_waiting_costs_more() {
        let cross = |position| is_worth_crossing(position, 2.0, 0.1, 1.0, 0.5, 0.1).unwrap();
        assert!(!cross(1.4) && cross(-1.6));
        assert!(is_worth_crossing(1.0, f64::NAN, 0.1, 1.0, 0.5, 0.1).is_err());
        assert!(is_worth_crossing(1.0, 1.0, 0.1, 1.0, 0.0, 0.1).is_err());
    }
}
