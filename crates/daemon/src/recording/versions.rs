//! Versions of snapshots on tapes, and the steps between them (`crates/schema`).
//!
//! `types.txt` describes every version. If the engine's state changes, the test below fails: `NEW_VERSION=1 cargo test
//! -p cambist-daemon --lib stored_types` appends the new version, and `STEPS` needs one more list. An added field gets
//! its value at a start.

use std::sync::OnceLock;

use cambist_schema::{History, Step, Value};
use cambist_tape::versions::{
    NO_AMENDS, OWED_IS_UNKNOWN, POOL_TAKES_NO_SWAPS, costs_by_endpoint, exact_amounts,
    exchange_rules, fees_as_stated, fees_in_what_is_bought, one_list, put, reserves_as_held, take,
    two_times,
};

/// Root type of a snapshot.
pub(super) const SNAPSHOT: &str = "snapshot";

/// The versions and the plans between them.
pub(super) fn history() -> &'static History {
    static HISTORY: OnceLock<History> = OnceLock::new();
    HISTORY.get_or_init(|| {
        let history = History::new(include_str!("types.txt"), STEPS);
        history.expect("the tests read the same history")
    })
}

/// The steps to version 2, 3, and so on.
///
/// Version 8 has an additional reason, version 10 has three.
const STEPS: &[&[Step]] = &[
    SIDES,
    INSTANCES,
    BOOKS,
    SIGNED,
    NAMES,
    TOTALS,
    &[],
    BOOKED_SINCE,
    &[],
    VENUE,
    LISTS,
    PARAMETERS,
    FEES,
    EXPECTED_FLOWS,
    REFERENCES,
    TRADED,
    SWAPS,
    SIGNER,
    AMOUNTS,
    COUNTERS,
    CHARGES,
    ORDER_BOOKS,
    ELSEWHERE,
    RANGES_AND_CHARGES,
    OWED_FEES,
    LEFT_TO_START,
    COMPARED_SHARES,
    AMENDS,
    LISTED,
];

/// Version 30: lists need not go back to orders that ended, and acceptances need not be decisions. Before, every list did,
/// without a note of it, and every acceptance was one.
const LISTED: &[Step] = &[
    Step::Add {
        of: "State",
        field: "listed",
        value: || {
            Value::Struct(vec![
                ("recent_at".to_owned(), Value::NONE),
                ("until".to_owned(), Value::Unsigned(0)),
            ])
        },
    },
    Step::Add {
        of: "Market",
        field: "awaits_acceptance",
        value: || Value::Bool(true),
    },
];

/// Version 29: orders are amended where the venue can do that. Before, they rested where they were made.
const AMENDS: &[Step] = &[
    NO_AMENDS[0],
    NO_AMENDS[1],
    Step::Add {
        of: "OwnLevel",
        field: "also",
        value: || Value::NONE,
    },
    Step::Add {
        of: "MarketBook",
        field: "held",
        value: || Value::NONE,
    },
    Step::Add {
        of: "Tracked",
        field: "amends",
        value: || {
            let nothing = ["price", "may_be_at", "in_flight", "answered_at"];
            let nothing = nothing.map(|field| (field.to_owned(), Value::NONE));
            let no = ["failed", "unlocated"].map(|field| (field.to_owned(), Value::Bool(false)));
            Value::Struct(nothing.into_iter().chain(no).collect())
        },
    },
];

/// Version 28: rules state whether the shares of a join are compared. Before, all were judged as if they were.
const COMPARED_SHARES: &[Step] = &[Step::Add {
    of: "VenueRules",
    field: "compares_shares",
    value: || Value::Bool(true),
}];

/// Version 27: runs leave tokens of the budget to the next start. Before, they left none.
const LEFT_TO_START: &[Step] = &[
    Step::Add {
        of: "Budget",
        field: "leaves",
        value: || Value::Unsigned(0),
    },
    Step::Add {
        of: "RequestCosts",
        field: "left_to_start",
        value: || Value::Unsigned(0),
    },
];

/// Version 26: pools state what is owed to our shares, and from which value on it is collected. Before, nothing was known of
/// it.
const OWED_FEES: &[Step] = &OWED_IS_UNKNOWN;

/// Version 25: shares may be liquidity in a range of prices, and rules state what charges count as in losses. Before, all
/// pools were of a constant product, and charges in a token that no market trades counted in no loss.
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

