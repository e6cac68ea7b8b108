//! Funds a pool at the beginning from an account of the exchange for which no signing key exists.

use cambist_core::{Amount, Hash};

use crate::account::{AccountId, Address, PublicKey};
use crate::operator::Operator;
use crate::pool::PoolConfig;
use crate::request::Request;

/// First byte of its address and hash, which no key and no signed request can have.
const MARK: u8 = 0xfd;

/// The operator requests after which a listed pool holds `amounts`: an account, deposits, and a join that counts as one
/// from the chain.
pub fn found(account: AccountId, pool: &PoolConfig, amounts: [Amount; 2]) -> Vec<Request> {
    let deposit = |index: usize| Operator::Deposit {
        account,
        token: pool.pooled[index],
        amount: amounts[index],
    };
    let mut hash = [MARK; 32];
    hash[28..].copy_from_slice(&account.0.to_be_bytes());
    let operator_requests = [
        Operator::CreateAccount {
            id: Some(account),
            owner: owner(account),
            public_key: PublicKey::default(),
            api_key: None,
            internal: true,
        },
        deposit(0),
        deposit(1),
        Operator::JoinPool {
            hash: Hash(hash),
            account,
            pool: pool.address,
            amounts,
        },
    ];
    operator_requests.map(Request::Operator).into()
}

/// Its owner address.
pub(super) fn owner(account: AccountId) -> Address {
    let mut address = [MARK; 20];
    address[16..].copy_from_slice(&account.0.to_be_bytes());
    address
}
