//! `cambist venue`: runs the exchange alone, and manages its data folder.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use cambist_listener::descriptors::connections_fitting;
use cambist_server::admin::{AdminConfig, AdminError, AdminServer};
use cambist_server::{BindError, InProcess, Server, ServerConfig, check_address};
use cambist_venue::AccountId;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::venue_data::DataCommand;
use super::{print_json, print_text};
use crate::exit::{Exit, Failure};
use cambist_daemon::live::signals::Signals;
use cambist_daemon::{address, notify, telemetry};
use cambist_exchange::config::Exchange;
use cambist_exchange::data::MakerKeyState;
use cambist_exchange::{data, keys, kraken_keys, setup};

/// Descriptors for everything but client connections: log, snapshots, listeners.
const DESCRIPTORS_RESERVED: u64 = 64;

/// Arguments of `venue`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct VenueArgs {
    /// Command on a data folder or a running exchange; without one the exchange runs.
    #[command(subcommand)]
    pub command: Option<VenueCommand>,
    /// Configuration file
    #[arg(long, value_name = "FILE", required = true)]
    pub config: Option<PathBuf>,
    /// Data folder; without one everything is in memory. Overrides data.dir in the file
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Stop when standard input is closed, so that the process ends with its parent
    #[arg(long)]
    pub until_stdin_closes: bool,
}

/// Commands on a data folder or a running exchange.
#[derive(Debug, Subcommand)]
pub enum VenueCommand {
    /// Commands on a data folder.
    #[command(flatten)]
    Data(DataCommand),
    /// Send an operator request to a running exchange, such as deposits, listings and limits
    Admin(super::admin::AdminArgs),
    /// Open an account for a trader, with its first deposits, in one command
    Onboard(super::onboard::OnboardArgs),
    /// Make an API key of Kraken's interface
    KrakenKey(super::kraken_key::KrakenKeyArgs),
}

/// Runs the exchange until stopped (exit 79 if its books do not add up at the end), or executes a command on a data
/// folder.
pub fn run(args: &VenueArgs, json: bool) -> anyhow::Result<Exit> {
    match &args.command {
        None => exchange(args, json),
        Some(VenueCommand::Data(command)) => super::venue_data::run(command, json),
        Some(VenueCommand::Admin(args)) => super::admin::run(args, json),
        Some(VenueCommand::Onboard(args)) => super::onboard::run(args, json),
        Some(VenueCommand::KrakenKey(args)) => super::kraken_key::run(args, json),
    }
}

fn exchange(args: &VenueArgs, json: bool) -> anyhow::Result<Exit> {
    let config = args
        .config
        .as_deref()
        .ok_or_else(|| Failure::new(Exit::Usage, "--config FILE is required"))?;
    let mut exchange = Exchange::load(config)?;
    if let Some(folder) = &args.data {
        exchange.data_dir = Some(folder.clone());
    }
    telemetry::log::start(exchange.log);
    if exchange.listen.public_url.is_some() && exchange.data_dir.is_none() {
        tracing::warn!(
            "the exchange is public (listen.public_url) and has no data folder (data.dir): every account, balance and order is lost when it stops"
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(&exchange, args.until_stdin_closes, json));
    // A blocked read of standard input cannot be cancelled.
    runtime.shutdown_background();
    served
}

async fn serve(exchange: &Exchange, until_stdin_closes: bool, json: bool) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen(until_stdin_closes).context("installing signal handlers")?;
    let config = server_config(exchange)?;
    let kraken = Dialect::of(exchange, &config);
    let unbound = |error: BindError| Failure::new(Exit::CheckFailed, error.to_string());
    let (server, keys) = if let Some(folder) = &exchange.data_dir {
        // A mistyped port leaves no new exchange behind.
        if !folder.exists() {
            check_address(config.listen).map_err(unbound)?;
        }
        let (durable, keys) = data::open(folder, exchange)?;
        let server = Server::bind_durable(&config, durable);
        (server, keys)
    } else {
        let maker = keys::load_or_make(&exchange.maker.keys_dir)?;
        let (venue, agents) = setup::venue(exchange, &maker)?;
        let server = Server::bind(&config, venue, agents);
        (server, MakerKeyState::Matching)
    };
    let server = server.map_err(unbound)?;
    let listening = server.local_addr();
    keys::make_folder(&exchange.maker.keys_dir)?;
    address::write(&exchange.address_file(), listening)?;
    let handle = server.handle();
    data::bound_openings(exchange, &handle)?;
    if let Some(maker) = keys::load(&exchange.maker.keys_dir)? {
        handle.learn_api_key(AccountId(exchange.maker.account_id), &maker.api_key)?;
    }
    let listener = admin_server(exchange, &handle)?;
    if json {
        print_json(&json!({
            "address": listening.to_string(),
            "account_id": exchange.maker.account_id,
            "keys_dir": exchange.maker.keys_dir.display().to_string(),
            "keys": keys.word(),
            "kraken": kraken.as_ref().map(Dialect::shape),
            "admin": listener.as_ref().map(|listener| listener.local_addr().to_string()),
        }))?;
    } else {
        let account = exchange.maker.account_id;
        let dir = exchange.maker.keys_dir.display();
        print_text(&match keys {
            MakerKeyState::Matching => {
                format!("exchange at http://{listening}\nkeys of account {account} in {dir}\n")
            }
            MakerKeyState::Absent => {
                format!("exchange at http://{listening}\nno keys of account {account} in {dir}\n")
            }
            MakerKeyState::OfAnotherAccount => format!(
                "exchange at http://{listening}\nthe keys in {dir} are not those of account {account}\n"
            ),
        })?;
        if let Some(kraken) = &kraken {
            print_text(&kraken.text(listening))?;
        }
    }
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let listener = listener.map(|listener| {
        tokio::spawn(listener.run(async move {
            // A dropped sender means the same.
            let _ = stopped.await;
        }))
    });
    notify::ready(&format!("exchange at http://{listening}"));
    server.run(async move { signals.end().await }).await?;
    drop(stop);
    if let Some(listener) = listener {
        listener.await.context("the operator listener")??;
    }
    if let Err(error) = handle.audit() {
        return Err(Failure::new(Exit::Invariant, error.to_string()).into());
    }
    Ok(Exit::Done)
}

