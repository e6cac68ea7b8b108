//! The components of a profit: captured spread, price changes of the inventory, fees.

use super::{Fee, Fill, Mids, checked};
use crate::error::Result;
use crate::number::{Number, most};

/// The components, quote: `total = spread + inventory − fees`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribution<N> {
    /// `Σ s·q·(mid − price)`: the gain of fill prices against the mid.
    pub spread: N,
    /// `Σ position · (mid_(j+1) − mid_j)`: price changes of the inventory.
    pub inventory: N,
    /// Fees in quote, and fees in base at the mid of their fill.
    pub fees: N,
}

/// The result of fills and mids. Quote, unless stated otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account<N> {
    /// Quote received less quote paid.
    pub cash: N,
    /// Base received less base paid.
    pub inventory: N,
    /// Cash and the inventory at the last mid.
    pub total: N,
    /// The components of the total.
    pub attribution: Attribution<N>,
    /// The largest fall of the equity from its maximum, both taken at the times of the mids, before
    /// the fills of the same time; after them at the end.
    pub max_drawdown: N,
}

/// Adds up fills against mids, both in the order of time. A fill before the first mid is refused.
///
/// An identity, exact on every history: `cash + inventory · mid = spread + inventory − fees`; the
/// effective spread as of Huang & Stoll (1996).
pub fn account<N: Number>(fills: &[Fill<N>], mids: &Mids<'_, N>) -> Result<Account<N>> {
    checked(fills, mids)?;
    let (mut cash, mut inventory) = (N::zero(), N::zero());
    let (mut spread, mut moved, mut fees) = (N::zero(), N::zero(), N::zero());
    let (mut peak, mut drawdown) = (N::zero(), N::zero());
    let mut fills = fills.iter().peekable();
    let mut before: Option<&N> = None;
    let times = mids.0.iter().map(|(time, _)| *time);
    let next_times = times.clone().skip(1).map(Some).chain([None]);
    for ((_, mid), next) in mids.0.iter().zip(next_times) {
        if let Some(before) = before {
            moved = moved + inventory.clone() * (mid.clone() - before.clone());
        }
        before = Some(mid);
        let mut see = |cash: &N, inventory: &N| {
            let equity = cash.clone() + inventory.clone() * mid.clone();
            peak = most(peak.clone(), equity.clone());
            drawdown = most(drawdown.clone(), peak.clone() - equity);
        };
        see(&cash, &inventory);
        while let Some(fill) = fills.next_if(|fill| next.is_none_or(|next| fill.time < next)) {
            let (base, quote) = fill.changes();
            cash = cash + quote;
            inventory = inventory + base;
            let off = mid.clone() - fill.price.clone();
            spread = spread + fill.signed(fill.quantity.clone() * off);
            fees = fees
                + match &fill.fee {
                    Fee::Base(fee) => fee.clone() * mid.clone(),
                    Fee::Quote(fee) => fee.clone(),
                };
        }
        if next.is_none() {
            see(&cash, &inventory);
        }
    }
    Ok(Account {
        total: cash.clone() + inventory.clone() * mids.last().clone(),
        cash,
        inventory,
        attribution: Attribution {
            spread,
            inventory: moved,
            fees,
        },
        max_drawdown: drawdown,
    })
}
