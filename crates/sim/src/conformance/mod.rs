//! What every adapter of a venue has to keep: the guarantees of its [`VenueRules`], tried on the venue itself.
//!
//! A [`Subject`] is an adapter with a venue behind it, in whatever world: simulated here, over HTTP elsewhere.
//! [`violated_guarantees`] tries each guarantee on a fresh one and lists those that fail. A venue of pools without orders
//! is a [`PoolSubject`] ([`violated_pool_guarantees`]).

mod guarantees;
mod pools;
mod simulated;
mod simulated_chain;

use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::venue::SlotRule;
use cambist_core::{
    ClientOrderId, Hash, MarketSpec, OrderKind, Price, Qty, Side, StrategyId, VenueRules, VenueTime,
};

pub use guarantees::GUARANTEES;
pub use pools::{POOL_GUARANTEES, PoolGuarantee, PoolSubject, violated_pool_guarantees};
pub use simulated::Simulated;
pub use simulated_chain::SimulatedChain;

/// An answer, and the venue's clock as it was read from it.
pub type Answer = (Outcome, Option<VenueTime>);

/// An adapter with a venue behind it: an account with funds, one market, and no other orders in its book.
pub trait Subject {
    /// What the adapter states about the venue.
    fn rules(&self) -> VenueRules;
    /// The market.
    fn market(&self) -> MarketSpec;
    /// The venue's true clock.
    fn now(&self) -> VenueTime;
    /// Lets the venue's time pass.
    fn pass_ms(&mut self, ms: u64);
    /// The key by which the adapter names an order from the moment it is sealed.
    fn seal(&self, order: &UnsignedOrder) -> Hash;
    /// Sends the sealed bytes, the same every time.
    fn transmit(&mut self, order: &UnsignedOrder) -> Answer;
    /// Asks.
    fn ask(&mut self, query: &Query) -> Answer;
    /// Another account trades with everything of ours that rests on a side.
    fn take_all(&mut self, side: Side);
}

/// A guarantee: its name, and what tries it on a fresh subject.
pub struct Guarantee {
    /// Its name.
    pub name: &'static str,
    /// Tries it; an error describes the failure.
    pub keeps: fn(&mut dyn Subject) -> Result<(), String>,
}

/// Tries every guarantee, each on a fresh subject: names of those that are broken, and how.
pub fn violated_guarantees(mut fresh: impl FnMut() -> Box<dyn Subject>) -> Vec<String> {
    let tried = GUARANTEES.iter().filter_map(|guarantee| {
        let broken = (guarantee.keeps)(fresh().as_mut()).err()?;
        Some(format!("{}: {broken}", guarantee.name))
    });
    tried.collect()
}

/// Life of orders here, unless the venue accepts bytes for less.
const TTL_MS: u64 = 60_000;

/// The `n`-th order: one lot-sized quote that rests, made now.
fn order(subject: &dyn Subject, n: u32, side: Side, price: u64, lots: u64) -> UnsignedOrder {
    let (rules, spec) = (subject.rules(), subject.market());
    let (price, qty) = (Price(price), Qty(lots));
    let base = spec.base_amount(qty).expect("a small quantity");
    let quote = spec.quote_amount(price, qty).expect("a small quantity");
    let (sell_amount, buy_amount, fill_by) = match side {
        Side::Buy => (quote, base, FillBy::Buy),
        Side::Sell => (base, quote, FillBy::Sell),
    };
    let (accepted_until_s, rests_until_s) = rules.lifetime.of_order(subject.now(), TTL_MS);
    UnsignedOrder {
        client_id: ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number: u64::from(n) + 1,
        },
        market: spec.id,
        side,
        price,
        qty,
        kind: OrderKind::MakerOnly,
        swap: None,
        sell_token: spec.sell_token(side),
        sell_amount,
        buy_token: spec.buy_token(side),
        buy_amount,
        fill_by,
        slot: match rules.slots {
            SlotRule::Strided { .. } => 2 * n,
            SlotRule::Consecutive { .. } | SlotRule::Rising { .. } => n,
        },
        accepted_until_s,
        rests_until_s,
        max_fee_bips: rules.fees.of_order(10),
        made_at: subject.now(),
    }
}

/// An answer in words.
fn text_of(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Refused(reason) => format!("refused: {reason:?}"),
        other => format!("{other:?}"),
    }
}

/// Sends an order that has to be taken, and checks the name in the answer.
fn place(subject: &mut dyn Subject, order: &UnsignedOrder) -> Result<Hash, String> {
    let key = subject.seal(order);
    match subject.transmit(order).0 {
        Outcome::Reply(Reply::Submitted { hash, .. }) if hash == key => Ok(key),
        other => Err(format!(
            "an order was not taken by its name: {}",
            text_of(&other)
        )),
    }
}

/// The report of an order.
fn report(
    subject: &mut dyn Subject,
    key: Hash,
) -> Result<cambist_core::order::OrderReport, String> {
    match subject.ask(&Query::Order(key)).0 {
        Outcome::Reply(Reply::Order(report)) if report.hash == key => Ok(report),
        other => Err(format!(
            "no report of an order that was taken: {}",
            text_of(&other)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exchange_keeps_what_its_rules_guarantee() {
        let broken = violated_guarantees(|| Box::new(Simulated::exchange()));
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn the_sequenced_venue_keeps_what_its_rules_guarantee() {
        let broken = violated_guarantees(|| Box::new(Simulated::sequenced()));
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn the_simulated_kraken_keeps_what_its_rules_guarantee() {
        let broken = violated_guarantees(|| Box::new(Simulated::kraken()));
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn the_simulated_chain_keeps_what_its_rules_guarantee() {
        let broken = violated_pool_guarantees(|| Box::new(SimulatedChain::calm()));
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn the_simulated_chain_keeps_them_with_a_range_as_well() {
        let broken = violated_pool_guarantees(|| Box::new(SimulatedChain::calm_in_range()));
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    /// Refusals and a clock that promise more than a chain does.
    #[test]
    fn rules_that_promise_more_than_a_chain_are_found_out() {
        use cambist_core::venue::{ClockRule, Refusal};
        let promising = || {
            let chain = SimulatedChain::calm();
            let mut rules = chain.rules();
            for (_, proof) in &mut rules.refusals.submits {
                *proof = Refusal::KillsBytes;
            }
            rules.clock = ClockRule { resolution_ms: 1 };
            chain.with_rules(rules)
        };
        let broken = violated_pool_guarantees(|| Box::new(promising()));
        for guarantee in ["slots", "clock"] {
            assert!(
                broken.iter().any(|text| text.starts_with(guarantee)),
                "{broken:?}"
            );
        }
    }

    /// A venue behind the rules of another breaks what they differ in.
    #[test]
    fn rules_of_another_venue_are_found_out() {
        let names = |of: fn() -> Simulated, rules: fn() -> VenueRules| -> Vec<String> {
            let broken = violated_guarantees(|| Box::new(of().with_rules(rules())));
            let name = |text: &String| text.split(':').next().unwrap_or_default().to_owned();
            broken.iter().map(name).collect()
        };
        let sequenced = || crate::sequenced::rules(10_000);
        let mistaken = names(Simulated::sequenced, VenueRules::exchange);
        for guarantee in ["slots", "end of rest", "fees"] {
            assert!(
                mistaken.iter().any(|name| name == guarantee),
                "{mistaken:?}"
            );
        }
        let mistaken = names(Simulated::exchange, sequenced);
        for guarantee in ["slots", "end of rest", "clock"] {
            assert!(
                mistaken.iter().any(|name| name == guarantee),
                "{mistaken:?}"
            );
        }
    }
}
