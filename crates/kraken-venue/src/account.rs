//! What a start and the engine ask about the account and the service: balances, fees, cancels, status, time.

use std::collections::BTreeMap;

use cambist_core::VenueTime;
use cambist_core::order::OrderStatus;
use cambist_core::request::Balance;

use crate::amount::{amount, total};
use crate::json::{DecodeError, Json};
use crate::listing::Listing;

/// Longest word of an answer.
const WORD_BYTES_MAX: usize = 64;
/// Decimals of a fee in percent: parts per million.
const FEE_DECIMALS: u8 = 4;

/// The result of `BalanceEx`: what the account has of the listed tokens. Other assets are left out: the engine
/// accounts for what it trades.
pub fn balances(result: &Json, listing: &Listing) -> Result<Vec<Balance>, DecodeError> {
    let mut held = Vec::new();
    for (asset, balance) in result.object()?.entries() {
        let Some(token) = listing.token(asset) else {
            continue;
        };
        let read = || {
            let fields = balance.object()?;
            let units = |json| total(json, token.decimals);
            let (total, locked) = (
                fields.required("balance", units)?,
                fields.required("hold_trade", units)?,
            );
            if locked > total {
                return Err(DecodeError::new("orders hold more than there is"));
            }
            Ok(Balance {
                token: token.id,
                total,
                locked,
            })
        };
        held.push(read().map_err(|error: DecodeError| error.within(asset))?);
    }
    Ok(held)
}

/// Fees of a pair, in parts per million of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairFees {
    /// Of an order that rested.
    pub maker_ppm: u32,
    /// Of an order that took.
    pub taker_ppm: u32,
}

impl PairFees {
    /// Maker and taker fee in whole ten-thousandths, rounded up.
    pub const fn bips(&self) -> [u32; 2] {
        [self.maker_ppm.div_ceil(100), self.taker_ppm.div_ceil(100)]
    }
}

/// The result of `TradeVolume`: fees by the service's name of the pair. A pair without a maker fee of its own has one
/// fee for both.
pub fn fees(result: &Json) -> Result<BTreeMap<String, PairFees>, DecodeError> {
    let fields = result.object()?;
    let table = |table: &Json| {
        let rows = table.object()?.entries().iter().map(|(pair, row)| {
            let fee = row
                .object()
                .and_then(|row| row.required("fee", |fee| amount(fee, FEE_DECIMALS)));
            let ppm = fee.and_then(|fee| {
                let ppm = u32::try_from(fee).ok().filter(|ppm| *ppm <= 1_000_000);
                ppm.ok_or_else(|| DecodeError::new("the fee is more than everything"))
            });
            Ok((pair.clone(), ppm.map_err(|error| error.within(pair))?))
        });
        rows.collect::<Result<BTreeMap<_, _>, DecodeError>>()
    };
    let taker = fields.required("fees", table)?;
    let maker = fields.optional("fees_maker", table)?.unwrap_or_default();
    let both = taker.into_iter().map(|(pair, taker_ppm)| {
        let maker_ppm = maker.get(&pair).copied().unwrap_or(taker_ppm);
        let fees = PairFees {
            maker_ppm,
            taker_ppm,
        };
        (pair, fees)
    });
    Ok(both.collect())
}

/// The result of a cancel: how many orders ended, and the state of one of them; `None` if there was nothing to cancel.
pub fn cancelled(result: &Json) -> Result<Option<OrderStatus>, DecodeError> {
    let fields = result.object()?;
    let count: u64 = fields.required("count", Json::integer)?;
    let is_pending = fields.optional("pending", Json::boolean)?.unwrap_or(false);
    Ok(match (count, is_pending) {
        (0, _) => None,
        (_, true) => Some(OrderStatus::Cancelling),
        (_, false) => Some(OrderStatus::Cancelled),
    })
}

