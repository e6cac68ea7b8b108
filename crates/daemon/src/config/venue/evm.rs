//! What is configured of Uniswap V2 pools, or of ranges of V3 pools, on an EVM chain.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cambist_core::config::MarketConfig;
use cambist_core::token::AMOUNT_MAX;
use cambist_core::venue::ChargedAs;
use cambist_core::{MarketSpec, TokenId, TokenSpec, VenueRules};
use cambist_evm::Address;
use cambist_evm_venue::chain::GasLimits;
use cambist_evm_venue::rules;
use cambist_strategies::Promise;

use super::super::limits::Written;
use super::super::market::{Expected, StrategyChoice};
use super::super::mode::Mode;
use super::super::pool::Pool;
use super::super::reader::{At, Problem, Section};
use super::kinds::KindDescription;
use super::{Read, VenueTerms, refuse_keys};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    name: "evm-pools",
    page: "docs/evm-pools.md",
    market_example: "WETH-USDC",
    venue_keys: &[
        ROUTER,
        POSITION_MANAGER,
        "factory",
        "chain_id",
        "account",
        NODE,
        SECOND_NODE,
        BLOCK,
        FEE_MAX,
        PRIORITY_FEE,
        "coin",
        "tokens",
        "gas_counts_as",
        "accept_unprobed_tokens",
    ],
    secret_keys: &[KEY],
    keys_found: "the files of the key and of the nodes exist, and only this user can read them",
    keys_help: "docs/evm-pools.md describes the files",
    unreached_help: "docs/evm-pools.md describes what a start compares",
    start_help: "docs/evm-pools.md describes what a start compares",
};

const NODE: &str = "node_file";
const SECOND_NODE: &str = "second_node_file";
const BLOCK: &str = "block_s";
const FEE_MAX: &str = "fee_max_gwei";
const PRIORITY_FEE: &str = "priority_fee_gwei";
/// The contract that is called: that of V2, or that of V3.
const ROUTER: &str = "router";
const POSITION_MANAGER: &str = "position_manager";
/// The key of `[keys]`.
const KEY: &str = "eth_key_file";

/// The number of the coin, and of the account's nonces.
pub const COIN_ID: TokenId = TokenId(0);
/// Most gas of each kind of transaction: about twice what the published contracts use.
pub const GAS: GasLimits = GasLimits {
    join: 400_000,
    exit: 400_000,
    swap: 300_000,
    approve: 100_000,
};
/// The same for ranges of V3 pools. A first join also makes a position and the ends of its range.
pub const RANGE_GAS: GasLimits = GasLimits {
    join: 900_000,
    exit: 600_000,
    ..GAS
};
/// The fee of every Uniswap V2 pool, ten-thousandths.
pub const FEE_BIPS: u16 = 30;
/// Base units of the coin in a gwei.
const GWEI: u128 = 1_000_000_000;
/// Decimals of the coin of every chain with an EVM.
pub const COIN_DECIMALS: u8 = 18;

/// An account on a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvmLink {
    /// The chain.
    pub chain_id: u64,
    /// The account that signs.
    pub account: Address,
    /// The contract that joins, exits and swaps call: the router of V2, or the position manager of V3.
    pub router: Address,
    /// Whether that is the position manager: shares are liquidity in ranges.
    pub in_ranges: bool,
    /// The factory that it and every pool belong to.
    pub factory: Address,
    /// Contracts of tokens by symbol.
    pub tokens: BTreeMap<String, Address>,
    /// Symbol of the chain's coin.
    pub coin: String,
    /// Symbol of the token of a market that gas counts as in losses.
    pub gas_counts_as: Option<At<String>>,
    /// Files with the URLs of one or two nodes.
    pub node_files: Vec<PathBuf>,
    /// Time between two blocks.
    pub block_s: u64,
    /// Most that is offered per gas, in base units of the coin.
    pub fee_max: u128,
    /// What is offered to the producer of a block, per gas.
    pub priority_fee: u128,
    /// Tokens are traded of which no node could try what a transfer moves.
    pub accept_unprobed_tokens: bool,
    /// The file with the account's key; `None` in a mode that does not trade.
    pub key_file: Option<PathBuf>,
}