/// Version 24: strategies may read markets of other venues. Before, all that they read were of this one.
const ELSEWHERE: &[Step] = &[
    Step::Add {
        of: "State",
        field: "elsewhere",
        value: || Value::List(Vec::new()),
    },
    Step::ConvertField {
        of: "StrategySlot",
        field: "reads",
        with: reads_here,
    },
];

/// Version 23: markets state whether they have an order book, and other venues may count. Before, those of pools on chains did not say so, and none
/// of their strategies asked.
const ORDER_BOOKS: &[Step] = &[
    Step::Add {
        of: "MarketSpec",
        field: "book",
        value: || Value::Bool(true),
    },
    Step::Add {
        of: "State",
        field: "portfolio",
        value: || Value::NONE,
    },
];

/// Version 22: the ledger counts charges. Before, no venue charged for requests.
const CHARGES: &[Step] = &[
    Step::Add {
        of: "Ledger",
        field: "charged_below",
        value: || Value::Unsigned(0),
    },
    Step::Add {
        of: "Pending",
        field: "charges",
        value: || Value::Bool(false),
    },
];

/// Version 14: markets state which token their fees are taken in, the venue's rules what bounds them, and orders what fees
/// may take on top of what they sell, which was nothing.
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
    Step::Add {
        of: "Tracked",
        field: "fee_on_top",
        value: || Value::Unsigned(0),
    },
];

/// Version 20: the venue's rules state how exact amounts are, which they were, and orders keep it.
const AMOUNTS: &[Step] = &[
    Step::Add {
        of: "VenueRules",
        field: "amounts",
        value: exact_amounts,
    },
    Step::Add {
        of: "Tracked",
        field: "amounts",
        value: exact_amounts,
    },
];

/// Version 21: the venue may count orders and cancels, and new trades may cost requests. Before, it did not and they did
/// not. Since when an order is known to rest counts for nothing without that.
const COUNTERS: &[Step] = &[
    Step::ConvertField {
        of: "VenueRules",
        field: "costs",
        with: costs_by_endpoint,
    },
    Step::ConvertField {
        of: "Budget",
        field: "costs",
        with: costs_by_endpoint,
    },
    Step::Add {
        of: "VenueRules",
        field: "trading",
        value: || Value::NONE,
    },
    Step::Add {
        of: "State",
        field: "trading",
        value: || {
            let fields = [("rule", Value::NONE), ("levels", Value::Map(Vec::new()))];
            let fields = fields.map(|(name, value)| (name.to_owned(), value));
            Value::Struct(fields.into())
        },
    },
    Step::Add {
        of: "Market",
        field: "counter_frees_at",
        value: || Value::NONE,
    },
    Step::Add {
        of: "Lifecycle",
        field: "live_since",
        value: || Value::NONE,
    },
];

/// Version 16: sources of reference prices. Before, there were none.
const REFERENCES: &[Step] = &[Step::Add {
    of: "State",
    field: "references",
    value: || Value::List(Vec::new()),
}];

/// Version 15: flows are announced by operators. Before, none were.
const EXPECTED_FLOWS: &[Step] = &[Step::Add {
    of: "State",
    field: "expected_flows",
    value: || Value::Struct(vec![("flows".to_owned(), Value::List(Vec::new()))]),
}];

/// Version 17: what a strategy has traded. Of older snapshots it is not known; no strategy used it.
const TRADED: &[Step] = &[Step::Add {
    of: "StrategySlot",
    field: "traded",
    value: || {
        let sides = ["bought", "sold"].map(|side| (side.to_owned(), Value::Unsigned(0)));
        Value::Struct(sides.into())
    },
}];

/// Version 19: pauses after refusals of the signer have a reason of their own, depth polls are divided by how much each
/// market moves, of which nothing was known, and strategies read other markets, which none did.
const SIGNER: &[Step] = &[
    Step::Add {
        of: "Backoff",
        field: "by_signer",
        value: || Value::Bool(false),
    },
    Step::Add {
        of: "Polls",
        field: "movements",
        value: || Value::List(Vec::new()),
    },
    Step::Add {
        of: "StrategySlot",
        field: "reads",
        value: || Value::List(Vec::new()),
    },
    Step::Add {
        of: "Market",
        field: "shown",
        value: || {
            let parts = ["changed", "priced"].map(|part| (part.to_owned(), Value::Bool(false)));
            Value::Struct(parts.to_vec())
        },
    },
];

