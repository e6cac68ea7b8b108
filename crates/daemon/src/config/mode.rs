//! Modes of `cambist run`, and what each requires and refuses.

/// Mode of `cambist run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Trade at the exchange with the account's keys
    #[default]
    Live,
    /// Quote on real depth and fill in a simulated account. Sends no order; keys are refused
    Paper,
    /// Record public depth and report statistics. Makes no order; keys are refused
    Observe,
}

impl Mode {
    /// Names in files.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("live", Self::Live),
        ("paper", Self::Paper),
        ("observe", Self::Observe),
    ];

    /// What it does, in one sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Live => "Trades at the exchange with the account's keys",
            Self::Paper => {
                "Quotes on real depth and fills in a simulated account. Nothing is sent, and no key may be given"
            }
            Self::Observe => {
                "Records public depth and reports about it. No order is made, and no key may be given"
            }
        }
    }

    /// Name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Paper => "paper",
            Self::Observe => "observe",
        }
    }

    /// Whether anything is signed and sent.
    pub const fn trades(self) -> bool {
        matches!(self, Self::Live)
    }
}
