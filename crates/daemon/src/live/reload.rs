//! Reloads the configuration while running: limits, intervals and budgets may change; what a start depends on may not.
//! An invalid file changes nothing.

use std::path::{Path, PathBuf};

use cambist_core::MarketSpec;
use cambist_core::config::EngineConfig;

use crate::config::Daemon;
use crate::config::pool::Pool;
use crate::config::process::ProcessChoice;

/// The current configuration and its file.
pub struct Reload {
    path: PathBuf,
    now: Daemon,
    markets: Vec<MarketSpec>,
}

impl Reload {
    /// For a daemon that was started with this file on these markets.
    pub fn new(now: &Daemon, markets: &[MarketSpec]) -> Self {
        Self {
            path: now.source.path.clone(),
            now: now.clone(),
            markets: markets.to_vec(),
        }
    }

    /// The current configuration.
    pub const fn now(&self) -> &Daemon {
        &self.now
    }

    /// Reads the file and checks it against the running daemon. An error has line and column if the file is invalid. A
    /// `named` file (absolute, without symbolic links) must be the daemon's own: no other is read, now or by the next
    /// start.
    pub fn read(&self, named: Option<&Path>) -> Result<(Daemon, EngineConfig), String> {
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
        let new = Daemon::load(&self.path).map_err(|error| error.to_string())?;
        let fixed: Vec<_> = fixed(&self.now)
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
        let pools = new.expected_pools(&self.markets);
        let bound = new.bind_specs(self.markets.clone(), pools);
        let engine = bound.map_err(|error| error.to_string())?.engine;
        Ok((new, engine))
    }

    /// Sets the current configuration.
    pub fn set_current(&mut self, config: Daemon) {
        self.now = config;
    }
}

/// What a start depends on, by section, as comparable text.
fn fixed(daemon: &Daemon) -> [(&'static str, String); 9] {
    let venue = &daemon.venue;
    let link = (
        &venue.base_url.value,
        venue.account_id,
        &venue.owner,
        venue.chain_id,
        &venue.exchange,
    );
    let markets: Vec<_> = daemon
        .markets
        .iter()
        .map(|market| {
            let strategies = market.strategies.iter().map(|choice| {
                let process = choice.process.as_ref().map(ProcessChoice::spec);
                format!("{} {} {process:?}", choice.name.value, choice.params)
            });
            let pool = market.pool.as_ref().map(Pool::values);
            (&market.name.value, strategies.collect::<Vec<_>>(), pool)
        })
        .collect();
    [
        ("mode", daemon.mode.name().to_owned()),
        ("[venue]", format!("{link:?}")),
        ("[keys]", format!("{:?}", daemon.keys)),
        ("[store]", format!("{:?}", daemon.store)),
        ("[tape]", format!("{:?}", daemon.tape)),
        ("[metrics]", format!("{:?}", daemon.metrics)),
        (
            "[shutdown] on_shutdown",
            format!("{:?}", daemon.on_shutdown),
        ),
        ("[fees]", format!("{:?}", daemon.fee_bips)),
        (
            "[[market]] names, [[market.strategy]] or [market.pool]",
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
        (folder, Reload::new(&daemon, &markets), text)
    }

    #[test]
    fn limits_change_and_lines_may_move() {
        let (_folder, mut reload, text) = reload();
        let new = format!(
            "# a line\n{}",
            text.replace("collar_bps = 200", "collar_bps = 150")
        );
        std::fs::write(&reload.path, new).unwrap();
        let (daemon, engine) = reload.read(None).unwrap();
        assert_eq!(engine.markets[0].collar_bps, 150);
        reload.set_current(daemon);
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
                "avg_amount = 0.6",
                "avg_amount = 0.7",
                "[[market.strategy]]",
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
