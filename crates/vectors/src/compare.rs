//! Compares computed values with a file: every value in the file must have been computed, and every required value must
//! be in the file.

use cambist_quant::Exact;
use cambist_signing::vectors::{Case, Json, Node, VectorError};
use num_bigint::BigUint;

use super::exact::rational;
use super::tolerance::Tolerance;

/// A computed value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// An exact number.
    Exact(Exact),
    /// A number within the file's tolerance.
    Real(f64),
    /// A number within a given distance.
    Near(f64, f64),
    /// A printed number: within half a unit of its last digit, or a thousandth.
    Printed(f64),
    /// A boolean.
    Flag(bool),
    /// `null`.
    None,
    /// Several in order.
    List(Vec<Value>),
    /// Several by name.
    Members(Vec<Member>),
    /// Prose.
    Prose,
}

/// A named value.
#[derive(Clone, Debug)]
pub(super) struct Member {
    name: String,
    value: Value,
    is_required: bool,
}

/// A required member.
pub(super) fn member(name: impl Into<String>, value: impl Into<Value>) -> Member {
    Member {
        name: name.into(),
        value: value.into(),
        is_required: true,
    }
}

impl Member {
    /// Marks the member as optional.
    pub fn optional(mut self) -> Self {
        self.is_required = false;
        self
    }

    /// Whether it has this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name
    }

    /// Its value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<Exact> for Value {
    fn from(value: Exact) -> Self {
        Self::Exact(value)
    }
}

impl From<&BigUint> for Value {
    fn from(value: &BigUint) -> Self {
        Self::Exact(Exact::from_integer(value.clone().into()))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Exact(Exact::from_integer(value.into()))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Exact(Exact::from_integer(value.into()))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<Vec<Member>> for Value {
    fn from(members: Vec<Member>) -> Self {
        Self::Members(members)
    }
}

/// How values are compared.
#[derive(Clone, Copy)]
pub(super) struct By<'a> {
    /// The file's tolerance.
    pub tolerance: &'a Tolerance,
    /// Whether its deviations count for the worst of the file; deviations from numbers printed elsewhere do not.
    pub is_counted: bool,
}

/// Compares the value at `node` with the computed one.
pub(super) fn compare(
    case: &mut Case,
    node: &Node<'_>,
    computed: &Value,
    by: By<'_>,
) -> Result<(), VectorError> {
    let near = |case: &mut Case, real: f64, allowed: f64| {
        if by.is_counted {
            case.near(node, real, allowed);
        } else {
            let error = (node.float().unwrap_or(f64::NAN) - real).abs();
            case.require(error <= allowed, node, || {
                let printed = node.text().unwrap_or("no number");
                format!("printed is {printed}, computed {real:?}, allowed {allowed:e}")
            });
        }
    };
    match computed {
        Value::Exact(exact) => {
            compare_exact(case, node, exact);
        }
        Value::Real(real) => {
            let stated = node.float().unwrap_or(f64::NAN);
            near(case, *real, by.tolerance.allowed(stated));
        }
        Value::Near(real, allowed) => near(case, *real, *allowed),
        Value::Printed(real) => near(case, *real, printed(node)),
        Value::Flag(flag) => case.require(node.flag() == Ok(*flag), node, || {
            format!("computed {flag}")
        }),
        Value::None => case.require(*node.value() == Json::Null, node, || {
            "no value is computed".to_owned()
        }),
        Value::Prose => {
            node.text()?;
        }
        Value::List(values) => {
            let items = node.items().unwrap_or_default();
            case.require(items.len() == values.len(), node, || {
                format!("{} elements computed", values.len())
            });
            for (item, value) in items.iter().zip(values) {
                compare(case, item, value, by)?;
            }
        }
        Value::Members(members) => {
            for (name, _) in node.members()? {
                let Some(stated) = node.present(name) else {
                    continue;
                };
                match members.iter().find(|member| member.name == *name) {
                    Some(member) => compare(case, &stated, &member.value, by)?,
                    None => case.require(false, &stated, || {
                        "no value of this name is computed".to_owned()
                    }),
                }
            }
            for member in members.iter().filter(|member| member.is_required) {
                if node.present(&member.name).is_none() {
                    node.get(&member.name)?;
                }
            }
        }
    }
    Ok(())
}

fn compare_exact(case: &mut Case, node: &Node<'_>, computed: &Exact) {
    let stated = node.text().ok().and_then(rational);
    case.require(stated.as_ref() == Some(computed), node, || {
        let printed = node.text().unwrap_or("no number");
        format!("the file has {printed}, computed {computed}")
    });
}

/// Allowed deviation from a printed number: half a unit of its last digit, or a thousandth if its source rounded
/// intermediate values.
fn printed(node: &Node<'_>) -> f64 {
    let text = node.text().unwrap_or_default();
    let stated = node.float().unwrap_or(f64::NAN).abs();
    let half_unit = match text.split_once('.') {
        Some((_, decimals)) if !decimals.contains('e') => {
            0.5 * 10_f64.powi(-i32::try_from(decimals.len()).unwrap_or(0))
        }
        _ => 0.0,
    };
    half_unit.max(1e-3 * stated)
}
