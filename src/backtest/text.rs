//! The report of a backtest as text.

use std::fmt::Write;

use cambist_backtest::{DataDefects, Report, SideReport};

use crate::commands::columns;

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for data in &report.data {
        if let Some(many) = DataDefects::from(data).many() {
            _ = writeln!(text, "{many}\n");
        }
    }
    text.push_str(&columns(&[results(report), activity(report)].concat()));
    if !report.advice.is_empty() {
        text.push_str("\nAdvice\n");
        for sentence in &report.advice {
            _ = writeln!(text, "  {sentence}");
        }
    }
    if !report.levels.is_empty() {
        text.push_str("\nLevels and pauses\n");
        for change in &report.levels {
            _ = writeln!(text, "  {}  {}: {}", change.time, change.what, change.cause);
        }
    }
    if !report.invariants.is_empty() {
        text.push_str("\nInvariants that failed: each is a defect of this program\n");
        for broken in &report.invariants {
            _ = writeln!(text, "  {broken}");
        }
    }
    let skipped = report.data.iter().flat_map(|data| &data.report.skipped);
    let mut skipped = skipped.peekable();
    if skipped.peek().is_some() {
        text.push_str("\nSkipped rows\n");
        for skipped in skipped {
            _ = writeln!(
                text,
                "  {} {}, first: {}",
                skipped.count,
                skipped.kind.name(),
                skipped.first
            );
        }
    }
    text.push_str("\nAssumed\n");
    for sentence in &report.assumed {
        _ = writeln!(text, "  {sentence}");
    }
    text
}

/// What was read, and what it came to.
fn results(report: &Report) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("from", report.from.clone());
    row("to", format!("{} ({:.0} s)", report.to, report.duration_s));
    if let Some(at) = &report.engine_ended {
        row("engine ended", at.clone());
    }
    rows.extend(data(report));
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    let quote = &report.quote;
    let pnl = |row: &cambist_report::summary::PnlRow| {
        format!(
            "{} {quote} = spread {}, holdings {}, fees {}",
            row.total, row.spread, row.holdings, row.fees
        )
    };
    let unknown = || "not known: there was no mid".to_owned();
    row(
        "profit and loss",
        report.pnl.as_ref().map_or_else(unknown, pnl),
    );
    for (name, value) in [
        ("holding", &report.holding),
        ("excess over holding", &report.excess_over_holding),
    ] {
        let known = value.as_ref().map(|value| format!("{value} {quote}"));
        row(name, known.unwrap_or_else(unknown));
    }
    row(
        "as polled",
        report.pnl_as_polled.as_ref().map_or_else(unknown, pnl),
    );
    for market in &report.markets {
        let [spread, holdings, fees, total, holding, excess] = market.amounts();
        row(
            "market",
            format!(
                "{}: {total} {quote} = spread {spread}, holdings {holdings}, fees {fees}; holding {holding}, excess {excess}; {} fills",
                market.market, market.fills
            ),
        );
    }
    for fee in &report.fees {
        let value = fee.value.as_deref().unwrap_or("?");
        row(
            "fee",
            format!("{} {} = {value} {quote}", fee.amount, fee.token),
        );
    }
    let equity = &report.equity;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
    row(
        "equity",
        format!(
            "{} → {} {quote}",
            known(&equity.opening),
            known(&equity.closing)
        ),
    );
    row(
        "largest drawdown",
        match &equity.drawdown_at {
            Some(at) => format!(
                "{} {quote} at {at}, by {}",
                equity.drawdown_max,
                equity.sampled()
            ),
            None => format!("{} {quote}", equity.drawdown_max),
        },
    );
    for (symbol, held) in &report.closing {
        let before = report.opening.get(symbol).map_or("0", String::as_str);
        row("held", format!("{before} → {held} {symbol}"));
    }
    row(
        "fills",
        format!(
            "{} ({} maker, {} taker)",
            report.fills, report.maker_fills, report.taker_fills
        ),
    );
    for (market, volume) in &report.quote_volume {
        row("volume", format!("{market}: {volume} {quote}"));
    }
    rows
}

