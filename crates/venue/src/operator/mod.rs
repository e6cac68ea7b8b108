//! What the operator may do: accounts, funds, freezing, opening and closing, fees.

mod wishes;

pub use wishes::{LogEntry, Operator};

use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, Reason, TokenId};

use crate::account::{Account, AccountId, Address, ApiKey, PublicKey};
use crate::checks::MAX_FEE_BIPS;
use crate::request::Caller;
use crate::response::Refusal;
use crate::venue::{Market, Venue};

fn invalid<T>(detail: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Reason::InvalidArgument, detail))
}

impl Venue {
    pub(crate) fn operate(
        &mut self,
        caller: &Caller,
        wish: &Operator,
    ) -> Result<Option<AccountId>, Refusal> {
        match caller {
            Caller::Operator => {}
            Caller::Public | Caller::Account { .. } | Caller::Internal { .. } => {
                return Err(Refusal::new(
                    Reason::InvalidApiKey,
                    "only the operator may do this",
                ));
            }
        }
        match wish {
            Operator::CreateAccount {
                id,
                owner,
                public_key,
                api_key,
                internal,
            } => self
                .create_account(*id, *owner, *public_key, api_key.as_ref(), *internal)
                .map(Some),
            Operator::Deposit {
                account,
                token,
                amount,
            } => self
                .deposit(*account, *token, *amount)
                .map(|()| Some(*account)),
            Operator::Withdraw {
                account,
                token,
                amount,
            } => self
                .withdraw(*account, *token, *amount)
                .map(|()| Some(*account)),
            Operator::Freeze { account, frozen } => {
                self.known(*account)?.frozen = *frozen;
                Ok(Some(*account))
            }
            Operator::EnableMarket { market, enabled } => {
                self.listed(market)?.config.enabled = *enabled;
                Ok(None)
            }
            Operator::EnableToken { token, enabled } => match self.tokens.get_mut(token) {
                Some(listed) => {
                    listed.spec.enabled = *enabled;
                    Ok(None)
                }
                None => unlisted(*token),
            },
            Operator::SetFees {
                market,
                maker_fee_bips,
                taker_fee_bips,
            } => {
                if u64::from(*maker_fee_bips.max(taker_fee_bips)) > MAX_FEE_BIPS {
                    return invalid("a fee above 63 bips could never be accepted by an order");
                }
                let listed = self.listed(market)?;
                listed.config.maker_fee_bips = *maker_fee_bips;
                listed.config.taker_fee_bips = *taker_fee_bips;
                Ok(None)
            }
            Operator::AnnounceDeposit { .. }
            | Operator::ConfirmDeposit { .. }
            | Operator::SettleWithdrawal { .. }
            | Operator::SettleWithdrawals
            | Operator::ReturnWithdrawal { .. }
            | Operator::ApproveHash { .. }
            | Operator::ListToken(_)
            | Operator::DelistToken { .. }
            | Operator::ListMarket(_)
            | Operator::DelistMarket { .. }
            | Operator::ListPool(_)
            | Operator::DelistPool { .. }
            | Operator::SetPool { .. }
            | Operator::JoinPool { .. }
            | Operator::SetServiceFees(_)
            | Operator::SetLimits(_)
            | Operator::SetDelays(_)
            | Operator::SetMode(_)
            | Operator::InjectFault(_) => invalid("not available yet"),
        }
    }

    fn create_account(
        &mut self,
        id: Option<AccountId>,
        owner: Address,
        public_key: PublicKey,
        api_key: Option<&ApiKey>,
        internal: bool,
    ) -> Result<AccountId, Refusal> {
        let highest = self.accounts.last_key_value().map(|(id, _)| *id);
        let next = highest
            .map_or(Some(0), |highest| highest.0.checked_add(1))
            .map(|next| AccountId(next.max(self.config.first_account.0)));
        let Some(id) = id.or(next) else {
            return invalid("no account number is left");
        };
        if owner == [0; 20] || self.owners.contains_key(&owner) {
            return invalid("the owner is zero or has an account");
        }
        if self.accounts.contains_key(&id) {
            return invalid(format!("account {} exists", id.0));
        }
        let mut account = Account::new(id, owner);
        account.public_key = public_key;
        account.internal = internal;
        self.accounts.insert(id, account);
        self.owners.insert(owner, id);
        if let Some(key) = api_key
            && let Err(refusal) = self.set_api_key(id, key)
        {
            self.accounts.remove(&id);
            self.owners.remove(&owner);
            return Err(refusal);
        }
        Ok(id)
    }

    /// No token's supply exceeds 96 bits, so that no sum of balances can overflow.
    fn deposit(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Refusal> {
        if !self.tokens.contains_key(&token) {
            return unlisted(token);
        }
        self.known(account)?;
        let supply = self.supply.entry(token).or_default();
        let present = supply.deposited - supply.withdrawn;
        if amount > AMOUNT_MAX || present + amount > AMOUNT_MAX {
            return invalid("the supply of a token is limited to 96 bits");
        }
        let Some(deposited) = supply.deposited.checked_add(amount) else {
            return invalid("more was deposited than can be counted");
        };
        supply.deposited = deposited;
        self.account_mut(account).credit(token, amount);
        Ok(())
    }

    fn withdraw(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Refusal> {
        let holder = self.known(account)?;
        if holder.balance(token).free() < amount {
            return Err(Refusal::new(
                Reason::InsufficientBalance,
                format!("less than the amount is free of token {}", token.0),
            ));
        }
        if amount > 0 {
            holder.take_free(token, amount);
            self.supply.entry(token).or_default().withdrawn += amount;
        }
        Ok(())
    }

    fn known(&mut self, id: AccountId) -> Result<&mut Account, Refusal> {
        self.accounts.get_mut(&id).ok_or_else(|| {
            Refusal::new(
                Reason::UserNotFound,
                format!("account {} does not exist", id.0),
            )
        })
    }

    fn listed(&mut self, name: &str) -> Result<&mut Market, Refusal> {
        self.markets
            .iter_mut()
            .find(|market| market.config.name == name)
            .ok_or_else(|| Refusal::new(Reason::UnsupportedMarket, "the market is not listed"))
    }
}

fn unlisted<T>(token: TokenId) -> Result<T, Refusal> {
    Err(Refusal::new(
        Reason::UnsupportedToken,
        format!("token {} is not listed", token.0),
    ))
}
