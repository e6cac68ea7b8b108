//! The queries of the engine, and the submit of sealed orders.

use std::sync::PoisonError;

use cambist_core::request::{self, Amend, Depth, Listed, Outcome, Query, Reply};
use cambist_core::{Hash, MarketId, MarketSpec, OrderStatus, Reason};
use cambist_kraken_venue::listing::{Pair, assets, pairs};
use cambist_kraken_venue::requests::{Method, Request};
use cambist_kraken_venue::seal::read_back;
use cambist_kraken_venue::{Listing, account, depth, order_key, rules};

use super::{Head, KeyKind, KrakenClient, NoAnswer};
use crate::client::Answered;

impl KrakenClient {
    /// Sends a poll, a cancel or an amend. Some take several requests, one after the other.
    pub async fn query(&self, query: &Query, markets: &[MarketSpec]) -> Answered {
        let mut head = Head::default();
        let result = self.outcome(query, markets, &mut head).await;
        let beyond = head.calls.saturating_sub(rules::calls(query.endpoint()));
        Answered {
            cost_beyond: beyond.saturating_mul(rules::CALL),
            ..head.answered(result)
        }
    }

    async fn outcome(
        &self,
        query: &Query,
        markets: &[MarketSpec],
        head: &mut Head,
    ) -> Result<Outcome, NoAnswer> {
        match query {
            Query::Depth(market) => self.depth(*market, markets, head).await,
            Query::Balances => {
                let result = self.private(&Request::balance_ex(), head).await?;
                let held = account::balances(&result, &self.listing)?;
                Ok(Outcome::Reply(Reply::Balances(held)))
            }
            Query::Orders(page) => self.orders(page, head).await,
            Query::Order(key) => self.order(*key, head).await,
            Query::Cancel(key) => self.cancel(*key, head).await,
            Query::Amend(amend) => self.amend(amend, markets, head).await,
            Query::Markets => self.markets(head).await,
            Query::Tokens => self.tokens(head).await,
            Query::Account => {
                let result = self.public(&Request::system_status(), head).await?;
                let status = account::system_status(&result)?;
                // It is public: a cache may have answered, so that it is no clock.
                head.date = None;
                let frozen = !status.takes_post_only_orders();
                Ok(Outcome::Reply(Reply::Account { frozen }))
            }
            Query::Pools | Query::PoolBalance(_) | Query::PoolTransactions(_) => {
                Err(NoAnswer::NotSent("the venue has no pools".to_owned()))
            }
        }
    }

    async fn depth(
        &self,
        market: MarketId,
        markets: &[MarketSpec],
        head: &mut Head,
    ) -> Result<Outcome, NoAnswer> {
        let spec = markets.iter().find(|spec| spec.id == market);
        let pair = spec.and_then(|spec| self.listing.pair(&spec.name));
        let Some((spec, pair)) = spec.zip(pair) else {
            return Err(NoAnswer::NotSent("the market is not listed".to_owned()));
        };
        let result = self
            .public(&Request::depth(&pair.pair.altname), head)
            .await?;
        let levels = depth::levels(&result, pair, spec)?;
        let Some(timestamp) = head.date else {
            let text = "no Date header of the venue itself: the age of the book is not known";
            return Err(NoAnswer::undecodable(text));
        };
        let version = {
            let depths = self.shared.depths.lock();
            let mut depths = depths.unwrap_or_else(PoisonError::into_inner);
            depths.version(market, &levels)
        };
        Ok(Outcome::Reply(Reply::Depth(Depth {
            market,
            version,
            timestamp,
            bids: levels.bids,
            asks: levels.asks,
        })))
    }

    async fn cancel(&self, key: Hash, head: &mut Head) -> Result<Outcome, NoAnswer> {
        let Some(request) = Request::cancel(key) else {
            return Err(NoAnswer::NotSent("not the key of an order".to_owned()));
        };
        let result = self.private(&request, head).await?;
        match account::cancelled(&result)? {
            Some(status) => Ok(Outcome::Reply(Reply::CancelTaken { status })),
            None => Err(NoAnswer::Refused(
                Reason::NothingToCancel,
                "no order was cancelled".to_owned(),
            )),
        }
    }

