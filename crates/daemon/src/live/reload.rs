//! Changes the configuration while running: limits, intervals, budgets and parameters of strategies may change; what a
//! start depends on may not. An invalid file or value changes nothing.

use std::path::{Path, PathBuf};

use cambist_core::config::EngineConfig;
use cambist_core::event::StrategyParameters;
use cambist_core::{MarketId, MarketSpec, StrategyId};
use cambist_store::SetParameter;

use crate::config::Daemon;
use crate::config::parameters::{Assignment, assigned};
use crate::config::pool::Pool;
use crate::config::process::ProcessChoice;
use crate::portfolio::PortfolioFile;
use crate::recording;
use crate::telemetry::parameters::ParameterDifference;

/// The current configuration, its file, and the parameters that operators set in place of the file's.
pub struct Reload {
    path: PathBuf,
    /// As it was read last.
    file: Daemon,
    /// The parameters that operators set.
    set: Vec<SetParameter>,
    /// Both together.
    now: Daemon,
    markets: Vec<MarketSpec>,
    /// The portfolio that it is a venue of.
    portfolio: Option<PortfolioFile>,
}

/// Another configuration, checked against the running daemon.
#[derive(Debug)]
pub struct Prepared {
    file: Daemon,
    set: Vec<SetParameter>,
    now: Daemon,
    /// For the engine.
    pub engine: EngineConfig,
    /// The strategies whose parameters differ.
    pub parameters: Vec<StrategyParameters>,
}

impl Reload {
    /// For a daemon that was started with this file and these parameters on these markets.
    pub fn new(file: &Daemon, set: Vec<SetParameter>, markets: &[MarketSpec]) -> Self {
        Self {
            path: file.source.path.clone(),
            now: file.with_set(&set),
            file: file.clone(),
            set,
            markets: markets.to_vec(),
            portfolio: None,
        }
    }

    /// The same, of a venue of this portfolio.
    #[must_use]
    pub fn beside(self, portfolio: Option<PortfolioFile>) -> Self {
        Self { portfolio, ..self }
    }

    /// What was read for a reply: the file, and what only the next start applies.
    pub fn about(&self) -> String {
        let read = format!("{} was read", self.path.display());
        let portfolio = self.portfolio.as_ref();
        match portfolio.and_then(PortfolioFile::not_applied) {
            None => read,
            Some(not_applied) => {
                tracing::warn!("{not_applied}");
                format!("{read}; {not_applied}")
            }
        }
    }

    /// The current configuration.
    pub const fn now(&self) -> &Daemon {
        &self.now
    }

    /// Reads the file and checks it against the running daemon. An error has line and column if the file is invalid. A
    /// `named` file (absolute, without symbolic links) must be the daemon's own: no other is read, now or by the next
    /// start. Parameters that operators set stay in place of the file's.
    pub fn read(&self, named: Option<&Path>) -> Result<Prepared, String> {
        if let Some(named) = named {
            let own = self.path.canonicalize();
            let own = own.map_err(|error| format!("{}: {error}", self.path.display()))?;
            if own != named {
                return Err(format!(
                    "{} was not read: the daemon runs with {}; nothing was reloaded. Change that file and reload with it, or restart the daemon with the other",
                    named.display(),
                    own.display()
                ));
            }
        }
        let mut new = Daemon::load(&self.path).map_err(|error| error.to_string())?;
        if new.metrics_is_usual && self.file.metrics_is_usual {
            // Beside other venues it was given another port.
            new.metrics = self.file.metrics;
        }
        let fixed: Vec<_> = fixed(&self.file)
            .into_iter()
            .zip(fixed(&new))
            .filter(|(old, new)| old.1 != new.1)
            .map(|(old, _)| old.0)
            .collect();
        if !fixed.is_empty() {
            return Err(format!(
                "{}: {} cannot change while the daemon runs; restart it",
                self.path.display(),
                fixed.join(", ")
            ));
        }
        for (market, spec) in new.markets.iter().zip(&self.markets) {
            if let Some((expected, key, found)) = market.unexpected(spec).first() {
                return Err(format!(
                    "{}:{}: market.{key} = {} but the venue published {found} for {}",
                    self.path.display(),
                    expected.at.line,
                    expected.value,
                    spec.name
                ));
            }
        }
        self.prepare(new, self.set.clone())
    }

