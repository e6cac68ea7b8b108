//! Estimating the chain from consecutive best quotes, as in the notebook of the paper's author.

use super::{Counts, MicroPrice, STATES_MAX, micro_price};
use crate::error::{Error, Result, finite, positive, require};

/// Best prices and the quantities at them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quote {
    /// Best bid, ticks.
    pub bid: i64,
    /// Quantity there.
    pub bid_quantity: f64,
    /// Best ask, ticks.
    pub ask: i64,
    /// Quantity there.
    pub ask_quantity: f64,
}

/// A fitted chain.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    /// Counted transitions, without their mirror images.
    pub rows_kept: usize,
    /// Edges of the buckets of the imbalance, one more than there are buckets.
    pub edges: Vec<f64>,
    /// The counted transitions.
    pub counts: Counts,
    /// The adjustments, in the unit of the tick.
    pub micro_price: MicroPrice,
}

impl Fit {
    /// The state of a quote: its bucket, after those of all narrower spreads. `None` for a spread
    /// that was not fitted, or an invalid quote.
    pub fn state(&self, quote: &Quote) -> Option<usize> {
        let buckets = self.edges.len() - 1;
        let spread = usize::try_from(quote.ask.checked_sub(quote.bid)?).ok()?;
        let index = spread.checked_sub(1)? * buckets + bucket(&self.edges, imbalance(quote)?);
        (index < self.counts.no_move.len()).then_some(index)
    }
}

/// The moves of the mid that are distinguished, in ticks.
const JUMPS: [f64; 4] = [-1.0, -0.5, 0.5, 1.0];

/// A transition from a state.
struct Step {
    bucket: usize,
    spread: usize,
    next_bucket: usize,
    next_spread: usize,
    /// Move of the mid in half-ticks.
    move_halves: i64,
}

/// Estimates the chain from quotes in event time, `tick` being the unit of the result.
///
/// Spreads above `spreads` ticks are dropped, the imbalance is cut into `buckets` quantiles
/// (interpolated; right-closed), transitions by more than a tick are dropped, and each counts twice:
/// as it is and mirrored, without which the sum over moves need not converge. Author's notebook
/// (sstoikov/microprice, "Microprice - Big Data Conference").
pub fn fit(quotes: &[Quote], tick: f64, buckets: usize, spreads: usize) -> Result<Fit> {
    positive("tick", tick)?;
    require(buckets >= 1, "buckets", "at least 1")?;
    require(spreads >= 1, "spreads", "at least 1")?;
    let states = buckets
        .checked_mul(spreads)
        .filter(|states| *states <= STATES_MAX)
        .ok_or(Error::TooMuchWork { name: "buckets" })?;
    let mut kept = Vec::new();
    for quote in quotes {
        let imbalance = imbalance(quote).ok_or(Error::Input {
            name: "quote",
            must: "finite quantities that are not both 0",
        })?;
        let spread = quote.ask.checked_sub(quote.bid);
        let spread = spread.and_then(|spread| usize::try_from(spread).ok());
        if let Some(spread) = spread.filter(|spread| (1..=spreads).contains(spread)) {
            kept.push((quote.bid, spread, imbalance));
        }
    }
    let edges = quantiles(kept.iter().map(|(_, _, imbalance)| *imbalance), buckets)?;
    let steps = transitions(&kept, &edges);
    let counts = count(&steps, buckets, states);
    let jumps = JUMPS.map(|jump| jump * tick);
    Ok(Fit {
        rows_kept: steps.len(),
        edges,
        micro_price: micro_price(&counts, &jumps)?,
        counts,
    })
}

/// `bid/(bid + ask)` of the quantities.
fn imbalance(quote: &Quote) -> Option<f64> {
    let (bid, ask) = (quote.bid_quantity, quote.ask_quantity);
    let sound = bid >= 0.0 && ask >= 0.0 && bid + ask > 0.0 && (bid + ask).is_finite();
    sound.then(|| bid / (bid + ask))
}

/// Edges of equally filled buckets, by linear interpolation between sorted values.
fn quantiles(values: impl Iterator<Item = f64>, buckets: usize) -> Result<Vec<f64>> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let given = sorted.len();
    if given < 2 {
        return Err(Error::TooFew {
            name: "quotes within the spreads",
            needed: 2,
            given,
        });
    }
    let edge = |i: usize| {
        // i·(n−1)/buckets in integers, so that an edge on a value is exactly that value.
        let position = i * (given - 1);
        let (below, rest) = (position / buckets, position % buckets);
        let share = rest as f64 / buckets as f64;
        let low = sorted[below];
        let high = sorted[(below + 1).min(given - 1)];
        if share < 0.5 {
            low + (high - low) * share
        } else {
            high - (high - low) * (1.0 - share)
        }
    };
    let edges: Vec<f64> = (0..=buckets).map(edge).collect();
    require(
        edges.windows(2).all(|pair| pair[0] < pair[1]),
        "buckets",
        "so few that no two edges are equal",
    )?;
    finite("imbalance", edges[buckets]).map(|_| edges)
}

/// The bucket of a value: right-closed, the lowest closed on both sides; outside, the nearest.
fn bucket(edges: &[f64], value: f64) -> usize {
    let above = edges[1..edges.len() - 1]
        .iter()
        .filter(|edge| value > **edge);
    above.count()
}

fn transitions(kept: &[(i64, usize, f64)], edges: &[f64]) -> Vec<Step> {
    let pairs = kept.windows(2).filter_map(|pair| {
        let [
            (bid, spread, imbalance),
            (next_bid, next_spread, next_imbalance),
        ] = pair
        else {
            return None;
        };
        // Twice the mid is bid + ask = 2·bid + spread.
        let spreads = i64::try_from(*next_spread).ok()? - i64::try_from(*spread).ok()?;
        let move_halves = next_bid
            .checked_sub(*bid)?
            .checked_mul(2)?
            .checked_add(spreads)?;
        (move_halves.abs() <= 2).then(|| Step {
            bucket: bucket(edges, *imbalance),
            spread: spread - 1,
            next_bucket: bucket(edges, *next_imbalance),
            next_spread: next_spread - 1,
            move_halves,
        })
    });
    pairs.collect()
}

fn count(steps: &[Step], buckets: usize, states: usize) -> Counts {
    let mut counts = Counts {
        no_move: vec![vec![0.0; states]; states],
        jump: vec![vec![0.0; JUMPS.len()]; states],
        moved: vec![vec![0.0; states]; states],
    };
    let mirrored = |bucket: usize| buckets - 1 - bucket;
    for step in steps {
        for (bucket, next, halves) in [
            (step.bucket, step.next_bucket, step.move_halves),
            (
                mirrored(step.bucket),
                mirrored(step.next_bucket),
                -step.move_halves,
            ),
        ] {
            let from = step.spread * buckets + bucket;
            let to = step.next_spread * buckets + next;
            let jump = match halves {
                -2 => 0,
                -1 => 1,
                1 => 2,
                2 => 3,
                _ => {
                    counts.no_move[from][to] += 1.0;
                    continue;
                }
            };
            counts.jump[from][jump] += 1.0;
            counts.moved[from][to] += 1.0;
        }
    }
    counts
}
