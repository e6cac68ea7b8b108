//! Parses control requests: names of markets, strategies and tokens become the engine's ids.

use std::path::PathBuf;

use cambist_core::books::Difference;
use cambist_core::event::{Command, Filter, TradingState};
use cambist_core::{MarketId, MarketSpec, PoolSpec, Side, StrategyId, TokenId, TokenSpec};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::config::parameters::Assignment;
use crate::config::{Bound, money};
use crate::live::operator_commands::ControlRequest;
use cambist_store::Listing;

/// A request in its JSON form: `{"wish": "pause", "market": "ETH-USDC", "reason": "..."}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case", deny_unknown_fields)]
pub enum RequestJson {
    /// Show the status.
    Status,
    /// Pause a part.
    Pause {
        /// Which.
        #[serde(default)]
        part: ScopeJson,
        /// The reason.
        reason: String,
    },
    /// Lift pauses of a part.
    Unpause {
        /// The scope; all pauses if it is empty.
        #[serde(default)]
        part: ScopeJson,
        /// The reason.
        reason: String,
    },
    /// Reset the trading state to active, and adopt the venue's balances if they differ.
    Lower {
        /// The reason.
        reason: String,
        /// Reset the losses.
        #[serde(default)]
        forget_losses: bool,
    },
    /// Stop: cancel everything and, unless it is cancel-only, end with the latch set.
    Kill {
        /// Keep running, and keep cancelling.
        #[serde(default)]
        cancel_only: bool,
        /// The reason.
        reason: String,
    },
    /// Cancel everything, prove it, end.
    Drain {
        /// Answer at the end of the run, with its result.
        #[serde(default)]
        wait: bool,
    },
    /// End without cancelling.
    Leave {
        /// Answer at the end of the run, with its result.
        #[serde(default)]
        wait: bool,
    },
    /// Reload the configuration.
    Reload {
        /// The file, absolute and without symbolic links: it must be the daemon's own.
        file: PathBuf,
        /// Allow looser limits.
        #[serde(default)]
        allow_loosening: bool,
    },
    /// Set parameters of strategies, or restore those of the file: all of them or none.
    Set {
        /// Which.
        values: Vec<ValueJson>,
        /// The reason.
        reason: String,
        /// Allow values that bear more risk.
        #[serde(default)]
        allow_loosening: bool,
    },
    /// Treat orders of another instance as own orders: it is gone and left them.
    AdoptOrders {
        /// Instance number, as in its order ids.
        instance: String,
        /// The reason.
        reason: String,
    },
    /// Take a slot number of a token for a request beside the engine; the answer's detail is the number.
    TakeSlot {
        /// Symbol or number of the token.
        token: String,
    },
    /// Announce a flow of such a request.
    Expect {
        /// Symbol or number of the token.
        token: String,
        /// Base units, negative for an outflow; a string, because it may exceed 64 bits.
        units: String,
        /// The reason; identifies the flow.
        reason: String,
    },
    /// The announced flow will not happen.
    ExpectNoMore {
        /// Its reason.
        reason: String,
    },
    /// Book a flow that is not from own orders.
    Adopt {
        /// Symbol.
        token: String,
        /// Whole tokens, signed.
        amount: String,
        /// The reason.
        reason: String,
        /// Book it even if it explains no difference.
        #[serde(default)]
        force: bool,
    },
}

impl RequestJson {
    /// Whether the answer comes at the end of the run.
    pub const fn waits_for_the_end(&self) -> bool {
        matches!(
            self,
            Self::Drain { wait: true } | Self::Leave { wait: true }
        )
    }
}

/// A parameter of a strategy and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueJson {
    /// Market name; needed if several markets have the strategy.
    #[serde(default)]
    pub market: Option<String>,
    /// Strategy name.
    pub strategy: String,
    /// Path inside its parameters.
    pub path: String,
    /// The value in TOML spelling; null restores the file's.
    pub value: Option<String>,
}

/// A part of the quoting, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeJson {
    /// Market name.
    #[serde(default)]
    pub market: Option<String>,
    /// `buy` or `sell`.
    #[serde(default)]
    pub side: Option<String>,
    /// Strategy name.
    #[serde(default)]
    pub strategy: Option<String>,
}

