//! Writes the whole exchange as text: lines of JSON that other programs can read (docs/dump.md).
//!
//! Types are those of the newest version (`types.txt`). Every piece of the state is one line. The last line has the
//! number of lines and a digest, so that a truncated dump is detected.

use std::io::Write;
use std::path::Path;

use cambist_schema::{Piece, Value, WireError};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::backup::retry_if_changed;
use super::disk::{Disk, Folder};
use super::manifest::hex;
use super::recover::recover;
use super::{DataError, versions};
use crate::durable::json_values::to_json;
use cambist_host::program;

/// Version of the line format.
pub(super) const FORM: u64 = 1;

/// Name of the root in the paths of pieces.
pub(super) const ROOT: &str = "state";

/// Path of the accounts.
pub(super) const ACCOUNTS: &str = "state.venue.accounts";

/// Contents of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpFacts {
    /// Inputs since the exchange was created.
    pub position: u64,
    /// Number of accounts, those of simulated traders and of the operator included.
    pub accounts: u64,
    /// Number of open orders.
    pub open_orders: u64,
    /// Number of lines.
    pub lines: u64,
    /// Name, version and commit of the program that wrote it.
    pub program: String,
    /// Version of the stored types.
    pub version: u32,
}

/// Writes the exchange in a data folder or copy, which may be running, as a dump. Changes nothing.
pub fn dump(data: &Path, out: &mut dyn Write) -> Result<DumpFacts, DataError> {
    let disk = Folder::open_for_reading(data)?;
    let recovered = retry_if_changed(|| recover(&disk, None))?;
    let venue = &recovered.state.venue;
    venue.audit().map_err(DataError::Audit)?;
    let failed = |what: String| DataError::Dump {
        place: disk.name(),
        what,
    };
    let history = versions::history();
    let schema = history.schema();
    let root = schema.and_then(|schema| Some((schema, schema.roots.get(versions::STATE)?)));
    let (schema, root) =
        root.ok_or_else(|| failed("its types are not in the history of stored types".to_owned()))?;
    let mut facts = DumpFacts {
        position: recovered.place.position,
        open_orders: venue.open_orders() as u64,
        program: program::build().name.to_owned(),
        version: history.newest(),
        ..DumpFacts::default()
    };
    let mut lines = Lines {
        out,
        sum: Sha256::new(),
        count: 0,
    };
    lines.put(&json!({
        "dump": FORM,
        "program": facts.program,
        "version": facts.version,
        "types": format!("{:#010x}", history.digest()),
        "folder": hex(&recovered.folder.0),
        "inputs": facts.position,
        "chain": hex(&recovered.place.chain.0),
        "time_ms": venue.now().0,
        "open_orders": facts.open_orders,
    }))?;
    let bytes = postcard::to_stdvec(&recovered.state).map_err(|error| failed(error.to_string()))?;
    drop(recovered);
    let mut rest = bytes.as_slice();
    let made = schema.take_apart::<LineError>(root, ROOT, &mut rest, &mut |at, piece, value| {
        let json = |shape, value| {
            to_json(schema, shape, value)
                .ok_or_else(|| failed(format!("{at} is not a valid {shape}")))
        };
        let line = match (piece, &value) {
            (Piece::Entries, Value::Unsigned(count)) => {
                let count = u64::try_from(*count).unwrap_or(u64::MAX);
                if at == ACCOUNTS {
                    facts.accounts = count;
                }
                json!({"at": at, "entries": count})
            }
            (Piece::Pair(key, content), Value::List(pair)) if pair.len() == 2 => {
                json!({"at": at, "key": json(key, &pair[0])?, "value": json(content, &pair[1])?})
            }
            (Piece::Value(shape) | Piece::Entry(shape), value) => {
                json!({"at": at, "value": json(shape, value)?})
            }
            _ => return Err(failed(format!("{at} is not a value of the state")).into()),
        };
        Ok(lines.put(&line)?)
    });
    made.map_err(|problem| match problem {
        LineError::Data(error) => *error,
        LineError::Wire(error) => failed(error.to_string()),
    })?;
    let sum = hex(&lines.sum.clone().finalize());
    let count = lines.count;
    lines.put(&json!({"end": count, "sha256": sum}))?;
    lines.out.flush().map_err(io)?;
    facts.lines = lines.count;
    Ok(facts)
}

/// Errors of writing or reading a dump.
pub(super) enum LineError {
    Data(Box<DataError>),
    Wire(WireError),
}

impl From<DataError> for LineError {
    fn from(error: DataError) -> Self {
        Self::Data(Box::new(error))
    }
}

impl From<WireError> for LineError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

fn io(error: std::io::Error) -> DataError {
    DataError::io("writing the dump", error)
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    sum: Sha256,
    count: u64,
}

impl Lines<'_> {
    fn put(&mut self, line: &Json) -> Result<(), DataError> {
        let text = format!("{line}\n");
        self.sum.update(text.as_bytes());
        self.count += 1;
        self.out.write_all(text.as_bytes()).map_err(io)
    }
}
