//! What is signed at all: the account, its markets with price bounds, its pools, fees and times of validity. Pure; what
//! was signed before is judged in [`crate::usage`].

use cambist_core::math::compare_products;
use cambist_signing::eip712::Domain;
use cambist_signing::{Address, CancelRequest, OrderMessage, PoolExitMessage, PoolJoinMessage};

use crate::wire::{Refusal, Word};

/// Everything that a signer compares a request with, from its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Account id.
    pub account_id: u32,
    /// Owner of the account.
    pub owner: Address,
    /// Exchange contract.
    pub exchange: Address,
    /// Chain id.
    pub chain_id: u64,
    /// Base URL that cancels are signed for.
    pub base_url: String,
    /// Longest validity, in seconds from now.
    pub ttl_max_s: u64,
    /// Highest fee of an order, in ten-thousandths.
    pub max_fee_bips: u16,
    /// Length of the window of the second limit of every token, in seconds.
    pub window_s: u64,
    /// Tokens that may be sold, by id.
    pub tokens: Vec<TokenRule>,
    /// Markets.
    pub markets: Vec<MarketRule>,
    /// Pools.
    pub pools: Vec<PoolRule>,
}

/// Limits of what is signed away of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRule {
    /// Token id.
    pub id: u16,
    /// Its symbol, for messages.
    pub symbol: String,
    /// Its decimals, for messages.
    pub decimals: u8,
    /// Most that signatures that have not expired may sell together, in base units.
    pub unexpired_max: u128,
    /// Most that all signatures within the window may sell together, in base units.
    pub window_max: u128,
}

/// Price bounds of a market.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarketRule {
    /// Its name, for messages.
    pub name: String,
    /// Base token.
    pub base: u16,
    /// Quote token.
    pub quote: u16,
    /// Lowest price of a sale of the base token.
    pub sell_min: Ratio,
    /// Highest price of a purchase of the base token.
    pub buy_max: Ratio,
}

/// A pool, and what its shares are worth at least and at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRule {
    /// Name of the contract, part of what is signed.
    pub name: String,
    /// Address of the contract.
    pub address: Address,
    /// Both tokens, in the pool's order.
    pub tokens: [u16; 2],
    /// Token of its shares.
    pub share: u16,
    /// Least that an exit must bring of each token for a share.
    pub exit_min: [Ratio; 2],
    /// Most that a join may offer of each token for a share.
    pub join_max: [Ratio; 2],
    /// Highest fee of a join or an exit, in base units of the second token.
    pub fee_max: u128,
}

/// A price as a fraction of base units: `units` of one token for `per` of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Base units of the token that the price is in.
    pub units: u128,
    /// Base units of the token that it is a price of; never 0.
    pub per: u128,
    /// As written in the file, for messages.
    pub text: String,
}

impl Ratio {
    /// Whether `units` for `per` is less than this.
    fn exceeds(&self, units: u128, per: u128) -> bool {
        compare_products(units, self.per, self.units, per).is_lt()
    }

    /// Whether `units` for `per` is more than this.
    fn is_below(&self, units: u128, per: u128) -> bool {
        compare_products(units, self.per, self.units, per).is_gt()
    }
}

/// What a signature gives away at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outflow {
    /// Token id.
    pub token: u16,
    /// Amount in base units.
    pub amount: u128,
}

fn refuse<T>(word: Word, text: impl Into<String>) -> Result<T, Refusal> {
    let text = text.into();
    Err(Refusal { word, text })
}

impl Rules {
    /// The limits of a token.
    pub fn token(&self, id: u16) -> Option<&TokenRule> {
        self.tokens.iter().find(|token| token.id == id)
    }

    /// Judges an order at `now_s`, and returns what it sells.
    ///
    /// # Errors
    /// The first rule that refuses it.
    pub fn order(&self, order: &OrderMessage, now_s: u64) -> Result<[Outflow; 1], Refusal> {
        if (order.exchange, order.account_id) != (self.exchange, self.account_id) {
            return refuse(
                Word::Account,
                format!(
                    "an order of account {} at {}; account.account_id = {} at {}",
                    order.account_id, order.exchange, self.account_id, self.exchange
                ),
            );
        }
        if order.taker != Address::ZERO {
            return refuse(Word::Taker, "the order names a counterparty");
        }
        if order.sell_amount == 0 || order.buy_amount == 0 {
            return refuse(Word::Amount, "an amount of the order is 0");
        }
        if order.max_fee_bips > self.max_fee_bips {
            return refuse(
                Word::Fee,
                format!(
                    "a fee of {} ten-thousandths; limits.max_fee_bips = {}",
                    order.max_fee_bips, self.max_fee_bips
                ),
            );
        }
        self.ttl(order.valid_until, now_s)?;
        self.price(order)?;
        Ok([Outflow {
            token: order.sell_token,
            amount: order.sell_amount,
        }])
    }

    fn price(&self, order: &OrderMessage) -> Result<(), Refusal> {
        let pair = (order.sell_token, order.buy_token);
        for market in &self.markets {
            if pair == (market.base, market.quote) {
                if market.sell_min.exceeds(order.buy_amount, order.sell_amount) {
                    return refuse(
                        Word::Price,
                        format!(
                            "{} sold for less than market.sell_price_min = {}",
                            market.name, market.sell_min.text
                        ),
                    );
                }
                return Ok(());
            }
            if pair == (market.quote, market.base) {
                if market.buy_max.is_below(order.sell_amount, order.buy_amount) {
                    return refuse(
                        Word::Price,
                        format!(
                            "{} bought for more than market.buy_price_max = {}",
                            market.name, market.buy_max.text
                        ),
                    );
                }
                return Ok(());
            }
        }
        refuse(
            Word::Market,
            format!(
                "token {} for token {} is no market of the file",
                pair.0, pair.1
            ),
        )
    }

