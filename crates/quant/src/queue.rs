//! Queue position of a resting order, estimated from trades and depths: the queue models of
//! hftbacktest (`hftbacktest/src/backtest/models/queue.rs`; Rigtorp, "Estimating order queue
//! position").
//!
//! A decrease of the level that no trade explains was cancelled in front of the order or behind it.
//! The risk-averse model attributes it to those behind; the probabilistic models split it by a
//! function of the quantities in front and behind.

use crate::error::{Result, finite, non_negative, positive};

/// How a decrease that no trade explains is split.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Model {
    /// All behind: only trades move an order forward.
    RiskAverse,
    /// Behind with probability `f(b)/(f(b) + f(f))`, `f(x) = x^n`.
    Power(f64),
    /// `f(b)/f(b + f)`, `f(x) = x^n`.
    Power2(f64),
    /// `1 − (f/(f + b))^n`.
    Power3(f64),
    /// `f(b)/(f(b) + f(f))`, `f(x) = ln(1 + x)`.
    Log,
    /// `f(b)/f(b + f)`, `f(x) = ln(1 + x)`.
    Log2,
}

impl Model {
    /// The probability that a decrease is behind, given the quantities in front and behind; 1 if
    /// the formula is not a finite number (nothing to split).
    fn behind(self, front: f64, back: f64) -> f64 {
        let log = |x: f64| libm::log(1.0 + x);
        let probability = match self {
            Self::RiskAverse => 1.0,
            Self::Power(n) => {
                let back = libm::pow(back, n);
                back / (back + libm::pow(front, n))
            }
            Self::Power2(n) => libm::pow(back, n) / libm::pow(back + front, n),
            Self::Power3(n) => 1.0 - libm::pow(front / (front + back), n),
            Self::Log => log(back) / (log(back) + log(front)),
            Self::Log2 => log(back) / log(back + front),
        };
        if probability.is_finite() {
            probability
        } else {
            1.0
        }
    }
}

/// The queue position of one order at one price. Quantities in one unit, whatever it is.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Position {
    model: Model,
    front: f64,
    /// Quantity of the level when last observed.
    level: f64,
    /// Traded since then.
    traded: f64,
}

impl Position {
    /// An order that joins a level of this quantity, own orders excluded.
    pub fn new(model: Model, level: f64) -> Result<Self> {
        match model {
            Model::Power(n) | Model::Power2(n) | Model::Power3(n) => {
                positive("exponent", n)?;
            }
            Model::RiskAverse | Model::Log | Model::Log2 => {}
        }
        let level = non_negative("level quantity", level)?;
        Ok(Self {
            model,
            front: level,
            level,
            traded: 0.0,
        })
    }

    /// The estimated quantity in front. Below 0 after trades that went beyond it.
    pub fn front(&self) -> f64 {
        self.front
    }

    /// Applies a trade at the order's price.
    pub fn trade(&mut self, quantity: f64) -> Result<()> {
        let quantity = non_negative("trade quantity", quantity)?;
        self.front -= quantity;
        self.traded += quantity;
        Ok(())
    }

    /// Sets the quantity that the level now holds, own orders excluded.
    pub fn depth(&mut self, level: f64) -> Result<()> {
        let level = non_negative("level quantity", level)?;
        let before = core::mem::replace(&mut self.level, level);
        let cancelled = before - level - core::mem::replace(&mut self.traded, 0.0);
        if self.model == Model::RiskAverse || cancelled < 0.0 {
            self.front = self.front.min(level);
            return Ok(());
        }
        let back = before - self.front;
        let behind = self.model.behind(self.front, back);
        let in_front = (1.0 - behind) * cancelled;
        let too_many = (back - behind * cancelled).min(0.0);
        self.front = (self.front - in_front + too_many).min(level);
        Ok(())
    }

    /// Removes the part of the last trade that filled one of our orders in front of this one: that
    /// part did not reach the orders in between.
    pub fn give_back(&mut self, quantity: f64) -> Result<()> {
        self.front += non_negative("trade quantity", quantity)?;
        Ok(())
    }

    /// Returns the quantity that trades have filled beyond what was in front, in whole lots
    /// (rounded, halves away from zero). If it is a lot or more, nothing is left in front.
    pub fn take_filled(&mut self, lot: f64) -> Result<f64> {
        let lot = positive("lot", lot)?;
        let lots = libm::round(finite("front", -self.front)? / lot);
        if lots <= 0.0 {
            return Ok(0.0);
        }
        self.front = 0.0;
        Ok(lots)
    }

    /// Whether trades have gone far enough beyond what was in front to fill at least one lot of the
    /// order: `round(−front/lot) > 0`, halves away from zero.
    pub fn is_filled(&self, lot: f64) -> Result<bool> {
        let lot = positive("lot", lot)?;
        Ok(libm::round(finite("front", -self.front)? / lot) > 0.0)
    }
}

