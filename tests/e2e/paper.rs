//! Modes that do not trade: paper trading on a public book from a local server, and observing it. The server records
//! all requests: the program reads only the book.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use toml::Table;

use crate::support::http::{self, body, metric};
use crate::support::message::Message;
use crate::support::process::run;
use crate::support::stage::lively;
use crate::support::{Edit, Folder, Program, Stage, until};

const SOON: Duration = Duration::from_mins(1);
const PAPER: &str = include_str!("../../config/paper.toml");

/// A server of public pages that records every request.
pub struct Public {
    pub address: String,
    requests: Arc<Mutex<Vec<Vec<String>>>>,
    pub is_down: Arc<AtomicBool>,
}

impl Public {
    /// Answers every request with `page` of its path and number.
    pub fn start(page: impl Fn(&str, u64) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (requests, is_down) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (kept, down) = (Arc::clone(&requests), Arc::clone(&is_down));
        let (page, count) = (Arc::new(page), Arc::new(AtomicU64::new(0)));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, down) = (Arc::clone(&kept), Arc::clone(&down));
                let (page, count) = (Arc::clone(&page), Arc::clone(&count));
                // A closing client ends its connection, not the server.
                std::thread::spawn(move || serve(stream.unwrap(), &kept, &down, &*page, &count));
            }
        });
        Self {
            address,
            requests,
            is_down,
        }
    }

    /// Every request was a GET without a body, without a key and without a signature.
    pub fn assert_only_read(&self) {
        let requests = self.requests.lock().unwrap();
        assert!(!requests.is_empty());
        for head in requests.iter() {
            assert!(head[0].starts_with("GET /"), "{head:?}");
            for line in &head[1..] {
                let name = line.split(':').next().unwrap().to_ascii_lowercase();
                let harmless = ["accept", "host", "user-agent"];
                assert!(harmless.contains(&name.as_str()), "{head:?}");
            }
        }
    }
}

type Kept = Mutex<Vec<Vec<String>>>;

fn serve(
    stream: TcpStream,
    kept: &Kept,
    down: &AtomicBool,
    page: &(impl Fn(&str, u64) -> String + ?Sized),
    count: &AtomicU64,
) -> Option<()> {
    let mut answers = stream.try_clone().ok()?;
    let mut requests = BufReader::new(stream);
    while let Some(request) = Message::read(&mut requests).ok()? {
        let path = request.head[0].split(' ').nth(1)?.to_owned();
        kept.lock().unwrap().push(request.head);
        let mut answer = if down.load(Ordering::Acquire) {
            let head = vec!["HTTP/1.1 503 Service Unavailable".to_owned()];
            let body = Vec::new();
            Message { head, body }
        } else {
            let head = vec![
                "HTTP/1.1 200 OK".to_owned(),
                "content-type: application/json".to_owned(),
            ];
            let body = Vec::new();
            let mut answer = Message { head, body };
            answer.put_body(page(&path, count.fetch_add(1, Ordering::AcqRel)));
            answer
        };
        if answer.body.is_empty() {
            answer.put_body("no");
        }
        answers.write_all(&answer.bytes()).ok()?;
    }
    Some(())
}

/// A book whose mid swings by more than the distance of the quotes.
fn swinging(_: &str, number: u64) -> String {
    // Up and down in steps of 0.5, twenty of them.
    let phase = number % 40;
    let step = if phase < 20 { phase } else { 40 - phase };
    let mid = 250_000 + 50 * step;
    let level = |cents: u64| {
        serde_json::json!([
            format!("{}.{:02}", cents / 100, cents % 100),
            "3.0",
            1_700_000_000
        ])
    };
    let side = |sign: i64| -> Vec<Value> {
        let each = (1..=10_i64).map(|n| mid.checked_add_signed(sign * n * 10).unwrap());
        each.map(level).collect()
    };
    serde_json::json!({"error": [], "result": {"XETHUSDC": {"asks": side(1), "bids": side(-1)}}})
        .to_string()
}

