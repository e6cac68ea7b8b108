#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
//! Types of two programs: what the older wrote, the newer reads.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Check, Describer, History, Shape, Step, Value, describe};

mod old {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Key(pub u32);

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Side {
        Buy,
        Sell,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Order {
        pub side: Side,
        pub amount: u128,
        pub note: Option<String>,
        pub hash: [u8; 4],
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Command {
        Nothing,
        Open { order: Order, at: i64 },
        Close(Key),
        Both(Key, [u16; 2]),
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct State {
        pub scale: f64,
        pub secret: String,
        pub orders: BTreeMap<Key, Order>,
        pub commands: Vec<Command>,
        pub flag: bool,
    }
    impl PartialOrd for Key {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Key {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.cmp(&other.0)
        }
    }
    impl Eq for Key {}
}

mod new {
    use super::*;

    /// A renamed type with a variant added before the others.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Direction {
        Neither,
        Buy,
        Sell,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Order {
        pub hash: [u8; 4],
        pub direction: Direction,
        pub amount: u128,
        pub rules: Vec<u16>,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Command {
        Open { at: i64, order: Order },
        Idle,
        End(u32),
        Both(u32, [u16; 2]),
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct State {
        pub scale: f64,
        pub orders: BTreeMap<u32, Order>,
        pub commands: Vec<Command>,
        /// The length of the former secret.
        pub length: u32,
        pub flag: bool,
    }
}

const STEPS: &[Step] = &[
    Step::RenameField {
        of: "Order",
        field: "side",
        to: "direction",
    },
    Step::Remove {
        of: "Order",
        field: "note",
    },
    Step::Add {
        of: "Order",
        field: "rules",
        value: || Value::List(vec![Value::Unsigned(7)]),
    },
    Step::RenameVariant {
        of: "Command",
        variant: "Nothing",
        to: "Idle",
    },
    Step::RenameVariant {
        of: "Command",
        variant: "Close",
        to: "End",
    },
    Step::RenameField {
        of: "State",
        field: "secret",
        to: "length",
    },
    Step::ConvertField {
        of: "State",
        field: "secret",
        with: |value| match value {
            Value::Text(text) => Ok(Value::Unsigned(text.len() as u128)),
            other => Err(format!("{other:?} is no secret")),
        },
    },
];

fn text<T: for<'de> Deserialize<'de>>() -> String {
    section::<T>(&History::new("", &[]).unwrap())
}

/// The text to append to a history for a type.
fn section<T: for<'de> Deserialize<'de>>(history: &History) -> String {
    let described = describe::<T>("state").unwrap();
    history.missing(&described).unwrap_or_default()
}

fn both() -> String {
    let first = text::<old::State>();
    let history = History::new(&first, &[]).unwrap();
    format!("# a comment\n{first}{}", section::<new::State>(&history))
}

fn was() -> old::State {
    use old::{Command, Key, Order, Side, State};
    let order = |side, note: Option<&str>| Order {
        side,
        amount: u128::MAX,
        note: note.map(str::to_owned),
        hash: [1, 2, 3, 4],
    };
    State {
        scale: 0.1,
        secret: "hidden".to_owned(),
        orders: BTreeMap::from([
            (Key(1), order(Side::Buy, None)),
            (Key(70_000), order(Side::Sell, Some("quoted"))),
        ]),
        commands: vec![
            Command::Nothing,
            Command::Open {
                order: order(Side::Sell, Some("")),
                at: i64::MIN,
            },
            Command::Close(Key(5)),
            Command::Both(Key(6), [7, u16::MAX]),
        ],
        flag: true,
    }
}

fn becomes() -> new::State {
    use new::{Command, Direction, Order, State};
    let order = |direction| Order {
        hash: [1, 2, 3, 4],
        direction,
        amount: u128::MAX,
        rules: vec![7],
    };
    State {
        scale: 0.1,
        orders: BTreeMap::from([(1, order(Direction::Buy)), (70_000, order(Direction::Sell))]),
        commands: vec![
            Command::Idle,
            Command::Open {
                at: i64::MIN,
                order: order(Direction::Sell),
            },
            Command::End(5),
            Command::Both(6, [7, u16::MAX]),
        ],
        length: 6,
        flag: true,
    }
}

#[test]
fn bytes_of_an_older_program_are_read_through_the_steps() {
    let history = History::new(&both(), &[STEPS]).unwrap();
    let mut bytes = postcard::to_allocvec(&was()).unwrap();
    bytes.extend_from_slice(&postcard::to_allocvec(&was()).unwrap());
    let mut input = bytes.as_slice();
    // Two values one after the other, as inputs in a log.
    for _ in 0..2 {
        let read: new::State = history.read("state", 1, &mut input).unwrap();
        assert_eq!(read, becomes());
    }
    assert!(input.is_empty());

    let now = postcard::to_allocvec(&becomes()).unwrap();
    let read: new::State = history.read("state", 2, &mut now.as_slice()).unwrap();
    assert_eq!(read, becomes());
    assert_eq!(history.newest(), 2);
    let digest = describe::<old::State>("state").unwrap().digest();
    assert_eq!(history.version_of(digest), Some(1));
    assert_eq!(history.version_of(history.digest()), Some(2));
    assert_eq!(history.version_of(1), None);
}

#[test]
fn truncated_and_invalid_bytes_are_refused() {
    let history = History::new(&both(), &[STEPS]).unwrap();
    let bytes = postcard::to_allocvec(&was()).unwrap();
    for length in 0..bytes.len() {
        let read = history.read::<new::State>("state", 1, &mut &bytes[..length]);
        assert!(read.is_err(), "{length} bytes of {}", bytes.len());
    }
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 0xff;
        // It is read or refused, without a panic.
        let _ = history.read::<new::State>("state", 1, &mut broken.as_slice());
    }
    let read = history.read::<new::State>("state", 3, &mut bytes.as_slice());
    assert!(read.is_err(), "there is no third version");
}

#[test]
fn every_difference_needs_its_step_and_every_step_a_difference() {
    let text = both();
    for left_out in 0..STEPS.len() {
        let mut steps = STEPS.to_vec();
        let gone = steps.remove(left_out);
        let refused = History::new(&text, &[&steps]).err();
        assert!(refused.is_some(), "not missed: {gone}");
    }
    let mut steps = STEPS.to_vec();
    steps.push(Step::Remove {
        of: "Order",
        field: "colour",
    });
    let refused = History::new(&text, &[&steps]).unwrap_err().to_string();
    assert!(refused.contains("remove Order.colour"), "{refused}");

    let mut steps = STEPS.to_vec();
    steps[2] = Step::Add {
        of: "Order",
        field: "rules",
        value: || Value::Text("seven".to_owned()),
    };
    let refused = History::new(&text, &[&steps]).unwrap_err().to_string();
    assert!(refused.contains("Order.rules"), "{refused}");
    assert!(History::new(&text, &[]).is_err() && History::new(&text, &[STEPS, &[]]).is_err());
}

#[test]
fn a_step_that_cannot_convert_is_named() {
    let mut steps = STEPS.to_vec();
    steps[6] = Step::ConvertField {
        of: "State",
        field: "secret",
        with: |_| Err("no longer".to_owned()),
    };
    let history = History::new(&both(), &[&steps]).unwrap();
    let bytes = postcard::to_allocvec(&was()).unwrap();
    let refused = history.read::<new::State>("state", 1, &mut bytes.as_slice());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "convert State.secret: no longer"
    );
}

#[test]
fn a_type_may_be_converted_at_every_place_of_its_use() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct State {
        one: old::Side,
        all: Vec<old::Side>,
    }
    mod later {
        use super::*;
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        pub struct State {
            pub one: i8,
            pub all: Vec<i8>,
        }
    }
    let steps = [Step::Convert {
        of: "Side",
        with: |value| match value {
            Value::Variant(name, _) if name == "Buy" => Ok(Value::Signed(1)),
            _ => Ok(Value::Signed(-1)),
        },
    }];
    let first = text::<State>();
    let second = section::<later::State>(&History::new(&first, &[]).unwrap());
    let history = History::new(&format!("{first}{second}"), &[&steps]).unwrap();
    let bytes = postcard::to_allocvec(&State {
        one: old::Side::Sell,
        all: vec![old::Side::Buy, old::Side::Sell],
    });
    let read: later::State = history
        .read("state", 1, &mut bytes.unwrap().as_slice())
        .unwrap();
    let all = vec![1, -1];
    assert_eq!(read, later::State { one: -1, all });
}

#[test]
fn names_of_types_may_change_and_those_of_fields_may_not() {
    let described = describe::<new::State>("state").unwrap();
    let history = History::new(&text::<new::State>().replace("Direction", "Way"), &[]).unwrap();
    assert_eq!(history.missing(&described), None);
    let renamed = text::<new::State>().replace("direction", "way");
    let history = History::new(&renamed, &[]).unwrap();
    let missing = history.missing(&described).unwrap();
    let change = "change Order\n  - way\n  @ hash\n  direction: Direction\n";
    assert!(missing.contains(change), "{missing}");
    let check = Check {
        history: &history,
        described,
        file: Path::new("types.txt"),
    };
    let message = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check.assert()));
    let message = message.unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("Order.way was removed without a step"),
        "{message}"
    );
}

