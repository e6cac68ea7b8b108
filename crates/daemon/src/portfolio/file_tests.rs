//! Files of portfolios: what they state, and what is refused.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;
use crate::config::At;
use crate::config::process::ProcessChoice;

fn parsed(text: &str) -> Result<PortfolioFile, String> {
    let source = Source {
        path: PathBuf::from("/etc/cambist/portfolio.toml"),
        text: text.to_owned(),
    };
    PortfolioFile::parse(&source).map_err(|error| error.to_string())
}

const GOOD: &str = r#"
config_version = 1
[portfolio]
currency = "USD"
at_par = ["USDC"]
exposure_max = "20000.0000019 USD"
loss_day_max = "500 USD"
[[portfolio.tokens]]
name = "BTC"
inventory_max = "1.5 BTC"
[[venue]]
name = "kraken"
config = "kraken.toml"
[venue.tokens]
XBT = "BTC"
[[venue]]
name = "base"
config = "/srv/base.toml"
"#;

#[test]
fn a_file_names_venues_and_limits() {
    let file = parsed(GOOD).unwrap();
    assert_eq!(file.exposure_max, Some(20_000_000_001), "rounded down");
    assert_eq!(file.loss_day_max, Some(500_000_000));
    assert_eq!(file.price_age_max_ms, 60_000);
    assert!(file.at_par.contains("USDC") && file.at_par.contains("USD"));
    let [kraken, base] = &file.venues[..] else {
        panic!("{:?}", file.venues)
    };
    assert_eq!(kraken.path, Path::new("/etc/cambist/kraken.toml"));
    assert_eq!(base.path, Path::new("/srv/base.toml"));
    assert_eq!(
        (kraken.names.name_of("XBT"), kraken.names.name_of("ETH")),
        ("BTC", "ETH")
    );
    assert_eq!(file.tokens[0].most, Decimal::new(15, 1));
}

/// A reload reads the files of the venues only, so that the reply names what the portfolio's file states otherwise.
#[test]
fn what_only_a_start_applies_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portfolio.toml");
    std::fs::write(&path, GOOD).unwrap();
    let file = PortfolioFile::load(&path).unwrap();
    assert_eq!(file.not_applied(), None);
    let same = GOOD.replace("[portfolio]", "# moved\n\n[portfolio]");
    std::fs::write(&path, same).unwrap();
    assert_eq!(file.not_applied(), None, "lines moved");
    for (from, to) in [
        ("\"USD\"", "\"EUR\""),
        ("at_par = [\"USDC\"]", "at_par = []"),
        ("\"20000.0000019 USD\"", "\"20000 USD\""),
        ("\"500 USD\"", "\"400 USD\""),
        (
            "[[portfolio.tokens]]",
            "price_age_max_s = 61\n[[portfolio.tokens]]",
        ),
        (
            "[[portfolio.tokens]]",
            "stored_age_max_s = 0\n[[portfolio.tokens]]",
        ),
        ("1.5 BTC", "1.6 BTC"),
        ("base.toml", "other.toml"),
        ("name = \"base\"", "name = \"main\""),
        ("XBT = \"BTC\"", "XBT = \"BTC\"\nXDG = \"DOGE\""),
    ] {
        let changed = GOOD.replace(from, to);
        assert_ne!(changed, GOOD, "{from}");
        // The unit of the limits follows the currency.
        let changed = match to {
            "\"EUR\"" => changed.replace(" USD\"", " EUR\""),
            _ => changed,
        };
        std::fs::write(&path, changed).unwrap();
        let text = file.not_applied().unwrap();
        assert!(
            text.contains("portfolio.toml has changed and was not applied"),
            "{to}: {text}"
        );
    }
    std::fs::write(&path, GOOD.replace("1.5 BTC", "1.5 ETH")).unwrap();
    let text = file.not_applied().unwrap();
    assert!(text.ends_with("the next start would refuse it"), "{text}");
}