/// The key of the contract that is called: the pools of a file are of one kind.
fn called(section: &mut Section<'_, '_>) -> &'static str {
    let called = match [ROUTER, POSITION_MANAGER].map(|key| section.has(key)) {
        [true, true] => {
            let what = "venue.router is of V2 pools and venue.position_manager of V3 pools: remove one of them; a daemon has pools of one kind";
            section.problem(section.at(), what);
            ROUTER
        }
        [false, true] => POSITION_MANAGER,
        _ => ROUTER,
    };
    let other = if called == ROUTER {
        POSITION_MANAGER
    } else {
        ROUTER
    };
    section.opt::<String>(other);
    called
}

/// The coin, what gas counts as, and the contracts of tokens.
struct Tokens {
    coin: String,
    gas_counts_as: Option<At<String>>,
    contracts: BTreeMap<String, Address>,
}

fn tokens(section: &mut Section<'_, '_>) -> Tokens {
    let coin = section.or("coin", "ETH".to_owned());
    let tokens = section.section("tokens");
    let (written, places) = tokens.verbatim();
    let mut contracts = BTreeMap::new();
    for (symbol, value) in written {
        let address = value.as_str().and_then(|text| Address::from_hex(text).ok());
        if let Some(address) = address {
            contracts.insert(symbol, address);
        } else {
            let at = places.get(&symbol).copied().unwrap_or_else(|| tokens.at());
            let what = format!("venue.tokens.{symbol} must be the address of its contract");
            tokens.problem(at, what);
        }
    }
    if contracts.contains_key(&coin.value) {
        let what = format!(
            "{} is the chain's coin and has no contract; its wrapped form has another symbol",
            coin.value
        );
        tokens.problem(coin.at, what);
    }
    let gas_counts_as = section.opt::<String>("gas_counts_as");
    if let Some(symbol) = &gas_counts_as
        && !contracts.contains_key(&symbol.value)
    {
        let what = format!(
            "venue.gas_counts_as must be a token of [venue.tokens] that is worth one {}: its wrapped form",
            coin.value
        );
        tokens.problem(symbol.at, what);
    }
    Tokens {
        coin: coin.value,
        gas_counts_as,
        contracts,
    }
}

/// Reads the keys of `[venue]`.
pub(super) fn read(section: &mut Section<'_, '_>, folder: &Path) -> Read {
    let link = read_link(section, folder);
    Read {
        // The URLs of nodes are secrets: messages name the chain.
        base_url: link.as_ref().map(|link| At {
            value: format!("chain {}", link.chain_id),
            at: section.at(),
        }),
        terms: link.map(VenueTerms::Evm),
        pinned: false,
    }
}

fn read_link(section: &mut Section<'_, '_>, folder: &Path) -> Option<EvmLink> {
    let called = called(section);
    let addresses = ["account", called, "factory"].map(|key| {
        let text = section.opt::<String>(key);
        if text.is_none() && !section.has(key) {
            let or = if key == ROUTER {
                ", or venue.position_manager for ranges of V3 pools"
            } else {
                ""
            };
            let what = format!("venue.{key} is missing: an address on the chain{or}");
            section.missing(key, what);
        }
        let text = text?;
        let found = Address::from_hex(&text.value).ok();
        if found.is_none_or(|address| address == Address::ZERO) {
            let what = format!("venue.{key} must be an address: 0x and 40 hexadecimal digits");
            section.problem(text.at, what);
            return None;
        }
        found
    });
    let chain_id = section.opt::<u64>("chain_id");
    if chain_id.is_none() && !section.has("chain_id") {
        section.missing(
            "chain_id",
            "venue.chain_id is missing: the chain that is signed for",
        );
    }
    let block_s = section.number(BLOCK, 12, 1..=60);
    let fee_max = section.number(FEE_MAX, 100, 1..=100_000);
    let priority_fee = section.number(PRIORITY_FEE, 1, 0..=1_000);
    if priority_fee.value > fee_max.value {
        let what = format!("venue.{PRIORITY_FEE} must be at most venue.{FEE_MAX}");
        section.problem(priority_fee.at, what);
    }
    let files = [NODE, SECOND_NODE].map(|key| section.opt::<PathBuf>(key));
    let [node, second] = files;
    if node.is_none() {
        section.missing(
            NODE,
            "venue.node_file is missing: a file with the URL of a node, which is a secret",
        );
    }
    let accept_unprobed_tokens = section.or("accept_unprobed_tokens", false);
    let tokens = tokens(section);
    let [account, router, factory] = addresses;
    let node_files = [Some(node?), second].into_iter().flatten();
    Some(EvmLink {
        chain_id: chain_id?.value,
        account: account?,
        router: router?,
        in_ranges: called == POSITION_MANAGER,
        factory: factory?,
        tokens: tokens.contracts,
        coin: tokens.coin,
        gas_counts_as: tokens.gas_counts_as,
        node_files: node_files.map(|file| folder.join(file.value)).collect(),
        block_s: block_s.value,
        fee_max: u128::from(fee_max.value) * GWEI,
        priority_fee: u128::from(priority_fee.value) * GWEI,
        accept_unprobed_tokens: accept_unprobed_tokens.value,
        key_file: None,
    })
}

