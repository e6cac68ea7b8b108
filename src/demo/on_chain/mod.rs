//! The demo on a chain: a node of its own, the published contracts of Uniswap V2 on it, a trader who moves the price of
//! their pool, and a daemon that holds shares of it. The outcome is compared with the chain's blocks.

mod actor;
mod books;
mod daemon_file;
mod deploy;
mod node;
mod packages;
mod trader;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use cambist_client::Node;
use cambist_core::token::AMOUNT_MAX;
use cambist_core::{TokenId, TokenSpec, VenueTime};
use cambist_daemon::config::Daemon;
use cambist_evm::call::{Call, amount};
use cambist_evm::transaction::Signed;
use cambist_evm::wire;
use cambist_report::text::LABEL;
use cambist_store::view;
use serde_json::{Map, Value, json};

use crate::cli::DemoArgs;
use crate::demo::audit;
use crate::demo::end_checks;
use crate::demo::faults::{Button, Fault, LOST_PERCENT};
use crate::demo::files::{Folder, private};
use crate::demo::progress_line::ProgressLine;
use crate::demo::recording_proxy::{self, Interface, RecordingProxy};
use crate::demo::venue::{Opened, Shown, Venue};
use crate::exit::{Exit, Failure};
use actor::Actor;
use books::{Account, Books, State};
use daemon_file::{COIN, KEY_FILE, MARKET, NODE_FILE, TOKEN, WETH, Written};
use deploy::Deployed;
pub use packages::MODULES;
use packages::Packages;
use trader::{Traded, Trader};

/// All tokens and the coin have 18 decimals.
const DECIMALS: u8 = 18;

/// Time within which a killed daemon is back: a start reads the finalized block, and a join that was under way is known
/// when it is final, two blocks after its own.
const RECOVERY: Duration = Duration::from_secs(10);

/// Blocks within which the trader has to swap, a block a second.
const EXPECTED_WITHIN: u64 = 20;

/// Faults that need neither an order book nor an operator.
const BUTTONS: [Button; 3] = [
    Button {
        fault: Fault::LoseAnswers,
        name: "lose-answers",
        title: "Lose 30 % of answers",
        about: "The node executes the requests, and the daemon receives no answer.",
        lasts_s: Some(10),
    },
    Button {
        fault: Fault::Crash,
        name: "crash",
        title: "Crash",
        about: "The daemon's process aborts, and is started again afterwards.",
        lasts_s: Some(5),
    },
    Button {
        fault: Fault::Kill,
        name: "kill",
        title: "kill -9",
        about: "The daemon is killed while a join or an exit has no answer, and started again at once.",
        lasts_s: None,
    },
];

/// Requests of a node. A submit is a transaction that joins or leaves a pool; the approvals before it are none.
static JSON_RPC: Interface = Interface {
    is_submit: |request| submitted(request).is_some(),
    // The daemon sends the same bytes again while it does not know what became of them.
    same_as: |request| Some(submitted(request)?.hash().to_hex()),
    is_depth: |_| false,
    is_move: |_| true,
    client_order_id: |_| None,
    answered: |request, answer| {
        let taken = recording_proxy::json(answer)?;
        let hash = submitted(request)?.hash().to_hex();
        (taken.get("result")?.as_str()? == hash).then(|| "pending".to_owned())
    },
};

/// The join or exit that a request sends to a node.
fn submitted(request: &[u8]) -> Option<Signed> {
    const SEND: &[u8] = b"eth_sendRawTransaction";
    if !request.windows(SEND.len()).any(|part| part == SEND) {
        return None;
    }
    let json = recording_proxy::json(request)?;
    let bytes = wire::data(json.get("params")?.get(0)?.as_str()?).ok()?;
    let signed = Signed::read(&bytes, node::CHAIN_ID).ok()?;
    let call = Call::read(&signed.transaction().data).ok()?;
    let is_move = matches!(
        call,
        Call::AddLiquidity { .. } | Call::RemoveLiquidity { .. }
    );
    is_move.then_some(signed)
}

/// A chain with a pool, and a trader.
pub struct OnChain {
    packages: Packages,
    duration_s: Option<u64>,
    chain: Option<Running>,
    compared: Option<Compared>,
}

/// A chain whose node runs.
struct Running {
    node: Node,
    deployed: Deployed,
    trader: Trader,
    books: Books,
    /// The newest block when the trader began.
    begun: u64,
}

/// What was compared at the end.
struct Compared {
    state: State,
    traded: Traded,
    counts: BTreeMap<&'static str, u64>,
    gas: u128,
    problems: Vec<String>,
}

