//! Arbitrary events and actions, generated without naming a field: small random bytes are decoded as the wanted type
//! until they are valid. Fields that core adds later are covered without a change.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::notification::Notification;
use cambist_core::request::Outcome;
use serde::de::DeserializeOwned;

use crate::record::{Header, StrategyText};
use crate::writer::Writer;

/// One event, its time and its actions.
pub type Turn = (Time, Event, Vec<Action>);

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Mostly small numbers, which are valid flags, tags and lengths; sometimes a long one. The share of zeros is drawn
    /// as well, because a value with many parts only decodes if most of them are empty.
    fn bytes(&mut self) -> Vec<u8> {
        let tag = u8::try_from(self.below(64)).unwrap();
        let mut bytes = vec![tag];
        let empty = self.below(20);
        while bytes.len() < 2_000 {
            if self.below(20) < empty {
                bytes.push(0);
                continue;
            }
            match self.below(20) {
                0..8 => bytes.push(0),
                8..14 => bytes.push(1),
                14..19 => bytes.push(u8::try_from(self.below(40)).unwrap()),
                // The longest encoding of a 64-bit number.
                _ => bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            }
        }
        bytes
    }

    pub fn any<T: DeserializeOwned>(&mut self) -> T {
        for _ in 0..100_000 {
            if let Ok((value, _)) = postcard::take_from_bytes(&self.bytes()) {
                return value;
            }
        }
        panic!("no bytes decode as {}", std::any::type_name::<T>());
    }
}

pub fn turns(random: &mut Random, count: u64) -> Vec<Turn> {
    (0..count)
        .map(|number| {
            let actions = (0..random.below(4)).map(|_| action(random)).collect();
            (Time(number), event(random), actions)
        })
        .collect()
}

/// Kinds with many kinds inside are drawn more often.
fn event(random: &mut Random) -> Event {
    // The largest of all, which random bytes hardly ever decode to.
    if random.below(300) == 0 {
        return Event::Start(random.any());
    }
    if random.below(2) == 0 {
        return random.any();
    }
    Event::Answer {
        request: random.any(),
        outcome: match random.below(10) {
            0 => random.any(),
            _ => Outcome::Reply(random.any()),
        },
        venue_time: random.any(),
        retry_after_ms: random.any(),
        cost_beyond: random.any(),
    }
}

fn action(random: &mut Random) -> Action {
    // As large as the start.
    if random.below(300) == 0 {
        return Action::Notify(Notification::Status(random.any()));
    }
    if random.below(2) == 0 {
        random.any()
    } else {
        Action::Notify(random.any())
    }
}

pub fn header() -> Header {
    Header {
        program: "0.1.0".to_owned(),
        config: "config_version = 1\n".to_owned(),
        config_hash: "00ff".to_owned(),
        strategies: vec![StrategyText {
            name: "bands".to_owned(),
            market: cambist_core::MarketId(0),
            parameters: String::new(),
        }],
    }
}

pub fn written(turns: &[Turn], snapshot: Option<&[u8]>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header(), snapshot).unwrap();
    for (now, event, actions) in turns {
        writer.write_event(*now, event).unwrap();
        writer.write_actions(actions).unwrap();
    }
    let length = writer.written();
    let tape = writer.finish().unwrap();
    assert_eq!(tape.len() as u64, length);
    tape
}
