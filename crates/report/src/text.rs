//! The summary and the running line as text: no colours, at most 80 columns.

use std::fmt::Write;

use cambist_core::notification::MarketStatus;
use cambist_core::{MarketSpec, Price};

use crate::money::{Money, fixed_text};
use crate::pnl::PoolAttribution;
use crate::session::Session;
use crate::summary::{Ends, PnlRow, PoolRow, Summary, VenueBalances};

/// Width of the labels in front of values.
pub const LABEL: usize = 22;

/// Columns of the summary.
pub const WIDTH: usize = 80;

/// Between the parts of the running line; a line that is too wide is broken there.
pub const SEPARATOR: &str = " | ";

/// Why sides have no quotes, by name: one name if it is the same for both. Sides that are not quoted by design are left
/// out.
fn withheld(market: &MarketStatus) -> Option<String> {
    let reasons = market.withheld.map(|why| why.map(|why| why.control));
    let [buy, sell] = reasons.map(|why| why.filter(|why| !why.is_by_design()));
    match (buy, sell) {
        (None, None) => None,
        (Some(buy), Some(sell)) if buy == sell => Some(buy.name().to_owned()),
        (Some(buy), Some(sell)) => Some(format!("buy {}, sell {}", buy.name(), sell.name())),
        (Some(buy), None) => Some(format!("buy {}", buy.name())),
        (None, Some(sell)) => Some(format!("sell {}", sell.name())),
    }
}

/// One line about the current state: mid, own quotes, inventory, fills, profit and loss, requests and their budget.
///
/// Numbers have a fixed number of places and a minimum width, so that consecutive lines align.
pub fn line(session: &Session) -> String {
    let status = session.status();
    let mut parts = Vec::new();
    for (spec, market) in session.specs().zip(&status.markets) {
        let price = |half: Option<u64>| {
            let text = half.map_or_else(|| "-".to_owned(), |half| half_ticks(spec, half));
            format!("{text:>7}")
        };
        let side = |side: Option<Price>| price(side.map(|price| price.0.saturating_mul(2)));
        parts.push(format!("{} {}", spec.name, price(market.mid)));
        let mut part = format!("quotes {} / {}", side(market.bid), side(market.ask));
        if let Some(why) = withheld(market) {
            let _ = write!(part, " ({why})");
        }
        if market.unknown > 0 {
            let _ = write!(part, " unknown {}", market.unknown);
        }
        parts.push(part);
    }
    let quotes: Vec<_> = session.specs().map(|spec| spec.quote.id).collect();
    let held = session.held();
    let held: Vec<String> = held
        .iter()
        .map(|(token, units)| {
            let places = if quotes.contains(token) { 2 } else { 4 };
            let amount = session.fixed(*token, *units, places);
            format!("{amount:>8} {}", session.symbol(*token))
        })
        .collect();
    if !held.is_empty() {
        parts.push(held.join(" "));
    }
    let swaps = some(session.swaps(), "by swap");
    parts.push(format!("fills {:>4}{swaps}", session.fills()));
    parts.push(session.pnl().map_or_else(
        || "spread -, holdings -".to_owned(),
        |pnl| {
            let part = |money: Money| format!("{:>+8.2}", money.to_f64());
            let fees = if pnl.fees.numerator == 0 {
                String::new()
            } else {
                format!(", fees {}", part(pnl.fees))
            };
            let pool = pnl.pool.and_then(PoolAttribution::total);
            let pool = pool.map_or_else(String::new, |pool| format!(", pool {}", part(pool)));
            let (spread, holdings) = (part(pnl.spread), part(pnl.holdings));
            format!("spread {spread}, holdings {holdings}{fees}{pool}")
        },
    ));
    let [sent, allowed] = session.requests(status.sent, status.allowed);
    parts.push(format!("requests {sent:>4}/{allowed}"));
    parts.join(SEPARATOR)
}

