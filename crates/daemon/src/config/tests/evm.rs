//! A file whose venue is pools on a chain: what it has, and what is refused where it is written.

use cambist_core::TokenId;
use cambist_core::venue::SlotRule;
use cambist_host::secrets::Keys;

use super::example;
use crate::config::Daemon;
use crate::config::evm::COIN_ID;
use crate::config::reader::Source;
use crate::config::venue::VenueKind;

/// The example with one text in place of another.
fn with(from: &str, to: &str) -> Source {
    let mut source = example("evm-pools.toml");
    assert!(source.text.contains(from), "{from}");
    source.text = source.text.replacen(from, to, 1);
    source
}

fn refusal(from: &str, to: &str) -> String {
    let read = Daemon::parse(&with(from, to));
    let error = match read {
        Err(error) => error,
        Ok(daemon) => daemon.bind_expected().unwrap().expect_err(to),
    };
    error.to_string()
}

#[test]
fn the_example_holds_shares_of_a_pool() {
    let daemon = Daemon::parse(&example("evm-pools.toml")).unwrap();
    assert_eq!(daemon.venue.kind(), VenueKind::EvmPools);
    assert_eq!(daemon.keys, Keys::None);
    let link = daemon.venue.evm().unwrap();
    assert_eq!((link.chain_id, link.block_s), (1, 12));
    assert_eq!(
        (link.fee_max, link.priority_fee),
        (60_000_000_000, 1_000_000_000)
    );
    assert_eq!(link.node_files.len(), 1);
    assert!(link.key_file.is_some());
    assert_eq!(link.tokens.len(), 2);
    assert_eq!(link.coin, "ETH");
    let bound = daemon.bind_expected().unwrap().unwrap();
    assert_eq!(bound.venue.slots, SlotRule::Consecutive { row: TokenId(0) });
    assert_eq!(bound.venue.clock.resolution_ms, 12_000);
    assert_eq!(bound.pools.len(), 1);
    assert_eq!(bound.warnings, [""; 0]);
    let limits = &bound.engine.markets[0];
    let orders = (
        limits.order_value_max,
        limits.order_qty_max.0,
        limits.open_orders_max,
    );
    assert_eq!(orders, (0, 0, 0), "there are no orders");
    assert_eq!(bound.load.orders_max, 0);
    assert!(daemon.venue.exchange("account transfer").is_err());
    assert!(daemon.venue.kraken().is_none());
}

#[test]
fn what_cannot_be_traded_or_signed_is_refused_where_it_is() {
    for (from, to, problem) in [
        ("chain_id = 1\n", "", "venue.chain_id"),
        (
            "chain_id = 1\n",
            "chain_id = 1\ntier = \"pro\"\n",
            "venue.tier is a key of venue.kind = \"kraken\"",
        ),
        (
            "chain_id = 1\n",
            "chain_id = 1\naccount_id = 7\n",
            "venue.account_id is a key of venue.kind = \"exchange\"",
        ),
        (
            "chain_id = 1\n",
            "chain_id = 1\nbase_url = \"https://x.y\"\n",
            "venue.base_url is a key of venue.kind = \"exchange\"",
        ),
        (
            "router = \"0x7a",
            "router = \"0x7",
            "venue.router must be an address",
        ),
        (
            "factory = \"0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f\"",
            "factory = \"0x0000000000000000000000000000000000000000\"",
            "venue.factory must be an address",
        ),
        (
            "node_file = \"/etc/cambist/evm/node\"",
            "",
            "venue.node_file is missing",
        ),
        (
            "fee_max_gwei = 60",
            "fee_max_gwei = 0",
            "venue.fee_max_gwei",
        ),
        (
            "priority_fee_gwei = 1\n",
            "priority_fee_gwei = 61\n",
            "venue.priority_fee_gwei must be at most venue.fee_max_gwei",
        ),
        (
            "USDC = \"0xa0",
            "USDC = \"0xzz",
            "venue.tokens.USDC must be the address",
        ),
        (
            "coin = \"ETH\"",
            "coin = \"WETH\"",
            "is the chain's coin and has no contract",
        ),
        (
            "eth_key_file = \"/etc/cambist/evm/key\"",
            "",
            "keys.eth_key_file",
        ),
        (
            "eth_key_file = ",
            "api_key_file = \"k\"\neth_key_file = ",
            "keys.api_key_file is a key of venue.kind = \"exchange\"",
        ),
        (
            "price_decimals = 2\n",
            "",
            "market.price_decimals is missing",
        ),
        (
            "price_decimals = 2\n",
            "price_decimals = 2\norder_value_max = \"1 USDC\"\n",
            "market.order_value_max has no meaning here",
        ),
        (
            "price_decimals = 2\n",
            "price_decimals = 2\nopen_orders_max = 1\n",
            "market.open_orders_max has no meaning here",
        ),
        (
            "name = \"lp_manager\"",
            "name = \"ladder\"",
            "strategy ladder places orders, and venue.kind = \"evm-pools\" has no order book",
        ),
        (
            "kind = \"evm-pools\"",
            "kind = \"exchange\"",
            "venue.router is a key of venue.kind = \"evm-pools\"",
        ),
        (
            "kind = \"evm-pools\"",
            "kind = \"kraken\"",
            "keys.eth_key_file is a key of venue.kind = \"evm-pools\"",
        ),
    ] {
        let text = refusal(from, to);
        assert!(text.contains(problem), "{to}: {text}");
    }
}

#[test]
fn gas_counts_as_a_token_that_a_market_trades() {
    const WRITTEN: &str = "gas_counts_as = \"WETH\"";
    let bound = |to: &str| {
        let daemon = Daemon::parse(&with(WRITTEN, to)).unwrap();
        daemon.bind_expected().unwrap().unwrap()
    };
    let counted = bound(WRITTEN);
    let charged_as = counted.venue.charged_as.unwrap();
    let base = counted.markets[0].base.id;
    assert_eq!((charged_as.charged, charged_as.token), (COIN_ID, base));
    let uncounted = bound("");
    assert_eq!(uncounted.venue.charged_as, None);
    let [warning] = &uncounted.warnings[..] else {
        panic!("{:?}", uncounted.warnings)
    };
    assert!(warning.contains("gas counts in no loss limit"), "{warning}");
    let unknown = refusal(WRITTEN, "gas_counts_as = \"ETH\"");
    let what = "venue.gas_counts_as must be a token of [venue.tokens] that is worth one ETH";
    assert!(unknown.contains(what), "{unknown}");
    let mut source = with(WRITTEN, "gas_counts_as = \"WBTC\"");
    let contract = "[venue.tokens]\nWBTC = \"0x2260fac5e5542a773aa44fbcfedf7c193bc2c599\"";
    source.text = source.text.replace("[venue.tokens]", contract);
    let untraded = Daemon::parse(&source).unwrap().bind_expected().unwrap();
    let untraded = untraded.unwrap_err().to_string();
    assert!(untraded.contains("no market trades WBTC"), "{untraded}");
}