/// Version 18: orders may be swaps with a pool.
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
        of: "Pool",
        field: "swaps",
        value: || Value::Struct(vec![("seconds".to_owned(), Value::List(Vec::new()))]),
    },
];

/// Version 13: a strategy may have other parameters than at the start. Before, it had not.
const PARAMETERS: &[Step] = &[Step::Add {
    of: "StrategySlot",
    field: "parameters",
    value: || Value::NONE,
}];

/// Version 12: a scan reads the lists that the venue's rules name. Before, it read one of all entries, or one of what
/// rests.
const LISTS: &[Step] = &[
    Step::Convert {
        of: "ListScan",
        with: |mut scan| {
            let rests = scan.field("purpose") == Some(&Value::unit_variant("Resting"));
            let list = Value::unit_variant(if rests { "Resting" } else { "All" });
            put(&mut scan, "lists", Value::List(vec![list]))?;
            put(&mut scan, "lists_read", Value::Unsigned(0))?;
            put(&mut scan, "whole", Value::Bool(true))?;
            Ok(scan)
        },
    },
    Step::Add {
        of: "VenueRules",
        field: "lists",
        value: one_list,
    },
];

/// Version 11: what the venue promises is data, an intent has two times, and numbers of slots know their rule.
/// Every recording before was of the exchange interface.
const VENUE: &[Step] = &[
    Step::Add {
        of: "Budget",
        field: "costs",
        value: || Value::List(Vec::new()),
    },
    Step::Convert {
        of: "Lifecycle",
        with: |mut life| {
            let until = take(&mut life, "valid_until")?;
            let lifetime = [
                ("accepted_until", until.clone()),
                ("rests_until", Value::some(until)),
            ];
            let lifetime = lifetime.map(|(name, value)| (name.to_owned(), value));
            put(&mut life, "lifetime", Value::Struct(lifetime.into()))?;
            put(&mut life, "slot_spent", Value::Bool(false))?;
            Ok(life)
        },
    },
    Step::Convert {
        of: "StorageIds",
        with: |mut numbers| {
            let strided = Value::Struct(vec![("slots".to_owned(), Value::Unsigned(16_384))]);
            let rule = Value::Variant("Strided".to_owned(), Box::new(strided));
            put(&mut numbers, "rule", rule)?;
            // Only consecutive numbers are ever used again.
            put(&mut numbers, "returned", Value::Map(Vec::new()))?;
            put(&mut numbers, "begun", Value::Map(Vec::new()))?;
            Ok(numbers)
        },
    },
    Step::RenameField {
        of: "State",
        field: "storage",
        to: "slot_numbers",
    },
    Step::Add {
        of: "State",
        field: "venue",
        value: exchange_rules,
    },
    Step::Convert {
        of: "UnsignedOrder",
        with: two_times,
    },
];

/// Version 9: bookings since the last request of balances are kept one by one; sums of older snapshots count until the
/// next balances. No difference was known as a bound.
const BOOKED_SINCE: &[Step] = &[
    Step::ConvertField {
        of: "Ledger",
        field: "booked_since_request",
        with: |sums| {
            let fields = [
                ("each", Value::List(Vec::new())),
                ("sums", sums),
                ("sums_until", Value::Unsigned(0)),
            ];
            let fields = fields.map(|(name, value)| (name.to_owned(), value));
            Ok(Value::Struct(fields.into()))
        },
    },
    Step::Add {
        of: "Reconciliation",
        field: "at_least",
        value: || Value::Map(Vec::new()),
    },
];

/// Version 7: balances of the ledger may be negative while fills of an earlier run are still being found.
const TOTALS: &[Step] = &[
    Step::ConvertField {
        of: "Difference",
        field: "ledger",
        with: Value::into_signed,
    },
    Step::ConvertField {
        of: "Ledger",
        field: "totals",
        with: Value::into_signed,
    },
];