/// The example and the files that it names, which leave their ports at the default.
#[test]
fn the_example_is_good_and_its_venues_get_ports_of_their_own() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/portfolio.toml");
    assert!(is_portfolio(Path::new(path)));
    let file = PortfolioFile::load(Path::new(path)).unwrap();
    let ports = file
        .daemons()
        .unwrap()
        .into_iter()
        .map(|daemon| daemon.metrics.port());
    assert_eq!(ports.collect::<Vec<_>>(), [9_464, 9_465]);
    let alone = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/kraken.toml");
    assert!(!is_portfolio(Path::new(alone)));
    assert!(!is_portfolio(Path::new("/nowhere.toml")));
}

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/portfolio.toml");

/// Why the example is refused after a change.
fn problem(from: &str, to: &str) -> Result<(), String> {
    let path = Path::new(EXAMPLE).to_owned();
    let example = std::fs::read_to_string(&path).unwrap();
    let text = example.replacen(from, to, 1);
    assert_ne!(text, example, "{from}");
    let file = PortfolioFile::parse(&Source { path, text }).unwrap();
    let daemons = file.daemons();
    daemons.map(drop).map_err(|error| error.to_string())
}

#[test]
fn names_and_prices_that_no_market_has_are_refused() {
    let typo = problem("XBT = \"BTC\"", "XTB = \"BTC\"").unwrap_err();
    assert!(
        typo.contains("names XTB, and the markets of venue kraken trade USD, XBT"),
        "{typo}"
    );
    let one = problem("XBT = \"BTC\"", "XBT = \"USD\"").unwrap_err();
    assert!(
        one.contains("calls both tokens of XBT-USD by the one name USD"),
        "{one}"
    );
    let unpriced = problem("at_par = [\"USDC\"]", "at_par = []").unwrap_err();
    assert!(
        unpriced
            .contains("USDC, the quote token of WETH-USDC at venue mainnet, has no price in USD"),
        "{unpriced}"
    );
    assert!(unpriced.contains("portfolio.exposure_max"), "{unpriced}");
    // Each of the two limits needs it, and without both of them nothing does.
    let example = std::fs::read_to_string(EXAMPLE).unwrap();
    let without = |limits: &[&str]| {
        let mut text = example.replace("at_par = [\"USDC\"]", "at_par = []");
        for limit in limits {
            text = text.replace(&format!("\n{limit} = "), &format!("\n# {limit} = "));
        }
        let path = Path::new(EXAMPLE).to_owned();
        let file = PortfolioFile::parse(&Source { path, text }).unwrap();
        file.daemons().map(drop).map_err(|error| error.to_string())
    };
    let losses = without(&["exposure_max"]).unwrap_err();
    assert!(
        losses.contains("portfolio.loss_day_max: USDC, the quote token of WETH-USDC"),
        "{losses}"
    );
    assert!(without(&["loss_day_max"]).is_err());
    assert_eq!(without(&["exposure_max", "loss_day_max"]), Ok(()));
}

#[test]
fn limits_below_every_order_are_refused() {
    let example = std::fs::read_to_string(EXAMPLE).unwrap();
    let checked = |from: &str, to: &str| {
        let text = example.replacen(from, to, 1);
        let path = Path::new(EXAMPLE).to_owned();
        let file = PortfolioFile::parse(&Source { path, text }).unwrap();
        let limits = file.check_limits(&file.daemons().unwrap());
        limits.map_err(|error| error.to_string())
    };
    assert_eq!(checked("", ""), Ok(()));
    let tiny = checked("\"20000 USD\"", "\"2 USD\"").unwrap_err();
    assert!(tiny.contains("portfolio.exposure_max is 2 USD"), "{tiny}");
    let limit = |most: &str| {
        let limited = format!(
            "name = \"BTC\"\ninventory_max = \"{most} BTC\"\n\n[[portfolio.tokens]]\nname = \"ETH\""
        );
        checked("name = \"ETH\"", &limited)
    };
    assert_eq!(limit("1"), Ok(()));
    let tiny = limit("0.0000001").unwrap_err();
    assert!(tiny.contains("inventory_max is 0.0000001 BTC"), "{tiny}");
}

