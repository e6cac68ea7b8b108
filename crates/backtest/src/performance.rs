//! Actual profit and loss, from the exchange's own fills and the recorded mids of those moments.

use cambist_core::event::Amounts;
use cambist_core::notification::{Fill, Notification};
use cambist_core::order::ClientOrderId;
use cambist_core::{Amount, MarketSpec, StrategyId, Time, VenueTime};
use cambist_market_data::Timestamp;
use cambist_report::Session;

use crate::exchange::{Execution, SimulatedExchange};

/// Equity over time, in quote units.
#[derive(Clone, Copy, Debug, Default)]
pub struct EquityCurve {
    pub opening: Option<Amount>,
    pub closing: Option<Amount>,
    pub highest: Amount,
    /// Largest fall below the highest earlier value.
    pub drawdown_max: Amount,
    pub drawdown_at: Option<Timestamp>,
}

impl EquityCurve {
    fn add(&mut self, time: Timestamp, equity: Amount) {
        self.opening.get_or_insert(equity);
        self.closing = Some(equity);
        self.highest = self.highest.max(equity);
        let drawdown = self.highest - equity;
        if drawdown > self.drawdown_max {
            (self.drawdown_max, self.drawdown_at) = (drawdown, Some(time));
        }
    }
}

/// The accounts of what actually happened.
pub struct Performance {
    /// The same accounting as for the engine, fed with the exchange's fills.
    pub session: Session,
    pub equity: EquityCurve,
    pub maker_fills: u64,
    pub taker_fills: u64,
}

/// The mid of a recorded market in half ticks.
pub fn mid(exchange: &SimulatedExchange, market: usize) -> Option<u64> {
    let (bid, ask) = exchange.touch(market)?;
    bid.0.checked_add(ask.0)
}

impl Performance {
    pub fn new(markets: &[MarketSpec], opening: &Amounts) -> Self {
        let mut session = Session::new(markets);
        let ready = Notification::Ready {
            opening: opening.clone(),
            recovered: 0,
        };
        session.observe(Time(0), &ready);
        Self {
            session,
            equity: EquityCurve::default(),
            maker_fills: 0,
            taker_fills: 0,
        }
    }

    /// Sets the mid of a market.
    pub fn mark(&mut self, now: Time, spec: &MarketSpec, mid: Option<u64>) {
        let notification = Notification::DepthAccepted {
            market: spec.id,
            mid,
            timestamp: VenueTime(0),
        };
        self.session.observe(now, &notification);
    }

    /// Books a fill.
    pub fn traded(&mut self, now: Time, execution: &Execution, mid: Option<u64>) {
        match execution.liquidity {
            cambist_fill_model::Liquidity::Maker => self.maker_fills += 1,
            cambist_fill_model::Liquidity::Taker => self.taker_fills += 1,
        }
        let fill = Fill {
            order: ClientOrderId {
                instance: 0,
                strategy: StrategyId(0),
                number: execution.order,
            },
            market: execution.market,
            side: execution.side,
            base: execution.traded.base,
            quote: execution.traded.quote,
            fee: execution.traded.fee,
            mid,
        };
        self.session.observe(now, &Notification::Filled(fill));
    }

    /// Value of all holdings at the mids, in quote units; `None` while a mid is missing.
    pub fn equity(exchange: &SimulatedExchange, markets: &[MarketSpec]) -> Option<Amount> {
        let mut equity: Amount = 0;
        let mut counted = Vec::new();
        for (index, spec) in markets.iter().enumerate() {
            for (token, is_base) in [(spec.quote.id, false), (spec.base.id, true)] {
                if counted.contains(&token) {
                    continue;
                }
                counted.push(token);
                let held = exchange.account().total(token);
                let value = if is_base {
                    let mid = Amount::from(mid(exchange, index)?);
                    let scaled = held.checked_mul(spec.quote_per_lot_tick)?;
                    scaled.checked_mul(mid)? / (2 * spec.lot)
                } else {
                    held
                };
                equity = equity.checked_add(value)?;
            }
        }
        Some(equity)
    }

    /// Adds a point to the equity curve.
    pub fn sample(&mut self, time: Timestamp, equity: Option<Amount>) {
        if let Some(equity) = equity {
            self.equity.add(time, equity);
        }
    }
}