impl ScopeJson {
    /// Whether no part is named.
    pub const fn is_everything(&self) -> bool {
        self.market.is_none() && self.side.is_none() && self.strategy.is_none()
    }
}

/// Translation of names to ids.
pub struct Names {
    markets: Vec<MarketSpec>,
    pools: Vec<PoolSpec>,
    tokens: Vec<TokenSpec>,
    strategies: Vec<(StrategyId, MarketId, String)>,
}

impl Names {
    /// Names of a bound configuration.
    pub fn of(bound: &Bound) -> Self {
        let strategies = bound.strategies.iter();
        Self {
            markets: bound.markets.clone(),
            pools: bound.pools.clone(),
            tokens: bound.tokens.clone(),
            strategies: strategies
                .map(|(id, market, choice)| (*id, *market, choice.name.value.clone()))
                .collect(),
        }
    }

    /// Names of a stored listing, which has no strategies.
    pub fn listed(listing: &Listing) -> Self {
        Self {
            markets: listing.markets.clone(),
            pools: listing.pools.clone(),
            tokens: listing.tokens.clone(),
            strategies: Vec::new(),
        }
    }

    /// Translates a request; an error names what is unknown.
    pub fn resolve(&self, json: RequestJson) -> Result<ControlRequest, String> {
        Ok(ControlRequest::Command(match json {
            RequestJson::Status => return Ok(ControlRequest::Status),
            RequestJson::Reload {
                file,
                allow_loosening,
            } => {
                return Ok(ControlRequest::Reload {
                    named: Some(file),
                    allow_loosening,
                });
            }
            RequestJson::Set {
                values,
                reason,
                allow_loosening,
            } => {
                let values = values.into_iter().map(|value| self.assignment(value));
                return Ok(ControlRequest::Set {
                    assignments: values.collect::<Result<_, _>>()?,
                    reason: required(&reason)?,
                    allow_loosening,
                });
            }
            RequestJson::Pause { part, reason } => Command::Pause {
                filter: self.filter(&part)?,
                reason: short(&reason),
            },
            RequestJson::Lower {
                reason,
                forget_losses,
            } => Command::Lower {
                level: TradingState::Active,
                reason: short(&reason),
                forget_losses,
            },
            RequestJson::Unpause { part, reason } => Command::Unpause {
                filter: self.filter(&part)?,
                reason: short(&reason),
            },
            RequestJson::Kill {
                cancel_only,
                reason,
            } => Command::Raise {
                level: if cancel_only {
                    TradingState::CancelOnly
                } else {
                    TradingState::Halted
                },
                reason: short(&reason),
            },
            RequestJson::Drain { .. } => Command::Drain,
            RequestJson::Leave { .. } => Command::Leave,
            RequestJson::AdoptOrders { instance, reason } => Command::AdoptInstance {
                instance: instance_number(&instance)?,
                reason: short(&reason),
            },
            RequestJson::TakeSlot { token } => Command::TakeSlot {
                token: self.token(&token)?.id,
            },
            RequestJson::Expect {
                token,
                units,
                reason,
            } => Command::Expect {
                token: self.token(&token)?.id,
                amount: units
                    .parse()
                    .map_err(|_| format!("{units:?} is not a number of base units"))?,
                reason: short(&reason),
            },
            RequestJson::ExpectNoMore { reason } => Command::ExpectNoMore {
                reason: short(&reason),
            },
            RequestJson::Adopt {
                token,
                amount,
                reason,
                force,
            } => {
                let spec = self.token(&token)?;
                return Ok(ControlRequest::Adopt {
                    token: spec.id,
                    amount: units(&amount, spec)?,
                    reason: short(&reason),
                    force,
                });
            }
        }))
    }

    fn assignment(&self, value: ValueJson) -> Result<Assignment, String> {
        let part = ScopeJson {
            market: value.market,
            side: None,
            strategy: Some(value.strategy.clone()),
        };
        let filter = self.filter(&part)?;
        let id = filter.strategy;
        let mut known = self.strategies.iter();
        let market = known.find(|(known, ..)| Some(*known) == id);
        let market = market.and_then(|(_, market, _)| self.markets.get(usize::from(market.0)));
        Ok(Assignment {
            market: market.map(|spec| spec.name.clone()).unwrap_or_default(),
            strategy: value.strategy,
            path: value.path,
            value: value.value,
        })
    }

