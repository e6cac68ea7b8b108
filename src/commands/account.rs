//! `cambist account`: the account at the venue, and explanations of flows.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use cambist_core::Side;
use cambist_core::order::OrderReport;
use cambist_core::pool::PoolTransactionKind;
use clap::{Args, Subcommand};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::{
    account_funds, account_keys, account_open, account_requests, columns, print_json, print_text,
};
use crate::commands::daemon_control;
use crate::commands::daemon_control::Which;
use crate::demo::end_checks;
use crate::exit::{Exit, Failure};
use cambist_config::money;
use cambist_daemon::config::Daemon;
use cambist_daemon::live::control_requests::{Names, RequestJson};
use cambist_daemon::live::operator_commands::ControlRequest;
use cambist_host::times;
use cambist_store::offline::NotExplained;
use cambist_store::{Listing, Store, flows, view};

/// How often a command that waits for the venue states so.
const WAIT_SHOWN: Duration = Duration::from_secs(5);

/// Subcommands of `account`.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Show the balances at the venue, by token
    #[command(after_help = "Example:\n  cambist account balances --config config/demo.toml")]
    Balances(Which),
    /// List orders at the venue, newest first; open ones only, unless --all
    #[command(
        after_help = "Example:\n  cambist account orders --config config/demo.toml --all --json"
    )]
    Orders(OrdersArgs),
    /// Send tokens to another account of the exchange; the daemon, if it runs, goes on trading
    #[command(
        after_help = "Signed by the account's key and by the owner's wallet, whose key is read from its file for this one signature. The request is on disk before it is sent; if no answer comes, the same bytes are sent again and count once. Its flow is booked as explained when the balances show it.\n\nExit codes: 0 processed, 1 refused, failed, or not known yet (see --json, state), 2 usage, 77 keys or configuration.\n\nExamples:\n  cambist account transfer --config config/demo.toml --to 0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b --token USDC --amount 250 --dry-run\n  cambist account transfer --config config/demo.toml --to 0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b --token USDC --amount 250 --owner-key keys/owner_key --yes"
    )]
    Transfer(account_funds::TransferArgs),
    /// Withdraw tokens to layer 1; the daemon, if it runs, goes on trading
    #[command(
        after_help = "As account transfer. The amount leaves the balance when the exchange reports its arrival on layer 1, which may take long; it is booked then.\n\nExamples:\n  cambist account withdraw --config config/demo.toml --token ETH --amount 1.5 --dry-run\n  cambist account withdraw --config config/demo.toml --token ETH --amount 1.5 --owner-key keys/owner_key"
    )]
    Withdraw(account_funds::WithdrawArgs),
    /// Put tokens into the pool beside a market for a number of its shares
    #[command(
        after_help = "A strategy that manages the pool's shares (lp_manager) will return to its own target; pause it first.\n\nExample:\n  cambist account join --config config/demo.toml --market ETH-USDC --shares 2 --dry-run"
    )]
    Join(account_funds::PoolArgs),
    /// Return pool shares for the tokens that they are due
    #[command(
        after_help = "Example:\n  cambist account exit --config config/demo.toml --market ETH-USDC --shares 2 --dry-run"
    )]
    Exit(account_funds::PoolArgs),
    /// List transfers, withdrawals, joins and exits made by these commands, and find out about those whose end is not known
    #[command(
        after_help = "Exit 1 if the end of a request is not known.\n\nExamples:\n  cambist account requests --config config/demo.toml\n  cambist account requests --config config/demo.toml --settle --json"
    )]
    Requests(account_requests::RequestsArgs),
    /// List the account's joins and exits of pools, as the venue has them
    #[command(after_help = "Example:\n  cambist account transactions --config config/demo.toml")]
    Transactions(Which),
    /// Make the keys of a wallet's account at an exchange: register a signing key, fetch the API key
    #[command(
        after_help = "The operator has opened the account (cambist venue onboard), or tokens were sent to the wallet's address. Run again after a failure: it goes on where it ended, and never overwrites a key.\n\nExample:\n  cambist account open --venue http://127.0.0.1:8787 --owner-key owner_key --out keys"
    )]
    Open(account_open::OpenArgs),
    /// Replace the account's signing key; the daemon must be stopped
    #[command(
        after_help = "The new key is on disk before it is registered. A command that was killed, or got no answer, is run again as it is.\n\nExample:\n  cambist account update-key --config config/demo.toml --owner-key keys/owner_key --dry-run"
    )]
    UpdateKey(account_keys::UpdateKeyArgs),
    /// Replace the account's API key; the daemon must be stopped
    #[command(
        after_help = "Example:\n  cambist account rotate-api-key --config config/demo.toml --dry-run"
    )]
    RotateApiKey(account_keys::RotateArgs),
    /// Explain a deposit, a withdrawal or a manual trade, to a running or stopped daemon
    #[command(
        after_help = "Example:\n  cambist account adopt --config config/demo.toml --token ETH --amount +1.5 --reason 'deposit of Monday'"
    )]
    Adopt(AdoptArgs),
    /// Declare that another cambist instance is gone for good and left its open orders: they count as own orders and
    /// are cancelled. Otherwise the daemon waits until they expire
    #[command(
        after_help = "Example:\n  cambist account adopt-orders --config config/demo.toml --instance 7530e7d1 --reason 'its state folder was lost'"
    )]
    AdoptOrders(AdoptOrdersArgs),
    /// List every explained flow, oldest first, from the state folder
    #[command(after_help = "Example:\n  cambist account flows --config config/demo.toml")]
    Flows(Which),
}

