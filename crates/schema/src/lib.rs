//! Stored types: their descriptions, their versions, and reading bytes of older versions.
//!
//! Files hold values in the postcard encoding, which has no field names: a program with other types would decode other
//! values. Every family of stored types (the exchange's data folder, tapes) therefore keeps a [`History`]: an
//! append-only text with the types of every version, and the [`Step`]s from each version to the next. Bytes of an older
//! version are rewritten, step by step, into those of the newest and then decoded as usual.
//!
//! [`describe`] derives a type's description from its `Deserialize` implementation. A test of each family compares the
//! descriptions with the newest version of its history; types that changed without a version and its steps fail the
//! test, which prints what to append (`Check::assert`). Whether the steps produce the newer types is checked from the
//! two descriptions, without any data.
//!
//! | change | needs |
//! |---|---|
//! | reordered fields or variants, an added variant, a renamed type | a version |
//! | an added field | [`Step::Add`] with the value for older states |
//! | a removed field | [`Step::Remove`] |
//! | a renamed field or variant | [`Step::RenameField`], [`Step::RenameVariant`] |
//! | another type of a field, a removed variant, anything else | [`Step::ConvertField`], [`Step::Convert`] |
//!
//! This crate opens no files and depends on none of its users' types.

mod change;
mod check;
mod describe;
mod history;
mod parse;
mod pieces;
mod plan;
mod shape;
mod step;
mod value;
mod wire;

#[cfg(test)]
mod tests;

pub use check::Check;
pub use describe::{DescribeError, Describer, describe};
pub use history::{History, HistoryError};
pub use pieces::Piece;
pub use shape::{Body, Content, Field, Primitive, Schema, Shape, Variant};
pub use step::Step;
pub use value::Value;
pub use wire::WireError;
