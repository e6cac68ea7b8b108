//! Versions of the data folder's stored types, and the steps between them.
//!
//! `types.txt` describes every version. If a stored type changes, the test below fails: `NEW_VERSION=1 cargo test -p
//! cambist-server stored_types` appends the new version, and `STEPS` needs one more list. Inputs are replayed with the
//! current rules, so what the exchange *answers* may change only through its configuration: an old folder gets the
//! value that preserves its behaviour (`Step::Add`), and the operator changes it with a new input. Rules of Kraken's
//! interface that changed follow from the version of the segment that holds the input ([`kraken_rules`]).

use std::sync::OnceLock;

use cambist_schema::{History, Step, Value};
use cambist_venue::KrakenRules;

use super::DataError;
use super::disk::Disk;
use crate::api_keys::api_key_digest;
use crate::durable::log_format::{FORMAT, Layout, NoOpening, Opening};

/// Root type of snapshots.
pub(super) const STATE: &str = "state";

/// Root type of the log.
pub(super) const INPUT: &str = "input";

/// The first version whose files hold digests in place of API keys.
pub(super) const KEYS_ARE_DIGESTS: u32 = 3;

/// The first version whose requests of Kraken's interface were executed by the rules of the published specification.
const KRAKEN_AS_PUBLISHED: u32 = 6;

/// The rules that the program executed requests of Kraken's interface by that wrote a segment of a version.
pub(super) fn kraken_rules(version: u32) -> KrakenRules {
    if version < KRAKEN_AS_PUBLISHED {
        KrakenRules::First
    } else {
        KrakenRules::Published
    }
}

/// The versions and the plans between them.
pub(super) fn history() -> &'static History {
    static HISTORY: OnceLock<History> = OnceLock::new();
    HISTORY.get_or_init(|| {
        let history = History::new(include_str!("types.txt"), STEPS);
        history.expect("the tests read the same history")
    })
}

/// Digest and version of the current stored types, as written into files.
pub(super) fn written() -> (u32, u32) {
    let history = history();
    (history.digest(), history.newest())
}

/// The header of a file and the version of its stored types, if this program supports it.
pub(super) fn known(
    disk: &dyn Disk,
    file: &str,
    found: Result<(Opening, Layout), NoOpening>,
    none: &'static str,
) -> Result<(Opening, Layout, u32), DataError> {
    match found {
        Err(NoOpening::Damaged) => Err(DataError::damaged(disk, file, 0, none)),
        Err(NoOpening::Later(layout)) => Err(DataError::version(disk, file, layout)),
        Ok((opening, layout)) => match history().version_of(layout.types) {
            Some(version) => Ok((opening, layout, version)),
            None => Err(DataError::version(disk, file, layout)),
        },
    }
}

/// The version of a file that was not written with the current types.
pub(super) fn earlier(layout: &Layout) -> Option<u32> {
    let version = history().version_of(layout.types)?;
    let is_now = (layout.format, version) == (FORMAT, history().newest());
    (!is_now).then_some(version)
}

/// The steps to version 2, 3, and so on.
const STEPS: &[&[Step]] = &[TRADERS, DIGESTS, FEES, KRAKEN, AMENDS, LEFT, NUMBERS];

/// Version 8: deposits with a number; a reference that an operator set could be replaced by the first order.
const NUMBERS: &[Step] = &[
    add("Account", "deposit_number", || Value::Unsigned(0)),
    add("Operator::SetPriceBand", "holds", || Value::Bool(false)),
];

/// Version 7: an amend may leave what is no whole number of lots. Before, it was refused.
const LEFT: &[Step] = &[add("KrakenAmend", "left_in_lots", || Value::Bool(true))];

/// Version 6: what is kept of amended and of ended orders of Kraken's interface, which old folders did not note.
const AMENDS: &[Step] = &[
    add("OrderFields", "amended", || Value::unit_variant("Never")),
    add("OrderFields", "ended", || Value::NONE),
];

/// Version 5: what Kraken's interface adds; old folders have had no request of it.
const KRAKEN: &[Step] = &[add("Venue", "kraken", no_kraken)];

fn no_kraken() -> Value {
    let map = |name: &str| (name.to_owned(), Value::Map(Vec::new()));
    let zero = |name: &str| (name.to_owned(), Value::Unsigned(0));
    Value::Struct(vec![
        map("nonces"),
        map("statements"),
        map("orders"),
        map("continued"),
        map("cancel_after"),
        zero("trade_number"),
        zero("ledger_number"),
        zero("amend_number"),
    ])
}

