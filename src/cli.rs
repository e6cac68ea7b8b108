//! The command line: the table of commands and their arguments. `commands` executes them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use cambist_daemon::config::Mode;
use cambist_daemon::config::venue::VenueKind;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::backtest::no_rows::naming_the_files;
use crate::backtest::skip::naming_the_option;
use crate::commands;
use crate::commands::{daemon_control, resume};
use crate::exit::{self, Exit};

/// Width of help in columns.
const HELP_WIDTH: usize = 80;

/// Default paths of the daemon's configuration, if neither `--config` nor `$CAMBIST_CONFIG` is given.
const CONFIGS: [&str; 2] = ["cambist.toml", "/etc/cambist/cambist.toml"];
/// Commands that read the daemon's configuration.
const FIND_CONFIG: [&str; 18] = [
    "run",
    "record",
    "status",
    "pause",
    "resume",
    "kill",
    "drain",
    "reload",
    "set",
    "account",
    "history",
    "report",
    "panic",
    "check",
    "doctor",
    "top",
    "watch",
    "signer-config",
];

/// Of these, those that run until they are stopped and trade or record.
const RUNS: [&str; 2] = ["run", "record"];

/// Market making daemon and the exchange it trades on.
#[derive(Debug, Parser)]
#[command(
    name = "cambist",
    version = crate::revision::VERSION,
    about,
    after_help = "\
Examples:
  cambist demo                               a market being made, for a minute
  cambist venue --config config/venue.toml   the exchange alone, one terminal
  cambist run --config config/demo.toml      the daemon against it, another
  cambist check --no-secrets --config config/cambist.toml
                                             what a file means in money

Configuration of a daemon: --config, $CAMBIST_CONFIG, ./cambist.toml,
/etc/cambist/cambist.toml; the first that there is.

