//! The second stage of checking: decimals become integers in the venue's units.
//!
//! The same function is used by `cambist check` without a venue, with the decimals in the file.

use std::collections::BTreeMap;

use cambist_core::config::{EmptyBook as EngineEmpty, EngineConfig, LossConfig, MarketConfig};
use cambist_core::elsewhere;
use cambist_core::portfolio::rules::ReadElsewhere;
use cambist_core::reference::{Reference, ReferenceSource};
use cambist_core::strategy::{
    BookLevel, Holdings, PoolView, Quote, Strategy, SwapTerms, Targets, Traded, View,
};
use cambist_core::venue::{FeeToken, LifetimeRule};
use cambist_core::{
    Amount, MarketId, MarketSpec, PoolSpec, Price, Qty, StrategyId, Time, TokenId, TokenSpec,
    VenueRules,
};

use cambist_strategies::{ParamError, Params, StrategyInfo};
use cambist_strategy_process::{ProcessSettings, ProcessStrategy};

use crate::config::daemon::Daemon;
use crate::config::exposure;
use crate::config::exposure::Load;
use crate::config::feed::Feed;
use crate::config::market::{EmptyBook, Market, StrategyChoice};
use crate::config::pool;
use crate::config::pool::ListedPool;
use crate::config::reader::{ConfigError, Problem};
use crate::config::reads;
use crate::config::risk;
use crate::config::risk::Risk;
use crate::config::tolerance;

/// A market as the venue lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name, `BASE-QUOTE`.
    pub name: String,
    /// Base token.
    pub base: TokenId,
    /// Quote token.
    pub quote: TokenId,
    /// Decimals of the price.
    pub price_decimals: u8,
    /// Which token its fees are taken in.
    pub fee_in: FeeToken,
    /// Open for trading.
    pub enabled: bool,
}

/// The engine's start data from the file and the venue's metadata.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The engine's configuration.
    pub engine: EngineConfig,
    /// What the venue guarantees.
    pub venue: VenueRules,
    /// Markets, in the order of the file.
    pub markets: Vec<MarketSpec>,
    /// Pools beside them.
    pub pools: Vec<PoolSpec>,
    /// Every token that the venue lists: the account may hold any of them.
    pub tokens: Vec<TokenSpec>,
    /// Every strategy with its market and its section in the file, in order of ids.
    pub strategies: Vec<(StrategyId, MarketId, StrategyChoice)>,
    /// Sources of reference prices, in order of their ids, and where each is read.
    pub references: Vec<(ReferenceSource, Feed)>,
    /// Load in requests.
    pub load: Load,
    /// `[risk]` as in the file.
    pub risk: Risk,
    /// Allowed settings that are probably mistakes, in sentences.
    pub warnings: Vec<String>,
}

impl Bound {
    /// Names of the strategies with their markets, in order of ids: `bands of ETH-USDC`.
    pub fn strategy_names(&self) -> Vec<String> {
        let market = |id| self.markets.iter().find(|spec| spec.id == id);
        let name = |choice: &StrategyChoice, id| {
            let market = market(id).map_or("", |spec| spec.name.as_str());
            format!("{} of {market}", choice.name.value)
        };
        let each = self.strategies.iter();
        each.map(|(_, id, choice)| name(choice, *id)).collect()
    }

    /// The engine's configuration with another time to live of orders and the values derived from it.
    pub fn with_ttl(&self, ttl_s: u64) -> EngineConfig {
        let mut engine = EngineConfig {
            ttl_ms: ttl_s.saturating_mul(1_000),
            ..self.engine.clone()
        };
        // Errors of the file were reported when it was bound.
        let terms = (&mut engine, &self.venue.lifetime);
        self.risk
            .limit_signed(terms, &self.markets, &self.pools, &mut Vec::new());
        engine
    }

    /// Refuses strategies that read markets of other venues, for runs in which there are none.
    pub fn without_elsewhere(&self) -> Result<(), String> {
        self.reads_elsewhere().first().map_or(Ok(()), |read| {
            Err(format!(
                "{} reads the market {:?} of another venue, and this run has one venue: start it with a file of \
                 [[venue]] sections that names this file and the other venue's",
                read.strategy, read.name
            ))
        })
    }

