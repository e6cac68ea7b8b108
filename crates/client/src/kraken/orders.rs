//! Reports of orders with exact fills: the lists, one order, and the ledger of trades that are not known yet.

use std::sync::{MutexGuard, PoisonError};

use cambist_core::order::OrderReport;
use cambist_core::request::{OrderList, OrdersPage, Outcome, Reply};
use cambist_core::{ClientOrderId, Hash, Reason, VenueTime};
use cambist_kraken_venue::fills::{NoFills, ledger_page, trade_times};
use cambist_kraken_venue::json::Json;
use cambist_kraken_venue::order_key::{cl_ord_id, txid};
use cambist_kraken_venue::orders::{self, ListedOrder};
use cambist_kraken_venue::requests::Request;

use super::ledger::{Question, Reading, Window};
use super::{Head, KrakenClient, NoAnswer};
use crate::error::CallError;

impl KrakenClient {
    /// One page of a list. What is open has one page.
    pub(super) async fn orders(
        &self,
        page: &OrdersPage,
        head: &mut Head,
    ) -> Result<Outcome, NoAnswer> {
        let name = match page.list {
            OrderList::Resting => "open",
            OrderList::Closed => "closed",
            OrderList::All => {
                let text = "the venue has no list of all orders";
                return Err(NoAnswer::NotSent(text.to_owned()));
            }
        };
        let result = self.private(&Request::orders(page), head).await?;
        let (listed, count) = orders::page(&result, name, &self.listing)?;
        let next = match page.list {
            OrderList::Closed => next_page(page.offset, listed.len(), count)?,
            OrderList::Resting | OrderList::All => None,
        };
        let orders = self.with_fills(&listed, head).await?;
        Ok(Outcome::Reply(Reply::OrdersUntil { orders, next }))
    }

    /// The ids of this program's among the newest orders, those that rest and those that ended. No fills are read.
    pub async fn newest_ids(&self) -> Result<Vec<ClientOrderId>, CallError> {
        let mut ids = Vec::new();
        for (list, name) in [(OrderList::Resting, "open"), (OrderList::Closed, "closed")] {
            let page = OrdersPage {
                list,
                from: VenueTime(0),
                to: VenueTime(0),
                offset: 0,
                limit: 0,
            };
            let read = |result: &Json| orders::page(result, name, &self.listing);
            let (listed, _) = self
                .own("newest_orders", &Request::orders(&page), read)
                .await?;
            ids.extend(listed.iter().filter_map(ListedOrder::client_id));
        }
        Ok(ids)
    }

    /// One order. An own one moves from the open orders to the closed ones, never back: the lists are
    /// read in this order, and the venue does not know an order that is in neither.
    pub(super) async fn order(&self, key: Hash, head: &mut Head) -> Result<Outcome, NoAnswer> {
        let listed = match (cl_ord_id(key), txid(key)) {
            (Some(name), _) => {
                let of_key = |orders: Vec<ListedOrder>| {
                    let mut orders = orders.into_iter().filter(|order| order.key() == key);
                    match (orders.next(), orders.next()) {
                        (found, None) => Ok(found),
                        _ => Err(NoAnswer::undecodable("several orders have one name")),
                    }
                };
                let read = |result: &Json, list| orders::page(result, list, &self.listing);
                let open = self.private(&Request::open_order(&name), head).await?;
                if let Some(order) = of_key(read(&open, "open")?.0)? {
                    Some(order)
                } else {
                    let closed = self.private(&Request::closed_order(&name), head).await?;
                    of_key(read(&closed, "closed")?.0)?
                }
            }
            (None, Some(txid)) => {
                let result = self.private(&Request::order_of_others(&txid), head).await?;
                let listed = orders::all(&result, &self.listing)?;
                listed.into_iter().find(|order| order.key() == key)
            }
            (None, None) => None,
        };
        let unknown = || NoAnswer::Refused(Reason::OrderNotFound, "in no list".to_owned());
        let listed = listed.ok_or_else(unknown)?;
        let mut orders = self.with_fills(std::slice::from_ref(&listed), head).await?;
        match orders.pop() {
            Some(report) => Ok(Outcome::Reply(Reply::Order(report))),
            None => Err(unknown()),
        }
    }

