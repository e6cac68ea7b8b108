//! `cambist strategy`: the registry, for people and programs.

use std::fmt::Write;

use cambist_strategies::{Kind, Parameter, StrategyInfo};
use serde_json::{Value, json};

use super::{columns, print_json, print_text};
use crate::cli::StrategyCommand;
use crate::config::reader::nearest;
use crate::exit::{Exit, Failure};

/// Lists strategies or shows one.
pub fn run(command: &StrategyCommand, json: bool) -> anyhow::Result<Exit> {
    match command {
        StrategyCommand::List => list(json)?,
        StrategyCommand::Show { name } => show(find(name)?, json)?,
    }
    Ok(Exit::Done)
}

/// The strategy of that name, or the nearest one in a message.
pub(super) fn find(name: &str) -> Result<&'static StrategyInfo, Failure> {
    cambist_strategies::find(name).ok_or_else(|| {
        let names: Vec<_> = cambist_strategies::all()
            .iter()
            .map(|info| info.name)
            .collect();
        let hint = nearest(name, names.iter().copied()).map_or_else(
            || format!("known are {}", names.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        Failure::new(
            Exit::Usage,
            format!("no strategy is called {name:?}; {hint}"),
        )
    })
}

fn list(json: bool) -> anyhow::Result<()> {
    let all = cambist_strategies::all();
    if json {
        let entry = |info: &StrategyInfo| json!({"name": info.name, "summary": info.summary});
        return print_json(&all.iter().map(entry).collect::<Vec<_>>());
    }
    let row = |info: &StrategyInfo| vec![info.name.to_owned(), info.summary.to_owned()];
    print_text(&columns(&all.iter().map(row).collect::<Vec<_>>()))
}

fn show(info: &StrategyInfo, json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(&json!({
            "name": info.name,
            "summary": info.summary,
            "parameters": info.parameters.iter().map(parameter).collect::<Vec<_>>(),
        }));
    }
    let mut text = format!("{}: {}\n\n", info.name, info.summary);
    describe(info.parameters, "", &mut text);
    print_text(&text)
}

fn parameter(parameter: &Parameter) -> Value {
    let mut value = json!({
        "name": parameter.name,
        "kind": parameter.kind.name(),
        "unit": parameter.unit,
        "default": parameter.default,
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
            || "must be given".to_owned(),
            |default| format!("default {default}"),
        );
        let unit = if parameter.unit.is_empty() {
            String::new()
        } else {
            format!(", in {}", parameter.unit)
        };
        let (name, kind, range) = (
            parameter.name,
            parameter.kind.name(),
            parameter.kind.range(),
        );
        let _ = writeln!(
            text,
            "{indent}{name}\n{indent}    {kind}{unit}; {default}; {range}\n{indent}    {}",
            parameter.meaning
        );
        if let Kind::Tables { fields, .. } = parameter.kind {
            let _ = writeln!(text, "{indent}    Each table:");
            describe(fields, &format!("{indent}      "), text);
        }
    }
}