Exit codes: 0 done, 1 a check failed, 2 usage, 70 bug, 75 another instance runs,
77 configuration or keys refused, 78 level latched, 79 invariant failed,
80 panic not proven."
)]
pub struct Cli {
    /// Print exactly one JSON value to stdout; messages go to stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a market on a local exchange with simulated traders, and report profit and loss
    #[command(
        after_help = "Examples:\n  cambist demo\n  cambist demo --duration 25s --seed 7 --json\n  cambist demo --forever --strategy ladder\n  cambist demo --strategy strategies/examples/join_best.py\n  cambist demo --scenario crash\n  cambist demo --venue kraken\n  cambist demo --venue evm --node-modules target/evm/node_modules"
    )]
    Demo(DemoArgs),
    /// Run the daemon: trade, trade on paper, only record, or shadow another daemon (see `mode` in the file)
    #[command(
        after_help = "Modes: live trades with the account's keys. paper quotes on the public depth of \
                      [market.feed] and fills in a simulated account; nothing is ever sent. record records \
                      that depth, observe also reports about it. shadow runs another configuration on the tape of \
                      a daemon that trades, as paper does, and reports the difference. All but live refuse a \
                      configuration with keys.\n\nExamples:\n  \
                      cambist run --config config/demo.toml\n  \
                      cambist run --config config/paper.toml --mode paper\n  \
                      cambist run --config config/paper.toml --for 10m --json\n  \
                      cambist run --config config/paper.toml --mode observe\n  \
                      cambist run --config candidate.toml --mode shadow --beside /var/lib/cambist\n  \
                      cambist run --config config/portfolio.toml   several venues, docs/portfolio.md"
    )]
    Run(RunArgs),
    /// Record public depth without trading: `run` in the mode record
    #[command(
        after_help = "The depth of [market.feed], or of venue.base_url, is written to store.dir/MARKET in segments that \
                      `cambist backtest --data` reads. A configuration with keys is refused.\n\nExamples:\n  \
                      cambist record --config config/paper.toml\n  \
                      cambist record --config config/paper.toml --for 1h --json"
    )]
    Record(RecordArgs),
    /// Show the state of the daemon: markets, orders, trading state, latch. Exit 1 if none runs
    #[command(
        after_help = "Examples:\n  cambist status --config config/demo.toml\n  cambist status --config config/demo.toml --json | jq .markets"
    )]
    Status(daemon_control::Which),
    /// Pause a market, a side, a strategy, or all quoting, until `resume`
    #[command(
        after_help = "Examples:\n  cambist pause --config config/demo.toml --market ETH-USDC --side buy --reason 'news'\n  cambist pause --config config/demo.toml --reason 'lunch'"
    )]
    Pause(daemon_control::PauseArgs),
    /// Lift pauses, the trading state and the latch, with a reason that is stored; also for a stopped daemon
    #[command(
        after_help = "Examples:\n  cambist resume --config config/demo.toml --reason 'explained: a deposit'\n  cambist resume --config config/demo.toml --market ETH-USDC --reason 'news is out'"
    )]
    Resume(resume::ResumeArgs),
    /// Stop trading now: set the latch, cancel everything, end the daemon; none starts until `resume`. Use `panic` if
    /// the daemon does not answer
    #[command(
        after_help = "Examples:\n  cambist kill --config config/demo.toml --reason 'wrong prices'\n  cambist kill --config config/demo.toml --cancel-only --reason 'wrong prices'"
    )]
    Kill(daemon_control::KillArgs),
    /// Cancel everything, prove that nothing rests, and end the daemon
    #[command(
        after_help = "Examples:\n  cambist drain --config config/demo.toml\n  cambist drain --config config/demo.toml --wait\n  cambist drain --config config/demo.toml --leave"
    )]
    Drain(daemon_control::DrainArgs),
    /// Reload the configuration; an invalid file changes nothing
    #[command(
        after_help = "Examples:\n  cambist reload --config config/demo.toml\n  cambist reload --config config/demo.toml --allow-loosening"
    )]
    Reload(daemon_control::ReloadArgs),
    /// Set parameters of strategies of a running daemon, without a restart
    #[command(
        after_help = "The values are checked together and take effect together, or none does. They are stored before they take effect, with who set them and why, and apply in place of the file's through reloads and restarts, until --reset restores the file's: also without a running daemon. `status` shows what is set and the file's values. A value that bears more risk (`strategy show NAME` lists which way that is) needs --allow-loosening. Limits are not parameters: they change in the file, with `reload`.\n\nExamples:\n  cambist set --config config/demo.toml --reason 'volatile' ladder.bid_spread_bps=25 ladder.ask_spread_bps=25\n  cambist set --config config/demo.toml --reason 'smaller' 'bands.buy_bands[0].avg_amount=0.5'\n  cambist set --config config/demo.toml --reset --reason 'calm again' ladder.bid_spread_bps"
    )]
    Set(commands::set::SetArgs),
    /// Show balances and orders at the venue; transfer, withdraw, join and exit pools, replace keys; explain deposits
    /// and manual trades
    #[command(
        subcommand,
        after_help = "Examples:\n  cambist account balances --config config/demo.toml\n  cambist account withdraw --config config/demo.toml --token ETH --amount 1.5 --dry-run\n  cambist account adopt --config config/demo.toml --token ETH --amount +1.5 --reason 'deposit of Monday'"
    )]
    Account(commands::account::AccountCommand),
    /// Show the daemon live in a terminal: quotes and reasons, book, orders, limits, equity
    #[command(
        after_help = "Press q or Ctrl-C to quit. The command reads the daemon's page (metrics.listen) and sends no command.\n\nExamples:\n  cambist top --config config/demo.toml\n  cambist top --config config/demo.toml --once"
    )]
    Top(commands::top::TopArgs),
    /// List fills, orders, pool transactions, flows or set parameters from the store, with or without a running daemon
    #[command(
        after_help = "Examples:\n  cambist history --config config/demo.toml\n  cambist history orders --config config/demo.toml --from 24h --side buy\n  cambist history --config config/demo.toml --from 2026-01-01 --to 2026-12-31 --csv > fills.csv\n\nThe newest come first. Fills, pool transactions and flows are kept for good, orders for store.keep_days."
    )]
    History(commands::history::HistoryArgs),
    /// Write the recorded depth of a market as CSV or Parquet, for backtests and other programs
    #[command(
        after_help = "Examples:\n  cambist depth state/tape --market ETH-USDC --out depth.csv\n  cambist depth state/tape --market ETH-USDC --from 2026-11-01 --to 2026-11-07 --levels 20 --out depth.parquet\n\nA row is the book without the daemon's own orders, best levels first, when it was received (docs/backtest.md). cambist backtest --data reads the file. The daemon may be running. Exit 1 if nothing was recorded in the period, or a recording is damaged."
    )]
    Depth(commands::depth::DepthArgs),
    /// Report profit and loss by day, market, strategy and cause, across restarts, from the store
    #[command(
        after_help = "Examples:\n  cambist report --config config/demo.toml\n  cambist report --config config/demo.toml --from 2026-11-01 --to 2026-11-30\n  cambist report --config config/demo.toml --from 7d --json | jq .quotes\n  cambist report --config config/demo.toml --from 30d --html month.html\n\nThe account's own line is what was there at the beginning or came from outside. Profit and loss and flows are compared with the change of equity and of every balance; exit 1 if they do not agree."
    )]
    Report(commands::report::ReportArgs),
    /// Stop trading, cancel every order of the account and prove it, with or without a daemon
    #[command(
        after_help = "Examples:\n  cambist panic --config config/cambist.toml\n  cambist panic --config config/demo.toml --yes --json\n\nJoins and exits of pools, withdrawals and transfers cannot be cancelled. While a join or an exit of the account is not decided nothing is proven; it is listed. Withdrawals and transfers do not trade and do not prevent the proof; the amounts that they bind are printed.\n\nExit codes: 0 proven that nothing rests, 80 not proven: the output lists what may be alive, and until when."
    )]
    Panic(PanicArgs),
    /// Check a configuration and show its risk in money and its load in requests. Sends no order
    #[command(
        after_help = "Examples:\n  cambist check --config config/cambist.toml --no-secrets\n  cambist check --config config/demo.toml --pin\n  cambist check --config config/demo.toml --no-secrets --json | jq .markets"
    )]
    Check(CheckArgs),
    /// Write a commented configuration and a signing key, from flags or interactively
    #[command(
        after_help = "Nothing that exists is overwritten.\n\nExamples:\n  cambist init\n  cambist init --dir my --venue http://127.0.0.1:7433 --account-id 10000 --owner 0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e010 --market ETH-USDC --price-floor 1500 --price-ceiling 4000 --order-amount 0.2 --inventory-min 1 --inventory-max 6"
    )]
    Init(commands::init::InitArgs),
    /// Generate a signing key in a file of mode 0600, and print its public key
    #[command(after_help = "Example:\n  cambist keygen --out keys")]
    Keygen(commands::keygen::KeygenArgs),
    /// Print a file for cambist-signer that allows what the daemon's file allows
    #[command(
        after_help = "Examples:\n  cambist signer-config --config /etc/cambist/eth.toml --name eth > eth.signer.toml\n  cambist-signer check --no-secrets --config eth.signer.toml"
    )]
    SignerConfig(commands::signer_config::SignerConfigArgs),
    /// Check everything that a daemon needs (keys, clock, limits, precision, fees, money at risk, disk, unit) and how
    /// to fix each problem. Sends no order
    #[command(
        after_help = "Examples:\n  cambist doctor --config config/demo.toml\n  cambist doctor --json | jq '.findings[] | select(.fix)'\n\nExit 1 if anything is wrong; warnings do not count."
    )]
    Doctor(daemon_control::Which),
    /// Send messages to chat services when something is wrong with a daemon, and when it is over
    #[command(
        after_help = "Destinations are [[messages]] of the daemon's file. Runs beside the daemon, also while it does \
                      not, until SIGTERM.\n\nExamples:\n  cambist watch --config config/demo.toml\n  \
                      cambist watch --test"
    )]
    Watch(commands::watch::WatchArgs),
    /// Print shell completions
    #[command(
        after_help = "Example:\n  cambist completions bash > ~/.local/share/bash-completion/completions/cambist"
    )]
    Completions(commands::completions::CompletionsArgs),
    /// Print the man page
    #[command(after_help = "Example:\n  cambist man > /usr/local/share/man/man1/cambist.1")]
    Man,
    /// Run the exchange alone; back up, restore and verify its data folder; administer it
    #[command(
        after_help = "Examples:\n  cambist venue --config config/venue.toml\n  cambist venue --config config/venue.toml --data /var/lib/cambist-venue/data\n  cambist venue backup --data /var/lib/cambist-venue/data --to /backup/monday\n  cambist venue admin --config config/venue.toml status"
    )]
    Venue(commands::venue::VenueArgs),
    /// Print the exchange's interface as an OpenAPI 3.1 document
    #[command(after_help = "Example:\n  cambist openapi > openapi.json")]
    Openapi,
    /// List strategies, or show the parameters of one
    #[command(
        subcommand,
        after_help = "Examples:\n  cambist strategy list\n  cambist strategy show bands"
    )]
    Strategy(StrategyCommand),
    /// Print the JSON Schema or the reference of the configuration files
    #[command(subcommand)]
    Config(commands::config::ConfigCommand),
    /// Evaluate files of test vectors: hashes and signatures, pool arithmetic, quotes and statistics
    #[command(
        after_help = "Each file is recognised by its content; tolerances are the file's own. Exit 1 if \
                      a value differs, if a file has unknown content or an unknown tolerance, or if no file has \
                      vectors.\n\nExamples:\n  \
                      cambist vectors crates/signing/tests/vectors/*.json\n  \
                      cambist vectors --json tests/vectors/*.json"
    )]
    Vectors(VectorsArgs),
    /// What the simulator beside this program runs
    #[command(flatten)]
    Simulator(SimulatorCommand),
    /// Run the engine on recorded market data and report what it would have earned, and why
    #[command(
        after_help = "Data: ticks (.npy, .npz), depth snapshots (.csv, .parquet), a folder of recorded \
                      segments, a daemon's recording (tape:DIR), or simulated traders (scenario:calm). The file states the units of its markets (base_decimals, quote_decimals, \
                      price_decimals); no key is read and nothing is sent.\n\nExamples:\n  \
                      cambist backtest --config config/cambist.toml --data eth.npz --out out/eth\n  \
                      cambist backtest --config config/cambist.toml --data scenario:crash --scenario-duration 2h \
                      --out out/crash\n  \
                      cambist backtest --config config/cambist.toml --data monday.csv --data tuesday.csv \
                      --balance ETH=3 --balance USDC=9000 --request-latency 10ms..80ms --out out/two\n  \
                      cambist backtest --config my.toml --data ETH-USDC=eth.csv --data BTC-USDC=btc.csv \
                      --out out/both --json | jq .report.pnl"
    )]
    Backtest(commands::backtest::BacktestArgs),
    /// Compare several backtests on one page: overlaid curves, figures, and differences of configuration
    #[command(after_help = "Examples:\n  \
                      cambist compare out/narrow out/wide --out out/compare.html\n  \
                      cambist compare glft=out/a ladder=out/b --out out/compare.html --json | jq .runs")]
    Compare(commands::compare::CompareArgs),
    /// Run a backtest for every choice of parameters, and test whether the best result is more than luck
    #[command(
        after_help = "The sweep file names parameters, search and windows: docs/sweep.md. An interrupted sweep \
                      continues with the same command. With several machines, each runs one shard; \
                      `cambist merge` joins their results.\n\nExamples:\n  \
                      cambist sweep --config config/cambist.toml --sweep config/sweeps/bands.toml --data eth.npz \
                      --out out/sweep\n  \
                      cambist sweep --config my.toml --sweep sweep.toml --data eth.csv --out out/sweep --dry-run\n  \
                      cambist sweep --config my.toml --sweep sweep.toml --data eth.csv --out out/sweep --shard 2/8\n\n\
                      Exit codes: 0 done, 1 bad data, 2 usage, 75 another process runs this sweep, 77 a file or \
                      every run was refused, 79 an invariant of the engine failed, 130 interrupted, 143 by \
                      SIGTERM: the runs that ended are kept, and the command that continues is printed."
    )]
    Sweep(commands::sweep::SweepArgs),
    /// Merge the shards of a sweep, or of a campaign of simulated worlds
    #[command(
        after_help = "Gaps, overlaps, and shards of another program, configuration or data are refused (exit 1). \
                      The result is what one machine would have written, byte for byte.\n\nExamples:\n  \
                      cambist merge out/sweep --out out/sweep\n  \
                      cambist merge a/shard-0001-of-0002 b/shard-0002-of-0002 --out out/both\n  \
                      cambist merge sim.shard-*.jsonl --out sim.jsonl"
    )]
    Merge(commands::merge::MergeArgs),
    /// Replay recordings through the engine and compare every action, or show the state at one moment
    #[command(
        after_help = "Exit 1 at the first difference from what this build recorded. A recording of another \
                      build is replayed as well; its first difference is reported but is not a failure.\n\n\
                      Examples, after a run with config/demo.toml:\n  \
                      cambist replay target/two-terminals/tape/0000000001.tape\n  \
                      cambist replay target/two-terminals/tape\n  \
                      cambist replay --config config/demo.toml --at 2026-11-22T08:15:30Z\n  \
                      cambist replay --config config/demo.toml --at 2026-11-22T08:15:30.5Z --json | jq .markets"
    )]
    Replay(commands::replay::ReplayArgs),
    /// Show why an own order was made, why it stayed and why it ended, from the recordings
    #[command(
        after_help = "The recordings are replayed from the segment in which the order was made: every decision about it with its reason (kept within tolerance; moved; replaced; its side not quoted, with the numbers compared and the configuration key), and what was sent and answered. `status`, `top` and `replay --at` show why a side has no quotes.\n\nExamples:\n  cambist why cc8292274-0-17 --config config/demo.toml\n  cambist why cc8292274-0-17 /var/lib/cambist/tape --json | jq .steps"
    )]
    Why(commands::why::WhyArgs),
}

