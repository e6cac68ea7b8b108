//! The macro `limits!`, which declares a part of the configuration together with the rows of its limits.

use std::ops::RangeInclusive;

use crate::config::{EmptyBook, ForeignOrders};
use crate::event::Amounts;
use crate::limits::{About, Looser, Unit, Usual};
use crate::market::{Price, Qty};

/// Value of a field that no reader has set: 0, or an empty list.
pub(crate) trait Unset {
    fn unset() -> Self;
}

impl<V: Value> Unset for V {
    fn unset() -> Self {
        Self::of(0)
    }
}

impl Unset for Amounts {
    fn unset() -> Self {
        Self::new()
    }
}

impl<T> Unset for Vec<T> {
    fn unset() -> Self {
        Self::new()
    }
}

impl Unset for EmptyBook {
    fn unset() -> Self {
        Self::NoQuote
    }
}

impl Unset for ForeignOrders {
    fn unset() -> Self {
        Self::default()
    }
}

/// Type of a limit's value.
pub(crate) trait Value: Copy {
    fn get(self) -> u128;
    fn of(value: u128) -> Self;
}

macro_rules! value {
    ($($number:ty)*) => {$(
        impl Value for $number {
            fn get(self) -> u128 {
                self.into()
            }
            fn of(value: u128) -> Self {
                Self::try_from(value).unwrap_or(Self::MAX)
            }
        }
    )*};
}

value! { u8 u32 u64 u128 }

impl Value for bool {
    fn get(self) -> u128 {
        self.into()
    }
    fn of(value: u128) -> Self {
        value != 0
    }
}

impl Value for Price {
    fn get(self) -> u128 {
        self.0.into()
    }
    fn of(value: u128) -> Self {
        Self(Value::of(value))
    }
}

impl Value for Qty {
    fn get(self) -> u128 {
        self.0.into()
    }
    fn of(value: u128) -> Self {
        Self(Value::of(value))
    }
}

/// Declares a part of the configuration and the limits among its fields: after the type of a field come key, unit,
/// default, range and direction. The section is that of the struct, or the one named with `in`.
macro_rules! limits {
    (
        $(#[$about:meta])*
        pub struct $name:ident in $section:literal {
            $(
                $(#[doc = $doc:literal])+
                pub $field:ident: $type:ty
                    $(= $(in $other:literal)? $key:literal, $unit:ident, $usual:expr, $range:expr, $looser:ident)?;
            )*
        }
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl $name {
            /// Every number at 0, for a reader that sets each of them.
            pub fn unset() -> Self {
                Self { $($field: $crate::limits::declare::Unset::unset(),)* }
            }

            const SENTENCES: &'static [(&'static str, &'static str)] = &[
                $((stringify!($field), concat!($($doc),+)),)*
            ];

            /// The limits among its fields, and its other numeric settings.
            pub const LIMITS: &'static [$crate::limits::Limit<Self>] = &[
                $($($crate::limits::Limit {
                    about: $crate::limits::declare::about(
                        $crate::limits::declare::name!($section $($other)? ; $key),
                        $crate::limits::Unit::$unit,
                        $usual,
                        $range,
                        $crate::limits::Looser::$looser,
                        $crate::limits::declare::sentence(Self::SENTENCES, stringify!($field)),
                    ),
                    get: |config| $crate::limits::declare::Value::get(config.$field),
                    set: |config, value| config.$field = $crate::limits::declare::Value::of(value),
                },)?)*
            ];
        }

        impl $crate::limits::declare::Unset for $name {
            fn unset() -> Self {
                $name::unset()
            }
        }
    };
}

/// Name, section and key.
macro_rules! name {
    ($section:literal ; $key:literal) => {
        [concat!($section, ".", $key), $section, $key]
    };
    ($section:literal $other:literal ; $key:literal) => {
        [concat!($other, ".", $key), $other, $key]
    };
}

pub(crate) use limits;
pub(crate) use name;

/// The documentation of a field, used as the sentence of its limit.
pub(crate) const fn sentence(
    all: &'static [(&'static str, &'static str)],
    field: &str,
) -> &'static str {
    let mut at = 0;
    while !is_equal(all[at].0.as_bytes(), field.as_bytes()) {
        at += 1;
    }
    all[at].1
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// A row.
pub(crate) const fn about(
    [name, section, key]: [&'static str; 3],
    unit: Unit,
    usual: Usual,
    range: Option<RangeInclusive<u64>>,
    looser: Looser,
    sentence: &'static str,
) -> About {
    About {
        name,
        section,
        key,
        unit,
        usual,
        range,
        looser,
        sentence,
    }
}
