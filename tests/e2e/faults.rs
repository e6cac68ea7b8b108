//! The fault buttons of the demo's page: each is pressed over HTTP, quotes go and return, and the demo still proves its
//! end.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::http;
use crate::support::stage::{lively, quick};
use crate::support::{Folder, Program, Stage, until};

/// The demo's pool at its exchange.
const POOL: &str = "/api/v3/amm/balance?poolAddress=0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e004";
const SOON: Duration = Duration::from_mins(1);

/// A demo that quotes, and its page.
struct Demo {
    program: Program,
    address: String,
    token: String,
}

impl Demo {
    fn start(folder: &Folder, options: &[&str]) -> Self {
        let args = [&["demo", "--json", "--seed", "3"], options].concat();
        let program = Program::start(folder.path(), "demo", &args);
        let address = until(SOON, "the address of the page", || {
            let log = program.stderr();
            let (_, rest) = log.split_once("page http://")?;
            Some(rest.split_once('/')?.0.to_owned())
        });
        let html = http::body(&address, "/page").unwrap();
        let (_, rest) = html.split_once("data-token=\"").unwrap();
        let token = rest.split_once('"').unwrap().0.to_owned();
        let demo = Self {
            program,
            address,
            token,
        };
        demo.until_quoted();
        demo
    }

    fn json(&self, path: &str) -> Option<Value> {
        serde_json::from_str(&http::body(&self.address, path)?).ok()
    }

    /// The live orders of both sides; none if no daemon answers.
    fn live(&self) -> Option<[u64; 2]> {
        let page = self.json("/page.json")?;
        let market = &page["markets"][0];
        Some(["live_buy", "live_sell"].map(|key| market[key].as_u64().unwrap_or(0)))
    }

    fn until_quoted(&self) {
        until(SOON, "quotes on both sides", || {
            self.live()?.iter().all(|live| *live > 0).then_some(())
        });
    }

    fn until_gone(&self, fault: &str) {
        until(SOON, &format!("no quotes: {fault}"), || {
            let effect = self.button(fault)["effect"].as_str()?.to_owned();
            effect.contains("gone").then_some(())
        });
    }

    fn press(&self, fault: &str) -> (u16, String) {
        let path = format!("/faults/{fault}");
        let headers = [("x-cambist-token", self.token.as_str())];
        http::send(&self.address, "POST", &path, &headers)
    }

    fn pressed(&self, fault: &str) {
        let (status, text) = self.press(fault);
        assert_eq!(status, 200, "{fault}: {text}");
    }

    fn button(&self, fault: &str) -> Value {
        let faults = self.json("/faults").unwrap();
        let mut buttons = faults["buttons"].as_array().unwrap().iter();
        buttons.find(|one| one["name"] == fault).unwrap().clone()
    }

    /// Waits until a fault has ended and the quotes are back.
    fn until_over(&self, fault: &str) {
        until(SOON, &format!("the end of {fault}"), || {
            let button = self.button(fault);
            let effect = button["effect"].as_str()?;
            let is_back = effect.contains("back") || effect.contains("stayed");
            (button["active_s"].is_null() && is_back).then_some(())
        });
    }

    /// Ends the demo, which must have proven everything; its JSON.
    fn end(mut self) -> Value {
        self.program.signal(Signal::INT);
        let code = self.program.end(Duration::from_secs(90));
        let log = self.program.last_words();
        assert_eq!(code, 0, "{}\n{log}", self.program.stdout());
        let object: Value = serde_json::from_str(&self.program.stdout()).unwrap();
        assert_eq!(object["resting_after"], 0, "{object}");
        assert_eq!(object["orders"]["unknown_left"], 0, "{object}");
        assert_eq!(object["replay_equal"], true, "{object}");
        for units in object["residual_units"].as_object().unwrap().values() {
            assert_eq!(units, "0", "{object}");
        }
        object
    }
}

/// Faults after which the quotes must have gone, and how each ended.
fn assert_fault(object: &Value, name: &str, by: &str) {
    let faults = object["faults"].as_array().unwrap();
    let fault = faults.iter().find(|one| one["name"] == name);
    let fault = fault.unwrap_or_else(|| panic!("no {name} in {object}"));
    assert_eq!(fault["ended_by"], by, "{fault}");
    assert!(fault["quotes_back_after_s"].is_number(), "{fault}");
    assert!(fault["quotes_gone_after_s"].is_number(), "{fault}");
}

#[test]
fn faults_of_the_exchange_take_the_quotes_away_until_they_end() {
    let folder = Folder::new("faults-exchange");
    let demo = Demo::start(&folder, &["--forever"]);
    // One ends by its time, the others by a second press.
    demo.pressed("freeze-account");
    assert!(demo.button("freeze-account")["active_s"].is_number());
    demo.until_gone("freeze-account");
    demo.until_over("freeze-account");
    for fault in ["freeze-book", "rate-limit"] {
        demo.pressed(fault);
        demo.until_gone(fault);
        demo.pressed(fault);
        demo.until_quoted();
        demo.until_over(fault);
    }
    let object = demo.end();
    assert_fault(&object, "freeze-account", "time");
    assert_fault(&object, "freeze-book", "press");
    assert_fault(&object, "rate-limit", "press");
    let refused = object["orders"]["refused"].as_object().unwrap();
    assert!(!refused.is_empty(), "{object}");
    assert!(
        object["requests"]["http_429"].as_u64() > Some(0),
        "{object}"
    );
}

