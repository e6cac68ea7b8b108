//! How much of every limit that fills up is used: for people, who want to see it coming.

use crate::market::Side;
use crate::notification::Control;
use crate::time::Time;
use crate::token::Amount;

use crate::engine::market::Market;
use crate::engine::state::State;

const WHOLE_BPS: u128 = 10_000;

/// A part of a limit in ten-thousandths, rounded up; of no limit at all, or of one that is 0, anything
/// is more than everything.
fn share(used: u128, most: u128) -> u64 {
    let part = used.saturating_mul(WHOLE_BPS).checked_div(most);
    let part = part.unwrap_or(if used > 0 { u128::MAX } else { 0 });
    u64::try_from(part).unwrap_or(u64::MAX)
}

fn signed(used: i128, most: i128) -> u64 {
    let whole = |n: i128| u128::try_from(n).unwrap_or(0);
    share(whole(used), whole(most))
}

impl State {
    /// Limits of one market.
    pub(crate) fn used_of(&self, now: Time, market: &Market) -> Vec<(Control, u64)> {
        let spec = &market.spec;
        let limits = &self.config.markets[usize::from(spec.id.0)];
        let (_, held) = self.ledger.bounds(spec.base.id);
        let most = held.saturating_add(self.orders.incoming(spec.base.id));
        let (venue_now, grace_ms) = (self.clock.at_least(now), self.config.grace_ms);
        let unexpired = self.signed.total(spec.base.id, venue_now, grace_ms);
        let orders = Side::BOTH.map(|side| self.orders.count(spec.id, side));
        let orders = orders.into_iter().max().unwrap_or(0);
        let gross: Amount = self.gross(spec.quote.id).unwrap_or(Amount::MAX);
        let gross_max = self.config.risk.gross_max.get(&spec.quote.id).copied();
        let moved = (
            market.mid_range_bps.into(),
            self.config.risk.move_bps.into(),
        );
        let mut used = vec![
            (Control::InventoryBand, share(most, limits.inventory_max)),
            (
                Control::SignedUnexpired,
                share(unexpired, limits.signed_unexpired_max),
            ),
            (Control::GrossExposure, share(gross, gross_max.unwrap_or(0))),
            (
                Control::OpenOrders,
                share(orders.into(), limits.open_orders_max.into()),
            ),
            (Control::PriceMove, share(moved.0, moved.1)),
        ];
        let losses = market.losses.against(spec, &limits.loss);
        used.extend(losses.map(|(control, lost, most)| (control, signed(lost, most))));
        used
    }

    /// Limits over everything.
    pub(crate) fn used_together(&self, now: Time) -> Vec<(Control, u64)> {
        let (risk, tally) = (&self.config.risk, &self.counters);
        let made = share(tally.orders.count(now).into(), risk.orders_per_min.into());
        let cancelled = share(tally.cancels.count(now).into(), risk.cancels_per_min.into());
        let sent = tally.transmissions.count(now).max(tally.filled.count(now));
        let executed = share(sent.into(), risk.executions_per_min.into());
        let (messages, fills) = tally.messages_and_fills(now);
        let ratio = match risk.messages_per_fill {
            0 => 0,
            most => share(messages.into(), most.saturating_mul(fills).into()),
        };
        vec![
            (Control::OrderToFill, ratio),
            (Control::MessageRate, made.max(cancelled)),
            (Control::Executions, executed),
        ]
    }
}
