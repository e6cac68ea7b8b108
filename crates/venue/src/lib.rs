//! The exchange as a pure machine, and its background traders.
