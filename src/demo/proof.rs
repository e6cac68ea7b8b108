//! What the daemon left behind, asked at the exchange and read from the tape: not what it says itself.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use cambist_client::{Client, ClientConfig, Credentials, SecretString};
use cambist_core::request::{OrdersPage, Outcome, Query, Reply};
use cambist_core::{TokenId, VenueTime};
use cambist_signing::SecretKey;
use cambist_tape::{Reader, compare};

use crate::config::Daemon;
use crate::recording::Player;
use crate::secrets;

/// Entries asked for at once.
const PAGE: u32 = 50;

/// The exchange's own books for the daemon's account.
pub struct Books {
    /// Own orders that rest.
    pub resting: u64,
    /// Totals by token symbol, base units.
    pub totals: BTreeMap<String, u128>,
}

/// Asks the exchange for the account's orders and balances.
pub async fn books(daemon: &Daemon) -> anyhow::Result<Books> {
    let secrets = secrets::load(&daemon.keys)?;
    let key = SecretKey::from_hex(&secrets.eddsa_key).context("the daemon's key file")?;
    let owner = crate::live::start::parse_owner(daemon)?;
    let api_key = SecretString::from(secrets.api_key.as_str());
    let credentials = Credentials::new(daemon.venue.account_id, Some(owner), Some(api_key), key);
    let config = ClientConfig::new(&daemon.venue.base_url.value);
    let client = Client::new(&config, Some(credentials))?;
    let symbols: BTreeMap<TokenId, String> = client
        .tokens()
        .await?
        .into_iter()
        .map(|token| (token.token_id, token.symbol))
        .collect();
    let resting = resting(&client).await?;
    let Outcome::Reply(Reply::Balances(balances)) = patiently(&client, &Query::Balances).await?
    else {
        bail!("the exchange did not tell the balances");
    };
    let totals = balances
        .into_iter()
        .map(|balance| {
            let symbol = symbols.get(&balance.token).cloned();
            (
                symbol.unwrap_or_else(|| balance.token.0.to_string()),
                balance.total,
            )
        })
        .collect();
    Ok(Books { resting, totals })
}

async fn resting(client: &Client) -> anyhow::Result<u64> {
    let (mut offset, mut resting) = (0, 0);
    loop {
        let page = OrdersPage {
            from: VenueTime(0),
            to: VenueTime(0),
            offset,
            limit: PAGE,
        };
        let outcome = patiently(client, &Query::Orders(page)).await?;
        let Outcome::Reply(Reply::Orders { orders, total }) = outcome else {
            bail!("the exchange did not list the orders");
        };
        resting += orders
            .iter()
            .filter(|order| !order.status.is_final())
            .count() as u64;
        offset += u32::try_from(orders.len()).unwrap_or(u32::MAX);
        if orders.is_empty() || offset >= total {
            return Ok(resting);
        }
    }
}

/// Asks until the rate limit lets it through.
async fn patiently(client: &Client, query: &Query) -> anyhow::Result<Outcome> {
    for _ in 0..40 {
        let answered = client.query(query, &[]).await;
        match answered.outcome {
            Outcome::Refused(cambist_core::Reason::RateLimited) => {
                tokio::time::sleep(super::child::LOOK * 10).await;
            }
            outcome @ (Outcome::Reply(_)
            | Outcome::Refused(_)
            | Outcome::NotSent
            | Outcome::Unknown(_)) => return Ok(outcome),
        }
    }
    bail!("the exchange kept answering 429")
}

/// Replays every tape of a folder; true if each led to the same actions.
pub fn replay(dir: &Path) -> anyhow::Result<bool> {
    let mut tapes: Vec<_> = std::fs::read_dir(dir)
        .with_context(|| dir.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "tape")
        })
        .collect();
    tapes.sort();
    if tapes.is_empty() {
        bail!("no tape in {}", dir.display());
    }
    for tape in tapes {
        let name = || tape.display().to_string();
        let file = std::fs::File::open(&tape).with_context(name)?;
        let mut reader = Reader::open(std::io::BufReader::new(file)).with_context(name)?;
        let mut player = Player::new(reader.header(), reader.snapshot()).with_context(name)?;
        let replayed = compare(&mut reader, |now, event, actions| {
            player.hear(now, event, actions);
        })
        .with_context(name)?;
        if let Some(failure) = player.failure() {
            bail!("{}: {failure}", name());
        }
        if !replayed.is_equal() {
            return Ok(false);
        }
    }
    Ok(true)
}