/// A resting order's side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// A buy order.
    Bid,
    /// A sell order.
    Ask,
}

/// Whether an order fills without regard to its queue: the opposite side of the market has reached
/// its price.
///
/// hftbacktest's exchange without partial fills: a bid fills when its price is at or above the best
/// ask. Prices are ticks.
pub fn is_crossed(side: Side, price: i64, best_other: i64) -> bool {
    match side {
        Side::Bid => price >= best_other,
        Side::Ask => price <= best_other,
    }
}

/// Whether a trade at a price fills an order without regard to its queue: it went through the price.
/// A trade at the price itself only moves the queue ([`Position::trade`]).
pub fn is_traded_through(side: Side, price: i64, traded: i64) -> bool {
    match side {
        Side::Bid => traded < price,
        Side::Ask => traded > price,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    const MODELS: [Model; 6] = [
        Model::RiskAverse,
        Model::Power(2.0),
        Model::Power2(3.0),
        Model::Power3(2.0),
        Model::Log,
        Model::Log2,
    ];

    #[test]
    fn trades_move_all_models_alike_and_cancels_do_not() {
        for model in MODELS {
            let mut place = Position::new(model, 50.0).unwrap();
            place.trade(10.0).unwrap();
            place.depth(40.0).unwrap();
            assert!((place.front() - 40.0).abs() < 1e-12, "{model:?}");
            // Thirty are added behind the order; then twenty of seventy are removed without a
            // trade.
            place.depth(70.0).unwrap();
            place.depth(50.0).unwrap();
            let front = place.front();
            if model == Model::RiskAverse {
                assert!((front - 40.0).abs() < 1e-12);
            } else {
                assert!(front < 40.0 && front > 20.0, "{model:?} {front}");
            }
            place.depth(5.0).unwrap();
            assert!(place.front() <= 5.0);
        }
    }

    #[test]
    fn an_order_fills_half_a_lot_beyond_its_front() {
        let mut place = Position::new(Model::Log, 10.0).unwrap();
        place.trade(10.4).unwrap();
        assert!(!place.is_filled(1.0).unwrap());
        place.trade(0.1).unwrap();
        assert!(place.is_filled(1.0).unwrap());
        assert!(!place.is_filled(10.0).unwrap());
    }

    #[test]
    fn a_filled_quantity_is_returned_once() {
        let mut place = Position::new(Model::RiskAverse, 10.0).unwrap();
        place.trade(10.4).unwrap();
        assert!((place.take_filled(1.0).unwrap()).abs() < 1e-12);
        place.trade(2.2).unwrap();
        assert!((place.take_filled(1.0).unwrap() - 3.0).abs() < 1e-12);
        assert!((place.take_filled(1.0).unwrap()).abs() < 1e-12);
        place.trade(1.0).unwrap();
        assert!((place.take_filled(0.5).unwrap() - 2.0).abs() < 1e-12);
        assert!(place.take_filled(0.0).is_err());
    }

    #[test]
    fn quantity_filled_by_an_own_order_in_front_does_not_reach_orders_behind() {
        // Ten of others, five of ours, five of others, ours: seventeen are traded.
        let mut place = Position::new(Model::Log, 15.0).unwrap();
        place.trade(17.0).unwrap();
        place.give_back(5.0).unwrap();
        assert!((place.front() - 3.0).abs() < 1e-12);
        // The level fell by the traded quantity; nothing was cancelled.
        place.depth(0.0).unwrap();
        assert!(place.give_back(-1.0).is_err());
    }

    #[test]
    fn an_empty_level_has_nothing_to_share() {
        for model in MODELS {
            let mut place = Position::new(model, 0.0).unwrap();
            place.depth(0.0).unwrap();
            assert!((place.front()).abs() < 1e-12, "{model:?}");
        }
    }

    #[test]
    fn orders_fill_when_their_price_is_reached() {
        assert!(is_crossed(Side::Bid, 100, 100) && !is_crossed(Side::Bid, 99, 100));
        assert!(is_crossed(Side::Ask, 100, 100) && !is_crossed(Side::Ask, 101, 100));
        assert!(is_traded_through(Side::Bid, 100, 99) && !is_traded_through(Side::Bid, 100, 100));
        assert!(is_traded_through(Side::Ask, 100, 101) && !is_traded_through(Side::Ask, 100, 100));
    }

    #[test]
    fn bad_input_is_refused() {
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            assert!(Position::new(Model::Log, bad).is_err());
            assert!(Position::new(Model::Power(bad), 1.0).is_err());
            let mut place = Position::new(Model::Log, 1.0).unwrap();
            assert!(place.trade(bad).is_err() && place.depth(bad).is_err());
            assert!(place.is_filled(bad).is_err());
            assert_eq!(place, Position::new(Model::Log, 1.0).unwrap());
        }
    }
}
