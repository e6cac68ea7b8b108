//! `cambist account transfer`, `withdraw`, `join` and `exit`: requests that move funds of the account.

use std::path::PathBuf;
use std::time::Duration;

use cambist_core::pool::PoolTransactionKind;
use cambist_daemon::config::Daemon;
use cambist_daemon::live::account_requests::RequestKind;
use cambist_daemon::live::request_folder::RequestFolder;
use cambist_store::StoreError;
use clap::Args;
use serde_json::{Value, json};

use super::account_requests::ended;
use super::daemon_control::Which;
use super::{confirm, print_json, print_text, signer_limits};
use crate::account::books::BooksAccess;
use crate::account::funds::{Asked, Plan};
use crate::account::pools::PoolPlan;
use crate::account::send;
use crate::account::session::{Session, runtime, trading};
use crate::exit::{Exit, Failure};

/// What all requests have in common.
#[derive(Debug, Args)]
pub struct RequestArgs {
    #[command(flatten)]
    which: Which,
    /// Show what would be done; nothing is signed or sent
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Wait this long for the venue's decision; the request goes on without the command
    #[arg(long, value_name = "DURATION", value_parser = crate::cli::seconds, default_value = "30s")]
    wait: u64,
    /// The request is invalid after this time: by default an hour, with a signer as long as it
    /// signs for
    #[arg(long, value_name = "DURATION", value_parser = crate::cli::seconds)]
    valid_for: Option<u64>,
}

/// Without a signer and without `--valid-for`.
const VALID_FOR_S: u64 = 3_600;

impl RequestArgs {
    fn valid_for_s(&self, daemon: &Daemon) -> anyhow::Result<u64> {
        let most = signer_limits::validity_max_s(daemon).transpose();
        let most = most.map_err(|error| Failure::new(Exit::CheckFailed, error))?;
        Ok(self.valid_for.unwrap_or(most.unwrap_or(VALID_FOR_S)))
    }
}

/// Arguments of `account transfer`.
#[derive(Debug, Args)]
pub struct TransferArgs {
    #[command(flatten)]
    common: RequestArgs,
    /// Address of the receiving account's owner; an account is opened if there is none
    #[arg(long, value_name = "ADDRESS")]
    to: String,
    /// Symbol of the token
    #[arg(long, value_name = "SYMBOL")]
    token: String,
    /// Whole tokens
    #[arg(long, value_name = "AMOUNT")]
    amount: String,
    /// Note for the receiver; not signed
    #[arg(long, value_name = "TEXT")]
    memo: Option<String>,
    /// File with the key of the owner's wallet, mode 0600; read for one signature. Not needed for --dry-run
    #[arg(long, value_name = "FILE")]
    owner_key: Option<PathBuf>,
}

/// Arguments of `account withdraw`.
#[derive(Debug, Args)]
pub struct WithdrawArgs {
    #[command(flatten)]
    common: RequestArgs,
    /// Receiving address on layer 1; by default the account's owner
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// Symbol of the token
    #[arg(long, value_name = "SYMBOL")]
    token: String,
    /// Whole tokens
    #[arg(long, value_name = "AMOUNT")]
    amount: String,
    /// Fast withdrawal
    #[arg(long)]
    fast: bool,
    /// File with the key of the owner's wallet, mode 0600; read for one signature. Not needed for --dry-run
    #[arg(long, value_name = "FILE")]
    owner_key: Option<PathBuf>,
}

/// Arguments of `account join` and `account exit`.
#[derive(Debug, Args)]
pub struct PoolArgs {
    #[command(flatten)]
    common: RequestArgs,
    /// Market beside the pool
    #[arg(long, value_name = "NAME")]
    market: String,
    /// Pool shares to mint or to burn
    #[arg(long, value_name = "AMOUNT")]
    shares: String,
    /// How far the pool may have moved when the request is executed, in ten-thousandths
    #[arg(long, value_name = "BPS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    slippage_bps: u32,
}

/// Sends a transfer.
pub fn transfer(args: &TransferArgs, json: bool) -> anyhow::Result<Exit> {
    let asked = Asked {
        kind: RequestKind::Transfer,
        token: &args.token,
        amount: &args.amount,
        to: Some(&args.to),
        memo: args.memo.as_deref(),
        fast: false,
        valid_for_s: args.common.valid_for.unwrap_or(VALID_FOR_S),
    };
    move_funds(&args.common, &asked, args.owner_key.as_ref(), json)
}

/// Sends a withdrawal.
pub fn withdraw(args: &WithdrawArgs, json: bool) -> anyhow::Result<Exit> {
    let asked = Asked {
        kind: RequestKind::Withdrawal,
        token: &args.token,
        amount: &args.amount,
        to: args.to.as_deref(),
        memo: None,
        fast: args.fast,
        valid_for_s: args.common.valid_for.unwrap_or(VALID_FOR_S),
    };
    move_funds(&args.common, &asked, args.owner_key.as_ref(), json)
}

