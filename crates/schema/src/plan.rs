//! From two versions of a type and the steps between them to a plan that rewrites bytes.
//!
//! The plan checks, before there is any data, that every difference is covered by a step and every step by a
//! difference. Rewriting copies unchanged parts and builds values only for steps that convert.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::shape::{Body, Content, Field, Primitive, Schema, Shape, Variant};
use crate::step::{Step, With};
use crate::value::Value;
use crate::wire::{WireError, put_number, take_flag, take_length, take_primitive, take_variant};

/// How bytes of one version of a root are rewritten into those of the next.
#[derive(Debug)]
pub(crate) struct Plan {
    from: Arc<Schema>,
    to: Arc<Schema>,
    /// Pairs of named types, old and new, with their rewrites.
    pairs: Vec<(String, String, Option<Rewrite>)>,
    root: Node,
    /// Whether the newer bytes differ from the older.
    changes: bool,
    /// Steps that were used, by index.
    used: BTreeSet<usize>,
}

/// The rewrite of a type at one place.
#[derive(Clone, Debug)]
enum Node {
    Primitive(Primitive),
    Option(Box<Self>),
    Seq(Box<Self>),
    Array(Box<Self>, usize),
    Map(Box<Self>, Box<Self>),
    Parts(Vec<Self>),
    Pair(usize),
    Convert(Shape, Shape, Conversion),
}

/// The rewrite of a named type.
#[derive(Clone, Debug)]
enum Rewrite {
    Fields(Fields),
    /// By old variant index: the new index, and the rewrite of the content.
    Enum(Vec<(usize, Held)>),
}

#[derive(Clone, Debug)]
enum Held {
    Nothing,
    Parts(Vec<Node>),
    Fields(Fields),
}

/// The rewrite of named fields.
#[derive(Clone, Debug)]
struct Fields {
    old: Vec<Node>,
    new: Vec<Source>,
    /// No field is moved, added or removed.
    in_place: bool,
}

#[derive(Clone, Debug)]
enum Source {
    Old(usize),
    Bytes(Vec<u8>),
}

#[derive(Clone, Copy)]
struct Conversion {
    step: Step,
    with: With,
}

impl std::fmt::Debug for Conversion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.step)
    }
}

/// Builds a plan.
struct Resolver<'a> {
    from: &'a Schema,
    to: &'a Schema,
    steps: &'a [Step],
    pairs: Vec<(String, String, Option<Rewrite>)>,
    changes: bool,
    used: BTreeSet<usize>,
}

impl Plan {
    /// The plan for a root from one version to the next. An error names the place where the steps do not produce the
    /// newer type.
    pub fn new(
        from: &Arc<Schema>,
        to: &Arc<Schema>,
        steps: &[Step],
        root: &str,
    ) -> Result<Self, String> {
        let (Some(old), Some(new)) = (from.roots.get(root), to.roots.get(root)) else {
            return Err(format!("the root {root} is missing in one of the versions"));
        };
        let mut resolver = Resolver {
            from,
            to,
            steps,
            pairs: Vec::new(),
            changes: false,
            used: BTreeSet::new(),
        };
        let node = resolver.node(old, new, root)?;
        Ok(Self {
            pairs: resolver.pairs,
            root: node,
            changes: resolver.changes,
            used: resolver.used,
            from: Arc::clone(from),
            to: Arc::clone(to),
        })
    }

    /// Whether bytes of the newer version differ from those of the older.
    pub const fn changes(&self) -> bool {
        self.changes
    }

    /// Steps that this root used, by index.
    pub const fn used(&self) -> &BTreeSet<usize> {
        &self.used
    }

    /// Rewrites one value from the front of `input`.
    pub fn rewrite(&self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        self.run(&self.root, input, out)
    }

    fn run(&self, node: &Node, input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        match node {
            Node::Primitive(primitive) => {
                out.extend_from_slice(take_primitive(input, *primitive)?);
                Ok(())
            }
            Node::Option(inner) => {
                let is_some = take_flag(input, "option")?;
                out.push(u8::from(is_some));
                if is_some {
                    self.run(inner, input, out)
                } else {
                    Ok(())
                }
            }
            Node::Seq(inner) => {
                let length = take_length(input)?;
                put_number(length as u128, out);
                (0..length).try_for_each(|_| self.run(inner, input, out))
            }
            Node::Array(inner, length) => {
                (0..*length).try_for_each(|_| self.run(inner, input, out))
            }
            Node::Map(key, value) => {
                let length = take_length(input)?;
                put_number(length as u128, out);
                (0..length).try_for_each(|_| {
                    self.run(key, input, out)?;
                    self.run(value, input, out)
                })
            }
            Node::Parts(parts) => parts.iter().try_for_each(|part| self.run(part, input, out)),
            Node::Pair(index) => match &self.pairs[*index].2 {
                Some(Rewrite::Fields(fields)) => self.fields(fields, input, out),
                Some(Rewrite::Enum(variants)) => {
                    let (new, held) = &variants[take_variant(input, variants.len())?];
                    put_number(*new as u128, out);
                    match held {
                        Held::Nothing => Ok(()),
                        Held::Parts(parts) => {
                            parts.iter().try_for_each(|part| self.run(part, input, out))
                        }
                        Held::Fields(fields) => self.fields(fields, input, out),
                    }
                }
                None => Err(WireError::No(self.pairs[*index].0.clone())),
            },
            Node::Convert(old, new, conversion) => {
                let failed = |what: String| WireError::Step {
                    step: conversion.step.to_string(),
                    what,
                };
                let value = self.from.decode(old, input)?;
                let value = (conversion.with)(value).map_err(failed)?;
                let encoded = self.to.encode(new, &value, out);
                encoded.map_err(|error| failed(error.to_string()))
            }
        }
    }

