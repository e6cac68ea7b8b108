//! A value of any described type: steps between versions convert it, and dumps are made of it.

use crate::shape::{Body, Content, Field, Primitive, Schema, Shape};
use crate::wire::{
    WireError, put_number, take, take_byte, take_flag, take_length, take_number, take_variant,
    unzigzag, variable_bits, zigzag,
};

/// A value. A newtype is represented by its content.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Unit,
    /// Yes or no.
    Bool(bool),
    /// An unsigned number of any size.
    Unsigned(u128),
    /// A signed number of any size.
    Signed(i128),
    /// A floating point number of any size.
    Float(f64),
    /// Text.
    Text(String),
    /// `bytes`, and arrays of `u8`.
    Bytes(Vec<u8>),
    /// `T?`
    Option(Option<Box<Self>>),
    /// Sequences, arrays, tuples.
    List(Vec<Self>),
    /// `{K: V}`
    Map(Vec<(Self, Self)>),
    /// Fields by name.
    Struct(Vec<(String, Self)>),
    /// A variant by name: unit, list or struct inside.
    Variant(String, Box<Self>),
}

impl Value {
    /// An empty option.
    pub const NONE: Self = Self::Option(None);

    /// A filled option.
    pub fn some(value: Self) -> Self {
        Self::Option(Some(Box::new(value)))
    }

    /// A variant that holds nothing.
    pub fn unit_variant(name: &str) -> Self {
        Self::Variant(name.to_owned(), Box::new(Self::Unit))
    }

    /// Converts unsigned numbers to signed ones: a number, all values of a map, or either inside an option.
    pub fn into_signed(self) -> Result<Self, String> {
        match self {
            Self::Unsigned(number) => {
                let signed = i128::try_from(number).map_err(|_| format!("{number} is too large"));
                signed.map(Self::Signed)
            }
            Self::Option(None) => Ok(Self::NONE),
            Self::Option(Some(value)) => value.into_signed().map(Self::some),
            Self::Map(entries) => {
                let signed = |(key, value): (Self, Self)| Ok((key, value.into_signed()?));
                let entries: Result<_, String> = entries.into_iter().map(signed).collect();
                entries.map(Self::Map)
            }
            other => Err(format!("{other:?} is no unsigned number")),
        }
    }

    /// A field of a struct.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Struct(fields) = self else {
            return None;
        };
        let found = fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    /// A field of a struct, mutable.
    pub fn field_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Struct(fields) = self else {
            return None;
        };
        let found = fields.iter_mut().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }
}

fn no(shape: impl std::fmt::Display) -> WireError {
    WireError::No(shape.to_string())
}

fn is_byte(shape: &Shape) -> bool {
    *shape == Shape::Primitive(Primitive::U8)
}

impl Schema {
    /// Decodes a value of a type of this schema from the front of `input`.
    pub fn decode(&self, shape: &Shape, input: &mut &[u8]) -> Result<Value, WireError> {
        Ok(match shape {
            Shape::Primitive(primitive) => primitive_value(*primitive, input)?,
            Shape::Option(inner) => Value::Option(
                take_flag(input, "option")?
                    .then(|| self.decode(inner, input).map(Box::new))
                    .transpose()?,
            ),
            Shape::Seq(inner) => {
                let length = take_length(input)?;
                let parts = (0..length).map(|_| self.decode(inner, input));
                Value::List(parts.collect::<Result<_, _>>()?)
            }
            Shape::Array(inner, length) if is_byte(self.peeled(inner)) => {
                Value::Bytes(take(input, *length)?.to_vec())
            }
            Shape::Array(inner, length) => {
                let parts = (0..*length).map(|_| self.decode(inner, input));
                Value::List(parts.collect::<Result<_, _>>()?)
            }
            Shape::Map(key, value) => {
                let length = take_length(input)?;
                let mut entries = Vec::with_capacity(length.min(1 << 16));
                for _ in 0..length {
                    entries.push((self.decode(key, input)?, self.decode(value, input)?));
                }
                Value::Map(entries)
            }
            Shape::Tuple(parts) => self.decode_list(parts, input)?,
            Shape::Named(name) => match self.types.get(name).ok_or_else(|| no(name))? {
                Body::Unit => Value::Unit,
                Body::Newtype(inner) => self.decode(inner, input)?,
                Body::Tuple(parts) => self.decode_list(parts, input)?,
                Body::Struct(fields) => self.decode_fields(fields, input)?,
                Body::Enum(variants) => {
                    let variant = &variants[take_variant(input, variants.len())?];
                    let content = match &variant.content {
                        Content::Unit => Value::Unit,
                        Content::Tuple(parts) => self.decode_list(parts, input)?,
                        Content::Struct(fields) => self.decode_fields(fields, input)?,
                    };
                    Value::Variant(variant.name.clone(), Box::new(content))
                }
            },
        })
    }

