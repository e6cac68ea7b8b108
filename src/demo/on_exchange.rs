//! The demo on an exchange of its own, with simulated traders: its process, its scenario, faults at its operator's
//! listener. Through which interface the daemon trades is one value ([`Dialect`]).

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use cambist_core::VenueTime;
use cambist_daemon::config::Daemon;
use cambist_exchange::config::Exchange;
use cambist_strategies::Promise;
use serde_json::{Map, Value};
use tokio::time::Instant;
use toml::Table;

use crate::cli::DemoArgs;
use crate::commands::admin::Operator;
use crate::demo::child::{Child, READY};
use crate::demo::end_checks::{self, Books};
use crate::demo::faults::{BUTTONS, Button, Fault};
use crate::demo::files::{self, Folder};
use crate::demo::injector::Injector;
use crate::demo::progress_line::ProgressLine;
use crate::demo::recording_proxy::{Interface, RecordingProxy, json};
use crate::demo::scenario_player::ScenarioPlayer;
use crate::demo::venue::{Opened, Shown, Venue};
use crate::exit::{Exit, Failure};

/// The interface through which the daemon trades on the exchange, and what follows from it for the demo.
pub struct Dialect {
    /// Changes the exchange's configuration in this folder.
    pub of_exchange: fn(&mut Table, &Path),
    /// Makes the keys of an exchange whose configuration was written to this file.
    pub make_keys: fn(&Path) -> anyhow::Result<()>,
    /// Changes the daemon's configuration in this folder.
    pub of_daemon: fn(&mut Table, &Path),
    /// Its requests.
    pub interface: &'static Interface,
    /// See [`Venue::is_recovered`].
    pub is_recovered: fn(&Value) -> bool,
    /// Time that a recovery may take in addition to that of the scenario.
    pub recovery: Duration,
    /// See [`Venue::before_quotes`].
    pub before_quotes: Duration,
}

/// The exchange's own interface.
pub const EXCHANGE: Dialect = Dialect {
    of_exchange: |_, _| {},
    make_keys: |_| Ok(()),
    of_daemon: |_, _| {},
    interface: &OWN,
    is_recovered: |page| page.get("ready") == Some(&Value::Bool(true)),
    recovery: Duration::ZERO,
    before_quotes: Duration::ZERO,
};

const ORDER: &[u8] = b"POST /api/v3/order ";
const JOIN_OR_EXIT: [&[u8]; 2] = [b"POST /api/v3/amm/join ", b"POST /api/v3/amm/exit "];

/// Requests of the exchange's own interface.
pub const OWN: Interface = Interface {
    is_submit: |request| request.starts_with(ORDER) || is_join_or_exit(request),
    same_as: |_| None,
    is_depth: |request| request.starts_with(b"GET /api/v3/depth?"),
    is_move: is_join_or_exit,
    client_order_id: |request| Some(json(request)?.get("clientOrderId")?.as_str()?.to_owned()),
    answered: |_, answer| Some(json(answer)?.get("status")?.as_str()?.to_owned()),
};

fn is_join_or_exit(request: &[u8]) -> bool {
    JOIN_OR_EXIT
        .iter()
        .any(|submit| request.starts_with(submit))
}

/// An exchange with simulated traders.
pub struct OnExchange {
    dialect: &'static Dialect,
    scenario: ScenarioPlayer,
    strategy: Option<String>,
    /// When the exchange, and with it the scenario, began.
    opened: Option<Instant>,
    /// What carries out faults at the exchange.
    injector: Option<Injector>,
}

impl OnExchange {
    /// A demo with these arguments; reads the scenario.
    ///
    /// # Errors
    /// The scenario is not valid, or the strategy trades on what other venues hold.
    pub fn new(args: &DemoArgs, dialect: &'static Dialect) -> anyhow::Result<Self> {
        let named = args.strategy.as_deref().and_then(cambist_strategies::find);
        if named.is_some_and(|info| info.promise == Promise::Hedge) {
            let what = "this strategy trades what other venues hold, and a demo has one venue: docs/portfolio.md describes how to run it";
            return Err(Failure::new(Exit::Usage, what).into());
        }
        Ok(Self {
            dialect,
            scenario: ScenarioPlayer::new(args)?,
            strategy: args.strategy.clone(),
            opened: None,
            injector: None,
        })
    }

    fn injector(&mut self) -> anyhow::Result<&mut Injector> {
        self.injector.as_mut().context("the exchange has not begun")
    }
}

