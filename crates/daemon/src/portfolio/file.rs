//! The file of a portfolio: the files of its venues, and limits over all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cambist_config::money::Money;
use cambist_config::reader::{ConfigError, Place, Problem, Section, Source};
use cambist_config::version;
use cambist_core::portfolio::Reading;
use cambist_core::portfolio::rules::{
    self, ListedMarket, MemberRules, PortfolioRules, ReadElsewhere, VenueNames, WholeTokens,
};
use cambist_core::{Amount, MarketSpec, TokenSpec};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::config::feasible::{Tighter, never_buys};
use crate::config::market::Market;
use crate::config::{Daemon, USUAL_PORT};
use crate::real_path::real;
use crate::telemetry::portfolio::LimitUse;
use cambist_strategies::{Params, Promise};

/// Units in a whole one of the reporting currency.
pub(super) const WHOLE: Amount = 10_u128.pow(LimitUse::CURRENCY_DECIMALS as u32);

/// A checked file.
#[derive(Clone, Debug)]
pub struct PortfolioFile {
    /// The text.
    pub source: Source,
    /// Symbol of the reporting currency.
    pub currency: String,
    /// Tokens that count as one of the reporting currency each.
    pub at_par: BTreeSet<String>,
    /// Most that holdings and open bids may be worth over all venues, in units of the reporting currency.
    pub exposure_max: Option<Amount>,
    /// Where the limits are written.
    pub(super) limits_at: Place,
    /// Most that all markets together may lose in a day, in units of the reporting currency.
    pub loss_day_max: Option<Amount>,
    /// An older price values nothing.
    pub price_age_max_ms: u64,
    /// What a store holds counts for a venue that does not answer at a start, if it was written at most so long before.
    pub stored_age_max_s: u64,
    /// Limits of tokens over all venues.
    pub tokens: Vec<TokenLimit>,
    /// The venues.
    pub venues: Vec<VenueFile>,
}

/// The limit of a token over all venues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLimit {
    /// Its name in the portfolio.
    pub name: String,
    /// Most that may be held, in whole tokens.
    pub most: Decimal,
    /// Where it is named.
    at: Place,
}

/// An amount that is not negative, exactly.
pub(super) fn exact(amount: Decimal) -> WholeTokens {
    let amount = amount.normalize();
    WholeTokens {
        units: amount.mantissa().unsigned_abs(),
        scale: u8::try_from(amount.scale()).unwrap_or(u8::MAX),
    }
}

/// The least and the highest price at which a market is traded, as far as the file states them.
fn prices(market: &Market) -> [Option<Decimal>; 2] {
    ["price_floor", "price_ceiling"].map(|key| Some(market.amounts.of(key)?.value.number))
}

/// Whether one is among these prices.
fn may_be_one([floor, ceiling]: [Option<Decimal>; 2]) -> bool {
    floor.is_none_or(|floor| floor <= Decimal::ONE)
        && ceiling.is_none_or(|ceiling| ceiling >= Decimal::ONE)
}

/// What a limit over all venues is in one market.
enum Limited {
    /// It does not concern it.
    Not,
    /// Its units are not known.
    Unknown,
    /// This.
    To(Tighter),
}

/// An amount in units of a token, rounded down.
fn in_units(most: Decimal, token: &TokenSpec) -> Option<Amount> {
    let number = most.trunc_with_scale(token.decimals.into());
    let symbol = None;
    Money { number, symbol }.units(token).ok()
}

/// A venue of a portfolio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueFile {
    /// Its name, and those of its tokens.
    pub names: VenueNames,
    /// The daemon's file for it.
    pub path: PathBuf,
    /// Where the file is named.
    at: Place,
}

/// Whether a file is one of several venues. False for one that cannot be read, which its own reader reports.
pub fn is_portfolio(path: &Path) -> bool {
    Source::read(path).is_ok_and(|source| source.names_venues())
}

