//! The table of limits compared with the parser and the page generated from it.

use std::fmt::Write;

use cambist_core::limits::{self, About, Unit};

use super::example;
use crate::config::Daemon;
use crate::config::limits::usual;
use crate::config::reader::Source;

const PAGE: &str = include_str!("../../../../../docs/limits.md");

fn table() -> String {
    let mut text = String::from(
        "| key | unit | default | range | looser | controls | what it limits |\n|---|---|---|---|---|---|---|\n",
    );
    for about in limits::all() {
        let range = about.range.as_ref();
        let range = range
            .filter(|_| about.unit != Unit::Flag)
            .map_or_else(String::new, |range| {
                format!("{} to {}", range.start(), range.end())
            });
        let default = match (about.unit, usual(about.usual).as_str()) {
            (Unit::Flag, number) => (number != "0").to_string(),
            (_, other) => other.to_owned(),
        };
        let controls = about
            .controls()
            .map(|control| format!("`{}`", control.name()));
        let controls = controls.collect::<Vec<_>>().join(", ");
        let (name, unit) = (about.name, about.unit.name());
        let (looser, sentence) = (about.looser.name(), about.sentence());
        writeln!(
            text,
            "| `{name}` | {unit} | {default} | {range} | {looser} | {controls} | {sentence} |"
        )
        .unwrap();
    }
    text
}

#[test]
fn the_page_of_limits_is_generated_from_the_table() {
    let (_, rest) = PAGE.split_once("<!-- limits: begin -->\n").unwrap();
    let (found, _) = rest.split_once("<!-- limits: end -->").unwrap();
    let expected = table();
    assert!(
        found == expected,
        "docs/limits.md should hold\n\n{expected}"
    );
}

/// Parses the example with one number set.
fn with(about: &About, value: i64) -> Result<Daemon, String> {
    let mut file: toml::Table = example("demo.toml").text.parse().unwrap();
    let mut table = &mut file;
    for part in about.section.split('.') {
        let entry = table
            .entry(part)
            .or_insert_with(|| toml::Table::new().into());
        table = match entry {
            toml::Value::Array(sections) => sections[0].as_table_mut().unwrap(),
            section => section.as_table_mut().unwrap(),
        };
    }
    table.insert(about.key.to_owned(), value.into());
    let source = Source {
        path: "f.toml".into(),
        text: toml::to_string(&file).unwrap(),
    };
    Daemon::parse(&source).map_err(|error| error.to_string())
}

#[test]
fn every_number_is_read_within_its_range_and_refused_beside_it() {
    let numbers = limits::all()
        .into_iter()
        .filter(|about| about.unit != Unit::Flag);
    let mut checked = 0;
    for about in numbers {
        let Some(range) = &about.range else { continue };
        let [least, most] = [range.start(), range.end()].map(|end| i64::try_from(*end).unwrap());
        let outside = |value| format!("{} = {value} is outside {least} to {most}", about.name);
        // Another rule may refuse an end of the range.
        for value in [least, most] {
            let refused = with(about, value).err().unwrap_or_default();
            assert!(!refused.contains(&outside(value)), "{refused}");
            assert!(!refused.contains("unknown key"), "{refused}");
        }
        for value in [least - 1, most + 1] {
            let refused = with(about, value).expect_err(about.name);
            let what = if value < 0 {
                about.name.to_owned()
            } else {
                outside(value)
            };
            assert!(refused.contains(&what), "{refused}");
        }
        checked += 1;
    }
    assert!(checked > 40, "{checked} numbers");
}

/// The engine gets the value in the file, key by key.
#[test]
fn every_limit_of_the_example_reaches_the_engine() {
    let daemon = Daemon::parse(&example("cambist.toml")).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    let file: toml::Table = daemon.source.text.parse().unwrap();
    let mut checked = 0;
    for limit in limits::in_force(&bound.engine, &bound.markets, &[]) {
        let about = limit.about;
        let market = file["market"][0].as_table().unwrap();
        let section = match about.section {
            "market" => Some(market),
            name => file.get(name).and_then(toml::Value::as_table),
        };
        let Some(written) = section.and_then(|section| section.get(about.key)) else {
            continue;
        };
        let written = written
            .as_str()
            .map_or_else(|| written.to_string(), str::to_owned);
        if about.name == limits::GROSS_MAX.about.name {
            continue;
        }
        let bare = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        assert_eq!(bare(&limit.value), bare(&written), "{}", about.name);
        checked += 1;
    }
    assert!(checked > 40, "{checked} limits");
}