/// Version 4: which token the fees of a market and of an order are taken in, which was the bought one.
const FEES: &[Step] = &[
    add("MarketConfig", "fee_in", bought),
    add("Order", "fee_in", bought),
];

fn bought() -> Value {
    Value::unit_variant("Bought")
}

/// Version 2: more kinds of simulated traders, regimes of the fair price, a timeline. Old folders have no traders of
/// the new kinds and a calm market.
const TRADERS: &[Step] = &[
    add("Agents", "begun", || Value::NONE),
    add("Agents", "moment", || Value::Unsigned(0)),
    add("Agents", "liquidity_percent", || Value::Unsigned(100)),
    add("AgentsConfig", "regimes", calm),
    add("AgentsConfig", "passive_skew_bps", || Value::Float(0.0)),
    add("AgentsConfig", "momentum_traders", || Value::Unsigned(0)),
    add("AgentsConfig", "momentum_looks_per_minute", || {
        Value::Float(30.0)
    }),
    add("AgentsConfig", "momentum_threshold_bps", || {
        Value::Float(12.0)
    }),
    add("AgentsConfig", "momentum_window_s", || Value::Float(20.0)),
    add("AgentsConfig", "pool", || Value::NONE),
    add("AgentsConfig", "arbitrageurs", || Value::Unsigned(0)),
    add("AgentsConfig", "arbitrage_looks_per_minute", || {
        Value::Float(60.0)
    }),
    add("AgentsConfig", "swappers", || Value::Unsigned(0)),
    add("AgentsConfig", "swaps_per_minute", || Value::Float(6.0)),
    add("AgentsConfig", "timeline", || Value::List(Vec::new())),
    add("Fair", "regimes", calm),
    add("Fair", "regime", || Value::unit_variant("Calm")),
    add("Fair", "up", || Value::Bool(true)),
    add("Trader", "average", || Value::NONE),
];

/// Version 3: digests in place of API keys; bounds on account openings and prices, without effect in old folders.
const DIGESTS: &[Step] = &[
    Step::Convert {
        of: "ApiKey",
        with: digest,
    },
    add("VenueConfig", "opening", unbounded),
    add("MarketConfig", "price_band", || Value::NONE),
    add("Market", "reference", || Value::NONE),
];

fn digest(key: Value) -> Result<Value, String> {
    match key {
        Value::Text(key) => Ok(Value::Bytes(api_key_digest(&key).0.to_vec())),
        _ => Err("an API key was a text".to_owned()),
    }
}

/// `AccountOpening::UNBOUNDED`: any amount opens an account.
fn unbounded() -> Value {
    Value::Struct(vec![
        ("order_minimum".to_owned(), Value::Bool(false)),
        ("fee".to_owned(), Value::Map(Vec::new())),
        ("reserved".to_owned(), Value::Unsigned(0)),
    ])
}

const fn add(of: &'static str, field: &'static str, value: fn() -> Value) -> Step {
    Step::Add { of, field, value }
}

/// A fair price that only diffuses.
fn calm() -> Value {
    Value::Struct(vec![
        ("first".to_owned(), Value::unit_variant("Calm")),
        ("stay_s".to_owned(), Value::List(vec![Value::Float(0.0); 3])),
        ("trend_bps_per_minute".to_owned(), Value::Float(15.0)),
        ("volatile_factor".to_owned(), Value::Float(4.0)),
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use cambist_schema::{Check, Describer};

    use super::*;
    use crate::state::{Entry, State};

    #[test]
    fn stored_types_are_those_of_the_newest_version() {
        let described = Describer::default()
            .root::<State>(STATE)
            .unwrap()
            .root::<Entry<'static>>(INPUT)
            .unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/durable/types.txt");
        Check {
            history: history(),
            described: described.finish().unwrap(),
            file: &file,
        }
        .assert();
    }

    #[test]
    fn every_field_and_variant_of_stored_types_is_described() {
        let text = include_str!("types.txt");
        let schema = history().schema().unwrap();
        for name in ["LevelQueue", "SlotTable", "Supply", "Fair", "Random"] {
            assert!(schema.types.contains_key(name), "{name}");
        }
        for word in ["RotateApiKey", "CreateAccount", "valid_until_s", "acts"] {
            assert!(text.contains(word), "{word}");
        }
    }
}
