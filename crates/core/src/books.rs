//! The books of the account as the store keeps them: the ledger, every market's position, and the values that losses
//! are measured from.
//!
//! A start reads them and compares them with the venue at its first reconciliation. While running, the changes of each
//! event leave the engine as one [`Booking`], durable as a whole or not at all.

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::event::{Rate, Totals};
use crate::market::{MarketId, MarketSpec};
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::notification::{End, Fill, PoolTransactionSettlement};
use crate::order::ClientOrderId;
use crate::pool::PoolSpec;
use crate::sorted_map::SortedMap;
use crate::time::VenueTime;
use crate::token::{Amount, TokenId};

/// Milliseconds of an hour, and of a day of venue time.
pub(crate) const HOUR_MS: u64 = 3_600_000;
pub(crate) const DAY_MS: u64 = 24 * HOUR_MS;
/// A high value of the hour may count this much longer than an hour.
pub(crate) const HOUR_STEP_MS: u64 = HOUR_MS / 64;

/// The durable books of the account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books {
    /// Base units held by token; `None` before the first reconciliation, which takes the opening balances.
    pub ledger: Option<Totals>,
    /// Tokens whose balance at the venue differed at the last reconciliation and has not been explained.
    pub differences: SortedMap<TokenId, Difference>,
    /// Position of every market.
    pub positions: SortedMap<MarketId, Position>,
    /// Charges with a number below this one are in the ledger ([`Charge`](crate::request::Charge)).
    pub charged_below: u64,
}

/// A difference between ledger and venue for one token, base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Amount in the ledger.
    pub ledger: i128,
    /// Amount at the venue.
    pub venue: Amount,
}

impl Difference {
    /// Amount that arrived without a booking; negative if it left.
    pub fn unexplained(self) -> i128 {
        self.held_by_venue().saturating_sub(self.ledger)
    }

    /// Absolute difference in base units.
    pub fn size(self) -> Amount {
        self.unexplained().unsigned_abs()
    }

    fn held_by_venue(self) -> i128 {
        i128::try_from(self.venue).unwrap_or(i128::MAX)
    }

    /// The rest of the difference once `amount` is explained; `None` if nothing is left.
    pub fn explained(self, amount: i128) -> Option<Self> {
        let left = Self {
            ledger: self.ledger.saturating_add(amount),
            ..self
        };
        (left.unexplained() != 0).then_some(left)
    }

    /// Whether explaining `amount` reduces it. An amount in the other direction creates or enlarges a difference.
    pub fn is_reduced_by(self, amount: i128) -> bool {
        self.explained(amount)
            .is_none_or(|left| left.size() < self.size())
    }
}

/// What one market carries of the account. A base token is carried by the first market that trades it; changes from
/// trades of it at other markets are counted there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Base units.
    pub base: i128,
    /// Quote units that flowed by trades, joins and exits since the first start.
    pub cash: i128,
    /// Values that losses are measured from; `None` before the first mid, and after a reset.
    pub baselines: Option<Baselines>,
}

/// Values of a market that its losses are measured from, in quote units: base at the mid, cash, and the amounts due to
/// shares of the pool beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baselines {
    /// Day of venue time of the last measurement, in days since the venue's epoch.
    pub day: u64,
    /// The value at the first mid of that day.
    pub day_open: i128,
    /// The value at the first mid, or since an operator reset losses: the loss that `loss_total_max` limits is the
    /// distance below it.
    pub total: i128,
    /// The highest value since.
    pub peak: i128,
    /// High values of the last hour with their times, each higher than all later ones.
    pub hour: Vec<(VenueTime, i128)>,
    /// The last mid used.
    pub mid: Rate,
    /// Value of the pool shares at that mid; `None` if no pool was configured.
    pub pooled: Option<i128>,
}

/// A loss by the limit it belongs to, in quote units; negative for a gain.
pub type Loss = (Control, i128);

impl Position {
    /// Losses up to the last measurement, at its mid, by limit; `None` before the first one. `now` is a venue time: a
    /// later day starts with the value of the last measurement.
    pub fn lost(&self, now: VenueTime) -> Option<[Loss; 4]> {
        let baselines = self.baselines.as_ref()?;
        let worth = value_at(self.base, self.cash, baselines.mid)?;
        let worth = worth.checked_add(baselines.pooled.unwrap_or(0))?;
        let today = baselines.day == now.0 / DAY_MS;
        let below = |from: i128| from.saturating_sub(worth);
        let hour = baselines.hour.iter();
        let hour = hour
            .filter(|(at, _)| counts_at(*at, now))
            .map(|(_, high)| *high);
        Some([
            (Control::LossHour, hour.max().map_or(0, below)),
            (
                Control::LossDay,
                if today { below(baselines.day_open) } else { 0 },
            ),
            (Control::LossTotal, below(baselines.total)),
            (Control::Drawdown, below(baselines.peak)),
        ])
    }
}

