//! Two clocks that are never mixed: the local monotonic clock, and the venue's clock as known from its answers.
//!
//! The wall clock is absent on purpose: no decision may depend on it.

use serde::{Deserialize, Serialize};

/// Monotonic time in microseconds since an arbitrary origin chosen by the shell.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

impl Time {
    /// A time from whole milliseconds since the origin.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000)
    }

    /// Whole milliseconds since the origin, rounded down.
    pub const fn as_ms(self) -> u64 {
        self.0 / 1_000
    }

    /// This time plus `ms` milliseconds.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(1_000)))
    }

    /// This time less `ms` milliseconds, not below the origin.
    #[must_use]
    pub const fn minus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms.saturating_mul(1_000)))
    }

    /// Microseconds from `earlier` to this time, 0 if `earlier` is later.
    pub const fn micros_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whole milliseconds from `earlier` to this time, 0 if `earlier` is later.
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.micros_since(earlier) / 1_000
    }
}

/// The venue's clock in milliseconds since the Unix epoch, known only through its answers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct VenueTime(pub u64);

impl VenueTime {
    /// A venue time from whole seconds since the epoch.
    pub const fn from_s(s: u64) -> Self {
        Self(s.saturating_mul(1_000))
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_s(self) -> u64 {
        self.0 / 1_000
    }

    /// This time plus `ms` milliseconds.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// This time less `ms` milliseconds, not below the epoch.
    #[must_use]
    pub const fn minus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to this time, 0 if `earlier` is later.
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