/// Commands in simulated worlds, which `cambist-simulator` runs.
#[derive(Debug, Subcommand)]
pub enum SimulatorCommand {
    /// Run seeded simulations of engine, exchange, network, disk, clock and operator, with all invariants checked after
    /// every step
    #[command(
        after_help = "Seeds: one world for each of --seeds N numbers from --seed FIRST. `--seed 101 --seeds 200` runs those of \
                      101 to 300, and `--shard 2/4` the second quarter of them, 151 to 200. The last seed is \
                      18446744073709551615.\n\n\
                      Families of faults, which --without turns off; every venue has all of them:\n  \
                      network   messages are lost, repeated, reordered, garbled, refused\n  \
                      venue     outages, wrong lists and books, modes, frozen accounts, falls of the price; with \
                      --venue evm-pools blocks\n            \
                      that are late, dropped transactions, reorganisations, nodes that lag\n  \
                      disk      the store or the signing fails, or the store is slow\n  \
                      clock     the host is suspended, answers have wrong times (not on evm-pools)\n  \
                      operator  trading states, drains; deposits, withdrawals and foreign orders (not on evm-pools)\n  \
                      limits    tight limits, reloaded at intervals; with --venue evm-pools limits over several venues \
                      only\n  \
                      crash     the daemon is killed before any action, and writes that were not synced are lost\n  \
                      restart   everything that ends the daemon: crashes, drains, refused keys, a failed store\n\n\
                      Examples:\n  \
                      cambist sim --seeds 300\n  \
                      cambist sim --seed 301 --seeds 300 --jobs 4\n  \
                      cambist sim --venue sequenced --seeds 100\n  \
                      cambist sim --without network,crash --seeds 100\n  \
                      cambist sim --without restart --hours 168 --seeds 1\n  \
                      cambist sim --seeds 2000 --results sim.jsonl\n  \
                      cambist sim --seeds 1 --seed 77 --trace | less\n  \
                      cambist sim --invariants --json | jq '.invariants[].name'\n\n\
                      Exit codes: 0 done, 1 an invariant was violated or too little was quoted, 2 usage, 75 another \
                      process adds to the file of results, 130 interrupted, 143 by SIGTERM: the worlds that ended are summed up."
    )]
    Sim(commands::sim::SimArgs),
    /// Play the shipped strategies against a maker with a well-known bot's default rules, on equal seeds of simulated
    /// markets, and compare profit, tail, time with quotes, requests and orphans, with confidence intervals
    #[command(
        after_help = "Contestants: reference (1 % on both sides, replaced every 30 s, an order without an answer is \
                      forgotten), reference_near (the same 0.2 % from the mid), bands, ladder, glft, curve, grid, \
                      hedged_lp, pool_maker. docs/tournament.md explains the table. An interrupted tournament with --results \
                      continues with the same command; jobs and interruptions change no digit.\n\nExamples:\n  \
                      cambist tournament --seeds 20\n  \
                      cambist tournament --seeds 1000 --jobs 4 --results games.jsonl --out tournament.txt\n  \
                      cambist tournament --scenario crash --scenario ./mine.toml --strategy ladder --json\n\n\
                      Exit codes: 0 done, 1 interrupted or contradictory results, 2 usage, 75 another process adds \
                      to the file of results, 77 a file was refused, 79 an invariant of the engine failed."
    )]
    Tournament(commands::tournament::TournamentArgs),
}

