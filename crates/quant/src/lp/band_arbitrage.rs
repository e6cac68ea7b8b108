//! A pool that is arbitraged to within its fee of an outside price whenever the profit exceeds a
//! fixed cost: the losses and fee income of its liquidity providers at every price.
//!
//! The simulation of A. Elsts, "CEX/DEX arbitrage, transaction fees, block times, and LP profits"
//! (atiselsts/cex-dex-arbitrage-anatomy, `dex.py`): fees are paid out, not compounded.

use crate::error::{Result, fraction, non_negative, positive, solved};

/// A pool with its losses and earnings so far. Quote, unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pool {
    /// Base in the pool.
    pub reserve_base: f64,
    /// Quote in the pool.
    pub reserve_quote: f64,
    /// Loss versus rebalancing so far.
    pub lvr: f64,
    /// Fees paid out so far.
    pub fees: f64,
    /// Profit of arbitrage so far.
    pub arbitrage: f64,
    /// Fixed costs of arbitrage so far.
    pub fixed_costs: f64,
    fee_factor: f64,
    fixed_cost: f64,
}

impl Pool {
    /// A pool with `quote` of the quote token at a price; `fee` as a fraction of the input,
    /// `fixed_cost` quote for each trade.
    pub fn new(quote: f64, price: f64, fee: f64, fixed_cost: f64) -> Result<Self> {
        let quote = positive("quote reserve", quote)?;
        let base = solved("base reserve", quote / positive("price", price)?)?;
        Ok(Self {
            reserve_base: positive("base reserve", base)?,
            reserve_quote: quote,
            lvr: 0.0,
            fees: 0.0,
            arbitrage: 0.0,
            fixed_costs: 0.0,
            fee_factor: 1.0 / (1.0 - fraction("fee", fee)?),
            fixed_cost: non_negative("fixed cost", fixed_cost)?,
        })
    }

    /// The pool's price, quote for each base.
    pub fn price(&self) -> f64 {
        self.reserve_quote / self.reserve_base
    }

    /// Applies an outside price. Returns whether arbitrage traded: only if its profit after fee and
    /// fixed cost is above 0.
    ///
    /// `dex.py`, `maybe_arbitrage`.
    pub fn outside(&mut self, price: f64) -> Result<bool> {
        let price = positive("outside price", price)?;
        let own = self.price();
        let target = if price > own {
            price / self.fee_factor
        } else {
            price * self.fee_factor
        };
        if (price > own) != (target > own) {
            return Ok(false);
        }
        let liquidity = libm::sqrt(self.reserve_base * self.reserve_quote);
        let root = libm::sqrt(target);
        let base = liquidity / root - self.reserve_base;
        let quote = liquidity * root - self.reserve_quote;
        let paid_in = if base > 0.0 { base * price } else { quote };
        let fee = paid_in * (self.fee_factor - 1.0);
        let lvr = solved("loss", -(base * price + quote))?;
        let profit = lvr - fee - self.fixed_cost;
        if profit <= 0.0 {
            return Ok(false);
        }
        self.reserve_base += base;
        self.reserve_quote += quote;
        self.lvr += lvr;
        self.fees += fee;
        self.arbitrage += profit;
        self.fixed_costs += self.fixed_cost;
        Ok(true)
    }
}
