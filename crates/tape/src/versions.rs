//! The versions of what tapes hold, and the steps from each to the next (`crates/schema`).
//!
//! `types.txt` holds the types of every version. When an event or an action changes, the test below fails:
//! `NEW_VERSION=1 cargo test -p cambist-tape stored_types` appends the new version, and `STEPS` needs one more list.

use std::sync::OnceLock;

use cambist_schema::{History, Step, Value};

/// The root type of a tape.
pub(crate) const RECORD: &str = "record";

/// The versions and the steps between them.
pub(crate) fn history() -> &'static History {
    static HISTORY: OnceLock<History> = OnceLock::new();
    HISTORY.get_or_init(|| {
        let history = History::new(include_str!("types.txt"), STEPS);
        history.expect("the tests read the same history")
    })
}

/// The steps to version 2, 3, and so on.
///
/// Version 8 has one more reason, version 19 two. Version 15 has commands about flows that are announced and slot numbers that are taken
/// beside the engine.
const STEPS: &[&[Step]] = &[
    SIDES,
    INSTANCES,
    BOOKS,
    SIGNED,
    NAMES,
    TOTALS,
    &[],
    AT_LEAST,
    MEMORIES,
    VENUE,
    LISTS,
    PARAMETERS,
    FEES,
    &[],
    REFERENCES,
    TRADED,
    SWAPS,
    MARKETS,
    AMOUNTS,
    COUNTERS,
    CHARGES,
    ORDER_BOOKS,
    // Version 24: markets of other venues that strategies read. Before, they read none.
    &[],
    RANGES_AND_CHARGES,
    OWED_FEES,
    BUDGET_LEFT,
    COMPARED_SHARES,
    AMENDS,
];

/// Version 29: orders are amended where the venue can do that, and answers state what they cost beyond their endpoint.
/// Before, orders were cancelled and made again everywhere, and nothing was stated.
const AMENDS: &[Step] = &[
    NO_AMENDS[0],
    NO_AMENDS[1],
    Step::Add {
        of: "Event::Answer",
        field: "cost_beyond",
        value: || Value::Unsigned(0),
    },
];

/// Rules of a venue whose orders are not amended.
pub const NO_AMENDS: [Step; 2] = [
    Step::Add {
        of: "TradingCounter",
        field: "amends",
        value: || Value::List(Vec::new()),
    },
    Step::Add {
        of: "VenueRules",
        field: "amends_orders",
        value: || Value::Bool(false),
    },
];

/// Version 28: rules state whether the shares of a join are compared. Before, all were judged as if they were.
const COMPARED_SHARES: &[Step] = &[Step::Add {
    of: "VenueRules",
    field: "compares_shares",
    value: || Value::Bool(true),
}];

/// Version 27: runs leave tokens to the next start, which states how many there are. Before, nothing was known to be left.
const BUDGET_LEFT: &[Step] = &[
    Step::Add {
        of: "Start",
        field: "budget_left",
        value: || Value::NONE,
    },
    Step::Add {
        of: "RequestCosts",
        field: "left_to_start",
        value: || Value::Unsigned(0),
    },
];

/// Version 26: pools state what is owed to our shares, and from which value on it is collected. Before, nothing was known of
/// it, and exits alone paid it out.
const OWED_FEES: &[Step] = &OWED_IS_UNKNOWN;

/// A pool of which it was not known what it owes.
pub const OWED_IS_UNKNOWN: [Step; 2] = [
    Step::Add {
        of: "PoolBalances",
        field: "owed",
        value: || Value::NONE,
    },
    Step::Add {
        of: "PoolConfig",
        field: "collect_value",
        value: || Value::Unsigned(0),
    },
];

/// Version 25: shares may be liquidity in a range of prices, and rules state what charges count as in losses. Before, all
/// pools were of a constant product, whose price follows from what they hold, and charges in a token that no market trades
/// counted in no loss.
const RANGES_AND_CHARGES: &[Step] = &[
    Step::Add {
        of: "PoolSpec",
        field: "in_range",
        value: || Value::Bool(false),
    },
    Step::Convert {
        of: "PoolBalances",
        with: reserves_as_held,
    },
    Step::Add {
        of: "VenueRules",
        field: "charged_as",
        value: || Value::NONE,
    },
];

