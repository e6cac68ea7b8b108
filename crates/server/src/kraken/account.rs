//! What an account reads: balances, orders, trades, ledger entries.

use std::collections::BTreeMap;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, TokenId, VenueTime};
use cambist_kraken::id::{self, Kind};
use cambist_venue::{KrakenOrderView, KrakenStatus, LedgerCause, Venue};
use serde_json::{Value, json};

use super::fault::Fault;
use super::methods::Private;
use super::names::{Asset, Pair, assets, pairs};
use super::order_fields::{client_id, flag, user_ref};
use super::private::Session;
use super::public;
use super::shapes::{self, Answer, Entries};

/// Entries of a page.
const PAGE: usize = 50;
/// Most identifiers of a query of orders, and of one of trades or ledger entries.
const IDS_MAX: [usize; 2] = [50, 20];
/// Kinds of trades that can be asked for.
const TRADE_KINDS: [&str; 5] = [
    "all",
    "any position",
    "closed position",
    "closing position",
    "no position",
];
/// Kinds of ledger entries that can be asked for.
const LEDGER_KINDS: [&str; 14] = [
    "all",
    "trade",
    "deposit",
    "withdrawal",
    "transfer",
    "margin",
    "adjustment",
    "rollover",
    "credit",
    "settled",
    "staking",
    "dividend",
    "sale",
    "nft_rebate",
];
/// The period of a volume.
const VOLUME_MS: u64 = 30 * 86_400_000;

/// Answers a method that only reads.
pub(super) fn answer(session: &Session<'_>, method: Private) -> Result<Answer, Fault> {
    match method {
        Private::Balance => session.read(|session| balances(session, false).map(Answer::Value)),
        Private::BalanceEx => session.read(|session| balances(session, true).map(Answer::Value)),
        Private::TradeVolume => session.read(|session| volume(session).map(Answer::Value)),
        Private::OpenOrders => session.read(open_orders),
        Private::ClosedOrders => session.read(closed_orders),
        Private::QueryOrders => session.read(query_orders),
        Private::TradesHistory => session.read(trades),
        Private::QueryTrades => session.read(query_trades),
        Private::Ledgers => session.read(ledgers),
        Private::QueryLedgers => session.read(query_ledgers),
        _ => Err(Fault::internal()),
    }
}

/// Everything that one answer reads of the exchange, at one moment.
struct Names {
    pairs: SortedMap<MarketId, Pair>,
    assets: SortedMap<TokenId, Asset>,
}

impl Names {
    fn new(venue: &Venue) -> Self {
        let pairs = pairs(venue).into_iter().map(|pair| (pair.market, pair));
        let assets = assets(venue).into_iter().map(|asset| (asset.token, asset));
        Self {
            pairs: pairs.collect(),
            assets: assets.collect(),
        }
    }
}

fn balances(session: &Session<'_>, with_holds: bool) -> Result<Value, Fault> {
    let account = session.key.account;
    let (names, held) = session.shell.machine.read(|venue| {
        let account = venue.account(account);
        let held = account
            .into_iter()
            .flat_map(cambist_venue::Account::balances);
        (Names::new(venue), held.collect::<Vec<_>>())
    })?;
    let shown = held.into_iter().filter_map(|(token, balance)| {
        let asset = names.assets.get(&token)?;
        let value = if with_holds {
            json!({
                "balance": asset.amount(balance.total),
                "hold_trade": asset.amount(balance.locked),
            })
        } else {
            json!(asset.amount(balance.total))
        };
        Some((asset.id.clone(), value))
    });
    Ok(Value::Object(shown.collect()))
}

/// Filters of a list: `start` (exclusive), `end` (inclusive) and `ofs`.
struct Window {
    after: Option<VenueTime>,
    until: Option<VenueTime>,
    skip: usize,
    with_count: bool,
}

impl Window {
    /// `time_of` is the time of an identifier, which can stand for a time.
    fn read(
        session: &Session<'_>,
        time_of: impl Fn(&str) -> Option<VenueTime>,
    ) -> Result<Self, Fault> {
        let time = |name: &str| {
            let text = session.get(name);
            let read = |text: &str| {
                let found = seconds(text).or_else(|| time_of(text));
                found.ok_or_else(|| Fault::argument(name))
            };
            text.map(read).transpose()
        };
        let skip = session.get("ofs").unwrap_or("0").parse();
        Ok(Self {
            after: time("start")?,
            until: time("end")?,
            skip: skip.map_err(|_| Fault::argument("ofs"))?,
            with_count: !flag(&session.parameters, "without_count")?,
        })
    }

