//! Checks the outcome at the exchange and from the tapes, independently of the daemon's own reports.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use cambist_client::{CallError, VenueClient};
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::notification::{End, Notification};
use cambist_core::order::OrderReport;
use cambist_core::pool::{PoolTransactionReport, PoolTransactionStatus};
use cambist_core::request::{Endpoint, OrderList, OrdersPage, Outcome, Query, Reply};
use cambist_core::{ClientOrderId, Time, TokenSpec, VenueTime};
use cambist_profit_check::Profit;
use cambist_report::Session;
use cambist_tape::{Reader, compare};

use crate::demo::deduplicate::Deduplicated;
use cambist_config::money;
use cambist_daemon::adapter;
use cambist_daemon::config::Daemon;
use cambist_daemon::recording::Player;
use cambist_daemon::venues::{Access, AccountReader};

/// Timeout of a request; longer than a daemon's.
const TIMEOUT_MS: u64 = 5_000;

/// Attempts of a read whose answer does not come in time.
const ATTEMPTS: u32 = 4;
/// Attempts of a list that is not complete yet, because a ledger does not show the fills of its orders.
const LIST_ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// Entries per page.
const PAGE: u32 = 500;

/// The exchange's books of the daemon's account.
pub struct Books {
    /// All orders of the account in the exchange's list.
    pub orders: Vec<OrderReport>,
    /// All joins and exits of the account in the exchange's list.
    pub moves: Vec<PoolTransactionReport>,
    /// Totals by token symbol, base units.
    pub totals: BTreeMap<String, u128>,
    /// Decimals by token symbol.
    pub decimals: BTreeMap<String, u8>,
    /// The token that gas is paid in, if no market has it.
    pub coin: Option<TokenSpec>,
    /// Whether the number of an intent that died without having been taken is given to the next one.
    pub numbers_return: bool,
}

impl Books {
    /// Formats a signed number of base units as whole tokens; unchanged if the token or the number is unknown.
    pub fn whole(&self, token: &str, units: &str) -> String {
        let Some((decimals, amount)) = self.decimals.get(token).zip(units.parse::<i128>().ok())
        else {
            return format!("{units} base units of");
        };
        let sign = if amount < 0 { "-" } else { "" };
        format!("{sign}{}", money::whole(amount.unsigned_abs(), *decimals))
    }

    /// Own orders that rest, and undecided joins and exits.
    pub fn resting(&self) -> u64 {
        let open = self.orders.iter().filter(|order| !order.status.is_final());
        let undecided = self
            .moves
            .iter()
            .filter(|m| m.status == PoolTransactionStatus::Processing);
        (open.count() + undecided.count()) as u64
    }
}

async fn reader(daemon: &Daemon) -> anyhow::Result<AccountReader> {
    let access = tokio::sync::Mutex::new(Access::of_command(daemon, TIMEOUT_MS)?);
    until_answered(async || access.lock().await.reader(daemon).await).await
}

/// Repeats a read without a usable answer: a busy machine may delay one beyond the timeout.
async fn until_answered<T>(ask: impl AsyncFn() -> anyhow::Result<T>) -> anyhow::Result<T> {
    for _ in 1..ATTEMPTS {
        match ask().await {
            Err(error) if is_unanswered(&error) => tokio::time::sleep(PAUSE).await,
            answered => return answered,
        }
    }
    ask().await
}

fn is_unanswered(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(CallError::Unknown { .. }))
}

/// Reads the account's orders created at or after `from` from the exchange.
pub async fn orders_since(daemon: &Daemon, from: VenueTime) -> anyhow::Result<Vec<OrderReport>> {
    let reader = reader(daemon).await?;
    orders(&reader, &reader.lists, from).await
}

/// Which orders are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// At least those that rest.
    Resting,
    /// All that the venue lists, of whatever age.
    All,
}

/// Reads the account's orders and balances from the venue.
pub async fn books(daemon: &Daemon) -> anyhow::Result<Books> {
    let account = Account::open(daemon).await?;
    let orders = account.orders(Which::All).await?;
    let totals = account.totals().await?;
    let moves = if account.reader.has_pools {
        moves(&account.reader.client).await?
    } else {
        Vec::new()
    };
    Ok(Books {
        orders,
        moves,
        totals,
        decimals: account.decimals(),
        coin: None,
        numbers_return: false,
    })
}

/// An account at its venue, and the tokens that are listed there.
pub struct Account {
    reader: AccountReader,
    tokens: Vec<TokenSpec>,
}

