//! Encodes transfers, withdrawals and key updates into the exact bytes that are signed, stored and sent.
//!
//! As with orders, the bytes are made once and read back before they are used. Both keys sign: the layer-2 key the
//! request's hash, in the body, and the owner's wallet the typed data, in the header `X-API-SIG`. A key update is signed
//! by the wallet alone, because the key that it replaces may be lost. Keys are arguments and are not kept.

use cambist_core::Hash;
use cambist_signing::ecdsa::EthKey;
use cambist_signing::{
    AccountUpdateMessage, ExtraData, Hash32, SecretKey, TransferMessage, WithdrawalMessage,
};

use crate::encode::{SealError, to_bytes};
use crate::json::FromWire;
use crate::wire::{AccountUpdateRequest, SentKey, TransferRequest, WithdrawalRequest};

/// A request that is ready to be sent, any number of times with one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRequest {
    /// The hash that identifies it at the venue.
    pub hash: Hash,
    /// Body of the request.
    pub body: Vec<u8>,
    /// The wallet's signature, for the header `X-API-SIG`.
    pub wallet_signature: String,
}

/// Signs a transfer; signatures that it contains already are replaced.
pub fn sign_transfer(
    wanted: &TransferRequest,
    chain_id: u64,
    key: &SecretKey,
    wallet: &EthKey,
) -> Result<SignedRequest, SealError> {
    let message = transfer_message(wanted);
    let hash = message.hash();
    let signed = TransferRequest {
        eddsa_signature: Some(key.sign(&hash.message())?),
        ecdsa_signature: None,
        ..wanted.clone()
    };
    let body = to_bytes(&signed);
    if TransferRequest::from_bytes(&body).ok() != Some(signed) {
        return Err(SealError::ReadBack);
    }
    Ok(sealed(hash, body, &message.digest(chain_id), wallet))
}

/// Signs a withdrawal without extra data.
pub fn sign_withdrawal(
    wanted: &WithdrawalRequest,
    chain_id: u64,
    key: &SecretKey,
    wallet: &EthKey,
) -> Result<SignedRequest, SealError> {
    let message = withdrawal_message(wanted);
    let hash = message.hash();
    let signed = WithdrawalRequest {
        eddsa_signature: Some(key.sign(&hash.message())?),
        ecdsa_signature: None,
        extra_data: None,
        ..wanted.clone()
    };
    let body = to_bytes(&signed);
    if WithdrawalRequest::from_bytes(&body).ok() != Some(signed) {
        return Err(SealError::ReadBack);
    }
    Ok(sealed(hash, body, &message.digest(chain_id), wallet))
}

/// Signs a key update with the owner's wallet.
pub fn sign_key_update(
    wanted: &AccountUpdateRequest,
    chain_id: u64,
    wallet: &EthKey,
) -> Result<SignedRequest, SealError> {
    let SentKey::Coordinates(public_key) = wanted.public_key else {
        // Only the whole key is signed by what is sent.
        return Err(SealError::ReadBack);
    };
    let message = AccountUpdateMessage {
        exchange: wanted.exchange,
        account_id: wanted.account_id,
        owner: wanted.owner,
        fee_token: wanted.max_fee.token.0,
        max_fee: wanted.max_fee.volume,
        public_key,
        valid_until: wanted.valid_until,
        nonce: wanted.nonce,
    };
    let signed = AccountUpdateRequest {
        eddsa_signature: None,
        ecdsa_signature: None,
        ..wanted.clone()
    };
    let body = to_bytes(&signed);
    if AccountUpdateRequest::from_bytes(&body).ok() != Some(signed) {
        return Err(SealError::ReadBack);
    }
    Ok(sealed(
        message.hash(),
        body,
        &message.digest(chain_id),
        wallet,
    ))
}

fn sealed(hash: Hash32, body: Vec<u8>, digest: &Hash32, wallet: &EthKey) -> SignedRequest {
    SignedRequest {
        hash: Hash(hash.0),
        body,
        wallet_signature: wallet.sign_typed(digest).to_hex(),
    }
}

fn transfer_message(request: &TransferRequest) -> TransferMessage {
    TransferMessage {
        exchange: request.exchange,
        payer_id: request.payer_id,
        payer: request.payer_addr,
        payee_id: request.payee_id,
        payee: request.payee_addr,
        token: request.token.token.0,
        amount: request.token.volume,
        fee_token: request.max_fee.token.0,
        max_fee: request.max_fee.volume,
        valid_until: request.valid_until,
        storage_id: request.storage_id,
    }
}