    /// Judges a join, and returns the domain that it signs and what it offers at most, the fee included.
    ///
    /// # Errors
    /// The first rule that refuses it.
    pub fn join(
        &self,
        address: Address,
        join: &PoolJoinMessage,
        now_s: u64,
    ) -> Result<(Domain, [Outflow; 2]), Refusal> {
        let pool = self.pool(address, join.owner)?;
        let &[first, second] = join.join_amounts.as_slice() else {
            return refuse(Word::Pool, "a join of a pool offers two amounts");
        };
        if join.join_storage_ids.len() != 2 {
            return refuse(Word::Pool, "a join of a pool has two storage ids");
        }
        if first == 0 || second == 0 || join.mint_min_amount == 0 {
            return refuse(Word::Amount, "an amount of the join is 0");
        }
        let fee = join.fee.unwrap_or(0);
        pool.check_fee(fee)?;
        self.ttl(join.valid_until, now_s)?;
        for (offered, most) in [first, second].into_iter().zip(&pool.join_max) {
            if most.is_below(offered, join.mint_min_amount) {
                return refuse(
                    Word::Price,
                    format!(
                        "shares of {} minted for more than pool.join_max = {}",
                        pool.name, most.text
                    ),
                );
            }
        }
        let [base, quote] = pool.tokens;
        let outflows = [
            Outflow {
                token: base,
                amount: first,
            },
            Outflow {
                token: quote,
                amount: second.saturating_add(fee),
            },
        ];
        Ok((self.domain(pool), outflows))
    }

    /// Judges an exit, and returns the domain that it signs and the shares that it burns.
    ///
    /// # Errors
    /// The first rule that refuses it.
    pub fn exit(
        &self,
        address: Address,
        exit: &PoolExitMessage,
        now_s: u64,
    ) -> Result<(Domain, [Outflow; 1]), Refusal> {
        let pool = self.pool(address, exit.owner)?;
        let &[first, second] = exit.exit_min_amounts.as_slice() else {
            return refuse(Word::Pool, "an exit of a pool brings two amounts");
        };
        if exit.burn_amount == 0 {
            return refuse(Word::Amount, "an exit burns no shares");
        }
        pool.check_fee(exit.fee)?;
        self.ttl(exit.valid_until, now_s)?;
        // The least amounts are before the fee, which is taken from the second token.
        let brought = [first, second.saturating_sub(exit.fee)];
        for (brought, least) in brought.into_iter().zip(&pool.exit_min) {
            if least.exceeds(brought, exit.burn_amount) {
                return refuse(
                    Word::Price,
                    format!(
                        "shares of {} burned for less than pool.exit_min = {}",
                        pool.name, least.text
                    ),
                );
            }
        }
        let burned = Outflow {
            token: pool.share,
            amount: exit.burn_amount,
        };
        Ok((self.domain(pool), [burned]))
    }

    /// Judges a cancel. It gives nothing away, so that it has no limit.
    ///
    /// # Errors
    /// It is of another account or venue.
    pub fn cancel(&self, cancel: &CancelRequest) -> Result<(), Refusal> {
        if cancel.account_id != self.account_id {
            return refuse(
                Word::Account,
                format!(
                    "a cancel of account {}; account.account_id = {}",
                    cancel.account_id, self.account_id
                ),
            );
        }
        if cancel.base_url != self.base_url {
            return refuse(
                Word::Account,
                format!(
                    "a cancel at {}; account.base_url = {}",
                    cancel.base_url.escape_debug(),
                    self.base_url
                ),
            );
        }
        Ok(())
    }

    fn pool(&self, address: Address, owner: Address) -> Result<&PoolRule, Refusal> {
        if owner != self.owner {
            return refuse(
                Word::Account,
                format!(
                    "a pool transaction of {owner}; account.owner = {}",
                    self.owner
                ),
            );
        }
        let found = self.pools.iter().find(|pool| pool.address == address);
        found.map_or_else(
            || refuse(Word::Pool, format!("{address} is no pool of the file")),
            Ok,
        )
    }

    fn domain(&self, pool: &PoolRule) -> Domain {
        Domain::pool(self.chain_id, &pool.name, pool.address)
    }

    fn ttl(&self, valid_until: u32, now_s: u64) -> Result<(), Refusal> {
        let valid_until = u64::from(valid_until);
        if valid_until <= now_s {
            return refuse(
                Word::Ttl,
                format!("it expired at {valid_until}, and it is {now_s}"),
            );
        }
        if valid_until - now_s > self.ttl_max_s {
            return refuse(
                Word::Ttl,
                format!(
                    "valid for {} s; limits.ttl_max_s = {}",
                    valid_until - now_s,
                    self.ttl_max_s
                ),
            );
        }
        Ok(())
    }
}

impl PoolRule {
    fn check_fee(&self, fee: u128) -> Result<(), Refusal> {
        if fee > self.fee_max {
            return refuse(
                Word::Fee,
                format!(
                    "a fee of {fee} base units of {}; pool.fee_max = {}",
                    self.name, self.fee_max
                ),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