impl PortfolioFile {
    /// Reads and checks a file. The files that it names are not read.
    ///
    /// # Errors
    /// [`ConfigError`], with every problem.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&Source::read(path)?)
    }

    /// Checks a text.
    ///
    /// # Errors
    /// [`ConfigError`], with every problem.
    pub fn parse(source: &Source) -> Result<Self, ConfigError> {
        let held = source.clone();
        source.read_with(|_, root| read(root, held))
    }

    /// The files of the venues, and the errors of parts that are not needed to find them: an error of a limit must not keep
    /// an operator from stopping what runs.
    ///
    /// # Errors
    /// [`ConfigError`], with every problem: one of the venues is not named, or the file is no TOML.
    pub fn venues(path: &Path) -> Result<(Vec<VenueFile>, Option<ConfigError>), ConfigError> {
        let source = Source::read(path)?;
        let errors = match Self::parse(&source) {
            Ok(file) => return Ok((file.venues, None)),
            Err(errors) => errors,
        };
        let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
        let read = source.read_any(|mut root| {
            let venues = root.sections("venue").into_iter();
            let venues: Option<Vec<_>> = venues.map(|section| venue(section, &folder)).collect();
            venues.filter(|venues| !venues.is_empty())
        });
        match read {
            Ok((Some(venues), _)) => Ok((venues, Some(errors))),
            Ok((None, _)) | Err(_) => Err(errors),
        }
    }

    /// What the file states now and is not what was read from it, as a sentence for who reloads: a start reads it.
    pub fn not_applied(&self) -> Option<String> {
        let path = self.source.path.display();
        match Self::load(&self.source.path) {
            Ok(now) if now.settings() == self.settings() => None,
            Ok(_) => Some(format!(
                "{path} has changed and was not applied: limits and venues of a portfolio are read at a start"
            )),
            Err(error) => Some(format!("{error}; the next start would refuse it")),
        }
    }

    /// All that it states, without the places in the file, which any edit moves.
    fn settings(&self) -> String {
        let Self {
            source: _,
            currency,
            at_par,
            exposure_max,
            limits_at: _,
            loss_day_max,
            price_age_max_ms,
            stored_age_max_s,
            tokens,
            venues,
        } = self;
        let tokens = tokens.iter().map(|token| (&token.name, exact(token.most)));
        let tokens: Vec<_> = tokens.collect();
        let venues: Vec<_> = venues
            .iter()
            .map(|venue| (&venue.names, &venue.path))
            .collect();
        let limits = (
            exposure_max,
            loss_day_max,
            price_age_max_ms,
            stored_age_max_s,
        );
        format!("{currency} {at_par:?} {limits:?} {tokens:?} {venues:?}")
    }

    /// The limits over venues with these markets.
    pub(super) fn rules(&self, markets: Vec<Vec<ListedMarket>>) -> PortfolioRules {
        let tokens = self.tokens.iter().map(|limit| rules::TokenLimit {
            name: limit.name.clone(),
            most: exact(limit.most),
        });
        let venues = self.venues.iter().zip(markets);
        PortfolioRules {
            at_par: self.at_par.clone(),
            exposure_max: self.exposure_max,
            loss_day_max: self.loss_day_max,
            price_age_max_ms: self.price_age_max_ms,
            whole: WHOLE,
            tokens: tokens.collect(),
            venues: venues
                .map(|(venue, markets)| MemberRules {
                    names: venue.names.clone(),
                    markets,
                })
                .collect(),
        }
    }

    /// Reads the files of the venues, and checks that they fit beside each other in one process.
    ///
    /// # Errors
    /// [`ConfigError`] of a venue's file, or of this one.
    pub fn daemons(&self) -> Result<Vec<Daemon>, ConfigError> {
        let daemons: Result<Vec<_>, _> = self
            .venues
            .iter()
            .map(|venue| Daemon::load(&venue.path))
            .collect();
        let mut daemons = daemons?;
        part_usual_ports(&mut daemons);
        let problems = self.misfits(&daemons);
        if problems.is_empty() {
            Ok(daemons)
        } else {
            Err(self.source.invalid(problems))
        }
    }

    /// Limits under which nothing would ever be bought at any venue, whatever prices and holdings are. Markets are tried in
    /// their engines, so that this takes a moment; one that does not state its units, or whose strategy is not known
    /// without a venue, may buy.
    ///
    /// # Errors
    /// [`ConfigError`] with each of them.
    pub fn check_limits(&self, daemons: &[Daemon]) -> Result<(), ConfigError> {
        let mut problems = Vec::new();
        let scale = LimitUse::CURRENCY_DECIMALS.into();
        let exposure = self.exposure_max.and_then(|most| {
            let most = Decimal::try_from_i128_with_scale(most.try_into().ok()?, scale);
            most.ok()
        });
        if let Some(most) = exposure {
            let limit = |venue: &VenueFile, spec: &MarketSpec| {
                let quote = venue.names.name_of(&spec.quote.symbol);
                let units = in_units(most, &spec.quote).filter(|_| self.at_par.contains(quote));
                units.map_or(Limited::Unknown, |most| {
                    Limited::To(Tighter::Exposure(most))
                })
            };
            if self.never_bought(daemons, limit) {
                let what = format!(
                    "portfolio.exposure_max is {} {}, and the smallest order or join of every market is worth more: nothing would ever be bought; raise it",
                    most.normalize(),
                    self.currency
                );
                let at = self.limits_at;
                problems.push(Problem { at, what });
            }
        }
        for token in &self.tokens {
            let limit = |venue: &VenueFile, spec: &MarketSpec| {
                if venue.names.name_of(&spec.base.symbol) != token.name {
                    return Limited::Not;
                }
                let units = in_units(token.most, &spec.base);
                units.map_or(Limited::Unknown, |most| {
                    Limited::To(Tighter::Inventory(most))
                })
            };
            if self.never_bought(daemons, limit) {
                let what = format!(
                    "portfolio.tokens.inventory_max is {} {}, and the smallest order of every market of it is larger: it would never be bought; raise it",
                    token.most, token.name
                );
                problems.push(Problem { at: token.at, what });
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(self.source.invalid(problems))
        }
    }

    /// Whether there are markets with this limit, and none of them would ever buy.
    fn never_bought(
        &self,
        daemons: &[Daemon],
        limit: impl Fn(&VenueFile, &MarketSpec) -> Limited,
    ) -> bool {
        let mut is_any = false;
        for (venue, daemon) in self.venues.iter().zip(daemons) {
            let Some(Ok(bound)) = daemon.bind_expected() else {
                return false;
            };
            for (index, spec) in bound.markets.iter().enumerate() {
                match limit(venue, spec) {
                    Limited::Not => {}
                    Limited::To(most) if never_buys(daemon, &bound, index, most) => is_any = true,
                    Limited::To(_) | Limited::Unknown => return false,
                }
            }
        }
        is_any
    }

    /// Why the limit of a token would not count all of it: only base tokens are counted, one of each venue.
    fn unlimitable(&self, name: &str, daemons: &[Daemon]) -> Option<String> {
        let mut is_traded = false;
        for (venue, daemon) in self.venues.iter().zip(daemons) {
            let markets = &daemon.markets;
            let quoted = |market: &&Market| venue.names.name_of(&market.quote) == name;
            if let Some(market) = markets.iter().find(quoted) {
                return Some(format!(
                    "portfolio.tokens: {name} is the quote token of {} at venue {}, and holdings of quote tokens are not counted",
                    market.name.value, venue.names.venue
                ));
            }
            let bases = markets.iter().map(|market| &market.base);
            let same: BTreeSet<_> = bases
                .filter(|base| venue.names.name_of(base) == name)
                .collect();
            if same.len() > 1 {
                let same: Vec<_> = same.into_iter().map(String::as_str).collect();
                return Some(format!(
                    "portfolio.tokens: venue {} calls {} by the one name {name}; a limit counts one token of a venue",
                    venue.names.venue,
                    same.join(" and ")
                ));
            }
            is_traded |= !same.is_empty();
        }
        let none =
            || format!("portfolio.tokens: no market of any venue has {name} as its base token");
        (!is_traded).then(none)
    }

    /// Markets of other venues that strategies read and that are none. Files that do not state the units of their markets
    /// are checked at the start.
    fn unreadable(&self, daemons: &[Daemon]) -> Vec<Problem> {
        let rules = self.rules(daemons.iter().map(Daemon::listed_markets).collect());
        let mut problems = Vec::new();
        for (index, (venue, daemon)) in self.venues.iter().zip(daemons).enumerate() {
            let Some(Ok(bound)) = daemon.bind_expected() else {
                continue;
            };
            for read in bound.reads_elsewhere() {
                let reader = &bound.markets[usize::from(read.reader.0)].name;
                let found = Reading::of(&rules, index, &read, reader);
                let beside = |reading: Reading| {
                    let twice = hedged_twice(daemons, &read, &reading);
                    twice.or_else(|| never_closed(daemons, (daemon, reader), &read, &reading))
                };
                let refused = found.map_or_else(Some, beside);
                problems.extend(refused.map(|what| Problem { at: venue.at, what }));
            }
        }
        problems
    }

    /// Names of tokens that a venue's file does not have, and markets whose tokens have one name.
    fn misnamed(&self, daemons: &[Daemon]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (venue, daemon) in self.venues.iter().zip(daemons) {
            let symbols = daemon.markets.iter().flat_map(|m| [&m.base, &m.quote]);
            let known: BTreeSet<_> = symbols.map(String::as_str).collect();
            for symbol in venue
                .names
                .tokens
                .keys()
                .filter(|name| !known.contains(name.as_str()))
            {
                let what = format!(
                    "venue.tokens names {symbol}, and the markets of venue {} trade {}",
                    venue.names.venue,
                    known.iter().copied().collect::<Vec<_>>().join(", ")
                );
                problems.push(Problem { at: venue.at, what });
            }
            for market in &daemon.markets {
                let [base, quote] =
                    [&market.base, &market.quote].map(|one| venue.names.name_of(one));
                if base == quote {
                    let what = format!(
                        "venue.tokens of {} calls both tokens of {} by the one name {base}",
                        venue.names.venue, market.name.value
                    );
                    problems.push(Problem { at: venue.at, what });
                }
            }
        }
        problems
    }

    /// Quote tokens that no market of the portfolio prices: with `exposure_max` nothing would ever be bought with them, and
    /// with `loss_day_max` nothing at all after a loss in them.
    fn unpriced(&self, daemons: &[Daemon]) -> Vec<Problem> {
        let (key, effect) = if self.exposure_max.is_some() {
            ("exposure_max", "nothing would be bought with it")
        } else if self.loss_day_max.is_some() {
            ("loss_day_max", "losses in it could not be counted")
        } else {
            return Vec::new();
        };
        let pairs = self.named_markets(daemons);
        let has_price = |token: &str| {
            let mut pairs = pairs.iter();
            self.at_par.contains(token)
                || pairs.any(|(.., [base, quote])| *base == token && self.at_par.contains(*quote))
        };
        let without = pairs.iter().filter(|(.., [_, quote])| !has_price(quote));
        without
            .map(|(venue, market, [_, quote])| Problem {
                at: venue.at,
                what: format!(
                    "portfolio.{key}: {quote}, the quote token of {} at venue {}, has no price in {}: {effect}. Name it in \
                     portfolio.at_par, or add a market of it",
                    market.name.value, venue.names.venue, self.currency
                ),
            })
            .collect()
    }

    /// Every market with its venue, and the names of base and quote in the portfolio.
    fn named_markets<'a>(
        &'a self,
        daemons: &'a [Daemon],
    ) -> Vec<(&'a VenueFile, &'a Market, [&'a str; 2])> {
        let venues = self.venues.iter().zip(daemons);
        let markets = venues.flat_map(|(venue, daemon)| {
            daemon.markets.iter().map(move |market| {
                let names = [&market.base, &market.quote].map(|one| venue.names.name_of(one));
                (venue, market, names)
            })
        });
        markets.collect()
    }

    /// Tokens at par that no market has, or whose price a market states and that is never one.
    fn not_at_par(&self, daemons: &[Daemon]) -> Vec<Problem> {
        let markets = self.named_markets(daemons);
        let refused = self.at_par.iter().filter_map(|token| {
            let mut of = markets.iter();
            if *token != self.currency && !of.any(|(.., names)| names.contains(&token.as_str())) {
                return Some(format!(
                    "portfolio.at_par names {token}, and no market of any venue has it; compare venue.tokens"
                ));
            }
            // A market of two tokens at par has one within its prices.
            let (venue, market, _) = markets.iter().find(|(_, market, [base, quote])| {
                base == token && self.at_par.contains(*quote) && !may_be_one(prices(market))
            })?;
            Some(format!(
                "portfolio.at_par names {token}, the base token of {} at venue {}: its price is that of the market, and never 1 {}",
                market.name.value, venue.names.venue, self.currency
            ))
        });
        let at = self.limits_at;
        refused.map(|what| Problem { at, what }).collect()
    }

    /// Base tokens that no limit of a token bounds while others have one, each as a sentence: one that a venue calls
    /// otherwise would not count.
    pub fn unlimited(&self, daemons: &[Daemon]) -> Vec<String> {
        let limited: Vec<_> = self
            .tokens
            .iter()
            .map(|limit| limit.name.as_str())
            .collect();
        if limited.is_empty() {
            return Vec::new();
        }
        let bases = self.venues.iter().zip(daemons).flat_map(|(venue, daemon)| {
            let bases = daemon.markets.iter().map(|market| &market.base);
            bases.map(|base| (venue.names.name_of(base), venue.names.venue.as_str()))
        });
        let mut at: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (token, venue) in bases.filter(|(token, _)| !limited.contains(token)) {
            at.entry(token).or_default().insert(venue);
        }
        let sentence = |(token, venues): (&str, BTreeSet<&str>)| {
            let venues: Vec<_> = venues.into_iter().collect();
            format!(
                "no limit in portfolio.tokens bounds {token} (at {}); if it is the same token as {}, name it in venue.tokens",
                venues.join(", "),
                limited.join(" or ")
            )
        };
        at.into_iter().map(sentence).collect()
    }

    /// Processes of one venue's strategies that could read keys or state of another.
    fn exposed(&self, daemons: &[Daemon]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (index, daemon) in daemons.iter().enumerate() {
            let others = daemons.iter().enumerate().filter(|(at, _)| *at != index);
            let private: Vec<_> = others
                .flat_map(|(_, other)| other.private_paths())
                .collect();
            let choices = daemon.markets.iter().flat_map(|market| &market.strategies);
            let venue = &self.venues[index];
            problems.extend(choices.filter_map(|choice| {
                let what = format!(
                    "venue {}: {}",
                    venue.names.venue,
                    choice.exposes(&private)?.what
                );
                Some(Problem { at: venue.at, what })
            }));
        }
        problems
    }

    fn misfits(&self, daemons: &[Daemon]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (index, (venue, daemon)) in self.venues.iter().zip(daemons).enumerate() {
            let mut refuse = |what: String| {
                problems.push(Problem { at: venue.at, what });
            };
            if !daemon.mode.trades() {
                refuse(format!(
                    "venue {}: its file has mode = \"{}\"; venues of a portfolio trade",
                    venue.names.venue,
                    daemon.mode.name()
                ));
            }
            for (other, earlier) in self.venues.iter().zip(daemons).take(index) {
                let names = format!("venues {} and {}", other.names.venue, venue.names.venue);
                let folders = [earlier, daemon].map(|daemon| real(&daemon.store.dir));
                if folders[0] == folders[1] {
                    refuse(format!(
                        "{names} have the same store.dir ({}); each needs a state folder of its own",
                        folders[0].display()
                    ));
                }
                if earlier.venue.is_same_account(&daemon.venue) {
                    refuse(format!(
                        "{names} are the same account ({}) at the same address: what it holds would count twice, and each engine would take the other's orders for those of another instance",
                        daemon.venue.account()
                    ));
                }
                let tapes = [earlier, daemon].map(|daemon| daemon.tape.as_ref());
                if let [Some(one), Some(other)] = tapes
                    && real(&one.dir) == real(&other.dir)
                {
                    refuse(format!(
                        "{names} have the same tape.dir ({}); each needs a folder of its own",
                        other.dir.display()
                    ));
                }
                let port = daemon.metrics.port();
                if port != 0 && earlier.metrics.port() == port {
                    refuse(format!(
                        "{names} have the same port in metrics.listen; each needs its own"
                    ));
                }
            }
        }
        problems.extend(self.exposed(daemons));
        problems.extend(self.unreadable(daemons));
        problems.extend(self.misnamed(daemons));
        problems.extend(self.unpriced(daemons));
        problems.extend(self.not_at_par(daemons));
        for limit in &self.tokens {
            let refused = self.unlimitable(&limit.name, daemons);
            problems.extend(refused.map(|what| Problem { at: limit.at, what }));
        }
        problems
    }
}

