//! Strategies over two venues in one process: swaps with a pool on a chain against the book of an exchange with Kraken's
//! interface, where the leg is closed; and what happens while one of them is away.

use cambist_evm::U256;
use serde_json::Value;
use toml::Table;

use crate::evm::contracts::{PAIR, TOKENS};
use crate::evm::stage::Stage as OnChain;
use crate::kraken_daemon::stage::{SOON, on_kraken, usual};
use crate::support::http::{body, metric};
use crate::support::process::run;
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Program, Proxy, Stage, until};

/// Units of a whole token at both venues.
const WHOLE: u128 = 10_u128.pow(18);

/// A pool in which a token costs a fifth less than at the exchange, and the exchange behind a proxy.
struct Venues {
    chain: OnChain,
    /// The exchange, with Kraken's interface or its own.
    kraken: Stage,
    /// Its name in the portfolio.
    book: &'static str,
    proxy: Proxy,
    /// Base held at the start: on the chain, and at the exchange.
    opening: [u128; 2],
}

impl Venues {
    /// With these strategies for the chain and for the exchange; `{target}` is the base held at both.
    fn open(name: &str, on_chain: &str, at_kraken: &str) -> Self {
        let kraken = usual(&format!("over-{name}-b"));
        Self::at(("kraken", kraken), name, [on_chain, at_kraken], |file| {
            on_kraken(file);
            file.put("orders.max_fee_bips", 40)
                .put("fees.taker_bips", 20);
        })
    }

