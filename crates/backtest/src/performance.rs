//! Actual profit and loss, from the exchange's own fills and the recorded mids of those moments.

use cambist_core::event::Amounts;
use cambist_core::notification::{Fill, Notification};
use cambist_core::order::ClientOrderId;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketSpec, StrategyId, Time, TokenId, VenueTime};
use cambist_market_data::Timestamp;
use cambist_report::{Attribution, Money, Session};

use crate::exchange::{Execution, SimulatedExchange};

/// Equity over time, in quote units.
#[derive(Clone, Copy, Debug, Default)]
pub struct EquityCurve {
    pub highest: Option<Amount>,
    /// Largest fall below the highest earlier value.
    pub drawdown_max: Amount,
    pub drawdown_at: Option<Timestamp>,
}

impl EquityCurve {
    fn add(&mut self, time: Timestamp, equity: Amount) {
        let highest = self.highest.map_or(equity, |highest| highest.max(equity));
        self.highest = Some(highest);
        let drawdown = highest - equity;
        if drawdown > self.drawdown_max {
            (self.drawdown_max, self.drawdown_at) = (drawdown, Some(time));
        }
    }
}

/// A mid in half ticks, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub mid: u64,
    pub at: Timestamp,
}

/// The first and the last mid of a market: profit and loss is the change between them.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    pub first: Mark,
    pub last: Mark,
    /// The lowest and the highest mid at samples and fills, half ticks.
    pub range: (u64, u64),
}

/// The accounts of what actually happened.
pub struct Performance {
    /// The same accounting as for the engine, fed with the exchange's fills.
    pub session: Session,
    /// The same accounting without a fill: the initial balances, held.
    held: Session,
    /// The same accounting with the fees that were taken in quote tokens alone.
    charged_in_quote: Session,
    /// Fees by the token that they were taken in.
    fees: SortedMap<TokenId, Amount>,
    pub equity: EquityCurve,
    /// By market; `None` before its first mid.
    pub marks: Vec<Option<Marks>>,
    pub maker_fills: u64,
    pub taker_fills: u64,
}

/// The mid of a recorded market in half ticks; `None` while a side is empty or the book is crossed.
pub fn mid(exchange: &SimulatedExchange, market: usize) -> Option<u64> {
    let (bid, ask) = exchange.touch(market)?;
    bid.0.checked_add(ask.0)
}

impl Performance {
    pub fn new(markets: &[MarketSpec], opening: &Amounts) -> Self {
        let ready = Notification::Ready {
            opening: opening.clone(),
            recovered: 0,
        };
        let [session, held, charged_in_quote] = std::array::from_fn(|_| {
            let mut session = Session::new(markets);
            session.observe(Time(0), &ready);
            session
        });
        Self {
            session,
            held,
            charged_in_quote,
            fees: SortedMap::new(),
            equity: EquityCurve::default(),
            marks: vec![None; markets.len()],
            maker_fills: 0,
            taker_fills: 0,
        }
    }

    /// Sets the mid of a market, if it has one.
    pub fn mark(&mut self, now: Time, spec: &MarketSpec, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        let marks = &mut self.marks[usize::from(spec.id.0)];
        let first = marks.map_or(mark, |marks| marks.first);
        let (low, high) = marks.map_or((mark.mid, mark.mid), |marks| marks.range);
        *marks = Some(Marks {
            first,
            last: mark,
            range: (low.min(mark.mid), high.max(mark.mid)),
        });
        let notification = Notification::DepthAccepted {
            market: spec.id,
            mid: Some(mark.mid),
            timestamp: VenueTime(0),
        };
        self.session.observe(now, &notification);
        self.held.observe(now, &notification);
        self.charged_in_quote.observe(now, &notification);
    }

    /// The change of value of the initial balances, and the excess of the profit and loss over it, in quote tokens;
    /// `None` if an amount cannot be counted.
    pub fn holding(&self) -> Option<(Money, Money)> {
        let holding = self.held.pnl()?.total;
        let excess = self.session.pnl()?.total.checked_sub(holding)?;
        Some((holding, excess))
    }

    /// Books a fill.
    pub fn traded(
        &mut self,
        now: Time,
        spec: &MarketSpec,
        execution: &Execution,
        mid: Option<u64>,
    ) {
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
        let in_base = spec.fee_in.is_base(fill.side);
        let token = if in_base { &spec.base } else { &spec.quote };
        let charged = self.fees.entry(token.id).or_default();
        *charged = charged.saturating_add(fill.fee);
        let in_quote = Fill {
            fee: if in_base { 0 } else { fill.fee },
            ..fill.clone()
        };
        let in_quote = Notification::Filled(in_quote);
        self.charged_in_quote.observe(now, &in_quote);
        self.session.observe(now, &Notification::Filled(fill));
    }

