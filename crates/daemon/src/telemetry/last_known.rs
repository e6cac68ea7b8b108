//! The last known state, for metrics that need two notifications and for the status page.

use std::collections::BTreeMap;

use cambist_core::event::{Amounts, TradingState};
use cambist_core::notification::{BooksStatus, Status};
use cambist_core::request::Endpoint;
use cambist_core::{ClientOrderId, MarketId, Side, Time};
use serde_json::Value;

use crate::telemetry::connectivity::Connectivity;
use crate::telemetry::draining::DrainStatus;
use crate::telemetry::outage::Alive;
use crate::telemetry::page::EquityHistory;
use crate::telemetry::parameters::ParameterDifference;
use crate::telemetry::portfolio::PortfolioStatus;
use crate::telemetry::simulated::SimulatedAccount;
use crate::telemetry::throttle::Throttle;
use crate::telemetry::withheld;
use crate::telemetry::withheld::{Quoting, Reasons};

/// The last known state.
#[derive(Debug)]
pub struct LastKnown {
    pub(super) began: Time,
    pub(super) ticked: Option<Time>,
    pub(super) ready: bool,
    pub(super) draining: bool,
    pub(super) level: TradingState,
    /// Why it is restricted.
    pub(super) level_cause: Option<String>,
    /// Why an earlier run restricted it, until the engine has announced that.
    pub(super) stored_cause: Option<String>,
    /// The last announced trading state.
    pub(super) announced: TradingState,
    pub(super) operator_asked: bool,
    pub(super) opening: Amounts,
    /// Time of the last accepted depth, by market.
    pub(super) depth: Vec<Option<Time>>,
    /// Reasons for missing quotes, by market.
    pub(super) withheld: Vec<Reasons>,
    /// Sides whose reason was logged, and since when they have had one.
    pub(super) logged_withheld: BTreeMap<(MarketId, Side), Time>,
    /// Result of the last comparison of ledger and venue.
    pub(super) books: BooksStatus,
    /// When balances were last read.
    pub(super) balances: Option<Time>,
    /// The last status and its time.
    pub(super) status: Option<(Time, Status)>,
    /// Market and side of open orders.
    pub(super) orders: BTreeMap<ClientOrderId, (MarketId, Side)>,
    /// An answer without a reported outcome yet: a success, if no refusal follows.
    pub(super) answered: Option<Endpoint>,
    /// What the venue answered with the last refusal, by endpoint, until it is logged.
    pub(super) refusal_texts: BTreeMap<Endpoint, RefusalText>,
    /// Requests that were not sent, by endpoint.
    pub(super) not_sent: BTreeMap<Endpoint, u32>,
    pub(super) equity_peak: f64,
    pub(super) equity: EquityHistory,
    /// The account of a run on a simulated exchange.
    pub(super) simulated: Option<SimulatedAccount>,
    /// The parameters that operators set.
    pub(super) parameters: Vec<ParameterDifference>,
    /// The nodes of a chain, the polls that they answered with nothing usable, and those that take too long.
    pub(super) nodes: Option<[Value; 3]>,
    /// Answers of processes that were no targets, by strategy.
    pub(super) refused_answers: BTreeMap<u8, RefusedAnswers>,
    /// The limits over all venues of a portfolio.
    pub(super) portfolio: Option<PortfolioStatus>,
    /// The drain in progress, with the last status.
    pub(super) drain: Option<DrainStatus>,
    /// Own orders that may be alive, with the last status.
    pub(super) alive: Option<Alive>,
    /// The status line.
    pub(super) line: String,
    pub(super) throttle: Throttle,
    pub(super) connectivity: Connectivity,
}

/// Answers of the process of a strategy that were no targets.
#[derive(Debug, Default)]
pub(super) struct RefusedAnswers {
    pub(super) count: u64,
    pub(super) last: String,
    /// Reasons that were logged, without numbers.
    kinds: Vec<String>,
}

impl RefusedAnswers {
    /// Most kinds of reasons of a strategy that are logged one by one; a process can invent any number.
    const KINDS_MAX: usize = 8;

    /// Takes an answer in. Returns the number of its kind of reason, which is that of all others from a bound on.
    pub(super) fn add(&mut self, why: &str) -> usize {
        self.count += 1;
        why.clone_into(&mut self.last);
        let kind: String = why
            .chars()
            .filter(|letter| !letter.is_ascii_digit())
            .collect();
        let known = self.kinds.iter().position(|known| *known == kind);
        known.unwrap_or_else(|| {
            if self.kinds.len() < Self::KINDS_MAX {
                self.kinds.push(kind);
                self.kinds.len() - 1
            } else {
                Self::KINDS_MAX
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RefusedAnswers;

    #[test]
    fn reasons_differ_by_more_than_their_numbers_and_are_bounded() {
        let mut answers = RefusedAnswers::default();
        let kinds = ["line 1: no price", "line 22: no price", "line 3: a text"];
        assert_eq!(kinds.map(|why| answers.add(why)), [0, 0, 1]);
        let invented = |letter: char| answers.add(&letter.to_string());
        let invented: Vec<_> = ('a'..='z').map(invented).collect();
        assert_eq!(invented.iter().max(), Some(&RefusedAnswers::KINDS_MAX));
        assert_eq!((answers.count, answers.last.as_str()), (29, "z"));
    }
}

/// A refusal in the venue's words.
#[derive(Clone, Debug)]
pub(super) struct RefusalText {
    pub(super) text: String,
    /// Whether the venue refuses with the numbers of the exchange interface. Elsewhere a reason's number and meaning are
    /// those of the nearest row of its table, which name things that the venue does not have.
    pub(super) is_numbered: bool,
}

impl LastKnown {
    pub(super) fn new(markets: usize, now: Time) -> Self {
        Self {
            began: now,
            ticked: None,
            ready: false,
            draining: false,
            level: TradingState::Active,
            level_cause: None,
            stored_cause: None,
            announced: TradingState::Active,
            operator_asked: false,
            opening: Amounts::new(),
            depth: vec![None; markets],
            withheld: vec![[None; 2]; markets],
            logged_withheld: BTreeMap::new(),
            books: BooksStatus::default(),
            balances: None,
            status: None,
            orders: BTreeMap::new(),
            answered: None,
            refusal_texts: BTreeMap::new(),
            not_sent: BTreeMap::new(),
            equity_peak: 0.0,
            equity: EquityHistory::default(),
            simulated: None,
            parameters: Vec::new(),
            nodes: None,
            refused_answers: BTreeMap::new(),
            portfolio: None,
            drain: None,
            alive: None,
            line: String::new(),
            throttle: Throttle::default(),
            connectivity: Connectivity::default(),
        }
    }

    /// The keyword of the run state.
    pub(super) fn up_state(&self) -> &'static str {
        let quoting = withheld::quoting(&self.withheld);
        match (self.level, self.draining, self.ready) {
            (TradingState::Halted, _, _) => "halted",
            (TradingState::CancelOnly, _, _) | (TradingState::Active, true, _) => "cancel_only",
            _ if quoting == Quoting::BesideInstance => "cancel_only",
            (TradingState::Active, false, true) if self.books.hold.is_some() => "reconciling",
            (TradingState::Active, false, true) => match quoting {
                Quoting::Active | Quoting::BesideInstance => "active",
                Quoting::Paused => "paused",
                Quoting::Not => "not_quoting",
            },
            (TradingState::Active, false, false) => "reconciling",
        }
    }
}