    /// Formats a signed amount of a token: `+1.5 ETH`.
    pub fn flow_text(&self, token: TokenId, amount: i128) -> String {
        let sign = if amount < 0 { '-' } else { '+' };
        let units = amount.unsigned_abs();
        let known = self.tokens.iter().find(|spec| spec.id == token);
        known.map_or_else(
            || format!("{sign}{units} base units of token {}", token.0),
            |spec| format!("{sign}{}", spec.text(units)),
        )
    }

    /// Checks that a flow reduces the difference of a token; an error describes the difference.
    pub fn explains(
        &self,
        token: TokenId,
        amount: i128,
        difference: Option<Difference>,
    ) -> Result<(), String> {
        let flow = self.flow_text(token, amount);
        match difference {
            Some(difference) if difference.is_reduced_by(amount) => Ok(()),
            Some(difference) => Err(format!(
                "{flow} does not explain the difference, which is {}: the difference would not become smaller",
                self.flow_text(token, difference.unexplained())
            )),
            None => Err(format!(
                "{flow} explains nothing: ledger and venue agree on that token, and would differ by it"
            )),
        }
    }

    fn filter(&self, part: &ScopeJson) -> Result<Filter, String> {
        let market = part.market.as_ref().map(|name| {
            let found = self.markets.iter().find(|spec| spec.name == *name);
            found.map(|spec| spec.id).ok_or_else(|| {
                let known: Vec<_> = self.markets.iter().map(|spec| spec.name.as_str()).collect();
                format!(
                    "no market {name:?}; configured markets are {}",
                    known.join(", ")
                )
            })
        });
        let market = market.transpose()?;
        let side = part.side.as_ref().map(|name| {
            let found = Side::BOTH.into_iter().find(|side| side.name() == name);
            found.ok_or_else(|| format!("unknown side {name:?}; use buy or sell"))
        });
        let strategy = part
            .strategy
            .as_ref()
            .map(|name| self.strategy(name, market));
        Ok(Filter {
            market,
            side: side.transpose()?,
            strategy: strategy.transpose()?,
        })
    }

    fn strategy(&self, name: &str, market: Option<MarketId>) -> Result<StrategyId, String> {
        let mut found = self
            .strategies
            .iter()
            .filter(|(_, at, known)| known == name && market.is_none_or(|market| market == *at));
        match (found.next(), found.next()) {
            (Some((id, ..)), None) => Ok(*id),
            (Some(_), Some(_)) if market.is_none() => Err(format!(
                "there are several strategies {name:?}; add --market"
            )),
            (Some(_), Some(_)) => Err(format!(
                "the market has several strategies {name:?}, and a command cannot name one of them; change the file and reload"
            )),
            (None, _) => {
                let known: Vec<_> = self.strategies.iter().map(|(.., n)| n.as_str()).collect();
                Err(format!(
                    "no strategy {name:?}; configured strategies are {}",
                    known.join(", ")
                ))
            }
        }
    }

    /// A token by symbol or number: a token of a configured market or pool, or any other of the venue's if its symbol
    /// is unique.
    fn token(&self, name: &str) -> Result<&TokenSpec, String> {
        let of_markets = self.markets.iter().flat_map(|m| [&m.base, &m.quote]);
        let mut traded = of_markets.chain(self.pools.iter().map(|pool| &pool.lp));
        if let Some(token) = traded.find(|token| token.symbol == name) {
            return Ok(token);
        }
        let mut called = self.tokens.iter().filter(|token| token.symbol == name);
        let numbered = |token: &&TokenSpec| token.id.0.to_string() == name;
        match (called.next(), called.next()) {
            (Some(token), None) => Ok(token),
            (Some(_), Some(_)) => Err(format!(
                "the venue lists several tokens with the symbol {name:?}; use the token's number"
            )),
            (None, _) => self
                .tokens
                .iter()
                .find(numbered)
                .ok_or_else(|| format!("the venue does not list a token {name:?}")),
        }
    }
}

