//! Rules that changed. A log is executed again by the rules of the program that wrote it, so that a folder of before opens
//! with the state that it had.

/// The rules that requests of Kraken's interface are executed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KrakenRules {
    /// Those of data folders before version 6: batches are checked order by order, amends are counted as further orders,
    /// in every mode of the exchange the smaller volume of an order is accepted, and so on.
    First,
    /// Those of the published specification.
    #[default]
    Published,
}

impl KrakenRules {
    pub(super) const fn are_published(self) -> bool {
        matches!(self, Self::Published)
    }
}
