//! The two venues of the simulated world as subjects.

use cambist_core::order::UnsignedOrder;
use cambist_core::request::{Amend, Outcome, Query, Reply, RequestId};
use cambist_core::{Hash, MarketSpec, Side, Time, VenueRules, VenueTime};

use crate::WorldConfig;
use crate::conformance::{Answer, Subject};
use crate::exchange::{Exchange, OWN_ACCOUNT};
use crate::gateway::Gateway;
use crate::sealer::Sealer;
use crate::sequenced;
use crate::venue_adapter;
use crate::world::World;

/// How far apart prices may lie that `take_all` reaches.
const REACH_BPS: u32 = 5_000;

/// An adapter and the venue behind it.
pub struct Simulated {
    exchange: Exchange,
    rules: VenueRules,
    sealer: Sealer,
    spec: MarketSpec,
    now: Time,
    amends: u64,
}

impl Simulated {
    fn of(config: WorldConfig) -> Self {
        let config = WorldConfig {
            agents: Vec::new(),
            ..config
        };
        let spec = World::new(config.clone()).expect("a world").specs()[0].clone();
        Self {
            exchange: Exchange::new(&config, 1, false).expect("an exchange"),
            rules: config.rules,
            sealer: config.sealer,
            spec,
            now: Time::from_ms(1_337),
            amends: 0,
        }
    }

    /// The exchange that this program serves, with the real hash of its orders.
    pub fn exchange() -> Self {
        let mut subject = Self::of(WorldConfig::calm(1, "ladder"));
        subject.sealer = Sealer::Wire;
        subject
    }

    /// The venue of [`sequenced`](crate::sequenced).
    pub fn sequenced() -> Self {
        Self::of(WorldConfig::calm(1, "ladder").sequenced())
    }

    /// Kraken's interface ([`kraken`](crate::kraken)).
    pub fn kraken() -> Self {
        Self::of(WorldConfig::calm(1, "ladder").kraken())
    }

    /// The same venue, with rules that may not be its own.
    #[must_use]
    pub fn with_rules(self, rules: VenueRules) -> Self {
        // What signs one time for both is not asked to sign two.
        let sealer = Sealer::Name;
        Self {
            rules,
            sealer,
            ..self
        }
    }

    fn venue_time(&self) -> VenueTime {
        let clock = self.exchange.clock(self.now);
        // What the venue rounds by is the venue's, whatever the rules state.
        let gateway = self.exchange.gateway();
        let resolution_ms = gateway.map_or(1_000, Gateway::resolution_ms);
        VenueTime(clock.0 - clock.0 % resolution_ms)
    }
}

impl Simulated {
    fn amend(&mut self, amend: &Amend) -> Answer {
        let asked = Query::Order(amend.order);
        let base = match self.ask(&asked).0 {
            Outcome::Reply(Reply::Order(report)) => report.base_amount,
            _ => 0,
        };
        let quote = self
            .spec
            .quote_amount(amend.price, self.spec.lots_floor(base));
        self.amends += 1;
        let from = (0, RequestId(self.amends));
        let asked = (amend, quote.unwrap_or(0));
        let outcome = match self.exchange.amend(self.now, from, asked) {
            Ok(()) => Outcome::Reply(Reply::Amended),
            Err(refusal) => Outcome::Refused(refusal.reason),
        };
        (outcome, Some(self.venue_time()))
    }
}

impl Subject for Simulated {
    fn rules(&self) -> VenueRules {
        self.rules.clone()
    }

    fn market(&self) -> MarketSpec {
        self.spec.clone()
    }

    fn now(&self) -> VenueTime {
        self.exchange.clock(self.now)
    }

    fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        self.exchange.advance(self.now);
    }

    fn seal(&self, order: &UnsignedOrder) -> Hash {
        let exchange = self.exchange.venue().config().exchange;
        self.sealer.hash(exchange, OWN_ACCOUNT.0, order)
    }

    fn transmit(&mut self, order: &UnsignedOrder) -> Answer {
        let (exchange, key) = (self.exchange.venue().config().exchange, self.seal(order));
        self.exchange.bears_expiry(key, order.rests_until_s);
        let asked = venue_adapter::submit(OWN_ACCOUNT, exchange, order, key, None);
        let answer = self.exchange.serve(self.now, &asked);
        let outcome = venue_adapter::outcome(std::slice::from_ref(&self.spec), answer);
        (outcome, Some(self.venue_time()))
    }

    fn ask(&mut self, query: &Query) -> Answer {
        let markets = std::slice::from_ref(&self.spec);
        if let Query::Amend(amend) = query {
            return self.amend(amend);
        }
        let Some(asked) = venue_adapter::request(OWN_ACCOUNT, markets, query) else {
            return (Outcome::NotSent, None);
        };
        let answer = self.exchange.serve(self.now, &asked);
        let mut outcome = venue_adapter::outcome(markets, answer);
        if self.exchange.gateway().is_some() {
            outcome = sequenced::outcome(&asked, outcome);
        }
        (outcome, Some(self.venue_time()))
    }

    fn take_all(&mut self, side: Side) {
        let spec = self.spec.clone();
        self.exchange
            .fall(self.now, &spec, side.opposite(), REACH_BPS);
    }
}