    fn holds(&self, at: VenueTime) -> bool {
        self.after.is_none_or(|after| at > after) && self.until.is_none_or(|until| at <= until)
    }

    /// A page of entries that match, newest first, under a name, with their count.
    fn page(&self, name: &'static str, entries: Vec<(String, Value)>) -> Answer {
        let count = entries.len();
        let page = entries.into_iter().skip(self.skip).take(PAGE).collect();
        Answer::Page {
            name,
            entries: Entries(page),
            count: self.with_count.then_some(count),
        }
    }
}

/// Seconds since the Unix epoch with at most a fraction of milliseconds; further digits are dropped.
fn seconds(text: &str) -> Option<VenueTime> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let ms: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let seconds: u64 = whole.parse().ok()?;
    Some(VenueTime(seconds.checked_mul(1_000)?.checked_add(ms)?))
}

/// Filters of lists of orders.
struct Filter {
    user_ref: Option<i32>,
    client_id: Option<String>,
    with_trades: bool,
}

impl Filter {
    fn read(session: &Session<'_>) -> Result<Self, Fault> {
        Ok(Self {
            user_ref: session.get("userref").map(user_ref).transpose()?,
            client_id: session.get("cl_ord_id").map(client_id).transpose()?,
            with_trades: flag(&session.parameters, "trades")?,
        })
    }

    fn holds(&self, order: &KrakenOrderView) -> bool {
        let by_ref = self
            .user_ref
            .is_none_or(|user_ref| order.user_ref == Some(user_ref));
        let id = self.client_id.as_deref();
        by_ref && id.is_none_or(|id| order.client_id.as_deref() == Some(id))
    }
}

/// Orders of the account that `keep` keeps, newest first, as entries of an answer.
fn orders(
    session: &Session<'_>,
    filter: &Filter,
    keep: impl Fn(&KrakenOrderView) -> bool,
) -> Result<Vec<(String, Value)>, Fault> {
    let account = session.key.account;
    let read = session.shell.machine.read(|venue| {
        let names = Names::new(venue);
        let mut trades: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        if filter.with_trades {
            for trade in venue.kraken_trades(account) {
                trades.entry(trade.order).or_default().push(trade.number);
            }
        }
        let kept = venue.kraken_orders(account);
        let kept = kept.filter(|order| filter.holds(order) && keep(order));
        let shown = kept.filter_map(|order| {
            let pair = names.pairs.get(&order.market)?;
            let numbers = trades.get(&order.number).map(Vec::as_slice);
            let text = id::encode(Kind::Order, order.number);
            Some((text, shapes::order(pair, &order, numbers)))
        });
        shown.collect()
    })?;
    Ok(read)
}

const fn is_open(order: &KrakenOrderView) -> bool {
    matches!(order.status, KrakenStatus::Pending | KrakenStatus::Open)
}

fn open_orders(session: &Session<'_>) -> Result<Answer, Fault> {
    let filter = Filter::read(session)?;
    let (now, lag_ms) = (session.now(), session.kraken.config.list_lag_ms);
    let is_shown = |order: &KrakenOrderView| is_open(order) && now.ms_since(order.opened) >= lag_ms;
    Ok(Answer::Page {
        name: "open",
        entries: Entries(orders(session, &filter, is_shown)?),
        count: None,
    })
}

fn closed_orders(session: &Session<'_>) -> Result<Answer, Fault> {
    let filter = Filter::read(session)?;
    let window = Window::read(session, |text| {
        let number = id::decode(Kind::Order, text)?;
        let account = session.key.account;
        let order = session
            .shell
            .machine
            .read(|venue| venue.kraken_order(account, number));
        Some(order.ok()??.opened)
    })?;
    let times = session.get("closetime").unwrap_or("both");
    if !["open", "close", "both"].contains(&times) {
        return Err(Fault::argument("closetime"));
    }
    let (now, lag_ms) = (session.now(), session.kraken.config.list_lag_ms);
    let is_shown = |order: &KrakenOrderView| {
        let by_open = times != "close" && window.holds(order.opened);
        let by_close = times != "open" && order.closed.is_some_and(|at| window.holds(at));
        let old_enough = now.ms_since(order.closed.unwrap_or(now)) >= lag_ms;
        !is_open(order) && old_enough && (by_open || by_close)
    };
    Ok(window.page("closed", orders(session, &filter, is_shown)?))
}

