//! The example files load, explain every key, and match each other.

use cambist_config::KnownKeys;
use std::path::Path;

use cambist_core::config::EmptyBook;
use cambist_core::{Price, TokenId};
use cambist_exchange::config::Exchange;

use super::example;
use crate::config::pool::ListedPool;
use crate::config::reader::Source;
use crate::config::{Daemon, Listed, Mode};

/// Every key must be in the text, set or commented out, below a comment that explains it.
fn explains(source: &Source, keys: &KnownKeys) {
    let lines: Vec<&str> = source.text.lines().collect();
    for key in keys.0.keys() {
        let last = key.rsplit('.').next().unwrap();
        let is_key = |line: &str| {
            let bare = line.trim_start_matches("# ");
            bare.split(" = ").next() == Some(last) && bare.contains(" = ")
                || bare.trim_matches(['[', ']']).rsplit('.').next() == Some(last)
                    && bare.starts_with('[')
        };
        let at = lines.iter().position(|line| is_key(line));
        let at = at.unwrap_or_else(|| panic!("{}: {key} is not shown", source.path.display()));
        if lines[at].trim_start_matches("# ").starts_with('[') {
            continue;
        }
        let above = lines[..at].iter().rev();
        let explained = above
            .take_while(|line| !line.is_empty())
            .any(|line| line.starts_with("# "));
        assert!(
            explained,
            "{}: {key} is not explained",
            source.path.display()
        );
    }
}

#[test]
fn the_daemons_examples_load_and_explain_every_key() {
    for name in ["demo.toml", "cambist.toml"] {
        let source = example(name);
        let mut keys = KnownKeys::default();
        let daemon = Daemon::parse_noting_keys(&source, &mut keys).unwrap();
        assert!(keys.0.len() > 60, "{name} knows {} keys", keys.0.len());
        explains(&source, &keys);
        let bound = daemon
            .bind_expected()
            .expect("decimals are stated")
            .unwrap();
        assert!(!bound.strategies.is_empty());
    }
}

/// Keys that other examples explain are not explained again.
#[test]
fn the_example_of_paper_trading_explains_what_only_it_has() {
    let source = example("paper.toml");
    let mut keys = KnownKeys::default();
    let daemon = Daemon::parse_noting_keys(&source, &mut keys).unwrap();
    assert_eq!(daemon.mode, Mode::Paper);
    keys.0.retain(|key, _| {
        let own = ["mode", "paper", "market.feed"];
        own.iter().any(|own| key.starts_with(own))
    });
    assert!(keys.0.len() > 15, "{keys:?}");
    explains(&source, &keys);
    let bound = daemon.bind_expected().unwrap().unwrap();
    assert!(!bound.strategies.is_empty());
    let feed = daemon.markets[0].feed.as_ref().unwrap();
    assert!(feed.url.value.contains("ETHUSDC"), "{feed:?}");
}

/// What a run on recorded data does not use is missing, and everything else asks for it.
#[test]
fn the_example_of_backtests_is_for_them_alone() {
    let source = example("backtest-csv.toml");
    let daemon = Daemon::load_for_data(&source.path).unwrap();
    assert!(daemon.bind_expected().unwrap().is_ok());
    let refused = Daemon::load_unpinned(&source.path).unwrap_err().to_string();
    for missing in ["venue.base_url is", "keys.api_key_file and", "store.dir is"] {
        assert!(refused.contains(missing), "{missing}: {refused}");
    }
    let named = Daemon::refuse_for_data(&source).unwrap_err().to_string();
    assert!(named.contains("`cambist backtest`"), "{named}");
    for other in ["cambist.toml", "paper.toml", "venue.toml"] {
        Daemon::refuse_for_data(&example(other)).unwrap();
    }
}

