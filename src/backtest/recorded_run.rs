//! What the daemon did that recorded the data of a backtest, beside what the backtest came to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cambist_backtest::compare::{Beside, Table};
use cambist_backtest::{Finished, Report, SIMULATED_INSTANCE};
use cambist_core::action::Action;
use cambist_core::inspection::Inspection;
use cambist_core::notification::Notification;
use cambist_core::{Amount, MarketId, MarketSpec, Time, TokenSpec};
use cambist_market_data::Timestamp;
use cambist_report::money::decimal_text;
use cambist_report::summary::{Closing, MarketRow};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::daemon_account::DaemonAccount;
use crate::commands::run::code;

/// The clock of the account at the first depth.
const ORIGIN: Time = Time(1_000_000);

/// What a daemon did in one market, as far as the run on its tape has come.
#[derive(Clone, Debug)]
pub struct RecordedRun(Arc<Mutex<Recorded>>);

#[derive(Debug)]
struct Recorded {
    market: String,
    /// What is before this time does not count.
    from: Option<Timestamp>,
    /// `None` before the first depth.
    account: Option<DaemonAccount>,
    /// Time of the first depth that counts, and of the last one, with the daemon's clock then.
    first: Option<Timestamp>,
    last: Option<(Timestamp, Time)>,
    /// What was read and may be later than the run has come.
    waiting: VecDeque<(Timestamp, Read)>,
    /// The opening contains what the event did that it was taken after.
    just_opened: bool,
    fills: u64,
    simulated: u64,
}

/// What was read of a tape.
#[derive(Debug)]
enum Read {
    Depth(Box<Inspection>),
    Actions(Vec<Notification>, Vec<MarketSpec>),
}

/// One market of a recorded run, at its end.
struct Found {
    market: String,
    row: Option<MarketRow>,
    /// Why there is no profit and loss, if there is none.
    unknown: Option<&'static str>,
    since: Option<Timestamp>,
    simulated: u64,
    /// Quote traded and balances at the beginning, in whole tokens.
    volume: Option<String>,
    opening: Vec<(String, String)>,
    statements: Vec<String>,
}

impl RecordedRun {
    /// Of a market of this name, from a time on or from the first depth.
    pub fn new(market: &str, from: Option<Timestamp>) -> Self {
        Self(Arc::new(Mutex::new(Recorded {
            market: market.to_owned(),
            from,
            account: None,
            first: None,
            last: None,
            waiting: VecDeque::new(),
            just_opened: false,
            fills: 0,
            simulated: 0,
        })))
    }

    /// A panic ends the process, so a poisoned lock occurs in tests only.
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A depth of the market at a time of the venue, when the daemon's clock showed `now`. It is asked for when the run
    /// has used the one before.
    pub fn depth(&self, time: Timestamp, now: Time, inspection: Inspection) {
        let mut recorded = self.lock();
        if let Some((used, _)) = recorded.last {
            recorded.take_until(used);
        }
        recorded.last = Some((time, now));
        let read = Read::Depth(Box::new(inspection));
        recorded.waiting.push_back((time, read));
    }

    /// What the daemon did when its clock showed `now`.
    pub fn actions(&self, now: Time, actions: &[Action], markets: &[MarketSpec]) {
        let mut recorded = self.lock();
        let Some((time, then)) = recorded.last else {
            return;
        };
        let passed = now.micros_since(then).saturating_mul(1_000);
        let time = time.plus_nanos(i64::try_from(passed).unwrap_or(i64::MAX));
        let notifications = actions.iter().filter_map(|action| match action {
            Action::Notify(notification) => Some(notification.clone()),
            _ => None,
        });
        let read = Read::Actions(notifications.collect(), markets.to_vec());
        recorded.waiting.push_back((time, read));
    }

    /// Counts up to the end of the run, and returns what was found.
    fn finish(&self, to: Timestamp) -> Found {
        let mut recorded = self.lock();
        recorded.take_until(to);
        recorded.found(to)
    }
}

impl Recorded {
    fn take_until(&mut self, until: Timestamp) {
        while self.waiting.front().is_some_and(|(time, _)| *time <= until) {
            if let Some((time, read)) = self.waiting.pop_front()
                && self.from.is_none_or(|from| time >= from)
            {
                self.take(time, read);
            }
        }
    }

