//! Rate limits, with a manual clock.

use cambist_server::{Rate, RateLimits};

use crate::support::{Call, Exchange, config};

fn limited(rates: RateLimits) -> Exchange {
    let mut config = config();
    config.rates = rates;
    Exchange::with(&config)
}

#[test]
fn five_a_second_per_key_and_endpoint_then_429_and_recovery() {
    let exchange = limited(RateLimits::default());
    let (alice, bob) = (exchange.customer(1), exchange.customer(2));
    let balances = "/api/v3/user/balances?accountId={account}";
    let mut connection = exchange.connect();
    for _ in 0..5 {
        connection.ask(&alice.get(balances)).good();
    }
    let refused = connection.ask(&alice.get(balances));
    assert_eq!(refused.status, 429);
    assert_eq!(refused.any_code(), 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.header("date").is_some());
    // Another endpoint and another key have their own buckets.
    let orders = alice.get("/api/v3/orders?accountId={account}");
    connection.ask(&orders).good();
    connection.ask(&bob.get(balances)).good();
    exchange.clock.pass_ms(199);
    assert_eq!(connection.ask(&alice.get(balances)).status, 429);
    exchange.clock.pass_ms(1);
    connection.ask(&alice.get(balances)).good();
    exchange.clock.pass_ms(10_000);
    let passed = (0..20).filter(|_| connection.ask(&alice.get(balances)).status == 200);
    assert_eq!(
        passed.count(),
        5,
        "idle time does not accumulate beyond the burst"
    );
}

#[test]
fn requests_without_a_valid_key_are_limited_by_address() {
    let exchange = limited(RateLimits::default());
    let alice = exchange.customer(1);
    let target = "/api/v3/exchange/info";
    for _ in 0..3 {
        exchange.ask(&Call::get(target)).good();
    }
    for guess in ["a", "b"] {
        let call = Call::get(target).header("X-API-KEY", guess);
        assert_eq!(exchange.ask(&call).code(), 104_002);
    }
    let call = Call::get(target).header("X-API-KEY", "c");
    assert_eq!(exchange.ask(&call).status, 429);
    assert_eq!(exchange.ask(&Call::get(target)).status, 429);
    exchange.ask(&alice.get(target)).good();
    exchange.clock.pass_ms(1_000);
    exchange.ask(&Call::get(target)).good();
}

#[test]
fn an_address_is_limited_over_all_paths_unknown_ones_included() {
    let exchange = limited(RateLimits {
        address: Rate { per_s: 1, burst: 4 },
        ..RateLimits::default()
    });
    let alice = exchange.customer(1);
    assert_eq!(exchange.ask(&Call::get("/unknown")).status, 404);
    assert_eq!(exchange.ask(&Call::new("PUT", "/api/v3/order")).status, 405);
    exchange.ask(&Call::get("/api/v3/timestamp")).good();
    exchange.ask(&alice.get("/api/v3/exchange/info")).good();
    let refused = exchange.ask(&Call::get("/nothing"));
    assert_eq!((refused.status, refused.any_code()), (429, 429));
    let refused = exchange.ask(&alice.get("/api/v3/exchange/info"));
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    exchange.clock.pass_ms(1_000);
    exchange.ask(&alice.get("/api/v3/exchange/info")).good();
}

#[test]
fn forwarded_addresses_are_used_from_trusted_proxies_only() {
    let here = "127.0.0.1".parse().unwrap();
    for (proxies, counted_apart) in [(vec![here], true), (Vec::new(), false)] {
        let mut config = config();
        config.rates = RateLimits::default();
        config.trusted_proxies = proxies;
        let exchange = Exchange::with(&config);
        let mut connection = exchange.connect();
        let mut ask = |from: &str| {
            let call = Call::get("/api/v3/timestamp").header("X-Forwarded-For", from);
            connection.ask(&call).status
        };
        for _ in 0..5 {
            assert_eq!(ask("203.0.113.1"), 200);
        }
        assert_eq!(ask("203.0.113.1"), 429);
        let other = ask("203.0.113.1, 203.0.113.2");
        assert_eq!(other == 200, counted_apart, "{other}");
    }
}
