//! Combinations of a random search: drawn from a seed, every one once.

use std::collections::HashSet;

use cambist_quant::simulation::Random;
use toml::Value;

use super::space::Parameter;
use super::values::text;

/// Draws for each combination that is asked for, after which those that are left are taken in their order.
const TRIES: u64 = 30;
/// Draws beside them.
const TRIES_MORE: u64 = 1_000;

/// One value for each parameter.
pub type Combination = Vec<Value>;

/// So many different combinations, or all if there are fewer. More of the same seed change none of the first ones.
pub fn draw(parameters: &[Parameter], trials: u64, seed: u64) -> Vec<Combination> {
    let mut found = Distinct::default();
    let listed: Option<Vec<_>> = parameters.iter().map(|p| p.choices.listed()).collect();
    let size = listed.as_ref().and_then(|listed| {
        let sizes = listed.iter().map(|values| values.len() as u64);
        sizes.into_iter().try_fold(1_u64, u64::checked_mul)
    });
    let wanted = size.map_or(trials, |size| size.min(trials));
    let tries = trials.saturating_mul(TRIES).saturating_add(TRIES_MORE);
    for number in 0..tries {
        if found.count() >= wanted {
            return found.all;
        }
        // A stream of its own for every draw: more of them change none that were there.
        let mut random = Random::new(Random::new(seed).bits() ^ Random::new(number).bits());
        let each = parameters.iter();
        found.add(each.map(|p| p.choices.draw(&mut random)).collect());
    }
    // Combinations that are drawn too rarely.
    let listed = listed.unwrap_or_default();
    for number in 0..size.unwrap_or(0) {
        if found.count() >= wanted {
            break;
        }
        found.add(numbered(&listed, number));
    }
    found.all
}

/// A combination of a grid by its number, the last parameter changing fastest.
pub fn numbered(lists: &[Vec<Value>], number: u64) -> Combination {
    let mut rest = number;
    let mut values = Vec::new();
    for list in lists.iter().rev() {
        let count = list.len() as u64;
        let index = usize::try_from(rest % count).unwrap_or_default();
        values.push(list[index].clone());
        rest /= count;
    }
    values.reverse();
    values
}

/// Combinations without repetition, in the order in which they were added.
#[derive(Default)]
struct Distinct {
    all: Vec<Combination>,
    known: HashSet<Vec<String>>,
}

impl Distinct {
    fn count(&self) -> u64 {
        self.all.len() as u64
    }

    fn add(&mut self, values: Combination) {
        if self.known.insert(values.iter().map(text).collect()) {
            self.all.push(values);
        }
    }
}
