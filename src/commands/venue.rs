//! `cambist venue`: the exchange alone.

use anyhow::Context;
use cambist_server::{Rate, RateLimits, Server, ServerConfig};
use serde_json::json;

use super::{print_json, print_text};
use crate::cli::ServiceArgs;
use crate::config::Exchange;
use crate::exchange::{keys, setup};
use crate::exit::{Exit, Failure};
use crate::live::signals::Signals;
use crate::{address, telemetry};

/// Runs the exchange until told to stop; exit 79 if its books do not add up at the end.
pub fn run(args: &ServiceArgs, json: bool) -> anyhow::Result<Exit> {
    let exchange = Exchange::load(&args.config)?;
    telemetry::log::start(exchange.log);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(&exchange, args.until_stdin_closes, json));
    // A read of standard input may be under way and can only be left behind.
    runtime.shutdown_background();
    served
}

async fn serve(exchange: &Exchange, until_stdin_closes: bool, json: bool) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen(until_stdin_closes).context("listening to signals")?;
    let maker = keys::load_or_make(&exchange.maker.keys_dir)?;
    let (venue, agents) = setup::venue(exchange, &maker)?;
    let server = Server::bind(&server_config(exchange), venue, agents)
        .map_err(|error| Failure::new(Exit::CheckFailed, error.to_string()))?;
    let listening = server.local_addr();
    address::write(&exchange.address_file(), listening)?;
    let handle = server.handle();
    if json {
        print_json(&json!({
            "address": listening.to_string(),
            "account_id": exchange.maker.account_id,
            "keys_dir": exchange.maker.keys_dir.display().to_string(),
        }))?;
    } else {
        print_text(&format!(
            "exchange at http://{listening}\nkeys of account {} in {}\n",
            exchange.maker.account_id,
            exchange.maker.keys_dir.display()
        ))?;
    }
    server
        .run(async move { while !ends(&mut signals).await {} })
        .await?;
    if let Err(error) = handle.audit() {
        return Err(Failure::new(Exit::Invariant, error.to_string()).into());
    }
    Ok(Exit::Done)
}

/// Whether the next wish is to end; a level means nothing to an exchange.
async fn ends(signals: &mut Signals) -> bool {
    signals.next().await == cambist_core::event::Command::Drain
}

fn server_config(exchange: &Exchange) -> ServerConfig {
    let rate = Rate {
        per_s: exchange.endpoint_per_s,
        burst: exchange.endpoint_burst,
    };
    ServerConfig {
        public_url: exchange.public_url.clone(),
        require_api_key_signature: exchange.require_api_key_signature,
        rates: RateLimits {
            key_and_endpoint: rate,
            keyless_and_endpoint: rate,
            ..RateLimits::default()
        },
        ..ServerConfig::new(exchange.listen)
    }
}
