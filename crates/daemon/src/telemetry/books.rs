//! The comparison of ledger and venue as JSON, sentence and gauges.

use cambist_core::TokenId;
use cambist_core::books::Difference;
use cambist_core::notification::{BooksHold, BooksStatus};
use serde_json::{Value, json};

use super::About;
use super::metrics::Metrics;
use super::observe::{name_for_commands, token_spec, whole};
use crate::config::money;

/// Describes the differences and their consequence; `None` if there are none.
pub(super) fn text(about: &About, books: &BooksStatus) -> Option<String> {
    if books.differences.is_empty() {
        return None;
    }
    let each = books.differences.iter();
    let each: Vec<_> = each
        .map(|(token, difference)| {
            let amount = |units| amount(about, *token, units);
            let more = if difference.unexplained() < 0 {
                "less"
            } else {
                "more"
            };
            format!(
                "the venue has {} {more} ({} against {} in the ledger)",
                amount(difference.size()),
                amount(difference.venue),
                signed(difference.ledger, amount)
            )
        })
        .collect();
    let worth: Vec<_> = books
        .worth
        .iter()
        .map(|(quote, units)| amount(about, *quote, *units))
        .collect();
    let worth = if worth.is_empty() {
        String::new()
    } else {
        format!(", worth {} together", worth.join(" and "))
    };
    let follows = match books.hold {
        Some(BooksHold::Start) => "found at the start: no orders are placed until it is explained",
        Some(BooksHold::Limit) => {
            // What is left of it may be less.
            "it was more than risk.mismatch_max: no orders are placed until all of it is explained"
        }
        Some(BooksHold::Lasting) => {
            "for more than five minutes: no orders are placed until it is explained"
        }
        None => "if it lasts for five minutes, no more orders are placed",
    };
    let at_least = if books.at_least {
        "at least, because fills in progress hide the exact amount: "
    } else {
        ""
    };
    Some(format!(
        "books differ: {at_least}{}{worth}; {follows}",
        each.join(", ")
    ))
}

/// The command that explains a difference. Only the operator can confirm that this is what happened.
fn explains(about: &About, token: TokenId, difference: Difference) -> String {
    let (name, decimals) = token_spec(about, token).map_or_else(
        || (token.0.to_string(), 0),
        |spec| (name_for_commands(about, spec), spec.decimals),
    );
    let sign = if difference.unexplained() < 0 {
        '-'
    } else {
        '+'
    };
    let amount = money::whole(difference.size(), decimals);
    format!(
        "cambist account adopt --config {} --token {name} --amount {sign}{amount} --reason TEXT",
        about.config
    )
}

/// The commands that explain all differences; `None` if nothing differs, or while exact amounts are not known: the
/// command with a lower bound would leave the rest of the difference.
pub(super) fn commands(about: &About, books: &BooksStatus) -> Option<String> {
    let each = books.differences.iter();
    let each: Vec<_> = each
        .map(|(token, difference)| explains(about, *token, *difference))
        .collect();
    (!books.at_least && !each.is_empty()).then(|| each.join(" && "))
}

/// Formats an amount with its symbol.
fn amount(about: &About, token: TokenId, units: cambist_core::Amount) -> String {
    token_spec(about, token).map_or_else(
        || format!("{units} base units of token {}", token.0),
        |spec| format!("{} {}", money::whole(units, spec.decimals), spec.symbol),
    )
}

/// Formats a signed amount.
pub(super) fn signed(units: i128, text: impl Fn(cambist_core::Amount) -> String) -> String {
    let sign = if units < 0 { "-" } else { "" };
    format!("{sign}{}", text(units.unsigned_abs()))
}

/// The section of `/status`.
pub(super) fn page(about: &About, books: &BooksStatus, differ_ms: Option<u64>) -> Value {
    let state = match (books.confirmed, books.differences.is_empty()) {
        (false, _) => "not compared yet",
        (true, true) => "agree",
        (true, false) => "differ",
    };
    let differences = books.differences.iter().map(|(token, difference)| {
        let spec = token_spec(about, *token);
        let decimals = spec.map_or(0, |spec| spec.decimals);
        let whole = |units| money::whole(units, decimals);
        json!({
            "token": spec.map_or_else(|| token.0.to_string(), |spec| spec.symbol.clone()),
            "ledger": signed(difference.ledger, whole),
            "venue": whole(difference.venue),
            "units": difference.unexplained().to_string(),
            "explain": (!books.at_least).then(|| explains(about, *token, *difference)),
        })
    });
    let worth = books.worth.iter().map(|(quote, units)| {
        let spec = token_spec(about, *quote);
        let name = spec.map_or_else(|| quote.0.to_string(), |spec| spec.symbol.clone());
        (
            name,
            json!(money::whole(*units, spec.map_or(0, |s| s.decimals))),
        )
    });
    json!({
        "state": state,
        "text": text(about, books),
        "at_least": books.at_least,
        "hold": books.hold.map(BooksHold::name),
        "differ_for_ms": differ_ms,
        "differences": differences.collect::<Vec<_>>(),
        "worth": worth.collect::<serde_json::Map<_, _>>(),
    })
}

/// Gauges: whether there are differences, their value, and whether they stop new orders.
pub(super) fn gauges(about: &About, m: &Metrics, books: &BooksStatus) {
    m.books_differ.set(i64::from(!books.differences.is_empty()));
    for cause in BooksHold::ALL {
        let held = i64::from(books.hold == Some(cause));
        m.books_hold.with_label_values(&[cause.name()]).set(held);
    }
    for spec in &about.markets {
        let units = books.worth.get(&spec.quote.id).copied().unwrap_or(0);
        m.books_difference
            .with_label_values(&[&spec.quote.symbol])
            .set(whole(units, &spec.quote));
    }
}
