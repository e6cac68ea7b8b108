//! Exact fills: what trades moved, by the ledger.
//!
//! Costs and fees in reports of orders are rounded; the account's ledger is not. An order names its trades, and the
//! ledger has an entry of each of the two assets for a trade. Known trades are kept, so that the ledger is read only for
//! new ones; how many is bounded.

use std::collections::BTreeMap;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Side, TokenId, VenueTime};
use cambist_protocol::number::quoted;

use crate::amount::{signed, time};
use crate::json::{DecodeError, Json};
use crate::listing::{ListedPair, Listing};

/// Most trades that are kept.
const KEPT_MAX: usize = 16_384;
/// Longest identifier.
const ID_BYTES_MAX: usize = 40;

/// An entry of the ledger that belongs to a trade.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    id: String,
    trade: String,
    token: TokenId,
    amount: i128,
    fee: Amount,
}

/// One page of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerPage {
    entries: Vec<Entry>,
    /// How many entries it has, of any kind.
    pub read: u64,
    /// How many there are in the window, if the service counted.
    pub count: Option<u64>,
}

/// The result of `Ledgers`. Entries of assets that are not listed, and those that are no trades, are left out: they are
/// in the balances.
pub fn ledger_page(result: &Json, listing: &Listing) -> Result<LedgerPage, DecodeError> {
    let fields = result.object()?;
    let mut entries = Vec::new();
    let mut read = 0;
    fields.required("ledger", |ledger| {
        for (id, entry) in ledger.object()?.entries() {
            read += 1;
            let kept = entry_of(id, entry, listing).map_err(|error| error.within(id))?;
            entries.extend(kept);
        }
        Ok(())
    })?;
    Ok(LedgerPage {
        entries,
        read,
        count: fields.optional("count", Json::integer)?,
    })
}

fn entry_of(id: &str, entry: &Json, listing: &Listing) -> Result<Option<Entry>, DecodeError> {
    let fields = entry.object()?;
    let word = |json: &'_ Json| Ok(json.text(ID_BYTES_MAX)?.to_owned());
    if fields.required("type", word)? != "trade" {
        return Ok(None);
    }
    let asset = fields.required("asset", word)?;
    let Some(token) = listing.token(&asset) else {
        return Ok(None);
    };
    let fee = fields.required("fee", |fee| signed(fee, token.decimals))?;
    Ok(Some(Entry {
        id: id.to_owned(),
        trade: fields.required("refid", word)?,
        token: token.id,
        amount: fields.required("amount", |amount| signed(amount, token.decimals))?,
        fee: Amount::try_from(fee).map_err(|_| DecodeError::new("is negative").within("fee"))?,
    }))
}

/// The result of `QueryTrades`: when each of these trades was made.
pub fn trade_times(result: &Json) -> Result<BTreeMap<String, VenueTime>, DecodeError> {
    let trades = result.object()?.entries().iter().map(|(id, trade)| {
        let read = || trade.object()?.required("time", time);
        let at = read().map_err(|error| error.within(id))?;
        Ok((id.clone(), at))
    });
    trades.collect()
}

/// What a trade moved in one asset, by one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moved {
    id: String,
    amount: i128,
    fee: Amount,
}

#[derive(Clone, Debug, Default)]
struct Trade {
    moved: SortedMap<TokenId, Moved>,
    used: u64,
}

/// Why the fills of an order are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoFills {
    /// The ledger of these trades was not read, or does not show them yet.
    Missing(Vec<String>),
    /// What was read contradicts the order.
    Contradiction(String),
}

/// Amounts of an order's fills, in base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fills {
    /// Base.
    pub base: Amount,
    /// Quote.
    pub quote: Amount,
    /// Fee, in the quote token.
    pub fee: Amount,
}

/// Trades that the ledger has shown.
#[derive(Debug, Default)]
pub struct Trades {
    trades: BTreeMap<String, Trade>,
    /// Counts uses: what was not used for longest is dropped.
    uses: u64,
}

