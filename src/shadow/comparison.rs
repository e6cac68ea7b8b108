//! What a shadow run did beside what the daemon did: quotes sampled together, fills, profit and loss.

use std::io;
use std::sync::{Arc, Mutex};

use cambist_backtest::compare::{Beside as Section, Chart, Curve, Table};
use cambist_backtest::{FillRow, Finished, SampleRow, Sink, Thinned};
use cambist_core::{Amount, MarketSpec, Price, Side};
use cambist_market_data::Timestamp;
use cambist_report::summary::{Closing, PnlRow, Summary};
use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::{Value, json};

use super::follow::{Beside, lock};
use crate::backtest::daemon_account::DaemonAccount;
use crate::commands::run::code;
use cambist_host::clock::Clock;

/// Quotes of one side, by samples.
#[derive(Clone, Debug, Default, Serialize)]
struct SideQuotes {
    samples: u64,
    both: u64,
    live_only: u64,
    shadow_only: u64,
    neither: u64,
    /// Of the samples with both: the shadow's best price was nearer to the other side, the same, or farther.
    shadow_nearer: u64,
    same_price: u64,
    shadow_farther: u64,
    /// Sums of distances to the mid, for means.
    #[serde(skip)]
    distance_bps: [f64; 2],
}

/// A moment for charts.
#[derive(Clone, Copy, Debug)]
struct Point {
    time: Timestamp,
    /// Best bid and ask of the daemon, then of the shadow.
    quotes: [[Option<Price>; 2]; 2],
    mid: Option<u64>,
    /// Changes of equity since the beginning, daemon and shadow.
    equity: [Option<f64>; 2],
}

#[derive(Debug, Default)]
struct Market {
    sides: [SideQuotes; 2],
    points: Thinned<Point>,
}

/// Collects samples of both.
#[derive(Debug)]
pub(super) struct Collected {
    specs: Vec<MarketSpec>,
    markets: Vec<Market>,
    opening: Option<Amount>,
}

/// Passes the shadow's samples on.
pub(super) struct BesideSink {
    pub beside: Arc<Mutex<Beside>>,
    pub collected: Arc<Mutex<Collected>>,
}

impl Collected {
    pub(super) fn new(specs: &[MarketSpec]) -> Self {
        Self {
            specs: specs.to_vec(),
            markets: specs.iter().map(|_| Market::default()).collect(),
            opening: None,
        }
    }

    fn sample(&mut self, row: &SampleRow, live: &DaemonAccount) {
        let index = usize::from(row.market.0);
        let theirs = live.market(row.market);
        let (Some(spec), Some(market)) = (self.specs.first(), self.markets.get_mut(index)) else {
            return;
        };
        self.opening = self.opening.or(row.equity);
        for side in Side::BOTH {
            let at = side as usize;
            let (live, shadow) = (theirs.quotes[at], row.quotes[at]);
            market.sides[at].add(side, live, shadow, row.mid.or(theirs.mid));
        }
        let decimals = spec.quote.decimals;
        let since = |now: Option<Amount>, opening: Option<Amount>| {
            let (now, opening) = now.zip(opening)?;
            let sign = if now < opening { -1.0 } else { 1.0 };
            Some(sign * float(now.abs_diff(opening), decimals))
        };
        market.points.push(Point {
            time: row.time,
            quotes: [theirs.quotes, row.quotes],
            mid: row.mid.or(theirs.mid),
            equity: [
                since(live.equity(), live.opening_equity),
                since(row.equity, self.opening),
            ],
        });
    }
}

impl SideQuotes {
    fn add(&mut self, side: Side, live: Option<Price>, shadow: Option<Price>, mid: Option<u64>) {
        self.samples += 1;
        let (live, shadow) = match (live, shadow) {
            (Some(live), Some(shadow)) => (live, shadow),
            (Some(_), None) => return self.live_only += 1,
            (None, Some(_)) => return self.shadow_only += 1,
            (None, None) => return self.neither += 1,
        };
        self.both += 1;
        let nearer = match side {
            Side::Buy => shadow > live,
            Side::Sell => shadow < live,
        };
        match (shadow == live, nearer) {
            (true, _) => self.same_price += 1,
            (false, true) => self.shadow_nearer += 1,
            (false, false) => self.shadow_farther += 1,
        }
        let Some(mid) = mid.filter(|mid| *mid > 0) else {
            // Counted as a sample with both, and without a distance.
            return;
        };
        for (sum, price) in self.distance_bps.iter_mut().zip([live, shadow]) {
            let mid = float(mid.into(), 0) / 2.0;
            let price = float(price.0.into(), 0);
            let away = match side {
                Side::Buy => mid - price,
                Side::Sell => price - mid,
            };
            *sum += away / mid * 10_000.0;
        }
    }

