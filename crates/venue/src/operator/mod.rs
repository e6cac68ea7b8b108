//! Operator requests: accounts, funds, freezing, listing, fees, limits, modes, faults; and the operator's log.

mod accounts;
pub(crate) mod commands;
mod listing;

use cambist_core::{Reason, TokenId};

pub use crate::operator::commands::{LogEntry, Operator};

use crate::account::AccountId;
use crate::checks::MAX_FEE_BIPS;
use crate::mode::Delays;
use crate::random::Random;
use crate::request::Caller;
use crate::response::Refusal;
use crate::venue::Venue;

fn invalid<T>(detail: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Reason::InvalidArgument, detail))
}

fn unlisted<T>(token: TokenId) -> Result<T, Refusal> {
    Err(Refusal::new(
        Reason::UnsupportedToken,
        format!("token {} is not listed", token.0),
    ))
}

impl Venue {
    pub(crate) fn operate(
        &mut self,
        caller: &Caller,
        request: &Operator,
    ) -> Result<Option<AccountId>, Refusal> {
        check_operator(caller)?;
        let done = self.fulfil(request)?;
        self.write_log(request);
        Ok(done)
    }

    fn fulfil(&mut self, request: &Operator) -> Result<Option<AccountId>, Refusal> {
        match request {
            Operator::CreateAccount {
                id,
                owner,
                public_key,
                api_key,
                internal,
            } => {
                return self
                    .create_account(*id, *owner, *public_key, *api_key, *internal)
                    .map(Some);
            }
            Operator::SettleWithdrawal { hash } => {
                return self.end_withdrawal(hash, true).map(Some);
            }
            Operator::ReturnWithdrawal { hash } => {
                return self.end_withdrawal(hash, false).map(Some);
            }
            Operator::Deposit {
                account,
                token,
                amount,
            } => self.deposit(*account, *token, *amount)?,
            Operator::DepositOnce {
                account,
                token,
                amount,
                number,
            } => self.deposit_once(*account, *token, *amount, *number)?,
            Operator::Withdraw {
                account,
                token,
                amount,
            } => self.take_out(*account, *token, *amount)?,
            Operator::Freeze { account, frozen } => self.known(*account)?.frozen = *frozen,
            Operator::EnableMarket { market, enabled } => {
                self.listed(market)?.config.enabled = *enabled;
            }
            Operator::EnableToken { token, enabled } => self.enable_token(*token, *enabled)?,
            Operator::SetFees {
                market,
                maker_fee_bips,
                taker_fee_bips,
            } => self.set_fees(market, *maker_fee_bips, *taker_fee_bips)?,
            Operator::AnnounceDeposit {
                account,
                token,
                amount,
            } => self.announce_deposit(*account, *token, *amount)?,
            Operator::ConfirmDeposit {
                account,
                token,
                amount,
            } => self.confirm_deposit(*account, *token, *amount)?,
            Operator::SettleWithdrawals => self.settle_withdrawals()?,
            Operator::ApproveHash { account, hash } => {
                self.known(*account)?;
                if self.approved.len() >= self.config.limits.approved_hashes_max as usize {
                    return invalid("too many approved hashes were not used yet");
                }
                self.approved.insert((*account, *hash));
            }
            Operator::ListToken(token) => self.list_token(token)?,
            Operator::DelistToken { token } => self.delist_token(*token)?,
            Operator::ListMarket(market) => self.list_market(market)?,
            Operator::DelistMarket { market } => self.delist_market(market)?,
            Operator::ListPool(listing) => self.list_pool(listing)?,
            Operator::DelistPool { pool } => self.delist_pool(pool)?,
            Operator::SetPool {
                pool,
                status,
                fee_bips,
                join_fee,
                exit_fee,
            } => self.set_pool(pool, *status, *fee_bips, [*join_fee, *exit_fee])?,
            Operator::JoinPool {
                hash,
                account,
                pool,
                amounts,
            } => self.book_join(*hash, *account, pool, *amounts)?,
            Operator::SetServiceFees(fees) => self.set_service_fees(fees)?,
            Operator::SetAccountOpening(opening) => self.set_account_opening(opening)?,
            Operator::SetPriceBand {
                market,
                band,
                holds,
            } => self.set_price_band(market, *band, *holds)?,
            Operator::SetLimits(limits) => self.set_limits(limits)?,
            Operator::SetDelays(delays) => self.set_delays(*delays)?,
            Operator::SetMode(mode) => self.mode = *mode,
            Operator::InjectFault(fault) => self.inject(*fault)?,
        }
        Ok(account_of(request))
    }

