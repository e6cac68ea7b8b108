//! Second derivation of profit and loss: plain balances by market and external flows, valued at the reported mids. The
//! report of every market must equal the change of that equity to the last digit, and its components must add up.
//! Simulated worlds and the demo check every status with it.

pub mod trade_flow;
use std::fmt;

use cambist_core::event::Amounts;
use cambist_core::notification::{Fill, Notification, PoolTransactionSettlement, Status};
use cambist_core::pool::PoolBalances;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketId, MarketSpec, PoolSpec, PoolTransactionKind, TokenId};
use cambist_report::Session;

/// The holdings of one market and what they are compared with. Values are in 1/(2 · lot) quote units.
#[derive(Debug)]
struct Books {
    spec: MarketSpec,
    pool: Option<PoolSpec>,
    base: i128,
    quote: i128,
    shares: Amount,
    held: Option<PoolBalances>,
    mid: Option<u64>,
    /// Equity at the first mid, plus external flows since.
    begun: Option<i128>,
    /// Whether the shares are in the equity: a mid and the pool's balances are known.
    valued: bool,
    /// Base and quote of trades before the first mid.
    before: (i128, i128),
    /// Whether shares could not be valued when they changed: their cost is not derived here.
    blind: bool,
}

impl Books {
    fn unit(&self) -> i128 {
        2 * signed(self.spec.lot)
    }

    fn at_mid(&self, base: i128, mid: u64) -> i128 {
        base * signed(self.spec.quote_per_lot_tick) * i128::from(mid)
    }

    fn equity(&self, mid: u64) -> i128 {
        let mut quote = self.quote;
        let mut base = self.base;
        if let (true, Some(pool), Some(held)) = (self.valued, &self.pool, self.held)
            && self.shares > 0
        {
            for (token, reserve) in pool.pooled.into_iter().zip(held.pooled) {
                let due = signed(wide_part(reserve, self.shares, held.supply));
                *(if token == self.spec.base.id {
                    &mut base
                } else {
                    &mut quote
                }) += due;
            }
        }
        self.at_mid(base, mid) + quote * self.unit()
    }

    fn observe_mid(&mut self, mid: u64) {
        self.mid = Some(mid);
        if self.begun.is_none() {
            self.begun = Some(self.equity(mid));
            self.base += self.before.0;
            self.quote += self.before.1;
            self.before = (0, 0);
        }
        self.values();
    }

    /// Adds shares at their value when it is first known.
    fn values(&mut self) {
        if let (false, Some(mid), Some(_), Some(begun)) =
            (self.valued, self.mid, self.held, self.begun)
        {
            let without = self.equity(mid);
            self.valued = true;
            self.begun = Some(begun + self.equity(mid) - without);
        }
    }

    fn trades(&mut self, base: i128, quote: i128) {
        if self.begun.is_some() {
            self.base += base;
            self.quote += quote;
        } else {
            self.before.0 += base;
            self.before.1 += quote;
        }
    }
}

/// What a report of profit and loss must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The holdings in the report are those of the account.
    Held,
    /// The report is present whenever holdings and prices are known.
    Counted,
    /// The parts of the profit or loss sum to the total.
    Parts,
    /// The total is the change in value of the holdings, less external flows.
    Change,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "what profit and loss counts is not what is held",
            Self::Counted => "profit and loss is missing",
            Self::Parts => "the parts of profit and loss do not sum to it",
            Self::Change => "profit and loss is not the change of what is held",
        })
    }
}

/// A violation: the rule, and what was observed.
pub type Broken = (Rule, String);

/// The books of every market of one session.
#[derive(Debug)]
pub struct Profit {
    books: SortedMap<MarketId, Books>,
    held: SortedMap<TokenId, i128>,
    open: bool,
}

