//! Sampled paths of the experiment.

use super::{Cell, Checked, Experiment, Random};
use crate::error::{Error, Result, require};

/// Sample statistics at the end of the experiment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampled {
    /// Number of paths.
    pub paths: u32,
    /// Mean of cash + inventory · mid.
    pub mean_profit: f64,
    /// Its standard deviation.
    pub std_profit: f64,
    /// Mean of the inventory, lots.
    pub mean_inventory: f64,
    /// Its standard deviation.
    pub std_inventory: f64,
    /// Share of the paths in which a quote lay beyond the mid at some step.
    pub share_crossing: f64,
}

/// Simulates an experiment `paths` times; the same seed gives the same paths.
///
/// Avellaneda & Stoikov 2008, section 3.3, with 1,000 paths.
pub fn sample(experiment: &Experiment, paths: u32, seed: u64) -> Result<Sampled> {
    require(
        (2..=10_000_000).contains(&paths),
        "paths",
        "from 2 to ten million",
    )?;
    let checked = Checked::new(experiment)?;
    let table = Table::new(&checked)?;
    let mut random = Random::new(seed);
    let (mut profit, mut inventory) = (Sum::default(), Sum::default());
    let mut crossing = 0_u32;
    let start = experiment.cash + f64::from(experiment.inventory) * experiment.mid;
    for _ in 0..paths {
        let end = simulate(&checked, &table, &mut random);
        profit.add(start + end.earned);
        inventory.add(f64::from(end.inventory));
        crossing += u32::from(end.crossed);
    }
    Ok(Sampled {
        paths,
        mean_profit: profit.mean,
        std_profit: profit.std(),
        mean_inventory: inventory.mean,
        std_inventory: inventory.std(),
        share_crossing: f64::from(crossing) / f64::from(paths),
    })
}

/// Largest inventory, in lots, for which the table holds quotes; beyond it they are computed when
/// reached.
const TABLE_REACH: i32 = 64;

/// Random draws are integers of 31 bits: finer than any feasible number of paths resolves.
const DRAWS: f64 = 2_147_483_648.0;

/// One side in the simulation: it fills when a draw is below the threshold.
#[derive(Clone, Copy)]
struct Played {
    bid: f64,
    ask: f64,
    bid_below: u32,
    ask_below: u32,
}

impl From<Cell> for Played {
    fn from(Cell { bid, ask }: Cell) -> Self {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "probabilities from 0 to 1: at most 2^31"
        )]
        let below = |probability: f64| libm::round(probability * DRAWS) as u32;
        Self {
            bid: bid.distance,
            ask: ask.distance,
            bid_below: below(bid.probability),
            ask_below: below(ask.probability),
        }
    }
}

/// Quotes of all steps at small inventories.
struct Table {
    rows: Vec<Played>,
    width: usize,
}

impl Table {
    fn new(checked: &Checked) -> Result<Self> {
        let width = usize::try_from(2 * TABLE_REACH + 1)
            .map_err(|_| Error::TooMuchWork { name: "step" })?;
        let inventories = -TABLE_REACH..=TABLE_REACH;
        let rows = (0..checked.steps)
            .flat_map(|step| inventories.clone().map(move |q| (step, q)))
            .map(|(step, inventory)| checked.cell(step, inventory).into());
        Ok(Self {
            rows: rows.collect(),
            width,
        })
    }

    fn at(&self, checked: &Checked, step: usize, inventory: i32) -> Played {
        usize::try_from(inventory + TABLE_REACH)
            .ok()
            .filter(|column| *column < self.width)
            .map_or_else(
                || checked.cell(step, inventory).into(),
                |column| self.rows[step * self.width + column],
            )
    }
}

/// The end of a path: the profit since the start.
struct End {
    earned: f64,
    inventory: i32,
    crossed: bool,
}

fn simulate(checked: &Checked, table: &Table, random: &mut Random) -> End {
    let mut end = End {
        earned: 0.0,
        inventory: checked.of.inventory,
        crossed: false,
    };
    for step in 0..checked.steps {
        let quotes = table.at(checked, step, end.inventory);
        end.crossed |= quotes.bid < 0.0 || quotes.ask < 0.0;
        let bits = random.bits();
        #[allow(clippy::cast_possible_truncation, reason = "31 bits")]
        let draw = |shift: u32| (bits >> shift & 0x7fff_ffff) as u32;
        // Every branch here would be random and mispredicted: arithmetic instead of branches.
        let sold = i32::from(draw(0) < quotes.ask_below);
        let bought = i32::from(draw(31) < quotes.bid_below);
        let sign = 1 - 2 * i32::from(bits >> 63 != 0);
        end.inventory += bought - sold;
        end.earned += f64::from(sold) * quotes.ask + f64::from(bought) * quotes.bid;
        let jump = f64::from(sign) * checked.jump;
        end.earned += f64::from(end.inventory) * jump;
    }
    end
}

/// Mean and sum of squares, updated value by value (Welford 1962).
#[derive(Default)]
struct Sum {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    fn std(&self) -> f64 {
        libm::sqrt(self.squares / (self.count - 1.0))
    }
}
