//! Operations on the books while no daemon runs: explaining a flow, adopting differences, resetting losses. They use
//! the state that the last daemon left; the venue is not queried.

use cambist_core::books::{Booking, Books, Carrier, Difference, Loss, NotCovered};
use cambist_core::control::Control;
use cambist_core::event::LossBaseline;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, TokenId, TokenSpec, VenueTime};

use super::booking::StoreEntry;
use super::books::{self, Listing};
use super::{Store, StoreError};

/// Why a flow cannot be explained now.
#[derive(Debug, thiserror::Error)]
pub enum NotExplained {
    /// There has been no reconciliation yet.
    #[error(
        "this store has no opening balances yet: the first start reads them from the venue, and they will include this flow"
    )]
    NotOpen,
    /// The outflow exceeds the balance.
    #[error(transparent)]
    NotCovered(#[from] NotCovered),
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The books of a stopped daemon.
#[derive(Debug)]
pub struct Offline {
    /// The listing of the last start.
    pub listing: Listing,
    books: Books,
    /// Losses of markets without baselines, from a store before version 5.
    lost: SortedMap<MarketId, LossBaseline>,
    carriers: Vec<Carrier>,
}

impl Offline {
    /// The differences at the last reconciliation.
    pub const fn differences(&self) -> &SortedMap<TokenId, Difference> {
        &self.books.differences
    }

    /// The ledger's balance of a token.
    pub fn held(&self, token: TokenId) -> cambist_core::Amount {
        let ledger = self.books.ledger.as_ref();
        let booked = ledger.and_then(|ledger| ledger.get(&token).copied());
        booked.and_then(|units| units.try_into().ok()).unwrap_or(0)
    }

    /// The losses of every market at the last valuation, by index.
    pub fn losses(&self, now: VenueTime) -> Vec<(MarketId, [Loss; 4])> {
        let measured = self.books.positions.iter();
        let measured = measured.filter_map(|(id, position)| Some((*id, position.lost(now)?)));
        let carried = self.lost.iter().map(|(id, lost)| {
            let losses = [
                (Control::LossHour, lost.hour),
                (Control::LossDay, lost.today),
                (Control::LossTotal, lost.total),
                (Control::Drawdown, lost.drawdown),
            ];
            (*id, losses)
        });
        measured.chain(carried).collect()
    }

    /// A token of the listing.
    pub fn token(&self, token: TokenId) -> Option<&TokenSpec> {
        self.listing.tokens.iter().find(|spec| spec.id == token)
    }

    fn symbol(&self, token: TokenId) -> String {
        let spec = self.token(token);
        spec.map_or_else(|| token.0.to_string(), |spec| spec.symbol.clone())
    }

    /// The complete books as one booking.
    fn booking(&self) -> Booking {
        Booking {
            ledger: self.books.ledger.clone().unwrap_or_default(),
            positions: self.books.positions.clone(),
            differences: Some(self.books.differences.clone()),
            ..Booking::default()
        }
    }
}

impl Store {
    /// The books that the last daemon left; `None` if no daemon has stored books yet.
    pub fn offline(&mut self) -> Result<Option<Offline>, StoreError> {
        let at = |error: super::recover::ReadError| error.at(&self.file);
        let Some(listing) = books::listing(&self.database).map_err(at)? else {
            return Ok(None);
        };
        let rows = books::read(&self.database).map_err(at)?;
        let names = listing.markets.iter().map(|spec| spec.name.clone());
        self.market_names = names.collect();
        let books = rows.books(&self.market_names);
        let mut lost = self.carried_losses()?;
        lost.retain(|market, _| {
            let position = books.positions.get(market);
            position.is_none_or(|position| position.baselines.is_none())
        });
        let carriers = Carrier::of(&listing.markets, &listing.pools);
        Ok(Some(Offline {
            listing,
            books,
            lost,
            carriers,
        }))
    }

    /// Takes a slot number of a token for a request beside the engine, at least `least`; durable when this returns.
    pub fn take_slot(&mut self, token: TokenId, least: u32) -> Result<u32, StoreError> {
        let at = |error: rusqlite::Error| super::database_error(&self.file, error);
        let used: Option<u32> = self
            .database
            .query_row(
                "SELECT max(next_storage) FROM counters WHERE token = ?1",
                [token.0],
                |found| found.get(0),
            )
            .map_err(at)?;
        let number = used.unwrap_or(0).max(least) | 1;
        self.book(
            &[StoreEntry::SlotTaken { token, number }],
            &Booking::default(),
        )?;
        Ok(number)
    }

    /// Books a flow that the operator explains.
    pub fn explain(
        &mut self,
        offline: &mut Offline,
        token: TokenId,
        amount: i128,
        reason: &str,
    ) -> Result<(), NotExplained> {
        if offline.books.ledger.is_none() {
            return Err(NotExplained::NotOpen);
        }
        offline.books.explain(token, amount, &offline.carriers)?;
        let entry = StoreEntry::Flow {
            token,
            symbol: offline.symbol(token),
            amount,
            reason: reason.to_owned(),
        };
        self.book(&[entry], &offline.booking())?;
        Ok(())
    }

    /// Adopts the venue's balances where the books differed at the last reconciliation, and resets losses if requested.
    /// Returns what was adopted, by token.
    pub fn settle(
        &mut self,
        offline: &mut Offline,
        forget_losses: bool,
        reason: &str,
    ) -> Result<SortedMap<TokenId, i128>, StoreError> {
        let accepted = offline.books.accept_differences(&offline.carriers);
        let flows = accepted.iter().map(|(token, amount)| StoreEntry::Flow {
            token: *token,
            symbol: offline.symbol(*token),
            amount: *amount,
            reason: reason.to_owned(),
        });
        let mut entries: Vec<_> = flows.collect();
        if forget_losses {
            offline.books.forget_losses();
            offline.lost.clear();
            entries.push(StoreEntry::LossesForgotten);
        }
        if !entries.is_empty() {
            self.book(&entries, &offline.booking())?;
        }
        Ok(accepted)
    }
}
