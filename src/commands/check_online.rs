//! `cambist check --online`: whether this file would quote at the venue now, with its minimums, the account's balances
//! and the current books. Sends queries only.
use std::fmt::Write;
use std::time::Duration;

use anyhow::Context;
use cambist_client::VenueClient;
use cambist_core::config::MarketConfig;
use cambist_core::control::Control;
use cambist_core::event::TradingState;
use cambist_core::notification::Withheld;
use cambist_core::order::UnsignedOrder;
use cambist_core::request::{DepthLevel, Query, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, MarketSpec, Price, Side, VenueTime};
use serde::Serialize;
use serde_json::Value;

use cambist_daemon::config::{Bound, Daemon, feasible};
use cambist_daemon::dry_run::{self, Answers, DryRun};
use cambist_daemon::live::latch::Latch;
use cambist_daemon::live::start::refuse_other_account;
use cambist_daemon::live::start_retry::StartRetry;
use cambist_daemon::portfolio::Observed;
use cambist_daemon::telemetry::withheld;
use cambist_daemon::venues::{Access, Session, Validity};
use cambist_host::clock::Clock;
use cambist_store::view;

/// Result of the queries.
#[derive(Serialize)]
pub struct Online {
    /// Whether every market would quote a side that it should, now or with other balances.
    pub ok: bool,
    markets: Vec<Value>,
    /// What can never be quoted with the venue's minimums, in sentences.
    never: Vec<String>,
    /// A raised latch or a restricted trading state, in sentences: the trial knows venue, account and file only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_back: Vec<String>,
    /// Orders that the venue would refuse, where it can be asked, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    #[serde(skip)]
    lines: Vec<String>,
    /// Every side that should be quoted: the result, and what to do if it is not.
    #[serde(skip)]
    sides: Vec<(String, Option<&'static str>)>,
    /// The latest time of the venue.
    #[serde(skip)]
    pub venue_time: VenueTime,
    /// When that was answered.
    #[serde(skip)]
    pub answered: Answered,
    /// What the account holds, and at which prices.
    #[serde(skip)]
    pub observed: Observed,
}

/// Queries the venue of a checked file.
pub fn ask(daemon: &Daemon) -> anyhow::Result<Online> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(query(daemon))
}

async fn query(daemon: &Daemon) -> anyhow::Result<Online> {
    let access = Access::of_command(daemon, daemon.request_timeout_ms)?;
    let once = StartRetry::none();
    let mut session = access.open(daemon, once).await?;
    let bound = session.bind(daemon, once).await?;
    of(daemon, &session, &bound).await
}

/// As [`ask`], for a venue whose keys and listing were checked.
pub async fn of(daemon: &Daemon, session: &Session, bound: &Bound) -> anyhow::Result<Online> {
    session.check(daemon, bound, StartRetry::none()).await?;
    let mut found = Found::ask(&session.client(bound), bound).await?;
    let never = feasible::never_quoted(daemon, bound);
    let never: Vec<_> = never.into_iter().map(|problem| problem.what).collect();
    let run = DryRun {
        config: bound.engine.clone(),
        markets: bound.markets.clone(),
        references: bound
            .references
            .iter()
            .map(|(source, _)| source.clone())
            .collect(),
        strategies: bound.built(),
        instance: 0,
        venue: bound.venue.clone(),
        venue_time: found.venue_time,
    };
    let dry_run::Found { reasons, orders } = dry_run::run_dry(run, &mut found);
    let held_back = held_back(daemon);
    let mut online = Online {
        ok: never.is_empty() && held_back.is_empty(),
        markets: Vec::new(),
        never,
        held_back,
        refused: Vec::new(),
        lines: Vec::new(),
        sides: Vec::new(),
        venue_time: found.venue_time,
        answered: found.answered,
        observed: found.observed(bound),
    };
    let mut elsewhere: SortedMap<MarketId, Vec<String>> = SortedMap::new();
    for read in bound.reads_elsewhere() {
        elsewhere.entry(read.reader).or_default().push(read.name);
    }
    let each = bound.markets.iter().zip(&bound.engine.markets);
    for ((spec, limits), reasons) in each.zip(&reasons) {
        let mut page = withheld::sides(spec, reasons);
        page["market"] = spec.name.as_str().into();
        online.markets.push(page);
        if !spec.book {
            let line = format!(
                "{}: there is no order book, and joins, exits and swaps are not tried",
                spec.name
            );
            online.lines.push(line);
            let mid = online.observed.mids.get(&spec.id);
            if let Some(problem) = mid.and_then(|mid| outside_band(spec, limits, *mid)) {
                online.ok = false;
                online.never.push(problem);
            }
            continue;
        }
        // What is read of other venues is not here: a price or holdings that are missing for it prove nothing.
        let read = elsewhere.get(&spec.id);
        let untried = |why: &Withheld| untried(why, read.map(Vec::as_slice));
        let is_due = |why: &Withheld| !why.control.is_by_design() && untried(why).is_none();
        let meant = |why: &&Option<Withheld>| why.as_ref().is_none_or(is_due);
        let mut meant = reasons.iter().filter(meant).peekable();
        online.ok &= meant.peek().is_none() || meant.any(Option::is_none);
        for (side, why) in Side::BOTH.into_iter().zip(reasons) {
            let what = match why.as_ref().map(|why| (why, untried(why))) {
                None => "would be quoted".to_owned(),
                Some((_, Some(untried))) => format!("not tried: {untried}"),
                Some((why, None)) => {
                    let (name, text) = (why.control.name(), withheld::text(spec, why));
                    format!("not quoted: {name}: {text}; {}", why.remedy())
                }
            };
            let line = format!("{} {}: {what}", spec.name, side.name());
            let fix = why.as_ref().filter(|why| is_due(why));
            let fix = fix.map(|why| why.control.remedy());
            online.sides.push((line.clone(), fix));
            online.lines.push(line);
        }
    }
    online.validate(session, bound, &orders).await?;
    Ok(online)
}

