//! Fees per gas, in base units of the coin.

/// What a transaction offers for a unit of gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    /// Most that the block's producer gets.
    pub priority_max: u128,
    /// Most that is paid in all.
    pub max: u128,
}

/// A replacement would cost more than the configured cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a fee of {} gwei per gas is needed, above the cap of {} (venue.fee_max_gwei)",
    gwei(*.needed),
    gwei(*.cap)
)]
pub struct CapReached {
    /// What is needed.
    pub needed: u128,
    /// The cap.
    pub cap: u128,
}

/// Gwei as text, without zeros at the end.
fn gwei(units: u128) -> String {
    const GWEI: u128 = 1_000_000_000;
    let (whole, part) = (units / GWEI, units % GWEI);
    if part == 0 {
        return whole.to_string();
    }
    let part = format!("{part:09}");
    format!("{whole}.{}", part.trim_end_matches('0'))
}

impl Fees {
    /// Fees with which a transaction is mined soon: a base fee may rise by an eighth from block to block, so that twice
    /// the newest one is enough for six full blocks.
    pub fn of_market(base_fee: u128, priority: u128) -> Self {
        Self {
            priority_max: priority,
            max: base_fee.saturating_mul(2).saturating_add(priority),
        }
    }

    /// The least with which nodes replace a transaction of these fees: both a tenth higher (go-ethereum's
    /// `PriceBump`), rounded up.
    #[must_use]
    pub fn raised(self) -> Self {
        let raise = |fee: u128| {
            fee.saturating_add(fee.div_ceil(10))
                .max(fee.saturating_add(1))
        };
        Self {
            priority_max: raise(self.priority_max),
            max: raise(self.max),
        }
    }

    /// Whether nodes replace a transaction of `others` by one of these.
    pub fn replaces(self, others: Self) -> bool {
        let least = others.raised();
        self.priority_max >= least.priority_max && self.max >= least.max
    }

    /// The fees of a transaction that has to replace those of `earlier`, at the market's fees or more.
    ///
    /// # Errors
    /// [`CapReached`].
    pub fn replacement(
        market: Self,
        earlier: impl IntoIterator<Item = Self>,
        cap: u128,
    ) -> Result<Self, CapReached> {
        let needed = earlier.into_iter().fold(market, |fees, of| {
            let least = of.raised();
            Self {
                priority_max: fees.priority_max.max(least.priority_max),
                max: fees.max.max(least.max),
            }
        });
        // What the producer gets is a part of the whole.
        let max = needed.max.max(needed.priority_max);
        if max > cap {
            return Err(CapReached { needed: max, cap });
        }
        Ok(Self { max, ..needed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn fees(priority_max: u128, max: u128) -> Fees {
        Fees { priority_max, max }
    }

    #[test]
    fn a_replacement_offers_a_tenth_more_of_both() {
        assert_eq!(Fees::of_market(10, 2), fees(2, 22));
        assert_eq!(fees(10, 101).raised(), fees(11, 112), "10.1 rounded up");
        assert_eq!(fees(0, 0).raised(), fees(1, 1));
        assert!(fees(11, 112).replaces(fees(10, 101)));
        assert!(!fees(10, 112).replaces(fees(10, 101)));
        assert!(!fees(11, 111).replaces(fees(10, 101)));
        let market = fees(5, 200);
        let after = |earlier: &[Fees], cap| Fees::replacement(market, earlier.to_vec(), cap);
        assert_eq!(after(&[], 200), Ok(market));
        let reached = CapReached {
            needed: 200,
            cap: 199,
        };
        assert_eq!(after(&[], 199), Err(reached));
        let dear = CapReached {
            needed: 61_250_000_000,
            cap: 60_000_000_000,
        };
        assert_eq!(
            dear.to_string(),
            "a fee of 61.25 gwei per gas is needed, above the cap of 60 (venue.fee_max_gwei)"
        );
        assert_eq!(after(&[fees(10, 101)], 200), Ok(fees(11, 200)));
        assert_eq!(
            after(&[fees(10, 101), fees(20, 300)], 330),
            Ok(fees(22, 330))
        );
        assert!(after(&[fees(20, 300)], 329).is_err());
        assert_eq!(after(&[fees(300, 300)], 330), Ok(fees(330, 330)));
        let part = Fees::replacement(fees(50, 40), Vec::new(), 50);
        assert_eq!(part, Ok(fees(50, 50)), "no part is more than the whole");
        let most = fees(u128::MAX, u128::MAX);
        assert_eq!(most.raised(), most);
    }
}