/// Two hedges that count the same holdings would both trade every distance from the target.
fn hedged_twice(daemons: &[Daemon], read: &ReadElsewhere, reading: &Reading) -> Option<String> {
    let is_hedge = |name: &str| {
        let info = cambist_strategies::find(name);
        info.is_some_and(|info| info.promise == Promise::Hedge)
    };
    let reader = read.strategy.split(' ').next().unwrap_or_default();
    let mut markets = daemons[reading.venue].markets.iter();
    let there = markets.find(|market| market.name.value == reading.market)?;
    let mut strategies = there.strategies.iter();
    let other = strategies.find(|choice| is_hedge(&choice.name.value))?;
    is_hedge(reader).then(|| {
        format!(
            "{} counts what {} of {} trades, and both would trade the same distance: keep one of them",
            read.strategy, other.name.value, read.name
        )
    })
}

/// A strategy of rounds waits for a leg that the hedge at the market of its book leaves open: the hedge has the larger
/// tolerance. `reader` is the market of the strategy.
fn never_closed(
    daemons: &[Daemon],
    (daemon, reader): (&Daemon, &str),
    read: &ReadElsewhere,
    reading: &Reading,
) -> Option<String> {
    let with = |daemon: &Daemon, market: &str, promise: Promise| {
        let mut markets = daemon.markets.iter();
        let market = markets.find(|of| of.name.value == market)?;
        market.strategies.iter().find_map(|choice| {
            let info = cambist_strategies::find(&choice.name.value)?;
            let params = Params::read(info.parameters, &choice.params).ok()?;
            let tolerance = params.decimal("tolerance").ok()?;
            (info.promise == promise).then_some((info.name, tolerance))
        })
    };
    let (name, own) = with(daemon, reader, Promise::Swaps)?;
    let (hedge, there) = with(&daemons[reading.venue], &reading.market, Promise::Hedge)?;
    (there > own).then(|| {
        format!(
            "{} has a tolerance of {own}, and {hedge} of {} one of {there}: {name} would wait for a leg that {hedge} \
             leaves open; give {name} at least the same",
            read.strategy, read.name
        )
    })
}

