//! Sampled paths of the experiment.

use super::{Cell, Checked, Experiment, Random};
use crate::error::{Error, Result, require};

/// What a sample of paths shows at the end of the experiment.
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

/// Plays an experiment `paths` times; the same seed gives the same paths.
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
        let end = walk(&checked, &table, &mut random);
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

/// Lots around none for which the table holds quotes; the rest is computed when it is reached.
const TABLE_REACH: i32 = 64;

/// Quotes of all steps at small inventories.
struct Table {
    cells: Vec<Cell>,
    width: usize,
}

impl Table {
    fn new(checked: &Checked) -> Result<Self> {
        let width = usize::try_from(2 * TABLE_REACH + 1)
            .map_err(|_| Error::TooMuchWork { name: "step" })?;
        let inventories = -TABLE_REACH..=TABLE_REACH;
        let cells = (0..checked.steps)
            .flat_map(|step| inventories.clone().map(move |q| (step, q)))
            .map(|(step, inventory)| checked.cell(step, inventory));
        Ok(Self {
            cells: cells.collect(),
            width,
        })
    }

    fn cell(&self, checked: &Checked, step: usize, inventory: i32) -> Cell {
        usize::try_from(inventory + TABLE_REACH)
            .ok()
            .filter(|column| *column < self.width)
            .map_or_else(
                || checked.cell(step, inventory),
                |column| self.cells[step * self.width + column],
            )
    }
}

/// The end of a path: what was earned over the start.
struct End {
    earned: f64,
    inventory: i32,
    crossed: bool,
}

fn walk(checked: &Checked, table: &Table, random: &mut Random) -> End {
    // 2^-31: a draw's resolution is far below what any number of paths could show.
    const UNIT: f64 = 1.0 / 2_147_483_648.0;
    let mut end = End {
        earned: 0.0,
        inventory: checked.of.inventory,
        crossed: false,
    };
    for step in 0..checked.steps {
        let Cell { bid, ask } = table.cell(checked, step, end.inventory);
        end.crossed |= bid.distance < 0.0 || ask.distance < 0.0;
        let bits = random.bits();
        let draw = |shift: u32| (bits >> shift & 0x7fff_ffff) as f64 * UNIT;
        if draw(0) < ask.probability {
            end.inventory -= 1;
            end.earned += ask.distance;
        }
        if draw(31) < bid.probability {
            end.inventory += 1;
            end.earned += bid.distance;
        }
        let jump = if bits >> 63 == 0 {
            checked.jump
        } else {
            -checked.jump
        };
        end.earned += f64::from(end.inventory) * jump;
    }
    end
}

/// Mean and squares, one value at a time (Welford 1962).
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