/// Arguments of `account orders`.
#[derive(Debug, Args)]
pub struct OrdersArgs {
    #[command(flatten)]
    which: Which,
    /// Include orders that have ended
    #[arg(long)]
    all: bool,
}

/// Arguments of `account adopt`.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    #[command(flatten)]
    which: Which,
    /// Symbol of the token
    #[arg(long, value_name = "SYMBOL")]
    token: String,
    /// Whole tokens that came in (+1.5) or went out (-0.25)
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    amount: String,
    /// What the flow was; stored in the log, the tape and the store
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Book the flow although it does not explain a difference between ledger and venue. Trading of a running daemon
    /// then stops as with any other difference
    #[arg(long)]
    force: bool,
}

/// Arguments of `account adopt-orders`.
#[derive(Debug, Args)]
pub struct AdoptOrdersArgs {
    #[command(flatten)]
    which: Which,
    /// The instance: the eight digits after the c of its client order ids
    #[arg(long, value_name = "ID")]
    instance: String,
    /// Why the instance cannot run any more; stored in the log and the tape
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Queries the venue, or sends the request to the daemon.
pub fn run(command: &AccountCommand, json: bool) -> anyhow::Result<Exit> {
    match command {
        AccountCommand::Balances(which) => balances(which, json),
        AccountCommand::Orders(args) => orders(args, json),
        AccountCommand::Transfer(args) => account_funds::transfer(args, json),
        AccountCommand::Withdraw(args) => account_funds::withdraw(args, json),
        AccountCommand::Join(args) => account_funds::pool(args, PoolTransactionKind::Join, json),
        AccountCommand::Exit(args) => account_funds::pool(args, PoolTransactionKind::Exit, json),
        AccountCommand::Requests(args) => account_requests::requests(args, json),
        AccountCommand::Transactions(which) => account_requests::transactions(which, json),
        AccountCommand::Open(args) => account_open::run(args, json),
        AccountCommand::UpdateKey(args) => account_keys::update_key(args, json),
        AccountCommand::RotateApiKey(args) => account_keys::rotate_api_key(args, json),
        AccountCommand::Adopt(args) => adopt(args, json),
        AccountCommand::AdoptOrders(args) => adopt_orders(args, json),
        AccountCommand::Flows(which) => explained(which, json),
    }
}

fn adopt(args: &AdoptArgs, json: bool) -> anyhow::Result<Exit> {
    if args.reason.trim().is_empty() {
        return Err(Failure::new(Exit::Usage, "--reason must say what the flow was").into());
    }
    let request = RequestJson::Adopt {
        token: args.token.clone(),
        amount: args.amount.clone(),
        reason: args.reason.clone(),
        force: args.force,
    };
    let daemon = Daemon::load_unpinned(&args.which.config)?;
    match daemon_control::ask_daemon(&daemon.store.dir, &request)? {
        Some(answer) => daemon_control::shown(&answer, json),
        None => adopt_stopped(&daemon, request, json),
    }
}

/// Explains a flow to a stopped daemon: its next start uses it.
fn adopt_stopped(daemon: &Daemon, request: RequestJson, json: bool) -> anyhow::Result<Exit> {
    let nothing = || Failure::new(Exit::CheckFailed, NotExplained::NotOpen.to_string());
    if !daemon.store.dir.join(cambist_store::FILE).exists() {
        return Err(daemon_control::no_daemon(&daemon.store.dir));
    }
    let mut store = Store::open(&daemon.store.dir)?;
    let mut offline = store.offline()?.ok_or_else(nothing)?;
    let names = Names::listed(&offline.listing);
    let resolved = names.resolve(request);
    let refused = |why: String| Failure::new(Exit::CheckFailed, why);
    let ControlRequest::Adopt {
        token,
        amount,
        reason,
        force,
    } = resolved.map_err(refused)?
    else {
        return Err(nothing().into());
    };
    let difference = offline.differences().get(&token).copied();
    if !force && let Err(why) = names.explains(token, amount, difference) {
        let what = format!(
            "{why}. This is the state of the last reconciliation: if the flow is newer, start the daemon, and status will show the difference; --force books the flow now"
        );
        return Err(refused(what).into());
    }
    match store.explain(&mut offline, token, amount, &reason) {
        Ok(()) => {}
        Err(NotExplained::Store(error)) => return Err(error.into()),
        Err(error) => return Err(refused(error.to_string()).into()),
    }
    let shown = |units: i128| {
        let spec = offline.token(token);
        spec.map_or_else(|| units.to_string(), |spec| spec.show(units))
    };
    let held = i128::try_from(offline.held(token)).unwrap_or(i128::MAX);
    let detail = format!(
        "{} booked as explained; the ledger's balance is now {}",
        shown(amount),
        shown(held)
    );
    let answer = json!({"done": true, "detail": detail, "durable": true});
    daemon_control::shown(&answer, json)
}

fn adopt_orders(args: &AdoptOrdersArgs, json: bool) -> anyhow::Result<Exit> {
    if args.reason.trim().is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "--reason must say why the instance cannot run any more",
        )
        .into());
    }
    let request = RequestJson::AdoptOrders {
        instance: args.instance.clone(),
        reason: args.reason.clone(),
    };
    daemon_control::send_request(&args.which, &request, json)
}