    /// Profit and loss of a market, and that of holding its initial balances, in quote tokens; `None` if an amount
    /// cannot be counted.
    pub fn of_market(&self, market: &MarketSpec) -> Option<(Attribution, Money)> {
        let made = self.session.pnl_of(market.id)?;
        Some((made, self.held.pnl_of(market.id)?.total))
    }

    /// Fees by the token that they were taken in: units of it, and their value at the mids of the fills in quote
    /// tokens, negative; the values add up to the fees of the profit and loss.
    pub fn fees(&self, markets: &[MarketSpec]) -> Vec<(TokenId, Amount, Option<Money>)> {
        let value = |token: TokenId| {
            let mut parts = markets.iter().filter_map(|spec| {
                let is_quote = spec.quote.id == token;
                if !is_quote && spec.base.id != token {
                    return None;
                }
                let in_quote = self.charged_in_quote.pnl_of(spec.id).map(|pnl| pnl.fees);
                Some(if is_quote {
                    in_quote
                } else {
                    let all = self.session.pnl_of(spec.id).map(|pnl| pnl.fees);
                    all.zip(in_quote)
                        .and_then(|(all, in_quote)| all.checked_sub(in_quote))
                })
            });
            let first = parts.next()??;
            parts.try_fold(first, |sum, part| sum.checked_add(part?))
        };
        let each = self.fees.iter();
        each.map(|(token, units)| (*token, *units, value(*token)))
            .collect()
    }

    /// Value of the opening balances at the first mid of every market; `None` if one has none.
    pub fn opening(&self, markets: &[MarketSpec], opening: &Amounts) -> Option<Amount> {
        let held = |token| opening.get(&token).copied().unwrap_or_default();
        equity(markets, held, |market| Some(self.marks[market]?.first.mid))
    }

    /// Value of the opening balances at the last mid of every market; `None` if one has none.
    pub fn held_closing(&self, markets: &[MarketSpec], opening: &Amounts) -> Option<Amount> {
        let held = |token| opening.get(&token).copied().unwrap_or_default();
        equity(markets, held, |market| Some(self.marks[market]?.last.mid))
    }

    /// Value of all holdings at the last mid of every market; `None` if one has none.
    pub fn closing(&self, exchange: &SimulatedExchange, markets: &[MarketSpec]) -> Option<Amount> {
        let held = |token| exchange.account().total(token);
        equity(markets, held, |market| Some(self.marks[market]?.last.mid))
    }

    /// A market that never had a mid.
    pub fn without_mid<'a>(&self, markets: &'a [MarketSpec]) -> Option<&'a MarketSpec> {
        let mut each = markets.iter().zip(&self.marks);
        each.find_map(|(spec, marks)| marks.is_none().then_some(spec))
    }

    /// Adds a point to the equity curve.
    pub fn sample(&mut self, time: Timestamp, equity: Option<Amount>) {
        if let Some(equity) = equity {
            self.equity.add(time, equity);
        }
    }
}

/// Value of all holdings at the present mids, in quote units; `None` while a mid is missing.
pub fn present_equity(exchange: &SimulatedExchange, markets: &[MarketSpec]) -> Option<Amount> {
    let held = |token| exchange.account().total(token);
    equity(markets, held, |market| mid(exchange, market))
}

/// Value of initial balances at the present mids, in quote units; `None` while a mid is missing.
pub fn held_equity(
    exchange: &SimulatedExchange,
    markets: &[MarketSpec],
    opening: &Amounts,
) -> Option<Amount> {
    let held = |token| opening.get(&token).copied().unwrap_or_default();
    equity(markets, held, |market| mid(exchange, market))
}

/// Value of holdings at mids, in quote units; `None` if a mid is missing.
fn equity(
    markets: &[MarketSpec],
    held: impl Fn(TokenId) -> Amount,
    mid: impl Fn(usize) -> Option<u64>,
) -> Option<Amount> {
    let mut equity: Amount = 0;
    let mut counted = Vec::new();
    for (index, spec) in markets.iter().enumerate() {
        for (token, is_base) in [(spec.quote.id, false), (spec.base.id, true)] {
            if counted.contains(&token) {
                continue;
            }
            counted.push(token);
            let held = held(token);
            let value = if is_base {
                let scaled = held.checked_mul(spec.quote_per_lot_tick)?;
                scaled.checked_mul(Amount::from(mid(index)?))? / (2 * spec.lot)
            } else {
                held
            };
            equity = equity.checked_add(value)?;
        }
    }
    Some(equity)
}