fn move_funds(
    common: &RequestArgs,
    asked: &Asked<'_>,
    owner_key: Option<&PathBuf>,
    json: bool,
) -> anyhow::Result<Exit> {
    let daemon = trading(&common.which.config)?;
    daemon.venue.exchange(&format!("a {}", asked.kind.name()))?;
    if owner_key.is_none() && !common.dry_run {
        let what =
            "--owner-key FILE is required: the wallet's key signs once (not needed for --dry-run)";
        return Err(Failure::new(Exit::Usage, what).into());
    }
    runtime()?.block_on(async {
        let session = Session::open(daemon).await?;
        session.key.secret(&format!("a {}", asked.kind.name()))?;
        let wallet = owner_key.map(|file| session.wallet(file)).transpose()?;
        let plan = Plan::of(&session, asked).await?;
        let (about, fee) = (plan.about(), plan.fee_token.text(plan.fee));
        let opens = if plan.opens_account {
            "; the receiver has no account yet, the transfer opens one"
        } else {
            ""
        };
        let text = format!("{about}, fee {fee}{opens}");
        let Some(wallet) = wallet.filter(|_| !common.dry_run) else {
            return shown_plan(
                &session,
                &text,
                &json!({
                    "kind": asked.kind.name(),
                    "token": plan.token.symbol,
                    "units": plan.amount.to_string(),
                    "to": plan.to.to_string(),
                    "opens_account": plan.opens_account,
                    "fee_token": plan.fee_token.symbol,
                    "fee_units": plan.fee.to_string(),
                    "free_units": plan.free.to_string(),
                    "valid_until_s": plan.valid_until_s,
                }),
                json,
            );
        };
        agree(common, &session, &text)?;
        let folder = lock(&session)?;
        let mut books = BooksAccess::open(&session.daemon)?;
        let slot = books.take_slot(&session, plan.token.id).await?;
        let mut request = plan.sign(&session, slot, &wallet)?;
        // Its only signature is made.
        drop(wallet);
        let wait = Duration::from_secs(common.wait);
        send::submit(&session, &books, &folder, &mut request, wait).await?;
        folder.prune(&session.daemon.store.dir)?;
        ended(&request, json)
    })
}

/// Sends a join or an exit.
pub fn pool(args: &PoolArgs, kind: PoolTransactionKind, json: bool) -> anyhow::Result<Exit> {
    let common = &args.common;
    let daemon = trading(&common.which.config)?;
    let valid_for_s = common.valid_for_s(&daemon)?;
    runtime()?.block_on(async {
        let session = Session::open(daemon).await?;
        let plan = PoolPlan::of(
            &session,
            kind,
            &args.market,
            &args.shares,
            args.slippage_bps,
            valid_for_s,
        )
        .await?;
        let text = plan.about(&session)?;
        if common.dry_run {
            let amounts = plan.limits.amounts.map(|amount| amount.to_string());
            return shown_plan(
                &session,
                &text,
                &json!({
                    "kind": plan.request_kind().name(),
                    "pool": plan.pool.name,
                    "shares_units": plan.shares.to_string(),
                    "limit_units": amounts,
                    "limit_shares_units": plan.limits.lp.to_string(),
                    "valid_until_s": plan.valid_until_s,
                }),
                json,
            );
        }
        agree(common, &session, &text)?;
        let folder = lock(&session)?;
        let mut books = BooksAccess::open(&session.daemon)?;
        let mut request = plan.sign(&session, &mut books).await?;
        let wait = Duration::from_secs(common.wait);
        send::submit(&session, &books, &folder, &mut request, wait).await?;
        folder.prune(&session.daemon.store.dir)?;
        ended(&request, json)
    })
}

fn lock(session: &Session) -> anyhow::Result<RequestFolder> {
    Ok(RequestFolder::open(&session.daemon.store.dir).map_err(StoreError::from)?)
}

fn shown_plan(session: &Session, text: &str, plan: &Value, json: bool) -> anyhow::Result<Exit> {
    if json {
        print_json(&json!({"dry_run": true, "about": text, "plan": plan}))?;
    } else {
        let account = session.daemon.venue.account();
        print_text(&format!("{account}: {text}\nnothing was signed or sent\n"))?;
    }
    Ok(Exit::Done)
}

fn agree(common: &RequestArgs, session: &Session, text: &str) -> anyhow::Result<()> {
    let venue = &session.daemon.venue;
    let url = &venue.base_url.value;
    let question = format!("{} at {url}: {text}?", venue.account());
    confirm(&question, common.yes)
}
