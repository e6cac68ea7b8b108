//! What a start asks, and the dead man's switch. The engine never asks these, so that errors are typed.

use std::collections::BTreeMap;
use std::fmt;

use cambist_core::{ClientOrderId, Reason, StrategyId, VenueTime};
use cambist_kraken_venue::account::{self, PairFees, SystemStatus};
use cambist_kraken_venue::json::{DecodeError, Json};
use cambist_kraken_venue::listing::{self, Asset, Pair};
use cambist_kraken_venue::order_key::key_of;
use cambist_kraken_venue::requests::{Method, Request};
use cambist_kraken_venue::seal::{VALIDATE, read_back};

use super::{Head, KrakenClient, NoAnswer};
use crate::error::CallError;

/// Which of the two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The one that submits orders.
    Orders,
    /// The one that reads and cancels.
    Account,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Orders => "key of orders",
            Self::Account => "key of the account",
        })
    }
}

/// How often the first reading of the nonce window's proof is made before a nonce counts as too low.
const FIRST_READS: u32 = 3;

/// Refusals of a key, and what the venue may refuse before it knows what the key may do.
const BEFORE_PERMISSIONS: [Reason; 6] = [
    Reason::InvalidApiKey,
    Reason::WrongSignature,
    Reason::NoSignature,
    Reason::InvalidAccount,
    Reason::InvalidNonce,
    Reason::RateLimited,
];

