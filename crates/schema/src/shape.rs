//! Descriptions of types in the encoding, and their text form.
//!
//! ```text
//! root state = State
//! newtype AccountId u32
//! struct State
//!   accounts: {AccountId: Account}
//!   stepped: u64?
//! enum Caller
//!   Public
//!   Account
//!     account: AccountId
//!   Both(AccountId, [u8; 20])
//! ```

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// A type without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are serde's")]
pub enum Primitive {
    Unit,
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
    Char,
    Str,
    Bytes,
}

impl Primitive {
    /// Every primitive with its name in the text.
    pub(crate) const NAMES: [(Self, &'static str); 17] = [
        (Self::Unit, "()"),
        (Self::Bool, "bool"),
        (Self::I8, "i8"),
        (Self::I16, "i16"),
        (Self::I32, "i32"),
        (Self::I64, "i64"),
        (Self::I128, "i128"),
        (Self::U8, "u8"),
        (Self::U16, "u16"),
        (Self::U32, "u32"),
        (Self::U64, "u64"),
        (Self::U128, "u128"),
        (Self::F32, "f32"),
        (Self::F64, "f64"),
        (Self::Char, "char"),
        (Self::Str, "str"),
        (Self::Bytes, "bytes"),
    ];
}

/// A type at the place of its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Itself.
    Primitive(Primitive),
    /// `T?`
    Option(Box<Self>),
    /// `[T]`, any number of them.
    Seq(Box<Self>),
    /// `[T; n]`
    Array(Box<Self>, usize),
    /// `{K: V}`
    Map(Box<Self>, Box<Self>),
    /// `(A, B)`
    Tuple(Vec<Self>),
    /// A named type, described in the schema.
    Named(String),
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its serialized name.
    pub name: String,
    /// Its type.
    pub shape: Shape,
}

/// Content of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Unit,
    /// `Name(A, B)`; one is a newtype.
    Tuple(Vec<Shape>),
    /// Named fields.
    Struct(Vec<Field>),
}

/// A variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its serialized name.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

/// Definition of a named type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// `struct Name;`
    Unit,
    /// `struct Name(T);`, the same bytes as `T`.
    Newtype(Shape),
    /// `struct Name(A, B);`
    Tuple(Vec<Shape>),
    /// `struct Name { a: A }`
    Struct(Vec<Field>),
    /// `enum Name`
    Enum(Vec<Variant>),
}

/// A set of types and all types that they contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The stored types, by their names in files.
    pub roots: BTreeMap<String, Shape>,
    /// Named types. Types with the same name are distinguished by a number.
    pub types: BTreeMap<String, Body>,
}

impl Schema {
    /// A checksum of the structure: names of fields and variants, without names of types.
    pub fn digest(&self) -> u32 {
        let mut text = String::new();
        for (label, root) in &self.roots {
            text.push_str(label);
            text.push('=');
            self.spell(root, &mut text);
            text.push(';');
        }
        crc32fast::hash(text.as_bytes())
    }

    /// The structure with every named type expanded.
    fn spell(&self, shape: &Shape, text: &mut String) {
        match shape {
            Shape::Primitive(_) => text.push_str(&shape.to_string()),
            Shape::Option(inner) => {
                self.spell(inner, text);
                text.push('?');
            }
            Shape::Seq(inner) => {
                text.push('[');
                self.spell(inner, text);
                text.push(']');
            }
            Shape::Array(inner, length) => {
                text.push('[');
                self.spell(inner, text);
                let _ = write!(text, ";{length}]");
            }
            Shape::Map(key, value) => {
                text.push('{');
                self.spell(key, text);
                text.push(':');
                self.spell(value, text);
                text.push('}');
            }
            Shape::Tuple(parts) => self.spell_all(parts, text),
            Shape::Named(name) => match self.types.get(name) {
                None => text.push('!'),
                Some(Body::Unit) => text.push_str("()"),
                Some(Body::Newtype(inner)) => self.spell(inner, text),
                Some(Body::Tuple(parts)) => self.spell_all(parts, text),
                Some(Body::Struct(fields)) => self.spell_fields(fields, text),
                Some(Body::Enum(variants)) => {
                    text.push('<');
                    for variant in variants {
                        text.push_str(&variant.name);
                        match &variant.content {
                            Content::Unit => {}
                            Content::Tuple(parts) => self.spell_all(parts, text),
                            Content::Struct(fields) => self.spell_fields(fields, text),
                        }
                        text.push('|');
                    }
                    text.push('>');
                }
            },
        }
    }

    fn spell_all(&self, parts: &[Shape], text: &mut String) {
        text.push('(');
        for part in parts {
            self.spell(part, text);
            text.push(',');
        }
        text.push(')');
    }

    fn spell_fields(&self, fields: &[Field], text: &mut String) {
        text.push('{');
        for field in fields {
            text.push_str(&field.name);
            text.push(':');
            self.spell(&field.shape, text);
            text.push(',');
        }
        text.push('}');
    }

    /// The type behind newtypes, which add nothing to the bytes.
    pub fn peeled<'a>(&'a self, mut shape: &'a Shape) -> &'a Shape {
        while let Shape::Named(name) = shape
            && let Some(Body::Newtype(inner)) = self.types.get(name)
        {
            shape = inner;
        }
        shape
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => {
                let name = Primitive::NAMES
                    .iter()
                    .find(|(known, _)| known == primitive);
                f.write_str(name.map_or("()", |(_, name)| name))
            }
            Self::Option(inner) => write!(f, "{inner}?"),
            Self::Seq(inner) => write!(f, "[{inner}]"),
            Self::Array(inner, length) => write!(f, "[{inner}; {length}]"),
            Self::Map(key, value) => write!(f, "{{{key}: {value}}}"),
            Self::Tuple(parts) => tuple(f, parts),
            Self::Named(name) => f.write_str(name),
        }
    }
}

fn tuple(f: &mut fmt::Formatter<'_>, parts: &[Shape]) -> fmt::Result {
    f.write_str("(")?;
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{part}")?;
    }
    f.write_str(")")
}

fn fields(f: &mut fmt::Formatter<'_>, indent: &str, fields: &[Field]) -> fmt::Result {
    fields
        .iter()
        .try_for_each(|field| writeln!(f, "{indent}{}: {}", field.name, field.shape))
}

/// The text form of a named type.
pub(crate) struct Item<'a>(pub &'a str, pub &'a Body);

impl fmt::Display for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, body) = self;
        match body {
            Body::Unit => writeln!(f, "unit {name}"),
            Body::Newtype(inner) => writeln!(f, "newtype {name} {inner}"),
            Body::Tuple(parts) => {
                write!(f, "tuple {name} ")?;
                tuple(f, parts)?;
                writeln!(f)
            }
            Body::Struct(parts) => {
                writeln!(f, "struct {name}")?;
                fields(f, "  ", parts)
            }
            Body::Enum(variants) => {
                writeln!(f, "enum {name}")?;
                variants.iter().try_for_each(|variant| {
                    write!(f, "  {}", variant.name)?;
                    match &variant.content {
                        Content::Unit => writeln!(f),
                        Content::Tuple(parts) => {
                            tuple(f, parts)?;
                            writeln!(f)
                        }
                        Content::Struct(parts) => {
                            writeln!(f)?;
                            fields(f, "    ", parts)
                        }
                    }
                })
            }
        }
    }
}
