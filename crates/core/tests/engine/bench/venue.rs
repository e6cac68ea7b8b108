//! The venue of the bench: its answers, and how it accepts requests.

use std::collections::BTreeMap;

use cambist_core::order::{ClientOrderId, OrderReport, OrderStatus, UnsignedOrder};
use cambist_core::pool::PoolListed;
use cambist_core::request::{
    Balance, ChargedBalances, Depth, DepthLevel, Listed, OrderList, Outcome, Query, Reply,
    RequestId, UnknownCause,
};
use cambist_core::{MarketId, Price, Qty, Reason, Side};

use super::TestBench;
use super::setup::{BASE, COIN, LOT, OTHER, QUOTE, listed, spec};

impl TestBench {
    /// The venue's book: one foreign level a side and our open orders.
    fn levels(&self, market: MarketId, side: Side) -> Vec<DepthLevel> {
        let foreign = match side {
            Side::Buy => self.depth.0,
            Side::Sell => self.depth.1,
        };
        let mut levels = BTreeMap::from([(Price(foreign), 1_000 * LOT)]);
        let is_bid = |price: u64| price < self.depth.1;
        for price in self
            .more_levels
            .iter()
            .filter(|at| is_bid(**at) == (side == Side::Buy))
        {
            levels.insert(Price(*price), 1_000 * LOT);
        }
        for report in self.list.iter().filter(|report| !report.status.is_final()) {
            let order = self.sealed.values().find(|(hash, _)| *hash == report.hash);
            if let Some((_, order)) = order.filter(|(_, o)| o.market == market && o.side == side) {
                let price = self.price_of(order);
                *levels.entry(price).or_default() += report.base_amount - report.base_filled;
            }
        }
        let levels = levels
            .into_iter()
            .map(|(price, size)| DepthLevel { price, size });
        match side {
            Side::Buy => levels.rev().collect(),
            Side::Sell => levels.collect(),
        }
    }

    /// What the account holds.
    fn balances(&self) -> Reply {
        let held = [
            (BASE, self.balances.0),
            (QUOTE, self.balances.1),
            (OTHER, self.other.unwrap_or(self.balances.1)),
        ];
        let coin = self.charged.iter().map(|(total, _, _)| (COIN, *total));
        let held = held.into_iter().chain(coin);
        let balances = held.map(|(token, total)| Balance {
            token,
            total,
            locked: if token == QUOTE { self.locked } else { 0 },
        });
        let balances = balances.collect();
        match &self.charged {
            None => Reply::Balances(balances),
            Some((_, charges, charged_below)) => Reply::ChargedBalances(ChargedBalances {
                balances,
                charges: charges.clone(),
                charged_below: *charged_below,
            }),
        }
    }

    /// The venue answers a query: at once, or one that was held back.
    pub fn answer_query(&mut self, request: RequestId, query: &Query) {
        let reply = match query {
            Query::Depth(market) => Reply::Depth(Depth {
                market: *market,
                version: {
                    self.version += 1;
                    self.version
                },
                timestamp: self.cached.unwrap_or(self.venue_now()),
                bids: self.levels(*market, Side::Buy),
                asks: self.levels(*market, Side::Sell),
            }),
            Query::Balances => self.balances(),
            Query::Orders(page) => {
                self.proof_pages += u32::from(page.to.0 != 0 && page.offset > 0);
                let resting = page.list == OrderList::Resting;
                if resting && !self.resting_listed {
                    return;
                }
                if self
                    .lost_proof_page
                    .take_if(|n| *n == self.proof_pages)
                    .is_some()
                {
                    return;
                }
                let within = |r: &&OrderReport| {
                    r.valid_since >= page.from
                        && (page.to.0 == 0 || r.valid_since <= page.to)
                        && !((self.forgets || resting) && r.status.is_final())
                };
                let all: Vec<_> = self.list.iter().filter(within).cloned().collect();
                let total = u32::try_from(all.len()).unwrap();
                let orders = all
                    .into_iter()
                    .skip(page.offset as usize)
                    .take(page.limit as usize)
                    .collect();
                Reply::Orders { orders, total }
            }
            Query::Order(hash) => {
                self.reads.push(*hash);
                if let Some(reason) = self.reads_refused {
                    return self.answer(request, Outcome::Refused(reason));
                }
                match self.list.iter().find(|report| report.hash == *hash) {
                    Some(report) => Reply::Order(report.clone()),
                    None => return self.answer(request, Outcome::Refused(Reason::OrderNotFound)),
                }
            }
            Query::Amend(amend) => return self.amends.push_back((request, *amend)),
            Query::Cancel(hash) => return self.cancels.push_back((request, *hash)),
            Query::Markets => Reply::Markets {
                listed: [("T0-T1", QUOTE), ("T0-T2", OTHER)]
                    .map(|(name, quote)| Listed {
                        price_decimals: self.price_decimals,
                        enabled: self.listed_open,
                        ..listed(name, quote)
                    })
                    .to_vec(),
            },
            Query::Tokens => Reply::Tokens(self.tokens.clone()),
            Query::Account if self.account_away => {
                return self.answer(request, Outcome::Unknown(UnknownCause::Timeout));
            }
            Query::Account => Reply::Account {
                frozen: self.frozen,
            },
            Query::Pools | Query::PoolBalance(_) | Query::PoolTransactions(_) => {
                let Some((balances, open)) = self.pool else {
                    return self.answer(request, Outcome::Refused(Reason::UnknownError));
                };
                match query {
                    Query::PoolBalance(_) => Reply::PoolBalance(balances),
                    Query::Pools => Reply::Pools(vec![PoolListed {
                        market: MarketId(0),
                        joins: true,
                        exits: true,
                        swaps: open,
                        fee_bips: 20,
                    }]),
                    _ => Reply::PoolTransactions {
                        moves: Vec::new(),
                        total: 0,
                    },
                }
            }
        };
        self.answer(request, Outcome::Reply(reply));
    }