    /// Mean distances to the mid over the samples with both, daemon and shadow.
    fn means(&self) -> [Option<f64>; 2] {
        let count = float(self.both.into(), 0);
        let mean = |sum: f64| (self.both > 0).then(|| (sum / count * 100.0).round() / 100.0);
        self.distance_bps.map(mean)
    }
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn float(units: u128, decimals: u8) -> f64 {
    units as f64 / 10_f64.powi(decimals.into())
}

impl Sink for BesideSink {
    fn fill(&mut self, _: &FillRow) -> io::Result<()> {
        Ok(())
    }

    fn sample(&mut self, row: &SampleRow) -> io::Result<()> {
        let beside = lock(&self.beside);
        let mut collected = self
            .collected
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        collected.sample(row, &beside.account);
        Ok(())
    }
}

/// The comparison as JSON and as a section of the page.
pub(super) fn report(
    live: &DaemonAccount,
    collected: &Collected,
    finished: &Finished,
    clock: Clock,
) -> (Value, Section) {
    let report = &finished.report;
    let closing = Closing {
        duration_s: report.duration_s,
        ..Closing::default()
    };
    let theirs = live.session.summary(clock.now(), &closing, code);
    let pnl = theirs.pnl.first().cloned();
    let difference = pnl.as_ref().zip(report.pnl.as_ref()).map(difference);
    let requests = live
        .requests
        .map(|[first, last]| last.saturating_sub(first));
    let sides = || collected.specs.iter().zip(&collected.markets);
    let quotes: Vec<_> = sides()
        .flat_map(|(spec, market)| {
            let each = Side::BOTH.into_iter().zip(&market.sides);
            each.map(|(side, found)| side_page(spec, side, found))
        })
        .collect();
    let notes = notes(live, &theirs, finished);
    let page = json!({
        "live": {
            "fills": theirs.fills,
            "pnl": pnl,
            "orders": theirs.orders,
            "requests_sent": requests,
            "quoted_both_sides_ratio": theirs.quoted_both_sides_ratio,
            "acknowledged_ms": theirs.ack_ms,
            "restarts": live.restarts,
            "other_build": live.other_build,
        },
        "shadow": {
            "fills": report.fills,
            "pnl": report.pnl,
            "orders": report.orders,
            "requests_sent": report.requests.sent,
            "quoted_both_sides_ratio": report.quoted_both_sides_ratio,
        },
        "difference": {
            "fills": i128::from(report.fills) - i128::from(theirs.fills),
            "pnl": difference,
        },
        "quotes": quotes,
        "assumed_and_measured": notes,
    });
    let table = figures(&page);
    let section = Section {
        title: "Beside the daemon that trades".to_owned(),
        charts: sides()
            .flat_map(|(spec, market)| charts(spec, market))
            .collect(),
        tables: vec![table, quote_table(&quotes)],
        statements: notes,
    };
    (page, section)
}

/// The shadow's part less the daemon's, exactly.
fn difference((live, shadow): (&PnlRow, &PnlRow)) -> Value {
    let less = |shadow: &str, live: &str| {
        let parsed = shadow.parse::<Decimal>().ok().zip(live.parse().ok());
        parsed.and_then(|(shadow, live): (Decimal, Decimal)| {
            Some(shadow.checked_sub(live)?.normalize().to_string())
        })
    };
    json!({
        "spread": less(&shadow.spread, &live.spread),
        "holdings": less(&shadow.holdings, &live.holdings),
        "fees": less(&shadow.fees, &live.fees),
        "total": less(&shadow.total, &live.total),
    })
}

fn side_page(spec: &MarketSpec, side: Side, found: &SideQuotes) -> Value {
    let mut page = json!(found);
    let [live, shadow] = found.means();
    page["market"] = json!(spec.name);
    page["side"] = json!(side.name());
    page["live_distance_bps"] = json!(live);
    page["shadow_distance_bps"] = json!(shadow);
    page
}

/// What the shadow assumed, and what was measured of the daemon.
fn notes(live: &DaemonAccount, theirs: &Summary, finished: &Finished) -> Vec<String> {
    let assumed = &finished.report.assumptions;
    let round_us = assumed.request_latency.max_us
        + assumed.response_latency.max_us
        + assumed.acknowledgement_delay_us;
    let measured = match (theirs.ack_ms.p50, theirs.ack_ms.p99) {
        (Some(p50), Some(p99)) => format!("median {p50:.1} ms, 99th percentile {p99:.1} ms"),
        _ => "no order in this time".to_owned(),
    };
    let mut notes = vec![
        format!(
            "Assumed: an order is acknowledged in {} ms. Measured of the daemon: {measured}.",
            round_us / 1_000
        ),
        format!(
            "Refused by the rate limit: {} requests here by assumption, {} of the daemon by its venue.",
            finished.report.rate_limited, theirs.requests.http_429
        ),
        "Each fill of the daemon counts here as a trade of its size at its price, at the time at which the daemon learnt of it: an order at a better price fills, one at the same price moves forward in its queue.".to_owned(),
        "Trades that reached no order of the daemon are not known here: the shadow misses fills rather than inventing them.".to_owned(),
        "The market reacted to the daemon's orders, and does not react to those of the shadow.".to_owned(),
    ];
    if live.restarts > 0 {
        notes.push(format!(
            "The daemon was started {} times during the run; without it there is no depth.",
            live.restarts
        ));
    }
    if live.missed {
        notes.push("Segments of the tape were removed before they were read: fills of the daemon are missing.".to_owned());
    }
    if live.pool_transactions > 0 {
        notes.push(format!(
            "The daemon made {} joins and exits of pools, which are not compared.",
            live.pool_transactions
        ));
    }
    if live.flows > 0 {
        notes.push(format!(
            "{} deposits, withdrawals or manual trades of the daemon's account are neither profit nor loss.",
            live.flows
        ));
    }
    if let Some(build) = &live.other_build {
        notes.push(format!(
            "The daemon is another build ({build}): its own orders are shown as this build would track them."
        ));
    }
    notes
}

fn figures(page: &Value) -> Table {
    let text = |value: &Value| match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let percent = |of: &str| {
        let share = page[of]["quoted_both_sides_ratio"].as_f64();
        share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
    };
    let mut rows = Vec::new();
    for part in ["total", "spread", "holdings", "fees"] {
        let of = |run: &str| text(&page[run]["pnl"][part]);
        let name = match part {
            "total" => "profit and loss".to_owned(),
            part => format!("of it {part}"),
        };
        rows.push(vec![name, of("live"), of("shadow"), of("difference")]);
    }
    let of = |run: &str| text(&page[run]["fills"]);
    rows.push(vec![
        "fills".to_owned(),
        of("live"),
        of("shadow"),
        of("difference"),
    ]);
    for (name, key) in [
        ("orders", "/orders/submitted"),
        ("requests", "/requests_sent"),
    ] {
        let of = |run: &str| text(page[run].pointer(key).unwrap_or(&Value::Null));
        rows.push(vec![
            name.to_owned(),
            of("live"),
            of("shadow"),
            String::new(),
        ]);
    }
    rows.push(vec![
        "both sides quoted".to_owned(),
        percent("live"),
        percent("shadow"),
        String::new(),
    ]);
    Table {
        title: "Results of both, and the shadow's less the daemon's".to_owned(),
        head: ["", "daemon", "shadow", "difference"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    }
}

fn quote_table(quotes: &[Value]) -> Table {
    let keys = [
        "samples",
        "both",
        "live_only",
        "shadow_only",
        "shadow_nearer",
        "same_price",
        "shadow_farther",
        "live_distance_bps",
        "shadow_distance_bps",
    ];
    let row = |side: &Value| {
        let name = format!(
            "{} {}",
            side["market"].as_str().unwrap_or_default(),
            side["side"].as_str().unwrap_or_default()
        );
        let cells = keys.iter().map(|key| match &side[*key] {
            Value::Null => "–".to_owned(),
            value => value.to_string(),
        });
        [name].into_iter().chain(cells).collect()
    };
    let head = [
        "side",
        "samples",
        "both quote",
        "only the daemon",
        "only the shadow",
        "shadow nearer",
        "same price",
        "shadow farther",
        "daemon from mid, bps",
        "shadow from mid, bps",
    ];
    Table {
        title: "Best quotes, sampled every second".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: quotes.iter().map(row).collect(),
    }
}

fn charts(spec: &MarketSpec, market: &Market) -> Vec<Chart> {
    let kept = || market.points.kept();
    let scale = 10_f64.powi(i32::from(spec.price_decimals));
    let price = |price: Option<Price>| price.map(|price| float(price.0.into(), 0) / scale);
    let curve = |name: &str, of: &dyn Fn(&Point) -> Option<f64>| Curve {
        name: name.to_owned(),
        points: kept().map(|point| (point.time, of(point))).collect(),
    };
    let quotes = vec![
        curve("mid", &|p| {
            p.mid.map(|mid| float(mid.into(), 0) / 2.0 / scale)
        }),
        curve("bid of the daemon", &|p| price(p.quotes[0][0])),
        curve("ask of the daemon", &|p| price(p.quotes[0][1])),
        curve("bid of the shadow", &|p| price(p.quotes[1][0])),
        curve("ask of the shadow", &|p| price(p.quotes[1][1])),
    ];
    let mut charts = Vec::new();
    if spec.id.0 == 0 {
        charts.push(Chart {
            title: format!("Change of equity in {}", spec.quote.symbol),
            curves: vec![
                curve("daemon", &|p| p.equity[0]),
                curve("shadow", &|p| p.equity[1]),
            ],
        });
    }
    charts.push(Chart {
        title: format!("{}: quotes of both", spec.name),
        curves: quotes,
    });
    charts
}
