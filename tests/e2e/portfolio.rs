//! Two venues in one process: an exchange with its own interface and one with Kraken's. Limits over both, one venue that
//! is away, commands for both, and ends that are proven at both.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use toml::Table;

use crate::kraken_daemon::stage::{SOON, on_kraken, usual};
use crate::support::http::{body, metric, page};
use crate::support::process::run;
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Program, Proxy, Stage, until};
use crate::waiting::Manager;

/// The venues of a portfolio, and the proxy before Kraken's interface.
struct Both {
    exchange: Stage,
    kraken: Stage,
    proxy: Proxy,
}

impl Both {
    /// With these limits of the portfolio.
    fn open(name: &str, limits: &str) -> Self {
        let exchange = Stage::open(&format!("portfolio-{name}-a"), lively);
        let kraken = usual(&format!("portfolio-{name}-b"));
        let proxy = Proxy::start(&kraken.address);
        exchange.daemon("daemon", &exchange.url(), quick);
        kraken.daemon("daemon", &proxy.url, on_kraken);
        let both = Self {
            exchange,
            kraken,
            proxy,
        };
        both.configure(limits);
        both
    }

    fn configure(&self, limits: &str) {
        let other = self.kraken.path("daemon.toml").display().to_string();
        let text = format!(
            "config_version = 1\n[portfolio]\nat_par = ['USDC']\n{limits}\n\
             [[venue]]\nname = 'own'\nconfig = 'daemon.toml'\n\
             [[venue]]\nname = 'kraken'\nconfig = '{other}'\n"
        );
        std::fs::write(self.exchange.path("portfolio.toml"), text).unwrap();
    }

    fn run(&self) -> Program {
        self.exchange.run("portfolio")
    }

    /// A command with the portfolio's file: exit code, object, log.
    fn command(&self, line: &str) -> (i32, Value, String) {
        let (code, out, log) = self.prose(&format!("{line} --json"));
        let object = serde_json::from_str(&out).unwrap_or(Value::Null);
        (code, object, log)
    }

    /// As `command`, with the text output instead of JSON.
    fn prose(&self, line: &str) -> (i32, String, String) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let config = self.exchange.path("portfolio.toml").display().to_string();
        let mut args: Vec<_> = line.split(' ').collect();
        args.extend(["--config", &config]);
        let name = format!("both-{number}");
        run(self.exchange.folder.path(), &name, &args, SOON)
    }

    fn stages(&self) -> [&Stage; 2] {
        [&self.exchange, &self.kraken]
    }

    /// Waits until these sides rest at every exchange, and no other.
    #[track_caller]
    fn until_sides(&self, daemon: &mut Program, wanted: &[&str]) {
        for stage in self.stages() {
            until(SOON, &format!("{wanted:?} to rest"), || {
                assert!(daemon.ended().is_none(), "{}", daemon.last_words());
                (sides(stage) == wanted).then_some(())
            });
        }
    }

    /// Ends the daemon: proven, with books that agree, at both.
    #[track_caller]
    fn finish(self, mut daemon: Program) {
        assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
        let object: Value = serde_json::from_str(&daemon.stdout()).unwrap();
        for name in ["own", "kraken"] {
            assert!(object[name]["ends"].is_object(), "{object}");
        }
        for stage in self.stages() {
            assert_eq!(stage.books().open(), 0);
        }
        self.exchange.close();
        self.kraken.close();
    }
}

/// The sides that rest at an exchange.
fn sides(stage: &Stage) -> Vec<&'static str> {
    let books = stage.books();
    let open = books.orders.iter().filter(|order| !order.status.is_final());
    let sides: std::collections::BTreeSet<_> = open.map(|order| order.side.name()).collect();
    sides.into_iter().collect()
}

/// The reason why a side of the market of a venue has no quote.
fn reason(status: &Value, venue: &str, side: &str) -> String {
    let text = status[venue]["markets"][0]["withheld"][side]["reason"].as_str();
    text.unwrap_or_default().to_owned()
}

#[test]
fn both_venues_are_traded_on_and_both_ends_are_proven() {
    let both = Both::open(
        "usual",
        "exposure_max = '100000000 USD'\nloss_day_max = '1000000 USD'",
    );
    let (code, checked, log) = both.command("check");
    assert_eq!(code, 0, "{log}");
    assert!(checked["own"].is_object() && checked["kraken"].is_object());
    let mut daemon = both.run();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    // An order that is being replaced leaves a venue without quotes for a moment.
    until(SOON, "both are active", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, status, log) = both.command("status");
        assert_eq!(code, 0, "{log}");
        let mut names = ["own", "kraken"].iter();
        names
            .all(|name| status[name]["state"] == "active")
            .then_some(())
    });
    // A line of the log names its venue.
    assert!(
        daemon.stderr().contains("kraken"),
        "{}",
        daemon.last_words()
    );
    both.finish(daemon);
}

