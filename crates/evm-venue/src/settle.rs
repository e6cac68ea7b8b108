//! What a finalized receipt means, to the unit.
//!
//! Amounts are those that tokens moved out of and into the account (`Transfer`), compared with what the pair wrote of
//! them (`Mint`, `Burn`, `Swap`). A token that keeps a part of a transfer shows here: the pair got less than was paid,
//! or the account less than the pair paid out. Nothing is guessed: what does not add up is an error, and nothing more
//! may be signed until an operator decides.

use cambist_core::order::{OrderReport, UnsignedOrder};
use cambist_core::pool::{
    PoolTransactionAmounts, PoolTransactionReport, PoolTransactionStatus, UnsignedPoolTransaction,
};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{
    Amount, Hash, MarketSpec, OrderStatus, PoolSpec, PoolTransactionKind, Side, TokenId, VenueTime,
};
use cambist_evm::block::Block;
use cambist_evm::call::amount;
use cambist_evm::log::Event;
use cambist_evm::receipt::Receipt;
use cambist_evm::{Address, Malformed, U256};

use crate::chain::Chain;

/// A report, and what the transaction cost in the chain's coin, whether it was executed or reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled<R> {
    /// The report.
    pub report: R,
    /// Gas, in base units of the coin.
    pub gas: Amount,
}

/// Why a receipt cannot be booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsettled {
    /// The receipt is not in this block, or not of this account and what was called.
    #[error("the receipt is not that of the transaction in the finalized block")]
    Receipt,
    /// The market has no pool on this chain.
    #[error("no pool beside the market")]
    Pool,
    /// A token kept a part of a transfer. It must not be traded here.
    #[error("a token keeps a part of what is transferred: its amounts cannot be relied on")]
    FeeOnTransfer,
    /// Other tokens moved than those of the intent, or the pair wrote another event.
    #[error("the logs are not those of the intent")]
    Logs,
    /// A block cannot take more than was signed.
    #[error("the receipt states more gas, or a higher price of it, than was signed")]
    Gas,
    /// Contracts execute no others.
    #[error("the amounts are beyond those that were signed")]
    Amounts,
    /// A log or an amount that cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// What an executed transaction moved.
#[derive(Default)]
struct Moved {
    paid: SortedMap<TokenId, U256>,
    received: SortedMap<TokenId, U256>,
    of_pair: Vec<Event>,
}

impl Moved {
    /// The amount paid and received of a token, taken out.
    fn take(&mut self, token: TokenId) -> Result<(Amount, Amount), Unsettled> {
        let of = |map: &mut SortedMap<TokenId, U256>| map.remove(&token).map_or(Ok(0), amount);
        Ok((of(&mut self.paid)?, of(&mut self.received)?))
    }

    /// Nothing else moved.
    fn is_empty(&self) -> bool {
        self.paid.is_empty() && self.received.is_empty()
    }
}

impl Chain {
    /// The report of a join or an exit. `block` is that of the receipt's number in the finalized chain.
    ///
    /// # Errors
    /// [`Unsettled`].
    pub fn settle_pool_transaction(
        &self,
        intent: &UnsignedPoolTransaction,
        receipt: &Receipt,
        block: &Block,
    ) -> Result<Settled<PoolTransactionReport>, Unsettled> {
        let pool = self.pool(intent.market).ok_or(Unsettled::Pool)?;
        let gas = self.gas_of(receipt, block, self.router)?;
        let amounts = if receipt.succeeded {
            self.pool_amounts(intent, pool, receipt)?
        } else {
            PoolTransactionAmounts::default()
        };
        let report = PoolTransactionReport {
            hash: Hash(receipt.transaction.0),
            kind: intent.kind,
            status: if receipt.succeeded {
                PoolTransactionStatus::Processed
            } else {
                PoolTransactionStatus::Cancelled
            },
            amounts,
            created: created(block, intent.made_at),
        };
        Ok(Settled { report, gas })
    }

