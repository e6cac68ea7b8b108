//! Selling (or, mirrored, buying) a position with limit orders before a deadline: Guéant, Lehalle &
//! Fernandez-Tapia, "Optimal portfolio liquidation with limit orders", SIAM J. Financial Math. 3
//! (2012); Fernandez-Tapia's thesis (2015), chapter 3, whose tables the tests reproduce.

use crate::avellaneda_stoikov::intensity_spread;
use crate::error::{Error, Result, finite, non_negative, positive, require, solved};
use crate::flow::{Chain, Positive};
use crate::glft::{BOUND_MAX, eta};

/// A position to be sold. Prices in ticks, time in seconds, position in lots; to buy, mirror the
/// drift and read the distances as those of bids.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Liquidation {
    /// Volatility σ, ticks/√s.
    pub sigma: f64,
    /// Scale A of the fill intensity `A·e^(−kδ)`, 1/s.
    pub intensity: f64,
    /// Decay k of the intensity, 1/tick.
    pub decay: f64,
    /// Risk aversion γ, 1/tick for each lot; 0 is risk-neutral.
    pub risk_aversion: f64,
    /// Drift μ of the mid, ticks/s.
    pub drift: f64,
    /// Discount on each lot that is left at the deadline, ticks.
    pub discount: f64,
}

impl Liquidation {
    /// Ask − mid for 1, 2, … `lots` lots still to be sold, `time_left` seconds before the deadline.
    /// Ticks; negative where selling now is worth more than the mid.
    ///
    /// `w_0 = 1`, `w_q' = (αq² − βq)·w_q − η·w_(q−1)`, `w_q(T) = e^(−kqb)`,
    /// `δ_q = ln(w_q/w_(q−1))/k + ln(1+γ/k)/γ`.
    pub fn distances(&self, lots: u32, time_left: f64) -> Result<Vec<f64>> {
        let sigma = non_negative("sigma", self.sigma)?;
        let intensity = positive("intensity", self.intensity)?;
        let k = positive("decay", self.decay)?;
        let gamma = non_negative("risk aversion", self.risk_aversion)?;
        let drift = finite("drift", self.drift)?;
        let discount = finite("discount", self.discount)?;
        require((1..=BOUND_MAX).contains(&lots), "lots", "from 1 to 2000")?;
        let alpha = solved("sigma", k * gamma * sigma * sigma / 2.0)?;
        let beta = solved("drift", k * drift)?;
        let coupling = positive("fill intensity", eta(intensity, k, gamma))?;
        let positions = || (0..=lots).map(f64::from);
        let chain = Chain {
            decay: positions().map(|q| q * (alpha * q - beta)).collect(),
            from_lower: vec![coupling; lots as usize + 1],
            from_upper: vec![0.0; lots as usize + 1],
        };
        let end: Vec<f64> = positions().map(|q| -k * q * discount).collect();
        let mut values = Positive::from_logs(&end)?;
        chain.advance(&mut values, time_left)?;
        let base = intensity_spread(gamma, k)?;
        let distances: Vec<f64> = (1..=lots as usize)
            .map(|q| values.log_ratio(q, q - 1) / k + base)
            .collect();
        if distances.iter().all(|distance| distance.is_finite()) {
            Ok(distances)
        } else {
            Err(Error::NoSolution { name: "quotes" })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    const BASE: Liquidation = Liquidation {
        sigma: 0.3,
        intensity: 0.1,
        decay: 0.3,
        risk_aversion: 0.05,
        drift: 0.0,
        discount: 3.0,
    };

    /// The parameters of each row of a table and the row's values for 1 to 6 lots.
    type Table = (&'static str, Vec<(Liquidation, [f64; 6])>);

    /// The printed numbers of the thesis that are publicly available (tables 3.1, 3.3, 3.5 and
    /// 3.7). Table 3.5 is for σ = 3 as printed; the head of 3.7 states γ = 0.5, but its numbers are
    /// those of 0.1.
    fn tables() -> Vec<Table> {
        let of = |change: fn(&mut Liquidation, f64), value: f64| {
            let mut changed = BASE;
            change(&mut changed, value);
            changed
        };
        let drift = |value| of(|l, v| l.drift = v, value);
        let intensity = |value| of(|l, v| l.intensity = v, value);
        let decay = |value| Liquidation {
            sigma: 3.0,
            ..of(|l, v| l.decay = v, value)
        };
        let risk = |value| of(|l, v| l.risk_aversion = v, value);
        vec![
            (
                "3.1",
                vec![
                    (drift(-0.01), [9.2252, 6.581, 4.92, 3.6732, 2.6607, 1.8012]),
                    (BASE, [10.6095, 7.8737, 6.1299, 4.8082, 3.728, 2.8073]),
                    (
                        drift(0.01),
                        [12.2329, 9.3921, 7.5507, 6.1391, 4.9765, 3.9806],
                    ),
                ],
            ),
            (
                "3.3",
                vec![(
                    intensity(0.05),
                    [8.4128, 5.6704, 3.9199, 2.5917, 1.5051, 0.57851],
                )],
            ),
            (
                "3.5",
                vec![
                    (
                        decay(0.2),
                        [2.8768, -4.0547, -8.1093, -10.9861, -13.2176, -15.0408],
                    ),
                    (
                        decay(0.3),
                        [0.79631, -3.8247, -6.5278, -8.4457, -9.9333, -11.1488],
                    ),
                ],
            ),
            (
                "3.7",
                vec![(risk(0.1), [9.84, 6.7461, 4.7262, 3.189, 1.9384, 0.88139])],
            ),
        ]
    }

    #[test]
    fn the_printed_tables() {
        for (name, rows) in tables() {
            for (liquidation, printed) in rows {
                let computed = liquidation.distances(6, 300.0).unwrap();
                for (computed, printed) in computed.iter().zip(printed) {
                    assert!(
                        (computed - printed).abs() < 6e-5,
                        "{name}: {computed} {printed}"
                    );
                }
            }
        }
    }

    #[test]
    fn at_the_deadline_distances_are_the_discount_and_do_not_depend_on_later_lots() {
        let end = BASE.distances(3, 0.0).unwrap();
        let spread = intensity_spread(0.05, 0.3).unwrap();
        for distance in end {
            assert!((distance - (spread - 3.0)).abs() < 1e-13);
        }
        let (few, many) = (
            BASE.distances(4, 120.0).unwrap(),
            BASE.distances(60, 120.0).unwrap(),
        );
        for (few, many) in few.iter().zip(&many) {
            assert!((few - many).abs() < 1e-10);
        }
        assert!(many.windows(2).all(|pair| pair[1] < pair[0]));
    }

    #[test]
    fn out_of_range_input_is_refused() {
        for bad in [
            Liquidation {
                sigma: f64::NAN,
                ..BASE
            },
            Liquidation {
                intensity: -1.0,
                ..BASE
            },
            Liquidation { decay: 0.0, ..BASE },
            Liquidation {
                discount: f64::INFINITY,
                ..BASE
            },
            Liquidation {
                discount: 1e300,
                ..BASE
            },
            Liquidation {
                drift: f64::NAN,
                ..BASE
            },
        ] {
            assert!(bad.distances(6, 300.0).is_err(), "{bad:?}");
        }
        for (lots, time) in [(0, 1.0), (2_001, 1.0), (6, -1.0), (6, f64::NAN), (6, 1e15)] {
            assert!(BASE.distances(lots, time).is_err());
        }
    }
}
