//! The guarantees of the venue's rules, tried on the client and the exchange behind it.

use cambist_core::order::UnsignedOrder;
use cambist_core::request::{OrderList, Outcome, Query};
use cambist_core::{Hash, MarketSpec, OrderKind, Price, Qty, Side, VenueRules, VenueTime};
use cambist_kraken_venue::order_key::key_of;
use cambist_kraken_venue::rules::{Settings as RuleSettings, rules};
use cambist_kraken_venue::seal::seal;
use cambist_sim::conformance::{Answer, Subject, violated_guarantees};
use tokio::runtime::Runtime;

use crate::support::{Exchange, Settings, Trader};

/// Nonces of orders begin here: one for each number that the engine gives out.
const FIRST_NONCE: u64 = 1_000_000;

/// The client, with the exchange behind it.
struct OverHttp {
    runtime: Runtime,
    exchange: Exchange,
    own: Trader,
    other: Trader,
    rules: VenueRules,
}

impl OverHttp {
    fn new(rules: VenueRules) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let exchange = Exchange::start(Settings {
            held: [1_000, 100_000],
            ..Settings::default()
        });
        let (own, other) = runtime
            .block_on(async { (exchange.trader(10_000).await, exchange.trader(10_001).await) });
        Self {
            runtime,
            exchange,
            own,
            other,
            rules,
        }
    }
}

impl Subject for OverHttp {
    fn rules(&self) -> VenueRules {
        self.rules.clone()
    }

    fn market(&self) -> MarketSpec {
        self.own.market.clone()
    }

    fn now(&self) -> VenueTime {
        self.exchange.clock.now()
    }

    fn pass_ms(&mut self, ms: u64) {
        self.exchange.clock.pass_ms(ms);
    }

    fn seal(&self, order: &UnsignedOrder) -> Hash {
        key_of(order.client_id).unwrap()
    }

    fn transmit(&mut self, order: &UnsignedOrder) -> Answer {
        let nonce = FIRST_NONCE + u64::from(order.slot);
        let sealed = seal(order, self.own.client.listing(), &self.own.market, nonce);
        // An order that has no bytes is not sent.
        let Ok(sealed) = sealed else {
            return (Outcome::NotSent, None);
        };
        let answered = self.runtime.block_on(self.own.client.submit(&sealed.body));
        (answered.outcome, answered.venue_time)
    }

    fn ask(&mut self, query: &Query) -> Answer {
        let answered = self.runtime.block_on(self.own.ask(query.clone()));
        (answered.outcome, answered.venue_time)
    }

    fn take_all(&mut self, side: Side) {
        let open = self
            .runtime
            .block_on(self.own.page(OrderList::Resting, 0, 0));
        for report in open.0.iter().filter(|report| report.side == side) {
            let left = report.base_amount - report.base_filled;
            let Qty(lots) = self.own.market.lots_floor(left);
            let ticks = report.quote_amount * self.own.market.lot
                / (report.base_amount * self.own.market.quote_per_lot_tick);
            let Price(price) = Price(u64::try_from(ticks).unwrap());
            let taken = self.other.place(
                &self.exchange,
                OrderKind::TakerOnly,
                side.opposite(),
                price,
                lots,
            );
            self.runtime.block_on(taken);
        }
    }
}

fn of_the_venue() -> VenueRules {
    rules(RuleSettings::default())
}

#[test]
fn the_client_keeps_what_its_rules_guarantee() {
    let broken = violated_guarantees(|| Box::new(OverHttp::new(of_the_venue())));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// With the rules of the exchange interface the suite finds where this venue differs.
#[test]
fn rules_of_another_venue_are_found_out() {
    let broken = violated_guarantees(|| Box::new(OverHttp::new(VenueRules::exchange())));
    let names: Vec<_> = broken
        .iter()
        .map(|text| text.split(':').next().unwrap_or_default())
        .collect();
    for guarantee in ["slots", "lists"] {
        assert!(names.contains(&guarantee), "{broken:?}");
    }
}