#[test]
fn every_variant_is_described_and_types_of_one_name_are_distinguished() {
    mod other {
        use super::*;
        #[derive(Serialize, Deserialize)]
        pub struct Order(bool, char);
        #[derive(Serialize, Deserialize)]
        pub struct Mark;
    }
    #[derive(Serialize, Deserialize)]
    struct All {
        order: old::Order,
        other: other::Order,
        mark: other::Mark,
        command: Option<old::Command>,
        pairs: BTreeMap<u8, (i8, f32)>,
        sized: usize,
    }
    let schema = Describer::default()
        .root::<All>("all")
        .unwrap()
        .root::<old::Command>("command")
        .unwrap()
        .finish()
        .unwrap();
    let history = History::new("", &[]).unwrap();
    let text = history.missing(&schema).unwrap();
    let expected = "\
version 1
root all = All
root command = Command
struct All
  order: Order
  other: Order#2
  mark: Mark
  command: Command?
  pairs: {u8: (i8, f32)}
  sized: u64
enum Command
  Nothing
  Open
    order: Order
    at: i64
  Close(Key)
  Both(Key, [u16; 2])
newtype Key u32
unit Mark
struct Order
  side: Side
  amount: u128
  note: str?
  hash: [u8; 4]
tuple Order#2 (bool, char)
enum Side
  Buy
  Sell
";
    assert_eq!(text, expected);
    // The text is complete.
    let read = History::new(&text, &[]).unwrap();
    assert_eq!(read.schema(), Some(&schema));
    assert_eq!(read.missing(&schema), None);
    let wrong = text.replace("[u16; 2]", "[u16; two]");
    let refused = History::new(&wrong, &[]).unwrap_err().to_string();
    assert!(refused.contains("line 16"), "{refused}");
}

