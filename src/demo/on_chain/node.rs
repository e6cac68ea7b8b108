//! The node as a process of the demo, and what is asked of it beside the methods of every node.

use std::ffi::OsString;
use std::path::Path;

use anyhow::bail;
use cambist_client::{ClientConfig, Node, NodeOutcome, SecretString};
use cambist_daemon::config::process::LAUNCHER;
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call;
use cambist_evm::rpc::{Ask, CallAt, ChainId, Message};
use cambist_evm::wire::to_quantity;
use cambist_evm::{Address, Malformed, U256};
use cambist_sandbox::launch::Launch;
use serde_json::{Value, json};

use crate::demo::child::{Child, READY};

/// The chain of the demo: the node's default, which no public chain has.
pub const CHAIN_ID: u64 = 31_337;
/// What the node prints once it listens.
const LISTENING: &str = "Listening on ";

/// Starts a node on a free port of this machine, which makes blocks on demand and finalizes one two blocks later.
/// Returns its address as well.
pub async fn start(folder: &Path, anvil: &Path) -> anyhow::Result<(Child, String)> {
    let node = [
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--chain-id",
        "31337",
        "--accounts",
        "0",
        "--no-mining",
        "--slots-in-an-epoch",
        "1",
    ];
    let command = [anvil.as_os_str().to_owned()];
    // It does not end with its standard input, so that the system has to end it with this process.
    let launch = Launch {
        read: Vec::new(),
        memory_mb: 0,
        confine: false,
        command: command
            .into_iter()
            .chain(node.map(OsString::from))
            .collect(),
    };
    let arguments = [OsString::from(LAUNCHER)]
        .into_iter()
        .chain(launch.arguments());
    let arguments: Vec<_> = arguments.collect();
    let mut child = Child::start_with_home("node", "node", folder, &arguments)?;
    let address = child.announced(LISTENING, READY).await?;
    Ok((child, address))
}

/// A client of the node at this address.
pub fn client(address: &str) -> anyhow::Result<Node> {
    let url = SecretString::from(format!("http://{address}/"));
    Ok(Node::new(&ClientConfig::new(""), &url)?)
}

/// Asks the node; everything but an answer is an error.
pub async fn ask<A: Ask>(node: &Node, ask: &A) -> anyhow::Result<A::Answer> {
    let answer = node.ask(ask).await;
    if let NodeOutcome::Reply(reply) = answer.outcome {
        return Ok(reply);
    }
    let how = match answer.outcome {
        NodeOutcome::Refused(_) => "refused",
        _ => "gave no usable answer to",
    };
    let why = answer.detail.unwrap_or_default();
    bail!("the node {how} {}: {why}", A::METHOD)
}

/// That the node at this address is one of the demo's chain.
pub async fn check(node: &Node) -> anyhow::Result<()> {
    let found = ask(node, &ChainId).await?;
    anyhow::ensure!(
        found == CHAIN_ID,
        "the node is of chain {found}, and was started for {CHAIN_ID}"
    );
    Ok(())
}

/// What a call returns after a block.
pub async fn returned(
    node: &Node,
    to: Address,
    call: &Call,
    at: BlockTag,
) -> anyhow::Result<Vec<u8>> {
    let message = Message {
        from: None,
        to: Some(to),
        value: U256::ZERO,
        data: call.encode(),
    };
    ask(node, &CallAt { message, at }).await
}

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident($method:literal) { $($field:ident: $type:ty,)* } $params:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name { $(pub $field: $type,)* }

        impl Ask for $name {
            const METHOD: &'static str = $method;
            type Wire = Value;
            type Answer = ();

            fn params(&self) -> Value {
                let params: fn(&Self) -> Value = $params;
                params(self)
            }

            fn read(&self, _: Value) -> Result<(), Malformed> {
                Ok(())
            }
        }
    )*};
}

commands! {
    /// Makes a block.
    Mine("evm_mine") {} |_| json!([]);
    /// Makes a block whenever so many seconds have passed.
    MineEvery("evm_setIntervalMining") { seconds: u64, } |of| json!([of.seconds]);
    /// Gives an account so many base units of the coin.
    Give("anvil_setBalance") { account: Address, amount: U256, } |of| json!([of.account.to_hex(), to_quantity(of.amount)]);
    /// Whether the node prints every request.
    Logs("anvil_setLoggingEnabled") { is_on: bool, } |of| json!([of.is_on]);
}