/// The example with its feed from the server, short intervals and narrow quotes.
fn config(folder: &Path, url: &str, edit: impl FnOnce(&mut Table)) -> String {
    let mut file: Table = PAPER.parse().unwrap();
    file.put("store.dir", "paper")
        .put("market.0.feed.url", url)
        .put("market.0.feed.poll_ms", 100);
    let poll: Table = toml::from_str(
        "depth_ms = 100\norders_ms = 200\nbalances_ms = 200\ndepth_age_max_ms = 1500",
    )
    .unwrap();
    file.insert("poll".to_owned(), poll.into());
    let budget: Table = toml::from_str(
        "per_s = 100\nburst = 100\ncancel_reserve = 20\nendpoint_per_s = 50\nendpoint_burst = 50",
    )
    .unwrap();
    file.insert("budget".to_owned(), budget.into());
    let risk: Table =
        toml::from_str("duplicate_ms = 50\nmove_bps = 10000\nstreak_fills = 0").unwrap();
    file.insert("risk".to_owned(), risk.into());
    file.put("paper.rate_limit_per_s", 100);
    let ladder: Table = toml::from_str(
        "name = 'ladder'\n[params]\nbid_spread_bps = 6\nask_spread_bps = 6\norder_levels = 1
         order_amount = 0.2\nfilled_order_delay_ms = 0\n",
    )
    .unwrap();
    file.put("market.0.strategy", vec![toml::Value::Table(ladder)]);
    edit(&mut file);
    let path = folder.join("paper.toml");
    std::fs::write(&path, file.to_string()).unwrap();
    path.display().to_string()
}

#[track_caller]
fn cambist(folder: &Folder, name: &str, args: &[&str]) -> (i32, Value, String) {
    let (code, out, log) = run(folder.path(), name, args, SOON);
    let object = serde_json::from_str(&out).unwrap_or(Value::Null);
    (code, object, log)
}

fn number(value: &Value) -> f64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value}"));
    text.parse().unwrap()
}

