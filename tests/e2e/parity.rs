//! Parity: a simulated world on one seed, once with its simulated exchange and once connected to the real exchange over
//! HTTP, whose clock is stepped in lockstep with the world. Everything that the engine receives and does is the same.
//!
//! The engine's requests are signed, sent, verified, executed, answered and decoded by the code of live trading. What
//! others do (the operator, the simulated traders) is given to both exchanges alike. Nothing is normalised: both runs
//! have real order hashes and times as the interface states them (`Sealer::Wire`), and ids, order lists, balances and
//! depths are compared as they are. Outside of the comparison are signatures and keys, which neither engine nor simulated
//! exchange knows, and latencies, which the world draws from its seed in both runs.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::JoinHandle;

use cambist_client::{Answered, Client, ClientConfig, Credentials};
use cambist_core::request::{Outcome, Query};
use cambist_core::{MarketSpec, Time, VenueTime};
use cambist_server::{
    Clock, InProcess, Rate, RateLimits, RunError, Server, ServerConfig, api_key_digest,
};
use cambist_signing::{Address, SecretKey};
use cambist_sim::{OWN_ACCOUNT, OWN_KEY, Remote, Sealer, World, WorldConfig};
use cambist_venue::{Caller, Operator, PublicKey, Request, Venue};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

const API_KEY: &str = "the-api-key-of-the-world";
const SIMULATED: Time = Time::from_ms(240_000);

/// The real exchange on a port of its own, with a clock that the world moves.
struct RealExchange {
    runtime: Runtime,
    clock: Clock,
    handle: InProcess,
    url: String,
    client: Option<Client>,
    markets: Vec<MarketSpec>,
    requests: Rc<RefCell<u64>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

impl RealExchange {
    fn start(config: &WorldConfig, markets: &[MarketSpec], requests: &Rc<RefCell<u64>>) -> Self {
        let clock = Clock::by_hand(config.clock.venue_origin);
        let rate = Rate::per_s(1_000_000);
        let server = ServerConfig {
            rates: RateLimits {
                key_and_endpoint: rate,
                keyless_and_endpoint: rate,
                address: rate,
                market_data: Rate::per_s(1_000),
                failed_signatures: rate,
                buckets_max: 100,
            },
            clock: clock.clone(),
            ..ServerConfig::new(([127, 0, 0, 1], 0).into())
        };
        let venue = Venue::new(config.venue.clone()).unwrap();
        let server = Server::bind(&server, venue, Vec::new()).unwrap();
        let (url, handle) = (format!("http://{}", server.local_addr()), server.handle());
        let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            runtime().block_on(server.run(async {
                // Dropped or sent: both end it.
                let _ = stopped.await;
            }))
        });
        Self {
            runtime: runtime(),
            clock,
            handle,
            url,
            client: None,
            markets: markets.to_vec(),
            requests: Rc::clone(requests),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("the account was opened first")
    }

    fn answered(&self, answered: Answered) -> (Outcome, Option<VenueTime>) {
        *self.requests.borrow_mut() += 1;
        (answered.outcome, answered.venue_time)
    }
}

impl Remote for RealExchange {
    fn other(&mut self, now: VenueTime, caller: &Caller, request: &Request, granted: bool) {
        self.clock.set(now);
        let mut request = request.clone();
        if let Request::Operator(Operator::CreateAccount {
            id: Some(OWN_ACCOUNT),
            owner,
            public_key,
            api_key,
            ..
        }) = &mut request
        {
            // The daemon's account: with the keys that it signs with.
            let key = SecretKey::from_hex(OWN_KEY).unwrap();
            let public = key.public();
            *public_key = PublicKey {
                x: public.x.to_be_bytes(),
                y: public.y.to_be_bytes(),
            };
            *api_key = Some(api_key_digest(API_KEY));
            let credentials = Credentials::new(
                OWN_ACCOUNT.0,
                Some(Address(*owner)),
                Some(API_KEY.into()),
                key,
            );
            let config = ClientConfig::new(&self.url);
            self.client = Some(Client::new(&config, Some(credentials)).unwrap());
        }
        let answer = self.handle.execute(caller, &request);
        assert_eq!(answer.is_ok(), granted, "{now:?} {request:?}: {answer:?}");
    }

    fn query(&mut self, now: VenueTime, query: &Query) -> (Outcome, Option<VenueTime>) {
        self.clock.set(now);
        let asked = self.client().query(query, &self.markets);
        self.answered(self.runtime.block_on(asked))
    }

    fn submit(&mut self, now: VenueTime, body: &[u8]) -> (Outcome, Option<VenueTime>) {
        self.clock.set(now);
        let asked = self.client().submit(body);
        self.answered(self.runtime.block_on(asked))
    }
}

impl Drop for RealExchange {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

/// What the engine received and did, step by step.
type Steps = Rc<RefCell<Vec<String>>>;

fn play(world: &mut World) -> Vec<String> {
    let steps: Steps = Rc::default();
    let kept = Rc::clone(&steps);
    world.watch(Box::new(move |now, event, actions| {
        let step = format!("{now:?} {event:?} -> {actions:?}");
        kept.borrow_mut().push(step);
    }));
    world.run_until(SIMULATED);
    assert_eq!(world.violations(), []);
    steps.take()
}

#[test]
fn the_engine_does_the_same_over_http_as_in_the_simulated_world() {
    for (seed, strategy) in [(7, "ladder"), (8, "bands"), (9, "glft")] {
        let config = WorldConfig {
            sealer: Sealer::Wire,
            ..WorldConfig::calm(seed, strategy)
        };
        let mut simulated = World::new(config.clone()).unwrap();
        let requests = Rc::default();
        let remote = RealExchange::start(&config, simulated.specs(), &requests);
        let mut connected = World::beside(config, Box::new(remote)).unwrap();
        let [own, real] = [&mut simulated, &mut connected].map(play);
        for (number, (own, real)) in own.iter().zip(&real).enumerate() {
            assert_eq!(own, real, "{strategy}, step {number} of {}", own.len());
        }
        assert_eq!(own.len(), real.len(), "{strategy}");
        assert_eq!(simulated.trace_hash(), connected.trace_hash(), "{strategy}");
        // It was not a comparison of nothing with nothing.
        let counts = connected.counts();
        assert!(
            counts.taken > 10 && counts.traded > 0,
            "{strategy}: {counts:?}"
        );
        assert!(
            *requests.borrow() > 200,
            "{strategy}: {}",
            requests.borrow()
        );
    }
}