fn withdrawal_message(request: &WithdrawalRequest) -> WithdrawalMessage {
    WithdrawalMessage {
        exchange: request.exchange,
        account_id: request.account_id,
        owner: request.owner,
        token: request.token.token.0,
        amount: request.token.volume,
        fee_token: request.max_fee.token.0,
        max_fee: request.max_fee.volume,
        to: request.to,
        extra_data: ExtraData::default(),
        min_gas: request.min_gas.into(),
        valid_until: request.valid_until,
        storage_id: request.storage_id,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::wire::TokenVolume;
    use cambist_core::TokenId;
    use cambist_core::token::AMOUNT_MAX;
    use cambist_signing::ecdsa::verify_owner;
    use cambist_signing::{Address, Signature};

    fn volume(token: u16, volume: u128) -> TokenVolume {
        TokenVolume {
            token: TokenId(token),
            volume,
        }
    }

    fn transfer() -> TransferRequest {
        TransferRequest {
            exchange: Address([0x11; 20]),
            payer_id: 10_000,
            payer_addr: Address([0x22; 20]),
            payee_id: 0,
            payee_addr: Address([0x33; 20]),
            token: volume(1, AMOUNT_MAX),
            max_fee: volume(0, 5),
            storage_id: 7,
            valid_until: 1_700_000_000,
            eddsa_signature: None,
            ecdsa_signature: None,
            hash_approved: None,
            memo: Some("rent".to_owned()),
        }
    }

    fn keys() -> (SecretKey, EthKey) {
        (
            SecretKey::from_hex("0x1").unwrap(),
            EthKey::from_hex("0x2").unwrap(),
        )
    }

    fn eddsa(signature: Option<Signature>, hash: Hash) -> bool {
        let (key, _) = keys();
        let message = Hash32(hash.0).message();
        key.public().verify(&message, &signature.unwrap())
    }

    #[test]
    fn both_keys_sign_a_transfer_and_its_bytes_are_the_same_every_time() {
        let (key, wallet) = keys();
        let signed = sign_transfer(&transfer(), 1, &key, &wallet).unwrap();
        let read = TransferRequest::from_bytes(&signed.body).unwrap();
        assert!(eddsa(read.eddsa_signature, signed.hash));
        let digest = transfer_message(&read).digest(1);
        let owner = wallet.address();
        assert!(verify_owner(&digest, &signed.wallet_signature, &owner));
        let other = transfer_message(&read).digest(2);
        assert!(!verify_owner(&other, &signed.wallet_signature, &owner));
        assert_eq!(
            sign_transfer(&transfer(), 1, &key, &wallet).unwrap(),
            signed
        );
        let more = TransferRequest {
            storage_id: 9,
            ..transfer()
        };
        let more = sign_transfer(&more, 1, &key, &wallet).unwrap();
        assert_ne!(more.hash, signed.hash);
    }

    #[test]
    fn what_cannot_be_read_back_is_not_signed() {
        let (key, wallet) = keys();
        let huge = TransferRequest {
            token: volume(1, AMOUNT_MAX + 1),
            ..transfer()
        };
        let refused = sign_transfer(&huge, 1, &key, &wallet);
        assert_eq!(refused, Err(SealError::ReadBack));
    }

    #[test]
    fn a_withdrawal_and_a_key_update_name_their_owner() {
        let (key, wallet) = keys();
        let withdrawal = WithdrawalRequest {
            exchange: Address([0x11; 20]),
            account_id: 10_000,
            owner: wallet.address(),
            token: volume(1, 9),
            max_fee: volume(1, 0),
            storage_id: 7,
            valid_until: 1_700_000_000,
            min_gas: 0,
            to: Address([0x44; 20]),
            extra_data: Some("0xab".to_owned()),
            fast_withdrawal_mode: None,
            eddsa_signature: None,
            ecdsa_signature: None,
            hash_approved: None,
        };
        let signed = sign_withdrawal(&withdrawal, 1, &key, &wallet).unwrap();
        let read = WithdrawalRequest::from_bytes(&signed.body).unwrap();
        assert_eq!(read.extra_data, None, "it would not be what was signed");
        assert!(eddsa(read.eddsa_signature, signed.hash));
        let digest = withdrawal_message(&read).digest(1);
        assert!(verify_owner(
            &digest,
            &signed.wallet_signature,
            &wallet.address()
        ));
        let update = AccountUpdateRequest {
            exchange: Address([0x11; 20]),
            owner: wallet.address(),
            account_id: 10_000,
            public_key: SentKey::Coordinates(key.public()),
            max_fee: volume(1, 0),
            valid_until: 1_700_000_000,
            nonce: 3,
            eddsa_signature: None,
            ecdsa_signature: None,
            hash_approved: None,
        };
        let signed = sign_key_update(&update, 1, &wallet).unwrap();
        let read = AccountUpdateRequest::from_bytes(&signed.body).unwrap();
        assert_eq!(read, update);
        let packed = AccountUpdateRequest {
            public_key: SentKey::Packed(key.public().packed()),
            ..update
        };
        assert!(sign_key_update(&packed, 1, &wallet).is_err());
    }
}
