//! Why a side of a market has no quotes: the reason, the two compared numbers, and the configuration key that decides.

use serde::{Deserialize, Serialize};

use crate::control::Control;

/// Unit of a compared number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Nothing was compared.
    #[default]
    None,
    /// Price in ticks.
    Ticks,
    /// Price in half ticks, as mids are.
    HalfTicks,
    /// Quantity in lots.
    Lots,
    /// Base units of the base token.
    Base,
    /// Base units of the quote token.
    Quote,
    /// Ten-thousandths.
    Bps,
    /// Milliseconds.
    Ms,
    /// A count.
    Count,
}

/// The key of the highest age of a book.
const DEPTH_AGE: &str = "poll.depth_age_max_ms";

/// Marks that there is no key.
const NO_KEY: u8 = u8::MAX;

/// Why a side of a market has no quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Withheld {
    /// The reason.
    pub control: Control,
    /// The observed value. `None` if nothing was compared, or if it is unknown.
    pub value: Option<i128>,
    /// The limit. `None` if nothing was compared, or if it is unknown.
    pub limit: Option<i128>,
    /// Unit of both.
    pub unit: Unit,
    /// Index of the key among those of the reason.
    key: u8,
}

impl Withheld {
    /// A reason without a comparison. Its key is the first of the reason, if it has one.
    pub const fn plain(control: Control) -> Self {
        Self {
            control,
            value: None,
            limit: None,
            unit: Unit::None,
            key: 0,
        }
    }

    /// A reason from a comparison of two numbers.
    pub fn compared(control: Control, compared: Compared) -> Self {
        let Compared {
            key,
            unit,
            value,
            limit,
        } = compared;
        let mut keys = control.keys().iter();
        let place = keys.position(|known| *known == key);
        debug_assert!(
            place.is_some() || key.is_empty(),
            "{key} is not among the keys of {}",
            control.name()
        );
        Self {
            control,
            value,
            limit,
            unit,
            key: match place {
                Some(at) => u8::try_from(at).unwrap_or(NO_KEY),
                None => NO_KEY,
            },
        }
    }

    /// The deciding configuration key, as `section.key`; `None` if no key decides.
    pub fn key(&self) -> Option<&'static str> {
        self.control.keys().get(usize::from(self.key)).copied()
    }

    /// Whether a strategy of one target states so what it leaves open: a distance, against the smallest that it trades.
    const fn is_left_open(&self) -> bool {
        matches!(self.control, Control::NotConfigured) && self.value.is_some()
    }

    /// Whether the process of a strategy was asked a moment ago after a time in which it was not asked: that its last answer
    /// is old is not its fault.
    pub const fn is_awaited(&self) -> bool {
        matches!(self.control, Control::ProcessStale) && self.value.is_none()
    }

    /// Whether there is no book whose age is known.
    fn is_without_book(&self) -> bool {
        let is_stale = matches!(self.control, Control::StaleData) && self.value.is_none();
        is_stale && self.unit == Unit::Ms && self.key() == Some(DEPTH_AGE)
    }

    /// Whether it occurs in normal operation.
    pub const fn is_routine(&self) -> bool {
        self.is_awaited() || self.control.is_routine()
    }

    /// The reason as a sentence.
    pub fn sentence(&self) -> &'static str {
        if self.is_without_book() {
            return "the book was not read since the start, or since a gap in time after which the book of before does not count";
        }
        if self.is_awaited() {
            return "the process of the strategy was sent a view and may still answer in time";
        }
        if self.is_left_open() {
            return "the distance from base_target is within the strategy's tolerance, or less than the smallest order";
        }
        self.control.sentence()
    }

    /// What an operator can do about it.
    pub const fn remedy(&self) -> &'static str {
        if self.is_left_open() {
            return "nothing: it is traded with what is added to it";
        }
        if self.is_awaited() {
            return "wait; before that view nothing was sent to it, because it had just started, or because nothing could be quoted";
        }
        self.control.remedy()
    }

    /// Whether both have the same reason and key, with any numbers.
    pub fn is_alike(&self, other: &Self) -> bool {
        let both = [self, other].map(|why| (why.control, why.key, why.is_awaited()));
        both[0] == both[1]
    }
}

impl From<Control> for Withheld {
    fn from(control: Control) -> Self {
        Self::plain(control)
    }
}