#[test]
fn only_the_changes_of_a_long_type_are_written() {
    mod one {
        use super::*;
        #[derive(Serialize, Deserialize)]
        pub enum Note {
            First,
            Second { at: u64 },
            Third(u8),
            Fourth,
            Fifth { market: String, amount: u128 },
        }
        #[derive(Serialize, Deserialize)]
        pub struct State {
            pub notes: Vec<Note>,
            pub alpha: u64,
            pub beta: u64,
            pub gamma: u64,
            pub delta: u64,
        }
    }
    mod two {
        use super::*;
        #[derive(Serialize, Deserialize)]
        pub enum Note {
            Zeroth(u8, Option<u16>),
            First,
            Second { at: u64, to: u64 },
            Fourth,
            Fifth { market: String, amount: u128 },
            Sixth { map: BTreeMap<u8, u8> },
        }
        #[derive(Serialize, Deserialize)]
        pub struct State {
            pub notes: Vec<Note>,
            pub alpha: u64,
            pub beta: u64,
            pub extra: BTreeMap<u8, String>,
            pub gamma: u64,
        }
    }
    let first = text::<one::State>();
    let second = section::<two::State>(&History::new(&first, &[]).unwrap());
    let expected = "\
version 2
change Note
  - Second
  - Third
  @
  Zeroth(u8, u16?)
  @ First
  Second
    at: u64
    to: u64
  @ Fifth
  Sixth
    map: {u8: u8}
change State
  - delta
  @ beta
  extra: {u8: str}
";
    assert_eq!(second, expected);
    let steps = [
        Step::Convert {
            of: "Note",
            with: |_| Ok(Value::unit_variant("First")),
        },
        Step::Add {
            of: "State",
            field: "extra",
            value: || Value::Map(Vec::new()),
        },
        Step::Remove {
            of: "State",
            field: "delta",
        },
    ];
    let history = History::new(&format!("{first}{second}"), &[&steps]).unwrap();
    let described = describe::<two::State>("state").unwrap();
    assert_eq!(history.schema(), Some(&described));
    for wrong in ["- delta", "@ beta", "change Note"] {
        let text = format!(
            "{first}{}",
            second.replace(
                wrong,
                &wrong.replace(|letter: char| letter.is_lowercase(), "x")
            )
        );
        assert!(History::new(&text, &[&steps]).is_err(), "{wrong}");
    }
}

