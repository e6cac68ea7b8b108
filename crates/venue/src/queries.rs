//! Cancelling, and reading orders, balances, accounts and keys.

use cambist_core::{Hash, OrderStatus, Reason, Side, TokenId};

use crate::account::{AccountId, ApiKey};
use crate::config::Compat;
use crate::orders::{Order, OrderKey};
use crate::request::{AccountQuery, Caller, OrdersQuery};
use crate::response::{
    AccountView, BalanceView, Cancelled, ExchangeView, OrderView, OrdersView, Refusal, Response,
};
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
        self.close(key, OrderStatus::Cancelled);
        let order = self.orders.get(key);
        Ok(Cancelled {
            hash: order.hash,
            client_id: shown_client_id(order),
            status: order.status,
        })
    }

    /// A cancel must name something.
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

    /// The code that the real service used; in strict mode the one the interface lists.
    fn lenient(&self, reason: Reason, detail: impl Into<String>) -> Refusal {
        let reason = match self.config.compat {
            Compat::Both => reason,
            Compat::Strict => Reason::NothingToCancel,
        };
        Refusal::new(reason, detail)
    }

    fn find_hash(&self, account: AccountId, hash: Hash) -> Option<OrderKey> {
        let key = *self.by_hash.get(&hash)?;
        (self.orders.get(key).account == account).then_some(key)
    }

    /// An order by the client's id, or by the hash as text if the client gave none.
    pub(crate) fn find_client_id(&self, account: AccountId, id: &str) -> Option<OrderKey> {
        let named = self.accounts.get(&account)?.client_ids.get(id).copied();
        named.or_else(|| {
            let key = self.find_hash(account, hash_of(id)?)?;
            self.orders.get(key).client_id.is_none().then_some(key)
        })
    }

    pub(crate) fn order_of(
        &self,
        caller: &Caller,
        account: AccountId,
        hash: Hash,
    ) -> Result<OrderView, Refusal> {
        self.check_owner(caller, account)?;
        self.find_hash(account, hash)
            .map(|key| self.view(self.orders.get(key)))
            .ok_or_else(|| Refusal::new(Reason::OrderNotFound, "no such order"))
    }

    pub(crate) fn list_orders(
        &self,
        caller: &Caller,
        query: &OrdersQuery,
    ) -> Result<OrdersView, Refusal> {
        self.check_owner(caller, query.account)?;
        let limits = &self.config.limits;
        let limit = query
            .limit
            .unwrap_or(u64::from(limits.orders_page))
            .min(u64::from(limits.orders_page_max));
        let mut found = OrdersView {
            total: 0,
            orders: Vec::new(),
        };
        let Some(account) = self.accounts.get(&query.account) else {
            return Ok(found);
        };
        let newest_first = account
            .orders
            .values()
            .rev()
            .map(|key| self.orders.get(*key))
            // Creation never runs backwards, so an older one ends the search.
            .take_while(|order| order.created >= query.start);
        for order in newest_first {
            if !self.matches(query, order) {
                continue;
            }
            if found.total >= query.offset && (found.orders.len() as u64) < limit {
                found.orders.push(self.view(order));
            }
            found.total += 1;
        }
        Ok(found)
    }

    fn matches(&self, query: &OrdersQuery, order: &Order) -> bool {
        let market = &self.markets[usize::from(order.market.0)].config.name;
        (query.end.0 == 0 || order.created <= query.end)
            && query.market.as_ref().is_none_or(|name| name == market)
            && (query.sides.is_empty() || query.sides.contains(&order.side))
            && (query.statuses.is_empty() || query.statuses.contains(&order.status))
            && query
                .kinds
                .as_ref()
                .is_some_and(|kinds| kinds.is_empty() || kinds.contains(&order.kind))
    }

    fn view(&self, order: &Order) -> OrderView {
        let market = &self.markets[usize::from(order.market.0)].config;
        OrderView {
            hash: order.hash,
            client_id: shown_client_id(order),
            account: order.account,
            market: market.name.clone(),
            side: order.side,
            kind: order.kind,
            fill_by: order.fill_by,
            status: order.status,
            price: order.level,
            price_decimals: market.price_decimals,
            base_amount: order.base,
            quote_amount: order.quote,
            base_filled: order.base_filled,
            quote_filled: order.quote_filled,
            fee: order.fee,
            sell_token: match order.side {
                Side::Buy => market.quote,
                Side::Sell => market.base,
            },
            storage_id: order.storage_id,
            max_fee_bips: order.max_fee_bips,
            valid_until_s: order.valid_until_s,
            created: order.created,
            updated: order.updated,
        }
    }

    pub(crate) fn list_balances(
        &self,
        caller: &Caller,
        account: AccountId,
        tokens: Option<&[TokenId]>,
    ) -> Result<Vec<BalanceView>, Refusal> {
        self.check_owner(caller, account)?;
        let Some(account) = self.accounts.get(&account) else {
            return Ok(Vec::new());
        };
        let shown = |token: TokenId| {
            let balance = account.balance(token);
            BalanceView {
                token,
                total: balance.total,
                locked: balance.locked,
            }
        };
        Ok(match tokens {
            // In the order of the listing, each once, whatever was asked twice or is not listed.
            Some(asked) => self
                .tokens
                .keys()
                .filter(|token| asked.contains(token))
                .map(|token| shown(*token))
                .collect(),
            None => account
                .balances
                .iter()
                .filter(|(_, balance)| balance.total > 0)
                .map(|(token, _)| shown(*token))
                .collect(),
        })
    }

    pub(crate) fn find_account(&self, query: AccountQuery) -> Result<AccountView, Refusal> {
        let id = match query {
            AccountQuery::Owner(owner) if owner == [0; 20] => {
                return Err(Refusal::new(
                    Reason::AddressNotFound,
                    "the zero address owns no account",
                ));
            }
            AccountQuery::Owner(owner) => self.owners.get(&owner).copied(),
            AccountQuery::Id(id) => Some(id),
        };
        id.and_then(|id| self.accounts.get(&id))
            .map(|account| AccountView {
                id: account.id,
                owner: account.owner,
                frozen: account.frozen,
                public_key: account.public_key,
                key_epoch: account.key_epoch,
                nonce: account.nonce,
                key_nonce: account.key_nonce,
            })
            .ok_or_else(|| Refusal::new(Reason::UserNotFound, "account not found"))
    }

    pub(crate) fn api_key(
        &mut self,
        caller: &Caller,
        account: AccountId,
        fresh: &ApiKey,
    ) -> Result<ApiKey, Refusal> {
        self.check_known(account)?;
        // The signature is what opens the account here: there may be no key yet.
        self.check_signature(caller, account, Some(Reason::NoSignature))?;
        self.check_owner(caller, account)?;
        match &self.accounts[&account].api_key {
            Some(key) => Ok(key.clone()),
            None => self.set_api_key(account, fresh),
        }
    }

    pub(crate) fn rotate_api_key(
        &mut self,
        caller: &Caller,
        account: AccountId,
        fresh: &ApiKey,
    ) -> Result<ApiKey, Refusal> {
        self.check_known(account)?;
        self.check_owner(caller, account)?;
        self.check_signature(caller, account, None)?;
        self.set_api_key(account, fresh)
    }

    fn check_known(&self, account: AccountId) -> Result<(), Refusal> {
        if self.accounts.contains_key(&account) {
            Ok(())
        } else {
            Err(Refusal::new(
                Reason::UserNotFound,
                format!("account {} does not exist", account.0),
            ))
        }
    }

    pub(crate) fn set_api_key(
        &mut self,
        account: AccountId,
        fresh: &ApiKey,
    ) -> Result<ApiKey, Refusal> {
        if fresh.0.is_empty() || self.api_keys.contains_key(fresh) {
            return Err(Refusal::new(
                Reason::UnknownError,
                "no new api key could be made",
            ));
        }
        self.api_keys.insert(fresh.clone(), account);
        let old = self.account_mut(account).api_key.replace(fresh.clone());
        if let Some(old) = old {
            self.api_keys.remove(&old);
        }
        Ok(fresh.clone())
    }

    pub(crate) fn next_storage_id(
        &self,
        caller: &Caller,
        account: AccountId,
        sell_token: TokenId,
    ) -> Result<Response, Refusal> {
        self.check_owner(caller, account)?;
        if !self.tokens.contains_key(&sell_token) {
            return Err(Refusal::new(
                Reason::UnsupportedToken,
                format!("token {} is not listed", sell_token.0),
            ));
        }
        let table = self.accounts[&account].slots.get(&sell_token);
        let next = |parity| table.map_or(Some(parity), |table| table.next(parity));
        Ok(Response::StorageId {
            order: next(0),
            offchain: next(1),
        })
    }

    pub(crate) const fn exchange_info(&self) -> ExchangeView {
        ExchangeView {
            chain_id: self.config.chain_id,
            exchange: self.config.exchange,
            deposit: self.config.deposit,
        }
    }
}

fn shown_client_id(order: &Order) -> String {
    order
        .client_id
        .clone()
        .unwrap_or_else(|| order.hash.to_string())
}

/// A hash written as `0x` and 64 hex digits of either case.
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

/// A state as the real service wrote it in refusals.
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
