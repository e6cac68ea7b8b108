//! Carries out the faults of the demo's page that need no new process: at the exchange's operator listener, and in the
//! proxy between exchange and daemon.

use std::sync::Arc;

use anyhow::Context;
use cambist_server::admin::{FieldKind, find};
use serde_json::{Map, Value, json};

use crate::commands::admin::Operator;
use crate::demo::faults::{DRAINED_PERCENT, Fault, LOST_PERCENT};
use crate::demo::recording_proxy::RecordingProxy;
use cambist_exchange::config::Exchange;
use cambist_exchange::setup::FIRST_FOUNDER;
use cambist_protocol::code;

/// The exchange's operator, as used for faults.
pub struct Injector {
    operator: Arc<Operator>,
    account: u32,
    /// Address of the first pool and the symbols of its tokens.
    pool: Option<(String, [String; 2])>,
    /// What the exchange received for its shares.
    drained: Option<[u128; 2]>,
    /// Number of joins, which is part of their hashes.
    joins: u32,
}

impl Injector {
    /// The operator of a running exchange.
    pub fn new(operator: Operator, exchange: &Exchange) -> Self {
        let pool = exchange.pools.first().map(|pool| {
            let market = &exchange.markets[usize::from(pool.market.0)];
            let symbols = [&market.base, &market.quote].map(|token| token.symbol.clone());
            (pool.address.clone(), symbols)
        });
        Self {
            operator: Arc::new(operator),
            account: exchange.maker.account_id,
            pool,
            drained: None,
            joins: 0,
        }
    }

    /// Begins a fault.
    pub async fn begin(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()> {
        match fault {
            Fault::LoseAnswers => proxy.lose(LOST_PERCENT),
            Fault::FreezeBook => proxy.freeze_book(true),
            Fault::DrainPool => self.drain().await?,
            Fault::RateLimit => {
                for kind in kinds() {
                    let code = code::RATE_LIMITED.to_string();
                    let count = u32::MAX.to_string();
                    let body = json!({"request": kind, "code": code, "count": count});
                    self.ask("fault-answer", body).await?;
                }
            }
            Fault::FreezeAccount => self.ask_for_account("freeze").await?,
            Fault::Crash | Fault::Kill => {}
        }
        Ok(())
    }

    /// Ends a fault.
    pub async fn end(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()> {
        match fault {
            Fault::LoseAnswers => proxy.lose(0),
            Fault::FreezeBook => proxy.freeze_book(false),
            Fault::DrainPool => self.refill().await?,
            // An outage of the scenario ends too.
            Fault::RateLimit => {
                self.ask("clear-faults", json!({})).await?;
            }
            Fault::FreezeAccount => self.ask_for_account("thaw").await?,
            Fault::Crash | Fault::Kill => {}
        }
        Ok(())
    }

    async fn drain(&mut self) -> anyhow::Result<()> {
        let (pool, _) = self.pool.clone().context("the exchange has no pool")?;
        let before = self.founder_holds().await?;
        let body = json!({
            "account": FIRST_FOUNDER.to_string(),
            "pool": pool,
            "percent": DRAINED_PERCENT.to_string(),
        });
        self.ask("exit-pool", body).await?;
        let after = self.founder_holds().await?;
        self.drained = Some([0, 1].map(|at| after[at].saturating_sub(before[at])));
        Ok(())
    }

    async fn refill(&mut self) -> anyhow::Result<()> {
        let Some((pool, _)) = self.pool.clone() else {
            return Ok(());
        };
        let Some([base, quote]) = self.drained.take() else {
            return Ok(());
        };
        self.joins += 1;
        let body = json!({
            // No signed request has such a hash: it would be a signature's by chance.
            "hash": format!("0xfdfdfdfd{:056x}", self.joins),
            "account": FIRST_FOUNDER.to_string(),
            "pool": pool,
            "base_amount": base.to_string(),
            "quote_amount": quote.to_string(),
        });
        self.ask("join-pool", body).await.map(drop)
    }

    /// Base and quote units of the pool's founder.
    async fn founder_holds(&self) -> anyhow::Result<[u128; 2]> {
        let body = json!({"account": FIRST_FOUNDER.to_string()});
        let shown = self.ask("account", body).await?;
        let (_, symbols) = self.pool.as_ref().context("the exchange has no pool")?;
        let balances = shown["balances"].as_array().cloned().unwrap_or_default();
        Ok(symbols.clone().map(|symbol| {
            let found = balances.iter().find(|one| one["symbol"] == symbol.as_str());
            let total = found.and_then(|one| one["total"].as_str()?.parse().ok());
            total.unwrap_or(0)
        }))
    }

    async fn ask_for_account(&self, name: &'static str) -> anyhow::Result<()> {
        let body = json!({"account": self.account.to_string()});
        self.ask(name, body).await.map(drop)
    }

    async fn ask(&self, name: &'static str, body: Value) -> anyhow::Result<Value> {
        let operator = Arc::clone(&self.operator);
        let body: Map<_, _> = body.as_object().cloned().unwrap_or_default();
        // The operator's client blocks.
        tokio::task::spawn_blocking(move || operator.send(name, body)).await?
    }
}

/// All kinds of requests that a fault can refuse.
fn kinds() -> &'static [&'static str] {
    let fields = find("fault-answer").map_or(&[][..], |request| request.fields);
    let words = fields.iter().find_map(|field| match field.kind {
        FieldKind::Word(words) => Some(words),
        _ => None,
    });
    words.unwrap_or_default()
}
