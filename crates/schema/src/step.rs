//! What changed from one version of stored types to the next.
//!
//! Types and fields are called as in the older version; a field that comes new is called as in the newer.

use std::fmt;

use crate::value::Value;

/// Makes a value of the newer version out of one of the older.
pub type With = fn(Value) -> Result<Value, String>;

/// One change.
#[derive(Clone, Copy)]
pub enum Step {
    /// A struct has a field more; this is what it holds in states that had none.
    Add {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// What it holds.
        value: fn() -> Value,
    },
    /// A struct has a field less.
    Remove {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field is called otherwise.
    RenameField {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// Its old name.
        field: &'static str,
        /// Its new name.
        to: &'static str,
    },
    /// A variant is called otherwise.
    RenameVariant {
        /// The enum.
        of: &'static str,
        /// Its old name.
        variant: &'static str,
        /// Its new name.
        to: &'static str,
    },
    /// A field has another type.
    ConvertField {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// Makes the new value of the field.
        with: With,
    },
    /// A type is made of other things, wherever it is used.
    Convert {
        /// The type.
        of: &'static str,
        /// Makes the new value.
        with: With,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { of, field, .. } => write!(f, "add {of}.{field}"),
            Self::Remove { of, field } => write!(f, "remove {of}.{field}"),
            Self::RenameField { of, field, to } => write!(f, "rename {of}.{field} to {to}"),
            Self::RenameVariant { of, variant, to } => write!(f, "rename {of}::{variant} to {to}"),
            Self::ConvertField { of, field, .. } => write!(f, "convert {of}.{field}"),
            Self::Convert { of, .. } => write!(f, "convert {of}"),
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
