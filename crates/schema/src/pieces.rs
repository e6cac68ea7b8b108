//! Splits a value into pieces that can be handled one by one, and joins them again.
//!
//! Structs are split into their fields; a list or map into its length and its entries, each a whole piece; any other
//! value is one piece. A state of any size is dumped and loaded with one entry in memory.

use crate::shape::{Body, Primitive, Schema, Shape};
use crate::value::Value;
use crate::wire::{WireError, put_number, take_length};

/// Kind of a piece, with its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A value that is not a struct, list or map.
    Value(&'a Shape),
    /// Number of the entries that follow, unsigned.
    Entries,
    /// An entry of a list.
    Entry(&'a Shape),
    /// An entry of a map: a list of key and value.
    Pair(&'a Shape, &'a Shape),
}

/// Type of the number of entries.
const COUNT: Shape = Shape::Primitive(Primitive::U64);

impl Schema {
    /// Splits bytes of a type, in order. `at` is the path of field names to a piece.
    pub fn take_apart<E: From<WireError>>(
        &self,
        shape: &Shape,
        at: &str,
        input: &mut &[u8],
        put: &mut dyn FnMut(&str, Piece<'_>, Value) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.peeled(shape) {
            Shape::Named(name) => match self.types.get(name) {
                Some(Body::Struct(fields)) => fields.iter().try_for_each(|field| {
                    let at = format!("{at}.{}", field.name);
                    self.take_apart(&field.shape, &at, input, put)
                }),
                _ => put(at, Piece::Value(shape), self.decode(shape, input)?),
            },
            Shape::Seq(inner) => {
                let count = take_length(input)?;
                put(at, Piece::Entries, Value::Unsigned(count as u128))?;
                for _ in 0..count {
                    put(at, Piece::Entry(inner), self.decode(inner, input)?)?;
                }
                Ok(())
            }
            Shape::Map(key, value) => {
                let count = take_length(input)?;
                put(at, Piece::Entries, Value::Unsigned(count as u128))?;
                for _ in 0..count {
                    let pair = vec![self.decode(key, input)?, self.decode(value, input)?];
                    put(at, Piece::Pair(key, value), Value::List(pair))?;
                }
                Ok(())
            }
            _ => put(at, Piece::Value(shape), self.decode(shape, input)?),
        }
    }

    /// Requests the pieces of a type in the order of [`Schema::take_apart`] and writes its bytes.
    pub fn put_together<E: From<WireError>>(
        &self,
        shape: &Shape,
        at: &str,
        out: &mut Vec<u8>,
        next: &mut dyn FnMut(&str, Piece<'_>) -> Result<Value, E>,
    ) -> Result<(), E> {
        let count = |value: Value| match value {
            Value::Unsigned(count) if u64::try_from(count).is_ok() => Ok(count),
            _ => Err(WireError::No(format!("number of entries ({COUNT})"))),
        };
        match self.peeled(shape) {
            Shape::Named(name) => match self.types.get(name) {
                Some(Body::Struct(fields)) => fields.iter().try_for_each(|field| {
                    let at = format!("{at}.{}", field.name);
                    self.put_together(&field.shape, &at, out, next)
                }),
                _ => Ok(self.encode(shape, &next(at, Piece::Value(shape))?, out)?),
            },
            Shape::Seq(inner) => {
                let count = count(next(at, Piece::Entries)?)?;
                put_number(count, out);
                for _ in 0..count {
                    self.encode(inner, &next(at, Piece::Entry(inner))?, out)?;
                }
                Ok(())
            }
            Shape::Map(key, value) => {
                let count = count(next(at, Piece::Entries)?)?;
                put_number(count, out);
                for _ in 0..count {
                    let pair = next(at, Piece::Pair(key, value))?;
                    let pair = match &pair {
                        Value::List(pair) => pair.as_slice(),
                        _ => &[],
                    };
                    let [name, content] = pair else {
                        return Err(WireError::No("pair of key and value".to_owned()).into());
                    };
                    self.encode(key, name, out)?;
                    self.encode(value, content, out)?;
                }
                Ok(())
            }
            _ => Ok(self.encode(shape, &next(at, Piece::Value(shape))?, out)?),
        }
    }
}
