//! Values of parameters: lists, ranges, draws, and how they are put into a table of parameters.

use std::collections::HashSet;

use cambist_config::{Read, Shape};
use cambist_quant::simulation::Random;
use toml::Value;
use toml::de::DeValue;

/// Significant digits of a number that a range or a draw makes: `0.3`, not `0.30000000000000004`.
const DIGITS: usize = 6;

/// Most values of a whole range that are listed: more than there are trials.
const LISTED_MAX: i64 = 200_000;

/// A number of a sweep file, whole or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Whole(i64),
    /// Any other.
    Float(f64),
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "parameters are small")]
    fn float(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl Read for Number {
    const WHAT: &'static str = "a number";
    const SHAPE: Shape = Shape::Decimal;
    const REPEAT: bool = true;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        match value {
            DeValue::Integer(_) => i64::read(value).map(Self::Whole),
            DeValue::Float(float) => {
                let number = float.as_str().replace('_', "").parse::<f64>().ok()?;
                number.is_finite().then_some(Self::Float(number))
            }
            _ => None,
        }
    }
}

/// A list of plain values.
#[derive(Clone, Debug, PartialEq)]
pub struct List(pub Vec<Value>);

impl Read for List {
    const WHAT: &'static str = "a list of numbers, texts in quotes, or true and false";
    const SHAPE: Shape = Shape::Plain;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let plain = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Some(Value::String(text.to_string())),
            DeValue::Boolean(flag) => Some(Value::Boolean(*flag)),
            _ => Number::read(value).map(|number| match number {
                Number::Whole(number) => Value::Integer(number),
                Number::Float(number) => Value::Float(number),
            }),
        };
        let items = value.as_array()?.iter();
        items
            .map(|item| plain(item.get_ref()))
            .collect::<Option<_>>()
            .map(Self)
    }
}

/// How a range is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By equal differences.
    Linear,
    /// By equal ratios; both ends above zero.
    Log,
}

/// A range. Both ends are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Least value.
    pub from: Number,
    /// Greatest value.
    pub to: Number,
    /// How it is divided.
    pub scale: Scale,
}

/// What a parameter may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Choices {
    /// One of these.
    List(Vec<Value>),
    /// Any value of a range, for random search.
    Range(Range),
}

impl Range {
    /// Whether both ends are whole numbers; then every value is.
    const fn is_whole(&self) -> bool {
        matches!((self.from, self.to), (Number::Whole(_), Number::Whole(_)))
    }

    /// The value at a share of the way from the first to the last.
    fn at(&self, share: f64) -> Value {
        let (from, to) = (self.from.float(), self.to.float());
        let number = match self.scale {
            Scale::Linear => from + share * (to - from),
            Scale::Log => (from.ln() + share * (to.ln() - from.ln())).exp(),
        };
        if self.is_whole() {
            #[expect(clippy::cast_possible_truncation, reason = "between two whole numbers")]
            let whole = number.round() as i64;
            Value::Integer(whole)
        } else {
            Value::Float(rounded(number).clamp(from, to))
        }
    }

    /// So many values from the first to the last; whole numbers only once each.
    pub fn steps(&self, steps: u64) -> Vec<Value> {
        #[expect(clippy::cast_precision_loss, reason = "few steps")]
        let share = |step: u64| step as f64 / (steps - 1).max(1) as f64;
        let mut values: Vec<_> = (0..steps).map(|step| self.at(share(step))).collect();
        values.dedup();
        values
    }

    fn draw(&self, random: &mut Random) -> Value {
        match (self.from, self.to, self.scale) {
            (Number::Whole(from), Number::Whole(to), Scale::Linear) => {
                let count = u128::from(to.abs_diff(from)) + 1;
                let offset = (u128::from(random.bits()) * count) >> 64;
                let number = i128::from(from) + i128::try_from(offset).unwrap_or_default();
                Value::Integer(i64::try_from(number).unwrap_or(to))
            }
            _ => self.at(random.unit()),
        }
    }
}

impl Choices {
    /// All different values, if they can be listed: not those of a range with fractions.
    pub fn listed(&self) -> Option<Vec<Value>> {
        match self {
            Self::List(list) => {
                let mut values: Vec<Value> = Vec::new();
                let mut known = HashSet::new();
                let new = list.iter().filter(|value| known.insert(text(value)));
                values.extend(new.cloned());
                Some(values)
            }
            Self::Range(range) => match (range.from, range.to) {
                (Number::Whole(from), Number::Whole(to))
                    if to.checked_sub(from).is_some_and(|span| span < LISTED_MAX) =>
                {
                    Some((from..=to).map(Value::Integer).collect())
                }
                _ => None,
            },
        }
    }

    /// A value drawn from all of them.
    pub fn draw(&self, random: &mut Random) -> Value {
        match self {
            Self::List(values) => {
                let index = (u128::from(random.bits()) * values.len() as u128) >> 64;
                values[usize::try_from(index).unwrap_or_default()].clone()
            }
            Self::Range(range) => range.draw(random),
        }
    }
}

fn rounded(number: f64) -> f64 {
    let text = format!("{number:.*e}", DIGITS - 1);
    text.parse().unwrap_or(number)
}

