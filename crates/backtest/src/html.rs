//! The report as one self-contained HTML file: no script, no external resources, light and dark.

use std::fmt::Write;

use cambist_core::{Amount, MarketSpec, Price};
use cambist_market_data::Timestamp;

use crate::chart::{Chart, Line, Mark, Shade, TimeAxis};
use crate::compare::Beside;
use crate::curves::{Curves, EquityPoint, MarketCurves};
use crate::data_defects::DataDefects;
use crate::outages::Outages;
use crate::report::Report;

pub const STYLE: &str = include_str!("html.css");

/// The contents of a page.
pub struct Page<'a> {
    /// The run.
    pub report: &'a Report,
    /// Its series.
    pub(crate) curves: &'a Curves,
    /// Times without data, by market.
    pub(crate) outages: &'a [Outages],
    /// Its markets.
    pub(crate) markets: &'a [MarketSpec],
    /// Start and end.
    pub(crate) span: (Timestamp, Timestamp),
    /// The configuration, as written.
    pub config: &'a str,
    /// Name and version of the program.
    pub program: &'a str,
    /// The kind of run, with which the title begins.
    pub kind: &'a str,
    /// How it compares with another run.
    pub beside: Option<&'a Beside>,
}

/// Escapes text for HTML.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

impl Page<'_> {
    /// Renders the page.
    pub fn render(&self) -> String {
        let report = self.report;
        let names: Vec<_> = self.markets.iter().map(|spec| spec.name.as_str()).collect();
        let title = escape(&format!("{} {}", self.kind, names.join(", ")));
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{} to {}, {:.1} hours. {}</p>\n",
            report.from,
            report.to,
            report.duration_s / 3_600.0,
            escape(self.program)
        );
        for data in &report.data {
            if let Some(many) = DataDefects::from(data).many() {
                _ = writeln!(page, "<p><strong>{}</strong></p>", escape(&many));
            }
        }
        self.tiles(&mut page);
        list(&mut page, "Advice", &report.advice);
        if let Some(beside) = self.beside {
            beside.add_to(&mut page);
        }
        self.charts(&mut page);
        self.tables(&mut page);
        list(&mut page, "Assumed", &report.assumed);
        list(&mut page, "Invariants that failed", &report.invariants);
        _ = write!(
            page,
            "<h2>Configuration</h2>\n<p>Seed {}.</p>\n<details><summary>The file</summary><pre>{}</pre></details>\n</body></html>\n",
            report.assumptions.seed,
            escape(self.config)
        );
        page
    }

    fn tiles(&self, page: &mut String) {
        let report = self.report;
        let quote = &report.quote;
        let mut tiles = Vec::new();
        if let Some(pnl) = &report.pnl {
            tiles.push(("profit and loss", format!("{} {quote}", pnl.total)));
            let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
            tiles.push(("excess over holding", known(&report.excess_over_holding)));
            tiles.push(("holding the initial balances", known(&report.holding)));
            tiles.push(("of it spread", pnl.spread.clone()));
            tiles.push(("holdings", pnl.holdings.clone()));
            tiles.push(("fees", pnl.fees.clone()));
        }
        tiles.push((
            "largest drawdown",
            format!("{} {quote}", report.equity.drawdown_max),
        ));
        tiles.push(("fills", report.fills.to_string()));
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
        let equity = &report.equity;
        let (opening, closing) = (known(&equity.opening), known(&equity.closing));
        tiles.push(("equity", format!("{opening} → {closing} {quote}")));
        let share = report.quoted_both_sides_ratio * 100.0;
        tiles.push(("both sides at the exchange", format!("{share:.1} %")));
        let tiles: Vec<_> = tiles
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        tile_row(page, &tiles);
    }

    fn charts(&self, page: &mut String) {
        let decimals = self.markets.first().map_or(0, |spec| spec.quote.decimals);
        let quote = &self.report.quote;
        let all = self.outages.iter().flat_map(Outages::found).copied();
        let all: Vec<_> = all.collect();
        let line = |name: &'static str, class, of: fn(&EquityPoint) -> Option<i128>| Line {
            name: name.into(),
            class,
            points: self
                .curves
                .equity
                .kept()
                .map(|point| (point.time, of(point).map(|units| signed(units, decimals))))
                .collect(),
            steps: false,
        };
        let equity = [
            line("equity", "equity", |point| {
                i128::try_from(point.equity?).ok()
            }),
            line("value of the initial balances", "mid", |point| {
                i128::try_from(point.holding?).ok()
            }),
        ];
        self.section(page, &format!("Equity in {quote}"), &equity, &[], &all);
        let excess = line(
            "equity less the value of the initial balances",
            "equity",
            EquityPoint::excess,
        );
        let title = format!("Excess over holding in {quote}");
        self.section(page, &title, &[excess], &[], &all);
        for ((spec, curves), outages) in self
            .markets
            .iter()
            .zip(&self.curves.markets)
            .zip(self.outages)
        {
            self.market(page, spec, curves, outages.found());
        }
    }

    /// A chart over the time of the run, with the times without data shaded.
    fn section(
        &self,
        page: &mut String,
        title: &str,
        lines: &[Line],
        marks: &[Mark],
        shades: &[Shade],
    ) {
        let chart = Chart {
            lines,
            marks,
            shades: (shades, "no data"),
            span: self.span,
            axis: TimeAxis::Utc,
        };
        section(page, title, &chart);
    }

    fn market(
        &self,
        page: &mut String,
        spec: &MarketSpec,
        curves: &MarketCurves,
        shades: &[Shade],
    ) {
        let tick = |ticks: f64| ticks / 10_f64.powi(i32::from(spec.price_decimals));
        let points = || curves.points.kept();
        let quote = |at: usize, name: &'static str, class| Line {
            name: name.into(),
            class,
            points: points()
                .map(|p| (p.time, p.quotes[at].map(|price| tick(ticks(price)))))
                .collect(),
            steps: true,
        };
        #[expect(clippy::cast_precision_loss, reason = "pixels")]
        let mid = |half_ticks: u64| tick(half_ticks as f64 / 2.0);
        let lines = [
            Line {
                name: "mid".into(),
                class: "mid",
                points: points().map(|p| (p.time, p.mid.map(mid))).collect(),
                steps: false,
            },
            quote(0, "own best bid", "bid"),
            quote(1, "own best ask", "ask"),
        ];
        let marks = curves.fills.kept().map(|fill| Mark {
            class: fill.side.name(),
            time: fill.time,
            value: tick(ticks(fill.price)),
        });
        let marks: Vec<_> = marks.collect();
        let shown = marks.len() as u64;
        let title = format!("{}: quotes and fills against the mid", spec.name);
        self.section(page, &title, &lines, &marks, shades);
        if shown < curves.fills.count() {
            _ = writeln!(
                page,
                "<p>{shown} of {} fills are drawn.</p>",
                curves.fills.count()
            );
        }
        let held = Line {
            name: "held".into(),
            class: "base",
            points: points()
                .map(|p| (p.time, Some(float(p.base, spec.base.decimals))))
                .collect(),
            steps: true,
        };
        let title = format!("{}: inventory in {}", spec.name, spec.base.symbol);
        self.section(page, &title, &[held], &[], shades);
    }

    fn tables(&self, page: &mut String) {
        let report = self.report;
        let mut rows = Vec::new();
        for (name, pnl) in [
            ("at the exchange", &report.pnl),
            ("as polled", &report.pnl_as_polled),
        ] {
            if let Some(pnl) = pnl {
                let cells = [&pnl.spread, &pnl.holdings, &pnl.fees, &pnl.total];
                rows.push(
                    [name.to_owned()]
                        .into_iter()
                        .chain(cells.into_iter().cloned())
                        .collect(),
                );
            }
        }
        table(
            page,
            &format!("Profit and loss in {}", report.quote),
            &["", "spread", "holdings", "fees", "total"],
            &rows,
        );
        self.by_market(page);
        self.account(page);
        let bps = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |v| format!("{v:+.2}"));
        let none = if report.fills == 0 {
            "no fills"
        } else {
            "no data"
        };
        let mean =
            |value: Option<f64>| value.map_or_else(|| none.to_owned(), |v| format!("{v:+.2}"));
        let rows: Vec<_> = report
            .markouts
            .iter()
            .map(|m| {
                let name = format!("{} s, {}", m.horizon_s, m.side);
                vec![
                    name,
                    mean(m.mean_bps),
                    bps(m.low_bps),
                    bps(m.high_bps),
                    m.fills.to_string(),
                    m.spans.to_string(),
                ]
            })
            .collect();
        table(
            page,
            "Markouts in bps, weighted by value",
            &["after", "mean", "95 % from", "to", "fills", "spans"],
            &rows,
        );
        let orders = &report.orders;
        let by_end = &report.orders_by_end;
        let mut rows = vec![("orders placed", by_end.placed)];
        rows.extend(by_end.parts());
        rows.extend([
            ("of the refused, after acceptance", report.ends.failed_late),
            (
                "of all that did not fill whole, with fills",
                report.ends.partly_filled,
            ),
            ("acknowledged", orders.acknowledged),
            ("fills as maker", report.maker_fills),
            ("fills as taker", report.taker_fills),
            ("requests sent", report.requests.sent),
            ("requests refused by the rate limit", report.rate_limited),
        ]);
        let rows = rows
            .iter()
            .map(|(name, n)| vec![(*name).to_owned(), n.to_string()]);
        let ratios = &report.ratios;
        let shares = [
            ("orders with fills", ratios.filled),
            ("orders cancelled", ratios.cancelled),
            ("request budget used", ratios.budget_used),
        ];
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        let shares = shares.map(|(name, share)| vec![name.to_owned(), percent(share)]);
        let rows: Vec<_> = rows.chain(shares).collect();
        table(page, "Orders and requests", &["", "count"], &rows);
        self.more_tables(page);
    }

    /// Profit and loss by market, and fees by token, with their sums.
    fn by_market(&self, page: &mut String) {
        let report = self.report;
        let quote = &report.quote;
        let mut rows: Vec<Vec<String>> = Vec::new();
        for market in &report.markets {
            let mut cells = vec![market.market.clone()];
            cells.extend(market.amounts().map(str::to_owned));
            cells.push(market.fills.to_string());
            rows.push(cells);
        }
        if let Some(pnl) = report.pnl.as_ref().filter(|_| rows.len() > 1) {
            let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
            rows.push(vec![
                "all".to_owned(),
                pnl.spread.clone(),
                pnl.holdings.clone(),
                pnl.fees.clone(),
                pnl.total.clone(),
                known(&report.holding),
                known(&report.excess_over_holding),
                report.fills.to_string(),
            ]);
        }
        let head = [
            "market",
            "spread",
            "holdings",
            "fees",
            "total",
            "holding",
            "excess over holding",
            "fills",
        ];
        page.push_str("<div class=\"wide\">\n");
        table(page, &format!("Markets, in {quote}"), &head, &rows);
        page.push_str("</div>\n");
        let fees = report.fees.iter().map(|fee| {
            let value = fee.value.clone().unwrap_or_else(|| "–".to_owned());
            vec![format!("{} {}", fee.amount, fee.token), value]
        });
        let mut rows: Vec<_> = fees.collect();
        if let Some(pnl) = report.pnl.as_ref().filter(|_| rows.len() > 1) {
            rows.push(vec!["all".to_owned(), pnl.fees.clone()]);
        }
        let value = format!("{quote} at the mids of the fills");
        table(
            page,
            "Fees by the token they were taken in",
            &["paid", &value],
            &rows,
        );
    }

    /// What was held and traded.
    fn account(&self, page: &mut String) {
        let report = self.report;
        let mut rows = Vec::new();
        for (symbol, held) in &report.closing {
            let before = report.opening.get(symbol).map_or("0", String::as_str);
            let name = format!("held, {symbol}");
            rows.push(vec![name, before.to_owned(), held.clone()]);
        }
        let none = || "–".to_owned();
        let equity = &report.equity;
        let known = |value: &Option<String>| value.clone().unwrap_or_else(none);
        let name = format!("equity, {}", report.quote);
        rows.push(vec![name, known(&equity.opening), known(&equity.closing)]);
        let name = format!("value of the initial balances, {}", report.quote);
        rows.push(vec![name, known(&equity.opening), known(&equity.holding)]);
        table(
            page,
            "Holdings",
            &["", "at the beginning", "at the end"],
            &rows,
        );
        let mut rows: Vec<_> = report
            .quote_volume
            .iter()
            .map(|(market, quote)| {
                let base = report.base_volume.get(market).cloned();
                vec![
                    format!("volume, {market}"),
                    format!("{quote} {}", report.quote),
                    format!("{} base", base.unwrap_or_else(none)),
                ]
            })
            .collect();
        rows.push(vec![
            "largest drawdown".to_owned(),
            format!("{} {}", equity.drawdown_max, report.quote),
            format!("{}, by {}", known(&equity.drawdown_at), equity.sampled()),
        ]);
        table(page, "Volume and drawdown", &["", "", ""], &rows);
    }

    fn more_tables(&self, page: &mut String) {
        let report = self.report;
        let ms =
            |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.0} ms"));
        let late = &report.detection;
        let rows = [vec![
            ms(late.p50_ms),
            ms(late.p99_ms),
            ms(late.max_ms),
            late.unlearnt.to_string(),
        ]];
        table(
            page,
            "Time from a fill to its detection",
            &["median", "p99", "longest", "never detected"],
            &rows,
        );
        let mut rows = Vec::new();
        for side in &report.sides {
            let name = format!("{} {}", side.market, side.side);
            rows.push(vec![
                name.clone(),
                "at the exchange".to_owned(),
                format!("{:.1} s", side.quoted_s),
            ]);
            rows.push(vec![
                name.clone(),
                "quoted, as polled".to_owned(),
                format!("{:.1} s", side.quoted_as_polled_s),
            ]);
            for (reason, seconds) in &side.withheld_s {
                rows.push(vec![
                    name.clone(),
                    reason.clone(),
                    format!("{seconds:.1} s"),
                ]);
            }
        }
        table(
            page,
            "Quotes, and reasons for none",
            &["side", "", "time"],
            &rows,
        );
        let rows: Vec<_> = report
            .levels
            .iter()
            .map(|change| {
                vec![
                    change.time.clone(),
                    change.what.clone(),
                    change.cause.clone(),
                ]
            })
            .collect();
        table(
            page,
            "Trading states and pauses",
            &["time", "", "cause"],
            &rows,
        );
        let mut rows = Vec::new();
        for data in &report.data {
            let read = &data.report;
            rows.push(vec![
                data.market.clone(),
                data.kind.to_owned(),
                format!("{} rows, {} kept", read.rows, read.kept),
            ]);
            if !data.files.is_empty() {
                let what = "files".to_owned();
                rows.push(vec![data.market.clone(), what, data.names()]);
            }
            for (name, what) in data.details() {
                rows.push(vec![data.market.clone(), name.to_owned(), what]);
            }
            if let Some(outages) = data.outages.text(report.duration_s) {
                rows.push(vec![data.market.clone(), "outages".to_owned(), outages]);
            }
            if let Some(unusual) = data.unusual() {
                rows.push(vec![data.market.clone(), "unusual".to_owned(), unusual]);
            }
            if let Some(skipped) = DataDefects::from(data).skipped() {
                rows.push(vec![data.market.clone(), "skipped".to_owned(), skipped]);
            }
            for skipped in &read.skipped {
                rows.push(vec![
                    data.market.clone(),
                    format!("skipped: {}", skipped.kind.name()),
                    format!("{}; first: {}", skipped.count, skipped.first),
                ]);
            }
        }
        table(page, "Data", &["market", "", ""], &rows);
    }
}