#[test]
fn two_hedges_of_the_same_holdings_are_refused() {
    let file = PortfolioFile::load(Path::new(EXAMPLE)).unwrap();
    let mut daemons = file.daemons().unwrap();
    let market = &mut daemons[0].markets[0];
    (market.base, market.quote) = ("ETH".to_owned(), "USDC".to_owned());
    let read = ReadElsewhere {
        strategy: "hedge of XBT-USD".to_owned(),
        reader: cambist_core::MarketId(0),
        name: "mainnet:WETH-USDC".to_owned(),
    };
    let rules = file.rules(daemons.iter().map(Daemon::listed_markets).collect());
    let reading = Reading::of(&rules, 0, &read, "XBT-USD").unwrap();
    assert_eq!(hedged_twice(&daemons, &read, &reading), None);
    daemons[1].markets[0].strategies[0].name.value = "hedge".to_owned();
    let twice = hedged_twice(&daemons, &read, &reading).unwrap();
    assert!(twice.contains("keep one of them"), "{twice}");
    let other = ReadElsewhere {
        strategy: "ladder of XBT-USD".to_owned(),
        ..read
    };
    assert_eq!(hedged_twice(&daemons, &other, &reading), None);
}

/// The tolerance of the strategy of rounds is that of the hedge or larger.
#[test]
fn a_leg_that_a_hedge_leaves_open_is_not_waited_for() {
    let file = PortfolioFile::load(Path::new(EXAMPLE)).unwrap();
    let mut daemons = file.daemons().unwrap();
    for daemon in &mut daemons {
        let market = &mut daemon.markets[0];
        (market.base, market.quote) = ("ETH".to_owned(), "USDC".to_owned());
    }
    let read = ReadElsewhere {
        strategy: "pool_arb of WETH-USDC".to_owned(),
        reader: cambist_core::MarketId(0),
        name: "kraken:XBT-USD".to_owned(),
    };
    let rules = file.rules(daemons.iter().map(Daemon::listed_markets).collect());
    let reading = Reading::of(&rules, 1, &read, "WETH-USDC").unwrap();
    let hedge = &mut daemons[0].markets[0].strategies[0];
    "hedge".clone_into(&mut hedge.name.value);
    let text = "others = []\nbase_target = 1\nopen_amount_max = 2\ntolerance = 0.01";
    hedge.params = text.parse().unwrap();
    let found = |tolerance: &str| {
        let mut daemons = daemons.clone();
        let choice = &mut daemons[1].markets[0].strategies[0];
        "pool_arb".clone_into(&mut choice.name.value);
        let text = format!("base_target = 1\nround_amount_max = 0.5\n{tolerance}");
        choice.params = text.parse().unwrap();
        let place = (&daemons[1], "WETH-USDC");
        never_closed(&daemons, place, &read, &reading)
    };
    assert_eq!(found("tolerance = 0.01"), None);
    for smaller in ["tolerance = 0.0099", ""] {
        let why = found(smaller).unwrap();
        assert!(why.contains("would wait for a leg"), "{why}");
    }
}

/// Folders that exist, and folders that the first start will create.
#[test]
fn venues_with_one_state_folder_are_refused_in_every_spelling() {
    let folder = crate::testing::private_folder();
    let path = folder.path().canonicalize().unwrap();
    std::fs::create_dir(path.join("there")).unwrap();
    std::os::unix::fs::symlink(path.join("there"), path.join("link")).unwrap();
    let file = PortfolioFile::load(Path::new(EXAMPLE)).unwrap();
    let mut daemons = file.daemons().unwrap();
    daemons[0].store.dir = path.join("there");
    daemons[1].store.dir = path.join("link");
    let problems = file.misfits(&daemons);
    let same = problems
        .iter()
        .find(|problem| problem.what.contains("the same store.dir"));
    assert!(same.unwrap().what.contains("there"), "{problems:?}");
}

