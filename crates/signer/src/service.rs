//! The signer as a value: a request in, an answer out.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_signing::{Field, Hash32, SecretKey, request_signature};
use serde_json::json;

use crate::journal::{Journal, JournalError};
use crate::rules::{Outflow, Rules};
use crate::usage::{Entry, Usage};
use crate::wire::{Answer, Identity, Refusal, Request, Word};

/// By how much the clock may be behind the newest time, in seconds.
const CLOCK_BACK_S: u64 = 2;

/// Unix seconds.
pub type UnixClock = Box<dyn Fn() -> u64 + Send + Sync>;

/// Key, rules and what was signed.
pub struct Service {
    key: SecretKey,
    rules: Rules,
    clock: UnixClock,
    state: Mutex<State>,
}

struct State {
    usage: Usage,
    journal: Journal,
}

impl Service {
    /// A signer with what was read of earlier runs.
    pub fn new(
        key: SecretKey,
        rules: Rules,
        (journal, usage): (Journal, Usage),
        clock: UnixClock,
    ) -> Self {
        Self {
            key,
            rules,
            clock,
            state: Mutex::new(State { usage, journal }),
        }
    }

    /// The rules.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Answers a request.
    pub fn answer(&self, request: &Request) -> Answer {
        let answered = match request {
            Request::Identity => Ok(Answer::Identity(self.identity())),
            Request::Limits => Ok(Answer::Limits(self.limits().to_string())),
            Request::Order(order) => self.within(|now_s| {
                let outflows = self.rules.order(order, now_s)?;
                let hash = order.hash();
                Ok(Wanted::new(
                    hash,
                    hash.message(),
                    order.valid_until,
                    &outflows,
                ))
            }),
            Request::Join(pool, join) => self.within(|now_s| {
                let (domain, outflows) = self.rules.join(*pool, join, now_s)?;
                let message = join.message(&domain);
                let hash = join.digest(&domain);
                Ok(Wanted::new(hash, message, join.valid_until, &outflows))
            }),
            Request::Exit(pool, exit) => self.within(|now_s| {
                let (domain, outflows) = self.rules.exit(*pool, exit, now_s)?;
                let message = exit.message(&domain);
                let hash = exit.digest(&domain);
                Ok(Wanted::new(hash, message, exit.valid_until, &outflows))
            }),
            Request::Cancel(cancel) => self
                .rules
                .cancel(cancel)
                .and_then(|()| self.signature(&request_signature::message(&cancel.canonical()))),
        };
        answered.unwrap_or_else(Answer::Refused)
    }

    /// Makes the record durable and signs nothing any more.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn close(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        // The time of the write: the next start compares the newest record with the last change of the file, and the
        // last request may have been long ago.
        let now_s = state.usage.now_s().max((self.clock)());
        state.journal.close(now_s)
    }

    /// Judges, counts and records a request, and then signs it. What was signed before and has not expired is signed
    /// again without counting it again: the bytes are the same.
    fn within(
        &self,
        judge: impl FnOnce(u64) -> Result<Wanted, Refusal>,
    ) -> Result<Answer, Refusal> {
        let message = {
            let mut state = self.state();
            let state = &mut *state;
            let wall_s = (self.clock)();
            state.usage.advance(wall_s);
            let now_s = state.usage.now_s();
            if wall_s.saturating_add(CLOCK_BACK_S) < now_s {
                return Err(Refusal {
                    word: Word::Clock,
                    text: format!(
                        "the clock is {} s behind the newest signature",
                        now_s - wall_s
                    ),
                });
            }
            let wanted = judge(now_s)?;
            if !state.usage.knows(&wanted.hash.0) {
                state.usage.check(&self.rules, &wanted.outflows)?;
                let entries = wanted.entries(now_s);
                let recorded = state.journal.record(&self.rules, &entries, now_s);
                recorded.map_err(|error| unrecorded(&error))?;
                for entry in &entries {
                    state.usage.add(entry);
                }
                let compacted = state.journal.compact(&state.usage);
                compacted.map_err(|error| unrecorded(&error))?;
            }
            wanted.message
        };
        self.signature(&message)
    }

    fn signature(&self, message: &Field) -> Result<Answer, Refusal> {
        let signature = self.key.sign(message).map_err(|error| Refusal {
            word: Word::Signing,
            text: error.to_string(),
        })?;
        Ok(Answer::Signature(signature))
    }

    fn identity(&self) -> Identity {
        Identity {
            account_id: self.rules.account_id,
            owner: self.rules.owner,
            exchange: self.rules.exchange,
            chain_id: self.rules.chain_id,
            public_key: self.key.public(),
            base_url: self.rules.base_url.clone(),
        }
    }

    fn limits(&self) -> serde_json::Value {
        let mut state = self.state();
        state.usage.advance((self.clock)());
        let tokens = self.rules.tokens.iter().map(|token| {
            let [unexpired, window] = state.usage.used(token.id).map(|units| token.whole(units));
            json!({
                "id": token.id,
                "symbol": token.symbol,
                "decimals": token.decimals,
                "signed_unexpired": unexpired,
                "signed_unexpired_max": token.whole(token.unexpired_max),
                "window": window,
                "window_max": token.whole(token.window_max),
            })
        });
        let tokens: Vec<_> = tokens.collect();
        let markets = self.rules.markets.iter().map(|market| {
            json!({
                "name": market.name,
                "base": market.base,
                "quote": market.quote,
                "sell_price_min": market.sell_min.text,
                "buy_price_max": market.buy_max.text,
            })
        });
        let pools = self.rules.pools.iter();
        let pools = pools.map(|pool| json!({"name": pool.name, "address": pool.address.to_hex()}));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "ttl_max_s": self.rules.ttl_max_s,
            "max_fee_bips": self.rules.max_fee_bips,
            "window_s": self.rules.window_s,
            "signatures_unexpired": state.usage.count(),
            "tokens": tokens,
            "markets": markets.collect::<Vec<_>>(),
            "pools": pools.collect::<Vec<_>>(),
        })
    }

    /// A thread that panicked had the journal in an unknown state only if it was writing; a write that was not completed
    /// is found by the next start as by any crash.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that the rules allow.
struct Wanted {
    hash: Hash32,
    message: Field,
    valid_until_s: u64,
    outflows: Vec<Outflow>,
}

impl Wanted {
    fn new(hash: Hash32, message: Field, valid_until: u32, outflows: &[Outflow]) -> Self {
        Self {
            hash,
            message,
            valid_until_s: valid_until.into(),
            outflows: outflows.to_vec(),
        }
    }

    fn entries(&self, now_s: u64) -> Vec<Entry> {
        let entry = |outflow: &Outflow| Entry {
            hash: self.hash.0,
            token: outflow.token,
            amount: outflow.amount,
            valid_until_s: self.valid_until_s,
            at_s: now_s,
        };
        self.outflows.iter().map(entry).collect()
    }
}

fn unrecorded(error: &JournalError) -> Refusal {
    Refusal {
        word: Word::State,
        text: error.to_string(),
    }
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
