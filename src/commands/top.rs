//! `cambist top`: shows the daemon's page in a terminal, once a second, in at least 80 columns and 24 lines.

use std::io::{IsTerminal, Read};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::Args;
use rustix::termios::{self, OptionalActions, Termios};
use serde_json::Value;

use super::{print_json, print_text};
use crate::commands::daemon_control::{Which, located};
use crate::exit::{Exit, Failure};
use crate::local_page;
use cambist_host::times;

/// Time between two frames.
const EVERY: Duration = Duration::from_secs(1);
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The smallest terminal that shows everything.
const SMALLEST: (usize, usize) = (80, 24);

/// Arguments of `top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    which: Which,
    /// Print one frame and exit
    #[arg(long)]
    once: bool,
}

/// Shows the daemon until `q`, Ctrl-C or the end of standard input.
pub fn run(args: &TopArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = located(&args.which.config)?;
    let file = daemon.metrics_address_file();
    let fetch = || -> Result<Value, Failure> {
        let address =
            std::fs::read_to_string(&file).map_err(|_| none_runs(&file.display().to_string()))?;
        fetched(address.trim()).map_err(|_| none_runs(address.trim()))
    };
    if json {
        print_json(&fetch()?)?;
        return Ok(Exit::Done);
    }
    if args.once || !std::io::stdout().is_terminal() {
        print_text(&(frame(&fetch()?, SMALLEST).join("\n") + "\n"))?;
        return Ok(Exit::Done);
    }
    let _screen = Screen::take()?;
    let (keys, pressed) = channel();
    std::thread::spawn(move || {
        for byte in std::io::stdin().lock().bytes().map_while(Result::ok) {
            if keys.send(byte).is_err() {
                break;
            }
        }
    });
    loop {
        let lines = match fetch() {
            Ok(page) => frame(&page, size()),
            Err(error) => vec![error.to_string(), "trying again; q quits".to_owned()],
        };
        // From the top; clears what an earlier frame left to the right and below.
        let mut text = String::from("\x1b[H");
        text.push_str(&lines.join("\x1b[K\r\n"));
        text.push_str("\x1b[K\x1b[J");
        print_text(&text)?;
        match pressed.recv_timeout(EVERY) {
            Ok(b'q' | b'Q' | 3) | Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Done),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn none_runs(place: &str) -> Failure {
    Failure::new(
        Exit::CheckFailed,
        format!("no daemon answers at {place}; run cambist status for details"),
    )
}

fn size() -> (usize, usize) {
    termios::tcgetwinsize(std::io::stdout()).map_or(SMALLEST, |size| {
        (
            usize::from(size.ws_col).max(20),
            usize::from(size.ws_row).max(5),
        )
    })
}

/// The terminal in raw mode; restored on drop.
struct Screen(Termios);

impl Screen {
    fn take() -> anyhow::Result<Self> {
        let before = termios::tcgetattr(std::io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)?;
        let screen = Self(before);
        print_text("\x1b[?1049h\x1b[?25l")?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = print_text("\x1b[?25h\x1b[?1049l");
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Fetches the page's numbers from a listener on this machine.
fn fetched(address: &str) -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(local_page::fetch(address, "/page.json", TIMEOUT))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// A decimal truncated to a number of places.
fn cut(value: &Value, places: usize) -> String {
    let text = text(value);
    match text.split_once('.') {
        Some((whole, part)) if part.len() > places => {
            format!("{whole}.{}", part.get(..places).unwrap_or(part))
        }
        _ => text,
    }
}

/// One frame: at most this many columns and lines, without control characters.
fn frame(page: &Value, (width, height): (usize, usize)) -> Vec<String> {
    let status = &page["status"];
    let up = times::span(status["up_ms"].as_u64().unwrap_or(0) / 1_000);
    let ready = if status["ready"] == true {
        "ready"
    } else {
        "not ready"
    };
    let venue = status["portfolio"]["venue"].as_str();
    let venue = venue.map_or_else(String::new, |venue| format!("{venue}  "));
    let mut lines = vec![
        format!(
            "cambist  {venue}{}  {ready}  up {up}  (q quits)",
            text(&status["state"]).to_uppercase()
        ),
        text(&status["line"]),
    ];
    let sentences = ["outage", "drain"].into_iter();
    let sentences = sentences.filter_map(|name| status[name]["text"].as_str());
    lines.extend(
        sentences
            .flat_map(|text| text.split("; "))
            .map(str::to_owned),
    );
    let none = Vec::new();
    let markets = page["markets"].as_array().unwrap_or(&none);
    for market in markets {
        lines.push(String::new());
        let age_ms = market["depth_age_ms"].as_u64();
        let stale = age_ms.filter(|_| market["depth_stale"] == true);
        let stale = stale.map(|age_ms| format!("  {} old", times::span(age_ms / 1_000)));
        lines.push(format!(
            "{}  mid {}{}",
            text(&market["market"]),
            text(&market["mid"]),
            stale.unwrap_or_default()
        ));
        lines.extend(["buy", "sell"].map(|side| side_line(market, side)));
    }
    lines.push(String::new());
    if let Some(market) = markets.first() {
        lines.extend(beside(&book(market), &limits(page, market), width / 2));
    }
    lines.push(inventory(status));
    lines.push(equity(page, width));
    let requests = &status["requests"];
    lines.push(format!(
        "requests  {} sent of {} allowed, {} in the budget now",
        text(&requests["sent"]),
        text(&requests["allowed"]),
        text(&page["budget"]["all"][0])
    ));
    let orders = markets
        .iter()
        .flat_map(|market| market["orders"].as_array().unwrap_or(&none));
    lines.extend(orders.map(|order| {
        let age = times::span(order["age_ms"].as_u64().unwrap_or(0) / 1_000);
        format!(
            "{:<5}{:>12} {:>14}  {:<10} {age:<8} {}",
            text(&order["side"]),
            text(&order["price"]),
            cut(&order["remaining"], 6),
            text(&order["state"]),
            text(&order["id"])
        )
    }));
    if lines.len() > height {
        let more = lines.len() - height + 1;
        lines.truncate(height - 1);
        lines.push(format!("... {more} more lines"));
    }
    let plain = |line: String| {
        line.chars()
            .filter(|c| !c.is_control())
            .take(width)
            .collect()
    };
    lines.into_iter().map(plain).collect()
}

fn side_line(market: &Value, side: &str) -> String {
    let why = &market["withheld"][side];
    if why.is_object() {
        return format!(
            "  {side:<5}no quotes: {}: {}",
            text(&why["reason"]),
            text(&why["why"])
        );
    }
    let best = &market[if side == "buy" { "bid" } else { "ask" }];
    format!(
        "  {side:<5}quoted at {}, {} live",
        text(best),
        text(&market[format!("live_{side}")])
    )
}

fn book(market: &Value) -> Vec<String> {
    const DEPTH: usize = 3;
    let level = |side: &str, one: &Value| {
        format!(
            "  {side} {:>12} {:>14}",
            text(&one["price"]),
            cut(&one["quantity"], 6)
        )
    };
    let of = |list: &str| market[list].as_array().cloned().unwrap_or_default();
    let (asks, bids) = (of("asks"), of("bids"));
    let asks = asks.iter().take(DEPTH).rev().map(|one| level("ask", one));
    let bids = bids.iter().take(DEPTH).map(|one| level("bid", one));
    asks.chain(bids).collect()
}

/// The most used limits.
fn limits(page: &Value, market: &Value) -> Vec<String> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for used in [&market["limits_used_bps"], &page["limits_used_bps"]] {
        for (name, bps) in used.as_object().into_iter().flatten() {
            all.push((name.clone(), bps.as_u64().unwrap_or(0)));
        }
    }
    all.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
    all.truncate(6);
    all.into_iter()
        .map(|(name, bps)| format!("{name:<22} {:>3}.{} %", bps / 100, bps % 100 / 10))
        .collect()
}

fn beside(left: &[String], right: &[String], at: usize) -> Vec<String> {
    let rows = left.len().max(right.len());
    let cell = |list: &[String], row: usize| list.get(row).cloned().unwrap_or_default();
    (0..rows)
        .map(|row| format!("{:<at$}{}", cell(left, row), cell(right, row)))
        .collect()
}

fn inventory(status: &Value) -> String {
    let held = status["ledger"].as_object().into_iter().flatten();
    let held: Vec<_> = held
        .map(|(token, units)| format!("{} {token}", cut(units, 4)))
        .collect();
    format!(
        "inventory {}",
        if held.is_empty() {
            "unknown".to_owned()
        } else {
            held.join(", ")
        }
    )
}

/// The last value, and its history as bars.
fn equity(page: &Value, width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let points = page["equity"].as_array().into_iter().flatten();
    let points: Vec<f64> = points.filter_map(|point| point[1].as_f64()).collect();
    let Some(last) = points.last() else {
        return "equity    unknown".to_owned();
    };
    let mut line = format!("equity    {last:.2} {} ", text(&page["equity_symbol"]));
    let shown = width.saturating_sub(line.chars().count());
    let points = &points[points.len().saturating_sub(shown)..];
    let low = points.iter().copied().fold(f64::INFINITY, f64::min);
    let high = points.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for point in points {
        let share = if high > low {
            (point - low) / (high - low)
        } else {
            0.0
        };
        let bar = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
            .iter()
            .filter(|step| share * 8.0 >= **step)
            .count();
        line.push(BARS[bar]);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page() -> Value {
        let order = json!({"id": "c1-0-7", "side": "buy", "price": "2499.1", "remaining": "0.2000000001",
            "state": "live", "age_ms": 61_000});
        json!({
            "status": {"state": "active", "ready": true, "up_ms": 65_000, "line": "a line\u{1b}[2J",
                "ledger": {"ETH": "17.123456", "USDC": "46000"}, "requests": {"sent": 5, "allowed": 9}},
            "markets": [{"market": "ETH-USDC", "mid": "2500.15", "bid": "2499.1", "live_buy": 1,
                "withheld": {"buy": null, "sell": {"reason": "inventory", "why": "the band is full"}},
                "bids": [{"price": "2499", "quantity": "1"}], "asks": [{"price": "2501", "quantity": "2"}],
                "orders": vec![order; 40], "limits_used_bps": {"loss_day": 1234, "open_orders": 5000}}],
            "budget": {"all": [7, 15]}, "equity": [[1.0, 100.0], [2.0, 90.0]], "equity_symbol": "USDC",
        })
    }

    #[test]
    fn a_frame_fits_and_shows_what_matters() {
        let lines = frame(&page(), SMALLEST);
        assert_eq!(lines.len(), 24);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:#?}"
        );
        let all = lines.join("\n");
        for part in [
            "ACTIVE  ready  up 1m 5s",
            "quoted at 2499.1, 1 live",
            "no quotes: inventory: the band is full",
            "open_orders             50.0 %",
            "inventory 17.1234 ETH, 46000 USDC",
            "90.00 USDC █▁",
            "5 sent of 9 allowed, 7 in",
            "0.200000  live       1m 1s",
            "more lines",
        ] {
            assert!(all.contains(part), "{part} in {all}");
        }
        // Text from the daemon cannot move the cursor.
        assert!(!all.contains('\u{1b}'));
    }

    #[test]
    fn an_outage_is_above_the_markets_and_an_old_book_has_its_age() {
        let mut page = page();
        page["markets"][0]["depth_age_ms"] = json!(61_000);
        page["markets"][0]["depth_stale"] = json!(false);
        let has = |page: &Value, line: &str| {
            let lines = frame(page, SMALLEST);
            lines.iter().position(|shown| shown == line)
        };
        assert_eq!(has(&page, "ETH-USDC  mid 2500.15"), Some(3));
        page["markets"][0]["depth_stale"] = json!(true);
        let text = "the venue kraken has not answered for 12s; 4 orders may be alive";
        page["status"]["outage"] = json!({"text": text});
        assert_eq!(
            has(&page, "the venue kraken has not answered for 12s"),
            Some(2)
        );
        assert_eq!(has(&page, "4 orders may be alive"), Some(3));
        assert_eq!(has(&page, "ETH-USDC  mid 2500.15  1m 1s old"), Some(5));
    }

    #[test]
    fn a_start_has_a_frame_too() {
        let lines = frame(
            &json!({"status": {"state": "starting"}, "markets": []}),
            SMALLEST,
        );
        assert!(lines[0].contains("STARTING  not ready"), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("inventory unknown")));
    }
}
