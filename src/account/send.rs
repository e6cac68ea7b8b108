//! Sends a request until the venue has answered definitely, with the same bytes every time, and reads what became of
//! joins and exits from the venue's list.

use std::time::Duration;

use anyhow::Context;
use cambist_client::CallError;
use cambist_core::pool::{PoolTransactionKind, PoolTransactionReport, PoolTransactionStatus};
use cambist_daemon::adapter::is_rate_limited;
use cambist_daemon::live::account_requests::{
    AccountRequest, RequestKind, RequestState, TransmissionAnswer,
};
use cambist_daemon::live::request_folder::RequestFolder;
use cambist_host::clock::Clock;
use cambist_protocol::encode_funds::SignedRequest;

use super::books::BooksAccess;
use super::session::Session;
use crate::demo::end_checks;

/// Pause after an answer that is not an end.
const PAUSE_MS: u64 = 500;
/// The longest one that a venue can ask for.
const PAUSE_MAX_MS: u64 = 10_000;

/// Completes a request with what was signed.
pub fn signed(request: &mut AccountRequest, signed: &SignedRequest) {
    request.body = String::from_utf8_lossy(&signed.body).into_owned();
    request.wallet_signature = Some(signed.wallet_signature.clone());
}

/// Makes a request durable, announces its flows, and sends it.
pub async fn submit(
    session: &Session,
    books: &BooksAccess,
    folder: &RequestFolder,
    request: &mut AccountRequest,
    wait: Duration,
) -> anyhow::Result<()> {
    let dir = &session.daemon.store.dir;
    request.created_s = Clock::new().unix_micros() / 1_000_000;
    folder
        .save(request)
        .context("the request could not be stored; nothing was sent")?;
    books.announce(dir, request)?;
    transmit(session, folder, request, wait).await?;
    request.give_up();
    finish(session, books, folder, request).await
}

/// Sends the bytes again until there is an end, or the time is over.
pub async fn transmit(
    session: &Session,
    folder: &RequestFolder,
    request: &mut AccountRequest,
    wait: Duration,
) -> anyhow::Result<()> {
    let clock = Clock::new();
    let wait_us = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
    loop {
        request.begin_transmission();
        // Before the bytes leave: a process that ends now must not be remembered as one that sent nothing.
        folder
            .save(request)
            .context("the request could not be stored")?;
        let (answer, pause_ms) = transmission(session, request).await;
        request.end_transmission(&answer);
        folder
            .save(request)
            .context("the request's answer could not be stored")?;
        let is_over = !request.state.is_open() || request.state == RequestState::Decided;
        // A join or an exit that was accepted is in the venue's list.
        let is_listed = request.state == RequestState::Accepted && is_of_pool(request);
        if is_over || is_listed || clock.now().0 >= wait_us {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
}

async fn transmission(session: &Session, request: &AccountRequest) -> (TransmissionAnswer, u64) {
    let sent = session.client.submit_request(
        request.kind.endpoint(),
        request.body.as_bytes(),
        request.wallet_signature.as_deref(),
    );
    let mut pause_ms = PAUSE_MS;
    let answer = match sent.await {
        Ok(answer) if answer.hash.to_string() != request.hash => TransmissionAnswer::Unknown(
            format!("the answer is about another request, {}", answer.hash),
        ),
        Ok(answer) => TransmissionAnswer::Accepted(answer.status),
        Err(CallError::Refused {
            reason,
            detail,
            retry_after_ms,
            ..
        }) => {
            pause_ms = retry_after_ms
                .unwrap_or(PAUSE_MS)
                .clamp(PAUSE_MS, PAUSE_MAX_MS);
            TransmissionAnswer::Refused(reason, detail)
        }
        Err(CallError::NotSent { detail, .. }) => TransmissionAnswer::NotSent(detail),
        Err(error @ (CallError::NoCredentials { .. } | CallError::Sign { .. })) => {
            TransmissionAnswer::NotSent(error.to_string())
        }
        Err(error @ CallError::Unknown { .. }) => TransmissionAnswer::Unknown(error.to_string()),
    };
    if matches!(&answer, TransmissionAnswer::Refused(reason, _) if is_rate_limited(*reason)) {
        pause_ms = pause_ms.max(2 * PAUSE_MS);
    }
    (answer, pause_ms)
}

/// Stores what is known of a request, and announces or withdraws its flows.
pub async fn finish(
    session: &Session,
    books: &BooksAccess,
    folder: &RequestFolder,
    request: &mut AccountRequest,
) -> anyhow::Result<()> {
    let dir = &session.daemon.store.dir;
    if is_of_pool(request) && request.state.may_flow() && request.transmissions > 0 {
        read_pool_list(session, request).await?;
    }
    folder.save(request)?;
    books.announce(dir, request)?;
    books.withdraw(dir, request)
}

fn is_of_pool(request: &AccountRequest) -> bool {
    match request.kind {
        RequestKind::Join | RequestKind::Exit => true,
        RequestKind::Transfer | RequestKind::Withdrawal | RequestKind::KeyUpdate => false,
    }
}

/// Takes state and amounts of a join or an exit from the venue's list.
async fn read_pool_list(session: &Session, request: &mut AccountRequest) -> anyhow::Result<()> {
    for _ in 0..LIST_READS {
        let listed = end_checks::moves(&session.client.clone().into()).await?;
        let found = listed
            .into_iter()
            .find(|one| one.hash.to_string() == request.hash);
        // Absence proves nothing: a copy may still be on its way.
        let Some(report) = found else { return Ok(()) };
        match report.status {
            PoolTransactionStatus::Processed => {
                request.state = RequestState::Processed;
                request.flows.clear();
                return pool_flows(session, request, &report);
            }
            PoolTransactionStatus::Cancelled => {
                request.state = RequestState::Failed;
                "the venue's list has it as cancelled".clone_into(&mut request.detail);
                return Ok(());
            }
            PoolTransactionStatus::Processing => {
                request.state = RequestState::Accepted;
                tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
            }
        }
    }
    Ok(())
}

/// Reads of the list while a join or an exit is being processed.
const LIST_READS: u32 = 20;

/// The changes of balances that a processed join or exit made.
fn pool_flows(
    session: &Session,
    request: &mut AccountRequest,
    report: &PoolTransactionReport,
) -> anyhow::Result<()> {
    let named = |pool: &&cambist_core::PoolSpec| request.pool.as_ref() == Some(&pool.name);
    let pool = session.bound.pools.iter().find(named);
    let pool = pool.context("the pool of the request is not configured any more")?;
    let amounts = &report.amounts;
    let signed = |amount: u128| i128::try_from(amount).context("an amount of the venue's list");
    let fee = signed(amounts.fee)?;
    let [first, second] = amounts.pooled;
    let (first, second, shares) = (signed(first)?, signed(second)?, signed(amounts.lp)?);
    let changes = match report.kind {
        PoolTransactionKind::Join => [-first, -second - fee, shares],
        PoolTransactionKind::Exit => [first, second - fee, -shares],
    };
    let what = request.about.clone();
    for (token, units) in [pool.pooled[0], pool.pooled[1], pool.lp.id]
        .into_iter()
        .zip(changes)
    {
        let symbol = session.token_of(token)?.symbol.clone();
        let part = format!("{symbol} of {what}");
        request.expect(token, &symbol, units, &part);
    }
    Ok(())
}