/// Whether a high value still counts in the hour.
pub(crate) fn counts_at(seen: VenueTime, now: VenueTime) -> bool {
    now < seen.plus_ms(HOUR_MS + HOUR_STEP_MS)
}

impl Baselines {
    /// Shifts every baseline by an explained amount.
    pub fn shift(&mut self, by: i128) {
        let values = [&mut self.day_open, &mut self.total, &mut self.peak];
        let hour = self.hour.iter_mut().map(|(_, high)| high);
        for value in values.into_iter().chain(hour) {
            *value = value.saturating_add(by);
        }
    }
}

/// Value in quote units of base at a price plus quote: base is rounded up, also if negative.
pub(crate) fn value_at(base: i128, quote: i128, price: Rate) -> Option<i128> {
    let of = base.unsigned_abs();
    let worth = if base < 0 {
        i128::try_from(mul_div_floor(of, price.quote, price.base)?)
            .ok()?
            .checked_neg()?
    } else {
        i128::try_from(mul_div_ceil(of, price.quote, price.base)?).ok()?
    };
    worth.checked_add(quote)
}

/// The market that carries a base token: the first one that trades it.
pub(crate) fn carrier(
    markets: impl IntoIterator<Item = (MarketId, TokenId)>,
    token: TokenId,
) -> Option<MarketId> {
    let found = markets.into_iter().find(|(_, base)| *base == token);
    found.map(|(market, _)| market)
}

impl Books {
    /// Adjusts the positions to the configured markets: every base token of the ledger is carried once. Base without a
    /// carrier, or with one that is no longer configured, moves to the first market that trades the token, without gain
    /// or loss there.
    pub fn fit(&mut self, markets: &[MarketSpec]) {
        let Some(ledger) = &self.ledger else { return };
        for spec in markets {
            self.positions.entry(spec.id).or_default();
        }
        let bases = || markets.iter().map(|spec| (spec.id, spec.base.id));
        for spec in markets {
            let token = spec.base.id;
            if carrier(bases(), token) != Some(spec.id) {
                continue;
            }
            let of_token = markets.iter().filter(|other| other.base.id == token);
            let carried = of_token.filter_map(|other| self.positions.get(&other.id));
            let carried = carried.fold(0, |sum: i128, position| sum.saturating_add(position.base));
            let held = ledger.get(&token).copied().unwrap_or(0);
            let moved = held.saturating_sub(carried);
            if let Some(position) = self.positions.get_mut(&spec.id).filter(|_| moved != 0) {
                position.take(moved);
            }
        }
    }

    /// Applies a booking.
    pub fn book(&mut self, booking: &Booking) {
        if booking.opens || self.ledger.is_some() {
            let ledger = self.ledger.get_or_insert_default();
            ledger.extend(booking.ledger.iter().map(|(id, units)| (*id, *units)));
        }
        for (market, position) in &booking.positions {
            self.positions.insert(*market, position.clone());
        }
        if let Some(differences) = &booking.differences {
            self.differences.clone_from(differences);
        }
        if let Some(below) = booking.charged_below {
            self.charged_below = below;
        }
    }

    /// Books an explained flow while no daemon runs: the ledger changes, and no market gains or loses. An error without
    /// change if more leaves than there is.
    pub fn explain(
        &mut self,
        token: TokenId,
        amount: i128,
        markets: &[Carrier],
    ) -> Result<(), NotCovered> {
        let ledger = self.ledger.get_or_insert_default();
        let held = ledger.get(&token).copied().unwrap_or(0);
        ledger.insert(token, NotCovered::unless_covered(held, amount)?);
        if let Some(difference) = self.differences.remove(&token)
            && let Some(left) = difference.explained(amount)
        {
            self.differences.insert(token, left);
        }
        let carrier = carrier(markets.iter().map(|of| (of.market, of.base)), token);
        if let Some(position) = carrier.and_then(|market| self.positions.get_mut(&market)) {
            position.take(amount);
        }
        let beside = markets.iter().find(|of| of.shares == Some(token));
        if let Some(position) = beside.and_then(|of| self.positions.get_mut(&of.market)) {
            position.forget_pool();
        }
        Ok(())
    }

