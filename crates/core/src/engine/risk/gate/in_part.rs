//! An order for a part of a quote: what closes an open leg is worth having in part.

use crate::market::Qty;
use crate::notification::{Control, Withheld};
use crate::order::StrategyId;
use crate::strategy::Quote;

use crate::engine::risk::gate::{Approved, Proposal, RiskContext};

/// Whether less would be refused less: what the venue holds does not suffice. A limit of the size of one order is none of
/// these: a target beyond it is a mistake.
fn is_short(control: Control) -> bool {
    matches!(control, Control::InventoryBand | Control::Balance)
}

impl RiskContext<'_> {
    /// Judges an order for a quote, and otherwise for as many of its lots as inventory band and free balance allow. The
    /// error is why the whole is refused.
    pub(crate) fn approve_in_part(
        &self,
        strategy: StrategyId,
        wanted: &Quote,
        alike: usize,
    ) -> Result<Approved<Proposal>, Withheld> {
        let of = |lots: u64| {
            let part = Quote {
                qty: Qty(lots),
                ..*wanted
            };
            self.approve_quote(strategy, &part, alike)
        };
        let whole = match of(wanted.qty.0) {
            Err(why) if is_short(why.control) => why,
            judged => return judged,
        };
        // Fewer lots than `below` are not too many, and `too_many` are.
        let (mut below, mut too_many, mut allowed) = (0, wanted.qty.0, None);
        while too_many - below > 1 {
            let lots = below + (too_many - below) / 2;
            match of(lots) {
                Ok(approved) => (below, allowed) = (lots, Some(approved)),
                Err(why) if is_short(why.control) => too_many = lots,
                // Less than the venue takes.
                Err(_) => below = lots,
            }
        }
        allowed.ok_or(whole)
    }
}