impl Command {
    /// Whether the command reports its own failure as an error in its one JSON value. Other commands have another value
    /// for failures, or none.
    const fn answers_in_json_when_it_fails(&self) -> bool {
        match self {
            Self::Demo(_)
            | Self::Run(_)
            | Self::Record(_)
            | Self::Replay(_)
            | Self::Simulator(_)
            | Self::Backtest(_)
            | Self::Compare(_)
            | Self::Sweep(_)
            | Self::Merge(_)
            | Self::Panic(_)
            | Self::Account(_)
            | Self::History(_)
            | Self::Depth(_)
            | Self::Report(_)
            | Self::Init(_)
            | Self::Keygen(_)
            | Self::Doctor(_)
            | Self::Top(_)
            | Self::Watch(_)
            | Self::Status(_)
            | Self::Pause(_)
            | Self::Resume(_)
            | Self::Kill(_)
            | Self::Drain(_)
            | Self::Reload(_)
            | Self::Set(_)
            | Self::Why(_) => true,
            Self::Check(_)
            | Self::Venue(_)
            | Self::Openapi
            | Self::Completions(_)
            | Self::Man
            | Self::Strategy(_)
            | Self::SignerConfig(_)
            | Self::Config(_)
            | Self::Vectors(_) => false,
        }
    }
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Duration, such as 25s or 10m
    #[arg(long, default_value = "60s", value_parser = seconds, conflicts_with = "forever")]
    pub duration: u64,
    /// Run until Ctrl-C
    #[arg(long)]
    pub forever: bool,
    /// Seed of the simulated traders
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Strategy to run (see `cambist strategy list`), or the path of a program (docs/process-strategies.md)
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<String>,
    /// Scenario: calm, trending, volatile, crash, thin, pool-drained, swapped, outage, or the path of a file such as
    /// config/scenarios/crash.toml. By default calm; swapped for strategies that swap with the pool
    #[arg(long, value_name = "NAME|FILE")]
    pub scenario: Option<String>,
    /// Where the daemon trades: on an exchange through its own interface or through Kraken's (docs/kraken.md), or on a
    /// chain with a Uniswap V2 pool (docs/evm-pools.md), which needs a node and contracts from npm
    #[arg(long, value_name = "KIND", value_parser = venues(), default_value = "exchange")]
    pub venue: VenueKind,
    /// Do not kill the daemon; by default it is killed after two thirds of the time, in the middle of a submit, and
    /// started again
    #[arg(long, alias = "no-pull-the-plug")]
    pub no_crash: bool,
    /// With --venue evm: the folder of npm packages with the node and the contracts; by default ./node_modules. Without
    /// them the demo prints the command that installs them
    #[arg(long, value_name = "DIR")]
    pub node_modules: Option<PathBuf>,
}