/// The result of `AmendOrder`: the amend's identifier at the venue.
pub fn amended(result: &Json) -> Result<String, DecodeError> {
    let fields = result.object()?;
    fields.required("amend_id", |id| Ok(id.text(WORD_BYTES_MAX)?.to_owned()))
}

/// The result of `CancelAll`: how many orders ended.
pub fn cancelled_count(result: &Json) -> Result<u64, DecodeError> {
    result.object()?.required("count", Json::integer)
}

/// The result of `AddOrder`: the order's identifier at the venue.
pub fn added(result: &Json) -> Result<String, DecodeError> {
    let fields = result.object()?;
    fields.required("txid", |ids| match ids.list()? {
        [id] => Ok(id.text(WORD_BYTES_MAX)?.to_owned()),
        other => Err(DecodeError::new(format!(
            "expected one identifier, found {}",
            other.len()
        ))),
    })
}

/// The result of `Time`.
pub fn time(result: &Json) -> Result<VenueTime, DecodeError> {
    let seconds: u32 = result.object()?.required("unixtime", Json::integer)?;
    Ok(VenueTime::from_s(seconds.into()))
}

/// What the service accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemStatus {
    /// Everything.
    Online,
    /// Nothing.
    Maintenance,
    /// Cancels.
    CancelOnly,
    /// Cancels and post-only orders.
    PostOnly,
    /// A word that this version does not know.
    Other(String),
}

impl SystemStatus {
    /// The service's word.
    pub fn name(&self) -> &str {
        match self {
            Self::Online => "online",
            Self::Maintenance => "maintenance",
            Self::CancelOnly => "cancel_only",
            Self::PostOnly => "post_only",
            Self::Other(word) => word,
        }
    }

    /// Whether orders can be submitted that only rest.
    pub const fn takes_post_only_orders(&self) -> bool {
        matches!(self, Self::Online | Self::PostOnly)
    }
}

/// The result of `SystemStatus`.
pub fn system_status(result: &Json) -> Result<SystemStatus, DecodeError> {
    let word = |json: &Json| {
        let word = json.text(WORD_BYTES_MAX)?;
        Ok(match word {
            "online" => SystemStatus::Online,
            "maintenance" => SystemStatus::Maintenance,
            "cancel_only" => SystemStatus::CancelOnly,
            "post_only" => SystemStatus::PostOnly,
            other => SystemStatus::Other(cambist_protocol::number::quoted(other, WORD_BYTES_MAX)),
        })
    };
    result.object()?.required("status", word)
}

