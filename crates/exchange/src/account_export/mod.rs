//! The history of one account as lines of JSON, for audits by other programs. Format: docs/audit.md.
//!
//! Amounts are strings of base units, times milliseconds, hashes hexadecimal.

mod kraken;
mod submissions;

use std::io::Write;

use cambist_core::{Amount, Hash, OrderStatus, VenueTime};
use cambist_server::HistoryRecord;
use cambist_venue::{
    AccountId, Caller, KrakenCall, Operator, OrderView, OrdersQuery, PoolTransactionView,
    PoolTransactionsQuery, PoolTxKind, PoolTxStatus, Refusal, Request, Response, Trade, Venue,
};
use serde_json::{Value, json};

use submissions::Submissions;

/// Writes lines about one account.
pub struct Lines<'a> {
    out: &'a mut dyn Write,
    account: AccountId,
    now: VenueTime,
    /// Lines from before the account existed. They are written as soon as it does; without it nothing is.
    held: Option<String>,
    submissions: Submissions,
    failed: std::io::Result<()>,
}

impl<'a> Lines<'a> {
    /// Lines about `account`.
    pub fn new(out: &'a mut dyn Write, account: u32) -> Self {
        Self {
            out,
            account: AccountId(account),
            now: VenueTime(0),
            held: Some(String::new()),
            submissions: Submissions::default(),
            failed: Ok(()),
        }
    }

    /// Whether the account has existed so far.
    pub const fn is_known(&self) -> bool {
        self.held.is_none()
    }

    /// Ends the output; an error if a write failed.
    pub fn finish(self) -> std::io::Result<()> {
        self.failed.and_then(|()| self.out.flush())
    }

    /// Writes an item of the history.
    pub fn write_record(&mut self, record: &HistoryRecord<'_>) {
        let (HistoryRecord::Opening { venue, .. }
        | HistoryRecord::Asked { venue, .. }
        | HistoryRecord::Closing { venue, .. }) = record;
        if venue.account(self.account).is_some()
            && let Some(held) = self.held.take()
        {
            self.failed = self.out.write_all(held.as_bytes());
        }
        match record {
            HistoryRecord::Opening { position, venue } => {
                let delays = venue.config().delays;
                let delayed = delays.order_ms > 0 || delays.cancel_ms > 0;
                self.line(&json!({
                    "line": "opening",
                    "account": self.account.0,
                    "inputs": position,
                    "delayed": delayed,
                }));
                self.balances("opening_balance", venue);
                for line in self.submissions.opening(self.account, venue) {
                    self.line(&line);
                }
            }
            HistoryRecord::Asked {
                now,
                caller,
                request,
                answer,
                venue,
            } => {
                self.now = *now;
                self.asked(caller, request, answer, venue);
                for line in self.submissions.after(self.account, request, venue) {
                    self.line(&line);
                }
            }
            HistoryRecord::Closing { position, venue } => {
                self.closing(venue);
                self.line(&json!({"line": "end", "inputs": position, "at_ms": self.now.0}));
            }
        }
    }

    fn line(&mut self, value: &Value) {
        if let Some(held) = &mut self.held {
            held.push_str(&value.to_string());
            held.push('\n');
        } else if self.failed.is_ok() {
            self.failed = writeln!(self.out, "{value}");
        }
    }

    fn balances(&mut self, name: &str, venue: &Venue) {
        let Some(account) = venue.account(self.account) else {
            return;
        };
        for (token, balance) in account.balances() {
            let symbol = venue.token(token).map(|token| &token.spec.symbol);
            self.line(&json!({
                "line": name,
                "token": token.0,
                "symbol": symbol,
                "total": units(balance.total),
                "locked": units(balance.locked),
            }));
        }
    }

    fn asked(
        &mut self,
        caller: &Caller,
        request: &Request,
        answer: &Result<Response, Refusal>,
        venue: &Venue,
    ) {
        let at_ms = self.now.0;
        let account = self.account;
        let by_other = matches!(caller, Caller::Account { account: by, .. } if *by != account);
        let receives = |request: &Request| match request {
            Request::Transfer(transfer) if answer.is_ok() => {
                let payee = venue.account_of_owner(&transfer.payee_owner);
                payee.is_some_and(|payee| payee.id == account)
            }
            _ => false,
        };
        if let Some((about, asked)) = describe(request)
            && (about.is_none_or(|about| about == account) || receives(request))
            && !(by_other && matches!(request, Request::Join(_) | Request::Exit(_)))
        {
            let by_operator = *caller == Caller::Operator;
            self.request(by_operator, kraken::refusal(answer).as_deref(), &asked);
        }
        if let Request::Kraken(call) = request {
            self.kraken_orders(call, answer, venue);
        }
        if let (Request::Submit(order), Ok(Response::Submitted(submitted))) = (request, answer) {
            for trade in &submitted.trades {
                if order.account == self.account || trade.maker_account == self.account {
                    let first = first_hash(venue, trade.maker_account, trade.maker);
                    self.line(&traded(at_ms, (order.hash, order.account), first, trade));
                }
            }
        }
    }