/// A value as a cell of a table shows it.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Puts a value at a path such as `buy_bands[1].min_amount` of a table. A key that is not there is added;
/// tables and lists on the way must be there.
pub fn put(table: &mut toml::Table, path: &str, value: &Value) -> Result<(), String> {
    let mut parts = Vec::new();
    for part in path.split('.') {
        let (key, indices) = part
            .split_once('[')
            .map_or((part, None), |(k, i)| (k, Some(i)));
        if key.is_empty() {
            return Err(format!(
                "{path:?} is no path; write it like buy_bands[0].min_amount"
            ));
        }
        parts.push((key, indices));
    }
    let (last, before) = parts
        .split_last()
        .ok_or_else(|| "an empty path".to_owned())?;
    let mut table = table;
    for (key, index) in before {
        let found = table
            .get_mut(*key)
            .ok_or_else(|| format!("there is no {key} in the file"))?;
        let found = match index {
            None => found,
            Some(index) => item(found, key, index)?,
        };
        table = found
            .as_table_mut()
            .ok_or_else(|| format!("{key} is no table"))?;
    }
    let (key, index) = last;
    match index {
        None => _ = table.insert((*key).to_owned(), value.clone()),
        Some(index) => {
            let found = table
                .get_mut(*key)
                .ok_or_else(|| format!("there is no {key} in the file"))?;
            *item(found, key, index)? = value.clone();
        }
    }
    Ok(())
}

fn item<'v>(value: &'v mut Value, key: &str, index: &str) -> Result<&'v mut Value, String> {
    let wrong = || format!("{key}[{index}: write the number of an entry, such as {key}[0]");
    let number: usize = index
        .strip_suffix(']')
        .ok_or_else(wrong)?
        .parse()
        .map_err(|_| wrong())?;
    let list = value
        .as_array_mut()
        .ok_or_else(|| format!("{key} is no list"))?;
    let count = list.len();
    list.get_mut(number)
        .ok_or_else(|| format!("{key}[{number}]: the list has {count} entries, counted from 0"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn range(from: Number, to: Number, scale: Scale) -> Range {
        Range { from, to, scale }
    }

    fn floats(values: &[f64]) -> Vec<Value> {
        values.iter().copied().map(Value::Float).collect()
    }

    #[test]
    fn steps_are_even_and_end_at_both_ends() {
        let linear = range(Number::Float(0.1), Number::Float(0.5), Scale::Linear);
        assert_eq!(linear.steps(5), floats(&[0.1, 0.2, 0.3, 0.4, 0.5]));
        let log = range(Number::Float(0.01), Number::Float(1.0), Scale::Log);
        assert_eq!(log.steps(3), floats(&[0.01, 0.1, 1.0]));
        let whole = range(Number::Whole(1), Number::Whole(3), Scale::Linear);
        assert_eq!(whole.steps(9), [1, 2, 3].map(Value::Integer));
        assert_eq!(whole.steps(1), [Value::Integer(1)]);
    }

    #[test]
    fn draws_stay_inside_and_reach_both_ends_of_whole_ranges() {
        let mut random = Random::new(3);
        let whole = Choices::Range(range(Number::Whole(2), Number::Whole(4), Scale::Linear));
        let mut counts = [0; 3];
        for _ in 0..300 {
            let Value::Integer(drawn) = whole.draw(&mut random) else {
                panic!("whole");
            };
            counts[usize::try_from(drawn - 2).unwrap()] += 1;
        }
        assert!(counts.iter().all(|n| *n > 60), "{counts:?}");
        let float = Choices::Range(range(Number::Float(0.001), Number::Whole(1), Scale::Log));
        let mut below = 0;
        for _ in 0..300 {
            let drawn = float.draw(&mut random).as_float().unwrap();
            assert!((0.001..=1.0).contains(&drawn));
            below += i32::from(drawn < 0.0316);
        }
        assert!(
            (110..190).contains(&below),
            "half below the geometric mean: {below}"
        );
    }

    #[test]
    fn values_are_put_where_a_path_leads() {
        let text = "a = 1\nbands = [{ x = 1 }, { x = 2 }]\nlist = [1, 2]\n";
        let mut table: toml::Table = text.parse().unwrap();
        put(&mut table, "a", &Value::Integer(5)).unwrap();
        put(&mut table, "new", &Value::Boolean(true)).unwrap();
        put(&mut table, "bands[1].x", &Value::Float(0.5)).unwrap();
        put(&mut table, "list[0]", &Value::Integer(9)).unwrap();
        let expected = "a = 5\nnew = true\nbands = [{ x = 1 }, { x = 0.5 }]\nlist = [9, 2]\n";
        assert_eq!(table, expected.parse().unwrap());
        for (path, words) in [
            ("bands[2].x", "has 2 entries"),
            ("bands[x].x", "number of an entry"),
            ("nothing[0]", "there is no nothing"),
            ("a.b", "no table"),
            ("a[0]", "no list"),
            ("..", "no path"),
        ] {
            let error = put(&mut table, path, &Value::Integer(1)).unwrap_err();
            assert!(error.contains(words), "{path}: {error}");
        }
    }
}