fn explained(which: &Which, json: bool) -> anyhow::Result<Exit> {
    let daemon = Daemon::load_unpinned(&which.config)?;
    let flows = flows::explained(&daemon.store.dir)?;
    // Decimals that the venue states, such as those of pool shares on a chain, are in the store.
    let books = view::books(&daemon.store.dir)?;
    let listed = books.map_or_else(Listing::default, |(_, listing)| listing);
    let whole = |flow: &flows::Flow| {
        let sign = if flow.amount < 0 { '-' } else { '+' };
        let decimals = daemon.decimals_of(&flow.symbol);
        let decimals = decimals.or_else(|| listed.decimals_of(&flow.symbol))?;
        let amount = money::whole(flow.amount.unsigned_abs(), decimals);
        Some(format!("{sign}{amount}"))
    };
    let at = |flow: &flows::Flow| times::iso(flow.at_us / 1_000_000);
    if json {
        let shapes: Vec<_> = flows
            .iter()
            .map(|flow| {
                json!({
                    "at": at(flow),
                    "at_us": flow.at_us,
                    "token": flow.symbol,
                    "amount": whole(flow),
                    "units": flow.amount.to_string(),
                    "reason": flow.reason,
                })
            })
            .collect();
        print_json(&shapes)?;
    } else if flows.is_empty() {
        print_text("no flows have been explained\n")?;
    } else {
        let head = ["at", "amount", "reason"].map(str::to_owned);
        let rows = flows.iter().map(|flow| {
            let amount = whole(flow).map_or_else(
                || format!("{:+} base units of {}", flow.amount, flow.symbol),
                |whole| format!("{whole} {}", flow.symbol),
            );
            vec![at(flow), amount, flow.reason.clone()]
        });
        let rows: Vec<_> = std::iter::once(head.to_vec()).chain(rows).collect();
        print_text(&columns(&rows))?;
    }
    Ok(Exit::Done)
}

/// Reads from the account of a file's keys, opened in a way, and shows a wait that takes long. The other value is the
/// decimals of every token by symbol.
fn read<T>(
    which: &Which,
    open: impl AsyncFnOnce(&Daemon) -> anyhow::Result<end_checks::Account>,
    what: impl AsyncFnOnce(&end_checks::Account) -> anyhow::Result<T>,
) -> anyhow::Result<(T, BTreeMap<String, u8>)> {
    let daemon = Daemon::load_unpinned(&which.config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut read = std::pin::pin!(async {
            let account = open(&daemon).await?;
            Ok((what(&account).await?, account.decimals()))
        });
        let mut waited = Duration::ZERO;
        loop {
            tokio::select! {
                read = &mut read => return read,
                () = tokio::time::sleep(WAIT_SHOWN) => {
                    waited += WAIT_SHOWN;
                    let so_far = waited.as_secs();
                    let mut stderr = std::io::stderr().lock();
                    // A reader of these lines that has gone ends nothing.
                    let _ = writeln!(
                        stderr,
                        "reading the account: {so_far} s so far; the venue does not answer, or its rate limit has to be waited for"
                    );
                }
            }
        }
    })
}

