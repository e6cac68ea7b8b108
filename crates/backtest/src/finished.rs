//! A finished run: its report, and the series for its charts.

use cambist_core::MarketSpec;
use cambist_market_data::Timestamp;

use crate::compare::Beside;
use crate::curves::Curves;
use crate::engine_link::RefusedAnswers;
use crate::html::Page;
use crate::outages::Outages;
use crate::report::Report;

/// The results of a run.
pub struct Finished {
    /// Its report.
    pub report: Report,
    /// Answers of processes that were no targets.
    pub refused: Vec<RefusedAnswers>,
    pub(crate) curves: Curves,
    pub(crate) outages: Vec<Outages>,
    pub(crate) markets: Vec<MarketSpec>,
    pub(crate) span: (Timestamp, Timestamp),
}

impl Finished {
    /// When the run began and ended.
    pub const fn span(&self) -> (Timestamp, Timestamp) {
        self.span
    }

    /// The report as one self-contained HTML page. `kind` names the run (`Backtest`), `config` is the configuration as
    /// written, `program` the name of the program, `beside` how it compares with another run.
    pub fn html(&self, kind: &str, config: &str, program: &str, beside: Option<&Beside>) -> String {
        let page = Page {
            report: &self.report,
            curves: &self.curves,
            outages: &self.outages,
            markets: &self.markets,
            span: self.span,
            config,
            program,
            kind,
            beside,
        };
        page.render()
    }
}
