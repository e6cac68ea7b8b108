//! Transfers and withdrawals: what they would do, and their signed requests.

use anyhow::Context;
use cambist_config::money::Money;
use cambist_core::{Amount, TokenSpec};
use cambist_daemon::adapter::RequestRefusal;
use cambist_daemon::live::account_requests::{AccountRequest, RequestKind};
use cambist_protocol::encode_funds::{sign_transfer, sign_withdrawal};
use cambist_protocol::query::AccountQuery;
use cambist_protocol::wire::{TokenVolume, TransferRequest, WithdrawalRequest};
use cambist_signing::Address;
use cambist_signing::ecdsa::EthKey;

use super::send;
use super::session::{Session, refusal, retry_limited};
use crate::exit::{Exit, Failure};

/// A transfer or a withdrawal that was not signed yet.
pub struct Plan {
    /// Which of both.
    pub kind: RequestKind,
    /// The token.
    pub token: TokenSpec,
    /// Base units.
    pub amount: Amount,
    /// The token of the fee.
    pub fee_token: TokenSpec,
    /// The fee that is listed now, and the highest that is signed.
    pub fee: Amount,
    /// The receiver: an account's owner, or an address of layer 1.
    pub to: Address,
    /// The receiver's account; 0 if it has none.
    pub payee_id: u32,
    /// Whether the transfer opens the receiver's account.
    pub opens_account: bool,
    /// Memo of a transfer; neither signed nor stored.
    pub memo: Option<String>,
    /// Whether a withdrawal is of the fast kind.
    pub fast: bool,
    /// Until when it is accepted, Unix seconds.
    pub valid_until_s: u32,
    /// What the account has of the token, less what is locked.
    pub free: Amount,
}

/// A transfer or a withdrawal as asked for.
pub struct Asked<'a> {
    /// Which of both.
    pub kind: RequestKind,
    /// Symbol or number of the token.
    pub token: &'a str,
    /// Whole tokens.
    pub amount: &'a str,
    /// The receiver; a withdrawal without one goes to the owner.
    pub to: Option<&'a str>,
    /// Memo.
    pub memo: Option<&'a str>,
    /// Fast withdrawal.
    pub fast: bool,
    /// Seconds of validity.
    pub valid_for_s: u64,
}

impl Plan {
    /// Reads everything that the request needs, and refuses what the venue would refuse.
    pub async fn of(session: &Session, asked: &Asked<'_>) -> anyhow::Result<Self> {
        let token = session.token(asked.token)?.clone();
        let amount = units(asked.amount, &token)?;
        let to = match asked.to {
            Some(text) => receiver(text)?,
            None => session.owner.address,
        };
        let list = match asked.kind {
            RequestKind::Withdrawal => &session.info.withdrawal_fees,
            _ => &session.info.transfer_fees,
        };
        let (fee_token, fee) = session.fee(list, &token.symbol)?;
        let mut plan = Self {
            kind: asked.kind,
            amount,
            fee_token: fee_token.clone(),
            fee,
            to,
            payee_id: 0,
            opens_account: false,
            memo: asked.memo.map(str::to_owned),
            fast: asked.fast,
            valid_until_s: Session::valid_until_s(asked.valid_for_s),
            free: session.free(token.id).await?,
            token,
        };
        if plan.kind == RequestKind::Transfer {
            plan.find_payee(session).await?;
        }
        plan.check_funds()?;
        Ok(plan)
    }

