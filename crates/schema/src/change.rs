//! Changes of a type from one version to the next, written as a list of removed and added members.
//!
//! ```text
//! change Note
//!   - Gone
//!   @ Kept
//!   Fresh
//!     market: MarketId
//! ```
//! `-` removes a field or variant; `@` names the member after which the following ones are inserted (`@` alone: at the
//! beginning). A changed member is removed and added.

use std::fmt::{self, Write as _};

use crate::shape::{Body, Field, Item, Variant};

/// One line and the lines indented below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Remove(String),
    At(Option<String>),
    Field(Field),
    Variant(Variant),
}

/// A field or a variant.
trait Member: Clone + PartialEq {
    fn name(&self) -> &str;
    fn of(edit: &Edit) -> Option<&Self>;
}

impl Member for Field {
    fn name(&self) -> &str {
        &self.name
    }

    fn of(edit: &Edit) -> Option<&Self> {
        match edit {
            Edit::Field(field) => Some(field),
            _ => None,
        }
    }
}

impl Member for Variant {
    fn name(&self) -> &str {
        &self.name
    }

    fn of(edit: &Edit) -> Option<&Self> {
        match edit {
            Edit::Variant(variant) => Some(variant),
            _ => None,
        }
    }
}

/// Applies the edits to the older type, which becomes the newer.
pub(crate) fn apply(body: &mut Body, edits: &[Edit]) -> Result<(), String> {
    match body {
        Body::Struct(fields) => apply_to(fields, edits),
        Body::Enum(variants) => apply_to(variants, edits),
        Body::Unit | Body::Newtype(_) | Body::Tuple(_) => {
            Err("it has neither fields nor variants".to_owned())
        }
    }
}

fn apply_to<T: Member>(members: &mut Vec<T>, edits: &[Edit]) -> Result<(), String> {
    let mut place = 0;
    let find = |members: &[T], name: &str| {
        let found = members.iter().position(|member| member.name() == name);
        found.ok_or_else(|| format!("there is no {name}"))
    };
    for edit in edits {
        match edit {
            Edit::Remove(name) => {
                members.remove(find(members, name)?);
            }
            Edit::At(None) => place = 0,
            Edit::At(Some(name)) => place = find(members, name)? + 1,
            Edit::Field(_) | Edit::Variant(_) => {
                let member = T::of(edit).ok_or("a field is among variants")?;
                members.insert(place.min(members.len()), member.clone());
                place += 1;
            }
        }
    }
    Ok(())
}

/// The text that records the change from `old` to `new`: the edits, or the whole type if that is shorter.
pub(crate) fn text(name: &str, old: Option<&Body>, new: &Body) -> String {
    let whole = Item(name, new).to_string();
    let change = match (old, new) {
        (Some(Body::Struct(old)), Body::Struct(new)) => edits(old, new, |field| {
            Item("", &Body::Struct(vec![field.clone()])).to_string()
        }),
        (Some(Body::Enum(old)), Body::Enum(new)) => edits(old, new, |variant| {
            Item("", &Body::Enum(vec![variant.clone()])).to_string()
        }),
        _ => None,
    };
    match change {
        Some(change) if change.len() + name.len() < whole.len() => {
            format!("change {name}\n{change}")
        }
        Some(_) | None => whole,
    }
}

/// The edits; `None` if members that stay are in another order.
fn edits<T: Member>(old: &[T], new: &[T], show: impl Fn(&T) -> String) -> Option<String> {
    let stays = |member: &&T| old.contains(member) && new.contains(member);
    let kept: Vec<_> = old.iter().filter(stays).collect();
    if !kept.iter().copied().eq(new.iter().filter(stays)) {
        return None;
    }
    let mut lines = String::new();
    let written = (|| -> fmt::Result {
        for member in old.iter().filter(|member| !kept.contains(member)) {
            writeln!(lines, "  - {}", member.name())?;
        }
        let mut before: Option<&T> = None;
        let mut at = None;
        for member in new {
            if !kept.contains(&member) {
                let place = before.map(Member::name);
                if at != Some(place) {
                    match place {
                        None => writeln!(lines, "  @")?,
                        Some(name) => writeln!(lines, "  @ {name}")?,
                    }
                }
                // Without the first line, which names the type.
                let shown = show(member);
                lines.push_str(shown.split_once('\n').map_or("", |(_, rest)| rest));
                at = Some(Some(member.name()));
            }
            before = Some(member);
        }
        Ok(())
    })();
    written.ok().map(|()| lines)
}