/// The result of `Balance`, which only shows that the key may query funds.
pub fn is_balance(result: &Json) -> Result<(), DecodeError> {
    for (asset, balance) in result.object()?.entries() {
        let balance = balance.text(WORD_BYTES_MAX);
        balance.map_err(|error| error.within(asset))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::json::parse;
    use crate::listing::tests::listing;
    use cambist_core::TokenId;

    fn json(text: &str) -> Json {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn balances_of_listed_tokens_are_read_and_others_left_out() {
        let text = r#"{"ZUSD":{"balance":"25435.21","hold_trade":"8249.76","credit":"0"},
            "XXBT":{"balance":"1.2435","hold_trade":"0.8423"},"KFEE":{"balance":"-7","hold_trade":"x"},
            "XXBT.M":{"balance":"3","hold_trade":"0"}}"#;
        let held = balances(&json(text), &listing()).unwrap();
        assert_eq!(held.len(), 2);
        assert_eq!(
            (held[0].token, held[0].total, held[0].locked),
            (TokenId(2), 254_352_100, 82_497_600)
        );
        for (from, to) in [
            ("\"8249.76\"", "\"25435.22\""),
            ("\"25435.21\"", "25435.21"),
            ("\"25435.21\"", "\"-1\""),
            ("\"25435.21\"", "\"1.00001\""),
            ("\"25435.21\"", "null"),
            (",\"hold_trade\":\"8249.76\"", ""),
        ] {
            let error = balances(&json(&text.replacen(from, to, 1)), &listing()).unwrap_err();
            assert!(error.field.starts_with("ZUSD"), "{to}: {error}");
        }
        assert!(balances(&json("[]"), &listing()).is_err());
    }

    #[test]
    fn fees_are_parts_per_million_and_bips_are_rounded_up() {
        let text = r#"{"currency":"ZUSD","volume":"200709587.4223",
            "fees":{"XXBTZUSD":{"fee":"0.1000","minfee":"0.1000"},"USDTZUSD":{"fee":"0.2001"}},
            "fees_maker":{"XXBTZUSD":{"fee":"0.0000"}}}"#;
        let read = fees(&json(text)).unwrap();
        let of = |pair: &str| {
            (
                read[pair].maker_ppm,
                read[pair].taker_ppm,
                read[pair].bips(),
            )
        };
        assert_eq!(of("XXBTZUSD"), (0, 1_000, [0, 10]));
        assert_eq!(of("USDTZUSD"), (2_001, 2_001, [21, 21]), "one fee for both");
        let all = fees(&json(&text.replacen("0.1000", "100.0000", 1))).unwrap();
        assert_eq!(all["XXBTZUSD"].taker_ppm, 1_000_000);
        for (from, to) in [
            ("\"0.1000\"", "\"-0.1\""),
            ("\"0.1000\"", "0.1"),
            ("\"0.1000\"", "\"100.0001\""),
            ("\"fees\"", "\"fee\""),
        ] {
            assert!(fees(&json(&text.replacen(from, to, 1))).is_err(), "{to}");
        }
    }

    #[test]
    fn answers_about_orders_and_the_service_are_read() {
        let cancel = |text| cancelled(&json(text));
        assert_eq!(cancel(r#"{"count":1}"#), Ok(Some(OrderStatus::Cancelled)));
        assert_eq!(
            cancel(r#"{"count":1,"pending":true}"#),
            Ok(Some(OrderStatus::Cancelling))
        );
        assert_eq!(cancel(r#"{"count":0}"#), Ok(None));
        assert!(
            cancel(r#"{"count":-1}"#).is_err() && cancel(r#"{"count":1,"pending":"x"}"#).is_err()
        );
        assert!(cancel("{}").is_err());
        let order = |text| added(&json(text));
        assert_eq!(
            order(r#"{"descr":{"order":"x"},"txid":["OU22CG-KLAF2-FWUDD7"]}"#).as_deref(),
            Ok("OU22CG-KLAF2-FWUDD7")
        );
        for text in [
            r#"{"descr":{}}"#,
            r#"{"txid":[]}"#,
            r#"{"txid":["A","B"]}"#,
            r#"{"txid":"A"}"#,
        ] {
            assert!(order(text).is_err(), "{text}");
        }
        let amend = |text| amended(&json(text));
        let id = r#"{"amend_id":"TTW6PD-RC36L-ZZSWNU"}"#;
        assert_eq!(amend(id).as_deref(), Ok("TTW6PD-RC36L-ZZSWNU"));
        assert!(amend("{}").is_err() && amend(r#"{"amend_id":7}"#).is_err());
        assert_eq!(
            time(&json(r#"{"unixtime":1688669448}"#)),
            Ok(VenueTime::from_s(1_688_669_448))
        );
        assert!(time(&json(r#"{"unixtime":"1688669448"}"#)).is_err());
        let status =
            |word: &str| system_status(&json(&format!(r#"{{"status":"{word}"}}"#))).unwrap();
        assert!(
            status("online").takes_post_only_orders()
                && status("post_only").takes_post_only_orders()
        );
        for word in ["maintenance", "cancel_only", "limit_only", ""] {
            assert!(!status(word).takes_post_only_orders(), "{word}");
        }
        assert!(is_balance(&json(r#"{"ZUSD":"1.5","X":"-2"}"#)).is_ok());
        assert!(is_balance(&json(r#"{"ZUSD":1.5}"#)).is_err() && is_balance(&json("[]")).is_err());
    }
}