/// What was read of each market, what was left out, and what is unusual.
fn data(report: &Report) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    for data in &report.data {
        let (kind, defects) = (data.kind, DataDefects::from(data));
        let names = data.names();
        let of = if names.is_empty() {
            String::new()
        } else {
            format!(" of {names}")
        };
        row(
            "data",
            format!("{} {kind}: {} rows{of}", data.market, defects.used()),
        );
        if let Some(skipped) = defects.skipped() {
            row("skipped", format!("{}: {skipped}", data.market));
        }
        for (name, what) in data.details() {
            row(name, format!("{}: {what}", data.market));
        }
        if let Some(outages) = data.outages.text(report.duration_s) {
            row("outages", format!("{}: {outages}", data.market));
        }
        if let Some(unusual) = data.unusual() {
            row("unusual data", format!("{}: {unusual}", data.market));
        }
    }
    rows
}

/// Orders, requests, and why there were no quotes.
fn activity(report: &Report) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    for markout in report.markouts.iter().filter(|m| m.side == "all") {
        let band = markout.low_bps.zip(markout.high_bps);
        let band = band.map_or_else(String::new, |(low, high)| {
            format!(" (95 %: {low:+.2} to {high:+.2})")
        });
        let name = format!("markout {} s", markout.horizon_s);
        row(
            &name,
            match markout.mean_bps {
                Some(mean) => format!(
                    "{mean:+.2} bps by value{band}, {} fills in {} spans of {} s",
                    markout.fills, markout.spans, markout.horizon_s
                ),
                None if report.fills == 0 => "no fills".to_owned(),
                None => format!(
                    "no data: {} fills have no mid {} s later within the run",
                    markout.left_out, markout.horizon_s
                ),
            },
        );
    }
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0} ms"));
    let late = &report.detection;
    row(
        "fills learnt after",
        format!(
            "{} median, {} p99, {} at most; {} not learnt at the end",
            ms(late.p50_ms),
            ms(late.p99_ms),
            ms(late.max_ms),
            late.unlearnt
        ),
    );
    let by_end = &report.orders_by_end;
    let parts = by_end
        .parts()
        .map(|(name, count)| format!("{count} {name}"));
    row(
        "orders",
        format!(
            "{} placed = {}; {} acknowledged, {} filled in part",
            by_end.placed,
            parts.join(" + "),
            report.orders.acknowledged,
            report.ends.partly_filled
        ),
    );
    if report.ends.failed_late > 0 {
        row(
            "refused",
            format!(
                "{} after acceptance, orders that may only rest and would have taken liquidity",
                report.ends.failed_late
            ),
        );
    }
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
    };
    row(
        "ratios",
        format!(
            "{} of orders with fills, {} cancelled; {} of the request budget used",
            percent(report.ratios.filled),
            percent(report.ratios.cancelled),
            percent(report.ratios.budget_used)
        ),
    );
    row(
        "quoted both sides",
        format!(
            "{:.1} % of the time at the exchange, {:.1} % as polled",
            report.quoted_both_sides_ratio * 100.0,
            report.quoted_both_sides_as_polled_ratio * 100.0
        ),
    );
    for side in &report.sides {
        if let Some(reasons) = withheld(side) {
            row(
                "no quotes",
                format!("{} {}: {reasons}", side.market, side.side),
            );
        }
    }
    row(
        "requests",
        format!(
            "{} sent, {} refused by the rate limit",
            report.requests.sent, report.rate_limited
        ),
    );
    row("level", report.level.clone());
    rows
}

/// The reasons for which a side had no quotes longest, if it ever had none.
fn withheld(side: &SideReport) -> Option<String> {
    let mut reasons: Vec<_> = side.reasons().collect();
    reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
    let longest = reasons.iter().take(3);
    let longest: Vec<_> = longest
        .map(|(reason, seconds)| format!("{reason} {seconds:.0} s"))
        .collect();
    (!longest.is_empty()).then(|| longest.join(", "))
}
