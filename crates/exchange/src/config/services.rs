//! `[fees]` and `[delays]` of the exchange's file: what its services cost and how long they take.

use std::collections::BTreeMap;

use cambist_core::{Amount, TokenId, TokenSpec};
use cambist_venue::AccountOpening;

use super::units;
use cambist_config::money::Money;
use cambist_config::reader::{At, Section};
use cambist_config::small;

/// What transfers, withdrawals and key updates cost, base units by the token that pays. An empty table
/// takes any listed token and asks nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceFees {
    /// Transfers.
    pub transfer: BTreeMap<TokenId, Amount>,
    /// Withdrawals.
    pub withdrawal: BTreeMap<TokenId, Amount>,
    /// Key updates.
    pub update: BTreeMap<TokenId, Amount>,
    /// Whether a fee must be paid in the token that moves.
    pub same_token: bool,
}

/// How long things take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceDelays {
    /// Before an order meets its book.
    pub order_ms: u64,
    /// Before a cancel takes effect.
    pub cancel_ms: u64,
    /// A transfer, withdrawal, join or exit is received so long.
    pub received_ms: u64,
    /// And then processed so long.
    pub processing_ms: u64,
    /// Of a thousand that wait, so many fail late.
    pub late_failures_permille: u16,
    /// Seed of that draw.
    pub seed: u64,
}

/// Longest delay: an hour.
const DELAY_MAX_MS: u64 = 3_600_000;

pub(super) fn fees(mut section: Section<'_, '_>, tokens: &[TokenSpec]) -> ServiceFees {
    let same_token = section.or("same_token", false).value;
    let transfer = by_token(&section.section("transfer"), "fees.transfer", tokens);
    let withdrawal = by_token(&section.section("withdrawal"), "fees.withdrawal", tokens);
    let update = by_token(&section.section("update"), "fees.update", tokens);
    section.finish();
    ServiceFees {
        transfer,
        withdrawal,
        update,
        same_token,
    }
}

/// `[accounts]`: what a transfer to an address without an account must bring.
pub(super) fn opening(
    mut section: Section<'_, '_>,
    tokens: &[TokenSpec],
    accounts_max: u32,
) -> AccountOpening {
    let order_minimum = section.or("opening_order_minimum", true).value;
    let tenth = u64::from(accounts_max / 10);
    let reserved = section.number("reserved", tenth, 0..=u64::from(u32::MAX));
    let fee = by_token(
        &section.section("opening_fee"),
        "accounts.opening_fee",
        tokens,
    );
    section.finish();
    AccountOpening {
        order_minimum,
        fee,
        reserved: small(reserved.value),
    }
}

/// Amounts by token symbol.
pub(super) fn by_token(
    section: &Section<'_, '_>,
    name: &str,
    tokens: &[TokenSpec],
) -> BTreeMap<TokenId, Amount> {
    let (written, places) = section.verbatim();
    let mut amounts = BTreeMap::new();
    for (symbol, amount) in &written {
        let at = places.get(symbol).copied().unwrap_or_default();
        let token = tokens.iter().find(|token| &token.symbol == symbol);
        let money = amount.as_str().and_then(Money::parse);
        match (token, money) {
            (Some(token), Some(money)) => {
                if let Some(units) = units(section, token, Some(At { value: money, at })) {
                    amounts.insert(token.id, units);
                }
            }
            (None, _) => section.problem(at, format!("{name} names a token that is not listed")),
            (Some(_), None) => section.problem(at, format!("{name} must be amounts in quotes")),
        }
    }
    amounts
}

pub(super) fn delays(mut section: Section<'_, '_>) -> ServiceDelays {
    let mut delay = |key| section.number(key, 0, 0..=DELAY_MAX_MS).value;
    let [order_ms, cancel_ms] = [delay("order_ms"), delay("cancel_ms")];
    let [received_ms, processing_ms] = [delay("received_ms"), delay("processing_ms")];
    let late_failures_permille = section.number("late_failures_permille", 0, 0..=1_000);
    let seed = section.number("seed", 0, 0..=u64::MAX);
    section.finish();
    ServiceDelays {
        order_ms,
        cancel_ms,
        received_ms,
        processing_ms,
        late_failures_permille: small(late_failures_permille.value),
        seed: seed.value,
    }
}
