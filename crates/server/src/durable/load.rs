//! Creates a data folder from a dump, also one of an earlier version or an edited one.

use std::io::BufRead;
use std::path::Path;

use cambist_schema::{Piece, Value};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::dump::{ACCOUNTS, DumpFacts, FORM, LineError, ROOT};
use super::manifest::hex;
use super::{DataError, versions};
use crate::durable::data_folder::DataFolder;
use crate::durable::json_values::from_json;
use crate::state::State;

/// Most bytes of a line; an account with a long history has some megabytes.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Creates an exchange in the folder `data`, which must be empty or must not exist, from a dump. Nothing is written
/// before the whole dump was read and the books add up. With `edited` the digest is not compared, because the dump was
/// changed on purpose.
pub fn load(
    from: &str,
    input: &mut dyn BufRead,
    data: &Path,
    edited: bool,
) -> Result<DumpFacts, DataError> {
    let mut lines = Lines {
        from,
        input,
        sum: Sha256::new(),
        count: 0,
    };
    let (state, facts) = read(&mut lines, edited)?;
    state.venue.audit().map_err(DataError::Audit)?;
    let folder = DataFolder::take(data)?;
    drop(folder.create(state)?);
    Ok(facts)
}

fn read(lines: &mut Lines<'_>, edited: bool) -> Result<(State, DumpFacts), DataError> {
    let head = lines.next()?;
    if head["dump"] != FORM {
        let what = if head["dump"].is_u64() {
            "the format of the dump is not supported by this program: load it with the program that made it"
        } else {
            "not a dump: the first line of a dump has the field \"dump\""
        };
        return Err(lines.problem(what));
    }
    let number = |name: &str| head[name].as_u64().unwrap_or_default();
    let program = head["program"].as_str().unwrap_or("another program");
    let history = versions::history();
    let version = head["types"]
        .as_str()
        .and_then(|text| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok())
        .and_then(|types| history.version_of(types));
    let known = version.and_then(|version| Some((version, history.schema_of(version)?)));
    let Some((version, schema)) = known else {
        return Err(lines.problem(format!(
            "made by {program} with stored types of version {}, but this program supports versions up to {}: load it with that program or a later one",
            head["version"],
            history.newest()
        )));
    };
    let root = schema.roots.get(versions::STATE);
    let root = root.ok_or_else(|| lines.problem("its version of stored types has no state"))?;
    let (mut bytes, mut accounts) = (Vec::new(), 0);
    let made = schema.put_together::<LineError>(root, ROOT, &mut bytes, &mut |at, piece| {
        let line = lines.next()?;
        if line["at"] != at {
            let what = format!("expected {at}, found {}", line["at"]);
            return Err(lines.problem(what).into());
        }
        let read = |shape, name: &str| {
            let json = line
                .get(name)
                .ok_or_else(|| format!("{at}: {name} is missing"))?;
            from_json(schema, shape, json).map_err(|what| format!("{at}: {what}"))
        };
        let value = match piece {
            Piece::Entries => {
                let count = line["entries"].as_u64();
                if at == ACCOUNTS {
                    accounts = count.unwrap_or_default();
                }
                count
                    .map(|count| Value::Unsigned(count.into()))
                    .ok_or_else(|| format!("{at}: entries is not a number"))
            }
            Piece::Value(shape) | Piece::Entry(shape) => read(shape, "value"),
            Piece::Pair(key, content) => {
                read(key, "key").and_then(|key| Ok(Value::List(vec![key, read(content, "value")?])))
            }
        };
        value.map_err(|what| lines.problem(what).into())
    });
    made.map_err(|problem| match problem {
        LineError::Data(error) => *error,
        LineError::Wire(error) => lines.problem(error.to_string()),
    })?;
    let (count, sum) = (lines.count, hex(&lines.sum.clone().finalize()));
    let end = lines.next()?;
    if end["end"].is_null() {
        return Err(lines.problem("expected the last line, found more of the state"));
    }
    if !edited && (end["end"] != count || end["sha256"] != sum) {
        return Err(lines.problem(
            "the dump was changed: its lines do not match the digest in the last line (use --edited for a dump that was changed on purpose)",
        ));
    }
    if !lines.is_over()? {
        return Err(lines.problem("unexpected data after the end"));
    }
    let mut rest = bytes.as_slice();
    let state: Result<State, _> = history.read(versions::STATE, version, &mut rest);
    let state = state.map_err(|error| lines.problem(format!("the state is not valid: {error}")))?;
    let facts = DumpFacts {
        position: number("inputs"),
        accounts,
        open_orders: state.venue.open_orders() as u64,
        lines: lines.count,
        program: program.to_owned(),
        version,
    };
    Ok((state, facts))
}

struct Lines<'a> {
    from: &'a str,
    input: &'a mut dyn BufRead,
    sum: Sha256,
    count: u64,
}

impl Lines<'_> {
    /// An error at the line that was read last.
    fn problem(&self, what: impl Into<String>) -> DataError {
        DataError::Dump {
            place: format!("{}, line {}", self.from, self.count),
            what: what.into(),
        }
    }

    fn next(&mut self) -> Result<Json, DataError> {
        let text = self.line()?;
        self.count += 1;
        if !text.ends_with(b"\n") {
            let what = if text.len() as u64 == LINE_BYTES_MAX {
                "the line is too long"
            } else {
                "the dump ends here: it was truncated"
            };
            return Err(self.problem(what));
        }
        self.sum.update(&text);
        serde_json::from_slice(&text)
            .map_err(|error| self.problem(format!("not valid JSON: {error}")))
    }

    fn is_over(&mut self) -> Result<bool, DataError> {
        Ok(self.line()?.is_empty())
    }

    fn line(&mut self) -> Result<Vec<u8>, DataError> {
        use std::io::Read;
        let mut text = Vec::new();
        let read = (&mut *self.input)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut text);
        read.map_err(|error| DataError::io(self.from, error))?;
        Ok(text)
    }
}