/// Version 6: renamed types, fields and variants. No value changes.
const NAMES: &[Step] = &[
    Step::RenameVariant {
        of: "Purpose",
        variant: "Look",
        to: "Presence",
    },
    Step::RenameVariant {
        of: "Purpose",
        variant: "Proof",
        to: "Absence",
    },
    Step::RenameVariant {
        of: "Purpose",
        variant: "Standing",
        to: "Resting",
    },
    Step::RenameVariant {
        of: "Purpose#2",
        variant: "Page",
        to: "OrdersPage",
    },
    Step::RenameVariant {
        of: "Purpose#2",
        variant: "Read",
        to: "OrderReport",
    },
    Step::RenameVariant {
        of: "Purpose#2",
        variant: "MovesPage",
        to: "PoolTransactionsPage",
    },
    Step::RenameVariant {
        of: "Endpoint",
        variant: "Moves",
        to: "PoolTransactions",
    },
    Step::RenameVariant {
        of: "Level",
        variant: "Trading",
        to: "Active",
    },
    Step::RenameVariant {
        of: "Word",
        variant: "Known",
        to: "Seen",
    },
    Step::RenameVariant {
        of: "Word",
        variant: "Disowned",
        to: "Denied",
    },
    Step::RenameVariant {
        of: "Broken",
        variant: "Dark",
        to: "SideEmpty",
    },
    Step::RenameField {
        of: "State",
        field: "looked",
        to: "last_complete_scan_at",
    },
    Step::RenameField {
        of: "State",
        field: "stood",
        to: "resting_listed_at",
    },
    Step::RenameField {
        of: "State",
        field: "born",
        to: "pool_transactions_since",
    },
    Step::RenameField {
        of: "State",
        field: "strays",
        to: "unrecognised_own_ids",
    },
    Step::RenameField {
        of: "State",
        field: "asked",
        to: "in_flight",
    },
    Step::RenameField {
        of: "State",
        field: "stepped",
        to: "last_step_at",
    },
    Step::RenameField {
        of: "State",
        field: "decided",
        to: "last_decision_at",
    },
    Step::RenameField {
        of: "State",
        field: "seats",
        to: "slots",
    },
    Step::RenameField {
        of: "State",
        field: "pass",
        to: "scan",
    },
    Step::RenameField {
        of: "State",
        field: "moves_pass",
        to: "pool_scan",
    },
    Step::RenameField {
        of: "State",
        field: "foreign_moves",
        to: "foreign_pool_transactions",
    },
    Step::RenameField {
        of: "State",
        field: "permits",
        to: "restrictions",
    },
    Step::RenameField {
        of: "State",
        field: "tally",
        to: "counters",
    },
    Step::RenameField {
        of: "State",
        field: "denied",
        to: "budget_denied",
    },
    Step::RenameField {
        of: "State",
        field: "wake",
        to: "next_wakeup_at",
    },
    Step::RenameField {
        of: "MarketBook",
        field: "parted",
        to: "departed",
    },
    Step::RenameField {
        of: "MarketBook",
        field: "drawn",
        to: "snapshot_at",
    },
    Step::RenameField {
        of: "MarketBook",
        field: "told",
        to: "snapshot_time",
    },
    Step::RenameField {
        of: "MarketBook",
        field: "changed",
        to: "content_changed_at",
    },
    Step::RenameField {
        of: "VenueClock",
        field: "heard",
        to: "answered_at",
    },
    Step::RenameField {
        of: "VenueClock",
        field: "leap",
        to: "unconfirmed_leap",
    },
    Step::RenameField {
        of: "Foreign",
        field: "told",
        to: "orders",
    },
    Step::RenameField {
        of: "Managed",
        field: "due",
        to: "next_step_at",
    },
    Step::RenameField {
        of: "Managed",
        field: "reads",
        to: "reads_next",
    },
    Step::RenameField {
        of: "Ledger",
        field: "asked",
        to: "balances_requested_at",
    },
    Step::RenameField {
        of: "Ledger",
        field: "shared",
        to: "locked_by_others",
    },
    Step::RenameField {
        of: "Ledger",
        field: "since",
        to: "booked_since_request",
    },
    Step::RenameField {
        of: "Ledger",
        field: "candidate",
        to: "pending",
    },
    Step::RenameField {
        of: "Permits",
        field: "wanted",
        to: "pending",
    },
    Step::RenameField {
        of: "Permits",
        field: "healed",
        to: "lapsed_before",
    },
    Step::RenameField {
        of: "Life",
        field: "word",
        to: "evidence",
    },
    Step::RenameField {
        of: "Market",
        field: "moves",
        to: "mid_extremes",
    },
    Step::RenameField {
        of: "Market",
        field: "moved_bps",
        to: "mid_range_bps",
    },
    Step::RenameField {
        of: "Market",
        field: "meter",
        to: "losses",
    },
    Step::RenameField {
        of: "Market",
        field: "misfit",
        to: "listing_change",
    },
    Step::RenameField {
        of: "Market",
        field: "broken",
        to: "break_before_make",
    },
    Step::RenameField {
        of: "Market",
        field: "refused",
        to: "refused_by",
    },
    Step::RenameField {
        of: "Market",
        field: "both",
        to: "both_sides_quoted",
    },
    Step::RenameField {
        of: "Market",
        field: "dirty",
        to: "decision_due",
    },
    Step::RenameField {
        of: "Market",
        field: "rest",
        to: "backoff",
    },
    Step::RenameField {
        of: "Marks",
        field: "lately",
        to: "last_hour",
    },
    Step::RenameField {
        of: "Marks",
        field: "before",
        to: "earlier_hour",
    },
    Step::RenameField {
        of: "Meter",
        field: "marks",
        to: "baselines",
    },
    Step::RenameField {
        of: "Meter",
        field: "over",
        to: "breaches_in_a_row",
    },
    Step::RenameField {
        of: "Pool",
        field: "rest",
        to: "backoff",
    },
    Step::RenameField {
        of: "Pool",
        field: "moved",
        to: "last_transaction_at",
    },
    Step::RenameField {
        of: "Pool",
        field: "held",
        to: "balances",
    },
    Step::RenameField {
        of: "Pool",
        field: "at",
        to: "config_index",
    },
    Step::RenameField {
        of: "Unquoted",
        field: "told",
        to: "reported",
    },
    Step::RenameField {
        of: "Polls",
        field: "look",
        to: "presence",
    },
    Step::RenameField {
        of: "Polls",
        field: "proof",
        to: "absence",
    },
    Step::RenameField {
        of: "Polls",
        field: "standing",
        to: "resting",
    },
    Step::RenameField {
        of: "Polls",
        field: "moves",
        to: "pool_transactions",
    },
    Step::RenameField {
        of: "Polls",
        field: "moves_proof",
        to: "pool_transactions_absence",
    },
    Step::RenameField {
        of: "Orders",
        field: "moves",
        to: "pool_transactions",
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
];

/// Version 2: the reason for missing quotes is kept for each side; none at a start.
const SIDES: &[Step] = &[
    Step::Remove {
        of: "Market",
        field: "withheld",
    },
    Step::Add {
        of: "Market",
        field: "unquoted",
        value: || {
            let sides = || Value::List(vec![Value::NONE, Value::NONE]);
            Value::Struct(vec![
                ("barred".to_owned(), Value::NONE),
                ("decided".to_owned(), sides()),
                ("failed".to_owned(), sides()),
                ("told".to_owned(), sides()),
            ])
        },
    },
    Step::Add {
        of: "Pool",
        field: "withheld",
        value: || Value::NONE,
    },
];

/// Version 3: orders of other instances. None were known, and since the engine's start time is unknown, none counts as
/// made later.
const INSTANCES: &[Step] = &[Step::Add {
    of: "State",
    field: "instances",
    value: || {
        Value::Struct(vec![
            ("since".to_owned(), Value::Unsigned(u64::MAX.into())),
            ("alive".to_owned(), Value::Map(Vec::new())),
            ("quiet_at".to_owned(), Value::Unsigned(0)),
            ("raised".to_owned(), Value::List(Vec::new())),
            ("adopted".to_owned(), Value::List(Vec::new())),
        ])
    },
}];

/// Version 4: the ledger and the loss baselines survive a run, a difference has a limit, and what must become durable
/// waits for the end of a step.
const BOOKS: &[Step] = &[
    Step::ConvertField {
        of: "Ledger",
        field: "differing",
        with: differences,
    },
    Step::Remove {
        of: "Levels",
        field: "lost",
    },
    Step::Convert {
        of: "Meter",
        with: |old| meter(&old),
    },
    Step::Convert {
        of: "RiskConfig",
        with: any_difference,
    },
    Step::Remove {
        of: "State",
        field: "differing_since",
    },
    // Whether ledger and venue agree is determined at the next reconciliation.
    Step::Add {
        of: "State",
        field: "reconciliation",
        value: || {
            Value::Struct(vec![
                ("agreed".to_owned(), Value::Bool(true)),
                ("since".to_owned(), Value::NONE),
                ("worth".to_owned(), nothing()),
                ("hold".to_owned(), Value::NONE),
                ("told".to_owned(), nothing()),
            ])
        },
    },
    Step::Add {
        of: "State",
        field: "pending",
        value: || {
            Value::Struct(vec![
                ("entries".to_owned(), Value::List(Vec::new())),
                ("tokens".to_owned(), Value::List(Vec::new())),
                ("markets".to_owned(), Value::List(Vec::new())),
                ("opens".to_owned(), Value::Bool(false)),
                ("differences".to_owned(), Value::Bool(false)),
                ("booked".to_owned(), nothing()),
            ])
        },
    },
];

/// How long a high value of the hour counted after it was observed, in milliseconds.
const HOUR_MS: u128 = 3_600_000 + 3_600_000 / 64;

fn nothing() -> Value {
    Value::Map(Vec::new())
}

fn of<'a>(value: &'a Value, field: &str) -> Result<&'a Value, String> {
    let found = value.field(field);
    found.ok_or_else(|| format!("{field} is missing"))
}