    async fn amend(
        &self,
        amend: &Amend,
        markets: &[MarketSpec],
        head: &mut Head,
    ) -> Result<Outcome, NoAnswer> {
        let not_sent = |why: &str| NoAnswer::NotSent(why.to_owned());
        let spec = markets.iter().find(|spec| spec.id == amend.market);
        let spec = spec.ok_or_else(|| not_sent("the market is not listed"))?;
        let price = spec.price_number(amend.price);
        let request = Request::amend(amend.order, price, amend.maker_only);
        let request = request.ok_or_else(|| not_sent("not the key of an own order"))?;
        account::amended(&self.private(&request, head).await?)?;
        Ok(Outcome::Reply(Reply::Amended))
    }

    /// The pairs of the listing as they are listed now.
    async fn markets(&self, head: &mut Head) -> Result<Outcome, NoAnswer> {
        let now = self.pairs_now(head).await?;
        let listed = self.listing.pairs().iter().filter_map(|known| {
            let pair = now.iter().find(|pair| pair.name == known.pair.name)?;
            let token = |asset: &str| self.listing.token(asset).map(|token| token.id);
            Some(Listed {
                name: known.market.clone(),
                base: token(&pair.base)?,
                quote: token(&pair.quote)?,
                price_decimals: pair.price_decimals,
                // Prices in other steps cannot be expressed in the ticks of the start.
                enabled: pair.is_online && pair.tick_size == known.pair.tick_size,
            })
        });
        let listed = listed.collect();
        Ok(Outcome::Reply(Reply::Markets { listed }))
    }

    /// The tokens of the listing as they are listed now, bounded by its pairs as they are listed now.
    async fn tokens(&self, head: &mut Head) -> Result<Outcome, NoAnswer> {
        let pairs = self.pairs_now(head).await?;
        let known = |pair: &Pair| self.listing.pair(&pair.name).is_some();
        let pairs: Vec<_> = pairs.into_iter().filter(known).collect();
        let names = self.listing.asset_names();
        let named = self.public(&Request::assets(names), head).await;
        let result = match named {
            Err(NoAnswer::Refused(Reason::UnsupportedToken, _)) => {
                self.public(&Request::assets([]), head).await?
            }
            other => other?,
        };
        let now = Listing::new(&assets(&result)?, &pairs, &self.listing.ids());
        let now = now.map_err(|error| NoAnswer::undecodable(&error.to_string()))?;
        Ok(Outcome::Reply(Reply::Tokens(
            now.tokens().cloned().collect(),
        )))
    }

    /// The pairs of the listing; all pairs if one of them is no longer listed.
    async fn pairs_now(&self, head: &mut Head) -> Result<Vec<Pair>, NoAnswer> {
        let pairs_known = self.listing.pairs().iter();
        let names = pairs_known.map(|pair| pair.pair.altname.as_str());
        let named = self.public(&Request::asset_pairs(names), head).await;
        let result = match named {
            Err(NoAnswer::Refused(Reason::UnsupportedMarket, _)) => {
                self.public(&Request::asset_pairs([]), head).await?
            }
            other => other?,
        };
        Ok(pairs(&result)?)
    }

    /// Sends the stored bytes of an order, exactly as they are.
    pub async fn submit(&self, body: &[u8]) -> Answered {
        let mut head = Head::default();
        let result = self.submitted(body, &mut head).await;
        head.answered(result)
    }

    async fn submitted(&self, body: &[u8], head: &mut Head) -> Result<Outcome, NoAnswer> {
        let sealed = read_back(body).map_err(|error| NoAnswer::NotSent(error.to_string()))?;
        let hash = order_key::key_of(sealed.client_id);
        let hash = hash.ok_or_else(|| NoAnswer::NotSent("the order has no key".to_owned()))?;
        let key = self.key(KeyKind::Orders)?;
        let _turn = self.turn(key, Method::AddOrder).await?;
        let sent = self.send(key, Method::AddOrder, sealed.nonce, body.to_vec(), head);
        account::added(&sent.await?)?;
        Ok(Outcome::Reply(Reply::Submitted {
            hash,
            status: OrderStatus::Processing,
            idempotent: false,
        }))
    }

    /// Sends the stored bytes of an order, exactly as they are. There are no joins and exits here.
    pub async fn submit_to(&self, endpoint: request::Endpoint, body: &[u8]) -> Answered {
        if endpoint == request::Endpoint::Submit {
            self.submit(body).await
        } else {
            let none = NoAnswer::NotSent("the venue has no pools".to_owned());
            Head::default().answered(Err(none))
        }
    }
}
