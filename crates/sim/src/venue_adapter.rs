//! Translation between the engine's and the venue's types. Pure; the wire format (decimal strings, status codes)
//! belongs to the protocol and is not used here.

use cambist_core::order::{OrderReport, UnsignedOrder};
use cambist_core::request::{
    Balance, Depth, DepthLevel, Listed, Outcome, Query, Reply, UnknownCause,
};
use cambist_core::{Hash, MarketId, MarketSpec};
use cambist_venue::{
    AccountId, AccountQuery, Address, NewOrder, OrderView, OrdersQuery, PoolTransactionsQuery,
    Refusal, Request, Response,
};

/// The venue's request for a query of the engine.
/// `None` for one that it does not have.
pub(crate) fn request(
    account: AccountId,
    markets: &[MarketSpec],
    query: &Query,
) -> Option<Request> {
    Some(match query {
        Query::Depth(market) => Request::Depth {
            market: name(markets, *market),
            level: 0,
            limit: None,
        },
        Query::Balances => Request::Balances {
            account,
            tokens: None,
        },
        Query::Orders(page) => Request::Orders(OrdersQuery {
            start: page.from,
            end: page.to,
            limit: Some(u64::from(page.limit)),
            offset: u64::from(page.offset),
            statuses: page.statuses(),
            ..OrdersQuery::all(account)
        }),
        Query::Order(hash) => Request::Order {
            account,
            hash: *hash,
        },
        Query::Cancel(hash) => Request::Cancel {
            account,
            hash: Some(*hash),
            client_id: None,
        },
        Query::Markets => Request::Markets,
        Query::Tokens => Request::Tokens,
        Query::Account => Request::Account(AccountQuery::Id(account)),
        Query::Pools => Request::Pools,
        // Pools are queried in `pool`: this address has none.
        Query::PoolBalance(_) => Request::PoolBalance { pool: [0; 20] },
        Query::PoolTransactions(page) => Request::PoolTransactions(PoolTransactionsQuery {
            start: page.from,
            end: page.to,
            limit: Some(u64::from(page.limit)),
            offset: u64::from(page.offset),
            ..PoolTransactionsQuery::all(account)
        }),
        Query::Amend(_) => return None,
    })
}

/// The submit of a sealed order; `pool` is that of a swap.
pub(crate) fn submit(
    account: AccountId,
    exchange: Address,
    order: &UnsignedOrder,
    hash: Hash,
    pool: Option<Address>,
) -> Request {
    Request::Submit(Box::new(NewOrder {
        hash,
        exchange,
        account,
        storage_id: u64::from(order.slot),
        sell_token: order.sell_token,
        sell_amount: order.sell_amount,
        buy_token: order.buy_token,
        buy_amount: order.buy_amount,
        fill_by: order.fill_by,
        all_or_none: false,
        valid_until_s: u64::from(order.accepted_until_s),
        max_fee_bips: u64::from(order.max_fee_bips),
        taker: [0; 20],
        kind: order.kind,
        pool,
        client_id: Some(order.client_id.to_string()),
    }))
}

/// The engine's outcome of an answer. An answer that fits no query of the engine cannot be decoded.
pub(crate) fn outcome(markets: &[MarketSpec], answer: Result<Response, Refusal>) -> Outcome {
    match answer {
        Err(refusal) => Outcome::Refused(refusal.reason),
        Ok(response) => reply(markets, response)
            .map_or(Outcome::Unknown(UnknownCause::Undecodable), Outcome::Reply),
    }
}

fn reply(markets: &[MarketSpec], response: Response) -> Option<Reply> {
    Some(match response {
        Response::Submitted(submitted) => Reply::Submitted {
            hash: submitted.hash,
            status: submitted.status,
            idempotent: submitted.idempotent,
        },
        Response::Cancelled(cancelled) => Reply::CancelTaken {
            status: cancelled.status,
        },
        Response::Order(order) => Reply::Order(report(*order)),
        Response::Orders(page) => Reply::Orders {
            total: u32::try_from(page.total).ok()?,
            orders: page.orders.into_iter().map(report).collect(),
        },
        Response::Depth(view) => {
            let levels = |rows: &[cambist_venue::DepthRow]| {
                rows.iter()
                    .map(|row| DepthLevel {
                        price: row.price,
                        size: row.size,
                    })
                    .collect()
            };
            Reply::Depth(Depth {
                market: markets.iter().find(|spec| spec.name == view.market)?.id,
                version: view.version,
                timestamp: view.timestamp,
                bids: levels(&view.bids),
                asks: levels(&view.asks),
            })
        }
        Response::Balances(balances) => Reply::Balances(
            balances
                .iter()
                .map(|view| Balance {
                    token: view.token,
                    total: view.total,
                    locked: view.locked,
                })
                .collect(),
        ),
        Response::Account(view) => Reply::Account {
            frozen: view.frozen,
        },
        Response::Markets(listed) => Reply::Markets {
            listed: listed
                .into_iter()
                .map(|market| Listed {
                    name: market.name,
                    base: market.base,
                    quote: market.quote,
                    price_decimals: market.price_decimals,
                    enabled: market.enabled,
                })
                .collect(),
        },
        Response::Tokens(listed) => Reply::Tokens(listed.into_iter().map(|t| t.spec).collect()),
        Response::ApiKey(_)
        | Response::StorageId { .. }
        | Response::Exchange(_)
        | Response::Submission(_)
        | Response::Pools(_)
        | Response::PoolBalance(_)
        | Response::PoolTransactions(_)
        | Response::Log(_)
        | Response::Kraken(_)
        | Response::Done(_) => return None,
    })
}

