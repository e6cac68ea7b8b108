//! Quotes by inventory, from the values of neighbouring inventories.
//!
//! Source: Guéant, Lehalle & Fernandez-Tapia, arXiv 1105.3115v5, section 3 (finite horizon) and section 4
//! (asymptotic).

use super::Model;
use crate::error::{Error, Result, non_negative};
use crate::flow::{Chain, Positive};
use crate::spectrum::{Ground, ground};

/// When `gap · time` is above this, the second state's share in the ratios of the first is below
/// the precision of a float.
const SETTLED: f64 = 60.0;

/// Quotes by inventory.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    bound: u32,
    /// Mid − bid from −Q to Q−1 lots, ticks.
    bids: Vec<f64>,
    /// Ask − mid from −Q+1 to Q lots, ticks.
    asks: Vec<f64>,
    /// `(1/k)·ln v_q`, ticks · lots; empty for asymptotic quotes.
    values: Vec<f64>,
    eigenvalue: f64,
}

impl Table {
    /// The inventory bound Q, lots.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// Mid − bid at an inventory, ticks: may be negative. `None` at Q and beyond, where there is no
    /// bid. A short inventory beyond the bound is quoted as at the bound.
    pub fn bid_distance(&self, inventory: i64) -> Option<f64> {
        let bound = i64::from(self.bound);
        let index = inventory.max(-bound).checked_add(bound)?;
        self.bids.get(usize::try_from(index).ok()?).copied()
    }

    /// Ask − mid at an inventory, ticks: may be negative. `None` at −Q and beyond, where there is
    /// no ask. A long inventory beyond the bound is quoted as at the bound.
    pub fn ask_distance(&self, inventory: i64) -> Option<f64> {
        let bound = i64::from(self.bound);
        let index = inventory.min(bound).checked_add(bound - 1)?;
        self.asks.get(usize::try_from(index).ok()?).copied()
    }

    /// The certainty equivalent of quoting until the end with this risk aversion, at an inventory
    /// within the bound, beyond cash and inventory at the mid: ticks · lots. `None` for asymptotic
    /// quotes.
    pub fn certainty_equivalent(&self, inventory: i64) -> Option<f64> {
        let index = inventory.checked_add(i64::from(self.bound))?;
        self.values.get(usize::try_from(index).ok()?).copied()
    }

    /// The smallest eigenvalue E of M, 1/s: the long-run profit is −E/k a second.
    pub fn smallest_eigenvalue(&self) -> f64 {
        self.eigenvalue
    }

    fn new(model: &Model, ground: &Ground, log_ratios: &[f64], values: Vec<f64>) -> Result<Self> {
        let quote = |ratio: f64| ratio / model.decay + model.distance;
        let bids: Vec<f64> = log_ratios.iter().map(|ratio| quote(*ratio)).collect();
        let asks: Vec<f64> = log_ratios.iter().map(|ratio| quote(-ratio)).collect();
        let all = bids.iter().chain(&asks).chain(&values);
        if !all.copied().all(f64::is_finite) {
            return Err(Error::NoSolution { name: "quotes" });
        }
        Ok(Self {
            bound: model.bound,
            bids,
            asks,
            values,
            eigenvalue: ground.eigenvalue,
        })
    }
}

pub(super) fn asymptotic(model: &Model) -> Result<Table> {
    let ground = ground(&model.diagonal(), model.coupling)?;
    Table::new(model, &ground, &ground.log_ratios, Vec::new())
}

pub(super) fn finite_horizon(model: &Model, time_left: f64) -> Result<Table> {
    let mut path = Path::new(model)?;
    path.at(time_left)
}

/// The quotes at increasing times before the end.
#[derive(Clone, Debug)]
pub struct Path {
    model: Model,
    chain: Chain,
    ground: Ground,
    values: Positive,
    time_left: f64,
}

impl Path {
    pub(super) fn new(model: &Model) -> Result<Self> {
        let decay = model.diagonal();
        let ground = ground(&decay, model.coupling)?;
        let coupling = vec![model.coupling; decay.len()];
        Ok(Self {
            model: *model,
            ground,
            values: Positive::from_logs(&terminal(model))?,
            chain: Chain {
                decay,
                from_lower: coupling.clone(),
                from_upper: coupling,
            },
            time_left: 0.0,
        })
    }

    /// The quotes `time_left` seconds before the end, which is not less than at the last call.
    pub fn at(&mut self, time_left: f64) -> Result<Table> {
        non_negative("time left", time_left)?;
        if self.ground.gap * time_left > SETTLED {
            return self.settled(time_left);
        }
        non_negative("time since the last call", time_left - self.time_left)?;
        self.chain
            .advance(&mut self.values, time_left - self.time_left)?;
        self.time_left = time_left;
        let size = self.chain.decay.len();
        let ratios: Vec<f64> = (1..size).map(|i| self.values.log_ratio(i - 1, i)).collect();
        let worth = (0..size).map(|i| self.values.log(i) / self.model.decay);
        Table::new(&self.model, &self.ground, &ratios, worth.collect())
    }

    /// The quotes when only the lowest state is left: `v = e^(−Eτ)·f·⟨f, v(0)⟩/⟨f, f⟩`.
    fn settled(&self, time_left: f64) -> Result<Table> {
        let ratios = &self.ground.log_ratios;
        let mut logs = vec![0.0; ratios.len() + 1];
        for (i, ratio) in ratios.iter().enumerate() {
            logs[i + 1] = logs[i] - ratio;
        }
        let with_end = logs.iter().zip(terminal(&self.model)).map(|(f, v)| f + v);
        let weight = log_sum(with_end) - log_sum(logs.iter().map(|f| 2.0 * f));
        let worth = logs
            .iter()
            .map(|f| (f + weight - self.ground.eigenvalue * time_left) / self.model.decay);
        Table::new(&self.model, &self.ground, ratios, worth.collect())
    }
}

/// `ln v` at the end: 0, and with an impact the cost of valuing the inventory at a mid that every
/// fill has moved.
fn terminal(model: &Model) -> Vec<f64> {
    let cost = model.decay * model.impact / 2.0;
    model.inventories().map(|q| -cost * q * q).collect()
}

/// `ln Σ e^x`.
fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = logs.clone().fold(f64::MIN, f64::max);
    top + libm::log(logs.map(|log| libm::exp(log - top)).sum())
}
