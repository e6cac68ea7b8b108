//! The parameters of strategies in a schema: which keys `params` has follows from `name`.

use cambist_strategies::{Kind, MARKET_MAX, Parameter};
use serde_json::{Map, Value, json};

/// Constrains a `[[market.strategy]]`: a name of the registry and that strategy's parameters, or a process with its
/// command.
pub(super) fn constrain(shape: &mut Map<String, Value>) {
    let all = cambist_strategies::all();
    let names: Vec<_> = all.iter().map(|info| info.name).collect();
    let of_registry = all.iter().map(|info| {
        let params = table(info.parameters);
        let needed = info.parameters.iter().any(|one| one.default.is_none());
        let needed: &[&str] = if needed { &["params"] } else { &[] };
        json!({
            "if": {
                "properties": {"name": {"const": info.name}, "kind": {"const": "builtin"}},
                "required": ["name"],
            },
            "then": {"properties": {"params": params}, "required": needed},
        })
    });
    let process = json!({
        "if": {"properties": {"kind": {"const": "process"}}, "required": ["kind"]},
        "then": {"required": ["command"]},
        "else": {"properties": {"name": {"enum": names}}},
    });
    let rules = of_registry.chain([process]);
    shape.insert("allOf".to_owned(), rules.collect());
}

fn table(parameters: &[Parameter]) -> Value {
    let properties: Map<_, _> = parameters
        .iter()
        .map(|one| (one.name.to_owned(), value(one)))
        .collect();
    let required: Vec<_> = parameters
        .iter()
        .filter(|one| one.default.is_none())
        .map(|one| one.name)
        .collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": required,
    })
}

fn value(parameter: &Parameter) -> Value {
    let mut shape = match parameter.kind {
        Kind::Integer { min, max } | Kind::Bps { min, max } => {
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        Kind::Decimal { min, max } => decimal(min, max),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Choice { of } => json!({"enum": of}),
        Kind::Name { max } => {
            json!({"type": "string", "pattern": format!("^[A-Za-z0-9_-]{{0,{max}}}$")})
        }
        Kind::Market => {
            json!({"type": "string", "maxLength": MARKET_MAX, "pattern": "^([A-Za-z0-9_-]+:)?[A-Za-z0-9_-]+$|^$"})
        }
        Kind::Tables { fields, max } => {
            json!({"type": "array", "maxItems": max, "items": table(fields)})
        }
    };
    if let Value::Object(shape) = &mut shape {
        let unit = if parameter.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", parameter.unit)
        };
        let meaning = format!("{}{unit}", parameter.meaning);
        shape.insert("description".to_owned(), meaning.into());
        if let Some(default) = parameter.default.and_then(super::in_json) {
            shape.insert("default".to_owned(), default);
        }
    }
    shape
}

/// A number, or for full precision a string; the range of strings is the parser's.
fn decimal(min: &str, max: &str) -> Value {
    let mut number = Map::from_iter([("type".to_owned(), Value::from("number"))]);
    for (key, bound) in [("minimum", min), ("maximum", max)] {
        if let Ok(bound) = bound.parse::<f64>() {
            number.insert(key.to_owned(), bound.into());
        }
    }
    json!({"anyOf": [number, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}]})
}
