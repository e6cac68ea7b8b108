//! A small model of an EVM chain with one Uniswap pool, V2 or V3, as a venue of the simulated world: the fourth one.
//!
//! | file | what |
//! |---|---|
//! | `pair` | the pair's arithmetic, a second implementation |
//! | `range_pool` | a V3 pool's arithmetic, a second implementation |
//! | `positions`, `range_views` | V3's position manager, which executes calls, and what both state |
//! | `contracts` | what the contracts hold for our account; transactions are executed from the bytes that were signed |
//! | `mempool` | what waits, and what a node takes of the same nonce |
//! | `traders`, `range_traders` | others who move the pool |
//! | `blocks` | blocks at intervals, finality that lags, reorganisations |
//! | `node` | answers to JSON-RPC, by nodes that lag, forget and follow another branch |
//! | `link` | the daemon's side: the real `cambist_evm_venue::Account`, its key, its journal |
//! | `checks` | what must hold of a chain |
//!
//! Transactions are signed for real, with one key, and nodes read the bytes: a few hundred signatures an hour cost less
//! than the rest of a world.

pub(crate) mod blocks;
pub(crate) mod checks;
pub(crate) mod contracts;
pub(crate) mod link;
pub(crate) mod mempool;
pub(crate) mod node;
pub(crate) mod pair;
pub(crate) mod positions;
pub(crate) mod range_pool;
pub(crate) mod range_traders;
pub(crate) mod range_views;
pub(crate) mod traders;

use cambist_core::{Amount, TokenId, TokenSpec};
use cambist_evm::Address;

/// The chain's id.
pub(crate) const CHAIN_ID: u64 = 31_337;
/// Our account, of [`KEY`].
pub(crate) const OWN: Address = Address([
    0xf3, 0x9f, 0xd6, 0xe5, 0x1a, 0xad, 0x88, 0xf6, 0xf4, 0xce, 0x6a, 0xb8, 0x82, 0x72, 0x79, 0xcf,
    0xff, 0xb9, 0x22, 0x66,
]);
/// Its key, which everyone knows.
pub(crate) const KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
/// The router.
pub(crate) const ROUTER: Address = Address([0x99; 20]);
/// Both tokens, in the pair's order: the market's base and its quote.
pub(crate) const TOKENS: [Address; 2] = [Address([0x11; 20]), Address([0x22; 20])];
/// The pair, which is the contract of its shares as well.
pub(crate) const PAIR: Address = Address(crate::workload::pool::POOL);
/// The chain's coin among the numbers of tokens.
pub(crate) const COIN: TokenId = TokenId(90);

/// The coin as a token.
pub(crate) fn coin() -> TokenSpec {
    TokenSpec {
        id: COIN,
        symbol: "COIN".to_owned(),
        decimals: 18,
        precision: 18,
        minimum: 1,
        maximum: Amount::MAX,
        dust: 0,
        enabled: true,
    }
}
/// Receives the protocol's shares, where there are any.
pub(crate) const FEE_TO: Address = Address([0x55; 20]);

/// What has happened on a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainCounts {
    /// Joins and exits in finalized blocks that were executed.
    pub executed: u64,
    /// Those that were reverted.
    pub reverted: u64,
    /// Nonces that were signed for again and left.
    pub replaced: u64,
    /// Times that the newest blocks were replaced.
    pub reorganised: u64,
    /// Transactions of ours in blocks that were replaced.
    pub taken_out: u64,
    /// Times that the node followed another chain.
    pub forks: u64,
}