/// The kinds of venues of the demo, by their names there.
const DEMO_VENUES: [(&str, VenueKind); 3] = [
    ("exchange", VenueKind::Exchange),
    ("kraken", VenueKind::Kraken),
    ("evm", VenueKind::EvmPools),
];

/// The kinds of venues of the demo.
fn venues() -> impl TypedValueParser<Value = VenueKind> {
    let shown = DEMO_VENUES.map(|(name, _)| PossibleValue::new(name));
    PossibleValuesParser::new(shown).try_map(|text| {
        let mut known = DEMO_VENUES.into_iter();
        let found = known.find(|(name, _)| *name == text);
        found.map(|(_, kind)| kind).ok_or("no such venue")
    })
}

/// The modes that the daemon defines, each with what it does.
fn modes() -> impl TypedValueParser<Value = Mode> {
    let shown = Mode::WORDS.map(|(name, mode)| PossibleValue::new(name).help(mode.about()));
    PossibleValuesParser::new(shown).try_map(|text| {
        let mut known = Mode::WORDS.into_iter();
        let found = known.find(|(name, _)| *name == text);
        found.map(|(_, mode)| mode).ok_or("no such mode")
    })
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Configuration file and end.
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Mode, in place of the one in the file
    #[arg(long, value_parser = modes())]
    pub mode: Option<Mode>,
    /// Stop after this time, such as 10m; in modes that do not trade
    #[arg(long = "for", value_name = "DURATION", value_parser = seconds)]
    pub limit_s: Option<u64>,
    /// Mode shadow: the state folder, or the tape, of the daemon that trades, in place of shadow.tape in the file
    #[arg(long, value_name = "DIR")]
    pub beside: Option<PathBuf>,
}