#[test]
fn one_account_under_two_names_and_one_tape_folder_are_refused() {
    let file = PortfolioFile::load(Path::new(EXAMPLE)).unwrap();
    let mut daemons = file.daemons().unwrap();
    let is_named = |daemons: &[Daemon], what: &str| {
        let mut problems = file.misfits(daemons).into_iter();
        problems.any(|problem| problem.what.contains(what))
    };
    let (account, tape) = ("are the same account", "the same tape.dir");
    assert!(!is_named(&daemons, account) && !is_named(&daemons, tape));
    daemons[1].venue = daemons[0].venue.clone();
    assert!(is_named(&daemons, account));
    daemons[1].venue.base_url.value.push_str("/other");
    assert!(!is_named(&daemons, account));
    daemons[1].tape = daemons[0].tape.clone();
    assert!(daemons[0].tape.is_some() && is_named(&daemons, tape));
}

/// What is private of one venue is private for the processes of all.
#[test]
fn a_process_that_could_read_keys_of_another_venue_is_refused() {
    let file = PortfolioFile::load(Path::new(EXAMPLE)).unwrap();
    let mut daemons = file.daemons().unwrap();
    assert_eq!(file.exposed(&daemons), []);
    let private = daemons[1].private_paths();
    assert!(private.len() > 2, "{private:?}");
    let choice = &mut daemons[0].markets[0].strategies[0];
    let at = choice.name.at;
    choice.process = Some(ProcessChoice {
        command: At {
            value: vec!["sh".to_owned()],
            at,
        },
        folder: PathBuf::from("/"),
        timeout_ms: 1_000,
        orders_max: 1,
        swaps: false,
        markets: At {
            value: Vec::new(),
            at,
        },
        memory_mb: 64,
        read: At {
            value: Vec::new(),
            at,
        },
        confine: true,
    });
    assert_eq!(file.exposed(&daemons), []);
    for path in private {
        let process = daemons[0].markets[0].strategies[0].process.as_mut();
        process.unwrap().read.value = vec![path.display().to_string()];
        let problems = file.exposed(&daemons);
        let what = &problems.first().unwrap().what;
        assert!(what.contains("could read"), "{what}");
    }
}

/// A limit counts one base token of each venue: what it would not count is refused.
#[test]
fn a_limit_that_would_not_count_all_of_a_token_is_refused() {
    let path = Path::new(EXAMPLE);
    assert_eq!(
        problem("WETH = \"ETH\"", "WETH = \"ETH\" # the same"),
        Ok(())
    );
    let named = "name = \"ETH\"\n# Most that may be held at all venues together after every fill. Required.\ninventory_max = \"2 ETH\"";
    let limit = |token: &str| format!("name = \"{token}\"\ninventory_max = \"2 {token}\"");
    let quoted = problem(named, &limit("USDC")).unwrap_err();
    assert!(
        quoted.contains("USDC is the quote token of WETH-USDC"),
        "{quoted}"
    );
    let unknown = problem(named, &limit("SOL")).unwrap_err();
    assert!(
        unknown.contains("no market of any venue has SOL"),
        "{unknown}"
    );
    let file = PortfolioFile::load(path).unwrap();
    let mut daemons = file.daemons().unwrap();
    assert_eq!(file.unlimitable("ETH", &daemons), None);
    let chain = daemons.last_mut().unwrap();
    let mut second = chain.markets[0].clone();
    second.base = "ETH".to_owned();
    chain.markets.push(second);
    let alike = file.unlimitable("ETH", &daemons).unwrap();
    assert!(
        alike.contains("calls ETH and WETH by the one name ETH"),
        "{alike}"
    );
}

#[test]
fn what_is_wrong_is_named() {
    for (from, to, what) in [
        ("\"base\"", "\"kraken\"", "two venues are named kraken"),
        ("500 USD", "500 EUR", "loss_day_max"),
        ("1.5 BTC", "1.5 ETH", "inventory_max"),
        ("1.5 BTC", "0 BTC", "inventory_max is 0"),
        ("20000.0000019 USD", "0 USD", "exposure_max is 0"),
        ("XBT = \"BTC\"", "XBT = 1", "venue.tokens.XBT"),
        ("name = \"kraken\"", "name = \"Kraken\"", "lower-case"),
        ("name = \"kraken\"", "name = \"portfolio\"", "must not be"),
        ("at_par", "at_parity", "at_parity"),
        (
            "20000.0000019 USD",
            "79000000000000000000000000000 USD",
            "too large",
        ),
    ] {
        let error = parsed(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(what), "{what}: {error}");
    }
    let twice = GOOD.replacen(
        "[[venue]]",
        "[[portfolio.tokens]]\nname = \"BTC\"\ninventory_max = \"9 BTC\"\n[[venue]]",
        1,
    );
    assert!(parsed(&twice).unwrap_err().contains("BTC is limited twice"));
    let none = "config_version = 1\n[portfolio]\n";
    assert!(parsed(none).unwrap_err().contains("[[venue]]"));
}

