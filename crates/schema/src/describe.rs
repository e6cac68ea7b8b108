//! Describes a type by deserialising it with serde; no description is written by hand.
//!
//! A type is deserialised from a source that supplies minimal values and records the requests. Every pass enters one
//! more variant of every enum in it; passes are repeated until all variants were entered.

use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::value::U32Deserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use crate::shape::{Body, Content, Field, Primitive, Schema, Shape, Variant};

/// Why a type cannot be described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{root} cannot be described: {what}")]
pub struct DescribeError {
    /// Name of the type.
    pub root: String,
    /// The reason.
    pub what: String,
}

/// Describes one stored type under the name `label`.
pub fn describe<'de, T: Deserialize<'de>>(label: &str) -> Result<Schema, DescribeError> {
    Describer::default().root::<T>(label)?.finish()
}

/// Describes several stored types of one family.
#[derive(Default)]
pub struct Describer {
    seen: Seen,
    roots: BTreeMap<String, Shape>,
}

impl Describer {
    /// Adds a stored type under the name `label`.
    pub fn root<'de, T: Deserialize<'de>>(mut self, label: &str) -> Result<Self, DescribeError> {
        loop {
            let mut shape = None;
            let read = T::deserialize(Asker {
                seen: &mut self.seen,
                shape: &mut shape,
            });
            let problem = self.seen.problem.take();
            let refused = read.err().map(|Stop(what)| what);
            if let Some(what) = problem.or(refused) {
                let root = type_name::<T>().to_owned();
                return Err(DescribeError { root, what });
            }
            if std::mem::take(&mut self.seen.unfinished) == 0 {
                self.roots.insert(label.to_owned(), known(shape));
                return Ok(self);
            }
        }
    }

    /// The description.
    pub fn finish(self) -> Result<Schema, DescribeError> {
        let mut types = BTreeMap::new();
        for (_, (name, made)) in self.seen.types {
            let body = match made {
                Made::Of(body) => body,
                Made::Enum(enumerated) => Body::Enum(enumerated.variants()),
            };
            types.insert(name, body);
        }
        Ok(Schema {
            roots: self.roots,
            types,
        })
    }
}

/// A type that requested nothing is a unit.
fn known(shape: Option<Shape>) -> Shape {
    shape.unwrap_or(Shape::Primitive(Primitive::Unit))
}

/// The known description of a named type.
enum Made {
    Of(Body),
    Enum(Enumerated),
}

struct Enumerated {
    names: &'static [&'static str],
    contents: Vec<Option<Content>>,
    /// The next variant to enter for the first time.
    next: usize,
    /// Variants whose content has enums with further variants to enter.
    again: BTreeSet<usize>,
}

impl Enumerated {
    fn has_more(&self) -> bool {
        self.next < self.names.len() || !self.again.is_empty()
    }

    fn variants(self) -> Vec<Variant> {
        let contents = self.names.iter().zip(self.contents);
        contents
            .map(|(name, content)| Variant {
                name: (*name).to_owned(),
                content: content.unwrap_or(Content::Unit),
            })
            .collect()
    }
}

#[derive(Default)]
struct Seen {
    /// By the type of their visitor, which distinguishes types with the same name.
    types: BTreeMap<&'static str, (String, Made)>,
    names: BTreeSet<String>,
    /// Enums in this pass that have further variants to enter.
    unfinished: u64,
    problem: Option<String>,
}

impl Seen {
    /// The name of a type in the description.
    fn name(&mut self, identity: &'static str, name: &str) -> String {
        if let Some((known, _)) = self.types.get(identity) {
            return known.clone();
        }
        let numbered = (2..).map(|number| format!("{name}#{number}"));
        let mut free = std::iter::once(name.to_owned()).chain(numbered);
        let found = free.find(|name| !self.names.contains(name));
        let found = found.unwrap_or_default();
        self.names.insert(found.clone());
        found
    }