    /// A request, and why it was refused.
    fn request(&mut self, by_operator: bool, reason: Option<&str>, request: &Value) {
        self.line(&json!({
            "line": "asked",
            "at_ms": self.now.0,
            "by_operator": by_operator,
            "taken": reason.is_none(),
            "reason": reason,
            "request": request,
        }));
    }

    /// What a request of Kraken's interface ordered and traded.
    fn kraken_orders(
        &mut self,
        call: &KrakenCall,
        answer: &Result<Response, Refusal>,
        venue: &Venue,
    ) {
        if call.account == self.account {
            for (order, reason) in kraken::orders(call, answer) {
                self.request(false, reason.as_deref(), &kraken::submitted(call, order));
            }
        }
        for (hash, trade) in kraken::trades(call, answer) {
            if call.account == self.account || trade.maker_account == self.account {
                let first = first_hash(venue, trade.maker_account, trade.maker);
                self.line(&traded(self.now.0, (hash, call.account), first, trade));
            }
        }
    }

    fn closing(&mut self, venue: &Venue) {
        // A query may advance the time: made on a copy.
        let mut asked = venue.clone();
        let account = self.account;
        let caller = Caller::Account {
            account,
            signed: None,
        };
        let mut offset = 0;
        loop {
            let query = OrdersQuery {
                offset,
                ..OrdersQuery::all(account)
            };
            let answer = asked.handle(self.now, &caller, &Request::Orders(query));
            let Ok(Response::Orders(page)) = answer else {
                break;
            };
            for order in &page.orders {
                self.line(&listed(order, venue.continues(account, order.hash)));
            }
            offset += page.orders.len() as u64;
            if page.orders.is_empty() || offset >= page.total {
                break;
            }
        }
        let mut offset = 0;
        loop {
            let query = PoolTransactionsQuery {
                offset,
                ..PoolTransactionsQuery::all(account)
            };
            let answer = asked.handle(self.now, &caller, &Request::PoolTransactions(query));
            let Ok(Response::PoolTransactions(page)) = answer else {
                break;
            };
            for moved in &page.transactions {
                self.line(&pooled(moved));
            }
            offset += page.transactions.len() as u64;
            if page.transactions.is_empty() || offset >= page.total {
                break;
            }
        }
        self.balances("closing_balance", venue);
    }
}

fn units(amount: Amount) -> String {
    amount.to_string()
}

fn hex(hash: Hash) -> String {
    hash.to_string()
}

/// The account of a request, if it has one, and its description.
fn describe(request: &Request) -> Option<(Option<AccountId>, Value)> {
    Some(match request {
        Request::Submit(order) => (
            Some(order.account),
            json!({
                "what": "submit",
                "hash": hex(order.hash),
                "client_id": order.client_id,
                "storage_id": order.storage_id,
                "sell_token": order.sell_token.0,
                "sell_amount": units(order.sell_amount),
                "buy_token": order.buy_token.0,
                "buy_amount": units(order.buy_amount),
                "valid_until_s": order.valid_until_s,
            }),
        ),
        Request::Cancel {
            account,
            hash,
            client_id,
        } => (
            Some(*account),
            json!({"what": "cancel", "hash": hash.map(hex), "client_id": client_id}),
        ),
        Request::Operator(
            Operator::Deposit {
                account,
                token,
                amount,
            }
            | Operator::DepositOnce {
                account,
                token,
                amount,
                ..
            }
            | Operator::ConfirmDeposit {
                account,
                token,
                amount,
            },
        ) => (Some(*account), flow("deposit", token.0, *amount)),
        Request::Operator(Operator::Withdraw {
            account,
            token,
            amount,
        }) => (Some(*account), flow("withdrawal", token.0, *amount)),
        Request::Operator(Operator::SetDelays(_)) => (None, json!({"what": "set_delays"})),
        // The moved amounts are in the list of pool transactions.
        Request::Join(join) => (
            None,
            json!({"what": "join", "hash": hex(join.hash), "storage_ids": join.storage_ids}),
        ),
        Request::Exit(exit) => (
            None,
            json!({"what": "exit", "hash": hex(exit.hash), "storage_ids": [exit.storage_id]}),
        ),
        Request::Transfer(transfer) => (Some(transfer.payer), submissions::transfer(transfer)),
        Request::Withdraw(withdrawal) => (
            Some(withdrawal.account),
            submissions::withdrawal(withdrawal),
        ),
        Request::UpdateKey(key) => (Some(key.account), submissions::key(key)),
        Request::Operator(_)
        | Request::ApiKey { .. }
        | Request::RotateApiKey { .. }
        | Request::Order { .. }
        | Request::Orders(_)
        | Request::Depth { .. }
        | Request::Balances { .. }
        | Request::Account(_)
        | Request::NextStorageId { .. }
        | Request::ExchangeInfo
        | Request::Tokens
        | Request::Markets
        | Request::Pools
        | Request::PoolBalance { .. }
        | Request::PoolTransactions(_)
        | Request::Submission { .. }
        | Request::Log { .. } => return None,
        Request::Kraken(call) => (Some(call.account), kraken::described(call)),
    })
}