#[test]
fn a_venue_that_was_drained_before_is_no_error_of_the_drain_of_all() {
    let both = Both::open("drained", "");
    let mut daemon = both.run();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    let (code, answer, log) = both.command("drain --venue kraken --wait");
    assert_eq!(code, 0, "{answer} {log}");
    assert_eq!(both.kraken.books().open(), 0);
    assert!(daemon.ended().is_none(), "{}", daemon.last_words());
    let (code, answer, log) = both.command("resume --venue kraken --reason again");
    assert_eq!(code, 1, "{answer} {log}");
    assert!(log.contains("the daemon is ending"), "{log}");
    let (code, status, log) = both.command("status");
    assert_eq!(code, 1, "{status} {log}");
    assert_eq!(status["own"]["state"], "active", "{status}");
    let ended = &status["kraken"];
    assert_eq!(
        (&ended["state"], &ended["end"]["proven"]),
        (&"ended".into(), &true.into()),
        "{status}"
    );
    assert_eq!(
        (&ended["end"]["exit"], &ended["not_proven_gone"]),
        (&0.into(), &0.into()),
        "{status}"
    );
    let text = ended["error"].as_str().unwrap();
    assert_eq!(
        text,
        "the part of this venue has ended: proven: none of our orders rests"
    );
    let (_, shown, _) = both.prose("status --venue kraken");
    assert!(shown.contains(&format!("{text}\n")), "{shown}");
    // Its pages state the same, those of the other venue do not.
    let address = both.kraken.pages("daemon", &mut daemon);
    let (head, ready) = page(&address, "/readyz").unwrap();
    assert!(head.contains(" 503 "), "{head}");
    assert_eq!(ready, format!("not ready: {text} (exit code 0)\n"));
    for path in ["/status", "/page.json"] {
        let page = body(&address, path).unwrap();
        assert!(page.contains(text), "{path}: {page}");
    }
    let address = both.exchange.pages("daemon", &mut daemon);
    let (_, ready) = page(&address, "/readyz").unwrap();
    assert!(!ready.contains("has ended"), "{ready}");
    let (code, answer, log) = both.command("drain --wait");
    assert_eq!(code, 0, "{answer} {log}");
    for name in ["own", "kraken"] {
        assert_eq!(answer[name]["proven"], true, "{answer}");
    }
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());
    for stage in both.stages() {
        assert_eq!(stage.books().open(), 0);
    }
    both.exchange.close();
    both.kraken.close();
}

#[test]
fn a_venue_that_was_refused_at_its_start_states_why_while_the_other_trades() {
    let both = Both::open("refused-part", "");
    both.exchange
        .daemon("daemon", &both.exchange.url(), |file| {
            quick(file);
            file.put("venue.chain_id", 5);
        });
    let mut daemon = both.run();
    let status = until(SOON, "a part that has ended", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, status, _) = both.command("status");
        let is_so = status["own"]["state"] == "ended" && status["kraken"]["state"] == "active";
        is_so.then_some(status)
    });
    let end = &status["own"]["end"];
    assert_eq!(
        (&end["exit"], &end["proven"]),
        (&77.into(), &false.into()),
        "{status}"
    );
    let text = end["text"].as_str().unwrap();
    assert!(
        text.starts_with("the part of this venue has ended: ") && text.contains("venue.chain_id"),
        "{text}"
    );
    let (code, answer, log) = both.command("drain --wait");
    assert_eq!(code, 77, "{answer} {log}");
    assert!(log.contains("venue.chain_id"), "{log}");
    assert_eq!(answer["kraken"]["proven"], true, "{answer}");
    assert_eq!(daemon.end(SOON), 77, "{}", daemon.last_words());
    assert_eq!(both.kraken.books().open(), 0);
    both.exchange.close();
    both.kraken.close();
}