/// What a pool of a constant product holds is what its price follows from.
pub fn reserves_as_held(mut balances: Value) -> Result<Value, String> {
    let pooled = balances.field("pooled").cloned();
    let pooled = pooled.ok_or("balances of a pool have amounts")?;
    put(&mut balances, "reserves", pooled)?;
    Ok(balances)
}

/// Version 23: markets state whether they have an order book, and other venues may count. Before, those of pools on chains did not say so, and none
/// of their strategies asked.
const ORDER_BOOKS: &[Step] = &[Step::Add {
    of: "MarketSpec",
    field: "book",
    value: || Value::Bool(true),
}];

/// Version 22: bookings and books hold the number of the next charge to book. Before, no venue charged for requests.
const CHARGES: &[Step] = &[
    Step::Add {
        of: "Booking",
        field: "charged_below",
        value: || Value::NONE,
    },
    Step::Add {
        of: "Books",
        field: "charged_below",
        value: || Value::Unsigned(0),
    },
];

/// Version 19: the other markets that strategies read are among the sources in the status. Before, there were none.
const MARKETS: &[Step] = &[Step::Add {
    of: "ReferenceStatus",
    field: "other",
    value: || Value::NONE,
}];

/// Version 16: sources of reference prices. Before, there were none.
const REFERENCES: &[Step] = &[
    Step::Add {
        of: "Start",
        field: "references",
        value: || Value::List(Vec::new()),
    },
    Step::Add {
        of: "Status",
        field: "references",
        value: || Value::List(Vec::new()),
    },
];

/// Version 14: every market states which token its fees are taken in, which was the bought one, and the venue's rules what
/// bounds them.
const FEES: &[Step] = &[
    Step::Add {
        of: "MarketSpec",
        field: "fee_in",
        value: fees_in_what_is_bought,
    },
    Step::Add {
        of: "VenueRules",
        field: "fees",
        value: fees_as_stated,
    },
];

/// The token of fees before there were others.
pub fn fees_in_what_is_bought() -> Value {
    Value::unit_variant("Bought")
}

/// What bounded fees before rules stated it: orders named up to 63 ten-thousandths.
pub fn fees_as_stated() -> Value {
    Value::Struct(vec![("stated_max_bips".to_owned(), Value::Unsigned(63))])
}

/// Version 20: rules state how exact amounts are, which they were. There is a further rule of numbers.
const AMOUNTS: &[Step] = &[Step::Add {
    of: "VenueRules",
    field: "amounts",
    value: exact_amounts,
}];

/// How exact amounts were before rules stated it: to the unit.
pub fn exact_amounts() -> Value {
    Value::Struct(vec![("quote_rounding".to_owned(), Value::Unsigned(0))])
}

/// Version 21: rules state what new trades cost, and which counter of orders and cancels a venue keeps. Before, new trades
/// cost nothing and there was no such counter. There is one more reason.
const COUNTERS: &[Step] = &[
    Step::ConvertField {
        of: "VenueRules",
        field: "costs",
        with: costs_by_endpoint,
    },
    Step::Add {
        of: "VenueRules",
        field: "trading",
        value: || Value::NONE,
    },
];

/// Costs of requests, before an answer could cost something beside them.
pub fn costs_by_endpoint(each: Value) -> Result<Value, String> {
    let fields = [("each", each), ("new_fills", Value::Unsigned(0))];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    Ok(Value::Struct(fields.into()))
}

/// Version 17: a start has what strategies traded in earlier runs. Before, it had not.
const TRADED: &[Step] = &[Step::Add {
    of: "Start",
    field: "traded",
    value: || Value::List(Vec::new()),
}];

/// Version 13: strategies get other parameters while they run. Before, they did not.
const PARAMETERS: &[Step] = &[
    Step::Add {
        of: "Command::Reconfigure",
        field: "parameters",
        value: || Value::List(Vec::new()),
    },
    Step::Add {
        of: "Command::Reconfigure",
        field: "reason",
        value: || Value::Text(String::new()),
    },
];

