//! Encodes the engine's orders into the exact bytes that are signed, stored and sent.
//!
//! The bytes are made once; every transmission sends the same ones. Keys are arguments.

use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::{Hash, OrderKind, PoolSpec};
use cambist_signing::{Address, OrderMessage, RequestSigner, SignError, Signature, SignerError};
use serde::Serialize;

use crate::json::{self, FromWire, WireError};
use crate::wire::{OrderRequest, OrderType, SubmitOrder, TokenVolume};

/// A signed order or pool transaction, ready to be stored and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIntent {
    /// The hash that identifies it at the venue.
    pub hash: Hash,
    /// Body of its request.
    pub body: Vec<u8>,
}

/// Why an intent was not signed. It must not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// There is no signature.
    #[error("not signed: {0}")]
    Sign(#[from] SignerError),
    /// The body, decoded as a venue does, differs from what was signed.
    #[error("body does not read back as what was signed")]
    ReadBack,
    /// An order that should rest longer or shorter than its bytes are accepted: the interface has one time for
    /// both.
    #[error(
        "the order rests until another time than it is accepted until, and the interface has one for both"
    )]
    TwoTimes,
    /// A join, an exit or a swap of a pool that is not configured.
    #[error("the pool of the transaction is not configured")]
    NoPool,
}

impl From<SignError> for SealError {
    fn from(error: SignError) -> Self {
        Self::Sign(error.into())
    }
}

/// The message that an order of the engine signs.
pub fn order_message(order: &UnsignedOrder, exchange: Address, account_id: u32) -> OrderMessage {
    OrderMessage {
        exchange,
        storage_id: order.slot,
        account_id,
        sell_token: order.sell_token.0,
        buy_token: order.buy_token.0,
        sell_amount: order.sell_amount,
        buy_amount: order.buy_amount,
        valid_until: order.accepted_until_s,
        max_fee_bips: u16::from(order.max_fee_bips),
        fill_by_buy: fills_by_buy(order.fill_by),
        taker: Address::ZERO,
    }
}

/// The body of POST order. Order and form of the fields never vary. `pool` is that of a swap.
pub fn order_body(
    order: &UnsignedOrder,
    exchange: Address,
    account_id: u32,
    pool: Option<Address>,
    signature: Signature,
) -> Vec<u8> {
    to_bytes(&SubmitOrder {
        exchange,
        account_id,
        storage_id: order.slot,
        sell_token: TokenVolume {
            token: order.sell_token,
            volume: order.sell_amount,
        },
        buy_token: TokenVolume {
            token: order.buy_token,
            volume: order.buy_amount,
        },
        all_or_none: false,
        fill_amount_b_or_s: fills_by_buy(order.fill_by),
        valid_until: order.accepted_until_s,
        max_fee_bips: order.max_fee_bips,
        eddsa_signature: signature,
        client_order_id: Some(order.client_id.to_string()),
        order_type: match order.kind {
            _ if order.is_swap() => OrderType::Amm,
            OrderKind::Limit => OrderType::Limit,
            OrderKind::MakerOnly => OrderType::MakerOnly,
            OrderKind::TakerOnly => OrderType::TakerOnly,
        },
        taker: None,
        pool_address: pool,
        channel_id: None,
    })
}

/// Hashes and signs an order and encodes its body. The signer verifies the signature, and the body is decoded as a
/// venue does and compared with what was signed. A swap is with the one of `pools` that is beside its market; what is
/// signed does not name it.
pub fn sign_order(
    order: &UnsignedOrder,
    exchange: Address,
    account_id: u32,
    pools: &[PoolSpec],
    key: &dyn RequestSigner,
) -> Result<SignedIntent, SealError> {
    let mut beside = pools.iter().filter(|pool| pool.market == order.market);
    let pool = match order.swap {
        Some(_) => Some(Address(beside.next().ok_or(SealError::NoPool)?.address)),
        None => None,
    };
    if order.rests_until_s != Some(order.accepted_until_s) {
        return Err(SealError::TwoTimes);
    }
    let message = order_message(order, exchange, account_id);
    let hash = message.hash();
    let signature = key.order(&message)?;
    let body = order_body(order, exchange, account_id, pool, signature);
    if read_back(&body) != Ok((message, signature)) {
        return Err(SealError::ReadBack);
    }
    Ok(SignedIntent {
        hash: Hash(hash.0),
        body,
    })
}

/// What the exchange finds in the body of an order within the ranges of the interface: message and signature.
///
/// # Errors
///
/// A field is missing, malformed or out of range.
pub fn read_back(body: &[u8]) -> Result<(OrderMessage, Signature), WireError> {
    let json = json::parse(body)?;
    let signature = SubmitOrder::read(&json)?.eddsa_signature;
    let message = OrderRequest::read(json.object()?)?.message();
    let message = message.ok_or_else(|| WireError::new("a number is out of range"))?;
    Ok((message, signature))
}

/// Any wire type as bytes.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Wire types are structs of numbers, strings and lists with string keys, whose serialisation into memory cannot
    // fail; an empty body would be refused by every reader.
    serde_json::to_vec(value).unwrap_or_default()
}

