//! `[fees]` and `[delays]` of the exchange's file.

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, TokenId, TokenSpec};
use cambist_venue::AccountOpening;

use super::units;
use cambist_config::money::Money;
use cambist_config::reader::{At, Section};
use cambist_config::small;

/// Fees of transfers, withdrawals and key updates, base units by the token that pays. With an empty table the service
/// is free, and every listed token is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceFees {
    /// Transfers.
    pub transfer: SortedMap<TokenId, Amount>,
    /// Withdrawals.
    pub withdrawal: SortedMap<TokenId, Amount>,
    /// Key updates.
    pub update: SortedMap<TokenId, Amount>,
    /// Whether a fee must be paid in the transferred token.
    pub same_token: bool,
}

/// Delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceDelays {
    /// Time from accepting an order to matching it.
    pub order_ms: u64,
    /// Time from accepting a cancel to executing it.
    pub cancel_ms: u64,
    /// Time for which a transfer, withdrawal, join or exit is `received`.
    pub received_ms: u64,
    /// Time for which it is then `processing`.
    pub processing_ms: u64,
    /// Share of delayed requests that fail late, in thousandths.
    pub late_failures_permille: u16,
    /// Seed of the random choice of failures.
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

/// `[accounts]`: minimum of a transfer to an address without an account.
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
) -> SortedMap<TokenId, Amount> {
    let (written, places) = section.verbatim();
    let mut amounts = SortedMap::new();
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
            (None, _) => {
                let what =
                    format!("{name} names a token that is not listed: no [[token]] is {symbol:?}");
                section.problem(at, what);
            }
            (Some(_), None) => {
                let what = format!("{name} must be amounts in quotes, and that of {symbol} is not");
                section.problem(at, what);
            }
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
