//! The value of a quoting policy: the certainty equivalent of its profit over a horizon, without
//! sampling, so that policies can be compared and an implementation checked against the optimum.
//!
//! With `E[−e^(−γ(X + qS))] = −e^(−γ(x + qs))·φ_q` the continuous-time model of [`crate::glft`] gives
//! the linear system `dφ_q/dτ = (γ²σ²q²/2 − λ_b − λ_a)·φ_q + λ_b·e^(−γδ_b)·φ_(q+1) + λ_a·e^(−γδ_a)·φ_(q−1)`,
//! `λ = A·e^(−kδ)`; the certainty equivalent is `−ln(φ_0)/γ`. Quotes far beyond the mid fill at once
//! and make it stiff: it is solved by an L-stable Runge–Kutta method of order four (Hairer & Wanner,
//! "Solving Ordinary Differential Equations II", table IV.6.5).

use crate::error::{Error, Result, non_negative, positive, require, solved};

/// The model in which a policy is valued. Ticks, seconds, lots.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// Volatility σ, ticks/√s.
    pub sigma: f64,
    /// Scale A of the fill intensity, 1/s.
    pub intensity: f64,
    /// Decay k of the intensity, 1/tick.
    pub decay: f64,
    /// Risk aversion γ, 1/tick for each lot, above 0.
    pub risk_aversion: f64,
    /// The inventory bound Q: no bid at Q, no ask at −Q.
    pub bound: u32,
    /// The horizon T, s.
    pub horizon: f64,
}

/// Distances of bid and ask from the mid, ticks. The distance of the side that the bound closes is
/// ignored.
pub type Distances = (f64, f64);

const STAGES: usize = 5;
const GAMMA: f64 = 0.25;
const NODES: [f64; STAGES] = [0.25, 0.75, 0.55, 0.5, 1.0];
/// The order in which the nodes rise.
const RISING: [usize; STAGES] = [0, 3, 2, 1, 4];
const WEIGHTS: [[f64; STAGES]; STAGES] = [
    [0.25, 0.0, 0.0, 0.0, 0.0],
    [0.5, 0.25, 0.0, 0.0, 0.0],
    [17.0 / 50.0, -1.0 / 25.0, 0.25, 0.0, 0.0],
    [371.0 / 1_360.0, -137.0 / 2_720.0, 15.0 / 544.0, 0.25, 0.0],
    [25.0 / 24.0, -49.0 / 48.0, 125.0 / 16.0, -85.0 / 12.0, 0.25],
];

/// The certainty equivalent, at no inventory, of quoting `policy(time left, inventory)` over the
/// horizon: ticks · lots. `policy` is called at increasing times left, for all inventories at each.
///
/// The model: Guéant, Lehalle & Fernandez-Tapia, arXiv 1105.3115v5, section 2.
pub fn certainty_equivalent(
    setting: &Setting,
    steps: u32,
    mut policy: impl FnMut(f64, i64) -> Result<Distances>,
) -> Result<f64> {
    let gamma = positive("risk aversion", setting.risk_aversion)?;
    positive("intensity", setting.intensity)?;
    positive("decay", setting.decay)?;
    non_negative("sigma", setting.sigma)?;
    let horizon = positive("horizon", setting.horizon)?;
    require(
        (1..=200).contains(&setting.bound),
        "inventory bound",
        "from 1 to 200 lots",
    )?;
    require((1..=100_000).contains(&steps), "steps", "from 1 to 100000")?;
    let step = horizon / f64::from(steps);
    let size = 2 * setting.bound as usize + 1;
    let mut phi = vec![1.0; size];
    let mut log = 0.0;
    for n in 0..steps {
        let start = f64::from(n) * step;
        let mut systems: [Option<System>; STAGES] = Default::default();
        for stage in RISING {
            let time_left = (start + NODES[stage] * step).min(horizon);
            systems[stage] = Some(System::new(setting, |q| policy(time_left, q))?);
        }
        phi = advance(&systems, &phi, step)?;
        let scale = phi.iter().copied().fold(0.0, f64::max);
        log += libm::log(positive("value", scale)?);
        for element in &mut phi {
            *element /= scale;
        }
    }
    let middle = positive("value", phi[setting.bound as usize])?;
    solved("certainty equivalent", -(libm::log(middle) + log) / gamma)
}

/// One step of the Runge–Kutta method.
fn advance(systems: &[Option<System>; STAGES], phi: &[f64], step: f64) -> Result<Vec<f64>> {
    let mut slopes: Vec<Vec<f64>> = Vec::with_capacity(STAGES);
    for (stage, system) in systems.iter().enumerate() {
        let system = system.as_ref().ok_or(Error::NoSolution { name: "value" })?;
        let mut at = phi.to_vec();
        for (weight, slope) in WEIGHTS[stage].iter().zip(&slopes) {
            for (element, slope) in at.iter_mut().zip(slope) {
                *element += step * weight * slope;
            }
        }
        slopes.push(system.solve(&system.apply(&at), step * GAMMA));
    }
    let mut next = phi.to_vec();
    for (weight, slope) in WEIGHTS[STAGES - 1].iter().zip(&slopes) {
        for (element, slope) in next.iter_mut().zip(slope) {
            *element += step * weight * slope;
        }
    }
    Ok(next)
}

/// A tridiagonal system of linear differential equations.
struct System {
    lower: Vec<f64>,
    diagonal: Vec<f64>,
    upper: Vec<f64>,
}

impl System {
    fn new(setting: &Setting, mut policy: impl FnMut(i64) -> Result<Distances>) -> Result<Self> {
        let bound = i64::from(setting.bound);
        let gamma = setting.risk_aversion;
        let mut made = Self {
            lower: Vec::new(),
            diagonal: Vec::new(),
            upper: Vec::new(),
        };
        for q in -bound..=bound {
            let (bid, ask) = policy(q)?;
            let risk = gamma * setting.sigma * q as f64;
            let mut own = risk * risk / 2.0;
            let mut side = |quoted: bool, distance: f64| -> Result<f64> {
                if !quoted {
                    return Ok(0.0);
                }
                let rate = setting.intensity * libm::exp(-setting.decay * distance);
                own -= solved("fill intensity", rate)?;
                solved("fill intensity", rate * libm::exp(-gamma * distance))
            };
            made.upper.push(side(q < bound, bid)?);
            made.lower.push(side(q > -bound, ask)?);
            made.diagonal.push(own);
        }
        Ok(made)
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let row = |i: usize| {
            let below = if i > 0 { self.lower[i] * x[i - 1] } else { 0.0 };
            let above = x.get(i + 1).map_or(0.0, |above| self.upper[i] * above);
            below + self.diagonal[i] * x[i] + above
        };
        (0..x.len()).map(row).collect()
    }

    /// Solves `(1 − s·J)·x = right` by elimination.
    fn solve(&self, right: &[f64], s: f64) -> Vec<f64> {
        let size = right.len();
        let (mut upper, mut x) = (vec![0.0; size], vec![0.0; size]);
        for i in 0..size {
            let lower = -s * self.lower[i];
            let (before, from) = if i > 0 {
                (upper[i - 1], x[i - 1])
            } else {
                (0.0, 0.0)
            };
            let pivot = 1.0 - s * self.diagonal[i] - lower * before;
            upper[i] = -s * self.upper[i] / pivot;
            x[i] = (right[i] - lower * from) / pivot;
        }
        for i in (0..size - 1).rev() {
            x[i] -= upper[i] * x[i + 1];
        }
        x
    }
}

#[cfg(test)]
mod tests;
