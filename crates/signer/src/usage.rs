//! What was signed and counts against the limits. Pure: time is an argument, and [`crate::journal`] keeps the records.
//!
//! A signature counts in full from the moment before it is made: until it expires for the first limit of each token that
//! it sells, and until the window has passed for the second one. The time of this file never goes back.

use std::collections::BTreeMap;

use crate::rules::{Outflow, Rules, TokenRule};
use crate::wire::{Refusal, Word};

/// Most signatures that have not expired. Memory is bounded by it.
pub const COUNT_MAX: usize = 65_536;
/// Parts of a window: what was signed in one of them counts until the window after its end has passed.
const PARTS: u64 = 64;

/// Something that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was signed; zero for a count of signatures that are not known.
    pub hash: [u8; 32],
    /// Token that it sells.
    pub token: u16,
    /// Amount, in base units.
    pub amount: u128,
    /// End of its validity, Unix seconds.
    pub valid_until_s: u64,
    /// When it was signed, Unix seconds.
    pub at_s: u64,
}

/// How much of the limits is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    tokens: BTreeMap<u16, Sums>,
    /// Signatures that have not expired, and when they do.
    signed: BTreeMap<[u8; 32], u64>,
    /// The newest time of all.
    now_s: u64,
    part_s: u64,
    window_s: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums {
    /// Amounts by the end of their validity.
    unexpired: BTreeMap<u64, u128>,
    unexpired_sum: u128,
    /// Amounts by the part of a window that they were signed in.
    window: BTreeMap<u64, u128>,
    window_sum: u128,
}

impl Usage {
    /// Nothing was signed yet.
    pub fn new(window_s: u64) -> Self {
        Self {
            tokens: BTreeMap::new(),
            signed: BTreeMap::new(),
            now_s: 0,
            part_s: (window_s / PARTS).max(1),
            window_s,
        }
    }

    /// The newest time of all: what expired before it is gone, and it never goes back.
    pub const fn now_s(&self) -> u64 {
        self.now_s
    }

    /// Lets time pass. An earlier time than before changes nothing.
    pub fn advance(&mut self, now_s: u64) {
        if now_s <= self.now_s {
            return;
        }
        self.now_s = now_s;
        self.signed.retain(|_, until_s| *until_s > now_s);
        let (part_s, window_s) = (self.part_s, self.window_s);
        let end = |part| window_end(part, part_s, window_s);
        for sums in self.tokens.values_mut() {
            while let Some(first) = sums.unexpired.first_entry()
                && *first.key() <= now_s
            {
                sums.unexpired_sum -= first.remove();
            }
            while let Some(first) = sums.window.first_entry()
                && end(*first.key()) <= now_s
            {
                sums.window_sum -= first.remove();
            }
        }
    }

    /// Whether exactly this was signed and has not expired: signed again it is the same bytes, which count once.
    pub fn knows(&self, hash: &[u8; 32]) -> bool {
        self.signed.contains_key(hash)
    }

    /// Whether everything that a signature gives away fits beside what counts already.
    ///
    /// # Errors
    /// The first limit that would be exceeded.
    pub fn check(&self, rules: &Rules, outflows: &[Outflow]) -> Result<(), Refusal> {
        if self.signed.len() >= COUNT_MAX {
            return Err(Refusal {
                word: Word::Count,
                text: format!("{COUNT_MAX} signatures have not expired"),
            });
        }
        for outflow in outflows {
            let Some(token) = rules.token(outflow.token) else {
                return Err(Refusal {
                    word: Word::Market,
                    text: format!("token {} is not in the file", outflow.token),
                });
            };
            let [unexpired, window] = self.used(outflow.token);
            let exceeds = |used: u128, most: u128| used.saturating_add(outflow.amount) > most;
            if exceeds(unexpired, token.unexpired_max) {
                return Err(exceeded(
                    Word::Unexpired,
                    token,
                    [outflow.amount, unexpired, token.unexpired_max],
                    "signed_unexpired_max",
                ));
            }
            if exceeds(window, token.window_max) {
                return Err(exceeded(
                    Word::Window,
                    token,
                    [outflow.amount, window, token.window_max],
                    "window_max",
                ));
            }
        }
        Ok(())
    }