impl Profit {
    /// A session on these markets and the pools beside them.
    pub fn begin(specs: &[MarketSpec], pools: &[PoolSpec]) -> Self {
        let of_market = |spec: &MarketSpec| pools.iter().find(|pool| pool.market == spec.id);
        let books = specs.iter().map(|spec| {
            let kept = Books {
                spec: spec.clone(),
                pool: of_market(spec).cloned(),
                base: 0,
                quote: 0,
                shares: 0,
                held: None,
                mid: None,
                begun: None,
                valued: false,
                before: (0, 0),
                blind: false,
            };
            (spec.id, kept)
        });
        Self {
            books: books.collect(),
            held: SortedMap::new(),
            open: false,
        }
    }

    /// The holdings that follow from all notifications, by token.
    pub const fn held(&self) -> &SortedMap<TokenId, i128> {
        &self.held
    }

    /// Checks a notification that the session has handled; returns a violation.
    pub fn observe(&mut self, notification: &Notification, session: &Session) -> Option<Broken> {
        match notification {
            Notification::Ready { opening, .. } => self.opens(opening),
            Notification::DepthAccepted {
                market,
                mid: Some(mid),
                ..
            } => self.observe_mid(*market, Some(*mid)),
            Notification::Filled(fill) => self.fill(fill),
            Notification::PoolTransactionSettled(moved) => self.moved(moved),
            Notification::Adopted { token, amount, .. } => self.explained(*token, *amount),
            Notification::Status(status) => {
                self.reported(status);
                return self.compare(session, status);
            }
            _ => {}
        }
        None
    }

    fn observe_mid(&mut self, market: MarketId, mid: Option<u64>) {
        let open = self.open;
        if let (Some(books), Some(mid)) = (self.books.get_mut(&market), mid) {
            if open {
                books.observe_mid(mid);
            } else {
                books.mid = Some(mid);
            }
        }
    }

    fn opens(&mut self, opening: &Amounts) {
        if std::mem::replace(&mut self.open, true) {
            return;
        }
        let of = |token: TokenId| opening.get(&token).copied().unwrap_or(0);
        self.held = opening
            .iter()
            .map(|(id, units)| (*id, signed(*units)))
            .collect();
        let mut given = Vec::new();
        for books in self.books.values_mut() {
            let token = books.spec.base.id;
            if !given.contains(&token) {
                books.base = signed(of(token));
                given.push(token);
            }
            books.shares = books.pool.as_ref().map_or(0, |pool| of(pool.lp.id));
            if let Some(mid) = books.mid {
                books.observe_mid(mid);
            }
        }
    }

    fn fill(&mut self, fill: &Fill) {
        if !self.open {
            return;
        }
        self.observe_mid(fill.market, fill.mid);
        if let Some(books) = self.books.get_mut(&fill.market) {
            let amounts = (fill.base, fill.quote, fill.fee);
            let (base, quote) = trade_flow::of_trade(books.spec.fee_in, fill.side, amounts);
            books.trades(base, quote);
            let (first, second) = (books.spec.base.id, books.spec.quote.id);
            *self.held.entry(first).or_default() += base;
            *self.held.entry(second).or_default() += quote;
            self.carries(second, quote);
        }
    }

    /// A payment by a market in the base token of another is an external flow there.
    fn carries(&mut self, token: TokenId, amount: i128) {
        let carrier = self.books.values_mut().find(|b| b.spec.base.id == token);
        if let Some(books) = carrier {
            books.base += amount;
            if let (Some(mid), Some(begun)) = (books.mid, books.begun) {
                books.begun = Some(begun + books.at_mid(amount, mid));
            }
        }
    }