fn query_orders(session: &Session<'_>) -> Result<Answer, Fault> {
    let filter = Filter::read(session)?;
    let invalid = || Fault::new("EOrder:Invalid order");
    // Without identifiers, those of a reference.
    let numbers = if filter.user_ref.is_some() && session.get("txid").is_none() {
        None
    } else {
        Some(identifiers(
            session,
            "txid",
            Kind::Order,
            IDS_MAX[0],
            invalid,
        )?)
    };
    let permissions = &session.key.permissions;
    let mut found = orders(session, &filter, |order| {
        let needed = if is_open(order) {
            super::Permission::OrdersQueryOpen
        } else {
            super::Permission::OrdersQueryClosed
        };
        let is_asked = numbers
            .as_ref()
            .is_none_or(|numbers| numbers.contains(&order.number));
        is_asked && permissions.contains(&needed)
    })?;
    found.truncate(IDS_MAX[0]);
    if found.is_empty() {
        return Err(invalid());
    }
    Ok(Answer::Entries(Entries(found)))
}

/// The identifiers of a comma-separated list.
fn identifiers(
    session: &Session<'_>,
    name: &str,
    kind: Kind,
    most: usize,
    invalid: impl Fn() -> Fault,
) -> Result<Vec<u64>, Fault> {
    let texts = session.get(name).ok_or_else(|| Fault::argument(name))?;
    let numbers = texts
        .split(',')
        .map(|text| id::decode(kind, text.trim()).ok_or_else(&invalid));
    let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
    if numbers.len() > most {
        return Err(Fault::argument(name));
    }
    Ok(numbers)
}

/// Trades of the account that `keep` keeps, newest first, as entries of an answer.
fn trade_entries(
    session: &Session<'_>,
    with_ledgers: bool,
    keep: impl Fn(&cambist_venue::KrakenTrade) -> bool,
) -> Result<Vec<(String, Value)>, Fault> {
    let account = session.key.account;
    let read = session.shell.machine.read(|venue| {
        let names = Names::new(venue);
        let kept = venue.kraken_trades(account).filter(|trade| keep(trade));
        let shown = kept.filter_map(|trade| {
            let pair = names.pairs.get(&trade.market)?;
            let text = id::encode(Kind::Trade, trade.number);
            Some((text, shapes::trade(pair, trade, with_ledgers)))
        });
        shown.collect()
    })?;
    Ok(read)
}

fn trades(session: &Session<'_>) -> Result<Answer, Fault> {
    let account = session.key.account;
    let window = Window::read(session, |text| {
        let number = id::decode(Kind::Trade, text)?;
        let read = session.shell.machine.read(|venue| {
            let mut kept = venue.kraken_trades(account);
            kept.find(|trade| trade.number == number)
                .map(|trade| trade.at)
        });
        read.ok()?
    })?;
    // Positions do not exist here, so every trade is one without.
    let kind = session.get("type").unwrap_or("all");
    if !TRADE_KINDS.contains(&kind) {
        return Err(Fault::argument("type"));
    }
    let is_all = ["all", "no position"].contains(&kind);
    let with_ledgers = flag(&session.parameters, "ledgers")?;
    let entries = trade_entries(session, with_ledgers, |trade| {
        is_all && window.holds(trade.at)
    })?;
    Ok(window.page("trades", entries))
}

fn query_trades(session: &Session<'_>) -> Result<Answer, Fault> {
    let invalid = || Fault::new("EQuery:Invalid trade");
    let numbers = identifiers(session, "txid", Kind::Trade, IDS_MAX[1], invalid)?;
    let found = trade_entries(session, false, |trade| numbers.contains(&trade.number))?;
    Ok(Answer::Entries(Entries(found)))
}

/// Ledger entries of the account that `keep` keeps, newest first, as entries of an answer.
fn ledger_entries(
    session: &Session<'_>,
    keep: impl Fn(&Asset, &cambist_venue::LedgerEntry) -> bool,
) -> Result<Vec<(String, Value)>, Fault> {
    let account = session.key.account;
    let read = session.shell.machine.read(|venue| {
        let names = Names::new(venue);
        let shown = venue.kraken_ledger(account).filter_map(|entry| {
            let asset = names.assets.get(&entry.token)?;
            keep(asset, entry).then(|| {
                let text = id::encode(Kind::Ledger, entry.number);
                (text, shapes::ledger(asset, entry))
            })
        });
        shown.collect()
    })?;
    Ok(read)
}