/// Why a key is not proven to be safe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The venue did not answer, or refused for another reason: nothing is proven.
    #[error(transparent)]
    Call(#[from] CallError),
    /// What the venue answered.
    #[error("{key}: {problem}. {remedy}")]
    Key {
        /// The key.
        key: KeyKind,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
}

impl KrakenClient {
    /// Time: the venue's clock in whole seconds.
    pub async fn time(&self) -> Result<VenueTime, CallError> {
        self.page("time", &Request::time(), account::time).await
    }

    /// SystemStatus: what the venue accepts.
    pub async fn system_status(&self) -> Result<SystemStatus, CallError> {
        let request = Request::system_status();
        self.page("system_status", &request, account::system_status)
            .await
    }

    /// Assets: every asset.
    pub async fn assets(&self) -> Result<Vec<Asset>, CallError> {
        self.page("assets", &Request::assets([]), listing::assets)
            .await
    }

    /// AssetPairs: these pairs, by any of their names (`XBT-USD`, `XBTUSD`); every pair if there is none.
    pub async fn asset_pairs(&self, names: &[String]) -> Result<Vec<Pair>, CallError> {
        let names: Vec<_> = names.iter().map(|name| name.replace('-', "/")).collect();
        let request = Request::asset_pairs(names.iter().map(String::as_str));
        self.page("asset_pairs", &request, listing::pairs).await
    }

    /// TradeVolume: the account's fees of these pairs, by the service's name of the pair (`XXBTZUSD`).
    pub async fn fees(&self, pairs: &[String]) -> Result<BTreeMap<String, PairFees>, CallError> {
        let request = Request::fees(pairs.iter().map(String::as_str));
        self.own("fees", &request, account::fees).await
    }

    /// CancelAllOrdersAfter: the venue cancels every order of the account in so many seconds, unless it is called again
    /// before; 0 ends that.
    pub async fn cancel_all_after(&self, seconds: u32) -> Result<(), CallError> {
        let request = Request::cancel_all_after(seconds);
        self.own("cancel_all_after", &request, |result| {
            result.object().map(|_| ())
        })
        .await
    }

    /// CancelAll: cancels every order of the account, and returns how many.
    pub async fn cancel_all(&self) -> Result<u64, CallError> {
        let request = Request::cancel_all();
        self.own("cancel_all", &request, account::cancelled_count)
            .await
    }

    /// AddOrder with `validate`: whether the venue would accept this sealed order now. It uses the nonce of the bytes and
    /// creates nothing; the bytes must not be submitted.
    pub async fn validate(&self, body: &[u8]) -> Result<(), CallError> {
        let call = "validate";
        let sealed = read_back(body).map_err(|error| CallError::NotSent {
            call,
            detail: error.to_string(),
        })?;
        let checked = [body, VALIDATE].concat();
        let mut head = Head::default();
        let answer = async {
            let key = self.key(KeyKind::Orders)?;
            let _turn = self.turn(key, Method::AddOrder).await?;
            let sent = self.send(key, Method::AddOrder, sealed.nonce, checked, &mut head);
            sent.await.map(|_| ())
        };
        let answer = answer.await;
        answer.map_err(|none| call_error(call, none, head))
    }

    /// Proves that the venue takes each nonce of a key once, and none below: its nonce window is 0. With a wider one, bytes
    /// that are sent again can create a second order.
    ///
    /// Three readings of balances: one with a nonce, one with the same, one with a lower one. The last two have to be
    /// refused for their nonce.
    pub async fn prove_nonce_window(&self, which: KeyKind) -> Result<(), ProofError> {
        let call = "prove_nonce_window";
        let mut head = Head::default();
        let read = async |nonce: Option<u64>, head: &mut Head| -> Result<u64, NoAnswer> {
            let key = self.key(which)?;
            let _turn = self.turn(key, Method::Balance).await?;
            let nonce = match nonce {
                Some(nonce) => nonce,
                None => key.next_nonce().await?,
            };
            let body = Request::balance().body(nonce);
            let result = self.send(key, Method::Balance, nonce, body, head).await?;
            account::is_balance(&result)?;
            Ok(nonce)
        };
        let failed = |none, head| ProofError::from(call_error(call, none, head));
        // Never sent before the higher one, so that it is unused and lower.
        let lower = match self.key(which) {
            Ok(key) => key.next_nonce().await,
            Err(none) => Err(none),
        };
        let lower = lower.map_err(|none| failed(none, head))?;
        let mut first = read(None, &mut head).await;
        // A network may have delivered the request twice, and the answer to the second copy. One with another nonce
        // decides.
        for _ in 1..FIRST_READS {
            if !matches!(first, Err(NoAnswer::Refused(Reason::InvalidNonce, _))) {
                break;
            }
            first = read(None, &mut head).await;
        }
        let higher = match first {
            Ok(nonce) => nonce,
            Err(NoAnswer::Refused(Reason::InvalidNonce, _)) => {
                return Err(ProofError::Key {
                    key: which,
                    problem:
                        "its nonces are higher than this program's: something else uses it, or did"
                            .to_owned(),
                    remedy: "Make a new key for this program alone",
                });
            }
            Err(none) => return Err(failed(none, head)),
        };
        for (nonce, what) in [(higher, "the same nonce again"), (lower, "a lower nonce")] {
            match read(Some(nonce), &mut head).await {
                Err(NoAnswer::Refused(Reason::InvalidNonce, _)) => {}
                Ok(_) => {
                    return Err(ProofError::Key {
                        key: which,
                        problem: format!(
                            "the venue takes {what}, so that a repeated order can be executed twice"
                        ),
                        remedy: "Set its nonce window to 0 where keys are made at the venue, or make a new key with 0",
                    });
                }
                Err(none) => return Err(failed(none, head)),
            }
        }
        Ok(())
    }

    /// Proves that a key cannot withdraw: a reading that needs the permission to query funds succeeds, and
    /// `WithdrawMethods`, which needs that and the permission to withdraw, is refused for want of permission.
    pub async fn prove_no_withdrawals(&self, which: KeyKind) -> Result<(), ProofError> {
        let call = "prove_no_withdrawals";
        let mut head = Head::default();
        let failed = |none, head| ProofError::from(call_error(call, none, head));
        match self.by(which, &Request::balance(), &mut head).await {
            Ok(result) => {
                let read = account::is_balance(&result);
                read.map_err(|error| failed(error.into(), head))?;
            }
            Err(NoAnswer::Refused(Reason::NoSignature, _)) => {
                return Err(ProofError::Key {
                    key: which,
                    problem: "it may not query funds, so that it cannot be shown that it may not withdraw".to_owned(),
                    remedy: "Give it the permission to query funds, and none to withdraw",
                });
            }
            Err(none) => return Err(failed(none, head)),
        }
        self.prove_withdrawals_refused(which).await
    }

    /// As `prove_no_withdrawals`, of a key that was seen to query funds, such as by `prove_nonce_window`.
    pub async fn prove_withdrawals_refused(&self, which: KeyKind) -> Result<(), ProofError> {
        let call = "prove_no_withdrawals";
        let mut head = Head::default();
        let failed = |none, head| ProofError::from(call_error(call, none, head));
        match self
            .by(which, &Request::withdraw_methods(), &mut head)
            .await
        {
            Err(NoAnswer::Refused(Reason::NoSignature, _)) => Ok(()),
            Ok(_) => Err(ProofError::Key {
                key: which,
                problem: "it may withdraw".to_owned(),
                remedy: "Take that permission away, or make a new key without it",
            }),
            Err(none) => Err(failed(none, head)),
        }
    }

    /// Whether the key of the account may read the ledger of trades since this time, and cancel: an order is cancelled
    /// that was never made. [`newest_ids`](Self::newest_ids) shows that it may read orders.
    pub async fn ledgers_and_cancels(&self, since: VenueTime) -> Result<(), CallError> {
        let request = Request::ledgers(since, None, 0);
        let read = |result: &Json| result.object().map(|_| ());
        self.own("ledgers", &request, read).await?;
        let never_made = ClientOrderId {
            instance: 0,
            strategy: StrategyId(0),
            number: 0,
        };
        let Some(request) = key_of(never_made).and_then(Request::cancel) else {
            return Ok(());
        };
        match self.own("cancel", &request, account::cancelled).await {
            // Whatever it is refused for, such as an order that is not known, comes after the permission.
            Err(CallError::Refused { reason, .. }) if !BEFORE_PERMISSIONS.contains(&reason) => {
                Ok(())
            }
            found => found.map(|_| ()),
        }
    }

    async fn page<T>(
        &self,
        call: &'static str,
        request: &Request,
        read: impl FnOnce(&Json) -> Result<T, DecodeError>,
    ) -> Result<T, CallError> {
        let mut head = Head::default();
        let result = self.public(request, &mut head).await;
        let result = result.and_then(|result| Ok(read(&result)?));
        result.map_err(|none| call_error(call, none, head))
    }

    pub(super) async fn own<T>(
        &self,
        call: &'static str,
        request: &Request,
        read: impl FnOnce(&Json) -> Result<T, DecodeError>,
    ) -> Result<T, CallError> {
        let mut head = Head::default();
        let result = self.private(request, &mut head).await;
        let result = result.and_then(|result| Ok(read(&result)?));
        result.map_err(|none| call_error(call, none, head))
    }
}

fn call_error(call: &'static str, none: NoAnswer, head: Head) -> CallError {
    match none {
        NoAnswer::NotSent(detail) => CallError::NotSent { call, detail },
        NoAnswer::Refused(reason, detail) => CallError::Refused {
            call,
            reason,
            is_numbered: false,
            detail,
            retry_after_ms: head.retry_after_ms,
        },
        NoAnswer::Unknown(cause, detail) => CallError::Unknown {
            call,
            cause,
            detail,
        },
    }
}
