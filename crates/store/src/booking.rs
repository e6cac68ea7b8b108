//! Writes what one event changed (fills, ends, flows and the books) in one transaction.

use cambist_core::books::{Booking, Books};
use cambist_core::event::LossBaseline;
use cambist_core::notification::{End, Fill, PoolTransactionSettlement};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, MarketId, TokenId};
use rusqlite::Transaction;

use super::books::{self, Listing};
use super::intents::{insert_end, insert_fill};
use super::schema::set_counter;
use super::{Filled, Store, StoreError, flows};
use crate::restrictions;

/// One row to write, with all its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreEntry {
    /// A booked fill.
    Fill(Fill),
    /// The proven end of an order or pool transaction.
    End {
        /// Its client order id.
        order: ClientOrderId,
        /// The kind of end.
        end: End,
        /// What was filled.
        filled: Filled,
        /// Amounts moved by a pool transaction.
        moved: Option<PoolTransactionSettlement>,
    },
    /// An explained flow.
    Flow {
        /// Token.
        token: TokenId,
        /// Its symbol at that time.
        symbol: String,
        /// Base units, negative for outflows.
        amount: i128,
        /// The operator's reason.
        reason: String,
    },
    /// Losses are counted from zero again.
    LossesForgotten,
    /// A slot number of a token was taken for a request beside the engine: no later intent gets it, or a lower one.
    SlotTaken {
        /// The sold token.
        token: TokenId,
        /// The number.
        number: u32,
    },
}

impl Store {
    /// The durable books, for the markets of [`Store::recover`] as listed now, and the losses of markets without
    /// baselines according to a store before version 5.
    pub fn books(
        &mut self,
        listing: &Listing,
    ) -> Result<(Books, SortedMap<MarketId, LossBaseline>), StoreError> {
        let rows = books::read(&self.database).map_err(|error| error.at(&self.file))?;
        let stored = rows.books(&self.market_names);
        let mut fitted = stored.clone();
        fitted.fit(&listing.markets);
        let at_us = self.clock.unix_micros();
        let names = self.market_names.clone();
        let written = (|| {
            let transaction = self.database.transaction()?;
            for (market, position) in &fitted.positions {
                if stored.positions.get(market) != Some(position)
                    && let Some(name) = names.get(usize::from(market.0))
                {
                    books::set_position(&transaction, name, position, at_us)?;
                }
            }
            books::set_listing(&transaction, listing, at_us)?;
            transaction.commit()
        })();
        written.map_err(|error| self.fail(error))?;
        let mut lost = self.carried_losses()?;
        let measured = |market: &MarketId| {
            let position = fitted.positions.get(market);
            position.is_some_and(|position| position.baselines.is_some())
        };
        lost.retain(|market, _| !measured(market));
        Ok((fitted, lost))
    }

    /// Writes what one event changed in one synced transaction. An entry about an order or pool transaction that is not
    /// open is left out and returned as an error; everything else is written.
    ///
    /// Nothing is written after a failed write: an end must not be recorded when a fill before it may be missing. The
    /// next start reads what is missing from the venue.
    pub fn book(&mut self, entries: &[StoreEntry], booking: &Booking) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::Broken);
        }
        let at_us = self.clock.unix_micros();
        let names = self.market_names.clone();
        let mut not_open = Vec::new();
        let (database, results) = (&mut self.database, &mut self.results);
        let written = (|| {
            let transaction = database.transaction()?;
            for entry in entries {
                if !write_entry(&transaction, entry, &names, at_us)? {
                    not_open.push(entry);
                }
            }
            if booking.opens {
                books::set_opened(&transaction, at_us)?;
            }
            for (token, units) in &booking.ledger {
                books::set_ledger(&transaction, (*token, *units), at_us)?;
            }
            for (market, position) in &booking.positions {
                if let Some(name) = names.get(usize::from(market.0)) {
                    books::set_position(&transaction, name, position, at_us)?;
                }
            }
            if let Some(differences) = &booking.differences {
                books::set_differences(&transaction, differences, at_us)?;
            }
            if let Some(below) = booking.charged_below {
                books::set_charged(&transaction, below, at_us)?;
            }
            if let Some(results) = results {
                results.book(&transaction, entries, booking, at_us)?;
            }
            transaction.commit()
        })();
        let not_open = not_open.first().map(|entry| format!("not open: {entry:?}"));
        written.map_err(|error| self.fail(error))?;
        not_open.map_or(Ok(()), |what| Err(StoreError::Refused { what }))
    }
}

/// Writes one row; `false` for the end of something that is not open.
fn write_entry(
    transaction: &Transaction<'_>,
    entries: &StoreEntry,
    names: &[String],
    at_us: u64,
) -> rusqlite::Result<bool> {
    match entries {
        StoreEntry::Fill(fill) => {
            let market = names.get(usize::from(fill.market.0));
            insert_fill(transaction, fill, market.map_or("", String::as_str), at_us)?;
        }
        StoreEntry::End {
            order,
            end,
            filled,
            moved,
        } => {
            let moved = moved.as_ref().map(|moved| {
                let market = names.get(usize::from(moved.market.0));
                (moved, market.map_or("", String::as_str))
            });
            return insert_end(transaction, (*order, *end), filled, moved, at_us);
        }
        StoreEntry::Flow {
            token,
            symbol,
            amount,
            reason,
        } => {
            let flow = flows::Flow {
                at_us,
                token: *token,
                symbol: symbol.clone(),
                amount: *amount,
                reason: reason.clone(),
            };
            flows::insert(transaction, &flow)?;
        }
        StoreEntry::LossesForgotten => restrictions::forget_carried(transaction)?,
        StoreEntry::SlotTaken { token, number } => {
            // Intents with higher numbers may be stored already.
            let used: Option<u32> = transaction.query_row(
                "SELECT max(next_storage) FROM counters WHERE token = ?1",
                [token.0],
                |found| found.get(0),
            )?;
            let next = (*number | 1).saturating_add(1).max(used.unwrap_or(0));
            set_counter(transaction, token.0, next)?;
        }
    }
    Ok(true)
}