    /// The same at this exchange, with a daemon that is changed for it.
    fn at(
        (book, kraken): (&'static str, Stage),
        name: &str,
        [on_chain, at_book]: [&str; 2],
        edit: impl FnOnce(&mut Table),
    ) -> Self {
        let proxy = Proxy::start(&kraken.address);
        let chain = OnChain::open(&format!("over-{name}-a"));
        let opening = [base_of(&chain), kraken.books().totals["ETH"]];
        let target = (opening[0] + opening[1]) / WHOLE;
        let strategy = |text: &str| {
            let text = text.replace("{target}", &target.to_string());
            let table: Table = toml::from_str(&text).unwrap();
            vec![toml::Value::Table(table)]
        };
        chain.configure(|file| {
            file.put("market.0.strategy", strategy(on_chain))
                .put("market.0.pool.swap_value_max", "300000 TWO");
        });
        kraken.daemon("daemon", &proxy.url, |file| {
            edit(file);
            file.put("market.0.strategy", strategy(at_book))
                .put("orders.maker_only", false)
                .put("market.0.collar_bps", 200)
                .put("market.0.order_value_max", "100000 USDC")
                .put("market.0.order_qty_max", "20 ETH");
        });
        let venues = Self {
            chain,
            kraken,
            book,
            proxy,
            opening,
        };
        venues.configure("");
        venues
    }

    /// The portfolio's file, with further limits.
    fn configure(&self, limits: &str) {
        let other = self.kraken.path("daemon.toml").display().to_string();
        let text = format!(
            "config_version = 1\n[portfolio]\n{limits}\n\
             [[venue]]\nname = 'chain'\nconfig = 'daemon.toml'\ntokens = {{ ONE = 'ETH', TWO = 'USDC' }}\n\
             [[venue]]\nname = '{}'\nconfig = '{other}'\n",
            self.book
        );
        std::fs::write(self.chain.path("portfolio.toml"), text).unwrap();
    }

    fn run(&self, file: &str) -> Program {
        let config = self.chain.path(file).display().to_string();
        let args = ["run", "--json", "--config", &config, "--until-stdin-closes"];
        Program::start(self.chain.folder.path(), "portfolio", &args)
    }

    /// A command with one of the files: exit code and everything that it printed.
    fn command(&self, line: &str, file: &str) -> (i32, String) {
        let config = self.chain.path(file).display().to_string();
        let mut args: Vec<_> = line.split(' ').collect();
        args.extend(["--config", &config]);
        let name = format!("command-{}", line.replace(' ', "-"));
        let (code, out, log) = run(self.chain.folder.path(), &name, &args, SOON);
        (code, out + &log)
    }

    /// Base held at both venues: on the chain with what pool shares are due, rounded down, and at the exchange.
    fn held(&self) -> [u128; 2] {
        [base_of(&self.chain), self.kraken.books().totals["ETH"]]
    }

    /// Ends the daemon: proven, with books that agree, at both.
    #[track_caller]
    fn finish(&self, daemon: &mut Program) {
        assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
        let object: Value = serde_json::from_str(&daemon.stdout()).unwrap();
        for name in ["chain", self.book] {
            assert!(object[name]["ends"].is_object(), "{object}");
        }
        assert_eq!(self.kraken.books().open(), 0);
    }
}

fn base_of(chain: &OnChain) -> u128 {
    let units = |amount: U256| u128::try_from(amount).unwrap();
    let wallet = units(chain.held(TOKENS[0]));
    let shares = chain.held(PAIR);
    let (reserve, supply) = chain.node.chain(|chain| {
        let world = &chain.latest().world;
        (world.reserves[0], world.tokens[&PAIR].supply())
    });
    wallet + units(reserve * shares / supply)
}

const POOL_ARB: &str = r#"
name = "pool_arb"
[params]
base_target = {target}
round_amount_max = 0.5
tolerance = 0.001
profit_min_bps = 5
book = "kraken:ETH-USDC"
"#;

const HEDGE: &str = r#"
name = "hedge"
[params]
others = [{ market = "chain:ONE-TWO" }]
base_target = {target}
tolerance = 0.001
open_amount_max = 2
unwind_bps = 150
"#;

/// Rounds: bought from the pool, sold on the book of the other venue; a kill between; and while the exchange is away the
/// chain swaps nothing, because its strategy needs both.
#[test]
fn a_pool_and_the_book_of_another_venue_are_arbitraged() {
    let venues = Venues::open("rounds", POOL_ARB, HEDGE);
    let (code, text) = venues.command("check", "portfolio.toml");
    assert_eq!(code, 0, "{text}");
    let sold = || venues.opening[1].saturating_sub(venues.held()[1]);
    let mut daemon = venues.run("portfolio.toml");
    let until_sold = |daemon: &mut Program, least: u128| {
        // How often the pool is away from the book by enough is up to the traders of both.
        until(SOON * 4, &format!("sales of {least}"), || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            (sold() >= least).then_some(())
        });
    };
    until_sold(&mut daemon, WHOLE * 9 / 10);
    daemon.kill();
    let mut daemon = venues.run("portfolio.toml");
    let before = sold();
    until_sold(&mut daemon, before + WHOLE * 4 / 10);

    // Away: what is open is decided, and nothing new begins.
    venues.proxy.close();
    let swaps = || venues.chain.nonce();
    venues.chain.blocks(12);
    let settled = swaps();
    venues.chain.blocks(8);
    assert_eq!(swaps(), settled, "nothing is swapped without the book");
    assert!(daemon.ended().is_none(), "{}", daemon.last_words());
    venues.proxy.open();
    let before = sold();
    until_sold(&mut daemon, before + WHOLE * 4 / 10);

    // Quiet before the end: the last leg is closed, to within the tolerance.
    let (code, text) = venues.command("pause --reason test", "daemon.toml");
    assert_eq!(code, 0, "{text}");
    let all: u128 = venues.opening.iter().sum();
    until(SOON * 2, "a closed leg", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let held: u128 = venues.held().iter().sum();
        (held.abs_diff(all) <= WHOLE / 1_000).then_some(())
    });
    // What is shown of it is what both have in their books.
    let address = venues.kraken.metrics("daemon", &mut daemon);
    let held = until(SOON, "a distance within the tolerance", || {
        let page: Value = serde_json::from_str(&body(&address, "/status")?).ok()?;
        let hedge = &page["portfolio"]["hedges"][0];
        let amount = |key: &str| hedge[key].as_str()?.parse::<f64>().ok();
        (amount("distance")?.abs() <= 0.001).then_some(amount("held")?)
    });
    #[expect(clippy::cast_precision_loss, reason = "compared to a thousandth")]
    let there = venues.held().iter().sum::<u128>() as f64 / 1e18;
    assert!((held - there).abs() <= 0.001, "{held} {there}");
    let page = body(&address, "/metrics").unwrap();
    let labels = ["market=\"ETH-USDC\""];
    assert!(metric(&page, "cambist_hedge_distance_base_units", &labels).abs() <= 0.001);
    venues.finish(&mut daemon);
}