/// What a trial without a daemon does not have, if that is why a side is not quoted: the books of other venues that a
/// strategy reads, or the process of one, which is started by nothing but a run.
fn untried(why: &Withheld, read: Option<&[String]>) -> Option<String> {
    match (why.control, read) {
        (Control::ProcessDown, _) => Some(
            "this command does not start the process of the strategy; cambist backtest does, and mode = \"paper\""
                .to_owned(),
        ),
        (Control::NoFairPrice, Some(read)) => Some(format!(
            "a strategy reads {} of other venues, which only a daemon does",
            read.join(", ")
        )),
        _ => None,
    }
}

/// The price of a pool that is outside of the market's price band; `mid` is in half ticks. Nothing is joined, left or
/// swapped there.
fn outside_band(spec: &MarketSpec, limits: &MarketConfig, mid: u64) -> Option<String> {
    let (least, most) = (limits.price_min, limits.price_max);
    let is_within = least.0.saturating_mul(2) <= mid && mid <= most.0.saturating_mul(2);
    (!is_within).then(|| {
        let [mid, least, most] = [Price(mid / 2), least, most].map(|price| spec.price_text(price));
        let (base, quote) = (&spec.base.symbol, &spec.quote.symbol);
        format!(
            "{}: the pool's price is {mid}, and market.price_floor to market.price_ceiling are {least} to {most}: nothing would be joined, left or swapped. If the file is meant, the addresses of {base} and {quote} in [venue.tokens] are those of other tokens, or each other's; otherwise correct both prices",
            spec.name
        )
    })
}

/// The latch and the trading state of the state folder, if they let no daemon order anything. Pauses of single parts are
/// not among them.
fn held_back(daemon: &Daemon) -> Vec<String> {
    let (dir, config) = (&daemon.store.dir, daemon.source.path.display());
    let mut held = Vec::new();
    if let Err(other) = refuse_other_account(daemon) {
        held.push(other.to_string());
    }
    if let Some(reason) = Latch::of(dir).raised() {
        held.push(format!(
            "the latch is raised ({reason}): nothing is ordered until cambist resume --config {config} --reason TEXT"
        ));
    }
    if dir.join(cambist_store::FILE).exists() {
        match view::level(dir) {
            Ok((level, cause)) if level > TradingState::Active => held.push(format!(
                "the trading state is {} ({cause}): nothing is ordered until cambist resume --config {config} --reason TEXT",
                level.name()
            )),
            Ok(_) => {}
            Err(error) => held.push(format!("the trading state is not known: {error}")),
        }
    }
    held
}

impl Online {
    /// Asks the venue whether it would take the orders that would be made, where it can be asked. Nothing is created.
    async fn validate(
        &mut self,
        session: &Session,
        bound: &Bound,
        orders: &[UnsignedOrder],
    ) -> anyhow::Result<()> {
        for order in orders {
            let validity = session.validate(order, bound, StartRetry::none()).await?;
            let spec = bound.markets.get(usize::from(order.market.0));
            let name = spec.map_or("", |spec| spec.name.as_str());
            let line = match validity {
                Validity::NotAsked => continue,
                Validity::Valid => {
                    format!(
                        "{name} {}: the venue would take the order",
                        order.side.name()
                    )
                }
                Validity::Refused(why) => {
                    let side = order.side.name();
                    let line = format!("{name} {side}: the venue would refuse the order: {why}");
                    self.ok = false;
                    self.refused.push(line.clone());
                    line
                }
            };
            self.lines.push(line);
        }
        Ok(())
    }