impl Account {
    /// The account of a daemon's keys.
    pub async fn open(daemon: &Daemon) -> anyhow::Result<Self> {
        let reader = reader(daemon).await?;
        let tokens = until_answered(async || reader.tokens().await).await?;
        Ok(Self { reader, tokens })
    }

    /// The account of a daemon's keys with all that it holds, shares of pools among it.
    pub async fn open_holdings(daemon: &Daemon) -> anyhow::Result<Self> {
        let access = tokio::sync::Mutex::new(Access::of_command(daemon, TIMEOUT_MS)?);
        let ask = async || access.lock().await.holdings_reader(daemon).await;
        let reader = until_answered(ask).await?;
        let tokens = until_answered(async || reader.tokens().await).await?;
        Ok(Self { reader, tokens })
    }

    /// Decimals by token symbol.
    pub fn decimals(&self) -> BTreeMap<String, u8> {
        let tokens = self.tokens.iter();
        tokens
            .map(|token| (token.symbol.clone(), token.decimals))
            .collect()
    }

    /// Its orders.
    pub async fn orders(&self, which: Which) -> anyhow::Result<Vec<OrderReport>> {
        let lists = match which {
            Which::Resting => std::slice::from_ref(&self.reader.resting),
            Which::All => &self.reader.lists,
        };
        orders(&self.reader, lists, VenueTime(0)).await
    }

    /// What it holds by token symbol, base units.
    pub async fn totals(&self) -> anyhow::Result<BTreeMap<String, u128>> {
        let balances = match retry_query(&self.reader.client, &Query::Balances).await? {
            Reply::Balances(balances) => balances,
            Reply::ChargedBalances(of) => of.balances,
            _ => bail!("balances: the venue answered something else"),
        };
        let symbol = |id| {
            let token = self.tokens.iter().find(|token| token.id == id);
            token.map_or_else(|| id.0.to_string(), |token| token.symbol.clone())
        };
        let totals = balances.into_iter();
        Ok(totals
            .map(|balance| (symbol(balance.token), balance.total))
            .collect())
    }
}

/// Every order of every list, each once: one may have moved from a list to a later one meanwhile.
async fn orders(
    reader: &AccountReader,
    lists: &[OrderList],
    from: VenueTime,
) -> anyhow::Result<Vec<OrderReport>> {
    let mut all: Vec<OrderReport> = Vec::new();
    for list in lists {
        let listed = list_of(reader, *list, from).await?;
        all.retain(|known| listed.iter().all(|order| order.hash != known.hash));
        all.extend(listed);
    }
    Ok(all)
}

async fn list_of(
    reader: &AccountReader,
    list: OrderList,
    from: VenueTime,
) -> anyhow::Result<Vec<OrderReport>> {
    let mut all = Vec::new();
    let mut offset = Some(0);
    while let Some(begin) = offset {
        let page = OrdersPage {
            from,
            to: VenueTime(0),
            offset: begin,
            limit: PAGE,
            list,
        };
        offset = match retry_query(&reader.client, &Query::Orders(page)).await? {
            Reply::Orders { orders, total } => {
                let is_last = orders.is_empty();
                all.extend(orders);
                let read = u32::try_from(all.len()).unwrap_or(u32::MAX);
                (!is_last && read < total).then_some(read)
            }
            Reply::OrdersUntil { orders, next } => {
                all.extend(orders);
                next
            }
            _ => bail!("orders: the venue answered something else"),
        };
    }
    Ok(all)
}

/// Reads the account's joins and exits with a client.
pub async fn moves(client: &VenueClient) -> anyhow::Result<Vec<PoolTransactionReport>> {
    let mut all = Vec::new();
    loop {
        let page = OrdersPage {
            from: VenueTime(0),
            to: VenueTime(0),
            offset: u32::try_from(all.len()).unwrap_or(u32::MAX),
            limit: PAGE,
            list: OrderList::All,
        };
        let answer = retry_query(client, &Query::PoolTransactions(page)).await?;
        let Reply::PoolTransactions { moves, total } = answer else {
            bail!("joins and exits: the venue answered something else");
        };
        let is_last = moves.is_empty();
        all.extend(moves);
        if is_last || all.len() >= total as usize {
            return Ok(all);
        }
    }
}

/// Reads the account's joins and exits from the exchange.
pub async fn pool_transactions(daemon: &Daemon) -> anyhow::Result<Vec<PoolTransactionReport>> {
    let reader = reader(daemon).await?;
    if reader.has_pools {
        moves(&reader.client).await
    } else {
        Ok(Vec::new())
    }
}

