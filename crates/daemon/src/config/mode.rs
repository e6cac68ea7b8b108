//! Modes of `cambist run`, and what each requires and refuses.

/// Mode of `cambist run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Trade at the exchange with the account's keys
    #[default]
    Live,
    /// Quote on real depth and fill in a simulated account. Sends no order; keys are refused
    Paper,
    /// Record public depth. Makes no order; keys are refused
    Record,
    /// Record public depth and report statistics. Makes no order; keys are refused
    Observe,
    /// As paper, on what a daemon that trades records. Sends nothing at all; keys are refused
    Shadow,
}

/// Where the depth of a mode comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthSource {
    /// The venue that it trades at.
    Venue,
    /// A public order book: `[market.feed]`, or the venue's without an account.
    Feed,
    /// The tape of a daemon that trades.
    Tape,
}

impl Mode {
    /// Names in files.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("live", Self::Live),
        ("paper", Self::Paper),
        ("record", Self::Record),
        ("observe", Self::Observe),
        ("shadow", Self::Shadow),
    ];

    /// What it does, in one sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Live => "Trades at the exchange with the account's keys",
            Self::Paper => {
                "Quotes on real depth and fills in a simulated account. Nothing is sent, and no key may be given"
            }
            Self::Record => "Records public depth. No order is made, and no key may be given",
            Self::Observe => {
                "Records public depth and reports about it. No order is made, and no key may be given"
            }
            Self::Shadow => {
                "Runs another configuration on the tape of a daemon that trades, fills in a simulated account, and reports the difference. Nothing is sent, and no key may be given"
            }
        }
    }

    /// Name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Paper => "paper",
            Self::Record => "record",
            Self::Observe => "observe",
            Self::Shadow => "shadow",
        }
    }

    /// Whether anything is signed and sent.
    pub const fn trades(self) -> bool {
        matches!(self, Self::Live)
    }

    /// Whether an engine runs, whose inputs and actions are recorded on a tape.
    pub const fn has_engine(self) -> bool {
        match self {
            Self::Live | Self::Paper | Self::Shadow => true,
            Self::Record | Self::Observe => false,
        }
    }

    /// Where its depth comes from.
    pub const fn depth(self) -> DepthSource {
        match self {
            Self::Live => DepthSource::Venue,
            Self::Paper | Self::Record | Self::Observe => DepthSource::Feed,
            Self::Shadow => DepthSource::Tape,
        }
    }

    /// Whether an engine runs on a simulated exchange, with the assumptions of `[paper]`.
    pub const fn simulates(self) -> bool {
        matches!(self, Self::Paper | Self::Shadow)
    }
}