/// Parses an instance number: eight hexadecimal digits, or the id of one of its orders.
fn instance_number(text: &str) -> Result<u32, String> {
    let first = text.split('-').next().unwrap_or(text);
    // The digits may begin with a c.
    let digits = match first.len() {
        9 => first.strip_prefix('c').unwrap_or(first),
        _ => first,
    };
    let are_digits = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok();
    number.filter(|_| are_digits).ok_or_else(|| {
        format!(
            "{text:?} is not an instance; use the eight digits after the c in its client order ids"
        )
    })
}

/// Most characters of a stored reason.
const REASON_MAX: usize = 500;

fn required(reason: &str) -> Result<String, String> {
    let reason = short(reason);
    if reason.is_empty() {
        return Err("a reason is required; it is recorded".to_owned());
    }
    Ok(reason)
}

fn short(reason: &str) -> String {
    reason.trim().chars().take(REASON_MAX).collect()
}

/// Parses a signed amount of whole tokens into base units, exactly.
fn units(text: &str, token: &TokenSpec) -> Result<i128, String> {
    let symbol = &token.symbol;
    let (negative, plain) = match text.strip_prefix('-') {
        Some(plain) => (true, plain),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let wrong =
        || format!("{text:?} is not an amount of {symbol}; write for example +1.5 or -0.25");
    let mut amount: Decimal = money::decimal(plain)
        .filter(|amount| !amount.is_sign_negative() && !amount.is_zero())
        .ok_or_else(wrong)?
        .normalize();
    let scale = amount.scale();
    let decimals = u32::from(token.decimals);
    if scale > decimals {
        return Err(format!(
            "{text} has more decimals than {symbol}, which has {decimals}"
        ));
    }
    amount.set_scale(0).map_err(|_| wrong())?;
    let units = 10_i128
        .checked_pow(decimals - scale)
        .and_then(|factor| amount.mantissa().checked_mul(factor))
        .ok_or_else(wrong)?;
    Ok(if negative { -units } else { units })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use cambist_core::TokenId;

    use super::*;
    use crate::config::Daemon;

    fn resolve(text: &str) -> Result<ControlRequest, String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        let bound = Daemon::load(Path::new(path)).unwrap().bind_expected();
        let mut bound = bound.unwrap().unwrap();
        let other = |id, symbol: &str| TokenSpec {
            id: TokenId(id),
            symbol: symbol.to_owned(),
            decimals: 3,
            ..bound.markets[0].base.clone()
        };
        let others = [
            other(20, "LRC"),
            other(21, "FAKE"),
            other(22, "FAKE"),
            other(23, "ETH"),
        ];
        bound.tokens.extend(others);
        let names = Names::of(&bound);
        let json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        names.resolve(json)
    }

    #[test]
    fn a_part_is_everything_if_it_names_nothing() {
        let text = || Some("x".to_owned());
        let part = |market, side, strategy| ScopeJson {
            market,
            side,
            strategy,
        };
        assert!(part(None, None, None).is_everything());
        for one in [
            part(text(), None, None),
            part(None, text(), None),
            part(None, None, text()),
        ] {
            assert!(!one.is_everything(), "{one:?}");
        }
    }

    #[test]
    fn the_end_is_waited_for_where_it_is_asked() {
        for (json, waits) in [
            (RequestJson::Status, false),
            (RequestJson::Drain { wait: true }, true),
            (RequestJson::Drain { wait: false }, false),
            (RequestJson::Leave { wait: true }, true),
            (RequestJson::Leave { wait: false }, false),
        ] {
            assert_eq!(json.waits_for_the_end(), waits, "{json:?}");
        }
    }

    #[test]
    fn long_reasons_are_cut() {
        assert_eq!(short(&format!(" {} ", "x".repeat(501))).len(), 500);
        assert!(required("  ").is_err());
        assert_eq!(required(" x ").unwrap(), "x");
    }

    #[test]
    fn names_become_what_the_engine_knows() {
        let Ok(ControlRequest::Command(Command::Pause { filter, reason })) = resolve(
            r#"{"wish":"pause","part":{"market":"ETH-USDC","side":"sell","strategy":"bands"},"reason":" lunch "}"#,
        ) else {
            panic!()
        };
        assert_eq!(filter.market, Some(MarketId(0)));
        assert_eq!(filter.side, Some(Side::Sell));
        assert_eq!(filter.strategy, Some(StrategyId(0)));
        assert_eq!(reason, "lunch");
        for (wrong, word) in [
            (
                r#"{"wish":"pause","part":{"market":"BTC-USDC"},"reason":"x"}"#,
                "ETH-USDC",
            ),
            (
                r#"{"wish":"pause","part":{"side":"both"},"reason":"x"}"#,
                "use buy or sell",
            ),
            (
                r#"{"wish":"unpause","part":{"strategy":"b"},"reason":"x"}"#,
                "bands",
            ),
            (r#"{"wish":"pause"}"#, "reason"),
            (r#"{"wish":"explode"}"#, "explode"),
            (
                r#"{"wish":"adopt","token":"DAI","amount":"1","reason":"x"}"#,
                "DAI",
            ),
        ] {
            let why = resolve(wrong).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn an_instance_is_its_eight_digits_or_an_id_of_its_orders() {
        let adopted = |instance: &str| {
            let text =
                format!(r#"{{"wish":"adopt_orders","instance":"{instance}","reason":"lost"}}"#);
            match resolve(&text) {
                Ok(ControlRequest::Command(Command::AdoptInstance { instance, .. })) => {
                    Some(instance)
                }
                _ => None,
            }
        };
        for right in ["c8292274", "cc8292274", "cc8292274-0-17", "C8292274"] {
            assert_eq!(adopted(right), Some(0xc829_2274), "{right}");
        }
        assert_eq!(adopted("0000002a"), Some(42));
        for wrong in ["", "c", "829227", "+8292274", "d82922741", "x8292274"] {
            assert_eq!(adopted(wrong), None, "{wrong}");
        }
    }

    fn adopt(token: &str, amount: &str) -> Result<(TokenId, i128), String> {
        let text =
            format!(r#"{{"wish":"adopt","token":"{token}","amount":"{amount}","reason":"x"}}"#);
        match resolve(&text)? {
            ControlRequest::Adopt { token, amount, .. } => Ok((token, amount)),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_flow_explains_what_it_makes_smaller() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        let bound = Daemon::load(Path::new(path)).unwrap().bind_expected();
        let names = Names::of(&bound.unwrap().unwrap());
        let two = 2_000_000_000_000_000_000;
        let came = Difference {
            ledger: 0,
            venue: two,
        };
        let explains = |units: i128| names.explains(TokenId(0), units, Some(came));
        let units = i128::try_from(two).unwrap();
        for part in [1, units / 2, units, units * 2 - 1] {
            assert_eq!(explains(part), Ok(()), "{part}");
        }
        for none in [-1, units * 2, i128::MAX] {
            let why = explains(none).unwrap_err();
            assert!(why.contains("+2 ETH"), "{why}");
        }
        let why = names.explains(TokenId(0), units, None).unwrap_err();
        assert!(why.contains("+2 ETH explains nothing"), "{why}");
    }

    #[test]
    fn every_token_that_can_differ_can_be_adopted() {
        let shares = adopt("LP-ETH-USDC", "-1.5");
        assert_eq!(
            shares,
            Ok((TokenId(u16::MAX), -150_000_000)),
            "shares of the pool"
        );
        assert_eq!(
            adopt("LRC", "2"),
            Ok((TokenId(20), 2_000)),
            "traded nowhere here"
        );
        assert_eq!(adopt("22", "2"), Ok((TokenId(22), 2_000)), "by its number");
        assert_eq!(
            adopt("ETH", "1").map(|(token, _)| token),
            Ok(TokenId(0)),
            "the one that is traded"
        );
        let why = adopt("FAKE", "1").unwrap_err();
        assert!(why.contains("several"), "{why}");
    }

    #[test]
    fn adopted_amounts_are_exact_and_signed() {
        let adopted = |amount: &str| adopt("ETH", amount);
        assert_eq!(adopted("+1.5"), Ok((TokenId(0), 1_500_000_000_000_000_000)));
        assert_eq!(adopted("-0.000000000000000001"), Ok((TokenId(0), -1)));
        assert_eq!(adopted("20"), Ok((TokenId(0), 20_000_000_000_000_000_000)));
        for wrong in ["", "0", "--1", "1e3", "0.0000000000000000001", "x"] {
            assert!(adopted(wrong).is_err(), "{wrong}");
        }
    }
}
