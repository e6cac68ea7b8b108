//! Cancels orders, and finds orders by hash or client order id.

use cambist_core::{Hash, OrderStatus, Reason};

use crate::account::AccountId;
use crate::config::Compat;
use crate::mode::ExchangeMode;
use crate::orders::OrderKey;
use crate::request::Caller;
use crate::response::{Cancelled, Refusal};
use crate::venue::Venue;

impl Venue {
    pub(crate) fn cancel(
        &mut self,
        caller: &Caller,
        account: AccountId,
        hash: Option<Hash>,
        client_id: Option<&str>,
    ) -> Result<Cancelled, Refusal> {
        self.check_owner(caller, account)?;
        self.check_cancel_fields(hash, client_id)?;
        self.check_signature(caller, account, Some(Reason::NoSignature))?;
        let by_hash = hash.map(|hash| self.find_hash(account, hash));
        let by_id = client_id.map(|id| self.find_client_id(account, id));
        let found = match (by_hash, by_id) {
            (Some(key), None) | (None, Some(key)) => key,
            (Some(key), Some(other)) if key == other => key,
            (Some(_), Some(_)) | (None, None) => None,
        };
        let Some(key) = found else {
            return Err(Refusal::new(Reason::NothingToCancel, "no such order"));
        };
        let order = self.orders.get(key);
        if order.status.is_final() {
            return Err(self.lenient(
                Reason::InvalidArgument,
                format!("order in status {} can't be cancelled", name(order.status)),
            ));
        }
        if self.mode == ExchangeMode::Halted {
            return Err(Refusal::new(Reason::CancelFailed, "the exchange is halted"));
        }
        let idempotent = order.status == OrderStatus::Cancelling;
        let delay_ms = self.config.delays.cancel_ms;
        if delay_ms == 0 {
            self.close(key, OrderStatus::Cancelled);
        } else if !idempotent {
            self.orders.get_mut(key).status = OrderStatus::Cancelling;
            self.schedule_order(key, delay_ms);
        }
        let order = self.orders.get(key);
        Ok(Cancelled {
            hash: order.hash,
            client_id: order.shown_client_id(),
            status: order.status,
            idempotent,
        })
    }

    /// A cancel must name an order.
    pub(crate) fn check_cancel_fields(
        &self,
        hash: Option<Hash>,
        client_id: Option<&str>,
    ) -> Result<(), Refusal> {
        if hash.is_none() && client_id.is_none() {
            return Err(self.lenient(
                Reason::InvalidArgument,
                "neither order hash nor client order id given",
            ));
        }
        Ok(())
    }

    /// The code of the original service; in strict mode the one that the interface lists.
    fn lenient(&self, reason: Reason, detail: impl Into<String>) -> Refusal {
        let reason = match self.config.compat {
            Compat::Both => reason,
            Compat::Strict => Reason::NothingToCancel,
        };
        Refusal::new(reason, detail)
    }

    pub(crate) fn find_hash(&self, account: AccountId, hash: Hash) -> Option<OrderKey> {
        let key = *self.by_hash.get(&hash)?;
        (self.orders.get(key).account == account).then_some(key)
    }

    /// Finds an order by client order id, or by the hash as text if the client gave no id.
    pub(crate) fn find_client_id(&self, account: AccountId, id: &str) -> Option<OrderKey> {
        let named = self.accounts.get(&account)?.client_ids.get(id).copied();
        named.or_else(|| {
            let key = self.find_hash(account, hash_of(id)?)?;
            self.orders.get(key).client_id.is_none().then_some(key)
        })
    }
}

/// A hash written as `0x` and 64 hexadecimal digits of either case.
fn hash_of(text: &str) -> Option<Hash> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let mut hash = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: u8| {
            char::from(at)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        *byte = digit(pair[0])? * 16 + digit(pair[1])?;
    }
    Some(Hash(hash))
}

/// An order status as the original service wrote it in refusals.
const fn name(status: OrderStatus) -> &'static str {
    match status {
        OrderStatus::Waiting => "WAITING",
        OrderStatus::Processing => "PROCESSING",
        OrderStatus::Processed => "PROCESSED",
        OrderStatus::Cancelling => "CANCELLING",
        OrderStatus::Cancelled => "CANCELLED",
        OrderStatus::Expired => "EXPIRED",
        OrderStatus::Failed => "FAILED",
        OrderStatus::Other => "OTHER",
    }
}
