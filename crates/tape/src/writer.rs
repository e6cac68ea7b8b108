//! Writes one tape to any output.

use std::io::{self, BufWriter, Write};

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;

use crate::frame::{FRAME_BYTES, Frame, RECORD_MAX_BYTES, prefix};
use crate::record::{Header, RecordRef};

/// Why a record was not written. The tape then ends: later records could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output failed.
    #[error("tape cannot be written: {0}")]
    Io(#[from] io::Error),
    /// A record is longer than a reader accepts.
    #[error("tape record is longer than {RECORD_MAX_BYTES} bytes")]
    TooLong,
    /// A record cannot be encoded.
    #[error("tape record cannot be encoded: {0}")]
    Encoding(#[from] postcard::Error),
    /// An earlier record was not written.
    #[error("tape has ended: an earlier record could not be written")]
    Ended,
}

/// Writes one tape. Buffered: what must survive a crash needs a `flush` (and a sync of the file).
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: BufWriter<W>,
    payload: Vec<u8>,
    written: u64,
    ended: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a tape; `snapshot` is the state of an engine that is already running, not interpreted here.
    pub fn new(out: W, header: &Header, snapshot: Option<&[u8]>) -> Result<Self, WriteError> {
        let mut writer = Self {
            out: BufWriter::new(out),
            payload: Vec::new(),
            written: 0,
            ended: false,
        };
        let first = prefix();
        writer.out.write_all(&first)?;
        writer.written += first.len() as u64;
        writer.record(RecordRef::Header(header))?;
        if let Some(state) = snapshot {
            writer.record(RecordRef::Snapshot(state))?;
        }
        Ok(writer)
    }

    /// Writes an event. To be called before the engine handles it, so that a crash in the engine leaves its cause on
    /// tape.
    pub fn write_event(&mut self, now: Time, event: &Event) -> Result<(), WriteError> {
        self.record(RecordRef::Event { now, event })
    }

    /// Writes the actions of the last event, also if there are none.
    pub fn write_actions(&mut self, actions: &[Action]) -> Result<(), WriteError> {
        self.record(RecordRef::Actions { actions })
    }

    /// Passes everything to the output.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.out.flush()?)
    }

    /// Bytes written so far, buffered ones included.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// The output, for a sync after a flush.
    pub fn get_ref(&self) -> &W {
        self.out.get_ref()
    }

    /// Flushes and returns the output.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        self.out
            .into_inner()
            .map_err(|failed| WriteError::Io(failed.into_error()))
    }

    fn record(&mut self, record: RecordRef<'_>) -> Result<(), WriteError> {
        if self.ended {
            return Err(WriteError::Ended);
        }
        // A record after a missing or incomplete one would turn a torn tail into damage.
        let result = self.try_record(record);
        self.ended = result.is_err();
        result
    }

    fn try_record(&mut self, record: RecordRef<'_>) -> Result<(), WriteError> {
        self.payload.clear();
        self.payload = postcard::to_extend(&record, std::mem::take(&mut self.payload))?;
        let frame = Frame::of(&self.payload).ok_or(WriteError::TooLong)?;
        self.out.write_all(&frame.to_bytes())?;
        self.out.write_all(&self.payload)?;
        self.written += (FRAME_BYTES + self.payload.len()) as u64;
        Ok(())
    }
}