/// Two compared numbers and the deciding key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// One of the keys of the reason; empty if it has none.
    pub key: &'static str,
    /// Unit of both numbers.
    pub unit: Unit,
    /// The observed value; `None` if unknown.
    pub value: Option<i128>,
    /// The limit; `None` if unknown.
    pub limit: Option<i128>,
}

impl Compared {
    /// Two known numbers. A number that does not fit saturates.
    pub fn new(
        unit: Unit,
        key: &'static str,
        value: impl TryInto<i128>,
        limit: impl TryInto<i128>,
    ) -> Self {
        Self {
            key,
            unit,
            value: Some(shown(value)),
            limit: Some(shown(limit)),
        }
    }

    /// An unknown value and a limit.
    pub fn unknown(unit: Unit, key: &'static str, limit: impl TryInto<i128>) -> Self {
        Self {
            key,
            unit,
            value: None,
            limit: Some(shown(limit)),
        }
    }

    /// As `new`, or `unknown` if there is no value.
    pub fn of(
        unit: Unit,
        key: &'static str,
        value: Option<impl TryInto<i128>>,
        limit: impl TryInto<i128>,
    ) -> Self {
        match value {
            Some(value) => Self::new(unit, key, value, limit),
            None => Self::unknown(unit, key, limit),
        }
    }

    /// No comparison.
    pub const NOTHING: Self = Self {
        key: "",
        unit: Unit::None,
        value: None,
        limit: None,
    };
}

fn shown(number: impl TryInto<i128>) -> i128 {
    number.try_into().unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_the_key_that_was_compared() {
        let above = Compared::new(Unit::Ticks, "market.price_ceiling", 501_u64, 500_u64);
        let above = Withheld::compared(Control::PriceBand, above);
        assert_eq!(above.key(), Some("market.price_ceiling"));
        assert_eq!((above.value, above.limit), (Some(501), Some(500)));
        let below = Compared::new(Unit::Ticks, "market.price_floor", 99_u64, 100_u64);
        let below = Withheld::compared(Control::PriceBand, below);
        assert!(!above.is_alike(&below));
        assert!(above.is_alike(&Withheld {
            value: None,
            ..above
        }));
        assert_eq!(Withheld::plain(Control::Level).key(), None);
        assert_eq!(above.sentence(), Control::PriceBand.sentence());
        assert_eq!(above.remedy(), Control::PriceBand.remedy());
        let idle = Control::NotConfigured;
        let left = Withheld::compared(idle, Compared::new(Unit::Base, "", 1_u8, 2_u8));
        assert_eq!(left.key(), None);
        assert!(left.sentence().contains("less than the smallest order"));
        assert_eq!(Withheld::plain(idle).sentence(), idle.sentence());
        assert!(left.remedy() != idle.remedy() && Withheld::plain(idle).remedy() == idle.remedy());
        let stale = |compared| Withheld::compared(Control::ProcessStale, compared);
        let key = "market.strategy.timeout_ms";
        let slow = stale(Compared::new(Unit::Ms, key, 2_000, 2_000));
        let asked = stale(Compared::unknown(Unit::Ms, key, 2_000));
        assert!(!slow.is_awaited() && !slow.is_routine() && asked.is_routine());
        assert!(!slow.is_alike(&asked) && asked.is_alike(&asked));
        assert_eq!(slow.sentence(), Control::ProcessStale.sentence());
        assert!(asked.sentence() != slow.sentence() && asked.remedy() != slow.remedy());
        let book = |compared| Withheld::compared(Control::StaleData, compared).sentence();
        let unread = book(Compared::unknown(Unit::Ms, DEPTH_AGE, 5_000));
        assert!(unread.contains("gap in time"), "{unread}");
        let old = book(Compared::new(Unit::Ms, DEPTH_AGE, 5_001, 5_000));
        let balances = "poll.balances_age_max_ms";
        let other = book(Compared::unknown(Unit::Ms, balances, 5_000));
        let plain = Withheld::plain(Control::StaleData).sentence();
        assert_eq!([old, other, plain], [Control::StaleData.sentence(); 3]);
        let huge = Compared::new(Unit::Quote, "", u128::MAX, 1_u8);
        assert_eq!(huge.value, Some(i128::MAX));
    }
}