    /// Checks parameters that an operator sets. Also returns them as the store keeps them.
    pub fn assign(
        &self,
        assignments: &[Assignment],
        operator: &str,
        reason: &str,
        at_us: u64,
    ) -> Result<(Prepared, Vec<SetParameter>), String> {
        if assignments.is_empty() {
            return Err("no parameter is named".to_owned());
        }
        let mut set = self.set.clone();
        let mut rows = Vec::new();
        for (at, one) in assignments.iter().enumerate() {
            let same = |other: &Assignment| {
                (&other.market, &other.strategy, &other.path)
                    == (&one.market, &one.strategy, &one.path)
            };
            if assignments.iter().skip(at + 1).any(same) {
                return Err(format!("{}.{} is named twice", one.strategy, one.path));
            }
            let row = self.row(&set, one)?;
            let row = SetParameter {
                operator: operator.to_owned(),
                reason: reason.to_owned(),
                at_us,
                ..row
            };
            for list in [&mut set, &mut rows] {
                list.retain(|known| !is_of(known, &row));
                list.push(row.clone());
            }
        }
        set.retain(|one| one.value.is_some());
        let now = self.file.with_set(&set);
        for one in assignments {
            self.check(&now, one)?;
        }
        Ok((self.prepare(self.file.clone(), set)?, rows))
    }

    /// An assignment as a row of the store. `set` is what was set before it.
    fn row(&self, set: &[SetParameter], one: &Assignment) -> Result<SetParameter, String> {
        let Assignment {
            market, strategy, ..
        } = one;
        let now = self.file.with_set(set);
        let choice = now.choice(market, strategy);
        let choice = choice.ok_or_else(|| {
            format!("{market} has several strategies {strategy}; change the file and reload")
        })?;
        let named = |why: String| format!("{strategy}.{why}");
        let (key, value) = match &one.value {
            Some(text) => {
                let (key, value) = assigned(&choice.params, &one.path, text).map_err(named)?;
                (key, Some(value.to_string()))
            }
            None => (one.path.clone(), None),
        };
        let row = SetParameter {
            market: market.clone(),
            strategy: strategy.clone(),
            key,
            value,
            operator: String::new(),
            reason: String::new(),
            at_us: 0,
        };
        if row.value.is_none() && !set.iter().any(|known| is_of(known, &row)) {
            let name = &row.key;
            return Err(format!(
                "{strategy}.{name} was not set: the file's value applies already"
            ));
        }
        Ok(row)
    }

    /// Builds the strategy of an assignment alone, so that an error names the parameter and not a line of the file.
    fn check(&self, now: &Daemon, one: &Assignment) -> Result<(), String> {
        let spec = self.markets.iter().find(|spec| spec.name == one.market);
        let choice = now.choice(&one.market, &one.strategy);
        let (Some(spec), Some(choice)) = (spec, choice) else {
            return Ok(());
        };
        let name = &one.strategy;
        match (&choice.process, cambist_strategies::find(name)) {
            (Some(process), _) => {
                let settings = process.settings(&choice.params).map(|_| ());
                settings.map_err(|error| format!("{name}.{error}"))
            }
            (None, Some(info)) => {
                let built = info.build_from(&choice.params, spec).map(|_| ());
                built.map_err(|error| format!("{name}.{error}"))
            }
            (None, None) => Ok(()),
        }
    }

    fn prepare(&self, file: Daemon, set: Vec<SetParameter>) -> Result<Prepared, String> {
        let now = file.with_set(&set);
        let pools = now.expected_pools(&self.markets);
        let bound = now.bind_specs(self.markets.clone(), pools);
        let engine = bound.map_err(|error| error.to_string())?.engine;
        let choices = |daemon: &Daemon| -> Vec<String> {
            let markets = daemon.markets.iter();
            let choices = markets.flat_map(|market| &market.strategies);
            choices.map(recording::parameters_text).collect()
        };
        let texts = (0..).zip(choices(&self.now)).zip(choices(&now));
        let parameters = texts
            .filter(|((_, old), new)| old != new)
            .map(|((id, _), text)| StrategyParameters {
                strategy: StrategyId(id),
                text,
            })
            .collect();
        Ok(Prepared {
            file,
            set,
            now,
            engine,
            parameters,
        })
    }

    /// Sets the current configuration.
    pub fn accept(&mut self, prepared: Prepared) {
        let Prepared { file, set, now, .. } = prepared;
        (self.file, self.set, self.now) = (file, set, now);
    }

    /// The parameters that operators set, with the file's values.
    pub fn differences(&self) -> Vec<ParameterDifference> {
        differences(&self.file, &self.set)
    }
}

