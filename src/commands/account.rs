//! `cambist account`: what the venue says of the account, and flows that a person explains.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::operate::{self, Which};
use super::{columns, print_json, print_text};
use crate::config::{Daemon, money};
use crate::demo::proof;
use crate::exit::{Exit, Failure};
use crate::live::wishes::Written;
use crate::store::flows;

/// What about the account.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Totals at the venue, by token.
    #[command(after_help = "Example:\n  cambist account balances --config config/demo.toml")]
    Balances(Which),
    /// Orders at the venue, newest first; the open ones unless --all.
    #[command(
        after_help = "Example:\n  cambist account orders --config config/demo.toml --all --json"
    )]
    Orders(OrdersArgs),
    /// Tell the running daemon of a deposit, a withdrawal or a manual trade. Nothing is guessed.
    #[command(
        after_help = "Example:\n  cambist account adopt --config config/demo.toml --token ETH --amount +1.5 --reason 'deposit of Monday'"
    )]
    Adopt(AdoptArgs),
    /// Tell the running daemon that another cambist instance is gone for good and left its open orders:
    /// they count as ours and are cancelled. Without it they are waited out.
    #[command(
        after_help = "Example:\n  cambist account adopt-orders --config config/demo.toml --instance 7530e7d1 --reason 'its state folder was lost'"
    )]
    AdoptOrders(AdoptOrdersArgs),
    /// Every flow that was explained so far, oldest first, from the state folder.
    #[command(after_help = "Example:\n  cambist account flows --config config/demo.toml")]
    Flows(Which),
}

/// Arguments of `account orders`.
#[derive(Debug, Args)]
pub struct OrdersArgs {
    #[command(flatten)]
    which: Which,
    /// Those that have ended, too.
    #[arg(long)]
    all: bool,
}

/// Arguments of `account adopt`.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    #[command(flatten)]
    which: Which,
    /// Symbol of the token.
    #[arg(long, value_name = "SYMBOL")]
    token: String,
    /// Whole tokens that came (+1.5) or went (-0.25).
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    amount: String,
    /// What it was; kept in the log, on the tape and in the store.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Arguments of `account adopt-orders`.
#[derive(Debug, Args)]
pub struct AdoptOrdersArgs {
    #[command(flatten)]
    which: Which,
    /// The instance: the eight digits after the c of its orders' ids.
    #[arg(long, value_name = "ID")]
    instance: String,
    /// Why it is certain that it runs no more; kept in the log and on the tape.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Asks the venue, or tells the daemon.
pub fn run(command: &AccountCommand, json: bool) -> anyhow::Result<Exit> {
    match command {
        AccountCommand::Balances(which) => balances(which, json),
        AccountCommand::Orders(args) => orders(args, json),
        AccountCommand::Adopt(args) => adopt(args, json),
        AccountCommand::AdoptOrders(args) => adopt_orders(args, json),
        AccountCommand::Flows(which) => explained(which, json),
    }
}

fn adopt(args: &AdoptArgs, json: bool) -> anyhow::Result<Exit> {
    if args.reason.trim().is_empty() {
        return Err(Failure::new(Exit::Usage, "--reason must say what it was").into());
    }
    let wish = Written::Adopt {
        token: args.token.clone(),
        amount: args.amount.clone(),
        reason: args.reason.clone(),
    };
    operate::tell(&args.which, &wish, json)
}

fn adopt_orders(args: &AdoptOrdersArgs, json: bool) -> anyhow::Result<Exit> {
    if args.reason.trim().is_empty() {
        return Err(Failure::new(Exit::Usage, "--reason must say why it runs no more").into());
    }
    let wish = Written::AdoptOrders {
        instance: args.instance.clone(),
        reason: args.reason.clone(),
    };
    operate::tell(&args.which, &wish, json)
}

fn explained(which: &Which, json: bool) -> anyhow::Result<Exit> {
    let daemon = Daemon::load_unpinned(&which.config)?;
    let flows = flows::explained(&daemon.store.dir)?;
    if json {
        let shapes: Vec<_> = flows
            .iter()
            .map(|flow| {
                json!({
                    "at_us": flow.at_us,
                    "token": flow.symbol,
                    "units": flow.amount.to_string(),
                    "reason": flow.reason,
                })
            })
            .collect();
        print_json(&shapes)?;
    } else if flows.is_empty() {
        print_text("no flows were explained\n")?;
    } else {
        let head = ["at_s", "token", "base units", "reason"].map(str::to_owned);
        let rows = flows.iter().map(|flow| {
            let at_s = flow.at_us / 1_000_000;
            let amount = format!("{:+}", flow.amount);
            vec![
                at_s.to_string(),
                flow.symbol.clone(),
                amount,
                flow.reason.clone(),
            ]
        });
        let rows: Vec<_> = std::iter::once(head.to_vec()).chain(rows).collect();
        print_text(&columns(&rows))?;
    }
    Ok(Exit::Done)
}

fn books(which: &Which) -> anyhow::Result<proof::Books> {
    let daemon = Daemon::load_unpinned(&which.config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(proof::books(&daemon))
}

fn balances(which: &Which, json: bool) -> anyhow::Result<Exit> {
    let books = books(which)?;
    let whole = |symbol: &String, units: u128| {
        let decimals = books.decimals.get(symbol).copied().unwrap_or(0);
        money::whole(units, decimals)
    };
    let totals = books.totals.iter();
    if json {
        let shape: serde_json::Map<_, _> = totals
            .map(|(symbol, units)| {
                let both = json!({"units": units.to_string(), "whole": whole(symbol, *units)});
                (symbol.clone(), both)
            })
            .collect();
        print_json(&shape)?;
    } else {
        let rows: Vec<_> = totals
            .map(|(symbol, units)| vec![symbol.clone(), whole(symbol, *units)])
            .collect();
        print_text(&columns(&rows))?;
    }
    Ok(Exit::Done)
}

fn orders(args: &OrdersArgs, json: bool) -> anyhow::Result<Exit> {
    let books = books(&args.which)?;
    let shown = books
        .orders
        .iter()
        .filter(|order| args.all || !order.status.is_final());
    let mut rows = vec![
        [
            "order", "market", "side", "status", "base", "filled", "quote", "until_s",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut shapes: Vec<Value> = Vec::new();
    for order in shown {
        let id = order.client_id.map(|id| id.to_string());
        let status = order.status.name().to_owned();
        rows.push(vec![
            id.clone().unwrap_or_else(|| order.hash.to_string()),
            order.market.clone(),
            order.side.name().to_owned(),
            status.clone(),
            order.base_amount.to_string(),
            order.base_filled.to_string(),
            order.quote_amount.to_string(),
            order.valid_until_s.to_string(),
        ]);
        shapes.push(json!({
            "hash": order.hash.to_string(),
            "client_order_id": id,
            "market": order.market,
            "side": order.side.name(),
            "status": status,
            "base_units": order.base_amount.to_string(),
            "quote_units": order.quote_amount.to_string(),
            "base_filled_units": order.base_filled.to_string(),
            "quote_filled_units": order.quote_filled.to_string(),
            "fee_units": order.fee.to_string(),
            "valid_until_s": order.valid_until_s,
        }));
    }
    if json {
        print_json(&shapes)?;
    } else if shapes.is_empty() {
        print_text("no orders\n")?;
    } else {
        print_text(&columns(&rows))?;
    }
    Ok(Exit::Done)
}