fn flow(what: &str, token: u16, amount: Amount) -> Value {
    json!({"what": what, "token": token, "amount": units(amount)})
}

/// The hash of the order whose amends led to this one of the book, or its own.
fn first_hash(venue: &Venue, account: AccountId, hash: Hash) -> Hash {
    let continues = venue.continues(account, hash);
    continues.map_or(hash, |(first, _)| first)
}

fn traded(
    at_ms: u64,
    (taker, taker_account): (Hash, AccountId),
    first: Hash,
    trade: &Trade,
) -> Value {
    json!({
        "line": "trade",
        "at_ms": at_ms,
        "maker": hex(trade.maker),
        "maker_first": hex(first),
        "maker_account": trade.maker_account.0,
        "taker": hex(taker),
        "taker_account": taker_account.0,
        "taker_side": trade.taker_side.name(),
        "base": units(trade.base),
        "quote": units(trade.quote),
        "maker_fee": units(trade.maker_fee),
        "taker_fee": units(trade.taker_fee),
    })
}

const fn status(status: OrderStatus) -> &'static str {
    match status {
        OrderStatus::Waiting => "waiting",
        OrderStatus::Processing => "processing",
        OrderStatus::Processed => "processed",
        OrderStatus::Cancelling => "cancelling",
        OrderStatus::Cancelled => "cancelled",
        OrderStatus::Expired => "expired",
        OrderStatus::Failed => "failed",
        OrderStatus::Other => "other",
    }
}

/// An order, and which one it is the rest of, if that was amended, with what had been traded until then.
fn listed(order: &OrderView, continues: Option<(Hash, [Amount; 3])>) -> Value {
    let continues = continues.map(|(hash, [base, quote, fee])| {
        json!({"hash": hex(hash), "base": units(base), "quote": units(quote), "fee": units(fee)})
    });
    json!({
        "line": "order",
        "hash": hex(order.hash),
        "continues": continues,
        "client_id": order.client_id,
        "market": order.market,
        "side": order.side.name(),
        "status": status(order.status),
        "open": !order.status.is_final(),
        "base_filled": units(order.base_filled),
        "quote_filled": units(order.quote_filled),
        "base_amount": units(order.base_amount),
        "quote_amount": units(order.quote_amount),
        "fee": units(order.fee),
        "fee_token": order.fee_token.0,
        "sell_token": order.sell_token.0,
        "buy_token": order.buy_token.0,
        "storage_id": order.storage_id,
        "valid_until_s": order.valid_until_s,
        "created_ms": order.created.0,
        "updated_ms": order.updated.0,
    })
}

fn pooled(moved: &PoolTransactionView) -> Value {
    let part = |part: &cambist_venue::PoolTransferView| json!({"token": part.token.0, "actual": units(part.actual), "fee": units(part.fee)});
    json!({
        "line": "pool_transaction",
        "hash": hex(moved.hash),
        "join": moved.kind == PoolTxKind::Join,
        "settled": moved.status == PoolTxStatus::Processed,
        "undecided": moved.status == PoolTxStatus::Processing,
        "pooled": moved.pooled.iter().map(part).collect::<Vec<_>>(),
        "lp": part(&moved.lp),
    })
}