/// Errors in the portfolio's file and in that of a venue, made while both trade.
#[test]
fn errors_of_the_files_do_not_keep_two_venues_trading() {
    let both = Both::open("errors", "");
    let mut daemon = both.run();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    both.configure("exposure = '3 USD'");
    let file = both.kraken.path("daemon.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "\n[spread]\n").unwrap();
    let (code, answer, log) = both.command("check");
    assert_eq!(code, 77, "{answer} {log}");
    let (code, answer, log) = both.command("kill --reason wrong");
    assert_eq!(code, 0, "{answer} {log}");
    for error in ["unknown key portfolio.exposure", "unknown key spread"] {
        assert!(log.contains(error), "{log}");
    }
    for name in ["own", "kraken"] {
        assert_eq!(answer[name]["latch"], true, "{answer}");
    }
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    let (code, answer, log) = both.command("panic --yes --reason wrong");
    assert_eq!(code, 0, "{answer} {log}");
    for stage in both.stages() {
        assert_eq!(stage.books().open(), 0);
    }
    both.exchange.close();
    both.kraken.close();
}

#[test]
fn what_both_venues_may_hold_together_is_limited() {
    let limit = "[[portfolio.tokens]]\nname = 'ETH'\ninventory_max = '1 ETH'";
    let both = Both::open("inventory", limit);
    let mut daemon = both.run();
    both.until_sides(&mut daemon, &["sell"]);
    let status = until(SOON, "reasons at both", || {
        let (_, status, _) = both.command("status");
        let are_limited = ["own", "kraken"]
            .iter()
            .all(|name| reason(&status, name, "buy") == "portfolio_inventory");
        are_limited.then_some(status)
    });
    assert_eq!(reason(&status, "own", "sell"), "");
    both.finish(daemon);
}

/// The loss of one venue stops both, and a resume without a reason in the books is undone.
#[test]
fn a_loss_over_both_venues_stops_both_until_it_is_forgotten() {
    let both = Both::open("loss", "loss_day_max = '0.000001 USD'");
    let mut daemon = both.run();
    let is_stopped = |status: &Value| {
        let mut names = ["own", "kraken"].iter();
        names.all(|name| status[name]["state"] == "cancel_only")
    };
    let mut until_stopped = || {
        until(SOON, "both only cancel", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let (_, status, _) = both.command("status");
            is_stopped(&status).then_some(())
        });
    };
    until_stopped();
    both.command("resume --reason tried");
    until_stopped();
    for stage in both.stages() {
        until(SOON, "nothing that rests", || {
            sides(stage).is_empty().then_some(())
        });
    }
    assert!(daemon.stderr().contains("portfolio.loss_day_max"));
    both.finish(daemon);
}

/// A venue that goes away while both trade stops nothing at the other; one that was never there has stated nothing, so
/// that nothing that a limit bounds is added.
#[test]
fn a_venue_that_is_away_does_not_stop_the_other() {
    let both = Both::open("away", "exposure_max = '100000000 USD'");
    let mut daemon = both.run();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    both.proxy.close();
    let before = both.exchange.books().orders.len();
    until(SOON, "further orders at the other", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (both.exchange.books().orders.len() > before + 3).then_some(())
    });
    // An order that is being replaced may be missing.
    until(SOON, "both sides at the other", || {
        (sides(&both.exchange) == ["buy", "sell"]).then_some(())
    });
    both.proxy.open();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    both.finish(daemon);

    let both = Both::open("absent", "exposure_max = '100000000 USD'");
    both.proxy.close();
    let mut daemon = both.run();
    until(SOON, "sales without purchases", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (sides(&both.exchange) == ["sell"]).then_some(())
    });
    both.proxy.open();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    both.finish(daemon);
}

/// A market of a venue as its status shows it.
fn live(status: &Value, venue: &str, side: &str) -> u64 {
    let live = status[venue]["markets"][0][format!("live_{side}")].as_u64();
    live.unwrap_or(0)
}

