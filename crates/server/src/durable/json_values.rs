//! Converts values of stored types to JSON and back.
//!
//! | type | JSON |
//! |---|---|
//! | numbers of up to 64 bits | number |
//! | `u128`, `i128` | string of decimal digits |
//! | floating point | string, the shortest that parses to the same number |
//! | text | string |
//! | bytes, arrays of `u8` | string, `0x` and hexadecimal digits |
//! | `T?` | `null`, or as `T`; `{"some": T}` where `T` itself may be `null` |
//! | lists, arrays, tuples | list |
//! | `{K: V}` | list of pairs, each a list of two |
//! | struct | object |
//! | enum | string with the variant's name, or an object with the name and the content |

use cambist_schema::{Body, Content, Field, Primitive, Schema, Shape, Value};
use serde_json::{Map, Value as Json, json};

use crate::durable::manifest::hex;

/// A value as JSON; `None` if it is not of that type.
pub(super) fn to_json(schema: &Schema, shape: &Shape, value: &Value) -> Option<Json> {
    let list = |shapes: &mut dyn Iterator<Item = &Shape>, values: &[Value]| {
        let values = shapes.zip(values);
        let values = values.map(|(shape, value)| to_json(schema, shape, value));
        values.collect::<Option<Vec<_>>>().map(Json::Array)
    };
    Some(match (schema.peeled(shape), value) {
        (Shape::Primitive(Primitive::U128), Value::Unsigned(number)) => json!(number.to_string()),
        (Shape::Primitive(Primitive::I128), Value::Signed(number)) => json!(number.to_string()),
        (Shape::Primitive(_), Value::Unsigned(number)) => json!(u64::try_from(*number).ok()?),
        (Shape::Primitive(_), Value::Signed(number)) => json!(i64::try_from(*number).ok()?),
        (_, Value::Bool(yes)) => json!(yes),
        (_, Value::Float(number)) => json!(format!("{number:?}")),
        (_, Value::Text(text)) => json!(text),
        (_, Value::Bytes(bytes)) => json!(format!("0x{}", hex(bytes))),
        (_, Value::Unit) | (Shape::Option(_), Value::Option(None)) => Json::Null,
        (Shape::Option(inner), Value::Option(Some(value))) => {
            let value = to_json(schema, inner, value)?;
            if may_be_null(schema, inner) {
                json!({"some": value})
            } else {
                value
            }
        }
        (Shape::Seq(inner) | Shape::Array(inner, _), Value::List(values)) => {
            list(&mut std::iter::repeat(&**inner), values)?
        }
        (Shape::Map(key, content), Value::Map(entries)) => {
            let pairs = entries.iter().map(|(name, value)| {
                Some(json!([
                    to_json(schema, key, name)?,
                    to_json(schema, content, value)?
                ]))
            });
            Json::Array(pairs.collect::<Option<_>>()?)
        }
        (Shape::Tuple(parts), Value::List(values)) => list(&mut parts.iter(), values)?,
        (Shape::Named(name), value) => match (schema.types.get(name)?, value) {
            (Body::Tuple(parts), Value::List(values)) => list(&mut parts.iter(), values)?,
            (Body::Struct(fields), value) => object(schema, fields, value)?,
            (Body::Enum(variants), Value::Variant(chosen, content)) => {
                let variant = variants.iter().find(|known| known.name == *chosen)?;
                let content = match (&variant.content, &**content) {
                    (Content::Unit, _) => return Some(json!(chosen)),
                    (Content::Tuple(parts), Value::List(values)) => {
                        list(&mut parts.iter(), values)?
                    }
                    (Content::Struct(fields), value) => object(schema, fields, value)?,
                    _ => return None,
                };
                let mut one = Map::new();
                one.insert(chosen.clone(), content);
                Json::Object(one)
            }
            _ => return None,
        },
        _ => return None,
    })
}

fn object(schema: &Schema, fields: &[Field], value: &Value) -> Option<Json> {
    let fields = fields.iter().map(|field| {
        let value = to_json(schema, &field.shape, value.field(&field.name)?)?;
        Some((field.name.clone(), value))
    });
    fields.collect::<Option<Map<_, _>>>().map(Json::Object)
}

fn may_be_null(schema: &Schema, shape: &Shape) -> bool {
    match schema.peeled(shape) {
        Shape::Option(_) | Shape::Primitive(Primitive::Unit) => true,
        Shape::Named(name) => schema.types.get(name) == Some(&Body::Unit),
        _ => false,
    }
}