    fn decode_list(&self, parts: &[Shape], input: &mut &[u8]) -> Result<Value, WireError> {
        let parts = parts.iter().map(|part| self.decode(part, input));
        Ok(Value::List(parts.collect::<Result<_, _>>()?))
    }

    fn decode_fields(&self, fields: &[Field], input: &mut &[u8]) -> Result<Value, WireError> {
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            values.push((field.name.clone(), self.decode(&field.shape, input)?));
        }
        Ok(Value::Struct(values))
    }

    /// Encodes a value of a type of this schema; an error if the value is not of the type.
    pub fn encode(&self, shape: &Shape, value: &Value, out: &mut Vec<u8>) -> Result<(), WireError> {
        match (shape, value) {
            (Shape::Primitive(primitive), value) => put_primitive(*primitive, value, out),
            (Shape::Option(inner), Value::Option(value)) => {
                out.push(u8::from(value.is_some()));
                match value {
                    Some(value) => self.encode(inner, value, out),
                    None => Ok(()),
                }
            }
            (Shape::Seq(inner), Value::List(values)) => {
                put_number(values.len() as u128, out);
                values
                    .iter()
                    .try_for_each(|value| self.encode(inner, value, out))
            }
            (Shape::Array(inner, length), Value::Bytes(bytes))
                if bytes.len() == *length && is_byte(self.peeled(inner)) =>
            {
                out.extend_from_slice(bytes);
                Ok(())
            }
            (Shape::Array(inner, length), Value::List(values)) if values.len() == *length => values
                .iter()
                .try_for_each(|value| self.encode(inner, value, out)),
            (Shape::Map(key, content), Value::Map(entries)) => {
                put_number(entries.len() as u128, out);
                entries.iter().try_for_each(|(name, value)| {
                    self.encode(key, name, out)?;
                    self.encode(content, value, out)
                })
            }
            (Shape::Tuple(parts), value) => self.encode_list(parts, value, out),
            (Shape::Named(name), value) => match self.types.get(name).ok_or_else(|| no(name))? {
                Body::Unit => nothing(value),
                Body::Newtype(inner) => self.encode(inner, value, out),
                Body::Tuple(parts) => self.encode_list(parts, value, out),
                Body::Struct(fields) => self.encode_fields(name, fields, value, out),
                Body::Enum(variants) => {
                    let Value::Variant(chosen, content) = value else {
                        return Err(no(name));
                    };
                    let index = variants.iter().position(|known| known.name == *chosen);
                    let index = index.ok_or_else(|| no(format!("{name}::{chosen}")))?;
                    put_number(index as u128, out);
                    match &variants[index].content {
                        Content::Unit => nothing(content),
                        Content::Tuple(parts) => self.encode_list(parts, content, out),
                        Content::Struct(fields) => self.encode_fields(chosen, fields, content, out),
                    }
                }
            },
            (shape, _) => Err(no(shape)),
        }
    }

    fn encode_list(
        &self,
        parts: &[Shape],
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match value {
            Value::List(values) if values.len() == parts.len() => parts
                .iter()
                .zip(values)
                .try_for_each(|(part, value)| self.encode(part, value, out)),
            _ => Err(no(format!("list of {}", parts.len()))),
        }
    }

    fn encode_fields(
        &self,
        name: &str,
        fields: &[Field],
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let Value::Struct(values) = value else {
            return Err(no(name));
        };
        if values.len() != fields.len() {
            return Err(no(format!("{name} with {} fields", values.len())));
        }
        fields.iter().try_for_each(|field| {
            let found = value.field(&field.name);
            let found = found.ok_or_else(|| no(format!("{name} without {}", field.name)))?;
            self.encode(&field.shape, found, out)
                .map_err(|error| match error {
                    WireError::No(what) => no(format!("{what} in {name}.{}", field.name)),
                    other => other,
                })
        })
    }
}