/// Version 16: orders may be swaps with a pool, and a pool has a fee and takes swaps or not. Before, there were none, and
/// nothing was known of either.
const SWAPS: &[Step] = &[
    Step::Add {
        of: "UnsignedOrder",
        field: "swap",
        value: || Value::NONE,
    },
    POOL_TAKES_NO_SWAPS[0],
    POOL_TAKES_NO_SWAPS[1],
    POOL_TAKES_NO_SWAPS[2],
    POOL_TAKES_NO_SWAPS[3],
    Step::Add {
        of: "PoolListed",
        field: "swaps",
        value: || Value::Bool(false),
    },
    Step::Add {
        of: "PoolListed",
        field: "fee_bips",
        value: || Value::Unsigned(0),
    },
];

/// A pool of which only joins and exits were known.
pub const POOL_TAKES_NO_SWAPS: [Step; 4] = [
    Step::Add {
        of: "PoolSpec",
        field: "swaps",
        value: || Value::Bool(false),
    },
    Step::Add {
        of: "PoolSpec",
        field: "fee_bips",
        value: || Value::Unsigned(0),
    },
    Step::Add {
        of: "PoolConfig",
        field: "swap_value_max",
        value: || Value::Unsigned(0),
    },
    Step::Add {
        of: "PoolConfig",
        field: "swaps_per_min",
        value: || Value::Unsigned(6),
    },
];

/// Version 12: a page is of one of several lists, and the venue's rules name those that show every order. Before, there was
/// one list of all orders, and one of those that rest; and pages that name the next one are new.
const LISTS: &[Step] = &[
    Step::Convert {
        of: "OrdersPage",
        with: |mut page| {
            let list = match take(&mut page, "resting_only")? {
                Value::Bool(true) => "Resting",
                _ => "All",
            };
            put(&mut page, "list", Value::unit_variant(list))?;
            Ok(page)
        },
    },
    Step::Add {
        of: "VenueRules",
        field: "lists",
        value: one_list,
    },
];

/// One list that shows every order.
pub fn one_list() -> Value {
    let scanned = Value::List(vec![Value::unit_variant("All")]);
    Value::Struct(vec![("scanned".to_owned(), scanned)])
}

/// Version 10: strategies may run in a process, and a start gives strategies what they remembered. Before, it did
/// not.
const MEMORIES: &[Step] = &[Step::Add {
    of: "Start",
    field: "memories",
    value: || Value::List(Vec::new()),
}];

/// Version 11: what the venue promises is data, slots of other venues are numbers as well, and an order has two
/// times. Every recording before was of the exchange interface.
const VENUE: &[Step] = &[
    Step::RenameField {
        of: "Start",
        field: "next_storage",
        to: "next_slots",
    },
    Step::Add {
        of: "Start",
        field: "venue",
        value: exchange_rules,
    },
    Step::Convert {
        of: "UnsignedOrder",
        with: two_times,
    },
];

/// An order of the exchange interface rests as long as its bytes are accepted.
pub fn two_times(mut order: Value) -> Result<Value, String> {
    let slot = take(&mut order, "storage_id")?;
    let until = take(&mut order, "valid_until_s")?;
    put(&mut order, "slot", slot)?;
    put(&mut order, "accepted_until_s", until.clone())?;
    put(&mut order, "rests_until_s", Value::some(until))?;
    Ok(order)
}

