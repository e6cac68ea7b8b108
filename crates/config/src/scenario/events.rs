//! `[[event]]`: timed events, as entries of the traders' timelines and as lines for display.

use cambist_core::MarketSpec;
use cambist_venue::ExchangeMode;
use cambist_venue::agents::{MarketEvent, Regime, TimedEvent};

use super::{MarketTraders, Run};
use crate::reader::{At, Section};
use crate::traders::REGIMES;
use crate::value::small;

/// One event, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Milliseconds since the traders started.
    pub at_ms: u64,
    /// Description of the event.
    pub text: String,
}

/// Latest start and longest duration of an event: one day.
const TIME_MAX_S: u64 = 86_400;

const MODES: &[(&str, ExchangeMode)] = &[
    ("post-only", ExchangeMode::PostOnly),
    ("cancel-only", ExchangeMode::CancelOnly),
    ("halted", ExchangeMode::Halted),
];

/// Keys of which an event has exactly one.
const KINDS: [&str; 6] = [
    "jump_bps",
    "regime",
    "liquidity_percent",
    "drain_percent",
    "mode",
    "refuse",
];

/// Reads the events into the timelines of the traders.
pub(super) fn read(
    sections: Vec<Section<'_, '_>>,
    markets: &[MarketSpec],
    run: Run,
    traders: &mut [MarketTraders],
) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    let mut whole = true;
    for section in sections {
        match one(section, markets, run, traders) {
            Some(read) => events.extend(read),
            None => whole = false,
        }
    }
    events.sort_by_key(|event| event.at_ms);
    for one in traders {
        one.agents.timeline.sort_by_key(|moment| moment.at_ms);
    }
    whole.then_some(events)
}

/// Reads one event, and its end if it has one.
fn one(
    mut section: Section<'_, '_>,
    markets: &[MarketSpec],
    run: Run,
    traders: &mut [MarketTraders],
) -> Option<Vec<Event>> {
    let at_ms = time(&mut section, ["at_s", "at_percent"], run);
    let for_ms = time(&mut section, ["for_s", "for_percent"], run);
    let market = section.opt::<String>("market");
    let kind = kind(&mut section);
    let found = find_traders(&section, markets, traders, market.as_ref());
    let (at, needs_end) = (
        section.at(),
        matches!(
            kind,
            Some((MarketEvent::Mode(_) | MarketEvent::Refuse(_), _))
        ),
    );
    let Some(at_ms) = at_ms else {
        section.problem(at, "event.at_s or event.at_percent is missing");
        section.finish();
        return None;
    };
    if needs_end && for_ms.is_none() {
        let what = "event.for_s or event.for_percent is missing: an outage needs an end";
        section.problem(at, what);
    }
    section.finish();
    let (what, text) = kind?;
    let traders = found?;
    traders.agents.timeline.push(TimedEvent { at_ms, what });
    let end = for_ms.and_then(|for_ms| Some((at_ms.saturating_add(for_ms), undo(what)?)));
    let mut events = vec![Event { at_ms, text }];
    if let Some((at_ms, (what, text))) = end {
        traders.agents.timeline.push(TimedEvent { at_ms, what });
        let text = text.to_owned();
        events.push(Event { at_ms, text });
    }
    Some(events)
}

