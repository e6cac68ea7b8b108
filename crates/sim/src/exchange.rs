//! The exchange of a world: the venue, its simulated traders, and our account.

use cambist_core::event::Amounts;
use cambist_core::request::{Amend, RequestId};
use cambist_core::{Amount, Hash, MarketSpec, Price, Reason, Side, Time, VenueTime};
use cambist_venue::agents::{Agents, AgentsConfig, MarketEvent, found};
use cambist_venue::{
    AccountId, ApiKeyDigest, Caller, Executed, KeyEpoch, Operator, PublicKey, Refusal, Request,
    Response, Venue,
};

use crate::config::{WorldConfig, WorldError};
use crate::gateway::Gateway;
use crate::invariants::sending::Broken;
use crate::kraken::LedgerQuestions;
use crate::oracle::{Handled, Oracle};
use crate::sequenced::page;
use crate::workload::pool::FIRST_FOUNDER;
use crate::workload::sweep;

/// Our account.
pub const OWN_ACCOUNT: AccountId = AccountId(7);

/// Instance number of the daemon in every world.
pub(crate) const INSTANCE: u32 = 0x00ca_b157;

/// Owner of our account.
pub(crate) const OWN_OWNER: cambist_venue::Address = [0x77; 20];

/// First account number of simulated traders.
const FIRST_TRADER: u32 = 1_000;

/// The venue with all its accounts.
pub struct Exchange {
    venue: Venue,
    agents: Vec<Agents>,
    origin: VenueTime,
    /// Other rules in front of the matching.
    gateway: Option<Gateway>,
    /// Checks all requests and answers.
    oracle: Oracle,
    /// Trades since the last call of `executed`.
    executed: Vec<Executed>,
    /// Requests of others since they were last taken, for an exchange beside this one.
    others: Option<Vec<Other>>,
}

/// A request of the operator or of a trader, and whether it was granted.
pub(crate) type Other = (VenueTime, Caller, Request, bool);

impl Exchange {
    /// An exchange with our funded account and the simulated traders.
    pub(crate) fn new(
        config: &WorldConfig,
        seed: u64,
        keep_others: bool,
    ) -> Result<Self, WorldError> {
        let mut exchange = Self {
            venue: Venue::new(config.venue.clone())?,
            agents: Vec::new(),
            origin: config.clock.venue_origin,
            gateway: Gateway::of(config),
            oracle: Oracle::new(&config.venue, OWN_ACCOUNT),
            executed: Vec::new(),
            others: keep_others.then(Vec::new),
        };
        exchange.venue.write_executed();
        exchange.open_own(&config.funds)?;
        let pools = config.venue.pools.iter().zip(&config.liquidity);
        for (account, (pool, liquidity)) in (FIRST_FOUNDER..).zip(pools) {
            let Some(amounts) = *liquidity else { continue };
            for request in found(AccountId(account), pool, amounts) {
                exchange.handle(exchange.origin, &Caller::Operator, &request)?;
            }
        }
        let mut first = FIRST_TRADER;
        for population in &config.agents {
            let config = AgentsConfig {
                seed: population.seed ^ seed,
                ..population.clone()
            };
            let accounts: Vec<_> = (first..).take(config.accounts()).map(AccountId).collect();
            first += u32::try_from(accounts.len()).unwrap_or(u32::MAX);
            for request in Agents::setup(&config, &accounts, &exchange.venue) {
                exchange.handle(exchange.origin, &Caller::Operator, &request)?;
            }
            exchange.agents.push(Agents::new(config, &accounts));
        }
        Ok(exchange)
    }

    fn open_own(&mut self, funds: &Amounts) -> Result<(), Refusal> {
        let mut requests = vec![Operator::CreateAccount {
            id: Some(OWN_ACCOUNT),
            owner: OWN_OWNER,
            public_key: PublicKey::default(),
            api_key: Some(ApiKeyDigest([1; 32])),
            internal: false,
        }];
        requests.extend(funds.iter().map(|(token, amount)| Operator::Deposit {
            account: OWN_ACCOUNT,
            token: *token,
            amount: *amount,
        }));
        for request in requests {
            let request = Request::Operator(request);
            self.handle(self.origin, &Caller::Operator, &request)?;
        }
        Ok(())
    }

