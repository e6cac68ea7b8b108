//! Authorisation, execution and answer of one operator request. The venue defines what a request does.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use cambist_core::{Hash, Reason, VenueTime};
use cambist_listener::Peer;
use cambist_protocol::encode::to_bytes;
use cambist_protocol::json::{self, Json};
use cambist_protocol::query::Parameters;
use cambist_venue::agents::redeem;
use cambist_venue::{Caller, Operator, Request as Asked, Response as Answered};

use crate::admin::PREFIX;
use crate::admin::metrics;
use crate::admin::request_fields;
use crate::admin::request_fields::Fields;
use crate::admin::table;
use crate::admin::table::OperatorRequest;
use crate::admin::{log_view, responses, withdrawals};
use crate::config::ConnectionLimits;
use crate::dispatch::Dispatch;
use crate::error_response::ErrorResponse;
use crate::router::read_body;

/// Default number of log entries.
const LOG_ENTRIES: u64 = 50;

/// State of the handlers.
pub(super) struct AdminApi {
    shell: Arc<Dispatch>,
    /// Accepted `Host` headers. A web page whose host name was pointed at this address sends another one.
    hosts: [String; 2],
    token: String,
}

impl AdminApi {
    pub fn new(shell: Arc<Dispatch>, address: SocketAddr, token: &str) -> Self {
        Self {
            shell,
            hosts: [address.to_string(), format!("localhost:{}", address.port())],
            token: token.to_owned(),
        }
    }

    fn admit(&self, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        if !self.hosts.iter().any(|known| known == host) {
            return Err(ErrorResponse::transport(
                421,
                "the header Host does not name this listener's address",
            ));
        }
        let given = text(header::AUTHORIZATION)
            .and_then(|value| value.strip_prefix("Bearer "))
            .unwrap_or_default();
        if !is_same(given.as_bytes(), self.token.as_bytes()) {
            return Err(ErrorResponse {
                status: 401,
                ..ErrorResponse::new(
                    Reason::InvalidApiKey,
                    "send the operator's token as 'Authorization: Bearer TOKEN'",
                )
            });
        }
        Ok(())
    }

    fn answer(
        &self,
        requested: &'static OperatorRequest,
        body: &Json,
    ) -> Result<Vec<u8>, ErrorResponse> {
        if requested.name == table::EXIT_POOL {
            return self.exit_pool(requested, body);
        }
        if requested.name == table::SETTLE_ALL {
            return self.settle_withdrawals(requested, body);
        }
        let asked = self.shell.machine.read(|venue| {
            let fields = Fields::new(requested, body, venue)?;
            let Some(operator) = request_fields::operator(requested, &fields)? else {
                return Ok(None);
            };
            let executed = responses::Executed {
                done: true,
                account_id: None,
                amount: request_fields::amount_text(&operator, venue),
                set: log_view::set_by(&operator, venue),
            };
            Ok::<_, ErrorResponse>(Some((operator, executed)))
        })??;
        match asked {
            Some((operator, executed)) => self.operate(requested, operator, executed),
            None => self.look(requested, body),
        }
    }

    fn operate(
        &self,
        requested: &OperatorRequest,
        operator: Operator,
        executed: responses::Executed,
    ) -> Result<Vec<u8>, ErrorResponse> {
        match self.ask(&Asked::Operator(operator))? {
            Answered::Done(account) => {
                let account_id = account.map(|account| account.0);
                tracing::info!(
                    request = requested.name,
                    account_id,
                    "operator request executed"
                );
                Ok(to_bytes(&responses::Executed {
                    account_id,
                    ..executed
                }))
            }
            _ => Err(ErrorResponse::internal()),
        }
    }

    /// Sends the exit of a pool's founder, which has no key.
    fn exit_pool(
        &self,
        requested: &'static OperatorRequest,
        body: &Json,
    ) -> Result<Vec<u8>, ErrorResponse> {
        let machine = &self.shell.machine;
        let hash = synthetic_hash()?;
        let now = machine.now();
        let (founder, exit) = machine.read(|venue| -> Result<_, ErrorResponse> {
            let fields = Fields::new(requested, body, venue)?;
            let founder = fields.account()?;
            let pool = fields.address("pool")?;
            let percent = fields.number_or("percent", 0)?;
            if !(1..=100).contains(&percent) {
                return Err(ErrorResponse::new(
                    Reason::InvalidArgument,
                    "percent is not within 1 to 100",
                ));
            }
            let exit = redeem(venue, now, (founder, &pool), percent, hash);
            Ok((founder, exit))
        })??;
        let (caller, exit) = exit.ok_or_else(|| {
            ErrorResponse::new(
                Reason::InvalidArgument,
                "the account did not found this pool, or has no shares of it",
            )
        })?;
        self.shell.ask(&caller, &exit)?;
        tracing::info!(
            request = requested.name,
            account_id = founder.0,
            "operator request executed"
        );
        Ok(to_bytes(&responses::Executed {
            done: true,
            account_id: Some(founder.0),
            amount: None,
            set: None,
        }))
    }

