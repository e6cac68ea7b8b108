//! Markets of other venues that strategies read, as their engines published them last.

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::elsewhere::{BookElsewhere, MarketElsewhere};
use crate::market::{MarketId, MarketSpec};
use crate::reads::assumed;
use crate::time::Time;
use crate::withheld::Withheld;

/// All of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Elsewhere(Vec<Known>);

/// One of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    market: MarketElsewhere,
    /// When its depth was drawn, at the latest; `None` before the first.
    drawn_at: Option<Time>,
    /// Whether its book could be priced from when strategies were last asked.
    priced: bool,
}

impl Known {
    pub(crate) const fn market(&self) -> &MarketElsewhere {
        &self.market
    }

    /// Age of its depth in milliseconds.
    pub(crate) fn age_ms(&self, now: Time) -> Option<u64> {
        self.drawn_at.map(|at| now.ms_since(at))
    }

    /// Its book, or why it is missing.
    pub(crate) fn book(&self, now: Time) -> Result<&BookElsewhere, Withheld> {
        let book = self.market.book.as_ref().map_err(|why| *why)?;
        let is_young = |age_ms| age_ms <= book.age_max_ms;
        if self.age_ms(now).is_some_and(is_young) {
            Ok(book)
        } else {
            // The key that decides is in the file of the other venue.
            Err(Control::StaleData.into())
        }
    }

    fn is_priced(&self, now: Time) -> bool {
        self.book(now).is_ok_and(|book| book.mid.is_ok())
    }
}

impl Elsewhere {
    /// The place of a market that strategies of `reader` read. One that was not read before has no book until its engine
    /// publishes one.
    pub(crate) fn place(&mut self, reader: &MarketSpec, name: &str) -> u16 {
        let place = self.find(reader.id, name).unwrap_or_else(|| {
            self.0.push(Known {
                market: MarketElsewhere {
                    reader: reader.id,
                    market: assumed(reader, name),
                    book: Err(Control::StaleData.into()),
                    holdings: None,
                    taker_fee_bips: 0,
                },
                drawn_at: None,
                priced: false,
            });
            self.0.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    /// Whether strategies of a market have read it since the start.
    pub(crate) fn is_read(&self, reader: MarketId, name: &str) -> bool {
        self.find(reader, name).is_some()
    }

    fn find(&self, reader: MarketId, name: &str) -> Option<usize> {
        self.0.iter().position(|known| {
            let market = &known.market;
            market.reader == reader && market.market.name == name
        })
    }

    pub(crate) fn at(&self, place: u16) -> Option<&Known> {
        self.0.get(usize::from(place))
    }

    /// Takes what was published; true if a strategy reads it, so that its readers decide again.
    pub(crate) fn take(&mut self, now: Time, published: &MarketElsewhere) -> bool {
        let found = self.find(published.reader, &published.market.name);
        let Some(known) = found.map(|at| &mut self.0[at]) else {
            return false;
        };
        let book = published.book.as_ref();
        known.drawn_at = book
            .map(|book| now.minus_ms(book.age_ms))
            .ok()
            .or(known.drawn_at);
        known.market.clone_from(published);
        true
    }

    /// Readers of markets whose book appeared or lapsed since they were last asked.
    pub(crate) fn readers_of_changed(&mut self, now: Time) -> Vec<MarketId> {
        let mut readers = Vec::new();
        for known in &mut self.0 {
            let priced = known.is_priced(now);
            if std::mem::replace(&mut known.priced, priced) != priced {
                readers.push(known.market.reader);
            }
        }
        readers
    }
}
