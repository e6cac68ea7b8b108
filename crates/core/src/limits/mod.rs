//! The table of limits: every number of the engine's configuration, declared once, with its key in the file,
//! unit, default, range, and the direction in which it becomes looser.
//!
//! The rows stand at the fields of [`config`](crate::config). The parser reads by them, a reload compares by
//! them ([`reload`](crate::reload)), and `docs/limits.md` is generated from them. The control that compares a
//! limit names its key in [`control`](crate::control).
//!
//! To add a limit: a row in `config` (and a new version of the stored types), a line and a function of the control
//! that compares it, a test of both sides. Everything else follows from the row, or fails a test until it is added there:
//! `docs/limits.md`, the example configuration, the tight limits of the simulated world.

use std::ops::RangeInclusive;

use crate::config::{
    BudgetConfig, EngineConfig, LossConfig, MarketConfig, PollConfig, PoolConfig, RampConfig,
    RiskConfig,
};
use crate::control::Control;
use crate::event::Amounts;
use crate::market::{MarketSpec, Price, Qty};
use crate::token::Amount;

pub(crate) mod declare;

/// What a limit is stated in, in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Ten-thousandths.
    Bps,
    /// Milliseconds.
    Ms,
    /// Seconds; the engine has milliseconds.
    Seconds,
    /// A number of things.
    Count,
    /// Whether.
    Flag,
    /// A price in quote tokens; the engine has ticks.
    Price,
    /// Base tokens; the engine has lots.
    Lots,
    /// Base tokens; the engine has base units.
    Base,
    /// Quote tokens; the engine has base units.
    Quote,
    /// One of a few words.
    Word,
}

impl Unit {
    /// Whether the file has an amount or a price of tokens, which becomes exact with the market's decimals.
    pub const fn is_amount(self) -> bool {
        matches!(self, Self::Price | Self::Lots | Self::Base | Self::Quote)
    }

    /// What 1 in the file is for the engine, of a unit that is no amount.
    pub const fn scale(self) -> u64 {
        match self {
            Self::Seconds => 1_000,
            _ => 1,
        }
    }

    /// As documentation names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bps => "1/10000",
            Self::Ms => "ms",
            Self::Seconds => "s",
            Self::Count => "number",
            Self::Flag => "true, false",
            Self::Price => "quote per base",
            Self::Lots | Self::Base => "base tokens",
            Self::Quote => "quote tokens",
            Self::Word => "word",
        }
    }

    /// A value of the engine as the file has it.
    pub fn text(self, value: u128, market: Option<&MarketSpec>) -> String {
        let whole = u64::try_from(value).unwrap_or(u64::MAX);
        match (self, market) {
            (Self::Seconds, _) => crate::math::decimal(value, 3),
            (Self::Flag, _) => (value != 0).to_string(),
            (Self::Price, Some(spec)) => spec.price_text(Price(whole)),
            (Self::Lots, Some(spec)) => spec.qty_text(Qty(whole)),
            (Self::Base, Some(spec)) => spec.base.text(value),
            (Self::Quote, Some(spec)) => spec.quote.text(value),
            _ => value.to_string(),
        }
    }
}

/// In which direction a limit becomes looser. A reload that loosens one needs an explicit permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looser {
    /// A higher value permits more.
    Higher,
    /// A lower value permits more.
    Lower,
    /// A higher value permits more, and 0 everything.
    HigherOrZero,
    /// Of words and whole rules: what is looser, in a sentence. [`reload`](crate::reload) has the comparison.
    Stated(&'static str),
    /// No value permits more than another: a setting, not a limit.
    Never,
}

impl Looser {
    /// Whether the new value permits more than the old one.
    pub fn loosens(self, old: u128, new: u128) -> bool {
        let or_all = |value| if value == 0 { u128::MAX } else { value };
        match self {
            Self::Higher => new > old,
            Self::Lower => new < old,
            Self::HigherOrZero => or_all(new) > or_all(old),
            Self::Stated(_) | Self::Never => false,
        }
    }

