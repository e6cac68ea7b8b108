//! Encodes the engine's joins and exits into the exact bytes that are signed, stored and sent.
//!
//! As with orders, the bytes are made once and read back before they are used. Both keys could sign the same digest;
//! here the layer-2 key does.

use cambist_core::pool::{PoolSpec, PoolTransactionKind, UnsignedPoolTransaction};
use cambist_core::{Amount, Hash, TokenId};
use cambist_signing::eip712::Domain;
use cambist_signing::{
    Address, Hash32, PoolExitMessage, PoolJoinMessage, RequestSigner, Signature,
};

use crate::encode::{SealError, SignedIntent, to_bytes};
use crate::json::FromWire;
use crate::wire::{ExitRequest, ExitTokens, JoinRequest, JoinTokens, TokenVolume};

/// The account of a join or exit, and its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Owner of the account.
    pub address: Address,
    /// Chain id.
    pub chain_id: u64,
}

/// Hashes and signs a join or exit and encodes its body. The signer verifies the signature, and the body is decoded as
/// a venue does and compared with what was signed.
pub fn sign_move(
    wanted: &UnsignedPoolTransaction,
    pool: &PoolSpec,
    owner: Owner,
    key: &dyn RequestSigner,
) -> Result<SignedIntent, SealError> {
    let address = Address(pool.address);
    let domain = Domain::pool(owner.chain_id, &pool.name, address);
    match wanted.kind {
        PoolTransactionKind::Join => {
            let unsigned = join_request(wanted, address, owner);
            let message = join_message(&unsigned);
            let signature = key.join(&domain, &message)?;
            let body = to_bytes(&JoinRequest {
                eddsa_signature: Some(signature),
                ..unsigned
            });
            let read = JoinRequest::from_bytes(&body).map_err(|_| SealError::ReadBack)?;
            let again = (join_message(&read), read.eddsa_signature);
            let places = (&read.join_tokens.pooled[..], read.pool_address);
            let same = places == (&pooled(wanted)[..], address);
            let digest = message.digest(&domain);
            sealed(digest, body, same && again == (message, Some(signature)))
        }
        PoolTransactionKind::Exit => {
            let unsigned = exit_request(wanted, address, owner);
            let message = exit_message(&unsigned);
            let signature = key.exit(&domain, &message)?;
            let body = to_bytes(&ExitRequest {
                eddsa_signature: Some(signature),
                ..unsigned
            });
            let read = ExitRequest::from_bytes(&body).map_err(|_| SealError::ReadBack)?;
            let again = (exit_message(&read), read.eddsa_signature);
            let places = (&read.exit_tokens.un_pooled[..], read.pool_address);
            let same = places == (&pooled(wanted)[..], address);
            let digest = message.digest(&domain);
            sealed(digest, body, same && again == (message, Some(signature)))
        }
    }
}

fn sealed(digest: Hash32, body: Vec<u8>, reads_back: bool) -> Result<SignedIntent, SealError> {
    if reads_back {
        Ok(SignedIntent {
            hash: Hash(digest.0),
            body,
        })
    } else {
        Err(SealError::ReadBack)
    }
}

fn pooled(wanted: &UnsignedPoolTransaction) -> Vec<TokenVolume> {
    let part = |(token, volume): (TokenId, Amount)| TokenVolume { token, volume };
    wanted
        .pooled
        .into_iter()
        .zip(wanted.amounts)
        .map(part)
        .collect()
}

fn join_request(
    wanted: &UnsignedPoolTransaction,
    pool_address: Address,
    owner: Owner,
) -> JoinRequest {
    JoinRequest {
        owner: owner.address,
        pool_address,
        join_tokens: JoinTokens {
            pooled: pooled(wanted),
            minimum_lp: wanted.lp_amount,
            lp: None,
        },
        storage_ids: wanted.storage_ids.clone(),
        // The form without a fee is that of the interface's text.
        fee: (wanted.fee_max > 0).then_some(wanted.fee_max),
        valid_until: wanted.valid_until_s,
        eddsa_signature: None::<Signature>,
        ecdsa_signature: None,
    }
}

fn exit_request(
    wanted: &UnsignedPoolTransaction,
    pool_address: Address,
    owner: Owner,
) -> ExitRequest {
    ExitRequest {
        owner: owner.address,
        pool_address,
        exit_tokens: ExitTokens {
            un_pooled: pooled(wanted),
            burned: wanted.lp_amount,
            lp: None,
        },
        storage_id: wanted.storage_ids.first().copied().unwrap_or_default(),
        max_fee: wanted.fee_max,
        valid_until: wanted.valid_until_s,
        eddsa_signature: None,
        ecdsa_signature: None,
    }
}

/// What a join signs.
fn join_message(join: &JoinRequest) -> PoolJoinMessage {
    PoolJoinMessage {
        owner: join.owner,
        join_amounts: join
            .join_tokens
            .pooled
            .iter()
            .map(|part| part.volume)
            .collect(),
        join_storage_ids: join.storage_ids.clone(),
        mint_min_amount: join.join_tokens.minimum_lp,
        fee: join.fee,
        valid_until: join.valid_until,
    }
}

