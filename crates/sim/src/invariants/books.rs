//! Second derivation of the ledger: a start has the stored books, nothing new is sent while a difference stops orders,
//! and no unexplained difference is adopted.

use crate::invariants::table::Invariant;
use std::collections::BTreeMap;

use cambist_core::config::EngineConfig;
use cambist_core::event::{Amounts, Start};
use cambist_core::notification::Notification;
use cambist_core::{Amount, ClientOrderId, MarketId, MarketSpec, PoolSpec, TokenId};

use crate::invariants::sending::Broken;
use crate::invariants::trade_flow;

/// A small difference may last for five minutes plus the time of a comparison.
const LASTING_MS: u64 = 330_000;

/// The books of one run of the daemon.
#[derive(Debug)]
pub(crate) struct Ledger {
    specs: Vec<MarketSpec>,
    shares: Vec<TokenId>,
    /// Balances at the start of the run plus everything booked since; `None` before the first opening of all.
    held: Option<BTreeMap<TokenId, i128>>,
    /// Whether the books were compared.
    ready: bool,
    /// Whether they have agreed, or every difference was explained.
    agreed: bool,
    /// Differences (ledger, venue), and since when by the engine's clock.
    differs: BTreeMap<TokenId, (i128, Amount)>,
    since: Option<u64>,
    /// Whether the next difference belongs to a later comparison.
    closed: bool,
    mids: BTreeMap<MarketId, u64>,
}

impl Ledger {
    pub(crate) fn begin(start: &Start) -> Self {
        let held = start.books.ledger.clone();
        Self {
            specs: start.markets.clone(),
            shares: start
                .pools
                .iter()
                .map(|pool: &PoolSpec| pool.lp.id)
                .collect(),
            agreed: held.is_none(),
            held,
            ready: false,
            differs: BTreeMap::new(),
            since: None,
            closed: false,
            mids: BTreeMap::new(),
        }
    }

    /// Whether opening balances were never taken.
    pub(crate) const fn is_unopened(&self) -> bool {
        self.held.is_none()
    }

    /// Books signed changes by token.
    fn post(&mut self, changes: &[(TokenId, i128)]) {
        if let Some(held) = &mut self.held {
            for (token, change) in changes {
                *held.entry(*token).or_default() += change;
            }
        }
    }

    /// Checks a notification.
    pub(crate) fn observe(&mut self, shown_ms: u64, notification: &Notification) -> Option<Broken> {
        match notification {
            Notification::DepthAccepted {
                market,
                mid: Some(mid),
                ..
            } => drop(self.mids.insert(*market, *mid)),
            Notification::Filled(fill) => {
                let spec = &self.specs[usize::from(fill.market.0)];
                let (base, quote) = (spec.base.id, spec.quote.id);
                let amounts = (fill.base, fill.quote, fill.fee);
                let (b, q) = trade_flow::of_trade(spec.fee_in, fill.side, amounts);
                self.post(&[(base, b), (quote, q)]);
            }
            Notification::PoolTransactionSettled(moved) => {
                let join = moved.kind == cambist_core::PoolTransactionKind::Join;
                let way = if join { -1 } else { 1 };
                let [first, second] = moved.amounts.pooled.map(|amount| way * signed(amount));
                self.post(&[
                    (moved.pooled[0], first),
                    (moved.pooled[1], second - signed(moved.amounts.fee)),
                    (moved.lp, -way * signed(moved.amounts.lp)),
                ]);
            }
            Notification::Adopted { token, amount, .. } => {
                self.post(&[(*token, *amount)]);
                if let Some((ledger, venue)) = self.differs.remove(token) {
                    let ledger = ledger.saturating_add(*amount);
                    if ledger != signed(venue) {
                        self.differs.insert(*token, (ledger, venue));
                    }
                }
                self.agreed |= self.ready && self.differs.is_empty();
            }
            Notification::Ready { opening, .. } => {
                self.ready = true;
                let opening = signed_all(opening);
                let held = self.held.get_or_insert_with(|| opening.clone());
                let of =
                    |all: &BTreeMap<TokenId, i128>, token| all.get(token).copied().unwrap_or(0);
                let other = opening.keys().chain(held.keys());
                let mut other = other.filter(|token| of(&opening, token) != of(held, token));
                if let Some(token) = other.next() {
                    let (found, booked) = (of(&opening, token), of(held, token));
                    let detail = format!(
                        "token {}: begins with {found}, booked are {booked}",
                        token.0
                    );
                    return Some((Invariant::BooksGuessed, detail));
                }
            }
            Notification::Reconciled { .. } => self.closed = true,
            Notification::Mismatch {
                token,
                ledger,
                venue,
            } => {
                if std::mem::take(&mut self.closed) {
                    self.differs.clear();
                }
                self.differs.insert(*token, (*ledger, *venue));
                self.since.get_or_insert(shown_ms);
            }
            Notification::Balanced => {
                self.differs.clear();
                self.since = None;
                self.agreed = true;
            }
            _ => {}
        }
        None
    }

    /// Checks an intent whose bytes are sealed or sent for the first time.
    pub(crate) fn leaving(
        &self,
        shown_ms: u64,
        id: ClientOrderId,
        engine: &EngineConfig,
    ) -> Option<Broken> {
        if self.differs.is_empty() {
            return None;
        }
        let lasting = self
            .since
            .is_some_and(|since| shown_ms > since + LASTING_MS);
        let cause = if !self.agreed {
            "found at the start"
        } else if lasting {
            "for long"
        } else if self.is_beyond(engine) {
            "far"
        } else {
            return None;
        };
        let detail = format!(
            "{id} leaves although the books differ ({cause}): {:?}",
            self.differs
        );
        Some((Invariant::BooksIgnored, detail))
    }

    /// Whether differences are far above the limit of a quote token, at mids that may have changed since the engine's
    /// check.
    fn is_beyond(&self, engine: &EngineConfig) -> bool {
        let mut worth: BTreeMap<TokenId, Amount> = BTreeMap::new();
        for (token, (ledger, venue)) in &self.differs {
            let size = ledger.abs_diff(signed(*venue));
            let of_base = self.specs.iter().find(|spec| spec.base.id == *token);
            if let Some(spec) = of_base {
                let mid = self.mids.get(&spec.id).copied().unwrap_or(0);
                let value = size * spec.quote_per_lot_tick * Amount::from(mid) / (2 * spec.lot);
                *worth.entry(spec.quote.id).or_default() += value;
            } else if self.specs.iter().any(|spec| spec.quote.id == *token) {
                *worth.entry(*token).or_default() += size;
            } else if self.shares.contains(token) {
                // Not valued here.
            }
        }
        worth.iter().any(|(quote, value)| {
            let most = engine.risk.mismatch_max.get(quote).copied().unwrap_or(0);
            *value > most + most / 4
        })
    }
}

fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

fn signed_all(amounts: &Amounts) -> BTreeMap<TokenId, i128> {
    amounts
        .iter()
        .map(|(id, units)| (*id, signed(*units)))
        .collect()
}
