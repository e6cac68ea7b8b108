//! EVM chains without I/O: transactions, calls of token and pool contracts, logs, receipts, JSON-RPC.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`transaction`] | transactions of type 2: bytes, hash, signature, read back | EIP-1559, EIP-2718, EIP-2, EIP-2681 |
//! | [`call`] | calls of ERC-20 tokens, of the Uniswap V2 factory, pair and router | contract ABI specification |
//! | [`abi`] | words: encoding of arguments, strict reading of results | contract ABI specification |
//! | [`log`] | events of tokens and pairs | the contracts' sources |
//! | [`receipt`], [`block`] | what a node reports of a transaction and of a block | execution-apis |
//! | [`rpc`] | requests and answers of a node | JSON-RPC 2.0, execution-apis |
//! | [`pair`] | what a V2 pair owes for shares | `UniswapV2Pair.sol` |
//! | [`v3`] | V3 pools and positions: mathematics, calls, events | v3-core, v3-periphery |
//!
//! Everything a node states is input from outside: it is read strictly, and what does not have the exact form is an
//! error. Amounts are integers of 256 bits ([`U256`]); what the engine counts has 128.
//!
//! RLP is `alloy-rlp`, which refuses what is not canonical, and 256-bit numbers are `ruint`: two small crates without
//! further dependencies of weight. Transactions, ABI and JSON-RPC are written here: the public libraries for them bring
//! more than a hundred crates, and of all of it this program signs one type of transaction and calls some thirty functions.

pub mod abi;
pub mod block;
pub mod call;
mod error;
pub mod log;
pub mod pair;
pub mod probe;
pub mod receipt;
pub mod rpc;
pub mod transaction;
pub mod v3;
pub mod wire;

pub use cambist_signing::ecdsa::EthKey;
pub use cambist_signing::{Address, Hash32, keccak256};
pub use error::Malformed;

/// A number of 256 bits.
pub type U256 = ruint::aliases::U256;

/// A number of 512 bits: a product of two.
pub type U512 = ruint::aliases::U512;
