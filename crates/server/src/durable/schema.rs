//! Which types are inside the files: a number made of their names, fields and variants.
//!
//! What is written carries no names, so a program with other types would read other things, or things
//! that never were. The number is had by asking serde what it would read: no list is kept by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::value::U32Deserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use crate::state::{Entry, State};

/// The number of the types that this program writes.
pub(crate) fn schema() -> u32 {
    static SCHEMA: OnceLock<u32> = OnceLock::new();
    *SCHEMA.get_or_init(|| number_of(&[text_of::<State>(), text_of::<Entry<'_>>()]))
}

fn number_of(texts: &[String]) -> u32 {
    let mut check = crc32fast::Hasher::new();
    for text in texts {
        check.update(text.as_bytes());
        check.update(b"\n");
    }
    check.finalize()
}

/// Every type that `T` reads, by name. Every pass enters one more variant of every enum it meets; they
/// go on until none is left.
fn text_of<'de, T: Deserialize<'de>>() -> String {
    let mut seen = Seen::default();
    loop {
        let mut shape = String::new();
        // A type that refuses made-up content is known as far as it was read.
        let _ = T::deserialize(Asker {
            seen: &mut seen,
            shape: &mut shape,
        });
        if std::mem::take(&mut seen.unfinished) == 0 {
            for (name, shapes) in &seen.types {
                let _ = write!(shape, "\n{name}: {shapes:?}");
            }
            return shape;
        }
    }
}

/// Name and variants.
type Enum = (&'static str, &'static [&'static str]);

/// How far an enum is known.
#[derive(Default)]
struct Progress {
    /// The next variant to enter for the first time.
    next: usize,
    /// Variants that hold something with more to show.
    again: BTreeSet<usize>,
}

#[derive(Default)]
struct Seen {
    /// What each named type was made of.
    types: BTreeMap<String, BTreeSet<String>>,
    enums: BTreeMap<Enum, Progress>,
    /// Enums met in this pass that have more to show.
    unfinished: u64,
}

/// Answers every question of a type with the least there is, and notes the question.
struct Asker<'a> {
    seen: &'a mut Seen,
    shape: &'a mut String,
}

#[derive(Debug)]
struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("made-up content was refused")
    }
}

impl std::error::Error for Stop {}

impl de::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

macro_rules! scalars {
    ($($method:ident $visit:ident ($($value:expr)?);)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            self.shape.push_str(&stringify!($visit)["visit_".len()..]);
            visitor.$visit($($value)?)
        })*
    };
}

