//! Writes snapshots as wide CSV, for [`super::CsvReader`] and other programs.

use std::fmt::Write as _;
use std::io::{self, Write};

use cambist_core::Side;

use crate::grid::{Grid, Step};
use crate::snapshot::Snapshot;

/// Writes wide rows with times in nanoseconds and decimals.
#[derive(Debug)]
pub struct CsvWriter<W: Write> {
    out: W,
    grid: Grid,
    depth: usize,
    line: String,
}

impl<W: Write> CsvWriter<W> {
    /// Writes comment and header for `depth` levels a side. `out` should be buffered.
    pub fn new(mut out: W, grid: Grid, depth: usize) -> io::Result<Self> {
        writeln!(out, "# tick={} lot={}", grid.tick, grid.lot)?;
        let mut line = String::from("time_ns,exchange_time_ns,sequence");
        for side in ["bid", "ask"] {
            for level in 1..=depth {
                _ = write!(line, ",{side}_px_{level},{side}_qty_{level}");
            }
        }
        writeln!(out, "{line}")?;
        Ok(Self {
            out,
            grid,
            depth,
            line,
        })
    }

    /// Writes a row: the best levels, as many as there are columns.
    pub fn write(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        _ = write!(
            line,
            "{},{},{}",
            snapshot.local_time.0, snapshot.exchange_time.0, snapshot.sequence
        );
        for side in Side::BOTH {
            let levels = snapshot.side(side);
            for at in 0..self.depth {
                match levels.get(at) {
                    None => line.push_str(",,"),
                    Some(level) => {
                        line.push(',');
                        push(line, self.grid.tick, level.price.0)?;
                        line.push(',');
                        push(line, self.grid.lot, level.qty.0)?;
                    }
                }
            }
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    /// Flushes and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn push(line: &mut String, step: Step, count: u64) -> io::Result<()> {
    let value = step.value(count).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "a number too large for a decimal",
        )
    })?;
    _ = write!(line, "{value}");
    Ok(())
}
