//! The nodes, the key and the state of an account on an EVM chain.

use std::path::Path;
use std::sync::Arc;

use cambist_client::{
    CallError, ClientConfig, NoFact, Node, NodeRefusal, Nodes, Place, SecretString, SetupError,
};
use cambist_core::request::UnknownCause;
use cambist_evm::EthKey;
use cambist_evm::block::Block;
use cambist_evm::rpc::{Ask, BlockAt, CallAt};
use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets;

use super::final_block::FinalBlock;
use super::journal::Journal;
use crate::adapter;
use crate::config::Daemon;
use crate::config::venue::evm::EvmLink;
use crate::live::start_retry::StartRetry;
use crate::venues::token_ids::TokenIds;

/// Blocks by which the newest ones of two nodes may differ: more than one that is on its way, and less than a lifetime.
const LAG_BLOCKS_MAX: u64 = 3;

/// An account on a chain, before anything was asked.
pub struct EvmAccess {
    /// The nodes.
    pub nodes: Arc<Nodes>,
    /// What signs; `None` for a command that only reads.
    pub key: Option<EthKey>,
    /// Numbers of tokens.
    pub ids: TokenIds,
    /// What was signed; `None` for a command.
    pub journal: Option<Journal>,
    /// The finalized block of earlier runs; `None` for a command.
    pub finalized: Option<FinalBlock>,
}

impl EvmAccess {
    /// Of a daemon, which has locked its state folder.
    pub fn of(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        let dir = &daemon.store.dir;
        Ok(Self {
            key: Some(key(daemon)?),
            ids: TokenIds::open(dir)?,
            journal: Some(Journal::open(dir)?),
            finalized: Some(FinalBlock::open(dir)?),
            ..Self::reading(daemon, timeout_ms)?
        })
    }

    /// Of a command, which signs nothing and may run beside a daemon.
    pub fn reading(daemon: &Daemon, timeout_ms: u64) -> anyhow::Result<Self> {
        Ok(Self {
            nodes: Arc::new(nodes(link(daemon)?, timeout_ms)?),
            key: None,
            ids: TokenIds::unsaved(),
            journal: None,
            finalized: None,
        })
    }

    /// Reads the key and the URLs of a checked file. Sends nothing.
    pub fn check_files(daemon: &Daemon) -> anyhow::Result<()> {
        key(daemon)?;
        nodes(link(daemon)?, daemon.request_timeout_ms).map(drop)
    }