/// Files that leave the port of their pages at its default get the next free ones after it.
fn part_usual_ports(daemons: &mut [Daemon]) {
    for index in 1..daemons.len() {
        let (earlier, rest) = daemons.split_at_mut(index);
        let is_taken = |port| earlier.iter().any(|daemon| daemon.metrics.port() == port);
        if rest[0].metrics_is_usual {
            let mut free = (USUAL_PORT..).filter(|port| !is_taken(*port));
            rest[0].metrics.set_port(free.next().unwrap_or(USUAL_PORT));
        }
    }
}

fn read(mut root: Section<'_, '_>, source: Source) -> Option<PortfolioFile> {
    let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
    version(&mut root);
    let mut section = root.section("portfolio");
    let limits_at = section.at();
    let currency = section.or("currency", "USD".to_owned()).value;
    let at_par = section.or("at_par", Vec::<String>::new()).value;
    let exposure_max = amount(&mut section, "exposure_max", &currency);
    let loss_day_max = amount(&mut section, "loss_day_max", &currency);
    let price_age_max_s = section.number("price_age_max_s", 60, 1..=3_600);
    let stored_age_max_s = section.number("stored_age_max_s", 86_400, 0..=31_536_000);
    let tokens = section.sections("tokens").into_iter().map(token);
    let tokens: Vec<_> = tokens.collect();
    section.finish();
    let venues = root.sections("venue").into_iter();
    let venues: Vec<_> = venues.map(|section| venue(section, &folder)).collect();
    if venues.is_empty() {
        root.missing("venue", "a portfolio needs [[venue]] sections");
    }
    let named = venues
        .iter()
        .flatten()
        .map(|venue| venue.names.venue.clone());
    let mut seen = BTreeSet::new();
    for name in named.filter(|name| !seen.insert(name.clone())) {
        root.problem(root.at(), format!("two venues are named {name}"));
    }
    let mut limited = BTreeSet::new();
    for limit in tokens.iter().flatten() {
        if !limited.insert(limit.name.clone()) {
            let what = format!("portfolio.tokens: {} is limited twice", limit.name);
            root.problem(limit.at, what);
        }
    }
    root.finish();
    let mut at_par: BTreeSet<_> = at_par.into_iter().collect();
    at_par.insert(currency.clone());
    Some(PortfolioFile {
        source,
        at_par,
        exposure_max: exposure_max?,
        limits_at,
        loss_day_max: loss_day_max?,
        price_age_max_ms: price_age_max_s.value * 1_000,
        stored_age_max_s: stored_age_max_s.value,
        tokens: tokens.into_iter().collect::<Option<_>>()?,
        venues: venues.into_iter().collect::<Option<_>>()?,
        currency,
    })
}

