//! The guarantees, one function each.

use cambist_core::fence::{ListScan, Progress};
use cambist_core::order::UnsignedOrder;
use cambist_core::postings::{Postings, Traded};
use cambist_core::request::{Amend, Outcome, Query, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::{Refusal, SlotRule};
use cambist_core::{Hash, MarketId, OrderStatus, Price, Side, Time, TokenId, VenueTime};

use crate::conformance::{Guarantee, Subject, order, place, report, text_of};

type Kept = Result<(), String>;

/// A price at which bids of these tests rest, in ticks.
const BID: u64 = 240_000;
/// Lots of an order.
const LOTS: u64 = 10_000;
/// Bids for so many lots cost more than the account has.
const TOO_MANY_LOTS: u64 = 1_000_000;

/// All of them.
pub const GUARANTEES: &[Guarantee] = &[
    guarantee("names", orders_are_named_before_they_are_sent),
    guarantee("once", the_same_bytes_count_once),
    guarantee("slots", slots_follow_their_rule),
    guarantee("end of acceptance", late_bytes_create_nothing),
    guarantee("end of rest", what_rests_ends_when_it_is_declared_to),
    guarantee("refusals", refusals_prove_what_the_rules_state),
    guarantee("unknown orders", an_unknown_order_is_refused_as_unknown),
    guarantee("lists", a_complete_list_shows_every_order),
    guarantee("books", a_fill_moves_what_it_reports),
    guarantee("fees", fees_stay_within_what_an_order_states),
    guarantee("amends", an_amend_moves_a_resting_order_and_no_more),
    guarantee("clock", times_are_as_exact_as_the_rules_state),
];

const fn guarantee(name: &'static str, keeps: fn(&mut dyn Subject) -> Kept) -> Guarantee {
    Guarantee { name, keeps }
}

fn only_if(so: bool, otherwise: impl FnOnce() -> String) -> Kept {
    if so { Ok(()) } else { Err(otherwise()) }
}

/// What a refusal with this answer is declared to prove; nothing if it is no refusal.
fn proof(subject: &dyn Subject, outcome: &Outcome) -> Option<Refusal> {
    match outcome {
        Outcome::Refused(reason) => Some(subject.rules().refusals.of(*reason)),
        _ => None,
    }
}

fn bid(subject: &dyn Subject, n: u32) -> UnsignedOrder {
    order(subject, n, Side::Buy, BID - u64::from(n), LOTS)
}

/// Every order that a complete list shows, as the engine reads it, two a page.
fn list(subject: &mut dyn Subject) -> Result<ListScan, String> {
    let rules = subject.rules().lists;
    let scan = ListScan::proof(Time(0), subject.now(), VenueTime(0), 2);
    let mut scan = scan.over(&rules.scanned);
    loop {
        let page = subject.ask(&Query::Orders(scan.page())).0;
        let progress = match page {
            Outcome::Reply(Reply::Orders { orders, total }) => scan.take(&orders, total),
            Outcome::Reply(Reply::OrdersUntil { orders, next }) => scan.take_until(&orders, next),
            other => return Err(format!("a page of the list was {}", text_of(&other))),
        };
        match progress {
            Progress::More => {}
            Progress::Complete => return Ok(scan),
            Progress::Abandoned => return Err("the list was never complete".to_owned()),
        }
    }
}

fn shown(subject: &mut dyn Subject, key: Hash) -> Result<bool, String> {
    list(subject).map(|scan| scan.shows(key))
}

fn balances(subject: &mut dyn Subject) -> Result<SortedMap<TokenId, i128>, String> {
    match subject.ask(&Query::Balances).0 {
        Outcome::Reply(Reply::Balances(held)) => {
            let total = |amount| i128::try_from(amount).unwrap_or(i128::MAX);
            let each = held.iter().map(|of| (of.token, total(of.total)));
            Ok(each.collect())
        }
        other => Err(format!("balances were {}", text_of(&other))),
    }
}

fn orders_are_named_before_they_are_sent(subject: &mut dyn Subject) -> Kept {
    let first = bid(subject, 0);
    let key = place(subject, &first)?;
    let known = report(subject, key)?;
    only_if(known.client_id == Some(first.client_id), || {
        format!("its report bears the id {:?}", known.client_id)
    })?;
    let seen = shown(subject, key)?;
    only_if(seen, || "the list shows it by another name".to_owned())
}

fn the_same_bytes_count_once(subject: &mut dyn Subject) -> Kept {
    let first = bid(subject, 0);
    let key = place(subject, &first)?;
    let again = subject.transmit(&first).0;
    let proof = proof(subject, &again);
    only_if(proof != Some(Refusal::KillsBytes), || {
        format!(
            "the copy of an order that rests was {}, which is declared to prove it dead",
            text_of(&again)
        )
    })?;
    let held = subject.ask(&Query::Balances).0;
    let Outcome::Reply(Reply::Balances(held)) = held else {
        return Err(format!("balances were {}", text_of(&held)));
    };
    let locked = held.iter().find(|of| of.token == first.sell_token);
    let locked = locked.map_or(0, |of| of.locked);
    // A fee that may come on top is locked as well; a second order would lock twice as much.
    only_if(locked < 2 * first.sell_amount, || {
        format!("{locked} is locked for one order of {}", first.sell_amount)
    })?;
    let seen = shown(subject, key)?;
    only_if(seen, || "it does not rest any more".to_owned())
}

fn slots_follow_their_rule(subject: &mut dyn Subject) -> Kept {
    let (first, second, third) = (bid(subject, 0), bid(subject, 1), bid(subject, 2));
    match subject.rules().slots {
        SlotRule::Strided { slots } => {
            place(subject, &third)?;
            // Another slot: an earlier number is as good.
            place(subject, &first)?;
            let behind = UnsignedOrder {
                slot: third.slot,
                ..second
            };
            let refused = subject.transmit(&behind).0;
            only_if(matches!(refused, Outcome::Refused(_)), || {
                format!("an order with a used number was {}", text_of(&refused))
            })?;
            let next = UnsignedOrder {
                slot: third.slot + slots,
                ..behind
            };
            place(subject, &next).map(|_| ())
        }
        SlotRule::Consecutive { .. } => {
            let early = subject.transmit(&second).0;
            only_if(
                proof(subject, &early) == Some(Refusal::NotProcessed),
                || format!("an order behind a gap was {}", text_of(&early)),
            )?;
            place(subject, &first)?;
            place(subject, &second)?;
            let used = UnsignedOrder {
                slot: first.slot,
                ..third
            };
            let refused = subject.transmit(&used).0;
            only_if(proof(subject, &refused) == Some(Refusal::KillsCopy), || {
                format!("an order with a spent number was {}", text_of(&refused))
            })
        }
        SlotRule::Rising { .. } => {
            place(subject, &first)?;
            // A gap is as good as none.
            place(subject, &third)?;
            let behind = subject.transmit(&second).0;
            only_if(proof(subject, &behind) == Some(Refusal::KillsCopy), || {
                format!("an order behind a later number was {}", text_of(&behind))
            })?;
            // Whatever is answered, the number is spent: what may be lifted meanwhile is refused all the same.
            let dear = order(subject, 3, Side::Buy, BID, TOO_MANY_LOTS);
            let refused = subject.transmit(&dear).0;
            only_if(matches!(refused, Outcome::Refused(_)), || {
                format!("an order beyond all funds was {}", text_of(&refused))
            })?;
            let good = UnsignedOrder {
                slot: dear.slot,
                ..bid(subject, 4)
            };
            let again = subject.transmit(&good).0;
            only_if(proof(subject, &again) == Some(Refusal::KillsCopy), || {
                format!("an order with a refused number was {}", text_of(&again))
            })
        }
    }
}

fn late_bytes_create_nothing(subject: &mut dyn Subject) -> Kept {
    let first = bid(subject, 0);
    let key = subject.seal(&first);
    let late_ms = VenueTime::from_s(first.accepted_until_s.into()).ms_since(subject.now());
    subject.pass_ms(late_ms + 1);
    let answer = subject.transmit(&first).0;
    only_if(!matches!(answer, Outcome::Reply(_)), || {
        format!("late bytes were {}", text_of(&answer))
    })?;
    let seen = shown(subject, key)?;
    only_if(!seen, || "late bytes created an order".to_owned())
}

fn what_rests_ends_when_it_is_declared_to(subject: &mut dyn Subject) -> Kept {
    let first = bid(subject, 0);
    let key = place(subject, &first)?;
    let left_ms = |subject: &dyn Subject, second: u32| {
        VenueTime::from_s(second.into()).ms_since(subject.now())
    };
    if let Some(rests_until_s) = first.rests_until_s {
        let ms = left_ms(subject, rests_until_s);
        subject.pass_ms(ms + 1_000);
        let known = report(subject, key)?;
        return only_if(known.status.is_final(), || {
            format!("a second behind its end it is {}", known.status.name())
        });
    }
    let ms = left_ms(subject, first.accepted_until_s);
    subject.pass_ms(ms + 3_600_000);
    let known = report(subject, key)?;
    only_if(!known.status.is_final(), || {
        format!("without an end it is {} after an hour", known.status.name())
    })?;
    let cancelled = subject.ask(&Query::Cancel(key)).0;
    only_if(matches!(cancelled, Outcome::Reply(_)), || {
        format!("its cancel was {}", text_of(&cancelled))
    })?;
    subject.pass_ms(60_000);
    let known = report(subject, key)?;
    only_if(known.status == OrderStatus::Cancelled, || {
        format!("a minute after its cancel it is {}", known.status.name())
    })
}

/// After a refusal that is declared to kill the bytes every later copy is refused for as good a reason, and one that may
/// be lifted does not kill them, unless it has spent their number.
fn refusals_prove_what_the_rules_state(subject: &mut dyn Subject) -> Kept {
    // Where a refusal spends the number, everything that follows needs a later one.
    let spends = matches!(subject.rules().slots, SlotRule::Rising { .. });
    let numbered = |n: u32| if spends { n } else { 0 };
    let good = bid(subject, 0);
    let wrong = [
        UnsignedOrder {
            sell_amount: 0,
            ..good.clone()
        },
        UnsignedOrder {
            buy_amount: 0,
            ..good.clone()
        },
        UnsignedOrder {
            buy_token: good.sell_token,
            ..good.clone()
        },
        UnsignedOrder {
            buy_token: TokenId(999),
            ..good.clone()
        },
    ];
    for (n, bytes) in (0..).zip(wrong) {
        let bytes = UnsignedOrder {
            slot: numbered(n),
            ..bytes
        };
        let first = subject.transmit(&bytes).0;
        let kills = proof(subject, &first) == Some(Refusal::KillsBytes);
        only_if(!matches!(first, Outcome::Reply(_)), || {
            "nonsense was taken".to_owned()
        })?;
        subject.pass_ms(1_000);
        let again = subject.transmit(&bytes).0;
        let same = matches!(
            proof(subject, &again),
            Some(Refusal::KillsBytes | Refusal::KillsCopy)
        );
        only_if(!kills || same, || {
            format!("a copy was {}, after {}", text_of(&again), text_of(&first))
        })?;
    }
    let dear = order(subject, numbered(4), Side::Buy, BID, TOO_MANY_LOTS);
    let refused = subject.transmit(&dear).0;
    only_if(matches!(refused, Outcome::Refused(_)), || {
        format!("an order beyond all funds was {}", text_of(&refused))
    })?;
    let again = subject.transmit(&dear).0;
    let is_spent = proof(subject, &again) == Some(Refusal::KillsCopy);
    only_if(
        proof(subject, &refused) != Some(Refusal::KillsBytes) || is_spent,
        || {
            format!(
                "{} may be lifted by a deposit, and is declared to kill the bytes",
                text_of(&refused)
            )
        },
    )?;
    // None of this has spent anything else: the order is taken.
    let fresh = bid(subject, numbered(5));
    place(subject, &fresh).map(|_| ())
}

fn an_unknown_order_is_refused_as_unknown(subject: &mut dyn Subject) -> Kept {
    let never_sent = bid(subject, 7);
    let key = subject.seal(&never_sent);
    let rules = subject.rules().refusals;
    let asked = subject.ask(&Query::Order(key)).0;
    only_if(
        matches!(asked, Outcome::Refused(reason) if rules.is_not_found(reason)),
        || format!("the report of an unknown order was {}", text_of(&asked)),
    )?;
    let cancelled = subject.ask(&Query::Cancel(key)).0;
    only_if(
        matches!(cancelled, Outcome::Refused(reason) if rules.is_nothing_to_cancel(reason)),
        || format!("the cancel of an unknown order was {}", text_of(&cancelled)),
    )
}

/// Ticks by which an order is moved.
const MOVE: u64 = 500;

fn an_amend_moves_a_resting_order_and_no_more(subject: &mut dyn Subject) -> Kept {
    let order = bid(subject, 0);
    let key = place(subject, &order)?;
    subject.pass_ms(2_500);
    let price = Price(order.price.0 - MOVE);
    let amend = |order, price| {
        Query::Amend(Amend {
            order,
            market: MarketId(0),
            price,
            maker_only: true,
        })
    };
    let moved = subject.ask(&amend(key, price)).0;
    let is_moved = moved == Outcome::Reply(Reply::Amended);
    only_if(is_moved == subject.rules().amends_orders, || {
        format!("an amend was {}", text_of(&moved))
    })?;
    // What was never sent is not moved, and that is no reason to doubt the order that rests.
    let unknown = subject.seal(&bid(subject, 7));
    let nothing = subject.ask(&amend(unknown, price)).0;
    only_if(nothing != Outcome::Reply(Reply::Amended), || {
        format!("the amend of an unknown order was {}", text_of(&nothing))
    })?;
    subject.pass_ms(2_500);
    let at = if is_moved { price } else { order.price };
    let worth = subject.market().quote_amount(at, order.qty);
    let listed = report(subject, key)?;
    only_if(
        listed.base_amount == order.buy_amount && Some(listed.quote_amount) == worth,
        || {
            format!(
                "{} for {} after an amend",
                listed.base_amount, listed.quote_amount
            )
        },
    )?;
    subject.take_all(Side::Buy);
    subject.pass_ms(2_500);
    let filled = report(subject, key)?;
    only_if(
        filled.base_filled == order.buy_amount && Some(filled.quote_filled) == worth,
        || {
            format!(
                "{} for {} were traded",
                filled.base_filled, filled.quote_filled
            )
        },
    )?;
    let ended = subject.ask(&amend(key, price)).0;
    only_if(ended != Outcome::Reply(Reply::Amended), || {
        "an order that had ended was moved".to_owned()
    })
}

fn a_complete_list_shows_every_order(subject: &mut dyn Subject) -> Kept {
    let orders: Vec<_> = (0..3).map(|n| bid(subject, n)).collect();
    let mut keys = Vec::new();
    for order in &orders {
        keys.push(place(subject, order)?);
        subject.pass_ms(10);
    }
    subject.ask(&Query::Cancel(keys[0]));
    subject.pass_ms(2_500);
    let scan = list(subject)?;
    for key in keys {
        only_if(scan.shows(key), || format!("{key} is missing"))?;
    }
    Ok(())
}

fn a_fill_moves_what_it_reports(subject: &mut dyn Subject) -> Kept {
    let spec = subject.market();
    for (n, side, price) in [(0, Side::Buy, BID), (1, Side::Sell, BID + 20_000)] {
        let before = balances(subject)?;
        let placed = order(subject, n, side, price, LOTS);
        let key = place(subject, &placed)?;
        subject.take_all(side);
        let known = report(subject, key)?;
        only_if(known.base_filled > 0, || {
            format!("no one traded with the {}", side.name())
        })?;
        let traded = Traded {
            base: known.base_filled,
            quote: known.quote_filled,
            fee: known.fee,
        };
        let postings = Postings::of_trade(&spec, side, traded);
        let after = balances(subject)?;
        for token in [spec.base.id, spec.quote.id] {
            let held = |of: &SortedMap<TokenId, i128>| of.get(&token).copied().unwrap_or(0);
            let moved = held(&after) - held(&before);
            only_if(moved == postings.of(token), || {
                format!(
                    "{} moved {moved} of token {}, and its report states {}",
                    side.name(),
                    token.0,
                    postings.of(token)
                )
            })?;
        }
    }
    Ok(())
}

/// The highest fee that the rules let an order state is taken, and what a fill charges of the amount in the fee token
/// stays within it. That it is taken in that token is part of the books.
fn fees_stay_within_what_an_order_states(subject: &mut dyn Subject) -> Kept {
    let (spec, most) = (subject.market(), subject.rules().fees.stated_max_bips);
    for (n, side, price) in [(0, Side::Buy, BID), (1, Side::Sell, BID + 20_000)] {
        let placed = UnsignedOrder {
            max_fee_bips: most,
            ..order(subject, n, side, price, LOTS)
        };
        let key = place(subject, &placed)?;
        subject.take_all(side);
        let known = report(subject, key)?;
        let charged = if spec.fee_in.is_base(side) {
            known.base_filled
        } else {
            known.quote_filled
        };
        only_if(known.fee <= charged * u128::from(most) / 10_000, || {
            let fee = known.fee;
            format!("a fee of {fee} on {charged}, where at most {most} bips were stated")
        })?;
    }
    Ok(())
}

fn times_are_as_exact_as_the_rules_state(subject: &mut dyn Subject) -> Kept {
    let resolution_ms = subject.rules().clock.resolution_ms;
    for _ in 0..20 {
        subject.pass_ms(77);
        let (_, stated) = subject.ask(&Query::Balances);
        let stated = stated.ok_or("an answer about the account bears no time")?;
        let now = subject.now();
        only_if(
            stated <= now && now.ms_since(stated) < resolution_ms,
            || format!("an answer at {} has the time {}", now.0, stated.0),
        )?;
    }
    Ok(())
}