fn report(view: OrderView) -> OrderReport {
    OrderReport {
        hash: view.hash,
        client_id: view.client_id.parse().ok(),
        market: view.market.into(),
        side: view.side,
        status: view.status,
        base_amount: view.base_amount,
        quote_amount: view.quote_amount,
        base_filled: view.base_filled,
        quote_filled: view.quote_filled,
        fee: view.fee,
        valid_until_s: view.valid_until_s,
        valid_since: view.created,
    }
}

fn name(markets: &[MarketSpec], market: MarketId) -> String {
    markets
        .iter()
        .find(|spec| spec.id == market)
        .map(|spec| spec.name.clone())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use cambist_core::order::{FillBy, OrderStatus};
    use cambist_core::request::{OrderList, OrdersPage};
    use cambist_core::{OrderKind, Price, Reason, Side, TokenId, VenueTime};
    use cambist_venue::{Cancelled, DepthRow, DepthView, OrdersView};

    use super::*;
    use crate::WorldConfig;
    use crate::exchange::OWN_ACCOUNT;
    use crate::world::World;

    fn markets() -> Vec<MarketSpec> {
        World::new(WorldConfig::calm(0, "ladder"))
            .unwrap()
            .specs()
            .to_vec()
    }

    fn view(client_id: &str) -> OrderView {
        OrderView {
            hash: Hash([3; 32]),
            client_id: client_id.to_owned(),
            account: OWN_ACCOUNT,
            market: "AAA-QQQ".to_owned(),
            side: Side::Sell,
            kind: OrderKind::MakerOnly,
            pool: None,
            fill_by: FillBy::Sell,
            status: OrderStatus::Processing,
            price: Price(250_000),
            price_decimals: 2,
            base_amount: 10,
            quote_amount: 20,
            base_filled: 4,
            quote_filled: 8,
            fee: 1,
            fee_token: TokenId(1),
            sell_token: TokenId(0),
            buy_token: TokenId(1),
            storage_id: 2,
            max_fee_bips: 20,
            valid_until_s: 77,
            created: VenueTime(5),
            updated: VenueTime(6),
        }
    }

    #[test]
    fn a_page_keeps_its_closed_window_and_every_state() {
        let page = OrdersPage {
            from: VenueTime(11),
            to: VenueTime(22),
            offset: 30,
            limit: 40,
            list: OrderList::All,
        };
        let asked = request(OWN_ACCOUNT, &markets(), &Query::Orders(page));
        let Some(Request::Orders(asked)) = asked else {
            panic!("not a page");
        };
        assert_eq!((asked.start, asked.end), (VenueTime(11), VenueTime(22)));
        assert_eq!((asked.offset, asked.limit), (30, Some(40)));
        assert!(asked.statuses.is_empty() && asked.sides.is_empty());
    }

    #[test]
    fn a_report_carries_amounts_times_and_only_our_ids() {
        let of = |client_id: &str| {
            let page = Ok(Response::Orders(OrdersView {
                total: 9,
                orders: vec![view(client_id)],
            }));
            let Outcome::Reply(Reply::Orders { orders, total }) = outcome(&markets(), page) else {
                panic!("not a page");
            };
            assert_eq!(total, 9);
            orders.into_iter().next().unwrap()
        };
        let ours = of("c000000ab-3-17");
        assert_eq!(ours.client_id.map(|id| id.number), Some(17));
        assert_eq!((ours.base_filled, ours.quote_filled, ours.fee), (4, 8, 1));
        assert_eq!((ours.valid_until_s, ours.valid_since), (77, VenueTime(5)));
        assert_eq!(of("somebody's").client_id, None);
    }

    #[test]
    fn a_depth_of_an_unknown_market_is_not_decoded() {
        let of = |market: &str| {
            let row = DepthRow {
                price: Price(9),
                size: 8,
                volume: 7,
                count: 6,
            };
            let depth = Ok(Response::Depth(DepthView {
                market: market.to_owned(),
                price_decimals: 2,
                version: 5,
                timestamp: VenueTime(4_321),
                changed: VenueTime(1),
                bids: vec![row],
                asks: Vec::new(),
            }));
            outcome(&markets(), depth)
        };
        let Outcome::Reply(Reply::Depth(depth)) = of("AAA-QQQ") else {
            panic!("not a depth");
        };
        assert_eq!((depth.market, depth.version), (MarketId(0), 5));
        assert_eq!(depth.timestamp, VenueTime(4_321), "milliseconds are kept");
        assert_eq!((depth.bids[0].price, depth.bids[0].size), (Price(9), 8));
        assert_eq!(of("CCC-QQQ"), Outcome::Unknown(UnknownCause::Undecodable));
    }

    #[test]
    fn refusals_keep_their_reason_and_unexpected_answers_are_not_decoded() {
        let refused = Err(Refusal::new(Reason::Unlisted(7), "words"));
        assert_eq!(
            outcome(&markets(), refused),
            Outcome::Refused(Reason::Unlisted(7))
        );
        let cancelled = Ok(Response::Cancelled(Cancelled {
            hash: Hash([1; 32]),
            client_id: String::new(),
            status: OrderStatus::Cancelled,
            idempotent: false,
        }));
        let status = OrderStatus::Cancelled;
        assert_eq!(
            outcome(&markets(), cancelled),
            Outcome::Reply(Reply::CancelTaken { status })
        );
        assert_eq!(
            outcome(&markets(), Ok(Response::Done(None))),
            Outcome::Unknown(UnknownCause::Undecodable)
        );
    }
}