fn nothing(value: &Value) -> Result<(), WireError> {
    match value {
        Value::Unit => Ok(()),
        _ => Err(no("()")),
    }
}

fn primitive_value(primitive: Primitive, input: &mut &[u8]) -> Result<Value, WireError> {
    let text = |input: &mut &[u8]| {
        let length = take_length(input)?;
        let bytes = take(input, length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| no("text"))
    };
    Ok(match primitive {
        Primitive::Unit => Value::Unit,
        Primitive::Bool => Value::Bool(take_flag(input, "bool")?),
        Primitive::U8 => Value::Unsigned(take_byte(input)?.into()),
        Primitive::I8 => Value::Signed(take_byte(input)?.cast_signed().into()),
        Primitive::U16 | Primitive::U32 | Primitive::U64 | Primitive::U128 => {
            let bits = variable_bits(primitive).unwrap_or(128);
            Value::Unsigned(take_number(input, bits)?)
        }
        Primitive::I16 | Primitive::I32 | Primitive::I64 | Primitive::I128 => {
            let bits = variable_bits(primitive).unwrap_or(128);
            Value::Signed(unzigzag(take_number(input, bits)?))
        }
        Primitive::F32 => {
            let bytes = take(input, 4)?.try_into().map_err(|_| WireError::End)?;
            Value::Float(f32::from_le_bytes(bytes).into())
        }
        Primitive::F64 => {
            let bytes = take(input, 8)?.try_into().map_err(|_| WireError::End)?;
            Value::Float(f64::from_le_bytes(bytes))
        }
        Primitive::Char | Primitive::Str => Value::Text(text(input)?),
        Primitive::Bytes => {
            let length = take_length(input)?;
            Value::Bytes(take(input, length)?.to_vec())
        }
    })
}

fn put_primitive(primitive: Primitive, value: &Value, out: &mut Vec<u8>) -> Result<(), WireError> {
    let wrong = || no(Shape::Primitive(primitive));
    match (primitive, value) {
        (Primitive::Unit, Value::Unit) => {}
        (Primitive::Bool, Value::Bool(yes)) => out.push(u8::from(*yes)),
        (Primitive::U8, Value::Unsigned(number)) => {
            out.push(u8::try_from(*number).map_err(|_| wrong())?);
        }
        (Primitive::I8, Value::Signed(number)) => {
            out.push(i8::try_from(*number).map_err(|_| wrong())?.cast_unsigned());
        }
        (
            Primitive::U16 | Primitive::U32 | Primitive::U64 | Primitive::U128,
            Value::Unsigned(number),
        ) => {
            let bits = variable_bits(primitive).unwrap_or(128);
            if bits < 128 && number >> bits != 0 {
                return Err(wrong());
            }
            put_number(*number, out);
        }
        (
            Primitive::I16 | Primitive::I32 | Primitive::I64 | Primitive::I128,
            Value::Signed(number),
        ) => {
            let bits = variable_bits(primitive).unwrap_or(128);
            let folded = zigzag(*number);
            if bits < 128 && folded >> bits != 0 {
                return Err(wrong());
            }
            put_number(folded, out);
        }
        (Primitive::F32, Value::Float(number)) => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "one that was an f32 is one again"
            )]
            out.extend_from_slice(&(*number as f32).to_le_bytes());
        }
        (Primitive::F64, Value::Float(number)) => out.extend_from_slice(&number.to_le_bytes()),
        (Primitive::Char, Value::Text(text)) if text.chars().count() != 1 => return Err(wrong()),
        (Primitive::Char | Primitive::Str, Value::Text(text)) => {
            put_number(text.len() as u128, out);
            out.extend_from_slice(text.as_bytes());
        }
        (Primitive::Bytes, Value::Bytes(bytes)) => {
            put_number(bytes.len() as u128, out);
            out.extend_from_slice(bytes);
        }
        _ => return Err(wrong()),
    }
    Ok(())
}