    /// Settles each pending withdrawal with a request of its own, so that the log names all of them, and none that
    /// came later.
    fn settle_withdrawals(
        &self,
        requested: &'static OperatorRequest,
        body: &Json,
    ) -> Result<Vec<u8>, ErrorResponse> {
        let pending = self
            .shell
            .machine
            .read(|venue| -> Result<_, ErrorResponse> {
                let fields = Fields::new(requested, body, venue)?;
                let until = VenueTime(fields.number_or("until_ms", u64::MAX)?);
                Ok(withdrawals::until(venue, until))
            })??;
        let mut settled = Vec::new();
        for (record, shown) in pending {
            let hash = record.hash;
            let request = Asked::Operator(Operator::SettleWithdrawal { hash });
            match self.ask(&request) {
                Ok(_) => {
                    tracing::info!(
                        request = requested.name,
                        account_id = record.account.0,
                        %hash,
                        "withdrawal settled"
                    );
                    settled.push(shown);
                }
                // It was settled or returned by another request since.
                Err(refused) if refused.reason == Reason::InvalidArgument => {}
                Err(failed) => return Err(failed),
            }
        }
        let done = true;
        Ok(to_bytes(&withdrawals::Settled { done, settled }))
    }

    fn look(&self, requested: &OperatorRequest, body: &Json) -> Result<Vec<u8>, ErrorResponse> {
        let machine = &self.shell.machine;
        let (account, hash, limit, offset) =
            machine.read(|venue| -> Result<_, ErrorResponse> {
                let fields = Fields::new(requested, body, venue)?;
                let has = |name| requested.fields.iter().any(|field| field.name == name);
                Ok((
                    has("account").then(|| fields.account()).transpose()?,
                    has("hash").then(|| fields.hash()).transpose()?,
                    fields.number_or("limit", LOG_ENTRIES)?,
                    fields.number_or("offset", 0)?,
                ))
            })??;
        match (requested.name, account, hash) {
            ("account", Some(account), _) => {
                let query = Asked::Account(cambist_venue::AccountQuery::Id(account));
                let balances = Asked::Balances {
                    account,
                    tokens: None,
                };
                match (self.ask(&query)?, self.ask(&balances)?) {
                    (Answered::Account(view), Answered::Balances(balances)) => {
                        let shown = |venue: &_| responses::Account::of(&view, &balances, venue);
                        Ok(to_bytes(&machine.read(shown)?))
                    }
                    _ => Err(ErrorResponse::internal()),
                }
            }
            ("submission", Some(account), Some(hash)) => {
                match self.ask(&Asked::Submission { account, hash })? {
                    Answered::Submission(view) => Ok(to_bytes(&crate::funds::shown(&view))),
                    _ => Err(ErrorResponse::internal()),
                }
            }
            ("withdrawals", ..) => {
                // Brings the state up to the present.
                self.ask(&Asked::ExchangeInfo)?;
                Ok(to_bytes(&machine.read(withdrawals::Pending::of)?))
            }
            ("tokens", ..) => Ok(to_bytes(&machine.read(log_view::tokens)?)),
            ("pools", ..) => match self.ask(&Asked::Pools)? {
                Answered::Pools(pools) => {
                    let shown = |venue: &_| log_view::pools(&pools, venue);
                    Ok(to_bytes(&machine.read(shown)?))
                }
                _ => Err(ErrorResponse::internal()),
            },
            ("audit", ..) => {
                machine.audit()?;
                Ok(to_bytes(&machine.read(responses::Audited::of)?))
            }
            ("log", ..) => match self.ask(&Asked::Log { limit, offset })? {
                Answered::Log(entries) => {
                    let shown = |venue: &_| log_view::log(&entries, venue);
                    Ok(to_bytes(&machine.read(shown)?))
                }
                _ => Err(ErrorResponse::internal()),
            },
            ("status", ..) => match self.ask(&Asked::ExchangeInfo)? {
                Answered::Exchange(view) => {
                    let (sizes, settings) = machine.read(|venue| {
                        let sizes = (venue.now(), venue.open_orders());
                        (sizes, log_view::Settings::of(venue))
                    })?;
                    let failures = machine.audit_failures();
                    let ahead_ms = self.shell.clock.reading().ahead_ms;
                    Ok(to_bytes(&responses::Status::of(
                        &view, sizes, ahead_ms, failures, settings,
                    )))
                }
                _ => Err(ErrorResponse::internal()),
            },
            _ => Err(ErrorResponse::internal()),
        }
    }