/// Figures that are seen first, each with its name.
pub fn tile_row(page: &mut String, tiles: &[(String, String)]) {
    page.push_str("<div class=\"tiles\">");
    for (name, value) in tiles {
        _ = write!(
            page,
            "<div><b>{}</b><span>{}</span></div>",
            escape(value),
            escape(name)
        );
    }
    page.push_str("</div>\n");
}

/// A chart below its title.
pub fn section(page: &mut String, title: &str, chart: &Chart<'_>) {
    let drawn = chart.draw();
    let drawn = drawn.unwrap_or_else(|| "<p>Nothing to draw.</p>\n".to_owned());
    _ = write!(page, "<h2>{}</h2>\n{drawn}", escape(title));
}

pub fn list(page: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    _ = writeln!(page, "<h2>{title}</h2>\n<ul>");
    for item in items {
        _ = writeln!(page, "<li>{}</li>", escape(item));
    }
    page.push_str("</ul>\n");
}

/// Characters from which on a cell with spaces may take several lines: numbers and times are shorter.
const LONG: usize = 40;

fn is_long(cell: &str) -> bool {
    cell.contains(char::is_whitespace) && cell.chars().count() >= LONG
}

/// A table; left out if it has no rows.
pub fn table(page: &mut String, title: &str, head: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    _ = writeln!(page, "<h2>{}</h2>\n<table><tr>", escape(title));
    for name in head {
        _ = write!(page, "<th>{}</th>", escape(name));
    }
    page.push_str("</tr>\n");
    for row in rows {
        page.push_str("<tr>");
        for cell in row {
            let class = if is_long(cell) { " class=\"text\"" } else { "" };
            _ = write!(page, "<td{class}>{}</td>", escape(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
fn float(units: Amount, decimals: u8) -> f64 {
    units as f64 / 10_f64.powi(i32::from(decimals))
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
fn signed(units: i128, decimals: u8) -> f64 {
    units as f64 / 10_f64.powi(i32::from(decimals))
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
const fn ticks(price: Price) -> f64 {
    price.0 as f64
}
