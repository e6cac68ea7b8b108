//! A signer of its own: a process that holds an account's signing key and signs what a market maker sends, within limits
//! of its own.
//!
//! The daemon asks over a Unix socket ([`wire`], [`client`]) with every field of an order, a join, an exit or a cancel.
//! The signer compares them with its own configuration ([`config`], [`rules`]) and with what it has signed before
//! ([`usage`], kept by [`journal`]), computes the hash itself and signs it ([`service`]). There is no request for
//! anything else: a daemon in foreign hands gets no signature for a withdrawal, a transfer or a new key, and for no more
//! orders than the limits allow. There is no network here, and no decision about prices.

pub mod cli;
pub mod client;
pub mod config;
pub mod journal;
pub mod rules;
pub mod server;
pub mod service;
pub mod usage;
pub mod wire;

#[cfg(test)]
mod testing;