/// Reads `[keys]`.
#[expect(
    clippy::option_option,
    reason = "invalid, or none in a mode that does not trade"
)]
pub(super) fn read_key(
    section: &mut Section<'_, '_>,
    folder: &Path,
    mode: Mode,
) -> Option<Option<PathBuf>> {
    if mode.trades() {
        let file = section.opt::<PathBuf>(KEY);
        if file.is_none() && !section.has(KEY) {
            let what = format!("keys.{KEY} is missing: a file with the account's private key");
            section.missing(KEY, what);
        }
        let file = file?;
        return Some(Some(folder.join(file.value)));
    }
    refuse_keys(section, mode);
    section.opt::<PathBuf>(KEY);
    Some(None)
}

impl EvmLink {
    /// The key of the contract that is called.
    pub const fn called(&self) -> &'static str {
        if self.in_ranges {
            "venue.position_manager"
        } else {
            "venue.router"
        }
    }

    /// Most gas of each kind of transaction.
    pub const fn gas(&self) -> GasLimits {
        if self.in_ranges { RANGE_GAS } else { GAS }
    }

    /// What the venue guarantees.
    pub fn rules(&self) -> VenueRules {
        rules::rules(COIN_ID, self.block_s * 1_000, self.in_ranges)
    }

    /// The chain's coin.
    pub fn coin(&self) -> TokenSpec {
        TokenSpec {
            id: COIN_ID,
            symbol: self.coin.clone(),
            decimals: COIN_DECIMALS,
            precision: COIN_DECIMALS,
            minimum: 1,
            maximum: AMOUNT_MAX,
            dust: 0,
            enabled: true,
        }
    }

    /// What the gas of one join, exit and swap may cost in base units of the coin: with leftovers of all permissions, and
    /// all gas used at the highest fee.
    pub fn gas_costs(&self) -> [u128; 3] {
        let most = self.gas();
        let of = |gas: u64, tokens: u64| {
            // One call takes a leftover back, another gives the permission.
            let all = gas + 2 * tokens * most.approve;
            u128::from(all).saturating_mul(self.fee_max)
        };
        // A position manager takes liquidity of its caller without a permission.
        let shares = u64::from(!self.in_ranges);
        [of(most.join, 2), of(most.exit, shares), of(most.swap, 1)]
    }

    /// What an operator should know of gas.
    pub(super) fn gas_warning(&self) -> Option<String> {
        self.gas_counts_as.is_none().then(|| {
            format!(
                "gas counts in no loss limit: venue.gas_counts_as names no token that is worth one {}",
                self.coin
            )
        })
    }

    /// What gas counts as in losses.
    pub(super) fn charged_as(&self, markets: &[MarketSpec]) -> Result<Option<ChargedAs>, Problem> {
        let Some(symbol) = &self.gas_counts_as else {
            return Ok(None);
        };
        let traded = markets.iter().flat_map(|spec| [&spec.base, &spec.quote]);
        let found = traded
            .into_iter()
            .find(|token| token.symbol == symbol.value);
        let charged_as = found.and_then(|token| ChargedAs::new(&self.coin(), token));
        let problem = || Problem {
            at: symbol.at,
            what: format!(
                "venue.gas_counts_as: no market trades {}, so that gas would count in no loss",
                symbol.value
            ),
        };
        charged_as.map(Some).ok_or_else(problem)
    }
}

