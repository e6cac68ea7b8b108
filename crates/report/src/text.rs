//! The summary and the running line as text for people: no colours, at most 80 columns.

use std::fmt::Write;

use cambist_core::{MarketSpec, Price};

use crate::money::{Money, decimal_text};
use crate::session::Session;
use crate::summary::Summary;

/// Columns of the summary.
pub const WIDTH: usize = 80;

/// One line about now: mid, own quotes, inventory, fills, profit and loss, requests of the budget.
pub fn line(session: &Session) -> String {
    let status = session.status();
    let mut parts = Vec::new();
    for (spec, market) in session.specs().zip(&status.markets) {
        let mid = market
            .mid
            .map_or_else(|| "-".to_owned(), |mid| half_ticks(spec, mid));
        let side = |price: Option<Price>| {
            price.map_or_else(
                || "-".to_owned(),
                |price| half_ticks(spec, price.0.saturating_mul(2)),
            )
        };
        let mut part = format!("{} {mid}", spec.name);
        let _ = write!(part, " quotes {} / {}", side(market.bid), side(market.ask));
        if let Some(control) = market.withheld {
            let _ = write!(part, " ({})", control.name());
        }
        if market.unknown > 0 {
            let _ = write!(part, " unknown {}", market.unknown);
        }
        parts.push(part);
    }
    let held: Vec<String> = session
        .held()
        .iter()
        .map(|(token, units)| {
            format!(
                "{} {}",
                session.whole(*token, *units, 4),
                session.symbol(*token)
            )
        })
        .collect();
    if !held.is_empty() {
        parts.push(held.join(" "));
    }
    parts.push(format!("fills {}", session.fills()));
    let pnl = session.pnl();
    parts.push(format!(
        "pnl {}",
        pnl.map_or_else(|| "-".to_owned(), |pnl| cents(pnl.total))
    ));
    parts.push(format!("requests {}/{}", status.sent, status.allowed));
    parts.join(" | ")
}

/// The summary, a fact a line.
pub fn summary(summary: &Summary) -> String {
    let mut out = Lines(String::new());
    if let Some(seed) = summary.seed {
        out.put("seed", &seed.to_string());
    }
    out.put("duration", &format!("{:.1} s", summary.duration_s));
    let orders = &summary.orders;
    out.put(
        "orders",
        &format!(
            "{} submitted, {} acknowledged, {} cancelled, {} filled",
            orders.submitted, orders.acknowledged, orders.cancelled, orders.filled
        ),
    );
    let refused: Vec<String> = orders
        .refused
        .iter()
        .map(|(code, count)| format!("{code} x {count}"))
        .collect();
    let refused = if refused.is_empty() {
        "none".to_owned()
    } else {
        refused.join(", ")
    };
    out.put("refused", &refused);
    out.put("unknown left", &orders.unknown_left.to_string());
    out.put("fills", &summary.fills.to_string());
    let percent = 100.0 * summary.quoted_both_sides_ratio;
    out.put("both sides", &format!("{percent:.1} % of the time"));
    for (token, amount) in &summary.inventory_tokens {
        out.put("holds", &format!("{amount} {token}"));
    }
    match summary.pnl_quote {
        None => out.put("profit and loss", "cannot be counted"),
        Some(pnl) => {
            for (name, part) in [
                ("  spread", pnl.spread),
                ("  inventory", pnl.inventory),
                ("  fees", pnl.fees),
                ("profit and loss", pnl.total),
            ] {
                out.put(name, &format!("{part:>+14.6} {}", summary.quote));
            }
        }
    }
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"));
    let ack = format!(
        "p50 {}, p99 {}",
        ms(summary.ack_ms.p50),
        ms(summary.ack_ms.p99)
    );
    out.put("acknowledged in", &ack);
    let requests = summary.requests;
    out.put(
        "requests",
        &format!(
            "{} sent of {} allowed, {} answered 429",
            requests.sent, requests.allowed, requests.http_429
        ),
    );
    if let Some(resting) = summary.resting_after {
        out.put("resting after", &resting.to_string());
    }
    for (token, units) in &summary.residual_units {
        out.put("ledger - venue", &format!("{units} units of {token}"));
    }
    if let Some(equal) = summary.replay_equal {
        out.put("replay", if equal { "equal" } else { "differs" });
    }
    out.0
}

/// Money cut to six places, with its sign.
fn cents(money: Money) -> String {
    let text = money.to_string();
    let cut = text
        .find('.')
        .map_or(text.len(), |point| text.len().min(point + 7));
    let text = text.get(..cut).unwrap_or(&text);
    if text.starts_with('-') || text == "0" {
        text.to_owned()
    } else {
        format!("+{text}")
    }
}

/// Half ticks as a price.
fn half_ticks(spec: &MarketSpec, half: u64) -> String {
    let places = usize::from(spec.price_decimals) + 1;
    decimal_text(u128::from(half) * 5, places, places)
}

/// Aligned lines; long ones go on below themselves.
struct Lines(String);

impl Lines {
    const LABEL: usize = 18;

    fn put(&mut self, label: &str, text: &str) {
        let mut label = label;
        let mut rest = text;
        loop {
            let (now, later) = broken(rest, WIDTH - Self::LABEL);
            let _ = writeln!(self.0, "{label:<width$}{now}", width = Self::LABEL);
            if later.is_empty() {
                return;
            }
            (label, rest) = ("", later);
        }
    }
}

/// At most `width` characters, broken at a space where there is one.
fn broken(text: &str, width: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(width) else {
        return (text, "");
    };
    let (head, tail) = text.split_at(end);
    match head.rfind(' ') {
        Some(space) if !tail.starts_with(' ') && space > 0 => {
            (text[..space].trim_end(), text[space..].trim_start())
        }
        Some(_) | None => (head, tail.trim_start()),
    }
}