impl Trades {
    /// Keeps what a page shows. Entries of a trade that it contradicts are an error.
    pub fn keep(&mut self, page: LedgerPage) -> Result<(), DecodeError> {
        self.uses += 1;
        for entry in page.entries {
            let moved = Moved {
                id: entry.id,
                amount: entry.amount,
                fee: entry.fee,
            };
            let trade = self.trades.entry(entry.trade.clone()).or_default();
            trade.used = self.uses;
            let known = trade
                .moved
                .entry(entry.token)
                .or_insert_with(|| moved.clone());
            // The same entry is on several pages; two of one asset are no trade that is understood here.
            if *known != moved {
                self.trades.remove(&entry.trade);
                return Err(DecodeError::new(format!(
                    "trade {} has two entries of one asset",
                    quoted(&entry.trade, ID_BYTES_MAX)
                )));
            }
        }
        if self.trades.len() > KEPT_MAX {
            self.drop_oldest();
        }
        Ok(())
    }

    /// Drops an eighth, so that it is not done for every page.
    fn drop_oldest(&mut self) {
        let mut used: Vec<_> = self.trades.values().map(|trade| trade.used).collect();
        used.sort_unstable();
        let excess = used.len() - (KEPT_MAX - KEPT_MAX / 8);
        let newest_dropped = used.get(excess - 1).copied().unwrap_or(0);
        self.trades.retain(|_, trade| trade.used > newest_dropped);
    }