    /// The report of a swap.
    ///
    /// # Errors
    /// [`Unsettled`].
    pub fn settle_swap(
        &self,
        intent: &UnsignedOrder,
        market: &MarketSpec,
        receipt: &Receipt,
        block: &Block,
    ) -> Result<Settled<OrderReport>, Unsettled> {
        let pool = self.pool(intent.market).ok_or(Unsettled::Pool)?;
        let gas = self.gas_of(receipt, block, self.router)?;
        let (sold, bought) = if receipt.succeeded {
            self.swap_amounts(intent, pool, receipt)?
        } else {
            (0, 0)
        };
        let of_side = |sold, bought| match intent.side {
            Side::Sell => (sold, bought),
            Side::Buy => (bought, sold),
        };
        let (base_amount, quote_amount) = of_side(intent.sell_amount, intent.buy_amount);
        let (base_filled, quote_filled) = of_side(sold, bought);
        let status = if receipt.succeeded {
            OrderStatus::Processed
        } else if block.timestamp_s > u64::from(intent.accepted_until_s) {
            OrderStatus::Expired
        } else {
            OrderStatus::Failed
        };
        let report = OrderReport {
            hash: Hash(receipt.transaction.0),
            client_id: Some(intent.client_id),
            market: market.name.as_str().into(),
            side: intent.side,
            status,
            base_amount,
            quote_amount,
            base_filled,
            quote_filled,
            // The pool's fee is inside its curve.
            fee: 0,
            valid_until_s: intent.accepted_until_s,
            valid_since: created(block, intent.made_at),
        };
        Ok(Settled { report, gas })
    }

    /// Gas of an approval, and whether the router may take exactly `allowed` since. A reverted one changed nothing.
    ///
    /// # Errors
    /// [`Unsettled`].
    pub fn settle_approval(
        &self,
        token: TokenId,
        allowed: Amount,
        receipt: &Receipt,
        block: &Block,
    ) -> Result<Settled<bool>, Unsettled> {
        let contract = self.contract(token).ok_or(Unsettled::Logs)?;
        let gas = self.gas_of(receipt, block, contract)?;
        let mut approved = false;
        for log in receipt.logs.iter().filter(|log| log.address == contract) {
            let expected = Event::Approval {
                owner: self.account,
                spender: self.router,
                amount: U256::from(allowed),
            };
            match Event::read(log)? {
                Some(event) if event == expected => approved = true,
                Some(Event::Approval { .. } | Event::Transfer { .. }) => {
                    return Err(Unsettled::Logs);
                }
                _ => {}
            }
        }
        if receipt.succeeded != approved {
            return Err(Unsettled::Logs);
        }
        Ok(Settled {
            report: approved,
            gas,
        })
    }

    /// Gas of a burn.
    ///
    /// # Errors
    /// [`Unsettled`].
    pub fn settle_burn(&self, receipt: &Receipt, block: &Block) -> Result<Settled<()>, Unsettled> {
        let gas = self.gas_of(receipt, block, self.account)?;
        if !receipt.succeeded || !receipt.logs.is_empty() {
            return Err(Unsettled::Logs);
        }
        Ok(Settled { report: (), gas })
    }

    fn pool_amounts(
        &self,
        intent: &UnsignedPoolTransaction,
        pool: &PoolSpec,
        receipt: &Receipt,
    ) -> Result<PoolTransactionAmounts, Unsettled> {
        if let Some(range) = self.ranges.get(&pool.market) {
            return self.range_amounts(intent, pool, range, receipt);
        }
        let mut moved = self.moved(pool, receipt)?;
        let (shares_paid, minted) = moved.take(pool.lp.id)?;
        let [first, second] = [moved.take(pool.pooled[0])?, moved.take(pool.pooled[1])?];
        let (paid, received) = ([first.0, second.0], [first.1, second.1]);
        let written = match moved.of_pair.as_slice() {
            [event] if moved.is_empty() => *event,
            _ => return Err(Unsettled::Logs),
        };
        let (pooled, lp) = match (intent.kind, written) {
            (PoolTransactionKind::Join, Event::Mint { sender, amounts })
                if sender == self.router && received == [0, 0] && shares_paid == 0 =>
            {
                // What lay in the pair without an owner counts as paid in, so that more is no fault.
                if below(amounts, paid) {
                    return Err(Unsettled::FeeOnTransfer);
                }
                (paid, minted)
            }
            (PoolTransactionKind::Exit, Event::Burn { amounts, to, .. })
                if to == self.account && paid == [0, 0] && minted == 0 =>
            {
                if amounts != received.map(U256::from) {
                    return Err(Unsettled::FeeOnTransfer);
                }
                (received, shares_paid)
            }
            _ => return Err(Unsettled::Logs),
        };
        Ok(PoolTransactionAmounts { pooled, lp, fee: 0 })
    }