    /// As documentation names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::HigherOrZero => "higher, or 0: off",
            Self::Stated(sentence) => sentence,
            Self::Never => "",
        }
    }
}

/// What counts where the file does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// This, in the file's unit.
    Number(u64),
    /// This word.
    Word(&'static str),
    /// Nothing: the file has to say.
    Required,
    /// What follows from other keys, in a sentence; the program computes it.
    Derived(&'static str),
}

/// What is known of a limit without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// `section.key`, as everything outside names it.
    pub name: &'static str,
    /// The section that the key stands in.
    pub section: &'static str,
    /// The key within its section.
    pub key: &'static str,
    /// Unit in the file.
    pub unit: Unit,
    /// Default.
    pub usual: Usual,
    /// Least and greatest value in the file; `None` of an amount, which the token bounds.
    pub range: Option<RangeInclusive<u64>>,
    /// The direction that permits more.
    pub looser: Looser,
    sentence: &'static str,
}

impl About {
    /// What it limits.
    pub fn sentence(&self) -> &'static str {
        self.sentence.trim()
    }

    /// Whether a value permits more than another.
    pub fn is_limit(&self) -> bool {
        self.looser != Looser::Never
    }

    /// The controls that compare it.
    pub fn controls(&self) -> impl Iterator<Item = Control> + '_ {
        let all = Control::ALL.into_iter();
        all.filter(|control| control.keys().contains(&self.name))
    }
}

/// One limit of a part of the configuration.
#[derive(Debug)]
pub struct Limit<C> {
    /// What is known of it.
    pub about: About,
    /// Its value, in the engine's unit.
    pub get: fn(&C) -> u128,
    /// Sets it, in the engine's unit. A value that is too large becomes the largest.
    pub set: fn(&mut C, u128),
}

impl<C> Limit<C> {
    /// Sets it to a number of the file.
    pub fn set_number(&self, config: &mut C, number: u64) {
        let value = u128::from(number) * u128::from(self.about.unit.scale());
        (self.set)(config, value);
    }
}

/// A limit that is an amount for each token.
#[derive(Debug)]
pub struct ByToken {
    /// What is known of it.
    pub about: About,
    /// The amounts.
    pub get: fn(&RiskConfig) -> &Amounts,
    /// What counts for a token that is absent.
    pub absent: Amount,
}

/// Most exposure, for each quote token.
pub const GROSS_MAX: ByToken = ByToken {
    about: About {
        name: "risk.gross_max_bps",
        section: "risk",
        key: "gross_max_bps",
        unit: Unit::Bps,
        usual: Usual::Number(10_000),
        range: Some(1..=10_000),
        looser: Looser::Higher,
        sentence: "Most value held and bid for in all markets of a quote token, as a share of their bands at the ceilings.",
    },
    get: |risk| &risk.gross_max,
    absent: Amount::MAX,
};

/// Most that the books may differ by, for each quote token.
pub const MISMATCH_MAX: ByToken = ByToken {
    about: About {
        name: "risk.mismatch_max",
        section: "risk",
        key: "mismatch_max",
        unit: Unit::Quote,
        usual: Usual::Derived("a thousandth of the markets' bands at the ceilings"),
        range: None,
        looser: Looser::Higher,
        sentence: "Most that ledger and venue may differ by before trading stops at once; a smaller difference stops it after five minutes.",
    },
    get: |risk| &risk.mismatch_max,
    absent: 0,
};

/// Limits that are an amount for each quote token.
pub static BY_QUOTE_TOKEN: &[ByToken] = &[GROSS_MAX, MISMATCH_MAX];

/// What an order that this daemon did not make means.
pub static FOREIGN_ORDERS: About = About {
    name: "risk.foreign_orders",
    section: "risk",
    key: "foreign_orders",
    unit: Unit::Word,
    usual: Usual::Word("tolerate"),
    range: None,
    looser: Looser::Stated("from alarm to adopt to tolerate"),
    sentence: "What an order on the account that this daemon did not make means: alarm, adopt or tolerate.",
};

