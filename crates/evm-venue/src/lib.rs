//! Uniswap V2 pools and ranges of V3 pools on an EVM chain as a venue of the engine. Translation only: no node, no clock, no decisions.
//!
//! | module | what |
//! |---|---|
//! | [`rules`] | what the chain guarantees, and what a node's answers prove of it |
//! | [`chain`] | account, router, tokens and pools; what may be signed |
//! | [`seal`] | joins, exits, swaps, approvals and burns as signed transactions |
//! | [`fees`] | fees per gas, and those of a replacement |
//! | [`nonces`] | the row of nonces: what was signed for each, what became of it, which one to burn |
//! | [`finality`] | the newest and the finalized block: the venue's clock, complete lists, a chain that forks |
//! | [`settle`] | finalized receipts as reports, to the unit; `settle_range` those of ranges |
//! | [`range`] | a range of a V3 pool: the account's position, and what its liquidity is due |
//! | [`account`] | all of that together as a value: facts in, bytes and answers out |
//! | [`answers`] | the engine's requests, answered from facts of nodes and the account |
//! | [`resume`] | where a start goes on |
//! | [`depth`] | the curve of a pool as a depth |
//! | [`curve`] | what a V3 pool trades between prices |
//! | [`list`] | pages of reports |
//!
//! The facts about V3 pools that answers need are those of `range_answers`.
//!
//! The chain is the venue; a node is a way to it. What a node answers about bytes that it was sent is no evidence: only
//! finalized blocks are. A transaction that was mined and is not final is reported as nothing, so that a reorganisation
//! takes nothing back.

pub mod account;
pub mod answers;
pub mod bundle;
pub mod chain;
pub mod curve;
pub mod depth;
pub mod fees;
pub mod finality;
pub mod list;
pub mod nonces;
pub mod range;
mod range_answers;
pub mod resume;
pub mod rules;
pub mod seal;
pub mod settle;
mod settle_range;
