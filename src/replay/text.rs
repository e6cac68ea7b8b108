//! A moment of a recording as text.

use std::fmt::Write as _;

use cambist_core::Side;
use cambist_core::inspection::MarketInspection;
use cambist_core::notification::Control;
use cambist_core::strategy::BookLevel;

use super::is_own;
use super::moment::{Moment, iso_ms};
use super::page::strategy_name;
use crate::commands::columns;
use cambist_config::money::{mid_text, price, quantity};
use cambist_daemon::telemetry::withheld;
use cambist_host::times::span_ms;

/// Levels of the book per side; `--json` has all.
const LEVELS: usize = 5;
/// Other recordings that are named; `--json` has all.
const OTHERS: usize = 5;

/// The moment as text.
pub fn text(moment: &Moment) -> String {
    let (inspection, status) = (&moment.inspection, &moment.inspection.status);
    let file = moment.path.file_name().unwrap_or(moment.path.as_os_str());
    let mut rows = vec![
        row("at", iso_ms(inspection.venue_time)),
        row(
            "recording",
            format!(
                "{}, {} events from its beginning, the last at {}",
                file.display(),
                moment.events,
                iso_ms(moment.last_event)
            ),
        ),
        row("program", moment.header.program.clone()),
        row("trading state", state(moment)),
    ];
    if let Some(others) = others(moment) {
        rows.insert(2, row("also in", others));
    }
    if status.ramp_bps < 10_000 {
        rows.push(row("ramp", percent(status.ramp_bps.into())));
    }
    rows.push(row("limits used", used(&status.used)));
    let mut text = columns(&rows);
    for market in &inspection.markets {
        text.push('\n');
        text.push_str(&market_text(market, moment));
    }
    if let Some(found) = &moment.difference {
        let what = if is_own(&moment.header.program) {
            "this build decided differently from its own recording".to_owned()
        } else {
            format!(
                "{} decides differently from the recording build",
                cambist_host::program::build().name
            )
        };
        _ = writeln!(
            text,
            "\n{what}; the state below is its own. First difference:\n{found}"
        );
    }
    text
}

/// Older recordings that contain the moment, if there are any.
fn others(moment: &Moment) -> Option<String> {
    let names = moment.also_in.iter().take(OTHERS);
    let names = names.map(|path| path.file_name().unwrap_or(path.as_os_str()));
    let names: Vec<_> = names.map(|name| name.display().to_string()).collect();
    let more = match moment.also_in.len().saturating_sub(OTHERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        format!(
            "{}{more}: the clock was set back between them; this is the newest one, and to see another, name its file",
            names.join(", ")
        )
    })
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![name.to_owned(), value]
}

fn state(moment: &Moment) -> String {
    let status = &moment.inspection.status;
    let mut text = status.level.name().to_owned();
    for (is_so, words) in [
        (!status.ready, "not ready"),
        (status.draining, "draining"),
        (!status.pauses.is_empty(), "paused in part"),
    ] {
        if is_so {
            text.push_str(", ");
            text.push_str(words);
        }
    }
    text
}

fn market_text(inspection: &MarketInspection, moment: &Moment) -> String {
    let spec = &inspection.market;
    let mut rows = Vec::new();
    let mid = inspection.mid.map_or_else(
        || "unknown".to_owned(),
        |mid| format!("{} {}", mid_text(spec, mid), spec.quote.symbol),
    );
    rows.push(row("mid", mid));
    rows.push(row("depth", depth(inspection)));
    if let Err(why) = inspection.quoting_mid {
        rows.push(row("no quotes", withheld::text(spec, &why)));
    }
    for at in 0..LEVELS.min(inspection.bids.len().max(inspection.asks.len())) {
        let level = |levels: &[BookLevel]| {
            levels.get(at).map_or_else(String::new, |level| {
                format!(
                    "{} at {}",
                    quantity(spec, level.qty),
                    price(spec, level.price)
                )
            })
        };
        let name = if at == 0 { "bids | asks" } else { "" };
        rows.push(row(
            name,
            format!("{} | {}", level(&inspection.bids), level(&inspection.asks)),
        ));
    }
    for strategy in &inspection.strategies {
        let name = strategy_name(&moment.header, strategy.strategy.0);
        for quote in &strategy.quotes {
            let (qty, at) = (quantity(spec, quote.qty), price(spec, quote.price));
            let side = quote.side.name();
            rows.push(row("wanted", format!("{side} {qty} at {at} ({name})")));
        }
        for (side, why) in Side::BOTH.into_iter().zip(strategy.withheld) {
            let quotes = inspection.strategies.iter().flat_map(|one| &one.quotes);
            let is_wanted = quotes.into_iter().any(|quote| quote.side == side);
            // Nothing is missing on a side that has quotes.
            if let Some(why) = why.filter(|_| !is_wanted) {
                let why = withheld::text(spec, &why);
                rows.push(row(
                    "wanted",
                    format!("{} nothing ({name}): {why}", side.name()),
                ));
            }
        }
    }
    for order in &inspection.orders {
        let cancelling = if order.cancelling { ", cancelling" } else { "" };
        rows.push(row(
            "own order",
            format!(
                "{} {} of {} at {}, {}{cancelling}, until {} ({})",
                order.side.name(),
                quantity(spec, order.remaining),
                quantity(spec, order.qty),
                price(spec, order.price),
                order.state.name(),
                iso_ms(order.valid_until),
                order.id
            ),
        ));
    }
    if let Some(status) = moment.inspection.status.markets.get(usize::from(spec.id.0)) {
        for (side, why) in Side::BOTH.into_iter().zip(status.withheld) {
            let why = why.map_or_else(
                || "quoted, or an order is on its way".to_owned(),
                |why| format!("not quoted: {}", withheld::text(spec, &why)),
            );
            rows.push(row(side.name(), why));
        }
        rows.push(row("limits used", used(&status.used)));
    }
    let refused: Vec<_> = inspection
        .refused_by
        .iter()
        .map(|control| control.name())
        .collect();
    if !refused.is_empty() {
        rows.push(row("refused by", refused.join(", ")));
    }
    format!("{}\n{}", spec.name, columns(&rows))
}

fn depth(inspection: &MarketInspection) -> String {
    match (inspection.depth_time, inspection.depth_age_ms) {
        // A header's clock has whole seconds, so that the engine reckons with more than the difference of the times.
        (Some(time), Some(age_ms)) => {
            format!("at most {} old, of {}", span_ms(age_ms), iso_ms(time))
        }
        (Some(time), None) => {
            let time = iso_ms(time);
            format!("of {time}; it does not count since a gap in time")
        }
        (None, _) => "none so far".to_owned(),
    }
}

fn used(limits: &[(Control, u64)]) -> String {
    let each = limits.iter();
    let parts = each.map(|(control, bps)| format!("{} {}", control.name(), percent(*bps)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Formats ten-thousandths as a percentage, rounded up. A limit of zero that is used at all is exceeded.
fn percent(bps: u64) -> String {
    match bps {
        u64::MAX => "exceeded".to_owned(),
        bps => format!("{} %", bps.div_ceil(100)),
    }
}
