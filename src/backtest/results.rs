//! Files of results: fills and samples as CSV while the run goes on, the report at its end.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_backtest::{FillRow, Progress, SampleRow, Sink};
use cambist_core::{Amount, MarketSpec, Price};
use cambist_fill_model::Liquidity;
use cambist_report::money::decimal_text;

use crate::exit::{Exit, Failure};

/// The report as JSON: written last, so that a folder with it is whole.
const REPORT: &str = "report.json";
/// Names of everything that is written.
const FILES: [&str; 4] = [REPORT, "report.txt", "fills.csv", "equity.csv"];

/// Writes results into a folder.
pub struct Results {
    folder: PathBuf,
    fills: BufWriter<File>,
    samples: BufWriter<File>,
    markets: Vec<MarketSpec>,
    progress: Box<dyn FnMut(Progress)>,
}

impl Results {
    /// Begins in a folder, which is made if it does not exist. Results that are there are replaced only if
    /// asked.
    pub fn begin(
        folder: &Path,
        overwrite: bool,
        markets: &[MarketSpec],
        progress: Box<dyn FnMut(Progress)>,
    ) -> anyhow::Result<Self> {
        let there = FILES.iter().find(|name| folder.join(name).exists());
        if let Some(name) = there.filter(|_| !overwrite) {
            let what = format!(
                "{} is there already: name another folder with --out, or replace it with --overwrite",
                folder.join(name).display()
            );
            return Err(Failure::new(Exit::Usage, what).into());
        }
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        // A run that is cut off leaves no report of another one beside its rows.
        for name in [REPORT, "report.txt"] {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| folder.join(name).display().to_string());
                }
                Ok(()) | Err(_) => {}
            }
        }
        let create = |name: &str| {
            let path = folder.join(name);
            File::create(&path)
                .map(BufWriter::new)
                .with_context(|| path.display().to_string())
        };
        let (mut fills, mut samples) = (create("fills.csv")?, create("equity.csv")?);
        writeln!(
            fills,
            "time,time_ns,market,order,side,price,base,quote,fee,fee_token,liquidity,mid"
        )?;
        writeln!(samples, "time,time_ns,market,mid,bid,ask,base,quote,equity")?;
        Ok(Self {
            folder: folder.to_owned(),
            fills,
            samples,
            markets: markets.to_vec(),
            progress,
        })
    }

    /// Writes the report: text for people, JSON for programs.
    pub fn finish(mut self, json: &str, text: &str) -> anyhow::Result<()> {
        self.fills.flush()?;
        self.samples.flush()?;
        for (name, content) in [("report.txt", text), (REPORT, json)] {
            let path = self.folder.join(name);
            fs::write(&path, content).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    fn market(&self, id: cambist_core::MarketId) -> io::Result<&MarketSpec> {
        let found = self.markets.get(usize::from(id.0));
        found.ok_or_else(|| io::Error::other("a row of a market that is not known"))
    }
}

fn price(spec: &MarketSpec, price: Price) -> String {
    decimal_text(u128::from(price.0), usize::from(spec.price_decimals), 30)
}

/// Half ticks as a price.
fn mid_price(spec: &MarketSpec, mid: Option<u64>) -> String {
    let tenths = mid.map(|mid| u128::from(mid) * 5);
    tenths.map_or_else(String::new, |tenths| {
        decimal_text(tenths, usize::from(spec.price_decimals) + 1, 30)
    })
}

fn amount(units: Amount, decimals: u8) -> String {
    decimal_text(units, usize::from(decimals), 30)
}

impl Sink for Results {
    fn fill(&mut self, row: &FillRow) -> io::Result<()> {
        let spec = self.market(row.market)?;
        let bought = match row.side {
            cambist_core::Side::Buy => &spec.base,
            cambist_core::Side::Sell => &spec.quote,
        };
        let line = format!(
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            row.time,
            row.time.0,
            spec.name,
            row.order,
            row.side.name(),
            price(spec, row.price),
            amount(row.base, spec.base.decimals),
            amount(row.quote, spec.quote.decimals),
            amount(row.fee, bought.decimals),
            bought.symbol,
            match row.liquidity {
                Liquidity::Maker => "maker",
                Liquidity::Taker => "taker",
            },
            mid_price(spec, row.mid),
        );
        writeln!(self.fills, "{line}")
    }

    fn sample(&mut self, row: &SampleRow) -> io::Result<()> {
        let spec = self.market(row.market)?;
        let quote = |at: Option<Price>| at.map_or_else(String::new, |at| price(spec, at));
        let equity = row.equity.map(|units| amount(units, spec.quote.decimals));
        let line = format!(
            "{},{},{},{},{},{},{},{},{}",
            row.time,
            row.time.0,
            spec.name,
            mid_price(spec, row.mid),
            quote(row.quotes[0]),
            quote(row.quotes[1]),
            amount(row.base, spec.base.decimals),
            amount(row.quote, spec.quote.decimals),
            equity.unwrap_or_default(),
        );
        writeln!(self.samples, "{line}")
    }

    fn progress(&mut self, progress: Progress) {
        (self.progress)(progress);
    }
}
