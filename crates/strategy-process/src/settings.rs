//! What is configured of a process strategy as far as the engine is concerned, and its text on tapes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What is configured of a process strategy as far as the engine is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSettings {
    /// An answer counts for so many milliseconds after its view was made.
    pub timeout_ms: u64,
    /// Most quotes of an answer.
    pub orders_max: usize,
    /// Whether an answer may ask for a swap with the pool beside the market.
    pub swaps: bool,
    /// Names of the other markets that every view shows.
    pub markets: Vec<String>,
    /// Parameters that every view repeats, as they are.
    pub params: Map<String, Value>,
}

/// Why a table is no settings of a process strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A parameter that JSON cannot express.
    #[error("{key}: {what}")]
    Parameter {
        /// Path of the key inside the parameters.
        key: String,
        /// Why.
        what: &'static str,
    },
    /// A key of the settings.
    #[error("{0}: missing or of another type")]
    Key(&'static str),
    /// Too much of it.
    #[error("the parameters take {0} bytes as JSON, allowed are {PARAMS_MAX}")]
    TooLong(usize),
}

/// Most bytes of the parameters as JSON.
const PARAMS_MAX: usize = 16 * 1024;

impl ProcessSettings {
    /// Settings with a table of parameters.
    pub fn new(
        timeout_ms: u64,
        orders_max: usize,
        params: &toml::Table,
    ) -> Result<Self, SettingsError> {
        let params = table(params, "")?;
        let length = Value::Object(params.clone()).to_string().len();
        if length > PARAMS_MAX {
            return Err(SettingsError::TooLong(length));
        }
        Ok(Self {
            timeout_ms,
            orders_max,
            swaps: false,
            markets: Vec::new(),
            params,
        })
    }

    /// The same, with or without swaps.
    #[must_use]
    pub fn with_swaps(self, swaps: bool) -> Self {
        Self { swaps, ..self }
    }

    /// The same, with views that show other markets.
    #[must_use]
    pub fn with_markets(self, markets: &[String]) -> Self {
        let markets = markets.to_vec();
        Self { markets, ..self }
    }

    /// The table that [`ProcessSettings::read`] reads, for the opening of a tape.
    pub fn write(
        timeout_ms: u64,
        orders_max: usize,
        swaps: bool,
        markets: &[String],
        params: &toml::Table,
    ) -> toml::Table {
        let markets = markets.iter().cloned().map(toml::Value::String);
        let whole = |number: u64| toml::Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        toml::Table::from_iter([
            ("timeout_ms".to_owned(), whole(timeout_ms)),
            ("orders_max".to_owned(), whole(orders_max as u64)),
            ("swaps".to_owned(), swaps.into()),
            ("markets".to_owned(), toml::Value::Array(markets.collect())),
            ("params".to_owned(), toml::Value::Table(params.clone())),
        ])
    }

    /// The parameters and settings that differ from `old`, with both values.
    pub fn changes(&self, old: &Self) -> Vec<String> {
        let text = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
        let keys: BTreeSet<_> = old.params.keys().chain(self.params.keys()).collect();
        let params = keys.into_iter().filter_map(|key| {
            let (before, after) = (old.params.get(key), self.params.get(key));
            let change = || format!("{key} {} → {}", text(before), text(after));
            (before != after).then(change)
        });
        let settings = [
            ("timeout_ms", old.timeout_ms, self.timeout_ms),
            ("orders_max", old.orders_max as u64, self.orders_max as u64),
            ("swaps", old.swaps.into(), self.swaps.into()),
        ];
        let settings = settings
            .into_iter()
            .filter(|(_, before, after)| before != after);
        let settings = settings.map(|(key, before, after)| format!("{key} {before} → {after}"));
        let lists = (old.markets.join(", "), self.markets.join(", "));
        let markets =
            (lists.0 != lists.1).then(|| format!("markets [{}] → [{}]", lists.0, lists.1));
        settings.chain(markets).chain(params).collect()
    }

    /// Reads what [`ProcessSettings::write`] wrote.
    pub fn read(written: &toml::Table) -> Result<Self, SettingsError> {
        let whole = |key: &'static str| {
            let number = written.get(key).and_then(toml::Value::as_integer);
            let number = number.and_then(|number| u64::try_from(number).ok());
            number.ok_or(SettingsError::Key(key))
        };
        let markets = match written.get("markets") {
            // A tape of an earlier program.
            None => Vec::new(),
            Some(markets) => {
                let names = markets.as_array().ok_or(SettingsError::Key("markets"))?;
                let name = |name: &toml::Value| name.as_str().map(str::to_owned);
                let names: Option<Vec<_>> = names.iter().map(name).collect();
                names.ok_or(SettingsError::Key("markets"))?
            }
        };
        let params = written.get("params").and_then(toml::Value::as_table);
        // Tapes of earlier versions have no such key.
        let swaps = written.get("swaps").and_then(toml::Value::as_bool);
        let settings = Self::new(
            whole("timeout_ms")?,
            usize::try_from(whole("orders_max")?).unwrap_or(usize::MAX),
            params.ok_or(SettingsError::Key("params"))?,
        )?;
        Ok(settings
            .with_swaps(swaps.unwrap_or(false))
            .with_markets(&markets))
    }
}

fn table(written: &toml::Table, path: &str) -> Result<Map<String, Value>, SettingsError> {
    let each = written.iter().map(|(key, value)| {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        Ok((key.clone(), json(value, &path)?))
    });
    each.collect()
}

fn json(written: &toml::Value, path: &str) -> Result<Value, SettingsError> {
    let wrong = |what| SettingsError::Parameter {
        key: path.to_owned(),
        what,
    };
    Ok(match written {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => Value::Number((*number).into()),
        toml::Value::Float(number) => {
            let number = serde_json::Number::from_f64(*number);
            Value::Number(number.ok_or_else(|| wrong("JSON has no infinity and no NaN"))?)
        }
        toml::Value::Boolean(switch) => Value::Bool(*switch),
        toml::Value::Datetime(_) => return Err(wrong("JSON has no times; write it as a string")),
        toml::Value::Array(list) => {
            let each = list.iter().enumerate();
            let each = each.map(|(at, value)| json(value, &format!("{path}[{at}]")));
            Value::Array(each.collect::<Result<_, _>>()?)
        }
        toml::Value::Table(inner) => Value::Object(table(inner, path)?),
    })
}
