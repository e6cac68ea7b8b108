//! A daemon that holds shares of a pool on a chain, against a node of these tests: the program, JSON-RPC over HTTP,
//! kills, and every fault that a node and a chain can have.
//!
//! The node is a model of a chain with one Uniswap V2 pool (`contracts`) and one V3 pool (`contracts::ranges`), of blocks and what waits for them (`chain`), and
//! an HTTP server that can answer anything (`node`). It executes the bytes that the daemon signed, and its books are
//! compared with the daemon's. `tests/external/evm` does the same with a public node and the published contracts.

mod chain;
pub mod contracts;
mod demo;
mod life;
mod node;
mod ranges;
mod rpc;
mod running;
pub mod stage;
mod starts;
mod swaps;
mod two_nodes;
