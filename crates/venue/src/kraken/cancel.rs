//! Cancels, and the timer that cancels everything.

use cambist_core::OrderStatus;

use super::{CANCEL_AFTER_MAX_S, Ended, KrakenError, KrakenReply, OrderRef};
use crate::account::AccountId;
use crate::mode::ExchangeMode;
use crate::orders::OrderKey;
use crate::venue::Venue;

impl Venue {
    /// Cancels the named orders that are open. A single one that is not is an error.
    pub(super) fn kraken_cancel(
        &mut self,
        account: AccountId,
        orders: &[OrderRef],
    ) -> Result<KrakenReply, KrakenError> {
        let mut keys = Vec::new();
        for order in orders {
            keys.extend(self.open_orders_named(account, order));
        }
        if keys.is_empty() {
            return Err(KrakenError::UnknownOrder);
        }
        self.cancel_keys(keys)
    }

    pub(super) fn kraken_cancel_all(
        &mut self,
        account: AccountId,
    ) -> Result<KrakenReply, KrakenError> {
        let keys = self.open_keys(account);
        self.cancel_keys(keys)
    }

    pub(super) fn kraken_cancel_after(
        &mut self,
        account: AccountId,
        timeout_s: u64,
    ) -> Result<KrakenReply, KrakenError> {
        if timeout_s >= CANCEL_AFTER_MAX_S {
            return Err(KrakenError::InvalidTimeout);
        }
        let trigger = (timeout_s > 0).then(|| self.now.plus_ms(timeout_s * 1_000));
        match trigger {
            Some(at) => self.kraken.cancel_after.insert(account, at),
            None => self.kraken.cancel_after.remove(&account),
        };
        Ok(KrakenReply::CancelAfter {
            now: self.now,
            trigger,
        })
    }

    /// The timer of an account is due: everything is cancelled, in every mode of the exchange.
    pub(crate) fn cancel_because_of_timer(&mut self, account: AccountId) {
        for key in self.open_keys(account) {
            if !self.orders.get(key).status.is_final() {
                let sequence = self.orders.get(key).sequence;
                self.kraken.note_end(sequence, Ended::Requested);
                self.close(key, OrderStatus::Cancelled);
            }
        }
    }

    pub(super) fn cancel_keys(
        &mut self,
        mut keys: Vec<OrderKey>,
    ) -> Result<KrakenReply, KrakenError> {
        if self.mode == ExchangeMode::Halted {
            return Err(KrakenError::Halted);
        }
        keys.sort_unstable();
        keys.dedup();
        let delay_ms = self.config.delays.cancel_ms;
        for key in &keys {
            let order = self.orders.get_mut(*key);
            self.kraken.note_end(order.sequence, Ended::Requested);
            if delay_ms == 0 {
                self.close(*key, OrderStatus::Cancelled);
            } else if order.status != OrderStatus::Cancelling {
                order.status = OrderStatus::Cancelling;
                self.schedule_order(*key, delay_ms);
            }
        }
        Ok(KrakenReply::Cancelled {
            count: u32::try_from(keys.len()).unwrap_or(u32::MAX),
            pending: delay_ms > 0 && !keys.is_empty(),
        })
    }

    /// Open orders of an account.
    pub(super) fn open_keys(&self, account: AccountId) -> Vec<OrderKey> {
        let orders = self.accounts.get(&account).map(|account| &account.orders);
        let keys = orders.into_iter().flat_map(|orders| orders.values());
        keys.copied()
            .filter(|key| self.orders.get(*key).is_open())
            .collect()
    }

    /// The open orders that a reference names.
    pub(super) fn open_orders_named(&self, account: AccountId, order: &OrderRef) -> Vec<OrderKey> {
        let one = |key: Option<OrderKey>| {
            let open = key.filter(|key| self.orders.get(*key).is_open());
            open.into_iter().collect()
        };
        match order {
            OrderRef::Number(number) => one(self.key_of_number(account, *number)),
            OrderRef::ClientId(id) => one(self.open_by_client_id(account, id)),
            OrderRef::UserRef(user_ref) => {
                let mut keys = self.open_keys(account);
                keys.retain(|key| {
                    let fields = self.kraken.orders.get(&self.orders.get(*key).sequence);
                    fields.is_some_and(|fields| fields.user_ref == Some(*user_ref))
                });
                keys
            }
        }
    }

    /// The open order with a client order id.
    pub(super) fn open_by_client_id(&self, account: AccountId, id: &str) -> Option<OrderKey> {
        let key = *self.accounts.get(&account)?.client_ids.get(id)?;
        self.orders.get(key).is_open().then_some(key)
    }
}
