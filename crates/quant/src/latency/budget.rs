//! A budget of messages split across markets or levels: by fixed periods, or by the drift of the
//! fair price, which leaves a third of the error at the same number of messages.

use crate::error::{Error, Result, non_negative, positive, require};

/// Costs and messages of refreshing quotes in one market.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Refresh {
    /// Cost of staleness: `cost · period^power` a second.
    pub cost: f64,
    /// Messages a refresh takes (2: cancel and submit).
    pub messages: f64,
}

/// How the cost of staleness grows with the period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// With the period: squared errors of a diffusing price.
    Linear,
    /// With its root: absolute errors.
    Root,
}

/// Periods between refreshes.
#[derive(Clone, PartialEq, Debug)]
pub struct Periods {
    /// One for each market, s.
    pub periods: Vec<f64>,
    /// Cost of staleness at these periods, a second.
    pub cost_rate: f64,
    /// Cost with one period for all markets, a second.
    pub cost_rate_equal: f64,
    /// Messages a second: the budget.
    pub message_rate: f64,
}

/// The periods that cost least for a budget (messages a second): `τ = √(m/c)·S/B`, `S = Σ√(mc)`, or
/// for root costs `τ = (m/c)^(2/3)·S/B`, `S = Σm^(1/3)c^(2/3)`.
///
/// Lagrange's condition on `Σcτ^p` with `Σm/τ = B`. Callers leave out markets without costs.
pub fn periods(markets: &[Refresh], budget: f64, growth: Growth) -> Result<Periods> {
    let budget = positive("message budget", budget)?;
    checked(markets.len())?;
    for market in markets {
        positive("staleness cost", market.cost)?;
        positive("messages", market.messages)?;
    }
    let share = |market: &Refresh| match growth {
        Growth::Linear => libm::sqrt(market.messages / market.cost),
        Growth::Root => {
            let root = libm::cbrt(market.messages / market.cost);
            root * root
        }
    };
    let used: f64 = markets.iter().map(|m| m.messages / share(m)).sum();
    let scale = positive("message budget", used / budget)?;
    let periods: Vec<f64> = markets.iter().map(|market| share(market) * scale).collect();
    let power = |period: f64| match growth {
        Growth::Linear => period,
        Growth::Root => libm::sqrt(period),
    };
    let each = |period: &dyn Fn(usize) -> f64| -> f64 {
        let costs = markets.iter().enumerate();
        costs
            .map(|(i, market)| market.cost * power(period(i)))
            .sum()
    };
    let equal = markets.iter().map(|market| market.messages).sum::<f64>() / budget;
    Ok(Periods {
        cost_rate: each(&|i| periods[i]),
        cost_rate_equal: each(&|_| equal),
        message_rate: markets
            .iter()
            .zip(&periods)
            .map(|(m, t)| m.messages / t)
            .sum(),
        periods,
    })
}

/// A market whose quotes are refreshed when the fair price has drifted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drifting {
    /// Volatility, price/√s.
    pub sigma: f64,
    /// Cost of a squared error, for each second and price².
    pub weight: f64,
    /// Messages a refresh takes.
    pub messages: f64,
}

/// Thresholds of drift.
#[derive(Clone, PartialEq, Debug)]
pub struct Thresholds {
    /// One for each market: refresh when the fair price is farther than this from where it was when
    /// the quote was made. Price.
    pub thresholds: Vec<f64>,
    /// Mean time between refreshes `h²/σ²`, s.
    pub periods: Vec<f64>,
    /// Mean squared error `h²/6`, price².
    pub mean_squares: Vec<f64>,
    /// Cost of the errors, a second: `S²/(6B)`.
    pub cost_rate: f64,
    /// Cost with the best fixed periods: three times as much.
    pub cost_rate_periodic: f64,
}

/// The thresholds that cost least for a budget (messages a second): `h² = σ√(m/w)·S/B`, `S =
/// Σσ√(mw)`.
///
/// The mean square at a threshold compared with fixed periods: Åström & Bernhardsson, "Comparison
/// of Riemann and Lebesgue sampling" (2002). The advantage is smaller if polling is not much faster
/// than `h²/σ²`.
pub fn thresholds(markets: &[Drifting], budget: f64) -> Result<Thresholds> {
    let budget = positive("message budget", budget)?;
    checked(markets.len())?;
    for market in markets {
        positive("sigma", market.sigma)?;
        positive("weight", market.weight)?;
        positive("messages", market.messages)?;
    }
    let total: f64 = markets
        .iter()
        .map(|m| m.sigma * libm::sqrt(m.messages * m.weight))
        .sum();
    let scale = positive("message budget", total / budget)?;
    let squares: Vec<f64> = markets
        .iter()
        .map(|m| m.sigma * libm::sqrt(m.messages / m.weight) * scale)
        .collect();
    let periods = markets
        .iter()
        .zip(&squares)
        .map(|(m, square)| square / (m.sigma * m.sigma));
    Ok(Thresholds {
        thresholds: squares.iter().map(|square| libm::sqrt(*square)).collect(),
        periods: periods.collect(),
        mean_squares: squares.iter().map(|square| square / 6.0).collect(),
        cost_rate: total * scale / 6.0,
        cost_rate_periodic: total * scale / 2.0,
    })
}