    /// A fact that every node states alike.
    pub async fn fact<A: Ask>(&self, ask: &A, retry: StartRetry<'_>) -> Result<A::Answer, CallError>
    where
        A::Answer: PartialEq,
    {
        let asked = retry.ask(async || {
            let answer = self.nodes.fact(ask).await;
            answer.map_err(|why| error::<A>(&why))
        });
        asked.await
    }

    /// What a view of a contract returns; the text with which the contract reverts it at every node.
    pub async fn view(
        &self,
        ask: &CallAt,
        retry: StartRetry<'_>,
    ) -> Result<Result<Vec<u8>, String>, CallError> {
        let asked = retry.ask(async || {
            let answer = self.nodes.view(ask).await;
            answer.map_err(|why| error::<CallAt>(&why))
        });
        asked.await
    }

    /// What each node states by itself.
    pub async fn each<A: Ask>(
        &self,
        ask: &A,
        retry: StartRetry<'_>,
    ) -> Result<Vec<(Place, A::Answer)>, CallError> {
        let mut all = Vec::with_capacity(2);
        for (place, node) in self.nodes.all() {
            let asked = retry.ask(async || {
                let answer = Nodes::at(place, node, ask).await;
                answer.map_err(|why| error::<A>(&why))
            });
            all.push((place, asked.await?));
        }
        Ok(all)
    }

    /// The newest block that every node has, and the newest one that every node has finalized.
    pub async fn blocks(&self, retry: StartRetry<'_>) -> Result<[Block; 2], CallError> {
        let asked = retry.ask(async || {
            let newest = self.nodes.newest().await;
            let newest = newest.map_err(|why| error::<BlockAt>(&why))?;
            let finalized = self.nodes.finalized().await;
            let finalized = finalized.map_err(|why| error::<BlockAt>(&why))?;
            Ok([newest, finalized])
        });
        asked.await
    }
}

/// What is configured of the chain.
pub fn link(daemon: &Daemon) -> anyhow::Result<&EvmLink> {
    let link = daemon.venue.evm();
    Ok(link.ok_or_else(|| {
        let what = "the configuration has no account on a chain";
        Failure::new(Exit::Refused, what)
    })?)
}

/// Why a node gave no answer, as an error of a start. Nodes that disagree are asked again: one of them may lag.
pub fn error<A: Ask>(why: &NoFact) -> CallError {
    let call = A::METHOD;
    let refused = |reason, detail: &str, retry_after_ms| CallError::Refused {
        call,
        reason,
        detail: detail.to_owned(),
        retry_after_ms,
        is_numbered: false,
    };
    let detail = why.to_string();
    match why {
        NoFact::NotSent(_) => CallError::NotSent { call, detail },
        NoFact::Unknown(_, cause, _) => CallError::Unknown {
            call,
            cause: *cause,
            detail,
        },
        NoFact::Refused(_, NodeRefusal::RateLimited { retry_after_ms }) => {
            refused(adapter::RATE_LIMITED, &detail, *retry_after_ms)
        }
        NoFact::Refused(Place::Only, NodeRefusal::Keys) => refused(adapter::KEYS, &detail, None),
        // Of two nodes one that refuses is away.
        NoFact::Refused(_, NodeRefusal::Keys) => CallError::Unknown {
            call,
            cause: UnknownCause::Undecodable,
            detail,
        },
        NoFact::Refused(_, NodeRefusal::Error(_))
        | NoFact::Missing(_)
        | NoFact::Changed(_)
        | NoFact::Lags { .. }
        | NoFact::Disagree { .. } => refused(adapter::NO_ANSWER, &detail, None),
    }
}

fn nodes(link: &EvmLink, timeout_ms: u64) -> anyhow::Result<Nodes> {
    if let [first, second] = link.node_files.as_slice()
        && *secrets::read(first, false)? == *secrets::read(second, false)?
    {
        let what = format!(
            "venue.second_node_file: {} holds the same address as venue.node_file: the second node has to be another one, or remove the key",
            second.display()
        );
        return Err(Failure::new(Exit::Refused, what).into());
    }
    let node = |file: &Path| -> anyhow::Result<Node> {
        let url = secrets::read(file, false)?;
        let config = ClientConfig {
            timeout_ms,
            ..ClientConfig::new("https://node.invalid")
        };
        let node = Node::new(&config, &SecretString::from(url.as_str()));
        Ok(node.map_err(|error| {
            // The address may hold a secret, so that the error names the file instead.
            let problem = match error {
                SetupError::BaseUrl { problem, .. } => format!("no address of a node: {problem}"),
                other => other.to_string(),
            };
            let what = format!("{}: {problem}", file.display());
            Failure::new(Exit::Refused, what)
        })?)
    };
    let [first, others @ ..] = link.node_files.as_slice() else {
        let what = "venue.node_file names no file";
        return Err(Failure::new(Exit::Refused, what).into());
    };
    let second = others.first().map(|file| node(file)).transpose()?;
    let lag_max_s = LAG_BLOCKS_MAX * link.block_s;
    Ok(Nodes::new(node(first)?, second).with_lag_max_s(lag_max_s))
}

fn key(daemon: &Daemon) -> anyhow::Result<EthKey> {
    let link = link(daemon)?;
    let refused = |what: String| Failure::new(Exit::Refused, what);
    let file = link.key_file.as_ref();
    let file = file.ok_or_else(|| refused("keys.eth_key_file is missing".to_owned()))?;
    let text = secrets::read(file, false)?;
    let key = EthKey::from_digits(&text);
    let key = key.map_err(|error| {
        refused(format!(
            "{}: no private key of an account, which has 64 hexadecimal digits, with or without 0x: {error}",
            file.display()
        ))
    })?;
    if key.address() != link.account {
        let what = format!(
            "the key in {} is that of {}, and venue.account is {}",
            file.display(),
            key.address().to_hex(),
            link.account.to_hex()
        );
        return Err(refused(what).into());
    }
    Ok(key)
}