impl OnChain {
    /// A demo with these arguments.
    ///
    /// # Errors
    /// An argument makes no sense on a chain, or the node and the contracts are not there.
    pub fn new(args: &DemoArgs) -> anyhow::Result<Self> {
        let refused = |what: &str| Failure::new(Exit::Usage, what);
        if args.scenario.is_some() {
            let what = "--scenario is the market of an exchange: with --venue evm a trader moves the price of the pool (--seed)";
            return Err(refused(what).into());
        }
        let strategy = args.strategy.as_deref();
        if strategy.is_some_and(|name| name != cambist_strategies::LP_MANAGER) {
            let what = "with --venue evm there is no order book: --strategy lp_manager, the default there, is the only one that holds shares of pools and nothing else";
            return Err(refused(what).into());
        }
        let modules = args.node_modules.as_deref();
        let modules = modules.unwrap_or_else(|| Path::new(MODULES));
        Ok(Self {
            packages: Packages::find(modules)?,
            duration_s: (!args.forever).then_some(args.duration),
            chain: None,
            compared: None,
        })
    }

    fn running(&mut self) -> anyhow::Result<&mut Running> {
        self.chain.as_mut().context("the chain has not begun")
    }
}

impl Venue for OnChain {
    const NAME: &'static str = "chain";

    async fn open(
        &mut self,
        args: &DemoArgs,
        folder: &mut Folder,
        screen: &mut ProgressLine,
    ) -> anyhow::Result<Opened> {
        folder.keep(true);
        let (process, address) = node::start(folder.path(), &self.packages.anvil).await?;
        let client = node::client(&address)?;
        let (key, text) = actor::new_key()?;
        private(&folder.path().join(KEY_FILE), &text)?;
        let mut trader = Actor::new()?;
        let account = key.address();
        let deployed = deploy::deploy(&client, &self.packages, account, &mut trader).await;
        let deployed = deployed.with_context(|| format!("the node at {address}"))?;
        screen.say(&format!(
            "chain {} at http://{address}, a block a second, final two blocks later; trader with seed {}",
            node::CHAIN_ID,
            args.seed
        ));
        screen.say(&format!(
            "pool {MARKET}: {} {WETH} and {} {TOKEN}; factory {}, router {}, pair {}",
            deploy::POOLED,
            deploy::POOLED * deploy::PRICE,
            deployed.factory,
            deployed.router,
            deployed.pair
        ));
        // A pair orders its tokens by address.
        let mut tokens = [
            (WETH.to_owned(), deployed.weth),
            (TOKEN.to_owned(), deployed.token),
        ];
        tokens.sort_by_key(|(_, at)| *at);
        let [first, second] = tokens;
        let books = Books::new(Account {
            address: account,
            router: deployed.router,
            pair: deployed.pair,
            tokens: [first, second, (format!("LP-{MARKET}"), deployed.pair)],
            coin: COIN.to_owned(),
        });
        let begun = books::newest(&client).await?;
        self.chain = Some(Running {
            begun,
            trader: Trader::begin(node::client(&address)?, trader, deployed, args.seed),
            node: client,
            deployed,
            books,
        });
        Ok(Opened { process, address })
    }

