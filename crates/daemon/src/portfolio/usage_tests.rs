#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::super::board::tests::{board, published, reader, states};
use super::*;
use crate::config::reader::Source;
use std::path::Path;

/// Use, limit and what is not known, by label.
fn used(board: &Board, label: &str) -> (Option<i128>, Amount, Vec<String>) {
    let all = board.used();
    let of = all.into_iter().find(|of| of.limit == label).unwrap();
    (of.used, of.most, of.unknown_at)
}

/// The figures that are shown are those that the gate compares: what a venue holds itself, and what it gets of the others.
#[test]
fn what_is_shown_is_what_is_compared() {
    let (board, [mut one, mut two]) = board();
    let (none, most, unknown) = used(&board, "inventory");
    assert_eq!((none, unknown.len()), (None, 2));
    // 2.5 BTC, in the units of the venue with 10 decimals.
    assert_eq!(most, 25_000_000_000);
    one.state(Some(states(&[(1, 150_000_000)], &[(2, 7)], &[(2, 3)], &[])));
    assert_eq!(used(&board, "inventory").2, ["two"]);
    assert_eq!(used(&board, "exposure").2, ["two"]);
    assert_eq!(used(&board, "loss_day").2, ["two"]);
    let of_two = states(
        &[(5, 10_000_000_001), (7, 0)],
        &[(6, 5_000_001), (5, 0)],
        &[(6, -20_000), (5, 0)],
        &[],
    );
    two.state(Some(of_two));
    // 1.5 BTC and 1.0000000001 XBT.
    let all = (Some(25_000_000_001), 25_000_000_000, Vec::new());
    assert_eq!(used(&board, "inventory"), all);
    let limits = super::super::board::tests::limits_of(&mut two);
    let there = limits.tokens[0].elsewhere.unwrap();
    assert_eq!(
        Some(there + 10_000_000_001),
        used(&board, "inventory").0.map(i128::unsigned_abs)
    );
    // 0.000007 USDC and 500.0001 USD.
    assert_eq!(used(&board, "exposure").0, Some(500_000_107));
    assert_eq!(used(&board, "exposure").1, 1_000_000_000);
    // 0.000003 lost and 2 gained. Nothing of it is in a token without a price.
    let (lost, most, unknown) = used(&board, "loss_day");
    assert_eq!((lost, most), (Some(3 - 2_000_000), 10_000_000));
    assert!(unknown.is_empty());
    // What was lost in XBT, of which there is no price yet, is not in the sum: it is not known.
    let without = states(&[(5, 0), (7, 0)], &[(6, 0), (5, 0)], &[(6, 0), (5, 1)], &[]);
    two.state(Some(without));
    let (lost, _, unknown) = used(&board, "loss_day");
    assert_eq!((lost, unknown), (Some(3), vec!["two".to_owned()]));
    let mid = [(0, Some((2, 0)))];
    one.state(Some(states(&[(1, 0)], &[(2, 0)], &[], &mid)));
    let (lost, _, unknown) = used(&board, "loss_day");
    assert_eq!((lost, unknown), (Some(1), Vec::new()), "rounded up");
}

#[test]
fn a_hedge_is_as_far_from_its_target_as_all_holdings_are() {
    let (_, members) = reader("two:XBT-USD");
    let [one, mut two] = members.unwrap();
    let market = one.market();
    let hedge = HedgeOf {
        strategy: "hedge".to_owned(),
        market,
        target: 300_000_000,
        most: 100_000_000,
        others: vec!["two:XBT-USD".to_owned()],
    };
    let one = one.with_hedges(vec![hedge]);
    // 1.25 BTC in units of 8 decimals here, and in the pool nothing.
    let own = |_| Some(published(1, 0, 125_000_000));
    let shown = one.status(own).hedges.remove(0);
    assert_eq!(
        (shown.held, shown.unknown_at),
        (None, vec!["two".to_owned()])
    );
    // 1.5 XBT in units of 10 decimals there.
    two.publish(MarketId(4), published(249_900, 40, 15_000_000_000));
    let status = one.status(own);
    let shown = &status.hedges[0];
    assert_eq!(shown.held, Some(275_000_000));
    assert_eq!(shown.distance(), Some(-25_000_000));
    assert_eq!(
        (shown.most, shown.market.as_str()),
        (100_000_000, "BTC-USDC")
    );
    assert!(shown.unknown_at.is_empty());
    let shown = one.status(|_| None).hedges.remove(0);
    assert_eq!(
        (shown.held, shown.unknown_at),
        (None, vec!["one".to_owned()])
    );
    // What is due of pool shares is not known there.
    let mut unknown = published(249_900, 40, 15_000_000_000);
    unknown.holdings.as_mut().unwrap().pooled_base = None;
    two.publish(MarketId(4), unknown);
    assert_eq!(one.status(own).hedges[0].held, None);
    assert_eq!(status.venue, "one");
    let venues = status
        .venues
        .iter()
        .map(|of| (of.venue.as_str(), of.is_known));
    assert_eq!(venues.collect::<Vec<_>>(), [("one", false), ("two", false)]);
}

/// The demo's file with a hedge in place of its strategies.
fn hedging(target: &str, most: &str) -> Daemon {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    let mut source = Source::read(Path::new(path)).unwrap();
    let begin = source.text.find("[[market.strategy]]").unwrap();
    let text = source.text[..begin].replace("maker_only = true", "maker_only = false");
    source.text = format!(
        "{text}[[market.strategy]]\nname = \"hedge\"\n[market.strategy.params]\n\
         others = [{{ market = \"two:XBT-USD\" }}]\nbase_target = {target}\nopen_amount_max = {most}\n"
    );
    Daemon::parse(&source).unwrap()
}

#[test]
fn a_hedge_is_shown_with_its_current_parameters() {
    let bound = hedging("20", "1").bind_expected().unwrap().unwrap();
    let (board, _) = board();
    let mut member = board.member(0).with_hedges(HedgeOf::all(&bound));
    let shown = |member: &Membership| {
        let status = member.status(|_| None);
        let shown = &status.hedges[0];
        (shown.target / 10_u128.pow(14), shown.most / 10_u128.pow(14))
    };
    assert_eq!(shown(&member), (200_000, 10_000));
    member.reconfigured(&hedging("19.9997", "0.5"));
    assert_eq!(shown(&member), (199_997, 5_000));
    // A file without it changes nothing: it needs a restart.
    let mut without = hedging("7", "1");
    without.markets[0].strategies.clear();
    member.reconfigured(&without);
    assert_eq!(shown(&member), (199_997, 5_000));
}
