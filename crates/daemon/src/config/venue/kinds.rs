//! Kinds of venues: what files and messages call them, and the keys that each of them reads.

use super::super::reader::{At, Section};
use super::{evm, exchange, kraken};

/// Kinds of venues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VenueKind {
    /// The exchange interface.
    #[default]
    Exchange,
    /// Kraken's spot interface.
    Kraken,
    /// Uniswap pools on an EVM chain.
    EvmPools,
}

/// A kind of venue in files and messages.
#[derive(Clone, Copy, Debug)]
pub struct KindDescription {
    /// Its name in files.
    pub name: &'static str,
    /// The page that describes its accounts.
    pub page: &'static str,
    /// The name of a market.
    pub market_example: &'static str,
    /// Keys of `[venue]`, beside those that every kind has.
    pub venue_keys: &'static [&'static str],
    /// Keys of `[keys]`.
    pub secret_keys: &'static [&'static str],
    /// What is found where `[keys]` is right.
    pub keys_found: &'static str,
    /// What helps where the files of `[keys]` are wrong.
    pub keys_help: &'static str,
    /// What helps where the venue does not answer.
    pub unreached_help: &'static str,
    /// What helps where venue and account are not what the file states.
    pub start_help: &'static str,
}

impl VenueKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Exchange, Self::Kraken, Self::EvmPools];

    /// Names in files.
    pub(super) fn words() -> [(&'static str, Self); 3] {
        Self::ALL.map(|kind| (kind.name(), kind))
    }

    /// What files and messages say of it.
    pub const fn description(self) -> &'static KindDescription {
        match self {
            Self::Exchange => &exchange::DESCRIPTION,
            Self::Kraken => &kraken::DESCRIPTION,
            Self::EvmPools => &evm::DESCRIPTION,
        }
    }

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        self.description().name
    }
}

/// The keys of a section that belong to one kind of venue.
type KeysOf = fn(&KindDescription) -> &'static [&'static str];

/// Kinds that have a key.
fn kinds_with(keys: KeysOf, key: &str) -> impl Iterator<Item = VenueKind> {
    let all = VenueKind::ALL.into_iter();
    all.filter(move |kind| keys(kind.description()).contains(&key))
}

/// Refuses the keys of a section that only other kinds of venues have.
pub(super) fn refuse_foreign(section: &mut Section<'_, '_>, kind: VenueKind, keys: KeysOf) {
    let all = VenueKind::ALL
        .into_iter()
        .flat_map(|of| keys(of.description()));
    for key in all {
        if keys(kind.description()).contains(key) {
            continue;
        }
        let Some(at) = section.disclaim(key) else {
            continue;
        };
        let of: Vec<_> = kinds_with(keys, key)
            .map(|of| format!("{:?}", of.name()))
            .collect();
        let what = format!(
            "{}.{key} is a key of venue.kind = {}, and the kind is \"{}\": remove it",
            section.name(),
            of.join(" and "),
            kind.name()
        );
        section.problem(at, what);
    }
}

/// The kind of venue, with a problem if it is unknown, or absent beside a key that only another kind than the default
/// has: nothing else of such a file can be judged.
pub(in super::super) fn kind(section: &mut Section<'_, '_>) -> Option<At<VenueKind>> {
    let kind = section.choice("kind", &VenueKind::words(), VenueKind::default())?;
    if section.has("kind") {
        return Some(kind);
    }
    let others = VenueKind::ALL.into_iter().filter(|of| *of != kind.value);
    let mut own = others.flat_map(|of| {
        let keys = of.description().venue_keys.iter();
        keys.filter(|key| kinds_with(|of| of.venue_keys, key).count() == 1)
            .map(move |key| (key, of))
    });
    let Some((key, of)) = own.find(|(key, _)| section.has(key)) else {
        return Some(kind);
    };
    let what = format!(
        "venue.kind is missing, and venue.{key} is a key of the kind \"{0}\": write kind = \"{0}\"",
        of.name()
    );
    let at = section.at();
    section.problem(at, what);
    None
}