/// A venue that does not answer at a start counts with what its store holds and with everything that may still fill; not
/// if what was stored is too old.
#[test]
fn a_venue_that_does_not_answer_at_a_start_counts_with_its_store() {
    let both = Both::open("stored", "exposure_max = '100000000 USD'");
    let mut daemon = both.run();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    daemon.kill();
    both.proxy.close();
    let mut daemon = both.run();
    until(SOON, "both sides at the venue that answers", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, status, _) = both.command("status");
        let sides = ["buy", "sell"].iter();
        let live = sides.map(|side| live(&status, "own", side)).min()?;
        (live > 0 && status["kraken"]["state"] == "starting").then_some(())
    });
    assert!(
        daemon
            .stderr()
            .contains("limits over all venues count what its store of"),
        "{}",
        daemon.last_words()
    );
    daemon.kill();
    // What is held at both by the books of the exchanges is above the limit, so that nothing may be bought.
    let limit = "[[portfolio.tokens]]\nname = 'ETH'\ninventory_max = '1 ETH'";
    both.configure(limit);
    let mut daemon = both.run();
    let text = until(SOON, "the reason", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, status, _) = both.command("status");
        let why = &status["own"]["markets"][0]["withheld"]["buy"];
        let value = why["value"].as_str().map(str::to_owned);
        value.filter(|_| why["reason"] == "portfolio_inventory")
    });
    let held: f64 = text.split(' ').next().unwrap().parse().unwrap();
    let whole = 1e18;
    let [own, kraken] = both.stages().map(|stage| stage.books().totals["ETH"]);
    #[expect(clippy::cast_precision_loss, reason = "a comparison within a tenth")]
    let there = (own + kraken) as f64 / whole;
    assert!(held > there * 0.9, "{text}: {there}");
    daemon.kill();
    both.configure("stored_age_max_s = 0\nexposure_max = '100000000 USD'");
    let mut daemon = both.run();
    until(SOON, "no purchases", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, status, _) = both.command("status");
        (reason(&status, "own", "buy") == "portfolio_exposure").then_some(())
    });
    assert!(daemon.stderr().contains("portfolio.stored_age_max_s is 0"));
    both.proxy.open();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    both.finish(daemon);
}

/// The use of a limit as a venue's status shows it.
fn used(page: &Value, limit: &str) -> Option<f64> {
    let limits = page["portfolio"]["limits"].as_array()?;
    let of = limits.iter().find(|of| of["limit"] == limit)?;
    of["used"].as_str()?.parse().ok()
}

fn pauses(status: &Value, venue: &str) -> usize {
    status[venue]["paused"].as_array().map_or(0, Vec::len)
}

const INVENTORY: &str = "portfolio.tokens.inventory_max";

/// A venue is selected by its name or by that of a market; and once nothing rests, what status, metrics, `check --online`
/// and `doctor` show of the limits is what both exchanges have in their books.
#[test]
fn a_venue_is_selected_and_what_is_shown_is_what_the_exchanges_have() {
    let limits = "exposure_max = '100000000 USD'\nloss_day_max = '1000000 USD'\n\
                  [[portfolio.tokens]]\nname = 'ETH'\ninventory_max = '1000 ETH'";
    let both = Both::open("shown", limits);
    let mut daemon = both.run();
    both.until_sides(&mut daemon, &["buy", "sell"]);
    let (code, answer, log) = both.command("pause --venue kraken --reason one");
    assert_eq!(code, 0, "{log}");
    assert!(
        answer["kraken"].is_object() && answer["own"].is_null(),
        "{answer}"
    );
    let (_, status, _) = both.command("status");
    assert_eq!((pauses(&status, "own"), pauses(&status, "kraken")), (0, 1));
    let (code, _, log) = both.command("pause --market own:ETH-USDC --reason other");
    assert_eq!(code, 0, "{log}");
    let (code, fills, log) = both.command("history --venue own");
    assert_eq!(code, 0, "{log}");
    assert!(fills["own"].is_null(), "as with the venue's file: {fills}");
    for (line, what) in [
        (
            "status --venue base",
            "no venue is named base; the venues are own, kraken",
        ),
        (
            "pause --market A-B --reason none",
            "no venue has a market A-B",
        ),
        (
            "status --venue own --market kraken:ETH-USDC",
            "unexpected argument",
        ),
    ] {
        let (code, _, log) = both.command(line);
        assert_eq!(code, 2, "{line}: {log}");
        assert!(log.contains(what), "{line}: {log}");
    }
    for stage in both.stages() {
        until(SOON, "nothing that rests", || {
            sides(stage).is_empty().then_some(())
        });
    }
    #[expect(clippy::cast_precision_loss, reason = "compared to a millionth")]
    let held = both
        .stages()
        .map(|stage| stage.books().totals["ETH"] as f64 / 1e18)
        .iter()
        .sum::<f64>();
    let is_held = |amount: f64| (amount - held).abs() < 1e-6;
    let status = until(SOON, "what is held at both", || {
        let (_, status, _) = both.command("status");
        let is_shown = |name| used(&status[name], INVENTORY).is_some_and(is_held);
        ["own", "kraken"]
            .into_iter()
            .all(is_shown)
            .then_some(status)
    });
    let own = &status["own"];
    assert!(
        used(own, "portfolio.exposure_max").unwrap() > held,
        "in USD"
    );
    assert_eq!(own["portfolio"]["venue"], "own");
    let venues = own["portfolio"]["venues"].as_array().unwrap();
    assert!(venues.iter().all(|of| of["known"] == true), "{own}");
    let address = both.exchange.metrics("daemon", &mut daemon);
    let page = body(&address, "/metrics").unwrap();
    let labels = ["limit=\"inventory\"", "token=\"ETH\""];
    let shown = metric(&page, "cambist_portfolio_used_units", &labels);
    assert!(is_held(shown), "{shown} {held}");
    assert!((metric(&page, "cambist_portfolio_limit_units", &labels) - 1_000.0).abs() < 1e-9);
    let (code, checked, log) = both.command("check --online");
    assert_eq!(code, 0, "{log}");
    let of = &checked["portfolio"]["limits"][0];
    let amount = of["held"].as_str().unwrap().split(' ').next().unwrap();
    assert!(is_held(amount.parse().unwrap()), "{of} {held}");
    assert_eq!(of["within"], true);
    // A limit that is below what is held.
    both.configure("[[portfolio.tokens]]\nname = 'ETH'\ninventory_max = '1 ETH'");
    let (code, checked, log) = both.command("check --online");
    assert_eq!(code, 1, "{log}");
    assert_eq!(checked["portfolio"]["limits"][0]["within"], false);
    let (code, found, log) = both.command("doctor");
    assert_eq!(code, 1, "{log}");
    let findings = found["portfolio"]["findings"].to_string();
    assert!(findings.contains("held, at most 1 ETH"), "{findings}");
    both.configure(limits);
    for venue in ["own", "kraken"] {
        let (code, _, log) = both.command(&format!("resume --venue {venue} --reason end"));
        assert_eq!(code, 0, "{log}");
    }
    both.until_sides(&mut daemon, &["buy", "sell"]);
    both.finish(daemon);
}

