//! Roots of prices at ticks: `√(1.0001^tick)` with 96 bits behind the point, to the bit as the pools compute them.
//!
//! Source: `TickMath.sol` (v3-core 1.0.1).

use crate::{Malformed, U256};

/// Lowest tick: the price is `1.0001^-887272`, about 2⁻¹²⁸.
pub const MIN: Tick = Tick(-887_272);
/// Highest tick.
pub const MAX: Tick = Tick(887_272);

/// Roots of `1.0001^-(2^i)`, with 128 bits behind the point.
const FACTORS: [u128; 20] = [
    0xfffc_b933_bd6f_ad37_aa2d_162d_1a59_4001,
    0xfff9_7272_373d_4132_59a4_6990_580e_213a,
    0xfff2_e50f_5f65_6932_ef12_357c_f3c7_fdcc,
    0xffe5_caca_7e10_e4e6_1c36_24ea_a094_1cd0,
    0xffcb_9843_d60f_6159_c9db_5883_5c92_6644,
    0xff97_3b41_fa98_c081_472e_6896_dfb2_54c0,
    0xff2e_a164_66c9_6a38_43ec_78b3_26b5_2861,
    0xfe5d_ee04_6a99_a2a8_11c4_61f1_969c_3053,
    0xfcbe_86c7_900a_88ae_dcff_c83b_479a_a3a4,
    0xf987_a725_3ac4_1317_6f2b_074c_f781_5e54,
    0xf339_2b08_22b7_0005_940c_7a39_8e4b_70f3,
    0xe715_9475_a2c2_9b74_43b2_9c7f_a6e8_89d9,
    0xd097_f3bd_fd20_22b8_845a_d8f7_92aa_5825,
    0xa9f7_4646_2d87_0fdf_8a65_dc1f_90e0_61e5,
    0x70d8_69a1_56d2_a1b8_90bb_3df6_2baf_32f7,
    0x31be_135f_97d0_8fd9_8123_1505_542f_cfa6,
    0x09aa_508b_5b7a_84e1_c677_de54_f3e9_9bc9,
    0x005d_6af8_dedb_8119_6699_c329_225e_e604,
    0x0000_2216_e584_f5fa_1ea9_2604_1bed_fe98,
    0x0000_0000_048a_1703_91f7_dc42_444e_8fa2,
];

/// A tick: the power of 1.0001 that is a price. From [`MIN`] to [`MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(i32);

impl Tick {
    /// A tick.
    ///
    /// # Errors
    /// [`Malformed::Range`] below [`MIN`] and above [`MAX`].
    pub const fn new(tick: i32) -> Result<Self, Malformed> {
        if tick < MIN.0 || tick > MAX.0 {
            return Err(Malformed::Range);
        }
        Ok(Self(tick))
    }

    /// The number.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// The root of its price, `√(1.0001^tick)`, with 96 bits behind the point. Rounded up, as pools do.
    pub fn sqrt_price(self) -> U256 {
        let steps = self.0.unsigned_abs();
        let mut ratio: U256 = U256::from(1) << 128;
        for (bit, factor) in FACTORS.into_iter().enumerate() {
            if steps >> bit & 1 == 1 {
                // Both are at most 2¹²⁸.
                ratio = ratio.wrapping_mul(U256::from(factor)) >> 128;
            }
        }
        if self.0 > 0 {
            ratio = U256::MAX / ratio;
        }
        ratio.div_ceil(U256::from(1) << 32)
    }

    /// The highest tick whose root is not above this one.
    ///
    /// # Errors
    /// [`Malformed::Range`] below the root at [`MIN`], and from the root at [`MAX`] on, which no pool reaches.
    pub fn at(sqrt_price: U256) -> Result<Self, Malformed> {
        if sqrt_price < MIN.sqrt_price() || sqrt_price >= MAX.sqrt_price() {
            return Err(Malformed::Range);
        }
        let (mut low, mut high) = (MIN.0, MAX.0);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if Self(middle).sqrt_price() <= sqrt_price {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Self(low))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn root(tick: i32) -> U256 {
        Tick::new(tick).unwrap().sqrt_price()
    }

    #[test]
    fn the_ends_are_those_of_the_published_contract() {
        // TickMath.sol: MIN_SQRT_RATIO, MAX_SQRT_RATIO.
        assert_eq!(MIN.sqrt_price(), U256::from(4_295_128_739_u64));
        let most = "1461446703485210103287273052203988822378723970342";
        assert_eq!(MAX.sqrt_price(), most.parse::<U256>().unwrap());
        // TickMath.spec.ts of v3-core: the ticks next to them.
        assert_eq!(root(-887_271), U256::from(4_295_343_490_u64));
        let next = "1461373636630004318706518188784493106690254656249";
        assert_eq!(root(887_271), next.parse::<U256>().unwrap());
        assert_eq!(root(0), U256::from(1) << 96);
        assert_eq!(Tick::new(887_273), Err(Malformed::Range));
        assert_eq!(Tick::new(-887_273), Err(Malformed::Range));
    }

    /// Each factor is the square of the one before: a wrong digit in any of them is found.
    #[test]
    fn every_factor_is_the_square_of_the_one_before() {
        // The first one squared is 1 / 1.0001.
        let first = U256::from(FACTORS[0]);
        let square: U256 = first.wrapping_mul(first) >> 128;
        let exact = (U256::from(10_000) << 128) / U256::from(10_001);
        assert!(square.abs_diff(exact) <= U256::from(2), "{square} {exact}");
        for pair in FACTORS.windows(2) {
            let before = U256::from(pair[0]);
            let square: U256 = before.wrapping_mul(before) >> 128;
            let away = square.abs_diff(U256::from(pair[1]));
            assert!(away <= U256::from(2), "{:x}: {away}", pair[1]);
        }
    }

    #[test]
    fn roots_rise_and_are_near_the_power() {
        let float = |root: U256| {
            let text = root.to_string();
            text.parse::<f64>().unwrap() / 2f64.powi(96)
        };
        let ticks = (-887_272..=887_272).step_by(8_933);
        for tick in ticks.chain([-100_000, -60, -1, 1, 60, 100_000]) {
            let power = 1.0001f64.powf(f64::from(tick) / 2.0);
            let away = (float(root(tick)) / power - 1.0).abs();
            // At the lowest tick the root has 32 bits.
            assert!(away < 1e-9, "{tick}: {away}");
            if tick < MAX.0 {
                assert!(root(tick) < root(tick + 1), "{tick}");
            }
        }
    }

    #[test]
    fn a_root_has_the_highest_tick_not_above_it() {
        let at = |root: U256| Tick::at(root).map(Tick::number);
        let one = U256::from(1);
        for tick in (-887_271..887_272)
            .step_by(7_919)
            .chain([-1, 0, 1, 887_271])
        {
            assert_eq!(at(root(tick)), Ok(tick));
            assert_eq!(at(root(tick) - one), Ok(tick - 1));
            assert_eq!(at(root(tick) + one), Ok(tick));
        }
        assert_eq!(at(MIN.sqrt_price()), Ok(MIN.0));
        assert_eq!(at(MIN.sqrt_price() - one), Err(Malformed::Range));
        assert_eq!(at(MAX.sqrt_price() - one), Ok(MAX.0 - 1));
        assert_eq!(at(MAX.sqrt_price()), Err(Malformed::Range));
        assert_eq!(at(U256::ZERO), Err(Malformed::Range));
    }
}