/// Arguments of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Configuration file and end.
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Stop after this time, such as 10m
    #[arg(long = "for", value_name = "DURATION", value_parser = seconds)]
    pub limit_s: Option<u64>,
}

/// Arguments of commands that run until they are stopped.
#[derive(Debug, Args)]
pub struct ServiceArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Stop when standard input is closed, so that the process ends with its parent
    #[arg(long)]
    pub until_stdin_closes: bool,
}

/// Arguments of `panic`.
#[derive(Debug, Args)]
pub struct PanicArgs {
    /// Configuration file of the daemon: venue, account, keys, state folder
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Do not cancel orders whose client order id is not of this program's form. Joins and exits have no such id and
    /// are all included
    #[arg(long)]
    pub own_only: bool,
    /// Reason; stored in the latch
    #[arg(long, value_name = "TEXT", default_value = "no reason was given")]
    pub reason: String,
    /// Longest time to live that an order may have been signed with, if longer than orders.ttl_s. An observed order
    /// with a longer one delays the proof as well
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub ttl: Option<u64>,
    /// Give up after this time; by default the time to live, the grace and one minute
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub within: Option<u64>,
}

/// Arguments of `check`.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "one field a flag")]
pub struct CheckArgs {
    /// Configuration file, of the daemon or of the exchange
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Do not read the files with the secrets or the state folder: for a file that another user or machine will run
    #[arg(long)]
    pub no_secrets: bool,
    /// Query the venue too (minimums, balances, books) and show for each side whether it would be quoted now. Sends
    /// queries only. Exit 1 if a market would quote nothing
    #[arg(long, conflicts_with = "no_secrets")]
    pub online: bool,
    /// Print chain, exchange and units as the venue publishes them, as lines for the file. Reads no key. Exit 1 if the
    /// file differs
    #[arg(long, conflicts_with = "online")]
    pub pin: bool,
    /// Also print every limit with its unit, default and meaning (docs/limits.md). Needs the decimals in the file.
    /// Always printed with --json
    #[arg(long, conflicts_with = "pin")]
    pub limits: bool,
}

/// Strategy commands.
#[derive(Debug, Subcommand)]
pub enum StrategyCommand {
    /// List all strategies with a description
    List,
    /// Show every parameter of a strategy with unit, default, range and meaning
    Show {
        /// Name of the strategy
        name: String,
    },
    /// Add a new strategy, with a test, to the sources of this program
    ///
    /// Example: cambist strategy new my_grid
    New {
        /// Name: lower-case letters, digits and underscores
        name: String,
        /// Folder of the sources
        #[arg(long, value_name = "DIR", default_value = ".")]
        sources: PathBuf,
    },
}

/// Arguments of `vectors`.
#[derive(Debug, Args)]
pub struct VectorsArgs {
    /// Files of vectors
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Parses a duration such as `25s`, `10m` or `2h`.
pub fn seconds(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is not a duration; write a whole number and s, m or h, such as 25s");
    let split = text
        .len()
        .checked_sub(1)
        .filter(|at| text.is_char_boundary(*at));
    let (number, unit) = text.split_at(split.ok_or_else(wrong)?);
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(wrong()),
    };
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    let total = number
        .checked_mul(factor)
        .filter(|total| (1..=31_536_000).contains(total));
    total.ok_or_else(|| format!("{text} is outside 1s to one year"))
}

/// Parses the arguments, executes the command, and returns the exit code.
pub fn main() -> Exit {
    let command = with_config(table(), found_config());
    let parsed = command.try_get_matches();
    let portfolio = match &parsed {
        Ok(matches) => commands::portfolio::named(matches),
        Err(_) => Ok(None),
    };
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            if asks_for_json(std::env::args_os().skip(1)) {
                // If stdout is closed, the error cannot be shown.
                let _ = commands::print_json(&usage_as_json(&error.render().to_string()));
            }
            let _ = error.print();
            return Exit::Usage;
        }
        // Help and version are not errors and go to stdout.
        Err(answer) => {
            let _ = commands::print_text(&wrapped(&answer.render().to_string(), HELP_WIDTH));
            return Exit::Done;
        }
    };
    let is_portfolio = !matches!(portfolio, Ok(None));
    let done = match portfolio {
        Ok(Some(named)) => commands::portfolio::execute(&named, &cli.command, cli.json),
        Ok(None) => run(&cli),
        Err(error) => Err(error),
    };
    let answers = is_portfolio || cli.command.answers_in_json_when_it_fails();
    finish(done, cli.json && answers)
}