/// Differences by token, with ledger and venue as named fields.
/// Markets that are read were numbers of markets of this venue.
fn reads_here(read: Value) -> Result<Value, String> {
    let Value::List(markets) = read else {
        return Err("the markets that are read are no list".to_owned());
    };
    let here = |market| Value::Variant("Here".to_owned(), Box::new(Value::List(vec![market])));
    Ok(Value::List(markets.into_iter().map(here).collect()))
}

fn differences(differing: Value) -> Result<Value, String> {
    let Value::Map(tokens) = differing else {
        return Err("differences are by token".to_owned());
    };
    let named = tokens.into_iter().map(|(token, pair)| match pair {
        Value::List(pair) => match <[Value; 2]>::try_from(pair) {
            Ok([ledger, venue]) => {
                let fields = vec![("ledger".to_owned(), ledger), ("venue".to_owned(), venue)];
                Ok((token, Value::Struct(fields)))
            }
            Err(pair) => Err(format!("{} amounts differ", pair.len())),
        },
        _ => Err("a ledger and a venue differ".to_owned()),
    });
    Ok(Value::Map(named.collect::<Result<_, _>>()?))
}

fn marks(marks: &Value) -> Result<Value, String> {
    let before = match of(marks, "before")? {
        Value::Option(Some(before)) => match &**before {
            Value::List(pair) => match pair.as_slice() {
                [Value::Unsigned(until), high] => {
                    let seen = Value::Unsigned(until.saturating_sub(HOUR_MS));
                    vec![Value::List(vec![seen, high.clone()])]
                }
                _ => return Err("a high value has a time".to_owned()),
            },
            _ => return Err("a high value has a time".to_owned()),
        },
        _ => Vec::new(),
    };
    let (kept, worth, high) = match of(marks, "known")? {
        Value::Option(Some(known)) => match &**known {
            Value::List(parts) => match parts.as_slice() {
                [day, by_limit, worth] => {
                    let kept = Value::Struct(vec![
                        ("day".to_owned(), day.clone()),
                        ("day_open".to_owned(), of(by_limit, "day")?.clone()),
                        ("total".to_owned(), of(by_limit, "total")?.clone()),
                        ("peak".to_owned(), of(by_limit, "drawdown")?.clone()),
                    ]);
                    let high = of(by_limit, "hour")?.clone();
                    (Some(kept), Some(worth.clone()), high)
                }
                _ => return Err("a day, values and a value are known".to_owned()),
            },
            _ => return Err("a day, values and a value are known".to_owned()),
        },
        _ => (None, None, Value::Signed(0)),
    };
    // After the first valuation none of it was used.
    let carried = kept.is_none().then(|| of(marks, "carried")).transpose()?;
    let option = |value: Option<Value>| Value::Option(value.map(Box::new));
    Ok(Value::Struct(vec![
        ("carried".to_owned(), option(carried.cloned())),
        ("kept".to_owned(), option(kept)),
        ("worth".to_owned(), option(worth)),
        ("lately".to_owned(), of(marks, "lately")?.clone()),
        ("before".to_owned(), Value::List(before)),
        ("high".to_owned(), high),
    ]))
}