#[test]
fn lost_answers_and_a_drained_pool_lose_and_double_nothing() {
    let folder = Folder::new("faults-lost");
    let demo = Demo::start(&folder, &["--forever"]);
    let log = demo.program.stderr();
    let (_, exchange) = log.split_once("exchange at http://").unwrap();
    let exchange = exchange.split_once(',').unwrap().0;
    let reserve = || {
        let text = http::body(exchange, POOL).unwrap();
        let balance: Value = serde_json::from_str(&text).unwrap();
        let units = balance["pooled"][0]["volume"].as_str().unwrap();
        units.parse::<f64>().unwrap()
    };
    let before = reserve();
    demo.pressed("drain-pool");
    assert!(reserve() < before / 5.0, "{} of {before}", reserve());
    demo.pressed("lose-answers");
    until(
        SOON,
        "an order in an unknown state, or a lost answer",
        || {
            let page = demo.json("/page.json")?;
            let orders = page["markets"][0]["orders"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            orders
                .iter()
                .any(|order| order["state"] != "live")
                .then_some(())
        },
    );
    demo.until_over("lose-answers");
    demo.until_over("drain-pool");
    assert!(reserve() > before / 2.0, "{} of {before}", reserve());
    let object = demo.end();
    let faults = object["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 2, "{object}");
    for fault in faults {
        assert_eq!(fault["ended_by"], "time", "{fault}");
        assert!(fault["quotes_back_after_s"].is_number(), "{fault}");
    }
}

#[test]
fn a_daemon_that_crashes_or_is_killed_comes_back_on_the_same_page() {
    let folder = Folder::new("faults-process");
    let demo = Demo::start(&folder, &["--forever"]);
    demo.pressed("crash");
    until(SOON, "a page without a daemon", || {
        let page = demo.json("/page.json")?;
        (page["status"]["state"] == "down").then_some(())
    });
    let (status, why) = demo.press("freeze-account");
    assert_eq!(status, 409, "{why}");
    // A second press starts it at once.
    demo.pressed("crash");
    demo.until_over("crash");
    demo.until_quoted();
    demo.pressed("kill");
    demo.until_over("kill");
    demo.until_quoted();
    let object = demo.end();
    assert_fault(&object, "crash", "press");
    assert_fault(&object, "kill", "time");
    for fault in object["faults"].as_array().unwrap() {
        let crash = &fault["crash"];
        assert_eq!(crash["doubled"], 0, "{crash}");
        assert_eq!(crash["forgotten"], 0, "{crash}");
        for unknown in crash["unknown"].as_array().unwrap() {
            assert!(unknown["evidence"].is_string(), "{unknown}");
        }
    }
    assert!(object["crash"].is_null(), "no kill was planned: {object}");
}

#[test]
fn a_demo_that_ends_within_a_fault_ends_the_fault_first() {
    let folder = Folder::new("faults-ending");
    let demo = Demo::start(&folder, &["--forever"]);
    demo.pressed("freeze-account");
    demo.until_gone("freeze-account");
    let object = demo.end();
    assert_fault(&object, "freeze-account", "demo");
    // Without a daemon at that moment.
    for fault in ["crash", "kill"] {
        let folder = Folder::new(&format!("faults-ending-{fault}"));
        let demo = Demo::start(&folder, &["--forever"]);
        // The kill waits for a submit: the end comes before it, or just after it.
        demo.pressed(fault);
        let object = demo.end();
        assert!(object["replay_equal"] == true, "{object}");
    }
}

#[test]
fn only_the_demos_own_page_has_and_presses_buttons() {
    let folder = Folder::new("faults-origins");
    let demo = Demo::start(&folder, &["--forever"]);
    let text = demo.token.clone();
    let token = ("x-cambist-token", text.as_str());
    let address = demo.address.clone();
    let send =
        |headers: &[(&str, &str)]| http::send(&address, "POST", "/faults/freeze-book", headers).0;
    assert_eq!(send(&[]), 403, "no token");
    assert_eq!(send(&[("x-cambist-token", "00")]), 403);
    assert_eq!(send(&[token, ("origin", "http://evil.example")]), 403);
    assert_eq!(send(&[token, ("sec-fetch-site", "cross-site")]), 403);
    assert_eq!(send(&[token, ("host", "evil.example")]), 403);
    let get = http::send(&demo.address, "GET", "/faults/freeze-book", &[token]);
    assert_eq!(get.0, 405, "{}", get.1);
    let (status, text) = demo.press("frieze-book");
    assert!(status == 404 && text.contains("/faults"), "{text}");
    assert_eq!(demo.json("/faults").unwrap()["buttons"][1]["count"], 0);
    let origin = format!("http://{}", demo.address);
    assert_eq!(send(&[token, ("origin", &origin)]), 200, "its own origin");
    // The daemon behind it has neither the buttons nor their requests.
    let metrics = http::body(&demo.address, "/metrics").unwrap();
    assert!(metrics.contains("cambist_"), "{metrics}");
    demo.end();

    let stage = Stage::open("faults-daemon", lively);
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    let html = http::body(&address, "/page").unwrap();
    assert!(html.contains("<main") && !html.contains("fault"), "{html}");
    for path in ["/faults", "/faults.js"] {
        assert_eq!(http::send(&address, "GET", path, &[]).0, 404, "{path}");
    }
    let pressed = http::send(&address, "POST", "/faults/kill", &[token]);
    assert_eq!(pressed.0, 404, "{}", pressed.1);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