/// The exit code of a command. Prints its error to stderr, and as JSON to stdout if that is asked for.
pub fn finish(done: anyhow::Result<Exit>, as_json: bool) -> Exit {
    match done {
        Ok(exit) => exit,
        Err(error) => {
            if as_json {
                // If stdout is closed, the error cannot be shown.
                let _ = commands::print_json(&exit::as_json(&error));
            }
            exit::print_all_errors(&error);
            exit::of(&error)
        }
    }
}

/// Whether arguments that could not be parsed have `--json`.
fn asks_for_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut named = arguments.take_while(|argument| argument != "--");
    named.any(|argument| argument == "--json")
}

/// A usage error as [`exit::as_json`] has any other: its message without the hints below it.
fn usage_as_json(rendered: &str) -> serde_json::Value {
    let lines = rendered.lines().take_while(|line| !line.is_empty());
    let lines: Vec<_> = lines.map(str::trim).collect();
    let text = lines.join(" ");
    let message = text.strip_prefix("error: ").unwrap_or(&text);
    serde_json::json!({"error": message, "exit": Exit::Usage.code()})
}

/// The table of commands.
fn table() -> clap::Command {
    Cli::command().mut_subcommands(|sub| {
        // Limits over all venues hold where all of them run.
        let is_about_a_daemon = FIND_CONFIG.contains(&sub.get_name());
        if is_about_a_daemon && !RUNS.contains(&sub.get_name()) {
            commands::portfolio::with_venue(sub)
        } else {
            sub
        }
    })
}

/// The default configuration: that of the environment variable, or the first existing default path.
fn found_config() -> Option<OsString> {
    let named = std::env::var_os("CAMBIST_CONFIG").filter(|named| !named.is_empty());
    let usual = || CONFIGS.into_iter().find(|path| Path::new(path).is_file());
    named.or_else(|| usual().map(OsString::from))
}

/// Makes the found configuration the default of commands about a daemon. Without one `--config` stays required.
fn with_config(command: clap::Command, found: Option<OsString>) -> clap::Command {
    fn used(command: clap::Command, found: &'static OsStr) -> clap::Command {
        let has_one = command.get_arguments().any(|arg| arg.get_id() == "config");
        let command = if has_one {
            command.mut_arg("config", |arg| {
                let arg = arg.required(false).default_value(found);
                arg.hide_default_value(true)
            })
        } else {
            command
        };
        command.mut_subcommands(|sub| used(sub, found))
    }
    let Some(found) = found else { return command };
    // Leaked once per process: defaults live as long as the table of commands.
    let found: &'static OsStr = Box::leak(found.into_boxed_os_str());
    command.mut_subcommands(|sub| {
        let finds = FIND_CONFIG.contains(&sub.get_name());
        if finds { used(sub, found) } else { sub }
    })
}

/// Help with lines of at most `width` columns; longer ones continue below the beginning of their text.
fn wrapped(help: &str, width: usize) -> String {
    let mut text = String::new();
    for line in help.lines() {
        let indent = text_begins(line);
        let mut row = String::new();
        for word in line.get(indent..).unwrap_or_default().split_inclusive(' ') {
            let is_full = indent + row.chars().count() + word.trim_end().chars().count() > width;
            if is_full && !row.is_empty() {
                push_row(&mut text, line, indent, &row);
                row.clear();
            }
            row.push_str(word);
        }
        push_row(&mut text, line, indent, &row);
    }
    text
}

/// Adds a row: the first one of a line with the text's prefix, the others indented.
fn push_row(text: &mut String, line: &str, indent: usize, row: &str) {
    let head = line.get(..indent).unwrap_or_default();
    let is_first = line.get(indent..).is_some_and(|rest| rest.starts_with(row));
    if is_first {
        text.push_str(head);
    } else {
        text.extend(std::iter::repeat_n(' ', indent));
    }
    text.push_str(row.trim_end());
    text.push('\n');
}

/// Column at which the description in a line of help begins.
fn text_begins(line: &str) -> usize {
    let indentation = line.len() - line.trim_start().len();
    let body = line.get(indentation..).unwrap_or_default();
    body.rfind("  ")
        .map_or(indentation, |gap| indentation + gap + 2)
}

/// Whether the command writes state, tapes, keys or data, which only the user may read.
const fn writes_state(command: &Command) -> bool {
    matches!(
        command,
        Command::Demo(_)
            | Command::Run(_)
            | Command::Record(_)
            | Command::Venue(_)
            | Command::Init(_)
            | Command::Keygen(_)
            | Command::Account(_)
            | Command::Panic(_)
            | Command::Resume(_)
    )
}

