//! The versions of what tapes hold, and the steps from each to the next (`crates/schema`).
//!
//! `types.txt` says what every version looked like. Where an event or an action changes, the test below
//! fails: `NEW_VERSION=1 cargo test -p cambist-tape stored_types` appends the new version, and `STEPS` gets
//! one list more.

use std::sync::OnceLock;

use cambist_schema::{History, Step, Value};

/// The root type of a tape.
pub(crate) const RECORD: &str = "record";

/// The versions and the ways between them.
pub(crate) fn history() -> &'static History {
    static HISTORY: OnceLock<History> = OnceLock::new();
    HISTORY.get_or_init(|| {
        let history = History::new(include_str!("types.txt"), STEPS);
        history.expect("the tests read the same history")
    })
}

/// What leads to version 2, 3, and so on.
const STEPS: &[&[Step]] = &[SIDES, INSTANCES];

/// Version 2: why nothing is quoted is said for each side, with the numbers compared.
const SIDES: &[Step] = &[
    Step::ConvertField {
        of: "MarketStatus",
        field: "withheld",
        with: |reason| {
            let Value::Option(reason) = reason else {
                return Err("no reason is there and none is missing".to_owned());
            };
            let side = Value::Option(reason.map(|control| Box::new(plain(*control))));
            Ok(Value::List(vec![side.clone(), side]))
        },
    },
    Step::Add {
        of: "PoolStatus",
        field: "withheld",
        value: || Value::NONE,
    },
];

/// Version 3: orders of other instances are named. Before, none were known.
const INSTANCES: &[Step] = &[Step::Add {
    of: "Status",
    field: "others",
    value: || Value::List(Vec::new()),
}];

/// A reason that compares nothing.
fn plain(control: Value) -> Value {
    Value::Struct(vec![
        ("control".to_owned(), control),
        ("value".to_owned(), Value::NONE),
        ("limit".to_owned(), Value::NONE),
        ("unit".to_owned(), Value::unit_variant("None")),
        ("key".to_owned(), Value::Unsigned(0)),
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use cambist_schema::{Check, describe};

    use super::*;
    use crate::record::Record;

    #[test]
    fn stored_types_are_those_of_the_newest_version() {
        Check {
            history: history(),
            described: describe::<Record>(RECORD).unwrap(),
            file: &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/types.txt"),
        }
        .assert();
    }
}