/// READY is sent once, when one venue trades and the other has a cause to wait that the status line shows.
#[test]
fn the_service_is_ready_when_every_venue_trades_or_waits_with_a_cause() {
    let both = Both::open("ready", "");
    let manager = Manager::listen(&both.exchange);
    both.proxy.close();
    let daemon = Manager::run(&both.exchange, "portfolio");
    until(SOON, "READY", || {
        (manager.lines("READY=1") == 1).then_some(())
    });
    let line = until(SOON, "a line about both", || {
        let line = manager.status()?;
        let is_shown = line.contains("kraken: waiting for the venue since");
        (is_shown && line.starts_with("own: ")).then_some(line)
    });
    assert!(line.contains("refused"), "the cause: {line}");
    let watchdogs = manager.lines("WATCHDOG=1");
    both.proxy.open();
    let mut daemon = daemon;
    both.until_sides(&mut daemon, &["buy", "sell"]);
    let line = until(SOON, "a line without a wait", || {
        let line = manager.status()?;
        (!line.contains("waiting")).then_some(line)
    });
    assert!(line.contains("; kraken: "), "{line}");
    assert!(manager.lines("WATCHDOG=1") > watchdogs);
    assert_eq!(
        (manager.lines("READY=1"), manager.lines("STOPPING=1")),
        (1, 0)
    );
    both.finish(daemon);
    assert_eq!(manager.lines("STOPPING=1"), 1);
}

#[test]
fn files_that_do_not_fit_are_refused_with_the_reason() {
    let both = Both::open("refused", "");
    let refused = |what: &str| {
        let mut daemon = both.run();
        assert_eq!(daemon.end(SOON), 77, "{}", daemon.last_words());
        assert!(
            daemon.stderr().contains(what),
            "{what}: {}",
            daemon.last_words()
        );
    };
    both.configure("[[portfolio.tokens]]\nname = 'SOL'\ninventory_max = '1 SOL'");
    refused("no market of any venue has SOL as its base token");
    both.configure("exposure_max = '1 EUR'");
    refused("exposure_max");
    both.configure("");
    let file = both.kraken.path("daemon.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    let mut table: Table = good.parse().unwrap();
    let store = table["store"].as_table_mut().unwrap();
    let dir = both.exchange.path("daemon-state").display().to_string();
    store.insert("dir".to_owned(), dir.into());
    std::fs::write(&file, table.to_string()).unwrap();
    refused("have the same store.dir");
    std::fs::write(&file, "config_version = 1\n").unwrap();
    refused("daemon.toml");
    let (code, _, log) = both.command("status");
    assert_eq!(code, 77, "{log}");
    std::fs::write(&file, good).unwrap();
    // Commands that are about one venue say so.
    let (code, _, log) = both.command("history fills");
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("name the file of one of its venues"), "{log}");
}
