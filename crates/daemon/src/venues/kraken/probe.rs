//! Orders whose validity is asked for (`validate`): the venue checks them and creates nothing.

use cambist_core::config::{EngineConfig, MarketConfig};
use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::{
    ClientOrderId, MarketSpec, OrderKind, Qty, Side, StrategyId, VenueRules, VenueTime,
};

/// The smallest order that may rest at the lowest price of a market's band; `None` if its amounts cannot be stated.
pub fn smallest(spec: &MarketSpec, limits: &MarketConfig) -> Option<UnsignedOrder> {
    let price = limits.price_min;
    let of_base = spec.base.minimum.div_ceil(spec.lot.max(1));
    let per_lot = spec.quote_amount(price, Qty(1))?.max(1);
    let of_quote = spec.quote.minimum.div_ceil(per_lot);
    let qty = Qty(u64::try_from(of_base.max(of_quote).max(1)).ok()?);
    Some(UnsignedOrder {
        client_id: ClientOrderId {
            instance: 0,
            strategy: StrategyId(0),
            number: 0,
        },
        market: spec.id,
        side: Side::Buy,
        price,
        qty,
        kind: OrderKind::MakerOnly,
        swap: None,
        sell_token: spec.quote.id,
        sell_amount: spec.quote_amount(price, qty)?,
        buy_token: spec.base.id,
        buy_amount: spec.base_amount(qty)?,
        fill_by: FillBy::Buy,
        slot: 0,
        accepted_until_s: 0,
        rests_until_s: None,
        max_fee_bips: 0,
        made_at: VenueTime(0),
    })
}

/// The order as if it were made at this time.
pub fn made_at(
    order: &UnsignedOrder,
    at: VenueTime,
    (engine, rules): (&EngineConfig, &VenueRules),
) -> UnsignedOrder {
    let (accepted_until_s, rests_until_s) = rules.lifetime.of_order(at, engine.ttl_ms);
    UnsignedOrder {
        accepted_until_s,
        rests_until_s,
        made_at: at,
        ..order.clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use super::*;
    use crate::config::Daemon;

    #[test]
    fn the_smallest_order_has_the_least_amounts_of_both_tokens() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/kraken.toml");
        let daemon = Daemon::load(Path::new(example)).unwrap();
        let bound = daemon.bind_expected().unwrap().unwrap();
        let limits = &bound.engine.markets[0];
        let mut spec = bound.markets[0].clone();
        // A lot is 0.001 XBT, which is 60 USD at the floor.
        let least = |base: u128, quote: u128, spec: &mut MarketSpec| {
            (spec.base.minimum, spec.quote.minimum) = (base, quote);
            smallest(spec, limits).unwrap().qty
        };
        assert_eq!(least(0, 0, &mut spec), Qty(1));
        assert_eq!(least(10_000_000, 0, &mut spec), Qty(1));
        assert_eq!(least(10_000_001, 0, &mut spec), Qty(2));
        assert_eq!(least(0, 600_000, &mut spec), Qty(1));
        assert_eq!(least(0, 600_001, &mut spec), Qty(2));
        let order = smallest(&spec, limits).unwrap();
        let at = VenueTime(1_700_000_000_900);
        let made = made_at(&order, at, (&bound.engine, &bound.venue));
        assert_eq!(
            (made.accepted_until_s, made.rests_until_s),
            (1_700_000_010, Some(1_700_000_090))
        );
        assert_eq!((made.price, made.qty), (order.price, order.qty));
    }
}
