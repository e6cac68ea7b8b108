//! Reads the input of a case. Unknown members are an error, so that no case is computed from a part of its input.

use std::cell::RefCell;

use cambist_quant::{Exact, Number};
use cambist_signing::vectors::{Json, Node, VectorError};

use super::exact;

/// Most elements of one list.
const ITEMS_MAX: usize = 1_000_000;

/// The members of an object, and which of them were read.
pub(super) struct Input<'a> {
    node: Node<'a>,
    asked: RefCell<Vec<&'static str>>,
}

type Read<T> = Result<T, VectorError>;

impl<'a> Input<'a> {
    /// The members of an object.
    pub fn new(node: Node<'a>) -> Read<Self> {
        node.members()?;
        Ok(Self {
            node,
            asked: RefCell::default(),
        })
    }

    /// Checks that every member was read.
    pub fn finish(&self) -> Read<()> {
        let asked = self.asked.borrow();
        for (name, _) in self.node.members()? {
            if !asked.contains(&name.as_str()) {
                let stranger = self.node.present(name).unwrap_or_else(|| self.node.clone());
                return Err(stranger.malformed("a known member"));
            }
        }
        Ok(())
    }

    /// A required member.
    pub fn get(&self, name: &'static str) -> Read<Node<'a>> {
        self.asked.borrow_mut().push(name);
        self.node.get(name)
    }

    /// A required member that may be null.
    pub fn nullable(&self, name: &'static str) -> Read<Option<Node<'a>>> {
        self.asked.borrow_mut().push(name);
        match self.node.present(name) {
            Some(node) if *node.value() == Json::Null => Ok(None),
            Some(node) => Ok(Some(node)),
            None => self.node.get(name).map(Some),
        }
    }

    /// Whether there is a member with this name.
    pub fn has(&self, name: &str) -> bool {
        self.node.present(name).is_some()
    }

    /// A number.
    pub fn float(&self, name: &'static str) -> Read<f64> {
        self.get(name)?.float()
    }

    /// A list of numbers.
    pub fn floats(&self, name: &'static str) -> Read<Vec<f64>> {
        list(&self.get(name)?, Node::float)
    }

    /// A whole number from 0.
    pub fn whole<T: TryFrom<u128>>(&self, name: &'static str) -> Read<T> {
        self.get(name)?.integer()
    }

    /// A whole number of either sign.
    pub fn signed(&self, name: &'static str) -> Read<i64> {
        signed(&self.get(name)?)
    }

    /// A text.
    pub fn text(&self, name: &'static str) -> Read<&'a str> {
        let node = self.get(name)?;
        match node.value() {
            Json::Text(text) => Ok(text),
            _ => Err(node.malformed("text")),
        }
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &'static str) -> Read<bool> {
        self.get(name)?.flag()
    }

    /// An exact number, as text or number.
    pub fn exact(&self, name: &'static str) -> Read<Exact> {
        exact(&self.get(name)?)
    }

    /// An amount, as text or number.
    pub fn amount(&self, name: &'static str) -> Read<num_bigint::BigUint> {
        amount(&self.get(name)?)
    }

    /// An error of the model for this case.
    pub fn refused(&self, error: impl std::fmt::Display) -> VectorError {
        VectorError::NotComputed {
            path: self.node.path().to_owned(),
            reason: error.to_string(),
        }
    }
}

/// Each element of a list.
pub(super) fn list<'a, T>(node: &Node<'a>, read: impl Fn(&Node<'a>) -> Read<T>) -> Read<Vec<T>> {
    if let Json::Array(items) = node.value()
        && items.len() > ITEMS_MAX
    {
        return Err(node.malformed("a shorter list"));
    }
    node.items()?.iter().map(read).collect()
}

/// An exact number.
pub(super) fn exact(node: &Node<'_>) -> Read<Exact> {
    exact::input(node.text()?).ok_or_else(|| node.malformed("a number or a fraction"))
}

/// A non-negative integer of any size.
pub(super) fn amount(node: &Node<'_>) -> Read<num_bigint::BigUint> {
    let number = exact(node)?;
    let whole = number.is_integer().then(|| number.to_integer());
    whole
        .and_then(|whole| whole.to_biguint())
        .ok_or_else(|| node.malformed("a whole number from 0"))
}

/// A signed integer.
pub(super) fn signed(node: &Node<'_>) -> Read<i64> {
    let number = exact(node)?;
    let whole = number.is_integer().then(|| number.floor_to_i64()).flatten();
    whole.ok_or_else(|| node.malformed("a whole number"))
}

/// A pair.
pub(super) fn pair<'a>(node: &Node<'a>) -> Read<[Node<'a>; 2]> {
    <[Node<'a>; 2]>::try_from(node.items()?).map_err(|_| node.malformed("a pair"))
}