    /// Adopts the venue's balance of every token that differed at the last comparison, while no daemon runs. Returns
    /// the booked amounts by token; a token with less than what left is skipped.
    pub fn accept_differences(&mut self, markets: &[Carrier]) -> SortedMap<TokenId, i128> {
        let differing = self.differences.clone().into_iter();
        let amounts = differing.map(|(token, difference)| (token, difference.unexplained()));
        let taken =
            amounts.filter(|(token, amount)| self.explain(*token, *amount, markets).is_ok());
        taken.collect()
    }

    /// Resets losses: counting starts again at the next measurement.
    pub fn forget_losses(&mut self) {
        for position in self.positions.values_mut() {
            position.baselines = None;
        }
    }
}

/// The tokens that one market carries, in the order of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// The market.
    pub market: MarketId,
    /// Its base token.
    pub base: TokenId,
    /// The token of the shares of the pool beside it.
    pub shares: Option<TokenId>,
}

impl Carrier {
    /// One carrier for every market, with the pools beside them.
    pub fn of(markets: &[MarketSpec], pools: &[PoolSpec]) -> Vec<Self> {
        let each = markets.iter().map(|spec| {
            let beside = pools.iter().find(|pool| pool.market == spec.id);
            Self {
                market: spec.id,
                base: spec.base.id,
                shares: beside.map(|pool| pool.lp.id),
            }
        });
        each.collect()
    }
}

impl Position {
    /// Adds base from an external flow.
    fn take(&mut self, base: i128) {
        self.base = self.base.saturating_add(base);
        if let Some(baselines) = &mut self.baselines
            && let Some(worth) = value_at(base, 0, baselines.mid)
        {
            baselines.shift(worth);
        }
    }

    /// Drops the value of pool shares until the next measurement: their number has changed without a price.
    fn forget_pool(&mut self) {
        if let Some(baselines) = &mut self.baselines
            && let Some(pooled) = baselines.pooled.take()
        {
            baselines.shift(pooled.saturating_neg());
        }
    }
}

/// More would leave than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger holds {held} base units; {amount} cannot be booked")]
pub struct NotCovered {
    /// Amount in the ledger, base units.
    pub held: i128,
    /// Amount to book.
    pub amount: i128,
}

impl NotCovered {
    /// The amount after a flow; an error if an outflow would leave it below zero.
    pub(crate) fn unless_covered(held: i128, amount: i128) -> Result<i128, Self> {
        let after = held.checked_add(amount);
        let after = after.filter(|after| amount >= 0 || *after >= 0);
        after.ok_or(Self { held, amount })
    }
}

/// One entry of a booking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// An increment of an order's filled amount.
    Fill(Fill),
    /// The balance changes of a join or an exit.
    Moved(PoolTransactionSettlement),
    /// The proven end of an order, join or exit.
    Ended(ClientOrderId, End),
    /// An explained flow.
    Flow {
        /// Token.
        token: TokenId,
        /// Base units, negative for an outflow.
        amount: i128,
        /// Reason.
        reason: String,
    },
    /// An operator reset the losses.
    LossesForgotten,
    /// A slot number was taken for a request beside the engine.
    SlotTaken {
        /// The sold token.
        token: TokenId,
        /// The number.
        number: u32,
    },
}

/// All changes of orders and books by one event: durable as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// Entries, in order.
    pub entries: Vec<Entry>,
    /// Whether this is the first reconciliation: `ledger` is then complete.
    pub opens: bool,
    /// New amounts of all changed tokens.
    pub ledger: Totals,
    /// New positions of all changed markets.
    pub positions: SortedMap<MarketId, Position>,
    /// New differences, if they changed.
    pub differences: Option<SortedMap<TokenId, Difference>>,
    /// The number of the next charge to book, if it changed.
    pub charged_below: Option<u64>,
}

impl Booking {
    /// Whether it contains an entry that an operator's command waits for.
    pub fn is_asked_for(&self) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Flow { .. } | Entry::LossesForgotten | Entry::SlotTaken { .. } => true,
            Entry::Fill(_) | Entry::Moved(_) | Entry::Ended(..) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::token::tests::token;

    const BASE: TokenId = TokenId(0);

    fn spec(id: u16, base: u16) -> MarketSpec {
        let name = format!("M{id}");
        MarketSpec::new(MarketId(id), &name, token(base), token(9), 2, true).unwrap()
    }

    /// At 3 quote units each.
    fn baselines() -> Baselines {
        Baselines {
            day: 1,
            day_open: 1_000,
            total: 1_100,
            peak: 1_200,
            hour: vec![(VenueTime(DAY_MS), 1_150)],
            mid: Rate { quote: 3, base: 1 },
            pooled: None,
        }
    }

    fn position(base: i128) -> Position {
        Position {
            base,
            cash: 0,
            baselines: Some(baselines()),
        }
    }

