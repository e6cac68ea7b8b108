//! `cambist strategy`: lists the registry.

use std::fmt::Write;

use cambist_strategies::{Kind, Looser, Parameter, StrategyInfo};
use serde_json::json;
use toml::{Table, Value};

use super::{new_strategy, print_json, print_text};
use crate::cli::StrategyCommand;
use crate::demo;
use crate::exit::{Exit, Failure};
use cambist_config::reader::nearest;

/// Width of the listing.
const WIDTH: usize = 80;

/// Lists strategies, shows one or writes a new one.
pub fn run(command: &StrategyCommand, json: bool) -> anyhow::Result<Exit> {
    match command {
        StrategyCommand::List => list(json)?,
        StrategyCommand::Show { name } => show(find(name)?, json)?,
        StrategyCommand::New { name, sources } => return new_strategy::run(name, sources, json),
    }
    Ok(Exit::Done)
}

/// The strategy with this name, or an error with the nearest name.
pub(super) fn find(name: &str) -> Result<&'static StrategyInfo, Failure> {
    cambist_strategies::find(name).ok_or_else(|| {
        let names: Vec<_> = cambist_strategies::all()
            .iter()
            .map(|info| info.name)
            .collect();
        let hint = nearest(name, names.iter().copied()).map_or_else(
            || format!("known strategies: {}", names.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        Failure::new(
            Exit::Usage,
            format!("there is no strategy {name:?}; {hint}"),
        )
    })
}

fn list(json: bool) -> anyhow::Result<()> {
    let all = cambist_strategies::all();
    if json {
        let entry = |info: &StrategyInfo| json!({"name": info.name, "summary": info.summary});
        return print_json(&all.iter().map(entry).collect::<Vec<_>>());
    }
    let widest = all.iter().map(|info| info.name.chars().count()).max();
    let indent = widest.unwrap_or(0) + 2;
    let mut text = String::new();
    for info in all {
        let name = format!("{:indent$}", info.name);
        wrap(&name, indent, info.summary, &mut text);
    }
    print_text(&text)
}

/// Adds a text in lines of at most [`WIDTH`] columns: the first begins with `head`, the others are indented.
fn wrap(head: &str, indent: usize, what: &str, text: &mut String) {
    let mut row = head.to_owned();
    let mut is_empty = true;
    for word in what.split_whitespace() {
        let wide = row.chars().count() + word.chars().count() + usize::from(!is_empty);
        if wide > WIDTH && !is_empty {
            text.push_str(row.trim_end());
            text.push('\n');
            row = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            row.push(' ');
        }
        row.push_str(word);
        is_empty = false;
    }
    text.push_str(row.trim_end());
    text.push('\n');
}

/// A strategy section to paste below a `[[market]]`, with the demo's parameters if there are any.
fn example(info: &StrategyInfo) -> anyhow::Result<String> {
    let mut choice = Table::from_iter([("name".to_owned(), info.name.into())]);
    if let Some(params) = demo::files::suited(info.name)? {
        choice.insert("params".to_owned(), params.into());
    }
    let market = Table::from_iter([("strategy".to_owned(), Value::Array(vec![choice.into()]))]);
    let file = Table::from_iter([("market".to_owned(), Value::Array(vec![market.into()]))]);
    let text = toml::to_string(&file)?;
    let below = text.trim_start_matches("[[market]]").trim_start();
    // Removes blank lines before list entries.
    Ok(below.replace("\n\n", "\n"))
}

fn show(info: &StrategyInfo, json: bool) -> anyhow::Result<()> {
    let example = example(info)?;
    if json {
        return print_json(&json!({
            "name": info.name,
            "summary": info.summary,
            "parameters": info.parameters.iter().map(parameter).collect::<Vec<_>>(),
            "needs": info.needs(),
            "example": example,
        }));
    }
    let mut text = String::new();
    wrap(&format!("{}: ", info.name), 0, info.summary, &mut text);
    text.push('\n');
    describe(info.parameters, "", &mut text);
    let needs = info.needs();
    if !needs.is_empty() {
        text.push('\n');
        wrap("It needs ", 4, &format!("{}.", needs.join("; ")), &mut text);
    }
    let _ = write!(text, "\nTo paste below a [[market]]:\n\n{example}");
    print_text(&text)
}

fn parameter(parameter: &Parameter) -> serde_json::Value {
    let mut value = json!({
        "name": parameter.name,
        "kind": parameter.kind.name(),
        "unit": parameter.unit,
        "default": parameter.default,
        "looser": parameter.looser.name(),
        "range": parameter.kind.range(),
        "meaning": parameter.meaning,
    });
    if let Kind::Tables { fields, .. } = parameter.kind {
        value["fields"] = fields.iter().map(self::parameter).collect();
    }
    value
}

fn describe(parameters: &[Parameter], indent: &str, text: &mut String) {
    for parameter in parameters {
        let default = parameter.default.map_or_else(
            || "required".to_owned(),
            |default| format!("default {default}"),
        );
        let (kind, unit) = (parameter.kind.name(), parameter.unit);
        // A unit that begins with the type contains both.
        let kind = if unit.is_empty() {
            kind.to_owned()
        } else if unit.starts_with(kind) {
            unit.to_owned()
        } else {
            format!("{kind}, {unit}")
        };
        let _ = writeln!(text, "{indent}{}", parameter.name);
        let inner = format!("{indent}    ");
        let facts = format!("{kind}; {default}; {}", parameter.kind.range());
        wrap(&inner, inner.len(), &facts, text);
        if !matches!(parameter.looser, Looser::Never | Looser::Fields) {
            let looser = format!("looser: {}", parameter.looser.name());
            wrap(&inner, inner.len(), &looser, text);
        }
        wrap(&inner, inner.len(), parameter.meaning, text);
        if let Kind::Tables { fields, .. } = parameter.kind {
            let _ = writeln!(text, "{indent}    Each table:");
            describe(fields, &format!("{indent}      "), text);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_config::reader::Source;
    use cambist_daemon::config::Daemon;

    #[test]
    fn every_example_loads_where_it_is_pasted() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/demo.toml");
        let text = std::fs::read_to_string(path).unwrap();
        let (before, _) = text.split_once("[[market.strategy]]").unwrap();
        // What a strategy that takes or swaps needs beside its own section.
        let swaps = before
            .replace("maker_only = true", "maker_only = false")
            .replace(
                "swap_value_max = \"0 USDC\"",
                "swap_value_max = \"500 USDC\"",
            );
        for info in cambist_strategies::all() {
            let example = example(info).unwrap();
            assert!(example.starts_with("[[market.strategy]]"), "{example}");
            let before = if info.needs().is_empty() {
                before
            } else {
                &swaps
            };
            let text = format!("{before}{example}");
            let source = Source {
                path: path.into(),
                text,
            };
            let daemon = Daemon::parse(&source).unwrap();
            let bound = daemon.bind_expected().unwrap().unwrap();
            let (_, _, choice) = &bound.strategies[0];
            assert_eq!(choice.name.value, info.name);
        }
    }

    #[test]
    fn what_is_shown_is_narrow_and_repeats_nothing() {
        for info in cambist_strategies::all() {
            let mut text = String::new();
            wrap("name  ", 6, info.summary, &mut text);
            describe(info.parameters, "", &mut text);
            text.push_str(&example(info).unwrap());
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
            assert!(!text.contains("bps, bps"), "{text}");
        }
    }
}
