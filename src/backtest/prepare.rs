//! From a configuration and data to a run that is ready to go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cambist_backtest::Setup;
use cambist_core::event::Amounts;
use cambist_core::{Amount, MarketSpec, TokenId};
use cambist_market_data::segment::ReadOptions;
use cambist_market_data::{Grid, OpenOptions, Recording, Step, open};

use crate::backtest::arguments::DataFile;
use crate::backtest::inputs::Inputs;
use crate::backtest::recorded_run::RecordedRun;
use crate::backtest::{processes, scenario, simulated, tape};
use crate::exit::{Exit, Failure};
use cambist_config::money::Money;
use cambist_daemon::config::resolve::Bound;
use cambist_daemon::config::{Daemon, feasible, process, resolve};

fn usage(what: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, what)
}

/// Opens the data for a configuration. The recorded runs are those of the tapes among them.
pub fn prepare_with(args: &Inputs, daemon: &Daemon) -> anyhow::Result<(Setup, Vec<RecordedRun>)> {
    let bound = simulated::bound(daemon)?;
    let processes = processes::start(&bound)?;
    let (data, runs) = recordings(args, &bound.markets)?;
    check_options(args, &data)?;
    let opening = opening(args, &bound)?;
    let assumptions = args.assumptions(daemon)?;
    let setup = Setup {
        references: Vec::new(),
        strategies: bound.built(),
        engine: bound.engine,
        tokens: bound.tokens,
        markets: bound.markets,
        data,
        opening,
        assumptions,
        from: args.from,
        to: args.to,
        sample_ms: args.sample,
        observer: None,
        processes,
    };
    Ok((setup, runs))
}

/// Binds a configuration to the units that it states itself, and refuses one that could never quote. `None` if it does
/// not state them for every market.
pub fn bound_if_stated(daemon: &Daemon) -> anyhow::Result<Option<Bound>> {
    let bound = daemon.bind_expected().transpose()?;
    let mut forbidden = process::problems(daemon);
    if bound.is_none() {
        forbidden.extend(resolve::without_units(daemon));
    }
    if !forbidden.is_empty() {
        return Err(daemon.source.invalid(forbidden).into());
    }
    if let Some(bound) = &bound {
        let never = feasible::never_quoted(daemon, bound);
        if !never.is_empty() {
            return Err(daemon.source.invalid(never).into());
        }
    }
    Ok(bound)
}

/// As [`bound_if_stated`], and refuses a configuration that does not state its units.
pub fn bound_without_venue(daemon: &Daemon) -> anyhow::Result<Bound> {
    bound_if_stated(daemon)?.ok_or_else(|| {
        let file = daemon.source.path.display();
        Failure::new(
            Exit::Refused,
            format!(
                "{file}: no venue is asked here: every market must state base_decimals, quote_decimals and price_decimals; `cambist check --pin --config {file}` prints what the venue publishes"
            ),
        )
        .into()
    })
}

/// Refuses options that have no effect on the data.
pub fn check_options(args: &Inputs, data: &[Recording]) -> Result<(), Failure> {
    let are_ticks = data.iter().all(|data| matches!(data, Recording::Events(_)));
    if args.traded_share > 0 && are_ticks {
        return Err(usage(
            "--traded-share is for snapshots, between which trades are not known: these data are ticks, which have their trades, so that it has no effect",
        ));
    }
    Ok(())
}

/// Opens the data of every market, with the recorded runs of the tapes among them.
pub fn recordings(
    args: &Inputs,
    markets: &[MarketSpec],
) -> anyhow::Result<(Vec<Recording>, Vec<RecordedRun>)> {
    let mut files: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
    for DataFile { market, path } in &args.data {
        let index = match market {
            Some(name) => markets.iter().position(|spec| spec.name == *name),
            None if markets.len() == 1 => Some(0),
            None => None,
        };
        let Some(index) = index else {
            let names: Vec<_> = markets.iter().map(|spec| spec.name.as_str()).collect();
            let what = match market {
                Some(name) => format!(
                    "--data {name}=…: the configuration has no market {name}; it has {}",
                    names.join(", ")
                ),
                None => format!(
                    "--data {}: say of which market, as --data {}=PATH; the configuration has {}",
                    path.display(),
                    names[0],
                    names.join(", ")
                ),
            };
            return Err(usage(what).into());
        };
        files.entry(index).or_default().push(path.clone());
    }
    let mut runs = Vec::new();
    let each = markets.iter().enumerate();
    let recordings = each.map(|(index, spec)| {
        let Some(paths) = files.get(&index) else {
            let name = &spec.name;
            return Err(usage(format!("market {name} has no data: --data {name}=PATH")).into());
        };
        let mut options = OpenOptions {
            default_grid: own_grid(spec),
            ignored_columns: args.ignore_column.clone(),
            tolerance: args.skip,
            max_gap_nanos: i64::try_from(args.max_gap * 1_000).unwrap_or(i64::MAX),
            price_factor: args.price_factor.0,
            parquet: cfg!(feature = "parquet"),
            ..OpenOptions::default()
        };
        (options.units.tick, options.units.lot) = (args.tick, args.lot);
        let read = ReadOptions {
            tolerance: options.tolerance,
            max_gap_nanos: options.max_gap_nanos,
            price_factor: options.price_factor,
        };
        match kind(paths)? {
            Kind::Files => Ok(open(paths, &options)?),
            Kind::Tape(path) => {
                let run = RecordedRun::new(&spec.name, args.from);
                runs.push(run.clone());
                tape::open(&tape::below(path), &spec.name, read, Some(run))
            }
            Kind::Scenario(name) => {
                let play = scenario::Play {
                    name,
                    duration_ms: args.scenario_duration * 1_000,
                    seed: args.seed,
                };
                scenario::open(play, spec, read)
            }
        }
    });
    let recordings = recordings.collect::<anyhow::Result<_>>()?;
    Ok((recordings, runs))
}

