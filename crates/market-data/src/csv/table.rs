//! Records of a CSV file with their line numbers, and whether the last one is complete.

use std::io::{self, BufRead, BufReader, Read};

use ::csv::{ByteRecord, ErrorKind, Position, ReaderBuilder, Trim};

use super::CsvOptions;
use crate::columns::Columns;
use crate::defect::{Defect, Place, Result};
use crate::first_bytes::BYTE_ORDER_MARK;
use crate::report::Inspector;
use crate::shell::word;
use crate::units::Units;

/// Reads records in succession, one ahead, so that the last one is known.
pub struct Table {
    reader: ::csv::Reader<BufReader<LastByte>>,
    pub inspector: Inspector,
    /// Lines before the header.
    comments: u64,
    /// Cells of the header.
    width: usize,
    /// The current record.
    pub record: ByteRecord,
    ahead: Option<ByteRecord>,
    /// The record to return once more.
    pub again: Option<Row>,
    /// Line of the current record.
    line: u64,
}

/// Position of a record.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub place: Place,
    /// Whether the file ends within it.
    cut: bool,
}

/// Keeps the last byte, which shows whether the last line is complete.
pub struct LastByte {
    input: Box<dyn Read + Send>,
    last: u8,
}

impl Read for LastByte {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.input.read(buffer)?;
        if let Some(last) = buffer[..got].last() {
            self.last = *last;
        }
        Ok(got)
    }
}

impl Table {
    /// Reads comments and header.
    pub fn begin(
        input: Box<dyn Read + Send>,
        inspector: Inspector,
        options: &CsvOptions,
    ) -> Result<(Self, Columns, Units)> {
        let input = LastByte { input, last: 0 };
        let mut input = BufReader::with_capacity(64 << 10, input);
        let mut units = Units::default();
        let mut comments = 0;
        let begin = input
            .fill_buf()
            .map_err(|error| inspector.error(Place::File, error))?;
        // Some programs write a byte order mark.
        if begin.starts_with(BYTE_ORDER_MARK.as_bytes()) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        let is_comment = |input: &mut BufReader<LastByte>| -> Result<bool> {
            let bytes = input.fill_buf();
            let bytes = bytes.map_err(|error| inspector.error(Place::File, error))?;
            Ok(bytes.first() == Some(&b'#'))
        };
        while is_comment(&mut input)? {
            let mut line = Vec::new();
            comments += 1;
            let place = Place::Line(comments);
            // Bounds the length of a comment line.
            let read = (&mut input).take(64 << 10).read_until(b'\n', &mut line);
            read.map_err(|error| inspector.error(place, error))?;
            let text = String::from_utf8_lossy(&line);
            if let Err(what) = units.comment(text.trim_start_matches('#').trim()) {
                return Err(inspector.error(place, Defect::Format { what }));
            }
        }
        let units = match units.and(options.units) {
            Ok(units) => units,
            Err(what) => return inspector.format(what),
        };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(input);
        let mut table = Self {
            reader,
            inspector,
            comments,
            width: 0,
            record: ByteRecord::new(),
            ahead: None,
            again: None,
            line: 0,
        };
        table.ahead = table.read(ByteRecord::new())?;
        let Some(header) = table.next()? else {
            return table
                .inspector
                .format("the file is empty: it has no header");
        };
        if header.cut {
            let what = "its header is incomplete".to_owned();
            return Err(table
                .inspector
                .error(header.place, Defect::Truncated { what }));
        }
        table.width = table.record.len();
        let names: Vec<_> = table
            .record
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        match Columns::find(names.iter().map(String::as_str), &options.ignored_columns) {
            Ok(columns) => Ok((table, columns, units)),
            Err(what) => Err(table.inspector.error(header.place, Defect::Format { what })),
        }
    }

    /// Reads the next record; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Row>> {
        if let Some(row) = self.again.take() {
            return Ok(Some(row));
        }
        let Some(record) = self.ahead.take() else {
            return Ok(None);
        };
        let before = std::mem::replace(&mut self.record, record);
        let line = self.record.position().map_or(0, Position::line);
        // The library passes over them.
        self.inspector.report.ignored += line.saturating_sub(self.line + 1);
        self.line = line;
        self.ahead = self.read(before)?;
        Ok(Some(Row {
            place: Place::Line(self.comments + line),
            cut: self.ahead.is_none() && self.reader.get_ref().get_ref().last != b'\n',
        }))
    }

    /// Checks that the current record is complete.
    pub fn check(&self, row: Row) -> std::result::Result<(), Defect> {
        if row.cut {
            // A number that lost its last digits is a number as well.
            let (cells, width) = (self.record.len(), self.width);
            let what = if cells == width {
                format!(
                    "its last line does not end with a line break, so that its last cell may be incomplete; if the file is complete, add one with `echo >> {}`",
                    word(&self.inspector.file)
                )
            } else {
                format!("its last line is incomplete: it has {cells} of {width} cells")
            };
            return Err(Defect::Truncated { what });
        }
        if self.record.len() == self.width {
            return Ok(());
        }
        Err(Defect::BadValue {
            column: "the number of cells".to_owned(),
            value: self.record.len().to_string(),
            must: "as in the header",
        })
    }

    fn read(&mut self, mut record: ByteRecord) -> Result<Option<ByteRecord>> {
        match self.reader.read_byte_record(&mut record) {
            Ok(more) => Ok(more.then_some(record)),
            Err(error) => {
                let place = Place::Line(self.comments + self.reader.position().line());
                let defect = match error.into_kind() {
                    ErrorKind::Io(error) => Defect::Io(error),
                    other => Defect::Format {
                        what: format!("invalid CSV: {other:?}"),
                    },
                };
                Err(self.inspector.error(place, defect))
            }
        }
    }
}