/// What an empty or one-sided book means.
pub static EMPTY_BOOK: About = About {
    name: "market.empty_book",
    section: "market",
    key: "empty_book",
    unit: Unit::Word,
    usual: Usual::Word("no-quote"),
    range: None,
    looser: Looser::Stated("a seed price, and any other seed price"),
    sentence: "What an empty or one-sided book means: no quotes, or `seed_price` in place of the mid.",
};

/// The whole table, in the order of the file.
pub fn all() -> Vec<&'static About> {
    fn of<C>(limits: &'static [Limit<C>]) -> impl Iterator<Item = &'static About> {
        limits.iter().map(|limit| &limit.about)
    }
    let orders = of(EngineConfig::LIMITS).chain(of(PollConfig::LIMITS));
    let risk = BY_QUOTE_TOKEN.iter().map(|limit| &limit.about);
    let risk = risk.chain(of(RiskConfig::LIMITS)).chain([&FOREIGN_ORDERS]);
    let market = of(MarketConfig::LIMITS).chain([&EMPTY_BOOK]);
    orders
        .chain(of(BudgetConfig::LIMITS))
        .chain(risk)
        .chain(of(RampConfig::LIMITS))
        .chain(market)
        .chain(of(LossConfig::LIMITS))
        .chain(of(PoolConfig::LIMITS))
        .collect()
}

/// What is known of the limit of a `section.key`.
pub fn find(name: &str) -> Option<&'static About> {
    all().into_iter().find(|about| about.name == name)
}

/// One limit of a configuration with its value.
#[derive(Debug)]
pub struct InForce {
    /// What is known of it.
    pub about: &'static About,
    /// The market that it belongs to, if it belongs to one.
    pub market: Option<String>,
    /// Its value, in the file's unit.
    pub value: String,
}

/// Every limit of a configuration, in the order of the file. `pools` names the market beside each pool.
pub fn in_force(
    engine: &EngineConfig,
    markets: &[MarketSpec],
    pools: &[&MarketSpec],
) -> Vec<InForce> {
    fn rows<C>(
        limits: &'static [Limit<C>],
        config: &C,
        market: Option<&MarketSpec>,
        rows: &mut Vec<InForce>,
    ) {
        let limits = limits.iter().filter(|limit| limit.about.is_limit());
        rows.extend(limits.map(|limit| InForce {
            about: &limit.about,
            market: market.map(|spec| spec.name.clone()),
            value: limit.about.unit.text((limit.get)(config), market),
        }));
    }
    let mut found = Vec::new();
    rows(EngineConfig::LIMITS, engine, None, &mut found);
    rows(PollConfig::LIMITS, &engine.poll, None, &mut found);
    rows(BudgetConfig::LIMITS, &engine.budget, None, &mut found);
    for limit in BY_QUOTE_TOKEN {
        for (token, amount) in (limit.get)(&engine.risk) {
            let mut quotes = markets.iter().map(|spec| &spec.quote);
            let quote = quotes.find(|spec| spec.id == *token);
            found.push(InForce {
                about: &limit.about,
                market: None,
                value: quote.map_or_else(|| amount.to_string(), |spec| spec.text(*amount)),
            });
        }
    }
    rows(RiskConfig::LIMITS, &engine.risk, None, &mut found);
    found.push(InForce {
        about: &FOREIGN_ORDERS,
        market: None,
        value: engine.foreign.name().to_owned(),
    });
    rows(RampConfig::LIMITS, &engine.ramp, None, &mut found);
    for (config, spec) in engine.markets.iter().zip(markets) {
        rows(MarketConfig::LIMITS, config, Some(spec), &mut found);
        found.push(InForce {
            about: &EMPTY_BOOK,
            market: Some(spec.name.clone()),
            value: config.empty.text(spec),
        });
        rows(LossConfig::LIMITS, &config.loss, Some(spec), &mut found);
    }
    for (config, spec) in engine.pools.iter().zip(pools) {
        rows(PoolConfig::LIMITS, config, Some(spec), &mut found);
    }
    found
}
