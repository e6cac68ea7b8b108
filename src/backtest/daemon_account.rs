//! What a daemon did, as its tape shows it: quotes, fills, and profit and loss, beside a shadow run or a backtest on that
//! tape.

use cambist_core::event::{Amounts, Totals};
use cambist_core::inspection::{Inspection, MarketInspection, OrderState};
use cambist_core::notification::{Fill, Notification};
use cambist_core::postings::Postings;
use cambist_core::{Amount, MarketId, MarketSpec, Price, Side, Time, TokenId};
use cambist_report::Session;

/// What is known of the daemon. Markets and tokens are those of the run beside it.
#[derive(Debug)]
pub struct DaemonAccount {
    /// Its results since the run began.
    pub session: Session,
    /// By market of the run.
    pub markets: Vec<DaemonMarket>,
    /// Those markets.
    pub specs: Vec<MarketSpec>,
    totals: Totals,
    /// Set once the daemon is ready and its depth is known.
    pub opening: Option<Amounts>,
    /// Value of the holdings at the opening, in quote units.
    pub opening_equity: Option<Amount>,
    /// Requests that its budget had sent at the opening, and at the last status.
    pub requests: Option<[u64; 2]>,
    /// Number of starts of the daemon since the run began.
    pub restarts: u64,
    /// Segments that were removed before they were read.
    pub missed: bool,
    /// Joins and exits of pools, which the run has none of.
    pub pool_transactions: u64,
    /// Deposits, withdrawals and manual trades: neither profit nor loss.
    pub flows: u64,
    /// Its program, if it is another build than this one.
    pub other_build: Option<String>,
}

/// One market.
#[derive(Clone, Copy, Debug, Default)]
pub struct DaemonMarket {
    /// Mid of the last accepted depth in half ticks.
    pub mid: Option<u64>,
    /// Best own prices that rest.
    pub quotes: [Option<Price>; 2],
}

impl DaemonAccount {
    /// Without an opening, in these markets.
    pub fn new(specs: &[MarketSpec]) -> Self {
        Self {
            session: Session::new(specs),
            markets: vec![DaemonMarket::default(); specs.len()],
            specs: specs.to_vec(),
            totals: Totals::new(),
            opening: None,
            opening_equity: None,
            requests: None,
            restarts: 0,
            missed: false,
            pool_transactions: 0,
            flows: 0,
            other_build: None,
        }
    }

    /// Takes the balances of the daemon as the opening of both; false while they are not known.
    pub fn open(&mut self, now: Time, inspection: &Inspection) -> bool {
        if self.opening.is_some() {
            return true;
        }
        if !inspection.status.ready || inspection.status.ledger.is_empty() {
            return false;
        }
        let mut opening = Amounts::new();
        for spec in &self.specs {
            let Some(found) = inspection
                .markets
                .iter()
                .find(|m| m.market.name == spec.name)
            else {
                return false;
            };
            let theirs = [&found.market.base, &found.market.quote];
            for (own, theirs) in [&spec.base, &spec.quote].into_iter().zip(theirs) {
                let held = inspection
                    .status
                    .ledger
                    .get(&theirs.id)
                    .copied()
                    .unwrap_or(0);
                opening.insert(own.id, held);
            }
        }
        let ready = Notification::Ready {
            opening: opening.clone(),
            recovered: 0,
        };
        self.session.observe(now, &ready);
        let signed = |units: &Amount| i128::try_from(*units).unwrap_or(i128::MAX);
        self.totals = opening.iter().map(|(id, n)| (*id, signed(n))).collect();
        self.opening = Some(opening);
        true
    }

    /// The number of a market of the daemon here.
    fn own(&self, market: &MarketSpec) -> Option<usize> {
        self.specs.iter().position(|spec| spec.name == market.name)
    }