#[test]
fn paper_trading_quotes_on_a_public_book_fills_beside_it_and_sends_nothing() {
    let server = Public::start(swinging);
    let folder = Folder::new("paper-fills");
    let url = format!("http://{}/0/public/Depth?pair=ETHUSDC", server.address);
    let config = config(folder.path(), &url, |_| {});
    let args = [
        "run", "--json", "--config", &config, "--mode", "paper", "--for", "12s",
    ];
    let (code, page, log) = cambist(&folder, "paper", &args);
    assert_eq!(code, 0, "{page} {log}");
    let report = &page["report"];
    assert!(report["fills"].as_u64().unwrap() > 0, "{report} {log}");
    assert_eq!(report["maker_fills"], report["fills"], "{report}");
    assert_eq!(report["invariants"], serde_json::json!([]), "{report}");
    assert!(report["duration_s"].as_f64().unwrap() > 8.0, "{report}");
    // Holdings changed by the trades, and are fully explained.
    let (before, after) = (&report["opening"], &report["closing"]);
    assert_eq!(
        (number(&before["ETH"]), number(&before["USDC"])),
        (2.5, 10_000.0)
    );
    assert_ne!(before, after);
    let pnl = &report["pnl"];
    let parts = number(&pnl["spread"]) + number(&pnl["holdings"]) + number(&pnl["fees"]);
    assert!(number(&pnl["fees"]) < 0.0, "{pnl}");
    assert!((parts - number(&pnl["total"])).abs() < 1e-6, "{pnl}");
    let assumed = report["assumed"][0].as_str().unwrap();
    assert!(assumed.contains(&url), "{assumed}");

    // The results and the tape exist, and the tape replays.
    let results: Vec<_> = std::fs::read_dir(folder.path().join("paper"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("report.html").is_file())
        .collect();
    assert_eq!(results.len(), 1, "{log}");
    assert!(results[0].join("fills.csv").is_file());
    let (code, whole, log) = cambist(
        &folder,
        "replay",
        &["replay", "--json", "--config", &config],
    );
    assert_eq!((code, &whole["equal"]), (0, &true.into()), "{whole} {log}");
    assert!(whole["events"].as_u64().unwrap() > 100, "{whole}");
    server.assert_only_read();
    a_backtest_of_the_tape_knows_that_fills_were_simulated(&folder, &config, report);
}

/// Fills of paper trading happened at no exchange: they are not trades that fill orders of a backtest.
fn a_backtest_of_the_tape_knows_that_fills_were_simulated(
    folder: &Folder,
    config: &str,
    paper: &Value,
) {
    let tape = format!("tape:{}", folder.path().join("paper").display());
    let out = folder.path().join("out").display().to_string();
    let args = [
        "backtest", "--json", "--config", config, "--data", &tape, "--out", &out, "--skip", "gap",
    ];
    let (code, page, log) = cambist(folder, "backtest", &args);
    assert_eq!(code, 0, "{page} {log}");
    let assumed = page["report"]["assumed"].to_string();
    assert!(!assumed.contains("count as trades"), "{assumed}");
    let recorded = &page["beside"]["recorded_runs"][0]["recorded"];
    let [all, counted] = [&paper["fills"], &recorded["fills"]].map(|fills| fills.as_u64().unwrap());
    assert!(counted > 0 && counted <= all, "{recorded} {paper}");
    assert_eq!(recorded["simulated_fills"], recorded["fills"]);
    let statement = format!("{counted} of the {counted} recorded fills of ETH-USDC were simulated");
    let statements = page["beside"]["statements"].to_string();
    assert!(statements.contains(&statement), "{statements}");
    // The paper run may have polled a later mid than that of the last row, which counts for what it held.
    if counted == all {
        for part in ["spread", "fees"] {
            assert_eq!(recorded[part], paper["pnl_as_polled"][part], "{part}");
        }
    }
}

#[test]
fn a_public_book_that_does_not_answer_is_not_quoted_from() {
    let server = Public::start(swinging);
    let (down, folder) = (Arc::clone(&server.is_down), Folder::new("paper-down"));
    let requests = Arc::clone(&server.requests);
    // No answers after the first 30.
    std::thread::spawn(move || {
        crate::support::until(SOON, "thirty requests", || {
            (requests.lock().unwrap().len() >= 30).then_some(())
        });
        down.store(true, Ordering::Release);
    });
    let url = format!("http://{}/book", server.address);
    let config = config(folder.path(), &url, |_| {});
    let args = ["run", "--json", "--config", &config, "--for", "12s"];
    let (code, page, log) = cambist(&folder, "paper", &args);
    assert_eq!(code, 0, "{page} {log}");
    assert!(
        log.contains("reading depth from the feed failed") && log.contains("503"),
        "{log}"
    );
    let report = &page["report"];
    let sides = report["sides"].as_array().unwrap();
    for side in sides {
        let reasons = side.to_string();
        assert!(reasons.contains("stale_data"), "{side}");
    }
    let skipped = &report["data"][0]["skipped"][0];
    assert_eq!(skipped["kind"], "unavailable", "{report}");
    assert!(skipped["count"].as_u64() > Some(0), "{report}");
    let outages = &report["data"][0]["outages"];
    assert_eq!(outages["count"], 1, "{report}");
    server.assert_only_read();
}

#[test]
fn modes_that_do_not_trade_take_no_keys() {
    let folder = Folder::new("paper-keys");
    for (name, keys) in [
        (
            "files",
            "api_key_file = 'api_key'\neddsa_key_file = 'eddsa_key'",
        ),
        ("credentials", "credentials = true"),
        ("empty", ""),
    ] {
        let config = config(folder.path(), "http://127.0.0.1:9/book", |file| {
            let keys: Table = toml::from_str(keys).unwrap();
            file.insert("keys".to_owned(), keys.into());
        });
        for mode in ["paper", "record", "observe", "shadow"] {
            let args = [
                "run", "--json", "--config", &config, "--mode", mode, "--for", "1s",
            ];
            let (code, _, log) = cambist(&folder, &format!("{name}-{mode}"), &args);
            assert_eq!(code, 77, "{log}");
            let words = format!("mode = \"{mode}\" sends nothing and takes no keys");
            assert!(log.contains(&words), "{log}");
        }
    }
    // A configuration without keys cannot trade, whatever the command line requests.
    let config = config(folder.path(), "http://127.0.0.1:9/book", |_| {});
    let args = ["run", "--json", "--config", &config, "--mode", "live"];
    let (code, _, log) = cambist(&folder, "live", &args);
    assert_eq!(code, 77, "{log}");
    for words in [
        "keys.api_key_file",
        "market.feed is for the modes paper, record and observe",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
}

/// Answers in the documented forms of the exchanges, with a bid of 2500.10 and an ask of 2500.30.
fn templates(path: &str, number: u64) -> String {
    match path.split('?').next().unwrap() {
        "/binance" => format!(
            r#"{{"lastUpdateId": {}, "bids": [["2500.10000000","1.50000000"],["2500.00000000","2.00000000"]],
                "asks": [["2500.30000000","0.70000000"],["2500.40000000","9.00000000"]]}}"#,
            57_000_000_000_u64 + number
        ),
        "/coinbase" => format!(
            r#"{{"bids":[["2500.10","1.5",3],["2500.00","2",1]],"asks":[["2500.30","0.7",1],["2500.40","9",4]],
                "sequence":{},"auction_mode":false,"auction":null,"time":"2026-01-31T12:00:{:02}.123456Z"}}"#,
            91_000_000 + number,
            number % 60
        ),
        "/kraken" => r#"{"error":[],"result":{"XETHZUSD":{
                "asks":[["2500.30000","0.700",1769860800],["2500.40000","9.000",1769860799]],
                "bids":[["2500.10000","1.500",1769860800],["2500.00000","2.000",1769860790]]}}}"#
            .to_owned(),
        "/okx" => format!(
            r#"{{"code":"0","msg":"","data":[{{"asks":[["2500.3","0.7","0","1"],["2500.4","9","0","4"]],
                "bids":[["2500.1","1.5","0","3"],["2500","2","0","1"]],"ts":"{}","seqId":{number}}}]}}"#,
            1_769_860_800_000_u64 + 100 * number
        ),
        other => panic!("{other}"),
    }
}