/// An amount of the reporting currency, rounded down: a limit is never more than what is written.
#[expect(clippy::option_option, reason = "invalid, or none")]
fn amount(
    section: &mut Section<'_, '_>,
    key: &'static str,
    currency: &str,
) -> Option<Option<Amount>> {
    let Some(written) = section.opt::<Money>(key) else {
        return (!section.has(key)).then_some(None);
    };
    if let Err(error) = written.value.check_symbol(currency) {
        section.problem(written.at, format!("portfolio.{key}: {error}"));
        return None;
    }
    if written.value.number.is_zero() {
        let effect = match key {
            "exposure_max" => "nothing would ever be bought",
            _ => "after the smallest loss every venue would only cancel",
        };
        section.problem(written.at, format!("portfolio.{key} is 0: {effect}"));
    }
    let units = written.value.number.checked_mul(Decimal::from(WHOLE));
    let units = units.and_then(|units| units.floor().to_u128());
    if units.is_none() {
        section.problem(written.at, format!("portfolio.{key} is too large"));
    }
    units.map(Some)
}

fn token(mut section: Section<'_, '_>) -> Option<TokenLimit> {
    let at = section.at();
    let name = section.req::<String>("name");
    let most = section.req::<Money>("inventory_max");
    if let (Some(name), Some(most)) = (&name, &most)
        && let Err(error) = most.value.check_symbol(&name.value)
    {
        section.problem(most.at, format!("portfolio.tokens.inventory_max: {error}"));
    }
    if let Some(most) = most.as_ref().filter(|most| most.value.number.is_zero()) {
        let what = "portfolio.tokens.inventory_max is 0: nothing would ever be bought";
        section.problem(most.at, what);
    }
    section.finish();
    Some(TokenLimit {
        at,
        name: name?.value,
        most: most?.value.number,
    })
}

fn venue(mut section: Section<'_, '_>, folder: &Path) -> Option<VenueFile> {
    let at = section.at();
    let name = section.req::<String>("name");
    let path = section.req::<PathBuf>("config");
    if let Some(name) = &name {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.value.is_empty() || name.value.len() > 32 || !name.value.bytes().all(plain) {
            let what = "venue.name must be lower-case letters, digits and hyphens, at most 32";
            section.problem(name.at, what);
        }
        if name.value == "portfolio" {
            let what =
                "venue.name must not be portfolio, which names the limits in what commands print";
            section.problem(name.at, what);
        }
    }
    let tokens = section.section("tokens");
    let (written, places) = tokens.verbatim();
    let mut names = BTreeMap::new();
    for (symbol, value) in written {
        if let Some(name) = value.as_str() {
            names.insert(symbol, name.to_owned());
        } else {
            let at = places.get(&symbol).copied().unwrap_or_else(|| tokens.at());
            let what = format!("venue.tokens.{symbol} must be the token's name in the portfolio");
            tokens.problem(at, what);
        }
    }
    section.finish();
    Some(VenueFile {
        names: VenueNames {
            venue: name?.value,
            tokens: names,
        },
        path: folder.join(path?.value),
        at,
    })
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