/// The same for an exit.
fn exit_message(exit: &ExitRequest) -> PoolExitMessage {
    PoolExitMessage {
        owner: exit.owner,
        burn_amount: exit.exit_tokens.burned,
        burn_storage_id: exit.storage_id,
        exit_min_amounts: exit
            .exit_tokens
            .un_pooled
            .iter()
            .map(|part| part.volume)
            .collect(),
        fee: exit.max_fee,
        valid_until: exit.valid_until,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_core::order::ClientOrderId;
    use cambist_core::token::AMOUNT_MAX;
    use cambist_core::{MarketId, StrategyId, TokenSpec, VenueTime};
    use cambist_signing::SecretKey;

    const OWNER: Owner = Owner {
        address: Address([0x22; 20]),
        chain_id: 1,
    };

    pub(crate) fn pool() -> PoolSpec {
        PoolSpec {
            market: MarketId(0),
            name: "AMM-A-B".to_owned(),
            address: [0x33; 20],
            pooled: [TokenId(0), TokenId(1)],
            lp: TokenSpec {
                id: TokenId(9),
                symbol: "LP-A-B".to_owned(),
                decimals: 8,
                precision: 8,
                minimum: 1,
                maximum: 1 << 90,
                dust: 0,
                enabled: true,
            },
            joins: true,
            exits: true,
            swaps: true,
            fee_bips: 20,
            in_range: false,
        }
    }

    fn wanted(kind: PoolTransactionKind) -> UnsignedPoolTransaction {
        UnsignedPoolTransaction {
            client_id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number: 7,
            },
            market: MarketId(0),
            kind,
            pooled: [TokenId(0), TokenId(1)],
            amounts: [10, AMOUNT_MAX],
            lp: TokenId(9),
            lp_amount: 5,
            storage_ids: vec![1, 3],
            fee_max: 0,
            valid_until_s: 1_700_000_000,
            made_at: VenueTime(1),
        }
    }

    #[test]
    fn a_join_is_the_interface_to_the_byte_and_its_signature_verifies() {
        let key = SecretKey::from_hex("0x1").unwrap();
        let signed = sign_move(&wanted(PoolTransactionKind::Join), &pool(), OWNER, &key).unwrap();
        let read = JoinRequest::from_bytes(&signed.body).unwrap();
        let domain = Domain::pool(1, "AMM-A-B", Address([0x33; 20]));
        let message = join_message(&read);
        assert_eq!(message.digest(&domain).0, signed.hash.0);
        let signature = read.eddsa_signature.unwrap();
        assert!(key.public().verify(&message.message(&domain), &signature));
        let text = String::from_utf8(signed.body).unwrap();
        assert_eq!(
            text,
            format!(
                "{{\"owner\":\"0x{}\",\"poolAddress\":\"0x{}\",\"joinTokens\":{{\"pooled\":\
                 [{{\"tokenId\":\"0\",\"volume\":\"10\"}},{{\"tokenId\":\"1\",\
                 \"volume\":\"79228162514264337593543950335\"}}],\"minimumLp\":\"5\"}},\
                 \"storageIds\":\"1,3\",\"validUntil\":1700000000,\"eddsaSignature\":\"{signature}\"}}",
                "22".repeat(20),
                "33".repeat(20)
            )
        );
    }

    #[test]
    fn a_fee_selects_the_later_form_of_a_join() {
        let key = SecretKey::from_hex("0x1").unwrap();
        let free = sign_move(&wanted(PoolTransactionKind::Join), &pool(), OWNER, &key).unwrap();
        let paid = UnsignedPoolTransaction {
            fee_max: 1,
            ..wanted(PoolTransactionKind::Join)
        };
        let paid = sign_move(&paid, &pool(), OWNER, &key).unwrap();
        assert_ne!(free.hash, paid.hash);
        let read = JoinRequest::from_bytes(&paid.body).unwrap();
        assert_eq!(read.fee, Some(1));
    }

    #[test]
    fn an_exit_reads_back_and_an_unreadable_one_is_not_signed() {
        let key = SecretKey::from_hex("0x1").unwrap();
        let exit = UnsignedPoolTransaction {
            storage_ids: vec![5],
            ..wanted(PoolTransactionKind::Exit)
        };
        let signed = sign_move(&exit, &pool(), OWNER, &key).unwrap();
        let read = ExitRequest::from_bytes(&signed.body).unwrap();
        assert_eq!((read.storage_id, read.exit_tokens.burned), (5, 5));
        let huge = UnsignedPoolTransaction {
            lp_amount: AMOUNT_MAX + 1,
            ..exit
        };
        assert_eq!(
            sign_move(&huge, &pool(), OWNER, &key),
            Err(SealError::ReadBack)
        );
    }
}