#[test]
fn a_template_reads_what_its_exchange_answers_and_the_recording_is_data_for_a_backtest() {
    let server = Public::start(templates);
    let folder = Folder::new("paper-templates");
    for name in ["binance", "coinbase", "kraken", "okx"] {
        let url = format!("http://{}/{name}?x=1", server.address);
        let config = config(folder.path(), &url, |file| {
            file.put("market.0.feed.template", name)
                .put("store.dir", name)
                .put("poll.depth_age_max_ms", 20_000)
                .put("mode", "observe");
        });
        let args = ["run", "--json", "--config", &config, "--for", "2s"];
        let (code, page, log) = cambist(&folder, name, &args);
        assert_eq!(code, 0, "{name}: {page} {log}");
        let market = &page["markets"][0];
        assert!(market["books"].as_u64().unwrap() > 5, "{name}: {market}");
        assert_eq!(
            market["left_out"],
            serde_json::json!([]),
            "{name}: {market}"
        );
        for key in ["mid_first", "mid_last", "mid_low", "mid_high"] {
            assert_eq!(market[key], "2500.2", "{name}: {market}");
        }
        assert_eq!(market["spread_bps_p50"], "0.79", "{name}: {market}");
        let recording = folder.path().join(name).join("ETH-USDC");
        let (out, recording) = (format!("{name}-out"), recording.display().to_string());
        let out = folder.path().join(out).display().to_string();
        let args = [
            "backtest", "--json", "--config", &config, "--data", &recording, "--out", &out,
        ];
        let (code, page, log) = cambist(&folder, &format!("{name}-backtest"), &args);
        assert_eq!(code, 0, "{name}: {page} {log}");
        let rows = page["report"]["data"][0]["kept"].as_u64().unwrap();
        assert_eq!(rows, market["books"].as_u64().unwrap(), "{name}");
    }
    server.assert_only_read();
}

