//! Exact moments of the experiment by dynamic programming over the inventory.
//!
//! Distances do not depend on the mid, so the profit of a path is a sum over its steps of distances
//! and of inventory times move; the first four moments of that sum, for each inventory, follow from
//! those of the step before.
//!
//! Source: derived here from the rules of Avellaneda & Stoikov 2008, section 3.3; errors of
//! standard deviations from the fourth moment (Cramér 1946, section 27.4).

use super::{Cell, Checked, Experiment};
use crate::error::{Error, Result, solved};

/// Exact moments at the end of the experiment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moments {
    /// Mean over the steps of ask − bid.
    pub mean_spread: f64,
    /// Mean of cash + inventory · mid.
    pub mean_profit: f64,
    /// Its standard deviation.
    pub std_profit: f64,
    /// Its kurtosis (3 if it were normal).
    pub kurtosis_profit: f64,
    /// Mean of the inventory, lots.
    pub mean_inventory: f64,
    /// Its standard deviation.
    pub std_inventory: f64,
    /// Its kurtosis.
    pub kurtosis_inventory: f64,
    /// Total probability lost by rounding.
    pub lost_mass: f64,
}

impl Moments {
    /// The standard error of a mean profit over `paths` paths.
    pub fn error_of_mean_profit(&self, paths: f64) -> f64 {
        self.std_profit / libm::sqrt(paths)
    }

    /// The standard error of a standard deviation of profits over `paths` paths:
    /// `s·√((κ−1)/4n)`, κ the kurtosis.
    pub fn error_of_std_profit(&self, paths: f64) -> f64 {
        error_of_std(self.std_profit, self.kurtosis_profit, paths)
    }

    /// The standard error of a mean inventory over `paths` paths.
    pub fn error_of_mean_inventory(&self, paths: f64) -> f64 {
        self.std_inventory / libm::sqrt(paths)
    }

    /// The standard error of a standard deviation of inventories over `paths` paths.
    pub fn error_of_std_inventory(&self, paths: f64) -> f64 {
        error_of_std(self.std_inventory, self.kurtosis_inventory, paths)
    }
}

fn error_of_std(std: f64, kurtosis: f64, paths: f64) -> f64 {
    std * libm::sqrt((kurtosis - 1.0).max(0.0) / (4.0 * paths))
}

/// Moments of orders 0 to 4 of the profit so far, joint with one inventory.
type Row = [f64; 5];

/// The moments after adding a constant.
fn shifted(row: &Row, by: f64) -> Row {
    let [m0, m1, m2, m3, m4] = *row;
    let (b2, b3) = (by * by, by * by * by);
    [
        m0,
        m1 + by * m0,
        m2 + 2.0 * by * m1 + b2 * m0,
        m3 + 3.0 * by * m2 + 3.0 * b2 * m1 + b3 * m0,
        m4 + 4.0 * by * m3 + 6.0 * b2 * m2 + 4.0 * b3 * m1 + b3 * by * m0,
    ]
}

/// The moments after adding `±by` with equal probability.
fn spread_out(row: &Row, by: f64) -> Row {
    let [m0, m1, m2, m3, m4] = *row;
    let b2 = by * by;
    [
        m0,
        m1,
        m2 + b2 * m0,
        m3 + 3.0 * b2 * m1,
        m4 + 6.0 * b2 * m2 + b2 * b2 * m0,
    ]
}

fn add(to: &mut Row, row: &Row, weight: f64) {
    for (sum, term) in to.iter_mut().zip(row) {
        *sum += weight * term;
    }
}

/// The exact moments of an experiment.
///
/// Avellaneda & Stoikov 2008, section 3.3; the recursion is derived here.
pub fn moments(experiment: &Experiment) -> Result<Moments> {
    let checked = Checked::new(experiment)?;
    let inventory_max =
        i32::try_from(checked.inventory_max()).map_err(|_| Error::TooMuchWork { name: "step" })?;
    let size = 2 * checked.inventory_max() + 1;
    let at = |inventory: i32| usize::try_from(inventory + inventory_max).unwrap_or(0);
    // The profit is counted from its mean so far, so that fourth powers stay small.
    let mut rows = vec![[0.0; 5]; size];
    rows[at(experiment.inventory)][0] = 1.0;
    let mut next = rows.clone();
    let mut drifted = 0.0;
    for step in 0..checked.steps {
        next.fill([0.0; 5]);
        let centre = drift(&checked, &rows, step, inventory_max);
        drifted += centre;
        for inventory in -inventory_max..=inventory_max {
            let row = &rows[at(inventory)];
            if row[0] == 0.0 {
                continue;
            }
            let Cell { bid, ask } = checked.cell(step, inventory);
            let (b, a) = (bid.probability, ask.probability);
            let outcomes = [
                (0, -centre, (1.0 - b) * (1.0 - a)),
                (1, bid.distance - centre, b * (1.0 - a)),
                (-1, ask.distance - centre, a * (1.0 - b)),
                (0, bid.distance + ask.distance - centre, a * b),
            ];
            for (change, earned, probability) in outcomes {
                let to = inventory + change;
                if probability > 0.0 && (-inventory_max..=inventory_max).contains(&to) {
                    let moved = spread_out(&shifted(row, earned), f64::from(to) * checked.jump);
                    add(&mut next[at(to)], &moved, probability);
                }
            }
        }
        core::mem::swap(&mut rows, &mut next);
    }
    finish(&checked, &rows, inventory_max, drifted)
}

/// The mean profit of a step.
fn drift(checked: &Checked, rows: &[Row], step: usize, inventory_max: i32) -> f64 {
    (-inventory_max..=inventory_max)
        .zip(rows)
        .filter(|(_, row)| row[0] > 0.0)
        .map(|(inventory, row)| {
            let Cell { bid, ask } = checked.cell(step, inventory);
            row[0] * (bid.distance * bid.probability + ask.distance * ask.probability)
        })
        .sum()
}

/// `drifted` is the mean that was subtracted from the profit.
fn finish(checked: &Checked, rows: &[Row], inventory_max: i32, drifted: f64) -> Result<Moments> {
    let mut earned: Row = [0.0; 5];
    let mut held: Row = [0.0; 5];
    for (inventory, row) in (-inventory_max..=inventory_max).zip(rows) {
        add(&mut earned, row, 1.0);
        add(
            &mut held,
            &shifted(&[row[0], 0.0, 0.0, 0.0, 0.0], f64::from(inventory)),
            1.0,
        );
    }
    let of = &checked.of;
    let start = of.cash + f64::from(of.inventory) * of.mid;
    let (mean_earned, std_profit, kurtosis_profit) = central(&earned);
    let (mean_inventory, std_inventory, kurtosis_inventory) = central(&held);
    Ok(Moments {
        mean_spread: checked.mean_spread(),
        mean_profit: solved("profit", start + mean_earned + drifted)?,
        std_profit: solved("profit", std_profit)?,
        kurtosis_profit,
        mean_inventory,
        std_inventory,
        kurtosis_inventory,
        lost_mass: 1.0 - earned[0],
    })
}

/// Mean, standard deviation and kurtosis from raw moments.
fn central(raw: &Row) -> (f64, f64, f64) {
    let mean = raw[1] / raw[0];
    let about = shifted(&raw.map(|moment| moment / raw[0]), -mean);
    let std = libm::sqrt(about[2].max(0.0));
    let kurtosis = if std > 0.0 {
        about[4] / (about[2] * about[2])
    } else {
        3.0
    };
    (mean, std, kurtosis)
}
