//! `cambist replay`: a recording through the engine, every action compared.

use std::fs::File;
use std::io::BufReader;

use anyhow::Context;
use cambist_tape::{Reader, Tail, compare};
use serde_json::json;

use super::{columns, print_json, print_text};
use crate::cli::ReplayArgs;
use crate::exit::Exit;
use crate::recording;

/// Replays a tape; exit 1 at the first difference.
pub fn run(args: &ReplayArgs, json: bool) -> anyhow::Result<Exit> {
    let name = args.tape.display().to_string();
    let file = File::open(&args.tape).with_context(|| name.clone())?;
    let mut reader = Reader::open(BufReader::new(file)).with_context(|| name.clone())?;
    let mut engine = recording::Player::new(&reader)?;
    let replay = compare(&mut reader, |now, event, actions| {
        engine.hear(now, event, actions);
    })
    .with_context(|| name.clone())?;
    if let Some(failed) = engine.failure() {
        anyhow::bail!("{name}: {failed}");
    }
    let torn_at = match replay.tail {
        Some(Tail::Torn { offset }) => Some(offset),
        Some(Tail::Clean) | None => None,
    };
    if json {
        let difference = replay.first_difference.as_ref().map(|found| {
            json!({
                "event_number": found.event_number,
                "now_us": found.now.0,
                "event": found.event,
                "action_number": found.action_number,
                "on_tape": found.expected,
                "now": found.got,
            })
        });
        print_json(&json!({
            "tape": name,
            "equal": replay.is_equal(),
            "events": replay.events,
            "actions": replay.actions,
            "torn_at": torn_at,
            "first_difference": difference,
        }))?;
    } else {
        let verdict = if replay.is_equal() {
            "equal"
        } else {
            "different"
        };
        print_text(&columns(&[
            vec!["replay".to_owned(), verdict.to_owned()],
            vec!["events".to_owned(), replay.events.to_string()],
            vec!["actions".to_owned(), replay.actions.to_string()],
        ]))?;
        if let Some(offset) = torn_at {
            print_text(&format!(
                "the tape ends in the middle of a record at byte {offset}\n"
            ))?;
        }
        if let Some(found) = &replay.first_difference {
            print_text(&format!("\n{found}\n"))?;
        }
    }
    Ok(if replay.is_equal() {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}