/// In this time the counter of a key with Kraken's rules is empty again, in the highest tier.
const REFILL_MAX: Duration = Duration::from_secs(20);
/// Shortest wait that is stated.
const PAUSE_STATED: Duration = Duration::from_secs(1);
/// Attempts of a read that is refused for rate: about two minutes.
const REFUSED_MAX: u32 = 12;

/// Repeats a request until the rate limit allows it and there is a usable answer. States long waits.
async fn retry_query(client: &VenueClient, query: &Query) -> anyhow::Result<Reply> {
    let name = query.endpoint().name();
    let unknown_max = match query {
        Query::Orders(_) => LIST_ATTEMPTS,
        _ => ATTEMPTS,
    };
    let (mut refused, mut unknown) = (0, 0);
    let mut pause = crate::demo::child::POLL_INTERVAL * 10;
    while refused < REFUSED_MAX {
        let answered = client.query(query, &[]).await;
        let detail = answered.detail.unwrap_or_default();
        match answered.outcome {
            Outcome::Reply(reply) => return Ok(reply),
            Outcome::Refused(reason) if adapter::is_rate_limited(reason) => {
                // A list may be many calls, of which a venue allows one a second: what is refused in the middle begins
                // again, and must find more calls than the last time.
                refused += 1;
                if pause >= PAUSE_STATED {
                    let what = format!(
                        "{name}: the venue limits the rate; trying again in {} s",
                        pause.as_secs()
                    );
                    // Where it cannot be written the wait is the same.
                    let _ = writeln!(std::io::stderr().lock(), "{what}");
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(REFILL_MAX);
            }
            Outcome::Unknown(_) if unknown + 1 < unknown_max => {
                unknown += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Outcome::Refused(_) => bail!("{name}: the venue refused: {detail}"),
            Outcome::NotSent => bail!("{name}: not sent: {detail}"),
            Outcome::Unknown(cause) => {
                bail!("{name}: no usable answer ({}): {detail}", cause.name())
            }
        }
    }
    bail!("{name}: the venue kept limiting the rate (429)")
}

/// Contents of a folder of tapes.
pub struct ReplayedTapes {
    /// Whether each replays to the same actions.
    pub equal: bool,
    /// The session of all runs of the daemon; `None` if the beginning of the first run is missing.
    pub session: Option<(Session, Time)>,
    /// The resulting balances, in base units by symbol.
    pub held: BTreeMap<String, i128>,
    /// Where profit and loss differs from the change of equity, computed a second time.
    pub profit: Option<String>,
    /// The first evidence for the given orders in a run that found them open at its start: when after that, and what.
    pub evidence: BTreeMap<ClientOrderId, (u64, String)>,
}

/// Replays all tapes of a folder, and collects the evidence for some orders that a run was killed with. `venue` is what
/// texts call the venue; `coin` is a token that no market has.
pub fn replay(
    dir: &Path,
    unknown_ids: &[ClientOrderId],
    venue: &'static str,
    coin: Option<&TokenSpec>,
) -> anyhow::Result<ReplayedTapes> {
    let mut tapes: Vec<_> = std::fs::read_dir(dir)
        .with_context(|| dir.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "tape")
        })
        .collect();
    tapes.sort();
    if tapes.is_empty() {
        bail!("no tape in {}", dir.display());
    }
    let mut history = RunHistory::of(venue, coin);
    for tape in tapes {
        let name = || tape.display().to_string();
        let file = std::fs::File::open(&tape).with_context(name)?;
        let mut reader = Reader::open(std::io::BufReader::new(file)).with_context(name)?;
        let mut player = Player::new(&reader).with_context(name)?;
        let replayed = compare(&mut reader, |now, event, actions| {
            player.handle_event(now, event, actions);
            history.observe(now, event, actions, unknown_ids);
        })
        .with_context(name)?;
        if let Some(failure) = player.failure() {
            bail!("{}: {failure}", name());
        }
        history.equal &= replayed.is_equal();
    }
    let (session, profit) = (history.session.as_ref(), history.profit.as_ref());
    let held = session.zip(profit).map(|(session, profit)| {
        let held = profit.held().iter();
        held.map(|(token, units)| (session.symbol(*token), *units))
            .collect()
    });
    Ok(ReplayedTapes {
        equal: history.equal,
        held: held.unwrap_or_default(),
        profit: history.wrong,
        session: history.session.map(|session| (session, history.now)),
        evidence: history.evidence,
    })
}