    /// The fills of an order on a pair whose trades have these identifiers, and that was executed to so many base units
    /// by its report.
    ///
    /// A fee in base is part of the base amount, so that the books are exact: less is bought, or more is sold. Orders of
    /// this program ask for fees in quote.
    pub fn fills(
        &mut self,
        pair: &ListedPair,
        side: Side,
        executed: Amount,
        ids: &[String],
    ) -> Result<Fills, NoFills> {
        self.uses += 1;
        let mut missing = Vec::new();
        let (mut base, mut quote, mut base_fee, mut fee) = (0_i128, 0_i128, 0, 0);
        let add = |total: &mut i128, amount: i128| {
            *total = total.saturating_add(amount);
        };
        for id in ids {
            let both = self.trades.get_mut(id).and_then(|trade| {
                trade.used = self.uses;
                let of = |token: TokenId| trade.moved.get(&token);
                Some((of(pair.base.id)?, of(pair.quote.id)?))
            });
            let Some((of_base, of_quote)) = both else {
                missing.push(id.clone());
                continue;
            };
            add(&mut base, of_base.amount);
            add(&mut quote, of_quote.amount);
            base_fee = Amount::saturating_add(base_fee, of_base.fee);
            fee = Amount::saturating_add(fee, of_quote.fee);
        }
        if !missing.is_empty() {
            return Err(NoFills::Missing(missing));
        }
        let (bought, paid) = match side {
            Side::Buy => (base, -quote),
            Side::Sell => (-base, quote),
        };
        let signs = (Amount::try_from(bought), Amount::try_from(paid));
        let (Ok(base), Ok(quote)) = signs else {
            let text = "the ledger shows its trades in the other direction";
            return Err(NoFills::Contradiction(text.to_owned()));
        };
        if base != executed {
            return Err(NoFills::Contradiction(format!(
                "its trades come to {base} base units, and it was executed to {executed}"
            )));
        }
        let base = match side {
            Side::Buy => base.checked_sub(base_fee),
            Side::Sell => base.checked_add(base_fee),
        };
        let base = base.ok_or_else(|| {
            NoFills::Contradiction("the fee is more than what was bought".to_owned())
        })?;
        Ok(Fills { base, quote, fee })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::json::parse;
    use crate::listing::tests::listing;

    fn entry(id: &str, trade: &str, asset: &str, amount: &str, fee: &str) -> String {
        format!(
            r#""{id}":{{"refid":"{trade}","time":1688464484.1787,"type":"trade","subtype":"","aclass":"currency",
            "asset":"{asset}","amount":"{amount}","fee":"{fee}","balance":"459567.9171"}}"#
        )
    }

    fn page(entries: &[String]) -> Result<LedgerPage, DecodeError> {
        let text = format!(
            r#"{{"ledger":{{{}}},"count":{}}}"#,
            entries.join(","),
            entries.len()
        );
        ledger_page(&parse(text.as_bytes()).unwrap(), &listing())
    }

    fn kept(entries: &[String]) -> Trades {
        let mut trades = Trades::default();
        trades.keep(page(entries).unwrap()).unwrap();
        trades
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    fn fills(
        trades: &mut Trades,
        side: Side,
        executed: Amount,
        of: &[&str],
    ) -> Result<Fills, NoFills> {
        let listing = listing();
        trades.fills(listing.pair("XBT-USD").unwrap(), side, executed, &ids(of))
    }

    #[test]
    fn a_trade_is_two_entries_in_any_order() {
        let base = entry("L1", "T1", "XXBT", "1.2500000000", "0.0000000000");
        let quote = entry("L2", "T1", "ZUSD", "-46875.0000", "75.0001");
        let expected = Fills {
            base: 12_500_000_000,
            quote: 468_750_000,
            fee: 750_001,
        };
        for entries in [[base.clone(), quote.clone()], [quote.clone(), base.clone()]] {
            let mut trades = kept(&entries);
            assert_eq!(
                fills(&mut trades, Side::Buy, 12_500_000_000, &["T1"]),
                Ok(expected)
            );
        }
        // Over two pages, the second of which repeats an entry.
        let mut trades = kept(std::slice::from_ref(&quote));
        let missing = Err(NoFills::Missing(ids(&["T1"])));
        assert_eq!(
            fills(&mut trades, Side::Buy, 12_500_000_000, &["T1"]),
            missing
        );
        trades.keep(page(&[quote, base]).unwrap()).unwrap();
        assert_eq!(
            fills(&mut trades, Side::Buy, 12_500_000_000, &["T1"]),
            Ok(expected)
        );
        assert_eq!(
            fills(&mut trades, Side::Buy, 12_500_000_000, &["T1", "T2"]),
            Err(NoFills::Missing(ids(&["T2"])))
        );
        // The order was executed further than the trades that it names.
        for executed in [12_499_999_999, 12_500_000_001] {
            assert!(matches!(
                fills(&mut trades, Side::Buy, executed, &["T1"]),
                Err(NoFills::Contradiction(_))
            ));
        }
        assert!(matches!(
            fills(&mut trades, Side::Sell, 12_500_000_000, &["T1"]),
            Err(NoFills::Contradiction(_))
        ));
        assert_eq!(fills(&mut trades, Side::Sell, 0, &[]), Ok(Fills::default()));
    }

    #[test]
    fn a_fee_in_base_is_part_of_the_base_amount() {
        let mut trades = kept(&[
            entry("L1", "T1", "XXBT", "1.0000000000", "0.0010000000"),
            entry("L2", "T1", "ZUSD", "-100.0000", "0.0000"),
            entry("L3", "T2", "ZUSD", "100.0000", "0.0000"),
            entry("L4", "T2", "XXBT", "-1.0000000000", "0.0010000000"),
            entry("L5", "T2", "KFEE", "0.0000", "16.00"),
        ]);
        let amounts =
            |fills: Result<Fills, NoFills>| fills.map(|fills| (fills.base, fills.quote, fills.fee));
        assert_eq!(
            amounts(fills(&mut trades, Side::Buy, 10_000_000_000, &["T1"])),
            Ok((9_990_000_000, 1_000_000, 0))
        );
        assert_eq!(
            amounts(fills(&mut trades, Side::Sell, 10_000_000_000, &["T2"])),
            Ok((10_010_000_000, 1_000_000, 0))
        );
        let mut all_of_it = kept(&[
            entry("L1", "T1", "XXBT", "0.0010000000", "0.0010000001"),
            entry("L2", "T1", "ZUSD", "-100.0000", "0.0000"),
        ]);
        assert!(matches!(
            fills(&mut all_of_it, Side::Buy, 10_000_000, &["T1"]),
            Err(NoFills::Contradiction(_))
        ));
    }

    #[test]
    fn entries_that_are_no_trades_are_left_to_the_balances() {
        let deposit =
            entry("L1", "Q1", "ZUSD", "5.0000", "0.0000").replace("\"trade\"", "\"deposit\"");
        let other = entry("L2", "T1", "XXDG", "no number", "0");
        let read = page(&[deposit, other]).unwrap();
        assert_eq!((read.entries.len(), read.read, read.count), (0, 2, Some(2)));
        let good = entry("L1", "T1", "ZUSD", "-5.0000", "0.0000");
        for (from, to) in [
            ("\"-5.0000\"", "-5.0"),
            ("-5.0000", "-5.00001"),
            ("\"0.0000\"", "\"-0.0001\""),
            ("\"refid\"", "\"reference\""),
            ("\"type\"", "\"kind\""),
            ("\"asset\":\"ZUSD\"", "\"asset\":null"),
            ("\"T1\"", "7"),
            ("\"T1\"", &format!("\"{}\"", "T".repeat(41))),
        ] {
            let error = page(&[good.replacen(from, to, 1)]).unwrap_err();
            assert!(error.field.starts_with("ledger.L1"), "{to}: {error}");
        }
        let longest = "T".repeat(40);
        assert!(page(&[good.replace("T1", &longest)]).is_ok());
        let mut trades = kept(std::slice::from_ref(&good));
        // Whatever it is: what a trade moved is not known from two entries of one asset.
        for (from, to) in [("L1", "L9"), ("-5.0000", "-6.0000")] {
            let twice = page(&[good.replace(from, to)]).unwrap();
            assert!(trades.keep(twice).is_err(), "{to}");
            assert!(trades.trades.is_empty(), "it is read again");
            trades
                .keep(page(std::slice::from_ref(&good)).unwrap())
                .unwrap();
        }
    }

    #[test]
    fn what_was_not_used_for_longest_is_dropped() {
        let mut trades = Trades::default();
        let listing = listing();
        let tokens = ["XXBT", "ZUSD"].map(|asset| listing.token(asset).unwrap().id);
        let entries = |n: usize| {
            let amounts = tokens.iter().zip([1, -1]);
            amounts.map(move |(token, amount)| Entry {
                id: format!("L{n}-{}", token.0),
                trade: format!("T{n}"),
                token: *token,
                amount,
                fee: 0,
            })
        };
        for from in (0..=KEPT_MAX).step_by(1_024) {
            let shown = (from..=KEPT_MAX).take(1_024).flat_map(entries);
            let page = LedgerPage {
                entries: shown.collect(),
                read: 0,
                count: None,
            };
            trades.keep(page).unwrap();
            assert!(fills(&mut trades, Side::Buy, 1, &["T0"]).is_ok());
        }
        assert!(trades.trades.len() <= KEPT_MAX && trades.trades.len() > KEPT_MAX / 2);
        let newest = format!("T{KEPT_MAX}");
        assert!(fills(&mut trades, Side::Buy, 1, &[&newest]).is_ok());
        assert!(fills(&mut trades, Side::Buy, 1, &["T1"]).is_err());
        // Pages that follow each other without a question between them are of different age.
        let mut unasked = Trades::default();
        for n in 0..=KEPT_MAX {
            let page = LedgerPage {
                entries: entries(n).collect(),
                read: 0,
                count: None,
            };
            unasked.keep(page).unwrap();
        }
        assert!(fills(&mut unasked, Side::Buy, 1, &[&newest]).is_ok());
        assert!(fills(&mut unasked, Side::Buy, 1, &["T0"]).is_err());
    }

    #[test]
    fn times_of_trades_are_read() {
        let text = r#"{"THVRQM-33VKH-UCI7BS":{"ordertxid":"OQCLML-BW3P3-BUCMWZ","time":1688667796.8802,"vol":"1"}}"#;
        let times = trade_times(&parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(times["THVRQM-33VKH-UCI7BS"], VenueTime(1_688_667_796_880));
        assert!(
            trade_times(&parse(text.replace("1688667796.8802", "\"x\"").as_bytes()).unwrap())
                .is_err()
        );
    }
}
