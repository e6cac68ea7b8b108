//! What was computed against what a file says: every value of the file must have been computed.

use cambist_signing::vectors::{Case, Node, VectorError};
use num_bigint::BigInt;

/// Computes a case from its input.
pub(super) type Evaluate = fn(&Node<'_>) -> Result<Vec<Computed>, VectorError>;

/// A computed value and its name in the file.
pub(super) struct Computed {
    name: &'static str,
    value: Value,
    /// Whether the file must state it.
    required: bool,
}

enum Value {
    Text(String),
    Flag(bool),
    List(Vec<String>),
}

impl Computed {
    const fn new(name: &'static str, value: Value) -> Self {
        Self {
            name,
            value,
            required: true,
        }
    }

    /// A whole number.
    pub fn whole(name: &'static str, value: &BigInt) -> Self {
        Self::new(name, Value::Text(value.to_string()))
    }

    /// A number as text.
    pub const fn text(name: &'static str, value: String) -> Self {
        Self::new(name, Value::Text(value))
    }

    /// A truth value.
    pub const fn flag(name: &'static str, value: bool) -> Self {
        Self::new(name, Value::Flag(value))
    }

    /// Several numbers.
    pub const fn list(name: &'static str, value: Vec<String>) -> Self {
        Self::new(name, Value::List(value))
    }

    /// A value that the file may leave out.
    pub const fn optional(mut self) -> Self {
        self.required = false;
        self
    }
}

/// Compares a case's `out`, and what was `published` of it, with what was computed.
pub(super) fn compare(
    node: &Node<'_>,
    case: &mut Case,
    computed: &[Computed],
) -> Result<(), VectorError> {
    let out = node.get("out")?;
    for part in [Some(out.clone()), node.optional("published")]
        .into_iter()
        .flatten()
    {
        for (name, _) in part.members()? {
            let member = part.get(name)?;
            match computed.iter().find(|computed| computed.name == name) {
                Some(Computed {
                    value: Value::Text(text),
                    ..
                }) => case.same(&member, text),
                Some(Computed {
                    value: Value::Flag(flag),
                    ..
                }) => case.flag(&part, name, *flag)?,
                Some(Computed {
                    value: Value::List(texts),
                    ..
                }) => case.list(&part, name, texts)?,
                None => case.require(false, &member, || {
                    "nothing of that name is computed".to_owned()
                }),
            }
        }
    }
    for computed in computed.iter().filter(|computed| computed.required) {
        out.get(computed.name)?;
    }
    Ok(())
}
