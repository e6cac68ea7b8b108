//! The table of limits: every number of the engine's configuration, declared once, with its key in the file,
//! unit, default, range, and the direction in which it becomes looser.
//!
//! The rows are at the fields of [`config`](crate::config). The parser and the comparison at a reload
//! ([`reload`](crate::reload)) use them, and `docs/limits.md` is generated from them. The control that compares a limit
//! has its key in [`control`](crate::control).
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

/// Unit of a limit in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Ten-thousandths.
    Bps,
    /// Milliseconds.
    Ms,
    /// Seconds; the engine has milliseconds.
    Seconds,
    /// A count.
    Count,
    /// True or false.
    Flag,
    /// A price in quote tokens; the engine has ticks.
    Price,
    /// Base tokens; the engine has lots.
    Lots,
    /// Base tokens; the engine has base units.
    Base,
    /// Quote tokens; the engine has base units.
    Quote,
    /// A word from a list.
    Word,
}

impl Unit {
    /// Whether the file has an amount or a price in tokens, which the market's decimals make exact.
    pub const fn is_amount(self) -> bool {
        matches!(self, Self::Price | Self::Lots | Self::Base | Self::Quote)
    }

    /// The engine's value of 1 in the file, for a unit that is not an amount.
    pub const fn scale(self) -> u64 {
        match self {
            Self::Seconds => 1_000,
            _ => 1,
        }
    }

    /// Its name in documentation.
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

    /// A value of the engine as text in the file's unit.
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

/// The direction in which a limit becomes looser. A reload that loosens one needs an explicit permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looser {
    /// A higher value permits more.
    Higher,
    /// A lower value permits more.
    Lower,
    /// A higher value permits more; 0 permits everything.
    HigherOrZero,
    /// For words and rules: what is looser, in a sentence. [`reload`](crate::reload) compares them.
    Stated(&'static str),
    /// No value permits more than another: it is a setting, not a limit.
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

    /// Its name in documentation.
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

/// Default of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// A number, in the file's unit.
    Number(u64),
    /// A word.
    Word(&'static str),
    /// None: the file must have the key.
    Required,
    /// Derived from other keys, as a sentence; the program computes it.
    Derived(&'static str),
}

/// The description of a limit without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// `section.key`, as in messages and documents.
    pub name: &'static str,
    /// Section of the key.
    pub section: &'static str,
    /// The key within its section.
    pub key: &'static str,
    /// Unit in the file.
    pub unit: Unit,
    /// Default.
    pub usual: Usual,
    /// Smallest and largest value in the file; `None` for an amount, which the token bounds.
    pub range: Option<RangeInclusive<u64>>,
    /// The direction that permits more.
    pub looser: Looser,
    sentence: &'static str,
}

impl About {
    /// The limit in a sentence.
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

/// A limit of one part of the configuration.
#[derive(Debug)]
pub struct Limit<C> {
    /// Its description.
    pub about: About,
    /// Its value, in the engine's unit.
    pub get: fn(&C) -> u128,
    /// Sets it, in the engine's unit. A value that is too large saturates.
    pub set: fn(&mut C, u128),
}

impl<C> Limit<C> {
    /// Sets it to a number from the file.
    pub fn set_number(&self, config: &mut C, number: u64) {
        let value = u128::from(number) * u128::from(self.about.unit.scale());
        (self.set)(config, value);
    }
}

/// A limit with an amount for each token.
#[derive(Debug)]
pub struct ByToken {
    /// Its description.
    pub about: About,
    /// The amounts.
    pub get: fn(&RiskConfig) -> &Amounts,
    /// The value for a token that is absent.
    pub absent: Amount,
}

/// Largest exposure, for each quote token.
pub const GROSS_MAX: ByToken = ByToken {
    about: About {
        name: "risk.gross_max_bps",
        section: "risk",
        key: "gross_max_bps",
        unit: Unit::Bps,
        usual: Usual::Number(10_000),
        range: Some(1..=10_000),
        looser: Looser::Higher,
        sentence: "Largest value of holdings and bids in all markets of a quote token, as a share of their bands at the ceilings.",
    },
    get: |risk| &risk.gross_max,
    absent: Amount::MAX,
};

/// Largest difference of the books, for each quote token.
pub const MISMATCH_MAX: ByToken = ByToken {
    about: About {
        name: "risk.mismatch_max",
        section: "risk",
        key: "mismatch_max",
        unit: Unit::Quote,
        usual: Usual::Derived("a thousandth of the markets' bands at the ceilings"),
        range: None,
        looser: Looser::Higher,
        sentence: "Largest difference between ledger and venue before trading stops at once; a smaller difference stops it after five minutes.",
    },
    get: |risk| &risk.mismatch_max,
    absent: 0,
};

/// Limits with an amount for each quote token.
pub static BY_QUOTE_TOKEN: &[ByToken] = &[GROSS_MAX, MISMATCH_MAX];

/// How foreign orders are treated.
pub static FOREIGN_ORDERS: About = About {
    name: "risk.foreign_orders",
    section: "risk",
    key: "foreign_orders",
    unit: Unit::Word,
    usual: Usual::Word("tolerate"),
    range: None,
    looser: Looser::Stated("from alarm to adopt to tolerate"),
    sentence: "How orders on the account that this daemon did not make are treated: alarm, adopt or tolerate.",
};

/// How an empty or one-sided book is treated.
pub static EMPTY_BOOK: About = About {
    name: "market.empty_book",
    section: "market",
    key: "empty_book",
    unit: Unit::Word,
    usual: Usual::Word("no-quote"),
    range: None,
    looser: Looser::Stated("a seed price, and any other seed price"),
    sentence: "How an empty or one-sided book is treated: no quotes, or `seed_price` in place of the mid.",
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

/// The description of the limit of a `section.key`.
pub fn find(name: &str) -> Option<&'static About> {
    all().into_iter().find(|about| about.name == name)
}

/// One limit of a configuration with its value.
#[derive(Debug)]
pub struct InForce {
    /// Its description.
    pub about: &'static About,
    /// Its market, if it belongs to one.
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