    /// The markets of other venues that strategies read, each once for each market whose strategies do.
    pub fn reads_elsewhere(&self) -> Vec<ReadElsewhere> {
        let mut all: Vec<ReadElsewhere> = Vec::new();
        for ((_, reader, strategy), name) in self.built().iter().zip(self.strategy_names()) {
            let reads = strategy.reads().iter();
            let reads = reads.filter(|read| elsewhere::split(read).is_some());
            for read in reads {
                let is_known =
                    |known: &ReadElsewhere| (known.reader, &known.name) == (*reader, read);
                if !all.iter().any(is_known) {
                    all.push(ReadElsewhere {
                        strategy: name.clone(),
                        reader: *reader,
                        name: read.clone(),
                    });
                }
            }
        }
        all
    }

    /// Refuses strategies that read reference prices or markets of other venues, for runs on data that have none.
    pub fn without_references(&self) -> Result<(), String> {
        self.without_elsewhere()?;
        let built = self.built();
        let mut reading = built.iter().zip(&self.strategies);
        let found = reading.find_map(|((_, _, strategy), (_, _, choice))| {
            Some((strategy.references().first()?.clone(), choice))
        });
        found.map_or(Ok(()), |(source, choice)| {
            Err(format!(
                "strategy {} reads the reference feed {source:?}, and the data of this run have no prices of other \
                 places: take it out of market.strategy.params.reference",
                choice.name.value
            ))
        })
    }

    /// Every strategy, built.
    pub fn built(&self) -> Vec<(StrategyId, MarketId, Box<dyn Strategy>)> {
        let each = self.strategies.iter();
        each.filter_map(|(id, market, choice)| {
            let spec = self.markets.get(usize::from(market.0))?;
            // It was built before, when the file was bound.
            Some((*id, *market, build(choice, spec).ok()?))
        })
        .collect()
    }
}