    /// Records the description of a type, which must be the same at every occurrence.
    fn note(&mut self, identity: &'static str, name: &str, body: Body) -> Shape {
        let called = self.name(identity, name);
        match self.types.get(identity) {
            None => {
                let made = Made::Of(body);
                self.types.insert(identity, (called.clone(), made));
            }
            Some((_, Made::Of(known))) if *known == body => {}
            Some(_) => {
                self.problem = Some(format!(
                    "{called} has different descriptions at different places"
                ));
            }
        }
        Shape::Named(called)
    }
}

/// A deserialiser that supplies minimal values and records what was requested.
struct Asker<'a> {
    seen: &'a mut Seen,
    shape: &'a mut Option<Shape>,
}

#[derive(Debug)]
struct Stop(String);

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Stop {}

impl de::Error for Stop {
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self(format!("the type refused a generated value: {what}"))
    }
}

macro_rules! primitives {
    ($($method:ident $visit:ident $primitive:ident ($($value:expr)?);)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            *self.shape = Some(Shape::Primitive(Primitive::$primitive));
            visitor.$visit($($value)?)
        })*
    };
}

impl<'de> Deserializer<'de> for Asker<'_> {
    type Error = Stop;

    primitives! {
        deserialize_bool visit_bool Bool (false);
        deserialize_i8 visit_i8 I8 (0);
        deserialize_i16 visit_i16 I16 (0);
        deserialize_i32 visit_i32 I32 (0);
        deserialize_i64 visit_i64 I64 (0);
        deserialize_i128 visit_i128 I128 (0);
        deserialize_u8 visit_u8 U8 (0);
        deserialize_u16 visit_u16 U16 (0);
        deserialize_u32 visit_u32 U32 (0);
        deserialize_u64 visit_u64 U64 (0);
        deserialize_u128 visit_u128 U128 (0);
        deserialize_f32 visit_f32 F32 (0.0);
        deserialize_f64 visit_f64 F64 (0.0);
        deserialize_char visit_char Char ('a');
        deserialize_str visit_str Str ("");
        deserialize_string visit_str Str ("");
        deserialize_bytes visit_bytes Bytes (b"");
        deserialize_byte_buf visit_bytes Bytes (b"");
        deserialize_unit visit_unit Unit ();
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop("it needs a self-describing format".to_owned()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop(
            "it ignores unknown content, which needs a self-describing format".to_owned(),
        ))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop(
            "it needs field names, which the encoding does not have".to_owned(),
        ))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        let (value, inner) = inside(self.seen, |asker| visitor.visit_some(asker));
        *self.shape = Some(Shape::Option(Box::new(known(inner))));
        value
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        *self.shape = Some(self.seen.note(type_name::<V>(), name, Body::Unit));
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let (value, inner) = inside(self.seen, |asker| visitor.visit_newtype_struct(asker));
        let body = Body::Newtype(known(inner));
        *self.shape = Some(self.seen.note(type_name::<V>(), name, body));
        value
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        let mut parts = Elements::new(self.seen, 1);
        let value = visitor.visit_seq(&mut parts);
        *self.shape = Some(Shape::Seq(Box::new(known(parts.shapes.pop()))));
        value
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let mut parts = Elements::new(self.seen, length);
        let value = visitor.visit_seq(&mut parts);
        *self.shape = Some(tuple(parts.shapes));
        value
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let mut parts = Elements::new(self.seen, length);
        let value = visitor.visit_seq(&mut parts);
        let body = Body::Tuple(parts.shapes);
        *self.shape = Some(self.seen.note(type_name::<V>(), name, body));
        value
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        let mut parts = Elements::new(self.seen, 1);
        let value = visitor.visit_map(&mut parts);
        let mut shapes = parts.shapes.into_iter();
        let (key, content) = (known(shapes.next()), known(shapes.next()));
        *self.shape = Some(Shape::Map(Box::new(key), Box::new(content)));
        value
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let mut parts = Elements::new(self.seen, fields.len());
        let value = visitor.visit_seq(&mut parts);
        let body = Body::Struct(named(fields, parts.shapes));
        *self.shape = Some(self.seen.note(type_name::<V>(), name, body));
        value
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let identity = type_name::<V>();
        let called = self.seen.name(identity, name);
        *self.shape = Some(Shape::Named(called.clone()));
        let entry = self.seen.types.entry(identity);
        let (_, made) = entry.or_insert_with(|| {
            let enumerated = Enumerated {
                names: variants,
                contents: variants.iter().map(|_| None).collect(),
                next: 0,
                again: BTreeSet::new(),
            };
            (called.clone(), Made::Enum(enumerated))
        });
        let Made::Enum(known) = made else {
            return Err(Stop(format!(
                "{called} has different descriptions at different places"
            )));
        };
        let index = if known.next < variants.len() {
            known.next += 1;
            known.next - 1
        } else {
            known.again.first().copied().unwrap_or(0)
        };
        let before = self.seen.unfinished;
        let mut content = None;
        let entered = Entered {
            seen: self.seen,
            content: &mut content,
            index: u32::try_from(index).unwrap_or(0),
        };
        let value = visitor.visit_enum(entered);
        let holds_more = self.seen.unfinished > before;
        if let Some((_, Made::Enum(known))) = self.seen.types.get_mut(identity) {
            if let Some(place) = known.contents.get_mut(index) {
                *place = content.or(Some(Content::Unit));
            }
            if holds_more {
                known.again.insert(index);
            } else {
                known.again.remove(&index);
            }
            self.seen.unfinished += u64::from(known.has_more());
        }
        value
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Deserialises an inner type and returns its description.
fn inside<T>(seen: &mut Seen, ask: impl FnOnce(Asker<'_>) -> T) -> (T, Option<Shape>) {
    let mut shape = None;
    let value = ask(Asker {
        seen,
        shape: &mut shape,
    });
    (value, shape)
}

fn tuple(parts: Vec<Shape>) -> Shape {
    let all_alike = parts.windows(2).all(|pair| pair[0] == pair[1]);
    match parts.first() {
        None => Shape::Primitive(Primitive::Unit),
        Some(first) if all_alike => Shape::Array(Box::new(first.clone()), parts.len()),
        Some(_) => Shape::Tuple(parts),
    }
}

fn named(names: &[&str], shapes: Vec<Shape>) -> Vec<Field> {
    names
        .iter()
        .zip(shapes)
        .map(|(name, shape)| Field {
            name: (*name).to_owned(),
            shape,
        })
        .collect()
}

/// A sequence of this many elements or entries.
struct Elements<'a> {
    seen: &'a mut Seen,
    left: usize,
    shapes: Vec<Shape>,
}

