//! `cambist account requests` and `transactions`: what became of requests that moved funds of the account.

use std::collections::BTreeSet;
use std::time::Duration;

use cambist_core::pool::{PoolTransactionKind, PoolTransactionReport, PoolTransactionStatus};
use cambist_daemon::live::account_requests::{AccountRequest, RequestKind, RequestState};
use cambist_daemon::live::request_folder::{self, RequestFolder};
use cambist_host::times;
use cambist_store::StoreError;
use clap::Args;
use serde_json::{Value, json};

use super::daemon_control::Which;
use super::{columns, print_json, print_text};
use crate::account::books::BooksAccess;
use crate::account::send;
use crate::account::session::{Session, runtime, trading};
use crate::demo::end_checks;
use crate::exit::{Exit, Failure};

/// Arguments of `account requests`.
#[derive(Debug, Args)]
pub struct RequestsArgs {
    #[command(flatten)]
    which: Which,
    /// Send requests whose end is not known again, with the same bytes, and record what the venue answers
    #[arg(long)]
    settle: bool,
    /// End a request that will not take effect, by the beginning of its hash; its flows are not expected any more
    #[arg(long, value_name = "HASH", conflicts_with = "settle")]
    forget: Option<String>,
}

/// Exit 0 if it took effect, 1 if it did not or that is not known.
pub fn ended(request: &AccountRequest, json: bool) -> anyhow::Result<Exit> {
    if json {
        print_json(&shape(request, &BTreeSet::new()))?;
    } else {
        print_text(&format!(
            "{}: {}\n{}\n",
            request.about,
            meaning(request),
            request.hash
        ))?;
    }
    Ok(if request.state == RequestState::Processed {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

/// What the state means, and what to do.
fn meaning(request: &AccountRequest) -> String {
    let detail = &request.detail;
    match request.state {
        RequestState::Processed if request.kind == RequestKind::Withdrawal => {
            "processed; it leaves the balance when it arrives on layer 1".to_owned()
        }
        RequestState::Processed => "processed".to_owned(),
        RequestState::Accepted => {
            "accepted, and not decided yet: cambist account requests --settle asks again".to_owned()
        }
        RequestState::Unknown => format!(
            "UNKNOWN whether it arrived ({detail}). Do not repeat it as another request; cambist account requests --settle sends the same one again"
        ),
        RequestState::Decided => {
            "the venue has decided it and does not say how; if it took effect, the books will show and book it: cambist account requests".to_owned()
        }
        RequestState::Failed => format!("failed without an effect: {detail}"),
        RequestState::Refused => format!("refused: {detail}"),
        RequestState::NeverSent => format!("not sent: {detail}"),
    }
}

fn shape(request: &AccountRequest, booked: &BTreeSet<String>) -> Value {
    let flows = request.flows.iter().map(|flow| {
        json!({
            "token": flow.symbol,
            "units": flow.units.to_string(),
            "booked": booked.contains(&flow.reason),
        })
    });
    json!({
        "hash": request.hash,
        "kind": request.kind.name(),
        "about": request.about,
        "state": request.state.name(),
        "meaning": meaning(request),
        "detail": request.detail,
        "created": times::iso(request.created_s),
        "valid_until_s": request.valid_until_s,
        "transmissions": request.transmissions,
        "flows": flows.collect::<Vec<_>>(),
    })
}

/// Lists, settles or ends requests: exit 1 if the end of one is not known.
pub fn requests(args: &RequestsArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = trading(&args.which.config)?;
    daemon.venue.exchange("account requests")?;
    if let Some(hash) = &args.forget {
        return forget(args, hash, json);
    }
    if args.settle {
        settle(args)?;
    }
    let dir = &daemon.store.dir;
    let (requests, booked) = (request_folder::list(dir)?, request_folder::booked(dir));
    if json {
        let shapes = requests.iter().rev().map(|request| shape(request, &booked));
        print_json(&shapes.collect::<Vec<_>>())?;
    } else if requests.is_empty() {
        print_text("no requests\n")?;
    } else {
        let head = ["at", "request", "hash", "state", "booked"];
        let rows = requests.iter().rev().map(|request| {
            let flows = &request.flows;
            let done = flows.iter().filter(|flow| booked.contains(&flow.reason));
            vec![
                times::iso(request.created_s),
                request.about.clone(),
                request.hash.chars().take(12).collect(),
                request.state.name().to_owned(),
                format!("{} of {}", done.count(), flows.len()),
            ]
        });
        let rows: Vec<_> = std::iter::once(head.map(str::to_owned).to_vec())
            .chain(rows)
            .collect();
        print_text(&columns(&rows))?;
    }
    let is_booked = |request: &AccountRequest| {
        let mut flows = request.flows.iter();
        !request.flows.is_empty() && flows.all(|flow| booked.contains(&flow.reason))
    };
    let open = requests.iter().any(|r| r.state.is_open() && !is_booked(r));
    Ok(if open { Exit::CheckFailed } else { Exit::Done })
}

/// Asks the venue about every request whose end is not known.
fn settle(args: &RequestsArgs) -> anyhow::Result<()> {
    let daemon = trading(&args.which.config)?;
    runtime()?.block_on(async {
        let session = Session::open(daemon).await?;
        let folder = RequestFolder::open(&session.daemon.store.dir).map_err(StoreError::from)?;
        let books = BooksAccess::open(&session.daemon)?;
        let dir = &session.daemon.store.dir;
        let booked = request_folder::booked(dir);
        for mut request in request_folder::list(dir)? {
            let is_booked = request
                .flows
                .iter()
                .any(|flow| booked.contains(&flow.reason));
            if request.state.is_open() && is_booked {
                request.state = RequestState::Processed;
            }
            let is_ours = request.kind != RequestKind::KeyUpdate;
            if request.state.is_open() && request.transmissions == 0 {
                "the command ended before it was sent".clone_into(&mut request.detail);
                request.give_up();
            } else if request.state.is_open() && request.state != RequestState::Decided && is_ours {
                send::transmit(&session, &folder, &mut request, Duration::ZERO).await?;
            }
            send::finish(&session, &books, &folder, &mut request).await?;
        }
        Ok(())
    })
}

/// Ends a request by the operator's word.
fn forget(args: &RequestsArgs, hash: &str, json: bool) -> anyhow::Result<Exit> {
    let daemon = trading(&args.which.config)?;
    let dir = &daemon.store.dir;
    let folder = RequestFolder::open(dir).map_err(StoreError::from)?;
    let requests = request_folder::list(dir)?.into_iter();
    let mut found = requests.filter(|request| request.hash.starts_with(hash));
    let refused = |what: String| Failure::new(Exit::CheckFailed, what);
    let (Some(mut request), None) = (found.next(), found.next()) else {
        return Err(refused(format!("{hash} is not the beginning of exactly one hash")).into());
    };
    let booked = request_folder::booked(dir);
    if request
        .flows
        .iter()
        .any(|flow| booked.contains(&flow.reason))
    {
        return Err(refused("the request took effect, and its flow is booked".to_owned()).into());
    }
    request.state = RequestState::Failed;
    "ended by the operator".clone_into(&mut request.detail);
    folder.save(&request)?;
    if cambist_daemon::live::control_client::ask(
        dir,
        &cambist_daemon::live::control_requests::RequestJson::Status,
    )?
    .is_some()
    {
        BooksAccess::Running.withdraw(dir, &request)?;
    }
    if json {
        print_json(&shape(&request, &booked))?;
    } else {
        print_text(&format!("{}: {}\n", request.about, meaning(&request)))?;
    }
    Ok(Exit::Done)
}

/// Lists joins and exits of the account as the venue has them, newest first.
pub fn transactions(which: &Which, json: bool) -> anyhow::Result<Exit> {
    let daemon = trading(&which.config)?;
    runtime()?.block_on(async {
        let session = Session::open(daemon).await?;
        let mut moves = end_checks::moves(&session.client.clone().into()).await?;
        moves.sort_by_key(|one| std::cmp::Reverse(one.created));
        if json {
            print_json(&moves.iter().map(transaction).collect::<Vec<_>>())?;
        } else if moves.is_empty() {
            print_text("no joins or exits\n")?;
        } else {
            let head = [
                "created",
                "kind",
                "status",
                "amounts (base units)",
                "shares",
                "hash",
            ];
            let rows = moves.iter().map(|one| {
                let [first, second] = one.amounts.pooled;
                vec![
                    times::iso(one.created.as_s()),
                    kind_name(one).to_owned(),
                    status_name(one).to_owned(),
                    format!("{first}, {second}"),
                    one.amounts.lp.to_string(),
                    one.hash.to_string(),
                ]
            });
            let rows: Vec<_> = std::iter::once(head.map(str::to_owned).to_vec())
                .chain(rows)
                .collect();
            print_text(&columns(&rows))?;
        }
        Ok(Exit::Done)
    })
}

fn transaction(one: &PoolTransactionReport) -> Value {
    json!({
        "hash": one.hash.to_string(),
        "kind": kind_name(one),
        "status": status_name(one),
        "pooled_units": one.amounts.pooled.map(|amount| amount.to_string()),
        "shares_units": one.amounts.lp.to_string(),
        "fee_units": one.amounts.fee.to_string(),
        "created": times::iso(one.created.as_s()),
        "created_ms": one.created.0,
    })
}

const fn kind_name(one: &PoolTransactionReport) -> &'static str {
    match one.kind {
        PoolTransactionKind::Join => "join",
        PoolTransactionKind::Exit => "exit",
    }
}

const fn status_name(one: &PoolTransactionReport) -> &'static str {
    match one.status {
        PoolTransactionStatus::Processing => "processing",
        PoolTransactionStatus::Processed => "processed",
        PoolTransactionStatus::Cancelled => "cancelled",
    }
}