/// The notifications of several runs in succession.
struct RunHistory {
    venue: &'static str,
    coin: Option<TokenSpec>,
    equal: bool,
    session: Option<Session>,
    /// Profit and loss, computed a second time, and where it differs from the session's.
    profit: Option<Profit>,
    wrong: Option<String>,
    deduplicated: Deduplicated,
    /// When this run began, on the clock of all runs.
    begun: Time,
    /// The same on this run's own clock, which does not begin at zero.
    begun_here: Time,
    now: Time,
    /// Orders, joins and exits that this run found open in its store.
    recovered: BTreeSet<ClientOrderId>,
    evidence: BTreeMap<ClientOrderId, (u64, String)>,
}

impl RunHistory {
    fn of(venue: &'static str, coin: Option<&TokenSpec>) -> Self {
        Self {
            venue,
            coin: coin.cloned(),
            equal: true,
            session: None,
            profit: None,
            wrong: None,
            deduplicated: Deduplicated::default(),
            begun: Time(0),
            begun_here: Time(0),
            now: Time(0),
            recovered: BTreeSet::new(),
            evidence: BTreeMap::new(),
        }
    }

    fn observe(
        &mut self,
        now: Time,
        event: &Event,
        actions: &[Action],
        unknown_ids: &[ClientOrderId],
    ) {
        if let Event::Start(start) = event {
            self.begun = self.now;
            self.begun_here = now;
            let orders = start.open.iter().map(|found| found.order.client_id);
            let transactions = start.open_pool_transactions.iter();
            let transactions = transactions.map(|found| found.transaction.client_id);
            self.recovered = orders.chain(transactions).collect();
            self.deduplicated.begin_run(start);
            match &mut self.session {
                None => {
                    let mut session = Session::new(&start.markets)
                        .with_pools(&start.pools)
                        .with_request_unit(start.venue.costs.of(Endpoint::Balances));
                    if let Some(coin) = &self.coin {
                        session = session.with_token(coin);
                    }
                    self.session = Some(session);
                    self.profit = Some(Profit::begin(&start.markets, &start.pools));
                }
                Some(session) => session.daemon_restarted(self.now),
            }
            if let Some(session) = &mut self.session {
                for found in &start.open {
                    let order = &found.order;
                    let has_filled = found.base_filled > 0;
                    session.recovered(order.client_id, order.accepted_until_s, has_filled);
                }
                for found in &start.open_pool_transactions {
                    let transaction = &found.transaction;
                    session.recovered_pool_transaction(
                        transaction.client_id,
                        transaction.valid_until_s,
                    );
                }
            }
        }
        let since_start = now.micros_since(self.begun_here);
        self.now = Time(self.begun.0.saturating_add(since_start));
        for action in actions {
            let Action::Notify(note) = action else {
                continue;
            };
            if let (Some(session), Some(note)) =
                (&mut self.session, self.deduplicated.new_part(note))
            {
                session.observe(self.now, &note);
                let profit = self.profit.as_mut();
                let wrong = profit.and_then(|profit| profit.observe(&note, session));
                let wrong = wrong.map(|(check, detail)| format!("{check}: {detail}"));
                self.wrong = self.wrong.take().or(wrong);
            }
            if let Some((order, what)) = finding(note, self.venue)
                && unknown_ids.contains(&order)
                && self.recovered.contains(&order)
            {
                let found = (now.ms_since(self.begun_here), what);
                self.evidence.entry(order).or_insert(found);
            }
        }
    }
}

/// What a notification proves about an order that was in an unknown state.
fn finding(note: &Notification, venue: &str) -> Option<(ClientOrderId, String)> {
    if let Notification::Acknowledged { order, .. } = note {
        let what = format!("the {venue} acknowledged the same bytes, sent again");
        Some((*order, what))
    } else if let Notification::Resolved { order, status } = note {
        let status = status.name();
        Some((*order, format!("the {venue}'s list shows it {status}")))
    } else if let Notification::PoolTransactionSettled(moved) = note {
        let what = format!("the {venue}'s list shows it processed");
        Some((moved.order, what))
    } else if let Notification::Ended { order, end, .. }
    | Notification::PoolTransactionEnded { order, end, .. } = note
    {
        Some((*order, ended(*end, venue)))
    } else {
        None
    }
}

fn ended(end: End, venue: &str) -> String {
    let shows = |what: &str| format!("the {venue}'s list shows {what}");
    match end {
        End::Filled => shows("it filled"),
        End::Cancelled => shows("it cancelled"),
        End::Expired => shows("it expired"),
        End::FailedLate => shows("that it failed"),
        End::Refused => "every copy was refused for a reason that proves it dead".to_owned(),
        End::NeverSent => "it was never sent".to_owned(),
        End::Fenced => format!(
            "the {venue}'s clock passed its expiry and grace, and a complete list begun after that does not show it"
        ),
    }
}
