//! Changes from one version of stored types to the next.
//!
//! Names are those of the older version; an added field has its name in the newer.

use std::fmt;

use crate::value::Value;

/// Converts a value of the older version to one of the newer.
pub type With = fn(Value) -> Result<Value, String>;

/// One change.
#[derive(Clone, Copy)]
pub enum Step {
    /// A field was added.
    Add {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// Its value in states of the older version.
        value: fn() -> Value,
    },
    /// A field was removed.
    Remove {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field was renamed.
    RenameField {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// Its old name.
        field: &'static str,
        /// Its new name.
        to: &'static str,
    },
    /// A variant was renamed.
    RenameVariant {
        /// The enum.
        of: &'static str,
        /// Its old name.
        variant: &'static str,
        /// Its new name.
        to: &'static str,
    },
    /// The type of a field changed.
    ConvertField {
        /// The struct, or `Enum::Variant`.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// Converts the field's value.
        with: With,
    },
    /// A type changed, at every place of its use.
    Convert {
        /// The type.
        of: &'static str,
        /// Converts the value.
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
