//! One market on an exchange of its own with its simulated traders: market data without a recording.

use cambist_core::{MarketSpec, TokenSpec, VenueTime};

use super::{Agents, AgentsConfig};
use crate::account::AccountId;
use crate::config::{Compat, Limits, MarketConfig, TokenConfig, TokenKind, VenueConfig};
use crate::request::Caller;
use crate::response::{DepthView, Refusal};
use crate::venue::Venue;

/// Accounts of traders are numbered from here.
const FIRST_TRADER: u32 = 1_000;

/// An exchange that lists one market, and who trades there.
#[derive(Debug)]
pub struct TradedMarket {
    market: String,
    venue: Venue,
    agents: Vec<Agents>,
    now: VenueTime,
}

impl TradedMarket {
    /// Opens the exchange at a time, with accounts for these traders. There are no pools, whatever they state.
    ///
    /// # Errors
    ///
    /// The exchange refuses the market or an account of the traders.
    pub fn open(
        spec: &MarketSpec,
        traders: impl IntoIterator<Item = AgentsConfig>,
        now: VenueTime,
    ) -> Result<Self, String> {
        let mut venue = Venue::new(config(spec)).map_err(|error| error.to_string())?;
        let mut agents = Vec::new();
        let mut first = FIRST_TRADER;
        for traders in traders {
            let config = AgentsConfig {
                pool: None,
                ..traders
            };
            let accounts: Vec<_> = (first..).take(config.accounts()).map(AccountId).collect();
            first += u32::try_from(accounts.len()).unwrap_or(u32::MAX);
            for request in Agents::setup(&config, &accounts, &venue) {
                let answer = venue.handle(now, &Caller::Operator, &request);
                answer.map_err(|refusal| format!("its traders' accounts: {refusal:?}"))?;
            }
            agents.push(Agents::new(config, &accounts));
        }
        Ok(Self {
            market: spec.name.clone(),
            venue,
            agents,
            now,
        })
    }

    /// The exchange's time.
    pub const fn now(&self) -> VenueTime {
        self.now
    }

    /// Lets traders act until a time.
    pub fn play_until(&mut self, until: VenueTime) {
        while let Some(next) = self
            .agents
            .iter()
            .filter_map(Agents::next_wakeup)
            .min()
            .filter(|next| *next <= until)
        {
            self.now = next.max(self.now);
            self.venue.advance(self.now);
            self.step();
        }
        self.now = until.max(self.now);
        self.venue.advance(self.now);
        self.step();
    }

    /// The depth of the market, at most so many levels a side.
    ///
    /// # Errors
    ///
    /// The exchange refuses the request.
    pub fn depth(&self, levels: u64) -> Result<DepthView, Refusal> {
        self.venue.depth(&self.market, 0, Some(levels))
    }

    fn step(&mut self) {
        for index in 0..self.agents.len() {
            for (caller, request) in self.agents[index].step(self.now, &self.venue) {
                // A refused trader tries again.
                _ = self.venue.handle(self.now, &caller, &request);
            }
        }
    }
}

/// An exchange that lists one market.
fn config(spec: &MarketSpec) -> VenueConfig {
    let token = |token: &TokenSpec, number: u8| TokenConfig {
        spec: token.clone(),
        name: token.symbol.clone(),
        address: [number; 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: token.maximum,
    };
    VenueConfig {
        exchange: [7; 20],
        deposit: [8; 20],
        tokens: vec![token(&spec.base, 1), token(&spec.quote, 2)],
        markets: vec![MarketConfig {
            name: spec.name.clone(),
            base: spec.base.id,
            quote: spec.quote.id,
            price_decimals: spec.price_decimals,
            aggregation_levels: 1,
            enabled: true,
            maker_fee_bips: 0,
            taker_fee_bips: 0,
            price_band: None,
            fee_in: cambist_core::venue::FeeToken::Bought,
        }],
        limits: Limits {
            // The histories of background traders are not used.
            internal_history_orders_max: 10,
            ..Limits::default()
        },
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10),
        compat: Compat::Both,
        ..VenueConfig::default()
    }
}