    async fn find_payee(&mut self, session: &Session) -> anyhow::Result<()> {
        if self.to == session.owner.address {
            let what = "the receiver is this account's own owner";
            return Err(Failure::new(Exit::CheckFailed, what).into());
        }
        let query = || session.client.account(AccountQuery::Owner(self.to));
        match retry_limited(async || Ok(query().await?)).await {
            Ok(account) => self.payee_id = account.account_id,
            Err(error) if refusal(&error) == Some(RequestRefusal::NoAccount) => {
                self.opens_account = true;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Refuses what the free balance does not cover.
    fn check_funds(&self) -> anyhow::Result<()> {
        let fee = if self.fee_token.id == self.token.id {
            self.fee
        } else {
            0
        };
        if self
            .amount
            .checked_add(fee)
            .is_some_and(|need| need <= self.free)
        {
            return Ok(());
        }
        let what = format!(
            "{} and a fee of {} are more than the {} that are free (the rest is in orders or pending); cancel orders first, with cambist pause or kill --cancel-only",
            self.token.text(self.amount),
            self.fee_token.text(self.fee),
            self.token.text(self.free)
        );
        Err(Failure::new(Exit::CheckFailed, what).into())
    }

    /// A sentence.
    pub fn about(&self) -> String {
        let amount = self.token.text(self.amount);
        let name = self.kind.name();
        let fast = if self.fast { "fast " } else { "" };
        format!("{fast}{name} of {amount} to {}", self.to)
    }

    /// Signs it, with the flows that follow from it. The wallet's key is only used here.
    pub fn sign(
        &self,
        session: &Session,
        storage_id: u32,
        wallet: &EthKey,
    ) -> anyhow::Result<AccountRequest> {
        let volume = |token: &TokenSpec, volume| TokenVolume {
            token: token.id,
            volume,
        };
        let (token, max_fee) = (
            volume(&self.token, self.amount),
            volume(&self.fee_token, self.fee),
        );
        let (account_id, owner) = (session.account.account_id, session.owner);
        let key = session.key.secret(&format!("a {}", self.kind.name()))?;
        let chain = owner.chain_id;
        let made = if self.kind == RequestKind::Withdrawal {
            let wanted = WithdrawalRequest {
                exchange: session.exchange,
                account_id,
                owner: owner.address,
                token,
                max_fee,
                storage_id,
                valid_until: self.valid_until_s,
                min_gas: 0,
                to: self.to,
                extra_data: None,
                fast_withdrawal_mode: self.fast.then_some(true),
                eddsa_signature: None,
                ecdsa_signature: None,
                hash_approved: None,
            };
            sign_withdrawal(&wanted, chain, key, wallet)?
        } else {
            let wanted = TransferRequest {
                exchange: session.exchange,
                payer_id: account_id,
                payer_addr: owner.address,
                payee_id: self.payee_id,
                payee_addr: self.to,
                token,
                max_fee,
                storage_id,
                valid_until: self.valid_until_s,
                eddsa_signature: None,
                ecdsa_signature: None,
                hash_approved: None,
                memo: self.memo.clone(),
            };
            sign_transfer(&wanted, chain, key, wallet)?
        };
        let mut request = AccountRequest::new(self.kind, made.hash.to_string(), self.about());
        request.valid_until_s = self.valid_until_s;
        let flow = |amount: Amount| i128::try_from(amount).context("the amount is too large");
        request.expect(
            self.token.id,
            &self.token.symbol,
            -flow(self.amount)?,
            &self.about(),
        );
        if self.fee > 0 {
            let what = format!("fee of the {}", self.about());
            request.expect(
                self.fee_token.id,
                &self.fee_token.symbol,
                -flow(self.fee)?,
                &what,
            );
        }
        send::signed(&mut request, &made);
        Ok(request)
    }
}

/// A positive amount of whole tokens in base units, exactly.
pub fn units(text: &str, token: &TokenSpec) -> anyhow::Result<Amount> {
    let wrong = |why: String| Failure::new(Exit::Usage, format!("{text:?}: {why}"));
    let money = Money::parse(text)
        .ok_or_else(|| wrong(format!("not an amount of {}, such as 1.5", token.symbol)))?;
    money
        .check_symbol(&token.symbol)
        .map_err(|error| wrong(error.to_string()))?;
    let units = money
        .units(token)
        .map_err(|error| wrong(error.to_string()))?;
    if units == 0 {
        return Err(wrong("the amount is zero".to_owned()).into());
    }
    Ok(units)
}

fn receiver(text: &str) -> anyhow::Result<Address> {
    let wrong = |why: &str| Failure::new(Exit::Usage, format!("{text:?} {why}"));
    let address: Address = text
        .parse()
        .map_err(|_| wrong("is not an address: 0x and 40 hexadecimal digits"))?;
    let is_mixed =
        text.chars().any(char::is_uppercase) && text.chars().skip(2).any(char::is_lowercase);
    if is_mixed && address.to_checksum() != text {
        return Err(
            wrong("is not an address: its checksum (upper and lower case) is wrong").into(),
        );
    }
    if address == Address::ZERO {
        return Err(wrong("is the zero address, from which nothing returns").into());
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_receiver_with_a_wrong_checksum_is_refused() {
        let right = "0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b";
        assert!(receiver(right).is_ok());
        assert!(
            receiver(&right.to_lowercase()).is_ok(),
            "without a checksum"
        );
        for wrong in [
            "0xc07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b",
            "0x0000000000000000000000000000000000000000",
            "0xC07A",
            "vitalik",
        ] {
            assert!(receiver(wrong).is_err(), "{wrong}");
        }
    }
}
