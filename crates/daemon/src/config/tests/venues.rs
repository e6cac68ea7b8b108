//! The keys of each kind of venue: what its description names is what its reader reads, and other kinds refuse it.

use std::collections::BTreeSet;

use cambist_config::KnownKeys;

use super::example;
use crate::config::Daemon;
use crate::config::reader::Source;
use crate::config::venue::VenueKind;

fn example_of(kind: VenueKind) -> Source {
    example(match kind {
        VenueKind::Exchange => "demo.toml",
        VenueKind::Kraken => "kraken.toml",
        VenueKind::EvmPools => "evm-pools.toml",
    })
}

/// Keys of `[venue]` that every kind has.
const COMMON: [&str; 2] = ["kind", "request_timeout_ms"];

#[test]
fn a_kind_reads_the_keys_that_its_description_names() {
    for kind in VenueKind::ALL {
        let mut keys = KnownKeys::default();
        Daemon::parse_noting_keys(&example_of(kind), &mut keys).unwrap();
        let of = |section: &str| -> BTreeSet<String> {
            let own = keys.0.keys().filter_map(|key| {
                let (of, key) = key.split_once('.')?;
                (of == section).then_some(key)
            });
            own.filter(|key| !COMMON.contains(key))
                .map(str::to_owned)
                .collect()
        };
        let named = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        let description = kind.description();
        assert_eq!(of("venue"), named(description.venue_keys), "{kind:?}");
        assert_eq!(of("keys"), named(description.secret_keys), "{kind:?}");
    }
}

#[test]
fn a_key_of_another_kind_is_refused_where_it_is_written() {
    let mut refused = 0;
    for kind in VenueKind::ALL {
        let own = kind.description();
        for other in VenueKind::ALL.map(VenueKind::description) {
            for (section, keys, own) in [
                ("venue", other.venue_keys, own.venue_keys),
                ("keys", other.secret_keys, own.secret_keys),
            ] {
                for key in keys.iter().filter(|key| !own.contains(key)) {
                    let mut source = example_of(kind);
                    if !source.text.contains("\nkind = ") {
                        let kind = format!("[venue]\nkind = \"{}\"\n", kind.name());
                        source.text = source.text.replacen("[venue]\n", &kind, 1);
                    }
                    let written = format!("[{section}]\n{key} = 1\n");
                    source.text = source.text.replacen(&format!("[{section}]\n"), &written, 1);
                    let error = Daemon::parse(&source).unwrap_err().to_string();
                    let what = format!("{section}.{key} is a key of venue.kind = ");
                    assert!(error.contains(&what), "{kind:?}: {error}");
                    assert!(!error.contains("unknown key"), "{kind:?}: {error}");
                    let line = source
                        .text
                        .lines()
                        .position(|line| line == format!("{key} = 1"));
                    let place = format!(":{}:1: {what}", line.unwrap() + 1);
                    assert!(error.contains(&place), "{kind:?}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
}