fn run(cli: &Cli) -> anyhow::Result<Exit> {
    if writes_state(&cli.command) {
        // Applies also to files that libraries create, such as the database's.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    }
    match &cli.command {
        Command::Demo(args) => commands::demo::run(args, cli.json),
        Command::Run(args) => commands::run::run(args, cli.json),
        Command::Record(args) => commands::run::record(args, cli.json),
        Command::Status(which) => daemon_control::status(which, cli.json),
        Command::Pause(args) => daemon_control::pause(args, cli.json),
        Command::Resume(args) => resume::resume(args, cli.json),
        Command::Kill(args) => daemon_control::kill(args, cli.json),
        Command::Drain(args) => daemon_control::drain(args, cli.json),
        Command::Reload(args) => daemon_control::reload(args, cli.json),
        Command::Set(args) => commands::set::run(args, cli.json),
        Command::Account(command) => commands::account::run(command, cli.json),
        Command::Watch(args) => commands::watch::run(args, cli.json),
        Command::Top(args) => commands::top::run(args, cli.json),
        Command::Depth(args) => commands::depth::run(args, cli.json).map_err(naming_the_option),
        Command::History(args) => commands::history::run(args, cli.json),
        Command::Report(args) => commands::report::run(args, cli.json),
        Command::Init(args) => commands::init::run(args, cli.json),
        Command::Keygen(args) => commands::keygen::run(args, cli.json),
        Command::SignerConfig(args) => commands::signer_config::run(args),
        Command::Doctor(which) => commands::doctor::run(which, cli.json),
        Command::Completions(args) => commands::completions::completions(args, table()),
        Command::Man => commands::completions::man(table()),
        Command::Panic(args) => commands::panic::run(args, cli.json),
        Command::Check(args) => commands::check::run(args, cli.json),
        Command::Venue(args) => commands::venue::run(args, cli.json),
        Command::Openapi => commands::openapi(),
        Command::Config(command) => commands::config::run(command),
        Command::Strategy(command) => commands::strategy::run(command, cli.json),
        Command::Vectors(args) => commands::vectors::run(args, cli.json),
        Command::Replay(args) => commands::replay::run(args, cli.json),
        Command::Why(args) => commands::why::run(args, cli.json),
        Command::Simulator(_) => crate::simulator::run(),
        Command::Backtest(args) => commands::backtest::run(args, cli.json)
            .map_err(|error| naming_the_files(naming_the_option(error), &args.inputs)),
        Command::Compare(args) => commands::compare::run(args, cli.json),
        Command::Sweep(args) => commands::sweep::run(args, cli.json)
            .map_err(|error| naming_the_files(naming_the_option(error), &args.inputs)),
        Command::Merge(args) => commands::merge::run(args, cli.json),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_table_of_commands_is_consistent() {
        table().debug_assert();
    }

    /// Beside commands of the daemon, `--config` names the exchange's file, or a file of a daemon that need not be its own.
    #[test]
    fn commands_of_a_daemon_find_its_configuration() {
        let others = ["venue", "backtest", "sweep", "tournament", "replay", "why"];
        for command in table().get_subcommands() {
            let name = command.get_name();
            let has_config = |command: &clap::Command| {
                let mut arguments = command.get_arguments();
                arguments.any(|argument| argument.get_id() == "config")
            };
            let is_asked = has_config(command) || command.get_subcommands().any(has_config);
            let is_known = FIND_CONFIG.contains(&name) || others.contains(&name);
            assert_eq!(is_asked, is_known, "{name}");
        }
    }

    #[test]
    fn durations_are_strict() {
        assert_eq!(seconds("25s"), Ok(25));
        assert_eq!(seconds("10m"), Ok(600));
        assert_eq!(seconds("1h"), Ok(3_600));
        for bad in [
            "",
            "s",
            "25",
            "-1s",
            "+1s",
            "0s",
            "1.5m",
            "9999999999h",
            "5é",
        ] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn help_is_narrow_and_complete() {
        fn narrow(command: &mut clap::Command) {
            let help = command.render_help().to_string();
            let shown = wrapped(&help, HELP_WIDTH);
            for line in shown.lines() {
                assert!(line.chars().count() <= HELP_WIDTH, "{line}");
            }
            let words = |text: &str| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(words(&help), words(&shown));
            for sub in command.get_subcommands_mut() {
                narrow(sub);
            }
        }
        let mut command = table();
        command.build();
        narrow(&mut command);
        let long = "  --x <Y>  one two three\n\n    four five six seven\n";
        let shown = "  --x <Y>  one two\n           three\n\n    four five six\n    seven\n";
        assert_eq!(wrapped(long, 18), shown);
    }

    #[test]
    fn json_may_stand_on_either_side() {
        for line in ["cambist --json demo", "cambist demo --json"] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.json);
        }
        assert!(Cli::try_parse_from("cambist demo --forever --duration 3s".split(' ')).is_err());
    }
}
