//! The last known state, kept for metrics that need two notes and for the status page.

use std::collections::BTreeMap;

use cambist_core::event::{Amounts, TradingState};
use cambist_core::notification::{BooksStatus, Status};
use cambist_core::request::Endpoint;
use cambist_core::{ClientOrderId, MarketId, Side, Time};

use crate::telemetry::connectivity::Connectivity;
use crate::telemetry::page::EquityHistory;
use crate::telemetry::throttle::Throttle;
use crate::telemetry::withheld;
use crate::telemetry::withheld::{Quoting, Reasons};

/// What was heard so far.
#[derive(Debug)]
pub struct LastKnown {
    pub(super) began: Time,
    pub(super) ticked: Option<Time>,
    pub(super) ready: bool,
    pub(super) draining: bool,
    pub(super) level: TradingState,
    /// The level that was announced last.
    pub(super) announced: TradingState,
    pub(super) operator_asked: bool,
    pub(super) opening: Amounts,
    /// When a depth was last taken in, by market.
    pub(super) depth: Vec<Option<Time>>,
    /// Why sides have no quotes, by market.
    pub(super) withheld: Vec<Reasons>,
    /// Sides whose reason was logged, and since when they have had one.
    pub(super) said_withheld: BTreeMap<(MarketId, Side), Time>,
    /// Whether ledger and venue agree.
    pub(super) books: BooksStatus,
    /// The last status and when it was told.
    pub(super) status: Option<(Time, Status)>,
    /// Market and side of orders that have not ended.
    pub(super) orders: BTreeMap<ClientOrderId, (MarketId, Side)>,
    /// An answer whose outcome was not told yet: if no refusal follows, it was a success.
    pub(super) answered: Option<Endpoint>,
    /// Requests that never left, by endpoint.
    pub(super) not_sent: BTreeMap<Endpoint, u32>,
    pub(super) equity_peak: f64,
    pub(super) equity: EquityHistory,
    /// The line that people watch.
    pub(super) line: String,
    pub(super) throttle: Throttle,
    pub(super) reach: Connectivity,
}

impl LastKnown {
    pub(super) fn new(markets: usize, now: Time) -> Self {
        Self {
            began: now,
            ticked: None,
            ready: false,
            draining: false,
            level: TradingState::Active,
            announced: TradingState::Active,
            operator_asked: false,
            opening: Amounts::new(),
            depth: vec![None; markets],
            withheld: vec![[None; 2]; markets],
            said_withheld: BTreeMap::new(),
            books: BooksStatus::default(),
            status: None,
            orders: BTreeMap::new(),
            answered: None,
            not_sent: BTreeMap::new(),
            equity_peak: 0.0,
            equity: EquityHistory::default(),
            line: String::new(),
            throttle: Throttle::default(),
            reach: Connectivity::default(),
        }
    }

    /// The one word of the run state.
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