fn balances(which: &Which, json: bool) -> anyhow::Result<Exit> {
    let open = end_checks::Account::open_holdings;
    let (totals, decimals) = read(which, open, async |account| account.totals().await)?;
    let whole = |symbol: &String, units: u128| {
        let decimals = decimals.get(symbol).copied().unwrap_or(0);
        money::whole(units, decimals)
    };
    let totals = totals.iter();
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
    let which = if args.all {
        end_checks::Which::All
    } else {
        end_checks::Which::Resting
    };
    let open = end_checks::Account::open;
    let (orders, decimals) = read(&args.which, open, async |account| {
        account.orders(which).await
    })?;
    let orders = orders
        .iter()
        .filter(|order| args.all || !order.status.is_final());
    let orders: Vec<_> = orders.map(|order| Shown::of(order, &decimals)).collect();
    if json {
        print_json(&orders.iter().map(Shown::json).collect::<Vec<_>>())?;
    } else if orders.is_empty() {
        print_text("no orders\n")?;
    } else {
        let now_s = cambist_host::clock::Clock::new().unix_micros() / 1_000_000;
        let head = [
            "order", "market", "side", "price", "amount", "filled", "status", "age", "until",
        ];
        let head = head.map(str::to_owned).to_vec();
        let rows = orders.iter().map(|order| order.row(now_s));
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        print_text(&columns(&rows))?;
    }
    Ok(Exit::Done)
}

/// An order with its market's tokens, if the venue lists them.
struct Shown<'a> {
    order: &'a OrderReport,
    /// Symbol and decimals of base and quote.
    tokens: Option<[(&'a str, u8); 2]>,
}

impl<'a> Shown<'a> {
    fn of(order: &'a OrderReport, decimals: &'a BTreeMap<String, u8>) -> Self {
        let symbols = order.market.rsplit_once('-');
        let known = |symbol: &'a str| Some((symbol, *decimals.get(symbol)?));
        let tokens = symbols.and_then(|(base, quote)| {
            let base = base.strip_prefix("AMM-").unwrap_or(base);
            Some([known(base)?, known(quote)?])
        });
        Self { order, tokens }
    }

    fn whole(&self, token: usize, units: u128) -> Option<String> {
        self.tokens
            .map(|tokens| money::whole(units, tokens[token].1))
    }

    fn text(&self, token: usize, units: u128) -> String {
        match (self.whole(token, units), self.tokens) {
            (Some(whole), Some(tokens)) => format!("{whole} {}", tokens[token].0),
            _ => format!("{units} base units"),
        }
    }

    /// Quote tokens for one base token.
    fn price(&self) -> Option<String> {
        let [(_, base), (_, quote)] = self.tokens?;
        let whole = |units: u128, decimals: u8| {
            let units = i128::try_from(units).ok()?;
            Decimal::try_from_i128_with_scale(units, decimals.into()).ok()
        };
        let price = whole(self.order.quote_amount, quote)?
            .checked_div(whole(self.order.base_amount, base)?)?;
        Some(price.round_dp(12).normalize().to_string())
    }

    fn name(&self) -> String {
        let id = self.order.client_id.map(|id| id.to_string());
        id.unwrap_or_else(|| self.order.hash.to_string())
    }

    fn row(&self, now_s: u64) -> Vec<String> {
        let order = self.order;
        let price = match (self.price(), self.tokens) {
            (Some(price), Some([_, (quote, _)])) => format!("{price} {quote}"),
            _ => "-".to_owned(),
        };
        vec![
            self.name(),
            order.market.to_string(),
            order.side.name().to_owned(),
            price,
            self.text(0, order.base_amount),
            self.whole(0, order.base_filled)
                .unwrap_or_else(|| order.base_filled.to_string()),
            order.status.name().to_owned(),
            times::span(now_s.saturating_sub(order.valid_since.as_s())),
            times::iso(order.valid_until_s.into()),
        ]
    }

    fn json(&self) -> Value {
        let order = self.order;
        let symbol = |token: usize| self.tokens.map(|tokens| tokens[token].0);
        let bought = match order.side {
            Side::Buy => 0,
            Side::Sell => 1,
        };
        json!({
            "hash": order.hash.to_string(),
            "client_order_id": order.client_id.map(|id| id.to_string()),
            "market": order.market,
            "side": order.side.name(),
            "status": order.status.name(),
            "price": self.price(),
            "base": self.whole(0, order.base_amount),
            "base_token": symbol(0),
            "base_units": order.base_amount.to_string(),
            "quote": self.whole(1, order.quote_amount),
            "quote_token": symbol(1),
            "quote_units": order.quote_amount.to_string(),
            "base_filled": self.whole(0, order.base_filled),
            "base_filled_units": order.base_filled.to_string(),
            "quote_filled": self.whole(1, order.quote_filled),
            "quote_filled_units": order.quote_filled.to_string(),
            "fee": self.whole(bought, order.fee),
            "fee_token": symbol(bought),
            "fee_units": order.fee.to_string(),
            "created": times::iso(order.valid_since.as_s()),
            "created_ms": order.valid_since.0,
            "valid_until": times::iso(order.valid_until_s.into()),
            "valid_until_s": order.valid_until_s,
        })
    }
}