    /// The reports with their fills. While the ledger does not show a trade that an order names, there is none of them:
    /// a report without a fill looks like one of an order that was not filled. It is asked one question.
    async fn with_fills(
        &self,
        listed: &[ListedOrder],
        head: &mut Head,
    ) -> Result<Vec<OrderReport>, NoAnswer> {
        let missing = match self.complete(listed)? {
            Ok(reports) => return Ok(reports),
            Err(missing) => missing,
        };
        let window = missing.window;
        let question = self.ledger().next(window);
        match question {
            Question::Entries { from, to, offset } => {
                let request = Request::ledgers(from, to, offset);
                let page = ledger_page(&self.private(&request, head).await?, &self.listing)?;
                let (read, count) = (page.read, page.count);
                let is_last = read == 0 || count.is_some_and(|count| offset + read >= count);
                self.trades().keep(page)?;
                self.ledger().read(window, read, is_last);
            }
            Question::Times => {
                let request = Request::trades(missing.trades.iter().map(String::as_str));
                let times = trade_times(&self.private(&request, head).await?)?;
                self.ledger().times(window, times.into_values().collect());
            }
        }
        match self.complete(listed)? {
            Ok(reports) => {
                self.ledger().finished(window);
                Ok(reports)
            }
            Err(missing) => Err(missing.into()),
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Reading> {
        let ledger = self.shared.ledger.lock();
        ledger.unwrap_or_else(PoisonError::into_inner)
    }

    /// All reports, or what is missing for them.
    fn complete(
        &self,
        listed: &[ListedOrder],
    ) -> Result<Result<Vec<OrderReport>, Missing>, NoAnswer> {
        let mut trades = self.trades();
        let mut reports = Vec::with_capacity(listed.len());
        let mut missing: Option<Missing> = None;
        for order in listed {
            match order.complete(&self.listing, &mut trades) {
                Ok(report) => reports.push(report),
                Err(NoFills::Missing(ids)) => {
                    let (opened, ended) = (order.opened(), order.ended());
                    let missing = missing.get_or_insert(Missing {
                        trades: Vec::new(),
                        window: Window { opened, ended },
                    });
                    let window = &mut missing.window;
                    window.opened = window.opened.min(opened);
                    window.ended = window.ended.zip(ended).map(|(one, other)| one.max(other));
                    missing.trades.extend(ids);
                }
                Err(NoFills::Contradiction(problem)) => {
                    let problem = format!("order {}: {problem}", order.key());
                    return Err(NoAnswer::undecodable(&problem));
                }
            }
        }
        Ok(missing.map_or(Ok(reports), Err))
    }
}

/// Trades that the ledger has not shown.
struct Missing {
    trades: Vec<String>,
    /// When their orders were alive.
    window: Window,
}

impl From<Missing> for NoAnswer {
    fn from(missing: Missing) -> Self {
        let first = missing.trades.first().map_or("", String::as_str);
        let text = format!(
            "the ledger does not show {} trades of these orders yet, such as {}",
            missing.trades.len(),
            cambist_protocol::number::quoted(first, 40)
        );
        Self::undecodable(&text)
    }
}

/// Where the next page of a list begins that has so many entries.
fn next_page(offset: u32, read: usize, count: Option<u32>) -> Result<Option<u32>, NoAnswer> {
    let read = u32::try_from(read).unwrap_or(u32::MAX);
    let after = offset.saturating_add(read);
    match (read, count) {
        // Without a count the end is an empty page.
        (0, None) => Ok(None),
        (_, Some(count)) if after >= count => Ok(None),
        (0, Some(_)) => Err(NoAnswer::undecodable("the list ends before its count")),
        _ => Ok(Some(after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_with_its_count_or_an_empty_page() {
        assert_eq!(next_page(0, 50, Some(51)), Ok(Some(50)));
        assert_eq!(next_page(50, 1, Some(51)), Ok(None));
        assert_eq!(next_page(50, 0, Some(50)), Ok(None));
        assert_eq!(next_page(0, 0, Some(0)), Ok(None));
        assert!(next_page(50, 0, Some(51)).is_err(), "an entry is missing");
        assert_eq!(next_page(0, 7, None), Ok(Some(7)));
        assert_eq!(next_page(7, 0, None), Ok(None));
    }
}
