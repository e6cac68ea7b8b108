//! Classifies a pool's trades from its reserves at polls: arbitrage towards the book, and other
//! volume, whose fees a position earns.

use crate::error::{Result, finite, non_negative, positive};

/// Estimates that lose weight with a half-life.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Flow {
    log_fee: f64,
    half_life_s: f64,
    last: Option<(f64, f64)>,
    seconds: f64,
    arbitrages: f64,
    noise: f64,
}

/// Volume between two polls, as fractions of the pool's value.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Volumes {
    /// Volume that moved the pool's price to the edge of its fee around the mid.
    pub arbitrage: f64,
    /// Other volume.
    pub noise: f64,
}

impl Flow {
    /// For a pool with a logarithmic fee ([`super::lvr::log_fee`]); observations lose half of their
    /// weight in `half_life_s` seconds.
    pub fn new(log_fee: f64, half_life_s: f64) -> Result<Self> {
        Ok(Self {
            log_fee: non_negative("fee", log_fee)?,
            half_life_s: positive("half-life", half_life_s)?,
            last: None,
            seconds: 0.0,
            arbitrages: 0.0,
            noise: 0.0,
        })
    }

    /// Adds the pool's reserves and the book's mid, `seconds` after the last poll.
    ///
    /// A swap moves the reserves in opposite directions. Of a swap that began outside the fee
    /// around the mid, the part up to the edge is arbitrage; the rest is other volume. Reserves
    /// that move together are joins and exits. Several trades between two polls count as their sum,
    /// which underestimates the volume. The band is that of Milionis, Moallemi & Roughgarden, arXiv
    /// 2305.14604.
    pub fn push(&mut self, base: f64, quote: f64, mid: f64, seconds: f64) -> Result<Volumes> {
        let base = positive("base reserve", base)?;
        let quote = positive("quote reserve", quote)?;
        let mid = positive("mid", mid)?;
        let Some((last_base, last_quote)) = self.last else {
            self.last = Some((base, quote));
            return Ok(Volumes::default());
        };
        let dt = positive("seconds since the last poll", seconds)?;
        let seen = if (base - last_base) * (quote - last_quote) < 0.0 {
            self.classify(last_base, last_quote, quote, mid)?
        } else {
            Volumes::default()
        };
        self.last = Some((base, quote));
        let keep = libm::exp2(-dt / self.half_life_s);
        self.seconds = self.seconds * keep + dt;
        self.arbitrages = self.arbitrages * keep + f64::from(u8::from(seen.arbitrage > 0.0));
        self.noise = self.noise * keep + seen.noise;
        Ok(seen)
    }

    fn classify(&self, last_base: f64, last_quote: f64, quote: f64, mid: f64) -> Result<Volumes> {
        let moved = finite("move", quote - last_quote)?;
        let off = libm::log(last_quote / last_base / mid);
        let towards = if off > self.log_fee {
            // The pool's price is too high: arbitrage sells base to it and quote leaves.
            libm::exp((self.log_fee - off) / 2.0) - 1.0
        } else if off < -self.log_fee {
            libm::exp((-self.log_fee - off) / 2.0) - 1.0
        } else {
            0.0
        };
        let explained = last_quote * towards;
        let arbitrage = if explained * moved > 0.0 {
            explained.abs().min(moved.abs())
        } else {
            0.0
        };
        let value = 2.0 * last_quote;
        Ok(Volumes {
            arbitrage: arbitrage / value,
            noise: (moved.abs() - arbitrage) / value,
        })
    }

    /// Mean seconds between arbitrages; `None` before the first one.
    ///
    /// As [`Flow::push`].
    pub fn arbitrage_interval_s(&self) -> Option<f64> {
        let interval = self.seconds / self.arbitrages;
        (self.arbitrages > 0.0 && interval.is_finite()).then_some(interval)
    }

    /// Other volume a second, as a fraction of the pool's value; `None` until a quarter of the
    /// half-life was observed.
    ///
    /// As [`Flow::push`].
    pub fn noise_volume_per_s(&self) -> Option<f64> {
        let rate = self.noise / self.seconds;
        (self.seconds >= self.half_life_s / 4.0 && rate.is_finite()).then_some(rate)
    }
}
