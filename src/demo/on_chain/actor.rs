//! Accounts of the demo: keys that are drawn for it, and the transactions of the others beside the daemon.

use anyhow::Context;
use cambist_client::Node;
use cambist_evm::call::Call;
use cambist_evm::receipt::Receipt;
use cambist_evm::rpc::{ReceiptOf, SendRaw};
use cambist_evm::transaction::Transaction;
use cambist_evm::wire::to_data;
use cambist_evm::{Address, EthKey, Hash32, U256};
use zeroize::Zeroizing;

use super::node::{CHAIN_ID, ask};

/// One gwei in base units of the coin.
const GWEI: u128 = 1_000_000_000;
/// Most gas of one transaction: deploying the router takes about 4 million.
const GAS_MAX: u64 = 8_000_000;

/// A new private key as the text of a key file.
pub fn new_key() -> anyhow::Result<(EthKey, Zeroizing<String>)> {
    let mut bytes = Zeroizing::new([0; 32]);
    loop {
        getrandom::fill(bytes.as_mut()).context("random number generator of the system")?;
        let text = Zeroizing::new(to_data(bytes.as_ref()));
        // One in 2^128 of all numbers is no key.
        if let Ok(key) = EthKey::from_hex(&text) {
            return Ok((key, text));
        }
    }
}

/// An account beside the daemon.
pub struct Actor {
    key: EthKey,
    nonce: u64,
}

impl Actor {
    /// A new account.
    pub fn new() -> anyhow::Result<Self> {
        let (key, _) = new_key()?;
        Ok(Self { key, nonce: 0 })
    }

    /// Its address.
    pub fn address(&self) -> Address {
        self.key.address()
    }

    /// Sends a transaction; it waits for a block then.
    pub async fn send(
        &mut self,
        node: &Node,
        to: Option<Address>,
        value: U256,
        data: Vec<u8>,
    ) -> anyhow::Result<Hash32> {
        let transaction = Transaction {
            chain_id: CHAIN_ID,
            nonce: self.nonce,
            priority_fee_max: GWEI,
            fee_max: 100 * GWEI,
            gas_limit: GAS_MAX,
            to,
            value,
            data,
        };
        let signed = transaction.sign(&self.key)?;
        let hash = ask(node, &SendRaw(signed.bytes())).await?;
        self.nonce += 1;
        Ok(hash)
    }

    /// Sends a call of a contract.
    pub async fn call(&mut self, node: &Node, to: Address, call: &Call) -> anyhow::Result<Hash32> {
        self.send(node, Some(to), U256::ZERO, call.encode()).await
    }
}

/// The receipt of a transaction that a block executed.
pub async fn executed(node: &Node, hash: Hash32, what: &str) -> anyhow::Result<Receipt> {
    let receipt = ask(node, &ReceiptOf(hash)).await?;
    let receipt = receipt.with_context(|| format!("{what} is in no block"))?;
    anyhow::ensure!(receipt.succeeded, "{what} was reverted");
    Ok(receipt)
}