    /// The account's clock at a time of the venue.
    fn clock(&self, time: Timestamp) -> Time {
        let passed = self.first.map_or(0, |first| time.nanos_since(first).max(0));
        Time(ORIGIN.0 + passed.unsigned_abs() / 1_000)
    }

    fn take(&mut self, time: Timestamp, read: Read) {
        match read {
            Read::Depth(inspection) => {
                let named = inspection.markets.iter();
                let mut named = named.filter(|found| found.market.name == self.market);
                let Some(found) = named.next() else { return };
                self.first.get_or_insert(time);
                let now = self.clock(time);
                let account = self.account.get_or_insert_with(|| {
                    let spec = MarketSpec {
                        id: MarketId(0),
                        ..found.market.clone()
                    };
                    DaemonAccount::new(&[spec])
                });
                let was_open = account.opening.is_some();
                if account.open(now, &inspection) {
                    account.see(now, &inspection);
                    self.just_opened = !was_open;
                }
            }
            Read::Actions(..) if std::mem::take(&mut self.just_opened) => {}
            Read::Actions(notifications, markets) => {
                let now = self.clock(time);
                let account = self.account.as_mut();
                // What happened before is in the opening.
                let Some(account) = account.filter(|account| account.opening.is_some()) else {
                    return;
                };
                for notification in notifications {
                    let fill = account.observe(now, &notification, &markets);
                    if let Some((_, fill)) = fill {
                        self.fills += 1;
                        let is_simulated = fill.order.instance == SIMULATED_INSTANCE;
                        self.simulated += u64::from(is_simulated);
                    }
                }
            }
        }
    }

    fn found(&self, to: Timestamp) -> Found {
        let closing = Closing::default();
        let account = self.account.as_ref();
        let opened = account.filter(|account| account.opening.is_some());
        let row = opened.map(|account| account.session.summary(self.clock(to), &closing, code));
        let unknown = match (account, opened) {
            (None, _) => Some("the daemon recorded no depth in this time"),
            (_, None) => Some("the daemon's balances are not known in this time"),
            _ => None,
        };
        let spec = account.and_then(|account| account.specs.first());
        let row = row.and_then(|summary| summary.markets.into_iter().next());
        let volume = row.as_ref().zip(spec);
        Found {
            market: self.market.clone(),
            volume: volume.map(|(row, spec)| whole(row.quote_volume, &spec.quote)),
            opening: opened.map_or_else(Vec::new, opening),
            row,
            unknown,
            since: self.first,
            simulated: self.simulated,
            statements: opened.map_or_else(Vec::new, |account| self.statements(account)),
        }
    }

    /// What the figures of the daemon leave out.
    fn statements(&self, account: &DaemonAccount) -> Vec<String> {
        let mut statements = Vec::new();
        let market = &self.market;
        if self.simulated > 0 {
            statements.push(format!(
                "{} of the {} recorded fills of {market} were simulated (paper trading): they happened at no exchange, and are no trades of the market.",
                self.simulated, self.fills
            ));
        }
        if account.pool_transactions > 0 {
            statements.push(format!(
                "The daemon made {} joins and exits of pools: what they earned or cost is not counted.",
                account.pool_transactions
            ));
        }
        if account.flows > 0 {
            statements.push(format!(
                "{} deposits, withdrawals or manual trades of the daemon's account are neither profit nor loss; what they changed of the holdings is not valued.",
                account.flows
            ));
        }
        statements
    }
}

/// The recorded runs beside a backtest on their tapes, as JSON and as a section of its page. `None` without a tape.
pub fn beside(runs: &[RecordedRun], finished: &Finished) -> Option<(Value, Beside)> {
    if runs.is_empty() {
        return None;
    }
    let to = finished.span().1;
    let found: Vec<_> = runs.iter().map(|run| run.finish(to)).collect();
    let pages: Vec<_> = found.iter().map(|found| page(found, finished)).collect();
    let tables = pages.iter().map(figures).collect();
    let mut statements: Vec<_> = found
        .iter()
        .flat_map(|found| found.statements.clone())
        .collect();
    statements.extend(
        found
            .iter()
            .filter_map(|found| other_opening(found, &finished.report)),
    );
    statements.push("Profit and loss of the recorded run counts its fills at the mids that it had polled, from the first depth in this time at which its balances are known. Its orders, latencies and rate limits were those of its exchange; those of the backtest are assumed.".to_owned());
    if found.iter().any(|found| found.simulated == 0) {
        statements.push("The market reacted to the orders of the recorded run, and does not react to those of the backtest.".to_owned());
    }
    let section = Beside {
        title: "Beside the run that recorded the data".to_owned(),
        tables,
        charts: Vec::new(),
        statements: statements.clone(),
    };
    let page = json!({ "recorded_runs": pages, "statements": statements });
    Some((page, section))
}

