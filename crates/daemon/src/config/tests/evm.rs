//! A file whose venue is pools on a chain: what it has, and what is refused where it is written.

use cambist_core::TokenId;
use cambist_core::venue::SlotRule;
use cambist_host::secrets::Keys;

use super::example;
use crate::config::Daemon;
use crate::config::reader::Source;
use crate::config::venue::VenueKind;
use crate::config::venue::evm::COIN_ID;

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
fn a_missing_kind_of_venue_is_the_only_error_and_is_named() {
    let error = refusal("kind = \"evm-pools\"\n", "");
    assert!(
        error.ends_with(
            "venue.kind is missing, and venue.router is a key of the kind \"evm-pools\": write kind = \"evm-pools\""
        ),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
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
fn a_step_above_the_largest_join_is_refused() {
    let problem = refusal("step_value = 400", "step_value = 500.5");
    let expected = "lp_manager's step_value is 500.5, and market.pool.move_value_max allows 500 per join or exit";
    assert!(problem.contains(expected), "{problem}");
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

/// The example of a range with one text in place of another.
fn range_refusal(from: &str, to: &str) -> String {
    let mut source = example("evm-ranges.toml");
    assert!(source.text.contains(from), "{from}");
    source.text = source.text.replacen(from, to, 1);
    let read = Daemon::parse(&source);
    let error = match read {
        Err(error) => error,
        Ok(daemon) => daemon.bind_expected().unwrap().expect_err(to),
    };
    error.to_string()
}

#[test]
fn the_example_of_a_range_has_one() {
    let daemon = Daemon::parse(&example("evm-ranges.toml")).unwrap();
    let link = daemon.venue.evm().unwrap();
    assert!(link.in_ranges);
    assert_eq!(link.called(), "venue.position_manager");
    assert!(link.gas().join > crate::config::venue::evm::GAS.join);
    let pool = daemon.markets[0].pool.as_ref().unwrap();
    let range = &pool.range.as_ref().unwrap().value;
    let ends = [range.range.lower(), range.range.upper()].map(cambist_evm::v3::tick::Tick::number);
    assert_eq!((range.fee_tier, ends), (500, [196_260, 200_310]));
    let bound = daemon.bind_expected().unwrap().unwrap();
    assert!(bound.pools[0].in_range && !bound.pools[0].swaps);
    assert_eq!(bound.engine.pools[0].collect_value, 25_000_000);
    assert_eq!(bound.warnings, [""; 0]);
    // A changed range is a changed pool.
    let mut other = example("evm-ranges.toml");
    other.text = other
        .text
        .replacen("upper_tick = 200310", "upper_tick = 200320", 1);
    let other = Daemon::parse(&other).unwrap();
    assert_ne!(
        other.markets[0].pool.as_ref().unwrap().values(),
        pool.values()
    );
}

#[test]
fn a_range_that_cannot_be_is_refused_where_it_is() {
    let range = "[market.pool.range]\n";
    for (from, to, problem) in [
        (
            "position_manager = \"0xc3",
            "router = \"0x7a250d5630b4cf539739df2c5dacb4c659f2488d\"\nposition_manager = \"0xc3",
            "venue.router is of V2 pools and venue.position_manager of V3 pools",
        ),
        (
            "position_manager = \"0xc36442b4a4522e871399cd717abdd847ab11fe88\"",
            "position_manager = \"0xc3\"",
            "venue.position_manager must be an address",
        ),
        (
            "position_manager = ",
            "router = ",
            "market.pool.range is of V3 pools, and venue.router of V2",
        ),
        (
            "fee_tier = 500",
            "fee_tier = 550",
            "market.pool.range.fee_tier must be whole hundreds",
        ),
        (
            "fee_tier = 500\n",
            "",
            "market.pool.range.fee_tier is missing",
        ),
        (
            "fee_tier = 500",
            "fee_tier = 0",
            "market.pool.range.fee_tier",
        ),
        (
            "lower_tick = 196260\n",
            "",
            "market.pool.range.lower_tick is missing",
        ),
        (
            "lower_tick = 196260",
            "lower_tick = -887273",
            "market.pool.range.lower_tick must be a tick",
        ),
        (
            "upper_tick = 200310",
            "upper_tick = 887273",
            "market.pool.range.upper_tick must be a tick",
        ),
        (
            "upper_tick = 200310",
            "upper_tick = 196260",
            "market.pool.range.upper_tick must be above lower_tick",
        ),
        (
            "slippage_bps = 1000\n",
            "slippage_bps = 1000\nswap_value_max = \"1 USDC\"\n",
            "market.pool.swap_value_max must be 0",
        ),
        (
            "name = \"lp_manager\"",
            "name = \"rebalance\"",
            "strategy rebalance swaps, and swaps with V3 pools are not supported",
        ),
        (
            "cool_down_s = 3600\n",
            "cool_down_s = 3600\nincome_half_life_s = 60\n",
            "income_half_life_s must be 0 for a range",
        ),
        (
            range,
            "[market.pool.ranges]\n",
            "market.pool.range is missing",
        ),
    ] {
        let text = range_refusal(from, to);
        assert!(text.contains(problem), "{to}: {text}");
    }
    // Fees of a range are owed, and those of any other pool stay in it.
    let text = refusal(
        "[market.pool]\n",
        "[market.pool]\ncollect_value = \"25 USDC\"\n",
    );
    let problem = "market.pool.collect_value must be 0: fees of this pool stay in it";
    assert!(text.contains(problem), "{text}");
    let text = refusal(
        "[[market.strategy]]",
        "[market.pool.range]\nfee_tier = 500\nlower_tick = 0\nupper_tick = 10\n\n[[market.strategy]]",
    );
    let problem = "market.pool.range is of V3 pools, and venue.router of V2";
    assert!(text.contains(problem), "{text}");
    let text = refusal(
        "router = \"0x7a250d5630b4cf539739df2c5dacb4c659f2488d\"\n",
        "",
    );
    let problem = "venue.router is missing: an address on the chain, or venue.position_manager";
    assert!(text.contains(problem), "{text}");
}