    fn swap_amounts(
        &self,
        intent: &UnsignedOrder,
        pool: &PoolSpec,
        receipt: &Receipt,
    ) -> Result<(Amount, Amount), Unsettled> {
        let mut moved = self.moved(pool, receipt)?;
        let (sold, sold_back) = moved.take(intent.sell_token)?;
        let (bought_back, bought) = moved.take(intent.buy_token)?;
        let [
            Event::Swap {
                sender,
                paid_in,
                paid_out,
                to,
            },
        ] = moved.of_pair.as_slice()
        else {
            return Err(Unsettled::Logs);
        };
        let of_intent = *sender == self.router && *to == self.account;
        if !of_intent || sold_back != 0 || bought_back != 0 || !moved.is_empty() {
            return Err(Unsettled::Logs);
        }
        let place = |token| pool.pooled.iter().position(|of| *of == token);
        let (Some(sold_at), Some(bought_at)) = (place(intent.sell_token), place(intent.buy_token))
        else {
            return Err(Unsettled::Pool);
        };
        if paid_in[sold_at] < U256::from(sold) || paid_out[bought_at] != U256::from(bought) {
            return Err(Unsettled::FeeOnTransfer);
        }
        Ok((sold, bought))
    }

    /// What the logs of known contracts state. Transfers between the account and others than the pair, and events of
    /// other pairs, belong to no intent.
    fn moved(&self, pool: &PoolSpec, receipt: &Receipt) -> Result<Moved, Unsettled> {
        let pair = Address(pool.address);
        let mut moved = Moved::default();
        for log in &receipt.logs {
            let Some(token) = self.token(log.address) else {
                continue;
            };
            match Event::read(log)? {
                Some(Event::Transfer { from, to, amount }) => {
                    // Shares are minted from zero, and given to the pair before they are burned.
                    let others = if from == self.account { to } else { from };
                    let known = others == pair || others == Address::ZERO;
                    let map = match (from == self.account, to == self.account) {
                        (false, false) => continue,
                        // The router takes tokens for the pair only: what goes elsewhere was taken by the token.
                        (true, false) if !known && pool.pooled.contains(&token) => {
                            return Err(Unsettled::FeeOnTransfer);
                        }
                        _ if !known => return Err(Unsettled::Logs),
                        (true, false) => &mut moved.paid,
                        (false, true) => &mut moved.received,
                        (true, true) => return Err(Unsettled::Logs),
                    };
                    let sum = map.entry(token).or_insert(U256::ZERO);
                    *sum = sum.checked_add(amount).ok_or(Malformed::Range)?;
                }
                Some(event @ (Event::Mint { .. } | Event::Burn { .. } | Event::Swap { .. })) => {
                    if log.address != pair {
                        return Err(Unsettled::Logs);
                    }
                    moved.of_pair.push(event);
                }
                Some(Event::Approval { .. } | Event::Sync { .. }) | None => {}
            }
        }
        Ok(moved)
    }

    /// Checks that the receipt is of this account, this call and this block, and what its gas cost.
    fn gas_of(&self, receipt: &Receipt, block: &Block, to: Address) -> Result<Amount, Unsettled> {
        let in_block = receipt.block_number == block.number && receipt.block_hash == block.hash;
        if !in_block || receipt.from != self.account || receipt.to != Some(to) {
            return Err(Unsettled::Receipt);
        }
        Ok(receipt.gas_cost().ok_or(Malformed::Range)?)
    }
}