    /// Takes quotes and mids.
    pub fn see(&mut self, now: Time, inspection: &Inspection) {
        for found in &inspection.markets {
            let Some(index) = self.own(&found.market) else {
                continue;
            };
            self.markets[index] = DaemonMarket {
                mid: found.mid,
                quotes: Side::BOTH.map(|side| best(found, side)),
            };
            let depth = Notification::DepthAccepted {
                market: self.specs[index].id,
                mid: found.mid,
                timestamp: inspection.venue_time,
            };
            self.session.observe(now, &depth);
            let both = self.markets[index].quotes.iter().all(Option::is_some);
            let sides = Notification::BothSides {
                market: self.specs[index].id,
                both,
            };
            self.session.observe(now, &sides);
        }
        if self.opening_equity.is_none() {
            self.opening_equity = self.equity();
        }
        let sent = inspection.status.sent;
        match &mut self.requests {
            Some([first, last]) => {
                // A new run counts from zero.
                if sent < *last {
                    *first = first.saturating_sub(*last);
                }
                *last = sent;
            }
            None => self.requests = Some([sent; 2]),
        }
    }

    /// Takes a notification of the daemon. `markets` are its own. Returns a fill as one of the run's market.
    pub fn observe(
        &mut self,
        now: Time,
        notification: &Notification,
        markets: &[MarketSpec],
    ) -> Option<(usize, Fill)> {
        match notification {
            Notification::Filled(fill) => {
                let theirs = markets.get(usize::from(fill.market.0))?;
                let index = self.own(theirs)?;
                let spec = &self.specs[index];
                let fill = Fill {
                    market: spec.id,
                    ..fill.clone()
                };
                // What was deposited unnoticed may pay for it: then a total is below zero until it is explained.
                let _ = Postings::of_fill(spec, &fill).book(&mut self.totals);
                self.session
                    .observe(now, &Notification::Filled(fill.clone()));
                return Some((index, fill));
            }
            Notification::Adopted { token, amount, .. } => {
                self.flows += 1;
                if let Some(own) = self.token(*token, markets) {
                    *self.totals.entry(own).or_default() += amount;
                }
            }
            Notification::PoolTransactionSettled(_) => self.pool_transactions += 1,
            Notification::Submitted { .. }
            | Notification::SwapSubmitted { .. }
            | Notification::Acknowledged { .. }
            | Notification::Refused { .. }
            | Notification::Ended { .. } => self.session.observe(now, notification),
            _ => {}
        }
        None
    }

    /// The run's number of a token of the daemon.
    fn token(&self, theirs: TokenId, markets: &[MarketSpec]) -> Option<TokenId> {
        let named = markets
            .iter()
            .flat_map(|market| [&market.base, &market.quote]);
        let symbol = &named.into_iter().find(|token| token.id == theirs)?.symbol;
        let own = self.specs.iter().flat_map(|spec| [&spec.base, &spec.quote]);
        own.into_iter()
            .find(|token| token.symbol == *symbol)
            .map(|token| token.id)
    }

    /// Units held of a token by the fills since the opening.
    pub fn held(&self, token: TokenId) -> Amount {
        let booked = self.totals.get(&token).copied().unwrap_or(0);
        Amount::try_from(booked).unwrap_or(0)
    }

    /// Value of all holdings at the mids, in quote units; `None` while a mid is missing.
    pub fn equity(&self) -> Option<Amount> {
        let mut equity = self.held(self.specs.first()?.quote.id);
        let mut counted = vec![self.specs.first()?.quote.id];
        for (spec, market) in self.specs.iter().zip(&self.markets) {
            if counted.contains(&spec.base.id) {
                continue;
            }
            counted.push(spec.base.id);
            let scaled = self
                .held(spec.base.id)
                .checked_mul(spec.quote_per_lot_tick)?;
            let value = scaled.checked_mul(Amount::from(market.mid?))? / (2 * spec.lot);
            equity = equity.checked_add(value)?;
        }
        Some(equity)
    }

    /// The market with this number.
    pub fn market(&self, id: MarketId) -> DaemonMarket {
        let found = self.markets.get(usize::from(id.0));
        found.copied().unwrap_or_default()
    }
}

/// The best price of own orders that rest.
fn best(found: &MarketInspection, side: Side) -> Option<Price> {
    let own = found.orders.iter();
    let rests = own.filter(|order| order.side == side && order.state == OrderState::Live);
    let prices = rests.map(|order| order.price);
    match side {
        Side::Buy => prices.max(),
        Side::Sell => prices.min(),
    }
}