/// The exchange's own interface takes its fee of what is bought, and no order below 0.001 ETH: sales to the pool and
/// purchases on the book follow each other, and nothing that an order could close stays open. Neither strategy has a
/// tolerance.
#[test]
fn rounds_follow_each_other_where_the_fee_is_taken_of_what_is_bought() {
    let exchange = Stage::open_kept("over-fees-b", lively);
    let exact = |text: &str| text.replace("tolerance = 0.001\n", "");
    let (arb, hedge) = (exact(POOL_ARB).replace("kraken:", "own:"), exact(HEDGE));
    let venues = Venues::at(("own", exchange), "fees", [&arb, &hedge], |file| {
        quick(file);
        file.put("fees.taker_bips", 10);
    });
    let (code, text) = venues.command("check", "portfolio.toml");
    assert_eq!(code, 0, "{text}");
    // What the hedge reads of the chain is not there without a daemon, and is no fault of the file.
    let (code, text) = venues.command("check --online", "portfolio.toml");
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("not tried: a strategy reads chain:ONE-TWO"),
        "{text}"
    );
    // A token costs a fifth more in the pool than at the exchange.
    venues.chain.node.chain(|chain| {
        chain.change(|world| {
            let more = world.reserves[1] / U256::from(2);
            world.reserves[1] += more;
            let two = TOKENS[1];
            let held = world.token(two).of(PAIR) + more;
            world.token(two).rebase(PAIR, held);
        });
    });
    let mut daemon = venues.run("portfolio.toml");
    let bought = || venues.held()[1].saturating_sub(venues.opening[1]);
    until(SOON * 4, "several rounds", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (bought() >= WHOLE * 19 / 10).then_some(())
    });
    assert!(venues.chain.nonce() >= 4, "no swap is above half a token");
    let (code, text) = venues.command("pause --reason test", "daemon.toml");
    assert_eq!(code, 0, "{text}");
    let all: u128 = venues.opening.iter().sum();
    until(SOON * 2, "a closed leg", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let held: u128 = venues.held().iter().sum();
        (held.abs_diff(all) < WHOLE / 1_000).then_some(())
    });
    // What stays open, if anything, is stated with its amount, and needs nothing.
    let address = venues.kraken.metrics("daemon", &mut daemon);
    until(SOON, "the rest that is stated", || {
        let page: Value = serde_json::from_str(&body(&address, "/status")?).ok()?;
        let is_open = page["portfolio"]["hedges"][0]["distance"].as_str()? != "0";
        let text = page["markets"][0]["withheld"]["buy"]["why"].as_str()?;
        let is_stated = text.contains("less than the smallest order") && text.contains("are held");
        (is_stated == is_open && page["state"] == "active").then_some(())
    });
    // What is shown of a hedge follows its parameters.
    let set = "set hedge.open_amount_max=1.5 --venue own --reason test";
    let (code, text) = venues.command(set, "portfolio.toml");
    assert_eq!(code, 0, "{text}");
    until(SOON, "the new limit", || {
        let page: Value = serde_json::from_str(&body(&address, "/status")?).ok()?;
        (page["portfolio"]["hedges"][0]["open_amount_max"] == "1.5").then_some(())
    });
    venues.finish(&mut daemon);
}