    fn fields(
        &self,
        fields: &Fields,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        if fields.in_place {
            return fields
                .old
                .iter()
                .try_for_each(|node| self.run(node, input, out));
        }
        let mut written = Vec::new();
        let mut places = Vec::with_capacity(fields.old.len());
        for node in &fields.old {
            let begin = written.len();
            self.run(node, input, &mut written)?;
            places.push(begin..written.len());
        }
        for source in &fields.new {
            match source {
                Source::Old(index) => out.extend_from_slice(&written[places[*index].clone()]),
                Source::Bytes(bytes) => out.extend_from_slice(bytes),
            }
        }
        Ok(())
    }
}

impl Resolver<'_> {
    fn node(&mut self, old: &Shape, new: &Shape, path: &str) -> Result<Node, String> {
        let (from, to) = (self.from, self.to);
        // A conversion may name a newtype, which adds nothing to the bytes.
        let mut named = old;
        loop {
            if let Some(conversion) = self.conversion(named) {
                self.changes = true;
                return Ok(Node::Convert(named.clone(), new.clone(), conversion));
            }
            match named {
                Shape::Named(name) => match from.types.get(name) {
                    Some(Body::Newtype(inner)) => named = inner,
                    _ => break,
                },
                _ => break,
            }
        }
        let (old, new) = (named, to.peeled(new));
        let other = || format!("{path}: {old} became {new} without a step");
        Ok(match (old, new) {
            (Shape::Primitive(one), Shape::Primitive(two)) if one == two => Node::Primitive(*one),
            (Shape::Option(one), Shape::Option(two)) => {
                Node::Option(Box::new(self.node(one, two, path)?))
            }
            (Shape::Seq(one), Shape::Seq(two)) => Node::Seq(Box::new(self.node(one, two, path)?)),
            (Shape::Array(one, length), Shape::Array(two, same)) if length == same => {
                Node::Array(Box::new(self.node(one, two, path)?), *length)
            }
            (Shape::Map(key, value), Shape::Map(new_key, new_value)) => Node::Map(
                Box::new(self.node(key, new_key, path)?),
                Box::new(self.node(value, new_value, path)?),
            ),
            (Shape::Tuple(one), Shape::Tuple(two)) => Node::Parts(self.parts(one, two, path)?),
            (Shape::Named(one), Shape::Named(two)) => self.pair(one, two, path)?,
            _ => return Err(other()),
        })
    }

    /// Two named types that are not newtypes.
    fn pair(&mut self, old: &str, new: &str, path: &str) -> Result<Node, String> {
        let (from, to) = (self.from, self.to);
        let (Some(one), Some(two)) = (from.types.get(old), to.types.get(new)) else {
            return Err(format!("{path}: {old} or {new} is not described"));
        };
        let known = &self.pairs;
        if let Some(index) = known.iter().position(|(a, b, _)| a == old && b == new) {
            return Ok(Node::Pair(index));
        }
        let rewrite = match (one, two) {
            (Body::Unit, Body::Unit) => return Ok(Node::Parts(Vec::new())),
            (Body::Tuple(one), Body::Tuple(two)) => {
                return Ok(Node::Parts(self.parts(one, two, old)?));
            }
            (Body::Struct(one), Body::Struct(two)) => {
                let index = self.enter(old, new);
                let fields = self.fields(old, one, two)?;
                (index, Rewrite::Fields(fields))
            }
            (Body::Enum(one), Body::Enum(two)) => {
                let index = self.enter(old, new);
                (index, Rewrite::Enum(self.variants(old, one, two)?))
            }
            _ => {
                return Err(format!(
                    "{path}: {old} became another kind of {new} without a step"
                ));
            }
        };
        let (index, rewrite) = rewrite;
        self.pairs[index].2 = Some(rewrite);
        Ok(Node::Pair(index))
    }

    fn enter(&mut self, old: &str, new: &str) -> usize {
        let pairs = &mut self.pairs;
        pairs.push((old.to_owned(), new.to_owned(), None));
        pairs.len() - 1
    }

    fn parts(&mut self, old: &[Shape], new: &[Shape], path: &str) -> Result<Vec<Node>, String> {
        if old.len() != new.len() {
            let (old, new) = (old.len(), new.len());
            return Err(format!("{path}: {old} parts became {new} without a step"));
        }
        let pairs = old.iter().zip(new);
        pairs.map(|(old, new)| self.node(old, new, path)).collect()
    }

    fn fields(&mut self, of: &str, old: &[Field], new: &[Field]) -> Result<Fields, String> {
        let mut nodes = Vec::with_capacity(old.len());
        // Old fields by their names in the newer version.
        let mut called = Vec::with_capacity(old.len());
        for field in old {
            let path = format!("{of}.{}", field.name);
            let removed = |step: &Step| matches!(step, Step::Remove { of: ty, field: name } if *ty == of && *name == field.name);
            if let Some(step) = self.step(removed) {
                let conversion = Conversion {
                    step,
                    with: |_| Ok(Value::Unit),
                };
                let nothing = Shape::Primitive(Primitive::Unit);
                nodes.push(Node::Convert(field.shape.clone(), nothing, conversion));
                called.push(None);
                continue;
            }
            let renamed = self.step(|step| {
                matches!(step, Step::RenameField { of: ty, field: name, .. } if *ty == of && *name == field.name)
            });
            let name = match renamed {
                Some(Step::RenameField { to, .. }) => to,
                _ => field.name.as_str(),
            };
            let Some(target) = new.iter().find(|target| target.name == name) else {
                return Err(format!("{path} was removed without a step"));
            };
            let converted = self.step(|step| {
                matches!(step, Step::ConvertField { of: ty, field: name, .. } if *ty == of && *name == field.name)
            });
            let node = if let Some(step @ Step::ConvertField { with, .. }) = converted {
                self.changes = true;
                let conversion = Conversion { step, with };
                Node::Convert(field.shape.clone(), target.shape.clone(), conversion)
            } else {
                self.node(&field.shape, &target.shape, &path)?
            };
            nodes.push(node);
            called.push(Some(name.to_owned()));
        }
        let mut sources = Vec::with_capacity(new.len());
        for field in new {
            let from = called
                .iter()
                .position(|name| name.as_deref() == Some(&field.name));
            if let Some(index) = from {
                sources.push(Source::Old(index));
                continue;
            }
            let added = self.step(|step| {
                matches!(step, Step::Add { of: ty, field: name, .. } if *ty == of && *name == field.name)
            });
            let Some(Step::Add { value, .. }) = added else {
                return Err(format!("{of}.{} was added without a step", field.name));
            };
            let mut bytes = Vec::new();
            let encoded = self.to.encode(&field.shape, &value(), &mut bytes);
            encoded.map_err(|error| format!("{of}.{}: {error}", field.name))?;
            sources.push(Source::Bytes(bytes));
        }
        let in_place = nodes.len() == sources.len()
            && (sources.iter().enumerate())
                .all(|(index, source)| matches!(source, Source::Old(from) if *from == index));
        self.changes |= !in_place;
        Ok(Fields {
            old: nodes,
            new: sources,
            in_place,
        })
    }

    fn variants(
        &mut self,
        of: &str,
        old: &[Variant],
        new: &[Variant],
    ) -> Result<Vec<(usize, Held)>, String> {
        let mut found = Vec::with_capacity(old.len());
        for (number, variant) in old.iter().enumerate() {
            let path = format!("{of}::{}", variant.name);
            let renamed = self.step(|step| {
                matches!(step, Step::RenameVariant { of: ty, variant: name, .. } if *ty == of && *name == variant.name)
            });
            let name = match renamed {
                Some(Step::RenameVariant { to, .. }) => to,
                _ => variant.name.as_str(),
            };
            let Some(index) = new.iter().position(|target| target.name == name) else {
                return Err(format!("{path} was removed without a step"));
            };
            self.changes |= index != number;
            let held = match (&variant.content, &new[index].content) {
                (Content::Unit, Content::Unit) => Held::Nothing,
                (Content::Tuple(one), Content::Tuple(two)) => {
                    Held::Parts(self.parts(one, two, &path)?)
                }
                (Content::Struct(one), Content::Struct(two)) => {
                    Held::Fields(self.fields(&path, one, two)?)
                }
                _ => return Err(format!("{path} has other content without a step")),
            };
            found.push((index, held));
        }
        Ok(found)
    }

    /// The step that converts a type at every place.
    fn conversion(&mut self, shape: &Shape) -> Option<Conversion> {
        let Shape::Named(name) = shape else {
            return None;
        };
        let step = self.step(|step| matches!(step, Step::Convert { of, .. } if of == name))?;
        match step {
            Step::Convert { with, .. } => Some(Conversion { step, with }),
            _ => None,
        }
    }

    fn step(&mut self, is_it: impl Fn(&Step) -> bool) -> Option<Step> {
        let index = self.steps.iter().position(is_it)?;
        self.used.insert(index);
        Some(self.steps[index])
    }
}
