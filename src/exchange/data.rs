//! The exchange's data folder: taken, begun at the first start, recovered at every later one.
//!
//! What is in the folder counts. The configuration file made the exchange once; where it has changed
//! since then, that is said and not applied, and another exchange is refused.

use std::path::Path;

use anyhow::Context;
use cambist_server::{DataError, DataFolder, Durable};

use super::keys::MakerKeys;
use super::setup;
use crate::config::Exchange;
use crate::exit::{Exit, Failure};

/// The exchange of a folder; a new one if the folder is empty.
pub fn open(folder: &Path, exchange: &Exchange, maker: &MakerKeys) -> anyhow::Result<Durable> {
    let data = DataFolder::take(folder).map_err(failure)?;
    let Some(durable) = data.recover().map_err(failure)? else {
        let (venue, agents) = setup::venue(exchange, maker)?;
        tracing::info!(folder = %folder.display(), "a new exchange begins");
        return Ok(data.begin(venue, agents).map_err(failure)?);
    };
    let wanted = setup::config(exchange)?;
    let kept = durable.venue().config();
    if (wanted.chain_id, wanted.exchange) != (kept.chain_id, kept.exchange) {
        let what = format!(
            "folder {} holds the exchange of another chain id or address; name another folder, or the address it was made with",
            folder.display()
        );
        return Err(Failure::new(Exit::Refused, what).into());
    }
    if wanted != *kept {
        tracing::warn!(
            "the configuration of tokens, markets or fees has changed since the data folder was made; the folder's counts"
        );
    }
    let account = durable
        .venue()
        .account(cambist_venue::AccountId(exchange.maker.account_id))
        .context("the data folder has no account of the number in maker.account_id")?;
    let public = maker.secret.public();
    if (account.public_key.x, account.public_key.y)
        != (public.x.to_be_bytes(), public.y.to_be_bytes())
        || durable.venue().account_of_api_key(&maker.api_key) != Some(account.id)
    {
        tracing::warn!("the files in maker.keys_dir are not the keys of that account any more");
    }
    let facts = durable.facts();
    tracing::info!(
        folder = %folder.display(),
        inputs = facts.position,
        replayed = facts.replayed,
        torn_bytes = facts.torn_bytes,
        damaged_snapshots = facts.damaged_snapshots,
        "the exchange is back"
    );
    Ok(durable)
}

/// How a problem with a data folder ends the program.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
pub fn failure(error: DataError) -> Failure {
    let exit = match &error {
        DataError::InUse { .. } => Exit::AnotherInstance,
        DataError::Damaged { .. } | DataError::Audit(_) | DataError::Diverged { .. } => {
            Exit::Invariant
        }
        DataError::Empty { .. } | DataError::NotEmpty { .. } | DataError::Version { .. } => {
            Exit::Refused
        }
        error if error.is_misconfigured() => Exit::Refused,
        DataError::Folder(_) | DataError::Io { .. } => Exit::CheckFailed,
    };
    Failure::new(exit, error.to_string())
}