#[test]
fn a_type_that_needs_names_or_refuses_generated_values_is_not_described() {
    #[derive(Debug, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        #[expect(dead_code, reason = "only asked for")]
        rest: BTreeMap<String, u8>,
    }
    #[derive(Debug)]
    struct Positive;
    impl<'de> Deserialize<'de> for Positive {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            match u8::deserialize(from)? {
                0 => Err(serde::de::Error::custom("zero")),
                _ => Ok(Self),
            }
        }
    }
    assert!(describe::<Flat>("flat").is_err());
    let refused = describe::<Positive>("positive").unwrap_err().to_string();
    assert!(refused.contains("zero"), "{refused}");
}

#[test]
fn unsigned_numbers_become_signed_ones_as_deep_as_maps_and_options_go() {
    let map = |value| Value::Map(vec![(Value::Unsigned(7), value)]);
    let nested = |value| Value::some(map(value));
    assert_eq!(
        nested(Value::Unsigned(5)).into_signed(),
        Ok(nested(Value::Signed(5)))
    );
    assert_eq!(Value::NONE.into_signed(), Ok(Value::NONE));
    assert!(Value::Unsigned(u128::MAX).into_signed().is_err());
    assert!(Value::Bool(true).into_signed().is_err());
}

#[test]
fn values_are_the_bytes_they_came_from() {
    let schema = describe::<old::State>("state").unwrap();
    let root = Shape::Named("State".to_owned());
    let bytes = postcard::to_allocvec(&was()).unwrap();
    let value = schema.decode(&root, &mut bytes.as_slice()).unwrap();
    assert_eq!(value.field("flag"), Some(&Value::Bool(true)));
    let mut again = Vec::new();
    schema.encode(&root, &value, &mut again).unwrap();
    assert_eq!(again, bytes);

    let mut wrong = value.clone();
    *wrong.field_mut("flag").unwrap() = Value::Unsigned(2);
    let refused = schema.encode(&root, &wrong, &mut Vec::new()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the bytes are not a valid bool in State.flag"
    );
}
