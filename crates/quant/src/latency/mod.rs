//! The cost of latency, and how to spend messages: stale quotes ([`stale`]), spreads that cover
//! their cost ([`widen`]), and budgets of messages split across markets ([`budget`]).
//!
//! Mids are Brownian with volatility σ, price/√s. Over long intervals markets follow that within a
//! tenth; within a fraction of a second losses come from jumps, not diffusion
//! ([`crate::volatility::live::is_jump`]).

pub mod budget;
pub mod stale;
pub mod widen;