    fn ask(&self, request: &Asked) -> Result<Answered, ErrorResponse> {
        self.shell.ask(&Caller::Operator, request)
    }
}

/// Path of the metrics.
const METRICS: &str = "/metrics";

/// The route: all paths below the prefix, and the metrics.
pub(super) fn router(api: Arc<AdminApi>) -> Router {
    Router::new().fallback(move |request: Request<Body>| serve(Arc::clone(&api), request))
}

async fn serve(api: Arc<AdminApi>, request: Request<Body>) -> Response<Body> {
    let is_metrics = request.uri().path() == METRICS;
    let result = answered(&api, request).await;
    let mut content_type = "application/json";
    let (status, body) = match result {
        Ok(body) => {
            if is_metrics {
                content_type = metrics::CONTENT_TYPE;
            }
            (200, body)
        }
        Err(response) => {
            tracing::info!(status = response.status, detail = %response.detail, "operator request refused");
            (response.status, response.body())
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Requests are rare: connections are not kept open.
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn answered(api: &AdminApi, request: Request<Body>) -> Result<Vec<u8>, ErrorResponse> {
    let (head, body) = request.into_parts();
    api.admit(&head.headers)?;
    if let Some(peer) = head.extensions.get::<Peer>() {
        peer.mark_authenticated();
    }
    if head.uri.path() == METRICS {
        return match head.method {
            Method::GET => metrics::page(&api.shell),
            _ => Err(ErrorResponse::transport(405, "use GET")),
        };
    }
    let requested = head
        .uri
        .path()
        .strip_prefix(PREFIX)
        .and_then(table::find)
        .ok_or_else(|| {
            ErrorResponse::transport(
                404,
                "no such operator request; 'cambist venue admin --help' lists them",
            )
        })?;
    let body = match (requested.is_read, &head.method) {
        (true, &Method::GET) => query(head.uri.query().unwrap_or_default())?,
        (false, &Method::POST) => {
            let bytes = read_body(body, &ConnectionLimits::default()).await?;
            if bytes.is_empty() {
                Json::Object(std::collections::BTreeMap::new())
            } else {
                json::parse(&bytes)?
            }
        }
        _ => {
            return Err(ErrorResponse::transport(
                405,
                "use GET for requests that read and POST for requests that change something",
            ));
        }
    };
    let result =
        catch_unwind(AssertUnwindSafe(|| api.answer(requested, &body))).unwrap_or_else(|_| {
            tracing::error!(
                request = requested.name,
                "an operator request panicked; the exchange stops"
            );
            api.shell.machine.report_if_broken();
            Err(ErrorResponse::internal())
        });
    // Refusals depend on the state too.
    api.shell.machine.settled().await?;
    result
}

/// Converts query parameters to a JSON body of strings.
fn query(text: &str) -> Result<Json, ErrorResponse> {
    let parameters = Parameters::parse(text)?;
    let fields = parameters.received().iter();
    Ok(Json::Object(
        fields
            .map(|(name, value)| (name.clone(), Json::Text(value.clone())))
            .collect(),
    ))
}

/// A hash that no signed request can have, because its first byte is too large for a field element.
fn synthetic_hash() -> Result<Hash, ErrorResponse> {
    let mut hash = [0; 32];
    getrandom::fill(&mut hash).map_err(|_| ErrorResponse::internal())?;
    hash[..4].fill(0xfd);
    Ok(Hash(hash))
}

/// Compares two secrets in a time that depends only on the length of the given one.
fn is_same(given: &[u8], known: &[u8]) -> bool {
    let mut difference = u8::from(given.len() != known.len());
    for (at, byte) in given.iter().enumerate() {
        // The index wraps around: every given byte costs the same.
        difference |= std::hint::black_box(byte ^ known[at % known.len()]);
    }
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn only_the_exact_token_is_accepted() {
        assert!(is_same(b"abc", b"abc"));
        for other in [&b""[..], b"a", b"abd", b"abcabc", b"bbc", b"abc\0"] {
            assert!(!is_same(other, b"abc"), "{other:?}");
        }
    }
}