    /// Handles every request to the venue.
    fn handle(
        &mut self,
        now: VenueTime,
        caller: &Caller,
        request: &Request,
    ) -> Result<Response, Refusal> {
        let answer = self.venue.handle(now, caller, request);
        let is_own = matches!(caller, Caller::Account { account, .. } if *account == OWN_ACCOUNT);
        if let Some(others) = self.others.as_mut().filter(|_| !is_own) {
            others.push((now, *caller, request.clone(), answer.is_ok()));
        }
        let trades = self.venue.take_executed();
        let handled = Handled {
            request,
            answer: &answer,
        };
        self.oracle
            .handle_event(now, Some(&handled), &trades, &mut self.venue);
        self.executed.extend(trades);
        answer
    }

    /// The oracle.
    pub(crate) const fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// Violations that the oracle found since the last call.
    pub(crate) fn found(&mut self) -> Vec<Broken> {
        self.oracle.found()
    }

    /// The venue's clock.
    pub(crate) const fn clock(&self, now: Time) -> VenueTime {
        self.origin.plus_ms(now.as_ms())
    }

    /// The simulated time at which the venue's clock shows `then`.
    pub(crate) const fn when(&self, then: VenueTime) -> Time {
        Time::from_ms(then.ms_since(self.origin))
    }

    /// Handles one of our requests.
    pub(crate) fn ask(&mut self, now: Time, request: &Request) -> Result<Response, Refusal> {
        let caller = Caller::Account {
            account: OWN_ACCOUNT,
            signed: Some(KeyEpoch(0)),
        };
        let now = self.clock(now);
        self.handle(now, &caller, request)
    }

    /// One of the daemon's requests, by the rules that the engine has.
    pub(crate) fn serve(&mut self, now: Time, request: &Request) -> Result<Response, Refusal> {
        let clock = self.clock(now);
        let Some(gateway) = &mut self.gateway else {
            return self.ask(now, request);
        };
        gateway.count(clock, request)?;
        let answer = match request {
            Request::Submit(order) => {
                let admitted = Request::Submit(Box::new(gateway.admit(clock, order)?));
                self.ask(now, &admitted)
            }
            Request::Orders(asked) => self.ask(now, &Request::Orders(page(asked))),
            _ => self.ask(now, request),
        };
        match &mut self.gateway {
            Some(gateway) => gateway.answer(clock, request, answer),
            None => answer,
        }
    }

    /// One of the daemon's amends. `quote` is the order's whole base at its new price.
    pub(crate) fn amend(
        &mut self,
        now: Time,
        from: (u32, RequestId),
        (amend, quote): (&Amend, Amount),
    ) -> Result<(), Refusal> {
        let clock = self.clock(now);
        self.advance(now);
        let rests = self.venue.rests(OWN_ACCOUNT, amend.order);
        let Some(gateway) = self.gateway.as_mut().and_then(Gateway::amends) else {
            return Err(Refusal::new(Reason::InvalidArgument, "no amends here"));
        };
        gateway.admit_amend(clock, from, (amend.order, rests))?;
        let caller = Caller::Account {
            account: OWN_ACCOUNT,
            signed: Some(KeyEpoch(0)),
        };
        let (order, price) = (amend.order, amend.price);
        let answer = self.venue.reprice(&caller, OWN_ACCOUNT, order, price);
        if answer.is_ok() {
            self.oracle
                .handle_move(clock, (order, price), &[], &mut self.venue);
        }
        gateway.answer_amend((order, quote), answer)
    }

    /// The bytes of an order that is about to be sent name this end of rest.
    pub(crate) fn bears_expiry(&mut self, order: Hash, rests_until_s: Option<u32>) {
        if let Some(gateway) = &mut self.gateway {
            gateway.bears_expiry(order, rests_until_s);
        }
    }