#[test]
fn a_recording_shows_what_its_feed_answers_and_a_kill_loses_at_most_a_second() {
    let server = Public::start(swinging);
    let folder = Folder::new("paper-record");
    let url = format!("http://{}/book", server.address);
    let config = config(folder.path(), &url, |file| {
        file.put("mode", "record")
            .put("store.dir", "recorded")
            .put("market.0.feed.poll_ms", 100);
    });
    let run = ["run", "--json", "--config", &config];
    let mut recording = Program::start(folder.path(), "record", &run);
    let address = folder.path().join("recorded/metrics.address");
    let address = until(SOON, "the address of the metrics", || {
        std::fs::read_to_string(&address).ok()
    });
    let address = address.trim();
    let answers = |result: &str| {
        let metrics = body(address, "/metrics").unwrap();
        let result = format!("result=\"{result}\"");
        let labels = ["market=\"ETH-USDC\"", "feed=\"depth\"", result.as_str()];
        metric(&metrics, "cambist_feed_answers_total", &labels)
    };
    until(SOON, "ten books", || {
        (answers("book") >= 10.0).then_some(())
    });
    assert_eq!(http::send(address, "GET", "/readyz", &[]).0, 200);
    let args = ["status", "--json", "--config", &config];
    let (code, page, log) = cambist(&folder, "status", &args);
    assert_eq!(code, 0, "{page} {log}");
    assert_eq!(
        (&page["state"], &page["ready"]),
        (&"recording".into(), &true.into())
    );
    server.is_down.store(true, Ordering::Release);
    until(SOON, "failures", || {
        (answers("http_status") >= 2.0).then_some(())
    });
    assert!(answers("no_answer") < 1.0, "every request was answered");
    let books = answers("book");
    // A row waits for a second, and is then written within a step of the loop; the machine may be busy.
    std::thread::sleep(Duration::from_secs(4));
    recording.signal(rustix::process::Signal::KILL);
    recording.end(SOON);
    let data = folder
        .path()
        .join("recorded/ETH-USDC")
        .display()
        .to_string();
    let out = folder.path().join("out").display().to_string();
    let args = [
        "backtest", "--json", "--config", &config, "--data", &data, "--out", &out,
    ];
    let (code, page, log) = cambist(&folder, "backtest", &args);
    assert_eq!(code, 0, "{page} {log}");
    let rows = page["report"]["data"][0]["kept"].as_f64().unwrap();
    assert!((rows - books).abs() < 0.5, "{rows} of {books}");
    server.assert_only_read();
}

/// A run that received nothing states what was missing, of each market, instead of a table of nothing.
#[test]
fn an_observation_without_data_states_what_was_missing() {
    let listening = || TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |of: &TcpListener| format!("http://{}/book", of.local_addr().unwrap());
    // One that takes connections and answers nothing, and one that is gone.
    let (silent, gone) = (listening(), listening());
    let (silent_url, gone_url) = (address(&silent), address(&gone));
    drop(gone);
    let server = Public::start(|_, _| "<html>".to_owned());
    let other_url = format!("http://{}/book", server.address);
    for (name, url, expected) in [
        (
            "silent",
            &silent_url,
            &["no answer arrived from", "request_timeout_ms"][..],
        ),
        (
            "gone",
            &gone_url,
            &["no book arrived from", "as unavailable", "the first"],
        ),
        (
            "other",
            &other_url,
            &["as bad-value", "the first", "not JSON"],
        ),
    ] {
        let folder = Folder::new(&format!("paper-nothing-{name}"));
        let config = config(folder.path(), url, |file| {
            file.put("store.dir", "recorded");
        });
        for mode in ["observe", "record"] {
            let args = [
                "run", "--config", &config, "--mode", mode, "--for", "1s", "--json",
            ];
            let (code, page, log) = cambist(&folder, mode, &args);
            assert_eq!(code, 1, "{page} {log}");
            let missing = page["markets"][0]["missing"].as_str().unwrap();
            assert!(missing.contains(&format!("from {url} in 1s")), "{missing}");
            assert_eq!(page["error"], format!("ETH-USDC: {missing}"));
            assert_eq!(page["exit"], 1);
            for words in expected {
                assert!(missing.contains(words), "{words}: {missing}");
            }
            let (code, text, log) = run(folder.path(), "plain", &args[..args.len() - 1], SOON);
            assert_eq!(code, 1, "{text}");
            assert!(text.contains("nothing was recorded: no "), "{text}");
            assert!(!text.contains("none") && !text.contains("median"), "{text}");
            assert!(log.contains("ETH-USDC: no "), "{log}");
        }
    }
}