/// Limits of orders are 0: there are none.
pub(super) fn without_orders(
    section: &mut Section<'_, '_>,
    limits: &mut MarketConfig,
    amounts: &mut Written,
) {
    let why = "venue.kind = \"evm-pools\" places no orders; remove it";
    amounts.none(section, "order_value_max", why);
    if section.has("open_orders_max") {
        let what = format!("market.open_orders_max has no meaning here: {why}");
        section.problem(section.at(), what);
    }
    limits.open_orders_max = 0;
}

/// Refuses what needs an order book: there is a pool only.
pub(super) fn check_market(
    section: &Section<'_, '_>,
    strategies: &[StrategyChoice],
    expected: &Expected,
) {
    if !section.has("pool") {
        let what =
            "venue.kind = \"evm-pools\" trades with pools only: the market needs [market.pool]";
        section.missing("pool", what);
    }
    if expected.price_decimals.is_none() {
        let what = "market.price_decimals is missing: a pool has no steps of prices";
        section.missing("price_decimals", what);
    }
    for choice in strategies {
        let name = &choice.name.value;
        let info = cambist_strategies::find(name);
        let needs_no_book = choice.process.as_ref().map_or_else(
            // A strategy of a weight swaps where there is no book.
            || {
                info.is_some_and(|info| {
                    let swaps_only = info.swaps() && info.two_legs_with(&choice.params).is_none();
                    swaps_only || matches!(info.promise, Promise::PoolShares | Promise::Weight)
                })
            },
            |process| process.swaps,
        );
        if !needs_no_book {
            let what = format!(
                "strategy {name} places orders, and venue.kind = \"evm-pools\" has no order book: use lp_manager, rebalance, pool_arb with the book of another venue, or a process with swaps = true"
            );
            section.problem(choice.name.at, what);
        }
    }
}

/// Refuses what ranges of V3 pools do not have, and ranges of V2 pools.
pub(super) fn check_range(
    section: &Section<'_, '_>,
    link: &EvmLink,
    pool: &Pool,
    strategies: &[StrategyChoice],
) {
    let Some(range) = &pool.range else {
        if link.in_ranges {
            let what = "market.pool.range is missing: venue.position_manager is of V3, whose liquidity is in ranges";
            section.problem(pool.name.at, what);
        }
        return;
    };
    if !link.in_ranges {
        let what = "market.pool.range is of V3 pools, and venue.router of V2: set venue.position_manager instead, and venue.factory to its factory";
        section.problem(range.at, what);
        return;
    }
    let swaps = pool.amounts.of("swap_value_max");
    if let Some(most) = swaps.filter(|most| !most.value.number.is_zero()) {
        let what = "market.pool.swap_value_max must be 0: swaps with V3 pools are not supported";
        section.problem(most.at, what);
    }
    for choice in strategies {
        let name = &choice.name.value;
        let info = cambist_strategies::find(name);
        if info.is_none_or(|info| info.promise != Promise::PoolShares) {
            let what = format!(
                "strategy {name} swaps, and swaps with V3 pools are not supported: use lp_manager"
            );
            section.problem(choice.name.at, what);
        }
        let half_life = choice.params.get(INCOME_KEY);
        if half_life.is_some_and(|value| value.as_integer() != Some(0)) {
            let what = format!(
                "{INCOME_KEY} must be 0 for a range: its fees do not stay in the pool, so that no income is seen in its curve"
            );
            section.problem(choice.place(INCOME_KEY), what);
        }
    }
}

/// The parameter with which lp_manager compares what a pool earns.
const INCOME_KEY: &str = "income_half_life_s";