    fn interface(&self) -> &'static Interface {
        &JSON_RPC
    }

    fn write_daemon(&self, folder: &Path, base_url: &str) -> anyhow::Result<PathBuf> {
        let chain = self.chain.as_ref().context("the chain has not begun")?;
        private(&folder.join(NODE_FILE), &format!("{base_url}/"))?;
        let written = Written {
            deployed: &chain.deployed,
            account: chain.books.account().address,
            duration_s: self.duration_s,
        };
        daemon_file::write_daemon(folder, &written)
    }

    fn buttons(&self) -> &'static [Button] {
        &BUTTONS
    }

    async fn begin(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()> {
        if fault == Fault::LoseAnswers {
            proxy.lose(LOST_PERCENT);
        }
        Ok(())
    }

    async fn end(&mut self, fault: Fault, proxy: &RecordingProxy) -> anyhow::Result<()> {
        if fault == Fault::LoseAnswers {
            proxy.lose(0);
        }
        Ok(())
    }

    fn due_events(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn is_recovered(&self, page: &Value) -> bool {
        page.get("ready") == Some(&Value::Bool(true))
    }

    fn recovery_max(&self) -> Duration {
        RECOVERY
    }

    fn before_quotes(&self) -> Duration {
        Duration::ZERO
    }

    fn quotes_problem(&self, _: f64, _: f64) -> Option<String> {
        // Nothing is quoted.
        None
    }

    async fn shown_since(&mut self, _: &Daemon, _: VenueTime) -> anyhow::Result<Shown> {
        let Running { node, books, .. } = self.running()?;
        books.read(node).await?;
        Ok(Shown {
            orders: Vec::new(),
            pool_transactions: books.pool_transactions(),
        })
    }

    async fn books(&mut self, daemon: &Daemon) -> anyhow::Result<end_checks::Books> {
        let Running {
            node,
            books,
            trader,
            begun,
            ..
        } = self.running()?;
        let state = books.state(node).await?;
        let moves = books.pool_transactions();
        let mut problems = books.problems(&state);
        // Without a kill as well: every join and exit of the store has an end, and it is the chain's.
        let known = view::remembered_moves(&daemon.store.dir)?;
        problems.extend(audit::compare_moves(&moves, &known, true).problems());
        let traded = trader.traded();
        let blocks = state.block.saturating_sub(*begun);
        problems.extend(trader_problem(&traded, blocks));
        let decimals = state.totals.keys().map(|symbol| (symbol.clone(), DECIMALS));
        let compared = end_checks::Books {
            orders: Vec::new(),
            moves,
            totals: state.totals.clone(),
            decimals: decimals.collect(),
            coin: Some(TokenSpec {
                id: TokenId(0),
                symbol: COIN.to_owned(),
                decimals: DECIMALS,
                precision: DECIMALS,
                minimum: 1,
                maximum: AMOUNT_MAX,
                dust: 0,
                enabled: true,
            }),
            numbers_return: true,
        };
        self.compared = Some(Compared {
            counts: books.counts(),
            gas: books.gas(),
            state,
            traded,
            problems,
        });
        Ok(compared)
    }

    fn problems(&self) -> Vec<String> {
        let compared = self.compared.as_ref();
        compared.map_or_else(Vec::new, |compared| compared.problems.clone())
    }

    fn title_text(&self) -> String {
        String::new()
    }

    fn text(&self) -> String {
        self.compared
            .as_ref()
            .map_or_else(String::new, Compared::text)
    }

    fn add_json(&self, object: &mut Map<String, Value>) {
        object.insert("scenario".to_owned(), Value::Null);
        let chain = self.compared.as_ref().map(Compared::json);
        object.insert("chain".to_owned(), chain.unwrap_or_default());
    }

    fn closing(&self, args: &DemoArgs, program: &str) -> String {
        let seed = args.seed.checked_add(1).unwrap_or(1);
        let modules = args.node_modules.as_deref();
        let modules = modules.map_or_else(String::new, |folder| {
            format!(" --node-modules {}", folder.display())
        });
        let line = |arguments: &str, what: &str| {
            format!("  {:<58} {what}\n", format!("{program} {arguments}"))
        };
        let lines = [
            line(
                &format!("demo --venue evm --seed {seed}{modules}"),
                "another trader",
            ),
            line(
                "strategy show lp_manager",
                "the strategy and its parameters",
            ),
            line(
                "check --config config/evm-pools.toml --no-secrets",
                "a file for a chain of your own",
            ),
        ];
        format!(
            "
Nothing is undecided, every nonce is spent once, the ledger equals the chain's
balances to the unit, gas included, the router may take what the last call left
and nothing else, and the tape replays to the same actions.

Next:
{}",
            lines.concat()
        )
    }
}

/// A price that does not move shows little.
fn trader_problem(traded: &Traded, blocks: u64) -> Option<String> {
    let Traded { sent, why, .. } = traded;
    (blocks >= EXPECTED_WITHIN && *sent == 0).then(|| {
        let why = why.as_deref().unwrap_or("it had no time");
        format!("the trader swapped nothing: {why}")
    })
}

impl Compared {
    fn text(&self) -> String {
        let mut text = String::new();
        let mut put = |label: &str, what: &str| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{label:<LABEL$}{what}");
        };
        let State {
            block,
            nonce,
            waiting_below,
            allowed,
            ..
        } = &self.state;
        let of = |name: &str| self.counts.get(name).copied().unwrap_or_default();
        put(
            "transactions",
            &format!(
                "{nonce} in {block} blocks: {} approvals, {} joins, {} exits, {} burns; {} of them reverted",
                of("approvals"),
                of("joins"),
                of("exits"),
                of("burns"),
                of("reverted")
            ),
        );
        let waiting = waiting_below.saturating_sub(*nonce);
        put(
            "nonces",
            &format!("{nonce} spent, each once; {waiting} wait for a block"),
        );
        put("gas", &format!("{} {COIN}", whole(self.gas)));
        for (symbol, units) in allowed {
            let units = amount(*units).map_or_else(|_| units.to_string(), whole);
            put("router may take", &format!("{units} {symbol}"));
        }
        let prices = self.traded.prices.map_or_else(String::new, |prices| {
            let [low, high] = [prices.0, prices.1]
                .map(|hundredths| format!("{}.{:02}", hundredths / 100, hundredths % 100));
            format!(", the price between {low} and {high} {TOKEN}")
        });
        put("trader", &format!("{} swaps{prices}", self.traded.sent));
        text
    }

    fn json(&self) -> Value {
        let State {
            block,
            nonce,
            waiting_below,
            allowed,
            ..
        } = &self.state;
        let allowed: Map<_, _> = allowed
            .iter()
            .map(|(symbol, units)| (symbol.clone(), units.to_string().into()))
            .collect();
        json!({
            "id": node::CHAIN_ID,
            "blocks": block,
            "nonces": {"spent": nonce, "waiting": waiting_below.saturating_sub(*nonce)},
            "transactions": self.counts,
            "gas_units": self.gas.to_string(),
            "allowance_units": allowed,
            "trader": {"swaps": self.traded.sent, "failed": self.traded.failed},
        })
    }
}