    #[test]
    fn a_command_waits_for_what_an_operator_asked_for() {
        let order = ClientOrderId {
            instance: 1,
            strategy: crate::order::StrategyId(0),
            number: 1,
        };
        let ended = Entry::Ended(order, End::Fenced);
        let flow = Entry::Flow {
            token: BASE,
            amount: -1,
            reason: String::new(),
        };
        let slot = Entry::SlotTaken {
            token: BASE,
            number: 1,
        };
        let is_asked_for = |entries: &[Entry]| {
            let entries = entries.to_vec();
            Booking {
                entries,
                ..Booking::default()
            }
            .is_asked_for()
        };
        for entry in [flow, Entry::LossesForgotten, slot] {
            let beside = [ended.clone(), entry.clone()];
            assert!(is_asked_for(&beside), "beside others: {entry:?}");
            assert!(is_asked_for(&beside[1..]), "{entry:?}");
        }
        assert!(!is_asked_for(&[ended]));
        assert!(!is_asked_for(&[]));
    }

    #[test]
    fn a_difference_is_explained_in_parts() {
        let difference = Difference {
            ledger: 20,
            venue: 15,
        };
        assert_eq!(difference.unexplained(), -5);
        let left = difference.explained(-3).unwrap();
        assert_eq!(left.unexplained(), -2);
        assert_eq!(left.explained(-2), None);
        assert_eq!(
            left.explained(1).unwrap().unexplained(),
            -3,
            "the wrong way"
        );
    }

    #[test]
    fn flows_explained_offline_are_no_loss() {
        let mut books = Books {
            ledger: Some(Totals::from([(BASE, 100)])),
            differences: [(
                BASE,
                Difference {
                    ledger: 100,
                    venue: 60,
                },
            )]
            .into(),
            positions: [(MarketId(0), position(100))].into(),
            ..Books::default()
        };
        let before = books.positions[&MarketId(0)]
            .lost(VenueTime(DAY_MS))
            .unwrap();
        let markets = Carrier::of(&[spec(0, 0), spec(1, 0)], &[]);
        books.explain(BASE, -40, &markets).unwrap();
        assert_eq!(books.ledger, Some(Totals::from([(BASE, 60)])));
        assert!(books.differences.is_empty());
        let after = books.positions[&MarketId(0)]
            .lost(VenueTime(DAY_MS))
            .unwrap();
        assert_eq!((before, books.positions[&MarketId(0)].base), (after, 60));
        assert_eq!(
            books.explain(BASE, -61, &markets),
            Err(NotCovered {
                held: 60,
                amount: -61
            })
        );
        assert_eq!(books.ledger, Some(Totals::from([(BASE, 60)])));
    }

    #[test]
    fn losses_are_those_of_the_holdings_at_the_last_mid() {
        // 300 at the mid.
        let held = position(100);
        let lost = |at| held.lost(VenueTime(at)).unwrap().map(|(_, lost)| lost);
        assert_eq!(lost(DAY_MS), [850, 700, 800, 900]);
        assert_eq!(
            lost(2 * DAY_MS),
            [0, 0, 800, 900],
            "another day, another hour"
        );
        let sold = Position {
            base: 40,
            cash: 170,
            ..held.clone()
        };
        let after = sold.lost(VenueTime(DAY_MS)).unwrap();
        assert_eq!(after[2], (Control::LossTotal, 810), "60 were sold for 170");
    }

    #[test]
    fn every_base_token_is_carried_once_whatever_is_configured() {
        let mut books = Books {
            ledger: Some(Totals::from([(BASE, 100), (TokenId(1), 7)])),
            ..Books::default()
        };
        let both = [spec(0, 0), spec(1, 0), spec(2, 1)];
        books.fit(&both);
        let bases = |books: &Books| books.positions.values().map(|p| p.base).collect::<Vec<_>>();
        assert_eq!(bases(&books), [100, 0, 7]);
        // The second market bought 5; the first one has recorded its losses.
        books.ledger = Some(Totals::from([(BASE, 105), (TokenId(1), 7)]));
        books.positions.insert(MarketId(0), position(100));
        books.positions.get_mut(&MarketId(1)).unwrap().base = 5;
        books.fit(&both);
        assert_eq!(bases(&books), [100, 5, 7]);
        // The second market is no longer configured: the first carries all base, without a gain.
        let lost = |books: &Books| books.positions[&MarketId(0)].lost(VenueTime(DAY_MS));
        let before = lost(&books);
        books.fit(&both[..1]);
        assert_eq!(books.positions[&MarketId(0)].base, 105);
        assert_eq!(lost(&books), before);
    }
}