    fn set_fees(&mut self, market: &str, maker: u8, taker: u8) -> Result<(), Refusal> {
        if u64::from(maker.max(taker)) > MAX_FEE_BIPS {
            return invalid("a fee above 63 bips could never be accepted by an order");
        }
        let listed = self.listed(market)?;
        listed.config.maker_fee_bips = maker;
        listed.config.taker_fee_bips = taker;
        Ok(())
    }

    fn set_delays(&mut self, delays: Delays) -> Result<(), Refusal> {
        if delays.late_failures_permille > 1_000 {
            return invalid("late_failures_permille is above 1000");
        }
        if delays.seed != self.config.delays.seed {
            self.draw = Random::new(delays.seed);
        }
        self.config.delays = delays;
        Ok(())
    }

    /// Writes an executed request to the log, without API keys and their digests.
    fn write_log(&mut self, request: &Operator) {
        let mut request = request.clone();
        if let Operator::CreateAccount { api_key, .. } = &mut request {
            *api_key = None;
        }
        self.log.push_back(LogEntry {
            number: self.logged,
            at: self.now,
            request,
        });
        self.logged += 1;
        let kept = self.config.limits.log_max as usize;
        while self.log.len() > kept {
            self.log.pop_front();
        }
    }

    pub(crate) fn read_log(
        &self,
        caller: &Caller,
        limit: u64,
        offset: u64,
    ) -> Result<Vec<LogEntry>, Refusal> {
        check_operator(caller)?;
        let most = u64::from(self.config.limits.orders_page_max);
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(self
            .log
            .iter()
            .rev()
            .skip(count(offset))
            .take(count(limit.min(most)))
            .cloned()
            .collect())
    }
}

fn check_operator(caller: &Caller) -> Result<(), Refusal> {
    match caller {
        Caller::Operator => Ok(()),
        Caller::Public | Caller::Account { .. } | Caller::Internal { .. } => Err(Refusal::new(
            Reason::InvalidApiKey,
            "only the operator may send this request",
        )),
    }
}

/// The account of a request.
const fn account_of(request: &Operator) -> Option<AccountId> {
    match request {
        Operator::Deposit { account, .. }
        | Operator::DepositOnce { account, .. }
        | Operator::Withdraw { account, .. }
        | Operator::Freeze { account, .. }
        | Operator::AnnounceDeposit { account, .. }
        | Operator::ConfirmDeposit { account, .. }
        | Operator::ApproveHash { account, .. }
        | Operator::JoinPool { account, .. } => Some(*account),
        Operator::CreateAccount { .. }
        | Operator::EnableMarket { .. }
        | Operator::EnableToken { .. }
        | Operator::SetFees { .. }
        | Operator::SettleWithdrawal { .. }
        | Operator::SettleWithdrawals
        | Operator::ReturnWithdrawal { .. }
        | Operator::ListToken(_)
        | Operator::DelistToken { .. }
        | Operator::ListMarket(_)
        | Operator::DelistMarket { .. }
        | Operator::ListPool(_)
        | Operator::DelistPool { .. }
        | Operator::SetPool { .. }
        | Operator::SetServiceFees(_)
        | Operator::SetAccountOpening(_)
        | Operator::SetPriceBand { .. }
        | Operator::SetLimits(_)
        | Operator::SetDelays(_)
        | Operator::SetMode(_)
        | Operator::InjectFault(_) => None,
    }
}