/// The summary, one fact per line. `quotes` is whether strategies are there to quote both sides: without one, the share
/// of time that both were quoted means nothing.
pub fn summary(summary: &Summary, quotes: bool) -> String {
    let mut out = Lines(String::new());
    if let Some(seed) = summary.seed {
        out.put("seed", &seed.to_string());
    }
    out.put("duration", &format!("{:.1} s", summary.duration_s));
    let orders = &summary.orders;
    out.put(
        "orders",
        &format!(
            "{} submitted, {} acknowledged{}",
            orders.submitted,
            orders.acknowledged,
            some(summary.ends.recovered, "recovered at the start")
        ),
    );
    out.put("ended", &ended(summary.ends));
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
    out.put("not proven gone", &orders.unknown_left.to_string());
    let swaps = some(summary.swaps, "by swap");
    out.put("fills", &format!("{}{swaps}", summary.fills));
    if quotes {
        let percent = 100.0 * summary.quoted_both_sides_ratio;
        out.put("both sides", &format!("{percent:.1} % of the time"));
    }
    for (token, amount) in &summary.inventory_tokens {
        out.put("holds", &format!("{amount} {token}"));
    }
    for pool in &summary.pools {
        let PoolRow { joins, exits, .. } = pool;
        let failed = some(pool.failed, "without effect");
        out.put(
            "pool",
            &format!("{}: {joins} joined, {exits} left{failed}", pool.name),
        );
        let value = pool.value_quote.as_deref().unwrap_or("-");
        let worth = format!("{} shares worth {value} {}", pool.shares, summary.quote);
        out.put("  shares", &worth);
    }
    if summary.pnl_quote.is_none() {
        out.put("profit and loss", "not available (an amount overflowed)");
    }
    for row in &summary.pnl {
        profit_and_loss(&mut out, row);
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
    let note = match summary.venue_balances {
        VenueBalances::Current => "",
        VenueBalances::LastRead => " (the venue's balances as last read)",
        VenueBalances::Unread => {
            let unknown = "not known: the venue's balances were not read";
            out.put("ledger - venue", unknown);
            ""
        }
    };
    for (token, amount) in &summary.residual_tokens {
        out.put("ledger - venue", &format!("{amount} {token}{note}"));
    }
    if let Some(equal) = summary.replay_equal {
        out.put("replay", if equal { "equal" } else { "differs" });
    }
    out.0
}

/// The total, and below it the components, which sum to it as displayed.
fn profit_and_loss(out: &mut Lines, row: &PnlRow) {
    let mut put = |label: &str, cents: i64| {
        #[expect(clippy::cast_precision_loss, reason = "for display, two places")]
        let amount = cents as f64 / 100.0;
        out.put(label, &format!("{amount:>+10.2} {}", row.quote));
    };
    let total = cents(&row.total);
    let pool_total = row.pool.as_ref().map_or("0", |pool| &pool.total);
    let [spread, holdings, fees, pool] =
        rounded(total, [&row.spread, &row.holdings, &row.fees, pool_total]);
    put("profit and loss", total);
    put("  spread", spread);
    put("  holdings", holdings);
    put("  fees", fees);
    if let Some(parts) = &row.pool {
        let named = [
            &parts.fee_income,
            &parts.impermanent_loss,
            &parts.move_costs,
        ];
        let [income, lost, costs] = rounded(pool, named.map(String::as_str));
        put("  pool", pool);
        put("    fee income", income);
        let name = if lost > 0 {
            "    impermanent gain"
        } else {
            "    impermanent loss"
        };
        put(name, lost);
        put("    move costs", costs);
    }
}

/// Hundredths, rounded to the nearest.
fn cents(amount: &str) -> i64 {
    let amount: f64 = amount.parse().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "for display; it saturates")]
    let cents = (amount * 100.0).round() as i64;
    cents
}

/// Components in hundredths that add up to their sum: the rounding remainder goes to the largest of them.
fn rounded<const N: usize>(sum: i64, parts: [&str; N]) -> [i64; N] {
    let mut cents = parts.map(cents);
    let left = cents
        .iter()
        .fold(sum, |left, part| left.saturating_sub(*part));
    if let Some(largest) = cents.iter_mut().max_by_key(|part| part.unsigned_abs()) {
        *largest = largest.saturating_add(left);
    }
    cents
}

/// Counts of ended orders: the usual ends always, the others if there were any.
fn ended(ends: Ends) -> String {
    format!(
        "{} cancelled, {} filled{}{}{}{}{}{}",
        ends.cancelled,
        ends.filled,
        some(ends.expired, "expired"),
        some(ends.rejected, "rejected"),
        some(ends.failed_late, "failed late"),
        some(ends.fenced, "never listed"),
        some(ends.never_sent, "never sent"),
        match ends.partly_filled {
            0 => String::new(),
            some => format!("; {some} of them filled in part"),
        }
    )
}

/// One more part of a list, unless its count is zero.
fn some(count: u64, what: &str) -> String {
    if count == 0 {
        String::new()
    } else {
        format!(", {count} {what}")
    }
}

/// Half ticks as a price, truncated to whole ticks.
fn half_ticks(spec: &MarketSpec, half: u64) -> String {
    let places = usize::from(spec.price_decimals);
    fixed_text(u128::from(half) * 5, places + 1, places)
}

/// Aligned lines; long ones continue on the next line.
struct Lines(String);

impl Lines {
    fn put(&mut self, label: &str, text: &str) {
        let mut label = label;
        let mut rest = text;
        loop {
            let (now, later) = broken(rest, WIDTH - LABEL);
            let _ = writeln!(self.0, "{label:<LABEL$}{now}");
            if later.is_empty() {
                return;
            }
            (label, rest) = ("", later);
        }
    }
}

/// At most `width` characters, broken at a space if there is one.
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
