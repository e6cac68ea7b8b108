#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::super::Telemetry;
use super::super::tests::about;
use super::*;
use cambist_core::withheld::Compared;
use cambist_host::clock::Clock;

/// A portfolio of two venues with every limit and a hedge.
pub(in crate::telemetry) fn status() -> PortfolioStatus {
    let limit = |limit, key, token: &str, used, most| LimitUse {
        limit,
        key,
        token: token.to_owned(),
        decimals: 2,
        used,
        most,
        unknown_at: Vec::new(),
    };
    let venue = |name: &str, is_known, stored_s| VenueState {
        venue: name.to_owned(),
        line: "trading".to_owned(),
        is_known,
        stored_s,
    };
    PortfolioStatus {
        venue: "own".to_owned(),
        names: BTreeMap::new(),
        limits: vec![
            limit(
                "inventory",
                "portfolio.tokens.inventory_max",
                "ETH",
                Some(150),
                200,
            ),
            limit("exposure", "portfolio.exposure_max", "USD", None, 10_000),
            limit(
                "loss_day",
                "portfolio.loss_day_max",
                "USD",
                Some(-50),
                10_000,
            ),
        ],
        venues: vec![venue("own", true, None), venue("kraken", false, Some(60))],
        hedges: vec![HedgeDistance {
            market: "ETH-USDC".to_owned(),
            token: "ETH".to_owned(),
            decimals: 2,
            held: Some(125),
            target: 200,
            most: 300,
            venues: vec!["own".to_owned(), "kraken".to_owned()],
            unknown_at: Vec::new(),
        }],
    }
}

#[test]
fn use_is_rounded_up_and_a_gain_uses_nothing() {
    let mut of = status().limits.remove(0);
    let mut share = |used, most| {
        (of.used, of.most) = (used, most);
        of.share_bps()
    };
    assert_eq!(share(Some(150), 200), Some(7_500));
    assert_eq!(share(Some(200), 200), Some(10_000));
    assert_eq!(share(Some(1), 30_000), Some(1), "0.33");
    assert_eq!(share(Some(-1), 200), Some(0));
    assert_eq!(share(None, 200), None);
    assert_eq!(share(Some(0), 0), Some(0));
    assert!(share(Some(1), 0) >= Some(10_000));
    assert_eq!(share(Some(i128::MAX), 1), Some(u64::MAX));
}

#[test]
fn what_is_used_is_shown_and_what_is_not_known_has_no_value() {
    let telemetry = Telemetry::new(about(), Clock::new()).unwrap();
    telemetry.portfolio(status());
    let page = telemetry.render().unwrap();
    let has = |line: &str| page.lines().any(|found| found == line);
    for line in [
        "cambist_portfolio_used_units{limit=\"inventory\",token=\"ETH\"} 1.5",
        "cambist_portfolio_limit_units{limit=\"inventory\",token=\"ETH\"} 2",
        "cambist_portfolio_limit_used_ratio{limit=\"inventory\",token=\"ETH\"} 0.75",
        "cambist_portfolio_limit_units{limit=\"exposure\",token=\"USD\"} 100",
        "cambist_portfolio_used_units{limit=\"loss_day\",token=\"USD\"} -0.5",
        "cambist_portfolio_limit_used_ratio{limit=\"loss_day\",token=\"USD\"} 0",
        "cambist_portfolio_venue_unknown{venue=\"own\"} 0",
        "cambist_portfolio_venue_unknown{venue=\"kraken\"} 1",
        "cambist_portfolio_venue_stored_timestamp_seconds{venue=\"kraken\"} 60",
        "cambist_hedge_distance_base_units{market=\"ETH-USDC\"} -0.75",
        "cambist_hedge_unknown{market=\"ETH-USDC\"} 0",
    ] {
        assert!(has(line), "{line}: {page}");
    }
    assert!(!page.contains("cambist_portfolio_used_units{limit=\"exposure\""));
    let shown = telemetry.status()["portfolio"].take();
    assert_eq!(shown["venue"], "own");
    assert_eq!(shown["limits"][0]["used"], "1.5");
    assert_eq!(shown["limits"][0]["share"], "75.0 %");
    assert!(shown["limits"][1]["used"].is_null());
    assert_eq!(shown["limits"][2]["used"], "-0.5");
    assert_eq!(shown["venues"][1]["stored_at"], "1970-01-01T00:01:00Z");
    assert_eq!(shown["hedges"][0]["distance"], "-0.75");
    // What is not known any more has no old value.
    let mut next = status();
    next.limits[0].used = None;
    next.hedges[0].held = None;
    telemetry.portfolio(next);
    let page = telemetry.render().unwrap();
    assert!(!page.contains("cambist_portfolio_used_units{limit=\"inventory\""));
    assert!(!page.contains("cambist_hedge_distance_base_units{"));
    assert!(page.contains("cambist_hedge_unknown{market=\"ETH-USDC\"} 1"));
}

/// A reason has room for two numbers: the venue that is the cause follows them.
#[test]
fn a_reason_names_the_venue_of_which_something_is_not_known() {
    let spec = about().markets.remove(0);
    let mut status = status();
    let reason = |status: &PortfolioStatus, control, value| {
        let mut why = Withheld::from(control);
        why.value = value;
        status.detail(&spec, &why).unwrap_or_default()
    };
    let inventory = Control::PortfolioInventory;
    assert_eq!(reason(&status, inventory, None), "", "nothing is unknown");
    status.limits[0].unknown_at = vec!["kraken".to_owned()];
    let text = "what is held at kraken is not known";
    assert_eq!(reason(&status, inventory, None), text);
    assert_eq!(
        reason(&status, inventory, Some(7)),
        "",
        "the numbers are known"
    );
    // The limit has the token's name in the portfolio.
    status.limits[0].token = "ETHER".to_owned();
    assert_eq!(reason(&status, inventory, None), "");
    status.names.insert("ETH".to_owned(), "ETHER".to_owned());
    assert_eq!(reason(&status, inventory, None), text);
    status.limits[1].unknown_at = vec!["own".to_owned(), "kraken".to_owned()];
    let text = "what is held, or a price of it, at own and kraken is not known";
    assert_eq!(reason(&status, Control::PortfolioExposure, None), text);
    // No number was compared, because a loss of today has no price.
    status.limits[2].unknown_at = vec!["kraken".to_owned()];
    let why = Withheld::compared(Control::PortfolioExposure, Compared::NOTHING);
    let text = "what was lost today, or a price of it, at kraken is not known";
    assert_eq!(status.detail(&spec, &why).as_deref(), Some(text));
    let text = "1.25 ETH are held at own and kraken, and base_target is 2 ETH";
    assert_eq!(reason(&status, Control::StrategySkew, Some(1)), text);
    assert_eq!(reason(&status, Control::NotConfigured, Some(1)), text);
    assert_eq!(
        reason(&status, Control::NotConfigured, None),
        "",
        "nothing is open"
    );
    assert_eq!(reason(&status, Control::NoFairPrice, None), "");
    status.hedges[0].unknown_at = vec!["kraken".to_owned()];
    let text = "what is held at kraken is not known";
    assert_eq!(reason(&status, Control::NoFairPrice, None), text);
    assert_eq!(reason(&status, Control::StaleData, None), "");
    status.hedges.clear();
    assert_eq!(reason(&status, Control::NoFairPrice, None), "", "no hedge");
}