/// The parameters that operators set, with the values of a file.
pub fn differences(file: &Daemon, set: &[SetParameter]) -> Vec<ParameterDifference> {
    let each = set.iter().map(|one| ParameterDifference {
        in_file: file.value_text(&one.market, &one.strategy, &one.key),
        applies: file.choice(&one.market, &one.strategy).is_some(),
        set: one.clone(),
    });
    each.collect()
}

/// Whether both are about one parameter.
fn is_of(one: &SetParameter, other: &SetParameter) -> bool {
    (&one.market, &one.strategy, &one.key) == (&other.market, &other.strategy, &other.key)
}

/// What a start depends on, by section, as comparable text.
fn fixed(daemon: &Daemon) -> [(&'static str, String); 10] {
    let venue = (&daemon.venue.base_url.value, &daemon.venue.terms);
    let markets: Vec<_> = daemon
        .markets
        .iter()
        .map(|market| {
            let strategies = market.strategies.iter().map(|choice| {
                let process = choice.process.as_ref().map(ProcessChoice::spec);
                let reads = choice
                    .process
                    .as_ref()
                    .map(|process| &process.markets.value);
                format!("{} {process:?} {reads:?}", choice.name.value)
            });
            let pool = market.pool.as_ref().map(Pool::values);
            // Without their places in the file, which any edit moves.
            let feeds = market.references(MarketId(0));
            let strategies = strategies.collect::<Vec<_>>();
            let feeds = feeds.into_iter().map(|(source, feed)| {
                (
                    source,
                    feed.url.value,
                    feed.poll_ms,
                    feed.pointers,
                    feed.quantity_decimals,
                )
            });
            (
                &market.name.value,
                strategies,
                pool,
                feeds.collect::<Vec<_>>(),
            )
        })
        .collect();
    [
        ("mode", daemon.mode.name().to_owned()),
        ("[venue] or the folders of [keys]", format!("{venue:?}")),
        ("[keys]", format!("{:?}", daemon.keys)),
        ("[store]", format!("{:?}", daemon.store)),
        ("[tape]", format!("{:?}", daemon.tape)),
        ("[metrics]", format!("{:?}", daemon.metrics)),
        (
            "[shutdown] on_shutdown",
            format!("{:?}", daemon.on_shutdown),
        ),
        ("[fees]", format!("{:?}", daemon.fee_bips)),
        // A start compares them with the chain, and what is proven dead is proven with them.
        (
            "orders.ttl_s or orders.grace_s of an account on a chain",
            if daemon.venue.compares_lifetimes() {
                format!("{} {}", daemon.engine.ttl_ms, daemon.engine.grace_ms)
            } else {
                String::new()
            },
        ),
        (
            "[[market]] names, the strategies of [[market.strategy]], [market.pool] or [[market.reference_feed]]",
            format!("{markets:?}"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use tempfile::TempDir;

    fn reload() -> (TempDir, Reload, String) {
        let folder = crate::testing::private_folder();
        let path = folder.path().join("daemon.toml");
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        let text = std::fs::read_to_string(example).unwrap();
        std::fs::write(&path, &text).unwrap();
        let daemon = Daemon::load(&path).unwrap();
        let markets = daemon.bind_expected().unwrap().unwrap().markets;
        (folder, Reload::new(&daemon, Vec::new(), &markets), text)
    }

    #[test]
    fn limits_change_and_lines_may_move() {
        let (_folder, mut reload, text) = reload();
        let new = format!(
            "# a line\n{}",
            text.replace("collar_bps = 200", "collar_bps = 150")
        );
        std::fs::write(&reload.path, new).unwrap();
        let prepared = reload.read(None).unwrap();
        assert_eq!(prepared.engine.markets[0].collar_bps, 150);
        assert_eq!(prepared.parameters, []);
        reload.accept(prepared);
        assert!(reload.read(None).is_ok());
    }

    #[test]
    fn what_a_start_rests_on_stays_and_mistakes_have_a_place() {
        let (_folder, reload, text) = reload();
        for (from, to, section) in [
            ("account_id = 10000", "account_id = 10001", "[venue]"),
            ("keep_days = 1", "keep_days = 2", "[store]"),
            ("taker_bips = 10", "taker_bips = 11", "[fees]"),
            (
                "name = \"lp_manager\"",
                "name = \"ladder\"",
                "[[market.strategy]]",
            ),
            (
                "[market.pool]",
                "[[market.reference_feed]]\nname = \"a\"\ntemplate = \"okx\"\nsymbol = \"ETH-USDC\"\n\n[market.pool]",
                "[[market.reference_feed]]",
            ),
        ] {
            std::fs::write(&reload.path, text.replace(from, to)).unwrap();
            let why = reload.read(None).unwrap_err();
            assert!(why.contains(section) && why.contains("restart"), "{why}");
        }
        let other = text.replace("base_precision = 6", "base_precision = 5");
        std::fs::write(&reload.path, other).unwrap();
        let why = reload.read(None).unwrap_err();
        assert!(why.contains("market.base_precision = 5"), "{why}");
        let wrong = text.replace("collar_bps = 200", "collar_bps = 0");
        std::fs::write(&reload.path, wrong).unwrap();
        let line = 1 + text
            .lines()
            .position(|line| line.starts_with("collar_bps"))
            .unwrap();
        let why = reload.read(None).unwrap_err();
        assert!(why.contains(&format!("daemon.toml:{line}:")), "{why}");
        std::fs::remove_file(&reload.path).unwrap();
        assert!(reload.read(None).is_err());
    }

    fn assignment(path: &str, value: Option<&str>) -> Assignment {
        Assignment {
            market: "ETH-USDC".to_owned(),
            strategy: "lp_manager".to_owned(),
            path: path.to_owned(),
            value: value.map(str::to_owned),
        }
    }

    /// What an operator sets is in place of the file's until it is restored, also over a reload.
    #[test]
    fn parameters_are_set_and_restored() {
        let (_folder, mut reload, text) = reload();
        let set = |reload: &Reload, assignments: &[Assignment]| {
            reload.assign(assignments, "alice", "volatile", 7)
        };
        assert_eq!(reload.differences(), []);
        let two = [
            assignment("pause_above_bps", Some("50")),
            assignment("cool_down_s", Some("21")),
        ];
        let twice = [
            &two[..],
            std::slice::from_ref(&assignment("cool_down_s", Some("20"))),
        ]
        .concat();
        let why = set(&reload, &twice).unwrap_err();
        assert_eq!(why, "lp_manager.cool_down_s is named twice");
        let (prepared, rows) = set(&reload, &two).unwrap();
        let of = |rows: &[SetParameter]| -> Vec<_> {
            let each = rows.iter();
            each.map(|one| (one.key.clone(), one.value.clone()))
                .collect()
        };
        let text_of = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
        let expected = [
            text_of("pause_above_bps", "50"),
            text_of("cool_down_s", "21"),
        ];
        assert_eq!(of(&rows), expected);
        let who =
            |one: &SetParameter| (one.operator == "alice", one.reason == "volatile", one.at_us);
        assert!(rows.iter().all(|one| who(one) == (true, true, 7)));
        assert_eq!(prepared.parameters.len(), 1, "of one strategy");
        assert_eq!(prepared.parameters[0].strategy, StrategyId(1));
        reload.accept(prepared);
        let differences = reload.differences();
        let shown: Vec<_> = differences
            .iter()
            .map(|one| (one.set.key.as_str(), one.in_file.as_deref(), one.applies))
            .collect();
        let expected = [
            ("pause_above_bps", Some("60"), true),
            ("cool_down_s", Some("10"), true),
        ];
        assert_eq!(shown, expected);
        // A reload keeps them.
        std::fs::write(
            &reload.path,
            text.replace("collar_bps = 200", "collar_bps = 150"),
        )
        .unwrap();
        let again = reload.read(None).unwrap();
        assert_eq!((again.set.len(), again.parameters.len()), (2, 0));
        reload.accept(again);
        // Restored one by one.
        let (restored, rows) = set(&reload, &[assignment("cool_down_s", None)]).unwrap();
        assert_eq!(of(&rows), [("cool_down_s".to_owned(), None)]);
        reload.accept(restored);
        assert_eq!(reload.differences().len(), 1);
        let why = set(&reload, &[assignment("cool_down_s", None)]).unwrap_err();
        assert!(why.contains("was not set"), "{why}");
        let wrong = set(&reload, &[assignment("cool_down_s", Some("-1"))]).unwrap_err();
        assert!(wrong.starts_with("lp_manager.cool_down_s"), "{wrong}");
        assert!(set(&reload, &[]).is_err());
        let other = Assignment {
            strategy: "ladder".to_owned(),
            ..assignment("order_levels", Some("2"))
        };
        let why = set(&reload, &[other]).unwrap_err();
        assert!(why.contains("ladder"), "{why}");
    }

    /// A venue of a portfolio that was given another port than the usual one of its file.
    #[test]
    fn a_port_that_was_given_at_the_start_is_no_change() {
        let (_folder, mut reload, text) = reload();
        assert!(reload.file.metrics_is_usual);
        reload.file.metrics.set_port(9_465);
        assert!(reload.read(None).is_ok());
        let other = text.replace("127.0.0.1:9464", "127.0.0.1:9466");
        assert_ne!(other, text);
        std::fs::write(&reload.path, other).unwrap();
        let why = reload.read(None).unwrap_err();
        assert!(why.contains("[metrics] cannot change"), "{why}");
    }

    #[test]
    fn a_reply_names_what_only_a_start_of_the_portfolio_applies() {
        let (folder, reload, _) = reload();
        let read = format!("{} was read", reload.path.display());
        assert_eq!(reload.about(), read);
        let path = folder.path().join("portfolio.toml");
        let text = "config_version = 1\n[portfolio]\nexposure_max = \"20 USD\"\n[[venue]]\nname = \"one\"\nconfig = \"daemon.toml\"\n";
        std::fs::write(&path, text).unwrap();
        let reload = reload.beside(Some(PortfolioFile::load(&path).unwrap()));
        assert_eq!(reload.about(), read);
        std::fs::write(&path, text.replace("20 USD", "10 USD")).unwrap();
        let about = reload.about();
        let rest = about.strip_prefix(&read).unwrap();
        assert!(
            rest.starts_with("; ") && rest.contains("was not applied"),
            "{about}"
        );
    }

    /// Everything that a start depends on, one by one.
    #[test]
    fn what_a_start_depends_on_is_compared() {
        let (_folder, reload, text) = reload();
        for (from, to) in [
            (
                "owner = \"0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e010\"",
                "owner = \"0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e011\"",
            ),
            ("chain_id = 1", "chain_id = 2"),
            (
                "base_url = \"http://127.0.0.1:8787\"",
                "base_url = \"http://127.0.0.1:8788\"",
            ),
            ("max_mb = 256", "max_mb = 255"),
            ("listen = \"127.0.0.1:9464\"", "listen = \"127.0.0.1:9465\""),
            ("maker_bips = 0", "maker_bips = 1"),
            (
                "api_key_file = \"../target/two-terminals/keys/api_key\"",
                "api_key_file = \"../target/two-terminals/keys/other\"",
            ),
        ] {
            assert!(text.contains(from), "{from}");
            std::fs::write(&reload.path, text.replace(from, to)).unwrap();
            let why = reload.read(None).unwrap_err();
            assert!(
                why.contains("cannot change while the daemon runs"),
                "{from}: {why}"
            );
        }
        // What may change is not among it.
        let other = text.replace("request_timeout_ms = 2000", "request_timeout_ms = 1900");
        std::fs::write(&reload.path, other).unwrap();
        assert!(reload.read(None).is_ok());
    }

    /// What is proven dead on a chain is proven with the grace of the start.
    #[test]
    fn times_of_orders_on_a_chain_are_those_of_the_start() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/evm-pools.toml");
        let daemon = Daemon::load(std::path::Path::new(example)).unwrap();
        let changed = |change: fn(&mut Daemon)| {
            let mut other = daemon.clone();
            change(&mut other);
            let pairs = fixed(&daemon).into_iter().zip(fixed(&other));
            pairs.filter(|(old, new)| old.1 != new.1).count()
        };
        assert_eq!(changed(|_| ()), 0);
        assert_eq!(changed(|other| other.engine.grace_ms -= 1), 1);
        assert_eq!(changed(|other| other.engine.ttl_ms += 1), 1);
        let (_folder, reload, _) = reload();
        let mut other = reload.file.clone();
        other.engine.grace_ms += 1;
        let pairs = fixed(&reload.file).into_iter().zip(fixed(&other));
        assert_eq!(pairs.filter(|(old, new)| old.1 != new.1).count(), 0);
    }

    #[test]
    fn a_file_that_was_named_is_the_one_of_the_daemon() {
        let (folder, reload, text) = reload();
        let own = reload.path.canonicalize().unwrap();
        assert!(reload.read(Some(&own)).is_ok());
        let other = folder.path().canonicalize().unwrap().join("other.toml");
        std::fs::write(&other, &text).unwrap();
        let why = reload.read(Some(&other)).unwrap_err();
        for file in [&own, &other] {
            assert!(why.contains(&file.display().to_string()), "{why}");
        }
    }
}
