//! Usage of limits that fill up, so that operators see it before a limit is reached: a table of controls, each with
//! usage and limit.

use crate::market::Side;
use crate::notification::Control;
use crate::time::Time;

use crate::engine::market::Market;
use crate::engine::state::State;

const WHOLE_BPS: u128 = 10_000;

/// Usage and limit.
type Used = (u128, u128);

type OfMarket = fn(&State, Time, &Market) -> Used;
type Together = fn(&State, Time) -> [Used; 2];

/// Limits of one market that fill up, without losses.
const OF_MARKET: &[(Control, OfMarket)] = &[
    (Control::InventoryBand, |s, _, market| {
        let base = market.spec.base.id;
        let (_, held) = s.ledger.bounds(base);
        let most = held.saturating_add(s.orders.incoming(base));
        (most, s.limits_of(market).inventory_max)
    }),
    (Control::SignedUnexpired, |s, now, market| {
        let venue_now = s.clock.at_least(now);
        let base = market.spec.base.id;
        let signed = s.signed.total(base, venue_now, s.config.grace_ms);
        (signed, s.limits_of(market).signed_unexpired_max)
    }),
    (Control::GrossExposure, |s, _, market| {
        let quote = market.spec.quote.id;
        let most = s.config.risk.gross_max.get(&quote).copied();
        (s.gross(quote).unwrap_or(u128::MAX), most.unwrap_or(0))
    }),
    (Control::OpenOrders, |s, _, market| {
        let orders = Side::BOTH.map(|side| s.orders.count(market.spec.id, side));
        let most = s.limits_of(market).open_orders_max;
        (orders.into_iter().max().unwrap_or(0).into(), most.into())
    }),
    (Control::PriceMove, |s, _, market| {
        let most = s.config.risk.move_bps;
        (market.mid_range_bps.into(), most.into())
    }),
];

/// Limits over all markets that fill up. A limit that is off has no usage.
const TOGETHER: &[(Control, Together)] = &[
    (Control::OrderToFill, |s, now| {
        let (messages, fills) = s.counters.messages_and_fills(now);
        let used = match s.config.risk.messages_per_fill {
            0 => (0, 1),
            most => (messages.into(), most.saturating_mul(fills).into()),
        };
        [used; 2]
    }),
    (Control::MessageRate, |s, now| {
        let (risk, counters) = (&s.config.risk, &s.counters);
        [
            (
                counters.orders.count(now).into(),
                risk.orders_per_min.into(),
            ),
            (
                counters.cancels.count(now).into(),
                risk.cancels_per_min.into(),
            ),
        ]
    }),
    (Control::Executions, |s, now| {
        let (most, counters) = (s.config.risk.executions_per_min.into(), &s.counters);
        [
            (counters.transmissions.count(now).into(), most),
            (counters.filled.count(now).into(), most),
        ]
    }),
];

/// Usage in ten-thousandths of the limit, rounded up; of a limit that is absent or 0, any usage exceeds it.
fn share((used, most): Used) -> u64 {
    let part = used.saturating_mul(WHOLE_BPS).checked_div(most);
    let part = part.unwrap_or(if used > 0 { u128::MAX } else { 0 });
    u64::try_from(part).unwrap_or(u64::MAX)
}

impl State {
    /// Limits of one market.
    pub(crate) fn used_of(&self, now: Time, market: &Market) -> Vec<(Control, u64)> {
        let mut used: Vec<_> = OF_MARKET
            .iter()
            .map(|(control, used)| (*control, share(used(self, now, market))))
            .collect();
        // The venue's, where it keeps one.
        if let Some((held, most)) = self.trading.used(now, market.spec.id) {
            let level = share((held.into(), most.into()));
            used.push((Control::TradingCounter, level));
        }
        let losses = market
            .losses
            .against(&market.spec, &self.limits_of(market).loss);
        let whole = |n: i128| u128::try_from(n).unwrap_or(0);
        used.extend(
            losses.map(|(control, lost, most)| (control, share((whole(lost), whole(most))))),
        );
        used
    }

    /// Limits over all markets.
    pub(crate) fn used_together(&self, now: Time) -> Vec<(Control, u64)> {
        let of = |(control, used): &(Control, Together)| {
            let most = used(self, now).into_iter().map(share).max();
            (*control, most.unwrap_or(0))
        };
        TOGETHER.iter().map(of).collect()
    }

    fn limits_of(&self, market: &Market) -> &crate::config::MarketConfig {
        &self.config.markets[usize::from(market.spec.id.0)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::limits::{self, Looser};

    /// Controls that compare a higher-is-looser limit with one order or one reading: nothing accumulates.
    const OF_ONE_THING: &[Control] = &[
        Control::Paused,
        Control::PriceCollar,
        Control::PriceBand,
        Control::OrderValue,
        Control::OrderVolume,
        Control::FeeCap,
        Control::TtlCap,
        Control::StaleData,
        Control::LossStreak,
        Control::Budget,
        Control::OtherInstance,
        Control::UnknownOrder,
        Control::SwapUndecided,
        Control::Recovering,
        Control::Spread,
        Control::FrozenBook,
        Control::PoolDivergence,
        Control::PoolSlippage,
        Control::OrderAmount,
        Control::BooksDiffer,
        Control::Ramp,
    ];

    #[test]
    fn every_limit_that_fills_up_has_its_usage() {
        let of_market = OF_MARKET.iter().map(|(control, _)| *control);
        let together = TOGETHER.iter().map(|(control, _)| *control);
        let losses = [
            Control::LossHour,
            Control::LossDay,
            Control::LossTotal,
            Control::Drawdown,
        ];
        let used: BTreeSet<_> = of_market.chain(together).chain(losses).collect();
        let one = OF_ONE_THING.iter().copied().collect();
        assert!(used.is_disjoint(&one));
        let filling = limits::all()
            .into_iter()
            .filter(|about| matches!(about.looser, Looser::Higher | Looser::HigherOrZero));
        let filling: BTreeSet<_> = filling.flat_map(limits::About::controls).collect();
        let listed = used.union(&one).copied().collect();
        assert_eq!(filling, listed);
    }
}
