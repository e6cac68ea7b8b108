//! Parameters of strategies that differ from the file, for the status.

use cambist_host::times;
use cambist_store::SetParameter;
use serde_json::{Value, json};

/// A parameter that an operator set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterDifference {
    /// As it was set.
    pub set: SetParameter,
    /// Its value in the file, or its default.
    pub in_file: Option<String>,
    /// Whether the file has the strategy that it was set for.
    pub applies: bool,
}

/// The differences as JSON; values are in TOML spelling.
pub fn page(differences: &[ParameterDifference]) -> Value {
    let each = differences.iter().map(|one| {
        let SetParameter {
            market,
            strategy,
            key,
            value,
            operator,
            reason,
            at_us,
        } = &one.set;
        let at_s = at_us / 1_000_000;
        json!({
            "market": market,
            "parameter": format!("{strategy}.{key}"),
            "set": value,
            "file": one.in_file,
            "applies": one.applies,
            "operator": operator,
            "reason": reason,
            "at": times::iso(at_s),
            "at_s": at_s,
        })
    });
    each.collect()
}
