//! Hashing of orders, and the venue's reading of their bytes. Engine and venue treat a hash as opaque bytes, so a cheap
//! digest tests them as well as a real one; about one world in a hundred uses the complete wire format and signatures
//! instead.

use std::sync::OnceLock;

use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::{Hash, PoolSpec, TokenId, TokenSpec};
use cambist_protocol::encode::sign_order;
use cambist_protocol::json;
use cambist_protocol::wire::OrderRequest;
use cambist_signing::{Address, SecretKey};
use cambist_venue::NewOrder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::workload::pool::POOL;

/// Signing key of the account in every world.
pub const OWN_KEY: &str = "0x0000000000000000000000000000000000000000000000000000000000ca9b15";

/// How orders are hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sealer {
    /// A digest of the order's fields.
    #[default]
    Digest,
    /// A digest of our id of the order, by which a venue may know it as well.
    Name,
    /// Wire format, real hash and real signature: written, read back strictly, verified. Times in answers are as fine
    /// as the interface states them.
    Wire,
}

impl Sealer {
    /// Hash of an order. The first byte is zero as in every real one, so that it never equals a hash of a simulated
    /// trader.
    pub fn hash(self, exchange: [u8; 20], account: u32, order: &UnsignedOrder) -> Hash {
        match self {
            Self::Digest => digest(order),
            Self::Name => name(order),
            Self::Wire => {
                let signed = sign_order(order, Address(exchange), account, &pools_of(order), key());
                signed
                    .expect("every order that passes the gate can be signed")
                    .hash
            }
        }
    }

    /// The signed bytes of an order's request.
    pub(crate) fn body(exchange: [u8; 20], account: u32, order: &UnsignedOrder) -> Vec<u8> {
        let signed = sign_order(order, Address(exchange), account, &pools_of(order), key());
        signed
            .expect("every order that passes the gate can be signed")
            .body
    }

    /// The order as the venue reads it from the shell's bytes: through the wire format if configured. The same bytes
    /// every time, because signatures are deterministic.
    pub(crate) fn arrives(self, account: u32, order: &UnsignedOrder, sent: &mut NewOrder) {
        match self {
            Self::Digest | Self::Name => {}
            Self::Wire => {
                let key = key();
                let signed = sign_order(
                    order,
                    Address(sent.exchange),
                    account,
                    &pools_of(order),
                    key,
                )
                .expect("signed before");
                let json = json::parse(&signed.body).expect("a body of ours is read");
                let object = json.object().expect("a body of ours is an object");
                let read = OrderRequest::read(object).expect("a body of ours is read");
                let hash = read.message().expect("numbers of ours fit").hash();
                let signature = OrderRequest::signature(object).expect("a body of ours is signed");
                assert!(
                    key.prepared().verify(&hash.message(), &signature),
                    "the venue refuses the signature of {}",
                    signed.hash
                );
                sent.hash = Hash(hash.0);
                sent.exchange = read.exchange.0;
                sent.storage_id = read.storage_id;
                (sent.sell_token, sent.sell_amount) = (read.sell_token, read.sell_amount);
                (sent.buy_token, sent.buy_amount) = (read.buy_token, read.buy_amount);
                sent.fill_by = if read.fill_amount_b_or_s {
                    FillBy::Buy
                } else {
                    FillBy::Sell
                };
                sent.all_or_none = read.all_or_none;
                if order.is_swap() {
                    assert_eq!(read.pool_address.map(|pool| pool.0), sent.pool);
                }
                sent.valid_until_s = read.valid_until;
                sent.max_fee_bips = read.max_fee_bips;
                sent.client_id = read.client_order_id;
            }
        }
    }
}

fn key() -> &'static SecretKey {
    static READ: OnceLock<SecretKey> = OnceLock::new();
    READ.get_or_init(|| SecretKey::from_hex(OWN_KEY).expect("a key of the curve"))
}

/// The pool of a swap: worlds have one at most ([`WorldConfig::with_pool`](crate::config::WorldConfig::with_pool)).
fn pools_of(order: &UnsignedOrder) -> Vec<PoolSpec> {
    let lp = TokenSpec {
        id: TokenId(0),
        symbol: String::new(),
        decimals: 0,
        precision: 0,
        minimum: 0,
        maximum: 0,
        dust: 0,
        enabled: true,
    };
    let pool = PoolSpec {
        market: order.market,
        name: String::new(),
        address: POOL,
        pooled: [order.sell_token, order.buy_token],
        lp,
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 0,
        in_range: false,
    };
    if order.is_swap() {
        vec![pool]
    } else {
        Vec::new()
    }
}

fn name(order: &UnsignedOrder) -> Hash {
    let mut hash: [u8; 32] = Sha256::digest(order.client_id.to_string()).into();
    hash[0] = 0;
    Hash(hash)
}

fn digest(order: &UnsignedOrder) -> Hash {
    let mut digest = Sha256::new();
    digest.update(order.sell_token.0.to_be_bytes());
    digest.update(order.sell_amount.to_be_bytes());
    digest.update(order.buy_token.0.to_be_bytes());
    digest.update(order.buy_amount.to_be_bytes());
    digest.update(order.slot.to_be_bytes());
    digest.update(order.accepted_until_s.to_be_bytes());
    digest.update([order.max_fee_bips, u8::from(order.fill_by == FillBy::Buy)]);
    let mut hash: [u8; 32] = digest.finalize().into();
    hash[0] = 0;
    Hash(hash)
}