/// Whether a quote has to be refreshed: the fair price has drifted beyond the threshold since it was
/// made.
///
/// As [`thresholds`]. Both prices in one unit.
pub fn has_drifted(fair: f64, fair_at_quote: f64, threshold: f64) -> Result<bool> {
    let fair = crate::error::finite("fair price", fair)?;
    let before = crate::error::finite("fair price at the quote", fair_at_quote)?;
    Ok((fair - before).abs() > non_negative("threshold", threshold)?)
}

fn checked(markets: usize) -> Result<()> {
    if markets == 0 {
        return Err(Error::TooFew {
            name: "markets",
            needed: 1,
            given: 0,
        });
    }
    require(markets <= 100_000, "markets", "at most 100000")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;
    use crate::simulation::Random;

    const MARKETS: [Refresh; 3] = [
        Refresh {
            cost: 0.3,
            messages: 3.0,
        },
        Refresh {
            cost: 2.2,
            messages: 1.0,
        },
        Refresh {
            cost: 0.1,
            messages: 2.0,
        },
    ];

    #[test]
    fn the_budget_is_spent_and_no_neighbour_is_cheaper() {
        for growth in [Growth::Linear, Growth::Root] {
            let best = periods(&MARKETS, 0.8, growth).unwrap();
            assert!((best.message_rate - 0.8).abs() < 1e-12);
            assert!(best.cost_rate < best.cost_rate_equal);
            let cost = |periods: &[f64]| -> f64 {
                let power = |t: f64| {
                    if growth == Growth::Linear {
                        t
                    } else {
                        libm::sqrt(t)
                    }
                };
                MARKETS
                    .iter()
                    .zip(periods)
                    .map(|(m, t)| m.cost * power(*t))
                    .sum()
            };
            // Moving messages from one market to another only adds costs.
            for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                let mut other = best.periods.clone();
                let moved = 1e-3;
                other[from] =
                    MARKETS[from].messages / (MARKETS[from].messages / other[from] - moved);
                other[to] = MARKETS[to].messages / (MARKETS[to].messages / other[to] + moved);
                assert!(cost(&other) > best.cost_rate);
            }
        }
    }

    /// Simulated at small steps: the threshold's error is near h²/6 at the stated rate.
    #[test]
    fn drift_thresholds_leave_a_third_of_the_error_of_fixed_periods() {
        let mut random = Random::new(6);
        let step = 0.002;
        let (mut off, mut square, mut refreshes) = (0.0_f64, 0.0, 0.0);
        let steps = 400_000;
        for _ in 0..steps {
            off += libm::sqrt(step) * random.normal();
            if has_drifted(off, 0.0, 1.0).unwrap() {
                off = 0.0;
                refreshes += 1.0;
            }
            square += off * off;
        }
        let seconds = f64::from(steps) * step;
        let error = square / f64::from(steps);
        // Fixed periods at the same rate leave half of the time between refreshes.
        let clock = seconds / refreshes / 2.0;
        assert!(error < 0.40 * clock, "{error} {clock}");
        let made = thresholds(
            &[Drifting {
                sigma: 1.0,
                weight: 1.0,
                messages: 1.0,
            }],
            refreshes / seconds,
        )
        .unwrap();
        assert!((made.mean_squares[0] / error - 1.0).abs() < 0.1);
        assert!((made.cost_rate_periodic / made.cost_rate - 3.0).abs() < 1e-12);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(periods(&[], 1.0, Growth::Linear).is_err() && thresholds(&[], 1.0).is_err());
        assert!(periods(&MARKETS, 0.0, Growth::Linear).is_err());
        let free = [Refresh {
            cost: 0.0,
            messages: 1.0,
        }];
        assert!(periods(&free, 1.0, Growth::Root).is_err());
        let still = [Drifting {
            sigma: 0.0,
            weight: 1.0,
            messages: 1.0,
        }];
        assert!(thresholds(&still, 1.0).is_err());
        assert!(has_drifted(f64::NAN, 0.0, 1.0).is_err() && has_drifted(1.0, 0.0, -1.0).is_err());
    }
}