    /// A sentence for every side, with what to do if it should be quoted and is not.
    pub fn sides(&self) -> &[(String, Option<&'static str>)] {
        &self.sides
    }

    /// The result as text.
    pub fn text(&self) -> String {
        let mut text = String::from("\nat the venue now\n");
        for line in &self.lines {
            let _ = writeln!(text, "  {line}");
        }
        for held in &self.held_back {
            let _ = writeln!(text, "\nheld back: {held}");
        }
        for never in &self.never {
            let _ = writeln!(text, "\nnever: {never}");
        }
        text
    }
}

/// By the system clock, when an answer arrived, and for how long it was waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    /// Seconds of the wall clock when it arrived.
    pub unix_s: u64,
    /// How long it was waited for.
    pub took: Duration,
}

/// The venue's answers.
struct Found {
    venue_time: VenueTime,
    answered: Answered,
    depths: SortedMap<MarketId, Reply>,
    balances: Reply,
    account: Reply,
    markets: Reply,
    tokens: Reply,
}

impl Found {
    async fn ask(client: &VenueClient, bound: &Bound) -> anyhow::Result<Self> {
        let mut venue_time = VenueTime(0);
        let mut at = Answered::default();
        let clock = Clock::new();
        let mut answer = async |query: Query| -> anyhow::Result<Reply> {
            let began = clock.since_boot();
            let answered = StartRetry::none()
                .query(client, &query, &bound.markets)
                .await;
            let (reply, time) = answered?;
            if let Some(time) = time.filter(|time| *time > venue_time) {
                venue_time = time;
                at = Answered {
                    unix_s: clock.unix_micros() / 1_000_000,
                    took: clock.since_boot().saturating_sub(began),
                };
            }
            Ok(reply)
        };
        let name = |query: &Query| query.endpoint().name();
        let mut depths = SortedMap::new();
        for spec in &bound.markets {
            let query = Query::Depth(spec.id);
            let what = format!("{} of {}", name(&query), spec.name);
            let depth = answer(query).await.context(what)?;
            depths.insert(spec.id, depth);
        }
        let balances = answer(Query::Balances).await.context("balances")?;
        let account = answer(Query::Account).await.context("account")?;
        let markets = answer(Query::Markets).await.context("markets")?;
        let tokens = answer(Query::Tokens).await.context("tokens")?;
        for depth in depths.values() {
            // A header has whole seconds, a depth milliseconds.
            if let Reply::Depth(depth) = depth {
                venue_time = venue_time.max(depth.timestamp);
            }
        }
        Ok(Self {
            venue_time,
            answered: at,
            depths,
            balances,
            account,
            markets,
            tokens,
        })
    }
}

impl Found {
    /// What the account holds, and at which prices.
    fn observed(&self, bound: &Bound) -> Observed {
        let balances = match &self.balances {
            Reply::Balances(balances) => balances.clone(),
            Reply::ChargedBalances(of) => of.balances.clone(),
            _ => Vec::new(),
        };
        let mid = |reply: &Reply| match reply {
            Reply::Depth(depth) => {
                let best = |levels: &[DepthLevel]| levels.first().map(|level| level.price.0);
                best(&depth.bids)?.checked_add(best(&depth.asks)?)
            }
            _ => None,
        };
        let mids = self.depths.iter();
        Observed {
            markets: bound.markets.clone(),
            pools: bound.pools.clone(),
            balances,
            mids: mids
                .filter_map(|(id, reply)| Some((*id, mid(reply)?)))
                .collect(),
        }
    }
}

impl Answers for Found {
    fn answer(&mut self, query: &Query, venue_time: VenueTime) -> Option<Reply> {
        Some(match query {
            Query::Depth(market) => {
                let mut reply = self.depths.get(market).cloned()?;
                if let Reply::Depth(depth) = &mut reply {
                    // Its age when it arrived.
                    let age_ms = self.venue_time.ms_since(depth.timestamp);
                    depth.timestamp = venue_time.minus_ms(age_ms);
                }
                reply
            }
            Query::Balances => self.balances.clone(),
            Query::Account => self.account.clone(),
            Query::Markets => self.markets.clone(),
            Query::Tokens => self.tokens.clone(),
            // Orders of earlier runs are ignored: the daemon waits for them to end.
            Query::Orders(_) => Reply::Orders {
                orders: Vec::new(),
                total: 0,
            },
            Query::Order(_)
            | Query::Cancel(_)
            | Query::Amend(_)
            | Query::Pools
            | Query::PoolBalance(_)
            | Query::PoolTransactions(_) => return None,
        })
    }
}