/// Base units as whole coins or tokens.
fn whole(units: u128) -> String {
    cambist_config::money::whole(units, DECIMALS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_evm::Address;
    use cambist_evm::transaction::Transaction;

    use super::*;

    /// A request that sends a call to a node, as HTTP, and the transaction's hash.
    fn sends(call: &Call) -> (Vec<u8>, String) {
        let (key, _) = actor::new_key().unwrap();
        let transaction = Transaction {
            chain_id: node::CHAIN_ID,
            nonce: 3,
            priority_fee_max: 1,
            fee_max: 2,
            gas_limit: 100_000,
            to: Some(Address([2; 20])),
            value: cambist_evm::U256::ZERO,
            data: call.encode(),
        };
        let signed = transaction.sign(&key).unwrap();
        let bytes = wire::to_data(&signed.bytes());
        let body = json!({"method": "eth_sendRawTransaction", "params": [bytes], "id": 1});
        (http("POST / HTTP/1.1", &body), signed.hash().to_hex())
    }

    fn http(head: &str, body: &Value) -> Vec<u8> {
        format!("{head}\r\ncontent-type: application/json\r\n\r\n{body}").into_bytes()
    }

    #[test]
    fn a_submit_is_a_join_or_an_exit_on_its_way_to_the_node() {
        let shares = cambist_evm::U256::from(5);
        let (first, second) = (Address([3; 20]), Address([4; 20]));
        let (request, hash) = sends(&Call::RemoveLiquidity {
            token_a: first,
            token_b: second,
            shares,
            a_min: shares,
            b_min: shares,
            to: first,
            deadline: shares,
        });
        assert!((JSON_RPC.is_submit)(&request) && (JSON_RPC.is_move)(&request));
        for cut in 0..request.len() {
            assert!(!(JSON_RPC.is_submit)(&request[..cut]), "{cut}");
        }
        let head = "HTTP/1.1 200 OK";
        let answered = |body: Value| (JSON_RPC.answered)(&request, &http(head, &body));
        assert_eq!(
            answered(json!({"result": hash})).as_deref(),
            Some("pending")
        );
        assert_eq!(answered(json!({"result": "0x00"})), None);
        assert_eq!(answered(json!({"error": {"message": hash}})), None);
        let (approval, _) = sends(&Call::Approve {
            spender: first,
            amount: shares,
        });
        assert!(!(JSON_RPC.is_submit)(&approval), "the join follows it");
        let poll = json!({"method": "eth_getBlockByNumber", "params": ["latest", false]});
        assert!(!(JSON_RPC.is_submit)(&http("POST / HTTP/1.1", &poll)));
    }

    #[test]
    fn a_trader_without_a_swap_is_a_problem_of_a_demo_that_is_long_enough() {
        let mut traded = Traded::default();
        assert_eq!(trader_problem(&traded, 19), None);
        traded.why = Some("refused".to_owned());
        let problem = trader_problem(&traded, 20).unwrap();
        assert!(problem.ends_with("nothing: refused"), "{problem}");
        traded.sent = 1;
        assert_eq!(trader_problem(&traded, 20), None);
    }

    #[test]
    fn every_fault_of_the_chain_has_the_name_that_it_has_elsewhere() {
        for button in BUTTONS {
            let known = button.fault.button();
            assert_eq!((button.name, button.title), (known.name, known.title));
            assert_eq!(button.lasts_s, known.lasts_s);
        }
    }
}