/// The example after a change, with the files that it names.
fn changed(from: &str, to: &str) -> Result<(PortfolioFile, Vec<Daemon>), String> {
    let path = Path::new(EXAMPLE).to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replacen(from, to, 1);
    let file = PortfolioFile::parse(&Source { path, text }).map_err(|error| error.to_string())?;
    let daemons = file.daemons().map_err(|error| error.to_string())?;
    Ok((file, daemons))
}

#[test]
fn a_token_at_par_is_one_that_is_traded_and_may_be_worth_one() {
    let at_par = |tokens: &str| {
        let list = format!("at_par = [{tokens}]");
        changed("at_par = [\"USDC\"]", &list).map(drop)
    };
    assert_eq!(at_par("\"USDC\""), Ok(()));
    assert_eq!(at_par("\"USDC\", \"USD\""), Ok(()), "the currency itself");
    let unknown = at_par("\"USDC\", \"TYPO\"").unwrap_err();
    assert!(
        unknown.contains("portfolio.at_par names TYPO, and no market"),
        "{unknown}"
    );
    let base = at_par("\"USDC\", \"ETH\"").unwrap_err();
    assert!(
        base.contains("portfolio.at_par names ETH, the base token of WETH-USDC at venue mainnet"),
        "{base}"
    );
    // The venue's own name for it is none of the portfolio's.
    let own = at_par("\"USDC\", \"WETH\"").unwrap_err();
    assert!(
        own.contains("portfolio.at_par names WETH, and no market"),
        "{own}"
    );
    // Between two tokens at par prices are about one.
    let one = |floor: i64, ceiling: i64| {
        may_be_one([floor, ceiling].map(|cents| Some(Decimal::new(cents, 2))))
    };
    assert!(one(90, 110) && one(100, 110) && one(90, 100));
    assert!(!one(101, 110) && !one(90, 99));
    assert!(may_be_one([None, None]));
}

#[test]
fn a_limit_of_zero_is_refused() {
    for key in ["exposure_max", "loss_day_max"] {
        let from = match key {
            "exposure_max" => "exposure_max = \"20000 USD\"",
            _ => "loss_day_max = \"500 USD\"",
        };
        let zero = changed(from, &format!("{key} = \"0 USD\"")).unwrap_err();
        assert!(zero.contains(&format!("portfolio.{key} is 0: ")), "{zero}");
    }
    let least = changed("loss_day_max = \"500 USD\"", "loss_day_max = \"0.01 USD\"");
    assert!(least.is_ok());
}

#[test]
fn a_base_token_without_a_limit_beside_others_is_named() {
    let unlimited = |from: &str, to: &str| {
        let (file, daemons) = changed(from, to).unwrap();
        file.unlimited(&daemons)
    };
    let [only] = &unlimited("", "")[..] else {
        panic!("BTC has no limit in the example");
    };
    assert_eq!(
        only,
        "no limit in portfolio.tokens bounds BTC (at kraken); if it is the same token as ETH, name it in venue.tokens"
    );
    let both =
        "[[portfolio.tokens]]\nname = \"BTC\"\ninventory_max = \"1 BTC\"\n\n[[portfolio.tokens]]\n";
    assert_eq!(unlimited("[[portfolio.tokens]]\n", both), [""; 0]);
    let none = "[[portfolio.tokens]]\n# Its name here. Required.\nname = \"ETH\"\n# Most that may be held at all venues together after every fill. Required.\ninventory_max = \"2 ETH\"\n";
    assert_eq!(
        unlimited(none, ""),
        [""; 0],
        "without any nothing is expected"
    );
}