/// Reads a time in seconds or as a percentage of the run; both together are an error.
fn time(
    section: &mut Section<'_, '_>,
    [seconds, percent]: [&'static str; 2],
    run: Run,
) -> Option<u64> {
    let written = section.opt::<u64>(seconds);
    let share = section.opt::<u64>(percent);
    if let (Some(_), Some(share)) = (&written, &share) {
        section.problem(
            share.at,
            format!("{seconds} and {percent} exclude each other"),
        );
    }
    let bounded = |found: At<u64>, key: &str, most: u64| {
        if found.value > most {
            let what = format!("event.{key} = {} is outside 0 to {most}", found.value);
            section.problem(found.at, what);
        }
        found.value.min(most)
    };
    match (written, share) {
        (Some(found), _) => Some(bounded(found, seconds, TIME_MAX_S) * 1_000),
        (None, Some(found)) => {
            let share = bounded(found, percent, 100);
            Some(run.duration_ms / 100 * share + run.duration_ms % 100 * share / 100)
        }
        (None, None) => None,
    }
}

/// Reads the kind of the event and its description.
fn kind(section: &mut Section<'_, '_>) -> Option<(MarketEvent, String)> {
    let written: Vec<_> = KINDS.into_iter().filter(|key| section.has(key)).collect();
    let jump = section.opt::<i64>("jump_bps");
    let regime = section.word("regime", REGIMES, Regime::Calm);
    let up = section.word(
        "direction",
        &[("up", Some(true)), ("down", Some(false))],
        None,
    );
    let liquidity = section.number("liquidity_percent", 0, 0..=100);
    let drain = section.number("drain_percent", 0, 0..=100);
    let mode = section.word("mode", MODES, ExchangeMode::Halted);
    let refuse = section.or("refuse", true);
    let at = section.at();
    let [key] = written[..] else {
        let what = format!(
            "an event has exactly one of {}; this one has {}",
            KINDS.join(", "),
            written.len()
        );
        section.problem(at, what);
        return None;
    };
    if up.value.is_some() && key != "regime" {
        section.problem(up.at, "event.direction belongs to a regime");
    }
    Some(match key {
        "jump_bps" => {
            let jump = jump?;
            let bps = i32::try_from(jump.value).ok();
            let Some(bps) = bps.filter(|bps| (-9_000..=90_000).contains(bps)) else {
                let what = format!("event.jump_bps = {} is outside -9000 to 90000", jump.value);
                section.problem(jump.at, what);
                return None;
            };
            let (way, size) = (if bps < 0 { "falls" } else { "rises" }, bps.unsigned_abs());
            let text = format!(
                "the price {way} by {}.{:02} % at once",
                size / 100,
                size % 100
            );
            (MarketEvent::Jump { bps }, text)
        }
        "regime" => {
            let (regime, up) = (regime.value, up.value);
            let text = match (regime, up) {
                (Regime::Calm, _) => "the market turns calm",
                (Regime::Trending, None) => "the market trends",
                (Regime::Trending, Some(true)) => "the market trends upwards",
                (Regime::Trending, Some(false)) => "the market trends downwards",
                (Regime::Volatile, _) => "the market turns volatile",
            };
            (MarketEvent::Regime { regime, up }, text.to_owned())
        }
        "liquidity_percent" => {
            let percent = small(liquidity.value);
            let text = format!("liquidity providers show {percent} % of what they did");
            (MarketEvent::Liquidity { percent }, text)
        }
        "drain_percent" => {
            let percent = small(drain.value);
            (
                MarketEvent::Drain { percent },
                format!("{percent} % of the pool is taken out"),
            )
        }
        "mode" => {
            let text = match mode.value {
                ExchangeMode::Open => "the exchange is open",
                ExchangeMode::PostOnly => "the exchange takes only orders that rest",
                ExchangeMode::CancelOnly => "the exchange takes only cancels",
                ExchangeMode::Halted => {
                    "the exchange is halted: requests are answered only if they read"
                }
            };
            (MarketEvent::Mode(mode.value), text.to_owned())
        }
        _ => {
            if !refuse.value {
                section.problem(
                    refuse.at,
                    "event.refuse = false has no effect; remove the key",
                );
            }
            let text = "the exchange fails every request";
            (MarketEvent::Refuse(true), text.to_owned())
        }
    })
}

/// What ends an event of limited duration.
const fn undo(what: MarketEvent) -> Option<(MarketEvent, &'static str)> {
    match what {
        MarketEvent::Liquidity { .. } => {
            Some((MarketEvent::Liquidity { percent: 100 }, "liquidity is back"))
        }
        MarketEvent::Mode(_) => Some((
            MarketEvent::Mode(ExchangeMode::Open),
            "the exchange is open again",
        )),
        MarketEvent::Refuse(_) => Some((MarketEvent::Refuse(false), "the exchange answers again")),
        MarketEvent::Regime { .. } => Some((
            MarketEvent::Regime {
                regime: Regime::Calm,
                up: None,
            },
            "the market turns calm",
        )),
        // Jumps and drained pools are not undone at the end of an event.
        MarketEvent::Jump { .. } | MarketEvent::Drain { .. } => None,
    }
}

/// The traders of the market that an event names; without a name, those of the first market.
fn find_traders<'c>(
    section: &Section<'_, '_>,
    markets: &[MarketSpec],
    traders: &'c mut [MarketTraders],
    name: Option<&At<String>>,
) -> Option<&'c mut MarketTraders> {
    let Some(name) = name else {
        return traders.first_mut();
    };
    let market = markets.iter().find(|market| market.name == name.value);
    let found = market.and_then(|market| {
        traders
            .iter_mut()
            .find(|one| one.agents.market == market.id)
    });
    if found.is_none() {
        section.problem(name.at, "event.market has no [[traders]] in this file");
    }
    found
}
