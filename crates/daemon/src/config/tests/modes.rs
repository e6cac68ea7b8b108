//! Requirements and refusals of the modes that do not trade.

use cambist_fill_model::QueueModel;
use cambist_quant::queue::Model;

use super::example;
use crate::config::feed::TimeForm;
use crate::config::reader::Source;
use crate::config::{Daemon, Mode};

/// The example with one text replaced.
fn with(from: &str, to: &str) -> Source {
    let mut source = example("paper.toml");
    assert!(source.text.contains(from), "{from}");
    source.text = source.text.replacen(from, to, 1);
    source
}

#[test]
fn a_feed_is_a_template_or_its_own_pointers() {
    let kraken = Daemon::parse(&example("paper.toml")).unwrap();
    let feed = kraken.markets[0].feed.as_ref().unwrap();
    assert_eq!(
        feed.url.value,
        "https://api.kraken.com/0/public/Depth?pair=ETHUSDC&count=100"
    );
    assert_eq!(feed.pointers.asks, "/result/*/asks");
    let own = with(
        "template = \"kraken\"\n",
        "url = \"https://x.example/b?a=1\"\nbids = \"/b\"\nasks = \"/a\"\nprice = \"/p\"\n\
         time = \"/t\"\ntime_unit = \"ns\"\nquantity_decimals = 18\n",
    );
    let own = Daemon::parse(&own).unwrap();
    let feed = own.markets[0].feed.as_ref().unwrap();
    assert_eq!(feed.url.value, "https://x.example/b?a=1");
    assert_eq!(
        (
            feed.pointers.price.as_str(),
            feed.pointers.quantity.as_str()
        ),
        ("/p", "/1")
    );
    let time = Some(("/t".to_owned(), TimeForm::Nanos));
    assert_eq!((&feed.pointers.time, feed.quantity_decimals), (&time, 18));
}

#[test]
fn without_a_feed_the_depth_is_the_venues() {
    let mut source = example("paper.toml");
    let begin = source.text.find("[market.feed]").unwrap();
    let end = begin + source.text[begin..].find("[[market.strategy]]").unwrap();
    source.text.replace_range(begin..end, "");
    let refused = Daemon::parse(&source).unwrap_err().to_string();
    assert!(refused.contains("market.feed is missing"), "{refused}");
    let venue = "[store]\n";
    let with_venue = "[venue]\nbase_url = \"https://venue.example/\"\n\n[store]\n";
    source.text = source.text.replacen(venue, with_venue, 1);
    let daemon = Daemon::parse(&source).unwrap();
    let feed = daemon.markets[0].feed.as_ref().unwrap();
    assert_eq!(
        feed.url.value,
        "https://venue.example/api/v3/depth?level=0&limit=50&market=ETH-USDC"
    );
    assert_eq!(feed.quantity_decimals, 18);
}

#[test]
fn mistakes_of_feeds_and_assumptions_are_named() {
    for (from, to, words) in [
        (
            "template = \"kraken\"",
            "template = \"krakn\"",
            "known templates are binance, coinbase, kraken, okx",
        ),
        ("symbol = \"ETHUSDC\"", "", "market.feed.symbol is missing"),
        ("template = \"kraken\"", "", "market.feed.bids is missing"),
        (
            "template = \"kraken\"",
            "template = \"kraken\"\nurl = \"http://kraken.example/\"",
            "must be https",
        ),
        (
            "template = \"kraken\"",
            "template = \"kraken\"\nbids = \"result\"",
            "\"result\" is not a JSON pointer",
        ),
        ("poll_ms = 1000", "poll_ms = 10", "poll_ms"),
        (
            "\"risk-averse\"",
            "\"fifo\"",
            "needs data that name every order",
        ),
        ("\"risk-averse\"", "\"fast\"", "is no queue model"),
        ("\"2.5 ETH\"", "\"2.5\"", "every amount names its token"),
        ("mode = \"paper\"", "mode = \"papers\"", "paper"),
        (
            "mode = \"paper\"",
            "mode = \"live\"",
            "market.feed is for the modes paper, record and observe",
        ),
        ("[store]", "[keys]\n[store]", "takes no keys: remove [keys]"),
    ] {
        let refused = Daemon::parse(&with(from, to)).unwrap_err().to_string();
        assert!(refused.contains(words), "{from} -> {to}: {refused}");
    }
    let log = Daemon::parse(&with("\"risk-averse\"", "\"log\"")).unwrap();
    assert_eq!(log.paper.queue_model, QueueModel::Estimated(Model::Log));
}

#[test]
fn the_command_lines_mode_takes_the_place_of_the_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    let paper = folder.join("paper.toml");
    for mode in [Mode::Paper, Mode::Record, Mode::Observe] {
        assert_eq!(Daemon::load_for(&paper, Some(mode)).unwrap().mode, mode);
    }
    assert_eq!(Daemon::load_for(&paper, None).unwrap().mode, Mode::Paper);
    assert!(Daemon::load_for(&paper, Some(Mode::Live)).is_err());
    // A daemon's file has keys, which other modes refuse.
    let demo = folder.join("demo.toml");
    assert_eq!(Daemon::load_for(&demo, None).unwrap().mode, Mode::Live);
    assert!(Daemon::load_for(&demo, Some(Mode::Paper)).is_err());
}