/// Kraken's interface, as the exchange reports it at its start.
struct Dialect {
    keys_dir: PathBuf,
    keys: usize,
}

impl Dialect {
    fn of(exchange: &Exchange, config: &ServerConfig) -> Option<Self> {
        let (settings, served) = exchange.kraken.as_ref().zip(config.kraken.as_ref())?;
        Some(Self {
            keys_dir: settings.keys_dir.clone(),
            keys: served.keys.len(),
        })
    }

    fn shape(&self) -> Value {
        json!({"keys_dir": self.keys_dir.display().to_string(), "keys": self.keys})
    }

    fn text(&self, listening: SocketAddr) -> String {
        let (dir, keys) = (self.keys_dir.display(), self.keys);
        format!("Kraken's interface at http://{listening}/0 with {keys} API keys in {dir}\n")
    }
}

/// The operator listener, if it is configured.
fn admin_server(exchange: &Exchange, handle: &InProcess) -> anyhow::Result<Option<AdminServer>> {
    let Some(admin) = &exchange.admin else {
        return Ok(None);
    };
    let config = AdminConfig {
        listen: admin.listen,
        token: keys::admin_token(&admin.token_file)?.to_string(),
    };
    let listener = AdminServer::bind(&config, handle).map_err(|error| match error {
        AdminError::Bind(_) => Failure::new(Exit::CheckFailed, error.to_string()),
        // A restart would not help.
        AdminError::ShortToken => {
            let file = admin.token_file.display();
            Failure::new(Exit::Refused, format!("{file}: {error}"))
        }
        AdminError::NotLoopback(_) => Failure::new(Exit::Refused, error.to_string()),
    })?;
    address::write(&exchange.admin_address_file(), listener.local_addr())?;
    Ok(Some(listener))
}

fn server_config(exchange: &Exchange) -> anyhow::Result<ServerConfig> {
    let mut connections = exchange.bounds.connections;
    connections.connections_max =
        connections_fitting(connections.connections_max, DESCRIPTORS_RESERVED);
    Ok(ServerConfig {
        kraken: kraken_keys::load(exchange)?,
        public_url: exchange.listen.public_url.clone(),
        further_urls: exchange.listen.further_urls.clone(),
        require_api_key_signature: exchange.require_api_key_signature,
        require_wallet_for_funds: exchange.require_wallet_for_funds,
        market_data: exchange.market_data,
        trusted_proxies: exchange.listen.trusted_proxies.clone(),
        cors_origin: exchange.listen.cors_origin.clone(),
        rates: exchange.bounds.rates,
        connections,
        ..ServerConfig::new(exchange.listen.address)
    })
}
