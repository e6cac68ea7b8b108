//! Orders placed by hand with the account's keys, beside the daemon: far from the market, with any id.

use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::{
    ClientOrderId, Hash, MarketId, OrderKind, Price, Qty, Side, StrategyId, TokenId, VenueTime,
};
use cambist_protocol::encode::sign_order;
use cambist_signing::SecretKey;

use super::books::{ACCOUNT, asynchronously, client};
use super::stage::Stage;

/// Buys a tenth of a base token far below the market, for ten minutes.
pub fn order(storage_id: u32, now: VenueTime) -> UnsignedOrder {
    UnsignedOrder {
        client_id: ClientOrderId {
            instance: 7,
            strategy: StrategyId(1),
            number: storage_id.into(),
        },
        market: MarketId(0),
        side: Side::Buy,
        price: Price(200_000),
        qty: Qty(1_000),
        kind: OrderKind::MakerOnly,
        swap: None,
        sell_token: TokenId(1),
        sell_amount: 200_000_000,
        buy_token: TokenId(0),
        buy_amount: 100_000_000_000_000_000,
        fill_by: FillBy::Buy,
        slot: storage_id,
        accepted_until_s: u32::try_from(now.0 / 1_000 + 600).unwrap(),
        rests_until_s: Some(u32::try_from(now.0 / 1_000 + 600).unwrap()),
        max_fee_bips: 63,
        made_at: now,
    }
}

impl Stage {
    /// Places an order for this many seconds, whose id does not have the daemon's form; returns its hash. The id is not
    /// signed.
    pub fn place_by_hand(&self, storage_id: u32, id: &str, seconds: u32) -> Hash {
        asynchronously(async {
            let client = client(&self.url(), &self.path("keys"));
            let now = client.query(&Query::Account, &[]).await.venue_time.unwrap();
            let until = u32::try_from(now.0 / 1_000).unwrap() + seconds;
            let order = UnsignedOrder {
                accepted_until_s: until,
                rests_until_s: Some(until),
                ..order(storage_id, now)
            };
            let text = std::fs::read_to_string(self.path("keys/eddsa_key")).unwrap();
            let key = SecretKey::from_hex(text.trim()).unwrap();
            let exchange = client.exchange_info().await.unwrap().exchange_address;
            let signed = sign_order(&order, exchange, ACCOUNT, &[], &key).unwrap();
            let body = String::from_utf8(signed.body).unwrap();
            let body = body.replace(&order.client_id.to_string(), id);
            match client.submit(body.as_bytes()).await.outcome {
                Outcome::Reply(Reply::Submitted { hash, .. }) => hash,
                other => panic!("{other:?}"),
            }
        })
    }
}