/// What the venue promised in every recording before version 11.
pub fn exchange_rules() -> Value {
    let fields = |fields: Vec<(&str, Value)>| {
        let named = fields.into_iter();
        Value::Struct(
            named
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    };
    let number = Value::Unsigned;
    let unit = Value::unit_variant;
    let strided = fields(vec![("slots", number(16_384))]);
    let submits = [
        ("InvalidArgument", "KillsBytes"),
        ("WrongExchange", "KillsBytes"),
        ("InvalidOrderAccount", "KillsBytes"),
        ("OrderExists", "KillsCopy"),
        ("MissingSignature", "KillsBytes"),
        ("EmptyApiKey", "KeysRefused"),
        ("InvalidApiKey", "KeysRefused"),
        ("NoSignature", "KeysRefused"),
        ("WrongSignature", "KeysRefused"),
        ("RateLimited", "RateLimited"),
    ];
    let submits = submits.map(|(reason, refusal)| Value::List(vec![unit(reason), unit(refusal)]));
    let lifetime = vec![
        ("accepted_max_ms", Value::NONE),
        ("resting", unit("WhileAccepted")),
    ];
    let refusals = vec![
        ("submits", Value::List(submits.into())),
        (
            "nothing_to_cancel",
            Value::List(vec![unit("NothingToCancel")]),
        ),
        ("not_found", Value::List(vec![unit("OrderNotFound")])),
    ];
    fields(vec![
        (
            "slots",
            Value::Variant("Strided".to_owned(), Box::new(strided)),
        ),
        ("lifetime", fields(lifetime)),
        ("refusals", fields(refusals)),
        ("clock", fields(vec![("resolution_ms", number(1_000))])),
        ("costs", Value::List(Vec::new())),
    ])
}

/// Version 9: a difference may be known as a bound. Before, all were exact.
const AT_LEAST: &[Step] = &[Step::Add {
    of: "BooksStatus",
    field: "at_least",
    value: || Value::Bool(false),
}];

/// Version 7: the ledger may be below zero while fills of an earlier run are being found.
const TOTALS: &[Step] = &[
    Step::ConvertField {
        of: "Booking",
        field: "ledger",
        with: Value::into_signed,
    },
    Step::ConvertField {
        of: "Books",
        field: "ledger",
        with: Value::into_signed,
    },
    Step::ConvertField {
        of: "Difference",
        field: "ledger",
        with: Value::into_signed,
    },
    Step::ConvertField {
        of: "Notification::Mismatch",
        field: "ledger",
        with: Value::into_signed,
    },
];

/// Version 2: the reason for no quotes is kept for each side, with the numbers compared.
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

/// Version 5: orders that are signed and unexpired have a limit. Before, there was none, and orders signed by earlier
/// runs were not counted.
const SIGNED: &[Step] = &[
    Step::Add {
        of: "MarketConfig",
        field: "signed_unexpired_max",
        value: || Value::Unsigned(u128::MAX),
    },
    Step::Add {
        of: "Start",
        field: "signed",
        value: || Value::List(Vec::new()),
    },
];

/// Version 6: types, fields and variants have the field's standard terms. No value changes.
const NAMES: &[Step] = &[
    Step::RenameVariant {
        of: "Action",
        variant: "StoreLevel",
        to: "StoreRestrictions",
    },
    Step::RenameVariant {
        of: "Action",
        variant: "Note",
        to: "Notify",
    },
    Step::RenameVariant {
        of: "Endpoint",
        variant: "Moves",
        to: "PoolTransactions",
    },
    Step::RenameVariant {
        of: "Event",
        variant: "LevelStored",
        to: "RestrictionsStored",
    },
    Step::RenameVariant {
        of: "Event",
        variant: "LevelFailed",
        to: "RestrictionsFailed",
    },
    Step::RenameVariant {
        of: "Intent",
        variant: "Move",
        to: "PoolTransaction",
    },
    Step::RenameVariant {
        of: "Level",
        variant: "Trading",
        to: "Active",
    },
    Step::RenameVariant {
        of: "Note",
        variant: "MoveSent",
        to: "PoolTransactionSubmitted",
    },
    Step::RenameVariant {
        of: "Note",
        variant: "Moved",
        to: "PoolTransactionSettled",
    },
    Step::RenameVariant {
        of: "Note",
        variant: "MoveEnded",
        to: "PoolTransactionEnded",
    },
    Step::RenameVariant {
        of: "Note",
        variant: "ForeignMove",
        to: "ForeignPoolTransaction",
    },
    Step::RenameVariant {
        of: "Note",
        variant: "LevelChanged",
        to: "TradingStateChanged",
    },
    Step::RenameVariant {
        of: "Note",
        variant: "LevelNotStored",
        to: "RestrictionsNotStored",
    },
    Step::RenameVariant {
        of: "Query",
        variant: "Moves",
        to: "PoolTransactions",
    },
    Step::RenameVariant {
        of: "Reply",
        variant: "Moves",
        to: "PoolTransactions",
    },
    Step::RenameField {
        of: "Start",
        field: "open_moves",
        to: "open_pool_transactions",
    },
    Step::RenameField {
        of: "Start",
        field: "levels",
        to: "restrictions",
    },
    Step::RenameField {
        of: "Levels",
        field: "level",
        to: "state",
    },
    Step::RenameField {
        of: "PoolMove",
        field: "moved",
        to: "amounts",
    },
    Step::RenameField {
        of: "MoveReport",
        field: "moved",
        to: "amounts",
    },
    Step::RenameField {
        of: "RecoveredMove",
        field: "wanted",
        to: "transaction",
    },
];

/// A reason without numbers.
fn plain(control: Value) -> Value {
    Value::Struct(vec![
        ("control".to_owned(), control),
        ("value".to_owned(), Value::NONE),
        ("limit".to_owned(), Value::NONE),
        ("unit".to_owned(), Value::unit_variant("None")),
        ("key".to_owned(), Value::Unsigned(0)),
    ])
}

/// Version 4: a start contains the durable books and the losses of earlier runs outside the levels; differences have a
/// limit, which did not exist before; lowering a level reset losses without an operator's confirmation.
const BOOKS: &[Step] = &[
    Step::Convert {
        of: "Start",
        with: start,
    },
    Step::Convert {
        of: "RiskConfig",
        with: any_difference,
    },
    Step::Remove {
        of: "Levels",
        field: "lost",
    },
    Step::Add {
        of: "Command::Lower",
        field: "forget_losses",
        value: || Value::Bool(true),
    },
    Step::Add {
        of: "Status",
        field: "books",
        value: || {
            Value::Struct(vec![
                ("confirmed".to_owned(), Value::Bool(false)),
                ("differences".to_owned(), nothing()),
                ("since".to_owned(), Value::NONE),
                ("worth".to_owned(), nothing()),
                ("hold".to_owned(), Value::NONE),
            ])
        },
    },
];

fn nothing() -> Value {
    Value::Map(Vec::new())
}

/// A start without books takes the opening balances, as every start did.
fn start(mut start: Value) -> Result<Value, String> {
    let levels = start.field_mut("levels").ok_or("a start has levels")?;
    let lost = take(levels, "lost")?;
    let config = start.field_mut("config").ok_or("a start has a config")?;
    let risk = config.field_mut("risk").ok_or("a config has limits")?;
    *risk = any_difference(std::mem::replace(risk, Value::Unit))?;
    let books = Value::Struct(vec![
        ("ledger".to_owned(), Value::NONE),
        ("differences".to_owned(), nothing()),
        ("positions".to_owned(), nothing()),
    ]);
    put(&mut start, "books", books)?;
    put(&mut start, "lost", lost)?;
    Ok(start)
}

/// No difference was too large: the limit of every quote token is one that cannot be reached.
fn any_difference(mut risk: Value) -> Result<Value, String> {
    let Some(Value::Map(gross)) = risk.field("gross_max") else {
        return Err("every quote token has a limit".to_owned());
    };
    let unlimited = |(quote, _): &(Value, Value)| (quote.clone(), Value::Unsigned(u128::MAX));
    let most = Value::Map(gross.iter().map(unlimited).collect());
    put(&mut risk, "mismatch_max", most)?;
    Ok(risk)
}

/// Gives a struct a field more.
pub fn put(value: &mut Value, name: &str, held: Value) -> Result<(), String> {
    let Value::Struct(fields) = value else {
        return Err(format!("{name} is of a struct"));
    };
    fields.push((name.to_owned(), held));
    Ok(())
}

/// Takes a field out of a struct.
pub fn take(value: &mut Value, name: &str) -> Result<Value, String> {
    let Value::Struct(fields) = value else {
        return Err(format!("{name} is of a struct"));
    };
    let place = fields.iter().position(|(known, _)| known == name);
    let place = place.ok_or_else(|| format!("{name} is missing"))?;
    Ok(fields.remove(place).1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
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
