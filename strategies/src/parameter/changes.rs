//! What differs between two tables of the same parameters, and which differences bear more risk.

use rust_decimal::Decimal;

use super::{Kind, Looser, Parameter, Params, Value, error};
use crate::Problem;

/// A parameter with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Path of the key inside the table (`buy_bands[1].min_amount`).
    pub key: String,
    /// Value before.
    pub old: String,
    /// Value after.
    pub new: String,
    /// Whether the new value bears more risk.
    pub looser: bool,
}

impl Params {
    /// The differences of another table of the same `parameters`, in the order of their declaration.
    pub fn changes(&self, new: &Self, parameters: &[Parameter]) -> Vec<Change> {
        let mut changes = Vec::new();
        for parameter in parameters {
            let (Some(before), Some(after)) = (
                self.values.get(parameter.name),
                new.values.get(parameter.name),
            ) else {
                continue;
            };
            if before == after {
                continue;
            }
            match (parameter.kind, before, after) {
                (Kind::Tables { fields, .. }, Value::Tables(before), Value::Tables(after))
                    if before.len() == after.len() =>
                {
                    for (before, after) in before.iter().zip(after) {
                        changes.extend(before.changes(after, fields));
                    }
                }
                _ => changes.push(Change {
                    key: error(&self.path, parameter.name, Problem::Missing).key,
                    old: before.text(),
                    new: after.text(),
                    looser: parameter.looser.loosens(before, after),
                }),
            }
        }
        changes
    }
}

impl Looser {
    /// Whether another value bears more risk.
    fn loosens(self, old: &Value, new: &Value) -> bool {
        match self {
            Self::Higher => new.rank() > old.rank(),
            Self::Lower => new.rank() < old.rank(),
            Self::HigherOrZero => {
                let or_all = |rank: Decimal| if rank.is_zero() { Decimal::MAX } else { rank };
                or_all(new.rank()) > or_all(old.rank())
            }
            Self::Changed => true,
            Self::Fields => {
                // Tables are only removed, or there is one that was not there.
                let (Value::Tables(old), Value::Tables(new)) = (old, new) else {
                    return true;
                };
                let was_there = |one: &Params| old.iter().any(|known| known.values == one.values);
                new.len() > old.len() || !new.iter().all(was_there)
            }
            Self::Never => false,
        }
    }
}

impl Value {
    /// Its place among the values of its parameter.
    fn rank(&self) -> Decimal {
        match self {
            Self::Whole(number) => Decimal::from(*number),
            Self::Decimal(number) => *number,
            Self::Bool(switch) => Decimal::from(u8::from(*switch)),
            // These have no order: a test refuses a direction for them.
            Self::Choice(_) | Self::Name(_) | Self::Tables(_) => Decimal::ZERO,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Decimal(number) => number.to_string(),
            Self::Bool(switch) => switch.to_string(),
            Self::Choice(word) => (*word).to_owned(),
            Self::Name(name) => name.clone(),
            Self::Tables(tables) => format!("{} tables", tables.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::find;

    fn changes(strategy: &str, old: &str, new: &str) -> Vec<(String, bool)> {
        let parameters = find(strategy).unwrap().parameters;
        let read = |text: &str| Params::read(parameters, &text.parse().unwrap()).unwrap();
        let changes = read(old).changes(&read(new), parameters);
        let each = changes.into_iter();
        each.map(|one| (format!("{} {} → {}", one.key, one.old, one.new), one.looser))
            .collect()
    }

    #[test]
    fn a_change_is_looser_in_the_declared_direction_only() {
        let one = |old: &str, new: &str, text: &str, looser: bool| {
            assert_eq!(changes("ladder", old, new), [(text.to_owned(), looser)]);
        };
        let spread = "bid_spread_bps 10 → 9";
        one("bid_spread_bps = 10", "bid_spread_bps = 9", spread, true);
        let spread = "bid_spread_bps 10 → 11";
        one("bid_spread_bps = 10", "bid_spread_bps = 11", spread, false);
        let amount = "order_amount 0.5 → 0.51";
        one("order_amount = 0.5", "order_amount = 0.51", amount, true);
        let amount = "order_amount 0.5 → 0.49";
        one("order_amount = 0.5", "order_amount = 0.49", amount, false);
        let off = "buy_price_max 2600 → 0";
        one("buy_price_max = 2600", "buy_price_max = 0", off, true);
        let on = "buy_price_max 0 → 2600";
        one("buy_price_max = 0", "buy_price_max = 2600", on, false);
        let skew = "inventory_skew_enabled true → false";
        let (on, off) = (
            "inventory_skew_enabled = true",
            "inventory_skew_enabled = false",
        );
        one(on, off, skew, true);
        let target = "inventory_target_base_bps 5000 → 4000";
        one("", "inventory_target_base_bps = 4000", target, true);
        let tolerance = "order_refresh_tolerance_bps 0 → 5";
        one("", "order_refresh_tolerance_bps = 5", tolerance, true);
        let tolerance = "order_refresh_tolerance_bps 5 → 0";
        one("order_refresh_tolerance_bps = 5", "", tolerance, false);
        let depth = "order_optimization_depth 0 → 5";
        one("", "order_optimization_depth = 5", depth, false);
        assert_eq!(changes("ladder", "order_levels = 1", ""), []);
    }

    #[test]
    fn tables_of_a_list_are_compared_field_by_field() {
        let band = |margin: u32, amount: &str| {
            format!(
                "[[buy_bands]]\nmin_margin_bps = {margin}\navg_margin_bps = {}\nmax_margin_bps = {}\nmin_amount = 1\navg_amount = {amount}\nmax_amount = 3\n",
                margin + 5,
                margin + 9,
            )
        };
        let two = band(5, "2") + &band(20, "2");
        let nearer = changes("bands", &two, &(band(5, "2") + &band(19, "1.5")));
        assert_eq!(
            nearer,
            [
                ("buy_bands[1].min_margin_bps 20 → 19".to_owned(), true),
                ("buy_bands[1].avg_margin_bps 25 → 24".to_owned(), true),
                ("buy_bands[1].max_margin_bps 29 → 28".to_owned(), false),
                ("buy_bands[1].avg_amount 2 → 1.5".to_owned(), false),
            ]
        );
        let fewer = ("buy_bands 2 tables → 1 tables".to_owned(), false);
        assert_eq!(changes("bands", &two, &band(20, "2")), [fewer]);
        let other = ("buy_bands 2 tables → 1 tables".to_owned(), true);
        assert_eq!(changes("bands", &two, &band(19, "2")), [other]);
        let more = ("buy_bands 1 tables → 2 tables".to_owned(), true);
        assert_eq!(changes("bands", &band(5, "2"), &two), [more]);
    }

    #[test]
    fn every_direction_is_one_that_its_kind_has() {
        fn sound(parameters: &[Parameter]) {
            for parameter in parameters {
                let possible = match parameter.kind {
                    Kind::Integer { .. } | Kind::Bps { .. } | Kind::Decimal { .. } => {
                        parameter.looser != Looser::Fields
                    }
                    Kind::Bool => {
                        !matches!(parameter.looser, Looser::Fields | Looser::HigherOrZero)
                    }
                    Kind::Choice { .. } | Kind::Name { .. } | Kind::Market => {
                        matches!(parameter.looser, Looser::Changed | Looser::Never)
                    }
                    Kind::Tables { fields, .. } => {
                        sound(fields);
                        parameter.looser == Looser::Fields
                    }
                };
                assert!(possible, "{} {:?}", parameter.name, parameter.looser);
            }
        }
        for info in crate::all() {
            sound(info.parameters);
        }
    }
}
