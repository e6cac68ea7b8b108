//! Evaluates files of test vectors: everything that can be recomputed is compared.
//!
//! The shape of a file is recognised by its content. Further shapes can be added by the caller: implement a [`Shape`]
//! and pass it to [`evaluate_with`]. Files are read by the caller.

mod account;
mod amm_math;
mod api_sig;
mod check;
mod constants;
mod eddsa;
mod eip712;
mod floats;
mod json;
mod keys;
mod negative;
mod node;
mod order;
mod pool;
mod poseidon;
mod real_service;
mod request;

pub use check::{Case, Cases, Deviation};
pub use json::Json;
pub use node::Node;

/// Result of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileReport {
    /// Name of the shape the file was recognised as.
    pub shape: &'static str,
    /// Cases in the file: the sum of the next three.
    pub cases: usize,
    /// Cases in which every value was reproduced.
    pub passed: usize,
    /// Cases with at least one value that was not.
    pub failed: usize,
    /// Cases whose result the file leaves to the implementation.
    pub reported: usize,
    /// The first value that was not reproduced: where, the value of the file, the computed value.
    pub first_failure: Option<String>,
    /// The computed number with the largest distance from the stated one; `None` if all comparisons are exact.
    pub worst: Option<Deviation>,
}

/// Why a file could not be evaluated at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The text is not JSON.
    #[error("{file}: not JSON: {reason}")]
    Json {
        /// Name of the file.
        file: String,
        /// The parser's message.
        reason: String,
    },
    /// The file contains counts of agreements instead of vectors.
    #[error("{file}: a report, not vectors")]
    Report {
        /// Name of the file.
        file: String,
    },
    /// No known shape matches.
    #[error("{file}: unknown shape of vectors")]
    UnknownShape {
        /// Name of the file.
        file: String,
    },
    /// The file has no cases.
    #[error("{file}: no cases")]
    NoCases {
        /// Name of the file.
        file: String,
    },
    /// A required value is missing.
    #[error("{path}: missing")]
    Missing {
        /// File and place.
        path: String,
    },
    /// A value needed for the computation cannot be read.
    #[error("{path}: expected {expected}")]
    Malformed {
        /// File and place.
        path: String,
        /// The expected content.
        expected: &'static str,
    },
    /// The computation has no result.
    #[error("{path}: {reason}")]
    NotComputed {
        /// File and place.
        path: String,
        /// The reason.
        reason: String,
    },
}

/// A kind of file: how to recognise it and how to evaluate it.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Name for reports.
    pub name: &'static str,
    /// Whether a parsed file is of this shape.
    pub recognises: fn(&Json) -> bool,
    /// Evaluates all cases of the file.
    pub evaluate: fn(&Node<'_>, &mut Cases) -> Result<(), VectorError>,
}

/// The shapes of the interface's own vectors, in the order in which they are tried.
pub static SHAPES: [Shape; 16] = [
    negative::SHAPE,
    poseidon::SHAPE,
    constants::SHAPE,
    keys::SHAPE,
    eddsa::SHAPE,
    order::SHAPE,
    request::TRANSFERS,
    request::WITHDRAWALS,
    account::SHAPE,
    pool::JOINS,
    pool::EXITS,
    api_sig::SHAPE,
    eip712::SHAPE,
    floats::SHAPE,
    amm_math::SHAPE,
    real_service::SHAPE,
];

/// Evaluates a file of the interface's own vectors. `name` is used in messages only.
///
/// # Errors
/// See [`VectorError`]; values that merely differ are counted in the report.
pub fn evaluate_file(name: &str, json: &str) -> Result<FileReport, VectorError> {
    evaluate_with(&SHAPES, name, json)
}

/// Evaluates a file of any of the given shapes.
///
/// # Errors
/// See [`VectorError`]; values that merely differ are counted in the report.
pub fn evaluate_with(shapes: &[Shape], name: &str, json: &str) -> Result<FileReport, VectorError> {
    let file = name.to_owned();
    let parsed: Json = serde_json::from_str(json).map_err(|error| VectorError::Json {
        file: file.clone(),
        reason: error.to_string(),
    })?;
    let Some(shape) = shapes.iter().find(|shape| (shape.recognises)(&parsed)) else {
        return Err(if is_report(&parsed) {
            VectorError::Report { file }
        } else {
            VectorError::UnknownShape { file }
        });
    };
    let mut cases = Cases::default();
    (shape.evaluate)(&Node::root(name, &parsed), &mut cases)?;
    if cases.count() == 0 {
        return Err(VectorError::NoCases { file });
    }
    Ok(cases.into_report(shape.name))
}

/// Nested objects that end in counts named `ok` and `differ`.
fn is_report(json: &Json) -> bool {
    match json {
        Json::Object(members) if json.get("ok").is_some() && json.get("differ").is_some() => {
            members
                .iter()
                .all(|(_, value)| matches!(value, Json::Number(_)))
        }
        Json::Object(members) => {
            !members.is_empty() && members.iter().all(|(_, value)| is_report(value))
        }
        _ => false,
    }
}

/// The first element of the list `vectors`, by which most shapes are recognised.
fn first_vector(json: &Json) -> Option<&Json> {
    match json.get("vectors")? {
        Json::Array(items) => items.first(),
        _ => None,
    }
}

/// Whether the first vector has all these members (dots descend).
fn first_has(json: &Json, paths: &[&str]) -> bool {
    first_vector(json).is_some_and(|first| {
        paths.iter().all(|path| {
            path.split('.')
                .try_fold(first, |value, member| value.get(member))
                .is_some()
        })
    })
}

/// Whether the first vector's `kind` is one of these.
fn first_kind_is(json: &Json, kinds: &[&str]) -> bool {
    first_vector(json)
        .and_then(|first| first.get("kind"))
        .is_some_and(|kind| matches!(kind, Json::Text(kind) if kinds.contains(&kind.as_str())))
}