/// What the data of a market are.
enum Kind<'a> {
    /// Files that state their format by their names.
    Files,
    /// A tape.
    Tape(&'a Path),
    /// A scenario of this name or path.
    Scenario(&'a str),
}

fn kind(paths: &[PathBuf]) -> Result<Kind<'_>, Failure> {
    let each: Vec<_> = paths.iter().map(|path| kind_of(path)).collect();
    match each.len() {
        1 => Ok(each.into_iter().next().unwrap_or(Kind::Files)),
        _ if each.iter().all(|kind| matches!(kind, Kind::Files)) => Ok(Kind::Files),
        _ => Err(usage(
            "a tape or a scenario is all of a market's data: name it once; several tapes are one folder",
        )),
    }
}

fn kind_of(path: &Path) -> Kind<'_> {
    if let Some(name) = scenario_of(path) {
        return Kind::Scenario(name);
    }
    match tape_of(path) {
        Some(tape) => Kind::Tape(tape),
        None if tape::is_tape(path) => Kind::Tape(path),
        None => Kind::Files,
    }
}

/// The scenario that `scenario:NAME` means.
pub fn scenario_of(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix("scenario:")
}

/// The path that `tape:PATH` means.
pub fn tape_of(path: &Path) -> Option<&Path> {
    path.to_str()?.strip_prefix("tape:").map(Path::new)
}

/// Tick and lot of a market whose data does not state them.
pub fn own_grid(spec: &MarketSpec) -> Option<Grid> {
    let digits = u8::try_from(spec.lot.ilog10()).ok()?;
    Some(Grid {
        tick: Step::new(1, spec.price_decimals).ok()?,
        lot: Step::new(1, spec.base.decimals.checked_sub(digits)?).ok()?,
    })
}

/// What the account holds at the beginning: as requested, else the middle of every inventory band and the quote
/// tokens that fill it at the highest price.
fn opening(args: &Inputs, bound: &Bound) -> anyhow::Result<Amounts> {
    if args.balance.is_empty() {
        return usual_opening(bound).ok_or_else(|| {
            usage("the inventory bands are too large to be paid for: say --balance").into()
        });
    }
    let mut opening: Amounts = traded(bound).map(|token| (token, 0)).collect();
    for (index, (symbol, amount)) in args.balance.iter().enumerate() {
        let earlier = &args.balance[..index];
        if earlier.iter().any(|(other, _)| other == symbol) {
            return Err(usage(format!("--balance {symbol} is given twice")).into());
        }
        let token = bound.tokens.iter().find(|token| token.symbol == *symbol);
        let Some(token) = token else {
            let symbols: Vec<_> = bound
                .tokens
                .iter()
                .map(|token| token.symbol.as_str())
                .collect();
            let known = symbols.join(", ");
            return Err(usage(format!(
                "--balance {symbol}={amount}: there is no token {symbol}; there are {known}"
            ))
            .into());
        };
        let units = Money::parse(amount)
            .ok_or_else(|| "it must be a decimal such as 2.5".to_owned())
            .and_then(|money| money.units(token).map_err(|error| error.to_string()))
            .map_err(|why| usage(format!("--balance {symbol}={amount}: {why}")))?;
        opening.insert(token.id, units);
    }
    Ok(opening)
}

fn traded(bound: &Bound) -> impl Iterator<Item = TokenId> + '_ {
    let tokens = bound.markets.iter();
    tokens.flat_map(|spec| [spec.base.id, spec.quote.id])
}

/// What an account holds at the beginning unless requested otherwise (`usual`), else none of any token. `None`
/// if the inventory bands are too large to be paid for.
pub fn held_at_first(bound: &Bound, usual: bool) -> Option<Amounts> {
    if usual {
        return usual_opening(bound);
    }
    Some(traded(bound).map(|token| (token, 0)).collect())
}

fn usual_opening(bound: &Bound) -> Option<Amounts> {
    let mut opening: Amounts = traded(bound).map(|token| (token, 0)).collect();
    for (spec, limits) in bound.markets.iter().zip(&bound.engine.markets) {
        let base = limits.inventory_min.midpoint(limits.inventory_max);
        let missing = spec.lots_floor(limits.inventory_max - base);
        let quote = spec.quote_amount(limits.price_max, missing)?;
        let add = |held: &mut Amount, more: Amount| {
            *held = held.checked_add(more)?;
            Some(())
        };
        // Markets that share a base token share its band.
        let held = opening.entry(spec.base.id).or_default();
        *held = (*held).max(base);
        add(opening.entry(spec.quote.id).or_default(), quote)?;
    }
    Some(opening)
}
