//! The option that reads on behind a defect of data.

use cambist_market_data::{Defect, DefectKind};

use crate::exit::{self, Failure};

/// An error of a command with `--skip`: for a defect that can be left out, it names the option that does.
pub fn naming_the_option(error: anyhow::Error) -> anyhow::Error {
    let defect = error.chain().find_map(|cause| cause.downcast_ref());
    match defect.and_then(Defect::kind) {
        Some(kind) => {
            let (code, mut what) = (exit::of(&error), exit::line(&error));
            if what.contains("ticks or lots") || kind == DefectKind::OffGrid {
                what.push_str(
                    "; tick and lot are those of the market, unless the file or --tick and --lot state those of the data",
                );
            }
            let mut what = format!(
                "{what}; to leave this out and count it: --skip {}",
                kind.name()
            );
            if kind == DefectKind::ImplausiblePrice {
                what.push_str(
                    "; if the price is real, allow more with --price-factor N, or all with none",
                );
            }
            Failure::new(code, what).into()
        }
        None => error,
    }
}
