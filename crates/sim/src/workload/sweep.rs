//! Sweeping a book at a loss of control: a sufficiently funded account, and one order.

use cambist_core::order::FillBy;
use cambist_core::{Hash, MarketId, MarketSpec, OrderKind, Price, Side};
use cambist_venue::{AccountId, Caller, NewOrder, Operator, PublicKey, Request, Venue};

/// Its account.
const SWEEPER: AccountId = AccountId(800);
/// The highest fee it accepts.
const MAX_FEE_BIPS: u8 = 63;
/// Its owner.
const OWNER: cambist_venue::Address = [0x80; 20];

/// Requests that take everything within a gap from a side: from the bids if it sells.
pub(crate) fn requests(
    venue: &Venue,
    market: MarketId,
    spec: &MarketSpec,
    way: Side,
    gap_bps: u32,
) -> Vec<(Caller, Request)> {
    let Some(best) = venue.best(market, way.opposite()) else {
        return Vec::new();
    };
    let away = best.0 / 10_000 * u64::from(gap_bps);
    let price = Price(match way {
        Side::Buy => best.0.saturating_add(away),
        Side::Sell => best.0.saturating_sub(away),
    });
    // The largest order, less a margin for the price move.
    let most = spec.lots_affordable(spec.quote.maximum / 2, price);
    let qty = most.min(spec.lots_floor(spec.base.maximum / 2));
    let (sell, buy) = (spec.sell_token(way), spec.buy_token(way));
    let storage_id = venue.next_order_storage_id(SWEEPER, sell).unwrap_or(0);
    let Some((base, quote)) = spec.base_amount(qty).zip(spec.quote_amount(price, qty)) else {
        return Vec::new();
    };
    let (sold, bought, fill_by) = match way {
        Side::Buy => (quote, base, FillBy::Buy),
        Side::Sell => (base, quote, FillBy::Sell),
    };
    let mut hash = [0xfc; 32];
    hash[26..28].copy_from_slice(&sell.0.to_be_bytes());
    hash[28..].copy_from_slice(&storage_id.to_be_bytes());
    let operator = |request| (Caller::Operator, Request::Operator(request));
    let mut requests = Vec::new();
    if venue.account(SWEEPER).is_none() {
        requests.push(operator(Operator::CreateAccount {
            id: Some(SWEEPER),
            owner: OWNER,
            public_key: PublicKey::default(),
            api_key: None,
            internal: true,
        }));
    }
    requests.push(operator(Operator::Deposit {
        account: SWEEPER,
        token: sell,
        amount: sold + spec.fee_in.on_top(way, sold, MAX_FEE_BIPS),
    }));
    let order = NewOrder {
        hash: Hash(hash),
        exchange: venue.config().exchange,
        account: SWEEPER,
        storage_id: storage_id.into(),
        sell_token: sell,
        sell_amount: sold,
        buy_token: buy,
        buy_amount: bought,
        fill_by,
        all_or_none: false,
        valid_until_s: venue.now().as_s() + 600,
        max_fee_bips: MAX_FEE_BIPS.into(),
        taker: [0; 20],
        kind: OrderKind::TakerOnly,
        pool: None,
        client_id: None,
    };
    let caller = Caller::Internal { account: SWEEPER };
    requests.push((caller, Request::Submit(Box::new(order))));
    requests
}

/// The signed gap in the direction in which an order trades: down if it sells.
pub(crate) fn signed(way: Side, gap_bps: u32) -> i32 {
    let gap = i32::try_from(gap_bps).unwrap_or(i32::MAX);
    match way {
        Side::Buy => gap,
        Side::Sell => -gap,
    }
}