fn meter(meter: &Value) -> Result<Value, String> {
    let is_open = *of(meter, "open")? == Value::Bool(true);
    let held = Value::List(vec![of(meter, "base")?.clone(), of(meter, "cash")?.clone()]);
    let traded = if is_open {
        Value::some(held)
    } else {
        Value::NONE
    };
    let mut fields = vec![
        ("traded".to_owned(), traded),
        ("pool_is_new".to_owned(), Value::Bool(false)),
        ("marks".to_owned(), marks(of(meter, "marks")?)?),
        // The next valuation sets a mid.
        ("stated".to_owned(), Value::NONE),
        ("looked".to_owned(), Value::Bool(false)),
    ];
    for kept in ["pooled", "over", "mid", "markouts", "uncountable"] {
        fields.push((kept.to_owned(), of(meter, kept)?.clone()));
    }
    Ok(Value::Struct(fields))
}

/// No difference exceeded a limit: every quote token gets a limit that is never reached.
fn any_difference(mut risk: Value) -> Result<Value, String> {
    let Value::Map(gross) = of(&risk, "gross_max")? else {
        return Err("every quote token has a limit".to_owned());
    };
    let unlimited = |(quote, _): &(Value, Value)| (quote.clone(), Value::Unsigned(u128::MAX));
    let most = Value::Map(gross.iter().map(unlimited).collect());
    if let Value::Struct(fields) = &mut risk {
        fields.push(("mismatch_max".to_owned(), most));
    }
    Ok(risk)
}