/// A market without depth beside one with it is not passed over.
#[test]
fn one_market_without_depth_fails_an_observation() {
    let server = Public::start(|path, number| match path {
        "/nothing" => "{}".to_owned(),
        _ => swinging(path, number),
    });
    let folder = Folder::new("paper-one-missing");
    let url = format!("http://{}/book", server.address);
    let config = config(folder.path(), &url, |file| {
        file.put("mode", "observe").put("store.dir", "recorded");
        let markets = file["market"].as_array_mut().unwrap();
        let mut other = markets[0].as_table().unwrap().clone();
        other.insert("name".to_owned(), "ETH-USDT".into());
        let text = other.to_string().replace("USDC\"", "USDT\"");
        let mut other: Table = text.parse().unwrap();
        let nothing = format!("http://{}/nothing", server.address);
        other["feed"]
            .as_table_mut()
            .unwrap()
            .insert("url".to_owned(), nothing.into());
        markets.push(toml::Value::Table(other));
    });
    let args = ["run", "--json", "--config", &config, "--for", "2s"];
    let (code, page, log) = cambist(&folder, "observe", &args);
    assert_eq!(code, 1, "{page} {log}");
    let [first, second] = &page["markets"].as_array().unwrap()[..] else {
        panic!("{page}");
    };
    assert!(
        first["missing"].is_null() && first["books"].as_u64() > Some(0),
        "{first}"
    );
    assert_eq!(second["books"], 0, "{second}");
    let error = log
        .lines()
        .find(|line| line.contains("ETH-USDT: no book arrived"));
    assert!(
        error.is_some_and(|line| !line.contains("ETH-USDC: ")),
        "{log}"
    );
}

#[test]
fn a_feed_that_stops_moving_is_not_reported_as_recorded() {
    // Every answer after the twentieth repeats that book.
    let server = Public::start(|path, number| templates(path, number.min(20)));
    let folder = Folder::new("paper-still");
    let url = format!("http://{}/okx", server.address);
    let config = config(folder.path(), &url, |file| {
        file.put("mode", "observe")
            .put("market.0.feed.template", "okx")
            .put("poll.depth_age_max_ms", 4_000)
            .put("store.dir", "recorded");
    });
    let args = ["run", "--json", "--config", &config, "--for", "14s"];
    let (code, page, log) = cambist(&folder, "observe", &args);
    assert_eq!(code, 0, "{page} {log}");
    let market = &page["markets"][0];
    // Two seconds of books, and those within depth_age_max_ms of the last one.
    let books = market["books"].as_u64().unwrap();
    assert!((5..110).contains(&books), "{market}");
    let left_out = &market["left_out"][0];
    assert_eq!(left_out["kind"], "stale", "{market}");
    let first = left_out["first"].as_str().unwrap();
    assert!(first.contains("old by its own time"), "{first}");
    // Until the end of the run, which no later book shows.
    let gap_ms = market["longest_gap_ms"].as_u64().unwrap();
    assert!(gap_ms > 3_000, "{market}");
    assert!(log.contains("repeats a book"), "{log}");
}

#[test]
fn without_a_feed_the_depth_is_that_of_an_exchange_of_the_same_interface() {
    let stage = Stage::open("paper-venue", lively);
    let folder = &stage.folder;
    let of_venue = |edit: &dyn Fn(&mut Table)| {
        config(folder.path(), "http://127.0.0.1:9/", |file| {
            let market = file["market"].as_array_mut().unwrap()[0].as_table_mut();
            market.unwrap().remove("feed").unwrap();
            let venue: Table = toml::from_str(&format!("base_url = '{}'", stage.url())).unwrap();
            file.insert("venue".to_owned(), venue.into());
            file.put("mode", "observe");
            edit(file);
        })
    };
    // Its quantities are whole base units: those of a file with other units would be other amounts.
    for mode in ["record", "observe", "paper"] {
        let config = of_venue(&|file| {
            file.put("market.0.base_decimals", 8);
        });
        let name = format!("wrong-{mode}");
        let args = ["run", "--config", &config, "--mode", mode, "--for", "3s"];
        let (code, _, log) = cambist(folder, &name, &args);
        assert_eq!(code, 77, "{mode}: {log}");
        assert!(
            log.contains("base_decimals = 8 but the venue publishes 18"),
            "{log}"
        );
    }
    let config = of_venue(&|_| {});
    let args = ["run", "--json", "--config", &config, "--for", "3s"];
    let (code, page, log) = cambist(folder, "observe", &args);
    assert_eq!(code, 0, "{page} {log}");
    let market = &page["markets"][0];
    assert!(market["books"].as_u64().unwrap() > 5, "{market} {log}");
    assert_eq!(market["left_out"], serde_json::json!([]), "{market}");
    // Whole tokens, not base units.
    let recording = folder.path().join("paper/ETH-USDC").display().to_string();
    let out = folder.path().join("out").display().to_string();
    let args = [
        "backtest", "--json", "--config", &config, "--data", &recording, "--out", &out,
    ];
    let (code, page, log) = cambist(folder, "backtest", &args);
    assert_eq!(code, 0, "{page} {log}");
    let mid = number(&market["mid_last"]);
    assert!((2_000.0..3_000.0).contains(&mid), "{market}");

    let args = [
        "run", "--json", "--config", &config, "--mode", "paper", "--for", "5s",
    ];
    let (code, page, log) = cambist(folder, "paper", &args);
    assert_eq!(code, 0, "{page} {log}");
    assert!(
        page["report"]["orders"]["submitted"].as_u64().unwrap() > 0,
        "{page}"
    );
    assert!(
        stage.books().orders.is_empty(),
        "nothing reached the exchange"
    );
    stage.close();
}