/// Parses a value of a type from JSON; an error names what does not fit.
pub(super) fn from_json(schema: &Schema, shape: &Shape, json: &Json) -> Result<Value, String> {
    let wrong = || format!("{} is not a valid {shape}", short(json));
    let text = || json.as_str().ok_or_else(wrong);
    let peeled = schema.peeled(shape);
    Ok(match peeled {
        Shape::Primitive(primitive) => match primitive {
            Primitive::Unit if json.is_null() => Value::Unit,
            Primitive::Unit => return Err(wrong()),
            Primitive::Bool => Value::Bool(json.as_bool().ok_or_else(wrong)?),
            Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => {
                Value::Unsigned(json.as_u64().ok_or_else(wrong)?.into())
            }
            Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => {
                Value::Signed(json.as_i64().ok_or_else(wrong)?.into())
            }
            Primitive::U128 => Value::Unsigned(text()?.parse().map_err(|_| wrong())?),
            Primitive::I128 => Value::Signed(text()?.parse().map_err(|_| wrong())?),
            Primitive::F32 | Primitive::F64 => Value::Float(text()?.parse().map_err(|_| wrong())?),
            Primitive::Char | Primitive::Str => Value::Text(text()?.to_owned()),
            Primitive::Bytes => Value::Bytes(unhex(text()?).ok_or_else(wrong)?),
        },
        Shape::Option(_) if json.is_null() => Value::NONE,
        Shape::Option(inner) if may_be_null(schema, inner) => {
            let some = json.get("some").ok_or_else(wrong)?;
            Value::some(from_json(schema, inner, some)?)
        }
        Shape::Option(inner) => Value::some(from_json(schema, inner, json)?),
        Shape::Array(inner, length) if *schema.peeled(inner) == Shape::Primitive(Primitive::U8) => {
            let bytes = unhex(text()?).filter(|bytes| bytes.len() == *length);
            Value::Bytes(bytes.ok_or_else(wrong)?)
        }
        Shape::Seq(inner) | Shape::Array(inner, _) => {
            let values = json.as_array().ok_or_else(wrong)?.iter();
            let values = values.map(|value| from_json(schema, inner, value));
            Value::List(values.collect::<Result<_, _>>()?)
        }
        Shape::Map(key, content) => {
            let entries = json.as_array().ok_or_else(wrong)?.iter();
            let entries = entries.map(|entry| match entry.as_array().map(Vec::as_slice) {
                Some([name, value]) => Ok((
                    from_json(schema, key, name)?,
                    from_json(schema, content, value)?,
                )),
                _ => Err(wrong()),
            });
            Value::Map(entries.collect::<Result<_, _>>()?)
        }
        Shape::Tuple(parts) => tuple(schema, parts, json)?,
        Shape::Named(name) => match schema.types.get(name).ok_or_else(wrong)? {
            Body::Unit if json.is_null() => Value::Unit,
            Body::Unit | Body::Newtype(_) => return Err(wrong()),
            Body::Tuple(parts) => tuple(schema, parts, json)?,
            Body::Struct(fields) => fields_of(schema, fields, json)?,
            Body::Enum(variants) => {
                let (chosen, content) = match json {
                    Json::String(chosen) => (chosen, &Json::Null),
                    Json::Object(one) if one.len() == 1 => one.iter().next().ok_or_else(wrong)?,
                    _ => return Err(wrong()),
                };
                let variant = variants.iter().find(|known| known.name == *chosen);
                let content = match &variant.ok_or_else(wrong)?.content {
                    Content::Unit if content.is_null() => Value::Unit,
                    Content::Unit => return Err(wrong()),
                    Content::Tuple(parts) => tuple(schema, parts, content)?,
                    Content::Struct(fields) => fields_of(schema, fields, content)?,
                };
                Value::Variant(chosen.clone(), Box::new(content))
            }
        },
    })
}

fn tuple(schema: &Schema, parts: &[Shape], json: &Json) -> Result<Value, String> {
    let values = json.as_array().filter(|values| values.len() == parts.len());
    let values =
        values.ok_or_else(|| format!("{} is not a list of {}", short(json), parts.len()))?;
    let values = parts.iter().zip(values);
    let values = values.map(|(part, value)| from_json(schema, part, value));
    Ok(Value::List(values.collect::<Result<_, _>>()?))
}

fn fields_of(schema: &Schema, fields: &[Field], json: &Json) -> Result<Value, String> {
    let object = json
        .as_object()
        .ok_or_else(|| format!("{} is not an object", short(json)))?;
    let unknown = object
        .keys()
        .find(|name| fields.iter().all(|field| field.name != **name));
    if let Some(unknown) = unknown {
        return Err(format!("unknown field {unknown}"));
    }
    let values = fields.iter().map(|field| {
        let name = &field.name;
        let value = object
            .get(name)
            .ok_or_else(|| format!("{name} is missing"))?;
        let value = from_json(schema, &field.shape, value);
        Ok((
            name.clone(),
            value.map_err(|what| format!("{name}: {what}"))?,
        ))
    });
    Ok(Value::Struct(values.collect::<Result<_, String>>()?))
}

/// The beginning of the JSON text, for messages.
fn short(json: &Json) -> String {
    const SHOWN: usize = 60;
    let text = json.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let is_whole = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
    let pairs = is_whole.then(|| digits.chunks_exact(2))?;
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}
