//! What being late costs, and how to spend messages: quotes that grow stale ([`stale`]), spreads that
//! pay for it ([`widen`]), and budgets of messages split across markets ([`budget`]).
//!
//! Mids are Brownian with volatility σ, price/√s. Over long intervals markets follow that within a
//! tenth; at a fraction of a second jumps, not diffusion, do the damage
//! ([`crate::volatility::live::is_jump`]).

pub mod budget;
pub mod stale;
pub mod widen;