fn ledgers(session: &Session<'_>) -> Result<Answer, Fault> {
    let account = session.key.account;
    let window = Window::read(session, |text| {
        let number = id::decode(Kind::Ledger, text)?;
        let read = session.shell.machine.read(|venue| {
            let mut kept = venue.kraken_ledger(account);
            kept.find(|entry| entry.number == number)
                .map(|entry| entry.at)
        });
        read.ok()?
    })?;
    let asked = session.get("asset").unwrap_or("all");
    let kind = session.get("type").unwrap_or("all");
    if !LEDGER_KINDS.contains(&kind) {
        return Err(Fault::argument("type"));
    }
    let is_class = public::is_currency(session.get("aclass"), "aclass")?;
    let is_kind = |cause: LedgerCause| match kind {
        "all" => true,
        "trade" => matches!(cause, LedgerCause::Trade(_)),
        "deposit" => cause == LedgerCause::Deposit,
        "withdrawal" => cause == LedgerCause::Withdrawal,
        // No other kind exists here.
        _ => false,
    };
    let (now, lag_ms) = (session.now(), session.kraken.config.list_lag_ms);
    let entries = ledger_entries(session, |asset, entry| {
        let is_asked = asked == "all" || asked.split(',').any(|name| asset.is_called(name.trim()));
        let is_shown = now.ms_since(entry.at) >= lag_ms;
        is_class && is_asked && is_shown && is_kind(entry.cause) && window.holds(entry.at)
    })?;
    Ok(window.page("ledger", entries))
}

fn query_ledgers(session: &Session<'_>) -> Result<Answer, Fault> {
    let invalid = || Fault::argument("id");
    let numbers = identifiers(session, "id", Kind::Ledger, IDS_MAX[1], invalid)?;
    let found = ledger_entries(session, |_, entry| numbers.contains(&entry.number))?;
    Ok(Answer::Entries(Entries(found)))
}

/// Fees, which are the same for every volume, and the volume of 30 days in the quote token of the first pair.
fn volume(session: &Session<'_>) -> Result<Value, Fault> {
    let account = session.key.account;
    let since = VenueTime(session.now().0.saturating_sub(VOLUME_MS));
    let (all, traded) = session.shell.machine.read(|venue| {
        let recent = venue.kraken_trades(account);
        let recent = recent.take_while(|trade| trade.at >= since);
        let traded: Vec<_> = recent.map(|trade| (trade.market, trade.quote)).collect();
        (pairs(venue), traded)
    })?;
    let asked = session.get("pair").unwrap_or_default();
    let mut shown = Vec::new();
    for name in asked
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let pair = all.iter().find(|pair| pair.is_called(name));
        shown.push(pair.ok_or(Fault::new("EQuery:Unknown asset pair"))?);
    }
    let quote = shown
        .first()
        .copied()
        .or(all.first())
        .map(|pair| &pair.quote);
    let quote = quote.ok_or(Fault::internal())?;
    let of_quote = |market: &MarketId| {
        let mut pairs = all.iter();
        pairs.any(|pair| pair.market == *market && pair.quote.token == quote.token)
    };
    let volume: u128 = traded
        .iter()
        .filter(|(market, _)| of_quote(market))
        .map(|(_, amount)| *amount)
        .sum();
    let mut answer = json!({"currency": quote.id, "volume": quote.amount(volume)});
    if !shown.is_empty() {
        for (name, is_maker) in [("fees", false), ("fees_maker", true)] {
            let rows = shown.iter().map(|pair| {
                let config = &pair.config;
                let bips = if is_maker {
                    config.maker_fee_bips
                } else {
                    config.taker_fee_bips
                };
                let fee = format!("{}.{:02}00", bips / 100, bips % 100);
                let row = json!({
                    "fee": fee, "minfee": fee, "maxfee": fee,
                    "nextfee": null, "nextvolume": null, "tiervolume": "0.0000",
                });
                (pair.id.clone(), row)
            });
            answer[name] = Value::Object(rows.collect());
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_windows_are_seconds_with_a_fraction() {
        assert_eq!(seconds("1695728276"), Some(VenueTime(1_695_728_276_000)));
        assert_eq!(
            seconds("1695728276.1239"),
            Some(VenueTime(1_695_728_276_123))
        );
        assert_eq!(seconds("0"), Some(VenueTime(0)));
        for text in [
            "",
            ".5",
            "-1",
            "1e9",
            "OQCLML-BW3P3-BUCMWZ",
            "99999999999999999999",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_window_begins_behind_its_start_and_ends_with_its_end() {
        let window = Window {
            after: Some(VenueTime(10)),
            until: Some(VenueTime(20)),
            skip: 0,
            with_count: true,
        };
        let held: Vec<_> = [10, 11, 20, 21]
            .map(|at| window.holds(VenueTime(at)))
            .into();
        assert_eq!(held, [false, true, true, false]);
    }
}