    fn moved(&mut self, moved: &PoolTransactionSettlement) {
        if !self.open {
            return;
        }
        self.observe_mid(moved.market, moved.mid);
        let Some(books) = self.books.get_mut(&moved.market) else {
            return;
        };
        books.blind |= !books.valued;
        let way = if moved.kind == PoolTransactionKind::Join {
            -1
        } else {
            1
        };
        let [first, second] = moved.amounts.pooled.map(|amount| way * signed(amount));
        // From the last token.
        let second = second - signed(moved.amounts.fee);
        for (token, amount) in moved.pooled.into_iter().zip([first, second]) {
            *(if token == books.spec.base.id {
                &mut books.base
            } else {
                &mut books.quote
            }) += amount;
            *self.held.entry(token).or_default() += amount;
        }
        books.shares = match moved.kind {
            PoolTransactionKind::Join => books.shares + moved.amounts.lp,
            PoolTransactionKind::Exit => books.shares.saturating_sub(moved.amounts.lp),
        };
        *self.held.entry(moved.lp).or_default() -= way * signed(moved.amounts.lp);
        let quote = books.spec.quote.id;
        let paid = if moved.pooled[0] == quote {
            first
        } else {
            second
        };
        self.carries(quote, paid);
    }

    fn explained(&mut self, token: TokenId, amount: i128) {
        if !self.open {
            return;
        }
        *self.held.entry(token).or_default() += amount;
        self.carries(token, amount);
        let of_pool = |books: &&mut Books| books.pool.as_ref().is_some_and(|p| p.lp.id == token);
        if let Some(books) = self.books.values_mut().find(of_pool) {
            let then = books.mid.map(|mid| books.equity(mid));
            books.shares = books.shares.saturating_add_signed(amount);
            let now = books.mid.map(|mid| books.equity(mid));
            books.begun = books
                .begun
                .map(|begun| begun + now.unwrap_or(0) - then.unwrap_or(0));
        }
    }

    fn reported(&mut self, status: &Status) {
        for reported in &status.pools {
            if let (Some(books), Some(held)) =
                (self.books.get_mut(&reported.market), reported.balances)
                && held.supply > 0
            {
                books.held = Some(held);
                books.values();
            }
        }
    }

    fn compare(&self, session: &Session, status: &Status) -> Option<Broken> {
        // The books of a later run are not comparable before its recovery is complete.
        if !self.open || !status.ready {
            return None;
        }
        let of = |token: &TokenId| status.ledger.get(token).copied().map_or(0, signed);
        let other = self.held.iter().find(|(token, held)| of(token) != **held);
        if let Some((token, held)) = other {
            let detail = format!(
                "token {}: {held} reported, {} in the ledger",
                token.0,
                of(token)
            );
            return Some((Rule::Held, detail));
        }
        self.books.values().find_map(|books| {
            let market = books.spec.id;
            let Some(made) = session.pnl_of(market) else {
                let detail = format!("market {} cannot be counted", market.0);
                return Some((Rule::Counted, detail));
            };
            if made.sum() != Some(made.total) {
                return Some((Rule::Parts, format!("{made:?}")));
            }
            let (mid, begun) = books.mid.zip(books.begun)?;
            let gained = books.equity(mid) - begun;
            let (reported, parts) = (made.total.numerator, i128::from(made.total.denominator));
            let equal = gained.checked_mul(parts) == reported.checked_mul(books.unit());
            (!equal && !books.blind).then(|| {
                let detail = format!(
                    "market {}: the equity changed by {gained}/{}, reported is {reported}/{parts}",
                    market.0,
                    books.unit()
                );
                (Rule::Change, detail)
            })
        })
    }
}

fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

/// `⌊a · b / c⌋` by doubling: slow, and independent of the checked code.
fn wide_part(a: Amount, b: Amount, c: Amount) -> Amount {
    let (mut whole, mut rest) = (0_u128, 0_u128);
    for bit in (0..128).rev() {
        // whole and rest are those of a · (b >> bit) / c.
        whole = whole.saturating_mul(2);
        rest *= 2;
        if (b >> bit) & 1 == 1 {
            whole = whole.saturating_add(a / c);
            rest += a % c;
        }
        whole = whole.saturating_add(rest / c);
        rest %= c;
    }
    whole
}
