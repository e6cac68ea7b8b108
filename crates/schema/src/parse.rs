//! Parses written types (`shape`).

use crate::change::Edit;
use crate::shape::{Body, Content, Field, Primitive, Shape, Variant};

/// One line of a schema.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Root(String, Shape),
    Type(String, Body),
    Change(String, Vec<Edit>),
    Without(String),
}

/// Parses the lines of one version. Line numbers in errors count from the first of `lines`.
pub(crate) fn items(lines: &[&str]) -> Result<Vec<Item>, String> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        let text = line.trim();
        let read = match depth {
            0 => head(text).map(|item| found.push(item)),
            2 => second(&mut found, text),
            4 => third(&mut found, text),
            _ => Err("a line is indented by 0, 2 or 4".to_owned()),
        };
        read.map_err(|problem| format!("line {}: {problem}: {line:?}", index + 1))?;
    }
    Ok(found)
}

fn head(text: &str) -> Result<Item, String> {
    let (word, rest) = text.split_once(' ').ok_or("the line has only one word")?;
    let split = || rest.split_once(' ').ok_or("nothing follows the name");
    Ok(match word {
        "root" => {
            let (label, shape) = rest.split_once(" = ").ok_or("a root has a type")?;
            Item::Root(label.to_owned(), whole(shape)?)
        }
        "unit" => Item::Type(rest.to_owned(), Body::Unit),
        "newtype" => {
            let (name, shape) = split()?;
            Item::Type(name.to_owned(), Body::Newtype(whole(shape)?))
        }
        "tuple" => {
            let (name, shape) = split()?;
            Item::Type(name.to_owned(), Body::Tuple(parts(shape)?))
        }
        "struct" => Item::Type(rest.to_owned(), Body::Struct(Vec::new())),
        "enum" => Item::Type(rest.to_owned(), Body::Enum(Vec::new())),
        "change" => Item::Change(rest.to_owned(), Vec::new()),
        "without" => Item::Without(rest.to_owned()),
        _ => return Err("not the beginning of a type".to_owned()),
    })
}

/// A field of a struct, or a variant of an enum.
fn second(items: &mut [Item], text: &str) -> Result<(), String> {
    match items.last_mut() {
        Some(Item::Type(_, Body::Struct(fields))) => fields.push(field(text)?),
        Some(Item::Type(_, Body::Enum(variants))) => variants.push(variant(text)?),
        Some(Item::Change(_, edits)) => edits.push(edit(text)?),
        _ => return Err("nothing above it has fields or variants".to_owned()),
    }
    Ok(())
}

fn variant(text: &str) -> Result<Variant, String> {
    let (name, content) = match text.find('(') {
        None => (text, Content::Unit),
        Some(at) => (&text[..at], Content::Tuple(parts(&text[at..])?)),
    };
    Ok(Variant {
        name: name.to_owned(),
        content,
    })
}

fn edit(text: &str) -> Result<Edit, String> {
    let is_name = |text: &str| {
        text.chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    Ok(if let Some(name) = text.strip_prefix("- ") {
        Edit::Remove(name.to_owned())
    } else if let Some(name) = text.strip_prefix('@') {
        Edit::At((!name.is_empty()).then(|| name.trim().to_owned()))
    } else if text.split_once(": ").is_some_and(|(name, _)| is_name(name)) {
        Edit::Field(field(text)?)
    } else {
        Edit::Variant(variant(text)?)
    })
}

/// A field of a variant.
fn third(items: &mut [Item], text: &str) -> Result<(), String> {
    let variant = match items.last_mut() {
        Some(Item::Type(_, Body::Enum(variants))) => variants.last_mut(),
        Some(Item::Change(_, edits)) => match edits.last_mut() {
            Some(Edit::Variant(variant)) => Some(variant),
            _ => None,
        },
        _ => None,
    };
    let variant = variant.ok_or("no variant above it")?;
    if variant.content == Content::Unit {
        variant.content = Content::Struct(Vec::new());
    }
    let Content::Struct(fields) = &mut variant.content else {
        return Err("the variant above it has no named fields".to_owned());
    };
    fields.push(field(text)?);
    Ok(())
}

fn field(text: &str) -> Result<Field, String> {
    let (name, shape) = text.split_once(": ").ok_or("a field has a type")?;
    Ok(Field {
        name: name.to_owned(),
        shape: whole(shape)?,
    })
}

fn parts(text: &str) -> Result<Vec<Shape>, String> {
    let mut rest = text;
    let parts = list(&mut rest)?.ok_or("no list of types in parentheses")?;
    if rest.is_empty() {
        Ok(parts)
    } else {
        Err(format!("{rest:?} follows a list of types"))
    }
}

/// Parses types in parentheses, if there are any.
fn list(rest: &mut &str) -> Result<Option<Vec<Shape>>, String> {
    if !eat(rest, "(") {
        return Ok(None);
    }
    let mut parts = Vec::new();
    while !eat(rest, ")") {
        if !parts.is_empty() && !eat(rest, ", ") {
            return Err("types in a list are separated by commas".to_owned());
        }
        parts.push(shape(rest)?);
    }
    Ok(Some(parts))
}

fn whole(text: &str) -> Result<Shape, String> {
    let mut rest = text;
    let shape = shape(&mut rest)?;
    if rest.is_empty() {
        Ok(shape)
    } else {
        Err(format!("{rest:?} follows a type"))
    }
}

fn shape(rest: &mut &str) -> Result<Shape, String> {
    let mut found = if let Some(parts) = list(rest)? {
        if parts.is_empty() {
            Shape::Primitive(Primitive::Unit)
        } else {
            Shape::Tuple(parts)
        }
    } else if eat(rest, "[") {
        let inner = Box::new(shape(rest)?);
        if eat(rest, "; ") {
            let end = rest.find(']').ok_or("an array does not end")?;
            let length = rest[..end].parse().map_err(|_| "no length of an array")?;
            *rest = &rest[end + 1..];
            Shape::Array(inner, length)
        } else if eat(rest, "]") {
            Shape::Seq(inner)
        } else {
            return Err("a sequence does not end".to_owned());
        }
    } else if eat(rest, "{") {
        let key = Box::new(shape(rest)?);
        if !eat(rest, ": ") {
            return Err("a map has values".to_owned());
        }
        let value = Box::new(shape(rest)?);
        if !eat(rest, "}") {
            return Err("a map does not end".to_owned());
        }
        Shape::Map(key, value)
    } else {
        let is_name = |letter: char| letter.is_alphanumeric() || "_#".contains(letter);
        let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() {
            return Err(format!("no type at {rest:?}"));
        }
        *rest = behind;
        Primitive::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map_or_else(
                || Shape::Named(name.to_owned()),
                |(primitive, _)| Shape::Primitive(*primitive),
            )
    };
    while eat(rest, "?") {
        found = Shape::Option(Box::new(found));
    }
    Ok(found)
}

fn eat(rest: &mut &str, mark: &str) -> bool {
    match rest.strip_prefix(mark) {
        Some(behind) => {
            *rest = behind;
            true
        }
        None => false,
    }
}
