//! Market making with a running penalty on the inventory: Cartea, Jaimungal & Penalva, "Algorithmic
//! and High-Frequency Trading" (2015), chapter 10.

use crate::error::{Error, Result, non_negative, positive, require, solved};
use crate::flow::{Chain, Positive};
use crate::glft::BOUND_MAX;

/// A market and the costs of inventory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// Market orders a second on each side, λ.
    pub arrivals: f64,
    /// Decay κ of the probability `e^(−κδ)` that one of them fills our order, 1/price.
    pub decay: f64,
    /// Running penalty φ: `φq²` a second, price.
    pub running_penalty: f64,
    /// Penalty α at the end: `αq²`, price.
    pub terminal_penalty: f64,
    /// The inventory bound Q, lots.
    pub bound: u32,
}

/// Quotes by inventory, from −Q to Q.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Mid − bid from −Q lots, price; `None` at Q.
    pub bids: Vec<Option<f64>>,
    /// Ask − mid from −Q lots, price; `None` at −Q.
    pub asks: Vec<Option<f64>>,
    /// The value `h` beyond cash and inventory at the mid, from −Q lots, price · lots.
    pub values: Vec<f64>,
}

impl Parameters {
    /// The quotes `time_left` seconds before the end: `ω = e^(A·τ)·z`, `A_qq = −φκq²`,
    /// `A_q,q±1 = λ/e`, `z_q = e^(−ακq²)`, `h = ln(ω)/κ`, `δ = 1/κ − h(q±1) + h(q)`.
    pub fn with_time_left(&self, time_left: f64) -> Result<Table> {
        let arrivals = positive("arrivals", self.arrivals)?;
        let kappa = positive("decay", self.decay)?;
        let running = non_negative("running penalty", self.running_penalty)? * kappa;
        let terminal = non_negative("terminal penalty", self.terminal_penalty)? * kappa;
        require(
            (1..=BOUND_MAX).contains(&self.bound),
            "inventory bound",
            "from 1 to 2000 lots",
        )?;
        let bound = i64::from(self.bound);
        let squares: Vec<f64> = (-bound..=bound).map(|q| (q * q) as f64).collect();
        let coupling = vec![arrivals * libm::exp(-1.0); squares.len()];
        let chain = Chain {
            decay: squares.iter().map(|square| running * square).collect(),
            from_lower: coupling.clone(),
            from_upper: coupling,
        };
        let end: Vec<f64> = squares.iter().map(|square| -terminal * square).collect();
        let mut values = Positive::from_logs(&end)?;
        chain.advance(&mut values, time_left)?;
        let last = squares.len() - 1;
        let quote = |from: usize, to: usize| {
            solved("quotes", (1.0 + values.log_ratio(from, to)) / kappa).map(Some)
        };
        let bids: Result<Vec<_>> = (0..=last)
            .map(|i| if i == last { Ok(None) } else { quote(i, i + 1) })
            .collect();
        let asks: Result<Vec<_>> = (0..=last)
            .map(|i| i.checked_sub(1).map_or(Ok(None), |below| quote(i, below)))
            .collect();
        let values: Vec<f64> = (0..=last).map(|i| values.log(i) / kappa).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Err(Error::NoSolution { name: "quotes" });
        }
        Ok(Table {
            bids: bids?,
            asks: asks?,
            values,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    const BASE: Parameters = Parameters {
        arrivals: 140.0,
        decay: 1.5,
        running_penalty: 0.01,
        terminal_penalty: 0.001,
        bound: 8,
    };

    /// Results of mbt_gym's agent, run unmodified.
    #[test]
    fn numbers_match_mbt_gym() {
        let table = BASE.with_time_left(1.0).unwrap();
        assert!((table.bids[0].unwrap() - 0.209_511_779_251_499_77).abs() < 1e-10);
        assert!((table.asks[1].unwrap() - 1.123_821_554_081_843).abs() < 1e-10);
        assert!((table.values[8] - 67.674_030_208_079_7).abs() < 1e-8);
        assert_eq!((table.bids[16], table.asks[0]), (None, None));
    }

    #[test]
    fn at_the_end_only_the_terminal_penalty_counts_and_invalid_input_is_refused() {
        let end = BASE.with_time_left(0.0).unwrap();
        assert!((end.bids[8].unwrap() - (1.0 / 1.5 + 0.001)).abs() < 1e-14);
        for bad in [
            Parameters {
                arrivals: 0.0,
                ..BASE
            },
            Parameters {
                decay: f64::NAN,
                ..BASE
            },
            Parameters {
                running_penalty: -1.0,
                ..BASE
            },
            Parameters {
                terminal_penalty: f64::INFINITY,
                ..BASE
            },
            Parameters { bound: 0, ..BASE },
        ] {
            assert!(bad.with_time_left(1.0).is_err(), "{bad:?}");
        }
    }
}