/// The metric of what is in front is a number that the book can hold, or is not known.
#[track_caller]
fn assert_queues(metrics: &str) {
    for side in ["buy", "sell"] {
        let ahead = format!(
            "cambist_simulated_queue_in_front_base_units{{market=\"ETH-USDC\",side=\"{side}\"}} "
        );
        let mut lines = metrics.lines();
        let ahead = lines.find_map(|line| line.strip_prefix(&ahead)).unwrap();
        let is_listed = ahead == "NaN" || (0.0..=3.0).contains(&ahead.parse().unwrap());
        assert!(is_listed, "{side}: {ahead}");
    }
}

/// Status, metrics and page of a run that is under way.
#[test]
fn the_status_of_paper_trading_shows_its_orders_with_their_queues_and_that_nothing_is_sent() {
    let server = Public::start(swinging);
    let folder = Folder::new("paper-status");
    let url = format!("http://{}/book", server.address);
    let config = config(folder.path(), &url, |_| {});
    let args = ["run", "--config", &config, "--until-stdin-closes"];
    let mut run = Program::start(folder.path(), "paper", &args);
    let status = ["status", "--json", "--config", &config];
    let page = until(
        SOON,
        "orders that rest, one of them within the book, and a fill",
        || {
            assert!(run.ended().is_none(), "{}", run.last_words());
            let (code, page, _) = cambist(&folder, "status", &status);
            std::fs::remove_file(folder.path().join("status.out")).unwrap();
            let account = &page["simulated"];
            let rest = account["orders"].as_array().is_some_and(|all| {
                // The book comes to where an order rests before it fills.
                let is_covered = all.iter().any(|order| !order["queue_in_front"].is_null());
                all.len() > 1 && is_covered
            });
            (code == 0 && rest && account["fills"].as_u64()? > 0).then_some(page)
        },
    );
    assert_eq!(page["mode"], "paper", "{page}");
    assert_eq!(page["sends_orders"], false, "{page}");
    assert_eq!(page["alive"], true, "{page}");
    let account = &page["simulated"];
    let equity = number(&account["equity"]) - number(&account["equity_at_start"]);
    let change = number(&account["change_of_equity"]);
    assert!((equity - change).abs() < 1e-6, "{account}");
    for order in account["orders"].as_array().unwrap() {
        assert_eq!(order["market"], "ETH-USDC", "{order}");
        assert!(number(&order["price"]) > 2_000.0, "{order}");
        assert!(number(&order["remaining"]) > 0.0, "{order}");
        // Ahead of it is what the book has at its price: 3 ETH, or nothing between two levels. Beyond the ten levels of
        // a side that is not known.
        let ahead = &order["queue_in_front"];
        let is_listed = ahead.is_null() || (0.0..=3.0).contains(&number(ahead));
        assert!(is_listed, "{order}");
    }
    let address = std::fs::read_to_string(folder.path().join("paper/metrics.address")).unwrap();
    // The engine reads of a fill some time after it.
    let metrics = until(SOON, "a fill that the engine has booked", || {
        let metrics = body(address.trim(), "/metrics")?;
        (metric(&metrics, "cambist_fills_total", &[]) > 0.0).then_some(metrics)
    });
    assert!(metric(&metrics, "cambist_mode", &["mode=\"paper\""]) > 0.0);
    assert!(metric(&metrics, "cambist_mode", &["mode=\"live\""]) < 1.0);
    assert_queues(&metrics);

    // What has been filled is on disk while the run goes on, so that a killed one leaves it.
    let fills = page["simulated"]["fills"].as_u64().unwrap();
    let folders = std::fs::read_dir(folder.path().join("paper")).unwrap();
    let written = folders.filter_map(|entry| {
        let rows = std::fs::read_to_string(entry.unwrap().path().join("fills.csv")).ok()?;
        Some(rows.lines().count() as u64 - 1)
    });
    assert!(written.sum::<u64>() >= fills, "{page}");

    // There is nothing to stop or cancel, and a second run has no place in the same folder.
    let kill = ["pause", "--config", &config, "--reason", "test"];
    let (code, _, log) = cambist(&folder, "pause", &kill);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("it sends no orders"), "{log}");
    let (code, _, log) = cambist(&folder, "second", &args);
    assert_eq!(code, 75, "{log}");
    let record = ["record", "--config", &config, "--for", "1s"];
    let (code, _, log) = cambist(&folder, "record", &record);
    assert_eq!(code, 75, "{log}");
    let refused = |when: &str| {
        for command in ["kill", "resume"] {
            let args = [command, "--config", &config, "--reason", "test"];
            let (code, _, log) = cambist(&folder, &format!("{command}-{when}"), &args);
            let refused = if when == "stopped" || command == "kill" {
                77
            } else {
                1
            };
            assert_eq!(code, refused, "{command} {when}: {log}");
            // Neither a latch nor a store, which the next run would be refused for.
            for file in ["latch", "cambist.db"] {
                let file = folder.path().join("paper").join(file);
                assert!(!file.exists(), "{command} {when}: {}", file.display());
            }
        }
    };
    refused("running");
    run.close_stdin();
    assert_eq!(run.end(SOON), 0, "{}", run.last_words());
    let (code, page, _) = cambist(&folder, "after", &status);
    assert_eq!((code, &page["state"]), (1, &"stopped".into()));
    refused("stopped");
    let (code, _, log) = cambist(&folder, "record-after", &record);
    assert_eq!(code, 0, "{log}");

    // The state folder of a daemon that trades is not one for paper.
    std::fs::write(folder.path().join("paper/cambist.db"), "").unwrap();
    let (code, _, log) = cambist(&folder, "third", &args);
    assert_eq!(code, 77, "{log}");
    assert!(
        log.contains("is the state folder of a daemon that trades"),
        "{log}"
    );
    // Such a daemon can be stopped, whatever mode its file states now.
    let kill = ["kill", "--config", &config, "--reason", "test"];
    let (code, _, log) = cambist(&folder, "kill", &kill);
    assert_eq!(code, 0, "{log}");
    assert!(folder.path().join("paper/latch").exists(), "{log}");
    server.assert_only_read();
}

