//! Stored types: what they look like, how they changed, and how bytes of an older version are read.
//!
//! Files hold values in the postcard encoding, which carries no names: a program with other types would
//! read other things. So every family of stored types (the exchange's data folder, tapes) keeps a
//! [`History`]: a text, appended to and never changed, with the types of every version there ever was,
//! and the [`Step`]s from each version to the next. Bytes of any of these versions are rewritten, step by
//! step, into those of the newest one, and then decoded as usual.
//!
//! [`describe`] asks serde what a type reads. A test of each family compares that with the newest version
//! of its history: types that changed without a version and its steps fail it, and it prints what to
//! append (`Check::assert`). What the steps must bring about is known from both texts, so
//! whether they do is checked without any data.
//!
//! | change | what it takes |
//! |---|---|
//! | another order of fields or variants, a variant more, another name of a type | a version |
//! | a field more | [`Step::Add`] with the value that older states have |
//! | a field less | [`Step::Remove`] |
//! | another name of a field or variant | [`Step::RenameField`], [`Step::RenameVariant`] |
//! | another type of a field, a variant less, anything else | [`Step::ConvertField`], [`Step::Convert`] |
//!
//! Knows no files and no types of its own users.

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
