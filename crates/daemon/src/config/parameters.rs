//! Parameters of strategies that operators set, in place of those in the file.

use cambist_store::SetParameter;

use super::Daemon;
use super::market::StrategyChoice;

/// One parameter that an operator sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Market name.
    pub market: String,
    /// Strategy name.
    pub strategy: String,
    /// Path inside its parameters: `bid_spread_bps`, `buy_bands[0].min_amount`.
    pub path: String,
    /// The value in TOML spelling; words may be without quotation marks. `None` restores the file's.
    pub value: Option<String>,
}

impl Daemon {
    /// The configuration with the parameters that operators set.
    #[must_use]
    pub fn with_set(&self, set: &[SetParameter]) -> Self {
        let mut daemon = self.clone();
        for one in set {
            if let (Some(text), Some(choice)) =
                (&one.value, daemon.choice_mut(&one.market, &one.strategy))
            {
                choice.params.insert(one.key.clone(), parsed(text));
            }
        }
        daemon
    }

    /// The strategy of a market with this name, if there is exactly one.
    pub fn choice(&self, market: &str, strategy: &str) -> Option<&StrategyChoice> {
        let markets = self.markets.iter().filter(|one| one.name.value == market);
        let choices = markets.flat_map(|market| &market.strategies);
        let mut named = choices.filter(|choice| choice.name.value == strategy);
        named.next().filter(|_| named.next().is_none())
    }

    pub(crate) fn choice_mut(
        &mut self,
        market: &str,
        strategy: &str,
    ) -> Option<&mut StrategyChoice> {
        self.choice(market, strategy)?;
        let mut markets = self.markets.iter_mut();
        let market = markets.find(|one| one.name.value == market)?;
        let mut choices = market.strategies.iter_mut();
        choices.find(|choice| choice.name.value == strategy)
    }

    /// The parameters that were set for strategies that the file does not have, which apply to none.
    pub fn set_for_nothing<'a>(&self, set: &'a [SetParameter]) -> Vec<&'a SetParameter> {
        let each = set.iter();
        each.filter(|one| self.choice(&one.market, &one.strategy).is_none())
            .collect()
    }

    /// The value of a parameter in the file, or its default.
    pub fn value_text(&self, market: &str, strategy: &str, key: &str) -> Option<String> {
        let written = self.choice(market, strategy)?.params.get(key);
        written.map(toml::Value::to_string).or_else(|| {
            let info = cambist_strategies::find(strategy)?;
            let mut declared = info.parameters.iter();
            let declared = declared.find(|parameter| parameter.name == key)?;
            declared.default.map(ToOwned::to_owned)
        })
    }
}

/// A value in TOML spelling; what is none is a word.
fn parsed(text: &str) -> toml::Value {
    let table: Result<toml::Table, _> = format!("value = {text}").parse();
    let value = table.ok().and_then(|mut table| match table.len() {
        // A line break would begin other keys.
        1 => table.remove("value"),
        _ => None,
    });
    value.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// The key of a table that a path leads into, and the key's value with what the path leads to replaced.
pub fn assigned(
    table: &toml::Table,
    path: &str,
    text: &str,
) -> Result<(String, toml::Value), String> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (key, mut rest) = path.split_at(end);
    let unknown = || {
        format!(
            "{path:?} is not a parameter; write KEY, or KEY[0].FIELD for a field of a list that is set"
        )
    };
    if key.is_empty() {
        return Err(unknown());
    }
    let new = parsed(text);
    if rest.is_empty() {
        return Ok((key.to_owned(), new));
    }
    let mut whole = table.get(key).cloned().ok_or_else(unknown)?;
    let mut place = &mut whole;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').ok_or_else(unknown)?;
            let index: usize = index.parse().map_err(|_| unknown())?;
            let list = place.as_array_mut().ok_or_else(unknown)?;
            let length = list.len();
            let one = list.get_mut(index);
            place = one.ok_or_else(|| {
                format!("{path}: {key} has {length} tables, of which the first is [0]")
            })?;
            rest = after;
        } else {
            let inner = rest.strip_prefix('.').ok_or_else(unknown)?;
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            let (field, after) = inner.split_at(end);
            let fields = place.as_table_mut().ok_or_else(unknown)?;
            let field = fields.entry(field.to_owned());
            place = field.or_insert(toml::Value::Boolean(false));
            rest = after;
        }
    }
    *place = new;
    Ok((key.to_owned(), whole))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_path_leads_to_a_key_or_into_a_list() {
        let table: toml::Table =
            "levels = 1\nbands = [{ min = 1, max = 2 }, { min = 3 }]\nmodel = \"a\""
                .parse()
                .unwrap();
        let is = |path: &str, text: &str, key: &str, value: &str| {
            let (found, new) = assigned(&table, path, text).unwrap();
            assert_eq!((found.as_str(), new), (key, parsed(value)));
        };
        is("levels", "2", "levels", "2");
        is("spread", "0.25", "spread", "0.25");
        is("model", "other", "model", "\"other\"");
        is("model", "\"other\"", "model", "\"other\"");
        is("switch", "true", "switch", "true");
        is(
            "bands[1].min",
            "4",
            "bands",
            "[{ min = 1, max = 2 }, { min = 4 }]",
        );
        is(
            "bands[1].max",
            "9",
            "bands",
            "[{ min = 1, max = 2 }, { max = 9, min = 3 }]",
        );
        is("bands", "[]", "bands", "[]");
        // No other key is smuggled in.
        is("levels", "2\nspread = 0", "levels", "\"2\\nspread = 0\"");
        for wrong in [
            "",
            "[0]",
            ".x",
            "bands[2].min",
            "bands[x]",
            "bands[0",
            "bands[0]min",
            "levels.x",
            "none[0].x",
        ] {
            assert!(assigned(&table, wrong, "1").is_err(), "{wrong}");
        }
    }
}