/// Shares of a pool are hedged at the other venue: what a join pays is in the pool, and what others trade there is not.
#[test]
fn pool_shares_are_hedged_at_another_venue() {
    let lp = r#"
name = "lp_manager"
[params]
target_share_bps = 4000
enter_below_bps = 3000
leave_above_bps = 5000
step_value = 2000000
cool_down_s = 1
pause_above_bps = 200
"#;
    let hedge = HEDGE.replace("open_amount_max = 2", "open_amount_max = 8");
    let venues = Venues::open("shares", lp, &hedge);
    let mut daemon = venues.run("portfolio.toml");
    venues.chain.until_shares(&mut daemon, true);
    // Others buy base: the shares are due less of it, by more than the tolerance.
    let all: u128 = venues.opening.iter().sum();
    venues.chain.node.chain(|chain| {
        chain.change(|world| {
            let bought = world.reserves[0] / U256::from(200);
            let paid = world.reserves[1] / U256::from(199);
            world.reserves = [world.reserves[0] - bought, world.reserves[1] + paid];
            let [one, two] = TOKENS;
            let left = world.token(one).of(PAIR) - bought;
            world.token(one).rebase(PAIR, left);
            let more = world.token(two).of(PAIR) + paid;
            world.token(two).rebase(PAIR, more);
        });
    });
    let missing = all - venues.held().iter().sum::<u128>();
    assert!(missing > WHOLE / 2 && missing < 8 * WHOLE, "{missing}");
    until(SOON * 2, "what is missing was bought", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let held: u128 = venues.held().iter().sum();
        (held.abs_diff(all) <= WHOLE / 100).then_some(())
    });
    assert!(venues.held()[1] > venues.opening[1]);
    venues.finish(&mut daemon);
}

#[test]
fn what_cannot_be_read_is_refused_before_anything_is_sent() {
    let venues = Venues::open("refused", POOL_ARB, HEDGE);
    // The file of one venue alone.
    let mut alone = venues.run("daemon.toml");
    assert_eq!(alone.end(SOON), 77, "{}", alone.last_words());
    let log = alone.stderr();
    assert!(
        log.contains("\"kraken:ETH-USDC\" of another venue"),
        "{log}"
    );
    let refused = |from: &str, to: &str, what: &str, commands: &[&str]| {
        let file = venues.chain.path("daemon.toml");
        let good = std::fs::read_to_string(&file).unwrap();
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "{from}");
        std::fs::write(&file, bad).unwrap();
        for command in commands {
            let (code, text) = venues.command(command, "portfolio.toml");
            assert_eq!(code, 77, "{text}");
            assert!(text.contains(what), "{what}: {text}");
        }
        std::fs::write(&file, good).unwrap();
    };
    let both = ["check", "run"];
    refused(
        "kraken:ETH-USDC",
        "kraken:ETH-EUR",
        "the markets of kraken are ETH-USDC",
        &both,
    );
    refused(
        "kraken:ETH-USDC",
        "binance:ETH-USDC",
        "the other venues are kraken",
        &both,
    );
    // The hedge would leave a leg open for which the other one waits.
    refused(
        "tolerance = 0.001",
        "tolerance = 0.0009",
        "pool_arb would wait for a leg that hedge leaves open",
        &["check"],
    );
    // The error of one file ends the part of its venue only.
    refused("kraken:ETH-USDC", "ETH-USDC", "another venue", &["check"]);
    let file = venues.chain.path("portfolio.toml");
    let unnamed = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, unnamed.replace("ONE = 'ETH', ", "")).unwrap();
    let (code, text) = venues.command("check", "portfolio.toml");
    assert_eq!(code, 77, "{text}");
    assert!(
        text.contains("it trades ETH and USDC, and ONE-TWO trades ONE and USDC"),
        "{text}"
    );
    assert_eq!(venues.chain.nonce(), 0);
    assert!(venues.kraken.books().orders.is_empty());
    let args = ["demo", "--strategy", "hedge"];
    let (code, _, log) = run(venues.chain.folder.path(), "demo-hedge", &args, SOON);
    assert_eq!(code, 2, "{log}");
    assert!(log.contains("what other venues hold"), "{log}");
}