fn below(amounts: [U256; 2], paid: [Amount; 2]) -> bool {
    amounts
        .into_iter()
        .zip(paid)
        .any(|(amount, paid)| amount < U256::from(paid))
}

/// The venue's time of creation: that of the block, and never before the intent was made. A reorganisation can put a
/// transaction into a block that is older than the newest one was when it was made, and lists are read from there on.
fn created(block: &Block, made_at: VenueTime) -> VenueTime {
    VenueTime::from_s(block.timestamp_s).max(made_at)
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::chain::tests::{ACCOUNT, FIRST, PAIR, ROUTER, SECOND, SHARES, TOKENS, chain, token};
    use crate::finality::tests::block;
    use crate::seal::tests::{exit, join, swap};
    use cambist_core::MarketId;
    use cambist_core::venue::AmountRule;
    use cambist_evm::log::Log;
    use cambist_evm::{Hash32, keccak256};

    const OTHER: Address = Address([0xdd; 20]);

    fn log(contract: Address, signature: &str, indexed: &[Address], numbers: &[u64]) -> Log {
        let kind = Hash32(keccak256(&[signature.as_bytes()]));
        let topic = |address: &Address| {
            let mut topic = [0; 32];
            topic[12..].copy_from_slice(&address.0);
            Hash32(topic)
        };
        let word = |number: &u64| U256::from(*number).to_be_bytes::<32>();
        Log {
            address: contract,
            topics: std::iter::once(kind)
                .chain(indexed.iter().map(topic))
                .collect(),
            data: numbers.iter().flat_map(word).collect(),
            index: 0,
        }
    }

    fn transfer(of: Address, from: Address, to: Address, amount: u64) -> Log {
        log(
            of,
            "Transfer(address,address,uint256)",
            &[from, to],
            &[amount],
        )
    }

    pub(crate) fn receipt(logs: Vec<Log>) -> Receipt {
        Receipt {
            transaction: Hash32([1; 32]),
            block_number: 4,
            block_hash: block(4, 0).hash,
            from: ACCOUNT,
            to: Some(ROUTER),
            created: None,
            succeeded: true,
            gas_used: 100_000,
            gas_price: 9,
            logs,
        }
    }

    pub(crate) fn reverted() -> Receipt {
        Receipt {
            succeeded: false,
            ..receipt(Vec::new())
        }
    }

    pub(crate) fn joined() -> Vec<Log> {
        vec![
            transfer(TOKENS[0], ACCOUNT, PAIR, 99),
            transfer(TOKENS[1], ACCOUNT, PAIR, 300),
            // The protocol's share, before ours.
            transfer(PAIR, Address::ZERO, OTHER, 2),
            transfer(PAIR, Address::ZERO, ACCOUNT, 98),
            log(PAIR, "Sync(uint112,uint112)", &[], &[1_099, 3_301]),
            log(PAIR, "Mint(address,uint256,uint256)", &[ROUTER], &[99, 300]),
        ]
    }

    pub(crate) fn left() -> Vec<Log> {
        vec![
            transfer(PAIR, ACCOUNT, PAIR, 95),
            transfer(PAIR, PAIR, Address::ZERO, 95),
            transfer(TOKENS[0], PAIR, ACCOUNT, 94),
            transfer(TOKENS[1], PAIR, ACCOUNT, 285),
            log(PAIR, "Sync(uint112,uint112)", &[], &[906, 2_716]),
            log(
                PAIR,
                "Burn(address,uint256,uint256,address)",
                &[ROUTER, ACCOUNT],
                &[94, 285],
            ),
        ]
    }

    pub(crate) fn sold() -> Vec<Log> {
        vec![
            transfer(TOKENS[0], ACCOUNT, PAIR, 50),
            transfer(TOKENS[1], PAIR, ACCOUNT, 142),
            log(PAIR, "Sync(uint112,uint112)", &[], &[1_050, 2_859]),
            log(
                PAIR,
                "Swap(address,uint256,uint256,uint256,uint256,address)",
                &[ROUTER, ACCOUNT],
                &[50, 0, 0, 142],
            ),
        ]
    }

    fn market() -> MarketSpec {
        MarketSpec::new(MarketId(0), "T1-T2", token(FIRST), token(SECOND), 2, true).unwrap()
    }

    #[test]
    fn executed_transactions_move_what_their_logs_state() {
        let chain = chain();
        let join = join();
        let settled = |intent: &UnsignedPoolTransaction, logs| {
            chain.settle_pool_transaction(intent, &receipt(logs), &block(4, 0))
        };
        let in_pool = settled(&join, joined()).unwrap();
        assert_eq!(in_pool.gas, 900_000);
        let amounts = PoolTransactionAmounts {
            pooled: [99, 300],
            lp: 98,
            fee: 0,
        };
        assert_eq!(in_pool.report.amounts, amounts);
        assert_eq!(in_pool.report.status, PoolTransactionStatus::Processed);
        assert_eq!(in_pool.report.created, VenueTime::from_s(1_040));
        assert_eq!(in_pool.report.hash, Hash([1; 32]));
        let out = settled(&exit(), left()).unwrap().report;
        assert_eq!((out.amounts.pooled, out.amounts.lp), ([94, 285], 95));
        assert!(exit().allows(&out.amounts));
        let sale = chain.settle_swap(&swap(), &market(), &receipt(sold()), &block(4, 0));
        let sale = sale.unwrap().report;
        assert_eq!(
            (sale.base_filled, sale.quote_filled, sale.fee),
            (50, 142, 0)
        );
        assert_eq!((sale.base_amount, sale.quote_amount), (50, 140));
        assert_eq!(sale.status, OrderStatus::Processed);
        assert!(swap().allows(sale.base_filled, sale.quote_filled, AmountRule::default()));
        // The other way round: what is sold is quote.
        let purchase = UnsignedOrder {
            side: Side::Buy,
            ..swap()
        };
        let flipped = MarketSpec {
            base: token(SECOND),
            quote: token(FIRST),
            ..market()
        };
        let bought = chain.settle_swap(&purchase, &flipped, &receipt(sold()), &block(4, 0));
        let bought = bought.unwrap().report;
        assert_eq!((bought.base_filled, bought.quote_filled), (142, 50));
    }

    /// A reorganisation put it into a block that is older than the newest one was when it was made.
    #[test]
    fn nothing_is_created_before_it_was_made() {
        let late = UnsignedPoolTransaction {
            made_at: VenueTime::from_s(1_045),
            ..join()
        };
        let settled = chain().settle_pool_transaction(&late, &receipt(joined()), &block(4, 0));
        assert_eq!(settled.unwrap().report.created, late.made_at);
    }

    #[test]
    fn a_reverted_transaction_costs_its_gas_and_moves_nothing() {
        let chain = chain();
        let at = |number: u8| {
            let receipt = Receipt {
                block_number: number.into(),
                block_hash: block(number, 0).hash,
                ..reverted()
            };
            (receipt, block(number, 0))
        };
        let (receipt, in_time) = at(5);
        let joined = chain
            .settle_pool_transaction(&join(), &receipt, &in_time)
            .unwrap();
        assert_eq!(joined.report.status, PoolTransactionStatus::Cancelled);
        assert_eq!(joined.report.amounts, PoolTransactionAmounts::default());
        assert_eq!(joined.gas, 900_000);
        let swapped = |number| {
            let (receipt, block) = at(number);
            let settled = chain.settle_swap(&swap(), &market(), &receipt, &block);
            settled.unwrap().report
        };
        // The deadline is second 1,050, which is that of block 5.
        assert_eq!(swapped(5).status, OrderStatus::Failed);
        assert_eq!(swapped(6).status, OrderStatus::Expired);
        let moved = |of: OrderReport| (of.base_filled, of.quote_filled, of.fee);
        assert_eq!(moved(swapped(6)), (0, 0, 0));
    }

    #[test]
    fn what_does_not_add_up_is_not_booked() {
        let chain = chain();
        let of = |intent: &UnsignedPoolTransaction, logs| {
            let settled = chain.settle_pool_transaction(intent, &receipt(logs), &block(4, 0));
            settled.map(|of| of.report.amounts.pooled)
        };
        let with = |mut logs: Vec<Log>, at: usize, log: Log| {
            logs[at] = log;
            logs
        };
        let mint = |numbers: &[u64]| log(PAIR, "Mint(address,uint256,uint256)", &[ROUTER], numbers);
        let gift = with(joined(), 5, mint(&[100, 300]));
        assert_eq!(
            of(&join(), gift),
            Ok([99, 300]),
            "a gift of another account"
        );
        let kept = with(joined(), 5, mint(&[98, 300]));
        assert_eq!(of(&join(), kept), Err(Unsettled::FeeOnTransfer));
        let kept = with(left(), 2, transfer(TOKENS[0], PAIR, ACCOUNT, 93));
        assert_eq!(of(&exit(), kept), Err(Unsettled::FeeOnTransfer));
        let elsewhere = with(left(), 2, transfer(TOKENS[0], PAIR, OTHER, 94));
        assert_eq!(of(&exit(), elsewhere), Err(Unsettled::FeeOnTransfer));
        let taken = [vec![transfer(TOKENS[0], ACCOUNT, OTHER, 1)], joined()].concat();
        assert_eq!(of(&join(), taken), Err(Unsettled::FeeOnTransfer));
        for (intent, logs) in [
            (join(), left()),
            (exit(), joined()),
            (join(), Vec::new()),
            (join(), joined()[..5].to_vec()),
            (join(), [joined(), joined()[5..].to_vec()].concat()),
            // Shares went to another account, or a part came back.
            (
                join(),
                [vec![transfer(PAIR, ACCOUNT, OTHER, 1)], joined()].concat(),
            ),
            (
                join(),
                [vec![transfer(TOKENS[1], PAIR, ACCOUNT, 1)], joined()].concat(),
            ),
            (
                join(),
                with(
                    joined(),
                    5,
                    log(PAIR, "Mint(address,uint256,uint256)", &[OTHER], &[99, 300]),
                ),
            ),
        ] {
            assert_eq!(of(&intent, logs.clone()), Err(Unsettled::Logs), "{logs:?}");
        }
        let many = transfer(PAIR, Address::ZERO, ACCOUNT, 98);
        let mut huge = many.clone();
        huge.data = vec![0xff; 32];
        let huge = with(joined(), 3, huge);
        assert_eq!(
            of(&join(), huge),
            Err(Unsettled::Malformed(Malformed::Range))
        );
        let swapped = |logs| {
            let settled = chain.settle_swap(&swap(), &market(), &receipt(logs), &block(4, 0));
            settled.map(|of| of.report.quote_filled)
        };
        let kept = with(sold(), 1, transfer(TOKENS[1], PAIR, ACCOUNT, 141));
        assert_eq!(swapped(kept), Err(Unsettled::FeeOnTransfer));
        let kept = with(sold(), 0, transfer(TOKENS[0], ACCOUNT, PAIR, 51));
        assert_eq!(swapped(kept), Err(Unsettled::FeeOnTransfer));
        let shares = [sold(), vec![many]].concat();
        assert_eq!(swapped(shares), Err(Unsettled::Logs));
        for back in [
            transfer(TOKENS[0], PAIR, ACCOUNT, 1),
            transfer(TOKENS[1], ACCOUNT, PAIR, 1),
        ] {
            let returned = [sold(), vec![back]].concat();
            assert_eq!(swapped(returned), Err(Unsettled::Logs));
        }
        // A gift is no part of a trade, and no sign of a token that keeps a part.
        let gift = vec![transfer(TOKENS[1], OTHER, ACCOUNT, 1)];
        let given = [gift.clone(), sold()].concat();
        assert_eq!(swapped(given), Err(Unsettled::Logs));
        let given = [gift, left()].concat();
        assert_eq!(of(&exit(), given), Err(Unsettled::Logs));
        assert_eq!(swapped(joined()), Err(Unsettled::Logs));
    }

    /// The pair writes who called it and which address it paid: both have to be those of the call.
    #[test]
    fn events_of_other_calls_are_not_booked() {
        let chain = chain();
        let swap_of = |sender, to| {
            let kind = "Swap(address,uint256,uint256,uint256,uint256,address)";
            let mut logs = sold();
            logs[3] = log(PAIR, kind, &[sender, to], &[50, 0, 0, 142]);
            let settled = chain.settle_swap(&swap(), &market(), &receipt(logs), &block(4, 0));
            settled.map(|of| of.report.quote_filled)
        };
        assert_eq!(swap_of(ROUTER, ACCOUNT), Ok(142));
        assert_eq!(swap_of(OTHER, ACCOUNT), Err(Unsettled::Logs));
        assert_eq!(swap_of(ROUTER, OTHER), Err(Unsettled::Logs));
        let exit_of = |to, more: Option<Log>| {
            let kind = "Burn(address,uint256,uint256,address)";
            let mut logs = left();
            logs[5] = log(PAIR, kind, &[ROUTER, to], &[94, 285]);
            logs.extend(more);
            let settled = chain.settle_pool_transaction(&exit(), &receipt(logs), &block(4, 0));
            settled.map(|of| of.report.amounts.pooled)
        };
        assert_eq!(exit_of(ACCOUNT, None), Ok([94, 285]));
        assert_eq!(exit_of(OTHER, None), Err(Unsettled::Logs));
        for more in [
            transfer(TOKENS[0], ACCOUNT, PAIR, 1),
            transfer(PAIR, Address::ZERO, ACCOUNT, 1),
        ] {
            assert_eq!(exit_of(ACCOUNT, Some(more)), Err(Unsettled::Logs));
        }
    }

    #[test]
    fn a_receipt_of_another_block_account_or_call_is_refused() {
        let chain = chain();
        let good = receipt(joined());
        for bad in [
            Receipt {
                block_hash: block(4, 1).hash,
                ..good.clone()
            },
            Receipt {
                block_number: 5,
                ..good.clone()
            },
            Receipt {
                from: OTHER,
                ..good.clone()
            },
            Receipt {
                to: Some(OTHER),
                ..good.clone()
            },
            Receipt {
                to: None,
                ..good.clone()
            },
        ] {
            let settled = chain.settle_pool_transaction(&join(), &bad, &block(4, 0));
            assert_eq!(settled, Err(Unsettled::Receipt));
        }
        let elsewhere = UnsignedPoolTransaction {
            market: MarketId(1),
            ..join()
        };
        let settled = chain.settle_pool_transaction(&elsewhere, &good, &block(4, 0));
        assert_eq!(settled, Err(Unsettled::Pool));
    }

    #[test]
    fn approvals_are_exact_and_burns_move_nothing() {
        let chain = chain();
        let approval = |amount| {
            log(
                TOKENS[0],
                "Approval(address,address,uint256)",
                &[ACCOUNT, ROUTER],
                &[amount],
            )
        };
        let of = |logs, succeeded| {
            let receipt = Receipt {
                to: Some(TOKENS[0]),
                succeeded,
                ..receipt(logs)
            };
            chain.settle_approval(FIRST, 5, &receipt, &block(4, 0))
        };
        assert!(of(vec![approval(5)], true).is_ok_and(|of| of.report && of.gas == 900_000));
        assert!(of(vec![], false).is_ok_and(|of| !of.report));
        let more = transfer(TOKENS[0], ACCOUNT, OTHER, 1);
        for wrong in [vec![approval(6)], vec![], vec![approval(5), more]] {
            assert_eq!(of(wrong, true), Err(Unsettled::Logs));
        }
        let settled = chain.settle_approval(SHARES, 5, &receipt(vec![]), &block(4, 0));
        assert_eq!(settled, Err(Unsettled::Receipt));
        let burn = Receipt {
            to: Some(ACCOUNT),
            ..receipt(Vec::new())
        };
        let settled = chain.settle_burn(&burn, &block(4, 0)).unwrap();
        assert_eq!(settled.gas, 900_000);
        let failed = Receipt {
            succeeded: false,
            ..burn
        };
        assert!(chain.settle_burn(&failed, &block(4, 0)).is_err());
    }
}