impl<'de> Deserializer<'de> for Asker<'_> {
    type Error = Stop;

    scalars! {
        deserialize_any visit_unit ();
        deserialize_ignored_any visit_unit ();
        deserialize_identifier visit_u64 (0);
        deserialize_bool visit_bool (false);
        deserialize_i8 visit_i8 (0);
        deserialize_i16 visit_i16 (0);
        deserialize_i32 visit_i32 (0);
        deserialize_i64 visit_i64 (0);
        deserialize_i128 visit_i128 (0);
        deserialize_u8 visit_u8 (0);
        deserialize_u16 visit_u16 (0);
        deserialize_u32 visit_u32 (0);
        deserialize_u64 visit_u64 (0);
        deserialize_u128 visit_u128 (0);
        deserialize_f32 visit_f32 (0.0);
        deserialize_f64 visit_f64 (0.0);
        deserialize_char visit_char ('a');
        deserialize_str visit_str ("");
        deserialize_string visit_str ("");
        deserialize_bytes visit_bytes (b"");
        deserialize_byte_buf visit_bytes (b"");
        deserialize_unit visit_unit ();
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.shape.push('?');
        visitor.visit_some(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.shape.push_str(name);
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.named(name, String::new(), |asker| {
            visitor.visit_newtype_struct(asker)
        })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.shape.push_str("[]");
        visitor.visit_seq(Elements(self, 1))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let _ = write!(self.shape, "({length})");
        visitor.visit_seq(Elements(self, length))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.named(name, format!("({length})"), |asker| {
            visitor.visit_seq(Elements(asker, length))
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.shape.push_str("{}");
        visitor.visit_map(Elements(self, 1))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.named(name, format!("{fields:?}"), |asker| {
            visitor.visit_seq(Elements(asker, fields.len()))
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let of = (name, variants);
        let progress = self.seen.enums.entry(of).or_default();
        let index = if progress.next < variants.len() {
            progress.next += 1;
            progress.next - 1
        } else {
            progress.again.first().copied().unwrap_or(0)
        };
        let before = self.seen.unfinished;
        let asker = Asker {
            seen: self.seen,
            shape: self.shape,
        };
        let answer = asker.named(name, format!("{index} of {variants:?}"), |asker| {
            visitor.visit_enum(Variant(asker, u32::try_from(index).unwrap_or(0)))
        });
        let holds_more = self.seen.unfinished > before;
        let progress = self.seen.enums.entry(of).or_default();
        if holds_more {
            progress.again.insert(index);
        } else {
            progress.again.remove(&index);
        }
        if progress.next < variants.len() || !progress.again.is_empty() {
            self.seen.unfinished += 1;
        }
        answer
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

impl Asker<'_> {
    /// Notes what a named type is made of; who holds it only says the name.
    fn named<T>(self, name: &str, mut shape: String, ask: impl FnOnce(Asker<'_>) -> T) -> T {
        let answer = ask(Asker {
            seen: self.seen,
            shape: &mut shape,
        });
        self.shape.push_str(name);
        let shapes = self.seen.types.entry(name.to_owned()).or_default();
        shapes.insert(shape);
        answer
    }

    fn again(&mut self) -> Asker<'_> {
        self.shape.push(' ');
        Asker {
            seen: self.seen,
            shape: self.shape,
        }
    }
}

/// So many elements or entries.
struct Elements<'a>(Asker<'a>, usize);

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Stop;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Stop> {
        if self.1 == 0 {
            return Ok(None);
        }
        self.1 -= 1;
        seed.deserialize(self.0.again()).map(Some)
    }
}

impl<'de> MapAccess<'de> for Elements<'_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Stop> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        seed.deserialize(self.0.again())
    }
}

/// One variant.
struct Variant<'a>(Asker<'a>, u32);

impl<'a, 'de> EnumAccess<'de> for Variant<'a> {
    type Error = Stop;
    type Variant = Asker<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Asker<'a>), Stop> {
        let index: U32Deserializer<Stop> = self.1.into_deserializer();
        Ok((seed.deserialize(index)?, self.0))
    }
}

impl<'de> VariantAccess<'de> for Asker<'_> {
    type Error = Stop;

    fn unit_variant(self) -> Result<(), Stop> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, Stop> {
        seed.deserialize(self.again())
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Stop> {
        self.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        let _ = write!(self.shape, "{fields:?}");
        visitor.visit_seq(Elements(self, fields.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its names matter")]
    enum Old {
        Nothing,
        Both { left: u32, right: Option<Vec<u8>> },
    }

    mod new {
        use serde::Deserialize;

        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only its names matter")]
        pub enum Old {
            Nothing,
            Both { left: u32, right: Option<Vec<u16>> },
        }
    }

    #[test]
    fn the_types_inside_have_a_number_of_their_own() {
        let (old, new) = (text_of::<Old>(), text_of::<new::Old>());
        assert_eq!(old, text_of::<Old>());
        assert_ne!(old, new);
        assert_ne!(number_of(&[old]), number_of(&[new]));

        // Types are followed to the last field and the last variant.
        let (state, entry) = (text_of::<State>(), text_of::<Entry<'_>>());
        for word in [
            "stepped",
            "LevelQueue",
            "SlotTable",
            "supply",
            "Fair",
            "Random",
        ] {
            assert!(state.contains(word), "{word}: {state}");
        }
        for word in [
            "RotateApiKey",
            "CreateAccount",
            "valid_until_s",
            "Internal",
            "acts",
        ] {
            assert!(entry.contains(word), "{word}: {entry}");
        }
        for number in 0..kinds(&entry) {
            assert!(
                entry.contains(&format!("\"{number} of [\\\"Submit")),
                "{entry}"
            );
        }
    }

    /// How many kinds of requests there are.
    fn kinds(entry: &str) -> usize {
        let from = entry.find("[\\\"Submit").unwrap_or(0);
        let list = &entry[from..];
        list[..list.find(']').unwrap_or(0)].matches(',').count() + 1
    }
}