impl Venue for OnExchange {
    const NAME: &'static str = "exchange";

    async fn open(
        &mut self,
        args: &DemoArgs,
        folder: &mut Folder,
        screen: &mut ProgressLine,
    ) -> anyhow::Result<Opened> {
        let dialect = self.dialect;
        let file = files::write_venue(folder.path(), args.seed, &self.scenario, dialect)?;
        let text = file.display().to_string();
        let mut process = Child::start(
            Self::NAME,
            folder.path(),
            &["venue", "--config", &text, "--until-stdin-closes"],
        )?;
        folder.keep(true);
        let exchange = Exchange::load(&file)?;
        let operator_file = exchange.admin_address_file();
        // Written after the exchange's own address.
        let operator = process.address(&operator_file, READY).await?;
        let address = process.address(&exchange.address_file(), READY).await?;
        self.opened = Some(Instant::now());
        let operator = Operator::at(
            operator.parse().context("the operator's address")?,
            &folder.path().join(files::OPERATOR_TOKEN),
        )?;
        self.injector = Some(Injector::new(operator, &exchange));
        screen.say(&format!(
            "exchange at http://{address}, simulated traders with seed {}",
            args.seed
        ));
        screen.say(&self.scenario.title());
        Ok(Opened { process, address })
    }

    fn interface(&self) -> &'static Interface {
        self.dialect.interface
    }

    fn write_daemon(&self, folder: &Path, base_url: &str) -> anyhow::Result<PathBuf> {
        files::write_daemon(folder, base_url, self.strategy.as_deref(), self.dialect)
    }

    fn buttons(&self) -> &'static [Button] {
        &BUTTONS
    }

    async fn begin(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()> {
        self.injector()?.begin(fault, proxy).await
    }

    async fn end(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()> {
        self.injector()?.end(fault, proxy).await
    }

    fn due_events(&mut self) -> Vec<String> {
        let passed = self.opened.map(|opened| opened.elapsed());
        passed.map_or_else(Vec::new, |passed| self.scenario.due_events(passed))
    }

    fn is_recovered(&self, page: &Value) -> bool {
        (self.dialect.is_recovered)(page)
    }

    fn recovery_max(&self) -> Duration {
        self.scenario.recovery_max() + self.dialect.recovery
    }

    fn before_quotes(&self) -> Duration {
        self.dialect.before_quotes
    }

    fn quotes_problem(&self, both_sides_ratio: f64, duration_s: f64) -> Option<String> {
        self.scenario.problem(both_sides_ratio, duration_s)
    }

    async fn shown_since(&mut self, daemon: &Daemon, from: VenueTime) -> anyhow::Result<Shown> {
        Ok(Shown {
            orders: end_checks::orders_since(daemon, from).await?,
            pool_transactions: end_checks::pool_transactions(daemon).await?,
        })
    }

    async fn books(&mut self, daemon: &Daemon) -> anyhow::Result<Books> {
        end_checks::books(daemon).await
    }

    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    fn title_text(&self) -> String {
        self.scenario.text()
    }

    fn text(&self) -> String {
        String::new()
    }

    fn add_json(&self, object: &mut Map<String, Value>) {
        object.insert("scenario".to_owned(), self.scenario.json());
    }

    fn closing(&self, args: &DemoArgs, program: &str) -> String {
        let other = match args.strategy.as_deref() {
            Some("ladder") => "bands",
            Some(_) | None => "ladder",
        };
        let seed = args.seed.checked_add(1).unwrap_or(1);
        let worse = "volatile, outage ...";
        let line = |arguments: &str, what: &str| {
            format!("  {:<58} {what}\n", format!("{program} {arguments}"))
        };
        let again = format!("demo --strategy {other} --seed {seed}");
        let lines = [
            line(&again, "another strategy, other traders"),
            line(
                "demo --scenario crash",
                &format!("a falling market (or {worse})"),
            ),
            line("strategy list", "the strategies and their parameters"),
            line(
                "venue --config config/venue.toml",
                "the exchange, in one terminal",
            ),
            line(
                "run --config config/demo.toml",
                "the daemon, in another terminal",
            ),
        ];
        format!(
            "
Nothing rests, the ledger equals the exchange's books to the unit, profit and
loss is the change of what is held there, and the tape replays to the same
actions.

Next:
{}",
            lines.concat()
        )
    }
}