impl Daemon {
    /// Binds the file to the venue's units.
    pub fn bind(
        &self,
        tokens: &[TokenSpec],
        listed: &[Listed],
        pools: &[ListedPool],
    ) -> Result<Bound, ConfigError> {
        let mut problems = Vec::new();
        let mut markets = Vec::new();
        let mut found_pools = Vec::new();
        for (index, market) in self.markets.iter().enumerate() {
            let id = MarketId(u16::try_from(index).unwrap_or(u16::MAX));
            match spec(id, market, tokens, listed) {
                Ok(spec) => {
                    let spec = spec.with_book(self.venue.has_books());
                    for (expected, key, found) in market.unexpected(&spec) {
                        problems.push(Problem {
                            at: expected.at,
                            what: format!(
                                "market.{key} = {} but the venue publishes {found} for {}",
                                expected.value, market.name.value
                            ),
                        });
                    }
                    match market
                        .pool
                        .as_ref()
                        .map(|pool| pool.listed(&spec, tokens, pools))
                    {
                        Some(Ok(pool)) => found_pools.push(pool),
                        Some(Err(problem)) => problems.push(problem),
                        None => {}
                    }
                    markets.push(spec);
                }
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(self.source.invalid(problems));
        }
        let bound = self.bind_specs(markets, found_pools)?;
        Ok(Bound {
            tokens: tokens.to_vec(),
            ..bound
        })
    }

    /// Binds the file to the decimals in it, for a check without the venue. `None` if it does not state them for every
    /// market.
    pub fn bind_expected(&self) -> Option<Result<Bound, ConfigError>> {
        let mut tokens = Vec::new();
        let each = self.markets.iter().enumerate();
        let specs: Option<Vec<_>> = each
            .map(|(index, market)| {
                let spec = expected_spec(index, market, self.venue.fee_in(), &mut tokens)?;
                Some(spec.map(|spec| spec.with_book(self.venue.has_books())))
            })
            .collect();
        let specs: Result<Vec<_>, _> = specs?.into_iter().collect();
        Some(match specs {
            Ok(specs) => {
                let pools = self.expected_pools(&specs);
                self.bind_specs(specs, pools)
            }
            Err(problem) => Err(self.source.invalid(vec![problem])),
        })
    }

    /// The configured pools, with assumed values.
    pub fn expected_pools(&self, markets: &[MarketSpec]) -> Vec<PoolSpec> {
        let pool = |(market, spec): (&Market, &MarketSpec)| {
            market.pool.as_ref().map(|pool| pool.expected(spec))
        };
        self.markets.iter().zip(markets).filter_map(pool).collect()
    }

    /// Binds the file to known markets and pools, in its own order.
    pub fn bind_specs(
        &self,
        markets: Vec<MarketSpec>,
        pools: Vec<PoolSpec>,
    ) -> Result<Bound, ConfigError> {
        let mut problems = Vec::new();
        let mut configs = Vec::new();
        let mut pool_configs = Vec::new();
        let mut strategies = Vec::new();
        let mut references = Vec::new();
        let mut quotes_max = 0;
        let mut warnings = Vec::new();
        for (market, spec) in self.markets.iter().zip(&markets) {
            let config = market_config(market, spec, &mut problems);
            let mut together = Vec::new();
            references.extend(market.references(spec.id));
            for choice in &market.strategies {
                let built = build(choice, spec).and_then(|strategy| {
                    market.check_references(choice, strategy.as_ref())?;
                    reads::check(choice, strategy.as_ref(), spec, &markets)?;
                    Ok(strategy)
                });
                match (built, &config) {
                    // What it will want is not known before it runs.
                    (Ok(_), Some(_)) if choice.process.is_some() => {
                        let process = choice.process.as_ref();
                        quotes_max += process.map_or(0, |process| process.orders_max as u64);
                    }
                    (Ok(mut strategy), Some(config)) => {
                        let mut quoted =
                            |base| quiet(strategy.as_mut(), spec, &markets, config, base);
                        let full = config.inventory_max;
                        let most = legs(choice, spec).into_iter().chain([full]);
                        quotes_max += most
                            .map(|base| quoted(base).len() as u64)
                            .max()
                            .unwrap_or(0);
                        together.extend(quoted(config.inventory_min.midpoint(full)));
                    }
                    (Ok(_), None) => {}
                    (Err(problem), _) => problems.push(problem),
                }
                warnings.extend(fee_not_earned(choice, spec, self.fee_bips[0]));
                let id = StrategyId(u8::try_from(strategies.len()).unwrap_or(u8::MAX));
                strategies.push((id, spec.id, choice.clone()));
            }
            if let Some(config) = config.as_ref().filter(|_| self.engine.maker_only) {
                let tolerance_bps = config.price_tolerance_bps;
                let mid = config.price_min.0.saturating_add(config.price_max.0);
                warnings.extend(tolerance::crossing(spec, &together, mid, tolerance_bps));
            }
            pool::check_holders(market, &mut problems);
            let takes = (self.engine.maker_only, self.fee_bips[1]);
            pool::check_two_legs((market, spec), config.as_ref(), takes, &mut problems);
            configs.extend(config);
            if let Some(pool) = &market.pool {
                pool_configs.extend(pool.config(spec, &mut problems));
            }
        }
        let load = exposure::load(self, Some(quotes_max));
        problems.extend(exposure::overload(self, &load));
        if !problems.is_empty() {
            return Err(self.source.invalid(problems));
        }
        let mut engine = EngineConfig {
            request_timeout_ms: self.request_timeout_ms,
            drain_deadline_ms: self.drain_deadline_ms,
            budget: self.budget.clone(),
            risk: self.risk.bound(
                &markets,
                &configs,
                pools.iter().zip(&pool_configs),
                &mut problems,
            ),
            ramp: self.risk.ramp,
            foreign: self.risk.foreign,
            markets: configs,
            pools: pool_configs,
            ..self.engine.clone()
        };
        let mut venue = self.venue.rules();
        match self.venue.charged_as(&markets) {
            Ok(charged_as) => venue.charged_as = charged_as,
            Err(problem) => problems.push(problem),
        }
        warnings.extend(self.venue.warning());
        let terms = (&mut engine, &venue.lifetime);
        self.risk
            .limit_signed(terms, &markets, &pools, &mut problems);
        let terms = (&mut engine, &venue.lifetime);
        self.limit_losses(terms, &markets, &pools, &mut problems);
        if !problems.is_empty() {
            return Err(self.source.invalid(problems));
        }
        Ok(Bound {
            engine,
            venue,
            tokens: traded(&markets, &pools),
            markets,
            pools,
            strategies,
            references,
            load,
            risk: self.risk.clone(),
            warnings,
        })
    }

    /// Loss limits of every market: as written, or shares of its worst case.
    fn limit_losses(
        &self,
        (engine, lifetime): (&mut EngineConfig, &LifetimeRule),
        specs: &[MarketSpec],
        pools: &[PoolSpec],
        problems: &mut Vec<Problem>,
    ) {
        let bounds = risk::bounds((engine, lifetime), specs, pools);
        for (index, limits) in engine.markets.iter_mut().enumerate() {
            let (market, spec) = (&self.markets[index], &specs[index]);
            let mut loss = risk::derived(bounds[index].as_ref());
            let written = &market.amounts;
            written.set(LossConfig::LIMITS, spec, &mut loss, problems);
            limits.loss = loss;
        }
    }
}

/// The tokens of markets and pools, each once.
fn traded(markets: &[MarketSpec], pools: &[PoolSpec]) -> Vec<TokenSpec> {
    let of_markets = markets.iter().flat_map(|spec| [&spec.base, &spec.quote]);
    let each = of_markets.chain(pools.iter().map(|pool| &pool.lp));
    let by_id: BTreeMap<_, _> = each.map(|token| (token.id, token.clone())).collect();
    by_id.into_values().collect()
}

fn spec(
    id: MarketId,
    market: &Market,
    tokens: &[TokenSpec],
    listed: &[Listed],
) -> Result<MarketSpec, Problem> {
    let at = market.name.at;
    let problem = |what: String| Problem { at, what };
    let name = &market.name.value;
    let Some(found) = listed.iter().find(|listed| &listed.name == name) else {
        let near =
            crate::config::reader::nearest(name, listed.iter().map(|listed| listed.name.as_str()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        return Err(problem(format!("the venue has no market {name}{near}")));
    };
    let token = |id: TokenId, symbol: &str| {
        let token = tokens.iter().find(|token| token.id == id).ok_or_else(|| {
            problem(format!(
                "the venue publishes no token {} of market {name}",
                id.0
            ))
        })?;
        if token.symbol == symbol {
            Ok(token.clone())
        } else {
            // Escaped and truncated: the text is the venue's.
            let symbol_text: String = token.symbol.escape_debug().take(32).collect();
            Err(problem(format!(
                "token {} of market {name} is called {symbol_text} by the venue, not {symbol}",
                id.0
            )))
        }
    };
    let base = token(found.base, &market.base)?;
    let quote = token(found.quote, &market.quote)?;
    let made = MarketSpec::new(id, name, base, quote, found.price_decimals, found.enabled);
    let spec = made.map_err(|error| problem(error.to_string()))?;
    Ok(spec.with_fee_in(found.fee_in))
}

/// A market with the units in the file. Tokens are numbered by symbol, in the order of their first use.
fn expected_spec(
    index: usize,
    market: &Market,
    fee_in: FeeToken,
    tokens: &mut Vec<TokenSpec>,
) -> Option<Result<MarketSpec, Problem>> {
    let expected = &market.expected;
    let base_decimals = expected.base_decimals.as_ref()?.value;
    let quote_decimals = expected.quote_decimals.as_ref()?.value;
    let base_precision = expected
        .base_precision
        .as_ref()
        .map_or(base_decimals, |at| at.value);
    let quote_precision = expected
        .quote_precision
        .as_ref()
        .map_or(quote_decimals, |at| at.value);
    let mut token = |symbol: &str, decimals: u8, precision: u8| {
        let known = tokens.iter().find(|token| token.symbol == symbol);
        let next = TokenId(u16::try_from(tokens.len()).unwrap_or(u16::MAX));
        let token = TokenSpec {
            id: known.map_or(next, |known| known.id),
            symbol: symbol.to_owned(),
            decimals,
            precision,
            minimum: 1,
            maximum: cambist_core::token::AMOUNT_MAX,
            dust: 0,
            enabled: true,
        };
        match known {
            Some(known) if *known != token => Err(Problem {
                at: market.name.at,
                what: format!("token {symbol} has other decimals in another market"),
            }),
            Some(_) => Ok(token),
            None => {
                tokens.push(token.clone());
                Ok(token)
            }
        }
    };
    let base = token(&market.base, base_decimals, base_precision);
    let quote = token(&market.quote, quote_decimals, quote_precision);
    let (base, quote) = match (base, quote) {
        (Ok(base), Ok(quote)) => (base, quote),
        (Err(problem), _) | (_, Err(problem)) => return Some(Err(problem)),
    };
    let made = MarketSpec::new(
        MarketId(u16::try_from(index).ok()?),
        &market.name.value,
        base,
        quote,
        expected.price_decimals.as_ref()?.value,
        true,
    );
    let made = made.map(|spec| spec.with_fee_in(fee_in));
    Some(made.map_err(|error| Problem {
        at: market.name.at,
        what: error.to_string(),
    }))
}

fn market_config(
    market: &Market,
    spec: &MarketSpec,
    problems: &mut Vec<Problem>,
) -> Option<MarketConfig> {
    let before = problems.len();
    let written = &market.amounts;
    let mut config = market.limits.clone();
    written.set(MarketConfig::LIMITS, spec, &mut config, problems);
    if let EmptyBook::Seed(seed) = &market.empty {
        match seed.value.price(spec) {
            Ok(price) => config.empty = EngineEmpty::Seed(price),
            Err(error) => problems.push(Problem {
                at: seed.at,
                what: format!("this amount: {error}"),
            }),
        }
    }
    if problems.len() == before && config.price_min == Price(0) {
        problems.push(Problem {
            at: market.place("price_floor"),
            what: "market.price_floor must be at least one tick".to_owned(),
        });
    }
    if written.of("order_qty_max").is_none() {
        let least = Price(config.price_min.0.max(1));
        config.order_qty_max = spec.lots_affordable(config.order_value_max, least);
    }
    // Set from the stated loss when all markets are known.
    config.loss = LossConfig::UNLIMITED;
    (problems.len() == before).then_some(config)
}

/// What is wrong with strategies whatever the units of their markets are: kinds and parameters that do not exist, and
/// values that none could have. For a file that does not state the units.
pub fn without_units(daemon: &Daemon) -> Vec<Problem> {
    let choices = daemon.markets.iter().flat_map(|market| &market.strategies);
    let problems = choices.filter_map(|choice| {
        let read = match &choice.process {
            Some(_) => process_settings(choice).map(drop),
            None => info(choice).and_then(|info| {
                Params::read(info.parameters, &choice.params)
                    .map(drop)
                    .map_err(|error| of_parameter(choice, info.name, &error))
            }),
        };
        read.err()
    });
    problems.collect()
}

/// The strategy of the registry that is chosen.
fn info(choice: &StrategyChoice) -> Result<&'static StrategyInfo, Problem> {
    let name = &choice.name.value;
    cambist_strategies::find(name).ok_or_else(|| {
        let known: Vec<_> = cambist_strategies::all()
            .iter()
            .map(|info| info.name)
            .collect();
        let near = crate::config::reader::nearest(name, known.iter().copied());
        let hint = near.map_or_else(
            || format!("known strategies: {}", known.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        Problem {
            at: choice.name.at,
            what: format!("there is no strategy {name:?}; {hint}"),
        }
    })
}

fn of_parameter(choice: &StrategyChoice, name: &str, error: &ParamError) -> Problem {
    Problem {
        at: choice.place(&error.key),
        what: format!("strategy {name}: {error}"),
    }
}

/// The settings of a strategy in a process.
fn process_settings(choice: &StrategyChoice) -> Result<Option<ProcessSettings>, Problem> {
    let name = &choice.name.value;
    let Some(process) = &choice.process else {
        return Ok(None);
    };
    let wrong = |what: String| Problem {
        at: choice.name.at,
        what,
    };
    if cambist_strategies::find(name).is_some() {
        return Err(wrong(format!(
            "{name} is a strategy of this program: a process needs another name in market.strategy.name"
        )));
    }
    let settings = process.settings(&choice.params);
    let settings = settings.map_err(|error| wrong(format!("strategy {name}, params: {error}")));
    settings.map(Some)
}

/// Builds a strategy for its market; an error names the position in the file.
pub(super) fn build(
    choice: &StrategyChoice,
    spec: &MarketSpec,
) -> Result<Box<dyn Strategy>, Problem> {
    if let Some(settings) = process_settings(choice)? {
        return Ok(Box::new(ProcessStrategy::new(settings, spec)));
    }
    let info = info(choice)?;
    info.build_from(&choice.params, spec)
        .map_err(|error| of_parameter(choice, info.name, &error))
}

/// A warning if a strategy counts with a lower maker fee than the account pays: its distances need not earn the
/// difference.
fn fee_not_earned(choice: &StrategyChoice, spec: &MarketSpec, maker_bips: u16) -> Option<String> {
    const FEE: &str = "fee_bps";
    let info = cambist_strategies::find(&choice.name.value)?;
    if info.takes(&choice.params) {
        return None;
    }
    let declared = info.parameters.iter().find(|one| one.name == FEE)?;
    let written = choice.params.get(FEE).map(toml::Value::to_string);
    let text = written.or_else(|| declared.default.map(ToOwned::to_owned))?;
    let counted: f64 = text.parse().ok()?;
    (counted < f64::from(maker_bips)).then(|| {
        format!(
            "market {}: {} counts with a maker fee of {FEE} = {text}, and fees.maker_bips is {maker_bips}: its distances need not earn the difference",
            spec.name, choice.name.value
        )
    })
}

/// The base holdings at which a strategy of two legs quotes most: no open leg, or the largest one on either side. Empty
/// for other strategies.
fn legs(choice: &StrategyChoice, spec: &MarketSpec) -> Vec<Amount> {
    let leg = cambist_strategies::find(&choice.name.value)
        .and_then(|info| info.open_leg(&choice.params, spec));
    leg.map_or_else(Vec::new, |leg| {
        vec![
            leg.target,
            leg.target.saturating_add(leg.base),
            leg.target.saturating_sub(leg.base),
        ]
    })
}

/// The quotes of a strategy in a quiet market: mid in the middle of the price band, orders of others a tick from it, a
/// pool at that price, other markets that agree with it, no own orders, `base` held, sufficient quote.
pub(super) fn quiet(
    strategy: &mut dyn Strategy,
    spec: &MarketSpec,
    markets: &[MarketSpec],
    config: &MarketConfig,
    base: Amount,
) -> Vec<Quote> {
    let mid = config.price_min.0.saturating_add(config.price_max.0);
    let lots = spec.lots_floor(config.inventory_max);
    let price = Price(mid / 2);
    let quote = spec.quote_amount(price, lots).unwrap_or(0);
    let level = |price| {
        [BookLevel {
            price: Price(price),
            qty: Qty(u64::MAX),
        }]
    };
    let bids = level(price.0.saturating_sub(1).max(1));
    let asks = level(price.0.saturating_add(1));
    let references = strategy.references().to_vec();
    let references: Vec<_> = references
        .iter()
        .map(|name| Reference {
            name,
            mid: Some(mid),
        })
        .collect();
    let elsewhere = reads::elsewhere(strategy, spec);
    let others = reads::agreeing(strategy, spec, mid, markets, &elsewhere);
    let others: Vec<_> = others
        .iter()
        .map(|(market, mid)| reads::seen(market, *mid))
        .collect();
    let view = View {
        now: Time::default(),
        market: spec,
        bids: &bids,
        asks: &asks,
        mid,
        holdings: Holdings { base, quote },
        pool: spec.base_amount(lots).map(|base| PoolView {
            base,
            quote,
            supply: 1,
            range: None,
            owed: None,
            held: 0,
            moving: false,
            moved: None,
            // Of any value, and without fees, so that nothing keeps a strategy from quoting.
            swap: SwapTerms {
                possible: true,
                value_max: Amount::MAX >> 32,
                ..SwapTerms::default()
            },
        }),
        references: &references,
        markets: &others,
        own: &[],
        fills: &[],
        traded: Traded::default(),
        unknown: [0; 2],
        taker_fee_bips: 0,
    };
    let mut targets = Targets::default();
    strategy.decide(&view, &mut targets);
    targets.quotes().to_vec()
}