/// Version 5: signed and unexpired amounts, which had no limit and were not counted.
const SIGNED: &[Step] = &[
    Step::Add {
        of: "MarketConfig",
        field: "signed_unexpired_max",
        value: || Value::Unsigned(u128::MAX),
    },
    Step::Add {
        of: "State",
        field: "signed",
        value: || Value::Map(Vec::new()),
    },
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::fs::File;
    use std::io::BufReader;
    use std::path::Path;

    use cambist_schema::{Check, describe};
    use cambist_tape::{Entry, Reader, Tail};
    use serde_json::Value as Json;

    use super::*;
    use crate::recording::{Player, Saved};

    #[test]
    fn stored_types_are_those_of_the_newest_version() {
        Check {
            history: history(),
            described: describe::<Saved>(SNAPSHOT).unwrap(),
            file: &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/recording/types.txt"),
        }
        .assert();
    }

    /// Tapes of earlier versions (`tests/kept`) are read to their end, and their events are passed to the current
    /// engine, which may act differently.
    #[test]
    fn every_kept_tape_is_read_and_played() {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kept");
        let folders = std::fs::read_dir(all)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|path| {
            let entries = std::fs::read_dir(path).unwrap();
            entries
                .map(|entry| entry.unwrap().path())
                .collect::<Vec<_>>()
        });
        let (mut tapes, mut snapshots) = (0, 0);
        for file in files.filter(|file| file.extension().is_some_and(|kind| kind == "tape")) {
            let name = file.display();
            let then = std::fs::read_to_string(file.with_extension("json")).unwrap();
            let then: Json = serde_json::from_str(&then).unwrap();
            let mut tape = Reader::open(BufReader::new(File::open(&file).unwrap())).unwrap();
            snapshots += u32::from(tape.snapshot().is_some());
            let mut player = Player::new(&tape).unwrap_or_else(|error| panic!("{name}: {error}"));
            let (mut events, mut actions) = (0_u64, 0_u64);
            let mut heard = None;
            while let Some(entry) = tape
                .next_entry()
                .unwrap_or_else(|error| panic!("{name}: {error}"))
            {
                match entry {
                    Entry::Event { now, event } => heard = Some((now, event)),
                    Entry::Actions { actions: did } => {
                        let (now, event) = heard.take().unwrap();
                        player.handle_event(now, &event, &mut Vec::new());
                        events += 1;
                        actions += did.len() as u64;
                    }
                }
            }
            assert!(player.failure().is_none(), "{name}: {:?}", player.failure());
            assert_eq!(
                (&events.into(), &actions.into()),
                (&then["events"], &then["actions"]),
                "{name}"
            );
            let Some(Tail::Torn { offset }) = tape.tail() else {
                panic!("{name} was cut off");
            };
            assert_eq!(offset, then["torn_at"], "{name}");
            tapes += 1;
        }
        assert!(tapes >= 2 && snapshots >= 1, "{tapes} {snapshots}");
    }
}