/// That the two began with other balances, if they did.
fn other_opening(found: &Found, report: &Report) -> Option<String> {
    let differs = |(symbol, held): &(String, String)| report.opening.get(symbol) != Some(held);
    if !found.opening.iter().any(differs) {
        return None;
    }
    let began = found.opening.iter().map(|(symbol, held)| {
        let here = report.opening.get(symbol).map_or("–", String::as_str);
        format!("{held} {symbol} (here {here})")
    });
    let began: Vec<_> = began.collect();
    Some(format!(
        "The recorded run of {} began with {}: results of holdings are those of different positions; --balance makes them equal.",
        found.market,
        began.join(" and ")
    ))
}

/// What the account held when it was opened, in whole tokens.
fn opening(account: &DaemonAccount) -> Vec<(String, String)> {
    let tokens = account
        .specs
        .iter()
        .flat_map(|spec| [&spec.base, &spec.quote]);
    let held = |token: &TokenSpec| {
        let held = account.opening.as_ref()?.get(&token.id).copied();
        held.map(|units| (token.symbol.clone(), whole(units, token)))
    };
    tokens.filter_map(held).collect()
}

fn whole(units: Amount, token: &TokenSpec) -> String {
    decimal_text(units, usize::from(token.decimals), 30)
}

fn page(found: &Found, finished: &Finished) -> Value {
    let report = &finished.report;
    let market = report.markets.iter().find(|row| row.market == found.market);
    let row = found.row.as_ref();
    let pnl = row.and_then(|row| row.pnl.as_ref());
    let recorded = json!({
        "fills": row.map(|row| row.fills),
        "simulated_fills": row.map(|_| found.simulated),
        "quote_volume": found.volume,
        "spread": pnl.map(|pnl| pnl.spread.to_string()),
        "holdings": pnl.map(|pnl| pnl.holdings.to_string()),
        "fees": pnl.map(|pnl| pnl.fees.to_string()),
        "total": pnl.map(|pnl| pnl.total.to_string()),
        "opening": found.opening.iter().cloned().collect::<BTreeMap<_, _>>(),
    });
    let backtest = json!({
        "fills": market.map(|row| row.fills),
        "quote_volume": report.quote_volume.get(&found.market),
        "spread": market.map(|row| &row.spread),
        "holdings": market.map(|row| &row.holdings),
        "fees": market.map(|row| &row.fees),
        "total": market.map(|row| &row.total),
    });
    json!({
        "market": found.market,
        "quote": report.quote,
        "from": found.since.map(|time| time.to_string()),
        "unknown": found.unknown,
        "recorded": recorded,
        "backtest": backtest,
    })
}

/// A table of one market: what the recorded run did, what the backtest did, and the latter less the former.
fn figures(page: &Value) -> Table {
    let text = |value: &Value| match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let difference = |recorded: &str, backtest: &str| {
        let both = backtest.parse::<Decimal>().ok().zip(recorded.parse().ok());
        let less = both
            .and_then(|(backtest, recorded): (Decimal, Decimal)| backtest.checked_sub(recorded));
        less.map_or_else(|| "–".to_owned(), |less| less.normalize().to_string())
    };
    let rows = [
        ("profit and loss", "total"),
        ("of it spread", "spread"),
        ("of it holdings", "holdings"),
        ("of it fees", "fees"),
        ("volume", "quote_volume"),
        ("fills", "fills"),
    ];
    let rows = rows.map(|(name, key)| {
        let [recorded, backtest] = ["recorded", "backtest"].map(|of| text(&page[of][key]));
        let less = difference(&recorded, &backtest);
        vec![name.to_owned(), recorded, backtest, less]
    });
    let title = format!(
        "{}: the run that recorded the data, and this one, in {}",
        text(&page["market"]),
        text(&page["quote"])
    );
    let unknown = page["unknown"].as_str();
    Table {
        title: match unknown {
            Some(why) => format!("{title} ({why})"),
            None => title,
        },
        head: ["", "recorded", "backtest", "difference"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.to_vec(),
    }
}
