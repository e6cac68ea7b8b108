//! Joins and exits of pools by an operator, in numbers of shares.

use anyhow::Context;
use cambist_core::order::{ClientOrderId, StrategyId};
use cambist_core::pool::{PoolTransactionKind, UnsignedPoolTransaction};
use cambist_core::request::{Outcome, Query, Reply};
use cambist_core::shares::{self, Limits};
use cambist_core::{Amount, PoolSpec, TokenId, TokenSpec, VenueTime};
use cambist_daemon::live::account_requests::{AccountRequest, RequestKind};
use cambist_protocol::encode_move::sign_move;

use super::books::BooksAccess;
use super::funds::units;
use super::session::{Session, retry_limited};
use crate::exit::{Exit, Failure};

/// A join or an exit that was not signed yet.
pub struct PoolPlan {
    /// Which of both.
    pub kind: PoolTransactionKind,
    /// The pool.
    pub pool: PoolSpec,
    /// Most to pay or least to receive, and shares.
    pub limits: Limits,
    /// Shares that are asked for.
    pub shares: Amount,
    /// Highest fee, in the last pooled token.
    pub fee_max: Amount,
    /// Until when it is accepted, Unix seconds.
    pub valid_until_s: u32,
}

impl PoolPlan {
    /// Reads the pool and computes the limits for a number of shares.
    pub async fn of(
        session: &Session,
        kind: PoolTransactionKind,
        market: &str,
        wanted: &str,
        slippage_bps: u32,
        valid_for_s: u64,
    ) -> anyhow::Result<Self> {
        let refused = |what: String| Failure::new(Exit::CheckFailed, what);
        let markets = &session.bound.markets;
        let at = markets.iter().find(|spec| spec.name == market);
        let at = at.ok_or_else(|| refused(format!("no market {market:?} is configured")))?;
        let mut pools = session.bound.pools.iter().zip(&session.bound.engine.pools);
        let found = pools.find(|(pool, _)| pool.market == at.id);
        let none = || {
            refused(format!(
                "market {market} has no pool in the configuration; add [market.pool]"
            ))
        };
        let (pool, config) = found.ok_or_else(none)?;
        let shares = units(wanted, &pool.lp)?;
        let query = Query::PoolBalance(at.id);
        let balances =
            retry_limited(
                async || match session.client.query(&query, markets).await.outcome {
                    Outcome::Reply(Reply::PoolBalance(balances)) => Ok(balances),
                    other => {
                        anyhow::bail!("the venue did not report the pool's balances: {other:?}")
                    }
                },
            );
        let balances = balances.await?;
        let limits = match kind {
            PoolTransactionKind::Join => shares::join(&balances, shares, slippage_bps),
            PoolTransactionKind::Exit => shares::exit(&balances, shares, slippage_bps),
        };
        let limits = limits.ok_or_else(|| {
            refused("the pool is empty, or the number of shares is too large".to_owned())
        })?;
        let plan = Self {
            kind,
            pool: pool.clone(),
            limits,
            shares,
            fee_max: config.fee_max,
            valid_until_s: Session::valid_until_s(valid_for_s),
        };
        plan.check_funds(session).await?;
        Ok(plan)
    }

    /// What it pays at most, by token.
    fn pays(&self) -> Vec<(TokenId, Amount)> {
        let [first, second] = self.pool.pooled;
        match self.kind {
            PoolTransactionKind::Join => vec![
                (first, self.limits.amounts[0]),
                (second, self.limits.amounts[1].saturating_add(self.fee_max)),
            ],
            PoolTransactionKind::Exit => vec![(self.pool.lp.id, self.limits.lp)],
        }
    }

    async fn check_funds(&self, session: &Session) -> anyhow::Result<()> {
        for (token, need) in self.pays() {
            let free = session.free(token).await?;
            if free < need {
                let spec = session.token_of(token)?;
                let what = format!(
                    "it pays up to {}, more than the {} that are free",
                    spec.text(need),
                    spec.text(free)
                );
                return Err(Failure::new(Exit::CheckFailed, what).into());
            }
        }
        Ok(())
    }

    /// Join or exit.
    pub const fn request_kind(&self) -> RequestKind {
        match self.kind {
            PoolTransactionKind::Join => RequestKind::Join,
            PoolTransactionKind::Exit => RequestKind::Exit,
        }
    }

    /// A sentence.
    pub fn about(&self, session: &Session) -> anyhow::Result<String> {
        let part = |at: usize| -> anyhow::Result<String> {
            let token: &TokenSpec = session.token_of(self.pool.pooled[at])?;
            Ok(token.text(self.limits.amounts[at]))
        };
        let (first, second) = (part(0)?, part(1)?);
        let shares = self.pool.lp.text(self.limits.lp);
        Ok(match self.kind {
            PoolTransactionKind::Join => format!(
                "join of pool {}: at most {first} and {second} for at least {shares}",
                self.pool.name
            ),
            PoolTransactionKind::Exit => format!(
                "exit of pool {}: {shares} for at least {first} and {second}",
                self.pool.name
            ),
        })
    }

    /// Takes its storage ids and signs it.
    pub async fn sign(
        &self,
        session: &Session,
        books: &mut BooksAccess,
    ) -> anyhow::Result<AccountRequest> {
        let mut storage_ids = Vec::new();
        for (token, _) in self.pays() {
            storage_ids.push(books.take_slot(session, token).await?);
        }
        let wanted = UnsignedPoolTransaction {
            // Part of no signature.
            client_id: ClientOrderId {
                instance: 0,
                strategy: StrategyId(0),
                number: 0,
            },
            market: self.pool.market,
            kind: self.kind,
            pooled: self.pool.pooled,
            amounts: self.limits.amounts,
            lp: self.pool.lp.id,
            lp_amount: self.limits.lp,
            storage_ids,
            fee_max: self.fee_max,
            valid_until_s: self.valid_until_s,
            made_at: VenueTime(0),
        };
        let signed = sign_move(&wanted, &self.pool, session.owner, &*session.key.signer())?;
        let about = self.about(session)?;
        let mut request = AccountRequest::new(self.request_kind(), signed.hash.to_string(), about);
        request.valid_until_s = self.valid_until_s;
        request.pool = Some(self.pool.name.clone());
        request.body = String::from_utf8(signed.body).context("the body is text")?;
        Ok(request)
    }
}