    /// The venue accepts the oldest waiting submit and lists it.
    pub fn accept(&mut self) -> ClientOrderId {
        let (request, id) = self.submits.pop_front().expect("a submit waits");
        self.show(id, OrderStatus::Processing, 0);
        let hash = self.sealed[&id].0;
        let status = OrderStatus::Processing;
        self.answer(
            request,
            Outcome::Reply(Reply::Submitted {
                hash,
                status,
                idempotent: false,
            }),
        );
        id
    }

    pub fn accept_all(&mut self) {
        while !self.submits.is_empty() {
            self.accept();
        }
    }

    /// Answers the oldest waiting submit.
    pub fn answer_submit(&mut self, outcome: Outcome) -> ClientOrderId {
        let (request, id) = self.submits.pop_front().expect("a submit waits");
        self.answer(request, outcome);
        id
    }

    /// Adds an order to the list, or changes it there. `lots` are filled at its own price, without fee.
    pub fn show(&mut self, id: ClientOrderId, status: OrderStatus, lots: u64) {
        let (hash, order) = self.sealed[&id].clone();
        let spec = spec();
        let price = self.price_of(&order);
        let (_, base_amount) = order.base();
        let quote_amount = spec.quote_amount(price, order.qty).unwrap();
        let report = OrderReport {
            hash,
            client_id: Some(id),
            market: "T0-T1".into(),
            side: order.side,
            status,
            base_amount,
            quote_amount,
            base_filled: spec.base_amount(Qty(lots)).unwrap(),
            quote_filled: spec.quote_amount(price, Qty(lots)).unwrap(),
            fee: 0,
            valid_until_s: order.last_effect_s(),
            valid_since: order.made_at,
        };
        self.list.retain(|known| known.hash != hash);
        self.list.push(report);
    }

    /// Where an order rests, or would.
    fn price_of(&self, order: &UnsignedOrder) -> Price {
        let moved = self.moved.get(&order.client_id);
        moved.copied().unwrap_or(order.price)
    }

    /// The venue moves the order of the oldest waiting amend, and answers or not.
    pub fn move_order(&mut self, outcome: Outcome) {
        let (request, amend) = self.amends.pop_front().expect("an amend waits");
        let mut sealed = self.sealed.iter();
        let of = sealed.find(|(_, (hash, _))| *hash == amend.order);
        let id = *of.expect("ours").0;
        self.moved.insert(id, amend.price);
        self.show(id, OrderStatus::Processing, 0);
        self.answer(request, outcome);
    }

    /// The venue accepts the oldest waiting cancel.
    pub fn accept_cancel(&mut self) {
        let (request, hash) = self.cancels.pop_front().expect("a cancel waits");
        let id = *self
            .sealed
            .iter()
            .find(|(_, (h, _))| *h == hash)
            .expect("ours")
            .0;
        let lots = 0;
        self.show(id, OrderStatus::Cancelled, lots);
        let status = OrderStatus::Cancelled;
        self.answer(request, Outcome::Reply(Reply::CancelTaken { status }));
    }
}