const fn fills_by_buy(fill_by: FillBy) -> bool {
    match fill_by {
        FillBy::Buy => true,
        FillBy::Sell => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_core::order::ClientOrderId;
    use cambist_core::token::AMOUNT_MAX;
    use cambist_core::{MarketId, Price, Qty, Side, StrategyId, TokenId, VenueTime};
    use cambist_signing::SecretKey;

    fn order() -> UnsignedOrder {
        UnsignedOrder {
            client_id: ClientOrderId {
                instance: 0xab,
                strategy: StrategyId(1),
                number: 7,
            },
            market: MarketId(0),
            side: Side::Buy,
            price: Price(250_000),
            qty: Qty(10),
            kind: OrderKind::MakerOnly,
            swap: None,
            sell_token: TokenId(1),
            sell_amount: AMOUNT_MAX,
            buy_token: TokenId(0),
            buy_amount: 5,
            fill_by: FillBy::Buy,
            slot: 32_768,
            accepted_until_s: 1_700_000_000,
            rests_until_s: Some(1_700_000_000),
            max_fee_bips: 63,
            made_at: VenueTime(1),
        }
    }

    #[test]
    fn an_order_with_two_times_is_not_signed() {
        let key = SecretKey::from_hex("0x1").unwrap();
        let sign = |rests_until_s| {
            let order = UnsignedOrder {
                rests_until_s,
                ..order()
            };
            sign_order(&order, Address([0x11; 20]), 10_000, &[], &key).map(|_| ())
        };
        assert!(sign(Some(1_700_000_000)).is_ok());
        for other in [None, Some(1_700_000_001), Some(1_699_999_999)] {
            assert!(matches!(sign(other), Err(SealError::TwoTimes)), "{other:?}");
        }
    }

    #[test]
    fn the_body_is_the_interface_to_the_byte() {
        let key = SecretKey::from_hex("0x1").unwrap();
        let exchange = Address([0x11; 20]);
        let signed = sign_order(&order(), exchange, 10_000, &[], &key).unwrap();
        let text = String::from_utf8(signed.body.clone()).unwrap();
        let signature = key
            .sign(&cambist_signing::Hash32(signed.hash.0).message())
            .unwrap();
        assert_eq!(
            text,
            format!(
                "{{\"exchange\":\"0x1111111111111111111111111111111111111111\",\"accountId\":10000,\
                 \"storageId\":32768,\
                 \"sellToken\":{{\"tokenId\":\"1\",\"volume\":\"79228162514264337593543950335\"}},\
                 \"buyToken\":{{\"tokenId\":\"0\",\"volume\":\"5\"}},\"allOrNone\":\"false\",\
                 \"fillAmountBOrS\":\"true\",\"validUntil\":1700000000,\"maxFeeBips\":63,\
                 \"eddsaSignature\":\"{signature}\",\"clientOrderId\":\"c000000ab-1-7\",\
                 \"orderType\":\"MAKER_ONLY\"}}"
            )
        );
        assert_eq!(
            sign_order(&order(), exchange, 10_000, &[], &key).unwrap(),
            signed
        );
        let (message, signature) = read_back(&signed.body).unwrap();
        assert_eq!(message.hash().0, signed.hash.0);
        assert!(key.public().verify(&message.hash().message(), &signature));
    }

    #[test]
    fn a_swap_names_the_pool_beside_its_market_and_signs_its_amounts() {
        let key = SecretKey::from_hex("0x1").unwrap();
        let (exchange, address) = (Address([0x11; 20]), [0x22; 20]);
        let swap = UnsignedOrder {
            kind: OrderKind::TakerOnly,
            swap: Some(cambist_core::order::Swap { most: 6 }),
            fill_by: FillBy::Sell,
            ..order()
        };
        let pool = |market, address| PoolSpec {
            market: MarketId(market),
            address,
            ..crate::encode_move::tests::pool()
        };
        let pools = [pool(1, [0x33; 20]), pool(0, address)];
        let signed = sign_order(&swap, exchange, 10_000, &pools, &key).unwrap();
        let json = json::parse(&signed.body).unwrap();
        let read = OrderRequest::read(json.object().unwrap()).unwrap();
        assert_eq!(read.order_type, OrderType::Amm);
        assert_eq!(read.pool_address, Some(Address(address)));
        assert!(!read.fill_amount_b_or_s);
        let elsewhere = sign_order(&swap, exchange, 10_000, &pools[..1], &key);
        assert_eq!(elsewhere, Err(SealError::NoPool));
        // What limits reckon with is not signed, nor is the pool: an order of these amounts has this hash.
        let order = UnsignedOrder { swap: None, ..swap };
        let taking = sign_order(&order, exchange, 10_000, &pools, &key).unwrap();
        assert_eq!(taking.hash, signed.hash);
        assert_ne!(taking.body, signed.body);
    }

    #[test]
    fn an_order_that_cannot_be_read_back_is_not_signed() {
        let key = SecretKey::from_hex("0x1").unwrap();
        let mut free = order();
        free.max_fee_bips = 0;
        assert_eq!(
            sign_order(&free, Address::ZERO, 1, &[], &key),
            Err(SealError::ReadBack)
        );
        let mut huge = order();
        huge.sell_amount = AMOUNT_MAX + 1;
        assert_eq!(
            sign_order(&huge, Address::ZERO, 1, &[], &key),
            Err(SealError::ReadBack)
        );
    }
}
