//! Reads the numbers and amounts of a section by the table of limits (`cambist_core::limits`), which defines key,
//! default and range of each.

use std::collections::BTreeMap;
use std::ops::Index;

use cambist_core::MarketSpec;
use cambist_core::limits::{About, Limit, Unit, Usual};
use rust_decimal::Decimal;

use super::money::{Money, MoneyError};
use super::reader::{At, Place, Problem, Section};

/// The numbers of a section in the file's units, for rules between keys. Flags are 1 and 0.
pub(super) struct Numbers(BTreeMap<&'static str, At<u64>>);

impl Index<&str> for Numbers {
    type Output = At<u64>;

    /// The number of a key that the table has in this section.
    fn index(&self, key: &str) -> &At<u64> {
        &self.0[key]
    }
}

/// Reads every number of `limits` in this section into `config`. `derived` computes the default of a key without a
/// constant one.
pub(super) fn numbers<C>(
    section: &mut Section<'_, '_>,
    limits: &'static [Limit<C>],
    config: &mut C,
    derived: impl Fn(&About) -> u64,
) -> Numbers {
    let mut found = Numbers(BTreeMap::new());
    let name = section.name().to_owned();
    for limit in limits {
        let about = &limit.about;
        if about.section != name || about.unit.is_amount() {
            continue;
        }
        let usual = match about.usual {
            Usual::Number(number) => number,
            _ => derived(about),
        };
        let number = number(section, about, usual);
        limit.set_number(config, number.value);
        found.0.insert(about.key, number);
    }
    found
}

/// Reads one number of the table, with its default if the file has none.
pub(super) fn number(section: &mut Section<'_, '_>, about: &About, usual: u64) -> At<u64> {
    match (&about.range, about.unit) {
        (_, Unit::Flag) => section.or(about.key, usual != 0).map(u64::from),
        (Some(range), _) => section.number(about.key, usual, range.clone()),
        (None, _) => section.or(about.key, usual),
    }
}

/// For sections without derived defaults.
pub(super) fn nothing_derived(_: &About) -> u64 {
    0
}

/// The amounts of a section as written, by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written(BTreeMap<&'static str, At<Money>>);

impl Written {
    /// Reads every amount of `limits` in this section that is not there already. `None` if a required one is missing.
    pub(super) fn read<C>(
        &mut self,
        section: &mut Section<'_, '_>,
        limits: &'static [Limit<C>],
    ) -> Option<()> {
        let mut complete = Some(());
        let name = section.name().to_owned();
        for About { key, usual, .. } in amounts(limits, &name) {
            if self.0.contains_key(key) {
                continue;
            }
            let found = match usual {
                Usual::Required => {
                    let found = section.req::<Money>(key);
                    complete = complete.filter(|()| found.is_some());
                    found
                }
                Usual::Number(number) => {
                    let number = Decimal::from(*number);
                    Some(section.or(
                        key,
                        Money {
                            number,
                            symbol: None,
                        },
                    ))
                }
                Usual::Derived(_) | Usual::Word(_) => section.opt(key),
            };
            self.0.extend(found.map(|found| (*key, found)));
        }
        complete
    }

    /// Sets an amount that this kind of venue has no use for to 0; the file must not have it.
    pub(super) fn none(&mut self, section: &mut Section<'_, '_>, key: &'static str, why: &str) {
        let written = section.opt::<Money>(key);
        if let Some(written) = &written {
            let what = format!("{}.{key} has no meaning here: {why}", section.name());
            section.problem(written.at, what);
        }
        let at = written.map_or_else(|| section.at(), |written| written.at);
        let value = Money {
            number: Decimal::ZERO,
            symbol: None,
        };
        self.0.insert(key, At { value, at });
    }

    /// The amount of a key from the file or the table's default.
    pub fn of(&self, key: &str) -> Option<&At<Money>> {
        self.0.get(key)
    }

    /// Position of a key's amount in the file.
    pub(super) fn place(&self, key: &str) -> Option<Place> {
        self.of(key).map(|written| written.at)
    }

    /// Amounts that are in one of the tokens, base or quote.
    pub(super) fn in_token<C>(
        &self,
        limits: &'static [Limit<C>],
        is_base: bool,
    ) -> impl Iterator<Item = &At<Money>> {
        let of_token = limits.iter().filter(move |limit| {
            let of_base = matches!(limit.about.unit, Unit::Base | Unit::Lots);
            limit.about.unit.is_amount() && of_base == is_base
        });
        of_token.filter_map(|limit| self.of(limit.about.key))
    }

    /// Converts every written amount of `limits` into `config`, exactly.
    pub(super) fn set<C>(
        &self,
        limits: &'static [Limit<C>],
        spec: &MarketSpec,
        config: &mut C,
        problems: &mut Vec<Problem>,
    ) {
        for limit in limits.iter().filter(|limit| limit.about.unit.is_amount()) {
            let Some(written) = self.of(limit.about.key) else {
                continue;
            };
            match units(limit.about.unit, &written.value, spec) {
                Ok(value) => (limit.set)(config, value),
                Err(error) => problems.push(Problem {
                    at: written.at,
                    what: format!("this amount: {error}"),
                }),
            }
        }
    }

    /// The numbers without positions, as comparable text.
    pub(super) fn values(&self) -> String {
        let each = self
            .0
            .iter()
            .map(|(key, at)| (key, at.value.number.normalize()));
        format!("{:?}", each.collect::<Vec<_>>())
    }
}

impl Index<&str> for Written {
    type Output = Decimal;

    /// The amount of a key that the table requires or has a default for.
    fn index(&self, key: &str) -> &Decimal {
        &self.0[key].value.number
    }
}

fn amounts<'s, C>(
    limits: &'static [Limit<C>],
    section: &'s str,
) -> impl Iterator<Item = &'static About> + use<'s, C> {
    let each = limits.iter().map(|limit| &limit.about);
    each.filter(move |about| about.section == section && about.unit.is_amount())
}

fn units(unit: Unit, money: &Money, spec: &MarketSpec) -> Result<u128, MoneyError> {
    match unit {
        Unit::Price => money.price(spec).map(|price| price.0.into()),
        Unit::Lots => money.lots(spec).map(|lots| lots.0.into()),
        Unit::Base => money.units(&spec.base),
        _ => money.units(&spec.quote),
    }
}

/// A default as text.
pub fn usual(usual: Usual) -> String {
    match usual {
        Usual::Number(number) => number.to_string(),
        Usual::Word(word) => word.to_owned(),
        Usual::Required => "none: required".to_owned(),
        Usual::Derived(sentence) => sentence.to_owned(),
    }
}