    /// A daemon begins: what its questions leave of the budget, in tokens, if that is known.
    pub(crate) fn starts(&mut self, now: Time) -> Option<u32> {
        let now = self.clock(now);
        self.gateway.as_mut()?.starts(now)
    }

    /// What the client asked the ledger beside the last requests.
    pub(crate) fn take_ledger(&mut self) -> LedgerQuestions {
        let gateway = self.gateway.as_mut();
        gateway.map_or_else(LedgerQuestions::default, Gateway::take_ledger)
    }

    /// How many of our requests were refused because there were too many; `None` of a venue without counters.
    pub(crate) fn refused_for_rate(&self) -> Option<u64> {
        self.gateway.as_ref().and_then(Gateway::refused_for_rate)
    }

    /// Since when the counter that refused last had counted.
    pub(crate) fn refused_since(&self) -> VenueTime {
        let gateway = self.gateway.as_ref();
        gateway.map_or(VenueTime(0), Gateway::refused_since)
    }

    /// What is in front of the matching, if anything does.
    pub(crate) const fn gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref()
    }

    /// Executes an operator's request that is always granted.
    pub(crate) fn operate(&mut self, now: Time, request: Operator) {
        let now = self.clock(now);
        self.handle(now, &Caller::Operator, &Request::Operator(request))
            .expect("an operator's request is valid");
    }

    /// Requests of others since the last call.
    pub(crate) fn take_others(&mut self) -> Vec<Other> {
        self.others.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Trades since the last call.
    pub(crate) fn executed(&mut self) -> Vec<Executed> {
        std::mem::take(&mut self.executed)
    }

    /// Lets the simulated traders act.
    pub(crate) fn trade(&mut self, now: Time) {
        let now = self.clock(now);
        for index in 0..self.agents.len() {
            for (caller, request) in self.agents[index].step(now, &self.venue) {
                // A refused trader tries again by itself.
                let _ = self.handle(now, &caller, &request);
            }
        }
    }

    /// Sweeps all resting orders of one side within a gap, and moves the price there.
    pub(crate) fn fall(&mut self, now: Time, spec: &MarketSpec, way: Side, gap_bps: u32) {
        let Some(market) = self.venue.market_id(&spec.name) else {
            return;
        };
        let requests = sweep::requests(&self.venue, market, spec, way, gap_bps);
        let now = self.clock(now);
        for (caller, request) in requests {
            // A closed market is not swept.
            let _ = self.handle(now, &caller, &request);
        }
        for population in &mut self.agents {
            population.shock(market, now, sweep::signed(way, gap_bps));
        }
    }

    /// Applies an event to all markets.
    pub(crate) fn apply_event(&mut self, now: Time, what: MarketEvent) {
        let now = self.clock(now);
        for population in &mut self.agents {
            population.apply_event(now, what);
        }
    }

    /// When the simulated traders act next.
    pub(crate) fn next_trade(&self) -> Option<Time> {
        let next = self.agents.iter().filter_map(Agents::next_wakeup).min()?;
        Some(self.when(next))
    }

    /// Advances the venue's clock.
    pub(crate) fn advance(&mut self, now: Time) {
        let now = self.clock(now);
        self.venue.advance(now);
        let trades = self.venue.take_executed();
        self.oracle
            .handle_event(now, None, &trades, &mut self.venue);
        self.executed.extend(trades);
    }

    /// The price that the simulated traders of the first market take for right.
    pub(crate) fn fair_price(&self) -> Option<Price> {
        self.agents.first().map(Agents::fair_price)
    }

    /// The venue itself.
    pub const fn venue(&self) -> &Venue {
        &self.venue
    }

    /// Our balances of the tokens of these markets.
    pub(crate) fn held(&self, markets: &[MarketSpec]) -> Amounts {
        let Some(account) = self.venue.account(OWN_ACCOUNT) else {
            return Amounts::new();
        };
        markets
            .iter()
            .flat_map(|spec| [spec.base.id, spec.quote.id])
            .chain(self.venue.config().pools.iter().map(|pool| pool.lp))
            .map(|token| (token, account.balance(token).total))
            .collect()
    }
}
