//! A node as a process of its own, and what makes its faults.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cambist_client::{ClientConfig, Node, NodeOutcome, Nodes, SecretString};
use cambist_core::Hash;
use cambist_evm::rpc::{Ask, ChainId};
use cambist_evm::{Malformed, wire};
use serde_json::{Value, json};

use crate::{Step, ensure};

/// The chain of every node here.
pub const CHAIN_ID: u64 = 31_337;
/// Time of the first block.
pub const GENESIS_S: u64 = 1_900_000_000;

/// Where nodes come from and write to.
pub struct Place<'a> {
    /// The program.
    pub anvil: &'a Path,
    /// Holds their states.
    pub work: &'a Path,
}

/// A running node.
pub struct Process {
    anvil: PathBuf,
    state: PathBuf,
    port: u16,
    child: Child,
}

impl Process {
    /// Starts a node that mines on demand, with a block finalized two blocks later.
    pub async fn start(place: &Place<'_>, name: &str) -> Step<Self> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let state = place.work.join(format!("{name}.json"));
        let child = launch(place.anvil, &state, port)?;
        let process = Self {
            anvil: place.anvil.to_owned(),
            state,
            port,
            child,
        };
        process.wait().await?;
        Ok(process)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// A client of it.
    pub fn client(&self) -> Step<Node> {
        let config = ClientConfig {
            timeout_ms: 10_000,
            ..ClientConfig::new("")
        };
        let url = SecretString::from(self.url());
        Node::new(&config, &url).map_err(|error| error.to_string())
    }

    /// It alone.
    pub fn nodes(&self) -> Step<Nodes> {
        Ok(Nodes::new(self.client()?, None))
    }

    /// Ends it so that it writes its state, and starts it again with that.
    pub async fn restart(&mut self) -> Step {
        let interrupted = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        ensure!(
            interrupted.is_ok_and(|status| status.success()),
            "the node cannot be interrupted"
        );
        self.child.wait().map_err(|error| error.to_string())?;
        self.child = launch(&self.anvil, &self.state, self.port)?;
        self.wait().await
    }

    /// Kills it, and starts it again with the state that it wrote last.
    pub async fn kill(&mut self) -> Step {
        self.child.kill().map_err(|error| error.to_string())?;
        self.child.wait().map_err(|error| error.to_string())?;
        self.child = launch(&self.anvil, &self.state, self.port)?;
        self.wait().await
    }

    async fn wait(&self) -> Step {
        let client = self.client()?;
        for _ in 0..200 {
            match client.ask(&ChainId).await.outcome {
                NodeOutcome::Reply(CHAIN_ID) => return Ok(()),
                NodeOutcome::Reply(other) => return Err(format!("chain id {other}")),
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        Err("the node does not answer".to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(cache(&self.state));
    }
}

/// Where a node keeps states of earlier blocks, hundreds of megabytes of them; its default is a folder of the user's home,
/// which a node that was killed leaves behind.
fn cache(state: &Path) -> PathBuf {
    state.with_extension("cache")
}

fn launch(anvil: &Path, state: &Path, port: u16) -> Step<Child> {
    Command::new(anvil)
        .args(["--no-mining", "--slots-in-an-epoch", "1", "--quiet"])
        .args(["--preserve-historical-states", "--port", &port.to_string()])
        .args(["--timestamp", &GENESIS_S.to_string(), "--state"])
        .arg(state)
        .arg("--cache-path")
        .arg(cache(state))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("the node does not start: {error}"))
}

/// Asks one node; everything but a reply fails the step.
pub async fn ask<A: Ask>(node: &Node, ask: &A) -> Step<A::Answer> {
    let answer = node.ask(ask).await;
    match answer.outcome {
        NodeOutcome::Reply(reply) => Ok(reply),
        _ => Err(format!(
            "{}: {}",
            A::METHOD,
            answer.detail.unwrap_or_default()
        )),
    }
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
    /// Makes a block of this time.
    Mine("evm_mine") { at_s: u64, } |of| json!([of.at_s]);
    /// Takes a transaction out of the pool.
    Drop_("anvil_dropTransaction") { hash: Hash, } |of| json!([wire::to_data(&of.hash.0)]);
    /// Replaces the newest blocks by empty ones.
    Reorganise("anvil_reorg") { depth: u64, } |of| json!([of.depth, []]);
}