impl<'a> Elements<'a> {
    fn new(seen: &'a mut Seen, left: usize) -> Self {
        Self {
            seen,
            left,
            shapes: Vec::new(),
        }
    }

    fn ask<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        let (value, shape) = inside(self.seen, |asker| seed.deserialize(asker));
        self.shapes.push(known(shape));
        value
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_> {
    type Error = Stop;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Stop> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.ask(seed).map(Some)
    }
}

impl<'de> MapAccess<'de> for &mut Elements<'_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Stop> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        self.ask(seed)
    }
}

/// One entered variant.
struct Entered<'a> {
    seen: &'a mut Seen,
    content: &'a mut Option<Content>,
    index: u32,
}

impl<'de> EnumAccess<'de> for Entered<'_> {
    type Error = Stop;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Stop> {
        let index: U32Deserializer<Stop> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Entered<'_> {
    type Error = Stop;

    fn unit_variant(self) -> Result<(), Stop> {
        *self.content = Some(Content::Unit);
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Stop> {
        let (value, inner) = inside(self.seen, |asker| seed.deserialize(asker));
        *self.content = Some(Content::Tuple(vec![known(inner)]));
        value
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Stop> {
        let mut parts = Elements::new(self.seen, length);
        let value = visitor.visit_seq(&mut parts);
        *self.content = Some(Content::Tuple(parts.shapes));
        value
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let mut parts = Elements::new(self.seen, fields.len());
        let value = visitor.visit_seq(&mut parts);
        *self.content = Some(Content::Struct(named(fields, parts.shapes)));
        value
    }
}