/// A file of another mode that states no source of depth is one, too, and an error of what is written is still one.
#[test]
fn runs_on_data_need_no_feed_and_check_what_is_written() {
    let folder = std::env::temp_dir().join(format!("cambist-for-data-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("file.toml");
    let text = example("backtest-csv.toml").text;
    let read = |more: &str| {
        let text = text.replacen(
            "config_version = 1\n",
            &format!("config_version = 1\n{more}"),
            1,
        );
        std::fs::write(&path, text).unwrap();
        Daemon::load_for_data(&path).map_err(|error| error.to_string())
    };
    assert_eq!(read("mode = \"paper\"\n").unwrap().mode, Mode::Paper);
    let kraken = read("[venue]\nkind = \"kraken\"\n").unwrap();
    assert!(kraken.venue.kraken().is_some());
    let bare = read("[venue]\nkind = \"exchange\"\n").unwrap();
    assert!(bare.venue.exchange("it").is_ok());
    let refused = read("[venue]\nbase_url = \"http://venue.example\"\n").unwrap_err();
    assert!(refused.contains("http only for this machine"), "{refused}");
    let refused = read("[keys]\napi_key_file = \"api_key\"\n").unwrap_err();
    assert!(refused.contains("must both be given"), "{refused}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_exchanges_example_loads_and_explains_every_key() {
    let source = example("venue.toml");
    let mut keys = KnownKeys::default();
    Exchange::parse_noting_keys(&source, &mut keys).unwrap();
    explains(&source, &keys);
}

/// The daemon's example must match the exchange's, and the demo's expected recovery time must hold.
#[test]
fn the_demo_fits_its_exchange() {
    let exchange = Exchange::parse(&example("venue.toml")).unwrap();
    let demo = Daemon::parse(&example("demo.toml")).unwrap();
    let (orders, dead) = (&demo.orders, demo.dead_after_s());
    assert_eq!(
        (orders.ttl_s, orders.refresh_before_s, orders.grace_s),
        (10, 4, 3)
    );
    assert!(
        dead < 15,
        "an unknown order must be proven gone within 15 s"
    );
    let link = demo.venue.exchange("the demo").unwrap();
    assert_eq!(link.account_id, exchange.maker.account_id);
    assert_eq!(link.owner, exchange.maker.owner);
    assert_eq!(link.exchange.as_deref(), Some(exchange.address.as_str()));
    let cambist_host::secrets::Keys::Files { api_key, eddsa_key } = &demo.keys else {
        panic!("the demo's keys are files");
    };
    assert_eq!(*api_key, exchange.maker.keys_dir.join("api_key"));
    assert_eq!(*eddsa_key, exchange.maker.keys_dir.join("eddsa_key"));
    let listed: Vec<_> = exchange
        .markets
        .iter()
        .map(|market| Listed {
            name: market.name.clone(),
            base: market.base.id,
            quote: market.quote.id,
            price_decimals: market.price_decimals,
            fee_in: market.fee_in,
            enabled: true,
        })
        .collect();
    let pools: Vec<_> = exchange
        .pools
        .iter()
        .map(|pool| ListedPool {
            name: pool.name.clone(),
            address: cambist_signing::Address::from_hex(&pool.address).unwrap().0,
            pooled: exchange
                .markets
                .iter()
                .flat_map(|market| [market.base.id, market.quote.id])
                .collect(),
            lp: pool.lp,
            status: 7,
            fee_bips: 20,
            in_range: false,
        })
        .collect();
    let bound = demo.bind(&exchange.tokens, &listed, &pools).unwrap();
    assert_eq!(bound.engine.ttl_ms, 10_000);
    assert_eq!(
        bound.engine.markets[0].empty,
        EmptyBook::Seed(Price(250_000))
    );
    let held = exchange.maker.funds[&TokenId(0)];
    assert!(bound.engine.markets[0].inventory_max > held);
    // Our rate limit is within the exchange's, so that our own budget never causes a 429.
    assert!(demo.budget.endpoint_per_s <= exchange.bounds.rates.key_and_endpoint.per_s);
    assert!(demo.budget.endpoint_burst <= exchange.bounds.rates.key_and_endpoint.burst);
    assert!(bound.load.refresh_share_bps <= 5_000);
}

#[test]
fn paths_are_taken_from_the_files_folder() {
    let demo = Daemon::parse(&example("demo.toml")).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    assert_eq!(demo.store.dir, folder.join("../target/two-terminals/state"));
    let service = Daemon::parse(&example("cambist.toml")).unwrap();
    assert_eq!(service.store.dir, Path::new("/var/lib/cambist/state"));
}

/// The socket of a signer takes the place of the signing key, beside an API key in a file or a credential.
#[test]
fn the_socket_of_a_signer_is_one_line() {
    use cambist_host::secrets::Keys;
    let keys = |from: &str, to: &str| {
        let mut source = example("cambist.toml");
        assert!(source.text.contains(from));
        source.text = source.text.replacen(from, to, 1);
        Daemon::parse(&source).unwrap().keys
    };
    let signer = "signer = \"unix:/run/cambist-signer/eth/socket\"\n";
    let socket = Path::new("/run/cambist-signer/eth/socket").to_owned();
    let credentials = "credentials = true\n";
    let found = keys(credentials, &format!("{signer}{credentials}"));
    let api_key = None;
    assert_eq!(
        found,
        Keys::Signer {
            api_key,
            socket: socket.clone()
        }
    );
    let file = "api_key_file = \"/etc/cambist/api_key\"\n";
    let found = keys(credentials, &format!("{signer}{file}"));
    let api_key = Some(Path::new("/etc/cambist/api_key").to_owned());
    assert_eq!(found, Keys::Signer { api_key, socket });
}