    /// Counts something.
    pub fn add(&mut self, entry: &Entry) {
        self.add_known(entry);
        self.add_unexpired(entry);
        self.add_window(entry);
    }

    /// Counts what a file that was rewritten has as known: the hash alone.
    pub fn add_known(&mut self, entry: &Entry) {
        if entry.hash != [0; 32] && entry.valid_until_s > self.now_s {
            self.signed.insert(entry.hash, entry.valid_until_s);
        }
    }

    /// Counts against the first limit alone.
    pub fn add_unexpired(&mut self, entry: &Entry) {
        if entry.valid_until_s > self.now_s {
            let sums = self.tokens.entry(entry.token).or_default();
            let sum = sums.unexpired.entry(entry.valid_until_s).or_default();
            *sum = sum.saturating_add(entry.amount);
            sums.unexpired_sum = sums.unexpired_sum.saturating_add(entry.amount);
        }
    }

    /// Counts against the second limit alone.
    pub fn add_window(&mut self, entry: &Entry) {
        let part = entry.at_s / self.part_s;
        if window_end(part, self.part_s, self.window_s) > self.now_s {
            let sums = self.tokens.entry(entry.token).or_default();
            let sum = sums.window.entry(part).or_default();
            *sum = sum.saturating_add(entry.amount);
            sums.window_sum = sums.window_sum.saturating_add(entry.amount);
        }
    }

    /// The amounts that have not expired, summed by the end of their validity.
    pub fn unexpired(&self) -> impl Iterator<Item = Entry> {
        self.tokens.iter().flat_map(|(token, sums)| {
            sums.unexpired
                .iter()
                .map(|(until_s, amount)| sum(*token, *amount, *until_s, self.now_s))
        })
    }

    /// The amounts within the window, summed by its parts, at the last second of each.
    pub fn window(&self) -> impl Iterator<Item = Entry> {
        self.tokens.iter().flat_map(|(token, sums)| {
            sums.window
                .iter()
                .map(|(part, amount)| sum(*token, *amount, 0, (part + 1) * self.part_s - 1))
        })
    }

    /// What was signed and has not expired.
    pub fn known(&self) -> impl Iterator<Item = Entry> {
        self.signed.iter().map(|(hash, until_s)| Entry {
            hash: *hash,
            ..sum(0, 0, *until_s, self.now_s)
        })
    }

    /// What counts of a token: not expired, and within the window.
    pub fn used(&self, token: u16) -> [u128; 2] {
        let sums = self.tokens.get(&token);
        sums.map_or([0; 2], |sums| [sums.unexpired_sum, sums.window_sum])
    }

    /// Number of signatures that have not expired.
    pub fn count(&self) -> usize {
        self.signed.len()
    }
}

/// When what was signed in a part of a window no longer counts.
const fn window_end(part: u64, part_s: u64, window_s: u64) -> u64 {
    let end = part.saturating_add(1).saturating_mul(part_s);
    end.saturating_add(window_s)
}

const fn sum(token: u16, amount: u128, valid_until_s: u64, at_s: u64) -> Entry {
    Entry {
        hash: [0; 32],
        token,
        amount,
        valid_until_s,
        at_s,
    }
}

fn exceeded(word: Word, token: &TokenRule, numbers: [u128; 3], key: &str) -> Refusal {
    let [more, used, most] = numbers.map(|units| token.whole(units));
    let symbol = &token.symbol;
    Refusal {
        word,
        text: format!("{more} {symbol} more than the {used} signed; token.{key} = {most}"),
    }
}

impl TokenRule {
    /// An amount in whole tokens.
    pub fn whole(&self, units: u128) -> String {
        cambist_core::math::decimal(units, self.decimals)
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