/// A quiet book, of which some are in another unit.
fn in_another_unit(_: &str, number: u64) -> String {
    let factor = if (20..26).contains(&number) { 10 } else { 1 };
    let level =
        |price: u64| serde_json::json!([(price * factor).to_string(), "3.0", 1_700_000_000]);
    let (bids, asks): (Vec<_>, Vec<_>) = (1..=5)
        .map(|n| (level(2_500 - n), level(2_500 + n)))
        .unzip();
    serde_json::json!({"error": [], "result": {"XETHUSDC": {"asks": asks, "bids": bids}}})
        .to_string()
}

#[test]
fn books_in_another_unit_are_not_traded_on() {
    let server = Public::start(in_another_unit);
    let folder = Folder::new("paper-units");
    let url = format!("http://{}/0/public/Depth?pair=ETHUSDC", server.address);
    let config = config(folder.path(), &url, |_| {});
    let args = ["run", "--json", "--config", &config, "--for", "6s"];
    let (code, page, log) = cambist(&folder, "paper", &args);
    assert_eq!(code, 0, "{page} {log}");
    let report = &page["report"];
    assert_eq!(report["fills"], 0, "{report}");
    assert_eq!(report["equity"]["drawdown_max"], "0", "{report}");
    let skipped = &report["data"][0]["skipped"][0];
    assert_eq!(
        (&skipped["kind"], &skipped["count"]),
        (&"mixed-units".into(), &6.into()),
        "{report}"
    );
    assert_eq!(report["clock_steps"], Value::Null, "{report}");
    assert!(log.contains("at another price level"), "{log}");
}
